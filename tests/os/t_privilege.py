#!/usr/bin/env python3
# t_privilege.py PROG - least privilege: a user runs copies of the program that have file
# capabilities or are setuid root, and tries to read and write files through them; the capabilities
# that each command keeps, and those of a command that it starts; hostile names on a terminal.
# Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import contextlib
import ctypes
import fcntl
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import I915, Machine, Skip, as_root, check, dump, eq, ns, parse_json, wait_asleep  # noqa: E402

USER, OTHER = 1, 12345
CAPS = {"dac_override": 1, "dac_read_search": 2, "fowner": 3, "kill": 5, "ipc_lock": 14, "sys_ptrace": 19, "sys_admin": 21,
        "syslog": 34, "perfmon": 38}
GIVEN = ["dac_read_search", "sys_ptrace", "perfmon", "syslog"]
TESTS = []
COPIES = {}  # "caps", "setuid", "plain": paths of copies that the user may run
WHY = None   # the reason why there are no copies


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def bits(*names):
    return sum(1 << CAPS[n] for n in names)


def words(mask):
    names = {n: k for k, n in CAPS.items()}
    return " ".join(names.get(i, str(i)) for i in range(64) if mask >> i & 1)


def make_copies(prog):
    """Copies the program to files with privileges. Returns the reason why it is impossible, or None."""
    if os.getuid() != 0:
        return "needs root"
    d = machine.tap.temporary_folder("gpustat-privilege-", "/tmp")
    os.chmod(d, 0o755)
    for name, mode in (("plain", 0o755), ("caps", 0o755), ("setuid", 0o4755)):
        COPIES[name] = os.path.join(d, name)
        shutil.copyfile(prog, COPIES[name])
        os.chmod(COPIES[name], mode)
    mask = bits(*GIVEN)
    try:  # linux/capability.h: VFS_CAP_REVISION_2, effective
        os.setxattr(COPIES["caps"], "security.capability", struct.pack("<5I", 0x02000001, mask & 0xffffffff, 0, mask >> 32, 0))
    except OSError as e:
        return f"files here take no capabilities: {e.strerror}"
    if os.statvfs(d).f_flag & os.ST_NOSUID:
        return "files here give no privileges: nosuid"
    status = open("/proc/self/status").read()
    if "NoNewPrivs:\t1" in status:
        return "no_new_privs: files give no privileges"
    bounding = int(re.search(r"CapBnd:\t(\w+)", status)[1], 16)
    return f"not in the bounding set: {words(mask & ~bounding)}" if mask & ~bounding else None


def needs_copies():
    if WHY:
        raise Skip(WHY)


def as_user(who, *args, uid=USER, **kw):
    """Runs the copy `who` as the user. Returns the exit code, stdout and stderr."""
    kw = {"stdin": subprocess.DEVNULL, "timeout": 20, "cwd": "/", **kw}
    p = subprocess.run([COPIES[who], *args], user=uid, group=uid, extra_groups=[], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, **kw)
    return p.returncode, p.stdout, p.stderr


def own(path, uid, mode):
    os.chown(path, uid, uid)
    os.chmod(path, mode)
    return path


@contextlib.contextmanager
def running(argv, uid=None, **kw):
    who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who, **kw)
    try:
        yield p
    finally:
        with contextlib.suppress(ProcessLookupError):
            p.send_signal(signal.SIGCONT)
            p.kill()
        p.wait()


def status_of(pid):
    return dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)


def until(what, f, timeout=60):
    end = time.monotonic() + timeout
    while not (r := f()):
        check(time.monotonic() < end, f"never came: {what}")
        time.sleep(0.01)
    return r


# --- files with names from a user ----------------------------------------------------------------------

def folder(m, name, uid, mode=0o755):
    d = m.path(name)
    os.mkdir(d)
    return own(d, uid, mode)


FDINFO = dump("i915", 7, *ns(render=1000), pdev=I915)
EVENTS = "mine cpu-clock:u\n"
CSV = "schema,time,dt,kind,dev\n1,1.0,0.5,device,card0\n"
XML = "<metrics><set name=\"A\" hw_config_guid=\"b\"></set></metrics>\n"
# Commands with @ in place of a path, and the contents of the file. Each is run with and without
# privileges; the result must be the same for the user.
READS = [
    (["fdinfo", "@"], FDINFO), (["plot", "@"], CSV), (["oa", "--replay", "@"], "x"), (["oa", "list", "--metrics", "@"], XML),
    (["oa", "pack", "@", "-O", "/dev/null"], XML), (["events", "--pmu-file", "@", "mine"], EVENTS),
    (["stat", "--pmu-file", "@", "-e", "mine", "true"], EVENTS), (["stat", "--control", "fifo:@", "-e", "task-clock:u", "true"], ""),
    (["sample", "--control", "fifo:@", "-e", "cpu-clock:u", "true"], ""),
]
WRITES = [
    (["host", "-w", "1ms", "-O", "@"], b""), (["host", "-w", "1ms", "-o", "prom", "-O", "@"], b""),
    (["host", "-w", "1ms", "-o", "svg", "-O", "@"], b""), (["stat", "-e", "task-clock:u", "-O", "@", "true"], b""),
    (["sample", "-e", "cpu-clock:u", "-o", "perfdata", "-O", "@", "true"], b""), (["doctor", "-O", "@"], b""),
    (["list", "-O", "@"], b""), (["clients", "-O", "@"], b""), (["procs", "-O", "@"], b""), (["counters", "-O", "@"], b""), (["oa", "list", "-O", "@"], b""),
    (["oa", "pack", "XML", "-O", "@"], b""), (["fdinfo", "FDINFO", "-O", "@"], b""), (["plot", "CSV", "-O", "@"], b""), (["capture", "-O", "@"], b""),
]


# A zone 5 hours east of Greenwich (RFC 9636).
ZONE = 2 * (struct.pack(">4sc15x6I", b"TZif", b"2", 0, 0, 0, 0, 1, 4) + struct.pack(">lBB", 5 * 3600, 0, 0) + b"XYZ\0") + b"\n\n"


def hours_east(out):
    """Returns the UTC offset of the time of day that `host -f time` prints."""
    h, m, s = map(int, out.split()[1].split(b":"))
    return round((3600 * h + 60 * m + s - time.time()) / 3600) % 24


def said(err):
    return [x for x in err.split(b"\n") if b": " in x]  # messages, without lines of counts


def same_as_user(args, path, what, denied, **kw):
    args = [a.replace("@", path) for a in args]
    want = as_user("plain", *args, **kw)
    for who in ("caps", "setuid"):
        got = as_user(who, *args, **kw)
        eq((got[0], said(got[2])), (want[0], said(want[2])), f"{who} {args}, {what}")
        check((b"Permission denied" in got[2]) == denied, f"{who} {args}, {what}: {got}")
        check(got[0] != 0 or not denied, f"{who} {args}, {what}: {got}")


@test("each option refuses a file that only root may read, with EACCES")
def _(m):
    needs_copies()
    closed = folder(m, "closed", 0, 0o700)
    for i, (args, text) in enumerate(READS):
        same_as_user(args, own(m.write(f"secret{i}", text), 0, 0o600), "a file of root", True)
        same_as_user(args, own(m.write(f"closed/{i}", text), 0, 0o644), f"a file in {closed}", True)


@test("a file of the user is read in a folder that only the user may open")
def _(m):
    needs_copies()
    folder(m, "mine", USER, 0o700)
    for i, (args, text) in enumerate(READS):
        path = m.path(f"mine/{i}")
        if "--control" in args:
            os.mkfifo(path)
        else:
            m.write(f"mine/{i}", text)
        same_as_user(args, own(path, USER, 0o600), "a file of the user", False)


