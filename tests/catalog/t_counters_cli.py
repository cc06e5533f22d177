#!/usr/bin/env python3
# t_counters_cli.py PROG - gpustat counters and gpustat host, run as a user does: the list and its
# names; values of this machine compared with procps and /proc; formats; words that are names,
# globs, times or errors; counters of other programs. Prints TAP; exit 0 if all tests pass.
# ONLY=TEXT and TIMES=1 are as in tests/machine.py.
# SPDX-License-Identifier: MIT
import csv
import ctypes
import fcntl
import io
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import FORMATS, Skip, check, eq, near, parse_csv, parse_json, parse_logfmt, printable  # noqa: E402

TESTS = []
KEYS = "schema kind time dt vendor name value unit".split()
LIST_KEYS = "schema kind time dt index vendor name value unit min max scale description".split()
# Section 3 of KHR_perfcounter: the names of the machine's counters, and those of each CPU and GPU.
MACHINE = ["Physical memory usage", "Virtual memory usage", "Cache pages fault / sec", "File read bytes / sec",
           "File write bytes / sec", "I/O read bytes / sec", "I/O write bytes / sec", "Processes amount", "Threads amount",
           "Context switched / sec", "Graphic driver utilization", "GPU memory usage", "Primitive count",
           "Culled primitive count"]
CPU = ["CPU {} utilization", "CPU {} user mode utilization", "CPU {} kernel mode utilization"]
GPU = ["GPU {} utilization", "GPU {} vertex processors utilization", "GPU {} fragment processors utilization"]
LINE = "CPU USER SYS IOWT MEM SWAP FAULTS READ WRITE PROCS CTXSW LOAD".split()


def test(name, alone=False):
    def add(f):
        TESTS.append((name, f, alone))
        return f
    return add


def run(*args, **kw):
    return machine.run([str(a) for a in args], **kw)


def good(*args, **kw):
    r = run(*args, **kw)
    eq((r.code, r.err), (0, b""), f"{args}")
    return r.out


def tree(name):
    return ["--proc", os.path.join(machine.TREES, name, "proc"), "--sys", os.path.join(machine.TREES, name, "sys")]


def listed(*args, **kw):
    return parse_json(good("counters", "-v", "-o", "json", *args, **kw))


def values(*args, **kw):
    """Returns the values of a run by counter: {name: [value, ...]}."""
    got = {}
    for r in parse_json(good(args[0], "-o", "json", *args[1:], **kw)):
        got.setdefault(r["name"], []).append(r["value"])
    return got


def refused(code, word, *args, **kw):
    """Checks that a run exits with this code, prints nothing, and has one line of message that
    contains the text `word`."""
    r = run(*args, **kw)
    eq((r.code, r.out), (code, b""), f"{args} ({r!r})")
    check(re.fullmatch(rb"gpustat: [ -~]+\n", r.err) and word.encode() in r.err, f"{args}: message {r.err!r}")


def cpus():
    with open("/proc/stat", encoding="ascii") as f:
        return re.findall(r"^cpu(\d+) ", f.read(), re.M)


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


# --- the list -------------------------------------------------------------------------------------

def check_list(recs):
    eq([r["index"] for r in recs], list(range(len(recs))), "indexes")
    eq(len({(r["vendor"], r["name"]) for r in recs}), len(recs), "number of different names per vendor")
    for r in recs:
        what = r["name"]
        eq(list(r), LIST_KEYS, f"keys of {what}")
        eq((r["schema"], r["kind"], r["value"], r["dt"]), (1, "counter", None, None), what)
        check(what and r["vendor"] and r["description"], f"empty text: {r}")
        check(not r["unit"] or r["description"].endswith(f"({r['unit']})"), f"{what}: unit in {r['description']!r}")
        eq(r["scale"] is None, not r["max"], f"{what}: a scale exists exactly if there is a limit")
        if r["max"]:
            eq(float32(r["scale"]), float32(100 / r["max"]), f"{what}: scale")
        if r["unit"] == "%":
            eq((r["min"], r["max"], r["scale"]), (0, 100, 1), what)


@test("list: each counter has its index, limits, scale and unit")
def _(_m):
    check_list(listed())


@test("list: counters of captured machines have their index, limits, scale and unit")
def _(_m):
    for name in ("host", "mixed", "i915", "panfrost", "amdgpu", "jetson", "containers"):
        check_list(listed(*tree(name)))


@test("list: the recommended names of this machine, its CPUs and GPUs come before all other names")
def _(_m):
    for args in ([], tree("mixed"), tree("panfrost")):
        names = [r["name"] for r in listed(*args)]
        gpus = [int(m[1]) for n in names if (m := re.fullmatch(r"GPU (\d+) utilization", n))]
        want = MACHINE + [n.format(g) for n in GPU for g in gpus]
        if not args:
            want += [n.format(c) for n in CPU for c in cpus()]
        else:
            check(gpus and gpus == list(range(len(gpus))), f"GPUs {gpus}")
        for n in want:
            eq(names.count(n), 1, f"{n!r}: times in the list")
        natives = [i for i, n in enumerate(names) if re.fullmatch(r"[^/ ]+/.*/[^/]+/[^/]+", n)]
        check(natives, "no counter with a name of its own")
        eq([n for n in want if names.index(n) > natives[0]], [], "recommended names after other names")


