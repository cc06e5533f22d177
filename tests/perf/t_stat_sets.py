#!/usr/bin/env python3
# t_stat_sets.py PROG - tests the event sets of `gpustat stat`, which take turns by time or by
# overflow, and its output formats; perf-csv is compared with perf stat itself. Tests of counts are
# skipped if the kernel does not allow counting. Prints TAP. ONLY=TEXT and TIMES=1 are as in
# tests/machine.py.
# SPDX-License-Identifier: MIT
import contextlib
import csv
import io
import os
import re
import signal
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (Skip, check, eq, near, package, parse_csv, parse_json, parse_logfmt,  # noqa: E402
                     printable, wait_asleep)
from statlib import (NOTHING, Running, blocking, driven, machine_wide, main, measure,  # noqa: E402
                     one, online, ran, refused, rows_of, says, started, stat, test, value, wide, work,
                     working)


# --- event sets -----------------------------------------------------------------------------------

def scaled(r):
    """Returns the count scaled to the whole time."""
    near(r["value"], r["count"] * r["dt"] / r["active"], 0.01 * r["value"] + 1, f"value, of count, dt and active of {r['set']}")
    near(r["running"], 100 * r["active"] / r["dt"], 0.2, "percent running")


@test("sets by time: take turns; each record has its runs and active time, and is scaled to the whole time")
def _(m):
    machine_wide()
    cpu = online()[0]
    args = ("-C", cpu, "--raw", "--set", "a=cpu-clock@20ms", "--set", "b=cpu-clock,page-faults@30ms", "-w", "1")
    rows, _waits, _took = driven(*args)
    eq([(r["set"], r["event"]) for r in rows], [("a", "cpu-clock"), ("b", "cpu-clock"), ("b", "page-faults")],
       "records")
    a, b = rows[0], rows[1]
    eq((a["runs"], b["runs"]), (20, 20), "runs")
    near(a["active"], 0.4, 0.002, "seconds of a")
    near(b["active"], 0.6, 0.002, "seconds of b")
    eq((a["timeout"], b["timeout"]), (0.02, 0.03), "lengths of turns that the timer allows")
    rows = measure(*args)
    for r in rows[:2]:
        scaled(r)
        check(1 <= r["runs"] <= r["active"] / r["timeout"] + 1, f"no turn is shorter than its timeout: {r}")
        check(0 < r["count"] <= 1.001e9 * r["active"] + 1e6 * r["runs"], f"ns of {r['active']} s")
    check(rows[0]["active"] + rows[1]["active"] <= rows[0]["dt"] + 1e-5, f"active time of both sets: {rows}")
    row = measure("-C", cpu, "--no-scale", "--raw", "--set", "a=cpu-clock@20ms", "--set", "b=page-faults@20ms", "-w", "0.4")[0]
    eq(row["value"], row["count"], "--no-scale")


@test("sets by time: work with a command, also over intervals")
def _(m):
    rows = measure("--raw", "--set", "a=task-clock@5ms", "--set", "b=task-clock@5ms", *work("spin", 500))
    for r in rows:
        scaled(r)
    check(sum(r["count"] for r in rows) <= 1.001e9 * rows[0]["dt"], f"the sum of both sets is not more than the time: {rows}")
    rows = measure("--raw", "-I", 100, "--set", "a=task-clock@5ms", "--set", "b=page-faults@5ms", *work("spin", 450))
    a = [r for r in rows if r["set"] == "a"]
    check(0 < sum(r["count"] or 0 for r in a) <= 1.001e9 * sum(r["active"] for r in a) + 1e6 * sum(r["runs"] for r in a), f"{a}")
    if wide():
        rows, _waits, _took = driven("-a", "-I", 100, "-c", 4, "--set", "a=cpu-clock@5ms", "--set", "b=page-faults@5ms")
        check(all(9 <= r["runs"] <= 11 for r in rows), f"runs in intervals of 100 ms: {[r['runs'] for r in rows]}")


