#!/usr/bin/env python3
# t_left_out.py PROG - devices that are left out (--not), drivers with fdinfo that is not read, and
# devices of -d that do not exist. The machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import AMD, I915, TESTS, Skip, check, dump, eq, ns, parse_json, test, val  # noqa: E402

COMMANDS = ([], ["procs"], ["clients"], ["cgroups"], ["list"])


def two(m):
    """Makes an i915 and an amdgpu with one client each, in one process."""
    i915 = m.device("i915", I915, files={"current_link_width": "8\n", "mem_info_vram_used": "5\n"})
    m.device("amdgpu", AMD, card=1, render=129, files={"mem_info_vram_used": "5\n"})
    m.fd(10, 5, dump("i915", 7, *ns(render=10**9), pdev=I915))
    m.fd(10, 6, dump("amdgpu", 8, *ns(gfx=10**9), pdev=AMD), "/dev/dri/renderD129")
    return i915


def opened(m, *args):
    """Returns the files of the machine that a run opens."""
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-f", "-y", "-e", "trace=openat,open", "-o", log, machine.PROG, *args, *m.roots()],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    eq(r.returncode, 0, f"exit code ({r.stderr!r})")
    with open(log, encoding="utf-8", errors="replace") as f:
        return [p for line in f if "ENOENT" not in line and "O_DIRECTORY" not in line
                for p in re.findall(r"= \d+<([^>]*)>", line)]


def window(args):
    return [*args, "-w", "0.02"] if args[:1] != ["list"] else args


@test("--not: a device given by node, PCI slot or driver is in no record of any command")
def _(m):
    two(m)
    for sel in ("card0", "renderD128", "/dev/dri/card0", I915, I915[5:], "driver:i915", "i915"):
        for args in COMMANDS:
            recs = m.json(*args, "--not", sel)
            eq({r["dev"] for r in recs}, {"card1"}, f"{args} --not {sel}")
    r = m.run("--not", "nope,card0,card7", "-o", "json", "0.02", "3")
    eq(({x["dev"] for x in parse_json(r.out)}, r.code), ({"card1"}, 0), "--not of devices that do not exist")
    eq(r.err, b"gpustat: --not: no such device: nope\ngpustat: --not: no such device: card7\n", "message about each missing device")
    for number in ("0", "18446744073709551615"):
        r = m.run("--not", number, "-o", "json", "-w", "0.02")
        eq({x["dev"] for x in parse_json(r.out)}, {"card0", "card1"}, f"--not {number}")
    eq([r["dev"] for r in m.json("-d", "1", "--not", "card0")], ["card1"], "the numbers of -d count all devices")


@test("--not: all devices: exit 3")
def _(m):
    two(m)
    r = m.run("--not", "card0,card1", "-w", "0.02")
    eq((r.code, r.out), (3, b""), f"exit code and output ({r.err!r})")


@test("--not: of the device only the files that identify it are opened, and no fdinfo of its clients")
@machine.live
def _(m):
    dev = two(m)
    for args in COMMANDS:
        for path in opened(m, *window(args), "--not", "driver:i915"):
            check(not path.endswith("10/fdinfo/5"), f"{args}: {path}")
            check(dev not in path or os.path.basename(path) in ("uevent", "dev"), f"{args}: {path}")
    check(any(p.endswith("10/fdinfo/5") for p in opened(m, "-w", "0.02")), "fdinfo that is opened without --not")


@test("--not: commands that read all devices do not open files of the device")
@machine.live
def _(m):
    dev = two(m)
    for name, text in (("gpu_model", "Adreno650v2\n"), ("gpu_busy_percentage", "34 %\n")):
        m.write(f"sys/class/kgsl/kgsl-3d0/{name}", text)
    out = "--not", "driver:i915,driver:kgsl"
    for args in (["counters"], ["counters", "*", "-w", "0.02"], ["host", "-w", "0.02"], ["doctor"], ["capture"]):
        for path in opened(m, *args, *out):
            check("kgsl" not in path, f"{args}: {path}")
            check(dev not in path or os.path.basename(path) in ("uevent", "dev"), f"{args}: {path}")
            # doctor opens one file of each process, but does not read it
            check(args == ["doctor"] or not path.endswith("10/fdinfo/5"), f"{args}: {path}")
    check(any("kgsl" in p for p in opened(m, "capture")), "files of KGSL that are opened without --not")


@test("capture has no interval")
def _(m):
    eq(m.run("capture", "1").code, 2, "exit code")


