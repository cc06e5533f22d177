#!/usr/bin/env python3
# t_state.py PROG - rates and totals across runs (--state FILE), on file trees that change between
# the runs. An independent reader and writer of state files changes their age and contents. Prints
# TAP; exit 0 if all tests pass. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import contextlib
import decimal
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (AMD, I915, NOBODY, XE, Skip, as_root, busy, check, dump, eq, near, ns, one_client,  # noqa: E402
                     parse_json, rewrite, run)

TESTS = []
MINUTE = 60 * 10**9
NOT_USED = b": the --state file is ignored: "


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


# --- an independent reader and writer of state files ----------------------------------------------

HEAD, ROW = struct.Struct("=8s40s4QqqQ"), struct.Struct("=BBBBHHIIQq")
COUNT, HOLDER = struct.Struct("=QqBB2xI"), struct.Struct("=I4xQ")
DEVICE, CLIENT, CGROUP = 0, 1, 2
FRESH, WHOLE = 1, 2
BUSY_NS, CYCLES, TOTAL_CYCLES = 0, 1, 2


def fnv(b):
    h = 0xcbf29ce484222325
    for c in b:
        h = (h ^ c) * 0x100000001b3 & (1 << 64) - 1
    return h


class State:
    """The contents of a state file: each row is a dict, and its counters are [value, time,
    quantity, name, 1 + ms for which the counter was below the value]."""

    def __init__(self, path):
        b = open(path, "rb").read()
        eq(struct.unpack("=Q", b[-8:])[0], fnv(b[:-8]), "checksum")
        self.magic, self.boot, *self.roots, self.mono, self.boottime, n = HEAD.unpack(b[:HEAD.size])
        self.rows, at = [], HEAD.size
        while at < len(b) - 8:
            kind, keykind, _, flags, counters, text, holders, device, key, t = ROW.unpack_from(b, at)
            at += ROW.size
            row = dict(kind=kind, keykind=keykind, device=device, flags=flags, key=key, t=t, text=b[at:at + text],
                       counters=[], holders=[])
            at += text
            for _ in range(counters):
                v, when, what, size, below = COUNT.unpack_from(b, at)
                at += COUNT.size
                row["counters"].append([v, when, what, b[at:at + size], below])
                at += size
            for _ in range(holders):
                row["holders"].append(HOLDER.unpack_from(b, at))
                at += HOLDER.size
            self.rows.append(row)
        eq(len(self.rows), n, "rows")

    def bytes(self):
        b = HEAD.pack(self.magic, self.boot, *self.roots, self.mono, self.boottime, len(self.rows))
        for r in self.rows:
            b += ROW.pack(r["kind"], r["keykind"], 0, r["flags"], len(r["counters"]), len(r["text"]),
                          len(r["holders"]), r["device"], r["key"], r["t"]) + r["text"]
            b += b"".join(COUNT.pack(v, t, what, len(name), below) + name for v, t, what, name, below in r["counters"])
            b += b"".join(HOLDER.pack(*h) for h in r["holders"])
        return b + struct.pack("=Q", fnv(b))

    def write(self, path):
        with open(path, "wb") as f:
            f.write(self.bytes())
        os.chmod(path, 0o600)

    def older(self, by):
        """Makes the state `by` ns older. Skips the test if the machine has not run that long."""
        if self.mono < by or self.boottime < by:
            raise Skip("this machine runs for less than a minute or two")
        self.mono -= by
        self.boottime -= by
        for r in self.rows:
            r["t"] -= min(by, r["t"])
            for c in r["counters"]:
                c[1] -= min(by, c[1])
        return self

    def clients(self):
        return [r for r in self.rows if r["kind"] == CLIENT]


class Cron:
    """Successive runs with one state file; next() first makes the file a minute older."""

    def __init__(self, m, *args):
        self.m, self.args, self.path, self.begun = m, args, m.path("state"), time.monotonic()

    def first(self, *args, **kw):
        """Does the first run, which has to wait for a window."""
        return self.run("-w", "0.01", *args, **kw)

    def run(self, *args, fmt=True, **kw):
        r = self.m.run("--state", self.path, *(("-o", "json") if fmt else ()), *self.args, *args, **kw)
        eq(r.code, 0, f"exit code ({r!r})")
        return parse_json(r.out) if fmt else r

    def next(self, *args, by=MINUTE):
        State(self.path).older(by).write(self.path)
        recs = self.run(*args)
        for rec in recs:
            if rec["dt"] is not None:
                check(by / 1e9 - 1e-3 <= rec["dt"] <= by / 1e9 + time.monotonic() - self.begun, f"dt {rec['dt']}")
        return recs


def prom(out):
    """Returns the exact value of each series."""
    return {line.rsplit(" ", 1)[0]: decimal.Decimal(line.rsplit(" ", 1)[1])
            for line in out.decode().splitlines() if line and line[0] != "#"}


