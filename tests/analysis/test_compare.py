"""Comparisons: how often a verdict is wrong stays within what is stated, in repeated draws; what is really
different is found; and what the command line says of files that cannot be compared."""

import dataclasses
import json
import math
import pathlib
import sys

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from command import tasuki
from tasuki import compare, confidence, results

LEVEL = 0.05
# With 200 draws at 5 % more than 20 are seen once in a thousand times.
DRAWS = 200
FALSE_MAX = 20


def row(random, time=1e-6, series=0, samples=30, noise=0.05, parts=(), between=0.0, group="point_to_point"):
    """A row as a busy machine gives it: lognormal, a few samples far off; rounds that differ by `between`."""
    counts = list(parts) or [samples]
    logs = numpy.concatenate(
        [random.normal(0, noise, count) + random.normal(0, between) * (between > 0) for count in counts]
    )
    logs += (random.random(len(logs)) < 0.05) * random.exponential(1, len(logs))
    seconds = (time * numpy.exp(logs)).tolist()
    return results.Row(
        group=group,
        benchmark="pingpong",
        variant={"case": str(series)},
        ranks=2,
        bytes=8,
        seconds=seconds,
        parts=list(parts),
        **results.summarise(seconds),
    )


def run(rows, name):
    environment = {"host": "here", "cpu": "none", "processors": 2, "kernel": "none"}
    return results.Run({"name": name}, environment, {}, rows)


def pair(random, ratios, **how):
    base = run([row(random, series=i, **how) for i in range(len(ratios))], "a")
    other = run([row(random, 1e-6 * ratio, series=i, **how) for i, ratio in enumerate(ratios)], "b")
    return base, other


@pytest.mark.parametrize(
    "how",
    [
        {"samples": 8},
        {"samples": 30},
        {"samples": 120},
        {"parts": [20] * 5, "between": 0.05},
        {"parts": [10] * 3, "between": 0.15},
    ],
    ids=str,
)
def test_equals_are_called_different_no_more_often_than_stated(how):
    """Without tolerance, any verdict among 20 equal rows is wrong: at most 5 % of the draws may have one."""
    random = numpy.random.default_rng(7)
    wrong = 0
    for _ in range(DRAWS):
        made = compare.compare(*pair(random, [1.0] * 20, **how), tolerance=0, level=LEVEL)
        wrong += any(one.verdict != "same" for one in made.rows)
    assert wrong <= FALSE_MAX


def test_intervals_hold_the_true_ratio():
    random = numpy.random.default_rng(8)
    held = total = 0
    for _ in range(20):
        for one in compare.compare(*pair(random, [1.3] * 10)).rows:
            held += one.low <= 1.3 <= one.high
            total += 1
    assert held / total >= 0.90  # 95 % less three standard errors of 200 draws


def test_of_those_called_different_few_are_wrong():
    """Half of the rows really differ: at most 5 % of all that are called so may be equal ones."""
    random = numpy.random.default_rng(9)
    wrong = called = 0
    for _ in range(40):
        made = compare.compare(*pair(random, [1.0] * 10 + [1.12] * 10), tolerance=0)
        for place, one in enumerate(made.rows):
            called += one.verdict != "same"
            wrong += one.verdict != "same" and place < 10
    assert called > 300
    assert wrong / called <= LEVEL + 3 * math.sqrt(LEVEL / called)


@pytest.mark.parametrize("how", [{"samples": 20}, {"parts": [10] * 5, "between": 0.05}], ids=str)
def test_what_differs_is_found_and_in_which_direction(how):
    random = numpy.random.default_rng(10)
    made = compare.compare(*pair(random, [1.5, 1.0, 0.6], **how))
    assert [one.verdict for one in made.rows] == ["slower", "same", "faster"]
    assert made.rows[0].low > 1.05 and made.rows[2].high < 0.95
    summary = {(one["group"]): one for one in made.summary()}
    assert summary["all"]["slower"] == summary["all"]["faster"] == summary["all"]["same"] == 1


def test_rounds_that_differ_more_than_their_samples_are_believed():
    """Samples that are sure of themselves, in jobs that differ by 20 %."""
    random = numpy.random.default_rng(11)
    rounds = {"parts": [50] * 4, "between": 0.2, "noise": 0.01}
    wrong = 0
    for _ in range(100):
        made = compare.compare(*pair(random, [1.0], **rounds), tolerance=0)
        wrong += made.rows[0].verdict != "same"
    assert wrong <= 12