@test("list: the five formats contain the same counters")
def _(_m):
    args = ["counters", "-v", "-t", "none", *tree("host")]
    recs = listed(*tree("host"))
    names = [r["name"] for r in recs]
    eq([r["name"] for r in parse_logfmt(good(*args, "-o", "logfmt"))], names, "logfmt")
    rows = parse_csv(good(*args, "-o", "csv"))
    eq([r["instance"] for r in rows if r["field"] == "index"], names, "csv")
    eq({r["field"] for r in rows}, set(LIST_KEYS) - {"schema", "kind", "time", "dt", "name"}, "fields of csv")
    for fmt in ("line", "table"):
        lines = printable(good(*args, "-o", fmt)).splitlines()
        eq(len(lines), len(names) + 1, f"lines of {fmt}")
        check(lines[0].split()[0] in ("INDEX", "index"), f"header {lines[0]!r}")
        eq(lines[1:], printable(good(*args, "-o", fmt, "-H")).splitlines(), f"{fmt} without header")
        for line, name in zip(lines[1:], names):
            check(name in line, f"{name!r} in {line!r}")
    wide = list(csv.reader(io.StringIO(good(*args, "-o", "csv", "-f", "index,name,max").decode()), strict=True))
    eq(wide, [["index", "name", "max"]] + [[str(r["index"]), r["name"], "" if r["max"] is None else str(r["max"])]
                                           for r in recs], "csv with -f")
    eq(good(*args, "-f", "name", "-H").decode().splitlines(), names, "line with -f")
    one = good(*args, "-o", "json", "-1")
    eq([r["name"] for r in machine.strict(one)], names, "json -1")


@test("list: without -v it has the recommended names, the counters of GPUs and those of other programs")
def _(m):
    os.mkdir(m.path("supplied"))
    m.write("supplied/farm", "own 5\n")
    env = dict(os.environ, GPUSTAT_COUNTERS=m.path("supplied"))
    for name in ("mixed", "panfrost", "host"):
        every, short = listed(*tree(name), env=env), parse_json(good("counters", "-o", "json", *tree(name), env=env))
        eq([r["name"] for r in short], [r["name"] for r in every if r["name"].startswith("drm/") or r["vendor"] == "farm" or
                                        r["index"] < next(k["index"] for k in every if k["name"].startswith("host/"))], name)
        eq(short, [r | {"time": s["time"]} for s in short for r in every if r["index"] == s["index"]], f"{name}: records")


@test("list: without -v it has the events of GPU drivers, but not those of other PMUs")
def _(m):
    for pmu, event in (("i915", "rc6-residency"), ("i915_0000_03_00.0", "rc6-residency"), ("xe_0000_03_00.0", "gt-c6-residency"),
                       ("amdgpu_0", "df_all"), ("uncore_imc_0", "data_reads"), ("i2c", "bytes")):
        m.write(f"{m.sys}/bus/event_source/devices/{pmu}/type", "30\n")
        m.write(f"{m.sys}/bus/event_source/devices/{pmu}/cpumask", "0\n")
        m.write(f"{m.sys}/bus/event_source/devices/{pmu}/events/{event}", "config=0x2\n")
    short, every = ({r["name"] for r in parse_json(good("counters", *args, "-o", "json", "--sys", m.sys))} for args in ([], ["-v"]))
    eq(sorted(n for n in short if n.startswith("perf/")),
       ["perf/amdgpu_0/all/df_all", "perf/i915/all/rc6-residency", "perf/i915_0000_03_00.0/all/rc6-residency",
        "perf/xe_0000_03_00.0/all/gt-c6-residency"], "counters")
    check({"perf/uncore_imc_0/all/data_reads", "perf/i2c/all/bytes"} < every, f"counters -v: {every}")


@test("list: a word selects the counters whose names contain it; for a misspelt word the nearest name is suggested")
def _(_m):
    for word, text in (("frames", "frames"), ("GPU MEM", "GPU mem"), ("CPU 1 util", "CPU 1 util"), ("/UTIL", "/util")):
        got = [r["name"] for r in parse_json(good("counters", word, "-o", "json", *tree("mixed")))]
        want = [r["name"] for r in listed(*tree("mixed")) if text.lower() in r["name"].lower()]
        check(got == want and got, f"{word}: {got}")
    for args in (["CPU 0 utilisation"], ["CPU 0 utilisation", "1"], ["Processes amount", "CPU 0 utilisation"]):
        refused(1, "did you mean 'CPU 0 utilization'?", "counters", *args)
    refused(1, "did you mean 'GPU 0 fragment processors utilization'?", "counters", "GPU 0 fragmentt procesors utilisation")
    refused(1, "did you mean 'perf/software/all/alignment-faults'?", "counters", "perf/software/all/aligment-faluts")
    refused(1, "no such counter: CPU 0 util; ", "counters", "CPU 0 util", "--on-stdin")
    refused(1, "no such counter: nonsense; gpustat counters -v lists them", "counters", "nonsense")


