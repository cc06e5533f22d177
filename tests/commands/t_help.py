#!/usr/bin/env python3
# t_help.py PROG - --help, `help` and `version`, and the messages about names that are misspelt.
# t_options.c tests the message of each kind of option. Prints TAP.
# SPDX-License-Identifier: MIT
import json
import os
import re
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap  # noqa: E402
import machine  # noqa: E402
from machine import HERE, check, eq, run, test  # noqa: E402

FORMATS = ("line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome perf-csv perf-json "
           "folded perfdata").split()


def commands():
    return tap.commands(machine.PROG)


def text(*args):
    r = run(list(args))
    eq((r.code, r.err), (3 if args[0] == "check" and args[-1] == "--help" else 0, b""), f"{args}")
    return r.out.decode()


def options(command):
    """(letter or "", name, help) of each option in the help of a command."""
    rows = []
    for line in text(command, "--help").splitlines():
        m = re.match(r"(?:-(.),|   ) --([a-z-]+)((?: [A-Z]\S*)?) *(.*)", line)
        if m:
            rows.append([m[1] or "", m[2], m[4]])
        elif rows and line.startswith(" " * 24):
            rows[-1][2] += " " + line.strip()
    return rows


def formats(command):
    return next((h.removeprefix("output format: ").split() for _, name, h in options(command) if name == "format"), [])


def pmus():
    return ["--sys", f"{HERE}/pmus/intel", "--proc", f"{HERE}/trees/mixed/proc"]


@test("help: --help has at most 30 lines of 80 columns: the program's purpose, the commands, the common options")
def _(_m):
    lines = text("--help").splitlines()
    check(len(lines) <= 30, f"{len(lines)} lines")
    check(max(map(len, lines)) <= 80, f"{max(map(len, lines))} columns")
    check(lines[0].startswith("gpustat ") and "GPU" in lines[0], f"{lines[0]!r}")
    check(10 <= sum(x.startswith("-") for x in lines) <= 13, "options")
    check("--help" in lines[-1] and "man gpustat" in lines[-1], f"{lines[-1]!r}")
    check(len(commands()) > 5 and all(text(c, "--help") for c in commands()), "commands")


@test("help: the help of each command has at most 80 columns, and no letter twice")
def _(_m):
    for c in commands():
        said = text(c, "--help")
        check(max(map(len, said.splitlines())) <= 80, f"{c}: {max(said.splitlines(), key=len)!r}")
        check(said.startswith(f"gpustat {c} "), f"{c}: {said[:40]!r}")
        letters = [letter for letter, _, _ in options(c) if letter]
        eq(sorted(letters), sorted(set(letters)), f"letters of {c}")


@test("help: the help of a command does not mention other commands")
def _(_m):
    for c in commands():
        for _, name, help_ in options(c):
            for other in commands():
                check(other == c or not re.search(rf"gpustat {other}\b|\({other}\b|[(,] ?{other}[),:]", help_),
                      f"{c} --{name}: {help_!r} has {other}")


@test("help: a command accepts exactly the formats that its help lists")
@machine.live
def _(_m):
    for c in commands():
        if c in ("oa", "munin", "check", "top", "plot", "sample", "stat", "capture"):
            continue
        listed = formats(c)
        for f in FORMATS:
            short = ["-w", "0.01"] if "window" in [name for _, name, _ in options(c)] else []
            r = run([c, *(["no such counter"] if c == "counters" else []), "-o", f, *short, *pmus()])
            if b"not built in" not in r.err:
                eq(b"this format cannot show these records" not in r.err, f in listed, f"{c} -o {f} ({r.err!r})")
    for c, own in (("stat", "perf-csv"), ("sample", "folded")):
        check(c not in commands() or own in formats(c), f"{c}: no {own} in {formats(c)}")
    check("svg" not in formats("list") and "perf-csv" not in formats("procs"), "the help lists formats that the command refuses")
    for c in commands():
        for _, name, help_ in options(c):
            for f in FORMATS[2:]:
                check(name in ("format", "replay") or f in formats(c) or not re.search(rf"\b{f}\b", help_), f"{c} --{name}: {help_!r} has {f}")


@test("help: `help`, `help COMMAND`, `version` are --help, COMMAND --help, --version")
def _(_m):
    eq(text("help"), text("--help"), "help")
    eq(text("version"), text("--version"), "version")
    for c in commands():
        eq(text("help", c), text(c, "--help"), f"help {c}")
    r = run(["help", "porcs"])
    eq((r.code, r.out, r.err), (2, b"", b"gpustat: 'porcs': not a command or an interval; did you mean 'procs'?\n"), "help porcs")


