#!/usr/bin/env python3
# t_timeline.py PROG - timelines: each packet of -o perfetto is decoded by protoc with Perfetto's
# field numbers (tests/timelines/perfetto.proto), each event of -o chrome by Python's json, and the
# values are compared with those of -o json. Prints TAP.
# SPDX-License-Identifier: MIT
import ast
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (HERE, I915, Skip, TREES, as_json, check, dump, eq, ns, on_terminal, package,  # noqa: E402
                     parse_json, protoc, run, strict, test)

GOLDEN = os.path.join(HERE, "timelines", "i915.txt")
TREE_NAMES = sorted(t for t in os.listdir(TREES) if os.path.isdir(f"{TREES}/{t}/proc"))


def roots(tree):
    return ["--proc", f"{TREES}/{tree}/proc", "--sys", f"{TREES}/{tree}/sys"]


def good(args, **kw):
    r = run(args, **kw)
    eq(r.code, 0, f"exit code of {args} ({r!r})")
    return r.out


# --- perfetto: protoc's text as dicts of lists ----------------------------------------------------

def text_format(lines):
    """Parses one message of protoc's text, up to its closing brace: {field: [values]}."""
    message = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        m = re.fullmatch(r"(\w+)(?: \{|: (.*))", line)
        check(m and not m[1].isdigit(), f"a field that the schema does not have: {line!r}")
        if m[2] is None:
            value = text_format(lines)
        elif m[2].startswith('"'):
            value = ast.literal_eval("b" + m[2]).decode("utf-8")
        else:
            value = float(m[2]) if re.search(r"[.einf]", m[2]) and not m[2].isupper() and "_" not in m[2] else m[2]
        message.setdefault(m[1], []).append(value)
    return message


def packets(trace):
    return text_format(iter(protoc(trace).splitlines())).get("packet", [])


def one(message, *path):
    for name in path:
        check(len(message.get(name, [])) == 1, f"one {name} in {message}")
        message = message[name][0]
    return message


class Trace:
    """Checks all packets of a trace, and stores its tracks and values."""

    def __init__(self, trace):
        self.tracks, self.values, self.instants, self.clocks, self.sequences = {}, {}, [], [], []
        self.known = {}  # {sequence: True if its defaults are known}
        for p in packets(trace):
            self.packet(p, int(one(p, "trusted_packet_sequence_id")))

    def packet(self, p, sequence):
        check(sequence != 0, "the number of a sequence is not 0")
        if sequence not in self.known:
            self.sequences.append(sequence)
            eq((one(p, "sequence_flags"), one(p, "trace_packet_defaults", "timestamp_clock_id")), ("1", "3"), "the first packet")
            self.known[sequence] = True
            return
        eq(one(p, "sequence_flags"), "2", f"flags of {p}")
        if "clock_snapshot" in p:
            self.clocks.append(one(p, "clock_snapshot"))
        elif "track_descriptor" in p:
            self.describe(one(p, "track_descriptor"))
        else:
            check(self.clocks, "clocks come before events")
            self.event(int(one(p, "timestamp")), one(p, "track_event"))

    def describe(self, t):
        uuid = one(t, "uuid")
        check(uuid != "0" and "parent_uuid" not in t or one(t, "parent_uuid") in self.tracks, f"the parent of {t}")
        eq(sum(k in t for k in ("process", "thread", "name")), 1, f"a track has one kind of name: {t}")
        check("counter" not in t or one(t, "name"), f"a counter has a name: {t}")
        self.tracks[uuid] = t

    def event(self, at, e):
        track = self.tracks.get(one(e, "track_uuid"))
        check(track, f"{e}: its track is described before it")
        if one(e, "type") == "TYPE_INSTANT":
            check("counter" not in track, f"an instant on a counter: {e}")
            self.instants.append((at, track, e))
            return
        eq(one(e, "type"), "TYPE_COUNTER", f"type of {e}")
        check("counter" in track, f"a value of a track without a counter: {e}")
        eq(("counter_value" in e) + ("double_counter_value" in e), 1, f"one value in {e}")
        self.values.setdefault(self.name(track), []).append((at, float(one(e, "counter_value") if "counter_value" in e else one(e, "double_counter_value"))))

    def name(self, track):
        """Returns the names of a track's parents and its own; a process is (pid, name)."""
        parent = self.name(self.tracks[one(track, "parent_uuid")]) if "parent_uuid" in track else ()
        if "process" in track:
            return (*parent, (int(one(track, "process", "pid")), one(track, "process", "process_name")))
        return (*parent, one(track, "name"))


# --- the values of JSON ---------------------------------------------------------------------------

IDENTITY = {"schema", "time", "dt", "client", "pid", "pids", "uid"}


