#!/usr/bin/env python3
# t_command.py PROG - tests `gpustat run`: the exit status, signals, streams and processes of the
# command, and the report, on machines whose devices are files. Clients that the command opens are
# tested on the emulated machine, in tests/boot/command.c. Prints TAP. ONLY=TEXT and TIMES=1 are as
# in tests/machine.py.
# SPDX-License-Identifier: MIT
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, eq, main, near, parse_json, run, test  # noqa: E402

# The scalar fields of a record, in their order; the groups come after them.
SCALARS = ["schema", "kind", "time", "dt", "dev", "driver", "pdev", "name", "command", "status", "user", "system", "processes",
           "running", "readings", "opens", "clients", "ended", "unread"]


def command(m, *args, **kw):
    """Runs `gpustat run` on the devices of m, with the real /proc."""
    return run(["run", "--sys", m.sys, *args], **kw)


def records(r, code=0):
    eq(r.code, code, f"exit status ({r!r})")
    return parse_json(r.err)


@test("run: exits with the command's status, 128 + signal after a signal, 127 or 126 if it cannot be started")
def _(m):
    for words, want in ((["true"], 0), (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], 137),
                        (["no-such-command"], 127), (["/etc/passwd"], 126)):
        r = command(m, "--", *words)
        eq(r.code, want, f"{words}: exit status ({r!r})")
        check((b"exit status %d," % want in r.err) == (want not in (126, 127)), f"{words}: {r!r}")
        eq(r.out, b"", f"{words}: output")


@test("run: without -- the command begins at the first word, and the options after it are the command's")
def _(m):
    r = command(m, "sh", "-c", "echo $0 $1", "-o", "json")
    eq(r.out, b"-o json\n", "output")
    eq(r.code, 0, "exit status")


@test("run: the command keeps its standard streams; the report is on standard error")
def _(m):
    r = command(m, "--", "sh", "-c", "cat; echo own >&2", stdin=b"in\n")
    eq(r.out, b"in\n", "output")
    check(r.err.startswith(b"own\ngpustat run: sh -c "), f"{r.err!r}")


@test("run: without a GPU the report says so, and the command runs")
def _(m):
    r = command(m, "--", "sh", "-c", "echo ran; exit 5")
    eq((r.code, r.out), (5, b"ran\n"), "exit status and output")
    check(r.err.endswith(b"\n  no GPU here: /sys lists no DRM or accel device\n"), f"{r.err!r}")
    one, = records(command(m, "-o", "json", "--", "sh", "-c", "exit 5"), 5)
    eq(list(one)[:len(SCALARS)], SCALARS, "keys")
    eq((one["kind"], one["dev"], one["command"], one["status"], one["clients"]), ("run", None, "sh -c exit 5", 5, 0), "values")


@test("run: without a command, or with --proc, is a usage error")
def _(m):
    for args, want in (([], b"requires a command"), (["--"], b"requires a command"),
                       (["--proc", m.proc, "--", "echo", "ran"], b"excludes --proc")):
        r = command(m, *args)
        eq((r.code, r.out), (2, b""), f"{args}: exit status and output")
        check(want in r.err, f"{args}: {r.err!r}")


@test("run: one record per device, in the order of list; -d selects; a missing device is reported before the run")
def _(m):
    m.device("i915", machine.I915, card=0, render=128)
    m.device("xe", machine.XE, card=1, render=129)
    both = records(command(m, "-o", "json", "--", "true"))
    eq([(r["dev"], r["driver"], r["clients"], r["engine"]) for r in both], [("card0", "i915", 0, {}), ("card1", "xe", 0, {})], "records")
    eq([r["dev"] for r in records(command(m, "-d", "card1", "-o", "json", "--", "true"))], ["card1"], "-d card1")
    check(b"\ncard0 i915: no client seen\ncard1 xe: no client seen\n" in command(m, "--", "true").err, "text")
    r = command(m, "-d", "card7", "--", "echo", "ran")
    eq((r.code, r.out), (3, b""), "-d card7: exit status and output")
    check(b"no device matches -d; devices:" in r.err and b" card0" in r.err, f"{r.err!r}")


def sensor(m, name, value):
    dev = m.device("i915", machine.I915)
    m.write(f"{dev}/hwmon/hwmon0/name", "i915\n")
    return m.write(f"{dev}/hwmon/hwmon0/{name}", f"{value}\n")


@test("run: reports the energy that the device counted during the run, and the mean power")
def _(m):
    file = sensor(m, "energy1_input", 1000000)
    script = f"sleep 0.3; echo 3000000 >{file}; sleep 0.3; echo 6500000 >{file}; sleep 0.2"
    one, = records(command(m, "-o", "json", "--", "sh", "-c", script))
    (channel, joules), = one["energy"].items()
    near(joules, 5.5, 0.001, "energy")
    near(one["power"][channel], joules / one["dt"], 0.01, "mean power")
    sensor_text = command(m, "--", "sh", "-c", f"echo 7500000 >{file}; sleep 0.2").err
    check(b"energy of the device 1.0 J, mean power" in sensor_text, f"{sensor_text!r}")


