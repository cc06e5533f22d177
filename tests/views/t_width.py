#!/usr/bin/env python3
# t_width.py PROG - the lines of devices: the columns that are shown on terminals of different
# sizes, and without a terminal. The machines are file trees, see tests/machine.py. Prints TAP.
# SPDX-License-Identifier: MIT
import os
import re
import sys

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
from machine import AMD, I915, check, dump, eq, on_terminal, test  # noqa: E402

ONCE = ["-w", "0.02"]
TREES = os.path.join(machine.ROOT, "tests", "trees")


def tree(name):
    return ["--proc", f"{TREES}/{name}/proc", "--sys", f"{TREES}/{name}/sys"]


def legacy(*loads):
    return (f"pos:\t0\npdev:\t{AMD}\npasid:\t32771\nvram mem:\t1024 kB\ngtt mem:\t0 kB\ncpu mem:\t0 kB\n" +
            "".join(f"{name}:\t{load}%\n" for name, load in loads))


def amdgpu(m, *loads, files=None):
    """Makes a busy GPU. amdgpu before Linux 5.19 prints percentages, so that one reading is enough."""
    m.device("amdgpu", AMD, files=files)
    m.process(10, "game")
    m.fd(10, 5, legacy(*loads))


SIX = [("gfx0", "75.0"), ("compute0", "100.0"), ("dma0", "0.0"), ("dec0", "3.25"), ("enc0", "0.0"), ("enc1", "0.0")]


def engines(line):
    """Returns the engines in a line, and the number of engines that are left out."""
    shown = [name for name in re.findall(r"([a-z]+\d) [\d.]+%", line) if not name.startswith("card")]
    left = re.search(r" \+(\d+)", line)
    return shown, int(left[1]) if left else 0


def last(text):
    return text.splitlines()[-1]


@test("output to a pipe leaves no engine out")
def _(m):
    amdgpu(m, *SIX)
    eq(engines(last(m.run(*ONCE).out.decode())), ([name for name, _ in SIX], 0), "engines")


@test("COLUMNS has no effect in a pipe")
def _(m):
    amdgpu(m, *SIX)
    r = m.run(*ONCE, env=dict(os.environ, COLUMNS="40"))
    eq(engines(last(r.out.decode())), ([name for name, _ in SIX], 0), "engines")


@test("-O FILE, -1 and -o kmsg have all engines, also if standard output is a narrow terminal")
def _(m):
    amdgpu(m, *SIX)
    on_terminal([*ONCE, "-O", m.path("out"), *m.roots()], 60)
    with open(m.path("out"), encoding="ascii") as f:
        text = f.read()
    eq(engines(last(text)), ([name for name, _ in SIX], 0), "-O")
    check("\033" not in text, "no escape in the file")
    eq(engines(last(on_terminal([*ONCE, "-1", *m.roots()], 60)))[0], [name for name, _ in SIX], "-1")
    kmsg = on_terminal([*ONCE, "-o", "kmsg", *m.roots()], 60)
    check(all(f"engine.{name}.busy=" in kmsg for name, _ in SIX), kmsg)


for cols in (60, 80, 132, 200):
    @test(f"a terminal of {cols} columns: no line is wider, and the least busy engines are left out first")
    def _(m, cols=cols):
        amdgpu(m, *SIX)
        out = on_terminal([*ONCE, *m.roots()], cols)
        lines = re.sub(r"\033\[\d*m", "", out).splitlines()
        check(all(len(line) <= cols for line in lines), f"too wide:\n{out}")
        shown, left = engines(lines[-1])
        busiest = ["compute0", "gfx0", "dec0"]
        check(set(busiest[:len(shown)]) <= set(shown), lines[-1])
        check(cols < 80 or len(shown) >= 3, f"all busy engines have room: {lines[-1]}")
        eq(len(shown) + left, 6, "all engines are shown or counted")
        check("100.0%" in lines[-1].split("gfx0")[0], f"BUSY is that of the busiest engine: {lines[-1]}")


@test("columns that are unknown for all devices are left out before those that are known")
def _(m):
    amdgpu(m, *SIX)
    head = on_terminal([*ONCE, "-t", "none", *m.roots()], 60).splitlines()[0]
    check("CLOCK" not in head and "TEMP" not in head and "POWER" not in head, head)
    head = on_terminal([*ONCE, "-t", "none", *m.roots()], 132).splitlines()[0]
    check("CLOCK" in head and "TEMP" in head and "CLIENTS" in head, head)


@test("the columns of a terminal: COLUMNS is used before the size of the terminal")
def _(m):
    amdgpu(m, *SIX)
    wide = on_terminal([*ONCE, *m.roots()], 60, COLUMNS="200")
    eq(engines(last(wide)), ([name for name, _ in SIX], 0), "COLUMNS=200")
    for odd in ("", "0", "x", "-5", "80x"):
        out = on_terminal([*ONCE, *m.roots()], 70, COLUMNS=odd)
        check(max(map(len, re.sub(r"\033\[\d*m", "", out).splitlines())) <= 70, f"COLUMNS={odd}: {out}")


