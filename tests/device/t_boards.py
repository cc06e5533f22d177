#!/usr/bin/env python3
# t_boards.py PROG - devices of vendor drivers: the values of the trees, hostile files, files that
# become empty between samples, one device in several places. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import TREES, check, eq, near, parse_json, rewrite, test  # noqa: E402


def at(m, tree, *args, path=None):
    """Returns the records of a tree, or of a copy of it, by device; and the run."""
    base = path or os.path.join(TREES, tree)
    r = machine.run([*args, "-o", "json", "--proc", f"{base}/proc", "--sys", f"{base}/sys"])
    eq(r.code, 0, f"exit code of {tree}: {r.err}")
    return {x["dev"]: x for x in parse_json(r.out)}, r


def copy(m, tree):
    path = m.path(tree)
    shutil.copytree(os.path.join(TREES, tree), path, symlinks=True)
    return path


KGSL = "sys/devices/platform/soc/3d00000.qcom,kgsl-3d0/kgsl/kgsl-3d0"
# tree: device: driver, name (its beginning), busy, the first clock, temperature
WANT = {
    "kgsl": {"card0": ("msm_drm", "Adreno650v2", 34, 587, 47.5)},
    "mediatek": {"card0": ("mediatek-drm", "", None, None, None), "13000000.mali": ("mali", "Mali-G57", 37, 553, 49.1)},
    "amlogic": {"mali0": ("mali", "Mali-G31", 42, 667, None)},
    "exynos": {"mali0": ("mali", "Mali-G72", 29, 702, 46)},
    "allwinner": {"1800000.gpu": ("mali", "arm,mali-midgard", None, 432, 46.1)},
    "galcore": {"card0": ("imx-drm", "", None, None, None),
                "40000000.mix_gpu_ml": ("galcore", "fsl,imx8mp-gpu", 37.12, None, None)},
    "powervr": {"card0": ("starfive", "", None, None, None), "card1": ("pvrsrvkm", "img-gpu", 37, None, None)},
    "rockchip-proc": {"fde60000.gpu": ("mali", "Mali-G52", 5, 200, 45.3),
                      "fde40000.npu": ("RKNPU", "rockchip,rk3568-rknpu", 61, 900, None)},
    "jetson-xavier": {"17000000.gv11b": ("nvgpu", "nvidia,gv11b", 100, 1109.25, 51.5)},
    "accelerators": {"apex_0": ("apex", "1ac1:089a", None, None, 52.3), "hailo0": ("hailo", "", None, None, None),
                     "neuron0": ("neuron", "Trainium1", None, None, None)},
}


def matches(d, want, what):
    driver, name, busy, mhz, temp = want
    eq(d["driver"], driver, f"driver of {what}")
    check((d["name"] or "").startswith(name), f"name of {what}: {d['name']}")
    if busy is None:
        eq(d["busy"], None, f"busy of {what}")
    else:
        near(d["busy"], busy, 0.051, f"busy of {what}")
    clocks = [c["cur"] for c in d["freq"].values() if c.get("cur") is not None]
    eq(clocks[:1], [] if mhz is None else [int(mhz * 10**6)], f"clock of {what}")
    check((temp is None and not d["temp"]) or temp in d["temp"].values(), f"temperature of {what}: {d['temp']}")
    if not d["dev"].startswith("card"):
        eq(d["clients"], None, f"clients of {what}, which are unknown")


for tree, devices in WANT.items():
    @test(f"reading: {tree}")
    def _(m, tree=tree, devices=devices):
        for args in (["-r"], ["list"], ["-w", "0.02"]):
            got, _r = at(m, tree, *args)
            eq(sorted(got), sorted(devices), f"devices of {args}")
            for dev, want in devices.items():
                matches(got[dev], want, f"{dev} ({args})")


@test("details: limits, cores, memory, the PCI address")
def _(m):
    d = at(m, "accelerators", "list")[0]
    eq(d["apex_0"]["pdev"], "0000:01:00.0", "address of the Coral")
    eq(d["apex_0"]["temp_limit"]["npu"]["crit"], 85.0, "first trip point of the Coral")
    eq({k: v["resident"] for k, v in d["neuron0"]["memory"].items()},
       {"neuron_core0": 1610612736, "neuron_core1": 536870912}, "memory of Neuron")
    d = at(m, "galcore", "-r")[0]["40000000.mix_gpu_ml"]
    eq(d["load"], {"core0": 37.12, "core1": 4.0, "core3": 0.0}, "cores of galcore")
    eq(at(m, "kgsl", "-r")[0]["card0"]["freq"]["gpu"]["max"], 670000000, "highest clock of KGSL")


@test("list: every missing value has a reason")
def _(m):
    for tree, devices in WANT.items():
        got = at(m, tree, "list")[0]
        for dev in devices:
            d = got[dev]
            for key in ("engine", "memory", "freq", "temp", "power", "fan"):
                check(bool(d[key]) != bool(d["missing"].get(key)), f"{tree} {dev} {key}: {d[key]} {d['missing']}")


