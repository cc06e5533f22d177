#!/usr/bin/env python3
# t_formats.py PROG - every command in every format on every machine of tests/trees: each record
# must be valid, with all keys of the schema, plausible units, order and alignment, and with the
# same numbers in every format. Also tests the values that tests/trees/README.md lists for each
# machine. Prints TAP; exit 0 if all tests pass. SPDX-License-Identifier: MIT
import json
import os
import re
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import FORMATS, TREES, Skip, check, eq, near, parse_csv, parse_json, parse_logfmt, printable  # noqa: E402

TESTS = []
NAMES = sorted(d for d in os.listdir(TREES) if os.path.isdir(os.path.join(TREES, d, "proc")) and d != "host") \
    if os.path.isdir(TREES) else []  # the tree host has no device

KEYS = {
    "device": "schema kind time dt dev driver pdev name state clients unreadable dropped busy idle engine memory vram "
              "freq temp power energy fan volt throttle link",
    "client": "schema kind time dt dev driver pdev client name pid comm pids cgroup container engine memory other",
    "cgroup": "schema kind time dt dev cgroup container clients engine memory",
    "process": "schema kind time dt dev driver pid comm cmdline user uid cpu rss clients pids cgroup container engine memory",
    "fdinfo": "schema kind file driver pdev client name engine memory other skipped",
}
RATES = {"busy", "util", "freq"}
RAW = {"busy_ns", "cycles", "total_cycles", "capacity", "maxfreq", "curfreq"}
REGION = {"total", "shared", "resident", "purgeable", "active"}

COMMANDS = [("", []), ("procs", ["procs"]), ("clients", ["clients"]), ("cgroups", ["cgroups"]), ("list", ["list"]), ("-r", ["-r"]),
            ("clients -r", ["clients", "-r"]), ("procs -r", ["procs", "-r"]), ("cgroups -r", ["cgroups", "-r"]), ("0.01 2", ["0.01", "2"])]


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def roots(tree):
    return ["--proc", os.path.join(TREES, tree, "proc"), "--sys", os.path.join(TREES, tree, "sys")]


def run(tree, args, fmt, *more):
    timing = [] if {"list", "-r", "0.01"} & set(args) else ["-w", "0.01"]
    r = machine.run([*args, *timing, "-o", fmt, *more, *roots(tree)])
    eq((r.code, r.err), (0, b""), f"{fmt}: exit code, messages")
    return r.out


def number(v, what, low=0, high=None, integer=False):
    ok = isinstance(v, int if integer else (int, float)) and not isinstance(v, bool)
    check(ok and low <= v and (high is None or v <= high), f"{what}: {v!r}")


def maybe(v, *args, **kw):
    if v is not None:
        number(v, *args, **kw)


# --- the schema -----------------------------------------------------------------------------------

def check_engines(rec, raw):
    for name, e in rec["engine"].items():
        what = f"engine {name}"
        check(isinstance(name, str) and name and isinstance(e, dict), what)
        maybe(e.get("capacity"), f"{what}: capacity", 1, 64, True)
        for k in ("busy", "util"):
            maybe(e.get(k), f"{what}: {k}", 0, 100)
        maybe(e.get("freq"), f"{what}: freq", 0, 10**10)
        for k in RAW & set(e):
            maybe(e[k], f"{what}: {k}", 0, 2**64 - 1, True)
        if raw:
            # amdgpu before 5.19 has only busy
            wrong = {k for k in RATES & set(e) if e[k] is not None} - {"busy"}
            check(not wrong, f"{what}: rates under -r: {wrong}")
        else:
            check(not {"busy_ns", "cycles", "total_cycles"} & set(e), f"{what}: counters without -r")
            check("busy" in e, f"{what} has no busy")


def check_memory(rec):
    for name, e in rec["memory"].items():
        for k in REGION & set(e):
            maybe(e[k], f"region {name}: {k}", 0, 2**64 - 1, True)
        if e.get("resident") is not None and e.get("total") is not None and rec["kind"] == "client":
            maybe(e["resident"], f"region {name}: resident", 0, 2**50)


