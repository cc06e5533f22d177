#!/usr/bin/env python3
# t_stat_events.py PROG - tests the counts of `gpustat stat`: software events, tracepoints, PMU
# files, breakpoints, uprobes, groups and modifiers have a count that is known beforehand; tasks,
# CPUs and cgroups are counted separately. Tests of counts are skipped if the kernel does not allow
# counting.
# Prints TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (Ran, Skip, check, eq, near, needs_breakpoints, package, parse_json, until_it_ran,  # noqa: E402
                     wait_asleep)
from statlib import (NOTHING, Running, driven, machine_wide, main, measure, of, one,  # noqa: E402
                     online, ran, rows_of, says, started, stat, test, uprobe, value, where, within,
                     work, working)

CPUS = len(os.sched_getaffinity(0))


# --- kinds of events ------------------------------------------------------------------------------

@test("software events: count known work")
def _(m):
    rows = measure("-e", "page-faults,minor-faults,major-faults,task-clock,context-switches,cpu-migrations,dummy",
                   *work("fault", 1000, "nap", 50, "spin", 100))
    base = value(measure("-e", "page-faults", *work("exit", 0)), "page-faults")
    near(value(rows, "page-faults"), 1000 + base, 25, "page faults")
    near(value(rows, "page-faults"), value(rows, "minor-faults") + value(rows, "major-faults"), 0, "minor + major")
    ran(of(rows, "task-clock")[0], 0.1, "task-clock")
    r = stat("-j", "-e", "context-switches", *work("nap", 50, "switches", 0))
    got, most = value(rows_of(r.err), "context-switches"), int(r.out)
    check(50 <= got <= most + 5, f"switches: {got}, of {most} that the kernel counted until shortly before the end")
    eq(value(rows, "dummy"), 0, "dummy")
    eq([r["event"] for r in rows], "page-faults minor-faults major-faults task-clock context-switches cpu-migrations "
       "dummy".split(), "the order of -e")


@test("software events: clocks have the unit ns, counts have no unit")
def _(m):
    rows = measure("-e", "task-clock,cpu-clock,page-faults", *work("spin", 50))
    eq([r["unit"] for r in rows], ["ns", "ns", ""], "units")
    for e in ("task-clock", "cpu-clock"):
        ran(of(rows, e)[0], 0.05, e)


def mounted():
    return any(os.path.isdir(f"{d}/events") for d in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))


def with_tracefs(*args):
    """Runs stat, in a mount namespace with tracefs if tracefs is not mounted."""
    machine_wide()
    if mounted():
        return stat(*args)
    package("unshare", "util-linux")
    p = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tracefs nodev /sys/kernel/tracing && exec "$@"',
                        "sh", machine.PROG, "stat", *(str(a) for a in args)], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    if b"mount:" in p.stderr or b"unshare:" in p.stderr:
        raise Skip(f"tracefs cannot be mounted here: {p.stderr[:80]!r}")
    return Ran(p.returncode, p.stdout, p.stderr, 0)


@test("tracepoints: exact counts of a system call")
def _(m):
    r = with_tracefs("-j", "-e", "syscalls:sys_enter_getppid,task-clock", *work("getppid", 12345))
    if b"no event" in r.err or b"no tracepoint" in r.err:
        raise Skip(f"no system calls among its tracepoints: {r.err[:100]!r}")
    eq(r.code, 0, f"exit code ({r!r})")
    eq(value(rows_of(r.err), "syscalls:sys_enter_getppid"), 12345, "calls")


@test("tracepoints: a glob counts each matching tracepoint separately")
def _(m):
    r = with_tracefs("-j", "-e", "syscalls:sys_e*_getppid", *work("getppid", 100))
    if b"no event" in r.err or b"no tracepoint" in r.err:
        raise Skip(f"no system calls among its tracepoints: {r.err[:100]!r}")
    got = {x["event"]: x["value"] for x in rows_of(r.err)}
    eq(got, {"syscalls:sys_enter_getppid": 100, "syscalls:sys_exit_getppid": 100}, "counts")


