#!/usr/bin/env python3
# t_kernel.py PROG - kernels and machines that lack a feature: system calls, /proc, /sys,
# descriptors. Each command works without the feature, or ends with a message that names it. A
# seccomp filter or strace(1) makes system calls fail. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import errno
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from kernel import lacking, start, without  # noqa: E402
from machine import check, eq, package, parse_json, run  # noqa: E402

TESTS = []


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


# --- missing system calls -------------------------------------------------------------------------

@test("without sockets and eventfd (no CONFIG_NET, no CONFIG_EVENTFD) stat and sample start a command")
def _(_m):
    for error in ("ENOSYS", "EAFNOSUPPORT"):
        for args in (["stat"], ["stat", "-r", "3"], ["sample", "--summary"]):
            r = lacking("socket socketpair eventfd2", *args, "-e", "page-faults", "-o", "json", "--", "sh", "-c", "exit 3", error=error)
            eq(r.code, 3, f"{args}: exit code of the command ({r!r})")
            check(parse_json(r.out + r.err), f"{args}: {r!r}")
            r = lacking("socket socketpair eventfd2", *args, "-e", "page-faults", "--", "/no/such/command", error=error)
            eq((r.code, r.err), (127, b"gpustat: /no/such/command: No such file or directory\n"), f"{args}")
    r = lacking("pipe2", "stat", "-e", "page-faults", "--", "true", error="EMFILE")
    eq((r.code, r.err), (1, b"gpustat: cannot start a process: Too many open files (RLIMIT_NOFILE)\n"), "no descriptors")


@test("without perf events (no CONFIG_PERF_EVENTS), or memory for one, each event has this reason; exit 4")
def _(_m):
    for error, why in (("ENOSYS", "not supported: this kernel has no perf events"), ("ENOMEM", "not counted: the kernel has no memory for it")):
        for args in (["stat", "-e", "page-faults,cycles", "--", "true"], ["stat", "-a", "-w", "0.01"], ["sample", "--", "true"]):
            r = lacking("perf_event_open", *args, error=error)
            check(r.code == 4 and why.encode() in r.out + r.err, f"{args}: {r!r}")


@test("check -t works without timers (no CONFIG_POSIX_TIMERS), and no process remains")
def _(m):
    machine.one_client(m)
    roots = m.roots()
    for args in (["--window", "60"], ["--window", "60", "--no-sandbox"]):
        r = lacking("setitimer timer_create", "check", "-t", "0.3", *args, *roots)
        eq((r.code, r.out), (3, b"GPU UNKNOWN - timeout\n"), f"{args}")
    r = lacking("setitimer timer_create", "check", "-t", "300", "--window", "0.01", *roots)  # returns when no process has the output open
    check(r.code == 0 and r.out.startswith(b"GPU OK - "), f"{r!r}")


@test("each errno that Linux may return has a text in messages; other numbers are printed as unknown")
def _(m):
    dump = m.write("dump", "drm-driver:\ti915\n")
    never = {"ENOSTR", "ENOSR", "EREMOTE", "EREMCHG", "ERESTART", "EISCONN", "ETOOMANYREFS", "ENOTUNIQ", "ENOTBLK", "EMLINK", "EMULTIHOP"}
    streams = {"EADV", "ESRMNT", "ENONET", "ENOPKG", "EDOTDOT", "EXFULL", "EBADE", "EBADR", "ENOANO", "EBADRQC", "EBADSLT", "EBFONT",
               "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "ELIBACC", "ELIBBAD", "ELIBSCN", "ELIBMAX",
               "ELIBEXEC", "EISNAM", "ENOTNAM", "ENAVAIL", "ESTRPIPE"}
    again = {"EINTR", "EAGAIN", "EEXIST"}  # EINTR and EAGAIN are retried; EEXIST means a missing permission
    strace = [package("strace", "strace"), "-qq", "-o", "/dev/null", "-P", dump]
    for name in sorted(set(errno.errorcode.values()) - never - streams - again | {"ENOTSUPP", "531", "600"}):
        r = start([*strace, "-e", f"inject=openat:error={getattr(errno, name, 524) if not name.isdigit() else name}", machine.PROG, "--no-sandbox", "fdinfo", dump])
        err = r.err.decode().removeprefix(f"fdinfo: {dump}: ").rstrip("\n")
        text = os.strerror(getattr(errno, name, 0))
        want = [name, text, f"{text} ({name})"] if not name.isdigit() else [f"error {name} (unknown)"]
        want += {"EIO": ["Input/output error"], "ENOTSUP": ["Operation not supported"], "EDEADLOCK": ["EDEADLK"],
                 "ENETUNREACH": ["Network unreachable"], "ETIMEDOUT": ["Operation timed out"], "EMFILE": ["Too many open files (RLIMIT_NOFILE)"]}.get(name, [])
        check(r.code == 1 and err in want, f"{name}: {r!r}")


