#!/usr/bin/env python3
# t_output.py PROG - output: hostile names in each format, signals, and output streams that are
# closed, full or missing. The machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (FORMATS, I915, Skip, TREES, as_json, as_root, as_text, check, dump, eq,  # noqa: E402
                     ns, one_client, parse_csv, parse_json, parse_logfmt, printable, raw, run,
                     strict, test, three, until, wait_asleep)


HOSTILE = [b"two words", b"a) S 1 (b", b"new\nline", b"bad\xff\xfe\xc3utf8", b"\x1b[31mred\x1b[0m", b'q"uo,te\\\'s',
           b"100%s%n;$(id)", b" lead trail ", "caf\u00e9 \u2615".encode(), b"\r\n\t", b"=1+1", b"-", b"", b"null",
           b"\x01\x02\x7f", b"\xc2\x9b31m", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"a=b c=\"d\"", b"\\x41\\", b"#c|d",
           b"\xe2\x80\xae", b"1e5", b"a\\nb", "\u2066a\u2069\u200fb".encode(), "\u2027\u2028\u2029\u202f".encode(),
           "\u200d\u2065\u206a".encode(), "\u061b\u061c\u061d\u261c".encode(), "\u206e\u20ae\uf0ae".encode()]


def hostile(m):
    m.device("i915", I915)
    for i, n in enumerate(HOSTILE):
        pid = 100 + i
        m.process(pid, n, cgroup=b"0::/h/" + n.replace(b"\n", b"") + b"\n")
        m.write(f"proc/{pid}/comm", n + b"\n")
        name = bytes(c for c in n if 33 <= c <= 126) or b"x"
        m.fd(pid, 5, raw(dump("i915", pid, *ns(render=5), pdev=I915)) + b"drm-client-name:\t" + name + b"\n"
             + b"drm-engine-x" + n.replace(b"\n", b"").replace(b":", b"") .replace(b" ", b"").replace(b"\t", b"")
             .replace(b"\r", b"") + b":\t5 ns\n" + b"odd-key:\t" + n.replace(b"\n", b"") + b"\n")


@test("hostile names: JSON is valid and contains the names")
def _(m):
    hostile(m)
    recs = m.json("clients")
    eq([r["comm"] for r in recs], [as_json(n) for n in HOSTILE], "comm")
    eq(len(m.json("cgroups")), len({n.replace(b"\n", b"") for n in HOSTILE}), "cgroups")
    m.json()
    m.json("list")
    m.json("clients", "-r")
    r = m.run("clients", "-1", "-w", "0.02", "-o", "json")
    strict(r.out)
    printable(r.out)


@test("hostile names: no format prints a control character or one that moves the text after it")
def _(m):
    hostile(m)
    for fmt in (*FORMATS, "block", "prom", "openmetrics", "influx", "graphite", "statsd", "collectd", "svg", "chrome"):
        for args in (["clients"], ["cgroups"], ["list"], []):
            if (args and fmt == "block") or ("list" in args and fmt in ("svg", "chrome")):
                continue
            r = m.run(*args, *([] if "list" in args else ["-w", "0.02"]), "-o", fmt)
            check(r.code == 0 and r.out, f"{fmt} {args}: {r!r}")
            printable(r.out)


@test("CSV: a text that looks like a formula gets a leading ', except with --csv-exact; numbers do not")
def _(m):
    m.device("i915", I915)
    names = [b"=1+1", b"+1+1", b"-1+1", b"@SUM(1)", b"-5", b"a=1", b"=\"x\",1"]
    for i, n in enumerate(names):
        m.process(100 + i, n)
        m.fd(100 + i, 5, raw(dump("i915", 100 + i, *ns(**{"=e" if i == 0 else "e": 5}), pdev=I915)))
    want = ["'=1+1", "'+1+1", "'-1+1", "'@SUM(1)", "-5", "a=1", "'=\"x\",1"]
    for args, expected in (([], want), (["--csv-exact"], [n.decode() for n in names])):
        for form in ([], ["-f", "client,comm"]):
            out = m.run("clients", "-w", "0.02", "-o", "csv", *args, *form).out
            rows = csv.DictReader(io.StringIO(out.decode(), newline=""))
            got = {int(x["client"]): x["comm"] for x in rows}
            eq([got[100 + i] for i in range(len(names))], expected, f"{args} {form}")
        insts = {x["instance"] for x in parse_csv(m.run("clients", "-r", "-o", "csv", *args).out) if x["field"] == "engine.busy_ns"}
        eq(insts, {"e", "=e" if args else "'=e"}, f"engines {args}")


