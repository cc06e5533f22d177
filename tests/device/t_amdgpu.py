#!/usr/bin/env python3
# t_amdgpu.py PROG - amdgpu's tables: clocks without a current one, gpu_metrics in both byte orders,
# reasons for throttling, and work that belongs to no client. The machines are file trees, see
# tests/machine.py. Prints TAP. SPDX-License-Identifier: MIT
import os
import re
import struct
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import AMD, TESTS, check, dump, eq, ns, test  # noqa: E402

HOTSPOT, EDGE, PPT0 = 1 << 36, 1 << 35, 1


@test("pp_dpm_*: for a table without a current clock the maximum is known, the current clock is null")
def _(m):
    m.device("amdgpu", AMD, files={
        "pp_dpm_sclk": "0: 500Mhz \n1: 600Mhz *\n2: 2900Mhz \n", "pp_dpm_mclk": "0: 1000Mhz \n1: 400Mhz \n",
        "pp_dpm_fclk": "0: 0Mhz *\n", "pp_dpm_vclk": "\n", "pp_dpm_dclk": "0: 16.0GT/s, x16 619Mhz *\n"})
    one, = m.json()
    eq(one["freq"], {"sclk": {"cur": 600000000, "max": 2900000000}, "mclk": {"cur": None, "max": 1000000000},
                     "fclk": {"cur": 0, "max": 0}}, "freq")
    check(b" 600MHz " in m.run("-w", "0.02", "-H").out, "line")
    eq(m.run("-w", "0.02", "-o", "plain", "-H", "-f", "freq.mclk.cur,freq.mclk.max").out, b"- 1000000000\n", "plain")


@test("pp_dpm_*: for a table without a current clock, the current clock of gpu_metrics is used")
def _(m):
    m.device("amdgpu", AMD, files={"pp_dpm_sclk": "0: 500Mhz \n1: 2900Mhz \n", "gpu_metrics": v13("<")})
    eq(m.json()[0]["freq"]["sclk"], {"cur": 777000000, "max": 2900000000}, "freq")


def v13(order, throttle=0, hotspot=41, edge=38):
    """Returns gpu_metrics 1.3 in which only these values are supported."""
    b = bytearray(b"\xff" * 120)
    struct.pack_into(order + "HBBHH", b, 0, 120, 1, 3, edge, hotspot)
    struct.pack_into(order + "H", b, 54, 777)
    struct.pack_into(order + "Q", b, 112, throttle)
    return bytes(b)


def v19(order, *attributes):
    """Returns gpu_metrics 1.9 with attributes (unit, type, id, values)."""
    body = b"".join(struct.pack(order + "Q", unit << 24 | kind << 20 | number << 10 | len(values)) +
                    struct.pack(f"{order}{len(values)}{'BbHhIiQq'[kind]}", *values) for unit, kind, number, values in attributes)
    return struct.pack(order + "HBBi", 8 + len(body), 1, 9, len(attributes)) + body


@test("gpu_metrics 1.9: the values of its attributes are read in both byte orders")
def _(m):
    dev = m.device("amdgpu", AMD)
    for order in "<>":
        m.write(f"{dev}/gpu_metrics", v19(
            order, (2, 2, 0, [42]), (2, 2, 1, [40]), (2, 2, 2, [44]), (3, 2, 3, [194]), (10, 2, 4, [7]), (10, 2, 5, [3]), (0, 6, 7, [1 << 20]),
            (0, 2, 16, [16]), (7, 2, 17, [320]), (9, 6, 29, [1] * 8), (1, 2, 33, range(2098, 2106)), (1, 2, 37, [900]), (10, 2, 42, [13, 14, 15, 16])))
        one, = m.json()
        eq((one["temp"], one["power"], one["busy"], one["load"], one["energy"]),
           ({"junction": 42.0, "mem": 40.0, "vrsoc": 44.0}, {"PPT": 194.0}, 7.0, {"mem": 3.0, "vcn": 13.0}, {"PPT": 16.0}), order)
        eq((one["link"]["speed"], one["link"]["width"], one["freq"]["sclk"]["cur"], one["freq"]["mclk"]["cur"]), (32.0, 16, 2098000000, 900000000), order)


@test("gpu_metrics: a table in the other byte order has the same values")
def _(m):
    dev = m.device("amdgpu", AMD)
    for order in "<>":
        m.write(f"{dev}/gpu_metrics", v13(order, PPT0 | EDGE, edge=75))
        one, = m.json()
        eq((one["temp"], one["freq"]["sclk"]["cur"], one["throttle"]), ({"edge": 75.0, "junction": 41.0}, 777000000, ["ppt0", "temp_edge"]), order)


@test("throttle: a temperature is a reason only if it is high or unknown")
def _(m):
    dev = m.device("amdgpu", AMD)
    for bits, hotspot, edge, want in ((HOTSPOT, 41, 38, []), (HOTSPOT, 89, 38, []), (HOTSPOT, 90, 38, ["temp_hotspot"]),
                                      (HOTSPOT | PPT0, 75, 60, ["ppt0"]), (EDGE, 41, 69, []), (EDGE | HOTSPOT, 110, 70, ["temp_edge", "temp_hotspot"]),
                                      (HOTSPOT, 0xffff, 38, ["temp_hotspot"]), (HOTSPOT, 0, 38, ["temp_hotspot"])):
        m.write(f"{dev}/gpu_metrics", v13("<", bits, hotspot, edge))
        eq(m.json()[0]["throttle"], want, f"{bits:#x} at {hotspot} and {edge}")


def queues(m):
    """Makes a GPU that is busy with work of user queues; the engine time of its client remains 0."""
    m.device("amdgpu", AMD, files={"gpu_busy_percent": "87\n"})
    m.fd(10, 5, dump("amdgpu", 8, *ns(gfx=0, compute=0), pdev=AMD))


@test("user queues: the busy value of the device is shown, not the 0 of its clients")
def _(m):
    queues(m)
    one, = m.json()
    eq((one["busy"], one["engine"]["gfx"]["busy"]), (87.0, 0.0), "JSON")
    check(re.search(rb"^card0 amdgpu +87\.0% ", m.run("-w", "0.02", "-t", "none", "-H").out), "line")
    check(b'\ngpustat_busy_ratio{dev="card0"} 0.87\n' in m.run("-w", "0.02", "-o", "prom").out, "prom")
    r = m.run("check", "--window", "1ms", "-w", "50", "-c", "80")
    check(r.code == 2 and b"card0 busy 87%" in r.out, f"check: {r!r}")
    check(b"card0_busy.value 87.0\n" in m.run("munin", "--window", "1ms").out, "munin")
    check(re.search(rb"drm/card0/-/busy +87 %", m.run("counters", "-w", "0.05", "drm/card0/-/busy").out), "counters")


@test("user queues: plot draws the busy value of the device")
def _(m):
    queues(m)
    path = m.write("run.json", m.run("-o", "json", "-n", "3", "0.02").out)
    r = machine.run(["plot", path])
    check(re.search(rb">whole device<.*?>87<.*\n.*>gfx<.*?>0<", r.out), f"plot: {r!r}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_amdgpu.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
