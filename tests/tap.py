"""Numbers results and prints them as TAP; skips tests of features that are not built in."""
import atexit
import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

count = failed = 0


def report(ok, name, *notes):
    """Prints a result. A failed test is skipped if a note has the message that a feature is not
    built in."""
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


# --- the end after a signal -----------------------------------------------------------------------

def children(pid):
    """Returns the child processes of a process, and theirs."""
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", "rb") as f:
                parent = int(f.read().rpartition(b") ")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid:
            found += [int(p), *children(int(p))]
    return found


def users(folder):
    """Returns the processes with a file of the folder among their arguments, such as servers that
    are no longer children of the test."""
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{p}/cmdline", "rb") as f:
                if folder.encode() + b"/" in f.read():
                    found.append(int(p))
    return found


def kill(pids):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def unmount(top):
    """Unmounts all file systems in a folder, the last first, without waiting for a dead server."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as f:
        points = [line.split()[1] for line in f]
    for point in reversed([p for p in points if p.startswith(top + "/")]):
        ctypes.CDLL(None).umount2(os.fsencode(point), 2)  # MNT_DETACH


def remove(top):
    """Removes a folder, also if a test has removed permissions in it."""
    for where, names, _files in os.walk(top):
        for d in (os.path.join(where, n) for n in names):
            if not os.path.islink(d):
                with contextlib.suppress(OSError):
                    os.chmod(d, 0o755)
    shutil.rmtree(top, ignore_errors=True)


OWNER = os.getpid()
FOLDERS = []


def temporary_folder(prefix="gpustat-test-", where=None):
    """A folder that is removed when the test ends, also after a signal."""
    FOLDERS.append(tempfile.mkdtemp(prefix=prefix, dir=where))
    return FOLDERS[-1]


def interrupted(number, _frame):
    """Ends the test soon after a signal. Files are not removed by `finally` blocks: threads may start
    programs and write files until the end, so that another process removes the folders after it."""
    if os.getpid() != OWNER:  # a process that a test has forked
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    for n in END_SIGNALS:
        signal.signal(n, signal.SIG_IGN)
    kill(children(OWNER))
    if os.fork() == 0:
        while os.getppid() == OWNER:
            time.sleep(0.02)
        for d in FOLDERS:
            kill(set(users(d)) - {os.getpid()})
            unmount(d)
            remove(d)
        os._exit(0)
    end = threading.Timer(2, os._exit, [128 + number])
    end.daemon = True
    end.start()
    sys.exit(128 + number)


# Background jobs of a shell ignore SIGINT, and programs that nohup starts ignore SIGHUP.
END_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
for _signal in END_SIGNALS:
    signal.signal(_signal, interrupted)
tempfile.tempdir = temporary_folder()
atexit.register(lambda: [remove(d) for d in FOLDERS if os.getpid() == OWNER])
os.chmod(tempfile.tempdir, 0o755)


@functools.cache
def commands(prog):
    """Returns the commands that prog --help shows in two columns."""
    said = subprocess.run([prog, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    table = said.split("\n\n")[1].splitlines()
    return [name for row in table for name in (row[:8].strip(), row[40:48].strip()) if name and name[0] != "("]


@functools.cache
def left_out(prog):
    """Returns the features that prog was built without, according to its --version."""
    said = subprocess.run([prog, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode()
    return [name for line in said.splitlines() if line.startswith("not built in: ") for name in line.split()[3:]]


def lacks(prog, args):
    """Returns the message that a feature which args require is not built in, or None."""
    end = args.index("--") if "--" in args else len(args)
    ran = subprocess.run([prog, *args[:end], "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                         check=False)
    said = re.search(rb"[:-] (not built in: \S+)$", ran.stdout, re.M)  # the command check prints it on stdout
    return said[1].decode() if said else None


def skip_lacking(prog, exception):
    """From now on, starting prog with a feature that it lacks raises the exception instead."""
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
    """Skips all tests of a module if prog was built without the feature that they test."""
    why = lacks(prog, [feature] if feature != "http" else ["--http"]) if left_out(prog) else None
    if why:
        print(f"1..0 # SKIP {why}")
        sys.exit()


def finish():
    """Prints the plan and exits with 0 if no test failed."""
    print(f"1..{count}")
    sys.exit(failed != 0)
