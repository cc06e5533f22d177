#!/usr/bin/env python3
# t_edges.py PROG - the program from outside, against what it promises, on machines made of files: the
# edge cases of DRM client statistics (each under the name of its case), the mistakes that other
# monitors make, bad input, options, exit codes, hostile names. Prints TAP; exit 0 iff all is well.
# ONLY=TEXT in the environment: only the tests with TEXT in their names. TIMES=1: how long each took.
# SPDX-License-Identifier: MIT
import contextlib
import csv
import fcntl
import io
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, HERE)
import clock  # noqa: E402
ROOT = os.path.dirname(HERE)
DUMPS = os.path.join(ROOT, "..", "shared", "fdinfo")
TREES = os.path.join(HERE, "trees")
NOBODY = 65534
WINDOW = 0.5  # of runs whose files change between two reads
STEP = 0.3    # the same, where there are several samples
CSV_HEADER = "time,dt,kind,dev,driver,pdev,client,pid,comm,cgroup,field,instance,value"
FORMATS = ["line", "table", "csv", "json", "logfmt"]
PROG = None   # set by main


# --- small tools -------------------------------------------------------------------------------------

class Skip(Exception):
    pass


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def eq(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def near(got, want, tol, what):
    check(isinstance(got, (int, float)) and abs(got - want) <= tol, f"{what}: got {got!r}, want {want} +- {tol}")


def no_twice(pairs):
    d = dict(pairs)
    if len(d) != len(pairs):
        raise ValueError(f"duplicate key in {[k for k, _ in pairs]}")
    return d


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


def strict(line):
    """One JSON value, as the standard has it: no NaN, no key twice, valid UTF-8, no lone surrogate."""
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    v = json.loads(text, object_pairs_hook=no_twice, parse_constant=no_constant)
    json.dumps(v, ensure_ascii=False).encode("utf-8")
    return v


def parse_json(out):
    check(out == b"" or out.endswith(b"\n"), f"output ends within a line: {out[-80:]!r}")
    return [strict(line) for line in out.splitlines()]


def parse_csv(out):
    """Rows of the long form, as dicts."""
    check(out.endswith(b"\n"), "output ends within a line")
    rows = list(csv.reader(io.StringIO(out.decode("utf-8"), newline=""), strict=True))
    eq(",".join(rows[0]), CSV_HEADER, "header")
    for r in rows:
        eq(len(r), 13, f"columns of {r}")
    return [dict(zip(rows[0], r)) for r in rows[1:]]


def parse_logfmt_line(line, twice=False):
    """key=value and key="value as in JSON"; keys of letters, digits, '_' and '.'."""
    d, i = {}, 0
    while i < len(line):
        m = re.compile(r'([A-Za-z0-9_.]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"=]*))(?: |$)').match(line, i)
        check(m, f"no logfmt: ...{line[i:i + 60]!r}")
        check(twice or m.group(1) not in d, f"key {m.group(1)} twice")
        d[m.group(1)] = strict(f'"{m.group(2)}"') if m.group(2) is not None else m.group(3)
        i = m.end()
    return d


def parse_logfmt(out, twice=False):
    check(out == b"" or out.endswith(b"\n"), "output ends within a line")
    return [parse_logfmt_line(line, twice) for line in out.decode("utf-8").split("\n")[:-1]]


def printable(out):
    """No byte that a terminal would obey, and valid UTF-8."""
    text = out.decode("utf-8")
    bad = [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    check(not bad, f"raw control characters {bad[:4]!r}")
    return text


def sequences(b):
    """The bytes as (text, bytes) per character; text is None for each byte that is no UTF-8."""
    i = 0
    while i < len(b):
        for n in (1, 2, 3, 4):
            with contextlib.suppress(UnicodeDecodeError):
                c = b[i:i + n].decode("utf-8")
                if len(c) == 1:
                    yield c, b[i:i + n]
                    i += n
                    break
        else:
            yield None, b[i:i + 1]
            i += 1


def as_json(b):
    return "".join(c or "\ufffd" for c, _ in sequences(b))


def as_text(b):
    def one(c, raw):
        if c is None or ord(c) < 32 or 127 <= ord(c) < 160:
            return "".join(f"\\x{x:02x}" for x in raw)
        return c
    return "".join(one(c, raw) for c, raw in sequences(b))


class Ran:
    def __init__(self, code, out, err, took):
        self.code, self.out, self.err, self.took = code, out, err, took

    def __repr__(self):
        return f"exit {self.code}, out {self.out[-300:]!r}, err {self.err[-300:]!r}"


def run(args, stdin=b"", nobody=False, timeout=120, **kw):
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if nobody and os.getuid() == 0 else {}
    t = time.monotonic()
    try:
        p = subprocess.run([PROG] + args, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=timeout, **who, **kw)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{' '.join(args)}: still runs after {timeout} s") from None
    return Ran(p.returncode, p.stdout, p.stderr, time.monotonic() - t)


# --- machines made of files ---------------------------------------------------------------------------

def head(driver, client, pdev=None, name=None):
    lines = ["pos:\t0", "flags:\t02100002", "mnt_id:\t26", "ino:\t690"]
    if driver is not None:
        lines.append(f"drm-driver:\t{driver}")
    if client is not None:
        lines.append(f"drm-client-id:\t{client}")
    if pdev:
        lines.append(f"drm-pdev:\t{pdev}")
    if name:
        lines.append(f"drm-client-name:\t{name}")
    return lines


def dump(driver, client, *lines, pdev=None, name=None):
    return "\n".join(head(driver, client, pdev, name) + list(lines)) + "\n"


def ns(**engines):
    return [f"drm-engine-{k.replace('_', '-')}:\t{int(v)} ns" for k, v in engines.items()]


def raw(s):
    return s if isinstance(s, bytes) else s.encode("utf-8")


class Machine:
    def __init__(self, base):
        self.base = base
        os.chmod(base, 0o755)
        self.proc, self.sys = os.path.join(base, "proc"), os.path.join(base, "sys")
        for d in ("proc", "sys/class/drm", "sys/class/accel", "sys/dev/char", "sys/bus/pci/devices"):
            os.makedirs(os.path.join(base, d))

    def roots(self):
        return ["--proc", self.proc, "--sys", self.sys]

    def path(self, *parts):
        return os.path.join(self.base, *parts)

    def write(self, path, text, at=None):
        path = os.path.join(at or self.base, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(raw(text))
        return path

    def link(self, target, path):
        """A relative link, as sysfs makes them; both from the base."""
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(os.path.relpath(self.path(target), os.path.dirname(path)), path)

    def node(self, dev, kind, name, devno):
        where = f"{dev}/{kind}/{name}"
        self.write(f"{where}/dev", f"{devno[0]}:{devno[1]}\n")
        self.write(f"{where}/uevent", f"MAJOR={devno[0]}\nMINOR={devno[1]}\n")
        self.link(dev, f"{where}/device")
        self.link(f"sys/class/{kind}", f"{where}/subsystem")
        self.link(where, f"sys/class/{kind}/{name}")
        self.link(where, f"sys/dev/char/{devno[0]}:{devno[1]}")

    def device(self, driver, pdev=None, card=0, render=128, accel=None, state="active", name=None,
               card_minor=None, render_minor=None, files=None):
        bus = "pci" if pdev else "platform"
        dev = f"sys/devices/pci0000:00/{pdev}" if pdev else f"sys/devices/platform/{name or driver + '-unit'}"
        self.write(f"{dev}/uevent", f"DRIVER={driver}\n" + (f"PCI_SLOT_NAME={pdev}\n" if pdev else ""))
        self.write(f"{dev}/power/runtime_status", state + "\n")
        os.makedirs(self.path(f"sys/bus/{bus}/drivers/{driver}"), exist_ok=True)
        self.link(f"sys/bus/{bus}/drivers/{driver}", f"{dev}/driver")
        self.link(f"sys/bus/{bus}", f"{dev}/subsystem")
        if pdev:
            self.link(dev, f"sys/bus/pci/devices/{pdev}")
        if card is not None:
            self.node(dev, "drm", f"card{card}", (226, card if card_minor is None else card_minor))
        if render is not None:
            self.node(dev, "drm", f"renderD{render}", (226, render if render_minor is None else render_minor))
        if accel is not None:
            self.node(dev, "accel", f"accel{accel}", (261, accel))
        for name_, text in (files or {}).items():
            self.write(f"{dev}/{name_}", text)
        return dev

    def process(self, pid, comm="app", start=1000, cgroup="0::/user.slice/app.scope\n", threads=1):
        d = f"proc/{pid}"
        os.makedirs(self.path(d, "fd"), exist_ok=True)
        os.makedirs(self.path(d, "fdinfo"), exist_ok=True)
        comm = raw(comm)
        # the kernel escapes newline and backslash in stat, not in comm
        shown = comm.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
        rest = f" S 1 {pid} {pid} 0 -1 4194560 1 0 0 0 3 1 0 0 20 0 {threads} 0 {start} 1000 10" + " 0" * 28 + "\n"
        self.write(f"{d}/comm", comm + b"\n")
        self.write(f"{d}/stat", f"{pid} (".encode() + shown + b")" + rest.encode())
        self.write(f"{d}/cgroup", cgroup)
        return pid

    def fd(self, pid, n, text, link="/dev/dri/renderD128"):
        if not os.path.isdir(self.path(f"proc/{pid}")):
            self.process(pid)
        if link is not None:
            os.symlink(link, self.path(f"proc/{pid}/fd/{n}"))
        return self.write(f"proc/{pid}/fdinfo/{n}", text) if text is not None else None

    def gone(self, pid):
        """As when a process exits: kept-open fdinfo files read as nothing, then the folder is away."""
        d = self.path(f"proc/{pid}")
        for f in os.listdir(f"{d}/fdinfo"):
            rewrite(f"{d}/fdinfo/{f}", "")
        os.rename(d, self.path(f"gone-{pid}-{time.monotonic_ns()}"))

    def close(self, pid, n):
        rewrite(self.path(f"proc/{pid}/fdinfo/{n}"), "")
        os.unlink(self.path(f"proc/{pid}/fd/{n}"))
        os.unlink(self.path(f"proc/{pid}/fdinfo/{n}"))

    def run(self, *args, **kw):
        return run(list(args) + self.roots(), **kw)

    def json(self, *args, **kw):
        """The records of a short one-shot run that must go well."""
        args = list(args)
        if not {"-w", "-r", "list"} & set(args):
            args += ["-w", "0.02"]
        r = self.run(*args, "-o", "json", **kw)
        eq(r.code, 0, f"exit code ({r!r})")
        return parse_json(r.out)

    def driven(self, *args, limit=None, **kw):
        """The program under a clock of the test's; limit: how many descriptors it may have."""
        words = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"] if limit else []
        try:
            return clock.Driven([*words, PROG, *args, *self.roots()], execs=2 if limit else 1, **kw)
        except clock.Unable as e:
            raise Skip(str(e)) from None

    def live(self, *args, steps, interval=None, late=None):
        """Runs the program while its files change: steps[k] before sample k, after the reading before it; late[k]: how many
        seconds after its time that sample is taken. The samples, each a list of records. The first of -r comes at once."""
        several = len(steps) > 1
        interval = interval or (STEP if several else WINDOW)
        timing = [str(interval), str(len(steps))] if several else ["-w", str(interval)]
        at_once = several and "-r" in args
        check(not (at_once and steps[0]), "nothing can be done before the first sample of -r")
        samples = {}
        with self.driven(*args, *timing, "-o", "json") as p:
            for k, step in enumerate(steps):
                if at_once and k == 0:
                    continue
                check(p.sleep(), f"ended before sample {k}")
                if step:
                    step()
                p.wake(round(clock.NS * (late or {}).get(k, 0)))
            check(not p.sleep(), "sleeps after its last sample")
            eq(p.code, 0, f"exit code ({p.err!r})")
            for r in parse_json(p.out):
                samples.setdefault(r["time"], []).append(r)
        return [samples[t] for t in sorted(samples)]

    def procs(self, *args, steps, **kw):
        """The same with `procs`: a dict from client id to record for each sample."""
        return [{r["client"]: r for r in s} for s in self.live("procs", *args, steps=steps, **kw)]


def wait_asleep(pid):
    """Until the process sleeps, which it does between its reads only."""
    seen, until = 0, time.monotonic() + 60
    while seen < 3:
        with open(f"/proc/{pid}/stat", "rb") as f:
            state = f.read().rpartition(b")")[2].split()[0]
        check(state != b"Z", "ended before its first sample")
        check(time.monotonic() < until, "does not come to rest")
        seen = seen + 1 if state == b"S" else 0
        time.sleep(0.004)


def until(what, holds):
    """What holds() gives once that is true: however slow the machine is."""
    end = time.monotonic() + 120
    while not (got := holds()):
        check(time.monotonic() < end, f"waited in vain: {what}")
        time.sleep(0.005)
    return got


def waiting_in(pipe):
    """Bytes that nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def until_taken(p):
    """It has read all that it was given on standard input, and waits for more."""
    until("its input is read", lambda: not waiting_in(p.stdin))
    wait_asleep(p.pid)


def cpu_of(pid):
    """CPU time of all its threads, in seconds."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def most_by_perf(seconds):
    """What perf's clock of a task may say where the scheduler's has that CPU time: this is of the last tick, that goes on
    while the host has the CPU, and where tasks fight for one it was seen to count 8 % more (Linux 6.18)."""
    return 1.2 * seconds + 0.01


def until_it_ran(pid, seconds):
    """It has had that much CPU time more; how long that took is the machine's business."""
    had = cpu_of(pid)
    until(f"{pid} runs for {seconds} s", lambda: cpu_of(pid) >= had + seconds)


def command_of(pid, name="work"):
    """The process of that name that the program has started, once it has."""
    def find():
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{p}/stat", encoding="ascii", errors="replace") as f:
                    comm, _, rest = f.read().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if comm == name and int(rest.split()[1]) == pid:
                return int(p)
        return None
    return until(f"{name}, of {pid}", find)


def until_zombie(pid):
    def is_one():
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    until(f"{pid} ends", is_one)


def rewrite(path, text):
    """In place: the program keeps fdinfo files open, as the kernel lets it."""
    with open(path, "r+b") as f:
        f.write(raw(text))
        f.truncate()


def writer(path, text):
    return lambda: rewrite(path, text)


def busy(rec, engine):
    return rec["engine"].get(engine, {}).get("busy")


def right(rec, engine, delta_ns, what="busy", capacity=1, tol=0.2):
    near(busy(rec, engine), 100 * delta_ns / (rec["dt"] * 1e9 * capacity), tol, what)


def decode(m, text, *args):
    """The record of `gpustat fdinfo` for one dump."""
    path = m.write(f"dump-{time.monotonic_ns()}.txt", text)
    r = run(["fdinfo", "-o", "json", *args, path])
    eq(r.code, 0, f"exit code ({r!r})")
    recs = parse_json(r.out)
    eq(len(recs), 1, "records")
    eq(recs[0]["kind"], "fdinfo", "kind")
    return recs[0]


def val(rec, group, inst, member):
    """A number, or None where it is absent or null."""
    return rec[group].get(inst, {}).get(member)


def as_root():
    if os.getuid() != 0:
        raise Skip("needs root")


def make_node(m, name, maj, minor, kind=stat.S_IFCHR):
    path = m.path(name)
    try:
        os.mknod(path, kind | 0o666, os.makedev(maj, minor))
    except OSError as e:
        raise Skip(f"mknod: {e.strerror}") from None
    return path


TESTS = []


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


I915, XE, AMD = "0000:00:02.0", "0000:03:00.0", "0000:08:00.0"


def one_client(m, driver="i915", pdev=I915, text=None, **kw):
    m.device(driver, pdev)
    m.process(10, **kw)
    return m.fd(10, 5, text or dump(driver, 7, *ns(render=1000), pdev=pdev))


# --- the table of edge cases --------------------------------------------------------------------------

R = "fd duplicated / passed / inherited by fork"


@test(f"{R}: counted once, the oldest plain holder owns it, all are listed")
def _(m):
    m.device("i915", I915)
    text = dump("i915", 7, *ns(render=10**9), pdev=I915)
    m.process(1, "systemd", 1)
    m.process(690, "seatd", 40)
    m.process(812, "systemd-logind", 50)
    m.process(10, "young", 500)
    m.process(20, "old", 300)
    files = [m.fd(1, 9, text), m.fd(690, 4, text), m.fd(812, 7, text), m.fd(10, 5, text), m.fd(20, 5, text),
             m.fd(20, 6, text), m.fd(20, 7, text, "/dev/dri/card0")]
    more = dump("i915", 7, *ns(render=10**9 + 2 * 10**8), pdev=I915)

    def step():
        for f in files:
            rewrite(f, more)
    s, = m.procs(steps=[step])
    eq(list(s), [7], "clients")
    eq((s[7]["pid"], s[7]["comm"]), (20, "old"), "owner")
    eq(s[7]["pids"], [1, 10, 20, 690, 812], "pids")
    right(s[7], "render", 2 * 10**8)


@test(f"{R}: once in the device's sum")
def _(m):
    m.device("i915", I915)
    text = [dump("i915", 7, *ns(render=10**9 + d), "drm-total-system0:\t8 KiB", "drm-resident-system0:\t4 KiB",
                 pdev=I915) for d in (0, 2 * 10**8)]
    files = [m.fd(p, n, text[0]) for p in (10, 20, 30) for n in (4, 5)]

    def step():
        for f in files:
            rewrite(f, text[1])
    (d,), = m.live(steps=[step])
    eq(d["clients"], 1, "clients")
    right(d, "render", 2 * 10**8, tol=3)
    eq(val(d, "memory", "system0", "resident"), 4096, "resident")


@test(f"{R}: of holders of one age the lowest pid owns it")
def _(m):
    m.device("i915", I915)
    for pid in (300, 30, 3000):
        m.process(pid, f"p{pid}", 777)
        m.fd(pid, 5, dump("i915", 7, pdev=I915))
    m.process(20, "younger", 778)
    m.fd(20, 5, dump("i915", 7, pdev=I915))
    r, = m.json("procs")
    eq((r["pid"], r["pids"]), (30, [20, 30, 300, 3000]), "pid, pids")


@test(f"{R}: held by pid 1 and logind alone it is still one client")
def _(m):
    m.device("i915", I915)
    m.process(1, "systemd", 1)
    m.process(812, "systemd-logind", 50)
    for pid in (1, 812):
        m.fd(pid, 5, dump("i915", 7, pdev=I915))
    r, = m.json("procs")
    eq(r["pids"], [1, 812], "pids")
    check(r["pid"] in (1, 812, None), f"pid {r['pid']}")


@test(f"{R}: (device, id) is the key: equal ids of two devices are two clients")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    m.fd(10, 6, dump("xe", 7, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE), "/dev/dri/renderD129")
    eq([(r["dev"], r["client"]) for r in m.json("procs")], [("card0", 7), ("card1", 7)], "clients")


@test(f"{R}: passed on to another process, the sender gone: no work is lost")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915), comm="sender")

    def passed():
        m.process(20, "taker", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        m.gone(10)
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=1.05e9), pdev=I915)), passed, None])
    right(s[0][7], "render", 5e7, "before")
    right(s[1][7], "render", 5e7, "when passed")
    eq((s[1][7]["pid"], s[1][7]["pids"]), (20, [20]), "holder")
    right(s[2][7], "render", 0, "after")