def commands(m):
    """Yields a short run of each command of --help, on machine m if the command has --proc and
    --sys."""
    roots = m.roots()
    dump = m.write("dump.txt", machine.dump("i915", 7))
    for args in ([], ["clients"], ["procs"], ["cgroups"], ["list"]):
        yield [*args, *roots] + (["-w", "0.01"] if args != ["list"] else [])
    yield ["fdinfo", dump]
    yield ["counters", *roots]
    yield ["counters", "CPU *", "-w", "0.01"]
    yield ["host", "-w", "0.01", *roots]
    yield ["doctor", *roots]
    yield ["top", "0.01", "1", *roots]
    yield ["events", *roots]
    yield ["stat", "-e", "page-faults", "-w", "0.01", *roots]
    yield ["stat", "-e", "page-faults", "--", "true"]
    yield ["sample", "-e", "page-faults", "--", "true"]
    yield ["oa", "list", *roots]
    yield ["oa", *roots]
    yield ["check", "-w", "80", "--window", "0.01", *roots]
    yield ["munin", "--window", "10ms", *roots]
    yield ["plot", os.path.join(machine.HERE, "plots/small.csv")]
    yield ["run", "-i", "0.01", *roots, "--", "true"]
    yield ["capture", *roots]


@test("too few descriptors: each command names the limit, and an unknown count is not 0")
def _(m):
    machine.one_client(m)
    whole = {tuple(args): run(args).code for args in commands(m)}
    for n in (3, 4, 5, 6, 7, 8, 9, 10, 12):
        for args in commands(m):
            r = start(["prlimit", f"--nofile={n}:{n}", machine.PROG, *args])
            said = b"Too many open files (RLIMIT_NOFILE)" in r.err + r.out
            check(r.code == whole[tuple(args)] or (r.code in (1, 3) and said), f"{n} descriptors, {args}: {r!r}")
            # stat, doctor and sample continue without an event or a file of symbols, with a message
            check(r.code or not said or args[0] in ("stat", "doctor", "sample"), f"{n} descriptors, {args}: exit 0, but {r!r}")
        r = start(["prlimit", f"--nofile={n}:{n}", machine.PROG, "-w", "0.01", "-o", "json", *m.roots()])
        for d in parse_json(r.out):
            check(d["clients"] == 1 or (d["clients"] is None and r.code == 1), f"{n} descriptors: {d} {r!r}")


@test("a device with a broken link in /sys is named with the reason, and the others are shown")
def _(m):
    m.device("i915", machine.I915)
    dev = m.device("amdgpu", "0000:03:00.0", card=1, render=None)
    link = m.path(dev, "drm/card1/device")
    os.unlink(link)
    os.symlink("device", link)
    for args in (["-w", "0.01"], ["0.02", "3"], ["list"], ["clients", "-w", "0.01"]):
        r = run([*args, *m.roots()])
        eq((r.code, r.err), (0, b"gpustat: some files could not be read: class/drm/card1/device: Too many levels of symbolic links\n"), f"{args}")
        check(args[0] == "clients" or b"card0" in r.out, f"{args}: {r!r}")


