#!/usr/bin/env python3
# t_clients.py PROG - clients of a device: edge cases of DRM client statistics, and faults of other
# monitors. R is the edge case with which the names of the following tests begin. The machines are
# file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (AMD, I915, NOBODY, Skip, TREES, XE, as_json, as_root, busy, check, decode,  # noqa: E402
                     dump, eq, head, in_namespace, make_node, near, ns, one_client, parse_csv,
                     parse_json, raw, rewrite, right, run, test, val, writer, STEP)


# --- edge cases --------------------------------------------------------------------------

R = "duplicated, passed or inherited descriptor"


@test(f"{R}: one client, owned by its oldest holder that is not a session service")
def _(m):
    m.device("i915", I915)
    text = dump("i915", 7, *ns(render=10**9), pdev=I915)
    m.process(1, "systemd", 1)
    m.process(690, "seatd", 40)
    m.process(812, "systemd-logind", 50)
    m.process(10, "young", 500)
    m.process(20, "old", 300)
    files = [m.fd(1, 9, text), m.fd(690, 4, text), m.fd(812, 7, text), m.fd(10, 5, text), m.fd(20, 5, text),
             m.fd(20, 6, text), m.fd(20, 7, text, "/dev/dri/card0")]
    more = dump("i915", 7, *ns(render=10**9 + 2 * 10**8), pdev=I915)

    def step():
        for f in files:
            rewrite(f, more)
    s, = m.procs(steps=[step])
    eq(list(s), [7], "clients")
    eq((s[7]["pid"], s[7]["comm"]), (20, "old"), "owner")
    eq(s[7]["pids"], [1, 10, 20, 690, 812], "pids")
    right(s[7], "render", 2 * 10**8)


@test(f"{R}: the client counts once in the sum of the device")
def _(m):
    m.device("i915", I915)
    text = [dump("i915", 7, *ns(render=10**9 + d), "drm-total-system0:\t8 KiB", "drm-resident-system0:\t4 KiB",
                 pdev=I915) for d in (0, 2 * 10**8)]
    files = [m.fd(p, n, text[0]) for p in (10, 20, 30) for n in (4, 5)]

    def step():
        for f in files:
            rewrite(f, text[1])
    (d,), = m.live(steps=[step])
    eq(d["clients"], 1, "clients")
    right(d, "render", 2 * 10**8, tol=3)
    eq(val(d, "memory", "system0", "resident"), 4096, "resident")


@test(f"{R}: of holders with the same start time the one with the lowest PID owns the client")
def _(m):
    m.device("i915", I915)
    for pid in (300, 30, 3000):
        m.process(pid, f"p{pid}", 777)
        m.fd(pid, 5, dump("i915", 7, pdev=I915))
    m.process(20, "younger", 778)
    m.fd(20, 5, dump("i915", 7, pdev=I915))
    r, = m.json("clients")
    eq((r["pid"], r["pids"]), (30, [20, 30, 300, 3000]), "pid, pids")


@test(f"{R}: a client that only PID 1 and logind hold is one client")
def _(m):
    m.device("i915", I915)
    m.process(1, "systemd", 1)
    m.process(812, "systemd-logind", 50)
    for pid in (1, 812):
        m.fd(pid, 5, dump("i915", 7, pdev=I915))
    r, = m.json("clients")
    eq(r["pids"], [1, 812], "pids")
    check(r["pid"] in (1, 812, None), f"pid {r['pid']}")


@test(f"{R}: equal ids on two devices are two clients")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    m.fd(10, 6, dump("xe", 7, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE), "/dev/dri/renderD129")
    eq([(r["dev"], r["client"]) for r in m.json("clients")], [("card0", 7), ("card1", 7)], "clients")


@test(f"{R}: no busy time is lost if a process passes a client on and exits")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915), comm="sender")

    def passed():
        m.process(20, "taker", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        m.gone(10)
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=1.05e9), pdev=I915)), passed, None])
    right(s[0][7], "render", 5e7, "before")
    right(s[1][7], "render", 5e7, "when passed")
    eq((s[1][7]["pid"], s[1][7]["pids"]), (20, [20]), "holder")
    right(s[2][7], "render", 0, "after")


R = "client ids before Linux 6.5"


@test(f"{R}: a lower counter while an earlier holder still exists: the larger value is kept")
def _(m):
    one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915))
    f = m.path("proc/10/fdinfo/5")

    def another():
        m.process(20, "second", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=5e8), pdev=I915))
        rewrite(f, dump("i915", 7, *ns(render=5e8), pdev=I915))
    s = m.procs(steps=[another, writer(f, dump("i915", 7, *ns(render=9e8), pdev=I915))])
    right(s[0][7], "render", 0, "lower")
    right(s[1][7], "render", 0, "still lower")


@test(f"{R}: a lower counter after all earlier holders exited is another client")
def _(m):
    one_client(m, text=dump("i915", 7, *ns(render=9e9), pdev=I915))
    new = m.path("proc/20/fdinfo/3")

    def reuse():
        m.gone(10)
        m.process(20, "second", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=1e8), pdev=I915))
    s = m.procs(steps=[None, reuse, writer(new, dump("i915", 7, *ns(render=2e8), pdev=I915))])
    eq(s[1][7]["pid"], 20, "holder")
    eq(busy(s[1][7], "render"), None, "busy of a client seen for the first time")
    right(s[2][7], "render", 1e8, "relative to its own first value")


@test(f"{R}: a reused PID is detected by its start time")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=9e9), pdev=I915))

    def reuse():
        m.gone(10)
        m.process(10, "second", 999999)
        m.fd(10, 5, dump("i915", 7, *ns(render=1e8), pdev=I915))
    s = m.procs(steps=[None, reuse, lambda: rewrite(f, dump("i915", 7, *ns(render=2e8), pdev=I915))])
    eq(s[1][7]["comm"], "second", "comm")
    eq(busy(s[1][7], "render"), None, "busy of a client seen for the first time")
    right(s[2][7], "render", 1e8, "relative to its own first value")


R = "regions `memory`, `system*`, `gtt`, `cpu`"


@test(f"{R}: they are never counted as VRAM")
def _(m):
    m.device("i915", XE)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, "drm-total-system0:\t64 MiB", "drm-resident-system0:\t64 MiB",
                     "drm-total-local0:\t16 MiB", "drm-resident-local0:\t16 MiB", pdev=XE))
    d, = m.json()
    check(d["vram"]["used"] in (None, 16 << 20), f"vram used {d['vram']['used']}")
    line = m.run("-H", "-w", "0.02").out.split()
    check(b"16M" in line, f"16M of video memory in {line}")
    check(b"80M" not in line, f"sum of both memories in {line}")


@test(f"{R}: a driver without video memory reports no vram")
def _(m):
    for i, region in enumerate(("memory", "system", "gtt", "cpu")):
        m.device(f"drv{i}", card=i, render=128 + i)
        m.fd(10 + i, 5, dump(f"drv{i}", 7, f"drm-total-{region}:\t64 MiB", f"drm-resident-{region}:\t64 MiB"),
             f"/dev/dri/renderD{128 + i}")
    for d in m.json():
        eq(d["vram"], {"total": None, "used": None}, f"vram of {d['driver']}")


R = "no drm-client-id (it is optional)"


@test(f"{R}: each descriptor is a client with rates, and counts in the sums")
def _(m):
    m.device("i915", I915)
    files = [m.fd(10, 5, dump("i915", None, *ns(render=1e9))), m.fd(10, 6, dump("i915", None, *ns(render=2e9))),
             m.fd(20, 5, dump("i915", None, *ns(render=3e9)))]

    def step():
        for k, f in enumerate(files):
            rewrite(f, dump("i915", None, *ns(render=(k + 1) * 1e9 + 5e7)))
    s, = m.live("clients", steps=[step])
    eq([(r["client"], r["pid"]) for r in s], [(None, 10), (None, 10), (None, 20)], "clients")
    for r in s:
        right(r, "render", 5e7)
    d, = m.json()
    eq(d["clients"], 3, "clients of the device")


@test(f"{R}: in time series formats each descriptor is a separate series")
def _(m):
    m.device("i915", I915)
    for fd in 5, 6:
        m.fd(10, fd, dump("i915", None, *ns(render=1e9 * fd)))
    for form, want in {"prom": 'comm="app",fd="6",engine="render"} 6.0', "influx": "engine=render,fd=6,pid=10 busy_seconds_total=6",
                       "graphite": ".10-app-6.engine.render.busy_seconds_total 6"}.items():
        out = m.run("clients", "-r", "-o", form).out.decode()
        check(want in out and want.replace("6", "5") in out, f"{form}: {out}")


@test(f"{R}: a closed descriptor is not a client any more")
def _(m):
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", None, *ns(render=1e9)))
    m.fd(10, 6, dump("i915", None, *ns(render=2e9)))
    s = m.live("clients", steps=[None, lambda: m.close(10, 6), None])
    eq([len(x) for x in s], [2, 1, 1], "clients")


R = "64-bit client ids"


@test(f"{R}: ids are exact, and ids with equal low 32 bits stay distinct")
def _(m):
    m.device("i915", I915)
    ids = [7, 2**32 + 7, 2**53 + 1, 2**64 - 1]
    for i, c in enumerate(ids):
        m.fd(10 + i, 5, dump("i915", c, pdev=I915))
    eq([r["client"] for r in m.json("clients")], ids, "clients")
    r = m.run("clients", "-o", "csv", "-w", "0.02")
    eq(sorted({int(row["client"]) for row in parse_csv(r.out)}), ids, "clients in CSV")
    eq(decode(m, dump("i915", 2**64 - 1))["client"], 2**64 - 1, "client of a dump")