@test("list: the description of a counter names the capability that the counter requires")
def _(_m):
    for r in listed(*tree("host")):
        right = re.search(r"; requires (CAP_[A-Z_]+)(?: \(|$)", r["description"])
        want = next((w for p, w in (("perf/", "CAP_PERFMON"), ("GPU 0 frames", "CAP_PERFMON"), ("host/file/", "CAP_SYS_PTRACE"),
                                    ("File ", "CAP_SYS_PTRACE"), ("host/energy/", "CAP_DAC_READ_SEARCH")) if r["name"].startswith(p)), None)
        eq(right and right[1], want, r["name"])


@test("list: names and indexes equal those of the C library")
def _(m):
    """Compares with kdGetCounterInformationKHR() in a program that links the library, if such a
    program can be built."""
    if not shutil.which("gcc"):
        raise Skip("needs package gcc")
    copy = m.path("copy")
    shutil.copytree(machine.ROOT, copy, ignore=shutil.ignore_patterns("build", ".git", "tests", "*.o"))
    shutil.copytree(os.path.join(machine.ROOT, "tests"), m.path("copy/tests"),
                    ignore=lambda d, names: names if d != os.path.join(machine.ROOT, "tests") else
                    [n for n in names if n != "toolchain"])
    made = subprocess.run(["make", "-s", "-j2", "-C", copy, "libgpustat.a", "CFLAGS=-O1"], capture_output=True,
                          timeout=1200, check=False)
    eq(made.returncode, 0, f"make libgpustat.a: {made.stderr[-300:]!r}")
    source = m.write("c.c", """
        #include <KD/KHR_perfcounter.h>
        #include <stdio.h>
        int main(void) {
            int n = kdGetNumberOfCountersKHR();
            for (int i = 0; i < n; i++) {
                const KDCounterInfoKHR *c = kdGetCounterInformationKHR(i);
                printf("%s\\t%s\\t%s\\t%lld\\t%lld\\t%.9g\\n", c->vendorName, c->name, c->description,
                       (long long)c->minValue, (long long)c->maxValue, (double)c->defaultScale);
            }
            return 0;
        }""")
    subprocess.run(["gcc", "-I", os.path.join(copy, "include"), "-o", m.path("c"), source, os.path.join(copy, "libgpustat.a")],
                   check=True, timeout=60)
    got = [line.split("\t") for line in subprocess.run([m.path("c")], capture_output=True, check=True, timeout=60)
           .stdout.decode().splitlines()]
    recs = listed()
    eq([g[1] for g in got], [r["name"] for r in recs], "names")
    for g, r in zip(got, recs):
        eq((g[0], g[2]), (r["vendor"], r["description"]), f"texts of {r['name']}")
        eq(int(g[4]), (1 << 63) - 1 if r["max"] is None else r["max"], f"max of {r['name']}")
        near(float(g[5]), -1 if r["scale"] is None else r["scale"], 1e-6 * abs(float(g[5])), f"scale of {r['name']}")


@test("names: only the providers that can have the requested name are read")
def _(m):
    """Detects which providers are read by the folders that are opened. The folder of other programs
    is read for any name, because programs may choose any name."""
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    supplied = m.path("supplied")
    os.mkdir(supplied)
    m.write("supplied/one", "0.2 5 x\nhost/own 6\n")

    def looked(*args):
        log = m.path("log")
        r = subprocess.run(["strace", "-o", log, machine.PROG, *args, *tree("host")], capture_output=True,
                           timeout=60, check=False, env=dict(os.environ, GPUSTAT_COUNTERS=supplied))
        if not os.path.exists(log):
            raise Skip("strace may not trace here")
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        where = {"host": '"diskstats"', "gpu": '"class/drm', "event": '"bus/event_source', "sensor": '"class/hwmon"',
                 "file": supplied}
        eq(r.returncode in (0, 1, 4), True, f"{args}: {r.stderr!r}")
        return {k for k, path in where.items() if path in text}

    every = {"host", "gpu", "event", "sensor", "file"}
    eq(looked("counters"), every, "the list")
    eq(looked("counters", "nonsense"), every, "a word that no name contains")
    eq(looked("counters", "-w", "10ms", "*"), every, "*")
    eq(looked("counters", "-w", "10ms", "h*"), every - {"event"}, "h*")
    eq(looked("counters", "-w", "10ms", "host/cpu/*"), {"host", "file"}, "host/cpu/*")
    eq(looked("counters", "-w", "10ms", "host/own"), {"host", "file"}, "a name of another program")
    eq(looked("counters", "perf/software/all/cs", "0.01", "1"), {"event", "file"}, "an event")
    eq(looked("counters", "0.2", "0.01", "1"), {"file"}, "a name of another program that is like an interval")
    eq(looked("counters", "-w", "10ms", "hwmon/*/temp1/*"), {"sensor", "file"}, "sensors")
    eq(looked("counters", "-w", "10ms", "CPU 0 utilization"), {"host", "gpu", "file"}, "a recommended name")
    eq(looked("host", "0.01", "1"), {"host"}, "host")
    eq(looked("host", "0.01", "1", "-f", "load/-/1"), {"host"}, "host -f load/-/1")
    eq(looked("host", "0.01", "1", "-f", "load/-/1,perf/software/all/cs"), {"host", "event", "file"}, "host -f with an event")


# --- values ---------------------------------------------------------------------------------------

