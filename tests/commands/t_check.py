#!/usr/bin/env python3
# t_check.py PROG - gpustat check, compared with the guidelines of monitoring plugins and with
# programs that read their output; and --enable-profiling, which is restored at every exit. The
# machines are file trees, see tests/machine.py. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import fcntl
import itertools
import json
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
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import AMD, I915, TREES, Skip, as_root, check, dump, eq, ns, one_client, rewrite, run  # noqa: E402

TESTS = []
STATES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"]
NEGATE = "/usr/lib/nagios/plugins/negate"


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def ask(m, *args, window="1ms", **kw):
    """Runs check and verifies that it prints one line, as the guidelines require. Returns the exit
    code, the text and the perfdata."""
    r = run(["check", "--window", window, *args, *m.roots()], **kw)
    eq(r.err, b"", "stderr")
    text = r.out.decode()
    check(text.endswith("\n") and text.count("\n") == 1 and len(text) <= 4096, f"one line: {text!r}")
    check(text.count("|") <= 1, f"more than one |: {text!r}")
    head, _, perf = text[:-1].partition("|")
    state = re.match(r"GPU (OK|WARNING|CRITICAL|UNKNOWN) - \S", head)
    check(state, f"no state: {head!r}")
    eq(r.code, STATES.index(state.group(1)), f"exit code of {text!r}")
    return r.code, head[state.end() - 1:].strip(), perf.strip()


def metrics(perf):
    """Parses perfdata: {label: (value, unit, warning, critical, min, max)}; labels must be unique."""
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


# --- ranges ---------------------------------------------------------------------------------------

def oracle(text, value):
    """True if the guidelines require an alert for the value; None if the text is not a range."""
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


@test("ranges: every form and its limits, compared with an oracle")
def _(m):
    machines = []
    for v in VALUES:
        base = m.path(f"m{v}")
        os.mkdir(base)
        machines.append((Decimal(v) / 1000, warm(machine.Machine(base), v)))
    cases = []
    for i, r in enumerate(all_ranges()):
        # long ranges are tried with two of the values, short ones with all
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


@test("-m: for a misspelt field or instance the state is UNKNOWN, and the nearest name is suggested")
def _(m):
    machine.built_in("plain")  # the feature that parses field names
    warm(m)
    for args, said in ((["-m", "tepm"], "'tepm': these records have no such field; did you mean 'temp'?"),
                       (["-m", "temp.egde"], "'temp.egde': no device has this field; the nearest name is temp.edge"),
                       (["-m", "temp,temp.egde"], "card0 temp edge 45 C; temp.egde unknown, the nearest name is temp.edge")):
        eq(ask(m, *args)[:2], (3, said), f"{args}")
    code, said, _ = ask(m, "-m", "temp,temp.egde", "-w", "40")
    eq((code, said), (1, "card0 temp edge 45 C (warning); temp.egde unknown, the nearest name is temp.edge"), "a misspelt field does not change the state WARNING")


@test("-j: the state, the message and the values as a JSON record, also without a device")
def _(m):
    r = run(["check", "-j", "--window", "1ms", *m.roots()])
    got = json.loads(r.out)
    eq((r.code, got["kind"], got["state"], got["values"]), (3, "check", "UNKNOWN", []), "no GPU")
    check(got["message"].startswith("no GPU was found"), f"message {got}")
    warm(m)
    for args, code in ((["-w", "40", "-c", "80"], 1), (["-w", "50"], 0), (["-c", "@40:50"], 2)):
        r = run(["check", "--json", "-m", "temp", "--window", "1ms", *args, *m.roots()])
        got = json.loads(r.out)
        line = run(["check", "-m", "temp", "--window", "1ms", *args, *m.roots()]).out.decode()
        eq((r.code, STATES.index(got["state"])), (code, code), f"{args}")
        eq(f"GPU {got['state']} - {got['message']} ", line.split("|")[0], "the text of the line")
        eq([(v["name"], v["value"], v["unit"], v["state"]) for v in got["values"]], [("card0 temp edge", 45, "C", got["state"])], "values")
    r = run(["check", "-j", "-w", "x", *m.roots()])
    eq((r.code, json.loads(r.out)["message"]), (3, "invalid range 'x' for --warning: use 10, 10:, ~:10, 10:20 or @10:20"), "-w x")