@test("sets: ids from 0 to 65535 determine the order, and must be unique")
def _(m):
    def sets(*args):
        rows = measure(*args, *work("sleep", 60))
        return [r["set"] for r in rows]
    eq(sets("--set", "9:n=task-clock", "--set", "2:t=page-faults", "--set", "65535:l=task-clock",
            "--set", "0:z=task-clock"),
       ["z", "t", "n", "l"], "sets in the order of ids")
    eq(sets("--set", "x=task-clock", "--set", "y=page-faults", "--set", "z=task-clock"), ["x", "y", "z"], "without ids")
    for bad in (["65536:a=task-clock"], ["1:a=task-clock", "1:b=task-clock"], ["0:a=task-clock", "0:b=task-clock"],
                ["-1:a=task-clock"], ["x:a=task-clock"], ["99999999999999999999:a=task-clock"],
                ["65535:a=task-clock", "b=task-clock"]):
        says(stat(*(x for b in bad for x in ("--set", b)), *work("exit", 0)), 2, "--set")


@test("sets: the events of -e are set 0 and are printed first")
def _(m):
    rows = measure("-e", "task-clock", "--set", "x=page-faults", *work("sleep", 60))
    eq([r["event"] for r in rows], ["task-clock", "page-faults"], "records")


@test("sets: a set that cannot be opened is named and skipped")
def _(m):
    def named(*args, code=0):
        r = stat("-j", "-O", m.path("out"), *args)
        eq(r.code, code, f"exit code ({r!r})")
        with open(m.path("out"), "rb") as f:
            rows = rows_of(f.read())
        os.unlink(m.path("out"))
        check(b"bad" in r.err or any(x["set"] == "bad" and x["reason"] for x in rows), f"no message names the set: {r!r}")
        return rows
    rows = named("--raw", "--set", "a=task-clock@10ms", "--set", f"bad={NOTHING}@10ms", "--set", "c=page-faults@10ms",
                   *work("spin", 300))
    by = {r["set"]: r for r in rows}
    check(by["bad"]["value"] is None and by["bad"]["reason"].startswith("not supported"), f"{by['bad']}")
    eq(by["bad"]["runs"], 0, "runs of the set that cannot be opened")
    check(by["a"]["active"] + by["c"]["active"] <= by["a"]["dt"] + 1e-5, f"the other sets take all turns: {rows}")
    if wide():
        rows, _waits, _took = driven("-a", "--raw", "--set", "a=cpu-clock@10ms", "--set", f"bad={NOTHING}@10ms", "--set", "c=page-faults@10ms", "-w", "0.3")
        eq([r["runs"] for r in rows], [15, 0, 15], "runs: the other sets take all turns")
        near(rows[0]["active"] + rows[2]["active"], 0.3, 0.002, "active time of the other sets")
    rows = named("--set", f"bad={NOTHING}@10ms", "--set", "c=task-clock@10ms", *work("spin", 100))
    ran(rows[1], 0.099, "the set after an invalid first set")
    rows = named("--set", f"bad={NOTHING}@10ms", "--set", f"y={NOTHING}@10ms", *work("exit", 0), code=4)
    eq([x["value"] for x in rows], [None, None], "values if all sets are invalid")


@test("sets: @overflow:EVENT:N ends a turn after N events", alone=True)
def _(m):
    rows = measure("--raw", "--set", "a=page-faults@overflow:page-faults:100",
                   "--set", "b=page-faults@overflow:page-faults:150", *work("slowfault", 2500))
    a, b = rows
    counted = a["count"] + b["count"]
    check(abs(a["runs"] - b["runs"]) <= 1 and a["runs"] >= 3, f"in turn: {a['runs']} and {b['runs']}")
    # a turn lasts until gpustat is notified, and events until then belong to it
    for r, n in ((a, 100), (b, 150)):
        check(r["runs"] <= r["count"] / n + 1, f"no turn ends before {n}: {r['runs']} turns, {r['count']} faults")
    check(counted <= 2650, f"{counted} of 2500 faults are counted in one of the sets; faults during a switch are in none")


@test("sets: @overflow switches sets although gpustat's parent blocks SIGIO")
def _(m):
    rows = measure("--set", "a=page-faults@overflow:page-faults:100", "--set", "b=page-faults@overflow:page-faults:100",
                   *work("slowfault", 2000), preexec_fn=blocking(signal.SIGIO))
    check(rows[0]["runs"] >= 3 and rows[1]["runs"] >= 3, f"turns {[r['runs'] for r in rows]}")


@test("sets: the first of several overflows ends the turn; the trigger need not be a counted event", alone=True)
def _(m):
    rows = measure("--raw", "--set", "a=task-clock@overflow:page-faults:100,context-switches:100000",
                   "--set", "b=task-clock@overflow:page-faults:100", *work("slowfault", 2000))
    by = {(r["set"], r["event"]): r for r in rows}
    check(4 <= by["a", "task-clock"]["runs"] + by["b", "task-clock"]["runs"] <= 21, f"turns: {rows}")


