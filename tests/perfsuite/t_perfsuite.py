#!/usr/bin/env python3
# t_perfsuite.py PROG - runs perf's own tests with gpustat in the place of perf: the shell tests and
# the tests of perf_event_attr in tools/perf/tests of two versions of Linux, from Debian's packages.
# The script `perf` beside this file translates the arguments. docs/perf.md has the tables of what
# passes; a result that differs from them, better or worse, is a failure. Prints TAP; exit 0 if all
# tests pass. ONLY=TEXT in the environment: only the tests with TEXT in their names.
# SPDX-License-Identifier: MIT
import configparser
import contextlib
import fnmatch
import functools
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import warnings

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import Skip, check, eq  # noqa: E402

OWN = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(machine.HERE), "docs", "perf.md")
SOURCE = "/usr/src/linux-source-6.12.tar.xz"
# The folders of the tests by version of Linux; set by main.
SUITES = {}
# Shell tests that run as the machine is; with clocks that stand in for hardware events; or both.
PLAIN, CLOCKS = [""], ["1"]
RUNS = {"stat_all_pmu.sh": PLAIN, "stat.sh": CLOCKS, "stat+shadow_stat.sh": CLOCKS, "stat+csv_summary.sh": CLOCKS}
# A result that a shell test prints.
RESULT = re.compile(r"(?:.*Checking \S+ output: )?(.+?) \[(Success|Skip|Fail)[^]]*\]", re.I)
ATTRS = None  # the program of attrs.c; set by main


# --- the tables -----------------------------------------------------------------------------------

def table(title):
    """The rows of the page's table below a heading, as lists of cells."""
    with open(PAGE, encoding="utf-8") as f:
        part = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", f.read(), re.M | re.S)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    return rows[0], rows[2:]


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def expected(version):
    """By shell test: how many checks pass, of how many, the checks that have no counterpart."""
    head, rows = table("Shell tests")
    at = head.index(f"Linux {version}")
    return {names(row[0])[0]: (*map(int, row[at].split(" of ")), names(row[-1])) for row in rows if row[at]}


# --- shell tests ----------------------------------------------------------------------------------

def environment(m, **more):
    folder = m.path("bin")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "perf")):
        os.symlink(os.path.join(OWN, "perf"), os.path.join(folder, "perf"))
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "GPUSTAT": machine.PROG, "ATTRS": ATTRS or "", "TMPDIR": m.path(""),
            **more}


def counts():
    if machine.run(["stat", "-a", "-e", "page-faults", "-w", "0.01"]).code:
        raise Skip("perf events of the machine are denied here")


