#!/usr/bin/env python3
# t_sample_symbols.py PROG - tests the symbols and call chains of `gpustat sample`: symbols of each
# kind of binary and of the kernel are compared with nm and kallsyms, the callers of a known program
# are found, and folded stacks are compared with perf script. Prints TAP. ONLY=TEXT and TIMES=1 are
# as in tests/machine.py.
# SPDX-License-Identifier: MIT
import bisect
import collections
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import Skip, check, eq, needs_breakpoints, strict  # noqa: E402
from samplelib import (BOTH, base, build, has_perf, here, loads, main, nm,  # noqa: E402
                       perf_script, perfdata, sample, test, work, written)


# --- symbols of nm ---------------------------------------------------------------------------------

def debug_file(path):
    """Returns the debug file of a file, found by its build ID; /dev/null if there is none."""
    notes = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    found = re.search(rb"Build ID: ([0-9a-f]{2})([0-9a-f]+)", notes)
    name = f"/usr/lib/debug/.build-id/{found[1].decode()}/{found[2].decode()}.debug" if found else ""
    return name if os.path.exists(name) else "/dev/null"


class Truth:
    """The symbols that nm prints for the addresses of a process, from /proc/PID/maps. files: the
    files with a path that has changed."""

    def __init__(self, maps, files=None):
        self.maps, self.files, self.cache = [], files or {}, {}
        for line in maps.splitlines():
            m = re.match(rb"(\w+)-(\w+) ..(.). (\w+) \S+ (\d+) *(.*)", line)
            if m and m[3] == b"x":
                self.maps.append((int(m[1], 16), int(m[2], 16), int(m[4], 16), m[6]))

    def names(self, ip):
        """Returns {name+offset: sure}, empty if nm has no symbol; None if the file is unknown."""
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
            syms = sorted(nm(name) + nm(name, "-D") + nm(debug_file(name)))
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


# --- symbols --------------------------------------------------------------------------------------

def check_symbols(recs, truth, want=(), know=True):
    """Checks that each name is one that nm has for the address, and if know is true, that each
    address has a name if nm is sure of one."""
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
                check(symbol in names or "@plt+" in symbol, f"{ip} of {r['module']} is {symbol}; nm has {sorted(names)}")
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
    test(f"symbols: {_kind}: equal those of nm")(symbols_of(_kind, _flags, _want, _strip))


@test("symbols: found in a binary that is deleted, or replaced by another, while it runs")
def _(m):
    here()
    src, other = work(), build("pie", ["-pie", "-fPIE"])
    path, new = m.path("gone"), m.path("new")
    machine.copy_program(src, path)
    s = sample(["-F", "2000"], [path, "symbols", "60", path])
    check(not os.path.exists(path), "still there")
    files = {os.fsencode(path): os.fsencode(src)}
    check_symbols(s.recs, Truth(s.out, files), know=False)
    machine.copy_program(src, path)
    machine.copy_program(other, new)
    s = sample(["-F", "2000"], [path, "symbols", "60", path, new])
    check_symbols(s.recs, Truth(s.out, files), know=False)


@test("symbols: found in a file with blanks and arbitrary bytes in its path")
def _(m):
    here()
    for name in (b"two words", b"new\nline", b"\xff\xfe;%s$(id)", b"(deleted)", b"x (deleted)", b"[vdso]", b"%2F",
                 b"tab\there", b"-e"):
        folder = os.path.join(os.fsencode(m.base), b"odd " + name)
        os.mkdir(folder)
        path = os.path.join(folder, name)
        machine.copy_program(work(), path)
        s = sample(["-F", "2000"], [path, "symbols", "40"])
        got = collections.Counter(base(r["symbol"]) for r in s.recs)
        check(got["burn"] > 5 and got["burn_static"] > 5, f"{name!r}: {got}")
        modules = {r["module"] for r in s.recs if base(r["symbol"]) == "burn"}
        # the kernel writes a newline as \012 in some files; all of these are valid
        right = {machine.as_json(path), machine.as_text(path), machine.as_json(path.replace(b"\n", b"\\012"))}
        check(modules <= right, f"module {modules} of {path!r}")


@test("symbols: those of the kernel equal kallsyms")
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


