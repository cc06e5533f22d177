#!/usr/bin/env python3
# t_top.py PROG [--bless] - the live screen. In a real terminal (tmux) the screens are compared with
# golden/top-*.want, and every exit must restore the terminal. On a pty each frame must be one small
# write, and partial updates must result in the same screen as a full redraw. Prints TAP; exit 0 if
# all tests pass.
# SPDX-License-Identifier: MIT
import concurrent.futures
import fcntl
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import clock  # noqa: E402
import tap  # noqa: E402
from machine import Machine, check, eq, rewrite  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
PROG, BLESS = os.path.realpath(sys.argv[1]), "--bless" in sys.argv
tap.needs(PROG, "top")
PATIENCE = 60  # seconds: a loaded machine is slow


# --- the machine ----------------------------------------------------------------------------------

def old_amdgpu(pasid, vram, gfx, dma):
    """Returns fdinfo of amdgpu before Linux 5.19, which has percentages: the values do not
    depend on time."""
    return (f"pdev:\t0000:08:00.0\npasid:\t{pasid}\nvram mem:\t{vram} kB\ngtt mem:\t1024 kB\ncpu mem:\t0 kB\n"
            f"gfx0:\t{gfx}.0%\ndma0:\t{dma}.0%\nenc0:\t0.0%\n")


NAMES = ["Xorg", "firefox", "blender", b"\x1b[31mred\x1b[0m", b"bad\xff\xfe", "日本語の名前", "café", "e\u0301\u0301mix", "two words",
         b"tab\tnew\nline", "\u202eevil", "ollama"]


def graphics(base):
    """Makes two GPUs, the first with all kinds of values, and clients with all kinds of names."""
    m = Machine(base)
    dev = m.device("amdgpu", "0000:08:00.0", 0, 128, files={
        "gpu_busy_percent": "24\n", "mem_info_vram_total": f"{8 << 30}\n", "mem_info_vram_used": f"{3 << 29}\n",
        "mem_info_gtt_total": f"{16 << 30}\n", "mem_info_gtt_used": f"{1 << 28}\n",
        "hwmon/hwmon1/name": "amdgpu\n", "hwmon/hwmon1/temp1_input": "55000\n", "hwmon/hwmon1/temp1_label": "edge\n",
        "hwmon/hwmon1/power1_average": "41200000\n", "hwmon/hwmon1/fan1_input": "982\n",
        "hwmon/hwmon1/freq1_input": "1168000000\n", "hwmon/hwmon1/freq1_label": "sclk\n"})
    m.busy = m.path(dev, "gpu_busy_percent")
    m.device("i915", "0000:00:02.0", 1, 129)
    m.clients = []
    for i, name in enumerate(NAMES):
        pid = m.process(1000 + 7 * i, name, start=1000 + i, cgroup=f"0::/user.slice/app-{i % 3}.scope\n")
        m.clients.append(m.fd(pid, 3, old_amdgpu(32768 + i, 20480 << (i % 4), 40 - 3 * i if i < 9 else 0, 2 * i)))
    m.fd(1000, 4, "drm-driver:\ti915\ndrm-client-id:\t9\ndrm-pdev:\t0000:00:02.0\ndrm-engine-render:\t5 ns\n"
         "drm-engine-copy:\t0 ns\ndrm-resident-system0:\t4096 KiB\ndrm-total-system0:\t8192 KiB\n", "/dev/dri/renderD129")
    return m


