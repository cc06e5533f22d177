#!/usr/bin/env python3
# t_nodriver.py PROG - the system calls for NVIDIA's driver on a machine without it, and on the
# files
# of another machine. Prints TAP. SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import TREES, Skip, check, eq, test  # noqa: E402


def calls(m, *args):
    """Returns the system calls of a run, one per line."""
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-f", "-o", log, machine.PROG, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if not os.path.exists(log) or r.returncode not in (0, 3):
        raise Skip(f"strace: {r.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def opens(lines):
    return [line for line in lines if re.search(r'open(at)?\(.*"/dev/nvidia', line)]


def requests(lines):
    return [line for line in lines if re.search(r"ioctl\(.*_IOC\(.*0x46|ioctl\(.*'F'", line)]


@test("without NVIDIA's driver one system call of a run looks for it, for any number of samples")
def _(m):
    if os.path.exists("/proc/driver/nvidia/version"):
        raise Skip("this machine has NVIDIA's driver")
    for n in ("1", "5"):
        lines = calls(m, "0.05", n)
        eq(len([line for line in lines if "driver/nvidia/version" in line]), 1, f"look-ups in {n} samples")
        eq(opens(lines) + requests(lines), [], "opened nodes and requests to the driver")


@test("with the files of another machine, this machine's driver is not used")
def _(m):
    lines = calls(m, "-w", "0.05", "--proc", f"{TREES}/nvidia/proc", "--sys", f"{TREES}/nvidia/sys")
    eq(opens(lines) + requests(lines), [], "opened nodes and requests to the driver")
    check(not [line for line in lines if '"/proc/driver/nvidia' in line], "opens of /proc/driver/nvidia of this machine")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_nodriver.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
