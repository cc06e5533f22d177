#!/usr/bin/env python3
# t_playback.py PROG [--bless] - top --replay: shows a recorded run on a pty. Its screens are
# compared with golden/top-replay-*.want. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import json
import os
import random
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import t_top  # noqa: E402
import tap  # noqa: E402
from machine import check, eq  # noqa: E402

PROG = t_top.PROG
START = 1763611200  # 2025-11-20 04:00:00 UTC


def device(at, n=0, busy=37.0, dt=1.0, **more):
    """Returns a record of an invented device in the form of -o json."""
    return {"schema": 1, "kind": "device", "time": at, "dt": dt, "dev": f"card{n}", "driver": "amdgpu", "pdev": f"0000:{3 + n:02x}:00.0",
            "name": None, "state": "active", "clients": 2, "unreadable": 0, "dropped": 0, "busy": busy, "used": 3 << 30,
            "engine": {"gfx": {"busy": busy, "capacity": 1, "util": None, "freq": None}, "dma": {"busy": None, "capacity": 1}},
            "vram": {"total": 24 << 30, "used": 3 << 30}, "freq": {"sclk": {"cur": 2124000000, "max": 2526000000}},
            "temp": {"edge": 52.0, "mem": 70.5}, "power": {"PPT": 112.25}, "fan": {"fan1": 1480}, "throttle": ["ppt0", "temp_edge"],
            "link": {"speed": 16.0, "width": 16}, **more}


def client(at, pid, comm="sh", n=0, kind="client", busy=12.5, dt=1.0, **more):
    return {"schema": 1, "kind": kind, "time": at, "dt": dt, "dev": f"card{n}", "driver": "amdgpu", "pdev": f"0000:{3 + n:02x}:00.0",
            "client": pid + 5, "name": None, "pid": pid, "comm": comm, "pids": [pid], "cgroup": f"/user.slice/app-{pid % 3}.scope",
            "used": pid << 20, "engine": {"gfx": {"busy": busy}, "dma": {"busy": 0.0}}, "memory": {"vram": {"resident": pid << 20}}, **more}


def lines(records):
    return "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records)


def run(n=6, step=0.2, devices=2, clients=3):
    """Returns samples of devices, and of clients that a second run writes a little later."""
    out = []
    for i in range(n):
        at = START + i * step
        out += [device(at, d, busy=float(10 * i + d), dt=step) for d in range(devices)]
        out += [client(at + 0.003, 100 + k, f"prog{k}", k % devices, busy=float(i + k), dt=step) for k in range(clients)]
    return lines(out)


def play(path, cols=80, rows=24, *options, env=None, **kw):
    return t_top.Pty(cols, rows, [PROG, "top", "--replay", path, *options], env, **kw)


class File:
    def __init__(self, text):
        self.text = text if isinstance(text, bytes) else text.encode()

    def __enter__(self):
        self.folder = t_top.Folder()
        self.path = os.path.join(self.folder.__enter__(), "run.json")
        with open(self.path, "wb") as f:
            f.write(self.text)
        return self.path

    def __exit__(self, *_):
        self.folder.__exit__()


def title(p):
    return p.text().split("\n")[0]


def at_end(p):
    p.until(" END ")
    p.settle()
    return p.text()


def press(p, keys, want=None):
    p.send(keys.encode())
    p.settle()
    if want:
        p.until(want)
    return title(p)


def brief(p):
    """Reads output for a short time, because the program is never idle during playback."""
    end = time.monotonic() + 0.15
    while time.monotonic() < end and p.read(0.02) != b"":
        pass


def screens():
    with File(run()) as path:
        for cols, rows in ((60, 20), (80, 24), (132, 30)):
            with play(path, cols, rows) as p:
                t_top.golden(f"replay-{cols}x{rows}", at_end(p) + "\n")
                eq(p.end(), 0, "exit code")
        with play(path, 80, 24, "--ascii") as p:
            s = at_end(p)
            check(s.isascii(), f"only ASCII: {s}")
            p.send(b"h")
            p.until("faster, slower")
            p.settle()
            t_top.golden("replay-help", p.text() + "\n")
            press(p, "\033")
            eq(p.end(), 0, "exit code")


