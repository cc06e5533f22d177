#!/usr/bin/env python3
# t_mutate.py PROG - tests/mutate: the faults that it finds in a text; and the unit tests in C
# notice ten of them in some sources. make mutate tries 300 in all sources, with all tests.
# SPDX-License-Identifier: MIT
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
import tap  # noqa: E402

loader = importlib.machinery.SourceFileLoader("mutate", os.path.join(HERE, "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)

# Small sources with unit tests that take less than a second; ten faults take half a minute of CPU time.
FILES = ["sources/drm/kfd.c", "sources/drm/processes.c", "commands/shared/ticks.c", "views/summary.c", "sources/os/tree.c"]
TEXTS = (
    ("if (a < b)", {("<=", "comparison")}),
    ("a = b->c << 2;", {("3", "constant")}),
    ("x = 1000 * y;", {("1001", "constant"), ("10", "unit")}),
    ("x = 1000000 * y;", {("1000001", "constant"), ("10000", "unit")}),
    ("x = a + 0xff;", {("-", "sign"), ("0x100", "constant")}),
    ("return -EINVAL;", {("", "sign")}),
    ("return -1;", {("", "sign")}),
    ("char b[64];", set()),
    ("\tdir_close(&d);", {(";", "removed call")}),
    ("\tif (dir_close(&d))", set()),
    ("/* a < 1 */ f(\"a < 1\", '<'); // it's", set()),
    ("#define A (1 + 2)\n#if A > 2 && \\\n    B\n#endif", set()),
    ("_Static_assert(A < 2, \"a\");", set()),
)


def texts():
    wrong = []
    for text, want in TEXTS:
        got = {(new, kind) for _, _, new, kind in mutate.places(text)}
        if got != want:
            wrong.append(f"{text}: {got}")
    tap.report(not wrong, "the expected faults of each text are found", *wrong)


def chosen():
    faults = [f for file in mutate.sources([]) for f in mutate.faults(file)]
    names = [f.name for f in faults]
    first = sorted(faults, key=lambda f: mutate.order(1, f))[:1000]
    kinds = {f.kind for f in first}
    tap.report(len(names) == len(set(names)), "the names of faults are unique")
    tap.report(kinds == {"comparison", "constant", "unit", "sign", "removed call"}, "the first thousand faults are of all kinds", kinds)
    empty = [name for name, why in mutate.judged().items() if not why]
    tap.report(mutate.judged() and not empty, "tests/mutants: each fault has a reason", *empty)


def tried():
    ran = subprocess.run([os.path.join(HERE, "mutate"), "-u", "-n", "10", *FILES], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         check=False, timeout=500)
    said = ran.stdout.decode(errors="replace")
    total = re.search(r"^10 faults, \d+ caught", said, re.M)
    tap.report(ran.returncode == 0 and total, "the unit tests notice ten faults in small sources", *said.splitlines())


texts()
chosen()
if shutil.which(os.environ.get("PLAIN", "musl-gcc").split()[0]) is None:
    tap.skip("the unit tests notice ten faults in small sources", "needs package musl-tools")
else:
    tried()
tap.finish()
