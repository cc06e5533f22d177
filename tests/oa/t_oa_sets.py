#!/usr/bin/env python3
# t_oa_sets.py PROG - tests the metric sets of `gpustat oa`: sets are found by name or guid in XML
# files, packs and the built-in sets; lists show the sets and counters; -f selects counters. Prints
# TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import os
import random
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, eq, near, printable  # noqa: E402
from oalib import (GIVEN, given, good, main, make, number, replay, same_text, sets_of,  # noqa: E402
                   test, xml_files, xml_of)
from recording import record, records  # noqa: E402


# --- metric sets ----------------------------------------------------------------------------------

@test("-m: finds a set by its name, by its guid, and in several files")
def _(_m):
    g = given("tgl_ctx")
    sets = sets_of(xml_of("tglgt2"))
    other = next(s for s in sets if s not in ("RenderBasic", "ComputeBasic") and len(sets[s].findall("counter")) > 10)
    guid = sets[other].get("hw_config_guid")
    want = replay(g.path, "-m", other, metrics=xml_of("tglgt2"))
    eq({r["set"] for r in want}, {other}, "set")
    eq(replay(g.path, "-m", guid, metrics=xml_of("tglgt2")), want, "set found by its guid")
    eq(replay(g.path, "--metric-set", other, "--metrics", xml_of("sklgt2"), "--metrics", xml_of("tglgt2")), want,
       "set found in the second file")
    check(want[0]["counter"].keys() != replay(g.path, metrics=xml_of("tglgt2"))[0]["counter"].keys(), "other counters")
    for args in (["--replay", g.path, "-m", "NoSuchSet", "--metrics", xml_of("tglgt2")], ["list", "NoSuchSet"]):
        r = machine.run(["oa", *args])
        check((r.code, r.out) == (2, b"") and b"unknown metric set 'NoSuchSet'" in r.err and b"oa-*.xml of IGT GPU Tools" in r.err,
              f"no such set: {r!r}")
    # without a file the built-in sets are used
    recs = replay(g.path, "-m", "Basic")
    check({r["set"] for r in recs} == {"Basic"} and len(recs) == 59 and recs[0]["counter"], "Basic")
    near(recs[0]["counter"]["GpuTime"], float(recs[0]["dt"]) * 1e9, 1000, "GpuTime of Basic")


@test("-f: accepts names of counters, counter.NAME and counter; an unknown name is a usage error")
def _(m):
    g = given("tgl_ctx")
    base = ["oa", "--replay", g.path, "--metrics", xml_of("tglgt2"), "-o", "csv", "-H", "-f"]
    a, b = (machine.run([*base, f]) for f in ("index,EuActive,GpuTime", "index,counter.EuActive,counter.GpuTime"))
    eq((a.code, a.err, b.code, b.out), (0, b"", 0, a.out), "output with NAME and with counter.NAME")
    eq(len(a.out.splitlines()), 59, "rows")
    r = machine.run([*base, "index,NoSuchCounter"])
    check(r.code == 2 and b"NoSuchCounter" in r.err, f"no such counter: {r!r}")
    # CSV has a column for each counter, also of the set with the most counters
    most = max(sets_of(xml_of("xe-bmg")).values(), key=lambda e: len(list(e.iter("counter")))).get("symbol_name")
    g = make(m, "xe-bmg", "--reports", 4)
    recs = replay(g.path, "-m", most, metrics=xml_of("xe-bmg"))
    r = machine.run(["oa", "--replay", g.path, "-m", most, "--metrics", xml_of("xe-bmg"), "-o", "csv", "-f",
                   "index,counter"])
    eq(r.out.decode().splitlines()[0].count(","), len(recs[0]["counter"]), f"columns of {most}")
    r = machine.run([*base, "A7,B0,ts,index", "--raw"])
    check(r.code == 0 and len(r.out.splitlines()) >= 59 and r.out.splitlines()[0].count(b",") == 3, f"--raw: {r!r}")