def check_device(d):
    maybe(d["busy"], "busy", 0, 100)
    maybe(d["idle"], "idle", 0, 100)
    maybe(d["clients"], "clients", 0, 1000, True)
    number(d["unreadable"], "unreadable", 0, 1000, True)
    number(d["dropped"], "dropped", 0, 0, True)
    check(d["state"] is None or re.fullmatch(r"[a-z]+", d["state"]), f"state {d['state']!r}")
    check({"total", "used"} <= set(d["vram"]), f"vram {d['vram']}")
    for k in ("total", "used"):
        maybe(d["vram"][k], f"vram {k}", 0, 2**44, True)
    for name, f in d["freq"].items():
        for k, v in f.items():
            # 0 if suspended; otherwise a plausible frequency in Hz, not a wrong unit
            check(v is None or v == 0 or 10**6 <= v <= 10**10, f"freq {name} {k}: {v}")
    for group, low, high in (("temp", -60, 150), ("power", 0, 2000), ("energy", 0, 10**12), ("fan", 0, 30000),
                             ("volt", 0, 60)):
        check(isinstance(d[group], dict), f"{group} {d[group]!r}")
        for name, v in d[group].items():
            maybe(v, f"{group} {name}", low, high)
    check(d["throttle"] is None or all(isinstance(x, str) for x in d["throttle"]), f"throttle {d['throttle']!r}")
    check({"speed", "width"} <= set(d["link"]), f"link {d['link']}")
    check(d["link"]["speed"] in (None, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0), f"link speed {d['link']['speed']}")
    check(d["link"]["width"] in (None, 1, 2, 4, 8, 12, 16, 32), f"link width {d['link']['width']}")


def check_client(c):
    check(c["pids"] == sorted(set(c["pids"])), f"pids {c['pids']}")
    check(c["pid"] is None or c["pid"] in c["pids"], f"pid {c['pid']} of {c['pids']}")
    maybe(c["client"], "client", 0, 2**64 - 1, True)
    check(all(isinstance(v, str) for v in c["other"].values()), f"other {c['other']}")
    for k in ("comm", "cgroup", "container", "name"):
        check(c[k] is None or isinstance(c[k], str), f"{k} {c[k]!r}")


def check_record(rec, kind, raw, still):
    eq((rec["schema"], rec["kind"]), (1, kind), "schema, kind")
    missing = set(KEYS[kind].split()) - set(rec)
    check(not missing, f"keys that are missing: {sorted(missing)}")
    if kind == "fdinfo":
        number(rec["skipped"], "skipped", 0, 100, True)
    else:
        number(rec["time"], "time", 1.5e9, 1e11)
        if still:
            eq(rec["dt"], None, "dt")
        else:
            maybe(rec["dt"], "dt", 0, 5)  # the interval after a late sample may be short
        check(isinstance(rec["dev"], str) and rec["dev"], "dev")
    if "pdev" in rec:
        check(rec["pdev"] is None or re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", rec["pdev"]),
              f"pdev {rec['pdev']!r}")
    check_engines(rec, raw)
    check_memory(rec)
    if kind == "device":
        check_device(rec)
    elif kind == "client":
        check_client(rec)
    elif kind == "process":
        check(rec["pids"] == sorted(set(rec["pids"])) and rec["pid"] in rec["pids"], f"pids {rec['pids']}")
        number(rec["clients"], "clients", 1, 1000, True)
        maybe(rec["cpu"], "cpu", 0, 1e5)
        maybe(rec["rss"], "rss", 0, 2**50, True)
    elif kind == "cgroup":
        number(rec["clients"], "clients", 1, 1000, True)


def device_rank(dev):
    for i, lead in enumerate(("card", "renderD", "accel")):
        if dev.startswith(lead) and dev[len(lead):].isdigit():
            return i, int(dev[len(lead):])
    return 9, 0


def check_order(recs, kind):
    ranks = [device_rank(r["dev"]) for r in recs]
    eq(ranks, sorted(ranks), "order of the devices")
    if kind == "client":
        ids = [(device_rank(r["dev"]), r["client"]) for r in recs if r["client"] is not None]
        eq(ids, sorted(ids), "order of the clients")
    who = [(r["dev"], r.get("client"), r.get("cgroup") if kind == "cgroup" else r.get("pid")) for r in recs]
    eq(len(set(who)), len(who), "records, each once")


# --- the formats agree ----------------------------------------------------------------------------

def exact(out):
    """Parses JSON with numbers kept as text."""
    return [json.loads(line, parse_int=lambda s: ("n", s), parse_float=lambda s: ("n", s)) for line in out.splitlines()]


