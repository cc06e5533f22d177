#!/usr/bin/env python3
# t_munin.py PROG - gpustat munin, run alone and by the real munin-run. Prints TAP; exit 0 if all
# tests pass.
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402
from machine import I915, ROOT, TREES, Skip, check, dump, eq, ns, one_client, rewrite, run  # noqa: E402

TESTS = []
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def test(name):
    def add(f):
        TESTS.append((name, f, False))
        return f
    return add


def tree(name):
    return ["--proc", f"{TREES}/{name}/proc", "--sys", f"{TREES}/{name}/sys"]


def graphs(out):
    """Parses the output: graph -> {"" or field: {key: value}}; "" is the graph itself."""
    found, graph = {}, None
    for line in out.decode("ascii").splitlines():
        head, _, value = line.partition(" ")
        if head == "multigraph":
            check(NAME.fullmatch(value) and value not in found, f"graph {value!r}")
            graph = found[value] = {"": {}}
        elif "." in head:
            field, key = head.split(".")
            check(NAME.fullmatch(field) and field != "root", f"field {field!r}")
            keys = graph.setdefault(field, {})
            check(key not in keys, f"{head} twice")
            keys[key] = value
        else:
            check(head.startswith("graph_"), f"line {line!r}")
            graph[""][head] = value
    return found


def ask(*args, **kw):
    r = run(["munin", *args], **kw)
    check(r.code == 0 and (not r.err or b"does not exist yet" in r.err), f"munin {args}: {r!r}")
    return r.out