R = "client ids before 6.5"


@test(f"{R}: lower counters with an earlier holder left: the larger value stays")
def _(m):
    one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915))
    f = m.path("proc/10/fdinfo/5")

    def another():
        m.process(20, "second", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=5e8), pdev=I915))
        rewrite(f, dump("i915", 7, *ns(render=5e8), pdev=I915))
    s = m.procs(steps=[another, writer(f, dump("i915", 7, *ns(render=9e8), pdev=I915))])
    right(s[0][7], "render", 0, "lower")
    right(s[1][7], "render", 0, "still lower")


@test(f"{R}: lower counters, all earlier holders gone: another client")
def _(m):
    one_client(m, text=dump("i915", 7, *ns(render=9e9), pdev=I915))
    new = m.path("proc/20/fdinfo/3")

    def reuse():
        m.gone(10)
        m.process(20, "second", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=1e8), pdev=I915))
    s = m.procs(steps=[None, reuse, writer(new, dump("i915", 7, *ns(render=2e8), pdev=I915))])
    eq(s[1][7]["pid"], 20, "holder")
    eq(busy(s[1][7], "render"), None, "busy of a client seen for the first time")
    right(s[2][7], "render", 1e8, "from its own baseline")


@test(f"{R}: the pid is reused too: its start time tells")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=9e9), pdev=I915))

    def reuse():
        m.gone(10)
        m.process(10, "second", 999999)
        m.fd(10, 5, dump("i915", 7, *ns(render=1e8), pdev=I915))
    s = m.procs(steps=[None, reuse, lambda: rewrite(f, dump("i915", 7, *ns(render=2e8), pdev=I915))])
    eq(s[1][7]["comm"], "second", "comm")
    eq(busy(s[1][7], "render"), None, "busy of a client seen for the first time")
    right(s[2][7], "render", 1e8, "from its own baseline")


R = "region `memory`, `system*`, `gtt`, `cpu`"


@test(f"{R}: system memory is never VRAM")
def _(m):
    m.device("i915", XE)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, "drm-total-system0:\t64 MiB", "drm-resident-system0:\t64 MiB",
                     "drm-total-local0:\t16 MiB", "drm-resident-local0:\t16 MiB", pdev=XE))
    d, = m.json()
    check(d["vram"]["used"] in (None, 16 << 20), f"vram used {d['vram']['used']}")
    line = m.run("-H", "-w", "0.02").out.split()
    check(b"16M" in line, f"16M of video memory in {line}")
    check(b"80M" not in line, f"sum of both memories in {line}")


@test(f"{R}: a driver without video memory has no vram")
def _(m):
    for i, region in enumerate(("memory", "system", "gtt", "cpu")):
        m.device(f"drv{i}", card=i, render=128 + i)
        m.fd(10 + i, 5, dump(f"drv{i}", 7, f"drm-total-{region}:\t64 MiB", f"drm-resident-{region}:\t64 MiB"),
             f"/dev/dri/renderD{128 + i}")
    for d in m.json():
        eq(d["vram"], {"total": None, "used": None}, f"vram of {d['driver']}")


R = "client-id 64 bit"


@test(f"{R}: exact, and no two fall together in 32 bits")
def _(m):
    m.device("i915", I915)
    ids = [7, 2**32 + 7, 2**53 + 1, 2**64 - 1]
    for i, c in enumerate(ids):
        m.fd(10 + i, 5, dump("i915", c, pdev=I915))
    eq([r["client"] for r in m.json("procs")], ids, "clients")
    r = m.run("procs", "-o", "csv", "-w", "0.02")
    eq(sorted({int(row["client"]) for row in parse_csv(r.out)}), ids, "clients in CSV")
    eq(decode(m, dump("i915", 2**64 - 1))["client"], 2**64 - 1, "client of a dump")


R = "two drm-client-id lines (pvrsrvkm)"


@test(f"{R}: the last wins")
def _(m):
    m.device("pvrsrvkm")
    m.fd(10, 5, dump("pvrsrvkm", 5, "drm-client-id:\t6"))
    eq([r["client"] for r in m.json("procs")], [6], "client")
    eq(decode(m, dump("pvrsrvkm", 5, "drm-client-id:\t6"))["client"], 6, "client of a dump")


R = "engine appears later"


@test(f"{R}: amdgpu: from 0, if the client was there without it")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    s = m.procs(steps=[writer(f, dump("amdgpu", 7, *ns(dec=1e8, gfx=6e8), pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(dec=1.5e8, gfx=6e8), pdev=AMD))])
    right(s[0][7], "dec", 1e8, "new engine")
    right(s[0][7], "gfx", 1e8, "engine behind it")
    right(s[1][7], "dec", 5e7, "later")
    right(s[1][7], "gfx", 0, "later")


@test(f"{R}: else one sample is waited")
def _(m):
    one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    new = m.path("proc/20/fdinfo/5")
    s = m.procs(steps=[lambda: m.fd(20, 5, dump("amdgpu", 9, *ns(gfx=5e8), pdev=AMD)),
                       writer(new, dump("amdgpu", 9, *ns(gfx=6e8), pdev=AMD))])
    eq(busy(s[0][9], "gfx"), None, "busy at first sight")
    right(s[1][9], "gfx", 1e8, "after it")


R = "engine/keys missing in one read"


@test(f"{R}: nothing for that interval, then from the old baseline")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8, dec=1e8), pdev=AMD))
    s = m.procs(steps=[writer(f, dump("amdgpu", 7, pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(gfx=7e8, dec=1e8), pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(gfx=8e8, dec=1e8), pdev=AMD))])
    eq(busy(s[0][7], "gfx"), None, "busy without the key")
    # the work of both intervals, over both
    near(busy(s[1][7], "gfx"), 100 * 2e8 / ((s[0][7]["dt"] + s[1][7]["dt"]) * 1e9), 0.5, "when it is back")
    right(s[2][7], "gfx", 1e8, "one later")


@test(f"{R}: a device unplugged and back does not count its whole past as work")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e12), pdev=AMD))
    m.fd(20, 5, dump("amdgpu", 9, pdev=AMD))  # so that every sample has a record
    back = dump("amdgpu", 7, *ns(gfx=5e12 + 1e8), pdev=AMD)
    # hot unplug: no drm- key at all (drm_dev_enter() fails)
    s = m.procs(steps=[writer(f, dump(None, None)), writer(f, back), writer(f, back)])
    check(busy(s[0].get(7, {"engine": {}}), "gfx") is None, "busy while away")
    b = busy(s[1][7], "gfx")
    check(b is None or b < 60, f"busy when it is back: {b}")
    right(s[2][7], "gfx", 0, "one later")


R = "value lower"


@test(f"{R}: the larger stays, no work until it is passed")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=1e9), pdev=I915))
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=4e8), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=9e8), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=1.1e9), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=1.2e9), pdev=I915))])
    right(s[0][7], "render", 0, "lower")
    right(s[1][7], "render", 0, "rising, still lower")
    right(s[2][7], "render", 1e8, "passed")
    right(s[3][7], "render", 1e8, "after")


@test(f"{R}: cycles too; -r shows the larger value")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(1000, 10000))
    steps = [writer(f, text(400, 20000)), writer(f, text(1500, 30000))]
    s = m.procs(steps=steps)
    near(busy(s[0][7], "rcs"), 0, 0.01, "lower")
    near(busy(s[1][7], "rcs"), 5, 0.01, "passed")
    rewrite(f, text(1000, 10000))
    s = m.live("procs", "-r", steps=[None, steps[0], None])
    eq([val(r[0], "engine", "rcs", "cycles") for r in s], [1000] * 3, "raw cycles")


R = "total-cycles lower"


@test(f"{R}: the GPU's clock was reset: both begin anew")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(10**12, 10**13))
    s = m.procs(steps=[writer(f, text(100, 500)), writer(f, text(200, 1000)), writer(f, text(200, 2000))])
    eq(busy(s[0][7], "rcs"), None, "at the reset")
    near(busy(s[1][7], "rcs"), 20, 0.01, "after it")
    near(busy(s[2][7], "rcs"), 0, 0.01, "idle")


@test(f"{R}: though cycles rose meanwhile")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-total-cycles-rcs:\t{t}", f"drm-cycles-rcs:\t{c}", pdev=XE)
    f = one_client(m, "xe", XE, text(1000, 10**13))
    s = m.procs(steps=[writer(f, text(1500, 500)), writer(f, text(1600, 1000))])
    eq(busy(s[0][7], "rcs"), None, "at the reset")
    near(busy(s[1][7], "rcs"), 20, 0.01, "after it")


R = "Dtotal == 0"


@test(f"{R}: no value, not NaN, not 0 %")
def _(m):
    f = one_client(m, "xe", XE, dump("xe", 7, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE))
    s, = m.procs(steps=[writer(f, dump("xe", 7, "drm-cycles-rcs:\t6", "drm-total-cycles-rcs:\t50", pdev=XE))])
    eq(busy(s[7], "rcs"), None, "busy")


R = "capacity"


@test(f"{R}: 1 by default, 0 means 1, before or after the engine's key")
def _(m):
    def text(d):
        return dump("i915", 7, f"drm-engine-a:\t{d} ns", f"drm-engine-b:\t{d} ns", "drm-engine-capacity-b:\t0",
                    f"drm-engine-c:\t{d} ns", "drm-engine-capacity-c:\t4", "drm-engine-capacity-d:\t2",
                    f"drm-engine-d:\t{d} ns", pdev=I915)
    f = one_client(m, text=text(0))
    s, = m.procs(steps=[writer(f, text(2 * 10**8))])
    eq([val(s[7], "engine", e, "capacity") for e in "abcd"], [1, 1, 4, 2], "capacity")
    for e, cap in zip("abcd", (1, 1, 4, 2)):
        right(s[7], e, 2e8, f"busy of {e}", cap)


@test(f"{R}: of cycles too")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-vcs:\t{c}", f"drm-total-cycles-vcs:\t{t}", "drm-engine-capacity-vcs:\t2",
                    pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000))
    s, = m.procs(steps=[writer(f, text(600, 2000))])
    near(busy(s[7], "vcs"), 30, 0.01, "busy")


R = ">100 %"


@test(f"{R}: clamped when printed, of a client and of a device's sum")
def _(m):
    m.device("i915", I915)
    files = [m.fd(p, 5, dump("i915", p, *ns(render=0), pdev=I915)) for p in (10, 20, 30)]

    def step():
        for p, d, f in zip((10, 20, 30), (9e9, 3e8, 3e8), files):
            rewrite(f, dump("i915", p, *ns(render=d), pdev=I915))
    s, = m.procs(steps=[step])
    eq(busy(s[10], "render"), 100.0, "client")
    check(busy(s[20], "render") < 100, "its neighbour")
    for p, f in zip((10, 20, 30), files):
        rewrite(f, dump("i915", p, *ns(render=0), pdev=I915))
    (d,), = m.live(steps=[step])
    eq(busy(d, "render"), 100.0, "device")


@test(f"{R}: the raw delta is kept: the next sample does not inherit it")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=9e9), pdev=I915)), None])
    eq(busy(s[0][7], "render"), 100.0, "over the top")
    right(s[1][7], "render", 0, "idle after it")


R = "dt"


@test(f"{R}: a client's own, by the clock and not by the option")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))

    s, = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=3e8), pdev=I915))], interval=0.3, late={0: 0.7})
    near(s[7]["dt"], 1, 0.001, "dt")
    right(s[7], "render", 3e8)


R = "memory: shared buffers"


@test(f"{R}: a device's use is resident less shared")
def _(m):
    m.device("i915", I915)
    for pid, resident in ((10, 100), (20, 60)):
        m.fd(pid, 5, dump("i915", pid, f"drm-total-system0:\t{resident + 5} KiB", "drm-shared-system0:\t40 KiB",
                          f"drm-resident-system0:\t{resident} KiB", pdev=I915))
    d, = m.json()
    eq(val(d, "memory", "system0", "resident"), (60 + 20) << 10, "resident")
    eq(val(d, "memory", "system0", "shared"), 80 << 10, "shared")
    c, = m.json("cgroups")
    eq(val(c, "memory", "system0", "resident"), (60 + 20) << 10, "resident of the cgroup")
    eq([val(r, "memory", "system0", "resident") for r in m.json("procs")], [100 << 10, 60 << 10], "of the clients")


@test(f"{R}: more shared than resident is 0, not 2^64")
def _(m):
    one_client(m, text=dump("i915", 7, "drm-total-system0:\t9 KiB", "drm-shared-system0:\t9 KiB",
                            "drm-resident-system0:\t4 KiB", pdev=I915))
    d, = m.json()
    eq(val(d, "memory", "system0", "resident"), 0, "resident")


R = "APU"


@test(f"{R}: vram is a carve-out; gtt is added")
def _(m):
    t = os.path.join(TREES, "amdgpu-apu")
    if not os.path.isdir(t):
        raise Skip("no tests/trees/amdgpu-apu")
    r = run(["procs", "-p", "4012", "-H", "-w", "0.02", "--proc", f"{t}/proc", "--sys", f"{t}/sys"])
    eq(r.code, 0, "exit code")
    check(b"1.4G" in r.out.split(), f"1400 MiB of gtt and 5 MiB of vram: {r.out!r}")


R = "drm-total can exceed real use (xe/i915: imported)"


@test(f"{R}: total and resident are both there")
def _(m):
    one_client(m, "xe", XE, dump("xe", 7, "drm-total-gtt:\t2 MiB", "drm-resident-gtt:\t4 KiB", pdev=XE))
    for kind in ("procs", "cgroups", None):
        r, = m.json(*([kind] if kind else []))
        eq((val(r, "memory", "gtt", "total"), val(r, "memory", "gtt", "resident")), (2 << 20, 4096), f"{kind}")


R = "units"


@test(f"{R}: sizes")
def _(m):
    r = decode(m, dump("xe", 1, "drm-total-a:\t5", "drm-total-b:\t5 KiB", "drm-total-c:\t5 MiB", "drm-total-d:\t5 GiB",
                       "drm-total-e:\t5 kB", "drm-total-f:\t0", "drm-total-g:\t5 QiB", "drm-total-h:\t6 KiB"))
    eq([val(r, "memory", x, "total") for x in "abcdefgh"],
       [5, 5 << 10, 5 << 20, 5 << 30, 5 << 10, 0, None, 6 << 10], "total")
    eq(r["skipped"], 1, "skipped")


@test(f"{R}: frequencies")
def _(m):
    r = decode(m, dump("msm", 1, *[f"drm-maxfreq-{e}:\t{v}" for e, v in
                                   (("a", "7"), ("b", "7 Hz"), ("c", "7 KHz"), ("d", "7 MHz"), ("e", "7 GHz"),
                                    ("f", "7 ns"), ("g", "8 Hz"))], "drm-curfreq-a:\t3 MHz"))
    eq([val(r, "engine", x, "maxfreq") for x in "abcdefg"], [7, 7, 7000, 7000000, None, None, 8], "maxfreq")
    eq(val(r, "engine", "a", "curfreq"), 3000000, "curfreq")


@test(f"{R}: times are ns; anything else drops the value and keeps its neighbours")
def _(m):
    r = decode(m, dump("i915", 1, "drm-engine-a:\t5 ns", "drm-engine-b:\t6 us", "drm-engine-c:\t7 KiB",
                       "drm-cycles-d:\t8 ns", "drm-engine-e:\t9 ns"))
    eq([val(r, "engine", x, "busy_ns") for x in "abce"], [5, None, None, 9], "busy_ns")
    eq(val(r, "engine", "d", "cycles"), None, "cycles")


R = "overflow"


@test(f"{R}: value * unit beyond 64 bits is dropped, never wrapped")
def _(m):
    big = 2**64 - 1
    r = decode(m, dump("xe", 1, f"drm-total-a:\t{big}", f"drm-total-b:\t{big} KiB", f"drm-total-c:\t{big + 1}",
                       f"drm-total-d:\t{2**54 - 1} KiB", f"drm-total-e:\t{2**54} KiB", "drm-total-f:\t" + "9" * 60,
                       f"drm-maxfreq-a:\t{2**63} MHz", f"drm-cycles-a:\t{big}", f"drm-total-cycles-a:\t{big + 1}",
                       f"drm-engine-a:\t{big} ns", f"drm-engine-b:\t{big + 1} ns", "drm-total-g:\t4 KiB"))
    eq([val(r, "memory", x, "total") for x in "abcdefg"], [big, None, None, (2**54 - 1) << 10, None, None, 4096],
       "total")
    eq([val(r, "engine", "a", k) for k in ("cycles", "total_cycles", "busy_ns", "maxfreq")], [big, None, big, None],
       "engine a")
    eq(val(r, "engine", "b", "busy_ns"), None, "engine b")
    eq(r["skipped"], 7, "skipped")


@test(f"{R}: a client's id beyond 64 bits is not another client's")
def _(m):
    r = decode(m, dump("xe", 2**64 + 5))
    eq(r["client"], None, "client")
    check(r["skipped"] >= 1, "skipped")


@test(f"{R}: sums of counters near 2^64")
def _(m):
    m.device("i915", I915)
    top = 2**64 - 10**9
    files = {p: m.fd(p, 5, dump("i915", p, *ns(render=0), f"drm-engine-copy:\t{top} ns", pdev=I915)) for p in (10, 20)}

    def step():
        for p, f in files.items():
            rewrite(f, dump("i915", p, *ns(render=5e7), f"drm-engine-copy:\t{top + 5 * 10**7} ns", pdev=I915))
    (d,), = m.live(steps=[step])
    right(d, "copy", 1e8, tol=3)
    right(d, "render", 1e8, tol=3)


