#!/usr/bin/env python3
# t_stat.py PROG - `gpustat stat` from outside, on the running kernel: what a command's events come to,
# against counts known beforehand, the clock, /proc and perf. Where the kernel lets nothing be counted
# the tests of counts are skipped. Prints TAP; exit 0 iff all is well. SPDX-License-Identifier: MIT
import contextlib
import csv
import io
import math
import os
import pty
import re
import resource
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clock  # noqa: E402
import t_edges as edges  # noqa: E402
from t_edges import Ran, Skip, as_root, check, command_of, cpu_of, eq, most_by_perf, near, parse_csv, parse_json, parse_logfmt, printable, until_it_ran, wait_asleep  # noqa: E402

KEYS = "schema kind time dt event set cpu pid value unit running reason".split()
LISTED = "cpu-clock task-clock page-faults context-switches"  # of software, at any machine
NOTHING = "1:9999"  # a software event that no kernel has
CPUS = len(os.sched_getaffinity(0))
TESTS = []
WORK = None  # the program that is measured; set by main
DENIED = {}


def test(name, alone=False, counts=True):
    """alone: times itself, so nothing runs beside it. counts: needs a kernel that lets events be counted."""
    def add(f):
        def run_it(m):
            if counts:
                needs_events()
            f(m)
        TESTS.append((name, run_it, alone))
        return f
    return add


# --- what is measured -----------------------------------------------------------------------------------------

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
    """WORK, a static program, or the reason why there is none."""
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
    """Why this machine does not let us count so; "" where it does."""
    if args not in DENIED:
        r = edges.run(["stat", "-j", *args])
        rows = [edges.strict(x) for x in (r.out + r.err).splitlines() if x.startswith(b"{")]
        reasons = [x["reason"] for x in rows if str(x["reason"]).startswith("denied")]
        DENIED[args] = reasons[0] if reasons else "in user space only" if b"user space only" in r.err else ""
    return DENIED[args]


def needs_events():
    """Skips where a process may not count its own software events, those in the kernel too."""
    why = denied("-e", "task-clock", "--", edges.PROG, "-V")
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


# --- running it -----------------------------------------------------------------------------------------------

def stat(*args, **kw):
    return edges.run(["stat", *(str(a) for a in args)], **kw)


def rows_of(out, what=""):
    """Records, each with the keys that the schema promises and a reason where there is no value."""
    rows = parse_json(out)
    for r in rows:
        missing = [k for k in KEYS if k not in r]
        check(not missing, f"{what} keys that are missing: {missing} of {r}")
        eq((r["schema"], r["kind"]), (1, "event"), "schema, kind")
        check(isinstance(r["event"], str) and isinstance(r["unit"], str), f"event, unit {r}")
        check((r["value"] is None) == isinstance(r["reason"], str), f"either a value or a reason: {r}")
        # where it was enabled for no time at all, 0 is the count, and there is no share of that time
        check(not r["value"] or r["running"] is not None or "/" in r["event"] or "_time" in r["event"], f"value {r}")
        check(r["running"] is None or 0 <= r["running"] <= 100, f"running {r['running']}")
        check(1.5e9 < r["time"] < 1e11 and (r["dt"] is None or r["dt"] >= 0), f"time {r['time']}, dt {r['dt']}")
    return rows


def measure(*args, code=0, **kw):
    """The records of a run with a command: all of stderr."""
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
    """The same without a command, under a clock of the test's: the records, the times that were waited for, in seconds from
    the first look at the clock, and what had passed at the end. What events count is the machine's time all the same."""
    late = {}
    if isinstance(args[-1], dict):
        *args, late = args
    try:
        p = clock.Driven([edges.PROG, "stat", "-j", *(str(a) for a in args)])
    except clock.Unable as e:
        raise Skip(str(e)) from None
    with p:
        waits = p.to_end(late=lambda k: late.get(k, 0))
        eq(p.code, 0, f"exit code ({p.err!r})")
        return rows_of(p.out), [(t - p.began) / clock.NS for t in waits], (p.now - p.began) / clock.NS


def within(got, low, high, what):
    """A time that the kernel counted, or the program, is between two others that were taken before and after."""
    check(got is not None and 0.999 * low - 1e-5 <= got <= 1.001 * high + 1e-5, f"{what}: {low} .. {got} .. {high}")


def ran(row, low, what="seconds on the CPU", n=1):
    """CPU time: no less than the command has had by its own clock, but for what each switch of tasks takes perf; no more than
    has passed on n CPUs."""
    within(row["value"] / 1e9, 0.8 * low, n * row["dt"], what)


class Running:
    """A command or the program itself, ended whatever happens."""

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
    return Running([edges.PROG, "stat", *args], **kw)


def says(r, code, *words):
    """It ended with this code and one clear message: gpustat's, with each of these words."""
    eq(r.code, code, f"exit code ({r!r})")
    text = printable(r.err)
    check(text.startswith("gpustat: ") and text.endswith("\n"), f"message {text[-200:]!r}")
    check(len(text) < 2000, f"message of {len(text)} bytes")
    for w in words:
        check(w in text, f"no {w!r} in {text[-300:]!r}")


def refused(argvs, code=2, command=None, clean=None):
    """Each of these is refused with a message; all that are not, together."""
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
                (clean or int)()  # what this one left behind is not the next one's
    check(not wrong, f"{len(wrong)} of {len(argvs)}:\n" + "\n".join(wrong))


def package(tool, name):
    path = shutil.which(tool)
    if not path:
        raise Skip(f"needs package {name}")
    return path


# --- the command ----------------------------------------------------------------------------------------------

@test("command: its exit status is passed on")
def _(m):
    for n in (0, 1, 3, 77, 255):
        eq(stat("-e", "task-clock", *work("exit", n)).code, n, f"exit {n}")


@test("command: its death by a signal is 128+N")
def _(m):
    for n in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGUSR1):
        eq(stat("-e", "task-clock", *work("raise", int(n))).code, 128 + n, f"signal {n}")


@test("command: one that is absent is 127, one that cannot be run 126, each with a message", counts=False)
def _(m):
    says(stat("-e", "task-clock", "--", "/absent/cmd"), 127, "/absent/cmd", "No such file")
    says(stat("-e", "task-clock", "--", "no-such-command-here"), 127, "no-such-command-here")
    plain = m.write("plain", "text")
    os.chmod(plain, 0o644)
    says(stat("-e", "task-clock", "--", plain), 126, plain)
    says(stat("-e", "task-clock", "--", m.base), 126, m.base)
    says(stat("-e", "task-clock", "--"), 2, "command")


@test("command: one that is absent is said once with -r N too", counts=False)
def _(m):
    r = stat("-r", 3, "-e", "task-clock", "--", "/absent/cmd")
    says(r, 127, "/absent/cmd")
    eq(r.err.count(b"No such file"), 1, "messages")


@test("command: found as the shell does, with its own arguments, input, output and environment")
def _(m):
    r = stat("-e", "task-clock", "sh", "-c", 'read x; echo "$x $1 $V"; echo err >&2', "-", "-e", stdin=b"in\n",
             env={**os.environ, "V": "v"})
    eq((r.code, r.out), (0, b"in -e v\n"), f"exit code, output ({r!r})")
    check(r.err.startswith(b"err\n") and b"task-clock" in r.err, f"messages {r.err!r}")


@test("command: one whose name begins as a count or an interval does is a command")
def _(m):
    os.chmod(m.write("2x", "#!/bin/sh\nsleep 0.5\n"), 0o755)
    os.chmod(m.write("9999999999", "#!/bin/sh\nexit 7\n"), 0o755)
    path = {**os.environ, "PATH": m.base + ":" + os.environ["PATH"]}
    r = stat("-j", "-e", "task-clock", 0.1, "2x", env=path)
    check(len(rows_of(r.err)) > 3, f"all of its intervals, not two: {r.err!r}")
    r = stat("-j", "-e", "task-clock", 9999999999, env=path)
    eq((r.code, len(rows_of(r.err))), (7, 1), "exit code, records")


@test("command: it has the signals and the descriptors that we were given")
def _(m):
    show = 'grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status; ls -l /proc/self/fd | grep -c -E "socket|perf_event"'
    plain = subprocess.run(["sh", "-c", show], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    r = stat("-e", "task-clock,page-faults", "--", "sh", "-c", show)
    eq(r.out, plain.stdout, "signals and open descriptors")


def blocking(*signals):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signals)


@test("command: its end is noticed, though our parent blocks SIGCHLD")
def _(m):
    r = stat("-j", "-e", "task-clock", *work("exit", 3), timeout=60, preexec_fn=blocking(signal.SIGCHLD))
    eq((r.code, len(rows_of(r.err))), (3, 1), "exit code, records")


@test("command: what our parent ignores or blocks, it ignores or blocks")
def _(m):
    def ignoring():
        for s in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(s, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGINT])
    show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    plain = subprocess.run(show, stdout=subprocess.PIPE, preexec_fn=ignoring, timeout=60)
    r = stat("-e", "task-clock", "--", *show, preexec_fn=ignoring, timeout=60)
    eq(r.out, plain.stdout, "signals of the command, as nohup wants them")


@test("command: a text without #! is run by sh, as shells and perf do, or refused in words")
def _(m):
    text = m.write("script", "exit 7\n")
    os.chmod(text, 0o755)
    r = stat("-e", "task-clock", "--", text)
    if r.code != 7:
        says(r, 126, "format")


@test("output: results to stderr where a command runs, to stdout otherwise")
def _(m):
    r = stat("-j", "-e", "task-clock", *work("exit", 0))
    eq((r.out, len(rows_of(r.err))), (b"", 1), "of a command")
    if wide():
        r = stat("-j", "-e", "task-clock", "-a", "-w", "0.02")
        eq((r.err, len(rows_of(r.out))), (b"", 1), "of the machine")


@test("output: -O appends, creates with 0644, and leaves both streams alone")
def _(m):
    path, old = m.path("out"), os.umask(0o022)
    os.umask(old)
    for n in (1, 2):
        r = stat("-j", "-O", path, "-e", "task-clock", *work("exit", 0))
        eq((r.code, r.out, r.err), (0, b"", b""), "streams")
        with open(path, "rb") as f:
            eq(len(rows_of(f.read())), n, "records in the file")
    eq(os.stat(path).st_mode & 0o777, 0o644 & ~old, "mode")


@test("output: --log-fd 1 is stdout, and 2 stderr, with a command too")
def _(m):
    for fd, stream in ((1, "out"), (2, "err")):
        r = stat("-j", "--log-fd", fd, "-e", "task-clock", *work("exit", 0))
        eq(r.code, 0, f"exit code ({r!r})")
        check(b'"task-clock"' in getattr(r, stream), f"--log-fd {fd}: {r!r}")


@test("output: --log-fd writes to that descriptor; one that is closed fails")
def _(m):
    a, b = os.pipe()
    try:
        r = stat("-j", "--log-fd", b, "-e", "task-clock", *work("exit", 0), pass_fds=[b])
        eq((r.code, r.out, r.err), (0, b"", b""), "streams")
        eq(len(rows_of(os.read(a, 4096))), 1, "records")
    finally:
        os.close(a)
        os.close(b)
    mark = m.path("ran")
    says(stat("--log-fd", 199, "-e", "task-clock", "--", "touch", mark), 1, "Bad file descriptor")
    refused([["--log-fd", 2, "-O", mark]])
    check(not os.path.exists(mark), "the command ran, though what it comes to could not be written")


@test("SIGINT: to us alone reaches the command once, its status is ours, and results are printed")
def _(m):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with started("-j", "-e", "task-clock", *work("count", int(sig), "exit", 5)) as p:
            p.until(b"ready\n")
            os.kill(p.pid, sig)
            r = p.end()
            eq((r.code, r.out), (5, b"got 1\n"), f"{sig.name}: exit code, what the command says")
            eq(len(rows_of(r.err)), 1, "records")


