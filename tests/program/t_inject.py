#!/usr/bin/env python3
# t_inject.py PROG - every system call of every command fails once, with each errno of its manual
# page, or returns a short result. The output must then be valid, and each value must be unknown or
# equal that of an undisturbed run; a file must be complete, old or new; no run may hang, crash or
# leak descriptors. The test build is tests/inject/inject.c. SHARE=N: only one of N cases. Prints
# TAP; exit 0 if all tests pass. ONLY=TEXT: only the commands with TEXT in their names; CASES=1:
# prints every
# failing case in full. SPDX-License-Identifier: MIT
import collections
import concurrent.futures
import csv
import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [HERE, f"{HERE}/inject"]
import serve  # noqa: E402
import tap  # noqa: E402
from serve import CLOCK_JUMPS, HALF, NEXT_TOO, NONE, OF_CHILD, OLD_ABI, ONE, STATUS, STAYS  # noqa: E402
from machine import strict  # noqa: E402

SHARE = int(os.environ.get("SHARE") or 1)  # one of SHARE cases runs
ONLY, LOUD = os.environ.get("ONLY", ""), os.environ.get("CASES")


# --- how each call can fail -----------------------------------------------------------------------

def errnos(text):
    return [getattr(errno, e) for e in text.split()]


FILES = "ENOMEM EMFILE ENFILE"
# Functions of libc that make no system call, or one that fails only for invalid arguments.
NEVER_FAIL = set("""_GLOBAL_OFFSET_TABLE_ __errno_location __popcountdi2 clock_getres getenv geteuid getpid getppid kill memchr
    memcmp memcpy memmove memset munmap secure_getenv sigaction sigaddset sigdelset sigemptyset sigfillset sigprocmask strchr strchrnul
    strcmp strlen strncmp strnlen strrchr""".split())
HOWS = {k: errnos(v) for k, v in {
    "capget": "EPERM", "capset": "EPERM", "clock_nanosleep": "EINTR", "clone": "EAGAIN ENOMEM", "close": "EINTR EIO ENOSPC",
    "connect": "EINTR EAGAIN EACCES EPERM", "execvp": "EACCES ENOENT ENOMEM EIO EPERM",
    "faccessat": "EACCES ENOENT ENOMEM EIO", "faccessat2": "EACCES ENOENT ENOMEM EIO EPERM",
    "fchmod": "EPERM EIO", "fcntl": "EINTR EAGAIN EACCES EPERM", "fork": "EAGAIN ENOMEM",
    "fstat": "ENOMEM EACCES EIO", "fstatat": "ENOMEM EACCES ENOENT EIO", "fstatfs": "EINTR EIO ENOMEM",
    "getdents64": "EIO ENOENT ENOMEM EINTR", "getsockopt": "ENOMEM", "getrusage": "",
    "inotify_add_watch": "EACCES ENOENT ENOMEM ENOSPC", "inotify_init1": FILES, "ioctl": "EIO EPERM ENOMEM EINTR",
    "landlock_add_rule": "ENOMEM EPERM", "landlock_create_ruleset": "EMFILE ENOMEM ENOSYS EOPNOTSUPP",
    "landlock_restrict_self": "E2BIG ENOMEM EPERM", "lseek": "ESPIPE", "madvise": "EINVAL ENOMEM EAGAIN", "mprotect": "ENOMEM EACCES",
    "mailbox": "EIO EPERM ENOMEM EINTR EINVAL EFAULT ENODEV ENOTTY ETIMEDOUT", "mmap": "EAGAIN ENOMEM ENFILE EACCES EPERM",
    "nvidia": "EIO EPERM ENOMEM EINTR EINVAL EFAULT ENODEV EBUSY ENOTTY ETIMEDOUT",
    "openat": FILES + " EINTR EIO EACCES EPERM ENOENT ESRCH", "openat_new": FILES + " EINTR EIO EACCES EPERM ENOSPC",
    "perf_event_open": FILES + " EACCES EPERM EINTR ENOENT ESRCH ENOSPC", "pidfd_getfd": "EMFILE EPERM ESRCH",
    "pidfd_open": FILES + " ESRCH", "pipe2": "EMFILE ENFILE ENOMEM", "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM", "prctl": "EPERM", "prlimit64": "EPERM ESRCH",
    "pread": "EINTR EIO EAGAIN ENOMEM ENODEV ESRCH EACCES", "pwrite": "EINTR EIO EAGAIN ENOSPC EPERM", "read": "EINTR EIO EAGAIN ENOMEM",
    "readlinkat": "EACCES ENOENT EIO ENOMEM", "recv": "EINTR EAGAIN ENOMEM", "renameat": "EACCES EPERM ENOMEM ENOSPC EIO",
    "renameat2": "EACCES EPERM ENOMEM ENOSPC EIO", "send": "EINTR EAGAIN ENOMEM",
    "seccomp": "EACCES EINVAL ENOMEM ENOSYS EPERM", "setitimer": "ENOSYS", "setresgid": "EPERM", "setresuid": "EAGAIN EPERM", "shutdown": "ENOTCONN",
    "socket": FILES + " EACCES", "statfs": "EACCES EINTR EIO ENOENT ENOMEM", "statx": "ENOMEM EACCES ENOENT EIO",
    "uname": "",
    "unlinkat": "EACCES EIO ENOMEM EPERM", "wait4": "EINTR", "write": "EINTR EAGAIN EIO ENOSPC EPERM",
}.items()}
for short in "read pread write pwrite send recv".split():
    HOWS[short] += [HALF, ONE] + ([NONE] if short in ("read", "pread", "recv") else [])
