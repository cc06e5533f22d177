#!/usr/bin/env python3
# t_options.py PROG - the options of the live commands, and the devices that these options select.
# The machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap  # noqa: E402
import clock  # noqa: E402
import machine  # noqa: E402
from machine import (AMD, FORMATS, I915, Skip, XE, busy, check, dump, eq, near, ns, on_grid,  # noqa: E402
                     one_client, parse_json, rewrite, run, strict, test, three, val, writer)


@test("options: a one-shot run prints one record per device, in order, after one window")
def _(m):
    three(m)
    with m.driven("-w", "0.3", "-o", "json") as p:
        sleeps = p.to_end()
    eq(p.code, 0, f"exit code ({p.err!r})")
    eq([d["dev"] for d in parse_json(p.out)], ["card0", "card1", "accel0"], "devices")
    eq(len(sleeps), 1, "sleeps")
    near((p.now - p.began) / clock.NS, 0.3, 0.001, "duration of the run in seconds")
    for d in parse_json(p.out):
        near(d["dt"], 0.3, 0.001, "dt")
    eq(len(m.run("-H").out.splitlines()), 3, "lines")


@test("options: the words 0.1 5 print five records in half a second")
def _(m):
    one_client(m)
    with m.driven("0.1", "5", "-o", "json") as p:
        p.to_end()
    near((p.now - p.began) / clock.NS, 0.5, 0.001, "duration of the run in seconds")
    eq(len(parse_json(p.out)), 5, "records")
    for args in (["-i", "0.1", "-c", "5"], ["--interval=100ms", "-n5"], ["-i100ms", "--count", "5"]):
        eq(len(parse_json(m.run(*args, "-o", "json").out)), 5, f"records of {args}")


@test("options: -i 1 2: the word 2 is the count")
def _(m):
    one_client(m)
    for args in (["-i", "0.1", "2"], ["2", "-i", "0.1"], ["--interval=0.1", "2"]):
        eq(len(parse_json(m.run(*args, "-o", "json").out)), 2, f"records of {args}")
    eq((m.run("-i", "0.1", "2", "3").code, m.run("-i", "0.1", "1s").code), (2, 2), "exit codes")


@test("options: -j is the same as -o json for each command that has -o")
def _(m):
    three(m)
    for args in (["-r"], ["procs", "-r"], ["cgroups", "-r"], ["list"], ["doctor"], ["host", "-w", "1ms", "-f", "cpu/all/util"],
                 ["counters", "-w", "1ms", "GPU memory usage"], ["stat", "-e", "task-clock", "-w", "1ms"]):
        a, b = (m.run(*args, j) for j in ("-j", "--json"))
        c = m.run(*args, "-o", "json")
        eq((a.code, b.code), (c.code, c.code), f"exit codes of {args}")
        check(all(r["schema"] == 1 for r in parse_json(a.out) + parse_json(b.out)), f"records of {args}")


@test("options: intervals do not drift")
def _(m):
    one_client(m)
    with m.driven("0.05", "200", "-o", "json") as p:
        sleeps = p.to_end(late=lambda k: k % 7 * 0.003)  # a late sample does not delay the next one
    eq(on_grid(sleeps, 0.05), list(range(200)), "samples")
    for a, b in zip(*[iter(parse_json(p.out))] * 2):
        near(b["dt"], b["time"] - a["time"], 0.001, "dt compared with the clock")


@test("options: after a late sample the missed intervals are skipped, and dt is the real interval")
def _(m):
    one_client(m)
    for late, skipped in ((0.05, 0), (0.09, 0), (0.11, 1), (0.73, 4), (0.6, 3), (2, 10)):
        with m.driven("0.2", "6", "-o", "json") as p:
            sleeps = p.to_end(late=lambda k: late if k == 2 else 0)  # noqa: B023
        eq(on_grid(sleeps, 0.2), [0, 1, 2, *range(3 + skipped, 6 + skipped)], f"samples, one {late} s late")
        recs = parse_json(p.out)
        eq(len(recs), 6, "records")
        for a, b in zip(recs, recs[1:]):
            near(b["dt"], b["time"] - a["time"], 0.001, "dt compared with the clock")
        near(recs[2]["dt"], 0.2 + late, 0.001, "dt of the late sample")
        check(all(r["dt"] > 0.099 for r in recs), f"bunched: {[r['dt'] for r in recs]}")