@test("tracepoints: --filter counts only the hits that match, and an invalid filter is refused")
def _(m):
    e = ["-j", "-e", "syscalls:sys_enter_close"]
    r = with_tracefs(*e, "--filter", "fd == 12345", *work("getppid", 10))
    if b"no such" in r.err:
        raise Skip(f"no system calls among its tracepoints: {r.err[:100]!r}")
    eq(value(rows_of(r.err), "syscalls:sys_enter_close"), 0, "calls of close() with a descriptor that does not exist")
    for bad in ("nosuch == 1", "(("):
        r = with_tracefs(*e, "--filter", bad, *work("exit", 0))
        eq(r.code, 4, f"exit code ({r!r})")
        check("filter" in rows_of(r.err)[0]["reason"], f"{r.err!r}")
    says(stat("-e", "page-faults", "--filter", "fd == 1", *work("exit", 0)), 2, "--filter", "tracepoints")
    says(stat("--filter", "fd == 1", *work("exit", 0)), 2, "--filter")


@test("--pmu-file: names in the file can be counted")
def _(m):
    path = m.path("events")
    with open(path, "w", encoding="ascii") as f:
        f.write("# ours\nfaults page-faults\n\npair {page-faults,minor-faults}\nbad nosuch-event\nempty\n")
    rows = measure("--pmu-file", path, "-e", "faults,pair", *work("fault", 100))
    eq([r["event"] for r in rows], ["faults", "page-faults", "minor-faults"], "records")
    eq(len({r["value"] for r in rows}), 1, "values of the same event under three names")
    for name in ("bad", "empty", "none"):
        says(stat("--pmu-file", path, "-e", name, *work("exit", 0)), 2, name if name != "bad" else "nosuch-event")
    says(stat("--pmu-file", m.path("absent"), "-e", "faults", *work("exit", 0)), 2, "absent")


def live_pmu(m, name, events, **files):
    """Makes a --sys with a PMU that has the type number of the software events, so that the events
    in its files can be counted. Returns the option."""
    base = os.path.join(m.path("sys"), "bus/event_source/devices", name)
    os.makedirs(os.path.join(base, "events"), exist_ok=True)
    os.makedirs(os.path.join(base, "format"), exist_ok=True)
    texts = {"type": "1\n", "format/event": "config:0-7\n", **{k.replace("_", "/", 1): v for k, v in files.items()},
             **{"events/" + k: v for k, v in events.items()}}
    for path, text in texts.items():
        with open(os.path.join(base, path), "w", encoding="ascii") as f:
            f.write(text)
    for link in ("devices", "fs"):
        if not os.path.lexists(os.path.join(m.path("sys"), link)):
            os.symlink("/sys/" + link, os.path.join(m.path("sys"), link))
    return ["--sys", m.path("sys")]


