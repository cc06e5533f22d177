#!/usr/bin/env python3
# t_sink.py PROG - destinations of output and times of samples: files that are replaced completely
# or not at all, datagrams, one sample per line of standard input, samples aligned to the wall
# clock, summaries of several readings; each with its errors. Prints TAP.
# SPDX-License-Identifier: MIT
import contextlib
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import clock  # noqa: E402
import machine  # noqa: E402
import tap  # noqa: E402
from machine import Machine, TREES, Skip, check, eq, parse_json, run  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
machine.PROG = PROG
tap.skip_lacking(PROG, Skip)
TREE = os.path.join(TREES, "amdgpu")
ROOTS = ["--proc", f"{TREE}/proc", "--sys", f"{TREE}/sys"]
ONCE = [*ROOTS, "-r"]
OLD = b"# the old file\n"
UMASK = os.umask(0)
os.umask(UMASK)
TESTS = []


def test(name):
    def add(f):
        TESTS.append((name, f))
        return f
    return add


def whole(text):
    """True if an exposition is complete: it contains the metric family that is always printed last."""
    return text.endswith(b"\n") and b"gpustat_self_cpu_seconds_total " in text


def left(d):
    return sorted(n for n in os.listdir(d) if n.startswith("."))


def prom(path, *args, **kw):
    return run([*ONCE, "-o", "prom", "-O", path, *args], **kw)


def old(d):
    path = os.path.join(d, "gpu.prom")
    with open(path, "wb") as f:
        f.write(OLD)
    return path


def made_machine(d):
    """Makes a machine in a folder beside d, because d must contain only the output."""
    return Machine(tempfile.mkdtemp(dir=os.path.dirname(d)))


def read(path):
    with open(path, "rb") as f:
        return f.read()


# --- files that are appended to -------------------------------------------------------------------

def append(path, *args, **kw):
    return run([*ONCE, "-t", "none", "-O", path, *args], **kw)


def limited(n):
    """Limits the size of files to n bytes in a child process, which has the effect of a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))


@test("after a run that filled the disk, the first record of the next run begins on a new line")
def _(d):
    machine.feature("plain")
    path = os.path.join(d, "run.json")
    r = append(path, "-j", preexec_fn=lambda: limited(200))
    eq((r.code, os.path.getsize(path)), (1, 200), "exit code and size after the disk was full")
    for _ in range(2):
        eq(append(path, "-j").code, 0, "exit code")
    lines = read(path).splitlines()
    eq(len(lines), 3, "lines")
    eq(parse_json(lines[1] + b"\n"), parse_json(lines[2] + b"\n"), "records")


@test("records appended to standard output begin on a new line too; a pipe and a new file get no extra newline")
def _(d):
    machine.feature("plain")
    path = os.path.join(d, "log")
    for old, mode, want in ((b"cut", "ab", b"cut\ncard0"), (b"", "ab", b"card0"), (b"whole\n", "ab", b"whole\ncard0"),
                            (b"cut", "r+b", b"card0")):
        with open(path, "wb") as f:
            f.write(old)
        with open(path, mode) as f:
            eq(subprocess.run([PROG, *ONCE, "-H", "-t", "none"], stdout=f, check=False).returncode, 0, "exit code")
        check(read(path).startswith(want), f"{old!r} {mode}: {read(path)!r}")
    check(run([*ONCE, "-H", "-t", "none"]).out.startswith(b"card0"), "a pipe")


@test("--log-fd with a file that is appended to: the output begins on a new line")
def _(d):
    path = os.path.join(d, "log")
    with open(path, "wb") as f:
        f.write(b"cut")
    with open(path, "ab") as f:
        fd = fcntl.fcntl(f.fileno(), fcntl.F_DUPFD, 5)
        r = run(["stat", "-j", "-e", "task-clock", "--log-fd", str(fd), "-w", "1ms"], pass_fds=[fd])
        os.close(fd)
    eq(r.code, 0, "exit code")
    check(read(path).startswith(b"cut\n{"), f"{read(path)!r}")


@test("a file with an incomplete last line is not changed if there is no record")
def _(d):
    path = os.path.join(d, "log")
    with open(path, "wb") as f:
        f.write(b"cut")
    append(path, "procs", "-p", "999999", "-H")
    eq(read(path), b"cut", "content")


@test("CSV rows that are appended have the columns of the header in the file")
def _(d):
    machine.feature("plain")
    path = os.path.join(d, "run.csv")
    for args in (["dev,temp"], ["temp,dev"], ["dev,used,temp.edge"], ["dev"]):
        r = append(path, "-o", "csv", "-f", *args)
        eq(r.code, 0, "exit code")
        eq(r.err, b"gpustat: the header has no column for used; use a new file to get it\n" if "used" in args[0] else b"",
           f"message of {args}")
    lines = read(path).splitlines()
    eq(lines[0], b"dev,temp.edge,temp.junction,temp.mem,temp.vrgfx,temp.vrsoc", "header")
    eq(lines[1:], [lines[1]] * 4, "rows")
    with open(path, "wb") as f:
        f.write(b'"temp.edge","x ""y""",dev\n')
    eq(append(path, "-o", "csv", "-f", "dev").err, b"", "messages about a quoted header")
    eq(read(path).splitlines()[1], b"52.0,,card0", "row after a quoted header")


