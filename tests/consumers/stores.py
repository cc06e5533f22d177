"""influxd, collectd, carbon-cache, a statsd, telegraf's execd. SPDX-License-Identifier: MIT"""
import csv
import json
import os
import re
import select
import signal
import socket
import subprocess
import time
import urllib.parse
from decimal import Decimal

import kit
from kit import Daemon, Skip, check, eq, free_port, ours, takes, test

# --- influx line protocol -------------------------------------------------------------------------

PART = r'(?:[^\\,= \n"]|\\[,= ]|\\(?![,= \n])|")+'
TAGS = re.compile(rf"(?P<m>(?:[^\\, \n]|\\.)+)(?P<tags>(?:,{PART}={PART})*) ")
FIELD = re.compile(r'((?:[^\\,= \n]|\\.)+)=(?:"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"|([^",\s]+))')


def tag(s):
    return re.sub(r"\\([,= ])", r"\1", s)


def influx(out):
    """Parses line protocol strictly. Returns [(measurement, tags, fields, ns)]."""
    points = []
    text = out.decode("utf-8")
    check(text == "" or text.endswith("\n"), "no final newline")
    for line in text.split("\n")[:-1]:
        x = TAGS.match(line)
        check(x and "\r" not in line, f"not line protocol: {line!r}")
        pairs = re.findall(rf",({PART})=({PART})", x["tags"])
        keys = [tag(k) for k, _ in pairs]
        eq(keys, sorted(set(keys)), f"tags sorted, each once: {line!r}")
        check("time" not in keys and all(not v.endswith("\\") for _, v in pairs), f"tags of {line!r}")
        i, fields = x.end(), {}
        while True:
            f = FIELD.match(line, i)
            check(f, f"fields of {line!r} at {line[i:i + 40]!r}")
            k = tag(f[1])
            check(k not in fields and k != "time" and k not in keys, f"field {k} twice, or a tag: {line!r}")
            if f[3] is None:
                fields[k] = f[2].replace('\\"', '"').replace("\\\\", "\\")
            elif f[3].endswith("i"):
                fields[k] = int(f[3][:-1])
                check(-2 ** 63 <= fields[k] < 2 ** 63, f"exceeds int64: {line!r}")
            else:
                check(re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false", f[3]), f"value of {line!r}")
                fields[k] = f[3] == "true" if f[3][0] in "tf" else float(f[3])
            i = f.end()
            if line[i:i + 1] != ",":
                break
            i += 1
        stamp = re.fullmatch(r"(?: (\d+))?", line[i:])
        check(stamp, f"time of {line!r}")
        if stamp[1]:
            check(10 ** 18 < int(stamp[1]) < 10 ** 19, f"not in ns: {line!r}")
        points.append((tag(x["m"]), {tag(k): tag(v) for k, v in pairs}, fields, int(stamp[1]) if stamp[1] else None))
    return points


class Influx(Daemon):
    def __init__(self, m):
        self.port, rpc = free_port(), free_port()
        conf = m.write("influxdb.conf", f"""reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
dir = "{m.path('influx/meta')}"
[data]
dir = "{m.path('influx/data')}"
wal-dir = "{m.path('influx/wal')}"
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:{self.port}"
log-enabled = false
""")
        super().__init__(m, kit.tool("influxd", "influxdb"), "-config", conf)
        try:
            self.until(lambda: kit.fetch(f"http://127.0.0.1:{self.port}/ping")[0] == 204, "influxd")
        except BaseException:
            self.__exit__()
            raise

    def ask(self, text, db=""):
        url = f"http://127.0.0.1:{self.port}/query?" + urllib.parse.urlencode({"q": text, "db": db, "epoch": "ns"})
        status, body = kit.fetch(url, b"")
        eq(status, 200, f"{text}: {body!r}")
        return json.loads(body, parse_float=float)["results"][0].get("series", [])

    def write(self, db, out):
        return kit.fetch(f"http://127.0.0.1:{self.port}/write?db={db}", out)

    def points(self, db):
        """Returns all points in the database, in the form of influx()."""
        got, names = [], [n for s in self.ask("SHOW MEASUREMENTS", db) for n, in s["values"]]
        for s in (s for n in names for s in self.ask(f'SELECT * FROM "{n}" GROUP BY *', db)):
            for row in s["values"]:
                d = dict(zip(s["columns"], row))
                ns = d.pop("time")
                got.append((s["name"], {k: v for k, v in s["tags"].items() if v},
                            {k: v for k, v in d.items() if v is not None}, ns))
        return got


def canonical(points):
    return sorted((n, sorted(t.items()), sorted((k, float(v) if isinstance(v, int) and not isinstance(v, bool) else v)
                                                for k, v in f.items()), ns) for n, t, f, ns in points)


@takes("influx")
def _(kind, args):
    """conforming to the grammar of line protocol"""
    check(influx(ours(args, "influx")), f"{kind}: no point")


@test("influxd accepts every kind of record (204) and returns each value", slow=True)
def _(m):
    with Influx(m) as d:
        for i, (kind, args) in enumerate(kit.commands().items()):
            out = ours(args, "influx")
            points = influx(out)
            db = f"db{i}"
            d.ask(f"CREATE DATABASE {db}")
            eq(d.write(db, out), (204, b""), f"{kind}: /write")
            got = d.points(db)
            if points[0][3] is None:  # without a time, influxd sets the time of the arrival
                points, got = ([(*p[:3], None) for p in x] for x in (points, got))
            if kind == "sample":
                continue  # several points in one microsecond become one
            eq(len(got), len(points), f"{kind}: number of points")
            for g, w in zip(canonical(got), canonical(points)):
                eq(g, w, kind)


@test("influxd: the type of each field is the same in all samples and on all machines", slow=True)
def _(m):
    kit.settle(m, "i915")
    with Influx(m) as d:
        d.ask("CREATE DATABASE fleet")
        mover = kit.Mover(m, 0.3)
        try:
            for cmd in ([], ["clients"], ["cgroups"]):
                for more in (["0.1", "4"], ["-r"]):
                    eq(d.write("fleet", ours([*cmd, *more, *m.roots()], "influx")), (204, b""), f"{cmd} {more}")
        finally:
            mover.stop()
        for tree in kit.NAMES:
            if tree != "host":
                for args in (["-w", "0.02"], ["-r"], ["clients", "-w", "0.02"]):
                    eq(d.write("fleet", ours([*args, *kit.roots(tree)], "influx")), (204, b""), f"{tree} {args}")
        for s in d.ask("SHOW FIELD KEYS", "fleet"):
            names = [row[0] for row in s["values"]]
            eq(len(names), len(set(names)), f"types of {s['name']}'s fields: {s['values']}")


@test("influx: influxd returns names with special characters unchanged")
def _(m):
    import prom
    roots = prom.hostile(m)
    out = ours(["clients", "-r", *roots], "influx")
    points = influx(out)
    with Influx(m) as d:
        d.ask("CREATE DATABASE h")
        eq(d.write("h", out), (204, b""), "/write")
        eq(canonical(d.points("h")), canonical(points), "points")
    comms = {t["comm"] for _, t, _, _ in points if "comm" in t}
    for name in prom.HOSTILE:
        if name.isascii() and name.decode().isprintable() and not name.endswith(b"\\") and name.strip():
            check(name.decode() in comms, f"{name!r} is not among {sorted(comms)}")


@test("telegraf's execd: each newline on stdin gives one batch, and the end of input ends the program")
def _(m):
    kit.settle(m, "i915")
    p = subprocess.Popen([kit.machine.PROG, "-o", "influx", "--on-stdin", *m.roots()], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def batch(wait):
        got = b""
        while select.select([p.stdout], [], [], wait if not got else 0.3)[0]:
            more = os.read(p.stdout.fileno(), 1 << 16)
            if not more:
                break
            got += more
        return got
    try:
        eq(batch(0.6), b"", "output before the first request")
        sizes, stamps = set(), []
        for _ in range(3):
            p.stdin.write(b"\n")
            p.stdin.flush()
            points = influx(batch(5))
            check(points, "the batch is empty")
            sizes.add(len(points))
            stamps.append(points[0][3])
            eq(batch(0.4), b"", "output without a request")
        eq(len(sizes), 1, f"points of each batch: {sizes}")
        check(None in stamps or stamps == sorted(set(stamps)), f"times {stamps}")
        p.stdin.close()
        eq(p.wait(timeout=60), 0, "exit code")
        eq(p.stderr.read(), b"", "messages")
    finally:
        kit.interrupt(p, signal.SIGKILL)
        p.stdout.close()
        p.stderr.close()


# --- collectd -------------------------------------------------------------------------------------

PUTVAL = re.compile(r'PUTVAL (?:"((?:[^"\\]|\\["\\])+)"|(\S+))(?: interval=([\d.]+))? (N|[\d.]+):(\S+)')
LIMITS = {"percent": (0, 100.1)}


def putvals(out):
    got = []
    for line in out.decode("utf-8").split("\n")[:-1]:
        x = PUTVAL.fullmatch(line)
        check(x, f"not a PUTVAL line: {line!r}")
        ident = re.sub(r'\\(["\\])', r"\1", x[1] or x[2])
        parts = ident.split("/", 2)
        check(len(parts) == 3 and all(0 < len(p.encode()) <= 127 for p in parts), f"identifier {ident!r}")
        kind = parts[2].split("-", 1)[0]
        if kind in LIMITS and x[5] not in ("U", "nan"):
            low, high = LIMITS[kind]
            check(low <= float(x[5]) <= high, f"{ident}: {x[5]}")
        if kind == "derive":
            check(re.fullmatch(r"-?\d+|U", x[5]), f"a derive value that is not an integer: {line!r}")
        got.append((ident, x[3], x[5]))
    return got


@takes("collectd")
def _(kind, args):
    """PUTVAL lines have types of types.db, and host and interval of the environment"""
    kit.tool("collectd", "collectd-core")
    with open("/usr/share/collectd/types.db", encoding="utf-8") as f:
        known = {line.split()[0] for line in f if line.strip() and line[0] != "#"}
    got = putvals(ours(args, "collectd", env={**os.environ, "COLLECTD_HOSTNAME": "box.example"}))
    check(got, f"{kind}: no value")
    for ident, _, _ in got:
        host, plugin, type_ = ident.split("/", 2)
        eq(host, "box.example", f"{kind}: host")
        check(plugin.startswith("gpustat"), f"{kind}: plugin {plugin}")
        check(type_.split("-", 1)[0] in known, f"{kind}: {ident}: type not in types.db")
    idents = [i for i, _, _ in got]
    check(kind == "sample" or len(idents) == len(set(idents)), f"{kind}: a duplicate identifier")


@test("collectd: $COLLECTD_INTERVAL sets the interval, and is printed")
def _(m):
    kit.settle(m, "amdgpu")
    env = {**os.environ, "COLLECTD_HOSTNAME": "box", "COLLECTD_INTERVAL": "0.2"}
    with m.driven("-o", "collectd", env=env) as p:
        dues = []
        for _ in range(5):
            check(p.sleep(), "the program has ended")
            dues.append(p.due)
            p.wake()
        p.sleep()
        os.kill(p.pid, signal.SIGTERM)
        p.to_end()
    got = putvals(p.out)
    eq({float(i) for _, i, _ in got}, {0.2}, "interval=")
    eq(sum(1 for ident, _, _ in got if ident == got[0][0]), 5, "samples")
    eq(kit.machine.on_grid(dues, 0.2), list(range(5)), "times of the samples")


@test("collectd runs gpustat as its exec plugin, not as root, and its csv plugin writes gpustat's values", slow=True)
def _(m):
    exe = kit.tool("collectd", "collectd-core")
    kit.machine.as_root()
    kit.settle(m, "amdgpu")
    want = {i.split("/", 2)[2]: v for i, _, v in putvals(ours(["-w", "0.05", *m.roots()], "collectd"))}
    os.makedirs(m.path("csv"))
    words = " ".join(f'"{w}"' for w in (kit.machine.PROG, "-o", "collectd", *m.roots()))
    conf = m.write("collectd.conf", f"""Hostname "box"
FQDNLookup false
Interval 1
BaseDir "{m.base}"
PIDFile "{m.path('collectd.pid')}"
PluginDir "/usr/lib/collectd"
TypesDB "/usr/share/collectd/types.db"
LoadPlugin logfile
LoadPlugin exec
LoadPlugin csv
<Plugin logfile>
  LogLevel info
  File "{m.path('plugin.log')}"
</Plugin>
<Plugin exec>
  Exec "nobody:nogroup" {words}
</Plugin>
<Plugin csv>
  DataDir "{m.path('csv')}"
</Plugin>
""")

    def values():
        got = {}
        for folder, _, files in os.walk(m.path("csv", "box")):
            for f in files:
                with open(os.path.join(folder, f), encoding="utf-8") as h:
                    rows = list(csv.reader(h))[1:]
                # NAME-2026-11-22
                got.setdefault(f[:-11], []).extend(rows)
        return got
    with Daemon(m, exe, "-f", "-C", conf) as d:
        d.until(lambda: (g := values()) and set(want) <= set(g) and all(len(g[k]) >= 3 for k in want),
                f"three values for each of {len(want)} identifiers", 20)
        with open(m.path("plugin.log"), encoding="utf-8") as f:
            bad = [x for x in f if re.search(r"error|warn|fail|unknown|exec plugin", x, re.I)]
        eq(bad[:3], [], "collectd's log")
    for k, v in want.items():
        rows = [Decimal(r[1]) for r in values()[k] if r[1] != "nan"]
        check(all(abs(x - Decimal(v)) <= abs(Decimal(v)) * Decimal("1e-6") for x in rows) or "self" in k,
              f"{k}: {rows[:3]}, want {v}")


# --- graphite -------------------------------------------------------------------------------------

def graphite(out):
    got = {}
    text = out.decode("ascii")
    check(text == "" or text.endswith("\n"), "no final newline")
    for line in text.split("\n")[:-1]:
        x = re.fullmatch(r"([A-Za-z0-9_:%+#@~-]+(?:\.[A-Za-z0-9_:%+#@~-]+)+) (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) (\d{10}|-1)",
                         line)
        check(x, f"not plaintext protocol: {line!r}")
        check(all(0 < len(p) <= 255 for p in x[1].split(".")), f"a node of {x[1]}")
        got.setdefault((x[1], x[3]), []).append(float(x[2]))
    for k, v in got.items():
        check(len(v) == 1 or (".sample." in k[0] and v == sorted(v)), f"values of {k}: {v}")  # samples: cumulative sums
    return {(path, int(t)): v[-1] for (path, t), v in got.items()}


@takes("graphite")
def _(kind, args):
    """conforming to the plaintext protocol"""
    got = graphite(ours(args, "graphite"))
    check(got and all(p.startswith("gpustat.") for p, _ in got), f"{kind}: {sorted(got)[:2]}")


@test("graphite: names with special characters create no additional path level")
def _(m):
    import prom
    got = graphite(ours(["clients", "-r", *prom.hostile(m)], "graphite"))
    eq({p.count(".") for p, _ in got if p.endswith("busy_seconds_total")}.__len__(), 1, "depth of the paths")


class Carbon(Daemon):
    def __init__(self, m):
        exe = kit.tool("carbon-cache", "graphite-carbon")
        self.tcp, self.udp = free_port(), free_port(socket.SOCK_DGRAM)
        self.root = m.path("whisper")
        for d in ("whisper", "carbon/log", "carbon/run"):
            os.makedirs(m.path(d))
        m.write("carbon/storage-schemas.conf", "[all]\npattern = .*\nretentions = 1s:1h\n")
        m.write("carbon/storage-aggregation.conf", "[all]\npattern = .*\nxFilesFactor = 0\naggregationMethod = last\n")
        conf = m.write("carbon/carbon.conf", f"""[cache]
STORAGE_DIR = {m.path('carbon')}
CONF_DIR = {m.path('carbon')}
LOG_DIR = {m.path('carbon/log')}
PID_DIR = {m.path('carbon/run')}
LOCAL_DATA_DIR = {self.root}
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {self.tcp}
ENABLE_UDP_LISTENER = True
UDP_RECEIVER_INTERFACE = 127.0.0.1
UDP_RECEIVER_PORT = {self.udp}
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = {free_port()}
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {free_port()}
MAX_CREATES_PER_MINUTE = inf
MAX_UPDATES_PER_SECOND = 10000
ENABLE_LOGROTATION = False
USER =
""")
        super().__init__(m, exe, f"--config={conf}", "--nodaemon", "start")
        try:
            self.listens(self.tcp)
        except BaseException:
            self.__exit__()
            raise

    def value(self, path, at):
        """Returns the value of the .wsp file for that second; None if there is none."""
        import whisper
        f = os.path.join(self.root, *path.split(".")) + ".wsp"
        try:
            (start, _, step), values = whisper.fetch(f, at - 1, at + 1)
        except (FileNotFoundError, whisper.CorruptWhisperFile):  # carbon has not made it, or not written its header
            return None
        eq(step, 1, "step")
        got = dict(zip(range(start, start + len(values)), values))
        return got.get(at)

    def holds(self, want):
        def ready():
            for (path, t), v in want.items():
                got = self.value(path, t)
                check(got is not None and abs(got - v) <= abs(v) * 1e-12, f"{path} at {t}: {got}, want {v}")
            return True
        self.until(ready, f"{len(want)} values")


def need_whisper():
    try:
        import whisper  # noqa: F401
    except ImportError:
        raise Skip("python3-whisper is missing (package)") from None


@test("carbon-cache stores values piped to it over TCP: each is in its .wsp file", slow=True)
def _(m):
    need_whisper()
    with Carbon(m) as c:
        for kind in ("device", "client", "cgroup", "fdinfo", "event", "oa", "counter"):
            out = ours(kit.commands()[kind], "graphite")
            want = graphite(out)
            with socket.create_connection(("127.0.0.1", c.tcp)) as s:
                s.sendall(out)
            check(all(t > 0 for _, t in want), f"{kind}: a value without a time")
            c.holds(want)


@test("carbon-cache stores the values that `-O udp:` sends", slow=True)
def _(m):
    need_whisper()
    kit.settle(m, "amdgpu")
    want = graphite(ours(["-r", *m.roots()], "graphite"))
    with Carbon(m) as c:
        begun = int(time.time())
        r = kit.run(["-r", "-o", "graphite", "-O", f"udp:127.0.0.1:{c.udp}", *m.roots()])
        eq((r.code, r.out, r.err), (0, b"", b""), "exit code, output, messages")
        at = int(time.time())

        def ready():
            for (path, _), v in want.items():
                if "self" in path:
                    continue
                got = [c.value(path, t) for t in range(begun - 1, at + 2)]
                check(any(x is not None and abs(x - v) <= abs(v) * 1e-12 for x in got), f"{path}: {got}, want {v}")
            return True
        c.until(ready, f"{len(want)} values")


# --- statsd ---------------------------------------------------------------------------------------

STATSD = re.compile(r"([^:|@\s]+):([+-]?\d+(?:\.\d+)?)\|(g|c|ms)")


def statsd(out):
    """Returns the final value of each bucket."""
    got, text = {}, out.decode("ascii")
    for line in text.removesuffix("\n").split("\n"):
        x = STATSD.fullmatch(line)
        check(x, f"not a metric: {line!r}")
        check(x[2][0] not in "+-" or x[3] != "g" or got.get(x[1]) == 0, f"a signed value changes the gauge: {line!r}")
        got[x[1]] = float(x[2])
    return got


@takes("statsd")
def _(kind, args):
    """conforming to the grammar of statsd"""
    check(statsd(ours(args, "statsd")), f"{kind}: no metric")


@test("statsd: datagrams of at most 1432 bytes have complete, valid metrics, with the values of JSON")
def _(m):
    kit.settle(m, "amdgpu")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        s.settimeout(1)
        to = f"udp:127.0.0.1:{s.getsockname()[1]}"
        for cmd in ([], ["clients"]):
            args = [*cmd, "-w", "0.05", *m.roots()]
            r = kit.run([*args, "-o", "statsd", "-O", to])
            eq((r.code, r.out, r.err), (0, b"", b""), "exit code, output, messages")
            got = b""
            try:
                while True:
                    d = s.recv(65536)
                    check(0 < len(d) <= 1432, f"a datagram of {len(d)} bytes")
                    got += d.removesuffix(b"\n") + b"\n"
            except TimeoutError:
                pass
            check(got, "no datagram arrived")
            gauges, want = statsd(got), statsd(ours(args, "statsd"))
            eq(sorted(gauges), sorted(want), "buckets")
            eq({k: v for k, v in gauges.items() if "self" not in k},
               {k: v for k, v in want.items() if "self" not in k}, "values")
            if not cmd:
                recs = kit.exact(ours(args, "json"))
                for name, v in recs[0]["temp"].items():
                    eq([x for k, x in gauges.items() if f".temp.{name}." in k or k.endswith(f".temp.{name}.celsius")],
                       [float(v)], f"temperature {name} among {sorted(gauges)[:60]}")
