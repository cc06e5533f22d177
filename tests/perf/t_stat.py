#!/usr/bin/env python3
# t_stat.py PROG - tests how `gpustat stat` runs a command: its exit status and signals are passed
# on, results are written to the right destination, counting starts and ends in time (-D, --timeout,
# -r, intervals), and --control switches it. Tests of counts are skipped if the kernel does not
# allow counting.
# Prints TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import contextlib
import math
import os
import pty
import re
import select
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import clock  # noqa: E402
import machine  # noqa: E402
from machine import (check, command_of, cpu_of, eq, most_by_perf, near, package,  # noqa: E402
                     until_it_ran, wait_asleep)
from statlib import (NOTHING, Running, blocking, driven, machine_wide, main, measure,  # noqa: E402
                     one, refused, rows_of, says, started, stat, test, uprobe, value, wide, within,
                     work, working)


# --- the command ----------------------------------------------------------------------------------

@test("command: its exit status is passed on")
def _(m):
    for n in (0, 1, 3, 77, 255):
        eq(stat("-e", "task-clock", *work("exit", n)).code, n, f"exit {n}")


@test("command: its end by signal N is exit status 128+N")
def _(m):
    for n in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGUSR1):
        eq(stat("-e", "task-clock", *work("raise", int(n))).code, 128 + n, f"signal {n}")


@test("command: one that does not exist is exit status 127, one that cannot be executed 126, each with a message", counts=False)
def _(m):
    says(stat("-e", "task-clock", "--", "/absent/cmd"), 127, "/absent/cmd", "No such file")
    says(stat("-e", "task-clock", "--", "no-such-command-here"), 127, "no-such-command-here")
    plain = m.write("plain", "text")
    os.chmod(plain, 0o644)
    says(stat("-e", "task-clock", "--", plain), 126, plain)
    says(stat("-e", "task-clock", "--", m.base), 126, m.base)
    says(stat("-e", "task-clock", "--"), 2, "command")


@test("command: a command that does not exist is reported once, also with -r N", counts=False)
def _(m):
    r = stat("-r", 3, "-e", "task-clock", "--", "/absent/cmd")
    says(r, 127, "/absent/cmd")
    eq(r.err.count(b"No such file"), 1, "messages")


@test("command: found in PATH as by a shell, and keeps its arguments, input, output and environment")
def _(m):
    r = stat("-e", "task-clock", "sh", "-c", 'read x; echo "$x $1 $V"; echo err >&2', "-", "-e", stdin=b"in\n",
             env={**os.environ, "V": "v"})
    eq((r.code, r.out), (0, b"in -e v\n"), f"exit code, output ({r!r})")
    check(r.err.startswith(b"err\n") and b"task-clock" in r.err, f"messages {r.err!r}")


@test("command: a command with a name that begins like a count or an interval is run")
def _(m):
    os.chmod(m.write("2x", "#!/bin/sh\nsleep 0.5\n"), 0o755)
    os.chmod(m.write("9999999999", "#!/bin/sh\nexit 7\n"), 0o755)
    path = {**os.environ, "PATH": m.base + ":" + os.environ["PATH"]}
    r = stat("-j", "-e", "task-clock", 0.1, "2x", env=path)
    check(len(rows_of(r.err)) > 3, f"records of all intervals, not of two: {r.err!r}")
    r = stat("-j", "-e", "task-clock", 9999999999, env=path)
    eq((r.code, len(rows_of(r.err))), (7, 1), "exit code, records")


