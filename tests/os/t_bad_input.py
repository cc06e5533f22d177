#!/usr/bin/env python3
# t_bad_input.py PROG - bad input: invalid arguments, files with arbitrary bytes, and more entries
# than the tables can hold. The machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import re
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import (FORMATS, I915, WINDOW, check, decode, dump, eq, ns, one_client, parse_csv,  # noqa: E402
                     parse_json, parse_logfmt, printable, raw, rewrite, right, run, test, val)


USAGE = [["--nosuch"], ["-Z"], ["nosuch"], ["0"], ["-1x"], ["abc"], ["1x"], ["1", "0"], ["1", "x"], ["1", "2", "3"],
         ["-i", "0"], ["-i", "-5"], ["-i", ""], ["-i"], ["-w", "0"], ["-w", "abc"], ["-c", "0"], ["-n", "x"], ["-c"],
         ["-o", "nosuch"], ["-o", ""], ["-t", "bogus"], ["-f", "nosuchfield"], ["-f", ""], ["-s", "nosuchfield"],
         ["-p", "x"], ["-p", ""], ["-k", "x"], ["-k", "-1"], ["--raw=1"], ["--interval="], ["clients", "abc"],
         ["list", "1"], ["fdinfo"], ["--window", "1e99"], ["99999999999999999999"], ["1", "99999999999999999999999"],
         ["-f", "busy,,dev"], ["-d", ""], ["--form=json"], ["fdinfo", "-o", "nosuch", "x"], ["-p", "99999999999999"]]


@test("bad input: each usage error ends with exit code 2, a message and no output")
def _(m):
    one_client(m)
    wrong = []
    for args in USAGE:
        r = m.run(*args, timeout=60)
        if r.code != 2 or r.out or not re.fullmatch(rb"(gpustat: [ -~]+\n)+", r.err):
            wrong.append((args, r))
    check(not wrong, f"{len(wrong)}: {wrong}")


@test("bad input: an unknown command or option is named in the message")
def _(m):
    for word in ("nosuchcommand", "--nosuchoption"):
        r = m.run(word)
        check(word.encode() in r.err, f"{word}: {r.err!r}")
    r = m.run("--interval", "x\x1b[31m\n")
    eq(r.code, 2, "exit code")
    check(b"\x1b" not in r.err, "a raw escape in the message")


@test("bad input: a machine without a device: exit code 3, a message and no output")
def _(m):
    for args in ([], ["clients"], ["cgroups"], ["list"], ["-r"], ["0.1", "3"]):
        r = m.run(*args, timeout=60)
        eq((r.code, r.out), (3, b""), f"{args}")
        check(r.err.startswith(b"gpustat: "), f"message {r.err!r}")
    one_client(m)
    for sel in ("card7", "renderD1", "0000:ff:00.0", "driver:nosuch", "1", "card", "card0x"):
        r = m.run("-d", sel)
        eq((r.code, r.out), (3, b""), f"-d {sel}")
        check(r.err.startswith(b"gpustat: "), f"message {r.err!r}")


@test("bad input: --proc or --sys without a folder: exit 1")
def _(m):
    one_client(m)
    for args in (["--proc", m.path("nowhere"), "--sys", m.sys], ["--proc", m.proc, "--sys", m.path("nowhere")],
                 ["--proc", m.path("proc/10/comm"), "--sys", m.sys]):
        r = run(args, timeout=60)
        eq((r.code, r.out), (1, b""), f"{args} ({r!r})")
        check(r.err.startswith(b"gpustat: "), "message")


@test("bad input: a file that is not a DRM file is named in a message; the others are decoded")
def _(m):
    a, b = m.write("a.txt", dump("i915", 7, *ns(render=5))), m.write("b.txt", dump("xe", 8))
    non = m.write("non drm.txt", "pos:\t0\nflags:\t02\nexp_name:\tdrm\n")
    empty = m.write("empty.txt", "")
    r = run(["fdinfo", a, non, empty, b, "-o", "json"])
    eq(r.code, 1, "exit code")
    eq([(x["file"], x["client"]) for x in parse_json(r.out)], [(a, 7), (b, 8)], "records")
    for f in (non, empty):
        check(f"fdinfo: {f}: this is not the fdinfo of a DRM file".encode() in r.err, f"message for {f}: {r.err!r}")


