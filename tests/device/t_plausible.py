#!/usr/bin/env python3
# t_plausible.py PROG - readings that no sensor can measure are unknown in every command. The
# machines
# are file trees, see tests/machine.py. Prints TAP. SPDX-License-Identifier: MIT
import csv
import errno
import io
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import deadfs  # noqa: E402
import machine  # noqa: E402
from machine import AMD, I915, Skip, TESTS, check, dump, eq, ns, rewrite, test  # noqa: E402

IMPOSSIBLE = {"temp1_input": "2112000", "temp2_input": "-256000", "temp3_input": "511000", "power1_input": "4290000000000",
              "fan1_input": "65535", "in0_input": "18446744073709551", "curr1_input": "-2147483648000", "temp4_input": "61000"}


def gpu(m, files, driver="amdgpu", pdev=AMD):
    """Makes a GPU with a hwmon chip that has these files."""
    dev = m.device(driver, pdev)
    for name, text in {"name": driver, **files}.items():
        m.write(f"{dev}/hwmon/hwmon3/{name}", text + "\n")
    m.link(f"{dev}/hwmon/hwmon3", "sys/class/hwmon/hwmon3")
    m.link(dev, f"{dev}/hwmon/hwmon3/device")
    return f"{dev}/hwmon/hwmon3"


def chip(m, number, files):
    """Makes a hwmon chip that does not belong to a GPU."""
    for name, text in {"name": "chip", **files}.items():
        m.write(f"sys/class/hwmon/hwmon{number}/{name}", text + "\n")


@test("devices: an impossible reading is null, is counted, and is reported with -v")
def _(m):
    gpu(m, IMPOSSIBLE)
    r = m.json()[0]
    eq((r["temp"], r["power"], r["fan"], r["volt"], r.get("current")),
       ({"temp1": None, "temp2": None, "temp3": None, "temp4": 61.0}, {"power1": None}, {"fan1": None}, {"in0": None},
        None), "values")
    eq(r["implausible"], 7, "implausible")
    e = m.run("-v", "-w", "0.02").err.decode()
    check("8 readings were not plausible and are unknown; the last one: card0 power1: power 4290000000000\n" in e, f"-v: {e!r}")
    check("plausible" not in m.run("-w", "0.02").err.decode(), "no message without -v")
    line = m.run("-w", "0.02", "-H", "-t", "none").out.decode()
    check("2112" not in line and "4290" not in line and "65535" not in line, f"line: {line!r}")


@test("devices: without implausible readings there is no column for them")
def _(m):
    gpu(m, {"temp1_input": "61000", "power1_input": "300000000"})
    r = m.json()[0]
    eq((r["temp"], r["power"], r.get("implausible")), ({"temp1": 61.0}, {"power1": 300.0}, None), "values")


@test("devices: a reading far above the limit of its channel is unknown")
def _(m):
    gpu(m, {"temp1_input": "255000", "temp1_crit": "105000", "temp2_input": "120000", "temp2_crit": "105000",
            "power1_average": "4000000000", "power1_cap_max": "300000000", "power2_average": "450000000",
            "power2_cap_max": "300000000", "fan1_input": "16383", "fan1_max": "3300", "fan2_input": "3500", "fan2_max": "3300"})
    r = m.json()[0]
    eq((r["temp"], r["power"], r["fan"]),
       ({"temp1": None, "temp2": 120.0}, {"power1": None, "power2": 450.0}, {"fan1": None, "fan2": 3500}), "values")


@test("engines: an impossible clock or number of engines of a client is unknown, and is counted")
def _(m):
    m.device("panfrost", None)
    m.fd(10, 5, dump("panfrost", 7, *ns(fragment=1000), "drm-maxfreq-fragment:\t18446744073709551614 Hz",
                     "drm-curfreq-fragment:\t100000000001 Hz", "drm-engine-capacity-fragment:\t4294967296"))
    for k, records in enumerate(m.live(steps=[None, None], interval=1)):
        e = records[0]["engine"]["fragment"]
        eq((e["capacity"], e.get("maxfreq"), e.get("curfreq")), (1, None, None), f"sample {k}")
        eq(records[0]["implausible"], 3, f"sample {k}: implausible")
    e = m.run("-v", "-r").err.decode()
    check("3 readings were not plausible and are unknown; the last one: card0 fragment: " in e, f"-v: {e!r}")


