#!/usr/bin/env python3
# t_pmuevents.py PROG - contrib/pmu-events converts hand-written tables of events in perf's format
# into
# a file for --pmu-file, which the program then reads. Prints TAP. SPDX-License-Identifier: MIT
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import finish, needs, report  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
needs(PROG, "events")
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONVERT = os.path.join(HERE, "..", "contrib", "pmu-events")

CORE = [
    {"EventName": "SLOTS.ISSUED", "EventCode": "0x0E", "UMask": "0x01", "SampleAfterValue": "2000003", "CounterMask": "0",
     "Invert": "0", "BriefDescription": "text"},
    {"EventName": "STALLS.NONE", "EventCode": "0x0E", "UMask": "0x1", "CounterMask": "2", "Invert": "1", "EdgeDetect": "1"},
    {"EventName": "LOADS.SLOW", "EventCode": "0xcd", "UMask": "0x1", "MSRIndex": "0x3F6", "MSRValue": "0x80"},
    {"EventName": "TWO.CODES", "EventCode": "0xb7, 0xbb", "UMask": "0x1", "MSRIndex": "0x1a6,0x1a7", "MSRValue": "0x00"},
    {"EventName": "NO.CODE"},
    {"EventName": "BAD.CODE", "EventCode": "many"},
    {"EventName": "A NAME", "EventCode": "1"},
    {"MetricName": "IPC", "MetricExpr": "a / b"},
    {"ArchStdEvent": "STD_ONE"},
    {"ArchStdEvent": "STD_TWO", "EventCode": "0x33"},
    {"ArchStdEvent": "STD_NONE"},
]
UNCORE = [{"Unit": "iMC", "EventName": "CAS.READ", "EventCode": "0x4", "UMask": "0x3", "PerPkg": "1"}]
STANDARD = [{"EventName": "STD_ONE", "EventCode": "0x11"}, {"EventName": "STD_TWO", "EventCode": "0x22"}]
WANT = """\
# NAME EVENT, for gpustat --pmu-file
cas.read uncore_imc/event=0x4,umask=0x3/
loads.slow cpu/event=0xcd,umask=0x1,ldlat=0x80/
slots.issued cpu/event=0xe,umask=0x1/
stalls.none cpu/event=0xe,umask=0x1,cmask=0x2,inv=0x1,edge=0x1/
std_one cpu/event=0x11/
std_two cpu/event=0x33/
two.codes cpu/event=0xb7,umask=0x1/
"""


def run(*argv):
    r = subprocess.run(argv, capture_output=True, timeout=60, check=False, encoding="utf-8")
    return r.returncode, r.stdout, r.stderr


def main():
    with tempfile.TemporaryDirectory() as top:
        def put(name, data):
            path = os.path.join(top, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(data if isinstance(data, str) else json.dumps(data))
        put("cpu/core.json", CORE)
        put("cpu/uncore.json", UNCORE)
        put("cpu/readme.txt", "no table")
        put("cpu/odd.json", {"EventName": "X"})
        put("std/all.json", STANDARD)
        code, out, err = run(CONVERT, f"{top}/cpu", f"{top}/std")
        report((code, out) == (0, WANT), "the tables of a CPU are converted", code, out, err)
        report(err == "pmu-events: 4 events have no code and are left out\n", "events that are left out are counted in a message", code, "", err)
        put("events", out)
        names = [x.split()[0] for x in WANT.splitlines()[1:]]
        code, out, err = run(PROG, "events", "--sys", f"{HERE}/pmus/intel", "--pmu-file", f"{top}/events", "--resolve", "--",
                             ",".join(names[1:4]))
        want = ["loads.slow type=4 config=0x1cd config1=0x80 config2=0", "slots.issued type=4 config=0x10e config1=0 config2=0",
                "stalls.none type=4 config=0x284010e config1=0 config2=0"]
        report((code, out.splitlines(), err) == (0, want, ""), "the program resolves the converted events", code, out, err)
        code, out, err = run(PROG, "events", "--sys", f"{HERE}/pmus/intel", "--pmu-file", f"{top}/events", "--resolve", "--",
                             "cas.read:u")
        report(code == 0 and out and all(" config=0x304 " in x for x in out.splitlines()), "an event of an uncore PMU is resolved for all instances",
               code, out, err)
        code, out, err = run(CONVERT, "--pmu", "armv8_x", f"{top}/cpu", f"{top}/std")
        report(code == 0 and "\nstd_one armv8_x/event=0x11/\n" in out, "another PMU", code, out, err)
        code, out, err = run(CONVERT, f"{top}/std/none")
        report(code == 1 and not out, "a folder that does not exist is an error", code, out, "")
        put("empty/a.json", [])
        code, out, err = run(CONVERT, f"{top}/empty")
        report(code == 1, "no event", code, out, err)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