def numbers(rec):
    """All numbers in the record's groups: (group, instance, member) -> text."""
    got = {}
    for group, v in rec.items():
        if not isinstance(v, dict):
            continue
        for k, w in v.items():
            if isinstance(w, dict):
                got.update({(group, k, m): x[1] for m, x in w.items() if isinstance(x, tuple)})
            elif isinstance(w, tuple):
                got[group, k, None] = w[1]
    return got


def as_cell(v):
    return "" if v is None else v[1] if isinstance(v, tuple) else v


def check_columns(tree, args, recs):
    """Checks that with -f, csv and plain have a column for each number of each group, with its exact value."""
    groups = sorted({g for r in recs for g, v in r.items() if isinstance(v, dict) and g != "other"})
    for fmt, sep, unknown in (("csv", ",", ""), ("plain", " ", "-")):
        rows = [line.split(sep) for line in printable(run(tree, args, fmt, "-f", ",".join(["dev", *groups]))).splitlines()]
        for rec, row in zip(recs, rows[1:], strict=True):
            want = {".".join(filter(None, k)): v for k, v in numbers(rec).items() if k[0] != "other"}
            got = dict(zip(rows[0], row, strict=True))
            eq(got.pop("dev"), rec["dev"], f"{fmt}: dev")
            eq({k: v for k, v in got.items() if v not in (unknown, "none")}, want, f"{fmt}: columns of {groups}")


def check_csv(recs, out):
    cells = {}
    for r in parse_csv(out) if recs else []:
        key = tuple(r[k] for k in ("dev", "client", "pid", "cgroup"))
        cells.setdefault(key, {})[r["field"], r["instance"]] = r["value"]
    eq(len(cells), len(recs), "records in CSV")
    for rec in recs:
        mine = cells.get(tuple(as_cell(rec.get(k)) for k in ("dev", "client", "pid", "cgroup")))
        check(mine is not None, f"no rows of {rec['dev']} {rec.get('client')} {rec.get('cgroup')}")
        for (group, inst, member), text in numbers(rec).items():
            at = [(f"{group}.{member}", inst)] if member else [(group, inst), (f"{group}.{inst}", "")]
            got = [mine[x] for x in at if x in mine]
            eq(got, [text], f"CSV {group} {inst} {member}")


def check_logfmt(recs, out):
    got = parse_logfmt(out)
    eq(len(got), len(recs), "records in logfmt")
    for rec, line in zip(recs, got):
        eq(line["kind"], rec["kind"], "kind")
        for path, text in numbers(rec).items():
            key = re.sub(r"[^A-Za-z0-9_.]", "_", ".".join(p for p in path if p))
            eq(line.get(key), text, f"logfmt {key}")


# --- line and table -------------------------------------------------------------------------------

def check_aligned(heading, rows, what):
    """Checks that the cells of each column are aligned with the left or the right end of its title."""
    titles = [(m.start(), m.end()) for m in re.finditer(r"\S+", heading)]
    for i, (s, e) in enumerate(titles):
        if i + 1 == len(titles):
            rows = [r for r in rows if len(r) > s]  # the last column may be empty
        name = heading[s:e].lower() in ("comm", "command")  # a name may begin with a blank
        left = all((name or r[s:s + 1].strip()) and (s == 0 or r[s - 1] == " ") for r in rows)
        right = all(r[e - 1:e].strip() and r[e:e + 1] in ("", " ") for r in rows)
        check(left or right, f"{what}: {heading[s:e]} is not aligned:\n{heading}\n" + "\n".join(rows[:3]))


def check_line(tree, args, recs, out):
    lines = printable(out).split("\n")[:-1]
    if not recs:
        return
    eq(len(lines), len(recs) + 1, "lines")
    check(lines[0] == lines[0].upper(), f"header {lines[0]!r}")
    check_aligned(lines[0], lines[1:], "line")
    check(all(line == line.rstrip() for line in lines), "blanks at the end of a line")


def check_table(args, recs, out):
    text = printable(out)
    if not recs:
        return
    for sample in text.split("\n\n"):
        lines = sample.rstrip("\n").split("\n")
        # a table with groups has two rows of titles; the lower row names all columns
        n = len(recs) if "0.01" not in args else len(recs) // 2
        check(len(lines) - n in (1, 2), f"{len(lines)} lines for {n} records")
        check_aligned(lines[-n - 1], lines[-n:], "table")


