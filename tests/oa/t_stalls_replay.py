#!/usr/bin/env python3
# t_stalls_replay.py PROG - tests `gpustat oa stalls --replay`: the test makes recordings bit by
# bit, and sums up their samples itself. Prints TAP. ONLY=TEXT and TIMES=1 are as in
# tests/machine.py.
# SPDX-License-Identifier: MIT
import collections
import json
import os
import random
import re
import struct
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import check, eq  # noqa: E402
from recording import record  # noqa: E402

TESTS = []
VERSION, INFO, STALLS, LOST = 4, 5, 1 << 17, (1 << 17) + 1
SECOND = 10**9
FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stalls.rec")
# The layouts of drivers/gpu/drm/xe/xe_eu_stall.c: version of the graphics, bits of the address, and
# the members after it, each of 8 bits.
REST = ["other", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch"]
LAYOUTS = {"pvc": (0, 29, ["active", *REST]), "lnl": (20, 29, ["tdr", *REST, "active"]),
           "ptl": (30, 29, ["tdr", *REST, "active"]), "xe3p": (35, 61, ["tdr", *REST, "active"])}
ORDER = ["active", "tdr", *REST]  # order of the reasons in the output
KEYS = ["schema", "kind", "time", "dt", "dev", "ip", "all", *ORDER, "lost"]


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


# --- files ----------------------------------------------------------------------------------------

def sample(gpu, ip, **counts):
    """Returns a sample; bits that the layout does not use are set."""
    _version, bits, members = LAYOUTS[gpu]
    value, at = ip // 8, bits
    for m in members:
        value |= counts.get(m, 0) << at
        at += 8
    value |= (1 << 512) - (1 << at)
    return value.to_bytes(64, "little")


def info(version):
    return record(INFO, struct.pack("<Q7I", 19200000, 0x64a0, 4, 0, 0, 0, 0, version) + bytes(300))


def stalls(ns, *samples):
    return record(STALLS, struct.pack("<Q", ns) + b"".join(samples))


def lost(ns):
    return record(LOST, struct.pack("<Q", ns))


def recording(gpu, *records):
    return record(VERSION, struct.pack("<2I", 1, 0)) + info(LAYOUTS[gpu][0]) + b"".join(records)


def noise(gpu, seed, n):
    """Returns n random samples: [(ip, {reason: count})]."""
    r = random.Random(seed)
    _version, bits, members = LAYOUTS[gpu]
    ips = [8 * r.randrange(1 << bits) for _ in range(n // 3 + 1)] + [0, 8 * ((1 << bits) - 1)]
    return [(r.choice(ips), {m: r.choice((0, 1, r.randrange(256), 255)) for m in members}) for _ in range(n)]


def packed(gpu, samples):
    return [sample(gpu, ip, **counts) for ip, counts in samples]


# --- expected records -----------------------------------------------------------------------------

def sums(gpu, samples):
    """Returns {ip: {reason: sum}}, with the key None for the sum of all addresses."""
    made = collections.defaultdict(lambda: {k: 0 for k in ORDER if k in LAYOUTS[gpu][2]})
    for ip, counts in samples:
        for key in (ip, None):
            for k, v in counts.items():
                made[key][k] += v
    return made


def rows(made):
    """Returns [(ip, {reason: sum})] in the order of the output."""
    return sorted(((ip, s) for ip, s in made.items() if ip is not None), key=lambda x: (-sum(x[1].values()), x[0]))


def run(*args, code=0, err=b"", **kw):
    r = machine.run(["oa", "stalls", *(str(a) for a in args)], **kw)
    eq(r.code, code, f"exit code of {args} ({r!r})")
    if err is not None:
        eq(r.err, err, f"messages of {args}")
    return r


def counts(rec):
    """Returns {reason: count} of the reasons that the GPU distinguishes."""
    return {k: rec[k] for k in ORDER if rec[k] is not None}


def records(*args, **kw):
    recs = []
    for line in run(*args, "-o", "json", **kw).out.splitlines():
        machine.strict(line)
        recs.append(json.loads(line))
        eq(list(recs[-1]), KEYS, "keys of a record")
        eq((recs[-1]["kind"], recs[-1]["time"], recs[-1]["dev"]), ("stall", None, None), "kind, time, dev")
        eq(recs[-1]["all"], sum(counts(recs[-1]).values()), "the sum of the reasons")
    return recs


def are(recs, want, what):
    eq([(r["ip"], counts(r)) for r in recs], [(f"0x{ip:x}", s) for ip, s in want], what)


# --- tests ----------------------------------------------------------------------------------------

@test("sums by address, sorted by the number of samples, in the layouts of all GPUs")
def _(m):
    for gpu in LAYOUTS:
        samples = noise(gpu, gpu, 500)
        path = m.write(gpu, recording(gpu, stalls(5, *packed(gpu, samples[:300])), stalls(5 + SECOND, *packed(gpu, samples[300:]))))
        recs = records("--replay", path)
        are(recs, rows(sums(gpu, samples)), gpu)
        eq({r["dt"] for r in recs}, {1}, f"{gpu}: dt")
        eq({r["lost"] for r in recs}, {0}, f"{gpu}: lost")


@test("samples without headers, read with --platform, have no time")
def _(m):
    for gpu in ("pvc", "lnl", "ptl"):
        samples = noise(gpu, gpu, 2000)
        data = b"".join(packed(gpu, samples))
        recs = records("--replay", m.write(gpu, data), "--platform", gpu)
        are(recs, rows(sums(gpu, samples)), gpu)
        eq({r["dt"] for r in recs}, {None}, f"{gpu}: dt")
        eq(records("--replay", "-", "--platform", gpu, stdin=data), recs, f"{gpu}: from stdin")
        r = run("--replay", m.write(gpu, data), "--platform", gpu, 1, "-o", "json", code=1, err=None)
        check(b"has no times: one sum of all" in r.err, f"{gpu}, an interval: {r.err!r}")
        eq([json.loads(line) for line in r.out.splitlines()], recs, f"{gpu}, an interval")


@test("-S: prints sums by reason, without addresses")
def _(m):
    samples = noise("lnl", 1, 100)
    path = m.write("r", recording("lnl", stalls(0, *packed("lnl", samples))))
    for option in ("-S", "--summary"):
        recs = records("--replay", path, option)
        eq([(r["ip"], counts(r)) for r in recs], [(None, sums("lnl", samples)[None])], option)


@test("-k: prints only the addresses with the most samples")
def _(m):
    samples = noise("lnl", 2, 100)
    path = m.write("r", recording("lnl", stalls(0, *packed("lnl", samples))))
    are(records("--replay", path, "-k", 3), rows(sums("lnl", samples))[:3], "-k 3")
    are(records("--replay", path, "--top", 1000), rows(sums("lnl", samples)), "-k 1000")


@test("intervals: samples of one read are in the same interval; a loss is counted in one record")
def _(m):
    a, b, c = (noise("lnl", seed, 40) for seed in (3, 4, 5))
    path = m.write("r", recording("lnl", stalls(7 * SECOND), stalls(7 * SECOND + 400, *packed("lnl", a)),
                                  stalls(8 * SECOND, *packed("lnl", b[:20])), stalls(8 * SECOND, *packed("lnl", b[20:])),
                                  lost(8 * SECOND + 1), stalls(int(11.5 * SECOND), *packed("lnl", c))))
    recs = records("--replay", path, 1)
    first = [r for r in recs if r["dt"] == 1]
    are(first, rows(sums("lnl", a + b)), "the first interval")
    are(recs[len(first):], rows(sums("lnl", c)), "the second interval")
    eq([r["dt"] for r in recs[len(first):]], [3.5] * (len(recs) - len(first)), "dt of the second interval, which ends with its last sample")
    eq([r["lost"] for r in recs[len(first):]], [1] + [0] * (len(recs) - len(first) - 1), "losses in the records of the second interval")
    eq(records("--replay", path, 100), records("--replay", path), "one long interval")


@test("an interval without samples has a record without an address")
def _(m):
    path = m.write("r", recording("pvc", stalls(0), stalls(SECOND), stalls(2 * SECOND), lost(2 * SECOND)))
    recs = records("--replay", path, 1)
    eq([(r["ip"], r["all"], r["lost"], r["dt"]) for r in recs], [(None, 0, 0, 1), (None, 0, 1, 1)], "records")


@test("times that go backwards do not end an interval")
def _(m):
    samples = noise("lnl", 6, 30)
    path = m.write("r", recording("lnl", stalls(9 * SECOND), *(stalls(t, *packed("lnl", samples[i::3]))
                                                              for i, t in enumerate((5, 0, 2 * SECOND)))))
    are(records("--replay", path, 1), rows(sums("lnl", samples)), "all samples")
    path = m.write("r", recording("lnl", stalls(0), stalls(1, *packed("lnl", samples)), stalls(2**64 - 1)))
    recs = records("--replay", path, "1ms")
    are(recs, rows(sums("lnl", samples)), "sums over the longest time")


@test("folded stacks have address and reason; a loss is reported in a message")
def _(m):
    machine.feature("folded")
    samples = noise("xe3p", 7, 200)
    path = m.write("r", recording("xe3p", stalls(0, *packed("xe3p", samples[:100])), stalls(SECOND * 9, *packed("xe3p", samples[100:]))))
    want = [[f"0x{ip:x};{k} {s[k]}" for k in ORDER if k in s and s[k]] for ip, s in rows(sums("xe3p", samples))]
    for args, n in (((), None), ((1,), None), (("-k", 3), 3)):
        eq(run("--replay", path, "-o", "folded", *args).out.decode().splitlines(), sum(want[:n], []), f"lines, with {args}")
    path = m.write("r", recording("xe3p", stalls(0, *packed("xe3p", samples)), lost(1), lost(2)))
    run("--replay", path, "-o", "folded", err=b"gpustat: 2 or more EU stall samples were lost: a buffer was full\n")


@test("a full table is reported with its name, and the sums over all instructions stay exact")
def _(m):
    n = 65536 + 5
    path = m.write("r", b"".join(sample("lnl", 8 * i, sbid=1) for i in range(n)))
    r = run("--replay", path, "--platform", "lnl", "-o", "csv", "-f", "ip,sbid", err=None)
    eq(len(r.out.splitlines()), 1 + 65536, "rows")
    check(b"addresses of EU stalls" in r.err, f"no name of the table: {r.err!r}")
    eq(run("--replay", path, "--platform", "lnl", "-S", "-o", "csv", "-f", "sbid,lost").out, b"sbid,lost\n65541,0\n", "sums")


@test("tests/oa/stalls.rec has the expected records of three seconds of Lunar Lake")
def _(m):
    ips = [0x1c0 + 16 * i for i in range(6)]
    seconds = [[(ip, {k: (7 * ip // 16 + 11 * i + 5 * t) % 23 for i, k in enumerate(ORDER)}) for ip in ips[:6 - t]] for t in range(2)]
    data = recording("lnl", stalls(SECOND), stalls(SECOND + 1, *packed("lnl", seconds[0])), lost(2 * SECOND), stalls(2 * SECOND),
                     stalls(3 * SECOND, *packed("lnl", seconds[1])), stalls(3 * SECOND + 1), stalls(4 * SECOND))
    if os.environ.get("WRITE"):
        with open(FIXTURE, "wb") as f:
            f.write(data)
    with open(FIXTURE, "rb") as f:
        eq(f.read(), data, "content of stalls.rec; WRITE=1 writes the file")
    recs = records("--replay", FIXTURE, 1)
    are([r for r in recs if r["ip"]], rows(sums("lnl", seconds[0])) + rows(sums("lnl", seconds[1])), "records")
    eq([r["lost"] for r in recs], [1] + [0] * (len(recs) - 1), "lost")
    eq((recs[-1]["ip"], recs[-1]["all"]), (None, 0), "the second interval, without samples")


@test("csv and line have the same values")
def _(m):
    samples = [(0x1230, {"sbid": 12, "active": 3}), (0x1240, {"send": 40})]
    path = m.write("r", recording("lnl", stalls(0, *packed("lnl", samples))))
    eq(run("--replay", path, "-o", "csv", "-f", "ip,all,sbid,send").out.decode(),
       "ip,all,sbid,send\n0x1240,40,0,40\n0x1230,15,12,0\n", "wide csv")
    long = machine.parse_csv(run("--replay", path, "-o", "csv").out)
    eq({r["kind"] for r in long}, {"stall"}, "long csv: kind")
    eq([(r["instance"], r["value"]) for r in long if r["field"] == "sbid"], [("0x1240", "0"), ("0x1230", "12")], "long csv")
    line = run("--replay", path).out.decode().splitlines()
    eq(line[0].split(),
       ["IP", "ALL", "ACTIVE", "TDR", "OTHER", "CONTROL", "PIPE", "SEND", "DIST", "SBID", "SYNC", "FETCH", "LOST"], "line: titles")
    eq(line[1].split(), ["0x1240", "40", *("40" if k == "send" else "0" for k in ORDER), "0"], "line: first row")
    eq(len(line), 3, "line: rows")


@test("every truncation: complete samples are summed, and a message names the file and the byte")
def _(m):
    samples = noise("lnl", 8, 3)
    head = recording("lnl")
    data = head + stalls(1, *packed("lnl", samples[:2])) + lost(2) + stalls(3, *packed("lnl", samples[2:]))
    two = len(head) + len(stalls(1, *packed("lnl", samples[:2])))
    for n in range(len(head), len(data)):
        path = m.write("r", data[:n])
        good = n in (two, two + len(lost(2)))
        r = run("--replay", path, "-o", "json", code=0 if good else 1, err=b"" if good else None)
        if not good:
            check(re.search(rf"{re.escape(path)}: at byte \d+: ".encode(), r.err), f"{n} bytes: no message: {r.err!r}")
        got = [json.loads(line) for line in r.out.splitlines()]
        are([g for g in got if g["ip"]], rows(sums("lnl", samples[:2])) if n >= two else [], f"{n} bytes")
    raw = b"".join(packed("lnl", samples))
    for n in range(1, len(raw)):
        r = run("--replay", m.write("r", raw[:n]), "--platform", "lnl", "-o", "json", code=0 if n % 64 == 0 else 1, err=None)
        are([json.loads(line) for line in r.out.splitlines()], rows(sums("lnl", samples[:n // 64])), f"raw, {n} bytes")


@test("files without samples, or with other records, are refused")
def _(m):
    def says(data, words, *args):
        r = run("--replay", m.write("r", data), *args, code=1, err=None)
        check(words in r.err.decode(), f"no {words!r} in {r.err!r}")
    says(b"", "empty")
    says(recording("lnl"), "no samples of EU stalls")
    says(bytes(64), "use --platform NAME")
    says(record(VERSION, struct.pack("<2I", 1, 0)) + stalls(0, bytes(64)), "use --platform NAME")
    says(recording("lnl", record(STALLS, bytes(7))), "samples without their time")
    says(recording("lnl", stalls(0, bytes(65))), "an incomplete sample")
    says(recording("lnl", record(1, bytes(576))), "an OA report: use gpustat oa")
    for kind in (2, 3):  # losses of an OA stream
        says(recording("lnl", record(kind, b"")), "a record of OA reports: use gpustat oa")
        says(recording("lnl", record(kind, b""), stalls(0, bytes(64))), "a record of OA reports: use gpustat oa")
    path = m.write("r", recording("lnl", stalls(0, bytes(64))))
    r = machine.run(["oa", "--replay", path])
    eq(r.code, 1, "oa --replay of a recording of stalls")
    check(b"use gpustat oa stalls" in r.err, f"no message: {r.err!r}")


@test("options that exclude each other, or that the command does not have, are refused")
def _(m):
    def refused(*args, words):
        r = run(*args, code=2, err=None)
        check(words in r.err.decode(), f"{args}: no {words!r} in {r.err!r}")
    refused("--replay", "x", "--record", "y", words="exclude each other")
    refused("--replay", "x", "-c", "2", words="takes no COUNT")
    refused("--platform", "lnl", words="requires --replay")
    refused("--totals", words="is not an option of oa stalls")
    if "folded" in machine.run(["oa", "stalls", "--help"]).out.decode():
        refused("--replay", "x", "-S", "-o", "folded", words="leave out --summary")
    refused("-o", "svg", words="")
    refused("-o", "A13", words="")
    refused("-f", "nonsense", words="no such field")
    refused("--gt", "x", words="invalid number")
    eq(machine.run(["oa", "-S"]).code, 2, "oa has no -S")
    help_text = machine.run(["oa", "stalls", "-f", "help"])
    check(b"sbid " in help_text.out and b"ip " in help_text.out, "-f help")


if __name__ == "__main__":
    sys.exit(machine.main(os.path.abspath(sys.argv[1]), TESTS))
