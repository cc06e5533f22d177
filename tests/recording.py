# recording.py - reads and writes records of recordings in the format of IGT's i915_perf_recorder.
# SPDX-License-Identifier: MIT
import struct

from machine import check


class Rec:
    def __init__(self, off, number_, size, body):
        self.off, self.number, self.size, self.body = off, number_, size, body
        self.end = off + size


def records(data, whole=True):
    """Returns all records of a file. whole: the file must contain nothing else."""
    got, at_ = [], 0
    while at_ + 8 <= len(data):
        number_, _pad, size = struct.unpack_from("<IHH", data, at_)
        if size < 8 or at_ + size > len(data):
            break
        got.append(Rec(at_, number_, size, data[at_ + 8:at_ + size]))
        at_ += size
    check(not whole or at_ == len(data), "the file ends after a complete record")
    return got


def record(number_, body):
    return struct.pack("<IHH", number_, 0, 8 + len(body)) + body
