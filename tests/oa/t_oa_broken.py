#!/usr/bin/env python3
# t_oa_broken.py PROG - tests `gpustat oa --replay` with malformed files: for cut and damaged
# records, wrong sizes and random bytes a message names the file and the byte, and the records
# before it are printed. Prints TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py. SEEDS=N is as
# in oalib.py.
# SPDX-License-Identifier: MIT
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import check, eq, near  # noqa: E402
from oalib import (GIVEN, SEEDS, SERIAL, at, decode, given, good, main, oa, replay, sets_of,  # noqa: E402
                   sums_are, test, xml_of)
from recording import record, records  # noqa: E402

NULL_GUID = "00000000-0000-0000-0000-000000000000"


# --- malformed files ------------------------------------------------------------------------

def whole(data, keep):
    """Returns the file with only the selected records."""
    return b"".join(data[r.off:r.end] for r in records(data) if keep(r))


def names(err, path, what):
    lines = err.decode("utf-8", "replace").splitlines()
    check(lines and any(re.match(rf"gpustat: {re.escape(path)}: at byte \d+: ", line) for line in lines),
          f"{what}: no message of {path} at a byte: {err[-400:]!r}")


VERSION, INFO, TOPOLOGY, CORRELATION = range(65536, 65540)


def broken(m, data, what, code=1, args=(), metrics=True):
    """Replays a file with these bytes. Returns the records, with messages, and the path."""
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
    """Checks that the records with these indices equal those of the valid file."""
    want = [{k: v for k, v in r.items() if k not in but} for r in good()[1] if r["index"] in indices]
    eq([{k: v for k, v in r.items() if k not in but} for r in recs], want, what)


def cases():
    """Returns changes of the valid file: {name: (bytes, byte of the fault, indices of valid records)}."""
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


@test("malformed: cut records, and sizes that are impossible")
def _(m):
    for what, (data, offset, stay) in cases().items():
        recs, path = broken(m, data, what)
        at(recs.err, path, offset, what)
        alike(recs, stay, what, but=("cpu_time",))
        check(all(r["cpu_time"] is not None for r in recs), f"{what}: cpu_time")


@test("malformed: a sample that is too small for its format is skipped")
def _(m):
    data = good()[0]
    mid = [r for r in records(data) if r.number == 1][14]
    short = data[:mid.off] + record(1, mid.body[:128]) + data[mid.end:]
    recs, path = broken(m, short, "too small")
    at(recs.err, path, mid.off, "too small")
    alike([r for r in recs if r["index"] < 13], range(13), "too small: records before it")
    # the records after it are not lost; their index may differ
    tail = [r["counter"] for r in good()[1] if r["index"] > 14]
    eq([r["counter"] for r in recs][-len(tail):], tail, "too small: records after it")


@test("malformed: a sample longer than its format is not counted")
def _(m):
    data = good()[0]
    mid = [r for r in records(data) if r.number == 1][14]
    for more in (8, 64, 4000):
        recs, _path = broken(m, data[:mid.off] + record(1, mid.body + b"\xee" * more) + data[mid.end:], "long", code=0)
        alike(recs, range(29), f"{more} bytes more")
        eq(recs.err, b"", "messages")


@test("malformed: no correlation, and one correlation")
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


@test("malformed: one sample, and no sample")
def _(m):
    data = good()[0]
    first = next(r.off for r in records(data) if r.number == 1)
    recs, _path = broken(m, whole(data, lambda r: r.number != 1 or r.off == first), "one sample")
    eq(recs, [], "deltas of one sample")
    recs, _path = broken(m, whole(data, lambda r: r.number != 1 or r.off == first), "one sample",
                         args=["--raw", "--reports"])
    eq(len(recs), 1, "records of one sample with --reports")
    for args in ([], ["--totals"], ["--raw", "--reports"], ["0.001"]):
        recs, _path = broken(m, whole(data, lambda r: r.number != 1), "no sample", args=args)
        check(not recs or args == ["--totals"], f"{args}: records without a sample")


