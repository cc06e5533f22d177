#!/usr/bin/env python3
# t_truths.py PROG - hand-computed readings of the machines of tests/trees: one for each quantity of
# each driver (utilization, engine time, memory, clock, temperature, power, energy, fan, voltage).
# The program wrote the golden files of these machines, but not these values. Each row has the texts
# of the files that the value comes from, and the calculation. Prints TAP.
# SPDX-License-Identifier: MIT
import fnmatch
import functools
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from machine import TREES  # noqa: E402
from tap import finish, left_out, report, skip  # noqa: E402

PROG = os.path.abspath(sys.argv[1])
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MHZ = 10**6
FDINFO = "proc/[0-9]*/fdinfo/*"
# The trees of quantities that need a feature, by feature.
FEATURES = {"boards": "accelerators allwinner amlogic exynos galcore jetson jetson-xavier kgsl mediatek powervr rockchip rockchip-proc".split(),
            "dmem": ["dmem"]}

# (tree, device, field of the record, expected value, pattern of files, texts that must be in these
# files). The texts contain the numbers from which the value is calculated.
TRUTHS = (
    # amdgpu: gpu_busy_percent; bytes; hwmon has Hz, millidegrees, microwatts, rpm, millivolts
    ("amdgpu", "card0", "busy", 37, "sys/devices/**/gpu_busy_percent", "37"),
    ("amdgpu", "card0", "engine.gfx.busy_ns", 812345678901 + 91234567 + 19291217545 + 41234567890, FDINFO,
     "drm-engine-gfx:\t812345678901 ns", "drm-engine-gfx:\t91234567 ns", "drm-engine-gfx:\t19291217545 ns", "drm-engine-gfx:\t41234567890 ns"),
    ("amdgpu", "card0", "memory.vram.resident", (310 - 96 + 64 + 512 + 2000) * MIB - 13584 * KIB + 96 * MIB, FDINFO,
     "drm-resident-vram:\t310 MiB", "drm-shared-vram:\t96 MiB", "drm-shared-vram:\t13584 KiB", "drm-resident-vram:\t2000 MiB"),
    ("amdgpu", "card0", "vram.total", 25753026560, "sys/devices/**/mem_info_vram_total", "25753026560"),
    ("amdgpu", "card0", "vram.used", 3 * GIB, "sys/devices/**/mem_info_vram_used", "3221225472"),
    ("amdgpu", "card0", "freq.sclk.cur", 2124 * MHZ, "sys/devices/**/freq1_input", "2124000000"),
    ("amdgpu", "card0", "freq.sclk.max", 2526 * MHZ, "sys/devices/**/pp_dpm_sclk", "2: 2526Mhz"),
    ("amdgpu", "card0", "temp.edge", 52000 / 1000, "sys/devices/**/temp1_input", "52000"),
    ("amdgpu", "card0", "power.PPT", 112000000 / 10**6, "sys/devices/**/power1_average", "112000000"),
    ("amdgpu", "card0", "fan.fan1", 1480, "sys/devices/**/fan1_input", "1480"),
    ("amdgpu", "card0", "volt.vddgfx", 912 / 1000, "sys/devices/**/in0_input", "912"),
    ("amdgpu-apu", "card0", "busy", 22, "sys/devices/**/gpu_busy_percent", "22"),
    ("amdgpu-apu", "card0", "engine.gfx.busy_ns", 512345678901 + 1234567, FDINFO, "drm-engine-gfx:\t512345678901 ns", "\t1234567 ns"),
    ("amdgpu-apu", "card0", "memory.vram.resident", (180 - 64 + 5 + 64) * MIB, FDINFO, "drm-resident-vram:\t180 MiB",
     "drm-shared-vram:\t64 MiB", "drm-resident-vram:\t5 MiB"),
    ("amdgpu-apu", "card0", "vram.used", 288 * MIB, "sys/devices/**/mem_info_vram_used", "301989888"),
    ("amdgpu-apu", "card0", "freq.sclk.cur", 400 * MHZ, "sys/devices/**/freq1_input", "400000000"),
    ("amdgpu-apu", "card0", "freq.mclk.cur", 1333 * MHZ, "sys/devices/**/pp_dpm_mclk", "2: 1333Mhz *"),
    ("amdgpu-apu", "card0", "temp.edge", 46, "sys/devices/**/temp1_input", "46000"),
    ("amdgpu-apu", "card0", "power.PPT", 12, "sys/devices/**/power1_input", "12000000"),
    ("amdgpu-legacy", "card0", "busy", 24, "sys/devices/**/gpu_busy_percent", "24"),
    ("amdgpu-legacy", "card0", "memory.vram.resident", (212345 + 2068 + 4096) * KIB, FDINFO, "vram mem:\t212345 kB", "vram mem:\t2068 kB",
     "vram mem:\t4096 kB"),
    ("amdgpu-legacy", "card0", "vram.used", 1208225792, "sys/devices/**/mem_info_vram_used", "1208225792"),
    ("amdgpu-legacy", "card0", "freq.sclk.cur", 1168 * MHZ, "sys/devices/**/freq1_input", "1168000000"),
    ("amdgpu-legacy", "card0", "temp.edge", 55, "sys/devices/**/temp1_input", "55000"),
    ("amdgpu-legacy", "card0", "power.power1", 41.234, "sys/devices/**/power1_average", "41234000"),
    # i915: a client with several descriptors counts once; sysfs has MHz
    ("i915", "card0", "engine.render.busy_ns", 9288864723 + 346249 + 812345678 + 500 + 1000000000 + 61234567890, FDINFO,
     "drm-engine-render:\t9288864723 ns", "drm-engine-render:\t346249 ns", "drm-engine-render:\t812345678 ns", "drm-engine-render:\t500 ns",
     "drm-engine-render:\t1000000000 ns", "drm-engine-render:\t61234567890 ns"),
    ("i915", "card0", "memory.system0.resident",
     (110 - 96 + 24 - 8 + 1 + 378 - 33) * MIB + 6044 * KIB + 5000 + 96 * MIB, FDINFO, "drm-resident-system0:\t110 MiB",
     "drm-shared-system0:\t96 MiB", "drm-resident-system0:\t24 MiB", "drm-resident-system0:\t378 MiB", "drm-shared-system0:\t33 MiB",
     "drm-resident-system0:\t6044 KiB", "drm-resident-system0:\t5000"),
    ("i915", "card0", "freq.gt0.act", 350 * MHZ, "sys/devices/**/gt/gt0/rps_act_freq_mhz", "350"),
    ("i915", "card0", "freq.gt0.max", 1400 * MHZ, "sys/devices/**/gt/gt0/rps_max_freq_mhz", "1400"),
    ("i915-dgpu", "card0", "engine.render.busy_ns", 51781489656 + 1234567, FDINFO, "drm-engine-render:\t51781489656 ns", "\t1234567 ns"),
    ("i915-dgpu", "card0", "engine.compute.busy_ns", 98765432101234, FDINFO, "drm-engine-compute:\t98765432101234 ns"),
    ("i915-dgpu", "card0", "memory.system0.resident", 520 * KIB + 312 * KIB + 8 * MIB, FDINFO, "drm-resident-system0:\t520 KiB",
     "drm-resident-system0:\t312 KiB", "drm-resident-system0:\t8 MiB"),
    ("i915-dgpu", "card0", "freq.gt0.act", 1900 * MHZ, "sys/devices/**/gt/gt0/rps_act_freq_mhz", "1900"),
    ("i915-dgpu", "card0", "temp.temp1", 47, "sys/devices/**/temp1_input", "47000"),
    ("i915-dgpu", "card0", "energy.card", 4123456789 / 10**6, "sys/devices/**/energy1_input", "4123456789"),
    ("i915-dgpu", "card0", "fan.fan1", 812, "sys/devices/**/fan1_input", "812"),
    ("i915-dgpu", "card0", "volt.in0", 0.812, "sys/devices/**/in0_input", "812"),
    ("i915-old", "card0", "freq.gt0.act", 600 * MHZ, "sys/devices/**/gt_act_freq_mhz", "600"),
    ("i915-old", "card0", "freq.gt0.max", 1200 * MHZ, "sys/devices/**/gt_max_freq_mhz", "1200"),
    ("mixed", "card0", "engine.render.busy_ns", 812345678901 + 41234567890 + 0, FDINFO, "drm-engine-render:\t812345678901 ns",
     "drm-engine-render:\t41234567890 ns"),
    ("mixed", "card0", "memory.system0.resident", (280 - 128 + 240 - 16 + 12 + 128) * MIB, FDINFO, "drm-resident-system0:\t280 MiB",
     "drm-shared-system0:\t128 MiB", "drm-resident-system0:\t240 MiB", "drm-shared-system0:\t16 MiB", "drm-resident-system0:\t12 MiB"),
    ("mixed", "card0", "freq.gt0.act", 450 * MHZ, "sys/devices/**/gt/gt0/rps_act_freq_mhz", "450"),
    ("mixed", "card1", "temp", {}, "sys/devices/**/0000:01:00.0/power/runtime_status", "suspended"),
    ("mixed", "card1", "busy", None, "sys/devices/**/gpu_busy_percent", "99"),
    ("mixed", "card1", "memory.vram.resident", 17 * MIB, FDINFO, "drm-resident-vram:\t17 MiB"),
    ("mixed", "accel0", "freq.npu.cur", 950 * MHZ, "sys/devices/**/freq/current_freq", "950"),
    ("mixed", "accel0", "memory.memory.resident", 288 * MIB, FDINFO, "drm-resident-memory:\t288 MiB"),
    ("containers", "card0", "engine.render.busy_ns",
     sum(1234567890 + 10**10 * k for k in range(8)) + sum(10**9 + k for k in range(9)) + 7, FDINFO,
     "drm-engine-render:\t71234567890 ns", "drm-engine-render:\t1234567890 ns", "drm-engine-render:\t1000000008 ns", "drm-engine-render:\t7 ns"),
    ("containers", "card0", "memory.system0.resident", (96 + 80 + 200 + 120 + 64 + 32 + 16 + 8 + 9 * 1) * MIB + 4 * KIB, FDINFO,
     "drm-resident-system0:\t96 MiB", "drm-resident-system0:\t8 MiB", "drm-resident-system0:\t1 MiB", "drm-resident-system0:\t4 KiB"),
    ("containers", "card0", "freq.gt0.act", 1300 * MHZ, "sys/devices/**/gt/gt0/rps_act_freq_mhz", "1300"),
    # xe: cycles are added up, of total cycles the largest is used; sysfs has MHz, hwmon microjoules
    ("xe", "card0", "engine.rcs.cycles", 28257900123 + 91234567890, FDINFO, "drm-cycles-rcs:\t28257900123", "drm-cycles-rcs:\t91234567890"),
    ("xe", "card0", "engine.rcs.total_cycles", 1896043218105, FDINFO, "drm-total-cycles-rcs:\t1896043218105",
     "drm-total-cycles-rcs:\t1896043212345"),
    ("xe", "card0", "memory.vram0.resident", (212 - 64 + 300 + 7168 - 1) * MIB + 23992 * KIB - 16 * MIB + 64 * MIB, FDINFO,
     "drm-resident-vram0:\t212 MiB", "drm-shared-vram0:\t64 MiB", "drm-resident-vram0:\t23992 KiB", "drm-shared-vram0:\t16 MiB",
     "drm-resident-vram0:\t300 MiB", "drm-resident-vram0:\t7168 MiB", "drm-shared-vram0:\t1 MiB"),
    ("xe", "card0", "freq.gt0.act", 2450 * MHZ, "sys/devices/**/gt0/freq0/act_freq", "2450"),
    ("xe", "card0", "freq.gt1.max", 1500 * MHZ, "sys/devices/**/gt1/freq0/max_freq", "1500"),
    ("xe", "card0", "temp.pkg", 61, "sys/devices/**/temp2_input", "61000"),
    ("xe", "card0", "temp.vram", 72, "sys/devices/**/temp3_input", "72000"),
    ("xe", "card0", "energy.card", 812345678901 / 10**6, "sys/devices/**/energy1_input", "812345678901"),
    ("xe", "card0", "energy.pkg", 512345678901 / 10**6, "sys/devices/**/energy2_input", "512345678901"),
    ("xe", "card0", "fan.fan2", 1198, "sys/devices/**/fan2_input", "1198"),
    ("xe", "card0", "volt.pkg", 0.845, "sys/devices/**/in1_input", "845"),
    ("xe-suspended", "card0", "temp", {}, "sys/devices/**/0000:03:00.0/power/runtime_status", "suspended"),
    ("dmem", "card0", "vram.total", 2 * 8 * GIB, "sys/fs/cgroup/dmem.capacity", "drm/0000:03:00.0/vram0 8589934592",
     "drm/0000:03:00.0/vram1 8589934592"),
    ("dmem", "card0", "memory.vram0.resident", (4096 + 512) * MIB, FDINFO, "drm-resident-vram0:\t4096 MiB", "drm-resident-vram0:\t512 MiB"),
    ("dmem", "card1", "vram.used", GIB, "sys/devices/**/mem_info_vram_used", "1073741824"),
    ("dmem", "card1", "engine.gfx.busy_ns", 2 * 7000, FDINFO, "drm-engine-gfx:\t7000 ns"),
    # SoCs: fdinfo, devfreq in Hz, thermal zones in millidegrees
    ("msm", "card0", "engine.gpu.busy_ns", 91734371319 + 1734371319, FDINFO, "drm-engine-gpu:\t91734371319 ns", "drm-engine-gpu:\t1734371319 ns"),
    ("msm", "card0", "engine.gpu.cycles", 41153645024 + 1153645024, FDINFO, "drm-cycles-gpu:\t41153645024", "drm-cycles-gpu:\t1153645024"),
    ("msm", "card0", "memory.memory.resident", (80 - 24 + 46 + 24) * MIB - 8100 * KIB, FDINFO, "drm-resident-memory:\t80 MiB",
     "drm-shared-memory:\t24 MiB", "drm-resident-memory:\t46 MiB", "drm-shared-memory:\t8100 KiB"),
    ("msm", "card0", "freq.3d00000*gpu.cur", 450 * MHZ, "sys/devices/**/3d00000.gpu/cur_freq", "450000000"),
    ("msm", "card0", "temp.gpu0-thermal", 48.3, "sys/devices/virtual/thermal/thermal_zone1/temp", "48300"),
    ("panfrost", "card1", "engine.fragment.maxfreq", 799999987, FDINFO, "drm-maxfreq-fragment:\t799999987 Hz"),
    ("panfrost", "card1", "memory.memory.resident", 36496 * KIB + 40 * MIB, FDINFO, "drm-resident-memory:\t36496 KiB",
     "drm-resident-memory:\t40 MiB"),
    ("panfrost", "card1", "freq.ff9a0000*gpu.cur", 200 * MHZ, "sys/devices/**/ff9a0000.gpu/cur_freq", "200000000"),
    ("panfrost", "card1", "temp.gpu-thermal", 43.333, "sys/devices/virtual/thermal/thermal_zone1/temp", "43333"),
    ("panthor", "card1", "engine.panthor.busy_ns", 111110952750 + 81234567890, FDINFO, "drm-engine-panthor:\t111110952750 ns",
     "drm-engine-panthor:\t81234567890 ns"),
    ("panthor", "card1", "engine.panthor.cycles", 94439687187 + 61234567890, FDINFO, "drm-cycles-panthor:\t94439687187"),
    ("panthor", "card1", "memory.memory.resident", 16480 * KIB + (80 - 24 + 24) * MIB, FDINFO, "drm-resident-memory:\t16480 KiB",
     "drm-resident-memory:\t80 MiB", "drm-shared-memory:\t24 MiB"),
    ("panthor", "card1", "freq.fb000000*gpu.cur", 700 * MHZ, "sys/devices/**/fb000000.gpu/cur_freq", "700000000"),
    ("panthor", "card1", "temp.gpu-thermal", 50.8, "sys/devices/virtual/thermal/thermal_zone2/temp", "50800"),
    # v3d: the busy times of the device come from gpu_stats
    ("v3d", "card0", "engine.render.busy_ns", 27284814161, "sys/devices/**/gpu_stats", "27284814161"),
    ("v3d", "card0", "memory.memory.resident", (48 - 32 + 32) * MIB, FDINFO, "drm-resident-memory:\t48 MiB", "drm-shared-memory:\t32 MiB"),
    ("etnaviv", "card0", "memory.memory.total", 24836 * KIB - 8100 * KIB + 12 * MIB + 8100 * KIB, FDINFO,
     "drm-total-memory:\t24836 KiB", "drm-shared-memory:\t8100 KiB", "drm-total-memory:\t12 MiB"),
    ("lima", "card1", "freq.1c40000*gpu.cur", 312 * MHZ, "sys/devices/**/1c40000.gpu/cur_freq", "312000000"),
    ("lima", "card1", "temp.gpu0-thermal", 50.1, "sys/devices/virtual/thermal/thermal_zone1/temp", "50100"),
    ("nouveau", "card0", "temp.temp1", 41, "sys/devices/**/temp1_input", "41000"),
    ("nouveau", "card0", "power.power1", 31.25, "sys/devices/**/power1_input", "31250000"),
    ("nouveau", "card0", "fan.fan1", 1110, "sys/devices/**/fan1_input", "1110"),
    ("nouveau", "card0", "volt.GPU_core", 0.912, "sys/devices/**/in0_input", "912"),
    # NPUs
    ("intel_vpu", "accel0", "memory.memory.total", (256 + 32 - 4 + 4) * MIB, FDINFO, "drm-total-memory:\t256 MiB",
     "drm-total-memory:\t32 MiB", "drm-shared-memory:\t4 MiB"),
    ("intel_vpu", "accel0", "freq.npu.cur", 950 * MHZ, "sys/devices/**/npu_current_frequency_mhz", "950"),
    ("amdxdna", "accel0", "memory.memory.total", 67632 * KIB + (80 - 8 + 8) * MIB, FDINFO, "drm-total-memory:\t67632 KiB",
     "drm-total-memory:\t80 MiB", "drm-shared-memory:\t8 MiB"),
    ("amdxdna", "accel0", "memory.memory.resident", 76 * MIB, FDINFO, "drm-resident-memory:\t76 MiB"),
    # drivers of vendors: percent, per mille, MHz, kHz
    ("accelerators", "apex_0", "temp.npu", 52.3, "sys/devices/**/apex_0/temp", "52300"),
    ("accelerators", "neuron0", "memory.neuron_core0.resident", 1536 * MIB,
     "sys/devices/**/neuron_core0/stats/memory_usage/device_mem/present", "1610612736"),
    ("allwinner", "1800000.gpu", "freq.1800000*gpu.cur", 432 * MHZ, "sys/devices/**/1800000.gpu/cur_freq", "432000000"),
    ("allwinner", "1800000.gpu", "temp.gpu_thermal_zone", 46.1, "sys/devices/virtual/thermal/thermal_zone1/temp", "46100"),
    ("amlogic", "mali0", "busy", 42, "sys/class/mpgpu/utilization", "42"),
    ("amlogic", "mali0", "freq.gpu.cur", 667 * MHZ, "sys/class/mpgpu/cur_freq", "667"),
    ("exynos", "mali0", "busy", 29, "sys/devices/platform/17500000.mali/utilization", "29"),
    ("exynos", "mali0", "freq.gpu.cur", 702000 * 1000, "sys/devices/platform/17500000.mali/clock", "702000"),
    ("exynos", "mali0", "temp.G3D", 46, "sys/devices/virtual/thermal/thermal_zone2/temp", "46000"),
    ("galcore", "40000000.mix_gpu_ml", "busy", max(37.12, 4.0, 0.0), "sys/kernel/debug/gc/load", "37.12%", "4.0%", "0.0%"),
    ("jetson", "gpu.0", "busy", 473 / 10, "sys/devices/**/17000000.gpu/load", "473"),
    ("jetson", "gpu.0", "freq.17000000*gpu.cur", 612 * MHZ, "sys/devices/**/17000000.gpu/cur_freq", "612000000"),
    ("jetson", "gpu.0", "temp.gpu-thermal", 46.531, "sys/devices/virtual/thermal/thermal_zone1/temp", "46531"),
    ("jetson-xavier", "17000000.gv11b", "busy", 1000 / 10, "sys/devices/**/17000000.gv11b/load", "1000"),
    ("jetson-xavier", "17000000.gv11b", "freq.17000000*gv11b.cur", 1109.25 * MHZ, "sys/devices/**/17000000.gv11b/cur_freq", "1109250000"),
    ("jetson-xavier", "17000000.gv11b", "temp.GPU-therm", 51.5, "sys/devices/virtual/thermal/thermal_zone1/temp", "51500"),
    ("kgsl", "card0", "busy", 34, "sys/devices/**/kgsl-3d0/gpu_busy_percentage", "34 %"),
    ("kgsl", "card0", "temp.gpuss-0-usr", 47.5, "sys/devices/virtual/thermal/thermal_zone1/temp", "47500"),
    ("mediatek", "13000000.mali", "busy", 37, "sys/kernel/ged/hal/gpu_utilization", "37 40 23"),
    ("mediatek", "13000000.mali", "freq.gpu.cur", 553000 * 1000, "sys/kernel/ged/hal/current_freqency", "21 553000"),
    ("mediatek", "13000000.mali", "temp.gpu1", 49.1, "sys/devices/virtual/thermal/thermal_zone1/temp", "49100"),
    ("powervr", "card1", "busy", 37, "sys/kernel/debug/pvr/status", "GPU Utilisation: 37%"),
    ("rockchip", "card1", "busy", max(12, 0, 7), "sys/kernel/debug/rknpu/load", "Core0: 12%, Core1:  0%, Core2:  7%"),
    ("rockchip", "fb000000.gpu", "busy", 37, "sys/devices/**/fb000000.gpu/load", "37@800000000Hz"),
    ("rockchip", "fb000000.gpu", "freq.fb000000*gpu.cur", 800 * MHZ, "sys/devices/**/fb000000.gpu/cur_freq", "800000000"),
    ("rockchip-proc", "fde40000.npu", "busy", 61, "proc/rknpu/load", "61%"),
    ("rockchip-proc", "fde60000.gpu", "busy", 5, "sys/devices/**/fde60000.gpu/load", "5@200000000Hz"),
    ("rockchip-proc", "fde60000.gpu", "temp.gpu-thermal", 45.3, "sys/devices/virtual/thermal/thermal_zone1/temp", "45300"),
)
# Trees without hand-computed values, with the reason.
WITHOUT = {"host": "no device", "nvidia": "the values are those of a driver: t_nvidia.py"}


