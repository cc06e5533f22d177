#!/usr/bin/env python3
# t_sample_perfdata.py PROG - tests the files of `gpustat sample -o perfdata`: perf's own commands
# read them and find the same samples; a file that cannot be written is refused. Prints TAP.
# ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import collections
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, command_of, eq, until_it_ran  # noqa: E402
from samplelib import (BOTH, TRACEFS, build, file_offset, flooded, has_perf,  # noqa: E402
                       here, main, perf_script, perfdata, running, sample, sample_sizes, started, test, waits_of, work, written)


# --- perf.data ------------------------------------------------------------------------------------

def triples(text):
    """Counts (comm, symbol) in the output of perf script -F comm,ip,sym."""
    return collections.Counter(re.sub(r" +[0-9a-f]+ ", "|", x.strip(), count=1) for x in text.splitlines() if x.strip())


@test("perfdata: perf script prints each sample with its comm and symbol")
def _(m):
    has_perf()
    path, event = m.path("perf.data"), written()
    args = ["-e", event, "--sample-period", "1"]
    perfdata(args, [work(), "write", "250"], path)
    eq(triples(perf_script(path, "-F", "comm,ip,sym")), {"work|write_it": 250}, "samples in perf script")
    mine = sample(args, [work(), "write", "250"]).recs
    ips = collections.Counter(int(r["ip"], 16) for r in mine)
    eq(collections.Counter(int(x, 16) for x in perf_script(path, "-F", "ip").split()), ips, "addresses")
    for kind, flags in (("pie", ["-pie", "-fPIE"]), ("library", ["-pie", "-fPIE", "-DWITH_LIBRARY"])):
        perfdata(["-F", "2000", "-e", "cpu-clock"], [build(kind, flags), "symbols", "60"], path)
        got = triples(perf_script(path, "-F", "comm,ip,sym"))
        want = [*BOTH] + ["in_library", "hidden_in_library"] * (kind == "library")
        for w in want:
            check(got["work|" + w] > 20, f"{kind}: {w} in {got.most_common(8)}")
    perfdata(["-F", "2000", "-e", "cpu-clock:k"], ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=10000",
                                                   "status=none"], path)
    got = triples(perf_script(path, "-F", "comm,ip,sym"))
    known = sum(n for k, n in got.items() if not k.endswith("[unknown]"))
    check(known > 0.9 * sum(got.values()) > 5, f"kernel symbols in perf: {got.most_common(5)}")


@test("perfdata: perf report reads files with several events, groups and call chains")
def _(m):
    has_perf()
    path = m.path("perf.data")
    for args in (["-F", "2000"], ["-F", "2000", "-e", "cpu-clock,page-faults"], ["-F", "2000", "-g"],
                 ["-F", "2000", "-e", "{cpu-clock,page-faults}:S"], ["-F", "1000", "-m", "16"],
                 ["-F", "1000", "--no-inherit"]):
        perfdata(args, [work(), "family", "60"], path)
        r = subprocess.run(["perf", "report", "-i", path, "--stdio", "--stdio-color=never"], capture_output=True,
                           timeout=60, check=False, stdin=subprocess.DEVNULL)
        eq(r.returncode, 0, f"{args}: perf report: {r.stderr[-300:]!r}")
        check(b"burn" in r.stdout, f"{args}: no burn in perf report: {r.stdout[-600:]!r} {r.stderr[-300:]!r}")
        bad = [x for x in r.stderr.splitlines() if b"arning" in x or b"rror" in x]
        eq(bad, [], f"{args}: messages of perf report")
        got = perf_script(path, "-F", "comm,tid,event")
        names = {x.strip().rsplit(None, 2)[0].strip() for x in got.splitlines() if "cpu-clock" in x}
        if "--no-inherit" not in args and "-g" not in args:
            check({"thread one", "thread two", "work"} <= names, f"{args}: comms {names}")


@test("perfdata: a sample of known tasks has 40 bytes as in perf, and no timer ends a wait for samples")
def _(m):
    here()
    path, log = m.path("perf.data"), m.path("strace.log")
    perfdata(["-F", "500", "-e", "cpu-clock"], [work(), "burn", "50"], path)
    eq(list(sample_sizes(path)), [40], "bytes of a sample")
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    subprocess.run(["strace", "-qq", "-o", log, "-e", "trace=ppoll", machine.PROG, "sample", "-F", "100", "-e", "cpu-clock",
                    "-o", "perfdata", "-O", path, "--", work(), "burn", "400"], check=True, stdout=subprocess.DEVNULL)
    waits = waits_of(log)
    check(waits and not [x for x in waits if "Timeout" in x], f"waits: {waits}")