@test("options: -r prints the counters of the kernel after one reading, with dt null")
def _(m):
    three(m)
    with m.driven("-r", "-w", "9", "-o", "json") as r:
        check(not r.sleep(), "it sleeps")
    d = {x["dev"]: x for x in parse_json(r.out)}
    eq(d["card0"]["dt"], None, "dt")
    eq((val(d["card0"], "engine", "render", "busy_ns"), val(d["card0"], "engine", "render", "capacity")), (14, 1), "ns")
    eq([val(d["card1"], "engine", "rcs", k) for k in ("cycles", "total_cycles")], [5, 50], "cycles")
    check("util" not in d["card0"]["engine"]["render"] or d["card0"]["engine"]["render"]["util"] is None, "util")


@test("options: -r with an interval prints the counters of clients, devices and cgroups in each sample")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=1e9), "drm-cycles-render:\t500", pdev=I915))
    more = dump("i915", 7, *ns(render=1.5e9), "drm-cycles-render:\t700", pdev=I915)
    for args in (["clients"], ["cgroups"], []):
        rewrite(f, dump("i915", 7, *ns(render=1e9), "drm-cycles-render:\t500", pdev=I915))
        s = m.live("-r", *args, steps=[None, writer(f, more), None], interval=0.2)
        got = [(val(r[0], "engine", "render", "busy_ns"), val(r[0], "engine", "render", "cycles")) for r in s]
        eq(got, [(10**9, 500), (15 * 10**8, 700), (15 * 10**8, 700)], f"{args}: ns, cycles")


@test("options: -d selects by node, PCI slot, driver and number")
def _(m):
    three(m)
    for sel, want in (("card1", ["card1"]), ("renderD129", ["card1"]), (XE, ["card1"]), ("driver:xe", ["card1"]),
                      ("0", ["card0"]), ("1", ["card1"]), ("2", ["accel0"]), ("accel0", ["accel0"])):
        eq([d["dev"] for d in m.json("-d", sel)], want, f"-d {sel}")
        eq({r["dev"] for r in m.json("clients", "--device", sel)}, set(want), f"clients --device {sel}")
        eq({r["dev"] for r in m.json("cgroups", f"--device={sel}")}, set(want), f"cgroups --device={sel}")
        eq([r["dev"] for r in m.json("list", "-d", sel)], want, f"list -d {sel}")