@test("files of KGSL that are empty, malformed or removed give unknown values")
def _(m):
    path = copy(m, "kgsl")
    for leaf, texts in {"gpu_busy_percentage": ("", "101 %\n", "-1 %\n", "N/A\n", "34 MHz\n", "\0\n", "9" * 4000),
                        "gpuclk": ("", "0\n", "x\n", "99999999999999999999\n"),
                        "temp": ("", "0\n", "47\n", "-300000\n", "1e5\n", "47500")}.items():
        file = f"{path}/{KGSL}/{leaf}"
        with open(file, "rb") as f:
            good = f.read()
        for text in texts:
            rewrite(file, text)
            got, r = at(m, "kgsl", "-r", "-v", path=path)
            d = got["card0"]
            value = (d["busy"] if leaf == "gpu_busy_percentage" else
                     d["freq"].get("gpu", {}).get("cur") if leaf == "gpuclk" else d["temp"].get("gpu"))
            eq(value, None, f"{leaf} {text[:20]!r}")
            check(f"gpustat: card0: {leaf}: this sysfs file has no valid value".encode() in r.err, f"-v of {leaf} {text[:20]!r}: {r.err}")
            check(sum(x is None for x in (d["busy"], d["freq"]["gpu"].get("cur"), d["temp"].get("gpu"))) == 1,
                  f"{leaf} {text[:20]!r}: the other values are known: {d}")
        os.unlink(file)
        eq(list(at(m, "kgsl", "-r", path=path)[0]), ["card0"], f"without {leaf}")
        with open(file, "wb") as f:
            f.write(good)


@test("a file that may not be read is reported with -v")
def _(m):
    path = copy(m, "kgsl")
    os.chmod(f"{path}/{KGSL}/gpu_busy_percentage", 0)
    r = machine.run(["-r", "-v", "-o", "json", "--proc", f"{path}/proc", "--sys", f"{path}/sys"], nobody=True)
    d = parse_json(r.out)[0]
    eq((d["busy"], d["freq"]["gpu"]["cur"]), (None, 587000000), "values")
    check(b"gpustat: card0: gpu_busy_percentage: Permission denied" in r.err, f"-v: {r.err}")


@test("a file becomes empty during a run: the value is unknown, and the device remains")
def _(m):
    path = copy(m, "jetson-xavier")
    k = machine.Machine.__new__(machine.Machine)
    k.base, k.proc, k.sys = path, f"{path}/proc", f"{path}/sys"
    load = f"{path}/sys/devices/platform/bus@0/13e00000.host1x/17000000.gv11b/load"
    s = k.live("-v", steps=[None, lambda: rewrite(load, ""), lambda: rewrite(load, "473\n")])
    eq([[x["dev"] for x in r] for r in s], [["17000000.gv11b"]] * 3, "devices")
    eq([r[0]["busy"] for r in s], [100.0, None, 47.3], "busy")


@test("dangling links, files in place of folders, and folders in place of files do no harm")
def _(m):
    for tree in WANT:
        path = copy(m, tree)
        n = 0
        for d, dirs, files in os.walk(f"{path}/sys"):
            for name in dirs + files:
                p = os.path.join(d, name)
                if os.path.islink(p) and name in ("device", "driver"):
                    os.unlink(p)
                    os.symlink("../nowhere", p)
                    n += 1
                elif name in ("load", "utilization", "gpuclk", "gpu_utilization") and os.path.isfile(p):
                    os.unlink(p)
                    os.mkdir(p)
                    n += 1
        check(n > 1, f"{tree} is changed")
        for args in (["-r"], ["list"], ["-w", "0.02"]):
            r = machine.run([*args, "-v", "-o", "json", "--proc", f"{path}/proc", "--sys", f"{path}/sys"])
            check(r.code in (0, 3), f"{tree} {args}: {r}")
            parse_json(r.out)


@test("gpubusy and gc/idle, which a read resets for other programs, are never read")
def _(m):
    with open(machine.PROG, "rb") as f:
        program = f.read()
    for name in (b"gpubusy", b"gc/idle"):
        check(name + b"\0" not in program, f"{name} is in the program")


@test("galcore: the load is read only if the GPU is on")
def _(m):
    for state, want in {"active": 37.12, "suspended": None, "unsupported": None, "error": None, "": None}.items():
        path = copy(m, "galcore")
        rewrite(f"{path}/sys/devices/platform/40000000.mix_gpu_ml/power/runtime_status", state + "\n" if state else "")
        for args in (["-r"], ["list"], ["-w", "0.02"]):
            d = at(m, "galcore", *args, path=path)[0]["40000000.mix_gpu_ml"]
            eq((d["busy"], "load" in d), (want, want is not None), f"busy while {state!r}")
            check("powers the GPU on" in d["missing"]["engine"] if args == ["list"] else True, "the reason")
        shutil.rmtree(path)


@test("-d selects a vendor's device by its name and by its driver")
def _(m):
    base = os.path.join(TREES, "exynos")
    roots = ["--proc", f"{base}/proc", "--sys", f"{base}/sys"]
    r = machine.run(["-d", "mali", "-f", "busy", "-H", "-r", *roots])
    check(re.search(rb"29\.0%", r.out), f"-d mali: {r}")
    r = machine.run(["-d", "driver:mali", "-r", "-o", "json", *roots])
    eq(len(parse_json(r.out)), 1, "driver:mali")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_boards.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
