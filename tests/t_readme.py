#!/usr/bin/env python3
"""t_readme.py PROG: runs the commands that README.md shows. Where output stands below a command it is compared, the
time of day aside; a comment after the command is not part of it."""
import glob
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile

prog = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# make run is what this test runs itself; make test would not end; make install-dev is run with a DESTDIR.
own = {"make run", "make test", "make install-dev",
       "make install PREFIX=/usr"}


def blocks(text):
    """Each command of the console blocks with the lines below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        command, output = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, output
                command, output = re.sub(r"\s+#.*", "", line[2:]), []
            else:
                output.append(line)
        if command:
            yield command, output


class Places:
    """Where the README's commands write: files and ports of this test in place of those."""

    def __init__(self, tmp):
        self.tmp = tmp
        self.files = []
        self.sockets = []

    def put(self, command):
        """The command with its places replaced."""
        def file(m):
            path = os.path.join(self.tmp, m[2].replace("/", "_").lstrip("_"))
            if m[1].strip() in ("-O", ">>"):
                self.files.append(path)
            return m[1] + path

        def port(_):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("127.0.0.1", 0))
            self.sockets.append(sock)
            return f"udp:127.0.0.1:{sock.getsockname()[1]}"

        self.files, self.sockets = [], []
        command = re.sub(r"udp:127\.0\.0\.1:\d+", port, command)
        return re.sub(r"( -O |>>| --state |plot )((?:/dev/|/var/|run\.)\S+)", file, command)

    def filled(self):
        """Whether something came to each; no place at all: None."""
        ready = select.select(self.sockets, [], [], 5)[0] if self.sockets else []
        full = [os.path.exists(f) and os.path.getsize(f) > 0 for f in self.files]
        for s in self.sockets:
            s.close()
        return all(full) and len(ready) == len(self.sockets) if self.files or self.sockets else None


def shell(text):
    """What of the blocks that are copied, not run, is not so: their syntax, and the files of contrib that they name."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M):
        got = subprocess.run(["sh", "-n"], input=block, capture_output=True, text=True, check=False)
        if got.returncode:
            yield got.stderr
    for path in re.findall(r"contrib/[\w@./*-]*[\w*]", text):
        if not glob.glob(os.path.join(root, path)):
            yield path


def clock(text):
    return re.sub(r"\b\d\d:\d\d:\d\d\b", "HH:MM:SS", text)


def program(text, commands, tmp):
    """Why the program that the README shows does not do what it says; None: it does."""
    with open(os.path.join(tmp, "busy.c"), "w", encoding="utf-8") as f:
        f.write(re.search(r"^```c\n(.*?)^```", text, re.S | re.M).group(1))
    installed = os.path.join(tmp, "d")
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=installed, PKG_CONFIG_LIBDIR=installed + "/opt/lib/pkgconfig")
    for place, command in (root, f"make -s install-dev PREFIX=/opt DESTDIR={installed}"), *((tmp, c) for c in commands):
        got = subprocess.run(command, shell=True, cwd=place, env=env, capture_output=True, text=True, timeout=1200, check=False)
        if got.returncode:
            return command + "\n" + got.stderr
    # Counters of a CPU, whole percents.
    return None if re.fullmatch(r"(CPU 0 [a-z ]+: \d{1,3}\n){3}", got.stdout) else got.stdout


def main():
    bad = n = 0
    with tempfile.TemporaryDirectory() as tmp:
        os.symlink(prog, os.path.join(tmp, "gpustat"))
        dump = os.path.join(tmp, "DUMP")
        with open(dump, "w", encoding="ascii") as f:
            f.write("drm-driver:\ti915\ndrm-client-id:\t7\n")
        env = dict(os.environ, PATH=tmp + ":" + os.environ["PATH"])
        tree = "--proc tests/trees/mixed/proc --sys tests/trees/mixed/sys"
        with open(os.path.join(root, "README.md"), encoding="utf-8") as f:
            text = f.read()
        commands = list(blocks(text))
        places = Places(tmp)
        for command, output in commands:
            if command in own or "QEMU" in command or "./busy" in command or "busy.c" in command:
                continue
            n += 1
            run = command.replace("DUMP", dump)
            perf = " stat " in run or " sample " in run  # those of this machine
            run = places.put(run)
            if "--proc" not in run and " fdinfo" not in run and " plot " not in run and not perf:
                # The machine that runs this may have no GPU: the same on one that has.
                run = re.sub(r"^gpustat", f"gpustat {tree}", run)
            got = subprocess.run(run, shell=True, cwd=root, env=env, capture_output=True, text=True, timeout=60,
                                 check=False)
            same = not output or clock(got.stdout).splitlines() == clock("\n".join(output)).splitlines()
            written = places.filled()
            ok = got.returncode == 0 and same and (
                written if written is not None else got.stdout or perf and "VALUE" in got.stderr)
            bad += not ok
            print(f"{'ok' if ok else 'not ok'} {n} - {command}")
            if not ok:
                print("# exit", got.returncode, got.stderr.strip(), "\n# " + got.stdout.replace("\n", "\n# "))
        n += 1
        name = f"{n} - the program of the README is compiled and runs"
        if not shutil.which("pkg-config"):
            print(f"ok {name} # SKIP needs package pkg-config")
        else:
            why = program(text, [c for c, _ in commands if "./busy" in c or "busy.c" in c], tmp)
            bad += why is not None
            print(f"ok {name}" if why is None else f"not ok {name}\n# " + why.replace("\n", "\n# "))
        n += 1
        why = list(shell(text))
        bad += bool(why)
        print(f"{'not ' if why else ''}ok {n} - what is to be copied is there")
        for w in why:
            print("#", w)
        n += 1
        ok = len(commands) > 10 and own <= {c for c, _ in commands}
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - the README shows its commands")
    print(f"1..{n}")
    return bad != 0


sys.exit(main())
