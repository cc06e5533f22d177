"""prometheus, its node_exporter and promtool, and the OpenMetrics parser.
SPDX-License-Identifier: MIT"""
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import kit
from kit import Daemon, Exposition, Mover, Skip, check, eq, free_port, ours, takes, test

EXPORTER = ("prometheus-node-exporter", "prometheus-node-exporter")


def scraper(m, folder, port, host="127.0.0.1", wrap=()):
    exe = kit.tool(*EXPORTER)
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if not wrap and os.getuid() == 0 else {}
    return Daemon(m, *wrap, exe, "--collector.disable-defaults", "--web.disable-exporter-metrics",
                  "--collector.textfile", f"--collector.textfile.directory={folder}",
                  f"--web.listen-address={host}:{port}", name=f"node_exporter-{host}", **as_nobody)


def scrape(m, files):
    """Returns the series that node_exporter reads from the files in its folder: (series of gpustat,
    series of node_exporter about the files, the whole exposition)."""
    folder = m.path("textfile")
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        if not os.path.exists(os.path.join(folder, name)):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(text)
    port = free_port()
    with scraper(m, folder, port) as d:
        d.listens(port)
        status, body = kit.fetch(f"http://127.0.0.1:{port}/metrics")
        eq(status, 200, f"/metrics: {body[:600]!r}")
        log = d.text()
    check("level=error" not in log and "level=warn" not in log, f"the log of node_exporter has errors: {log[-600:]}")
    got = Exposition(body, filled=True)
    own = {k: v for k, v in got.series.items() if not k[0].startswith("gpustat_")}
    return {k: v for k, v in got.values().items() if k not in own}, own, got


def check_scrape(m, files):
    mine, own, got = scrape(m, files)
    eq(own.get(("node_textfile_scrape_error", ())), "0", "node_textfile_scrape_error")
    want, helps = {}, {}
    for text in files.values():
        e = Exposition(text)
        for k, v in e.values().items():
            check(k not in want, f"{k} in two files")
            want[k] = v
        for n, h in e.helps.items():
            check(helps.setdefault(n, h) == h, f"{n}: HELP differs between two files")
        for n, t in e.types.items():
            eq(got.types[n], t, f"type of {n}")
    eq(sorted(set(want) ^ set(mine))[:4], [], "series in only one of the two outputs")
    for k, v in want.items():
        check(mine[k] == v, f"{k}: {mine[k]!r}, want {v!r}")
    check(want, "the output has no series")
    return mine


def promtool(out):
    p = subprocess.run([kit.tool("promtool", "prometheus"), "check", "metrics"], input=out, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=60, check=False)
    return p.returncode, p.stdout.decode("utf-8", "replace")


@takes("prom")
def _(kind, args):
    """accepted by the strict parser and by promtool check metrics"""
    out = ours(args, "prom")
    check(Exposition(out).series, f"{kind}: no series")
    eq(promtool(out), (0, ""), f"promtool on {kind}")


@test("prom: has the names that rules and dashboards depend on")
def _(_m):
    seen = set()
    for tree in ("mixed", "amdgpu", "i915", "i915-dgpu"):
        for kind in ("device", "client", "cgroup"):
            seen |= set(Exposition(ours(kit.commands(tree)[kind], "prom")).types)
    for name in """engine_busy_ratio engine_busy_seconds_total engine_capacity busy_ratio idle_ratio used_bytes clients device_info
            memory_resident_bytes memory_total_bytes vram_total_bytes vram_used_bytes freq_cur_hertz freq_max_hertz
            temp_celsius power_watts energy_joules_total fan_rpm volt_volts throttle unreadable_processes dropped
            self_cpu_seconds_total client_engine_busy_ratio client_memory_resident_bytes
            cgroup_engine_busy_ratio cgroup_engine_busy_seconds_total cgroup_clients""".split():
        check(f"gpustat_{name}" in seen, f"gpustat_{name} is missing")


