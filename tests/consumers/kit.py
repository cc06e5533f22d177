"""Common parts of the tests with real consumers: machines with changing values, daemons on
loopback, strict readers of gpustat's formats, and an independent computation of the metric names of
a record.
SPDX-License-Identifier: MIT"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal

sys.dont_write_bytecode = True  # leaves the source folder unchanged
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.append("/usr/lib/python3/dist-packages")  # the folder of Debian's packages, for any python
import machine  # noqa: E402
from machine import Skip, check, eq, no_constant, no_twice, rewrite, run  # noqa: E402, F401

TREES = machine.TREES
REC = os.path.join(machine.HERE, "oa", "skl.rec")
NAMES = sorted(d for d in os.listdir(TREES) if os.path.isdir(os.path.join(TREES, d, "proc")))
TESTS = []
TAKERS = []  # (format, f(kind, args)): f checks that a strict reader accepts records of this kind


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


def takes(fmt):
    """Defines a check of one kind of record, which becomes a test of all kinds."""
    def add(f):
        TAKERS.append((fmt, f))

        def every(_m):
            for kind, args in commands().items():
                f(kind, args)
        TESTS.append((f"{fmt}: every kind of record: {f.__doc__}", every, False))
        return f
    return add


@test("doctor: records are valid in every format")
def _(_m):
    for _fmt, f in TAKERS:
        f("source", ["doctor", *roots("mixed")])


def tool(name, package):
    """Returns the tool's path. Debian installs daemons in folders that are not in a user's PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Skip(f"{name} is missing (package {package})")
    return path


# --- machines -------------------------------------------------------------------------------------

def roots(name):
    return ["--proc", os.path.join(TREES, name, "proc"), "--sys", os.path.join(TREES, name, "sys")]


def settle(m, name):
    """Copies a machine of tests/trees, so that the test can change it."""
    for d in ("proc", "sys"):
        shutil.rmtree(m.path(d), ignore_errors=True)
        shutil.copytree(os.path.join(TREES, name, d), m.path(d), symlinks=True)
    return m


ENGINE = re.compile(r"^(drm-engine-[^:]+:\s*)(\d+)( ns)$", re.M)


def engine_files(m):
    """Returns the fdinfo files that contain engine times, with their content."""
    got = {}
    for pid in os.listdir(m.proc):
        folder = os.path.join(m.proc, pid, "fdinfo")
        for n in os.listdir(folder) if pid.isdigit() and os.path.isdir(folder) else ():
            path = os.path.join(folder, n)
            with open(path, encoding="latin-1") as f:
                text = f.read()
            if ENGINE.search(text):
                got[path] = text
    return got


class Mover:
    """Keeps every engine of every client busy for SHARE of the time."""

    def __init__(self, m, share):
        self.files, self.share = engine_files(m), share
        self.begun, self.added, self.on = time.monotonic(), 0, True
        self.thread = threading.Thread(target=self.move, daemon=True)
        self.thread.start()

    def move(self):
        while self.on:
            self.added = int((time.monotonic() - self.begun) * self.share * 1e9)
            for path, text in self.files.items():
                rewrite(path, ENGINE.sub(lambda x: f"{x[1]}{int(x[2]) + self.added}{x[3]}", text).encode("latin-1"))
            time.sleep(0.02)

    def stop(self):
        self.on = False
        self.thread.join()


# The arguments that print records of each kind, on a tree that does not change.
def commands(tree="mixed"):
    at = ["-w", "0.02", *roots(tree)]
    dump = os.path.join(TREES, tree, "proc")
    dumps = sorted(p for p in engine_files_of(dump))
    spin = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]
    return {
        "device": at, "device -r": ["-r", *roots(tree)],
        "client": ["clients", *at], "client -r": ["clients", "-r", *roots(tree)],
        "cgroup": ["cgroups", *at], "cgroup -r": ["cgroups", "-r", *roots(tree)],
        "list": ["list", *roots(tree)],
        "fdinfo": ["fdinfo", *dumps],
        "event": ["stat", "-a", "-e", "task-clock,page-faults,cycles", "-w", "0.05"],
        "sample": ["sample", "-F", "500", "--", *spin],
        "profile": ["sample", "-F", "500", "--summary", "--", *spin],
        "oa": ["oa", "--replay", REC, "--totals"],
        "counter": ["counters", "CPU * utilization", "Physical memory usage", "-w", "0.02", "--proc",
                    os.path.join(TREES, "host", "proc"), "--sys", os.path.join(TREES, "host", "sys")],
        "host": ["host", *("-w", "0.02"), *roots("host")],
    }


def engine_files_of(proc):
    class At:
        pass
    at = At()
    at.proc = proc
    return engine_files(at)