@test("SIGINT: from a terminal it comes to the command once, not twice")
def _(m):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(edges.PROG, ["gpustat", "stat", "-j", "-e", "task-clock", *work("count", 2, "exit", 6)])
    text, end, sent = b"", time.monotonic() + 60, False
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                b = os.read(fd, 4096)
            except OSError:  # its other end is closed
                break
            text += b
        if b"ready" in text and not sent:
            os.write(fd, b"\x03")
            sent = True
    os.close(fd)
    with contextlib.suppress(ProcessLookupError):
        if time.monotonic() >= end:
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    eq(os.waitstatus_to_exitcode(status), 6, f"exit code ({text!r})")
    check(b"got 1\r\n" in text and b'"task-clock"' in text, f"on the terminal: {text!r}")


@test("SIGINT: ends a measurement without a command, which prints what it has, exit 0")
def _(m):
    with working("spin", 3000) as w:
        w.until(b"ready\n")
        w.go()
        for args in (["-p", w.pid], ["-p", w.pid, "-I", "10000"]):
            before = cpu_of(w.pid)
            with started("-j", "-e", "task-clock", *args) as p:
                wait_asleep(p.pid)
                until_it_ran(w.pid, 0.1)
                os.kill(p.pid, signal.SIGINT)
                r = p.end()
                eq(r.code, 0, f"exit code ({r!r})")
                most = most_by_perf(cpu_of(w.pid) - before)
                check(0.09e9 < value(rows_of(r.out), "task-clock") <= most * 1e9, f"ns of 0.1 s, at most {most}: {r.out!r}")


@test("nothing countable: exit 4 if the command itself succeeded, else its own")
def _(m):
    for n, want in ((0, 4), (1, 1), (9, 9)):
        r = stat("-j", "-e", NOTHING, *work("exit", n))
        eq(r.code, want, f"exit code where the command's is {n} ({r!r})")
        row = rows_of(r.err)[0]
        eq(row["value"], None, "value")
        check(row["reason"].startswith("not supported"), f"reason {row['reason']!r}")
    eq(stat("-e", NOTHING, *work("raise", 9)).code, 137, "where it was killed")
    eq(stat("-e", f"{NOTHING},task-clock", *work("exit", 0)).code, 0, "where something is countable")
    eq(stat("-r", 3, "-e", NOTHING, *work("exit", 0)).code, 4, "repeated")
    eq(stat("-a", "-e", NOTHING, "-w", "0.02").code, 4, "without a command")


# --- kinds of events ------------------------------------------------------------------------------------------

@test("software events: counts that are known")
def _(m):
    rows = measure("-e", "page-faults,minor-faults,major-faults,task-clock,context-switches,cpu-migrations,dummy",
                   *work("fault", 1000, "nap", 50, "spin", 100))
    base = value(measure("-e", "page-faults", *work("exit", 0)), "page-faults")
    near(value(rows, "page-faults"), 1000 + base, 25, "page faults")
    near(value(rows, "page-faults"), value(rows, "minor-faults") + value(rows, "major-faults"), 0, "minor + major")
    ran(of(rows, "task-clock")[0], 0.1, "task-clock")
    r = stat("-j", "-e", "context-switches", *work("nap", 50, "switches", 0))
    got, most = value(rows_of(r.err), "context-switches"), int(r.out)
    check(50 <= got <= most + 5, f"switches: {got}, of {most} that the kernel had counted shortly before the end")
    eq(value(rows, "dummy"), 0, "dummy")
    eq([r["event"] for r in rows], "page-faults minor-faults major-faults task-clock context-switches cpu-migrations "
       "dummy".split(), "the order of -e")


@test("software events: clocks are in ns, and have that unit; counts have none")
def _(m):
    rows = measure("-e", "task-clock,cpu-clock,page-faults", *work("spin", 50))
    eq([r["unit"] for r in rows], ["ns", "ns", ""], "units")
    for e in ("task-clock", "cpu-clock"):
        ran(of(rows, e)[0], 0.05, e)


def mounted():
    return any(os.path.isdir(f"{d}/events") for d in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))


def with_tracefs(*args):
    """stat, in a mount namespace of its own where tracefs is mounted nowhere."""
    machine_wide()
    if mounted():
        return stat(*args)
    package("unshare", "util-linux")
    p = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tracefs nodev /sys/kernel/tracing && exec "$@"',
                        "sh", edges.PROG, "stat", *(str(a) for a in args)], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    if b"mount:" in p.stderr or b"unshare:" in p.stderr:
        raise Skip(f"tracefs cannot be mounted here: {p.stderr[:80]!r}")
    return Ran(p.returncode, p.stdout, p.stderr, 0)


@test("tracepoints: exact counts of a system call")
def _(m):
    r = with_tracefs("-j", "-e", "syscalls:sys_enter_getppid,task-clock", *work("getppid", 12345))
    if b"no event" in r.err or b"no tracepoint" in r.err:
        raise Skip(f"no system calls among its tracepoints: {r.err[:100]!r}")
    eq(r.code, 0, f"exit code ({r!r})")
    eq(value(rows_of(r.err), "syscalls:sys_enter_getppid"), 12345, "calls")


@test("tracepoints: a glob counts each one that it names, apart")
def _(m):
    r = with_tracefs("-j", "-e", "syscalls:sys_e*_getppid", *work("getppid", 100))
    if b"no event" in r.err or b"no tracepoint" in r.err:
        raise Skip(f"no system calls among its tracepoints: {r.err[:100]!r}")
    got = {x["event"]: x["value"] for x in rows_of(r.err)}
    eq(got, {"syscalls:sys_enter_getppid": 100, "syscalls:sys_exit_getppid": 100}, "counts")


@test("tracepoints: --filter counts only such hits, and what it cannot mean is said")
def _(m):
    e = ["-j", "-e", "syscalls:sys_enter_close"]
    r = with_tracefs(*e, "--filter", "fd == 12345", *work("getppid", 10))
    if b"no such" in r.err:
        raise Skip(f"no system calls among its tracepoints: {r.err[:100]!r}")
    eq(value(rows_of(r.err), "syscalls:sys_enter_close"), 0, "closes of a descriptor that there is not")
    for bad in ("nosuch == 1", "(("):
        r = with_tracefs(*e, "--filter", bad, *work("exit", 0))
        eq(r.code, 4, f"exit code ({r!r})")
        check("filter" in rows_of(r.err)[0]["reason"], f"{r.err!r}")
    says(stat("-e", "page-faults", "--filter", "fd == 1", *work("exit", 0)), 2, "--filter", "tracepoints")
    says(stat("--filter", "fd == 1", *work("exit", 0)), 2, "--filter")


@test("--pmu-file: names of its own")
def _(m):
    path = m.path("events")
    with open(path, "w", encoding="ascii") as f:
        f.write("# ours\nfaults page-faults\n\npair {page-faults,minor-faults}\nbad nosuch-event\nempty\n")
    rows = measure("--pmu-file", path, "-e", "faults,pair", *work("fault", 100))
    eq([r["event"] for r in rows], ["faults", "page-faults", "minor-faults"], "records")
    eq(len({r["value"] for r in rows}), 1, "the same faults")
    for name in ("bad", "empty", "none"):
        says(stat("--pmu-file", path, "-e", name, *work("exit", 0)), 2, name if name != "bad" else "nosuch-event")
    says(stat("--pmu-file", m.path("absent"), "-e", "faults", *work("exit", 0)), 2, "absent")


def live_pmu(m, name, events, **files):
    """A --sys where a PMU has the number of the software events: what its files say can be counted here."""
    base = os.path.join(m.path("sys"), "bus/event_source/devices", name)
    os.makedirs(os.path.join(base, "events"), exist_ok=True)
    os.makedirs(os.path.join(base, "format"), exist_ok=True)
    texts = {"type": "1\n", "format/event": "config:0-7\n", **{k.replace("_", "/", 1): v for k, v in files.items()},
             **{"events/" + k: v for k, v in events.items()}}
    for path, text in texts.items():
        with open(os.path.join(base, path), "w", encoding="ascii") as f:
            f.write(text)
    for link in ("devices", "fs"):
        if not os.path.lexists(os.path.join(m.path("sys"), link)):
            os.symlink("/sys/" + link, os.path.join(m.path("sys"), link))
    return ["--sys", m.path("sys")]


@test("PMU files: scale, unit, instances summed and kept apart, snapshot, per-pkg")
def _(m):
    machine_wide()
    clock = {"ms": "event=0x0\n", "ms.scale": "1e-6", "ms.unit": "ms", "now": "event=0x0\n", "now.snapshot": "1\n",
             "pkg": "event=0x0\n", "pkg.per-pkg": "1\n"}
    cpus = ",".join(str(c) for c in online())
    for i in (0, 1):
        tree = live_pmu(m, f"uncore_fake_{i}", clock, cpumask=cpus + "\n")
    n = len(online())
    row = one(*tree, "-a", "-w", "0.2", "-e", "uncore_fake/ms/")
    eq(row["unit"], "ms", "unit")
    within(row["value"] / 1000, 2 * n * 0.2, 2 * n * row["dt"], "seconds of both instances on all CPUs")
    rows = measure(*tree, "-a", "-A", "-w", "0.1", "-e", "uncore_fake/ms/")
    eq({r["event"] for r in rows}, {"uncore_fake_0/ms/", "uncore_fake_1/ms/"}, "instances with -A")
    eq(len(rows), 2 * n, "each on each CPU")
    row = one(*tree, "-a", "-w", "0.2", "-e", "fake_0/pkg/")
    packages = {topology(c, "physical_package_id") for c in online()}
    within(row["value"] / 1e9, len(packages) * 0.2, len(packages) * row["dt"], "seconds, once a package")
    rows = measure(*tree, "-a", "-C", str(online()[0]), "-I", "50", "--interval-count", "4", "-e", "fake_0/now/")
    values = [r["value"] for r in rows]
    passed = 0
    for k, r in enumerate(rows):
        passed += r["dt"]
        within(r["value"] / 1e9, (k + 1) * 0.05, passed, f"a snapshot, which is no increase: {values}")
    eq({r["running"] for r in rows}, {100.0}, "running")


@test("sets: one whose events are unknown is named and skipped, and fails only alone")
def _(m):
    r = stat("-j", "-O", m.path("out"), "--set", "x=nosuch@10ms", "--set", "y=task-clock@10ms", *work("spin", 50))
    eq(r.code, 0, f"exit code ({r!r})")
    check(b"nosuch" in r.err and b"set x" in r.err, f"messages {r.err!r}")
    with open(m.path("out"), "rb") as f:
        eq([x["set"] for x in rows_of(f.read())], ["y"], "records")
    r = stat("--set", "x=nosuch@10ms", *work("exit", 0))
    eq(r.code, 2, f"exit code of nothing but that ({r!r})")


@test("tracepoints: a clear word where tracefs is not mounted", counts=False)
def _(m):
    if mounted():
        raise Skip("tracefs is mounted here")
    says(stat("-e", "sched:sched_switch", *work("exit", 0)), 2, "sched:sched_switch", "tracefs")


def where():
    text = subprocess.run([*work()[1:], "where"], stdout=subprocess.PIPE, timeout=60).stdout.split()
    return int(text[0], 16), int(text[1], 16)


@test("mem: breakpoints count exactly")
def _(m):
    data, code = where()
    r = stat("-j", "-e", f"mem:{data:#x}/8:w", "-e", f"mem:{code:#x}:x", "-e", f"mem:{data + 32:#x}/8:rw",
             *work("write", 4321, "call", 77))
    rows = rows_of(r.err)
    if all(x["value"] is None for x in rows) and os.uname().machine not in ("x86_64", "aarch64"):
        raise Skip(f"no breakpoints here: {rows[0]['reason']}")
    eq([x["value"] for x in rows], [4321, 77, 0], f"writes, calls, no access ({[x['reason'] for x in rows]})")


def offset_of(path, addr):
    """Where in a file this address of its program lies."""
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
    return f"uprobe:{prog or work()[1]}:{offset_of(WORK, where()[1]):#x}"


@test("uprobes count exactly")
def _(m):
    e = uprobe()
    eq(one("-e", e, *work("call", 1234))["value"], 1234, "calls")
    eq(one("--no-inherit", "-e", e, *work("call", 100, "fork", 1, "call", 11))["value"], 100, "without the child's")
    own = m.path("own")  # that no other test runs
    subprocess.run(["cp", WORK, own], check=True)
    eq(one("-a", "-e", uprobe(own), "--", own, *work("call", 100, "fork", 1, "call", 11)[2:])["value"], 111, "of all CPUs")