@test("logfmt: keys are unique when the names of two engines become the same")
def _(m):
    m.device("i915", I915)
    m.process(100)
    m.fd(100, 5, raw(dump("i915", 7, "drm-engine-a-b:\t1 ns", "drm-engine-a_b:\t2 ns", "drm-engine-a/b:\t3 ns", "drm-engine-c-d:\t4 ns", pdev=I915)))
    out = m.run("clients", "-r", "-o", "logfmt").out.decode().split()
    got = {k: v for k, v in (w.split("=", 1) for w in out) if k.startswith("engine.") and ".busy_ns" in k}
    eq(got, {"engine.a_b.busy_ns~2d": "1", "engine.a_b.busy_ns": "2", "engine.a_b.busy_ns~2f": "3", "engine.c_d.busy_ns": "4"}, "keys")


@test("hostile names: CSV is valid and contains the names")
def _(m):
    hostile(m)
    for args in (["clients"], ["cgroups"], [], ["list"], ["clients", "-r"]):
        r = m.run(*args, *([] if "list" in args else ["-w", "0.02"]), "-o", "csv")
        printable(r.out)
        rows = parse_csv(r.out)
        if args == ["clients"]:
            got = {int(x["client"]): x["comm"] for x in rows}
            for i, n in enumerate(HOSTILE):
                if b"\\" not in n:
                    eq(got[100 + i], ("'" if n[:1] in (b"=", b"-") and len(n) > 1 else "") + as_text(n), "comm")


@test("hostile names: logfmt is valid and contains the names")
def _(m):
    hostile(m)
    for args in (["clients"], ["cgroups"], [], ["list"], ["clients", "-r"]):
        r = m.run(*args, *([] if "list" in args else ["-w", "0.02"]), "-o", "logfmt")
        printable(r.out)
        recs = parse_logfmt(r.out)
        if args == ["clients"]:
            eq(len(recs), len(HOSTILE), "records")
            for rec, n in zip(recs, HOSTILE):
                eq(rec.get("comm"), as_json(n), "comm")


@test("hostile names: line and table have one printable line per client")
def _(m):
    hostile(m)
    for fmt in ("line", "table"):
        for args in (["clients"], ["cgroups"], [], ["list"], ["clients", "-r"]):
            r = m.run(*args, "-H", *([] if "list" in args else ["-w", "0.02"]), "-o", fmt)
            eq(r.code, 0, f"{args} ({r!r})")
            printable(r.out)
            if "clients" in args:
                eq(len(r.out.splitlines()), len(HOSTILE), f"lines of {fmt} {args}")


@test("hostile names: a cgroup path of 3 000 bytes is printed completely")
def _(m):
    path = "/" + "/".join("d" * 100 for _i in range(30))
    one_client(m, cgroup=f"0::{path}\n")
    eq(m.json("clients")[0]["cgroup"], path, "cgroup")
    eq(m.json("cgroups")[0]["cgroup"], path, "record of cgroups")
    for fmt in ("line", "table"):
        for args in ([], ["clients"], ["cgroups"]):
            eq(len(m.run(*args, "-w", "0.02", "-H", "-o", fmt).out.splitlines()), 1, f"lines of {args} {fmt}")