@test("sets: with a time and an overflow the first of both ends the turn", alone=True)
def _(m):
    rows = measure("--raw", "--set", "t=page-faults@10ms@overflow:page-faults:1000000",
                   "--set", "o=page-faults@100s@overflow:page-faults:100", *work("slowfault", 2500))
    t, o = rows
    check(t["runs"] <= t["active"] / 0.01 + 1, f"length in seconds of a turn that ends by time: {t['active'] / t['runs']}")
    check(o["runs"] <= o["count"] / 100 + 1, f"faults in a turn that ends by overflow: {o['count'] / o['runs']}")
    check(abs(t["runs"] - o["runs"]) <= 1 and t["runs"] >= 3, f"turns {t['runs']} and {o['runs']}")
    rows = measure("--raw", "--set", "t=task-clock@20ms", "--set", "o=page-faults@overflow:page-faults:100",
                   *work("slowfault", 2000))
    t, o = rows
    check(2 <= t["runs"] <= t["active"] / 0.02 + 1, f"the set that ends by time: {t['runs']} turns of {t['active']} s")
    check(2 <= o["runs"] <= o["count"] / 100 + 1, f"the set that ends by overflow: {o['runs']} turns of {o['count']} faults")


@test("sets: each kind of invalid argument is refused with the expected form", counts=False)
def _(m):
    refused([["--set", bad] for bad in (
        "", "=", "a", "a=", "=task-clock", "1:", "1:=task-clock", ":a=task-clock", "a=@10ms", "a=task-clock@0",
        "a=task-clock@x", "a=task-clock@10mm", "a=task-clock@overflow", "a=task-clock@overflow:task-clock",
        "a=task-clock@overflow:task-clock:0", "a=task-clock@overflow:task-clock:x", "a=task-clock@overflow::5",
        "a=task-clock@overflow:nonsense-event:5", "a={task-clock@10ms", "a=nonsense-event@10ms",
        "a=task-clock,@10ms", "a=task-clock@10ms@", "a=task-clock@", "65536:a=task-clock", "a=task-clock@-5ms",
        "a" * 10000, "a=" + "b" * 10000)])


@test("sets: a set with unknown events is named and skipped; the run fails only if no other set is left")
def _(m):
    r = stat("-j", "-O", m.path("out"), "--set", "x=nosuch@10ms", "--set", "y=task-clock@10ms", *work("spin", 50))
    eq(r.code, 0, f"exit code ({r!r})")
    check(b"nosuch" in r.err and b"set x" in r.err, f"messages {r.err!r}")
    with open(m.path("out"), "rb") as f:
        eq([x["set"] for x in rows_of(f.read())], ["y"], "records")
    r = stat("--set", "x=nosuch@10ms", *work("exit", 0))
    eq(r.code, 2, f"exit code if no other set is left ({r!r})")


@test("sets: a temperature is read only while its set is active, and not before counting begins", counts=False)
def _(m):
    hwmon = m.path("sys/class/hwmon/hwmon0")
    os.makedirs(hwmon)
    for name, text in (("name", "chip"), ("temp1_input", "40000"), ("temp2_input", "50000")):
        with open(os.path.join(hwmon, name), "w", encoding="utf-8") as f:
            f.write(text + "\n")
    args = ("--raw", "--sys", m.path("sys"))
    rows, _waits, _took = driven(*args, "-I", 200, "--timeout", 1500, "--set", "A=hwmon_chip/temp1/@600ms", "--set", "B=hwmon_chip/temp2/@600ms")
    eq(len(rows), 16, f"records of 7 intervals and the remaining time: {rows}")
    for x in rows:
        eq(x["value"], None if x["active"] == 0 else 40.0 if x["set"] == "A" else 50.0, f"value of {x}")
        check(x["enabled"] <= 1.501e9, f"not longer than the run: {x}")
    check(any(x["active"] == 0 for x in rows), f"a set without a turn in an interval: {rows}")
    rows, _waits, _took = driven(*args, "-D", 9000, "--timeout", 200, "-e", "hwmon_chip/temp1/")
    eq([(x["value"], x["enabled"]) for x in rows], [(None, 0)], "value before counting begins")