@test("uprobes leave the command as it is: what it forks is forked")
def _(m):
    # the kernel copies an inherited one in the parent that forks, where the path's pointer means nothing
    r = stat("-j", "-e", uprobe(), *work("call", 100, "fork", 1, "call", 11))
    eq(r.code, 0, "exit code, which is 8 where fork failed")
    check(rows_of(r.err)[0]["value"] in (100, 111), f"calls {r.err!r}")


@test("groups: read at once, so that what is equal stays equal")
def _(m):
    with working("slowfault", 50000) as w:
        w.until(b"ready\n")
        w.go()
        with started("-j", "-p", w.pid, "-e", "{page-faults,minor-faults}", "--raw", "-I", "50") as p:
            p.until(b"\n")
            until_it_ran(w.pid, 0.2)
            os.kill(p.pid, signal.SIGINT)
            rows = rows_of(p.first + p.end().out)
    a, b = of(rows, "page-faults"), of(rows, "minor-faults")
    check(sum(r["value"] or 0 for r in a) > 100, "no faults were seen")
    for x, y in zip(a, b):
        eq((x["enabled"], x["runtime"]), (y["enabled"], y["runtime"]), "both of one interval")
        # a fault counts for the one just before the other, and the read may come between
        check(abs(x["value"] - y["value"]) <= 1, f"{x['value']} and {y['value']} of one interval")


@test("groups: one whose leader cannot be counted says so of each, and those beside it count")
def _(m):
    rows = measure("-e", f"{{{NOTHING},page-faults}},task-clock", *work("exit", 0))
    eq([r["value"] is None for r in rows], [True, True, False], "which have no value")
    check("leader" in rows[1]["reason"], f"reason {rows[1]['reason']!r}")
    rows = measure("-e", f"{{page-faults,{NOTHING}}}", *work("exit", 0))
    eq([r["value"] is None for r in rows], [False, True], "where a member cannot")


@test("modifiers: :u and :k part the whole")
def _(m):
    rows = measure("-e", "page-faults,page-faults:u,page-faults:k", *work("fault", 500, "spin", 5))
    whole, user, kernel = (r["value"] for r in rows)
    check(user >= 500 and user + kernel == whole, f"{user} + {kernel} of {whole}")
    rows = measure("--all-user", "-e", "page-faults", *work("fault", 500))
    near(value(rows, "page-faults"), user, 20, "--all-user")
    rows = measure("--all-kernel", "-e", "page-faults", *work("fault", 500))
    near(value(rows, "page-faults"), kernel, 20, "--all-kernel")


@test("inherit: children count; with --no-inherit they do not")
def _(m):
    words = work("fault", 100, "fork", 1, "fault", 3000)
    base = value(measure("-e", "page-faults", *work("fork", 1)), "page-faults")
    near(value(measure("-e", "page-faults", *words), "page-faults"), 3100 + base, 60, "with the child")
    alone = value(measure("--no-inherit", "-e", "page-faults", *words), "page-faults")
    check(100 <= alone < 300, f"without: {alone}")
    near(value(measure("-e", "page-faults", *work("threads", 4, "fault", 500)), "page-faults"), 2000 + base, 100,
         "threads")


@test("tasks: -p counts all threads of a running process, also those that come later")
def _(m):
    with working("threads", 3, "fault", 1000) as w:
        w.until(b"ready\n")
        with started("-j", "-e", "page-faults", "-p", str(w.pid)) as p:
            wait_asleep(p.pid)
            w.go()
            r = p.end()
        eq(r.code, 0, f"exit code ({r!r})")
        got = value(rows_of(r.out), "page-faults")
        check(3000 <= got < 3200, f"{got} page faults, 3000 of them of threads that began while it was measured")


@test("tasks: --per-thread has a record for each thread, with its process and name")
def _(m):
    with working("threads", 2, "spin", 600000) as w:
        w.until(b"ready\n")
        w.go()
        edges.until("two threads", lambda: len(os.listdir(f"/proc/{w.pid}/task")) == 3)
        rows = measure("-p", w.pid, "-e", "task-clock", "--per-thread", "--timeout", "200")
        tids = sorted(int(t) for t in os.listdir(f"/proc/{w.pid}/task"))
        eq(sorted(r["tid"] for r in rows), tids, "a record per thread")
        eq({(r["pid"], r.get("comm")) for r in rows}, {(w.pid, "work")}, "process and name")


@test("tasks: -p and -t together are refused, in either order", counts=False)
def _(m):
    pid = os.getpid()
    for args in (["-p", pid, "-t", pid], ["-t", pid, "-p", pid], ["-p", pid, "-a"]):
        says(stat("--timeout", 10, *args), 2, "-a, -p and -t")


@test("tasks: -t counts that thread alone")
def _(m):
    with working("threads", 1, "spin", 600000) as w:
        w.until(b"ready\n")
        w.go()
        edges.until("a thread", lambda: len(os.listdir(f"/proc/{w.pid}/task")) == 2)
        tids = sorted(int(t) for t in os.listdir(f"/proc/{w.pid}/task"))
        eq(len(tids), 2, "threads")
        wait_asleep(tids[0])
        got = []
        for tid in tids:
            with started("-j", "-t", tid, "-e", "task-clock", "-I", 20) as p:
                p.until(b"\n")  # it counts
                until_it_ran(w.pid, 0.05)
                os.kill(p.pid, signal.SIGINT)
                got.append(sum(r["value"] or 0 for r in rows_of(p.end().out)))
        eq(got[0], 0, "ns of the thread that waits")
        check(got[1] > 0.04e9, f"the thread that spins for 0.05 s: {got[1]} ns")
        both = measure("-t", f"{tids[0]},{tids[1]}", "--per-thread", "-e", "task-clock", "--timeout", "100")
        eq([r["tid"] for r in both], tids, "both")


@test("tasks: one that is named twice is counted once")
def _(m):
    with working("slowfault", 5000) as w:
        w.until(b"ready\n")
        w.go()
        for args in (["-p", f"{w.pid},{w.pid}"], ["-p", w.pid, "-p", w.pid], ["-t", f"{w.pid},{w.pid}"]):
            rows = measure(*args, "-e", "task-clock", "--timeout", "100")
            eq(len(rows), 1, "records")
            check((rows[0]["value"] or 0) <= rows[0]["dt"] * 1e9, f"{args}: more CPU time than one thread can have: {rows}")
    with working("slowfault", 5000) as w:
        w.until(b"ready\n")
        w.go()
        rows = measure("-p", f"{w.pid},{w.pid}", "-e", "page-faults,task-clock", "--raw", "--timeout", "100")
        eq([r["cpus"] for r in rows], [1, 1], "counts that are summed")


@test("tasks: a process of 600 threads is counted whole, or it is said what is not")
def _(m):
    text = m.write("threads.py", "import threading, time\nfor _ in range(600):\n"
                   "    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                   "print('ready', flush=True)\ntime.sleep(600)\n")
    with Running([sys.executable, text]) as p:
        p.until(b"ready\n")
        r = stat("-j", "--per-thread", "-e", "task-clock", "-p", p.pid, "--timeout", 100)
        n = len(rows_of(r.out))
        check(n == 601 or b"gpustat: " in r.err, f"{n} of 601 threads, and no word of it")


@test("tasks: of more threads than there are places for, those without one are left out, not another one's", alone=True)
def _(m):
    places = 8193
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < places + 200:
        raise Skip("too few descriptors for so many threads")
    text = m.write("crowd.py", "import threading, time\nthreading.stack_size(32768)\n"
                   f"for _ in range({places}):\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                   "def spin():\n    while True: pass\n"
                   "threading.Thread(target=spin, daemon=True).start()\nprint('ready', flush=True)\ntime.sleep(600)\n")
    with Running([sys.executable, text]) as p:
        try:
            p.until(b"ready\n")
        except Exception as e:
            raise Skip(f"no room for so many threads: {e}") from None
        r = stat("-j", "--per-thread", "-e", "task-clock", "-p", p.pid, "--timeout", 200)
        rows = {row["tid"]: row for row in rows_of(r.out)}
        eq(len(rows), places, "records")
        check(re.search(rb"CPUs or tasks: room for \d+ only, \d+ left out", r.err), f"the full table is named: {r.err!r}")
        check(not rows[p.pid]["value"] or rows[p.pid]["value"] < 2e7, f"the first one sleeps: {rows[p.pid]}")


@test("tasks: -w ends the measurement of a process that runs on")
def _(m):
    r = stat("-j", "-p", os.getpid(), "-w", "0.1", "-e", "task-clock")
    eq((r.code, len(rows_of(r.out))), (0, 1), "exit code, records")


@test("tasks: the end of the process ends the measurement")
def _(m):
    with working("spin", 100) as w:
        w.until(b"ready\n")
        with started("-j", "-e", "task-clock,page-faults", "-p", str(w.pid)) as p:
            wait_asleep(p.pid)
            w.go()
            w.end()
            r = p.end()
        eq(r.code, 0, f"exit code ({r!r})")
        ran(of(rows_of(r.out), "task-clock")[0], 0.1)


def online():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        cpus = set()
        for part in f.read().split(","):
            a, _, b = part.strip().partition("-")
            cpus |= set(range(int(a), int(b or a) + 1))
    return sorted(cpus)


@test("CPUs: -a counts all of them, -C those that are named, each for itself with -A")
def _(m):
    machine_wide()
    cpus = online()
    rows = measure("-a", "-e", "cpu-clock", "-w", "0.2")
    within(value(rows, "cpu-clock") / 1e9, 0.2 * len(cpus), rows[0]["dt"] * len(cpus), "seconds of all")
    for args in (["-A", "-a"], ["--per-cpu"]):
        rows = measure(*args, "-e", "cpu-clock", "-w", "0.1")
        eq([r["cpu"] for r in rows], cpus, "a record for each")
        for r in rows:
            within(r["value"] / 1e9, 0.1, r["dt"], f"seconds of CPU {r['cpu']}")
    rows = measure("-C", cpus[-1], "-e", "cpu-clock", "-w", "0.1")
    within(rows[0]["value"] / 1e9, 0.1, rows[0]["dt"], "seconds of one CPU")
    rows = measure("-C", f"{cpus[0]}-{cpus[-1]}", "-A", "-e", "cpu-clock,page-faults", "-w", "0.05")
    eq([(r["event"], r["cpu"]) for r in rows], [(e, c) for e in ("cpu-clock", "page-faults") for c in cpus],
       "event by event, CPU by CPU")


@test("CPUs: what runs on one is counted there")
def _(m):
    machine_wide()
    if CPUS < 2:
        raise Skip("needs two CPUs")
    cpu = max(os.sched_getaffinity(0))
    own = m.path("own")  # that nobody else runs
    subprocess.run(["cp", work()[1], own], check=True)
    rows = measure("-A", "-a", "-e", uprobe(own), "--", "taskset", "-c", str(cpu), own, "call", 20000)
    eq({r["cpu"]: r["value"] for r in rows if r["value"]}, {cpu: 20000}, "calls on each CPU")


def topology(cpu, name):
    with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/{name}", encoding="ascii") as f:
        return int(f.read())


@test("CPUs: --per-core and --per-socket sum as the machine is built")
def _(m):
    machine_wide()
    cpus = online()
    with contextlib.suppress(OSError):
        sockets = {c: topology(c, "physical_package_id") for c in cpus}
        cores = {c: (sockets[c], topology(c, "core_id")) for c in cpus}
        for how, places in (("--per-socket", sockets), ("--per-core", cores)):
            rows = measure("-a", how, "-e", "cpu-clock", "-w", "0.1")
            got = {((r["socket"], r["core"]) if how == "--per-core" else r["socket"]): r for r in rows}
            eq(sorted(got), sorted(set(places.values())), how)
            for place, r in got.items():
                n = list(places.values()).count(place)
                within(r["value"] / 1e9, 0.1 * n, n * r["dt"], f"{how} {place}: seconds")
        return
    raise Skip("no topology in /sys")


def cgroup_root():
    for d in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(f"{d}/cgroup.procs") and os.path.exists(f"{d}/cgroup.controllers"):
            return d
    raise Skip("no cgroup v2 here")


@contextlib.contextmanager
def cgroups(*names):
    machine_wide()
    root, made = cgroup_root(), []
    try:
        for n in names:
            os.mkdir(f"{root}/{n}")
            made.append(f"{root}/{n}")
    except OSError as e:
        for d in made:
            os.rmdir(d)
        raise Skip(f"no cgroup can be made: {e.strerror}") from None
    try:
        yield made
    finally:
        for d in made:
            for _ in range(1500):
                try:
                    os.rmdir(d)
                    break
                except OSError:
                    time.sleep(0.02)


@test("cgroups: -G counts who is in each, for itself")
def _(m):
    a, b = (f"gpustat-test-{os.getpid()}-{x}" for x in "ab")
    with cgroups(a, b) as (path, _empty):
        with working("spin", 600000) as w:
            w.until(b"ready\n")
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(w.pid))
            w.go()
            def counted(*args):
                """Until who spins had 0.05 s of CPU time while it counted: sums over intervals."""
                with started("-j", *args, "-I", 50) as p:
                    p.until(b"\n")
                    until_it_ran(w.pid, 0.05)
                    os.kill(p.pid, signal.SIGINT)
                    return rows_of(p.first + p.end().out)
            rows = counted("-a", "-G", f"{a},{b}", "-e", "task-clock,page-faults")
            eq([(r["event"], r["cgroup"]) for r in rows][:4], [(e, g) for e in ("task-clock", "page-faults") for g in (a, b)], "records")
            busy, idle = ([r for r in of(rows, "task-clock") if r["cgroup"] == g] for g in (a, b))
            check(0.04e9 < sum(r["value"] or 0 for r in busy) <= 1.001e9 * sum(r["dt"] for r in busy), f"who spins: {busy}")
            check(not any(r["value"] for r in idle), f"an empty one: {idle}")
            rows = counted("-G", f"/{a}", "-e", "task-clock")
            check(sum(r["value"] or 0 for r in rows) > 0.04e9, f"without -a, with a slash: {rows}")


