#!/usr/bin/env python3
# t_oa_replay.py PROG - tests the values of `gpustat oa --replay`: the counters of known recordings,
# of raw streams and of generated recordings of every platform are compared with values that were
# checked elsewhere, with the truth of the generator, and with equations that are evaluated here;
# sums, intervals, contexts and clocks are tested too. Prints TAP. ONLY=TEXT and TIMES=1 are as in
# tests/machine.py. SEEDS=N is as in oalib.py.
# SPDX-License-Identifier: MIT
import csv
import io
import json
import os
import select
import signal
import struct
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import oa_eval  # noqa: E402
from machine import check, eq, near, parse_logfmt, printable  # noqa: E402
from oalib import (GIVEN, OA, OWN, SEEDS, at, decode, given, good, main, make,  # noqa: E402
                   oa, platforms, replay, same_text, sets_of, slots, sums_are, test, xml_of)
from recording import record, records  # noqa: E402

M32 = (1 << 32) - 1
SIZES = {"A45": 256, "A32u40": 256, "A24u40": 256, "MPEC": 128, "PEC64": 576}


# --- expected records -----------------------------------------------------------------

GIVEN_SET = {"tgl_ctx": "ComputeBasic"}


def expected(name):
    """Returns {index: (reason, {counter: text})}; without ../shared/oa computed by the equations."""
    got = {}
    if OWN:
        platform = GIVEN[name]
        truth, set_ = given(name).truth, sets_of(xml_of(platform))[GIVEN_SET.get(name, "RenderBasic")]
        for k, a, b, _lost in truth.deltas():
            values, unknown = calculate(set_, variables(platform, False), slots_of(b, platforms()[platform][8]))
            check(not unknown, f"{name}: {unknown} cannot be calculated")
            got[k] = a["reason"], {c: f"{v:.6f}" if isinstance(v, float) else str(v) for c, v in values.items() if v is not None}
        return got
    with open(os.path.join(OA, "expected", name + ".flat.txt"), encoding="ascii") as f:
        for line in f:
            index, reason, counter, value = line.split()
            got.setdefault(int(index), (reason, {}))[1][counter] = value
    return got


def widths(fmt):
    if fmt == "A45":
        return [32] * 61
    if fmt == "A32u40":
        return [40] * 32 + [32] * 20
    if fmt == "A24u40":
        return [32] * 4 + [40] * 20 + [32] * 4 + [40] * 4 + [32] * 22
    return [32] * 24 if fmt == "MPEC" else [64] * 64


def ctx_of(sample):
    return sample["ctx"] if sample["ctx_valid"] else None


def head_of(rec, sample, what):
    """Checks that a record has the reason, context and timestamp of this report."""
    eq((rec["reason"], rec["ctx"], rec["ts"]), (sample["reason"], ctx_of(sample), sample["ts"]),
       f"{what}: reason, ctx, ts")


def per_report(recs, truth, hz, what):
    """Checks that the records are the expected deltas, without their counters."""
    want = truth.deltas()
    eq([r["index"] for r in recs], [k for k, *_ in want], f"{what}: indices")
    said = 0
    for r, (k, a, b, lost) in zip(recs, want):
        where = f"{what}, delta {k}"
        head_of(r, a, where)
        eq((r["ticks"], r["reports"]), (b["dticks"], 1), f"{where}: ticks, reports")
        near(float(r["dt"]), b["dts"] / hz, 1.01e-6, f"{where}: dt")
        if b["dticks"] is None:
            eq(r["freq"], None, f"{where}: freq")
        elif b["dts"]:
            near(float(r["freq"]), b["dticks"] * hz / b["dts"], 1 + 1e-6 * b["dticks"] * hz / b["dts"],
                 f"{where}: freq")
        eq(r["lost"], lost - said, f"{where}: lost")
        said = lost


def fits(element, fmt):
    """True if a set is for reports of the generator's format."""
    want = {"A24u40": "256B_GENERIC_NOA16", "MPEC": "128B_MPEC8_NOA16", "PEC64": "576B_PEC64LL"}.get(fmt)
    return element.get("oa_format") in ((want,) if fmt in ("MPEC", "PEC64") else (want, None))


# --- recordings with known values --------------------------------------------------------