@test("a pipe that is still open: decoded records are printed, and SIGTERM ends the run with exit 0")
def _(_m):
    for args, before in ((["-o", "csv", "-f", "index"], 30), (["--totals", "-o", "csv", "-f", "index"], 0)):
        with subprocess.Popen([machine.PROG, "oa", "--replay", "-", "--metrics", xml_of("tglgt2"), *args],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            late = threading.Timer(60, p.kill)
            late.start()
            p.stdin.write(good()[0])
            p.stdin.flush()
            shown = [p.stdout.readline() for _ in range(before)]
            machine.until_taken(p)
            p.send_signal(signal.SIGTERM)
            out, err = p.stdout.read(), p.stderr.read()
            late.cancel()
            eq((p.wait(60), err), (0, b""), f"{args}: exit code, messages")
            eq(len(shown) + out.count(b"\n"), 30 if before else 2, f"{args}: lines")


@test("malformed: no device info, unknown device, no topology")
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
    eq(recs[0]["ticks"], sum(b["dticks"] for _k, _a, b, _l in deltas), "unknown PCI id: ticks, which are in the reports")
    path = m.write("strange.rec", strange)
    recs = replay(path, "--platform", "tglgt2", metrics=xml_of("tglgt2"))
    alike(recs, range(29), "unknown PCI id with --platform")
    at(*offset_of_info, info.off, "unknown PCI id")
    path = m.write("flat.rec", whole(data, lambda r: r.number != TOPOLOGY))
    r = machine.run(["oa", "--replay", path, "--metrics", xml_of("tglgt2"), "-o", "json"])
    check(r.code in (0, 1) and len(decode(r.out)) == 29, f"no topology: {r!r}")


@test("malformed: with an interval but no clock frequency in the recording, exit 1 and one sum of all reports")
def _(m):
    data, _want, _g = good()
    info = next(r for r in records(data) if r.number == 65537)
    strange = data[:info.off + 8] + struct.pack("<QI", 0, 0xffff) + data[info.off + 20:]
    path = m.write("f.rec", strange)
    recs = replay(path, "--raw", "1ms", code=1, err=None)
    at(recs.err, path, info.off, "no clock")
    eq([(r["reports"], r["dt"]) for r in recs], [(29, None)], "the sum of all reports")


@test("malformed: unknown set, unknown version, unknown format, empty file")
def _(m):
    data = good()[0]
    info, version = (next(r for r in records(data) if r.number == n) for n in (INFO, VERSION))

    def renamed(name, guid=NULL_GUID):
        body = info.body[:36] + name.encode().ljust(256, b"\0") + guid.encode().ljust(40, b"\0") + info.body[332:]
        return data[:info.off] + record(INFO, body) + data[info.end:]
    eq(renamed("RenderBasic"), data, "the device info that the test builds equals the original")
    recs, path = broken(m, renamed("NoSuchSet"), "unknown set")
    offset_of_set = recs.err, path
    check(b"NoSuchSet" in recs.err, f"unknown set: {recs.err!r}")
    eq([r["index"] for r in recs], list(range(29)), "unknown set: records")
    check({r["set"] for r in recs} == {"Basic"} and all(r["counter"] for r in recs), "unknown set: Basic")
    recs, _path = broken(m, renamed("NoSuchSet"), "unknown set, -m", code=0, args=["-m", "RenderBasic"])
    alike(recs, range(29), "unknown set, -m")
    recs, _path = broken(m, renamed("\x1b[31mX\xff"), "a set name with control characters")
    check(b"\x1b" not in recs.err, "a set name with control characters: escape sequences in the message")
    guid = sets_of(xml_of("tglgt2"))["RenderBasic"].get("hw_config_guid")
    path = m.write("guid.rec", renamed("Renamed", guid))
    recs = replay(path, metrics=xml_of("tglgt2"), err=None)
    alike(recs, range(29), "set found by its guid")
    check(b"Renamed" in recs.err and recs.err.count(b"\n") == 1, f"a message about the guid: {recs.err!r}")
    path = m.write("both.rec", renamed("RenderBasic", guid))
    alike(replay(path, metrics=xml_of("tglgt2")), range(29), "set with name and guid")
    # the name does not identify the set of an unknown GPU, because every platform has one
    known = renamed("RenderBasic", guid)
    path = m.write("unknown.rec", known[:info.off + 16] + struct.pack("<I", 0xbeef) + known[info.off + 20:])
    recs = replay(path, "--metrics", xml_of("tglgt2"), metrics=xml_of("sklgt2"), code=1, err=None)
    alike(recs, range(29), "unknown PCI id: the set by its guid")
    bare = m.write("bare.xml", b'<metrics><set chipset="X" symbol_name="X"><counter symbol_name="x" data_type="uint64" '
                               b'equation="A 0 READ"/></set></metrics>')
    recs = replay(m.write("none.rec", renamed("NoSuchSet", "")), metrics=bare, code=1, err=None)
    eq({r["set"] for r in recs}, {"Basic"}, "an empty guid must not match a set without a guid")
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
        eq([r for r in recs if r["counter"] and args != ["--totals"]], [], "records of an empty file")


@test("malformed: records in wrong places, and records that are too long")
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
        r = machine.run(["oa", "--replay", m.write("t.rec", cut), "--raw", "-o", "json"], timeout=60)
        check(r.code in (0, 1) and len(decode(r.out)) >= 29, f"a topology of {n} bytes: {r!r}")


@test("malformed: cut after each of the first 1000 bytes", True)
def _(m):
    data = good()[0]
    path = m.path("cut")

    def one(n):
        with open(f"{path}-{n}", "wb") as f:
            f.write(data[:n])
        r = machine.run(["oa", "--replay", f"{path}-{n}", "--metrics", xml_of("tglgt2"), "-o", "json"], timeout=60)
        eq(r.code, 1, f"cut to {n} bytes ({r!r})")
        check(r.err.startswith(f"gpustat: {path}-{n}: at byte ".encode()), f"cut to {n} bytes: {r.err!r}")
        recs = decode(r.out)
        eq(len(recs), 1 if n >= samples[1].end else 0, f"cut to {n} bytes: records")
        os.unlink(f"{path}-{n}")
    samples = [r for r in records(data) if r.number == 1]
    check(samples[1].end < 1000, "two samples within 1000 bytes")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(1000)))