R = "two drm-client-id lines (pvrsrvkm)"


@test(f"{R}: the last line is used")
def _(m):
    m.device("pvrsrvkm")
    m.fd(10, 5, dump("pvrsrvkm", 5, "drm-client-id:\t6"))
    eq([r["client"] for r in m.json("clients", "-d", "driver:pvrsrvkm")], [6], "client")
    eq(decode(m, dump("pvrsrvkm", 5, "drm-client-id:\t6"))["client"], 6, "client of a dump")


R = "engine appears later"


@test(f"{R}: amdgpu: its rate is relative to 0 if the client was read before without the engine")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    s = m.procs(steps=[writer(f, dump("amdgpu", 7, *ns(dec=1e8, gfx=6e8), pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(dec=1.5e8, gfx=6e8), pdev=AMD))])
    right(s[0][7], "dec", 1e8, "new engine")
    right(s[0][7], "gfx", 1e8, "the engine after it in fdinfo")
    right(s[1][7], "dec", 5e7, "later")
    right(s[1][7], "gfx", 0, "later")


@test(f"{R}: a new client has no rate in its first sample")
def _(m):
    one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    new = m.path("proc/20/fdinfo/5")
    s = m.procs(steps=[lambda: m.fd(20, 5, dump("amdgpu", 9, *ns(gfx=5e8), pdev=AMD)),
                       writer(new, dump("amdgpu", 9, *ns(gfx=6e8), pdev=AMD))])
    eq(busy(s[0][9], "gfx"), None, "busy in the first sample")
    right(s[1][9], "gfx", 1e8, "after it")


R = "engine or key missing in one read"


@test(f"{R}: no rate for that interval, then the rate since the last value")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8, dec=1e8), pdev=AMD))
    s = m.procs(steps=[writer(f, dump("amdgpu", 7, pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(gfx=7e8, dec=1e8), pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(gfx=8e8, dec=1e8), pdev=AMD))])
    eq(busy(s[0][7], "gfx"), None, "busy without the key")
    # the busy time of both intervals divided by their lengths
    near(busy(s[1][7], "gfx"), 100 * 2e8 / ((s[0][7]["dt"] + s[1][7]["dt"]) * 1e9), 0.5, "busy in the sample in which the key is back")
    right(s[2][7], "gfx", 1e8, "one later")


@test(f"{R}: busy time from before a device was unplugged is not counted again after its return")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e12), pdev=AMD))
    m.fd(20, 5, dump("amdgpu", 9, pdev=AMD))  # a second client, so that every sample has a record
    back = dump("amdgpu", 7, *ns(gfx=5e12 + 1e8), pdev=AMD)
    # hot unplug: no drm- key at all (drm_dev_enter() fails)
    s = m.procs(steps=[writer(f, dump(None, None)), writer(f, back), writer(f, back)])
    check(busy(s[0].get(7, {"engine": {}}), "gfx") is None, "busy while it is unplugged")
    b = busy(s[1][7], "gfx")
    check(b is None or b < 60, f"busy after its return: {b}")
    right(s[2][7], "gfx", 0, "one later")


@test(f"{R}: a client whose fdinfo has no drm- key exists until its descriptor is closed")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    s = m.procs(steps=[writer(f, dump(None, None)), writer(f, dump("amdgpu", 7, *ns(gfx=7e8), pdev=AMD)),
                       writer(f, dump(None, None)), lambda: m.close(10, 5)])
    eq([sorted(x) for x in s], [[7]] * 3, "clients of each sample that has clients")
    eq(busy(s[0][7], "gfx"), None, "busy meanwhile")
    near(busy(s[1][7], "gfx"), 100 * 2e8 / ((s[0][7]["dt"] or STEP + s[1][7]["dt"]) * 1e9), 60, "busy when the keys are back")


@test(f"{R}: without drm- keys the client has no values, even if the same text returns later")
def _(m):
    text = dump("amdgpu", 7, *ns(gfx=6e8), "drm-resident-vram:\t5 KiB", pdev=AMD)
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e8), pdev=AMD))
    away = writer(f, dump(None, None))
    s = m.procs(steps=[writer(f, text), away, away, writer(f, text)])
    check(busy(s[0][7], "gfx") > 0, "busy before")
    for k in 1, 2:
        eq((s[k][7]["dt"], busy(s[k][7], "gfx"), s[k][7].get("used")), (None, None, None), f"sample {k}")
    near(s[3][7]["dt"], 3 * STEP, 0.05, "interval when the text is back")
    eq((busy(s[3][7], "gfx"), s[3][7]["used"]), (0.0, 5120), "busy and used when the text is back")


R = "counter decreased"


@test(f"{R}: the largest value is kept, and busy is 0 until the counter exceeds it")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=1e9), pdev=I915))
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=4e8), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=9e8), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=1.1e9), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=1.2e9), pdev=I915))])
    right(s[0][7], "render", 0, "lower")
    right(s[1][7], "render", 0, "rising, still lower")
    right(s[2][7], "render", 1e8, "passed")
    right(s[3][7], "render", 1e8, "after")


@test(f"{R}: a counter below its maximum for 10 s is treated as restarted")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=9e9), pdev=I915))
    s = m.procs(interval=4, steps=[writer(f, dump("i915", 7, *ns(render=n), pdev=I915))
                                   for n in (1e9, 2e9, 3e9, 4e9, 5e9, 6e9)])
    for k in range(4):
        right(s[k][7], "render", 0, f"{4 * k} s after the first lower value")
    right(s[4][7], "render", 1e9, "after it is treated as restarted")
    right(s[5][7], "render", 1e9, "one later")


@test(f"{R}: the 10 s begin again when the counter reaches its maximum")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=9e9), pdev=I915))
    s = m.procs(interval=4, steps=[writer(f, dump("i915", 7, *ns(render=n), pdev=I915))
                                   for n in (1e9, 2e9, 9e9, 3e9, 4e9)])
    for k in range(5):
        right(s[k][7], "render", 0, f"sample {k}")


@test(f"{R}: counters of cycles are treated in the same way; -r prints the larger value")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(1000, 10000))
    steps = [writer(f, text(400, 20000)), writer(f, text(1500, 30000))]
    s = m.procs(steps=steps)
    near(busy(s[0][7], "rcs"), 0, 0.01, "lower")
    near(busy(s[1][7], "rcs"), 5, 0.01, "passed")
    rewrite(f, text(1000, 10000))
    s = m.live("clients", "-r", steps=[None, steps[0], None])
    eq([val(r[0], "engine", "rcs", "cycles") for r in s], [1000] * 3, "raw cycles")


R = "total-cycles decreased"


@test(f"{R}: the GPU clock was reset, and both counters are treated as restarted")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(10**12, 10**13))
    s = m.procs(steps=[writer(f, text(100, 500)), writer(f, text(200, 1000)), writer(f, text(200, 2000))])
    eq(busy(s[0][7], "rcs"), None, "at the reset")
    near(busy(s[1][7], "rcs"), 20, 0.01, "after it")
    near(busy(s[2][7], "rcs"), 0, 0.01, "idle")


@test(f"{R}: the reset is detected although cycles increased")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-total-cycles-rcs:\t{t}", f"drm-cycles-rcs:\t{c}", pdev=XE)
    f = one_client(m, "xe", XE, text(1000, 10**13))
    s = m.procs(steps=[writer(f, text(1500, 500)), writer(f, text(1600, 1000))])
    eq(busy(s[0][7], "rcs"), None, "at the reset")
    near(busy(s[1][7], "rcs"), 20, 0.01, "after it")


R = "total-cycles unchanged"


@test(f"{R}: busy is null, neither NaN nor 0 %")
def _(m):
    f = one_client(m, "xe", XE, dump("xe", 7, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE))
    s, = m.procs(steps=[writer(f, dump("xe", 7, "drm-cycles-rcs:\t6", "drm-total-cycles-rcs:\t50", pdev=XE))])
    eq(busy(s[7], "rcs"), None, "busy")


R = "engine capacity"


@test(f"{R}: is 1 by default, 0 is taken as 1, and its key may be before or after that of the engine")
def _(m):
    def text(d):
        return dump("i915", 7, f"drm-engine-a:\t{d} ns", f"drm-engine-b:\t{d} ns", "drm-engine-capacity-b:\t0",
                    f"drm-engine-c:\t{d} ns", "drm-engine-capacity-c:\t4", "drm-engine-capacity-d:\t2",
                    f"drm-engine-d:\t{d} ns", pdev=I915)
    f = one_client(m, text=text(0))
    s, = m.procs(steps=[writer(f, text(2 * 10**8))])
    eq([val(s[7], "engine", e, "capacity") for e in "abcd"], [1, 1, 4, 2], "capacity")
    for e, cap in zip("abcd", (1, 1, 4, 2)):
        right(s[7], e, 2e8, f"busy of {e}", cap)


@test(f"{R}: divides busy computed from cycles too")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-vcs:\t{c}", f"drm-total-cycles-vcs:\t{t}", "drm-engine-capacity-vcs:\t2",
                    pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000))
    s, = m.procs(steps=[writer(f, text(600, 2000))])
    near(busy(s[7], "vcs"), 30, 0.01, "busy")