@test("prom: the memory of gpustat is printed if /proc is that of this machine")
def _(m):
    kit.settle(m, "i915")
    m.write("proc/self/statm", "1000 250 90 10 0 30 0\n")
    got = Exposition(ours(["-r", *m.roots()], "prom")).values()
    eq(got.get(("gpustat_self_resident_bytes", ())), 250.0 * os.sysconf("SC_PAGESIZE"), "gpustat_self_resident_bytes")


@test("promtool check metrics accepts the output for every machine", slow=True)
def _(_m):
    kit.tool("promtool", "prometheus")

    def one(item):
        tree, args = item
        r = kit.run([*args, "-o", "prom", *kit.roots(tree)])
        check(r.code in (0, 3) and not (r.code == 3 and tree != "host"), f"{tree}: {r!r}")
        Exposition(r.out)
        eq(promtool(r.out), (0, ""), f"promtool on {' '.join(args)} of {tree}")
    todo = [(t, a) for t in kit.NAMES for a in (["-w", "0.01"], ["-r"], ["clients", "-w", "0.01"], ["cgroups", "-r"])]
    with ThreadPoolExecutor(max_workers=3) as pool:
        list(pool.map(one, todo))


@test("prom: has the values of -o json under the documented names, for every machine")
def _(_m):
    for tree in kit.NAMES:
        for cmd, kind in (([], "device"), (["clients"], "client"), (["cgroups"], "cgroup")):
            if tree == "host":
                continue
            args = [*cmd, "-r", *kit.roots(tree)]
            want = kit.expected(kit.exact(ours(args, "json")))
            got = kit.told(Exposition(ours(args, "prom")).series, kind)
            missing, more = set(want) - set(got), set(got) - set(want)
            if kind == "device":  # printed once, without a device
                missing = {k for k in missing if k[0] not in ("gpustat_dropped", "gpustat_unreadable_processes")}
            check(not missing and not more, f"{tree} {kind}: only in json {sorted(missing, key=str)[:3]}, "
                                            f"only in prom {sorted(more, key=str)[:3]}")
            for k in want:
                eq(got[k], want[k], f"{tree}: {k}")


# --- totals next to rates -------------------------------------------------------------------------

V3D = "queue\ttimestamp\tjobs\truntime\nrender\t1\t1\t{0}\n"


def exposed(out):
    """Returns the expositions of a run: [{(name, labels): value}]."""
    return [{k: float(v) for k, v in (x.rsplit(" ", 1) for x in part.splitlines() if x[0] != "#")}
            for part in out.decode().split("# EOF\n")[:-1]]


def exposures(m, args, steps, gap=0.2):
    """Returns the expositions of a run in which steps[k] changes the files after sample k."""
    with m.driven(*args, str(gap), str(len(steps) + 1), "-o", "openmetrics") as p:
        for step in (*([] if "-r" in args else [lambda: None]), *steps):  # the first sample of -r comes immediately
            check(p.sleep(), "the program has ended")
            step()
            p.wake()
        check(not p.sleep(), "the program continues")
    return exposed(p.out)


BUSY, TOTAL = ('gpustat_engine_busy_%s{dev="card0",engine="render"}' % x for x in ("ratio", "seconds_total"))


@test("the total and the rate of a device from the kernel are not replaced by sums of its clients")
def _(m):
    dev = m.device("v3d", files={"gpu_stats": V3D.format(10 * 10 ** 9)})
    fd = m.fd(10, 5, kit.machine.dump("v3d", 7, "drm-engine-render: \t1000000000 ns"))

    def state(word):
        kit.rewrite(m.path(dev, "power/runtime_status"), word.encode() + b"\n")

    def works():  # busy half of the time by the counter of the device, idle by that of its clients
        kit.rewrite(m.path(dev, "gpu_stats"), V3D.format(10100000000).encode())

    def still():  # the opposite
        kit.rewrite(fd, kit.machine.dump("v3d", 7, "drm-engine-render: \t1100000000 ns").encode())

    got = exposures(m, [], [works, still, lambda: state("suspended"), lambda: state("active")])
    eq([s.get(TOTAL) for s in got], [10, 10.1, 10.1, None, 10.1], "totals")
    ratios = [s.get(BUSY) for s in got]
    eq(ratios[2:], [0, None, 0], "ratios of a device that is idle, suspended, and idle again")
    kit.machine.near(ratios[1], 0.5, 0.001, "ratio")


