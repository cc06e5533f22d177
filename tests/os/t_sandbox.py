#!/usr/bin/env python3
# t_sandbox.py PROG - the sandbox: /proc/PID/status of running commands and of a command that stat
# starts; the system calls and files that an attacker within the process could use
# (tests/sandbox/probe.c in place of sources/os/sandbox.c); each filter, run in an interpreter
# (tests/sandbox/filter.c); and a build that is killed by the first system call that its filter does
# not allow. Prints TAP.
# SPDX-License-Identifier: MIT
import errno
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import finish, report, skip  # noqa: E402

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
TREE = os.path.join(HERE, "trees", "amdgpu")
ROOTS = ["--proc", f"{TREE}/proc", "--sys", f"{TREE}/sys"]
DUMP = f"{TREE}/proc/3456/fdinfo/21"
LANDLOCK = 444  # Linux 5.13


class Lack(Exception):
    pass


def landlock_abi():
    import ctypes
    return ctypes.CDLL(None).syscall(LANDLOCK + (4000 if platform.machine().startswith("mips") else 0), None, 0, 1)


def sh(*args, **kw):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, check=False, **kw)


def variant(d, name, source, *flags):
    """Builds the program with another sources/os/sandbox.o."""
    p = sh("make", "-s", "-C", ROOT, "-f", "-", "gpustat", "show", input=b"include Makefile\nshow:\n\t@echo 'OBJS=' $(OBJS)\n"
           b"\t@echo 'CC=' $(CC)\n\t@echo 'CPP=' $(CPP_) $(CFLAGS) $(SLIM)\n\t@echo 'LD=' $(CFLAGS) $(LD_)\n")
    made = dict(line.split("=", 1) for line in p.stdout.decode().splitlines() if re.match(r"[A-Z]+=", line))
    if p.returncode or len(made) != 4:
        raise Lack(f"make: {p.stderr.decode()[-200:]}")
    cc, cpp, ld = made["CC"].split(), made["CPP"].split(), made["LD"].split()
    obj, prog = os.path.join(d, f"{name}.o"), os.path.join(d, name)
    p = sh(*cc, *cpp, *flags, "-c", "-o", obj, os.path.join(ROOT, source), cwd=ROOT)
    if p.returncode == 0:
        p = sh(*cc, *ld, "-o", prog, *(o for o in made["OBJS"].split() if o != "sources/os/sandbox.o"), obj, cwd=ROOT)
    if p.returncode:
        raise Lack(f"{name}: {p.stderr.decode()[-300:]}")
    return prog


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


# --- /proc/PID/status of running commands ---------------------------------------------------------

def running(tmp):
    """Yields commands that run until they are killed."""
    fifo = os.path.join(tmp, "fifo")
    if not os.path.exists(fifo):
        os.mkfifo(fifo)
    yield [*ROOTS, "0.05"]
    yield ["clients", *ROOTS, "0.05"]
    yield ["procs", *ROOTS, "0.05", "-o", "json", "-p", "1", "--children"]
    yield ["cgroups", "0.05"]
    yield ["host", "0.05"]
    yield ["counters", "CPU 0 *", "0.05"]
    yield ["top", *ROOTS, "0.05"]
    yield ["stat", "-e", "task-clock", "-I", "50", "-p", str(os.getpid())]
    yield ["stat", "-e", "task-clock", "--", "sleep", "20"]
    yield ["stat", "-r", "0", "-e", "task-clock", "--", "sleep", "20"]
    yield ["stat", "-r", "3", "-e", "task-clock", "--", "sleep", "20"]
    yield ["sample", "-e", "cpu-clock", "--", "sleep", "20"]
    yield ["run", "--sys", f"{TREE}/sys", "--", "sleep", "20"]
    yield ["fdinfo", "-"]
    yield ["fdinfo", fifo]
    yield ["plot", "-"]
    yield ["oa", "--replay", "-"]
    yield ["-o", "prom", "-O", os.path.join(tmp, "out.prom"), *ROOTS, "0.05"]
    yield ["--state", os.path.join(tmp, "state"), "--on-stdin", *ROOTS]