@test("bad input: unreadable dumps are named in a message; the others are decoded")
def _(m):
    a = m.write("a.txt", dump("i915", 7))
    r = run(["fdinfo", m.path("nowhere"), m.base, a, "-o", "json"])
    eq(r.code, 1, "exit code")
    eq([x["client"] for x in parse_json(r.out)], [7], "records")
    check(b"nowhere" in r.err and m.base.encode() in r.err, f"messages {r.err!r}")


@test("bad input: malformed lines are skipped and counted")
def _(m):
    r = decode(m, dump("i915", 7, "no colon", "drm-engine-a:\t5 parsecs", "drm-engine-b:\t-5 ns", "drm-cycles-c:\t",
                       "drm-total-d:\tx", *ns(render=5)))
    eq((r["skipped"], val(r, "engine", "render", "busy_ns")), (5, 5), "skipped, the rest")


@test("bad input: fdinfo with random bytes does no harm")
def _(m):
    import random
    rnd = random.Random(1)
    base = raw(dump("i915", 7, *ns(render=5, copy=7), "drm-total-system0:\t4 KiB", "drm-engine-capacity-video:\t2"))
    files = []
    for i in range(150):
        b = bytearray(base)
        for _k in range(rnd.randrange(1, 30)):
            what = rnd.randrange(4)
            at = rnd.randrange(len(b))
            if what == 0:
                b[at] = rnd.randrange(256)
            elif what == 1:
                del b[at:at + rnd.randrange(9)]
            elif what == 2:
                b[at:at] = bytes(rnd.randrange(256) for _j in range(rnd.randrange(6)))
            else:
                b[at:at] = rnd.choice([b"\n", b":", b"drm-", b"\0", b"99999999999999999999", b"\xff", b'"', b"\x1b"])
            b = b or bytearray(b"x")
        files.append(m.write(f"fuzz{i}", bytes(b)))
    for fmt in FORMATS:
        r = run(["fdinfo", "-o", fmt, *files])
        check(r.code in (0, 1), f"{fmt}: {r!r}")
        if fmt == "json":
            check(len(parse_json(r.out)) > 10, "too few records")
        elif fmt == "csv":
            parse_csv(r.out)
        elif fmt == "logfmt":
            parse_logfmt(r.out)
        else:
            printable(r.out)


@test("bad input: a line after NUL bytes, CR LF and a line of 100 000 bytes is decoded")
def _(m):
    r = decode(m, raw(dump("i915", 7)) + b"drm-engine-a:\t5 ns\r\n\0\0\0\nx:" + b"y" * 100000
               + b"\ndrm-engine-b:\t6 ns\n")
    eq(val(r, "engine", "b", "busy_ns"), 6, "busy_ns of the line after them")


@test("bad input: of 5 000 engines those without room are counted, and the others are correct")
def _(m):
    lines = [f"drm-engine-e{i}:\t{i + 1} ns" for i in range(5000)]
    r = decode(m, dump("i915", 7, *lines))
    check(len(r["engine"]) >= 64, f"only {len(r['engine'])} engines")
    for name, e in r["engine"].items():
        eq(e["busy_ns"], int(name[1:]) + 1, f"busy_ns of {name}")
    eq(len(r["engine"]) + r["dropped"], 5000, "kept + dropped")
    for fmt in FORMATS:
        x = run(["fdinfo", "-o", fmt, m.write("many.txt", dump("i915", 7, *lines))])
        eq(x.code, 0, f"exit code with {fmt} ({x!r})")


@test("bad input: 5 000 regions of one live client do not affect another client")
def _(m):
    m.device("i915", I915)
    lines = [f"drm-total-r{i}:\t{i + 1} KiB" for i in range(5000)]
    m.fd(10, 5, dump("i915", 7, *lines, pdev=I915))
    m.fd(20, 5, dump("i915", 8, *ns(render=5), "drm-total-system0:\t4 KiB", pdev=I915))
    recs = {r["client"]: r for r in m.json("clients", "-r")}
    eq(sorted(recs), [7, 8], "clients")
    eq(val(recs[8], "engine", "render", "busy_ns"), 5, "the neighbour")
    for name, e in recs[7]["memory"].items():
        eq(e["total"], (int(name[1:]) + 1) << 10, f"total of {name}")
    d, = m.json("-r")
    check(d["dropped"] + recs[7].get("dropped", 0) > 0 or len(recs[7]["memory"]) == 5000, "dropped is 0")
    eq(val(d, "engine", "render", "busy_ns"), 5, "engine of the device")


