#!/usr/bin/env python3
# t_svg.py PROG - SVG pictures: each is valid XML and refers to no other file, with any content;
# plot draws the same picture from a recording as the original run; and a browser shows it in light
# and dark mode. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
import zlib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
import clock  # noqa: E402
from tap import finish, needs, report, skip  # noqa: E402

PROG = os.path.abspath(sys.argv[1])
needs(PROG, "plot")
TREES = os.path.join(HERE, "trees")
SVG = "{http://www.w3.org/2000/svg}"
DIR = tempfile.mkdtemp()


def run(*args, stdin=b"", timeout=120):
    return subprocess.run([PROG, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)


def roots(tree):
    return ["--proc", os.path.join(TREES, tree, "proc"), "--sys", os.path.join(TREES, tree, "sys")]


def faults(text):
    """Lists what is wrong with a picture."""
    found = []
    try:
        root = ET.fromstring(text)
    except ET.ParseError as e:
        return [f"no XML: {e}"]
    w, h = float(root.get("width")), float(root.get("height"))
    if root.tag != SVG + "svg" or root.get("viewBox") != f"0 0 {w:.0f} {h:.0f}":
        found.append("no svg with its own size")
    for e in root.iter():
        if e.tag in (SVG + "script", SVG + "image", SVG + "use", SVG + "foreignObject"):
            found.append(f"holds {e.tag}")
        for k, v in e.attrib.items():
            if k.endswith("href") or k.startswith("on") or "//" in v or re.search(r"url\((?!#)", v):
                found.append(f"{e.tag} {k}={v}")
        if e.tag == SVG + "style" and re.search(r"@import|url\(|//", e.text):
            found.append("the style refers to another file")
        if e.tag == SVG + "text" and not (0 < float(e.get("x")) < w and 0 < float(e.get("y")) < h):
            found.append(f"text outside: {e.attrib}")
    for d in re.findall(rb' d="([^"]*)"', text):
        if not re.fullmatch(rb"(M-?\d+[ ,]-?\d+|l-?\d+[,-]\d+|[hv]-?\d+|z)+", d):
            found.append(f"path: {d[:80]}")
    for x, y in re.findall(rb"M(\d+),(-?\d+)", text):
        if not (int(x) <= 6540 and -1 <= int(y) <= 2000):
            found.append(f"point outside: {x} {y}")
    return found


def plot(data, name="in", *args):
    path = os.path.join(DIR, name)
    with open(path, "wb") as f:
        f.write(data)
    return run("plot", path, *args)


def titles(text):
    return ["".join(e.itertext()) for e in ET.fromstring(text).iter(SVG + "text") if e.get("class") == "h"]


def body(text):
    """Returns the picture without the time of the run."""
    return re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, ", b"", text)


# --- every machine and kind -----------------------------------------------------------------------

for tree in sorted(d for d in os.listdir(TREES) if os.path.isdir(os.path.join(TREES, d, "proc"))):
    bad = []
    for args in [], ["procs"], ["clients"], ["cgroups"], ["-r"], ["clients", "-r"]:
        r = run(*args, "-o", "svg", *([] if "-r" in args else ["-w", "0.01"]), *roots(tree))
        if tree == "host" and r.returncode == 3 and not r.stdout:
            continue  # no device: no picture
        bad += [f"{args}: rc {r.returncode} {r.stderr}"] if r.returncode or r.stderr else faults(r.stdout)
    report(not bad, f"{tree}: pictures of devices, clients and cgroups, with rates and with -r", *bad)

rec = os.path.join(HERE, "oa", "skl.rec")
kinds = {
    "host": ["host", "-i", "0.02", "-c", "3", "-o", "svg"],
    "counters": ["counters", "host/cpu/*", "-i", "0.02", "-c", "3", "-o", "svg"],
    "oa": ["oa", "--replay", rec, "-o", "svg"],
    "oa reports": ["oa", "--replay", rec, "--reports", "-o", "svg"],
    "stat": ["stat", "-e", "cpu-clock,context-switches", "-o", "svg", "-I", "20", "--", "sleep", "0.1"],
    "stat per CPU": ["stat", "-a", "-A", "-e", "cpu-clock", "-o", "svg", "--", "sleep", "0.05"],
    "sample": ["sample", "-e", "cpu-clock", "-F", "500", "-o", "svg", "--", "sh", "-c", "i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done"],
}
for name, args in kinds.items():
    r = run(args[0], "-O", os.path.join(DIR, name), *args[1:])
    with open(os.path.join(DIR, name), "rb") as f:
        text = f.read()
    report(r.returncode == 0 and not faults(text) and titles(text), f"{name}: a valid picture with at least one panel", r, faults(text))

for args in ["list"], ["fdinfo", "/dev/null"], ["sample", "--summary", "-e", "cpu-clock", "--", "true"], ["counters"], ["doctor"]:
    r = run(args[0], "-o", "svg", *args[1:])
    report(r.returncode == 2 and r.stderr and not r.stdout, f"{args[0]}: -o svg of records without a time is a usage error", r)
r = run("stat", "-e", "cpu-clock", "-o", "svg", "-O", os.path.join(DIR, "code"), "--", "sh", "-c", "exit 3")
report(r.returncode == 3 and not faults(open(os.path.join(DIR, "code"), "rb").read()), "stat -o svg exits with the command's exit code, and writes a picture", r)

# a shell starts background commands with SIGINT ignored
signal.signal(signal.SIGINT, signal.default_int_handler)


def ended(interval, samples, sig):
    """Sends a signal to a run after a number of samples. Returns the exit code and the picture."""
    with clock.Driven([PROG, "-i", interval, "-o", "svg", *roots("i915")]) as p:
        for _ in range(samples):
            p.sleep()
            p.wake()
        p.sleep()
        os.kill(p.pid, sig)
        p.to_end()
        return p.code, p.out


try:
    code, text = ended("0.05", 6, signal.SIGINT)
    report(code == 0 and not faults(text) and b"6 samples in 250 ms" in text, "SIGINT ends the run, and the picture is drawn", text[:300])
    code, text = ended("60", 0, signal.SIGTERM)
    report(code == 0 and b">no samples<" in text and not faults(text), "SIGTERM before the first sample: the picture says that there are no samples", text[:300])
except clock.Unable as e:
    skip("a signal ends the run, and the picture is drawn", e)
r = run("-w", "0.01", "-o", "svg", "-f", "engine.busy", *roots("i915"))
report(titles(r.stdout) == ["card0 · engines busy, %"], "-f selects the quantities that are drawn", titles(r.stdout))
r = run("-w", "0.01", "-o", "svg", "-f", "freq.max,clients", *roots("i915"))
report([t.split(",")[0] for t in titles(r.stdout)] == ["card0 · clients", "card0 · freq max"], "-f can select quantities that are not drawn by default", titles(r.stdout))

# --- recordings -----------------------------------------------------------------------------------

for tree in "i915", "amdgpu", "xe", "mixed", "containers":
    for args in [], ["procs"], ["clients"], ["cgroups"]:
        if tree == "containers" and args == ["procs"]:
            continue  # it draws names with bytes that CSV escapes and JSON replaces
        args = [*args, "-r", "-t", "none", *roots(tree)]
        live, js, cs = (run(*args, "-o", o).stdout for o in ("svg", "json", "csv"))
        a, b, c = plot(js), plot(cs), plot(run(*args, "-o", "json", "-1").stdout)
        ok = not faults(live) and live == a.stdout == b.stdout == c.stdout and not a.stderr and not b.stderr
        report(ok, f"{tree} {args[0]}: a live run, JSON, CSV and a JSON array result in the same picture", live[:200], a.stdout[:200], b.stdout[:200])
for more in [], ["--reports"]:
    args = ["oa", "--replay", rec, *more]
    live, js, cs = (run(*args, "-o", o).stdout for o in ("svg", "json", "csv"))
    report(not faults(live) and live == plot(js).stdout == plot(cs).stdout, f"oa {more}: a live run, JSON and CSV result in the same picture")
args = ["-r", *roots("amdgpu")]
ids = "time,dt,kind,dev,"
# a group with only one instance has no instance name in its cell
fields = "vram.used,gtt.used,freq.cur,temp,clients"
live, wide = run(*args, "-t", "none", "-o", "svg", "-f", fields).stdout, run(*args, "-t", "none", "-o", "csv", "-f", ids + fields).stdout
report(plot(wide).stdout == live, "CSV with -f, which has several values in a cell, results in the same picture", wide, titles(live), titles(plot(wide).stdout))
js = run("host", "-i", "0.05", "-c", "3", "-o", "json").stdout
report(plot(js).returncode == 0 and len(titles(plot(js).stdout)) > 5, "the picture of a recording of host has more than five panels", titles(plot(js).stdout))
js = run("-i", "0.05", "-c", "4", "-t", "iso", "-o", "json", *roots("i915")).stdout
stamp = json.loads(js.split(b"\n")[0])["time"]
report(f"{stamp[:10]} {stamp[11:19]} UTC, 4 samples".encode() in plot(js).stdout, "times in the form of dates are read", stamp, plot(js).stdout[:300])
report(plot(js).stdout == run("plot", "-", stdin=js).stdout, "plot - reads standard input")
p = subprocess.Popen([PROG, "plot", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
for part in b"\xef", b"\xbb\xbf", js[:1], js[1:]:
    p.stdin.write(part)
    time.sleep(0.05)
report(p.communicate()[0] == plot(js).stdout, "plot reads input that arrives in small pieces")

small = open(os.path.join(HERE, "plots", "small.csv"), "rb").read()
inner = b"".join(b'{"kind":"device","summary":"%s","time":%d,"dt":1,"dev":"card0","busy":%d}\n' % (w, t, v)
                 for t in range(3) for w, v in ((b"min", 1), (b"avg", 40 + t), (b"max", 99)))
plain = b"".join(b'{"kind":"device","time":%d,"dt":1,"dev":"card0","busy":%d}\n' % (t, 40 + t) for t in range(3))
report(plot(inner).stdout == plot(plain).stdout == plot(plain + inner.replace(b'"time":', b'"time":2,"was":')).stdout,
       "JSON summaries: plot draws the means of --inner, and ignores those of -S")
head = small.split(b"\n")[0] + b"\n"
inner = head + b"".join(b"%d,1,device,card0,,,,,,,busy.%s,,%d\n" % (t, w, v) for t in range(3) for w, v in ((b"min", 1), (b"avg", 40 + t), (b"max", 99)))
report(plot(inner).stdout == plot(plain).stdout, "CSV summaries: plot draws the means of --inner", plot(inner))

want = open(os.path.join(HERE, "plots", "small.svg"), "rb").read()
r = plot(small)
report(r.stdout == want and not faults(want) and r.returncode == 0, "a small recording results in exactly the expected picture", r)
out = os.path.join(DIR, "out.svg")
r = run("plot", os.path.join(DIR, "in"), "-O", out)
report(not r.stdout and open(out, "rb").read() == want, "plot -O writes the same picture to a file", r)
r = plot(small, "in", "-f", "temp.edge")
report(titles(r.stdout) == ["card0 · temperature, °C"], "plot -f selects the quantities that are drawn", titles(r.stdout))
report(plot(small.replace(b"\n", b"\r\n")).stdout == want, "CSV with CR LF is read")
report(plot(small + small.split(b"\n")[0] + b"\n").stdout == want, "a repeated CSV header, which a second run may append, is ignored")
report(plot(b"\xef\xbb\xbf" + small).stdout == want, "a byte order mark is ignored")
rows = b"".join(b"1.0,1.0,counter,,,,,,,,%s\n" % x for x in (b"value,plain,5", b"unit,plain,", b"value,other,", b"unit,other,W"))
got = titles(plot(b"time,dt,kind,dev,driver,pdev,client,pid,comm,cgroup,field,instance,value\n" + rows).stdout)
report(got == ["plain"], "an unknown value does not take the unit of the value before it", got)
args = ["host", "-i", "0.02", "-c", "2", "-o", "json", "-t", "none"]
js = run(*args).stdout + b'{"kind":"counter","dt":0.02,"vendor":"v","name":"a \\"b\\"/\\u00e9/c","value":5,"unit":"W","dev":"c\\\\d"}\n'
other = b"".join(json.dumps(json.loads(line), sort_keys=True).encode() + b"\n" for line in js.splitlines())
report(plot(js).stdout == plot(other).stdout == plot(b"\xef\xbb\xbf" + other).stdout and not plot(other).stderr, "JSON keys in another order and a byte order mark do not change the picture",
       titles(plot(js).stdout), titles(plot(other).stdout))

# --- malformed input ------------------------------------------------------------------------------

for data, what in (b"", "an empty file"), (small.split(b"\n")[0] + b"\n", "a header without rows"):
    r = plot(data)
    report(r.returncode == 0 and b"no samples" in r.stdout and not faults(r.stdout), f"{what}: the picture says that there are no samples", r)
line = b'{"schema":1,"kind":"device","time":%d.5,"dt":1.0,"dev":"card0","engine":{"render":{"busy":12.5}}}\n'
good = b"".join(line % i for i in range(5))
odd = plot(b"".join(b'{"kind":"device","time":1,"dev":"card0","busy":%s}\n' % n for n in (b"1e999", b"1e-999", b"-0", b"0e9999999999999999999", b"1" * 400)))
report(odd.returncode == 0 and b"2 values had no room" in odd.stdout and not odd.stderr, "numbers of any size are accepted; those too large are counted", odd.stderr, odd.stdout[:300])
dates = {2**31: "2038-01-19 03:14:08", 2**32: "2106-02-07 06:28:16", 253402300799: "9999-12-31 23:59:59", 253402300800: None}
bad = [(t, d) for t, d in dates.items()
       if (f"{d} UTC" if d else "gpustat: 1 sample") not in plot(b'{"time":%d,"dev":"card0","busy":5}\n' % t).stdout.decode().split("<title>")[1][:60]]
report(not bad, "times of more than 31 and 32 bits are drawn as dates; a year of five digits is not", *bad)
bad = [t for t in ("2025-13-01T00:00:00Z", "2025-01-32T00:00:00Z", "2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z", "2025-01-01T00:00:61Z")
       if b"UTC" in plot(b'{"time":"%s","dev":"card0","busy":5}\n' % t.encode()).stdout]
report(not bad, "an impossible date is ignored", *bad)
cuts = [b'{"time":1', b'{"a":{"b":{"c":{"d":1}}}', b"{}x", b'{"a":01}', b'{"a":+1}', b'{"a":.5}', b'{"a":NaN}', b'{"a":1,}', b'{"a"}', b'{a:1}',
        b'{"a":[1,{]}', b'{"a":"\t"}', b"]", b",", b"x", b'{"a":"', b"{" * 9999, b'{"a":' * 9999, b'{"a":' + b"[" * 9999]
bad = []
for cut in cuts:
    r = plot(line % 0 + cut + b"\n" + b"".join(line % i for i in range(1, 5)))
    if r.returncode != 1 or b"line 2" not in r.stderr or r.stdout != plot(good).stdout:
        bad.append((cut[:40], r.returncode, r.stderr, r.stdout[:200]))
report(not bad, "a line that is not a record is reported, and the other lines are drawn", *bad)
r = plot(good + b"x\n" * 7)
report(r.returncode == 1 and r.stderr.count(b": line ") == 3 and b"7 malformed lines" in r.stderr, "the first three of many malformed lines are reported, and all are counted", r.stderr)
bad = []
for cut in b'a,b\n', b'"\n', b",,,,,,,,,,,,,,,,,\n", b'"a"b,,,,,,,,,,,,\n':
    r = plot(small + cut)
    if r.returncode != 1 or b"line 19" not in r.stderr or faults(r.stdout):
        bad.append((cut, r.returncode, r.stderr))
report(not bad, "rows that do not match their header are reported", *bad)
for data in b"hello\n", b"\x00\xff\n", b"a,b,c\n1,2,3\n", b"\n\n":
    r = plot(data)
    report(r.returncode == 1 and b"neither CSV nor JSON" in r.stderr and not r.stdout, f"{data}: input that is neither CSV nor JSON is refused", r)
r = run("plot", os.path.join(DIR, "absent"))
report(r.returncode == 1 and b"No such file" in r.stderr and not r.stdout, "a missing file is an error", r)
r = run("plot", DIR)
report(r.returncode == 1 and b"Is a directory" in r.stderr, "a directory is an error", r)
report(run("plot").returncode == run("plot", "a", "b").returncode == 2, "plot requires exactly one file")
short = b"\n".join(small.split(b"\n")[:4]) + b"\n"
both = [(short, "csv"), (line % 1 + line % 2, "json"), (b"[" + (line % 1)[:-1] + b"," + (line % 2)[:-1] + b"]\n", "json -1")]
for data, name in both:
    bad = []
    for i in range(len(data)):
        r = run("plot", "-", stdin=data[:i])
        if r.returncode not in (0, 1) or (r.stdout and faults(r.stdout)):
            bad.append((i, r.returncode, r.stderr))
    report(not bad, f"{name}: every truncation of its {len(data)} bytes results in a valid picture or none", *bad)
r = plot(b'{"a":"' + b"x" * (5 << 20) + b'"}\n' + good)
report(r.returncode == 1 and b"the record is too long" in r.stderr and r.stdout == plot(good).stdout, "a line that exceeds the buffer is reported, and the other lines are drawn", r.stderr)
for data, tail, name in ((small, small.split(b"\n")[1], "csv"), (good, line % 7, "json")):
    r = plot(data + b"x" * (5 << 20) + tail.strip() + b"\nno row\n" + data)
    n = 2 * data.count(b"\n") + 2
    report(r.stderr.count(b"\n") == 2 and b": line %d: the record is too long" % (n // 2) in r.stderr and
           (b": line %d: the row does not match", b": line %d: not a record")[name == "json"] % (n // 2 + 1) in r.stderr and r.stdout == plot(data + data).stdout,
           f"{name}: a line that exceeds the buffer is counted as one line, and its end is not read as a record", r.stderr)
r = plot(small + b'"' + b"x\n" * (2 << 20))
report(r.returncode == 1 and not faults(r.stdout), "a quote that is never closed: exit 1 and a valid picture", r.stderr)

# --- names with arbitrary bytes -------------------------------------------------------------------

names = ["<script>alert(1)</script>", "]]>", "&amp;", "a\"b'c", "\x01\x1b[31m", "\ufffe\uffff", "日本語", "\u202e", "-->", "x" * 300, "\\", "e\u0301" * 40]
text = "".join(json.dumps({"kind": "client", "time": 1, "dt": 1, "dev": "card0", "client": i, "pid": i, "comm": n, "used": 5},
                          ensure_ascii=i % 2 == 0) + "\n" for i, n in enumerate(names)).encode()
r = plot(text)
report(r.returncode == 0 and not faults(r.stdout), "hostile names result in a valid picture", r.stderr, faults(r.stdout))
raw = b'{"kind":"client","time":1,"dt":1,"dev":"\xff\xfe","client":1,"comm":"\xed\xa0\x80\xc0\x80","used":5}\n'
r = plot(raw)
report(r.returncode == 0 and not faults(r.stdout), "names that are not valid UTF-8 result in a valid picture", r, faults(r.stdout))

# --- long runs ------------------------------------------------------------------------------------


def long_run(n):
    for i in range(n):
        busy = 100 if i == n // 3 else 0 if i == n // 2 else 50
        yield b'%d.0,1.0,device,card0,i915,,,,,,engine.busy,render,%d\n' % (1763611200 + i, busy)


took = {}
for n in 100000, 1000000:
    path = os.path.join(DIR, "long.csv")
    with open(path, "wb") as f:
        f.write(small.split(b"\n")[0] + b"\n")
        f.writelines(long_run(n))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = run("plot", path, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took[n] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
report(took[1000000] < 30 * took[100000] + 2, "the time of plot grows linearly with the number of rows", took)
d = max(re.findall(rb'<path class="s0" d="([^"]*)"', r.stdout), key=len)
report(len(r.stdout) < 30000 and not faults(r.stdout), f"the picture of a million rows has less than 30 000 bytes: {len(r.stdout)}")
report(b"1000000 samples" in r.stdout and b">0<" in r.stdout and b">100<" in r.stdout, "the picture contains the number and the extremes of all samples")
y = at = 0
seen = set()
for op, a, b in re.findall(rb"([Ml])(-?\d+),?(-?\d+)", d):
    y = int(b) if op == b"M" else y + int(b)
    seen.add(y)
report(0 in seen and 840 in seen, "the picture shows a peak and a dip that last one sample each", sorted(seen))

# --- in a browser ---------------------------------------------------------------------------------

frames = []
for i in range(200):
    frames.append(json.dumps({"kind": "device", "time": 1763611200 + i, "dt": 1, "dev": "card0",
                              "engine": {n: {"busy": 50 + 45 * math.sin(i / 20 + k)} for k, n in enumerate("render copy video compute".split())},
                              "memory": {"a region with a name that is far too long to be shown whole": {"resident": 3e9}},
                              "freq": {"WWWWWWWWWWWWWWWWWWWWWWWWWWWW": {"cur": 1.3e9}}, "temp": {"edge": 45}}))
with open(os.path.join(DIR, "shown.svg"), "wb") as f:
    text = plot("\n".join(frames).encode()).stdout
    f.write(text)
size = [int(v) for v in re.search(rb'viewBox="0 0 (\d+) (\d+)"', text).groups()]


def shot(name, *args):
    png = os.path.join(DIR, name)
    home = tempfile.mkdtemp(dir=DIR)
    # The window is higher than the picture, because a headless browser uses a part of it.
    subprocess.run(["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + home, *args,
                    "--screenshot=" + png, f"--window-size={size[0]},{size[1] + 200}", "file://" + os.path.join(DIR, "shown.svg")],
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    with open(png, "rb") as f:
        return Page(f.read())


class Page:
    """A PNG with 8 bits per channel, as the browser writes it."""

    def __init__(self, png):
        at, data = 8, b""
        while at < len(png):
            n, kind = struct.unpack(">I4s", png[at:at + 8])
            part = png[at + 8:at + 8 + n]
            if kind == b"IHDR":
                self.width, self.height, depth, colour = struct.unpack(">IIBB", part[:10])
                assert depth == 8 and colour in (2, 6)
                self.bytes = 3 if colour == 2 else 4
            data += part if kind == b"IDAT" else b""
            at += 12 + n
        raw, step = zlib.decompress(data), self.width * self.bytes
        was, self.rows = bytearray(step), []
        for y in range(self.height):
            how, row = raw[y * (step + 1)], bytearray(raw[y * (step + 1) + 1:(y + 1) * (step + 1)])
            for i in range(step if how else 0):
                left = row[i - self.bytes] if i >= self.bytes else 0
                up, corner = was[i], was[i - self.bytes] if i >= self.bytes else 0
                to = left + up - corner
                paeth = min((abs(to - left), 0, left), (abs(to - up), 1, up), (abs(to - corner), 2, corner))[2]
                row[i] = row[i] + (0, left, up, (left + up) // 2, paeth)[how] & 255
            self.rows.append(row)
            was = row

    def at(self, x, y):
        return tuple(self.rows[y][x * self.bytes:x * self.bytes + 3])

    def colours(self, w, h):
        n = {}
        for y in range(h):
            for x in range(w):
                c = self.at(x, y)
                n[c] = n.get(c, 0) + 1
        return n


def light(c):
    return (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]) / 255


if not shutil.which("chromium-headless-shell"):
    skip("the picture in a browser", "needs package chromium-headless-shell")
else:
    pages = {"light": shot("light.png"), "dark": shot("dark.png", "--blink-settings=preferredColorScheme=0")}
    for name, page in pages.items():
        back = page.at(5, 5)
        report((light(back) > 0.9) == (name == "light") and (light(back) < 0.2) == (name == "dark"), f"{name}: the background has the right brightness", back)
        colours = {c for c, n in page.colours(*size).items() if n > 40 and abs(light(c) - light(back)) > 0.15}
        report(len(colours) >= 5, f"{name}: lines and text have enough contrast", colours)
        plain = [c for c in colours if max(c) - min(c) > 60]
        report(len(plain) >= 4, f"{name}: four lines have four colours", plain)
        # No text may reach the edges, because it would be clipped; names must end before the
        # numbers begin.
        edge = [page.at(x, y) for x in (0, 1, 2, size[0] - 3, size[0] - 2, size[0] - 1) for y in range(size[1])]
        report(set(edge) == {back}, f"{name}: text does not reach the left or right edge", set(edge))
        gutter = [page.at(x, y) for x in range(934, 942) for y in range(60, size[1])]
        report(set(gutter) == {back}, f"{name}: names do not overlap the numbers", set(gutter))
        above = [page.at(x, y) for x in range(size[0]) for y in (0, 1, size[1] - 2, size[1] - 1)]
        report(set(above) == {back}, f"{name}: nothing reaches the top or bottom edge", set(above))
    report(pages["light"].rows != pages["dark"].rows, "the pictures in light and dark mode differ")

shutil.rmtree(DIR)
finish()
