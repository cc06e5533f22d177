#!/usr/bin/env python3
# t_peers.py PROG - faults of other monitors, with a test for each that fails if gpustat has the
# fault. PEERS, at the end, lists the program, the fault, and the test. If t_clients.py or another
# file already has the test, it is run again under the peer's name. Prints TAP; exit 0 if all tests
# pass. ONLY=TEXT
# and TIMES=1 are as in tests/machine.py. SPDX-License-Identifier: MIT
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (AMD, I915, XE, Skip, busy, check, decode, dump, eq, near, ns, one_client, parse_csv,  # noqa: E402
                     parse_json, rewrite, right, run, val, writer)
from recording import Rec, record, records  # noqa: E402

sys.path += [os.path.join(machine.HERE, room) for room in ("consumers", "commands", "drm", "os", "views")]
import kit  # noqa: E402
import t_bad_input  # noqa: E402, F401 # these add their tests to machine.TESTS
import t_cgroups  # noqa: E402, F401
import t_clients  # noqa: E402, F401
import t_discovery  # noqa: E402, F401
import t_options  # noqa: E402, F401
import t_output  # noqa: E402, F401

COMMANDS = ["", "procs", "clients", "cgroups", "list", "fdinfo", "events", "stat", "sample", "oa", "counters", "host", "top", "check",
            "munin", "doctor", "plot"]
SKL = os.path.join(machine.HERE, "oa", "skl.rec")
HSW = os.path.join(machine.HERE, "oa", "hsw.raw")


def words(cmd):
    return [cmd] if cmd else []


# --- behaviour of a program -----------------------------------------------------------------------

def help_on_stdout(_m):
    for cmd in COMMANDS:
        for flag in ("--help", "-h"):
            if flag == "-h" and cmd in ("check", "stat", "sample"):
                continue
            r = run([*words(cmd), flag])
            # 3, as the guidelines for plugins require
            eq((r.code, r.err), (3 if cmd == "check" else 0, b""), f"{cmd} {flag}")
            check(r.out.startswith(b"gpustat") and r.out.endswith(b"\n"), f"{cmd} {flag}: {r.out[:60]!r}")


def unknown_option(m):
    one_client(m)
    for cmd in COMMANDS:
        r = run([*words(cmd), "--no-such-option"])
        if cmd == "check":  # a monitoring plugin prints UNKNOWN on stdout
            check(r.code in (2, 3) and b"no-such-option" in r.out + r.err, f"{r!r}")
            continue
        eq((r.code, r.out), (2, b""), f"{cmd}: code, stdout")
        check(b"no-such-option" in r.err, f"{cmd}: {r.err!r}")