@test("options: every command that has -d accepts each spelling of a PCI address, a driver and a node")
def _(m):
    three(m)
    m.device("i915", "000f:00:0e.0", card=3, render=131)
    m.fd(31, 9, dump("i915", 31, *ns(render=1e9), pdev="000f:00:0e.0"), link="/dev/dri/renderD131")
    commands = {
        (): "card3", ("procs",): "card3", ("clients",): "card3", ("cgroups",): "card3", ("list",): "card3",
        ("check",): "", ("munin", "config"): "card3", ("oa", "list"): "", ("oa", "-r"): "", ("munin",): "card3",
    }
    for sel in ("000f:00:0e.0", "000F:00:0E.0", "0000000F:00:0E.0", "f:0:e.0", "00:0E.0", "0:e.0", "CARD3", "renderd131"):
        for words, shown in commands.items():
            if words[:1] and words[0] in tap.left_out(machine.PROG):
                continue
            r = m.run(*words, "-d", sel, *(["-w", "1ms"] if not words or words[0][0] in "pc" and words[0] != "check" else []))
            check(b"no such device" not in r.err and b"no device" not in r.err, f"{words} -d {sel}: {r!r}")
            check(shown.encode() in r.out + r.err and b"card1" not in r.out, f"{words} -d {sel}: {r!r}")
        for words in (["stat", "-w", "1ms", "-e", "gpu0/render/"], ["events", "gpu0/"]):
            r = m.run(*words, "--device", sel)
            check(r.code == 0 and b"gpu0/render/" in r.out, f"{words} --device {sel}: {r!r}")
        eq([d["dev"] for d in m.json("--not", sel)], ["card0", "card1", "accel0"], f"--not {sel}")
    eq({d["dev"] for d in m.json("-d", "I915,driver:XE")}, {"card0", "card1", "card3"}, "drivers")
    for sel in ("0:0:c.0", "1000f:00:0e.0", "0e.0", "00:0e", "i91"):
        r = m.run("-d", sel, "-w", "1ms")
        check(r.code == 3 and b"no device matches -d" in r.err, f"-d {sel}: {r!r}")
        if "oa" not in tap.left_out(machine.PROG):
            r = m.run("oa", "list", "-d", sel)
            check(r.code == 3 and b"no device matches -d" in r.err and not r.out, f"oa list -d {sel}: {r!r}")


@test("options: devices are sorted by primary, render and accel node")
def _(m):
    m.device("ivpu", "0000:00:0b.0", card=None, render=None, accel=0)
    m.device("vgem", name="vgem", card=None, render=130)
    m.device("xe", XE, card=10, render=129)
    m.device("i915", I915, card=2, render=131)
    want = ["card2", "card10", "renderD130", "accel0"]
    eq([d["dev"] for d in m.json()], want, "devices")
    for i, dev in enumerate(want):
        eq([d["dev"] for d in m.json("-d", str(i))], [dev], f"-d {i}")


@test("options: --proc and --sys may be relative and have a trailing slash")
def _(m):
    one_client(m)
    r = run(["clients", "-r", "-o", "json", "--proc", "proc/", "--sys=sys"], cwd=m.base)
    eq([x["client"] for x in parse_json(r.out)], [7], "clients")


@test("options: an engine that appears later changes no column of CSV")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    more = dump("amdgpu", 7, *ns(dec=5, gfx=6e8), "drm-total-vram:\t4 KiB", pdev=AMD)
    for args, columns in ((["-o", "csv"], 13), (["-o", "csv", "-f", "dev,engine.busy,memory.total"], 3)):
        rewrite(f, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
        p = subprocess.Popen([machine.PROG, *args, "0.2", "2", *m.roots()], stdout=subprocess.PIPE, bufsize=0)
        first = p.stdout.readline() + p.stdout.readline()
        rewrite(f, more)
        out = first + p.communicate(timeout=60)[0]
        rows = list(csv.reader(io.StringIO(out.decode()), strict=True))
        eq({len(r) for r in rows}, {columns}, "columns")
        eq(out.count(rows[0][0].encode() + b","), 1, "headers")


@test("options: a one-shot run scans /proc once, and opens fdinfo once for both readings")
@machine.live
def _(m):
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    one_client(m)
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-y", "-e", "trace=openat", "-o", log, machine.PROG, "clients", "-w", "0.05", *m.roots()],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if r.returncode != 0:
        raise Skip(f"strace: {r.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    eq(sum("10/fd\"" in x for x in lines), 1, "number of times that fd/ is opened")
    eq(sum("10/fdinfo/5\"" in x for x in lines), 1, "number of times that the fdinfo file is opened")