def test_a_difference_within_the_tolerance_is_none():
    random = numpy.random.default_rng(12)
    pairs = pair(random, [1.03] * 5, samples=400, noise=0.02)
    assert {one.verdict for one in compare.compare(*pairs).rows} == {"same"}
    assert {one.verdict for one in compare.compare(*pairs, tolerance=0).rows} == {"slower"}


def test_rows_on_one_side_are_told():
    random = numpy.random.default_rng(13)
    base, other = run([row(random, series=1), row(random, series=2)], "a"), run([row(random, series=2)], "b")
    made = compare.compare(base, other)
    assert made.missing == {"a": [], "b": ["point_to_point/pingpong/case=1@2 8 B"]}
    assert len(made.frame()) == 1


NEAR, FAR = 80e-9, 480e-9


def in_states(made, *lines):
    """A run whose rows were all measured with a cache line taking so long, before and after each round."""
    rows = [dataclasses.replace(one, line_seconds=[seconds for seconds in lines]) for one in made.rows]
    return dataclasses.replace(made, rows=rows)


def test_rows_of_different_states_of_the_machine_are_not_compared():
    base, other = pair(numpy.random.default_rng(15), [2.0, 1.0])
    for lines in ((FAR, FAR), (NEAR, FAR)):
        made = compare.compare(in_states(base, NEAR, NEAR), in_states(other, *lines))
        assert not made.rows and len(made.apart["b"]) == 2
        assert any("2 rows of a and b are from different states" in text for text in made.warnings)
        assert compare.gate(made).status == compare.UNCLEAR
        json.dumps(made.document())
    made = compare.compare(in_states(base, FAR, FAR), in_states(other, FAR, FAR))
    assert [(one.verdict, one.state) for one in made.rows] == [("slower", "far"), ("same", "far")]
    made = compare.compare(base, in_states(other, FAR, FAR))
    assert [(one.verdict, one.state) for one in made.rows] == [("slower", ""), ("same", "")]


def test_rounds_in_both_states_give_a_row_of_each():
    """Twice as slow where lines are far alone: by near rounds nothing differs."""
    random = numpy.random.default_rng(16)
    rounds, lines = [20] * 6, [NEAR, NEAR] * 3 + [FAR, FAR] * 3
    base, other = pair(random, [1.0], parts=rounds, between=0.01)
    for place in range(60, 120):
        other.rows[0].seconds[place] *= 2
    made = compare.compare(in_states(base, *lines), in_states(other, *lines))
    assert [(one.state, one.verdict) for one in made.rows] == [("near", "same"), ("far", "slower")]
    assert {one["group"] for one in made.summary()} >= {"all", "all, lines near", "all, lines far"}
    one_sided = compare.compare(in_states(base, *[NEAR] * 12), in_states(other, *lines))
    assert [(one.state, one.verdict) for one in one_sided.rows] == [("near", "same")]


