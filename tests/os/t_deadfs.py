#!/usr/bin/env python3
# t_deadfs.py PROG - every command ends on a machine where processes hold files of a FUSE file
# system with a server that does not respond: open files, mappings, the executable, the working
# directory and the root. A process that accesses such a file blocks, and not even SIGKILL ends it.
# Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import ctypes
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import deadfs  # noqa: E402
from machine import Machine  # noqa: E402
from tap import finish, report, skip, temporary_folder  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
PATIENCE = 60  # seconds: far more than any command takes
NAME = "every command, while processes hold files of a FUSE server that does not respond"
SPIN = "while :; do :; done"


class Holder:
    """A child process that runs prepare() and then run(); the constructor returns when run()
    begins."""

    def __init__(self, prepare, run):
        ready, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                deadfs.LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: the child ends with the test
                prepare()
                os.set_inheritable(say, False)
                os.write(say, b"x")
                run()
            finally:
                os._exit(1)
        os.close(say)
        self.ok = os.read(ready, 1) == b"x"
        os.close(ready)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def hold_node(path):
    """Opens a device node as descriptor 9. O_PATH needs no driver."""
    os.dup2(os.open(path, os.O_PATH), 9)


def spin():
    while True:
        pass


def map_code(path):
    """Maps a whole file as executable, and reads it while its server responds."""
    fd = os.open(path, os.O_RDONLY)
    n = os.fstat(fd).st_size
    mmap = deadfs.LIBC.mmap
    mmap.restype, mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    at = mmap(None, n, 5, 2, fd, 0)  # PROT_READ | PROT_EXEC, MAP_PRIVATE
    ctypes.string_at(at, n)
    os.dup2(fd, 9)


class Scene:
    def __init__(self, base):
        self.base, self.where = base, os.path.join(base, "mount")
        self.holders, self.server, self.client = [], None, None
        with open("/bin/sh", "rb") as f:
            shell = f.read()
        # This program is started from the later mount point, so that its path leads into the FUSE
        # file system.
        os.mkdir(self.where)
        shutil.copy("/bin/sh", f"{self.where}/shell")
        self.add(lambda: None, lambda: os.execv(f"{self.where}/shell", ["hidden", "-c", SPIN]))
        self.server = deadfs.Server(self.where, {"data": b"\x90" * 20000, "shell": shell})
        self.add(lambda: map_code(f"{self.where}/data"), lambda: os.execv(f"{self.where}/shell", ["held", "-c", SPIN]))
        self.add(self.enter, spin)
        self.client = Holder(lambda: hold_node(nvidia(base)), spin)
        time.sleep(0.5)  # time for the shells to be loaded and to spin
        self.server.dies()

    def add(self, prepare, run):
        self.holders.append(Holder(prepare, run))

    def enter(self):
        map_code(f"{self.where}/data")
        os.chdir(self.where)
        os.chroot(".")

    def end(self):
        if self.server:
            self.server.end()
        for h in [*self.holders, *([self.client] if self.client else [])]:
            h.end()


# --- the program ----------------------------------------------------------------------------------