@test("CSV: a new file has the column that the message about the old file named")
def _(d):
    machine.feature("plain")
    path = os.path.join(d, "run.csv")
    eq(append(path, "-o", "csv", "-f", "dev,temp.edge").err, b"", "messages about the first file")
    for _ in range(2):
        eq(append(path, "-o", "csv", "-f", "dev,used,temp.edge").err,
           b"gpustat: the header has no column for used; use a new file to get it\n", "the message of each run")
    os.rename(path, path + ".1")
    for _ in range(2):
        eq(append(path, "-o", "csv", "-f", "dev,used,temp.edge").err, b"", "no message")
    lines = read(path).splitlines()
    eq((lines[0], len(lines)), (b"dev,used,temp.edge", 3), "the header of the new file, and two rows")


@test("CSV: a header that cannot be used is reported")
def _(d):
    machine.feature("plain")
    path = os.path.join(d, "run.csv")
    for old, args, why in ((b"x,y\n", ["-f", "dev"], b"no column of the file is a field of the records"),
                           (b"dev,temp.edge\n", [], b"the file and this run differ in the use of -f"),
                           (machine.CSV_HEADER.encode() + b"\n", ["-f", "dev"], b"the file and this run differ in the use of -f"),
                           (b"dev", ["-f", "dev"], b"the header line is too long or has no end"),
                           (b"dev," * 20000 + b"dev\n", ["-f", "dev"], b"the header line is too long or has no end"),
                           (b"dev," * 400 + b"dev\n", ["-f", "dev"], b"no column of the file is a field of the records")):
        with open(path, "wb") as f:
            f.write(old)
        r = append(path, "-o", "csv", *args)
        eq((r.code, r.err), (0, b"gpustat: " + path.encode() + b": gpustat appends a new header, because: " + why + b"\n"), "exit code, message")
        check(read(path).count(b"card0") >= 1, "no row")


# --- files that are replaced ----------------------------------------------------------------------

@test("prom replaces the file without a message, and no temporary file remains")
def _(d):
    path = old(d)
    r = prom(path)
    eq((r.code, r.out, r.err), (0, b"", b""), "exit code, output, messages")
    check(whole(read(path)), "not the whole exposition")
    eq(os.listdir(d), ["gpu.prom"], "files")


GONE = 999999999  # a PID above the highest possible one