@test("PMU files: scale, unit, snapshot and per-pkg are used; instances are summed, or separate with -A")
def _(m):
    machine_wide()
    clock = {"ms": "event=0x0\n", "ms.scale": "1e-6", "ms.unit": "ms", "now": "event=0x0\n", "now.snapshot": "1\n",
             "pkg": "event=0x0\n", "pkg.per-pkg": "1\n"}
    cpus = ",".join(str(c) for c in online())
    for i in (0, 1):
        tree = live_pmu(m, f"uncore_fake_{i}", clock, cpumask=cpus + "\n")
    n = len(online())
    row = one(*tree, "-a", "-w", "0.2", "-e", "uncore_fake/ms/")
    eq(row["unit"], "ms", "unit")
    within(row["value"] / 1000, 2 * n * 0.2, 2 * n * row["dt"], "seconds of both instances on all CPUs")
    rows = measure(*tree, "-a", "-A", "-w", "0.1", "-e", "uncore_fake/ms/")
    eq({r["event"] for r in rows}, {"uncore_fake_0/ms/", "uncore_fake_1/ms/"}, "instances with -A")
    eq(len(rows), 2 * n, "records of each instance on each CPU")
    row = one(*tree, "-a", "-w", "0.2", "-e", "fake_0/pkg/")
    packages = {topology(c, "physical_package_id") for c in online()}
    within(row["value"] / 1e9, len(packages) * 0.2, len(packages) * row["dt"], "seconds, once a package")
    rows = measure(*tree, "-a", "-C", str(online()[0]), "-I", "50", "--interval-count", "4", "-e", "fake_0/now/")
    values = [r["value"] for r in rows]
    passed = 0
    for k, r in enumerate(rows):
        passed += r["dt"]
        within(r["value"] / 1e9, (k + 1) * 0.05, passed, f"a snapshot is the value itself, not an increase: {values}")
    eq({r["running"] for r in rows}, {100.0}, "running")


@test("tracepoints: a message says that tracefs is not mounted", counts=False)
def _(m):
    if mounted():
        raise Skip("tracefs is mounted here")
    says(stat("-e", "sched:sched_switch", *work("exit", 0)), 2, "sched:sched_switch", "tracefs")


@test("mem: breakpoints count exactly")
def _(m):
    needs_breakpoints()
    data, code = where()
    r = stat("-j", "-e", f"mem:{data:#x}/8:w", "-e", f"mem:{code:#x}:x", "-e", f"mem:{data + 32:#x}/8:rw",
             *work("write", 4321, "call", 77))
    rows = rows_of(r.err)
    if all(x["value"] is None for x in rows) and os.uname().machine not in ("x86_64", "aarch64"):
        raise Skip(f"no breakpoints here: {rows[0]['reason']}")
    eq([x["value"] for x in rows], [4321, 77, 0], f"writes, calls, no access ({[x['reason'] for x in rows]})")


@test("uprobes: count exactly")
def _(m):
    e = uprobe()
    eq(one("-e", e, *work("call", 1234))["value"], 1234, "calls")
    eq(one("--no-inherit", "-e", e, *work("call", 100, "fork", 1, "call", 11))["value"], 100, "calls without those of the child")
    own = m.path("own")  # a copy that no other test runs
    subprocess.run(["cp", work()[1], own], check=True)
    eq(one("-a", "-e", uprobe(own), "--", own, *work("call", 100, "fork", 1, "call", 11)[2:])["value"], 111, "of all CPUs")


@test("events by symbol: uprobes of a function and of its return, breakpoints of data and code are counted")
def _(m):
    uprobe()  # skips the test without uprobes
    prog, command = work()[1], work("write", 4321, "call", 77)
    e = [f"uprobe:{prog}:probed", f"uprobe:{prog}:probed+0:u", f"uretprobe:{prog}:probed"]
    eq([one("-e", x, *command)["value"] for x in e], [77] * 3, "calls, returns")
    for x in ("nosuch", "probed+"):
        says(stat("-e", f"uprobe:{prog}:{x}", *command), 2)
    says(stat("-e", f"uprobe:{prog}:nosuch", *command), 2, f'no such symbol: "nosuch" in {prog}')
    needs_breakpoints()
    rows = measure("-e", "mem:watched/8:w:u,mem:probed:x:u", *command)
    if all(x["value"] is None for x in rows) and os.uname().machine not in ("x86_64", "aarch64"):
        raise Skip(f"no breakpoints here: {rows[0]['reason']}")
    eq([x["value"] for x in rows], [4321, 77], "writes, calls")
    says(stat("-e", "mem:nosuch", *command), 2, 'no such symbol: "nosuch"')
    says(stat("-e", "mem:watched", "-a", "-w", "0.1"), 2, "requires -p PID, a command, or :k")
    bare = m.path("bare")
    subprocess.run(["strip", "-o", bare, prog], check=True)
    says(stat("-e", f"uprobe:{bare}:probed", *command), 2, "it is stripped")