@test("invalid ranges: UNKNOWN on stdout")
def _(m):
    warm(m)
    for bad in BAD:
        code, text, perf = ask(m, "-m", "temp", "-w", bad)
        eq((code, perf), (3, ""), f"-w {bad!r}: {text}")


@test("ranges have the meaning that the module of the monitoring plugins defines")
@machine.live
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
    check(len(out) - out.count("none") > 500, "the module accepted too few of the ranges")
    check(not odd, f"{len(odd)} differ: {odd[:5]}")


# --- the output line ------------------------------------------------------------------------------

@test("default: busy of each engine, or of the device if the kernel reports it")
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0, copy=0), pdev=I915))
    with m.driven("check", "-w", "80", "-c", "95", "--window", "0.6") as p:
        check(p.sleep(), "no window")
        rewrite(f, dump("i915", 7, *ns(render=int(0.54e9), copy=0), pdev=I915))
        p.wake()
        check(not p.sleep(), "check measured in a second window")
    eq((p.code, p.out, p.err), (1, b"GPU WARNING - card0 render 90% (warning), card0 copy 0% | "
                                b"'card0 render'=90%;80;95;0;100 'card0 copy'=0%;80;95;0;100\n", b""), "i915")
    tree = ["--proc", f"{TREES}/amdgpu/proc", "--sys", f"{TREES}/amdgpu/sys"]
    r = run(["check", "-w", "30", "--window", "1ms", *tree])
    eq((r.code, r.out), (1, b"GPU WARNING - card0 busy 37% (warning) | 'card0 busy'=37%;30;;0;100\n"), "amdgpu")


@test("several devices and fields: the worst value sets the state and comes first")
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
    eq(ask(m, "-w", ",50", "-m", "busy,vram.used", "-d", "0")[0], 1, "a range for the second field only")
    eq(ask(m, "-w", "1,2,3", "-m", "busy,temp")[0], 3, "more ranges than fields")
    eq(ask(m, "-c", "90:", "-d", "card1")[0], 0, "-d")


@test("a value that cannot be checked: UNKNOWN on stdout, exit 3")
def _(m):
    for args in ([], ["-w"], ["--bogus"], ["-m", "nonsense"], ["-m", "temp,"], ["-w", "1", "-c"], ["-t", "0"], ["-t", "x"],
                 ["-o", "json"], ["-d", ""], ["extra"], ["1"]):
        eq(ask(m, *args)[0], 3, f"{args}")
    # without the feature `names` the message does not list the folders that were searched
    check("no GPU was found" + ("" if "names" in tap.left_out(machine.PROG) else "; looked in ") in ask(m)[1], "no GPU")
    m.device("i915", I915)
    check("devices: card0" in ask(m, "-d", "card7")[1], "no such device")
    check("no value was measured" in ask(m, "-m", "temp")[1], "nothing measured")
    check("no value was measured" in ask(m, "-m", "driver")[1], "no number")
    r = run(["check", "--proc", m.path("nowhere"), "--sys", m.sys])
    eq((r.code, r.out[:11], r.err), (3, b"GPU UNKNOWN", b""), "no /proc")
    for flag, text in (("-h", b"gpustat check"), ("-V", b"gpustat ")):
        r = run(["check", flag])
        check(r.code == 3 and text in r.out and not r.err, f"{flag} exits with 3, as plugins do: {r!r}")


@test("unreadable processes: UNKNOWN, not idle")
@machine.live
def _(m):
    as_root()
    one_client(m)
    m.process(20)
    for d in ("fd", "fdinfo"):
        for p in (10, 20):
            os.chmod(m.path(f"proc/{p}/{d}"), 0)
    code, text, perf = ask(m, nobody=True)
    check((code, perf) == (3, "") and "setcap" in text, f"{code} {text}")
    for d in ("fd", "fdinfo"):  # a readable client of the user says nothing about the other clients
        os.chmod(m.path(f"proc/10/{d}"), 0o755)
        os.chown(m.path(f"proc/10/{d}"), machine.NOBODY, machine.NOBODY)
    code, text, perf = ask(m, nobody=True)
    check((code, perf) == (3, "") and "setcap" in text, f"with a readable client of the user: {code} {text}")
    eq(ask(m)[0], 0, "to root")


@test("a device without clients is 0 % busy if all processes are readable")
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