R = "busy above 100 %"


@test(f"{R}: the printed value is limited to 100 %, for a client and for the sum of a device")
def _(m):
    m.device("i915", I915)
    files = [m.fd(p, 5, dump("i915", p, *ns(render=0), pdev=I915)) for p in (10, 20, 30)]

    def step():
        for p, d, f in zip((10, 20, 30), (9e9, 3e8, 3e8), files):
            rewrite(f, dump("i915", p, *ns(render=d), pdev=I915))
    s, = m.procs(steps=[step])
    eq(busy(s[10], "render"), 100.0, "client")
    check(busy(s[20], "render") < 100, "its neighbour")
    for p, f in zip((10, 20, 30), files):
        rewrite(f, dump("i915", p, *ns(render=0), pdev=I915))
    (d,), = m.live(steps=[step])
    eq(busy(d, "render"), 100.0, "device")


@test(f"{R}: the raw counter is kept, so that the excess is not added to the next sample")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=9e9), pdev=I915)), None])
    eq(busy(s[0][7], "render"), 100.0, "limited to 100 %")
    right(s[1][7], "render", 0, "idle in the next sample")


R = "interval (dt)"


@test(f"{R}: dt of a client is measured by the clock, and not the value of the option")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))

    s, = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=3e8), pdev=I915))], interval=0.3, late={0: 0.7})
    near(s[7]["dt"], 1, 0.001, "dt")
    right(s[7], "render", 3e8)


R = "memory: shared buffers"


@test(f"{R}: a shared buffer counts once in the sums of a device and of a cgroup")
def _(m):
    m.device("i915", I915)
    for pid, resident in ((10, 100), (20, 60)):
        m.fd(pid, 5, dump("i915", pid, f"drm-total-system0:\t{resident + 5} KiB", "drm-shared-system0:\t40 KiB",
                          f"drm-resident-system0:\t{resident} KiB", pdev=I915))
    d, = m.json()
    eq(val(d, "memory", "system0", "resident"), (60 + 20 + 40) << 10, "resident")
    eq(val(d, "memory", "system0", "total"), (65 + 25 + 40) << 10, "total")
    eq(val(d, "memory", "system0", "shared"), 80 << 10, "shared")
    eq(d["used"], (60 + 20 + 40) << 10, "used")
    c, = m.json("cgroups")
    eq(val(c, "memory", "system0", "resident"), (60 + 20 + 40) << 10, "resident of the cgroup")
    eq([val(r, "memory", "system0", "resident") for r in m.json("clients")], [100 << 10, 60 << 10], "resident of the clients")


@test(f"{R}: two clients of 100 MiB that share 60 MiB use 140 MiB")
def _(m):
    m.device("xe", I915)
    for pid in (10, 20):
        m.fd(pid, 5, dump("xe", pid, "drm-total-vram0:\t100 MiB", "drm-shared-vram0:\t60 MiB",
                          "drm-resident-vram0:\t100 MiB", pdev=I915))
    d, = m.json()
    eq([d["used"], val(d, "memory", "vram0", "resident"), val(d, "memory", "vram0", "total")], [140 << 20] * 3, "sums")


@test(f"{R}: of shared parts with different sizes the largest is counted")
def _(m):
    m.device("xe", I915)
    for pid, shared in ((10, 10), (20, 70), (30, 30)):
        m.fd(pid, 5, dump("xe", pid, "drm-total-vram0:\t100 MiB", f"drm-shared-vram0:\t{shared} MiB",
                          "drm-resident-vram0:\t50 MiB", pdev=I915))
    d, = m.json()
    eq(val(d, "memory", "vram0", "total"), (90 + 30 + 70 + 70) << 20, "total")
    eq(d["used"], (40 + 0 + 20 + 50) << 20, "used: of the 70 MiB at most the 50 that are resident")


@test(f"{R}: shared above resident results in the resident size, not 2^64")
def _(m):
    one_client(m, text=dump("i915", 7, "drm-total-system0:\t9 KiB", "drm-shared-system0:\t9 KiB",
                            "drm-resident-system0:\t4 KiB", pdev=I915))
    d, = m.json()
    eq(val(d, "memory", "system0", "resident"), 4 << 10, "resident")


R = "APU"


@test(f"{R}: used memory is vram (a part of the system memory) plus gtt")
def _(m):
    t = os.path.join(TREES, "amdgpu-apu")
    if not os.path.isdir(t):
        raise Skip("no tests/trees/amdgpu-apu")
    r = run(["clients", "-p", "4012", "-H", "-w", "0.02", "--proc", f"{t}/proc", "--sys", f"{t}/sys"])
    eq(r.code, 0, "exit code")
    check(b"1.4G" in r.out.split(), f"1400 MiB of gtt and 5 MiB of vram: {r.out!r}")


R = "drm-total above resident (xe and i915: imported buffers)"


@test(f"{R}: total and resident are both reported")
def _(m):
    one_client(m, "xe", XE, dump("xe", 7, "drm-total-gtt:\t2 MiB", "drm-resident-gtt:\t4 KiB", pdev=XE))
    for kind in ("clients", "cgroups", None):
        r, = m.json(*([kind] if kind else []))
        eq((val(r, "memory", "gtt", "total"), val(r, "memory", "gtt", "resident")), (2 << 20, 4096), f"{kind}")


R = "units"


@test(f"{R}: memory sizes")
def _(m):
    r = decode(m, dump("xe", 1, "drm-total-a:\t5", "drm-total-b:\t5 KiB", "drm-total-c:\t5 MiB", "drm-total-d:\t5 GiB",
                       "drm-total-e:\t5 kB", "drm-total-f:\t0", "drm-total-g:\t5 QiB", "drm-total-h:\t6 KiB"))
    eq([val(r, "memory", x, "total") for x in "abcdefgh"],
       [5, 5 << 10, 5 << 20, 5 << 30, 5 << 10, 0, None, 6 << 10], "total")
    eq(r["skipped"], 1, "skipped")


@test(f"{R}: frequencies")
def _(m):
    r = decode(m, dump("msm", 1, *[f"drm-maxfreq-{e}:\t{v}" for e, v in
                                   (("a", "7"), ("b", "7 Hz"), ("c", "7 KHz"), ("d", "7 MHz"), ("e", "7 GHz"),
                                    ("f", "7 ns"), ("g", "8 Hz"))], "drm-curfreq-a:\t3 MHz"))
    eq([val(r, "engine", x, "maxfreq") for x in "abcdefg"], [7, 7, 7000, 7000000, None, None, 8], "maxfreq")
    eq(val(r, "engine", "a", "curfreq"), 3000000, "curfreq")


@test(f"{R}: time is in ns; a value with another unit is dropped, the values around it are kept")
def _(m):
    r = decode(m, dump("i915", 1, "drm-engine-a:\t5 ns", "drm-engine-b:\t6 us", "drm-engine-c:\t7 KiB",
                       "drm-cycles-d:\t8 ns", "drm-engine-e:\t9 ns"))
    eq([val(r, "engine", x, "busy_ns") for x in "abce"], [5, None, None, 9], "busy_ns")
    eq(val(r, "engine", "d", "cycles"), None, "cycles")


R = "overflow"


@test(f"{R}: a value that exceeds 64 bits after conversion of its unit is dropped, not wrapped")
def _(m):
    big = 2**64 - 1
    r = decode(m, dump("xe", 1, f"drm-total-a:\t{2**52}", f"drm-total-b:\t{big} KiB", f"drm-total-c:\t{big + 1}",
                       f"drm-total-d:\t{2**42} KiB", f"drm-total-e:\t{2**54} KiB", "drm-total-f:\t" + "9" * 60,
                       f"drm-maxfreq-a:\t{2**63} MHz", f"drm-cycles-a:\t{big}", f"drm-total-cycles-a:\t{big + 1}",
                       f"drm-engine-a:\t{big} ns", f"drm-engine-b:\t{big + 1} ns", "drm-total-g:\t4 KiB"))
    eq([val(r, "memory", x, "total") for x in "abcdefg"], [2**52, None, None, 2**52, None, None, 4096],
       "total")
    eq([val(r, "engine", "a", k) for k in ("cycles", "total_cycles", "busy_ns", "maxfreq")], [big, None, big, None],
       "engine a")
    eq(val(r, "engine", "b", "busy_ns"), None, "engine b")
    eq((r["skipped"], r["implausible"]), (5, 2), "malformed numbers, and sizes of more than 64 bits")


@test(f"{R}: a client id beyond 64 bits is dropped, not truncated")
def _(m):
    r = decode(m, dump("xe", 2**64 + 5))
    eq(r["client"], None, "client")
    check(r["skipped"] >= 1, "skipped")


@test(f"{R}: sums of counters near 2^64 do not wrap")
def _(m):
    m.device("i915", I915)
    top = 2**64 - 10**9
    files = {p: m.fd(p, 5, dump("i915", p, *ns(render=0), f"drm-engine-copy:\t{top} ns", pdev=I915)) for p in (10, 20)}

    def step():
        for p, f in files.items():
            rewrite(f, dump("i915", p, *ns(render=5e7), f"drm-engine-copy:\t{top + 5 * 10**7} ns", pdev=I915))
    (d,), = m.live(steps=[step])
    right(d, "copy", 1e8, tol=3)
    right(d, "render", 1e8, tol=3)


R = "short read"