@test("totals printed with rates equal those of -r, and never decrease when clients appear or exit")
def _(m):
    m.device("i915", kit.machine.I915)
    text = lambda c, v: kit.machine.dump("i915", c, *kit.machine.ns(render=v), pdev=kit.machine.I915)  # noqa: E731
    a = m.fd(10, 5, text(7, 3 * 10 ** 9))
    for args in ([], ["-r"]):
        got, = exposed(ours([*args, "-w", "0.05"][:None if not args else 1] + m.roots(), "openmetrics"))
        eq(got[TOTAL], 3, f"{args}: total of a single sample")
    m.process(20)
    m.fd(20, 5, text(8, 10 ** 9))
    got = exposures(m, [], [lambda: kit.rewrite(a, text(7, 4 * 10 ** 9).encode()), lambda: m.gone(10),
                            lambda: (m.process(30), m.fd(30, 5, text(9, 5 * 10 ** 8))), lambda: m.gone(20)])
    eq([s.get(TOTAL) for s in got], [4, 5, 5, 5.5, 5.5], "totals of a run")
    raw = exposures(m, ["-r"], [lambda: (m.process(40), m.fd(40, 5, text(11, 10 ** 9)))])
    eq([s.get(TOTAL) for s in raw], [0.5, 1.5], "totals of a run with -r")
    for cmd, family in (("clients", "client"), ("cgroups", "cgroup")):
        live, = exposed(ours([cmd, "-w", "0.05", *m.roots()], "openmetrics"))
        once, = exposed(ours([cmd, "-r", *m.roots()], "openmetrics"))
        pick = lambda s: {k: v for k, v in s.items() if f"gpustat_{family}_engine_busy_seconds_total" in k}  # noqa: E731
        eq(pick(live), pick(once), cmd)
        check(pick(live), cmd)


@test("node_exporter reads devices and cgroups from two files: each series occurs once, with the written value")
def _(m):
    os.makedirs(m.path("textfile"))
    files = {}
    for name, cmd in (("gpustat.prom", []), ("gpustat-cgroups.prom", ["cgroups"])):
        path = m.path("textfile", name)
        for _ in range(2):  # the second time, each file is replaced
            r = kit.run([*cmd, "-r", "-o", "prom", "-O", path, *kit.roots("mixed")])
            eq((r.code, r.out, r.err), (0, b"", b""), "exit code, output, messages")
        eq(os.stat(path).st_mode & 0o777, 0o644, "mode")
        with open(path, "rb") as f:
            files[name] = f.read()
    eq(sorted(os.listdir(m.path("textfile"))), sorted(files), "files")
    # Both files contain series about gpustat itself, but must not contain the same series.
    mine = check_scrape(m, files)
    check(any(n == "gpustat_engine_busy_seconds_total" for n, _ in mine), "the engine time is missing")
    check(any(n == "gpustat_cgroup_engine_busy_seconds_total" for n, _ in mine), "the engine time of cgroups is missing")


@test("node_exporter reads every kind of record, with rates and totals")
def _(m):
    for kind, args in kit.commands().items():
        if kind in ("device", "client", "cgroup", "event", "counter", "oa", "fdinfo", "host"):
            check_scrape(m, {"gpustat.prom": ours(args, "prom")})
            os.remove(m.path("textfile", "gpustat.prom"))


