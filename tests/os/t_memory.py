#!/usr/bin/env python3
# t_memory.py PROG - memory use: static data of the binary and of programs that link the libraries,
# each command of tests/boot/commands with limited address space or data, and the huge pages of a
# command that gpustat starts. Tests that need a whole machine are in tests/boot (small, thp).
# Prints TAP.
# SPDX-License-Identifier: MIT
import concurrent.futures
import ctypes
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import commands, finish, report, skip  # noqa: E402

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
KIB = 1024
PR_SET_THP_DISABLE = 41
SHT_SYMTAB = 2
# Address space in KiB that is enough for every command, and sizes that are too small for some,
# which then print a text that matches NO_ROOM.
ENOUGH, SHORT = 16384, (3072, 5120)
NO_ROOM = re.compile("(?:had no|no|has no) room|room for |[Cc]annot allocate memory")
DATA = 4096


def sh(*args, **kw):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False, **kw)


# --- static data ----------------------------------------------------------------------------------

def sections(elf):
    """Returns name, type, offset, size and link of each section of a 64-bit ELF file."""
    at, = struct.unpack_from("<Q", elf, 40)
    size, n, names = struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQII", elf, at + i * size) for i in range(n)]
    text = rows[names][4]
    return [(elf[text + r[0]:elf.index(b"\0", text + r[0])].decode(), r[1], r[4], r[5], r[6]) for r in rows]


def static_data(path):
    """Returns the size of .data and .bss in bytes, and their objects, the largest first."""
    with open(path, "rb") as f:
        elf = f.read()
    if elf[:5] != b"\x7fELF\x02":
        return None, None
    found = sections(elf)
    written = {i: s for i, s in enumerate(found) if s[0] in (".data", ".bss")}
    objects = []
    for _, kind, offset, size, link in found:
        if kind != SHT_SYMTAB:
            continue
        texts = found[link][2]
        for at in range(offset, offset + size, 24):
            name, _, _, where, _, n = struct.unpack_from("<IBBHQQ", elf, at)
            if where in written and n:
                objects.append((n, elf[texts + name:elf.index(b"\0", texts + name)].decode()))
    return {s[0]: s[3] for s in written.values()}, sorted(set(objects), reverse=True)


def bound(path, kib, name):
    data, objects = static_data(path)
    if data is None:
        skip(name, "only 64-bit ELF files can be read")
        return
    total = sum(data.values())
    report(total <= kib * KIB, f"{name}: at most {kib} KiB", f"{total} bytes", data)
    print(f"# {total} bytes: {', '.join(f'{n} {size}' for n, size in data.items())}")
    for size, symbol in objects[:10]:
        print(f"#   {size:9} {symbol}")


def functions(header):
    p = sh("gcc", "-std=c99", f"-I{ROOT}/include", "-E", "-P", "-x", "c", "-", input=f"#include <{header}>\n".encode())
    declared = p.stdout.decode().replace("\n", " ").split(";")
    return sorted({m[1] for d in declared if (m := re.search(r"[ *]((?:kd|gp_|pfm_)\w+)\(", d))})


def test_static(prog, tmp):
    bound(prog, 1024, "static data of the binary")
    os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
    p = sh("flock", os.path.join(ROOT, "build", "lib.lock"), "make", "-s", "-C", ROOT, "lib")  # other tests build it too
    for header, libs in (("KD/KHR_perfcounter.h", ["-lgpustat"]), ("gpustat/perf.h", ["-lgpustat"]),
                         ("perfmon/perfmon.h", ["-lperfmon2", "-lgpustat", "-lpthread"])):
        names = functions(header)
        path = os.path.join(tmp, header.replace("/", "_"))
        with open(f"{path}.c", "w", encoding="ascii") as f:
            f.write(f"#include <{header}>\nstatic void (*volatile all[])(void) = {{\n")
            f.write("".join(f"\t(void (*)(void)){n},\n" for n in names) + "};\nint main(void) { return !all[0]; }\n")
        if not p.returncode:
            p = sh("gcc", f"-I{ROOT}/include", "-o", path, f"{path}.c", f"-L{ROOT}", *libs)
        if p.returncode or not names:
            report(False, f"a program that uses every function of {header} is linked", p.stderr)
            return
        bound(path, 256, f"static data of a program that uses every function of {header}")


# --- limits ---------------------------------------------------------------------------------------