@test("hidepid=2: a device with invisible processes is not idle")
@machine.live
def _(m):
    sys_ = f"{TREES}/i915/sys"  # sysfs of i915 lists the engines of the device
    script = f'sleep 9 & setpriv --reuid {machine.NOBODY} --regid {machine.NOBODY} --clear-groups "$PROG" check --window 1ms --proc "$P" --sys {sys_}'
    r = machine.in_namespace(m, script, hidepid=2)
    check(r.returncode == 3 and b"hidepid" in r.stdout and b"PTRACE" in r.stdout, f"{r}")
    r = machine.in_namespace(m, '"$PROG" check --window 1ms --proc "$P" --sys ' + sys_)
    check(r.returncode == 3 and b"namespace" in r.stdout, f"in a pid namespace: {r}")


@test("one unreadable process among readable ones: a device without clients is idle")
@machine.live
def _(m):
    as_root()
    m.device("v3d", I915)
    for p in (10, 20):
        m.process(p)
    for d in ("fd", "fdinfo"):
        os.chmod(m.path(f"proc/20/{d}"), 0)
    eq(ask(m, nobody=True)[:2], (0, "card0 no client"), "process 10 of another user may be read")


@test("a suspended device is 0 % busy and is not woken up")
def _(m):
    m.device("xe", I915, state="suspended")
    eq(ask(m, "-w", "80"), (0, "card0 asleep", ""), "asleep")
    eq(ask(m, "-m", "temp")[0], 3, "the temperature of a suspended device is UNKNOWN")


@test("labels: at most 19 characters, no delimiters, unique, and equal in every run")
def _(m):
    names = ["a" * 40 + "1", "a" * 40 + "2", "x=y", "x_y", "x'y", "x|y", "x;y", "render", "nineteen-19-chars"]
    one_client(m, text=dump("i915", 7, *[f"drm-engine-{n}:\t0 ns" for n in names], pdev=I915))
    got = metrics(ask(m)[2])
    eq(len(got), len(names), f"labels {sorted(got)}")
    for n in names:  # an engine has the same label if it is the only one
        rewrite(m.path("proc/10/fdinfo/5"), dump("i915", 7, f"drm-engine-{n}:\t0 ns", pdev=I915))
        alone = list(metrics(ask(m)[2]))
        check(alone[0] in got, f"{n}: {alone} alone, not in {sorted(got)}")
    check("card0 render" in got, "the label of a plain name is the name")


@test("a line has at most 4 KB; the values that do not fit are counted")
def _(m):
    one_client(m, text=dump("i915", 7, *[f"drm-engine-engine-number-{i}:\t0 ns" for i in range(120)], pdev=I915))
    code, text, perf = ask(m, "-w", "80", "-c", "90")
    shown = len(metrics(perf))
    eq(code, 0, "exit")
    check(f"; {120 - shown} values were left out: gpustat's tables are full" in text and re.search(r"; \d+ more", text), text)


@test("values that do not fit into the line are still checked")
def _(m):
    for i in range(20):
        pdev = f"0000:{i + 1:02x}:00.0"
        m.device("i915", pdev, card=i, render=128 + i)
        m.fd(100 + i, 5, dump("i915", 7, *[f"drm-engine-e{k}:\t0 ns" for k in range(60)], f"drm-engine-capacity-e59:\t{9 if i == 19 else 1}", pdev=pdev),
             link=f"/dev/dri/renderD{128 + i}")
    code, text, perf = ask(m, "-m", "engine.capacity", "-w", "5")
    check(code == 1 and f"; {1200 - len(metrics(perf))} values were left out: gpustat's tables are full" in text, f"{code} {text}")
    m.fd(200, 5, dump("i915", 8, *[f"drm-engine-e{k}:\t0 ns" for k in range(700)], pdev="0000:01:00.0"))
    code, text, perf = ask(m, "-d", "card0", "-m", "engine.e0.busy")
    check(len(metrics(perf)) == 1 and re.search("; [0-9]+ values were left out: gpustat's tables are full", text), f"more values than the registry has room for: {text}")