def is_up(prog, args, want):
    """Returns Seccomp and NoNewPrivs of the command when they equal `want`, or after 60 s."""
    with subprocess.Popen([prog, *args], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        try:
            end = time.monotonic() + 60
            while True:
                s = status(p.pid)
                got = s.get("Seccomp"), s.get("NoNewPrivs")
                if got == want or time.monotonic() > end or p.poll() is not None:
                    return got
                time.sleep(0.01)
        finally:
            p.kill()


def test_status(prog, tmp):
    for args in running(tmp):
        name = " ".join(a.replace(tmp, "").replace(TREE, "") for a in args)
        got = is_up(prog, args, ("2", "1"))
        report(got == ("2", "1"), f"confined while it runs: {name}", got)
    p = subprocess.Popen([prog, "--no-sandbox", *ROOTS, "0.05"], stdout=subprocess.PIPE)
    p.stdout.readline()
    s = status(p.pid)
    p.kill()
    p.communicate()
    report((s["Seccomp"], s["NoNewPrivs"]) == ("0", "0"), "--no-sandbox: no filter and no no_new_privs", s["Seccomp"])


def test_child(prog):
    show = ["grep", "-E", "^(Seccomp|NoNewPrivs|Seccomp_filters|Cap.*):", "/proc/self/status"]
    own = sh(*show).stdout
    for args in (["stat", "-e", "task-clock"], ["stat", "-r", "3", "-e", "task-clock"], ["sample", "-e", "cpu-clock"], ["run"]):
        p = sh(prog, *args, "--", *show)
        n = 3 if "-r" in args else 1
        lines = [line for line in p.stdout.splitlines(True) if re.match(rb"Seccomp|NoNewPrivs|Cap", line)]
        report(b"".join(lines) == own * n, f"{' '.join(args)}: the command that it starts has no filter, no no_new_privs, and the caller's capabilities", p.stdout, own)


# --- calls that an attacker within the process could make -------------------------------------------------

DEADLY = """execve execveat clone clone3 fork vfork ptrace process_vm_readv process_vm_writev bpf mount umount2 pivot_root chroot
unshare setns init_module finit_module delete_module kexec_load reboot setuid setgid setresuid setresgid setgroups keyctl add_key
request_key open_by_handle_at userfaultfd memfd_create""".split()
BASE = """read write close fstat poll lseek rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64 getpid uname fcntl geteuid gettid capset
restart_syscall clock_gettime clock_getres clock_nanosleep exit_group ppoll prctl mprotect""".split()
FILES = "openat getdents64 readlinkat newfstatat stat lstat faccessat faccessat2 statx statfs fstatfs".split()
REPLACE = "unlinkat renameat renameat2 fchmod".split()
WATCH = "inotify_init1 inotify_add_watch pidfd_open".split()  # root does not need pidfd_getfd
PERF = "pwrite64 mmap munmap sched_getaffinity".split()
CHILD = "wait4 getrusage kill".split()
OPEN_PERF = "sched_getaffinity perf_event_open prlimit64 landlock_create_ruleset".split()


def numbers():
    for path in (f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"):
        if platform.machine() == "x86_64" and os.path.exists(path):
            with open(path, encoding="ascii") as f:
                return {m[1]: int(m[2]) for m in re.finditer(r"#define __NR_(\w+)\s+(\d+)", f.read())}
    raise Lack("the list of numbers is of x86-64")


def probed(tmp):
    yield ROOTS, FILES + WATCH
    yield ["--state", f"{tmp}/state", *ROOTS], FILES + WATCH + REPLACE
    yield ["stat", "-e", "task-clock", "--", "true"], FILES + PERF + CHILD
    yield ["stat", "-e", "gpu0/gfx/", *ROOTS, "--", "true"], FILES + WATCH + PERF + CHILD
    yield ["stat", "-r", "0", "-e", "task-clock", "--", "true"], FILES + PERF + CHILD + OPEN_PERF
    yield ["run", "--", "true"], FILES + WATCH + CHILD
    yield ["fdinfo", DUMP], FILES
    yield ["check", "-w", "80", *ROOTS], FILES + WATCH
    yield ["list", *ROOTS], FILES + WATCH
    yield ["munin", *ROOTS], FILES + WATCH + REPLACE
    yield ["sample", "-e", "cpu-clock", "--", "true"], FILES + PERF + CHILD
    yield ["host", "-w", "0.01"], FILES + WATCH + PERF
    yield ["counters", "perf/software/all/cs", "-w", "0.01"], FILES + WATCH + PERF + OPEN_PERF
    yield ["events", *ROOTS], FILES
    yield ["plot", "/dev/null"], FILES
    yield ["capture", *ROOTS], FILES + WATCH
    yield ["doctor"], FILES + WATCH + OPEN_PERF


def wrong_calls(out, nr, allowed):
    """Returns the lines "killed|returned|waits NR -ERRNO" of the probe that contradict the lists of
    calls."""
    results = {int(n): (what, -int(e)) for what, n, e in re.findall(r"^(\w+) (\d+) (-?\d+)$", out, re.M)}
    deadly, may = {nr[n] for n in DEADLY}, {nr[n] for n in BASE + allowed}
    if set(results) != set(range(480)):
        return [f"{len(results)} results"]
    del results[335], results[336]  # uretprobe, uprobe: the kernel's own traps, which bypass filters
    # exit_group and rt_sigreturn have no result (4096).
    return [f"{n}: {what} {err}" for n, (what, err) in results.items()
            if (what == "killed") != (n in deadly) or (n not in deadly and (what == "waits" or (err == errno.ENOSYS) == (n in may)))]


def refuse_clone_parent():
    """Installs a filter that makes clone(CLONE_PARENT) of x86-64 fail, as it does under
    qemu-user."""
    import ctypes
    code = b"".join(struct.pack("=HBBI", *x) for x in (
        (0x20, 0, 0, 0), (0x15, 0, 3, 56), (0x20, 0, 0, 16), (0x45, 0, 1, 0x8000), (0x06, 0, 0, 0x50000 | errno.EINVAL), (0x06, 0, 0, 0x7fff0000)))
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def test_last_run(probe, nr):
    """Tests the case that gpustat itself has to fork each run: it is confined only for the last
    run, which opens no events."""
    p = sh(probe, "stat", "-r", "3", "-e", "task-clock", "--", "echo", "run", env={**os.environ, "PROBE": "calls"}, stdin=subprocess.DEVNULL,
           preexec_fn=refuse_clone_parent)
    bad = wrong_calls(p.stderr.decode(), nr, FILES + PERF + CHILD)
    report(not bad and p.stdout == b"run\n" * 2, "stat -r without CLONE_PARENT: the last run is confined and opens no events",
           *bad[:8], p.stdout)


def test_calls(probe, tmp):
    nr = numbers()
    total = 0
    test_last_run(probe, nr)
    for args, allowed in probed(tmp):
        p = sh(probe, *args, env={**os.environ, "PROBE": "calls"}, stdin=subprocess.DEVNULL)
        bad = wrong_calls(p.stderr.decode(), nr, allowed)
        total += 480 * (not bad)
        name = " ".join(args[:1] + args[1:3] * (args[0] in ("--state", "stat"))).replace(TREE, "").replace(tmp, "")
        report(not bad, f"each system call that is not on the list kills the process or fails: {name}", *bad[:8])
    print(f"# proof: system calls tried from within the sandbox = {total}")


def test_files(probe, tmp):
    """Tests that an attacker who controls a parser cannot open other files."""
    secret = os.path.join(tmp, "secret")
    os.mkdir(os.path.join(tmp, "to"))
    out = os.path.join(tmp, "to", "out")
    with open(secret, "w", encoding="ascii") as f:
        f.write("secret\n")
    closed = landlock_abi() > 0
    csv = os.path.join(tmp, "run.csv")
    with open(csv, "wb") as f:
        f.write(sh(PROG, *ROOTS, "-o", "csv", "-w", "0.01").stdout)
    cases = [(["fdinfo", DUMP], True), (["plot", csv, "-O", out], True), (["oa", "--replay", csv], True), (["events", *ROOTS], True),
             (ROOTS, False)]
    for args, landlocked in cases:
        p = sh(probe, *args, env={**os.environ, "PROBE": f"open {secret} /etc/passwd"}, stdin=subprocess.DEVNULL)
        got = re.findall(r"^(read|write|make) (-?\d+) 0$", p.stderr.decode(), re.M)
        want = [-errno.EACCES if landlocked else 0]
        name = " ".join(args[:2]).replace(TREE, "").replace(tmp, "")
        if landlocked and not closed:
            skip(f"only named files can be read: {name}", "this kernel has no Landlock")
            continue
        report([int(e) for w, e in got if w == "read"] == want * 2, f"only named files can be read: {name}" if landlocked else
               "a command that reads other processes can read other files", got)
        report(len(got) == 6 and all(int(e) < 0 for w, e in got if w != "read"), f"no other file can be written or created: {name}", got)
    named = shutil.copy(DUMP, tmp)
    p = sh(probe, "fdinfo", named, "-o", "prom", "-O", os.path.join(tmp, "to", "dir.prom"), env={**os.environ, "PROBE": f"open {named} {secret}"})
    report(re.findall(r"^read (-?\d+)", p.stderr.decode(), re.M) == ["0", "-13" if closed else "0"], "a named file can be read, another file cannot", p.stderr)


def test_memory(probe, tmp):
    """Tests that tables grow in reserved memory, only perf rings can be mapped from files, and no
    memory can be made executable."""
    path = os.path.join(tmp, "mapped")
    with open(path, "wb") as f:
        f.write(bytes(4096))
    for args, rings in ((["fdinfo", DUMP], False), (ROOTS, False), (["oa", "--replay", path], False), (["host", "-w", "0.01"], True),
                        (["stat", "-e", "task-clock", "--", "true"], True)):
        p = sh(probe, *args, env={**os.environ, "PROBE": f"memory {path}"}, stdin=subprocess.DEVNULL)
        got = {what: int(e) for what, e in re.findall(r"^([a-z-]+) (-?\d+) 0$", p.stderr.decode(), re.M)}
        name = " ".join(args[:2]).replace(TREE, "").replace(tmp, "")
        report(got.get("table-write") == 0 and len(got) == 10, f"reserved memory can be made writable: {name}", got, p.stderr)
        report(got and all(e < 0 for what, e in got.items() if re.search("-exec|-all", what)), f"neither memory nor a file can be made executable: {name}", got)
        report(got and all((e == 0) == rings for what, e in got.items() if re.search("file-(read|write|copy)", what)),
               f"{'files can be mapped, as perf rings are' if rings else 'no file can be mapped'}: {name}", got)


# --- each filter allows the calls of its command --------------------------------------------------

def strict_runs(tmp):
    xml = os.path.join(tmp, "set.xml")
    with open(xml, "w", encoding="ascii") as f:
        f.write("<?xml version='1.0'?>\n<metrics>\n</metrics>\n")
    csv = os.path.join(tmp, "run.csv")
    with open(csv, "wb") as f:
        f.write(sh(PROG, *ROOTS, "-o", "csv", "-w", "0.01").stdout)
    for fmt in ("line", "json", "csv", "prom", "influx", "collectd", "svg", "table"):
        yield [*ROOTS, "-o", fmt, "0.01", "3"]
    yield ["-o", "prom", "-O", f"{tmp}/a.prom", *ROOTS, "0.01", "3"]
    yield ["-o", "statsd", "-O", "udp:127.0.0.1:9", *ROOTS, "0.01", "3"]
    yield ["--state", f"{tmp}/state2", *ROOTS]
    yield ["-w", "0.01", "-v"]
    for c in ("procs", "clients", "cgroups", "host", "top"):
        yield [c, "0.01", "2"]
    for c in ("list", "doctor", "events", "counters", "munin", "check"):
        yield [c]
    yield ["events", "--resolve", "cpu-clock"]
    yield ["events", "--map", "-v"]
    yield ["counters", "*CPU 0*", "0.01", "2"]
    yield ["stat", "-a", "-I", "10", "-c", "3"]
    yield ["stat", "-r", "3", "--", "true"]
    yield ["stat", "-r", "3", "-e", "task-clock,user_time,proc/ctxt/", "--", "true"]
    yield ["stat", "-r", "3", "--set", "a=task-clock@overflow:page-faults:9", "--set", "b=cpu-clock", "-v", "--", "ls", "/usr/bin"]
    yield ["stat", "-r", "3", "-a", "-G", "/", "--timeout", "20", "--", "sleep", "20"]
    yield ["stat", "-e", "task-clock,user_time,proc/ctxt/", "--", "true"]
    yield ["sample", "-g", "--summary", "--", "sh", "-c", "i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done"]
    yield ["sample", "-o", "perfdata", "-O", f"{tmp}/perf.data", "--", "true"]
    yield ["run", "--sys", f"{TREE}/sys", "--", "sh", "-c", "sleep 0.3 & sleep 0.1; exit 3"]
    yield ["run", "-o", "prom", "-O", f"{tmp}/run.prom", "--sys", f"{TREE}/sys", "--", "true"]
    yield ["fdinfo", DUMP]
    yield ["plot", csv, "-O", f"{tmp}/a.svg"]
    yield ["capture", *ROOTS]
    yield ["capture", *ROOTS, "-O", f"{tmp}/a.tar"]
    yield ["oa", "list"]
    yield ["oa", "pack", xml, "-O", f"{tmp}/pack"]
    yield ["oa", "--replay", csv]
    yield ["oa", "stalls", "--replay", csv, "--platform", "lnl"]


def test_strict(strict, prog, tmp):
    killed, n = [], 0
    for args in strict_runs(tmp):
        p = sh(strict, *args, stdin=subprocess.DEVNULL)
        n += 1
        if p.returncode < 0 or p.returncode != sh(prog, *args, stdin=subprocess.DEVNULL).returncode:
            killed.append(f"{' '.join(args)}: {p.returncode}")
    report(not killed, f"{n} runs make no call that their filter denies", *killed)


def test_no_kernel(prog):
    """Tests runs without seccomp and Landlock, which the filter of a container may refuse."""
    p = sh(prog, "-v", "doctor", "-o", "csv")
    report(p.returncode == 0 and re.search(rb"seccomp,ok|seccomp,absent|seccomp,denied", p.stdout), "doctor reports the filter", p.stdout[-300:])
    p = sh(prog, "doctor", "--no-sandbox", "-o", "json")
    rows = [r for r in p.stdout.splitlines() if b'"seccomp"' in r or b'"landlock"' in r]
    report(len(rows) == 2 and all(b'"absent"' in r and b"--no-sandbox" in r for r in rows), "doctor --no-sandbox reports both as absent", *rows)
    for n in (4, 5, 6):
        for args in (["fdinfo", DUMP], ["events", *ROOTS]):
            few = ["sh", "-c", f'ulimit -n {n}; exec "$@"', "sh", prog, *args]
            with_it, without = sh(*few), sh(*few, "--no-sandbox")
            report((with_it.returncode, with_it.stdout, with_it.stderr) == (without.returncode, without.stdout, without.stderr),
                   f"with {n} descriptors the sandbox does not change the result of {args[0]}", with_it, without)
    if not shutil.which("strace") or sh("strace", "-o", "/dev/null", "true").returncode:
        skip("a command runs without seccomp and Landlock", "strace may not trace here")
        return
    for e in ("ENOSYS", "EPERM", "EOPNOTSUPP", "EINVAL"):
        p = sh("strace", "-o", "/dev/null", "-e", f"inject=seccomp,landlock_create_ruleset,landlock_restrict_self:error={e}",
               prog, "fdinfo", DUMP)
        report(p.returncode == 0 and p.stdout and not p.stderr, f"a command runs without seccomp and Landlock: {e}", p.returncode, p.stderr)
        p = sh("strace", "-o", "/dev/null", "-e", f"inject=seccomp:error={e}", prog, "-v", "fdinfo", DUMP)
        report(b"the system call filter is off" in p.stderr, f"-v reports the missing filter: {e}", p.stderr)


def main():
    global PROG
    PROG = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="gpustat-sandbox") as tmp:
        test_status(PROG, tmp)
        test_child(PROG)
        test_no_kernel(PROG)
        try:
            probe = variant(tmp, "probe", "tests/sandbox/probe.c", "-Wno-pedantic")
            test_files(probe, tmp)
            test_memory(probe, tmp)
            test_calls(probe, tmp)
            test_strict(variant(tmp, "strict", "sources/os/sandbox.c", "-DSANDBOX_STRICT"), PROG, tmp)
        except Lack as e:
            skip("build of the programs for these tests", e)
        filt = os.path.join(tmp, "filter")
        p = sh("musl-gcc", "-static", "-O1", "-std=c11", "-D_GNU_SOURCE", f"-I{ROOT}", f"-I{ROOT}/include", "-idirafter", "/usr/include", "-idirafter",
               f"/usr/include/{platform.machine()}-linux-gnu", "-ffunction-sections", "-Wl,--gc-sections", "-o", filt,
               f"{HERE}/sandbox/filter.c")
        p = p if p.returncode else sh(filt)
        for line in p.stdout.decode().splitlines():
            if line.startswith(("ok", "not ok")):
                report(line.startswith("ok"), line.split(" - ", 1)[1], p.stdout)
        report(p.returncode == 0, "every filter has the expected results in an interpreter", p.stderr)
    finish()


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
main()