@test("a device that is bound to another driver gets the name and files of the new driver")
def _(m):
    dev = m.device("i915", I915, files={"tile0/gt0/freq0/act_freq": "300\n"})
    m.device("xe", XE, card=1, render=129)
    for i in range(2):
        m.write(f"{dev}/drm/card0/engine/rcs{i}/class", "0\n")
    m.fd(10, 5, dump("i915", 9, *ns(render=5), pdev=I915))
    nodes = ("card0", "renderD128")

    def unbind():
        for n in nodes:
            os.rename(m.path("sys/class/drm", n), m.path(n))

    def bind():
        rewrite(m.path(dev, "uevent"), f"DRIVER=xe\nPCI_SLOT_NAME={I915}\n")
        for n in nodes:
            os.rename(m.path(n), m.path("sys/class/drm", n))
    s = m.live(steps=[None, unbind, bind, None])
    eq([[r["driver"] for r in x if r["dev"] == "card0"] for x in s], [["i915"], [], ["xe"], ["xe"]], "driver")
    eq(s[3][0]["freq"]["gt0"]["act"], 300000000, "clock, from a file of the new driver")
    eq([x[0]["engine"]["render"]["capacity"] for x in (s[0], s[3])], [2, 1], "capacity of render with the old and the new driver")


R = "v3d's own counter of the whole device"


def v3d_live(m, *args):
    """Takes four samples of a v3d whose counter grows by 1000 ns in each and cannot be read in the
    third. Returns the values."""
    dev = m.device("v3d", files={"gpu_stats": "queue\ttimestamp\tjobs\truntime\nbin\t1\t1\t5000\n"})
    m.fd(10, 5, dump("v3d", 7, *ns(bin=70)))

    def at(ns_):
        return writer(m.path(dev, "gpu_stats"), f"queue\ttimestamp\tjobs\truntime\nbin\t1\t1\t{ns_}\n" if ns_ else "")
    return [x[0]["value"] for x in m.live(*args, steps=[at(6000), at(7000), at(0), at(9000)])]


@test(f"{R}: counters uses it; while it is unknown the value is null, not the sum over clients")
def _(m):
    eq(v3d_live(m, "counters", "drm/card0/bin/busy_time"), [1000, 2000, None, 4000], "busy_time")


@test(f"{R}: while it is unreadable, the value in stat is null, not 0")
def _(m):
    eq(v3d_live(m, "stat", "-e", "gpu0/bin/"), [1000, 1000, None, 2000], "value")


@test("a client whose name is removed has no name afterwards")
def _(m):
    m.device("amdgpu", XE)
    f = m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5), pdev=XE, name="old"))
    s = m.procs(steps=[None, writer(f, dump("amdgpu", 7, *ns(gfx=6), pdev=XE)), None])
    eq([x[7]["name"] for x in s], ["old", None, None], "name")


@test("an unplugged device does not end the run")
def _(m):
    m.device("i915", I915)
    xe = m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("xe", 9, pdev=XE), "/dev/dri/renderD129")

    def unplug():
        for n in ("card1", "renderD129"):
            os.unlink(m.path(f"sys/class/drm/{n}"))
        for n in ("226:1", "226:129"):
            os.unlink(m.path(f"sys/dev/char/{n}"))
        shutil.rmtree(m.path(xe))
    s = m.live(steps=[None, unplug, None])
    eq([x[0]["dev"] for x in s], ["card0"] * 3, "records of the other device")
    check(all(r["state"] != "suspended" for x in s for r in x), "state")


@test("options: -p and -C select clients")
def _(m):
    three(m)
    eq([(r["dev"], r["client"]) for r in m.json("clients")],
       [("card0", 6), ("card0", 7), ("card1", 9), ("accel0", 4)], "all clients, sorted by device, then by client")
    eq([r["client"] for r in m.json("clients", "-p", "20")], [6, 9], "-p 20")
    eq([r["client"] for r in m.json("clients", "-p", "20", "-p", "30")], [6, 9, 4], "-p 20 -p 30")
    eq([r["client"] for r in m.json("clients", "-C", "zeta")], [7], "-C zeta")
    eq([r["client"] for r in m.json("clients", "--comm=beta")], [4], "--comm=beta")
    r = m.run("clients", "-p", "999", "-w", "0.02", "-o", "json")
    eq(r.out, b"", "-p with a PID without clients")