@test("hostile names: names of drivers and devices, and texts of dumps, are escaped in each format")
def _(m):
    text = b"drm-driver:\ta\x1b\"b,c\xff\ndrm-pdev:\tx\x07y\ndrm-client-id:\t5\ndrm-client-name:\tq\"\\%s\x1b\n" \
           b"drm-engine-e\x1b[m\",=:\t5 ns\ndrm-total-r\xff\",:\t6\nk\x1b\":\tv\x1b\"\n"
    path = m.write(os.fsdecode(b"du\"m,p\x1b\n\xff.txt"), text)
    m.fd(10, 5, text)
    for fmt, parse in (("json", parse_json), ("csv", parse_csv), ("logfmt", parse_logfmt), ("line", printable),
                       ("table", printable)):
        for args in (["fdinfo", path], ["clients", "-r", *m.roots()], ["-r", *m.roots()], ["list", *m.roots()]):
            r = run([*args, "-o", fmt])
            eq(r.code, 0, f"{args[0]} {fmt} ({r!r})")
            parse(r.out)
    bad = m.write(os.fsdecode(b"b\x1b[31m\xff.txt"), "no\n")
    r = run(["fdinfo", bad])
    check(b"\x1b" not in r.err and b"not the fdinfo of a DRM file" in r.err, f"message {r.err!r}")


def stopped(m, sig, args):
    p = subprocess.Popen([machine.PROG, *args, "-o", "json", *m.roots()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         # unbuffered, because communicate() does not return bytes that a buffered
                         # readline() has read ahead
                         bufsize=0)
    if "-w" in args:
        wait_asleep(p.pid)
    else:
        for _i in range(3):
            check(p.stdout.readline(), "no output")
    p.send_signal(sig)
    out, err = p.communicate(timeout=60)
    eq((p.returncode, err), (0, b""), f"exit code, messages after {sig.name}")
    return parse_json(out)


@test("signals: after SIGINT, SIGTERM or SIGHUP the exit code is 0, and all records are complete")
@machine.live
def _(m):
    three(m)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        stopped(m, sig, ["0.05"])
        stopped(m, sig, ["clients", "0.01"])
        stopped(m, sig, ["-w", "3600"])


@test("signals: -S prints the summary after a signal")
@machine.live
def _(m):
    one_client(m)
    check(len(stopped(m, signal.SIGINT, ["0.05", "-S"])) >= 3, "no summary")


@test("output: a closed pipe ends the program by SIGPIPE; with SIGPIPE ignored, exit 1 with a message")
def _(m):
    three(m)
    for restore in (True, False):
        for args in (["0.02"], ["clients", "0.02"], ["list"], ["fdinfo", m.write("a.txt", dump("i915", 7))], ["-h"]):
            r, w = os.pipe()
            os.close(r)
            p = subprocess.Popen([machine.PROG, *args, *m.roots()], stdout=w, stderr=subprocess.PIPE, restore_signals=restore)
            os.close(w)
            err = p.communicate(timeout=60)[1]
            if restore:
                eq((p.returncode, err), (-signal.SIGPIPE, b""), f"{args} with SIGPIPE")
            else:
                eq(p.returncode, 1, f"{args} without SIGPIPE")
                check(err.startswith(b"gpustat: "), f"message {err!r}")


@test("output: writing to /dev/full fails: exit 1 with a message")
def _(m):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    three(m)
    dumpf = m.write("a.txt", dump("i915", 7))
    for args in ([], ["clients"], ["cgroups"], ["list"], ["fdinfo", dumpf], ["-h"], ["-V"], ["-f", "help"],
                 ["0.02", "9"]):
        for fmt in FORMATS:
            with open("/dev/full", "wb") as full:
                p = subprocess.run([machine.PROG, *args, "-o", fmt, *m.roots()], stdout=full, stderr=subprocess.PIPE,
                                   timeout=60)
            eq(p.returncode, 1, f"{args} {fmt}")
            check(p.stderr.startswith(b"gpustat: "), f"message {p.stderr!r}")


@test("output: with a closed stdout: exit 1")
def _(m):
    one_client(m)
    r = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", machine.PROG, "-w", "0.02", *m.roots()], stderr=subprocess.PIPE,
                       timeout=60)
    eq(r.returncode, 1, f"exit code ({r.stderr!r})")
    r = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", machine.PROG, "-w", "0.02", *m.roots()], timeout=60)
    eq(r.returncode, 1, "exit code without stdin, stdout and stderr")


