#!/usr/bin/env python3
# t_faults.py PROG - regression tests: the name of each describes a fault that was found by trying
# to break the program, and that is fixed. The machines are file trees, see tests/machine.py. Prints
# TAP; exit 0 if all tests pass. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import contextlib
import csv
import fcntl
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import clock  # noqa: E402
import machine  # noqa: E402
import tap  # noqa: E402
from machine import (AMD, FORMATS, I915, TREES, XE, Machine, Skip, check, dump, eq,  # noqa: E402
                     near, ns, one_client, parse_csv, parse_json, parse_logfmt, rewrite, run, strict, val, wait_asleep)

TESTS = []
NPU = "0000:00:0b.0"
STAT = ["min", "avg", "max"]


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


# --- small tools ----------------------------------------------------------------------------------

def more(m, name):
    """Makes another machine for the same test."""
    base = m.path(name)
    os.mkdir(base)
    return Machine(base)


def fleet(m, n, text, procs=30):
    """Adds n clients, held by `procs` processes; text(id) is the fdinfo of each. Returns the paths
    of their fdinfo files."""
    files = []
    for p in range(procs):
        m.process(1000 + p)
    for i in range(n):
        d = m.path(f"proc/{1000 + i % procs}")
        os.symlink("/dev/dri/renderD128", f"{d}/fd/{3 + i // procs}")
        files.append(f"{d}/fdinfo/{3 + i // procs}")
        with open(files[-1], "w", encoding="ascii") as f:
            f.write(text(i + 1))
    return files


def ends_well(r, what=""):
    eq(r.code, 0, f"exit code {what} ({r!r})")
    return r


def limited(m, n, *args, how=""):
    """Runs the program with a limit of n descriptors; how="-S" sets only the soft limit."""
    r = run_as(["sh", "-c", f'ulimit {how} -n {n} && exec "$@"', "sh", machine.PROG, *args, *m.roots()])
    if b"some files could not be read: Too many open files (RLIMIT_NOFILE)\n" in r.err and r.code == 1:
        r.code = 0  # a failed read is reported with exit code 1, or 0 if only sensors are missing
    return ends_well(r, f"with {n} descriptors, {args}")


def run_as(words, timeout=60, **kw):
    t = time.monotonic()
    try:
        p = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=timeout, **kw)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{words[-8:]}: still runs after {timeout} s") from None
    return machine.Ran(p.returncode, p.stdout, p.stderr, time.monotonic() - t)


def samples_of(recs):
    s = {}
    for r in recs:
        s.setdefault(r["time"], []).append(r)
    return [s[t] for t in sorted(s)]


def traced(m, args, tree=None, timeout=60):
    """Returns the opens and reads in the log of strace, as (seconds, call, path), and the records."""
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    log = m.path("strace.log")
    where = m.roots() if tree is None else ["--proc", f"{tree}/proc", "--sys", f"{tree}/sys"]
    r = run_as(["strace", "-ttt", "-y", "-e", "trace=openat,open,pread64,read", "-o", log, machine.PROG, *args, "-o",
                "json", *where], timeout)
    if r.code != 0:
        raise Skip(f"strace: {r.err[-80:]!r}")
    got = []
    with open(log, encoding="utf-8", errors="replace") as f:
        for line in f:
            k = re.match(r"(\d+\.\d+) (open|openat|pread64|read)\((.*)", line)
            if k:
                got += [(float(k.group(1)), k.group(2), path) for path in re.findall(r'[<"]([^">]*)[">]', k.group(3))]
    return got, parse_json(r.out)


def at_each(m, *args, files, interval=0.25):
    """Runs the program while files change: calls files[k] before sample k."""
    return m.live(*args, steps=files, interval=interval)


# --- descriptors ----------------------------------------------------------------------------------

CHANNELS, GPUS, CLIENTS = 60, 4, 300


def many_files(m):
    for c in range(GPUS):
        d = m.device("amdgpu", f"0000:0{c + 1}:00.0", card=c, render=128 + c)
        for i in range(CHANNELS):
            m.write(f"{d}/hwmon/hwmon{c}/temp{i + 1}_input", "40000\n")
    fleet(m, CLIENTS, lambda i: dump("amdgpu", i, *ns(gfx=i), pdev="0000:01:00.0"), procs=CLIENTS)


@test("too few descriptors: missing clients were not counted as dropped")
def _(m):
    many_files(m)
    for n in (8, 12, 24, 64, 110, 250):
        for args in (["-r"], ["-w", "0.05"], ["0.1", "4"], ["--sweep", "0", "0.05", "3"]):
            for d, *_rest in samples_of(parse_json(limited(m, n, *args, "-o", "json").out)):
                what = f"{n} descriptors, {args}: {d['clients']} clients, {d['dropped']} dropped, " \
                       f"{d['unreadable']} unreadable"
                check(d["clients"] or d["dropped"] or d["unreadable"], what)
                check(d["clients"] != 0, f"{what}: the number of clients is unknown, not 0")
                if n >= 64:
                    eq(d["clients"], CLIENTS, what)
        if n >= 64:
            for s in samples_of(parse_json(limited(m, n, "clients", "0.1", "3", "-o", "json").out)):
                eq(len(s), CLIENTS, f"records of clients with {n} descriptors")
    # the program raises its soft limit to the hard limit
    d = parse_json(limited(m, 64, "-r", "-o", "json", how="-S").out)
    eq((d[0]["clients"], sum(len(x["temp"]) for x in d)), (CLIENTS, CHANNELS * GPUS), "with a soft limit only")


@test("too few descriptors: missing sensors were counted as dropped only in the first sample")
def _(m):
    many_files(m)
    for n in (24, 64, 250):
        for args in (["-r"], ["-w", "0.05"], ["0.1", "4"]):
            for s in samples_of(parse_json(limited(m, n, *args, "-o", "json").out)):
                temps = sum(len(d["temp"]) for d in s)
                check(temps + s[0]["dropped"] >= CHANNELS * GPUS,
                      f"{n} descriptors, {args}: {temps} temperatures, {s[0]['dropped']} dropped")


@test("too few descriptors: --sweep all reported processes as unreadable")
def _(m):
    many_files(m)
    for n in (9, 10, 11, 12):
        r = limited(m, n, "--sweep", "all", "0.05", "3", "-v", "-o", "json")
        check(b"processes cannot be read" not in r.err, f"{n} descriptors: said {r.err!r}")
        for d, *_rest in samples_of(parse_json(r.out)):
            check(d["unreadable"] == 0 and (d["dropped"] or d["clients"] == CLIENTS), f"{n} descriptors: "
                  f"{d['unreadable']} unreadable, {d['dropped']} dropped, {d['clients']} clients")


@test("--sweep 0: closed descriptors of a suspended device were kept and counted")
def _(m):
    m.device("xe", XE, state="suspended")
    m.fd(10, 3, dump("xe", 7, pdev=XE))
    node = m.path("proc/1/root/dev/dri/renderD128")
    os.makedirs(os.path.dirname(node))

    def closed():
        os.unlink(m.path("proc/10/fd/3"))
        with open(node, "w", encoding="ascii"):
            pass
    s = m.live("--sweep", "0", steps=[None, closed, None, None])
    eq([d["clients"] for d, in s], [None, 0, 0, 0], "clients")