def clocks():
    """True if programs can be traced on this machine."""
    if not ATTRS:
        raise Skip("needs package gcc")
    if subprocess.run([ATTRS, "-", "0", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("processes cannot be traced here")


@functools.cache
def few_tasks():
    """The words that run a command where it sees no other tasks: the tests list all threads."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with contextlib.suppress(OSError):
        if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return words
    return []


def shell(m, version, name, stand_in):
    counts()
    if stand_in:
        clocks()
    passes, of, absent = expected(version)[name]
    p = subprocess.run([*few_tasks(), "bash", os.path.join(SUITES[version], "shell", name)], env=environment(m, STAND_IN=stand_in), cwd=m.path(""),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    out = p.stdout.decode(errors="replace")
    seen = [RESULT.fullmatch(line) for line in out.splitlines()]
    results = [(r[1], r[2].lower()) for r in seen if r] or [("", {0: "success", 2: "skip"}.get(p.returncode, "fail"))]
    absent = [which for which in absent if which in dict(results)]
    bad = [which for which, how in results if how == ("success" if which in absent else "fail")]
    check(not bad, f"exit code {p.returncode}, other than the table says: {bad}\n{out[-1200:]}")
    eq(len(results), of, f"checks: {out[-1200:]}")
    eq(of - len(absent), passes, f"checks that pass, according to the table without {absent}")
    done = [how for which, how in results if which not in absent]
    print(f"# proof: perf's {name}, Linux {version}{', clocks as hardware events' if stand_in else ''} = {done.count('success')} of {of}" +
          (f", {done.count('skip')} of them skipped on this machine" if "skip" in done else "") +
          (f"; no counterpart: {', '.join(absent)}" if absent else ""))


def classed(version):
    """Every shell test is in one of the two tables, and every row names one."""
    files = {os.path.basename(path) for path in glob.glob(os.path.join(SUITES[version], "shell", "*.sh"))}
    run = set(expected(version))
    others = {pattern for row in table("Shell tests that do not apply")[1] for pattern in names(row[0])}
    eq(run - files, set(), "tests in the table that do not exist")
    left = {f for f in files - run if not any(fnmatch.fnmatch(f, p) for p in others)}
    eq(left, set(), "tests in neither table")
    eq({f for f in run if any(fnmatch.fnmatch(f, p) for p in others)}, set(), "tests in both tables")
    print(f"# proof: perf's shell tests that do not apply, Linux {version} = {len(files - run)} of {len(files)}")


# --- tests of perf_event_attr ---------------------------------------------------------------------

def attr_module(folder):
    """perf's attr.py, as a module."""
    if not hasattr(configparser, "SafeConfigParser"):  # Python 3.12 and later
        configparser.SafeConfigParser = configparser.ConfigParser
    spec = importlib.util.spec_from_file_location("perf_attr", os.path.join(folder, "attr.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.setup_log(0)
    return module


def differing(module, event, others):
    """The members in which an event differs from the most similar one of others."""
    def terms(other):
        return [t for t in module.Event.terms if not module.data_equal(event[t], other[t])]
    def other_event(members):
        return bool({"type", "config"} & set(members))
    least = min(map(terms, others), key=lambda members: (other_event(members), len(members)), default=["type"])
    return {"event"} if other_event(least) else set(least)


def attr_result(module, folder, name, m):
    """Returns the cell of a test's table row: "as perf", "no counterpart", or the members that
    differ."""
    perf = "env " + " ".join(f"{key}='{value}'" for key, value in environment(m, PERF_ATTR_SIZE=attr_size(folder)).items()
                             if key in ("GPUSTAT", "ATTRS", "PERF_ATTR_SIZE")) + " " + os.path.join(OWN, "perf")
    path = os.path.join(folder, "attr", name)
    t = module.Test(path, types.SimpleNamespace(test_dir=os.path.join(folder, "attr"), perf=perf))
    try:
        t.run()
        return "as perf"
    except module.Unsup:
        return "no counterpart"
    except module.Notest:
        return "other architecture"
    except module.Fail:
        return " ".join(sorted({term for one, two in ((t.expect, t.result), (t.result, t.expect))
                                for event in one.values() if not event.optional()
                                for term in differing(module, event, two.values())}))


def attr_size(folder):
    """The size of perf_event_attr in that version of Linux."""
    with open(os.path.join(folder, "attr", "base-stat"), encoding="ascii") as f:
        return re.search(r"^size=(\d+)$", f.read(), re.M)[1]


def attributes(m, version):
    counts()
    clocks()
    machine.package("kill", "procps")
    if os.path.exists("/sys/bus/event_source/devices/cpu_core"):
        raise Skip("CPUs of two kinds: perf does not run these tests there either")
    folder = SUITES[version]
    rows = table("Attributes of events")[1]
    # an event of :S is not inherited before Linux 6.12, whichever program asks for it
    always = {"inherit"} if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12) else set()
    want = {pattern: " ".join(sorted(set(names(row[1])) - always)) or row[1] for row in rows for pattern in names(row[0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # perf's script uses old names
        module = attr_module(folder)
        found = {}
        for path in sorted(glob.glob(os.path.join(folder, "attr", "test-*"))):
            name = os.path.basename(path)[5:]
            row = [want[p] for p in want if fnmatch.fnmatchcase(name, p) or p == f"{name}@{version}"]
            eq(len(row), 1, f"rows of {name}")
            found[name] = attr_result(module, folder, os.path.basename(path), m), row[0]
    wrong = {name: f"{got}; the table says {row}" for name, (got, row) in found.items() if got not in ("other architecture", row)}
    eq(wrong, {}, "results")
    got = [result for result, _ in found.values()]
    rest = [got.count("no counterpart"), got.count("other architecture")]
    print(f"# proof: perf's tests of perf_event_attr, Linux {version} = {got.count('as perf')} as perf, "
          f"{len(got) - got.count('as perf') - sum(rest)} with known differences, {rest[0]} without counterpart, "
          f"{rest[1]} for other architectures")


# --- running --------------------------------------------------------------------------------------

def suites(folder):
    """Finds the tests of two versions: installed with perf, and in the kernel's source."""
    found = {"6.1": next(iter(glob.glob("/usr/lib*/perf-core/tests")), None), "6.12": None}
    if os.path.exists(SOURCE):
        subprocess.run(["tar", "-C", folder, "--use-compress-program=xz -dT0", "-xf", SOURCE, "--strip-components=4", "--wildcards",
                        "*/tools/perf/tests/shell", "*/tools/perf/tests/attr*"], check=True)
        found["6.12"] = folder
    return found


def tracer(folder):
    prog = os.path.join(folder, "attrs")
    if shutil.which("cc") is None:
        return None
    subprocess.run(["cc", "-O1", "-o", prog, os.path.join(OWN, "attrs.c")], check=True)
    return prog


def on_suite(version, f, *args):
    def one(m):
        if not SUITES[version]:
            raise Skip("needs package " + {"6.1": "linux-perf", "6.12": "linux-source-6.12"}[version])
        f(m, version, *args)
    return one


def tests():
    for version in SUITES:
        yield f"Linux {version}: the tables have all shell tests", on_suite(version, lambda _m, v: classed(v)), False
        for name in expected(version):
            for stand_in in RUNS.get(name, PLAIN + CLOCKS):
                yield f"Linux {version}: {name}{', clocks as hardware events' if stand_in else ''}", on_suite(version, shell, name, stand_in), True
        yield f"Linux {version}: attributes of events", on_suite(version, attributes), True


def main(prog):
    global ATTRS
    tap.needs(prog, "stat")
    tap.needs(prog, "sample")
    with tempfile.TemporaryDirectory(prefix="gpustat-perfsuite-") as folder:
        SUITES.update(suites(folder))
        ATTRS = tracer(folder)
        return machine.main(prog, list(tests()), workers=2)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_perfsuite.py PROG")
    sys.exit(main(os.path.abspath(sys.argv[1])))