@test("messages: the error about a misspelt name suggests the nearest name")
def _(_m):
    for args, said in ((["porcs"], "'porcs': not a command or an interval; did you mean 'procs'?"),
                       (["oa", "lits"], "'lits': not an interval, list, pack or stalls; did you mean 'list'?"),
                       (["oa", "xyzzy", "1"], "'xyzzy': not an interval, list, pack or stalls"),
                       (["lst"], "'lst': not a command or an interval; did you mean 'list'?"),
                       (["--devcie", "0"], "unknown option '--devcie'; did you mean '--device'?"),
                       (["--fieldss=dev"], "unknown option '--fieldss=dev'; did you mean '--fields'?"),
                       (["procs", "--srot", "pid"], "unknown option '--srot'; did you mean '--sort'?"),
                       (["-o", "jsno"], "invalid format 'jsno' for --format; did you mean 'json'?"),
                       (["-f", "dev,enigne.render.busy"], "'enigne.render.busy': these records have no such field; did you mean 'engine'?"),
                       (["procs", "-f", "cgruop"], "'cgruop': these records have no such field; did you mean 'cgroup'?"),
                       (["-s", "clinets"], "'clinets': these records have no such field; did you mean 'clients'?"),
                       (["stat", *pmus(), "-e", "page-falts", "true"],
                        "page-falts: no such event; gpustat events lists them; did you mean 'page-faults'?"),
                       (["stat", *pmus(), "-e", "i915/rcs0-bsy/", "true"],
                        'i915/rcs0-bsy/: no event or term "rcs0-bsy"; the i915 PMU has: actual-frequency rc6-residency rcs0-busy rcs0-wait vcs0-busy'),
                       (["stat", *pmus(), "-e", "rcs0-bsy", "true"],
                        "rcs0-bsy: no such event; gpustat events lists them; did you mean 'rcs0-busy'?"),
                       (["stat", *pmus(), "-e", "sched:sched_swich", "true"],
                        "sched:sched_swich: no such tracepoint; gpustat events lists them; did you mean 'sched:sched_switch'?")):
        r = run(args)
        if b"not built in" not in r.err:
            eq((r.code, r.out, r.err.decode()), (2, b"", f"gpustat: {said}\n"), f"{args}")


@test("messages: sample -g before an unknown word names the methods; without a GPU, folder names have single slashes")
def _(m):
    for args in (["-g"], ["--call-graph"]):
        r = run(["sample", *pmus(), *args, "dwarff"])
        if b"not built in" not in r.err:
            eq((r.code, r.err.decode().splitlines()[-1]),
               (127, "gpustat: dwarff: neither a command nor a method of --call-graph; use fp"), f"{args}")
    r = run(["sample", *pmus(), "-g", "--", "dwarff"])
    check(b"method" not in r.err, f"after --: {r!r}")
    r = run(["--proc", f"{m.proc}//", "--sys", f"{m.sys}/"])
    check(r.code == 3 and f"looked in {m.sys}/class/drm, class/accel, {m.proc}/driver/nvidia".encode() in r.err, f"no GPU: {r!r}")


@test("help: no line is repeated or ends with a blank, and a command accepts all options in its help")
def _(_m):
    for c in commands():
        shown = text(c, "--help")
        check(not re.search(r" $", shown, re.M), f"{c}: a blank at the end of a line")
        helps = [h for letter, name, h in options(c) if h]
        texts = [h for h in helps if not h.startswith("same as -")]
        eq(sorted(set(texts)), sorted(texts), f"{c}: the same help text twice")
        by_letter = {letter: h for letter, name, h in options(c)}
        for h in helps:
            alias = re.fullmatch(r"same as -(\w): (.*)", h)
            check(not alias or by_letter[alias[1]] == alias[2], f"{c}: the text of another option: {h}")
            check(alias or not re.fullmatch(r"same as -\w", h), f"{c}: does not say what the option does: {h}")
        check("INTERVAL" in shown.splitlines()[0] or "INTERVAL" not in "".join(helps), f"{c}: takes no INTERVAL")
    check("append" not in text("plot", "--help"), "the help of plot must not say that it appends")


@test("messages: a name that resembles no known name gets no suggestion")
def _(_m):
    for args in (["xyzzy"], ["--xyzzy"], ["-o", "xyzzy"], ["-f", "xyzzy"], ["list", "--xyzzy"], ["x" * 40], ["--" + "x" * 300],
                 ["-f", "\x1b[31m" * 9]):
        r = run(args)
        check(r.code == 2 and b"did you mean" not in r.err and b"\x1b" not in r.err, f"{args}: {r!r}")


@test("messages: a refused value is printed with the accepted values")
def _(_m):
    for args, said in ((["-p", "abc"], "invalid PID 'abc' for --pid: use 12 or 12,345"),
                       (["-i", "5x"], "invalid time '5x' for --interval: use 100ms, 1, 1.5s, 1m"),
                       (["-c", "0"], "invalid number '0' for --count: use 1 or more"),
                       (["--sweep", "x"], "invalid value 'x' for --sweep: use 0 (no search), N or all"),
                       (["stat", "--control", "x", "true"], "invalid value 'x' for --control: use fd:N[,M] or fifo:PATH[,ACK]"),
                       (["oa", "list", "-o", "csv"], "this format cannot show these records; use line json"),
                       (["oa", "pack", "-j"], "oa pack writes a file: it has no format"),
                       (["-t", "noon"], "invalid value 'noon' for --time: use none, epoch, iso or mono"),
                       (["list", "-o", "svg"], "this format cannot show these records; use " + " ".join(formats("list")))):
        r = run(args)
        if b"not built in" not in r.err:
            eq((r.code, r.out, r.err.decode()), (2, b"", f"gpustat: {said}\n"), f"{args}")