@test("engines: a jump of the cycles is not taken as a mean clock")
def _(m):
    m.device("panfrost", None)

    def text(busy, cycles):
        return dump("panfrost", 7, *ns(fragment=busy), f"drm-cycles-fragment:\t{cycles}", "drm-maxfreq-fragment:\t800000000 Hz")
    f = m.fd(10, 5, text(0, 0))
    got = m.live(steps=[lambda: rewrite(f, text(5 * 10**8, 4 * 10**8)), lambda: rewrite(f, text(6 * 10**8, 2**60)),
                        lambda: rewrite(f, text(7 * 10**8, 2**60 + 8 * 10**7))], interval=1)
    eq([s[0]["engine"]["fragment"]["freq"] for s in got], [800000000, None, 800000000], "freq")


def huge_key(key, size):
    """Adds a test of a client with the line drm-KEY-vram of this size, and of another client."""
    def body(m):
        field = "total" if key == "total" else "resident"
        m.device("amdgpu", AMD)
        rest = "drm-resident-vram:\t4 MiB" if key == "total" else "drm-total-vram:\t8 MiB"
        m.fd(10, 5, dump("amdgpu", 7, f"drm-total-gtt:\t{2**42} KiB", rest, f"drm-{key}-vram:\t{size}"))
        m.fd(11, 5, dump("amdgpu", 8, "drm-total-vram:\t8 MiB", "drm-resident-vram:\t4 MiB"))
        for command in ([], ["-r"], ["clients"], ["clients", "-r"], ["cgroups"], ["procs"]):
            for r in m.json(*command):
                if r.get("pid") == 11:
                    eq((r["memory"]["vram"], r["used"]),
                       ({"total": 2**23, "shared": None, "resident": 2**22, "purgeable": None, "active": None}, 2**22), f"{command}: pid 11")
                    continue
                eq((r["memory"]["vram"][field], r["memory"]["gtt"]["total"]), (None, 2**52), f"{command}: vram, gtt")
                if field == "resident":
                    eq(r.get("used"), None, f"{command}: used")
                if r["kind"] == "device":
                    eq(r["implausible"], 1, f"{command}: implausible")
        out = m.run("counters", f"drm/card0/vram/{field}", "-w", "0.02", "-o", "csv", "-f", "name,value").out.decode()
        check(f"drm/card0/vram/{field},\n" in out.replace("\r", ""), f"counters: {out!r}")
        r = m.run("check", "-m", f"memory.vram.{field},used", "-w", "1,1", "-c", "9000000,9000000")
        check(r.code != 2 and str(size).encode() not in r.out, f"check: {r!r}")
        e = m.run("-v", "-r").err.decode()
        check("1 reading was not plausible and is unknown: card0 vram: memory " in e, f"-v: {e!r}")
    TESTS.append((f"memory: {size} bytes in drm-{key}-vram are unknown in every command, and are counted", body, False))


huge_key("total", 2**52 + 1)
huge_key("resident", 2**63)
huge_key("memory", 2**64 - 4096)


@test("devices: files whose reads fail with EIO, ENODEV or ENXIO have no value, and raise no alert")
@machine.live
def _(m):
    errors = {"temp1_input": errno.EIO, "power1_average": errno.ENODEV, "fan1_input": errno.ENXIO, "in0_input": errno.EAGAIN}
    folder = gpu(m, {**dict.fromkeys(errors, "7"), "temp2_input": "61000"})
    dev = folder.removesuffix("/hwmon/hwmon3")
    device = {"gpu_busy_percent": errno.EIO, "mem_info_vram_used": errno.ENODEV}
    for name in device:
        m.write(f"{dev}/{name}", "7\n")
    m.write(f"{dev}/mem_info_vram_total", "4096\n")
    server, bound = None, []
    try:
        deadfs.own_mounts()
        server = deadfs.Server(m.path("fuse"), {**errors, **device})
        for name in (*errors, *device):
            bound.append(m.path(folder if name in errors else dev, name))
            deadfs.mount(m.path("fuse", name), bound[-1], None, 1 << 12, None)  # MS_BIND
        samples = m.live(steps=[None, None], interval=0.1)
        for r in [s[0] for s in samples] + m.json("-r"):
            eq((r["temp"], r["power"], r["fan"], r["volt"], r["busy"], r["vram"], r.get("used"), r.get("implausible")),
               ({"temp2": 61.0}, {}, {}, {}, None, {"total": 4096, "used": None}, None, None), "values")
        for args, code in ((("-m", "temp"), 0), (("-m", "power,fan,vram.used,busy"), 3)):
            r = m.run("check", *args, "-w", "@0:0", "-c", "@0:0")
            eq(r.code, code, f"check {args}: {r!r}")
        for command in ("list", "procs", "doctor", "munin"):
            eq(m.run(command, *(["-w", "0.02"] if command == "procs" else [])).code, 0, command)
    except deadfs.Unable as e:
        raise Skip(str(e)) from None
    finally:
        for path in bound:
            deadfs.LIBC.umount2(path.encode(), deadfs.MNT_DETACH)
        if server:
            server.end()