HOSTILE = [b'a"b', b"back\\slash", b"new\nline", b"\xff\xfe raw", b"tab\there", b"\x1b[31mred", b"{x=\"y\"} 1", b"# EOF",
           b"\\n", b"trail\\", b" ", "grün".encode(), b"a,b=c", b"\x7f"]


def hostile(m):
    m.device("i915", kit.machine.I915)
    for i, name in enumerate(HOSTILE):
        m.process(10 + i, name, 1000 + i)
        m.fd(10 + i, 5, kit.machine.dump("i915", 7 + i, *kit.machine.ns(render=10 ** 9 * (i + 1)), pdev=kit.machine.I915))
    return m.roots()


@test("process names with special characters are read by promtool and node_exporter")
def _(m):
    out = ours(["clients", "-r", *hostile(m)], "prom")
    eq(promtool(out), (0, ""), "promtool")
    mine = check_scrape(m, {"gpustat.prom": out})
    comms = {dict(k[1])["comm"]: v for k, v in mine.items() if k[0] == "gpustat_client_engine_busy_seconds_total"}
    eq(len(comms), len(HOSTILE), f"clients by name: {sorted(comms)}")
    for i, name in enumerate(HOSTILE):
        if name.isascii() and name.decode().isprintable():
            eq(comms.get(name.decode()), float(i + 1), f"value of {name!r}")


@takes("openmetrics")
def _(kind, args):
    """accepted by the parser of prometheus' client library, with the values of prom"""
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
    except ImportError:
        raise Skip("python3-prometheus-client is missing (package)") from None
    text = ours(args, "openmetrics").decode()
    check(text.endswith("\n# EOF\n") and text.count("# EOF") == 1 and "\n\n" not in text, f"{kind}: wrong end of the output")
    got = {}
    for fam in parse(text):
        check(fam.samples and fam.documentation, f"{kind}: {fam.name} has no sample, or no HELP")
        check(fam.type in ("counter", "gauge", "info"), f"{kind}: {fam.name} is {fam.type}")
        check(not fam.unit or fam.name.endswith("_" + fam.unit), f"{kind}: unit of {fam.name}")
        for s in fam.samples:
            check(s.timestamp is None, "a timestamp")
            got[kit.key(s.name, s.labels)] = s.value
    check(got, f"{kind}: no series")
    if kind in ("sample", "profile"):
        return  # the samples are newer than those of the other output
    same = Exposition(ours(args, "prom")).values()
    eq(sorted(set(got) ^ set(same))[:3], [], f"{kind}: series in only one of the two outputs")
    for k in got:
        check("_self_" in k[0] or kind in ("event", "counter", "host") or got[k] == same[k],
              f"{kind}: {k}: {got[k]} and {same[k]}")


# --- the fleet ------------------------------------------------------------------------------------