def pace():
    """A run of 2 s is played in 2 s, at speed x4 in 0.5 s; a pause stops it."""
    with File(run(n=11)) as path:
        for keys, least, most in (("", 1.8, 20), ("++", 0.3, 1.6)):
            with play(path) as p:
                p.until("x1")
                since = time.monotonic()
                p.send(keys.encode())
                at_end(p)
                took = time.monotonic() - since
                check(least < took < most, f"'{keys}': took {took} s")
                p.end()
    with File(run(n=3, step=5.0)) as path:
        with play(path) as p:
            p.until("x1")
            check("x2" in press(p, "+") and "x1/2" in press(p, "--") and "x1/4" in press(p, "-"), "speeds")
            was = press(p, " ", " PAUSED ")
            time.sleep(1.2)
            p.settle()
            eq(title(p), was, "nothing moves")
            check(" PAUSED " not in press(p, " "), "plays again")
            p.end()


def gaps():
    """Playback of a run appended an hour later, of a clock set back, and of records without a time."""
    late = lines([device(START + i * 0.2 + 3600, busy=50.0 + i, dt=0.2) for i in range(3)])
    back = lines([device(START - 50 + i * 0.2, busy=70.0 + i, dt=0.2) for i in range(3)])
    for name, text in (("later", run(3) + late), ("back", run(3) + back)):
        with File(text) as path, play(path) as p:
            since = time.monotonic()
            at_end(p)
            check(time.monotonic() - since < 15, f"{name}: waited for {time.monotonic() - since} s")
            p.end()
    untimed = [{k: v for k, v in device(0, n, busy=float(i)).items() if k not in ("time", "dt")} for i in range(4) for n in range(2)]
    with File(lines(untimed)) as path, play(path, 80, 24, "-i", "0.1") as p:
        check(re.search(r"card0 .* 3\.0%", at_end(p)) and "2 devices" in title(p), f"without times: {p.text()}")
        check("PAUSED" in press(p, ",,") and re.search(r"card1 .* 1\.0%", p.text()), f"back: {p.text()[:240]}")
        p.end()
    for form, want in ((lambda t: "2025-11-20T04:00:00.700000Z", "2025-11-20 04:00:00.7"), (lambda t: 1234.5678, "1234.567s"), (lambda t: None, " 0%")):
        with File(lines([device(form(0)), device(None if form(0) is None else 1240.0)])) as path, play(path) as p:
            p.until("card0")
            check(want in title(p), f"{want}: {title(p)}")
            p.end()


def keys():
    with File(run(n=6)) as path, play(path) as p:
        at_end(p)
        eq([re.search(r"card0 .*? (\d+\.\d)%", (press(p, k), p.text())[1])[1] for k in (",", ",", ".", "r", "0", "$", ",", ",,,,,,,,", ".")],
           ["40.0", "30.0", "40.0", "50.0", "0.0", "50.0", "40.0", "0.0", "10.0"], "busy after each key")
        check("04:00:00.2" in title(p) and " PAUSED " in title(p) and "prog2" in p.text(), f"the sample after the first: {title(p)}")
        press(p, "C")
        rows = [x.split() for x in p.text().split("\n") if "prog" in x]
        eq([(r[0], r[1], r[2], r[4]) for r in rows], [("100", "card0", "1.0", "prog0"), ("101", "card1", "2.0", "prog1"), ("102", "card0", "3.0", "prog2")], "clients")
        press(p, "P")
        eq([x.split()[4] for x in p.text().split("\n") if "prog" in x], ["prog2", "prog1", "prog0"], "by busy")
        press(p, "/prog1\r")
        check("1 shown" in title(p) and p.text().count("prog") == 2, f"filter: {p.text()}")
        press(p, "\033")
        press(p, "/app-1\r")
        check("1 shown" in title(p), "filter by cgroup")
        press(p, "/\x15101\r")
        check("1 shown" in title(p) and "prog1" in p.text(), "filter by pid")
        eq(p.end(), 0, "exit code")
        check(not p.fault, p.fault)


def follows():
    """The cursor stays on its client when the order changes."""
    text = lines([client(START + i, 100 + k, busy=float((k + i) % 3)) for i in range(3) for k in range(3)])
    with File(text) as path, play(path) as p:
        p.until("x1")
        press(p, " jj")
        was = t_top.chosen(p)
        for k in "..,$":
            press(p, k)
            eq(t_top.chosen(p), was, f"after {k}")
        p.end()