@test(f"{R}: input that arrives in pieces is read to its end; a last line without a newline is dropped")
@machine.live
def _(m):
    text = raw(dump("i915", 7, *[f"drm-engine-e{i}:\t{i} ns" for i in range(60)], pdev=I915) + "drm-engine-z:\t12")
    p = subprocess.Popen([machine.PROG, "fdinfo", "-", "-o", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(0, len(text), 97):
        p.stdin.write(text[i:i + 97])
        p.stdin.flush()
        time.sleep(0.002)
    out, _ = p.communicate(timeout=60)
    eq(p.returncode, 0, "exit code")
    r, = parse_json(out)
    eq([val(r, "engine", f"e{i}", "busy_ns") for i in range(60)], list(range(60)), "engines")
    check("z" not in r["engine"], "the incomplete line was used")
    eq(r["skipped"], 0, "skipped")


@test(f"{R}: a client remains if its fdinfo is cut within a line")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9, copy=123456789), pdev=I915))
    whole = dump("i915", 7, *ns(render=1.1e9, copy=123456789), pdev=I915)
    cut = whole[:whole.index("123456789") + 4]
    s = m.procs(steps=[writer(f, cut), writer(f, whole)])
    right(s[0][7], "render", 1e8, "render")
    eq(busy(s[0][7], "copy"), None, "busy of copy, because its line was cut")
    right(s[1][7], "copy", 0, "copy, whole again")


R = "long fdinfo"


@test(f"{R}: several pages of lock lines before the drm- keys are skipped")
def _(m):
    locks = [f"lock:\t{i}: POSIX  ADVISORY  WRITE {i} fd:01:{i} 0 EOF" for i in range(1, 500)]
    text = "\n".join(head(None, None) + locks + ["drm-driver:\ti915", "drm-client-id:\t7", *ns(render=5)]) + "\n"
    check(len(text) > 16384, "length of the text that the test made")
    one_client(m, text=text)
    r, = m.json("clients", "-r")
    eq((r["client"], val(r, "engine", "render", "busy_ns")), (7, 5), "client, busy_ns")
    eq(decode(m, text)["skipped"], 0, "skipped")


@test(f"{R}: fdinfo of a descriptor that is not a DRM node is never opened")
def _(m):
    one_client(m)
    bait = dump("i915", 666, *ns(render=5), pdev=I915)
    for n, link in ((20, "anon_inode:[eventpoll]"), (21, "anon_inode:inotify"), (22, "/dev/null"), (23, "socket:[5]"),
                    (24, "/dmabuf:"), (25, "/dev/dri"), (26, "/dev/nvidia0x"), (27, "/home/u/dev/dri/renderD128")):
        m.fd(10, n, bait, link)
    # opening this FIFO would block
    os.symlink("anon_inode:[eventfd]", m.path("proc/10/fd/30"))
    os.mkfifo(m.path("proc/10/fdinfo/30"))
    eq([r["client"] for r in m.json("clients", timeout=60)], [7], "clients")


R = "detection of DRM nodes"


@test(f"{R}: a node is recognized by its device number, not by its name")
@machine.live
def _(m):
    m.device("i915", I915)
    m.device("intel_vpu", "0000:00:0b.0", card=None, render=None, accel=0)
    odd = make_node(m, "no-longer-a-gpu.txt", 226, 128)
    npu = make_node(m, "npu", 261, 0)
    m.fd(10, 5, dump("i915", 7, pdev=I915), odd)
    m.fd(11, 5, dump("intel_vpu", 8, pdev="0000:00:0b.0"), npu)
    eq([(r["dev"], r["client"]) for r in m.json("clients")], [("card0", 7), ("accel0", 8)], "clients")


@test(f"{R}: a character device with another number, a block device and a plain file are rejected")
@machine.live
def _(m):
    m.device("i915", I915)
    os.makedirs(m.path("dev/dri"))
    null = make_node(m, "dev/dri/renderD128", 1, 3)
    block = make_node(m, "dev/dri/card0", 226, 0, stat.S_IFBLK)
    plain = m.write("dev/dri/renderD129", "")
    for n, target in enumerate((null, block, plain)):
        m.fd(10, n, dump("i915", 660 + n, pdev=I915), target)
    m.fd(10, 9, dump("i915", 7, pdev=I915))
    eq([r["client"] for r in m.json("clients")], [7], "clients")


@test(f"{R}: accel nodes (major 261) are found if /sys has no class drm")
def _(m):
    shutil.rmtree(m.path("sys/class/drm"))
    m.device("intel_vpu", "0000:00:0b.0", card=None, render=None, accel=0)
    m.fd(10, 5, dump("intel_vpu", 8, "drm-total-memory:\t8 MiB", pdev="0000:00:0b.0"), "/dev/accel/accel0")
    r, = m.json("clients")
    eq((r["dev"], r["client"], val(r, "memory", "memory", "total")), ("accel0", 8, 8 << 20), "client")


R = "O_PATH descriptors and dma-bufs"


@test(f"{R}: a dma-buf (exp_name drm) is not a client; fdinfo needs a line that begins with drm-driver:")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.fd(10, 4, "pos:\t0\nflags:\t02\nsize:\t16384\ncount:\t10\nexp_name:\tdrm\n", "/dmabuf:")
    m.fd(10, 5, "pos:\t0\nflags:\t012100000\nmnt_id:\t26\n xdrm-driver:\ti915\nnot-drm-driver:\ti915\n"
                "drm-client-id:\t5\nexp_name:\tdrm-driver:\n")
    eq(m.json("clients"), [], "clients")
    r = run(["fdinfo", m.path("proc/10/fdinfo/5"), "-o", "json"])
    eq((r.code, r.out), (1, b""), "as a dump")


@test(f"{R}: an O_PATH descriptor of a device node is not a client")
@machine.live
def _(m):
    as_root()
    m.device("i915", I915)
    node = make_node(m, "node", 226, 128)
    held = os.open(node, os.O_PATH)
    try:
        for cmd in ([], ["clients"]):
            r = run(cmd + ["-w", "0.02", "-o", "json", "--sys", m.sys])
            # 4: no client, and root cannot read some process of this machine
            check(r.code in ((0, 4) if cmd else (0,)), f"exit code ({r!r})")
            for rec in parse_json(r.out):
                check(os.getpid() not in rec.get("pids", []), f"a client: {rec}")
    finally:
        os.close(held)


R = "DRM descriptor without drm-driver"


@test(f"{R}: the device is shown without statistics")
def _(m):
    m.device("nouveau", XE)
    m.fd(10, 5, dump(None, None))
    d, = m.json()
    eq((d["driver"], d["engine"], d["memory"]), ("nouveau", {}, {}), "device")
    check(d["clients"] in (None, 0, 1), f"clients {d['clients']}")
    r = m.run("clients", "-w", "0.02", "-o", "json")
    check(all(not x["engine"] for x in parse_json(r.out)), "engines without a source")


R = "PID namespace"


@test(f"{R}: a namespace without clients has 0 clients and 0 unreadable processes")
@machine.live
def _(m):
    m.device("i915", I915)
    r = in_namespace(m, '"$PROG" -w 0.02 -o json --proc "$P" --sys "$SYS"')
    d, = parse_json(r.stdout)
    eq((r.returncode, d["clients"], d["unreadable"]), (0, 0, 0), "exit, clients, unreadable")


@test(f"{R}: the PID of a client's process is the one in the namespace")
@machine.live
def _(m):
    as_root()
    m.write("driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA X\nDevice Minor: \t 0\n")
    node = make_node(m, "nvidia0", 195, 0)  # needs no driver: it is opened with O_PATH
    hold = m.write("hold.py", f"import os\nos.dup2(os.open({node!r}, os.O_PATH), 9)\nos.execvp('sleep', ['sleep', '60'])\n")
    r = in_namespace(m, f'mount --bind {m.path("driver")} "$P/driver" || exit 77; {sys.executable} {hold} & pid=$!; '
                        'until [ "$(cat "$P/$pid/comm")" = sleep ]; do kill -0 $pid || exit; sleep 0.01; done; '
                        'echo $pid; "$PROG" clients -w 0.02 -o json --proc "$P" --sys "$SYS"')
    pid, _, out = r.stdout.partition(b"\n")
    c, = parse_json(out)
    eq((c["dev"], c["comm"], c["pid"], c["pids"]), ("nvidia0", "sleep", int(pid), [int(pid)]), "client")


@test(f"{R}: in one, -v reports that processes outside are hidden; in the first namespace it does not")
@machine.live
def _(m):
    m.device("i915", I915)
    # inode of the first PID namespace (PROC_PID_INIT_INO in linux/proc_ns.h)
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        raise Skip("is in a pid namespace itself")
    r = in_namespace(m, '"$PROG" -v -w 0.02 -o json --proc "$P" --sys "$SYS"')
    eq((r.returncode, len(parse_json(r.stdout))), (0, 1), "exit code, devices")
    eq(r.stderr, b"gpustat: in a pid namespace: processes outside of it are hidden; --proc reads another /proc\n", "there")
    r = run(["-v", "-w", "0.02", "-o", "json", "--proc", "/proc", "--sys", m.sys])
    eq((r.code, b"namespace" in r.err), (0, False), f"in the first namespace: {r!r}")


R = "unreadable processes"