def state_files(m):
    """Returns the names of the state file and of its temporary files."""
    return sorted(f for f in os.listdir(m.base) if "state" in f)


def share(delta, capacity=1, by=MINUTE):
    return 100 * delta / by / capacity


def close(rec, engine, want, what, by=MINUTE):
    """Checks that busy is `want` percent, or less in proportion to the time that the test took."""
    least, got = want * by / 1e9 / rec["dt"], busy(rec, engine)
    check(got is not None and 0.999 * least - 0.002 <= got <= 1.001 * want + 0.002, f"{what}: {engine}: {least} .. {got} .. {want}")


@test("a counter that is below its maximum in two runs 10 s apart or more is treated as restarted")
def _(m):
    def text(n):
        return dump("i915", 7, *ns(render=n), pdev=I915)
    f = one_client(m, text=text(90e9))
    c = Cron(m, "clients")
    c.first()
    for n, by, want in ((1e9, MINUTE, 0), (2e9, 5 * 10**9, 0), (3e9, MINUTE, 0), (9e9, MINUTE, 10), (15e9, MINUTE, 10)):
        rewrite(f, text(n))
        close(c.next(by=by)[0], "render", want, f"{n / 1e9} s", by)


# --- rates ----------------------------------------------------------------------------------------

@test("averages since the last run, per device and per client, without waiting")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.process(11)
    a = m.fd(10, 5, dump("i915", 7, *ns(render=1000, video=5), "drm-engine-capacity-video:\t2", pdev=I915))
    b = m.fd(11, 5, dump("i915", 8, *ns(render=77), pdev=I915))
    c = Cron(m)
    c.first()
    rewrite(a, dump("i915", 7, *ns(render=1000 + 15e9, video=5 + 24e9), "drm-engine-capacity-video:\t2", pdev=I915))
    rewrite(b, dump("i915", 8, *ns(render=77 + 6e9), pdev=I915))
    rec, = c.next("-w", "3600")
    close(rec, "render", share(21e9), "both clients")
    close(rec, "video", share(24e9, 2), "busy of an engine with capacity 2")
    rewrite(a, dump("i915", 7, *ns(render=1000 + 45e9, video=5 + 24e9), "drm-engine-capacity-video:\t2", pdev=I915))
    recs = c.next("clients")
    eq([r["client"] for r in recs], [7, 8], "clients")
    close(recs[0], "render", share(30e9), "this client")
    close(recs[0], "video", 0, "this client")
    close(recs[1], "render", 0, "busy of the other client")


