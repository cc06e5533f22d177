# statlib.py - the library of the tests of `gpustat stat` (t_stat*.py): the program that is
# measured, runs of the command, readers of its records, and the list of tests. Tests of counts are
# skipped if the kernel does not allow counting.
# SPDX-License-Identifier: MIT
import contextlib
import os
import select
import shutil
import signal
import struct
import subprocess
import time

import clock
import machine
from machine import Ran, Skip, check, eq, parse_json, printable

KEYS = "schema kind time dt event set cpu pid value unit running reason".split()
NOTHING = "1:9999"  # a software event that no kernel has
TESTS = []
WORK = None  # the program that is measured; set by main
DENIED = {}


def test(name, alone=False, counts=True):
    """Adds a test. alone: it measures times, so that no other test may run at the same time.
    counts: it needs a kernel that permits counting."""
    def add(f):
        def run_it(m):
            if counts:
                needs_events()
            f(m)
        TESTS.append((name, run_it, alone))
        return f
    return add


# --- the measured program -----------------------------------------------------------------------------

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile long watched[8] = { 1 }; /* not in .bss, which the kernel clears at exec */
static volatile sig_atomic_t got;

__attribute__((noinline)) void probed(void) { __asm__ volatile("" ::: "memory"); }

static void on(int sig) { (void)sig; got++; }

static double now(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void rest(double s)
{
	struct timespec t = { (time_t)s, (long)((s - (time_t)s) * 1e9) };
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static int run(char **a);
static void *thread(void *a) { run(a); return NULL; }

static void fault(long n, double pause)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < n; i++) {
		double end = pause ? now(CLOCK_THREAD_CPUTIME_ID) + pause : 0;
		p[i * 4096] = 1;
		while (pause && now(CLOCK_THREAD_CPUTIME_ID) < end)
			;
	}
	munmap(p, n * 4096);
}

