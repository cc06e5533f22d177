#!/usr/bin/env python3
# t_signals.py PROG - a signal ends every command while it sleeps, waits for input, reads endless
# input, opens a FIFO without a writer, or counts. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import concurrent.futures
import fcntl
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
from tap import finish, report  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
for sig in (signal.SIGINT, signal.SIGHUP):
    signal.signal(sig, signal.SIG_DFL)  # background jobs of a shell ignore SIGINT, and programs of nohup ignore SIGHUP
TREE = ["--proc", f"{HERE}/trees/mixed/proc", "--sys", f"{HERE}/trees/mixed/sys"]
PATIENCE = 30  # seconds: far longer than a command needs to end, even on a loaded machine
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
LONG = "3600"


def has_begun(p):
    """Waits until the process has handled signals for a while, because only then it is in the state
    that is to be interrupted. Returns False if it has ended."""
    end = time.monotonic() + 5  # a process that waits before it handles signals is ended by the default action
    quiet = 0
    while time.monotonic() < end and p.poll() is None:
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            caught = int(next(line for line in f if line.startswith("SigCgt")).split()[1], 16)
        quiet = quiet + 1 if caught >> (signal.SIGTERM - 1) & 1 else 0
        if quiet > 12:
            return True
        time.sleep(0.02)
    return p.poll() is None  # signals still have their default action


class Feeder(threading.Thread):
    """Writes head into a pipe, and then text repeatedly, if there is any."""

    def __init__(self, fd, head, text):
        super().__init__(daemon=True)
        self.fd, self.head, self.text = fd, head, text
        self.start()

    def run(self):
        try:
            os.write(self.fd, self.head)
            while self.text:
                os.write(self.fd, self.text)
        except OSError:
            pass


def ended(p, sig, output):
    """Sends the signal. Returns the seconds until the process ended, or None. Closes output, the
    other end of its stdout."""
    if not has_begun(p):
        return None
    t = time.monotonic()
    p.send_signal(sig)
    try:
        p.wait(timeout=PATIENCE)
        return time.monotonic() - t
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return None
    finally:
        if output is not None:
            os.close(output)


