#!/usr/bin/env python3
# t_check.py PROG - gpustat check, against the rules of monitoring plugins and the programs that read them, and
# --enable-profiling at every way out. Machines made of files, as in t_edges.py. Prints TAP; exit 0 iff all is well.
# SPDX-License-Identifier: MIT
import fcntl
import itertools
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import t_edges as edges  # noqa: E402
from t_edges import AMD, I915, TREES, Skip, as_root, check, dump, eq, ns, one_client, rewrite, run  # noqa: E402

TESTS = []
STATES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"]
NEGATE = "/usr/lib/nagios/plugins/negate"


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def ask(m, *args, window="1ms", **kw):
    """(exit code, text, perfdata) of one line that is as plugins' must be."""
    r = run(["check", "--window", window, *args, *m.roots()], **kw)
    eq(r.err, b"", "stderr")
    text = r.out.decode("ascii")
    check(text.endswith("\n") and text.count("\n") == 1 and len(text) <= 4096, f"one line: {text!r}")
    check(text.count("|") <= 1, f"more than one |: {text!r}")
    head, _, perf = text[:-1].partition("|")
    state = re.match(r"GPU (OK|WARNING|CRITICAL|UNKNOWN) - \S", head)
    check(state, f"no state: {head!r}")
    eq(r.code, STATES.index(state.group(1)), f"exit code of {text!r}")
    return r.code, head[state.end() - 1:].strip(), perf.strip()