HOWS["mailbox"] += [HALF, NONE]
# The status codes: lost, denied, invalid argument, unknown object or parameters, busy, not
# supported, wrong state.
HOWS["nvidia"] += [STATUS - s for s in (0x0f, 0x1b, 0x1f, 0x57, 0x3a, 0x03, 0x56, 0x40)]
AGAIN = {errno.EINTR, errno.EAGAIN, HALF, ONE}  # the call is repeated: the output does not change
GONE = {errno.ENOENT, errno.ENODEV, errno.ESRCH, NONE}        # the absence of an object is not an error
REFUSED = {errno.EACCES, errno.EPERM}


# --- commands -------------------------------------------------------------------------------------

def tree(name, sys_=None):
    return ["--proc", f"tests/trees/{name}/proc", "--sys", sys_ or f"tests/trees/{name}/sys"]


Run = collections.namedtuple("Run", "name argv form few kw")
RUNS = []


def add(name, argv, form="text", few=False, **kw):
    """Adds a command. few: it is long, as it reads all of /proc/kallsyms, and gets few cases per call."""
    RUNS.append(Run(name, argv, form, few, kw))


with open(f"{HERE}/trees/i915/proc/1201/fdinfo/7" if os.path.exists(f"{HERE}/trees/i915/proc/1201/fdinfo/7") else "/dev/null", "rb") as dump:
    DUMP = dump.read() or b"drm-driver:\ti915\ndrm-client-id:\t7\ndrm-engine-render:\t100 ns\n"
GET = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
for name in "mixed amdgpu i915-dgpu xe nvidia panthor containers kgsl mediatek galcore rockchip-proc accelerators".split():
    add(f"raw {name}", ["-r", "-o", "json"] + tree(name), "json")
add("cgroups dmem", ["cgroups", "-r", "-f", "schema,kind,dev,cgroup,vram,main_memory,pressure", "-o", "json"] + tree("dmem"), "json")
for name in "mixed xe-suspended dmem".split():
    add(f"window {name}", ["-w", "1ms", "-o", "json"] + tree(name), "json")