/* Words in pairs: what, and how often or how long. */
static int run(char **a)
{
	for (; *a; a += 2) {
		long n = a[1] ? atol(a[1]) : 0;
		double end;

		if (!strcmp(*a, "write"))
			for (long i = 0; i < n; i++)
				watched[0] = i;
		else if (!strcmp(*a, "call"))
			for (long i = 0; i < n; i++)
				probed();
		else if (!strcmp(*a, "getppid"))
			for (long i = 0; i < n; i++)
				syscall(SYS_getppid);
		else if (!strcmp(*a, "fault"))
			fault(n, 0);
		else if (!strcmp(*a, "slowfault"))
			fault(n, 200e-6);
		else if (!strcmp(*a, "nap"))
			for (long i = 0; i < n; i++)
				rest(0.001);
		else if (!strcmp(*a, "spin")) {
			for (end = now(CLOCK_THREAD_CPUTIME_ID) + n / 1e3; now(CLOCK_THREAD_CPUTIME_ID) < end;)
				;
		} else if (!strcmp(*a, "switches")) {
			struct rusage r;
			getrusage(RUSAGE_SELF, &r);
			printf("%ld\n", r.ru_nvcsw + r.ru_nivcsw);
		} else if (!strcmp(*a, "sleep"))
			rest(n / 1e3);
		else if (!strcmp(*a, "exit"))
			exit((int)n);
		else if (!strcmp(*a, "raise"))
			raise((int)n), rest(1);
		else if (!strcmp(*a, "fork")) {
			int s;
			pid_t p = fork();
			if (p < 0)
				return 8;
			if (p == 0)
				_exit(run(a + 2));
			waitpid(p, &s, 0);
			return 0;
		} else if (!strcmp(*a, "threads")) {
			pthread_t t[16];
			for (long i = 0; i < n; i++)
				pthread_create(&t[i], NULL, thread, a + 2);
			for (long i = 0; i < n; i++)
				pthread_join(t[i], NULL);
			return 0;
		} else if (!strcmp(*a, "count")) { /* signals that come within 0.3 s of the first */
			signal((int)n, on);
			puts("ready");
			fflush(stdout);
			for (end = now(CLOCK_MONOTONIC) + 60; !got && now(CLOCK_MONOTONIC) < end;)
				rest(0.005);
			rest(0.3);
			printf("got %d\n", (int)got);
			fflush(stdout);
		} else if (!strcmp(*a, "go")) { /* until a byte comes */
			char c;
			puts("ready");
			fflush(stdout);
			if (read(0, &c, 1) < 0)
				return 1;
		} else
			return 9;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "where"))
		return printf("%p %p\n", (void *)watched, (void *)probed), 0;
	return run(argv + 1);
}
"""


def build_work(scratch):
    """Builds WORK, a static program. Returns the reason if that fails."""
    source, prog = os.path.join(scratch, "work.c"), os.path.join(scratch, "work")
    with open(source, "w", encoding="utf-8") as f:
        f.write(SOURCE)
    for cc in ("musl-gcc", "gcc", "cc", "clang"):
        if shutil.which(cc) and subprocess.run([cc, "-O1", "-static", "-no-pie", "-pthread", "-w", "-o", prog, source],
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            os.chmod(prog, 0o755)
            return prog
    return None


def work(*words):
    if not WORK:
        raise Skip("no compiler: needs package musl-tools")
    return ["--", WORK, *(str(w) for w in words)]


def denied(*args):
    """Returns the reason why this machine does not permit counting with these arguments, or ""."""
    if args not in DENIED:
        r = machine.run(["stat", "-j", *args])
        rows = [machine.strict(x) for x in (r.out + r.err).splitlines() if x.startswith(b"{")]
        reasons = [x["reason"] for x in rows if str(x["reason"]).startswith("denied")]
        DENIED[args] = reasons[0] if reasons else "in user space only" if b"user space only" in r.err else ""
    return DENIED[args]


def needs_events():
    """Skips the test if a process may not count its own software events, including those in the kernel."""
    why = denied("-e", "task-clock", "--", machine.PROG, "-V")
    if why:
        raise Skip(f"not root, and perf events are not allowed here: {why}")


def wide():
    return not denied("-a", "-e", "cpu-clock", "-w", "0.01")


def machine_wide():
    if not wide():
        raise Skip(f"not root, and CPUs may not be counted here: {denied('-a', '-e', 'cpu-clock', '-w', '0.01')}")


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        return int(f.read())


# --- runs of the command -----------------------------------------------------------------------------------

def stat(*args, **kw):
    return machine.run(["stat", *(str(a) for a in args)], **kw)


def rows_of(out, what=""):
    """Returns the records. Checks that each has the keys of the schema, and a reason if it has no value."""
    rows = parse_json(out)
    for r in rows:
        missing = [k for k in KEYS if k not in r]
        check(not missing, f"{what} missing keys: {missing} of {r}")
        eq((r["schema"], r["kind"]), (1, "event"), "schema, kind")
        check(isinstance(r["event"], str) and isinstance(r["unit"], str), f"event, unit {r}")
        check((r["value"] is None) == isinstance(r["reason"], str), f"either a value or a reason: {r}")
        # an event that was never enabled has the count 0 and no share of running time
        check(not r["value"] or r["running"] is not None or "/" in r["event"] or "_time" in r["event"], f"value {r}")
        check(r["running"] is None or 0 <= r["running"] <= 100, f"running {r['running']}")
        check(1.5e9 < r["time"] < 1e11 and (r["dt"] is None or r["dt"] >= 0), f"time {r['time']}, dt {r['dt']}")
    return rows


def measure(*args, code=0, **kw):
    """Runs stat -j. Returns the records, from stderr if a command runs."""
    r = stat("-j", *args, **kw)
    eq(r.code, code, f"exit code ({r!r})")
    return rows_of(r.err if "--" in args else r.out)


def one(*args, **kw):
    rows = measure(*args, **kw)
    eq(len(rows), 1, "records")
    return rows[0]


def of(rows, event):
    return [r for r in rows if r["event"] == event]


def value(rows, event):
    got = of(rows, event)
    eq(len(got), 1, f"records of {event}")
    check(got[0]["value"] is not None, f"{event}: {got[0]['reason']}")
    return got[0]["value"]


def driven(*args):
    """Runs stat -j without a command, with a simulated clock. Returns the records, the times until
    which the run waited, in seconds from the first reading of the clock, and the time at its end.
    Events still count the time of the machine."""
    late = {}
    if isinstance(args[-1], dict):
        *args, late = args
    try:
        p = clock.Driven([machine.PROG, "stat", "-j", *(str(a) for a in args)])
    except clock.Unable as e:
        raise Skip(str(e)) from None
    with p:
        waits = p.to_end(late=lambda k: late.get(k, 0))
        eq(p.code, 0, f"exit code ({p.err!r})")
        return rows_of(p.out), [(t - p.began) / clock.NS for t in waits], (p.now - p.began) / clock.NS


def within(got, low, high, what):
    """Checks that a time counted by the kernel or the program is between two times measured around it."""
    check(got is not None and 0.999 * low - 1e-5 <= got <= 1.001 * high + 1e-5, f"{what}: {low} .. {got} .. {high}")


def ran(row, low, what="seconds on the CPU", n=1):
    """Checks a CPU time: at least the time by the command's own clock, except for the time that
    perf needs at each task switch; at most the time that has passed on n CPUs."""
    within(row["value"] / 1e9, 0.8 * low, n * row["dt"], what)


class Running:
    """A command or the program itself, which is always ended."""

    def __init__(self, argv, stdin=subprocess.PIPE, err=subprocess.PIPE, **kw):
        self.p = subprocess.Popen([str(a) for a in argv], stdin=stdin, stdout=subprocess.PIPE, stderr=err, **kw)
        self.pid = self.p.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.kill()
        with contextlib.suppress(OSError):
            self.p.communicate(timeout=60)

    def until(self, text):
        b, end = b"", time.monotonic() + 60
        while text not in b:
            check(time.monotonic() < end, f"no {text!r} came, but {b!r}")
            if select.select([self.p.stdout], [], [], 0.2)[0]:
                c = os.read(self.p.stdout.fileno(), 1)
                check(c, f"ended after {b!r}")
                b += c
        self.first = b

    def go(self):
        self.p.stdin.write(b"x")
        self.p.stdin.flush()

    def end(self, timeout=60):
        t = time.monotonic()
        try:
            out, err = self.p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {timeout} s") from None
        return Ran(self.p.returncode, out, err or b"", time.monotonic() - t)


def working(*words):
    return Running(work("go", 1, *words)[1:])


def started(*args, **kw):
    return Running([machine.PROG, "stat", *args], **kw)


def says(r, code, *words):
    """Checks that the run ended with this code and one message, which contains each of these words."""
    eq(r.code, code, f"exit code ({r!r})")
    text = printable(r.err)
    check(text.startswith("gpustat: ") and text.endswith("\n"), f"message {text[-200:]!r}")
    check(len(text) < 2000, f"message of {len(text)} bytes")
    for w in words:
        check(w in text, f"no {w!r} in {text[-300:]!r}")


def refused(argvs, code=2, command=None, clean=None):
    """Checks that each of these is refused with a message. Reports all others together."""
    wrong = []
    for args in argvs:
        try:
            r = stat(*args, *(command or ["--", "true"]), timeout=60)
            says(r, code)
            if clean:
                clean()
        except AssertionError as e:
            wrong.append(f"{str(args)[:80]}: {str(e)[:200]}")
            with contextlib.suppress(AssertionError):
                (clean or int)()  # files of this run must not affect the next one
    check(not wrong, f"{len(wrong)} of {len(argvs)}:\n" + "\n".join(wrong))


# --- CPUs, probes and signals ---------------------------------------------------------------------

def online():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        cpus = set()
        for part in f.read().split(","):
            a, _, b = part.strip().partition("-")
            cpus |= set(range(int(a), int(b or a) + 1))
    return sorted(cpus)


def where():
    text = subprocess.run([*work()[1:], "where"], stdout=subprocess.PIPE, timeout=60).stdout.split()
    return int(text[0], 16), int(text[1], 16)


def offset_of(path, addr):
    """Returns the file offset of an address of the program."""
    with open(path, "rb") as f:
        b = f.read(65536)
    check(b[:5] == b"\x7fELF\x02", "no ELF of 64 bits")
    at, (size, n) = struct.unpack_from("<Q", b, 32)[0], struct.unpack_from("<HH", b, 54)
    for i in range(n):
        kind, _flags, off, start, _phys, length = struct.unpack_from("<IIQQQQ", b, at + i * size)
        if kind == 1 and start <= addr < start + length:
            return addr - start + off
    raise AssertionError(f"{addr:#x} is in no segment")


def uprobe(prog=None):
    machine_wide()
    if not os.path.isdir("/sys/bus/event_source/devices/uprobe"):
        raise Skip("no uprobe PMU in this kernel")
    return f"uprobe:{prog or work()[1]}:{offset_of(work()[1], where()[1]):#x}"


def blocking(*signals):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signals)


# --- running the tests ----------------------------------------------------------------------------

def main(prog):
    """Builds the work program, runs the tests of the importing file, and returns the exit code."""
    global WORK
    folder = machine.tempfile.mkdtemp(prefix="gpustat-stat-")
    os.chmod(folder, 0o755)
    try:
        WORK = build_work(folder)
        return machine.main(prog, TESTS, workers=4, alone=lambda t: t[2])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
