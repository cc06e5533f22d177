"""event_eval.py - a second resolver of perf events, for comparison: it was written from
perf_event_open(2), perf-list(1) and the kernel's description of /sys/bus/event_source, and uses no
table of the program. events(tree) yields many events of a file tree, each with its expected
attributes. SPDX-License-Identifier: MIT"""
import itertools
import os
import random
import re

HARDWARE = {"cycles": 0, "cpu-cycles": 0, "instructions": 1, "cache-references": 2, "cache-misses": 3, "branches": 4,
            "branch-instructions": 4, "branch-misses": 5, "bus-cycles": 6, "stalled-cycles-frontend": 7, "stalled-cycles-backend": 8,
            "ref-cycles": 9}
SOFTWARE = {"cpu-clock": 0, "task-clock": 1, "page-faults": 2, "faults": 2, "context-switches": 3, "cs": 3, "cpu-migrations": 4,
            "migrations": 4, "minor-faults": 5, "major-faults": 6, "alignment-faults": 7, "emulation-faults": 8, "dummy": 9,
            "bpf-output": 10, "cgroup-switches": 11}
CACHES = {"L1-dcache": (0, "012"), "L1-icache": (1, "02"), "LLC": (2, "012"), "dTLB": (3, "012"), "iTLB": (4, "0"), "branch": (5, "0"),
          "node": (6, "012")}
OPERATIONS = ("load", "loads"), ("store", "stores"), ("prefetch", "prefetches")
MODIFIERS = "", "u", "k", "h", "uk", "uh", "kh", "p", "pp", "uppp", "I", "D", "e", "ukhIDe"


def modified(letters):
    """Returns the attributes of modifiers: if a level is named, the other levels are excluded."""
    words = []
    if set("ukh") & set(letters):
        words = [f"exclude_{w}=1" for c, w in (("u", "user"), ("k", "kernel"), ("h", "hv")) if c not in letters]
    words += [f"precise_ip={letters.count('p')}"] if "p" in letters else []
    return words + [w for c, w in (("I", "exclude_idle=1"), ("D", "pinned=1"), ("e", "exclusive=1")) if c in letters]


def attr(kind, configs, letters=""):
    """Returns the words of the line of --resolve as a set."""
    words = [f"type={kind}"]
    for i in range(5):
        if i < 3 or configs.get(i):
            words.append(f"config{i or ''}=" + (f"{configs[i]:#x}" if configs.get(i) else "0"))
    return frozenset(words + modified(letters))


class Pmu:
    def __init__(self, folder):
        self.name = os.path.basename(folder)
        self.type = int(self.read(folder, "type"))
        self.format = {n: self.bits(t) for n, t in self.files(folder, "format")}
        self.events = {n: t for n, t in self.files(folder, "events") if not re.search(r"\.(scale|unit|per-pkg|snapshot)$", n)}

    @staticmethod
    def read(*path):
        with open(os.path.join(*path), encoding="ascii") as f:
            return f.read().strip()

    def files(self, folder, kind):
        where = os.path.join(folder, kind)
        return [(n, self.read(where, n)) for n in sorted(os.listdir(where))] if os.path.isdir(where) else []

    @staticmethod
    def bits(text):
        """Returns [(number of the config, bit)] for the bits of a value, the lowest first."""
        word, ranges = text.split(":")
        got = []
        for r in ranges.split(","):
            first, _, last = r.partition("-")
            got += [(int(word[6:] or 0), b) for b in range(int(first), int(last or first) + 1)]
        return got

    def set(self, configs, term, value):
        for i, (config, bit) in enumerate(self.format[term] if term in self.format else self.bits(term + ":0-63")):
            configs[config] = configs.get(config, 0) & ~(1 << bit) | (value >> i & 1) << bit

    def parameters(self, event):
        """Returns the terms that a user must give."""
        return re.findall(r"(\w+)=\?", self.events[event])

    def resolve(self, event, terms, configs=None):
        """Returns the configs of an event (or None) with terms of the user, which replace those of the event."""
        configs = dict(configs or {})
        for term in self.events[event].split(",") if event else ():
            name, _, value = term.partition("=")
            if value != "?":
                self.set(configs, name, int(value or "1", 0))
        for name, value in terms:
            self.set(configs, name, value)
        return configs


def pmus(tree):
    base = os.path.join(tree, "bus/event_source/devices")
    return [Pmu(os.path.join(base, n)) for n in sorted(os.listdir(base))] if os.path.isdir(base) else []


def of_pmu(p, rng):
    """Yields (event, attributes) of a PMU: its events, its terms at their limits, pairs of terms,
    terms that replace those of an event, and modifiers."""
    def one(event, terms, letters="", configs=None):
        words = [f"config{n or ''}={v:#x}" for n, v in (configs or {}).items()]
        words += ([event] if event else []) + [f"{n}={rng.choice(('%d', '%#x')) % v}" for n, v in terms]
        return f"{p.name}/{','.join(words)}/{letters}", attr(p.type, p.resolve(event, terms, configs), letters)

    def value(term):
        return rng.getrandbits(len(p.format[term]))

    for event in p.events:
        needed = [(n, value(n)) for n in p.parameters(event)]
        for letters in MODIFIERS:
            yield one(event, needed, letters)
        for term in sorted(set(p.format) - {n for n, _v in needed}):
            yield one(event, needed + [(term, value(term))])
    for term, bits in p.format.items():
        for v in sorted({0, 1, (1 << len(bits)) - 1, value(term)}):
            yield one(None, [(term, v)])
        yield one(None, [(term, value(term)), (term, value(term))])
        yield one(None, [(term, value(term))], rng.choice(MODIFIERS))
        yield one(None, [(term, value(term))], "", {n: rng.getrandbits(64) for n in range(3)})
    for pair in itertools.permutations(p.format, 2):
        yield one(None, [(n, value(n)) for n in pair])


def generic():
    """Yields (event, type, config) of the events that have a name on every machine."""
    for name, n in HARDWARE.items():
        yield name, 0, n
    for name, n in SOFTWARE.items():
        yield name, 1, n
    for name, (cache, operations) in CACHES.items():
        for i in map(int, operations):
            one, many = OPERATIONS[i]
            yield f"{name}-{many}", 3, cache | i << 8
            yield f"{name}-{one}-misses", 3, cache | i << 8 | 1 << 16


def events(tree, names):
    """Yields (name of the group, event, attributes). names: with the generic events."""
    rng = random.Random(os.path.basename(tree))
    for p in pmus(tree):
        if p.name not in ("software", "breakpoint", "uprobe", "kprobe", "tracepoint"):
            yield from ((p.name, *row) for row in of_pmu(p, rng))
    for name, kind, config in generic() if names else ():
        for letters in "", rng.choice(MODIFIERS[1:]):
            yield "generic events", name + (":" + letters if letters else ""), attr(kind, {0: config}, letters)