@test(f"{R}: hidepid=1: they are counted, and the exit code is 4 only if all are unreadable")
@machine.live
def _(m):
    m.device("i915", I915)
    as_nobody = f'setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$PROG"'
    r = in_namespace(m, f'sleep 9 & {as_nobody} -w 0.02 -o json --proc "$P" --sys "$SYS"', hidepid=1)
    eq(r.returncode, 0, f"exit code ({r.stderr!r})")
    d, = parse_json(r.stdout)
    check(d["unreadable"] >= 2, f"unreadable {d['unreadable']}")
    r = in_namespace(m, f'sleep 9 & {as_nobody} clients -w 0.02 -o json --proc "$P" --sys "$SYS"', hidepid=1)
    eq((r.returncode, r.stdout), (4, b""), "clients")
    check(r.stderr.startswith(b"gpustat: "), f"message {r.stderr!r}")


@test(f"{R}: hidepid=2: invisible processes are not an error")
@machine.live
def _(m):
    m.device("i915", I915)
    r = in_namespace(m, f'sleep 9 & setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$PROG" -w 0.02 -o json '
                        '--proc "$P" --sys "$SYS"', hidepid=2)
    eq(r.returncode, 0, f"exit code ({r.stderr!r})")
    eq(len(parse_json(r.stdout)), 1, "devices")


@test(f"{R}: they are counted, and the values of the others stay correct")
def _(m):
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    for pid in (20, 30):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        for d in ("fd", "fdinfo"):
            os.chmod(m.path(f"proc/{pid}/{d}"), 0)
    d, = m.json(nobody=True)
    eq((d["clients"], d["unreadable"]), (1, 2), "clients, unreadable")
    eq([r["client"] for r in m.json("clients", nobody=True)], [7], "clients")
    for n in (r["unreadable"] for r in m.json("list", nobody=True)):
        eq(n, 2, "unreadable processes in list")


@test(f"{R}: one unreadable fdinfo file makes its process unreadable")
def _(m):
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    os.chmod(m.fd(20, 5, dump("i915", 8, pdev=I915)), 0)
    d, = m.json(nobody=True)
    eq((d["clients"], d["unreadable"]), (1, 1), "clients, unreadable")


@test(f"{R}: if only fd/ is unreadable, fdinfo/ is used (with CAP_SYS_PTRACE alone)")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("xe", 7, "drm-cycles-rcs:\t5", "drm-total-cycles-rcs:\t50", pdev=XE), "/dev/dri/renderD129")
    m.fd(10, 6, dump(None, None, "eventfd-count:\t0"), "anon_inode:[eventfd]")
    m.fd(20, 6, dump("i915", 9, pdev=I915))
    os.chmod(m.path("proc/10/fd"), 0)
    recs = m.json("clients", nobody=True)
    eq([(r["dev"], r["client"], r["pid"]) for r in recs], [("card0", 9, 20), ("card1", 7, 10)], "clients")
    eq(m.json(nobody=True)[0]["unreadable"], 0, "unreadable")


R = "process exits while it is read"


@test(f"{R}: any of its files may be missing without an error")
def _(m):
    m.device("i915", I915)
    text = dump("i915", 7, *ns(render=5), pdev=I915)
    m.fd(10, 5, text)
    for pid, missing in ((21, "stat"), (22, "comm"), (23, "cgroup"), (24, "fdinfo/5"), (25, "fd/5")):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        os.unlink(m.path(f"proc/{pid}/{missing}"))
    for pid, missing in ((31, "fd"), (32, "fdinfo")):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        shutil.rmtree(m.path(f"proc/{pid}/{missing}"))
    os.makedirs(m.path("proc/33"))
    m.write("proc/34", "a file, not a folder")
    for odd in ("99999999999999999999", "007x", "4294967306"):
        os.makedirs(m.path(f"proc/{odd}/fd"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/x"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/4294967301"))
    os.symlink("nowhere", m.path("proc/35"))
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/6"))
    recs = {r["client"]: r for r in m.json("clients")}
    check(7 in recs and not {24, 25, 32} & set(recs), f"clients {sorted(recs)}")
    for c in (22, 23):
        check(c in recs, f"client {c} is found by its fdinfo")
    eq((recs[22]["comm"], recs[23]["cgroup"]), (None, None), "names that are unknown")
    m.json()
    m.json("cgroups")


@test(f"{R}: the total of the device keeps the busy time of a process that exits between two samples")
def _(m):
    m.device("i915", I915)
    files = {p: m.fd(p, 5, dump("i915", p, *ns(render=10**9), pdev=I915)) for p in (10, 20)}

    def step():
        m.gone(20)
        rewrite(files[10], dump("i915", 10, *ns(render=1.05e9), pdev=I915))
    s = m.live("-r", steps=[None, step, None])
    sums = [val(r[0], "engine", "render", "busy_ns") for r in s]
    check(sums[0] <= sums[1] <= sums[2], f"the counter of the device went backwards: {sums}")
    eq([r[0]["clients"] for r in s], [2, 1, 1], "clients")


@test(f"{R}: rates of the other clients stay correct")
def _(m):
    m.device("i915", I915)
    files = {p: m.fd(p, 5, dump("i915", p, *ns(render=10**9), pdev=I915)) for p in (10, 20)}

    def step():
        m.gone(20)
        rewrite(files[10], dump("i915", 10, *ns(render=1.05e9), pdev=I915))
    s, = m.procs(steps=[step])
    right(s[10], "render", 5e7)
    check(20 not in s or busy(s[20], "render") is None, "a rate of a closed client")


R = "comm"


@test(f"{R}: a name may contain any byte; in stat it ends at the last ')'")
def _(m):
    m.device("i915", I915)
    names = [b"two words", b"a) S 1 (b", b") R 1 1 1 1 1 1", b"(((", b"new\nline", b"\xff\xfe\xc3", b"", b"tab\there",
             b"\x1b[31m", b'q"u\\o', b" lead ", "caf\u00e9 \u2615".encode(), b"\xed\xa0\x80", b"\xe2\x82", b"\x7f"]
    for i, n in enumerate(names):
        m.process(100 + i, n, 5000 - i)
        m.fd(100 + i, 5, dump("i915", 100 + i, pdev=I915))
        # the youngest holder, which owns the client only if the start time is misread
        m.process(300 + i, "late", 9000)
        m.fd(300 + i, 5, dump("i915", 100 + i, pdev=I915))
    for r, n in zip(m.json("clients"), names):
        eq((r["pid"], r["comm"]), (r["client"], as_json(n)), f"owner and comm of client {r['client']}")


R = "threads"


@test(f"{R}: only the descriptors of the process are read, not those of its threads")
def _(m):
    one_client(m, threads=2)
    for tid in (10, 11):
        m.write(f"proc/10/task/{tid}/fdinfo/5", dump("i915", 7, pdev=I915))
        m.write(f"proc/10/task/{tid}/fdinfo/6", dump("i915", 666, pdev=I915))
        os.makedirs(m.path(f"proc/10/task/{tid}/fd"))
        for n in (5, 6):
            os.symlink("/dev/dri/renderD128", m.path(f"proc/10/task/{tid}/fd/{n}"))
    r, = m.json("clients")
    eq((r["client"], r["pids"]), (7, [10]), "client, pids")


R = "minor numbers"


@test(f"{R}: the minor number does not determine the type of the node")
@machine.live
def _(m):
    m.device("i915", I915, card=64, render=192, card_minor=200, render_minor=7)
    m.device("xe", XE, card=5, render=193, card_minor=128, render_minor=300)
    m.fd(10, 5, dump("i915", 7, pdev=I915), make_node(m, "a", 226, 200))
    m.fd(11, 5, dump("i915", 8, pdev=I915), make_node(m, "b", 226, 7))
    m.fd(12, 5, dump("xe", 9, pdev=XE), make_node(m, "c", 226, 128))
    m.fd(13, 5, dump("xe", 10, pdev=XE), "/dev/dri/renderD193")
    got = sorted((r["client"], r["dev"], r["driver"]) for r in m.json("clients"))
    eq(got, [(7, "card64", "i915"), (8, "card64", "i915"), (9, "card5", "xe"), (10, "card5", "xe")], "clients")


R = "card and render node of one GPU"


@test(f"{R}: descriptors of both are one device and one client")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("xe", 7, *ns(x=5), pdev=XE), "/dev/dri/card1")
    m.fd(10, 6, dump("xe", 7, *ns(x=5), pdev=XE), "/dev/dri/renderD129")
    m.fd(11, 6, dump("xe", 8, *ns(x=5), pdev=XE), "/dev/dri/renderD129")
    eq([(r["dev"], r["clients"]) for r in m.json()], [("card0", 0), ("card1", 2)], "devices")


@test(f"{R}: the device is determined by the node, not by drm-pdev")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("i915", 7, pdev=XE))
    r, = m.json("clients")
    eq((r["dev"], r["pdev"]), ("card0", I915), "device")


@test(f"{R}: a descriptor adds its device if /sys has none")
def _(m):
    m.fd(10, 5, dump("pvr", 7, *ns(x=5)))
    r, = m.json("clients")
    eq((r["dev"], r["driver"], r["client"]), ("226:128", "pvr", 7), "client")
    d, = m.json()
    eq((d["dev"], d["clients"]), ("226:128", 1), "device")


