#!/usr/bin/env python3
# t_names.py PROG - names of devices: from their drivers, amdgpu.ids, pci.ids and the device tree;
# the folders in which these files are searched for, and the time when they are read; -d with a
# name; malformed files. The machines are file trees, see tests/machine.py. Prints TAP; exit 0 if
# all tests pass.
# SPDX-License-Identifier: MIT
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import Skip, check, dump, eq, ns, parse_csv, parse_logfmt, printable  # noqa: E402

TESTS = []
PCI, AMD_IDS = "usr/share/hwdata/pci.ids", "usr/share/libdrm/amdgpu.ids"
HOST = "proc/1/root/"
PCI_IDS = """# a comment

1002  Advanced Micro Devices, Inc. [AMD/ATI]
	744c  Navi 31 [Radeon RX 7900 XT/7900 XTX]
		1002 0e3b  A board
	73ff  Navi 23 [Radeon RX 6600]
1af4  Red Hat, Inc.
	1050  Virtio 1.0 GPU
8086  Intel Corporation
	56a0  DG2 [Arc A770]
10de  NVIDIA Corporation
	2484  GA104 [GeForce RTX 3070]
C 03  Display controller
	00  VGA compatible controller
	56a0  not a device
"""
AMDGPU_IDS = """# List of AMDGPU IDs
1.0.0
744C,	C8,	AMD Radeon RX 7900 XTX
744C,	CC,	AMD Radeon RX 7900 XT, really
"""


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def pci(m, ids, n=0, driver="amdgpu", revision=None, **files):
    """Makes a PCI device; its slot and nodes have the number n."""
    slot = f"0000:{n + 3:02x}:00.0"
    texts = {"uevent": f"DRIVER={driver}\nPCI_CLASS=30000\nPCI_ID={ids}\nPCI_SLOT_NAME={slot}\n"}
    if revision is not None:
        texts["revision"] = revision
    return m.device(driver, slot, n, 128 + n, files={**texts, **files})


def names(m, *args, **kw):
    return [r["name"] for r in m.json("-r", *args, **kw)]


def one(m, *args):
    got = names(m, *args)
    eq(len(got), 1, "devices")
    return got[0]


# --- sources of a name ----------------------------------------------------------------------

@test("pci.ids gives the short name of the vendor and the name of the device, amdgpu.ids a name by device and revision")
def _(m):
    m.write(HOST + PCI, PCI_IDS)
    m.write(HOST + AMD_IDS, AMDGPU_IDS)
    rows = [("1002:744C", "0xc8", "AMD Radeon RX 7900 XTX"), ("1002:744C", "0xcc", "AMD Radeon RX 7900 XT, really"),
            ("1002:744C", "0xc9", "AMD/ATI Navi 31 [Radeon RX 7900 XT/7900 XTX]"), ("1002:73FF", None, "AMD/ATI Navi 23 [Radeon RX 6600]"),
            ("1002:0001", "0xc8", "AMD/ATI 1002:0001"), ("8086:56A0", "0xc8", "Intel DG2 [Arc A770]"), ("8086:744C", "0xc8", "Intel 8086:744c"),
            ("1AF4:1050", "0x01", "Red Hat Virtio 1.0 GPU"), ("10DE:2484", "0xa1", "NVIDIA GA104 [GeForce RTX 3070]"),
            ("1234:56A0", "0xc8", "1234:56a0"), ("C003:56A0", None, "c003:56a0")]
    for i, (ids, revision, _want) in enumerate(rows):
        pci(m, ids, i, revision=revision)
    eq(names(m), [want for *_, want in rows], "names")


@test("vendors have short names")
def _(m):
    rows = {"Advanced Micro Devices, Inc. [AMD]": "AMD", "Matrox Electronics Systems Ltd.": "Matrox Electronics Systems",
            "ASPEED Technology, Inc.": "ASPEED Technology", "Huawei Technologies Co., Ltd.": "Huawei Technologies", "VMware": "VMware",
            "Corporation": "Corporation", "Two [] Brackets": "Two [] Brackets", "[Only this]": "Only this", "A, B, Inc.": "A",
            "InnoTek Systemberatung GmbH": "InnoTek Systemberatung", "Long" * 20: ("Long" * 20)[:31]}
    text = ""
    for i, long in enumerate(rows):
        text += f"{0xa000 + i:04x}  {long}\n\t0001  X\n"
        pci(m, f"{0xA000 + i:04X}:0001", i)
    m.write(HOST + PCI, text)
    eq(names(m), [f"{short} X" for short in rows.values()], "names")