add("window mediatek", ["-w", "1ms", "-v", "-o", "json"] + tree("mediatek"), "json")
add("samples", ["1ms", "3", "-o", "json"] + tree("mixed"), "json")
add("samples, all swept", ["1ms", "3", "--sweep", "all", "-o", "json"] + tree("mixed"), "json")
add("inner", ["2ms", "2", "--inner", "1ms", "-o", "json"] + tree("amdgpu"), "json")
add("summary", ["1ms", "2", "-S", "-o", "json"] + tree("i915-dgpu"), "json")
add("mailbox, samples", ["1ms", "3", "-v", "-o", "json"] + tree("v3d"), "json", mailbox=True)
add("mailbox, list", ["list"] + tree("v3d"), mailbox=True)
add("mailbox, doctor", ["doctor", "-o", "json"] + tree("v3d"), "perf", mailbox=True)
add("mailbox, counters", ["counters", "0.001", "-n", "2", "-o", "json", "drm/card0/*"] + tree("v3d"), "json", mailbox=True)
# after 9 s the GPU is read again, although it may be asleep
add("nvidia, samples", ["9", "3", "-v", "-o", "json"], "json", nvidia=True)
add("nvidia, clients", ["clients", "9", "3", "-o", "json"], "json", nvidia=True)
add("nvidia, list", ["list"], nvidia=True)
add("nvidia, doctor", ["doctor", "-o", "json"], "perf", nvidia=True)
add("table", ["1ms", "2", "-o", "table"] + tree("mixed"))
add("csv", ["-r", "-o", "csv", "-t", "none"] + tree("mixed"), "csv")
add("prom to a pipe", ["-r", "-o", "prom"] + tree("mixed"), "prom", io="pipe")
add("prom to a file", ["-r", "-o", "prom", "-O", "OUT"] + tree("mixed"), "prom", folder=True, seed=b"old 1\n")
add("json to a file", ["-r", "-o", "json", "-O", "OUT"] + tree("mixed"), "json", folder=True, seed=b"")
add("statsd", ["-r", "-o", "statsd", "-O", "udp:127.0.0.1:9"] + tree("amdgpu"))
add("kmsg", ["-r", "-o", "kmsg"] + tree("amdgpu"))
add("state, first", ["--state", "OUT", "-o", "json"] + tree("mixed"), "json", folder=True)
add("state", ["--state", "OUT", "-o", "json"] + tree("mixed"), "json", folder=True, seed="state")
add("http", ["--http", "-o", "prom"] + tree("mixed"), "http", io="socket", stdin=GET)
add("on stdin", ["--on-stdin", "-w", "1ms", "-o", "json"] + tree("amdgpu"), "json", stdin=b"1\n2\n")
add("clients", ["clients", "-r", "-o", "json"] + tree("mixed"), "json")
add("clients, samples", ["clients", "1ms", "3", "-o", "json"] + tree("mixed"), "json")
add("procs", ["procs", "-r", "-o", "json"] + tree("i915"), "json")
add("procs, samples", ["procs", "1ms", "3", "-p", "1", "--children", "-o", "json"] + tree("i915"), "json")
add("clients of containers", ["clients", "-r", "-o", "json"] + tree("containers"), "json")
add("cgroups", ["cgroups", "-r", "-o", "json"] + tree("containers"), "json")
add("list", ["list"] + tree("mixed"))
add("list of cards", ["list"] + tree("accelerators"))
add("doctor", ["doctor", "-o", "json"] + tree("mixed"), "perf")  # reports the fault itself
add("host", ["host", "1ms", "2", "-o", "json"] + tree("host"), "json")
add("counters", ["counters"] + tree("mixed"))
add("counters, samples", ["counters", "0.001", "-n", "2", "-o", "json"] + tree("amdgpu"), "json")
add("fdinfo -", ["fdinfo", "-", "-o", "json"], "json", stdin=DUMP)
add("fdinfo FILE", ["fdinfo", "-o", "json", "SEED"], "json", seed=DUMP)
add("check", ["check", "-w", "30", "--window", "1ms"] + tree("mixed"), "check")
add("munin", ["munin", "--window", "1ms"] + tree("mixed"), "munin")
add("munin config", ["munin", "config"] + tree("mixed"), "munin")
add("top", ["top", "1ms", "2"] + tree("mixed"), "screen", io="pty")
add("plot", ["plot", "tests/plots/small.csv"], "svg")
add("plot to a file", ["plot", "tests/plots/small.csv", "-O", "OUT"], "svg", folder=True, seed=b"<old/>\n")
add("capture to a file", ["capture", "--plain-names", "-O", "OUT"] + tree("mixed"), "tar", folder=True, seed=b"old")
add("capture, names replaced", ["capture", "-O", "OUT"] + tree("mixed"), "whole tar", few=True, folder=True, seed=b"old")
add("oa --replay", ["oa", "--replay", "tests/oa/skl.rec", "-o", "json"], "json")
add("oa --replay, raw", ["oa", "--replay", "tests/oa/hsw.raw", "--platform", "hsw", "-o", "csv"], "text")
add("oa stalls --replay", ["oa", "stalls", "--replay", "tests/oa/stalls.rec", "-o", "json"], "json")
add("oa stalls", ["oa", "stalls"] + tree("i915"))
add("oa list", ["oa", "list", "Basic", "--platform", "hsw"] + tree("panfrost"))
add("oa", ["oa"] + tree("i915"))
for pmus in "intel hybrid odd".split():
    add(f"events {pmus}", ["events"] + tree("mixed", f"tests/pmus/{pmus}"))
