#!/usr/bin/env python3
# t_sample_errors.py PROG - tests `gpustat sample` with failures: lost samples are counted and
# reported, an unprivileged user gets samples or a reason, invalid options are refused, processes
# and outputs may vanish. Prints TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import os
import re
import resource
import subprocess
import sys
import threading

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, cpu_of, eq, most_by_perf, parse_json, strict  # noqa: E402
from samplelib import (base, cycles, flooded, here, main, running, sample, spinning,  # noqa: E402
                       started, test, waits_of, work, writes)


# --- losses ---------------------------------------------------------------------------------------

def flood(m, pages, n, until_end):
    out = m.path("lost.json")
    told, err = flooded(["sample", "-e", "{page-faults:u,task-clock}:S", "--sample-period", "1", "-m", str(pages), "-o", "json"],
                        out, n, until_end)
    with open(out, "rb") as f:
        recs = parse_json(f.read())
    said = re.search(rb"(\d+) samples were lost", err)
    return recs, int(said[1]) if said else 0, int(told.split()[1])


def check_losses(recs, said, n, faults):
    shown = sum(r.get("lost") or 0 for r in recs)
    got = sum(r["ip"] is not None for r in recs)
    times = [r["time"] for r in recs]
    eq(times, sorted(times), "order")
    eq(shown, said, "lost in the records and in the message")
    check(not any(r["period"] or r.get("group") for r in recs if r.get("lost")), "a record of a loss has a period or the values of a group")
    check(n <= got + shown <= faults + 200, f"{got} samples and {shown} lost of {n} to {faults} page faults")


@test("lost samples are counted in the records and in the message")
def _(m):
    here()
    n = 6000
    recs, said, faults = flood(m, 4, n, False)
    check_losses(recs, said, n, faults)
    check(said > 0, "none lost")


@test("lost samples are counted, also if the ring had no room for a record of the loss")
def _(m):
    here()
    n = 6000
    recs, said, faults = flood(m, 4, n, True)
    check_losses(recs, said, n, faults)
    check(said > 0, "none lost")


@test("no sample is lost in a ring of one page, because it is emptied when it is half full")
def _(m):
    with writes(m, "-m", "1") as (send, lines, log):
        for _ in range(30):  # samples that fit into the ring are never lost, however many there are in total
            send(40)
            eq([r.get("lost") for r in lines(40)], [None] * 40, "lost")
    woken = sum("POLLIN" in x.rpartition(" = ")[2] for x in waits_of(log))
    check(woken >= 10, f"a half full ring ended a wait {woken} times of 30")