@test("the rate of a client that started after the last run is relative to 0; a client that may be older has none")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    m.process(20, start=1000)
    m.fd(20, 3, dump("i915", 9, *ns(render=30e9), pdev=I915))
    rec, = c.next()
    close(rec, "render", share(30e9), "the last run could read all processes")
    m.process(21, start=1000)
    m.fd(21, 3, dump("i915", 10, *ns(render=30e9), pdev=I915))
    m.process(22, start=int((time.clock_gettime_ns(time.CLOCK_BOOTTIME) - MINUTE // 2) / 1e7))
    m.fd(22, 3, dump("i915", 11, *ns(render=12e9), pdev=I915))
    s = State(c.path)
    for r in s.rows:
        r["flags"] &= ~WHOLE
    s.write(c.path)
    recs = {r["client"]: r for r in c.next("clients")}
    eq(busy(recs[10], "render"), None, "an old process, which the last run may have been unable to read")
    close(recs[11], "render", share(12e9), "a process that started after the last run")


@test("a client that exited stays in the totals and does not lower the rates")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.process(11)
    a = m.fd(10, 5, dump("i915", 7, *ns(render=5e9), pdev=I915))
    m.fd(11, 5, dump("i915", 8, *ns(render=100e9), pdev=I915))
    c = Cron(m)
    c.first()
    m.gone(11)
    rewrite(a, dump("i915", 7, *ns(render=11e9), pdev=I915))
    rec, = c.next()
    close(rec, "render", share(6e9), "the remaining client")
    rec, = c.next("-r")
    eq(rec["engine"]["render"]["busy_ns"], 111 * 10**9, "total")
    eq(rec["dt"], None, "dt")


@test("a reused id with lower counters is another client; a client whose counter decreased keeps the larger value")
def _(m):
    m.device("i915", I915)
    m.process(10)
    m.process(11)
    a = m.fd(10, 5, dump("i915", 7, *ns(render=50e9), pdev=I915))
    m.fd(11, 5, dump("i915", 8, *ns(render=50e9), pdev=I915))
    c = Cron(m)
    c.first()
    m.gone(11)
    m.process(12, start=2000)
    m.fd(12, 5, dump("i915", 8, *ns(render=3e9), pdev=I915))
    rewrite(a, dump("i915", 7, *ns(render=20e9), pdev=I915))
    recs = c.next("clients")
    close(recs[0], "render", 0, "went_backwards")
    close(recs[1], "render", share(3e9), "another one")
    rec, = c.next("-r", by=5 * 10**9)
    eq(rec["engine"]["render"]["busy_ns"], 103 * 10**9, "total")
    rewrite(a, dump("i915", 7, *ns(render=56e9), pdev=I915))
    rec, = c.next()
    close(rec, "render", share(6e9), "only the part above the largest value so far")


@test("cycles over the GPU clock (xe): rates of a known and of a new client, and after a reset of the clock")
def _(m):
    def text(client, cycles, total):
        return dump("xe", client, f"drm-cycles-rcs:\t{cycles}", f"drm-total-cycles-rcs:\t{total}", pdev=XE)

    m.device("xe", XE)
    m.process(10)
    a = m.fd(10, 5, text(7, 100, 1000))
    c = Cron(m)
    c.first()
    rewrite(a, text(7, 350, 2000))
    m.process(11)
    b = m.fd(11, 5, text(8, 500, 2000))
    recs = c.next("clients")
    eq([busy(r, "rcs") for r in recs], [25, 50], "old, new")
    rewrite(a, text(7, 450, 3000))
    rewrite(b, text(8, 500, 3000))
    rec, = c.next()
    eq(busy(rec, "rcs"), 10, "device")
    rewrite(a, text(7, 460, 50))
    rewrite(b, text(8, 510, 50))
    rec, = c.next()
    check(busy(rec, "rcs") in (None, 0), f"the clock was reset: {busy(rec, 'rcs')}")
    rewrite(a, text(7, 560, 250))
    rewrite(b, text(8, 510, 250))
    rec, = c.next()
    eq(busy(rec, "rcs"), 50, "after that")


@test("the rate of an engine that amdgpu prints only after its first use is relative to 0")
def _(m):
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=1e9), pdev=AMD))
    c = Cron(m)
    c.first()
    rewrite(f, dump("amdgpu", 7, *ns(gfx=1e9, enc=30e9), pdev=AMD))
    rec, = c.next()
    close(rec, "enc", share(30e9), "late")
    rewrite(f, dump("amdgpu", 7, pdev=AMD))
    c.next()
    rewrite(f, dump("amdgpu", 7, *ns(gfx=1e9, enc=36e9), pdev=AMD))
    State(c.path).older(MINUTE).write(c.path)
    rec, = c.run()
    least = share(6e9, by=2 * MINUTE + (time.monotonic() - c.begun) * 1e9)
    check(0.999 * least <= busy(rec, "enc") <= 1.001 * share(6e9, by=2 * MINUTE), "a run without the engine: the rate is over both minutes")


@test("counters of the device: power is computed from energy")
def _(m):
    one_client(m)
    hwmon = "sys/devices/pci0000:00/" + I915 + "/hwmon/hwmon1"
    m.write(f"{hwmon}/name", "i915\n")
    e = m.write(f"{hwmon}/energy1_input", "5000000\n")
    c = Cron(m)
    c.first()
    rewrite(e, "605000000\n")
    rec, = c.next()
    power = list(rec["power"].values())
    check(power and power[0] is not None, f"no power: {rec['power']}")
    near(power[0], 600 / rec["dt"], 0.01, "600 J in a minute")


@test("clients of a suspended device are kept, and count once after it wakes up")
def _(m):
    def text(cycles, total):
        return dump("xe", 7, f"drm-cycles-rcs:\t{cycles}", f"drm-total-cycles-rcs:\t{total}", pdev=XE)

    dev = m.device("xe", XE)
    m.process(10)
    a = m.fd(10, 5, text(1000, 5000))
    c = Cron(m)
    c.first()
    status = m.path(dev, "power/runtime_status")
    rewrite(status, "suspended\n")
    c.next()
    eq(len(State(c.path).clients()), 1, "clients in the file")
    rewrite(status, "active\n")
    rewrite(a, text(1500, 7000))
    State(c.path).older(MINUTE).write(c.path)
    rec, = c.run()
    eq(busy(rec, "rcs"), 25, "busy since the last reading")
    rec, = c.next("-r")
    eq(rec["engine"]["rcs"]["cycles"], 1500, "total")
    rewrite(status, "suspended\n")
    c.next()
    m.gone(10)
    c.next()
    eq(State(c.path).clients(), [], "clients that were closed while the device was suspended")


@test("the client of a temporarily unreadable process counts once; a closed client is dropped")
def _(m):
    as_root()
    m.device("i915", I915)
    m.process(10)
    m.process(11)
    m.fd(10, 5, dump("i915", 7, *ns(render=5e9), pdev=I915))
    m.fd(10, 6, dump("i915", 9, *ns(render=1e9), pdev=I915))
    m.fd(11, 5, dump("i915", 8, *ns(render=7e9), pdev=I915))
    c = Cron(m)
    os.chmod(m.base, 0o777)
    c.run("-r", nobody=True)
    m.close(10, 6)
    for folder in ("fd", "fdinfo"):
        os.chmod(m.path(f"proc/11/{folder}"), 0)
    rec, = c.run("-r", nobody=True)
    eq((rec["unreadable"], rec["engine"]["render"]["busy_ns"]), (1, 13 * 10**9), "unreadable processes and sum while one is unreadable")
    eq(sorted(r["key"] for r in State(c.path).clients()), [7, 8], "clients in the file")
    for folder in ("fd", "fdinfo"):
        os.chmod(m.path(f"proc/11/{folder}"), 0o755)
    rec, = c.run("-r", nobody=True)
    eq((rec["unreadable"], rec["engine"]["render"]["busy_ns"]), (0, 13 * 10**9), "open again")


