"""TASUKI_TUNING_FILE and what TASUKI_EXPLAIN says of the choice: a table changes it, a bad one is told."""

import json
import os
import re
import shutil

import pytest
from harness import PREFIX, run_command

CHOICE = re.compile(
    r"tasuki: rank 0: (?:nonblocking )?\w+ of \d+ bytes among 2 ranks: \w+.*, predicted ([\d.e+-]+) (us|ms);"
)

CHOICE_OF_ANY = re.compile(
    r"tasuki: rank (\d): \w+ of \d+ bytes among 2 ranks: \w+.*, predicted ([\d.e+-]+) (us|ms);"
)

SLOW = (
    '{"tasuki_tuning": 1, "messages": {"cache": {"software_ns": 1e8, "latency_ns": 1e8}},'
    ' "node_segment": {"call_ns": 1e8, "expose_ns": 1e8}}'
)


def predictions(done):
    """Microseconds, of each choice that was told."""
    assert done.returncode == 0, done.text
    found = [float(time) * (1000 if unit == "ms" else 1) for time, unit in CHOICE.findall(done.stderr)]
    assert found, done.text
    return found


def explained(run, **environment):
    return run("launch.c", 2, environment={"TASUKI_EXPLAIN": "1", **environment})


def test_predictions_come_from_the_file(run, tmp_path):
    table = tmp_path / "slow.json"
    table.write_text(SLOW)
    assert max(predictions(explained(run))) < 1000
    assert min(predictions(explained(run, TASUKI_TUNING_FILE=str(table)))) >= 100000


@pytest.mark.parametrize(
    "text, reason",
    [
        ("{", 'line 1: no JSON at "{"'),
        ('{"tasuki_tuning": 99}', "the table is of version 99"),
        (
            '{"tasuki_tuning": 1,\n"node_segment": {"flag_ns": -1}}',
            "line 2: node_segment.flag_ns = -1, expected a number",
        ),
        (None, "No such file"),
    ],
)
def test_a_bad_file_is_told_once_and_the_job_runs(run, tmp_path, text, reason):
    table = tmp_path / "bad.json"
    if text is not None:
        table.write_text(text)
    done = explained(run, TASUKI_TUNING_FILE=str(table))
    lines = [line for line in done.stderr.splitlines() if "TASUKI_TUNING_FILE" in line]
    assert len(lines) == 1, done.text
    assert str(table) in lines[0] and reason in lines[0], done.text
    assert lines[0].endswith("the built-in parameters are used"), done.text
    assert max(predictions(done)) < 1000


def test_a_choice_that_the_table_names_is_taken_and_a_setting_goes_before_it(run, tmp_path):
    table = tmp_path / "named.json"
    named = {"barrier of 0 to 0 bytes among 2 ranks": "dissemination"}
    table.write_text(json.dumps({"tasuki_tuning": 1, "choices": named}))
    assert "barrier of 0 bytes among 2 ranks: flag_based, " in explained(run).stderr
    told = explained(run, TASUKI_TUNING_FILE=str(table)).stderr
    assert "barrier of 0 bytes among 2 ranks: dissemination (wanted)" in told
    other = explained(run, TASUKI_TUNING_FILE=str(table), TASUKI_BARRIER_ALGORITHM="flag_based").stderr
    assert "barrier of 0 bytes among 2 ranks: flag_based (wanted)" in other


def test_a_choice_on_nodes_is_taken_on_so_many_nodes_alone(build, mpiexec, tmp_path):
    table, program = tmp_path / "nodes.json", build("launch.c")
    case = "barrier of 0 to 0 bytes among 4 ranks on 2 nodes"
    places = {
        "on one node": (),
        "on 2 nodes": ("--nodes", 2),
        "on 2 nodes, one by one": ("--nodes", 2, "--map-by", "node"),
        "on 3 nodes": ("--nodes", 3),
        "on 4 nodes": ("--nodes", 4),
    }
    table.write_text(json.dumps({"tasuki_tuning": 1, "choices": {case: "dissemination"}}))
    settings = {"TASUKI_TUNING_FILE": str(table), "TASUKI_EXPLAIN": "all"}
    told = {}
    for place, words in places.items():
        done = mpiexec("-n", 4, *words, program, environment=settings)
        assert done.returncode == 0, done.text
        lines = re.findall(r"rank (\d): barrier of 0 bytes (among 4 ranks.*), predicted", done.stderr)
        assert sorted(rank for rank, _ in lines) == list("0123"), done.text
        assert len({line for _, line in lines}) == 1, "all ranks choose alike: " + done.text
        told[place] = lines[0][1]
    assert told.pop("on 2 nodes") == "among 4 ranks on 2 nodes: dissemination (wanted)"
    assert not any("(wanted)" in line for line in told.values()), told
    assert told["on 4 nodes"].startswith("among 4 ranks on 4 nodes: ")
    assert told["on one node"].startswith("among 4 ranks: ")


