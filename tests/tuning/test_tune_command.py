"""`tasuki tune` and `make fit-collectives` as commands: what they write, and what they refuse, in one line
that names the option, its value and what was expected. The times come from a file; jobs are tested in
tests/suite."""

import json
import os
import shutil
import subprocess
import sys

import machine as made_up
import pytest
from harness import PREFIX
from tasuki.commands import Refusal
from tasuki.commands import tune as command
from tasuki.tuning import TuningError, placement, regret, tables
from tasuki.tuning.cases import as_barrier, grid
from tasuki.tuning.samples import Samples

PROGRAMS = ("price", "algorithms", "message_ways", "network_ways")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed tree, as far as these commands look."""
    folder = tmp_path_factory.mktemp("prefix")
    for name in ("bin/mpiexec", *(f"libexec/tasuki/{name}" for name in PROGRAMS)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(PREFIX / name)
    return folder


def write_times(path, machine, ranks):
    """As `make regret` writes them."""
    samples = Samples()
    cases = [as_barrier(case) for case in grid(("bcast", "allreduce", "barrier"), ranks)]
    series = machine.formulas.possible_series(cases, [machine.values])
    for case in cases:
        samples.add(case, {name: [time] for name, time in machine.true_times(case, series[case]).items()})
    document = {"placement": str(machine.place), **regret.document_of(samples, {})}
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """Of a machine whose ranks wait long for their turns."""
    values = made_up.builtin().values | {"crowd.turn_ns": 9000.0}
    machine = made_up.Machine(values, off=0, noise=0)
    return write_times(tmp_path_factory.mktemp("times") / "regret.json", machine, (2, 3, 8))


def call(*words, folder):
    environment = dict(os.environ, PYTHONPATH=str(made_up.ROOT / "python"), COLUMNS="150")
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def tune(*words, folder, prefix):
    return call("-m", "tasuki.cli", "tune", "--prefix", prefix, *words, folder=folder)


def test_times_of_a_file_become_a_table(prefix, times, tmp_path):
    done = tune("--from", times, "--no-check", "-o", "table.json", folder=tmp_path, prefix=prefix)
    assert done.returncode == 0, done.stderr
    assert "regret after: median 1.00" in done.stdout
    table = tables.load(tmp_path / "table.json", made_up.PRICE)
    assert table.made_on == tables.this_machine()
    again = tune(
        "--from", times, "--no-check", "--table", "table.json", "-o", "b.json", folder=tmp_path, prefix=prefix
    )
    assert again.returncode == 0, again.stderr
    assert "\n0 of " in again.stdout, "the second time there is nothing left to change"


def test_a_table_is_put_into_the_installation(prefix, times, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(prefix, tree, symlinks=True)
    (tree / "bin/mpiexec").unlink()
    shutil.copy(prefix / "bin/mpiexec", tree / "bin")  # it tells its installation by its own place
    done = tune("--from", times, "--no-check", "--install", folder=tmp_path, prefix=tree)
    assert done.returncode == 0, done.stderr
    path = tree / "etc/tasuki/tuning.json"
    assert f"{path} is written; jobs of this installation choose by it" in done.stdout.replace("\n", " ")
    assert tables.load(path, made_up.PRICE).made_on == tables.this_machine()


def test_times_over_hosts_become_choices_there(prefix, tmp_path):
    hosts = "a:2,b:2"
    values = tables.builtin(made_up.PRICE, "tcp").values
    machine = made_up.Machine(values, off=0.4, noise=0, place=placement.of(None, hosts, ""))
    write_times(tmp_path / "times.json", machine, (2, 4))
    words = ["--from", "times.json", "--no-check", "--host", hosts, "-o", "table.json"]
    done = tune(*words, folder=tmp_path, prefix=prefix)
    assert done.returncode == 0, done.stderr
    assert "regret after: median 1.00" in done.stdout
    table = tables.load(tmp_path / "table.json", made_up.PRICE)
    assert table.choices and not table.names_network, "the network was not measured"
    assert all(text.endswith(" ranks on 2 nodes") for text in table.choices)
    other = placement.of(None, "a:2,c:2", "")
    reason = "times.json: its times are of hosts a:2,b:2, expected those of hosts a:2,c:2"
    with pytest.raises(TuningError, match=reason):
        regret.load_samples(tmp_path / "times.json", other)


def test_ranks_are_those_of_the_place():
    for host, nodes, told, expected in (
        ("", None, "", (2, 4, 8)),
        ("", None, "3,2", (3, 2)),
        ("", 3, "", (3, 6, 12)),
        ("a:4,b:4", None, "", (8,)),
        ("a:4,user@b,c:2", None, "", (3,)),
        ("[fe80::1]:2,b:4", None, "", (4,)),
        ("a:4,b:4", None, "2,8", (2, 8)),
    ):
        assert command.ranks_of(told, command.place_of(nodes, host)) == expected, (host, nodes, told)
    with pytest.raises(Refusal, match="--host a:2: expected two or more hosts"):
        command.place_of(None, "a:2")


def test_the_built_in_parameters_are_fitted_by_their_makers(prefix, times, tmp_path):
    words = ["--prefix", prefix, "--out", tmp_path, "--from", times, "--processors", made_up.PROCESSORS]
    done = call(made_up.ROOT / "bench" / "fit_collectives.py", *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "held out" in done.stdout
    document = json.loads((tmp_path / "tuning.json").read_text())
    assert document["crowd"]["turn_ns"] == pytest.approx(9000, rel=0.1)


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--budget", "0"], "--budget 0: expected a time above 0"),
        (["--budget", "soon"], "--budget soon: expected a time above 0"),
        (["--operations", "bcast,best"], "--operations bcast,best: 'best', expected some of barrier, bcast"),
        (["-n", "1,2"], "-n 1,2: '1', expected numbers of ranks from 2 to"),
        (["-n", "two"], "-n two: 'two', expected numbers of ranks from 2 to"),
        (["--host", "a:2,b:2", "-n", "2,3"], "-n 3: expected a multiple of the 2 nodes"),
        (["--table", "none.json"], "none.json: No such file or directory"),
        (["--table", "bad.json"], "bad.json: node_segment.flag_ns = -1, expected a number from 0"),
        (["--table", "broken.json"], "broken.json: is no JSON document"),
        (["--from", "none.json"], "none.json: No such file or directory"),
        (["--from", "bad.json"], "bad.json: is no file of times that `make regret` wrote"),
        (["--from", "negative.json"], "negative.json: seconds = -1, expected a time above 0"),
        (["-o", "nowhere/table.json"], "nowhere/table.json: cannot be written"),
        (["-o", "."], ".: cannot be written"),
        (["-o", "a.json", "--install"], "-o a.json: expected no file with --install"),
    ],
)
def test_what_makes_no_sense_is_refused(prefix, tmp_path, words, reason):
    (tmp_path / "bad.json").write_text('{"tasuki_tuning": 1, "node_segment": {"flag_ns": -1}}')
    (tmp_path / "broken.json").write_text("{")
    visit = {"operation": "bcast", "bytes": 8, "ranks": 2, "seconds": {"binomial": [-1]}}
    (tmp_path / "negative.json").write_text(json.dumps({"visits": [visit]}))
    done = tune("--no-check", *words, folder=tmp_path, prefix=prefix)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("tasuki: tune: ") and reason in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not (tmp_path / "tuning.json").exists()


def test_a_tree_without_the_programs_is_told(tmp_path):
    done = tune("--no-check", folder=tmp_path, prefix=tmp_path)
    assert done.returncode == 2
    assert "bin/mpiexec is not there: expected an installed tree of Tasuki in" in done.stderr