# Bytes of a file of gpustat beyond those of the same samples in a file of perf record: its header.
MORE_BYTES = 4096


@test("perfdata: 20 000 more samples take 32 bytes each as in perf, and at most 20 more system calls")
def _(m):
    here()
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    log, event, sizes, calls, samples = m.path("strace.log"), ["-e", "page-faults:u", "-c", "1"], [], [], []
    for n in (1000, 21000):
        path, touch = m.path(f"ours-{n}"), [work(), "touch", str(n), "0"]
        r = subprocess.run(["strace", "-qq", "-o", log, machine.PROG, "sample", *event, "-o", "perfdata", "-O", path,
                            "--", *touch], capture_output=True, timeout=60, check=False)
        eq((r.returncode, r.stderr), (0, b""), "exit code, messages")
        with open(log, encoding="utf-8", errors="replace") as f:
            calls.append(sum(re.match(r"\w+\(", x) is not None for x in f))
        got = sample_sizes(path)
        eq(list(got), [32], "bytes of a sample: header, address, PID and TID, time")
        check(n <= got[32] <= n + 500, f"{got[32]} samples of {n} faults and of those of the start")
        samples.append(got[32])
        sizes.append(os.path.getsize(path))
    more = samples[1] - samples[0]
    # 32 more: another round ends with a mark of 8 bytes
    check(32 * more <= sizes[1] - sizes[0] <= 32 * more + 32, f"{sizes[1] - sizes[0]} bytes for {more} samples")
    # a ring that is half full is written with one call, directly from the ring: not a call per sample
    check(calls[1] - calls[0] <= 20, f"{calls} system calls")
    if not shutil.which("perf"):
        return
    theirs = m.path("theirs")
    r = subprocess.run(["perf", "record", "-q", *event, "-o", theirs, *touch], capture_output=True, timeout=60, check=False)
    if r.returncode < 0:
        raise Skip(f"perf does not run here: signal {-r.returncode} ended perf record")
    eq(r.returncode, 0, f"perf record: {r.stderr}")
    their = sample_sizes(theirs)
    eq(list(their), [32], "bytes of a sample of perf record")
    more = sizes[1] - 32 * samples[1] - (os.path.getsize(theirs) - 32 * their[32])
    check(more <= MORE_BYTES, f"{more} bytes beside the samples more than perf")


@test("perfdata: -a and -p")
def _(m):
    has_perf()
    path = m.path("perf.data")
    with running() as a:
        for args in (["-a"], ["-p", str(a.pid)]):
            perfdata(["-F", "500", *args, "--timeout", "1000"], None, path)
            lines = [x.split() for x in perf_script(path, "-F", "comm,pid,ip,sym").splitlines() if x.strip()]
            got = collections.Counter(x[3] for x in lines if x[0] == "work" and x[1] == str(a.pid))
            check(got["burn"] > 0, f"{args}: samples of a process that started before the run: {got}")


@test("perfdata: uprobes")
def _(m):
    has_perf()
    path, out = build("pie", ["-pie", "-fPIE"]), m.path("perf.data")
    event = f"uprobe/path={path},offset={file_offset(path, 'called'):#x}/"
    perfdata(["-e", event, "--sample-period", "1"], [path, "call", "40"], out)
    eq(triples(perf_script(out, "-F", "comm,ip,sym")), {"work|called": 40}, "calls")


@test("perfdata: perf script reads the fields of tracepoints, without tracefs")
def _(m):
    has_perf()
    out = m.path("perf.data")
    r = subprocess.run(["unshare", "-m", "sh", "-c", TRACEFS, "x", machine.PROG, "sample", "-e",
                        "sched:sched_switch,raw_syscalls:sys_exit,cpu-clock,sched:sched_waking", "-o", "perfdata", "-O", out,
                        "--", work(), "sleep", "20"], capture_output=True, timeout=60, check=False)
    if b"tracefs" in r.stderr or b"unshare" in r.stderr:
        raise Skip("no tracefs here")
    eq((r.returncode, r.stderr), (0, b""), "exit code, messages")
    text = perf_script(out, "-F", "tid,event,trace")
    switches = re.findall(r"^ *(\d+) +sched:sched_switch: +prev_comm=(\S+) prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) "
                          r"==> next_comm=.+ next_pid=\d+ next_prio=\d+$", text, re.M)
    eq(len(switches), text.count("sched:sched_switch"), "switches with fields in perf script")
    check(sum(x[3] == "S" for x in switches) >= 20 and all(x[0] == x[2] for x in switches), f"switches {switches[:3]}")
    exits = re.findall(r"^ *\d+ +raw_syscalls:sys_exit: +NR (\d+) = (-?\d+)$", text, re.M)
    check(len(exits) == text.count("raw_syscalls:sys_exit") >= 20, f"{len(exits)} returns of system calls")