@test("command: it has the signals and descriptors of gpustat's caller")
def _(m):
    show = 'grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status; ls -l /proc/self/fd | grep -c -E "socket|perf_event"'
    plain = subprocess.run(["sh", "-c", show], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    r = stat("-e", "task-clock,page-faults", "--", "sh", "-c", show)
    eq(r.out, plain.stdout, "signals and open descriptors")


@test("command: its end is noticed although gpustat's parent blocks SIGCHLD")
def _(m):
    r = stat("-j", "-e", "task-clock", *work("exit", 3), timeout=60, preexec_fn=blocking(signal.SIGCHLD))
    eq((r.code, len(rows_of(r.err))), (3, 1), "exit code, records")


@test("command: signals that gpustat's parent ignored or blocked are ignored or blocked in the command")
def _(m):
    def ignoring():
        for s in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(s, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGINT])
    show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    plain = subprocess.run(show, stdout=subprocess.PIPE, preexec_fn=ignoring, timeout=60)
    r = stat("-e", "task-clock", "--", *show, preexec_fn=ignoring, timeout=60)
    eq(r.out, plain.stdout, "signals of the command, as with nohup")


@test("command: a text file without #! is run by sh, as shells and perf do, or refused with a message")
def _(m):
    text = m.write("script", "exit 7\n")
    os.chmod(text, 0o755)
    r = stat("-e", "task-clock", "--", text)
    if r.code != 7:
        says(r, 126, "format")


@test("output: results are printed on stderr if a command runs, otherwise on stdout")
def _(m):
    r = stat("-j", "-e", "task-clock", *work("exit", 0))
    eq((r.out, len(rows_of(r.err))), (b"", 1), "of a command")
    if wide():
        r = stat("-j", "-e", "task-clock", "-a", "-w", "0.02")
        eq((r.err, len(rows_of(r.out))), (b"", 1), "messages and records of the machine")


@test("output: -O appends, creates the file with mode 0644, and prints nothing on both streams")
def _(m):
    path, old = m.path("out"), os.umask(0o022)
    os.umask(old)
    for n in (1, 2):
        r = stat("-j", "-O", path, "-e", "task-clock", *work("exit", 0))
        eq((r.code, r.out, r.err), (0, b"", b""), "streams")
        with open(path, "rb") as f:
            eq(len(rows_of(f.read())), n, "records in the file")
    eq(os.stat(path).st_mode & 0o777, 0o644 & ~old, "mode")


@test("output: --log-fd 1 is stdout and 2 is stderr, also with a command")
def _(m):
    for fd, stream in ((1, "out"), (2, "err")):
        r = stat("-j", "--log-fd", fd, "-e", "task-clock", *work("exit", 0))
        eq(r.code, 0, f"exit code ({r!r})")
        check(b'"task-clock"' in getattr(r, stream), f"--log-fd {fd}: {r!r}")


@test("output: --log-fd writes to that descriptor; a closed descriptor is an error")
def _(m):
    a, b = os.pipe()
    try:
        r = stat("-j", "--log-fd", b, "-e", "task-clock", *work("exit", 0), pass_fds=[b])
        eq((r.code, r.out, r.err), (0, b"", b""), "streams")
        eq(len(rows_of(os.read(a, 4096))), 1, "records")
    finally:
        os.close(a)
        os.close(b)
    mark = m.path("ran")
    says(stat("--log-fd", 199, "-e", "task-clock", "--", "touch", mark), 1, "Bad file descriptor")
    refused([["--log-fd", 2, "-O", mark]])
    check(not os.path.exists(mark), "the command ran although its results could not be written")


@test("SIGINT to gpustat alone: the command gets it once, its exit status is passed on, results are printed")
def _(m):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with started("-j", "-e", "task-clock", *work("count", int(sig), "exit", 5)) as p:
            p.until(b"ready\n")
            os.kill(p.pid, sig)
            r = p.end()
            eq((r.code, r.out), (5, b"got 1\n"), f"{sig.name}: exit code, output of the command")
            eq(len(rows_of(r.err)), 1, "records")


@test("SIGINT from a terminal: the command gets it once, not twice")
def _(m):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(machine.PROG, ["gpustat", "stat", "-j", "-e", "task-clock", *work("count", 2, "exit", 6)])
    text, end, sent = b"", time.monotonic() + 60, False
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                b = os.read(fd, 4096)
            except OSError:  # its other end is closed
                break
            text += b
        if b"ready" in text and not sent:
            os.write(fd, b"\x03")
            sent = True
    os.close(fd)
    with contextlib.suppress(ProcessLookupError):
        if time.monotonic() >= end:
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    eq(os.waitstatus_to_exitcode(status), 6, f"exit code ({text!r})")
    check(b"got 1\r\n" in text and b'"task-clock"' in text, f"on the terminal: {text!r}")