@test("a name that the driver reports is preferred to those of ids files")
def _(m):
    m.write(HOST + PCI, PCI_IDS)
    pci(m, "1002:744C", 0, product_name="AMD INSTINCT MI250\n")
    pci(m, "1002:744C", 1, product_name="\n", revision="0xc8")
    m.device("kgsl", None, 2, 130, files={"gpu_model": "Adreno650v2\n"})
    m.device("mali", None, 3, 131, name="mali", files={"gpuinfo": "Mali-G610 4 cores r0p0 0xA867\n"})
    eq(names(m), ["AMD INSTINCT MI250", "AMD/ATI Navi 31 [Radeon RX 7900 XT/7900 XTX]", "Adreno650v2", "Mali-G610 4 cores r0p0 0xA867"], "names")


@test("the name of a board is from the device tree; without it the name is unknown")
def _(m):
    m.device("panthor", None, 0, 128, files={"uevent": "DRIVER=panthor\nOF_NAME=gpu\nOF_COMPATIBLE_0=rockchip,rk3588-mali\nOF_COMPATIBLE_1=arm,x\n"})
    m.device("vkms", None, 1, 129)
    eq(names(m), ["rockchip,rk3588-mali", None], "without a board")
    m.write("proc/device-tree/model", b"Radxa ROCK 5B\0")
    eq(names(m), ["rockchip,rk3588-mali (Radxa ROCK 5B)", None], "with a board")
    for model in (b"\0", b"", b"B" * 127, b"B" * 5000, b"two\nlines\0", b"\xff\x01\0"):
        m.write("proc/device-tree/model", model)
        check(one(m, "-d", "0").startswith("rockchip,rk3588-mali"), f"{model[:10]}")


@test("without ids files the name is VENDOR:DEVICE, also in -d, the info metric, and list")
def _(m):
    pci(m, "8086:56A0", 0, driver="xe")
    pci(m, "1002:744C", 1)
    eq(names(m), ["8086:56a0", "1002:744c"], "names")
    eq(one(m, "-d", "1002:744C"), "1002:744c", "-d, in upper case")
    r = m.run("-w", "0.01", "-o", "prom")
    check(b'gpustat_device_info{dev="card0",driver="xe",pdev="0000:03:00.0",name="8086:56a0",state="active"} 1' in r.out, f"{r!r}")
    eq([x.split(b"  ")[1] for x in m.run("list").out.splitlines() if x[:1] != b" " and x], [b"8086:56a0", b"1002:744c"], "list")


@test("the key name comes after pdev and before state in each format")
def _(m):
    pci(m, "8086:56A0")
    m.write(HOST + PCI, PCI_IDS)
    keys = list(m.json("-r")[0])
    eq(keys[keys.index("pdev"):][:3], ["pdev", "name", "state"], "json")
    rows = parse_csv(m.run("-r", "-o", "csv").out)
    eq(next(x["value"] for x in rows if x["field"] == "name"), "Intel DG2 [Arc A770]", "csv")
    eq(parse_logfmt(m.run("-r", "-o", "logfmt").out)[0]["name"], "Intel DG2 [Arc A770]", "logfmt")
    eq(m.run("-r", "-f", "name", "-H").out, b"Intel DG2 [Arc A770]\n", "line with -f name")


# --- malformed files ---------------------------------------------------------------------------------

def found(m, text, ids="8086:56A0", path=HOST + PCI):
    m.write(path, text)
    return one(m)


@test("a pci.ids file cut at any byte gives the name, a part of it, or the id")
def _(m):
    pci(m, "8086:56A0", driver="xe")
    whole = "8086  Intel Corporation\n\t56a0  DG2 [Arc A770]\n"
    full = "Intel DG2 [Arc A770]"
    for n in range(len(whole) + 1):
        got = found(m, whole[:n])
        check(got in ("8086:56a0", "Intel 8086:56a0", full) or full.startswith(got) or got.endswith(" 8086:56a0"), f"{n} bytes: {got}")
    eq(found(m, whole[:-1]), full, "no newline at the end")