def rows(prog, tmp):
    """Yields the rows of tests/boot/commands: arguments, and the texts that the output must contain."""
    with open("/proc/meminfo", encoding="ascii") as f:
        total = int(re.search(r"MemTotal:\s+(\d+)", f.read())[1]) * KIB
    places = {"@": "--proc /tree/proc --sys /tree/sys", "&": f"{prog} --proc /tree/proc --sys /tree/sys -o csv -O {tmp}/out.csv 0.01 5",
              "$": prog, "%": str(total),
              # On a real CPU the commands are shorter than on an emulated one: a shorter period ensures a sample.
              "--sample-period 100000": "--sample-period 20000"}
    files = {"/tree/": f"{HERE}/trees/amdgpu/", "/skl.rec": f"{HERE}/oa/skl.rec", "/run.csv": f"{tmp}/run.csv"}
    with open(os.path.join(HERE, "boot", "commands"), encoding="ascii") as f:
        for line in f:
            if line.startswith("#"):
                continue
            for short, long in (*places.items(), *files.items()):
                line = line.replace(short, long)
            words, *checks = line.rstrip("\n").lstrip("!").split("\t")
            yield words.split(), checks


def lacks(check, text):
    """Returns a list of the texts that the check requires and that are not in the output."""
    if not check.startswith("+"):
        return [] if check in text else [f"no {check}"]
    for line in text.splitlines():
        if line.startswith("{"):
            value = json.loads(line).get(check[1:])
            if isinstance(value, (int, float)) and value > 0:
                return []
    return [f"no record with {check[1:]} above 0"]


def limited(prog, limit, args, tmp):
    """Runs a command; top on a terminal. Returns the exit code and the whole output."""
    args = [a.replace("/state", f"{tmp}/state{os.urandom(4).hex()}") for a in args]
    command = ["sh", "-c", f'{limit}; exec "$@"', "sh", prog, *args]
    if args[0] != "top":
        p = sh(*command, stdin=subprocess.DEVNULL)
        return p.returncode, (p.stdout + p.stderr).decode(errors="replace")
    ours, theirs = pty.openpty()
    try:
        p = subprocess.run(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False,
                           env={**os.environ, "TERM": "linux"})
        screen = b"" if p.returncode else os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(theirs)
    return p.returncode, (screen + p.stderr).decode(errors="replace")