@test("uprobes: do not change the command, so that its forks succeed")
def _(m):
    # The kernel copies an inherited event in the parent that forks, where the pointer to the path
    # is invalid.
    r = stat("-j", "-e", uprobe(), *work("call", 100, "fork", 1, "call", 11))
    eq(r.code, 0, "exit code; 8 if fork failed")
    check(rows_of(r.err)[0]["value"] in (100, 111), f"calls {r.err!r}")


@test("groups: all events are read at the same time, so equal events have equal counts")
def _(m):
    with working("slowfault", 50000) as w:
        w.until(b"ready\n")
        w.go()
        with started("-j", "-p", w.pid, "-e", "{page-faults,minor-faults}", "--raw", "-I", "50") as p:
            p.until(b"\n")
            until_it_ran(w.pid, 0.2)
            os.kill(p.pid, signal.SIGINT)
            rows = rows_of(p.first + p.end().out)
    a, b = of(rows, "page-faults"), of(rows, "minor-faults")
    check(sum(r["value"] or 0 for r in a) > 100, "no faults were seen")
    for x, y in zip(a, b):
        eq((x["enabled"], x["runtime"]), (y["enabled"], y["runtime"]), "enabled and runtime of both events in one interval")
        # the kernel counts a fault for one event before the other, and a read may occur between
        check(abs(x["value"] - y["value"]) <= 1, f"{x['value']} and {y['value']} of one interval")


@test("groups: if the leader cannot be counted, each event of the group has the reason, and other groups count")
def _(m):
    rows = measure("-e", f"{{{NOTHING},page-faults}},task-clock", *work("exit", 0))
    eq([r["value"] is None for r in rows], [True, True, False], "events without a value")
    check("leader" in rows[1]["reason"], f"reason {rows[1]['reason']!r}")
    rows = measure("-e", f"{{page-faults,{NOTHING}}}", *work("exit", 0))
    eq([r["value"] is None for r in rows], [False, True], "events without a value if a member cannot be counted")


@test("modifiers: the counts of :u and :k add up to the whole")
def _(m):
    rows = measure("-e", "page-faults,page-faults:u,page-faults:k", *work("fault", 500, "spin", 5))
    whole, user, kernel = (r["value"] for r in rows)
    check(user >= 500 and user + kernel == whole, f"{user} + {kernel} of {whole}")
    rows = measure("--all-user", "-e", "page-faults", *work("fault", 500))
    near(value(rows, "page-faults"), user, 20, "--all-user")
    rows = measure("--all-kernel", "-e", "page-faults", *work("fault", 500))
    near(value(rows, "page-faults"), kernel, 20, "--all-kernel")


@test("inherit: events of children are counted, except with --no-inherit")
def _(m):
    words = work("fault", 100, "fork", 1, "fault", 3000)
    base = value(measure("-e", "page-faults", *work("fork", 1)), "page-faults")
    near(value(measure("-e", "page-faults", *words), "page-faults"), 3100 + base, 60, "with the child")
    alone = value(measure("--no-inherit", "-e", "page-faults", *words), "page-faults")
    check(100 <= alone < 300, f"without: {alone}")
    near(value(measure("-e", "page-faults", *work("threads", 4, "fault", 500)), "page-faults"), 2000 + base, 100,
         "threads")


@test("tasks: -p counts all threads of a running process, also threads that start later")
def _(m):
    with working("threads", 3, "fault", 1000) as w:
        w.until(b"ready\n")
        with started("-j", "-e", "page-faults", "-p", str(w.pid)) as p:
            wait_asleep(p.pid)
            w.go()
            r = p.end()
        eq(r.code, 0, f"exit code ({r!r})")
        got = value(rows_of(r.out), "page-faults")
        check(3000 <= got < 3200, f"{got} page faults, of which 3000 are of threads that started during the measurement")


