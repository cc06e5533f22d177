#!/usr/bin/env python3
"""gen_recording.py PLATFORM OUT [OPTION...]: writes a recording of OA reports, as IGT's
i915_perf_recorder writes it (version 1), or with --raw what read(2) of the stream returned. The
counters are random and depend on the seed alone. --truth FILE: a line of JSON for each record:
where it is, and what a decoder must find in it. The layouts are those of i915_drm.h, xe_drm.h and
the kernel's oa_formats[]; the program's own tables are not used. SPDX-License-Identifier: MIT"""
import argparse
import json
import random
import struct

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

# name: (PCI id, generation, Hz of timestamps, slices, subslices of each slice, EUs of each
# subslice,        minimum MHz, maximum MHz, report format)
PLATFORMS = {
    "hsw": (0x0412, 7, 12500000, 1, 2, 10, 350, 1250, "A45"),
    "bdw": (0x1616, 8, 12500000, 1, 3, 8, 300, 950, "A32u40"),
    "bdwgt3": (0x1626, 8, 12500000, 2, 3, 8, 300, 1050, "A32u40"),
    "chv": (0x22b0, 8, 12500000, 1, 2, 8, 200, 600, "A32u40"),
    "sklgt2": (0x1912, 9, 12000000, 1, 3, 8, 350, 1150, "A32u40"),
    "sklgt3": (0x1926, 9, 12000000, 2, 3, 8, 300, 1050, "A32u40"),
    "sklgt4": (0x193b, 9, 12000000, 3, 3, 8, 350, 1050, "A32u40"),
    "kblgt2": (0x5916, 9, 12000000, 1, 3, 8, 300, 1050, "A32u40"),
    "kblgt3": (0x5926, 9, 12000000, 2, 3, 8, 300, 1050, "A32u40"),
    "cflgt2": (0x3e92, 9, 12000000, 1, 3, 8, 350, 1200, "A32u40"),
    "cflgt3": (0x3ea5, 9, 12000000, 2, 3, 8, 300, 1200, "A32u40"),
    "bxt": (0x1a84, 9, 19200000, 1, 3, 6, 100, 750, "A32u40"),
    "glk": (0x3184, 9, 19200000, 1, 3, 6, 100, 750, "A32u40"),
    "cnl": (0x5a40, 10, 24000000, 1, 3, 8, 300, 1000, "A32u40"),
    "icl": (0x8a52, 11, 12000000, 1, 8, 8, 300, 1100, "A32u40"),
    "ehl": (0x4541, 11, 19200000, 1, 4, 8, 200, 750, "A32u40"),
    "tglgt1": (0x9a60, 12, 19200000, 1, 2, 16, 350, 1300, "A32u40"),
    "tglgt2": (0x9a49, 12, 19200000, 1, 6, 16, 100, 1300, "A32u40"),
    "rkl": (0x4c8a, 12, 19200000, 1, 2, 16, 350, 1300, "A32u40"),
    "dg1": (0x4905, 12, 19200000, 1, 6, 16, 300, 1650, "A32u40"),
    "adl": (0x46a6, 12, 19200000, 1, 6, 16, 100, 1400, "A32u40"),
    "acmgt3": (0x56a0, 12, 19200000, 1, 32, 16, 300, 2400, "A24u40"),
    "mtlgt2": (0x7d45, 12, 38400000, 1, 4, 16, 100, 2000, "A24u40"),
    "mtlgt3": (0x7d55, 12, 38400000, 1, 8, 16, 100, 2300, "A24u40"),
    "mtloam": (0x7d55, 12, 38400000, 1, 8, 16, 100, 1300, "MPEC"),
    "xe-tglgt2": (0x9a49, 12, 19200000, 1, 6, 16, 100, 1300, "A32u40"),
    "xe-acmgt3": (0x56a0, 12, 19200000, 1, 32, 16, 300, 2400, "A24u40"),
    "xe-lnl": (0x64a0, 20, 19200000, 1, 8, 8, 100, 2050, "PEC64"),
    "xe-bmg": (0xe20b, 20, 19200000, 1, 20, 8, 400, 2850, "PEC64"),
    "xe-ptl": (0xb080, 30, 19200000, 1, 12, 8, 100, 2500, "PEC64"),
}

