#!/usr/bin/env python3
# t_exit.py PROG - the table of exit statuses in gpustat(1): tests each status with each command
# that can return it. The machine is a captured one, see tests/trees. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import resource
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import HERE, TREES, check, eq, parse_json, run, test  # noqa: E402

TREE = ["--proc", f"{TREES}/i915/proc", "--sys", f"{TREES}/i915/sys"]
NOWHERE = ["--proc", "/nonexistent", "--sys", "/nonexistent"]
FULL, NO_FILE = ["-O", "/dev/full"], ["-O", "/nonexistent/x"]
SOME, NONE = ["card0,card9"], ["card9"]
FEW = 6  # limit of descriptors that is too low for all files
W = ["-w", "1ms"]
LIVE = {0: [TREE], 1: [NOWHERE, TREE + FULL, TREE + NO_FILE, TREE + ["-d", *SOME], FEW],
        2: [["--nonsense"], TREE + ["-f", "nope"], TREE + ["0"]], 3: [TREE + ["-d", *NONE], "empty"]}
# A row has the words of a command and, for each exit status, the options that lead to it. FEW: the
# options of status 0, in a run with few descriptors. "empty": /proc and /sys without files.
ROWS = [
    (W, LIVE), (["procs", *W], LIVE), (["clients", *W], LIVE), (["cgroups", *W], LIVE),
    (["list"], {**LIVE, 2: [["--nonsense"], ["extra"], TREE + ["-f", "nope"]]}),
    (["fdinfo"], {0: [[f"{TREES}/i915/proc/3001/fdinfo/4"]], 1: [["/nonexistent"], [f"{HERE}/levels"]],
                  2: [[], ["--nonsense"], ["-f", "nope", "-"]]}),
    (["counters"], {0: [TREE, "empty"], 1: [NOWHERE, TREE + ["nosuch"], TREE + FULL, TREE + NO_FILE, FEW],
                    2: [["--nonsense"], TREE + ["-d", "0"]]}),
    (["host", *W], {0: [TREE, "empty"], 1: [NOWHERE, TREE + FULL, TREE + NO_FILE, FEW],
                    2: [["--nonsense"], TREE + ["-f", "nope"], TREE + ["-d", "0"]]}),
    (["doctor"], {0: [TREE, "empty", FEW], 1: [NOWHERE, TREE + FULL, TREE + NO_FILE], 2: [["--nonsense"], TREE + ["-f", "nope"]]}),
    (["top", "-n", "1", "-d", "1ms"], {0: [TREE], 1: [NOWHERE, TREE + ["--device", *SOME], FEW], 2: [["--nonsense"], TREE + ["-O", "x"]],
                                       3: [TREE + ["--device", *NONE], "empty"]}),
    (["events"], {0: [TREE, "empty"], 1: [NOWHERE, TREE + ["nosuchevent"], TREE + ["--device", *SOME], FEW],
                  2: [["--nonsense"], TREE + ["a", "b"], TREE + ["--resolve", "nosuch"]]}),
    (["stat", *W, "-e", "cpu-clock,task-clock,page-faults", "-a"],
     {0: [[]], 1: [NOWHERE, FULL, NO_FILE, FEW], 2: [["--nonsense"], ["-f", "nope"], ["-e", "nosuch"]], 4: [["-C", "4000"]]}),
    (["sample", "--timeout", "1", "-e", "cpu-clock,task-clock,page-faults", "-a"],
     {0: [[]], 1: [NOWHERE, FULL, NO_FILE, FEW], 2: [["--nonsense"], ["-f", "nope"], ["-e", "nosuch"]], 4: [["-C", "4000"]]}),
    (["stat", "-e", "cpu-clock"], {0: [["--", "true"]], 1: [["--", "false"]], 2: [["--nonsense", "--", "true"]],
                                   4: [["-C", "4000", "--", "true"]], 126: [["--", "/etc/passwd"]],
                                   127: [["--", "/nonexistent/x"]], 137: [["--", "sh", "-c", "kill -9 $$"]]}),
    (["sample", "-e", "cpu-clock"], {0: [["--", "true"]], 1: [["--", "false"]], 4: [["-C", "4000", "--", "true"]],
                                     126: [["--", "/etc/passwd"]], 127: [["--", "/nonexistent/x"]]}),
    (["run"], {0: [["--", "true"]], 1: [["--", "false"], NO_FILE + ["--", "true"]], 2: [["--nonsense"], TREE + ["--", "true"]],
               126: [["--", "/etc/passwd"]], 127: [["--", "/nonexistent/x"]], 137: [["--", "sh", "-c", "kill -9 $$"]]}),
    (["oa", "list"], {0: [TREE, "empty"], 1: [NOWHERE, TREE + FULL, TREE + NO_FILE, TREE + ["-d", *SOME], FEW],
                      2: [["--nonsense"], TREE + ["nosuch"], ["a", "b"]], 3: [TREE + ["-d", *NONE]]}),
    (["oa"], {0: [["--replay", f"{HERE}/oa/skl.rec"]], 1: [NOWHERE, ["--replay", "/nonexistent"], ["--replay", f"{HERE}/levels"]],
              2: [["--nonsense"], ["--replay", f"{HERE}/oa/skl.rec", "-f", "nope"]], 3: [TREE + ["-d", *NONE], "empty"]}),
    (["oa", "stalls"], {0: [["--replay", f"{HERE}/oa/stalls.rec"]], 1: [NOWHERE, ["--replay", "/nonexistent"]],
                        2: [["--nonsense"]], 3: [TREE + ["-d", *NONE], TREE, "empty"]}),
    (["munin"], {0: [TREE], 1: [NOWHERE, TREE + ["-d", *SOME], FEW], 2: [["--nonsense"], TREE + ["nope"]],
                 3: [TREE + ["-d", *NONE], "empty"]}),
    (["check", "-m", "clients"], {0: [TREE], 3: [NOWHERE, ["--nonsense"], TREE + ["-d", *SOME], TREE + ["-d", *NONE], "empty", FEW]}),
    (["check", "-m", "clients", "-w", "@0:99"], {1: [TREE]}),
    (["check", "-m", "clients", "-c", "@0:99"], {2: [TREE]}),
    (["capture"], {0: [TREE, "empty"], 1: [NOWHERE, TREE + FULL, TREE + NO_FILE, FEW], 2: [["--nonsense"], TREE + ["extra"]]}),
    (["plot"], {0: [[f"{HERE}/plots/small.csv"]], 1: [["/nonexistent"], [f"{HERE}/levels"]], 2: [["--nonsense"], []]}),
]