@test("tasks: -a --per-thread lists the threads of the machine that counted something")
def _(m):
    machine_wide()
    with working("threads", 3, "spin", 600000) as w, Running([*work("sleep", 600000)[1:]]) as idle:
        w.until(b"ready\n")
        w.go()
        machine.until("start of its threads", lambda: len(os.listdir(f"/proc/{w.pid}/task")) == 4)
        rows = measure("-a", "--per-thread", "-e", "task-clock,page-faults", "--timeout", "500")
        tids = sorted(int(t) for t in os.listdir(f"/proc/{w.pid}/task"))
    mine = [r for r in rows if r["pid"] == w.pid and r["event"] == "task-clock"]
    eq(sorted(r["tid"] for r in mine), [t for t in tids if t != w.pid], "threads that ran")
    eq({r["comm"] for r in mine}, {"work"}, "name")
    check(not [r for r in rows if r["pid"] == idle.pid], "a process that only slept has a row")
    check(all(r["value"] and r["tid"] for r in rows), f"rows without a count: {[r for r in rows if not r['value']][:3]}")
    total = sum(r["value"] for r in rows if r["event"] == "task-clock") / 1e9
    check(total <= len(online()) * rows[0]["dt"] * 1.01, f"{total} s on {len(online())} CPUs in {rows[0]['dt']} s")
    dashes, program, *words = work("spin", 50)
    with tempfile.TemporaryDirectory() as d:
        os.symlink(program, f"{d}/its-command")
        rows = measure("-a", "--per-thread", "-e", "task-clock", dashes, f"{d}/its-command", *words)
    spent = [r["value"] for r in rows if r["comm"] == "its-command"]
    check(len(spent) == 1 and spent[0] >= 50e6, f"CPU time of the command, which spins for 50 ms: {spent} ns")


@test("tasks: --per-thread has a record for each thread, with its process and name")
def _(m):
    with working("threads", 2, "spin", 600000) as w:
        w.until(b"ready\n")
        w.go()
        machine.until("two threads", lambda: len(os.listdir(f"/proc/{w.pid}/task")) == 3)
        rows = measure("-p", w.pid, "-e", "task-clock", "--per-thread", "--timeout", "200")
        tids = sorted(int(t) for t in os.listdir(f"/proc/{w.pid}/task"))
        eq(sorted(r["tid"] for r in rows), tids, "a record per thread")
        eq({(r["pid"], r.get("comm")) for r in rows}, {(w.pid, "work")}, "process and name")


@test("tasks: -p and -t together are refused, in either order", counts=False)
def _(m):
    pid = os.getpid()
    for args in (["-p", pid, "-t", pid], ["-t", pid, "-p", pid], ["-p", pid, "-a"]):
        says(stat("--timeout", 10, *args), 2, "-a, -p and -t")


@test("tasks: -t counts that thread alone")
def _(m):
    with working("threads", 1, "spin", 600000) as w:
        w.until(b"ready\n")
        w.go()
        machine.until("a thread", lambda: len(os.listdir(f"/proc/{w.pid}/task")) == 2)
        tids = sorted(int(t) for t in os.listdir(f"/proc/{w.pid}/task"))
        eq(len(tids), 2, "threads")
        wait_asleep(tids[0])
        got = []
        for tid in tids:
            with started("-j", "-t", tid, "-e", "task-clock", "-I", 20) as p:
                p.until(b"\n")  # counting has begun
                until_it_ran(w.pid, 0.05)
                os.kill(p.pid, signal.SIGINT)
                got.append(sum(r["value"] or 0 for r in rows_of(p.end().out)))
        eq(got[0], 0, "ns of the waiting thread")
        check(got[1] > 0.04e9, f"CPU time of the thread that spins for 0.05 s: {got[1]} ns")
        both = measure("-t", f"{tids[0]},{tids[1]}", "--per-thread", "-e", "task-clock", "--timeout", "100")
        eq(sorted(r["tid"] for r in both), tids, "both")