@test("options: -k limits the records of a sample, -s sorts them")
def _(m):
    three(m)
    eq(len(m.json("clients", "-k", "2")), 2, "-k 2")
    eq(len(m.json("-k", "1")), 1, "-k 1")
    eq([r["pid"] for r in m.json("clients", "-s", "pid")], [30, 20, 20, 10], "-s pid")
    eq([r["comm"] for r in m.json("clients", "-s", "comm")], ["alpha", "alpha", "beta", "zeta"], "-s comm")
    most, = m.json("clients", "-s", "memory.resident", "-k", "1", "-d", "card0")
    eq(most["client"], 6, "-s memory.resident")
    eq([len(x) for x in m.live("clients", "-k1", steps=[None, None], interval=0.1)], [1, 1], "-k limits each sample")


@test("options: -1 prints all devices on one line")
def _(m):
    three(m)
    r = m.run("-1", "-H", "0.05", "2")
    lines = r.out.splitlines()
    eq(len(lines), 2, f"lines ({r.out!r})")
    for line in lines:
        for dev in (b"card0", b"card1", b"accel0"):
            check(dev in line, f"{dev} in {line!r}")
    r = m.run("-1", "0.05", "2", "-o", "json")
    for line in r.out.splitlines():
        v = strict(line)
        eq(len(v), 3, f"devices in one line: {line[:90]!r}")


@test("options: -H omits the header")
def _(m):
    three(m)
    for fmt in ("line", "table", "csv"):
        with_, without = (m.run(*h, "-w", "0.02", "-t", "none", "-o", fmt).out for h in ([], ["-H"]))
        check(len(without.splitlines()) < len(with_.splitlines()), f"{fmt}: as many lines")
        check(b"DRIVER" not in without and b"driver,pdev" not in without, f"{fmt}: a header")
    eq(m.run("0.05", "3", "-d", "0").out.count(b"DRIVER"), 1, "headers of a run")


@test("options: -t selects the form of times")
@machine.live
def _(m):
    one_client(m)
    for args, now in (([], time.time), (["-t", "epoch"], time.time), (["-t", "mono"], time.monotonic)):
        before, shown, after = now(), m.json(*args)[0]["time"], now()
        check(before - 1e-6 <= shown <= after, f"{args}: {before} .. {shown} .. {after}")
    eq(m.json("-t", "none")[0]["time"], None, "none")
    iso = m.json("-t", "iso")[0]["time"]
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)", iso), f"iso {iso}")
    check(not re.search(rb"\d\d:\d\d:\d\d", m.run("-t", "none", "-w", "0.02").out), "a time in a line with -t none")
    for fmt in FORMATS:
        for how in ("none", "epoch", "iso", "mono"):
            eq(m.run("-t", how, "-w", "0.01", "-o", fmt).code, 0, f"-t {how} -o {fmt}")


@test("options: -f selects fields, and the columns of CSV; -f help lists them")
def _(m):
    three(m)
    rows = list(csv.reader(io.StringIO(m.run("-f", "dev,clients,driver", "-o", "csv", "-w", "0.02").out.decode())))
    eq(rows, [["dev", "clients", "driver"], ["card0", "2", "i915"], ["card1", "1", "xe"], ["accel0", "1", "intel_vpu"]],
       "rows")
    r = m.run("-f", "help")
    eq(r.code, 0, "exit code of -f help")
    for word in (b"busy", b"memory", b"bytes", b"Hz"):
        check(word in r.out, f"{word} in -f help")
    d = m.json("-f", "dev,clients")[0]
    check({"dev", "clients"} <= set(d) and "memory" not in d, f"keys {sorted(d)}")
    for fmt in FORMATS:
        r = m.run("-f", "dev,clients,engine.busy", "-w", "0.02", "-o", fmt)
        eq(r.code, 0, f"exit code with {fmt}")
        check(b"card0" in r.out, f"{fmt}: {r.out!r}")