add("events --resolve", ["events", "--resolve"] + tree("mixed", "tests/pmus/intel") +
    ["cycles:u,{imc/cas_count_read/,imc/cas_count_write/}:D", "cpu/mem-loads,ldlat=30/pp", "gpu-busy", "sched:*"])
add("stat -- true", ["stat", "-e", "context-switches,page-faults", "-o", "json", "--", "true"], "perf", clock=False)
add("stat -r 2 -- true", ["stat", "-r", "2", "-e", "context-switches,page-faults", "-o", "json", "--", "true"], "perf", clock=False)
add("stat -p", ["stat", "-p", "1", "-e", "task-clock", "1ms", "2", "-o", "json"], "perf", clock=False)
add("stat -a", ["stat", "-a", "-e", "task-clock", "1ms", "2", "-o", "csv"], "perf", clock=False)
add("run -- true", ["run", "--sys", "tests/trees/i915/sys", "-o", "json", "--", "true"], "perf", clock=False)
add("sample -- true", ["sample", "-e", "page-faults", "--all-user", "--count", "100000", "-o", "json", "--", "true"], "perf", clock=False)
add("sample, kernel's symbols", ["sample", "-e", "page-faults", "--count", "100000", "-o", "folded", "--", "true"], "perf", few=True, clock=False)
add("sample to perf.data", ["sample", "-e", "page-faults", "--count", "100000", "-o", "perfdata", "-O", "OUT", "--", "true"], "perfdata",
    few=True, clock=False, folder=True)
add("here", ["-w", "1ms", "-o", "json"], "perf")
add("clients here", ["clients", "-r"], "perf")
add("host here", ["host", "1ms", "2", "-o", "json"], "perf")
add("doctor here", ["doctor"], "perf")
add("events here", ["events"], "perf")
add("secure", ["-w", "1ms", "-o", "json"], "perf", secure=True)
add("secure list", ["list"], secure=True)
add("secure doctor", ["doctor"], "perf", secure=True)
add("secure stat -- true", ["stat", "-e", "task-clock", "--", "true"], "perf", clock=False, secure=True)
add("secure stat -r 2 -- true", ["stat", "-r", "2", "-e", "task-clock", "--", "true"], "perf", clock=False, secure=True)
add("secure sample -- true", ["sample", "-e", "page-faults", "--count", "100000", "-o", "json", "--", "true"], "perf", few=True, clock=False,
    secure=True)
add("help", ["--help"])
add("fields", ["-f", "help"])


# --- parsing the output ---------------------------------------------------------------------------

# Keys with values that differ between any two runs.
MOVES = re.compile(r"^(time|dt|index)$|self_cpu|(^|\.)(dt|elapsed)$")
COUNTS = re.compile(r"unreadable|dropped")
# Values with a second source: cpufreq or /proc/cpuinfo; the memory of the driver or that of its
# clients; the name of a zone; the name of a user or its number.
FALLS_BACK = re.compile(r"^device\b.*\bused mprotect|^counter host/(cpu/cpu\d+/freq .*(_freq|mprotect)|thermal/.*/type)$|used\b.* \S*mem_info_(vram|gtt)_used$|"
                        r"^device\b.*\bused /dev/nvidiactl$|^process\b.*\.user .*etc/passwd$|^device\b.*\bbusy .*ged/hal(/gpu_utilization)?$")
# The name of a device, which depends on the files that can be read.
DEVICE_NAME = re.compile(r"device\b.*[ .]name *$|gpustat_device_info\b")
# Files of numbered channels, whose values may move if some of them cannot be read.
NUMBERED = re.compile(r"/(zone|temp|fan|in|power|curr|energy)\d+")
# Files with the name of a sensor; without them its name is that of the channel, such as temp1.
NAMED = ("_label", "/type", "/name", "/information")
# Records that must be present; a single value may be absent.
WHOLE = re.compile(r"(device|client|cgroup|process|fdinfo|oa|source) |gpustat_device_info")
SUMS = re.compile(r"^counter host/disk/all|^device\b.*[. ](clients|memory|engine|used)\b|^(cgroup|process)\b|gpustat_(clients|memory|engine|used)")
# Lists of holders, without processes that could not be read.
HOLDERS = re.compile(r"(process|client) .*\.pids$")


def leaves(v, path):
    if isinstance(v, dict):
        for k, x in v.items():
            yield from leaves(x, f"{path}.{k}")
    elif isinstance(v, list):
        yield path, json.dumps(sorted(v, key=str))
    elif v is not None:
        yield path, v


