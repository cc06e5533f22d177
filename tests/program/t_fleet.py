#!/usr/bin/env python3
"""t_fleet.py PROG: contrib/prometheus and contrib/grafana: promtool accepts the rules and each
expression of the dashboard, and PROG prints the metrics and labels that these use."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap  # noqa: E402

prog = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
rules = os.path.join(root, "contrib/prometheus/gpustat.rules.yml")
with open(rules, encoding="utf-8") as f:
    rules_text = f.read()
with open(os.path.join(root, "contrib/grafana/gpustat.json"), encoding="utf-8") as f:
    dashboard = json.load(f)


class NeedsPackage(Exception):
    pass


def need(tool):
    if not shutil.which(tool):
        raise NeedsPackage("needs package prometheus")


def run(*args, **more):
    got = subprocess.run(args, capture_output=True, text=True, check=False, timeout=60, **more)
    assert got.returncode == 0, got.stdout[-3000:] + got.stderr[-3000:]
    return got.stdout


def printed():
    """Returns the metric families that PROG prints for all trees, with their labels."""
    labels = {}
    for tree in sorted(glob.glob(root + "/tests/trees/*/")):
        for args in ([], ["-r"], ["clients"], ["clients", "-r"], ["cgroups"], ["cgroups", "-r"]):
            text = subprocess.run([prog, *args, "-q", "-w", "5ms", "-o", "prom", "--proc", tree + "proc", "--sys", tree + "sys"],
                                  capture_output=True, text=True, check=False, timeout=60).stdout
            for line in text.splitlines():
                m = re.match(r"(gpustat_\w+)(?:\{(.*)\})? ", line)
                if m:
                    labels.setdefault(m[1], set()).update(re.findall(r'(\w+)="', m[2] or ""))
    return labels


def panels():
    return [p for p in dashboard["panels"] if p["type"] != "row"]


def expressions():
    """Returns the expressions of the dashboard, with values in place of its variables."""
    for p in panels():
        for t in p["targets"]:
            yield p["title"], re.sub(r"\$\w+", "x", t["expr"])


def test_rules_parse():
    need("promtool")
    assert "SUCCESS: 16 rules" in run("promtool", "check", "rules", rules)


def test_rules_have_the_expected_results():
    need("promtool")
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copy(rules, tmp)
        shutil.copy(os.path.join(root, "tests/fleet/rules.test.yml"), tmp)
        run("promtool", "test", "rules", "rules.test.yml", cwd=tmp)


def test_every_alert_is_tested():
    with open(os.path.join(root, "tests/fleet/rules.test.yml"), encoding="utf-8") as f:
        tested = f.read()
    for alert in re.findall(r"- alert: (\w+)", rules_text):
        assert re.search(rf"alertname: {alert}\n\s+exp_alerts:\n", tested), alert
    for record in re.findall(r"- record: (\S+)", rules_text):
        assert record in tested or rules_text.count(record) > 1, record


def test_expressions_parse():
    need("promtool")
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as f:
        f.write("groups:\n- name: dashboard\n  rules:\n")
        n = 0
        for _, expr in expressions():
            f.write(f"  - record: dashboard:panel{n}\n    expr: {json.dumps(expr)}\n")
            n += 1
        f.flush()
        assert n > 20 and f"SUCCESS: {n} rules" in run("promtool", "check", "rules", f.name)


def test_metrics_and_labels_in_use_are_printed():
    labels = printed()
    recorded = set(re.findall(r"- record: (\S+)", rules_text))
    texts = [e for _, e in expressions()] + re.findall(r"expr: (?:>-\n((?:          .*\n)+)|(.*))", rules_text)
    texts = [t if isinstance(t, str) else t[0] or t[1] for t in texts]
    texts += [v["query"]["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
    used = set()
    for text in texts:
        for name in re.findall(r"gpustat[_:][a-z_:]+", re.sub(r'"[^"]*"', "", text)):
            used.add(name)
            assert name in recorded if ":" in name else name in labels, f"{name} in {text}"
        for name, chosen in re.findall(r"(gpustat_\w+)\{([^}]*)\}", text):
            for label in re.findall(r"(\w+)\s*=~?", chosen):
                assert label in labels[name] | {"job", "instance"}, f"{label} of {name}"
    assert len([u for u in used if ":" not in u]) > 20, used
    # Labels in legends must exist too.
    for p in panels():
        for t in p["targets"]:
            names = re.findall(r"gpustat_\w+", t["expr"])
            if names and ":" not in "".join(re.findall(r"gpustat:", t["expr"])):
                for label in re.findall(r"\{\{(\w+)\}\}", t["legendFormat"]):
                    assert label == "instance" or any(label in labels[n] for n in names), f"{p['title']}: {label}"


def test_panels_do_not_overlap():
    ids = [p["id"] for p in dashboard["panels"]]
    assert len(set(ids)) == len(ids) and len(panels()) > 15
    assert [r["title"].split(" ")[0].rstrip(":") for r in dashboard["panels"] if r["type"] == "row"] == ["Fleet", "Machine", "Device", "Clients"]
    # No panel may cover another one or exceed the grid.
    taken = set()
    for p in dashboard["panels"]:
        g = p["gridPos"]
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert not cells & taken and g["x"] + g["w"] <= 24, p["title"]
        taken |= cells
    assert {v["name"] for v in dashboard["templating"]["list"]} == {"datasource", "job", "instance", "dev"}
    assert all(p["datasource"]["uid"] == "${datasource}" for p in panels())


for test, check in [(k, v) for k, v in globals().items() if k.startswith("test_")]:
    try:
        check()
    except NeedsPackage as e:
        tap.skip(test[5:].replace("_", " "), e)
    except Exception:  # pylint: disable=broad-except
        tap.report(False, test[5:].replace("_", " "), traceback.format_exc(limit=-2)[-390:])
    else:
        tap.report(True, test[5:].replace("_", " "))
tap.finish()