def run(args, where=None):
    """Returns the exit code, or None after a timeout; stdout; stderr."""
    p = subprocess.Popen([PROG, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=where or "/")
    try:
        out, err = p.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        return None, b"", b""
    return p.returncode, out, err


def run_top(args):
    """Runs top on a terminal for three samples. Returns the same values as run()."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir("/")
        os.environ["TERM"] = "xterm"
        os.execv(PROG, [PROG, "top", *args, "0.1", "3"])
    end, seen = time.monotonic() + PATIENCE, b""
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    over = os.waitpid(pid, os.WNOHANG if time.monotonic() >= end else 0)
    os.close(fd)
    if over[0] == 0:
        os.kill(pid, signal.SIGKILL)
        return None, seen, b""
    return os.waitstatus_to_exitcode(over[1]), seen, b""


def nvidia(base):
    """Makes an NVIDIA device in /proc for this process and its children. Returns the path of its node."""
    folder, node = os.path.join(base, "driver"), os.path.join(base, "nvidia0")
    if not os.path.exists(node):
        os.makedirs(f"{folder}/nvidia/gpus/0000:01:00.0")
        with open(f"{folder}/nvidia/gpus/0000:01:00.0/information", "w", encoding="ascii") as f:
            f.write("Model: \t\t NVIDIA X\nDevice Minor: \t 0\n")
        os.mknod(node, 0o20666, os.makedev(195, 0))
        deadfs.mount(folder, "/proc/driver", None, 4096, None)  # MS_BIND
    return node


def machine(base):
    """Makes a /sys with one device, so that the program reads all processes. Returns its path."""
    m = Machine(os.path.join(base, "machine"))
    m.device("i915", "0000:00:02.0", 0, 128)
    return m.sys


def symbols(base):
    """Tests that symbols on a FUSE mount are read if its server is known to respond: for a command
    that gpustat starts, and if the working directory is on that mount."""
    source = os.path.join(base, "spin.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("volatile unsigned long n; __attribute__((noinline)) void spinning(unsigned long m) { while (m--) n++; }\n"
                "int main(int c, char **v) { (void)v; do spinning(300000000); while (c > 1); return 0; }\n")
    try:
        subprocess.run(["gcc", "-O1", "-o", f"{base}/spin", source], check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        skip("symbols of files on a FUSE mount whose server responds", "needs package gcc")
        return
    with open(f"{base}/spin", "rb") as f:
        server = deadfs.Server(f"{base}/live of a server", {"spin": f.read()})
    program = f"{base}/live of a server/spin"
    p = subprocess.Popen([program, "on"], cwd="/")
    try:
        time.sleep(0.2)
        sample = ["sample", "-e", "cpu-clock:u", "-F", "500", "--summary=symbol", "-o", "json"]
        for where, args, known in ((None, ["--", program], True), (None, ["--timeout", "300", "-p", str(p.pid)], False),
                                   (os.path.dirname(program), ["--timeout", "300", "-p", str(p.pid)], True)):
            code, out, err = run([*sample, *args], where)
            name = f"symbols on a FUSE mount whose server responds: {'-p' if '-p' in args else '-- COMMAND'}{', with the working directory there' if where else ''}"
            report(code == 0 and (b'"spinning"' in out + err) == known and (b"FUSE" in err) == (not known), name, code, out[:300], err)
    finally:
        p.kill()
        p.wait()
        server.end()


def main():
    if os.getuid() != 0:
        skip(NAME, "needs root")
        return
    base = temporary_folder("gpustat-deadfs-", "/tmp")
    scene = None
    try:
        deadfs.own_mounts()
        os.mkdir(os.path.join(base, "machine"))
        symbols(base)
        scene = Scene(base)
        all_commands(base, scene)
    except deadfs.Unable as e:
        skip(NAME, f"no FUSE here: {e}")
    finally:
        if scene:
            scene.end()
        shutil.rmtree(base, True)


def all_commands(base, scene):
    report(all(h.ok for h in scene.holders), "each holder process holds its files")
    sys_ = ["--sys", machine(base)]
    pids = ",".join(str(h.pid) for h in scene.holders)
    state, csv = os.path.join(base, "state"), os.path.join(base, "run.csv")
    live = [["-w", "0.05"], ["clients", "-w", "0.05"], ["clients", "-p", pids, "0.05", "3"], ["cgroups", "-w", "0.05"], ["list"],
            ["0.05", "3", "-o", "csv", "-O", csv], ["--state", state, "-w", "0.05"], ["clients", "--state", state], ["0.05", "3", "--sweep", "all"],
            ["check", "-w", "80"], ["munin"], ["procs", "-w", "0.05"], ["capture", "-O", f"{base}/report.tar"]]
    both = [["host", "-w", "0.05"], ["host", "-w", "0.05", "-f", "host/file/*"], ["doctor"], ["doctor", "-v"], ["events"], ["counters"],
            ["counters", "*", "-w", "0.05"], ["stat", "-a", "-w", "0.05"], ["stat", "-p", pids, "-w", "0.05"], ["stat", "--", "true"],
            ["oa", "list"], ["oa", "-w", "0.05"]]
    sampled = ["sample", "-e", "cpu-clock", "-F", "99", "-g", "--timeout", "400", "-p", pids]
    plain = [["plot", csv], [*sampled, "--summary"], [*sampled, "-o", "json"], [*sampled, "-o", "perfdata", "-O", f"{base}/perf.data"],
             ["sample", "-e", "cpu-clock", "-F", "99", "-a", "--timeout", "400", "-o", "folded"],
             ["sample", "-e", "cpu-clock", "--", "true"], ["run", "-i", "0.05", *sys_, "--", "true"]]
    for args in [a + sys_ for a in live] + [a + r for a in both for r in (sys_, [])] + plain:
        code, out, err = run(args)
        name = " ".join(args).replace(base, "").replace(pids, "PIDS")
        report(code is not None and code >= 0, f"the command ends: {name}", code, err[-200:])
    report((run_top(sys_)[0]) == 0, "the command ends: top")
    for more, samples in ((["-w", "0.05"], 1), (["0.05", "3"], 3), (["0.05", "3", "--sweep", "all"], 3), (["-p", str(scene.client.pid), "-w", "0.05"], 1)):
        code, out, err = run(["clients", *more, "-o", "json", *sys_])
        shown = [(r["dev"], r["pid"]) for r in map(json.loads, out.splitlines())]
        name = " ".join(more).replace(str(scene.client.pid), "PID")
        report(code == 0 and shown == [("nvidia0", scene.client.pid)] * samples, f"a client of a process without such files is shown: clients {name}", code, out, err)


main()
finish()