@test("pci.ids with CRLF, subsystems, classes, comments, duplicates, empty names and numbers is read")
def _(m):
    pci(m, "8086:56A0", driver="xe")
    full = "Intel DG2 [Arc A770]"
    eq(found(m, PCI_IDS.replace("\n", "\r\n")), full, "CRLF")
    for text, want in (
            ("8086 Intel Corporation\n\t56a0 DG2 [Arc A770]\n", full), ("8086\tIntel Corporation\n\t56A0\tDG2 [Arc A770]\n", full),
            ("1234  X\n\t\t8086 56a0  no\n", "8086:56a0"), ("8086  Intel Corporation\n\t\t56a0  no\n", "Intel 8086:56a0"),
            ("8086  Intel\n#\t56a0  no\n\n\n#x\n\t56a0  DG2\n\t56a0  second\n", "Intel DG2"), ("C 80  x\n\t56a0  no\n", "8086:56a0"),
            ("8086  Intel\nC 03  x\n\t56a0  no\n", "Intel 8086:56a0"), ("8086  Intel\n\t56a  no\n\t56a00  no\n 56a0  no\n", "Intel 0  no"),
            ("8086  Intel\n\t56a0\n\t56a0  DG2\n", "Intel DG2"), ("8086\n\t56a0  DG2\n", "DG2"), ("8086  \n", "8086:56a0"),
            ("8086  One\n\t0001  x\n1002  AMD\n8086  Two\n\t56a0  DG2\n", "Two DG2"), ("x\ny\n", "8086:56a0"), ("", "8086:56a0"),
            ("8086  Intel\n" + "\t56a0 " + "x" * 9000 + "\n\t56a0  DG2\n", "Intel DG2"), ("#" + "x" * 100000 + "\n" + PCI_IDS, full),
            ("x" * 8191 + "\n" + PCI_IDS, full), ("x" * 8192 + "\n" + PCI_IDS, full), ("x" * 8193 + "\n" + PCI_IDS, full),
            ("8086  Intel\n" + "\t0001  x\n" * 200000 + "\t56a0  DG2\n", "Intel DG2")):
        eq(found(m, text), want, f"{text[:40]!r}...")


@test("a name with arbitrary bytes is valid text in every format, and is cut between characters")
def _(m):
    pci(m, "8086:56A0", driver="xe")
    for name in (b"a\x01\x1b[31mb\x7f", b"\xff\xfe", b'q"\\,;=', b"nul\0nul", "é".encode() * 100, b"x" + "é".encode() * 100, "\u202e\u2028".encode()):
        m.write(HOST + PCI, b"8086  Intel\n\t56a0  " + name + b"\n")
        got = one(m)
        check(got.startswith("Intel ") and len(got.encode()) < 200 and not got.endswith("\ufffd") or b"\xff" in name, f"{name}: {got!r}")
        for args in (["list"], ["list", "-o", "line"], ["-r", "-f", "name"]):
            printable(m.run(*args).out)
        parse_logfmt(m.run("-r", "-o", "logfmt").out)
        parse_csv(m.run("-r", "-o", "csv").out)
        eq(m.run("-r", "-o", "prom").out.decode().count("gpustat_device_info{"), 1, "prom")


@test("a folder, a FIFO and an endless device are not read as ids files")
def _(m):
    pci(m, "8086:56A0", driver="xe")
    path = m.path(HOST + PCI)
    os.makedirs(path)
    eq(one(m), "8086:56a0", "a folder")
    os.rmdir(path)
    os.mkfifo(path)
    eq(one(m), "8086:56a0", "a FIFO")
    os.unlink(path)
    os.symlink("/dev/zero", path)
    eq(one(m), "8086:56a0", "/dev/zero")
    os.unlink(path)
    os.symlink("nowhere", path)
    eq(one(m), "8086:56a0", "a dangling link")


@test("amdgpu.ids with unusual lines is read")
def _(m):
    pci(m, "1002:744C", revision="0xc8")
    m.write(HOST + PCI, PCI_IDS)
    other, full = "AMD/ATI Navi 31 [Radeon RX 7900 XT/7900 XTX]", "AMD Radeon RX 7900 XTX"
    eq(found(m, AMDGPU_IDS.replace("\n", "\r\n"), path=HOST + AMD_IDS), full, "CRLF")
    for text, want in ((AMDGPU_IDS[:-1], full), ("744C, C8, " + full, full), ("744c,c8," + full + "\n", full), ("744C,C8\n", other), ("744C,C8,\n", other),
                       ("744C,\tC8,\t \n", other), ("744C\n,,\n,\n\n", other), ("744CC,C8,x\n744C,0C8,y\n", "y"), ("744C,C8x,no\n", other), ("", other)):
        eq(found(m, text, path=HOST + AMD_IDS), want, f"{text!r}")


# --- folders and times of reading ----------------------------------------------------------------

