#!/usr/bin/env python3
# big_endian.py FOLDER: converts each gpu_metrics file below the folder to the byte order of a
# big-endian machine, on which the driver would write it in this order. It stops at a file of a
# revision that it does not know. The layouts are those of
# drivers/gpu/drm/amd/include/kgd_pp_interface.h, and not those of the program under test.
# SPDX-License-Identifier: MIT
import os
import struct
import sys

# (format, content revision): the fields after the size and the two bytes of the revision.
# H, I, Q: numbers of 2, 4 and 8 bytes.
FIELDS = {(1, 3): "10H2Q14HI4H2I4HQ4HQ", (2, 2): "14HQ34HI4HQ"}


def converted(table):
    revision = table[2], table[3]
    if revision not in FIELDS:
        sys.exit(f"big_endian.py: unknown revision {revision}")
    layout = "H2B" + FIELDS[revision]
    return struct.pack(">" + layout, *struct.unpack("<" + layout, table))


found = [d for d, _, names in os.walk(sys.argv[1]) if "gpu_metrics" in names]
files = [os.path.join(d, "gpu_metrics") for d in found]
if not files:
    sys.exit("big_endian.py: no gpu_metrics")
for name in files:
    with open(name, "rb") as f:
        old = f.read()
    with open(name, "wb") as f:
        f.write(converted(old))
print(f"{len(files)} files were converted")