R = "short read"


@test(f"{R}: read until the end, in whatever pieces; a last line without its newline is dropped")
def _(m):
    text = raw(dump("i915", 7, *[f"drm-engine-e{i}:\t{i} ns" for i in range(60)], pdev=I915) + "drm-engine-z:\t12")
    p = subprocess.Popen([PROG, "fdinfo", "-", "-o", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(0, len(text), 97):
        p.stdin.write(text[i:i + 97])
        p.stdin.flush()
        time.sleep(0.002)
    out, _ = p.communicate(timeout=60)
    eq(p.returncode, 0, "exit code")
    r, = parse_json(out)
    eq([val(r, "engine", f"e{i}", "busy_ns") for i in range(60)], list(range(60)), "engines")
    check("z" not in r["engine"], "the cut line was used")
    eq(r["skipped"], 0, "skipped")


@test(f"{R}: a live file that is cut within a line keeps its client")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9, copy=123456789), pdev=I915))
    whole = dump("i915", 7, *ns(render=1.1e9, copy=123456789), pdev=I915)
    cut = whole[:whole.index("123456789") + 4]
    s = m.procs(steps=[writer(f, cut), writer(f, whole)])
    right(s[0][7], "render", 1e8, "render")
    eq(busy(s[0][7], "copy"), None, "copy, whose line was cut")
    right(s[1][7], "copy", 0, "copy, whole again")


R = "file size"


@test(f"{R}: lock lines, many pages of them, before the drm- keys")
def _(m):
    locks = [f"lock:\t{i}: POSIX  ADVISORY  WRITE {i} fd:01:{i} 0 EOF" for i in range(1, 500)]
    text = "\n".join(head(None, None) + locks + ["drm-driver:\ti915", "drm-client-id:\t7", *ns(render=5)]) + "\n"
    check(len(text) > 16384, "the test's own text")
    one_client(m, text=text)
    r, = m.json("procs", "-r")
    eq((r["client"], val(r, "engine", "render", "busy_ns")), (7, 5), "client, busy_ns")
    eq(decode(m, text)["skipped"], 0, "skipped")


@test(f"{R}: fdinfo of other files is never opened")
def _(m):
    one_client(m)
    bait = dump("i915", 666, *ns(render=5), pdev=I915)
    for n, link in ((20, "anon_inode:[eventpoll]"), (21, "anon_inode:inotify"), (22, "/dev/null"), (23, "socket:[5]"),
                    (24, "/dmabuf:"), (25, "/dev/dri"), (26, "/dev/nvidia0x"), (27, "/home/u/dev/dri/renderD128")):
        m.fd(10, n, bait, link)
    # opening this one would wait for ever
    os.symlink("anon_inode:[eventfd]", m.path("proc/10/fd/30"))
    os.mkfifo(m.path("proc/10/fdinfo/30"))
    eq([r["client"] for r in m.json("procs", timeout=60)], [7], "clients")


R = "is it DRM?"


@test(f"{R}: by the number of the node behind the link, whatever its name")
def _(m):
    m.device("i915", I915)
    m.device("intel_vpu", "0000:00:0b.0", card=None, render=None, accel=0)
    odd = make_node(m, "no-longer-a-gpu.txt", 226, 128)
    npu = make_node(m, "npu", 261, 0)
    m.fd(10, 5, dump("i915", 7, pdev=I915), odd)
    m.fd(11, 5, dump("intel_vpu", 8, pdev="0000:00:0b.0"), npu)
    eq([(r["dev"], r["client"]) for r in m.json("procs")], [("card0", 7), ("accel0", 8)], "clients")


@test(f"{R}: a name that lies, a block device of that number, a plain file")
def _(m):
    m.device("i915", I915)
    os.makedirs(m.path("dev/dri"))
    null = make_node(m, "dev/dri/renderD128", 1, 3)
    block = make_node(m, "dev/dri/card0", 226, 0, stat.S_IFBLK)
    plain = m.write("dev/dri/renderD129", "")
    for n, target in enumerate((null, block, plain)):
        m.fd(10, n, dump("i915", 660 + n, pdev=I915), target)
    m.fd(10, 9, dump("i915", 7, pdev=I915))
    eq([r["client"] for r in m.json("procs")], [7], "clients")


@test(f"{R}: major 261, found without any DRM class")
def _(m):
    shutil.rmtree(m.path("sys/class/drm"))
    m.device("intel_vpu", "0000:00:0b.0", card=None, render=None, accel=0)
    m.fd(10, 5, dump("intel_vpu", 8, "drm-total-memory:\t8 MiB", pdev="0000:00:0b.0"), "/dev/accel/accel0")
    r, = m.json("procs")
    eq((r["dev"], r["client"], val(r, "memory", "memory", "total")), ("accel0", 8, 8 << 20), "client")


R = "O_PATH fds, dma-buf"


@test(f"{R}: exp_name drm is no client; only keys that begin with drm-driver: count")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.fd(10, 4, "pos:\t0\nflags:\t02\nsize:\t16384\ncount:\t10\nexp_name:\tdrm\n", "/dmabuf:")
    m.fd(10, 5, "pos:\t0\nflags:\t012100000\nmnt_id:\t26\n xdrm-driver:\ti915\nnot-drm-driver:\ti915\n"
                "drm-client-id:\t5\nexp_name:\tdrm-driver:\n")
    eq(m.json("procs"), [], "clients")
    r = run(["fdinfo", m.path("proc/10/fdinfo/5"), "-o", "json"])
    eq((r.code, r.out), (1, b""), "as a dump")


@test(f"{R}: a live O_PATH descriptor of a real node")
def _(m):
    as_root()
    m.device("i915", I915)
    node = make_node(m, "node", 226, 128)
    held = os.open(node, os.O_PATH)
    try:
        for cmd in ([], ["procs"]):
            r = run(cmd + ["-w", "0.02", "-o", "json", "--sys", m.sys])
            # 4: no client, and some process of this machine may not be read even by root
            check(r.code in ((0, 4) if cmd else (0,)), f"exit code ({r!r})")
            for rec in parse_json(r.out):
                check(os.getpid() not in rec.get("pids", []), f"a client: {rec}")
    finally:
        os.close(held)


R = "DRM fd without drm-driver"


@test(f"{R}: the device is there, without statistics")
def _(m):
    m.device("nouveau", XE)
    m.fd(10, 5, dump(None, None))
    d, = m.json()
    eq((d["driver"], d["engine"], d["memory"]), ("nouveau", {}, {}), "device")
    check(d["clients"] in (None, 0, 1), f"clients {d['clients']}")
    r = m.run("procs", "-w", "0.02", "-o", "json")
    check(all(not x["engine"] for x in parse_json(r.out)), "engines out of nothing")


R = "pid namespaces"


def in_namespace(m, script, *, hidepid=None):
    """Runs script in a pid namespace of its own, whose /proc is $P; hidepid before 5.8 was the whole
    machine's, there it is confined to this namespace."""
    as_root()
    if not shutil.which("unshare") or not shutil.which("setpriv"):
        raise Skip("the package util-linux is missing")
    p = m.path("nsproc")
    os.makedirs(p, exist_ok=True)
    opts = f"-o hidepid={hidepid}" if hidepid else ""
    full = f"mount -t proc {opts} proc {p} || exit 77; {script}"
    env = dict(os.environ, P=p, PROG=PROG, SYS=m.sys)
    r = subprocess.run(["unshare", "-m", "-p", "-f", "sh", "-c", full], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, env=env, timeout=60)
    if r.returncode == 77 or b"unshare" in r.stderr:
        raise Skip(f"no namespace: {r.stderr[-80:]!r}")
    return r


@test(f"{R}: ids as seen there; what is outside does not exist")
def _(m):
    m.device("i915", I915)
    r = in_namespace(m, '"$PROG" -w 0.02 -o json --proc "$P" --sys "$SYS"')
    d, = parse_json(r.stdout)
    eq((r.returncode, d["clients"], d["unreadable"]), (0, 0, 0), "exit, clients, unreadable")


@test(f"{R}: the device's total is incomplete: flagged")
def _(m):
    m.device("i915", I915)
    # whether a namespace is the first one shows in the inode of its file (PROC_PID_INIT_INO)
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        raise Skip("is in a pid namespace itself")
    r = in_namespace(m, '"$PROG" -v -w 0.02 -o json --proc "$P" --sys "$SYS"')
    out = m.run("-v", "-w", "0.02", "-o", "json")
    d, = parse_json(r.stdout)
    o, = parse_json(out.out)
    same = all(d[k] == o[k] for k in d if k not in ("time", "dt")) and r.stderr == out.err
    check(not same, f"nothing tells the namespace: stderr {r.stderr!r}")


R = "hidepid=1/2, non-root"


@test(f"{R}: hidepid=1: counted, not fatal; all denied is exit 4")
def _(m):
    m.device("i915", I915)
    as_nobody = f'setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$PROG"'
    r = in_namespace(m, f'sleep 9 & {as_nobody} -w 0.02 -o json --proc "$P" --sys "$SYS"', hidepid=1)
    eq(r.returncode, 0, f"exit code ({r.stderr!r})")
    d, = parse_json(r.stdout)
    check(d["unreadable"] >= 2, f"unreadable {d['unreadable']}")
    r = in_namespace(m, f'sleep 9 & {as_nobody} procs -w 0.02 -o json --proc "$P" --sys "$SYS"', hidepid=1)
    eq((r.returncode, r.stdout), (4, b""), "procs")
    check(r.stderr.startswith(b"gpustat: "), f"message {r.stderr!r}")


@test(f"{R}: hidepid=2: what cannot be seen is no error")
def _(m):
    m.device("i915", I915)
    r = in_namespace(m, f'sleep 9 & setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$PROG" -w 0.02 -o json '
                        '--proc "$P" --sys "$SYS"', hidepid=2)
    eq(r.returncode, 0, f"exit code ({r.stderr!r})")
    eq(len(parse_json(r.stdout)), 1, "devices")


@test(f"{R}: refused processes are counted and the others stay right")
def _(m):
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    for pid in (20, 30):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        for d in ("fd", "fdinfo"):
            os.chmod(m.path(f"proc/{pid}/{d}"), 0)
    d, = m.json(nobody=True)
    eq((d["clients"], d["unreadable"]), (1, 2), "clients, unreadable")
    eq([r["client"] for r in m.json("procs", nobody=True)], [7], "clients of procs")
    for n in (r["unreadable"] for r in m.json("list", nobody=True)):
        eq(n, 2, "unreadable of list")


@test(f"{R}: single files that are refused")
def _(m):
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    os.chmod(m.fd(20, 5, dump("i915", 8, pdev=I915)), 0)
    d, = m.json(nobody=True)
    eq((d["clients"], d["unreadable"]), (1, 1), "clients, unreadable")


@test(f"{R}: where fd/ is refused, fdinfo/ tells (CAP_SYS_PTRACE alone)")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("xe", 7, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE), "/dev/dri/renderD129")
    m.fd(10, 6, dump(None, None, "eventfd-count:\t0"), "anon_inode:[eventfd]")
    m.fd(20, 6, dump("i915", 9, pdev=I915))
    os.chmod(m.path("proc/10/fd"), 0)
    recs = m.json("procs", nobody=True)
    eq([(r["dev"], r["client"], r["pid"]) for r in recs], [("card0", 9, 20), ("card1", 7, 10)], "clients")
    eq(m.json(nobody=True)[0]["unreadable"], 0, "unreadable")


R = "process vanishes mid scan"


@test(f"{R}: any file of it may be missing")
def _(m):
    m.device("i915", I915)
    text = dump("i915", 7, *ns(render=5), pdev=I915)
    m.fd(10, 5, text)
    for pid, missing in ((21, "stat"), (22, "comm"), (23, "cgroup"), (24, "fdinfo/5"), (25, "fd/5")):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        os.unlink(m.path(f"proc/{pid}/{missing}"))
    for pid, missing in ((31, "fd"), (32, "fdinfo")):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        shutil.rmtree(m.path(f"proc/{pid}/{missing}"))
    os.makedirs(m.path("proc/33"))
    m.write("proc/34", "a file, not a folder")
    for odd in ("99999999999999999999", "007x", "4294967306"):
        os.makedirs(m.path(f"proc/{odd}/fd"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/x"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/4294967301"))
    os.symlink("nowhere", m.path("proc/35"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/6"))
    recs = {r["client"]: r for r in m.json("procs")}
    check(7 in recs and not {24, 25, 32} & set(recs), f"clients {sorted(recs)}")
    for c in (22, 23):
        check(c in recs, f"client {c} is known by its fdinfo")
    eq((recs[22]["comm"], recs[23]["cgroup"]), (None, None), "what is unknown")
    m.json()
    m.json("cgroups")


@test(f"{R}: between two reads: the others stay right, what was counted stays")
def _(m):
    m.device("i915", I915)
    files = {p: m.fd(p, 5, dump("i915", p, *ns(render=10**9), pdev=I915)) for p in (10, 20)}

    def step():
        m.gone(20)
        rewrite(files[10], dump("i915", 10, *ns(render=1.05e9), pdev=I915))
    s = m.live("-r", steps=[None, step, None])
    sums = [val(r[0], "engine", "render", "busy_ns") for r in s]
    check(sums[0] <= sums[1] <= sums[2], f"the device's counter fell: {sums}")
    eq([r[0]["clients"] for r in s], [2, 1, 1], "clients")


@test(f"{R}: a dying client costs its neighbours nothing")
def _(m):
    m.device("i915", I915)
    files = {p: m.fd(p, 5, dump("i915", p, *ns(render=10**9), pdev=I915)) for p in (10, 20)}

    def step():
        m.gone(20)
        rewrite(files[10], dump("i915", 10, *ns(render=1.05e9), pdev=I915))
    s, = m.procs(steps=[step])
    right(s[10], "render", 5e7)
    check(20 not in s or busy(s[20], "render") is None, "a rate of a client that is gone")


R = "comm"


@test(f"{R}: any byte; stat up to the last ')'")
def _(m):
    m.device("i915", I915)
    names = [b"two words", b"a) S 1 (b", b") R 1 1 1 1 1 1", b"(((", b"new\nline", b"\xff\xfe\xc3", b"", b"tab\there",
             b"\x1b[31m", b'q"u\\o', b" lead ", "caf\u00e9 \u2615".encode(), b"\xed\xa0\x80", b"\xe2\x82", b"\x7f"]
    for i, n in enumerate(names):
        m.process(100 + i, n, 5000 - i)
        m.fd(100 + i, 5, dump("i915", 100 + i, pdev=I915))
        # the youngest holder; if the start time were misread, it would own the client
        m.process(300 + i, "late", 9000)
        m.fd(300 + i, 5, dump("i915", 100 + i, pdev=I915))
    for r, n in zip(m.json("procs"), names):
        eq((r["pid"], r["comm"]), (r["client"], as_json(n)), f"owner of client {r['client']}")


R = "threads"


@test(f"{R}: the thread group only")
def _(m):
    one_client(m, threads=2)
    for tid in (10, 11):
        m.write(f"proc/10/task/{tid}/fdinfo/5", dump("i915", 7, pdev=I915))
        m.write(f"proc/10/task/{tid}/fdinfo/6", dump("i915", 666, pdev=I915))
        os.makedirs(m.path(f"proc/10/task/{tid}/fd"))
        for n in (5, 6):
            os.symlink("/dev/dri/renderD128", m.path(f"proc/10/task/{tid}/fd/{n}"))
    r, = m.json("procs")
    eq((r["client"], r["pids"]), (7, [10]), "client, pids")


R = "minors"


@test(f"{R}: the node's type is not told by its number")
def _(m):
    m.device("i915", I915, card=64, render=192, card_minor=200, render_minor=7)
    m.device("xe", XE, card=5, render=193, card_minor=128, render_minor=300)
    m.fd(10, 5, dump("i915", 7, pdev=I915), make_node(m, "a", 226, 200))
    m.fd(11, 5, dump("i915", 8, pdev=I915), make_node(m, "b", 226, 7))
    m.fd(12, 5, dump("xe", 9, pdev=XE), make_node(m, "c", 226, 128))
    m.fd(13, 5, dump("xe", 10, pdev=XE), "/dev/dri/renderD193")
    got = sorted((r["client"], r["dev"], r["driver"]) for r in m.json("procs"))
    eq(got, [(7, "card64", "i915"), (8, "card64", "i915"), (9, "card5", "xe"), (10, "card5", "xe")], "clients")


R = "card vs render of the same GPU"


@test(f"{R}: one device, one client")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("xe", 7, *ns(x=5), pdev=XE), "/dev/dri/card1")
    m.fd(10, 6, dump("xe", 7, *ns(x=5), pdev=XE), "/dev/dri/renderD129")
    m.fd(11, 6, dump("xe", 8, *ns(x=5), pdev=XE), "/dev/dri/renderD129")
    eq([(r["dev"], r["clients"]) for r in m.json()], [("card0", 0), ("card1", 2)], "devices")


@test(f"{R}: drm-pdev does not decide")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("i915", 7, pdev=XE))
    r, = m.json("procs")
    eq((r["dev"], r["pdev"]), ("card0", I915), "device")


@test(f"{R}: a descriptor makes a device known even where /sys shows none")
def _(m):
    m.fd(10, 5, dump("pvr", 7, *ns(x=5)))
    r, = m.json("procs")
    eq((r["dev"], r["driver"], r["client"]), ("226:128", "pvr", 7), "client")
    d, = m.json()
    eq((d["dev"], d["clients"]), ("226:128", 1), "device")


R = "kfd compute (ROCm)"


KFD = "sys/devices/virtual/kfd/kfd"


def kfd_process(m, pid, **files):
    """A process that computes on XE, of which kfd tells these files."""
    m.write(f"{KFD}/topology/nodes/1/gpu_id", "9876\n")
    m.write(f"{KFD}/topology/nodes/1/properties", "cpu_cores_count 0\nlocation_id 768\ndomain 0\nvendor_id 4098\n")
    for name, text in files.items():
        m.write(f"{KFD}/proc/{pid}/{name}".replace("stats_9876_", "stats_9876/"), text + "\n")
    m.process(pid, "python3")
    m.link(KFD, "sys/class/kfd/kfd")