@test("fdinfo: impossible values of a dump are unknown and are counted, and -v prints the last one")
def _(m):
    for name, size, hertz, capacity in (("bad", 2**63, 10**12 - 1, 256), ("good", 4096, 1000, 2)):
        m.write(name, dump("amdgpu", 7, *ns(gfx=5), f"drm-maxfreq-gfx:\t{hertz} Hz", "drm-total-vram:\t8 MiB",
                           f"drm-resident-vram:\t{size}", f"drm-engine-capacity-gfx:\t{capacity}"))
    paths = [m.path("bad"), m.path("good")]
    r = m.run("fdinfo", "-v", "-o", "json", *paths)
    bad, good = map(json.loads, r.out.splitlines())
    eq((bad["implausible"], bad["memory"]["vram"], bad["engine"]["gfx"], bad.get("used")),
       (3, {"total": 2**23}, {"busy_ns": 5, "capacity": 1}, None), "bad")
    eq((good.get("implausible"), good["memory"]["vram"]["resident"], good["engine"]["gfx"]["capacity"], good["used"]),
       (None, 4096, 2, 4096), "good")
    for fmt in ("json", "csv", "table"):
        e = m.run("fdinfo", "-v", "-o", fmt, *paths).err.decode()
        check("3 readings were not plausible and are unknown; the last one: bad " in e, f"-v -o {fmt}: {e!r}")
    check(b"plausible" not in m.run("fdinfo", *paths).err, "no message without -v")
    check(b"plausible" not in m.run("fdinfo", "-v", paths[1]).err, "no message about the good dump")


@test("memory: an unknown size is not the 0 of a key that the driver leaves out")
def _(m):
    m.device("xe", I915)
    f = m.fd(10, 5, dump("xe", 7, "drm-total-vram0:\t8 MiB", "drm-resident-vram0:\t4 MiB", pdev=I915))
    got = m.live(steps=[lambda: rewrite(f, dump("xe", 7, "drm-total-vram0:\t8 MiB", f"drm-resident-vram0:\t{2**64 - 4096}", pdev=I915)),
                        lambda: rewrite(f, dump("xe", 7, "drm-total-vram0:\t8 MiB", pdev=I915))], interval=1)
    eq([s[0]["memory"]["vram0"]["resident"] for s in got], [None, 0], "resident")
    eq([s[0].get("used") for s in got], [None, 0], "used")


@test("memory: sums over clients of more than 2^52 bytes are unknown")
def _(m):
    m.device("amdgpu", AMD)
    for pid in range(10, 14):
        m.fd(pid, 5, dump("amdgpu", pid, f"drm-total-vram:\t{2**52}", f"drm-resident-vram:\t{2**50}"))
    r, = m.json("-r")
    eq((r["memory"]["vram"]["total"], r["memory"]["vram"]["resident"], r["used"], r.get("implausible")), (None, 2**52, 2**52, None), "sums")


@test("memory: an impossible size of shared buffers makes the sums unknown that depend on it")
def _(m):
    for pid, shared in ((7, 2**63), (8, 100 << 20)):
        m.process(pid)
        m.fd(pid, 5, dump("amdgpu", pid, f"drm-total-vram:\t{100 << 20}", f"drm-resident-vram:\t{100 << 20}", f"drm-shared-vram:\t{shared}"))
    for command in ("devices", "cgroups"):
        for r in m.json(*([] if command == "devices" else [command]), "-r"):
            sizes = r["memory"]["vram"]
            eq(([sizes[k] for k in ("total", "resident", "shared")], r.get("used")), ([None] * 3, None), command)
    r = m.run("check", "-m", "used", "-c", "150000000")
    check(r.code != 2, f"check: {r!r}")