def metrics(perf):
    """label -> (value, unit, warning, critical, min, max), each once."""
    found = {}
    for label, v, uom, rest in re.findall(r"'([^'=|]{1,19})'=(-?[0-9.]+)([^;\s]*)((?:;[^;\s]*)*)(?:\s|$)", perf):
        check(label not in found, f"label {label} twice")
        check(uom in ("", "s", "ms", "us", "%", "B", "c"), f"unit {uom}")
        found[label] = (Decimal(v), uom, *(rest[1:].split(";") if rest else []))
    eq(len(found), perf.count("'") // 2, f"labels of {perf!r}")
    return found


def warm(m, milli="45000", driver="amdgpu"):
    m.device(driver, AMD, files={"hwmon/hwmon0/name": "amdgpu\n", "hwmon/hwmon0/temp1_input": f"{milli}\n",
                                 "hwmon/hwmon0/temp1_label": "edge\n"})
    return m


# --- ranges -----------------------------------------------------------------------------------------------------

def oracle(text, value):
    """The guidelines' words: whether to raise an alert. None: no range."""
    n = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    f = re.fullmatch(rf"(@?)(?:(~|{n})?(:))?({n})?", text)
    if not f or (not f.group(3) and not f.group(4)):
        return None
    low = None if f.group(2) == "~" else Decimal(f.group(2) or 0)
    high = Decimal(f.group(4)) if f.group(4) else None
    if low is not None and high is not None and low > high:
        return None
    inside = (low is None or value >= low) and (high is None or value <= high)
    return inside == bool(f.group(1))


EDGES = ["", "~", "-10.5", "-10", "0", "9.999", "10", "+10.0", "10.001", ".5", "20", "20.", "18446744073709551615"]
VALUES = ["-10501", "-10500", "-10000", "-1", "0", "499", "500", "9999", "10000", "10001", "20000", "20001"]
BAD = ["", "~", "@", "@~", "a", "10:a", "10%", "1e3", "0x10", "--1", "1:2:3", "20:10", "10 ", " 10", ".", "-", "1..2", "1,5,",
       "99999999999999999999", "∞", "@@10", "10:~", "nan", "inf"]


def all_ranges():
    plain = [f"{a}:{b}" for a, b in itertools.product(EDGES, EDGES)] + EDGES
    return plain + ["@" + r for r in plain]


@test("ranges: every form and its edges, against an oracle")
def _(m):
    machines = []
    for v in VALUES:
        base = m.path(f"m{v}")
        os.mkdir(base)
        machines.append((Decimal(v) / 1000, warm(edges.Machine(base), v)))
    cases = []
    for i, r in enumerate(all_ranges()):
        # each with two of the values in turn, the short ones with all
        some = machines if len(r) < 5 else [machines[i % len(machines)], machines[i * 7 % len(machines)]]
        cases += [(r, v, k, which) for v, k in some for which in "wc"[i % 2]]

    def one(case):
        r, v, k, which = case
        want = oracle(r, v)
        code, text, _ = ask(k, "-m", "temp", f"-{which}", r)
        alert = 1 if which == "w" else 2
        return None if code == (3 if want is None else alert if want else 0) else f"-{which} {r!r} of {v}: {code} {text}"
    with ThreadPoolExecutor(4) as pool:
        wrong = [w for w in pool.map(one, cases) if w]
    check(len(cases) > 800, f"{len(cases)} cases")
    check(not wrong, f"{len(wrong)} of {len(cases)} wrong: {wrong[:5]}")


@test("ranges that are none: UNKNOWN on stdout")
def _(m):
    warm(m)
    for bad in BAD:
        code, text, perf = ask(m, "-m", "temp", "-w", bad)
        eq((code, perf), (3, ""), f"-w {bad!r}: {text}")


@test("ranges mean what the plugins' own module takes them for")
def _(m):
    if not os.path.exists("/usr/share/perl5/Monitoring/Plugin/Range.pm"):
        raise Skip("package libmonitoring-plugin-perl is missing")
    ranges = [r for r in all_ranges() if re.fullmatch(r"@?(~:|-?[0-9.]*[0-9]:)?-?[0-9]*[0-9.]*[0-9]?", r) and oracle(r, Decimal(1)) is not None
              and not r.endswith(".")]
    script = r"""use Monitoring::Plugin::Range; $| = 1;
        while (<STDIN>) { chomp; my ($t, $v) = split / /; my $r = Monitoring::Plugin::Range->parse_range_string($t);
        print $r ? $r->check_range($v) ? 1 : 0 : "none", "\n"; }"""
    cases = [(r, Decimal(v) / 1000) for r in ranges for v in VALUES]
    out = subprocess.run(["perl", "-e", script], input="".join(f"{r} {v}\n" for r, v in cases).encode(), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True, timeout=60).stdout.decode().split()
    eq(len(out), len(cases), "answers")
    odd = [(r, str(v), o) for (r, v), o in zip(cases, out) if o != "none" and bool(int(o)) != oracle(r, v)]
    check(len(out) - out.count("none") > 500, "the module took too few of them")
    check(not odd, f"{len(odd)} differ: {odd[:5]}")


# --- the line --------------------------------------------------------------------------------------------------

@test("default: busy of each engine; of the device where the kernel has it")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0, copy=0), pdev=I915))
    p = subprocess.Popen([edges.PROG, "check", "-w", "80", "-c", "95", "--window", "0.6", *m.roots()], stdout=subprocess.PIPE)
    edges.wait_asleep(p.pid)
    rewrite(f, dump("i915", 7, *ns(render=int(0.54e9), copy=0), pdev=I915))
    out = p.communicate(timeout=60)[0].decode()
    got = metrics(out.partition("|")[2])
    eq(sorted(got), ["card0 copy", "card0 render"], "labels")
    check(75 <= got["card0 render"][0] <= 91, f"busy: {out!r}")
    eq(got["card0 render"][1:], ("%", "80", "95", "0", "100"), "render's perfdata")
    check(out.startswith("GPU WARNING - card0 render ") if got["card0 render"][0] > 80 else True, out)
    tree = ["--proc", f"{TREES}/amdgpu/proc", "--sys", f"{TREES}/amdgpu/sys"]
    r = run(["check", "-w", "30", "--window", "1ms", *tree])
    eq((r.code, r.out), (1, b"GPU WARNING - card0 busy 37% (warning) | 'card0 busy'=37%;30;;0;100\n"), "amdgpu")