# --- formats --------------------------------------------------------------------------------------

@test("--raw: has count, enabled and runtime, unscaled")
def _(m):
    rows = measure("--raw", "-e", "page-faults,task-clock", *work("fault", 100))
    for r in rows:
        eq(r["value"], r["count"], "the value of an event without multiplexing")
        check(0 < r["runtime"] <= r["enabled"] <= r["dt"] * 1e9 + 1000, f"{r}")
    plain = measure("-e", "page-faults", *work("exit", 0))[0]
    check("enabled" not in plain and "runtime" not in plain, f"without --raw: {plain}")


@test("json: every record has the keys of the schema; a missing value is null and has a reason")
def _(m):
    r = stat("-j", "-e", f"task-clock,{NOTHING},page-faults", *work("exit", 0))
    eq([x["value"] is None for x in rows_of(r.err)], [False, True, False], "events without a value")
    eq(stat("-o", "json", "-e", "task-clock", *work("exit", 0)).code, 0, "-o json")
    r = stat("-j", "-1", "-e", "task-clock,page-faults", *work("exit", 0))
    eq(len(r.err.splitlines()), 1, "lines with -1")


@test("csv and logfmt: are valid and have the same numbers as json")
def _(m):
    args = ["-e", f"{NOTHING},page-faults", "-C", "0", "-w", "0.02"] if wide() else \
        ["-e", f"{NOTHING},page-faults:u", *work("exit", 0)]
    rows = parse_csv(out_of(stat("-o", "csv", *args), args))
    fields = {r["field"] for r in rows}
    check({"value", "unit", "running", "reason"} <= fields, f"fields {fields}")
    cells = {(r["instance"], r["field"]): r["value"] for r in rows}
    eq(cells[NOTHING, "value"], "", "cell of a missing value")
    check(cells[NOTHING, "reason"].startswith("not supported"), f"reason {cells[NOTHING, 'reason']!r}")
    check(any(k[0].startswith("page-faults") and k[1] == "value" and v.isdigit() for k, v in cells.items()), f"{cells}")
    rows = parse_logfmt(out_of(stat("-o", "logfmt", *args), args))
    eq([(r["kind"], r["event"].partition(":u")[0]) for r in rows], [("event", NOTHING), ("event", "page-faults")],
       "logfmt")
    check("value" not in rows[0] and rows[1]["value"].isdigit(), f"values {rows}")
    r = out_of(stat("-o", "csv", "-f", "event,value,reason", *args), args)
    table = list(csv.reader(io.StringIO(r.decode()), strict=True))
    eq(table[0][-3:], ["event", "value", "reason"], "header of wide CSV")
    eq([len(x) for x in table], [len(table[0])] * 3, "columns of wide CSV")


def out_of(r, args):
    eq(r.code, 0, f"exit code ({r!r})")
    return r.err if "--" in args else r.out


@test("line: prints a header and an aligned row for each event")
def _(m):
    r = stat("-e", f"task-clock,page-faults,{NOTHING}", *work("spin", 20))
    lines = printable(r.err).splitlines()
    eq(len(lines), 8, f"lines ({r.err!r})")
    head = lines[0].split()
    eq(head[:3], ["EVENT", "VALUE", "UNIT"], "header")
    check(re.match(r"task-clock +[1-9]\d+\.\d\d msec +100\.0% \d\.\d{3} CPUs utilized$", lines[1].rstrip()), f"{lines[1]!r}")
    check(re.match(r"page-faults +\d+ +100\.0% \d+\.\d{3} [KM]?/sec$", lines[2].rstrip()), f"{lines[2]!r}")
    check(re.match(rf"{NOTHING} +- +- +not supported", lines[3]), f"{lines[3]!r}")
    end = lines[0].index("VALUE") + len("VALUE")
    for line in lines[1:4]:
        check(len(line) == end or line[end] == " " and line[end - 1] != " ", f"a value that is not aligned with its column: {line!r}")
    r = stat("-H", "-e", "task-clock", *work("exit", 0))
    eq(len(r.err.splitlines()), 1, "lines with -H")
    r = stat("-I", 50, "-e", "task-clock", *work("sleep", 220))
    eq(r.err.count(b"EVENT"), 1, "number of headers with intervals")


