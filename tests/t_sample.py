#!/usr/bin/env python3
# t_sample.py PROG - gpustat sample on the running kernel: its records, symbols, stacks, sums, periods, losses and
# perf.data files, against programs whose doings are known, against nm and against perf. Prints TAP; exit 0 iff all
# is well. ONLY=TEXT and TIMES=1 as in t_edges.py. SPDX-License-Identifier: MIT
import bisect
import collections
import contextlib
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clock  # noqa: E402
import t_edges as edges  # noqa: E402
from t_edges import Skip, check, command_of, cpu_of, eq, most_by_perf, near, parse_csv, parse_json, parse_logfmt, printable, strict, until_it_ran, wait_asleep  # noqa: E402

TESTS = []
KEYS = "schema kind time event cpu pid tid comm mode ip addr symbol module period callchain".split()
PAGE = os.sysconf("SC_PAGE_SIZE")
LOCK = threading.Lock()

# One program for everything; what it does is its first argument. Its functions say by their names what they are for.
WORK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
#define END __asm__ volatile("")
volatile uint64_t written = 1; /* not in .bss, which the kernel clears with writes of its own */
#ifdef LIBRARY
OWN void in_library(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void hidden_in_library(long n) { for (volatile long i = 0; i < n; i++) END; }
OWN void library_static(long n) { hidden_in_library(n); END; }
#else
#ifdef WITH_LIBRARY
void in_library(long), library_static(long);
#endif
static long ms_of(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
OWN void burn(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void burn_static(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void first_phase(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void second_phase(long n) { for (volatile long i = 0; i < n; i++) END; }
static void spin(void (*f)(long), long ms)
{
	long end = ms_of(CLOCK_THREAD_CPUTIME_ID) + ms;
	while (ms_of(CLOCK_THREAD_CPUTIME_ID) < end) f(200000);
}
OWN void level_c(long n) { for (volatile long i = 0; i < n; i++) END; written++; END; }
OWN void level_b(long n) { level_c(n); END; }
OWN void level_a(long n) { level_b(n); END; }
OWN void other_a(long n) { level_b(n); END; }
OWN void write_it(long n) { for (long i = 0; i < n; i++) written = (uint64_t)i; }
OWN void called(void) { END; }
OWN void touch(char *p, long n, long wait, long step) /* step: before each so many it is told to go on */
{
	for (long i = 0; i < n; i++) {
		if (step && i % step == 0 && getchar() < 0) return;
		p[i * sysconf(_SC_PAGESIZE)] = 1;
		for (volatile long w = 0; w < wait; w++) END;
	}
}
static void *named(void *name)
{
	prctl(PR_SET_NAME, name);
	printf("%s %ld\n", (char *)name, (long)syscall(SYS_gettid));
	spin(burn, 100);
	return NULL;
}
static void *execute(void *argv)
{
	prctl(PR_SET_NAME, "executor");
	spin(burn, 30);
	execv(((char **)argv)[0], argv);
	return NULL;
}
static void maps(void)
{
	char b[4096];
	long n;
	int fd = open("/proc/self/maps", O_RDONLY);
	fflush(stdout);
	while ((n = read(fd, b, sizeof b)) > 0) if (write(1, b, (size_t)n) < 0) break;
	close(fd);
}
int main(int argc, char **argv)
{
	const char *what = argv[1];
	long n = argc > 2 ? atol(argv[2]) : 0, m = argc > 3 ? atol(argv[3]) : 0;
	if (!strcmp(what, "burn")) spin(burn, n);
	if (!strcmp(what, "symbols")) {
		if (argc > 3) unlink(argv[3]);
		if (argc > 4 && rename(argv[4], argv[3]) < 0) return 9;
		spin(burn, n), spin(burn_static, n);
#ifdef WITH_LIBRARY
		spin(in_library, n), spin(library_static, n);
#endif
		maps();
	}
	if (!strcmp(what, "phases")) {
		spin(first_phase, n);
		prctl(PR_SET_NAME, argv[3]);
		spin(second_phase, n);
	}
	if (!strcmp(what, "stack")) for (long i = 0; i < n; i++) { level_a(m); if (i % 4 == 0) other_a(m); END; }
	if (!strcmp(what, "write")) write_it(n);
	if (!strcmp(what, "writes")) while (getchar() >= 0) write_it(1);
	if (!strcmp(what, "call")) for (long i = 0; i < n; i++) called();
	if (!strcmp(what, "touch") || !strcmp(what, "group")) {
		char *p = mmap(NULL, (size_t)n * (size_t)sysconf(_SC_PAGESIZE), 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct rusage u;
		madvise(p, (size_t)n * (size_t)sysconf(_SC_PAGESIZE), MADV_NOHUGEPAGE);
		printf("%p\n", (void *)p);
		touch(p, n, m, argc > 4 ? atol(argv[4]) : 0);
		getrusage(RUSAGE_SELF, &u);
		printf("%ld\n", u.ru_minflt + u.ru_majflt);
	}
	if (!strcmp(what, "family")) {
		pthread_t t[2];
		for (int i = 0; i < 2; i++) {
			long pid = fork();
			if (pid == 0) { spin(burn, n); _exit(0); }
			printf("child %ld\n", pid);
		}
		pthread_create(&t[0], NULL, named, "thread one");
		pthread_create(&t[1], NULL, named, "thread two");
		spin(burn, n);
		pthread_join(t[0], NULL), pthread_join(t[1], NULL);
		while (wait(NULL) > 0) {}
		printf("self %ld\n", (long)getpid());
	}
	if (!strcmp(what, "reload")) { /* LIBRARY FUNCTION, one after the other */
		for (int i = 3; i + 1 < argc; i += 2) {
			void *h = dlopen(argv[i], RTLD_NOW);
			void (*f)(long) = (void (*)(long))dlsym(h, argv[i + 1]);
			printf("%p\n", (void *)f);
			spin(f, n);
			dlclose(h);
		}
	}
	if (!strcmp(what, "exec")) { pthread_t t; pthread_create(&t, NULL, execute, argv + 2); pthread_join(t, NULL); }
	if (!strcmp(what, "sleep")) {
		struct rusage u;
		getrusage(RUSAGE_SELF, &u);
		m = u.ru_nvcsw + u.ru_nivcsw;
		for (long i = 0; i < n; i++) usleep(1000);
		getrusage(RUSAGE_SELF, &u);
		printf("%ld %ld\n", m, u.ru_nvcsw + u.ru_nivcsw);
	}
	return 0;
}
#endif
"""
FLAGS = ["-O1", "-g0", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fcf-protection=none", "-w"]
LIBS = ["-ldl", "-lpthread"]
BUILT = {}


SLOTS, ALONE, PLACES = threading.Semaphore(6), threading.Lock(), 6


def test(name, alone=False):
    """alone: its times are measured, so nothing else may run."""
    def add(f):
        def body(m):
            n = PLACES if alone else 1
            with ALONE if alone else contextlib.nullcontext():
                for _i in range(n):
                    SLOTS.acquire()
            try:
                f(m)
            finally:
                SLOTS.release(n)
        TESTS.append((name, body, False))
        return f
    return add


# --- programs -----------------------------------------------------------------------------------------------

def build(kind, flags):
    """The program, built once in each kind."""
    with LOCK:
        if kind not in BUILT:
            folder = os.path.join(os.path.dirname(edges.PROG), "built-" + kind)
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o755)
            source, out = os.path.join(folder, "work.c"), os.path.join(folder, "work")
            with open(source, "w", encoding="ascii") as f:
                f.write(WORK)
            if not shutil.which("gcc"):
                raise Skip("no gcc")
            common = [x for x in FLAGS if os.uname().machine == "x86_64" or "cf-prot" not in x]
            if "-DWITH_LIBRARY" in flags:
                lib = os.path.join(folder, "libodd.so")
                subprocess.run(["gcc", *common, "-DLIBRARY", "-shared", "-fPIC", "-o", lib, source], check=True,
                               timeout=60)
                flags = [*flags, lib]
            r = subprocess.run(["gcc", *common, "-o", out, source, *flags, *LIBS], capture_output=True, timeout=60,
                               check=False)
            BUILT[kind] = out if r.returncode == 0 else None
        if BUILT[kind] is None:
            raise Skip(f"gcc cannot build {kind} here")
        return BUILT[kind]


def work():
    return build("nopie", ["-no-pie", "-fno-pie"])


def here():
    if sys.platform != "linux" or os.getuid() != 0:
        raise Skip("needs root")


def has_perf():
    here()
    if not shutil.which("perf"):
        raise Skip("needs package linux-perf")


def nm(path, *more):
    """[(address, size, name)] of functions and data that are defined."""
    text = subprocess.run(["nm", "-S", "--defined-only", *more, path], capture_output=True, timeout=60,
                          check=False).stdout
    got = []
    for line in text.decode("utf-8", "replace").splitlines():
        w = line.split()
        if len(w) == 4:
            got.append((int(w[0], 16), int(w[1], 16), w[3].split("@")[0]))
        elif len(w) == 3:
            got.append((int(w[0], 16), 0, w[2].split("@")[0]))
    return got


def address(path, name):
    return next(a for a, _size, n in nm(path) if n == name)


def loads(path):
    """[(file offset, address, bytes in the file)] of what is loaded."""
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, timeout=60, check=False).stdout.decode()
    return [tuple(int(x, 16) for x in (m[1], m[2], m[3])) for m in
            re.finditer(r"LOAD\s+0x(\w+)\s+0x(\w+)\s+0x\w+\s+0x(\w+)", text)]


def file_offset(path, name):
    a = address(path, name)
    return next(a - v + off for off, v, size in loads(path) if v <= a < v + size)


class Truth:
    """What nm says of an address, from /proc/PID/maps; files: what lies where a path no longer leads."""

    def __init__(self, maps, files=None):
        self.maps, self.files, self.cache = [], files or {}, {}
        for line in maps.splitlines():
            m = re.match(rb"(\w+)-(\w+) ..(.). (\w+) \S+ (\d+) *(.*)", line)
            if m and m[3] == b"x":
                self.maps.append((int(m[1], 16), int(m[2], 16), int(m[4], 16), m[6]))

    def names(self, ip):
        """None: not known where; else {name+offset: sure}, empty where no symbol is there."""
        for start, end, off, path in self.maps:
            if start <= ip < end:
                path = path.removesuffix(b" (deleted)")
                path = self.files.get(path, path)
                if not path.startswith(b"/"):
                    return None
                return self.of_file(path, ip - start + off)
        return None

    def of_file(self, path, off):
        if path not in self.cache:
            name = os.fsdecode(path)
            syms = sorted(nm(name) + nm(name, "-D"))
            self.cache[path] = loads(name), syms, [s[0] for s in syms]
        segments, syms, starts = self.cache[path]
        at = next((off - o + v for o, v, size in segments if o <= off < o + size), None)
        if at is None:
            return None
        got, i = {}, bisect.bisect_right(starts, at)
        for a, size, name in syms[max(0, i - 40):i]:
            if a <= at < a + size or (size == 0 and a == starts[i - 1]):
                got[f"{name}+{at - a:#x}"] = size > 0
        return got


# --- runs ---------------------------------------------------------------------------------------------------

class Sampled:
    def __init__(self, code, text, out, err):
        self.code, self.text, self.out, self.err = code, text, out, err

    def __repr__(self):
        return f"exit {self.code}, results {self.text[-300:]!r}, out {self.out[-200:]!r}, err {self.err[-300:]!r}"


SERIAL = iter(range(10**6))


def sample(args, command=None, fmt="json", code=0, err=b"", **kw):
    """The results of a run, in a file of their own; of JSON the records."""
    path = os.path.join(os.path.dirname(edges.PROG), f"out-{next(SERIAL)}")
    r = edges.run(["sample", *args, "-o", fmt, "-O", path, *(["--", *command] if command else [])], **kw)
    text = b""
    if os.path.exists(path):
        with open(path, "rb") as f:
            text = f.read()
        os.unlink(path)
    s = Sampled(r.code, text, r.out, r.err)
    if code is not None:
        eq(s.code, code, f"exit code ({s!r})")
    if err is not None:
        eq(s.err, err, "messages")
    s.recs = parse_json(text) if fmt == "json" else None
    return s


def check_records(recs, begun, ended):
    last = 0
    for r in recs:
        missing = [k for k in KEYS if k not in r]
        eq(missing, [], f"keys that {r} has not")
        eq((r["schema"], r["kind"]), (1, "sample"), "schema, kind")
        check(begun - 0.01 <= r["time"] <= ended + 0.01, f"time {r['time']} is outside {begun} .. {ended}")
        check(r["time"] >= last, f"time {r['time']} after {last}")
        last = r["time"]
        check(isinstance(r["cpu"], int) and 0 <= r["cpu"] < 4096, f"cpu {r['cpu']!r}")
        check(isinstance(r["pid"], int) and isinstance(r["tid"], int), f"pid {r['pid']!r}, tid {r['tid']!r}")
        check(r["mode"] in ("user", "kernel"), f"mode {r['mode']!r}")
        check(re.fullmatch(r"0x[0-9a-f]+", r["ip"]), f"ip {r['ip']!r}")
        check((int(r["ip"], 16) >> 63 == 1) == (r["mode"] == "kernel"), f"ip {r['ip']} in mode {r['mode']}")
        check(isinstance(r["callchain"], list) and isinstance(r["period"], int) and r["period"] > 0, f"{r}")
        check(r["symbol"] is None or re.fullmatch(r".+?(\+0x[0-9a-f]+)?", r["symbol"]), f"symbol {r['symbol']!r}")


def base(symbol):
    return re.sub(r"\+0x[0-9a-f]+$", "", symbol) if symbol else None


def spinning(*args, ms=600000):
    return subprocess.Popen([work(), "burn", str(ms), *args], stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def running(*args, ms=600000):
    p = spinning(*args, ms=ms)
    try:
        until_it_ran(p.pid, 0.02)
        yield p
    finally:
        p.kill()
        p.wait()


@contextlib.contextmanager
def started(args, **kw):
    p = subprocess.Popen([edges.PROG, *args], **kw)
    try:
        yield p
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        for f in (p.stdout, p.stderr):
            if f:
                f.close()


# --- records ------------------------------------------------------------------------------------------------

@test("records: every key, times in order and within the run", True)
def _(m):
    here()
    begun = time.time()
    s = sample(["-F", "1000"], [work(), "burn", "200"])
    check_records(s.recs, begun, time.time())
    check(100 <= len(s.recs) <= 1000 * (time.time() - begun) + 20, f"{len(s.recs)} samples of 200 ms at 1000 Hz")
    eq({r["comm"] for r in s.recs} - {"gpustat"}, {"work"}, "comm")
    eq(len({r["pid"] for r in s.recs}), 1, "processes")
    eq({r["event"] for r in s.recs}, {"cpu-clock"}, "event without a PMU") if not cycles() else None
    share = sum(base(r["symbol"]) == "burn" for r in s.recs) / len(s.recs)
    check(share > 0.7, f"{share:.0%} of the samples are in burn")


def cycles():
    return os.path.isdir("/sys/bus/event_source/devices/cpu") or \
        any(d.startswith("armv8") for d in os.listdir("/sys/bus/event_source/devices"))


@test("records: csv, logfmt, line and table")
def _(m):
    here()
    n = 300  # the first are the loader's
    args = ["-e", "page-faults:u", "--sample-period", "1", "-c", str(n)]

    def text(fmt):
        s = sample(args, [work(), "touch", "500", "1000"], fmt, code=None)
        check(s.code in (0, 128 + signal.SIGTERM), f"{s!r}")  # after so many samples a command that has not ended is
        return s.text
    rows = parse_csv(text("csv"))
    eq(sorted({r["field"] for r in rows} & {"ip", "tid", "mode", "period", "addr"}),
       ["addr", "ip", "mode", "period", "tid"], "fields of csv")
    eq(sum(r["field"] == "ip" for r in rows), n, "samples in csv")
    recs = parse_logfmt(text("logfmt"))
    eq(len(recs), n, "samples in logfmt")
    for r in recs:
        missing = {"time", "cpu", "pid", "tid", "comm", "mode", "ip", "period"} - set(r)
        eq(missing, set(), f"keys that logfmt lacks in {r}")
    for fmt in ("line", "table"):
        lines = printable(text(fmt)).splitlines()
        check(n + 1 <= len(lines) <= n + 2, f"{len(lines)} lines of {fmt}")
        check(sum("touch+0x" in x for x in lines) > 0 or fmt == "table", f"{fmt}: no symbol: {lines[-1]}")


@test("records: the comm before and after PR_SET_NAME, and after exec")
def _(m):
    here()
    for name in ("second", "", "a;b c", "new\nline", "\udcff\udcfe", "1234567890123456789"):
        s = sample(["-F", "2000"], ["sh", "-c", 'exec "$@"', "x", work(), "phases", "60", name])
        want = edges.as_json(os.fsencode(name)[:15])
        for r in s.recs:
            if base(r["symbol"]) == "first_phase":
                eq(r["comm"], "work", "comm before")
            if base(r["symbol"]) == "second_phase":
                eq(r["comm"] or "", want, "comm after")
        phases = collections.Counter(base(r["symbol"]) for r in s.recs)
        check(min(phases["first_phase"], phases["second_phase"]) > 20, f"samples {phases}")
        eq(len({r["pid"] for r in s.recs}), 1, "one process before and after its exec")


@test("records: children and threads are sampled, each under its own number")
def _(m):
    here()
    s = sample(["-F", "1000"], [work(), "family", "100"])
    who = dict(reversed(x.rsplit(" ", 1)) for x in s.out.decode().splitlines())
    me = next(int(k) for k, v in who.items() if v == "self")
    counts = collections.Counter((r["pid"], r["tid"], r["comm"]) for r in s.recs)
    for number, name in who.items():
        pid = int(number) if name in ("child", "self") else me
        comm = name if name.startswith("thread") else "work"
        n = counts[pid, int(number), comm]
        check(50 < n < 250, f"{n} samples of {name} {number}: {counts}")
    known = {int(k) for k in who}
    eq({t for _p, t, _c in counts} - known, set(), "strangers")


@test("records: --no-inherit leaves out children and threads")
def _(m):
    here()
    s = sample(["-F", "1000", "--no-inherit"], [work(), "family", "100"])
    me = int(re.search(rb"self (\d+)", s.out)[1])
    eq({(r["pid"], r["tid"]) for r in s.recs}, {(me, me)}, "who was sampled")


@test("records: -p, -t, -C and -a")
def _(m):
    here()
    with running() as a, running() as b:
        s = sample(["-F", "500", "-p", str(a.pid), "-c", "30"])
        eq({r["pid"] for r in s.recs}, {a.pid}, "-p")
        eq({r["comm"] for r in s.recs}, {"work"}, "comm of a process that was there before")
        check(any(base(r["symbol"]) == "burn" for r in s.recs), "no symbols of a process that was there before")
        s = sample(["-F", "500", "-p", f"{a.pid},{b.pid}", "--timeout", "1000"])
        eq({r["pid"] for r in s.recs}, {a.pid, b.pid}, "-p of two")
        s = sample(["-F", "500", "-t", str(b.pid), "-c", "20"])
        eq({r["tid"] for r in s.recs}, {b.pid}, "-t")
        s = sample(["-F", "500", "-a", "--timeout", "1000"], err=None)  # on a busy machine rings may be full: that is said
        got = collections.Counter(r["pid"] for r in s.recs)
        check(got[a.pid] and got[b.pid], f"-a: {got}")
        check(all(r["comm"] == "work" for r in s.recs if r["pid"] in (a.pid, b.pid)), "comm with -a")
        cpu = min(os.sched_getaffinity(0))
        s = sample(["-F", "500", "-C", str(cpu), "--timeout", "300"], err=None)
        eq({r["cpu"] for r in s.recs}, {cpu}, "-C")


# --- symbols ------------------------------------------------------------------------------------------------

def check_symbols(recs, truth, want=(), know=True):
    """No name but those nm has for that address; where know, all that nm has for sure are there."""
    seen = collections.Counter()
    for r in recs:
        for ip, mode, symbol in [(r["ip"], r["mode"], r["symbol"])]:
            if mode != "user":
                continue
            names = truth.names(int(ip, 16))
            if names is None:
                continue
            if symbol is None:
                sure = [n for n, s in names.items() if s]
                check(not know or not sure, f"{ip} of {r['module']} has no name; nm has {sure}")
            else:
                symbol = symbol if "+0x" in symbol else symbol + "+0x0"
                check(symbol in names, f"{ip} of {r['module']} is {symbol}; nm has {sorted(names)}")
            seen[base(symbol)] += 1
    for w in want:
        check(seen[w] > 5, f"{seen[w]} samples in {w}: {seen}")


def symbols_of(kind, flags, want, strip=None):
    def body(m):
        here()
        path = build(kind, flags)
        if strip and not os.path.exists(path + ".done"):
            subprocess.run([*strip, path], check=True, timeout=60)
            with open(path + ".done", "wb"):
                pass
        s = sample(["-F", "2000", "-e", "cpu-clock"], [path, "symbols", "60"])
        check_symbols(s.recs, Truth(s.out), want)
        mine = [r for r in s.recs if r["module"] == path]
        check(mine, f"no samples in {path}")
    return body


BOTH = ("burn", "burn_static")
for _kind, _flags, _want, _strip in [
        ("nopie", ["-no-pie", "-fno-pie"], BOTH, None), ("pie", ["-pie", "-fPIE"], BOTH, None),
        ("static", ["-static"], BOTH, None), ("static-pie", ["-static-pie", "-fPIE"], BOTH, None),
        ("library", ["-pie", "-fPIE", "-DWITH_LIBRARY"], (*BOTH, "in_library", "hidden_in_library"), None),
        ("dynsym", ["-pie", "-fPIE", "-rdynamic"], ("burn", None), ["strip"]),
        ("stripped", ["-pie", "-fPIE"], (None,), ["strip"]),
        ("big-pages", ["-pie", "-fPIE", "-Wl,-z,max-page-size=2097152"], BOTH, None),
        ("lld-like", ["-pie", "-fPIE", "-Wl,-z,noseparate-code"], BOTH, None),
        ("high-base", ["-no-pie", "-fno-pie", "-Wl,-Ttext-segment=0x10000000"], BOTH, None),
        ("32-bit", ["-m32"], BOTH, None), ("hash", ["-pie", "-fPIE", "-Wl,--hash-style=sysv"], BOTH, None)]:
    test(f"symbols: {_kind}, as nm has them")(symbols_of(_kind, _flags, _want, _strip))


@test("symbols: a binary that is deleted, or replaced by another, while it runs")
def _(m):
    here()
    src, other = work(), build("pie", ["-pie", "-fPIE"])
    path, new = m.path("gone"), m.path("new")
    shutil.copy(src, path)
    s = sample(["-F", "2000"], [path, "symbols", "60", path])
    check(not os.path.exists(path), "still there")
    files = {os.fsencode(path): os.fsencode(src)}
    check_symbols(s.recs, Truth(s.out, files), know=False)
    shutil.copy(src, path)
    shutil.copy(other, new)
    s = sample(["-F", "2000"], [path, "symbols", "60", path, new])
    check_symbols(s.recs, Truth(s.out, files), know=False)


@test("symbols: a path with blanks and odd bytes")
def _(m):
    here()
    for name in (b"two words", b"new\nline", b"\xff\xfe;%s$(id)", b"(deleted)", b"x (deleted)", b"[vdso]", b"%2F",
                 b"tab\there", b"-e"):
        folder = os.path.join(os.fsencode(m.base), b"odd " + name)
        os.mkdir(folder)
        path = os.path.join(folder, name)
        shutil.copy(work(), path)
        s = sample(["-F", "2000"], [path, "symbols", "40"])
        got = collections.Counter(base(r["symbol"]) for r in s.recs)
        check(got["burn"] > 5 and got["burn_static"] > 5, f"{name!r}: {got}")
        modules = {r["module"] for r in s.recs if base(r["symbol"]) == "burn"}
        # the kernel itself writes a newline as \012 in some places; any of these is right
        right = {edges.as_json(path), edges.as_text(path), edges.as_json(path.replace(b"\n", b"\\012"))}
        check(modules <= right, f"module {modules} of {path!r}")


@test("symbols: of the kernel, as kallsyms has them")
def _(m):
    here()
    with open("/proc/kallsyms", encoding="ascii") as f:
        lines = [x.split() for x in f]
    syms = sorted((int(x[0], 16), x[2]) for x in lines if x[1] in "tTwW")
    if not syms or syms[-1][0] == 0:
        raise Skip("the kernel hides its symbols")
    starts = [a for a, _n in syms]
    s = sample(["-F", "5000", "-e", "cpu-clock:k"], ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=30000",
                                                     "status=none"])
    n = 0
    for r in s.recs:
        eq(r["mode"], "kernel", "mode with :k")
        if r["symbol"] and r["module"] == "[kernel.kallsyms]":
            ip = int(r["ip"], 16)
            a = starts[bisect.bisect_right(starts, ip) - 1]
            same = syms[bisect.bisect_left(starts, a):bisect.bisect_right(starts, a)]
            names = {f"{name}+{ip - a:#x}" for _a, name in same}
            symbol = r["symbol"] if "+0x" in r["symbol"] else r["symbol"] + "+0x0"
            check(symbol in names, f"{r['ip']} is {r['symbol']}; kallsyms has {names}")
            n += 1
    check(n > 50, f"{n} kernel samples of {len(s.recs)} have a name")


@test("symbols: those of the kernel are null where it hides them")
def _(m):
    here()
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) < 2:
            raise Skip("kernel.perf_event_paranoid shows the symbols to all")
    r = subprocess.run(["setpriv", "--bounding-set=-syslog", edges.PROG, "sample", "-F", "2000", "-e", "cpu-clock:k",
                        "-ojson", "-v", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=10000",
                        "status=none"], capture_output=True, timeout=60, check=False)
    lines = r.stderr.splitlines()
    recs = [strict(x) for x in lines if x.startswith(b"{")]
    check(len(recs) > 5, f"{len(recs)} samples: {lines[-3:]}")
    eq({x["symbol"] for x in recs}, {None}, "names")
    check(any(b"kptr_restrict" in x for x in lines), f"no word of kptr_restrict under -v: {lines[-2:]}")


@test("symbols: a library that takes the place of another")
def _(m):
    here()
    libs = []
    for i in range(6):
        lib = m.path(f"lib{i}.so")
        src = m.write(f"{i}.c", f"void function_{i}(long n) {{ for (volatile long i = 0; i < n; i++) ; }}\n")
        r = subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", lib, src], timeout=60, check=False)
        eq(r.returncode, 0, "gcc")
        libs += [lib, f"function_{i}"]
    s = sample(["-F", "2000", "-e", "cpu-clock:u"], [work(), "reload", "40", *libs])
    where = s.out.split()
    if len(set(where)) == len(where):
        raise Skip("each library has an address of its own")
    order = [x for x in (base(r["symbol"]) for r in s.recs) if x and x.startswith("function_")]
    eq(order, sorted(order), "order of the functions")
    got = collections.Counter(order)
    check(len(got) == 6 and min(got.values()) > 30, f"samples {got}")
    for r in s.recs:
        if (base(r["symbol"]) or "").startswith("function_"):
            eq(r["module"], m.path(f"lib{base(r['symbol'])[-1]}.so"), "module")


@test("symbols and comm: exec by a thread, threads that were there before")
def _(m):
    here()
    s = sample(["-F", "2000", "-e", "cpu-clock:u"], [work(), "exec", build("pie", ["-pie", "-fPIE"]), "phases", "60",
                                                     "after"])
    got = collections.Counter((r["comm"], base(r["symbol"])) for r in s.recs)
    for want in (("executor", "burn"), ("work", "first_phase"), ("after", "second_phase")):
        check(got[want] > 20, f"{want}: {got}")
    for comm, symbol in got:
        check(symbol not in ("first_phase", "second_phase") or comm in ("work", "after"), f"{symbol} in {comm}")
    with subprocess.Popen([work(), "family", "300"], stdout=subprocess.PIPE) as p:
        edges.until("its threads", lambda: len(os.listdir(f"/proc/{p.pid}/task")) == 3)
        s = sample(["-F", "1000", "-p", str(p.pid), "--timeout", "1000", "-e", "cpu-clock:u"])
        p.communicate(timeout=60)
    got = collections.Counter((r["pid"], r["comm"]) for r in s.recs)
    check({p.pid} == {pid for pid, _c in got}, f"processes {got}")
    check(got[p.pid, "thread one"] and got[p.pid, "thread two"] and got[p.pid, "work"], f"comms {got}")


# --- call chains --------------------------------------------------------------------------------------------

def outer(chain):
    return [base(f) for f in chain]


@test("-g: the callers of a function that is known, innermost first")
def _(m):
    here()
    where = address(work(), "written")
    s = sample(["-e", f"mem:{where:#x}/8:w", "--sample-period", "1", "-g"], [work(), "stack", "100", "10"])
    eq(len(s.recs), 125, "samples")
    paths = collections.Counter(tuple(outer(r["callchain"])[:3]) for r in s.recs)
    eq(paths, {("level_b", "level_a", "main"): 100, ("level_b", "other_a", "main"): 25}, "callers")
    eq({base(r["symbol"]) for r in s.recs}, {"level_c"}, "where")
    top = {re.sub(r".*\+", "", r["callchain"][0]) for r in s.recs}
    eq(len(top), 1, f"return addresses {top} in level_b")


@test("-g: chains of samples by time")
def _(m):
    here()
    s = sample(["-F", "2000", "-g", "-e", "cpu-clock:u"], [work(), "stack", "400", "400000"])
    deep = [r for r in s.recs if base(r["symbol"]) == "level_c"]
    check(len(deep) > 30, f"{len(deep)} of {len(s.recs)} in level_c")
    good = sum(outer(r["callchain"])[:3] in (["level_b", "level_a", "main"],
                                             ["level_b", "other_a", "main"]) for r in deep)
    # of its first and last instructions the frame is not there: a caller is missing then
    check(good >= 0.95 * len(deep), f"{good} of {len(deep)} are whole")


FOLDED = re.compile(rb"[^; \n][^;\n]*(;[^;\n]+)* [1-9][0-9]*")


def folded(text):
    """{stack: count}; each line as flamegraph.pl takes it."""
    got = collections.Counter()
    for line in text.split(b"\n")[:-1]:
        check(FOLDED.fullmatch(line), f"no folded line: {line!r}")
        line.decode("utf-8")
        check(not re.search(rb"[\x00-\x1f\x7f]", line), f"control characters: {line!r}")
        stack, n = line.rsplit(b" ", 1)
        check(stack not in got, f"twice: {line!r}")
        got[stack] = int(n)
    return got


@test("folded: the stacks of a program that is known")
def _(m):
    here()
    where = address(work(), "written")
    args = ["-e", f"mem:{where:#x}/8:w", "--sample-period", "1", "-g"]
    got = folded(sample(args, [work(), "stack", "100", "10"], "folded").text)
    tails = collections.Counter()
    for stack, n in got.items():
        check(stack.startswith(b"work;"), f"begins with the comm: {stack}")
        tails[stack[stack.index(b";main;"):]] += n
    eq(tails, {b";main;level_a;level_b;level_c": 100, b";main;other_a;level_b;level_c": 25}, "stacks")


@test("folded: odd comms break no line")
def _(m):
    here()
    for name in ("a;b", "new\nline", " lead trail ", "\udcff\udcfe", "x 12", ";", "tab\tx", "\x1b[31m", ""):
        got = folded(sample(["-F", "1000", "-g"], [work(), "phases", "30", name], "folded").text)
        eq(any(s.split(b";")[-1] == b"second_phase" for s in got), True,
           f"second_phase below {name!r}: {list(got)[:3]}")


def perf_script(path, *fields, quiet=True):
    r = subprocess.run(["perf", "script", "-i", path, *fields], capture_output=True, timeout=60, check=False)
    eq(r.returncode, 0, f"perf script: {r.stderr[-300:]!r}")
    bad = [x for x in r.stderr.splitlines() if b"arning" in x or b"rror" in x or b"ailed" in x]
    check(not quiet or not bad, f"perf says {r.stderr[-300:]!r}")
    return r.stdout.decode("utf-8", "replace")


@test("folded: as perf script, folded by hand, has it")
def _(m):
    has_perf()
    where = address(work(), "written")
    args = ["-e", f"mem:{where:#x}/8:w", "--sample-period", "1", "-g"]
    path = m.path("perf.data")
    perfdata(args, [work(), "stack", "100", "10"], path)
    want = collections.Counter()
    for block in perf_script(path, "-F", "comm,ip,sym").strip().split("\n\n"):
        lines = block.splitlines()
        frames = [x.split(None, 1)[1].strip() for x in lines[1:]]
        want[";".join([lines[0].strip(), *reversed(frames)])] += 1
    got = folded(sample(args, [work(), "stack", "100", "10"], "folded").text)  # perf's symbols have no _[k]
    cut = {re.sub(r"^(\w+).*?;main", r"\1;main", k): n for k, n in want.items()}
    mine = {re.sub(r"^(\w+).*?;main", r"\1;main", k.decode()): n for k, n in got.items()}
    eq(mine, cut, "stacks")


# --- sums ---------------------------------------------------------------------------------------------------

@test("--summary: by comm, symbol and ip: sums, percentages, order")
def _(m):
    here()
    n = 300
    where = address(work(), "written")
    args = ["-e", f"mem:{where:#x}/8:w", "--sample-period", "1"]
    for how in ("comm", "symbol", "ip", "comm,symbol,ip", ""):
        opt = [f"--summary={how}"] if how else ["--summary"]
        recs = sample([*args, *opt], [work(), "stack", str(n), "1"]).recs
        tables = collections.defaultdict(list)
        for r in recs:
            eq((r["schema"], r["kind"]), (1, "profile"), "schema, kind")
            tables[r["by"]].append(r)
        check(not how or set(tables) == set(how.split(",")), f"tables {set(tables)} of {how}")
        for by, rows in tables.items():
            eq(sum(r["samples"] for r in rows), n + n // 4, f"samples by {by}")
            near(sum(r["percent"] for r in rows), 100, 0.01 * len(rows), f"percent by {by}")
            eq([r["period"] for r in rows], sorted((r["period"] for r in rows), reverse=True), f"order by {by}")
            name = {"comm": "work", "symbol": "level_c", "ip": "level_c"}[by]
            eq({base(r["name"]) for r in rows}, {name}, f"names by {by}")


@test("--summary: a mixture adds up, and agrees with line and csv")
def _(m):
    here()
    recs = sample(["-F", "2000", "--summary=comm,symbol,ip"], [work(), "family", "80"]).recs
    total = {by: sum(r["samples"] for r in recs if r["by"] == by) for by in ("comm", "symbol", "ip")}
    eq(len(set(total.values())), 1, f"samples of each table {total}")
    for by in total:
        rows = [r for r in recs if r["by"] == by]
        near(sum(r["percent"] for r in rows), 100, 0.001 * len(rows) + 0.001, f"percent by {by}")
        order = [r["period"] for r in rows]
        eq(order, sorted(order, reverse=True), f"order by {by}")
        keys = [(r["name"], r["module"], r["ip"]) for r in rows]
        eq(len(keys), len(set(keys)), f"rows of {by}, each once")
    comms = {r["name"] for r in recs if r["by"] == "comm"}
    check({"work", "thread one", "thread two"} <= comms, f"comms {comms}")
    text = printable(sample(["-F", "2000", "--summary=symbol"], [work(), "burn", "50"], "line").text)
    check(re.search(r"(?m)^ *\d+\.\d% .* burn ", text), f"line: {text}")
    parse_csv(sample(["-F", "2000", "--summary=symbol"], [work(), "burn", "50"], "csv").text)


# --- events -------------------------------------------------------------------------------------------------

TRACEFS = 'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec "$@"'


@test("tracepoint: a sample of each switch")
def _(m):
    here()
    out = m.path("out.json")
    r = subprocess.run(["unshare", "-m", "sh", "-c", TRACEFS, "x", edges.PROG, "sample", "-e", "sched:sched_switch",
                        "--sample-period", "1", "-o", "json", "-O", out, "--", work(), "sleep", "50"],
                       capture_output=True, timeout=60, check=False)
    if b"tracefs" in r.stderr or b"unshare" in r.stderr:
        raise Skip("no tracefs here")
    eq((r.returncode, r.stderr), (0, b""), "exit code, messages")
    with open(out, "rb") as f:
        recs = parse_json(f.read())
    check_records(recs, 0, 1e11)
    before, after = (int(x) for x in r.stdout.split())  # those before its exec are our own; some may come after it has counted
    check(50 <= after - before <= len(recs) <= after + 5, f"{len(recs)} switches, of {before} .. {after}")
    eq({x["event"] for x in recs}, {"sched:sched_switch"}, "event")


@test("page faults: each where it happened")
def _(m):
    here()
    n = 200
    s = sample(["-e", "page-faults:u", "--sample-period", "1"], [work(), "touch", str(n), "100"])
    start = int(s.out.split()[0], 16)
    got = [int(r["addr"], 16) for r in s.recs if base(r["symbol"]) == "touch"]
    eq(got, [start + i * PAGE for i in range(n)], "addresses")


@test("breakpoint: a sample of each write, no more")
def _(m):
    here()
    where = address(work(), "written")
    for n in (1, 100, 3000):
        s = sample(["-e", f"mem:{where:#x}/8:w", "--sample-period", "1"], [work(), "write", str(n)])
        eq(len(s.recs), n, "samples")
        eq({base(r["symbol"]) for r in s.recs}, {"write_it"}, "where")
        eq({r["addr"] for r in s.recs}, {hex(where)}, "addr")
        eq({r["period"] for r in s.recs}, {1}, "period")


@test("uprobe: a sample of each call, no more")
def _(m):
    here()
    for kind, flags in (("nopie", ["-no-pie", "-fno-pie"]), ("pie", ["-pie", "-fPIE"])):
        path = build(kind, flags)
        off = file_offset(path, "called")
        for event in (f"uprobe:{path}:{off:#x}", f"uprobe/path={path},offset={off:#x}/"):
            s = sample(["-e", event, "--sample-period", "1"], [path, "call", "150"])
            eq(len(s.recs), 150, f"samples of {event}")
            eq({r["symbol"] for r in s.recs} - {"called", "called+0x0"}, set(), "where")


@test("groups: the values of all members in each sample")
def _(m):
    here()
    s = sample(["-F", "2000", "-e", "{cpu-clock,page-faults}:S"], [work(), "group", "2000", "60000"])
    check(len(s.recs) > 30, f"{len(s.recs)} samples")
    last = {}
    for r in s.recs:
        eq(sorted(r["group"]), ["cpu-clock", "page-faults"], "members")
        eq(r["event"], "cpu-clock", "only the leader samples")
        for k, v in r["group"].items():
            # each CPU has counters of its own
            check(isinstance(v, int) and v >= last.get((k, r["cpu"]), 0), f"{k}: {v} after {last.get((k, r['cpu']))}")
            last[k, r["cpu"]] = v
    faults = int(s.out.split()[1])
    near(sum(v for (k, _cpu), v in last.items() if k == "page-faults"), faults, 0.2 * faults,
         "page faults in the last samples")


@test("several events at once, each under its own name")
def _(m):
    here()
    where = address(work(), "written")
    s = sample(["-e", f"mem:{where:#x}/8:w", "-e", "page-faults:u",
                "--sample-period", "1"], [work(), "write", "50"])
    got = collections.Counter(r["event"] for r in s.recs)
    eq(got[f"mem:{where:#x}/8:w"], 50, f"writes of {got}")
    check(got["page-faults:u"] > 0 and len(got) == 2, f"events {got}")


# --- how many, how often ------------------------------------------------------------------------------------

@test("--limit: so many samples of each event and task, then none")
def _(m):
    here()
    for n in (1, 5, 50):
        s = sample(["-F", "1000", "--limit", str(n)], [work(), "burn", "150"])
        eq(len(s.recs), n, f"samples with --limit {n}")
    s = sample(["-F", "1000", "-e", "cpu-clock,task-clock", "--limit", "7"], [work(), "burn", "100"])
    got = collections.Counter(r["event"] for r in s.recs)
    eq(got, {"cpu-clock": 7, "task-clock": 7}, "samples of each event")
    with running() as a, running() as b:
        s = sample(["-F", "1000", "-p", f"{a.pid},{b.pid}", "--limit", "5", "-c", "10"])
        eq(collections.Counter(r["tid"] for r in s.recs), {a.pid: 5, b.pid: 5}, "samples of each task")
    where = address(work(), "written")
    s = sample(["-e", f"mem:{where:#x}/8:w", "--sample-period", "1", "--limit", "3"], [work(), "write", "20"])
    eq(len(s.recs), 3, "samples of writes")


@test("--limit with --delay: neither before its time nor more than that", True)
def _(m):
    here()
    with running() as a:
        args = ["-F", "1000", "--limit", "5", "-p", str(a.pid), "--timeout", "1500"]
        eq(len(sample([*args, "-D", "-1"]).recs), 0, "samples of what is never switched on")
        begun = time.time()
        recs = sample([*args, "-D", "100"]).recs
        eq(len(recs), 5, "samples after a delay")
        check(recs[0]["time"] > begun + 0.1, f"the first comes {recs[0]['time'] - begun:.3f} s after the start")


@test("--reset-on-overflow: what the group counted since the last sample")
def _(m):
    here()
    s = sample(["-F", "1000", "-e", "{cpu-clock,page-faults}:S", "--reset-on-overflow"],
               [work(), "group", "2000", "60000"])
    faults = int(s.out.split()[1])
    total = sum(r["group"]["page-faults"] for r in s.recs)
    check(0.8 * faults <= total <= faults + 10, f"{total} of {faults} page faults in all samples")


def carta(seed, n):
    for _i in range(n):
        seed = 16807 * seed % 0x7fffffff
        yield seed


@test("--sample-period: of events that software counts, one in so many")
def _(m):
    here()
    n, where = 700, address(work(), "written")
    for period in (2, 7, 100):
        s = sample(["-e", f"mem:{where:#x}/8:w", "--sample-period", str(period)], [work(), "write", str(n)])
        # on a busy virtual machine one write of 700 was seen to be lost on the way to the kernel
        check(0 <= n // period - len(s.recs) <= 1 and {r["period"] for r in s.recs} == {period},
              f"{len(s.recs)} samples of {n} writes, one in {period}")
        s = sample(["-e", "page-faults:u", "--sample-period", str(period)], [work(), "touch", str(n), "100"])
        near(len(s.recs), (n + 60) / period, 1 + 30 / period, f"samples of page faults, one in {period}")
    rows = sample(["-e", f"mem:{where:#x}/8:w", "--sample-period", "7", "--summary=symbol"],
                  [work(), "write", str(n)]).recs
    eq([(r["name"], r["samples"], r["period"]) for r in rows], [("write_it", 100, 700)], "sum of one in 7")


def gaps(recs):
    """ns between samples, the first excepted."""
    times = [r["time"] for r in recs]
    return [round((b - a) * 1e9) for a, b in zip(times[1:], times[2:])]


@test("--period-random: periods vary within the mask, by the generator of the seed", True)
def _(m):
    here()
    p, mask, seed = 2000000, 0x1fffff, 42
    args = ["-e", "cpu-clock:u", "--sample-period", str(p), "--period-random", f"{mask},{seed}", "--wakeup", "1"]
    s = sample(args, [work(), "burn", "400"])
    real = gaps(s.recs)
    long = sum(x > p + mask // 4 for x in real)
    check(len(real) > 60 and long > len(real) // 4, f"{long} of {len(real)} samples come later than the least period")
    periods = {r["period"] for r in s.recs}
    check(len(periods) > 5, f"{len(periods)} different periods of {len(s.recs)}: {sorted(periods)[:5]}")
    check(all(p <= x <= p + mask for x in periods), f"periods outside the mask: {sorted(periods)[:5]}")
    eq(periods - {p} - {p + (x & mask) for x in carta(seed, 2000)}, set(), "periods that are not the generator's")


@test("--long-period after a full ring, --short-period otherwise", True)
def _(m):
    here()
    first, long, short = 1000000, 3000000, 500000
    args = ["-e", "cpu-clock:u", "--sample-period", str(first), "--long-period", str(long), "--short-period",
            str(short)]
    for more, after in (([], short), (["--wakeup", "1"], long), (["--watermark", "1", "--wakeup", "2000"], short)):
        s = sample([*args, *more], [work(), "burn", "500"])
        last = gaps(s.recs)[-40:]
        check(sum(last) > 0.8 * after * len(last), f"ns between the last samples {more}, which load can only make longer: {last}")
        periods = collections.Counter(r["period"] for r in s.recs)
        check(set(periods) <= {first, short, long} and periods[after] > 20, f"{more}: periods in the samples {periods}")
        check(after != short or not periods[long], f"{more}: woken, by no ring that was full: {periods}")


@contextlib.contextmanager
def writes(m, *args):
    """A process that writes once for each byte, sampled under strace: what sends bytes, what has read so many lines, the log."""
    here()
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    log = m.path("strace.log")
    with subprocess.Popen([work(), "writes"], stdin=subprocess.PIPE) as a:
        argv = ["strace", "-qq", "-o", log, "-e", "trace=ppoll,write,writev", edges.PROG, "sample", "-p", str(a.pid),
                "-e", f"mem:{address(work(), 'written'):#x}/8:w", "--sample-period", "1", "-o", "json", *args]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            def send(n):
                a.stdin.write(b"x" * n)
                a.stdin.flush()
            while not select.select([p.stdout], [], [], 0.1)[0]:
                send(1)  # until it is there
            seen = strict(p.stdout.readline())["period"]
            while select.select([p.stdout], [], [], 1)[0]:
                seen += strict(p.stdout.readline())["period"]

            def lines(n):
                return [strict(p.stdout.readline()) for _ in range(n)]
            yield send, lines, log
            a.kill()
            eq(p.communicate(timeout=60)[1], b"", "messages")


def waits_of(log):
    """Each wait with what came of it."""
    with open(log, encoding="utf-8", errors="replace") as f:
        return [x for x in f if x.startswith("ppoll")]


@test("--wakeup 1: lines come at once; without it, soon")
def _(m):
    with writes(m, "--wakeup", "1") as (send, lines, log):
        for _ in range(5):  # each comes, though there is no other sample after it
            send(1)
            lines(1)
    check(any("POLLIN" in x.rpartition(" = ")[2] for x in waits_of(log)), "the ring wakes nobody")
    with writes(m) as (send, lines, log):
        for _ in range(3):
            send(1)
            lines(1)
    for x in waits_of(log):
        t = re.search(r"tv_sec=(\d+), tv_nsec=(\d+)\}", x)
        check(t and int(t[1]) == 0 and int(t[2]) <= 2e8, f"a wait of 0.2 s at most: {x}")


@test("-c N and --timeout stop it")
def _(m):
    here()
    with running() as a:
        for n in (1, 10):
            r = sample(["-F", "1000", "-p", str(a.pid), "-c", str(n)])
            eq(len(r.recs), n, f"samples with -c {n}")
            recs = sample(["-F", "1000", "-p", str(a.pid), "-c", str(n), "--wakeup", "1"]).recs
            eq(len(recs), n, f"samples with -c {n} --wakeup 1")
        rows = sample(["-F", "1000", "-p", str(a.pid), "-c", "25", "--summary=comm"]).recs
        eq([x["samples"] for x in rows], [25], "sum with -c 25")
        try:
            p = clock.Driven([edges.PROG, "sample", "-F", "100", "-p", str(a.pid), "--timeout", "300"])
        except clock.Unable as e:
            raise Skip(str(e)) from None
        with p:
            p.to_end()
        eq(p.code, 0, f"exit code ({p.err!r})")
        near((p.now - p.began) / 1e9, 0.3, 0.001, "seconds")
    s = sample(["-F", "1000", "-c", "5"], [work(), "burn", "600000"], code=None, timeout=60)  # it does not wait for the command
    eq(len(s.recs), 5, "samples of a command with -c 5")
    sample(["-F", "1000", "--timeout", "200"], [work(), "burn", "600000"], code=None, timeout=60)


# --- losses -------------------------------------------------------------------------------------------------

def faults_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[7])


def flooded(args, out, n, until_end):
    """Page faults into a small ring that nobody empties for a while, 1500 of them or all: what the command told, messages."""
    first = 200
    with started([*args, "-O", out, "--", work(), "touch", str(n), "20000", str(first)], stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        p.stdin.write(b"x")
        p.stdin.flush()
        pid = command_of(p.pid)
        edges.until("faults", lambda: faults_of(pid) >= first)
        wait_asleep(p.pid)
        p.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        had = faults_of(pid)
        p.stdin.write(b"x" * (n // first))
        p.stdin.flush()
        if until_end:
            edges.until_zombie(pid)
        else:
            edges.until("more faults", lambda: faults_of(pid) >= had + 1500)
        p.send_signal(signal.SIGCONT)
        told, err = p.communicate(timeout=60)
        eq(p.returncode, 0, f"exit code ({err})")
    return told, err


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
    check(not any(r["period"] or r.get("group") for r in recs if r.get("lost")), "what was lost has a period, or a group's values")
    check(n <= got + shown <= faults + 200, f"{got} samples and {shown} lost of {n} to {faults} page faults")


@test("lost: counted in the records and in the message")
def _(m):
    here()
    n = 6000
    recs, said, faults = flood(m, 4, n, False)
    check_losses(recs, said, n, faults)
    check(said > 0, "none lost")


@test("lost: also those after which there was no room to say so")
def _(m):
    here()
    n = 6000
    recs, said, faults = flood(m, 4, n, True)
    check_losses(recs, said, n, faults)
    check(said > 0, "none lost")


@test("lost: a ring of one page is emptied as soon as it is half full")
def _(m):
    with writes(m, "-m", "1") as (send, lines, log):
        for _ in range(30):  # of what has room in it, none is lost, however many there are in all
            send(40)
            eq([r.get("lost") for r in lines(40)], [None] * 40, "lost")
    woken = sum("POLLIN" in x.rpartition(" = ")[2] for x in waits_of(log))
    check(woken >= 10, f"of 30 times that it was half full it woke us {woken} times")


def cost_of(args):
    """Its exit code, messages and CPU time."""
    p = subprocess.Popen([edges.PROG, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    timer = threading.Timer(60, p.kill)
    timer.start()
    _pid, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    err = p.stderr.read()
    p.stderr.close()
    return p.returncode, err, used.ru_utime + used.ru_stime


@test("10 kHz for two seconds: nothing is lost, and it costs little", True)
def _(m):
    here()
    out = m.path("out")
    with running() as a:
        # without the kernel, whose symbols take some 50 ms to read
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
    print(f"# {len(recs)} samples of {ran:.2f} s of its CPU time; we took {start * 1000:.0f} ms to start, then "
          f"{(cost - start) / 2:.1%} of a core", flush=True)
    check(5000 * ran < len(recs) < 10000 * most_by_perf(ran), f"{len(recs)} samples of {ran:.2f} s at 10 kHz")
    check(cost - start < 0.2, f"{cost:.2f} s of CPU time, {start:.2f} s of it to start")


# --- perf.data ----------------------------------------------------------------------------------------------

def perfdata(args, command, path, code=0):
    r = edges.run(["sample", *args, "-o", "perfdata", "-O", path, *(["--", *command] if command else [])])
    eq((r.code, r.err), (code, b""), "exit code, messages")
    with open(path, "rb") as f:
        eq(f.read(8), b"PERFILE2", "magic")
    return r


def triples(text):
    """Counter of (comm, symbol) of perf script -F comm,ip,sym."""
    return collections.Counter(re.sub(r" +[0-9a-f]+ ", "|", x.strip(), count=1) for x in text.splitlines() if x.strip())


@test("perfdata: perf script has each sample, with our comm and symbols")
def _(m):
    has_perf()
    path, where = m.path("perf.data"), address(work(), "written")
    args = ["-e", f"mem:{where:#x}/8:w", "--sample-period", "1"]
    perfdata(args, [work(), "write", "250"], path)
    eq(triples(perf_script(path, "-F", "comm,ip,sym")), {"work|write_it": 250}, "samples in perf script")
    mine = sample(args, [work(), "write", "250"]).recs
    ips = collections.Counter(int(r["ip"], 16) for r in mine)
    eq(collections.Counter(int(x, 16) for x in perf_script(path, "-F", "ip").split()), ips, "addresses")
    for kind, flags in (("pie", ["-pie", "-fPIE"]), ("library", ["-pie", "-fPIE", "-DWITH_LIBRARY"])):
        perfdata(["-F", "2000", "-e", "cpu-clock"], [build(kind, flags), "symbols", "60"], path)
        got = triples(perf_script(path, "-F", "comm,ip,sym"))
        want = [*BOTH] + ["in_library", "hidden_in_library"] * (kind == "library")
        for w in want:
            check(got["work|" + w] > 20, f"{kind}: {w} in {got.most_common(8)}")
    perfdata(["-F", "2000", "-e", "cpu-clock:k"], ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=10000",
                                                   "status=none"], path)
    got = triples(perf_script(path, "-F", "comm,ip,sym"))
    known = sum(n for k, n in got.items() if not k.endswith("[unknown]"))
    check(known > 0.9 * sum(got.values()) > 5, f"kernel symbols in perf: {got.most_common(5)}")


@test("perfdata: perf report takes it; several events, groups, chains")
def _(m):
    has_perf()
    path = m.path("perf.data")
    for args in (["-F", "2000"], ["-F", "2000", "-e", "cpu-clock,page-faults"], ["-F", "2000", "-g"],
                 ["-F", "2000", "-e", "{cpu-clock,page-faults}:S"], ["-F", "1000", "-m", "16"],
                 ["-F", "1000", "--no-inherit"]):
        perfdata(args, [work(), "family", "60"], path)
        r = subprocess.run(["perf", "report", "-i", path, "--stdio", "--stdio-color=never"], capture_output=True,
                           timeout=60, check=False, stdin=subprocess.DEVNULL)
        eq(r.returncode, 0, f"{args}: perf report: {r.stderr[-300:]!r}")
        check(b"burn" in r.stdout, f"{args}: no burn in perf report: {r.stdout[-600:]!r} {r.stderr[-300:]!r}")
        bad = [x for x in r.stderr.splitlines() if b"arning" in x or b"rror" in x]
        eq(bad, [], f"{args}: what perf report says")
        got = perf_script(path, "-F", "comm,tid,event")
        names = {x.strip().rsplit(None, 2)[0].strip() for x in got.splitlines() if "cpu-clock" in x}
        if "--no-inherit" not in args and "-g" not in args:
            check({"thread one", "thread two", "work"} <= names, f"{args}: comms {names}")


@test("perfdata: -a and -p")
def _(m):
    has_perf()
    path = m.path("perf.data")
    with running() as a:
        for args in (["-a"], ["-p", str(a.pid)]):
            perfdata(["-F", "500", *args, "--timeout", "1000"], None, path)
            lines = [x.split() for x in perf_script(path, "-F", "comm,pid,ip,sym").splitlines() if x.strip()]
            got = collections.Counter(x[3] for x in lines if x[0] == "work" and x[1] == str(a.pid))
            check(got["burn"] > 0, f"{args}: samples of a process that was there before: {got}")


@test("perfdata: uprobes; tracepoints, or a word that they cannot be written")
def _(m):
    has_perf()
    path, out = build("pie", ["-pie", "-fPIE"]), m.path("perf.data")
    event = f"uprobe/path={path},offset={file_offset(path, 'called'):#x}/"
    perfdata(["-e", event, "--sample-period", "1"], [path, "call", "40"], out)
    eq(triples(perf_script(out, "-F", "comm,ip,sym")), {"work|called": 40}, "calls")
    script = TRACEFS.replace('exec "$@"', '"$@" && perf script -F comm,event -i "$0"')
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, out, edges.PROG, "sample", "-e", "sched:sched_switch",
                        "--sample-period", "1", "-o", "perfdata", "-O", out, "--", work(), "sleep", "20"],
                       capture_output=True, timeout=60, check=False)
    if b"tracefs" in r.stderr or b"unshare" in r.stderr:
        raise Skip("no tracefs here")
    check(r.stdout.count(b"sched_switch") >= 20 or (r.returncode == 2 and b"tracepoint" in r.stderr),
          f"exit {r.returncode}, {r.stdout[-200:]!r}, {r.stderr!r}")


@test("perfdata: perf diff, annotate's header, buildid-list and record's own reader take it")
def _(m):
    has_perf()
    path = m.path("perf.data")
    perfdata(["-F", "1000"], [work(), "burn", "50"], path)
    for args in (["report", "--header-only"], ["evlist", "-v"], ["script", "-D"],
                 ["report", "--mem-mode", "--header-only"]):
        r = subprocess.run(["perf", *args, "-i", path], capture_output=True, timeout=60, check=False,
                           stdin=subprocess.DEVNULL)
        eq(r.returncode, 0, f"perf {args}: {r.stderr[-300:]!r}")
    r = subprocess.run(["perf", "report", "--header-only", "-i", path], capture_output=True, timeout=60, check=False)
    text = r.stdout.decode("utf-8", "replace")
    check(os.uname().release in text and "cmdline" in text, f"header {text}")


@test("perfdata: without a file or into a pipe it is refused; a file that exists is written anew")
def _(m):
    here()
    r = edges.run(["sample", "-o", "perfdata", "--", "true"])
    eq((r.code, r.out), (2, b""), "exit code, output without -O")
    check(b"-O" in r.err and r.err.count(b"\n") == 1, f"message {r.err}")
    pipe = m.path("pipe")
    os.mkfifo(pipe)
    fd = os.open(pipe, os.O_RDWR)
    try:
        r = edges.run(["sample", "-o", "perfdata", "-O", pipe, "--", "true"])
        check(r.code in (1, 2) and r.err.count(b"\n") == 1, f"into a pipe: {r!r}")
        check(re.search(rb"pipe|seek|file", r.err.replace(pipe.encode(), b"")), f"a message that says why: {r.err!r}")
    finally:
        os.close(fd)
    path = m.path("perf.data")
    with open(path, "wb") as f:
        f.write(b"x" * 5000000)
    perfdata(["-F", "100"], ["true"], path)
    check(os.path.getsize(path) < 1000000, f"{os.path.getsize(path)} bytes")
    r = edges.run(["sample", "-o", "perfdata", "-O", "/dev/full", "--", "true"])
    check(r.code in (1, 2) and r.err.count(b"\n") == 1, f"/dev/full: {r!r}")
    r = edges.run(["sample", "-o", "perfdata", "-O", m.path("no/such/x"), "--", "true"])
    check(r.code == 1 and b"no/such/x" in r.err, f"no such folder: {r!r}")


@test("perfdata: losses and interrupted runs leave a file that perf reads")
def _(m):
    has_perf()
    path = m.path("perf.data")
    with started(["sample", "-F", "1000", "-o", "perfdata", "-O", path, "--", work(), "burn", "600000"],
                 stderr=subprocess.PIPE) as p:
        until_it_ran(command_of(p.pid), 0.3)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    check(perf_script(path, "-F", "comm,ip,sym").count("burn") > 30, "samples before SIGINT")
    _told, err = flooded(["sample", "-e", "page-faults:u", "--sample-period", "1", "-m", "4", "-o", "perfdata"], path, 6000, False)
    n = perf_script(path, "-F", "event", quiet=False).count("page-faults")
    said = re.search(rb"(\d+) samples were lost", err)
    check(said, f"none lost: {err!r}")
    dump = subprocess.run(["perf", "script", "-D", "-i", path], capture_output=True, timeout=60, check=False).stdout
    lost = sum(int(x) for x in re.findall(rb"PERF_RECORD_LOST[^\n]*lost(?: samples )?:(\d+)", dump))
    check(n > 100, f"{n} samples beside {said[1]} lost")
    check(lost == int(said[1]), f"perf has {lost} lost, we said {said[1]}")


# --- without privileges -------------------------------------------------------------------------------------

def paranoid():
    here()
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        level = int(f.read())
    if level not in (1, 2):
        raise Skip(f"kernel.perf_event_paranoid is {level}")


@test("nobody: an own process in user space")
def _(m):
    paranoid()
    r = edges.run(["sample", "-F", "1000", "-e", "cpu-clock:u", "-o", "json", "--", work(), "burn", "100"], nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    recs = parse_json(r.err)
    check(len(recs) > 30, f"{len(recs)} samples")
    eq({x["mode"] for x in recs}, {"user"}, "mode")
    check(any(base(x["symbol"]) == "burn" for x in recs), "no symbols")
    # without an event of its own choice it must find one that is allowed
    r = edges.run(["sample", "-F", "1000", "-o", "json", "--", work(), "burn", "100"], nobody=True)
    eq(r.code, 0, f"exit code without -e ({r!r})")
    check(len([x for x in r.err.splitlines() if x.startswith(b"{")]) > 30, f"samples without -e: {r!r}")


@test("nobody: what is refused names perf_event_paranoid and cap_perfmon, exit 4")
def _(m):
    paranoid()
    with running() as a:
        for args in (["-a", "-F", "100", "--timeout", "200"], ["-C", "0", "--timeout", "200"],
                     ["-p", str(a.pid), "--timeout", "200"],
                     ["-e", "cpu-clock:k", "--", "true"]):
            r = edges.run(["sample", *args], nobody=True, timeout=60)
            check(r.code == 4, f"{args}: exit {r.code} ({r!r})")
            check(b"perf_event_paranoid" in r.err and b"cap_perfmon" in r.err.lower(), f"{args}: message {r.err!r}")


@test("nobody: rings within perf_event_mlock_kb")
def _(m):
    paranoid()
    s = sample_nobody(["-m", "4096", "-e", "cpu-clock:u", "-F", "1000"])
    check(len(s) > 20, f"{len(s)} samples with rings that are too large")


def sample_nobody(args):
    r = edges.run(["sample", *args, "-o", "json", "--", work(), "burn", "100"], nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    return [strict(x) for x in r.err.splitlines() if x.startswith(b"{")]


# --- bad input ----------------------------------------------------------------------------------------------

@test("bad input: refused with one line that says what is wrong")
def _(m):
    here()
    for args, code, words in [
            (["-e", "nonsense"], 2, ["nonsense"]), (["-e", ""], 2, []), (["-e", "{"], 2, []),
            (["-e", "x" * 10000], 2, []),
            (["-F", "0"], 2, ["--freq"]), (["-F", "-1"], 2, ["--freq"]), (["-F", "x"], 2, ["--freq"]),
            (["-F", "99999999999999999999"], 2, ["--freq"]),
            (["--sample-period", "0"], 2, ["--sample-period"]), (["--sample-period", "x"], 2, ["--sample-period"]),
            (["-m", "3"], 2, ["2^n"]), (["-m", "0"], 2, ["2^n"]), (["-m", "99999999999"], 2, ["--mmap-pages"]),
            (["--limit", "0"], 2, ["--limit"]), (["--wakeup", "0"], 2, ["--wakeup"]),
            (["--watermark", "0"], 2, ["--watermark"]), (["-k", "3"], 2, ["--summary"]),
            (["--timeout", "0"], 2, ["--timeout"]), (["-c", "0"], 2, []),
            (["--period-random", "7"], 2, ["--period-random"]),
            (["--period-random", "7,1"], 2, ["--sample-period"]),
            (["--long-period", "0", "--sample-period", "9"], 2, ["--long-period"]),
            (["--summary=nope"], 2, ["nope"]), (["-F", "9", "--sample-period", "9"], 2, ["--freq", "--sample-period"]),
            (["-e", "proc/ctxt/"], (2, 4), ["sampled"]), (["-e", "{proc/ctxt/,cpu-clock}"], (2, 4), []),
            (["-o", "nope"], 2, ["nope"])]:
        r = edges.run(["sample", *args, "--", "true"], timeout=60)
        codes = code if isinstance(code, tuple) else (code,)
        check(r.code in codes, f"{args[:3]}: exit {r.code}, message {r.err[-200:]!r}"[:500])
        check(r.err.count(b"\n") == 1 and r.err.startswith(b"gpustat: ") and len(r.err) < 1000,
              f"{args[0]} {args[-1][:40]}: message {r.err[:300]!r}")
        for w in words:
            check(w.encode() in r.err, f"{args[0]} {args[-1][:40]}: no word of {w}: {r.err!r}")


@test("bad input: -F above perf_event_max_sample_rate names it")
def _(m):
    here()
    r = edges.run(["sample", "-F", "10000000", "--", "true"], timeout=60)
    check(r.code in (2, 4) and b"perf_event_max_sample_rate" in r.err, f"{r!r}")


@test("bad input: virtual events cannot be sampled, and it says so")
def _(m):
    here()
    for args in (["-e", "proc/ctxt/", "--", "true"], ["-e", "cpu-clock", "-e", "proc/ctxt/", "--", "true"],
                 ["-e", "proc/ctxt/", "-a", "--timeout", "100"]):
        r = edges.run(["sample", *args], timeout=60)
        check(b"proc/ctxt/" in r.err or b"cannot be sampled" in r.err, f"{args}: no word of it: {r!r}")


@test("bad input: events that count but cannot sample are named")
def _(m):
    here()
    if not os.path.isdir("/sys/bus/event_source/devices/msr"):
        raise Skip("no msr events")
    for args in (["-e", "msr/tsc/", "-a", "--timeout", "100"], ["-e", "msr/tsc/", "--", "true"]):
        r = edges.run(["sample", *args], timeout=60)
        check(r.code in (2, 4) and b"msr/tsc/" in r.err, f"{args}: {r!r}")
    r = edges.run(["sample", "-e", "cpu-clock", "-e", "msr/tsc/", "-F", "1000", "--", work(), "burn", "30"], timeout=60)
    check(b"msr/tsc/" in r.err, f"one of two cannot be sampled, no word of it: {r!r}")


@test("bad input: of two events the one that cannot be had is named")
def _(m):
    here()
    if cycles():
        raise Skip("cycles can be had here")
    r = edges.run(["sample", "-e", "cpu-clock", "-e", "cycles", "-F", "1000", "--", work(), "burn", "30"], timeout=60)
    check(r.code == 0 and b"cycles" in r.err.replace(b"cpu-clock", b""), f"{r!r}")
    s = sample(["-e", "cpu-clock,cycles", "-F", "1000", "-q"], [work(), "burn", "50"])
    check(s.recs, "nothing of the event that can be had")


@test("bad input: formats and sums that exclude each other")
def _(m):
    here()
    for args in (["-o", "folded", "--summary=comm"], ["-o", "perfdata", "-O", m.path("x"), "--summary"],
                 ["-o", "perfdata", "-O", m.path("x"), "--summary=ip"]):
        r = edges.run(["sample", "-F", "1000", *args, "--", work(), "burn", "50"], timeout=60)
        check(r.code == 2 and r.err.count(b"\n") == 1, f"{args}: {r!r}")


@test("bad input: rings that cannot be had, a CPU that is not there")
def _(m):
    here()
    r = edges.run(["sample", "-F", "100", "-m", str(1 << 30), "--", "true"], timeout=60)
    check(r.code != 0 and r.err.count(b"\n") == 1 and re.search(rb"ring|mmap-pages", r.err), f"no ring: {r!r}")
    r = edges.run(["sample", "-F", "100", "-C", "4000", "--timeout", "100"], timeout=60)
    check(r.code != 0 and b"4000" in r.err, f"no such CPU: {r!r}")


@test("processes that are not there, or end")
def _(m):
    here()
    with running() as a:
        pid = a.pid
    r = edges.run(["sample", "-p", str(pid), "-F", "100"], timeout=60)
    check(r.code == 1 and str(pid).encode() in r.err, f"no such process: {r!r}")
    r = edges.run(["sample", "-t", str(pid), "-F", "100"], timeout=60)
    check(r.code == 1 and str(pid).encode() in r.err, f"no such thread: {r!r}")
    with spinning(ms=250) as p:
        waiter = threading.Thread(target=p.wait)
        waiter.start()
        s = sample(["-F", "1000", "-p", str(p.pid)], timeout=60)
        waiter.join()
    check(len(s.recs) > 50, f"{len(s.recs)} samples of a process that ends")
    z = subprocess.Popen(["true"])
    edges.until_zombie(z.pid)
    edges.run(["sample", "-F", "100", "-p", str(z.pid), "--timeout", "600000"], timeout=60)
    z.wait()


@test("more threads than descriptors: it says so")
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
            r = subprocess.run(["prlimit", f"--nofile={soft}:{hard}", edges.PROG, *args], capture_output=True,
                               timeout=60, check=False)
            said = re.search(rb"descriptor|open files", r.stderr)
            check(said or hard > soft,
                  f"limits {soft}, {hard}: some are not sampled, no word of it: exit {r.returncode}, {r.stderr!r}")
            check(said or r.stdout, f"limits {soft}, {hard}: no samples, no message")
    finally:
        go.set()


@test("--control stops it, -a with a command ends with the command", True)
def _(m):
    here()
    s = sample(["-a", "-F", "500"], ["sleep", "0.3"], timeout=60)
    check(s.recs, "no samples beside a command")
    ours, theirs = os.pipe()
    heard, said = os.pipe()
    with running() as a:
        ran = [cpu_of(a.pid)]  # before and after each word

        def say(word):
            ran.append(cpu_of(a.pid))
            os.write(theirs, word)
            check(select.select([heard], [], [], 30)[0] and os.read(heard, 9) == b"ack\n", f"no answer to {word!r}")
            ran.append(cpu_of(a.pid))
        try:
            with started(["sample", "-F", "500", "-p", str(a.pid), "--summary=comm", "-o", "json", "--control",
                          f"fd:{ours},{said}"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[ours, said]) as p:
                wait_asleep(p.pid)
                ran.append(cpu_of(a.pid))
                for word in (b"disable\n", b"enable\n", b"stop\n"):
                    until_it_ran(a.pid, 0.25)
                    say(word)
                out, err = p.communicate(timeout=60)
            eq((p.returncode, err), (0, b""), "exit code, messages")
            n = sum(r["samples"] for r in parse_json(out))
            least, most = ran[2] - ran[1] + ran[6] - ran[5], ran[3] - ran[0] + ran[7] - ran[4]
            check(250 * least < n < 600 * most, f"{n} samples of {least} to {most} s of two times 250 ms, at 500 Hz: {ran}")
        finally:
            for fd in (ours, theirs, heard, said):
                os.close(fd)


@test("commands: exit status, 126, 127, signals")
def _(m):
    here()
    for command, code in ((["/no/such/x"], 127), (["no-such-command-x"], 127), (["/tmp"], 126),
                          (["sh", "-c", "exit 7"], 7),
                          (["sh", "-c", "kill -9 $$"], 137), (["true"], 0)):
        for args in ([], ["-o", "folded"], ["--summary"], ["-a"]):
            r = edges.run(["sample", "-F", "100", *args, "--", *command], timeout=60)
            eq(r.code, code, f"{args} {command} ({r!r})")
    r = edges.run(["sample", "--"], timeout=60)
    eq(r.code, 2, f"no command ({r!r})")


@test("SIGINT and SIGTERM to us reach the command, and the results still come")
def _(m):
    here()
    for sig in (signal.SIGINT, signal.SIGTERM):
        for args in ([], ["--summary"], ["-o", "folded"]):
            out = m.path(f"out-{sig}-{len(args)}-{args and args[0]}")
            with started(["sample", "-F", "500", "-O", out, *args, "--", work(), "burn", "600000"],
                         stderr=subprocess.PIPE) as p:
                until_it_ran(command_of(p.pid), 0.1)
                p.send_signal(sig)
                err = p.communicate(timeout=60)[1]
            with open(out, "rb") as f:
                text = f.read()
            check(b"burn" in text, f"{sig!r} {args}: no results: {text[-200:]!r} {err!r}")
            eq(p.returncode, 128 + sig, f"exit code after {sig!r} with {args} ({err!r})")
        with running() as a, started(["sample", "-F", "500", "-p", str(a.pid), "--summary"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE) as p:
            wait_asleep(p.pid)
            until_it_ran(a.pid, 0.1)
            p.send_signal(sig)
            text, err = p.communicate(timeout=60)
            check(b"work" in text or b"burn" in text, f"-p: no results: {text!r} {err!r}")
            eq(p.returncode, 0, f"exit code of -p after {sig!r} ({err!r})")


@test("an output that is closed, full or broken")
def _(m):
    here()
    with running() as a:
        args = ["sample", "-F", "1000", "-p", str(a.pid), "--timeout", "300", "-o", "json"]
        for how in (["sh", "-c", 'exec "$@" >&-', "x"], ["sh", "-c", 'exec "$@" >/dev/full', "x"]):
            r = subprocess.run([*how, edges.PROG, *args], capture_output=True, timeout=60, check=False)
            check(r.returncode == 1 and r.stderr.count(b"\n") == 1, f"{how[2]}: exit {r.returncode}, {r.stderr!r}")
        for extra in ([], ["--summary"]):
            r = subprocess.run([edges.PROG, *args, *extra, "-O", "/dev/full"], capture_output=True, timeout=60,
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


@test("the command's own output is its own")
def _(m):
    here()
    r = edges.run(["sample", "-F", "1000", "-o", "json", "--", "sh", "-c", "echo out; echo err >&2; cat"],
                  stdin=b"in\n")
    eq(r.out, b"out\nin\n", "stdout")
    check(b"err\n" in r.err, "stderr")


@test("--delay, --control and -G", True)
def _(m):
    here()
    begun = time.time()
    s = sample(["-F", "1000", "-D", "100"], [work(), "burn", "1000"])
    check(s.recs and s.recs[0]["time"] > begun + 0.1, f"{len(s.recs)} samples of 1 s after 100 ms")
    fd = os.open(m.write("ctl", "disable\n"), os.O_RDONLY)
    try:
        s = sample(["-F", "1000", "-D", "-1", "--control", f"fd:{fd}"], [work(), "burn", "100"], pass_fds=[fd])
        eq(s.recs, [], "samples before enable")
    finally:
        os.close(fd)
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(root + "/cgroup.procs") and os.path.exists(root + "/cgroup.controllers"):
            group = os.path.join(root, f"gpustat-sample-{os.getpid()}")
            with contextlib.suppress(OSError):
                os.mkdir(group)
            if not os.path.isdir(group):
                break
            with running() as a, running() as b:
                try:
                    with open(group + "/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(str(a.pid))
                    s = sample(["-F", "500", "-G", os.path.basename(group), "-c", "20"])
                    eq({r["pid"] for r in s.recs}, {a.pid}, "who is in the cgroup")
                    with open(root + "/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(str(a.pid))
                finally:
                    a.kill()
                    a.wait()
                    os.rmdir(group)
            break


@test("many short processes: none is misnamed")
def _(m):
    here()
    s = sample(["-F", "5000"],
               ["sh", "-c", "i=0; while [ $i -lt 60 ]; do /bin/true; " + f"{work()} burn 2; i=$((i+1)); done"])
    for r in s.recs:
        if base(r["symbol"]) in ("burn", "main") and r["module"] == work():
            eq(r["comm"], "work", "comm")
        if r["module"] and r["module"].endswith("/true"):
            eq(r["comm"], "true", "comm")
    check(len({r["pid"] for r in s.recs}) > 60, f"{len({r['pid'] for r in s.recs})} processes")
    eq({r["comm"] for r in s.recs} - {"sh", "dash", "true", "work", "gpustat", "bash"}, set(), "comms")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_sample.py PROG")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(edges.main(sys.argv[1], TESTS))