@test("tasks: a process that is given twice is counted once")
def _(m):
    with working("slowfault", 5000) as w:
        w.until(b"ready\n")
        w.go()
        for args in (["-p", f"{w.pid},{w.pid}"], ["-p", w.pid, "-p", w.pid], ["-t", f"{w.pid},{w.pid}"]):
            rows = measure(*args, "-e", "task-clock", "--timeout", "100")
            eq(len(rows), 1, "records")
            check((rows[0]["value"] or 0) <= rows[0]["dt"] * 1e9, f"{args}: more CPU time than one thread can have: {rows}")
    with working("slowfault", 5000) as w:
        w.until(b"ready\n")
        w.go()
        rows = measure("-p", f"{w.pid},{w.pid}", "-e", "page-faults,task-clock", "--raw", "--timeout", "100")
        eq([r["cpus"] for r in rows], [1, 1], "numbers of CPUs of each record")


@test("tasks: all 600 threads of a process are counted, or the number of uncounted threads is reported")
def _(m):
    text = m.write("threads.py", "import threading, time\nfor _ in range(600):\n"
                   "    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                   "print('ready', flush=True)\ntime.sleep(600)\n")
    with Running([sys.executable, text]) as p:
        p.until(b"ready\n")
        r = stat("-j", "--per-thread", "-e", "task-clock", "-p", p.pid, "--timeout", 100)
        n = len(rows_of(r.out))
        check(n == 601 or b"gpustat: " in r.err, f"{n} of 601 threads, without a message")


@test("tasks: threads that exceed the table are left out, and the counts of others stay correct", alone=True)
def _(m):
    places = 8193
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < places + 200:
        raise Skip("too few descriptors for so many threads")
    text = m.write("crowd.py", "import threading, time\nthreading.stack_size(32768)\n"
                   f"for _ in range({places}):\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                   "def spin():\n    while True: pass\n"
                   "threading.Thread(target=spin, daemon=True).start()\nprint('ready', flush=True)\ntime.sleep(600)\n")
    with Running([sys.executable, text]) as p:
        try:
            p.until(b"ready\n")
        except Exception as e:
            raise Skip(f"no room for so many threads: {e}") from None
        r = stat("-j", "--per-thread", "-e", "task-clock", "-p", p.pid, "--timeout", 200)
        rows = {row["tid"]: row for row in rows_of(r.out)}
        eq(len(rows), places, "records")
        check(re.search(rb"CPUs or tasks: room for \d+ only, \d+ left out", r.err), f"the message names the full table: {r.err!r}")
        check(not rows[p.pid]["value"] or rows[p.pid]["value"] < 2e7, f"CPU time of the first thread, which sleeps: {rows[p.pid]}")


@test("tasks: -w ends the measurement of a process that continues to run")
def _(m):
    r = stat("-j", "-p", os.getpid(), "-w", "0.1", "-e", "task-clock")
    eq((r.code, len(rows_of(r.out))), (0, 1), "exit code, records")


@test("tasks: the measurement ends at the end of the process")
def _(m):
    with working("spin", 100) as w:
        w.until(b"ready\n")
        with started("-j", "-e", "task-clock,page-faults", "-p", str(w.pid)) as p:
            wait_asleep(p.pid)
            w.go()
            w.end()
            r = p.end()
        eq(r.code, 0, f"exit code ({r!r})")
        ran(of(rows_of(r.out), "task-clock")[0], 0.1)


@test("CPUs: -a counts all CPUs, -C the listed CPUs, and -A prints each CPU separately")
def _(m):
    machine_wide()
    cpus = online()
    rows = measure("-a", "-e", "cpu-clock", "-w", "0.2")
    within(value(rows, "cpu-clock") / 1e9, 0.2 * len(cpus), rows[0]["dt"] * len(cpus), "seconds of all CPUs")
    for args in (["-A", "-a"], ["--per-cpu"]):
        rows = measure(*args, "-e", "cpu-clock", "-w", "0.1")
        eq([r["cpu"] for r in rows], cpus, "a record for each CPU")
        for r in rows:
            within(r["value"] / 1e9, 0.1, r["dt"], f"seconds of CPU {r['cpu']}")
    rows = measure("-C", cpus[-1], "-e", "cpu-clock", "-w", "0.1")
    within(rows[0]["value"] / 1e9, 0.1, rows[0]["dt"], "seconds of one CPU")
    rows = measure("-C", f"{cpus[0]}-{cpus[-1]}", "-A", "-e", "cpu-clock,page-faults", "-w", "0.05")
    eq([(r["event"], r["cpu"]) for r in rows], [(e, c) for e in ("cpu-clock", "page-faults") for c in cpus],
       "records in the order of events, then CPUs")


@test("CPUs: a process bound to a CPU is counted on that CPU")
def _(m):
    machine_wide()
    if CPUS < 2:
        raise Skip("needs two CPUs")
    cpu = max(os.sched_getaffinity(0))
    own = m.path("own")  # a copy that no other test runs
    subprocess.run(["cp", work()[1], own], check=True)
    rows = measure("-A", "-a", "-e", uprobe(own), "--", "taskset", "-c", str(cpu), own, "call", 20000)
    eq({r["cpu"]: r["value"] for r in rows if r["value"]}, {cpu: 20000}, "calls on each CPU")


def topology(cpu, name):
    with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/{name}", encoding="ascii") as f:
        return int(f.read())


@test("CPUs: --per-core and --per-socket sum by the topology of the machine")
def _(m):
    machine_wide()
    cpus = online()
    with contextlib.suppress(OSError):
        sockets = {c: topology(c, "physical_package_id") for c in cpus}
        cores = {c: (sockets[c], topology(c, "core_id")) for c in cpus}
        for how, places in (("--per-socket", sockets), ("--per-core", cores)):
            rows = measure("-a", how, "-e", "cpu-clock", "-w", "0.1")
            got = {((r["socket"], r["core"]) if how == "--per-core" else r["socket"]): r for r in rows}
            eq(sorted(got), sorted(set(places.values())), how)
            for place, r in got.items():
                n = list(places.values()).count(place)
                within(r["value"] / 1e9, 0.1 * n, n * r["dt"], f"{how} {place}: seconds")
        return
    raise Skip("no topology in /sys")


def cgroup_root():
    for d in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(f"{d}/cgroup.procs") and os.path.exists(f"{d}/cgroup.controllers"):
            return d
    raise Skip("no cgroup v2 here")


@contextlib.contextmanager
def cgroups(*names):
    machine_wide()
    root, made = cgroup_root(), []
    try:
        for n in names:
            os.mkdir(f"{root}/{n}")
            made.append(f"{root}/{n}")
    except OSError as e:
        for d in made:
            os.rmdir(d)
        raise Skip(f"no cgroup can be made: {e.strerror}") from None
    try:
        yield made
    finally:
        for d in made:
            for _ in range(1500):
                try:
                    os.rmdir(d)
                    break
                except OSError:
                    time.sleep(0.02)


@test("cgroups: -G counts the processes of each cgroup separately")
def _(m):
    a, b = (f"gpustat-test-{os.getpid()}-{x}" for x in "ab")
    with cgroups(a, b) as (path, _empty):
        with working("spin", 600000) as w:
            w.until(b"ready\n")
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(w.pid))
            w.go()
            def counted(*args):
                """Counts until the spinning process has used 0.05 s of CPU time. Returns the
                records of all intervals."""
                with started("-j", *args, "-I", 50) as p:
                    p.until(b"\n")
                    until_it_ran(w.pid, 0.05)
                    os.kill(p.pid, signal.SIGINT)
                    return rows_of(p.first + p.end().out)
            rows = counted("-a", "-G", f"{a},{b}", "-e", "task-clock,page-faults")
            eq([(r["event"], r["cgroup"]) for r in rows][:4], [(e, g) for e in ("task-clock", "page-faults") for g in (a, b)], "records")
            busy, idle = ([r for r in of(rows, "task-clock") if r["cgroup"] == g] for g in (a, b))
            check(0.04e9 < sum(r["value"] or 0 for r in busy) <= 1.001e9 * sum(r["dt"] for r in busy), f"who spins: {busy}")
            check(not any(r["value"] for r in idle), f"the cgroup without processes: {idle}")
            rows = counted("-G", f"/{a}", "-e", "task-clock")
            check(sum(r["value"] or 0 for r in rows) > 0.04e9, f"without -a, with a slash: {rows}")