@test("cgroups: one that goes after the first repetition counts in that only: neither as 0, nor as what all do")
def _(m):
    name = f"gpustat-test-{os.getpid()}-c"
    with cgroups(name) as (path,):
        spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
        once = (f"if echo $$ >{path}/cgroup.procs; then {spin}; echo $$ >{os.path.dirname(path)}/cgroup.procs; rmdir {path};"
                f" else {spin}; fi 2>&-")
        for how in ([], ["-a"]):
            os.makedirs(path, exist_ok=True)
            r = stat("-j", *how, "-G", name, "-r", "3", "-e", "task-clock", "--", "sh", "-c", once)
            eq(r.code, 0, f"exit code ({r!r})")
            check(not os.path.exists(path), "it has not gone")
            row, = parse_json(r.err)  # running is of the last repetition: null
            check(row["value"] and row.get("repeats", 1) == 1, f"{how}: {row}")


@test("cgroups: -G / is the root of the hierarchy, with all that is below it")
def _(m):
    machine_wide()
    cgroup_root()
    row = one("-G", "/", "-e", "task-clock", *work("spin", 50))
    check(row["value"] and row["value"] > 0.04e9, f"{row}")


@test("cgroups: one that is absent is named", counts=False)
def _(m):
    says(stat("-G", "no-such-cgroup", "-e", "task-clock", "-w", "0.1"), 1, "no-such-cgroup")
    for bad in ("", ",", "a,,b"):
        says(stat("-G", bad, "-e", "task-clock", "-w", "0.1"), 2, "cgroup")


@test("virtual events stand beside perf events in one list")
def _(m):
    def ctxt():
        with open("/proc/stat", encoding="ascii") as f:
            return int(re.search(r"^ctxt (\d+)", f.read(), re.M).group(1))
    before = ctxt()
    rows = measure("-e", "task-clock,proc/ctxt/,page-faults,duration_time", *work("nap", 100, "spin", 20))
    after = ctxt()
    eq([r["event"] for r in rows], ["task-clock", "proc/ctxt/", "page-faults", "duration_time"], "order")
    check(100 <= value(rows, "proc/ctxt/") <= after - before, f"{value(rows, 'proc/ctxt/')} of {after - before}")
    within(value(rows, "duration_time") / 1e9, value(rows, "task-clock") / 1e9, rows[0]["dt"], "duration_time")
    ran(rows[0], 0.02)
    rows, _waits, _took = driven("-e", "duration_time", "-a", "-w", "0.1")
    near(value(rows, "duration_time") / 1e9, 0.1, 0.0001, "duration_time")


@test("virtual events: user_time and system_time are the command's")
def _(m):
    rows = measure("-e", "user_time,system_time,task-clock", *work("spin", 200))
    both = value(rows, "user_time") + value(rows, "system_time")
    within(both / 1e9, 0.8 * 0.2, rows[0]["dt"], "seconds in both")


# --- time -----------------------------------------------------------------------------------------------------

@test("start: counting begins at exec, the same number each time")
def _(m):
    got = [value(measure("-e", "page-faults", *work("exit", 0)), "page-faults") for _ in range(5)]
    check(max(got) - min(got) <= 3, f"page faults of one static program {got}")
    check(max(got) < 100, f"page faults of a small static program {got}")


@test("start: elapsed is never less than task-clock, in 300 runs", alone=True)
def _(m):
    argv, wrong = [edges.PROG, "stat", "-j", "-e", "task-clock", *work("exit", 0)], []
    for _ in range(300):
        p = subprocess.run(argv, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
        r = rows_of(p.stderr)[0]
        if r["value"] / 1e9 > r["dt"] + 1e-6:  # dt is cut to microseconds
            wrong.append((r["dt"], r["value"]))
    check(not wrong, f"{len(wrong)} of 300: {wrong[:3]}")


@test("-r N: the mean, and the deviation of perf: the standard error as a share of the mean")
def _(m):
    count, e = m.path("count"), uprobe()
    script = f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) >{count}; exec {WORK} call $((n * n * 100))"
    row = one("-r", 6, "--no-inherit", "-e", e, "--", "sh", "-c", script)
    want = [n * n * 100 for n in range(6)]
    mean = statistics.mean(want)
    near(row["value"], mean, 0.5, "mean")
    eq(row["repeats"], 6, "repeats")
    near(row["deviation"], 100 * statistics.stdev(want) / math.sqrt(6) / mean, 0.01, "deviation in percent")


@test("-r N: a command that ends with 126 or 127 has results as others have")
def _(m):
    for n in (126, 127):
        r = stat("-j", "-r", 2, "-e", "task-clock", *work("exit", n))
        eq((r.code, len(rows_of(r.err))), (n, 1), f"exit code and records of a command that ends with {n}")


@test("-r N: the exit status is the last run's; a signal ends the repetition")
def _(m):
    eq(stat("-r", 3, "-e", "task-clock", *work("exit", 7)).code, 7, "exit code")
    r = stat("-j", "-r", 1, "-e", "task-clock", *work("exit", 0))
    eq((r.code, len(rows_of(r.err))), (0, 1), "once")
    for n in ("0", "1000"):
        with started("-j", "-r", n, "-e", "task-clock", *work("sleep", 30000)) as p:
            command_of(p.pid)
            os.kill(p.pid, signal.SIGINT)
            r = p.end()
            eq(r.code, 130, f"-r {n}: exit code ({r!r})")
            eq(len(rows_of(r.err)), 1, "records")
    says(stat("-r", 3, "-e", "task-clock", "-a"), 2, "command")