# --- devices that appear and disappear ------------------------------------------------------------

def changing(m, held):
    m.device("i915", I915, card=5, render=133)
    d = m.device("amdgpu", AMD, card=0, render=None, files={"hwmon/hwmon0/temp1_input": "40000\n"})
    if held:
        m.fd(10, 3, dump("amdgpu", 7, *ns(gfx=5), pdev=AMD), "/dev/dri/card0")
    return d


def shown(samples):
    return [sorted(r["dev"] for r in s) for s in samples]


@test("a device was lost if its minor number changed between two samples")
def _(m):
    for held in (False, True):
        k = more(m, f"held{held}")
        d = changing(k, held)

        def renumber():
            os.unlink(k.path("sys/class/drm/card0"))
            os.unlink(k.path("sys/dev/char/226:0"))
            shutil.rmtree(k.path(d, "drm/card0"))
            k.node(d, "drm", "card1", (226, 1))
        s = at_each(k, files=[None, renumber, None, None, None])
        eq(shown(s), [["card0", "card5"]] + [["card1", "card5"]] * 4, f"devices (held: {held})")
        for x in s:
            amd, = (r for r in x if r["driver"] == "amdgpu")
            eq(list(amd["temp"].values()), [40.0], f"temperature of {amd['dev']}")
            eq(amd["clients"], int(held), "clients")


@test("devices that exchanged their minor numbers were shown with each other's sensors and state")
def _(m):
    at = {}
    for c, (pdev, temp, state) in enumerate(((XE, 40, "active"), (AMD, 50, "suspended"))):
        at[c] = m.device("amdgpu", pdev, card=c, render=None, state=state,
                         files={"hwmon/hwmon0/temp1_input": f"{temp}000\n", "mem_info_vram_used": f"{temp}\n"})

    def swap():
        for c in (0, 1):
            os.unlink(m.path(f"sys/class/drm/card{c}"))
            os.unlink(m.path(f"sys/dev/char/226:{c}"))
            shutil.rmtree(m.path(at[c], f"drm/card{c}"))
        for c in (0, 1):
            m.node(at[c], "drm", f"card{1 - c}", (226, 1 - c))
    s = at_each(m, files=[None, swap, None, None])
    awake, asleep = (XE, "active", 40, 40.0), (AMD, "suspended", 50, None)
    for k, x in enumerate(s):
        got = [(r["dev"], r["pdev"], r["state"], r["vram"]["used"], *(list(r["temp"].values()) or [None])) for r in x]
        want = [awake, asleep] if k == 0 else [asleep, awake]
        eq(got, [(f"card{c}", *w) for c, w in enumerate(want)], f"devices of sample {k}")


@test("a device was lost if its nodes were removed and created again while a client held it")
def _(m):
    for held in (True, False):
        k = more(m, f"held{held}")
        changing(k, held)
        hidden = k.path("hidden")

        def hide():
            os.rename(k.path("sys/class/drm/card0"), hidden)

        def back():
            os.rename(hidden, k.path("sys/class/drm/card0"))
        s = at_each(k, files=[None, hide, None, back, None, None])
        both = ["card0", "card5"]
        eq(shown(s), [both, ["card5"], ["card5"], both, both, both], f"devices (held: {held})")
        for x in (s[0], s[3], s[4], s[5]):
            eq((list(x[0]["temp"].values()), x[0]["clients"]), ([40.0], int(held)), "temperature, clients")


def handed_on(m):
    """Adds client 7. The returned function passes it to process 5000, which the rescan does not
    reach in one sample."""
    m.device("i915", I915)
    for pid in (10, 5000):
        m.process(pid)
    m.fd(10, 3, dump("i915", 7, *ns(render=5), pdev=I915))
    for pid in range(100, 150):
        m.process(pid)
        for fd in range(200):
            os.symlink("/dev/null", m.path(f"proc/{pid}/fd/{fd}"))

    def hand_on():
        m.fd(5000, 3, dump("i915", 7, *ns(render=10**9 + 5), pdev=I915))
        m.close(10, 3)
    return hand_on


@test("a client that was passed on became a new client if its holder was found one sample later", slow=True)
def _(m):
    hand_on = handed_on(m)
    m.process(11)
    m.fd(11, 3, dump("i915", 8, *ns(render=5), pdev=I915))  # a second client, so that every sample has a record
    s = m.procs("--sweep", "0", steps=[None, hand_on, None, None, None, None], interval=0.5)
    known = [x[7] for x in s if 7 in x]
    eq([r["pid"] for r in known], [10] + [5000] * (len(known) - 1), "holders in the samples that have the client")
    check(len(known) > 2, f"{len(known)} samples have the client")
    near(known[1]["engine"]["render"]["busy"] / 100 * known[1]["dt"], 1, 0.01, "busy seconds over the samples without the client")


@test("a client that was passed on and had no known holder was counted in its device but had no record", slow=True)
def _(m):
    def shown():
        return [(x[0]["clients"], x[0]["engine"].get("render", {}).get("busy")) for x in
                m.live("--sweep", "0", steps=[None, hand_on, None, None, None, None], interval=0.3)]
    hand_on = handed_on(m)
    alone = shown()
    check((None, None) in alone and (0, 0.0) not in alone, f"the number of clients is unknown until its holder is found: {alone}")
    eq((alone[0][0], alone[-1][0]), (1, 1), f"clients before and after: {alone}")
    m.close(5000, 3)
    m.fd(10, 3, dump("i915", 7, *ns(render=5), pdev=I915))
    m.process(11)
    m.fd(11, 3, dump("i915", 8, *ns(render=5), pdev=I915))
    two = [x[0] for x in shown()]
    eq((two[0], min(two), two[-1]), (2, 1, 2), f"clients, of which one has no known holder for some samples: {two}")


@test("an unplugged device with open descriptors was shown as 226:0")
def _(m):
    m.device("i915", I915, card=5, render=133)
    amd = m.device("amdgpu", AMD, card=0, render=128)
    text = dump("amdgpu", 7, *ns(gfx=5), pdev=AMD)
    m.fd(10, 3, text, "/dev/dri/card0")
    m.fd(10, 4, dump("amdgpu", 8, *ns(gfx=5), pdev=AMD), "/dev/dri/renderD128")

    def unplug():
        for n in ("card0", "renderD128"):
            os.unlink(m.path(f"sys/class/drm/{n}"))
        for n in ("226:0", "226:128"):
            os.unlink(m.path(f"sys/dev/char/{n}"))
        os.rename(m.path(amd), m.path("unplugged"))

    def fork():
        m.fd(20, 3, text, "/dev/dri/card0")
        m.fd(20, 4, dump("amdgpu", 8, *ns(gfx=5), pdev=AMD), "/dev/dri/renderD128")
    s = at_each(m, files=[None, unplug, fork, None, None])
    eq(shown(s), [["card0", "card5"]] + [["card5"]] * 4, "devices")