# --- totals ---------------------------------------------------------------------------------------

@test("totals are exact and never decrease in 50 runs in which clients start, work, exit and reuse ids")
def _(m):
    rnd = random.Random(7)
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    clients, gone, total, serial, pid = {}, {}, {}, 100, 100
    c = Cron(m)
    seen, series = {}, {}
    for step in range(50):
        for who in list(clients):
            w = clients[who]
            if rnd.random() < 0.2:
                m.gone(w["pid"])
                gone[who] = clients.pop(who)["ns"]
            elif rnd.random() < 0.7:
                w["ns"] += rnd.randrange(1, 10**10)
        for _ in range(rnd.randrange(4)):
            serial, pid = serial + 1, pid + 1
            # a reused id, with a lower counter than the former client
            old = [i for i, had in gone.items() if i not in clients and had > 1000]
            key = rnd.choice(old) if old and rnd.random() < 0.3 else serial
            new = {"pid": pid, "ns": rnd.randrange(0, 1000), "dev": rnd.randrange(2)}
            clients[key] = new
            m.process(pid, start=1000 + step)
        for key, w in clients.items():
            driver, pdev, node = (("i915", I915, 128), ("xe", XE, 129))[w["dev"]]
            path = m.path(f"proc/{w['pid']}/fdinfo/4")
            text = dump(driver, key, *ns(render=w["ns"]), pdev=pdev)
            if os.path.exists(path):
                rewrite(path, text)
            else:
                m.fd(w["pid"], 4, text, link=f"/dev/dri/renderD{node}")
            gain = w["ns"] - w.get("counted", 0)
            total[w["dev"]] = total.get(w["dev"], 0) + gain
            w["counted"] = w["ns"]
        if step:
            c.run(*rnd.choice([("-r",), ("-r", "-p", "1"), ("-r", "-d", "1"), ("cgroups", "-r"), ("clients", "-r")]))
            State(c.path).older(MINUTE).write(c.path)
        out = c.run("-o", "prom", *rnd.choice([(), ("-r",)] if step else [("-r",)]), fmt=False).out
        for name, got in prom(out).items():
            if "_total{" in name:
                check(got >= series.get(name, 0), f"run {step}: {name} went_backwards to {got}")
                series[name] = got
            if name.startswith("gpustat_engine_busy_seconds_total"):
                eq(got * 10**9, total[int(name.split('dev="card')[1][0])], f"run {step}, {name}")
        for rec in c.run("-r"):
            dev = int(rec["dev"][-1])
            got = rec["engine"].get("render", {}).get("busy_ns")
            eq(got, total.get(dev), f"run {step}, {rec['dev']}")
            check(seen.get(dev) is None or got >= seen[dev], "it went_backwards")
            seen[dev] = got
    check(min(seen.values()) > 10**10 and len(series) >= 2, "nothing happened")


@test("filters change only the output: totals are sums of the selected clients, the state file has all clients")
def _(m):
    m.device("i915", I915)
    m.process(10, comm="one")
    m.process(11, comm="two")
    a = m.fd(10, 5, dump("i915", 7, *ns(render=5e9), pdev=I915))
    m.fd(11, 5, dump("i915", 8, *ns(render=70e9), pdev=I915))
    c = Cron(m)
    c.first("-C", "one")
    rec, = c.next("-r", "-C", "two")
    eq(rec["engine"]["render"]["busy_ns"], 70 * 10**9, "of one")
    rewrite(a, dump("i915", 7, *ns(render=17e9), pdev=I915))
    rec, = c.next("-C", "one")
    close(rec, "render", share(12e9), "rate of the client of one")
    rec, = c.next("-C", "two", "-r")
    eq(rec["engine"]["render"]["busy_ns"], 70 * 10**9, "of one, again")
    rec, = c.next("-r")
    eq(rec["engine"]["render"]["busy_ns"], 87 * 10**9, "of all")


