#!/usr/bin/env python3
# t_discovery.py PROG - the processes that a sample reads: those that inotify reports, those of the
# limited rescan, and holders of descriptors that are duplicated, passed on or inherited. The
# machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (I915, XE, busy, dump, eq, ns, one_client, parse_json, rewrite, right,  # noqa: E402
                     strict, test, val, writer)


R = "samples without a full scan"


def crowd(m, n=60):
    """Adds more processes than the rescan of one sample reaches."""
    for pid in range(1000, 1000 + n):
        m.process(pid)


@test(f"{R}: a client that is passed to another process continues although inotify reports nothing")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915), comm="sender")
    crowd(m)

    def passed():
        m.process(20, "taker", 2000)
        m.fd(20, 3, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        m.close(10, 5)
    s = m.procs("--sweep", "0", steps=[writer(f, dump("i915", 7, *ns(render=1.05e9), pdev=I915)), passed, None])
    right(s[1][7], "render", 5e7, "when passed")
    eq((s[1][7]["pid"], s[1][7]["pids"]), (20, [20]), "holder")
    right(s[2][7], "render", 0, "after")


@test(f"{R}: a child inherits a client and outlives its parent")
def _(m):
    one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915), comm="parent")
    crowd(m)

    def forked():
        m.process(2000, "child", 2000)
        m.fd(2000, 5, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        m.gone(10)
    s = m.procs("--sweep", "0", steps=[None, forked, None])
    right(s[1][7], "render", 1e8, "after its parent exited")
    eq((s[1][7]["pids"], s[2][7]["pids"]), ([2000], [2000]), "holders")


@test(f"{R}: the descriptor of a second holder is replaced by another client, then by a file")
def _(m):
    one_client(m)
    m.process(20, "second", 2000)
    f = m.fd(20, 3, dump("i915", 7, *ns(render=1000), pdev=I915))

    def closed():
        os.unlink(m.path("proc/20/fd/3"))
        os.symlink("/tmp/file", m.path("proc/20/fd/3"))
        rewrite(f, "pos:\t0\nflags:\t02\n")
    s = m.procs(steps=[None, writer(f, dump("i915", 8, *ns(render=5), pdev=I915)), closed])
    eq([{c: r["pids"] for c, r in x.items()} for x in s],
       [{7: [10, 20]}, {7: [10], 8: [20]}, {7: [10]}], "clients and their holders")


@test(f"{R}: the descriptor through which a client is read is replaced by a file, and another holder remains")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=10**9), pdev=I915))
    m.process(20, "second", 2000)
    other = m.fd(20, 3, dump("i915", 7, *ns(render=10**9), pdev=I915))

    def closed():
        rewrite(other, dump("i915", 7, *ns(render=1.1e9), pdev=I915))
        os.unlink(m.path("proc/10/fd/5"))
        os.symlink("/tmp/file", m.path("proc/10/fd/5"))
        rewrite(f, "pos:\t0\nflags:\t02\n")
    s = m.procs("--sweep", "80", steps=[None, closed, None])
    right(s[1][7], "render", 1e8, "busy time, read through the other holder")
    eq((s[1][7]["pids"], s[2][7]["pids"]), ([20], [20]), "holders")


@test(f"{R}: a process that closed NVIDIA's node is not shown in the next sample")
def _(m):
    m.device("nvidia", XE, render=None, card=None)
    crowd(m)
    m.fd(10, 3, None, "/dev/nvidia0")
    m.fd(20, 3, None, "/dev/nvidia0")
    s = m.live("--sweep", "0", steps=[None, lambda: os.unlink(m.path("proc/10/fd/3")), None])
    eq([[r["clients"] for r in x] for x in s], [[2], [1], [1]], "clients")


@test(f"{R}: the clients of a device are read after it wakes up")
def _(m):
    m.device("xe", XE, state="suspended")
    crowd(m)
    m.fd(10, 5, dump("xe", 7, pdev=XE))
    state = m.path(f"sys/devices/pci0000:00/{XE}/power/runtime_status")
    s = m.live("--sweep", "0", steps=[None, lambda: rewrite(state, "active\n"), None])
    eq([[r["clients"] for r in x] for x in s], [[None], [1], [1]], "clients")


@test(f"{R}: /sys is read again when device nodes appear or disappear")
@machine.live
def _(m):
    m.device("i915", I915)
    nodes = m.path("proc/1/root/dev/dri")
    os.makedirs(nodes)
    crowd(m)

    def plugged():
        m.device("xe", XE, card=1, render=129)
        m.write("proc/1/root/dev/dri/card1", "")

    def pulled():
        os.unlink(m.path("sys/class/drm/card1"))
        os.unlink(m.path("sys/class/drm/renderD129"))
        os.unlink(f"{nodes}/card1")
    s = m.live("--sweep", "0", steps=[None, plugged, pulled, None])
    eq([[r["dev"] for r in x] for x in s], [["card0"], ["card0", "card1"], ["card0"], ["card0"]], "devices")