@test("memory: a size that does not fit in 64 bits is not shown as 0")
def _(m):
    text = dump("xe", 7, "drm-total-vram0:\t8 MiB", "drm-resident-vram0:\t{}")
    m.process(7)
    m.fd(7, 5, text.replace("{}", "4 MiB"))
    for size in ("4 MiB", "18014398509481984 KiB", "18446744073709551616", "-4 KiB"):
        samples = m.live(steps=[None, lambda: rewrite(m.path("proc/7/fdinfo/5"), text.replace("{}", size))], interval=0.1)
        r = samples[-1][0]
        want = 4 << 20 if size == "4 MiB" else None
        eq((r["memory"]["vram0"]["resident"], r.get("used")), (want, want), size)
        rewrite(m.path("proc/7/fdinfo/5"), text.replace("{}", "4 MiB"))


@test("memory: a size of 2^54 KiB, which exceeds 64 bits, is unknown and counted, and so are the sums that depend on it")
def _(m):
    m.device("amdgpu", AMD)
    m.device("xe", I915, card=1, render=129)
    for pid, node, driver, pdev, size in ((10, 128, "amdgpu", AMD, f"{2**54} KiB"), (11, 128, "amdgpu", AMD, "4 MiB"),
                                          (12, 129, "xe", I915, "7 MiB")):
        m.fd(pid, 5, dump(driver, pid, f"drm-total-vram0:\t{size}", f"drm-resident-vram0:\t{size}", pdev=pdev),
             f"/dev/dri/renderD{node}")
    bad, good = m.json("-r")
    eq((bad["memory"]["vram0"]["resident"], bad.get("used"), bad["implausible"]), (None, None, 2), "card0")
    eq((good["memory"]["vram0"]["resident"], good["used"], good.get("implausible")), (7 << 20, 7 << 20, None), "card1")
    for size, used in (("0", 11 << 20), (f"{2**54} KiB", None)):
        rewrite(m.path("proc/10/fdinfo/5"), dump("amdgpu", 10, f"drm-resident-vram0:\t{size}", pdev=AMD))
        r, = m.json("counters", "GPU memory usage")
        eq(r["value"], used, f"the counter of all GPUs with a client of {size}")


@test("memory: the sum of an APU's video memory and main memory is unknown above 2^52 bytes")
def _(m):
    shutil.copytree(os.path.join(machine.TREES, "amdgpu-apu"), m.path("apu"), symlinks=True)
    roots = ["--proc", m.path("apu/proc"), "--sys", m.path("apu/sys")]
    found = [os.path.join(d, f) for d, _, files in os.walk(m.path("apu/sys")) for f in files if f in ("mem_info_vram_used", "mem_info_gtt_used")]
    eq(len(found), 2, "files")
    for size, used in ((2**51, 2**52), (2**51 + 1, None)):
        for f in found:
            rewrite(f, f"{size}\n")
        r, = machine.parse_json(machine.run(["-r", "-o", "json", *roots]).out)
        eq(r.get("used"), used, f"used with two sizes of {size}")


@test("memory: a size that is constant is read again if its first reading was impossible")
def _(m):
    m.device("amdgpu", AMD, files={"mem_info_vram_total": f"{2**63}\n", "mem_info_vram_used": "4096\n"})
    total = m.path(f"sys/devices/pci0000:00/{AMD}/mem_info_vram_total")
    got = [s[0] for s in m.live(steps=[None, lambda: rewrite(total, f"{2**33}\n"), lambda: rewrite(total, "5\n")], interval=1)]
    eq([(r["vram"]["total"], r.get("implausible")) for r in got], [(None, 1), (2**33, None), (2**33, None)], "total")


@test("memory: minimum, mean and maximum of the largest sizes")
def _(m):
    f = m.fd(10, 5, dump("amdgpu", 10, "drm-resident-vram:\t4096"))
    got = m.live("-S", steps=[lambda: rewrite(f, dump("amdgpu", 10, f"drm-resident-vram:\t{2**52}")), None], interval=1)
    last = [r for s in got for r in s][-3:]
    eq([(r["summary"], r["memory"]["vram"]["resident"], r["used"]) for r in last],
       [(k, 2**52, 2**52) for k in ("min", "avg", "max")], "summary")