@test(f"{R}: a device that a descriptor added has the drm-pdev of its clients")
def _(m):
    m.fd(10, 5, dump("pvr", 7, *ns(x=5), pdev=XE))
    m.fd(10, 6, dump("pvr", 8, *ns(x=5), pdev=XE), "/dev/dri/card0")
    eq([(r["dev"], r["pdev"], r["client"]) for r in m.json("clients")],
       [("226:0", XE, 8), ("226:128", XE, 7)], "clients")
    eq([d["pdev"] for d in m.json()], [XE, XE], "devices")
    s = m.live("clients", steps=[None, lambda: (m.close(10, 5), m.close(10, 6)), None])
    eq([len(x) for x in s], [2], "records of clients; after the last client there is no device")


R = "kfd compute (ROCm)"


KFD = "sys/devices/virtual/kfd/kfd"


def kfd_process(m, pid, **files):
    """Adds a compute process on device XE, with these files in its kfd folder."""
    m.write(f"{KFD}/topology/nodes/1/gpu_id", "9876\n")
    m.write(f"{KFD}/topology/nodes/1/properties", "cpu_cores_count 0\nlocation_id 768\ndomain 0\nvendor_id 4098\n")
    for name, text in files.items():
        m.write(f"{KFD}/proc/{pid}/{name}".replace("stats_9876_", "stats_9876/"), text + "\n")
    m.process(pid, "python3")
    m.link(KFD, "sys/class/kfd/kfd")


@test(f"{R}: the process and its video memory come from /sys/class/kfd")
def _(m):
    m.device("amdgpu", XE)
    kfd_process(m, 5001, pasid="32770", vram_9876="1073741824", sdma_9876="77", stats_9876_cu_occupancy="12")
    os.symlink("/dev/kfd", m.path("proc/5001/fd/4"))
    recs = m.json("clients")
    check(any(5001 in r["pids"] and "1073741824" in json.dumps(r) for r in recs), f"no such record: {recs}")


@test(f"{R}: a suspended device does not have the values from before")
def _(m):
    dev = m.device("amdgpu", XE)
    kfd_process(m, 5001, vram_9876="1073741824", stats_9876_cu_occupancy="12")
    s = m.live("clients", steps=[None, writer(m.path(dev, "power/runtime_status"), "suspended\n"), None])
    eq([r[0]["other"] for r in s], [{"cu_occupancy": "12"}, {}, {}], "other")


@test(f"{R}: processes on a GPU that appears later are found")
def _(m):
    m.device("i915", I915)

    def come():
        m.device("amdgpu", XE, card=1, render=129)
        kfd_process(m, 5001, vram_9876="1073741824")
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=I915))
    s = m.live("clients", "--sweep", "all", steps=[None, come, None, None])
    eq([[r["pid"] for r in x] for x in (s[0], s[3])], [[10], [10, 5001]], "processes")


R = "suspended device"

# Files that may be read while a device is suspended: the kernel has their values in memory.
QUIET = {"uevent", "dev", "runtime_status", "runtime_active_time", "runtime_suspended_time", "power_state", "control",
         "vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device", "boot_vga", "numa_node",
         "name", "label", "product_name", "product_number", "unique_id", "profiling", "instance", "capabilities",
         "enable", "type"}


def quiet(path):
    name = os.path.basename(path)
    return (name in QUIET or name.startswith("mem_info_") or re.fullmatch(r"(temp|fan|in|power|energy|freq)\d+_label",
                                                                          name))


@test(f"{R}: files that wake the device when they are read are not opened (tested with FIFOs)")
def _(m):
    state = "suspended"
    xe = m.device("xe", XE, state=state)
    amd = m.device("amdgpu", AMD, card=1, render=129, state=state, files={"mem_info_vram_used": "5\n"})
    i915 = m.device("i915", I915, card=2, render=130, state=state)
    baits = [f"{xe}/tile0/gt0/freq0/{f}" for f in ("act_freq", "cur_freq", "max_freq", "rp0_freq")]
    baits += [f"{xe}/tile0/gt0/gtidle/idle_residency_ms", f"{xe}/tile0/gt0/freq0/throttle/reasons",
              f"{xe}/tile0/gt0/freq0/throttle/status", f"{xe}/current_link_speed", f"{xe}/current_link_width"]
    baits += [f"{amd}/{f}" for f in ("gpu_busy_percent", "mem_busy_percent", "vcn_busy_percent", "pp_dpm_sclk",
                                     "pp_dpm_mclk", "gpu_metrics", "pcie_bw", "current_link_speed")]
    baits += [f"{i915}/drm/card2/gt/gt0/{f}" for f in ("rps_act_freq_mhz", "rc6_residency_ms",
                                                       "throttle_reason_status")]
    baits += [f"{i915}/drm/card2/{f}" for f in ("gt_act_freq_mhz", "gt_cur_freq_mhz", "power/rc6_residency_ms")]
    for n, d in enumerate((xe, amd, i915)):
        m.write(f"{d}/hwmon/hwmon{n}/name", "x\n")
        m.link(d, f"{d}/hwmon/hwmon{n}/device")
        m.link(f"{d}/hwmon/hwmon{n}", f"sys/class/hwmon/hwmon{n}")
        baits += [f"{d}/hwmon/hwmon{n}/{f}" for f in ("temp1_input", "temp2_input", "power1_average", "power1_input",
                                                      "energy1_input", "fan1_input", "in0_input", "freq1_input")]
    m.process(10)
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/5"))
    baits.append("proc/10/fdinfo/5")
    for b in baits:
        os.makedirs(os.path.dirname(m.path(b)), exist_ok=True)
        os.mkfifo(m.path(b))
    for args in ([], ["list"], ["clients"], ["-r"], ["list", "-v"]):
        # the process is readable, but its fdinfo must not be read
        r = m.run(*args, "-o", "json", *([] if "list" in args else ["-w", "0.05"]), timeout=60)
        eq(r.code, 0, f"exit code of {args} ({r!r})")
        for d in parse_json(r.out):
            if d["kind"] == "device":
                eq(d["state"], "suspended", "state")
                for k in ("freq", "temp", "power", "energy", "fan", "volt"):
                    check(not any(x is not None for v in d[k].values() for x in
                                  (v.values() if isinstance(v, dict) else [v])), f"{k} of {d['dev']}: {d[k]}")


@test(f"{R}: files that wake the device when they are read are not opened (tested with strace)")
@machine.live
def _(m):
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    for tree, asleep in (("xe-suspended", "0000:03:00.0"), ("mixed", "0000:01:00.0")):
        t = os.path.join(TREES, tree)
        log = m.path(f"{tree}.strace")
        for args in (["0.1", "2"], ["list"], ["clients", "-w", "0.05"]):
            r = subprocess.run(["strace", "-f", "-y", "-e", "trace=openat,open,pread64,read", "-o", log, machine.PROG, *args,
                                "-o", "json", "--proc", f"{t}/proc", "--sys", f"{t}/sys"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=60)
            if r.returncode not in (0, 3) and b"ptrace" in r.stderr.lower() + b"":
                raise Skip(f"strace: {r.stderr[-80:]!r}")
            with open(log, encoding="utf-8", errors="replace") as f:
                for line in f:
                    for path in re.findall(r'[<"]([^">]*)[">]', line):
                        if "O_DIRECTORY" in line or "ENOENT" in line:
                            continue
                        if asleep in path and not os.path.isdir(path) and not quiet(path) and \
                           os.path.isfile(path):
                            raise AssertionError(f"{tree} {args}: {line.strip()[-160:]}")
                        if tree == "xe-suspended" and re.search(r"3511/fdinfo/(4|5|6|7|8|9)", path) and \
                           "drm-driver" in open(path).read():
                            raise AssertionError(f"{tree} {args}: {line.strip()[-160:]}")


@test(f"{R}: fdinfo is read again after the device wakes up")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000))
    status = m.path("sys/devices/pci0000:00", XE, "power/runtime_status")

    def sleep():
        rewrite(status, "suspended\n")
        rewrite(f, text(500, 2000))

    def wake():
        rewrite(status, "active\n")
        rewrite(f, text(600, 3000))
    s = m.procs(steps=[sleep, wake, writer(f, text(900, 4000))])
    eq(busy(s[0].get(7, {"engine": {}}), "rcs"), None, "busy of the suspended device")
    near(busy(s[2][7], "rcs"), 30, 0.01, "awake")


R = "numbers and the locale"


@test(f"{R}: only decimal digits are parsed")
def _(m):
    r = decode(m, dump("i915", 1, "drm-engine-a:\t1,234 ns", "drm-engine-b:\t1.5 ns", "drm-engine-c:\t0x10 ns",
                       "drm-engine-d:\t1e3 ns", "drm-engine-e:\t+5 ns", "drm-engine-f:\t\u0665 ns",
                       "drm-engine-g:\t07 ns"))
    eq([val(r, "engine", e, "busy_ns") for e in "abcdefg"], [None] * 6 + [7], "busy_ns")
    eq(r["skipped"], 6, "skipped")


@test(f"{R}: the locale does not change printed numbers")
def _(m):
    one_client(m)
    for loc in ("de_DE.UTF-8", "ar_EG.UTF-8"):
        env = dict(os.environ, LC_ALL=loc, LANG=loc, LC_NUMERIC=loc)
        recs = m.json("clients", env=env)
        check(isinstance(recs[0]["dt"], float), f"dt {recs[0]['dt']!r}")
        rows = parse_csv(m.run("-w", "0.02", "-o", "csv", env=env).out)
        check(all("," not in r["value"] for r in rows), "a comma in a number")


R = "drm-pdev absent"