def test_limits(prog, tmp):
    sh(prog, "-o", "csv", "-O", f"{tmp}/run.csv", "--proc", f"{HERE}/trees/amdgpu/proc", "--sys", f"{HERE}/trees/amdgpu/sys", "0.1", "3")
    table = list(rows(prog, tmp))
    limits = [(f"ulimit -v {ENOUGH}", True), (f"ulimit -d {DATA}", True), *((f"ulimit -v {n}", False) for n in SHORT)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for limit, works in limits:
            runs = [pool.submit(limited, prog, limit, args, tmp) for args, _ in table]
            for (args, checks), run in zip(table, runs):
                code, text = run.result()
                wrong = [f"exit {code}"] * (code != 0) + [w for c in checks for w in lacks(c, text)]
                name = f"{limit}: {' '.join(args)}".replace(tmp, "").replace(HERE, "").replace(prog, "gpustat")
                if works:
                    report(not wrong, name, *wrong, text)
                else:
                    report(not wrong or (0 <= code < 126 and NO_ROOM.search(text)), f"{name}: prints a result, or a message about missing memory", *wrong, text)


def test_exit_codes(prog):
    """Tests that a sufficient limit changes no exit code: "not found" becomes a failure only if a
    table had no room."""
    for args, code in ((["stat", "-e", "task-clock", "--", "sh", "-c", "exit 3"], 3), (["stat", "-e", "task-clock", "--", "sh", "-c", "exit 2"], 2),
                       (["counters", "nosuch"], 1), (["-d", "nosuch"], 3), (["stat", "-e", "nosuch", "--", "true"], 2)):
        p = sh("bash", "-c", f'ulimit -v {ENOUGH}; exec "$0" "$@"', prog, *args)
        report(p.returncode == code, f"ulimit -v {ENOUGH}: {' '.join(args)} exits {code}", p.returncode, p.stderr)


# Values of N: mprotect() fails from the N-th call on, so that one table has no memory while earlier
# ones have it.
REFUSING = range(1, 17)


def test_refused(prog):
    """Tests with each table in turn as the first without memory that no command crashes, or fails
    without a message."""
    if not shutil.which("strace"):
        skip("no memory for a table", "needs package strace")
        return
    mixed = ["--proc", f"{HERE}/trees/mixed/proc", "--sys", f"{HERE}/trees/mixed/sys"]
    for args in (["stat", "-e", "task-clock", "-r", "2", "--", "true"], ["host", "-w", "0.01", *mixed], ["events", "task-*", *mixed],
                 ["doctor", *mixed], ["counters", "CPU 0 utilization", "-w", "0.01", *mixed]):
        wrong = []
        for n in REFUSING:
            p = sh("strace", "-qq", "-o", "/dev/null", "-e", "trace=mprotect", "-e", "signal=none", "-e",
                   f"inject=mprotect:error=ENOMEM:when={n}+", prog, args[0], "--no-sandbox", *args[1:])
            if b"ptrace" in p.stderr.lower():
                skip(f"no memory for a table: {args[0]}", "strace may not trace here")
                return
            text = (p.stdout + p.stderr).decode(errors="replace")
            unsaid = not p.returncode and "not enough memory for the output" in text
            if unsaid or not 0 <= p.returncode < 126 or ((p.returncode or not text) and not re.search("memory|room", text)):
                wrong.append(f"call {n} and on: exit {p.returncode}: {text[-200:]}")
        report(not wrong, f"{args[0]}: works or prints a message if mprotect fails from the N-th call on, for each N", *wrong)


def test_clients_leave_room(prog, tmp):
    """Tests that clients that exceed the memory limit leave room for the record of the device."""
    proc = f"{tmp}/clients"
    shutil.copytree(f"{HERE}/trees/i915/proc", proc, symlinks=True)
    one = f"{proc}/3001"
    for fd in range(100, 1100):
        os.symlink("/dev/dri/renderD128", f"{one}/fd/{fd}")
        with open(f"{one}/fdinfo/{fd}", "w", encoding="ascii") as f:
            f.write(f"drm-driver:\ti915\ndrm-client-id:\t{fd}\ndrm-pdev:\t0000:00:02.0\ndrm-engine-render:\t{fd} ns\n")
    for data in (1500, 2000):
        p = sh("bash", "-c", f'ulimit -d {data}; exec "$0" "$@"', prog, "-r", "-H", "--proc", proc, "--sys", f"{HERE}/trees/i915/sys")
        report(p.returncode == 0 and b"card0" in p.stdout, f"ulimit -d {data}: 1000 clients leave room for the record of the device",
               p.returncode, p.stdout, p.stderr)


def test_all_commands(prog, tmp):
    """Tests that tests/boot/commands, which is run here and on emulated machines, has each command
    of --help."""
    known = {args[0] for args, _ in rows(prog, tmp)}
    offered = commands(prog)
    missing = [c for c in offered if c not in known]
    report(len(offered) >= 5 and not missing, "tests/boot/commands has each command of --help", missing, offered)


# --- huge pages -----------------------------------------------------------------------------------

def test_huge_pages(prog):
    """Tests that gpustat disables huge pages only for itself: a command that it starts has the
    setting of gpustat's caller."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as f:
        if "THP_enabled:" not in f.read():
            skip("huge pages of a command", "this kernel has no THP_enabled in /proc/PID/status")
            return
    libc = ctypes.CDLL(None)
    for off in (False, True):
        for args in (["stat", "-e", "task-clock"], ["stat", "-r", "2", "-e", "task-clock"], ["sample", "-e", "cpu-clock"]):
            p = sh(prog, *args, "--", "grep", "THP_enabled:", "/proc/self/status",
                   preexec_fn=lambda: libc.prctl(PR_SET_THP_DISABLE, int(off), 0, 0, 0))
            report(set(re.findall(rb"THP_enabled:\s*(\d)", p.stdout)) == {b"0" if off else b"1"},
                   f"{' '.join(args)}: huge pages of its command are {'disabled' if off else 'enabled'}, as for the caller", p.stdout, p.stderr)


def main():
    prog = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="gpustat-memory") as tmp:
        test_static(prog, tmp)
        test_all_commands(prog, tmp)
        test_limits(prog, tmp)
        test_exit_codes(prog)
        test_refused(prog)
        test_clients_leave_room(prog, tmp)
        test_huge_pages(prog)
    finish()


main()