@test("cgroups: a cgroup that is removed after the first repetition has only the value of that repetition")
def _(m):
    name = f"gpustat-test-{os.getpid()}-c"
    with cgroups(name) as (path,):
        spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
        once = (f"if echo $$ >{path}/cgroup.procs; then {spin}; echo $$ >{os.path.dirname(path)}/cgroup.procs; rmdir {path};"
                f" else {spin}; fi 2>&-")
        for how in ([], ["-a"]):
            os.makedirs(path, exist_ok=True)
            r = stat("-j", *how, "-G", name, "-r", "3", "-e", "task-clock", "--", "sh", "-c", once)
            eq(r.code, 0, f"exit code ({r!r})")
            check(not os.path.exists(path), "the cgroup was not removed")
            row, = parse_json(r.err)  # running belongs to the last repetition and is null
            check(row["value"] and row.get("repeats", 1) == 1, f"{how}: {row}")


@test("cgroups: -G / counts the root of the hierarchy and all cgroups below it")
def _(m):
    machine_wide()
    cgroup_root()
    row = one("-G", "/", "-e", "task-clock", *work("spin", 50))
    check(row["value"] and row["value"] > 0.04e9, f"{row}")


@test("cgroups: the message names a cgroup that does not exist", counts=False)
def _(m):
    says(stat("-G", "no-such-cgroup", "-e", "task-clock", "-w", "0.1"), 1, "no-such-cgroup")
    for bad in ("", ",", "a,,b"):
        says(stat("-G", bad, "-e", "task-clock", "-w", "0.1"), 2, "cgroup")


