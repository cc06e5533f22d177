#!/usr/bin/env python3
# t_capture.py PROG - gpustat capture: the tar file is valid, the files in it give the records that
# t_capture.py PROG - gpustat capture: the tar file is valid, reading the files in it gives the same
# records as the machine did, and it contains no names. Prints TAP; exit 0 if all tests pass.
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import I915, NOBODY, ROOT, TREES, Skip, check, dump, eq, ns, one_client, package, parse_json, run  # noqa: E402

TESTS = []
LONGEST = 256  # ustar: 155 bytes of prefix, a slash, 100 bytes of name


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def take(m, *args, roots=None, code=0, **kw):
    """Captures a machine. Returns the tar file as bytes, and the messages."""
    r = run(["capture", *args, *(roots or m.roots())], **kw)
    eq(r.code, code, f"exit code ({r!r})")
    return r.out, r.err.decode()


def unpack(m, tar):
    """Unpacks the tar file with Python's tarfile. Returns the path of its folder `capture`."""
    at = m.path("unpacked")
    shutil.rmtree(at, ignore_errors=True)
    os.mkdir(at)
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as t:
        names = [i.name for i in t]
        eq(len(names), len(set(names)), "a member comes twice")
        for i in t:
            check(i.name.startswith("capture/") and ".." not in i.name.split("/"), i.name)
            t.extract(i, at, set_attrs=False, **({"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}))
    return os.path.join(at, "capture")


def records(roots):
    """Returns the output for a machine, in the form of first.json, list.json and
    first-procs.json."""
    def say(*command):
        return run([*command, "-o", "json", "-t", "none", *roots]).out
    return say("-r") + say("clients", "-r"), say("list"), say("procs", "-r")


def roots_of(at):
    return ["--proc", f"{at}/proc", "--sys", f"{at}/sys"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def without_rates(r, want):
    """Removes values that need an earlier reading. The first reading of a capture has none before
    it, so they are null or missing in `want`; the second reading has the first before it."""
    for key in want:
        if isinstance(want[key], dict):
            without_rates(r[key], want[key])
        elif want[key] is None:
            r[key] = None
    for key in set(r) - set(want):
        del r[key]


def same(m, tar, what):
    """Checks that gpustat prints for each reading the records that the capture stores with it."""
    at = unpack(m, tar)
    for name, text in zip(("first", "list", "first-procs"), records(roots_of(at))):
        # The order of engines is that of the processes, which is that of the file system.
        eq(parse_json(read(f"{at}/{name}.json")), parse_json(text), f"{what}: {name}.json")
    if os.path.isdir(f"{at}/second"):
        shutil.copytree(f"{at}/second", at, dirs_exist_ok=True, symlinks=True)
        for name, text in zip(("second", None, "second-procs"), records(roots_of(at))):
            for r, want in zip(parse_json(read(f"{at}/{name}.json")), parse_json(text), strict=True) if name else ():
                without_rates(r, want)
                eq(r, want, f"{what}: {name}.json")
    return at


def tree_test(tree):
    def each(m):
        roots = roots_of(f"{TREES}/{tree}")
        tar, _ = take(m, roots=roots)
        same(m, tar, tree)
        tar, said = take(m, "--plain-names", roots=roots)
        at = same(m, tar, f"{tree}, plain")
        check("no name (--plain-names)" in said and b"names plain" in read(f"{at}/manifest"), said)
        # The user's name is in ../etc/passwd, which is not read.
        for name, text in zip(("first", "list", "first-procs"), records(roots)):
            eq(re.sub(rb'"user":"\d+"', b'"user":null', read(f"{at}/{name}.json")),
               re.sub(rb'"user":"[^"]*"', b'"user":null', text), f"{tree}: its own {name}")
    TESTS.append((f"{tree}: the capture gives the same records as the machine", each, False))


for one in sorted(os.listdir(TREES)):
    if os.path.isdir(f"{TREES}/{one}/proc"):
        tree_test(one)


@test("a capture contains the events and formats of PMUs")
def _(m):
    for pmus in "hybrid", "odd", "xe":
        tar, _ = take(m, roots=["--proc", m.proc, "--sys", f"{ROOT}/tests/pmus/{pmus}"])
        at = unpack(m, tar)
        own = run(["events", "--proc", m.proc, "--sys", f"{ROOT}/tests/pmus/{pmus}"]).out
        if not own:
            raise Skip("built without events")
        check(own.count(b"\n") > 30, own)
        eq(sorted(run(["events", *roots_of(at)]).out.splitlines()), sorted(own.splitlines()), pmus)


# --- the file -------------------------------------------------------------------------------------

@test("GNU tar, busybox and bsdtar read the tar file, which ends with two empty blocks")
def _(m):
    path = m.path("a.tar")
    take(m, "-O", path, roots=roots_of(f"{TREES}/amdgpu"))
    data = read(path)
    check(len(data) % 512 == 0 and data[-1024:] == bytes(1024) and data[257:265] == b"ustar\x0000", "its form")
    with tarfile.open(path) as t:
        names = [i.name for i in t]
    for tool in (["tar"], ["busybox", "tar"], ["bsdtar"]):
        if not shutil.which(tool[0]):
            continue
        p = subprocess.run([*tool, "-tf", path], capture_output=True, check=False)
        eq((p.returncode, p.stderr), (0, b""), f"{tool}")
        eq([n.rstrip("/") for n in p.stdout.decode().splitlines()], names, f"names by {tool}")
        p = subprocess.run([*tool, "-tvf", path], capture_output=True, check=False)
        check(p.returncode == 0 and b"-> /dev/dri/renderD128" in p.stdout, f"links by {tool}")


@test("-O replaces a file as a whole, and leaves it if the disk is full or the pipe is closed")
def _(m):
    one_client(m)
    path = m.path("a.tar")
    for _ in range(2):
        take(m, "-O", path)
        with tarfile.open(path) as t:
            check("capture/manifest" in t.getnames(), "no manifest")
    eq([f for f in os.listdir(m.base) if "tar" in f], ["a.tar"], "files")
    with open("/dev/full", "wb") as full:
        p = subprocess.run([machine.PROG, "capture", *m.roots()], stdout=full, stderr=subprocess.PIPE, check=False)
    eq(p.returncode, 1, "exit code on a full disk")
    check(b"No space left" in p.stderr and p.stderr.count(b"\n") == 1, p.stderr)
    take(m, "-O", m.path("none/a.tar"), code=1)
    r, w = os.pipe()
    os.close(r)
    p = subprocess.run([machine.PROG, "capture", *m.roots()], stdout=w, stderr=subprocess.PIPE, check=False)
    os.close(w)
    check(p.returncode in (1, -13), f"closed pipe: {p}")


@test("-O udp: the message says that capture writes to a file, and names no option that capture lacks")
def _(m):
    r = run(["capture", "-O", "udp:localhost:1", *m.roots()])
    eq((r.code, r.err), (2, b"gpustat: capture: -O takes a file\n"), "capture -O udp:")


@test("a terminal gets no tar file")
def _(m):
    one_client(m)
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as s, os.fdopen(master, "rb"):
        p = subprocess.run([machine.PROG, "capture", *m.roots()], stdout=s, stderr=subprocess.PIPE, check=False)
    eq((p.returncode, b"terminal" in p.stderr), (2, True), p.stderr)


@test("paths and links longer than 100 bytes are stored whole; a path longer than 256 bytes is left out")
def _(m):
    for k, size in enumerate((60, 150, 200, 300)):
        folder = "sys/devices/" + "/".join(f"bus-{k}-{i:02}" + "x" * 16 for i in range(size // 25))
        m.write(f"{folder}/gpu{k}/uevent", "DRIVER=i915\n")
        m.node(f"{folder}/gpu{k}", "drm", f"card{k}", (226, k))
    tar, said = take(m)
    with tarfile.open(fileobj=io.BytesIO(tar)) as t:
        links = {i.name: i.linkname for i in t if i.issym()}
        names = t.getnames()
    for k in range(4):
        eq(links[f"capture/sys/class/drm/card{k}"], os.readlink(m.path(f"sys/class/drm/card{k}")), f"link {k}")
    check(max(map(len, names)) <= LONGEST, "a name is too long")
    deep = [n for n in names if n.endswith("gpu2/drm/card2/dev")]
    check(deep and len(deep[0]) > 100, names)
    check(not any(n.endswith("card3/dev") for n in names) and "with long paths" in said, said)
    at = unpack(m, tar)
    check(b"left-out sys/devices/bus-3-00" in read(f"{at}/manifest"), read(f"{at}/manifest"))


# --- what is read ---------------------------------------------------------------------------------

@test("a sleeping device: its sensors and its clients' fdinfo are not in the capture")
def _(m):
    tar, _ = take(m, roots=roots_of(f"{TREES}/xe-suspended"))
    at = unpack(m, tar)
    for folder, _names, files in os.walk(at):
        for f in files:
            path = os.path.join(folder, f)
            if not os.path.islink(path):
                check(not re.search(rb"\b(1111|2222|99000|9999999999|777)\b", read(path)), f"{path} was read")
    check(os.path.islink(f"{at}/proc/3511/fd/12") or
          any(os.path.islink(f"{at}/proc/3511/fd/{n}") for n in os.listdir(f"{at}/proc/3511/fd")), "the descriptor")
    check(not os.path.exists(f"{at}/proc/3511/fdinfo"), "its fdinfo")


@test("capture with two readings: the second contains the files that were read again")
def _(m):
    path = one_client(m, text=dump("i915", 7, *ns(render=1000000), pdev=I915))
    del path
    with m.driven("capture") as p:
        check(p.sleep(), "the program waits between the readings")
        m.write("proc/10/fdinfo/5", dump("i915", 7, *ns(render=500000000), pdev=I915))
        p.wake(0)
        check(not p.sleep(), "it ends")
        eq(p.code, 0, p.err)
        at = same(m, p.out, "two readings")
    first, rates = parse_json(read(f"{at}/first.json")), parse_json(read(f"{at}/rates.json"))
    eq(first[1]["engine"]["render"]["busy_ns"], 1000000, "first")
    busy = [r for r in rates if r["kind"] == "client"][0]["engine"]["render"]["busy"]
    check(40 < busy < 60, f"busy {busy}")


@test("files that may not be read are reported, and are unreadable in the capture")
@machine.live
def _(m):
    if os.getuid():
        raise Skip("needs root")
    one_client(m)
    m.process(20, comm="hidden")
    m.fd(20, 3, dump("i915", 9, *ns(render=5), pdev=I915))
    os.chmod(m.path("proc/20/fd"), 0)
    os.chmod(m.path("proc/20/fdinfo"), 0)
    tar, said = take(m, nobody=True)
    check("1 that may not be read" in said or "2 that may not be read" in said, said)
    with tarfile.open(fileobj=io.BytesIO(tar)) as t:
        eq(t.getmember("capture/proc/20/fd").mode, 0, "mode")
        check(b"denied proc/20/fd" in t.extractfile("capture/manifest").read(), "manifest")


@test("hostile files: a FIFO, huge files, a file with any bytes, dangling links and loops of links")
def _(m):
    dev = m.device("i915", I915)
    os.unlink(m.path(f"{dev}/power/runtime_status"))
    os.mkfifo(m.path(f"{dev}/power/runtime_status"))
    m.write(f"{dev}/uevent", b"DRIVER=i915\n" + bytes(range(256)) * 400)
    os.symlink("loop", m.path(f"{dev}/loop"))
    os.symlink("loop/x", m.path(f"{dev}/hwmon"))
    os.symlink("../../../../../../../../etc", m.path(f"{dev}/drm/card0/engine"))
    os.symlink("/etc", m.path(f"{dev}/drm/card0/gt"))
    m.process(10)
    locks = "".join(f"lock:\t{i}: POSIX  ADVISORY  WRITE 10 00:2d:30 0 EOF\n" for i in range(9000))
    m.fd(10, 5, locks + dump("i915", 7, *ns(render=5), pdev=I915))
    for options in [], ["--plain-names"]:
        tar, said = take(m, *options)
        check(" cut" in said, said)
        at = unpack(m, tar)
        check(os.path.getsize(f"{at}/proc/10/fdinfo/5") <= 256 << 10, "a file is larger than the limit")
        check(b"cut proc/10/fdinfo/5" in read(f"{at}/manifest"), "manifest")
        check(not [n for n in os.listdir(at) if n == "etc"], "files of /etc")


@test("the device tree: /proc/device-tree is a link into /sys; a capture of a capture is the same")
def _(m):
    base = "sys/firmware/devicetree/base"
    m.write(f"{base}/model", "A Board\0")
    m.write(f"{base}/compatible", "maker,board\0maker,soc\0")
    m.link(base, "proc/device-tree")
    one_client(m)
    tar, said = take(m)
    at = same(m, tar, "device tree")
    check("left out: nothing" in said, said)
    eq(os.readlink(f"{at}/proc/device-tree"), f"../{base}", "link")
    eq((read(f"{at}/{base}/model"), read(f"{at}/{base}/compatible")), (b"A Board\0", b"maker,board\0maker,soc\0"), "files")
    again = m.path("again")
    unpack(m, tar)
    shutil.copytree(at, again, symlinks=True)
    tar, _ = take(m, roots=roots_of(again))
    eq((read(f"{at}/first.json"), read(f"{at}/list.json")),
       (lambda b: (read(f"{b}/first.json"), read(f"{b}/list.json")))(unpack(m, tar)), "captured again")


# --- names ----------------------------------------------------------------------------------------

SECRETS = {"comm": "alicesgame", "client": "alice-render", "home": "/home/alice/save", "scope": "app-alicesgame-12.scope",
           "unit": "alice.service", "id": "8f3c" * 16, "uuid": "0b5c1d2e-3f40-4a51-9b62-7c8d9e0f1a2b", "serial": "a1b2c3d4e5f60718"}


def secret_machine(m):
    dev = m.device("amdgpu", I915, files={"unique_id": SECRETS["serial"] + "\n"})
    cgroups = {10: f"0::/user.slice/user-1000.slice/user@1000.service/app.slice/{SECRETS['scope']}\n",
               11: f"0::/system.slice/docker-{SECRETS['id']}.scope\n",
               12: f"0::/kubepods.slice/kubepods-pod{SECRETS['uuid'].replace('-', '_')}.slice/cri-containerd-{SECRETS['id']}.scope\n",
               13: f"0::/system.slice/{SECRETS['unit']}\n"}
    for pid, cgroup in cgroups.items():
        m.process(pid, comm=SECRETS["comm"], cgroup=cgroup)
        m.write(f"proc/{pid}/cmdline", f"/home/alice/bin/{SECRETS['comm']}\0--user=alice\0")
        m.write(f"proc/{pid}/status", f"Name:\t{SECRETS['comm']}\nUid:\t1000\t1000\t1000\t1000\n")
        m.fd(pid, 5, dump("amdgpu", 100 + pid, *ns(gfx=5), pdev=I915, name=SECRETS["client"]))
        os.symlink(SECRETS["home"], m.path(f"proc/{pid}/fd/6"))
    m.write("etc/passwd", "alice:x:1000:1000:Alice:/home/alice:/bin/sh\n")
    return dev


@test("names of commands, users, clients, paths, cgroups and serial numbers are replaced")
def _(m):
    secret_machine(m)
    tar, said = take(m)
    at = same(m, tar, "replaced")
    for name in [*SECRETS.values(), "alice", "Alice", SECRETS["uuid"].replace("-", "_")]:
        check(name.encode() not in tar, f"{name} is in the capture")
    eq(sorted(re.findall(r"(\d+) (commands|client names|paths|serial numbers)", said.partition("replaced")[2])),
       [("1", "client names"), ("1", "commands"), ("1", "paths"), ("3", "serial numbers")], said)
    eq(read(f"{at}/proc/10/comm"), b"command1\n", "comm")
    eq(read(f"{at}/proc/11/comm"), b"command1\n", "the same name is the same placeholder")
    eq(read(f"{at}/proc/10/cmdline"), b"command1\0", "cmdline")
    check(read(f"{at}/proc/10/stat").startswith(b"10 (command1) S 1"), "stat")
    check(b"drm-client-name:\tclient1\n" in read(f"{at}/proc/10/fdinfo/5"), "client name")
    eq(os.readlink(f"{at}/proc/10/fd/6"), "/path1", "path")
    text = read(f"{at}/proc/10/cgroup").decode()
    check(re.fullmatch(r"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-group\d-12.scope\n", text), text)
    text = read(f"{at}/proc/11/cgroup").decode()
    check(re.fullmatch(r"0::/system.slice/docker-0{63}\d.scope\n", text), text)
    text = read(f"{at}/proc/12/cgroup").decode()
    check(re.fullmatch(r"0::/kubepods.slice/kubepods-pod[0_]{35}\d.slice/cri-containerd-0{63}\d.scope\n", text), text)
    check(re.fullmatch(rb"0{15}\d\n", read(f"{at}/sys/devices/pci0000:00/{I915}/unique_id")), "unique_id")
    check(not os.path.exists(f"{at}/etc"), "passwd")


@test("--plain-names: all names are kept, and /etc/passwd is not read")
def _(m):
    secret_machine(m)
    tar, _ = take(m, "--plain-names")
    at = same(m, tar, "plain")
    for name in "comm", "client", "home", "id", "serial":
        check(SECRETS[name].encode() in tar, name)
    check(b"Alice" not in tar and not os.path.exists(f"{at}/etc"), "passwd")


@test("the process names logind and seatd are kept, because no client is attributed to these processes")
def _(m):
    m.device("i915", I915)
    for pid, comm in (5, "systemd-logind"), (6, "seatd"), (20, "sway"):
        m.process(pid, comm=comm, start=pid)
        m.fd(pid, 4, dump("i915", 7, *ns(render=5), pdev=I915))
    tar, _ = take(m)
    at = same(m, tar, "holders")
    eq([read(f"{at}/proc/{p}/comm") for p in (5, 6, 20)], [b"systemd-logind\n", b"seatd\n", b"command1\n"], "names")
    client = [r for r in parse_json(read(f"{at}/first.json")) if r["kind"] == "client"][0]
    eq((client["pid"], client["pids"]), (20, [5, 6, 20]), "holders")


@test("names with newlines, parentheses or invalid bytes, and empty names, get valid placeholders")
def _(m):
    m.device("i915", I915)
    for pid, comm in enumerate((") S 1 (", "a\nb", "\xff\xfe", "", "x" * 15, "(", ")")):
        m.process(10 + pid, comm=comm.encode("latin-1"), cgroup=f"0::/{comm}\n1:name=systemd:/a:b/{comm}\n".encode("latin-1"))
        m.fd(10 + pid, 4, dump("i915", 100 + pid, *ns(render=5), pdev=I915, name=comm or None))
    same(m, take(m)[0], "odd names")
    same(m, take(m, "--plain-names")[0], "odd names, plain")


@test("tests/trees/import makes a new tree from a capture")
def _(m):
    package("tar", "tar")
    tar = m.path("board.tar")
    take(m, "-O", tar, roots=roots_of(f"{TREES}/panfrost"))
    work = m.path("tests")
    os.makedirs(f"{work}/trees")
    os.makedirs(f"{work}/golden")
    os.makedirs(f"{work}/views")
    for f in "trees/import", "views/t_golden.sh", "tap.sh":
        shutil.copy(f"{ROOT}/tests/{f}", f"{work}/{f}")
    for f in os.listdir(f"{ROOT}/tests/golden"):
        if f.startswith("etnaviv.") or f == "counters-etnaviv.cmd":
            shutil.copy(f"{ROOT}/tests/golden/{f}", f"{work}/golden/{f}")
    p = subprocess.run([f"{work}/trees/import", tar, "board", machine.PROG], capture_output=True, check=False)
    eq(p.returncode, 0, p.stdout + p.stderr)
    eq(records(roots_of(f"{work}/trees/board"))[1], records(roots_of(f"{TREES}/panfrost"))[1], "its records")
    made = [f for f in os.listdir(f"{work}/golden") if "board" in f]
    check({"board.json.cmd", "board.json.want", "board.line.want"} <= set(made), made)
    check(b"card" in read(f"{work}/golden/board.line.want"), "golden file")
    p = subprocess.run([f"{work}/trees/import", tar, "board", machine.PROG], capture_output=True, check=False)
    eq((p.returncode, b"exists" in p.stderr), (1, True), p.stderr)


if __name__ == "__main__":
    sys.exit(machine.main(sys.argv[1], TESTS, workers=4))