def limited(n):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


def name(words):
    return next((w for w in words[:1] if not w.startswith("-")), "")


def counts(words):
    """True if the command needs a kernel that counts events."""
    return words[0] in ("stat", "sample")


def make(words, rows):
    mark = machine.live if counts(words) else lambda f: f

    @mark
    @test(f"exit: the statuses of gpustat {' '.join(words)}")
    def _(m):
        if name(words) in tap.left_out(machine.PROG):
            raise machine.Skip(f"not built in: {name(words)}")
        empty = ["--proc", m.path("none/proc"), "--sys", m.path("none/sys")]
        os.makedirs(m.path("none/proc"))
        os.makedirs(m.path("none/sys"))
        for code, runs in rows.items():
            for how in runs:
                args = words + (rows.get(0, [TREE])[0] if how == FEW else empty if how == "empty" else how)
                r = run(args, preexec_fn=limited(FEW) if how == FEW else None)
                eq(r.code, code, f"{args}{', few descriptors' if how == FEW else ''}: {r!r}")
                if how == FEW:
                    check(b"Too many open files (RLIMIT_NOFILE)" in r.err + r.out, f"{args}: no message of descriptors: {r!r}")


for words_, rows_ in ROWS:
    make(words_, rows_)


@machine.live
@test("exit: with any number of descriptors, stat exits with 0 only if each event has a value")
def _(m):
    machine.built_in("stat")
    events = "cpu-clock,task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults,alignment-faults"
    codes = set()
    for n in range(5, 40):
        r = run(["stat", "-a", "-e", events, "-w", "1ms", "-o", "json"], preexec_fn=limited(n))
        recs = parse_json(r.out)
        eq(r.code, int(any(x["value"] is None for x in recs)), f"{n} descriptors: {r!r}")
        eq([x["running"] for x in recs if x["value"] is None and x["running"] is not None], [], f"{n}: running without a value")
        codes.add(r.code)
    check(1 in codes, "no limit of descriptors was too low")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_exit.py PROG")
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
