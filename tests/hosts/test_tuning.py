"""`tasuki tune --host` measures collectives and the network between hosts; jobs there choose by its table;
how good that choice is can be measured there; and the suite runs there."""

import json
import os
import pathlib
import re
import sys

import harness
import pytest
from harness import ROOT, compile_program

HERE = pathlib.Path(__file__).resolve().parent
MPIEXEC = harness.PREFIX / "bin/mpiexec"


def test_tune_measures_the_network_and_jobs_choose_by_it(make_hosts):
    hosts = make_hosts(2)
    table = hosts.shared_folder / "hosts.json"
    words = [
        sys.executable,
        "-m",
        "tasuki.cli",
        "tune",
        "--prefix",
        harness.PREFIX,
        "--only-messages",
        "--budget",
        "1s",
        "-o",
        table,
    ]
    environment = {"PYTHONPATH": str(ROOT / "python")}
    done = hosts[0].run([*words, "--host", "node1:2,node2:2"], environment=environment)
    assert done.returncode == 0, done.text
    document = json.loads(table.read_text())
    row = document["messages"]["network"]
    assert 1e3 < row["software_ns"] + row["latency_ns"] < 1e8
    assert row["gap_ns"] > 0 and row["long_bytes"] == 64 << 10
    assert 1e-3 < row["bytes_per_ns"] < 1e3 and 1e-3 < row["node_bytes_per_ns"] < 1e3
    # A network where an empty message takes a second: what is predicted, on all hosts, says so.
    row["latency_ns"] = 1e9
    table.write_text(json.dumps(document))
    program = compile_program(HERE / "shapes.c")
    settings = {"TASUKI_TUNING_FILE": str(table), "TASUKI_EXPLAIN": "all"}
    done = hosts[0].run([MPIEXEC, "--host", "node1:2,node2:2", program], environment=settings)
    assert done.returncode == 0, done.text
    told = re.findall(r"rank (\d): .* among 4 ranks on 2 nodes: .*predicted (\S+) ms", done.stderr)
    assert {rank for rank, ms in told if float(ms) >= 1000} == {"0", "1", "2", "3"}, done.text


@pytest.mark.skipif(not os.environ.get("TASUKI_TEST_LONG"), reason="a minute; TASUKI_TEST_LONG")
def test_tune_names_choices_over_hosts_and_jobs_take_them(make_hosts):
    hosts = make_hosts(2)
    table, placed = hosts.shared_folder / "hosts.json", ["--host", "node1:2,node2:2"]
    words = [sys.executable, "-m", "tasuki.cli", "tune", "--prefix", harness.PREFIX, *placed]
    words += ["--budget", "5m", "--operations", "barrier", "-o", table]
    done = hosts[0].run(words, timeout=400, environment={"PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.text
    assert "the library takes" not in done.stdout, done.text
    document = json.loads(table.read_text())
    assert document["messages"]["network"]["latency_ns"] > 0
    named = document.get("choices", {})
    assert all(text.endswith(" among 4 ranks on 2 nodes") for text in named), named
    document["choices"] = {"barrier of 0 to 0 bytes among 4 ranks on 2 nodes": "dissemination"}
    table.write_text(json.dumps(document))
    settings = {"TASUKI_TUNING_FILE": str(table), "TASUKI_EXPLAIN": "1"}
    program = compile_program(HERE / "shapes.c")
    done = hosts[0].run([MPIEXEC, *placed, program], environment=settings)
    assert done.returncode == 0, done.text
    assert "barrier of 0 bytes among 4 ranks on 2 nodes: dissemination (wanted)" in done.stderr, done.text


def test_regret_is_measured_over_hosts(make_hosts):
    hosts = make_hosts(2)
    out, table = hosts.shared_folder / "regret", hosts.shared_folder / "table.json"
    choices = {"bcast of 0 to 64 bytes among 2 ranks on 2 nodes": "chain/8192"}
    table.write_text(json.dumps({"tasuki_tuning": 1, "choices": choices}))
    words = [sys.executable, "-m", "tasuki.tuning.regret", "--prefix", harness.PREFIX, "--out", out]
    words += ["--host", "node1:2,node2:2", "--ranks", "2", "--operations", "bcast"]
    words += ["--sizes", "8", "--rounds", "1", "--turns", "1", "--table", table, "--again", "2"]
    done = hosts[0].run(words, environment={"PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.text
    document = json.loads((out / "regret.json").read_text())
    assert document["placement"] == "hosts node1:2,node2:2"
    rows = {row["series"]: row for row in document["rows"]}
    assert {"binomial", "chain"} <= {series.split("/")[0] for series in rows}
    assert "flag_based" not in rows
    assert [series for series, row in rows.items() if row["chosen"]] == ["chain/8192"]
    assert "predictions: median error" in done.stdout
    for whose in ("table", "built-in"):
        for when in ("by these times", "looked at again"):
            assert f"regret, {whose} choices, {when}: median" in done.stdout, done.text
    assert {row["choices"] for row in document["regrets"]} == {"table", "built-in"}
    assert all(row["again"] >= 1 and row["regret"] >= 1 for row in document["regrets"])


def test_bench_runs_over_hosts(make_hosts):
    """Jobs start in a folder that all hosts see: /tmp, where they start otherwise, each has for itself."""
    hosts = make_hosts(2)
    out = hosts.shared_folder / "run.json"
    words = [sys.executable, "-m", "tasuki", "bench", "--quick", "--budget", "0.001", "-o", out]
    words += ["--host", "node1:2,node2:2", "-n", "2", "--folder", hosts.shared_folder]
    for name in ("point_to_point/latency", "io/open", "limit/line"):
        words += ["--only", name]
    installed = harness.PREFIX / "lib/tasuki/python"
    done = hosts[0].run(words, environment={"PYTHONPATH": str(installed)})
    assert done.returncode == 0, done.text
    document = json.loads(out.read_text())
    assert document["implementation"]["placement"] == "hosts node1:2,node2:2"
    assert {row["benchmark"] for row in document["rows"]} == {"latency", "open"}
    latency = min(row["median_seconds"] for row in document["rows"] if row["benchmark"] == "latency")
    assert latency > 0 and not document["troubles"]
    assert document["left_out"] and all("no memory to share" in line for line in document["left_out"])
