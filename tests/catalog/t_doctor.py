#!/usr/bin/env python3
# t_doctor.py PROG - gpustat doctor: its rows for this machine and for file trees, and that each
# suggested command makes its source available. Tests change the machine only in a mount namespace,
# or restore it. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402
import machine  # noqa: E402
import tap  # noqa: E402
from machine import FORMATS, I915, TREES, Skip, as_root, check, dump, eq, one_client, parse_csv, parse_json, parse_logfmt, run  # noqa: E402

TESTS = []
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
ALWAYS = ["fdinfo of others", "fd of others", "pid namespace", "inotify", "devices", "tracefs", "debugfs", "hwmon", "RAPL", "kfd"]
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def rows(*args, before=(), prog=None):
    """Returns the records of a successful run by source. `before` is a command prefix for the program."""
    p = subprocess.run([*before, prog or machine.PROG, "doctor", "-o", "json", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    eq((p.returncode, p.stderr), (0, b""), f"doctor {args} after {before}: {p!r}")
    recs = parse_json(p.stdout)
    for r in recs:
        eq(list(r), ["schema", "kind", "source", "status", "ok", "detail", "remedy"], "keys")
        check(r["kind"] == "source" and r["status"] in ("ok", "denied", "absent"), f"{r}")
        check(r["remedy"] is None or r["status"] != "ok", f"an available source has a remedy: {r}")
    eq(len({r["source"] for r in recs}), len(recs), "sources")
    return {r["source"]: r for r in recs}


def having(*caps):
    """Returns a command prefix that runs a program as nobody with these capabilities."""
    return [*NOBODY, *(f"--{sets}={','.join('+' + c for c in caps)}" for sets in ("inh-caps", "ambient-caps"))]


def state(r):
    return r["status"], r["remedy"]


def sh(command, **kw):
    p = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, **kw)
    eq(p.returncode, 0, f"{command}: {p.stdout!r}")


@contextlib.contextmanager
def copy(suffix=""):
    """Makes a copy of the program that every user may run, on a file system with file capabilities."""
    if not shutil.which("setcap"):
        raise Skip("package libcap2-bin is missing")
    with tempfile.TemporaryDirectory(prefix="gpustat-doctor", dir="/tmp") as d:
        os.chmod(d, 0o755)
        prog = os.path.join(d, f"gpustat{suffix}")
        machine.copy_program(machine.PROG, prog)
        yield prog


def refused(r):
    """Returns the first number in "41 of 75 processes" or "all but 1 of 75 processes"."""
    m = re.match(r"(?:all but )?(\d+) of (\d+) processes", r["detail"])
    return int(m.group(1)) if m else 0


@contextlib.contextmanager
def paranoid(value):
    with open(PARANOID, encoding="ascii") as f:
        was = f.read()
    try:
        try:
            with open(PARANOID, "w", encoding="ascii") as f:
                f.write(f"{value}\n")
        except OSError as e:
            raise Skip(f"sysctl: {e.strerror}") from None
        yield
    finally:
        with open(PARANOID, "w", encoding="ascii") as f:
            f.write(was)


# --- its rows -------------------------------------------------------------------------------------

@test("iterator: ok with its capabilities; no row with --proc")
def _(m):
    if "iterator" not in rows():
        raise Skip("built without the feature")
    check("iterator" not in rows("--proc", "/proc"), "a row with --proc")
    check(rows()["iterator"]["status"] in ("ok", "denied", "absent"), "root")
    as_root()
    r = rows(before=NOBODY)["iterator"]
    if r["status"] == "denied":
        check("cap_bpf" in (r["remedy"] or r["detail"]).lower(), f"nobody: {r}")


@test("every format has the same rows, on this machine and in an empty tree")
def _(m):
    for roots in ([], m.roots()):
        got = rows(*roots)
        check(set(ALWAYS) <= set(got), f"{sorted(got)}")
        eq("perf own" in got, "events" not in tap.left_out(machine.PROG), "rows of perf events")
        for fmt in FORMATS:
            r = run(["doctor", "-o", fmt, *roots])
            eq((r.code, r.err), (0, b""), fmt)
            if fmt == "csv":
                eq({x["field"] for x in parse_csv(r.out)}, {"status", "ok", "detail", "remedy"}, "fields")
            elif fmt == "logfmt":
                eq({x["source"] for x in parse_logfmt(r.out)}, set(got), "logfmt")
            else:
                check(all((s.replace(" ", r"\x20") if fmt == "plain" else s).encode() in r.out for s in got), fmt)
    for source in ("fdinfo of others", "tracefs", "debugfs", "hwmon", "RAPL", "kfd"):
        eq(state(rows(*m.roots())[source]), ("absent", None), source)
    eq(run(["doctor", "-f", "source,status", "-o", "csv", *m.roots()]).out.splitlines()[0], b"source,status", "-f")
    eq(run(["doctor", "--proc", m.path("nowhere"), "--sys", m.sys]).code, 1, "no /proc")


@test("devices: the row has their number, or without a device the folders that were searched, the drivers, and a remedy")
def _(m):
    r = rows(*m.roots())["devices"]
    check(state(r) == ("absent", "modprobe DRIVER") and "/sys/class, /proc/driver" in r["detail"] and "amdgpu i915" in r["detail"] and "nvidia" in r["detail"], f"{r}")
    m.device("i915", I915)
    m.device("xe", "0000:03:00.0", card=1, render=129)
    r = rows(*m.roots())["devices"]
    eq((state(r), r["detail"]), (("ok", None), "2"), "two")


@test("inotify: ok if opens are reported; absent without a node, kernel support, an instance or a watch")
def _(m):
    machine.one_client(m)
    eq(rows(*m.roots())["inotify"]["detail"], "no device node in /dev", "detail if /proc has no /dev of the machine")
    os.makedirs(m.path("proc/1/root/dev/dri"))
    r = rows(*m.roots())["inotify"]
    eq((state(r), r["detail"]), (("ok", None), f"opens are reported in {m.path('proc/1/root/dev')}"), "state and detail with /dev")
    for call, error, want in (("inotify_init1", "ENOSYS", ("absent", None)), ("inotify_init1", "EMFILE", ("absent", "sysctl fs.inotify.max_user_instances=1024")),
                              ("inotify_add_watch", "ENOSPC", ("absent", "sysctl fs.inotify.max_user_watches=65536"))):
        p = kernel.lacking(call, "doctor", "-o", "json", *m.roots(), error=error)
        r = {x["source"]: x for x in parse_json(p.out)}["inotify"]
        check(state(r) == want and (error != "ENOSYS" or r["detail"] == "no CONFIG_INOTIFY_USER"), f"{call} {error}: {r}")


@test("unknown facts are reported as unknown: perf_event_paranoid, processes and sensors without /proc and /sys")
def _(m):
    machine.built_in("events")
    got = rows(*m.roots())
    check("unknown" in got["perf own"]["detail"] and not re.search(r"\d", got["perf own"]["detail"]), f"{got['perf own']}")
    if os.getuid() == 0:
        r = rows(*m.roots(), before=NOBODY)["perf tracepoints"]
        eq((state(r), r["detail"]), (("absent", None), "their numbers are in tracefs, which is not mounted"), "nobody")
    for path, sources in (("/proc", ("fdinfo of others", "fd of others", "pid namespace", "NMI watchdog")), ("/sys", ("tracefs", "debugfs", "hwmon", "RAPL", "kfd", "devices"))):
        p = kernel.without([path], ["doctor", "-o", "json"])
        got = {x["source"]: x for x in parse_json(p.out)}
        for source in sources:
            eq((state(got[source]), got[source]["detail"]), (("absent", None), f"not known without {path}"), source)


@test("doctor writes no file, opens no device node and reads no suspended device")
def _(m):
    if not shutil.which("strace"):
        raise Skip("package strace is missing")
    m.device("xe", "0000:03:00.0", state="suspended", files={"hwmon/hwmon1/temp1_input": "50000\n", "hwmon/hwmon1/name": "xe\n"})
    m.device("panthor", card=1, render=129, files={"profiling": "0\n"})
    out = m.path("strace")
    p = subprocess.run(["strace", "-f", "-o", out, "-e", "trace=openat,open,write,pwrite64,ioctl", machine.PROG, "doctor", *m.roots()],
                       stdout=subprocess.PIPE, timeout=60)
    eq(p.returncode, 0, "exit")
    check(b"suspended: not read" in p.stdout, f"{p.stdout!r}")
    for line in open(out, encoding="utf-8", errors="replace"):
        check(not re.search(r"/dev/(dri|accel|kfd|nvidia)|temp1_input", line), line)
        check(not re.search(r"O_WRONLY|O_RDWR|O_CREAT", line), line)
        check("write(" not in line or re.search(r" write\(1,", line), line)


@test("devices: rows of the runtime state, the node and the file profiling")
def _(m):
    m.device("i915", I915)
    m.device("xe", "0000:03:00.0", card=1, render=129, state="suspended")
    for i, (driver, value) in enumerate((("panfrost", 1), ("panthor", 3))):
        dev = m.device(driver, card=2 + i, render=130 + i, files={"profiling": "0\n"})
        r = rows(*m.roots())[f"card{2 + i} profiling"]
        eq(state(r), ("denied", f"echo {value} >/sys/class/drm/card{2 + i}/device/profiling"), driver)
        sh(r["remedy"].replace("/sys/", f"{m.sys}/"))
        eq(state(rows(*m.roots())[f"card{2 + i} profiling"]), ("ok", None), "after that")
        os.unlink(m.path(f"{dev}/profiling"))
        eq(state(rows(*m.roots())[f"card{2 + i} profiling"]), ("absent", None), "profiling in a kernel without this file")
    got = rows(*m.roots())
    eq((got["card0 runtime state"]["detail"], got["card1 runtime state"]["status"]), ("active", "ok"), "state")
    check(got["card1 runtime state"]["detail"].startswith("suspended"), "asleep")
    check("card0 profiling" not in got and "/dev/dri/renderD129" in got, f"{sorted(got)}")


@test("rows of the NMI watchdog, which uses a counter, and of the sysctls of OA")
def _(m):
    machine.built_in("events")
    machine.built_in("oa")
    m.device("i915", I915)
    m.device("xe", "0000:03:00.0", card=1, render=129)
    eq(state(rows(*m.roots())["NMI watchdog"]), ("absent", None), "none")
    eq(state(rows(*m.roots())["OA i915"]), ("absent", None), "none")
    m.write("proc/sys/kernel/nmi_watchdog", "1\n")
    eq(state(rows(*m.roots())["NMI watchdog"]), ("denied", "sysctl kernel.nmi_watchdog=0"), "on")
    m.write("proc/sys/kernel/nmi_watchdog", "0\n")
    eq(state(rows(*m.roots())["NMI watchdog"]), ("ok", None), "off")
    m.write("proc/sys/dev/i915/perf_stream_paranoid", "1\n")
    m.write("proc/sys/dev/xe/observation_paranoid", "0\n")
    got = rows(*m.roots(), before=NOBODY if os.getuid() == 0 else ())
    eq((got["OA i915"]["status"], got["OA xe"]["status"]), ("denied", "ok"), "knobs")
    check("cap_perfmon+ep" in got["OA i915"]["remedy"], f"{got['OA i915']}")
    if os.getuid() == 0:
        with copy() as prog:
            got = rows(*m.roots(), before=[*NOBODY, "--no-new-privs"], prog=prog)
        eq(got["OA i915"]["remedy"], "sysctl dev.i915.perf_stream_paranoid=0", "remedy on a file system without file capabilities")


# --- that the remedies work -----------------------------------------------------------------------

@test("setcap: each suggested command, on a copy of the program, makes its row ok for user nobody")
def _(m):
    machine.built_in("events")
    as_root()
    m.device("i915", I915)
    m.write("proc/sys/dev/i915/perf_stream_paranoid", "1\n")
    for source, args in (("perf kernel", []), ("perf cpu-wide", []), ("OA i915", m.roots())):
        with copy() as prog:
            r = rows(*args, before=NOBODY, prog=prog)[source]
            check(r["status"] == "denied" and r["remedy"].startswith("setcap "), f"{r}")
            sh(r["remedy"])
            after = rows(*args, before=NOBODY, prog=prog)[source]
            if args:  # roots given by options are read without file capabilities, but with those of the caller
                eq((state(after), "--proc" in after["detail"]), (("denied", None), True), f"{source}: {after}")
                sh(f"setcap -r {prog}")
                after = rows(*args, before=having(*re.findall("cap_(\\w+)", r["remedy"])), prog=prog)[source]
            eq(state(after), ("ok", None), f"{source} after {r['remedy']}")
    for source in ("fdinfo of others",):
        with copy() as prog:
            r = rows(before=NOBODY, prog=prog)[source]
            many = refused(r)
            check(r["status"] == "denied" and many > 3, f"{r}")
            sh(r["remedy"])
            # a process with more capabilities than a file can grant stays unreadable
            after = rows(before=NOBODY, prog=prog)[source]
            check(refused(after) < many / 2, f"{source}: {after} after {r['remedy']}")
            eq(state(after), ("ok", None), f"{source} after {r['remedy']}: {after}")


@test("the remedy for a file that only cap_dac_read_search opens is sudo, never setcap with that capability")
def _(m):
    as_root()
    secret = m.write("sys/class/powercap/intel-rapl:0/energy_uj", "1\n")
    os.chmod(secret, 0o400)
    with copy() as prog:
        for source, args in (("fd of others", []), ("RAPL", m.roots())):
            r = rows(*args, before=NOBODY, prog=prog)[source]
            eq(state(r), ("denied", f"sudo {prog}"), f"{source} of nobody")
            eq(state(rows(*args, prog=prog)[source]), ("ok", None), f"{source} of root")
        for r in rows(before=NOBODY, prog=prog).values():
            check("cap_dac_read_search" not in (r["remedy"] or ""), f"{r}")


@test("perf tracepoints: ok only if a tracepoint can be opened by its name")
def _(_m):
    as_root()
    machine.built_in("events")
    with copy() as prog:
        sh(f"setcap cap_perfmon+ep {prog}")
        mount = "umount -R /sys/kernel/debug 2>/dev/null || :; umount -R /sys/kernel/tracing 2>/dev/null || :\n"
        no, = in_namespace(f"{mount}{SU} {prog} doctor -o json")
        eq((state(no["perf tracepoints"]), no["perf tracepoints"]["detail"]), (("absent", None), "their numbers are in tracefs, which is not mounted"), "no tracefs")
        if no["tracefs"]["remedy"] is None:
            raise Skip("this kernel has no tracefs")
        mount += "mount -t tracefs tracefs /sys/kernel/tracing\n"
        root, nobody = in_namespace(f"{mount}{prog} doctor -o json\n{SU} {prog} doctor -o json")
        eq(state(root["perf tracepoints"]), ("ok", None), "root")
        r = nobody["perf tracepoints"]
        eq((state(r), r["detail"]), (("denied", f"sudo {prog}"), "only root can read their numbers in tracefs"), "with cap_perfmon")
        stat = f"{prog} stat -e sched:sched_switch -w 10ms -a -o json"
        p = subprocess.run(["unshare", "-m", "sh", "-c", f"{mount}{SU} {stat}\n{stat}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        denied, counted = parse_json(p.stdout)
        eq((denied["value"], denied["reason"]), (None, "denied: only root can read its number in tracefs; run as root"), f"{p.stderr}")
        check(counted["value"] is not None, f"root: {counted} {p.stderr}")


@test("setcap: the second command keeps the capabilities of the first; paths with blanks and quotes are quoted")
def _(_m):
    machine.built_in("events")
    as_root()
    with copy(" it's") as prog:
        for source in ("fdinfo of others", "perf cpu-wide"):
            sh(rows(before=NOBODY, prog=prog)[source]["remedy"])
        got = rows(before=NOBODY, prog=prog)
        check(got["perf cpu-wide"]["status"] == "ok" and got["fdinfo of others"]["remedy"] is None, f"{got}")


@test("sysctl: the suggested command for a perf_event_paranoid above 2 makes its row ok")
def _(_m):
    machine.built_in("events")
    as_root()
    with copy() as prog, paranoid(3):
        for source in ("perf kernel", "perf cpu-wide"):
            with open(PARANOID, "w", encoding="ascii") as f:
                f.write("3\n")
            r = rows(before=NOBODY, prog=prog)[source]
            check(r["status"] == "denied" and r["remedy"].startswith("sysctl kernel.perf_event_paranoid="), f"{r}")
            sh(r["remedy"])
            eq(state(rows(before=NOBODY, prog=prog)[source]), ("ok", None), f"{source} after {r['remedy']}")


def in_namespace(script, *flags, env=None):
    """Runs a shell script in its own mount namespace. Returns the records that doctor printed, for
    each run of it."""
    p = subprocess.run(["unshare", "-m", *flags, "sh", "-e", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                       env={**os.environ, **(env or {})})
    if p.returncode and b"unshare" in p.stderr:
        raise Skip(f"unshare: {p.stderr.decode()[:100]}")
    eq(p.returncode, 0, f"{script}: {p.stderr!r}")
    samples, last = [], None
    for r in parse_json(p.stdout):
        if r["source"] == "fdinfo of others":
            samples.append({})
            last = samples[-1]
        last[r["source"]] = r
    return samples


SU = " ".join(NOBODY)


@test("mount: the suggested command mounts tracefs and debugfs; user nobody cannot read them")
def _(_m):
    as_root()
    for fs, where in (("tracefs", "tracing"), ("debugfs", "debug")):
        with copy() as prog:
            first = in_namespace(f"umount -R /sys/kernel/{where} 2>/dev/null || :; {prog} doctor -o json")[0][fs]
            if first["status"] == "absent" and first["remedy"] is None:
                raise Skip(f"this kernel has no {fs}")
            eq(first["status"], "absent", fs)
            a, b = in_namespace(f"umount -R /sys/kernel/{where} 2>/dev/null || :\n{first['remedy']}\n{prog} doctor -o json\n{SU} {prog} doctor -o json")
            eq(state(a[fs]), ("ok", None), "to root")
            eq(state(b[fs]), ("denied", f"sudo {prog}"), "to nobody")


@test("usermod: suggested for a node that its group may open")
def _(_m):
    as_root()
    with copy() as prog:
        os.mkdir(f"{prog}.m")
        m = machine.Machine(f"{prog}.m")  # the machine must not be in /dev, which the script replaces
        m.device("i915", I915)
        roots = " ".join(m.roots())
        etc = os.path.join(os.path.dirname(prog), "etc")
        script = f"""cp -a /etc {etc}; mount --bind {etc} /etc; mount -t tmpfs -o mode=755 tmpfs /dev; mknod -m 666 /dev/null c 1 3
            mkdir /dev/dri; : >/dev/dri/renderD128; chgrp video /dev/dri/renderD128; chmod 660 /dev/dri/renderD128
            run() {{ setpriv --reuid 65534 --regid 65534 --init-groups {prog} doctor -o json {roots}; }}
            {prog} doctor -o json {roots}; run; """
        a, b = in_namespace(script)
        eq(state(a["/dev/dri/renderD128"]), ("ok", None), "root")
        eq(state(b["/dev/dri/renderD128"]), ("denied", "usermod -aG video nobody"), "nobody")
        shutil.rmtree(etc)
        c = in_namespace(f"{script} {b['/dev/dri/renderD128']['remedy']}; run")[2]
        eq(state(c["/dev/dri/renderD128"]), ("ok", None), "after that")


@test("no capabilities are suggested where they do not work: nosuid, no_new_privs, bounding set, user namespace")
def _(_m):
    machine.built_in("events")
    as_root()
    source = "perf cpu-wide"
    with copy() as prog:
        got, = in_namespace(f"mkdir {prog}.d; mount -t tmpfs -o nosuid,mode=755 tmpfs {prog}.d; cp {prog} {prog}.d/; "
                            f"{SU} {prog}.d/gpustat doctor -o json")
        eq(state(got[source]), ("denied", f"sudo {prog}.d/gpustat"), "nosuid")
        r = rows(before=[*NOBODY, "--no-new-privs"], prog=prog)
        check(r["fdinfo of others"]["remedy"] is None and "no_new_privs" in r["fdinfo of others"]["detail"], f"{r['fdinfo of others']}")
        eq(r[source]["remedy"], "sysctl kernel.perf_event_paranoid=0", "perf under no_new_privs")
        r = rows(before=[*NOBODY, "--bounding-set", "-sys_ptrace"], prog=prog)["fdinfo of others"]
        check(r["remedy"] is None and "bounding set" in r["detail"], f"{r}")
        try:
            r = rows(before=[*NOBODY, "unshare", "-U", "-r"], prog=prog)
        except AssertionError as e:
            raise Skip(f"no user namespaces here: {str(e)[-60:]}") from None
        check(r["fdinfo of others"]["remedy"] is None and "user namespace" in r["fdinfo of others"]["detail"], f"{r['fdinfo of others']}")
        eq(state(r[source]), ("denied", "sysctl kernel.perf_event_paranoid=0"), "perf in a user namespace")


@test("in a container one remedy has all flags for its start; a PID namespace without a container has no remedy")
def _(_m):
    machine.built_in("events")
    as_root()
    with copy() as prog:
        root = os.path.join(os.path.dirname(prog), "root")
        for d in ("proc", "sys", "dev", "bin"):
            os.makedirs(f"{root}/{d}")
        machine.copy_program(prog, f"{root}/bin/gpustat")
        mounts = f"mount -t proc proc {root}/proc; mount --rbind /sys {root}/sys; mount --rbind /dev {root}/dev"
        r, = in_namespace(f"{mounts}; exec chroot {root} /bin/gpustat doctor -o json", "-p", "-f")
        eq(state(r["pid namespace"]), ("denied", None), "unshare -p")
        open(f"{root}/.dockerenv", "w", encoding="ascii").close()
        r, = in_namespace(f"{mounts}; sleep 20 >/dev/null 2>&1 & exec setpriv --bounding-set -sys_ptrace,-perfmon,-sys_admin chroot --userspec=65534:65534 {root} /bin/gpustat doctor -o json", "-p", "-f")
        want = "docker run --pid=host"
        for fs in ("tracing", "debug"):
            if r[f"{fs}fs".replace("tracingfs", "tracefs")]["detail"] == "not mounted":
                want += f" -v /sys/kernel/{fs}:/sys/kernel/{fs}"
        want += " --user=0 --cap-add=SYS_PTRACE --cap-add=PERFMON IMAGE"
        eq((r["pid namespace"]["remedy"], r["perf cpu-wide"]["remedy"]), (want, want), "flags")


@test("a kernel in lockdown: the row has no remedy")
def _(m):
    m.write("sys/kernel/debug/file", "")
    m.write("sys/kernel/tracing/events/sched/sched_switch/id", "1\n")
    for mode, want in (("[none] integrity confidentiality", "ok"), ("none [integrity] confidentiality", "denied"),
                       ("none integrity [confidentiality]", "denied")):
        m.write("sys/kernel/security/lockdown", mode + "\n")
        got = rows(*m.roots())
        eq((state(got["debugfs"]), got["tracefs"]["status"]), ((want, None), "ok"), mode)


@test("hidepid=2: hidden processes are reported, and the suggested command makes them visible")
def _(_m):
    as_root()
    with copy() as prog:
        script = f"mount -t proc -o hidepid=2 proc /proc; {SU} {prog} doctor -o json"
        try:
            r, = in_namespace(script)
        except AssertionError as e:
            raise Skip(f"no such mount here: {str(e)[-60:]}") from None
        r = r["pid namespace"]
        check(r["status"] == "denied" and "hidepid" in r["detail"] and r["remedy"].startswith("setcap cap_sys_ptrace+ep "), f"{r}")
        r, = in_namespace(f"{r['remedy']}\n{script}")
        eq(state(r["pid namespace"]), ("ok", None), "after that")
        check(r["fdinfo of others"]["status"] == "ok", f"{r['fdinfo of others']}")


@test("with CAP_SYS_PTRACE: one unreadable process is ok, many are denied")
def _(m):
    as_root()
    for p in range(20, 40):
        m.process(p)
        m.fd(p, 3, "pos:\t0\n")
    with copy() as prog:
        # for a captured tree the capability has no effect
        for closed, want in ((1, "ok"), (19, "denied")):
            for p in range(20, 20 + closed):
                os.chmod(m.path(f"proc/{p}/fdinfo"), 0)
            r = rows(*m.roots(), before=having("sys_ptrace"), prog=prog)["fdinfo of others"]
            eq((state(r), refused(r)), ((want, None), closed), f"{r}")
    check("even with" in r["detail"], f"{r}")


@test("unreadable processes, and processes of other users, are counted")
def _(m):
    as_root()
    one_client(m, text=dump("i915", 7, pdev=I915))
    m.process(20)
    m.fd(20, 3, "pos:\t0\n")
    eq((rows(*m.roots())["fdinfo of others"]["detail"], rows(*m.roots())["fd of others"]["detail"]), ("2 processes",) * 2, "root")
    os.chmod(m.path("proc/20/fdinfo"), 0)
    r = rows(*m.roots(), before=NOBODY)
    eq((r["fdinfo of others"]["status"], r["fdinfo of others"]["detail"]), ("denied", "1 of 2 processes"), "nobody")
    check(r["fdinfo of others"]["remedy"].startswith("setcap cap_sys_ptrace+ep "), f"{r}")
    eq(stat.S_IMODE(os.stat(m.path("proc/20/fdinfo")).st_mode), 0, "mode of the unreadable folder after doctor")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_doctor.py PROG")
    # the test changes a setting of the whole machine
    sys.exit(machine.main(sys.argv[1], TESTS, alone=lambda t: t[0].startswith("sysctl")))
