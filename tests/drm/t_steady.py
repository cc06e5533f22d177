#!/usr/bin/env python3
# t_steady.py PROG - system calls per sample, and how soon the rescan finds clients that inotify
# does not report. The machines are file trees (tests/machine.py) with device nodes among many other
# descriptors; tests/boot/steady.c has the same tests on a kernel that counts descriptors and
# reports opens. Prints TAP; exit 0 if all tests pass. ONLY=TEXT and TIMES=1 are as in
# tests/machine.py.
# SPDX-License-Identifier: MIT
import collections
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import I915, Machine, Skip, as_root, check, dump, eq, make_node, ns, strict, wait_asleep  # noqa: E402

TESTS = []
QUIET = 250     # the documented limit: system calls of a quiet sample with 150 clients


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


# --- machines with many descriptors ---------------------------------------------------------------

class Crowd:
    """Processes with PIDs from 1000, and clients with ids from 1; each client is one descriptor of
    a real node."""

    def __init__(self, m, processes, descriptors, clients):
        as_root()
        m.device("i915", I915)
        self.m, self.processes, self.clients = m, processes, 0
        self.descriptors = collections.Counter()
        self.node = make_node(m, "node", 226, 128)
        for i in range(processes):
            self.process(1000 + i, descriptors // processes)
        for i in range(clients):
            self.client(1000 + i * 7 % processes)

    def process(self, pid, descriptors=0):
        self.m.process(pid)
        self.others(pid, descriptors)

    def others(self, pid, n):
        """Adds n descriptors that are not clients."""
        folder = os.open(self.m.path(f"proc/{pid}/fd"), os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(n):
            os.symlink("/dev/null", str(self.descriptors[pid]), dir_fd=folder)
            self.descriptors[pid] += 1
        os.close(folder)

    def client(self, pid):
        self.clients += 1
        fd = self.descriptors[pid]
        self.descriptors[pid] += 1
        # fdinfo comes first: a sample between the two writes finds no client, as on a real kernel
        self.m.write(f"proc/{pid}/fdinfo/{fd}", dump("i915", self.clients, *ns(render=10**9), pdev=I915))
        os.link(self.node, self.m.path(f"proc/{pid}/fd/{fd}"))
        return self.clients

    def holders(self):
        return len({p for p in range(1000, 1000 + self.processes)
                    if os.listdir(self.m.path(f"proc/{p}/fdinfo"))})


# --- counts of system calls -----------------------------------------------------------------------

CALL = re.compile(r"^(?:\d+ +)?([a-z_0-9]+)\(", re.M)


def needs_strace():
    if not shutil.which("strace"):
        raise Skip("the package strace is missing")


def calls_of(args):
    """Traces a whole run. Returns its exit code, the number of each system call, and the process."""
    needs_strace()
    log = args[0]
    p = subprocess.run(["strace", "-f", "-qq", "-o", log, machine.PROG, *args[1:]], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False)
    with open(log, encoding="utf-8", errors="replace") as f:
        return p.returncode, collections.Counter(CALL.findall(f.read())), p


def per_sample(m, *args, samples=3, interval=0.2):
    """Returns the number of each system call in the most expensive of some quiet samples, which are
    traced after the full scan."""
    needs_strace()
    log = m.path("strace.log")
    p = subprocess.Popen([machine.PROG, *args, *m.roots(), str(interval)], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    try:
        wait_asleep(p.pid)
        time.sleep(2 * interval)
        tracer = subprocess.Popen(["strace", "-qq", "-p", str(p.pid), "-o", log], stderr=subprocess.PIPE)
        until, found = time.monotonic() + 120, []
        while len(found) < samples + 2:
            if tracer.poll() is not None:
                raise Skip(f"strace: {tracer.stderr.read()[-80:]!r}")
            check(time.monotonic() < until, f"{len(found)} samples in 120 s")
            time.sleep(interval)
            with open(log, encoding="utf-8", errors="replace") as f:
                found = re.split(r"^(?:clock_nanosleep\w*|restart_syscall)\(.*\n", f.read(), flags=re.M)
        tracer.terminate()
        tracer.wait()
    finally:
        p.terminate()
        p.wait()
    each = [collections.Counter(CALL.findall(s)) for s in found[1:-1]]
    return max(each, key=lambda c: c.total())


def say(c):
    return f"{c.total()} calls: " + " ".join(f"{n} {k}" for k, n in c.most_common(8))


def tell(text):
    if os.environ.get("TIMES"):
        print(f"# {text}", file=sys.stderr)


def show(what, c):
    tell(f"{what}: {say(c)}")


# --- a run, sample by sample ----------------------------------------------------------------------

class Steps:
    """Takes one sample per step(), which returns the records by client id; step_all() also returns
    records without an id."""

    def __init__(self, m, *args):
        # -v prints the bound on standard error at the end
        self.p = subprocess.Popen([machine.PROG, "clients", "-v", "-o", "json", "-1", "--on-stdin", "-c", "100000", *args,
                                   *m.roots()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_asleep(self.p.pid)

    def step_all(self):
        self.p.stdin.write(b"\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        check(line, "the run has ended")
        recs = strict(line)
        return recs if isinstance(recs, list) else [recs]

    def step(self):
        return {r["client"]: r for r in self.step_all()}

    def until(self, client, holds=lambda r: True):
        """Returns the number of samples until the client has a record for which holds() is true."""
        until = time.monotonic() + 120
        n = 1
        while not any(holds(r) for c, r in self.step().items() if c == client):
            n += 1
            check(time.monotonic() < until, f"not within {n} samples")
        return n

    def end(self):
        """Ends the run. Returns the bound that -v prints, in samples, or None."""
        self.p.stdin.close()
        err = self.p.stderr.read().decode()
        self.p.stdout.close()
        self.p.stderr.close()
        eq(self.p.wait(timeout=60), 0, f"exit code ({err!r})")
        m = re.search(r"in at most (\d+) samples?", err)
        return int(m.group(1)) if m else None


# --- system calls of a sample --------------------------------------------------------------------------

@test("150 clients: a quiet sample takes at most 250 calls with 12 500 descriptors, 20 % more with 100 000",
      slow=True)
def _(m):
    got = []
    for name, processes, descriptors in (("small", 505, 12500), ("large", 5000, 100000)):
        os.mkdir(m.path(name))
        other = Machine(m.path(name))
        Crowd(other, processes, descriptors, 150)
        got.append(per_sample(other, "--sweep", "80"))  # a fixed budget, as strace slows the program down
        show(f"{processes} processes, {descriptors} descriptors", got[-1])
        check(got[-1].total() <= QUIET, f"{processes} processes: {say(got[-1])}")
    check(got[1].total() <= 1.2 * got[0].total(), " and ".join(say(c) for c in got))


@test("10 000 clients: a sample takes one system call per client, plus the budget of the rescan", slow=True)
def _(m):
    got = []
    for name, clients in (("few", 1000), ("many", 10000)):
        os.mkdir(m.path(name))
        other = Machine(m.path(name))
        Crowd(other, 505, 2000, clients)
        got.append(per_sample(other, "--sweep", "80"))
        show(f"{clients} clients", got[-1])
        check(got[-1].total() <= clients + QUIET - 150, say(got[-1]))


@test("a one-shot run does a full scan, then reads only the clients", slow=True)
def _(m):
    processes, descriptors, clients = 300, 9000, 60
    crowd = Crowd(m, processes, descriptors, clients)
    code, raw, p = calls_of([m.path("log"), "-r", *m.roots()])
    eq(code, 0, f"exit code ({p.stderr!r})")
    code, twice, p = calls_of([m.path("log"), "-w", "0.05", *m.roots()])
    eq(code, 0, f"exit code ({p.stderr!r})")
    show("-r", raw)
    show("-w", twice)
    # per process: open, getdents (twice) and close of fd/; one stat per descriptor
    walk = 4 * processes + descriptors + clients
    # per client: open and read (twice) of its fdinfo; per holder: stat, comm and cgroup
    first = 3 * clients + 9 * crowd.holders()
    check(raw.total() <= walk + first + 150, f"{say(raw)}; the scan of /proc takes {walk}, the clients {first}")
    check(twice.total() <= raw.total() + clients + 30, f"two readings: {say(twice)}; one reading: {say(raw)}")


@test("without a device in /sys, /proc is not scanned, unless --proc is used")
def _(m):
    def processes_seen(*args):
        needs_strace()
        subprocess.run(["strace", "-f", "-qq", "-y", "-e", "trace=openat", "-o", log, machine.PROG, *args], timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with open(log, encoding="utf-8", errors="replace") as f:
            return len(re.findall(r'"(?:/proc/)?\d+/fd"', f.read()))

    log = m.path("log")
    for args in (["-w", "0.05"], ["clients", "-w", "0.05"], ["0.05", "2"], ["clients", "0.05", "2"]):
        eq(processes_seen(*args, "--sys", m.sys), 0, f"processes read by {args}")
    m.process(10)
    check(processes_seen("-w", "0.05", *m.roots()) > 0, "with --proc no process was read")
    m.device("i915", I915)
    check(processes_seen("-w", "0.05", "--sys", m.sys) > 0, "with a device no process was read")


# --- the rescan -----------------------------------------------------------------------------------

@test("--sweep 0 reads only the clients, N adds up to N system calls, all rescans every process", slow=True)
def _(m):
    Crowd(m, 300, 9000, 60)
    none = per_sample(m, "--sweep", "0")
    show("none", none)
    check(none.total() <= 60 + 30, f"none: {say(none)}")
    for n in (10, 200, 1000):
        c = per_sample(m, "--sweep", str(n))
        show(str(n), c)
        check(n // 2 <= c.total() - none.total() <= n + 5, f"--sweep {n}: {say(c)}; 0: {say(none)}")
    c = per_sample(m, "--sweep", "all")
    check(c.total() > 9000, f"all: {say(c)}")


@test("--sweep all: descriptors of further holders are replaced by other clients")
def _(m):
    def put(pid, client):
        m.write(f"proc/{pid}/fdinfo/700", dump("i915", client, *ns(render=10**9), pdev=I915))

    crowd = Crowd(m, 4, 8, 1)
    passed = (1001, 1002)  # two holders: at least one of them is not the first that is read
    for pid in passed:
        put(pid, 1)
        os.link(crowd.node, m.path(f"proc/{pid}/fd/700"))
    s = Steps(m, "--sweep", "all")
    eq(sorted(s.step()[1]["pids"]), [1000, *passed], "its holders")
    for client, pid in enumerate(passed, 2):
        m.write(f"proc/{pid}/fdinfo/700", "")  # if a reader has it open, it becomes empty as the kernel's file of a closed descriptor
        os.unlink(m.path(f"proc/{pid}/fdinfo/700"))
        put(pid, client)
    recs = s.step()
    eq({c: r["pids"] for c, r in recs.items()}, {1: [1000], 2: [1001], 3: [1002]}, "clients and their holders")
    s.end()


@test("--sweep 0: a client without fdinfo keys ends with its process, even with many descriptors")
def _(m):
    as_root()
    m.device("nvidia", "0000:01:00.0")
    node = make_node(m, "node", 195, 0)
    for pid, n in ((1000, 8), (1001, 1)):
        m.process(pid)
        for fd in range(n):
            os.link(node, m.path(f"proc/{pid}/fd/{fd}"))
    s = Steps(m, "--sweep", "0")
    eq(len(s.step_all()), 2, "clients")
    m.gone(1000)
    eq([r["pid"] for r in s.step_all()], [1001], "remaining processes")
    s.end()


@test("a client that inotify does not report: never found with --sweep 0, in the next sample with --sweep all")
def _(m):
    crowd = Crowd(m, 60, 600, 3)
    s = Steps(m, "--sweep", "0")
    s.step()
    late = crowd.client(1030)
    for _ in range(30):
        check(late not in s.step(), "found")
    check(s.end() is None, "-v states a bound")
    s = Steps(m, "--sweep", "all")
    s.step()
    late = crowd.client(1040)
    check(late in s.step(), "not found")
    s.end()


@test("the rescan finds a new client of any process within the number of samples that -v prints", slow=True)
def _(m):
    crowd = Crowd(m, 200, 6000, 20)
    crowd.process(900, 0)
    crowd.process(5000, 3000)  # many descriptors: the budget of a rescan ends within this process
    for calls in (20, 80, 500):
        s = Steps(m, "--sweep", str(calls))
        found = []
        for k, pid in enumerate((1000, 1100, 1199, 900, 5000, 6000 + calls, 700 + calls % 97)):
            if pid not in crowd.descriptors:
                crowd.process(pid, 5)
            for _ in range(3 * k):  # varies the position of the rescan
                s.step()
            found.append(s.until(crowd.client(pid)))
        bound = s.end()
        check(bound, "-v states no bound")
        tell(f"--sweep {calls}: found after {found} samples, stated {bound}")
        check(max(found) <= bound, f"--sweep {calls}: found after {found} samples, not within {bound}")


@test("the rescan finds further holders of a client, and a new name of a process, within the bound", slow=True)
def _(m):
    crowd = Crowd(m, 100, 2000, 10)
    s = Steps(m, "--sweep", "40")
    s.step()
    # a passed descriptor, which inotify does not report
    m.write("proc/1090/fdinfo/700", dump("i915", 1, *ns(render=10**9), pdev=I915))
    os.link(crowd.node, m.path("proc/1090/fd/700"))
    n = s.until(1, lambda r: 1090 in r["pids"])
    eq(len(s.step()), 10, "clients")
    bound = s.end()
    check(bound and n <= bound, f"found after {n} samples, not within {bound}")
    steps = [None, lambda: m.write("proc/1000/comm", "other\n"), *[None] * (60 + bound)]
    got = m.procs("--sweep", "40", steps=steps, interval=0.1)
    found = [k for k, recs in enumerate(got) if recs[1]["comm"] == "other"]
    check(found and found[0] <= 1 + 50 + bound, f"a name is read again every 5 s, and within the bound of {bound} samples: {found[:1]}")


@test("a tree that takes fewer than 80 system calls is rescanned completely in each sample")
def _(m):
    crowd = Crowd(m, 4, 20, 1)
    s = Steps(m, "--sweep", "80")  # a fixed budget: a busy machine would reach the time limit
    s.step()
    for pid in (1003, 1000, 2000):
        if pid not in crowd.descriptors:
            crowd.process(pid, 2)
        eq(s.until(crowd.client(pid)), 1, f"samples until that of {pid} is found")
    s.end()


@test("--proc: opening a node in /dev/dri of the tree causes a rescan")
def _(m):
    crowd = Crowd(m, 30, 300, 2)
    crowd.process(1, 3)
    node = m.write("proc/1/root/dev/dri/renderD128", "")
    s = Steps(m, "--sweep", "0")
    s.step()
    late = crowd.client(1020)
    check(late not in s.step(), "found although inotify reported nothing")
    with open(node, "rb"):
        pass
    eq(s.until(late), 1, "samples until it is found")
    s.end()


@test("a new process is found while a changed process with many descriptors is due", slow=True)
def _(m):
    crowd = Crowd(m, 200, 6000, 20)
    crowd.process(5000, 6000)
    s = Steps(m, "--sweep", "80")
    s.step()
    # a new fd/ folder, as after PID reuse: the whole process is due for a rescan
    os.rename(m.path("proc/5000/fd"), m.path("old"))
    shutil.copytree(m.path("old"), m.path("proc/5000/fd"), symlinks=True)
    for _ in range(60):
        s.step()
    crowd.process(900, 5)
    n = s.until(crowd.client(900))
    tell(f"found after {n} samples")
    check(n < 60, f"found after {n} samples")
    s.end()


@test("after an open, on a kernel that does not count descriptors: 4096 calls in a sample, the rest in the next ones", slow=True)
def _(m):
    needs_strace()
    crowd = Crowd(m, 100, 20000, 20)
    crowd.process(1, 3)
    node = m.write("proc/1/root/dev/dri/renderD128", "")
    p = subprocess.Popen(["strace", "-qq", "-o", m.path("log"), machine.PROG, "clients", "-o", "json", "-1", "--sweep", "0",
                          "--on-stdin", *m.roots()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def step():
        p.stdin.write(b"\n")
        p.stdin.flush()
        return {r["client"] for r in strict(p.stdout.readline())}

    step()
    late = {crowd.client(pid) for pid in (1000, 1050, 1099)}
    with open(node, "rb"):
        pass
    n = 1
    while not late <= step():
        n += 1
        check(n < 20, "not found")
    p.stdin.close()
    p.wait(timeout=60)
    with open(m.path("log"), encoding="utf-8", errors="replace") as f:
        each = [collections.Counter(CALL.findall(t)) for t in re.split(r"^read\(0,.*\n", f.read(), flags=re.M)[2:-1]]
    for c in each:
        show("a sample", c)
    most = max(each, key=lambda c: c.total())
    check(3 < n <= 6, f"found after {n} samples")
    check(most.total() <= 4096 + 250, say(most))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_steady.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