@test("values: each sample has a record for each name, in the given order")
def _(_m):
    names = ["Processes amount", "CPU 0 utilization", "Physical memory usage", "Context switched / sec"]
    recs = parse_json(good("counters", *names, "0.05", 3, "-o", "json"))
    eq([r["name"] for r in recs], names * 3, "names")
    eq(len({r["time"] for r in recs}), 3, "samples")
    for r in recs:
        eq(list(r), KEYS, "keys")
        near(r["dt"], 0.05, 0.04, "dt")
        check(isinstance(r["value"], int), f"{r['name']}: {r['value']!r}")
    check(all(0 <= r["value"] <= 100 for r in recs if r["unit"] == "%"), "a percentage outside its limits")
    for fmt in FORMATS:
        out = printable(good("counters", *names, "0.02", 2, "-o", fmt))
        eq(len(re.findall(r"Processes( |\\x20)amount", out)), 6 if fmt == "csv" else 2, f"samples of {fmt}")


@test("values: number of samples for words and options, and messages about invalid ones")
def _(_m):
    n = "Processes amount"
    for words, many in (([n], 1), ([n, "0.02", "2"], 2), (["-i", "0.02", "-c", "3", n], 3), ([n, "0.02", "-n", "2"], 2),
                        ([n, "-c", "1"], 1), ([n, n, "-w", "0.02"], 1), (["--", n, "20ms", "2"], 2)):
        words = words if "-w" in words or len(words) > 1 else [*words, "-w", "0.02"]
        eq(len(values("counters", *words)[n]), many, f"{words}")
    refused(1, "no such counter: nonsense", "counters", "nonsense")
    refused(1, "no such counter: 0", "counters", "0", "-w", "0.02")
    refused(1, "no such counter: proc* ", "counters", "proc* ")
    refused(1, "no such counter: Q*", "counters", n, "Q*")
    refused(1, "no such counter: x\\x1b[31m", "counters", "x\033[31m")
    refused(1, "no such counter: 1x", "counters", n, "1x")
    refused(2, "NAME is missing", "counters", "1")
    refused(2, "NAME is missing", "counters", "-i", "1")
    refused(2, "invalid count '0'", "counters", n, "1", "0")
    refused(2, "invalid count 'x'", "counters", n, "1", "x")
    refused(2, "unexpected argument", "counters", n, "1", "2", "3")
    refused(2, "is not an option of counters", "counters", "-S", n)
    refused(2, "is not an option of counters", "counters", "--raw", n)
    refused(2, "no such field", "counters", "-f", "busy", n)
    refused(2, "unexpected argument", "host", "1", "2", "3")
    refused(2, "invalid interval 'x'", "host", "x")
    refused(2, "no such counter: nonsense", "host", "-f", "nonsense")
    refused(2, "is not an option of host", "host", "-p", "1")
    refused(1, "/absent", "counters", "--proc", "/absent")
    refused(1, "/absent", "host", "--sys", "/absent")


@test("values: globs list each counter once")
def _(_m):
    names = [r["name"] for r in listed()]
    got = list(values("counters", "CPU * utilization", "CPU 0*", "?hreads amount", "-w", "0.02"))
    want = [n for n in names if re.fullmatch("CPU .* utilization|Threads amount", n)]
    eq(sorted(got), sorted(want), "what matches")
    eq(len(got), len(set(got)), "each once")
    many = ["Processes amount"] * 2000
    eq(list(values("counters", *many, "-w", "0.02")), many[:1], "a name that is given 2000 times")


@test("values: a counter that this machine does not have is null, not an error")
def _(_m):
    got = values("counters", "Culled primitive count", "GPU * utilization", "-w", "0.02", *tree("amdgpu"))
    eq(got["Culled primitive count"], [None], "value")
    for fmt, want in (("line", "-"), ("csv", ",value,Primitive count,\n"), ("logfmt", "Primitive count")):
        out = good("counters", "Primitive count", "-w", "0.02", "-o", fmt, "-t", "none", *tree("amdgpu")).decode()
        check(want in out and "value=" not in out, f"{fmt}: {out!r}")


@test("values: an average over time is null until the first measurement, then it is known at any interval")
def _(_m):
    """A window of 1 ms may last longer on a slow machine; after 10 ms or more there must be a value."""
    busy = "Graphic driver utilization"
    first = values("counters", busy, "-w", "1ms", *tree("amdgpu-apu"))
    check(first in ({busy: [None]}, {busy: [22]}), f"{first}")
    many = values("counters", busy, "1ms", "40", *tree("amdgpu-apu"))[busy]
    check(many[-1] == 22 and set(many) <= {None, 22}, f"{many}")
    check(many.index(22) == many.count(None), f"known, then unknown again: {many}")
    eq(values("counters", busy, "-w", "20ms", *tree("amdgpu-apu")), {busy: [22]}, "20 ms")


@test("values: 'CPU N utilization' is high for a CPU that is kept busy", alone=True)
def _(_m):
    cpu = min(os.sched_getaffinity(0))
    loop = subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{cpu}])\nwhile True: pass"])
    try:
        time.sleep(0.1)  # time for the loop to start
        got = values("counters", f"CPU {cpu} utilization", f"CPU {cpu} user mode utilization", "0.2", 3)
    finally:
        loop.kill()
        loop.wait()
    check(min(got[f"CPU {cpu} utilization"]) > 50, f"busy: {got}")
    eq(len(got[f"CPU {cpu} utilization"]), 3, "samples")


