#!/usr/bin/env python3
"""fdinfo_eval.py FILE... - a second decoder of fdinfo dumps, for comparison: it was written from
the kernel's drm-usage-stats.rst and from the printf formats of the drivers, and uses no table of
the
program. decode() returns the expected record of `gpustat fdinfo`. SPDX-License-Identifier: MIT"""
import json
import re
import sys

BINARY = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
HERTZ = {"": 1, "Hz": 1, "KHz": 10**3, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
NUMBER = re.compile(r"(\d+)[ \t]*([A-Za-z]*)")
# The kernel prints these lines for every descriptor (proc_pid_fdinfo(5)), before those of the driver.
PLAIN = {"pos", "flags", "mnt_id", "ino", "lock"}
HEAD = {"drm-driver": "driver", "drm-pdev": "pdev", "drm-client-id": "client", "drm-client-name": "name"}
SIZES = "total", "shared", "resident", "purgeable", "active", "memory"
MOST = 1 << 52  # bytes that a physical address of 52 bits can name; a larger size is unknown
# (prefix of the key, name of the value, units)
ENGINE = (("drm-engine-capacity-", "capacity", {"": 1}), ("drm-engine-", "busy_ns", {"ns": 1}), ("drm-total-cycles-", "total_cycles", {"": 1}),
          ("drm-cycles-", "cycles", {"": 1}), ("drm-maxfreq-", "maxfreq", HERTZ), ("drm-curfreq-", "curfreq", HERTZ))


class Malformed(Exception):
    """A line with a standard key and an invalid value."""


def amount(value, units):
    m = NUMBER.fullmatch(value)
    # a size may exceed 64 bits in bytes: it is unknown, because no memory is so large
    if not m or m[2] not in units or int(m[1]) * (1 if units is BINARY else units[m[2]]) >= 1 << 64:
        raise Malformed(value)
    return int(m[1]) * units[m[2]]


def line_read(got, key, value):
    if key in HEAD:
        got["head"][HEAD[key]] = amount(value, {"": 1}) if key == "drm-client-id" else value
        return
    for prefix, name, units in ENGINE:
        if key.startswith(prefix):
            engine = key[len(prefix):]
            if not engine or not value:
                raise Malformed(key)
            if name == "busy_ns" and NUMBER.fullmatch(value) and not value.endswith("ns"):
                return  # the standard has no time in another unit
            got["engine"].setdefault(engine, {})[name] = amount(value, units)
            return
    for name in SIZES:
        if key.startswith(f"drm-{name}-"):
            region = key[len(name) + 5:]
            if not region:
                raise Malformed(key)
            size = amount(value, BINARY)
            got["memory"].setdefault(region, {})[name] = size if size <= MOST else None
            return
    if key and key not in PLAIN:
        got["other"][key] = value


def decode(text):
    """Returns {"head", "engine", "memory", "other", "skipped"}."""
    got = {"head": {}, "engine": {}, "memory": {}, "other": {}, "skipped": 0}
    for line in text.split("\n")[:-1]:  # a last line without a newline is incomplete
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        try:
            if not colon:
                raise Malformed(line)
            line_read(got, key, value.strip(" \t"))
        except Malformed:
            got["skipped"] += 1
    for engine in got["engine"].values():
        # the specification forbids a capacity of 0, and 1 is the default
        engine["capacity"] = max(engine.get("capacity", 1), 1)
    for region in got["memory"].values():
        old = region.pop("memory", None)  # the old key of resident
        if old is not None:
            region.setdefault("resident", old)
    known = {name: {k: v for k, v in region.items() if v is not None} for name, region in got["memory"].items()}
    got["memory"] = {name: region for name, region in known.items() if region}
    return got


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            print(json.dumps(decode(f.read())))