def remains(d, base):
    """Makes files as a killed run with -O BASE leaves them, which must be removed, and files with
    similar names, which must stay. Returns the names that must stay."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    go = [f".{base}.{GONE}.5000000000", f".{base}.{GONE}.{now + 3600 * 10 ** 9}", f".{base}.{GONE}.18446744073709551615"]
    stay = [f".{base}.{os.getpid()}.5000000000", f".{base}.1.5000000000", f".{base}.{GONE}.5", f".{base}.2024.11", f".{base}.{GONE}.{now}", f".{base}.{GONE}", f".{base}.{GONE}.", f".{base}.{GONE}.5000000000x",
            f".{base}.x.5000000000", f".{base}.-1.5000000000", f".{base}x.{GONE}.5000000000", f".x{base}.{GONE}.5000000000", f"{base}.{GONE}.5000000000", f".{base}.{GONE}.5000000000.tmp",
            f".{base}.{GONE}.18446744073709551616"]
    if now < 70 * 10 ** 9:
        raise Skip("the machine started less than 70 s ago")
    for name in (*go, *stay):
        with open(os.path.join(d, name), "wb"):
            pass
        os.utime(os.path.join(d, name), (time.time() - 100,) * 2)
    stay.append(f".{base}.{GONE}.5000000001")
    with open(os.path.join(d, stay[-1]), "wb"):  # written just now, by another machine
        pass
    os.mkdir(os.path.join(d, f".{base}.{GONE}.6000000000"))
    os.symlink(f".{base}.{GONE}.", os.path.join(d, f".{base}.{GONE}.7000000000"))
    os.mkfifo(os.path.join(d, f".{base}.{GONE}.8000000000"))
    stay += [f".{base}.{GONE}.{i}000000000" for i in (6, 7, 8)]
    if os.getuid() == 0:
        stay.append(f".{base}.{GONE}.9000000000")
        with open(os.path.join(d, stay[-1]), "wb"):
            pass
        os.chown(os.path.join(d, stay[-1]), 12345, 12345)
    return sorted(n for n in stay if n.startswith("."))


@test("the next run removes the temporary files of killed runs, and no other file")
def _(d):
    old(d)
    want = remains(d, "gpu.prom")
    eq(prom(os.path.join(d, "gpu.prom")).code, 0, "exit code")
    eq(left(d), want, "files that begin with a dot")
    want = sorted([*want, *remains(d, "state")])
    for _i in range(2):
        eq(run([*ROOTS, "-w", "1ms", "--state", os.path.join(d, "state")]).code, 0, "exit code with --state")
    eq(left(d), want, "after --state")


@test("a killed run leaves a temporary file until a later run removes it")
def _(d):
    path = os.path.join(d, "gpu.prom")
    fake = os.path.join(d, f".gpu.prom.{GONE}.7000000000")
    with open(fake, "wb") as f:
        f.write(b"half")
    os.utime(fake, (time.time() - 100,) * 2)
    eq(run([*ONCE, "-o", "csv", "-O", os.path.join(d, "log.csv")]).code, 0, "exit code")
    eq(left(d), [os.path.basename(fake)], "another -O leaves it")
    eq(prom(path).code, 0, "exit code")
    eq((left(d), whole(read(path))), ([], True), "a run with the same -O removes it")


@test("the new file has mode 0644, with umask 077, and if the old file had mode 0600")
def _(d):
    path = old(d)
    os.chmod(path, 0o600)
    eq(prom(path, preexec_fn=lambda: os.umask(0o077)).code, 0, "exit code")
    eq(stat.S_IMODE(os.stat(path).st_mode), 0o644, "mode")


@test("each sample of a run replaces the sample before, also with openmetrics")
def _(d):
    path = os.path.join(d, "x.prom")
    p = subprocess.Popen([PROG, *ROOTS, "-o", "openmetrics", "-O", path, "0.1", "5"])
    seen = set()
    while p.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            with open(path, "rb") as f:
                text = f.read()
                check(text.endswith(b"# EOF\n") and text.count(b"# EOF") == 1, f"torn: {text[-60:]!r}")
                seen.add(text)
    eq(p.returncode, 0, "exit code")
    check(len(seen) >= 3, f"{len(seen)} files in 5 samples")
    eq(left(d), [], "left over")


@test("-O with a relative name, and with a name of 255 bytes")
def _(d):
    eq(prom("plain.prom", cwd=d).code, 0, "exit code")
    name = "n" * 250 + ".prom"
    eq(prom(os.path.join(d, name)).code, 0, "exit code of a long name")
    eq(sorted(os.listdir(d)), sorted(["plain.prom", name]), "files")
    r = prom(os.path.join(d, "n" * 300))
    check(r.code == 1 and b"File name too long" in r.err, f"too long: {r!r}")
    eq(left(d), [], "left over")


@test("a symbolic link is replaced by the file; its target is not changed")
def _(d):
    target, link = os.path.join(d, "target"), os.path.join(d, "link.prom")
    with open(target, "wb") as f:
        f.write(OLD)
    os.symlink("target", link)
    eq(prom(link).code, 0, "exit code")
    check(not os.path.islink(link) and whole(read(link)), "the link is still there")
    eq(read(target), OLD, "content of the target")


@test("/dev/stdout, a FIFO and a device are written to, not replaced")
def _(d):
    was = os.lstat("/dev/stdout").st_mode
    check(whole(prom("/dev/stdout").out), "nothing in the pipe")
    path = os.path.join(d, "out")
    with open(path, "wb") as f:
        eq(subprocess.run([PROG, *ONCE, "-o", "prom", "-O", "/dev/stdout"], stdout=f).returncode, 0, "exit code")
    check(whole(read(path)), "no complete exposition in the file that /dev/stdout refers to")
    eq(os.lstat("/dev/stdout").st_mode, was, "/dev/stdout")
    fifo = os.path.join(d, "fifo")
    os.mkfifo(fifo)
    p = subprocess.Popen([PROG, *ONCE, "-o", "prom", "-O", fifo])
    check(whole(read(fifo)), "no complete exposition in the FIFO")
    eq((p.wait(), stat.S_ISFIFO(os.stat(fifo).st_mode)), (0, True), "exit code, FIFO")
    r = prom("/dev/full")
    check(r.code == 1 and b"No space left" in r.err and stat.S_ISCHR(os.stat("/dev/full").st_mode), repr(r))
    eq(prom("/dev/null").code, 0, "/dev/null")


@test("a full disk: a message, exit 1, the old file remains, no temporary file")
def _(d):
    if os.getuid():
        raise Skip("needs root")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "t", d], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no mount(2) here")
    try:
        path = old(d)
        r = prom(path)
        check(r.code == 1 and r.err == f"gpustat: {path}: No space left on device\n".encode(), repr(r))
        eq((read(path), left(d)), (OLD, []), "file, left over")
    finally:
        subprocess.run(["umount", d], check=True)


@test("a limit on file sizes (EFBIG): a message, exit 1, the old file remains, no temporary file")
def _(d):
    path = old(d)
    r = prom(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    check(r.code == 1 and b"File too large" in r.err, repr(r))
    eq((read(path), left(d)), (OLD, []), "file, left over")


@test("a limit on file sizes, for standard output: a message, exit 1")
def _(d):
    with open(os.path.join(d, "out"), "wb") as f:
        r = subprocess.run([PROG, *ONCE, "-o", "json"], stdout=f, stderr=subprocess.PIPE,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    eq((r.returncode, r.stderr), (1, b"gpustat: cannot write to standard output: File too large\n"), "exit code, message")


@test("a folder that is not writable or does not exist: a message before the first sample")
def _(d):
    path = old(d)
    os.chmod(d, 0o555)
    r = run([*ROOTS, "-o", "prom", "-O", path, "3600", "2"], nobody=True)
    eq((r.code, r.out, r.err), (1, b"", f"gpustat: {path}: Permission denied\n".encode()), "exit code, output, message")
    os.chmod(d, 0o777)
    eq((read(path), left(d)), (OLD, []), "file, left over")
    eq(run([*ONCE, "-o", "prom", "-O", f"{path}2"], nobody=True).code, 0, "exit code in a writable folder")
    os.chmod(d, 0o755)
    eq((read(path), left(d)), (OLD, []), "file, left over")
    for bad, why in ((f"{path}/x", b"Not a directory"), (f"{d}/none/x", b"No such file"), (d, b"Is a directory")):
        r = prom(bad)
        check(r.code == 1 and why in r.err, f"{bad}: {r!r}")


@test("a folder that is writable only with CAP_DAC_OVERRIDE, which the systemd unit grants")
def _(d):
    if os.getuid():
        raise Skip("needs root")
    if not shutil.which("setpriv"):
        raise Skip("no setpriv (package util-linux)")
    path = old(d)
    os.chmod(d, 0o755)
    for caps, code in (("-all,+dac_override", 0), ("-all", 1)):
        r = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", caps,
                            "--ambient-caps", caps, "--no-new-privs", PROG, *ONCE, "-o", "prom", "-O", path],
                           capture_output=True, timeout=60, check=False)
        eq((r.returncode, b"Permission denied" in r.stderr, left(d)), (code, bool(code), []), f"{caps}: {r!r}")
    check(whole(read(path)), "nothing written")


@test("no device: exit 3, and the old file remains")
def _(d):
    m = made_machine(d)
    path = old(d)
    r = run([*m.roots(), "-o", "prom", "-O", path])
    eq((r.code, read(path), left(d)), (3, OLD, []), "exit code, file, temporary files")


@test("stat and sample: the old file remains if the command cannot be started")
def _(d):
    path = old(d)
    for cmd in ("stat", "sample"):
        r = run([cmd, "-e", "task-clock", "-o", "prom", "-O", path, "--", "/nonexistent"])
        eq((r.code, read(path), left(d)), (127, OLD, []), f"{cmd}: exit code, file, temporary files")


@test("csv: one header in a file to which several runs append")
def _(d):
    path = f"{d}/x.csv"
    for args in ((), ("-f", "dev,clients")):
        if os.path.exists(path):
            os.unlink(path)
        for _i in range(2):
            r = run([*ONCE, "-o", "csv", *args, "-O", path])
            eq((r.code, r.err), (0, b""), "exit code, messages")
        rows = read(path).decode().splitlines()
        eq(sum(r.startswith(("time,", "dev,")) for r in rows), 1, f"headers in {rows[:3]}")
        eq(len(rows) % 2, 1, "number of rows of two runs and one header")


@test("fdinfo: the old file remains if no dump is readable, and is replaced if one is; exit 1")
def _(d):
    path = old(d)
    good = next(p for p in (f"{TREE}/proc/1402/fdinfo/{n}" for n in os.listdir(f"{TREE}/proc/1402/fdinfo"))
                if b"drm-driver" in read(p))
    r = run(["fdinfo", "-o", "prom", "-O", path, f"{d}/none"])
    eq((r.code, read(path), left(d)), (1, OLD, []), "exit code, file, temporary files")
    eq(run(["fdinfo", "-o", "prom", "-O", path, f"{d}/none", good]).code, 1, "exit code")
    check(b"gpustat_fdinfo_" in read(path), "not replaced")


@test("an unreadable recording: exit 1, and the old file remains")
def _(d):
    path = old(d)
    for rec in (os.path.join(machine.HERE, "tap.py"), os.path.join(d, "none")):
        for fmt in ("prom", "openmetrics"):
            r = run(["oa", "--replay", rec, "--totals", "-o", fmt, "-O", path])
            eq((r.code, read(path), left(d)), (1, OLD, []), f"{rec} {fmt}: {r!r}")


@test("SIGTERM completes the sample: exit 0, a complete file, no temporary file")
def _(d):
    path = os.path.join(d, "x.prom")
    for i in range(30):
        p = subprocess.Popen([PROG, *ROOTS, "-o", "prom", "-O", path, "0.01"])
        machine.until("its file", lambda: os.path.exists(path))
        time.sleep(i / 1000)
        p.terminate()
        eq(p.wait(timeout=60), 0, "exit code")
        check(whole(read(path)), "torn")
        os.unlink(path)
    eq(left(d), [], "left over")


@test("200 times SIGKILL: the file is the old one or a new one, and always complete")
def _(d):
    path = old(d)
    rest = 0
    for _i in range(200):
        p = subprocess.Popen([PROG, *ROOTS, "-o", "prom", "-O", path, "0.001"])
        time.sleep(random.uniform(0.001, 0.02))
        p.kill()
        p.wait()
        text = read(path)
        check(text == OLD or whole(text), f"torn: {text[-80:]!r}")
        rest += len(left(d))
        for n in left(d):
            os.unlink(os.path.join(d, n))
    check(rest <= 100, f"{rest} files left in 200 runs")


@test("two concurrent writers: the file is always complete")
def _(d):
    path = os.path.join(d, "x.prom")
    ps = [subprocess.Popen([PROG, *ROOTS, "-o", "prom", "-O", path, "0.002", "300"]) for _i in range(2)]
    n = 0
    while any(p.poll() is None for p in ps):
        with contextlib.suppress(FileNotFoundError):
            check(whole(read(path)), "torn")
            n += 1
    eq([p.returncode for p in ps], [0, 0], "exit codes")
    check(n > 50, f"read {n} times")
    eq(left(d), [], "left over")


@test("json: each run appends its record to the file")
def _(d):
    path = os.path.join(d, "log")
    for _i in range(3):
        eq(run([*ONCE, "-o", "json", "-O", path]).code, 0, "exit code")
    eq(len(parse_json(read(path))), 3, "records")
    eq(stat.S_IMODE(os.stat(path).st_mode), 0o644 & ~UMASK, "mode")
    new = os.path.join(d, "new")
    eq(run([*ONCE, "-o", "json", "-O", new], preexec_fn=lambda: os.umask(0o026)).code, 0, "exit code")
    eq(stat.S_IMODE(os.stat(new).st_mode), 0o640, "mode with umask 026")
    eq(run([*ONCE, "-O", "/dev/full"]).code, 1, "exit code of /dev/full")


def writes(args):
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["strace", "-qq", "-o", f.name, "-e", "trace=write,sendto,openat,renameat,rename,fchmod,unlinkat",
                        PROG, *args], stdout=subprocess.DEVNULL, check=True)
        return f.read().decode().splitlines()


@test("system calls of a sample: one write; also one open, fchmod and rename to replace a file")
def _(d):
    calls = writes([*ONCE, "-o", "json"])
    eq(sum(c.startswith("write(1,") for c in calls), 1, "writes")
    calls = writes([*ONCE, "-o", "prom", "-O", f"{d}/x.prom"])
    at = next(i for i, c in enumerate(calls) if "O_EXCL" in c)
    check("O_NOFOLLOW" in calls[at] and "O_CLOEXEC" in calls[at], calls[at])
    eq([c.split("(")[0].replace("renameat", "rename") for c in calls[at:]], ["openat", "fchmod", "write", "rename"], "calls")
    check(not any("unlink" in c for c in calls), "a file was unlinked")


@test("system calls of three appended records: one open with O_APPEND, one write per record")
def _(d):
    path = f"{d}/log"
    calls = writes([*ROOTS, "-r", "0.01", "3", "-o", "json", "-O", path])
    opened = [c for c in calls if path in c]
    check(len(opened) == 1 and "O_APPEND" in opened[0] and ", 0644)" in opened[0], f"{opened}")
    sizes = [int(c.split(" = ")[1]) for c in calls if c.startswith(f"write({opened[0].split(' = ')[1]},")]
    eq(sizes, [len(line) for line in read(path).splitlines(keepends=True)], "sizes of the writes and of the lines of the file")
    eq(len(sizes), 3, "writes")


# --- datagrams ------------------------------------------------------------------------------------

@contextlib.contextmanager
def listener(family=socket.AF_INET, host="127.0.0.1"):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        try:
            s.bind((host, 0))
        except OSError as e:
            raise Skip(str(e)) from None
        s.settimeout(0.5)
        yield s, s.getsockname()[1]


def take(s):
    got = []
    with contextlib.suppress(socket.timeout):
        while True:
            got.append(s.recv(65536))
    return got


@test("udp: datagrams of at most 1432 bytes contain whole lines, the same as on standard output")
def _(d):
    for fmt in ("statsd", "graphite"):
        with listener() as (s, port):
            r = run([*ROOTS, "-w", "0.05", "-o", fmt, "-O", f"udp:localhost:{port}"])
            eq((r.code, r.out, r.err), (0, b"", b""), "exit code, output, messages")
            got = take(s)
        check(len(got) > 1, f"{len(got)} datagrams")
        check(all(len(g) <= 1432 and g.endswith(b"\n") for g in got), f"{[len(g) for g in got]}")
        want = run([*ROOTS, "-w", "0.05", "-o", fmt]).out
        eq([x.split()[0].split(b":")[0] for x in b"".join(got).splitlines()],
           [x.split()[0].split(b":")[0] for x in want.splitlines()], f"{fmt}: lines")
        check(all(len(a) + len(b.splitlines()[0]) + 1 > 1432 for a, b in zip(got, got[1:])), "a datagram has room for the next line")


@test("udp over IPv6")
def _(d):
    with listener(socket.AF_INET6, "::1") as (s, port):
        for host in ("[::1]", "[0:0::0:1]", "[0:0:0:0:0:0:0:1]", "[::0.0.0.1]"):
            r = run([*ROOTS, "-w", "0.01", "-o", "statsd", "-O", f"udp:{host}:{port}"])
            check(r.code == 0 and take(s), f"{host}: {r!r}")


@test("udp: a missing listener is not an error; -v reports it once")
def _(d):
    with listener() as (s, port):
        pass
    args = [*ROOTS, "0.01", "5", "-o", "statsd", "-O", f"udp:127.0.0.1:{port}"]
    r = run(args)
    eq((r.code, r.err), (0, b""), "exit code, messages")
    r = run([*args, "-v"])
    eq((r.code, r.err.count(b"no program listens")), (0, 1), "exit code, number of messages")


@test("udp: the longest lines fit into a datagram, and all are received")
def _(d):
    m = made_machine(d)
    m.device("i915", machine.I915)
    m.process(11, comm="\\" * 15, cgroup="0::/" + "/".join(["c." * 100] * 18) + "\n")
    m.fd(11, 5, machine.dump("i915", 8, *(f"drm-engine-{'.' * 100}{i}:\t5 ns" for i in range(20)), pdev=machine.I915))
    for fmt in ("statsd", "graphite"):
        args = [*m.roots(), "cgroups", "-w", "0.05", "-o", fmt]
        want = run(args).out.splitlines()
        check(max(len(x) for x in want) > 400, f"no long line: {[len(x) for x in want]}")
        with listener() as (s, port):
            r = run([*args, "-O", f"udp:127.0.0.1:{port}"])
            got = take(s)
        eq((r.code, r.err), (0, b""), "exit code, messages")
        check(all(len(g) <= 1432 and g.endswith(b"\n") for g in got), f"{[len(g) for g in got]}")
        eq([x.split()[0].split(b":")[0] for x in b"".join(got).splitlines()],
           [x.split()[0].split(b":")[0] for x in want], f"{fmt}: lines")


# --- lines of standard input ----------------------------------------------------------------------

def asked(*args):
    return subprocess.Popen([PROG, *ROOTS, "--on-stdin", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


@test("--on-stdin: one sample per line, with rates since the sample before; exit 0 at the end of input")
def _(d):
    p = asked("-w", "0.05", "-o", "json", "-t", "mono")
    asked_at, answers = [], []
    for text in (b"\n", b"now\n", b"x" * 70000 + b"\n"):
        p.stdin.write(text[:-1])
        p.stdin.flush()
        machine.wait_asleep(p.pid)  # an incomplete line starts no sample
        before = time.monotonic()
        p.stdin.write(b"\n")
        p.stdin.flush()
        answers.append(json.loads(p.stdout.readline()))
        asked_at.append((before - 1e-6, time.monotonic() + 1e-6))
    for (before, after), r in zip(asked_at, answers):
        check(before <= r["time"] <= after, f"{before} .. {r['time']} .. {after}")
    for (a, b), (c, d_), r in zip(asked_at, asked_at[1:], answers[1:]):
        check(c - b <= r["dt"] <= d_ - a, f"{c - b} .. dt {r['dt']} .. {d_ - a}")
    out, err = p.communicate(b"", timeout=60)
    eq((p.returncode, out, err), (0, b"", b""), "exit code, rest, messages")


@test("--on-stdin: several lines in one write start one sample each, an incomplete line none; COUNT ends the run")
def _(d):
    for fmt, each in (("json", 1), ("csv", None), ("line", 1), ("influx", None), ("prom", None)):
        out, _e = asked("-w", "0.02", "-o", fmt, "-f", "clients").communicate(b"\n\n\nrest", timeout=60)
        n = out.count(b"gpustat_clients{") if fmt == "prom" else len(out.splitlines()) - (fmt in ("csv", "line"))
        eq(n, 3, f"{fmt}: samples")
    p = asked("-w", "0.02", "-c", "2", "-o", "json")
    p.stdin.write(b"\n" * 5)
    p.stdin.flush()
    eq((p.wait(timeout=60), len(parse_json(p.stdout.read()))), (0, 2), "exit code, samples")


@test("--on-stdin: with -r, after SIGTERM, with empty input, and with host")
def _(d):
    out, _e = asked("-r", "-o", "json").communicate(b"\n", timeout=60)
    eq([r["dt"] for r in parse_json(out)][:1] and len(parse_json(out)), 1, "samples")
    p = asked("-o", "json")
    machine.wait_asleep(p.pid)
    p.terminate()
    eq(p.wait(timeout=60), 0, "exit code after SIGTERM")
    eq(run([*ROOTS, "--on-stdin"]).code, 0, "exit code without a line")
    r = run(["host", "--on-stdin", "-w", "0.02", "-o", "json", "-f", "cpu/all/util"], stdin=b"\n\n")
    eq((r.code, len(parse_json(r.out))), (0, 2), "host: exit code, samples")


# --- alignment to the wall clock ------------------------------------------------------------------

def driven(*args, **kw):
    try:
        return clock.Driven([PROG, *args], **kw)
    except clock.Unable as e:
        raise Skip(str(e)) from None


@test("--align: samples are at multiples of the interval and cover whole intervals, also one-shot and with -r")
def _(d):
    for args, n in ((["0.5", "3"], 3), (["-w", "0.5"], 1), (["-r", "0.5", "2"], 2)):
        with driven(*ROOTS, "--align", *args, "-o", "json") as p:
            p.to_end()
        recs = parse_json(p.out)
        eq((p.code, len(recs)), (0, n), f"{args}: exit code, samples")
        for r in recs:
            check(r["time"] % 0.5 < 0.001, f"{args}: {r['time'] % 0.5} s after the multiple of the interval")
            check(r["dt"] is None or abs(r["dt"] - 0.5) < 0.001, f"{args}: dt {r['dt']}")


@test("SIGTERM ends every kind of wait, with exit 0")
def _(d):
    for args, stdin in ((["60"], None), (["-w", "60"], None), (["--align", "3h"], None), (["--align", "-r", "3h"], None), (["--inner", "30", "60"], None),
                        (["-r", "60"], None), (["--on-stdin"], b""), (["--on-stdin", "-w", "60"], b"\n"), (["-S", "60"], None),
                        (["-o", "prom", "-O", f"{d}/x.prom", "60"], None), (["-o", "svg", "-O", f"{d}/x.svg", "60"], None)):
        p = subprocess.Popen([PROG, *ROOTS, *args], stdin=subprocess.PIPE if stdin is not None else None,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if stdin:
            p.stdin.write(stdin)
            p.stdin.flush()
        machine.wait_asleep(p.pid)
        eq(p.poll(), None, f"{args}: exit code before SIGTERM")
        p.terminate()
        out, err = p.communicate(timeout=60)
        eq((p.returncode, err, out == b""), (0, b"", args != ["-r", "60"]), f"{args}: exit code, messages, no sample")
    eq(left(d), [], "left over")


@test("svg is written at the end: SIGKILL leaves the old file, SIGTERM a complete picture")
def _(d):
    path = os.path.join(d, "x.svg")
    for end, whole_one in ((signal.SIGKILL, False), (signal.SIGTERM, True)):
        with open(path, "wb") as f:
            f.write(OLD)
        p = subprocess.Popen([PROG, *ROOTS, "-o", "svg", "-O", path, "0.05"])
        machine.wait_asleep(p.pid)
        eq(read(path), OLD, "the file while it runs")
        p.send_signal(end)
        p.wait()
        text = read(path)
        check(b"<svg " in text and text.endswith(b"</svg>\n") if whole_one else text == OLD, f"{end}: {text[:60]!r}")
        eq(left(d), [], "left over")


# --- summaries ------------------------------------------------------------------------------------

@test("--inner: min, avg and max of each interval")
def _(d):
    m = made_machine(d)
    dev = m.device("i915", machine.I915, files={"hwmon/hwmon0/name": "i915\n", "hwmon/hwmon0/temp1_input": "40000\n"})
    temp = m.path(dev, "hwmon/hwmon0/temp1_input")
    at = {4: 60000, 14: 20000, 17: 30000}  # {tenths of a second: new temperature}
    with driven(*m.roots(), "1", "3", "--inner", "0.1", "-o", "json") as p:
        k = 0
        while p.sleep():
            if k in at:
                machine.rewrite(temp, f"{at[k]}\n")
            k += 1
            p.wake()
    recs = parse_json(p.out)
    eq([r["summary"] for r in recs], ["min", "avg", "max"] * 3, "records")
    eq(k, 30, "readings after the first")
    t = [next(iter(r["temp"].values())) for r in recs]
    eq((t[0], t[2], t[3], t[5], t[6], t[8]), (40, 60, 20, 60, 30, 30), "min and max")
    machine.near(t[1], (4 * 40 + 6 * 60) / 10, 2, "mean of the first interval")
    machine.near(t[4], (4 * 60 + 3 * 20 + 3 * 30) / 10, 2, "mean of the second interval")
    eq(t[7], 30, "mean of the third interval")
    for r in recs:
        machine.near(r["dt"], 1, 0.001, "dt")


@test("an --inner interval that does not divide the interval is shortened; the interval is not changed")
def _(_d):
    with driven(*ROOTS, "1", "2", "--inner", "0.3", "-o", "json") as p:
        sleeps = p.to_end()
    for rec in parse_json(p.out):
        machine.near(rec["dt"], 1, 0.001, "dt")
    eq(machine.on_grid(sleeps, 0.25), list(range(8)), "times of the readings: 4 in each of 2 s")


@test("--inner and -S: records are labelled min, avg and max, in every command and format")
def _(d):
    for cmd in ([], ["clients"], ["cgroups"]):
        for more, n in ((["0.04", "1", "--inner", "0.01"], 1), (["0.02", "2", "-S"], 1), (["-w", "0.04", "--inner", "0.02"], 1)):
            for fmt in ("line", "table", "csv", "json", "logfmt", "prom", "openmetrics", "influx", "graphite", "statsd",
                        "collectd", "kmsg"):
                for extra in ([], ["-k", "1"], ["-s", "dev"], ["-t", "none"]):
                    r = run([*cmd, *ROOTS, *more, "-o", fmt, *extra])
                    eq((r.code, r.err), (0, b""), f"{cmd} {more} {fmt} {extra}: exit code, messages")
                    for word in (b"min", b"avg", b"max"):
                        check(word in r.out, f"{cmd} {more} {fmt} {extra}: no {word.decode()}")


@test("-k and -s select and sort summaries by their averages")
def _(d):
    m = made_machine(d)
    m.device("i915", machine.I915)

    def text(client, kib):
        return machine.dump("i915", client, f"drm-resident-system0:\t{kib} KiB", pdev=machine.I915)
    # Client 2 has the highest average, 4 the highest minimum, 1 the highest maximum.
    usual, once = {1: 100, 2: 900, 3: 300, 4: 500}, {1: 2000, 2: 0, 3: 290, 4: 500}
    files = {client: m.fd(10 * client, 5, text(client, kib)) for client, kib in usual.items()}
    with driven("clients", *m.roots(), "1", "1", "--inner", "0.1", "-k", "3", "-s", "memory.system0.resident", "-o", "json") as p:
        k = 0
        while p.sleep():
            for client, f in files.items():
                machine.rewrite(f, text(client, (once if k == 4 else usual)[client]))
            k += 1
            p.wake()
    eq([(x["summary"], x["client"]) for x in parse_json(p.out)], [(s, c) for s in ("min", "avg", "max") for c in (2, 4, 3)], "order")
    r = run(["clients", *ROOTS, "0.04", "2", "--inner", "0.01", "-k", "2", "-s", "memory", "-o", "json"])
    recs = parse_json(r.out)
    eq([x["summary"] for x in recs], ["min"] * 2 + ["avg"] * 2 + ["max"] * 2 + ["min"] * 2 + ["avg"] * 2 + ["max"] * 2, "records")
    eq([x["client"] for x in recs[0:2]], [x["client"] for x in recs[2:4]], "clients")


# --- invalid combinations -------------------------------------------------------------------------

@test("options that cannot be combined: a usage error that gives the reason")
def _(d):
    for args, word in (
            (["--inner", "1", "1"], "shorter than"), (["--inner", "1"], "shorter than"), (["--inner", "0.1", "-r", "1"], "--raw"),
            (["-S", "-r", "1"], "--raw"), (["-S", "--inner", "0.1", "1"], "exclude each other"), (["-o", "svg", "-S", "1"], "-o svg, perfetto and chrome exclude"),
            (["-o", "svg", "--inner", "0.1", "1"], "-o svg, perfetto and chrome exclude"), (["--on-stdin", "1"], "INTERVAL"), (["--on-stdin", "-i", "1"], "interval"),
            (["--on-stdin", "--align"], "--align"), (["--on-stdin", "--inner", "0.1"], "--inner"),
            (["-1", "-o", "csv"], "-1 requires"), (["-1", "-o", "prom"], "-1 requires"), (["-1", "-o", "kmsg"], "-1 requires"),
            (["-O", "/dev/kmsg", "0.2"], "0.5s"), (["-O", "/dev/kmsg", "-i", "100ms"], "0.5s"), (["-O", "/dev/kmsg", "--inner", "0.1", "1.4"], "1.5s"),
            (["-O", "/dev/kmsg", "--inner", "0.1", "-c", "3"], "1.5s"), (["-O", "/dev/kmsg", "-o", "json"], "kmsg"),
            (["-O", "udp:127.0.0.1:8125"], "statsd"), (["-O", "udp:127.0.0.1:8125", "-o", "prom"], "statsd"),
            *((["-O", f"udp:{at}", "-o", "statsd"], "udp:127.0.0.1:8125") for at in (
                "host:8125", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1.2:1", "1.2.3:1", "256.0.0.1:1",
                "::1:8125", "[::1]", "[::1:8125", "[1::2::3]:1", "[12345::]:1", "[1:2:3:4:5:6:7]:1", "[1:2:3:4:5:6:7:8:9]:1", "[:1]:1",
                "[1:]:1", "[::g]:1", "[]:1", "[:::]:1", "127.0.0.1.:1", ":1")),
            (["--state", "x", "-O", "x"], "different files"), (["--http"], "prom"), (["--http", "-o", "json"], "prom"), (["--http", "-o", "prom", "1"], "INTERVAL"),
            (["--http", "-o", "prom", "-O", "x"], "--output"), (["--http", "-o", "prom", "--on-stdin"], "--on-stdin")):
        r = run([*ROOTS, *args], timeout=60)
        check(r.code == 2 and word.encode() in r.err and r.out == b"", f"{args}: {r!r}")
    for args in (["--help"], ["-f", "help"], ["host", "-f", "help"], ["-V"]):
        eq(run(args).code, 0, f"{args}: exit code")
    for args in (["counters", "host/load/-/1", "1", "--on-stdin"], ["counters", "host/load/-/1", "0.1", "-O", "/dev/kmsg"],
                 ["list", "--align"], ["host", "--inner", "0.1"], ["host", "-S"], ["host", "-k", "1"], ["stat", "--align"],
                 ["stat", "-j", "-O", "/dev/kmsg", "true"]):
        r = run(args, timeout=60)
        check(r.code == 2 and r.err, f"{args}: {r!r}")


def main():
    only = os.environ.get("ONLY", "")
    for name, f in TESTS:
        if only not in name:
            continue
        with tempfile.TemporaryDirectory() as d:
            os.chmod(d, 0o755)
            os.mkdir(os.path.join(d, "d"))
            try:
                f(os.path.join(d, "d"))
                tap.report(True, name)
            except Skip as e:
                tap.skip(name, e)
            except Exception as e:
                tap.report(False, name, e, *traceback.format_exc().splitlines()[-4:])
    tap.finish()


main()
