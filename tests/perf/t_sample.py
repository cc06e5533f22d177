#!/usr/bin/env python3
# t_sample.py PROG - tests the records and sums of `gpustat sample`, the kinds of events, the rate
# of sampling (-F, --sample-period, --limit), and how it runs a command. The programs that are
# sampled have a known number of events. Prints TAP. ONLY=TEXT and TIMES=1 are as in
# tests/machine.py.
# SPDX-License-Identifier: MIT
import collections
import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import clock  # noqa: E402
import machine  # noqa: E402
from machine import (Skip, check, command_of, cpu_of, eq, near, parse_csv, parse_json,  # noqa: E402
                     parse_logfmt, printable, until_it_ran, wait_asleep)
from samplelib import (TRACEFS, address, base, build, check_records, cycles,  # noqa: E402
                       file_offset, here, main, running, sample, sample_sizes, started, test, waits_of,
                       work, writes, written)

PAGE = os.sysconf("SC_PAGE_SIZE")


# --- records --------------------------------------------------------------------------------------

@test("records: have all keys, and times in order and within the run", True)
def _(m):
    here()
    begun = time.time()
    s = sample(["-F", "1000"], [work(), "burn", "200"])
    check_records(s.recs, begun, time.time())
    check(100 <= len(s.recs) <= 1000 * (time.time() - begun) + 20, f"{len(s.recs)} samples of 200 ms at 1000 Hz")
    eq({r["comm"] for r in s.recs} - {"gpustat"}, {"work"}, "comm")
    eq(len({r["pid"] for r in s.recs}), 1, "processes")
    eq({r["event"] for r in s.recs}, {"cpu-clock"}, "event without a PMU") if not cycles() else None
    share = sum(base(r["symbol"]) == "burn" for r in s.recs) / len(s.recs)
    check(share > 0.7, f"{share:.0%} of the samples are in burn")


@test("records: csv, logfmt, line and table have the same samples")
def _(m):
    here()
    n = 300  # the first samples are of the dynamic loader
    args = ["-e", "page-faults:u", "--sample-period", "1", "--count", str(n)]

    def text(fmt):
        s = sample(args, [work(), "touch", "500", "1000"], fmt, code=None)
        check(s.code in (0, 128 + signal.SIGTERM), f"{s!r}")  # a command that still runs after this number of samples gets SIGTERM
        return s.text
    rows = parse_csv(text("csv"))
    eq(sorted({r["field"] for r in rows} & {"ip", "tid", "mode", "period", "addr"}),
       ["addr", "ip", "mode", "period", "tid"], "fields of csv")
    eq(sum(r["field"] == "ip" for r in rows), n, "samples in csv")
    recs = parse_logfmt(text("logfmt"))
    eq(len(recs), n, "samples in logfmt")
    for r in recs:
        missing = {"time", "cpu", "pid", "tid", "comm", "mode", "ip", "period"} - set(r)
        eq(missing, set(), f"keys that logfmt lacks in {r}")
    for fmt in ("line", "table"):
        lines = printable(text(fmt)).splitlines()
        check(n + 1 <= len(lines) <= n + 2, f"{len(lines)} lines of {fmt}")
        check(sum("touch+0x" in x for x in lines) > 0 or fmt == "table", f"{fmt}: no symbol: {lines[-1]}")


@test("records: have the comm at the time of the sample: before and after PR_SET_NAME, and after exec")
def _(m):
    here()
    for name in ("second", "", "a;b c", "new\nline", "\udcff\udcfe", "1234567890123456789"):
        s = sample(["-F", "2000"], ["sh", "-c", 'exec "$@"', "x", work(), "phases", "60", name])
        want = machine.as_json(os.fsencode(name)[:15])
        for r in s.recs:
            if base(r["symbol"]) == "first_phase":
                eq(r["comm"], "work", "comm before")
            if base(r["symbol"]) == "second_phase":
                eq(r["comm"] or "", want, "comm after")
        phases = collections.Counter(base(r["symbol"]) for r in s.recs)
        check(min(phases["first_phase"], phases["second_phase"]) > 20, f"samples {phases}")
        eq(len({r["pid"] for r in s.recs}), 1, "one process before and after its exec")


@test("records: children and threads are sampled with their own pid and tid")
def _(m):
    here()
    s = sample(["-F", "1000"], [work(), "family", "100"])
    who = dict(reversed(x.rsplit(" ", 1)) for x in s.out.decode().splitlines())
    me = next(int(k) for k, v in who.items() if v == "self")
    counts = collections.Counter((r["pid"], r["tid"], r["comm"]) for r in s.recs)
    for number, name in who.items():
        pid = int(number) if name in ("child", "self") else me
        comm = name if name.startswith("thread") else "work"
        n = counts[pid, int(number), comm]
        check(50 < n < 250, f"{n} samples of {name} {number}: {counts}")
    known = {int(k) for k in who}
    eq({t for _p, t, _c in counts} - known, set(), "strangers")


@test("records: --no-inherit leaves out children and threads")
def _(m):
    here()
    s = sample(["-F", "1000", "--no-inherit"], [work(), "family", "100"])
    me = int(re.search(rb"self (\d+)", s.out)[1])
    eq({(r["pid"], r["tid"]) for r in s.recs}, {(me, me)}, "sampled tasks")