@test("unusual metric files: sets without a guid, counters with equal names, no counter, and very many counters")
def _(m):
    data, _want, g = good()
    del data

    def write(name, counters, more='hw_config_guid="%s"' % ("1" * 8 + "-2222-3333-4444-" + "5" * 12)):
        text = "".join(f'<counter symbol_name="{n}" data_type="{t}" units="u" equation="{e}"/>' for n, t, e in counters)
        return m.write(name, f'<metrics><set symbol_name="RenderBasic" chipset="TGLGT2" {more}>{text}</set></metrics>')
    r = machine.run(["oa", "--replay", g.path, "-m", "NoSuchSet", "--metrics", write("a.xml", [("X", "uint64", "1")], "")])
    eq((r.code, r.out), (2, b""), "an empty guid must not select a set without a guid")
    path = write("b.xml", [("X", "uint64", "A 1 READ"), ("X", "float", "1"), ("Y", "uint64", "$X")])
    recs = replay(g.path, metrics=path, err=b"gpustat: a counter of the metric set is invalid and left out: X: a duplicate name\n")
    eq({(len(r["counter"]), r["counter"]["X"] == r["counter"]["Y"]) for r in recs}, {(2, True)}, "value of the first counter with the name")
    path = write("c.xml", [(f"C{i}", "uint64", str(i)) for i in range(256)])
    for fmt, cut in (("csv", ","), ("line", None)):
        r = machine.run(["oa", "--replay", g.path, "--metrics", path, "--totals", "-o", fmt, "-f", "index,counter"])
        head, row = (line.split(cut) for line in printable(r.out).splitlines())
        eq((len(head), row), (257, [str(i) for i in (0, *range(256))]), f"256 counters in {fmt}")
    r = machine.run(["oa", "--replay", g.path, "--metrics", write("d.xml", []), "--totals", "-o", "csv", "-f", "counter"])
    eq((r.code, r.out), (0, b'counter\n""\n'), "a set without counters")


@test("float counters are printed as by %f, also above 2^64")
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
            steps[-1][0] = 2 * rng.randrange(1 << 20) + 1  # divided by 2 * 10^6 it is half way between two printed numbers
        value = [(v + s) & (1 << 64) - 1 for v, s in zip(value, steps[-1])]
    recs = replay(m.write("f.rec", b"".join(head[:3] + head[-2:] + reports)), metrics=path)
    eq(len(recs), 2000, "deltas")
    for r, (a, b) in zip(recs, steps):
        f, g = float(a), float(b)
        want = [f / g if g else 0.0, f / 2000000, f / 3, f * g, (0.0 - f) / 4000000, f * 2.0 ** (63 * 14)]
        for i, w in enumerate(want):
            same_text(r["counter"][f"E{i}"], "%f" % w, f"{r['index']}: {equations[i]}")
        check(r["counter"]["E6"] is None or a == 0, f"infinity: {r['counter']['E6']}")