# {format: (its number in a recording of i915, its number in one of xe, bytes of a report)}
FORMATS = {"A45": (5, 0, 256), "A32u40": (10, 4, 256), "A24u40": (12, 6, 256), "MPEC": (14, 10, 128), "PEC64": (0, 11, 576)}
REASONS = {"timer": 1, "trigger1": 2, "trigger2": 4, "context-switch": 8, "go-transition": 16, "clock-ratio-change": 32,
           "mmio-trigger": 64}
RARE = ("trigger1", "trigger2", "go-transition", "clock-ratio-change", "mmio-trigger")


def places(fmt):
    """Returns for each counter (offset of the low part, its bytes, offset of the high byte or None)."""
    words = lambda at, n: [(at + 4 * i, 4, None) for i in range(n)]  # noqa: E731
    if fmt == "A45":
        return words(12, 45) + words(192, 8) + words(224, 8)
    if fmt == "MPEC":
        return words(32, 8) + words(64, 8) + words(96, 8)
    if fmt == "PEC64":
        return [(32 + 8 * i, 8, None) for i in range(64)]
    wide = set(range(32)) - (set(range(4)) | set(range(24, 28)) if fmt == "A24u40" else set())
    a = [(16 + 4 * i, 4, 160 + i if i in wide else None) for i in range(36)]
    return a + (words(160, 1) + words(184, 1) if fmt == "A24u40" else []) + words(192, 8) + words(224, 8)


