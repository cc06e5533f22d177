#!/usr/bin/env python3
# t_sample_headers.py PROG - tests the headers in files of `gpustat sample -o perfdata`, about the
# machine, the events and the sampled files: a reader written from the description of the format
# (tools/perf/Documentation/perf.data-file-format.txt of Linux) reads every byte of them, and perf's
# own commands print the same as for a file of perf record. Prints TAP. ONLY=TEXT and TIMES=1 are as
# in tests/machine.py.
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, eq  # noqa: E402
from samplelib import build, has_perf, here, main, perf_script, perfdata, test, work  # noqa: E402

NAMES = {2: "BUILD_ID", 3: "HOSTNAME", 4: "OSRELEASE", 5: "VERSION", 6: "ARCH", 7: "NRCPUS", 8: "CPUDESC", 9: "CPUID",
         10: "TOTAL_MEM", 11: "CMDLINE", 12: "EVENT_DESC", 13: "CPU_TOPOLOGY", 14: "NUMA_TOPOLOGY", 16: "PMU_MAPPINGS",
         17: "GROUP_DESC", 21: "SAMPLE_TIME", 23: "CLOCKID", 28: "CPU_PMU_CAPS", 29: "CLOCK_DATA", 31: "PMU_CAPS"}
MISC_BUILD_ID = 1 << 14


class Reader:
    """Takes bytes from the front; bytes that are left at the end are an error."""

    def __init__(self, b, what):
        self.b, self.at, self.what = b, 0, what

    def take(self, n):
        check(n <= len(self.b) - self.at, f"{self.what}: {n} bytes at {self.at} of {len(self.b)}")
        self.at += n
        return self.b[self.at - n:self.at]

    def num(self, kind="I"):
        return struct.unpack("=" + kind, self.take(struct.calcsize("=" + kind)))[0]

    def string(self):
        b = self.take(self.num())
        check(b"\0" in b and not b.partition(b"\0")[2].strip(b"\0"), f"{self.what}: a string ends with zeros: {b!r}")
        return b.partition(b"\0")[0].decode("utf-8", "surrogateescape")

    def end(self, got):
        eq(self.at, len(self.b), f"{self.what}: bytes read")
        return got


def strings(r):
    return [r.string() for _ in range(r.num())]


def topology(r, cpus):
    cores, threads = strings(r), strings(r)
    ids = [(r.num("i"), r.num("i")) for _ in range(cpus)]
    dies = strings(r) if r.at < len(r.b) else []
    return cores, threads, ids, dies, [r.num("i") for _ in range(cpus)] if dies else []


def pairs(r):
    return [(r.string(), r.string()) for _ in range(r.num())]


def event_desc(r, _cpus):
    n, size = r.num(), r.num()
    got = []
    for _ in range(n):
        attr, ids = r.take(size), r.num()
        got.append((r.string(), attr, [r.num("Q") for _ in range(ids)]))
    return got


def build_ids(r, _cpus):
    got = []
    while r.at < len(r.b):
        _kind, misc, size, _pid = struct.unpack("=IHHi", r.take(12))
        ident = r.take(24)
        name = r.take(size - 36)
        check(misc & 1 << 15 and ident[20] <= 20, f"a build ID has its length: {ident!r}")
        got.append((misc & 7, ident[:ident[20]].hex(), name.partition(b"\0")[0].decode()))
    return got


BODIES = {
    "BUILD_ID": build_ids, "NRCPUS": lambda r, _: (r.num(), r.num()), "TOTAL_MEM": lambda r, _: r.num("Q"),
    "CMDLINE": lambda r, _: strings(r), "EVENT_DESC": event_desc, "CPU_TOPOLOGY": topology,
    "NUMA_TOPOLOGY": lambda r, _: [(r.num(), r.num("Q"), r.num("Q"), r.string()) for _ in range(r.num())],
    "PMU_MAPPINGS": lambda r, _: [(r.num(), r.string()) for _ in range(r.num())],
    "GROUP_DESC": lambda r, _: [(r.string(), r.num(), r.num()) for _ in range(r.num())],
    "SAMPLE_TIME": lambda r, _: (r.num("Q"), r.num("Q")), "CLOCKID": lambda r, _: r.num("Q"),
    "CLOCK_DATA": lambda r, _: (r.num(), r.num(), r.num("Q"), r.num("Q")), "CPU_PMU_CAPS": lambda r, _: pairs(r),
    "PMU_CAPS": lambda r, _: [(pairs(r), r.string()) for _ in range(r.num())],
}


