#!/usr/bin/env python3
# t_oa_cli.py PROG - gpustat oa on recordings and streams whose right reading is known: each counter against values that
# were checked elsewhere, against what the generator says that it wrote and against equations worked out here; sums,
# filters, clocks, formats, broken files, packs, lists, usage. Prints TAP; exit 0 iff all is well. ONLY=TEXT and
# TIMES=1 as in t_edges.py. SEEDS=N: generated recordings of each kind (1; under CI=true 4).
# SPDX-License-Identifier: MIT
import csv
import decimal
import functools
import glob
import io
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import t_edges as edges  # noqa: E402
import oa_eval  # noqa: E402
from t_edges import Skip, check, eq, near, parse_logfmt, printable  # noqa: E402

OA = os.path.realpath(os.path.join(edges.ROOT, "..", "shared", "oa"))
GENERATOR = os.path.join(OA, "gen_recording.py")
SEEDS = int(os.environ.get("SEEDS") or (4 if os.environ.get("CI") == "true" else 1))
TESTS = []
LOCK = threading.Lock()
KEYS = "schema kind time dt dev set index reason ctx ts cpu_time ticks freq lost reports counter".split()
M32 = (1 << 32) - 1
NULL_GUID = "00000000-0000-0000-0000-000000000000"
SIZES = {"A45": 256, "A32u40": 256, "A24u40": 256, "MPEC": 128, "PEC64": 576}


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


# --- what is tested with ------------------------------------------------------------------------------

def shared():
    if not os.path.exists(GENERATOR):
        raise Skip("no ../shared/oa")


def once(f):
    """Made by whoever is first; all wait for it. One lock each, so that one thing may need another."""
    lock, done = threading.Lock(), {}

    @functools.wraps(f)
    def wrap(*args):
        with lock:
            if args not in done:
                done[args] = f(*args)
            return done[args]
    return wrap


@once
def xml_folder():
    shared()
    folder = os.path.join(os.path.dirname(edges.PROG), "metrics")
    with tarfile.open(os.path.join(OA, "metrics-xml.tar.xz")) as t:
        t.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


@once
def xml_files():
    """{"i915/tglgt2": path}"""
    found = glob.glob(os.path.join(xml_folder(), "**", "oa-*.xml"), recursive=True)
    return {os.path.basename(os.path.dirname(p)) + "/" + os.path.basename(p)[3:-4]: p for p in found}


@once
def platforms():
    """{name: (pci, generation, Hz, slices, subslices, EUs, min MHz, max MHz, format)}, the generator's own table."""
    shared()
    with open(GENERATOR, encoding="utf-8") as f:
        text = f.read()
    names = {}
    exec(text[text.index("PLATFORMS = {"):text.index("# drm_i915_oa_format")], names)  # pylint: disable=exec-used
    return names["PLATFORMS"]


def xml_of(platform):
    """The metric file of a platform of the generator."""
    files = xml_files()
    if platform.startswith("xe-"):
        return files["xe/" + platform[3:]]
    name = {"bdwgt3": "bdw", "mtloam": "mtlgt3"}.get(platform, platform)
    return files.get("i915/" + name) or files["xe/" + name]


@once
def sets_of(path):
    """{symbol name: element}, in the file's order."""
    return {s.get("symbol_name"): s for s in ElementTree.parse(path).getroot().iter("set")}


def fits(element, fmt):
    """Whether a set is made for reports of the generator's format."""
    want = {"A24u40": "256B_GENERIC_NOA16", "MPEC": "128B_MPEC8_NOA16", "PEC64": "576B_PEC64LL"}.get(fmt)
    return element.get("oa_format") in ((want,) if fmt in ("MPEC", "PEC64") else (want, None))


SERIAL = iter(range(10**9))


class Made:
    """A recording or stream, and the truth of it."""

    def __init__(self, path, truth):
        self.path = path
        self.truth = None
        if truth:
            with open(truth, encoding="ascii") as f:
                self.truth = Truth([json.loads(line) for line in f])


def make(m, platform, *args, truth=True):
    """What the generator makes of these arguments."""
    shared()
    path = m.path(f"{platform}-{next(SERIAL)}.rec")
    more = ["--truth", path + ".jsonl"] if truth else []
    r = subprocess.run([sys.executable, "-B", GENERATOR, platform, path, *more, *(str(a) for a in args)],
                       capture_output=True, timeout=120, check=False)
    eq((r.returncode, r.stderr), (0, b""), f"gen_recording.py {platform} {args}")
    return Made(path, truth and path + ".jsonl")


def given(name):
    shared()
    raw = os.path.join(OA, "raw", name + ".raw")
    if os.path.exists(raw):
        return Made(raw, os.path.join(OA, "raw", name + ".truth.jsonl"))
    return Made(os.path.join(OA, "rec", name + ".rec"), os.path.join(OA, "expected", name + ".truth.jsonl"))


GIVEN_SET = {"tgl_ctx": "ComputeBasic"}
GIVEN = {"hsw_basic": "hsw", "mtl_basic": "mtlgt3", "skl_events": "sklgt2", "tgl_ctx": "tglgt2", "xe_lnl": "xe-lnl"}


def expected(name):
    """{index: (reason, {counter: text})}"""
    got = {}
    with open(os.path.join(OA, "expected", name + ".flat.txt"), encoding="ascii") as f:
        for line in f:
            index, reason, counter, value = line.split()
            got.setdefault(int(index), (reason, {}))[1][counter] = value
    return got


class Truth:
    """samples: those of the file; lost: how many records of loss lie before each; broken: whether one of them says that
    the buffer overflowed."""

    def __init__(self, lines):
        self.samples, self.lost, self.broken, lost, broken = [], [], [], 0, False
        for t in lines:
            if t["kind"] == "sample":
                self.samples.append(t)
                self.lost.append(lost)
                self.broken.append(broken)
                broken = False
            else:
                lost += t["kind"].endswith("_lost")
                broken |= t["kind"] == "buffer_lost"

    def deltas(self):
        """[(index, sample, next sample, records of loss until then)], without those across an overflow."""
        s = self.samples
        return [(k, s[k], s[k + 1], self.lost[k + 1]) for k in range(len(s) - 1) if not self.broken[k + 1]]

    def sum_of(self, deltas):
        return [sum(x) for x in zip(*(b["d"] for _k, _a, b, _l in deltas))]


def slots(fmt):
    """The names of a format's counters, in the order of the truth's deltas."""
    letter, n = {"A45": ("A", 45), "A32u40": ("A", 36), "A24u40": ("A", 38), "MPEC": ("M", 8),
                 "PEC64": ("PEC", 64)}[fmt]
    bc = [] if fmt == "PEC64" else [f"{x}{i}" for x in "BC" for i in range(8)]
    return [f"{letter}{i}" for i in range(n)] + bc


def widths(fmt):
    if fmt == "A45":
        return [32] * 61
    if fmt == "A32u40":
        return [40] * 32 + [32] * 20
    if fmt == "A24u40":
        return [32] * 4 + [40] * 20 + [32] * 4 + [40] * 4 + [32] * 22
    return [32] * 24 if fmt == "MPEC" else [64] * 64


def reason_of(sample, gen):
    """What IGT's reader says: nothing of Xe2 and later."""
    return "unknown" if gen >= 20 else sample["reason"]


def ctx_of(sample):
    return sample["ctx"] if sample["ctx_valid"] else None


# --- runs ---------------------------------------------------------------------------------------------

class Recs(list):
    """Records, and what was said on the way. Floats stay texts."""

    err = b""


def decode(out):
    check(out == b"" or out.endswith(b"\n"), f"output ends within a line: {out[-80:]!r}")
    for line in out.splitlines():
        edges.strict(line)
    recs = Recs(json.loads(line, parse_float=str) for line in out.splitlines())
    for r in recs:
        eq(r["kind"], "oa", "kind")
        eq([k for k in r if k not in ("id", "clock")], KEYS, "keys of a record")
        eq((r["schema"], r["time"]), (1, None), "schema, time")
    return recs


def oa(args, code=0, err=b"", **kw):
    """The records of a run; err: what it says, None: whatever."""
    r = edges.run(["oa", *(str(a) for a in args), "-o", "json"], **kw)
    eq(r.code, code, f"exit code of oa {args} ({r!r})")
    if err is not None:
        eq(r.err, err, f"messages of oa {args}")
    recs = decode(r.out)
    recs.err = r.err
    return recs