# --- single malformed reports --------------------------------------------------------------

HERE = os.path.dirname(os.path.abspath(__file__))


class Stream:
    """The bytes of a file and the offsets of its reports. wide: timestamps have 56 bits, not 32."""

    def __init__(self, data, wide, step=None):
        self.data, self.wide = data, wide
        self.at = [r.off for r in records(data) if r.number == 1] if step is None else list(range(0, len(data), step))
        self.head = 8 if step is None else 0
        self.size = step or next(r.size for r in records(data) if r.number == 1) - self.head
        self.field, self.mask = ("<Q", (1 << 56) - 1) if wide else ("<I", (1 << 32) - 1)

    def time(self, k):
        return struct.unpack_from(self.field, self.data, self.at[k] + self.head + (8 if self.wide else 4))[0] & self.mask

    def spoiled(self, k, report):
        at_ = self.at[k] + self.head
        return self.data[:at_] + report + self.data[at_ + self.size:]

    def moved(self, k, by):
        """Returns report k with a timestamp that is `by` after that of the report before."""
        at_ = self.at[k] + self.head
        time = struct.pack(self.field, (self.time(k - 1) + by) & self.mask)
        where = 8 if self.wide else 4
        return self.data[at_:at_ + where] + time + self.data[at_ + where + len(time):at_ + self.size]