@test("a descriptor number that was reused from an NVIDIA node for a DRM node was missed")
def _(m):
    m.device("i915", I915)
    m.write("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA X\nDevice Minor: \t 0\n")
    m.fd(10, 3, "pos:\t0\nflags:\t02\nmnt_id:\t9\n", "/dev/nvidia0")
    text = dump("i915", 7, *ns(render=5), pdev=I915)

    def anew():
        m.close(10, 3)
        m.fd(10, 3, text)
    s = m.procs(steps=[None, anew, None, None], interval=0.25)
    for x in s[1:]:
        eq([(r["dev"], r["client"], r["pid"]) for r in x.values()], [("card0", 7, 10)], "clients")


@test("a descriptor that moved to another GPU with an equal client id kept the old device")
def _(m):
    for in_place in (False, True):
        k = more(m, f"place{in_place}")
        k.device("i915", I915)
        k.device("i915", XE, card=1, render=129)
        f = k.fd(10, 3, dump("i915", 7, *ns(render=5), pdev=I915))

        def move():
            if in_place:  # dup2(): an open fdinfo file shows the new file of the descriptor
                os.unlink(k.path("proc/10/fd/3"))
                os.symlink("/dev/dri/renderD129", k.path("proc/10/fd/3"))
                rewrite(f, dump("i915", 7, *ns(render=9), pdev=XE))
            else:
                k.close(10, 3)
                k.fd(10, 3, dump("i915", 7, *ns(render=9), pdev=XE), "/dev/dri/renderD129")
        s = k.live("clients", steps=[None, move, None, None], interval=0.25)
        eq([[(r["dev"], r["pdev"], r["client"]) for r in x] for x in s],
           [[("card0", I915, 7)]] + [[("card1", XE, 7)]] * 3, f"clients (in place: {in_place})")


@test("600 nodes that are not in /sys: devices beyond the table were not counted as dropped")
def _(m):
    m.device("i915", I915)
    for i in range(600):
        m.fd(10, 3 + i, dump("i915", i + 1, *ns(render=5)), f"/dev/dri/renderD{200 + i}")
    for args in (["-r"], ["-w", "0.05"], ["0.1", "3"]):
        for s in samples_of(parse_json(ends_well(m.run(*args, "-o", "json")).out)):
            check(len(s) <= 513, f"{len(s)} devices")
            eq(len(s) - 1 + s[0]["dropped"], 600, f"devices shown and dropped {args} ({len(s)} shown)")
            eq(sum(r["clients"] for r in s), len(s) - 1, "clients")


@test("600 devices in /sys: 512 are shown, and the others are counted")
def _(m):
    for i in range(600):
        m.device("amdgpu", f"{i // 32:04x}:{i % 32:02x}:00.0", card=i, render=1000 + i, files={"gpu_busy_percent": "37\n"})
    for args in ([], ["-r"], ["list"]):
        r = ends_well(m.run(*args, *([] if args else ["-w", "0.02"]), "-o", "json"))
        got = parse_json(r.out)
        eq((len(got), len({d["dev"] for d in got}), got[0]["dropped"]), (512, 512, 88), f"{args}: devices shown and dropped")
        check(b"devices: room for " in r.err, f"{args}: {r.err!r}")
    r = m.run("check", "-m", "busy", "-c", "90")
    check(r.code == 3 and b"left out" in r.out, f"check: {r!r}")
    shown = got[0]["dev"]
    eq([d["dev"] for d in m.json("-d", shown)], [shown], "-d")
    ends_well(m.run("counters", "*", "-w", "0.02"))  # took 47 s: class/drm was listed for each pair of devices


@test("links of /sys and /proc that form loops: every command ends, and the other device has its values")
def _(m):
    dev = m.device("amdgpu", AMD, files={"gpu_busy_percent": "37\n"})
    m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5), pdev=AMD))
    for target, *paths in (
            ("card9", "sys/class/drm/card9"), ("card8", "sys/class/drm/card7"), ("card7", "sys/class/drm/card8"),
            ("..", "sys/class/drm/up", f"{dev}/gt", "proc/22"), ("../../class", "sys/class/drm/card5"), ("226:9", "sys/dev/char/226:9"),
            ("hwmon8", f"{dev}/hwmon/hwmon8"), ("../..", f"{dev}/hwmon/hwmon9", "sys/class/drm/renderD201"), ("21", "proc/21"),
            (".", "sys/class/drm/card6", f"{dev}/hwmon/hwmon7", f"{dev}/tile0", "sys/class/hwmon/hwmon5", "sys/class/thermal/thermal_zone0",
             "sys/class/devfreq/1.gpu", "sys/class/kgsl/kgsl-3d0", "sys/class/misc/mali0", "sys/class/accel/accel0",
             "sys/bus/platform/devices/17000000.gv11b", "sys/bus/event_source/devices/i915", "sys/fs/cgroup/a", "proc/20", "proc/10/task",
             "proc/10/fdinfo/77", "sys/devices/virtual/neuron_device/neuron0/neuron_core0"),
            ("/dev/dri/renderD128", "proc/10/fd/77")):
        for path in map(m.path, paths):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(target, path)
    for args in ([], ["-r"], ["list"], ["procs"], ["clients"], ["cgroups"], ["host"], ["events"], ["counters", "*"], ["doctor"], ["munin"],
                 ["oa", "list"], ["capture", "-O", m.path("c.tar")], ["-d", "card0"]):
        if args and args[0] in tap.left_out(machine.PROG):
            continue
        short = args[:1] in ([], ["procs"], ["clients"], ["cgroups"], ["host"], ["counters"], ["-d"])
        ends_well(m.run(*args, *(["-w", "0.02"] if short else []), timeout=60))
    d, = [r for r in m.json() if r["dev"] == "card0"]
    eq((d["busy"], d["clients"], d["pdev"]), (37.0, 1, AMD), "card0")
    eq([r["client"] for r in m.json("clients")], [7], "clients")