def key_of(r):
    keys = ("kind", "dev", "client", "pid", "file", "event", "name", "source", "summary", "ip") + (("cgroup",) if r["kind"] == "cgroup" else ())
    keys = [k for k in keys if k != "name" or r["kind"] != "device"]  # the name may differ
    return " ".join(str(r[k]) for k in keys if r.get(k) is not None)


def values_json(out):
    got, seen = {}, collections.Counter()
    if out and not out.endswith(b"\n"):
        raise ValueError("output ends within a line")
    for line in out.splitlines():
        r = strict(line)
        if r.get("schema") != 1 or "kind" not in r:
            raise ValueError(f"no record: {line[:80]!r}")
        key = key_of(r)
        seen[key] += 1
        for k, v in r.items():
            if not MOVES.search(k):
                got.update((f"{key} #{seen[key]}{p}", x) for p, x in leaves(v, f".{k}"))
    return got


def values_csv(out):
    rows = list(csv.reader(io.StringIO(out.decode(), newline=""), strict=True))
    if any(len(r) != len(rows[0]) for r in rows):
        raise ValueError("rows of different lengths")
    return {" ".join(r[2:-1]): float(r[-1]) if re.fullmatch(r"[0-9.]+", r[-1]) else r[-1] for r in rows[1:] if r[-1] != ""}


def values_prom(out):
    got = {}
    for line in out.decode().splitlines():
        m = re.fullmatch(r'([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})?) (-?[0-9.e+-]+|NaN)', line)
        if not m and not line.startswith("# "):
            raise ValueError(f"no sample: {line[:80]}")
        if m and not MOVES.search(m.group(1)):
            if m.group(1) in got:
                raise ValueError(f"twice: {m.group(1)}")
            got[m.group(1)] = float(m.group(2))
    return got


def values_http(out):
    if not out:
        return {}
    head, _, body = out.partition(b"\r\n\r\n")
    if not re.match(rb"HTTP/1.1 (200|408|500) ", head):
        raise ValueError(f"no answer: {head[:60]!r}")
    return values_prom(body) if head.startswith(b"HTTP/1.1 200") else {}


def values_svg(out):
    import xml.dom.minidom
    if out:
        xml.dom.minidom.parseString(out)
    return {}


def values_tar(out):
    """Returns the records of the first reading; the file must be complete."""
    if not out:
        return {}
    with tarfile.open(fileobj=io.BytesIO(out), mode="r:") as t:
        names = t.getnames()
        if len(names) != len(set(names)) or names[-1] != "capture/manifest" or out[-1024:] != bytes(1024):
            raise ValueError(f"not a whole capture: {sorted(n for n in names if names.count(n) > 1) or names[-1:]}")
        return values_json(t.extractfile("capture/first.json").read())


def values_whole_tar(out):
    """Returns no values, because the numbers of placeholders depend on the order of reads."""
    values_tar(out)
    return {}


def values_text(out):
    out.decode("utf-8")
    if out and not out.endswith(b"\n"):
        raise ValueError("output ends within a line")
    return {}


def values_perf(out):
    values_text(out)
    return {}


def values_any(out):
    return {}


VALUES = {"json": values_json, "csv": values_csv, "prom": values_prom, "http": values_http, "svg": values_svg, "tar": values_tar, "whole tar": values_whole_tar, "perf": values_perf,
          "screen": values_any, "perfdata": values_any}


# --- checking the output --------------------------------------------------------------------------

def number(v):
    return v if isinstance(v, (int, float)) else None


def is_less(new, old):
    a, b = number(new), number(old)
    return a is not None and b is not None and a <= b


def compare(new, old, how, said, what, stays):
    """Lists the errors of the new values, compared with those of the undisturbed run."""
    counted = said or any(COUNTS.search(k) and v != old.get(k, 0) for k, v in new.items())
    for k, v in new.items():
        if COUNTS.search(k) or old.get(k) == v or FALLS_BACK.search(f"{k} {what}") or DEVICE_NAME.match(k):
            continue
        if k not in old and (counted or how in GONE | REFUSED or what.endswith(NAMED) or stays and NUMBERED.search(k)):
            # a device without its node has another name, and unreadable clients are counted
            continue
        if k not in old:
            return f"new: {k} = {v}"
        if HOLDERS.match(k) and set(json.loads(v)) < set(json.loads(old[k])):
            continue
        if not (SUMS.search(k) and is_less(v, old[k]) and (counted or how in GONE | REFUSED)):
            return f"{k} = {v}, undisturbed {old[k]}"
    lost = {k.split(".", 1)[0] for k in old if WHOLE.match(k)} - {k.split(".", 1)[0] for k in new}
    if lost and not counted and how not in GONE | REFUSED:
        return f"records lost without a message: {sorted(lost)[:3]}"
    return None