@test("virtual events: can be counted in one list with perf events")
def _(m):
    def ctxt():
        with open("/proc/stat", encoding="ascii") as f:
            return int(re.search(r"^ctxt (\d+)", f.read(), re.M).group(1))
    before = ctxt()
    rows = measure("-e", "task-clock,proc/ctxt/,page-faults,duration_time", *work("nap", 100, "spin", 20))
    after = ctxt()
    eq([r["event"] for r in rows], ["task-clock", "proc/ctxt/", "page-faults", "duration_time"], "order")
    check(100 <= value(rows, "proc/ctxt/") <= after - before, f"{value(rows, 'proc/ctxt/')} of {after - before}")
    within(value(rows, "duration_time") / 1e9, value(rows, "task-clock") / 1e9, rows[0]["dt"], "duration_time")
    ran(rows[0], 0.02)
    rows, _waits, _took = driven("-e", "duration_time", "-a", "-w", "0.1")
    near(value(rows, "duration_time") / 1e9, 0.1, 0.0001, "duration_time")


@test("virtual events: user_time and system_time are those of the command")
def _(m):
    rows = measure("-e", "user_time,system_time,task-clock", *work("spin", 200))
    both = value(rows, "user_time") + value(rows, "system_time")
    within(both / 1e9, 0.8 * 0.2, rows[0]["dt"], "sum of both in seconds")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_stat_events.py PROG")
    sys.exit(main(sys.argv[1]))
