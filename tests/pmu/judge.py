#!/usr/bin/env python3
# judge.py plan FILE: writes the commands for the emulated machine, for init.c. judge.py judge FILE:
# evaluates the output of init.c, as TAP. Each test is defined next to its commands. The loop of
# /work has two instructions, always the same, and on this machine an instruction takes one cycle of
# one nanosecond, so that the numbers below are known, not measured. ONLY=TEXT in the environment:
# only
# tests with TEXT in their names. SPDX-License-Identifier: MIT
import json
import os
import re
import sys
import traceback

COUNTERS = 7         # six and the cycle counter; cycles can use any counter, instructions six of them
START = 200          # the maximum number of instructions of /work outside its loop
RECORD = ["schema", "kind", "time", "dt", "event", "set", "cpu", "pid", "value", "unit", "running", "reason"]
TESTS = []


def test(name, *commands, uid=0, paranoid=2, background="-"):
    """Defines a test. A command is split at blanks and starts with a path; @ is the pid of the
    background command."""
    def add(judge):
        TESTS.append((name, commands, (uid, paranoid, background), judge))
        return judge
    return add


def stat(events, command, *options):
    """Returns a stat command for a program, with JSON on stderr."""
    return " ".join(["/gpustat stat -o json", *options, "-e", events, "--", command])


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def eq(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def near(got, want, part, what):
    check(isinstance(got, (int, float)) and abs(got - want) <= part * want,
          f"{what}: got {got!r}, want {want} within {100 * part:g} %")


class Run:
    """One command of the plan: its exit status, its output, and its duration in seconds."""

    def __init__(self, command):
        self.command, self.status, self.took, self.out, self.err = command, None, 0, [], []

    def ended(self, status=0):
        check(self.status == status, f"{self.command}: exit {self.status}, not {status}: {' | '.join(self.err[-3:])}")
        return self

    def records(self, kind="event", lines=None):
        """Returns the JSON records of stderr, or of the given lines."""
        found = [json.loads(line) for line in (self.err if lines is None else lines) if line.startswith("{")]
        for r in found:
            check(r.get("schema") == 1, f"schema: {r}")
            if r["kind"] == "event":
                check(all(k in r for k in RECORD), f"keys missing: {r}")
                check((r["value"] is None) == (r["reason"] is not None), f"a value or a reason: {r}")
        found = [r for r in found if r["kind"] == kind]
        check(found, f"{self.command}: no record: {' | '.join((self.out + self.err)[-3:])}")
        return found

    def values(self, lines=None):
        """Returns the values, in the order of the events."""
        self.ended()
        return [r["value"] for r in self.records(lines=lines)]


# --- libraries ------------------------------------------------------------------------------------

# Programs of tests/conform, which print TAP, on a machine whose counters are exact.
CONFORM = ["khr", "perf", "perfmon", "perfmon_v2"]


def tap(run):
    """Returns the results of a program: (True if it passed, its name, the lines after it)."""
    found, plan = [], None
    for line in run.out:
        m = re.match(r"(not )?ok \d+(?: - )?(.*)", line)
        if m:
            found.append((not m[1], f"{run.command}: {m[2]}", []))
        elif re.match(r"1\.\.\d+", line):
            plan = int(line[3:].split()[0])
        elif found and not found[-1][0]:
            found[-1][2].append(line.lstrip("# "))
    bad = any(not ok for ok, _, _ in found)
    whole = plan == len(found) and plan and run.status == int(bad)
    return found + [(whole, f"{run.command}: complete output",
                     [f"planned {plan}, ran {len(found)}, exit {run.status}"] + run.err[-3:])]


for conform in CONFORM:
    test(f"conform: {conform}", f"/conform/{conform}")(tap)


# --- counting -------------------------------------------------------------------------------------

@test("events: the PMU is listed", "/gpustat events")
def _(r):
    text = "\n".join(r.ended().out)
    for word in ["armv8_pmuv3", "inst_retired", "cpu_cycles", "instructions", "cycles"]:
        check(word in text, f"no {word} in: {text[:1500]}")


@test("instructions and cycles of a loop are exact and reproducible",
      stat("instructions:u,cycles:u", "/work loop 1000000"), stat("instructions:u,cycles:u", "/work loop 1000000"),
      stat("instructions:u,cycles:u", "/work loop 3000000"))
def _(a, b, c):
    a, b, c = a.values(), b.values(), c.values()
    eq(len(a), 2, "events")
    eq(a, b, "the second run")
    for i in range(2):
        check(2000000 <= a[i] <= 2000000 + START, f"{a}")
        eq(c[i] - a[i], 4000000, "two million more iterations")


@test("raw events can be written in each notation",
      stat("r08:u,r11:u,armv8_pmuv3/inst_retired/u,armv8_pmuv3/event=0x11/u,armv8_pmuv3/config=0x8/u,4:0x8:u",
           "/work loop 1000000"))
def _(r):
    v = r.values()
    eq(len(v), 6, "events")
    eq(len(set(v)), 1, f"values of the six notations: {v}")
    check(2000000 <= v[0] <= 2000000 + START, f"{v}")


@test("an event has the name that the user wrote, and is counted without multiplexing", stat("r08:u,instructions:u", "/work loop 1000"))
def _(r):
    eq([(x["event"], x["running"], x["set"]) for x in r.records()],
       [("r08:u", 100, None), ("instructions:u", 100, None)], "names")


@test("user space, kernel and both are counted separately", stat("instructions:u,instructions:k,instructions", "/work call 20000"))
def _(r):
    user, kernel, both = r.values()
    check(20000 * 3 <= user <= 20000 * 12, f"user space: a loop around a system call has few instructions: {user}")
    check(kernel > 20000 * 30, f"kernel: a system call has dozens of instructions: {kernel}")
    near(both, user + kernel, 0.002, "user and kernel together")


@test("a group that fits into the counters is exact and counted without multiplexing", stat("{cycles:u,instructions:u,r08:u}", "/work loop 1000000"))
def _(r):
    v = r.values()
    check(len(v) == 3 and all(2000000 <= x <= 2000000 + START for x in v), f"{v}")
    eq([x["running"] for x in r.records()], [100, 100, 100], "running")


@test("an event that the machine lacks has a reason instead of a number; the others are counted",
      stat("cache-misses,instructions:u,LLC-load-misses", "/work loop 1000000"))
def _(r):
    a, b, c = r.ended().records()
    for x in (a, c):
        eq(x["value"], None, x["event"])
        check("not supported" in x["reason"], f"{x}")
    check(2000000 <= b["value"] <= 2000000 + START, f"{b}")


@test("page faults are exact", stat("page-faults", "/work fault 100"), stat("page-faults", "/work fault 1100"))
def _(a, b):
    eq(b.values()[0] - a.values()[0], 1000, "a thousand more pages")


@test("children are counted, unless --no-inherit",
      stat("instructions:u", "/work fork 5 1000000"), stat("instructions:u", "/work fork 5 1000000", "--no-inherit"))
def _(all_, own):
    v = all_.values()[0]
    check(10000000 <= v <= 10000000 + 6 * START, f"with children: {v}")
    v = own.values()[0]
    check(0 < v < 5 * START, f"without: {v}")


@test("the exit status of the command is returned", stat("instructions:u", "/work exit 7"))
def _(r):
    check(r.ended(7).records()[0]["value"] > 0, "the count is printed")


@test("a command that does not exist is named in a message", stat("instructions:u", "/nowhere"))
def _(r):
    check(r.status not in (0, 128 + 9), f"exit {r.status}")
    check(any("/nowhere" in line for line in r.err), f"the message names it: {r.err}")


# --- too few counters -----------------------------------------------------------------------------

TWELVE = ",".join(["instructions:u"] * 12)


@test("twelve events are multiplexed and scaled within 1 %", stat(TWELVE, "/work loop 100000000"))
def _(r):
    found = r.ended().records()
    eq(len(found), 12, "events")
    for x in found:
        near(x["value"], 200000000, 0.01, "scaled")
        check(30 < x["running"] < 70, f"each is counted half of the time: {x}")


@test("--raw prints the unscaled count next to the scaled value, --no-scale instead of it",
      stat(TWELVE, "/work loop 100000000", "--raw"), stat(TWELVE, "/work loop 100000000", "--no-scale"))
def _(raw, bare):
    for found, key in ((raw.ended().records(), "count"), (bare.ended().records(), "value")):
        counts = [x[key] for x in found]
        near(sum(counts), 6 * 200000000, 0.02, "six counters that count all the time")
        check(all(c < 0.7 * 200000000 for c in counts), f"{counts}")
    for x in raw.records():
        near(x["value"], 200000000, 0.01, "scaled")
        near(x["count"] * x["enabled"] / x["runtime"], x["value"], 0.001, "value computed from count, enabled and runtime")


def never_counted(found):
    check(found, "all events were counted at the same time")
    for x in found:
        eq(x["value"], None, "value")
        check(re.search("not (counted|supported)", x["reason"]), f"{x}")
    check(any(re.search("group|counters", x["reason"]) for x in found), f"no hint: {found[0]}")


EIGHT = "{" + ",".join(["cycles:u"] * (COUNTERS + 1)) + "}"


@test("a group with too many events, for a command: a reason and a hint, never 0", stat(EIGHT, "/work loop 1000000"))
def _(r):
    check(r.status in (0, 1, 4), f"exit {r.status}: {r.err}")
    found = r.records()
    eq(len(found), COUNTERS + 1, "events")
    never_counted([x for x in found if x["value"] is None])
    check(all(2000000 <= x["value"] <= 2000000 + START for x in found if x["value"] is not None), f"{found[0]}")


@test("a group with too many events, for a process: a reason and a hint, never 0", f"/gpustat stat -o json -p @ -e {EIGHT} 50ms 2",
      background="/work loop 1000000000")
def _(r):
    check(r.status in (0, 1, 4), f"exit {r.status}: {r.err}")
    found = r.records(lines=r.out)
    eq(len(found), 2 * (COUNTERS + 1), "records")
    never_counted(found)


@test("forty pinned events on seven counters: the rejected ones have a reason",
      stat(",".join(["cycles:uD"] * 40), "/work loop 1000000"))
def _(r):
    found = r.ended().records()
    eq(len(found), 40, "events")
    lost = [x for x in found if x["value"] is None]
    eq(len(lost), 40 - COUNTERS, "losers")
    check(all("pinned" in x["reason"] for x in lost), f"{lost[0]}")
    won = [x["value"] for x in found if x["value"] is not None]
    check(all(2000000 <= v <= 2000000 + START for v in won), f"the others are exact: {won}")


@test("the events of a weak group with too many events are counted separately", stat(EIGHT + ":W", "/work loop 100000000"))
def _(r):
    v = r.values()
    eq(len(v), COUNTERS + 1, "events")
    for x in v:
        near(x, 200000000, 0.02, "scaled")


# --- targets --------------------------------------------------------------------------------------

@test("-a: the whole machine is counted", stat("cycles:u,instructions:u", "/work loop 10000000", "-a"))
def _(r):
    for v in r.values():
        check(20000000 <= v <= 20200000, f"the loop, and a small part of gpustat and init: {v}")


@test("-C 0 and -A: records have the number of the CPU", stat("instructions:u", "/work loop 10000000", "-C", "0"),
      stat("instructions:u", "/work loop 10000000", "-a", "-A"))
def _(one, each):
    for r in (one, each):
        x = r.ended().records()[0]
        check(20000000 <= x["value"] <= 20200000, f"{x}")
    eq([x["cpu"] for x in each.records()], [0], "cpu")


@test("-C 3: an error if CPU 3 does not exist", stat("instructions:u", "/work loop 1000", "-C", "3"))
def _(r):
    check(r.status not in (0, 128 + 9), f"exit {r.status}")
    check(any("3" in line for line in r.err), f"the message names it: {r.err}")


def one_each_ns(found):
    """Checks records of an event that is counted all the time. When an event begins to count a
    process, the kernel needs a few ms first."""
    check(len(found) > 1, f"{len(found)} records")
    for i, x in enumerate(found):
        near(x["dt"], 0.05, 0.05, "dt")
        near(x["value"], x["dt"] * 1e9, 0.01 if i else 0.2, f"record {i}: one per ns")


@test("-p: a running process is counted", "/gpustat stat -o json -p @ -e instructions:u 50ms 4",
      background="/work loop 1000000000")
def _(r):
    found = r.ended().records(lines=r.out)
    eq(len(found), 4, "records")
    one_each_ns(found)


@test("-t: a running thread is counted", "/gpustat stat -o json -t @ -e instructions:u 50ms 2",
      background="/work loop 1000000000")
def _(r):
    one_each_ns(r.ended().records(lines=r.out))


@test("-G: the processes of a cgroup are counted", "/gpustat stat -o json -G g -e instructions:u 50ms 2", background="/work loop 1000000000")
def _(r):
    one_each_ns(r.ended().records(lines=r.out))


@test("-G: processes outside the cgroup are not counted", "/gpustat stat -o json -G g -e instructions:u -- /work loop 10000000",
      background="/work sleep 100000")
def _(r):
    check(all((x["value"] or 0) < 100000 for x in r.ended().records()), "the command is not in the cgroup")


@test("a user without any permission: the reason names the setting", "/gpustat stat -o json -e instructions -- /work loop 1000",
      "/gpustat stat -o json -a -e instructions -- /work loop 1000", uid=1000, paranoid=3)
def _(a, b):
    for r in (a, b):
        text = " ".join(r.err)
        check("perf_event_paranoid" in text, f"{text}")
        check(not re.search(r'"value":\d', text), f"no number: {text}")


@test("a user who may not count the kernel: user space is counted, and a message explains it",
      "/gpustat stat -o json -e instructions -- /work loop 1000000", uid=1000, paranoid=2)
def _(r):
    x = r.ended().records()[0]
    check(2000000 <= x["value"] <= 2000000 + START, f"{x}")
    check(x["event"] == "instructions:u" or any("user" in line for line in r.err if line[:1] != "{"), f"{r.err}")


# --- intervals ------------------------------------------------------------------------------------

@test("intervals: the sum of the parts is exact",
      "/gpustat stat -o json -e instructions:u 50ms -- /work loop 100000000")
def _(r):
    found = r.ended().records()
    check(4 <= len(found) <= 6, f"{len(found)} records of 50 ms in 0.2 s")
    total = sum(x["value"] or 0 for x in found)
    check(200000000 <= total <= 200000000 + START, f"sum: {total}")
    near(found[0]["dt"], 0.05, 0.1, "dt")


@test("intervals and twelve events: each part is close to the expected value",
      f"/gpustat stat -o json -e {TWELVE} 100ms -- /work loop 100000000")
def _(r):
    found = r.ended().records()
    for x in found[:12]:
        near(x["value"], x["dt"] * 1e9, 0.05, "scaled")


@test("-a without a command counts the whole machine", "/gpustat stat -o json -a -e cycles:u,task-clock 50ms 3",
      background="/work loop 1000000000")
def _(r):
    found = [x for x in r.ended().records(lines=r.out) if x["event"].startswith("cycles")]
    eq(len(found), 3, "records")
    one_each_ns(found)


# --- event sets -----------------------------------------------------------------------------------

def of_sets(r, names):
    """Returns the records by set, with one record of each event."""
    found = r.ended().records()
    sets = {n: [x for x in found if x["set"] == n] for n in names}
    for n in names:
        check(sets[n], f"no record of set {n}: {found[:2]}")
        check(all(x.get("runs") is not None and x.get("active") is not None for x in sets[n]), f"{sets[n][0]}")
    return [sets[n] for n in names]


def sets(*specs, command="/work loop 100000000"):
    return " ".join(["/gpustat stat -o json --raw", *(f"--set {s}" for s in specs), "--", command])


def took_turns(a, b, n, part=1):
    """Checks that both sets ran about n times. The first set starts, so it may have run once
    more."""
    check(abs(b["runs"] - n) <= part and 0 <= a["runs"] - b["runs"] <= 1, f"{n} runs each: {a} {b}")


@test("sets switched by time: runs, active time, values scaled to the whole time", sets("a=instructions:u@10ms", "b=cycles:u,r08:u@10ms"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    eq((len(a), len(b)), (1, 2), "events")
    took_turns(a[0], b[0], 10)
    for x in a + b:
        near(x["value"], 200000000, 0.05, "scaled")
        near(x["active"], 0.1, 0.1, "half of the time")
        eq((x["runs"] - 1) * 0.01 < x["active"] < (x["runs"] + 0.1) * 0.01, True, f"consistent with its runs: {x}")


@test("sets switched by time: the counts of both sets add up", sets("a=instructions:u@10ms", "b=cycles:u@10ms"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    near(a[0]["count"], 100000000, 0.1, "a")
    near(b[0]["count"], 100000000, 0.1, "b")
    near(a[0]["count"] + b[0]["count"], 200000000, 0.02, "one of the sets is active at any time")


@test("sets with unequal durations are active in this proportion", sets("a=instructions:u@5ms", "b=instructions:u@15ms"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    near(b[0]["count"] / a[0]["count"], 3, 0.15, "three times the duration")
    near(a[0]["count"] + b[0]["count"], 200000000, 0.02, "one of the sets is active at any time")
    near(a[0]["value"], 200000000, 0.05, "a, scaled")
    near(b[0]["value"], 200000000, 0.05, "b, scaled")


def exact_turns(x, of):
    """Checks that all runs of a set except the last are complete. A user-space event counts nothing
    between its overflow and the end of the run."""
    low, high = (x["runs"] - 1) * of, x["runs"] * of + 20
    check(low <= x["count"] <= high, f"runs of {of}: {x}")


@test("sets switched by overflow: each run has the requested count",
      sets("a=instructions:u,cycles:u@overflow:cycles:u:5000000",
           "b=instructions:u,cycles:u@overflow:cycles:u:15000000"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    took_turns(a[1], b[1], 10, 0)
    exact_turns(a[1], 5000000)
    exact_turns(b[1], 15000000)
    for x in a + b:
        near(x["value"], 200000000, 0.05, "scaled")


@test("sets switched by overflow of an event with a period: N counts periods",
      sets("a=instructions:u,cycles/period=1000000/u@overflow:cycles/period=1000000/u:10",
           "b=instructions:u,cycles/period=1000000/u@overflow:cycles/period=1000000/u:10"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    took_turns(a[1], b[1], 10, 0)
    exact_turns(a[1], 10000000)
    exact_turns(b[1], 10000000)


PERIODS = "armv8_pmuv3/cpu_cycles,period=1000000/u"


@test("sets switched by overflow of an event with a comma in its name",
      sets(f"a={PERIODS}@overflow:{PERIODS}:10", f"b={PERIODS}@overflow:{PERIODS}:10"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    took_turns(a[0], b[0], 10, 0)
    exact_turns(b[0], 10000000)


@test("sets switched by the first overflow of either of two events, and by time",
      sets("a=instructions:u,cycles:u,r11:u@overflow:cycles:u:50000000,r11:u:10000000", "b=instructions:u@10ms"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    took_turns(a[0], b[0], 10)
    exact_turns(a[2], 10000000)


@test("sets switched by overflow or by time, whichever is first",
      sets("a=cycles:u@overflow:cycles:u:2000000@10ms", "b=cycles:u@overflow:cycles:u:20000000@10ms"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    took_turns(a[0], b[0], 17)
    exact_turns(a[0], 2000000)


@test("sets switched by overflow of software events",
      sets("a=page-faults@overflow:page-faults:10", "b=page-faults@overflow:page-faults:10", command="/work fault 400"))
def _(r):
    a, b = of_sets(r, ["a", "b"])
    took_turns(a[0], b[0], 20)
    for x in a + b:
        check(10 * (x["runs"] - 1) <= x["count"] <= 10 * x["runs"], f"ten faults per run: {x}")


@test("a set keeps its id and name", sets("3:first=instructions:u@10ms", "1:second=cycles:u@10ms"))
def _(r):
    of_sets(r, ["first", "second"])


@test("sets of a process take turns over intervals",
      "/gpustat stat -o json --raw -p @ --set a=instructions:u@10ms --set b=cycles:u@10ms 100ms 3",
      background="/work loop 1000000000")
def _(r):
    found = r.ended().records(lines=r.out)
    eq(len(found), 6, "records")
    for i, x in enumerate(found):
        near(x["value"], x["dt"] * 1e9, 0.1 if i > 1 else 0.2, "scaled")
        check(4 <= x["runs"] <= 6, f"{x}")
    check(29 <= sum(x["runs"] for x in found) <= 31, f"total number of runs: {[x['runs'] for x in found]}")


# --- sampling -------------------------------------------------------------------------------------

def samples(r):
    return r.ended().records("sample", r.err + r.out)


@test("forty of forty overflows are recorded", "/gpustat sample -o json -e cycles:u --sample-period 100000 -- /work loop 2000010",
      "/gpustat sample -o json -e cycles:u --sample-period 100000 -- /work loop 1000010")
def _(a, b):
    eq((len(samples(a)), len(samples(b))), (40, 20), "samples")


@test("a sample has the address and the time",
      "/gpustat sample -o json -e cycles:u --sample-period 100000 -- /work loop 2000010")
def _(r):
    found = samples(r)
    for x in found:
        eq([x[k] for k in ["event", "cpu", "comm", "mode", "module", "period"]],
           ["cycles:u", 0, "work", "user", "/work", 100000], "a sample")
        check(x["symbol"].split("+")[0] == "loop", f"in the loop: {x}")
    for x, y in zip(found, found[1:]):
        check(0.0001 <= y["time"] - x["time"] + 2e-6 <= 0.0005, f"100 000 cycles of 1 ns, and the interrupt: {x} {y}")


@test("--limit ends the sampling of a command", "/gpustat sample -o json -e cycles:u --sample-period 100000 --limit 3 -- /work loop 2000010")
def _(r):
    eq(len(samples(r)), 3, "samples")
    check(r.took < 0.1, f"took {r.took} s")


@test("-F: the requested number of samples per second", "/gpustat sample -o json -e cycles:u -F 1000 -- /work loop 100000000")
def _(r):
    near(len(samples(r)), 200, 0.3, "1000 Hz for 0.2 s")


@test("a CPU that goes offline has a reason afterwards; the others are still counted", "/work cpu 1",
      "/gpustat stat -o json -a -A -I 100 -e cpu-clock -- /work offline 350", "/work cpu 0")
def _(first, r, _last):
    first.ended()
    rows = {cpu: [x for x in r.ended().records() if x["cpu"] == cpu] for cpu in (0, 1)}
    check(all(x["value"] for x in rows[0]), f"the CPU that stays online: {rows[0]}")
    check(rows[1][0]["value"] and rows[1][1]["value"], f"before the CPU goes offline: {rows[1]}")
    check(rows[1][-1]["value"] is None and "offline" in rows[1][-1]["reason"], f"after the CPU went offline: {rows[1]}")


@test("--limit ends the sampling of a process that continues",
      "/gpustat sample -o json -p @ -e cycles:u --sample-period 1000000 --limit 5",
      background="/work loop 1000000000")
def _(r):
    eq(len(samples(r)), 5, "samples")
    check(r.took < 0.1, f"5 ms of samples took {r.took} s")


@test("folded: every sample is counted",
      "/gpustat sample -o folded -e cycles:u --sample-period 100000 -- /work loop 2000010")
def _(r):
    lines = [line for line in r.ended().out + r.err if re.search(r" \d+$", line)]
    eq(sum(int(line.rsplit(" ", 1)[1]) for line in lines), 40, f"samples: {lines[:5]}")


# --- formats --------------------------------------------------------------------------------------

def in_format(name, counted, absent):
    @test(f"{name}: has the same exact number, and none for an unsupported event",
          stat("instructions:u", "/work loop 1000000"),
          f"/gpustat stat -o {name} -e instructions:u,cache-misses -- /work loop 1000000")
    def _(a, b):
        v = a.values()[0]
        text = "\n".join(b.ended().err)
        check(re.search("(?m)" + counted.format(v), text), f"no {v} in: {text}")
        check(re.search("(?m)" + absent, text), f"not absent: {text}")


in_format("csv", r"^.*,value,instructions:u,{0}$", r"^.*,value,cache-misses,$")
in_format("logfmt", r"event=instructions:u .*value={0}\b", r"event=cache-misses (?!.*value=)")
in_format("line", r"^instructions:u +{0}\b", r"^cache-misses +- .*not supported")
in_format("perf-csv", r"^{0},,instructions:u,\d+,100\.00", r"^<not supported>,,cache-misses,0,100\.00")


@test("-O writes the numbers to the file", "/gpustat stat -o json -O /proc/self/fd/1 -e instructions:u -- /work loop 1000000")
def _(r):
    v = r.values(r.out)
    check(len(v) == 1 and 2000000 <= v[0] <= 2000000 + START, f"{v}")
    eq(r.err, [], "stderr")


# --- ratios ---------------------------------------------------------------------------------------

PAIR = "instructions:u,cycles:u"


@test("insn per cycle is the exact quotient of the two counts, in each format", stat(PAIR, "/work loop 1000000"),
      f"/gpustat stat -o perf-csv -e {PAIR} -- /work loop 1000000", f"/gpustat stat -o line -e {PAIR} -- /work loop 1000000")
def _(json_, csv, line):
    insn, cycles = json_.ended().records()
    eq(insn["metric_unit"], "insn per cycle", "unit")
    eq(insn["metric"], round(insn["value"] / cycles["value"], 6), "quotient")
    near(insn["metric"], 1, 0.001, "one instruction per cycle")
    check("metric" not in cycles, f"no clock was counted: {cycles}")
    check(re.search(r"(?m)^\d+,,instructions:u,\d+,100\.00,1\.00,insn per cycle$", "\n".join(csv.ended().err)), f"{csv.err}")
    check(re.search(r"(?m)^instructions:u +\d+ +100\.0% 1\.00 insn per cycle$", "\n".join(line.ended().err)), f"{line.err}")


@test("GHz, CPUs utilized and events per second are computed from task-clock and the time",
      stat("cycles,task-clock,page-faults,branch-misses,branches", "/work loop 20000000"))
def _(r):
    cycles, clock, faults, misses, branches = r.ended().records()
    eq([x["metric_unit"] for x in (cycles, clock, faults)], ["GHz", "CPUs utilized", "/sec"], "units")
    eq(cycles["metric"], round(cycles["value"] / clock["value"], 6), "GHz")
    near(cycles["metric"], 1, 0.05, "one cycle per ns")
    near(clock["metric"], clock["value"] / 1e9 / clock["dt"], 0.001, "CPUs utilized")
    near(faults["metric"], faults["value"] * 1e9 / clock["value"], 1e-6, "page faults per second")
    if misses["value"] is not None and branches["value"]:
        eq(misses["metric_unit"], "% of all branches", "unit")
        near(misses["metric"], 100 * misses["value"] / branches["value"], 1e-3, "share of the branches")


# --- the two subcommands --------------------------------------------------------------------------

def chosen():
    only = os.environ.get("ONLY", "")
    return [(f"{i}", *t) for i, t in enumerate(TESTS) if only in t[0]]


def plan(file):
    with open(file, "w") as f:
        for key, _name, commands, how, _judge in chosen():
            for n, command in enumerate(commands):
                f.write("\t".join([f"{key}.{n}", *map(str, how), command]) + "\n")


def judge(file):
    """Returns 0 if all tests passed, 1 if a test failed, 2 if the machine did not complete the plan."""
    runs, now, off = {}, Run("nothing"), False
    for line in open(file, errors="surrogateescape").read().replace("\r", "").split("\n"):
        tag, _, text = line.partition(" ")
        if tag == "1":
            now.out.append(text)
        elif tag == "2":
            now.err.append(text)
        elif tag == "@run":
            now = runs[text] = Run(text)
        elif tag == "@end":
            now.status, now.took = int(text.split()[1]), float(text.split()[2])
        elif tag == "@off":
            off = True
    n = bad = 0

    def say(ok, name, notes=()):
        nonlocal n, bad
        n, bad = n + 1, bad + (not ok)
        print(f"{'' if ok else 'not '}ok {n} - {name}")
        for note in notes:
            print("# " + note.encode("ascii", "backslashreplace").decode()[:600])

    for line in runs.get("probe", now).out:
        ok, _, name = line.partition("ok - ")
        if name:
            say(not ok, name)
        else:
            print(line)
    check_probe = runs.get("probe")
    if not check_probe or check_probe.status or not n:
        say(False, "machine: the probe completes")
    for key, name, commands, _how, verdict in chosen():
        mine = [runs.get(f"{key}.{i}", Run(c)) for i, c in enumerate(commands)]
        for r, c in zip(mine, commands):
            r.command = c
        try:
            check(all(r.status is not None for r in mine), "did not run")
            lines = verdict(*mine)
        except Exception as e:  # any exception in a test is a failure of that test
            where = traceback.extract_tb(e.__traceback__)[1:2]
            say(False, name, [f"line {w.lineno}" for w in where] + (str(e) or repr(e)).split("\n") +
                [f"exit {r.status}: {r.command[:200]}" for r in mine])
        else:
            for line in lines or [(True, name, [])]:
                say(line[0], line[1], [] if line[0] else line[2])
    if not off:
        say(False, "machine: the plan was completed")
    print(f"1..{n}")
    return 0 if not bad else 1 if off else 2


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("plan", "judge"):
        sys.exit("usage: judge.py plan|judge FILE")
    sys.exit(plan(sys.argv[2]) if sys.argv[1] == "plan" else judge(sys.argv[2]))
