# machine.py - the library of the tests in Python: machines made of files, runs of the program on
# them, parsers of its formats, and the runner of a list of tests, which prints TAP. Variables of
# the environment: ONLY=TEXT runs only the tests with TEXT in their names; PART=live only those that
# @live marks, PART=quick only the others; TIMES=1 prints the time of each test.
# SPDX-License-Identifier: MIT
import contextlib
import csv
import ctypes
import fcntl
import functools
import io
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import time
import unicodedata
import traceback
from concurrent.futures import ThreadPoolExecutor

import clock
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DUMPS = os.path.join(ROOT, "..", "shared", "fdinfo")
TREES = os.path.join(HERE, "trees")
NOBODY = 65534
WINDOW = 0.5  # s: of one-shot runs whose files change between the two readings
STEP = 0.3    # s: the interval of runs with several samples
CSV_HEADER = "time,dt,kind,dev,driver,pdev,client,pid,comm,cgroup,field,instance,value"
FORMATS = ["line", "table", "plain", "csv", "json", "logfmt"]
PROG = None   # path of the program, set by main()


# --- small tools ----------------------------------------------------------------------------------

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
    """Parses one JSON value, which must conform to the standard: no NaN, no duplicate key, valid
    UTF-8, no lone surrogate."""
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    v = json.loads(text, object_pairs_hook=no_twice, parse_constant=no_constant)
    json.dumps(v, ensure_ascii=False).encode("utf-8")
    return v


def parse_json(out):
    check(out == b"" or out.endswith(b"\n"), f"output ends within a line: {out[-80:]!r}")
    return [strict(line) for line in out.splitlines()]


def parse_csv(out):
    """Returns the rows of the long form of CSV, as dicts."""
    check(out.endswith(b"\n"), "output ends within a line")
    rows = list(csv.reader(io.StringIO(out.decode("utf-8"), newline=""), strict=True))
    eq(",".join(rows[0]), CSV_HEADER, "header")
    for r in rows:
        eq(len(r), 13, f"columns of {r}")
    return [dict(zip(rows[0], r)) for r in rows[1:]]


def parse_logfmt_line(line):
    """Parses a line of key=value and key="JSON string". Keys have letters, digits, '_' and '.';
    keys that would be equal end with '~' and hexadecimal digits."""
    d, i = {}, 0
    while i < len(line):
        m = re.compile(r'([A-Za-z0-9_.]+(?:~[0-9a-f]+)?(?:\.[a-z_]+)?)=(?:"((?:[^"\\]|\\.)*)"|([^\s"=]*))(?: |$)').match(line, i)
        check(m, f"no logfmt: ...{line[i:i + 60]!r}")
        check(m.group(1) not in d, f"key {m.group(1)} twice")
        d[m.group(1)] = strict(f'"{m.group(2)}"') if m.group(2) is not None else m.group(3)
        i = m.end()
    return d


def parse_logfmt(out):
    check(out == b"" or out.endswith(b"\n"), "output ends within a line")
    return [parse_logfmt_line(line) for line in out.decode("utf-8").split("\n")[:-1]]


def printable(out):
    """Returns the text, which must be valid UTF-8 without characters that control the terminal."""
    text = out.decode("utf-8")
    bad = [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or moves_text(c))]
    check(not bad, f"raw control characters {bad[:4]!r}")
    return text


def sequences(b):
    """Yields (text, bytes) for each character; text is None for each invalid byte."""
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