@test("pci.ids is searched for in several folders; a device that is missing in one file is found in another")
def _(m):
    pci(m, "8086:56A0", 0, driver="xe")
    pci(m, "10DE:2484", 1, driver="nouveau")
    for path, want in (("usr/local/share/pci.ids", "d"), ("usr/share/pci.ids", "c"), ("usr/share/misc/pci.ids", "b"), (PCI, "a")):
        m.write(HOST + path, f"8086  Intel\n\t56a0  {want}\n")
        eq(names(m), [f"Intel {want}", "10de:2484"], path)
    m.write(HOST + "usr/share/pci.ids", PCI_IDS)
    eq(names(m), ["Intel a", "NVIDIA GA104 [GeForce RTX 3070]"], "both")


@test("--ids DIR: only the files of this folder are read")
def _(m):
    pci(m, "8086:56A0", 0, driver="xe")
    pci(m, "1002:744C", 1, revision="0xc8")
    m.write(HOST + PCI, "8086  Intel\n\t56a0  of the machine\n1002  AMD\n")
    m.write("ids/pci.ids", PCI_IDS)
    m.write("ids/amdgpu.ids", AMDGPU_IDS)
    eq(names(m), ["Intel of the machine", "AMD 1002:744c"], "names without --ids")
    eq(names(m, "--ids", m.path("ids")), ["Intel DG2 [Arc A770]", "AMD Radeon RX 7900 XTX"], "with")
    for folder in ("nowhere", "ids/pci.ids", "x" * 1000, ""):
        eq(names(m, "--ids", m.path(folder)), ["8086:56a0", "1002:744c"], folder[:10])
    for folder, why in (("nowhere", b"No such file or directory"), ("ids/pci.ids", b"Not a directory"), ("ids", b"")):
        err = m.run("--ids", m.path(folder), "-o", "json", "-w", "0.02").err
        check(err.count(why) == 1 and err.count(folder.encode()) == 1 if why else not err, f"{folder}: {err}")


def opened(m, *args):
    """Returns the ids files that a run opens or tries to open."""
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-f", "-e", "trace=openat", "-o", log, machine.PROG, *args], capture_output=True, timeout=120, check=False)
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if "exited" not in text:
        raise Skip("strace may not trace here")
    return [x.split('"')[1] for x in text.splitlines() if ".ids" in x or "device-tree" in x], r


@test("ids files are read only by commands that show names, and once per run")
@machine.live
def _(m):
    pci(m, "8086:56A0", driver="xe")
    m.write(HOST + PCI, PCI_IDS)
    roots, short = m.roots(), ["-w", "0.01"]
    missing = tap.left_out(machine.PROG)
    for args in (short, ["0.01", "3"], ["-r"], ["-f", "busy,temp", *short], ["-d", "card0", *short], ["-d", "0,driver:xe,0000:03:00.0", *short],
                 ["-d", "xe", *short], ["-d", "03:00.0", *short], ["-o", "json", "-f", "dev,busy", *short], ["procs", "-o", "json", *short],
                 ["cgroups", "-o", "json", *short], *([] if missing else [["-o", f, *short] for f in ("table", "graphite", "statsd", "collectd", "kmsg")]),
                 *([] if missing else [["check"], ["munin"], ["top", "0.01", "1"]][:2])):
        eq(opened(m, *args, *roots)[0], [], f"{args}")
    for args in (["list"], ["list", "-o", "line"], ["-o", "json", *short], ["-o", "csv", "0.01", "4"], ["-f", "name", *short], ["-s", "name", *short],
                 ["-d", "arc", *short], *([] if missing else [["-o", "prom", *short], ["-o", "influx", *short]])):
        got, r = opened(m, *args, *roots)
        eq(r.returncode, 0, f"{args}: {r.stderr}")
        eq(got, ["1/root/" + PCI], f"{args}")
    eq(opened(m, "-r", "-o", "json", "--sys", m.sys)[0], [], "with --sys alone, which is a copy of another machine")


@test("a device that appears later gets its name")
def _(m):
    pci(m, "8086:56A0", driver="xe")
    m.write(HOST + PCI, PCI_IDS)
    samples = m.live(steps=[None, lambda: pci(m, "10DE:2484", 1, driver="nouveau"), None])
    eq([r["name"] for r in samples[-1]], ["Intel DG2 [Arc A770]", "NVIDIA GA104 [GeForce RTX 3070]"], "names")