@test(f"{R}: the process and its video memory come from /sys/class/kfd")
def _(m):
    m.device("amdgpu", XE)
    kfd_process(m, 5001, pasid="32770", vram_9876="1073741824", sdma_9876="77", stats_9876_cu_occupancy="12")
    os.symlink("/dev/kfd", m.path("proc/5001/fd/4"))
    recs = m.json("procs")
    check(any(5001 in r["pids"] and "1073741824" in json.dumps(r) for r in recs), f"no such record: {recs}")


@test(f"{R}: what a sleeping device does not tell is not what it told while awake")
def _(m):
    dev = m.device("amdgpu", XE)
    kfd_process(m, 5001, vram_9876="1073741824", stats_9876_cu_occupancy="12")
    s = m.live("procs", steps=[None, writer(m.path(dev, "power/runtime_status"), "suspended\n"), None])
    eq([r[0]["other"] for r in s], [{"cu_occupancy": "12"}, {}, {}], "other")


@test(f"{R}: a GPU that comes later has its processes, too")
def _(m):
    m.device("i915", I915)

    def come():
        m.device("amdgpu", XE, card=1, render=129)
        kfd_process(m, 5001, vram_9876="1073741824")
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    s = m.live("procs", "--sweep", "all", steps=[None, come, None, None])
    eq([[r["pid"] for r in x] for x in (s[0], s[3])], [[10], [10, 5001]], "processes")


R = "suspended device"

# what may be looked at while a device sleeps: files that the kernel answers from its own memory
QUIET = {"uevent", "dev", "runtime_status", "runtime_active_time", "runtime_suspended_time", "power_state", "control",
         "vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device", "boot_vga", "numa_node",
         "name", "label", "product_name", "product_number", "unique_id", "profiling", "instance", "capabilities",
         "enable", "type"}


def quiet(path):
    name = os.path.basename(path)
    return (name in QUIET or name.startswith("mem_info_") or re.fullmatch(r"(temp|fan|in|power|energy|freq)\d+_label",
                                                                          name))


@test(f"{R}: what would wake it is not opened (files that never answer)")
def _(m):
    state = "suspended"
    xe = m.device("xe", XE, state=state)
    amd = m.device("amdgpu", AMD, card=1, render=129, state=state, files={"mem_info_vram_used": "5\n"})
    i915 = m.device("i915", I915, card=2, render=130, state=state)
    baits = [f"{xe}/tile0/gt0/freq0/{f}" for f in ("act_freq", "cur_freq", "max_freq", "rp0_freq")]
    baits += [f"{xe}/tile0/gt0/gtidle/idle_residency_ms", f"{xe}/tile0/gt0/freq0/throttle/reasons",
              f"{xe}/tile0/gt0/freq0/throttle/status", f"{xe}/current_link_speed", f"{xe}/current_link_width"]
    baits += [f"{amd}/{f}" for f in ("gpu_busy_percent", "mem_busy_percent", "vcn_busy_percent", "pp_dpm_sclk",
                                     "pp_dpm_mclk", "gpu_metrics", "pcie_bw", "current_link_speed")]
    baits += [f"{i915}/drm/card2/gt/gt0/{f}" for f in ("rps_act_freq_mhz", "rc6_residency_ms",
                                                       "throttle_reason_status")]
    baits += [f"{i915}/drm/card2/{f}" for f in ("gt_act_freq_mhz", "gt_cur_freq_mhz", "power/rc6_residency_ms")]
    for n, d in enumerate((xe, amd, i915)):
        m.write(f"{d}/hwmon/hwmon{n}/name", "x\n")
        m.link(d, f"{d}/hwmon/hwmon{n}/device")
        m.link(f"{d}/hwmon/hwmon{n}", f"sys/class/hwmon/hwmon{n}")
        baits += [f"{d}/hwmon/hwmon{n}/{f}" for f in ("temp1_input", "temp2_input", "power1_average", "power1_input",
                                                      "energy1_input", "fan1_input", "in0_input", "freq1_input")]
    m.process(10)
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/5"))
    baits.append("proc/10/fdinfo/5")
    for b in baits:
        os.makedirs(os.path.dirname(m.path(b)), exist_ok=True)
        os.mkfifo(m.path(b))
    for args in ([], ["list"], ["procs"], ["-r"], ["list", "-v"]):
        # that process can be read, there is only nothing that may be read of it
        r = m.run(*args, "-o", "json", *([] if "list" in args else ["-w", "0.05"]), timeout=60)
        eq(r.code, 0, f"exit code of {args} ({r!r})")
        for d in parse_json(r.out):
            if d["kind"] == "device":
                eq(d["state"], "suspended", "state")
                for k in ("freq", "temp", "power", "energy", "fan", "volt"):
                    check(not any(x is not None for v in d[k].values() for x in
                                  (v.values() if isinstance(v, dict) else [v])), f"{k} of {d['dev']}: {d[k]}")


@test(f"{R}: what would wake it is not opened (strace)")
def _(m):
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    for tree, asleep in (("xe-suspended", "0000:03:00.0"), ("mixed", "0000:01:00.0")):
        t = os.path.join(TREES, tree)
        log = m.path(f"{tree}.strace")
        for args in (["0.1", "2"], ["list"], ["procs", "-w", "0.05"]):
            r = subprocess.run(["strace", "-f", "-y", "-e", "trace=openat,open,pread64,read", "-o", log, PROG, *args,
                                "-o", "json", "--proc", f"{t}/proc", "--sys", f"{t}/sys"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=60)
            if r.returncode not in (0, 3) and b"ptrace" in r.stderr.lower() + b"":
                raise Skip(f"strace: {r.stderr[-80:]!r}")
            with open(log, encoding="utf-8", errors="replace") as f:
                for line in f:
                    for path in re.findall(r'[<"]([^">]*)[">]', line):
                        if "O_DIRECTORY" in line or "ENOENT" in line:
                            continue
                        if asleep in path and not os.path.isdir(path) and not quiet(path) and \
                           os.path.isfile(path):
                            raise AssertionError(f"{tree} {args}: {line.strip()[-160:]}")
                        if tree == "xe-suspended" and re.search(r"3511/fdinfo/(4|5|6|7|8|9)", path) and \
                           "drm-driver" in open(path).read():
                            raise AssertionError(f"{tree} {args}: {line.strip()[-160:]}")


@test(f"{R}: its fdinfo is read again when it wakes")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000))
    status = m.path("sys/devices/pci0000:00", XE, "power/runtime_status")

    def sleep():
        rewrite(status, "suspended\n")
        rewrite(f, text(500, 2000))

    def wake():
        rewrite(status, "active\n")
        rewrite(f, text(600, 3000))
    s = m.procs(steps=[sleep, wake, writer(f, text(900, 4000))])
    eq(busy(s[0].get(7, {"engine": {}}), "rcs"), None, "asleep: nothing was read")
    near(busy(s[2][7], "rcs"), 30, 0.01, "awake")


R = "numbers printed with locale"


@test(f"{R}: decimal only")
def _(m):
    r = decode(m, dump("i915", 1, "drm-engine-a:\t1,234 ns", "drm-engine-b:\t1.5 ns", "drm-engine-c:\t0x10 ns",
                       "drm-engine-d:\t1e3 ns", "drm-engine-e:\t+5 ns", "drm-engine-f:\t\u0665 ns",
                       "drm-engine-g:\t07 ns"))
    eq([val(r, "engine", e, "busy_ns") for e in "abcdefg"], [None] * 6 + [7], "busy_ns")
    eq(r["skipped"], 6, "skipped")


@test(f"{R}: and none when printing")
def _(m):
    one_client(m)
    for loc in ("de_DE.UTF-8", "ar_EG.UTF-8"):
        env = dict(os.environ, LC_ALL=loc, LANG=loc, LC_NUMERIC=loc)
        recs = m.json("procs", env=env)
        check(isinstance(recs[0]["dt"], float), f"dt {recs[0]['dt']!r}")
        rows = parse_csv(m.run("-w", "0.02", "-o", "csv", env=env).out)
        check(all("," not in r["value"] for r in rows), "a comma in a number")


R = "drm-pdev absent"


@test(f"{R}: platform and usb devices")
def _(m):
    m.device("panfrost", card=1)
    m.device("rockchip-drm", card=0, render=None)
    m.fd(10, 5, dump("panfrost", 3, "drm-maxfreq-fragment:\t799999987 Hz", "drm-total-memory:\t8 MiB"))
    r, = m.json("procs")
    eq((r["dev"], r["driver"], r["pdev"], r["client"]), ("card1", "panfrost", None, 3), "client")
    eq([(d["dev"], d["pdev"]) for d in m.json()], [("card0", None), ("card1", None)], "devices")


R = "Utilisation order to use"


@test(f"{R}: cycles against total cycles before ns")
def _(m):
    def text(c, t, n):
        return dump("xe", 7, f"drm-engine-rcs:\t{n} ns", f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}",
                    pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000, 0))
    s, = m.procs(steps=[writer(f, text(250, 2000, 4 * 10**8))])
    near(busy(s[7], "rcs"), 25, 0.01, "busy")


@test(f"{R}: ns is busy; cycles give util and the mean clock")
def _(m):
    def text(n, c):
        return dump("msm", 7, f"drm-engine-gpu:\t{n} ns", f"drm-cycles-gpu:\t{c}", "drm-maxfreq-gpu:\t800 MHz")
    f = one_client(m, "msm", None, text(0, 0))
    s, = m.procs(steps=[writer(f, text(2 * 10**8, 10**8))])
    right(s[7], "gpu", 2e8)
    near(val(s[7], "engine", "gpu", "util"), 100 * 1e8 / (8e8 * s[7]["dt"]), 0.2, "util")
    near(val(s[7], "engine", "gpu", "freq"), 5e8, 2e6, "freq")
    (d,), = m.live(steps=[writer(f, text(4 * 10**8, 2 * 10**8))])
    near(val(d, "engine", "gpu", "freq"), 5e8, 2e6, "freq of the device")


@test(f"{R}: cycles against maxfreq where there is nothing else")
def _(m):
    def text(c):
        return dump("panthor", 7, f"drm-cycles-panthor:\t{c}", "drm-maxfreq-panthor:\t1000 MHz")
    f = one_client(m, "panthor", None, text(0))
    s, = m.procs(steps=[writer(f, text(10**8))])
    near(busy(s[7], "panthor"), 100 * 1e8 / (1e9 * s[7]["dt"]), 0.2, "busy")


@test("absent memory keys: 0 where the driver prints them only when needed, and the old number goes")
def _(m):
    def text(*lines):
        return dump("panfrost", 7, "drm-total-memory:\t8 MiB", "drm-shared-memory:\t0", *lines)
    f = one_client(m, "panfrost", None, text("drm-active-memory:\t4 MiB", "drm-resident-memory:\t6 MiB"))
    s = m.procs(steps=[None, writer(f, text())])
    eq(s[0][7]["memory"]["memory"], {"total": 8 << 20, "shared": 0, "resident": 6 << 20, "purgeable": 0,
                                     "active": 4 << 20}, "before")
    eq(s[1][7]["memory"]["memory"], {"total": 8 << 20, "shared": 0, "resident": 0, "purgeable": 0, "active": 0},
       "after")


@test("drm-memory-X and drm-resident-X are one number")
def _(m):
    one_client(m, "amdgpu", XE, dump("amdgpu", 7, "drm-memory-vram:\t8 KiB", "drm-total-vram:\t9 KiB",
                                     "drm-resident-vram:\t8 KiB", "drm-memory-gtt: \t4 KiB", pdev=XE))
    r, = m.json("procs")
    eq((val(r, "memory", "vram", "resident"), val(r, "memory", "gtt", "resident")), (8192, 4096), "resident")
    d, = m.json()
    eq((val(d, "memory", "vram", "resident"), val(d, "memory", "gtt", "resident")), (8192, 4096), "of the device")


# --- who is looked at in a sample, and who is not ---------------------------------------------------------

R = "no walk in each sample"


def crowd(m, n=60):
    """More processes than the sweep of one sample comes round."""
    for pid in range(1000, 1000 + n):
        m.process(pid)


@test(f"{R}: a client that is passed on goes on, though nothing told of who took it")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915), comm="sender")
    crowd(m)

    def passed():
        m.process(20, "taker", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        m.close(10, 5)
    s = m.procs("--sweep", "0", steps=[writer(f, dump("i915", 7, *ns(render=1.05e9), pdev=I915)), passed, None])
    right(s[1][7], "render", 5e7, "when passed")
    eq((s[1][7]["pid"], s[1][7]["pids"]), (20, [20]), "holder")
    right(s[2][7], "render", 0, "after")


@test(f"{R}: a child inherits a client and outlives its parent")
def _(m):
    one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915), comm="parent")
    crowd(m)

    def forked():
        m.process(2000, "child", 2000)
        m.fd(2000, 5, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        m.gone(10)
    s = m.procs("--sweep", "0", steps=[None, forked, None])
    right(s[1][7], "render", 1e8, "when it was left alone")
    eq((s[1][7]["pids"], s[2][7]["pids"]), ([2000], [2000]), "holders")


@test(f"{R}: a further holder's number stands for another client, then for a file")
def _(m):
    one_client(m)
    m.process(20, "second", 2000)
    f = m.fd(20, 3, dump("i915", 7, *ns(render=1000), pdev=I915))

    def closed():
        os.unlink(m.path("proc/20/fd/3"))
        os.symlink("/tmp/file", m.path("proc/20/fd/3"))
        rewrite(f, "pos:\t0\nflags:\t02\n")
    s = m.procs(steps=[None, writer(f, dump("i915", 8, *ns(render=5), pdev=I915)), closed])
    eq([{c: r["pids"] for c, r in x.items()} for x in s],
       [{7: [10, 20]}, {7: [10], 8: [20]}, {7: [10]}], "clients and their holders")


@test(f"{R}: the number that a client is read through stands for a file, and another holder is left")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915))
    m.process(20, "second", 2000)
    other = m.fd(20, 3, dump("i915", 7, *ns(render=10**9), pdev=I915))

    def closed():
        rewrite(other, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        os.unlink(m.path("proc/10/fd/5"))
        os.symlink("/tmp/file", m.path("proc/10/fd/5"))
        rewrite(f, "pos:\t0\nflags:\t02\n")
    s = m.procs("--sweep", "80", steps=[None, closed, None])
    right(s[1][7], "render", 1e8, "through the other one")
    eq((s[1][7]["pids"], s[2][7]["pids"]), ([20], [20]), "holders")


@test(f"{R}: who has NVIDIA's node no more is gone with the next sample")
def _(m):
    m.device("nvidia", XE, render=None, card=None)
    crowd(m)
    m.fd(10, 3, None, "/dev/nvidia0")
    m.fd(20, 3, None, "/dev/nvidia0")
    s = m.live("--sweep", "0", steps=[None, lambda: os.unlink(m.path("proc/10/fd/3")), None])
    eq([[r["clients"] for r in x] for x in s], [[2], [1], [1]], "clients")


@test(f"{R}: a device wakes up: what may be read now is")
def _(m):
    m.device("xe", XE, state="suspended")
    crowd(m)
    m.fd(10, 5, dump("xe", 7, pdev=XE))
    state = m.path(f"sys/devices/pci0000:00/{XE}/power/runtime_status")
    s = m.live("--sweep", "0", steps=[None, lambda: rewrite(state, "active\n"), None])
    eq([[r["clients"] for r in x] for x in s], [[None], [1], [1]], "clients")


@test(f"{R}: nodes that come and go are a notice, for which /sys is looked at")
def _(m):
    m.device("i915", I915)
    nodes = m.path("proc/1/root/dev/dri")
    os.makedirs(nodes)
    crowd(m)

    def plugged():
        m.device("xe", XE, card=1, render=129)
        m.write("proc/1/root/dev/dri/card1", "")

    def pulled():
        os.unlink(m.path("sys/class/drm/card1"))
        os.unlink(m.path("sys/class/drm/renderD129"))
        os.unlink(f"{nodes}/card1")
    s = m.live("--sweep", "0", steps=[None, plugged, pulled, None])
    eq([[r["dev"] for r in x] for x in s], [["card0"], ["card0", "card1"], ["card0"], ["card0"]], "devices")


@test(f"{R}: fewer descriptors than clients, sample after sample")
def _(m):
    m.device("i915", I915)
    m.process(10)
    for c in range(3, 203):
        m.fd(10, c, dump("i915", c, *ns(render=0), pdev=I915))
    crowd(m)
    for limit in (16, 24, 60):
        p = subprocess.run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", PROG, "0.1", "4", "-o", "json", *m.roots()],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        eq((p.returncode, p.stderr), (0, b""), "exit code, messages")
        eq([r["clients"] for r in parse_json(p.stdout)], [200] * 4, f"clients with {limit} descriptors")


@test(f"{R}: a text that says nothing new, goes back, is cut, is another client's")
def _(m):
    def text(render, client=7, name="one"):
        return dump("i915", client, "drm-total-system0:\t4 KiB", "drm-shared-system0:\t0", *ns(render=render), pdev=I915, name=name)
    whole = text(1.1e9)
    f = one_client(m, text=text(10**9))
    p = subprocess.Popen([PROG, "procs", "--on-stdin", "--sweep", "0", "-o", "json", *m.roots()],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def sample(new=None):
        if new:
            rewrite(f, new)
        time.sleep(0.1)
        p.stdin.write(b"\n")
        p.stdin.flush()
        return strict(p.stdout.readline())

    def goes_on(r, delta, what):
        right(r, "render", delta, what)
        eq((r["client"], val(r, "memory", "system0", "total")), (7, 4096), what)
    try:
        goes_on(sample(), 0, "nothing since the start")
        goes_on(sample(), 0, "the same text")
        goes_on(sample(text(1.05e9)), 5e7, "it works")
        goes_on(sample(), 0, "the same again")
        goes_on(sample(), 0, "and again")
        goes_on(sample(text(1.02e9)), 0, "it went back")
        goes_on(sample(), 0, "and stays there")
        goes_on(sample(whole), 5e7, "from the largest on")
        for what in ("cut", "still cut"):
            r = sample(whole[:whole.index(" ns")])
            eq((busy(r, "render"), val(r, "memory", "system0", "total")), (None, 4096), what)
        sample(whole)
        goes_on(sample(text(1.15e9)), 5e7, "whole again")
        eq(sample(text(1.15e9, name="two"))["name"], "two", "another name, all else the same")
        r = sample(text(1.15e9, client=8))
        eq((r["client"], busy(r, "render"), r["name"]), (8, None, "one"), "another client at the same number")
        right(sample(), "render", 0, "the same text, of that one")
        r = sample(text(1.15e9))
        eq((r["client"], busy(r, "render")), (7, None), "the first number again: a new client")
    finally:
        p.stdin.close()
        p.stdout.close()
        p.wait()
    eq(p.returncode, 0, "exit code")


@test(f"{R}: --sweep N, 0 or all")
def _(m):
    one_client(m)
    for good in ("0", "1", "80", "4000000000", "all"):
        eq(m.run("--sweep", good, "0.05", "2").code, 0, f"--sweep {good}")
    for bad in ("", "-1", "some", "1.5", "4294967295"):
        eq(m.run("--sweep", bad, "0.05", "2").code, 2, f"--sweep {bad}")


# --- mistakes that other monitors make ------------------------------------------------------------------

@test("IGT: a read error is taken for a size")
def _(m):
    one_client(m)
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/6"))
    os.makedirs(m.path("proc/10/fdinfo/6"))  # reads as EISDIR
    m.fd(10, 7, "")
    eq([r["client"] for r in m.json("procs")], [7], "clients")


@test("IGT: the last byte is taken for a newline")
def _(m):
    r = decode(m, dump("i915", 1, *ns(a=5)) + "drm-engine-b:\t1234")
    eq(list(r["engine"]), ["a"], "engines")


@test("IGT: enc matches enc_1")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, "drm-engine-enc_1:\t500 ns", "drm-engine-enc:\t7 ns", pdev=AMD))
    r, = m.json("procs", "-r")
    eq((val(r, "engine", "enc", "busy_ns"), val(r, "engine", "enc_1", "busy_ns")), (7, 500), "busy_ns")
    s, = m.procs(steps=[writer(f, dump("amdgpu", 7, "drm-engine-enc:\t100000007 ns", "drm-engine-enc_1:\t500 ns",
                                       pdev=AMD))])
    right(s[7], "enc", 1e8)
    near(busy(s[7], "enc_1"), 0, 0.01, "busy of enc_1")