def known_values(recs, name, what):
    """Checks each value of expected/, except the two faults that its README names, and the reasons
    of Xe2, which IGT's reader does not read."""
    want, truth = expected(name), given(name).truth
    skipped = {k for k in range(len(truth.samples) - 1) if truth.broken[k + 1]}
    eq([r["index"] for r in recs], sorted(set(want) - skipped), f"{what}: indices")
    for r in recs:
        reason, counters = want[r["index"]]
        eq(r["reason"], truth.samples[r["index"]]["reason"] if name == "xe_lnl" else reason,
           f"{what}: reason of {r['index']}")
        eq(sorted(r["counter"]), sorted(counters), f"{what}: counters of {r['index']}")
        doubled = {}
        if name == "mtl_basic" and not OWN:
            dts = truth.samples[r["index"] + 1]["dts"]
            doubled["GpuTime"] = str(dts * 10**9 // 38400000)
            clocks = int(counters["GpuCoreClocks"])
            doubled["AvgGpuCoreFrequency"] = str(clocks * 10**9 // int(doubled["GpuTime"]))
            # the value of expected/ is half the time, in whole ns, and twice the frequency
            near(int(counters["GpuTime"]) * 2, int(doubled["GpuTime"]), 60, "expected GpuTime is half")
            near(int(counters["AvgGpuCoreFrequency"]) / int(doubled["AvgGpuCoreFrequency"]), 2, 0.02,
                 "expected frequency is twice")
        none = without_value(sets_of(xml_of("xe-lnl"))["RenderBasic"]) if name == "xe_lnl" else {}
        for c, v in counters.items():
            if c in none:  # IGT's reader has 0, or divides by the number of EUs
                eq(r["counter"][c], None, f"{what}: {r['index']} {c}")
            elif c in doubled or OWN or name != "mtl_basic" or not per_second(c):
                same_text(r["counter"][c], doubled.get(c, v), f"{what}: {r['index']} {c}")


def per_second(counter):
    """True if the equation of this counter in the set of mtl_basic reads GpuTime."""
    s = sets_of(xml_of("mtlgt3"))["RenderBasic"]
    return any(c.get("symbol_name") == counter and "GpuTime" in c.get("equation") for c in s.iter("counter"))


def add_given(name, platform):
    @test(f"{name}: all known values")
    def _(m):
        g = given(name)
        recs = replay(g.path, metrics=xml_of(platform))
        known_values(recs, name, "read from the file")
        p = platforms()[platform]
        per_report(recs, g.truth, p[2], name)
        eq({(r["set"], r["dev"]) for r in recs}, {(GIVEN_SET.get(name, "RenderBasic"), None)}, "set, dev")
        eq(replay(g.path, "--reports", metrics=xml_of(platform)), recs, "--reports is the default")
        with open(g.path, "rb") as f:
            stdin = f.read()
        eq(replay("-", metrics=xml_of(platform), stdin=stdin), recs, "from stdin")
        slow = subprocess.run(["sh", "-c", 'dd bs=37 if="$1" 2>/dev/null | "$2" oa --replay - --metrics "$3" -o json',
                               "x", g.path, machine.PROG, xml_of(platform)], capture_output=True, timeout=60, check=False)
        eq(decode(slow.stdout), recs, "read from a pipe in small pieces")
        pack = m.path("one.pack")
        r = machine.run(["oa", "pack", xml_of(platform), "-O", pack])
        eq((r.code, r.out, r.err), (0, b"", b""), "pack")
        eq(replay(g.path, metrics=pack), recs, "with a pack")
        check(os.path.getsize(pack) < os.path.getsize(xml_of(platform)) / 4, f"a pack of {os.path.getsize(pack)} bytes")

    @test(f"{name}: raw counters")
    def _(_m):
        g = given(name)
        p = platforms()[platform]
        raw_counters(g.path, g.truth, p, name)

    @test(f"{name}: every format has the same numbers")
    def _(_m):
        same_in_formats(given(name).path, xml_of(platform))


for _name, _platform in GIVEN.items():
    add_given(_name, _platform)


def raw_counters(path, truth, p, what, *args):
    """Compares --raw, for every report and in sums, with the truth."""
    fmt, gen, names = p[8], p[1], slots(p[8])
    recs = replay(path, "--raw", "--reports", *args)
    eq([r["index"] for r in recs], list(range(len(truth.samples))), f"{what}: indices")
    was = 0
    for r, s, lost in zip(recs, truth.samples, truth.lost):
        where = f"{what}: report {s['i']}"
        head_of(r, s, where)
        eq((r["id"], r["dt"], r["ticks"], r["lost"]), (s["id"], None, s["ticks"], lost - was),
           f"{where}: id, dt, ticks, lost")
        was = lost
        clock = clocks(s["id"], gen)
        if clock:
            near(float(r["clock"]["unslice"]), clock[0], 40 * 128, f"{where}: unslice")
            near(float(r["clock"]["slice"]), clock[1], 40 * 128, f"{where}: slice")
    for a, b, s in zip(recs, recs[1:], truth.samples[1:]):
        eq([(b["counter"][n] - a["counter"][n]) % (1 << w) for n, w in zip(names, widths(fmt))], s["d"],
           f"{what}: ticks counted until report {s['i']}")
    with open(path, "rb") as f:
        data = f.read()
    for r, s in zip(recs, truth.samples):
        eq([r["counter"][n] for n in names], stored(data, s["off"] + 8, fmt), f"{what}: report {s['i']} as stored")
    deltas = truth.deltas()
    total, = replay(path, "--raw", "--totals", *args)
    sums_are(total["counter"], truth.sum_of(deltas), fmt, f"{what}: sums")
    eq((total["index"], total["reason"], total["ctx"], total["reports"], total["lost"]),
       (0, None, None, len(deltas), truth.lost[-1]), f"{what}: index, reason, ctx, reports, lost of the sum")
    eq(total["ts"], truth.samples[deltas[0][0]]["ts"], f"{what}: ts of the sum")
    near(float(total["dt"]), sum(b["dts"] for _k, _a, b, _l in deltas) / p[2], 1.01e-6, f"{what}: dt of the sum")
    eq(total["ticks"], None if fmt == "A45" else sum(b["dticks"] for _k, _a, b, _l in deltas),
       f"{what}: ticks of the sum")


def clocks(rid, gen):
    """Returns Hz of unslice and slice, reference section 4; None if the report has none."""
    if not 8 <= gen < 20:
        return None
    return (rid & 0x1ff) * 50e6 / 3, ((rid >> 9 & 3) << 7 | rid >> 25 & 0x7f) * 50e6 / 3


def stored(data, at, fmt):
    """Returns the counters of the report at this offset, by the tables of the reference, section 4."""
    u32 = lambda o, n: list(struct.unpack_from(f"<{n}I", data, at + o))  # noqa: E731
    if fmt == "A45":
        return u32(12, 45) + u32(192, 8) + u32(224, 8)
    if fmt == "MPEC":
        return u32(32, 8) + u32(64, 8) + u32(96, 8)
    if fmt == "PEC64":
        return list(struct.unpack_from("<64Q", data, at + 32))
    words, high = u32(16, 36), data[at + 160:at + 192]
    wide = range(32) if fmt == "A32u40" else [*range(4, 24), *range(28, 32)]
    a = [w | (high[i] << 32 if i in wide else 0) for i, w in enumerate(words)]
    if fmt == "A24u40":
        a += u32(160, 1) + u32(184, 1)
    return a + u32(192, 16)


def same_in_formats(path, metrics):
    """Checks that the other formats have the same values as JSON."""
    base = ["--replay", path, "--metrics", metrics]
    recs = oa(base)
    names = list(recs[0]["counter"])
    one = "EuActive" if "EuActive" in names else names[-1]
    run = lambda *a: machine.run(["oa", *base, *a])  # noqa: E731
    text = lambda v: "" if v is None else str(v)  # noqa: E731

    def out(*a):
        r = run(*a)
        eq((r.code, r.err.replace(recs.lacks, b"")), (0, b""), f"{a}: exit code, messages")
        return printable(r.out)
    rows = list(csv.reader(io.StringIO(out("-o", "csv", "-f", f"index,reason,{one}"), newline=""), strict=True))
    eq(rows[0][:2], ["index", "reason"], "header of wide CSV")
    eq((len(rows[0]), rows[0][2].split(".")[-1]), (3, one), "header of wide CSV: the counter")
    eq(rows[1:], [[text(r["index"]), text(r["reason"]), text(r["counter"][one])] for r in recs], "wide CSV")
    rows = list(csv.reader(io.StringIO(out("-o", "csv", "-f", "counter", "-H"), newline=""), strict=True))
    eq([sorted(r) for r in rows], [sorted(text(v) for v in r["counter"].values()) for r in recs], "CSV, -f counter -H")
    rows = list(csv.reader(io.StringIO(out("-o", "csv"), newline=""), strict=True))
    eq({len(r) for r in rows}, {len(rows[0])}, "cells of long CSV")
    eq(rows[0][:3] + rows[0][-3:], ["time", "dt", "kind", "field", "instance", "value"], "header of long CSV")
    eq({r[2] for r in rows[1:]}, {"oa"}, "kind of long CSV")
    for n in names:
        eq([r[-1] for r in rows[1:] if n in r[-3:-1]], [text(r["counter"][n]) for r in recs], f"long CSV: {n}")
    lines = parse_logfmt(out("-o", "logfmt").encode())
    eq(len(lines), len(recs), "lines of logfmt")
    for line, r in zip(lines, recs):
        eq(line["index"], str(r["index"]), "logfmt: index")
        for n, v in r["counter"].items():
            got = [w for k, w in line.items() if k.split(".")[-1] == n]
            eq(got, [] if v is None else [str(v)], f"logfmt: {n} of {r['index']}")
    for fmt in ("line", "table"):
        lines = out("-o", fmt, "-f", f"index,{one}", "-H").splitlines()
        eq(len(lines), len(recs), f"lines of {fmt} -H")
        for line, r in zip(lines, recs):
            check(str(r["index"]) in line.split() or f"index={r['index']}" in line, f"{fmt}: index in {line!r}")
        check(out("-o", fmt).count("\n") >= len(recs), f"lines of {fmt}")
    eq([json.loads(line, parse_float=str) for line in out("-o", "json", "-f", f"index,{one}").splitlines()],
       [{"index": r["index"], "counter": {one: r["counter"][one]}} for r in recs], "JSON with -f")


# --- streams without the records of a recorder ---------------------------------------------------------

def head_of_file():
    """Returns the records before the reports of a recording of Skylake."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.rec"), "rb") as f:
        return b"".join(record(r.number, r.body) for r in records(f.read()) if r.number in (65536, 65537, 65538))


@test("a lost report, or a lost buffer: nothing is counted until a report names its context")
def _(m):
    def reports(*those):
        return b"".join(record(1, struct.pack("<5I", 1 << 19 | bool(ctx) << 16, ts, ctx, ts, a0).ljust(256, b"\0"))
                        for ts, ctx, a0 in those)
    before = reports((1000, 17, 0), (2000, 17, 100), (3000, 17, 200))
    # the first report of context 18 is lost: 8000 of the 8050 counts belong to 18
    for after, of_17, runs in (
            (reports((4000, 18, 8250), (5000, 17, 9250), (6000, 17, 9300)), 250, [(17, 200), (18, 1000), (17, 50)]),
            (reports((4000, 17, 8250), (5000, 17, 8300)), 250, [(17, 250)]),
            (reports((4000, 0, 8250), (5000, 17, 9250), (6000, 17, 9300)), 250, [(17, 200), (None, 1000), (17, 50)])):
        for loss in (2, 3):
            path = m.write(f"loss{loss}.rec", head_of_file() + before + record(loss, b"") + after)
            total, = replay(path, "--raw", "--totals", "--ctx", 17, code=1, err=None)  # the recording has no CPU times
            eq((total["counter"]["A0"], total["lost"]), (of_17, 1), f"record {loss}: A0 of --ctx, losses")
            recs = replay(path, "--raw", "--contexts", code=1, err=None)
            eq([(r["ctx"], r["counter"]["A0"]) for r in recs], runs, f"record {loss}: contexts and their A0")
            eq([r["lost"] for r in recs], [1] + [0] * (len(recs) - 1), f"record {loss}: losses")


@test("a sum over an hour with one report per second has the exact time and frequency")
def _(m):
    """Timestamps of 12 MHz wrap ten times in an hour, a clock of 1.05 GHz 880 times."""
    head = head_of_file()
    samples = [record(1, struct.pack("<4I", 1 << 19, k * 12_000_000 + 5 & M32, 0, k * 1_050_000_000 & M32).ljust(256, b"\0"))
               for k in range(3601)]
    path = m.write("hour.rec", head + b"".join(samples))
    for seconds, args in ((3600, ["--totals"]), (600, ["10m"])):
        recs = replay(path, *args, code=1, err=None)  # the recording has no CPU times
        eq(len(recs), 3600 // seconds, f"{args}: records")
        for r in recs:
            got = tuple(r["counter"][c] for c in ("GpuTime", "GpuCoreClocks", "AvgGpuCoreFrequency"))
            eq((*got, r["lost"]), (seconds * 10**9, seconds * 1_050_000_000, 1_050_000_000, 0), f"{args}: {r['index']}")


@test("a raw stream of Haswell is read with --platform")
def _(_m):
    g = given("hsw_a45")
    p = platforms()["hsw"]
    raw_counters(g.path, g.truth, p, "hsw_a45", "--platform", "hsw")
    recs = replay(g.path, "--platform", "hsw", "-m", "RenderBasic", metrics=xml_of("hsw"))
    per_report(recs, g.truth, p[2], "hsw_a45")
    eq({r["cpu_time"] for r in recs}, {None}, "cpu_time without a correlation")


@test("a raw stream that ends within a record: the complete records are printed")
def _(_m):
    g = given("skl_cut")
    size = os.path.getsize(g.path)
    with open(g.path, "rb") as f:
        found = records(f.read(), whole=False)
    n = len(found)
    for args in (["--raw", "--reports"], ["-m", "RenderBasic", "--metrics", xml_of("sklgt2")]):
        recs = replay(g.path, "--platform", "sklgt2", *args, code=1, err=None)
        at(recs.err, g.path, found[-1].end, "the cut sample")
        eq([r["index"] for r in recs], list(range(n if "--raw" in args else n - 1)), f"{args}: indices of the complete records")
    check(found[-1].end < size, "the stream is cut")


@test("a stream of xe with headers, and reports without headers, have the same values")
def _(m):
    for name in ("xe-lnl", "xe-bmg", "xe-ptl"):
        g = make(m, name, "--raw", "--seed", 3, "--wrap40")
        with open(g.path, "rb") as f:
            # the generator omits the bytes that pad a report to a multiple of 64 bytes
            bare = m.write("bare", b"".join(r.body.ljust(SIZES["PEC64"], b"\0") for r in records(f.read())))
        raw_counters(g.path, g.truth, platforms()[name], f"{name} with headers", "--platform", name)
        want = replay(g.path, "--raw", "--reports", "--platform", name)
        eq(replay(bare, "--raw", "--reports", "--platform", name), want, f"{name} without headers")
        eq(replay(bare, "--platform", name, "-m", "RenderBasic", metrics=xml_of(name)),
           replay(g.path, "--platform", name, "-m", "RenderBasic", metrics=xml_of(name)), f"{name}, RenderBasic")
        size = os.path.getsize(bare)
        with open(bare, "r+b") as f:
            f.truncate(size - 5)
        cut = replay(bare, "--raw", "--reports", "--platform", name, code=1, err=None)
        eq(cut, want[:-1], f"{name}: a report that is cut")
        at(cut.err, bare, size - SIZES["PEC64"], f"{name}: a report that is cut")
        slow = subprocess.run(["sh", "-c", 'dd bs=1 if="$1" 2>/dev/null | "$2" oa --replay - --raw --platform "$3" -o json',
                               "x", g.path, machine.PROG, name], capture_output=True, timeout=60, check=False)
        eq(decode(slow.stdout), want, f"{name} with headers, a byte at a time")


@test("a pipe: records are printed as they arrive, and a signal ends the run at the current record")
def _(m):
    data, want, _g = good()
    args = [machine.PROG, "oa", "--raw", "-o", "json", "-f", "index,reports"]
    os.mkfifo(m.path("fifo"))
    for sig in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([*args, "--replay", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(data)
            p.stdin.flush()
            check(select.select([p.stdout], [], [], 60)[0], "a record before the end of the pipe")
            p.send_signal(sig)
            out, err = p.stdout.read(), p.stderr.read()
            eq((p.wait(60), err), (0, b""), "exit code, messages")
            eq(len(out.splitlines()), len(want) + 1, "reports")
        with subprocess.Popen([*args, "--replay", "-", "--totals"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(data)
            p.stdin.flush()
            machine.until_taken(p)
            p.send_signal(sig)
            out, err = p.stdout.read(), p.stderr.read()
            eq((p.wait(60), err, out), (0, b"", b'{"index":0,"reports":%d}\n' % len(want)), "exit code, messages and the sum until the signal")
        with subprocess.Popen([*args, "--replay", m.path("fifo")], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            machine.wait_asleep(p.pid)
            p.send_signal(sig)
            eq((*p.communicate(timeout=60), p.returncode), (b"", b"", 0), "a FIFO without a writer")


@test("a raw stream without --platform is refused")
def _(_m):
    r = machine.run(["oa", "--replay", given("hsw_a45").path, "--raw", "-o", "json"])
    check(r.code in (1, 2) and r.err and r.out == b"", f"no platform: {r!r}")
    r = machine.run(["oa", "--replay", given("hsw_a45").path, "--raw", "-o", "json", "--platform", "nosuchgpu"])
    check(r.code in (1, 2) and b"nosuchgpu" in r.err and r.out == b"", f"unknown platform: {r!r}")


# --- recordings of every platform -----------------------------------------------------------------

KINDS = {
    "plain": [],
    "wraps": ["--wrap32", "--wrap40", "--tswrap", "tame", "--pad"],
    "natural": ["--wrap32", "--wrap40", "--tswrap", "natural", "--idle"],
    "events": ["--lost", "4", "--overflow", "3", "--unknown", "6", "--pad", "--fuse", "--wrap40"],
    "bare": ["--ctx", "0", "--idle", "--fuse", "--reports", "12"],
}


def add_platform(name):
    @test(f"{name}: raw counters, sums, clocks and contexts of generated recordings")
    def _(m):
        p = platforms()[name]
        for seed in range(SEEDS):
            for kind, args in KINDS.items():
                g = make(m, name, "--seed", 100 * seed + 7, *args)
                what = f"{name} {kind} {seed}"
                raw_counters(g.path, g.truth, p, what)
                cpu_times(g, p, what)
                for extra in (["--raw"], []) if kind == "wraps" else (["--raw"],):
                    if not extra and name == "acmgt3":
                        continue
                    intervals(g, p, what, extra or ["--metrics", xml_of(name), "-m", some_set(name)])
                contexts(g, p, what)
                os.unlink(g.path)
            if not name.startswith("xe-"):
                g = make(m, name, "--seed", seed, "--raw", "--lost", 2)
                raw_counters(g.path, g.truth, p, f"{name} stream", "--platform", PLATFORM.get(name, name),
                             *(["-o", "OAM_MPEC8u32_B8_C8"] if name == "mtloam" else []))

    @test(f"{name}: counters equal their equations")
    def _(m):
        by_equations(m, name)


PLATFORM = {"bdwgt3": "bdw", "mtloam": "mtlgt3"}


def some_set(name):
    p = platforms()[name]
    return next(s for s, e in sets_of(xml_of(name)).items() if fits(e, p[8]))


def correlations(data):
    """Returns [(CPU time in ns, GPU timestamp)]."""
    xe = struct.unpack_from("<I", data)[0] == 4
    return [struct.unpack("<2Q", r.body) for r in records(data) if r.number == (7 if xe else 65539)]


def cpu_times(g, p, what):
    """Checks that cpu_time of each report is the time of the generator's clock."""
    with open(g.path, "rb") as f:
        points = correlations(f.read())
    shift = 1 if p[8] in ("A24u40",) or p[0] in (0x7d45, 0x7d55, 0x56a0) else 0
    cpu0, gpu0 = points[0]
    samples = g.truth.samples
    # the timestamp of the first sample with all its bits, near the first correlation
    first = gpu0 << shift
    t = first + ((samples[0]["ts"] - first) & M32)
    want = []
    for s in samples:
        t += s.get("dts", 0)
        want.append(cpu0 + (t - first) * 10**9 // p[2])
    slack = 3 + (2 * 10**9 // p[2] if shift else 0)
    recs = replay(g.path, "--raw", "--reports")
    for r, w in zip(recs, want):
        near(r["cpu_time"], w, slack, f"{what}: cpu_time of report {r['index']}")
    total, = replay(g.path, "--raw", "--totals")
    near(total["cpu_time"], want[g.truth.deltas()[0][0]], slack, f"{what}: cpu_time of the sum")


def intervals(g, p, what, args):
    """Checks sums over intervals: each delta is in exactly one interval, and intervals have the given length."""
    deltas = g.truth.deltas()
    span = sum(s.get("dts", 0) for s in g.truth.samples) / p[2]
    total, = replay(g.path, *args, "--totals")
    for parts in (1.7, 6.3):
        step = span / parts
        recs = replay(g.path, *args, f"{step:.9f}")
        where = f"{what}: interval {step:.9f}"
        eq([r["index"] for r in recs], list(range(len(recs))), f"{where}: indices")
        check(parts - 1 <= len(recs) <= parts + 2, f"{where}: {len(recs)} records")
        eq(sum(r["reports"] for r in recs), len(deltas), f"{where}: reports")
        eq(sum(r["lost"] for r in recs), total["lost"], f"{where}: lost")
        left = list(deltas)
        t0 = 0
        starts = [0]
        for s in g.truth.samples[1:]:
            starts.append(starts[-1] + s["dts"])
        for i, r in enumerate(recs):
            mine, left = left[:r["reports"]], left[r["reports"]:]
            if not mine:
                continue
            eq(r["ts"], mine[0][1]["ts"], f"{where}: ts of {i}")
            near(float(r["dt"]), sum(b["dts"] for _k, _a, b, _l in mine) / p[2], 1.01e-6, f"{where}: dt of {i}")
            if "--raw" in args:
                sums_are(r["counter"], g.truth.sum_of(mine), p[8], f"{where}: sums of {i}")
            # each delta overlaps the interval that contains it
            t0 = i * step * p[2]
            check(starts[mine[0][0] + 1] >= t0 - 2 and starts[mine[-1][0]] <= t0 + step * p[2] + 2,
                  f"{where}: {i} has deltas of another interval")
        eq(left, [], f"{where}: deltas left")
    eq([r["reports"] for r in replay(g.path, *args, "1ns")], [1] * len(deltas), f"{what}: an interval shorter than a tick")


def contexts(g, p, what):
    """Checks --contexts, the sum of each run of reports of one context, and --ctx, the sum of one context."""
    deltas = g.truth.deltas(across=False)
    recs = replay(g.path, "--raw", "--contexts")
    eq([r["index"] for r in recs], list(range(len(recs))), f"{what} --contexts: indices")
    runs, last = [], None
    for d in deltas:
        if last is None or ctx_of(d[1]) != ctx_of(last) or last["i"] + 1 != d[1]["i"] and ctx_of(d[1]) is None:
            runs.append([])
        runs[-1].append(d)
        last = d[1]
    want = [(ctx_of(r[0][1]), len(r), r[0][1]["ts"]) for r in runs]
    got = [(r["ctx"], r["reports"], r["ts"]) for r in recs]
    eq(merged(got), merged(want), f"{what} --contexts: context, reports")
    if got == want:
        for r, mine in zip(recs, runs):
            sums_are(r["counter"], g.truth.sum_of(mine), p[8], f"{what} --contexts: sums of {r['index']}")
            eq(r["reason"], None, "reason of a sum")
    if p[1] == 7:
        return
    for ctx in {ctx_of(d[1]) for d in deltas} - {None}:
        mine = [d for d in deltas if ctx_of(d[1]) == ctx]
        recs = replay(g.path, "--raw", "--totals", "--ctx", ctx)
        eq([r["reports"] for r in recs], [len(mine)], f"{what} --ctx {ctx}: reports")
        sums_are(recs[0]["counter"], g.truth.sum_of(mine), p[8], f"{what} --ctx {ctx}: sums")


def merged(runs):
    """Merges adjacent runs of the same context, between which a delta was dropped."""
    got = []
    for ctx, n, ts in runs:
        if got and got[-1][0] == ctx:
            got[-1][1] += n
        else:
            got.append([ctx, n, ts])
    return got


class Unknown(Exception):
    """Facts that a recording does not have, or has in an unknown form."""


# Recordings of IGT do not contain these numbers of the GPU; a message has them in this order.
NOT_RECORDED = ("SqidiTotalCount L3BankTotalCount L3NodeTotalCount GeometryPipeTotalCount DepthPipeTotalCount"
                " ColorPipeTotalCount ComputeEngineTotalCount CopyEngineTotalCount").split()


def without_value(element):
    """Returns {counter: [missing numbers]} of a set, for equations with numbers that are not recorded."""
    lacks = {c.get("symbol_name"): [n for n in NOT_RECORDED if f"${n} " in c.get("equation") + " "]
             for c in element.iter("counter")}
    return {c: names for c, names in lacks.items() if names}


def lacks_said(recs, what):
    """True if the message names the counters without a value."""
    none = without_value(what)
    names = {n for names in none.values() for n in names}
    return recs.lacks == (b"" if not none else b"gpustat: counters without a value: %d; the recording does not contain %s\n" % (
        len(none), ", ".join(n for n in NOT_RECORDED if n in names).encode()))


class Variables(dict):
    def __missing__(self, name):
        raise Unknown(name)


def variables(name, fuse):
    """Returns the numbers of the generator's topology, reference section 6; the threads of Xe2 are
    those of expected/."""
    _pci, gen, hz, slices, subslices, eus, _low, high, fmt = platforms()[name]
    new = fmt in ("A24u40", "MPEC", "PEC64")
    total, stride = slices * subslices * eus - fuse, 3 if gen <= 10 else 8
    mask = sum(1 << (s * stride + i) for s in range(slices) for i in range(subslices))
    threads = 8 if new and gen < 20 else 6 if name in ("bxt", "glk") else 7
    v = {"EuCoresTotalCount": total, "VectorEngineTotalCount": total, "EuSlicesTotalCount": slices,
         "SliceTotalCount": slices, "EuSubslicesTotalCount": slices * subslices,
         "XeCoreTotalCount": slices * subslices, "EuThreadsCount": threads, "VectorEngineThreadsCount": threads,
         "SliceMask": (1 << slices) - 1, "SubsliceMask": mask, "DualSubsliceMask": mask,
         "GpuTimestampFrequency": hz, "GpuMaxFrequency": high * 1000000, "SkuRevisionId": 4, "QueryMode": 0,
         "GtSlice0": 1}
    v.update((f"GtSlice0XeCore{i}", 1) for i in range(min(subslices, 4)))
    if gen >= 20:
        v.update((f"GtXeCore{i}", int(i < subslices)) for i in range(28))
    if new:
        del v["SliceMask"]
    return Variables(v)


def calculate(element, var, slots_):
    """Returns {counter: value} and the names of the unknown counters. A value is None if this
    device does not have the counter."""
    got, unknown = {}, set()
    for c in element.iter("counter"):
        name, is_float = c.get("symbol_name"), c.get("data_type") == "float"
        known = Variables({k: v for k, v in got.items() if k not in unknown})
        try:
            if oa_eval.u64(oa_eval.value(c.get("availability") or "1", var, None, known)) == 0:
                got[name] = None
            else:
                got[name] = oa_eval.bits(oa_eval.value(c.get("equation"), var, slots_, known), is_float)[0]
        except oa_eval.Absent:
            got[name] = None
        except Unknown:
            unknown.add(name)
    return got, unknown


def slots_of(sample, fmt):
    """Returns the values of a delta that equations read: time, clock, 64 A, 8 B, 8 C."""
    d, n = sample["d"], len(slots(fmt))
    a = n if fmt == "PEC64" else n - 16
    return [sample["dts"], sample["dticks"] or 0, *d[:a], *[0] * (64 - a), *d[a:], *[0] * (16 - n + a)]


def by_equations(m, name):
    """Compares each set that fits with counters that are calculated here from the deltas of the truth."""
    p = platforms()[name]
    for seed in range(SEEDS):
        fuse = seed % 2 == 0
        g = make(m, name, "--seed", 40 + seed, "--reports", 6 + 6 * seed, "--wrap32", "--wrap40",
                 *(["--fuse"] if fuse else []), *(["--idle"] if seed % 3 == 0 else []), "--set", some_set(name))
        var, compared = variables(name, fuse), 0
        for set_, element in sets_of(xml_of(name)).items():
            if not fits(element, p[8]):
                continue
            recs = replay(g.path, "-m", set_, metrics=xml_of(name))
            eq([(r["index"], r["set"]) for r in recs], [(k, set_) for k, *_ in g.truth.deltas()], f"{set_}: records")
            for r, (k, _a, b, _l) in zip(recs, g.truth.deltas()):
                want, unknown = calculate(element, var, slots_of(b, p[8]))
                for c, v in want.items():
                    where = f"{name} {set_} {c} of delta {k}, seed {seed}"
                    if v is None:
                        check(c not in r["counter"], f"{where}: this device does not have the counter")
                        continue
                    check(c in r["counter"], f"{where}: missing")
                    same_text(r["counter"][c], f"{v:.6f}" if isinstance(v, float) else str(v), where)
                    compared += 1
                eq(set(r["counter"]) - set(want) - unknown, set(), f"{name} {set_}: counters that are not in the metric file")
                eq([c for c in r["counter"] if r["counter"][c] is None], [*without_value(element)],
                   f"{name} {set_}: counters without a value")
            check(lacks_said(recs, element), f"{name} {set_}: {recs.lacks!r}")
        check(compared > 0, "nothing was compared")


for _name in platforms():
    add_platform(_name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_oa_replay.py PROG")
    sys.exit(main(sys.argv[1]))