@test("records: -p, -t, -C and -a")
def _(m):
    here()
    with running() as a, running() as b:
        s = sample(["-F", "500", "-p", str(a.pid), "--count", "30"])
        eq({r["pid"] for r in s.recs}, {a.pid}, "-p")
        eq({r["comm"] for r in s.recs}, {"work"}, "comm of a process that started before the run")
        check(any(base(r["symbol"]) == "burn" for r in s.recs), "no symbols of a process that started before the run")
        s = sample(["-F", "500", "-p", f"{a.pid},{b.pid}", "--timeout", "1000"])
        eq({r["pid"] for r in s.recs}, {a.pid, b.pid}, "-p with two processes")
        s = sample(["-F", "500", "-t", str(b.pid), "--count", "20"])
        eq({r["tid"] for r in s.recs}, {b.pid}, "-t")
        s = sample(["-F", "500", "-a", "--timeout", "1000"], err=None)  # on a busy machine rings may be full, with a message
        got = collections.Counter(r["pid"] for r in s.recs)
        check(got[a.pid] and got[b.pid], f"-a: {got}")
        check(all(r["comm"] == "work" for r in s.recs if r["pid"] in (a.pid, b.pid)), "comm with -a")
        cpu = min(os.sched_getaffinity(0))
        s = sample(["-F", "500", "-C", str(cpu), "--timeout", "300"], err=None)
        eq({r["cpu"] for r in s.recs}, {cpu}, "-C")


# --- sums -----------------------------------------------------------------------------------------

