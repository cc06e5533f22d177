#!/usr/bin/env python3
# t_dmem.py PROG - video memory from the cgroup controller dmem, and the memory and pressure of
# cgroups. The machines are file trees, see tests/machine.py, because no kernel of the tests has the
# controller (Linux 6.14 with CONFIG_CGROUP_DMEM). Prints TAP.
# SPDX-License-Identifier: MIT
import os
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import AMD, TESTS, XE, check, dump, eq, rewrite, test, val  # noqa: E402

ROOT = "sys/fs/cgroup"
GIB = 1 << 30


def regions(*rows):
    return "".join(f"drm/{slot}/{region} {n}\n" for slot, region, n in rows)


def two(m, root=ROOT):
    """Makes a GPU with a driver that reports no use of memory, one that does, and a process in /a with clients of both."""
    m.device("xe", XE)
    m.device("amdgpu", AMD, card=1, render=129, files={"mem_info_vram_total": f"{8 * GIB}\n",
                                                       "mem_info_vram_used": "4096\n"})
    m.process(10, cgroup="0::/a\n")
    m.fd(10, 5, dump("xe", 7, "drm-total-vram0:\t1 MiB", "drm-resident-vram0:\t1 MiB", pdev=XE))
    m.fd(10, 6, dump("amdgpu", 8, "drm-memory-vram:\t1 MiB", pdev=AMD), "/dev/dri/renderD129")
    m.write(f"{root}/cgroup.controllers", "cpu io memory dmem\n")
    m.write(f"{root}/dmem.capacity", regions((XE, "vram0", 8 * GIB), (XE, "vram1", 8 * GIB), (AMD, "vram", 16 * GIB)))
    m.write(f"{root}/dmem.current", regions((XE, "vram0", 3 * GIB), (XE, "vram1", GIB), (AMD, "vram", GIB)))
    m.write(f"{root}/a/dmem.current", regions((XE, "vram0", 2 * GIB), (XE, "vram1", 5), (AMD, "vram", 6)))
    m.write(f"{root}/a/dmem.max", regions((XE, "vram0", "max"), (XE, "vram1", 9), (AMD, "vram", 7)))


@test("devices: size and use of video memory are from dmem, unless the driver reports them")
def _(m):
    two(m)
    xe, amd = m.json()
    eq((xe["vram"], xe["used"]), ({"total": 16 * GIB, "used": 4 * GIB}, 4 * GIB), "xe")
    eq((amd["vram"], amd["used"]), ({"total": 8 * GIB, "used": 4096}, 4096), "amdgpu")


@test("devices: each sample has the current value")
def _(m):
    two(m)
    f = m.path(ROOT, "dmem.current")
    s = m.live("-d", "card0", steps=[lambda n=n: rewrite(f, n) for n in (
        regions((XE, "vram0", 5)), regions((XE, "vram0", 6), (XE, "vram1", 7)), "", regions((XE, "vram0", "max")),
        f"drm/{XE}/vram0 9", regions((XE, "vram0", 8)))])
    eq([r[0]["vram"]["used"] for r in s], [5, 13, None, None, None, 8], "used")


@test("devices: a suspended device keeps its values, because reading them does not wake it")
def _(m):
    two(m)
    rewrite(m.path("sys/devices/pci0000:00", XE, "power/runtime_status"), "suspended\n")
    xe, _ = m.json()
    eq((xe["state"], xe["vram"]["used"]), ("suspended", 4 * GIB), "xe")


@test("a machine with both cgroup versions: version 2 is read in fs/cgroup/unified")
def _(m):
    two(m, ROOT + "/unified")
    eq(m.json()[0]["vram"]["used"], 4 * GIB, "device")
    eq(m.json("cgroups")[0]["vram"], {"used": 2 * GIB + 5}, "cgroup")


@test("cgroups: have video memory and its limit; without a limit there is no value")
def _(m):
    two(m)
    xe, amd = m.json("cgroups")
    eq((xe["cgroup"], xe["vram"]), ("/a", {"used": 2 * GIB + 5}), "xe")
    eq((amd["vram"], amd["used"]), ({"used": 6, "max": 7}, 1 << 20), "amdgpu; used is the sum over clients")


@test("cgroups: memory and pressure are shown only if -f names them")
def _(m):
    two(m)
    m.write(f"{ROOT}/a/memory.current", "123456\n")
    for name, some in (("cpu", "1.50"), ("memory", "0.00"), ("io", "99.99")):
        m.write(f"{ROOT}/a/{name}.pressure", f"some avg10={some} avg60=0.00 avg300=0.00 total=1\n"
                "full avg10=0.25 avg60=0.00 avg300=0.00 total=1\n")
    for r in m.json("cgroups"):
        check("pressure" not in r and "main_memory" not in r, f"without -f: {r}")
    r = m.json("cgroups", "-f", "pressure,main_memory")[0]
    eq(r, {"pressure": {"cpu": {"some": 1.5, "full": 0.25}, "memory": {"some": 0.0, "full": 0.25},
                        "io": {"some": 99.99, "full": 0.25}}, "main_memory": {"used": 123456}}, "with -f")


@test("cgroups: files that are missing, cut or unreadable give no values; the other values are shown")
def _(m):
    two(m)
    for text in ("", "x", "drm/", f"drm/{XE}/vram0", f"drm/{XE}/vram0 -1\n", f"drm/{XE}/vram0 1e9\n", "\0\n"):
        m.write(f"{ROOT}/a/dmem.current", text)
        m.write(f"{ROOT}/a/memory.current", text)
        m.write(f"{ROOT}/a/cpu.pressure", text)
        r = m.json("cgroups", "-f", "cgroup,vram,pressure,main_memory,clients")[1]
        eq((r["cgroup"], r["vram"], r["clients"]), ("/a", {"max": 7}, 1), f"{text!r}")
        check("pressure" not in r and "main_memory" not in r, f"{text!r}: {r}")


@test("cgroups: files of a path outside the namespace are not read")
def _(m):
    two(m)
    m.write("sys/fs/dmem.current", regions((XE, "vram0", 77)))
    rewrite(m.path("proc/10/cgroup"), "0::/../\n")
    for r in m.json("cgroups"):
        check("vram" not in r, f"{r}")


@test("without the controller there is no value, and sums over clients are shown")
def _(m):
    two(m)
    os.unlink(m.path(ROOT, "dmem.capacity"))
    xe, _ = m.json()
    eq((xe["vram"], xe["used"]), ({"total": None, "used": None}, 1 << 20), "device")
    check(all("vram" not in r for r in m.json("cgroups")), "cgroups")
    eq(val(xe, "memory", "vram0", "resident"), 1 << 20, "resident")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_dmem.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