def waits_long(pid):
    """True if the program is idle: it waits for an event, or for 2 s or more. None if this machine
    does not show that."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
            call, *args = f.read().split()
        if call != str(clock.NUMBERS[os.uname().machine][2]):  # ppoll
            return False
        if (at := int(args[2], 16)) == 0:
            return True
        with open(f"/proc/{pid}/mem", "rb") as f:
            f.seek(at)
            return struct.unpack("<q", f.read(8))[0] >= 2
    except (KeyError, PermissionError):
        return None
    except (OSError, struct.error):  # the program has ended
        return True


class Folder:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="top.")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


# --- a real terminal ------------------------------------------------------------------------------

class Tmux:
    """A shell in a new terminal."""
    def __init__(self, cols, rows, env=""):
        self.dir = tempfile.mkdtemp(prefix="tmux.")
        self.base = ["tmux", "-u", "-S", os.path.join(self.dir, "s"), "-f", "/dev/null"]
        self.t("new-session", "-d", "-x", str(cols), "-y", str(rows), f"env PS1='$ ' ENV= LC_ALL=C.UTF-8 {env} sh -i", ";",
               "set", "status", "off", ";", "set", "escape-time", "0", ";", "resize-window", "-x", str(cols), "-y", str(rows))
        self.wait(lambda s: "$" in s, "a shell")

    def t(self, *args):
        r = subprocess.run(self.base + list(args), capture_output=True, timeout=PATIENCE, check=False)
        check(r.returncode == 0, f"tmux {args}: {r.stderr!r}")
        return r.stdout.decode("utf-8", "replace")

    def keys(self, *keys):
        for k in keys:
            self.t("send-keys", k)
            if k == "Escape":
                time.sleep(0.3)  # a key directly after Esc would be read as part of an escape sequence
                end = time.monotonic() + PATIENCE
                while self.works() and time.monotonic() < end:
                    time.sleep(0.05)

    def line(self, text):
        self.t("send-keys", "-l", text)
        self.keys("Enter")

    def screen(self):
        return self.t("capture-pane", "-p")

    def state(self, what):
        return self.t("display", "-p", f"#{{{what}}}").strip()

    def wait(self, good, what):
        end = time.monotonic() + PATIENCE
        while not good(s := self.screen()):
            check(time.monotonic() < end, f"{what} did not appear; the screen is:\n{s}")
            time.sleep(0.05)
        return s

    def works(self):
        """True if a program that the shell started is not yet waiting for keys."""
        shell = self.state("pane_pid")
        try:
            with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as f:
                return any(waits_long(pid) is False for pid in f.read().split())
        except OSError:
            return False

    def still(self):
        """Waits until the screen no longer changes. Returns the screen."""
        was, since = None, time.monotonic()
        end = since + PATIENCE
        while time.monotonic() - since < 0.35 and time.monotonic() < end:
            now = self.screen()
            if now != was or self.works():
                was, since = now, time.monotonic()
            time.sleep(0.05)
        return was

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(self.base + ["kill-server"], capture_output=True, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def started(t, m, *options):
    """Starts top and waits for its first sample with rates. Later samples are taken only after the
    key r."""
    t.line(f"{PROG} top -i 1h {' '.join(options)} " + " ".join(m.roots()))
    t.wait(lambda s: s.startswith("gpustat ") and re.search(r"^card1 i915 .* 0\.0%", s, re.M), "a screen with rates")
    return t.still()


def golden(name, screen):
    path = os.path.join(GOLDEN, f"top-{name}.want")
    screen = "".join(line.rstrip() + "\n" for line in screen.split("\n")[:-1])
    if BLESS:
        with open(path, "w", encoding="utf-8") as f:
            f.write(screen)
    with open(path, encoding="utf-8") as f:
        want = f.read()
    if screen != want:
        diff = [f"{a!r}\n   not {b!r}" for a, b in zip(screen.split("\n"), want.split("\n")) if a != b]
        check(False, f"screen {name}: " + "\n".join(diff[:3]))


def draw(m, t, samples=(60, 95, 0)):
    """Takes samples with fixed values of the first GPU and one client. Returns the screen."""
    for i, busy in enumerate(samples):
        rewrite(m.busy, f"{busy}\n")
        rewrite(m.clients[1], old_amdgpu(32769, 524288, 10 * i, 5))
        t.keys("r")
        t.still()
    return t.still()


SIZES = {"80x24": (80, 24, ""), "200x60": (200, 60, ""), "40x10": (40, 10, ""), "80x24-ascii": (80, 24, "--ascii"),
         "200x60-ascii": (200, 60, "--ascii"), "40x10-ascii": (40, 10, "--ascii")}


def screens():
    for name, (cols, rows, options) in SIZES.items():
        with Folder() as base, Tmux(cols, rows) as t:
            m = graphics(base)
            started(t, m, options)
            s = draw(m, t)
            if options:
                check(s.isascii(), f"{name}: beyond ASCII")
            golden(name, s)


def locales():
    with Folder() as base:
        m = graphics(base)
        for env, ascii_only in (("LC_ALL=C", True), ("LC_ALL= LC_CTYPE=de_DE.UTF-8 LANG=C", False), ("LC_ALL= LC_CTYPE= LANG=en_US.utf8", False),
                                ("LC_ALL=POSIX LANG=C.UTF-8", True), ("LC_ALL= LC_CTYPE= LANG=", True)):
            with Tmux(80, 24, env) as t:
                eq(started(t, m).isascii(), ascii_only, env)


def keys():
    with Folder() as base, Tmux(80, 24) as t:
        m = graphics(base)
        started(t, m)

        def rows(s):
            lines = s.split("\n")
            at = next(i for i, line in enumerate(lines) if "COMMAND" in line or "ENGINES" in line)
            return [line for line in lines[at + 1:23] if re.match(r" *\d+ ", line)]

        def after(*k):
            t.keys(*k)
            return t.still()
        golden("keys-menu", after("s"))
        golden("keys-help", after("Escape", "F1"))
        pids = [int(line.split()[0]) for line in rows(after("Escape", "N"))]
        eq(pids, sorted(pids, reverse=True), "by pid")
        pids = [int(line.split()[0]) for line in rows(after("I"))]
        eq(pids, sorted(pids), "by pid, inverted")
        s = after("M")
        check("MEM▼" in s, "sorted by memory")
        sizes = [float(line.split()[3][:-1]) for line in rows(s)]
        eq(sizes, sorted(sizes, reverse=True), "by memory")
        s = after("P")
        check("GPU%▼" in s, "sorted by busy")
        busy = [float(line.split()[2]) for line in rows(s) if line.split()[2] != "-"]
        eq(busy, sorted(busy, reverse=True), "by busy")
        s = after(">")
        check("sort by" in s, "> opens the menu")
        s = after("Down", "Enter")
        check("MEM▼" in s, "sorted by memory, which was chosen in the menu")
        s = after("/", "f", "I", "r", "e")
        check("Filter: fIre" in s and len(rows(s)) == 1 and "firefox" in rows(s)[0], f"filter while it is typed: {rows(s)}")
        s = after("BSpace", "BSpace", "BSpace", "BSpace", "app-1", "Enter")
        check(len(rows(s)) == 4 and " 4 shown" in s, f"filter by cgroup: {rows(s)}")
        s = after("Escape")
        check("Filter:" not in s and "shown" not in s, "Esc clears")
        s = after("/", "1007", "Enter")
        check(len(rows(s)) == 1 and "firefox" in s, "filter by pid")
        after("Escape")
        s = after("G")
        check(re.search(r"\d+-13/13", s), "the end")
        s = after("Home")
        check("1-" in s.split("\n")[23], "the beginning")
        s = after("NPage", "NPage")
        check("3-13/13" in s, "screen after two pages down")
        after("PPage", "Up", "Down", "k", "j")
        s = after("Right")
        check("    PID" not in s and "CGROUP" in s, "columns move")
        s = after("Left")
        check("    PID" in s, "columns move back")
        s = after("Space")
        check("FROZEN" in s, "frozen")
        s = after("p")
        check("FROZEN" not in s and "3600s" in s, "no longer frozen")
        for key, want in (("+", "3600s"), ("-", "60s"), ("-", "30s"), ("-", "20s"), ("+", "30s"), ("+", "60s"), ("+", "60s")):
            s = after(key)
            check(s.split("\n")[0].endswith(" " + want), f"interval after {key}: {s[:80]}")
        t.t("resize-window", "-x", "60", "-y", "20")
        s = t.still()
        check(len(s.split("\n")) == 21 and "F1Help" in s.split("\n")[19], "after a resize")
        t.t("resize-window", "-x", "100", "-y", "30")
        s = t.still()
        check("F1Help" in s.split("\n")[29] and "MEM" in s, "after a second resize")
        after("q")
        t.wait(lambda s: "$" in s.split("\n")[0] or "$ " in s, "the shell")


def pid_of(base):
    out = subprocess.run(["pgrep", "-f", f"^{PROG} top .*{base}"], capture_output=True, text=True, check=False).stdout.split()
    check(len(out) == 1, f"processes: {out}")
    return int(out[0])


EXITS = {
    "q": lambda t, base: t.keys("q"), "F10": lambda t, base: t.keys("F10"), "Ctrl-C": lambda t, base: t.keys("C-c"),
    "SIGTERM": lambda t, base: os.kill(pid_of(base), signal.SIGTERM), "SIGHUP": lambda t, base: os.kill(pid_of(base), signal.SIGHUP),
    "SIGQUIT": lambda t, base: t.keys("C-\\"), "in the menu": lambda t, base: t.keys("s", "C-c"), "-c 1": None,
}
PLAIN = "0 1 1"  # the main screen, a visible cursor, lines wrap


def modes(t):
    return " ".join(t.state(x) for x in ("alternate_on", "cursor_flag", "wrap_flag"))


def exits():
    with Folder() as base, Tmux(80, 24) as t:
        m = graphics(base)
        for i, (name, leave) in enumerate(EXITS.items()):
            t.line("clear; stty -g >/tmp/x$$")
            run = f"{PROG} top {'-i 1h' if leave else '-c 1 -i 0.2'} {' '.join(m.roots())}"
            # The number of the run, because the screen may still show the end of the previous run.
            t.line(f"{run}; echo code $? of {i}; stty -g | cmp - /tmp/x$$ && echo sa''me; rm /tmp/x$$")
            if leave:
                t.wait(lambda s: s.startswith("gpustat "), "a screen")
                eq(modes(t), "1 0 0", f"{name}: while it runs")
                leave(t, base)
            s = t.wait(lambda s, i=i: re.search(rf"code \d+ of {i}\b", s) and ("same" in s or "differ" in s), f"{name}: the end")
            check("same" in s and "code 0 of" in s, f"{name}: the terminal is not as it was: {s}")
            eq(modes(t), PLAIN, f"{name}: afterwards")


def suspends():
    with Folder() as base, Tmux(80, 24) as t:
        m = graphics(base)
        t.line("stty -g >/tmp/y$$")
        before = started(t, m)
        t.keys("C-z")
        t.wait(lambda s: "Stopped" in s, "the shell")
        eq(modes(t), PLAIN, "suspended")
        t.line("clear; stty -g | cmp - /tmp/y$$ && echo sa''me; rm /tmp/y$$")
        t.wait(lambda s: "same" in s, "the same modes")
        t.line("fg")
        t.wait(lambda s: s.startswith("gpustat "), "the screen again")
        eq(t.still(), before, "the same screen")
        eq(modes(t), "1 0 0", "resumed")
        os.kill(pid_of(base), signal.SIGSTOP)  # top cannot restore the terminal; the shell does, and top sets it up again
        t.wait(lambda s: s.rstrip().endswith("$"), "the shell")
        t.t("send-keys", "-l", "stty sane; fg")
        t.keys("C-j")  # this shell does not restore the terminal modes, in which Enter does not end a line
        t.wait(lambda s: s.startswith("gpustat "), "the screen once more")
        eq(t.still(), before, "after SIGSTOP and SIGCONT")
        t.keys("q")
        t.wait(lambda s: not s.startswith("gpustat "), "the shell")


def dumb():
    with Folder() as base:
        m = graphics(base)
        for env, kw in (({"TERM": "dumb"}, {}), ({"TERM": ""}, {}), ({"TERM": "xterm"}, {"stdout": subprocess.PIPE})):
            p = Pty(80, 24, [PROG, "top", "-i", "0.1", "-c", "2"] + m.roots(), env, **kw)
            out = p.all() if not kw else p.child.stdout.read()
            err = p.all() if kw else out
            check(b"the terminal cannot show a screen" in err, f"{env}: says so: {err!r}")
            check(b"\033" not in out and out.count(b"card0") == 2 and b"DRIVER" in out, f"{env}: lines: {out!r}")
            eq(p.child.wait(PATIENCE), 0, "exit code")


# --- a terminal emulator in this test -------------------------------------------------------------

class Pty:
    """The program on a pty, with a terminal emulator that accepts only the escape sequences that
    top may use."""
    def __init__(self, cols, rows, argv, env=None, **kw):
        self.cols, self.rows, self.fault, self.rest = cols, rows, None, b""
        self.clear()
        self.master, slave = os.openpty()
        self.name = os.ttyname(slave)
        self.size(cols, rows)

        def own():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        full = {**os.environ, "TERM": "vt100", "LC_ALL": "C.UTF-8", **(env or {})}
        self.child = subprocess.Popen(argv, preexec_fn=own, env=full, pass_fds=(slave,),
                                      **{"stdin": slave, "stdout": slave, "stderr": slave, **kw})
        os.close(slave)
        self.seen = 0

    def size(self, cols, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def clear(self):
        self.grid = [[(" ", "")] * self.cols for _ in range(self.rows)]
        self.row = self.col = 0
        self.style = ""

    def read(self, timeout):
        """Reads and displays output; None if there was none within the timeout, b"" at the end."""
        if not select.select([self.master], [], [], timeout)[0]:
            return None
        try:
            data = os.read(self.master, 1 << 20)
        except OSError:
            return b""
        self.seen += len(data)
        self.feed(data)
        return data

    def rests(self):
        """True if the program has read all keys and waits for the next one; None if unknown."""
        try:
            slave = os.open(self.name, os.O_RDWR | os.O_NOCTTY)
            try:
                unread = select.select([slave], [], [], 0)[0]
            finally:
                os.close(slave)
        except OSError:  # the terminal was closed
            unread = False
        return not unread and waits_long(self.child.pid)

    def settle(self, quiet=0.25):
        """Reads until the program is idle and all its output was read. If this machine does not
        show that, reads until there is no output for a while."""
        end = time.monotonic() + PATIENCE
        while (data := self.read(0.01)) or (data is None and not (rests := self.rests()) and time.monotonic() < end):
            if data is None and rests is None and not self.read(quiet):
                break
        while self.read(0):
            pass
        check(not self.fault, self.fault)

    def until(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.text():
            check(time.monotonic() < end and self.read(1) != b"", f"{text} did not appear: {self.text()}")

    def all(self):
        out = b""
        while (data := self.read(PATIENCE)):
            out += data
        return out

    def send(self, data):
        os.write(self.master, data)

    def text(self):
        return "\n".join("".join(c for c, _ in line) for line in self.grid)

    def feed(self, data):
        data = self.rest + data
        self.rest = b""
        at = 0
        while at < len(data) and not self.fault:
            m = re.compile(rb"\033\[(\??)([\d;]*)([A-Za-z])").match(data, at)
            if m:
                self.csi(*m.groups())
                at = m.end()
                continue
            if data[at] == 27:
                if len(data) - at < 16:
                    break
                self.fault = f"no sequence of ours: {data[at:at + 16]!r}"
            n = 1 if data[at] < 0x80 else 2 if data[at] < 0xe0 else 3 if data[at] < 0xf0 else 4
            if len(data) - at < n:
                break
            self.char(data[at:at + n].decode("utf-8"))
            at += n
        self.rest = data[at:]

    def csi(self, private, numbers, final):
        n = [int(x or 0) for x in numbers.split(b";")]
        if private:
            if (n[0], final) not in ((1049, b"h"), (25, b"l"), (7, b"l"), (1049, b"l"), (25, b"h"), (7, b"h")):
                self.fault = f"mode {n} {final}"
        elif final == b"m":
            for x in n:
                if x not in (0, 1, 7, 90, 30, 31, 32, 33, 34, 35, 36, 42, 43, 46):
                    self.fault = f"attribute {x}"
                self.style = "" if x == 0 else " ".join(sorted({*self.style.split(), str(x)} - ({s for s in self.style.split()
                             if s not in "17"} if x > 9 else set())))
        elif final == b"H":
            self.row, self.col = max(n[0], 1) - 1, (max(n[1], 1) if len(n) > 1 else 1) - 1
        elif final == b"C":
            self.col += max(n[0], 1)
        elif final == b"K":
            self.grid[self.row][self.col:] = [(" ", self.style)] * (self.cols - self.col)
        elif final == b"J":
            self.grid = [[(" ", "")] * self.cols for _ in range(self.rows)]
        else:
            self.fault = f"sequence {final}"
        if self.row >= self.rows or self.col >= self.cols:
            self.fault = f"the cursor is at {self.row} {self.col}"

    def char(self, c):
        if c == "\r":
            self.col = 0
        elif c == "\n":
            self.row += 1
            if self.row >= self.rows:
                self.row -= 1  # the last row: the screen does not scroll
        elif ord(c) < 32 or 127 <= ord(c) < 160 or unicodedata.combining(c):
            self.fault = f"character {c!r}"
        else:
            wide = unicodedata.east_asian_width(c) in "WF"
            if self.col + wide >= self.cols:
                wide = False
            self.grid[self.row][self.col] = (c, self.style)
            if wide:
                self.grid[self.row][self.col + 1] = ("", self.style)
            self.col = min(self.col + 1 + wide, self.cols - 1)

    def end(self):
        self.send(b"q")
        self.all()
        return self.child.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)


def top(m, cols, rows, *options, env=None, **kw):
    return Pty(cols, rows, [PROG, "top", "-i", "1h", *options] + m.roots(), env, **kw)


def differences():
    """Checks after random keys and samples that a full redraw (Ctrl-L) does not change the screen."""
    rng = random.Random(7)
    typed = [b"r", b"r", b"r", b"j", b"k", b"N", b"M", b"P", b"C", b"I", b"s", b"\033[B", b"\r", b"h", b"\033", b"/", b"e", b"\x7f", b"G", b"g",
             b"\033[6~", b"\033[5~", b" ", b"\033[C", b"\033[D", b"\t", b"+", b"-", b"\033[99;99z", b"\033OP", b"n", b"D"]
    with Folder() as base:
        m = graphics(base)
        for cols, rows in ((80, 24), (40, 10), (200, 60), (23, 7)):
            with top(m, cols, rows) as p:
                p.until("gpustat ")
                p.settle()
                for _ in range(15):
                    rewrite(m.busy, f"{rng.randrange(101)}\n")
                    i = rng.randrange(len(m.clients))
                    rewrite(m.clients[i], old_amdgpu(32768 + i, rng.randrange(1 << 20), rng.randrange(101), rng.randrange(101)))
                    p.send(b"".join(rng.choice(typed) for _ in range(rng.randrange(1, 4))))
                    p.settle(0.15)
                    was = p.grid
                    p.send(b"\033\033\f\f" if rng.random() < 0.1 else b"\f")
                    p.settle(0.15)
                    if "Filter: " not in p.text() and was != p.grid:
                        # If Esc has closed a menu, the next \f must repeat the new screen.
                        was = p.grid
                        p.send(b"\f")
                        p.settle(0.15)
                    for y, (a, b) in enumerate(zip(was, p.grid)):
                        if "Filter: " not in p.text():
                            eq(a, b, f"{cols}x{rows}: row {y}")


def writes(m, tmp, *options, count=6):
    """Returns the sizes of the writes to the terminal in a run of `count` frames, on a machine
    without changes."""
    log = os.path.join(tmp, "log")
    with Pty(80, 24, ["strace", "-o", log, "-e", "trace=write", PROG, "top", "-i", "0.2", "-c", str(count), *options] + m.roots()) as p:
        p.all()
        eq(p.child.wait(PATIENCE), 0, "exit code")
    with open(log, encoding="utf-8", errors="replace") as f:
        return [int(x) for x in re.findall(r"^write\(1, .*\) = (\d+)$", f.read(), re.M)]


def bytes_of_frames():
    if not shutil.which("strace"):
        return "package strace"
    with Folder() as base:
        m = graphics(base)
        for options in ((), ("--ascii",)):
            sizes = writes(m, base, *options)
            # The writes: the switch to the alternate screen; the first frame; one for each sample
            # in which something changed; the switch to the main screen.
            eq(len(sizes), 9, f"writes of 7 frames: {sizes}")
            first, rest = sizes[1], sizes[2:-1]
            print(f"# {options}: first frame {first} bytes, then {rest}")
            check(first < 4096, f"the first frame has {first} bytes")
            check(max(rest) < 400, f"sizes of the frames in which only a graph moves: {rest}")
    return None


def busy_frames():
    """Checks that a frame in which all values of 12 clients change has less than 2 KB."""
    with Folder() as base:
        m = graphics(base)
        with top(m, 80, 24) as p:
            p.until("gpustat ")
            p.until(" 0.0%")
            p.settle()
            most = 0
            for i in range(8):
                rewrite(m.busy, f"{10 * i}\n")
                for k, c in enumerate(m.clients):
                    rewrite(c, old_amdgpu(32768 + k, 20480 << (k % 4), 3 * i + k, i + 2 * k))
                p.seen = 0
                p.send(b"r")
                p.settle()
                most = max(most, p.seen)
            print(f"# the largest frame has {most} bytes")
            check(0 < most < 2048, f"a frame has {most} bytes")
            eq(p.end(), 0, "exit code")


def sizes():
    with Folder() as base:
        m = graphics(base)
        for cols, rows in ((1, 1), (5, 3), (2, 40), (500, 1), (10, 4), (13, 5), (500, 200)):
            with top(m, cols, rows) as p:
                p.settle(0.8)
                for k in (b"r", b"s", b"\033", b"h", b"\033", b"/x\r", b"G", b"\t"):
                    p.send(k)
                    p.settle(0.1)
                eq(p.end(), 0, f"{cols}x{rows}: exit code")
                check(not p.fault, f"{cols}x{rows}: {p.fault}")
        with top(m, 600, 300) as p:
            p.until("500x200 of 600x300 used")
            p.settle()
            p.size(30, 8)
            p.cols, p.rows = 30, 8
            p.clear()
            p.settle()
            check("gpustat" in p.text(), "smaller")
            eq(p.end(), 0, "exit code")
        with top(m, 0, 0) as p:  # a serial line has no size
            p.cols, p.rows = 80, 24
            p.clear()
            p.until("F1Help")
            eq(p.end(), 0, "exit code")


def colours():
    with Folder() as base:
        m = graphics(base)
        for env, want in (({}, True), ({"NO_COLOR": "1"}, False)):
            with top(m, 80, 24, env=env) as p:
                p.until("gpustat ")
                p.settle(0.8)
                styles = {x for line in p.grid for _, s in line for x in s.split()}
                eq(bool(styles - {"1", "7"}), want, f"colours with {env}")
                p.end()


def broken():
    with Folder() as base:
        m = graphics(base)
        with top(m, 80, 24, stdin=subprocess.DEVNULL) as p:
            p.until("gpustat ")
            p.settle(0.5)
            check(p.child.poll() is None, "top must ignore the end of standard input")
            p.child.send_signal(signal.SIGTERM)
            p.all()
            eq(p.child.wait(PATIENCE), 0, "SIGTERM")
        with top(m, 80, 24) as p:  # the terminal is closed
            p.until("gpustat ")
            p.settle()
            os.close(p.master)
            p.master = os.open("/dev/null", os.O_RDONLY)
            check(p.child.wait(PATIENCE) in (0, 1), "top ends when its terminal is closed")
        with top(m, 80, 24, "--window", "1") as p:
            out = p.all()
            eq((p.child.wait(PATIENCE), b"\033" in out), (2, False), "a usage error does not change the terminal")


def no_device():
    with Folder() as base:
        m = Machine(base)
        with top(m, 80, 24) as p:
            p.until("no DRM or accel device here; still looking")
            eq(p.end(), 3, "exit code")
        with top(m, 80, 24) as p:
            p.until("no DRM or accel device here; still looking")
            m.device("i915", "0000:00:02.0", 0, 128)
            p.send(b"r")
            p.until("card0 i915")
            eq(p.end(), 0, "exit code after a device appeared")


def selects():
    with Folder() as base:
        m = graphics(base)
        for options, want in ((["-p", "1007"], 1), (["-C", "blender"], 1), (["-g", "/user.slice/app-1.scope"], 4), (["--device", "1"], 1), (["-s", "pid"], 13)):
            with top(m, 80, 40, *options) as p:
                p.settle(0.8)
                check(f" {want} client" in p.text().split("\n")[0], f"{options}: {p.text()[:80]}")
                p.end()


def chosen(p):
    """Returns the PID in the highlighted row of the table."""
    lines = ["".join(c for c, _ in line[:8]) for line in p.grid if all("7" in style.split() for _, style in line[:30])]
    check(len(lines) == 1, f"rows under the cursor: {lines}")
    return int(lines[0])


def follows():
    """Checks that the cursor follows its client when sorting, samples and filters move it, and that
    a cursor on the first row stays there."""
    with Folder() as base:
        m = graphics(base)
        with top(m, 80, 24, "-s", "pid") as p:
            p.settle(0.8)
            pids = []
            for key in (b"j", b"j", b"I", b"P", b"G", b"I", b"g", b"N"):
                p.send(key)
                p.settle(0.2)
                pids.append(chosen(p))
            eq(pids, [1070, 1063, 1063, 1063, 1000, 1000, 1000, 1077], "pids under the cursor")
            p.send(b"/blender\r")
            p.settle(0.2)
            eq(chosen(p), 1014, "filtered")
            p.send(b"\033")
            p.settle(0.3)
            p.send(b"Nj")
            p.settle(0.2)
            eq(chosen(p), 1070, "pid before its process exits")
            gone = os.path.join(base, "proc", "1070")
            for name in os.listdir(os.path.join(gone, "fdinfo")):
                os.truncate(os.path.join(gone, "fdinfo", name), 0)  # an open fdinfo file of an exited process is empty too
            subprocess.run(["rm", "-r", gone], check=True)
            p.send(b"r")
            p.settle(0.3)
            eq(chosen(p), 1063, "pid of the client that takes its place")
            eq(p.end(), 0, "exit code")


def stuck():
    """Checks that the first signal ends top on a terminal that accepts no output, as after Ctrl-S."""
    with Folder() as base:
        m = graphics(base)
        with top(m, 80, 24) as p:
            p.until("gpustat ")
            for _ in range(60):
                p.send(b"\f")
                time.sleep(0.01)
            check(p.child.poll() is None, "it waits")
            p.child.send_signal(signal.SIGTERM)
            eq(p.child.wait(PATIENCE), 0, "exit code")


def facts():
    """Checks the contents of the line of a device."""
    trees = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "trees")

    def line(tree, cols, rows=24, name="card0"):
        roots = ["--proc", os.path.join(trees, tree, "proc"), "--sys", os.path.join(trees, tree, "sys")]
        with Pty(cols, rows, [PROG, "top", "-i", "1h"] + roots) as p:
            p.settle(0.8)
            p.end()
            return next(x for x in p.text().split("\n") if x.startswith(name)).split(None, 1)[1].strip(), p.text()
    s, _ = line("amdgpu", 200)
    check(s.endswith("37.0%  2124/2526MHz  52C  112.0W  1480rpm  throttled: ppt0  junction 67C  mem 70C  vrgfx 58C  vrsoc 55C  "
                     "16.0GT/s x16"), f"all fields on a wide terminal: {s}")
    s, _ = line("amdgpu", 60)
    check(re.fullmatch(r"amdgpu 0000:03:00.0 +37.0%  2124/2526MHz  52C  112.0W.*", s), f"the address is complete on a narrow terminal: {s}")
    for cols, rows in ((132, 24), (60, 24), (45, 24), (32, 12), (24, 10), (60, 3), (40, 4), (32, 5)):
        s, _ = line("amdgpu", cols, rows)
        check(re.search(r"(^| )(0000:)?03:00.0( |$)", s), f"{cols}x{rows}: the address is shown complete: {s}")
    s, _ = line("mixed", 80, name="card1")
    check(s.startswith("suspended amdgpu AMD Radeon RX "), f"suspended; the name may be cut: {s}")
    s, _ = line("xe-suspended", 80)
    check(" 0000:03:00.0 " in s, f"the slot is shown because the name is only an id: {s}")
    with tempfile.TemporaryDirectory() as base:  # amdgpu counts no engine time of user queues
        m = Machine(base)
        m.device("amdgpu", "0000:03:00.0", files={"gpu_busy_percent": "87\n"})
        m.fd(10, 5, "drm-driver:\tamdgpu\ndrm-client-id:\t8\ndrm-pdev:\t0000:03:00.0\ndrm-engine-gfx:\t0 ns\n")
        s, _ = line(base, 80)
        check(s.endswith(" 87.0%"), f"the busy value of the device itself, not that of its engines: {s}")
    s, _ = line("v3d", 80, name="card1")
    check(re.fullmatch(r"vc4-drm brcm,bcm2711-vc5 \(Rasp\S* +-", s), f"no state without power management: {s}")
    s, text = line("jetson", 80, name="gpu.0")
    check("█" in text, "a graph is drawn if there is no gauge beside it")
    with Folder() as base:
        m = graphics(base)
        dev = os.path.dirname(m.busy)
        with open(os.path.join(dev, "pp_dpm_mclk"), "w", encoding="ascii") as f:
            f.write("0: 96Mhz\n1: 1249Mhz *\n")
        with top(m, 120, 24) as p:
            p.settle(0.8)
            check(" 1168MHz " in p.text(), f"the clock must not have the limit of another clock: {p.text()[120:300]}")
            p.end()


def crowds():
    """Checks the screen and its CPU time with 64 devices, 200 engines and 10 000 clients."""
    with Folder() as base:
        m = Machine(base)
        engines = "".join(f"drm-engine-e{i}:\t{i} ns\n" for i in range(200))
        for i in range(64):
            m.device("xe", f"0000:{i:02x}:00.0", i, 128 + i)
        for i in range(64):
            m.fd(2000, 3 + i, f"drm-driver:\txe\ndrm-client-id:\t{i}\ndrm-pdev:\t0000:{i:02x}:00.0\n{engines}", f"/dev/dri/renderD{128 + i}")
        for i in range(9936):
            m.fd(3000 + i // 100, 3 + i % 100, f"drm-driver:\txe\ndrm-client-id:\t{1000 + i}\ndrm-pdev:\t0000:00:00.0\ndrm-engine-e0:\t{i} ns\n"
                 "drm-resident-vram0:\t4 KiB\n", "/dev/dri/renderD128")
        with top(m, 80, 24) as p:
            p.until("64 devices  10000 clients")
            p.settle(1.5)

            def spent():
                with open(f"/proc/{p.child.pid}/stat", encoding="ascii") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                return int(fields[11]) / os.sysconf("SC_CLK_TCK")
            was = spent()
            for _ in range(20):
                p.send(b"j")
                p.settle(0.05)
            each = (spent() - was) / 20
            print(f"# {each * 1000:.1f} ms of CPU per key")
            check(each < 0.1, f"moving takes {each} s of CPU")
            was = spent()
            for _ in range(5):
                p.send(b"r")
                p.settle(0.5)
            each = (spent() - was) / 5
            print(f"# {each * 1000:.1f} ms of CPU per sample")
            check(each < 1, f"a sample takes {each} s of CPU")
            p.send(b"G")
            p.until("9991-10000/10000" if "9991-10000/10000" in p.text() else "/10000")
            p.send(b"\t\033[F")
            p.until("card63")
            eq(p.end(), 0, "exit code")


def main():
    have = shutil.which("tmux")
    tests = [(screens, "screens of all sizes equal the golden files", 1), (locales, "the character set is chosen by the locale", 1),
             (keys, "keys sort, filter, scroll and freeze", 1), (exits, "every exit restores the terminal", 1), (suspends, "Ctrl-Z and SIGSTOP: fg shows the same screen again", 1),
             (dumb, "a dumb terminal gets lines of text", 0), (differences, "partial updates result in the same screen as a full redraw", 0),
             (bytes_of_frames, "a frame is one write of few bytes", 0), (busy_frames, "a frame in which all values change has less than 2 KB", 0), (sizes, "terminals of any size are filled and not exceeded", 0),
             (colours, "colours are used, except with NO_COLOR", 0), (broken, "the end of standard input, a closed terminal, a usage error", 0), (no_device, "without a device: a message until one appears", 0), (follows, "the cursor follows its client", 0), (stuck, "a signal ends top on a terminal that accepts no output", 0),
             (facts, "the line of a device has the expected contents", 0),
             (selects, "options select devices, clients and order", 0), (crowds, "64 devices, 200 engines and 10 000 clients are shown with little CPU time", 0)]
    tests = [t for t in tests if os.environ.get("ONLY", "") in t[0].__name__]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # most of the time they wait for a screen
        runs = [pool.submit(f) if have or not tmux else None for f, _name, tmux in tests]
        for (_f, name, _tmux), run in zip(tests, runs):
            if not run:
                tap.skip(name, "package tmux")
                continue
            try:
                why = run.result()
                tap.skip(name, why) if why else tap.report(True, name)
            except (AssertionError, OSError, subprocess.SubprocessError, UnicodeDecodeError) as e:
                tap.report(False, name, *(str(e).split("\n") + [type(e).__name__]))
    tap.finish()


if __name__ == "__main__":
    main()
