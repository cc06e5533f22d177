#!/usr/bin/env python3
# t_stat_errors.py PROG - tests arguments that `gpustat stat` refuses, and its cost: an unprivileged
# user gets counts or a reason, invalid events and options are named, processes may vanish, outputs
# may fail, and the number of system calls has a limit. Tests of counts are skipped if the kernel
# does not allow counting. Prints TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, as_root, check, eq, package, until_it_ran, wait_asleep  # noqa: E402
from statlib import (machine_wide, main, measure, online, paranoid, refused, rows_of,  # noqa: E402
                     says, started, stat, test, uprobe, value, wide, work, working)

LISTED = "cpu-clock task-clock page-faults context-switches"  # software events that every machine has


# --- without rights -------------------------------------------------------------------------------

def as_nobody():
    as_root()
    machine_wide()
    if paranoid() != 2:
        raise Skip(f"kernel.perf_event_paranoid is {paranoid()}, not 2")


@test("unprivileged: own tasks are counted in user space only, and a message says so")
def _(m):
    as_nobody()
    r = stat("-j", "-e", "page-faults:u,task-clock:u", *work("fault", 200), nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    check(value(rows_of(r.err), "page-faults:u") >= 200, f"{r.err!r}")
    r = stat("-j", "-e", "page-faults", *work("fault", 200), nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    lines = r.err.splitlines()
    check(rows_of(lines[0] + b"\n")[0]["value"] >= 200, f"{r.err!r}")
    check(b"user space" in lines[-1] and b"perf_event_paranoid" in lines[-1], f"message {lines[-1]!r}")


@test("unprivileged: -a is denied, names perf_event_paranoid and cap_perfmon, exit 4")
def _(m):
    as_nobody()
    for args in (["-a"], ["-C", "0"], ["-A"]):
        r = stat("-j", *args, "-e", "page-faults,task-clock", "-w", "0.05", nobody=True)
        eq(r.code, 4, f"exit code ({r!r})")
        for row in rows_of(r.out):
            check(row["value"] is None and row["reason"].startswith("denied"), f"{row}")
            check("perf_event_paranoid" in row["reason"] and "cap_perfmon" in row["reason"], f"{row['reason']!r}")
    r = stat("-j", "-e", "page-faults", "-p", os.getpid(), "--timeout", 50, nobody=True)
    eq((r.code, [(x["value"], x["reason"]) for x in rows_of(r.out)]),
       (4, [(None, "denied: it is a process of another user; as root, or: setcap cap_perfmon+ep gpustat")]), "events of a process of root")


@test("unprivileged: a user space probe is denied, and the message names the required capability")
def _(m):
    as_nobody()
    r = stat("-j", "-e", uprobe("/bin/true"), *work("exit", 0), nobody=True)
    eq([(x["value"], x["reason"]) for x in rows_of(r.err)], [(None, "denied: user space probes require CAP_SYS_ADMIN; run as root")], f"{r!r}")


@test("unprivileged: tracepoints are denied with the reason, or reported as not visible")
def _(m):
    as_nobody()
    r = stat("-j", "-e", "sched:sched_switch", *work("exit", 0), nobody=True)
    check(r.code in (2, 4), f"exit code ({r!r})")
    if r.code == 2:
        says(r, 2, "tracefs")


@test("unprivileged: events that happen only in the kernel are denied, and not counted as 0")
def _(m):
    as_nobody()
    r = stat("-j", "-e", "context-switches,cpu-migrations,page-faults", *work("sleep", 10), nobody=True)
    rows = rows_of(b"".join(x + b"\n" for x in r.err.splitlines() if x.startswith(b"{")))
    eq([x["value"] for x in rows[:2]], [None, None], "values of context-switches and cpu-migrations")
    check(all(x["reason"].startswith("denied") for x in rows[:2]) and rows[2]["value"] > 0, f"{rows}")


@test("unprivileged: a denied event is reported as denied, even if a second attempt to open it has another error")
def _(m):
    as_nobody()
    if os.path.exists("/sys/bus/event_source/devices/msr"):
        r = stat("-j", "-e", "msr/tsc/", *work("exit", 0), nobody=True)
        check(rows_of(r.err)[0]["reason"].startswith("denied"), f"{r.err!r}")
    root = m.path("sys/kernel/tracing/events/sched/sched_switch")
    os.makedirs(root)
    with open(root + "/id", "w", encoding="ascii") as f:
        f.write("7\n")
    os.chmod(m.path("sys/kernel/tracing"), 0o700)
    for folder in ("", "sys", "sys/kernel"):
        os.chmod(m.path(folder) if folder else os.path.dirname(m.path("x")), 0o755)
    os.makedirs(m.path("sys/bus/event_source/devices"))
    r = stat("-j", "--sys", m.path("sys"), "-e", "sched:sched_switch,page-faults:u", *work("fault", 20), nobody=True)
    rows = rows_of(r.err)
    check(rows[0]["value"] is None and rows[0]["reason"].startswith("denied"), f"the tracepoint {rows[0]}")
    check(rows[1]["value"] >= 20 and r.code == 0, f"the other event of the list {r!r}")


# --- bad input ------------------------------------------------------------------------------------

@test("events: an unknown event is refused by name, exit 2, and the command is not run", counts=False)
def _(m):
    flag = m.path("ran")
    def clean():
        if os.path.exists(flag):
            os.unlink(flag)
            raise AssertionError("the command ran")
    refused([["-e", bad] for bad in (
        "nonsense", "task-clock,nonsense", "", ",", "task-clock,", ",task-clock", "task-clock,,cpu-clock", "{", "}",
        "{}", "{task-clock", "task-clock}", "{task-clock,}", "{{task-clock}}", "task-clock:z", "task-clock:uu",
        "cpu/", "cpu//x", "nonsense/config=1/", "software/", "mem:", "mem:x", "uprobe:", "uprobe:/x", "1:", ":1",
        "1:x", "sched:", "r", "rxyz", " ", "task-clock/", "99999999999999999999:1", "\x01\x02", "\xff", "{" * 500,
        "a" * 10000, "task-clock," * 1000 + "nonsense", "{" + "task-clock," * 2000, "/" * 10000,
        "nonsense/" + "a=1," * 2500 + "/")], command=["--", "touch", flag], clean=clean)
    says(stat("-e", "nonsense", *work("exit", 0)), 2, "nonsense")


@test("events: thousands in one list are counted, or refused with a message")
def _(m):
    for n in (100, 500, 5000):
        r = stat("-j", "-e", ",".join(["page-faults"] * n), *work("exit", 0), timeout=60)
        check(r.code in (0, 1, 2), f"{n}: exit {r.code} ({r.err[-100:]!r})")
        if r.err.startswith(b"{"):
            rows = rows_of(b"".join(x for x in r.err.splitlines(True) if x.startswith(b"{")))
            check(len(rows) == n or b"gpustat: " in r.err, f"{len(rows)} of {n} records, and no message")
            check(len({x["value"] for x in rows if x["value"] is not None}) <= 1, "the same event has several values")
        else:
            says(r, r.code)
    args = [x for _ in range(300) for x in ("-e", "task-clock")]
    r = stat(*args, *work("exit", 0))
    check(r.code in (0, 2), f"300 -e: exit {r.code} ({r.err[-100:]!r})")


@test("numbers: too large, negative and missing numbers are refused", counts=False)
def _(m):
    big = "99999999999999999999"
    refused([["-e", "task-clock", *x] for x in (
        ["-c", "0"], ["-c", "x"], ["-c", big], ["-I", "0"], ["-I", "-5"], ["-I", big], ["--interval", "0"], ["-D", big],
        ["-D", "x"], ["-D", "-2"], ["--timeout", "0"], ["--timeout", big], ["--timeout", ""], ["-r", "x"],
        ["-r", "-1"], ["-r", big], ["--log-fd", "-1"], ["--log-fd", big], ["--log-fd", "x"], ["-p", "x"], ["-p", ""],
        ["-p", big], ["-p", "-1"], ["-p", "1,,2"], ["-t", "x"], ["-C", "x"], ["-C", ""], ["-C", "3-1"], ["-C", "-1"],
        ["-C", "9999999"], ["-C", "0-9999999"], ["-C", big], ["-w", "0"], ["-w", big], ["-o", "x"], ["-o", "promtool"],
        ["--per-cpu=1"], ["--nonsense"])])


@test("numbers: the largest possible COUNT of -c is accepted")
def _(m):
    rows = measure("-I", 50, "-c", 2**64 - 1, "-e", "task-clock", *work("sleep", 120))
    check(2 <= len(rows) <= 4, f"{len(rows)} records")


@test("processes: the message names a process that does not exist", counts=False)
def _(m):
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        gone = int(f.read()) - 1
    for o in ("-p", "-t"):
        for pid in (gone, 2**31 - 1, 2**31, 2**32 - 1):
            r = stat(o, pid, "-e", "task-clock", timeout=60)
            check(r.code in (1, 2), f"{o} {pid}: {r!r}")
            says(r, r.code, str(pid))


@test("processes: PID 0 is refused", counts=False)
def _(m):
    for o in ("-p", "-t"):
        r = stat(o, 0, "-e", "task-clock", timeout=60)
        check(r.code in (1, 2), f"{o} 0: {r!r}")
        says(r, r.code)


@test("processes: a zombie has no value but a reason, and the run ends")
def _(m):
    p = subprocess.Popen(["true"])
    try:
        machine.until_zombie(p.pid)
        for o in ("-p", "-t"):
            r = stat("-j", o, p.pid, "-e", "task-clock,page-faults", timeout=60)
            check(r.code in (1, 4), f"{o}: exit code ({r!r})")
            if r.code == 1:
                says(r, 1, str(p.pid))
            else:
                for row in rows_of(r.out):
                    check(row["value"] is None and row["reason"], f"{row}")
    finally:
        p.wait()


@test("processes: if the measured process ends, the run ends and prints its results")
def _(m):
    for args in ([], ["-I", "50"], ["--per-thread"], ["--set", "a=task-clock@10ms", "--set", "b=page-faults@10ms"]):
        for kill in (False, True):
            with working("spin", 20 if not kill else 3000) as w:
                w.until(b"ready\n")
                with started("-j", "-p", str(w.pid), *([] if "--set" in args else ["-e", "task-clock"]), *args) as p:
                    wait_asleep(p.pid)
                    w.go()
                    if kill:
                        until_it_ran(w.pid, 0.05)
                        w.p.kill()
                    w.end()
                    r = p.end()
            eq(r.code, 0, f"{args}: exit code ({r!r})")
            rows = [x for x in rows_of(r.out) if x["event"] == "task-clock"]
            check(sum(x["value"] or 0 for x in rows) > 5e6, f"{args}: {rows}")


@test("CPUs: a CPU that does not exist has no value but a reason; exit 4")
def _(m):
    machine_wide()
    for extra in ([], ["-A"]):
        r = stat("-j", "-C", max(online()) + 50, *extra, "-e", "task-clock", "-w", "0.05")
        eq(r.code, 4, f"exit code ({r!r})")
        check(all(x["value"] is None and x["reason"] for x in rows_of(r.out)), f"{r.out!r}")
    r = stat("-j", "-C", f"0,{max(online()) + 50}", "-A", "-e", "cpu-clock", "-w", "0.05")
    rows = rows_of(r.out)
    eq((r.code, [x["value"] is None for x in rows]), (0, [False, True]), "together with a CPU that exists")
    check("offline" in rows[1]["reason"], f"{rows[1]['reason']!r}")


@test("output: to a file in an absent folder, to a folder, to a closed or full stdout: exit 1 with a message")
def _(m):
    flag = m.path("ran")
    says(stat("-O", m.path("absent/x"), "-e", "task-clock", "--", "touch", flag), 1, "absent/x", "No such file")
    check(not os.path.exists(flag), "the command ran although its results cannot be written")
    says(stat("-O", m.base, "-e", "task-clock", *work("exit", 0)), 1, "directory")
    says(stat("-O", "/dev/full", "-e", "task-clock", *work("exit", 0)), 1, "No space")
    with open("/dev/full", "wb") as full:
        p = subprocess.run([machine.PROG, "stat", "-e", "task-clock", *work("exit", 0)], stderr=full, timeout=60)
        eq(p.returncode, 1, "full stderr")
        if wide():
            for args in (["-w", "0.02"], ["-I", "20"]):
                p = subprocess.run([machine.PROG, "stat", "-a", "-e", "task-clock", *args], stdout=full,
                                   stderr=subprocess.PIPE, timeout=60)
                eq(p.returncode, 1, f"full stdout, {args}")
                check(b"No space" in p.stderr, f"message {p.stderr!r}")
    r = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", machine.PROG, "stat", "-a", "-e", "task-clock", "-w", "0.02"],
                       stderr=subprocess.PIPE, timeout=60)
    check(r.returncode in (1, 4), f"closed stdout: exit {r.returncode}")


@test("output: without stdin, stdout and stderr: exit 1, the command runs, no other file gets the results")
def _(m):
    flag = m.path("ran")
    for closed in ("2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        r = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", machine.PROG, "stat", "-e", "task-clock", "--",
                            "touch", flag], timeout=60)
        eq((r.returncode, os.path.exists(flag)), (1, True), f"{closed}: exit code, whether the command ran")
        os.unlink(flag)