def moves_text(c):
    """True if a terminal starts a new line at c, or shows the text after it in another
    direction."""
    return (unicodedata.category(c) in ("Zl", "Zp") or c in "\u061c\u200e\u200f"
            or unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def as_text(b):
    def one(c, raw):
        if c is None or ord(c) < 32 or 127 <= ord(c) < 160 or moves_text(c):
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


def on_terminal(args, cols=80, rows=24, timeout=60, **env):
    """Returns the output of a run with a terminal of this size as standard output, without carriage
    returns. env: variables to set; None removes a variable."""
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
    full = {**os.environ, "TERM": "vt100", "COLUMNS": None, "NO_COLOR": None, **env}
    with subprocess.Popen([PROG, *args], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                          env={k: v for k, v in full.items() if v is not None}) as p:
        os.close(slave)
        out, end = b"", time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                more = os.read(master, 65536)
            except OSError:  # the program has ended
                break
            out += more
        p.wait(timeout)
        eq(p.returncode, 0, p.stderr.read())
    os.close(master)
    return out.replace(b"\r\n", b"\n").decode()


def feature(name):
    """Skips the test if the program was built without the feature, which has a format of this name."""
    lacked = tap.lacks(PROG, ["-o", name])
    if lacked:
        raise Skip(lacked)


def built_in(name):
    """Skips the test if the program was built without the feature."""
    if name in tap.left_out(PROG):
        raise Skip(f"not built in: {name}")


def package(tool, name):
    path = shutil.which(tool)
    if not path:
        raise Skip(f"needs package {name}")
    return path


def protoc(trace):
    """Returns the packets of a Perfetto trace as text, with the names of tests/timelines/perfetto.proto."""
    p = subprocess.run([package("protoc", "protobuf-compiler"), f"--proto_path={HERE}/timelines", "--decode=perfetto.protos.Trace",
                        "perfetto.proto"], input=trace, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    check(p.returncode == 0 and p.stderr == b"", f"protoc: {p.stderr!r}")
    return p.stdout.decode()


# --- machines made of files -----------------------------------------------------------------------

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
        """Adds a relative link, as in sysfs; both paths are relative to the base folder."""
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
        """Removes a process in the way that an exit does: open fdinfo files become empty, and its
        folder is removed."""
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
        """Returns the records of a short one-shot run, which must succeed."""
        args = list(args)
        if not {"-w", "-r", "list"} & set(args):
            args += ["-w", "0.02"]
        r = self.run(*args, "-o", "json", **kw)
        eq(r.code, 0, f"exit code ({r!r})")
        return parse_json(r.out)

    def driven(self, *args, limit=None, **kw):
        """Runs the program with a clock that the test controls. limit: the number of descriptors
        that it may open."""
        words = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"] if limit else []
        try:
            return clock.Driven([*words, PROG, *args, *self.roots()], execs=2 if limit else 1, **kw)
        except clock.Unable as e:
            raise Skip(str(e)) from None

    def live(self, *args, steps, interval=None, late=None):
        """Runs the program while its files change: calls steps[k] before sample k, after the
        previous reading. late[k]: sample k is taken this many seconds late. Returns a list of
        records for each sample. With -r, sample 0 is taken at the start."""
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
        """Like live(), with `clients`. Returns for each sample {client id: record}."""
        return [{r["client"]: r for r in s} for s in self.live("clients", *args, steps=steps, **kw)]


def wait_asleep(pid):
    """Waits until the process sleeps, which it does only between its samples."""
    seen, until = 0, time.monotonic() + 60
    while seen < 3:
        with open(f"/proc/{pid}/stat", "rb") as f:
            state = f.read().rpartition(b")")[2].split()[0]
        check(state != b"Z", "ended before its first sample")
        check(time.monotonic() < until, "does not fall asleep")
        seen = seen + 1 if state == b"S" else 0
        time.sleep(0.004)


def until(what, holds):
    """Waits until holds() returns a true value, even on a slow machine. Returns that value."""
    end = time.monotonic() + 120
    while not (got := holds()):
        check(time.monotonic() < end, f"did not happen: {what}")
        time.sleep(0.005)
    return got


def waiting_in(pipe):
    """Returns the number of unread bytes in the pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def until_taken(p):
    """Waits until the process has read all of its standard input and sleeps."""
    until("its input is read", lambda: not waiting_in(p.stdin))
    wait_asleep(p.pid)


def cpu_of(pid):
    """Returns the CPU time of all threads of the process, in seconds."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def most_by_perf(seconds):
    """Returns the maximum of perf's task-clock for this CPU time of the scheduler. The scheduler's
    value is that of its last tick; perf's clock also runs while the host uses the CPU, and counted
    up to 8 % more if tasks compete for a CPU (Linux 6.18)."""
    return 1.2 * seconds + 0.01


def until_it_ran(pid, seconds):
    """Waits until the process has used this much more CPU time, without a time limit of its own."""
    had = cpu_of(pid)
    until(f"{pid} runs for {seconds} s", lambda: cpu_of(pid) >= had + seconds)


def command_of(pid, name="work"):
    """Waits for the child with this name of process pid. Returns its PID."""
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


def copy_program(source, path):
    """Copies a program, to be run from there. cp(1) copies it, because processes that other threads
    fork have copies of all descriptors of this one until their exec, and a descriptor that is open
    for writing to the program causes "Text file busy"."""
    subprocess.run(["cp", "--", source, path], check=True)
    os.chmod(path, 0o755)


def rewrite(path, text):
    """Writes the file in place, because the program keeps fdinfo files open."""
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
    """Returns the record that `gpustat fdinfo` prints for one dump."""
    path = m.write(f"dump-{time.monotonic_ns()}.txt", text)
    r = run(["fdinfo", "-o", "json", *args, path])
    eq(r.code, 0, f"exit code ({r!r})")
    recs = parse_json(r.out)
    eq(len(recs), 1, "records")
    eq(recs[0]["kind"], "fdinfo", "kind")
    return recs[0]


def val(rec, group, inst, member):
    """Returns a number of the record, or None if it is absent or null."""
    return rec[group].get(inst, {}).get(member)


def as_root():
    if os.getuid() != 0:
        raise Skip("needs root")


@functools.cache
def breakpoints_count():
    """True if the kernel counts a write to a watched word: some virtual machines never trigger
    breakpoints."""
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    if not number:
        return True
    libc, word = ctypes.CDLL(None, use_errno=True), ctypes.c_uint32()
    # perf_event_attr of 72 bytes: PERF_TYPE_BREAKPOINT, exclude_kernel and exclude_hv, HW_BREAKPOINT_W
    attr = struct.pack("=IIQQQQQIIQQ", 5, 72, 0, 0, 0, 0, 0x60, 0, 2, ctypes.addressof(word), 4)
    fd = libc.syscall(number, attr, 0, -1, -1, 0)
    if fd < 0:
        return True
    word.value = 1
    count, = struct.unpack("=Q", os.read(fd, 8))
    os.close(fd)
    return count > 0


def needs_breakpoints():
    if not breakpoints_count():
        raise Skip("this machine accepts breakpoints but does not count them")


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


def live(f):
    """Marks a test that depends on this machine's kernel, on time or on other processes."""
    f.live = True
    return f


I915, XE, AMD = "0000:00:02.0", "0000:03:00.0", "0000:08:00.0"


def one_client(m, driver="i915", pdev=I915, text=None, **kw):
    m.device(driver, pdev)
    m.process(10, **kw)
    return m.fd(10, 5, text or dump(driver, 7, *ns(render=1000), pdev=pdev))


def in_namespace(m, script, *, hidepid=None):
    """Runs the script in a new PID namespace with its /proc mounted at $P. Before Linux 5.8 hidepid
    applies to all mounts of /proc in a PID namespace, so that it must be a new one."""
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


# --- options --------------------------------------------------------------------------------------

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


def on_grid(sleeps, step, tol=0.001):
    """Returns the times of samples, in steps after the first reading. They must be increasing whole
    numbers."""
    ks = [round((due - sleeps[0]) / clock.NS / step) for due in sleeps]
    for k, due in zip(ks, sleeps):
        near((due - sleeps[0]) / clock.NS, k * step, tol, f"sample {k} on the grid")
    eq(sorted(set(ks)), ks, "samples are in order, and no two have the same time")
    return ks


# --- running --------------------------------------------------------------------------------------

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
        # the message of a check is sufficient; other exceptions are printed with their traceback
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
    """Returns the folder, or None if it is not writable or too small for the largest machine."""
    with contextlib.suppress(OSError):
        v = os.statvfs(folder)
        if os.access(folder, os.W_OK) and v.f_bavail * v.f_frsize >= 1 << 29 and v.f_favail >= 200000:
            return folder
    return None


def main(prog, tests, workers=16, alone=None):
    """Runs the tests. alone(test): True if it runs alone, before the others. Returns the exit code."""
    global PROG
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell's background jobs ignore it
    only, part = os.environ.get("ONLY"), os.environ.get("PART")
    if only:
        tests = [t for t in tests if only in t[0]]
    if part:
        tests = [t for t in tests if hasattr(t[1], "live") == (part == "live")]
    scratch = tap.temporary_folder("gpustat-edges-", roomy("/dev/shm"))
    os.chmod(scratch, 0o755)
    try:
        # a copy that every user may run
        PROG = os.path.join(scratch, "gpustat")
        shutil.copyfile(prog, PROG)
        os.chmod(PROG, 0o755)
        tap.skip_lacking(PROG, Skip)
        print(f"1..{len(tests)}", flush=True)
        done = {i: execute(t, scratch) for i, t in enumerate(tests) if alone and alone(t)}
        with ThreadPoolExecutor(max_workers=workers) as pool:
            # long tests are started first; results are printed in the order of the list
            todo = sorted((i for i in range(len(tests)) if i not in done), key=lambda i: not tests[i][2])
            futures = {i: pool.submit(execute, tests[i], scratch) for i in todo}
            results = [done[i] if i in done else futures[i].result() for i in range(len(tests))]
        failed = report(results)
    finally:
        tap.remove(scratch)
    return 1 if failed else 0