@test("several devices and fields: the worst counts and comes first")
def _(m):
    m.device("amdgpu", AMD, card=0, files={"gpu_busy_percent": "10\n", "mem_info_vram_used": "99\n"})
    m.device("amdgpu", "0000:09:00.0", card=1, render=129, files={"gpu_busy_percent": "96\n", "mem_info_vram_used": "5\n"})
    m.device("amdgpu", "0000:0a:00.0", card=2, render=130, files={"gpu_busy_percent": "85\n"})
    code, text, perf = ask(m, "-w", "80", "-c", "95")
    eq((code, text), (2, "card1 busy 96% (critical), card2 busy 85% (warning), card0 busy 10%"), "worst first")
    eq(list(metrics(perf)), ["card0 busy", "card1 busy", "card2 busy"], "order of perfdata")
    code, text, perf = ask(m, "-w", "80,50", "-m", "busy,vram.used", "-d", "card0")
    eq((code, text), (1, "card0 vram used 99B (warning), card0 busy 10%"), "a range for each field")
    eq(metrics(perf)["card0 vram used"], (99, "B", "50", "", "0"), "bytes")
    eq(ask(m, "-w", ",50", "-m", "busy,vram.used", "-d", "0")[0], 1, "no range for the first")
    eq(ask(m, "-w", "1,2,3", "-m", "busy,temp")[0], 3, "more ranges than fields")
    eq(ask(m, "-c", "90:", "-d", "card1")[0], 0, "-d")


@test("what cannot be checked is UNKNOWN, on stdout, with exit 3")
def _(m):
    for args in ([], ["-w"], ["--bogus"], ["-m", "nonsense"], ["-m", "temp,"], ["-w", "1", "-c"], ["-t", "0"], ["-t", "x"],
                 ["-o", "json"], ["-d", ""], ["extra"], ["1"]):
        eq(ask(m, *args)[0], 3, f"{args}")
    check("no DRM" in ask(m)[1], "no GPU")
    m.device("i915", I915)
    check("there are: card0" in ask(m, "-d", "card7")[1], "no such device")
    check("nothing was measured" in ask(m, "-m", "temp")[1], "nothing measured")
    check("nothing was measured" in ask(m, "-m", "driver")[1], "no number")
    r = run(["check", "--proc", m.path("nowhere"), "--sys", m.sys])
    eq((r.code, r.out[:11], r.err), (3, b"GPU UNKNOWN", b""), "no /proc")
    for flag, text in (("-h", b"gpustat check"), ("-V", b"gpustat ")):
        r = run(["check", flag])
        check(r.code == 3 and text in r.out and not r.err, f"{flag} as plugins do: {r!r}")


@test("processes that may not be read: UNKNOWN, not idle")
def _(m):
    as_root()
    one_client(m)
    m.process(20)
    for d in ("fd", "fdinfo"):
        for p in (10, 20):
            os.chmod(m.path(f"proc/{p}/{d}"), 0)
    code, text, perf = ask(m, nobody=True)
    check((code, perf) == (3, "") and "setcap" in text, f"{code} {text}")
    for d in ("fd", "fdinfo"):  # one's own client is not the device
        os.chmod(m.path(f"proc/10/{d}"), 0o755)
        os.chown(m.path(f"proc/10/{d}"), edges.NOBODY, edges.NOBODY)
    code, text, perf = ask(m, nobody=True)
    check((code, perf) == (3, "") and "setcap" in text, f"with a client of one's own: {code} {text}")
    eq(ask(m)[0], 0, "to root")


@test("nobody uses it: 0 %, which is known where all processes may be read")
def _(m):
    m.device("i915", I915)
    eq(ask(m, "-w", "80"), (0, "card0 no client", ""), "idle")
    eq(ask(m, "-w", "5:")[0], 1, "too idle")
    if os.getuid() == 0:
        m.process(20)
        os.chmod(m.path("proc/20/fd"), 0)
        os.chmod(m.path("proc/20/fdinfo"), 0)
        eq(ask(m, "-w", "80", nobody=True)[0], 3, "not known")
        os.chmod(m.path("proc/20/fd"), 0o700)


