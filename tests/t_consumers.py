#!/usr/bin/env python3
# t_consumers.py PROG - what we print, given to the programs that it is for: promtool, node_exporter and
# prometheus, influxd, collectd, carbon-cache, strict readers of JSON and CSV. Each is the real one, started here
# on loopback in a folder of its own, and asked what it got. Prints TAP; exit 0 iff all is well.
# ONLY=TEXT in the environment: only the tests with TEXT in their names. TIMES=1: how long each took.
# SPDX-License-Identifier: MIT
import os
import sys

sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumers"))
import files  # noqa: E402, F401
import kit  # noqa: E402
import prom  # noqa: E402, F401
import stores  # noqa: E402, F401

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_consumers.py PROG")
    sys.exit(kit.edges.main(os.path.abspath(sys.argv[1]), kit.TESTS, workers=3))
