#!/usr/bin/env python3
"""gen_frames.py OUT: writes a recording of i915 on Skylake GT2 (3 subslices of 8 EUs) that plays a
GPU which draws 60 frames per second. Each frame keeps it busy for 8 to 13 ms, with a part in which
the EUs work and a part in which they wait. No counter exceeds what the hardware can count in the
time, so that all percentages are within 0 and 100. The output depends on nothing but this file.
The layouts are those of i915-perf-reader's recordings and of the report format
A32u40_A4u32_B8_C8 (i915_drm.h, i915_oa_bdw.h). SPDX-License-Identifier: MIT"""
import random
import struct
import sys

HZ, EUS, SUBSLICES, MIN_HZ, MAX_HZ = 12_000_000, 24, 3, 350_000_000, 1_150_000_000
CLOCK = 1_050_000_000
PERIOD = 0.002  # seconds between two reports of the timer
REPORTS = 151
SAMPLE, VERSION, INFO, TOPOLOGY, CORRELATION = 1, 65536, 65537, 65538, 65539
FORMAT, TIMER, VALID = 10, 1 << 19, 1 << 16
BASIC = b"1ed5e4f2-355e-46d0-b7ee-0cf605f36849"


def record(kind, body):
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def topology():
    """Returns drm_i915_query_topology_info of one slice."""
    data = bytes([1, (1 << SUBSLICES) - 1] + [255] * SUBSLICES)
    body = struct.pack("<8H", 0, 1, SUBSLICES, 8, 1, 1, 2, 1) + data
    return body + bytes(-len(body) % 8)


def report(ticks, time, counters):
    low = [v & 0xffffffff for v in counters[:36]]
    high = bytes(v >> 32 & 255 for v in counters[:32])
    return struct.pack("<4I", TIMER | VALID | CLOCK // 16_666_667, time, 17, ticks & 0xffffffff) + \
        struct.pack("<36I", *low) + high + bytes(16 * 4)


def work(counters, ticks, busy, eu):
    """Counts `ticks` of the clock, of which the share `busy` is busy with the share `eu` of the EUs."""
    active = int(ticks * busy)
    eu_ticks = int(active * EUS * eu)
    pixels = int(active * 1.1)
    for index, count in {
            0: active, 1: active // 3000, 6: pixels // 8, 7: eu_ticks, 8: int(active * EUS * (1 - eu) * 0.6),
            9: eu_ticks // 5, 10: eu_ticks // 2, 11: eu_ticks // 3, 12: eu_ticks // 9,
            13: active * EUS * 7 // 8 * 6 // 10, 21: pixels // 4, 23: pixels // 20, 26: pixels // 5,
            27: pixels // 30, 28: pixels, 29: pixels // 25, 32: pixels // 10}.items():
        counters[index] += count


def main():
    rng = random.Random(60)
    out = bytearray(record(VERSION, struct.pack("<2I", 1, 0)))
    out += record(INFO, struct.pack("<Q7I", HZ, 0x1912, 4, MIN_HZ, MAX_HZ, 0, 0, FORMAT) +
                  b"Basic".ljust(256, b"\0") + BASIC.ljust(40, b"\0") + bytes(4))
    out += record(TOPOLOGY, topology())
    out += record(CORRELATION, struct.pack("<2Q", 1_000_000_000_000, 24_000_000))
    counters = [0] * 36
    ticks, lengths = 0, [rng.uniform(0.008, 0.013) for _ in range(64)]
    for i in range(REPORTS):
        time = i * PERIOD
        if i:
            start = time - PERIOD
            frame = int(start * 60)
            left = frame / 60 + lengths[frame] - start
            busy = max(0.0, min(1.0, left / PERIOD))
            step = int(CLOCK * PERIOD)
            ticks += step
            work(counters, step, busy, 0.75 if start * 60 - frame < 0.4 else 0.35)
        out += record(SAMPLE, report(ticks, 24_000_000 + int(time * HZ), counters))
    end = 24_000_000 + int(REPORTS * PERIOD * HZ)
    out += record(CORRELATION, struct.pack("<2Q", 1_000_000_000_000 + int(REPORTS * PERIOD * 1e9), end))
    with open(sys.argv[1], "wb") as f:
        f.write(out)


main()