class File:
    """A parsed perf.data: attrs [(attr, ids)], records [(type, misc, body)], features {name: value}."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.b = b = f.read()
        head = Reader(b[:104], "header")
        eq(head.take(8), b"PERFILE2", "magic")
        size, attr_size = head.num("Q"), head.num("Q")
        sections = [(head.num("Q"), head.num("Q")) for _ in range(3)]
        bits = sum(head.num("Q") << 64 * i for i in range(4))
        head.end(None)
        eq(size, 104, "size of the header")
        self.attrs = []
        attrs = Reader(self.part(*sections[0]), "attrs")
        while attrs.at < len(attrs.b):
            attr = attrs.take(attr_size - 16)
            eq(struct.unpack_from("=I", attr, 4)[0], len(attr), "attr.size")
            ids = self.part(attrs.num("Q"), attrs.num("Q"))
            self.attrs.append((attr, list(struct.unpack(f"={len(ids) // 8}Q", ids))))
        self.records = []
        data = Reader(self.part(*sections[1]), "data")
        while data.at < len(data.b):
            kind, misc, n = struct.unpack("=IHH", data.take(8))
            check(n >= 8 and n % 8 == 0, f"a record of {n} bytes at {data.at}")
            self.records.append((kind, misc, data.take(n - 8)))
        self.read_features(bits, sum(sections[1]))

    def part(self, at, n):
        check(at + n <= len(self.b), f"a section at {at} of {n} bytes in a file of {len(self.b)}")
        return self.b[at:at + n]

    def read_features(self, bits, at):
        numbers = [i for i in range(256) if bits >> i & 1]
        eq([i for i in numbers if i not in NAMES], [], "unknown features")
        table = Reader(self.part(at, 16 * len(numbers)), "features")
        self.features, last, cpus = {}, at + 16 * len(numbers), 0
        for i in numbers:
            name = NAMES[i]
            offset, n = table.num("Q"), table.num("Q")
            eq(offset, last, f"{name} begins at the end of the feature before it")
            last = offset + n
            r = Reader(self.part(offset, n), name)
            self.features[name] = r.end(BODIES.get(name, lambda r, _: r.string())(r, cpus))
            cpus = self.features[name][0] if name == "NRCPUS" else cpus
        eq(last, len(self.b), "the last feature ends the file")

    def maps(self):
        """Returns [(pid, address, bytes, build ID or None, name)] of MMAP and MMAP2."""
        got = []
        for kind, misc, b in self.records:
            if kind in (1, 10):
                pid, _tid, at, n = struct.unpack_from("=iiQQ", b)
                ident = b[36:36 + b[32]].hex() if kind == 10 and misc & MISC_BUILD_ID else None
                got.append((pid, at, n, ident, b[64 if kind == 10 else 32:].partition(b"\0")[0].decode()))
        return got


def perf_header(path, *more):
    r = subprocess.run(["perf", "report", "--header-only", *more, "-i", path], capture_output=True, timeout=60, check=False,
                       stdin=subprocess.DEVNULL)
    eq((r.returncode, r.stderr), (0, b""), "perf report --header-only")
    return r.stdout.decode("utf-8", "replace").splitlines()


def notes(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True, timeout=60, check=False).stdout.decode()
    got = re.search(r"Build ID: (\w+)", text)
    return got[1] if got else None


def with_id(m, seed):
    """Builds the program with a build ID, at another path. Returns the path."""
    path = m.path("program")
    shutil.copy(build("id" + seed, ["-no-pie", "-fno-pie", "-Wl,--build-id=0x" + seed * 20]), path)
    return path


@test("headers: each byte of the file conforms to perf.data-file-format.txt")
def _(m):
    here()
    path = m.path("perf.data")
    for args in (["-F", "1000", "-e", "cpu-clock"], ["-F", "500", "-e", "{cpu-clock,page-faults}:S,task-clock"],
                 ["-a", "-F", "500", "-e", "cpu-clock", "-g"]):
        perfdata(args, [work(), "burn", "50"], path)
        f = File(path)
        had = f.features
        u = os.uname()
        eq((had["HOSTNAME"], had["OSRELEASE"], had["ARCH"]), (u.nodename, u.release, u.machine), "uname")
        eq(had["CMDLINE"][1:], ["sample", *args, "-o", "perfdata", "-O", path, "--", work(), "burn", "50"], "command line")
        check(had["VERSION"].startswith("gpustat "), had["VERSION"])
        eq(had["NRCPUS"][1], os.sysconf("SC_NPROCESSORS_ONLN"), "CPUs online")
        eq([(e[1], e[2]) for e in had["EVENT_DESC"]], f.attrs, "attributes and IDs, which are twice in the file")
        eq(had.get("GROUP_DESC"), [("{anon_group}", 0, 2)] if ":S" in args[3] else None, "groups")
        times = [struct.unpack_from("=Q", b, at)[0] for at, b in samples_with_time(f)]
        eq(had["SAMPLE_TIME"], (min(times), max(times)), "times of the first and the last sample")
        eq((had["CLOCKID"], had["CLOCK_DATA"][:2]), (1, (1, 1)), "the clock")
        check(abs((had["CLOCK_DATA"][2] - had["CLOCK_DATA"][3]) / 1e9 - (time.time() - time.monotonic())) < 1, "the clocks' difference")


def samples_with_time(f):
    """Returns [(offset of the time, body)] of the samples; IDENTIFIER, IP and TID are before the time."""
    kind = struct.unpack_from("=Q", f.attrs[0][0], 24)[0]
    at = 8 * bin(kind & (1 << 16 | 1 | 2)).count("1")
    return [(at, b) for t, _misc, b in f.records if t == 9]


# Features that depend on the run: fields of tracepoints, build IDs of old kernels, groups of events; or on the
# machine: capabilities of PMUs.
OF_SOME_RUNS = {"TRACING_DATA", "BUILD_ID", "GROUP_DESC", "CPU_PMU_CAPS", "PMU_CAPS"}


@test("headers: perf report --header misses no feature that gpustat writes, and prints each")
def _(m):
    has_perf()
    path = m.path("perf.data")
    perfdata(["-F", "1000", "-e", "cpu-clock"], [work(), "burn", "50"], path)
    text = "\n".join(perf_header(path))
    missing = set(re.search(r"(?m)^# missing features: (.*)", text)[1].split())
    may = OF_SOME_RUNS | (set() if os.path.exists("/sys/devices/system/node/online") else {"NUMA_TOPOLOGY"})
    eq(missing & set(NAMES.values()) - may, set(), "missing features")
    for key in ("hostname", "os release", "perf version", "arch", "nrcpus online", "nrcpus avail", "total memory", "cmdline",
                "event", "pmu mappings", "time of first sample", "time of last sample", "clockid"):
        check(re.search(f"(?m)^# {key} ?:", text), f"{key}: {text}")


@test("headers: the capabilities of PMUs, as perf shows them")
def _(m):
    for name, number, caps in (("cpu", 4, {"branches": 32, "pmu_name": "odd"}), ("pt", 8, {"mtc": 1}), ("plain", 9, {})):
        folder = f"sys/bus/event_source/devices/{name}"
        m.write(f"{folder}/type", f"{number}\n")
        for cap, value in caps.items():
            m.write(f"{folder}/caps/{cap}", f"{value}\n")
    path = m.path("perf.data")
    perfdata(["--sys", m.path("sys"), "-F", "1000", "-e", "cpu-clock"], [work(), "burn", "50"], path)
    had = File(path).features
    eq((sorted(had["CPU_PMU_CAPS"]), had["PMU_CAPS"]), ([("branches", "32"), ("pmu_name", "odd")], [([("mtc", "1")], "pt")]), "capabilities")
    has_perf()
    text = "\n".join(perf_header(path))
    for line in ("# cpu pmu capabilities: .*branches=32", "# cpu pmu capabilities: .*pmu_name=odd", "# pt pmu capabilities: mtc=1"):
        check(re.search(f"(?m)^{line}", text), f"{line}: {text}")


@test("headers: perf shows the same machine as for a file of perf record")
def _(m):
    has_perf()
    path, theirs = m.path("perf.data"), m.path("theirs.data")
    perfdata(["-F", "1000", "-e", "cpu-clock"], [work(), "burn", "50"], path)
    r = subprocess.run(["perf", "record", "-q", "-o", theirs, "-F", "1000", "-e", "cpu-clock", work(), "burn", "50"],
                       capture_output=True, timeout=60, check=False)
    if r.returncode < 0:
        raise Skip(f"perf does not run here: signal {-r.returncode} ended perf record")
    eq(r.returncode, 0, f"perf record: {r.stderr}")
    same = r"# (hostname|os release|arch|nrcpus|cpudesc|cpuid|total memory|sibling|CPU \d|node\d cpu list|pmu mappings|\S+ pmu capabilities)"
    lines = [[x for x in perf_header(p, "-I") if re.match(same, x)] for p in (path, theirs)]
    eq(sorted(lines[0]), sorted(lines[1]), "lines of the header")
    check(len(lines[0]) >= 8, f"{lines[0]}")
    check(any("clockid: monotonic" in x for x in perf_header(path)), "the clock")


@test("build IDs: those of the command, its libraries and the kernel equal the output of readelf and perf")
def _(m):
    here()
    path, program = m.path("perf.data"), with_id(m, "a1")
    perfdata(["-F", "1000", "-e", "cpu-clock"], [program, "burn", "50"], path)
    f = File(path)
    got = {name: ident for _pid, _at, _n, ident, name in f.maps()}
    eq(got[program], "a1" * 20, "the program's build ID")
    for name, ident in got.items():
        if name.startswith("/"):
            eq(ident, notes(name), f"the build ID of {name}")
    kernel = [x for x in f.maps() if x[4] == "[kernel.kallsyms]_text"]
    eq([x[0] for x in kernel], [-1], "pids of the kernel's record")
    check(not os.path.exists("/sys/kernel/notes") or kernel[0][3], "the kernel's build ID")
    if shutil.which("perf"):
        r = subprocess.run(["perf", "buildid-list", "-i", path], capture_output=True, timeout=60, check=False)
        check(f"{'a1' * 20} {program}".encode() in r.stdout, f"perf buildid-list: {r.stdout}")


@test("build IDs: with -p and -a, files of tasks that started before the run have them")
def _(m):
    here()
    path, program = m.path("perf.data"), with_id(m, "b2")
    p = subprocess.Popen([program, "burn", "600000"], stdout=subprocess.DEVNULL)
    try:
        machine.until_it_ran(p.pid, 0.02)
        for args in (["-p", str(p.pid)], ["-a"]):
            perfdata(["-F", "500", "-e", "cpu-clock", *args, "--timeout", "1000"], None, path)
            got = [x for x in File(path).maps() if x[0] == p.pid and x[4] == program]
            eq([x[3] for x in got], ["b2" * 20], f"{args}: the program's map")
    finally:
        p.kill()
        p.wait()


@test("build IDs: perf finds no names in a binary that was replaced")
def _(m):
    has_perf()
    path, program = m.path("perf.data"), with_id(m, "c3")
    perfdata(["-F", "1000", "-e", "cpu-clock"], [program, "burn", "100"], path)
    check(" burn" in perf_script(path, "-F", "ip,sym,dso"), "names of the binary that ran")
    os.unlink(program)
    with_id(m, "d4")
    text = perf_script(path, "-F", "ip,sym,dso", quiet=False)
    check(" burn" not in text and f"[unknown] ({program})" in text, f"no names of another binary: {text[:300]}")


@test("build IDs: on kernels before Linux 5.12 they are in the header")
def _(m):
    here()
    path, program, cpu = m.path("perf.data"), with_id(m, "e5"), str(min(os.sched_getaffinity(0)))
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    for _i in range(20):
        # the kernel refuses the attributes twice, first with a newer field, then with build_id
        r = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=perf_event_open",
                            "-e", "inject=perf_event_open:error=EINVAL:when=1..2", machine.PROG, "sample", "-C", cpu, "-F",
                            "1000", "-e", "cpu-clock", "-o", "perfdata", "-O", path, "--", "taskset", "-c", cpu, program,
                            "burn", "50"], capture_output=True, timeout=60, check=False)
        if b"nvalid" in r.stderr:
            raise Skip("this strace injects no ranges of errors")
        eq((r.returncode, r.stderr), (0, b""), "exit code, messages")
        if not any(kind == 10 and misc & MISC_BUILD_ID for kind, misc, _b in File(path).records):
            break  # no event of another program that requests build IDs changed the records
    else:
        raise Skip("another program samples with build IDs")
    f = File(path)
    eq({x[3] for x in f.maps()}, {None}, "no record has a build ID")
    check((2, "e5" * 20, program) in f.features["BUILD_ID"], f"{f.features['BUILD_ID'][:5]}")
    if shutil.which("perf"):
        os.unlink(program)
        with_id(m, "f6")
        text = perf_script(path, "-F", "ip,sym,dso", quiet=False)
        check(" burn" not in text and f"[unknown] ({program})" in text, f"no names of another binary: {text[:300]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_sample_headers.py PROG")
    sys.exit(main(sys.argv[1]))