def fault_of(run, a, how, base, flags=0):
    """Returns the error at the end of a run, or None."""
    if a.hung:
        return "hangs"
    if a.signal:
        return f"signal {a.signal}"
    # env(1)'s codes for a command that cannot run, even if the reason cannot be reported
    if a.code > 4:
        return None if a.code in (126, 127) and (a.err or a.what.startswith("gate")) else f"exit code {a.code}"
    # The alarm of `check` can end it at any point, even before it drops its privileges. Without
    # setitimer(2) a child sends the alarm, and its sleep ends at once if the clock is virtual.
    cut = run.form == "check" and b"timeout" in a.out
    more = not cut and more_of(run, a, base, flags)
    if more:
        return f"may more: {more}"
    # The nearest event is searched among all events, and their files remain open until the end.
    cut |= run.name == "events --resolve" and a.code == 2
    more = not cut and not a.err.endswith(b"cannot be dropped\n") and leaked(run, collections.Counter(a.open), collections.Counter(base.open))
    if more:
        return f"open at the end: {more[:3]}"
    if a.left:
        return f"left beside the file: {a.left}"
    return fault_of_output(run, a, how, base, flags)


def more_of(run, a, base, flags):
    """Returns the privileges at the end of a run that the undisturbed run did not have. If
    privileges cannot be dropped, a run that got them from its caller continues, but one that got
    them from file capabilities must not. A run that could not create a sandbox may have none."""
    told = a.err or flags & STAYS and a.fired == "write"  # the message itself may have failed
    if a.code and told or not a.may:
        return []
    ours = run.kw.get("secure")
    more = [f"{k} {a.may[k]}" for k in ("CapInh", "CapPrm", "CapEff") if int(a.may[k], 16) & ~int(base.may[k], 16)]
    more += [f"{k} {a.may[k]}" for k in ("Uid", "Gid") if a.may[k] != base.may[k]]
    more = more if ours or a.fired not in ("capget", "capset") else []
    return more + (["Seccomp"] if a.fired not in ("seccomp", "prctl") and not flags & OLD_ABI and a.may["Seccomp"] < base.may["Seccomp"] else [])


def leaked(run, now, base):
    """Returns the files that are open more often than in the undisturbed run, except those that are
    cached: one file of each sensor or client, each file with code in which there was a sample, with
    its debug information, and the folder that the next sample continues to read."""
    more = [path for path, n in (now - base).items() if n > 1 or base[path] or not re.search(r"/fdinfo/\d+$|/sys/|\.so|\.debug$|/bin/true$|inotify$", path)]
    return [p for p in more if not (run.name in RESTING and re.search(r"/proc(/\d+/fd(info)?)?$", p) and now[p] <= 2)]


def fault_of_output(run, a, how, base, flags):
    said = a.err != base.err
    out = a.file if run.kw.get("folder") and run.form != "text" and not run.name.startswith("state") else a.out
    ours = base.file if out is a.file else base.out
    own = run.form in ("check", "munin", "http")
    if not (a.code == 0 or own or out == ours or a.err or flags & STAYS and a.fired == "write"):
        return f"exit code {a.code} without a word"
    if a.code != base.code and a.code == 3 and how not in GONE | REFUSED and not own:
        return f"exit code 3: {a.err[-80:]!r}"
    if a.code == 2 and base.code != 2 and not own and how not in GONE | REFUSED:
        return f"exit code 2: {a.err[-80:]!r}"
    if out is None:
        return None if a.code else "no file"
    if a.fired in ("write", "pwrite", "send") and is_output(a, run):
        if how not in AGAIN:
            # the last bytes to a terminal restore it, and are written even after an error
            return None if a.code == 1 or (own and a.code) or run.form == "screen" else f"exit code {a.code} after a failed write"
    if (a.code or run.form == "http") and out == b"" or out == ours:
        return None
    seed = run.kw.get("seed")
    if a.code and isinstance(seed, bytes) and out == seed:
        return None
    try:
        got = VALUES.get(run.form, values_text)(out)
    except (ValueError, UnicodeDecodeError, KeyError, csv.Error) as e:
        return f"invalid: {e}"
    except Exception as e:  # of xml.parsers.expat
        return f"invalid: {e}"
    if a.code and a.code != base.code and how in AGAIN and not own and (a.fired, how) != ("read", errno.EAGAIN):
        return f"exit code {a.code}: {a.err[-80:]!r}"
    return compare(got, values_of(run, ours), how, said, a.what or a.fired, flags & STAYS) if got or not a.code else None