# --- missing file systems -------------------------------------------------------------------------

MOUNT = {"/proc": "mount -t proc proc /proc", "/sys": "mount -t sysfs sys /sys"}


def unmounted(paths):
    both = "/proc and /sys are" if len(paths) == 2 else f"{paths[0]} is"
    return f"gpustat: {both} not mounted; as root: {'; '.join(MOUNT[p] for p in sorted(paths))}\n".encode()


WITHOUT = (["/sys"], ["/proc"], ["/sys", "/proc"])  # unmounted in this order


@test("without /proc, /sys or both: commands that do not need them run, with one message about what is missing")
def _(_m):
    for paths in WITHOUT:
        for args in (["stat", "-e", "page-faults,r1a8", "-w", "0.01"], ["stat", "-a", "-A", "-e", "page-faults", "-w", "0.01"],
                     ["stat", "-e", "page-faults,context-switches:u", "--", "true"], ["sample", "--summary", "-e", "page-faults", "--", "true"], ["events"], ["doctor"]):
            r = without(paths, args)
            check(r.code == 0 and r.err.startswith(unmounted(paths)) and r.err.count(b"mount") == unmounted(paths).count(b"mount"), f"no {paths}, {args}: {r!r}")
            if args[0] == "stat" and "-A" in args:
                check(r.out.count(b"page-faults") == len(os.sched_getaffinity(0)), f"no {paths}: each CPU: {r!r}")
        r = without(paths, ["stat", "-e", "page-faults", "-t", str(os.getpid()), "-w", "0.01"])
        check(r.code in (0, 4) and r.err == unmounted(paths), f"no {paths}: a thread: {r!r}")
    r = without(["/proc"], ["stat", "-e", "page-faults", "-p", str(os.getpid()), "-w", "0.01"])
    eq((r.code, r.err), (1, unmounted(["/proc"]) + f"gpustat: /proc is required to find the threads of process {os.getpid()}\n".encode()), "a process")
    for paths, code in zip(WITHOUT, (0, 0, 1)):
        for args in (["host", "-w", "0.01"], ["counters"]):
            r = without(paths, args)
            eq((r.code, r.err), (code, unmounted(paths)), f"no {paths}, {args}")


@test("without /proc, /sys or both: commands that need them end with exit 1 and name those that work")
def _(_m):
    for paths in WITHOUT:
        for args in (["-w", "0.01"], ["clients"], ["cgroups"], ["list"], ["oa", "list"], ["oa"], ["munin"]):
            r = without(paths, args)
            eq((r.code, r.err), (1, unmounted(paths) + b"gpustat: commands that work without it: counters, host, doctor, events, stat, sample, run\n"), f"no {paths}, {args}")
        r = without(paths, ["check"])
        eq((r.code, r.out), (3, b"GPU UNKNOWN - " + unmounted(paths)[9:]), f"no {paths}, check")
        for args in (["fdinfo", os.path.join(machine.TREES, "i915/proc/812/fdinfo/9")], ["--version"]):
            if os.path.exists(args[-1]) or len(args) == 1:
                r = without(paths, args)
                eq((r.code, r.err), (0, b""), f"no {paths}, {args}")


@test("a kernel without sysfs: no message suggests to mount it")
def _(m):
    file = m.write("filesystems", "nodev\tproc\n\text4\n")
    r = without(["/sys"], ["stat", "-e", "page-faults", "--", "true"], before=f"mount --bind {file} /proc/filesystems || exit 77")
    check(r.code == 0 and r.err.startswith(b"gpustat: /sys: this kernel has no sysfs (CONFIG_SYSFS)\n") and b"mount" not in r.err, f"{r!r}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_kernel.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS, workers=4))