@test("-O neither writes nor replaces files of root; a new file in a user's folder belongs to the user")
def _(m):
    needs_copies()
    closed, mine = folder(m, "closed", 0, 0o755), folder(m, "mine", USER, 0o700)
    inputs = {"XML": m.write("in.xml", XML), "FDINFO": m.write("in.fdinfo", FDINFO), "CSV": m.write("in.csv", CSV)}
    for i, (args, before) in enumerate(WRITES):
        args = [inputs.get(a, a) for a in args]
        path = own(m.write(f"closed/{i}", "root's"), 0, 0o644)
        same_as_user(args, path, "a file of root", True)
        same_as_user(args, f"{closed}/new{i}", "a folder of root", True)
        eq(open(path).read(), "root's", f"{args}: the file")
        for who in ("caps", "setuid"):
            path = f"{mine}/{who}{i}"
            r = as_user(who, *[a.replace("@", path) for a in args])
            if os.path.exists(path):
                eq((os.stat(path).st_uid, os.stat(path).st_gid), (USER, USER), f"{who} {args}: owner of the new file")
            check(b"denied" not in r[2], f"{who} {args}: {r}")
    eq(sorted(os.listdir(closed)), sorted(str(i) for i in range(len(WRITES))), "files after the runs")
    for who in ("caps", "setuid"):  # the last two files belong to the process itself
        for path in ("/dev/kmsg", "/proc/self/mem", "/proc/self/coredump_filter"):
            r = as_user(who, "host", "-w", "1ms", "-O", path)
            check(r[0] == 1 and b"Permission denied" in r[2], f"{who} {path}: {r}")


@test("--state, TZ, MUNIN_PLUGSTATE, GPUSTAT_COUNTERS: files of root are neither read nor replaced")
def _(m):
    needs_copies()
    machine.one_client(m)
    roots, closed, mine = m.roots(), folder(m, "closed", 0, 0o700), folder(m, "mine", USER, 0o700)
    for where, denied in ((closed, True), (mine, False)):
        for who in ("caps", "setuid"):
            for name, text in (("state", "secret"), ("gpustat.state", "secret")):
                path = m.write(f"{where}/{name}", text)
                own(path, 0 if denied else USER, 0o600)
            r = as_user(who, "-w", "1ms", "--state", f"{where}/state", *roots)
            check((b"Permission denied" in r[2]) == denied, f"{who} --state in {where}: {r}")
            r = as_user(who, "munin", *roots, env={"MUNIN_PLUGSTATE": where})
            check((b"Permission denied" in r[2]) == denied, f"{who} munin in {where}: {r}")
            check(denied == (open(f"{where}/state", "rb").read() == b"secret"), f"{who}: {where}/state")
            own(m.write(f"{where}/zone", ZONE), 0 if denied else USER, 0o600)
            r = as_user(who, "host", "-w", "1ms", "-f", "time", env={"TZ": f":{where}/zone"})
            eq((hours_east(r[1]), r[2]), (0 if denied else 5, b""), f"{who}: TZ in {where}")
        own(m.write(f"{where}/vendor", "told 42 J\n"), 0 if denied else USER, 0o644)
        for who in ("plain", "caps", "setuid"):
            r = as_user(who, "counters", env={"GPUSTAT_COUNTERS": where})
            check((b"told" in r[1]) == (not denied), f"{who}: GPUSTAT_COUNTERS in {where}: {r}")


@test("--proc and --sys: files below the given folders are read only with the rights of the user")
def _(m):
    needs_copies()
    m.device("i915", I915)
    m.process(10)
    secret = own(m.write("secret", dump("i915", 4242, *ns(render=1000), pdev=I915)), 0, 0o600)
    os.symlink(secret, m.path("proc/10/fdinfo/5"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/5"))
    roots = m.roots()
    root = subprocess.run([COPIES["plain"], "clients", "-r", "-o", "json", *roots], stdout=subprocess.PIPE, check=True)
    check(b"4242" in root.stdout, "root must see the client that the user must not see")
    for who in ("caps", "setuid"):
        for more in (roots, roots[:2], roots[2:]):
            r = as_user(who, "clients", "-r", "-o", "json", *more)
            check(b"4242" not in r[1] + r[2], f"{who} {more}: {r}")
        with running([COPIES[who], "host", "20ms", *roots[:2]], USER) as p:
            until("capabilities are gone", lambda p=p: int(status_of(p.pid)["CapPrm"], 16) == 0)
        closed = folder(m, f"closed-{who}", 0, 0o700)
        for option in ("--proc", "--sys"):
            r = as_user(who, "list", option, closed)
            eq((r[0], b"Permission denied" in r[2]), (1, True), f"{who} {option}: {r}")


@test("only privileged copies read fdinfo of other users and count their tasks")
def _(m):
    needs_copies()
    with running(["sleep", "60"], OTHER) as p:
        for who in ("plain", "caps", "setuid"):
            code, out, err = as_user(who, "doctor", "-o", "json")
            rows = {r["source"]: r["status"] for r in parse_json(out)}
            eq(rows["fdinfo of others"], "denied" if who == "plain" else "ok", f"{who}: {err}")
            if rows["perf own"] == "absent":
                continue
            code, out, err = as_user(who, "stat", "-e", "task-clock", "-p", str(p.pid), "-w", "10ms", "-o", "json")
            eq(code, 4 if who == "plain" else 0, f"{who} stat -p: {out} {err}")


# --- addresses in samples -------------------------------------------------------------------------

BUSY = ["-c", "while :; do :; done"]


def words_of(path):
    data = open(path, "rb").read()
    return data, struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])


def code_of(pid):
    """Returns the ranges of a process's executable maps, except the vsyscall page, which all share."""
    lines = [x.split() for x in open(f"/proc/{pid}/maps")]
    return [tuple(int(a, 16) for a in x[0].split("-")) for x in lines if "x" in x[1] and x[-1] != "[vsyscall]"]


def inside(values, ranges):
    return [hex(v) for v in values if any(a <= v < b for a, b in ranges)]