@test("values: in an unchanged tree rates are 0 and levels equal the contents of the files")
def _(_m):
    with open(os.path.join(machine.TREES, "host", "proc", "meminfo"), encoding="ascii") as f:
        mem = {k: int(v) * 1024 for k, v in re.findall(r"^(\w+): +(\d+) kB$", f.read(), re.M)}
    got = values("counters", "*", "-w", "0.03", *tree("host"))
    eq(got["Physical memory usage"], [mem["MemTotal"] - mem["MemAvailable"]], "memory")
    eq(got["Virtual memory usage"], [mem["Committed_AS"]], "committed")
    units = {r["name"]: r["unit"] for r in listed(*tree("host"))}
    moving = {n: v for n, v in got.items() if units[n] in ("1/s", "bytes/s") and v not in ([0], [None])}
    eq(moving, {}, "rates that are not 0")


# --- host -----------------------------------------------------------------------------------------

@test("host: prints one line per sample, one header, at most 80 columns")
def _(_m):
    lines = printable(good("host", "0.05", 4)).splitlines()
    eq(lines[0].split(), ["TIME", *LINE], "header")
    eq(len(lines), 5, "lines")
    for line in lines[1:]:
        check(re.fullmatch(r"\d\d:\d\d:\d\d( +\S+){12}", line), f"line {line!r}")
        check(len(line) <= 80, f"{len(line)} columns: {line!r}")
        check(all(re.fullmatch(r"\d+%", w) for w in line.split()[1:4]), f"shares of {line!r}")
    eq(len(printable(good("host", "-w", "0.02", "-H", "-t", "none")).split()), 12, "columns without time and header")
    one = printable(good("host", "0.02", 2, "-1")).splitlines()
    eq([len(line.split()) for line in one], [13, 13], "words with -1")


@test("host: formats other than line have all counters below host/ except those that read every process")
def _(_m):
    want = [r["name"] for r in listed() if r["name"].startswith("host/") and not r["name"].startswith("host/file/")]
    check(len(want) > 20, f"{len(want)} counters")
    got = parse_json(good("host", "-w", "0.05", "-o", "json"))
    eq([r["name"] for r in got], want, "json")
    check(all(list(r) == KEYS for r in got), "keys")
    eq([r["name"] for r in parse_logfmt(good("host", "-w", "0.02", "-o", "logfmt"))], want, "logfmt")
    rows = parse_csv(good("host", "-w", "0.02", "-o", "csv"))
    eq([r["instance"] for r in rows if r["field"] == "value"], want, "csv")
    eq(len(printable(good("host", "-w", "0.02", "-o", "table", "-H")).splitlines()), len(want), "table")


@test("host: -f selects counters and fields; CSV has a column for each of them")
def _(_m):
    per_cpu = [f"cpu/cpu{c}/util" for c in cpus()]
    out = good("host", "-o", "csv", "-f", "time,cpu/cpu*/util,host/memory/-/used,Processes amount", "0.05", 2).decode()
    rows = list(csv.reader(io.StringIO(out), strict=True))
    eq(rows[0], ["time", *per_cpu, "host/memory/-/used", "Processes amount"], "header")
    eq([len(r) for r in rows], [len(rows[0])] * 3, "columns")
    check(all(int(c) >= 0 for r in rows[1:] for c in r[1:]), f"whole numbers {rows}")
    eq(good("host", "-f", "cpu/all/util,memory/-/used", "-w", "0.02", "-t", "none").decode().splitlines()[0].split(),
       ["cpu/all/util", "memory/-/used"], "header of line")
    recs = parse_json(good("host", "-f", "memory/*,name,value", "-w", "0.02", "-o", "json"))
    check(recs and all(list(r) == ["name", "value"] and r["name"].startswith("host/memory/") for r in recs), f"{recs[:2]}")
    check(len(values("host", "-f", "value,name", "-w", "0.02")) > 20, "all counters if only fields are named")
    check(values("host", "-f", "file/*", "-w", "0.05"), "counters that read every process, if they are named")
    help_ = good("host", "-f", "help").decode()
    eq(help_, good("counters", "-f", "help").decode(), "-f help")
    eq([line.split()[0] for line in help_.splitlines()], LIST_KEYS, "keys of -f help")


def procps(tool, *args):
    if not shutil.which(tool):
        raise Skip("needs package procps")
    return subprocess.run([tool, *args], capture_output=True, check=True, timeout=60, env={"LC_ALL": "C", **os.environ}
                          ).stdout.decode()


def agree(what, ours, theirs, close):
    """Compares two measurements up to eight times, because values may change between them."""
    tries = []
    for _ in range(8):
        tries.append((ours(), theirs()))
        if close(*tries[-1]):
            return
    raise AssertionError(f"{what}: (ours, theirs) {tries}")


def now(name):
    return values("host", "-f", name, "-w", "0.02")[f"host/{name}"][0]