@test("IGT: exactly one byte is skipped after ':'")
def _(m):
    r = decode(m, "drm-driver:xe\ndrm-client-id:5\ndrm-engine-a:5 ns\ndrm-engine-b: \t6 ns\ndrm-engine-c:\t \t7 ns \n"
                  "drm-total-x:8\ndrm-pdev: \t 0000:03:00.0 \n")
    eq((r["driver"], r["client"], r["pdev"]), ("xe", 5, "0000:03:00.0"), "head")
    eq([val(r, "engine", e, "busy_ns") for e in "abc"] + [val(r, "memory", "x", "total")], [5, 6, 7, 8], "values")


@test("IGT: engines are indexed by their order in this read")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(compute=5e12), pdev=AMD))
    s = m.procs(steps=[writer(f, dump("amdgpu", 7, *ns(gfx=1e8, compute=5e12), pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(compute=5e12, dec=5e7, gfx=1e8), pdev=AMD))])
    right(s[0][7], "gfx", 1e8, "gfx")
    right(s[0][7], "compute", 0, "compute")
    right(s[1][7], "dec", 5e7, "dec")
    right(s[1][7], "gfx", 0, "gfx, moved")
    right(s[1][7], "compute", 0, "compute, moved")


@test("IGT: a process that vanishes between fdinfo and stat aborts the tool")
def _(m):
    m.device("i915", I915)
    for pid, text in ((10, ""), (11, "no parenthesis"), (12, "12 (x"), (13, "13 (x) S"), (14, ")"), (15, "\0" * 50)):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        m.write(f"proc/{pid}/stat", text)
    eq([r["client"] for r in m.json("procs")], [10, 11, 12, 13, 14, 15], "clients")


@test("IGT: comm is cut at the first ')'")
def _(m):
    one_client(m, comm="a) b) (c")
    eq(m.json("procs")[0]["comm"], "a) b) (c", "comm")


@test("IGT: more than 16 engines or regions assert")
def _(m):
    lines = [f"drm-engine-e{i}:\t{i} ns" for i in range(60)] + [f"drm-total-r{i}:\t{i} KiB" for i in range(60)]
    one_client(m, text=dump("i915", 7, *lines, pdev=I915))
    for r in (m.json("procs", "-r")[0], m.json("-r")[0]):
        eq([val(r, "engine", f"e{i}", "busy_ns") for i in range(60)], list(range(60)), "engines")
        eq([val(r, "memory", f"r{i}", "total") for i in range(60)], [i << 10 for i in range(60)], "regions")


@test("IGT: writes to `profiling`")
def _(m):
    dev = m.device("panthor", files={"profiling": "0\n"})
    m.fd(10, 5, dump("panthor", 7, "drm-maxfreq-panthor:\t1000 MHz"))
    before = os.stat(m.path(f"{dev}/profiling")).st_mtime_ns
    d, = m.json()
    eq(busy(d, "panthor"), None, "busy with profiling off")
    r = m.run("list")
    check(b"profiling" in r.out, f"list says why: {r.out!r}")
    with open(m.path(f"{dev}/profiling"), encoding="ascii") as f:
        eq(f.read(), "0\n", "profiling")
    eq(os.stat(m.path(f"{dev}/profiling")).st_mtime_ns, before, "time of its last change")


@test("IGT: percentages of the nominal delay")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))

    (d,), = m.live(steps=[writer(f, dump("i915", 7, *ns(render=2e8), pdev=I915))], interval=0.2, late={0: 0.5})
    near(d["dt"], 0.7, 0.001, "dt")
    right(d, "render", 2e8)


@test("nvtop: memory only in KiB")
def _(m):
    one_client(m, "xe", XE, dump("xe", 7, "drm-total-vram0:\t16 MiB", "drm-resident-vram0:\t16 MiB",
                                 "drm-total-gtt:\t4097", "drm-resident-gtt:\t4097", pdev=XE))
    r, = m.json("procs")
    eq((val(r, "memory", "vram0", "total"), val(r, "memory", "gtt", "total")), (16 << 20, 4097), "total")


@test("nvtop: another driver's client on the same box is credited")
def _(m):
    m.device("v3d", card=0, render=128)
    m.device("msm", card=1, render=129)
    m.fd(10, 5, dump("v3d", 7, "drm-engine-render: \t5 ns"))
    m.fd(10, 6, dump("msm", 7, "drm-engine-gpu:\t6 ns", "drm-cycles-gpu:\t8", "drm-maxfreq-gpu:\t800000000 Hz"),
         "/dev/dri/renderD129")
    got = {r["driver"]: r["engine"] for r in m.json("-r")}
    eq(sorted(got["v3d"]), ["render"], "engines of v3d")
    eq({k: got["msm"]["gpu"].get(k) for k in ("busy_ns", "cycles", "maxfreq")},
       {"busy_ns": 6, "cycles": 8, "maxfreq": 800000000}, "msm")


@test("nvtop: only the first DRM descriptor of each process is read")
def _(m):
    m.device("i915", I915)
    m.process(10)
    for n in range(5):
        m.fd(10, 20 + n, dump("i915", 100 + n, pdev=I915))
    eq([r["client"] for r in m.json("procs")], [100, 101, 102, 103, 104], "clients")


@test("nvtop: an iGPU is told by 0000:00:02.0")
def _(m):
    # a card passed through to a virtual machine can sit there
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, "drm-resident-system0:\t512 MiB", "drm-total-system0:\t512 MiB",
                     "drm-resident-local0:\t96 MiB", "drm-total-local0:\t96 MiB", pdev=I915))
    line = m.run("-H", "-w", "0.02").out.split()
    check(b"96M" in line, f"its own memory in {line}")


@test("nvtop: energy of 32 bits")
def _(m):
    t = os.path.join(TREES, "xe")
    if not os.path.isdir(t):
        raise Skip("no tests/trees/xe")
    r = run(["-w", "0.02", "-o", "json", "--proc", f"{t}/proc", "--sys", f"{t}/sys"])
    d, = parse_json(r.out)
    near(d["energy"]["card"], 812345.678901, 1e-6, "energy")


@test("qmassa: a process whose name is not UTF-8 is skipped")
def _(m):
    one_client(m, comm=b"\xff\xfe")
    eq(m.json("procs")[0]["comm"], "\ufffd\ufffd", "comm")


@test("qmassa: an unparsable drm- line drops the whole file")
def _(m):
    bad = ["drm-engine-a:\t12abc ns", "drm-engine-b:\t", "drm-engine-c:", "drm-total-x:\tmany KiB",
           "drm-engine-:\t5 ns"]
    one_client(m, text=dump("i915", 7, *bad, *ns(render=5), pdev=I915))
    r, = m.json("procs", "-r")
    eq(val(r, "engine", "render", "busy_ns"), 5, "busy_ns")
    eq(decode(m, dump("i915", 7, *bad, *ns(render=5)))["skipped"], 5, "skipped")


@test("amdgpu_top: one vanished descriptor corrupts all later ones")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10)
    m.fd(10, 4, None)
    m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5), pdev=AMD))
    m.fd(10, 6, None)
    m.fd(10, 7, dump("amdgpu", 8, *ns(gfx=5), pdev=AMD))
    m.fd(11, 7, dump("amdgpu", 9, *ns(gfx=5), pdev=AMD))
    eq([r["client"] for r in m.json("procs")], [7, 8, 9], "clients")


@test("amdgpu_top: the previous value is kept per pid: closing a client makes the sum fall")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10)
    keep = m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=1e9), pdev=AMD))
    m.fd(10, 6, dump("amdgpu", 8, *ns(gfx=7e9), pdev=AMD))

    def step():
        m.close(10, 6)
        rewrite(keep, dump("amdgpu", 7, *ns(gfx=1.1e9), pdev=AMD))
    s = m.live(steps=[None, step])
    right(s[1][0], "gfx", 1e8, tol=3)
    eq(s[1][0]["clients"], 1, "clients")


@test("amdgpu_top: an inherited busy client makes the sum jump")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10)
    a = m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5e12), pdev=AMD))

    def step():
        m.process(20, "child", 5000)
        m.fd(20, 5, dump("amdgpu", 7, *ns(gfx=5e12 + 1e8), pdev=AMD))
        rewrite(a, dump("amdgpu", 7, *ns(gfx=5e12 + 1e8), pdev=AMD))
    s = m.live(steps=[None, step])
    right(s[1][0], "gfx", 1e8, tol=3)


@test("amdgpu_top: fixed column offsets for KiB")
def _(m):
    r = decode(m, dump("amdgpu", 7, "drm-memory-vram:      2068 KiB", "drm-memory-gtt:\t  8 MiB",
                       "drm-memory-cpu:7 KiB "))
    eq([val(r, "memory", x, "resident") for x in ("vram", "gtt", "cpu")], [2068 << 10, 8 << 20, 7 << 10], "resident")


@test("amdgpu_top: a shared client is credited to whoever comes first in /proc")
def _(m):
    m.device("amdgpu", AMD)
    m.process(1, "systemd", 1)
    m.process(5, "wayland-sess", 900)
    m.process(600, "compositor", 300)
    for pid in (1, 5, 600):
        m.fd(pid, 5, dump("amdgpu", 7, pdev=AMD))
    eq(m.json("procs")[0]["pid"], 600, "pid")


@test("htop: per process only, and sums beyond 100 %")
def _(m):
    m.device("i915", I915)
    files = [m.fd(p, 5, dump("i915", 7, *ns(render=0, copy=0), pdev=I915)) for p in (10, 20)]

    def step():
        for f in files:
            rewrite(f, dump("i915", 7, *ns(render=4e8, copy=4e8), pdev=I915))
    (d,), = m.live(steps=[step])
    right(d, "render", 4e8, tol=3)
    right(d, "copy", 4e8, tol=3)


@test("htop: xe is 0")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000))
    (d,), = m.live(steps=[writer(f, text(700, 2000))])
    near(busy(d, "rcs"), 70, 0.01, "busy")


@test("htop: a file that fills 4096 bytes is skipped")
def _(m):
    for size in (4095, 4096, 4097, 8192):
        text = dump("i915", 7, *ns(render=5))
        text += "x:" + "y" * (size - len(text) - 3) + "\n"
        eq(len(text), size, "the test's own text")
        eq(val(decode(m, text), "engine", "render", "busy_ns"), 5, f"busy_ns in {size} bytes")


@test("resources: two clients on one node lose the second")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), "drm-resident-system0:\t4 KiB", "drm-total-system0:\t4 KiB", pdev=I915))
    m.fd(10, 6, dump("i915", 8, *ns(render=6), "drm-resident-system0:\t8192", "drm-total-system0:\t8192", pdev=I915))
    d, = m.json("-r")
    eq((d["clients"], val(d, "engine", "render", "busy_ns"), val(d, "memory", "system0", "resident")), (2, 11, 12288),
       "clients, sums")


# --- bad input --------------------------------------------------------------------------------------------

USAGE = [["--nosuch"], ["-Z"], ["nosuch"], ["0"], ["-1x"], ["abc"], ["1x"], ["1", "0"], ["1", "x"], ["1", "2", "3"],
         ["-i", "0"], ["-i", "-5"], ["-i", ""], ["-i"], ["-w", "0"], ["-w", "abc"], ["-c", "0"], ["-n", "x"], ["-c"],
         ["-o", "nosuch"], ["-o", ""], ["-t", "bogus"], ["-f", "nosuchfield"], ["-f", ""], ["-s", "nosuchfield"],
         ["-p", "x"], ["-p", ""], ["-k", "x"], ["-k", "-1"], ["--raw=1"], ["--interval="], ["procs", "abc"],
         ["list", "1"], ["fdinfo"], ["--window", "1e99"], ["99999999999999999999"], ["1", "99999999999999999999999"],
         ["-f", "busy,,dev"], ["-d", ""], ["--form=json"], ["fdinfo", "-o", "nosuch", "x"], ["-p", "99999999999999"]]


@test("bad input: usage errors: exit 2, a message, nothing on stdout")
def _(m):
    one_client(m)
    wrong = []
    for args in USAGE:
        r = m.run(*args, timeout=60)
        if r.code != 2 or r.out or not re.fullmatch(rb"(gpustat: [ -~]+\n)+", r.err):
            wrong.append((args, r))
    check(not wrong, f"{len(wrong)}: {wrong}")


@test("bad input: an unknown command or option is named in the message")
def _(m):
    for word in ("nosuchcommand", "--nosuchoption"):
        r = m.run(word)
        check(word.encode() in r.err, f"{word}: {r.err!r}")
    r = m.run("--interval", "x\x1b[31m\n")
    eq(r.code, 2, "exit code")
    check(b"\x1b" not in r.err, "a raw escape in the message")


@test("bad input: no device: exit 3, a message, nothing on stdout")
def _(m):
    for args in ([], ["procs"], ["cgroups"], ["list"], ["-r"], ["0.1", "3"]):
        r = m.run(*args, timeout=60)
        eq((r.code, r.out), (3, b""), f"{args}")
        check(r.err.startswith(b"gpustat: "), f"message {r.err!r}")
    one_client(m)
    for sel in ("card7", "renderD1", "0000:ff:00.0", "driver:nosuch", "1", "card", "card0x"):
        r = m.run("-d", sel)
        eq((r.code, r.out), (3, b""), f"-d {sel}")
        check(r.err.startswith(b"gpustat: "), f"message {r.err!r}")


@test("bad input: a root that is not there: exit 1")
def _(m):
    one_client(m)
    for args in (["--proc", m.path("nowhere"), "--sys", m.sys], ["--proc", m.proc, "--sys", m.path("nowhere")],
                 ["--proc", m.path("proc/10/comm"), "--sys", m.sys]):
        r = run(args, timeout=60)
        eq((r.code, r.out), (1, b""), f"{args} ({r!r})")
        check(r.err.startswith(b"gpustat: "), "message")


@test("bad input: fdinfo: NAME: not a DRM file; the others are done")
def _(m):
    a, b = m.write("a.txt", dump("i915", 7, *ns(render=5))), m.write("b.txt", dump("xe", 8))
    non = m.write("non drm.txt", "pos:\t0\nflags:\t02\nexp_name:\tdrm\n")
    empty = m.write("empty.txt", "")
    r = run(["fdinfo", a, non, empty, b, "-o", "json"])
    eq(r.code, 1, "exit code")
    eq([(x["file"], x["client"]) for x in parse_json(r.out)], [(a, 7), (b, 8)], "records")
    for f in (non, empty):
        check(f"fdinfo: {f}: not a DRM file".encode() in r.err, f"message for {f}: {r.err!r}")


@test("bad input: dumps that cannot be read")
def _(m):
    a = m.write("a.txt", dump("i915", 7))
    r = run(["fdinfo", m.path("nowhere"), m.base, a, "-o", "json"])
    eq(r.code, 1, "exit code")
    eq([x["client"] for x in parse_json(r.out)], [7], "records")
    check(b"nowhere" in r.err and m.base.encode() in r.err, f"messages {r.err!r}")


@test("bad input: malformed lines are skipped and counted")
def _(m):
    r = decode(m, dump("i915", 7, "no colon", "drm-engine-a:\t5 parsecs", "drm-engine-b:\t-5 ns", "drm-cycles-c:\t",
                       "drm-total-d:\tx", *ns(render=5)))
    eq((r["skipped"], val(r, "engine", "render", "busy_ns")), (5, 5), "skipped, the rest")


@test("bad input: any bytes at all")
def _(m):
    import random
    rnd = random.Random(1)
    base = raw(dump("i915", 7, *ns(render=5, copy=7), "drm-total-system0:\t4 KiB", "drm-engine-capacity-video:\t2"))
    files = []
    for i in range(150):
        b = bytearray(base)
        for _k in range(rnd.randrange(1, 30)):
            what = rnd.randrange(4)
            at = rnd.randrange(len(b))
            if what == 0:
                b[at] = rnd.randrange(256)
            elif what == 1:
                del b[at:at + rnd.randrange(9)]
            elif what == 2:
                b[at:at] = bytes(rnd.randrange(256) for _j in range(rnd.randrange(6)))
            else:
                b[at:at] = rnd.choice([b"\n", b":", b"drm-", b"\0", b"99999999999999999999", b"\xff", b'"', b"\x1b"])
            b = b or bytearray(b"x")
        files.append(m.write(f"fuzz{i}", bytes(b)))
    for fmt in FORMATS:
        r = run(["fdinfo", "-o", fmt, *files])
        check(r.code in (0, 1), f"{fmt}: {r!r}")
        if fmt == "json":
            check(len(parse_json(r.out)) > 10, "hardly any record")
        elif fmt == "csv":
            parse_csv(r.out)
        elif fmt == "logfmt":
            parse_logfmt(r.out)
        else:
            printable(r.out)


