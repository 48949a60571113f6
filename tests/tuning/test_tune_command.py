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
from tasuki.tuning import prices, regret, tables
from tasuki.tuning.cases import as_barrier, grid
from tasuki.tuning.samples import Samples


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed tree, as far as these commands look."""
    folder = tmp_path_factory.mktemp("prefix")
    release = made_up.PRICE.parent
    programs = {"bin/mpiexec": release / "bin/mpiexec", "libexec/tasuki/price": made_up.PRICE}
    for name in ("algorithms", "message_ways", "network_ways"):
        programs[f"libexec/tasuki/{name}"] = release / name
    for name, target in programs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    return folder


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """A file as `make regret` writes it, of a machine whose ranks wait long for their turns."""
    values = made_up.builtin().values | {"crowd.turn_ns": 9000.0}
    machine, samples = made_up.Machine(values, off=0, noise=0), Samples()
    cases = [as_barrier(case) for case in grid(("bcast", "allreduce", "barrier"), (2, 3, 8))]
    series = prices.possible_series(made_up.PRICE, cases, made_up.PROCESSORS, [values])
    for case in cases:
        samples.add(case, {name: [time] for name, time in machine.true_times(case, series[case]).items()})
    path = tmp_path_factory.mktemp("times") / "regret.json"
    path.write_text(json.dumps(regret.document_of(samples, {})))
    return path


def call(*words, folder):
    environment = dict(os.environ, PYTHONPATH=str(made_up.ROOT / "python"), COLUMNS="150")
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


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
