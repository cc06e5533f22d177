#!/usr/bin/env python3
# t_dumps.py PROG - fdinfo dumps: those of tests/drm/dumps.py are compared with their hand-written
# values, those of tests/trees with the second decoder, fdinfo_eval.py, and each file of the
# collection of real dumps in ../shared with its expected values. Prints TAP.
# SPDX-License-Identifier: MIT
import glob
import os
import re
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import fdinfo_eval  # noqa: E402
import machine  # noqa: E402
from dumps import DUMPS as BY_HAND  # noqa: E402
from machine import (DUMPS, Skip, TESTS, TREES, check, decode, dump, eq, near, ns, parse_json, raw,  # noqa: E402
                     run, test, val)


RAW_KEYS = {"ns": "busy_ns", "cyc": "cycles", "total": "total_cycles", "cap": "capacity", "maxf": "maxfreq",
            "curf": "curfreq"}


def readings():
    """Returns expected values by file, from the "right reading" lists in the dumps' README.md. The
    value is None for a file that is not a DRM file."""
    out, name = {}, None
    with open(os.path.join(DUMPS, "README.md"), encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("## "):
                name = line[3:].strip()
                out[name] = {"engine": {}, "memory": {}, "other": {}, "skipped": 0, "head": {}}
            elif name and line.startswith("  - "):
                item = line[4:]
                want = out[name]
                if item.startswith("not a DRM"):
                    out[name] = None
                elif m := re.match(r"engine ([^:]+): (.*)", item):
                    if not m.group(2).startswith("("):
                        want["engine"][m.group(1)] = dict(x.split("=") for x in m.group(2).split())
                elif m := re.match(r"mem ([^:]+): (.*)", item):
                    want["memory"][m.group(1)] = dict(x.split("=") for x in m.group(2).split())
                elif m := re.match(r"driver-specific/other: (.*)", item):
                    want["other"] = dict(x.split("=", 1) for x in m.group(1).split("; "))
                elif item.startswith("malformed lines"):
                    want["skipped"] = len(item.split(": ", 1)[1].split(" | "))
                elif item.startswith("driver="):
                    want["head"] = dict(x.split("=", 1) for x in item.split())
    return out


def compare_dump(name):
    def body(m):
        want = readings().get(name, "?")
        check(want != "?", "README.md does not list it")
        path = os.path.join(DUMPS, name)
        r = run(["fdinfo", "-o", "json", path])
        if want is None:
            eq((r.code, r.out), (1, b""), f"no DRM file ({r!r})")
            check(b"not the fdinfo of a DRM file" in r.err, f"message {r.err!r}")
            return
        eq(r.code, 0, f"exit code ({r!r})")
        got, = parse_json(r.out)
        for k in ("driver", "pdev", "client", "name"):
            w = want["head"].get(k)
            w = None if w in (None, "None") else int(w) if k == "client" else w
            eq(got[k], w, k)
        engines = set(got["engine"])
        check(set(want["engine"]) <= engines, f"engines {sorted(engines)}, want {sorted(want['engine'])}")
        for e in engines - set(want["engine"]):
            nums = {k: v for k, v in got["engine"][e].items() if k != "capacity" and v is not None}
            eq(nums, {}, f"values of engine {e}, for which none are expected")
        for e, vals in want["engine"].items():
            w = {RAW_KEYS[k]: int(v.removesuffix("Hz")) for k, v in vals.items()}
            w["capacity"] = max(w.get("capacity", 1), 1)
            g = {k: v for k, v in got["engine"][e].items() if v is not None}
            g.setdefault("capacity", 1)
            eq(g, w, f"engine {e}")
        eq(set(got["memory"]), set(want["memory"]), "regions")
        for reg, vals in want["memory"].items():
            w = {k: int(v) for k, v in vals.items()}
            alias = w.pop("memory", None)
            if alias is not None:
                w.setdefault("resident", alias)
            eq({k: v for k, v in got["memory"][reg].items() if v is not None}, w, f"region {reg}")
        eq(got["other"], want["other"], "other")
        eq(got["skipped"], want["skipped"], "skipped")
    return body


def decoded(text):
    """Returns the values that the program reads, in the form of fdinfo_eval.decode()."""
    r = run(["fdinfo", "-o", "json", "-"], stdin=text)
    eq((r.code, r.err), (0, b""), "exit code, messages")
    got, = parse_json(r.out)
    known = lambda group: {n: {k: v for k, v in x.items() if v is not None} for n, x in got[group].items()}  # noqa: E731
    engine = {n: {"capacity": 1, **x} for n, x in known("engine").items()}
    head = {k: got[k] for k in ("driver", "pdev", "client", "name") if got[k] is not None}
    return {"head": head, "engine": engine, "memory": known("memory"), "other": got["other"], "skipped": got["skipped"]}


def add_by_hand(name, text, want):
    @test(f"dump with hand-written values: {name}")
    def _(_m):
        eq(decoded(text.encode()), want, "the program")
        eq(fdinfo_eval.decode(text), want, "values of the second decoder")


def add_trees():
    """Adds a test for each fdinfo file of a DRM driver in tests/trees."""
    for path in sorted(glob.glob(os.path.join(TREES, "*", "proc", "[0-9]*", "fdinfo", "*"))):
        with open(path, "rb") as f:
            text = f.read()
        if b"drm-driver:" not in text:
            continue
        tree, _proc, pid, _fdinfo, fd = os.path.relpath(path, TREES).split(os.sep)
        add_tree(f"dumps of {tree}: process {pid}, descriptor {fd}", text)


def add_tree(name, text):
    @test(name)
    def _(_m):
        eq(decoded(text), fdinfo_eval.decode(text.decode("utf-8", "surrogateescape")), "the program")


def add_dumps():
    for row in BY_HAND:
        add_by_hand(*row)
    before = len(TESTS)
    add_trees()
    if len(TESTS) < before + 70:
        sys.exit(f"only {len(TESTS) - before} dumps in {TREES}")
    if not os.path.isfile(os.path.join(DUMPS, "README.md")):
        def missing(m):
            raise Skip("no ../shared/fdinfo")
        TESTS.append(("dumps: real ones", missing, False))
        return
    for name in sorted(os.listdir(DUMPS)):
        if name.endswith(".txt"):
            TESTS.append((f"dumps: {name}", compare_dump(name), False))


@test("dumps: standard input is read as the file -")
def _(m):
    r = run(["fdinfo", "-", "-o", "json"], stdin=raw(dump("i915", 7, *ns(render=5))))
    eq(r.code, 0, "exit code")
    rec, = parse_json(r.out)
    eq((rec["client"], rec["file"]), (7, "-"), "client, file")


@test("dumps: amdgpu before Linux 5.19 prints percentages, which are decoded")
def _(m):
    text = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\npdev:\t0000:08:00.0\npasid:\t32784\n" \
           "vram mem:\t2068 kB\ngtt mem:\t8192 kB\ncpu mem:\t0 kB\ngfx0:\t23.5%\ngfx1:\t7.45%\n"
    r = decode(m, text)
    eq((r["driver"], r["pdev"]), ("amdgpu", "0000:08:00.0"), "head")
    eq(val(r, "memory", "vram", "resident"), 2068 << 10, "vram")
    near(val(r, "engine", "gfx0", "busy"), 23.05, 1e-9, "gfx0")
    near(val(r, "engine", "gfx1", "busy"), 7.45, 1e-9, "gfx1")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_dumps.py PROG")
    add_dumps()
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