def random_words(s, k, rng, backward):
    """Returns random words with a timestamp that is more than half the range ahead, or less, but
    more than the clock can advance."""
    while True:
        words = rng.randbytes(s.size)
        time = struct.unpack_from(s.field, words, 8 if s.wide else 4)[0] & s.mask
        ahead = (time - s.time(k - 1)) & s.mask
        if (ahead > s.mask // 2) == backward and ahead > s.mask // 16:
            return words


def streams():
    """Returns {name: (stream, arguments)}."""
    found = {}
    for name, wide in (("frames", False), ("skl", False), ("lnl", True)):
        with open(os.path.join(HERE, name + ".rec"), "rb") as f:
            found[name] = Stream(f.read(), wide), []
    with open(os.path.join(HERE, "hsw.raw"), "rb") as f:
        found["hsw.raw"] = Stream(f.read(), False), ["--platform", "hsw"]
    lnl = found["lnl"][0]
    reports = b"".join(lnl.data[a + 8:a + 8 + lnl.size].ljust(576, b"\0") for a in lnl.at)
    found["lnl without headers"] = Stream(reports, True, 576), ["--platform", "lnl"]
    for name, platform in GIVEN.items():
        with open(given(name).path, "rb") as f:
            found[name] = Stream(f.read(), platform == "xe-lnl"), ["--metrics", xml_of(platform)]
    return found


def quiet_report(recs, s):
    """Returns the first report with two differences without a loss on each side."""
    good_ = {r["index"] for r in recs if r["lost"] == 0}
    return next(k for k in range(2, len(s.at)) if {k - 2, k - 1, k, k + 1} <= good_)


def spoil(m, name, s, args, want):
    """Checks that only the differences from and to a malformed report are missing, and all others
    are unchanged."""
    k, rng = quiet_report(want, s), random.Random(name)
    later = {k - 1, k, k + 1}  # a timestamp far ahead is a gap, and then the next report has an earlier one
    for what, report, missing in (("zeros", bytes(s.size), {k - 1, k}), ("an earlier timestamp", s.moved(k, -5), {k - 1, k}),
                                  ("a timestamp far ahead", s.moved(k, s.mask // 2), later),
                                  ("random words, earlier", random_words(s, k, rng, True), {k - 1, k}),
                                  ("random words, later", random_words(s, k, rng, False), later)):
        where = f"{name}, report {k} is {what}"
        path = m.write(f"spoiled-{next(SERIAL)}", s.spoiled(k, report))
        got = replay(path, *args, code=1, err=None)
        at(got.err, path, s.at[k + (missing == later)], where)
        eq([{**r, "lost": 0} for r in got], [{**r, "lost": 0} for r in want if r["index"] not in missing], where)
        lost = 1 + (missing == later)
        eq(sum(r["lost"] for r in got), sum(r["lost"] for r in want) + lost, f"{where}: lost")
        for more in ([], ["--raw"]):
            total, = replay(path, *args, *more, "--totals", code=1, err=None)
            eq((total["lost"], total["reports"]), (sum(r["lost"] for r in got), len(got)), f"{where}: {more} the sum")
            eq(total["ticks"] or 0, sum(r["ticks"] or 0 for r in got), f"{where}: {more} ticks of the sum")


@test("one malformed report counts as a loss: zeros, an earlier timestamp, random words; in all formats")
def _(m):
    for name, (s, args) in streams().items():
        path = m.write(name, s.data)
        spoil(m, name, s, args, replay(path, *args, err=None))


@test("one malformed report: no percentage of any set exceeds 100")
def _(m):
    s, _args = streams()["frames"]
    k = 70
    path = m.write("f.rec", s.spoiled(k, bytes(s.size)))
    seen = 0
    for name, node in sets_of(xml_of("sklgt2")).items():
        percents = {c.get("symbol_name") for c in node.iter("counter") if c.get("units") == "percent"}
        args = ["-m", name, "--metrics", xml_of("sklgt2")]
        want = replay(os.path.join(HERE, "frames.rec"), *args)
        got = replay(path, *args, code=1, err=None)
        eq([{**r, "lost": 0} for r in got], [r for r in want if r["index"] not in (k - 1, k)], name)
        for r in [*got, *replay(path, *args, "20ms", code=1, err=None)]:
            for c in percents & r["counter"].keys():
                seen += 1
                check(0 <= float(r["counter"][c]) < 100.001, f"{name}: {c} of {r['index']} is {r['counter'][c]}")
    check(seen > 10000, f"{seen} percentages")


@test("malformed: bytes changed at random", True)
def _(m):
    """Checks that the run ends, without a signal, and prints only valid JSON."""
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
        r = machine.run(["oa", "--replay", path, *args, "-o", "json"], timeout=60)
        check(r.code in (0, 1), f"turned over {i}: {r!r}")
        for line in r.out.splitlines():
            machine.strict(line)


@test("files that are not recordings are refused")
def _(m):
    text = m.write("text", "nothing of the kind\n" * 100)
    zeros = m.write("zeros", bytes(5000))
    r = machine.run(["oa", "--replay", text, "-o", "json"], timeout=60)
    check(r.code == 1 and text.encode() in r.err, f"text: {r!r}")
    r = machine.run(["oa", "--replay", zeros, "-o", "json"], timeout=60)
    check(r.code == 1 and zeros.encode() in r.err, f"zeros: {r!r}")
    for path in (m.path("missing"), m.base):
        r = machine.run(["oa", "--replay", path, "-o", "json"], timeout=60)
        check(r.code == 1 and path.encode() in r.err and r.err.count(b"\n") == 1, f"{path}: {r!r}")
    r = machine.run(["oa", "--replay", given("tgl_ctx").path, "--metrics", m.path("missing.xml")])
    check(r.code in (1, 2) and b"missing.xml" in r.err, f"a missing metric file: {r!r}")
    r = machine.run(["oa", "--replay", given("tgl_ctx").path, "--metrics", text])
    check(r.code in (1, 2) and text.encode() in r.err, f"a text file in place of a metric file: {r!r}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_oa_broken.py PROG")
    sys.exit(main(sys.argv[1]))