@test("bad input: NUL bytes, CR LF, a line of 100 000 bytes")
def _(m):
    r = decode(m, raw(dump("i915", 7)) + b"drm-engine-a:\t5 ns\r\n\0\0\0\nx:" + b"y" * 100000
               + b"\ndrm-engine-b:\t6 ns\n")
    eq(val(r, "engine", "b", "busy_ns"), 6, "busy_ns behind them")


@test("bad input: 5 000 engines: what finds no room is counted, the rest is right")
def _(m):
    lines = [f"drm-engine-e{i}:\t{i + 1} ns" for i in range(5000)]
    r = decode(m, dump("i915", 7, *lines))
    check(len(r["engine"]) >= 64, f"only {len(r['engine'])} engines")
    for name, e in r["engine"].items():
        eq(e["busy_ns"], int(name[1:]) + 1, f"busy_ns of {name}")
    eq(len(r["engine"]) + r["dropped"], 5000, "kept + dropped")
    for fmt in FORMATS:
        x = run(["fdinfo", "-o", fmt, m.write("many.txt", dump("i915", 7, *lines))])
        eq(x.code, 0, f"exit code with {fmt} ({x!r})")


@test("bad input: 5 000 regions, live, beside a client that is not affected")
def _(m):
    m.device("i915", I915)
    lines = [f"drm-total-r{i}:\t{i + 1} KiB" for i in range(5000)]
    m.fd(10, 5, dump("i915", 7, *lines, pdev=I915))
    m.fd(20, 5, dump("i915", 8, *ns(render=5), "drm-total-system0:\t4 KiB", pdev=I915))
    recs = {r["client"]: r for r in m.json("procs", "-r")}
    eq(sorted(recs), [7, 8], "clients")
    eq(val(recs[8], "engine", "render", "busy_ns"), 5, "the neighbour")
    for name, e in recs[7]["memory"].items():
        eq(e["total"], (int(name[1:]) + 1) << 10, f"total of {name}")
    d, = m.json("-r")
    check(d["dropped"] + recs[7].get("dropped", 0) > 0 or len(recs[7]["memory"]) == 5000, "dropped is 0")
    eq(val(d, "engine", "render", "busy_ns"), 5, "the device's engine")


@test("bad input: a record that is larger than any buffer still ends well")
def _(m):
    one_client(m, text=dump("i915", 7, *[f"x{i}:\t" + "\x01" * 200 for i in range(300)], *ns(render=5), pdev=I915))
    m.fd(20, 5, dump("i915", 8, *ns(render=6), pdev=I915))
    for args in (["procs"], []):
        for fmt in FORMATS:
            r = m.run(*args, "-w", "0.02", "-o", fmt)
            eq(r.code, 0, f"exit code of {args} {fmt} ({r!r})")
            check(r.out.endswith(b"\n"), f"a part of a record: {r.out[-80:]!r}")
    r = m.run("procs", "-r", "-o", "json")
    recs = {x["client"]: x for x in parse_json(r.out)}
    eq(val(recs[8], "engine", "render", "busy_ns"), 6, "the neighbour")
    check(7 in recs or r.err, "silently left out")
    d, = m.json("-r")
    eq(val(d, "engine", "render", "busy_ns"), 11, "the device's sum")


@test("bad input: names of engines and regions that are too long are counted")
def _(m):
    long = "n" * 300
    r = decode(m, dump("i915", 7, f"drm-engine-{long}:\t5 ns", f"drm-total-{long}:\t6", *ns(render=7)))
    eq(val(r, "engine", "render", "busy_ns"), 7, "the others")
    check((val(r, "engine", long, "busy_ns"), val(r, "memory", long, "total")) == (5, 6) or r["dropped"] == 2,
          f"dropped {r['dropped']}")


@test("bad input: more devices than the tables hold are counted")
def _(m):
    want = 100
    for i in range(want):
        m.device("i915", f"0000:{i:02x}:00.0", card=i, render=None)
    recs = m.json("-r")
    eq(len(recs) + recs[0]["dropped"], want, "devices + dropped")
    check(len(recs) >= 16, f"{len(recs)} devices")
    for r in recs:
        eq(r["pdev"], f"0000:{int(r['dev'][4:]):02x}:00.0", f"pdev of {r['dev']}")


@test("bad input: more cgroups than the tables hold", slow=True)
def _(m):
    m.device("i915", I915)
    want = 6000
    for i in range(want):
        d = m.path(f"proc/{i + 10}")
        os.makedirs(f"{d}/fd")
        os.makedirs(f"{d}/fdinfo")
        os.symlink("/dev/dri/renderD128", f"{d}/fd/3")
        text = f"drm-driver:\ti915\ndrm-client-id:\t{i + 1}\ndrm-engine-render:\t{i + 1} ns\n"
        for name, text in (("fdinfo/3", text), ("cgroup", f"0::/c/{i + 1}\n"), ("comm", f"p{i}\n")):
            with open(f"{d}/{name}", "w", encoding="ascii") as f:
                f.write(text)
    recs = m.json("cgroups", "-r", timeout=60)
    check(len(recs) >= 1000, f"{len(recs)} cgroups")
    for r in recs:
        if r["clients"] == 1 and r["cgroup"] is not None:
            eq(f"/c/{val(r, 'engine', 'render', 'busy_ns')}", r["cgroup"], "its client's counter")
    d, = m.json("-r", timeout=60)
    eq((d["clients"], val(d, "engine", "render", "busy_ns")), (want, want * (want + 1) // 2), "clients, sum")
    if len(recs) < want:
        check(d["dropped"] > 0 or m.run("cgroups", "-r", "-v").err, "dropped is 0")


@test("bad input: a dump of 3 MiB is decoded or refused with a message")
def _(m):
    path = m.write("big.txt", "lock:\t1: POSIX  ADVISORY  WRITE 1 fd:01:1 0 EOF\n" * 70000 + dump("i915", 7))
    r = run(["fdinfo", "-o", "json", path, m.write("b.txt", dump("i915", 8))])
    got = [x["client"] for x in parse_json(r.out)]
    check((r.code, got) == (0, [7, 8]) or (r.code == 1 and got == [8] and b"big.txt" in r.err), f"{r!r}")


@test("bad input: fewer descriptors than clients")
def _(m):
    m.device("i915", I915)
    m.process(10)
    files = {c: m.fd(10, c, dump("i915", c, *ns(render=0), pdev=I915)) for c in range(3, 203)}
    def step():
        for c, f in files.items():
            rewrite(f, dump("i915", c, *ns(render=c * 10**6), pdev=I915))
    with m.driven("procs", "-w", str(WINDOW), "-o", "json", limit=24) as p:
        check(p.sleep(), "it does not sleep")
        step()
        p.wake()
        p.to_end()
    eq((p.code, p.err), (0, b""), "exit code, messages")
    out = p.out
    recs = {r["client"]: r for r in parse_json(out)}
    eq(sorted(recs), sorted(files), "clients")
    for c, r in recs.items():
        right(r, "render", c * 10**6, f"client {c}")


@test("bad input: more clients than the tables hold are counted", slow=True)
def _(m):
    m.device("i915", I915)
    want, procs = 20000, 20
    for p in range(procs):
        m.process(1000 + p)
        d = m.path(f"proc/{1000 + p}")
        for i in range(want // procs):
            c = p * (want // procs) + i + 1
            os.symlink("/dev/dri/renderD128", f"{d}/fd/{i + 3}")
            with open(f"{d}/fdinfo/{i + 3}", "w", encoding="ascii") as f:
                f.write(f"drm-driver:\ti915\ndrm-client-id:\t{c}\ndrm-engine-render:\t{c} ns\n")
    d, = m.json("-r", timeout=60)
    eq(d["clients"] + d["dropped"], want, "clients + dropped")
    recs = m.json("procs", "-r", timeout=60)
    eq(len(recs), d["clients"], "records of procs")
    check(len(recs) >= 2000, "fewer than 2 000 clients")
    for r in recs:
        eq(val(r, "engine", "render", "busy_ns"), r["client"], "busy_ns")


def one_valid_record(m, text):
    path = m.write("twice.txt", text)
    one_client(m, text=text)
    for args in (["fdinfo", path], ["procs", "-r", *m.roots()], ["-r", *m.roots()]):
        rec, = parse_json(run([*args, "-o", "json"]).out)
        eq(val(rec, "engine", "copy", "busy_ns"), 6, "copy")
        parse_csv(run([*args, "-o", "csv"]).out)
        # its keys have letters, digits, '_' and '.' only: there some names must fall together
        parse_logfmt(run([*args, "-o", "logfmt"]).out, twice=True)


@test("bad input: a key twice: still one valid record")
def _(m):
    one_valid_record(m, dump("i915", 7, "foo:\t1", "foo:\t2", *ns(render=5, copy=6), "drm-engine-render:\t9 ns",
                             "drm-total-a:\t4", "drm-total-a:\t5", "drm-engine-capacity-copy:\t2",
                             "drm-engine-capacity-copy:\t3"))


@test("bad input: names that differ only where text formats cannot tell: still one valid record")
def _(m):
    one_valid_record(m, dump("i915", 7, *ns(render=5, copy=6), "drm-engine-a-b:\t3 ns", "drm-engine-a_b:\t4 ns",
                             "drm-total-a.b:\t5", "drm-total-a-b:\t6", "k-1:\t5", "k_1:\t6"))


@test("bad input: names that differ only in bytes that are no UTF-8: still one valid record")
def _(m):
    one_valid_record(m, raw(dump("i915", 7, *ns(render=5, copy=6)))
                     + b"drm-engine-\xff:\t1 ns\ndrm-engine-\xfe:\t2 ns\n"
                     b"bar\xff:\t1\nbar\xfe:\t2\ndrm-total-\xff:\t1\ndrm-total-\xfe:\t1\n")


# --- sample dumps --------------------------------------------------------------------------------------------

RAW_KEYS = {"ns": "busy_ns", "cyc": "cycles", "total": "total_cycles", "cap": "capacity", "maxf": "maxfreq",
            "curf": "curfreq"}


def readings():
    """The "right reading" lists of the dumps' README.md: file -> what to expect, or None for no DRM file."""
    out, name = {}, None
    with open(os.path.join(DUMPS, "README.md"), encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("## "):
                name = line[3:].strip()
                out[name] = {"engine": {}, "memory": {}, "other": {}, "skipped": 0, "head": {}}
            elif name and line.startswith("  - "):
                item = line[4:]
                want = out[name]
                if item.startswith("not a DRM"):
                    out[name] = None
                elif m := re.match(r"engine ([^:]+): (.*)", item):
                    if not m.group(2).startswith("("):
                        want["engine"][m.group(1)] = dict(x.split("=") for x in m.group(2).split())
                elif m := re.match(r"mem ([^:]+): (.*)", item):
                    want["memory"][m.group(1)] = dict(x.split("=") for x in m.group(2).split())
                elif m := re.match(r"driver-specific/other: (.*)", item):
                    want["other"] = dict(x.split("=", 1) for x in m.group(1).split("; "))
                elif item.startswith("malformed lines"):
                    want["skipped"] = len(item.split(": ", 1)[1].split(" | "))
                elif item.startswith("driver="):
                    want["head"] = dict(x.split("=", 1) for x in item.split())
    return out


def compare_dump(name):
    def body(m):
        want = readings().get(name, "?")
        check(want != "?", "README.md does not list it")
        path = os.path.join(DUMPS, name)
        r = run(["fdinfo", "-o", "json", path])
        if want is None:
            eq((r.code, r.out), (1, b""), f"no DRM file ({r!r})")
            check(b"not a DRM file" in r.err, f"message {r.err!r}")
            return
        eq(r.code, 0, f"exit code ({r!r})")
        got, = parse_json(r.out)
        for k in ("driver", "pdev", "client", "name"):
            w = want["head"].get(k)
            w = None if w in (None, "None") else int(w) if k == "client" else w
            eq(got[k], w, k)
        engines = set(got["engine"])
        check(set(want["engine"]) <= engines, f"engines {sorted(engines)}, want {sorted(want['engine'])}")
        for e in engines - set(want["engine"]):
            nums = {k: v for k, v in got["engine"][e].items() if k != "capacity" and v is not None}
            eq(nums, {}, f"values of engine {e}, which has none")
        for e, vals in want["engine"].items():
            w = {RAW_KEYS[k]: int(v.removesuffix("Hz")) for k, v in vals.items()}
            w["capacity"] = max(w.get("capacity", 1), 1)
            g = {k: v for k, v in got["engine"][e].items() if v is not None}
            g.setdefault("capacity", 1)
            eq(g, w, f"engine {e}")
        eq(set(got["memory"]), set(want["memory"]), "regions")
        for reg, vals in want["memory"].items():
            w = {k: int(v) for k, v in vals.items()}
            alias = w.pop("memory", None)
            if alias is not None:
                w.setdefault("resident", alias)
            eq({k: v for k, v in got["memory"][reg].items() if v is not None}, w, f"region {reg}")
        eq(got["other"], want["other"], "other")
        eq(got["skipped"], want["skipped"], "skipped")
    return body


def add_dumps():
    if not os.path.isfile(os.path.join(DUMPS, "README.md")):
        def missing(m):
            raise Skip("no ../shared/fdinfo beside this repository")
        TESTS.append(("dumps: their right reading", missing, False))
        return
    for name in sorted(os.listdir(DUMPS)):
        if name.endswith(".txt"):
            TESTS.append((f"dumps: {name}", compare_dump(name), False))


@test("dumps: one more from the standard input, under the name -")
def _(m):
    r = run(["fdinfo", "-", "-o", "json"], stdin=raw(dump("i915", 7, *ns(render=5))))
    eq(r.code, 0, "exit code")
    rec, = parse_json(r.out)
    eq((rec["client"], rec["file"]), (7, "-"), "client, file")


@test("dumps: amdgpu before 5.19, with its percentages")
def _(m):
    text = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\npdev:\t0000:08:00.0\npasid:\t32784\n" \
           "vram mem:\t2068 kB\ngtt mem:\t8192 kB\ncpu mem:\t0 kB\ngfx0:\t23.5%\ngfx1:\t7.45%\n"
    r = decode(m, text)
    eq((r["driver"], r["pdev"]), ("amdgpu", "0000:08:00.0"), "head")
    eq(val(r, "memory", "vram", "resident"), 2068 << 10, "vram")
    near(val(r, "engine", "gfx0", "busy"), 23.05, 1e-9, "gfx0")
    near(val(r, "engine", "gfx1", "busy"), 7.45, 1e-9, "gfx1")


# --- cgroups ------------------------------------------------------------------------------------------------

HEX = "0123456789abcdef" * 4


def cgroup_case(text, path, container):
    def body(m):
        one_client(m, cgroup=text)
        r, = m.json("procs")
        eq((r["cgroup"], r["container"]), (path, container), "cgroup, container")
        c, = m.json("cgroups")
        eq((c["cgroup"], c["container"], c["clients"], c["dev"]), (path, container, 1, "card0"), "record of cgroups")
    return body


for _name, _text, _path, _id in (
        ("v2", "0::/user.slice/a.scope\n", "/user.slice/a.scope", None),
        ("v2, docker under systemd",
         f"0::/system.slice/docker-{HEX}.scope\n", f"/system.slice/docker-{HEX}.scope", HEX),
        ("v2, containerd", f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{HEX}.scope\n",
         f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{HEX}.scope", HEX),
        ("v2, podman",
         f"0::/user.slice/libpod-{HEX}.scope/container\n", f"/user.slice/libpod-{HEX}.scope/container", HEX),
        ("v1, docker", f"3:pids:/docker/{HEX}\n2:memory:/docker/{HEX}\n1:name=systemd:/docker/{HEX}\n",
         f"/docker/{HEX}", HEX),
        ("v1 with an empty v2 beside it", f"2:memory:/docker/{HEX}\n1:name=systemd:/docker/{HEX}\n0::/\n",
         f"/docker/{HEX}", HEX),
        ("v1 with another v2 beside it", f"2:memory:/docker/{HEX}\n1:name=systemd:/docker/{HEX}\n"
         "0::/system.slice/containerd.service\n", f"/docker/{HEX}", HEX),
        ("lxc",
         "0::/lxc.payload.media1/system.slice/x.service\n", "/lxc.payload.media1/system.slice/x.service", "media1"),
        ("a colon in the path", "0::/a:b/c\n", "/a:b/c", None),
        ("the root", "0::/\n", "/", None)):
    TESTS.append((f"cgroups: {_name}", cgroup_case(_text, _path, _id), False))


@test("cgroups: sums per cgroup and device")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    for pid, cg in ((10, "/a"), (20, "/a"), (30, "/b")):
        m.process(pid, cgroup=f"0::{cg}\n")
    f = {p: m.fd(p, 5, dump("i915", p, *ns(render=0), "drm-total-system0:\t4 KiB", "drm-resident-system0:\t4 KiB",
                            pdev=I915)) for p in (10, 20, 30)}
    m.fd(30, 6, dump("xe", 30, "drm-cycles-rcs:\t0", "drm-total-cycles-rcs:\t1", pdev=XE), "/dev/dri/renderD129")

    def step():
        for p, d in ((10, 5e7), (20, 1e8), (30, 2e8)):
            rewrite(f[p], dump("i915", p, *ns(render=d), "drm-total-system0:\t4 KiB", "drm-resident-system0:\t4 KiB",
                               pdev=I915))
    s, = m.live("cgroups", steps=[step])
    eq([(r["kind"], r["dev"], r["cgroup"], r["clients"]) for r in s],
       [("cgroup", "card0", "/a", 2), ("cgroup", "card0", "/b", 1), ("cgroup", "card1", "/b", 1)], "records")
    right(s[0], "render", 1.5e8, "/a", tol=3)
    right(s[1], "render", 2e8, "/b", tol=3)
    eq(val(s[0], "memory", "system0", "resident"), 8192, "resident of /a")


@test("cgroups: a container's member is found by -g path and id")
def _(m):
    m.device("i915", I915)
    for pid, cg in ((10, f"/docker/{HEX}"), (20, "/docker-not/x"), (30, f"/docker/{HEX}/sub")):
        m.process(pid, cgroup=f"0::{cg}\n")
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
    eq([r["pid"] for r in m.json("procs", "-g", f"/docker/{HEX}")], [10, 30], "-g of the path")
    eq([r["pid"] for r in m.json("procs", "-g", "/docker-not/x")], [20], "-g of another")
    eq([r["pid"] for r in m.json("procs", "-g", HEX[:12])], [10, 30], "-g of the short id")


# --- options ---------------------------------------------------------------------------------------------------

def three(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.device("intel_vpu", "0000:00:0b.0", card=None, render=None, accel=0)
    m.process(10, "zeta")
    m.process(20, "alpha")
    m.process(30, "beta")
    m.fd(10, 5, dump("i915", 7, *ns(render=5), "drm-resident-system0:\t4 KiB", "drm-total-system0:\t4 KiB", pdev=I915))
    m.fd(20, 5, dump("i915", 6, *ns(render=9), "drm-resident-system0:\t9 KiB", "drm-total-system0:\t9 KiB", pdev=I915))
    m.fd(20, 6, dump("xe", 9, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE), "/dev/dri/renderD129")
    m.fd(30, 6, dump("intel_vpu", 4, "drm-total-memory:\t8 MiB", pdev="0000:00:0b.0"), "/dev/accel/accel0")


@test("options: one-shot: one record per device, in order, after one window")
def _(m):
    three(m)
    with m.driven("-w", "0.3", "-o", "json") as p:
        sleeps = p.to_end()
    eq(p.code, 0, f"exit code ({p.err!r})")
    eq([d["dev"] for d in parse_json(p.out)], ["card0", "card1", "accel0"], "devices")
    eq(len(sleeps), 1, "sleeps")
    near((p.now - p.began) / clock.NS, 0.3, 0.001, "seconds that it takes")
    for d in parse_json(p.out):
        near(d["dt"], 0.3, 0.001, "dt")
    eq(len(m.run("-H").out.splitlines()), 3, "lines")


@test("options: 0.1 5 prints five records and takes half a second")
def _(m):
    one_client(m)
    with m.driven("0.1", "5", "-o", "json") as p:
        p.to_end()
    near((p.now - p.began) / clock.NS, 0.5, 0.001, "seconds that it takes")
    eq(len(parse_json(p.out)), 5, "records")
    for args in (["-i", "0.1", "-c", "5"], ["--interval=100ms", "-n5"], ["-i100ms", "--count", "5"]):
        eq(len(parse_json(m.run(*args, "-o", "json").out)), 5, f"records of {args}")


def on_grid(sleeps, step, tol=0.001):
    """The times of samples, in steps after the first reading: whole ones, and none twice."""
    ks = [round((due - sleeps[0]) / clock.NS / step) for due in sleeps]
    for k, due in zip(ks, sleeps):
        near((due - sleeps[0]) / clock.NS, k * step, tol, f"sample {k} on the grid")
    eq(sorted(set(ks)), ks, "samples in order, each at a time of its own")
    return ks


@test("options: intervals do not drift")
def _(m):
    one_client(m)
    with m.driven("0.05", "200", "-o", "json") as p:
        sleeps = p.to_end(late=lambda k: k % 7 * 0.003)  # what a sample was late for the next one is not
    eq(on_grid(sleeps, 0.05), list(range(200)), "samples")
    for a, b in zip(*[iter(parse_json(p.out))] * 2):
        near(b["dt"], b["time"] - a["time"], 0.001, "dt against the clock")


@test("options: a late sample is skipped, not bunched, and dt tells the truth")
def _(m):
    one_client(m)
    for late, skipped in ((0.05, 0), (0.09, 0), (0.11, 1), (0.73, 4), (0.6, 3), (2, 10)):
        with m.driven("0.2", "6", "-o", "json") as p:
            sleeps = p.to_end(late=lambda k: late if k == 2 else 0)  # noqa: B023
        eq(on_grid(sleeps, 0.2), [0, 1, 2, *range(3 + skipped, 6 + skipped)], f"samples, one {late} s late")
        recs = parse_json(p.out)
        eq(len(recs), 6, "records")
        for a, b in zip(recs, recs[1:]):
            near(b["dt"], b["time"] - a["time"], 0.001, "dt against the clock")
        near(recs[2]["dt"], 0.2 + late, 0.001, "dt of the late one")
        check(all(r["dt"] > 0.099 for r in recs), f"bunched: {[r['dt'] for r in recs]}")


@test("options: -r: the kernel's numbers, one read, no dt")
def _(m):
    three(m)
    with m.driven("-r", "-w", "9", "-o", "json") as r:
        check(not r.sleep(), "it sleeps")
    d = {x["dev"]: x for x in parse_json(r.out)}
    eq(d["card0"]["dt"], None, "dt")
    eq((val(d["card0"], "engine", "render", "busy_ns"), val(d["card0"], "engine", "render", "capacity")), (14, 1), "ns")
    eq([val(d["card1"], "engine", "rcs", k) for k in ("cycles", "total_cycles")], [5, 50], "cycles")
    check("util" not in d["card0"]["engine"]["render"] or d["card0"]["engine"]["render"]["util"] is None, "util")


@test("options: -r with an interval: the counters of clients, devices and cgroups go on")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=1e9), "drm-cycles-render:\t500", pdev=I915))
    more = dump("i915", 7, *ns(render=1.5e9), "drm-cycles-render:\t700", pdev=I915)
    for args in (["procs"], ["cgroups"], []):
        rewrite(f, dump("i915", 7, *ns(render=1e9), "drm-cycles-render:\t500", pdev=I915))
        s = m.live("-r", *args, steps=[None, writer(f, more), None], interval=0.2)
        got = [(val(r[0], "engine", "render", "busy_ns"), val(r[0], "engine", "render", "cycles")) for r in s]
        eq(got, [(10**9, 500), (15 * 10**8, 700), (15 * 10**8, 700)], f"{args}: ns, cycles")


@test("options: -d by node, PCI slot, driver, number")
def _(m):
    three(m)
    for sel, want in (("card1", ["card1"]), ("renderD129", ["card1"]), (XE, ["card1"]), ("driver:xe", ["card1"]),
                      ("0", ["card0"]), ("1", ["card1"]), ("2", ["accel0"]), ("accel0", ["accel0"])):
        eq([d["dev"] for d in m.json("-d", sel)], want, f"-d {sel}")
        eq({r["dev"] for r in m.json("procs", "--device", sel)}, set(want), f"procs --device {sel}")
        eq({r["dev"] for r in m.json("cgroups", f"--device={sel}")}, set(want), f"cgroups --device={sel}")
        eq([r["dev"] for r in m.json("list", "-d", sel)], want, f"list -d {sel}")


@test("options: devices come by primary, render, accel node")
def _(m):
    m.device("ivpu", "0000:00:0b.0", card=None, render=None, accel=0)
    m.device("vgem", name="vgem", card=None, render=130)
    m.device("xe", XE, card=10, render=129)
    m.device("i915", I915, card=2, render=131)
    want = ["card2", "card10", "renderD130", "accel0"]
    eq([d["dev"] for d in m.json()], want, "devices")
    for i, dev in enumerate(want):
        eq([d["dev"] for d in m.json("-d", str(i))], [dev], f"-d {i}")


@test("options: relative roots, a slash at the end")
def _(m):
    one_client(m)
    r = run(["procs", "-r", "-o", "json", "--proc", "proc/", "--sys=sys"], cwd=m.base)
    eq([x["client"] for x in parse_json(r.out)], [7], "clients")


@test("options: an engine that appears late changes no column of CSV")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    more = dump("amdgpu", 7, *ns(dec=5, gfx=6e8), "drm-total-vram:\t4 KiB", pdev=AMD)
    for args, columns in ((["-o", "csv"], 13), (["-o", "csv", "-f", "dev,engine.busy,memory.total"], 3)):
        rewrite(f, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
        p = subprocess.Popen([PROG, *args, "0.2", "2", *m.roots()], stdout=subprocess.PIPE, bufsize=0)
        first = p.stdout.readline() + p.stdout.readline()
        rewrite(f, more)
        out = first + p.communicate(timeout=60)[0]
        rows = list(csv.reader(io.StringIO(out.decode()), strict=True))
        eq({len(r) for r in rows}, {columns}, "columns")
        eq(out.count(rows[0][0].encode() + b","), 1, "headers")


@test("options: one-shot: two reads of what is known, one scan")
def _(m):
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    one_client(m)
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-y", "-e", "trace=openat", "-o", log, PROG, "procs", "-w", "0.05", *m.roots()],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if r.returncode != 0:
        raise Skip(f"strace: {r.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    eq(sum("10/fd\"" in x for x in lines), 1, "times that fd/ is opened")
    eq(sum("10/fdinfo/5\"" in x for x in lines), 1, "times that the fdinfo file is opened")


@test("a device whose driver another one takes the place of has that one's name and files")
def _(m):
    dev = m.device("i915", I915, files={"tile0/gt0/freq0/act_freq": "300\n"})
    m.device("xe", XE, card=1, render=129)
    for i in range(2):
        m.write(f"{dev}/drm/card0/engine/rcs{i}/class", "0\n")
    m.fd(10, 5, dump("i915", 9, *ns(render=5), pdev=I915))
    nodes = ("card0", "renderD128")

    def unbind():
        for n in nodes:
            os.rename(m.path("sys/class/drm", n), m.path(n))

    def bind():
        rewrite(m.path(dev, "uevent"), f"DRIVER=xe\nPCI_SLOT_NAME={I915}\n")
        for n in nodes:
            os.rename(m.path(n), m.path("sys/class/drm", n))
    s = m.live(steps=[None, unbind, bind, None])
    eq([[r["driver"] for r in x if r["dev"] == "card0"] for x in s], [["i915"], [], ["xe"], ["xe"]], "driver")
    eq(s[3][0]["freq"]["gt0"]["act"], 300000000, "clock, of a file of the new one's")
    eq([x[0]["engine"]["render"]["capacity"] for x in (s[0], s[3])], [2, 1], "engines that the old one counted")


R = "v3d's own count of the whole device"


def v3d_live(m, *args):
    """Its queue has 1000 ns more in each of four samples; it cannot be read in the third."""
    dev = m.device("v3d", files={"gpu_stats": "queue\ttimestamp\tjobs\truntime\nbin\t1\t1\t5000\n"})
    m.fd(10, 5, dump("v3d", 7, *ns(bin=70)))

    def at(ns_):
        return writer(m.path(dev, "gpu_stats"), f"queue\ttimestamp\tjobs\truntime\nbin\t1\t1\t{ns_}\n" if ns_ else "")
    return [x[0]["value"] for x in m.live(*args, steps=[at(6000), at(7000), at(0), at(9000)])]


@test(f"{R}: counters: it comes before the sum over clients, which does not stand in where it is unknown")
def _(m):
    eq(v3d_live(m, "counters", "drm/card0/bin/busy_time"), [1000, 2000, None, 4000], "busy_time")


@test(f"{R}: stat: one that cannot be read is not counted, and not 0")
def _(m):
    eq(v3d_live(m, "stat", "-e", "gpu0/bin/"), [1000, 1000, None, 2000], "value")


@test("a client that takes its name back has none")
def _(m):
    m.device("amdgpu", XE)
    f = m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5), pdev=XE, name="old"))
    s = m.procs(steps=[None, writer(f, dump("amdgpu", 7, *ns(gfx=6), pdev=XE)), None])
    eq([x[7]["name"] for x in s], ["old", None, None], "name")


@test("a device that is unplugged stops nothing")
def _(m):
    m.device("i915", I915)
    xe = m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("xe", 9, pdev=XE), "/dev/dri/renderD129")

    def unplug():
        for n in ("card1", "renderD129"):
            os.unlink(m.path(f"sys/class/drm/{n}"))
        for n in ("226:1", "226:129"):
            os.unlink(m.path(f"sys/dev/char/{n}"))
        shutil.rmtree(m.path(xe))
    s = m.live(steps=[None, unplug, None])
    eq([x[0]["dev"] for x in s], ["card0"] * 3, "the other device")
    check(all(r["state"] != "suspended" for x in s for r in x), "state")


