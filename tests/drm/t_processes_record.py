#!/usr/bin/env python3
# t_processes_record.py PROG - records of processes (procs): merged clients, user, command line, CPU
# time, memory; --children. The machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import resource
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import AMD, I915, busy, check, dump, eq, near, ns, one_client, rewrite, test, val  # noqa: E402

PAGE = resource.getpagesize()


def stat(m, pid, comm="app", ppid=1, ticks=(3, 1), start=1000, pages=10):
    m.write(f"proc/{pid}/stat", f"{pid} ({comm}) S {ppid} {pid} {pid} 0 -1 4194560 1 0 0 0 {ticks[0]} {ticks[1]} 0 0 20 0 1 0 "
            f"{start} 1000 {pages}" + " 0" * 28 + "\n")


def status(m, pid, uid):
    m.write(f"proc/{pid}/status", f"Name:\tUid:\t7\nUmask:\t0022\nUid:\t5\t{uid}\t6\t7\nGid:\t1\t1\t1\t1\n")


def by_pid(recs):
    return {r["pid"]: r for r in recs}


@test("the clients of a process on one device are merged into one record")
def _(m):
    m.device("i915", I915)
    m.device("amdgpu", AMD, card=1, render=129)
    for pid, comm in ((10, "one"), (20, "two")):
        m.process(pid, comm)
    files = [m.fd(10, n, dump("i915", n, *ns(render=1e9, copy=1e9), "drm-resident-system0:\t4 KiB", pdev=I915)) for n in (5, 6)]
    m.fd(10, 7, dump("amdgpu", 1, *ns(gfx=1e9), pdev=AMD), "/dev/dri/renderD129")
    m.fd(20, 5, dump("i915", 8, *ns(render=1e9), pdev=I915))

    def step():
        for f, n in zip(files, (5, 6)):
            rewrite(f, dump("i915", n, *ns(render=1e9 + n * 1e7, copy=1e9), "drm-resident-system0:\t4 KiB", pdev=I915))
    s, = m.live("procs", steps=[step])
    eq([(r["kind"], r["dev"], r["pid"], r["comm"], r["driver"]) for r in s],
       [("process", "card0", 10, "one", "i915"), ("process", "card0", 20, "two", "i915"),
        ("process", "card1", 10, "one", "amdgpu")], "records")
    eq([r["clients"] for r in s], [2, 1, 1], "clients")
    near(busy(s[0], "render"), 100 * 0.11 / s[0]["dt"], 3, "the sum of both clients")
    eq(val(s[0], "memory", "system0", "resident"), 8192, "memory")
    keys = list(s[0])
    want = ["schema", "kind", "time", "dt", "dev", "driver", "pid", "comm", "cmdline", "user", "uid", "cpu", "rss", "clients",
            "pids", "cgroup", "container"]
    eq(keys[:len(want)], want, "order of the keys")
    eq([r["client"] for r in m.json("clients")], [5, 6, 8, 1], "clients has a record for each client")


@test("a client that several processes hold counts only in the process that owns it")
def _(m):
    m.device("i915", I915)
    text = dump("i915", 7, *ns(render=1e9), "drm-resident-system0:\t4 KiB", pdev=I915)
    m.process(1, "systemd", 1)
    for pid, start in ((10, 500), (20, 300), (30, 900)):
        m.process(pid, "app", start)
    for pid in (1, 10, 20):
        m.fd(pid, 5, text)
    m.fd(20, 6, dump("i915", 9, pdev=I915))
    m.fd(30, 6, dump("i915", 9, pdev=I915))
    m.fd(30, 7, dump("i915", 10, pdev=I915))
    recs = by_pid(m.json("procs"))
    eq(sorted(recs), [20, 30], "owners")
    eq((recs[20]["clients"], recs[20]["pids"]), (2, [1, 10, 20, 30]), "clients of the oldest process")
    eq((recs[30]["clients"], recs[30]["pids"]), (1, [30]), "clients of the other process")
    eq(val(recs[20], "memory", "system0", "resident"), 4096, "memory")
    eq([r["pid"] for r in m.json("procs", "-p", "10")], [20], "-p of a holder shows the client's owner")


@test("a shared buffer counts once in a process")
def _(m):
    m.device("i915", I915)
    for n in (5, 6):
        m.fd(10, n, dump("i915", n, "drm-total-system0:\t100 MiB", "drm-resident-system0:\t100 MiB",
                         "drm-shared-system0:\t60 MiB", pdev=I915))
    r, = m.json("procs")
    eq(r["used"], 140 << 20, "used")