class Unit:
    """An OA unit: its counters, with as many bits as the reports store, and its clock."""

    def __init__(self, rng, fmt, wrap32, wrap40):
        self.rng, self.fmt, self.places = rng, fmt, places(fmt)
        self.wide = fmt in ("MPEC", "PEC64")
        self.bits = [8 * n + (8 if high else 0) for _low, n, high in self.places]
        self.values = [self.start(b, wrap32 if b == 32 else wrap40) for b in self.bits]
        self.clock = M32 - self.below(1 << 19) if wrap32 and not self.wide else self.below(1 << 31)

    def below(self, n):
        return self.rng.getrandbits(64) % n

    def start(self, bits, wraps):
        """Returns the first value of a counter: just below the value at which it wraps, or at which
        its low 32 bits wrap, or far below."""
        if bits == 64:
            return self.below(1 << 48)
        near = self.below(1 << 20)
        if wraps and self.below(2):
            return (1 << bits) - 1 - near
        if wraps and bits == 40:
            return self.below(200) << 32 | M32 - near
        return self.below(1 << bits - 1)

    def step(self, ticks, share):
        """Counts this number of ticks with this share of work. Returns the increase of each counter."""
        self.clock = (self.clock + ticks) & (M64 if self.wide else M32)
        counted = []
        for i, bits in enumerate(self.bits):
            most = ticks * (20 if i % 4 == 0 else 1)
            most = min(most, 1 << 30) if bits == 32 else most
            n = self.below(most * share // 100 + 1) if self.below(13) else 0
            self.values[i] = (self.values[i] + n) & ((1 << bits) - 1)
            counted.append(n)
        return counted

    def report(self, number, time, ctx):
        b = bytearray(FORMATS[self.fmt][2])
        if self.wide:
            struct.pack_into("<4Q", b, 0, number, time, ctx, self.clock)
        else:
            struct.pack_into("<4I", b, 0, number, time & M32, ctx, 0 if self.fmt == "A45" else self.clock)
        for v, (low, n, high) in zip(self.values, self.places):
            struct.pack_into("<I" if n == 4 else "<Q", b, low, v & (M32 if n == 4 else M64))
            if high:
                b[high] = v >> 32
        return bytes(b)


def record(number, body=b"", pad=0):
    return struct.pack("<IHH", number, pad, 8 + len(body)) + body


def topology(slices, subslices, eus, fuse):
    """Returns drm_i915_query_topology_info. fuse: the first subslice lacks its last EU."""
    stride, eu_stride = -(-subslices // 8), -(-eus // 8)
    masks = bytes([(1 << slices) - 1])
    masks += ((1 << subslices) - 1).to_bytes(stride, "little") * slices
    all_eus = (1 << eus) - 1
    masks += (all_eus >> fuse).to_bytes(eu_stride, "little") + all_eus.to_bytes(eu_stride, "little") * (slices * subslices - 1)
    body = struct.pack("<8H", 0, slices, subslices, eus, 1, stride, 1 + slices * stride, eu_stride) + masks
    return body + bytes(-len(body) % 8)


class Recording:
    def __init__(self, a):
        self.a, self.xe = a, a.platform.startswith("xe-")
        self.pci, self.gen, self.hz, self.slices, self.subslices, self.eus, self.low, self.high, self.fmt = PLATFORMS[a.platform]
        self.unit = Unit(random.Random(f"{a.seed} {a.platform}"), self.fmt, a.wrap32, a.wrap40)
        self.below = self.unit.below
        first = 4 if self.xe else 65536
        self.numbers = {"sample": 1, "report_lost": 2, "buffer_lost": 3, "version": first, "info": first + 1, "topology": first + 2,
                        "correlation": first + 3}
        self.out, self.truth = bytearray(), []
        self.period = 2 << a.exponent
        # DG2 and Meteor Lake: the register of the render timestamp counts half as fast
        self.shift = int(self.pci in (0x56a0, 0x7d45, 0x7d55))
        if a.tswrap == "none":
            self.time = 0x1000000 + self.below(0x1000000) + (0 if self.unit.wide else 3 << 32)
        else:
            self.time = (4 << 32) - self.period * (a.reports + 4) // 2
        self.time0, self.cpu0 = self.time - 2 * self.period, 10**12 + self.below(10**9)
        self.wrap = (self.time | M32) + 1
        self.due = self.time + 16 * self.period

    def put(self, kind, body=b"", pad=0):
        self.out += record(self.numbers[kind], body, pad)

    def correlate(self, time):
        self.put("correlation", struct.pack("<2Q", self.cpu0 + (time - self.time0) * 10**9 // self.hz, time >> self.shift))

    def head(self):
        self.put("version", struct.pack("<2I", 1, 0))
        self.put("info", struct.pack("<Q7I", self.hz, self.pci, 4, self.low * 1000000, self.high * 1000000,
                                     2 if self.fmt == "MPEC" else 0, 0, FORMATS[self.fmt][self.xe]) +
                 self.a.set.encode().ljust(256, b"\0") + self.a.guid.encode().ljust(40, b"\0") + bytes(4))
        self.put("topology", topology(self.slices, self.subslices, self.eus, self.a.fuse))
        self.correlate(self.time0)

    def special(self, kind):
        """Writes a record that is not a sample."""
        t = {"off": len(self.out), "kind": kind}
        if kind == "unknown":
            t["type"] = (1000, 77777, 0x7fffffff, 42 if self.xe else 65540)[self.below(4)]
            body = self.unit.rng.getrandbits(64).to_bytes(8, "little") * (1 + self.below(6))
            t["size"] = 8 + len(body)
            self.out += record(t["type"], body)
        else:
            self.put(kind, b"", 9 if self.a.pad else 0)
        self.truth.append(t)

    def correlate_before(self):
        if self.a.tswrap == "tame" and self.time + 2 * self.period >= self.wrap:
            # one point is on the last tick before the wrap and one on the first after it
            self.correlate(self.wrap - (1 << self.shift))
            self.correlate(self.wrap)
            self.wrap, self.due = M64, self.wrap + 16 * self.period
        elif self.time >= self.due:
            self.correlate(self.time)
            self.due = self.time + 16 * self.period

    def number(self, reason, mhz, valid):
        """Returns the first word of a report: the reason, the clocks, and the bit of a valid context."""
        if self.gen < 8:
            return 1024 + self.below(200)
        ratio = mhz * 1000 // 16666
        word = REASONS[reason] << 19 | ratio & 0x1ff | (ratio >> 7 & 3) << 9 | (ratio & 0x7f) << 25
        if self.gen == 8:
            return word & ~(1 << 25) & M32 | valid << 25
        return word | valid << 16

    def sample(self, k, contexts):
        reason, dt = "timer", self.period
        if self.gen >= 8:
            if k and self.a.ctx > 1 and not self.below(5):
                reason, self.ctx = "context-switch", contexts[self.below(len(contexts))]
            elif not self.below(24):
                reason = RARE[self.below(5 if self.gen == 12 else 4 if self.gen >= 9 else 3)]
            dt = dt if reason == "timer" else 1 + self.below(dt)
        self.time += dt if k else 0
        mhz = self.low + self.below(self.high - self.low)
        ticks = dt * mhz * 1000000 // self.hz if k and not (self.a.idle and not self.below(6)) else 0
        counted = self.unit.step(ticks, self.below(101))
        valid = self.a.ctx > 0 and (self.gen >= 12 or self.below(8) > 0)
        ctx = self.ctx if valid else M32
        if self.gen < 8:
            ctx = self.below(1 << 32)  # the third word of Haswell has no meaning
        number = self.number(reason, mhz, valid)
        if not self.a.raw:
            self.correlate_before()
        t = {"off": len(self.out), "kind": "sample", "i": k, "id": number, "reason": reason, "ctx": ctx,
             "ctx_valid": bool(valid and self.gen >= 8), "ts": self.time if self.unit.wide else self.time & M32,
             "ticks": None if self.fmt == "A45" else self.unit.clock}
        if k:
            t.update(dts=dt, dticks=None if self.fmt == "A45" else ticks, d=counted)
        self.put("sample", self.unit.report(number, self.time, ctx), k & 0xffff if self.a.pad else 0)
        self.truth.append(t)

    def make(self):
        a, specials = self.a, {}
        if not a.raw:
            self.head()
        for kind, n in ("report_lost", a.lost), ("buffer_lost", a.overflow), ("unknown", a.unknown):
            for _ in range(n):
                specials.setdefault(1 + self.below(max(a.reports - 2, 1)), []).append(kind)
        contexts = [0x20 + 5 * i + self.below(4) for i in range(max(a.ctx, 1))]
        self.ctx = contexts[0]
        for k in range(a.reports):
            for kind in specials.get(k, ()):
                self.special(kind)
            self.sample(k, contexts)
        if not a.raw:
            self.correlate(self.time + 2 * self.period)
        del self.out[len(self.out) - a.truncate:]

    def quick(self, f):
        """Writes reports for long files: 256 bodies repeatedly, alternating between two contexts."""
        bodies = []
        for _ in range(256):
            self.unit.step(500000, 60)
            bodies.append(bytearray(record(1, self.unit.report(1 << 19 | 1 << 16, 0, 0))))
        self.head()
        layout = struct.Struct("<2Q" if self.unit.wide else "<2I")
        at, mask = (16, M64) if self.unit.wide else (12, M32)
        for k in range(self.a.reports):
            self.time += self.period
            body = bodies[k & 255]
            layout.pack_into(body, at, self.time & mask, 0x11 + (k >> 8 & 1))
            self.out += body
            if self.time >= self.due:
                self.correlate(self.time + 1)
                self.due = self.time + 1000 * self.period
            if len(self.out) > 1 << 22:
                f.write(self.out)
                self.out.clear()
        self.correlate(self.time + 2 * self.period)
        f.write(self.out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("platform", choices=PLATFORMS)
    p.add_argument("out")
    for name, value in (("seed", 1), ("reports", 64), ("ctx", 3), ("lost", 0), ("overflow", 0), ("unknown", 0), ("truncate", 0),
                        ("exponent", 13)):
        p.add_argument("--" + name, type=int, default=value)
    for name in ("raw", "wrap32", "wrap40", "pad", "fuse", "idle", "quick"):
        p.add_argument("--" + name, action="store_true")
    p.add_argument("--set", default="RenderBasic")
    p.add_argument("--guid", default="00000000-0000-0000-0000-000000000000")
    p.add_argument("--tswrap", choices=["none", "tame", "natural"], default="none")
    p.add_argument("--truth")
    a = p.parse_args()
    r = Recording(a)
    with open(a.out, "wb") as f:
        if a.quick:
            r.quick(f)
        else:
            r.make()
            f.write(r.out)
    if a.truth:
        with open(a.truth, "w", encoding="ascii") as f:
            for t in r.truth:
                f.write(json.dumps(t, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