def writes(m, args, stdout):
    """Runs the program under strace. Returns for each write to stdout its length and if it ended with a newline."""
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")
    log = m.path("strace.log")
    r = subprocess.run(["strace", "-s", "1000000", "-e", "trace=write,writev", "-o", log, machine.PROG, *args, *m.roots()],
                       stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    if r.returncode != 0:
        raise Skip(f"strace: {r.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        found = [re.search(r'(\\n)?", (\d+)\) += (\d+)', line) for line in f if re.match(r"writev?\(1,", line)]
    check(all(w.group(2) == w.group(3) for w in found), "a write was incomplete")
    return [(int(w.group(2)), bool(w.group(1))) for w in found]


def many_clients(m):
    m.device("i915", I915)
    for pid in range(1000, 1150):
        m.process(pid)
        m.fd(pid, 5, dump("i915", pid, *ns(render=pid), pdev=I915))


@test("output: a sample of 150 clients is one write to a file; writes to a pipe contain whole records")
@machine.live
def _(m):
    many_clients(m)
    for fmt in ("line", "json", "csv", "table", "logfmt"):
        args = ["clients", "-w", "0.02", "-o", fmt]
        with open(m.path("out"), "wb") as f:
            whole = writes(m, args, f)
        eq(len(whole), 1, f"{fmt}: writes into a file")
        pieces = writes(m, args, subprocess.PIPE)
        check(all(n <= 4096 and ends for n, ends in pieces), f"{fmt}: pieces of {pieces}")
        least = -(-whole[0][0] // 4096)
        check(least <= len(pieces) <= 2 * least, f"{fmt}: {len(pieces)} writes of {whole[0][0]} bytes")


@test("output: binary formats (perfetto, capture) are written to a pipe in the same way as to a file")
@machine.live
def _(m):
    many_clients(m)
    for args in ["clients", "-w", "0.02", "-o", "perfetto"], ["capture"]:
        with open(m.path("out"), "wb") as f:
            whole = [n for n, _ in writes(m, args, f)]
        pieces = [n for n, _ in writes(m, args, subprocess.PIPE)]
        check(max(whole) > 8192 and len(pieces) == len(whole), f"{args}: writes of {pieces[:20]} bytes, into a file {whole[:20]}")


@test("output: each sample is written at its end")
@machine.live
def _(m):
    three(m)
    for args, n in (["0.05", "2"], 2), (["clients", "-w", "0.05"], 1), (["list"], 1):
        with open(m.path("out"), "wb") as f:
            eq([ends for _, ends in writes(m, [*args, "-o", "json"], f)], [True] * n, f"writes of {args}")


@test("output: a record longer than PIPE_BUF arrives complete through a pipe")
def _(m):
    m.device("i915", I915)
    m.process(7)
    m.fd(7, 5, dump("i915", 7, *[f"drm-engine-e{i:04d}:\t{i} ns" for i in range(200)], pdev=I915))
    r = m.run("clients", "-r", "-o", "json")
    check(len(r.out) > 4096 and r.out.count(b"\n") == 1, f"{len(r.out)} bytes")
    rec, = parse_json(r.out)
    eq(len(rec["engine"]), 200, "engines")


@test("output: colours only if stdout is a terminal")
def _(m):
    three(m)
    for fmt in FORMATS:
        check(b"\x1b" not in m.run("-w", "0.02", "-o", fmt).out, f"an escape in {fmt}")


@test("a node that is not in /sys, and whose fdinfo names another device: each client is found once")
def _(m):
    with tempfile.TemporaryDirectory() as d:
        shutil.copytree(os.path.join(TREES, "i915"), d, symlinks=True, dirs_exist_ok=True)
        os.unlink(f"{d}/sys/devices/pci0000:00/0000:00:02.0/drm/card0/device")
        r = run(["clients", "-w", "0.02", "-o", "json", "--proc", f"{d}/proc", "--sys", f"{d}/sys"], timeout=60)
    eq((r.code, r.err), (0, b""), "exit code, messages")
    shared, = [c for c in parse_json(r.out) if c["dev"] == "card0"]
    eq((shared["pids"], shared["engine"]["render"]["busy"]), ([1, 812, 2301], 0.0), "the client that three processes hold")


@test("output: numbers above 2^53 are exact")
def _(m):
    n = 2**63 + 12345
    one_client(m, text=dump("i915", 7, f"drm-engine-render:\t{n} ns", f"drm-engine-copy:\t{n} ns", pdev=I915))
    for args in (["clients", "-r"], ["-r"]):
        for fmt in ("json", "csv", "logfmt"):
            check(m.run(*args, "-o", fmt).out.count(str(n).encode()) >= 2, f"{args} {fmt}")


@test("host: a long /proc file, which the kernel returns page by page, is read to its end")
@machine.live
def _(m):
    try:
        with open("/proc/slabinfo", encoding="ascii") as f:
            names = [line.split()[0] for line in f][2:]
    except OSError as e:
        raise Skip("/proc/slabinfo may not be read here") from e
    os.makedirs(m.proc, exist_ok=True)
    os.symlink("/proc/slabinfo", f"{m.proc}/vmstat")
    out = m.run("events").out.decode()
    check(f"proc/{names[0]}/" in out and f"proc/{names[-1]}/" in out, f"{len(names)} lines; the last one is missing in {out[-200:]!r}")


@test("sensors: files that no field needs are not opened; constant files are read once")
@machine.live
def _(m):
    tree = os.path.join(TREES, "amdgpu")
    for args, shown, left_out in ((["-o", "json"], ["fan1_input", "gpu_metrics", "temp1_input"], []),
                                  ([], ["gpu_metrics", "temp1_input", "mem_info_vram_used"], ["fan1_input", "current_link_speed"]),
                                  (["clients"], ["gpu_metrics"], ["fan1_input", "temp1_input", "pp_dpm_sclk"])):
        with subprocess.Popen([machine.PROG, *args, "--proc", f"{tree}/proc", "--sys", f"{tree}/sys", "0.05", "1000"],
                              stdout=subprocess.PIPE) as p:
            p.stdout.readline()
            p.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, p.pid, os.WSTOPPED)
            opened = {os.path.basename(os.readlink(f"/proc/{p.pid}/fd/{n}")) for n in os.listdir(f"/proc/{p.pid}/fd")}
            p.kill()
        check(opened >= set(shown) and not opened & set(left_out), f"{args}: {sorted(opened)}")
    r = run(["-w", "0.02", "-o", "json", "-n", "2", "0.02", "--proc", f"{tree}/proc", "--sys", f"{tree}/sys"])
    one, two = parse_json(r.out)
    for what in ("vram", "visible", "gtt"):
        eq(two[what]["total"], one[what]["total"], f"total of {what}")
        check(one[what]["total"] > 0, f"the total of {what} is 0")


@test("start without standard streams and without /dev: no file gets a descriptor from 0 to 2")
@machine.live
def _(m):
    as_root()
    root = m.path("image")
    for name in ("proc", "sys"):
        os.makedirs(f"{root}/{name}")
    with open(f"{root}/proc/stat", "w", encoding="ascii") as f:
        f.write("cpu  1 2 3 4 5 6 7 8 9 10\n")
    os.link(machine.PROG, f"{root}/gpustat")

    def first_process():
        os.chroot(root)
        os.chdir("/")
        for fd in range(3):
            os.close(fd)
    with subprocess.Popen(["/gpustat", "host", "--proc", "/proc", "--sys", "/sys", "-O", "/out", "0.05", "1000"], executable="/gpustat",
                          preexec_fn=first_process) as p:
        until("a record", lambda: os.path.exists(f"{root}/out") and os.path.getsize(f"{root}/out"))
        links = {fd: os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd")}
        p.kill()
    check(all(links[fd] == root for fd in "012"), f"streams: {links}")
    check(sorted(links.values()).count(f"{root}/out") == 1, f"the file: {links}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_output.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