@test("run: reports how busy the whole device was, including work that belongs to no client")
def _(m):
    m.device("amdgpu", machine.AMD, files={"gpu_busy_percent": "87\n"})
    one, = records(command(m, "-o", "json", "--", "sleep", "0.3"))
    eq((one["busy"], one["clients"]), (87.0, 0), "JSON")
    check(b"\n  the whole device 87.0% busy\n" in command(m, "--", "sleep", "0.3").err, "text")


@test("run: without an energy counter, energy is computed from power, and the text says 'about'")
def _(m):
    sensor(m, "power1_input", 4000000)
    one, = records(command(m, "-o", "json", "--", "sleep", "0.5"))
    near(list(one["energy"].values())[0], 4 * one["dt"], 0.3, "energy")
    check(b"energy of the device about " in command(m, "--", "sleep", "0.3").err, "text")


@test("run: -O appends the report to a file")
def _(m):
    m.device("i915", machine.I915)
    file = m.path("report")
    for code in (1, 2):
        r = command(m, "-o", "json", "-O", file, "--", "sh", "-c", f"exit {code}")
        eq((r.code, r.err), (code, b""), "exit status and messages")
    with open(file, "rb") as f:
        eq([r["status"] for r in parse_json(f.read())], [1, 2], "records")


@test("run: each format except svg shows the record")
def _(m):
    m.device("i915", machine.I915)
    for f in machine.FORMATS + ["prom", "openmetrics", "influx", "graphite", "statsd", "collectd", "kmsg"]:
        r = command(m, "-o", f, "--", "true")
        check(b"not built in" in r.err or (r.code == 0 and b"card0" in r.err), f"-o {f}: {r!r}")
    eq(command(m, "-o", "svg", "--", "echo", "ran").out, b"", "-o svg")


@test("run: reports the wall time, and the CPU time including children whose parents have ended")
def _(m):
    spin = "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done"
    alone, = records(command(m, "-o", "json", "--", "sh", "-c", spin))
    left, = records(command(m, "-o", "json", "--", "sh", "-c", f"(setsid sh -c '{spin}' &); sleep 2"))
    check(alone["user"] > 0.005 and alone["dt"] >= alone["user"] * 0.9, f"{alone}")
    check(left["user"] > alone["user"] * 0.3, f"user time {left['user']}, alone {alone['user']}")
    check(2 <= left["dt"] < 10, f"wall time {left['dt']}")


@test("run: daemons of the command are included, earlier processes are not, and processes that still run are named")
def _(m):
    m.device("i915", machine.I915)
    script = "(setsid sh -c 'sleep 0.6; exec sleep 2' &); sleep 0.5"
    one, = records(command(m, "-o", "json", "--", "sh", "-c", script))
    check(one["running"] == 2 and 3 <= one["processes"] <= 5, f"{one}")
    words = [machine.PROG, "run", "--sys", m.sys, "--", "sleep", "0.3"]
    r = subprocess.run(["sh", "-c", 'sleep 2 & exec "$@"', "sh", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, check=True)
    check(b"still run" not in r.stderr, f"{r.stderr!r}")
    r = command(m, "--", "sh", "-c", "sleep 2 >&- 2>&- & sleep 0.3")
    check(b"  its processes that still run, whose CPU time is not included: 1\n" in r.err, f"{r.err!r}")


def started(m, script):
    p = subprocess.Popen([machine.PROG, "run", "--sys", m.sys, "--", "sh", "-c", f"echo up; {script}"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, process_group=0) if sys.version_info >= (3, 11) else None
    if not p:
        raise Skip("requires Python 3.11")
    eq(p.stdout.readline(), b"up\n", "first line")
    return p


@test("run: SIGTERM and SIGHUP end the command, and the report is printed")
def _(m):
    for sig in (signal.SIGTERM, signal.SIGHUP):
        p = started(m, "exec sleep 20")
        p.send_signal(sig)
        err = p.communicate(timeout=60)[1]
        eq(p.returncode, 128 + sig, f"{sig}: exit status ({err!r})")
        check(b"exit status %d," % (128 + sig) in err, f"{err!r}")


@test("run: after an interrupt from the terminal it waits for the command, and prints the report")
def _(m):
    p = started(m, "trap 'sleep 0.3; exit 9' INT; while :; do sleep 0.1; done")
    time.sleep(0.2)
    os.killpg(p.pid, signal.SIGINT)
    err = p.communicate(timeout=60)[1]
    eq(p.returncode, 9, f"exit status ({err!r})")
    check(b"exit status 9," in err, f"{err!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], machine.TESTS))
