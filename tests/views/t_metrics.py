#!/usr/bin/env python3
# t_metrics.py PROG - formats for time series: prom, openmetrics, influx, graphite, statsd, collectd
# and kmsg, with every kind of record. They are checked by strict parsers written here, by promtool,
# and by the parsers of python3-prometheus-client. Prints TAP; exit 0 if all tests pass.
# SPDX-License-Identifier: MIT
import contextlib
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap  # noqa: E402

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREES = os.path.join(HERE, "trees")
PROG = os.path.abspath(sys.argv[1])
PROMTOOL = om_parser = prom_parser = None
if os.environ.get("PART") != "quick":  # a quick test must not depend on installed packages
    PROMTOOL = shutil.which("promtool")
    sys.path.append("/usr/lib/python3/dist-packages")  # for Debian's packages, if python3 is not Debian's
    with contextlib.suppress(ImportError):
        from prometheus_client import openmetrics, parser as prom_parser
        from prometheus_client.openmetrics import parser as om_parser


class Bad(Exception):
    pass


def need(ok, *what):
    if not ok:
        raise Bad(" ".join(str(w) for w in what))


def run(args, env=None, stdin=None, tree=None):
    where = ["--proc", f"{TREES}/{tree}/proc", "--sys", f"{TREES}/{tree}/sys"] if tree else []
    r = subprocess.run([PROG, *args, *where], capture_output=True, cwd=TREES, input=stdin,
                       env={**os.environ, **(env or {})})
    need(r.returncode == 0, args, "exit", r.returncode, r.stderr[:200])
    return r.stdout


