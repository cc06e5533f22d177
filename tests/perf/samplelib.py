# samplelib.py - the library of the tests of `gpustat sample` (t_sample*.py): the program that is
# sampled, built in several kinds of binary, its symbols as nm prints them, runs of the command, and
# the list of tests.
# SPDX-License-Identifier: MIT
import collections
import contextlib
import os
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading

import machine
from machine import (Skip, check, command_of, eq, parse_json, strict, until_it_ran,
                     wait_asleep)

TESTS = []
KEYS = "schema kind time event cpu pid tid comm mode ip addr symbol module period callchain".split()
LOCK = threading.Lock()

# The program that all tests sample: its first argument selects the work, and each function is named
# after its work.
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
static long cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
OWN void burn(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void burn_static(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void first_phase(long n) { for (volatile long i = 0; i < n; i++) END; }
static OWN void second_phase(long n) { for (volatile long i = 0; i < n; i++) END; }
/* A thread's CPU time includes what the host of a virtual machine took away, when nothing is sampled:
 * of each step, which needs less than 1 ms, at most 10 ms count. */
static void spin(void (*f)(long), long ms)
{
	long now, was = cpu_us();
	for (long left = ms * 1000; left > 0; was = now) {
		f(200000);
		now = cpu_us();
		left -= now - was < 10000 ? now - was : 10000;
	}
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
    """Adds a test. alone: it measures times, so that no other test may run at the same time."""
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


# --- programs -------------------------------------------------------------------------------------

def build(kind, flags):
    """Builds the program once in each kind. Returns its path."""
    with LOCK:
        if kind not in BUILT:
            folder = os.path.join(os.path.dirname(machine.PROG), "built-" + kind)
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
    """Returns [(address, size, name)] of defined functions and data."""
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


def written():
    """Returns the event that counts writes to the program's variable `written` of 8 bytes."""
    machine.needs_breakpoints()
    return f"mem:{address(work(), 'written'):#x}/8:w"


def loads(path):
    """Returns [(file offset, address, bytes in the file)] of the loaded segments."""
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, timeout=60, check=False).stdout.decode()
    return [tuple(int(x, 16) for x in (m[1], m[2], m[3])) for m in
            re.finditer(r"LOAD\s+0x(\w+)\s+0x(\w+)\s+0x\w+\s+0x(\w+)", text)]


def file_offset(path, name):
    a = address(path, name)
    return next(a - v + off for off, v, size in loads(path) if v <= a < v + size)


# --- runs -----------------------------------------------------------------------------------------

class Sampled:
    def __init__(self, code, text, out, err):
        self.code, self.text, self.out, self.err = code, text, out, err

    def __repr__(self):
        return f"exit {self.code}, results {self.text[-300:]!r}, out {self.out[-200:]!r}, err {self.err[-300:]!r}"


SERIAL = iter(range(10**6))


def sample(args, command=None, fmt="json", code=0, err=b"", **kw):
    """Runs sample with the results in a file. Returns the results, for JSON also as records."""
    path = os.path.join(os.path.dirname(machine.PROG), f"out-{next(SERIAL)}")
    r = machine.run(["sample", *args, "-o", fmt, "-O", path, *(["--", *command] if command else [])], **kw)
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
    p = subprocess.Popen([machine.PROG, *args], **kw)
    try:
        yield p
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        for f in (p.stdout, p.stderr):
            if f:
                f.close()


# --- used by several files ----------------------------------------------------------------------

def cycles():
    return os.path.isdir("/sys/bus/event_source/devices/cpu") or \
        any(d.startswith("armv8") for d in os.listdir("/sys/bus/event_source/devices"))


BOTH = ("burn", "burn_static")
TRACEFS = 'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec "$@"'


@contextlib.contextmanager
def writes(m, *args):
    """Samples a process that writes once for each byte it gets, under strace. Yields a function
    that sends bytes, a function that reads a number of output lines, and the path of the log."""
    here()
    if not shutil.which("strace"):
        raise Skip("needs package strace")
    log = m.path("strace.log")
    with subprocess.Popen([work(), "writes"], stdin=subprocess.PIPE) as a:
        argv = ["strace", "-qq", "-o", log, "-e", "trace=ppoll,write,writev", machine.PROG, "sample", "-p", str(a.pid),
                "-e", written(), "--sample-period", "1", "-o", "json", *args]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            def send(n):
                a.stdin.write(b"x" * n)
                a.stdin.flush()
            while not select.select([p.stdout], [], [], 0.1)[0]:
                send(1)  # until the event is enabled
            seen = strict(p.stdout.readline())["period"]
            while select.select([p.stdout], [], [], 1)[0]:
                seen += strict(p.stdout.readline())["period"]

            def lines(n):
                return [strict(p.stdout.readline()) for _ in range(n)]
            yield send, lines, log
            a.kill()
            eq(p.communicate(timeout=60)[1], b"", "messages")


def waits_of(log):
    """Returns the lines of ppoll() in the log, with their results."""
    with open(log, encoding="utf-8", errors="replace") as f:
        return [x for x in f if x.startswith("ppoll")]


def faults_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[7])


def flooded(args, out, n, until_end):
    """Makes n page faults while gpustat is stopped and does not empty a small ring: 1500 of them or
    all before it continues. Returns the output of the command and the messages."""
    first = 200
    with started([*args, "-O", out, "--", work(), "touch", str(n), "20000", str(first)], stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        p.stdin.write(b"x")
        p.stdin.flush()
        pid = command_of(p.pid)
        machine.until("faults", lambda: faults_of(pid) >= first)
        wait_asleep(p.pid)
        p.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        had = faults_of(pid)
        p.stdin.write(b"x" * (n // first))
        p.stdin.flush()
        if until_end:
            machine.until_zombie(pid)
        else:
            machine.until("more faults", lambda: faults_of(pid) >= had + 1500)
        p.send_signal(signal.SIGCONT)
        told, err = p.communicate(timeout=60)
        eq(p.returncode, 0, f"exit code ({err})")
    return told, err


# --- perf.data ------------------------------------------------------------------------------------

def perfdata(args, command, path, code=0):
    r = machine.run(["sample", *args, "-o", "perfdata", "-O", path, *(["--", *command] if command else [])])
    eq((r.code, r.err), (code, b""), "exit code, messages")
    with open(path, "rb") as f:
        eq(f.read(8), b"PERFILE2", "magic")
    return r


def perf_script(path, *fields, quiet=True):
    r = subprocess.run(["perf", "script", "-i", path, *fields], capture_output=True, timeout=60, check=False)
    eq(r.returncode, 0, f"perf script: {r.stderr[-300:]!r}")
    bad = [x for x in r.stderr.splitlines() if b"arning" in x or b"rror" in x or b"ailed" in x]
    check(not quiet or not bad, f"perf says {r.stderr[-300:]!r}")
    return r.stdout.decode("utf-8", "replace")


def sample_sizes(path):
    """Returns the sizes of the samples of a perf.data."""
    with open(path, "rb") as f:
        b = f.read()
    at, n = struct.unpack_from("=2Q", b, 40)
    sizes, end = collections.Counter(), at + n
    while at < end:
        kind, _misc, size = struct.unpack_from("=IHH", b, at)
        sizes[size] += kind == 9
        at += size
    return +sizes


# --- running the tests ----------------------------------------------------------------------------

def main(prog):
    """Runs the tests of the importing file without core dumps, and returns the exit code."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return machine.main(prog, TESTS)
