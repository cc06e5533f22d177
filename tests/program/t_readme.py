#!/usr/bin/env python3
"""t_readme.py PROG: runs the commands in README.md and docs/*.md, and those in the EXAMPLES of the
manual pages. If the page shows output after a command, it is compared, except for the time of day.
A comment after a command is removed. PART=quick in the environment: only commands that read
captured machines and files; PART=live: only those that read this machine."""
import glob
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile

prog = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# This test does the work of make run, make test would not end, and make install-dev runs with a
# DESTDIR.
own = {"make run", "make test", "make install-dev",
       "make install PREFIX=/usr"}
# The commands that read this machine or use its network.
READS_MACHINE = re.compile(r" (stat|sample|run|counters|doctor)(?= |$)|udp:")
# Commands that this test cannot run, with the reason.
other = {
    "gpustat top": "t_top.py runs it on a terminal", "gpustat COMMAND --help": "COMMAND stands for each command",
    "gpustat plot": "it needs the name of a file", "gpustat oa 1": "it needs an Intel GPU",
    "gpustat oa stalls": "it needs an Intel GPU with xe", "gpustat stat -e v3d/cycle-count/": "it needs a GPU with v3d",
    "mount -t proc proc /proc": "it changes the machine", "mount -t sysfs sys /sys": "it changes the machine",
    "docker run --pid=host --cap-add PERFMON --cap-add SYS_PTRACE -v /sys:/sys:ro ...": "it needs docker",
    "gpustat -q -r -o openmetrics --state /var/lib/gpustat-http.state --http": "it needs a socket",
    "gpustat oa 0.5 -f EuActive,EuStall,GpuBusy": "it needs an Intel GPU",
    "gpustat oa stalls 1 -k 10": "it needs an Intel GPU with xe", "gpustat oa stalls 1 -S": "it needs an Intel GPU with xe",
    "gpustat oa --replay run.rec --metrics oa-tglgt2.xml -o csv -f index,ts,EuActive": "it needs files of Intel",
}


def blocks(text):
    """Yields the commands of the console blocks, each with the lines of output below it."""
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


def inline(text):
    """Yields the commands within sentences."""
    for command in re.findall(r"`(gpustat [^`]*)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        yield " ".join(command.split()), []


def examples(text):
    """Yields the commands of the EXAMPLES of a manual page: lines of their own, and those of
    crontabs and of systemd units."""
    part = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh ", text, re.S | re.M)
    for line in re.findall(r"^\.Dl (.*)$", part[1] if part else "", re.M):
        yield line, []
    for block in re.findall(r"^\.Bd .*?\n(.*?)^\.Ed", part[1] if part else "", re.S | re.M):
        for line in re.sub(r"\\e\n *", "", block).splitlines():
            if "gpustat " in line:
                yield re.sub(r"^(\* \* \* \* \* root |ExecStart=/usr/bin/)", "", line), []


class Places:
    """Replaces the files and ports that commands write to by those of this test."""

    def __init__(self, tmp):
        self.tmp = tmp
        self.files = []
        self.sockets = []

    def put(self, command):
        """Returns the command with its files and ports replaced."""
        def file(m):
            path = os.path.join(self.tmp, m[2].replace("/", "_").lstrip("_"))
            if m[1].strip() in ("-O", ">>", ">"):
                self.files.append(path)
            return m[1] + path

        def port(_):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("127.0.0.1", 0))
            self.sockets.append(sock)
            return f"udp:127.0.0.1:{sock.getsockname()[1]}"

        self.files, self.sockets = [], []
        command = re.sub(r"udp:127\.0\.0\.1:\d+", port, command)
        return re.sub(r"( -O |>>| >| --state |plot |--replay )((?:/dev/|/var/|run\.|report\.|day\.|cpus\.|stacks)\S*)", file, command)

    def filled(self):
        """True if all files and ports have received data; None if there are none."""
        ready = select.select(self.sockets, [], [], 5)[0] if self.sockets else []
        full = [os.path.exists(f) and os.path.getsize(f) > 0 for f in self.files]
        for s in self.sockets:
            s.close()
        return all(full) and len(ready) == len(self.sockets) if self.files or self.sockets else None


def shell(text):
    """Yields errors in the shell blocks, which are not run: wrong syntax, and missing files of contrib."""
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
    """Compiles and runs the README's program. Returns the reason of a failure, or None."""
    with open(os.path.join(tmp, "busy.c"), "w", encoding="utf-8") as f:
        f.write(re.search(r"^```c\n(.*?)^```", text, re.S | re.M).group(1))
    installed = os.path.join(tmp, "d")
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=installed, PKG_CONFIG_LIBDIR=installed + "/opt/lib/pkgconfig")
    for place, command in (root, f"make -s install-dev PREFIX=/opt DESTDIR={installed}"), *((tmp, c) for c in commands):
        got = subprocess.run(command, shell=True, cwd=place, env=env, capture_output=True, text=True, timeout=1200, check=False)
        if got.returncode:
            return command + "\n" + got.stderr
    # the counters of a CPU, in whole percent
    return None if re.fullmatch(r"(CPU 0 [a-z ]+: \d{1,3}\n){3}", got.stdout) else got.stdout


def chosen(live):
    """True if the environment selects this part of the checks."""
    return os.environ.get("PART", "live" if live else "quick") == ("live" if live else "quick")


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


