#!/usr/bin/env python3
# t_list.py PROG - gpustat list: a block of at most 80 columns per device, and the fields in it.
# Runs on all trees, and on file trees made by tests/machine.py. Prints TAP; exit 0 if all tests
# pass.
# SPDX-License-Identifier: MIT
import os
import re
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import TREES, Skip, check, dump, eq, printable  # noqa: E402

TESTS = []


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def trees():
    for t in sorted(os.listdir(TREES)):
        if os.path.isdir(os.path.join(TREES, t, "sys")):
            yield t, ["--proc", os.path.join(TREES, t, "proc"), "--sys", os.path.join(TREES, t, "sys")]


def blocks(text):
    """Parses blocks: for each device its title, and a dict of its rows; the lines of a row are joined."""
    got = []
    for block in text.rstrip("\n").split("\n\n"):
        first, *lines = block.split("\n")
        rows, label = {}, None
        for line in lines:
            m = re.fullmatch(r"(?:  (\S.*?) +(?=\S)| {18})(.*)", line[:18] + line[18:])
            check(m and line[17] == " " and line[18] != " ", f"not a row: {line!r}")
            label = line[:18].strip() or label
            check(label and (label not in rows or not line[:18].strip()), f"twice: {line!r}")
            rows[label] = (rows[label] + " " if label in rows else "") + line[18:]
        got.append((first, rows))
    return got


def has_blocks():
    if machine.run(["list", "-o", "block", "--help"]).code:
        raise Skip(tap.left_out(machine.PROG) or "the feature block was left out")


def listed(m, *args):
    r = m.run("list", *args)
    eq((r.code, r.err), (0, b""), f"{r!r}")
    return blocks(printable(r.out))


@test("all trees: at most 80 columns; device, name, driver, address, state and nodes equal those of json")
def _(_m):
    has_blocks()
    for tree, roots in trees():
        r = machine.run(["list", *roots])
        recs = machine.parse_json(machine.run(["list", *roots, "-o", "json"]).out)
        if r.code == 3:
            eq(recs, [], tree)
            continue
        text = printable(r.out)
        check(max(map(len, text.split("\n"))) <= 80, f"{tree}: too wide")
        got = blocks(text)
        eq([t for t, _ in got], [x["dev"] + (f"  {x['name']}" if x["name"] else "") for x in recs], f"{tree}: titles")
        for (_title, rows), rec in zip(got, recs):
            for label, key in (("driver", "driver"), ("address", "pdev"), ("state", "state")):
                eq(rows.get(label), rec[key], f"{tree}: {label}")
            eq(rows.get("nodes", ""), ", ".join(rec["nodes"]), f"{tree}: nodes")
            for label, key in (("engines", "engine"), ("memory", "memory"), ("clocks", "freq"), ("temp", "temp"), ("power limit", "power_limit")):
                names = [x.split()[0] for x in re.split("[;,] ", rows.get(label, ""))] if label in rows else []
                known = [k for k, v in rec.get(key, {}).items() if key != "temp" or v is not None]
                eq([x for x in names if x in known], known, f"{tree}: {label}")
                check(set(names) - set(known) <= {"cur", "act", "target", "min", "max", "boost", "rp0", "rp1", "rpa", "rpe", "rpn", "cap", "crit",
                      "default", "rated", "total", "shared", "resident", "purgeable", "active", "capacity", "avg", "maxfreq", "curfreq"},
                      f"{tree}: {label}: {names}")
            for name, why in rec["missing"].items():
                check(re.search(rf"(^|[,; ]){name}[,:]", rows["not available"]) and why in rows["not available"], f"{tree}: {name}: {why}")


@test("-o line, -f, -H and -1: one line per device")
def _(m):
    m.device("i915", machine.I915)
    m.device("xe", machine.XE, 1, 129)
    for args, lines in ((["-o", "line"], 3), (["-H"], 2), (["-f", "dev,driver"], 3), (["-1"], 1), (["-o", "line", "-H"], 2), (["-f", "dev", "-H"], 2)):
        eq(len(m.run("list", *args).out.splitlines()), lines, f"{args}")
    eq(m.run("list", "-f", "dev,driver").out, b"dev   driver\ncard0 i915\ncard1 xe\n", "-f")
    for fmt in ("json", "csv"):
        check(m.run("list", "-o", fmt).out.startswith(b'{"schema"' if fmt == "json" else b"time,dt"), fmt)


@test("unknown, zero and default values are not printed")
def _(m):
    has_blocks()
    m.device("i915", machine.I915)
    m.fd(10, 5, dump("i915", 7, "drm-engine-render:\t5 ns", "drm-engine-video:\t5 ns", "drm-engine-capacity-video:\t2", "drm-total-system0:\t8 MiB",
                     "drm-shared-system0:\t0", "drm-resident-system0:\t4 MiB", "drm-total-stolen:\t0", pdev=machine.I915))
    (title, rows), = listed(m)
    eq(title, "card0", "title")
    eq({k: v for k, v in rows.items() if k in ("engines", "memory", "clients", "temp", "dropped", "unreadable", "dt", "time", "kind")},
       {"engines": "render, video capacity 2", "memory": "system0 total 8.0M, resident 4.0M; stolen", "clients": "1"}, "rows")
    eq(listed(m, "-f", "driver,engine", "-o", "block"), [("card0", {"driver": "i915", "engines": rows["engines"]})], "-f with -o block")


@test("long lists are wrapped between items, long items between words; a long word is not divided")
def _(m):
    has_blocks()
    lines = [f"drm-engine-{c * 20}:\t5 ns" for c in "abcdefgh"] + [f"drm-engine-{'x' * 90}:\t5 ns"]
    m.device("i915", machine.I915)
    m.fd(10, 5, dump("i915", 7, *lines, pdev=machine.I915))
    r = m.run("list")
    wide = [x for x in r.out.decode().split("\n") if len(x) > 80]
    eq([x.strip() for x in wide], ["x" * 90], "lines over 80 columns")
    eq(sorted(blocks(r.out.decode())[0][1]["engines"].split(", ")), sorted([c * 20 for c in "abcdefgh"] + ["x" * 90]), "engines")
    for x in r.out.decode().split("\n"):
        check(not x.endswith(" "), f"a blank at the end: {x!r}")


@test("hostile names and texts are printed without control characters, and do not add rows")
def _(m):
    has_blocks()
    for i, name in enumerate((b"a\x1b[31mb", b"\xff\xfe", "é中".encode() * 9, b"a, b; c", b"x" * 200)):
        m.device("i915", f"0000:{i:02x}:00.0", i, 128 + i, files={"product_name": name + b"\n", "hwmon/hwmon0/temp1_input": "5000\n",
                 "hwmon/hwmon0/temp1_label": name + b"\n", "hwmon/hwmon0/name": "i915\n"})
    text = printable(m.run("list").out)
    eq(len(blocks(text)), 5, "blocks")
    eq([unicodedata.category(c) for c in text if unicodedata.category(c) == "Cc" and c != "\n"], [], "control characters")


@test("-o block prints a block for each sample")
def _(m):
    has_blocks()
    m.device("i915", machine.I915)
    r = m.run("-o", "block", "0.02", "2")
    eq([t for t, _ in blocks(printable(r.out))], ["card0", "card0"], "two samples")
    eq(m.run("procs", "-o", "block").code, 2, "only devices")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_list.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