def combination(tree, label, args):
    def body(m):
        out = run(tree, args, "json")
        recs = parse_json(out)
        kind = "client" if "clients" in args else "process" if "procs" in args else "cgroup" if "cgroups" in args else "device"
        raw, still = "-r" in args, "-r" in args or "list" in args
        for rec in recs:
            check_record(rec, kind, raw, still)
        if "0.01" in args:
            half = len(recs) // 2
            eq([r["dev"] for r in recs[:half]], [r["dev"] for r in recs[half:]], "devices of two samples")
            check_order(recs[:half], kind)
        else:
            check_order(recs, kind)
        texts = exact(out) if raw else []
        c, lf = run(tree, args, "csv"), run(tree, args, "logfmt")
        if recs:
            parse_csv(c)
        parse_logfmt(lf)
        printable(c)
        printable(lf)
        if raw:
            check_csv(texts, c)
            check_logfmt(texts, lf)
            if recs:
                check_columns(tree, args, texts)
        check_line(tree, args, recs, run(tree, args, "line"))
        check_table(args, recs, run(tree, args, "table"))
        for fmt in FORMATS:
            check(b"\x1b" not in run(tree, args, fmt, "-t", "iso"), f"an escape in {fmt}")
    return body


def dumps_of(tree):
    proc = os.path.join(TREES, tree, "proc")
    for pid in sorted(os.listdir(proc)):
        d = os.path.join(proc, pid, "fdinfo")
        for fd in sorted(os.listdir(d)) if os.path.isdir(d) else []:
            with open(os.path.join(d, fd), "rb") as f:
                if re.search(rb"^(drm-driver|vram mem):", f.read(), re.M):
                    yield os.path.join(d, fd)


def all_dumps(tree):
    def body(m):
        files = list(dumps_of(tree))
        r = {}
        for fmt in FORMATS:
            r[fmt] = machine.run(["fdinfo", "-o", fmt, *files])
            eq((r[fmt].code, r[fmt].err), (0, b""), f"{fmt}: exit code, messages")
        recs = parse_json(r["json"].out)
        eq([x["file"] for x in recs], files, "files")
        for rec in recs:
            check_record(rec, "fdinfo", True, True)
        parse_csv(r["csv"].out)
        check_logfmt(exact(r["json"].out), r["logfmt"].out)
        for fmt in ("line", "table"):
            check(len(printable(r[fmt].out).splitlines()) > len(files), f"lines of {fmt}")
    return body


# --- the values that tests/trees/README.md lists --------------------------------------------------

def devices(tree, *args):
    return {d["dev"]: d for d in parse_json(run(tree, list(args), "json"))}


def has(d, group, *values):
    got = sorted(v for v in d[group].values() if v is not None)
    for v in values:
        check(any(abs(x - v) < 1e-6 for x in got), f"{group}: {v} is not among {d[group]}")


def clock(d, *mhz):
    got = {v for f in d["freq"].values() for v in f.values()}
    for f in mhz:
        check(f * 10**6 in got, f"freq: {f} MHz is not among {d['freq']}")


def unknown(d):
    for group in ("freq", "temp", "power", "energy", "fan", "volt"):
        eq([x for v in d[group].values() for x in (v.values() if isinstance(v, dict) else [v]) if x is not None], [],
           f"{group} of {d['dev']}")
    eq(d["busy"], None, "busy")


def clients(tree, *args):
    recs = parse_json(run(tree, ["clients", "-r", *args], "json"))
    return {(c["dev"], c["client"] if c["client"] is not None else f"pid {c['pid']}"): c for c in recs}


@test("values of README.md: amdgpu")
def _(m):
    d = devices("amdgpu")["card0"]
    eq((d["driver"], d["pdev"], d["state"], d["clients"]), ("amdgpu", "0000:03:00.0", "active", 5), "head")
    near(d["busy"], 37, 0, "busy")
    eq(d["vram"], {"total": 25753026560, "used": 3221225472}, "vram")
    eq([d["temp"].get(k) for k in ("edge", "junction", "mem")], [52.0, 67.0, 70.0], "temp")
    has(d, "power", 112)
    has(d, "fan", 1480)
    near(d["volt"]["vddgfx"], 0.912, 1e-9, "vddgfx")
    clock(d, 2124, 1249, 45)
    eq((d["link"]["speed"], d["link"]["width"]), (16.0, 16), "link")
    eq(d["throttle"], ["ppt0"], "throttle")
    c = clients("amdgpu")["card0", 143]
    eq((c["comm"], {k: v["busy_ns"] for k, v in c["engine"].items()}, c["memory"]["vram"]["resident"]),
       ("firefox", {"gfx": 19291217545, "dma": 1203344, "dec": 88012345, "enc_1": 5123, "jpeg": 771}, 512 << 20), "143")