@test("symbols: those of the kernel are null if the kernel hides them")
def _(m):
    here()
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) < 2:
            raise Skip("kernel.perf_event_paranoid shows the symbols to all")
    r = subprocess.run(["setpriv", "--bounding-set=-syslog", machine.PROG, "sample", "-F", "2000", "-e", "cpu-clock:k",
                        "-ojson", "-v", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=10000",
                        "status=none"], capture_output=True, timeout=60, check=False)
    lines = r.stderr.splitlines()
    recs = [strict(x) for x in lines if x.startswith(b"{")]
    check(len(recs) > 5, f"{len(recs)} samples: {lines[-3:]}")
    eq({x["symbol"] for x in recs}, {None}, "names")
    check(any(b"kptr_restrict" in x for x in lines), f"no message about kptr_restrict with -v: {lines[-2:]}")


@test("symbols: found in a library that is loaded at the address of an earlier one")
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


@test("symbols and comm are right after exec by a thread, and for threads that started before the run")
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
        machine.until("its threads", lambda: len(os.listdir(f"/proc/{p.pid}/task")) == 3)
        s = sample(["-F", "1000", "-p", str(p.pid), "--timeout", "1000", "-e", "cpu-clock:u"])
        p.communicate(timeout=60)
    got = collections.Counter((r["pid"], r["comm"]) for r in s.recs)
    check({p.pid} == {pid for pid, _c in got}, f"processes {got}")
    check(got[p.pid, "thread one"] and got[p.pid, "thread two"] and got[p.pid, "work"], f"comms {got}")


# --- call chains ----------------------------------------------------------------------------------

def outer(chain):
    return [base(f) for f in chain]


@test("-g: the known callers of a function, innermost first")
def _(m):
    here()
    event = written()
    s = sample(["-e", event, "--sample-period", "1", "-g"], [work(), "stack", "100", "10"])
    eq(len(s.recs), 125, "samples")
    paths = collections.Counter(tuple(outer(r["callchain"])[:3]) for r in s.recs)
    eq(paths, {("level_b", "level_a", "main"): 100, ("level_b", "other_a", "main"): 25}, "callers")
    eq({base(r["symbol"]) for r in s.recs}, {"level_c"}, "where")
    top = {re.sub(r".*\+", "", r["callchain"][0]) for r in s.recs}
    eq(len(top), 1, f"return addresses {top} in level_b")