def delayed(inject, *args):
    """Stat with that delay of a system call, and SIGTERM once it hears signals, which is in that delay: how it ended."""
    argv = [package("strace", "strace"), "-f", "-o", "/dev/null", "-e", f"inject={inject}", edges.PROG, "stat", "-j", "-e", "task-clock", *args]
    with Running(argv) as p:
        end = time.monotonic() + 60
        while True:
            check(p.p.poll() is None and time.monotonic() < end, "it does not hear signals")
            with contextlib.suppress(OSError, StopIteration, IndexError):
                pid = int(open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii").read().split()[0])
                with open(f"/proc/{pid}/status", encoding="ascii") as f:
                    caught = int(next(x for x in f if x.startswith("SigCgt")).split()[1], 16)
                if caught >> (signal.SIGHUP - 1) & caught >> (signal.SIGCHLD - 1) & 1:  # SIGCHLD is the command's alone
                    break
            time.sleep(0.005)
        time.sleep(0.1)
        os.kill(pid, signal.SIGTERM)
        return p.end()


@test("command: a signal that comes while it is started ends it", alone=True)
def _(m):
    for inject, args in (("clone:delay_exit=700000", []), ("clone:delay_enter=700000", ["-r", 0]), ("clone:delay_exit=700000:when=1", ["-r", 0]),
                         ("perf_event_open:delay_exit=700000:when=1", []), ("perf_event_open:delay_exit=700000:when=1", ["-r", 0])):
        r = delayed(inject, *(str(a) for a in args), *work("sleep", 600000))
        eq(r.code, 143, f"{inject} {args}: {r!r}")


@test("-r N: a signal goes to the process that was started, not to its number", alone=True)
def _(m):
    for error in ("", "ENOSYS", "EPERM"):  # of an old kernel, or a container
        log = m.path("signals" + error)
        inject = ["-e", f"inject=pidfd_send_signal:error={error}"] if error else []
        argv = [package("strace", "strace"), "-f", "-o", log, "-e", "trace=kill,pidfd_send_signal", *inject]
        with Running([*argv, edges.PROG, "stat", "-r", "2", "--timeout", "300", "-e", "task-clock", *work("sleep", 600000)]) as p:
            eq(p.end().code, 143, f"exit code, {error}")
        with open(log, encoding="utf-8") as f:
            sent = [re.sub(r"\d+,", "N,", x) for x in re.findall(r"^\d+ +(\w+\(.*SIGTERM.*?\)) += ", f.read(), re.M)]
        eq(sent, (["pidfd_send_signal(N, SIGTERM, NULL, 0)"] + ["kill(N, SIGTERM)"] * bool(error)) * 2, f"what was sent, {error}")


@test("-r N: where no further run can be started, those before are told")
def _(m):
    with started("-j", "-r", "0", "-e", "task-clock", *work("go", 1)) as p:
        for i in range(3):
            p.until(b"ready\n")
            if i == 2:
                others = [int(x) for x in open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii").read().split()]
                again = [x for x in others if os.path.samefile(f"/proc/{x}/exe", f"/proc/{p.pid}/exe")]
                eq(len(again), 1, "processes that start others")
                os.kill(again[0], signal.SIGKILL)
            p.go()
        r = p.end()
    said, rows = r.err.split(b"\n", 1)
    eq((r.code, said), (1, b"gpustat: cannot start a process: Broken pipe"), f"exit code, message ({r!r})")
    eq([x["repeats"] for x in rows_of(rows)], [3], "repeats")


@test("-r N: a run whose command is not there any more leaves what the runs before came to")
def _(m):
    prog, mark = m.path("goes"), m.path("once")
    with open(prog, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\n[ -e {mark} ] && rm {prog}\n: > {mark}\nsleep 0.1\n")
    os.chmod(prog, 0o755)
    r = stat("-j", "-r", 4, "-e", "task-clock,duration_time", "--", prog)
    said, rows = r.err.split(b"\n", 1)
    rows = rows_of(rows)
    eq((r.code, [x["repeats"] for x in rows]), (127, [2, 2]), f"exit code, repeats ({said!r})")
    check(0 < value(rows, "task-clock") < 1e10 and value(rows, "duration_time") >= 1e8, f"means of two runs of 100 ms: {rows}")


@test("-r N: each run is ended in time, and killed where it does not mind; what is sent to us goes to it", alone=True)
def _(m):
    r = stat("-j", "-r", 2, "--timeout", 100, "-e", "task-clock", "--", "sh", "-c", "trap '' TERM; exec sleep 600", timeout=60)
    check(r.took >= 2.2, f"{r.took} s for two runs of 100 ms and a second of grace")
    eq((r.code, [x["repeats"] for x in rows_of(r.err)]), (137, [2]), f"exit code, repeats ({r!r})")
    with started("-j", "-r", 0, "-e", "task-clock", "--", "sh", "-c", "trap 'echo got; exit 3' HUP; echo ready; while :; do sleep 0.05; done") as p:
        p.until(b"ready\n")
        os.kill(p.pid, signal.SIGHUP)
        r = p.end()
    eq((r.code, r.out), (3, b"got\n"), f"exit code, what the command says ({r!r})")


@test("-r N: with --per-thread the repetitions are one record, of as many repeats")
def _(m):
    rows = measure("-r", 4, "--per-thread", "-e", "page-faults", *work("exit", 0))
    eq([r.get("repeats") for r in rows], [4], "repeats of each record")


@test("a temperature is that of a time in which its set had its turn, and of none before counting began", counts=False)
def _(m):
    hwmon = m.path("sys/class/hwmon/hwmon0")
    os.makedirs(hwmon)
    for name, text in (("name", "chip"), ("temp1_input", "40000"), ("temp2_input", "50000")):
        with open(os.path.join(hwmon, name), "w", encoding="utf-8") as f:
            f.write(text + "\n")
    args = ("--raw", "--sys", m.path("sys"))
    rows, _waits, _took = driven(*args, "-I", 200, "--timeout", 1500, "--set", "A=hwmon_chip/temp1/@600ms", "--set", "B=hwmon_chip/temp2/@600ms")
    eq(len(rows), 16, f"records of 7 intervals and the rest: {rows}")
    for x in rows:
        eq(x["value"], None if x["active"] == 0 else 40.0 if x["set"] == "A" else 50.0, f"value of {x}")
        check(x["enabled"] <= 1.501e9, f"no more than has passed: {x}")
    check(any(x["active"] == 0 for x in rows), f"turns of three intervals: {rows}")
    rows, _waits, _took = driven(*args, "-D", 9000, "--timeout", 200, "-e", "hwmon_chip/temp1/")
    eq([(x["value"], x["enabled"]) for x in rows], [(None, 0)], "before counting began")


@test("-D: counting begins that much later, and dt is from then on")
def _(m):
    with working("spin", 600000) as w:
        w.until(b"ready\n")
        w.go()
        with started("-j", "-D", 200, "-I", 50, "-e", "task-clock", "-p", w.pid) as p:
            begun = time.monotonic()
            p.until(b"\n")
            took = time.monotonic() - begun
            until_it_ran(w.pid, 0.05)
            os.kill(p.pid, signal.SIGINT)
            rows = rows_of(p.first + p.end().out)
        check(took >= 0.2, f"the first record after {took} s")
        check(0.04e9 < sum(r["value"] or 0 for r in rows) <= 1.001e9 * sum(r["dt"] for r in rows), f"{rows}")
    row = one("-D", 600000, "-e", "task-clock", *work("exit", 0))
    eq((row["value"], row["dt"]), (None, None), "of a command that ended before")
    if wide():
        rows, waits, _took = driven("-D", 200, "-I", 100, "-c", 3, "-a", "-e", "cpu-clock")
        for got, want in zip(waits, (0.2, 0.3, 0.4, 0.5)):
            near(got, want, 0.001, "what is waited for")
        for r in rows:
            near(r["dt"], 0.1, 0.001, "dt")
        eq((len(rows), len(waits)), (3, 4), "records, waits")


@test("--timeout: ends the measurement in time")
def _(m):
    r = stat("-j", "--timeout", 200, "-e", "task-clock", *work("sleep", 600000))
    eq(r.code, 143, f"exit code of a command that was ended ({r!r})")
    within(rows_of(r.err)[0]["dt"], 0.2, r.took, "dt")
    if wide():
        rows, waits, _took = driven("--timeout", 150, "-a", "-e", "cpu-clock")
        near(rows[0]["dt"], 0.15, 0.001, "dt without a command")
        eq(len(waits), 1, "waits")


@test("--timeout: one SIGTERM to the command, and no turning in circles until it has ended", alone=True)
def _(m):
    # the sleep goes on where each signal cuts it off: it takes for ever where signals come without end
    with started("-e", "task-clock", "--timeout", "100", *work("count", 15, "sleep", 200, "exit", 3)) as p:
        time.sleep(1)
        with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
            used = sum(int(x) for x in f.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK") \
                if p.p.poll() is None else 0
        check(used < 0.2, f"{used:.2f} s of its own CPU time in a second of waiting")
        r = p.end()
    eq((r.code, r.out), (3, b"ready\ngot 1\n"), "exit code, signals that came")


@test("-n: nothing but time")
def _(m):
    r = stat("-j", "-n", *work("sleep", 100))
    eq(r.code, 0, f"exit code ({r!r})")
    rows = rows_of(r.err)
    eq([x["event"] for x in rows], ["duration_time"], "events")
    within(rows[0]["value"] / 1e9, 0.1, r.took, "seconds")


@test("defaults: software events that this machine counts; -d and -dd have more")
def _(m):
    names = [[r["event"] for r in measure(*d, *work("exit", 0))] for d in ([], ["-d"], ["-d", "-d"])]
    for want in "task-clock context-switches cpu-migrations page-faults".split():
        check(want in names[0], f"no {want} in {names[0]}")
    for few, more in zip(names, names[1:]):
        check(set(few) < set(more) and len(set(more)) == len(more), f"{few}, then {more}")
    rows = measure(*work("exit", 0))
    check(any(r["value"] for r in rows), f"{rows}")


@test("intervals: -I MS, -i T and a word are the same; COUNT, -c and --interval-count end them")
def _(m):
    machine_wide()
    for args in (["-I", "50", "--interval-count", "3"], ["-i", "0.05", "-c", "3"], ["0.05", "3"], ["50ms", "3"],
                 ["-I", "50ms", "-c", "3"]):
        rows, _waits, _took = driven("-a", "-e", "cpu-clock", *args)
        eq(len(rows), 3, f"records of {args}")
        for r in rows:
            near(r["dt"], 0.05, 0.001, f"dt of {args}")
    rows = measure("-e", "task-clock", "0.05", *work("spin", 180))
    within(sum(r["value"] or 0 for r in rows) / 1e9, 0.8 * 0.18, sum(r["dt"] for r in rows), "seconds over all intervals")
    for a, b in zip(rows, rows[1:]):
        check(b["time"] > a["time"], f"records of a command, in order: {rows}")


@test("intervals: COUNT of them take as long as COUNT of them, and no more")
def _(m):
    machine_wide()
    rows, waits, took = driven("-a", "-e", "cpu-clock", "-I", 300, "--interval-count", 2)
    near(took, 0.6, 0.001, "seconds")
    eq((len(rows), len(waits)), (2, 2), "records, waits")


@test("intervals: --interval-count prints that many of a command too, and ends")
def _(m):
    with started("-j", "--log-fd", 1, "-I", 50, "--interval-count", 3, "-e", "dummy", *work("go", 1, "nap", 200)) as p:
        for _ in range(3):
            p.until(b"}\n")
        p.go()
        r = p.end()
    eq((r.code, r.out, r.err), (0, b"", b""), "exit code, more records")


@test("intervals: a count without an interval is of seconds, as of the devices")
def _(m):
    machine_wide()
    for args in (["-c", 2], ["--interval-count", 2]):
        rows, _waits, _took = driven("-a", "-e", "cpu-clock", *args)
        eq(len(rows), 2, f"records of {args}")
        for r in rows:
            near(r["dt"], 1, 0.001, f"dt of {args}")
    refused([["-c", 2, "-r", 2, "-e", "task-clock"]], command=work("exit", 0))


@test("intervals: perf's times are milliseconds with a fraction, too")
def _(m):
    machine_wide()
    for args in (["-I", "20.5", "-c", 1], ["--timeout", "20.5"], ["--timeout", ".0205s"]):
        near(driven("-a", "-e", "cpu-clock", *args)[0][0]["dt"], 0.0205, 0.0001, f"dt of {args}")


@test("intervals: no drift: 200 of 10 ms take 2.00 s, and each stands on the grid; late ones are skipped, none comes soon after")
def _(m):
    machine_wide()
    args = ("-a", "-e", "cpu-clock", "-I", 10, "--interval-count", 200)
    rows, waits, took = driven(*args, {k: k % 5 * 0.001 for k in range(199)})  # by less than half an interval: none is skipped
    eq((len(rows), edges.on_grid([w * clock.NS for w in waits], 0.01)), (200, list(range(200))), "records, samples")
    near(took, 2, 0.001, "seconds in all")
    near(sum(r["dt"] for r in rows), 2, 0.001, "the sum of dt")
    rows, waits, _took = driven(*args, {10: 0.0045, 20: 0.0055, 30: 0.0105, 40: 1})
    ks = edges.on_grid([w * clock.NS for w in waits], 0.01)
    eq([b - a for a, b in zip(ks, ks[1:])], [{20: 2, 30: 2, 40: 101}.get(k, 1) for k in range(199)], "from sample to sample")
    check(min(r["dt"] for r in rows) >= 0.00499, "one that comes soon after another")


# --- control --------------------------------------------------------------------------------------------------

@test("--control fd: enable, disable, ping and stop, each acknowledged", alone=True)
def _(m):
    cmd_r, cmd_w = os.pipe()
    ack_r, ack_w = os.pipe()

    def say(word):
        os.write(cmd_w, word + b"\n")
        check(select.select([ack_r], [], [], 60)[0], f"no answer to {word!r}")
        eq(os.read(ack_r, 100), b"ack\n", f"answer to {word!r}")
    try:
        with working("spin", 600000) as w:
            w.until(b"ready\n")
            w.go()
            with started("-j", "-D", "-1", "--control", f"fd:{cmd_r},{ack_w}", "-e", "task-clock,page-faults", "-p",
                         str(w.pid), pass_fds=[cmd_r, ack_w]) as p:
                say(b"ping")
                until_it_ran(w.pid, 0.1)
                outer = cpu_of(w.pid)
                say(b"enable")
                inner = cpu_of(w.pid)
                until_it_ran(w.pid, 0.3)
                inner = cpu_of(w.pid) - inner
                say(b"disable")
                outer = most_by_perf(cpu_of(w.pid) - outer)
                until_it_ran(w.pid, 0.2)
                os.write(cmd_w, b"nonsense\n")
                check(not select.select([ack_r], [], [], 0.1)[0], "nonsense was acknowledged")
                check(p.p.poll() is None, "ended by nonsense")
                say(b"stop")
                r = p.end()
        eq(r.code, 0, f"exit code ({r!r})")
        got = value(rows_of(r.out), "task-clock") / 1e9
        check(inner - 0.01 <= got <= outer, f"{got} s counted of {inner} to {outer} that it was enabled")
    finally:
        for fd in (cmd_r, cmd_w, ack_r, ack_w):
            os.close(fd)


@test("--control fifo: the same over named pipes", alone=True)
def _(m):
    cmd, ack = m.path("cmd"), m.path("ack")
    os.mkfifo(cmd)
    os.mkfifo(ack)
    a = os.open(ack, os.O_RDWR)
    with started("-j", "-D", "-1", "--control", f"fifo:{cmd},{ack}", "-e", "task-clock", *work("spin", 600)) as p:
        pid, ran = command_of(p.pid), []
        c = os.open(cmd, os.O_WRONLY)
        for word in (b"enable\n", b"disable\n"):
            until_it_ran(pid, 0.1)
            ran.append(cpu_of(pid))
            os.write(c, word)
            check(select.select([a], [], [], 30)[0], f"no answer to {word!r}")
            eq(os.read(a, 100), b"ack\n", "answer")
            ran.append(cpu_of(pid))
        os.close(c)
        os.close(a)
        r = p.end()
    eq(r.code, 0, f"exit code ({r!r})")
    got = value(rows_of(r.err), "task-clock") / 1e9
    check(ran[2] - ran[1] - 0.01 <= got <= most_by_perf(ran[3] - ran[0]), f"{got} s counted, of times {ran}")


@test("--control: several words in one write, and one in two writes")
def _(m):
    cmd_r, cmd_w = os.pipe()
    ack_r, ack_w = os.pipe()
    try:
        with started("-j", "-D", "-1", "--control", f"fd:{cmd_r},{ack_w}", "-e", "task-clock", *work("sleep", 3000),
                     pass_fds=[cmd_r, ack_w]) as p:
            os.write(cmd_w, b"ping\nping\nenable\n")
            answers = b""
            while len(answers) < 12 and select.select([ack_r], [], [], 30)[0]:
                answers += os.read(ack_r, 100)
            eq(answers, b"ack\n" * 3, "answers to three")
            os.write(cmd_w, b"pi")
            check(not select.select([ack_r], [], [], 0.1)[0], "an answer to half a word")
            os.write(cmd_w, b"ng\n")
            check(select.select([ack_r], [], [], 30)[0], "no answer to a word in two parts")
            eq(os.read(ack_r, 100), b"ack\n", "answer to a word in two parts")
            p.end()
    finally:
        for fd in (cmd_r, cmd_w, ack_r, ack_w):
            os.close(fd)


@test("--control: garbage is refused, and says how it is", counts=False)
def _(m):
    for bad in ("", "x", "fd", "fd:", "fifo:", "fd:1,2,3", "FD:1", "fd:x", "fd:-1"):
        r = stat("--control", bad, "-e", "task-clock", *work("exit", 0))
        check(r.code in (1, 2), f"{bad!r}: exit {r.code}")
        says(r, r.code)
    says(stat("--control", "fifo:/absent/fifo", "-e", "task-clock", *work("exit", 0)), 1, "/absent/fifo")
    says(stat("--control", "fd:x", "-e", "task-clock", *work("exit", 0)), 1, "x")


# --- event sets -----------------------------------------------------------------------------------------------

def scaled(r):
    """What was counted, as if it had been counted all the time."""
    near(r["value"], r["count"] * r["dt"] / r["active"], 0.01 * r["value"] + 1, f"value, of count, dt and active of {r['set']}")
    near(r["running"], 100 * r["active"] / r["dt"], 0.2, "percent running")


@test("sets by time: in turn, each with its runs and active time, scaled to the whole")
def _(m):
    machine_wide()
    cpu = online()[0]
    args = ("-C", cpu, "--raw", "--set", "a=cpu-clock@20ms", "--set", "b=cpu-clock,page-faults@30ms", "-w", "1")
    rows, _waits, _took = driven(*args)
    eq([(r["set"], r["event"]) for r in rows], [("a", "cpu-clock"), ("b", "cpu-clock"), ("b", "page-faults")],
       "records")
    a, b = rows[0], rows[1]
    eq((a["runs"], b["runs"]), (20, 20), "runs")
    near(a["active"], 0.4, 0.002, "seconds of a")
    near(b["active"], 0.6, 0.002, "seconds of b")
    eq((a["timeout"], b["timeout"]), (0.02, 0.03), "turns as the timer can do them")
    rows = measure(*args)
    for r in rows[:2]:
        scaled(r)
        check(1 <= r["runs"] <= r["active"] / r["timeout"] + 1, f"no turn is shorter than it should be: {r}")
        check(0 < r["count"] <= 1.001e9 * r["active"] + 1e6 * r["runs"], f"ns of {r['active']} s")
    check(rows[0]["active"] + rows[1]["active"] <= rows[0]["dt"] + 1e-5, f"seconds of both: {rows}")
    row = measure("-C", cpu, "--no-scale", "--raw", "--set", "a=cpu-clock@20ms", "--set", "b=page-faults@20ms", "-w", "0.4")[0]
    eq(row["value"], row["count"], "--no-scale")


@test("sets by time: of a command, over intervals too")
def _(m):
    rows = measure("--raw", "--set", "a=task-clock@5ms", "--set", "b=task-clock@5ms", *work("spin", 500))
    for r in rows:
        scaled(r)
    check(sum(r["count"] for r in rows) <= 1.001e9 * rows[0]["dt"], f"in one set or the other: {rows}")
    rows = measure("--raw", "-I", 100, "--set", "a=task-clock@5ms", "--set", "b=page-faults@5ms", *work("spin", 450))
    a = [r for r in rows if r["set"] == "a"]
    check(0 < sum(r["count"] or 0 for r in a) <= 1.001e9 * sum(r["active"] for r in a) + 1e6 * sum(r["runs"] for r in a), f"{a}")
    if wide():
        rows, _waits, _took = driven("-a", "-I", 100, "-c", 4, "--set", "a=cpu-clock@5ms", "--set", "b=page-faults@5ms")
        check(all(9 <= r["runs"] <= 11 for r in rows), f"runs in intervals of 100 ms: {[r['runs'] for r in rows]}")


@test("sets: ids give the order, 0 to 65535, each once")
def _(m):
    def sets(*args):
        rows = measure(*args, *work("sleep", 60))
        return [r["set"] for r in rows]
    eq(sets("--set", "9:n=task-clock", "--set", "2:t=page-faults", "--set", "65535:l=task-clock",
            "--set", "0:z=task-clock"),
       ["z", "t", "n", "l"], "in the order of ids")
    eq(sets("--set", "x=task-clock", "--set", "y=page-faults", "--set", "z=task-clock"), ["x", "y", "z"], "without ids")
    for bad in (["65536:a=task-clock"], ["1:a=task-clock", "1:b=task-clock"], ["0:a=task-clock", "0:b=task-clock"],
                ["-1:a=task-clock"], ["x:a=task-clock"], ["99999999999999999999:a=task-clock"],
                ["65535:a=task-clock", "b=task-clock"]):
        says(stat(*(x for b in bad for x in ("--set", b)), *work("exit", 0)), 2, "--set")


@test("sets: what -e has is set 0, and stands first")
def _(m):
    rows = measure("-e", "task-clock", "--set", "x=page-faults", *work("sleep", 60))
    eq([r["event"] for r in rows], ["task-clock", "page-faults"], "records")


@test("sets: one that cannot be opened is named and skipped")
def _(m):
    def named(*args, code=0):
        r = stat("-j", "-O", m.path("out"), *args)
        eq(r.code, code, f"exit code ({r!r})")
        with open(m.path("out"), "rb") as f:
            rows = rows_of(f.read())
        os.unlink(m.path("out"))
        check(b"bad" in r.err or any(x["set"] == "bad" and x["reason"] for x in rows), f"it is not named: {r!r}")
        return rows
    rows = named("--raw", "--set", "a=task-clock@10ms", "--set", f"bad={NOTHING}@10ms", "--set", "c=page-faults@10ms",
                   *work("spin", 300))
    by = {r["set"]: r for r in rows}
    check(by["bad"]["value"] is None and by["bad"]["reason"].startswith("not supported"), f"{by['bad']}")
    eq(by["bad"]["runs"], 0, "runs of the set that cannot be opened")
    check(by["a"]["active"] + by["c"]["active"] <= by["a"]["dt"] + 1e-5, f"the others take all turns: {rows}")
    if wide():
        rows, _waits, _took = driven("-a", "--raw", "--set", "a=cpu-clock@10ms", "--set", f"bad={NOTHING}@10ms", "--set", "c=page-faults@10ms", "-w", "0.3")
        eq([r["runs"] for r in rows], [15, 0, 15], "the others take all turns")
        near(rows[0]["active"] + rows[2]["active"], 0.3, 0.002, "and all of the time")
    rows = named("--set", f"bad={NOTHING}@10ms", "--set", "c=task-clock@10ms", *work("spin", 100))
    ran(rows[1], 0.099, "where the first set is the bad one")
    rows = named("--set", f"bad={NOTHING}@10ms", "--set", f"y={NOTHING}@10ms", *work("exit", 0), code=4)
    eq([x["value"] for x in rows], [None, None], "where all are bad")


@test("sets: @overflow ends a turn once the event has come that often", alone=True)
def _(m):
    rows = measure("--raw", "--set", "a=page-faults@overflow:page-faults:100",
                   "--set", "b=page-faults@overflow:page-faults:150", *work("slowfault", 2500))
    a, b = rows
    counted = a["count"] + b["count"]
    check(abs(a["runs"] - b["runs"]) <= 1 and a["runs"] >= 3, f"in turn: {a['runs']} and {b['runs']}")
    # a turn goes on until we are told of its end, and what is counted meanwhile is its own
    for r, n in ((a, 100), (b, 150)):
        check(r["runs"] <= r["count"] / n + 1, f"no turn ends before {n}: {r['runs']} turns, {r['count']} faults")
    check(counted <= 2650, f"{counted} of 2500 faults are counted in one or the other: those of a switch in none")


@test("sets: @overflow switches though our parent blocks SIGIO")
def _(m):
    rows = measure("--set", "a=page-faults@overflow:page-faults:100", "--set", "b=page-faults@overflow:page-faults:100",
                   *work("slowfault", 2000), preexec_fn=blocking(signal.SIGIO))
    check(rows[0]["runs"] >= 3 and rows[1]["runs"] >= 3, f"turns {[r['runs'] for r in rows]}")


@test("sets: the first of several overflows ends the turn, and a trigger may stand beside the events", alone=True)
def _(m):
    rows = measure("--raw", "--set", "a=task-clock@overflow:page-faults:100,context-switches:100000",
                   "--set", "b=task-clock@overflow:page-faults:100", *work("slowfault", 2000))
    by = {(r["set"], r["event"]): r for r in rows}
    check(4 <= by["a", "task-clock"]["runs"] + by["b", "task-clock"]["runs"] <= 21, f"turns: {rows}")


@test("sets: a time and an overflow together: whichever comes first", alone=True)
def _(m):
    rows = measure("--raw", "--set", "t=page-faults@10ms@overflow:page-faults:1000000",
                   "--set", "o=page-faults@100s@overflow:page-faults:100", *work("slowfault", 2500))
    t, o = rows
    check(t["runs"] <= t["active"] / 0.01 + 1, f"seconds of a turn that ends by time: {t['active'] / t['runs']}")
    check(o["runs"] <= o["count"] / 100 + 1, f"faults of a turn that ends by overflow: {o['count'] / o['runs']}")
    check(abs(t["runs"] - o["runs"]) <= 1 and t["runs"] >= 3, f"turns {t['runs']} and {o['runs']}")
    rows = measure("--raw", "--set", "t=task-clock@20ms", "--set", "o=page-faults@overflow:page-faults:100",
                   *work("slowfault", 2000))
    t, o = rows
    check(2 <= t["runs"] <= t["active"] / 0.02 + 1, f"one by time: {t['runs']} turns of {t['active']} s")
    check(2 <= o["runs"] <= o["count"] / 100 + 1, f"one by overflow: {o['runs']} turns of {o['count']} faults")


@test("sets: garbage of each kind is refused with what it should be", counts=False)
def _(m):
    refused([["--set", bad] for bad in (
        "", "=", "a", "a=", "=task-clock", "1:", "1:=task-clock", ":a=task-clock", "a=@10ms", "a=task-clock@0",
        "a=task-clock@x", "a=task-clock@10mm", "a=task-clock@overflow", "a=task-clock@overflow:task-clock",
        "a=task-clock@overflow:task-clock:0", "a=task-clock@overflow:task-clock:x", "a=task-clock@overflow::5",
        "a=task-clock@overflow:nonsense-event:5", "a={task-clock@10ms", "a=nonsense-event@10ms",
        "a=task-clock,@10ms", "a=task-clock@10ms@", "a=task-clock@", "65536:a=task-clock", "a=task-clock@-5ms",
        "a" * 10000, "a=" + "b" * 10000)])


# --- formats --------------------------------------------------------------------------------------------------

@test("--raw: count, enabled and runtime, unscaled")
def _(m):
    rows = measure("--raw", "-e", "page-faults,task-clock", *work("fault", 100))
    for r in rows:
        eq(r["value"], r["count"], "nothing was shared")
        check(0 < r["runtime"] <= r["enabled"] <= r["dt"] * 1e9 + 1000, f"{r}")
    plain = measure("-e", "page-faults", *work("exit", 0))[0]
    check("enabled" not in plain and "runtime" not in plain, f"without --raw: {plain}")


@test("json: every record has the keys of the schema; null and a reason where there is no value")
def _(m):
    r = stat("-j", "-e", f"task-clock,{NOTHING},page-faults", *work("exit", 0))
    eq([x["value"] is None for x in rows_of(r.err)], [False, True, False], "which have no value")
    eq(stat("-o", "json", "-e", "task-clock", *work("exit", 0)).code, 0, "-o json")
    r = stat("-j", "-1", "-e", "task-clock,page-faults", *work("exit", 0))
    eq(len(r.err.splitlines()), 1, "lines with -1")


@test("csv and logfmt: strict, with the numbers that json has")
def _(m):
    args = ["-e", f"{NOTHING},page-faults", "-C", "0", "-w", "0.02"] if wide() else \
        ["-e", f"{NOTHING},page-faults:u", *work("exit", 0)]
    rows = parse_csv(out_of(stat("-o", "csv", *args), args))
    fields = {r["field"] for r in rows}
    check({"value", "unit", "running", "reason"} <= fields, f"fields {fields}")
    cells = {(r["instance"], r["field"]): r["value"] for r in rows}
    eq(cells[NOTHING, "value"], "", "a value that there is not")
    check(cells[NOTHING, "reason"].startswith("not supported"), f"reason {cells[NOTHING, 'reason']!r}")
    check(any(k[0].startswith("page-faults") and k[1] == "value" and v.isdigit() for k, v in cells.items()), f"{cells}")
    rows = parse_logfmt(out_of(stat("-o", "logfmt", *args), args))
    eq([(r["kind"], r["event"].partition(":u")[0]) for r in rows], [("event", NOTHING), ("event", "page-faults")],
       "logfmt")
    check("value" not in rows[0] and rows[1]["value"].isdigit(), f"values {rows}")
    r = out_of(stat("-o", "csv", "-f", "event,value,reason", *args), args)
    table = list(csv.reader(io.StringIO(r.decode()), strict=True))
    eq(table[0][-3:], ["event", "value", "reason"], "header of wide CSV")
    eq([len(x) for x in table], [len(table[0])] * 3, "columns of wide CSV")


def out_of(r, args):
    eq(r.code, 0, f"exit code ({r!r})")
    return r.err if "--" in args else r.out


@test("line: a header and a row for each event, in columns")
def _(m):
    r = stat("-e", f"task-clock,page-faults,{NOTHING}", *work("spin", 20))
    lines = printable(r.err).splitlines()
    eq(len(lines), 4, f"lines ({r.err!r})")
    head = lines[0].split()
    eq(head[:3], ["EVENT", "VALUE", "UNIT"], "header")
    check(re.match(r"task-clock +[12]\d\.\d\d msec +100\.0%$", lines[1].rstrip()), f"{lines[1]!r}")
    check(re.match(r"page-faults +\d+ +100\.0%$", lines[2].rstrip()), f"{lines[2]!r}")
    check(re.match(rf"{NOTHING} +- +- not supported", lines[3]), f"{lines[3]!r}")
    end = lines[0].index("VALUE") + len("VALUE")
    for line in lines[1:]:
        check(len(line) == end or line[end] == " " and line[end - 1] != " ", f"a value out of its column: {line!r}")
    r = stat("-H", "-e", "task-clock", *work("exit", 0))
    eq(len(r.err.splitlines()), 1, "lines with -H")
    r = stat("-I", 50, "-e", "task-clock", *work("sleep", 220))
    eq(r.err.count(b"EVENT"), 1, "headers over intervals")


@test("table: a row for each event, no cell in two columns")
def _(m):
    r = stat("-o", "table", "-e", f"task-clock,page-faults,{NOTHING}", *work("exit", 0))
    text = printable(r.err)
    for e in ("task-clock", "page-faults", NOTHING):
        check(text.count(e) == 1, f"{e} stands {text.count(e)} times in\n{text}")


def fields_of(text, sep=","):
    return [line.split(sep) for line in text.decode().splitlines() if line and not line.startswith("#")]


def perf(*args):
    tool = package("perf", "linux-perf")
    p = subprocess.run([tool, "stat", *(str(a) for a in args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=60, env={**os.environ, "LC_ALL": "C"})
    if p.returncode not in (0, 4) or not p.stderr.strip():
        raise Skip(f"perf does not run here: {p.stderr[-80:]!r}; needs package linux-perf of this kernel")
    return p.stderr


def shape(cell):
    """What kind of cell this is: numbers differ from run to run."""
    if re.fullmatch(r" *\d+", cell):
        return "number"
    if re.fullmatch(r" *\d+\.\d+", cell):
        return f"{len(cell.rpartition('.')[2])} decimals"
    return "percent" if re.fullmatch(r"\d+\.\d\d%", cell) else cell


def same_fields(args, command):
    """Our perf-csv has perf's cells, but for its metrics, which stand last."""
    theirs, ours = fields_of(perf("-x,", *args, *command)), fields_of(stat("-x,", *args, *command).err)
    if args[0] != "-I":  # how many intervals a command takes differs from run to run
        eq(len(ours), len(theirs), f"lines of {args}")
    for a, b in zip(ours, theirs):
        if args[0] == "-I" and "<not counted>" in a + b:  # the command had no CPU in one of those intervals
            continue
        n = len(b) - 2
        eq(len(a), len(b), f"cells of {args}: {a}, perf has {b}")
        shapes = [[shape(c) for c in x[:n]] for x in (a, b)]
        if args[0] == "-I":  # a time stamp, of which we know microseconds
            check(all(x[0].endswith("decimals") for x in shapes), f"time stamps {a[0]}, {b[0]}")
            shapes = [s[1:] for s in shapes]
        eq(*shapes, f"cells of {args}: {a}, perf has {b}")


@test("perf-csv: perf's own fields, of a command")
def _(m):
    same_fields(["-e", "task-clock,page-faults,cpu-clock,context-switches,dummy"], work("spin", 10))


@test("perf-csv: perf's own fields, where an event is not supported")
def _(m):
    if os.path.isdir("/sys/bus/event_source/devices/cpu"):
        raise Skip("this machine has a PMU")
    same_fields(["-e", "cycles,task-clock"], work("exit", 0))


@test("perf-csv: perf's own fields with -I", alone=True)
def _(m):
    same_fields(["-I", "100", "-e", "task-clock,page-faults"], work("spin", 150))


@test("perf-csv: perf's own fields with -A")
def _(m):
    machine_wide()
    same_fields(["-a", "-A", "-e", "cpu-clock,page-faults"], work("spin", 10))


@test("perf-csv: perf's own fields with -r")
def _(m):
    same_fields(["-r", "3", "-e", "task-clock,page-faults"], work("spin", 10))


@test("perf-csv: perf's own fields with --per-socket")
def _(m):
    machine_wide()
    same_fields(["-a", "--per-socket", "-e", "cpu-clock,page-faults"], work("spin", 10))


@test("perf-csv: perf's own fields with --per-core")
def _(m):
    machine_wide()
    same_fields(["-a", "--per-core", "-e", "cpu-clock,page-faults"], work("spin", 10))


@test("perf-csv: -x takes any separator, and \\t for a tab")
def _(m):
    for sep, want in ((";", ";"), ("\\t", "\t"), ("|", "|")):
        r = stat("-x", sep, "-e", "page-faults", *work("exit", 0))
        cells = fields_of(r.err, want)[0]
        check(len(cells) == 7 and cells[0].isdigit() and cells[2] == "page-faults", f"-x {sep}: {r.err!r}")
    says(stat("-x", "", "-e", "page-faults", *work("exit", 0)), 2)


def has_event(pid):
    with contextlib.suppress(OSError):
        return any("perf_event" in os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd"))
    return False


@test("perf as the judge: page-faults within a few, task-clock of the same work the same")
def _(m):
    def ours(*words):
        return value(measure("-e", "page-faults", *work(*words)), "page-faults")

    def theirs(*words):
        return float(fields_of(perf("-x,", "-e", "page-faults", *work(*words)))[0][0])
    for words in (("exit", 0), ("fault", 2000, "spin", 30)):
        a, b = (statistics.median(count(*words) for _ in range(7)) for count in (ours, theirs))
        near(a, b, 4, f"page faults of {words}")
    with working("fault", 2000, "spin", 200) as w:  # both count it
        w.until(b"ready\n")
        with Running([package("perf", "linux-perf"), "stat", "-x,", "-e", "task-clock", "-p", w.pid]) as judge, \
             started("-j", "-e", "task-clock", "-p", w.pid) as p:
            for pid in (judge.pid, p.pid):
                edges.until("it has its event", lambda: has_event(pid))  # noqa: B023
                wait_asleep(pid)
            w.go()
            edges.until_zombie(w.pid)
            judge.p.send_signal(signal.SIGINT)
            a, b = value(rows_of(p.end().out), "task-clock") / 1e6, float(fields_of(judge.end().err)[0][0])
    near(a, b, 0.3 + 0.02 * b, "milliseconds")


# --- without rights -------------------------------------------------------------------------------------------

def as_nobody():
    as_root()
    machine_wide()
    if paranoid() != 2:
        raise Skip(f"kernel.perf_event_paranoid is {paranoid()}, not 2")


@test("unprivileged: own tasks are counted in user space, and that is said")
def _(m):
    as_nobody()
    r = stat("-j", "-e", "page-faults:u,task-clock:u", *work("fault", 200), nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    check(value(rows_of(r.err), "page-faults:u") >= 200, f"{r.err!r}")
    r = stat("-j", "-e", "page-faults", *work("fault", 200), nobody=True)
    eq(r.code, 0, f"exit code ({r!r})")
    lines = r.err.splitlines()
    check(rows_of(lines[0] + b"\n")[0]["value"] >= 200, f"{r.err!r}")
    check(b"user space" in lines[-1] and b"perf_event_paranoid" in lines[-1], f"message {lines[-1]!r}")


@test("unprivileged: -a is denied, names perf_event_paranoid and cap_perfmon, exit 4")
def _(m):
    as_nobody()
    for args in (["-a"], ["-C", "0"], ["-A"]):
        r = stat("-j", *args, "-e", "page-faults,task-clock", "-w", "0.05", nobody=True)
        eq(r.code, 4, f"exit code ({r!r})")
        for row in rows_of(r.out):
            check(row["value"] is None and row["reason"].startswith("denied"), f"{row}")
            check("perf_event_paranoid" in row["reason"] and "cap_perfmon" in row["reason"], f"{row['reason']!r}")
    r = stat("-j", "-e", "page-faults", "-p", os.getpid(), "--timeout", 50, nobody=True)
    eq((r.code, [x["value"] for x in rows_of(r.out)]), (4, [None]), "root's process")


@test("unprivileged: tracepoints are denied with the reason, or are not to be seen")
def _(m):
    as_nobody()
    r = stat("-j", "-e", "sched:sched_switch", *work("exit", 0), nobody=True)
    check(r.code in (2, 4), f"exit code ({r!r})")
    if r.code == 2:
        says(r, 2, "tracefs")


@test("unprivileged: what only the kernel makes happen is denied, not 0")
def _(m):
    as_nobody()
    r = stat("-j", "-e", "context-switches,cpu-migrations,page-faults", *work("sleep", 10), nobody=True)
    rows = rows_of(b"".join(x + b"\n" for x in r.err.splitlines() if x.startswith(b"{")))
    eq([x["value"] for x in rows[:2]], [None, None], "switches and migrations")
    check(all(x["reason"].startswith("denied") for x in rows[:2]) and rows[2]["value"] > 0, f"{rows}")


@test("unprivileged: what is denied says so, whatever the kernel says of a second try")
def _(m):
    as_nobody()
    if os.path.exists("/sys/bus/event_source/devices/msr"):
        r = stat("-j", "-e", "msr/tsc/", *work("exit", 0), nobody=True)
        check(rows_of(r.err)[0]["reason"].startswith("denied"), f"{r.err!r}")
    root = m.path("sys/kernel/tracing/events/sched/sched_switch")
    os.makedirs(root)
    with open(root + "/id", "w", encoding="ascii") as f:
        f.write("7\n")
    os.chmod(m.path("sys/kernel/tracing"), 0o700)
    for folder in ("", "sys", "sys/kernel"):
        os.chmod(m.path(folder) if folder else os.path.dirname(m.path("x")), 0o755)
    os.makedirs(m.path("sys/bus/event_source/devices"))
    r = stat("-j", "--sys", m.path("sys"), "-e", "sched:sched_switch,page-faults:u", *work("fault", 20), nobody=True)
    rows = rows_of(r.err)
    check(rows[0]["value"] is None and rows[0]["reason"].startswith("denied"), f"the tracepoint {rows[0]}")
    check(rows[1]["value"] >= 20 and r.code == 0, f"what stands beside it {r!r}")


# --- bad input ------------------------------------------------------------------------------------------------

@test("events: what is none is refused with its name, exit 2, and no command is run", counts=False)
def _(m):
    flag = m.path("ran")
    def clean():
        if os.path.exists(flag):
            os.unlink(flag)
            raise AssertionError("the command ran")
    refused([["-e", bad] for bad in (
        "nonsense", "task-clock,nonsense", "", ",", "task-clock,", ",task-clock", "task-clock,,cpu-clock", "{", "}",
        "{}", "{task-clock", "task-clock}", "{task-clock,}", "{{task-clock}}", "task-clock:z", "task-clock:uu",
        "cpu/", "cpu//x", "nonsense/config=1/", "software/", "mem:", "mem:x", "uprobe:", "uprobe:/x", "1:", ":1",
        "1:x", "sched:", "r", "rxyz", " ", "task-clock/", "99999999999999999999:1", "\x01\x02", "\xff", "{" * 500,
        "a" * 10000, "task-clock," * 1000 + "nonsense", "{" + "task-clock," * 2000, "/" * 10000,
        "nonsense/" + "a=1," * 2500 + "/")], command=["--", "touch", flag], clean=clean)
    says(stat("-e", "nonsense", *work("exit", 0)), 2, "nonsense")


@test("events: thousands in one list are counted or refused, without a crash")
def _(m):
    for n in (100, 500, 5000):
        r = stat("-j", "-e", ",".join(["page-faults"] * n), *work("exit", 0), timeout=60)
        check(r.code in (0, 1, 2), f"{n}: exit {r.code} ({r.err[-100:]!r})")
        if r.err.startswith(b"{"):
            rows = rows_of(b"".join(x for x in r.err.splitlines(True) if x.startswith(b"{")))
            check(len(rows) == n or b"gpustat: " in r.err, f"{len(rows)} of {n} records, and no message")
            check(len({x["value"] for x in rows if x["value"] is not None}) <= 1, "the same event has several values")
        else:
            says(r, r.code)
    args = [x for _ in range(300) for x in ("-e", "task-clock")]
    r = stat(*args, *work("exit", 0))
    check(r.code in (0, 2), f"300 -e: exit {r.code} ({r.err[-100:]!r})")


@test("numbers: too large, negative and none at all are refused", counts=False)
def _(m):
    big = "99999999999999999999"
    refused([["-e", "task-clock", *x] for x in (
        ["-c", "0"], ["-c", "x"], ["-c", big], ["-I", "0"], ["-I", "-5"], ["-I", big], ["-i", "0"], ["-D", big],
        ["-D", "x"], ["-D", "-2"], ["--timeout", "0"], ["--timeout", big], ["--timeout", ""], ["-r", "x"],
        ["-r", "-1"], ["-r", big], ["--log-fd", "-1"], ["--log-fd", big], ["--log-fd", "x"], ["-p", "x"], ["-p", ""],
        ["-p", big], ["-p", "-1"], ["-p", "1,,2"], ["-t", "x"], ["-C", "x"], ["-C", ""], ["-C", "3-1"], ["-C", "-1"],
        ["-C", "9999999"], ["-C", "0-9999999"], ["-C", big], ["-w", "0"], ["-w", big], ["-o", "x"], ["-o", "promtool"],
        ["--per-cpu=1"], ["--nonsense"])])


@test("-c: the largest COUNT that there is is taken")
def _(m):
    rows = measure("-I", 50, "-c", 2**64 - 1, "-e", "task-clock", *work("sleep", 120))
    check(2 <= len(rows) <= 4, f"{len(rows)} records")


@test("processes: one that does not exist is named", counts=False)
def _(m):
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        gone = int(f.read()) - 1
    for o in ("-p", "-t"):
        for pid in (gone, 2**31 - 1, 2**31, 2**32 - 1):
            r = stat(o, pid, "-e", "task-clock", timeout=60)
            check(r.code in (1, 2), f"{o} {pid}: {r!r}")
            says(r, r.code, str(pid))


@test("processes: 0 is none", counts=False)
def _(m):
    for o in ("-p", "-t"):
        r = stat(o, 0, "-e", "task-clock", timeout=60)
        check(r.code in (1, 2), f"{o} 0: {r!r}")
        says(r, r.code)


@test("processes: a zombie has no value, with the reason, and does not hang")
def _(m):
    p = subprocess.Popen(["true"])
    try:
        edges.until_zombie(p.pid)
        for o in ("-p", "-t"):
            r = stat("-j", o, p.pid, "-e", "task-clock,page-faults", timeout=60)
            check(r.code in (1, 4), f"{o}: exit code ({r!r})")
            if r.code == 1:
                says(r, 1, str(p.pid))
            else:
                for row in rows_of(r.out):
                    check(row["value"] is None and row["reason"], f"{row}")
    finally:
        p.wait()


@test("processes: one that vanishes while it is measured ends it, with results")
def _(m):
    for args in ([], ["-I", "50"], ["--per-thread"], ["--set", "a=task-clock@10ms", "--set", "b=page-faults@10ms"]):
        for kill in (False, True):
            with working("spin", 20 if not kill else 3000) as w:
                w.until(b"ready\n")
                with started("-j", "-p", str(w.pid), *([] if "--set" in args else ["-e", "task-clock"]), *args) as p:
                    wait_asleep(p.pid)
                    w.go()
                    if kill:
                        until_it_ran(w.pid, 0.05)
                        w.p.kill()
                    w.end()
                    r = p.end()
            eq(r.code, 0, f"{args}: exit code ({r!r})")
            rows = [x for x in rows_of(r.out) if x["event"] == "task-clock"]
            check(sum(x["value"] or 0 for x in rows) > 5e6, f"{args}: {rows}")


@test("CPUs: one that does not exist has no value, with the reason, exit 4")
def _(m):
    machine_wide()
    for extra in ([], ["-A"]):
        r = stat("-j", "-C", max(online()) + 50, *extra, "-e", "task-clock", "-w", "0.05")
        eq(r.code, 4, f"exit code ({r!r})")
        check(all(x["value"] is None and x["reason"] for x in rows_of(r.out)), f"{r.out!r}")
    r = stat("-j", "-C", f"0,{max(online()) + 50}", "-A", "-e", "cpu-clock", "-w", "0.05")
    rows = rows_of(r.out)
    eq((r.code, [x["value"] is None for x in rows]), (0, [False, True]), "beside one that does")
    check("offline" in rows[1]["reason"], f"{rows[1]['reason']!r}")


@test("output: into an absent folder, a folder, no stdout, a full one: exit 1 with a message")
def _(m):
    flag = m.path("ran")
    says(stat("-O", m.path("absent/x"), "-e", "task-clock", "--", "touch", flag), 1, "absent/x", "No such file")
    check(not os.path.exists(flag), "the command ran though its results have no place")
    says(stat("-O", m.base, "-e", "task-clock", *work("exit", 0)), 1, "directory")
    says(stat("-O", "/dev/full", "-e", "task-clock", *work("exit", 0)), 1, "No space")
    with open("/dev/full", "wb") as full:
        p = subprocess.run([edges.PROG, "stat", "-e", "task-clock", *work("exit", 0)], stderr=full, timeout=60)
        eq(p.returncode, 1, "full stderr")
        if wide():
            for args in (["-w", "0.02"], ["-I", "20"]):
                p = subprocess.run([edges.PROG, "stat", "-a", "-e", "task-clock", *args], stdout=full,
                                   stderr=subprocess.PIPE, timeout=60)
                eq(p.returncode, 1, f"full stdout, {args}")
                check(b"No space" in p.stderr, f"message {p.stderr!r}")
    r = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", edges.PROG, "stat", "-a", "-e", "task-clock", "-w", "0.02"],
                       stderr=subprocess.PIPE, timeout=60)
    check(r.returncode in (1, 4), f"closed stdout: exit {r.returncode}")


@test("output: without any of the three streams results go nowhere else: exit 1, and the command runs")
def _(m):
    flag = m.path("ran")
    for closed in ("2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        r = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", edges.PROG, "stat", "-e", "task-clock", "--",
                            "touch", flag], timeout=60)
        eq((r.returncode, os.path.exists(flag)), (1, True), f"{closed}: exit code, whether the command ran")
        os.unlink(flag)


@test("output: a reader that goes away ends it at once", alone=True)
def _(m):
    machine_wide()
    p = subprocess.Popen([edges.PROG, "stat", "-a", "-e", "task-clock", "-I", "20"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    p.stdout.read(10)
    p.stdout.close()
    try:
        p.wait(3)
    finally:
        p.kill()
        err = p.stderr.read()
        p.stderr.close()
        p.wait()
    check(p.returncode in (1, -signal.SIGPIPE), f"exit {p.returncode} ({err!r})")


@test("roots: an empty --proc and --sys are no crash")
def _(m):
    for root in ("--proc", "--sys"):
        r = stat("-j", root, m.proc, "-e", "task-clock", *work("exit", 0), timeout=60)
        check(r.code in (0, 1, 4), f"exit code ({r!r})")
    says(stat("--proc", "/absent", "-e", "task-clock", *work("exit", 0)), 1, "/absent")


@test("descriptors: too few of them is a reason, not a crash")
def _(m):
    machine_wide()
    e = ",".join(["page-faults:u"] * 40 + ["{task-clock}"] * 40)
    p = subprocess.run(["sh", "-c", 'ulimit -n 20; exec "$@"', "sh", edges.PROG, "stat", "-j", "-a", "-A", "-e", e,
                        "-w", "0.02"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    check(p.returncode in (0, 4), f"exit {p.returncode} ({p.stderr[-200:]!r})")
    rows = rows_of(p.stdout)
    check(any(r["value"] is not None for r in rows), "nothing was counted")
    check(any("files" in (r["reason"] or "") for r in rows), f"no word of files: { {r['reason'] for r in rows} }")


# --- cost -----------------------------------------------------------------------------------------------------

def system_calls(m, *argv):
    tool = package("strace", "strace")
    log = m.path(f"strace-{time.monotonic_ns()}")
    p = subprocess.run([tool, "-f", "-o", log, *(str(a) for a in argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, timeout=60)
    if p.returncode != 0:
        raise Skip(f"strace: {p.stderr[-80:]!r}")
    with open(log, encoding="utf-8", errors="replace") as f:
        return [line for line in f if re.match(r"\d+ +[a-z_0-9]+\(", line)]


@test("cost: at most 40 system calls beyond the command's own, and nine for memory")
def _(m):
    own = len(system_calls(m, *work("exit", 0)[1:]))
    lines = system_calls(m, edges.PROG, "stat", "-e", "task-clock", *work("exit", 0))
    memory = [x for x in lines if re.match(r"\d+ +(mprotect|madvise|mmap)\(", x)]
    check(len(lines) - own <= 40 + min(len(memory), 9), f"{len(lines)} - {own}:\n" + "".join(x[:100].rstrip() + "\n" for x in lines))


@test("cost: at most 6 system calls a sample, of 4 software events on 2 CPUs", alone=True)
def _(m):
    machine_wide()
    few, many = (len(system_calls(m, edges.PROG, "stat", "-a", "-e", LISTED.replace(" ", ","), "-O", m.path(f"o{n}"),
                                  "-I", 20, "--interval-count", n)) for n in (5, 25))
    each = (many - few) / 20
    check(each <= 6 + max(0, len(online()) - 2), f"{each} a sample")


def main(prog):
    global WORK
    folder = edges.tempfile.mkdtemp(prefix="gpustat-stat-")
    os.chmod(folder, 0o755)
    try:
        WORK = build_work(folder)
        return edges.main(prog, TESTS, workers=4, alone=lambda t: t[2])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_stat.py PROG")
    sys.exit(main(sys.argv[1]))