@test("a terminal of unknown size, such as a serial line, has 80 columns")
def _(m):
    amdgpu(m, *SIX)
    out = on_terminal([*ONCE, *m.roots()], 0, 0)
    check(max(map(len, re.sub(r"\033\[\d*m", "", out).splitlines())) <= 80, out)


@test("with TERM=dumb, NO_COLOR or without TERM there is no escape sequence; otherwise the header is bold")
def _(m):
    amdgpu(m, *SIX)
    check("\033[1m" in on_terminal([*ONCE, *m.roots()]), "bold")
    for env in ({"TERM": "dumb"}, {"TERM": None}, {"TERM": ""}, {"NO_COLOR": "1"}):
        check("\033" not in on_terminal([*ONCE, *m.roots()], **env), f"{env}")


@test("on a terminal the header is repeated after each screenful, in a pipe it is printed once")
def _(m):
    amdgpu(m, *SIX)
    out = on_terminal(["-i", "0.01", "-c", "20", *m.roots()], 80, 8, TERM="dumb").splitlines()
    heads = [i for i, line in enumerate(out) if "ENGINES" in line]
    eq(len(out), 20 + len(heads), "lines")
    eq(heads, [0, 7, 14, 21], "a header each 7 lines: the cursor is on the eighth")
    eq(m.run("-i", "0.01", "-c", "20").out.count(b"ENGINES"), 1, "in a pipe")
    check("ENGINES" not in on_terminal(["-H", "-i", "0.01", "-c", "20", *m.roots()], 80, 8), "-H")


@test("no header is printed within a sample, even if the sample is larger than the screen")
def _(m):
    for i in range(5):
        m.device("i915", f"0000:00:0{i + 2}.0", card=i, render=128 + i)
    out = on_terminal(["-i", "0.01", "-c", "3", *m.roots()], 80, 4, TERM="dumb").splitlines()
    eq([i for i, line in enumerate(out) if "ENGINES" in line], [0, 6, 12], "headers")


@test("BUSY is the busy value of the kernel, not that of the busiest engine")
def _(m):
    amdgpu(m, *SIX, files={"gpu_busy_percent": "42\n"})
    check(re.search(r"amdgpu +42\.0% gfx0", last(m.run(*ONCE).out.decode())), "42 %")


@test("without readable clients, BUSY is the busy value of the kernel, and ENGINES has the busy units")
def _(m):
    m.device("amdgpu", AMD, files={"gpu_busy_percent": "42\n", "mem_busy_percent": "7\n", "vcn_busy_percent": "3\n"})
    check(re.search(r"amdgpu +42\.0% mem 7\.0% vcn 3\.0%", last(m.run(*ONCE).out.decode())), "load")


@test("BUSY is the load of the memory controller if no other value is known")
def _(m):
    m.device("amdgpu", AMD, files={"mem_busy_percent": "7\n"})
    check(re.search(r"amdgpu +7\.0% mem 7\.0%", last(m.run(*ONCE).out.decode())), "load")


for name, want in {"jetson": r"^gpu\.0 +nvgpu +47\.3% - ",
                   "rockchip": r"^card1 +RKNPU +12\.0% Core0 12\.0% Core1 0\.0% Core2 7\.0% .*\n\S+ +mali +37\.0% - ",
                   "amdgpu": r"^card0 +amdgpu +37\.0% gfx .*3\.0G/24G"}.items():
    @test(f"BUSY of the tree {name}")
    def _(m, name=name, want=want):
        out = machine.run([*ONCE, "-t", "none", *tree(name)]).out.decode()
        check(re.search(want, out, re.M), out)


@test("MEM includes the size of the memory only if it is known")
def _(m):
    m.device("i915", I915)
    m.fd(10, 5, dump("i915", 7, "drm-total-system0:\t9 MiB", "drm-resident-system0:\t4 MiB", pdev=I915))
    check(" 4.0M " in last(m.run(*ONCE).out.decode()), "4.0M")


@test("engines that appear after the first sample are all printed to a pipe")
def _(m):
    m.device("amdgpu", AMD)
    m.process(10, "game")
    path = m.fd(10, 5, legacy(("gfx0", "5.0")))
    more = legacy(*((name, "100.0") for name, _ in SIX))
    with m.driven("-i", "1", "-c", "2") as p:
        p.sleep()
        p.wake()
        p.sleep()
        machine.rewrite(path, more)
        p.wake()
        p.sleep()
    eq(engines(last(p.out.decode()))[0], [name for name, _ in SIX], "engines")


if __name__ == "__main__":
    sys.exit(machine.main(sys.argv[1], machine.TESTS))