@test("bad input: a record larger than any buffer is left out completely, with exit code 0")
def _(m):
    one_client(m, text=dump("i915", 7, *[f"x{i}:\t" + "\x01" * 200 for i in range(300)], *ns(render=5), pdev=I915))
    m.fd(20, 5, dump("i915", 8, *ns(render=6), pdev=I915))
    for args in (["clients"], []):
        for fmt in FORMATS:
            r = m.run(*args, "-w", "0.02", "-o", fmt)
            eq(r.code, 0, f"exit code of {args} {fmt} ({r!r})")
            check(r.out.endswith(b"\n"), f"an incomplete record: {r.out[-80:]!r}")
    r = m.run("clients", "-r", "-o", "json")
    recs = {x["client"]: x for x in parse_json(r.out)}
    eq(val(recs[8], "engine", "render", "busy_ns"), 6, "the neighbour")
    check(7 in recs or r.err, "left out without a message")
    d, = m.json("-r")
    eq(val(d, "engine", "render", "busy_ns"), 11, "sum of the device")


@test("bad input: engines and regions with names that are too long are counted as dropped")
def _(m):
    long = "n" * 300
    r = decode(m, dump("i915", 7, f"drm-engine-{long}:\t5 ns", f"drm-total-{long}:\t6", *ns(render=7)))
    eq(val(r, "engine", "render", "busy_ns"), 7, "the others")
    check((val(r, "engine", long, "busy_ns"), val(r, "memory", long, "total")) == (5, 6) or r["dropped"] == 2,
          f"dropped {r['dropped']}")


@test("bad input: devices that exceed the table are counted as dropped")
def _(m):
    want = 100
    for i in range(want):
        m.device("i915", f"0000:{i:02x}:00.0", card=i, render=None)
    recs = m.json("-r")
    eq(len(recs) + recs[0]["dropped"], want, "devices + dropped")
    check(len(recs) >= 16, f"{len(recs)} devices")
    for r in recs:
        eq(r["pdev"], f"0000:{int(r['dev'][4:]):02x}:00.0", f"pdev of {r['dev']}")


