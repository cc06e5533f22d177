"""Numbers what is reported and prints it as TAP; tells what the program under test was built without."""
import functools
import os
import re
import subprocess
import sys

count = failed = 0


def report(ok, name, *notes):
    """A test that failed because the program says that it lacks the feature is skipped."""
    global count, failed
    lacked = re.search(r"not built in: \w+", " ".join(map(str, notes))) if not ok and left_out(sys.argv[1]) else None
    ok = ok or lacked is not None
    name += f" # SKIP {lacked[0]}" if lacked else ""
    count += 1
    failed += not ok
    print(("ok" if ok else "not ok"), count, "-", name)
    for n in notes if not ok else ():
        print("#  ", str(n)[:400].replace("\n", "\\n"))


def skip(name, why):
    report(True, f"{name} # SKIP {why}")


@functools.cache
def left_out(prog):
    """Whether prog lacks features, as it says itself."""
    return b"not built in: " in subprocess.run([prog, "--version"], stdout=subprocess.PIPE, check=False).stdout


def lacks(prog, args):
    """Why prog would do nothing, where it says that it was built without what these ask of it; else None."""
    end = args.index("--") if "--" in args else len(args)
    ran = subprocess.run([prog, *args[:end], "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                         check=False)
    said = re.search(rb"[:-] (not built in: \S+)$", ran.stdout, re.M)  # check has it on stdout
    return said[1].decode() if said else None


def skip_lacking(prog, exception):
    """From now on whoever starts prog with what it lacks has the exception instead."""
    plain = subprocess.Popen

    class Popen(plain):
        def __init__(self, args, *more, **kw):
            words = list(map(os.fsdecode, args)) if isinstance(args, list) else []
            own = prog in words and words[-1] != "--help"
            why = own and lacks(prog, words[words.index(prog) + 1:])
            if why:
                raise exception(why)
            super().__init__(args, *more, **kw)

    if left_out(prog):
        subprocess.Popen = Popen


def needs(prog, feature):
    """Skips all tests of a module where prog was built without what they are about."""
    why = lacks(prog, [feature] if feature != "http" else ["--http"]) if left_out(prog) else None
    if why:
        print(f"1..0 # SKIP {why}")
        sys.exit()


def finish():
    """The plan, and the exit code: 0 iff all is well."""
    print(f"1..{count}")
    sys.exit(failed != 0)
