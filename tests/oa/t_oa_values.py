#!/usr/bin/env python3
# t_oa_values.py PROG [--bless] - the built-in metric sets of every platform, without any metric
# file: each counter of a generated recording is compared with values.txt. --bless writes that file:
# the values are computed from the public metric files of ../shared/oa by the second evaluator,
# oa_eval.py, and of the program only the list of counters of the set Basic is used. If these files
# exist, the test calculates the values again. Prints TAP. ONLY=TEXT and TIMES=1 are as in
# tests/machine.py.
# SPDX-License-Identifier: MIT
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import oalib  # noqa: E402
import t_oa_replay as by  # noqa: E402
from machine import check, eq  # noqa: E402
from oalib import OWN, Made, main, replay, same_text, sets_of, test, xml_of  # noqa: E402

VALUES = os.path.join(oalib.HERE, "values.txt")
SETS = "RenderBasic", "ComputeBasic", "Basic"
# Arguments of the generator for a recording with three reports.
ARGUMENTS = "--seed 77 --reports 3 --wrap32 --wrap40 --set RenderBasic".split()


def recording(m, platform):
    path = m.path(platform + ".rec")
    subprocess.run([sys.executable, "-B", os.path.join(oalib.HERE, "gen_recording.py"), platform, path, *ARGUMENTS, "--truth",
                    path + ".jsonl"], check=True, timeout=60)
    return Made(path, path + ".jsonl")


def stored():
    """Returns {(platform, set): [values of a delta, in the order of the counters' names]}."""
    rows = {}
    with open(VALUES, encoding="ascii") as f:
        for line in f:
            if line[0] != "#":
                platform, set_, *values = line.split()
                rows.setdefault((platform, set_), []).append(values)
    return rows


def calculated(platform, set_, basic, truth):
    """Returns the values of each delta by the public metric files, in the order of the counters'
    names. basic: the counters of Basic; several sets have their equations."""
    fmt = by.platforms()[platform][8]
    rows = []
    elements = [e for name, e in sets_of(xml_of(platform)).items() if by.fits(e, fmt) and set_ in ("Basic", name)]
    for _k, _a, b, _lost in truth.deltas():
        values = {}
        for e in elements:
            got, unknown = by.calculate(e, by.variables(platform, False), by.slots_of(b, fmt))
            known = {k: f"{v:.6f}" if isinstance(v, float) else str(v) for k, v in got.items() if v is not None}
            # sets of Haswell have the clock in different counters
            differ = [k for k, v in known.items() if values.get(k, v) != v]
            values = {**dict.fromkeys(unknown, "-"), **known, **values, **dict.fromkeys(differ, "-")}
        names = basic if set_ == "Basic" else values
        rows.append([values.get(name, "-") for name in sorted(names)])
    return rows if elements else []


def add(platform):
    @test(f"{platform}: the values of the built-in sets")
    def _(m):
        machine.built_in("oa")
        rows, g = stored(), recording(m, platform)
        mine = [set_ for name, set_ in rows if name == platform]
        check(mine, f"{platform} has values")
        for set_ in mine:
            recs = replay(g.path, "-m", set_)
            eq([(r["index"], r["set"]) for r in recs], [(0, set_), (1, set_)], f"{set_}: records")
            for r, want in zip(recs, rows[platform, set_]):
                eq(len(r["counter"]), len(want), f"{set_}: the number of counters")
                for (name, value), w in zip(sorted(r["counter"].items()), want):
                    if w != "-":
                        same_text(value, w, f"{platform} {set_} {name} of delta {r['index']}")
            if not OWN:
                eq(rows[platform, set_], calculated(platform, set_, recs[0]["counter"], g.truth), f"{platform} {set_}: values.txt")


def bless(prog):
    """Writes values.txt."""
    lines = []
    folder = os.path.join(os.path.dirname(prog), "values")
    os.makedirs(folder, exist_ok=True)
    m = type("M", (), {"path": lambda self, *a: os.path.join(folder, *a)})()
    machine.PROG = prog
    for platform in oalib.platforms():
        g = recording(m, platform)
        for set_ in SETS:
            r = subprocess.run([prog, "oa", "--replay", g.path, "-m", set_, "-o", "json"], capture_output=True, check=False)
            recs = [json.loads(line) for line in r.stdout.splitlines()]
            if r.returncode == 0 and recs and recs[0]["set"] == set_:
                lines += [" ".join([platform, set_, *row]) for row in calculated(platform, set_, recs[0]["counter"], g.truth)]
    with open(VALUES, "w", encoding="ascii") as f:
        f.write("# t_oa_values.py --bless wrote this file: its head tells how. Each line: platform, set, values of a delta\n"
                "# in the order of the counters' names; -: the counter has no known value.\n" + "\n".join(lines) + "\n")


oalib.TESTS.clear()  # removes the tests of t_oa_replay.py
if os.path.exists(VALUES):
    for _name in dict.fromkeys(p for p, _set in stored()):
        add(_name)

if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "--bless":
        sys.exit(bless(os.path.abspath(sys.argv[1])))
    if len(sys.argv) != 2:
        sys.exit("usage: t_oa_values.py PROG [--bless]")
    sys.exit(main(sys.argv[1]))