def ours(args, fmt, *more, **kw):
    """Returns gpustat's output in that format. stat and sample with a command print to stderr by
    default."""
    cut = args.index("--") if "--" in args else len(args)
    out = ["--log-fd", "1"] if args[0] in ("stat", "sample") else []
    r = run([*args[:cut], *out, "-o", fmt, *more, *args[cut:]], **kw)
    check(r.code == 0 or args[0] == "doctor", f"{' '.join(args[:2])} -o {fmt}: {r!r}")
    return r.out


# --- daemons --------------------------------------------------------------------------------------

def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    """A process that always ends with the block. It is identified only by its pid."""

    def __init__(self, m, *args, name=None, **kw):
        self.log = m.path(f"{name or os.path.basename(args[0])}.log")
        self.args = args
        with open(self.log, "ab") as f:
            self.p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=f, stderr=f, cwd=m.base,
                                      start_new_session=True, **kw)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.p.kill()
        self.p.wait()

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def until(self, ready, what, seconds=120):
        """Waits until ready() returns a true value, and returns that value."""
        end = time.monotonic() + seconds
        last = None
        while time.monotonic() < end:
            try:
                got = ready()
                if got:
                    return got
            except (OSError, ValueError, KeyError, IndexError, AssertionError) as e:
                last = e
            check(self.p.poll() is None, f"{self.args[0]} ended with {self.p.returncode}: {self.text()[-600:]}")
            time.sleep(0.1)
        raise AssertionError(f"{what}: not within {seconds} s ({last}): {self.text()[-600:]}")

    def listens(self, port):
        def ready():
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        self.until(ready, f"port {port}")


def fetch(url, data=None, timeout=60):
    """Returns (status, body)."""
    try:
        with urllib.request.urlopen(url, data=data, timeout=timeout) as r:
            return r.status, r.read()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read()