def is_output(a, run):
    return "out" in a.what or a.what.startswith(("pipe", "socket", "/dev/pts"))


def values_of(run, out, known={}):  # pylint: disable=dangerous-default-value
    key = (run.name, run.form, out)
    if key not in known:
        known[key] = VALUES.get(run.form, values_text)(out)
    return known[key]


# --- running all cases ----------------------------------------------------------------------------

NAMES = None
RESTING = ("samples", "mailbox, samples", "nvidia, samples", "nvidia, clients", "table", "clients, samples", "procs, samples", "top", "on stdin", "inner", "summary", "capture to a file", "capture, names replaced")


OFTEN, EVERYWHERE = 3, 8  # how often a call site fails in one command, and in all commands


def calls_of(run, base, met):
    """Yields the calls that fail: (number, name). A call site with the same callers is the same
    code: in one command the first, the last and some others fail, in all commands together a
    limited number. met: how often each call site was chosen so far."""
    at = collections.defaultdict(list)
    for n, place in enumerate(zip(base.names, base.sites)):
        at[place].append(n + 1)
    for place, numbers in at.items():
        left = min(2 if run.few else OFTEN, max(EVERYWHERE - met[place], 1))
        step = max(len(numbers) - 1, 1) / max(left - 1, 1)
        taken = sorted({round(i * step) for i in range(left) if round(i * step) < len(numbers)})
        met[place] += len(taken)
        yield from ((numbers[i], place[0]) for i in taken)


def look_at(run):
    """Returns the result of an undisturbed run."""
    server, run = start(run)
    with server as s:
        return s.run()


STAYING = {"openat": errnos("EMFILE EIO"), "read": errnos("EIO"), "pread": errnos("EIO"), "getdents64": errnos("EIO"),
           "write": errnos("ENOSPC"), "perf_event_open": errnos("EMFILE"), "mmap": errnos("ENOMEM"), "mprotect": errnos("ENOMEM"), "wait4": errnos("ECHILD EIO")}


def cases_of(run, base, calls):
    """Yields (number of the call, failure, flags): each failure once, and some of them for all
    later calls too."""
    for n, name in calls:
        for how in HOWS.get(name, [])[::3 if run.few else 1]:
            yield n, how, 0
    for n, name in calls[::8]:
        for how in STAYING.get(name, []):
            yield n, how, STAYS
    for n in range(base.child_calls):
        for how in errnos("EINTR EACCES ENOENT ENOMEM"):
            yield n + 1, how, OF_CHILD


def start(run):
    kw = dict(run.kw)
    argv = list(run.argv)
    if kw.get("seed") == "state":
        with serve.Server(argv, NAMES, folder=True) as s:
            kw["seed"] = s.run().file
    s = serve.Server([a for a in argv if a != "SEED"], NAMES, **kw) if "SEED" not in argv else None
    if s is None:
        path = f"{serve.ROOT}/build/inject/seed"
        with open(path, "wb") as f:
            f.write(kw.pop("seed"))
        s = serve.Server([path if a == "SEED" else a for a in argv], NAMES, **kw)
    return s, run._replace(kw=kw)


def try_run(job):
    """Runs a part of a command's cases. Returns (name, injected, survived, leaked, problems)."""
    run, part, parts, calls = job
    problems, injected, survived, leaked, began = [], 0, 0, 0, time.monotonic()
    server, run = start(run)
    with server as s:
        base = s.run()
        if base.hung or base.signal or base.code > 4:
            return run.name, 0, 0, 0, [f"undisturbed: {base!r}"]
        for i, (at, how, flags) in enumerate(cases_of(run, base, calls)):
            if i % (SHARE * parts) != part * SHARE + hash_of(run.name) % SHARE:
                continue
            a = s.run(at, how, flags)
            if a.fired is None:
                continue
            injected += 1
            why = fault_of(run, a, how, base, flags)
            survived += not (a.hung or a.signal)
            leaked += bool(why) and why.startswith("open at")
            if why:
                problems.append(f"call {at}{' of the child' if flags & OF_CHILD else ' and on' if flags else ''}: {a.fired} {a.what}: {serve.how_name(how)}: {why}" + (f" {a!r}" if LOUD else ""))
    if os.environ.get("TIMES"):
        print(f"# {run.name}: {time.monotonic() - began:.1f} s", flush=True)
    return run.name, injected, survived, leaked, problems