class Runner:
    """Runs the commands of a page in the top folder, in order, because one may read the file of another."""

    TREE = "--proc tests/trees/mixed/proc --sys tests/trees/mixed/sys"

    def __init__(self, tmp):
        os.symlink(prog, os.path.join(tmp, "gpustat"))
        self.dump = os.path.join(tmp, "DUMP")
        with open(self.dump, "w", encoding="ascii") as f:
            f.write("drm-driver:\ti915\ndrm-client-id:\t7\n")
        self.env = dict(os.environ, PATH=tmp + ":" + os.environ["PATH"])
        self.places = Places(tmp)
        # The recorded run that cron would write, for the example of plot in the manual.
        self.run("gpustat 0.1 5 -o json -O /var/log/gpustat.json", [])

    def run(self, command, output):
        """Runs a command. Returns the reason of a failure, or None."""
        text = self.places.put(adapted(command.replace("DUMP", self.dump)))
        # These count on this machine, and may print on standard error.
        perf = re.search(r" (stat|sample|run) ", text)
        if not re.search(r"--proc| fdinfo| plot | --replay ", text) and not perf:
            # This machine may have no GPU: use a tree that has one.
            text = re.sub(r"(^|timeout \S+ )gpustat", rf"\1gpustat {self.TREE}", text)
        if " top " in text:
            return self.on_terminal(text)
        got = subprocess.run(text, shell=True, cwd=root, env=self.env, capture_output=True, text=True, timeout=100,
                             check=False)
        if got.returncode not in codes(command):
            return f"exit {got.returncode}\n{got.stderr}\n{got.stdout}"
        if output and clock(got.stdout).splitlines() != clock("\n".join(output)).splitlines():
            return got.stdout
        written = self.places.filled()
        if written is None:
            written = bool(got.stdout or (perf and got.stderr))
        return None if written else "no output\n" + got.stderr


    def on_terminal(self, text):
        """Runs a command that shows a screen, and ends it with its key q."""
        master, slave = pty.openpty()
        child = subprocess.Popen(text, shell=True, cwd=root, env=dict(self.env, TERM="xterm"), stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        os.write(master, b"q")
        shown = b""
        while select.select([master], [], [], 60)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError: # the other end was closed
                break
        code = child.wait(60)
        os.close(master)
        return None if code == 0 and shown else f"exit {code}\n{shown!r}"


def adapted(command):
    """Returns a command with a short interval and a count, if it runs until it is stopped; with a
    short command, if it runs make; with a tree that exists, if it reads the host's in a
    container."""
    command = re.sub(r"^timeout 60 gpustat 0\.1 ", "gpustat 0.1 5 ", command)
    command = re.sub(r" -- make$", " -- ls", command)
    command = command.replace("${STATE_DIRECTORY}", "/var/lib/gpustat")
    command = re.sub(r"^gpustat 1 -o json >", "gpustat 0.1 3 -o json >", command)
    command = command.replace("--proc /host/proc --sys /host/sys", Runner.TREE)
    return re.sub(r"^(gpustat (?:counters '[^']*'|host(?: -o csv -f '[^']*')?)) [15](?= |$)", r"\1 0.1 2", command)


def codes(command):
    """Returns the valid exit statuses: check has four; stat and sample have those of the command."""
    return (0, 1, 2, 3) if " check " in command else (0,)


def main():
    n = 0
    bad = []

    def verdict(name, why):
        nonlocal n
        n += 1
        print(f"ok {n} - {name}" if why is None else f"not ok {n} - {name}\n# " + str(why).replace("\n", "\n# "))
        if why is not None:
            bad.append(name)

    with tempfile.TemporaryDirectory() as tmp:
        runner = Runner(tmp)
        library = []
        all_commands = set()
        for path in ["README.md", *sorted(glob.glob("docs/*.md", root_dir=root))]:
            text = read(path)
            commands = list(blocks(text)) + (list(inline(text)) if path == "README.md" else [])
            all_commands |= {c for c, _ in commands}
            for command, output in commands:
                if "./busy" in command or "busy.c" in command:
                    library.append(command)
                    program_text = text
                elif command not in own and command not in other and chosen(READS_MACHINE.search(command)):
                    verdict(f"{path}: {command}", runner.run(command, output))
            if chosen(False):
                verdict(f"{path}: shell blocks have valid syntax, and the files they name exist", "\n".join(shell(text)) or None)
        for path in ["gpustat.1", *sorted(glob.glob("docs/*.1", root_dir=root))]:
            for command, output in examples(read(path)):
                all_commands.add(command)
                if command not in other and chosen(READS_MACHINE.search(command)):
                    verdict(f"{path}: {command}", runner.run(command, output))
        name = "the program of docs/libraries.md is compiled and runs"
        if not chosen(True):
            pass
        elif shutil.which("pkg-config"):
            verdict(name, program(program_text, library, tmp))
        else:
            verdict(name + " # SKIP needs package pkg-config", None)
        if chosen(False):
            missing = (own | other.keys()) - all_commands
            verdict("the pages contain the expected commands, and all commands that are not run",
                    None if len(all_commands) > 60 and not missing else sorted(missing) or len(all_commands))
    print(f"1..{n}")
    return bool(bad)


sys.exit(main())