@test("CPU time is a percentage of one CPU between two readings, and memory is in bytes")
def _(m):
    one_client(m)
    stat(m, 10, "a) b (c", ticks=(100, 50), pages=300)
    s = m.live("procs", steps=[lambda: stat(m, 10, "a) b (c", ticks=(110, 60), pages=301),
                               None, lambda: stat(m, 10, "a) b (c", ticks=(5, 5), pages=301)], interval=0.5)
    r = [x[0] for x in s]
    near(r[0]["cpu"], 100 * 0.2 / r[0]["dt"], 10, "20 ticks")
    eq(r[1]["cpu"], 0.0, "no tick")
    eq(r[2]["cpu"], None, "a time that went backwards")
    eq(r[0]["rss"], 301 * PAGE, "rss")
    r, = m.json("procs", "-r")
    eq(r["cpu"], None, "-r has no percentages")


@test("a reused PID is another process, without the CPU time, user and command line of the old process")
def _(m):
    one_client(m)
    stat(m, 10, ticks=(100, 0))
    status(m, 10, 42)
    m.write("proc/10/cmdline", "old\0")

    def reuse():
        m.gone(10)
        m.process(10, "second", 999999)
        m.fd(10, 5, dump("i915", 7, *ns(render=1e8), pdev=I915))
        stat(m, 10, "second", ticks=(900, 0), start=999999)
    s = m.live("procs", steps=[None, reuse, None])
    eq((s[0][0]["uid"], s[0][0]["cmdline"], s[0][0]["comm"]), (42, "old", "app"), "before")
    r = s[1][0]
    eq((r["pid"], r["comm"], r["cpu"], r["uid"], r["user"], r["cmdline"]), (10, "second", None, None, None, None), "after")
    eq(s[2][0]["cpu"], 0.0, "CPU time since its own first reading")


@test("the user is the effective one; its name is from the passwd file beside --proc")
def _(m):
    m.device("i915", I915)
    for k, uid in enumerate((0, 1000, 7, 4294967295, 5)):
        m.fd(10 + k, 5, dump("i915", k + 1, pdev=I915))
        status(m, 10 + k, uid)
    m.fd(30, 5, dump("i915", 30, pdev=I915))
    m.write("proc/30/status", "Name:\tx\n")
    eq([r["user"] for r in m.json("procs")], ["0", "1000", "7", "4294967295", "5", None], "no passwd")
    m.write("etc/passwd", "long:" + "x" * 5000 + ":1000:\nroot:x:0:0::/:/bin/sh\nmia:x:1000:100:" + "y" * 900 + ":\n"
            ":x:7:\nbroken\nxx:yy\n" + "n" * 50 + ":x:5:5")
    recs = m.json("procs")
    eq([r["user"] for r in recs], ["root", "mia", "7", "4294967295", "5", None], "with a passwd file that has an incomplete last line")
    eq([r["uid"] for r in recs], [0, 1000, 7, 4294967295, 5, None], "uid")
    eq(m.run("procs", "-r", "-H", "-o", "csv", "-f", "user", "-p", "11").out, b"mia\n", "-f user")


@test("the arguments of a command line are separated by blanks; hostile bytes are escaped; a long command line is cut")
def _(m):
    m.device("i915", I915)
    lines = [b"/bin/a\0-b\0\0c\0", b"x\x1b[31m\xff\n\0\"q\0", b"y" * 5000, b"", b"\0\0", b"no end"]
    for k, text in enumerate(lines):
        m.fd(10 + k, 5, dump("i915", k + 1, pdev=I915))
        m.write(f"proc/{10 + k}/cmdline", text)
    m.fd(30, 5, dump("i915", 30, pdev=I915))
    eq([r["cmdline"] for r in m.json("procs")],
       ["/bin/a -b  c", "x\x1b[31m\ufffd\n \"q", "y" * 512, None, None, "no end", None], "JSON")
    r = m.run("procs", "-r", "-H", "-f", "cmdline", "-p", "11")
    check(b"x\\x1b[31m\\xff\\x0a \"q" in r.out, f"line: {r!r}")


@test("the default output has user, CPU time, memory and command, and cmdline is not read for it")
def _(m):
    one_client(m)
    status(m, 10, 42)
    stat(m, 10, pages=256)
    os.mkfifo(m.path("proc/10/cmdline"))  # reading it would block
    r = m.run("procs", "-w", "0.02", timeout=60)
    words = r.out.decode().splitlines()
    check(words[0].split()[1:] == ["DEV", "PID", "USER", "ENGINES", "MEM", "CPU", "RSS", "COMMAND"], f"header: {r!r}")
    check(" 42 " in words[1] and " 0.0% " in words[1] and words[1].split()[-1] == "app", f"line: {r!r}")


