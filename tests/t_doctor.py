#!/usr/bin/env python3
# t_doctor.py PROG - gpustat doctor: what it says of this machine and of machines made of files, and that each command it
# names mends what it says. What tests change of the machine is in a mount namespace, or put back. Prints TAP; exit 0 iff
# all is well.
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
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import t_edges as edges  # noqa: E402
import t_kernel  # noqa: E402
from t_edges import FORMATS, I915, TREES, Skip, as_root, check, dump, eq, one_client, parse_csv, parse_json, parse_logfmt, run  # noqa: E402

TESTS = []
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
ALWAYS = ["fdinfo of others", "fd of others", "pid namespace", "inotify", "devices", "perf own", "tracefs", "debugfs", "hwmon", "RAPL", "kfd"]
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def rows(*args, before=(), prog=None):
    """source -> record, of a run that must go well; before: what starts it."""
    p = subprocess.run([*before, prog or edges.PROG, "doctor", "-o", "json", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    eq((p.returncode, p.stderr), (0, b""), f"doctor {args} after {before}: {p!r}")
    recs = parse_json(p.stdout)
    for r in recs:
        eq(list(r), ["schema", "kind", "source", "status", "ok", "detail", "remedy"], "keys")
        check(r["kind"] == "source" and r["status"] in ("ok", "denied", "absent"), f"{r}")
        check(r["remedy"] is None or r["status"] != "ok", f"what is well needs no remedy: {r}")
    eq(len({r["source"] for r in recs}), len(recs), "sources")
    return {r["source"]: r for r in recs}


def having(*caps):
    """Started by nobody, who has these."""
    return [*NOBODY, *(f"--{sets}={','.join('+' + c for c in caps)}" for sets in ("inh-caps", "ambient-caps"))]


def state(r):
    return r["status"], r["remedy"]


def sh(command, **kw):
    p = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, **kw)
    eq(p.returncode, 0, f"{command}: {p.stdout!r}")


@contextlib.contextmanager
def copy(suffix=""):
    """A copy of the program that everybody may run, where files may have capabilities."""
    if not shutil.which("setcap"):
        raise Skip("package libcap2-bin is missing")
    with tempfile.TemporaryDirectory(prefix="gpustat-doctor", dir="/tmp") as d:
        os.chmod(d, 0o755)
        prog = os.path.join(d, f"gpustat{suffix}")
        shutil.copy(edges.PROG, prog)
        os.chmod(prog, 0o755)
        yield prog


def refused(r):
    """Of "41 of 75 processes", "all but 1 of 75 processes"."""
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


# --- what it says --------------------------------------------------------------------------------------------------

@test("every format, here and where there is nothing at all")
def _(m):
    for roots in ([], m.roots()):
        got = rows(*roots)
        check(set(ALWAYS) <= set(got), f"{sorted(got)}")
        for fmt in FORMATS:
            r = run(["doctor", "-o", fmt, *roots])
            eq((r.code, r.err), (0, b""), fmt)
            if fmt == "csv":
                eq({x["field"] for x in parse_csv(r.out)}, {"status", "ok", "detail", "remedy"}, "fields")
            elif fmt == "logfmt":
                eq({x["source"] for x in parse_logfmt(r.out)}, set(got), "logfmt")
            else:
                check(all(s.encode() in r.out for s in got), fmt)
    for source in ("fdinfo of others", "tracefs", "debugfs", "hwmon", "RAPL", "kfd"):
        eq(state(rows(*m.roots())[source]), ("absent", None), source)
    eq(run(["doctor", "-f", "source,status", "-o", "csv", *m.roots()]).out.splitlines()[0], b"source,status", "-f")
    eq(run(["doctor", "--proc", m.path("nowhere"), "--sys", m.sys]).code, 1, "no /proc")


@test("devices: how many; where none is, where was looked and for which drivers")
def _(m):
    r = rows(*m.roots())["devices"]
    check(state(r) == ("absent", None) and "/sys/class/drm" in r["detail"] and "amdgpu i915" in r["detail"] and "nvidia" in r["detail"], f"{r}")
    m.device("i915", I915)
    m.device("xe", "0000:03:00.0", card=1, render=129)
    r = rows(*m.roots())["devices"]
    eq((state(r), r["detail"]), (("ok", None), "2"), "two")


@test("inotify: opens are noticed; no node, no inotify in the kernel, no instance or watch left")
def _(m):
    edges.one_client(m)
    eq(rows(*m.roots())["inotify"]["detail"], "no device node in /dev", "a /proc without the machine's /dev")
    os.makedirs(m.path("proc/1/root/dev/dri"))
    r = rows(*m.roots())["inotify"]
    eq((state(r), r["detail"]), (("ok", None), f"opens are noticed in {m.path('proc/1/root/dev')}"), "with it")
    for call, error, want in (("inotify_init1", "ENOSYS", ("absent", None)), ("inotify_init1", "EMFILE", ("absent", "sysctl fs.inotify.max_user_instances=1024")),
                              ("inotify_add_watch", "ENOSPC", ("absent", "sysctl fs.inotify.max_user_watches=65536"))):
        p = t_kernel.lacking(call, "doctor", "-o", "json", *m.roots(), error=error)
        r = {x["source"]: x for x in parse_json(p.out)}["inotify"]
        check(state(r) == want and (error != "ENOSYS" or r["detail"] == "no CONFIG_INOTIFY_USER"), f"{call} {error}: {r}")


@test("nothing that is assumed is told: perf_event_paranoid, processes and sensors without /proc and /sys")
def _(m):
    got = rows(*m.roots())
    check("unknown" in got["perf own"]["detail"] and not re.search(r"\d", got["perf own"]["detail"]), f"{got['perf own']}")
    if os.getuid() == 0:
        r = rows(*m.roots(), before=NOBODY)["perf tracepoints"]
        eq((state(r), r["detail"]), (("absent", None), "perf_event_paranoid unknown"), "nobody")
    for path, sources in (("/proc", ("fdinfo of others", "fd of others", "pid namespace", "NMI watchdog")), ("/sys", ("tracefs", "debugfs", "hwmon", "RAPL", "kfd", "devices"))):
        p = t_kernel.without([path], ["doctor", "-o", "json"])
        got = {x["source"]: x for x in parse_json(p.out)}
        for source in sources:
            eq((state(got[source]), got[source]["detail"]), (("absent", None), f"not known without {path}"), source)


@test("no file is written, no device node opened, no sleeping device touched")
def _(m):
    if not shutil.which("strace"):
        raise Skip("package strace is missing")
    m.device("xe", "0000:03:00.0", state="suspended", files={"hwmon/hwmon1/temp1_input": "50000\n", "hwmon/hwmon1/name": "xe\n"})
    m.device("panthor", card=1, render=129, files={"profiling": "0\n"})
    out = m.path("strace")
    p = subprocess.run(["strace", "-f", "-o", out, "-e", "trace=openat,open,write,pwrite64,ioctl", edges.PROG, "doctor", *m.roots()],
                       stdout=subprocess.PIPE, timeout=60)
    eq(p.returncode, 0, "exit")
    check(b"suspended: nothing is read" in p.stdout, f"{p.stdout!r}")
    for line in open(out, encoding="utf-8", errors="replace"):
        check(not re.search(r"/dev/(dri|accel|kfd|nvidia)|temp1_input", line), line)
        check(not re.search(r"O_WRONLY|O_RDWR|O_CREAT", line), line)
        check("write(" not in line or re.search(r" write\(1,", line), line)


@test("devices: runtime state, node, knob")
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
        eq(state(rows(*m.roots())[f"card{2 + i} profiling"]), ("absent", None), "a kernel without it")
    got = rows(*m.roots())
    eq((got["card0 runtime state"]["detail"], got["card1 runtime state"]["status"]), ("active", "ok"), "state")
    check(got["card1 runtime state"]["detail"].startswith("suspended"), "asleep")
    check("card0 profiling" not in got and "/dev/dri/renderD129" in got, f"{sorted(got)}")


@test("the NMI watchdog's counter; OA's own knobs")
def _(m):
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
        eq(got["OA i915"]["remedy"], "sysctl dev.i915.perf_stream_paranoid=0", "where files give no capabilities")


# --- that the commands mend it -------------------------------------------------------------------------------------------

@test("setcap: each command that nobody is told mends its row, on a copy")
def _(m):
    as_root()
    m.device("i915", I915)
    m.write("proc/sys/dev/i915/perf_stream_paranoid", "1\n")
    secret = m.write("sys/class/powercap/intel-rapl:0/energy_uj", "1\n")
    os.chmod(secret, 0o400)
    for source, args in (("perf kernel", []), ("perf cpu-wide", []), ("perf tracepoints", []), ("OA i915", m.roots()), ("RAPL", m.roots())):
        with copy() as prog:
            r = rows(*args, before=NOBODY, prog=prog)[source]
            check(r["status"] == "denied" and r["remedy"].startswith("setcap "), f"{r}")
            sh(r["remedy"])
            after = rows(*args, before=NOBODY, prog=prog)[source]
            if args:  # named roots are read without them, but with those of whoever starts it
                eq((state(after), "roots" in after["detail"]), (("denied", None), True), f"{source}: {after}")
                sh(f"setcap -r {prog}")
                after = rows(*args, before=having(*re.findall("cap_(\\w+)", r["remedy"])), prog=prog)[source]
            eq(state(after), ("ok", None), f"{source} after {r['remedy']}")
    for source in ("fdinfo of others", "fd of others"):
        with copy() as prog:
            r = rows(before=NOBODY, prog=prog)[source]
            many = refused(r)
            check(r["status"] == "denied" and many > 3, f"{r}")
            sh(r["remedy"])
            # one with more rights than files can give stays closed
            after = rows(before=NOBODY, prog=prog)[source]
            check(refused(after) < many / 2, f"{source}: {after} after {r['remedy']}")
            eq(state(after), ("ok", None), f"{source} after {r['remedy']}: {after}")


@test("setcap replaces what was there: a second command keeps what the first one gave; odd paths")
def _(_m):
    as_root()
    with copy(" it's") as prog:
        for source in ("fdinfo of others", "perf cpu-wide"):
            sh(rows(before=NOBODY, prog=prog)[source]["remedy"])
        got = rows(before=NOBODY, prog=prog)
        check(got["perf cpu-wide"]["status"] == "ok" and got["fdinfo of others"]["remedy"] is None, f"{got}")


@test("sysctl: what perf_event_paranoid beyond 2 is told mends it")
def _(_m):
    as_root()
    with copy() as prog, paranoid(3):
        for source in ("perf kernel", "perf cpu-wide", "perf tracepoints"):
            with open(PARANOID, "w", encoding="ascii") as f:
                f.write("3\n")
            r = rows(before=NOBODY, prog=prog)[source]
            check(r["status"] == "denied" and r["remedy"].startswith("sysctl kernel.perf_event_paranoid="), f"{r}")
            sh(r["remedy"])
            eq(state(rows(before=NOBODY, prog=prog)[source]), ("ok", None), f"{source} after {r['remedy']}")


def in_namespace(script, *flags, env=None):
    """Shell, in a mount namespace of its own; lines that `show` printed, as records."""
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


@test("mount: tracefs and debugfs, mounted by the command; then denied to nobody, and mended")
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
            eq(b[fs]["status"], "denied", "to nobody")
            c, = in_namespace(f"umount -R /sys/kernel/{where} 2>/dev/null || :\n{first['remedy']}\n{b[fs]['remedy']}\n{SU} {prog} doctor -o json")
            eq(state(c[fs]), ("ok", None), f"to nobody after {b[fs]['remedy']}")


@test("usermod: a node that its group may open")
def _(_m):
    as_root()
    with copy() as prog:
        os.mkdir(f"{prog}.m")
        m = edges.Machine(f"{prog}.m")  # not in /dev
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


@test("where capabilities are of no use none are named: nosuid, no_new_privs, bounding set, user namespace")
def _(_m):
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


@test("a container is told what to be started with, all at once; a bare pid namespace is not")
def _(_m):
    as_root()
    with copy() as prog:
        root = os.path.join(os.path.dirname(prog), "root")
        for d in ("proc", "sys", "dev", "bin"):
            os.makedirs(f"{root}/{d}")
        shutil.copy(prog, f"{root}/bin/gpustat")
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


@test("a kernel that is locked down: no command helps")
def _(m):
    m.write("sys/kernel/debug/file", "")
    m.write("sys/kernel/tracing/events/sched/sched_switch/id", "1\n")
    for mode, want in (("[none] integrity confidentiality", "ok"), ("none [integrity] confidentiality", "denied"),
                       ("none integrity [confidentiality]", "denied")):
        m.write("sys/kernel/security/lockdown", mode + "\n")
        got = rows(*m.roots())
        eq((state(got["debugfs"]), got["tracefs"]["status"]), ((want, None), "ok"), mode)


@test("hidepid=2: what cannot be seen is told, and mended by its command")
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
        r, = in_namespace(f"{r['remedy']}; {script}")
        eq(state(r["pid namespace"]), ("ok", None), "after that")
        check(r["fdinfo of others"]["status"] == "ok", f"{r['fdinfo of others']}")


@test("one process that refuses those who may read all is no alarm; many are")
def _(m):
    as_root()
    for p in range(20, 40):
        m.process(p)
        m.fd(p, 3, "pos:\t0\n")
    with copy() as prog:
        # to a captured tree that capability is of no use
        for closed, want in ((1, "ok"), (19, "denied")):
            for p in range(20, 20 + closed):
                os.chmod(m.path(f"proc/{p}/fdinfo"), 0)
            r = rows(*m.roots(), before=having("sys_ptrace"), prog=prog)["fdinfo of others"]
            eq((state(r), refused(r)), ((want, None), closed), f"{r}")
    check("even with" in r["detail"], f"{r}")


@test("hidden processes and other users: counted")
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
    eq(stat.S_IMODE(os.stat(m.path("proc/20/fdinfo")).st_mode), 0, "left as it was")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_doctor.py PROG")
    sys.exit(edges.main(sys.argv[1], TESTS, alone=lambda t: t[0].startswith("sysctl")))  # it is the whole machine's