def replay(path, *args, metrics=None, **kw):
    return oa(["--replay", path, *(["--metrics", metrics] if metrics else []), *args], **kw)


def number(text):
    return decimal.Decimal(text)


def same_text(got, want, what):
    """got: int or text of a float, as JSON has it; want: as %d and %.6f print."""
    if "." in want:
        check(isinstance(got, str) and re.fullmatch(r"-?\d+\.(0|\d{0,5}[1-9])", got),
              f"{what}: {got!r} is no decimal, want {want}")
        eq(number(got), number(want), what)
    else:
        eq(got, int(want), what)


def head_of(rec, sample, gen, what):
    """Whether a record begins with what this report says."""
    eq((rec["reason"], rec["ctx"], rec["ts"]), (reason_of(sample, gen), ctx_of(sample), sample["ts"]),
       f"{what}: reason, ctx, ts")


def per_report(recs, truth, gen, hz, what):
    """Whether these are the deltas of the truth, but for the counters."""
    want = truth.deltas()
    eq([r["index"] for r in recs], [k for k, *_ in want], f"{what}: indices")
    said = 0
    for r, (k, a, b, lost) in zip(recs, want):
        where = f"{what}, delta {k}"
        head_of(r, a, gen, where)
        eq((r["ticks"], r["reports"]), (b["dticks"], 1), f"{where}: ticks, reports")
        near(float(r["dt"]), b["dts"] / hz, 1.01e-6, f"{where}: dt")
        if b["dticks"] is None:
            eq(r["freq"], None, f"{where}: freq")
        elif b["dts"]:
            near(float(r["freq"]), b["dticks"] * hz / b["dts"], 1 + 1e-6 * b["dticks"] * hz / b["dts"],
                 f"{where}: freq")
        eq(r["lost"], lost - said, f"{where}: lost")
        said = lost


def sums_are(counter, want, fmt, what):
    got = {k: v for k, v in counter.items() if k in set(slots(fmt))}
    eq(got, dict(zip(slots(fmt), want)), what)


# --- the recordings whose values are known -----------------------------------------------------------

def known_values(recs, name, what):
    """Each value of expected/, but for the two faults that its README names."""
    want, truth = expected(name), given(name).truth
    skipped = {k for k in range(len(truth.samples) - 1) if truth.broken[k + 1]}
    eq([r["index"] for r in recs], sorted(set(want) - skipped), f"{what}: indices")
    for r in recs:
        reason, counters = want[r["index"]]
        eq(r["reason"], reason, f"{what}: reason of {r['index']}")
        eq(sorted(r["counter"]), sorted(counters), f"{what}: counters of {r['index']}")
        doubled = {}
        if name == "mtl_basic":
            dts = truth.samples[r["index"] + 1]["dts"]
            doubled["GpuTime"] = str(dts * 10**9 // 38400000)
            clocks = int(counters["GpuCoreClocks"])
            doubled["AvgGpuCoreFrequency"] = str(clocks * 10**9 // int(doubled["GpuTime"]))
            # theirs is half, and twice; the halves are of whole ns
            near(int(counters["GpuTime"]) * 2, int(doubled["GpuTime"]), 60, "expected GpuTime is half")
            near(int(counters["AvgGpuCoreFrequency"]) / int(doubled["AvgGpuCoreFrequency"]), 2, 0.02,
                 "expected frequency is twice")
        for c, v in counters.items():
            if c in doubled or name != "mtl_basic" or not per_second(c):
                same_text(r["counter"][c], doubled.get(c, v), f"{what}: {r['index']} {c}")


def per_second(counter):
    """Counters whose equation reads GpuTime, of mtl_basic's set."""
    s = sets_of(xml_of("mtlgt3"))["RenderBasic"]
    return any(c.get("symbol_name") == counter and "GpuTime" in c.get("equation") for c in s.iter("counter"))


def add_given(name, platform):
    @test(f"{name}: every value that is known")
    def _(m):
        g = given(name)
        recs = replay(g.path, metrics=xml_of(platform))
        known_values(recs, name, "from the file")
        p = platforms()[platform]
        per_report(recs, g.truth, p[1], p[2], name)
        eq({(r["set"], r["dev"]) for r in recs}, {(GIVEN_SET.get(name, "RenderBasic"), None)}, "set, dev")
        eq(replay(g.path, "--reports", metrics=xml_of(platform)), recs, "--reports is the default")
        with open(g.path, "rb") as f:
            stdin = f.read()
        eq(replay("-", metrics=xml_of(platform), stdin=stdin), recs, "from stdin")
        slow = subprocess.run(["sh", "-c", 'dd bs=37 if="$1" 2>/dev/null | "$2" oa --replay - --metrics "$3" -o json',
                               "x", g.path, edges.PROG, xml_of(platform)], capture_output=True, timeout=60, check=False)
        eq(decode(slow.stdout), recs, "from a pipe in small pieces")
        pack = m.path("one.pack")
        r = edges.run(["oa", "pack", xml_of(platform), "-O", pack])
        eq((r.code, r.out, r.err), (0, b"", b""), "pack")
        eq(replay(g.path, metrics=pack), recs, "with a pack")
        check(os.path.getsize(pack) < os.path.getsize(xml_of(platform)) / 4, f"a pack of {os.path.getsize(pack)} bytes")

    @test(f"{name}: raw counters")
    def _(_m):
        g = given(name)
        p = platforms()[platform]
        raw_counters(g.path, g.truth, p, name)

    @test(f"{name}: the same numbers in every format")
    def _(_m):
        same_in_formats(given(name).path, xml_of(platform))


for _name, _platform in GIVEN.items():
    add_given(_name, _platform)


def raw_counters(path, truth, p, what, *args):
    """--raw, of every report and in sums, against the truth."""
    fmt, gen, names = p[8], p[1], slots(p[8])
    recs = replay(path, "--raw", "--reports", *args)
    eq([r["index"] for r in recs], list(range(len(truth.samples))), f"{what}: indices")
    was = 0
    for r, s, lost in zip(recs, truth.samples, truth.lost):
        where = f"{what}: report {s['i']}"
        head_of(r, s, gen, where)
        eq((r["id"], r["dt"], r["ticks"], r["lost"]), (s["id"], None, s["ticks"], lost - was),
           f"{where}: id, dt, ticks, lost")
        was = lost
        clock = clocks(s["id"], gen)
        if clock:
            near(float(r["clock"]["unslice"]), clock[0], 40 * 128, f"{where}: unslice")
            near(float(r["clock"]["slice"]), clock[1], 40 * 128, f"{where}: slice")
    for a, b, s in zip(recs, recs[1:], truth.samples[1:]):
        eq([(b["counter"][n] - a["counter"][n]) % (1 << w) for n, w in zip(names, widths(fmt))], s["d"],
           f"{what}: counted until report {s['i']}")
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
    """Hz of unslice and slice, reference section 4; None: the report says none."""
    if not 8 <= gen < 20:
        return None
    return (rid & 0x1ff) * 50e6 / 3, ((rid >> 9 & 3) << 7 | rid >> 25 & 0x7f) * 50e6 / 3


def stored(data, at, fmt):
    """The counters of the report there, by the tables of the reference, section 4."""
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
    """What JSON says, the other formats say, too."""
    base = ["--replay", path, "--metrics", metrics]
    recs = oa(base)
    names = list(recs[0]["counter"])
    one = "EuActive" if "EuActive" in names else names[-1]
    run = lambda *a: edges.run(["oa", *base, *a])  # noqa: E731
    text = lambda v: "" if v is None else str(v)  # noqa: E731

    def out(*a):
        r = run(*a)
        eq((r.code, r.err), (0, b""), f"{a}: exit code, messages")
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
            eq(got, [str(v)], f"logfmt: {n} of {r['index']}")
    for fmt in ("line", "table"):
        lines = out("-o", fmt, "-f", f"index,{one}", "-H").splitlines()
        eq(len(lines), len(recs), f"lines of {fmt} -H")
        for line, r in zip(lines, recs):
            check(str(r["index"]) in line.split() or f"index={r['index']}" in line, f"{fmt}: index in {line!r}")
        check(out("-o", fmt).count("\n") >= len(recs), f"lines of {fmt}")
    eq([json.loads(line, parse_float=str) for line in out("-o", "json", "-f", f"index,{one}").splitlines()],
       [{"index": r["index"], "counter": {one: r["counter"][one]}} for r in recs], "JSON with -f")


# --- streams without a recorder's records ----------------------------------------------------------------

@test("a raw stream of Haswell, named by --platform")
def _(_m):
    g = given("hsw_a45")
    p = platforms()["hsw"]
    raw_counters(g.path, g.truth, p, "hsw_a45", "--platform", "hsw")
    recs = replay(g.path, "--platform", "hsw", "-m", "RenderBasic", metrics=xml_of("hsw"))
    per_report(recs, g.truth, 7, p[2], "hsw_a45")
    eq({r["cpu_time"] for r in recs}, {None}, "cpu_time without a correlation")


@test("a raw stream that ends within a record")
def _(_m):
    g = given("skl_cut")
    size = os.path.getsize(g.path)
    with open(g.path, "rb") as f:
        found = records(f.read(), whole=False)
    n = len(found)
    for args in (["--raw", "--reports"], ["-m", "RenderBasic", "--metrics", xml_of("sklgt2")]):
        recs = replay(g.path, "--platform", "sklgt2", *args, code=1, err=None)
        at(recs.err, g.path, found[-1].end, "the cut sample")
        eq([r["index"] for r in recs], list(range(n if "--raw" in args else n - 1)), f"{args}: what is whole")
    check(found[-1].end < size, "the stream is cut")


@test("a stream of xe, reports without headers, and one with")
def _(m):
    for name in ("xe-lnl", "xe-bmg", "xe-ptl"):
        g = make(m, name, "--raw", "--seed", 3, "--wrap40")
        with open(g.path, "rb") as f:
            # the generator leaves out what pads reports to 64 bytes
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
                               "x", g.path, edges.PROG, name], capture_output=True, timeout=60, check=False)
        eq(decode(slow.stdout), want, f"{name} with headers, a byte at a time")