@test("hidepid=2: what cannot be seen is not idle")
def _(m):
    sys_ = f"{TREES}/i915/sys"  # which lists its engines
    script = f'sleep 9 & setpriv --reuid {edges.NOBODY} --regid {edges.NOBODY} --clear-groups "$PROG" check --window 1ms --proc "$P" --sys {sys_}'
    r = edges.in_namespace(m, script, hidepid=2)
    check(r.returncode == 3 and b"hidepid" in r.stdout and b"PTRACE" in r.stdout, f"{r}")
    r = edges.in_namespace(m, '"$PROG" check --window 1ms --proc "$P" --sys ' + sys_)
    check(r.returncode == 3 and b"namespace" in r.stdout, f"in a pid namespace: {r}")


@test("one process that refuses where others do not: a device without clients is idle all the same")
def _(m):
    as_root()
    m.device("v3d", I915)
    for p in (10, 20):
        m.process(p)
    for d in ("fd", "fdinfo"):
        os.chmod(m.path(f"proc/20/{d}"), 0)
    eq(ask(m, nobody=True)[:2], (0, "card0 no client"), "10 is another user's, and may be read")


@test("asleep: 0 %, and not woken")
def _(m):
    m.device("xe", I915, state="suspended")
    eq(ask(m, "-w", "80"), (0, "card0 asleep", ""), "asleep")
    eq(ask(m, "-m", "temp")[0], 3, "what only a device that is awake tells")


@test("labels: at most 19 characters, no mark of the format, unique, the same in every run")
def _(m):
    names = ["a" * 40 + "1", "a" * 40 + "2", "x=y", "x_y", "x'y", "x|y", "x;y", "render", "nineteen-19-chars"]
    one_client(m, text=dump("i915", 7, *[f"drm-engine-{n}:\t0 ns" for n in names], pdev=I915))
    got = metrics(ask(m)[2])
    eq(len(got), len(names), f"labels {sorted(got)}")
    for n in names:  # alone it is called what it is called among all
        rewrite(m.path("proc/10/fdinfo/5"), dump("i915", 7, f"drm-engine-{n}:\t0 ns", pdev=I915))
        alone = list(metrics(ask(m)[2]))
        check(alone[0] in got, f"{n}: {alone} alone, not in {sorted(got)}")
    check("card0 render" in got, "a plain name is itself")


@test("4 KB: what has no room is counted")
def _(m):
    one_client(m, text=dump("i915", 7, *[f"drm-engine-engine-number-{i}:\t0 ns" for i in range(120)], pdev=I915))
    code, text, perf = ask(m, "-w", "80", "-c", "90")
    shown = len(metrics(perf))
    eq(code, 0, "exit")
    check(f"; {120 - shown} values had no room" in text and re.search(r"; \d+ more", text), text)


@test("beyond all room values are still checked")
def _(m):
    for i in range(20):
        pdev = f"0000:{i + 1:02x}:00.0"
        m.device("i915", pdev, card=i, render=128 + i)
        m.fd(100 + i, 5, dump("i915", 7, *[f"drm-engine-e{k}:\t0 ns" for k in range(60)], f"drm-engine-capacity-e59:\t{9 if i == 19 else 1}", pdev=pdev),
             link=f"/dev/dri/renderD{128 + i}")
    code, text, perf = ask(m, "-m", "engine.capacity", "-w", "5")
    check(code == 1 and f"; {1200 - len(metrics(perf))} values had no room" in text, f"{code} {text}")
    m.fd(200, 5, dump("i915", 8, *[f"drm-engine-e{k}:\t0 ns" for k in range(700)], pdev="0000:01:00.0"))
    code, text, perf = ask(m, "-d", "card0", "-m", "engine.e0.busy")
    check(len(metrics(perf)) == 1 and re.search("; [0-9]+ values had no room", text), f"beyond the registry's: {text}")