def closed_pipe(m):
    one_client(m)
    for args in (["0.02", *m.roots()], ["stat", "-a", "-e", "task-clock", "0.02"], ["host", "0.02"]):
        p = subprocess.Popen([machine.PROG, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.readline()
        p.stdout.close()
        err = p.stderr.read()
        p.stderr.close()
        eq((p.wait(timeout=60), err), (-signal.SIGPIPE, b""), f"{args[0]}: silent")


def interrupted(m, sig=signal.SIGINT):
    """All output before the signal is in the pipe, with complete records, and the exit code is
    0."""
    one_client(m)
    for args in (["0.05", *m.roots()], ["clients", "0.05", *m.roots()], ["host", "0.05"],
                 ["stat", "-a", "-e", "task-clock", "0.05"]):
        p = subprocess.Popen([machine.PROG, *args, "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # the pipe is read only later: output that is still in a buffer would be lost
        machine.until("records", lambda: machine.waiting_in(p.stdout) > 3000)
        p.send_signal(sig)
        out, err = p.communicate(timeout=60)
        eq((p.returncode, err), (0, b""), f"{args[0]}: code and messages")
        check(len(out) > 3000 and parse_json(out), f"{args[0]}: {out!r}")


def killed(m):
    """Even SIGKILL loses no completed sample, because each sample is written when it is complete."""
    one_client(m)
    with m.driven("0.05", "-o", "json") as p:
        for _ in range(5):
            check(p.sleep(), "it ended")
            p.wake()
        check(p.sleep(), "it ended")
        p.kill()
        eq((p.code, len(parse_json(p.out))), (-signal.SIGKILL, 5), f"exit code, records: {p.out!r}")


def full_disk(m):
    one_client(m)
    for args in ([*m.roots(), "-w", "0.02"], ["list", *m.roots()], ["host", "0.02", "3"], ["--help"]):
        with open("/dev/full", "wb") as full:
            p = subprocess.run([machine.PROG, *args], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        eq(p.returncode, 1, f"{args}: exit code")
        check(p.stderr.startswith(b"gpustat: ") and b"space" in p.stderr, f"{args}: {p.stderr!r}")


def no_gpu(m):
    """Without a GPU stdout is empty, so that a JSON reader gets no text; a message; exit code 3."""
    for cmd in ("", "clients", "cgroups", "list"):
        for fmt in ("line", "json", "csv"):
            r = m.run(*words(cmd), *([] if cmd == "list" else ["-w", "0.02"]), "-o", fmt)
            eq((r.code, r.out), (3, b""), f"{cmd} {fmt}")
            check(r.err.startswith(b"gpustat: "), f"{cmd} {fmt}: {r.err!r}")


def no_escapes(m):
    """Output that does not go to a terminal has no escape sequences with any TERM."""
    one_client(m)
    for args in (["-w", "0.02"], ["clients", "-w", "0.02"], ["list"], ["top", "0.1"], ["--help"]):
        p = subprocess.Popen([machine.PROG, *args, *m.roots()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm-256color"})
        if args[0] == "top":
            machine.wait_asleep(p.pid)
            p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        check(b"\x1b" not in out + err, f"{args}: {out[:80]!r}")


def same_through_pty(m):
    """In a terminal the screen is not cleared, so that earlier output remains in the scrollback."""
    one_client(m)
    master, slave = pty.openpty()
    try:
        subprocess.run([machine.PROG, "-w", "0.02", *m.roots()], stdout=slave, timeout=60, check=True)
        out = os.read(master, 65536)
    finally:
        os.close(master)
        os.close(slave)
    check(not re.search(rb"\x1b\[[0-9;]*[^0-9;m]", out), f"{out!r}")


def one_shot(m):
    one_client(m)
    r = m.run()
    eq((r.code, r.err), (0, b""), "code, messages")
    eq(len(r.out.splitlines()), 2, "header and one device")
    check(0.4 < r.took < 3, f"took {r.took}")


def sigint_by_shell(m):
    """A run without a count is normally ended by SIGINT, and its exit code is 0."""
    one_client(m)
    r = subprocess.run(["timeout", "--preserve-status", "-s", "INT", "0.5", machine.PROG, "0.05", *m.roots()],
                       capture_output=True, timeout=60, check=False)
    eq((r.returncode, r.stderr), (0, b""), "code, messages")
    check(len(r.stdout.splitlines()) > 4, f"lines {r.stdout!r}")


def list_without_gpu(m):
    r = m.run("list", "-o", "json")
    eq((r.code, r.out), (3, b""), "code, stdout")


# --- output ---------------------------------------------------------------------------------------

def units_in_cells(m):
    kit.settle(m, "amdgpu")
    rows = parse_csv(m.run("-r", "-o", "csv").out)
    for r in rows:
        check(r == {k: v.strip() for k, v in r.items()}, f"blanks at the start or end of a cell: {r}")
        if r["field"].split(".")[0] in ("temp", "power", "memory", "vram", "freq", "fan", "energy", "volt", "busy"):
            check(re.fullmatch(r"-?\d+(\.\d+)?|", r["value"]), f"not a plain number: {r}")
    out = m.run("-r", "-o", "csv", "-f", "vram.used,temp.edge,power").out.decode()
    head, row = out.splitlines()
    check(re.fullmatch(r"[0-9.,]+", row) and " " not in head, f"{head!r} {row!r}")


def not_available(m):
    """An unknown value is an empty cell, null or -, not a word and not 0."""
    m.device("nouveau", "0000:05:00.0")
    m.device("i915", I915, card=1, render=129)
    m.process(10)
    m.fd(10, 5, dump("i915", 7, *ns(render=1000), pdev=I915), link="/dev/dri/renderD129")
    for fmt in ("csv", "json", "line", "logfmt"):
        out = m.run("-w", "0.02", "-o", fmt).out
        check(not re.search(rb"N/A|n/a|\bnan\b|\binf\b|unknown|not supported|\[", out.replace(b"[]", b""), re.I),
              f"{fmt}: {out!r}")
    nouveau, = [d for d in m.json() if d["driver"] == "nouveau"]
    eq((nouveau["busy"], nouveau["engine"], nouveau["temp"], nouveau["vram"]["used"]), (None, {}, {}, None), "unknown")


def exposition(_m):
    for args in (["-r", *kit.roots("amdgpu")], ["clients", "-r", *kit.roots("i915")]):
        e = kit.Exposition(kit.ours(args, "prom"))
        check(set(e.helps) == set(e.types) and e.types, f"{args[0]}: HELP and TYPE of each")
        check(all(t == "gauge" for n, t in e.types.items() if n.endswith("_info")), "an _info metric that is a counter")
        check(not any(re.search(r"_(percent|mhz|mebibytes|kilobytes|milli\w+|watt|celcius)$", n) for n in e.types),
              "a unit that is not a base unit")


def raw_counters_for_rate(m):
    """A collector with long intervals needs totals; they never decrease when clients exit."""
    f = one_client(m)
    first = {k: v for k, v in kit.Exposition(kit.ours(["-r", *m.roots()], "prom")).values().items()
             if k[0] == "gpustat_engine_busy_seconds_total"}
    eq(list(first.values()), [1e-6], "busy seconds")
    rewrite(f, dump("i915", 7, *ns(render=5000), pdev=I915))
    second = kit.Exposition(kit.ours(["-r", *m.roots()], "prom")).values()
    for k in first:
        near(second[k], 5e-6, 1e-12, "increase of the busy seconds")


def totals_stay(m):
    """The engine time of a client that has exited stays in the totals of a running program."""
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, *ns(render=3e9), pdev=I915))
    m.process(20)
    keep = m.fd(20, 5, dump("i915", 8, *ns(render=1e9), pdev=I915))
    s = m.live("-r", steps=[None, lambda: m.gone(10), writer(keep, dump("i915", 8, *ns(render=2e9), pdev=I915))])
    got = [d["engine"]["render"]["busy_ns"] for d, in s]
    check(got == sorted(got) and got[-1] >= 4 * 10 ** 9, f"totals {got}")


def vanished_mid(m):
    """A client that exits causes no negative rate, and no jump when its ID returns."""
    m.device("xe", XE)

    def text(c, t):
        return dump("xe", 7, f"drm-cycles-rcs:\t{c}", f"drm-total-cycles-rcs:\t{t}", pdev=XE)
    m.fd(10, 5, text(10 ** 12, 2 * 10 ** 12))

    def back():
        m.process(30, start=5000)
        m.fd(30, 5, text(10, 10 ** 12))
    s = m.live(steps=[lambda: m.gone(10), back, None])
    for d, in s:
        v = busy(d, "rcs")
        check(v is None or v == 0, f"busy {v}")


def json_stream(m):
    """One object per line, each complete, without an array that must be closed at the end."""
    one_client(m)
    p = subprocess.Popen([machine.PROG, "0.1", "-o", "json", *m.roots()], stdout=subprocess.PIPE)
    late = threading.Timer(60, p.kill)  # ends the test if records are delayed
    late.start()
    try:
        for _ in range(3):
            rec = machine.strict(p.stdout.readline())
            eq(rec["kind"], "device", "kind")
    finally:
        late.cancel()
        p.kill()
        p.communicate()


def numbers_are_numbers(m):
    one_client(m)
    d, = m.json()
    for v in (d["time"], d["dt"], d["clients"], d["unreadable"], busy(d, "render")):
        check(isinstance(v, (int, float)), f"{v!r}")


# --- cost of reading ------------------------------------------------------------------------------

def traced(m, args, calls):
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-f", "-y", "-e", f"trace={calls}", "-o", log, machine.PROG, *args, *m.roots()],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    if r.returncode != 0:
        raise Skip(f"strace: {r.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def walk(m):
    """Of 40 processes with 20 descriptors each only the DRM descriptors are opened, once for three
    samples."""
    m.device("i915", I915)
    for p in range(40):
        m.process(100 + p)
        for n in range(20):
            m.fd(100 + p, n, "pos:\t0\nflags:\t02\n", link="/dev/null")
    m.fd(100, 30, dump("i915", 7, *ns(render=5), pdev=I915))
    calls = traced(m, ["0.05", "3"], "openat")
    opened = [x for x in calls if re.search(r'fdinfo/\d+"', x)]
    check(0 < len(opened) <= 2, f"{len(opened)} fdinfo files opened: {opened[:3]}")


def writes_per_sample(m):
    kit.settle(m, "mixed")
    writes = traced(m, ["0.05", "4", "-o", "json"], "write")
    eq(len([x for x in writes if "write(1" in x]), 4, "writes of four samples of four devices, one per sample")


def small(m):
    one_client(m)
    p = subprocess.Popen([machine.PROG, "0.05", *m.roots()], stdout=subprocess.PIPE)
    try:
        for _ in range(8):
            p.stdout.readline()
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            rss = int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1])
        with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
            libs = {x.split()[-1] for x in f if ".so" in x}
    finally:
        p.kill()
        p.communicate()
    check(rss < 4096, f"{rss} KiB resident")
    eq(libs, set(), "shared libraries")


def quick_sample(m):
    """sample waits only for the end of the command, not for the end of an interval."""
    log = m.path("strace.log")
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    r = subprocess.run(["strace", "-o", log, "-e", "trace=ppoll,clock_nanosleep", machine.PROG, "sample", "-F", "100", "--", "true"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    check(r.returncode in (0, 4), f"{r!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        waits = [x for x in f if re.match(r"ppoll|clock_nanosleep", x)]
    check(not any("(Timeout)" in x or "clock_nanosleep" in x for x in waits), f"{waits}")


# --- perf -----------------------------------------------------------------------------------------

def stat(*args):
    r = run(["stat", "--log-fd", "1", "-o", "json", *args])
    return r, parse_json(r.out)


def elapsed(_m):
    for _ in range(60):
        r, recs = stat("-e", "task-clock", "--", "true")
        eq(r.code, 0, f"{r!r}")
        check(recs[0]["dt"] is not None and recs[0]["value"] <= recs[0]["dt"] * 1e9 + 1000, f"{recs[0]}")


def no_nan(_m):
    for fmt in ("line", "json", "csv", "perf-csv", "perf-json", "logfmt", "table"):
        r = run(["stat", "--log-fd", "1", "-o", fmt, "--", "true"])
        check(not re.search(rb"\bnan\b|\binf\b", r.out + r.err, re.I), f"{fmt}: {r.out!r}")


def nothing_counted(_m):
    r, recs = stat("-e", "4095:1", "--", "true")
    eq((r.code, recs[0]["value"]), (4, None), f"exit code, value ({r!r})")
    check(recs[0]["reason"], "no reason")


def killed_command(_m):
    eq(stat("-e", "task-clock", "--", "sh", "-c", "kill -9 $$")[0].code, 137, "exit code")


def drift(m):
    with m.driven("stat", "-a", "-e", "context-switches", "-o", "json", "0.01", "100") as p:
        dues = p.to_end(late=lambda k: 0.004 if k % 3 == 0 else 0)
    if p.code == 4:
        raise Skip("not permitted to count every CPU")
    eq(p.code, 0, f"{p.err!r}")
    recs = parse_json(p.out)
    eq((len(recs), machine.on_grid(dues, 0.01)), (100, list(range(100))), "records, samples")
    near(recs[-1]["time"] - recs[0]["time"], 0.99, 0.001, "99 intervals")


def csv_quotes(_m):
    r = run(["stat", "--log-fd", "1", "-o", "csv", "-e", "software/config=2,name=page/", "-e",
             "{task-clock,page-faults}:u", "-e", "breakpoint/config=0/", "--", "true"])
    rows = parse_csv(r.out)
    check(any("," in x["value"] for x in rows), f"no cell with a comma: {r.out!r}")


def json_is_json(_m):
    for more in ([], ["-A", "-a"], ["-r", "2"], ["-d"], ["--per-core", "-a"]):
        cmd = ["-w", "0.02"] if "-a" in more else ["--", "true"]
        r, recs = stat(*more, *cmd)
        check(recs and r.code in (0, 4), f"{more}: {r!r}")
        for rec in recs:
            check(rec["value"] is None or isinstance(rec["value"], (int, float)), f"value {rec['value']!r}")


def terms_replace(_m):
    for text in ("cpu/mem-loads,ldlat=30/", "cpu/ldlat=30,mem-loads/"):
        r = run(["events", "--resolve", "--sys", os.path.join(machine.HERE, "pmus", "intel"), text])
        eq(r.code, 0, f"{r!r}")
        check(b"0x1e" in r.out or b"config1=30" in r.out or b"\"config1\":30" in r.out, f"{r.out!r}")
        check(b"0x1f" not in r.out, f"or'ed: {r.out!r}")


def tracefs(m):
    for d in ("proc", "sys"):
        os.makedirs(m.path("empty", d), exist_ok=True)
    r = run(["events", "--resolve", "--proc", m.path("empty/proc"), "--sys", m.path("empty/sys"), "sched:sched_switch"])
    check(r.code != 0 and b"tracing" in r.err.lower() + r.out.lower(), f"{r!r}")


def perf_stat_usage(_m):
    r = run(["stat", "--no-such"])
    eq((r.code, r.out), (2, b""), f"{r!r}")


# --- OA -------------------------------------------------------------------------------------------

SAMPLE, LOST, BUFFER_LOST, INFO, CORRELATION = 1, 2, 3, 65537, 65539


def skl():
    with open(SKL, "rb") as f:
        return records(f.read())


def pack(recs):
    return b"".join(record(r.number, r.body) if isinstance(r, Rec) else record(*r) for r in recs)


def replayed(m, data, *more, code=0, name="x.rec"):
    """Returns the records of a recording. The run must end with the code, and with a message if the
    code is not 0."""
    path = m.write(name, data)
    r = run(["oa", "--replay", path, "-o", "json", *more], timeout=60)
    check(r.code == code if isinstance(code, int) else r.code in code, f"exit code: {r!r}")
    check((r.code == 0) == (r.err == b"") or b"gpustat: " in r.err, f"messages: {r!r}")
    return parse_json(r.out)


def body(rec):
    return [rec["index"], rec["ts"], rec["ticks"], rec["dt"], rec["counter"]]


def oa_zero_size(m):
    data = pack(skl())
    whole = replayed(m, data)
    for bad in (struct.pack("<IHH", 1, 0, 0), struct.pack("<IHH", 1, 0, 7), b"\1\0\0"):
        eq([body(r) for r in replayed(m, data + bad, code=1)], [body(r) for r in whole], f"before {bad!r}")


def oa_cut(m):
    data = pack(skl())
    whole = [body(r) for r in replayed(m, data)]
    last = [r for r in skl() if r.number == SAMPLE][-1]
    for cut in (last.off + 4, last.off + 9, last.end - 1):
        got = [body(r) for r in replayed(m, data[:cut], code=1)]
        check(0 < len(got) < len(whole) and got == whole[:len(got)], f"cut at {cut}: {len(got)} records")


def oa_correlations(m):
    recs = skl()
    want = [body(r) for r in replayed(m, pack(recs))]
    points = [r for r in recs if r.number == CORRELATION]
    for keep in ([], points[:1]):
        got = [body(r) for r in replayed(m, pack([r for r in recs if r.number != CORRELATION or r in keep]), code=(0, 1))]
        eq(got, want, f"with {len(keep)} correlations")
    first = [r for r in recs if r.number > 65535 and r.number != CORRELATION]
    rest = [r for r in recs if r.number < 65536]
    eq([body(r) for r in replayed(m, pack([*first, *points, *rest]), code=(0, 1))], want, "samples outside of the correlations")


def oa_no_sample(m):
    eq(replayed(m, pack([r for r in skl() if r.number != SAMPLE]), code=(0, 1)), [], "records")


def oa_lost_body(m):
    recs = skl()
    at = [i for i, r in enumerate(recs) if r.number == SAMPLE][3]
    got = replayed(m, pack(recs[:at] + [(LOST, b"surplus!")] + recs[at:]), code=(0, 1))
    want = replayed(m, pack(recs[:at] + [(LOST, b"")] + recs[at:]))
    eq([body(r) for r in got], [body(r) for r in want], "deltas")


def oa_unknown_set(m):
    recs = skl()
    for r in recs:
        if r.number == INFO:
            r.body = r.body[:36] + b"NoSuchSet".ljust(256, b"\0") + b"0" * 36 + r.body[328:]
    path = m.write("x.rec", pack(recs))
    r = run(["oa", "--replay", path, "-o", "json"], timeout=60)
    check(r.code in (0, 1, 2) and b"NoSuchSet" in r.err, f"{r!r}")


def oa_wrap(m):
    """If the 32-bit timestamp wraps in the recording, dt and CPU times do not change."""
    recs = skl()
    want = replayed(m, pack(recs))
    samples = [r for r in recs if r.number == SAMPLE]
    shift = (1 << 32) - struct.unpack_from("<I", samples[5].body, 4)[0]
    check(shift > 0, "timestamps of the original recording wrap")
    for r in recs:
        if r.number == SAMPLE:
            ts, = struct.unpack_from("<I", r.body, 4)
            r.body = r.body[:4] + struct.pack("<I", (ts + shift) & 0xffffffff) + r.body[8:]
        elif r.number == CORRELATION:
            cpu, gpu = struct.unpack("<QQ", r.body[:16])
            r.body = struct.pack("<QQ", cpu, gpu + shift) + r.body[16:]
    got = replayed(m, pack(recs))
    check(got[0]["ts"] > got[-1]["ts"], "nothing wraps")
    eq([(r["index"], r["dt"], r["cpu_time"], r["counter"]) for r in got],
       [(r["index"], r["dt"], r["cpu_time"], r["counter"]) for r in want], "dt, CPU time, counters")


def oa_raw(m):
    with open(HSW, "rb") as f:
        got = replayed(m, f.read(), "--platform", "hsw", "--raw", name="x.raw")
    check(len(got) >= 5 and got[0]["counter"], "deltas")


def oa_lost_said(m):
    got = replayed(m, pack(skl()))
    check(sum(r["lost"] for r in got) >= 1, "lost reports are not counted")
    check(9 not in [r["index"] for r in got], "a delta across a lost buffer")


def oa_double_wrap(m):
    """If a 32-bit counter wraps more than once in a run, the total is the sum over pairs of
    reports."""
    recs = skl()
    samples = [r for r in recs if r.number == SAMPLE]
    step, total = 3 * 10 ** 9, 0
    for i, r in enumerate(samples):
        r.body = r.body[:192] + struct.pack("<I", i * step & 0xffffffff) + r.body[196:]
    keep = [r for r in recs if r.number not in (LOST, BUFFER_LOST)]
    total = step * (len(samples) - 1)
    rec, = replayed(m, pack(keep), "--raw", "--totals")
    check(total > 2 << 32, "sum that the test calculates")
    eq(rec["counter"]["B0"], total, "B0")


def oa_offsets(m):
    """In format A12 of gen8 the counters begin after the clock, not at the clock."""
    recs, fmt = skl(), 8
    info = [r for r in recs if r.number == INFO][0]
    info.body = info.body[:32] + struct.pack("<I", fmt) + info.body[36:]
    reports = []
    for k in range(2):
        head = struct.pack("<4I", 1 << 19, 1000 + k * 1000, 5, 100 + k * 7000)
        reports.append((SAMPLE, head + struct.pack("<12I", *(k * (1000 + j) for j in range(12)))))
    got = replayed(m, pack([r for r in recs if r.number > 65535] + reports), "--raw", code=(0, 1))
    eq([r["ticks"] for r in got], [100, 7100], "ticks")
    eq({n: got[1]["counter"].get(n) for n in ("A7", "A8", "A18")}, {"A7": 1000, "A8": 1001, "A18": 1011}, "counters")


def metrics(m, counters):
    text = "".join(f'<counter symbol_name="{n}" data_type="{t}" units="u" equation="{e}"/>' for n, t, e in counters)
    return m.write("m.xml", '<metrics><set symbol_name="Mine" chipset="SKLGT2" hw_config_guid="11111111-2222-3333-4444-'
                            f'555555555555">{text}</set></metrics>')


def oa_underflow(m):
    path = metrics(m, [("D", "float", "A 0 READ A 0 READ 1 UADD FSUB"), ("T", "uint64", "$D")])
    for r in replayed(m, pack(skl()), "--metrics", path, "-m", "Mine"):
        eq((float(r["counter"]["D"]), r["counter"]["T"]), (0.0, 0), "a negative result is 0")


def oa_gpu_time(m):
    """GpuTime is the difference of timestamps divided by the frequency in the recording."""
    path = metrics(m, [("GpuTime", "uint64", "GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV")])
    recs = skl()
    hz, = struct.unpack_from("<Q", [r for r in recs if r.number == INFO][0].body)
    got = replayed(m, pack(recs), "--metrics", path, "-m", "Mine")
    ts = [struct.unpack_from("<I", r.body, 4)[0] for r in recs if r.number == SAMPLE]
    for r in got:
        i = r["index"]
        eq(r["counter"]["GpuTime"], ((ts[i + 1] - ts[i]) & 0xffffffff) * 10 ** 9 // hz, f"GpuTime of {i}")


def oa_exponent(_m):
    """A unit test in C checks that the timer's period is the longest that does not exceed the request."""
    r = subprocess.run(["tests/unit", "t_oalive"], cwd=machine.ROOT, capture_output=True, timeout=1200, check=False)
    if b"ok " not in r.stdout:
        raise Skip(f"no compiler for unit tests: {r.stderr[-80:]!r}")
    check(re.search(rb"^ok \d+ - .*the requested period is not exceeded", r.stdout, re.M), r.stdout[-300:])


# --- DRM clients ----------------------------------------------------------------------------------

def shared_pid(m):
    """A client that three processes hold counts once in the memory and time of the device."""
    m.device("i915", I915)
    text = dump("i915", 7, *ns(render=5e9), "drm-total-system0:\t8 MiB", "drm-resident-system0:\t8 MiB", pdev=I915)
    for pid in (10, 20, 30):
        m.process(pid, start=pid)
        m.fd(pid, 5, text)
    d, = m.json("-r")
    eq((d["clients"], val(d, "engine", "render", "busy_ns"), val(d, "memory", "system0", "resident")),
       (1, 5 * 10 ** 9, 8 << 20), "clients, sums")


def rebase(m):
    """If a value decreases and increases again, the increase up to the old value is not busy time."""
    f = one_client(m, text=dump("i915", 7, *ns(render=5e9), pdev=I915))
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=1e9), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=5e9), pdev=I915))])
    for x in s:
        near(busy(x[7], "render"), 0, 0.01, "busy")


def old_delta_shown(m):
    """After a decrease busy is 0, not the value of the sample before."""
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    s = m.procs(steps=[writer(f, dump("i915", 7, *ns(render=1e8), pdev=I915)),
                       writer(f, dump("i915", 7, *ns(render=5e7), pdev=I915))])
    right(s[0][7], "render", 1e8, tol=3)
    near(busy(s[1][7], "render"), 0, 0.01, "busy")


def npu(m):
    m.device("intel_vpu", "0000:00:0b.0", card=None, render=None, accel=0)
    m.fd(10, 5, dump("intel_vpu", 31, "drm-total-memory:\t4 MiB", "drm-resident-memory:\t4 MiB", pdev="0000:00:0b.0"),
         link="/dev/accel/accel0")
    d, = m.json()
    eq((d["dev"], d["clients"], val(d, "memory", "memory", "resident")), ("accel0", 1, 4 << 20), "device")


def trusted_pdev(m):
    """If drm-pdev differs from the node, the node determines the device. Clients without drm-pdev
    have all values."""
    m.device("i915", I915)
    m.device("xe", XE, card=1, render=129)
    m.fd(10, 5, dump("i915", 7, *ns(render=5), pdev=XE))
    m.device("msm", card=2, render=130)
    m.fd(10, 6, dump("msm", 8, *ns(gpu=5)), link="/dev/dri/renderD130")
    got = {r["client"]: r["dev"] for r in m.json("clients", "-r")}
    eq(got, {7: "card0", 8: "card2"}, "devices")


def old_memory_key(m):
    one_client(m, "amdgpu", AMD, dump("amdgpu", 7, "drm-memory-vram:\t4096 KiB", pdev=AMD))
    eq(val(m.json("clients")[0], "memory", "vram", "resident"), 4 << 20, "resident")


def profiling_off(m):
    m.device("panthor", files={"profiling": "0\n"})
    m.fd(10, 5, dump("panthor", 7, "drm-maxfreq-panthor:\t1000 MHz"))
    eq(busy(m.json()[0], "panthor"), None, "busy")
    r = m.run("list")
    check(b"profiling" in r.out + r.err, f"list must mention profiling: {r.out!r}")


def sleeping(m):
    """Files that could wake a suspended card are not opened; they are FIFOs, so that an open would block."""
    dev = m.device("amdgpu", AMD, state="suspended")
    for f in ("gpu_busy_percent", "pp_dpm_sclk", "gpu_metrics"):
        os.mkfifo(m.path(dev, f))
    for args in (["-w", "0.02"], ["list"], ["0.05", "3"]):
        r = m.run(*args, timeout=60)
        check(r.code == 0 and b"suspended" in m.run("list", timeout=60).out, f"{r!r}")


def client_id_32(m):
    m.device("i915", I915)
    for i, n in enumerate((5, 5 + (1 << 32), (1 << 64) - 1)):
        m.fd(10 + i, 5, dump("i915", n, *ns(render=5), pdev=I915))
    eq([r["client"] for r in m.json("clients", "-r")], [5, 5 + (1 << 32), (1 << 64) - 1], "clients")


def late_engine(m):
    """An engine that the driver reports only after its first use is shown from then on."""
    f = one_client(m, "amdgpu", AMD, dump("amdgpu", 7, *ns(gfx=5e9), pdev=AMD))
    s = m.procs(steps=[None, writer(f, dump("amdgpu", 7, *ns(gfx=5e9, dec=1e8), pdev=AMD))])
    right(s[1][7], "dec", 1e8, tol=3)


def pids_said(m):
    """Processes that cannot be read are counted in the output itself."""
    d = one_client(m) and m.json()[0]
    check("unreadable" in d and "dropped" in d, f"{sorted(d)}")


def bare_bytes(m):
    r = decode(m, dump("msm", 7, "drm-total-memory:\t4097", "drm-resident-memory:\t12 MiB", "drm-active-memory:\t0"))
    eq([val(r, "memory", "memory", k) for k in ("total", "resident", "active")], [4097, 12 << 20, 0], "memory")


def capability_unit(_m):
    """A systemd unit that grants capabilities must list them in its bounding set, or they are lost
    at exec."""
    found = []
    for folder, _, files in os.walk(os.path.join(machine.ROOT, "contrib")):
        for f in files:
            if f.endswith(".service"):
                with open(os.path.join(folder, f), encoding="utf-8") as h:
                    found.append((f, h.read()))
    check(found, "contrib has no systemd unit")
    for name, text in found:
        def caps(key, text=text):
            return set(" ".join(re.findall(rf"^{key}=(.*)$", text, re.M)).split())
        check(caps("AmbientCapabilities") <= caps("CapabilityBoundingSet"), f"{name}: {caps('AmbientCapabilities')}")
        check(not re.search(r"^(ProtectProc|ProcSubset|PrivateDevices)=", text, re.M), f"{name}: hides files that gpustat reads")


# --- the list: program, fault, test ---------------------------------------------------------------

PEERS = [
    ("iostat", "--help goes to stderr and exits with 1 (also pidstat, mpstat, intel_gpu_top, radeontop, turbostat)", help_on_stdout),
    ("everyone", "an unknown option exits with 1, like a failure", unknown_option),
    ("perf", "an unknown option exits with 129", perf_stat_usage),
    ("dstat", "a closed pipe prints BrokenPipeError", closed_pipe),
    ("vmstat", "SIGINT kills the program instead of ending it", sigint_by_shell),
    ("gputop", "SIGINT loses buffered output: the pipe is empty", interrupted),
    ("gputop", "SIGTERM loses buffered output", lambda m: interrupted(m, signal.SIGTERM)),
    ("gputop", "output stays in a buffer until the end", killed),
    ("gputop", "/dev/full exits with 0 and without a message", full_disk),
    ("iostat", "/dev/full exits with 6, unlike other failures", full_disk),
    ("nvtop", "without a GPU there is text on stdout and exit code 0", no_gpu),
    ("intel_gpu_top", "-L without a GPU exits with 0", list_without_gpu),
    ("gputop", "escape sequences in a pipe, exit code 0 without a GPU", no_escapes),
    ("gputop", "the screen is cleared, so that one cannot scroll back", same_through_pty),
    ("top-like monitors", "no one-shot mode", one_shot),
    ("intel_gpu_top", "JSON is an array that is closed only at the end", json_stream),
    ("nvidia-smi", "CSV cells contain blanks and units", units_in_cells),
    ("nvidia-smi", "N/A or words instead of a value", not_available),
    ("perf", "JSON numbers are quoted strings", numbers_are_numbers),
    ("qmmd", "metrics without HELP, an _info that is a counter", exposition),
    ("node_drm_*", "gauges are momentary percentages: no rate over the scrape interval", raw_counters_for_rate),
    ("beszel", "the unit's bounding set lacks the capabilities it grants", capability_unit),

    ("IGT", "client IDs are parsed by strtol: truncated on 32-bit machines", client_id_32),
    ("IGT", "a read error is taken for a size", "IGT: a read error is taken for a size"),
    ("IGT", "the last byte is taken for a newline", "IGT: the last byte is taken for a newline"),
    ("IGT", "enc matches enc_1", "IGT: the key enc also matches enc_1"),
    ("IGT", "exactly one byte is skipped after ':'", "IGT: exactly one byte is skipped after ':'"),
    ("IGT", "engines are indexed by their order in this read", "IGT: engines are indexed by their order in this read"),
    ("IGT", "engines that appear later are ignored", late_engine),
    ("IGT", "a process that vanishes between fdinfo and stat aborts it",
     "IGT: a process that vanishes between fdinfo and stat aborts the tool"),
    ("IGT", "comm is cut at the first ')'", "IGT: comm is cut at the first ')'"),
    ("IGT", "more than 16 engines or regions assert", "IGT: more than 16 engines or regions fail an assertion"),
    ("IGT", "profiling is set to 1, but panthor requires 3", "IGT: the file `profiling` is written to"),
    ("IGT", "percentages are of the nominal delay", "IGT: percentages are computed from the nominal delay"),
    ("IGT", "after a decrease the old delta is still shown", old_delta_shown),
    ("IGT, nvtop, qmassa", "only major number 226 is known: NPUs are missed", npu),
    ("nvtop", "memory is only parsed in KiB", "nvtop: only memory sizes in KiB are parsed"),
    ("nvtop", "memory in bytes or MiB is ignored", bare_bytes),
    ("nvtop", "enc also matches enc_1", "IGT: the key enc also matches enc_1"),
    ("nvtop", "another driver's client is credited; cycles without ns are dropped",
     "nvtop: a client of another driver on the same machine is counted"),
    ("nvtop", "if kcmp fails, only the first descriptor is read",
     "nvtop: only the first DRM descriptor of each process is read"),
    ("nvtop", "the GTT of an APU is ignored", "APU: used memory is vram (a part of the system memory) plus gtt"),
    ("nvtop", "an iGPU is recognized by 0000:00:02.0", "nvtop: any GPU in slot 0000:00:02.0 is taken for an integrated one"),
    ("nvtop", "energy and client IDs have 32 bits", "nvtop: energy is truncated to 32 bits"),
    ("nvtop, htop", "clients are identified by PID: shared ones are counted twice", shared_pid),
    ("nvtop, qmassa", "a value that went backwards is the new base: the way back counts as work", rebase),
    ("nvtop, btop, amdgpu_top", "reading wakes a sleeping GPU", sleeping),
    ("nvtop", "drm-pdev is required, and trusted more than the node", trusted_pdev),
    ("qmassa", "a process whose name is not UTF-8 is skipped", "qmassa: a process whose name is not UTF-8 is skipped"),
    ("qmassa", "an unparsable drm- line drops the whole file", "qmassa: an unparsable drm- line drops the whole file"),
    ("qmassa", "client IDs have 32 bits", client_id_32),
    ("qmassa", "drm-memory-X without drm-resident-X is shown as 0", old_memory_key),
    ("everyone", "drm-memory-X and drm-resident-X are added", "drm-memory-X and drm-resident-X are the same quantity, and are not added up"),
    ("everyone", "a memory key that disappears keeps its old number",
     "memory keys that are absent are 0 for a driver that prints only nonzero ones; old values are not kept"),
    ("everyone", "0 % if profiling is off", profiling_off),
    ("everyone", "processes that cannot be read are left out without a message", pids_said),
    ("everyone", "a clock that was reset stalls the rate", "total-cycles decreased: the GPU clock was reset, and both counters are treated as restarted"),
    ("everyone", "the engine time of clients that exit is removed from the totals", totals_stay),
    ("everyone", "the cycles of a client that had exited come back as a jump", vanished_mid),
    ("amdgpu_top", "one vanished descriptor corrupts all later ones",
     "amdgpu_top: one vanished descriptor corrupts all later ones"),
    ("amdgpu_top", "closing a client makes the sum fall",
     "amdgpu_top: previous values are kept per PID, so the sum decreases when a client closes"),
    ("amdgpu_top", "an inherited busy client makes the sum jump",
     "amdgpu_top: the sum jumps when a busy client is inherited"),
    ("amdgpu_top", "fixed column offsets for KiB", "amdgpu_top: KiB is expected in a fixed column"),
    ("amdgpu_top", "a shared client is credited to whoever comes first in /proc",
     "amdgpu_top: the first holder in /proc is shown as the owner of a shared client"),
    ("htop", "shared clients are counted once per process", "htop: a client counts once per process, so sums exceed 100 %"),
    ("htop", "busy shares above 100 %", "busy above 100 %: the printed value is limited to 100 %, for a client and for the sum of a device"),
    ("htop", "clients of xe have 0 %", "htop: engines of xe are always 0 %"),
    ("htop", "a file that fills 4096 bytes is skipped", "htop: an fdinfo file of 4096 bytes or more is skipped"),
    ("htop", "every fdinfo file of every process is read in each sample", walk),
    ("resources", "of two clients on one node the second is lost", "resources: the second of two clients on one node is lost"),
    ("resources", "memory is only parsed in KiB", bare_bytes),

    ("perf", "the elapsed time is less than the task-clock", elapsed),
    ("perf", "nan in the output", no_nan),
    ("perf", "exit code 0 although nothing was counted", nothing_counted),
    ("perf", "exit code 0 although the command was killed by SIGKILL", killed_command),
    ("perf", "intervals drift", drift),
    ("perf", "CSV is not quoted", csv_quotes),
    ("perf", "-j is not JSON with some options", json_is_json),
    ("perf", "a user's term is ORed with the alias's term", terms_replace),
    ("perf", "the message for an unmounted tracefs does not name the cause", tracefs),
    ("perf", "about thirty small writes per sample", writes_per_sample),
    ("perf", "13 MB resident memory and 26 libraries", small),
    ("perf", "recording `true` takes more than a second", quick_sample),

    ("IGT's reader of recordings", "a size of 0 or a truncated header causes an endless loop", oa_zero_size),
    ("IGT's reader of recordings", "a truncated file aborts it", oa_cut),
    ("IGT's reader of recordings", "few correlations, or samples outside of them, abort it", oa_correlations),
    ("IGT's reader of recordings", "a recording without a sample crashes it", oa_no_sample),
    ("IGT's reader of recordings", "a lost report with a body aborts it", oa_lost_body),
    ("IGT's reader of recordings", "an unknown metric set crashes it", oa_unknown_set),
    ("IGT's reader of recordings", "a wrap of the timestamp aborts it or makes CPU times wrong", oa_wrap),
    ("IGT's reader of recordings", "raw streams cannot be read", oa_raw),
    ("IGT, Mesa", "lost reports and buffers are ignored", oa_lost_said),
    ("IGT", "long runs use only the first and last report, where 32 bits wrap twice", oa_double_wrap),
    ("IGT", "the offsets of A12 and other formats are wrong", oa_offsets),
    ("IGT", "half the time on platforms with another OA clock", oa_gpu_time),
    ("IGT", "FSUB with a negative result is 1.8e19", oa_underflow),
    ("IGT", "samples at half the requested rate", oa_exponent),
    ("Mesa", "the time across a 32-bit wrap is wrong", oa_wrap),
]


def tests():
    known = {name: f for name, f, _slow in machine.TESTS}
    return [(f"{peer}: {fault}", known[how] if isinstance(how, str) else how, False) for peer, fault, how in PEERS]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_peers.py PROG")
    sys.exit(machine.main(os.path.abspath(sys.argv[1]), tests(), workers=6))