@test("options: a field with an instance that no device has: one message with the nearest name, exit 1")
def _(m):
    machine.feature("plain")
    one_client(m)  # i915: render
    for fmt in FORMATS:
        r = m.run("-i", "0.05", "3", "-o", fmt, "-f", "dev,engine.rendre.busy")
        eq((r.code, r.err), (1, b"gpustat: 'engine.rendre.busy': no device has this field; "
                                b"the nearest name is engine.render.busy\n"), f"{fmt}: exit code, messages")
    for field, near in (("engine.Rander", b"engine.render"), ("engine.bsy", b"engine.busy"), ("engine.render.bussy", b"engine.render.busy"),
                        ("engine." + "x" * 40, b"engine.render")):
        r = m.run("procs", "-w", "1ms", "-f", field)
        check(r.code == 1 and r.err.endswith(b"': no record has this field; the nearest name is " + near + b"\n"), f"{field}: {r!r}")
    r = m.run("-r", "-f", "engine.rendre.busy")
    check(r.code == 1 and r.err.endswith(b"; the nearest name is engine.render.busy_ns\n"), f"-r: {r!r}")
    r = m.run("-w", "1ms", "-q", "-f", "engine.rendre.busy")
    eq((r.code, r.err), (1, b""), "-q: exit code, messages")
    for args in (["-f", "engine.render.busy"], ["-f", "engine.busy"], ["-f", "engine"], ["-f", "temp.edge"], ["procs", "-p", "1", "-f", "engine.x"],
                 ["-r", "-f", "engine.busy"], ["-r", "-f", "engine.render.busy"], ["-f", "engine.busy_ns"], ["-r", "-f", "engine.util,dev"]):
        r = m.run("-w", "1ms", *args)
        eq((r.code, r.err), (0, b""), f"{args}: exit code, messages")


@test("options: a field that appears only during the run does not make the run fail")
def _(m):
    machine.feature("plain")
    f = one_client(m)
    more = dump("i915", 7, *ns(render=2e9, video=1e9), pdev=I915)
    with m.driven("0.2", "4", "-f", "dev,engine.video.busy", "-o", "csv") as p:
        p.to_end(late=lambda k: k == 1 and rewrite(f, more) or 0)
    eq((p.code, p.err), (0, b"gpustat: 'engine.video.busy': no device has this field; the nearest name is engine.render.busy\n"),
       "exit code, messages")
    eq(p.out.splitlines()[0], b"dev,engine.video.busy", "header")
    check(p.out.splitlines()[-1] != b"card0,", f"the column is still empty at the end: {p.out!r}")


@test("options: csv and plain report a field that appears after the header once; line prints a new header")
def _(m):
    machine.feature("plain")
    f = one_client(m)
    more = dump("i915", 7, *ns(render=2e9, video=1e9), pdev=I915)
    first = dump("i915", 7, *ns(render=1e9), pdev=I915)
    for fmt, sep in (("csv", b","), ("plain", b" "), ("line", None)):
        rewrite(f, first)
        with m.driven("0.2", "4", "-f", "dev,engine.busy", "-o", fmt) as p:
            p.to_end(late=lambda k: k == 1 and rewrite(f, more) or 0)
        lines = p.out.splitlines()
        eq(p.code, 0, f"{fmt}: exit code")
        if sep:
            eq(p.err, b"gpustat: the header has no column for engine.video.busy; run again to get it\n", f"{fmt}: message")
            eq((lines[0], {line.count(sep) for line in lines}), (sep.join((b"dev", b"engine.render.busy")), {1}), f"{fmt}: columns")
        else:
            eq(p.err, b"", "line: messages")
            eq([line.split() for line in lines if line.startswith(b"dev")],
               [[b"dev", b"engine.render.busy"], [b"dev", b"engine.render.busy", b"engine.video.busy"]], "headers of line")
    r = m.run("-w", "1ms", "-f", "dev,engine.busy", "-o", "csv")
    eq(r.out.splitlines()[0], b"dev,engine.render.busy,engine.video.busy", "header of the next run")


