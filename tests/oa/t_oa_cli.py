#!/usr/bin/env python3
# t_oa_cli.py PROG - tests the command `gpustat oa` itself: usage errors and outputs, long
# recordings (memory, progress, SIGINT), and comparison of the values with IGT's i915-perf-reader.
# Prints TAP. ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, eq, near  # noqa: E402
from oalib import OWN, given, good, main, make, number, once, replay, test, xml_of  # noqa: E402


# --- the command itself ---------------------------------------------------------------------------

@test("no device: exit 3 with a message; --replay needs no device")
def _(m):
    r = m.run("oa")
    check(r.code == 3 and r.out == b"" and r.err.count(b"\n") == 1, f"no device: {r!r}")
    r = m.run("oa", "--raw", "1", "2", timeout=60)
    eq(r.code, 3, f"no device ({r!r})")
    m.device("amdgpu", machine.AMD)
    r = m.run("oa")
    eq(r.code, 3, f"no device with OA ({r!r})")
    r = m.run("oa", "--replay", given("tgl_ctx").path, "--raw", "--totals")
    eq(r.code, 0, f"replay on a machine without a GPU ({r!r})")


@test("usage errors")
def _(m):
    f = m.write("f.rec", b"")
    for args in (["--replay"], ["--nonsense"], ["--replay", f, "--ctx"], ["--replay", f, "--ctx", "x"],
                 ["--replay", f, "-o", "nosuchformat"], ["--replay", f, "0"],
                 ["--replay", f, "soon"], ["--replay", f, "--metrics"], ["--period", "x"], ["--period", "0"],
                 ["--engine", "toaster"], ["--sseu", "1:2"], ["--oa-unit", "x"], ["--buffer-size", "x"],
                 ["--wait-reports", "-1"], ["--poll-period", "x"], ["-t", "never"], ["list", "a", "b"],
                 ["--replay", f, "--record", m.path("copy")], ["1", "2", "3"], ["nosuchverb"]):
        r = m.run("oa", *args, timeout=60)
        check(r.code == 2 and r.err and r.out == b"", f"oa {args}: {r!r}")
    r = m.run("oa", "-h")
    check(r.code == 0 and b"--replay" in r.out and r.err == b"", f"-h: {r!r}")
    for option in ("--metric-set --metrics --raw --reports --totals --contexts --period --ctx --engine --sseu "
                   "--record --hold-preemption --poll-period --oa-unit --buffer-size --wait-reports --replay "
                   "--platform").split():
        check(option.encode() in r.out, f"-h: no {option}")