@test("what could not be opened for want of descriptors may be worse: UNKNOWN, unless something is")
def _(_m):
    tree = f"{TREES}/mixed"
    for limit in (6, 7, 8, 10):
        r = run(["check", "--window", "1ms", "--proc", f"{tree}/proc", "--sys", f"{tree}/sys"],
                preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        eq((r.code, b" could not be read: Too many open files (RLIMIT_NOFILE)" in r.out), (3, True), f"{limit} descriptors: {r.out!r}")


@test("a field of -m that nothing has: named, and UNKNOWN unless something worse was found")
def _(m):
    warm(m)
    eq(ask(m, "-m", "temp,fan")[:2], (3, "card0 temp edge 45 C; fan unknown"), "no fan")
    eq(ask(m, "-m", "fan,temp", "-w", ",40")[0], 1, "warm")
    eq(ask(m, "-m", "temp,engine.busy,memory")[0], 0, "sums of clients come and go with them")
    m.device("xe", I915, card=1, render=129, state="suspended")
    eq(ask(m, "-m", "temp,fan")[0], 0, "one asleep may have it")


@test("timeout: UNKNOWN after -t, with the knob put back")
def _(m):
    dev = m.device("panthor", files={"profiling": "0\n"})
    code, text, _ = ask(m, "-t", "0.3", "--enable-profiling", window="3600")
    check(code == 3 and "timeout" in text, f"{code} {text}")
    eq(open(m.path(f"{dev}/profiling"), encoding="ascii").read(), "0\n", "knob")


@test("timeout: also where who started it ignores or blocks its signal, and one below a microsecond")
def _(m):
    m.device("i915", I915)

    def ignored():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)

    def blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    for before, t in ((ignored, "0.2"), (blocked, "0.2"), (None, "100ns")):
        code, text, _ = ask(m, "-t", t, window="3600", preexec_fn=before)
        check(code == 3 and "timeout" in text, f"{before} {t}: {code} {text}")


@test("--state: true averages since the last check, without a window")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    state = m.path("state")
    begun = time.monotonic()
    ask(m, "--state", state)
    check(os.path.exists(state), "no state was left")
    time.sleep(0.5)
    rewrite(f, dump("i915", 7, *ns(render=int(0.25e9)), pdev=I915))
    text = ask(m, "--state", state, "-m", "engine.render.busy", window="3600")[2]
    took = time.monotonic() - begun
    value = metrics(text)["card0 render"][0]
    check(24.9 / took <= value <= 51, f"{text} after {took} s")