@test("too few descriptors to open all files: UNKNOWN, unless a value that was read raises an alert")
def _(_m):
    tree = f"{TREES}/mixed"
    for limit, args, code in ((6, [], 3), (7, [], 3), (8, [], 3), (10, [], 3), (10, ["-w", "5"], 3), (10, ["-w", "5:"], 1), (10, ["-c", "5:"], 2)):
        r = run(["check", "--window", "1ms", *args, "--proc", f"{tree}/proc", "--sys", f"{tree}/sys"],
                preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        eq((r.code, b" could not be read: Too many open files (RLIMIT_NOFILE)" in r.out), (code, True), f"{limit} descriptors, {args}: {r.out!r}")
        check(code == 3 or re.search(rb"- card0 render 0% \((warning|critical)\)", r.out), f"{limit} descriptors, {args}: {r.out!r}")


@test("a field of -m without values is named; the state is UNKNOWN unless a value raises an alert")
def _(m):
    warm(m)
    eq(ask(m, "-m", "temp,fan")[:2], (3, "card0 temp edge 45 C; fan unknown"), "no fan")
    eq(ask(m, "-m", "fan,temp", "-w", ",40")[0], 1, "warm")
    eq(ask(m, "-m", "temp,engine.busy,memory")[0], 0, "fields that are sums over clients may be missing")
    m.device("xe", I915, card=1, render=129, state="suspended")
    eq(ask(m, "-m", "temp,fan")[0], 0, "a suspended device may have the field")


@test("timeout: UNKNOWN after -t, and the file profiling is restored")
@machine.live
def _(m):
    dev = m.device("panthor", files={"profiling": "0\n"})
    code, text, _ = ask(m, "-t", "0.3", "--enable-profiling", window="3600")
    check(code == 3 and "timeout" in text, f"{code} {text}")
    eq(open(m.path(f"{dev}/profiling"), encoding="ascii").read(), "0\n", "knob")


@test("timeout: works if the caller ignores or blocks SIGALRM, and with less than a microsecond")
@machine.live
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
@machine.live
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    state = m.path("state")
    begun = time.monotonic()
    ask(m, "--state", state)
    check(os.path.exists(state), "no state file was written")
    time.sleep(0.5)
    rewrite(f, dump("i915", 7, *ns(render=int(0.25e9)), pdev=I915))
    text = ask(m, "--state", state, "-m", "engine.render.busy", window="3600")[2]
    took = time.monotonic() - begun
    value = metrics(text)["card0 render"][0]
    check(24.9 / took <= value <= 51, f"{text} after {took} s")


@test("perfdata is read correctly by libmonitoring-plugin-perl")
@machine.live
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


@test("negate, which runs plugins, accepts gpustat check")
@machine.live
def _(m):
    if not os.path.exists(NEGATE):
        raise Skip("package monitoring-plugins-basic is missing")
    warm(m)
    for want, args in ((2, ["-w", "80"]), (0, ["-c", "40"])):
        r = subprocess.run([NEGATE, machine.PROG, "check", "--window", "1ms", "-m", "temp", *args, *m.roots()], stdout=subprocess.PIPE, timeout=60)
        eq(r.returncode, want, f"exit code of negate: {r.stdout!r}")
        check(r.stdout.startswith(b"GPU "), f"{r.stdout!r}")


def numbers(x):
    if isinstance(x, dict):
        for v in x.values():
            yield from numbers(v)
    elif isinstance(x, (int, float)):
        yield float(x)


@test("every tree: the values equal those of the JSON records, and determine the state")
def _(_m):
    n = 0
    for tree in sorted(t for t in os.listdir(TREES) if os.path.isdir(f"{TREES}/{t}/sys/class/drm")):
        roots = ["--proc", f"{TREES}/{tree}/proc", "--sys", f"{TREES}/{tree}/sys"]
        recs = machine.parse_json(run(["-w", "1ms", "-o", "json", *roots]).out)
        for field in ("temp", "energy", "fan", "volt", "freq", "vram", "memory", "clients"):
            want = sorted(v for r in recs for v in numbers(r.get(field)))
            r = run(["check", "--window", "1ms", "-m", field, "-w", "~:1.5", "-c", "-5:99", *roots])
            if b"were left out: gpustat's tables are full" in r.out:
                continue
            eq(sorted(float(v[0]) for v in metrics(r.out.decode().partition("|")[2]).values()), want, f"{tree} {field}")
            states = [2 if not -5 <= v <= 99 else 1 if v > 1.5 else 0 for v in want]
            eq(r.code, max(states, default=3), f"{tree} {field}: {r.out!r}")
            n += len(want)
    check(n > 200, f"only {n} values")


# --- --enable-profiling ---------------------------------------------------------------------------

def board(m, tree):
    """Copies a captured machine. Returns the path of its file `profiling`, and the options for its roots."""
    base = m.path(tree)
    shutil.copytree(os.path.join(TREES, tree), base, symlinks=True)
    knobs = [os.path.join(d, "profiling") for d, _, names in os.walk(f"{base}/sys") if "profiling" in names]
    eq(len(knobs), 1, f"knobs of {tree}")
    return knobs[0], ["--proc", f"{base}/proc", "--sys", f"{base}/sys"]


def knob_is(knob):
    with open(knob, encoding="ascii") as f:
        return f.read()


def knob_while(p, knob, want):
    """Returns the knob's content when it becomes `want`, or its last content before the process
    ended."""
    while (now := knob_is(knob)) != want and p.poll() is None:
        time.sleep(0.001)
    return now


BOARDS = (("panfrost", "1"), ("panthor", "3"))


@test("the output line cannot be written: exit code 3")
def _(m):
    for out in ("/dev/full", "&-"):
        line = f'exec "$0" check --window 1ms "$@" >{out}'
        p = subprocess.run(["sh", "-c", line, machine.PROG, *m.roots()], check=False, capture_output=True, timeout=60)
        eq(p.returncode, 3, f"exit code with >{out}")


@test("profiling: each command enables it while it runs, and restores it at the end")
@machine.live
def _(m):
    for tree, on in BOARDS:
        knob, roots = board(m, tree)
        rewrite(knob, "0\n")
        for cmd in ([], ["clients"], ["cgroups"], ["check"], ["munin"]):
            args = [*cmd, "--enable-profiling", *(["--window"] if cmd in (["check"], ["munin"]) else ["-w"]), "0.4"]
            p = subprocess.Popen([machine.PROG, *args, *roots], stdout=subprocess.DEVNULL)
            during = knob_while(p, knob, f"{on}\n")
            p.wait(timeout=60)
            eq((during, knob_is(knob)), (f"{on}\n", "0\n"), f"{tree} {cmd}")


@test("profiling: restored after every signal that can be caught, and after a failure")
@machine.live
def _(m):
    sigs = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGABRT, signal.SIGSEGV,
            signal.SIGPIPE, signal.SIGALRM, signal.SIGXCPU, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGSYS, signal.SIGBUS, signal.SIGPWR, signal.SIGSTKFLT, signal.SIGRTMIN + 3]
    knob, roots = board(m, "panthor")
    for s in sigs:
        rewrite(knob, "0\n")
        p = subprocess.Popen([machine.PROG, "--enable-profiling", "-w", "30", *roots], stdout=subprocess.DEVNULL)
        eq(knob_while(p, knob, "3\n"), "3\n", f"before {s}")
        p.send_signal(s)
        code = p.wait(timeout=60)
        eq(knob_is(knob), "0\n", f"after {s}")
        eq(code, 0 if s in sigs[:3] else -s, f"exit of {s}")
    with open("/dev/full", "wb") as full:
        p = subprocess.run([machine.PROG, "--enable-profiling", "-w", "1ms", *roots], stdout=full, stderr=subprocess.PIPE, timeout=60)
    eq((p.returncode, knob_is(knob)), (1, "0\n"), "no space left")
    p = subprocess.Popen([machine.PROG, "--enable-profiling", "-i", "0.05", *roots], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    eq((p.wait(timeout=60), knob_is(knob)), (-signal.SIGPIPE, "0\n"), "reader gone")


@test("profiling: a value that is already enabled and files of other drivers are not changed; EACCES is reported")
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
    """Runs top on a new terminal. Returns the process, and the descriptor of the terminal's master side."""
    other, tty = pty.openpty()
    p = subprocess.Popen([machine.PROG, "top", "--enable-profiling", *args], stdin=tty, stdout=tty, stderr=tty, start_new_session=True,
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
    """Reads to the end, so that the program does not block while it writes."""
    try:
        while os.read(fd, 4096):
            pass
    except OSError:
        pass


@test("profiling: top restores it at every exit")
@machine.live
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
        os.write(other, b"\x1a")  # the process group of top is orphaned, so SIGTSTP does not stop it (signal(7))
        read_until(other, b"\033[?1049h")
        eq(knob_is(knob), "3\n", "after ^Z")
        os.write(other, b"q")
    ends = [("q", typed, 0), ("^C", interrupted, 0), ("its terminal is closed", hung_up, None), ("^Z, q", suspended, 0)]
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
    sys.exit(machine.main(sys.argv[1], TESTS))