def config_fits(config, values):
    eq({g: set(f) for g, f in config.items()}, {g: set(f) for g, f in values.items()}, "graphs and fields")
    for g, fields in config.items():
        eq(set(fields[""]), {"graph_title", "graph_vlabel", "graph_args", "graph_category"}, g)
        for f in set(fields) - {""}:
            check({"label", "type"} <= set(fields[f]) and fields[f]["type"] == "GAUGE", f"{g}.{f}: {fields[f]}")
            v = values[g][f]["value"]
            check(v == "U" or re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", v), f"{g}.{f}: {v!r}")


@test("config and values have the same graphs and fields, on every machine")
def _(_m):
    for name in sorted(os.listdir(TREES)):
        if os.path.isdir(f"{TREES}/{name}/sys/class/drm"):
            config, values = graphs(ask("config", *tree(name))), graphs(ask("--window", "1ms", *tree(name)))
            config_fits(config, values)
            check(name == "host" or config, f"{name}: nothing")
    got = graphs(ask("--window", "1ms", *tree("amdgpu")))
    eq(set(got), {f"gpustat_{g}" for g in ("busy", "memory", "clock", "power", "temp", "clients")}, "graphs of amdgpu")
    eq((got["gpustat_busy"]["card0_busy"], got["gpustat_temp"]["card0_temp_edge"]), ({"value": "37.0"}, {"value": "52.0"}), "values")


@test("engines have separate fields if their names become equal after replacement of characters")
def _(m):
    one_client(m, text=dump("i915", 7, *[f"drm-engine-{n}:\t0 ns" for n in ("a-b", "a_b", "a.b", "x" * 90, "x" * 91)], pdev=I915))
    got, config = graphs(ask("--window", "1ms", *m.roots())), graphs(ask("config", *m.roots()))
    config_fits(config, got)
    eq(len(got["gpustat_busy"]), 6, f"{sorted(got['gpustat_busy'])}")
    labels = [f["label"] for k, f in config["gpustat_busy"].items() if k]
    check("card0 a-b" in labels and len(set(labels)) == len(labels), f"{labels}")


@test("too many fields: config and values leave out the same ones, and report their number")
def _(m):
    for d in range(3):
        pdev = f"0000:{d + 1:02x}:00.0"
        m.device("i915", pdev, card=d, render=128 + d)
        m.fd(20 + d, 5, dump("i915", 7, *[f"drm-engine-e{i}:\t0 ns" for i in range(400)], pdev=pdev), link=f"/dev/dri/renderD{128 + d}")
    outs = []
    for args in (["config"], ["--window", "1ms"]):
        r = run(["munin", *args, *m.roots()])
        check(r.code == 0 and re.search(rb"values of a graph: room for [0-9]+ only, [0-9]+ left out", r.err), f"{r.err!r}")
        outs.append(graphs(r.out))
    config_fits(*outs)
    eq(len(outs[1]["gpustat_busy"]), 1025, "fields, and the entry of the graph itself")


@test("an unknown value is U: busy of a suspended device, power without a second reading; temperatures may be negative")
def _(m):
    dev = m.device("i915", I915, files={"hwmon/hwmon0/name": "i915\n", "hwmon/hwmon0/energy1_input": "nonsense\n", "hwmon/hwmon0/temp1_input": "-5500\n"})
    got = graphs(ask("--window", "1ms", *m.roots()))
    eq(got["gpustat_temp"]["card0_temp_temp1"]["value"], "-5.5", "below zero")
    eq((set(got), set(graphs(ask("config", *m.roots())))), ({"gpustat_temp", "gpustat_clients"},) * 2, "energy that is not a number has no field")
    for text, want in (("3000000\n", 4), ("nonsense\n", "U"), ("", "U")):
        energy = m.write(f"{dev}/hwmon/hwmon0/energy1_input", "1000000\n")
        with m.driven("munin", "--window", "0.5") as p:
            check(p.sleep(), "no window")
            rewrite(energy, text)
            p.wake()
            check(not p.sleep(), "munin measured in a second window")
        value = graphs(p.out)["gpustat_power"]["card0_power_card"]["value"]
        check(value == "U" if want == "U" else abs(float(value) - want) < 0.01, f"second reading {text!r}: {value}")
    eq(graphs(ask("--window", "1ms", *tree("xe-suspended")))["gpustat_busy"]["card0_busy"]["value"], "U", "asleep")


@test("autoconf: yes, or no with the reason; exit 0 in both cases")
def _(m):
    eq(ask("autoconf", *tree("i915")), b"yes\n", "with a device")
    check(re.fullmatch(rb"no \(.+\)\n", ask("autoconf", *m.roots())), "without")
    check(re.fullmatch(rb"no \(.+\)\n", ask("autoconf", "--proc", m.path("nowhere"), "--sys", m.path("nowhere"))), "without /proc")
    for args in (["bogus"], ["config", "config"]):
        eq(run(["munin", *args]).code, 2, f"{args}")


def averages(m, first, second, f):
    """Calls first, then second. Returns the busy share of render in the output of second, and its
    limits, in percent."""
    begun = time.monotonic()
    first()
    time.sleep(0.6)
    rewrite(f, dump("i915", 7, *ns(render=int(0.3e9)), pdev=I915))
    out = second()
    took = time.monotonic() - begun
    return float(graphs(out)["gpustat_busy"]["card0_render"]["value"]), 29.9 / took, 51


@test("a value is the average since the last run that printed values; a run of config does not change that")
@machine.live
def _(m):
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    env = {**os.environ, "MUNIN_PLUGSTATE": m.path("")}

    def first():
        ask("--window", "1ms", *m.roots(), env=env)
        check(os.stat(m.path("gpustat.state")).st_mode & 0o777 == 0o600, "no state in MUNIN_PLUGSTATE")
        ask("config", *m.roots(), env=env)
    value, low, high = averages(m, first, lambda: ask("--window", "30", *m.roots(), env=env, timeout=60), f)
    check(low < value < high, f"{value}, not in {low} to {high}")


# --- munin-run ------------------------------------------------------------------------------------

def munin_run(m, *args):
    """Runs the plugin of contrib/munin with munin-run. Returns the output."""
    if not shutil.which("munin-run"):
        raise Skip("package munin-node is missing")
    machine.as_root()
    plugins, conf = m.path("plugins"), m.path("plugin-conf.d")
    if not os.path.exists(plugins):
        os.mkdir(plugins)
        shutil.copy(os.path.join(ROOT, "contrib/munin/gpustat"), f"{plugins}/gpustat")
        prog = m.write("gpustat.sh", f"#!/bin/sh\nexec '{os.path.abspath(machine.PROG)}' \"$@\" {' '.join(m.roots())}\n")
        os.chmod(prog, 0o755)
        m.write("plugin-conf.d/gpustat", f"[gpustat]\nuser root\nenv.gpustat {prog}\n")
        m.write("munin-node.conf", "log_level 4\nlog_file /dev/null\nhost 127.0.0.1\nport 4949\nuser root\ngroup root\n")
    p = subprocess.run(["munin-run", "--ignore-systemd-properties", "--config", m.path("munin-node.conf"), "--servicedir", plugins,
                        "--sconfdir", conf, "gpustat", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    eq(p.returncode, 0, f"munin-run {args}: {p.stderr!r}")
    return p.stdout


@test("munin-run: autoconf, config and values; averages between two runs come from the state file in munin's folder")
@machine.live
def _(m):  # a single test, because all plugins of root share this folder
    why = tap.lacks(machine.PROG, ["munin"])
    if why:
        raise Skip(why)
    f = one_client(m, text=dump("i915", 7, *ns(render=0), pdev=I915))
    value, low, high = averages(m, lambda: munin_run(m), lambda: munin_run(m), f)
    check(low < value < high, f"{value}, not in {low} to {high}")
    shutil.rmtree(m.proc)
    shutil.rmtree(m.sys)
    shutil.copytree(f"{TREES}/amdgpu/proc", m.proc, symlinks=True)
    shutil.copytree(f"{TREES}/amdgpu/sys", m.sys, symlinks=True)
    eq(munin_run(m, "autoconf"), b"yes\n", "autoconf")
    config = graphs(munin_run(m, "config"))
    config_fits(config, graphs(munin_run(m)))
    eq(graphs(munin_run(m))["gpustat_memory"]["card0_vram_used"]["value"], "3221225472", "vram")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: t_munin.py PROG")
    sys.exit(machine.main(sys.argv[1], TESTS))