@test("values of README.md: amdgpu-apu")
def _(m):
    d = devices("amdgpu-apu")["card0"]
    near(d["busy"], 22, 0, "busy")
    near(d["temp"]["edge"], 46, 0, "temp")
    has(d, "power", 12)
    eq(d["fan"], {}, "fan")
    eq((d["volt"]["vddgfx"], d["volt"]["vddnb"]), (0.737, 0.712), "volt")
    c = clients("amdgpu-apu")["card0", 57]
    eq((c["memory"]["gtt"]["resident"], c["memory"]["vram"]["resident"]), (1400 << 20, 5 << 20), "client 57")


@test("values of README.md: amdgpu-legacy")
def _(m):
    d = devices("amdgpu-legacy")["card0"]
    near(d["busy"], 24, 0, "busy")
    near(d["temp"]["edge"], 55, 0, "temp")
    has(d, "power", 41.234)
    has(d, "fan", 982)
    clock(d, 1168)


@test("values of README.md: i915")
def _(m):
    d = devices("i915")["card0"]
    eq((d["driver"], d["pdev"], d["clients"], d["throttle"]), ("i915", "0000:00:02.0", 6, ["pl1"]), "head")
    clock(d, 350, 1400)
    check(b"350MHz" in run("i915", [], "line").split(), "the clock in a line")
    eq((d["link"]["speed"], d["link"]["width"]), (None, None), "link")
    c = clients("i915")
    eq({k[1]: v["pid"] for k, v in c.items() if k[1] in (7, 217, 301, 302)}, {7: 2301, 217: 3012, 301: 2999, 302: 3900},
       "owners")
    eq((c["card0", 7]["pids"], c["card0", 217]["pids"]), ([1, 812, 2301], [3012, 3101]), "holders")
    eq(c["card0", 301]["memory"]["system0"]["total"], 5000, "system0 of 301")
    eq(c["card0", 7]["engine"]["video"]["capacity"], 2, "capacity")


@test("values of README.md: i915-dgpu")
def _(m):
    d = devices("i915-dgpu")["card0"]
    has(d, "temp", 47)
    has(d, "volt", 0.812)
    has(d, "energy", 4123.456789)
    has(d, "fan", 812)
    clock(d, 1900)
    eq(d["clients"], 3, "clients")
    c = clients("i915-dgpu")
    eq(c["card0", 5]["pid"], 1310, "owner of 5")
    eq((c["card0", 33]["engine"]["compute"]["busy_ns"], c["card0", 33]["engine"]["compute"]["capacity"],
        c["card0", 33]["memory"]["local0"]["resident"]), (98765432101234, 4, 5396348 << 10), "client 33")


@test("values of README.md: i915-old")
def _(m):
    d = devices("i915-old")["card0"]
    clock(d, 600, 1200)
    eq((d["link"]["speed"], d["link"]["width"], d["engine"]), (None, None, {}), "link, engines")
    check(d["clients"] in (None, 0), f"clients {d['clients']}")


@test("values of README.md: xe")
def _(m):
    d = devices("xe")["card0"]
    clock(d, 2450, 0)
    check({"pl1", "thermal"} <= set(d["throttle"]), f"throttle {d['throttle']}")
    eq((d["temp"]["pkg"], d["temp"]["vram"]), (61.0, 72.0), "temp")
    has(d, "volt", 0.845)
    eq((d["energy"]["card"], d["energy"]["pkg"]), (812345.678901, 512345.678901), "energy")
    has(d, "fan", 1210, 1198)
    eq(d["clients"], 5, "clients")
    c = clients("xe")["card0", 24]
    eq((c["comm"], c["engine"]["ccs"]["cycles"], c["engine"]["ccs"]["total_cycles"], c["memory"]["vram0"]["resident"],
        c["engine"]["vcs"]["capacity"], c["engine"]["vecs"]["capacity"]),
       ("ollama", 712345678901, 1896043218105, 7168 << 20, 2, 2), "client 24")
    check(all(e.get("busy_ns") is None for e in c["engine"].values()), "busy_ns without a source")


