"""Numbers what is reported and prints it as TAP."""
import sys

count = failed = 0


def report(ok, name, *notes):
    global count, failed
    count += 1
    failed += not ok
    print(("ok" if ok else "not ok"), count, "-", name)
    for n in notes if not ok else ():
        print("#  ", str(n)[:400].replace("\n", "\\n"))


def skip(name, why):
    report(True, f"{name} # SKIP {why}")


def finish():
    """The plan, and the exit code: 0 iff all is well."""
    print(f"1..{count}")
    sys.exit(failed != 0)