@test("perfdata as libmonitoring-plugin-perl reads it")
def _(m):
    if not os.path.exists("/usr/share/perl5/Monitoring/Plugin/Performance.pm"):
        raise Skip("package libmonitoring-plugin-perl is missing")
    script = r"""use Monitoring::Plugin::Performance;
        for (Monitoring::Plugin::Performance->parse_perfstring($ARGV[0]))
        { printf "%s|%s|%s|%s|%s\n", $_->label, $_->value, $_->uom // "", $_->warning // "", $_->critical // ""; }"""
    for tree, args in (("amdgpu", ["-m", "temp,busy,vram,freq,power", "-w", "@10:20,80.5,:1"]), ("i915", ["-w", "~:10", "-c", "10.5"]),
                       ("xe", ["-m", "engine,memory,temp,fan,volt"]), ("nouveau", ["-m", "temp,volt"])):
        r = run(["check", "--window", "1ms", *args, "--proc", f"{TREES}/{tree}/proc", "--sys", f"{TREES}/{tree}/sys"])
        perf = r.out.decode().partition("|")[2].strip()
        want = metrics(perf)
        out = subprocess.run(["perl", "-e", script, perf], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
        got = [line.split("|") for line in out.splitlines()]
        eq([(g[0], Decimal(g[1]), g[2]) for g in got], [(k, v[0], v[1]) for k, v in want.items()], f"{tree}: {perf}")
        check(got, f"{tree}: nothing read")


@test("negate, which runs plugins, takes it for one")
def _(m):
    if not os.path.exists(NEGATE):
        raise Skip("package monitoring-plugins-basic is missing")
    warm(m)
    for want, args in ((2, ["-w", "80"]), (0, ["-c", "40"])):
        r = subprocess.run([NEGATE, edges.PROG, "check", "--window", "1ms", "-m", "temp", *args, *m.roots()], stdout=subprocess.PIPE, timeout=60)
        eq(r.returncode, want, f"exit code of negate: {r.stdout!r}")
        check(r.stdout.startswith(b"GPU "), f"{r.stdout!r}")


def numbers(x):
    if isinstance(x, dict):
        for v in x.values():
            yield from numbers(v)
    elif isinstance(x, (int, float)):
        yield float(x)


@test("every tree: the values of the JSON records, and the state that they give")
def _(_m):
    n = 0
    for tree in sorted(t for t in os.listdir(TREES) if os.path.isdir(f"{TREES}/{t}/sys/class/drm")):
        roots = ["--proc", f"{TREES}/{tree}/proc", "--sys", f"{TREES}/{tree}/sys"]
        recs = edges.parse_json(run(["-w", "1ms", "-o", "json", *roots]).out)
        for field in ("temp", "energy", "fan", "volt", "freq", "vram", "memory", "clients"):
            want = sorted(v for r in recs for v in numbers(r.get(field)))
            r = run(["check", "--window", "1ms", "-m", field, "-w", "~:1.5", "-c", "-5:99", *roots])
            if b"had no room" in r.out:
                continue
            eq(sorted(float(v[0]) for v in metrics(r.out.decode().partition("|")[2]).values()), want, f"{tree} {field}")
            states = [2 if not -5 <= v <= 99 else 1 if v > 1.5 else 0 for v in want]
            eq(r.code, max(states, default=3), f"{tree} {field}: {r.out!r}")
            n += len(want)
    check(n > 200, f"only {n} values")


# --- --enable-profiling -----------------------------------------------------------------------------------------

def board(m, tree):
    """A captured machine, copied; its knob, and options."""
    base = m.path(tree)
    shutil.copytree(os.path.join(TREES, tree), base, symlinks=True)
    knobs = [os.path.join(d, "profiling") for d, _, names in os.walk(f"{base}/sys") if "profiling" in names]
    eq(len(knobs), 1, f"knobs of {tree}")
    return knobs[0], ["--proc", f"{base}/proc", "--sys", f"{base}/sys"]


def knob_is(knob):
    with open(knob, encoding="ascii") as f:
        return f.read()


BOARDS = (("panfrost", "1"), ("panthor", "3"))


@test("a line that cannot be written is no OK")
def _(m):
    for out in ("/dev/full", "&-"):
        line = f'exec "$0" check --window 1ms "$@" >{out}'
        p = subprocess.run(["sh", "-c", line, edges.PROG, *m.roots()], check=False, capture_output=True, timeout=60)
        eq(p.returncode, 3, f"exit code with >{out}")


@test("profiling: on while it runs, and back at the end, in each command")
def _(m):
    for tree, on in BOARDS:
        knob, roots = board(m, tree)
        rewrite(knob, "0\n")
        for cmd in ([], ["procs"], ["cgroups"], ["check"], ["munin"]):
            args = [*cmd, "--enable-profiling", *(["--window"] if cmd in (["check"], ["munin"]) else ["-w"]), "0.4"]
            p = subprocess.Popen([edges.PROG, *args, *roots], stdout=subprocess.DEVNULL)
            edges.wait_asleep(p.pid)
            during = knob_is(knob)
            p.wait(timeout=60)
            eq((during, knob_is(knob)), (f"{on}\n", "0\n"), f"{tree} {cmd}")


@test("profiling: put back at every signal that can be caught, and at failure")
def _(m):
    sigs = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGABRT, signal.SIGSEGV,
            signal.SIGPIPE, signal.SIGALRM, signal.SIGXCPU, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGSYS, signal.SIGBUS, signal.SIGPWR, signal.SIGSTKFLT, signal.SIGRTMIN + 3]
    knob, roots = board(m, "panthor")
    for s in sigs:
        rewrite(knob, "0\n")
        p = subprocess.Popen([edges.PROG, "--enable-profiling", "-w", "30", *roots], stdout=subprocess.DEVNULL)
        edges.wait_asleep(p.pid)
        eq(knob_is(knob), "3\n", f"before {s}")
        p.send_signal(s)
        code = p.wait(timeout=60)
        eq(knob_is(knob), "0\n", f"after {s}")
        eq(code, 0 if s in sigs[:3] else -s, f"exit of {s}")
    with open("/dev/full", "wb") as full:
        p = subprocess.run([edges.PROG, "--enable-profiling", "-w", "1ms", *roots], stdout=full, stderr=subprocess.PIPE, timeout=60)
    eq((p.returncode, knob_is(knob)), (1, "0\n"), "no space left")
    p = subprocess.Popen([edges.PROG, "--enable-profiling", "-i", "0.05", *roots], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    eq((p.wait(timeout=60), knob_is(knob)), (-signal.SIGPIPE, "0\n"), "reader gone")


@test("profiling: a value that is on is left alone, as is a device that has none; denial is said")
def _(m):
    for tree, _on in BOARDS:
        knob, roots = board(m, tree)
        rewrite(knob, "2\n" if tree == "panthor" else "1\n")
        before = os.stat(knob).st_mtime_ns, knob_is(knob)
        eq(run(["--enable-profiling", "-w", "1ms", *roots]).code, 0, "exit")
        eq((os.stat(knob).st_mtime_ns, knob_is(knob)), before, f"{tree}: was on")
    if os.getuid() == 0:
        rewrite(knob, "0\n")
        os.chmod(knob, 0o644)
        r = run(["--enable-profiling", "-w", "1ms", *roots], nobody=True)
        check(r.code == 0 and b"card1: --enable-profiling: Permission denied" in r.err, repr(r))
        eq(knob_is(knob), "0\n", "denied")
    m.device("i915", I915, files={"profiling": "0\n"})
    eq(run(["--enable-profiling", "-w", "1ms", *m.roots()]).code, 0, "exit")
    eq(knob_is(m.path(f"sys/devices/pci0000:00/{I915}/profiling")), "0\n", "another driver's file of that name")


def on_terminal(args):
    """top on a terminal of its own: (process, descriptor of the other side)."""
    other, tty = pty.openpty()
    p = subprocess.Popen([edges.PROG, "top", "--enable-profiling", *args], stdin=tty, stdout=tty, stderr=tty, start_new_session=True,
                         env={**os.environ, "TERM": "xterm"}, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(tty)
    check(b"card" in read_until(other, b"card"), "no screen")
    return p, other


def read_until(fd, what):
    got, end = b"", time.monotonic() + 60
    while what not in got and time.monotonic() < end:
        got += os.read(fd, 4096)
    return got


def drain(fd):
    """What it still writes must not keep it waiting."""
    try:
        while os.read(fd, 4096):
            pass
    except OSError:
        pass


@test("profiling: top puts it back however it ends")
def _(m):
    knob, roots = board(m, "panthor")

    def typed(p, other):
        del p
        os.write(other, b"q")

    def interrupted(p, other):
        del p
        os.write(other, b"\x03")

    def hung_up(p, other):
        del p
        os.close(other)

    def suspended(p, other):
        del p
        os.write(other, b"\x1a")  # nobody could continue it here: signal(7) has it go on
        read_until(other, b"\033[?1049h")
        eq(knob_is(knob), "3\n", "after ^Z")
        os.write(other, b"q")
    ends = [("q", typed, 0), ("^C", interrupted, 0), ("its terminal goes", hung_up, None), ("^Z, q", suspended, 0)]
    ends += [(s.name, lambda p, other, s=s: p.send_signal(s), 0) for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)]
    ends += [(s.name, lambda p, other, s=s: p.send_signal(s), -s) for s in (signal.SIGUSR1, signal.SIGSEGV)]
    for name, end, code in ends:
        rewrite(knob, "0\n")
        p, other = on_terminal(roots)
        eq(knob_is(knob), "3\n", f"before {name}")
        end(p, other)
        if end is not hung_up:
            drain(other)
            os.close(other)
        got = p.wait(timeout=60)
        eq(knob_is(knob), "0\n", f"after {name}")
        check(code is None or got == code, f"exit after {name}: {got}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_check.py PROG")
    sys.exit(edges.main(sys.argv[1], TESTS))