@test("memory: an impossible size in a device's file is unknown, is counted, and raises no alert")
def _(m):
    m.device("amdgpu", AMD, files={"mem_info_vram_total": "8589934592\n", "mem_info_vram_used": f"{2**63}\n",
                                   "mem_info_gtt_total": f"{2**64 - 1}\n", "mem_info_gtt_used": f"{2**52 + 1}\n",
                                   "mem_info_vis_vram_total": f"{2**52}\n", "mem_info_vis_vram_used": "18446744073709551616\n"})
    r, = m.json()
    eq((r["vram"], r.get("gtt"), r["visible"], r.get("used"), r["implausible"]),
       ({"total": 2**33, "used": None}, None, {"total": 2**52}, None, 3), "values")
    r = m.run("check", "-m", "vram.used,gtt.used,used", "-w", "1,1,1", "-c", "2,2,2")
    check(r.code == 3 and b"922337" not in r.out, f"check: {r!r}")
    line = m.run("-w", "0.02", "-H", "-t", "none").out.decode()
    check("8.0E" not in line and "16E" not in line, f"line: {line!r}")


@test("memory: more memory in use than the device has is shown as it is, and check compares the bytes")
def _(m):
    m.device("amdgpu", AMD, files={"mem_info_vram_total": "4096\n", "mem_info_vram_used": "8192\n"})
    r, = m.json()
    eq((r["vram"], r["used"], r.get("implausible")), ({"total": 4096, "used": 8192}, 8192, None), "values")
    line = m.run("-w", "0.02", "-H", "-t", "none").out.decode()
    check(" 8.0K/4.0K " in line and "200" not in line, f"line: {line!r}")
    for limit, code in (("8192", 0), ("8191", 2)):
        r = m.run("check", "-m", "vram.used", "-c", limit)
        check(r.code == code and b"8192B" in r.out and b"%" not in r.out, f"check -c {limit}: {r!r}")


@test("memory: an impossible size of one core of an NPU makes the memory in use unknown")
def _(m):
    base = "sys/devices/virtual/neuron_device/neuron0"
    m.write(f"{base}/info/architecture/device_name", "Trainium\n")
    for core, size in enumerate((4096, 2**63)):
        m.write(f"{base}/neuron_core{core}/stats/memory_usage/device_mem/present", f"{size}\n")
    r, = m.json()
    eq((sorted(v["resident"] or 0 for v in r["memory"].values()), r.get("used"), r["implausible"]), ([0, 4096], None, 1), "values")


@test("devices: a load above 100 % is shown as 100 %, and one above 1000 % is unknown")
def _(m):
    m.device("amdgpu", AMD, files={"gpu_busy_percent": "255\n", "mem_busy_percent": "255\n", "vcn_busy_percent": "1001\n"})
    for args in ([], ["-r"]):
        r = m.json(*args)[0]
        eq((r["busy"], r["load"], r["implausible"]), (100.0, {"mem": 100.0}, 1), f"{args}")
    out = m.run("counters", "*load*", "-w", "0.02", "-o", "csv", "-f", "name,value").out.decode()
    check("drm/card0/mem/load,100\n" in out.replace("\r", ""), f"counters: {out!r}")


@test("list: a number of PCIe lanes above 255 is unknown")
def _(m):
    m.device("amdgpu", AMD, files={"max_link_speed": "16.0 GT/s PCIe\n", "max_link_width": "65535\n"})
    link = m.json("list")[0]["link"]
    eq((link["max_speed"], link["max_width"]), (16.0, None), "link")


@test("check: an impossible reading raises no alert")
def _(m):
    gpu(m, IMPOSSIBLE)
    r = m.run("check", "-m", "temp", "-w", "90", "-c", "95")
    eq(r.code, 0, f"check -m temp: {r.out!r}")
    r = m.run("check", "-m", "power.power1", "-w", "90", "-c", "95")
    check(r.code == 3 and b"4290000" not in r.out, f"check -m power: {r!r}")


