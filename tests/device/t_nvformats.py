#!/usr/bin/env python3
# t_nvformats.py PROG [--bless] - the values of NVIDIA's driver in each format. The GPU is that of
# tests/trees/nvidia, and the stand-in of its driver answers: the test build tests/inject, not PROG,
# is what runs, without a fault. tests/inject/nvidia.want has its outputs; --bless writes them.
# Prints TAP. SPDX-License-Identifier: MIT
import functools
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [HERE, f"{HERE}/inject"]
import machine  # noqa: E402
import serve  # noqa: E402
import tap  # noqa: E402
from machine import check, eq, protoc, test  # noqa: E402

WANT = f"{HERE}/inject/nvidia.want"
WINDOW = ["-w", "9"]  # the GPU may sleep: it is read again after 8 s
TIMELINES = ("perfetto", "chrome")
# Times and intervals depend on how often the program reads its clock; names of hosts on the machine.
MASKS = ((r'"dt":[0-9.]+', '"dt":DT'), (r"(?m) dt=[0-9.]+", " dt=DT"), (r"(?m)^,[0-9.]+,", ",DT,"), (r'"ts":[0-9.]+', '"ts":T'),
         (r"\b(timestamp|trusted_packet_sequence_id): \d+", r"\1: N"), (r"(?m)^gpustat\.[^.]*\.", "gpustat.HOST."),
         (r"(?m)^(gpustat\.\S+ \S+) \d{10}$", r"\1 TIME"), (r'(?m)^PUTVAL "[^/]*/', 'PUTVAL "HOST/'))


def formats():
    """The formats of the devices, which the message about an invalid one lists."""
    said = subprocess.run([serve.PROG, "-o", "?"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).stderr.decode()
    return said.partition(": use ")[2].split()


def runs():
    """(name, arguments) of each run."""
    for name in formats():
        yield name, [*WINDOW, "-o", name, *([] if name in TIMELINES else ["-t", "none"])]
    for command in ("clients", "procs", "cgroups"):
        yield command, [command, *WINDOW, "-o", "json", "-t", "none"]
    yield "list", ["list", "-o", "json", "-t", "none"]


def output(name, args):
    with serve.Server(args, serve.calls(), nvidia=True) as s:
        a = s.run()
    eq((a.code, a.signal, a.err), (0, 0, b""), "exit code, signal and messages")
    # a packet is a line
    text = re.sub(r"\n(?!packet)\s*", " ", protoc(a.out)) if name == "perfetto" else a.out.decode()
    for pattern, to in MASKS:
        text = re.sub(pattern, to, text)
    return text.rstrip() + "\n"


def wanted():
    with open(WANT, encoding="utf-8") as f:
        parts = re.split(r"(?m)^== (\w+)\n", f.read())
    return dict(zip(parts[1::2], parts[2::2]))


def compare(name, args, _m):
    got, want = output(name, args).splitlines(), wanted().get(name, "").splitlines()
    for n, (a, b) in enumerate(zip(got, want)):
        eq(a, b, f"line {n + 1}")
    eq(len(got), len(want), "lines")


@test("nvidia.want has the output of each run, and no other")
def _(_m):
    eq(list(wanted()), [name for name, _args in runs()], "runs")
    check(len(formats()) > 10, "formats")


def main(prog, *bless):
    if not shutil.which(os.environ.get("PLAIN", "musl-gcc")):
        tap.skip("the test build", "the package musl-tools is missing")
        tap.finish()
    subprocess.run([f"{HERE}/inject/build"], check=True)
    if bless:
        with open(WANT, "w", encoding="utf-8") as f:
            f.writelines(f"== {name}\n{output(name, args)}" for name, args in runs())
    for name, args in runs():
        test(f"the stand-in's values: {' '.join(args)}")(functools.partial(compare, name, args))
    return machine.main(prog, machine.TESTS)


if __name__ == "__main__":
    if len(sys.argv) != 2 and sys.argv[2:] != ["--bless"]:
        sys.exit("usage: t_nvformats.py PROG [--bless]")
    sys.exit(main(*sys.argv[1:]))
