# oalib.py - the library of the tests of `gpustat oa` (t_oa_*.py): recordings with known contents
# and their truth, metric files, runs of the command, and the list of tests. The recordings and the
# metric files are those of ../shared/oa; if it is missing, gen_recording.py and gen_metrics.py in
# this folder generate others. SEEDS=N in the environment: the number of generated recordings of
# each kind (4).
# SPDX-License-Identifier: MIT
import decimal
import functools
import glob
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import xml.etree.ElementTree as ElementTree

import gen_metrics
import machine
from machine import check, eq

HERE = os.path.dirname(os.path.abspath(__file__))
OA = os.path.realpath(os.path.join(machine.ROOT, "..", "shared", "oa"))
OWN = os.environ.get("OA_OWN") == "1" or not os.path.exists(os.path.join(OA, "gen_recording.py"))
GENERATOR = os.path.join(HERE if OWN else OA, "gen_recording.py")
SEEDS = int(os.environ.get("SEEDS") or 4)
TESTS = []
KEYS = "schema kind time dt dev set index reason ctx ts cpu_time ticks freq lost reports counter".split()


def test(name, slow=False):
    def add(f):
        TESTS.append((name, f, slow))
        return f
    return add


# --- recordings and metric files --------------------------------------------------------------------------

def once(f):
    """Calls f once for each list of arguments; other threads wait for the result. Each f has its own lock."""
    lock, done = threading.Lock(), {}

    @functools.wraps(f)
    def wrap(*args):
        with lock:
            if args not in done:
                done[args] = f(*args)
            return done[args]
    return wrap


@once
def xml_folder():
    folder = os.path.join(os.path.dirname(machine.PROG), "metrics")
    if OWN:
        gen_metrics.main(folder)
        return folder
    with tarfile.open(os.path.join(OA, "metrics-xml.tar.xz")) as t:
        t.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


@once
def xml_files():
    """Returns the metric files: {"i915/tglgt2": path}."""
    found = glob.glob(os.path.join(xml_folder(), "**", "oa-*.xml"), recursive=True)
    return {os.path.basename(os.path.dirname(p)) + "/" + os.path.basename(p)[3:-4]: p for p in found}


@once
def platforms():
    """Returns the table of the generator: {name: (pci, generation, Hz, slices, subslices, EUs, min
    MHz, max MHz, format)}."""
    with open(GENERATOR, encoding="utf-8") as f:
        text = f.read()
    names = {}
    exec(text[text.index("PLATFORMS = {"):text.index("\n}\n") + 2], names)  # pylint: disable=exec-used
    return names["PLATFORMS"]


def xml_of(platform):
    """Returns the metric file of a platform of the generator."""
    files = xml_files()
    if platform.startswith("xe-"):
        return files["xe/" + platform[3:]]
    name = {"bdwgt3": "bdw", "mtloam": "mtlgt3"}.get(platform, platform)
    return files.get("i915/" + name) or files["xe/" + name]


@once
def sets_of(path):
    """Returns {symbol name: element}, in the order of the file."""
    return {s.get("symbol_name"): s for s in ElementTree.parse(path).getroot().iter("set")}


SERIAL = iter(range(10**9))


class Made:
    """A recording or stream, and its true contents."""

    def __init__(self, path, truth):
        self.path = path
        self.truth = None
        if truth:
            with open(truth, encoding="ascii") as f:
                self.truth = Truth([json.loads(line) for line in f])


def make(m, platform, *args, truth=True):
    """Makes a recording with the generator and these arguments."""
    path = m.path(f"{platform}-{next(SERIAL)}.rec")
    more = ["--truth", path + ".jsonl"] if truth else []
    r = subprocess.run([sys.executable, "-B", GENERATOR, platform, path, *more, *(str(a) for a in args)],
                       capture_output=True, timeout=120, check=False)
    eq((r.returncode, r.stderr), (0, b""), f"gen_recording.py {platform} {args}")
    return Made(path, truth and path + ".jsonl")


# Arguments with which the generator makes recordings in place of the files of ../shared/oa.
GIVEN_OWN = {
    "hsw_basic": "hsw --seed 21 --reports 40 --wrap32 --lost 1", "mtl_basic": "mtlgt3 --seed 22 --reports 40 --overflow 1",
    "skl_events": "sklgt2 --seed 23 --reports 40 --wrap32 --wrap40 --lost 2 --overflow 2 --unknown 3 --pad",
    "tgl_ctx": "tglgt2 --seed 24 --reports 60 --wrap40 --set ComputeBasic", "xe_lnl": "xe-lnl --seed 25 --reports 28",
    "hsw_a45": "hsw --seed 26 --reports 60 --raw --wrap32", "skl_cut": "sklgt2 --seed 27 --reports 20 --raw --truncate 100",
}


class Folder:
    """A folder beside the program, for files that several tests use."""

    def __init__(self, name):
        self.name = os.path.join(os.path.dirname(machine.PROG), name)
        os.makedirs(self.name, exist_ok=True)

    def path(self, *a):
        return os.path.join(self.name, *a)


@once
def given_own(name):
    platform, *args = GIVEN_OWN[name].split()
    return make(Folder("given"), platform, *args)