@test("values of README.md: xe-suspended")
def _(m):
    d = devices("xe-suspended")["card0"]
    eq(d["state"], "suspended", "state")
    unknown(d)
    out = b"".join(run("xe-suspended", a, "json") for a in ([], ["list"], ["-r"]))
    check(not re.search(rb"\b(1111000000|2222000000|99\.0|9999\.999999|777)\b", out), f"a file that must not be read was read: {out[-600:]!r}")


@test("values of README.md: msm, panfrost, panthor, lima")
def _(m):
    d = devices("msm")["card0"]
    eq((d["driver"], d["pdev"], d["clients"]), ("msm_dpu", None, 2), "msm")
    clock(d, 450, 812)
    has(d, "temp", 48.3, 47.9)
    e = clients("msm")["card0", 7]["engine"]["gpu"]
    eq((e["busy_ns"], e["cycles"], e["maxfreq"]), (1734371319, 1153645024, 812000000), "client 7 of msm")
    d = devices("panfrost")
    eq((d["card0"]["driver"], d["card1"]["driver"]), ("rockchip-drm", "panfrost"), "panfrost")
    clock(d["card1"], 200)
    has(d["card1"], "temp", 43.333)
    check(all(e["busy"] is None for e in d["card1"]["engine"].values()), "0 % where profiling is off")
    check(b"profiling" in run("panfrost", ["list"], "line"), "list does not say that profiling is off")
    c = clients("panfrost")["card1", 3]
    eq((c["engine"]["fragment"]["maxfreq"], c["engine"]["fragment"]["curfreq"], c["memory"]["memory"]["active"],
        c["memory"]["memory"]["purgeable"]), (799999987, 199999997, 0, 0), "client 3 of panfrost")
    d = devices("panthor")["card1"]
    clock(d, 700)
    has(d, "temp", 50.8)
    c = clients("panthor")["card1", 10]
    eq((c["engine"]["panthor"]["busy_ns"], c["engine"]["panthor"]["cycles"], c["other"]["panthor-resident-memory"]),
       (111110952750, 94439687187, "10396 KiB"), "client 10 of panthor")
    d = devices("lima")
    eq((d["card0"]["driver"], d["card1"]["driver"], d["card1"]["engine"]), ("sun4i-drm", "lima", {}), "lima")
    clock(d["card1"], 312)
    has(d["card1"], "temp", 50.1, 49.7)


@test("values of README.md: v3d, etnaviv")
def _(m):
    d = devices("v3d")
    eq((d["card0"]["driver"], d["card1"]["driver"], d["card0"]["clients"]), ("v3d", "vc4-drm", 2), "v3d")
    eq(d["card1"]["state"], "unsupported", "state of vc4")
    c = clients("v3d")["card0", 81]
    eq((c["engine"]["bin"]["busy_ns"], c["engine"]["render"]["busy_ns"]), (4916187, 154563573), "client 81")
    check(any(k.startswith("v3d-jobs-") for k in c["other"]), "the jobs of v3d under `other`")
    d = devices("etnaviv")
    eq((d["card0"]["driver"], d["card1"]["driver"], d["card0"]["clients"], d["card0"]["engine"]),
       ("etnaviv", "imx-drm", 2, {}), "etnaviv")
    eq(d["card0"]["temp"], {}, "temperature of the core, which has no sensor")
    c = clients("etnaviv")["card0", 9]
    eq((c["memory"]["memory"]["total"], c["memory"]["memory"]["shared"]), (24836 << 10, 8100 << 10), "client 9")


@test("values of README.md: the NPUs intel_vpu and amdxdna")
def _(m):
    d = devices("intel_vpu")["accel0"]
    eq((d["driver"], d["pdev"], d["clients"], d["engine"]), ("intel_vpu", "0000:00:0b.0", 2, {}), "intel_vpu")
    clock(d, 950, 1400)
    eq(sorted(k[1] for k in clients("intel_vpu")), [31, 34], "clients")
    check("301989888" in json.dumps(d), f"memory {d['memory']}")
    d = devices("amdxdna")["accel0"]
    eq((d["driver"], d["pdev"], d["clients"]), ("amdxdna", "0000:c5:00.1", 3), "amdxdna")
    c = clients("amdxdna")["accel0", 3219]
    eq((c["memory"]["memory"]["total"], c["other"]["amdxdna_accel_driver-heap-alloc"]), (67632 << 10, "60 KiB"), "3219")