def try_world(run, flags):
    """Returns the error of a run on an old kernel, or with clocks that jump, compared with the
    undisturbed run, or None. Counting works there with 64 bytes of attributes; sampling must report that the
    kernel is too old."""
    server, run = start(run)
    with server as s:
        base, a = s.run(), s.run(flags=flags)
        if flags & CLOCK_JUMPS and "-r" not in run.argv:  # the clock changes the rates
            VALUES.get(run.form, values_text)(a.out)
            run = run._replace(form={"screen": "screen", "tar": "whole tar", "whole tar": "whole tar"}.get(run.form, "perf"))
        why = fault_of(run, a, 0, base, flags)
        if flags & OLD_ABI and run.argv[0] == "sample":
            why = why if a.code == 4 and b"not supported" in a.err else "sampling requires the clock of Linux 4.1"
        elif not why and a.code != base.code:
            why = f"exit code {a.code}, undisturbed {base.code}: {a.err[-80:]!r}"
        busy = [float(v) for v in re.findall(rb'"busy":([-0-9.e+]+)', a.out)] if flags & CLOCK_JUMPS else []
        if any(not 0 <= v <= 100 for v in busy) or re.search(rb'"dt":-', a.out):
            why = why or f"an impossible time or share: {a!r}"
        return why and f"{run.name}: {why}" + (f" {a!r}" if LOUD else "")


def try_gate(run):
    """Returns the error if the waiting command can be neither started nor stopped, or None."""
    server, run = start(run)
    with server as s:
        base = s.run()
        for how in errnos("ENOMEM EPERM EAGAIN"):
            a = s.run(base.names.index("write") + 1, how, NEXT_TOO)
            why = fault_of(run, a, how, base) or (a.code == 0 or not a.err) and f"{a!r}"
            if why:
                return f"{run.name}: {serve.how_name(how)}: {why}"
    return None


def hash_of(text):
    return sum(text.encode())


def main():
    global NAMES  # pylint: disable=global-statement
    if not shutil.which(os.environ.get("PLAIN", "musl-gcc")):
        tap.skip("the test build", "the package musl-tools is missing")
        tap.finish()
    subprocess.run([f"{HERE}/inject/build"], check=True)
    NAMES = serve.calls()
    with open(f"{serve.ROOT}/build/inject/calls", encoding="ascii") as f:
        missed = set(f.read().split()) - NEVER_FAIL
    tap.report(not missed, "every function of libc that can fail is wrapped", f"tests/inject/inject.c does not wrap {sorted(missed)}")
    runs = [r for r in RUNS if ONLY in r.name]
    totals, met = collections.defaultdict(lambda: [0, 0, 0, []]), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        jobs = []
        for r, base in zip(runs, pool.map(look_at, runs)):
            calls = list(calls_of(r, base, met))
            jobs += [(r, p, 2, calls) for p in range(2)]
        for name, injected, survived, leaked, problems in pool.map(try_run, jobs):
            t = totals[name]
            for i, n in enumerate((injected, survived, leaked)):
                t[i] += n
            t[3] += problems
        for name, (injected, survived, leaked, problems) in totals.items():
            tap.report(not problems, name, *problems[:None if LOUD else 8])
            print(f"# {name}: {injected} faults, {len(problems)} with a wrong result")
        for what, flags in (("an old kernel", OLD_ABI), ("clocks that jump", CLOCK_JUMPS)):
            those = [r for r in runs if r.name != "doctor here" and (r.kw.get("clock", True) or flags == OLD_ABI)]
            problems = [why for why in pool.map(try_world, those, [flags] * len(those)) if why]
            tap.report(not problems, f"{what}: {len(those)} commands", *problems[:None if LOUD else 8])
    those = [r for r in runs if r.argv[0] in ("stat", "sample") and r.argv[-2:] == ["--", "true"]]
    problems = [why for why in map(try_gate, those) if why]
    tap.report(not problems, f"a command that can be neither started nor stopped: {len(those)} commands", *problems)
    for what, i in (("faults injected", 0), ("faults survived", 1), ("descriptors leaked", 2)):
        print(f"# proof: {what} = {sum(t[i] for t in totals.values())}")
    tap.finish()


if __name__ == "__main__":
    main()