@test("with a real /proc, the files are read below the root folder of its process 1")
@machine.live
def _(m):
    machine.as_root()
    if not shutil.which("unshare"):
        raise Skip("needs package util-linux")
    pci(m, "8086:56A0", driver="xe")
    m.write("pci.ids", PCI_IDS)
    os.makedirs(m.path("p"))
    script = (f"mount -t proc proc {m.path('p')} && mount -t tmpfs none /usr/share || exit 77; mkdir /usr/share/misc; "
              f"cp {m.path('pci.ids')} /usr/share/misc/; {machine.PROG} -r -f name -H --proc {m.path('p')} --sys {m.sys}")
    r = subprocess.run(["unshare", "-m", "-p", "--fork", "--propagation", "private", "sh", "-c", script], capture_output=True, timeout=60,
                       check=False)
    if r.returncode == 77 or b"unshare" in r.stderr:
        raise Skip("this machine allows no mount namespace")
    eq(r.stdout, b"Intel DG2 [Arc A770]\n", f"{r}")


# --- -d -------------------------------------------------------------------------------------------

@test("-d accepts a driver, a PCI slot with or without domain, and a part of the name, which is tried last")
def _(m):
    m.write(HOST + PCI, PCI_IDS + "abcd  xe card1 Ltd.\n\t0001  driver 0 amdgpu\n")
    pci(m, "8086:56A0", 0, driver="xe")
    pci(m, "1002:744C", 1, driver="amdgpu", revision="0x01")
    pci(m, "ABCD:0001", 2, driver="other")
    for sel, want in (("xe", [0]), ("driver:xe", [0]), ("amdgpu", [1]), ("card1", [1]), ("0", [0]), ("2", [2]), ("03:00.0", [0]), ("0000:03:00.0", [0]),
                      ("3:00.0", [0]), ("03:00", []), ("00.0", []), ("arc a770", [0]), ("NAVI 31", [1]), ("radeon", [1]), ("CARD1 driver", [2]),
                      ("renderD129", [1]), ("/dev/dri/card1", [1]), ("intel,amd/ati", [0, 1]), ("r", [0, 1, 2]), ("8086:56a0", []), ("nosuch", []),
                      ("[", [0, 1]), ("*", []), ("arc a770x", []), ("DG2", [0]), ("7]", []), ("770]", [0])):
        r = m.run("-r", "-d", sel, "-f", "dev", "-H")
        eq([int(x[4:]) for x in r.out.split()], want, f"-d {sel}")
        eq(r.code, 0 if want else 3, f"-d {sel}: exit code")


@test("-d with a name selects devices in other commands")
def _(m):
    m.write(HOST + PCI, PCI_IDS)
    pci(m, "8086:56A0", 0, driver="xe")
    pci(m, "1002:744C", 1)
    m.fd(10, 5, dump("amdgpu", 7, *ns(gfx=1000), pdev="0000:04:00.0"), "/dev/dri/renderD129")
    m.fd(11, 5, dump("xe", 8, *ns(rcs=1000), pdev="0000:03:00.0"))
    for cmd in ("procs", "cgroups", "list"):
        eq({r["dev"] for r in m.json(cmd, "-d", "navi")}, {"card1"}, cmd)
        eq({r["dev"] for r in m.json(cmd, "-d", "xe")}, {"card0"}, cmd)


@test("a device that does not exist: the message suggests the nearest node, driver or slot")
def _(m):
    pci(m, "8086:56A0", 0, driver="xe")
    pci(m, "1002:744C", 1)
    for sel, want in (("crad1", "card1"), ("amdgup", "amdgpu"), ("AMDGPUS", "amdgpu"), ("card9", "card0"), ("randerD129", "renderD129"),
                      ("0000:04:01.0", "0000:04:00.0"), ("nope", None), ("x" * 40, None), ("zz,crad1", "card1"), ("carrrd", None), ("7", None)):
        r = m.run("-r", "-d", sel)
        eq((r.code, r.out), (3, b""), f"-d {sel}")
        check(r.err.startswith(b"gpustat: no device matches -d; devices: card"), f"-d {sel}: {r.err}")
        eq(r.err.decode().partition("; did you mean '")[2], f"{want}'?\n" if want else "", f"-d {sel}")


@test("no GPU: the message lists the searched folders, and suggests doctor if it is built in")
def _(m):
    r = m.run()
    want = f"gpustat: no GPU was found; looked in {m.sys}/class/drm, class/accel, {m.proc}/driver/nvidia, files of vendor drivers"
    check(r.code == 3 and not r.out, f"{r!r}")
    has = machine.run(["doctor", "--help"]).code == 0
    eq(r.err.decode(), want + ("; try: gpustat doctor\n" if has else "\n"), "message")
    eq(m.run("-q").err, b"", "--quiet")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_names.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
