# kernel.py - runs the program on a kernel or machine that lacks a feature: system calls that fail,
# file systems that are not mounted.
# SPDX-License-Identifier: MIT
import ctypes
import errno
import os
import platform
import re
import struct
import subprocess

import machine
from machine import Ran, Skip, as_root, package


def start(argv, **kw):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60, check=False, **kw)
    return Ran(p.returncode, p.stdout, p.stderr, 0)


def numbers():
    path = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    if platform.machine() != "x86_64" or not os.path.exists(path):
        raise Skip("the list of system calls is x86-64's")
    with open(path, encoding="ascii") as f:
        return {m[1]: int(m[2]) for m in re.finditer(r"#define __NR_(\w+)\s+(\d+)", f.read())}


def lacking(calls, *args, error="ENOSYS", argv=None, **kw):
    """Runs the program, and processes that it starts, with a seccomp filter that makes these calls
    fail. The program adds its own filter."""
    nr, libc = numbers(), ctypes.CDLL(None, use_errno=True)
    wanted = [nr[c] for c in calls.split()]
    code = [(0x20, 0, 0, 0)]  # load the number of the call
    code += [(0x15, len(wanted) - i, 0, n) for i, n in enumerate(wanted)]
    code += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x50000 | getattr(errno, error))]  # SECCOMP_RET_ALLOW, _ERRNO
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *x) for x in code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(text)))

    def confine():
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
    return start(argv or [machine.PROG, *args], preexec_fn=confine, **kw)


def without(paths, args, before=""):
    """Runs the program in a mount namespace in which these paths are not mounted."""
    as_root()
    script = f'{before}\nfor i in {" ".join(paths)}; do umount -R -l $i || exit 77; done; exec "$@"'
    r = start([package("unshare", "util-linux"), "-m", "--propagation", "private", "sh", "-c", script, "sh", machine.PROG, *args])
    if r.code == 77 or b"unshare:" in r.err or b"mount:" in r.err:
        raise Skip(f"no mount namespace here: {r.err.decode()[:80]}")
    return r