@test(f"{R}: platform and USB devices have no PCI slot")
def _(m):
    m.device("panfrost", card=1)
    m.device("rockchip-drm", card=0, render=None)
    # a display on the bus of a PCI device does not have the slot of that device
    usb = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0"
    m.write(f"{usb}/../../../uevent", "DRIVER=xhci_hcd\nPCI_SLOT_NAME=0000:00:14.0\n")
    m.write(f"{usb}/uevent", "DEVTYPE=usb_interface\nDRIVER=udl\nPRODUCT=17e9/1a2/0\n")
    os.makedirs(m.path("sys/bus/usb/drivers/udl"))
    m.link("sys/bus/usb/drivers/udl", f"{usb}/driver")
    m.link("sys/bus/usb", f"{usb}/subsystem")
    m.node(usb, "drm", "card2", (226, 2))
    m.fd(10, 5, dump("panfrost", 3, "drm-maxfreq-fragment:\t799999987 Hz", "drm-total-memory:\t8 MiB"))
    m.fd(20, 5, dump("udl", 3), link="/dev/dri/card2")
    eq([(r["dev"], r["driver"], r["pdev"], r["client"], r["pid"]) for r in sorted(m.json("clients"), key=lambda r: r["dev"])],
       [("card1", "panfrost", None, 3, 10), ("card2", "udl", None, 3, 20)], "clients")
    eq([(d["dev"], d["driver"], d["pdev"]) for d in m.json()],
       [("card0", "rockchip-drm", None), ("card1", "panfrost", None), ("card2", "udl", None)], "devices")


R = "source of utilization"


@test(f"{R}: cycles over total cycles are preferred to ns")
def _(m):
    def text(c, t, n):
        return dump("xe", 7, f"drm-engine-rcs:\t{n} ns", f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}",
                    pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000, 0))
    s, = m.procs(steps=[writer(f, text(250, 2000, 4 * 10**8))])
    near(busy(s[7], "rcs"), 25, 0.01, "busy")


@test(f"{R}: busy is computed from ns, util and the mean clock from cycles")
def _(m):
    def text(n, c):
        return dump("msm", 7, f"drm-engine-gpu:\t{n} ns", f"drm-cycles-gpu:\t{c}", "drm-maxfreq-gpu:\t800 MHz")
    f = one_client(m, "msm", None, text(0, 0))
    s, = m.procs(steps=[writer(f, text(2 * 10**8, 10**8))])
    right(s[7], "gpu", 2e8)
    near(val(s[7], "engine", "gpu", "util"), 100 * 1e8 / (8e8 * s[7]["dt"]), 0.2, "util")
    near(val(s[7], "engine", "gpu", "freq"), 5e8, 2e6, "freq")
    (d,), = m.live(steps=[writer(f, text(4 * 10**8, 2 * 10**8))])
    near(val(d, "engine", "gpu", "freq"), 5e8, 2e6, "freq of the device")


@test(f"{R}: cycles over maxfreq are used if neither total cycles nor ns exist")
def _(m):
    def text(c):
        return dump("panthor", 7, f"drm-cycles-panthor:\t{c}", "drm-maxfreq-panthor:\t1000 MHz")
    f = one_client(m, "panthor", None, text(0))
    s, = m.procs(steps=[writer(f, text(10**8))])
    near(busy(s[7], "panthor"), 100 * 1e8 / (1e9 * s[7]["dt"]), 0.2, "busy")


@test("memory keys that are absent are 0 for a driver that prints only nonzero ones; old values are not kept")
def _(m):
    def text(*lines):
        return dump("panfrost", 7, "drm-total-memory:\t8 MiB", "drm-shared-memory:\t0", *lines)
    f = one_client(m, "panfrost", None, text("drm-active-memory:\t4 MiB", "drm-resident-memory:\t6 MiB"))
    s = m.procs(steps=[None, writer(f, text())])
    eq(s[0][7]["memory"]["memory"], {"total": 8 << 20, "shared": 0, "resident": 6 << 20, "purgeable": 0,
                                     "active": 4 << 20}, "before")
    eq(s[1][7]["memory"]["memory"], {"total": 8 << 20, "shared": 0, "resident": 0, "purgeable": 0, "active": 0},
       "after")


@test("drm-memory-X and drm-resident-X are the same quantity, and are not added up")
def _(m):
    one_client(m, "amdgpu", XE, dump("amdgpu", 7, "drm-memory-vram:\t8 KiB", "drm-total-vram:\t9 KiB",
                                     "drm-resident-vram:\t8 KiB", "drm-memory-gtt: \t4 KiB", pdev=XE))
    r, = m.json("clients")
    eq((val(r, "memory", "vram", "resident"), val(r, "memory", "gtt", "resident")), (8192, 4096), "resident")
    d, = m.json()
    eq((val(d, "memory", "vram", "resident"), val(d, "memory", "gtt", "resident")), (8192, 4096), "memory of the device")


@test("drm-resident-X is preferred to drm-memory-X; of a repeated key the last one is used")
def _(m):
    lines = ["drm-memory-vram:\t1 KiB", "drm-resident-vram:\t2 KiB", "drm-memory-vram:\t3 KiB",
             "drm-resident-gtt:\t4 KiB", "drm-memory-gtt:\t5 KiB", "drm-memory-cpu:\t6 KiB",
             "drm-memory-cpu:\t7 KiB", "drm-resident-vram:\t8 KiB", "drm-total-vram:\t9 KiB",
             "drm-total-vram:\t10 KiB", *ns(gfx=5), *ns(gfx=6), "drm-engine-capacity-gfx:\t2",
             "drm-engine-capacity-gfx:\t3", "drm-client-id:\t8", "drm-client-name:\tone", "drm-client-name:\ttwo"]
    one_client(m, "amdgpu", XE, dump("amdgpu", 7, *lines, pdev=XE))
    live, = m.json("clients", "-r")
    dumped = decode(m, dump("amdgpu", 7, *lines, pdev=XE))
    for r in live, dumped:
        eq([val(r, "memory", x, "resident") for x in ("vram", "gtt", "cpu")], [8 << 10, 4 << 10, 7 << 10], "resident")
        eq(val(r, "memory", "vram", "total"), 10 << 10, "total")
        eq((val(r, "engine", "gfx", "busy_ns"), val(r, "engine", "gfx", "capacity")), (6, 3), "engine")
        eq((r["client"], r["name"]), (8, "two"), "id and name")


# --- faults of other monitors ------------------------------------------------------------
# The name of each test describes the fault of another monitor. The test fails if gpustat has it.

@test("IGT: a read error is taken for a size")
def _(m):
    one_client(m)
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/6"))
    os.makedirs(m.path("proc/10/fdinfo/6"))  # reads as EISDIR
    m.fd(10, 7, "")
    eq([r["client"] for r in m.json("clients")], [7], "clients")


@test("IGT: the last byte is taken for a newline")
def _(m):
    r = decode(m, dump("i915", 1, *ns(a=5)) + "drm-engine-b:\t1234")
    eq(list(r["engine"]), ["a"], "engines")


@test("IGT: the key enc also matches enc_1")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, "drm-engine-enc_1:\t500 ns", "drm-engine-enc:\t7 ns", pdev=AMD))
    r, = m.json("clients", "-r")
    eq((val(r, "engine", "enc", "busy_ns"), val(r, "engine", "enc_1", "busy_ns")), (7, 500), "busy_ns")
    s, = m.procs(steps=[writer(f, dump("amdgpu", 7, "drm-engine-enc:\t100000007 ns", "drm-engine-enc_1:\t500 ns",
                                       pdev=AMD))])
    right(s[7], "enc", 1e8)
    near(busy(s[7], "enc_1"), 0, 0.01, "busy of enc_1")


@test("IGT: exactly one byte is skipped after ':'")
def _(m):
    r = decode(m, "drm-driver:xe\ndrm-client-id:5\ndrm-engine-a:5 ns\ndrm-engine-b: \t6 ns\ndrm-engine-c:\t \t7 ns \n"
                  "drm-total-x:8\ndrm-pdev: \t 0000:03:00.0 \n")
    eq((r["driver"], r["client"], r["pdev"]), ("xe", 5, "0000:03:00.0"), "head")
    eq([val(r, "engine", e, "busy_ns") for e in "abc"] + [val(r, "memory", "x", "total")], [5, 6, 7, 8], "values")


@test("IGT: engines are indexed by their order in this read")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(compute=5e12), pdev=AMD))
    s = m.procs(steps=[writer(f, dump("amdgpu", 7, *ns(gfx=1e8, compute=5e12), pdev=AMD)),
                       writer(f, dump("amdgpu", 7, *ns(compute=5e12, dec=5e7, gfx=1e8), pdev=AMD))])
    right(s[0][7], "gfx", 1e8, "gfx")
    right(s[0][7], "compute", 0, "compute")
    right(s[1][7], "dec", 5e7, "dec")
    right(s[1][7], "gfx", 0, "gfx, moved")
    right(s[1][7], "compute", 0, "compute, moved")


@test("IGT: a process that vanishes between fdinfo and stat aborts the tool")
def _(m):
    m.device("i915", I915)
    for pid, text in ((10, ""), (11, "no parenthesis"), (12, "12 (x"), (13, "13 (x) S"), (14, ")"), (15, "\0" * 50)):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        m.write(f"proc/{pid}/stat", text)
    eq([r["client"] for r in m.json("clients")], [10, 11, 12, 13, 14, 15], "clients")


