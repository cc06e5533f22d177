"""A server for each command line of the program with inject.c, which runs it once per case."""
import errno
import os
import shutil
import struct
import subprocess
import tempfile

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROG = os.path.join(ROOT, "build/inject/gpustat")
MEMORY = tap.temporary_folder("inject-", "/dev/shm" if os.path.isdir("/dev/shm") else None)
OF_CHILD, STAYS, OLD_ABI, CLOCK_JUMPS, NEXT_TOO = 1, 2, 4, 8, 16
HALF, ONE, NONE = -1, -2, -3
STATUS = -0x1000  # minus a status of NVIDIA's driver
ANSWER = struct.Struct("<iIIIi9I")


def calls():
    return subprocess.run([PROG, "--calls"], stdout=subprocess.PIPE, check=True).stdout.decode().split()


def how_name(how):
    if how <= STATUS:
        return f"status {STATUS - how:#x}"
    return {HALF: "half", ONE: "1 byte", NONE: "0 bytes"}.get(how) or errno.errorcode.get(how, str(how))


class Answer:
    """The result of one run."""

    def __init__(self, b, rest, names):
        (status, self.hung, self.calls, self.child_calls, fired, what, out, err, opened, may, file, left, n,
         has_file) = ANSWER.unpack(b)
        self.signal, self.code = status & 127, status >> 8 & 255
        self.fired = names[fired] if fired >= 0 else None
        self.what = rest(what).decode(errors="replace")
        self.out, self.err = rest(out), rest(err)
        self.open = sorted(rest(opened).decode(errors="replace").split("\n")[:-1])
        self.may = dict(line.split(":\t", 1) for line in rest(may).decode().splitlines())
        b = rest(file)
        self.file = b if has_file else None
        self.left = rest(left).decode(errors="replace").split("\n")[:-1]
        self.names = [names[i] for i in rest(n)]
        self.sites = struct.unpack(f"<{n}I", rest(4 * n))

    def __repr__(self):
        return (f"exit {self.code}{f' signal {self.signal}' if self.signal else ''}{' HUNG' if self.hung else ''} "
                f"out {self.out[-200:]!r} err {self.err[-200:]!r}")


class Server:
    def __init__(self, argv, names, io="file", stdin=None, folder=False, seed=None, clock=True, secure=False, mailbox=False, nvidia=False):
        """folder: OUT in argv is a file in a separate folder, with the bytes of seed as its initial
        content, if given. secure: the program runs as the user nobody, and its file has the capabilities of
        the user of this test. mailbox: there is a /dev/vcio. nvidia: /proc and /sys are those of the tree nvidia,
        whose GPU has the stand-in of NVIDIA's driver."""
        self.names, self.base = names, tempfile.mkdtemp(dir=MEMORY)
        os.mkdir(f"{self.base}/d")
        cases, self.ask = os.pipe()
        self.hear, answers = os.pipe()
        e = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "INJECT_CASES": str(cases), "INJECT_ANSWERS": str(answers), "INJECT_IO": io}
        if secure:
            e["INJECT_SECURE"] = "65534"
        if mailbox:
            e["INJECT_MAILBOX"] = "1"
        if nvidia:
            e["INJECT_NVIDIA"] = "1"
        if clock:
            e["INJECT_CLOCK"] = "virtual"
        if stdin is not None:
            e["INJECT_STDIN"] = self.write("stdin", stdin)
        if folder:
            e["INJECT_DIR"] = f"{self.base}/d"
        if seed is not None:
            e["INJECT_SEED"] = self.write("seed", seed)
        argv = [a.replace("OUT", f"{self.base}/d/out") for a in argv]
        # pylint: disable-next=consider-using-with
        self.p = subprocess.Popen([PROG] + argv, env=e, pass_fds=(cases, answers), stdin=subprocess.DEVNULL, cwd=ROOT)
        os.close(cases)
        os.close(answers)

    def write(self, name, b):
        with open(f"{self.base}/{name}", "wb") as f:
            f.write(b)
        return f"{self.base}/{name}"

    def rest(self, n):
        b = b""
        while len(b) < n:
            more = os.read(self.hear, n - len(b))
            if not more:
                raise EOFError("the server has exited")
            b += more
        return b

    def run(self, at=0, how=0, flags=0, deadline=10000):
        os.write(self.ask, struct.pack("<IiII", at, how, flags, deadline))
        return Answer(self.rest(ANSWER.size), self.rest, self.names)

    def close(self):
        os.close(self.ask)
        os.close(self.hear)
        self.p.wait()
        shutil.rmtree(self.base)

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.close()