@test("sums of a cgroup never decrease while it has clients; commands share one state file")
def _(m):
    m.device("i915", I915)
    m.process(10, cgroup="0::/a.slice\n")
    m.process(11, cgroup="0::/a.slice\n")
    m.fd(10, 5, dump("i915", 7, *ns(render=5e9), pdev=I915))
    m.fd(11, 5, dump("i915", 8, *ns(render=70e9), pdev=I915))
    c = Cron(m)
    c.first()
    m.gone(11)
    rec, = c.next("cgroups", "-r")
    eq(rec["engine"]["render"]["busy_ns"], 75 * 10**9, "total")
    m.gone(10)
    eq(c.next("cgroups", "-r"), [], "no clients")
    m.process(12, cgroup="0::/a.slice\n")
    m.fd(12, 5, dump("i915", 9, *ns(render=1e9), pdev=I915))
    rec, = c.next("cgroups", "-r")
    eq(rec["engine"]["render"]["busy_ns"], 10**9, "the total of a cgroup that was absent begins at 0 again")
    rec, = c.next("-r")
    eq(rec["engine"]["render"]["busy_ns"], 76 * 10**9, "the total of the device continues")


# --- the state file -------------------------------------------------------------------------------

@test("the file has mode 0600 with any umask, and no temporary file remains")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first(umask=0)
    eq(os.stat(c.path).st_mode & 0o7777, 0o600, "mode")
    eq(state_files(m), ["state"], "files")
    s = State(c.path)
    eq((s.magic, len(s.clients())), (b"gpustat2", 1), "magic number and number of clients")


