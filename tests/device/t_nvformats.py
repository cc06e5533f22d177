#!/usr/bin/env python3
# t_nvformats.py PROG [--bless] - the values of NVIDIA's driver in each format. The GPU is that of
# tests/trees/nvidia, and the stand-in of the driver answers. The test runs the build tests/inject,
# not PROG, without a fault. tests/inject/nvidia.want has the expected outputs; --bless writes them.
# Prints
# TAP. SPDX-License-Identifier: MIT
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
WINDOW = ["-w", "9"]  # a GPU that may be asleep is read again only after 8 s
TIMELINES = ("perfetto", "chrome")
# Masks times and intervals, which depend on readings of the clock, and the name of the host.
MASKS = ((r'"dt":[0-9.]+', '"dt":DT'), (r"(?m) dt=[0-9.]+", " dt=DT"), (r"(?m)^,[0-9.]+,", ",DT,"), (r'"ts":[0-9.]+', '"ts":T'),
         (r"\b(timestamp|trusted_packet_sequence_id): \d+", r"\1: N"), (r"(?m)^gpustat\.[^.]*\.", "gpustat.HOST."),
         (r"(?m)^(gpustat\.\S+ \S+) \d{10}$", r"\1 TIME"), (r'(?m)^PUTVAL "[^/]*/', 'PUTVAL "HOST/'))


def formats():
    """Returns the formats of devices, from the message about an invalid format."""
    said = subprocess.run([serve.PROG, "-o", "?"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).stderr.decode()
    return said.partition(": use ")[2].split()


def runs():
    """Yields (name, arguments) of each run."""
    for name in formats():
        yield name, [*WINDOW, "-o", name, *([] if name in TIMELINES else ["-t", "none"])]
    for command in ("clients", "procs", "cgroups"):
        yield command, [command, *WINDOW, "-o", "json", "-t", "none"]
    yield "list", ["list", "-o", "json", "-t", "none"]


def output(name, args):
    with serve.Server(args, serve.calls(), nvidia=True) as s:
        a = s.run()
    eq((a.code, a.signal, a.err), (0, 0, b""), "exit code, signal and messages")
    # joins the lines of a packet
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


@test("nvidia.want has exactly the outputs of all runs")
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
        test(f"values of the stand-in: {' '.join(args)}")(functools.partial(compare, name, args))
    return machine.main(prog, machine.TESTS)


if __name__ == "__main__":
    if len(sys.argv) != 2 and sys.argv[2:] != ["--bless"]:
        sys.exit("usage: t_nvformats.py PROG [--bless]")
    sys.exit(main(*sys.argv[1:]))