@test("totals of a process do not decrease when its clients are closed, or while it has no client")
def _(m):
    m.device("i915", I915)
    a = m.fd(10, 5, dump("i915", 7, *ns(render=5e9), pdev=I915))
    b = m.fd(10, 6, dump("i915", 8, *ns(render=3e9), pdev=I915))
    m.fd(20, 5, dump("i915", 9, pdev=I915))

    def close(n, f):
        os.unlink(m.path(f"proc/10/fd/{n}"))
        os.unlink(f)

    def new():
        m.fd(10, 7, dump("i915", 11, *ns(render=1e9), pdev=I915))
    s = m.live("procs", "-r", "--sweep", "all", steps=[None, lambda: close(5, a), lambda: close(6, b), None, new, None])
    t = [val(r, "engine", "render", "busy_ns") for x in s for r in x if r["pid"] == 10]
    eq(t, [8 * 10**9, 8 * 10**9, 9 * 10**9, 9 * 10**9], "totals")
    eq([len(x) for x in s], [2, 2, 1, 1, 2, 2], "records")


@test("a process that ends, or whose files cannot be read, does not affect other processes")
def _(m):
    m.device("i915", I915)
    for pid in (10, 20, 30):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
    m.write("proc/20/stat", "20 (x")
    s = m.live("procs", steps=[None, lambda: m.gone(10), None])
    eq([[r["pid"] for r in x] for x in s], [[10, 20, 30], [20, 30], [20, 30]], "processes")
    eq([(r["cpu"], r["rss"]) for r in s[2]], [(None, None), (0.0, 10 * PAGE)], "values")


@test("-s, -k, -C, -g and -d select processes")
def _(m):
    m.device("i915", I915)
    m.device("amdgpu", AMD, card=1, render=129)
    for pid, comm, pages in ((10, "a", 5), (20, "b", 9), (30, "c", 7)):
        m.process(pid, comm, cgroup=f"0::/{comm}\n")
        m.fd(pid, 5, dump("i915", pid, pdev=I915))
        stat(m, pid, comm, pages=pages)
    m.fd(30, 6, dump("amdgpu", 1, pdev=AMD), "/dev/dri/renderD129")
    pids = lambda *args: [r["pid"] for r in m.json("procs", *args)]  # noqa: E731
    eq(pids("-s", "rss", "-d", "card0"), [20, 30, 10], "-s rss")
    eq(pids("-s", "rss", "-k", "1"), [20], "-k")
    eq(pids("-C", "b"), [20], "-C")
    eq(pids("-g", "/c"), [30, 30], "-g")
    eq(pids("-d", "1"), [30], "-d")


@test("a run of procs with --state keeps the sums of cgroups")
def _(m):
    one_client(m)
    state = m.path("state")
    eq(m.run("procs", "-r", "--state", state, "-o", "json").code, 0, "procs")
    r = m.run("cgroups", "-r", "--state", state, "-o", "json")
    eq((r.code, r.err), (0, b""), f"cgroups: {r!r}")


# --- --children ------------------------------------------------------------------------------


@test("--children selects the processes of -p and all their descendants, also those that are forked later")
def _(m):
    m.device("i915", I915)
    for pid, ppid in ((10, 1), (11, 10), (12, 11), (20, 1)):
        m.process(pid)
        stat(m, pid, ppid=ppid)
    for pid in (10, 12, 20):
        m.fd(pid, 5, dump("i915", pid, pdev=I915))

    def fork():
        m.process(13, "late")
        stat(m, 13, "late", ppid=12)
        m.fd(13, 5, dump("i915", 13, pdev=I915))

    def parent_ends():  # its child gets another parent, but remains selected
        m.gone(12)
        stat(m, 13, "late", ppid=1)
    s = m.live("procs", "-p", "10", "--children", "--sweep", "all", steps=[None, fork, parent_ends, None])
    eq([[r["pid"] for r in x] for x in s], [[10, 12], [10, 12, 13], [10, 13], [10, 13]], "processes")
    eq([r["pid"] for r in m.json("procs", "-p", "11,20", "--children")], [20], "a process that has no descendants any more")
    eq([r["client"] for r in m.json("clients", "-p", "10", "--children")], [10], "of clients")
    eq([r["clients"] for r in m.json("-p", "10", "--children")], [1], "of devices")
    r = m.run("procs", "--children")
    eq((r.code, r.err), (2, b"gpustat: --children requires --pid\n"), "without -p")


@test("--children: parents that form a loop end the search")
@machine.live
def _(m):
    m.device("i915", I915)
    n = 200
    for k in range(n):
        m.process(100 + k)
        stat(m, 100 + k, ppid=100 + (k + 1 if k + 1 < n else 50))
        m.fd(100 + k, 5, dump("i915", k + 1, pdev=I915))
    m.process(50)
    stat(m, 50, ppid=50)
    m.fd(50, 5, dump("i915", 999, pdev=I915))
    t = time.monotonic()
    eq(len(m.json("procs", "-p", "7", "--children")), 0, "records")
    eq(len(m.json("procs", "-p", "160", "--children")), n, "all processes of a loop are descendants of each")
    check(time.monotonic() - t < 10, "time")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_processes_record.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