@test("the sums of a metric set are computed from sums of its raw counters")
def _(m):
    """Checks that equations are evaluated with sums, and not summed over reports."""
    g = make(m, "tglgt2", "--wrap32", "--wrap40")
    raw, = replay(g.path, "--raw", "--totals")
    got, = replay(g.path, "--totals", metrics=xml_of("tglgt2"))
    eq(got["counter"]["VsThreads"], raw["counter"]["A1"], "VsThreads is A1")
    eq(got["counter"]["GpuCoreClocks"], raw["ticks"], "GpuCoreClocks")
    span = sum(b["dts"] for _k, _a, b, _l in g.truth.deltas())
    eq(got["counter"]["GpuTime"], span * 10**9 // 19200000, "GpuTime")
    eq({k: got[k] for k in ("ts", "cpu_time", "ticks", "lost", "reports", "dt")},
       {k: raw[k] for k in ("ts", "cpu_time", "ticks", "lost", "reports", "dt")}, "the rest")


@test("pack: a pack of one file, and of all files, has the same sets and values", True)
def _(m):
    pack = m.path("all.pack")
    files = list(xml_files().values())
    r = machine.run(["oa", "pack", *files, "-O", pack], timeout=60)
    eq((r.code, r.out), (0, b""), f"pack ({r!r})")
    check(os.path.getsize(pack) < 2 << 20, f"{os.path.getsize(pack)} bytes")
    for name, platform in GIVEN.items():
        g = given(name)
        eq(replay(g.path, metrics=pack), replay(g.path, metrics=xml_of(platform)), f"{name} with the pack of all files")
    again = m.path("again.pack")
    r = machine.run(["oa", "pack", *files, "-O", again], timeout=60)
    with open(pack, "rb") as f, open(again, "rb") as h:
        eq(f.read() == h.read(), True, "packing twice gives the same bytes")


@test("pack: a message describes the fault of an invalid file")
def _(m):
    xml = xml_of("hsw")
    r = machine.run(["oa", "pack", xml])
    eq((r.code, r.out), (2, b""), f"no -O ({r!r})")
    r = machine.run(["oa", "pack", "-O", m.path("x")])
    eq((r.code, os.path.exists(m.path("x"))), (2, False), f"no file ({r!r})")
    r = machine.run(["oa", "pack", m.path("missing.xml"), "-O", m.path("x")])
    check(r.code == 1 and b"missing.xml" in r.err, f"missing: {r!r}")
    text = m.write("text.xml", "this is no XML\n")
    r = machine.run(["oa", "pack", text, "-O", m.path("x")])
    check(r.code == 1 and text.encode() in r.err, f"no XML: {r!r}")
    with open(xml, "rb") as f:
        half = m.write("half.xml", f.read()[:30000])
    r = machine.run(["oa", "pack", half, "-O", m.path("half.pack")], timeout=60)
    check(r.code in (0, 1), f"half a file: {r!r}")
    r = machine.run(["oa", "pack", xml, "-O", m.path("no", "such", "x")])
    check(r.code == 1 and b"no/such/x" in r.err, f"a folder that does not exist: {r!r}")
    good_ = m.path("good.pack")
    eq(machine.run(["oa", "pack", xml, "-O", good_]).code, 0, "a valid pack")
    with open(good_, "rb") as f:
        pack = f.read()
    g = given("hsw_basic")
    rng = random.Random(3)
    for n in [0, 1, 4, 8, 16, 64] + [rng.randrange(len(pack)) for _i in range(20)]:
        r = machine.run(["oa", "--replay", g.path, "--metrics", m.write("cut.pack", pack[:n]), "-o", "json"], timeout=60)
        check(r.code in (0, 1, 2), f"a pack of {n} bytes: {r!r}")
        b = bytearray(pack)
        b[n] ^= 1 + rng.randrange(255)
        r = machine.run(["oa", "--replay", g.path, "--metrics", m.write("bent.pack", bytes(b)), "-o", "json"], timeout=60)
        check(r.code in (0, 1, 2), f"a pack with byte {n} changed: {r!r}")


def program_copy(folder):
    """Copies the program to a new folder, where gpu.pack can be beside it. Returns its path."""
    os.makedirs(folder)
    return shutil.copy(machine.PROG, os.path.join(folder, "gpustat"))


def run(*args):
    return subprocess.run(args, capture_output=True, timeout=60, check=False)


def pack_of(path, platform):
    eq(machine.run(["oa", "pack", xml_of(platform), "-O", path]).code, 0, "a pack")
    os.chmod(path, 0o644)
    with open(path, "rb") as f:
        return f.read()


def other_set(platform):
    """Returns a set that is not built in."""
    return next(s for s in sets_of(xml_of(platform)) if s not in ("RenderBasic", "ComputeBasic"))


# Packs that must not be used, because others can write them, or because they are invalid:
# (description, bytes or None, mode).
def hostile_packs(good_):
    yield "others can write it", good_, 0o666
    yield "its group can write it", good_, 0o664
    yield "cut", good_[:len(good_) // 2], 0o644
    yield "a text", b"no pack\n", 0o644
    yield "empty", b"", 0o644
    yield "a FIFO", None, 0o644


def place(path, data, mode):
    if os.path.lexists(path):
        os.unlink(path)
    if data is None:
        os.mkfifo(path)
    else:
        with open(path, "wb") as f:
            f.write(data)
    os.chmod(path, mode)


@test("gpu.pack beside the program: its sets are used, unless other users can write the file")
@machine.live
def _(m):
    machine.built_in("oa")
    prog, other = program_copy(m.path("bin")), other_set("tglgt2")
    path = os.path.join(os.path.dirname(prog), "gpu.pack")
    args = [prog, "oa", "list", "--platform", "tglgt2"]
    without = run(*args)
    eq((without.returncode, without.stderr), (0, b""), "without a pack")
    check(b"built-in" in without.stdout and other.encode() not in without.stdout, f"without a pack: {without.stdout!r}")
    good_ = pack_of(path, "tglgt2")
    r = run(*args)
    eq((r.returncode, r.stderr), (0, b""), "with a pack")
    eq({line.split()[0] for line in printable(r.stdout).splitlines() if line.endswith(path)},
       set(sets_of(xml_of("tglgt2"))), "names of the sets of the pack")
    check(r.stdout.endswith(without.stdout), "the built-in sets are listed after them")
    g = given("tgl_ctx")
    r = run(prog, "oa", "--replay", g.path, "-m", other, "-o", "json")
    eq((r.returncode, r.stderr), (0, b""), "a recording with a set of the pack")
    eq(r.stdout, machine.run(["oa", "--replay", g.path, "-m", other, "--metrics", xml_of("tglgt2"), "-o", "json"]).out,
       "values with the pack and with the XML file")
    r = run(*args, "--metrics", xml_of("tglgt2"))
    check(r.returncode == 0 and xml_of("tglgt2").encode() in r.stdout.splitlines()[0], f"--metrics comes first: {r!r}")
    os.rename(path, path + ".moved")
    os.symlink(path + ".moved", path)
    check(other.encode() in run(*args).stdout, "a link to a pack")
    for what, data, mode in hostile_packs(good_):
        place(path, data, mode)
        r = run(*args)
        check((r.returncode, r.stdout, r.stderr.count(b"\n")) == (0, without.stdout, 1) and path.encode() in r.stderr, f"{what}: {r!r}")
    if os.geteuid() == 0:
        place(path, good_, 0o644)
        os.chown(path, 1, -1)
        r = run(*args)
        check(r.returncode == 0 and r.stdout == without.stdout and b"not used" in r.stderr, f"a pack of another user: {r!r}")
        os.chown(prog, 1, -1)
        check(other.encode() in run(*args).stdout, "a pack of the owner of the program")


@test("gpu.pack in /usr/share/gpustat: its sets are used, unless other users can write the file")
@machine.live
def _(m):
    machine.built_in("oa")
    if os.geteuid() != 0:
        raise Skip("needs root, for chroot")
    root, g, other = m.path("root"), given("tgl_ctx"), other_set("tglgt2")
    program_copy(root)
    os.makedirs(os.path.join(root, "usr/share/gpustat"))
    path = os.path.join(root, "usr/share/gpustat/gpu.pack")
    shutil.copy(g.path, os.path.join(root, "a.rec"))
    args = ["chroot", root, "/gpustat", "oa", "--replay", "/a.rec", "-o", "json", "-m"]
    r = run(*args, other)
    check(r.returncode == 2 and b"unknown metric set" in r.stderr, f"without a pack: {r!r}")
    built_in = run(*args, "RenderBasic")
    eq((built_in.returncode, built_in.stderr), (0, b""), "a built-in set without a pack")
    good_ = pack_of(path, "tglgt2")
    r = run(*args, other)
    eq((r.returncode, r.stderr), (0, b""), "with a pack")
    eq(r.stdout, machine.run(["oa", "--replay", g.path, "-m", other, "--metrics", xml_of("tglgt2"), "-o", "json"]).out,
       "values with the pack and with the XML file")
    for what, data, mode in hostile_packs(good_):
        place(path, data, mode)
        r = run(*args, "RenderBasic")
        check((r.returncode, r.stdout, r.stderr.count(b"\n")) == (0, built_in.stdout, 1) and b"/usr/share/gpustat/gpu.pack" in r.stderr,
              f"{what}: {r!r}")


@test("list: shows the sets of a platform, and the counters of each")
def _(m):
    for platform in ("sklgt2", "tglgt2", "xe-lnl", "hsw"):
        path = xml_of(platform)
        sets = sets_of(path)
        r = m.run("oa", "list", "--metrics", path, "--platform", platform)
        eq((r.code, r.err), (0, b""), f"{platform}: exit code, messages")
        lines = [line.split() for line in printable(r.out).splitlines()]
        rows = {w[0]: w for w in reversed(lines)}  # sets of files are listed before built-in ones
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
                    check(w and c.get("data_type") in w and c.get("units").split()[0] in " ".join(w) and
                          " ".join(w).endswith(" " + " ".join(c.get("description").split())),
                          f"{platform}: {c.get('symbol_name')}: {w}")
                    if c.get("max_equation") == "100":
                        check(any(number(x) == 100 for x in w[1:] if re.fullmatch(r"[0-9.]+", x)), f"max of {w}")
        pack = m.path(platform + ".pack")
        pack_of(pack, platform)
        eq(m.run("oa", "list", "RenderBasic", "--metrics", pack, "--platform", platform).out, r.out, f"{platform}: list of a pack")
    r = m.run("oa", "list", "RenderBasic", "--platform", "tglgt2")
    check(b"GpuTime  " in r.out and b"elapsed" not in r.out, f"a built-in set has no descriptions: {r!r}")
    r = m.run("oa", "list", "NoSuchSet", "--metrics", xml_of("hsw"))
    check(r.code in (1, 2) and b"NoSuchSet" in r.err, f"no such set: {r!r}")
    # Without a GPU the sets of all platforms are listed; with --platform only those of this platform.
    r = m.run("oa", "list", "--metrics", xml_of("hsw"), "--metrics", xml_of("tglgt2"))
    eq(r.code, 0, f"two files ({r!r})")
    check(os.path.basename(xml_of("hsw")).encode() in r.out and os.path.basename(xml_of("tglgt2")).encode() in r.out,
          f"two files: {r!r}")
    r = m.run("oa", "list", "--metrics", xml_of("hsw"), "--metrics", xml_of("tglgt2"), "--platform", "hsw")
    check(b"oa-tglgt2.xml" not in r.out and b"oa-hsw.xml" in r.out, f"--platform hsw: {r!r}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_oa_sets.py PROG")
    sys.exit(main(sys.argv[1]))