@test("FIFOs in place of files of /proc and /sys: opening them blocked")
def _(m):
    baits = {
        "amdgpu": ("gpu_metrics", "gpu_busy_percent", "mem_info_vram_used", "pp_dpm_sclk", "product_name",
                   "current_link_speed", "hwmon/hwmon0/temp1_input", "hwmon/hwmon0/temp1_label", "hwmon/hwmon0/name"),
        "xe": ("tile0/gt0/freq0/act_freq", "tile0/gt0/freq0/throttle/reasons", "tile0/gt0/gtidle/idle_residency_ms"),
        "i915": ("drm/card2/gt/gt0/rc6_residency_ms", "drm/card2/gt/gt0/throttle_reason_pl1"),
        "v3d": ("gpu_stats",),
        "panfrost": ("profiling", "devfreq/panfrost-unit/load", "devfreq/panfrost-unit/trans_stat",
                     "devfreq/panfrost-unit/cur_freq"),
        "intel_vpu": ("npu_busy_time_us", "freq/current_freq"),
    }
    fifos = []
    for i, (driver, names) in enumerate(baits.items()):
        pdev = f"0000:0{i + 1}:00.0" if driver not in ("v3d", "panfrost") else None
        d = m.device(driver, pdev, card=i, render=128 + i)
        os.unlink(m.path(d, "power/runtime_status"))
        fifos += [f"{d}/{n}" for n in ("power/runtime_status", *names)]
    fifos += ["sys/devices/platform/gpu.0/load", "sys/devices/platform/gpu.0/power/runtime_status",
              "sys/class/thermal/thermal_zone0/type", "sys/class/thermal/thermal_zone0/temp",
              "sys/kernel/debug/rknpu/load", "proc/driver/nvidia/gpus/0000:09:00.0/information",
              "proc/driver/nvidia/version", "proc/10/fdinfo/6"]
    m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=5), pdev="0000:01:00.0"), "/dev/dri/renderD128")
    os.symlink("/dev/dri/renderD128", m.path("proc/10/fd/6"))
    for n in ("comm", "cgroup"):
        os.unlink(m.path(f"proc/10/{n}"))
        fifos.append(f"proc/10/{n}")
    for f in fifos:
        os.makedirs(os.path.dirname(m.path(f)), exist_ok=True)
        os.mkfifo(m.path(f))
    for args in (["-r"], ["list"], ["clients", "0.05", "2"], ["cgroups", "-w", "0.05"]):
        r = ends_well(m.run(*args, "-o", "json", timeout=60))
        check(parse_json(r.out) or "cgroups" in args, f"no record of {args}")


@test("throttling of the second GT was hidden by a 0 of the first GT")
def _(m):
    for values in ("01", "10", "00", "11"):
        k = more(m, f"v{values}")
        xe = k.device("xe", XE)
        i915 = k.device("i915", I915, card=1, render=129)
        for gt, v in enumerate(values):
            other = str(1 - int(v))
            for n, text in (("pl1", v), ("thermal", other), ("status", "1")):
                k.write(f"{xe}/tile0/gt{gt}/freq0/throttle/{'reason_' if n != 'status' else ''}{n}", text + "\n")
                k.write(f"{i915}/drm/card1/gt/gt{gt}/throttle_reason_{n}", text + "\n")
        want = sorted({"pl1"} & {"pl1" for v in values if v == "1"} | {"thermal" for v in values if v == "0"})
        for args in (["-r"], ["-w", "0.02"]):
            for r in k.json(*args):
                eq(sorted(set(r["throttle"]) - {"status"}), want, f"throttle of {r['driver']}, gt0 gt1: {values}")

    def cool():  # throttling ends
        rewrite(k.path(xe, "tile0/gt1/freq0/throttle/reason_pl1"), "0\n")
        rewrite(k.path(xe, "tile0/gt0/freq0/throttle/reason_pl1"), "0\n")
    s = k.live("-d", "driver:xe", steps=[None, cool, None], interval=0.25)
    eq(["pl1" in x[0]["throttle"] for x in s], [True, False, False], "pl1 over time")


@test("suspended Jetson and Rockchip: `load` was opened to find the device")
def _(m):
    for name in ("jetson", "rockchip"):
        if not os.path.isdir(os.path.join(TREES, name, "sys")):
            raise Skip("no tests/trees")
        tree = m.path(name)
        shutil.copytree(os.path.join(TREES, name), tree, symlinks=True)
        for d, _dirs, files in os.walk(f"{tree}/sys/devices"):
            if "runtime_status" in files:
                with open(f"{d}/runtime_status", "w", encoding="ascii") as f:
                    f.write("suspended\n")
        for args in (["-w", "0.05"], ["-r"], ["list"], ["clients", "0.05", "2"]):
            got, recs = traced(m, args, tree)
            # the folder of the checkout may have this name too
            bad = {p for _t, _call, p in got if p.endswith("/load") and "debug" not in p and p != os.getcwd()}
            check(not bad, f"{name} {args}: opened {bad}")
            if args[0] in ("-r", "list"):
                check(any(r["state"] == "suspended" for r in recs), f"{name}: not found: {recs}")


@test("the NPU's busy counter was read in every sample, not once per second")
def _(m):
    d = m.device("intel_vpu", NPU, card=None, render=None, accel=0, files={"npu_busy_time_us": "10000000\n"})
    counter = m.path(d, "npu_busy_time_us")

    def at_half_load(*args):
        """Runs with an NPU that is half busy. Returns the times in ns at which the counter was
        read, and the records."""
        rewrite(counter, "10000000\n")
        with m.driven(*args, "-o", "json", watch=counter) as p:
            base = p.now
            while p.sleep():
                p.wake()
                rewrite(counter, f"{10**7 + (p.now - base) // 2000}\n")
        ends_well(p)
        return p.watched, parse_json(p.out)
    reads, recs = at_half_load("0.2", "13")
    check(2 <= len(reads) <= 4, f"{len(reads)} readings in 2.6 s: {[t - reads[0] for t in reads]}")
    for a, b in zip(reads[1:], reads[2:]):
        check(b - a >= 0.99 * clock.NS, f"read again after {b - a} ns")
    values = [r["busy"] for r in recs if r["busy"] is not None]
    check(values, "no value in the whole run")
    for v in values:
        near(v, 50, 1, "busy")
    near(at_half_load("-w", "0.3")[1][0]["busy"], 50, 1, "busy of the one-shot run")


# --- clients --------------------------------------------------------------------------------------

@test("file locks before the drm- keys hid a client; lost lines were not counted as dropped")
def _(m):
    m.device("i915", I915)
    lock = "lock:\t1: POSIX  ADVISORY  WRITE 1234 00:10:1234 0 EOF\n"

    def text(v):
        plain = dump("i915", 7, *ns(render=v), pdev=I915)
        at = plain.index("drm-driver:")
        return plain[:at] + lock * 1700 + plain[at:]
    check(len(text(0)) > 90000, "fdinfo is not long enough")
    f = m.fd(10, 5, text(10**9))
    c, = m.json("clients", "-r")
    eq((c["client"], val(c, "engine", "render", "busy_ns")), (7, 10**9), "client")
    s = m.procs(steps=[lambda: rewrite(f, text(10**9 + 10**8)), None], interval=0.4)
    machine.right(s[0][7], "render", 10**8)
    d, = m.json("-r")
    eq((d["clients"], d["dropped"]), (1, 0), "clients, dropped")
    # any number of locks, also between the keys
    rewrite(f, dump("i915", 7, pdev=I915) + lock * 100000 + "drm-engine-render:\t77 ns\n" + lock * 100)
    c, = m.json("clients", "-r")
    eq(val(c, "engine", "render", "busy_ns"), 77, "busy_ns after 5 MB of locks")
    # 5 MB of other lines: the values that were read are correct, the rest is counted as dropped
    line = "other-key-of-some-driver-%06d:\t%020d\n"
    rewrite(f, dump("i915", 7, *ns(render=88), pdev=I915) + "".join(line % (i, i) for i in range(100000)))
    d, = m.json("-r")
    eq((d["clients"], val(d, "engine", "render", "busy_ns")), (1, 88), "clients, busy_ns")
    check(d["dropped"] > 0, "5 MB of other lines: nothing is counted as dropped")