@test("values of README.md: nouveau, nvidia, jetson, rockchip")
def _(m):
    d = devices("nouveau")["card0"]
    has(d, "temp", 41)
    has(d, "fan", 1110)
    has(d, "power", 31.25)
    has(d, "volt", 0.912)
    eq((d["busy"], d["engine"]), (None, {}), "busy, engines of nouveau")
    d, = devices("nvidia").values()
    eq((d["driver"], d["pdev"], d["state"], d["name"]), ("nvidia", "0000:01:00.0", "active", "NVIDIA GeForce RTX 3070"),
       "nvidia")
    eq((d["link"]["speed"], d["link"]["width"], d["busy"], d["temp"], d["memory"]), (8.0, 16, None, {}, {}), "nvidia")
    eq(sorted(c["pid"] for c in clients("nvidia").values()), [1220, 3310], "clients of nvidia")
    d, = devices("jetson").values()
    near(d["busy"], 47.3, 1e-9, "busy of jetson")
    clock(d, 612)
    has(d, "temp", 46.531)  # the sensor ina3221 does not belong to the GPU
    d = devices("rockchip")
    eq((d["card0"]["driver"], d["card1"]["driver"]), ("rockchip-drm", "RKNPU"), "rockchip")
    mali, = (x for x in d.values() if x["driver"] == "mali")
    near(mali["busy"], 37, 0, "busy of mali")
    clock(mali, 800)
    text = json.dumps(d["card1"])
    check("12.0" in text and "7.0" in text, f"load of the NPU's cores: {text[-400:]}")


@test("values of README.md: containers")
def _(m):
    c = {x["pid"]: x for x in clients("containers").values()}
    eq(len(c), 18, "clients")
    hexes = {4201: "a1b2c3d4e5f6", 4301: "001122334455", 4451: "deadbeef0123", 4101: "3f4e1b0c9d8a",
             4102: "3f4e1b0c9d8a"}
    for pid, lead in hexes.items():
        check((c[pid]["container"] or "").startswith(lead), f"container of {pid}: {c[pid]['container']!r}")
    eq((c[4401]["container"], c[4501]["container"]), ("media1", None), "containers of 4401, 4501")
    check("\\x2d" in c[4501]["cgroup"], f"cgroup of 4501: {c[4501]['cgroup']}")
    eq([c[p]["comm"] for p in (4600, 4601, 4602, 4605, 4606, 4607)],
       ["two words", "a) S 1 (b", "new\nline", "q\"uo,te\\'s", "100%s%n;$(id)", " lead trail "], "comm")


@test("values of README.md: mixed")
def _(m):
    d = devices("mixed")
    eq([(k, v["driver"], v["pdev"], v["state"]) for k, v in d.items()][:3],
       [("card0", "i915", "0000:00:02.0", "active"), ("card1", "amdgpu", "0000:01:00.0", "suspended"),
        ("accel0", "intel_vpu", "0000:00:0b.0", "active")], "devices")
    last = list(d.values())[3]
    eq((last["driver"], last["pdev"]), ("nvidia", "0000:02:00.0"), "nvidia")
    unknown(d["card1"])
    got = set(clients("mixed"))
    check({("card0", 3), ("card0", 19), ("card0", 24), ("accel0", 23)} <= got, f"clients {got}")


@test("in an unchanged tree every rate is 0 or unknown")
def _(m):
    for tree in NAMES:
        for rec in parse_json(run(tree, ["clients"], "json")):
            for name, e in rec["engine"].items():
                # amdgpu before 5.19 prints percentages itself
                check(e["busy"] in (None, 0) or tree == "amdgpu-legacy", f"{tree}: {name} {e['busy']}")


def main(prog):
    for tree in NAMES:
        for label, args in COMMANDS:
            body = combination(tree, label, args)
            if not {"-r", "list"} & set(args):  # commands that take two readings
                machine.live(body)
            TESTS.append((f"{tree}: gpustat {label}".rstrip(), body, False))
        if any(dumps_of(tree)):
            TESTS.append((f"{tree}: gpustat fdinfo", all_dumps(tree), False))
    if not NAMES:
        def missing(m):
            raise Skip("no tests/trees")
        TESTS[:] = [("each format on each captured machine", missing, False)]
    return machine.main(prog, TESTS)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_formats.py PROG")
    sys.exit(main(sys.argv[1]))