@test("IGT: comm is cut at the first ')'")
def _(m):
    one_client(m, comm="a) b) (c")
    eq(m.json("clients")[0]["comm"], "a) b) (c", "comm")


@test("IGT: more than 16 engines or regions fail an assertion")
def _(m):
    lines = [f"drm-engine-e{i}:\t{i} ns" for i in range(60)] + [f"drm-total-r{i}:\t{i} KiB" for i in range(60)]
    one_client(m, text=dump("i915", 7, *lines, pdev=I915))
    for r in (m.json("clients", "-r")[0], m.json("-r")[0]):
        eq([val(r, "engine", f"e{i}", "busy_ns") for i in range(60)], list(range(60)), "engines")
        eq([val(r, "memory", f"r{i}", "total") for i in range(60)], [i << 10 for i in range(60)], "regions")


@test("IGT: the file `profiling` is written to")
def _(m):
    dev = m.device("panthor", files={"profiling": "0\n"})
    m.fd(10, 5, dump("panthor", 7, "drm-maxfreq-panthor:\t1000 MHz"))
    before = os.stat(m.path(f"{dev}/profiling")).st_mtime_ns
    d, = m.json()
    eq(busy(d, "panthor"), None, "busy with profiling off")
    r = m.run("list")
    check(b"profiling" in r.out, f"list must mention profiling: {r.out!r}")
    with open(m.path(f"{dev}/profiling"), encoding="ascii") as f:
        eq(f.read(), "0\n", "profiling")
    eq(os.stat(m.path(f"{dev}/profiling")).st_mtime_ns, before, "modification time of the file")


@test("IGT: percentages are computed from the nominal delay")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))

    (d,), = m.live(steps=[writer(f, dump("i915", 7, *ns(render=2e8), pdev=I915))], interval=0.2, late={0: 0.5})
    near(d["dt"], 0.7, 0.001, "dt")
    right(d, "render", 2e8)


@test("nvtop: only memory sizes in KiB are parsed")
def _(m):
    one_client(m, "xe", XE, dump("xe", 7, "drm-total-vram0:\t16 MiB", "drm-resident-vram0:\t16 MiB",
                                 "drm-total-gtt:\t4097", "drm-resident-gtt:\t4097", pdev=XE))
    r, = m.json("clients")
    eq((val(r, "memory", "vram0", "total"), val(r, "memory", "gtt", "total")), (16 << 20, 4097), "total")


@test("nvtop: a client of another driver on the same machine is counted")
def _(m):
    m.device("v3d", card=0, render=128)
    m.device("msm", card=1, render=129)
    m.fd(10, 5, dump("v3d", 7, "drm-engine-render: \t5 ns"))
    m.fd(10, 6, dump("msm", 7, "drm-engine-gpu:\t6 ns", "drm-cycles-gpu:\t8", "drm-maxfreq-gpu:\t800000000 Hz"),
         "/dev/dri/renderD129")
    got = {r["driver"]: r["engine"] for r in m.json("-r")}
    eq(sorted(got["v3d"]), ["render"], "engines of v3d")
    eq({k: got["msm"]["gpu"].get(k) for k in ("busy_ns", "cycles", "maxfreq")},
       {"busy_ns": 6, "cycles": 8, "maxfreq": 800000000}, "msm")


@test("nvtop: only the first DRM descriptor of each process is read")
def _(m):
    m.device("i915", I915)
    m.process(10)
    for n in range(5):
        m.fd(10, 20 + n, dump("i915", 100 + n, pdev=I915))
    eq([r["client"] for r in m.json("clients")], [100, 101, 102, 103, 104], "clients")


@test("nvtop: any GPU in slot 0000:00:02.0 is taken for an integrated one")
def _(m):
    # a discrete card that is passed through to a virtual machine can have this slot
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, "drm-resident-system0:\t512 MiB", "drm-total-system0:\t512 MiB",
                     "drm-resident-local0:\t96 MiB", "drm-total-local0:\t96 MiB", pdev=I915))
    line = m.run("-H", "-w", "0.02").out.split()
    check(b"96M" in line, f"video memory in {line}")


@test("nvtop: energy is truncated to 32 bits")
def _(m):
    t = os.path.join(TREES, "xe")
    if not os.path.isdir(t):
        raise Skip("no tests/trees/xe")
    r = run(["-w", "0.02", "-o", "json", "--proc", f"{t}/proc", "--sys", f"{t}/sys"])
    d, = parse_json(r.out)
    near(d["energy"]["card"], 812345.678901, 1e-6, "energy")


@test("qmassa: a process whose name is not UTF-8 is skipped")
def _(m):
    one_client(m, comm=b"\xff\xfe")
    eq(m.json("clients")[0]["comm"], "\ufffd\ufffd", "comm")


@test("qmassa: an unparsable drm- line drops the whole file")
def _(m):
    bad = ["drm-engine-a:\t12abc ns", "drm-engine-b:\t", "drm-engine-c:", "drm-total-x:\tmany KiB",
           "drm-engine-:\t5 ns"]
    one_client(m, text=dump("i915", 7, *bad, *ns(render=5), pdev=I915))
    r, = m.json("clients", "-r")
    eq(val(r, "engine", "render", "busy_ns"), 5, "busy_ns")
    eq(decode(m, dump("i915", 7, *bad, *ns(render=5)))["skipped"], 5, "skipped")


@test("amdgpu_top: one vanished descriptor corrupts all later ones")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10)
    m.fd(10, 4, None)
    m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5), pdev=AMD))
    m.fd(10, 6, None)
    m.fd(10, 7, dump("amdgpu", 8, *ns(gfx=5), pdev=AMD))
    m.fd(11, 7, dump("amdgpu", 9, *ns(gfx=5), pdev=AMD))
    eq([r["client"] for r in m.json("clients")], [7, 8, 9], "clients")


@test("amdgpu_top: previous values are kept per PID, so the sum decreases when a client closes")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10)
    keep = m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=1e9), pdev=AMD))
    m.fd(10, 6, dump("amdgpu", 8, *ns(gfx=7e9), pdev=AMD))

    def step():
        m.close(10, 6)
        rewrite(keep, dump("amdgpu", 7, *ns(gfx=1.1e9), pdev=AMD))
    s = m.live(steps=[None, step])
    right(s[1][0], "gfx", 1e8, tol=3)
    eq(s[1][0]["clients"], 1, "clients")


@test("amdgpu_top: the sum jumps when a busy client is inherited")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10)
    a = m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5e12), pdev=AMD))

    def step():
        m.process(20, "child", 5000)
        m.fd(20, 5, dump("amdgpu", 7, *ns(gfx=5e12 + 1e8), pdev=AMD))
        rewrite(a, dump("amdgpu", 7, *ns(gfx=5e12 + 1e8), pdev=AMD))
    s = m.live(steps=[None, step])
    right(s[1][0], "gfx", 1e8, tol=3)


@test("amdgpu_top: KiB is expected in a fixed column")
def _(m):
    r = decode(m, dump("amdgpu", 7, "drm-memory-vram:      2068 KiB", "drm-memory-gtt:\t  8 MiB",
                       "drm-memory-cpu:7 KiB "))
    eq([val(r, "memory", x, "resident") for x in ("vram", "gtt", "cpu")], [2068 << 10, 8 << 20, 7 << 10], "resident")


@test("amdgpu_top: the first holder in /proc is shown as the owner of a shared client")
def _(m):
    m.device("amdgpu", AMD)
    m.process(1, "systemd", 1)
    m.process(5, "wayland-sess", 900)
    m.process(600, "compositor", 300)
    for pid in (1, 5, 600):
        m.fd(pid, 5, dump("amdgpu", 7, pdev=AMD))
    eq(m.json("clients")[0]["pid"], 600, "pid")


@test("htop: a client counts once per process, so sums exceed 100 %")
def _(m):
    m.device("i915", I915)
    files = [m.fd(p, 5, dump("i915", 7, *ns(render=0, copy=0), pdev=I915)) for p in (10, 20)]

    def step():
        for f in files:
            rewrite(f, dump("i915", 7, *ns(render=4e8, copy=4e8), pdev=I915))
    (d,), = m.live(steps=[step])
    right(d, "render", 4e8, tol=3)
    right(d, "copy", 4e8, tol=3)


@test("htop: engines of xe are always 0 %")
def _(m):
    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    f = one_client(m, "xe", XE, text(0, 1000))
    (d,), = m.live(steps=[writer(f, text(700, 2000))])
    near(busy(d, "rcs"), 70, 0.01, "busy")


@test("htop: an fdinfo file of 4096 bytes or more is skipped")
def _(m):
    for size in (4095, 4096, 4097, 8192):
        text = dump("i915", 7, *ns(render=5))
        text += "x:" + "y" * (size - len(text) - 3) + "\n"
        eq(len(text), size, "length of the text that the test made")
        eq(val(decode(m, text), "engine", "render", "busy_ns"), 5, f"busy_ns in {size} bytes")


@test("resources: the second of two clients on one node is lost")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), "drm-resident-system0:\t4 KiB", "drm-total-system0:\t4 KiB", pdev=I915))
    m.fd(10, 6, dump("i915", 8, *ns(render=6), "drm-resident-system0:\t8192", "drm-total-system0:\t8192", pdev=I915))
    d, = m.json("-r")
    eq((d["clients"], val(d, "engine", "render", "busy_ns"), val(d, "memory", "system0", "resident")), (2, 11, 12288),
       "clients, sums")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_clients.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