@test("options: -p -C choose clients")
def _(m):
    three(m)
    eq([(r["dev"], r["client"]) for r in m.json("procs")],
       [("card0", 6), ("card0", 7), ("card1", 9), ("accel0", 4)], "all, by device, then client")
    eq([r["client"] for r in m.json("procs", "-p", "20")], [6, 9], "-p 20")
    eq([r["client"] for r in m.json("procs", "-p", "20", "-p", "30")], [6, 9, 4], "-p 20 -p 30")
    eq([r["client"] for r in m.json("procs", "-C", "zeta")], [7], "-C zeta")
    eq([r["client"] for r in m.json("procs", "--comm=beta")], [4], "--comm=beta")
    r = m.run("procs", "-p", "999", "-w", "0.02", "-o", "json")
    eq(r.out, b"", "-p of none")


@test("options: -k -s")
def _(m):
    three(m)
    eq(len(m.json("procs", "-k", "2")), 2, "-k 2")
    eq(len(m.json("-k", "1")), 1, "-k 1")
    eq([r["pid"] for r in m.json("procs", "-s", "pid")], [30, 20, 20, 10], "-s pid")
    eq([r["comm"] for r in m.json("procs", "-s", "comm")], ["alpha", "alpha", "beta", "zeta"], "-s comm")
    most, = m.json("procs", "-s", "memory.resident", "-k", "1", "-d", "card0")
    eq(most["client"], 6, "-s memory.resident")
    eq([len(x) for x in m.live("procs", "-k1", steps=[None, None], interval=0.1)], [1, 1], "-k is for each sample")


@test("options: -1: all devices on one line")
def _(m):
    three(m)
    r = m.run("-1", "-H", "0.05", "2")
    lines = r.out.splitlines()
    eq(len(lines), 2, f"lines ({r.out!r})")
    for line in lines:
        for dev in (b"card0", b"card1", b"accel0"):
            check(dev in line, f"{dev} in {line!r}")
    r = m.run("-1", "0.05", "2", "-o", "json")
    for line in r.out.splitlines():
        v = strict(line)
        eq(len(v), 3, f"devices in one line: {line[:90]!r}")


@test("options: -H: no header")
def _(m):
    three(m)
    for fmt in ("line", "table", "csv"):
        with_, without = (m.run(*h, "-w", "0.02", "-t", "none", "-o", fmt).out for h in ([], ["-H"]))
        check(len(without.splitlines()) < len(with_.splitlines()), f"{fmt}: as many lines")
        check(b"DRIVER" not in without and b"driver,pdev" not in without, f"{fmt}: a header")
    eq(m.run("0.05", "3", "-d", "0").out.count(b"DRIVER"), 1, "headers of a run")


@test("options: -t")
def _(m):
    one_client(m)
    for args, now in (([], time.time), (["-t", "epoch"], time.time), (["-t", "mono"], time.monotonic)):
        before, shown, after = now(), m.json(*args)[0]["time"], now()
        check(before - 1e-6 <= shown <= after, f"{args}: {before} .. {shown} .. {after}")
    eq(m.json("-t", "none")[0]["time"], None, "none")
    iso = m.json("-t", "iso")[0]["time"]
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)", iso), f"iso {iso}")
    check(not re.search(rb"\d\d:\d\d:\d\d", m.run("-t", "none", "-w", "0.02").out), "a time in a line without")
    for fmt in FORMATS:
        for how in ("none", "epoch", "iso", "mono"):
            eq(m.run("-t", how, "-w", "0.01", "-o", fmt).code, 0, f"-t {how} -o {fmt}")


@test("options: -f: chosen fields; CSV is wide then; -f help")
def _(m):
    three(m)
    rows = list(csv.reader(io.StringIO(m.run("-f", "dev,clients,driver", "-o", "csv", "-w", "0.02").out.decode())))
    eq(rows, [["dev", "clients", "driver"], ["card0", "2", "i915"], ["card1", "1", "xe"], ["accel0", "1", "intel_vpu"]],
       "rows")
    r = m.run("-f", "help")
    eq(r.code, 0, "exit code of -f help")
    for word in (b"busy", b"memory", b"bytes", b"Hz"):
        check(word in r.out, f"{word} in -f help")
    d = m.json("-f", "dev,clients")[0]
    check({"dev", "clients"} <= set(d) and "memory" not in d, f"keys {sorted(d)}")
    for fmt in FORMATS:
        r = m.run("-f", "dev,clients,engine.busy", "-w", "0.02", "-o", fmt)
        eq(r.code, 0, f"exit code with {fmt}")
        check(b"card0" in r.out, f"{fmt}: {r.out!r}")


@test("options: -S: min, avg, max at the end")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))

    def step(v):
        return lambda: rewrite(f, dump("i915", 7, *ns(render=v), pdev=I915))
    s = m.live("-S", steps=[step(3e7), step(1e8), step(1.1e8)])
    recs = [r for x in s for r in x]
    plain, last = recs[:3], recs[3:]
    eq(len(last), 3, f"records behind the samples (all: {len(recs)})")
    b = [busy(r, "render") for r in plain]
    got = [busy(r, "render") for r in last]
    near(got[0], min(b), 0.01, "min")
    near(got[1], sum(b) / 3, 0.05, "avg")
    near(got[2], max(b), 0.01, "max")


@test("options: -q -v")
def _(m):
    r = m.run("-q")
    eq((r.code, r.out, r.err), (3, b"", b""), "-q without a device")
    m.device("i915", I915)
    m.fd(20, 5, dump("i915", 8, pdev=I915))
    for d in ("fd", "fdinfo"):
        os.chmod(m.path(f"proc/20/{d}"), 0)
    r = m.run("-v", "-w", "0.02", nobody=True)
    check(r.code == 0 and b"1" in r.err, f"-v with a process that refuses: {r!r}")
    r = m.run("procs", "-w", "0.02", nobody=True)
    eq((r.code, r.out.count(b"\n") <= 1), (4, True), f"all denied ({r!r})")