def query(port, text):
    """Returns the answer of prometheus: a list of (labels, Decimal)."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    status, body = fetch(url)
    eq(status, 200, f"{text}: {body!r}")
    return [(r["metric"], Decimal(r["value"][1])) for r in json.loads(body)["data"]["result"]]


# --- a strict parser of the exposition format -----------------------------------------------------

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|NaN|[+-]Inf")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
PLAIN = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def unescape(s):
    return re.sub(r'\\["\\n]', lambda x: PLAIN[x[0]], s)


def labels_of(text, line, filled):
    got, i = {}, 0
    while i < len(text):
        x = LABEL.match(text, i)
        check(x, f"labels of {line!r}")
        check(x[1] not in got, f"label {x[1]} twice: {line!r}")
        check(not x[1].startswith("__"), f"label {x[1]}")
        check(x[2] or filled, f"empty label {x[1]}: {line!r}")  # same as a missing label
        if x[2]:
            got[x[1]] = unescape(x[2])
        i = x.end()
        if i < len(text):
            check(text[i] == "," and i + 1 < len(text), f"labels of {line!r}")
            i += 1
    return got


def key(name, labels):
    return name, tuple(sorted(labels.items()))


class Exposition:
    """series: (name, sorted labels) -> value as text; types, helps: by family. filled:
    node_exporter adds missing labels with empty values, so that all series of a family have the
    same labels."""

    def __init__(self, out, filled=False):
        text = out.decode("utf-8")
        check(text == "" or text.endswith("\n"), "no final newline")
        check("\r" not in text and "\0" not in text, "CR or NUL in the output")
        self.series, self.types, self.helps, closed, family = {}, {}, {}, set(), None
        for line in text.split("\n")[:-1]:
            check(line == line.rstrip(" \t"), f"blank at the end of {line!r}")
            if line.startswith("#"):
                x = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
                check(x, f"comment {line!r}")
                if x[1] == "HELP":
                    check(x[2] not in self.helps and x[2] not in closed, f"{x[2]}: HELP twice")
                    check(re.fullmatch(r"(?:[^\\]|\\[\\n])*", x[3]), f"escapes in {line!r}")
                    if family:
                        closed.add(family)
                    family, self.helps[x[2]] = x[2], x[3]
                else:
                    eq(x[2], family, "TYPE follows its HELP")
                    check(x[2] not in self.types, f"{x[2]}: TYPE twice")
                    check(x[3] in ("counter", "gauge"), f"type in {line!r}")
                    self.types[x[2]] = x[3]
                continue
            x = re.fullmatch(rf"({NAME})(?:\{{(.*)\}})? (\S+)", line)
            check(x, f"not a sample, or with a timestamp: {line!r}")
            eq(x[1], family, f"family of {line[:80]!r}")
            check(x[1] in self.types, f"{x[1]}: sample before its TYPE")
            check(x[1].endswith("_total") == (self.types[x[1]] == "counter"), f"{x[1]} is a {self.types[x[1]]}")
            check(FLOAT.fullmatch(x[3]) and "N" not in x[3] and "I" not in x[3], f"value of {line!r}")
            k = key(x[1], labels_of(x[2] or "", line, filled))
            check(k not in self.series, f"series twice: {line!r}")
            self.series[k] = x[3]
        used = {n for n, _ in self.series}
        check(set(self.types) == used, f"families without a sample: {set(self.types) - used}")

    def values(self):
        return {k: float(v) for k, v in self.series.items()}


# --- expected metric names ------------------------------------------------------------------------

INSTANCE = {"engine": "engine", "memory": "region", "freq": "domain", **dict.fromkeys(
    "temp power energy fan volt current pwm load fan_limit power_limit temp_limit".split(), "sensor")}
RATIO, NANO, ONE, GIGA = Decimal("0.01"), Decimal("1e-9"), Decimal(1), Decimal("1e9")
# (group, member) -> (name, factor); a group's own units if all its members share them
UNITS = {
    ("engine", "busy"): ("engine_busy_ratio", RATIO), ("engine", "busy_ns"): ("engine_busy_seconds_total", NANO),
    ("engine", "cycles"): ("engine_cycles_total", ONE), ("engine", "total_cycles"): ("engine_total_cycles_total", ONE),
    ("engine", "capacity"): ("engine_capacity", ONE), ("engine", "util"): ("engine_util_ratio", RATIO),
    **{("engine", f): (f"engine_{f}_hertz", ONE) for f in ("freq", "maxfreq", "curfreq")},
    **{("memory", x): (f"memory_{x}_bytes", ONE) for x in "total shared resident purgeable active".split()},
    **{(g, x): (f"{g}_{x}_bytes", ONE) for g in ("vram", "visible", "preempt", "gtt") for x in ("total", "used")},
    **{("freq", x): (f"freq_{x}_hertz", ONE) for x in "cur act target avg min max".split()},
    ("load", None): ("load_ratio", RATIO), ("temp", None): ("temp_celsius", ONE), ("power", None): ("power_watts", ONE),
    ("energy", None): ("energy_joules_total", ONE), ("fan", None): ("fan_rpm", ONE), ("pwm", None): ("pwm", ONE),
    ("volt", None): ("volt_volts", ONE), ("current", None): ("current_amperes", ONE),
    ("link", "speed"): ("link_speed_transfers_per_second", GIGA), ("link", "width"): ("link_width", ONE),
    (None, "clients"): ("clients", ONE), (None, "busy"): ("busy_ratio", RATIO), (None, "idle"): ("idle_ratio", RATIO),
    (None, "used"): ("used_bytes", ONE),
}
OWN = {"client": ("client", "pid", "comm"), "cgroup": ("cgroup",)}
PREFIX = {"device": "gpustat_", "client": "gpustat_client_", "cgroup": "gpustat_cgroup_"}


def exact(out):
    """Parses records and keeps numbers as text, exactly as printed."""
    return [json.loads(line, parse_int=Decimal, parse_float=Decimal, parse_constant=no_constant,
                       object_pairs_hook=no_twice) for line in out.splitlines()]


def shown(text):
    """Returns a name as in metric formats: characters that are not allowed become question marks."""
    return None if text is None else re.sub(r"[\0-\x1f\x7f-\x9f\ufffd]", "?", str(text))


def expected(recs):
    """Returns {(name, dev, who, instance): value} for the members in `UNITS`."""
    want = {}
    for r in recs:
        who = None
        if r["kind"] != "device":
            who = tuple(shown(r.get(k)) for k in OWN[r["kind"]])

        def add(group, member, inst, v, kind=r["kind"], dev=r["dev"], who=who):
            if isinstance(v, Decimal) and (group, member) in UNITS:
                name, factor = UNITS[group, member]
                want[PREFIX[kind] + name, dev, who, inst] = v * factor
        for group, v in r.items():
            if not isinstance(v, dict):
                add(None, group, None, v)
                continue
            for k, w in v.items():
                if isinstance(w, dict):
                    for member, x in w.items():
                        add(group, member, k, x)
                elif (group, None) in UNITS:
                    add(group, None, k, w)
                else:
                    add(group, k, None, w)
    return want


def told(series, kind):
    """Returns the same for an exposition, without the names that expected() does not have."""
    names = {PREFIX[kind] + n: group for (group, _), (n, _) in UNITS.items()}
    got = {}
    for (name, labels), v in series.items():
        if name in names:
            d = dict(labels)
            inst = d.get(INSTANCE[names[name]]) if names[name] in INSTANCE else None
            k = name, d["dev"], tuple(shown(d.get(x)) for x in OWN[kind]) if kind in OWN else None, inst
            check(k not in got, f"twice: {k}")
            got[k] = Decimal(v)
    return got


def interrupt(p, sig=signal.SIGTERM):
    """Ends a gpustat process. Returns its exit code."""
    if p.poll() is None:
        p.send_signal(sig)
    try:
        return p.wait(timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        return p.wait()