# --- strict parsers of the formats ----------------------------------------------------------------

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?$")
NAME = re.compile(r"[a-z][a-z0-9_]*$")
LABEL = re.compile(r'([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
BASE = ("ratio", "seconds", "bytes", "celsius", "hertz", "volts", "watts", "joules", "amperes", "rpm", "transfers_per_second")


def text_of(data):
    need(all(c >= 32 and c != 127 or c == 10 for c in data), "control bytes")
    return data.decode("utf-8")


def labels_of(s):
    found = {}
    while s:
        m = LABEL.match(s)
        need(m, "labels", s)
        need(m[1] not in found and not m[1].startswith("__") and m[2] != "", "label", m[0])
        found[m[1]] = m[2]
        s = s[m.end():]
        need(s or m[3] == "", "a comma at the end of labels")
    return found


def exposition(data, om):
    """Parses one exposition: {(name, labels): value}. Families must be contiguous, headers must
    come before samples, and nothing may occur twice."""
    text = text_of(data)
    need(text == "" or text.endswith("\n"), "no newline at the end")
    lines = text.split("\n")[:-1]
    if om:
        need(lines and lines.pop() == "# EOF", "no # EOF")
    series, seen, head, family = {}, set(), {}, None
    for line in lines:
        need(line and line == line.rstrip(), "blank", repr(line))
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            need(word in ("HELP", "TYPE", "UNIT") and NAME.match(name) and rest, "header", line)
            if name != family:
                need(name not in seen, "the samples of a family are not contiguous", name)
                seen.add(name)
                family, head = name, {"samples": 0}
            need(word not in head and head["samples"] == 0, "a header that occurs twice or after samples", line)
            head[word] = rest
            if word == "HELP":
                need(not re.search(r'\\[^\\"]' if om else r"\\[^\\]", rest), "escape in", line)
            if word == "UNIT":
                need(om and name.endswith("_" + rest), "unit", line)
            if word == "TYPE":
                need(rest in (("counter", "gauge", "info") if om else ("counter", "gauge")), "type", line)
                need((rest == "counter" and not om) == name.endswith("_total"), "_total", line)
                need(om is False or not name.endswith("_info"), "_info", line)
            continue
        m = re.match(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)$", line)
        need(m and NUMBER.match(m[3]), "sample", line)
        kind = head.get("TYPE")
        need(kind and head.get("HELP"), "no header before", line)
        end = {"counter": "_total", "info": "_info"}.get(kind, "") if om else ""
        need(m[1] == family + end, "a sample of another family", line)
        key = (m[1], tuple(sorted(labels_of(m[2] or "").items())))
        need(key not in series, "twice:", line)
        need(kind != "counter" or float(m[3]) >= 0, "counter below 0", line)
        need(kind != "info" or m[3] == "1", "info", line)
        head["samples"] += 1
        series[key] = float(m[3])
    return series


def promtool(data):
    r = subprocess.run([PROMTOOL, "check", "metrics"], input=data, capture_output=True)
    need(r.returncode == 0, "promtool:", r.returncode, r.stdout + r.stderr)


def same_as_parser(series, families):
    theirs = {}
    for f in families:
        for s in f.samples:
            key = (s.name, tuple(sorted(s.labels.items())))
            need(key not in theirs and s.timestamp is None, "parser: a sample occurs twice or has a time", key)
            theirs[key] = s.value
    want = {(n, tuple((k, v.replace('\\"', '"').replace("\\\\", "\\")) for k, v in ls)): x for (n, ls), x in series.items()}
    need(theirs == want, "the parser reads different values", set(theirs.items()) ^ set(want.items()))


def check_prom(data, types):
    series = exposition(data, False)
    if prom_parser:
        same_as_parser(series, prom_parser.text_string_to_metric_families(data.decode()))
    if PROMTOOL:
        promtool(data)
    return series


def check_openmetrics(data, types):
    series = exposition(data, True)
    if om_parser:
        same_as_parser(series, om_parser.text_string_to_metric_families(data.decode()))
    return series


TAG = re.compile(r",([a-z_]+)=((?:[^, =\\]|\\.|\\)+?)(?=,[a-z_]+=| [a-z])")
FIELD = re.compile(r'([a-z][a-z0-9_]*)=("(?:[^"\\]|\\["\\])*"|-?[0-9]+(?:\.[0-9]+)?)(,|$| )')


def check_influx(data, types):
    points = {}
    for line in text_of(data).split("\n")[:-1]:
        m = re.match(r"gpustat(_[a-z_]+)?", line)
        need(m, line)
        measurement, at, tags = m[0], m.end(), []
        while line[at] == ",":
            t = TAG.match(line, at)
            need(t, "tag", line[at:])
            need(not t[2].endswith("\\") and t[1] != "time", "tag", t[0])
            tags.append(t[1])
            at = t.end()
        need(tags == sorted(set(tags)), "the tags are not sorted", line)
        need(line[at] == " ", "blank", line)
        at += 1
        names = []
        while True:
            f = FIELD.match(line, at)
            need(f, "field", line[at:])
            need(f[1] != "time" and f[1] not in names, "field twice", f[0])
            names.append(f[1])
            kind = types.setdefault((measurement, f[1]), f[2][0] == '"')
            need(kind == (f[2][0] == '"'), "a field has two types", line)
            if f[2][0] != '"':
                need(not math.isinf(float(f[2])), line)
            points[line[:line.index(f[1] + "=", at)], f[1]] = f[2]
            at = f.end()
            if f[3] != ",":
                break
        need(f[3] == "" or re.match(r"[0-9]{19}$", line[at:]), "time", line[at:])
        if f[3] == " ":
            need(abs(int(line[at:]) / 1e9 - time.time()) < 1000, "time", line)
    return points


def check_graphite(data, types):
    paths = {}
    for line in text_of(data).split("\n")[:-1]:
        words = line.split(" ")
        need(len(words) == 3 and NUMBER.match(words[1]) and re.match(r"[0-9]{10}$", words[2]), line)
        need(re.match(r"gpustat(\.[A-Za-z0-9_-]{1,255})+$", words[0]), "path", words[0])
        need(words[0] not in paths, "twice", words[0])
        paths[words[0]] = words[1]
    return paths


def check_statsd(data, types):
    paths, was = {}, None
    for line in text_of(data).split("\n")[:-1]:
        m = re.match(r"(gpustat(?:\.[A-Za-z0-9_-]{1,255})+):(-?[0-9]+(?:\.[0-9]+)?)\|([gc])$", line)
        need(m, line)
        need(not m[2].startswith("-") or was == f"{m[1]}:0|g", "no 0 before", line)
        need(m[1] not in paths or paths[m[1]] == "0", "twice", line)
        paths[m[1]], was = m[2], line
    return paths


TYPESDB = {"percent": (0, 100.1), "memory": (0, 2.0 ** 63), "frequency": (0, None), "temperature": (None, None),
           "power": (None, None), "energy": (None, None), "voltage": (None, None), "current": (None, None),
           "fanspeed": (0, None), "gauge": (None, None), "derive": (0, None)}


def check_collectd(data, types):
    ids = {}
    for line in text_of(data).split("\n")[:-1]:
        m = re.match(r'PUTVAL "([^/" ]+)/([^/" ]+)/([^/" ]+)"( interval=[0-9]+(?:\.[0-9]+)?)? N:(U|-?[0-9]+(?:\.[0-9]+)?)$', line)
        need(m, line)
        need(all(1 <= len(p) <= 127 for p in m.groups()[:3]), "a part of the name is too long", line)
        kind = m[3].split("-")[0]
        need(kind in TYPESDB, "no such type", line)
        low, high = TYPESDB[kind]
        if m[5] != "U":
            need(low is None or float(m[5]) >= low, "range", line)
            need(high is None or float(m[5]) <= high, "range", line)
            need(kind != "derive" or "." not in m[5], "derive", line)
        need(m.groups()[:3] not in ids, "twice", line)
        ids[m.groups()[:3]] = m[5]
    return ids


def check_kmsg(data, types):
    lines = data.split(b"\n")[:-1]
    need(data == b"" or data.endswith(b"\n"), "no newline at the end")
    for line in lines:
        need(line.startswith(b"<6>gpustat: ") and len(line) < 976, "a line of", len(line), line[:60])
        need(all(32 <= c < 127 for c in line), "not ASCII", line)
        rest = line[12:].decode()
        if rest.endswith(" ..."):
            need(len(line) > 500, "cut early", line)
            rest = rest[:-4]
        for part in rest.split(" | "):
            need(re.match(r'([A-Za-z0-9_.]+=("(?:[^"\\]|\\.)*"|[^ "=]+)( |$))+$', part), "logfmt", part)
    return lines


FORMATS = {"prom": check_prom, "openmetrics": check_openmetrics, "influx": check_influx, "graphite": check_graphite,
           "statsd": check_statsd, "collectd": check_collectd, "kmsg": check_kmsg}


LIVE = []  # checks that read this machine, use signals, or compare times with its clock


def live(check):
    LIVE.append(check)
    return check


def chosen(live):
    """True if the environment selects this part of the checks (PART in tests/machine.py)."""
    return os.environ.get("PART", "live" if live else "quick") == ("live" if live else "quick")


def attempt(name, check, *args):
    if not chosen(check in LIVE):
        return
    try:
        check(*args)
        tap.report(True, name)
    except Bad as e:
        tap.report(False, name, e)
    except Exception as e:
        tap.report(False, name, repr(e))


# --- all trees and kinds of records ---------------------------------------------------------------

def valid_records(fmt, check):
    """Checks devices, clients, cgroups and list of all trees, with and without -r; and dumps of fdinfo."""
    types, some = {}, 0
    for tree in sorted(os.listdir(TREES)):
        if not os.path.isdir(f"{TREES}/{tree}/sys"):
            continue
        for args in ([], ["-r"], ["clients"], ["clients", "-r"], ["procs"], ["procs", "-r"], ["cgroups"], ["cgroups", "-r"], ["list"]):
            if tree == "host":
                continue
            if args != ["list"] and "-r" not in args:
                args = args + ["-w", "10ms"]
            try:
                got = check(run([*args, "-o", fmt], tree=tree), types)
                some += len(got)
            except Bad as e:
                raise Bad(tree, *args, e)
        dumps = glob.glob(f"{TREES}/{tree}/proc/*/fdinfo/*")
        if dumps:
            r = subprocess.run([PROG, "fdinfo", "-o", fmt, *dumps], capture_output=True)
            some += len(check(r.stdout, types))
    need(some > 23 * 7 * (1 if fmt == "kmsg" else 20) / 2, "only", some, "values")


def valid_summaries(fmt, check):
    data = run(["-S", "-w", "10ms", "-o", fmt, "0.02", "2", "-f", "engine,temp,clients"], tree="amdgpu")
    if fmt in ("prom", "openmetrics"):
        parts = data.decode().split("# EOF\n") if fmt == "openmetrics" else re.split(r"(?=# HELP gpustat_clients )", data.decode())
        parts = [p for p in parts if p]
        need(len(parts) == 3, "expositions:", len(parts))
        series = check((parts[2] + ("# EOF\n" if fmt == "openmetrics" else "")).encode(), {})
        for stat in ("min", "avg", "max"):
            key = ("gpustat_temp_celsius", (("dev", "card0"), ("sensor", "edge"), ("stat", stat)))
            need(series.get(key) == 52, stat, series)
        need(not [k for k in series if k[0].endswith("_total")], "a summary has a mean of a total")
    elif fmt == "influx":
        check(data, {})
        need(b"gpustat_temp,dev=card0,sensor=edge,stat=avg celsius=52.0" in data, data)
    elif fmt == "graphite":
        need(re.search(rb"card0\.temp\.edge\.celsius\.avg 52\.0 ", data), data)


def valid_other_commands(fmt, check):
    """Checks counters, host and OA reports, which are records without devices."""
    types = {}
    check(run(["counters", "-o", fmt], tree="mixed"), types)
    check(run(["host", "-o", fmt, "-w", "20ms"], tree="mixed"), types)
    check(run(["host", "-o", fmt, "-w", "20ms", "-f", "memory/-/used,value"], tree="host"), types)
    for how in ("--totals", "--contexts", "--reports"):
        data = run(["oa", "--replay", "../oa/lnl.rec", how, "-o", fmt])
        if fmt == "influx":
            check(data, types)
        elif fmt == "openmetrics":
            parts = data.split(b"# EOF\n")
            need(parts.pop() == b"" and (len(parts) == 1) == (how == "--totals"), how, "has", len(parts), "expositions")
            for p in parts[:40]:
                need(check(p + b"# EOF\n", types), how, "has an empty exposition")
        elif fmt == "prom" and how == "--totals":
            need(len(check(data, types)) > 10, data)


@live
def valid_events(fmt, check):
    base = ["stat", "--log-fd", "1", "-e", "duration_time,task-clock,page-faults", "-o", fmt]
    need(check(run([*base, "--", "true"]), {}), "nothing")
    check(run([*base, "-A", "-C", "0", "-w", "10ms", "--raw"]), {})


@live
def valid_samples(fmt, check):
    work = ["--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"]
    base = ["sample", "--log-fd", "1", "-e", "cpu-clock:u", "-F", "500", "-o", fmt]
    # the other formats write one line per sample, and the lines of two samples can be equal
    if fmt in ("prom", "openmetrics", "kmsg"):
        got = check(run([*base, *work]), {})
        if fmt == "prom":
            n = sum(v for (name, _), v in got.items() if name == "gpustat_sample_samples_total")
            period = sum(v for (name, _), v in got.items() if name == "gpustat_sample_period_total")
            need(n >= 3 and period >= n * 1000000, n, period)
    need(check(run([*base, "--summary", *work]), {}), "nothing")


# --- values and properties ------------------------------------------------------------------------

def known_values():
    s = exposition(run(["-w", "10ms", "-o", "prom"], tree="amdgpu"), False)
    for name, labels, want in (
            ("gpustat_busy_ratio", {}, 0.37), ("gpustat_temp_celsius", {"sensor": "edge"}, 52),
            ("gpustat_power_watts", {"sensor": "PPT"}, 112), ("gpustat_vram_total_bytes", {}, 25753026560),
            ("gpustat_freq_cur_hertz", {"domain": "sclk"}, 2124e6), ("gpustat_throttle", {"reason": "ppt0"}, 1),
            ("gpustat_link_speed_transfers_per_second", {}, 16e9), ("gpustat_clients", {}, 5),
            ("gpustat_volt_volts", {"sensor": "vddgfx"}, 0.912), ("gpustat_fan_rpm", {"sensor": "fan1"}, 1480),
            ("gpustat_memory_purgeable_bytes", {"region": "gtt"}, 65536),
            ("gpustat_device_info", {"driver": "amdgpu", "pdev": "0000:03:00.0", "name": "1002:744c", "state": "active"}, 1)):
        got = s.get((name, tuple(sorted({"dev": "card0", **labels}.items()))))
        need(got == want, name, labels, got, want)
    need(s.get(("gpustat_unreadable_processes", ())) == 0 and s.get(("gpustat_dropped", ())) == 0, "gpustat_unreadable_processes and gpustat_dropped are not 0")
    need(s[("gpustat_self_cpu_seconds_total", ())] > 0, "itself")
    need(any(k[0] == "gpustat_engine_busy_ratio" for k in s) and any(k[0] == "gpustat_engine_busy_seconds_total" for k in s),
         "rates and totals in one sample")
    s = exposition(run(["-r", "-o", "prom"], tree="i915"), False)
    need(not [k for k in s if k[0] == "gpustat_engine_busy_ratio"], "rates under -r")
    s = exposition(run(["clients", "-r", "-o", "prom"], tree="amdgpu"), False)
    got = [v for (n, l), v in s.items() if n == "gpustat_client_engine_busy_seconds_total" and ("client", "143") in l and
           ("engine", "gfx") in l and ("comm", "firefox") in l]
    need(got == [19.291217545], got)


@live
def own_resources():
    s = exposition(run(["list", "-o", "prom"], tree="i915"), False)
    need(0 < s[("gpustat_self_cpu_seconds_total", ())] < 100, "CPU time of list")
    s = exposition(run(["host", "-o", "prom", "-w", "10ms"]), False)
    need(4096 < s[("gpustat_value_self_resident_bytes", ())] < 1 << 26, "resident")
    need(0 < s[("gpustat_value_self_cpu_seconds_total", ())] < 100, "CPU time of host")


@live
def source_states():
    """gpustat_source_ok is 1 if a source can be read, 0 if that is not permitted, and absent
    without the source."""
    r = subprocess.run([PROG, "doctor", "-o", "json", "--proc", "mixed/proc", "--sys", "mixed/sys"], capture_output=True, cwd=TREES)
    want = {d["source"]: {"ok": 1, "denied": 0, "absent": None}[d["status"]] for d in map(json.loads, r.stdout.splitlines())}
    need({1, None} <= set(want.values()), want)
    for fmt in FORMATS:
        r = subprocess.run([PROG, "doctor", "-o", fmt, "--proc", "mixed/proc", "--sys", "mixed/sys"], capture_output=True, cwd=TREES)
        need(len(FORMATS[fmt](r.stdout, {})) > 0, fmt, "has nothing")
        if fmt == "prom":
            got = {k[1][0][1]: v for k, v in exposition(r.stdout, False).items() if k[0] == "gpustat_source_ok"}
            need(got == {k: v for k, v in want.items() if v is not None}, got, want)


def only_fields():
    s = exposition(run(["-w", "10ms", "-o", "prom", "-f", "temp.edge,dt"], tree="amdgpu"), False)
    need({k[0] for k in s} == {"gpustat_temp_celsius", "gpustat_dt_seconds"}, s)
    data = run(["-w", "10ms", "-o", "graphite", "-f", "temp.edge"], tree="amdgpu")
    need(data.count(b"\n") == 1, data)
    data = run(["-w", "10ms", "-o", "kmsg", "-f", "temp.edge,dev"], tree="amdgpu")
    need(data == b"<6>gpustat: dev=card0 temp.edge=52.0\n", data)


def wrong_options():
    cases = [([*cmd, "-1"], b"-1 requires -o line or -o json", ()) for cmd in ([], ["clients"], ["cgroups"], ["list"], ["host"], ["counters"], ["doctor"])]
    cases += [(["-O", "udp:127.0.0.1:9"], b"requires -o statsd or -o graphite", ("statsd", "graphite")),
              (["-O", "/dev/kmsg"], b"requires -o kmsg", ("kmsg",))]
    for args, why, valid in cases:
        for fmt in set(FORMATS) - set(valid):
            r = subprocess.run([PROG, *args, "-o", fmt], capture_output=True)
            need(r.returncode == 2 and r.stdout == b"" and why in r.stderr, args, fmt, r)


def the_same_dump_twice():
    dump = sorted(glob.glob(f"{TREES}/amdgpu/proc/*/fdinfo/*"))
    r = subprocess.run([PROG, "fdinfo", "-o", "prom", *dump, *dump], capture_output=True)
    s = exposition(r.stdout, False)
    need(len({dict(k[1]).get("file") for k in s if "file" in dict(k[1])}) > 1, "no label for the file")


def collectd_names():
    env = {"COLLECTD_HOSTNAME": "web.example.org", "COLLECTD_INTERVAL": "10.000"}
    data = run(["-w", "10ms", "-o", "collectd", "-f", "temp.edge"], env=env, tree="amdgpu")
    need(data == b'PUTVAL "web.example.org/gpustat-card0/temperature-temp-edge" interval=10.0 N:52.0\n', data)
    data = run(["-w", "10ms", "-o", "graphite", "-f", "temp.edge"], env=env, tree="amdgpu")
    need(b"example" not in data, data)
    data = run(["-o", "collectd", "-f", "temp.edge,idle", "0.05", "1"], tree="amdgpu",
               env={"COLLECTD_HOSTNAME": "a/b c\n", "COLLECTD_INTERVAL": "x"})
    need(data == b'PUTVAL "a_b_c_/gpustat-card0/percent-idle" interval=0.05 N:U\n'
                 b'PUTVAL "a_b_c_/gpustat-card0/temperature-temp-edge" interval=0.05 N:52.0\n', data)


@live
def collectd_runs_until_stopped():
    """Without interval, count and window it runs until it is stopped, as the exec plugin of
    collectd requires."""
    env = {**os.environ, "COLLECTD_HOSTNAME": "h", "COLLECTD_INTERVAL": "0.050"}
    for args in ([], ["clients"], ["host", "-f", "value"]):
        p = subprocess.Popen([PROG, *args, "-o", "collectd", "--proc", f"{TREES}/mixed/proc", "--sys", f"{TREES}/mixed/sys"],
                             env=env, stdout=subprocess.PIPE)
        first, again = p.stdout.readline(), False
        for line in p.stdout:
            again = line == first
            if again:
                break
        p.terminate()
        p.communicate()
        need(b" interval=0.05 N:" in first and again and p.returncode == 0, args, first, p.returncode)
    for args in (["-r"], ["-w", "10ms"], ["-c", "1"], ["counters"], ["list"], ["0.01", "1"]):
        r = subprocess.run([PROG, *args, "-o", "collectd", "--proc", f"{TREES}/mixed/proc", "--sys", f"{TREES}/mixed/sys"],
                           env=env, capture_output=True, timeout=60)
        need(r.returncode == 0, args, r)


def files_of_several_kinds_have_different_series():
    """With one file for node_exporter per kind of record, a series is in only one of the files, and
    a family has only one help text."""
    where, heads = {}, {}
    for args in (["-w", "10ms"], ["-r"], ["clients", "-w", "10ms"], ["clients", "-r"], ["cgroups", "-w", "10ms"], ["cgroups", "-r"],
                 ["list"], ["host", "-w", "10ms"], ["counters"]):
        data = run([*args, "-o", "prom"], tree="mixed")
        kind = args[0] if args[0] in ("procs", "clients", "cgroups", "host", "counters") else ""
        for key in exposition(data, False):
            if kind not in ("host", "counters") or key[1]:  # host and counters are one kind
                need(where.setdefault(key, kind) == kind or {kind, where[key]} == {"host", "counters"}, key, "of", kind)
        for line in data.decode().split("\n"):
            if line.startswith("# HELP"):
                name, text = line[7:].split(" ", 1)
                need(heads.setdefault(name, text) == text, name, "has two texts", text)


def times_of_influx():
    for t, pattern in (("epoch", rb" [0-9]{19}\n"), ("iso", rb" [0-9]{19}\n"), ("mono", rb"celsius=52.0\n"),
                       ("none", rb"celsius=52.0\n")):
        data = run(["-w", "10ms", "-o", "influx", "-t", t, "-f", "temp.edge"], tree="amdgpu")
        need(re.search(pattern, data), t, data)


def hostile_names():
    """Names of processes, engines and dumps with arbitrary bytes."""
    with tempfile.TemporaryDirectory() as d:
        names = [b'a"b', b"back\\", b"new\nline", b"\xff\xfe", b"tab\tx", b"sp ace", b"com,ma=1", b"\xc3\xa9t\xc3\xa9", b"\x7f\x1b[1m",
                 b"trail\\\\", b"#", b"{}", b";~", b"..", b"/"]
        bodies = b"drm-driver:\tx\ndrm-client-id:\t7\n"
        files = []
        for i, n in enumerate(names):
            path = os.path.join(os.fsencode(d), b"%d" % i + n.replace(b"/", b"_"))
            with open(path, "wb") as f:
                f.write(bodies + b"drm-engine-" + n.replace(b"\n", b"").replace(b":", b"") + b":\t5 ns\n" +
                        b"drm-client-name:\t" + n.replace(b"\n", b"") + b"\n" + b"x-odd:\t" + n.replace(b"\n", b"") + b"\n")
            files.append(path)
        tree = os.path.join(d, "tree")
        shutil.copytree(f"{TREES}/amdgpu", tree, symlinks=True)
        comms = sorted(glob.glob(f"{tree}/proc/[0-9]*/comm"))
        for path, n in zip(comms * 4, names):
            with open(path, "wb") as f:
                f.write(n[:15] + b"\n")
        for fmt, check in FORMATS.items():
            r = subprocess.run([os.fsencode(PROG), b"fdinfo", b"-o", fmt.encode(), *files], capture_output=True)
            need(len(check(r.stdout, {})) > 0, fmt)
            r = subprocess.run([PROG, "clients", "-w", "10ms", "-o", fmt, "--proc", f"{tree}/proc", "--sys", f"{tree}/sys"],
                               capture_output=True)
            need(r.returncode == 0, r.stderr)
            need(len(check(r.stdout, {})) > 0, fmt)


def no_device():
    with tempfile.TemporaryDirectory() as d:
        os.makedirs(f"{d}/proc/1")
        os.makedirs(f"{d}/sys")
        for fmt in ("prom", "openmetrics"):
            r = subprocess.run([PROG, "clients", "-w", "10ms", "-o", fmt, "--proc", f"{TREES}/amdgpu-legacy/proc", "--sys",
                                f"{TREES}/amdgpu-legacy/sys", "-p", "1"], capture_output=True)
            need(r.returncode == 0, r)
            s = FORMATS[fmt](r.stdout, {})
            need(("gpustat_client_unreadable_processes", ()) in s, s)
            need(not [k for k in s if k[1]], "series without a device", s)


@live
def each_sample_is_a_complete_exposition():
    """With every command, three samples result in three expositions of the same families."""
    for tree, args in (("i915", ["0.02", "3"]), ("xe", ["clients", "0.02", "3"]), ("mixed", ["cgroups", "0.02", "3"]),
                       ("i915", ["-r", "0.02", "3"]), ("host", ["host", "0.02", "3"]),
                       ("host", ["counters", "host/memory/-/used", "0.02", "3"]), (None, ["stat", "-e", "page-faults", "0.02", "3"])):
        data = run([*args, "-o", "openmetrics"], tree=tree)
        parts = data.split(b"# EOF\n")
        need(len(parts) == 4 and parts[3] == b"", args, len(parts))
        for p in parts[:3]:
            need(check_openmetrics(p + b"# EOF\n", {}), args, "empty")
        names = [set(n for n, _ in exposition(p + b"# EOF\n", True)) for p in parts[:3]]
        need(names[1] == names[2], "families differ", names[1] ^ names[2])


def main():
    tap.skip_lacking(PROG, Bad)
    for what, there in (("promtool", PROMTOOL), ("the parsers of prometheus_client", om_parser)):
        if not chosen(True):
            pass
        elif not there:
            tap.skip(what, "package prometheus or python3-prometheus-client is not installed")
        else:
            tap.report(True, what + " is installed")
    can_sample = False
    for fmt, check in FORMATS.items():
        attempt(f"{fmt}: records of all trees and kinds are valid", valid_records, fmt, check)
        attempt(f"{fmt}: records of counters, host and oa are valid", valid_other_commands, fmt, check)
        attempt(f"{fmt}: the summaries of -S are valid", valid_summaries, fmt, check)
        attempt(f"{fmt}: stat", valid_events, fmt, check)
        if not chosen(True):
            continue
        with contextlib.suppress(Bad):
            can_sample = subprocess.run([PROG, "sample", "-e", "cpu-clock:u", "--", "true"], capture_output=True).returncode == 0
        if can_sample:
            attempt(f"{fmt}: sample", valid_samples, fmt, check)
        else:
            tap.skip(f"{fmt}: sample", "perf events may not be opened here")
    for t in (known_values, own_resources, source_states, only_fields, wrong_options, the_same_dump_twice, collectd_names,
              collectd_runs_until_stopped, files_of_several_kinds_have_different_series, times_of_influx, hostile_names, no_device, each_sample_is_a_complete_exposition):
        attempt(t.__name__.replace("_", " "), t)
    tap.finish()


main()