@test("options: -S prints min, avg and max at the end")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))

    def step(v):
        return lambda: rewrite(f, dump("i915", 7, *ns(render=v), pdev=I915))
    s = m.live("-S", steps=[step(3e7), step(1e8), step(1.1e8)])
    recs = [r for x in s for r in x]
    plain, last = recs[:3], recs[3:]
    eq(len(last), 3, f"records after the samples (all: {len(recs)})")
    b = [busy(r, "render") for r in plain]
    got = [busy(r, "render") for r in last]
    near(got[0], min(b), 0.01, "min")
    near(got[1], sum(b) / 3, 0.05, "avg")
    near(got[2], max(b), 0.01, "max")


@test("options: -q suppresses messages, -v prints additional ones")
def _(m):
    r = m.run("-q")
    eq((r.code, r.out, r.err), (3, b"", b""), "-q without a device")
    m.device("i915", I915)
    m.fd(20, 5, dump("i915", 8, pdev=I915))
    for d in ("fd", "fdinfo"):
        os.chmod(m.path(f"proc/20/{d}"), 0)
    r = m.run("-v", "-w", "0.02", nobody=True)
    check(r.code == 0 and b"1" in r.err, f"-v with an unreadable process: {r!r}")
    r = m.run("clients", "-w", "0.02", nobody=True)
    eq((r.code, r.out.count(b"\n") <= 1), (4, True), f"all denied ({r!r})")


@test("options: -h, -V, long forms, combined short ones, attached values, and --")
def _(m):
    three(m)
    for args in (["-h"], ["--help"], ["clients", "-h"]):
        r = m.run(*args)
        eq((r.code, r.err), (0, b""), f"{args}")
        for word in (b"clients", b"--interval", b"--format"):
            check(word in r.out, f"{args}: no {word} in the help")
        for word in (b"cgroups ", b"list ", b"fdinfo "):
            eq(word in r.out, args[0] != "clients", f"{args}: {word} in the help")
        eq(b"--sys" in r.out, args[0] == "clients", f"{args}: the help of a command lists all options, --help only the common ones")
        check(all(len(x) <= 80 for x in r.out.splitlines()), "a long line in the help")
    check(b"gpustat list [OPTIONS]" in m.run("list", "-h").out, "the usage line of list")
    check(re.fullmatch(rb"gpustat \S+\nfeatures: .+\n(not built in: .+\n)?", m.run("-V").out), "-V")
    eq(m.run("--version").out, m.run("-V").out, "--version")
    eq(len(parse_json(m.run("-rojson").out)), 3, "-rojson")
    eq(len(parse_json(m.run("-r", "--format=json", "--top=2").out)), 2, "--format= --top=")
    r = m.run("clients", "--raw", "--format", "json", "--pid", "10", "--sort", "pid", "--time", "none")
    eq(len(parse_json(r.out)), 1, "long forms")
    eq(m.run("--quiet", "--verbose", "--no-header", "--one-line", "--summary", "--window", "0.02").code, 0, "flags")
    f = m.write("-r", dump("i915", 7))
    eq(len(parse_json(run(["fdinfo", "-o", "json", "--", os.path.basename(f)], cwd=m.base).out)), 1, "--")


@test("options: a machine without clients and cgroups is not an error")
def _(m):
    m.device("i915", I915)
    for args in (["clients"], ["cgroups"]):
        for fmt in FORMATS:
            r = m.run(*args, "-w", "0.02", "-o", fmt)
            eq(r.code, 0, f"{args} {fmt} ({r!r})")
            if fmt == "json":
                eq(r.out, b"", "records")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_options.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