@test("--summary: sums, percentages and order by comm, symbol and ip")
def _(m):
    here()
    n = 300
    event = written()
    args = ["-e", event, "--sample-period", "1"]
    for how in ("comm", "symbol", "ip", "comm,symbol,ip", ""):
        opt = [f"--summary={how}"] if how else ["--summary"]
        recs = sample([*args, *opt], [work(), "stack", str(n), "1"]).recs
        tables = collections.defaultdict(list)
        for r in recs:
            eq((r["schema"], r["kind"]), (1, "profile"), "schema, kind")
            tables[r["by"]].append(r)
        check(not how or set(tables) == set(how.split(",")), f"tables {set(tables)} of {how}")
        for by, rows in tables.items():
            eq(sum(r["samples"] for r in rows), n + n // 4, f"samples by {by}")
            near(sum(r["percent"] for r in rows), 100, 0.01 * len(rows), f"percent by {by}")
            eq([r["period"] for r in rows], sorted((r["period"] for r in rows), reverse=True), f"order by {by}")
            name = {"comm": "work", "symbol": "level_c", "ip": "level_c"}[by]
            eq({base(r["name"]) for r in rows}, {name}, f"names by {by}")


@test("--summary: the tables of a mixed program have the same total, also in line and csv")
def _(m):
    here()
    recs = sample(["-F", "2000", "--summary=comm,symbol,ip"], [work(), "family", "80"]).recs
    total = {by: sum(r["samples"] for r in recs if r["by"] == by) for by in ("comm", "symbol", "ip")}
    eq(len(set(total.values())), 1, f"samples of each table {total}")
    for by in total:
        rows = [r for r in recs if r["by"] == by]
        near(sum(r["percent"] for r in rows), 100, 0.001 * len(rows) + 0.001, f"percent by {by}")
        order = [r["period"] for r in rows]
        eq(order, sorted(order, reverse=True), f"order by {by}")
        keys = [(r["name"], r["module"], r["ip"]) for r in rows]
        eq(len(keys), len(set(keys)), f"rows of {by}, each once")
    comms = {r["name"] for r in recs if r["by"] == "comm"}
    check({"work", "thread one", "thread two"} <= comms, f"comms {comms}")
    text = printable(sample(["-F", "2000", "--summary=symbol"], [work(), "burn", "50"], "line").text)
    check(re.search(r"(?m)^ *\d+\.\d% .* burn ", text), f"line: {text}")
    parse_csv(sample(["-F", "2000", "--summary=symbol"], [work(), "burn", "50"], "csv").text)


# --- events ---------------------------------------------------------------------------------------

@test("tracepoint: each switch of a task is one sample")
def _(m):
    here()
    out = m.path("out.json")
    r = subprocess.run(["unshare", "-m", "sh", "-c", TRACEFS, "x", machine.PROG, "sample", "-e", "sched:sched_switch",
                        "-o", "json", "-O", out, "--", work(), "sleep", "50"],
                       capture_output=True, timeout=60, check=False)
    if b"tracefs" in r.stderr or b"unshare" in r.stderr:
        raise Skip("no tracefs here")
    eq((r.returncode, r.stderr), (0, b""), "exit code, messages")
    with open(out, "rb") as f:
        recs = parse_json(f.read())
    check_records(recs, 0, 1e11)
    before, after = (int(x) for x in r.stdout.split())  # switches before its exec are of the test; some may follow after it printed the count
    check(50 <= after - before <= len(recs) <= after + 5, f"{len(recs)} switches, of {before} .. {after}")
    eq({x["event"] for x in recs}, {"sched:sched_switch"}, "event")
    for x in recs:  # the sampled task is the previous one of the switch; the kernel renames it at its exec
        f = x["field"]
        eq(f["prev_pid"], x["tid"], f"the field prev_pid of {x}")
        check(f["prev_comm"] in (x["comm"], "gpustat") and isinstance(f["next_comm"], str) and f["next_pid"] >= 0 and
              not [k for k in f if k.startswith("common_")], f"fields {f}")
    check(sum(x["field"]["prev_state"] == 1 for x in recs) >= 50, "switches because the task slept")


@test("fields of tracepoints: -f selects some or all fields, and --filter compares them")
def _(m):
    with tracefs(m) as (shell, path):
        def run(*args):
            r = subprocess.run([*shell, machine.PROG, "sample", *args, "-O", out, "--", path, "1000"], capture_output=True,
                               timeout=60, check=False)
            eq((r.returncode, r.stderr), (0, b""), f"{args}: exit code, messages")
            with open(out, "rb") as f:
                text = f.read()
            os.unlink(out)
            return text
        out = m.path("out")
        recs = parse_json(run("-e", "raw_syscalls:sys_enter", "-o", "json", "-f", "field.id"))
        number, n = collections.Counter(x["field"]["id"] for x in recs).most_common(1)[0]
        eq(n, 1000, f"calls of {number}")
        enter = ["-e", "raw_syscalls:sys_enter", "--filter", f"id == {number}"]
        for fmt, want in (("csv", 1001), ("line", 1001), ("table", 1001)):
            text = run(*enter, "-o", fmt, "-f", "field.id,field.args").decode()
            rows = [x.replace(",", " ").split() for x in text.splitlines()]
            eq(rows[0], ["field.id", "field.args"], f"{fmt}: header")
            eq(len(rows), want, f"{fmt}: rows")
            eq({len(x) for x in rows[1:]}, {7}, f"{fmt}: each row has a number and six arguments")
        recs = parse_json(run(*enter, "-o", "json", "-f", "tid,field.common_pid,field.id"))
        check(recs and all(x["field"]["common_pid"] == x["tid"] and set(x["field"]) == {"common_pid", "id"} for x in recs),
              f"common fields: {recs[:2]}")
        recs = parse_json(run(*enter, "-o", "json", "-f", "tid"))
        check(recs and all(set(x) == {"tid"} for x in recs), f"without fields: {recs[:2]}")
        eq(len(parse_json(run("-e", "raw_syscalls:sys_enter", "--filter", "id == -7", "-o", "json"))), 0, "hits of a system call that does not exist")


@test("fields of three tracepoints: each sample and the columns of csv have the fields of their format files")
def _(m):
    events = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch"]
    with tracefs(m) as (shell, path):
        names = {}
        for e in events:
            text = subprocess.run([*shell, "cat", f"/sys/kernel/tracing/events/{e.replace(':', '/')}/format"],
                                  capture_output=True, check=True).stdout.decode()
            every = re.findall(r"^\tfield:[^;]*?(\w+)(?:\[[^;]*\])?;", text, re.M)
            names[e] = [x for x in every if not x.startswith("common_")]
            check(names[e], f"fields of {e}")
        columns = ["field." + x for x in dict.fromkeys(sum(names.values(), []))]
        for args in (["-o", "json"], ["-o", "csv", "-f", "event,field"]):
            r = subprocess.run([*shell, machine.PROG, "sample", "-e", ",".join(events), *args, "-O", m.path("out"), "--", path,
                                "1000"], capture_output=True, timeout=60, check=False)
            eq((r.returncode, r.stderr), (0, b""), f"{args}: exit code, messages")
            with open(m.path("out"), "rb") as f:
                text = f.read()
            os.unlink(m.path("out"))
            if "csv" in args:
                rows = [x.split(",") for x in text.decode().splitlines()]
                eq(rows[0], ["event", *columns], "columns")
                eq({len(x) for x in rows}, {1 + len(columns)}, "cells of each row")
                for row in rows[1:]:
                    eq([c for c, cell in zip(columns, row[1:]) if cell and c[6:] not in names[row[0]]], [], f"cells of {row}")
            else:
                recs = parse_json(text)
                check({x["event"] for x in recs} >= set(events[:2]), "both events of system calls have samples")
                for x in recs:
                    eq(sorted(x["field"]), sorted(names[x["event"]]), f"fields of {x}")


@test("page faults: each sample has the address of the fault")
def _(m):
    here()
    n = 200
    s = sample(["-e", "page-faults:u", "--sample-period", "1"], [work(), "touch", str(n), "100"])
    start = int(s.out.split()[0], 16)
    got = [int(r["addr"], 16) for r in s.recs if base(r["symbol"]) == "touch"]
    eq(got, [start + i * PAGE for i in range(n)], "addresses")


@test("breakpoint: each write is exactly one sample")
def _(m):
    here()
    event = written()
    for n in (1, 100, 3000):
        s = sample(["-e", event, "--sample-period", "1"], [work(), "write", str(n)])
        eq(len(s.recs), n, "samples")
        eq({base(r["symbol"]) for r in s.recs}, {"write_it"}, "where")
        eq({r["addr"] for r in s.recs}, {hex(address(work(), "written"))}, "addr")
        eq({r["period"] for r in s.recs}, {1}, "period")


@test("uprobe: each call is exactly one sample")
def _(m):
    here()
    for kind, flags in (("nopie", ["-no-pie", "-fno-pie"]), ("pie", ["-pie", "-fPIE"])):
        path = build(kind, flags)
        off = file_offset(path, "called")
        for event in (f"uprobe:{path}:{off:#x}", f"uprobe/path={path},offset={off:#x}/"):
            s = sample(["-e", event, "--sample-period", "1"], [path, "call", "150"])
            eq(len(s.recs), 150, f"samples of {event}")
            eq({r["symbol"] for r in s.recs} - {"called", "called+0x0"}, set(), "where")


SYSCALLS = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (long n = atol(argv[argc - 1]); n > 0; n--)
		syscall(SYS_getppid);
	return 0;
}
"""


@contextlib.contextmanager
def tracefs(m):
    """Yields a shell command that runs its arguments with tracefs mounted, and a program that makes
    a given number of system calls."""
    here()
    path = m.path("syscalls")
    r = subprocess.run(["cc", "-O1", "-x", "c", "-o", path, "-"], input=SYSCALLS.encode(), check=False, capture_output=True)
    if r.returncode:
        raise Skip("needs package gcc")
    shell = ["unshare", "-m", "sh", "-c", TRACEFS, "x"]
    r = subprocess.run([*shell, "test", "-d", "/sys/kernel/tracing/events/raw_syscalls"], capture_output=True, check=False)
    if r.returncode:
        raise Skip("no tracefs here")
    yield shell, path


@test("20 000 more samples as CSV into a file: no lseek for each write")
def _(m):
    here()
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    log, calls = m.path("strace.log"), []
    for n in (1000, 21000):
        r = subprocess.run(["strace", "-qq", "-o", log, "-e", "trace=lseek", machine.PROG, "sample", "-e", "page-faults:u",
                            "-c", "1", "-o", "csv", "-O", m.path(f"csv-{n}"), "--", work(), "touch", str(n), "0"],
                           capture_output=True, timeout=60, check=False)
        eq((r.returncode, r.stderr), (0, b""), "exit code, messages")
        with open(log, encoding="utf-8", errors="replace") as f:
            calls.append(f.read().count("lseek("))
    eq(calls[1], calls[0], "calls of lseek")


@test("a burst of 100 000 hits: samples and counted losses add up, in records, in sums and in perf.data")
def _(m):
    with tracefs(m) as (shell, path):
        out = m.path("out")
        for args in (["-o", "csv", "-f", "tid,symbol"], ["--summary=comm", "-o", "json"], ["-o", "perfdata"]):
            r = subprocess.run([*shell, machine.PROG, "sample", "-e", "raw_syscalls:sys_enter", *args, "-O", out, "--",
                                path, "100000"], capture_output=True, timeout=120, check=False)
            eq(r.returncode, 0, f"{args}: exit code ({r.stderr!r})")
            lost = re.match(rb"gpustat: (\d+) samples were lost: the ring buffers were full", r.stderr)
            check(lost or not r.stderr, f"{args}: message {r.stderr!r}")
            with open(out, "rb") as f:
                text = f.read()
            n = sum(x["samples"] for x in parse_json(text)) if "json" in args else text.count(b"\n") - 1
            n = sum(sample_sizes(out).values()) if "perfdata" in args else n
            os.unlink(out)
            lost = int(lost.group(1)) if lost else 0
            n -= text.count(b"lost") if "csv" in args else 0  # records of losses are rows too
            check(100000 <= n + lost < 101000, f"{args}: {n} samples, {lost} lost")
            # A ring has room for this number, even if gpustat does not run before the command ends;
            # in perf.data a sample also has its fields.
            check(n >= 100000 // max(2, os.cpu_count()) // (1 + ("perfdata" in args)), f"{args}: {n} samples")


def sums(shell, args, command, code=0):
    """Returns the JSON rows of sample --latency or --syscalls."""
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "out")
        r = subprocess.run([*shell, machine.PROG, "sample", *args, "-o", "json", "-O", out, *(["--", *command] if command else [])],
                           capture_output=True, timeout=60, check=False)
        eq(r.returncode, code, f"{args}: exit code ({r.stderr!r})")
        with open(out, "rb") as f:
            return parse_json(f.read())


def check_sums(recs, kind):
    for x in recs:
        eq(x["kind"], kind, "kind")
        check(x["count"] > 0 and 0 <= x["max"] <= x["total"] <= x["count"] * x["max"] + 1e-9, f"{x}")
        check(abs(x["mean"] - x["total"] / x["count"]) < 2e-9 * max(1, x["count"]), f"mean of {x}")


@test("--syscalls: has each call and its errors, for a command, a process and the machine; exit codes")
def _(m):
    with tracefs(m) as (shell, path):
        recs = sums(shell, ["--syscalls"], [path, "1000"])
        check_sums(recs, "syscall")
        eq([x["total"] for x in recs], sorted((x["total"] for x in recs), reverse=True), "the longest time first")
        mine = [x for x in recs if x["name"] == "getppid"]
        eq([(x["count"], x["errors"]) for x in mine], [(1000, 0)], f"getppid in {[x['name'] for x in recs]}")
        check("exit_group" not in [x["name"] for x in recs], "a row for a call that never returns")
        recs = sums(shell, ["--syscalls"], ["sh", "-c", "cat /nonexistent/file; exit 3"], 3)
        failed = [x for x in recs if x["name"] in ("open", "openat") and x["errors"] > 0]
        check(failed and all(x["errors"] <= x["count"] for x in recs), f"an open that failed, in {recs}")
        eq(len(sums(shell, ["--syscalls", "-k", "1"], [path, "1000"])), 1, "--top")
        with subprocess.Popen([path, "2000000000"]) as a:
            try:
                for args in (["-p", str(a.pid)], ["-a"]):
                    recs = sums(shell, ["--syscalls", *args, "--timeout", "300"], None)
                    check([x for x in recs if x["name"] == "getppid" and x["count"] > 100], f"{args}: {recs[:3]}")
                recs = sums(shell, ["--syscalls", "-p", str(a.pid), "--timeout", "300"], None)
                eq([x["name"] for x in recs], ["getppid"], "calls of one process")
            finally:
                a.kill()


@test("--latency: has each wait of a command and its children, and of a running process, in each format")
def _(m):
    with tracefs(m) as (shell, _path):
        recs = sums(shell, ["--latency"], [work(), "sleep", "50"])
        check_sums(recs, "latency")
        eq(len(recs), 1, f"tasks of a command: {recs}")
        check(recs[0]["comm"] == "work" and 50 <= recs[0]["count"] < 500, f"waits: {recs}")
        recs = sums(shell, ["--latency"], ["sh", "-c", "sleep .01; sleep .01 & wait; exit 5"], 5)
        check(sorted(x["comm"] for x in recs) == ["sh", "sleep", "sleep"] and len({x["tid"] for x in recs}) == 3, f"tasks: {recs}")
        with running() as a:
            recs = sums(shell, ["--latency", "-p", str(a.pid), "--timeout", "500"], None)
            check([x["tid"] for x in recs] in ([a.pid], []), f"waits of a process: {recs}")
            recs = sums(shell, ["--latency", "-a", "--timeout", "500"], None)
            check_sums(recs, "latency")
            eq([x["max"] for x in recs], sorted((x["max"] for x in recs), reverse=True), "the longest wait first")
            check(recs and 0 not in [x["tid"] for x in recs], "tasks of the machine")
        for fmt, first in (("line", rb"^ +COUNT +TOTAL +MEAN +MAX +TID COMM\n +\d+ +\d+(\.\d+)?[num]?s "),
                           ("table", rb"^ *tid +comm +count +total +mean +max *\n"), ("csv", rb"^time,dt,kind,.*\n,,latency,")):
            r = subprocess.run([*shell, machine.PROG, "sample", "--latency", "-o", fmt, "--", work(), "sleep", "5"],
                               capture_output=True, timeout=60, check=False)
            check(r.returncode == 0 and re.search(first, r.stderr), f"{fmt}: {r.stderr!r}")


@test("--count, --timeout and a signal end a run with events that occur faster than they are read")
def _(m):
    with tracefs(m) as (shell, path):
        out = m.path("out.json")
        with subprocess.Popen([path, "2000000000"]) as a:
            try:
                for args in (["--count", "1000"], ["--timeout", "300"], []):
                    with subprocess.Popen([*shell, machine.PROG, "sample", "-p", str(a.pid), "-e", "raw_syscalls:sys_enter",
                                           "-o", "json", "-O", out, *args], stderr=subprocess.PIPE) as p:
                        if not args:
                            machine.until("samples", lambda: os.path.exists(out) and os.path.getsize(out) > 1000)
                            p.send_signal(signal.SIGINT)
                        p.communicate(timeout=60)
                        eq(p.returncode, 0, f"{args}: exit code")
                    with open(out, "rb") as f:
                        n = len(parse_json(f.read()))
                    os.unlink(out)
                    check(n == 1000 if "--count" in args else n > 100, f"{args}: {n} samples")
            finally:
                a.kill()


@test("repeated samples have the same record with another time: JSON, CSV, sums")
def _(m):
    here()
    event, n = ["-e", written()], 5000
    recs = sample(event, [work(), "write", str(n)]).recs
    eq(len(recs), n, "JSON: samples")
    times = [r.pop("time") for r in recs]
    check(times == sorted(times) and len(set(times)) > n // 2, f"times {times[:3]}, {len(set(times))} different ones")
    few = [{k: v for k, v in r.items() if k not in ("cpu", "pid", "tid", "ip", "symbol")} for r in recs]
    check(all(r == few[0] for r in few), "values of the other keys")
    for args in (["-o", "csv"], ["-o", "csv", "-f", "time,comm,addr"], ["-o", "csv", "-f", "comm,time"], ["-o", "json", "--time", "iso"],
                 ["-o", "json", "--time", "mono"], ["-o", "csv", "--time", "none"]):
        out = m.path("out")
        r = machine.run(["sample", *event, *args, "-O", out, "--", work(), "write", str(n)])
        eq((r.code, r.err), (0, b""), f"{args}: exit code, messages")
        with open(out, encoding="utf-8") as f:
            lines = f.read().splitlines()
        os.unlink(out)
        rows = 1 if "-f" in args or "json" in args else 8
        eq(len(lines) - ("csv" in args), n * rows, f"{args}: rows")
        had = [re.search(r"(\d\d:\d\d:[0-9.]+|\d+\.\d{6})", x) for x in lines]
        had = [x[1] for x in had if x]
        check(had == sorted(had, key=lambda x: (len(x), x)), f"{args}: times in order")
        check("none" in args or len(set(had)) > n // 2, f"{args}: {len(set(had))} times")
    sums = sample([*event, "--summary=symbol,comm"], [work(), "write", str(n)]).recs
    eq({(r["by"], r["samples"]) for r in sums}, {("symbol", n), ("comm", n)}, "sums")


@test("breakpoints, uprobes: each hit is a sample, unless -F or -c is given")
def _(m):
    here()
    path, event = work(), written()
    probe = f"uprobe:{path}:{file_offset(path, 'called'):#x}"
    for args, what in ((["-e", event], "write"), (["-e", probe], "call")):
        s = sample(args, [path, what, "2000"])
        eq((len(s.recs), {r["period"] for r in s.recs}), (2000, {1}), f"{args}: samples, period")
        s = sample([*args, "-c", "500"], [path, what, "2000"])
        # each CPU counts separately
        check(0 < len(s.recs) <= 4 and {r["period"] for r in s.recs} == {500}, f"{args} -c 500: {s.recs[-1:]}")
    s = sample(["-e", event, "-F", "4000"], [path, "write", "2000"])
    check(0 < len(s.recs) < 1000, f"-F: {len(s.recs)} samples of 2000 hits")


@test("groups: each sample has the values of all members")
def _(m):
    here()
    s = sample(["-F", "2000", "-e", "{cpu-clock,page-faults}:S"], [work(), "group", "2000", "60000"])
    check(len(s.recs) > 30, f"{len(s.recs)} samples")
    last = {}
    for r in s.recs:
        eq(sorted(r["group"]), ["cpu-clock", "page-faults"], "members")
        eq(r["event"], "cpu-clock", "only the leader samples")
        for k, v in r["group"].items():
            # each CPU has separate counters
            check(isinstance(v, int) and v >= last.get((k, r["cpu"]), 0), f"{k}: {v} after {last.get((k, r['cpu']))}")
            last[k, r["cpu"]] = v
    faults = int(s.out.split()[1])
    near(sum(v for (k, _cpu), v in last.items() if k == "page-faults"), faults, 0.2 * faults,
         "page faults in the last samples")


@test("several events at once: each sample has the name of its event")
def _(m):
    here()
    event = written()
    s = sample(["-e", event, "-e", "page-faults:u",
                "--sample-period", "1"], [work(), "write", "50"])
    got = collections.Counter(r["event"] for r in s.recs)
    eq(got[event], 50, f"writes of {got}")
    check(got["page-faults:u"] > 0 and len(got) == 2, f"events {got}")


# --- how many, how often --------------------------------------------------------------------------

@test("--limit: each event and task has this number of samples, then none")
def _(m):
    here()
    for n in (1, 5, 50):
        s = sample(["-F", "1000", "--limit", str(n)], [work(), "burn", "150"])
        eq(len(s.recs), n, f"samples with --limit {n}")
    s = sample(["-F", "1000", "-e", "cpu-clock,task-clock", "--limit", "7"], [work(), "burn", "100"])
    got = collections.Counter(r["event"] for r in s.recs)
    eq(got, {"cpu-clock": 7, "task-clock": 7}, "samples of each event")
    with running() as a, running() as b:
        s = sample(["-F", "1000", "-p", f"{a.pid},{b.pid}", "--limit", "5", "--count", "10"])
        eq(collections.Counter(r["tid"] for r in s.recs), {a.pid: 5, b.pid: 5}, "samples of each task")
    event = written()
    s = sample(["-e", event, "--sample-period", "1", "--limit", "3"], [work(), "write", "20"])
    eq(len(s.recs), 3, "samples of writes")


@test("--limit with --delay: no sample before the delay, and no more than the limit after it", True)
def _(m):
    here()
    with running() as a:
        args = ["-F", "1000", "--limit", "5", "-p", str(a.pid), "--timeout", "1500"]
        eq(len(sample([*args, "-D", "-1"]).recs), 0, "samples of an event that is never enabled")
        begun = time.time()
        recs = sample([*args, "-D", "100"]).recs
        eq(len(recs), 5, "samples after a delay")
        check(recs[0]["time"] > begun + 0.1, f"the first comes {recs[0]['time'] - begun:.3f} s after the start")


@test("--reset-on-overflow: the values are counts of the group since the last sample")
def _(m):
    here()
    s = sample(["-F", "1000", "-e", "{cpu-clock,page-faults}:S", "--reset-on-overflow"],
               [work(), "group", "2000", "60000"])
    faults = int(s.out.split()[1])
    total = sum(r["group"]["page-faults"] for r in s.recs)
    check(0.8 * faults <= total <= faults + 10, f"{total} of {faults} page faults in all samples")


def carta(seed, n):
    for _i in range(n):
        seed = 16807 * seed % 0x7fffffff
        yield seed


@test("--sample-period N: one sample for N events of a software counter")
def _(m):
    here()
    n, event = 700, written()
    for period in (2, 7, 100):
        s = sample(["-e", event, "--sample-period", str(period)], [work(), "write", str(n)])
        # on a busy virtual machine the kernel sometimes misses one write of 700
        check(0 <= n // period - len(s.recs) <= 1 and {r["period"] for r in s.recs} == {period},
              f"{len(s.recs)} samples of {n} writes, one in {period}")
        s = sample(["-e", "page-faults:u", "--sample-period", str(period)], [work(), "touch", str(n), "100"])
        near(len(s.recs), (n + 60) / period, 1 + 30 / period, f"samples of page faults, one in {period}")
    # on one CPU, because each CPU has a remainder of hits without a sample
    rows = sample(["-e", event, "--sample-period", "7", "--summary=symbol"],
                  ["taskset", "-c", str(min(os.sched_getaffinity(0))), work(), "write", str(n)]).recs
    eq([(r["name"], r["samples"], r["period"]) for r in rows], [("write_it", 100, 700)], "sum with one sample for 7 writes")


def gaps(recs):
    """Returns the ns between samples, without the first interval."""
    times = [r["time"] for r in recs]
    return [round((b - a) * 1e9) for a, b in zip(times[1:], times[2:])]


@test("--period-random: periods vary within the mask, as the generator with this seed determines", True)
def _(m):
    here()
    p, mask, seed = 2000000, 0x1fffff, 42
    args = ["-e", "cpu-clock:u", "--sample-period", str(p), "--period-random", f"{mask},{seed}", "--wakeup", "1"]
    s = sample(args, [work(), "burn", "400"])
    real = gaps(s.recs)
    long = sum(x > p + mask // 4 for x in real)
    check(len(real) > 60 and long > len(real) // 4, f"{long} of {len(real)} intervals are longer than the shortest period")
    periods = {r["period"] for r in s.recs}
    check(len(periods) > 5, f"{len(periods)} different periods of {len(s.recs)}: {sorted(periods)[:5]}")
    check(all(p <= x <= p + mask for x in periods), f"periods outside the mask: {sorted(periods)[:5]}")
    eq(periods - {p} - {p + (x & mask) for x in carta(seed, 2000)}, set(), "periods that the generator does not produce")


@test("--long-period is used after a full ring, --short-period otherwise", True)
def _(m):
    here()
    first, long, short = 1000000, 3000000, 500000
    args = ["-e", "cpu-clock:u", "--sample-period", str(first), "--long-period", str(long), "--short-period",
            str(short)]
    for more, after in (([], short), (["--wakeup", "1"], long), (["--watermark", "1", "--wakeup", "2000"], short)):
        s = sample([*args, *more], [work(), "burn", "500"])
        last = gaps(s.recs)[-40:]
        check(sum(last) > 0.8 * after * len(last), f"ns between the last samples {more}, which can only be longer on a loaded machine: {last}")
        periods = collections.Counter(r["period"] for r in s.recs)
        check(set(periods) <= {first, short, long} and periods[after] > 20, f"{more}: periods in the samples {periods}")
        check(after != short or not periods[long], f"{more}: woken up although no ring was full: {periods}")


@test("--wakeup 1: each sample is printed at once; without it within 0.2 s")
def _(m):
    with writes(m, "--wakeup", "1") as (send, lines, log):
        for _ in range(5):  # each is printed although no sample follows
            send(1)
            lines(1)
    check(any("POLLIN" in x.rpartition(" = ")[2] for x in waits_of(log)), "the ring never ended a wait")
    with writes(m) as (send, lines, log):
        for _ in range(3):
            send(1)
            lines(1)
    for x in waits_of(log):
        t = re.search(r"tv_sec=(\d+), tv_nsec=(\d+)\}", x)
        check(t and int(t[1]) == 0 and int(t[2]) <= 2e8, f"a wait of 0.2 s at most: {x}")


@test("--count N and --timeout end the run")
def _(m):
    here()
    with running() as a:
        for n in (1, 10):
            r = sample(["-F", "1000", "-p", str(a.pid), "--count", str(n)])
            eq(len(r.recs), n, f"samples with --count {n}")
            recs = sample(["-F", "1000", "-p", str(a.pid), "--count", str(n), "--wakeup", "1"]).recs
            eq(len(recs), n, f"samples with --count {n} --wakeup 1")
        rows = sample(["-F", "1000", "-p", str(a.pid), "--count", "25", "--summary=comm"]).recs
        eq([x["samples"] for x in rows], [25], "sum with --count 25")
        try:
            p = clock.Driven([machine.PROG, "sample", "-F", "100", "-p", str(a.pid), "--timeout", "300"])
        except clock.Unable as e:
            raise Skip(str(e)) from None
        with p:
            p.to_end()
        eq(p.code, 0, f"exit code ({p.err!r})")
        near((p.now - p.began) / 1e9, 0.3, 0.001, "seconds")
    s = sample(["-F", "1000", "--count", "5"], [work(), "burn", "600000"], code=None, timeout=60)  # the run does not wait for the command
    eq(len(s.recs), 5, "samples of a command with -c 5")
    sample(["-F", "1000", "--timeout", "200"], [work(), "burn", "600000"], code=None, timeout=60)


# --- the command and its control ------------------------------------------------------------------

@test("--control ends the run; -a with a command ends with the command", True)
def _(m):
    here()
    s = sample(["-a", "-F", "500"], ["sleep", "0.3"], timeout=60)
    check(s.recs, "no samples of the machine while a command runs")
    ours, theirs = os.pipe()
    heard, said = os.pipe()
    with running() as a:
        ran = [cpu_of(a.pid)]  # CPU times before and after each word

        def say(word):
            ran.append(cpu_of(a.pid))
            os.write(theirs, word)
            check(select.select([heard], [], [], 30)[0] and os.read(heard, 9) == b"ack\n", f"no answer to {word!r}")
            ran.append(cpu_of(a.pid))
        try:
            with started(["sample", "-F", "500", "-p", str(a.pid), "--summary=comm", "-o", "json", "--control",
                          f"fd:{ours},{said}"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[ours, said]) as p:
                wait_asleep(p.pid)
                ran.append(cpu_of(a.pid))
                for word in (b"disable\n", b"enable\n", b"stop\n"):
                    until_it_ran(a.pid, 0.25)
                    say(word)
                out, err = p.communicate(timeout=60)
            eq((p.returncode, err), (0, b""), "exit code, messages")
            n = sum(r["samples"] for r in parse_json(out))
            least, most = ran[2] - ran[1] + ran[6] - ran[5], ran[3] - ran[0] + ran[7] - ran[4]
            check(250 * least < n < 600 * most, f"{n} samples of {least} to {most} s of two times 250 ms, at 500 Hz: {ran}")
        finally:
            for fd in (ours, theirs, heard, said):
                os.close(fd)


@test("commands: exit status, 126, 127, signals")
def _(m):
    here()
    for command, code in ((["/no/such/x"], 127), (["no-such-command-x"], 127), (["/tmp"], 126),
                          (["sh", "-c", "exit 7"], 7),
                          (["sh", "-c", "kill -9 $$"], 137), (["true"], 0)):
        for args in ([], ["-o", "folded"], ["--summary"], ["-a"]):
            r = machine.run(["sample", "-F", "100", *args, "--", *command], timeout=60)
            eq(r.code, code, f"{args} {command} ({r!r})")
    r = machine.run(["sample", "--"], timeout=60)
    eq(r.code, 2, f"no command ({r!r})")


@test("SIGINT and SIGTERM to gpustat are passed to the command, and the results are printed")
def _(m):
    here()
    for sig in (signal.SIGINT, signal.SIGTERM):
        for args in ([], ["--summary"], ["-o", "folded"]):
            out = m.path(f"out-{sig}-{len(args)}-{args and args[0]}")
            with started(["sample", "-F", "500", "-O", out, *args, "--", work(), "burn", "600000"],
                         stderr=subprocess.PIPE) as p:
                until_it_ran(command_of(p.pid), 0.1)
                p.send_signal(sig)
                err = p.communicate(timeout=60)[1]
            with open(out, "rb") as f:
                text = f.read()
            check(b"burn" in text, f"{sig!r} {args}: no results: {text[-200:]!r} {err!r}")
            eq(p.returncode, 128 + sig, f"exit code after {sig!r} with {args} ({err!r})")
        with running() as a, started(["sample", "-F", "500", "-p", str(a.pid), "--summary"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE) as p:
            wait_asleep(p.pid)
            until_it_ran(a.pid, 0.1)
            p.send_signal(sig)
            text, err = p.communicate(timeout=60)
            check(b"work" in text or b"burn" in text, f"-p: no results: {text!r} {err!r}")
            eq(p.returncode, 0, f"exit code of -p after {sig!r} ({err!r})")


@test("the command keeps its standard streams")
def _(m):
    here()
    r = machine.run(["sample", "-F", "1000", "-o", "json", "--", "sh", "-c", "echo out; echo err >&2; cat"],
                  stdin=b"in\n")
    eq(r.out, b"out\nin\n", "stdout")
    check(b"err\n" in r.err, "stderr")


@test("--delay, --control and -G", True)
def _(m):
    here()
    begun = time.time()
    s = sample(["-F", "1000", "-D", "100"], [work(), "burn", "1000"])
    check(s.recs and s.recs[0]["time"] > begun + 0.1, f"{len(s.recs)} samples of 1 s after 100 ms")
    fd = os.open(m.write("ctl", "disable\n"), os.O_RDONLY)
    try:
        s = sample(["-F", "1000", "-D", "-1", "--control", f"fd:{fd}"], [work(), "burn", "100"], pass_fds=[fd])
        eq(s.recs, [], "samples before enable")
    finally:
        os.close(fd)
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(root + "/cgroup.procs") and os.path.exists(root + "/cgroup.controllers"):
            group = os.path.join(root, f"gpustat-sample-{os.getpid()}")
            with contextlib.suppress(OSError):
                os.mkdir(group)
            if not os.path.isdir(group):
                break
            with running() as a, running() as b:
                try:
                    with open(group + "/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(str(a.pid))
                    s = sample(["-F", "500", "-G", os.path.basename(group), "--count", "20"])
                    eq({r["pid"] for r in s.recs}, {a.pid}, "sampled processes of the cgroup")
                    with open(root + "/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(str(a.pid))
                finally:
                    a.kill()
                    a.wait()
                    os.rmdir(group)
            break


@test("many short processes: each sample has the right comm")
def _(m):
    here()
    s = sample(["-F", "5000"],
               ["sh", "-c", "i=0; while [ $i -lt 60 ]; do /bin/true; " + f"{work()} burn 2; i=$((i+1)); done"])
    for r in s.recs:
        if base(r["symbol"]) in ("burn", "main") and r["module"] == work():
            eq(r["comm"], "work", "comm")
        if r["module"] and r["module"].endswith("/true"):
            eq(r["comm"], "true", "comm")
    check(len({r["pid"] for r in s.recs}) > 60, f"{len({r['pid'] for r in s.recs})} processes")
    eq({r["comm"] for r in s.recs} - {"sh", "dash", "true", "work", "gpustat", "bash"}, set(), "comms")


@test("--live: shows a screen until q or a signal, and restores the terminal, also a narrow one")
def _(m):
    here()
    for size, end in (((24, 80), b"q"), ((6, 30), signal.SIGTERM)):
        fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        was, text = termios.tcgetattr(slave), b""
        with subprocess.Popen([machine.PROG, "sample", "--live", "-a", "-e", "context-switches"], stdin=slave, stdout=slave,
                              stderr=slave, env={**os.environ, "TERM": "xterm"}) as p:
            while b"SYMBOL" not in text:
                text += os.read(fd, 4096)
            if isinstance(end, bytes):
                os.write(fd, end)
            else:
                p.send_signal(end)
            while b"[?1049l" not in text:
                text += os.read(fd, 4096)
            eq(p.wait(timeout=60), 0, f"exit status ({text[-200:]!r})")
        check(text.startswith(b"\x1b[?1049h\x1b[?25l"), f"the screen begins: {text[:100]!r}")
        check(b"samples of" in text and b"\x1b[?25h\x1b[?1049l" in text, f"the screen: {text[-300:]!r}")
        eq(termios.tcgetattr(slave), was, "modes of the terminal")
        os.close(fd)
        os.close(slave)
    r = machine.run(["sample", "--live", "-a"])
    eq((r.code, b"requires a full-screen terminal" in r.err), (2, True), "no terminal")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_sample.py PROG")
    sys.exit(main(sys.argv[1]))