@test("host: memory, load and processes equal those of procps")
def _(_m):
    agree("memory in use", lambda: now("memory/-/used"),
          lambda: next(int(w[1]) - int(w[6]) for line in procps("free", "-b").splitlines()
                       if (w := line.split())[0] == "Mem:"), lambda a, b: abs(a - b) <= 0.02 * b)
    agree("swap in use", lambda: now("swap/-/used"), lambda: int(re.search(r"Swap: +\d+ +(\d+)", procps("free", "-b"))[1]),
          lambda a, b: abs(a - b) <= 0.02 * max(b, 1 << 20))
    agree("load", lambda: now("load/-/1") / 100, lambda: float(re.search(r"load average: ([\d.]+)", procps("uptime"))[1]),
          lambda a, b: abs(a - b) <= 0.011)
    agree("processes", lambda: now("processes/-/count"), lambda: len(procps("ps", "-e", "-o", "pid=").split()),
          lambda a, b: abs(a - b) <= 8)


@test("values: after the kernel stops an event, its value is unknown for one sample, then counted again")
def _(_m):
    name, libc, got = "perf/software/all/cpu-clock", ctypes.CDLL(None, use_errno=True), []
    if os.getuid() != 0 or name not in [r["name"] for r in listed()]:
        raise Skip("only root may disable events of another process")
    with subprocess.Popen([machine.PROG, "counters", "--on-stdin", "-o", "json", name], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0) as p:
        while len(got) < 6:
            time.sleep(0.1)  # the count of this time is asserted below
            p.stdin.write(b"\n")
            got += [r["value"] for r in parse_json(p.stdout.readline())]
            if len(got) != 2:
                continue
            pid, folder, dropped = os.pidfd_open(p.pid), f"/proc/{p.pid}/fd", 0
            for fd in os.listdir(folder):
                if os.readlink(f"{folder}/{fd}") == "anon_inode:[perf_event]":
                    own = libc.syscall(438, pid, int(fd), 0)  # pidfd_getfd
                    if own < 0:
                        raise Skip(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
                    fcntl.ioctl(own, 0x2401, 0)  # PERF_EVENT_IOC_DISABLE
                    os.close(own)
                    dropped += 1
            os.close(pid)
            if not dropped:
                raise Skip("nothing may be counted")
        p.stdin.close()
        check(not p.stdout.read(), "a record without a line on stdin")
    eq(got.count(None), 1, f"number of samples without a value: {got}")
    known = [v for v in got if v is not None]
    check(known == sorted(known) and known[-1] > known[1] + 100000000, f"counts continue: {got}")


@test("values: a counter that the kernel refuses is unknown, with a message that names a remedy")
def _(_m):
    name = "perf/software/all/context-switches"
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) < 2 or os.getuid() != 0 or name not in [r["name"] for r in listed()]:
            raise Skip("anybody may count, or nobody can")
    r = run("counters", name, "-w", "0.02", nobody=True)
    eq((r.code, r.out), (4, b""), "alone")
    check(re.fullmatch(rb"gpustat: perf/[^\n]* denied[:;][^\n]* setcap [^\n]*\n", r.err), f"message {r.err!r}")
    r = run("counters", name, "Processes amount", "-w", "0.02", "-o", "json", nobody=True)
    eq((r.code, [v["value"] is None for v in parse_json(r.out)]), (0, [True, False]), f"beside another ({r.err!r})")
    check(b"denied" in r.err, f"message {r.err!r}")
    eq(run("counters", name, "-q", "-w", "0.02", nobody=True).err, b"", "-q")


@test("values: file bytes are the sum over all processes, or are denied")
def _(m):
    if os.getuid() != 0:
        raise Skip("needs root")
    r = run("counters", "File read bytes / sec", "-w", "0.02", nobody=True)
    eq((r.code, r.out, b"denied; run as root" in r.err), (4, b"", True), f"as another user ({r!r})")
    eq(type(values("counters", "File read bytes / sec", "-w", "0.02")["File read bytes / sec"][0]), int, "as root")


@test("values: a last word that is a valid interval is the interval, even if it is also the name of a counter")
def _(m):
    m.write("supplied/game", "0.05 9 points\n* 5\n")
    env = dict(os.environ, GPUSTAT_COUNTERS=m.path("supplied"))
    names = [r["name"] for r in parse_json(good("counters", "-o", "json", "Processes amount", "0.05", "2", env=env))]
    eq(names, ["Processes amount"] * 2, "an interval")
    names = [r["name"] for r in parse_json(good("counters", "-o", "json", "0.05", "0.05", "1", env=env))]
    eq(names, ["0.05"], "an interval before the last word is a name")
    recs = parse_json(run("counters", "-o", "json", "-w", "10ms", "*", env=env).out)
    check(len(recs) > 20 and "*" in [r["name"] for r in recs], "* is a pattern")


@test("values: without /sys the counters of /proc are available")
def _(_m):
    why = machine.tap.lacks(machine.PROG, ["counters"])
    if why:
        raise Skip(why)
    script = 'umount -l /sys && "$1" host -t none -w 0.02; echo $?; "$1" counters "Processes amount" -w 0.02 -H'
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", machine.PROG], capture_output=True, timeout=60, check=False)
    if b"unshare" in r.stderr or b"umount" in r.stderr:
        raise Skip("/sys cannot be unmounted here")
    lines = r.stdout.decode().splitlines()
    eq((lines[0].split(), lines[2]), (LINE, "0"), f"host ({r!r})")
    check(re.search(r"Processes amount +\d+$", lines[3].rstrip()), f"counters: {lines[3]!r}")
    check(b"/sys is not mounted" in r.stderr, f"message {r.stderr!r}")