@test("line, table: print the times of the run at the end, as perf; not with intervals, -H, -f or -1")
def _(m):
    command = ["-e", "task-clock", *work("spin", 20)]
    for form in ("line", "table"):
        text = stat("-o", form, *command).err
        check(re.search(rb"\n\n {7}\d\.\d{9} seconds time elapsed\n {7}\d\.\d{9} seconds user\n {7}\d\.\d{9} seconds sys\n$", text), f"{text!r}")
        text = stat("-o", form, "-r", 3, *command).err
        check(re.search(rb"\n\n {7}\d\.\d{9} \+- \d\.\d{9} seconds time elapsed  \( \+- \d+\.\d\d% \)\n$", text), f"{text!r}")
    for args in (["-I", 5], ["-H"], ["-f", "event,value"], ["-1"], ["-o", "csv"], ["-o", "json"]):
        text = stat(*args, *command).err
        check(b"seconds" not in text and b"task-clock" in text, f"{args}: {text!r}")
    machine_wide()
    text = stat("-a", "-w", "0.02", "-e", "cpu-clock").out
    check(re.search(rb"\n\n +\d\.\d{9} seconds time elapsed\n$", text), f"without a command: {text!r}")


@test("json: has the CPU time of the command, but not with intervals, repetitions, or without a command")
def _(m):
    row = one("-e", "task-clock", *work("spin", 100))
    check(0.08 < row["user"] + row["system"] <= row["dt"] + 0.02, f"CPU time of 100 ms: {row}")
    for args in (["-I", 20], ["-r", 2]):
        rows = measure(*args, "-e", "task-clock", *work("spin", 50))
        check(not any("user" in r or "system" in r for r in rows), f"{args}: {rows}")
    rows = measure("-r", 3, "-e", "task-clock,duration_time", *work("spin", 5))
    near(rows[0]["dt"], value(rows, "duration_time") / 1e9, 0.0005, "dt with repetitions is the mean")


@test("table: has a row for each event, and cells do not overlap")
def _(m):
    r = stat("-o", "table", "-e", f"task-clock,page-faults,{NOTHING}", *work("exit", 0))
    text = printable(r.err)
    for e in ("task-clock", "page-faults", NOTHING):
        check(text.count(e) == 1, f"{e} stands {text.count(e)} times in\n{text}")


def fields_of(text, sep=","):
    return [line.split(sep) for line in text.decode().splitlines() if line and not line.startswith("#")]


