"""Runs a program with a clock that the test controls, by ptrace(2): time passes for the program
only when it sleeps and when the test adds some, even on a busy machine. The program stops before it
sleeps, so that files can change between two samples.
SPDX-License-Identifier: MIT"""
import ctypes
import os
import signal
import struct
import subprocess
import threading
import time

NS = 10**9
CALL_NS = 1000  # each reading of the clock takes this long
TRACEME, CONT, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 7, 24, 0x4200, 0x420e
SYSGOOD, EXITKILL = 1, 0x100000
SYSCALL_STOP = signal.SIGTRAP | 0x80
AT_IGNORE, AT_SYSINFO_EHDR = 1, 33
# By machine and word size of the program: clock_gettime with 64-bit times; clock_nanosleep and
# ppoll, to which musl passes times as two longs; read, pread64.
NUMBERS = {("x86_64", 64): (228, 230, 271, 0, 17), ("x86_64", 32): (403, 267, 309, 3, 180),
           ("aarch64", 64): (113, 115, 73, 63, 67), ("riscv64", 64): (113, 115, 73, 63, 67)}

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Unable(Exception):
    """The reason why a program cannot be run in this way on this machine."""


def ptrace(what, pid, addr=0, data=0):
    r = libc.ptrace(what, pid, addr, data)
    if r < 0:
        raise Unable(f"ptrace: {os.strerror(ctypes.get_errno())}")
    return r


class Driven:
    """A program that runs until it sleeps: `while p.sleep(): ...; p.wake()`, from one thread only.
    At the end it has code, out and err. now: its clock, in ns; due: the end of the current sleep;
    watched: times at which the file `watch` was read."""

    def __init__(self, argv, execs=1, watch=None, **kw):
        self.now = time.monotonic_ns()
        self.epoch = time.time_ns() - self.now
        self.due, self.began, self.waits, self.code, self.info = None, self.now, None, None, ctypes.create_string_buffer(128)
        self.watch, self.watched = watch and os.stat(watch), []
        self.p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: libc.ptrace(TRACEME, 0, 0, 0), **kw)
        self.pid = self.p.pid
        self.read = {}
        self.readers = [threading.Thread(target=self.reader, args=(n,), daemon=True) for n in ("stdout", "stderr")]
        for t in self.readers:
            t.start()
        try:
            _pid, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                self.ended(status)
                raise Unable("ptrace is not permitted")
            ptrace(SETOPTIONS, self.pid, 0, SYSGOOD | EXITKILL)
            for _ in range(execs - 1):  # a shell that executes the program
                self.next_exec()
            self.mem = os.open(f"/proc/{self.pid}/mem", os.O_RDWR)
            with open(f"/proc/{self.pid}/exe", "rb") as f:
                self.bits = 32 * f.read(5)[4]  # EI_CLASS
            self.longs = "<ii" if self.bits == 32 else "<qq"
            try:
                self.calls = NUMBERS[os.uname().machine, self.bits]
            except KeyError:
                raise Unable("no numbers of system calls for this machine") from None
            self.hide_vdso()
        except BaseException:
            self.kill()
            raise

    def reader(self, name):
        with getattr(self.p, name) as f:
            self.read[name] = f.read()

    def hide_vdso(self):
        """Removes the vDSO from the auxiliary vector, so that the program reads the clock by system
        calls."""
        with open(f"/proc/{self.pid}/stat", "rb") as f:
            sp = int(f.read().rpartition(b")")[2].split()[25])  # startstack
        at = {}
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as f:
            for line in f:
                first, end = line.split()[0].split("-")
                at[line.split()[-1]] = int(first, 16), int(end, 16)
        if "[vdso]" not in at:
            return
        stack = os.pread(self.mem, at["[stack]"][1] - sp, sp)
        words = self.longs.upper()
        entry = stack.find(struct.pack(words, AT_SYSINFO_EHDR, at["[vdso]"][0]))
        if entry < 0:
            raise Unable("where the program finds its page of clocks is not known")
        os.pwrite(self.mem, struct.pack(words, AT_IGNORE, 0), sp + entry)

    def next_exec(self):
        sig = 0
        while sig != signal.SIGTRAP:
            ptrace(CONT, self.pid)
            _pid, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                self.ended(status)
                raise Unable(f"no second exec: {self.err!r}")
            sig = os.WSTOPSIG(status)

    def timespec(self, addr):
        s, ns = struct.unpack(self.longs, os.pread(self.mem, struct.calcsize(self.longs), addr))
        return s * NS + ns

    def ended(self, status):
        self.code = self.p.returncode = os.waitstatus_to_exitcode(status)
        for t in self.readers:
            t.join()
        self.out, self.err = self.read["stdout"], self.read["stderr"]

    def stop(self, sig=0):
        """Runs to the next stop. Returns (True, number, arguments) on entry to a system call,
        (False, None, None) on its return, None at the end of the program."""
        while True:
            ptrace(SYSCALL, self.pid, 0, sig)
            _pid, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                self.ended(status)
                return None
            sig = os.WSTOPSIG(status)
            if sig == SYSCALL_STOP:
                ptrace(GET_SYSCALL_INFO, self.pid, len(self.info), ctypes.addressof(self.info))
                if self.info.raw[0] == 1:
                    nr, *args = struct.unpack_from("<7Q", self.info.raw, 24)
                    return True, nr, args
                return False, None, None
            if sig == signal.SIGTRAP:
                sig = 0

    def sleep(self):
        """Runs the program until it sleeps. Returns False if it has ended."""
        gettime, nanosleep, ppoll, *reads = self.calls
        while (stop := self.stop()) is not None:
            entry, nr, args = stop
            if entry and nr == nanosleep and args[1] == 1:  # TIMER_ABSTIME
                self.due, self.waits = self.timespec(args[2]), args[2]
                if self.due <= self.now:
                    continue  # the call returns at once
                return True
            if entry and nr == ppoll and args[2]:
                left = self.timespec(args[2])
                if left > 0:
                    self.due, self.waits = self.now + left, args[2]
                    return True
            if entry and self.watch and nr in reads and self.now not in self.watched and \
               os.path.samestat(os.stat(f"/proc/{self.pid}/fd/{args[0]}"), self.watch):
                self.watched.append(self.now)
            if entry and nr == gettime and args[0] in (0, 1):  # CLOCK_REALTIME, CLOCK_MONOTONIC
                if self.stop() is None:
                    return False
                self.now += CALL_NS
                t = self.now + (self.epoch if args[0] == 0 else 0)
                os.pwrite(self.mem, struct.pack("<qq", t // NS, t % NS), args[1])
        return False

    def wake(self, late=0):
        """Ends the sleep, `late` ns after it was due."""
        self.now = max(self.now, self.due) + late
        os.pwrite(self.mem, struct.pack(self.longs, 0, 0), self.waits)

    def to_end(self, late=lambda k: 0):
        """Runs the program to its end; sleep k ends late(k) seconds late. Returns the times at
        which the sleeps were due."""
        sleeps = []
        while self.sleep():
            sleeps.append(self.due)
            self.wake(round(late(len(sleeps) - 1) * NS))
        return sleeps

    def kill(self):
        if self.code is None:
            self.p.kill()
            self.ended(os.waitpid(self.pid, 0)[1])
        if hasattr(self, "mem"):
            os.close(self.mem)
            del self.mem

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