def kinds():
    others = [{"schema": 1, "kind": k, "time": START, "dev": "card7", "pid": 9, "comm": "other", "value": 1}
              for k in ("cgroup", "event", "fdinfo", "counter", "oa", "sample", "nonsense", "")]
    with File(lines(others + [device(START)] + others + [client(START, 7, "shown")] + others)) as path, play(path) as p:
        s = at_end(p)
        check("shown" in s and "other" not in s and "card7" not in s and "1 device  1 client " in s, f"other kinds: {s}")
        p.end()
    with File(lines([client(START + i, 7, "aclient") for i in range(2)])) as path, play(path) as p:
        s = at_end(p) if press(p, "$") else ""
        check("card0 amdgpu 0000:03:00.0" in s and "aclient" in s, f"only clients: {s}")
        p.end()
    with File(lines([client(START, 7, "aprocess", kind="process", user="me", pids=[7, 8])])) as path, play(path) as p:
        check("aprocess" in at_end(p), f"processes: {p.text()}")
        p.end()
    whole = "[" + ",".join(lines([device(START), device(START, 1)]).split("\n")[:2]) + "]\n"
    pretty = "[\n" + ",\n".join(lines([device(START + i) for i in range(3)]).strip().split("\n")) + "\n]\n"
    for name, text, want in (("-1", whole, "2 devices"), ("an array", pretty, "1 device")):
        with File(text) as path, play(path) as p:
            press(p, "$,.")
            check(want in title(p) and "malformed" not in title(p), f"{name}: {title(p)}")
            eq(p.end(), 0, f"{name}: exit code")
    summary = [device(START, busy=b, summary=s) for s, b in (("min", 1.0), ("avg", 5.0), ("max", 9.0))]
    for text, want in ((lines(summary), " 5.0%"), (lines([device(START, busy=7.0)] + summary), " 7.0%")):
        with File(text) as path, play(path) as p:
            check(want in at_end(p).split("\n")[1], f"summaries: {p.text()[:200]}")
            p.end()
    gone = lines([device(START, n) for n in range(3)] + [device(START + 1, 1)])
    with File(gone) as path, play(path) as p:
        check("3 devices" in title(p) or p.until("3 devices") is None, "three")
        press(p, "$")
        check("1 device " in title(p) and "card2" not in p.text(), f"unplugged: {p.text()}")
        press(p, "0")
        check("3 devices" in title(p), "and back")
        p.end()


def identities():
    named = lines([device(START, n, name=name) for n, name in enumerate(("Radeon RX 7900 XTX", "Same Name", "Same Name"))])
    for cols, rows in ((132, 30), (80, 24), (60, 20), (40, 10), (60, 5)):
        with File(named) as path, play(path, cols, rows) as p:
            s = at_end(p).split("\n")
            for n, want in enumerate(("Radeon", "04:00.0", "05:00.0")):
                found = [x for x in s if x.startswith(f"card{n}")]
                check(not found or want in found[0], f"{cols}x{rows}: {found}")
            check(any(x.startswith("card0") for x in s), f"{cols}x{rows}: {s}")
            p.end()


def options():
    with File(run(2)) as path:
        for args, want in ((["--device", "card1"], "1 device  1 client "), (["--device", "0000:03:00.0"], "1 device  2 clients"), (["-p", "101"], "1 client "),
                           (["-C", "prog*"], "3 clients"), (["-C", "prog2"], "1 client "), (["-g", "/user.slice/app-2.scope"], "1 client "),
                           (["-s", "comm"], "3 clients")):
            with play(path, 100, 24, *args) as p:
                s = at_end(p)
                check(want in s.split("\n")[0], f"{args}: {s[:200]}")
                p.end()
        with play(path, 80, 24, "-c", "1") as p:
            p.all()
            eq(p.child.wait(t_top.PATIENCE), 0, "-c ends it")


def refusals():
    with t_top.Folder() as base:
        names = {k: os.path.join(base, k) for k in ("none", "fifo", "csv", "empty", "events", "binary")}
        os.mkfifo(names["fifo"])
        for k, text in (("csv", b"time,dev,busy\n1,card0,3\n"), ("empty", b""), ("events", lines([{"kind": "event", "value": 1}]).encode()),
                        ("binary", bytes(range(256)) * 100)):
            with open(names[k], "wb") as f:
                f.write(text)
        for path, want in ((names["none"], "No such file"), (base, "not a regular file"), (names["fifo"], "not a regular file"), ("/dev/null", "not a regular file"),
                           (names["csv"], "no record of a device, client or process"), (names["empty"], "no record of a device, client or process"),
                           (names["events"], "no record of a device, client or process"), (names["binary"], "no record of a device, client or process")):
            with play(path) as p:
                out = p.all().decode()
                check(want in out and "\033" not in out, f"{path}: {out!r}")
                eq(p.child.wait(t_top.PATIENCE), 1, f"{path}: exit code")
    with File(run()) as path:
        done = subprocess.run([PROG, "top", "--replay", path], capture_output=True, stdin=subprocess.DEVNULL, check=False,
                              env={**os.environ, "TERM": "xterm"})
        eq((done.returncode, done.stdout), (1, b""), "no terminal")
        check(b"--replay requires a full-screen terminal" in done.stderr, f"says so: {done.stderr}")