SPINS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static __attribute__((noinline, noclone)) void hidden_spin(long n) { for (volatile long i = 0; i < n; i++) ; }
int main(int argc, char **argv)
{
	struct timespec t, begun;
	volatile int sum = 1;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	char *code = NULL, name[64];
	if (!strcmp(argv[1], "jit")) { /* a copy of hidden_spin at an address of its own */
		code = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(code, (char *)hidden_spin, 256);
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
		FILE *f = fopen(name, "wx");
		if (!f) return 1;
		fprintf(f, "%lx %x spin of %d\n", (long)code, 256, (int)getpid());
		fclose(f);
	}
	if (argc > 2) unlink(argv[2]);
	puts("ready"), fflush(stdout);
	do {
		for (long i = 0; i < 20000; i++)
			if (code) ((void (*)(long))code)(30);
			else if (*argv[1] == 'v') clock_gettime(CLOCK_MONOTONIC, &t);
			else if (*argv[1] == 'p') sum += abs((int)i);
			else hidden_spin(30);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((t.tv_sec - begun.tv_sec) * 1000 + (t.tv_nsec - begun.tv_nsec) / 1000000 < 300);
	return 0;
}
"""


def spins(m, *flags):
    """Builds a program to sample other kinds of code. Returns its path."""
    if not shutil.which("gcc"):
        raise Skip("no gcc")
    source, path = m.path("spins.c"), m.path("spins")
    with open(source, "w", encoding="ascii") as f:
        f.write(SPINS)
    subprocess.run(["gcc", "-O1", "-w", "-fno-builtin", *flags, "-o", path, source], check=True, timeout=60)
    return path


def found(path, *args, run=()):
    """Samples the program. Returns the number of samples by (name, module)."""
    s = sample(["-F", "2000", "-e", "cpu-clock:u"], [*run, path, *args])
    return collections.Counter((base(r["symbol"]), r["module"]) for r in s.recs)


@test("symbols: those of the vDSO are found")
def _(m):
    here()
    got = found(spins(m), "vdso")
    check(got["clock_gettime", "[vdso]"] > 0 or not any(k[1] == "[vdso]" for k in got), f"vDSO: {got.most_common(8)}")


@test("symbols: of the PLT")
def _(m):
    here()
    needs_breakpoints()
    path = spins(m, "-Wl,-z,lazy", "-no-pie")
    code = subprocess.run(["objdump", "-d", path], capture_output=True, timeout=60, check=True).stdout
    entry = re.search(rb"^0*([0-9a-f]+) <abs@plt>:$", code, re.M)
    check(entry, "objdump finds no abs@plt")
    s = sample(["-e", f"mem:0x{entry[1].decode()}:x:u", "--sample-period", "1000"], [path, "plt"])
    eq({(r["symbol"], r["module"]) for r in s.recs}, {("abs@plt", path)}, "where abs() is called")


@test("symbols: those of generated code are found in perf-PID.map of the process's user")
def _(m):
    here()
    path = spins(m)
    got = found(path, "jit")
    names = [k for k in got if k[0] and k[0].startswith("spin of ")]
    eq(len(names), 1, f"names {got.most_common(8)}")
    eq(names[0][1], f"/tmp/perf-{names[0][0].split()[-1]}.map", "its module is the map")
    check(got[names[0]] > 50, f"samples: {got.most_common(8)}")
    os.unlink(names[0][1])


@test("symbols: found in a file that was deleted before the run")
def _(m):
    here()
    path = spins(m)
    with subprocess.Popen([path, "burn", path], stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        check(not os.path.exists(path), "the file still exists")
        s = sample(["-F", "2000", "-e", "cpu-clock:u", "-p", str(p.pid)])
        p.wait()
    got = collections.Counter(base(r["symbol"]) for r in s.recs if r["module"] == path + " (deleted)")
    check(not s.recs or got["hidden_spin"] > 0, f"{got}")


@test("symbols: those of a stripped file are found by its build ID or its debug link")
def _(m):
    here()
    if not shutil.which("objcopy"):
        raise Skip("no objcopy")
    for kind, flags in (("build ID", ["-Wl,--build-id"]), ("CRC", ["-Wl,--build-id=none"])):
        path = spins(m, *flags)
        debug = os.path.join(os.path.dirname(path), ".debug", "spins.debug")
        os.makedirs(os.path.dirname(debug), exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True, timeout=60)
        subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink", debug, path], check=True, timeout=60)
        got = found(path, "burn")
        check(got["hidden_spin", path] > 50, f"{kind}: {got.most_common(5)}")
        if kind == "CRC":
            with open(debug, "ab") as f:
                f.write(b"x")
            eq(found(path, "burn")["hidden_spin", path], 0, "names of a debug file of another program")


@test("symbols: in a PID namespace, tasks outside of it have no symbols and no comm")
def _(m):
    here()
    if not shutil.which("unshare"):
        raise Skip("no unshare")
    with subprocess.Popen([work(), "burn", "600000"], stdout=subprocess.DEVNULL) as p:
        try:
            machine.until_it_ran(p.pid, 0.02)
            r = subprocess.run(["unshare", "-p", "-m", "-f", "--mount-proc", machine.PROG, "sample", "-a", "-F", "200", "-e",
                                "cpu-clock", "-o", "json", "--timeout", "500ms"], capture_output=True, timeout=60, check=False)
        finally:
            p.kill()
    if b"unshare" in r.stderr:
        raise Skip("no PID namespaces here")
    recs = [strict(x) for x in r.stdout.splitlines()]
    others = [x for x in recs if x["tid"] == 0]
    check(others, f"no samples of tasks outside: {r.stderr}")
    eq({x["comm"] for x in others}, {None}, "names of tasks")
    eq({x["symbol"] for x in others if x["mode"] == "user"} - {None}, set(), "names of their functions")


@test("-C: symbols of a task that executes another program on another CPU")
def _(m):
    here()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("needs two CPUs")
    path = m.path("renamed")
    machine.copy_program(work(), path)
    script = f"""
import os, sys
os.sched_setaffinity(0, [{cpus[0]}])
sum(range(3000000))
os.sched_setaffinity(0, [{cpus[1]}])
os.execvp("sh", ["sh", "-c", "read x </proc/self/stat; exec taskset -c {cpus[0]} {path} burn 200"])
"""
    if not shutil.which("taskset"):
        raise Skip("no taskset")
    s = sample(["-C", str(cpus[0]), "-F", "1000", "-e", "cpu-clock"], [sys.executable, "-c", script])
    mine = [r for r in s.recs if r["module"] == path]
    check(len(mine) > 20, f"{len(mine)} samples of the program")
    eq({r["comm"] for r in mine}, {"renamed"}, "its name")
    check(sum(base(r["symbol"]) == "burn" for r in mine) > 20, "its functions")


@test("-g: chains of samples by time are complete")
def _(m):
    here()
    s = sample(["-F", "2000", "-g", "-e", "cpu-clock:u"], [work(), "stack", "400", "400000"])
    deep = [r for r in s.recs if base(r["symbol"]) == "level_c"]
    check(len(deep) > 30, f"{len(deep)} of {len(s.recs)} in level_c")
    good = sum(outer(r["callchain"])[:3] in (["level_b", "level_a", "main"],
                                             ["level_b", "other_a", "main"]) for r in deep)
    # in the first and last instructions of a function there is no frame, and a caller is missing
    check(good >= 0.95 * len(deep), f"{good} of {len(deep)} are whole")


FOLDED = re.compile(rb"[^; \n][^;\n]*(;[^;\n]+)* [1-9][0-9]*")


def folded(text):
    """Returns {stack: count}; checks that each line has the form that flamegraph.pl reads."""
    got = collections.Counter()
    for line in text.split(b"\n")[:-1]:
        check(FOLDED.fullmatch(line), f"not a folded line: {line!r}")
        line.decode("utf-8")
        check(not re.search(rb"[\x00-\x1f\x7f]", line), f"control characters: {line!r}")
        stack, n = line.rsplit(b" ", 1)
        check(stack not in got, f"twice: {line!r}")
        got[stack] = int(n)
    return got


@test("folded: the stacks of a known program")
def _(m):
    here()
    event = written()
    args = ["-e", event, "--sample-period", "1", "-g"]
    got = folded(sample(args, [work(), "stack", "100", "10"], "folded").text)
    tails = collections.Counter()
    for stack, n in got.items():
        check(stack.startswith(b"work;"), f"begins with the comm: {stack}")
        tails[stack[stack.index(b";main;"):]] += n
    eq(tails, {b";main;level_a;level_b;level_c": 100, b";main;other_a;level_b;level_c": 25}, "stacks")


@test("folded: a comm with special characters does not break a line")
def _(m):
    here()
    for name in ("a;b", "new\nline", " lead trail ", "\udcff\udcfe", "x 12", ";", "tab\tx", "\x1b[31m", ""):
        got = folded(sample(["-F", "1000", "-g"], [work(), "phases", "30", name], "folded").text)
        eq(any(s.split(b";")[-1] == b"second_phase" for s in got), True,
           f"second_phase below {name!r}: {list(got)[:3]}")


@test("folded: equals the output of perf script, folded by the test")
def _(m):
    has_perf()
    event = written()
    args = ["-e", event, "--sample-period", "1", "-g"]
    path = m.path("perf.data")
    perfdata(args, [work(), "stack", "100", "10"], path)
    want = collections.Counter()
    for block in perf_script(path, "-F", "comm,ip,sym").strip().split("\n\n"):
        lines = block.splitlines()
        frames = [x.split(None, 1)[1].strip() for x in lines[1:]]
        want[";".join([lines[0].strip(), *reversed(frames)])] += 1
    got = folded(sample(args, [work(), "stack", "100", "10"], "folded").text)  # symbols of perf have no suffix _[k]
    cut = {re.sub(r"^(\w+).*?;main", r"\1;main", k): n for k, n in want.items()}
    mine = {re.sub(r"^(\w+).*?;main", r"\1;main", k.decode()): n for k, n in got.items()}
    eq(mine, cut, "stacks")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_sample_symbols.py PROG")
    sys.exit(main(sys.argv[1]))