@pytest.mark.parametrize("launched", [True, False])
def test_a_table_of_another_machine_is_refused_by_name(build, mpiexec, tmp_path, launched):
    program = build("launch.c")
    table = tmp_path / "foreign.json"
    here = {"processors": os.cpu_count(), "library": "0.1.0"}
    for made_on, foreign in (
        ({"processor": "a fast one"}, True),
        ({"processors": 4096}, True),
        (here, False),
    ):
        table.write_text(json.dumps({"tasuki_tuning": 1, "made_on": made_on}))
        settings = {"TASUKI_TUNING_FILE": str(table)}
        for allow in ({}, {"TASUKI_TUNING_FOREIGN": "allow"}):
            words = {"environment": settings | allow}
            done = mpiexec("-n", 2, program, **words) if launched else run_command(program, **words)
            assert done.returncode == 0, done.text
            lines = [line for line in done.stderr.splitlines() if "TASUKI_TUNING_FILE" in line]
            assert len(lines) == (1 if foreign and not allow else 0), done.text
            for line in lines:
                assert f"{table}: it was made for " in line and "the built-in parameters are used" in line, (
                    line
                )


def test_all_ranks_choose_by_the_same_table_whatever_each_would_read(mpiexec, build, tmp_path):
    slow, bad = tmp_path / "slow.json", tmp_path / "bad.json"
    slow.write_text(SLOW)
    bad.write_text("{")
    program = build("launch.c")
    for first, other, is_slow in ((slow, bad, True), ("", slow, False)):
        words = ["-n", 1, "-env", "TASUKI_TUNING_FILE", first, program]
        words += [":", "-n", 1, "-env", "TASUKI_TUNING_FILE", other, program]
        done = mpiexec(*words, environment={"TASUKI_EXPLAIN": "all"})
        assert done.returncode == 0, done.text
        assert "TASUKI_TUNING_FILE" not in done.stderr, done.text
        told = {0: [], 1: []}
        for rank, time, unit in CHOICE_OF_ANY.findall(done.stderr):
            told[int(rank)].append(float(time) * (1000 if unit == "ms" else 1))
        assert told[0] and told[0] == told[1], done.text
        assert all((time > 10000) == is_slow for time in told[0]), done.text


@pytest.fixture
def installation(tmp_path):
    """An installation of its own: (mpiexec, the place of its table)."""
    for folder in ("lib", "libexec", "include"):
        (tmp_path / folder).symlink_to(PREFIX / folder)
    (tmp_path / "bin").mkdir()
    shutil.copy(PREFIX / "bin/mpiexec", tmp_path / "bin")
    (tmp_path / "etc/tasuki").mkdir(parents=True)
    return tmp_path / "bin/mpiexec", tmp_path / "etc/tasuki/tuning.json"


def test_jobs_choose_by_the_table_of_the_installation_if_no_other_one_is_named(installation, build, tmp_path):
    mpiexec, table = installation
    program, other, case = build("launch.c"), tmp_path / "other.json", "barrier of 0 to 0 bytes among 2 ranks"
    choices = {"tasuki_tuning": 1, "choices": {case: "dissemination"}}
    other.write_text('{"tasuki_tuning": 1}')

    def told(**environment):
        settings = {"TASUKI_EXPLAIN": "all", **environment}
        done = run_command(mpiexec, "-n", 2, program, environment=settings)
        assert done.returncode == 0, done.text
        found = re.findall(r"rank \d: barrier of 0 bytes among 2 ranks: (\w+)", done.stderr)
        assert len(set(found)) == 1, "all ranks choose alike: " + done.text
        info = json.loads(run_command(mpiexec, "--info=json", environment=environment).stdout)
        assert info["installed_tuning_file"] == str(table)
        warnings = [line for line in done.stderr.splitlines() if line.startswith("mpiexec: ")]
        return found[0], warnings, info["installed_tuning"], info["installed_tuning_reason"]

    assert told() == ("flag_based", [], False, f"{table} is not there; `tasuki tune --install` makes it")
    table.write_text(json.dumps(choices))
    assert told() == ("dissemination", [], True, f"{table} is there")
    assert told(TASUKI_TUNING_FILE="")[0] == "flag_based"
    assert told(TASUKI_TUNING_FILE=str(other))[0] == "flag_based"
    table.write_text(json.dumps(choices | {"made_on": {"processors": 4096}}))
    algorithm, warnings, used, reason = told()
    assert (algorithm, warnings, used) == ("flag_based", [], False), (
        "another machine's says nothing each time"
    )
    assert reason.startswith(f"{table} is not used: it was made for 4096 processors; here: ")
    assert told(TASUKI_TUNING_FOREIGN="allow")[0] == "dissemination"
    table.write_text('{"tasuki_tuning": 1,\n"crowd": {"turn_ns": -1}}')
    algorithm, warnings, used, _ = told()
    assert (algorithm, used) == ("flag_based", False)
    (warning,) = warnings
    assert warning.startswith(f"mpiexec: {table}: line 2: crowd.turn_ns = -1, expected a number"), warning
    assert warning.endswith("; the built-in parameters are used"), warning


def test_the_choice_of_flags_is_told_once_for_each_case(run):
    done = run("launch.c", 2, environment={"TASUKI_EXPLAIN": "1"})
    told = [line for line in done.stderr.splitlines() if " ranks: flag_based, predicted " in line]
    assert told and len(told) == len(set(told)), done.text
    assert all("; runner-up " in line for line in told), done.text


def test_a_name_that_no_algorithm_has_is_refused_with_those_that_are(mpiexec):
    done = mpiexec("--info", environment={"TASUKI_BCAST_ALGORITHM": "best"})
    assert done.returncode != 0
    assert 'TASUKI_BCAST_ALGORITHM = "best", expected cheapest, binomial, scatter_ring' in done.stderr, (
        done.text
    )