def malformed():
    whole = run(3)
    for name, text, bad in (("cut", whole[:-40], 1), ("cut in the first record", whole[:300] + "\n" + whole, 1), ("no line break", whole[:-1], 0),
                            ("garbage", whole + "garbage\n{}\n{\"kind\":\"device\"}\n[1,2]\n" + whole, 2),
                            ("zeros", whole.encode() + b"\0" * 5000 + b"\n" + whole.encode(), 1)):
        with File(text) as path, play(path, 120) as p:
            s = at_end(p)
            check("card0" in s and (f"{bad} malformed" in title(p)) == (bad > 0), f"{name}: {title(p)}")
            press(p, "0")
            press(p, "$,,,..")
            check((f"  {bad} malformed" in title(p)) == (bad > 0), f"{name}: each malformed line is counted once: {title(p)}")
            p.send(b"q")
            out = p.all().decode()
            check((f"{bad} malformed lines" in out) == (bad > 0), f"{name}: {out[-200:]!r}")
            eq(p.child.wait(t_top.PATIENCE), int(bad > 0), f"{name}: exit code")


def hostile():
    """Playback survives any names, numbers and depths of nesting, and the change of single bytes."""
    evil = ["\x1b[2J", "\u202e", "日本語", "a\nb\tc", "\\u0000", "x" * 5000, "", "\ud800", "é" * 40]
    rows = []
    for i, name in enumerate(evil * 3):
        rows.append(device(START, i, busy=1e300, name=name, state=name, driver=name, temp={name: -1e300, "b": 1e-300}, power={name: 1.5},
                           throttle=[name] * 50, engine={name + str(k): {"busy": 99999999999999999999} for k in range(40)}))
        rows.append({**device(START), "dev": name, "pdev": name})
        rows.append(client(START, i, name, cgroup=name, driver=name, container=name, client=-1))
    rows.append({**device(START), "dev": "c" * 200})
    deep = '{"kind":"device","dev":"card0","a":' + "[" * 70 + "]" * 70 + "}\n"
    with File(lines(rows) + deep) as path:
        for cols, rows_n in ((80, 24), (200, 60), (20, 5), (1, 1)):
            with play(path, cols, rows_n) as p:
                brief(p)
                for k in ("$", "j", "\t", "j", "s", "\033", "M", "C", "G", "/x\r", "\033", ",", "$", "h"):
                    press(p, k)
                press(p, "\033")
                check(p.end() in (0, 1) and not p.fault, f"{cols}: {p.fault}")
    rng = random.Random(3)
    text = run(4, step=0.01).encode()
    for i in range(25):
        b = bytearray(text)
        for _ in range(rng.randrange(1, 40)):
            b[rng.randrange(len(b))] = rng.choice((rng.randrange(256), 0, 34, 10, 123, 125, 92, 91, 44))
        with File(bytes(b[rng.randrange(300):])) as path, play(path) as p:
            brief(p)
            for _ in range(6):
                p.send(rng.choice((b"0", b"$", b",", b".", b" ", b"+", b"-", b"N", b"r")))
            brief(p)
            code = p.end()
            check(code in (0, 1) and not p.fault, f"run {i}: exit code {code}, {p.fault}")


def crowds():
    """Of 20 000 clients and 600 devices those that fit are shown, and the others are counted."""
    text = lines([device(START, n) for n in range(600)] + [client(START, 1000 + k, f"c{k}") for k in range(20000)] + [device(START + 1)])
    with File(text) as path, play(path, 100) as p:
        p.until("512 devices")
        press(p, " ")
        check(re.search(r"512 devices  16384 clients  \d+ dropped", title(p)), title(p))
        since = time.monotonic()
        press(p, "G")
        check("16384/16384" in p.text(), "the cursor is on the last client")
        check(time.monotonic() - since < 5, "moving the cursor is not slow")
        eq(p.end(), 0, "exit code")


