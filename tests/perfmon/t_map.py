#!/usr/bin/env python3
# t_map.py PROG - events --map: the table that is selected on each machine of tests/pmus, the user's
# own file, and errors in this file. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import finish, needs, report  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
needs(PROG, "events")
PMUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pmus")
PROC = os.path.join(os.path.dirname(PMUS), "trees", "mixed", "proc")


def run(*args, file=None):
    env = {k: v for k, v in os.environ.items() if k != "GPUSTAT_PMU_MAP"}
    if file is not None:
        env["GPUSTAT_PMU_MAP"] = file
    roots = [] if "--sys" in args else ["--sys", os.path.join(PMUS, "intel")]
    r = subprocess.run([PROG, "events", *args, *roots, "--proc", PROC], env=env, capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout.decode("utf-8", "replace"), r.stderr.decode("utf-8", "replace")


def t_machines():
    for tree, table, fits, line in [
            ("intel", "intel", "cpu/event=1,cmask=1/", "pmd 7 pmc 7 event cpu/event={0-7},umask={8-15},edge={18},pc={19},"
             "inv={23},cmask={24-31}/ enable=22 user=16 kernel=17"),
            ("hybrid", "intel-hybrid", "cpu_core/event=1,cmask=1/", "pmd 16 pmc 16 event cpu_core/event=0xc0/ enable=0-1 user=1 kernel=0"),
            ("odd", "armv8-cortex", "armv8_cortex*/event=1/", "pmd 0 pmc 0 event armv8_cortex*/event={0-15}/ enable=0-15 user=!30 kernel=!31"),
            ("none", "software", None, "pmd 9 pmc 9 event 1:{0-7} user=!30 kernel=!31")]:
        code, out, err = run("--map", "-v", "--sys", os.path.join(PMUS, tree))
        lines = out.splitlines()
        report(code == 0 and err == "" and lines[0] == f"table {table}" and line in lines, f"{tree}: the table is {table}", code, out, err)
        report(lines[1] == f"fits {fits}" if fits else "fits" not in out, f"{tree}: -v prints the event that the table fits", out)
        report("pmd 256 counter CPU 0 utilization" in lines, f"{tree}: the table has virtual registers", out)
        plain = run("--map", "--sys", os.path.join(PMUS, tree))[1].splitlines()
        report(plain == [x for x in lines if not x.startswith("fits ")], f"{tree}: without -v the event that the table fits is not printed", plain)


def with_file(text, *args):
    with tempfile.NamedTemporaryFile("wb") as f:
        f.write(text.encode())
        f.flush()
        code, out, err = run("--map", *args, file=f.name)
        return code, out, err.replace(f.name, "FILE")


def t_own():
    _, builtin, _ = run("--map", "--sys", os.path.join(PMUS, "intel"))
    report(builtin.count("\n") > 20 and with_file(builtin) == (0, builtin, ""), "the printed table can be read as a file, and the result is the same table")
    report(run("--map", file="") == run("--map"), "an empty file name is ignored")
    code, out, err = with_file("table mine # of this board\npmc 3 mask 0-3 default 0x2\npmd 1-2 pmc 3 event {0-3} user=3\n")
    report((code, out, err) == (0, "table mine\npmc 3 mask 0-3 default 0x2\npmd 1 pmc 3 event {0-3} user=3\n"
                                   "pmd 2 pmc 3 event {0-3} user=3\n", ""), "a file's ranges are expanded to one line per register", code, out, err)
    code, out, err = with_file("table other\nfits no-such-event\ntable mine\nfits task-clock\npmd 0 event cycles\n")
    report((code, out) == (0, "table mine\npmd 0 event cycles\n"), "the first table that fits is used", code, out, err)


def t_wrong():
    for text, line, word in [("pmc 0\npmx 1\n", 2, "table"), ("pmd 0 pmc 0 event a\n", 1, "PMC"), ("\n\npmc 400\n", 3, "319"),
                             ("table a\nfits no-such-event\ntable\n", 3, "name")]:
        code, out, err = with_file(text)
        report(code == 2 and out == "" and err.startswith(f"gpustat: FILE: line {line}: ") and word in err and err.count("\n") == 1,
               f"a malformed file: the message has the line: {text!r}", code, out, err)
    for text, word in [("", "fits"), ("# nothing\n", "fits"), ("table a\nfits no-such-event\n", "fits"),
                       ("#" * 70000, "64 KiB")]:
        code, out, err = with_file(text)
        report(code == 2 and out == "" and err.startswith("gpustat: FILE: ") and word in err, f"a file without a usable table is an error: {text[:30]!r}", code, out, err)
    code, out, err = run("--map", file="/nowhere")
    report(code == 2 and out == "" and "/nowhere: cannot be read" in err, "a missing file is an error", code, out, err)
    code, out, err = run("--map", "-q", file="/nowhere")
    report(code == 2 and err != "", "-q does not suppress the error of a missing file", code, out, err)


def t_words():
    for args in (["--map", "cycles"], ["--map", "--resolve", "cycles"], ["--map=1"], ["--perfmon"], ["--perfmon", "--resolve", "cycles"]):
        code, out, err = run(*args)
        report(code == 2 and out == "" and err.count("\n") == 1, f"invalid combination of arguments: {args}", code, out, err)
    r = subprocess.run([PROG, "list", "--map"], capture_output=True, timeout=60, check=False)
    report(r.returncode == 2 and r.stdout == b"", "list does not accept --map", r)


def t_perfmon():
    """Compares with perfmon2's mappings_show(): PMC%u:0x%llx:0x%llx:%s, then the same for PMDs."""
    code, out, err = with_file("table mine\npmc 3 mask 0-3,8 default 0x2\npmd 1-2 pmc 3 event {0-3} user=3\n"
                               "pmd 300 counter GPU 0 utilization\n", "--perfmon")
    report((code, out, err) == (0, "PMC3:0x2:0x10f:configures PMD1 PMD2\nPMD1:0x0:0xffffffffffffffff:{0-3}\n"
                                   "PMD2:0x0:0xffffffffffffffff:{0-3}\nPMD300:0x0:0xffffffffffffffff:GPU 0 utilization\n", ""),
           "--perfmon prints the registers in the form of /proc/perfmon_map", code, out, err)
    lines = run("--map", "--perfmon", "--sys", os.path.join(PMUS, "intel"))[1].splitlines()
    form = re.compile(r"PM[CD]\d+:0x[0-9a-f]+:0x[0-9a-f]+:[^\n]+")
    report(len(lines) > 20 and all(form.fullmatch(x) for x in lines) and
           lines[0] == "PMC0:0x0:0xffdfffff:configures PMD0", "--perfmon: each register has one line with four parts", lines)
    report(lines == sorted(lines, key=lambda x: (x[2], int(re.search(r"\d+", x)[0]))), "--perfmon: PMCs come first, and registers are sorted by number", lines)


def t_counters():
    """A virtual PMD is available only if the catalogue has a counter with exactly its name."""
    lines = run("--map")[1].splitlines()
    wanted = [l.split(" counter ", 1)[1] for l in lines if " counter " in l]
    r = subprocess.run([PROG, "counters", "-o", "csv", "-f", "name", "-H"], capture_output=True, timeout=60, check=False)
    names = r.stdout.decode().splitlines()
    report(len(wanted) == 8 and set(wanted) <= set(names), "each virtual PMD has the name of a counter", set(wanted) - set(names))


t_machines()
t_counters()
t_perfmon()
t_own()
t_wrong()
t_words()
finish()