@test("two clients near 2^63 ns and 2^52 bytes: sums wrapped to small numbers")
def _(m):
    m.device("i915", I915)
    big = 2**63 + 5
    for i in (1, 2):
        m.fd(10 + i, 3, dump("i915", i, *ns(render=big), f"drm-total-system0:\t{2**52}",
                             f"drm-resident-system0:\t{2**52}", pdev=I915))
    for args, key in ((["-r"], "dev"), (["cgroups", "-r"], "cgroup")):
        r, = m.json(*args)
        eq([val(r, "memory", "system0", k) for k in ("total", "resident")], [None] * 2, f"memory by {key}")
        check(val(r, "engine", "render", "busy_ns") >= big, f"busy_ns {r['engine']}")
    d, = m.json("-r")
    eq((d.get("used"), d.get("implausible")), (None, None), "used")
    eq([c["used"] for c in m.json("clients", "-r")], [2**52] * 2, "used by each client")


@test("a memory region with an unknown name was not counted as used")
def _(m):
    m.device("panthor", card=0, render=128)
    m.fd(10, 3, dump("panthor", 7, *ns(panthor=5), "drm-resident-pool:\t8 MiB", "drm-total-pool:\t9 MiB"))
    for args in ([], ["clients"], ["-r"], ["clients", "-r"]):
        r, = m.json(*args)
        eq(r["used"], 8 << 20, f"used, {args}")
        out = ends_well(m.run(*args, "-H", *([] if "-r" in args else ["-w", "0.02"]))).out
        check(b" 8.0M " in out, f"MEM, {args}: {out!r}")


@test("-g with a trailing slash, and -g /, did not select the cgroups below")
def _(m):
    m.device("i915", I915)
    for pid, path in ((10, "/user.slice/a.scope"), (20, "/user.slice"), (30, "/user.slicer/b"), (40, "/")):
        m.process(pid, cgroup=f"0::{path}\n")
        m.fd(pid, 3, dump("i915", pid, pdev=I915))
    for sel, want in (("/user.slice/", [10, 20]), ("/user.slice", [10, 20]), ("/user.slice//", [10, 20]),
                      ("/", [10, 20, 30, 40]), ("/user.slice/a.scope/", [10]), ("/user.slice/a.scope/b", []),
                      ("/user.sl", [])):
        eq([r["pid"] for r in m.json("clients", "-r", "-g", sel)], want, f"-g {sel}")


@test("-p, -C and -g were matched by different processes of one client")
def _(m):
    m.device("i915", I915)
    m.process(10, "alpha", cgroup="0::/a\n")
    m.process(20, "beta", cgroup="0::/b\n")
    for pid in (10, 20):
        m.fd(pid, 3, dump("i915", 7, pdev=I915))
    for args, want in ((["-p", "10", "-C", "alpha", "-g", "/a"], 1), (["-p", "20", "-C", "beta", "-g", "/b"], 1),
                       (["-p", "10", "-C", "beta"], 0), (["-p", "10", "-g", "/b"], 0), (["-C", "alpha", "-g", "/b"], 0),
                       (["-p", "10", "-p", "20", "-C", "beta"], 1), (["-p", "30"], 0), (["-g", "/b"], 1)):
        eq(len(m.json("clients", "-r", *args)), want, f"clients with {args}")


@test("cgroups: `dropped` grew from sample to sample")
def _(m):
    m.device("i915", I915)
    for i in range(3):
        m.process(10 + i, cgroup="0::/a\n")
        m.fd(10 + i, 3, dump("i915", i, *[f"drm-engine-e{i}x{k:03}:\t5 ns" for k in range(400)], pdev=I915))
    r = ends_well(m.run("cgroups", "0.05", "5", "-o", "json", "-f", "cgroup,dropped,clients"))
    got = [x["dropped"] for x in parse_json(r.out)]
    eq(len(got), 5, "records")
    check(got[0] > 0, f"nothing is dropped, so that the test is without effect ({got})")
    eq(got[1:], got[1:2] * 4, "dropped over time")


# --- many clients ---------------------------------------------------------------------------------

@test("-s cgroup, -s comm: 1000 long texts were not sorted", slow=True)
def _(m):
    m.device("i915", I915)
    for i in range(1000):
        k = i * 7919 % 100003
        m.process(1000 + i, f"worker-{k:06}", cgroup=f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
                  f"pod{k:08x}_0000_0000_0000_000000000000.slice/cri-containerd-{k:064x}.scope\n")
        m.fd(1000 + i, 3, dump("i915", i + 1, *ns(render=i), pdev=I915))
    for cmd, field in (("clients", "cgroup"), ("clients", "comm"), ("clients", "container"), ("cgroups", "cgroup")):
        got = [r[field] for r in m.json(cmd, "-r", "-s", field)]
        eq(len(set(got)), 1000, f"different texts, {cmd} -s {field}")
        check(got == sorted(got), f"{cmd} -s {field} is not sorted")
        eq([r[field] for r in m.json(cmd, "-r", "-s", field, "-k", "5")], got[:5], f"the first 5, {cmd} -s {field}")


@test("-1 with 3000 clients printed neither the clients nor a message")
def _(m):
    m.device("i915", I915)
    fleet(m, 3000, lambda i: dump("i915", i, *ns(render=i, copy=1, video=2), "drm-total-system0:\t4 KiB",
                                  "drm-resident-system0:\t4 KiB", pdev=I915))
    for args in (["-r"], ["-w", "0.05"]):
        r = ends_well(m.run("clients", "-1", *args, "-o", "json"))
        eq((r.out.count(b"\n"), r.err), (1, b""), f"lines, messages of {args}")
        eq([x["client"] for x in strict(r.out)], list(range(1, 3001)), "clients")
    r = ends_well(m.run("clients", "-1", "-r", "-H"))
    eq((r.out.count(b"\n"), r.out.count(b" | ")), (1, 2999), "line: newlines, separators")


@test("-S: a client in the table entry of an earlier one had the earlier one's minimum and maximum")
def _(m):
    m.device("i915", I915)
    kib = {100: 10**6, 200: 4}
    for pid in (100, 300):
        m.fd(pid, 3, dump("i915", pid, *ns(render=0), f"drm-resident-system0:\t{kib.get(pid, 7)} KiB", pdev=I915))

    def new():
        m.fd(200, 3, dump("i915", 200, *ns(render=0), "drm-resident-system0:\t4 KiB", pdev=I915))
    s = m.live("clients", "-S", steps=[None, lambda: m.gone(100), None, new, None, None], interval=0.25)
    last = {(r["pid"], r["summary"]): r for x in s for r in x if r.get("summary")}
    eq(sorted(last), sorted((p, w) for p in (200, 300) for w in STAT), "rows")
    for (pid, which), r in last.items():
        eq(val(r, "memory", "system0", "resident"), kib.get(pid, 7) << 10, f"{which} of {pid}")