def huge():
    """The last sample of a file of 300 MB is shown at once, with little memory."""
    with t_top.Folder() as base:
        path = os.path.join(base, "run.json")
        some = [lines([device(START + i, n, busy=float(i % 100)) for n in range(2)]) for i in range(1000)]
        block = "".join(some).encode()
        with open(path, "wb") as f:
            for _ in range(300_000_000 // len(block)):
                f.write(block)
            f.write(lines([device(START + 5000, n, busy=77.0) for n in range(2)]).encode())
        with play(path) as p:
            p.until("card1")
            since = time.monotonic()
            check(" END " in press(p, "$") and "77.0%" in p.text(), f"the end: {p.text()[:200]}")
            took = time.monotonic() - since
            check(took < 10, f"took {took} s")
            check(re.search(r"card0 .*99\.0%", (press(p, ","), p.text())[1]), f"the sample before the last: {p.text()[:200]}")
            press(p, "0")
            check(" 0%" in title(p), title(p))
            with open(f"/proc/{p.child.pid}/status", encoding="ascii") as f:
                resident = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
            print(f"# the end of 300 MB after {took:.2f} s, {resident} KiB resident")
            check(resident < 16384, f"{resident} KiB are resident")
            eq(p.end(), 0, "exit code")


def large_sample():
    """A sample that is longer than the block that is read when playing backwards."""
    text = lines([x for i in range(3) for x in [device(START + i, busy=float(i))] + [client(START + i, 1000 + k, "x" * 200) for k in range(3000)]])
    with File(text) as path, play(path) as p:
        press(p, " ")
        press(p, "$", " 2.0%")
        check("3000 clients" in title(p) and "card0" in p.text(), f"the last: {p.text()[:200]}")
        press(p, ",", " 1.0%")
        check("3000 clients" in title(p) and " 1.0%" in p.text(), f"the sample before the last: {p.text()[:200]}")
        eq(p.end(), 0, "exit code")


def grows():
    """Records that another process appends to the file are shown after the end of the run."""
    with File(run(2)) as path, play(path) as p:
        at_end(p)
        with open(path, "a", encoding="ascii") as f:
            f.write(lines([device(START + 60, busy=88.0)]))
        press(p, ".", "88.0%")
        check("malformed" not in title(p), title(p))
        eq(p.end(), 0, "exit code")


def confined():
    """Opens only the recording, as root and as another user, without /proc and /sys."""
    if not t_top.shutil.which("strace"):
        return "package strace"
    with File(run(2)) as path:
        log = path + ".log"
        with t_top.Pty(80, 24, ["strace", "-f", "-o", log, "-e", "trace=%file,capset,prctl,seccomp,landlock_restrict_self", PROG, "top", "--replay", path]) as p:
            at_end(p)
            eq(p.end(), 0, "exit code")
        with open(log, encoding="utf-8", errors="replace") as f:
            said = f.read()
        opened = [x for x in re.findall(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]*)"', said) if x != path]
        check(not [x for x in opened if re.match(r"/(proc|sys|dev)\b", x)], f"opened: {opened}")
        check("seccomp(SECCOMP_SET_MODE_FILTER" in said or "PR_SET_SECCOMP" in said, "a filter of system calls")
        at = said.index(os.path.basename(path) + '", O_RDONLY')
        later = [x for x in said[at + 200:].splitlines() if "openat(" in x]
        check(not later, f"files that are opened after the filter: {later}")
    return None


def main():
    start = time.monotonic()
    tests = [(screens, "screens of 60, 80 and 132 columns equal the golden files"), (pace, "a run is played at its own speed, faster, slower, and paused"),
             (gaps, "appended runs, a clock that was set back, records without times"), (keys, "keys: next, back, first, last; sort and filter"),
             (follows, "the cursor follows its client"), (kinds, "records of devices, clients and processes are shown; other kinds are skipped"),
             (identities, "a device is identified by its name, or by its slot if two have the same name"), (options, "options select devices, clients and order"),
             (refusals, "files that are not a recorded run, and a missing terminal, are refused"), (malformed, "malformed lines and a cut last line are counted"),
             (hostile, "hostile names, numbers and bytes do no harm"), (crowds, "of 20 000 clients and 600 devices those without room are counted"), (huge, "the end of a file of 300 MB is shown at once"),
             (large_sample, "samples of several megabytes are shown"), (grows, "records that are appended to the file are shown"), (confined, "only the recording is opened")]
    for f, name in tests:
        if os.environ.get("ONLY", "") not in f.__name__:
            continue
        try:
            why = f()
            tap.skip(name, why) if why else tap.report(True, name)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, TypeError, IndexError) as e:
            tap.report(False, name, *(str(e).split("\n") + [type(e).__name__]))
        print(f"# {time.monotonic() - start:.1f} s")
    tap.finish()


if __name__ == "__main__":
    main()