def numbers(record, prefix=""):
    for key, v in record.items():
        if isinstance(v, dict):
            yield from numbers(v, f"{prefix}{key}.")
        elif isinstance(v, (int, float)) and (prefix or key not in IDENTITY):
            yield prefix + key, float(v)


def wanted(command, records):
    """Returns the counters of records: {names of the tracks: value}."""
    want = {}
    for r in records:
        place = (r["dev"],)
        if command == "clients":
            title = r["dev"] if r["client"] is None else f"{r['dev']} client {r['client']}"
            place = (title,) if r["pid"] is None else ((r["pid"], r["comm"] or ""), title)
        elif command == "cgroups":
            place = (f"{r['dev']} {r['cgroup']}" if r["cgroup"] else r["dev"],)
        for name, v in numbers(r):
            want[(*place, name)] = v
    return want


def without_fd(names):
    return tuple(re.sub(r" fd \d+$", "", n) if isinstance(n, str) else n for n in names)


def compare(got, want, what):
    got = {without_fd(k): v for k, v in got.items()}
    eq(sorted(set(map(str, got)) ^ set(map(str, want))), [], f"{what}: the counters of only one of the formats")
    for k, v in want.items():
        check(abs(got[k] - v) <= abs(v) * 1e-15, f"{what}: {k} is {got[k]}, want {v}")


def for_trees(formats):
    for command in ("", "clients", "cgroups"):
        for tree in TREE_NAMES:
            args = [command, *roots(tree), "-r", "-q"]
            r = run([*args, "-o", "json"])
            if r.code == 0:
                formats(f"{tree} {command}", command, args, parse_json(r.out))


@test("perfetto: each packet of each tree conforms to the schema, and the values equal those of JSON")
def _(_m):
    def both(what, command, args, records):
        got = Trace(good([*args, "-o", "perfetto"])).values
        check(all(len(v) == 1 for v in got.values()), f"{what}: one value in one sample")
        distinct = len({(r["dev"], r.get("client"), r.get("pid")) for r in records}) == len(records)
        if command != "clients" or distinct:
            compare({k: v[0][1] for k, v in got.items()}, wanted(command, records), what)
    for_trees(both)


@test("perfetto: times are from CLOCK_MONOTONIC and increase; a snapshot has three clocks")
def _(_m):
    before = [time.clock_gettime_ns(c) for c in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)]
    t = Trace(good([*roots("i915"), "0.05", "4", "-o", "perfetto"]))
    after = [time.clock_gettime_ns(c) for c in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)]
    eq(len(t.clocks), 1, "clock snapshots in a short run")
    clocks = {one(c, "clock_id"): int(one(c, "timestamp")) for c in t.clocks[0]["clocks"]}
    eq(sorted(clocks), ["1", "3", "6"], "clocks")
    for a, b, clock in zip(before, after, ("1", "3", "6")):
        check(a <= clocks[clock] <= b, f"clock {clock}: {a} <= {clocks[clock]} <= {b}")
    for name, values in t.values.items():
        times = [at for at, _ in values]
        check(before[1] - 1000 <= times[0] and times[-1] <= after[1] and times == sorted(set(times)), f"{name}: {times}")
    eq(len(t.values[("card0", "clients")]), 4, "values of four samples")


@test("perfetto: units have Perfetto's numbers, or names if Perfetto has no number for them")
def _(_m):
    t = Trace(good([*roots("amdgpu"), "-w", "0.02", "-q", "-o", "perfetto"]))
    units = {one(d, "name"): d["counter"][0] for d in t.tracks.values() if "counter" in d and d["counter"][0] != {}}
    for name, want in (("used", {"unit": ["UNIT_SIZE_BYTES"]}), ("busy", {"unit_name": ["%"]}), ("temp.edge", {"unit_name": ["C"]})):
        eq(units.get(name), want, f"unit of {name}")


@test("perfetto: concatenated runs keep their tracks, and each run has its own sequence")
def _(m):
    path = m.path("trace")
    for _i in range(2):
        good([*roots("i915"), "0.02", "2", "-o", "perfetto", "-O", path])
    alone = good(["clients", *roots("i915"), "0.02", "2", "-o", "perfetto"])
    with open(path, "rb") as f:
        t = Trace(f.read() + alone)
    eq(len(t.sequences), 3, "sequences")
    eq(len(t.values[("card0", "clients")]), 4, "values of a counter of two runs")
    check(any(isinstance(k[0], tuple) for k in t.values), "values of processes")


