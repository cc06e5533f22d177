#!/usr/bin/env python3
# t_events.py PROG - perf events by name, on the machines of tests/pmus: the attributes of each
# event, the message for each error, files that no kernel prints; many events whose attributes are
# compared with those of the second resolver, event_eval.py; then the attributes that perf itself
# used, if ../shared has them. Prints TAP; exit 0 if all tests pass. EVENT_SOURCE: another folder
# with the
# files of perf. SPDX-License-Identifier: MIT
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import event_eval  # noqa: E402
from tap import finish, needs, report, skip  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
needs(PROG, "events")
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PMUS = os.path.join(HERE, "pmus")
PROC = os.path.join(HERE, "trees", "host", "proc")
SHARED = os.environ.get("EVENT_SOURCE", os.path.join(HERE, "..", "..", "shared", "event_source"))


def run(sys_root, *args):
    """Runs events. --proc is needed for the events that count files of /proc, or they would be this machine's."""
    r = subprocess.run([PROG, "events", "--sys", sys_root, "--proc", PROC, *args], capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout.decode("utf-8", "replace"), r.stderr.decode("utf-8", "replace")


def attr(t, c=0, c1=0, c2=0, more=""):
    return f"type={t} config={c:#x} config1={c1:#x} config2={c2:#x}".replace("=0x0", "=0") + more


def resolves(tree, event, *want):
    """Checks the resolved attributes; each element of want is an attr or (name, attr)."""
    code, out, err = run(os.path.join(PMUS, tree), "--resolve", "--", event)
    want = [w if isinstance(w, tuple) else (None, w) for w in want]
    got = out.splitlines()
    ok = code == 0 and err == "" and len(got) == len(want)
    for line, (name, text) in zip(got, want):
        ok = ok and (line == f"{name} {text}" if name else line.endswith(" " + text))
    report(ok, f"{tree}: {event}", code, out, err)


def refused(tree, event, *words):
    code, out, err = run(os.path.join(PMUS, tree), "--resolve", "--", event)
    ok = code == 2 and out == "" and err.count("\n") == 1 and all(w in err for w in words)
    report(ok, f"{tree}: {event[:60]} is refused: {words[0]}", code, out, err)


def t_names():
    user, kernel = " exclude_kernel=1 exclude_hv=1", " exclude_user=1 exclude_hv=1"
    resolves("intel", "cycles", ("cycles", attr(0)))
    resolves("intel", "cycles:u", ("cycles:u", attr(0, more=user)))
    resolves("intel", "cycles:k", attr(0, more=kernel))
    resolves("intel", "cycles:ukhIppDe", attr(0, more=" exclude_idle=1 precise_ip=2 pinned=1 exclusive=1"))
    resolves("intel", "cycles:G,cycles:H,cycles:GH", attr(0, more=" exclude_host=1"), attr(0), attr(0))
    resolves("intel", "cycles:P", attr(0, more=" precise_ip=3"))
    resolves("intel", "cs,L1-dcache-load-misses,r1a8,1:1,4:0x3c", attr(1, 3), attr(3, 0x10000), attr(4, 0x1a8), attr(1, 1),
             attr(4, 0x3c))
    resolves("intel", "slots,energy-pkg,rcs0-busy:u", attr(4, 0x400), attr(20, 2), attr(26, more=user))
    resolves("intel", "duration_time,user_time,system_time", *[attr(1, 9)] * 3)
    resolves("intel", "mem:0x1000/8:rw:u,mem:0x10:x", attr(5, 0, 0x1000, 8, user), attr(5, 0, 16, 8))
    resolves("none", "cycles", attr(0))
    resolves("hybrid", "cycles", attr(0, 10 << 32), attr(0, 4 << 32))
    resolves("odd", "cycles:u", attr(0, more=user))


def t_hybrid():
    _, out, _ = run(os.path.join(PMUS, "hybrid"), "--resolve", "{LLC-loads,instructions}:u,r3c,cs,cpu_core/cycles/")
    got = [" ".join(x.split()[:3]) for x in out.splitlines()]
    a, c = f"{10 << 32:#x}", f"{4 << 32:#x}"
    pairs = [[f"LLC-loads type=3 config={int(x, 16) | 2:#x}", f"instructions type=0 config={int(x, 16) | 1:#x}"] for x in (a, c)]
    report(got[:4] in (pairs[0] + pairs[1], pairs[1] + pairs[0]), "hybrid: a group is resolved once for each kind of CPU, with its members together", got)
    report(sorted(got[4:6]) == ["r3c type=10 config=0x3c", "r3c type=4 config=0x3c"] and
           got[6:] == ["cs type=1 config=0x3", f"cpu_core/cycles/ type=0 config={c}"], "hybrid: raw events are resolved for each kind of CPU, software events and those of a named PMU once", got)


def t_terms():
    imc = [attr(t, 0x304) for t in (30, 31, 32, 40)]
    resolves("intel", "cpu/event=0x3c,umask=1,inv,cmask=16/", attr(4, 0x1080013c))
    resolves("intel", "cpu/event=0x3c/ukpp", attr(4, 0x3c, more=" exclude_hv=1 precise_ip=2"))
    resolves("intel", "cpu/mem-loads,ldlat=30/", attr(4, 0x1cd, 0x1e))
    resolves("intel", "cpu/ldlat=30,mem-loads/", attr(4, 0x1cd, 0x1e))
    resolves("intel", "cpu/event=1,event=2/", attr(4, 2))
    resolves("intel", "cpu/config=0x3c,event=0x1/", attr(4, 1))
    resolves("intel", "cpu/edgy/,cpu/cpu-cycles,edge=0/,cpu//,cpu/r1a8/,cpu/r0x1a8/", attr(4, 0x4003c), attr(4, 0x3c), attr(4),
             attr(4, 0x1a8), attr(4, 0x1a8))
    resolves("intel", "cpu/cycles/,cpu/instructions/", attr(4, 0x99), attr(0, 1))
    resolves("intel", "cpu/event=1,period=1000/,cpu/event=1,freq=99/", attr(4, 1, more=" period=1000"),
             attr(4, 1, more=" freq=99"))
    resolves("intel", "cpu/event=1,name='a b,c/d'/u", ("a b,c/d", attr(4, 1, more=" exclude_kernel=1 exclude_hv=1")))
    resolves("intel", "cpu/percore,no-inherit,metric-id=x,event=1/", attr(4, 1))
    for name in "uncore_imc", "imc", "uncore_imc_*", "imc_*", "uncore_imc*":
        resolves("intel", name + "/cas_count_read/", *imc)
    resolves("intel", "uncore_imc_1/cas_count_read/", imc[1])
    resolves("intel", "{imc/cas_count_read/,imc/cas_count_write/}", *[attr(t, c) for t in (30, 31, 32, 40) for c in (0x304, 0xc04)])
    resolves("odd", "dash-pmu.v1/dot.ted/,dash-pmu.v1/plain,lo=0/", attr(9000, 2), attr(9000))
    resolves("odd", "dash-pmu.v1/lo=15,hi=1,mid=29,three=10,four=17,back=0x12/",
             attr(9000, 0xc000000200000103, 0x8000000000000000, 0x30040008, " config3=0xa0 config4=0x1000000000000001"))
    resolves("odd", "dash-pmu.v1/all/",
             attr(9000, 0xc000000200000103, 0x8000000000000000, 0x30040008, " config3=0xa0 config4=0x1000000000000001"))
    resolves("odd", "hv_24x7/PM_READ,chip=1/", attr(12, 0x800010001))
    resolves("odd", "hv_24x7/PM_TWO,core=2,domain=3/", attr(12, 0x9800020003))
    resolves("odd", "armv8_cortex_a57/cpu_cycles/,ddr_pmu/cycles/", attr(8, 0x11), attr(15, 1), attr(16, 1))


def t_probes():
    resolves("intel", "uprobe/path=/bin/x,offset=0x1234/", attr(7, 0, 0, 0x1234))
    resolves("intel", "uprobe/retprobe=1,offset=7,path=/bin/x/u", attr(7, 1, 0, 7, " exclude_kernel=1 exclude_hv=1"))
    resolves("intel", "uprobe:/bin/x:0x1234,cycles", attr(7, 0, 0, 0x1234), attr(0))
    resolves("intel", "sched:sched_switch", ("sched:sched_switch", attr(2, 372)))
    resolves("intel", "sched:*:u", ("sched:sched_switch", attr(2, 372, more=" exclude_kernel=1 exclude_hv=1")),
             ("sched:sched_wakeup", attr(2, 370, more=" exclude_kernel=1 exclude_hv=1")))
    resolves("intel", "*:*", *[(n, attr(2, i)) for n, i in (("irq:irq_handler_entry", 120), ("sched:sched_switch", 372),
                                                             ("sched:sched_wakeup", 370), ("sched_ext:sched_ext_dump", 9))])


def t_gpus():
    resolves("intel", "gpu-busy", ("i915/rcs0-busy/", attr(26)), ("i915/vcs0-busy/", attr(26, 0x2000)))
    resolves("intel", "gpu-freq,gpu-energy", ("i915/actual-frequency/", attr(26, 0x100000)), ("power/energy-gpu/", attr(20, 4)))

    def pair(c, gt):
        name = ("rcs0", "bcs0", "vcs0")[c] + ("-gt1" if gt else "")
        return [(f"xe_0000_03_00.0/{name}-busy/", attr(27, e | c << 20 | gt << 60)) for e in (2, 3)]
    resolves("xe", "gpu-busy", *pair(0, 0), *pair(1, 0), *pair(2, 1))
    resolves("xe", "gpu-freq", attr(27, 4), attr(27, 4 | 1 << 60))
    resolves("xe", "gpu-energy", ("hwmon3/energy1/", "virtual"))
    resolves("xe", "hwmon_xe/temp2/,hwmon/power1/,proc/ctxt/", *["virtual"] * 3)
    for a in "gpu-busy", "gpu-freq", "gpu-energy":
        refused("none", a, "here")
    refused("intel", "{gpu-busy,cycles}", "cannot be inside a group")


def t_wrong():
    refused("intel", "cpu/evnt=3/", 'cpu/evnt=3/: no term "evnt"; the cpu PMU has: cmask edge event inv ldlat umask')
    refused("intel", "i915/nosuch/", 'no event or term "nosuch"; the i915 PMU has: actual-frequency rc6-residency rcs0-busy')
    refused("intel", "cpu/event=256/", "cpu/event=256/: event is at most 255")
    refused("intel", "cpu/edge=2/", "edge is at most 1")
    refused("intel", "cpu/event=x/", 'not a number: "x"')
    refused("intel", "cpu/event=18446744073709551616/", "not a number")
    refused("intel", "cpu/event=/", "value is missing")
    refused("intel", "cpu/event=1,/", "term is missing")
    refused("intel", "cpu/event=1", "no slash after the terms")
    refused("intel", "cpu/call-graph=fp/", "unsupported term")
    refused("intel", "cpu/period/", 'no value for the term "period"')
    refused("intel", "cpu/config=x/", 'not a number: "x"')
    refused("intel", "uprobe/path=/bin/x,offset=y/", 'not a number: "y"')
    refused("intel", "cpu/cpu-cycles.unit/", "no event or term")
    refused("intel", "cpu/../", "no event or term")
    refused("intel", "nopmu/event=1/", 'no PMU "nopmu"; there are: breakpoint cpu i915')
    refused("none", "nopmu/event=1/", "no PMU")
    refused("intel", "../event=1/", "no PMU")
    refused("intel", "nosuchevent", "nosuchevent: no such event")
    refused("intel", "cycles:uu", "modifiers are", '"uu"')
    refused("intel", "cycles:pppp", "modifiers are")
    refused("intel", "cpu/event=1/z", "modifiers are")
    for e in "", ",", "cycles,", ",cycles", "{}", "{cycles,}":
        refused("intel", e, "an event is missing")
    refused("intel", "{cycles", "has no }")
    refused("intel", "cycles}", "no group is open")
    refused("intel", "{cycles,{cs}}", "group in a group")
    refused("intel", "{cycles}:uu", "modifiers are")
    refused("intel", "mem:9z", "not an address")
    refused("intel", "mem:xyz", "requires -p PID, a command, or :k")
    refused("intel", "mem:xyz:k", "")
    refused("intel", "kprobe:do_exit", 'no PMU "kprobe"')
    refused("intel", "uprobe//", "path=")
    refused("intel", "hwmon/nosuch1/", "no such counter")
    refused("intel", "gpu99/render/", "no such counter")
    refused("intel", "nosuch:nosuch", "no such tracepoint")
    refused("xe", "sched:sched_switch", "mount -t tracefs tracefs /sys/kernel/tracing")
    refused("odd", "hv_24x7/PM_TWO/", "required terms: domain= core=")
    refused("intel", "cpu/" + "a" * 10000 + "/", "no event or term", "...")
    refused("intel", "a" * 100000, "no such event", "...")
    refused("intel", "cycles," * 5000 + "cs", "4096")
    refused("intel", "cycles,cs,nosuch", "nosuch: no such event")


def t_hostile():
    with tempfile.TemporaryDirectory() as d:
        base = os.path.join(d, "bus/event_source/devices")

        def put(path, data):
            p = os.path.join(base, path)
            os.makedirs(os.path.dirname(p), exist_ok=True)
            with open(p, "wb") as f:
                f.write(data)
        put("notype/format/event", b"config:0-7\n")
        put("text/type", b"many\n")
        os.makedirs(os.path.join(base, "dirtype/type"))
        put("bad/type", b"77")
        for name, data in ("bin", b"\0\xff\x1b[2J"), ("empty", b""), ("huge", b"config:" + b"0," * 50000), ("nonl", b"config:0-3"), \
                ("wide", b"config:0-63,0-63\n"), ("nul", b"config:0-3\0"):
            put("bad/format/" + name, data)
        for name, data in ("ebin", b"\0\xff="), ("eempty", b""), ("ehuge", b"nonl=1," * 9000), ("eself", b"eself"), ("ewide", b"nonl=99"), \
                ("ok", b"nonl=3"), ("ok.scale", b"1e999\n"), ("ok.unit", b"\x1b[31m" + b"x" * 500):
            put("bad/events/" + name, data)
        os.makedirs(os.path.join(base, "bad/format/dir"))
        os.makedirs(os.path.join(base, "bad/events/edir"))
        os.symlink("loop", os.path.join(base, "bad/format/loop"))
        os.symlink("eloop", os.path.join(base, "bad/events/eloop"))
        os.symlink("self", os.path.join(base, "self"))
        os.mkfifo(os.path.join(base, "bad/format/fifo"))
        for event in ["notype/event=1/", "text/event=1/", "dirtype/event=1/", "self/event=1/"] + \
                [f"bad/{n}=1/" for n in ("bin", "empty", "huge", "wide", "dir", "loop", "fifo")] + \
                [f"bad/{n}/" for n in ("ebin", "ehuge", "eself", "ewide", "edir", "eloop")]:
            code, out, err = run(d, "--resolve", event)
            report(code == 2 and not out and err.startswith("gpustat: " + event + ": ") and "\x1b" not in err,
                   f"hostile files: {event}", code, out, err)
        code, out, err = run(d, "--resolve", "bad/nonl=3/,bad/ok/")
        report(code == 0 and out.count("type=77 config=0x3 ") == 2, "hostile files: a file without a final newline is valid", out, err)
        code, out, err = run(d)
        report(code == 0 and "bad/ok/" in out and "\x1b" not in out, "hostile files: the list contains the valid events and no escape sequence", code, err)


def t_list():
    code, out, err = run(os.path.join(PMUS, "intel"))
    names = [x.split()[0] for x in out.splitlines()]
    report(code == 0 and not err and len(names) == len(set(names)), "the list: each name occurs once", err)
    want = ["cycles", "L1-dcache-load-misses", "cpu-clock", "cpu/mem-loads/", "i915/rcs0-busy/", "uncore_imc_10/cas_count_read/",
            "rNNN", "duration_time", "sched:sched_switch"]
    at = [names.index(w) if w in names else -1 for w in want]
    report(-1 not in at and at[:4] == sorted(at[:4]) and at[-1] == max(at), "the list: has all kinds of events, with tracepoints last", at)
    report("i915/actual-frequency/" in out and re.search(r"i915/actual-frequency/ +MHz ", out) is not None, "the list: the unit M of i915 is shown as MHz")
    report(re.search(r"^cpu/TERM=N,\.\.\./ +PMU, type 4: .*\bevent=config:0-7\b", out, re.M) is not None,
           "the list: has the type of each PMU and the bits of its terms", out)
    _, out, _ = run(os.path.join(PMUS, "odd"), "hv_24x7*")
    report("hv_24x7/PM_READ,chip=?/" in out and "cycles" not in out, "the list: parameters are shown, and a pattern selects events", out)
    _, out, _ = run(os.path.join(PMUS, "none"), "cycles")
    report(out == "", "the list: has no hardware events without a core PMU", out)
    failures = []
    for tree in "intel", "xe", "hybrid":
        _, out, _ = run(os.path.join(PMUS, tree))
        for n in (x.split()[0] for x in out.splitlines()):
            if re.match(r"rNNN|TYPE|PMU/|mem:|uprobe:|kprobe:|gpu-|proc/|gpu\d|.*/TERM=N", n):
                continue
            if run(os.path.join(PMUS, tree), "--resolve", n)[0] != 0:
                failures.append(n)
    report(not failures, "the list: every event can be resolved", failures)


def t_second():
    """Compares each event that event_eval.py generates for the machines."""
    total = 0
    for tree in "intel", "xe", "hybrid", "odd", "none":
        groups = {}
        # on hybrid machines a generic event is resolved for each kind of CPU; see t_hybrid()
        for group, event, want in event_eval.events(os.path.join(PMUS, tree), tree != "hybrid"):
            code, out, err = run(os.path.join(PMUS, tree), "--resolve", "--", event)
            lines = out.splitlines()
            good = len(lines) == 1 and set(lines[0][lines[0].rindex("type="):].split()) == want
            rows = groups.setdefault(group, [])
            rows.append(None if code == 0 and err == "" and good else (event, sorted(want), out, err))
        for group, rows in groups.items():
            total += len(rows)
            report(not any(rows), f"{tree}: {group}: {len(rows)} events have the attributes of the second resolver", *[r for r in rows if r][:5])
    report(total >= 700, f"{total} events were compared with the second resolver")


def shared_rows():
    for tree in sorted(os.listdir(SHARED)):
        path = os.path.join(SHARED, tree, "expected-perf6.1.tsv")
        if os.path.exists(path):
            for line in open(path, encoding="utf-8"):
                if line[0] != "#":
                    event, want = line.rstrip("\n").split("\t")[:2]
                    yield tree, event, want
        path = os.path.join(SHARED, tree, "expected.txt")
        if os.path.exists(path):
            for line in open(path, encoding="utf-8"):
                event, want = line.rstrip("\n").split(" ", 1)
                yield tree, event, re.sub(r"=0x0+(?=[0-9a-f])", "=0x", want)
    for line in open(os.path.join(SHARED, "grammar.tsv"), encoding="utf-8"):
        if line[0] != "#":
            tree, event, verdict, want = line.rstrip("\n").split("\t")[:4]
            yield tree, event, want if verdict == "ok" else "ERROR"


# Events that perf 6.1 resolves wrongly or refuses: event_source/README.md.
BETTER = {
    "cpu/mem-loads,ldlat=30/": attr(4, 0x1cd, 0x1e),
    "cpu/config=0x3c,event=0x1/": attr(4, 1),
    "uncore_imc_*/cas_count_read/": " + ".join(attr(t, 0x304) for t in range(30, 36)),
    "{cycles": "ERROR",
}


def t_shared():
    trees = {}
    rows = list(shared_rows())
    with tempfile.TemporaryDirectory() as d:
        for tree, event, want in rows:
            if tree not in trees:
                trees[tree] = os.path.join(d, tree)
                os.makedirs(trees[tree] + "/bus/event_source")
                os.symlink(os.path.join(os.path.realpath(SHARED), tree, "devices"), trees[tree] + "/bus/event_source/devices")
                ids = {"sched:sched_switch": 0x174, "syscalls:sys_enter_openat": 0x30e}
                ids.update({f"sched:sched_{i:x}": i for i in range(0x163, 0x17d) if i != 0x174})
                for name, i in ids.items():
                    p = trees[tree] + "/kernel/tracing/events/" + name.replace(":", "/")
                    os.makedirs(p)
                    with open(p + "/id", "w", encoding="utf-8") as f:
                        f.write(f"{i}\n")
            if event == "perf-pmu-test/test-event/" and want == "ERROR":
                continue
            want = BETTER.get(event, want)
            code, out, err = run(trees[tree], "--resolve", "--", event)
            got = [re.sub(r".*? (?=type=)| (period|freq)=\d+", "", x) for x in out.splitlines()]
            if want == "ERROR":
                ok = code == 2 and not out and len(err) > 10
            elif "{" in event:  # perf's output ends with the group leader
                ok = code == 0 and got[:len(want.split(" + "))] == want.split(" + ")
            else:
                ok = code == 0 and sorted(got) == sorted(want.split(" + "))
            report(ok, f"{tree}: {event}", want, out, err)


for t in (t_names, t_hybrid, t_terms, t_probes, t_gpus, t_wrong, t_hostile, t_list, t_second):
    t()
if os.path.isdir(SHARED):
    t_shared()
else:
    skip("events that perf resolved", "no ../shared/event_source")
finish()
