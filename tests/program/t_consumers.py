#!/usr/bin/env python3
# t_consumers.py PROG - passes the output to the programs that it is made for: promtool,
# node_exporter and prometheus, influxd, collectd, carbon-cache, strict readers of JSON and CSV.
# Each is the real program, started on loopback in a separate folder, and queried for the data that
# it received. Prints TAP; exit 0 if all tests pass. ONLY=TEXT in the environment: only the tests
# with TEXT in their names. TIMES=1: prints the time of each.
# SPDX-License-Identifier: MIT
import os
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "consumers"))
import files  # noqa: E402, F401
import kit  # noqa: E402
import prom  # noqa: E402, F401
import stores  # noqa: E402, F401

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_consumers.py PROG")
    sys.exit(kit.machine.main(os.path.abspath(sys.argv[1]), kit.TESTS, workers=3))