@test("perfdata: perf diff, perf annotate, perf buildid-list and the reader of perf record accept the file")
def _(m):
    has_perf()
    path = m.path("perf.data")
    perfdata(["-F", "1000"], [work(), "burn", "50"], path)
    for args in (["report", "--header-only"], ["evlist", "-v"], ["script", "-D"],
                 ["report", "--mem-mode", "--header-only"]):
        r = subprocess.run(["perf", *args, "-i", path], capture_output=True, timeout=60, check=False,
                           stdin=subprocess.DEVNULL)
        eq(r.returncode, 0, f"perf {args}: {r.stderr[-300:]!r}")
    r = subprocess.run(["perf", "report", "--header-only", "-i", path], capture_output=True, timeout=60, check=False)
    text = r.stdout.decode("utf-8", "replace")
    check(os.uname().release in text and "cmdline" in text, f"header {text}")


@test("perfdata: output without a file or into a pipe is refused; an existing file is replaced")
def _(m):
    here()
    r = machine.run(["sample", "-o", "perfdata", "--", "true"])
    eq((r.code, r.out), (2, b""), "exit code, output without -O")
    check(b"-O" in r.err and r.err.count(b"\n") == 1, f"message {r.err}")
    pipe = m.path("pipe")
    os.mkfifo(pipe)
    fd = os.open(pipe, os.O_RDWR)
    try:
        r = machine.run(["sample", "-o", "perfdata", "-O", pipe, "--", "true"])
        check(r.code in (1, 2) and r.err.count(b"\n") == 1, f"into a pipe: {r!r}")
        check(re.search(rb"pipe|seek|file", r.err.replace(pipe.encode(), b"")), f"a message that says why: {r.err!r}")
    finally:
        os.close(fd)
    path = m.path("perf.data")
    with open(path, "wb") as f:
        f.write(b"x" * 5000000)
    perfdata(["-F", "100"], ["true"], path)
    check(os.path.getsize(path) < 1000000, f"{os.path.getsize(path)} bytes")
    r = machine.run(["sample", "-o", "perfdata", "-O", "/dev/full", "--", "true"])
    check(r.code in (1, 2) and r.err.count(b"\n") == 1, f"/dev/full: {r!r}")
    r = machine.run(["sample", "-o", "perfdata", "-O", m.path("no/such/x"), "--", "true"])
    check(r.code == 1 and b"no/such/x" in r.err, f"no such folder: {r!r}")


@test("perfdata: after losses and after interrupted runs perf can read the file")
def _(m):
    has_perf()
    path = m.path("perf.data")
    with started(["sample", "-F", "1000", "-o", "perfdata", "-O", path, "--", work(), "burn", "600000"],
                 stderr=subprocess.PIPE) as p:
        until_it_ran(command_of(p.pid), 0.3)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    check(perf_script(path, "-F", "comm,ip,sym").count("burn") > 30, "samples before SIGINT")
    _told, err = flooded(["sample", "-e", "page-faults:u", "--sample-period", "1", "-m", "4", "-o", "perfdata"], path, 6000, False)
    n = perf_script(path, "-F", "event", quiet=False).count("page-faults")
    said = re.search(rb"(\d+) samples were lost", err)
    check(said, f"none lost: {err!r}")
    dump = subprocess.run(["perf", "script", "-D", "-i", path], capture_output=True, timeout=60, check=False).stdout
    lost = sum(int(x) for x in re.findall(rb"PERF_RECORD_LOST[^\n]*lost(?: samples )?:(\d+)", dump))
    check(n > 100, f"{n} samples beside {said[1]} lost")
    check(lost == int(said[1]), f"perf has {lost} lost, we said {said[1]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_sample_perfdata.py PROG")
    sys.exit(main(sys.argv[1]))