@test("a pipe: records are shown as they come; a signal ends it where it is")
def _(m):
    data, want, _g = good()
    args = [edges.PROG, "oa", "--raw", "-o", "json", "-f", "index,reports"]
    os.mkfifo(m.path("fifo"))
    for sig in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([*args, "--replay", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(data)
            p.stdin.flush()
            check(select.select([p.stdout], [], [], 60)[0], "a record before the pipe's end")
            p.send_signal(sig)
            out, err = p.stdout.read(), p.stderr.read()
            eq((p.wait(60), err), (0, b""), "exit code, messages")
            eq(len(out.splitlines()), len(want) + 1, "reports")
        with subprocess.Popen([*args, "--replay", "-", "--totals"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(data)
            p.stdin.flush()
            edges.until_taken(p)
            p.send_signal(sig)
            out, err = p.stdout.read(), p.stderr.read()
            eq((p.wait(60), err, out), (0, b"", b'{"index":0,"reports":%d}\n' % len(want)), "the sum until then")
        with subprocess.Popen([*args, "--replay", m.path("fifo")], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            edges.wait_asleep(p.pid)
            p.send_signal(sig)
            eq((*p.communicate(timeout=60), p.returncode), (b"", b"", 0), "a FIFO that nobody writes")


@test("a raw stream without a platform")
def _(_m):
    r = edges.run(["oa", "--replay", given("hsw_a45").path, "--raw", "-o", "json"])
    check(r.code in (1, 2) and r.err and r.out == b"", f"no platform: {r!r}")
    r = edges.run(["oa", "--replay", given("hsw_a45").path, "--raw", "-o", "json", "--platform", "nosuchgpu"])
    check(r.code in (1, 2) and b"nosuchgpu" in r.err and r.out == b"", f"unknown platform: {r!r}")


# --- recordings of every platform ------------------------------------------------------------------------

KINDS = {
    "plain": [],
    "wraps": ["--wrap32", "--wrap40", "--tswrap", "tame", "--pad"],
    "natural": ["--wrap32", "--wrap40", "--tswrap", "natural", "--idle"],
    "events": ["--lost", "4", "--overflow", "3", "--unknown", "6", "--pad", "--fuse", "--wrap40"],
    "bare": ["--ctx", "0", "--idle", "--fuse", "--reports", "12"],
}


def add_platform(name):
    @test(f"{name}: raw counters, sums, clocks and contexts of what was made up")
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

    @test(f"{name}: counters by their equations")
    def _(m):
        by_equations(m, name)


PLATFORM = {"bdwgt3": "bdw", "mtloam": "mtlgt3"}


def some_set(name):
    p = platforms()[name]
    return next(s for s, e in sets_of(xml_of(name)).items() if fits(e, p[8]))


def correlations(data):
    """(xe, [(cpu ns, GPU timestamp)])"""
    xe = struct.unpack_from("<I", data)[0] == 4
    return [struct.unpack("<2Q", r.body) for r in records(data) if r.number == (7 if xe else 65539)]


def cpu_times(g, p, what):
    """cpu_time of each report is what the generator's clock showed."""
    with open(g.path, "rb") as f:
        points = correlations(f.read())
    shift = 1 if p[8] in ("A24u40",) or p[0] in (0x7d45, 0x7d55, 0x56a0) else 0
    cpu0, gpu0 = points[0]
    samples = g.truth.samples
    # the first sample's timestamp with all its bits, near the first point
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
    """Sums over intervals: of deltas that follow each other, none missing, none twice, as long as was asked for."""
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
            # no delta lies in an interval that it does not touch
            t0 = i * step * p[2]
            check(starts[mine[0][0] + 1] >= t0 - 2 and starts[mine[-1][0]] <= t0 + step * p[2] + 2,
                  f"{where}: {i} has deltas of another one")
        eq(left, [], f"{where}: deltas left")
    eq([r["reports"] for r in replay(g.path, *args, "1ns")], [1] * len(deltas), f"{what}: less than a tick")


def contexts(g, p, what):
    """--contexts: the sum of each run of reports of the same context; --ctx: of those of one."""
    deltas = g.truth.deltas()
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
    """Runs of the same context that follow each other, as where a delta between them was dropped, are one."""
    got = []
    for ctx, n, ts in runs:
        if got and got[-1][0] == ctx:
            got[-1][1] += n
        else:
            got.append([ctx, n, ts])
    return got


class Unknown(Exception):
    """What a recording does not tell, or tells in a way that is not agreed upon."""


class Variables(dict):
    def __missing__(self, name):
        raise Unknown(name)


def variables(name, fuse):
    """What the generator's topology says, reference section 6; threads of Xe2 as expected/ has them."""
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
    """{counter: value}; the value is None where this device does not have it. Without those that are not known."""
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
    """What equations read of a delta: time, clock, 64 A, 8 B, 8 C."""
    d, n = sample["d"], len(slots(fmt))
    a = n if fmt == "PEC64" else n - 16
    return [sample["dts"], sample["dticks"] or 0, *d[:a], *[0] * (64 - a), *d[a:], *[0] * (16 - n + a)]


def by_equations(m, name):
    """Each set that fits: its counters, worked out here from the deltas of the truth."""
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
                        check(c not in r["counter"], f"{where}: this device has none")
                        continue
                    check(c in r["counter"], f"{where}: missing")
                    same_text(r["counter"][c], f"{v:.6f}" if isinstance(v, float) else str(v), where)
                    compared += 1
                eq(set(r["counter"]) - set(want) - unknown, set(), f"{name} {set_}: counters that the file has not")
        check(compared > 0, "nothing was compared")


for _name in ([*platforms()] if os.path.exists(GENERATOR) else ["tglgt2"]):
    add_platform(_name)


# --- files that are broken -------------------------------------------------------------------------------

class Rec:
    def __init__(self, off, number_, size, body):
        self.off, self.number, self.size, self.body = off, number_, size, body
        self.end = off + size


def records(data, whole=True):
    """All records of a file; whole: nothing else may be in it."""
    got, at_ = [], 0
    while at_ + 8 <= len(data):
        number_, _pad, size = struct.unpack_from("<IHH", data, at_)
        if size < 8 or at_ + size > len(data):
            break
        got.append(Rec(at_, number_, size, data[at_ + 8:at_ + size]))
        at_ += size
    check(not whole or at_ == len(data), "a file of whole records")
    return got


def record(number_, body):
    return struct.pack("<IHH", number_, 0, 8 + len(body)) + body


def whole(data, keep):
    """The file with only those records."""
    return b"".join(data[r.off:r.end] for r in records(data) if keep(r))


def at(err, path, offset, what):
    """The message names the file and the byte."""
    lines = err.decode("utf-8", "replace").splitlines()
    check(any(line.startswith(f"gpustat: {path}: at byte {offset}: ") for line in lines),
          f"{what}: no message of {path} at byte {offset}: {err[-400:]!r}")


def names(err, path, what):
    lines = err.decode("utf-8", "replace").splitlines()
    check(lines and any(re.match(rf"gpustat: {re.escape(path)}: at byte \d+: ", line) for line in lines),
          f"{what}: no message of {path} at a byte: {err[-400:]!r}")


VERSION, INFO, TOPOLOGY, CORRELATION = range(65536, 65540)


@once
def good():
    """A recording of 30 reports that has nothing wrong, and what is read from it."""
    shared()
    folder = os.path.join(os.path.dirname(edges.PROG), "good")
    os.makedirs(folder, exist_ok=True)
    m = type("M", (), {"path": lambda self, *a: os.path.join(folder, *a)})()
    g = make(m, "tglgt2", "--seed", 5, "--reports", 30, "--ctx", 2)
    with open(g.path, "rb") as f:
        data = f.read()
    return data, replay(g.path, metrics=xml_of("tglgt2")), g


def broken(m, data, what, code=1, args=(), metrics=True):
    """The records that come of a file with these bytes, its path, messages."""
    path = m.write(f"broken-{next(SERIAL)}.rec", data)
    recs = replay(path, *args, metrics=xml_of("tglgt2") if metrics else None, code=code, err=None, timeout=60)
    if code and data:
        names(recs.err, path, what)
    piped = oa(["--replay", "-", *(["--metrics", xml_of("tglgt2")] if metrics else []), *args], code=code, err=None,
               stdin=data, timeout=60)
    eq(piped, recs, f"{what}: from stdin")
    check(not code or piped.err, f"{what}: no message of stdin")
    return recs, path


def alike(recs, indices, what, but=()):
    """The records with these indices are as in the good file."""
    want = [{k: v for k, v in r.items() if k not in but} for r in good()[1] if r["index"] in indices]
    eq([{k: v for k, v in r.items() if k not in but} for r in recs], want, what)


def cases():
    """name -> what is done to the good file's bytes: (bytes, byte of the fault, indices that stay)"""
    data = good()[0]
    recs = records(data)
    samples = [r for r in recs if r.number == 1]
    last, mid = samples[-1], samples[14]

    def patched(r, size, n=len(data)):
        return data[:r.off + 6] + struct.pack("<H", size) + data[r.off + 8:n]
    return {
        "a header that is cut": (data[:last.off + 5], last.off, range(28)),
        "a header that is cut after its first byte": (data[:last.off + 1], last.off, range(28)),
        "a sample that is cut": (data[:last.off + 100], last.off, range(28)),
        "a sample without its last byte": (data[:last.end - 1], last.off, range(28)),
        "size 0": (patched(mid, 0), mid.off, range(13)),
        "size 4": (patched(mid, 4), mid.off, range(13)),
        "size 7": (patched(mid, 7), mid.off, range(13)),
        "size beyond the file": (patched(mid, 0xfff8), mid.off, range(13)),
        "size beyond the file, of the last sample": (patched(last, 0xffff), last.off, range(28)),
        "size 0 at once": (patched(recs[0], 0), 0, ()),
        "size 4 of the device info": (patched(recs[1], 4), recs[1].off, ()),
        "size beyond the file of the topology": (patched(recs[2], 0xfff0), recs[2].off, ()),
    }


@test("broken: cut records, sizes that cannot be")
def _(m):
    for what, (data, offset, stay) in cases().items():
        recs, path = broken(m, data, what)
        at(recs.err, path, offset, what)
        alike(recs, stay, what, but=("cpu_time",))
        check(all(r["cpu_time"] is not None for r in recs), f"{what}: cpu_time")


@test("broken: a sample that is too small for its format")
def _(m):
    data = good()[0]
    mid = [r for r in records(data) if r.number == 1][14]
    short = data[:mid.off] + record(1, mid.body[:128]) + data[mid.end:]
    recs, path = broken(m, short, "too small")
    at(recs.err, path, mid.off, "too small")
    alike([r for r in recs if r["index"] < 13], range(13), "too small: before it")
    # what is behind it is not lost, however it is numbered
    tail = [r["counter"] for r in good()[1] if r["index"] > 14]
    eq([r["counter"] for r in recs][-len(tail):], tail, "too small: behind it")


@test("broken: a sample that is longer than its format is none")
def _(m):
    data = good()[0]
    mid = [r for r in records(data) if r.number == 1][14]
    for more in (8, 64, 4000):
        recs, _path = broken(m, data[:mid.off] + record(1, mid.body + b"\xee" * more) + data[mid.end:], "long", code=0)
        alike(recs, range(29), f"{more} bytes more")
        eq(recs.err, b"", "messages")


@test("broken: no correlation, one correlation")
def _(m):
    data = good()[0]
    n = [r.off for r in records(data) if r.number == CORRELATION]
    recs, _path = broken(m, whole(data, lambda r: r.number != CORRELATION), "no correlation")
    alike(recs, range(29), "no correlation", but=("cpu_time",))
    eq({r["cpu_time"] for r in recs}, {None}, "cpu_time")
    recs, _path = broken(m, whole(data, lambda r: r.number != CORRELATION or r.off == n[0]), "one correlation")
    alike(recs, range(29), "one correlation", but=("cpu_time",))
    for got, want in zip(recs, good()[1]):
        near(got["cpu_time"], want["cpu_time"], 3, "cpu_time from one correlation")


@test("broken: one sample, no sample")
def _(m):
    data = good()[0]
    first = next(r.off for r in records(data) if r.number == 1)
    recs, _path = broken(m, whole(data, lambda r: r.number != 1 or r.off == first), "one sample")
    eq(recs, [], "deltas of one sample")
    recs, _path = broken(m, whole(data, lambda r: r.number != 1 or r.off == first), "one sample",
                         args=["--raw", "--reports"])
    eq(len(recs), 1, "one sample as it is stored")
    for args in ([], ["--totals"], ["--raw", "--reports"], ["0.001"]):
        recs, _path = broken(m, whole(data, lambda r: r.number != 1), "no sample", args=args)
        check(not recs or args == ["--totals"], f"{args}: records of no sample")


@test("a pipe that is still open: what is decoded is shown, and SIGTERM ends it well")
def _(_m):
    for args, before in ((["-o", "csv", "-f", "index"], 30), (["--totals", "-o", "csv", "-f", "index"], 0)):
        with subprocess.Popen([edges.PROG, "oa", "--replay", "-", "--metrics", xml_of("tglgt2"), *args],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            late = threading.Timer(60, p.kill)
            late.start()
            p.stdin.write(good()[0])
            p.stdin.flush()
            shown = [p.stdout.readline() for _ in range(before)]
            edges.until_taken(p)
            p.send_signal(signal.SIGTERM)
            out, err = p.stdout.read(), p.stderr.read()
            late.cancel()
            eq((p.wait(60), err), (0, b""), f"{args}: exit code, messages")
            eq(len(shown) + out.count(b"\n"), 30 if before else 2, f"{args}: lines")


@test("broken: no device info, unknown device, no topology")
def _(m):
    data = good()[0]
    recs, _path = broken(m, whole(data, lambda r: r.number != INFO), "no device info")
    recs, _path = broken(m, whole(data, lambda r: r.number != INFO), "no device info, --platform",
                         args=["--platform", "tglgt2", "-m", "RenderBasic"])
    alike(recs, range(29), "no device info, --platform", but=("freq", "dt", "cpu_time"))
    info = next(r for r in records(data) if r.number == INFO)
    strange = data[:info.off + 16] + struct.pack("<I", 0xbeef) + data[info.off + 20:]
    recs, path = broken(m, strange, "unknown PCI id")
    offset_of_info = recs.err, path
    recs, _path = broken(m, strange, "unknown PCI id, --raw", args=["--raw", "--totals"], metrics=False)
    deltas = good()[2].truth.deltas()
    sums_are(recs[0]["counter"], good()[2].truth.sum_of(deltas), "A32u40", "unknown PCI id: sums")
    eq(recs[0]["ticks"], sum(b["dticks"] for _k, _a, b, _l in deltas), "unknown PCI id: ticks, which the format has")
    path = m.write("strange.rec", strange)
    recs = replay(path, "--platform", "tglgt2", metrics=xml_of("tglgt2"))
    alike(recs, range(29), "unknown PCI id with --platform")
    at(*offset_of_info, info.off, "unknown PCI id")
    path = m.write("flat.rec", whole(data, lambda r: r.number != TOPOLOGY))
    r = edges.run(["oa", "--replay", path, "--metrics", xml_of("tglgt2"), "-o", "json"])
    check(r.code in (0, 1) and len(decode(r.out)) == 29, f"no topology: {r!r}")


@test("broken: an interval, but nobody says how fast the clock is")
def _(m):
    data, _want, _g = good()
    info = next(r for r in records(data) if r.number == 65537)
    strange = data[:info.off + 8] + struct.pack("<QI", 0, 0xffff) + data[info.off + 20:]
    path = m.write("f.rec", strange)
    recs = replay(path, "--raw", "1ms", code=1, err=None)
    at(recs.err, path, info.off, "no clock")
    eq([(r["reports"], r["dt"]) for r in recs], [(29, None)], "the sum of all")


@test("broken: unknown set, unknown version, unknown format, empty file")
def _(m):
    data = good()[0]
    info, version = (next(r for r in records(data) if r.number == n) for n in (INFO, VERSION))

    def renamed(name, guid=NULL_GUID):
        body = info.body[:36] + name.encode().ljust(256, b"\0") + guid.encode().ljust(40, b"\0") + info.body[332:]
        return data[:info.off] + record(INFO, body) + data[info.end:]
    eq(renamed("RenderBasic"), data, "the device info's own form")
    recs, path = broken(m, renamed("NoSuchSet"), "unknown set")
    offset_of_set = recs.err, path
    check(b"NoSuchSet" in recs.err, f"unknown set: {recs.err!r}")
    eq([r["index"] for r in recs], list(range(29)), "unknown set: records")
    check({r["set"] for r in recs} == {"Basic"} and all(r["counter"] for r in recs), "unknown set: Basic")
    recs, _path = broken(m, renamed("NoSuchSet"), "unknown set, -m", code=0, args=["-m", "RenderBasic"])
    alike(recs, range(29), "unknown set, -m")
    recs, _path = broken(m, renamed("\x1b[31mX\xff"), "a set that is no name")
    check(b"\x1b" not in recs.err, "a set that is no name: raw bytes on the terminal")
    guid = sets_of(xml_of("tglgt2"))["RenderBasic"].get("hw_config_guid")
    path = m.write("guid.rec", renamed("Renamed", guid))
    recs = replay(path, metrics=xml_of("tglgt2"), err=None)
    alike(recs, range(29), "found by its guid")
    check(b"Renamed" in recs.err and recs.err.count(b"\n") == 1, f"a note on the guid: {recs.err!r}")
    path = m.write("both.rec", renamed("RenderBasic", guid))
    alike(replay(path, metrics=xml_of("tglgt2")), range(29), "name and guid")
    # of an unknown GPU a name says little: every platform has such a set
    known = renamed("RenderBasic", guid)
    path = m.write("unknown.rec", known[:info.off + 16] + struct.pack("<I", 0xbeef) + known[info.off + 20:])
    recs = replay(path, "--metrics", xml_of("tglgt2"), metrics=xml_of("sklgt2"), code=1, err=None)
    alike(recs, range(29), "unknown PCI id: the set by its guid")
    bare = m.write("bare.xml", b'<metrics><set chipset="X" symbol_name="X"><counter symbol_name="x" data_type="uint64" '
                               b'equation="A 0 READ"/></set></metrics>')
    recs = replay(m.write("none.rec", renamed("NoSuchSet", "")), metrics=bare, code=1, err=None)
    eq({r["set"] for r in recs}, {"Basic"}, "no guid is not that of a set without one")
    newer = data[:version.off] + record(VERSION, struct.pack("<2I", 9, 0)) + data[version.end:]
    recs, path = broken(m, newer, "unknown version")
    at(recs.err, path, version.off, "unknown version")
    alike(recs, range(29), "unknown version")
    at(*offset_of_set, info.off, "unknown set")
    strange = data[:info.off + 40] + struct.pack("<I", 99) + data[info.off + 44:]
    recs, path = broken(m, strange, "unknown report format")
    for args in ([], ["--raw"], ["--totals"]):
        recs, path = broken(m, b"", "empty", args=args)
        names(recs.err, path, "empty")
        eq([r for r in recs if r["counter"] and args != ["--totals"]], [], "records of nothing")


@test("broken: records where none should be, or that are longer than they should be")
def _(m):
    data = good()[0]
    recs = records(data)
    first = next(r for r in recs if r.number == 1)
    for what, extra in (("a second version", data[recs[0].off:recs[0].end]),
                        ("an unknown record", record(0x7fffffff, b"abcdefgh")),
                        ("an empty unknown record", record(4711, b"")),
                        ("a loss with a body", record(2, b"12345678"))):
        path = m.write(f"more-{next(SERIAL)}.rec", data[:first.end] + extra + data[first.end:])
        got = replay(path, metrics=xml_of("tglgt2"))
        alike(got, range(29), what, but=("lost",))
        eq(sum(r["lost"] for r in got), int("loss" in what), f"{what}: lost")
    for n in (0, 4, 100, 335):
        cut = data[:recs[1].off] + record(INFO, recs[1].body[:n]) + data[recs[1].end:]
        got, path = broken(m, cut, f"a device info of {n} bytes")
        at(got.err, path, recs[1].off, f"a device info of {n} bytes")
    for n in (0, 8):
        at_ = next(r for r in recs if r.number == CORRELATION)
        cut = data[:at_.off] + record(CORRELATION, at_.body[:n]) + data[at_.end:]
        got, path = broken(m, cut, f"a correlation of {n} bytes")
        alike(got, range(29), f"a correlation of {n} bytes", but=("cpu_time",))
    for n in (0, 8, 15, 16, 17, 24):
        cut = data[:recs[2].off] + record(TOPOLOGY, recs[2].body[:n]) + data[recs[2].end:]
        r = edges.run(["oa", "--replay", m.write("t.rec", cut), "--raw", "-o", "json"], timeout=60)
        check(r.code in (0, 1) and len(decode(r.out)) >= 29, f"a topology of {n} bytes: {r!r}")


@test("broken: cut after every byte of the first 1000", True)
def _(m):
    data = good()[0]
    path = m.path("cut")

    def one(n):
        with open(f"{path}-{n}", "wb") as f:
            f.write(data[:n])
        r = edges.run(["oa", "--replay", f"{path}-{n}", "--metrics", xml_of("tglgt2"), "-o", "json"], timeout=60)
        eq(r.code, 1, f"cut to {n} bytes ({r!r})")
        check(r.err.startswith(f"gpustat: {path}-{n}: at byte ".encode()), f"cut to {n} bytes: {r.err!r}")
        recs = decode(r.out)
        eq(len(recs), 1 if n >= samples[1].end else 0, f"cut to {n} bytes: records")
        os.unlink(f"{path}-{n}")
    samples = [r for r in records(data) if r.number == 1]
    check(samples[1].end < 1000, "two samples within 1000 bytes")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(1000)))


@test("broken: bytes turned over at random", True)
def _(m):
    """No hang, no signal, nothing that is no JSON."""
    data = good()[0]
    rng = random.Random(1)
    for i in range(60 * SEEDS):
        b = bytearray(data)
        for _k in range(1 + rng.randrange(8)):
            r = rng.choice(records(data))
            b[r.off + rng.randrange(8 if rng.randrange(2) else min(r.size, 64))] = rng.randrange(256)
        path = m.write("turned.rec", bytes(b))
        args = [["--metrics", xml_of("tglgt2")], ["--raw"], ["--raw", "--reports"], ["--totals"], ["--contexts"],
                ["0.001"]][i % 6]
        r = edges.run(["oa", "--replay", path, *args, "-o", "json"], timeout=60)
        check(r.code in (0, 1), f"turned over {i}: {r!r}")
        for line in r.out.splitlines():
            edges.strict(line)


@test("files that are no recordings")
def _(m):
    text = m.write("text", "nothing of the kind\n" * 100)
    zeros = m.write("zeros", bytes(5000))
    r = edges.run(["oa", "--replay", text, "-o", "json"], timeout=60)
    check(r.code == 1 and text.encode() in r.err, f"text: {r!r}")
    r = edges.run(["oa", "--replay", zeros, "-o", "json"], timeout=60)
    check(r.code == 1 and zeros.encode() in r.err, f"zeros: {r!r}")
    for path in (m.path("missing"), m.base):
        r = edges.run(["oa", "--replay", path, "-o", "json"], timeout=60)
        check(r.code == 1 and path.encode() in r.err and r.err.count(b"\n") == 1, f"{path}: {r!r}")
    shared()
    r = edges.run(["oa", "--replay", given("tgl_ctx").path, "--metrics", m.path("missing.xml")])
    check(r.code in (1, 2) and b"missing.xml" in r.err, f"no metric file: {r!r}")
    r = edges.run(["oa", "--replay", given("tgl_ctx").path, "--metrics", text])
    check(r.code in (1, 2) and text.encode() in r.err, f"no metric file, but text: {r!r}")


# --- metric sets -----------------------------------------------------------------------------------------

@test("-m: a set by its name, by its guid, in several files")
def _(_m):
    g = given("tgl_ctx")
    sets = sets_of(xml_of("tglgt2"))
    other = next(s for s in sets if s not in ("RenderBasic", "ComputeBasic") and len(sets[s].findall("counter")) > 10)
    guid = sets[other].get("hw_config_guid")
    want = replay(g.path, "-m", other, metrics=xml_of("tglgt2"))
    eq({r["set"] for r in want}, {other}, "set")
    eq(replay(g.path, "-m", guid, metrics=xml_of("tglgt2")), want, "by its guid")
    eq(replay(g.path, "--metric-set", other, "--metrics", xml_of("sklgt2"), "--metrics", xml_of("tglgt2")), want,
       "in the second file")
    check(want[0]["counter"].keys() != replay(g.path, metrics=xml_of("tglgt2"))[0]["counter"].keys(), "other counters")
    recs = replay(g.path, "-m", "NoSuchSet", metrics=xml_of("tglgt2"), code=1, err=None)
    check(b"NoSuchSet" in recs.err, f"no such set: {recs.err!r}")
    # without a file, what is built in
    recs = replay(g.path, "-m", "Basic")
    check({r["set"] for r in recs} == {"Basic"} and len(recs) == 59 and recs[0]["counter"], "Basic")
    near(recs[0]["counter"]["GpuTime"], float(recs[0]["dt"]) * 1e9, 1000, "GpuTime of Basic")


@test("-f: bare names, counter.NAME, counter; unknown ones are usage errors")
def _(m):
    g = given("tgl_ctx")
    base = ["oa", "--replay", g.path, "--metrics", xml_of("tglgt2"), "-o", "csv", "-H", "-f"]
    a, b = (edges.run([*base, f]) for f in ("index,EuActive,GpuTime", "index,counter.EuActive,counter.GpuTime"))
    eq((a.code, a.err, b.code, b.out), (0, b"", 0, a.out), "bare or not")
    eq(len(a.out.splitlines()), 59, "rows")
    r = edges.run([*base, "index,NoSuchCounter"])
    check(r.code == 2 and b"NoSuchCounter" in r.err, f"no such counter: {r!r}")
    # a column for each, also of the set that has most
    most = max(sets_of(xml_of("xe-bmg")).values(), key=lambda e: len(list(e.iter("counter")))).get("symbol_name")
    g = make(m, "xe-bmg", "--reports", 4)
    recs = replay(g.path, "-m", most, metrics=xml_of("xe-bmg"))
    r = edges.run(["oa", "--replay", g.path, "-m", most, "--metrics", xml_of("xe-bmg"), "-o", "csv", "-f",
                   "index,counter"])
    eq(r.out.decode().splitlines()[0].count(","), len(recs[0]["counter"]), f"columns of {most}")
    r = edges.run([*base, "A7,B0,ts,index", "--raw"])
    check(r.code == 0 and len(r.out.splitlines()) >= 59 and r.out.splitlines()[0].count(b",") == 3, f"--raw: {r!r}")


@test("odd metric files: sets without a guid, counters of one name, none, as many as there may be")
def _(m):
    data, _want, g = good()
    del data

    def write(name, counters, more='hw_config_guid="%s"' % ("1" * 8 + "-2222-3333-4444-" + "5" * 12)):
        text = "".join(f'<counter symbol_name="{n}" data_type="{t}" units="u" equation="{e}"/>' for n, t, e in counters)
        return m.write(name, f'<metrics><set symbol_name="RenderBasic" chipset="TGLGT2" {more}>{text}</set></metrics>')
    recs = replay(g.path, "-m", "NoSuchSet", metrics=write("a.xml", [("X", "uint64", "1")], ""), code=1, err=None)
    eq({r["set"] for r in recs}, {"Basic"}, "a set without a guid is not just any")
    path = write("b.xml", [("X", "uint64", "A 1 READ"), ("X", "float", "1"), ("Y", "uint64", "$X")])
    recs = replay(g.path, metrics=path, err=b"gpustat: counter left out: X: a name that another counter has\n")
    eq({(len(r["counter"]), r["counter"]["X"] == r["counter"]["Y"]) for r in recs}, {(2, True)}, "the first of a name")
    path = write("c.xml", [(f"C{i}", "uint64", str(i)) for i in range(256)])
    for fmt, cut in (("csv", ","), ("line", None)):
        r = edges.run(["oa", "--replay", g.path, "--metrics", path, "--totals", "-o", fmt, "-f", "index,counter"])
        head, row = (line.split(cut) for line in printable(r.out).splitlines())
        eq((len(head), row), (257, [str(i) for i in (0, *range(256))]), f"256 counters in {fmt}")
    r = edges.run(["oa", "--replay", g.path, "--metrics", write("d.xml", []), "--totals", "-o", "csv", "-f", "counter"])
    eq((r.code, r.out), (0, b'counter\n""\n'), "a set without counters")


@test("float counters are what %f prints, also beyond 2^64")
def _(m):
    with open(given("xe_lnl").path, "rb") as f:
        file = records(f.read())
    rng = random.Random(4)
    head = [record(r.number, r.body) for r in file if r.number > 3]
    equations = ("PEC 0 READ PEC 1 READ FDIV", "PEC 0 READ 1 FDIV 2000000 FDIV", "PEC 0 READ 1 FDIV 3 FDIV",
                 "PEC 0 READ 1 FDIV PEC 1 READ 1 FDIV FMUL", "0 1 FDIV PEC 0 READ 1 FDIV FSUB 4000000 FDIV",
                 "PEC 0 READ" + " 1 FDIV 1 63 &lt;&lt; FMUL" * 14, "PEC 0 READ" + " 1 FDIV 1 63 &lt;&lt; FMUL" * 20)
    path = m.write("f.xml", '<metrics><set symbol_name="RenderBasic" chipset="LNL">' + "".join(
        f'<counter symbol_name="E{i}" data_type="float" units="u" equation="{e}"/>' for i, e in enumerate(equations)) +
        "</set></metrics>")
    steps, value, reports = [], [0, 0], []
    for k in range(2001):
        reports.append(record(1, struct.pack("<68Q", 1 << 19, 1000 + k * 1000, 5, k * 500, *value, *[0] * 62)))
        steps.append([rng.getrandbits(64) >> rng.randrange(64), rng.getrandbits(64) >> rng.randrange(64)])
        if k % 4 == 0:
            steps[-1][0] = 2 * rng.randrange(1 << 20) + 1  # over 2 * 10^6: as near to a half as it gets
        value = [(v + s) & (1 << 64) - 1 for v, s in zip(value, steps[-1])]
    recs = replay(m.write("f.rec", b"".join(head[:3] + head[-2:] + reports)), metrics=path)
    eq(len(recs), 2000, "deltas")
    for r, (a, b) in zip(recs, steps):
        f, g = float(a), float(b)
        want = [f / g if g else 0.0, f / 2000000, f / 3, f * g, (0.0 - f) / 4000000, f * 2.0 ** (63 * 14)]
        for i, w in enumerate(want):
            same_text(r["counter"][f"E{i}"], "%f" % w, f"{r['index']}: {equations[i]}")
        check(r["counter"]["E6"] is None or a == 0, f"infinity: {r['counter']['E6']}")


@test("the sums of a metric set are those of its raw counters")
def _(m):
    """Equations see the sum, not sums of what they say of each report."""
    g = make(m, "tglgt2", "--wrap32", "--wrap40")
    raw, = replay(g.path, "--raw", "--totals")
    got, = replay(g.path, "--totals", metrics=xml_of("tglgt2"))
    eq(got["counter"]["VsThreads"], raw["counter"]["A1"], "VsThreads is A1")
    eq(got["counter"]["GpuCoreClocks"], raw["ticks"], "GpuCoreClocks")
    span = sum(b["dts"] for _k, _a, b, _l in g.truth.deltas())
    eq(got["counter"]["GpuTime"], span * 10**9 // 19200000, "GpuTime")
    eq({k: got[k] for k in ("ts", "cpu_time", "ticks", "lost", "reports", "dt")},
       {k: raw[k] for k in ("ts", "cpu_time", "ticks", "lost", "reports", "dt")}, "the rest")


@test("pack: of one file, of all; the same sets, the same values", True)
def _(m):
    pack = m.path("all.pack")
    files = list(xml_files().values())
    r = edges.run(["oa", "pack", *files, "-O", pack], timeout=60)
    eq((r.code, r.out), (0, b""), f"pack ({r!r})")
    check(os.path.getsize(pack) < 2 << 20, f"{os.path.getsize(pack)} bytes")
    for name, platform in GIVEN.items():
        g = given(name)
        eq(replay(g.path, metrics=pack), replay(g.path, metrics=xml_of(platform)), f"{name} with the pack of all")
    again = m.path("again.pack")
    r = edges.run(["oa", "pack", *files, "-O", again], timeout=60)
    with open(pack, "rb") as f, open(again, "rb") as h:
        eq(f.read() == h.read(), True, "packing twice gives the same bytes")


@test("pack: what is wrong")
def _(m):
    xml = xml_of("hsw")
    r = edges.run(["oa", "pack", xml])
    eq((r.code, r.out), (2, b""), f"no -O ({r!r})")
    r = edges.run(["oa", "pack", "-O", m.path("x")])
    eq((r.code, os.path.exists(m.path("x"))), (2, False), f"no file ({r!r})")
    r = edges.run(["oa", "pack", m.path("missing.xml"), "-O", m.path("x")])
    check(r.code == 1 and b"missing.xml" in r.err, f"missing: {r!r}")
    text = m.write("text.xml", "this is no XML\n")
    r = edges.run(["oa", "pack", text, "-O", m.path("x")])
    check(r.code == 1 and text.encode() in r.err, f"no XML: {r!r}")
    with open(xml, "rb") as f:
        half = m.write("half.xml", f.read()[:30000])
    r = edges.run(["oa", "pack", half, "-O", m.path("half.pack")], timeout=60)
    check(r.code in (0, 1), f"half a file: {r!r}")
    r = edges.run(["oa", "pack", xml, "-O", m.path("no", "such", "x")])
    check(r.code == 1 and b"no/such/x" in r.err, f"nowhere to write: {r!r}")
    good_ = m.path("good.pack")
    eq(edges.run(["oa", "pack", xml, "-O", good_]).code, 0, "a good pack")
    with open(good_, "rb") as f:
        pack = f.read()
    g = given("hsw_basic")
    rng = random.Random(3)
    for n in [0, 1, 4, 8, 16, 64] + [rng.randrange(len(pack)) for _i in range(20)]:
        r = edges.run(["oa", "--replay", g.path, "--metrics", m.write("cut.pack", pack[:n]), "-o", "json"], timeout=60)
        check(r.code in (0, 1, 2), f"a pack of {n} bytes: {r!r}")
        b = bytearray(pack)
        b[n] ^= 1 + rng.randrange(255)
        r = edges.run(["oa", "--replay", g.path, "--metrics", m.write("bent.pack", bytes(b)), "-o", "json"], timeout=60)
        check(r.code in (0, 1, 2), f"a pack with byte {n} changed: {r!r}")


@test("list: the sets of a platform, and the counters of each")
def _(m):
    for platform in ("sklgt2", "tglgt2", "xe-lnl", "hsw"):
        path = xml_of(platform)
        sets = sets_of(path)
        r = m.run("oa", "list", "--metrics", path, "--platform", platform)
        eq((r.code, r.err), (0, b""), f"{platform}: exit code, messages")
        lines = [line.split() for line in printable(r.out).splitlines()]
        rows = {w[0]: w for w in lines}
        for name, s in sets.items():
            check(name in rows, f"{platform}: {name} is not listed: {r!r}")
            w = rows[name]
            check(s.get("hw_config_guid") in w and os.path.basename(path) in " ".join(w), f"{platform}: {w}")
            n = [int(x) for x in w[1:] if x.isdigit()]
            check(n and 0 < n[0] <= len(list(s.iter("counter"))), f"{platform}: counters of {w}")
        for name in ("RenderBasic", sets["RenderBasic"].get("hw_config_guid")):
            r = m.run("oa", "list", name, "--metrics", path, "--platform", platform)
            eq((r.code, r.err), (0, b""), f"{platform}: list {name}")
            got = {w[0]: w for w in (line.split() for line in printable(r.out).splitlines())}
            for c in sets["RenderBasic"].iter("counter"):
                if not c.get("availability"):
                    w = got.get(c.get("symbol_name"))
                    check(w and c.get("data_type") in w and c.get("units").split()[0] in " ".join(w),
                          f"{platform}: {c.get('symbol_name')}: {w}")
                    if c.get("max_equation") == "100":
                        check(any(number(x) == 100 for x in w[1:] if re.fullmatch(r"[0-9.]+", x)), f"max of {w}")
    r = m.run("oa", "list", "NoSuchSet", "--metrics", xml_of("hsw"))
    check(r.code in (1, 2) and b"NoSuchSet" in r.err, f"no such set: {r!r}")
    # without a GPU, sets of any; another platform's are left out where one is named
    r = m.run("oa", "list", "--metrics", xml_of("hsw"), "--metrics", xml_of("tglgt2"))
    eq(r.code, 0, f"two files ({r!r})")
    check(os.path.basename(xml_of("hsw")).encode() in r.out and os.path.basename(xml_of("tglgt2")).encode() in r.out,
          f"two files: {r!r}")
    r = m.run("oa", "list", "--metrics", xml_of("hsw"), "--metrics", xml_of("tglgt2"), "--platform", "hsw")
    check(b"oa-tglgt2.xml" not in r.out and b"oa-hsw.xml" in r.out, f"--platform hsw: {r!r}")


# --- the command itself ------------------------------------------------------------------------------------

@test("no device: exit 3 and a word; --replay needs none")
def _(m):
    r = m.run("oa")
    check(r.code == 3 and r.out == b"" and r.err.count(b"\n") == 1, f"no device: {r!r}")
    r = m.run("oa", "--raw", "1", "2", timeout=60)
    eq(r.code, 3, f"no device ({r!r})")
    m.device("amdgpu", edges.AMD)
    r = m.run("oa")
    eq(r.code, 3, f"no device that has OA ({r!r})")
    if os.path.exists(GENERATOR):
        r = m.run("oa", "--replay", given("tgl_ctx").path, "--raw", "--totals")
        eq(r.code, 0, f"replay on a machine without a GPU ({r!r})")


@test("usage errors")
def _(m):
    f = m.write("f.rec", b"")
    for args in (["--replay"], ["--nonsense"], ["--replay", f, "--ctx"], ["--replay", f, "--ctx", "x"],
                 ["--replay", f, "-o", "nosuchformat"], ["--replay", f, "0"],
                 ["--replay", f, "soon"], ["--replay", f, "--metrics"], ["--period", "x"], ["--period", "0"],
                 ["--engine", "toaster"], ["--sseu", "1:2"], ["--oa-unit", "x"], ["--buffer-size", "x"],
                 ["--wait-reports", "-1"], ["--poll-period", "x"], ["-t", "never"], ["list", "a", "b"],
                 ["--replay", f, "--record", m.path("copy")], ["1", "2", "3"], ["nosuchverb"]):
        r = m.run("oa", *args, timeout=60)
        check(r.code == 2 and r.err and r.out == b"", f"oa {args}: {r!r}")
    r = m.run("oa", "-h")
    check(r.code == 0 and b"--replay" in r.out and r.err == b"", f"-h: {r!r}")
    for option in ("--metric-set --metrics --raw --reports --totals --contexts --period --ctx --engine --sseu "
                   "--record --hold-preemption --poll-period --oa-unit --buffer-size --wait-reports --replay "
                   "--platform").split():
        check(option.encode() in r.out, f"-h: no {option}")


@test("-O appends, -q is quiet, an output that is full")
def _(m):
    g = given("tgl_ctx")
    base = ["oa", "--replay", g.path, "--metrics", xml_of("tglgt2"), "-o", "json"]
    want = edges.run(base).out
    for n in (1, 2):
        r = edges.run([*base, "-O", m.path("out")])
        eq((r.code, r.out, r.err), (0, b"", b""), "-O")
        with open(m.path("out"), "rb") as f:
            eq(f.read() == want * n, True, f"written {n} times")
    r = subprocess.run(["sh", "-c", '"$@" >/dev/full', "x", edges.PROG, *base], capture_output=True, timeout=60,
                       check=False)
    check(r.returncode == 1 and r.stderr.count(b"\n") == 1, f"/dev/full: exit {r.returncode}, {r.stderr!r}")
    long = make(m, "tglgt2", "--quick", "--reports", 3000, truth=False)
    with subprocess.Popen([edges.PROG, "oa", "--replay", long.path, "--raw", "-o", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        p.stdout.close()
        eq((p.wait(60), p.stderr.read()), (-signal.SIGPIPE, b""), "a reader that is gone: exit code, messages")
    path = m.write("cut.rec", good()[0][:5000])
    loud = edges.run(["oa", "--replay", path, "--raw", "--totals", "-o", "json"])
    quiet = edges.run(["oa", "--replay", path, "--raw", "--totals", "-o", "json", "-q"])
    eq((quiet.code, quiet.out), (1, loud.out), f"-q ({quiet!r})")


# --- long recordings -----------------------------------------------------------------------------------------

@once
def big():
    """206 MB, in memory where there is room."""
    shared()
    folder = os.path.dirname(edges.PROG)
    if shutil.disk_usage(folder).free < 1 << 29:
        raise Skip("no room for a recording of 206 MB")
    m = type("M", (), {"path": lambda self, *a: os.path.join(folder, *a)})()
    return make(m, "tglgt2", "--quick", "--reports", 780000, "--exponent", 4, truth=False).path


@once
def measure():
    """tests/bench/bench, which tells what was resident at most."""
    folder = os.path.join(os.path.dirname(edges.PROG), "bench-tools")
    os.makedirs(folder, exist_ok=True)
    r = subprocess.run([os.path.join(edges.HERE, "bench", "build"), folder], capture_output=True, timeout=60,
                       check=False)
    if r.returncode:
        raise Skip("no static program can be built; needs package musl-tools")
    return os.path.join(folder, "bench")


def resident(*args):
    r = subprocess.run([measure(), "rss", " ".join([edges.PROG, "oa", *args])], capture_output=True, timeout=120,
                       check=False)
    if r.returncode:
        raise Skip("ptrace is denied here")
    return int(r.stdout)


@test("a long recording takes no more memory than a short one", True)
def _(m):
    small = make(m, "tglgt2", "--quick", "--reports", 10000, "--exponent", 4, truth=False).path
    for args in (["--totals", "--metrics", xml_of("tglgt2")],
                 ["--metrics", xml_of("tglgt2"), "-o", "csv", "-f", "GpuTime,EuActive"],
                 ["--raw", "--contexts", "-o", "json"]):
        few, many = resident("--replay", small, *args), resident("--replay", big(), *args)
        check(many - few <= 1024 and many < 6000, f"{args}: {few} KiB of 2.6 MB, {many} of 206 MB")


@test("a long recording: every report is counted, contexts follow each other", True)
def _(_m):
    total, = replay(big(), "--raw", "--totals", timeout=60)
    eq((total["reports"], total["lost"]), (779999, 0), "reports, lost")
    near(float(total["dt"]), 779999 * 32 / 19200000, 2e-6, "dt")
    recs = replay(big(), "--raw", "0.5", timeout=60)
    eq(sum(r["reports"] for r in recs), 779999, "reports of intervals")
    eq({n: sum(r["counter"][n] for r in recs) for n in total["counter"]}, total["counter"], "sums of intervals")
    recs = replay(big(), "--raw", "--contexts", timeout=60)
    eq({r["ctx"] for r in recs}, {0x11, 0x12}, "contexts")
    eq([r["reports"] for r in recs[:-1]], [256] * (len(recs) - 1), "reports of contexts")


def said_on_a_terminal(args, seconds):
    """What comes on stderr, a terminal, within this time; the program is stopped then."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen([edges.PROG, "oa", *args], stdout=subprocess.DEVNULL, stderr=theirs) as p:
            os.close(theirs)
            got, end = b"", time.monotonic() + seconds
            while time.monotonic() < end and p.poll() is None:
                if select.select([ours], [], [], 0.1)[0]:
                    try:
                        got += os.read(ours, 4096)
                    except OSError:
                        break
                    if got:
                        break
            p.kill()
    finally:
        os.close(ours)
    return got


@test("progress on a terminal, of a long replay only", True)
def _(_m):
    args = ["--metrics", xml_of("tglgt2"), "-o", "json"]
    got = said_on_a_terminal(["--replay", big(), *args], 60)
    check(re.search(rb"\d+ ?%", got), f"progress: {got!r}")
    eq(said_on_a_terminal(["--replay", given("tgl_ctx").path, *args], 60), b"", "of a short one")
    eq(said_on_a_terminal(["--replay", big(), *args, "-q"], 1.5), b"", "with -q")
    with subprocess.Popen([edges.PROG, "oa", "--replay", big(), *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as p:
        time.sleep(1.2)
        p.terminate()
        err = p.communicate(timeout=60)[1]
    eq(err, b"", "progress where there is no terminal")


@test("SIGINT ends a long replay with whole records")
def _(m):
    path = m.path("out")
    with open(path, "wb") as f, subprocess.Popen([edges.PROG, "oa", "--replay", big(), "--raw", "-o", "json"], stdout=f,
                                                 stderr=subprocess.PIPE) as p:
        time.sleep(0.15)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=60)[1]
    check(p.returncode == 0, f"exit {p.returncode}, {err!r}")
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - 1))
        eq(f.read() in (b"", b"\n"), True, "a whole record at the end")


# --- IGT's reader ----------------------------------------------------------------------------------------------

def igt_values(path):
    """[(reason, {counter: text})] of each report, as i915-perf-reader prints them."""
    r = subprocess.run(["i915-perf-reader", "-r", "-c", "all", path], capture_output=True, timeout=60, check=False)
    eq(r.returncode, 0, f"i915-perf-reader {path}: {r.stderr[-300:]!r}")
    got, now = [], None
    for line in r.stdout.decode("utf-8", "replace").splitlines():
        if m := re.fullmatch(r" report\d+ = (\S+)", line):
            now = (m[1], {})
            got.append(now)
        elif line.startswith(("Time:", "hw_id=")):
            now = None
        elif (m := re.fullmatch(r"   (\w+): (\S+)", line)) and now:
            now[1][m[1]] = m[2]
    return got


@test("i915-perf-reader finds the same in recordings of its platforms", True)
def _(m):
    """Its metric sets are those of its release: what has the same name is compared."""
    if not shutil.which("i915-perf-reader"):
        raise Skip("needs package intel-gpu-tools")
    for platform in ("hsw", "bdw", "chv", "sklgt2", "kblgt2", "cflgt2", "bxt", "glk", "icl", "ehl", "tglgt1", "tglgt2"):
        g = make(m, platform, "--seed", 11, "--reports", 40, "--wrap40", "--lost", 2)
        theirs = igt_values(g.path)
        ours = replay(g.path, metrics=xml_of(platform))
        eq([r["reason"] for r in ours], [reason for reason, _c in theirs], f"{platform}: reasons")
        differ = set()
        for r, (_reason, counters) in zip(ours, theirs):
            both = set(r["counter"]) & set(counters)
            check(len(both) > 10, f"{platform}: counters in common")
            for c in both:
                if number(r["counter"][c]) != number(counters[c]):
                    differ.add(c)
        eq(differ, set(), f"{platform}: counters that differ")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_oa_cli.py PROG")
    sys.exit(edges.main(os.path.abspath(sys.argv[1]), TESTS, workers=3))