@test("--not: values of other devices do not change, and the file profiling of the device is not written")
def _(m):
    m.device("panfrost", name="gpu", files={"profiling": "0\n"})
    m.device("panfrost", name="gpu2", card=1, render=129, files={"profiling": "0\n"})
    m.fd(10, 5, dump("panfrost", 7, "drm-resident-memory:\t4 KiB"), "/dev/dri/renderD129")
    knob = m.path("sys/devices/platform/gpu/profiling")
    steps = [lambda: eq(open(knob, encoding="ascii").read(), "0\n", "profiling during the run")]
    (d,), = m.live("--not", "card0", "--enable-profiling", steps=steps)
    eq((d["dev"], val(d, "memory", "memory", "resident")), ("card1", 4096), "the other device")


@test("--not: a vendor's device, and vendor files of a DRM device, are left out, also after a new device appears")
@machine.live
def _(m):
    for name, text in (("gpu_model", "Adreno650v2\n"), ("gpu_busy_percentage", "34 %\n"), ("gpuclk", "305000000\n")):
        m.write(f"sys/class/kgsl/kgsl-3d0/{name}", text)
    m.device("xe", "0000:03:00.0", card=3, render=131)
    alone, = m.json("-d", "driver:kgsl")
    for sel in "driver:kgsl", alone["dev"]:
        for args in COMMANDS:
            for path in opened(m, *window(args), "--not", sel):
                check("kgsl" not in path, f"{args}: {path}")
            eq({r["dev"] for r in m.json(*args, "--not", sel)} - {"card3"}, set(), f"{args}: devices")
    m.device("msm_dpu", name="gpu")
    s = m.live("--not", "card0", steps=[None, lambda: m.device("amdgpu", AMD, card=1, render=129), None])
    eq([sorted(r["dev"] for r in x) for x in s], [["card3"], ["card1", "card3"], ["card1", "card3"]], "devices")


@test("pvrsrvkm: its fdinfo is read only if -d names the driver; list gives the reason")
@machine.live
def _(m):
    m.device("pvrsrvkm", name="gpu")
    m.fd(10, 5, dump("pvr", 7, *ns(x=10**9), "drm-client-id:\t8"))
    for args in COMMANDS[:4]:
        check(not any("fdinfo/5" in p for p in opened(m, *window(args))), f"{args}: its fdinfo was opened")
    d, = m.json("list")
    for what in "engine", "memory":
        check("-d driver:pvrsrvkm" in d["missing"][what], f"missing {what}: {d['missing']}")
    eq(m.json()[0]["clients"], None, "number of clients: unknown")
    c, = m.json("clients", "-d", "driver:pvrsrvkm", "-r")
    eq((c["client"], val(c, "engine", "x", "busy_ns")), (8, 10**9), "with -d driver:pvrsrvkm")
    d, = m.json("list", "-d", "driver:pvrsrvkm")
    check("engine" not in d["missing"], f"missing: {d['missing']}")


@test("-d: a device that does not exist is named once in a message; the others are shown, exit 1")
def _(m):
    two(m)
    for args in (["-w", "0.02"], ["0.01", "3"], ["clients", "-w", "0.02"], ["list"]):
        r = m.run(*args, "-d", "card0,nope,driver:xe", "-o", "json")
        eq((r.code, r.err), (1, b"gpustat: no such device: nope\ngpustat: no such device: driver:xe\n"), f"{args}: exit code, messages")
        eq({x["dev"] for x in parse_json(r.out)}, {"card0"}, f"{args}: devices")
    r = m.run("-d", "nope", "-w", "0.02")
    eq(r.code, 3, "exit code if none exists")
    r = m.run("check", "-d", "card0,nope")
    eq(r.code, 3, f"check is UNKNOWN ({r!r})")
    check(r.out.startswith(b"GPU UNKNOWN - card0 ") and b"; no such device: nope |" in r.out, f"check: {r.out!r}")


@test("--not: the message that no device is left does not list the devices that are left out")
def _(m):
    two(m)
    r = m.run("list", "--not", "card0,card1")
    eq((r.code, r.err), (3, b"gpustat: --not excludes all devices\n"), "all devices")
    r = m.run("list", "-d", "card0", "--not", "card0")
    eq((r.code, r.err), (3, b"gpustat: no device matches -d; devices: card1\n"), "the device of -d")


@test("-d: two selectors may name the same device")
def _(m):
    m.device("i915", I915)
    r = m.run("-d", "card0,renderD128", "-w", "0.02", "-o", "json")
    eq((r.code, r.err), (0, b""), "two selectors of one device")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_left_out.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