@test("bad input: of 6 000 cgroups each has correct sums or is counted as dropped", slow=True)
def _(m):
    m.device("i915", I915)
    want = 6000
    for i in range(want):
        d = m.path(f"proc/{i + 10}")
        os.makedirs(f"{d}/fd")
        os.makedirs(f"{d}/fdinfo")
        os.symlink("/dev/dri/renderD128", f"{d}/fd/3")
        text = f"drm-driver:\ti915\ndrm-client-id:\t{i + 1}\ndrm-engine-render:\t{i + 1} ns\n"
        for name, text in (("fdinfo/3", text), ("cgroup", f"0::/c/{i + 1}\n"), ("comm", f"p{i}\n")):
            with open(f"{d}/{name}", "w", encoding="ascii") as f:
                f.write(text)
    recs = m.json("cgroups", "-r", timeout=60)
    check(len(recs) >= 1000, f"{len(recs)} cgroups")
    for r in recs:
        if r["clients"] == 1 and r["cgroup"] is not None:
            eq(f"/c/{val(r, 'engine', 'render', 'busy_ns')}", r["cgroup"], "counter of the cgroup's client")
    d, = m.json("-r", timeout=60)
    eq((d["clients"], val(d, "engine", "render", "busy_ns")), (want, want * (want + 1) // 2), "clients, sum")
    if len(recs) < want:
        check(d["dropped"] > 0 or m.run("cgroups", "-r", "-v").err, "dropped is 0")


@test("bad input: a dump of 3 MiB is decoded or refused with a message")
def _(m):
    path = m.write("big.txt", "lock:\t1: POSIX  ADVISORY  WRITE 1 fd:01:1 0 EOF\n" * 70000 + dump("i915", 7))
    r = run(["fdinfo", "-o", "json", path, m.write("b.txt", dump("i915", 8))])
    got = [x["client"] for x in parse_json(r.out)]
    check((r.code, got) == (0, [7, 8]) or (r.code == 1 and got == [8] and b"big.txt" in r.err), f"{r!r}")


@test("bad input: all clients are read although the descriptor limit is below their number")
def _(m):
    m.device("i915", I915)
    m.process(10)
    files = {c: m.fd(10, c, dump("i915", c, *ns(render=0), pdev=I915)) for c in range(3, 203)}
    def step():
        for c, f in files.items():
            rewrite(f, dump("i915", c, *ns(render=c * 10**6), pdev=I915))
    with m.driven("clients", "-w", str(WINDOW), "-o", "json", limit=24) as p:
        check(p.sleep(), "the run does not sleep")
        step()
        p.wake()
        p.to_end()
    eq((p.code, p.err), (0, b""), "exit code, messages")
    out = p.out
    recs = {r["client"]: r for r in parse_json(out)}
    eq(sorted(recs), sorted(files), "clients")
    for c, r in recs.items():
        right(r, "render", c * 10**6, f"client {c}")


@test("bad input: clients that exceed the table are counted as dropped", slow=True)
def _(m):
    m.device("i915", I915)
    want, procs = 20000, 20
    for p in range(procs):
        m.process(1000 + p)
        d = m.path(f"proc/{1000 + p}")
        for i in range(want // procs):
            c = p * (want // procs) + i + 1
            os.symlink("/dev/dri/renderD128", f"{d}/fd/{i + 3}")
            with open(f"{d}/fdinfo/{i + 3}", "w", encoding="ascii") as f:
                f.write(f"drm-driver:\ti915\ndrm-client-id:\t{c}\ndrm-engine-render:\t{c} ns\n")
    d, = m.json("-r", timeout=60)
    eq(d["clients"] + d["dropped"], want, "clients + dropped")
    recs = m.json("clients", "-r", timeout=60)
    eq(len(recs), d["clients"], "records of clients")
    check(len(recs) >= 2000, "fewer than 2 000 clients")
    for r in recs:
        eq(val(r, "engine", "render", "busy_ns"), r["client"], "busy_ns")


def one_valid_record(m, text):
    path = m.write("twice.txt", text)
    one_client(m, text=text)
    for args in (["fdinfo", path], ["clients", "-r", *m.roots()], ["-r", *m.roots()]):
        rec, = parse_json(run([*args, "-o", "json"]).out)
        eq(val(rec, "engine", "copy", "busy_ns"), 6, "copy")
        parse_csv(run([*args, "-o", "csv"]).out)
        # logfmt keys contain only letters, digits, '_', '.' and '~', but different names need different keys
        parse_logfmt(run([*args, "-o", "logfmt"]).out)


@test("bad input: repeated keys result in one valid record")
def _(m):
    one_valid_record(m, dump("i915", 7, "foo:\t1", "foo:\t2", *ns(render=5, copy=6), "drm-engine-render:\t9 ns",
                             "drm-total-a:\t4", "drm-total-a:\t5", "drm-engine-capacity-copy:\t2",
                             "drm-engine-capacity-copy:\t3"))


@test("bad input: names that are equal in text formats result in one valid record")
def _(m):
    one_valid_record(m, dump("i915", 7, *ns(render=5, copy=6), "drm-engine-a-b:\t3 ns", "drm-engine-a_b:\t4 ns",
                             "drm-total-a.b:\t5", "drm-total-a-b:\t6", "k-1:\t5", "k_1:\t6"))


@test("bad input: names that differ only in invalid UTF-8 result in one valid record")
def _(m):
    one_valid_record(m, raw(dump("i915", 7, *ns(render=5, copy=6)))
                     + b"drm-engine-\xff:\t1 ns\ndrm-engine-\xfe:\t2 ns\n"
                     b"bar\xff:\t1\nbar\xfe:\t2\ndrm-total-\xff:\t1\ndrm-total-\xfe:\t1\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_bad_input.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