@test("-S: min and avg of totals and of values too large to add were the last values")
def _(m):
    d = m.device("xe", XE, files={"hwmon/hwmon0/energy1_input": "1000000\n"})
    meter = m.path(d, "hwmon/hwmon0/energy1_input")
    f = m.fd(10, 3, dump("xe", 7, f"drm-resident-vram0:\t{10 << 40}", pdev=XE))

    def work():
        rewrite(meter, "2000000\n")
        rewrite(f, dump("xe", 7, f"drm-resident-vram0:\t{12 << 40}", pdev=XE))
    s = m.live("-S", steps=[None, work, lambda: rewrite(meter, "6000000\n")], interval=0.25)
    for r in (r for x in s for r in x if r.get("summary")):
        i = STAT.index(r["summary"])
        check(list(r["energy"].values()) in ([], [None], [(1.0, 3.0, 6.0)[i]]),
              f"energy in {r['summary']}: {r['energy']}")
        got = val(r, "memory", "vram0", "resident")
        check(got is None or got // (1 << 40) == (10, 11, 12)[i], f"resident in {r['summary']}: {got}")


@test("-S with 3000 clients: min, avg and max were the last values", slow=True)
def _(m):
    m.device("i915", I915)
    engines = [f"e{k:02}" for k in range(20)]

    def text(i, sample):
        return dump("i915", i, *[f"drm-engine-{e}:\t0 ns" for e in engines],
                    f"drm-resident-system0:\t{(i + 10000 * sample) * 4096}", pdev=I915)
    files = fleet(m, 3000, lambda i: text(i, 1))

    def grow():
        for i, f in enumerate(files, 1):
            rewrite(f, text(i, 2))
    p = subprocess.Popen([machine.PROG, "clients", "-S", "--on-stdin", "-w", "0.02", "-o", "json", *m.roots()], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    guard = threading.Timer(60, p.kill)
    guard.start()
    p.stdin.write(b"\n")
    p.stdin.flush()
    for _i in range(3000):
        p.stdout.readline()
    grow()
    p.stdin.write(b"\n")
    p.stdin.close()
    out, err = p.stdout.read(), p.stderr.read()
    _pid, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    guard.cancel()
    eq(p.returncode, 0, f"exit code ({err!r})")
    rows = [r for r in parse_json(out) if r.get("summary")]
    eq(len(rows), 9000, "rows of the summary")
    missing = 0
    for r in rows:
        low, high = ((r["client"] + 10000 * k) * 4096 for k in (1, 2))
        want = {"min": low, "avg": (low + high) // 2, "max": high}[r["summary"]]
        got = r["memory"]["system0"]["resident"]
        missing += got is None
        check(got in (None, want), f"{r['summary']} of client {r['client']}: {got}, want {want}")
        check(all(e["busy"] in (None, 0) for e in r["engine"].values()), f"engines {r['engine']}")
    check(not missing or b"values summed up: room for" in err, f"{missing} values missing without a message: {err!r}")
    check(usage.ru_utime + usage.ru_stime < 3, f"{usage.ru_utime:.1f} s + {usage.ru_stime:.1f} s of CPU")


@test("-S: rows were indistinguishable with -t none and with -f; -r -S was accepted")
def _(m):
    one_client(m)
    eq(run(["-r", "-S", *m.roots()]).code, 2, "exit code of -r -S")
    want = [""] * 2 + STAT
    for cmd in ([], ["clients"]):
        for more_args in (["-t", "none"], ["-t", "none", "-f", "dev,driver"], ["-f", "dev,driver"], []):
            for fmt in FORMATS:
                what = f"{cmd} {more_args} {fmt}"
                out = ends_well(m.run(*cmd, "0.02", "2", "-S", *more_args, "-o", fmt)).out
                if fmt in ("json", "logfmt"):
                    recs = parse_json(out) if fmt == "json" else parse_logfmt(out)
                    eq([r.get("summary") or "" for r in recs], want, what)
                elif fmt == "csv" and "-f" not in more_args:
                    names = [r["field"] for r in parse_csv(out) if r["field"].split(".")[0] == "name"]
                    eq([(n.split(".") + [""])[1] for n in names], want, what)
                elif fmt == "csv":
                    rows = list(csv.reader(io.StringIO(out.decode()), strict=True))
                    eq(rows, [["summary", "dev", "driver"]] + [[w, "card0", "i915"] for w in want], what)
                else:
                    rows = [line.split() for line in out.decode().splitlines() if "i915" in line or "card0" in line]
                    eq(len(rows), 5, f"rows of {what}: {out!r}")
                    for row, w in zip(rows, want):
                        eq([x for x in row if x in STAT], [w] if w else [], f"{what}: {row}")


# --- options, dumps, formats ----------------------------------------------------------------------

@test("commands accepted options that they do not have")
def _(m):
    one_client(m)
    f = m.write("a.txt", dump("i915", 7))
    for args in (["list", "-i", "1"], ["list", "-c", "2"], ["list", "-w", "1"], ["list", "-S"],
                 ["list", "--interval=1"], ["fdinfo", "-S", f], ["fdinfo", "-i", "1", f], ["fdinfo", "-p", "1", f],
                 ["fdinfo", "-d", "0", f], ["fdinfo", "-C", "x", f], ["fdinfo", "-g", "/", f],
                 ["fdinfo", "-c", "1", f]):
        r = m.run(*args)
        eq((r.code, r.out), (2, b""), f"exit code, output of {args}")
        check(r.err.startswith(b"gpustat") and r.err.count(b"\n") >= 1, f"message {r.err!r}")
    for args in (["list", "-d", "0"], ["list", "-v"], ["fdinfo", "-r", f], ["fdinfo", "-o", "csv", "-H", f]):
        ends_well(m.run(*args), str(args))


@test("2000 FILE arguments were rejected")
def _(m):
    for i in range(2000):
        m.write(f"d/{i}", dump("i915", i, *ns(render=i)))
    r = ends_well(run(["fdinfo", "-o", "json", *map(str, range(2000))], cwd=m.path("d")))
    eq([(x["file"], x["client"]) for x in parse_json(r.out)], [(str(i), i) for i in range(2000)], "records")
    r = run(["-r", "--proc", m.proc, *["-q"] * 3000, "--sys", m.sys])
    eq(r.code, 3, "exit code with 3000 options")


@test("SIGINT and SIGTERM did not end fdinfo that was waiting for a pipe")
def _(m):
    fifo = m.path("fifo")
    os.mkfifo(fifo)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for name in ("-", fifo):
            p = subprocess.Popen([machine.PROG, "fdinfo", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            try:
                wait_asleep(p.pid)
                p.send_signal(sig)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    p.wait(timeout=60)
                eq(p.poll(), 0, f"exit code after {sig.name}, reading {os.path.basename(name)}")
                eq((p.stdout.read(), p.stderr.read()), (b"", b""), "output")
            finally:
                p.kill()
                p.wait()
                for f in (p.stdin, p.stdout, p.stderr):
                    f.close()


@test("a second SIGTERM did not end a run that was blocked writing to stdout")
def _(m):
    one_client(m)
    r, w = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)
    p = subprocess.Popen([machine.PROG, "0.001", "-o", "json", *m.roots()], stdout=w, stderr=subprocess.DEVNULL)
    try:
        os.close(w)
        until = time.monotonic() + 60
        with open(f"/proc/{p.pid}/syscall", "rb") as f:  # number of write: 1 on x86-64, 4 on i386, 64 on arm64 and riscv64
            while True:
                f.seek(0)
                got = f.read().split()[:2]
                if got[:2] in ([b"1", b"0x1"], [b"4", b"0x1"], [b"64", b"0x1"]):
                    break
                check(time.monotonic() < until, f"the program does not block in write: {got}")
                time.sleep(0.01)
        time.sleep(0.05)
        p.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(timeout=60)
        check(p.poll() is not None, "still runs after the second SIGTERM")
    except PermissionError:
        raise Skip("/proc/PID/syscall may not be read") from None
    finally:
        p.kill()
        p.wait()
        os.close(r)


@test("fdinfo read a pipe twice: <(...), /dev/stdin and FIFOs lost their text")
def _(m):
    text = dump("i915", 7, *ns(render=5), "drm-resident-system0:\t4 KiB", pdev=I915).encode()
    path = m.write("plain.txt", text)
    fifo = m.path("fifo")
    os.mkfifo(fifo)
    for fmt in FORMATS:
        want = ends_well(run(["fdinfo", "-o", fmt, path])).out
        check(b"i915" in want, f"{fmt}: {want!r}")

        def same(r, name, what):
            ends_well(r, what)
            # the file name changes the width of a column, so that only blanks may differ
            eq(r.out.replace(name.encode(), b"NAME").split(), want.replace(path.encode(), b"NAME").split(),
               f"{what} in {fmt}")
        same(run(["fdinfo", "-o", fmt, "/dev/stdin"], stdin=text, timeout=60), "/dev/stdin", "/dev/stdin")
        same(run(["fdinfo", "-o", fmt, "-"], stdin=text, timeout=60), "-", "-")
        r, w = os.pipe()
        os.write(w, text)
        os.close(w)
        try:
            same(run(["fdinfo", "-o", fmt, f"/dev/fd/{r}"], pass_fds=[r], timeout=60), f"/dev/fd/{r}", "<(...)")
        finally:
            os.close(r)
        feeder = subprocess.Popen(["sh", "-c", 'cat "$0" >"$1"', path, fifo])
        try:
            same(run(["fdinfo", "-o", fmt, fifo], timeout=60), fifo, "a FIFO")
            feeder.wait(timeout=60)
        finally:
            feeder.kill()
            feeder.wait()


@test("csv: a row of one empty cell was a blank line; the header was missing or came late")
def _(m):
    m.device("i915", I915)
    # the header is printed once, with and without records
    for cmd in ([], ["clients"], ["cgroups"]):
        for args in (["-r"], ["0.02", "3"], ["-w", "0.02"]):
            rows = parse_csv(ends_well(m.run(*cmd, *args, "-o", "csv")).out)
            check(bool(rows) == (not cmd), f"{len(rows)} rows of {cmd} {args}")
            check(all(r["time"] != "time" for r in rows), f"the header is repeated, {cmd} {args}")
    eq(m.run("clients", "-r", "-o", "csv", "-f", "pid").out, b"pid\n", "-f without a record")
    eq(m.run("clients", "-r", "-o", "csv", "-H").out, b"", "-H without a record")
    for pid in (10, 20):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
    out = ends_well(m.run("clients", "-r", "-o", "csv", "-f", "container")).out
    eq(list(csv.reader(io.StringIO(out.decode()), strict=True)), [["container"], [""], [""]], "empty cells")
    check(b"\n\n" not in out, f"a blank line: {out!r}")
    eq(m.run("clients", "-r", "-H", "-o", "csv", "-f", "container").out, b'""\n""\n', "without a header")
    eq(m.run("clients", "-r", "-H", "-o", "csv", "-f", "container,name").out, b",\n,\n", "two cells")


@test("csv: the header was lost together with a record that was too long")
def _(m):
    m.device("i915", I915)
    m.process(10, cgroup=b"0::/" + b"\x01" * 4090 + b"\n")
    m.fd(10, 3, dump("i915", 1, *[f"drm-engine-e{k}:\t{k} ns" for k in range(200)], pdev=I915))
    m.fd(20, 3, dump("i915", 2, *ns(render=1), pdev=I915))
    r = m.run("clients", "-r", "-o", "csv")
    rows = parse_csv(r.out)  # raises an error without the header
    eq({x["client"] for x in rows}, {"2"}, "clients; the record of client 1 is too long")
    check(all(x["time"] != "time" for x in rows), "the header is repeated")
    eq((r.code, b"a record was left out: it is larger than the output buffer" in r.err), (1, True), f"exit code, message: {r.err!r}")


@test("table: -f changed the order of columns, and hid columns without a value")
def _(m):
    d = one_client(m) and m.path("sys/devices/pci0000:00", I915)
    for fields, want in (("driver,dev", ["driver", "dev"]), ("clients,driver,dev", ["clients", "driver", "dev"]),
                         ("fan,dev", ["fan", "dev"]), ("dev,fan,driver", ["dev", "fan", "driver"]),
                         ("dev,volt,fan", ["dev", "volt", "fan"])):
        lines = ends_well(m.run("-r", "-o", "table", "-f", fields)).out.decode().splitlines()
        eq([x.lower() for x in lines[-2].split()], want, f"header of {fields}")
        cells = {"driver": "i915", "dev": "card0", "clients": "1"}
        eq(lines[-1].split(), [cells.get(w, "-") for w in want], f"cells of {fields}")
    # more columns than the table can hold
    for i in range(300):
        m.write(f"{d}/hwmon/hwmon0/temp{i + 1}_input", f"{i}000\n")
    r = ends_well(m.run("-r", "-o", "table", "-f", "dev,temp"))
    check(len(r.out.splitlines()[-1].split()) == 301 or re.search(rb"\d+ .*columns.* left out", r.err),
          f"{len(r.out.splitlines()[-1].split())} columns, message {r.err!r}")


@test("hwmon labels with any bytes: duplicate keys and invalid logfmt")
def _(m):
    d = m.device("amdgpu", AMD)
    labels = [b"a b", b"\xff", b"\xfe", b"x,y", b"x_y", b"a_b", b"q\"=\\", b"\x1b[31m", b"edge", b"edge", b"\xc2\x9b2J",
              b" "]
    for i, text in enumerate(labels, 1):
        m.write(f"{d}/hwmon/hwmon0/temp{i}_input", f"{i}000\n")
        m.write(f"{d}/hwmon/hwmon0/temp{i}_label", text + b"\n")
    for args in (["-r"], ["-r", "-f", "temp"], ["list"]):
        for fmt in FORMATS:
            out = ends_well(m.run(*args, "-o", fmt)).out
            machine.printable(out)
            if fmt == "json":
                r, = parse_json(out)  # rejects duplicate keys
            elif fmt == "logfmt":
                parse_logfmt(out)
            elif fmt == "csv" and "-f" not in args:
                parse_csv(out)
    r, = m.json("-r")
    t = r["temp"]
    eq([t.get(k) for k in ("edge", "edge_temp9", "edge_temp10")], [None, 9.0, 10.0], "channels with equal names")
    eq([t.get(k) for k in ("a_b_temp1", "a_b_temp6")], [1.0, 6.0], "names that are equal after replacement of characters")
    eq([t.get(k) for k in ("x_y_temp4", "x_y_temp5")], [4.0, 5.0], "names that are equal after replacement of characters")
    check(all(re.fullmatch(r"[!-+\--~]+", k) for k in t), f"names {list(t)}")
    r, = parse_logfmt(m.run("-r", "-o", "logfmt", "-f", "temp").out)
    check({"temp.edge_temp9", "temp.a_b_temp1", "temp.x_y_temp4"} <= set(r), f"keys {sorted(r)}")


# --- time -----------------------------------------------------------------------------------------

@test("the sample after a late sample was taken at once")
def _(m):
    one_client(m)
    step = 0.4
    for at, hold in ((1, 0.95), (1, 0.85), (1, 0.55), (1, 0.45), (2, 1.75), (1, 1.2), (0, 1.52)):
        with m.driven(str(step), "6", "-o", "json") as p:
            dues = p.to_end(late=lambda k: hold * step if k == at else 0)  # noqa: B023
        ends_well(p)
        ks = machine.on_grid(dues, step)
        eq(ks, [k if k <= at else k + round(hold) for k in range(6)], f"samples, {at} of which is {hold} intervals late")
        dts = [r["dt"] for r in parse_json(p.out)]
        check(len(dts) == 6 and min(dts) >= 0.499 * step, f"late {at} by {hold}: dt {dts}")


def tzif(east, name=b"XYZ", rule=b""):
    """Returns a zone file with one UTC offset (RFC 9636)."""
    def block(version):
        return (struct.pack(">4sc15x6I", b"TZif", version, 0, 0, 0, 0, 1, len(name) + 1) +
                struct.pack(">lBB", east, 0, 0) + name + b"\0")
    return block(b"2") * 2 + b"\n" + rule + b"\n"


def compare_clocks(m, zones):
    """Compares the program's time of day with the C library's."""
    one_client(m)
    got = []
    for z in zones:
        env = {k: v for k, v in os.environ.items() if k != "TZ"}
        if z is not None:
            env["TZ"] = z
        before = int(time.time())
        r = ends_well(run(["-r", "-H", *m.roots()], env=env), f"TZ={z}")
        got.append((z, before, int(time.time()), r.out.split()[0].decode()))
    script = """if 1:
        import json, os, sys, time
        for z, a, b, _ in json.load(sys.stdin):
            os.environ.pop("TZ", None)
            if z is not None:
                os.environ["TZ"] = z
            time.tzset()
            print(json.dumps([time.strftime("%H:%M:%S", time.localtime(t)) for t in range(a, b + 1)]))
    """
    p = subprocess.run([sys.executable, "-c", script], input=json.dumps(got).encode(), stdout=subprocess.PIPE,
                       timeout=60, check=True)
    wrong = [f"TZ={z}: {shown}, want {json.loads(want)[0]}" for (z, _a, _b, shown), want in
             zip(got, p.stdout.splitlines()) if shown not in json.loads(want)]
    check(not wrong, "\n".join(wrong))


@test("TZ in POSIX form, with a colon or as a path: the time of day was not that of the zone")
def _(m):
    zones = ["CET-1", "CET-1CEST,M3.5.0,M10.5.0/3", "AEST-10AEDT,M10.1.0,M4.1.0/3", "EST5EDT,M3.2.0,M11.1.0",
             "<+0545>-5:45", ":/etc/localtime", m.write("fixed", tzif(20700)),
             ":" + m.write("ruled", tzif(23400, rule=b"<+0630>-6:30")), "UTC", "UTC0", "",
             "Nonsense/Zone", "!!!", "9", m.path("absent"), ":", "ABC"]
    zones += [z for n in ("Asia/Kolkata", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe")
              if os.path.exists(f"/usr/share/zoneinfo/{n}") for z in (n, f":{n}", f"/usr/share/zoneinfo/{n}")]
    compare_clocks(m, [None, *zones])


@test("TZ in POSIX form with day numbers: summer time was ignored")
def _(m):
    compare_clocks(m, ["NZST-12NZDT-13:00,J1/0,J365/25", "XXX-1YYY-3,0/0,J365/25", "XXX3YYY,J60,300/1:30"])


@test("check: a long name was cut although the line had room for it")
def _(m):
    for n in (100, 200, 240):
        r = run(["check", "-w", "80", "--proc", "/" + "d" * n])
        eq((r.code, r.out), (3, b"GPU UNKNOWN - /" + b"d" * n + b": No such file or directory\n"), f"{n} bytes")


@test("a name that is too long had another error in the message, also with --control")
def _(m):
    one_client(m)
    longest = "/".join(["a" * 99] * 40) + "/" + "a" * 95  # 4095 bytes
    for name, begin in ((longest + "b", "a" * 48 + "..."), ("b/" + longest * 3, "b/" + "a" * 46 + "..."), ("a" * 256, "a" * 256),
                        ("\033" * 5000, "\\x1b" * 48 + "..."), ("x" + "\u00e9" * 3000, "x" + "\u00e9" * 23 + "...")):
        for args in (["fdinfo", name], ["plot", name], ["oa", "--replay", name], ["oa", "list", "--metrics", name, *m.roots()],
                     ["events", "--pmu-file", name], ["stat", "--control", f"fifo:{name}", "-e", "task-clock", "true"],
                     ["-w", "1ms", "-O", name, *m.roots()], ["-w", "1ms", "-o", "prom", "-O", name, *m.roots()],
                     ["-w", "1ms", "--state", name, *m.roots()], ["list", "--proc", name, *m.roots()[2:]], ["stat", "-e", "task-clock", name]):
            r = run(args)
            check(r.code not in (0, 3), f"{args[:2]}: {r!r}")
            said = r.err.decode().splitlines()
            check(any(f": {begin}: " in x and x.endswith("File name too long") for x in said), f"{args[0]} {len(name)} bytes: {said}")
        for args in (["check", name], ["-d", name], ["-o", name], ["events", "--resolve", name]):
            r = run(args)
            check(r.code != 0 and all(len(x) > 20 and not x.endswith((b": ", b":")) for x in (r.err or r.out).splitlines()), f"{args[0]}: {r!r}")
    r = run(["fdinfo", longest])
    check(r.err.endswith(b": No such file or directory\n"), f"4095 bytes: {r!r}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_faults.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
