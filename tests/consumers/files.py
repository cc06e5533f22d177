"""Strict readers of JSON and CSV. SPDX-License-Identifier: MIT"""
import json
import re
import subprocess

import kit
from kit import check, eq, ours, takes, test


def piped(args, out):
    p = subprocess.run(args, input=out, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return p.returncode, p.stdout, p.stderr


@takes("json")
def _(kind, args):
    """valid for a strict parser in python and for json_verify of yajl"""
    verify = kit.tool("json_verify", "yajl-tools")
    out = ours(args, "json")
    recs = kit.machine.parse_json(out)
    check(recs, f"{kind}: no record")
    check(all(r["schema"] == 1 and r["kind"] == recs[0]["kind"] for r in recs), f"{kind}: schema, kind")
    eq(piped([verify, "-s"], out)[0], 0, f"json_verify on {kind}")
    eq(piped([verify], out.split(b"\n")[0])[0], 0, f"json_verify on one record of {kind}")


@takes("csv")
def _(kind, args):
    """miller reads the same cells as python"""
    mlr = kit.tool("mlr", "miller")
    out = ours(args, "csv")
    rows = kit.machine.parse_csv(out)
    check(rows, f"{kind}: no row")
    code, text, err = piped([mlr, "--icsv", "--ojson", "-S", "cat"], out)
    eq((code, err), (0, b""), f"mlr on {kind}")
    eq([{k: str(v) for k, v in r.items()} for r in json.loads(text, parse_int=str, parse_float=str)], rows,
       f"{kind}: rows")


@test("CSV by -f: gnuplot reads the columns, and treats an empty cell as missing")
def _(m):
    gnuplot = kit.tool("gnuplot", "gnuplot-nox")
    kit.settle(m, "amdgpu")
    args = ["-w", "0.02", *m.roots()]
    out = ours(args, "csv", "-f", "time,vram.used,temp.edge,clients,idle")
    path = m.write("run.csv", out)
    rec = kit.exact(ours(args, "json"))[0]
    for i, want in ((2, rec["vram"]["used"]), (3, rec["temp"]["edge"]), (4, rec["clients"])):
        code, text, err = piped([gnuplot, "-e", f"set datafile separator ','; set key autotitle columnhead; "
                                 f"stats '{path}' using {i} nooutput; "
                                 "set print '-'; print sprintf('%.17g %d', STATS_max, STATS_records)"], b"")
        eq((code, text.split()[1:] if text else err), (0, [b"1"]), f"column {i}: {err!r}")
        check(abs(float(text.split()[0]) - float(want)) < 1e-9 * float(want), f"column {i}: {text!r}, want {want}")
    code, _, err = piped([gnuplot, "-e", f"set datafile separator ','; stats '{path}' using 5 nooutput"], b"")
    check(re.search(rb"no valid data|All points out of range", err, re.I), f"an empty column: {code} {err!r}")


@test("names with special characters: strict readers accept them in JSON and CSV")
def _(m):
    import prom
    args = ["clients", "-r", *prom.hostile(m)]
    eq(piped([kit.tool("json_verify", "yajl-tools"), "-s"], ours(args, "json"))[0], 0, "json_verify")
    out = ours(args, "csv")
    code, text, err = piped([kit.tool("mlr", "miller"), "--icsv", "--ojson", "-S", "cat"], out)
    eq((code, err), (0, b""), "mlr")
    eq([r["comm"] for r in json.loads(text, parse_int=str, parse_float=str)],
       [r["comm"] for r in kit.machine.parse_csv(out)], "names")