@test("samples that need the program's file capability show no kernel address and nothing of other users' programs")
def _(m):
    needs_copies()
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) < 2:
        raise Skip("kernel.perf_event_paranoid permits these addresses to all users")
    home = folder(m, "home", OTHER, 0o700)
    secret = own(shutil.copy("/bin/sh", f"{home}/tool"), OTHER, 0o700)
    opened = own(m.write("perf.data", b""), USER, 0o644)
    args = ["sample", "-a", "-g", "-e", "cpu-clock", "--freq", "199", "-w", "1500ms"]
    with running([secret, *BUSY], OTHER) as theirs, running(["/bin/sh", *BUSY], USER) as mine:
        code, out, err = as_user("caps", *args, "-o", "json")
        eq(code, 0, f"{err}")
        check(b"samples have no address: only root may see addresses" in err, f"{err}")
        rows = parse_json(out)
        other = [r for r in rows if r["pid"] == theirs.pid]
        kernel = [r for r in rows if r["mode"] == "kernel"]
        check(other and all(r["comm"] == "tool" for r in other), f"{other[:3]}")
        for r in other + kernel:
            check(not (r["ip"] or r["addr"] or r["symbol"] or r["module"]), f"{r}")
        check(all(not r["callchain"] for r in other), f"{other[:3]}")
        shown = [r for r in rows if r["pid"] == mine.pid and r["ip"]]
        check(shown and all(r["mode"] == "user" and r["module"] for r in shown), f"{shown[:3]} of {len(rows)}")
        check(home.encode() not in out, "a path below a closed folder")
        code, out, err = as_user("caps", *args, "-o", "perfdata", "-O", opened)
        data, values = words_of(opened)
        eq(code, 0, f"{err}")
        eq([hex(v) for v in values if 0xffff800000000000 <= v < 0xffffffffff600000], [], "kernel addresses in perf.data")
        eq(inside(values, code_of(theirs.pid)), [], "addresses of another user's process in perf.data")
        check(inside(values, code_of(mine.pid)), "addresses of the user's own process in perf.data")
        check(home.encode() not in data, "a path below a closed folder in perf.data")
        for fmt in ("folded", "csv", "line"):
            code, out, err = as_user("caps", *args, "-o", fmt)
            check(code == 0 and home.encode() not in out and not re.search(rb"0xffff[0-9a-f]{12}\b", out), f"{fmt}: {err}")
        root = subprocess.run([COPIES["plain"], *args, "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        check(any(r["pid"] == theirs.pid and r["ip"] and r["module"] == secret for r in parse_json(root.stdout)), "root sees the address and the path")
    code, out, err = as_user("caps", "sample", "-e", "cpu-clock", "--freq", "997", "-q", "-o", "json", "--", "/bin/sh", "-c",
                             "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    rows = [r for r in parse_json(err) if r["mode"] == "user"]
    check(rows and all(r["ip"] and r["module"] for r in rows), f"the command of the user has addresses from its first sample on: {rows[:3]}")


# --- capabilities that are kept -------------------------------------------------------------------

FIXED = re.compile(r'"/(proc|sys|dev|run/\.containerenv|\.dockerenv|etc/(group|passwd)|)(/|")')


def traced(m, argv, calls, user=None, *more, timeout=60):
    """Runs argv under strace. Returns the lines of the log, and the process."""
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    log = m.path(f"trace{len(os.listdir(m.base))}")
    name = subprocess.run(["getent", "passwd", str(user)], stdout=subprocess.PIPE, text=True).stdout.split(":")[0] if user else None
    if user and not name:
        raise Skip(f"no user has the number {user}")
    p = subprocess.run(["strace", *more, "-o", log, *(["-u", name] if user else []), "-e", f"trace={calls}", *argv], timeout=timeout,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    if b"ptrace" in p.stderr:
        raise Skip("strace may not trace here")
    return open(log, errors="replace").read().splitlines(), p


def sets_of(line):
    """Returns the effective, permitted and inheritable set of a capset(2), from its line in the log
    of strace."""
    def mask(word):
        text = re.search(rf"{word}=([^,}}]*)", line)[1]
        return sum(1 << int(n) if n.isdigit() else 0 for n in ()) if text == "0" else sum(
            (1 << CAPS[n]) if n in CAPS else 1 << 63 for n in re.findall(r"CAP_(\w+)|0x", text.lower().replace("cap_", "CAP_")) if n) | (
            1 << 63 if "0x" in text else 0)
    return mask("effective"), mask("permitted"), mask("inheritable")


WATCH = ["dac_read_search", "sys_ptrace"]
COUNT = WATCH + ["perfmon"]
# (command, capabilities that it keeps at first, capabilities that it keeps to the end; None: not
# checked). The commands with LOOK keep CAP_PERFMON until they have loaded the kernel's iterator.
LOOK = COUNT
KEEPS = [
    (["-w", "1ms"], LOOK, WATCH), (["clients", "-w", "1ms"], LOOK, WATCH), (["procs", "-w", "1ms"], LOOK, WATCH), (["cgroups", "-w", "1ms"], LOOK, WATCH),
    (["list"], LOOK, WATCH), (["check", "-w", "80"], LOOK, WATCH), (["munin"], LOOK, WATCH), (["munin", "config"], LOOK, WATCH),
    (["fdinfo", "/dev/null"], [], []), (["plot", "/dev/null"], [], []), (["capture"], WATCH, WATCH), (["oa", "--replay", "/dev/null"], [], []),
    (["oa", "pack", "/dev/null", "-O", "/dev/null"], [], []), (["oa", "list"], [], []), (["oa", "1", "1"], ["perfmon"], None),
    (["oa", "stalls", "1", "1"], ["perfmon"], None), (["oa", "stalls", "--replay", "/dev/null", "--platform", "lnl"], [], []),
    (["events"], ["dac_read_search"], ["dac_read_search"]), (["events", "*clock"], ["dac_read_search"], ["dac_read_search"]),
    (["counters"], COUNT, COUNT), (["host", "-w", "1ms"], COUNT, COUNT), (["doctor"], COUNT, COUNT),
    (["top", "-c", "1", "-i", "10ms"], WATCH, WATCH),
    (["stat", "-e", "task-clock", "true"], COUNT, []), (["stat", "-a", "-e", "cpu-clock", "-w", "1ms"], COUNT, []),
    (["stat", "-r", "2", "-e", "task-clock", "true"], COUNT, []),
    (["sample", "-e", "cpu-clock", "true"], COUNT + ["syslog"], []), (["run", "true"], WATCH, WATCH),
]


@test("each command keeps only the capabilities that it needs, and uses them only to open paths of the kernel")
def _(m):
    needs_copies()
    paths = 0
    for args, first, last in KEEPS:
        lines, p = traced(m, [COPIES["caps"], *args], "capset,/^open,/stat,access,faccessat,faccessat2,readlink,/inotify_add,rename,/unlink", USER)
        capsets = [sets_of(line) for line in lines if line.startswith("capset")]
        check(capsets, f"{args}: no capset: {lines} {p}")
        eq(words(capsets[0][1]), words(bits(*first)), f"{args}: at first")
        if last is not None:
            eq(words(capsets[-1][1]), words(bits(*last)), f"{args}: at the end")
        eq((capsets[0][0], capsets[-1][0]), (0, 0), f"{args}: effective set at first and at the end")
        begun, effective = False, 0
        for line in lines:
            if line.startswith("capset"):
                begun, effective = True, sets_of(line)[0]
            elif "AT_FDCWD" in line or re.match(r"\w+\(\"/", line) or re.search(r'"(/|[^"]*\.\./)', line):
                paths += 1
                check(not effective or FIXED.search(line), f"{args}: with {words(effective)}: {line}")
                check(begun or re.search(r'"/", .*O_PATH', line), f"{args}: a file is opened before capabilities are dropped: {line}")
    for who in ("caps", "setuid"):  # the child drops them before it executes the command
        lines, p = traced(m, [COPIES[who], "stat", "-e", "task-clock", "--", "cat", "/dev/null"], "capset,execve", USER, "-f")
        lines = [re.sub(r"^(\d+) +", r"\1 ", x) for x in lines]  # the line of an interrupted call has the arguments too
        execs = [x for x in lines if '["cat"' in x]
        check(execs, f"{who}: {lines} {p}")
        child = execs[-1].split()[0]
        mine = [x for x in lines[:lines.index(execs[0])] if x.startswith(child + " capset")]
        check(mine and sets_of(mine[-1])[:2] == (0, 0), f"{who}: the child has capabilities before its exec: {lines}")
    check(paths > 50, f"only {paths} paths were seen")
    print(f"# proof: commands whose capabilities were traced = {len(KEEPS)}")


@test("a running command has only the capabilities that it needs, also as root")
def _(m):
    as_root()
    had = int(status_of("self")["CapPrm"], 16)
    plain = COPIES.get("plain", machine.PROG)
    for args, most in ((["host", "50ms"], COUNT + ["sys_admin", "ipc_lock"]),
                       (["host", "50ms", "-O", m.path("log")], COUNT + ["sys_admin", "ipc_lock", "dac_override", "fowner"]),
                       (["stat", "-a", "-e", "cpu-clock", "-I", "50"], []), (["stat", "-e", "task-clock", "sleep", "9"], ["kill"]),
                       (["stat", "-r", "0", "-e", "task-clock", "sleep", "9"], ["kill", "perfmon", "sys_admin", "ipc_lock", "sys_ptrace"]),
                       (["stat", "-a", "-e", "cpu-clock", "-I", "50", "-o", "prom", "-O", m.path("prom")], ["dac_override", "fowner"])):
        with running([plain, *args]) as p:
            got = until(f"{args}: capabilities", lambda p=p, most=most: (
                int(s["CapPrm"], 16) == had & bits(*most) and s) if (s := status_of(p.pid)) else None)
            eq((got["CapEff"], int(got["CapInh"], 16), int(got["CapAmb"], 16)), (got["CapPrm"], 0, 0), f"{args}")
    if WHY:
        return
    for who, args in (("caps", ["stat", "-a", "-e", "cpu-clock", "-I", "50"]), ("setuid", ["stat", "-a", "-e", "cpu-clock", "-I", "50"])):
        with running([COPIES[who], *args], USER) as p:
            got = until(f"{who}: none", lambda p=p: (s := status_of(p.pid)) and int(s["CapPrm"], 16) == 0 and s)
            eq((got["Uid"], got["Gid"]), (f"{USER}\t{USER}\t{USER}\t{USER}",) * 2, f"{who}: ids")
    with running([COPIES["setuid"], "host", "50ms"], USER) as p:
        got = until("setuid: the capabilities that it keeps", lambda: (s := status_of(p.pid)) and
                    int(s["CapPrm"], 16) == had & bits(*COUNT, "sys_admin", "ipc_lock") and s)
        eq((got["Uid"], got["Gid"]), (f"{USER}\t{USER}\t{USER}\t{USER}",) * 2, "setuid: ids")


@test("the user may not trace gpustat or read its memory, but may trace the command that it started")
def _(m):
    needs_copies()
    libc = ctypes.CDLL(None, use_errno=True)

    def attach(pid):
        """Attaches to pid as the user. Returns 0 or errno, and 1 if its memory can be opened."""
        r, w = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            code = 0 if libc.ptrace(16, pid, None, None) == 0 else ctypes.get_errno()
            memory = os.access(f"/proc/{pid}/mem", os.R_OK)
            with contextlib.suppress(OSError):
                memory = os.open(f"/proc/{pid}/environ", os.O_RDONLY) >= 0
            os.write(w, bytes([code, memory]))
            os._exit(0)
        os.waitpid(child, 0)
        got = os.read(r, 2)
        os.close(r)
        os.close(w)
        return got[0], got[1]

    def sleeper(p):
        with contextlib.suppress(OSError):
            for c in open(f"/proc/{p.pid}/task/{p.pid}/children").read().split():
                if open(f"/proc/{c}/comm").read() == "sleep\n":
                    return int(c)
        return None

    for who in ("caps", "setuid"):
        for args in (["host", "50ms"], ["stat", "-a", "-e", "cpu-clock", "-I", "50"]):
            with running([COPIES[who], *args], USER) as p:
                until("started", lambda p=p: os.readlink(f"/proc/{p.pid}/exe") == COPIES[who])
                wait_asleep(p.pid)
                eq(attach(p.pid), (1, 0), f"{who} {args}: ptrace, memory")
        with running([COPIES[who], "stat", "-e", "task-clock", "sleep", "9"], USER) as p:
            c = until("the command", lambda p=p: sleeper(p))
            eq(attach(p.pid)[0], 1, f"{who}: ptrace of gpustat while its command runs")
            scope = "/proc/sys/kernel/yama/ptrace_scope"
            if not os.path.exists(scope) or open(scope).read() == "0\n":
                eq(attach(c), (0, 1), f"{who}: ptrace of the command")
            os.kill(c, signal.SIGKILL)


# --- the command that gpustat starts --------------------------------------------------------------

SHOWS = r"""
cat /proc/self/status /proc/self/limits /proc/self/timerslack_ns /proc/self/oom_score_adj /proc/self/coredump_filter
for f in /proc/self/fd/*; do [ -e "$f" ] && echo "$f $(readlink "$f")"; done
echo "$PATH $HOME $(umask) $(id)"; stat -c %u:%g /proc/self/status
"""
SAME = re.compile(r"^(Pid|PPid|Tgid|NS\w+|Vm\w+|Rss\w+|.*ctxt_switches|FDSize|SigQ|Speculation\w+|State|Mems.*|Cpus.*):.*\n", re.M)


def prepare(signals=True):
    """Runs in the child: sets attributes that the caller of a program may have set."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for s in (signal.SIGCHLD, signal.SIGXFSZ, signal.SIGUSR2) if signals else (signal.SIGXFSZ,):
        signal.signal(s, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, 41])
    os.umask(0o027)
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 200))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY))
    os.dup2(1, 9)


def shown(argv, uid, stdin_closed=False):
    def first():
        prepare()
        if stdin_closed:
            os.close(0)
    who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, cwd="/",
                       pass_fds=(), close_fds=False, preexec_fn=first, **who)
    text = SAME.sub("", p.stdout.decode())
    return re.sub(r"socket:\[\d+\]|/dev/pts/\d+|pipe:\[\d+\]", "X", text), p


@test("a command runs as if it had been started directly: with the same ids, capabilities, signals, limits and descriptors")
def _(m):
    as_root()
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        f.read()
    show = ["/bin/sh", "-c", SHOWS]
    many = ["-e", ",".join(["task-clock", "page-faults", "context-switches", "cpu-migrations"] * 12)]
    whos = [("plain", None), ("plain", USER)] + ([] if WHY else [("caps", USER), ("setuid", USER)])
    plain = {"plain": machine.PROG, **COPIES}
    for who, uid in whos:
        for closed in (False, True) if who == "plain" else (False,):  # in a privileged program libc opens closed standard descriptors
            want, p = shown(show, uid, closed)
            check("CapPrm" in want and "Max open files" in want, f"{p}")
            for args in (["stat", "-e", "task-clock"], ["stat", *many], ["sample", "-e", "cpu-clock", "-O", "/dev/null"]):
                got, p = shown([plain[who], *args, "--", *show], uid, closed)
                if "CapPrm" not in got:
                    raise Skip(f"nothing can be counted here: {p.stderr}")
                same(want, got, f"{who} by {uid} {args[:2]} {closed}")
            cat = ["cat", "/proc/self/status", "/proc/self/limits"]  # a shell would change signal dispositions
            same(shown(cat, uid, closed)[0], shown([plain[who], "stat", "-e", "task-clock", "--", *cat], uid, closed)[0], f"{who} by {uid}: cat")
            got, p = shown([plain[who], "stat", "-r", "2", *many, "--", *show], uid, closed)
            for half in (got[:len(got) // 2], got[len(got) // 2:]):
                same(want, half, f"{who} by {uid} -r 2 {closed}")


def same(want, got, what):
    if want != got:
        w, g = want.splitlines(), got.splitlines()
        raise AssertionError(f"{what}: without us {[x for x in w if x not in g]}, with us {[x for x in g if x not in w]}")


@test("a command has the ambient and inheritable capabilities of the caller; gpustat keeps only those that it needs")
def _(m):
    as_root()
    if not shutil.which("setpriv"):
        raise Skip("needs package util-linux")
    pre = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--inh-caps", "+perfmon,+sys_ptrace,+net_raw",
           "--ambient-caps", "+perfmon,+sys_ptrace,+net_raw"]
    plain = COPIES.get("plain", machine.PROG)
    p = subprocess.run([*pre, "cat", "/proc/self/status"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        raise Skip(f"setpriv: {p.stderr}")
    want = re.findall("Cap.*", p.stdout)
    check("0000004000082000" in want[0], f"{want}")
    p = subprocess.run([*pre, plain, "stat", "-e", "task-clock", "--", "cat", "/proc/self/status"], stdout=subprocess.PIPE, text=True,
                       stderr=subprocess.PIPE, cwd="/")
    eq(re.findall("Cap.*", p.stdout), want, f"{p.stderr}")
    with running([*pre, plain, "host", "50ms"]) as p:
        until("net_raw is dropped from all sets", lambda: (s := status_of(p.pid)) and s["Name"] != "setpriv" and
              [int(s[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0, *[bits("perfmon", "sys_ptrace")] * 2, 0])
    if not WHY:  # the user's inheritable capabilities are passed to the command
        p = subprocess.run([*pre[:6], "--inh-caps", "+net_raw", COPIES["caps"], "stat", "-e", "task-clock", "--", "cat", "/proc/self/status"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
        eq(re.findall("Cap(?:Inh|Prm|Eff|Amb).*", p.stdout), ["CapInh:\t0000000000002000"] + [f"Cap{k}:\t{0:016}" for k in ("Prm", "Eff")] +
           [f"CapAmb:\t{0:016}"], f"{p.stderr}")


# --- shared folders -------------------------------------------------------------------------------

@contextlib.contextmanager
def unprotected():
    """As root, disables Linux's own protection of shared folders (fs.protected_*), so that the
    protection by gpustat is tested."""
    were = {}
    with contextlib.ExitStack() as stack:
        if os.geteuid() == 0:
            lock = os.open("/proc/sys/fs", os.O_RDONLY)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)  # the value that another test has set must not be restored
            were = {p: open(p).read() for p in map("/proc/sys/fs/protected_{}".format, ("symlinks", "regular", "fifos")) if os.path.exists(p)}
        try:
            for path in were:
                sysctl(path, "0\n")
            yield
        finally:
            for path, text in were.items():
                sysctl(path, text)


def sysctl(path, text):
    with contextlib.suppress(OSError), open(path, "w") as f:
        f.write(text)


def reached(lines, *paths):
    """Returns the lines that open one of the paths, or a file below it."""
    return [x for x in lines if any(p in x for p in paths)]


@test("a link in a shared folder is followed only if it belongs to the caller or to the folder's owner")
def _(m):
    as_root()
    plain = COPIES.get("plain", machine.PROG)
    victim = m.write("victim", "whole")
    shared = folder(m, "shared", USER, 0o1777)
    for name, uid in (("theirs", OTHER), ("owners", USER), ("ours", 0)):
        os.symlink(victim, f"{shared}/{name}")
        os.chown(f"{shared}/{name}", uid, uid, follow_symlinks=False)
    outs = (["host", "-w", "1ms", "-O"], ["stat", "-e", "task-clock", "-O", "@", "true"], ["host", "-w", "1ms", "-o", "prom", "-O"],
            ["sample", "-e", "cpu-clock", "-o", "perfdata", "-O", "@", "true"], ["oa", "pack", m.write("a.xml", XML), "-O"],
            ["list", "--sys", m.sys, "--proc", m.proc, "--state"], ["fdinfo"], ["plot"], ["oa", "--replay"], ["oa", "list", "--metrics"],
            ["events", "--pmu-file"], ["stat", "-e", "task-clock", "--control"])
    for args in outs:
        path = f"{shared}/theirs"
        if args[-1] == "--control":
            argv = [*args, f"fifo:{path}", "true"]
        elif "--state" in args:
            argv = [*args[1:-1], "-w", "1ms", "--state", path]
        else:
            argv = [path if a == "@" else a for a in args] + ([] if "@" in args else [path])
        lines, p = traced(m, [plain, *argv], "/open")
        opens = [x for x in lines if f'"{path}"' in x]
        check(all("O_NOFOLLOW" in x for x in opens), f"{argv}: followed: {opens}")
        check(b"Permission denied" in p.stderr or "prom" in argv or "--state" in argv, f"{argv}: {lines} {p}")
        eq(open(victim).read(), "whole", f"{argv}")
        if "prom" in argv and not os.path.islink(path):  # the link itself was replaced by a file
            os.unlink(path)
            os.symlink(victim, path)
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
    for name in ("owners", "ours"):
        before = os.path.getsize(victim)
        p = subprocess.run([plain, "host", "-w", "1ms", "-O", f"{shared}/{name}"], stderr=subprocess.PIPE)
        check(p.returncode == 0 and os.path.getsize(victim) > before, f"{name}: {p}")


@test("a link in a shared folder whose owner has no id in the user namespace is not followed")
def _(m):
    as_root()
    shared = folder(m, "shared", USER, 0o1777)
    dump_at = own(m.write("dump", FDINFO), 0, 0o644)
    for name, uid in (("theirs", OTHER), ("owners", USER), ("ours", 0)):
        os.symlink(dump_at, f"{shared}/{name}")
        os.lchown(f"{shared}/{name}", uid, uid)
    within = ["unshare", "--user", "--map-root-user", COPIES.get("plain", machine.PROG), "fdinfo"]
    if subprocess.run([*within[:3], "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no user namespace here")
    for name, code in (("theirs", 1), ("owners", 1), ("ours", 0)):
        p = subprocess.run([*within, f"{shared}/{name}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        check(p.returncode == code and (b"Permission denied" in p.stderr) == bool(code), f"{name}: {p}")


@test("another user's link in a shared folder is not followed: neither through links of the caller nor in paths of the environment")
def _(m):
    as_root()
    plain = COPIES.get("plain", machine.PROG)
    shared = folder(m, "shared", USER, 0o1777)
    behind = folder(m, "behind", 0)
    zone = "TZif2" + "\0" * 39 + "TZif2" + "\0" * 39 + "\nXYZ-5\n"
    for name, text in (("fdinfo", FDINFO), ("vendor", "told 42 J\n"), ("map", "table one\npmc 0\npmd 0 pmc 0 event cpu-clock\n"), ("zone", zone), ("out", "")):
        m.write(f"behind/{name}", text)
    for name, uid in (("theirs", OTHER), ("owners", USER), ("ours", 0)):
        os.symlink(behind, f"{shared}/{name}")
        os.chown(f"{shared}/{name}", uid, uid, follow_symlinks=False)
        os.symlink(name, f"{shared}/to-{name}")
        os.symlink(f"shared/{name}", m.path(f"over-{name}"))
        os.symlink(f"../over-{name}/.", f"{shared}/twice-{name}")
    with unprotected():
        for name in ("theirs", "owners", "ours"):
            for way in (f"{shared}/{name}", f"{shared}/to-{name}", m.path(f"over-{name}"), f"{shared}/twice-{name}"):
                for args, env, want in (
                        (["fdinfo", f"{way}/fdinfo", "-o", "json"], "A=", b'"fdinfo"'), (["list", "--proc", way, "--sys", m.sys], "A=", b"no GPU"),
                        (["host", "-w", "1ms", "-O", f"{way}/out"], "A=", b""), (["host", "-w", "1ms", "-o", "prom", "-O", f"{way}/prom"], "A=", b""),
                        (["counters"], f"GPUSTAT_COUNTERS={way}", b"vendor"), (["counters"], f"GPUSTAT_COUNTERS={way}/../behind/.", b"vendor"),
                        (["counters", "told", "-w", "1ms"], f"GPUSTAT_COUNTERS={way}", b"42"),
                        (["events", "--map"], f"GPUSTAT_PMU_MAP={way}/map", b"cpu-clock"), (["host", "-w", "1ms"], f"TZ=:{way}/zone", None)):
                    what = f"{args} {env}"
                    had = {x: os.stat(f"{behind}/{x}").st_size for x in os.listdir(behind)}
                    lines, p = traced(m, [plain, *args], "/open", None, "-E", env)
                    said = p.stdout + p.stderr
                    if name == "theirs":
                        eq(reached(lines, shared, behind, m.path("over-")), [], f"{what}: followed")
                        check(b"vendor" not in said and b"render" not in said, f"{what}: {p}")
                        check("=" in env[2:] or b"Permission denied" in said, f"{what}: {p}")
                        eq({x: os.stat(f"{behind}/{x}").st_size for x in os.listdir(behind)}, had, f"{what}: behind it")
                        continue
                    check(reached(lines, behind), f"{what}: {lines} {p}")
                    check(want is None or want in said, f"{what}: {p}")
                    check(b"denied" not in said, f"{what}: {p}")


@test("-O does not write to another user's file or FIFO in a shared folder, but writes to it elsewhere")
def _(m):
    as_root()
    plain = COPIES.get("plain", machine.PROG)
    shared, open_to_all = folder(m, "shared", USER, 0o1777), folder(m, "open", USER, 0o777)
    outs = (["host", "-w", "1ms", "-O"], ["stat", "-e", "task-clock", "-O", "@", "true"], ["plot", m.write("a.csv", CSV), "-O"],
            ["sample", "-e", "cpu-clock", "-o", "perfdata", "-O", "@", "true"], ["oa", "pack", m.write("a.xml", XML), "-O"])
    for where in (shared, open_to_all):
        for name, uid in (("theirs", OTHER), ("owners", USER), ("ours", 0)):
            own(m.write(f"{where}/{name}", "whole"), uid, 0o666)
            os.mkfifo(f"{where}/fifo-{name}")
            own(f"{where}/fifo-{name}", uid, 0o666)
    os.symlink(f"{shared}/theirs", m.path("to-theirs"))
    os.symlink("theirs", f"{shared}/link-theirs")
    with unprotected():
        for args in outs:
            for path in (f"{shared}/theirs", f"{shared}/fifo-theirs", m.path("to-theirs"), f"{shared}/link-theirs"):
                argv = [path if a == "@" else a for a in args] + ([] if "@" in args else [path])
                if "plot" in args and "fifo" not in path:
                    continue  # plot replaces the file or the link
                lines, p = traced(m, [plain, *argv], "/open")
                eq([x for x in reached(lines, shared, m.path("to-theirs")) if "O_PATH" not in x], [], f"{argv}: opened")
                check(p.returncode == 1 and b"Permission denied" in p.stderr, f"{argv}: {p}")
            eq(open(f"{shared}/theirs").read(), "whole", f"{args}")
            for path in (f"{shared}/owners", f"{shared}/ours", f"{shared}/new{len(args)}", f"{open_to_all}/theirs"):
                argv = [path if a == "@" else a for a in args] + ([] if "@" in args else [path])
                p = subprocess.run([plain, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
                check(p.returncode == 0 and open(path, "rb").read() not in (b"whole", b""), f"{argv}: {p}")
                own(m.write(path, "whole"), os.stat(path).st_uid, 0o666)
        for path in (f"{shared}/fifo-owners", f"{shared}/fifo-ours", f"{open_to_all}/fifo-theirs"):
            p = subprocess.Popen([plain, "host", "-w", "1ms", "-O", path], stderr=subprocess.PIPE)
            fd = os.open(path, os.O_RDONLY)  # the program waits for a reader
            got = b"".join(iter(lambda fd=fd: os.read(fd, 4096), b""))
            os.close(fd)
            check(p.wait() == 0 and b"CPU" in got, f"{path}: {got} {p.stderr.read()}")
            p.stderr.close()


@test("-O writes to a file of the caller that appears in a shared folder during the open")
def _(m):
    new = f"{folder(m, 'shared', 0, 0o1777)}/new"
    lines, p = traced(m, [COPIES.get("plain", machine.PROG), "host", "-w", "1ms", "-O", new], "openat", None,
                      "-e", "inject=openat:error=EEXIST:when=1", "-P", new)
    check(len(lines) > 1 and "INJECTED" in lines[0], f"{lines}")
    check(p.returncode == 0 and b"CPU" in open(new, "rb").read(), f"{p}")


@test("paths resolve as with open(2), including links to descriptors in /proc, which only the kernel can follow")
def _(m):
    dump_of = {}
    for i, d in enumerate(("", "d/", "d/e/")):
        os.makedirs(m.path(d), exist_ok=True)
        for k, f in enumerate("xy"):
            dump_of[m.write(d + f, dump("i915", 100 + 2 * i + k, *ns(render=1000), pdev=I915))] = 100 + 2 * i + k
    links = {"l": "d", "d/up": "..", "d/e/two": "../../x", "abs": m.path("d/e"), "d/abs": m.path("x"), "loop": "loop", "a": "b", "b": "a",
             "none": "missing", "slash": "d/", "file": "x/", "d/many": "././//e/../e//y", "dot": ".", "root": "/", "d/e/lll": "../../l/up/l/e",
             "self": "/proc/self/cwd", **{f"n{i}": f"n{i + 1}" for i in range(45)}, "n45": "x"}
    for name, to in links.items():
        os.symlink(to, m.path(name))
    names = [os.path.basename(x) for x in links if not x.startswith("n")] + ["x", "y", "d", "e", "d/e", "..", ".", "", "missing", "n0", "n5", "n6", "n7"]
    rng, base = random.Random(7), os.path.basename(m.base)
    paths = {"/".join(rng.choice(names) for _ in range(rng.randrange(1, 7))) for _ in range(3000)} | set(names) | {f"n{i}" for i in range(46)}
    paths |= {f"{m.base}/{p}" for p in list(paths)[::3]} | {f"self/{p}" for p in list(paths)[::7]} | {f"../{base}/{p}" for p in list(paths)[::7]}
    paths = sorted(paths - {"", "-"} - {p for p in paths if p.startswith("-")})
    want, was = {}, os.getcwd()
    os.chdir(m.base)
    try:
        for path in paths:
            try:
                with open(path, encoding="ascii") as f:
                    want[path] = int(re.search(r"drm-client-id:\t(\d+)", f.read())[1])
            except OSError as e:
                want[path] = os.strerror(e.errno)
    finally:
        os.chdir(was)
    got = {}
    for i in range(0, len(paths), 500):
        p = subprocess.run([machine.PROG, "fdinfo", "-o", "json", *paths[i:i + 500]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=m.base)
        got.update((r["file"], r["client"]) for r in parse_json(p.stdout))
        got.update(line[len("fdinfo: "):].rsplit(": ", 1) for line in p.stderr.decode().splitlines())
    wrong = [(p, want[p], got.get(p)) for p in paths if want[p] != got.get(p)]
    check(not wrong, f"{len(wrong)} of {len(paths)}: {wrong[:10]}")
    kinds = {k: list(want.values()).count(k) for k in set(want.values())}
    check(len(kinds) > 9 and min(kinds[100], kinds["Not a directory"], kinds["Too many levels of symbolic links"]) > 20, f"{kinds}")
    os.symlink("/dev/stdout", m.path("out"))
    os.symlink("/proc/self/fd/0", m.path("in"))
    for path in ("/dev/stdin", "/proc/self/fd/0", "/proc/thread-self/fd/0", m.path("in")):
        p = subprocess.run([machine.PROG, "fdinfo", "-o", "json", path], input=FDINFO.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(p.returncode == 0 and parse_json(p.stdout)[0]["client"] == 7, f"{path}: {p}")
    for path in ("/dev/stdout", "/proc/self/fd/1", m.path("out"), "/dev/./fd//1"):
        for fmt in ("csv", "prom"):
            p = subprocess.run([machine.PROG, "host", "-w", "1ms", "-o", fmt, "-O", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            check(p.returncode == 0 and p.stdout and not p.stderr, f"{path}: {p}")


HOSTILE = r"""
import os, sys
folder, victim, uid = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.setgroups([]); os.setgid(uid); os.setuid(uid)
os.chdir(folder)
n = 0
while True:
    for name in os.listdir("."):
        if name == ".ours":
            continue
        try:
            os.symlink(victim, ".ours")
            os.rename(".ours", name)
            n += 1
        except OSError:
            pass
    try:
        os.symlink(victim, "x")
    except OSError:
        pass
"""


@test("links to folders are followed only if they belong to the caller or the owner of the folder")
def _(m):
    as_root()
    plain = COPIES.get("plain", machine.PROG)
    shared = folder(m, "shared", USER, 0o1777)
    os.mkdir(m.path("behind"))
    for name, text in (("fdinfo", FDINFO), ("csv", CSV), ("xml", XML), ("events", EVENTS), ("old.prom", ""), ("state", "")):
        m.write(f"behind/{name}", text)
    for name, uid in (("theirs", OTHER), ("owners", USER), ("ours", 0)):
        os.symlink(m.path("behind"), f"{shared}/{name}")
        os.chown(f"{shared}/{name}", uid, uid, follow_symlinks=False)
    machine.one_client(m)
    runs = (["fdinfo", "@/fdinfo"], ["plot", "@/csv"], ["oa", "list", "--metrics", "@/xml"], ["events", "--pmu-file", "@/events", "mine"],
            ["host", "-w", "1ms", "-O", "@/new"], ["host", "-w", "1ms", "-o", "prom", "-O", "@/old.prom"],
            ["host", "-w", "1ms", "-o", "prom", "-O", "@//./new.prom"], ["-w", "1ms", "--state", "@/state", *m.roots()],
            ["sample", "-e", "cpu-clock", "-o", "perfdata", "-O", "@/perf.data", "true"], ["list", "--proc", m.proc, "--sys", "@/."])
    for args in runs:
        for name in ("theirs", "owners", "ours"):
            had = {x: os.stat(m.path(f"behind/{x}")).st_ino for x in os.listdir(m.path("behind"))}
            r = subprocess.run([plain, *[a.replace("@", f"{shared}/{name}") for a in args]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               timeout=60)
            eq(b"Permission denied" in r.stderr, name == "theirs", f"{name} {args}: {r}")
            if name == "theirs":
                eq({x: os.stat(m.path(f"behind/{x}")).st_ino for x in os.listdir(m.path("behind"))}, had, f"{args}: behind it")


@test("replacing a file writes nothing elsewhere while the owner of the folder creates links all the time")
def _(m):
    as_root()
    plain = COPIES.get("plain", machine.PROG)
    machine.one_client(m)
    victim = own(m.write("victim", "whole"), 0, 0o600)
    was = os.stat(victim)
    hostile = folder(m, "hostile", USER, 0o777)
    for args in (["host", "1ms", "100", "-o", "prom", "-O", f"{hostile}/x"], ["1ms", "100", "--state", f"{hostile}/x", *m.roots()],
                 ["host", "1ms", "100", "-o", "openmetrics", "-O", f"{hostile}/x"]):
        with running([sys.executable, "-c", HOSTILE, hostile, victim, str(USER)]) as h:
            until("links", lambda: os.path.lexists(f"{hostile}/x"))
            begun, runs = time.monotonic(), 0
            while time.monotonic() < begun + 1:
                subprocess.run([plain, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
                runs += 1
            check(h.poll() is None, "the attacker ended")
        now = os.stat(victim)
        eq((open(victim).read(), now.st_mode, now.st_mtime_ns, now.st_nlink), ("whole", was.st_mode, was.st_mtime_ns, 1), f"{args}")
        for name in os.listdir(hostile):
            os.unlink(f"{hostile}/{name}")
    quiet = folder(m, "quiet", USER, 0o1777)
    lines, p = traced(m, [plain, "host", "-w", "1ms", "-o", "prom", "-O", f"{quiet}/x"], "/open,/chmod,/rename")
    beside, = [x for x in lines if "O_CREAT" in x]
    check("O_EXCL" in beside and "O_NOFOLLOW" in beside and "0600" in beside, beside)
    eq(oct(os.stat(f"{quiet}/x").st_mode & 0o7777), "0o644", "its mode")


# --- terminals ------------------------------------------------------------------------------------

MARK = b"\x1b[66;66Z"  # a sequence that no terminal defines and that top never sends
EVIL = MARK + b"\x1b]0;evil\x07\x9b66Z\xc2\x9b66Z\xc2\x85\r\x7f\xff\xc3(\x08\x0e"
NAME = os.fsdecode(EVIL)
LINE = EVIL + b"\n" + MARK


def hostile_machine(m):
    """Adds files with hostile bytes in every name and text. Returns the options for their roots."""
    dev = m.device("i915", I915, files={"vbios_version": EVIL, "hwmon/hwmon1/name": EVIL, "hwmon/hwmon1/temp1_input": b"45000\n",
                                        "hwmon/hwmon1/temp1_label": EVIL, "hwmon/hwmon1/in0_input": b"5\n", "hwmon/hwmon1/in0_label": LINE})
    m.write(f"{dev}/power/runtime_status", EVIL + b"\n")
    m.device("xe", "0000:03:00.0", 1, 129, files={"gt/gt0/rps_cur_freq_mhz": EVIL})
    m.link(f"{dev}/hwmon/hwmon1", "sys/class/hwmon/hwmon1")
    m.write("sys/class/hwmon/hwmon7/name", EVIL)
    m.write("sys/class/hwmon/hwmon7/temp1_input", b"45000\n")
    m.write("sys/class/hwmon/hwmon7/temp1_label", LINE)
    m.process(10, comm=LINE, cgroup=b"0::/docker/" + b"a" * 64 + b"/" + EVIL + b"\n")
    m.process(11, comm=EVIL, cgroup=b"0::/" + EVIL + b"/docker-" + b"b" * 64 + b".scope\n")
    for pid, head in ((10, b"i915"), (11, EVIL)):
        for fd, node in ((5, "/dev/dri/renderD128"), (6, "/dev/dri/renderD129")):
            m.fd(pid, fd, b"drm-driver:\t" + head + b"\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t%d\ndrm-client-name:\t" % (pid + fd) + EVIL +
                 b"\ndrm-engine-render:\t1000 ns\ndrm-engine-" + EVIL + b":\t5 ns\ndrm-total-" + EVIL + b":\t4 KiB\ndrm-resident-" +
                 EVIL + b":\t4 KiB\n" + EVIL + b":\t" + EVIL + b"\ndrm-other:\t" + EVIL + b"\n", node)
    m.write("proc/sys/kernel/perf_event_paranoid", b"3" + EVIL)
    m.write("proc/sys/kernel/nmi_watchdog", b"1" + EVIL)
    m.write("proc/sys/dev/i915/perf_stream_paranoid", EVIL)
    m.write("proc/diskstats", b"   8       0 " + EVIL.replace(b" ", b"") + b" 1 2 3 4 5 6 7 8 9 10 11\n")
    m.write("proc/net/dev", b"Inter-|\n face |\n " + EVIL + b": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n")
    m.write("proc/meminfo", b"MemTotal: 100 kB\nMemFree: 50 kB\n" + EVIL + b": 1 kB\n")
    m.write("proc/cpuinfo", b"processor\t: 0\nmodel name\t: " + EVIL + b"\n")
    m.write("proc/driver/nvidia/version", EVIL)
    m.write("proc/uptime", EVIL)
    m.write("proc/loadavg", EVIL)
    m.write("proc/mounts", b"/dev/sda " + EVIL + b" ext4 rw 0 0\n")
    for pmu in ("cpu", NAME):
        d = f"sys/bus/event_source/devices/{pmu}"
        m.write(f"{d}/type", b"4\n")
        m.write(f"{d}/events/{NAME}", b"event=0x3c," + EVIL + b"\n")
        m.write(f"{d}/events/good", b"event=0x3c\n")
        m.write(f"{d}/events/good.unit", EVIL)
        m.write(f"{d}/format/event", b"config:0-7\n")
        m.write(f"{d}/format/{NAME}", EVIL)
    m.write(f"sys/kernel/tracing/events/{NAME}/{NAME}/id", b"1\n")
    m.write("sys/class/thermal/thermal_zone0/type", EVIL)
    m.write("sys/class/thermal/thermal_zone0/temp", b"45000\n")
    m.write("sys/devices/system/cpu/online", EVIL)
    m.write(f"counters/{NAME.replace('/', '')}", EVIL + b" 5 J\n")
    m.write("counters/vendor", b"name " + EVIL + b" 5 " + EVIL + b"\n")
    return m.roots()


def on_terminal(prog, args, env=None, seconds=20, keys=b""):
    """Runs prog on a terminal that does not respond. Returns its exit code and output."""
    pid, fd = pty.fork()
    if pid == 0:
        try:
            import termios
            t = termios.tcgetattr(1)
            t[1] &= ~termios.OPOST
            termios.tcsetattr(1, termios.TCSANOW, t)
            os.execvpe(prog, [prog, *args], {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8", **(env or {})})
        finally:
            os._exit(99)
    got, end = b"", time.monotonic() + seconds
    if keys:
        os.write(fd, keys)
    while time.monotonic() < end:
        if not select.select([fd], [], [], 0.5)[0]:
            continue
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        got += more
    else:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return code, got


OURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[[?0-9;]*[ABCDHJKhlrm]|\x1b[()][0B]|\x1b[=>78]")


def leaks(got, screen):
    """Returns the control characters in the output, without the sequences that gpustat uses itself."""
    text = (OURS if screen else re.compile(rb"\x1b\[[0-9;]*m")).sub(b"", got)
    found = re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]", text.replace(b"\r", b"") if screen else text)
    try:
        found += [c for c in text.decode() if "\x80" <= c < "\xa0"]
    except UnicodeDecodeError as e:
        found.append(f"not UTF-8: {text[max(e.start - 40, 0):e.start + 20]}")
    return found


FORMATS = "line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg chrome".split()


@test("no control sequence of a hostile name reaches a terminal: with every command and format, in messages, and in top")
def _(m):
    plain = COPIES.get("plain", machine.PROG)
    roots = hostile_machine(m)
    bad = m.write("bad\n" + NAME.replace("/", ""), EVIL)
    runs = [([c, "-w", "1ms", "-v", "-o", f], {}) for c in ("", "procs", "clients", "cgroups") for f in FORMATS]
    runs += [([c, "-r", "-v", "-o", f], {}) for c in ("procs", "clients") for f in FORMATS if f != "svg"]
    runs += [(["list", "-v", "-o", f], {}) for f in ("line", "table", "csv", "json", "logfmt")]
    runs += [(["doctor", "-o", f], {}) for f in ("table", "csv", "json", "logfmt")]
    runs += [(["fdinfo", m.path("proc/11/fdinfo/5"), bad, "-o", f], {}) for f in ("line", "table", "csv", "json", "logfmt")]
    runs += [(["counters", "-o", f], {"GPUSTAT_COUNTERS": m.path("counters")}) for f in ("line", "table", "csv", "json", "logfmt")]
    runs += [(["counters", "*", "-w", "1ms", "-o", f], {"GPUSTAT_COUNTERS": m.path("counters")}) for f in FORMATS]
    runs += [(["host", "-w", "1ms", "-v", "-o", f], {}) for f in FORMATS]
    runs += [(a, {}) for a in (["events"], ["events", "-v"], ["events", "--resolve", "*"], ["events", NAME], ["events", "--map"], ["munin"], ["munin", "config"],
             ["check", "-v"], ["check", "-m", NAME], ["stat", "-e", f"cpu/{NAME}/", "true"], ["stat", "-e", f"{NAME}:{NAME}", "true"],
             ["stat", "-e", f"{NAME}/good/", "true"], ["stat", "-e", "cpu/good/", "-w", "1ms", "-a"], ["stat", "-e", NAME, "true"],
             ["stat", "-e", "task-clock", "-G", NAME, "-a"], ["stat", "-e", "task-clock", "--", NAME], ["sample", "-e", f"cpu/{NAME}/", "true"],
             ["stat", "--set", NAME], ["plot", bad], ["plot", NAME], ["oa", "--replay", bad], ["oa", "list", "--metrics", bad], ["oa", "-m", NAME],
             ["oa", "pack", bad, "-O", NAME + "/" + NAME], ["-O", NAME + "/x"], ["--state", bad], ["-f", NAME], ["-s", NAME], ["-d", NAME], ["-C", NAME],
             ["-g", NAME], ["-o", NAME], [NAME], ["--" + NAME], ["-" + NAME], ["-i", NAME], ["events", "--pmu-file", bad], ["stat", "--control", NAME, "true"],
             ["stat", "--control", "fifo:" + NAME, "true"], ["host", "-f", NAME], ["counters", NAME], ["-O", "udp:" + NAME])]
    shown = 0
    for args, env in runs:
        args = [a for a in args if a] + roots if "--" not in args else args
        code, got = on_terminal(plain, args, env)
        check(0 <= code < 128, f"{args}: exit {code} {got[-300:]!r}")
        check(not leaks(got, False), f"{args}: {leaks(got, False)} in {got[:1500]!r}")
        shown += b"66Z" in got
    check(shown > len(runs) // 3, f"only {shown} of {len(runs)} runs show a hostile name")
    loops = m.path(NAME.replace("/", ""))
    machine.copy_program("/bin/sh", loops)
    own_code = [loops, "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"]
    for args in (*(["sample", "-o", f] for f in ("line", "table", "csv", "json", "logfmt", "folded")), ["sample", "--summary"],
                 ["sample", "-g", "-v"], ["stat", "--per-thread"], ["stat", "-o", "json"]):
        code, got = on_terminal(plain, [*args, "-e", "cpu-clock:u", "--", *own_code])
        if code == 4:
            break
        eq((code, leaks(got, False)), (0, []), f"{args}: {got[:300]!r}")
        check(b"66Z" in got or args[0] == "stat" or "folded" in args, f"{args}: no hostile name: {got[:300]!r}")
    for keys in (b"q", b"\x1b[B\x1b[B\x1b[C\x1b[C\x1b[Cq", b"ssq"):
        code, got = on_terminal(plain, ["top", "-i", "20ms", "-c", "8", *roots], keys=b"" if keys == b"q" else keys)
        check(not leaks(got, True), f"top: {leaks(got, True)}")
        check(b"66Z" in got, "top shows no hostile name")
    print(f"# proof: runs on a terminal with hostile names = {len(runs) + 3}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_privilege.py PROG")
    WHY = make_copies(sys.argv[1])
    # a started command would inherit descriptors that other tests open at the same time
    sys.exit(machine.main(sys.argv[1], TESTS, workers=2, alone=lambda t: "as if it had been started" in t[0]))
