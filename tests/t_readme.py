#!/usr/bin/env python3
"""t_readme.py PROG: runs the commands that README.md shows. Where output stands below a command it is compared, the
time of day aside; a comment after the command is not part of it."""
import os
import re
import subprocess
import sys
import tempfile

prog = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# make run is what this test runs itself; make test would not end.
own = {"make run", "make test"}


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


def clock(text):
    return re.sub(r"\b\d\d:\d\d:\d\d\b", "HH:MM:SS", text)


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
            commands = list(blocks(f.read()))
        for command, output in commands:
            if command in own or "QEMU" in command:
                continue
            n += 1
            run = command.replace("DUMP", dump)
            perf = " stat " in run or " sample " in run  # those of this machine
            if "--proc" not in run and " fdinfo" not in run and not perf:
                # The machine that runs this may have no GPU: the same on one that has.
                run = run.replace("gpustat", f"gpustat {tree}", 1) if run.count(" ") == 0 else run + " " + tree
            got = subprocess.run(run, shell=True, cwd=root, env=env, capture_output=True, text=True, timeout=60,
                                 check=False)
            same = not output or clock(got.stdout).splitlines() == clock("\n".join(output)).splitlines()
            ok = got.returncode == 0 and (got.stdout or perf and "VALUE" in got.stderr) and same
            bad += not ok
            print(f"{'ok' if ok else 'not ok'} {n} - {command}")
            if not ok:
                print("# exit", got.returncode, got.stderr.strip(), "\n# " + got.stdout.replace("\n", "\n# "))
        n += 1
        ok = len(commands) > 10 and own <= {c for c, _ in commands}
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - the README shows its commands")
    print(f"1..{n}")
    return bad != 0


sys.exit(main())