def cost_of(args):
    """Runs the program. Returns its exit code, messages and CPU time."""
    p = subprocess.Popen([machine.PROG, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    timer = threading.Timer(60, p.kill)
    timer.start()
    _pid, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    err = p.stderr.read()
    p.stderr.close()
    return p.returncode, err, used.ru_utime + used.ru_stime


@test("10 kHz for two seconds: no sample is lost, and gpustat uses less than 0.2 s of CPU time", True)
def _(m):
    here()
    out = m.path("out")
    with running() as a:
        # not of the kernel, because reading its symbols takes about 50 ms
        args = ["sample", "-e", "cpu-clock:u", "-F", "10000", "-m", "1024", "-p", str(a.pid), "-o", "json", "-O", out, "--timeout"]
        start = min(cost_of([*args, "10"])[2] for _i in range(3))
        os.unlink(out)
        before = cpu_of(a.pid)
        code, err, cost = cost_of([*args, "2000"])
        ran = cpu_of(a.pid) - before
    with open(out, "rb") as f:
        recs = parse_json(f.read())
    eq((code, err), (0, b""), "exit code, messages")
    eq(sum(r.get("lost") or 0 for r in recs), 0, "lost")
    print(f"# {len(recs)} samples of {ran:.2f} s of CPU time; gpustat used {start * 1000:.0f} ms to start, then "
          f"{(cost - start) / 2:.1%} of a core", flush=True)
    check(5000 * ran < len(recs) < 10000 * most_by_perf(ran), f"{len(recs)} samples of {ran:.2f} s at 10 kHz")
    check(cost - start < 0.2, f"{cost:.2f} s of CPU time, {start:.2f} s of it to start")


# --- without privileges ---------------------------------------------------------------------------

def paranoid():
    here()
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        level = int(f.read())
    if level not in (1, 2):
        raise Skip(f"kernel.perf_event_paranoid is {level}")


@test("user nobody: can sample its own process in user space")
def _(m):
    paranoid()
    r = machine.run(["sample", "-F", "1000", "-e", "cpu-clock:u", "-o", "json", "--", work(), "burn", "100"], nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    recs = parse_json(r.err)
    check(len(recs) > 30, f"{len(recs)} samples")
    eq({x["mode"] for x in recs}, {"user"}, "mode")
    check(any(base(x["symbol"]) == "burn" for x in recs), "no symbols")
    # without -e it must choose an event that is allowed
    r = machine.run(["sample", "-F", "1000", "-o", "json", "--", work(), "burn", "100"], nobody=True)
    eq(r.code, 0, f"exit code without -e ({r!r})")
    check(len([x for x in r.err.splitlines() if x.startswith(b"{")]) > 30, f"samples without -e: {r!r}")


@test("user nobody: a denied event is reported with the reason and cap_perfmon, exit 4")
def _(m):
    paranoid()
    with running() as a:
        for args in (["-a", "-F", "100", "--timeout", "200"], ["-C", "0", "--timeout", "200"],
                     ["-p", str(a.pid), "--timeout", "200"],
                     ["-e", "cpu-clock:k", "--", "true"]):
            r = machine.run(["sample", *args], nobody=True, timeout=60)
            check(r.code == 4, f"{args}: exit {r.code} ({r!r})")
            why = b"process of another user" if "-p" in args else b"perf_event_paranoid"
            check(why in r.err and b"cap_perfmon" in r.err.lower(), f"{args}: message {r.err!r}")


@test("user nobody: the rings stay within perf_event_mlock_kb")
def _(m):
    paranoid()
    s = sample_nobody(["-m", "4096", "-e", "cpu-clock:u", "-F", "1000"])
    check(len(s) > 20, f"{len(s)} samples with rings that are too large")


@test("user nobody: with RLIMIT_MEMLOCK 0 all CPUs have a ring, also with two events")
def _(m):
    paranoid()
    # the limit is per user: the test needs a user without other rings
    user = {"nobody": False, "user": 23456, "group": 23456, "extra_groups": []} if os.getuid() == 0 else {}
    s = sample_nobody(["-e", "page-faults:u,minor-faults:u", "--sample-period", "10"], **user,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
    eq({x["event"] for x in s}, {"page-faults:u", "minor-faults:u"}, "events")


def sample_nobody(args, **kw):
    r = machine.run(["sample", *args, "-o", "json", "--", work(), "burn", "100"], **{"nobody": True, **kw})
    eq(r.code, 0, f"exit code ({r!r})")
    return [strict(x) for x in r.err.splitlines() if x.startswith(b"{")]


# --- bad input ------------------------------------------------------------------------------------

@test("bad input: each invalid argument is refused with a message of one line that has the reason")
def _(m):
    here()
    for args, code, words in [
            (["-e", "nonsense"], 2, ["nonsense"]), (["-e", ""], 2, []), (["-e", "{"], 2, []),
            (["-e", "x" * 10000], 2, []),
            (["-F", "0"], 2, ["--freq"]), (["-F", "-1"], 2, ["--freq"]), (["-F", "x"], 2, ["--freq"]),
            (["-F", "99999999999999999999"], 2, ["--freq"]),
            (["--sample-period", "0"], 2, ["--sample-period"]), (["--sample-period", "x"], 2, ["--sample-period"]),
            (["-m", "3"], 2, ["power of 2"]), (["-m", "0"], 2, ["power of 2"]), (["-m", "99999999999"], 2, ["--mmap-pages"]),
            (["--limit", "0"], 2, ["--limit"]), (["--wakeup", "0"], 2, ["--wakeup"]),
            (["--watermark", "0"], 2, ["--watermark"]), (["-k", "3"], 2, ["--summary"]),
            (["--timeout", "0"], 2, ["--timeout"]), (["-c", "0"], 2, []),
            (["--period-random", "7"], 2, ["--period-random"]),
            (["--period-random", "7,1"], 2, ["--sample-period"]),
            (["--long-period", "0", "--sample-period", "9"], 2, ["--long-period"]),
            (["--summary=nope"], 2, ["nope"]), (["-F", "9", "--sample-period", "9"], 2, ["--freq", "--sample-period"]),
            (["-e", "proc/ctxt/"], (2, 4), ["sampled"]), (["-e", "{proc/ctxt/,cpu-clock}"], (2, 4), []),
            (["-o", "nope"], 2, ["nope"])]:
        r = machine.run(["sample", *args, "--", "true"], timeout=60)
        codes = code if isinstance(code, tuple) else (code,)
        check(r.code in codes, f"{args[:3]}: exit {r.code}, message {r.err[-200:]!r}"[:500])
        check(r.err.count(b"\n") == 1 and r.err.startswith(b"gpustat: ") and len(r.err) < 1000,
              f"{args[0]} {args[-1][:40]}: message {r.err[:300]!r}")
        for w in words:
            check(w.encode() in r.err, f"{args[0]} {args[-1][:40]}: no {w} in the message: {r.err!r}")


@test("bad input: the message about -F above perf_event_max_sample_rate names this limit")
def _(m):
    here()
    r = machine.run(["sample", "-F", "10000000", "--", "true"], timeout=60)
    check(r.code in (2, 4) and b"perf_event_max_sample_rate" in r.err, f"{r!r}")


@test("bad input: a message says that virtual events cannot be sampled")
def _(m):
    here()
    for args in (["-e", "proc/ctxt/", "--", "true"], ["-e", "cpu-clock", "-e", "proc/ctxt/", "--", "true"],
                 ["-e", "proc/ctxt/", "-a", "--timeout", "100"]):
        r = machine.run(["sample", *args], timeout=60)
        check(b"proc/ctxt/" in r.err or b"can be sampled" in r.err, f"{args}: no message about it: {r!r}")


@test("bad input: a message names the events that can be counted but not sampled")
def _(m):
    here()
    if not os.path.isdir("/sys/bus/event_source/devices/msr"):
        raise Skip("no msr events")
    for args in (["-e", "msr/tsc/", "-a", "--timeout", "100"], ["-e", "msr/tsc/", "--", "true"]):
        r = machine.run(["sample", *args], timeout=60)
        check(r.code in (2, 4) and b"msr/tsc/" in r.err, f"{args}: {r!r}")
    r = machine.run(["sample", "-e", "cpu-clock", "-e", "msr/tsc/", "-F", "1000", "--", work(), "burn", "30"], timeout=60)
    check(b"msr/tsc/" in r.err, f"one of two events cannot be sampled, and no message names it: {r!r}")


@test("bad input: if one of two events cannot be opened, the message names that event")
def _(m):
    here()
    if cycles():
        raise Skip("cycles can be had here")
    r = machine.run(["sample", "-e", "cpu-clock", "-e", "cycles", "-F", "1000", "--", work(), "burn", "30"], timeout=60)
    check(r.code == 0 and b"cycles" in r.err.replace(b"cpu-clock", b""), f"{r!r}")
    s = sample(["-e", "cpu-clock,cycles", "-F", "1000", "-q"], [work(), "burn", "50"])
    check(s.recs, "no samples of the event that can be opened")


@test("bad input: formats and sums that exclude each other are refused")
def _(m):
    here()
    for args in (["-o", "folded", "--summary=comm"], ["-o", "perfdata", "-O", m.path("x"), "--summary"],
                 ["-o", "perfdata", "-O", m.path("x"), "--summary=ip"]):
        r = machine.run(["sample", "-F", "1000", *args, "--", work(), "burn", "50"], timeout=60)
        check(r.code == 2 and r.err.count(b"\n") == 1, f"{args}: {r!r}")


@test("bad input: rings that cannot be allocated and a CPU that does not exist are reported")
def _(m):
    here()
    r = machine.run(["sample", "-F", "100", "-m", str(1 << 30), "--", "true"], timeout=60)
    check(r.code != 0 and r.err.count(b"\n") == 1 and re.search(rb"ring|mmap-pages", r.err), f"no ring: {r!r}")
    r = machine.run(["sample", "-F", "100", "-C", "4000", "--timeout", "100"], timeout=60)
    check(r.code != 0 and b"4000" in r.err, f"no such CPU: {r!r}")


@test("ulimit -v 16384: samples are written, and no message mentions the table of repeated samples")
def _(m):
    here()
    out = m.path("out.json")
    r = subprocess.run(["sh", "-c", 'ulimit -v 16384; exec "$@"', "x", machine.PROG, "sample", "-e", "page-faults:u", "-c", "1",
                        "-o", "json", "-O", out, "--", work(), "touch", "300", "0"], capture_output=True, timeout=60, check=False)
    eq(r.returncode, 0, f"exit code {r.stderr}")
    check(b"repeated" not in r.stderr and b"lost" not in r.stderr, f"messages: {r.stderr}")
    with open(out, "rb") as f:
        check(f.read().count(b"\n") >= 300, "samples")


@test("processes that do not exist, or end during the run, are reported")
def _(m):
    here()
    with running() as a:
        pid = a.pid
    r = machine.run(["sample", "-p", str(pid), "-F", "100"], timeout=60)
    check(r.code == 1 and str(pid).encode() in r.err, f"no such process: {r!r}")
    r = machine.run(["sample", "-t", str(pid), "-F", "100"], timeout=60)
    check(r.code == 1 and str(pid).encode() in r.err, f"no such thread: {r!r}")
    with spinning(ms=250) as p:
        waiter = threading.Thread(target=p.wait)
        waiter.start()
        s = sample(["-F", "1000", "-p", str(p.pid)], timeout=60)
        waiter.join()
    check(len(s.recs) > 50, f"{len(s.recs)} samples of a process that ends")
    z = subprocess.Popen(["true"])
    machine.until_zombie(z.pid)
    machine.run(["sample", "-F", "100", "-p", str(z.pid), "--timeout", "600000"], timeout=60)
    z.wait()


@test("more threads than descriptors: a message says so")
def _(m):
    here()
    go = threading.Event()
    threads = [threading.Thread(target=go.wait, daemon=True) for _i in range(60)]
    threads.append(threading.Thread(target=lambda: all(iter(lambda: not go.is_set(), False)), daemon=True))  # works
    for t in threads:
        t.start()
    try:
        args = ["sample", "-F", "1000", "-p", str(os.getpid()), "--timeout", "200", "-o", "json"]
        for soft, hard in ((40, 40), (40, 4000)):
            r = subprocess.run(["prlimit", f"--nofile={soft}:{hard}", machine.PROG, *args], capture_output=True,
                               timeout=60, check=False)
            said = re.search(rb"descriptor|open files", r.stderr)
            check(said or hard > soft,
                  f"limits {soft}, {hard}: some threads are not sampled without a message: exit {r.returncode}, {r.stderr!r}")
            check(said or r.stdout, f"limits {soft}, {hard}: no samples, no message")
    finally:
        go.set()


@test("an output that is closed, full or broken ends the run with a message")
def _(m):
    here()
    with running() as a:
        args = ["sample", "-F", "1000", "-p", str(a.pid), "--timeout", "300", "-o", "json"]
        for how in (["sh", "-c", 'exec "$@" >&-', "x"], ["sh", "-c", 'exec "$@" >/dev/full', "x"]):
            r = subprocess.run([*how, machine.PROG, *args], capture_output=True, timeout=60, check=False)
            check(r.returncode == 1 and r.stderr.count(b"\n") == 1, f"{how[2]}: exit {r.returncode}, {r.stderr!r}")
        for extra in ([], ["--summary"]):
            r = subprocess.run([machine.PROG, *args, *extra, "-O", "/dev/full"], capture_output=True, timeout=60,
                               check=False)
            check(r.returncode == 1 and r.stderr.count(b"\n") == 1,
                  f"-O /dev/full {extra}: exit {r.returncode}, {r.stderr!r}")
        with started(["sample", "-F", "1000", "-p", str(a.pid), "-o", "json", "--wakeup", "1"], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as p:
            p.stdout.readline()
            p.stdout.close()
            p.stdout = None
            p.wait(timeout=60)
            check(p.returncode in (0, 1, -13, 141), f"broken pipe: exit {p.returncode}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_sample_errors.py PROG")
    sys.exit(main(sys.argv[1]))