@test("tracepoints: * selects none, perf/tracepoint/* at most 64, --all and the list all; a message counts the others")
def _(m):
    for i in range(100):
        m.write(f"{m.sys}/kernel/tracing/events/made/point{i:02}/id", f"{60000 + i}\n")
    where = ["--sys", m.sys]
    every = [f"perf/tracepoint/made/point{i:02}" for i in range(100)]

    def points(*words):
        r = run("counters", "-o", "json", "-w", "10ms", *words, *where)
        left = re.fullmatch(rb"(?:gpustat: (\d+) kernel tracepoints were left out: [ -~]+\n)?", r.err)
        check(r.code == 0 and left, f"{words}: {r!r}")
        return [x["name"] for x in parse_json(r.out) if "tracepoint" in x["name"]], int(left[1] or 0)

    eq(points("*"), ([], 100), "*")
    eq(points("perf/*", "Processes amount"), ([], 100), "perf/*")
    eq(points("perf/tracepoint/made/*"), (every[:64], 36), "a pattern that begins with perf/tracepoint/")
    eq(points("perf/tracepoint/made/*1", "perf/tracepoint/made/*2*"), ([*every[1::10], *[p for p in every if "2" in p[-2:] and p[-1] != "1"]], 0),
       "patterns that match few tracepoints")
    eq(points(*every[:70]), (every[:70], 0), "names")
    eq(points("--all", "perf/tracepoint/made/*"), (every, 0), "--all")
    eq(points("--all", "*"), (every, 0), "--all *")
    refused_ = run("counters", "-w", "10ms", "perf/tra*", *where)
    check(refused_.code == 2 and b"100 kernel tracepoints were left out" in refused_.err, f"only them: {refused_!r}")
    eq([x["name"] for x in listed(*where) if "tracepoint" in x["name"]], every, "the list")
    r = run("host", "-o", "json", "-w", "10ms", "-f", "perf/tracepoint/*", *where)
    eq((len(parse_json(r.out)), b"36 kernel tracepoints" in r.err), (64, True), "host -f")


@test("tracepoints: limits hold for this kernel's tracefs too, and a signal ends such a run")
def _(m):
    script = 'mount -t tracefs nodev /sys/kernel/tracing && exec "$@"'
    for words, most in (("*", 0), ("perf/tracepoint/*", 64)):
        out = m.path("out")
        with open(out, "wb") as f:
            p = subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", machine.PROG, "counters", words, "0.05", "-o", "json"],
                                 stdout=f, stderr=subprocess.PIPE)
        end = time.monotonic() + 30
        while time.monotonic() < end and p.poll() is None and not os.path.getsize(out):
            time.sleep(0.05)
        p.send_signal(signal.SIGTERM)
        err = p.communicate(timeout=60)[1]
        if b"mount" in err or b"unshare" in err:
            raise Skip("tracefs cannot be mounted here")
        with open(out, "rb") as f:
            names = {r["name"] for r in parse_json(f.read())}
        check(p.returncode == 0 and names and sum("tracepoint" in n for n in names) <= most, f"{words}: {p.returncode} {err!r}")
        check(b"kernel tracepoints were left out" in err, f"{words}: {err!r}")


@test("values: a name that two programs use selects both counters; in CSV the column has the value of the first")
def _(m):
    m.write("supplied/game", "score 9 points\n")
    m.write("supplied/other", "score -5 points\n")
    env = dict(os.environ, GPUSTAT_COUNTERS=m.path("supplied"))
    recs = parse_json(good("counters", "-w", "10ms", "-o", "json", "score", env=env))
    eq(sorted((r["vendor"], r["value"]) for r in recs), [("game", 9), ("other", -5)], "both")
    r = run("host", "-f", "score,load/-/1", "-o", "csv", "10ms", "1", env=env)
    eq(r.out.decode().splitlines()[0], "score,load/-/1", "columns")
    eq(r.out.decode().splitlines()[1].split(",")[0], str(recs[0]["value"]), "the first")
    check(b"left out" in r.err, f"message {r.err!r}")


@test("values: a file that only root may read: a message suggests to run as root")
def _(m):
    if os.getuid() != 0:
        raise Skip("needs root")
    for part in ("proc", "sys"):
        shutil.copytree(os.path.join(machine.TREES, "host", part), m.path("own", part), symlinks=True)
    for folder, _dirs, files in os.walk(m.path("own")):
        for f in files:
            if f == "energy_uj":
                os.chmod(os.path.join(folder, f), 0o400)
    r = run("counters", "host/energy/*", "-w", "0.02", "--proc", m.path("own/proc"), "--sys", m.path("own/sys"), nobody=True)
    eq((r.code, r.out), (4, b""), "exit code and output if all are denied")
    check(r.err.startswith(b"gpustat: host/energy/package-0/energy: access to this counter is denied; run as root\n"), f"message {r.err!r}")


@test("host: without /proc it prints the same messages as the other commands")
def _(m):
    eq(run("host", "--proc", m.path("none")).code, 1, "exit code")
    eq(run("host", "--proc", m.path("none")).err, run("clients", "--proc", m.path("none")).err, "message")
    empty = ["--proc", m.proc, "--sys", m.sys]
    line = printable(good("host", "-w", "0.02", "-t", "none", *empty)).splitlines()
    eq((line[0].split(), set(line[1].split())), (LINE, {"-"}), "a machine without values")


