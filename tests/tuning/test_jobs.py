"""tasuki.tuning.measure on real jobs: what is asked is forced and timed, a table is followed, a deadline
ends a job; and `tasuki tune` as a whole, in seconds."""

import json
import re
import time

import machine as made_up
import pytest
from harness import run_command
from tasuki import cli, environment
from tasuki.tuning import TuningError, measure, messages, placement, prices, programs, tables
from tasuki.tuning.cases import Case, algorithm_of
from tasuki.tuning.measure import Question

PREFIX = made_up.PREFIX


@pytest.fixture(scope="module")
def tools():
    return programs.find(PREFIX)


def test_each_series_is_timed_in_as_many_turns(tools):
    answers = {}
    questions = [
        Question(Case("bcast", 4096, 2), 4, ["binomial", "chain/4096", "chain/16384"]),
        Question(Case("barrier", 0, 2), 3, ["flag_based", "dissemination"]),
        Question(Case("bcast", 1 << 20, 3), 2, ["flag_based", "single_copy"]),  # too long for flags
    ]
    assert measure.ask(tools, questions, answers.__setitem__)
    assert set(answers) == {question.case for question in questions}
    for question in questions[:2]:
        assert list(answers[question.case]) == question.series
        assert all(seconds > 0 for times in answers[question.case].values() for seconds in times)
        assert max(map(len, answers[question.case].values())) == question.turns
    assert list(answers[questions[2].case]) == ["single_copy"]


def test_the_table_decides_what_the_library_takes(tools, tmp_path):
    table = tables.builtin(tools.price)
    table.choices = {"bcast of 100 to 200 bytes among 2 ranks": "binomial"}
    tables.save(table, tmp_path / "table.json")
    cases = [Case("bcast", 64, 2), Case("bcast", 128, 2)]
    ran = measure.chosen_by(tools, cases, tmp_path / "table.json")
    assert ran == {cases[0]: "flag_based", cases[1]: "binomial"}
    assert measure.chosen_by(tools, cases, "") == dict.fromkeys(cases, "flag_based")


@pytest.mark.parametrize("network", placement.NETWORKS)
def test_over_nodes_the_formulas_say_what_the_library_says(tools, network):
    """On 2 virtual nodes of 2 ranks: the problem that is asked of is that of a job, and so is the network's
    row. A job tells algorithm and prediction with TASUKI_EXPLAIN."""
    place = placement.of(2, "", network)
    operations = ("allreduce", "alltoall", "bcast", "gather", "reduce", "scatter", "scan")
    cases = [Case(name, size, 4) for name in operations for size in (8, 4096, 1 << 20)]
    processors = place.processors(environment.processors())
    values = tables.builtin(tools.price, place.table_network()).values
    with prices.Prices(tools.price, [(*case, "*") for case in cases], processors, place.nodes) as asked:
        answers = [word.rpartition(":") for word in asked.ask(tables.document_of(values))]
    words = [measure.word_of(Question(case, 0, ["cheapest"])) for case in cases]
    launcher = [tools.mpiexec, *place.options(4), "-n", "4"]
    variables = measure.environment(TASUKI_EXPLAIN="1")
    done = run_command(*launcher, tools.algorithms, *words, environment=variables)
    assert done.returncode == 0, done.stderr
    for case, (series, _, ns) in zip(cases, answers, strict=True):
        found = re.search(
            rf": {case.operation} of {case.bytes} bytes among 4 ranks on 2 nodes: (\w+).*"
            r", predicted (\S+) ([um]s);",
            done.stderr,
        )
        assert found, (case, done.stderr)
        assert found[1] == algorithm_of(series), case
        seconds = float(found[2]) * {"us": 1e-6, "ms": 1e-3}[found[3]]
        assert seconds == pytest.approx(1e-9 * float(ns), rel=1e-3), case
    assert len({series for series, *_ in answers}) > 1


def test_a_table_with_former_names_is_taken(tools, tmp_path):
    path, case = tmp_path / "table.json", "bcast of 100 to 200 bytes among 2 ranks"
    former = {"tasuki_tuning": 1, "stage": {"shared_ns": 5, "flag_ns": 7}, "choices": {case: "shared"}}
    path.write_text(json.dumps(former))
    table = tables.load(path, tools.price)
    assert table.choices == {case: "single_copy"}
    assert (table.values["node_segment.expose_ns"], table.values["node_segment.flag_ns"]) == (5, 7)
    assert set(table.values) == set(tables.builtin(tools.price).values)
    assert measure.chosen_by(tools, [Case("bcast", 128, 2)], path) == {Case("bcast", 128, 2): "single_copy"}


def test_a_table_that_the_library_refuses_is_told(tools, tmp_path):
    (tmp_path / "table.json").write_text("{")
    with pytest.raises(TuningError, match="no JSON"):
        measure.chosen_by(tools, [Case("bcast", 64, 2)], tmp_path / "table.json")


def test_each_way_of_a_message_is_timed(tools):
    """A long one goes every way, a short one none of those of long ones."""
    ways = [*messages.WAYS, *messages.BARE_LOOPS]
    cases = [Case("receive_first", size, 2) for size in (256, 65536)]
    cases += [Case("message_first", 65536, 2), Case("receive_first_untouched", 65536, 2)]
    asked = [
        Question(case, 2, ways if "receive" in case.operation else list(messages.WAYS_MESSAGE_FIRST))
        for case in cases
    ]
    pair = messages.pairs_of(messages.known_processors())["cache"]
    found = messages.ask(tools, pair, asked, time.monotonic() + 60)
    assert set(found.times(cases[0])) == {"eager", *messages.BARE_LOOPS}
    for case, question in zip(cases[1:], asked[1:], strict=True):
        assert set(found.times(case)) == set(question.series), case
        assert all(seconds > 0 for seconds in found.times(case).values())


def test_an_algorithm_that_is_not_there_is_told(tools):
    with pytest.raises(TuningError, match='there is no algorithm "best"'):
        measure.ask(tools, [Question(Case("bcast", 64, 2), 1, ["best"])], lambda *_: None)


def test_a_deadline_ends_a_job_and_keeps_what_was_told(tools, answered_time):
    answers = []
    question = Question(Case("barrier", 0, 2), 5, ["flag_based", "dissemination"])
    answered_time(1)
    whole = measure.ask(tools, [question] * 400, lambda *answer: answers.append(answer), deadline=3)
    assert not whole
    assert 3 <= len(answers) < 400


@pytest.fixture
def tune(answered_time, capsys, tmp_path, monkeypatch):
    """tune(options) -> what the command prints, in the time that its answers take."""

    def run(*words):
        answered_time(0.8)
        monkeypatch.chdir(tmp_path)
        words = ["tune", "--prefix", PREFIX, "-o", "t.json", *words]
        cli.app([str(word) for word in words], standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_a_short_run_writes_a_table_that_the_library_reads(tune, tmp_path):
    words = ["-n", 2, "--budget", "10s", "--operations", "bcast,barrier", "--times", "times.json"]
    told = tune(*words)
    assert "regret before: median" in told and "regret after: median" in told
    assert json.loads((tmp_path / "t.json").read_text())["made_on"] == tables.this_machine()
    assert {row["operation"] for row in json.loads((tmp_path / "times.json").read_text())["rows"]} >= {
        "bcast"
    }
    assert "the library takes" not in told
    assert "messages.cache.sender_write_bytes_min" in told


def test_messages_alone_take_no_collective(tune, tmp_path):
    assert "who copies a message" in tune("--only-messages", "--no-check", "--budget", "5s")
    assert tables.load(tmp_path / "t.json", programs.find(PREFIX).price).choices == {}