def test_the_command_shows_states_apart(tmp_path):
    random = numpy.random.default_rng(17)
    lines = [NEAR, NEAR] * 3 + [FAR, FAR] * 3
    for made in pair(random, [2.0], parts=[20] * 6, between=0.01):
        in_states(made, *lines).save(tmp_path / f"{made.implementation['name']}.json")
    done = tasuki("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert "lines" in done.stdout and "near" in done.stdout and "far" in done.stdout, done.stdout


def test_what_is_not_alike_is_told():
    random = numpy.random.default_rng(14)
    base, other = pair(random, [1.0])
    other.environment["cpu"] = "another"
    assert "environment.cpu is 'none' in a and 'another' in b" in compare.compare(base, other).warnings


def test_a_single_sample_proves_nothing():
    random = numpy.random.default_rng(15)
    made = compare.compare(*pair(random, [100.0], samples=1))
    assert made.rows[0].verdict == "same" and not made.rows[0].tight


def test_runs_that_cannot_be_compared_are_refused():
    random = numpy.random.default_rng(16)
    base, other = pair(random, [1.0])
    other.rows[0].bytes = 16
    with pytest.raises(results.ResultsError, match="have no row in common"):
        compare.compare(base, other)
    base.rows.append(base.rows[0])
    with pytest.raises(results.ResultsError, match="is there twice"):
        compare.compare(base, base)


def test_adjusting_leaves_the_order_and_grows_with_their_number():
    assert confidence.adjusted([]) == []
    assert confidence.adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


def command(*words):
    return tasuki("compare", *words)


@pytest.fixture
def files(tmp_path):
    random = numpy.random.default_rng(17)
    made = pair(random, [1.5, 1.0, 0.6])
    for one in made:
        one.save(tmp_path / f"{one.implementation['name']}.json")
    return [tmp_path / "a.json", tmp_path / "b.json"]


def test_the_command_tells_verdicts_and_ends_well(files):
    done = command(*files)
    assert done.returncode == 0, done.stderr
    assert "slower" in done.stdout and "faster" in done.stdout
    document = json.loads(command(*files, "--json").stdout)
    assert [one["verdict"] for one in document["rows"]] == ["slower", "same", "faster"]
    assert document["tasuki_comparison"] == 1 and "guidelines" in document


def test_the_command_fails_on_what_it_was_told_to(files):
    assert command(*files, "--fail-on", "slower").returncode == 1
    assert command(files[0], files[0], "--fail-on", "slower").returncode == 0
    wrong = command(*files, "--fail-on", "sometimes")
    assert wrong.returncode == 2 and "--fail-on sometimes" in wrong.stderr


LIMITS = [1.0, 1.0]


@pytest.mark.parametrize(
    "ratios, limits, noise, changed, status, words",
    [
        (
            [1.0] * 8,
            LIMITS,
            0.05,
            {},
            0,
            "gate: passed: none of 8 rows is slower by more than 5% beyond chance (0",
        ),
        ([1.0] * 7 + [0.5], LIMITS, 0.05, {}, 0, "gate: passed"),
        ([1.0] * 6 + [1.5, 1.3], LIMITS, 0.05, {}, 1, "gate: failed: 2 of 8 rows are slower by more than 5%"),
        (
            [1.5] * 8,
            [1.5, 1.5],
            0.05,
            {},
            3,
            "so are 2 of 2 in which no MPI is at work: the machine was slower",
        ),
        ([1.02] * 8, LIMITS, 1.5, {}, 3, "of 8 rows are too restless to show 10%"),
        ([1.5] * 8, LIMITS, 0.05, {"cpu": "other"}, 3, "environment.cpu is 'none' in a and 'other' in b"),
        ([1.0] * 8, LIMITS, 0.05, {"host": "other"}, 0, "gate: passed"),
        ([], LIMITS, 0.05, {}, 3, "there is no row in which an MPI is at work"),
    ],
)
def test_a_gate_ends_with_one_line_and_a_status(ratios, limits, noise, changed, status, words):
    random = numpy.random.default_rng(23)
    base, other = pair(random, ratios, noise=noise)
    for place, ratio in enumerate(limits):
        base.rows.append(row(random, series=f"limit{place}", group="limit"))
        other.rows.append(row(random, 1e-6 * ratio, series=f"limit{place}", group="limit"))
    other.environment.update(changed)
    ended = compare.gate(compare.compare(base, other))
    assert ended.status == status and words in ended.text and "\n" not in ended.text, ended.text


def test_a_gate_fails_for_nothing_no_more_often_than_stated():
    random = numpy.random.default_rng(29)
    failed = sum(
        compare.gate(compare.compare(*pair(random, [1.0] * 20))).status == compare.SLOWER for _ in range(100)
    )
    assert failed <= 12  # of 100 at 5 %: more are seen less than once in a thousand times


def test_the_command_as_a_gate(files):
    done = command(*files, "--gate")
    assert done.returncode == 1 and done.stdout.startswith("gate: failed: 1 of 3 rows is slower"), done.stdout
    assert done.stdout.count("\n") == 1
    told = json.loads(command(*files, "--gate", "--json").stdout)["gate"]
    assert told == {"status": 1, "text": done.stdout.rstrip("\n")}
    alone = command(files[0], "--gate")
    assert alone.returncode == 2 and "--gate: expected two files or more" in alone.stderr


@pytest.mark.parametrize(
    "words, told",
    [
        (["nowhere.json", "b.json"], "nowhere.json: No such file"),
        ([], "expected files"),
        (["a.json", "--fail-on", "slower"], "expected two files or more"),
        (["a.json", "b.json", "--tolerance", "-1"], "--tolerance -1"),
        (["a.json", "b.json", "--mpi", "/nowhere"], "either files or --mpi"),
        (["--mpi", "/nowhere", "--mpi", "/elsewhere"], "there is no /nowhere/bin/mpiexec"),
    ],
)
def test_the_command_refuses_what_it_cannot_compare(files, words, told):
    words = [files[0].with_name(word) if word.endswith(".json") else word for word in words]
    done = command(*words)
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1