def spoil(m, good):
    """Yields for each bad file: its name, a function that writes it, and a word of the expected
    message."""
    def body(b):
        def put(path):
            with open(path, "wb") as f:
                f.write(b)
            os.chmod(path, 0o600)
        return put

    def forged(change):
        def put(path):
            with open(path, "wb") as f:
                f.write(good)
            s = State(path)
            change(s)
            s.write(path)
        return put

    def mode(bits):
        def put(path):
            body(good)(path)
            os.chmod(path, bits)
        return put

    def owner(path):
        body(good)(path)
        os.chown(path, NOBODY, NOBODY)

    def boot(s):
        s.boot = b"0" * 36 + bytes(4)

    def roots(s):
        s.roots[1] += 1

    def later(s):
        s.mono += 3600 * 10**9

    def later_boottime(s):
        s.boottime += 3600 * 10**9

    def negative(s):
        s.mono = -1

    yield "absent", lambda path: None, b"does not exist yet"
    yield "empty", body(b""), b"not a state file"
    yield "text", body(b"root:x:0:0\n" * 1000), b"not a state file"
    yield "zeroes", body(bytes(100000)), b"not a state file"
    yield "9 MB", body(b"gpustat2" + bytes(9 << 20)), b""
    yield "an older version", body(b"gpustat0" + good[8:]), b"not a state file"
    for n in (1, 7, 8, 9, len(good) // 2, len(good) - 8, len(good) - 1):
        yield f"cut at {n}", body(good[:n]), b""
    yield "more behind it", body(good + b"\0"), b"damaged"
    yield "another boot", forged(boot), b"boot"
    yield "other roots", forged(roots), b"another /proc"
    yield "the future", forged(later), b"future"
    yield "the future, by the clock of sleep", forged(later_boottime), b"future"
    yield "before the boot", forged(negative), b""
    yield "group-writable", mode(0o620), b"writable by others"
    yield "world-writable", mode(0o602), b"writable by others"
    if os.getuid() == 0:
        yield "another user's", owner, b"another user"


@test("an invalid file causes one message and a measured window, and is replaced by a valid one")
def _(m):
    f = one_client(m)
    c = Cron(m)
    c.first()
    good = open(c.path, "rb").read()
    for name, put, word in spoil(m, good):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(c.path)
        put(c.path)
        r = m.run("--state", c.path, "-w", "0.05", "-o", "json")
        eq(r.code, 0, f"{name}: exit code ({r!r})")
        check(NOT_USED in r.err and word in r.err and r.err.count(b"\n") == 1, f"{name}: {r.err!r}")
        rec, = parse_json(r.out)
        check(0.05 <= rec["dt"] < 2, f"{name}: no window: {rec['dt']}")
        eq(os.stat(c.path).st_mode & 0o7777, 0o600, f"{name}: mode")
        eq(m.run("--state", c.path, "-q", "-r").err, b"", f"{name}: -q")
        r = c.run(fmt=False)
        eq(r.err, b"", f"{name}: messages of the run after it")
    rewrite(f, dump("i915", 7, *ns(render=10**9), pdev=I915))
    rec, = c.next()
    close(rec, "render", share(1e9), "rate with the new file")


@test("with -r an invalid file causes one message and no wait")
def _(m):
    one_client(m)
    r = m.run("--state", m.path("state"), "-r", "-w", "20", "-o", "json")
    eq(r.code, 0, f"{r!r}")
    check(NOT_USED in r.err and r.took < 10, f"{r!r}, {r.took} s")
    eq(parse_json(r.out)[0]["engine"]["render"]["busy_ns"], 1000, "total")


@test("a flipped bit anywhere in the file is detected")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    good = open(c.path, "rb").read()
    for i in range(0, len(good) * 8, 61):
        bad = bytearray(good)
        bad[i // 8] ^= 1 << i % 8
        with open(c.path, "wb") as f:
            f.write(bad)
        r = c.run("-r", fmt=False)
        check(NOT_USED in r.err, f"bit {i}: {r!r}")


@test("a path that is not a regular file is neither read nor replaced, and the output is complete")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    os.rename(c.path, m.path("elsewhere"))
    os.symlink("elsewhere", m.path("link"))
    os.mkfifo(m.path("fifo"))
    os.mkdir(m.path("folder"))
    before = open(m.path("elsewhere"), "rb").read()
    for name in (m.path("link"), m.path("fifo"), m.path("folder"), "/dev/null", "/dev/zero"):
        was = os.lstat(name)
        r = m.run("--state", name, "-w", "0.02", "-o", "json", timeout=60)
        eq((r.code, len(parse_json(r.out))), (1, 1), f"{name}: {r!r}")
        check(b"cannot save the state for --state" in r.err, f"{name}: {r!r}")
        now = os.lstat(name)
        eq((now.st_ino, now.st_mode), (was.st_ino, was.st_mode), name)
    eq(open(m.path("elsewhere"), "rb").read(), before, "content of the target of the link")


@test("the file cannot be written: exit 1, the output is complete, the old file is unchanged, no temporary file")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    good = open(c.path, "rb").read()

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    r = m.run("--state", c.path, "-o", "json", preexec_fn=small)
    eq((r.code, len(parse_json(r.out))), (1, 1), f"too large: {r!r}")
    check(b"File too large" in r.err, f"{r!r}")
    eq(open(c.path, "rb").read(), good, "content of the old file")
    eq(state_files(m), ["state"], "files")
    r = m.run("--state", m.path("no/such/folder"), "-o", "json", "-q", "1.1", "3")
    eq((r.code, len(parse_json(r.out))), (1, 3), f"a run: {r!r}")
    r = m.run("--state", m.path("no/such/folder"), "-o", "json", "1.1", "3")
    eq((r.code, r.err.count(b"cannot save the state for --state")), (1, 1), f"said once: {r!r}")
    r = m.run("--state", m.path("no/such/folder"), "-w", "0.02", "-o", "json")
    eq((r.code, len(parse_json(r.out))), (1, 1), f"no folder: {r!r}")
    as_root()
    os.chmod(m.base, 0o755)
    os.chown(c.path, NOBODY, NOBODY)
    r = m.run("--state", c.path, "-o", "json", nobody=True)
    eq((r.code, len(parse_json(r.out))), (1, 1), f"the folder is not writable: {r!r}")
    eq(open(c.path, "rb").read(), good, "content of the old file")


@test("failed output leaves the state file unchanged, so that the next run covers the same time")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    good = open(c.path, "rb").read()
    with open("/dev/full", "wb") as full:
        p = subprocess.run([machine.PROG, "--state", c.path, *m.roots()], stdout=full, stderr=subprocess.PIPE, timeout=60)
    eq(p.returncode, 1, "exit code")
    eq(open(c.path, "rb").read(), good, "the file")


@test("files with a valid checksum and any numbers, any names, thousands of clients or duplicates do no harm")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    good = open(c.path, "rb").read()
    top = (1 << 64) - 1
    rnd = random.Random(3)

    def try_it(what, change):
        with open(c.path, "wb") as out:
            out.write(good)
        s = State(c.path)
        change(s)
        s.write(c.path)
        for args in ((), ("-r",), ("clients",), ("cgroups",)):
            r = m.run("--state", c.path, "-w", "0.01", "-o", "json", *args)
            eq(r.code, 0, f"{what}: {r!r}")
            for rec in parse_json(r.out):
                for name, e in rec["engine"].items():
                    b = e.get("busy")
                    check(b is None or 0 <= b <= 100, f"{what}: {name} {e}")

    def values(v, t=None):
        def change(s):
            for r in s.rows:
                for x in r["counters"]:
                    x[0] = v
                    x[1] = x[1] if t is None else t
        return change

    def many(n, key):
        def change(s):
            row = dict(s.clients()[0])
            s.rows += [dict(row, key=key(i)) for i in range(n)]
        return change

    def names(s):
        row = s.clients()[0]
        for i in range(900):
            row["counters"].append([1, 1, 0, b"%d " % i + bytes([rnd.randrange(256) for _ in range(1 + i % 120)]), 0])

    def anything(s):
        for r in s.rows:
            for k in ("keykind", "device", "flags", "key", "t"):
                if rnd.random() < 0.4:
                    r[k] = rnd.choice([0, 1, 2, 3, 64, 65, 127])
            for x in r["counters"]:
                x[:3] = [rnd.choice([0, 1, top, top - 1, 1 << 63, 1 << 32]), rnd.choice([0, 1, (1 << 63) - 1]),
                         rnd.randrange(12)]
            r["holders"] = [(rnd.choice([0, 1, 10, (1 << 32) - 1]), rnd.choice([0, 1000, top]))] * rnd.randrange(5)

    for v in (0, 1, 1 << 32, 1 << 63, top - 1, top):
        for t in (None, 0, (1 << 63) - 1):
            try_it(f"value {v}, time {t}", values(v, t))
    try_it("20 000 clients", many(20000, lambda i: i + 100))
    try_it("the same client 1000 times", many(1000, lambda i: 7))
    try_it("names of any bytes", names)
    try_it("negative time", lambda s: s.clients()[0].update(t=-5))
    for i in range(30):
        try_it(f"anything {i}", anything)


@test("concurrent runs: the file is always complete, the last one is from one of the runs; no temporary file remains")
def _(m):
    f = one_client(m)
    c = Cron(m)
    c.first()
    rows = [(r["kind"], r["key"]) for r in State(c.path).rows]
    bad, end = [], threading.Event()

    def watch():
        while not end.is_set():
            try:
                State(c.path)
            except Exception as e:
                bad.append(repr(e))

    w = threading.Thread(target=watch)
    w.start()
    for k in range(1, 7):
        rewrite(f, dump("i915", 7, *ns(render=1000 + k), pdev=I915))
        begun = time.monotonic_ns()
        ps = [subprocess.Popen([machine.PROG, "--state", c.path, *m.roots()], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE) for _ in range(8)]
        bad += [e for e in (p.communicate(timeout=60)[1] for p in ps) if e]
        s = State(c.path)
        has = [(r["kind"], r["key"]) for r in s.rows], s.clients()[0]["counters"][0][0]
        if has != (rows, 1000 + k) or not begun < s.mono < time.monotonic_ns():
            bad.append(f"the last file is not from one of the runs {k}: {has}")
    end.set()
    w.join()
    eq(bad, [], "faults")
    eq(state_files(m), ["state"], "files")


@test("a run uses the newer state that another run writes meanwhile")
def _(m):
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    one_client(m)
    c = Cron(m)
    c.first()
    State(c.path).older(MINUTE).write(c.path)
    slow = ["strace", "-qq", "-o", m.path("trace"), "-P", c.path, "-e", "inject=openat:delay_enter=1500000:when=1"]
    run = [machine.PROG, "--state", c.path, "-o", "json", *m.roots()]
    with subprocess.Popen([*slow, *run], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        time.sleep(0.5)
        quick = parse_json(subprocess.run(run, stdout=subprocess.PIPE, check=True, timeout=60).stdout)
        out, err = p.communicate(timeout=60)
    if b"ptrace" in err:
        raise Skip("strace may not trace here")
    eq((p.returncode, err), (0, b""), "exit code, messages")
    check(quick[0]["dt"] >= 60, f"the quick run used the state of a minute ago: {quick[0]['dt']}")
    check(0 <= parse_json(out)[0]["dt"] < 60, f"the slow run used the state of the quick run: {out!r}")


@test("the temporary file of a killed run with the same PID does not prevent a run")
def _(m):
    one_client(m)
    c = Cron(m)
    c.first()
    script = 'd=$1; shift; : > "$d/.state.$$.1"; echo "$$"; exec "$@"'
    p = subprocess.run(["sh", "-c", script, "sh", m.base, machine.PROG, "--state", c.path, *m.roots()],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    eq((p.returncode, p.stderr), (0, b""), "run")
    eq(state_files(m), [f".state.{p.stdout.split()[0].decode()}.1", "state"], "files")


@test("--state works with each way of sampling: -1, --align, -S, --on-stdin, --inner")
def _(m):
    f = one_client(m)
    c = Cron(m)

    def left_before(busy_ns):
        """Writes a state that is a minute old, and a client that has been busy for 30 s since
        then."""
        rewrite(f, dump("i915", 7, *ns(render=busy_ns), pdev=I915))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(c.path)
        c.first("-q")
        State(c.path).older(MINUTE).write(c.path)
        rewrite(f, dump("i915", 7, *ns(render=busy_ns + 30e9), pdev=I915))

    for args, n, sums in ((["-1"], 1, []), (["--align", "-w", "0.2"], 1, []), (["--align", "0.2", "2"], 2, []),
                          (["-S", "0.1", "2"], 5, ["min", "avg", "max"])):
        begun = time.monotonic()
        left_before(10**9)
        r = m.run("--state", c.path, "-o", "json", *args)
        recs = [x for y in map(machine.strict, r.out.splitlines()) for x in (y if isinstance(y, list) else [y])]
        eq((r.code, r.err, len(recs)), (0, b"", n), f"{args}: exit code, messages, records")
        check(60 - 1e-3 <= recs[0]["dt"] <= 60 + time.monotonic() - begun, f"{args}: dt {recs[0]['dt']}")
        close(recs[0], "render", share(30e9), f"{args}: first")
        eq([x["summary"] for x in recs if "summary" in x and x["summary"]], sums, f"{args}: sums")
    # The first record of these runs is computed only from readings of the run itself, so it has no
    # rate since the last run. Totals continue.
    for args, stdin, n in ((["--on-stdin", "-w", "0.05"], b"\n\n", 2), (["--inner", "0.1", "-w", "0.2"], b"", 3)):
        left_before(10**9)
        r = m.run("--state", c.path, "-o", "json", *args, stdin=stdin)
        recs = parse_json(r.out)
        eq((r.code, r.err, len(recs)), (0, b"", n), f"{args}: exit code, messages, records")
        for x in recs:
            check(x["dt"] < 50, f"{args}: dt {x['dt']}")
            close(x, "render", 0, f"{args}")
        rec, = c.run("-r")
        eq(rec["engine"]["render"]["busy_ns"], 31 * 10**9, f"{args}: total")
    r = m.run("list", "--state", c.path)
    check(r.code == 2 and b"--state is not an option of list" in r.err, repr(r))


def ask(m, *args):
    """Sends one HTTP request. Returns the exit code and the response."""
    ours, theirs = socket.socketpair()
    p = subprocess.Popen([machine.PROG, "--http", "-o", "prom", *args], stdin=theirs, stderr=subprocess.PIPE)
    theirs.close()
    ours.sendall(b"GET / HTTP/1.0\r\n\r\n")
    with ours.makefile("rb") as f:
        text = f.read()
    ours.close()
    p.communicate(timeout=60)
    return p.returncode, text


@test("--http: rates since the last request; a request for a device that does not exist keeps the totals of the others")
def _(m):
    f = one_client(m)
    c = Cron(m)
    begun = time.monotonic()
    c.first()
    State(c.path).older(MINUTE).write(c.path)
    rewrite(f, dump("i915", 7, *ns(render=30e9 + 1000), pdev=I915))
    code, text = ask(m, "--state", c.path, *m.roots())
    got = prom(text.partition(b"\r\n\r\n")[2])
    ratio = float(next(v for k, v in got.items() if k.startswith("gpustat_engine_busy_ratio{")))
    check(29.9 / (60 + time.monotonic() - begun) <= ratio <= 0.5001, f"ratio {ratio}")
    eq(ask(m, "--state", c.path, "-d", "card7", *m.roots())[0], 0, "exit code without a device")
    rec, = c.run("-r")
    eq(rec["engine"]["render"]["busy_ns"], 30 * 10**9 + 1000, "total")


# --- intervals and cost ---------------------------------------------------------------------------

@test("with an interval the first record covers the time since the last run; SIGKILL loses only few samples")
def _(m):
    f = one_client(m)
    c = Cron(m)
    c.first()
    rewrite(f, dump("i915", 7, *ns(render=30e9), pdev=I915))
    State(c.path).older(MINUTE).write(c.path)
    p = subprocess.Popen([machine.PROG, "--state", c.path, "-o", "json", *m.roots(), "1.1"], stdout=subprocess.PIPE)
    try:
        rec, = parse_json(p.stdout.readline())
        close(rec, "render", share(30e9), "first")
        rewrite(f, dump("i915", 7, *ns(render=33e9), pdev=I915))
        rec, = parse_json(p.stdout.readline())
        check(0.5 < rec["dt"] < 50, f"dt of the second record: {rec['dt']}")
        p.stdout.readline()
    finally:
        p.send_signal(signal.SIGKILL)
        p.wait()
    v, = [x[0] for r in State(c.path).clients() for x in r["counters"] if x[2] == BUSY_NS]
    eq(v, 33 * 10**9, "total in the file")
    p = subprocess.Popen([machine.PROG, "--state", c.path, "-o", "json", *m.roots(), "0.2"], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.readline()
    rewrite(f, dump("i915", 7, *ns(render=34e9), pdev=I915))
    p.stdout.readline()
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    eq(p.wait(), 0, "SIGTERM")
    v, = [x[0] for r in State(c.path).clients() for x in r["counters"] if x[2] == BUSY_NS]
    eq(v, 34 * 10**9, "total in the file after the run")


@test("a run with --state scans /proc once and does not sleep")
def _(m):
    if not shutil.which("strace"):
        raise Skip("no strace package")
    for pid in range(10, 30):
        m.process(pid)
    one_client(m, driver="i915")
    c = Cron(m)
    c.first()
    log = m.path("trace")
    p = subprocess.run(["strace", "-o", log, machine.PROG, "--state", c.path, *m.roots()], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60)
    if p.returncode and b"ptrace" in p.stderr.lower():
        raise Skip("no ptrace here")
    eq(p.returncode, 0, f"exit code {p.stderr!r}")
    calls = open(log).read()
    for pid in range(10, 30):
        eq(calls.count(f'"{pid}/fd"'), 1, f"looks at {pid}/fd")
    eq(calls.count('"10/fdinfo/5"'), 1, "fdinfo opened")
    eq(calls.count("nanosleep"), 0, "sleeps")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_state.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