@test("options: -h -V, long forms, -- ends them, clusters, values joined")
def _(m):
    three(m)
    for args in (["-h"], ["--help"], ["procs", "-h"]):
        r = m.run(*args)
        eq((r.code, r.err), (0, b""), f"{args}")
        for word in (b"gpustat procs", b"--interval", b"--sys"):
            check(word in r.out, f"{args}: no {word} in the help")
        for word in (b"gpustat cgroups", b"gpustat list", b"gpustat fdinfo", *([] if tap.left_out(PROG) else [b"--replay"])):
            eq(word in r.out, args[0] != "procs", f"{args}: {word} in the help")
        lines = [x for x in r.out.splitlines() if not x.startswith((b"features: ", b"not built in: "))]
        check(all(len(x) <= 100 for x in lines), "a long line in the help")
        check(b"list[" not in r.out, "no blank behind `list`")
    check(re.fullmatch(rb"gpustat \S+\nfeatures: .+\n(not built in: .+\n)?", m.run("-V").out), "-V")
    eq(m.run("--version").out, m.run("-V").out, "--version")
    eq(len(parse_json(m.run("-rojson").out)), 3, "-rojson")
    eq(len(parse_json(m.run("-r", "--format=json", "--top=2").out)), 2, "--format= --top=")
    r = m.run("procs", "--raw", "--format", "json", "--pid", "10", "--sort", "pid", "--time", "none")
    eq(len(parse_json(r.out)), 1, "long forms")
    eq(m.run("--quiet", "--verbose", "--no-header", "--one-line", "--summary", "--window", "0.02").code, 0, "flags")
    f = m.write("-r", dump("i915", 7))
    eq(len(parse_json(run(["fdinfo", "-o", "json", "--", os.path.basename(f)], cwd=m.base).out)), 1, "--")


@test("options: nothing to show is not an error")
def _(m):
    m.device("i915", I915)
    for args in (["procs"], ["cgroups"]):
        for fmt in FORMATS:
            r = m.run(*args, "-w", "0.02", "-o", fmt)
            eq(r.code, 0, f"{args} {fmt} ({r!r})")
            if fmt == "json":
                eq(r.out, b"", "records")


# --- output ------------------------------------------------------------------------------------------------------

HOSTILE = [b"two words", b"a) S 1 (b", b"new\nline", b"bad\xff\xfe\xc3utf8", b"\x1b[31mred\x1b[0m", b'q"uo,te\\\'s',
           b"100%s%n;$(id)", b" lead trail ", "caf\u00e9 \u2615".encode(), b"\r\n\t", b"=1+1", b"-", b"", b"null",
           b"\x01\x02\x7f", b"\xc2\x9b31m", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"a=b c=\"d\"", b"\\x41\\", b"#c|d",
           b"\xe2\x80\xae", b"1e5", b"a\\nb"]


def hostile(m):
    m.device("i915", I915)
    for i, n in enumerate(HOSTILE):
        pid = 100 + i
        m.process(pid, n, cgroup=b"0::/h/" + n.replace(b"\n", b"") + b"\n")
        m.write(f"proc/{pid}/comm", n + b"\n")
        name = bytes(c for c in n if 33 <= c <= 126) or b"x"
        m.fd(pid, 5, raw(dump("i915", pid, *ns(render=5), pdev=I915)) + b"drm-client-name:\t" + name + b"\n"
             + b"drm-engine-x" + n.replace(b"\n", b"").replace(b":", b"") .replace(b" ", b"").replace(b"\t", b"")
             .replace(b"\r", b"") + b":\t5 ns\n" + b"odd-key:\t" + n.replace(b"\n", b"") + b"\n")


@test("hostile names: json")
def _(m):
    hostile(m)
    recs = m.json("procs")
    eq([r["comm"] for r in recs], [as_json(n) for n in HOSTILE], "comm")
    eq(len(m.json("cgroups")), len({n.replace(b"\n", b"") for n in HOSTILE}), "cgroups")
    m.json()
    m.json("list")
    m.json("procs", "-r")
    r = m.run("procs", "-1", "-w", "0.02", "-o", "json")
    strict(r.out)
    check(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", r.out), "raw control bytes")


@test("hostile names: csv")
def _(m):
    hostile(m)
    for args in (["procs"], ["cgroups"], [], ["list"], ["procs", "-r"]):
        r = m.run(*args, *([] if "list" in args else ["-w", "0.02"]), "-o", "csv")
        printable(r.out)
        rows = parse_csv(r.out)
        if args == ["procs"]:
            got = {int(x["client"]): x["comm"] for x in rows}
            for i, n in enumerate(HOSTILE):
                if b"\\" not in n:
                    eq(got[100 + i], as_text(n), "comm")


@test("hostile names: logfmt")
def _(m):
    hostile(m)
    for args in (["procs"], ["cgroups"], [], ["list"], ["procs", "-r"]):
        r = m.run(*args, *([] if "list" in args else ["-w", "0.02"]), "-o", "logfmt")
        printable(r.out)
        recs = parse_logfmt(r.out)
        if args == ["procs"]:
            eq(len(recs), len(HOSTILE), "records")
            for rec, n in zip(recs, HOSTILE):
                eq(rec.get("comm"), as_json(n), "comm")


@test("hostile names: line and table")
def _(m):
    hostile(m)
    for fmt in ("line", "table"):
        for args in (["procs"], ["cgroups"], [], ["list"], ["procs", "-r"]):
            r = m.run(*args, "-H", *([] if "list" in args else ["-w", "0.02"]), "-o", fmt)
            eq(r.code, 0, f"{args} ({r!r})")
            printable(r.out)
            if "procs" in args:
                eq(len(r.out.splitlines()), len(HOSTILE), f"lines of {fmt} {args}")


@test("hostile names: a cgroup path of 3 000 bytes")
def _(m):
    path = "/" + "/".join("d" * 100 for _i in range(30))
    one_client(m, cgroup=f"0::{path}\n")
    eq(m.json("procs")[0]["cgroup"], path, "cgroup")
    eq(m.json("cgroups")[0]["cgroup"], path, "record of cgroups")
    for fmt in ("line", "table"):
        for args in ([], ["procs"], ["cgroups"]):
            eq(len(m.run(*args, "-w", "0.02", "-H", "-o", fmt).out.splitlines()), 1, f"lines of {args} {fmt}")


@test("hostile names: of drivers, devices, dumps")
def _(m):
    text = b"drm-driver:\ta\x1b\"b,c\xff\ndrm-pdev:\tx\x07y\ndrm-client-id:\t5\ndrm-client-name:\tq\"\\%s\x1b\n" \
           b"drm-engine-e\x1b[m\",=:\t5 ns\ndrm-total-r\xff\",:\t6\nk\x1b\":\tv\x1b\"\n"
    path = m.write(os.fsdecode(b"du\"m,p\x1b\n\xff.txt"), text)
    m.fd(10, 5, text)
    for fmt, parse in (("json", parse_json), ("csv", parse_csv), ("logfmt", parse_logfmt), ("line", printable),
                       ("table", printable)):
        for args in (["fdinfo", path], ["procs", "-r", *m.roots()], ["-r", *m.roots()], ["list", *m.roots()]):
            r = run([*args, "-o", fmt])
            eq(r.code, 0, f"{args[0]} {fmt} ({r!r})")
            parse(r.out)
    bad = m.write(os.fsdecode(b"b\x1b[31m\xff.txt"), "no\n")
    r = run(["fdinfo", bad])
    check(b"\x1b" not in r.err and b"not a DRM file" in r.err, f"message {r.err!r}")


def stopped(m, sig, args):
    p = subprocess.Popen([PROG, *args, "-o", "json", *m.roots()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         bufsize=0)  # communicate() does not have what readline() had taken besides
    if "-w" in args:
        wait_asleep(p.pid)
    else:
        for _i in range(3):
            check(p.stdout.readline(), "no output")
    p.send_signal(sig)
    out, err = p.communicate(timeout=60)
    eq((p.returncode, err), (0, b""), f"exit code, messages after {sig.name}")
    return parse_json(out)


@test("signals: SIGINT, SIGTERM, SIGHUP: exit 0 and whole records")
def _(m):
    three(m)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        stopped(m, sig, ["0.05"])
        stopped(m, sig, ["procs", "0.01"])
        stopped(m, sig, ["-w", "3600"])


@test("signals: -S still sums up after one")
def _(m):
    one_client(m)
    check(len(stopped(m, signal.SIGINT, ["0.05", "-S"])) >= 3, "no summary")


@test("output: a closed pipe: SIGPIPE kills silently; ignored, exit 1 with a message")
def _(m):
    three(m)
    for restore in (True, False):
        for args in (["0.02"], ["procs", "0.02"], ["list"], ["fdinfo", m.write("a.txt", dump("i915", 7))], ["-h"]):
            r, w = os.pipe()
            os.close(r)
            p = subprocess.Popen([PROG, *args, *m.roots()], stdout=w, stderr=subprocess.PIPE, restore_signals=restore)
            os.close(w)
            err = p.communicate(timeout=60)[1]
            if restore:
                eq((p.returncode, err), (-signal.SIGPIPE, b""), f"{args} with SIGPIPE")
            else:
                eq(p.returncode, 1, f"{args} without SIGPIPE")
                check(err.startswith(b"gpustat: "), f"message {err!r}")


@test("output: /dev/full: exit 1 with a message")
def _(m):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    three(m)
    dumpf = m.write("a.txt", dump("i915", 7))
    for args in ([], ["procs"], ["cgroups"], ["list"], ["fdinfo", dumpf], ["-h"], ["-V"], ["-f", "help"],
                 ["0.02", "9"]):
        for fmt in FORMATS:
            with open("/dev/full", "wb") as full:
                p = subprocess.run([PROG, *args, "-o", fmt, *m.roots()], stdout=full, stderr=subprocess.PIPE,
                                   timeout=60)
            eq(p.returncode, 1, f"{args} {fmt}")
            check(p.stderr.startswith(b"gpustat: "), f"message {p.stderr!r}")


@test("output: no stdout at all")
def _(m):
    one_client(m)
    r = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", PROG, "-w", "0.02", *m.roots()], stderr=subprocess.PIPE,
                       timeout=60)
    eq(r.returncode, 1, f"exit code ({r.stderr!r})")
    r = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", PROG, "-w", "0.02", *m.roots()], timeout=60)
    eq(r.returncode, 1, "exit code without any of the three")


@test("output: one write per record where it fits PIPE_BUF")
def _(m):
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    three(m)
    for args in (["0.05", "2"], ["procs", "-w", "0.05"], ["list"]):
        log = m.path("strace.log")
        r = subprocess.run(["strace", "-s", "1000000", "-e", "trace=write,writev", "-o", log, PROG, *args, "-o", "json",
                            *m.roots()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if r.returncode != 0:
            raise Skip(f"strace: {r.stderr[-80:]!r}")
        with open(log, encoding="utf-8", errors="replace") as f:
            writes = [line for line in f if re.match(r"writev?\(1,", line)]
        n = len(r.stdout.splitlines())
        eq(len(writes), n, f"writes for {n} records of {args}")
        for line in writes:
            check(re.search(r'\\n", \d+\)', line), f"no whole record: {line[:60]}...{line[-30:]}")


@test("output: colour only for a terminal")
def _(m):
    three(m)
    for fmt in FORMATS:
        check(b"\x1b" not in m.run("-w", "0.02", "-o", fmt).out, f"an escape in {fmt}")


@test("a node that /sys ties to no device, of which fdinfo says another: read, and no end of looking")
def _(m):
    with tempfile.TemporaryDirectory() as d:
        shutil.copytree(os.path.join(TREES, "i915"), d, symlinks=True, dirs_exist_ok=True)
        os.unlink(f"{d}/sys/devices/pci0000:00/0000:00:02.0/drm/card0/device")
        r = run(["procs", "-w", "0.02", "-o", "json", "--proc", f"{d}/proc", "--sys", f"{d}/sys"], timeout=60)
    eq((r.code, r.err), (0, b""), "exit code, messages")
    shared, = [c for c in parse_json(r.out) if c["dev"] == "card0"]
    eq((shared["pids"], shared["engine"]["render"]["busy"]), ([1, 812, 2301], 0.0), "the client of three holders")


@test("output: exact above 2^53")
def _(m):
    n = 2**63 + 12345
    one_client(m, text=dump("i915", 7, f"drm-engine-render:\t{n} ns", f"drm-total-system0:\t{n}", pdev=I915))
    for args in (["procs", "-r"], ["-r"]):
        for fmt in ("json", "csv", "logfmt"):
            check(m.run(*args, "-o", fmt).out.count(str(n).encode()) >= 2, f"{args} {fmt}")


@test("host: a /proc file of many records, of which the kernel gives a page at a time")
def _(m):
    try:
        with open("/proc/slabinfo", encoding="ascii") as f:
            names = [line.split()[0] for line in f][2:]
    except OSError as e:
        raise Skip("/proc/slabinfo may not be read here") from e
    os.makedirs(m.proc, exist_ok=True)
    os.symlink("/proc/slabinfo", f"{m.proc}/vmstat")
    out = m.run("events").out.decode()
    check(f"proc/{names[0]}/" in out and f"proc/{names[-1]}/" in out, f"{len(names)} lines, but of the last none of {out[-200:]!r}")


@test("sensors: what no record shows is not even opened; what stays is read once")
def _(m):
    tree = os.path.join(TREES, "amdgpu")
    for args, shown, left_out in ((["-o", "json"], ["fan1_input", "gpu_metrics", "temp1_input"], []),
                                  ([], ["gpu_metrics", "temp1_input", "mem_info_vram_used"], ["fan1_input", "current_link_speed"]),
                                  (["procs"], ["gpu_metrics"], ["fan1_input", "temp1_input", "pp_dpm_sclk"])):
        with subprocess.Popen([PROG, *args, "--proc", f"{tree}/proc", "--sys", f"{tree}/sys", "0.05", "1000"],
                              stdout=subprocess.PIPE) as p:
            p.stdout.readline()
            p.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, p.pid, os.WSTOPPED)
            opened = {os.path.basename(os.readlink(f"/proc/{p.pid}/fd/{n}")) for n in os.listdir(f"/proc/{p.pid}/fd")}
            p.kill()
        check(opened >= set(shown) and not opened & set(left_out), f"{args}: {sorted(opened)}")
    r = run(["-w", "0.02", "-o", "json", "-n", "2", "0.02", "--proc", f"{tree}/proc", "--sys", f"{tree}/sys"])
    one, two = parse_json(r.out)
    for what in ("vram", "visible", "gtt"):
        eq(two[what]["total"], one[what]["total"], f"total of {what}")
        check(one[what]["total"] > 0, f"no total of {what}")


@test("running: no stream and no /dev, as the first process of an image may have it: no file takes a stream's number")
def _(m):
    as_root()
    root = m.path("image")
    for name in ("proc", "sys"):
        os.makedirs(f"{root}/{name}")
    with open(f"{root}/proc/stat", "w", encoding="ascii") as f:
        f.write("cpu  1 2 3 4 5 6 7 8 9 10\n")
    os.link(PROG, f"{root}/gpustat")

    def first_process():
        os.chroot(root)
        os.chdir("/")
        for fd in range(3):
            os.close(fd)
    with subprocess.Popen(["/gpustat", "host", "--proc", "/proc", "--sys", "/sys", "-O", "/out", "0.05", "1000"], executable="/gpustat",
                          preexec_fn=first_process) as p:
        until("a record", lambda: os.path.exists(f"{root}/out") and os.path.getsize(f"{root}/out"))
        links = {fd: os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd")}
        p.kill()
    check(all(links[fd] == root for fd in "012"), f"streams: {links}")
    check(sorted(links.values()).count(f"{root}/out") == 1, f"the file: {links}")


# --- running --------------------------------------------------------------------------------------------------------

def execute(item, scratch):
    name, f, _slow = item
    t = time.monotonic()
    try:
        f(Machine(tempfile.mkdtemp(dir=scratch)))
        return name, "ok", "", time.monotonic() - t
    except Skip as e:
        return name, "skip", str(e), time.monotonic() - t
    except (AssertionError, ValueError, KeyError, IndexError, TypeError, OSError, subprocess.SubprocessError,
            UnicodeError, clock.Unable) as e:
        # what a check says is enough; of anything else the place too
        where = traceback.format_exception(type(e), e, e.__traceback__)[-3:]
        text = str(e) if isinstance(e, AssertionError) else "".join(where)
        return name, "not ok", text, time.monotonic() - t


def report(results):
    failed = 0
    for i, (name, how, text, took) in enumerate(results, 1):
        name = name.replace("#", "\\#")
        if how == "not ok":
            failed += 1
            print(f"not ok {i} - {name}")
            for line in text.splitlines()[:12]:
                print(f"# {line[:1500]}")
        else:
            print(f"ok {i} - {name}" + (f" # SKIP {text}" if how == "skip" else ""))
        if os.environ.get("TIMES"):
            print(f"# {took:.2f} s")
    return failed


def roomy(folder):
    """The folder, which is in memory, or None where it is too small for the largest of these machines."""
    with contextlib.suppress(OSError):
        v = os.statvfs(folder)
        if os.access(folder, os.W_OK) and v.f_bavail * v.f_frsize >= 1 << 29 and v.f_favail >= 200000:
            return folder
    return None


def main(prog, tests, workers=16, alone=None):
    """alone: which tests run one by one, before the others."""
    global PROG
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as has what nohup runs
    only = os.environ.get("ONLY")
    if only:
        tests = [t for t in tests if only in t[0]]
    scratch = tempfile.mkdtemp(prefix="gpustat-edges-", dir=roomy("/dev/shm"))
    os.chmod(scratch, 0o755)
    try:
        # a copy that any user may run
        PROG = os.path.join(scratch, "gpustat")
        shutil.copyfile(prog, PROG)
        os.chmod(PROG, 0o755)
        tap.skip_lacking(PROG, Skip)
        print(f"1..{len(tests)}", flush=True)
        done = {i: execute(t, scratch) for i, t in enumerate(tests) if alone and alone(t)}
        with ThreadPoolExecutor(max_workers=workers) as pool:
            # the long ones first; printed in their own order
            todo = sorted((i for i in range(len(tests)) if i not in done), key=lambda i: not tests[i][2])
            futures = {i: pool.submit(execute, tests[i], scratch) for i in todo}
            results = [done[i] if i in done else futures[i].result() for i in range(len(tests))]
        failed = report(results)
    finally:
        for folder, names, _files in os.walk(scratch):
            for n in names:
                d = os.path.join(folder, n)
                if not os.path.islink(d):
                    os.chmod(d, 0o755)  # tests have closed some
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_edges.py PROG")
    add_dumps()
    sys.exit(main(sys.argv[1], TESTS))
