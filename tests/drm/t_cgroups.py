#!/usr/bin/env python3
# t_cgroups.py PROG - cgroups: the container id in a cgroup path, and the sums of each cgroup.
# The machines are made of files, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import I915, TESTS, XE, dump, eq, ns, one_client, rewrite, right, test, val  # noqa: E402


HEX = "0123456789abcdef" * 4


def cgroup_case(text, path, container):
    def body(m):
        one_client(m, cgroup=text)
        r, = m.json("clients")
        eq((r["cgroup"], r["container"]), (path, container), "cgroup, container")
        c, = m.json("cgroups")
        eq((c["cgroup"], c["container"], c["clients"], c["dev"]), (path, container, 1, "card0"), "record of cgroups")
    return body


for _name, _text, _path, _id in (
        ("v2", "0::/user.slice/a.scope\n", "/user.slice/a.scope", None),
        ("v2, docker under systemd",
         f"0::/system.slice/docker-{HEX}.scope\n", f"/system.slice/docker-{HEX}.scope", HEX),
        ("v2, containerd", f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{HEX}.scope\n",
         f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{HEX}.scope", HEX),
        ("v2, podman",
         f"0::/user.slice/libpod-{HEX}.scope/container\n", f"/user.slice/libpod-{HEX}.scope/container", HEX),
        ("v1, docker", f"3:pids:/docker/{HEX}\n2:memory:/docker/{HEX}\n1:name=systemd:/docker/{HEX}\n",
         f"/docker/{HEX}", HEX),
        ("v1 and an empty v2 path", f"2:memory:/docker/{HEX}\n1:name=systemd:/docker/{HEX}\n0::/\n",
         f"/docker/{HEX}", HEX),
        ("v1 and another v2 path", f"2:memory:/docker/{HEX}\n1:name=systemd:/docker/{HEX}\n"
         "0::/system.slice/containerd.service\n", f"/docker/{HEX}", HEX),
        ("lxc",
         "0::/lxc.payload.media1/system.slice/x.service\n", "/lxc.payload.media1/system.slice/x.service", "media1"),
        ("a colon in the path", "0::/a:b/c\n", "/a:b/c", None),
        ("the root cgroup", "0::/\n", "/", None)):
    TESTS.append((f"cgroups: {_name}", cgroup_case(_text, _path, _id), False))


@test("cgroups: the kind of a container and the uid of a pod, if the path contains them")
def _(m):
    if "containers" in tap.left_out(machine.PROG):
        raise machine.Skip("not built in: containers")
    m.device("i915", I915)
    uid = "8f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0"
    paths = {10: (f"/kubepods.slice/kubepods-pod{uid}.slice/crio-{HEX}.scope", HEX, "crio", uid.replace("_", "-")),
             20: (f"/kubepods/pod1-2/{HEX}", HEX, None, "1-2"),
             30: ("/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/emulator", "web", "vm", None),
             40: ("/system.slice/ollama.service", None, "service", None),
             50: ("/user.slice/session-1.scope", None, None, None)}
    for pid, (path, *_) in paths.items():
        m.process(pid, cgroup=f"0::{path}\n")
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
    for command in "clients", "cgroups":
        for r in m.json(command):
            want = next(w for w in paths.values() if w[0] == r["cgroup"])
            eq((r["container"], r.get("container_kind"), r.get("pod")), want[1:], f"{command}: {r['cgroup']}")


@test("cgroups: one record with sums for each cgroup and device")
def _(m):
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    for pid, cg in ((10, "/a"), (20, "/a"), (30, "/b")):
        m.process(pid, cgroup=f"0::{cg}\n")
    f = {p: m.fd(p, 5, dump("i915", p, *ns(render=0), "drm-total-system0:\t4 KiB", "drm-resident-system0:\t4 KiB",
                            pdev=I915)) for p in (10, 20, 30)}
    m.fd(30, 6, dump("xe", 30, "drm-cycles-rcs:\t0", "drm-total-cycles-rcs:\t1", pdev=XE), "/dev/dri/renderD129")

    def step():
        for p, d in ((10, 5e7), (20, 1e8), (30, 2e8)):
            rewrite(f[p], dump("i915", p, *ns(render=d), "drm-total-system0:\t4 KiB", "drm-resident-system0:\t4 KiB",
                               pdev=I915))
    s, = m.live("cgroups", steps=[step])
    eq([(r["kind"], r["dev"], r["cgroup"], r["clients"]) for r in s],
       [("cgroup", "card0", "/a", 2), ("cgroup", "card0", "/b", 1), ("cgroup", "card1", "/b", 1)], "records")
    right(s[0], "render", 1.5e8, "/a", tol=3)
    right(s[1], "render", 2e8, "/b", tol=3)
    eq(val(s[0], "memory", "system0", "resident"), 8192, "resident of /a")


@test("cgroups: -g selects a container by its path or its id")
def _(m):
    m.device("i915", I915)
    for pid, cg in ((10, f"/docker/{HEX}"), (20, "/docker-not/x"), (30, f"/docker/{HEX}/sub")):
        m.process(pid, cgroup=f"0::{cg}\n")
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
    eq([r["pid"] for r in m.json("clients", "-g", f"/docker/{HEX}")], [10, 30], "-g with the path")
    eq([r["pid"] for r in m.json("clients", "-g", "/docker-not/x")], [20], "-g with another path")
    eq([r["pid"] for r in m.json("clients", "-g", HEX[:12])], [10, 30], "-g with the short id")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_cgroups.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