def ip(*args):
    return subprocess.run([kit.tool("ip", "iproute2"), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60, check=False)


class Fleet:
    """Three network namespaces: p, and a and b, which are connected to p by virtual cables. They
    are removed by name."""

    def __init__(self):
        self.names = {k: f"gpustat-{os.getpid()}-{k}" for k in "pab"}

    def must(self, *args):
        r = ip(*args)
        if r.returncode:
            raise Skip(f"no network namespace: ip {' '.join(args)}: {r.stdout.decode().strip()}")

    def __enter__(self):
        kit.machine.as_root()
        try:
            for n in self.names.values():
                self.must("netns", "add", n)
                self.must("-n", n, "link", "set", "lo", "up")
            for i, k in enumerate("ab"):
                p, other = self.names["p"], self.names[k]
                self.must("-n", p, "link", "add", f"to-{k}", "type", "veth", "peer", "name", "up0", "netns", other)
                for ns, link, at in ((p, f"to-{k}", 1), (other, "up0", 2)):
                    self.must("-n", ns, "addr", "add", f"10.99.{i}.{at}/24", "dev", link)
                    self.must("-n", ns, "link", "set", link, "up")
            r = ip("netns", "exec", self.names["p"], "true")
            if r.returncode:
                raise Skip(f"no network namespace can be entered: {r.stdout.decode().strip()}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for n in self.names.values():
            ip("netns", "del", n)

    def inside(self, k):
        return [kit.tool("ip", "iproute2"), "netns", "exec", self.names[k]]

    def query(self, port, text):
        code = ("import sys,urllib.parse,urllib.request;print(urllib.request.urlopen('http://127.0.0.1:%s/api/v1/query?'"
                " %% sys.argv[1] + urllib.parse.urlencode({'query': sys.argv[2]}), timeout=60).read().decode())" % "%s")
        p = subprocess.run([*self.inside("p"), "python3", "-c", code.replace("%%", "%"), str(port), text],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        if p.returncode:
            raise OSError(p.stderr.decode()[-200:])
        return [(r["metric"], Decimal(r["value"][1])) for r in json.loads(p.stdout)["data"]["result"]]

    def one(self, port, text):
        got = self.query(port, text)
        eq(len(got), 1, f"answers to {text}")
        return got[0][1]


def prometheus(m, targets, port, wrap=(), static=(), rules=()):
    configs = [{"targets": targets}, *static]
    conf = m.write("prometheus.yml", "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
                   f"rule_files: {json.dumps(list(rules))}\nscrape_configs:\n"
                   f"- {{job_name: gpus, static_configs: {json.dumps(configs)}}}\n")
    return Daemon(m, *wrap, kit.tool("prometheus", "prometheus"), f"--config.file={conf}",
                  f"--storage.tsdb.path={m.path('tsdb')}", f"--web.listen-address=127.0.0.1:{port}",
                  "--storage.tsdb.retention.time=1h", name="prometheus")


@test("a prometheus with two node_exporters in separate namespaces, each with data of a gpustat, sums the fleet", slow=True)
def _(m):
    for t in (EXPORTER, ("prometheus", "prometheus"), ("ip", "iproute2")):
        kit.tool(*t)
    trees, shares = {"a": "i915-dgpu", "b": "i915"}, {"a": 0.25, "b": 0.125}
    boxes, procs, movers = {}, [], []
    for k, tree in trees.items():
        os.makedirs(m.path(k, "textfile"))
        for d in ("proc", "sys"):
            shutil.copytree(os.path.join(kit.TREES, tree, d), m.path(k, d), symlinks=True)
        boxes[k] = type("Box", (), {"proc": m.path(k, "proc"), "sys": m.path(k, "sys"),
                                    "roots": lambda s: ["--proc", s.proc, "--sys", s.sys]})()
    with Fleet() as net:
        port = free_port()
        daemons = [scraper(m, m.path(k, "textfile"), 9100, f"10.99.{i}.2", net.inside(k)) for i, k in enumerate("ab")]
        daemons.append(prometheus(m, ["10.99.0.2:9100", "10.99.1.2:9100"], port, net.inside("p")))
        try:
            for k in trees:
                procs.append(subprocess.Popen([*net.inside(k), kit.machine.PROG, "-o", "prom", "-O",
                                               m.path(k, "textfile", "gpustat.prom"), *boxes[k].roots(), "0.5"]))
            prom = daemons[-1]
            prom.until(lambda: net.one(port, "count(up == 1)") == 2, "both exporters up")
            busy = "sum(gpustat_engine_busy_seconds_total)"
            prom.until(lambda: net.one(port, "count(count by (instance) (gpustat_engine_busy_seconds_total))") == 2,
                       "engine time of both machines")
            still = net.one(port, busy)
            movers += [Mover(boxes[k], shares[k]) for k in trees]
            prom.until(lambda: time.monotonic() - movers[0].begun > 7.5, "seven seconds")
            # the engines of each client are busy for the share of its machine
            want = sum(Decimal(str(shares[k])) * clients(boxes[k]) for k in trees)
            rate = net.one(port, "sum(rate(gpustat_engine_busy_seconds_total[5s]))")
            # on a busy machine, rates over some seconds are not exact; the sum below is
            check(want / 2 <= rate <= want * 2, f"rate: got {rate}, want {want}")
            ratio = net.one(port, "sum(avg_over_time(gpustat_engine_busy_ratio[4s]))")
            want = sum(Decimal(str(shares[k])) * capacity(boxes[k]) for k in trees)
            check(want / 2 <= ratio <= want * 2, f"ratio: got {ratio}, want {want}")
            for x in movers:
                x.stop()
            added = sum(Decimal(x.added) / 10 ** 9 * clients(boxes[k]) for k, x in zip(trees, movers))
            prom.until(lambda: abs(net.one(port, busy) - still - added) < Decimal("1e-6"),
                       f"the exact sum {still} + {added}")
            prom.until(lambda: net.one(port, "sum(gpustat_engine_busy_ratio)") == 0, "rest")
            recs = [r for k in trees for r in kit.exact(ours(["-r", *boxes[k].roots()], "json"))]
            eq(net.one(port, "count(gpustat_engine_busy_seconds_total)"),
               sum(1 for r in recs for e in r["engine"].values() if e.get("busy_ns") is not None), "series")
            eq(net.one(port, "sum(gpustat_memory_resident_bytes)"),
               sum(e.get("resident") or 0 for r in recs for e in r["memory"].values()), "resident")
            eq(net.one(port, "count(gpustat_device_info)"), len(recs), "devices")
            eq(net.one(port, "max(max_over_time(node_textfile_scrape_error[1m]))"), 0, "scrape errors at any time")
            for p in procs:
                eq(p.poll(), None, "a gpustat process has ended")
        finally:
            for x in movers:
                x.on = False
            for p in procs:
                kit.interrupt(p, signal.SIGTERM)
            for d in daemons:
                d.__exit__()


def clients(box):
    """Returns the number of (client, engine) pairs with engine time."""
    recs = kit.exact(ours(["clients", "-r", *box.roots()], "json"))
    return sum(1 for r in recs for e in r["engine"].values() if e.get("busy_ns") is not None)


def capacity(box):
    """Returns the sum of 1 / capacity over (client, engine), which is the sum of the ratios at full
    load."""
    recs = kit.exact(ours(["clients", "-r", *box.roots()], "json"))
    per = {}
    for r in recs:
        for n, e in r["engine"].items():
            if e.get("busy_ns") is not None:
                per.setdefault((r["dev"], n), []).append(1 / (e.get("capacity") or Decimal(1)))
    return sum(sum(v) for v in per.values())


# --- socket activation ----------------------------------------------------------------------------

@test("prometheus scrapes `-o openmetrics --http` through systemd's socket activation", slow=True)
def _(m):
    kit.settle(m, "amdgpu")
    want = {dict(k[1])["sensor"]: Decimal(v) for k, v in Exposition(ours(["-r", *m.roots()], "prom")).series.items()
            if k[0] == "gpustat_temp_celsius"}
    check(want, "no temperature")
    for how in ([], ["--inetd"]):  # descriptor 3 and $LISTEN_FDS; standard input
        port, web = free_port(), free_port()
        with Daemon(m, kit.tool("systemd-socket-activate", "systemd"), "--accept", *how, "-l", f"127.0.0.1:{port}",
                    kit.machine.PROG, "-o", "openmetrics", "--http", "-w", "0.05", *m.roots()) as s:
            s.listens(port)
            status, body = kit.fetch(f"http://127.0.0.1:{port}/metrics")
            eq(status, 200, f"{how}: status")
            check(body.endswith(b"# EOF\n"), f"{how}: wrong end of {body[-80:]!r}")
            with prometheus(m, [f"127.0.0.1:{port}"], web) as p:
                p.until(lambda: kit.query(web, "up")[0][1] == 1, "up")
                got = p.until(lambda: kit.query(web, "gpustat_temp_celsius"), "a sample")
                eq({x["sensor"]: v for x, v in got}, want, f"{how}: temperatures")
            shutil.rmtree(m.path("tsdb"))


# --- rules and dashboard --------------------------------------------------------------------------

CONTRIB = os.path.join(os.path.dirname(kit.HERE), "..", "contrib")
# Sums over engines, which exceed 1 if a client keeps several busy.
BEYOND_ONE = {"Busiest clients", "Busiest cgroups"}


class Served:
    """Serves over HTTP the output of contrib's timer, for the machine given by ?tree=, with its
    clients and cgroups."""

    def __init__(self, m, machines):
        def text(tree):
            return b"".join(ours([*c, "-q", "-r", "--state", m.path(f"{tree}.{'.'.join(c)}"), *machines[tree]], "prom")
                            for c in ([], ["clients"], ["cgroups"]))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = text(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["tree"][0])
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@test("a prometheus with gpustat's rules and metrics has data for each panel of the dashboard", slow=True)
def _(m):
    with open(os.path.join(CONTRIB, "grafana/gpustat.json"), encoding="utf-8") as f:
        board = json.load(f)
    machines = {n: kit.roots(n) for n in ("amdgpu", "i915-dgpu", "xe")}
    machines["moving"] = kit.settle(m, "mixed").roots()
    os.makedirs(m.path("textfile"))
    with open(m.path("textfile", "gpustat.prom"), "wb") as f:
        f.write(ours(["-r", *kit.roots("v3d")], "prom"))
    port, node = free_port(), free_port()
    with Served(m, machines) as web, scraper(m, m.path("textfile"), node):
        static = [{"targets": [f"127.0.0.1:{web.port}"], "labels": {"instance": n, "__param_tree": n}} for n in machines]
        mover = Mover(m, 0.5)
        try:
            with prometheus(m, [f"127.0.0.1:{node}"], port, static=static,
                            rules=[os.path.realpath(os.path.join(CONTRIB, "prometheus/gpustat.rules.yml"))]) as p:
                p.until(lambda: kit.query(port, "min_over_time(count(up == 1)[4s:1s])")[0][1] == 5, "all exporters are up for some seconds")
                p.until(lambda: kit.query(port, 'gpustat:device_busy:ratio{instance="moving",dev="card0"}')[0][1] > 0, "a rate")
                for panel in (x for x in board["panels"] if x["type"] != "row"):
                    for target in panel["targets"]:
                        panel_answers(p, port, panel, target)
                _, body = kit.fetch(f"http://127.0.0.1:{port}/api/v1/rules")
                rules = [r for g in json.loads(body)["data"]["groups"] for r in g["rules"]]
                eq([r["name"] for r in rules if r["health"] != "ok"], [], "rules with errors")
                for r in rules:
                    if r["type"] == "recording":
                        check(kit.query(port, r["name"]), f"{r['name']} has no value")
        finally:
            mover.stop()


def panel_answers(p, port, panel, target):
    """Checks that there is an answer, with the labels of the legend and values in the limits of the
    unit and panel."""
    expr = re.sub(r"\$(job|instance|dev)\b", ".*", target["expr"])
    what = f"{panel['title']}: {expr}"
    got = p.until(lambda: kit.query(port, expr), what)
    shown = panel["fieldConfig"]["defaults"]
    for labels, v in got:
        for name in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
            check(labels.get(name), f"{what}: label {name} is missing in {labels}")
        check(v >= 0, f"{what}: {v}")
        check(shown["unit"] != "percentunit" or v <= 1 or panel["title"] in BEYOND_ONE, f"{what}: {v}")
        check(v <= shown.get("max", v), f"{what}: {v} exceeds the limit of the panel")
    lines = [tuple(labels.get(n) for n in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
             for labels, _ in got]
    check(len(set(lines)) == len(lines) or panel["type"] != "timeseries", f"{what}: lines with the same legend")