@test(f"{R}: NVIDIA's driver is loaded later, unloaded, and loaded again; its GPU without a minor number remains")
@machine.live
def _(m):
    machine.built_in("nvidia")
    m.device("i915", I915)
    dev = m.device("", XE, render=None, card=None)
    os.unlink(m.path(f"{dev}/driver"))
    os.makedirs(m.path("proc/1/root/dev/dri"))
    crowd(m)

    def loaded(minor=0, slot=XE):
        m.write(f"proc/driver/nvidia/gpus/{slot}/information", f"Model: \t\t NVIDIA X\nDevice Minor: \t {minor}\n")
        m.write(f"proc/1/root/dev/nvidia{minor}", "")

    def unloaded():
        shutil.rmtree(m.path("proc/driver/nvidia"))
        os.unlink(m.path("proc/1/root/dev/nvidia0"))

    def changed():  # another node appears; the files of known GPUs must not be read again
        for slot in (XE, "0000:42:00.0"):
            m.write(f"proc/driver/nvidia/gpus/{slot}/information", "Model: \t\t NVIDIA Y\n")
        m.write("proc/1/root/dev/nvidia7", "")
    s = m.live("--sweep", "0", steps=[None, loaded, None, unloaded, None, loaded, lambda: loaded("x", "0000:42:00.0"), changed])
    one, two = ["card0"], ["card0", "nvidia0"]
    eq([[r["dev"] for r in x] for x in s], [one, two, two, one, one, two, *[["card0", "0000:42:00.0", "nvidia0"]] * 2], "devices")
    eq([r["name"] for r in s[5]][1], "NVIDIA X", "its name")
    eq([r["name"] for r in s[7]][1:], ["NVIDIA X"] * 2, "their names")


@test(f"{R}: a vendor's driver is loaded later, and unloaded: the device has no old values")
@machine.live
def _(m):
    m.device("i915", I915)
    dev = "sys/devices/platform/fb000000.gpu"
    m.write(f"{dev}/uevent", "DRIVER=mali\n")
    os.makedirs(m.path("proc/1/root/dev/dri"))
    crowd(m)

    def loaded():
        m.write(f"{dev}/utilization", "37\n")
        os.makedirs(m.path("sys/class/misc/mali0"))
        m.link(dev, "sys/class/misc/mali0/device")
        m.write("proc/1/root/dev/mali0", "")

    def unloaded():
        os.unlink(m.path(f"{dev}/utilization"))
        shutil.rmtree(m.path("sys/class/misc/mali0"))
        os.unlink(m.path("proc/1/root/dev/mali0"))
    s = m.live("--sweep", "0", steps=[None, loaded, None, unloaded, None, loaded, None])
    eq([{r["dev"]: r["busy"] for r in x if r["dev"] != "card0"} for x in s], [{}, *[{"mali0": 37}] * 2, {}, {}, *[{"mali0": 37}] * 2], "devices")


@test(f"{R}: all clients are read in each sample although the descriptor limit is below their number")
def _(m):
    m.device("i915", I915)
    m.process(10)
    for c in range(3, 203):
        m.fd(10, c, dump("i915", c, *ns(render=0), pdev=I915))
    crowd(m)
    for limit in (16, 24, 60):
        p = subprocess.run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", machine.PROG, "0.1", "4", "-o", "json", *m.roots()],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        eq((p.returncode, p.stderr), (0, b""), "exit code, messages")
        eq([r["clients"] for r in parse_json(p.stdout)], [200] * 4, f"clients with {limit} descriptors")


@test(f"{R}: rates with fdinfo that is unchanged, decreases, is cut, or belongs to another client")
@machine.live
def _(m):
    def text(render, client=7, name="one"):
        return dump("i915", client, "drm-total-system0:\t4 KiB", "drm-shared-system0:\t0", *ns(render=render), pdev=I915, name=name)
    whole = text(1.1e9)
    f = one_client(m, text=text(10**9))
    p = subprocess.Popen([machine.PROG, "clients", "--on-stdin", "--sweep", "0", "-o", "json", *m.roots()],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def sample(new=None):
        if new:
            rewrite(f, new)
        time.sleep(0.1)
        p.stdin.write(b"\n")
        p.stdin.flush()
        return strict(p.stdout.readline())

    def goes_on(r, delta, what):
        right(r, "render", delta, what)
        eq((r["client"], val(r, "memory", "system0", "total")), (7, 4096), what)
    try:
        goes_on(sample(), 0, "no change since the start")
        goes_on(sample(), 0, "the same text")
        goes_on(sample(text(1.05e9)), 5e7, "it works")
        goes_on(sample(), 0, "the same again")
        goes_on(sample(), 0, "and again")
        goes_on(sample(text(1.02e9)), 0, "lower than before")
        goes_on(sample(), 0, "still lower")
        goes_on(sample(whole), 5e7, "relative to the largest value")
        for what in ("cut", "still cut"):
            r = sample(whole[:whole.index(" ns")])
            eq((busy(r, "render"), val(r, "memory", "system0", "total")), (None, 4096), what)
        sample(whole)
        goes_on(sample(text(1.15e9)), 5e7, "whole again")
        eq(sample(text(1.15e9, name="two"))["name"], "two", "only the name changes")
        r = sample(text(1.15e9, client=8))
        eq((r["client"], busy(r, "render"), r["name"]), (8, None, "one"), "another client with the same descriptor number")
        right(sample(), "render", 0, "the same text of the other client")
        r = sample(text(1.15e9))
        eq((r["client"], busy(r, "render")), (7, None), "the first id again, which is a new client")
    finally:
        p.stdin.close()
        p.stdout.close()
        p.wait()
    eq(p.returncode, 0, "exit code")


@test(f"{R}: --sweep accepts valid values and refuses invalid ones")
def _(m):
    one_client(m)
    for good in ("0", "1", "80", "4000000000", "all"):
        eq(m.run("--sweep", good, "0.05", "2").code, 0, f"--sweep {good}")
    for bad in ("", "-1", "some", "1.5", "4294967295"):
        eq(m.run("--sweep", bad, "0.05", "2").code, 2, f"--sweep {bad}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_discovery.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