@test("-O appends; -q suppresses messages; a full disk is an error")
def _(m):
    g = given("tgl_ctx")
    base = ["oa", "--replay", g.path, "--metrics", xml_of("tglgt2"), "-o", "json"]
    want = machine.run(base).out
    for n in (1, 2):
        r = machine.run([*base, "-O", m.path("out")])
        eq((r.code, r.out, r.err), (0, b"", b""), "-O")
        with open(m.path("out"), "rb") as f:
            eq(f.read() == want * n, True, f"written {n} times")
    r = subprocess.run(["sh", "-c", '"$@" >/dev/full', "x", machine.PROG, *base], capture_output=True, timeout=60,
                       check=False)
    check(r.returncode == 1 and r.stderr.count(b"\n") == 1, f"/dev/full: exit {r.returncode}, {r.stderr!r}")
    long = make(m, "tglgt2", "--quick", "--reports", 3000, truth=False)
    with subprocess.Popen([machine.PROG, "oa", "--replay", long.path, "--raw", "-o", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        p.stdout.close()
        eq((p.wait(60), p.stderr.read()), (-signal.SIGPIPE, b""), "a closed pipe: exit code, messages")
    path = m.write("cut.rec", good()[0][:5000])
    loud = machine.run(["oa", "--replay", path, "--raw", "--totals", "-o", "json"])
    quiet = machine.run(["oa", "--replay", path, "--raw", "--totals", "-o", "json", "-q"])
    eq((quiet.code, quiet.out), (1, loud.out), f"-q ({quiet!r})")


# --- long recordings ------------------------------------------------------------------------------

@once
def big():
    """Makes a recording of 206 MB, in a file system in memory if it has room."""
    folder = os.path.dirname(machine.PROG)
    if shutil.disk_usage(folder).free < 1 << 29:
        raise Skip("no room for a recording of 206 MB")
    m = type("M", (), {"path": lambda self, *a: os.path.join(folder, *a)})()
    return make(m, "tglgt2", "--quick", "--reports", 780000, "--exponent", 4, truth=False).path


@once
def measure():
    """Builds tests/bench/bench, which prints the maximum resident memory of a program."""
    folder = os.path.join(os.path.dirname(machine.PROG), "bench-tools")
    os.makedirs(folder, exist_ok=True)
    r = subprocess.run([os.path.join(machine.HERE, "bench", "build"), folder], capture_output=True, timeout=60,
                       check=False)
    if r.returncode:
        raise Skip("no static program can be built; needs package musl-tools")
    return os.path.join(folder, "bench")


def resident(*args):
    r = subprocess.run([measure(), "rss", " ".join([machine.PROG, "oa", *args])], capture_output=True, timeout=120,
                       check=False)
    if r.returncode:
        raise Skip("ptrace is denied here")
    return int(r.stdout)


@test("a long recording needs no more memory than a short one", True)
@machine.live
def _(m):
    small = make(m, "tglgt2", "--quick", "--reports", 10000, "--exponent", 4, truth=False).path
    for args in (["--totals", "--metrics", xml_of("tglgt2")],
                 ["--metrics", xml_of("tglgt2"), "-o", "csv", "-f", "GpuTime,EuActive"],
                 ["--raw", "--contexts", "-o", "json"]):
        few, many = resident("--replay", small, *args), resident("--replay", big(), *args)
        check(many - few <= 1024 and many < 6000, f"{args}: {few} KiB of 2.6 MB, {many} of 206 MB")


@test("a long recording: every report is counted, and each run of a context is a record", True)
@machine.live
def _(_m):
    total, = replay(big(), "--raw", "--totals", timeout=60)
    eq((total["reports"], total["lost"]), (779999, 0), "reports, lost")
    near(float(total["dt"]), 779999 * 32 / 19200000, 2e-6, "dt")
    recs = replay(big(), "--raw", "0.5", timeout=60)
    eq(sum(r["reports"] for r in recs), 779999, "reports of intervals")
    eq({n: sum(r["counter"][n] for r in recs) for n in total["counter"]}, total["counter"], "sums of intervals")
    recs = replay(big(), "--raw", "--contexts", timeout=60)
    eq({r["ctx"] for r in recs}, {0x11, 0x12}, "contexts")
    eq([r["reports"] for r in recs[:-1]], [256] * (len(recs) - 1), "reports of contexts")


def said_on_a_terminal(args, seconds):
    """Returns the output on stderr, a terminal, within this time. Then the program is stopped."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen([machine.PROG, "oa", *args], stdout=subprocess.DEVNULL, stderr=theirs) as p:
            os.close(theirs)
            got, end = b"", time.monotonic() + seconds
            while time.monotonic() < end and p.poll() is None:
                if select.select([ours], [], [], 0.1)[0]:
                    try:
                        got += os.read(ours, 4096)
                    except OSError:
                        break
                    if got:
                        break
            p.kill()
    finally:
        os.close(ours)
    return got


@test("progress is shown on a terminal, only for a long replay", True)
@machine.live
def _(_m):
    args = ["--metrics", xml_of("tglgt2"), "-o", "json"]
    got = said_on_a_terminal(["--replay", big(), *args], 60)
    check(re.search(rb"\d+ ?%", got), f"progress: {got!r}")
    eq(said_on_a_terminal(["--replay", given("tgl_ctx").path, *args], 60), b"", "messages of a short replay")
    eq(said_on_a_terminal(["--replay", big(), *args, "-q"], 1.5), b"", "with -q")
    with subprocess.Popen([machine.PROG, "oa", "--replay", big(), *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as p:
        time.sleep(1.2)
        p.terminate()
        err = p.communicate(timeout=60)[1]
    eq(err, b"", "messages without a terminal")


@test("SIGINT ends a long replay after a complete record")
@machine.live
def _(m):
    path = m.path("out")
    with open(path, "wb") as f, subprocess.Popen([machine.PROG, "oa", "--replay", big(), "--raw", "-o", "json"], stdout=f,
                                                 stderr=subprocess.PIPE) as p:
        time.sleep(0.15)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=60)[1]
    check(p.returncode == 0, f"exit {p.returncode}, {err!r}")
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - 1))
        eq(f.read() in (b"", b"\n"), True, "a complete record at the end")


# --- IGT's reader ---------------------------------------------------------------------------------

def igt_values(path):
    """Returns [(reason, {counter: text})] of each report in the output of i915-perf-reader."""
    r = subprocess.run(["i915-perf-reader", "-r", "-c", "all", path], capture_output=True, timeout=60, check=False)
    eq(r.returncode, 0, f"i915-perf-reader {path}: {r.stderr[-300:]!r}")
    got, now = [], None
    for line in r.stdout.decode("utf-8", "replace").splitlines():
        if m := re.fullmatch(r" report\d+ = (\S+)", line):
            now = (m[1], {})
            got.append(now)
        elif line.startswith(("Time:", "hw_id=")):
            now = None
        elif (m := re.fullmatch(r"   (\w+): (\S+)", line)) and now:
            now[1][m[1]] = m[2]
    return got


@test("i915-perf-reader prints the same values for recordings of its platforms", True)
@machine.live
def _(m):
    """Compares counters with the same name, because the metric sets of the reader are those of its release."""
    if not shutil.which("i915-perf-reader"):
        raise Skip("needs package intel-gpu-tools")
    if OWN:
        raise Skip("the reader has the public sets, and only ../shared/oa has their files")
    for platform in ("hsw", "bdw", "chv", "sklgt2", "kblgt2", "cflgt2", "bxt", "glk", "icl", "ehl", "tglgt1", "tglgt2"):
        g = make(m, platform, "--seed", 11, "--reports", 40, "--wrap40", "--lost", 2)
        theirs = igt_values(g.path)
        ours = replay(g.path, metrics=xml_of(platform))
        eq([r["reason"] for r in ours], [reason for reason, _c in theirs], f"{platform}: reasons")
        differ = set()
        for r, (_reason, counters) in zip(ours, theirs):
            both = set(r["counter"]) & set(counters)
            check(len(both) > 10, f"{platform}: counters in common")
            for c in both:
                if number(r["counter"][c]) != number(counters[c]):
                    differ.add(c)
        eq(differ, set(), f"{platform}: counters that differ")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_oa_cli.py PROG")
    sys.exit(main(sys.argv[1]))