def given(name):
    if OWN:
        return given_own(name)
    raw = os.path.join(OA, "raw", name + ".raw")
    if os.path.exists(raw):
        return Made(raw, os.path.join(OA, "raw", name + ".truth.jsonl"))
    return Made(os.path.join(OA, "rec", name + ".rec"), os.path.join(OA, "expected", name + ".truth.jsonl"))


GIVEN = {"hsw_basic": "hsw", "mtl_basic": "mtlgt3", "skl_events": "sklgt2", "tgl_ctx": "tglgt2", "xe_lnl": "xe-lnl"}


class Truth:
    """The true contents of a file. samples: its samples; lost: number of records of loss before
    each sample; broken: True if one of them says that the buffer overflowed."""

    def __init__(self, lines):
        self.samples, self.lost, self.broken, lost, broken = [], [], [], 0, False
        for t in lines:
            if t["kind"] == "sample":
                self.samples.append(t)
                self.lost.append(lost)
                self.broken.append(broken)
                broken = False
            else:
                lost += t["kind"].endswith("_lost")
                broken |= t["kind"] == "buffer_lost"

    def deltas(self, across=True):
        """Returns [(index, sample, next sample, records of loss until then)], without deltas across
        an overflow, and with those across a lost report if `across` is true."""
        s = self.samples
        return [(k, s[k], s[k + 1], self.lost[k + 1]) for k in range(len(s) - 1)
                if not self.broken[k + 1] and (across or self.lost[k] == self.lost[k + 1])]

    def sum_of(self, deltas):
        return [sum(x) for x in zip(*(b["d"] for _k, _a, b, _l in deltas))]


def slots(fmt):
    """Returns the names of a format's counters, in the order of the deltas of the truth."""
    letter, n = {"A45": ("A", 45), "A32u40": ("A", 36), "A24u40": ("A", 38), "MPEC": ("M", 8),
                 "PEC64": ("PEC", 64)}[fmt]
    bc = [] if fmt == "PEC64" else [f"{x}{i}" for x in "BC" for i in range(8)]
    return [f"{letter}{i}" for i in range(n)] + bc


@once
def good():
    """Makes a valid recording of 30 reports. Returns its bytes, its records and the recording."""
    g = make(Folder("good"), "tglgt2", "--seed", 5, "--reports", 30, "--ctx", 2)
    with open(g.path, "rb") as f:
        data = f.read()
    return data, replay(g.path, metrics=xml_of("tglgt2")), g


# --- runs -----------------------------------------------------------------------------------------

class Recs(list):
    """Records and messages. lacks: the message about counters without a value. Floats are kept as
    texts."""

    err = lacks = b""


def decode(out):
    check(out == b"" or out.endswith(b"\n"), f"output ends within a line: {out[-80:]!r}")
    for line in out.splitlines():
        machine.strict(line)
    recs = Recs(json.loads(line, parse_float=str) for line in out.splitlines())
    for r in recs:
        eq(r["kind"], "oa", "kind")
        eq([k for k in r if k not in ("id", "clock")], KEYS, "keys of a record")
        eq((r["schema"], r["time"]), (1, None), "schema, time")
    return recs


def oa(args, code=0, err=b"", **kw):
    """Returns the records of a run. err: its messages, without that of counters without a value; None: any."""
    r = machine.run(["oa", *(str(a) for a in args), "-o", "json"], **kw)
    eq(r.code, code, f"exit code of oa {args} ({r!r})")
    lacks = [line for line in r.err.splitlines(True) if line.startswith(b"gpustat: counters without a value: ")]
    check(len(lacks) <= 1, f"oa {args} has more than one message about unknown values")
    if err is not None:
        eq(r.err.replace(b"".join(lacks), b""), err, f"messages of oa {args}")
    recs = decode(r.out)
    recs.err, recs.lacks = r.err, b"".join(lacks)
    return recs


def replay(path, *args, metrics=None, **kw):
    return oa(["--replay", path, *(["--metrics", metrics] if metrics else []), *args], **kw)


def number(text):
    return decimal.Decimal(text)


def same_text(got, want, what):
    """Compares got, an int or the text of a float in JSON, with want, the output of %d or %.6f."""
    if "." in want:
        check(isinstance(got, str) and re.fullmatch(r"-?\d+\.(0|\d{0,5}[1-9])", got),
              f"{what}: {got!r} is not a decimal number, want {want}")
        eq(number(got), number(want), what)
    else:
        eq(got, int(want), what)


def sums_are(counter, want, fmt, what):
    got = {k: v for k, v in counter.items() if k in set(slots(fmt))}
    eq(got, dict(zip(slots(fmt), want)), what)


def at(err, path, offset, what):
    """Checks that a message names the file and the byte."""
    lines = err.decode("utf-8", "replace").splitlines()
    check(any(line.startswith(f"gpustat: {path}: at byte {offset}: ") for line in lines),
          f"{what}: no message of {path} at byte {offset}: {err[-400:]!r}")


# --- running the tests ----------------------------------------------------------------------------

def main(prog):
    """Runs the tests of the importing file, and returns the exit code."""
    return machine.main(os.path.abspath(prog), TESTS, workers=3)