@test("events: an unknown name is an error, and the nearest name is suggested")
def _(_m):
    for name, said in (("nosuch", "no event matches 'nosuch'"), ("nosuch*", "no event matches 'nosuch*'"),
                       ("page-falts", "no event matches 'page-falts'; did you mean 'page-faults'?"),
                       ("i915/rcs0-bsy/", "no event matches 'i915/rcs0-bsy/'; did you mean 'i915/rcs0-busy/'?")):
        for more in ([], ["-o", "json"]):
            r = run(["events", *pmus(), name, *more])
            eq((r.code, r.out, r.err.decode()), (1, b"", f"gpustat: {said}\n"), f"{name} {more}")


@test("events: -o json has an object per event: name, unit, description, PMU")
def _(_m):
    r = run(["events", *pmus(), "-o", "json"])
    eq((r.code, r.err), (0, b""), "run")
    recs = [json.loads(line) for line in r.out.decode().splitlines()]
    names = [line.split()[0] for line in run(["events", *pmus()]).out.decode().splitlines()]
    eq([x["name"].split()[0] for x in recs], names, "events of json and of the list")
    for x in recs:
        eq(list(x), ["schema", "kind", "name", "unit", "description", "pmu"], "keys")
        eq((x["schema"], x["kind"]), (1, "event_name"), "schema, kind")
    by = {x["name"]: x for x in recs}
    eq([by["i915/rc6-residency/"][k] for k in ("unit", "description", "pmu")], ["ns", "config=0x100003", "i915"], "an event of a PMU")
    eq([by["page-faults"][k] for k in ("unit", "description", "pmu")], [None, "software event", "software"], "a software event")
    eq([by["cycles"][k] for k in ("unit", "description", "pmu")], [None, "hardware event", None], "a hardware event")
    eq([by["sched:sched_switch"][k] for k in ("unit", "description", "pmu")], [None, None, "tracepoint"], "a tracepoint")
    for args in (["--resolve", "cycles"], ["--map"]):
        r = run(["events", "-o", "json", *args, *pmus()])
        eq((r.code, r.err), (2, b"gpustat: --map and --resolve exclude -o json\n"), f"{args}")


@test("oa list: -j has an object per metric set and per counter, with the texts of the lines; empty ones are null")
def _(_m):
    roots = ["--proc", f"{HERE}/trees/panthor/proc", "--sys", f"{HERE}/trees/panthor/sys"]
    for args, width, kind, keys in ((["list"], 6, "oa_set", ["name", "chipset", "counters", "format", "guid", "kernel_id", "source"]),
                                    (["list", "Basic", "--platform", "hsw"], 3, "oa_counter", ["name", "type", "max", "unit", "description"])):
        r = run(["oa", *args, *roots])
        if b"not built in" in r.err:
            continue
        lines = r.out.decode().splitlines()
        recs = [json.loads(line) for line in run(["oa", *args, *roots, "-j"]).out.decode().splitlines()]
        check(len(lines) > 10 and len(lines) == len(recs), f"one record for each line: {len(lines)}, {len(recs)}")
        for line, x in zip(lines, recs):
            eq(list(x), ["schema", "kind", *keys], "keys")
            eq((x["schema"], x["kind"]), (1, kind), "schema, kind")
            values = [x[k] for k in keys if k != "kernel_id"]
            eq(["-" if v is None else str(v) for v in values][:width], line.split()[:width], "the values of the line")


@test("doctor: the table has all columns even if no record has a remedy")
def _(_m):
    roots = ["--proc", f"{HERE}/trees/panthor/proc", "--sys", f"{HERE}/trees/panthor/sys"]
    for more in ([], ["-f", "source,status,detail,remedy"]):
        head = run(["doctor", "-o", "table", *roots, *more]).out.decode().splitlines()[0]
        eq(head.split(), ["source", "status", "detail", "remedy"], f"columns {more}")
    roots = ["--proc", f"{HERE}/trees/mixed/proc", "--sys", f"{HERE}/trees/mixed/sys"]
    rows = run(["doctor", "-o", "table", *roots]).out.decode().splitlines()
    at = [rows[0].index(w) for w in ("status", "detail", "remedy")]
    check(len(rows) > 10 and all(row[i - 1] == " " != row[i] for row in rows for i in at), "all rows have the columns of the header")
    eq(run(["doctor", *roots]).out.decode().splitlines()[0].split(), ["STATUS", "SOURCE", "DETAIL", "REMEDY"], "columns of line")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_help.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