@test("SIGINT without a command: ends the measurement, counts are printed, exit 0")
def _(m):
    with working("spin", 3000) as w:
        w.until(b"ready\n")
        w.go()
        for args in (["-p", w.pid], ["-p", w.pid, "-I", "10000"]):
            before = cpu_of(w.pid)
            with started("-j", "-e", "task-clock", *args) as p:
                wait_asleep(p.pid)
                until_it_ran(w.pid, 0.1)
                os.kill(p.pid, signal.SIGINT)
                r = p.end()
                eq(r.code, 0, f"exit code ({r!r})")
                most = most_by_perf(cpu_of(w.pid) - before)
                check(0.09e9 < value(rows_of(r.out), "task-clock") <= most * 1e9, f"ns of 0.1 s, at most {most}: {r.out!r}")


@test("no event can be counted: exit 4 if the command succeeded, else the command's exit status")
def _(m):
    for n, want in ((0, 4), (1, 1), (9, 9)):
        r = stat("-j", "-e", NOTHING, *work("exit", n))
        eq(r.code, want, f"exit code if that of the command is {n} ({r!r})")
        row = rows_of(r.err)[0]
        eq(row["value"], None, "value")
        check(row["reason"].startswith("not supported"), f"reason {row['reason']!r}")
    eq(stat("-e", NOTHING, *work("raise", 9)).code, 137, "exit code if the command was killed")
    eq(stat("-e", f"{NOTHING},task-clock", *work("exit", 0)).code, 0, "exit code if one event can be counted")
    eq(stat("-r", 3, "-e", NOTHING, *work("exit", 0)).code, 4, "repeated")
    eq(stat("-a", "-e", NOTHING, "-w", "0.02").code, 4, "without a command")


# --- time -----------------------------------------------------------------------------------------

@test("start: counting begins at exec, so that each run has the same count")
def _(m):
    got = [value(measure("-e", "page-faults", *work("exit", 0)), "page-faults") for _ in range(5)]
    check(max(got) - min(got) <= 3, f"page faults of one static program {got}")
    check(max(got) < 100, f"page faults of a small static program {got}")


@test("start: elapsed is never less than task-clock, in 300 runs", alone=True)
def _(m):
    argv, wrong = [machine.PROG, "stat", "-j", "-e", "task-clock", *work("exit", 0)], []
    for _ in range(300):
        p = subprocess.run(argv, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
        r = rows_of(p.stderr)[0]
        if r["value"] / 1e9 > r["dt"] + 1e-6:  # dt is cut to microseconds
            wrong.append((r["dt"], r["value"]))
    check(not wrong, f"{len(wrong)} of 300: {wrong[:3]}")


@test("-r N: prints the mean and, as perf, the standard error as a percentage of the mean")
def _(m):
    count, e = m.path("count"), uprobe()
    script = f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) >{count}; exec {work()[1]} call $((n * n * 100))"
    row = one("-r", 6, "--no-inherit", "-e", e, "--", "sh", "-c", script)
    want = [n * n * 100 for n in range(6)]
    mean = statistics.mean(want)
    near(row["value"], mean, 0.5, "mean")
    eq(row["repeats"], 6, "repeats")
    near(row["deviation"], 100 * statistics.stdev(want) / math.sqrt(6) / mean, 0.01, "deviation in percent")


@test("-r N: a command that ends with 126 or 127 has results like others")
def _(m):
    for n in (126, 127):
        r = stat("-j", "-r", 2, "-e", "task-clock", *work("exit", n))
        eq((r.code, len(rows_of(r.err))), (n, 1), f"exit code and records of a command that ends with {n}")