@test("perfetto and chrome: a hostile process name is valid text, the same as in JSON")
def _(m):
    names = [b"bad\xff\xfe\xc3utf8", b"\x1b[31m", b'q"uo\\te', "caf\u00e9".encode(), b"new\nline", b"\xed\xa0\x80"]
    m.device("i915", I915)
    for i, n in enumerate(names):
        m.process(100 + i, n)
        m.fd(100 + i, 5, dump("i915", 100 + i, *ns(render=5), pdev=I915))
    want = {100 + i: as_json(n) for i, n in enumerate(names)}
    out = m.run("clients", "-r", "-q", "-o", "chrome").out
    eq({e["pid"]: e["args"]["name"] for e in events(out) if e["ph"] == "M"}, want, "chrome")
    t = Trace(m.run("clients", "-r", "-q", "-o", "perfetto").out)
    eq(dict(k[0] for k in t.values), want, "perfetto")


@test("perfetto: output to a terminal is refused")
def _(_m):
    try:
        on_terminal([*roots("i915"), "-r", "-o", "perfetto"])
    except AssertionError as e:
        check("use -O FILE" in str(e), f"message: {e}")
        return
    check(False, "it was written to a terminal")


@test("perfetto: the trace of the tree i915, decoded to text, equals the expected text")
def _(_m):
    got = protoc(good(["clients", *roots("i915"), "-r", "-q", "-o", "perfetto"]))
    got = re.sub(r"(timestamp|sequence_id): \d+", r"\1: 0", got)
    with open(GOLDEN, encoding="utf-8") as f:
        for n, (a, b) in enumerate(zip(got.splitlines(), f.read().splitlines())):
            eq(a, b, f"line {n + 1}")


# --- chrome ---------------------------------------------------------------------------------------

KEYS = {"C": {"name", "ph", "pid", "ts", "args"}, "M": {"name", "ph", "pid", "args"}, "i": {"name", "ph", "pid", "ts", "s", "cat", "args"}}


def events(out):
    """The events of a trace, one per line, each with the keys that the Trace Event Format requires."""
    if not out:
        return []
    check(out.startswith(b"[{") and out.endswith(b"}\n"), f"begin and end: {out[:20]!r} {out[-20:]!r}")
    found = strict(out + b"]")
    lines = out.splitlines()
    eq(len(lines), len(found), "one event per line")
    for line, e in zip(lines, found):
        eq(json.loads(line[1:]), e, "the event of a line")
        check(KEYS[e["ph"]] <= set(e) <= KEYS[e["ph"]] | {"id", "tid", "stack"}, f"keys of {e}")
        check(isinstance(e["pid"], int) and 0 < e["pid"] < 1 << 31 and isinstance(e.get("ts", 0), (int, float)), f"pid and time of {e}")
        check(e["ph"] != "C" or [type(v) in (int, float) for v in e["args"].values()] == [True], f"args of {e}")
    return found


def counters(found):
    """Returns {names of the tracks: value}, with the tracks of perfetto."""
    names, got = {}, {}
    for e in found:
        if e["name"] == "process_name":
            names[e["pid"]] = e["args"]["name"]
    for e in found:
        if e["ph"] == "C":
            place = ((e["pid"], names[e["pid"]]), e["id"]) if "id" in e else (names[e["pid"]],)
            got[(*place, e["name"])] = float(*e["args"].values())
    return got


@test("chrome: each event of each tree is valid, and the values equal those of JSON")
def _(_m):
    def both(what, command, args, records):
        distinct = len({(r["dev"], r.get("client"), r.get("pid")) for r in records}) == len(records)
        if command != "clients" or distinct:
            compare(counters(events(good([*args, "-o", "chrome"]))), wanted(command, records), what)
    for_trees(both)


@test("chrome: a file cut after any line is valid, and so is a file that was appended to")
def _(m):
    path = m.path("trace")
    for _i in range(2):
        good([*roots("i915"), "0.02", "2", "-o", "chrome", "-O", path])
    with open(path, "rb") as f:
        out = f.read()
    eq(sum(e["ph"] == "C" and e["name"] == "clients" for e in events(out)), 4, "values of two runs")
    lines = out.splitlines(keepends=True)
    for n in range(1, len(lines), 7):
        strict(b"".join(lines[:n]) + b"]")


@test("chrome: times are from CLOCK_MONOTONIC, in us")
def _(_m):
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    times = [e["ts"] for e in events(good([*roots("i915"), "0.05", "3", "-o", "chrome"])) if e["ph"] == "C"]
    check(before / 1e3 - 1 <= times[0] and times[-1] <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1e3 and times == sorted(times), f"{times[:3]}")


PAGE = """<body><script type="application/json" id="trace">%s]</script><script>
document.body.textContent = "events: " + JSON.parse(document.getElementById("trace").textContent).filter(e => e.ph).length;
</script></body>"""