@test("output: the run ends at once if the reader of the pipe ends", alone=True)
def _(m):
    machine_wide()
    p = subprocess.Popen([machine.PROG, "stat", "-a", "-e", "task-clock", "-I", "20"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    p.stdout.read(10)
    p.stdout.close()
    try:
        p.wait(3)
    finally:
        p.kill()
        err = p.stderr.read()
        p.stderr.close()
        p.wait()
    check(p.returncode in (1, -signal.SIGPIPE), f"exit {p.returncode} ({err!r})")


@test("roots: an empty --proc or --sys causes no crash")
def _(m):
    for root in ("--proc", "--sys"):
        r = stat("-j", root, m.proc, "-e", "task-clock", *work("exit", 0), timeout=60)
        check(r.code in (0, 1, 4), f"exit code ({r!r})")
    says(stat("--proc", "/absent", "-e", "task-clock", *work("exit", 0)), 1, "/absent")


@test("descriptors: with too few, events without a value have a reason, and the run does not crash")
def _(m):
    machine_wide()
    e = ",".join(["page-faults:u"] * 40 + ["{task-clock}"] * 40)
    p = subprocess.run(["sh", "-c", 'ulimit -n 20; exec "$@"', "sh", machine.PROG, "stat", "-j", "-a", "-A", "-e", e,
                        "-w", "0.02"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    check(p.returncode == 1, f"exit {p.returncode} ({p.stderr[-200:]!r})")
    rows = rows_of(p.stdout)
    check(any(r["value"] is not None for r in rows), "nothing was counted")
    check(any("files" in (r["reason"] or "") for r in rows), f"no reason mentions files: { {r['reason'] for r in rows} }")


# --- cost -----------------------------------------------------------------------------------------

def system_calls(m, *argv):
    tool = package("strace", "strace")
    log = m.path(f"strace-{time.monotonic_ns()}")
    p = subprocess.run([tool, "-f", "-o", log, *(str(a) for a in argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, timeout=60)
    if p.returncode != 0:
        raise Skip(f"strace: {p.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        return [line for line in f if re.match(r"\d+ +[a-z_0-9]+\(", line)]


@test("cost: at most 40 system calls more than the command alone, and nine for memory")
def _(m):
    own = len(system_calls(m, *work("exit", 0)[1:]))
    lines = system_calls(m, machine.PROG, "stat", "-e", "task-clock", *work("exit", 0))
    memory = [x for x in lines if re.match(r"\d+ +(mprotect|madvise|mmap)\(", x)]
    check(len(lines) - own <= 40 + min(len(memory), 9), f"{len(lines)} - {own}:\n" + "".join(x[:100].rstrip() + "\n" for x in lines))


@test("cost: at most 6 system calls per sample of 4 software events on 2 CPUs", alone=True)
def _(m):
    machine_wide()
    few, many = (len(system_calls(m, machine.PROG, "stat", "-a", "-e", LISTED.replace(" ", ","), "-O", m.path(f"o{n}"),
                                  "-I", 20, "--interval-count", n)) for n in (5, 25))
    each = (many - few) / 20
    check(each <= 6 + max(0, len(online()) - 2), f"{each} a sample")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_stat_errors.py PROG")
    sys.exit(main(sys.argv[1]))