@test("-r N: the exit status is that of the last run; a signal ends the repetition")
def _(m):
    eq(stat("-r", 3, "-e", "task-clock", *work("exit", 7)).code, 7, "exit code")
    r = stat("-j", "-r", 1, "-e", "task-clock", *work("exit", 0))
    eq((r.code, len(rows_of(r.err))), (0, 1), "once")
    for n in ("0", "1000"):
        with started("-j", "-r", n, "-e", "task-clock", *work("sleep", 30000)) as p:
            command_of(p.pid)
            os.kill(p.pid, signal.SIGINT)
            r = p.end()
            eq(r.code, 130, f"-r {n}: exit code ({r!r})")
            eq(len(rows_of(r.err)), 1, "records")
    says(stat("-r", 3, "-e", "task-clock", "-a"), 2, "command")


def delayed(inject, *args):
    """Runs stat with this delay of a system call, and sends SIGTERM during the delay, when stat
    handles signals. Returns how it ended."""
    argv = [package("strace", "strace"), "-f", "-o", "/dev/null", "-e", f"inject={inject}", machine.PROG, "stat", "-j", "-e", "task-clock", *args]
    with Running(argv) as p:
        end = time.monotonic() + 60
        while True:
            check(p.p.poll() is None and time.monotonic() < end, "stat does not handle signals")
            with contextlib.suppress(OSError, StopIteration, IndexError):
                pid = int(open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii").read().split()[0])
                with open(f"/proc/{pid}/status", encoding="ascii") as f:
                    caught = int(next(x for x in f if x.startswith("SigCgt")).split()[1], 16)
                if caught >> (signal.SIGHUP - 1) & caught >> (signal.SIGCHLD - 1) & 1:  # SIGCHLD is caught only by the process that starts the command
                    break
            time.sleep(0.005)
        time.sleep(0.1)
        os.kill(pid, signal.SIGTERM)
        return p.end()


@test("command: a signal during its start ends it", alone=True)
def _(m):
    for inject, args in (("clone:delay_exit=700000", []), ("clone:delay_enter=700000", ["-r", 0]), ("clone:delay_exit=700000:when=1", ["-r", 0]),
                         ("perf_event_open:delay_exit=700000:when=1", []), ("perf_event_open:delay_exit=700000:when=1", ["-r", 0])):
        r = delayed(inject, *(str(a) for a in args), *work("sleep", 600000))
        eq(r.code, 143, f"{inject} {args}: {r!r}")


@test("-r N: a signal is sent by pidfd, so that it never reaches another process with the same PID", alone=True)
def _(m):
    for error in ("", "ENOSYS", "EPERM"):  # errors of an old kernel, and of a container
        log = m.path("signals" + error)
        inject = ["-e", f"inject=pidfd_send_signal:error={error}"] if error else []
        argv = [package("strace", "strace"), "-f", "-o", log, "-e", "trace=kill,pidfd_send_signal", *inject]
        with Running([*argv, machine.PROG, "stat", "-r", "2", "--timeout", "300", "-e", "task-clock", *work("sleep", 600000)]) as p:
            eq(p.end().code, 143, f"exit code, {error}")
        with open(log, encoding="utf-8") as f:
            # strace splits a call in two lines if another process is scheduled during it
            sent = [re.sub(r"\d+,", "N,", x) for x in re.findall(r"^\d+ +(\w+\(.*SIGTERM.*?)(?:\) += | <unfinished)", f.read(), re.M)]
        eq(sent, (["pidfd_send_signal(N, SIGTERM, NULL, 0"] + ["kill(N, SIGTERM"] * bool(error)) * 2, f"system calls that sent SIGTERM, {error}")


@test("-r N: if no further run can be started, the results of the earlier runs are printed")
def _(m):
    with started("-j", "-r", "0", "-e", "task-clock", *work("go", 1)) as p:
        for i in range(3):
            p.until(b"ready\n")
            if i == 2:
                others = [int(x) for x in open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii").read().split()]
                again = [x for x in others if os.path.samefile(f"/proc/{x}/exe", f"/proc/{p.pid}/exe")]
                eq(len(again), 1, "child processes that start the command")
                os.kill(again[0], signal.SIGKILL)
            p.go()
        r = p.end()
    said, rows = r.err.split(b"\n", 1)
    eq((r.code, said), (1, b"gpustat: cannot start a process: Broken pipe"), f"exit code, message ({r!r})")
    eq([x["repeats"] for x in rows_of(rows)], [3], "repeats")


@test("-r N: if the command was removed, the results of the earlier runs are printed")
def _(m):
    prog, mark = m.path("goes"), m.path("once")
    with open(prog, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\n[ -e {mark} ] && rm {prog}\n: > {mark}\nsleep 0.1\n")
    os.chmod(prog, 0o755)
    r = stat("-j", "-r", 4, "-e", "task-clock,duration_time", "--", prog)
    said, rows = r.err.split(b"\n", 1)
    rows = rows_of(rows)
    eq((r.code, [x["repeats"] for x in rows]), (127, [2, 2]), f"exit code, repeats ({said!r})")
    check(0 < value(rows, "task-clock") < 1e10 and value(rows, "duration_time") >= 1e8, f"means of two runs of 100 ms: {rows}")


@test("-r N: --timeout ends each run, and kills a command that ignores SIGTERM; signals are passed to the command", alone=True)
def _(m):
    r = stat("-j", "-r", 2, "--timeout", 100, "-e", "task-clock", "--", "sh", "-c", "trap '' TERM; exec sleep 600", timeout=60)
    check(r.took >= 2.2, f"{r.took} s for two runs of 100 ms, each with a second before SIGKILL")
    eq((r.code, [x["repeats"] for x in rows_of(r.err)]), (137, [2]), f"exit code, repeats ({r!r})")
    with started("-j", "-r", 0, "-e", "task-clock", "--", "sh", "-c", "trap 'echo got; exit 3' HUP; echo ready; while :; do sleep 0.05; done") as p:
        p.until(b"ready\n")
        os.kill(p.pid, signal.SIGHUP)
        r = p.end()
    eq((r.code, r.out), (3, b"got\n"), f"exit code, output of the command ({r!r})")


@test("--pre and --post: sh runs them before and after each run, without counting; a failure ends the runs")
def _(m):
    log = m.path("log")
    args = ["--pre", f"echo pre >>{log}; ls /usr >/dev/null", "--post", f"echo post >>{log}", "-r", 3, "-e", "page-faults"]
    command = ["--", "sh", "-c", f"echo run >>{log}"]
    rows = rows_of(stat("-j", *args, *command).err)
    with open(log, encoding="ascii") as f:
        eq(f.read().split(), ["pre", "run", "post"] * 3, "order")
    eq([(x["repeats"], x["running"]) for x in rows], [(3, 100.0)], "repeats, running")
    alone = value(measure("-e", "page-faults", *work("exit", 0)), "page-faults")
    with_hook = value(measure("--pre", "ls -lR /usr/include >/dev/null", "-e", "page-faults", *work("exit", 0)), "page-faults")
    check(abs(alone - with_hook) <= 5, f"page faults: {alone}, with --pre {with_hook}")
    says(stat("--pre", "exit 7", "-e", "page-faults", *command), 7, "--pre COMMAND failed: exit code 7")
    r = stat("--post", "exit 8", "-r", 3, "-j", "-e", "page-faults", *command)
    eq(r.code, 8, f"--post that fails ({r!r})")
    says(stat("--pre", "true", "-e", "page-faults"), 2, "--pre and --post require a command")


@test("-r N: with --per-thread each record has the number of repetitions")
def _(m):
    rows = measure("-r", 4, "--per-thread", "-e", "page-faults", *work("exit", 0))
    eq([r.get("repeats") for r in rows], [4], "repeats of each record")


@test("-D: counting begins after the delay, and dt is the time since then")
def _(m):
    with working("spin", 600000) as w:
        w.until(b"ready\n")
        w.go()
        with started("-j", "-D", 200, "-I", 50, "-e", "task-clock", "-p", w.pid) as p:
            begun = time.monotonic()
            p.until(b"\n")
            took = time.monotonic() - begun
            until_it_ran(w.pid, 0.05)
            os.kill(p.pid, signal.SIGINT)
            rows = rows_of(p.first + p.end().out)
        check(took >= 0.2, f"the first record after {took} s")
        check(0.04e9 < sum(r["value"] or 0 for r in rows) <= 1.001e9 * sum(r["dt"] for r in rows), f"{rows}")
    row = one("-D", 600000, "-e", "task-clock", *work("exit", 0))
    eq((row["value"], row["dt"]), (None, None), "value and dt of a command that ended before")
    if wide():
        rows, waits, _took = driven("-D", 200, "-I", 100, "-c", 3, "-a", "-e", "cpu-clock")
        for got, want in zip(waits, (0.2, 0.3, 0.4, 0.5)):
            near(got, want, 0.001, "time of the wait")
        for r in rows:
            near(r["dt"], 0.1, 0.001, "dt")
        eq((len(rows), len(waits)), (3, 4), "records, waits")


@test("--timeout: ends the measurement at that time")
def _(m):
    r = stat("-j", "--timeout", 200, "-e", "task-clock", *work("sleep", 600000))
    eq(r.code, 143, f"exit code of a command that the timeout ended ({r!r})")
    within(rows_of(r.err)[0]["dt"], 0.2, r.took, "dt")
    if wide():
        rows, waits, _took = driven("--timeout", 150, "-a", "-e", "cpu-clock")
        near(rows[0]["dt"], 0.15, 0.001, "dt without a command")
        eq(len(waits), 1, "waits")


@test("--timeout: the command gets one SIGTERM, and gpustat does not use CPU time until it has ended", alone=True)
def _(m):
    # the command restarts its sleep after a signal, so that repeated signals would never let it end
    with started("-e", "task-clock", "--timeout", "100", *work("count", 15, "sleep", 200, "exit", 3)) as p:
        time.sleep(1)
        with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
            used = sum(int(x) for x in f.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK") \
                if p.p.poll() is None else 0
        check(used < 0.2, f"{used:.2f} s of CPU time of gpustat in a second of waiting")
        r = p.end()
    eq((r.code, r.out), (3, b"ready\ngot 1\n"), "exit code, signals that the command got")


@test("-n: no event is counted, only the time is printed")
def _(m):
    r = stat("-j", "-n", *work("sleep", 100))
    eq(r.code, 0, f"exit code ({r!r})")
    rows = rows_of(r.err)
    eq([x["event"] for x in rows], ["duration_time"], "events")
    within(rows[0]["value"] / 1e9, 0.1, r.took, "seconds")


@test("defaults: software events that this machine counts; -d and -dd have more")
def _(m):
    names = [[r["event"] for r in measure(*d, *work("exit", 0))] for d in ([], ["-d"], ["-d", "-d"])]
    for want in "task-clock context-switches cpu-migrations page-faults".split():
        check(want in names[0], f"no {want} in {names[0]}")
    for few, more in zip(names, names[1:]):
        check(set(few) < set(more) and len(set(more)) == len(more), f"{few}, then {more}")
    rows = measure(*work("exit", 0))
    check(any(r["value"] for r in rows), f"{rows}")


@test("intervals: -I MS, -i T and a word have the same effect; COUNT, -c and --interval-count end the run")
def _(m):
    machine_wide()
    for args in (["-I", "50", "--interval-count", "3"], ["-i", "0.05", "-c", "3"], ["0.05", "3"], ["50ms", "3"],
                 ["-I", "50ms", "-c", "3"]):
        rows, _waits, _took = driven("-a", "-e", "cpu-clock", *args)
        eq(len(rows), 3, f"records of {args}")
        for r in rows:
            near(r["dt"], 0.05, 0.001, f"dt of {args}")
    rows = measure("-e", "task-clock", "0.05", *work("spin", 180))
    within(sum(r["value"] or 0 for r in rows) / 1e9, 0.8 * 0.18, sum(r["dt"] for r in rows), "seconds over all intervals")
    for a, b in zip(rows, rows[1:]):
        check(b["time"] > a["time"], f"records of a command, in order: {rows}")


@test("intervals: a run with COUNT intervals lasts exactly COUNT intervals")
def _(m):
    machine_wide()
    rows, waits, took = driven("-a", "-e", "cpu-clock", "-I", 300, "--interval-count", 2)
    near(took, 0.6, 0.001, "seconds")
    eq((len(rows), len(waits)), (2, 2), "records, waits")


@test("intervals: --interval-count ends the run after this number of records, also with a command")
def _(m):
    with started("-j", "--log-fd", 1, "-I", 50, "--interval-count", 3, "-e", "dummy", *work("go", 1, "nap", 200)) as p:
        for _ in range(3):
            p.until(b"}\n")
        p.go()
        r = p.end()
    eq((r.code, r.out, r.err), (0, b"", b""), "exit code, more records")


@test("intervals: a count without an interval uses intervals of 1 s, as the device commands do")
def _(m):
    machine_wide()
    for args in (["-c", 2], ["--interval-count", 2]):
        rows, _waits, _took = driven("-a", "-e", "cpu-clock", *args)
        eq(len(rows), 2, f"records of {args}")
        for r in rows:
            near(r["dt"], 1, 0.001, f"dt of {args}")
    refused([["-c", 2, "-r", 2, "-e", "task-clock"]], command=work("exit", 0))


@test("intervals: times in milliseconds may have a fraction, as in perf")
def _(m):
    machine_wide()
    for args in (["-I", "20.5", "-c", 1], ["--timeout", "20.5"], ["--timeout", ".0205s"]):
        near(driven("-a", "-e", "cpu-clock", *args)[0][0]["dt"], 0.0205, 0.0001, f"dt of {args}")


@test("intervals: do not drift: 200 of 10 ms take 2.00 s, at multiples of 10 ms; those missed are skipped")
def _(m):
    machine_wide()
    args = ("-a", "-e", "cpu-clock", "-I", 10, "--interval-count", 200)
    rows, waits, took = driven(*args, {k: k % 5 * 0.001 for k in range(199)})  # late by less than half an interval, so that none is skipped
    eq((len(rows), machine.on_grid([w * clock.NS for w in waits], 0.01)), (200, list(range(200))), "records, samples")
    near(took, 2, 0.001, "total time in seconds")
    near(sum(r["dt"] for r in rows), 2, 0.001, "the sum of dt")
    rows, waits, _took = driven(*args, {10: 0.0045, 20: 0.0055, 30: 0.0105, 40: 1})
    ks = machine.on_grid([w * clock.NS for w in waits], 0.01)
    eq([b - a for a, b in zip(ks, ks[1:])], [{20: 2, 30: 2, 40: 101}.get(k, 1) for k in range(199)], "intervals from sample to sample")
    check(min(r["dt"] for r in rows) >= 0.00499, "shortest interval")


# --- control --------------------------------------------------------------------------------------

@test("--control fd: enable, disable, ping and stop work and are acknowledged", alone=True)
def _(m):
    cmd_r, cmd_w = os.pipe()
    ack_r, ack_w = os.pipe()

    def say(word):
        os.write(cmd_w, word + b"\n")
        check(select.select([ack_r], [], [], 60)[0], f"no answer to {word!r}")
        eq(os.read(ack_r, 100), b"ack\n", f"answer to {word!r}")
    try:
        with working("spin", 600000) as w:
            w.until(b"ready\n")
            w.go()
            with started("-j", "-D", "-1", "--control", f"fd:{cmd_r},{ack_w}", "-e", "task-clock,page-faults", "-p",
                         str(w.pid), pass_fds=[cmd_r, ack_w]) as p:
                say(b"ping")
                until_it_ran(w.pid, 0.1)
                outer = cpu_of(w.pid)
                say(b"enable")
                inner = cpu_of(w.pid)
                until_it_ran(w.pid, 0.3)
                inner = cpu_of(w.pid) - inner
                say(b"disable")
                outer = most_by_perf(cpu_of(w.pid) - outer)
                until_it_ran(w.pid, 0.2)
                os.write(cmd_w, b"nonsense\n")
                check(not select.select([ack_r], [], [], 0.1)[0], "an unknown word was acknowledged")
                check(p.p.poll() is None, "an unknown word ended the run")
                say(b"stop")
                r = p.end()
        eq(r.code, 0, f"exit code ({r!r})")
        got = value(rows_of(r.out), "task-clock") / 1e9
        check(inner - 0.01 <= got <= outer, f"{got} s counted of {inner} to {outer} that it was enabled")
    finally:
        for fd in (cmd_r, cmd_w, ack_r, ack_w):
            os.close(fd)


@test("--control fifo: the same words work over named pipes", alone=True)
def _(m):
    cmd, ack = m.path("cmd"), m.path("ack")
    os.mkfifo(cmd)
    os.mkfifo(ack)
    a = os.open(ack, os.O_RDWR)
    with started("-j", "-D", "-1", "--control", f"fifo:{cmd},{ack}", "-e", "task-clock", *work("spin", 600)) as p:
        pid, ran = command_of(p.pid), []
        c = os.open(cmd, os.O_WRONLY)
        for word in (b"enable\n", b"disable\n"):
            until_it_ran(pid, 0.1)
            ran.append(cpu_of(pid))
            os.write(c, word)
            check(select.select([a], [], [], 30)[0], f"no answer to {word!r}")
            eq(os.read(a, 100), b"ack\n", "answer")
            ran.append(cpu_of(pid))
        os.close(c)
        os.close(a)
        r = p.end()
    eq(r.code, 0, f"exit code ({r!r})")
    got = value(rows_of(r.err), "task-clock") / 1e9
    check(ran[2] - ran[1] - 0.01 <= got <= most_by_perf(ran[3] - ran[0]), f"{got} s counted, of times {ran}")


@test("--control: several words in one write, and one word in two writes, are understood")
def _(m):
    cmd_r, cmd_w = os.pipe()
    ack_r, ack_w = os.pipe()
    try:
        with started("-j", "-D", "-1", "--control", f"fd:{cmd_r},{ack_w}", "-e", "task-clock", *work("sleep", 3000),
                     pass_fds=[cmd_r, ack_w]) as p:
            os.write(cmd_w, b"ping\nping\nenable\n")
            answers = b""
            while len(answers) < 12 and select.select([ack_r], [], [], 30)[0]:
                answers += os.read(ack_r, 100)
            eq(answers, b"ack\n" * 3, "answers to three words")
            os.write(cmd_w, b"pi")
            check(not select.select([ack_r], [], [], 0.1)[0], "an answer to half a word")
            os.write(cmd_w, b"ng\n")
            check(select.select([ack_r], [], [], 30)[0], "no answer to a word in two parts")
            eq(os.read(ack_r, 100), b"ack\n", "answer to a word in two parts")
            p.end()
    finally:
        for fd in (cmd_r, cmd_w, ack_r, ack_w):
            os.close(fd)


@test("--control: an invalid argument is refused with the expected form", counts=False)
def _(m):
    for bad in ("", "x", "fd", "fd:", "fifo:", "fd:1,2,3", "FD:1", "fd:x", "fd:-1"):
        r = stat("--control", bad, "-e", "task-clock", *work("exit", 0))
        check(r.code in (1, 2), f"{bad!r}: exit {r.code}")
        says(r, r.code)
    says(stat("--control", "fifo:/absent/fifo", "-e", "task-clock", *work("exit", 0)), 1, "/absent/fifo")
    says(stat("--control", "fd:x", "-e", "task-clock", *work("exit", 0)), 1, "x")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_stat.py PROG")
    sys.exit(main(sys.argv[1]))