def records(tree):
    """Returns {device: record} of -r."""
    root = os.path.join(TREES, tree)
    r = subprocess.run([PROG, "-r", "--proc", f"{root}/proc", "--sys", f"{root}/sys", "-o", "json", "-t", "none"], capture_output=True,
                       timeout=60, check=False)
    return {x["dev"]: x for x in map(json.loads, r.stdout.splitlines())}


def value_of(record, field):
    """Returns the value of a dotted name; * stands for a dot inside a name."""
    for name in field.split("."):
        record = record.get(name.replace("*", ".")) if isinstance(record, dict) else None
    return record


@functools.cache
def files_of(tree):
    """Returns the paths of the files of a tree; links are not followed."""
    root = os.path.join(TREES, tree)
    return [os.path.relpath(os.path.join(d, n), root) for d, _dirs, names in os.walk(root) for n in names]


def raw(tree, pattern):
    """Returns the texts of the files with a path that matches a pattern, in which ** is any folders."""
    found = []
    for path in files_of(tree):
        if fnmatch.fnmatchcase(path, pattern.replace("**/", "*/")) and os.path.isfile(os.path.join(TREES, tree, path)):
            with open(os.path.join(TREES, tree, path), encoding="utf-8", errors="replace") as f:
                found.append(f.read())
    return found


def main():
    lacking = left_out(PROG)
    read = {}
    for tree, dev, field, want, pattern, *texts in TRUTHS:
        name = f"{tree}: {dev}, {field}"
        if any(f in lacking and tree in trees for f, trees in FEATURES.items()):
            skip(name, "not built in: boards or dmem")
            continue
        files = raw(tree, pattern)
        absent = [t for t in texts if not any(t in f for f in files)]
        got = value_of(read.setdefault(tree, records(tree)).get(dev), field)
        # a sum of decimal fractions is exact to the last digit that is printed
        same = got == want if not isinstance(want, float) or got is None else abs(got - want) < 1e-6
        report(same and not absent, name, f"got {got!r}, want {want!r}", f"not in the files: {absent}" if absent else "")
    have = {t[0] for t in TRUTHS} | set(WITHOUT)
    trees = {t for t in os.listdir(TREES) if os.path.isdir(os.path.join(TREES, t))}
    report(trees == have, "each tree has hand-computed values", sorted(trees ^ have))
    drivers = {r["driver"] for t in read.values() for r in t.values()}
    report(len(drivers) >= 25 or lacking, f"{len(drivers)} drivers", sorted(drivers))


main()
finish()