@test("chrome: a browser reads the events")
def _(m):
    package("chromium-headless-shell", "chromium-headless-shell")
    out = good([*roots("i915"), "0.05", "2", "-o", "chrome"])
    page = m.write("trace.html", (PAGE % out.decode()).encode())
    r = subprocess.run(["chromium-headless-shell", "--no-sandbox", "--disable-gpu", f"--user-data-dir={m.path('home')}", "--dump-dom", f"file://{page}"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    got = re.search(rb"events: (\d+)", r.stdout)
    eq(int(got[1]) if got else r.stderr[-300:], len(events(out)), "events in the browser")


# --- other commands -------------------------------------------------------------------------------

@test("counters, stat: the values equal those of JSON")
def _(_m):
    args = ["counters", "-q", *roots("i915"), "*"]
    want = {(r["vendor"], r["name"]): r["value"] for r in parse_json(good([*args, "-t", "mono", "-o", "json"])) if r["value"] is not None}
    check(len(want) > 20, f"{len(want)} counters with values")
    got = counters(events(good([*args, "-o", "chrome"])))
    eq({k: round(v, 3) for k, v in got.items()}, {k: round(float(v), 3) for k, v in want.items()}, "counters in chrome")
    t = Trace(good([*args, "-o", "perfetto"]))
    eq({k[-1] for k in t.values}, {name for _, name in want}, "counters in perfetto")
    r = machine.run(["stat", "-e", "page-faults:u", "-o", "chrome", "--", "true"])
    if b"not permitted" in r.err or b"not supported" in r.err:
        raise Skip(f"no perf events: {r.err.decode()[-80:]}")
    found = [e for e in events(r.err) if e["ph"] == "C" and e["name"] == "page-faults:u"]
    check(len(found) == 1 and list(found[0]["args"].values())[0] > 10, f"page faults of true: {found}")


@test("oa: a replay has times of the CPU's clock, and the counters of the recording")
def _(_m):
    args = ["oa", "--replay", f"{HERE}/oa/frames.rec", "0.05", "-f", "cpu_time,GpuBusy,EuActive"]
    want = [(r["cpu_time"], r["counter"]["GpuBusy"], r["counter"]["EuActive"]) for r in parse_json(good([*args, "-o", "json"]))]
    t = Trace(good([*args[:-1], "GpuBusy,EuActive", "-o", "perfetto"]))
    eq(one(t.clocks[0], "primary_trace_clock"), "BUILTIN_CLOCK_MONOTONIC", "the clock of a recording")
    got = {k[-1]: v for k, v in t.values.items()}
    eq(sorted(got), ["counter.EuActive", "counter.GpuBusy"], "counters")
    eq([(at, v) for at, v in got["counter.GpuBusy"]], [(at, v) for at, v, _ in want], "GpuBusy")
    eq([v for _, v in got["counter.EuActive"]], [v for _, _, v in want], "EuActive")
    chrome = [e for e in events(good([*args[:-1], "GpuBusy", "-o", "chrome"])) if e["ph"] == "C"]
    eq([round(e["ts"] * 1000) for e in chrome], [at for at, _, _ in want], "times of chrome")


@test("host: counters have the names and units of the catalogue")
def _(_m):
    t = Trace(good(["host", *roots("host"), "-w", "0.02", "-q", "-o", "perfetto"]))
    check(("linux", "host/memory/-/used") in t.values, f"counters: {sorted(t.values)[:5]}")
    unit = [d["counter"][0] for d in t.tracks.values() if d.get("name") == ["host/memory/-/used"]]
    eq(unit, [{"unit": ["UNIT_SIZE_BYTES"]}], "unit of memory")


@test("sample: a sample is an instant of its thread, with its function and callers")
def _(m):
    r = run(["sample", "-g", "-e", "cpu-clock:u", "-o", "perfetto", "-O", m.path("trace"), "--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
    if r.code:
        raise Skip(f"no perf events here: {r.err[:80]!r}")
    with open(m.path("trace"), "rb") as f:
        t = Trace(f.read())
    check(t.instants and not t.values, "instants and no counters")
    for _at, track, e in t.instants:
        check(int(one(track, "thread", "pid")) > 0 and one(track, "thread", "thread_name"), f"thread {track}")
        eq(one(e, "categories"), "cpu-clock:u", "category")
        check(one(e, "name") and "+0x" not in one(e, "name"), f"name of {e}")
        eq([one(a, "name") for a in e["debug_annotations"]], ["period"], "annotations")
        check("callstack" not in e or one(one(e, "callstack")["frames"][-1], "function_name") == one(e, "name"), f"the innermost function is the last: {e}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_timeline.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