@test("stat, counters and host have no impossible readings either")
def _(m):
    chip(m, 0, IMPOSSIBLE)
    m.write("sys/class/thermal/thermal_zone0/type", "soc\n")
    m.write("sys/class/thermal/thermal_zone0/temp", "-256000\n")
    names = [n[:-6] for n in IMPOSSIBLE]
    out = m.run("stat", "-e", ",".join(f"hwmon_chip/{n}/" for n in names), "-w", "0.02", "-o", "json").out.decode()
    values = {r["event"]: r["value"] for r in map(json.loads, out.splitlines()) if "event" in r}
    eq({k.split("/")[1]: v for k, v in values.items() if v is not None}, {"temp4": 61.0}, f"stat: {out}")
    r = m.run("counters", "hwmon/*", "-w", "0.02", "-o", "csv", "-f", "name,value")
    rows = list(csv.reader(io.StringIO(r.out.decode())))[1:]
    eq({name.split("/")[2]: v for name, v in rows if v}, {"temp4": "61000"}, f"counters: {rows}")
    r = m.run("host", "-f", "thermal/soc/temp", "-w", "0.02", "-o", "json")
    r, = machine.parse_json(r.out)
    eq(r["value"], None, f"host: {r!r}")


@test("devices, stat, counters and host report the same temperature of a channel and of a thermal zone")
def _(m):
    gpu(m, {"temp1_input": "61500"})
    m.link("sys/devices/pci0000:00/" + AMD, "sys/class/thermal/thermal_zone0/device")
    m.write("sys/class/thermal/thermal_zone0/type", "soc\n")
    m.write("sys/class/thermal/thermal_zone0/temp", "48250\n")
    eq(m.json()[0]["temp"], {"temp1": 61.5, "soc": 48.25}, "devices")

    def lines(*args):
        return [json.loads(x) for x in m.run(*args, "-w", "0.02", "-o", "json").out.splitlines()]
    eq([r["value"] for r in lines("stat", "-e", "hwmon_amdgpu/temp1/") if r.get("event")], [61.5], "stat")
    eq({r["name"]: r["value"] for r in lines("counters", "*temp*")},
       {"drm/card0/temp1/temp": 61500, "drm/card0/soc/temp": 48250, "host/thermal/soc/temp": 48250}, "counters")
    eq([r["value"] for r in lines("host", "-f", "thermal/soc/temp")], [48250], "host, in mC")


def joules(values):
    return [round(v * 10**6) for v in values]


def powers(m, values):
    """Returns mean power in W and energy in J of one sample per second; values: readings in J."""
    chan = gpu(m, {"energy1_input": str(joules(values[:1])[0])}, "i915", I915)
    steps = [lambda v=v: rewrite(m.path(chan, "energy1_input"), f"{v}\n") for v in joules(values[1:])]
    samples = m.live(steps=steps, interval=1)
    return [(s[0]["power"].get("card"), s[0]["energy"].get("card")) for s in samples]


def watts(got):
    return [None if p is None else round(p) for p, _e in got]


@test("energy: a counter that dips once has one unknown power, and correct values before and after")
def _(m):
    got = powers(m, [22543309, 22543361, 200, 22543465, 22543517])
    eq(watts(got), [52, None, 52, 52], "power")
    eq([e for _p, e in got], [22543361, None, 22543465, 22543517], "energy")


@test("energy: a counter that restarts has one interval without power")
def _(m):
    eq(watts(powers(m, [22543309, 22543361, 30, 82, 134])), [52, None, 52, 52], "power")


@test("energy: a step of 2^32 units of 2^-14 J is not taken as power")
def _(m):
    eq(watts(powers(m, [22543309, 22543361, 22805557, 22805609])), [52, None, 52], "power")


@test("energy: an update by 2 kJ in an interval of 10 ms is not taken as 200 kW")
def _(m):
    chan = gpu(m, {"energy1_input": "22543309000000"}, "i915", I915)
    steps = [lambda v=v: rewrite(m.path(chan, "energy1_input"), f"{v}000000\n") for v in (22543309, 22545309, 22545310)]
    got = [s[0]["power"].get("card") for s in m.live(steps=steps, interval=0.01)]
    check(got[0] == 0 and got[1] is None and 90 < got[2] < 110, f"power: {got}")


@test("energy: with --state the power of an interval with a restart is unknown")
def _(m):
    chan = gpu(m, {"energy1_input": "1000000000"}, "i915", I915)
    got = []
    for value in ("1000000000", "1000000100", "500", "700"):
        rewrite(m.path(chan, "energy1_input"), value + "\n")
        r = m.json("--state", m.path("state"))[0]
        got.append((r["energy"]["card"], (r["power"]["card"] or 0) > 0))
    eq(got, [(1000.0, False), (1000.0001, True), (None, False), (0.0007, True)], "energy, and whether there is power")


if __name__ == "__main__":
    machine.main(sys.argv[1], TESTS)