def perf(*args):
    tool = package("perf", "linux-perf")
    p = subprocess.run([tool, "stat", *(str(a) for a in args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=60, env={**os.environ, "LC_ALL": "C"})
    if p.returncode not in (0, 4) or not p.stderr.strip():
        raise Skip(f"perf does not run here: {p.stderr[-80:]!r}; needs package linux-perf of this kernel")
    return p.stderr


def shape(cell):
    """Returns the kind of a cell instead of its number, which differs from run to run."""
    if re.fullmatch(r" *\d+", cell):
        return "number"
    if re.fullmatch(r" *\d+\.\d+", cell):
        return f"{len(cell.rpartition('.')[2])} decimals"
    return "percent" if re.fullmatch(r"\d+\.\d\d%", cell) else cell


def same_fields(args, command):
    """Checks that perf-csv has the same cells as perf."""
    theirs, ours = fields_of(perf("-x,", *args, *command)), fields_of(stat("-x,", *args, *command).err)
    if args[0] != "-I":  # the number of intervals of a command differs from run to run
        eq(len(ours), len(theirs), f"lines of {args}")
    for a, b in zip(ours, theirs):
        if args[0] == "-I" and "<not counted>" in a + b:  # the command did not run in one of the intervals
            continue
        eq(len(a), len(b), f"cells of {args}: {a}, perf has {b}")
        shapes = [[shape(re.sub("^[KMG]/sec", "/sec", c)) for c in x] for x in (a, b)]
        if args[0] == "-I":  # a time stamp, which gpustat has in microseconds
            check(all(x[0].endswith("decimals") for x in shapes), f"time stamps {a[0]}, {b[0]}")
            shapes = [s[1:] for s in shapes]
        eq(*shapes, f"cells of {args}: {a}, perf has {b}")


@test("perf-csv: has the fields of perf for a command")
def _(m):
    same_fields(["-e", "task-clock,page-faults,cpu-clock,context-switches,dummy"], work("spin", 10))


@test("perf-csv: has the fields of perf for an event that is not supported")
def _(m):
    if os.path.isdir("/sys/bus/event_source/devices/cpu"):
        raise Skip("this machine has a PMU")
    same_fields(["-e", "cycles,task-clock"], work("exit", 0))


@test("perf-csv: has the fields of perf with -I", alone=True)
def _(m):
    same_fields(["-I", "100", "-e", "task-clock,page-faults"], work("spin", 150))


@test("perf-csv: has the fields of perf with -A")
def _(m):
    machine_wide()
    same_fields(["-a", "-A", "-e", "cpu-clock,page-faults"], work("spin", 10))


@test("perf-csv: has the fields of perf with -r")
def _(m):
    same_fields(["-r", "3", "-e", "task-clock,page-faults"], work("spin", 10))


@test("perf-csv: has the fields of perf with --per-socket")
def _(m):
    machine_wide()
    same_fields(["-a", "--per-socket", "-e", "cpu-clock,page-faults"], work("spin", 10))


@test("perf-csv: has the fields of perf with --per-core")
def _(m):
    machine_wide()
    same_fields(["-a", "--per-core", "-e", "cpu-clock,page-faults"], work("spin", 10))


@test("perf-csv: has the fields of perf with --per-die and --per-node")
def _(m):
    machine_wide()
    for how in ("--per-die", "--per-node"):
        same_fields(["-a", how, "-e", "cpu-clock,page-faults"], work("spin", 10))


def shape_of(o):
    """Returns the keys of an object in order, with texts and types of numbers; perf 6.1 writes (null) for no unit."""
    def kind(key, v):
        if key in ("event", "unit", "cpu", "socket", "core", "die", "node", "cgroup", "aggregate-number"):
            return v
        if key == "metric-unit":
            return "" if v == "(null)" else re.sub("^[KMG]/sec", "/sec", v)
        return v if isinstance(v, str) and v.startswith("<") else type(v).__name__
    return [(k, kind(k, v)) for k, v in o.items()]


@test("perf-json: has the keys of perf in the same order")
def _(m):
    machine_wide()
    for args in (["-e", "task-clock,page-faults,context-switches,dummy"], ["-e", f"task-clock,{NOTHING}"], ["-r", "2", "-e", "task-clock,page-faults"],
                 ["-a", "-A", "-e", "cpu-clock,page-faults"], ["-a", "--per-socket", "-e", "cpu-clock"], ["-a", "--per-core", "-e", "cpu-clock"],
                 ["-a", "--per-die", "-e", "cpu-clock"], ["-a", "--per-node", "-e", "cpu-clock"]):
        if NOTHING in args[-1] and os.path.isdir("/sys/bus/event_source/devices/cpu"):
            continue
        args = [a.replace(NOTHING, "cycles") for a in args]
        theirs, ours = (parse_json(x) for x in (perf("-j", *args, *work("spin", 10)), stat("-o", "perf-json", *args, *work("spin", 10)).err))
        eq([shape_of(o) for o in ours], [shape_of(o) for o in theirs], f"{args}")
    theirs, ours = (parse_json(x)[0] for x in (perf("-j", "-I", 50, "-e", "task-clock", *work("spin", 80)),
                                               stat("-o", "perf-json", "-I", 50, "-e", "task-clock", *work("spin", 80)).err))
    eq(shape_of(ours), shape_of(theirs), "-I")


@test("--summary: prints the counts of the whole run after the intervals, in each format as perf does")
def _(m):
    command = work("slowfault", 400)
    rows = measure("-I", 20, "--summary", "-e", "page-faults,task-clock", *command)
    last, parts = rows[-2:], rows[:-2]
    eq([r.get("summary") for r in rows], [None] * len(parts) + ["total"] * 2, "summary")
    check(len(parts) >= 6 and "user" in last[0] and "user" not in parts[-1], f"{rows[-3:]}")
    for r in last:
        eq(r["value"], sum(p["value"] or 0 for p in parts if p["event"] == r["event"]), f"sum of {r['event']}")
    near(last[0]["dt"], sum(p["dt"] for p in parts[::2]), 0.001, "dt")
    check("total" not in str(measure("--summary", "-e", "task-clock", *command)), "without intervals")
    eq([r.get("summary") for r in measure("-I", 10, "--interval-count", 1, "--summary", "-e", "task-clock", *command)], [None, "total"], "--interval-count")
    for args, total in (["-f", "event"], r"total +page-faults"), (["--time", "none"], r"total +page-faults +\d+"), (["-f", "event", "-o", "csv"], r"total,page-faults"), \
            (["--time", "none", "-o", "plain"], r"total page-faults \d+"), (["--time", "none", "-o", "table"], r"total +page-faults +\d+"):
        lines = stat("-I", 50, "--summary", "-e", "page-faults", *args, *command).err.decode().splitlines()
        check(len([x for x in lines if re.match(total, x)]) == 1, f"{args}: {lines}")
    for ours in (stat("-x,", "-I", 50, "--summary", "-e", "task-clock", *command).err, perf("-x,", "-I", 50, "--summary", "-e", "task-clock", *command)):
        check(re.search(rb"\n {9}summary,\d+\.\d\d,msec,task-clock,\d+,100\.00,\d\.\d{3},CPUs utilized\n$", ours), f"{ours!r}")
    lines = stat("-x,", "-I", 50, "--summary", "--no-csv-summary", "-e", "task-clock", *command).err.decode().splitlines()
    eq({line.count(",") for line in lines[:-1]}, {7}, "--no-csv-summary: the intervals")
    check(re.fullmatch(r"\d+\.\d\d,msec,task-clock,\d+,100\.00,\d\.\d{3},CPUs utilized", lines[-1]), f"--no-csv-summary: {lines[-1]}")
    o = parse_json(stat("-o", "perf-json", "-I", 50, "--summary", "-e", "task-clock", *command).err)
    check(all("interval" in x for x in o[:-1]) and "interval" not in o[-1], f"{o}")
    text = stat("-I", 50, "--summary", "-e", "task-clock", *command).err
    check(re.search(rb"\ntotal +task-clock .*\n\n +\d\.\d{9} seconds time elapsed\n.* seconds user\n.* seconds sys\n$", text), f"{text!r}")


@test("perf-csv: -x accepts any separator, and \\t for a tab")
def _(m):
    for sep, want in ((";", ";"), ("\\t", "\t"), ("|", "|"), ("::", "::")):
        r = stat("-x", sep, "-e", "page-faults", *work("exit", 0))
        cells = fields_of(r.err, want)[0]
        check(len(cells) == 7 and cells[0].isdigit() and cells[2] == "page-faults", f"-x {sep}: {r.err!r}")
    says(stat("-x", "", "-e", "page-faults", *work("exit", 0)), 2)


@test("-r N: perf's formats have the mean time of the runs, as in perf")
def _(m):
    r = stat("-x,", "-r", 5, "-e", "task-clock", *work("spin", 20))
    cells = fields_of(r.err)[0]
    eq(cells[5], "100.00", "running")
    check(abs(float(cells[0]) * 1e6 - int(cells[4])) <= 5001, f"the counted time equals the mean of the clock: {cells}")


def has_event(pid):
    with contextlib.suppress(OSError):
        return any("perf_event" in os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd"))
    return False


@test("compared with perf: page-faults of the same work are almost equal, task-clock is equal")
def _(m):
    def ours(*words):
        return value(measure("-e", "page-faults", *work(*words)), "page-faults")

    def theirs(*words):
        return float(fields_of(perf("-x,", "-e", "page-faults", *work(*words)))[0][0])
    for words in (("exit", 0), ("fault", 2000, "spin", 30)):
        a, b = (statistics.median(count(*words) for _ in range(7)) for count in (ours, theirs))
        near(a, b, 4, f"page faults of {words}")
    with working("fault", 2000, "spin", 200) as w:  # gpustat and perf count the same process
        w.until(b"ready\n")
        with Running([package("perf", "linux-perf"), "stat", "-x,", "-e", "task-clock", "-p", w.pid]) as judge, \
             started("-j", "-e", "task-clock", "-p", w.pid) as p:
            for pid in (judge.pid, p.pid):
                machine.until("an event of both programs", lambda: has_event(pid))  # noqa: B023
                wait_asleep(pid)
            w.go()
            machine.until_zombie(w.pid)
            judge.p.send_signal(signal.SIGINT)
            a, b = value(rows_of(p.end().out), "task-clock") / 1e6, float(fields_of(judge.end().err)[0][0])
    near(a, b, 0.3 + 0.02 * b, "milliseconds")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_stat_sets.py PROG")
    sys.exit(main(sys.argv[1]))