def case(name, args, feed=None, unread=False, sig=signal.SIGTERM):
    """Runs a case. feed: (head, endless text) on standard input; unread: stdout is an unread pipe."""
    ours = None
    stdin, fed = os.pipe()
    stdout = subprocess.DEVNULL
    if unread:
        ours, stdout = os.pipe()
        fcntl.fcntl(stdout, 1031, 4096)  # F_SETPIPE_SZ
    p = subprocess.Popen([PROG, *args], stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(stdin)
    if unread:
        os.close(stdout)
    feeder = Feeder(fed, *feed) if feed else None
    took = ended(p, sig, ours)
    if feeder:
        feeder.join(PATIENCE)
    os.close(fed)
    return name, took is not None, f"{took} s, {p.returncode}"


def top_case(sig):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(PROG, [PROG, "top", *TREE, LONG])
    while select.select([fd], [], [], 1)[0]:
        os.read(fd, 65536)
    os.kill(pid, sig)
    end = time.monotonic() + PATIENCE
    over = (0, 0)
    while time.monotonic() < end and not over[0]:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                os.read(fd, 65536)
            except OSError:
                pass
        over = os.waitpid(pid, os.WNOHANG)
    if not over[0]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(fd)
    return f"top: {sig.name}", over[0] == pid, over


def http_case():
    ours, theirs = socket.socketpair()
    p = subprocess.Popen([PROG, "--http", "-o", "prom", *TREE], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
    theirs.close()
    took = ended(p, signal.SIGTERM, None)
    ours.close()
    return "--http, no request", took is not None, p.returncode


def cases(tmp):
    def fifo():
        """Makes a FIFO that no other process has open."""
        nonlocal nfifos
        nfifos += 1
        os.mkfifo(f"{tmp}/fifo{nfifos}")
        return f"{tmp}/fifo{nfifos}"

    nfifos = 0
    csv = subprocess.run([PROG, *TREE, "0.01", "2", "-o", "csv"], stdout=subprocess.PIPE, check=False).stdout
    head, _, rows = csv.partition(b"\n")
    json = subprocess.run([PROG, *TREE, "0.01", "1", "-o", "json"], stdout=subprocess.PIPE, check=False).stdout
    for sig in SIGNALS:
        for args in ([], ["clients"], ["procs"], ["cgroups"], ["host"], ["counters", "Context switched / sec"]):
            yield f"{' '.join(args) or 'devices'}: {sig.name}", [*args, *TREE, LONG], {"sig": sig}
    for args in (["-w", LONG], ["--align", LONG], ["--inner", "1800", LONG], ["-S", LONG], ["--state", f"{tmp}/s", LONG], ["-o", "svg", LONG],
                 ["check", "-w", "80", "--window", LONG, "-t", LONG], ["munin", "--window", LONG]):
        yield " ".join(args).replace(tmp, ""), [*args, *TREE], {}
    yield "--on-stdin, no input", ["--on-stdin", *TREE], {}
    yield "--on-stdin, endless input", ["--on-stdin", *TREE], {"feed": (b"", b"\n" * 4096)}
    yield "run -- sleep", ["run", "--sys", TREE[-1], "--", "sleep", LONG], {}
    for args in (["clients", *TREE, "0.01"], ["counters", *TREE], ["events", *TREE], ["capture", *TREE]):
        yield f"{args[0]}: stdout is not read", args, {"unread": True}
    for args in (["-a", LONG], ["-p", str(os.getpid())], ["--", "sleep", LONG], ["-r", "0", "--", "true"], ["-r", "0", "--", "sleep", LONG],
                 ["-D", "-1", "--control", f"fifo:{fifo()}", "-a"]):
        yield f"stat {' '.join(args)}".replace(tmp, "").replace(str(os.getpid()), "PID"), ["stat", "-e", "task-clock", *args], {}
    for args in (["-a", "--timeout", "3600000"], ["-g", "-a", "-o", "folded", "--timeout", "3600000"], ["--", "sleep", LONG],
                 ["--summary", "--", "sleep", LONG]):
        yield f"sample {' '.join(args)}", ["sample", "-e", "cpu-clock", *args], {}
    yield "fdinfo -, no input", ["fdinfo", "-"], {}
    yield "fdinfo FIFO", ["fdinfo", fifo()], {}
    yield "fdinfo FIFO FIFO", ["fdinfo", fifo(), fifo()], {}
    yield "fdinfo -, endless input", ["fdinfo", "-", fifo()], {"feed": (b"drm-driver:\ti915\n", b"drm-engine-render:\t5 ns\n" * 100)}
    yield "plot -, no input", ["plot", "-"], {}
    yield "plot FIFO", ["plot", fifo()], {}
    yield "plot -, endless CSV", ["plot", "-"], {"feed": (head + b"\n", rows * 20)}
    yield "plot -, endless JSON", ["plot", "-"], {"feed": (b"", json * 20)}
    yield "plot - with an endless line", ["plot", "-"], {"feed": (head + b"\n", b"1,2,3," * 1000)}
    yield "oa --replay -, no input", ["oa", "--replay", "-"], {}
    yield "oa --replay FIFO", ["oa", "--replay", fifo()], {}
    with open(f"{HERE}/oa/hsw.raw", "rb") as f:
        raw = f.read()
    for args in ([], ["--totals"]):
        yield f"oa --replay -, endless input {' '.join(args)}", ["oa", "--replay", "-", "--platform", "hsw", "--raw", *args], {"feed": (b"", raw)}
    yield "oa --metrics FIFO", ["oa", "--replay", f"{HERE}/oa/skl.rec", "--metrics", fifo()], {}
    yield "oa pack FIFO", ["oa", "pack", fifo(), "-O", f"{tmp}/pack"], {}
    yield "-O FIFO", [*TREE, "-O", fifo()], {}
    yield "--state FIFO", [*TREE, "--state", fifo(), "-w", LONG], {}


def main():
    tmp = tempfile.mkdtemp(prefix="gpustat-signals-")
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = [pool.submit(case, name, args, **kw) for name, args, kw in cases(tmp)]
            for r in results:
                name, ok, *notes = r.result()
                report(ok, f"a signal ends: {name}", *notes)
        for name, ok, *notes in [*(top_case(s) for s in SIGNALS), http_case()]:
            report(ok, f"a signal ends: {name}", *notes)
    finally:
        shutil.rmtree(tmp, True)


main()
finish()