# --- counters of other programs -------------------------------------------------------------------

def supplied(m, text, name="game"):
    folder = m.path("counters")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(os.fsencode(folder), machine.raw(name)), "wb") as f:
        f.write(machine.raw(text))
    return {"env": {**os.environ, "GPUSTAT_COUNTERS": folder}}


@test("providers: each file in $GPUSTAT_COUNTERS is a vendor, and each line a counter")
def _(m):
    kw = supplied(m, "fps 60 1/s\nlatency -17 us\n")
    recs = {r["name"]: r for r in listed(**kw) if r["vendor"] == "game"}
    eq(sorted(recs), ["fps", "latency"], "names")
    eq((recs["fps"]["unit"], recs["latency"]["unit"]), ("1/s", "us"), "units")
    eq(values("counters", "fps", "latency", "-w", "0.02", **kw), {"fps": [60], "latency": [-17]}, "values")


@test("providers: hostile names and values are escaped or left out")
def _(m):
    kw = supplied(m, b"red\033[31m 1 x\033[0m\nnul\0l 2 n\n" + b"\xff\xfe 3 u\n" + b"a" * 5000 + b" 4 y\nbad\nno 5x y\n"
                  b"huge 99999999999999999999999 z\n\r\n \n\"q\", 6 q,\"\ncaf\xc3\xa9 = 1 7 u=\n", b'v, "')
    supplied(m, "x 1 y\n", b"v\033[2Jn\n\xff")
    outs = {}
    for fmt in FORMATS:
        for args in ([], ['*"q"*', "caf*", "-w", "0.02"]):
            # a message may report lines that exceed the limit
            r = run("counters", "-o", fmt, *args, **kw)
            eq(r.code, 0, f"{fmt} {args} ({r!r})")
            printable(r.out)
            printable(r.err)
            outs[fmt, len(args)] = r.out
    recs = [r for r in parse_json(outs["json", 0]) if r["vendor"] == "v, \""]
    eq([(r["name"], r["unit"]) for r in recs], [('"q",', 'q,"'), ("caf\u00e9 = 1", "u=")], "counters with printable names")
    eq({r["instance"]: r["value"] for r in parse_csv(outs["csv", 4]) if r["field"] == "value"},
       {'"q",': "6", "caf\u00e9 = 1": "7"}, "csv")
    eq(len(parse_logfmt(outs["logfmt", 4])), 2, "logfmt")


@test("providers: a folder that does not exist is not an error")
def _(m):
    for where in (m.path("absent"), "/dev/null", ""):
        check(listed(env={**os.environ, "GPUSTAT_COUNTERS": where}), where)


# --- exit -----------------------------------------------------------------------------------------

@test("exit: code 0 and complete records after a signal")
def _(_m):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for args in (["host", "0.02", "-o", "json"], ["counters", "CPU *", "0.02", "-o", "json"], ["host", "30"],
                     ["counters", "Processes amount", "-w", "30"]):
            p = subprocess.Popen([machine.PROG, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if "json" in args:
                check(select.select([p.stdout], [], [], 10)[0], "no output")
            else:
                machine.wait_asleep(p.pid)
            p.send_signal(sig)
            out, err = p.communicate(timeout=60)
            eq((p.returncode, err), (0, b""), f"{args} and {sig}")
            parse_json(out if "json" in args else b"")


@test("exit: a closed pipe and a full disk end the run")
def _(_m):
    runs = (["counters"], ["host", "0.02"], ["counters", "CPU *", "0.02"])
    for args in runs:
        r, w = os.pipe()
        os.close(r)
        p = subprocess.Popen([machine.PROG, *args], stdout=w, stderr=subprocess.PIPE)
        os.close(w)
        err = p.communicate(timeout=60)[1]
        eq((p.returncode, err), (-signal.SIGPIPE, b""), f"{args} with SIGPIPE")
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    for args in runs:
        for fmt in FORMATS:
            with open("/dev/full", "wb") as full:
                p = subprocess.run([machine.PROG, *args, "-o", fmt], stdout=full, stderr=subprocess.PIPE, timeout=60,
                                   check=False)
            eq(p.returncode, 1, f"{args} {fmt}")
            check(re.fullmatch(rb"gpustat: [ -~]+\n", p.stderr), f"message {p.stderr!r}")


@test("cost: a sample reads only the files of the named counters")
def _(m):
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    calls = []
    for count in (3, 13):
        log = m.path(f"strace-{count}")
        p = subprocess.run(["strace", "-o", log, machine.PROG, "counters", "Context switched / sec", "0.02", str(count)],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        if p.returncode != 0:
            raise Skip(f"strace: {p.stderr[-80:]!r}")
        with open(log, encoding="utf-8", errors="replace") as f:
            calls.append(len(f.readlines()))
    check((calls[1] - calls[0]) / 10 <= 8, f"{calls} system calls of 3 and 13 samples")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_counters_cli.py PROG")
    os.environ.pop("GPUSTAT_COUNTERS", None)
    sys.exit(machine.main(os.path.abspath(sys.argv[1]), TESTS, workers=4, alone=lambda t: t[2]))
