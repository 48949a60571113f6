"""Guidelines: a violation that is there is found, one that is not is claimed no more often than stated."""

import dataclasses
import pathlib
import sys

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from tasuki import guidelines, results

RANKS = 4
SIZES = [8 << (2 * i) for i in range(8)]


def rows_of(random, benchmark, times, group="collectives", noise=0.05, **variant):
    made = []
    for size, time in times.items():
        seconds = (time * numpy.exp(random.normal(0, noise, 40))).tolist()
        made.append(
            results.Row(
                group=group,
                benchmark=benchmark,
                variant=variant or {"form": "blocking"},
                ranks=RANKS,
                bytes=size,
                seconds=seconds,
                **results.summarise(seconds),
            )
        )
    return made


def line(latency, rate=1e9):
    return {size: latency + size / rate for size in SIZES}


def run(*series):
    return results.Run({"name": "a"}, {}, {}, [row for rows in series for row in rows])


def verdicts(found, rule):
    return {one.bytes: one.verdict for one in found if one.rule == rule}


def test_an_allreduce_slower_than_its_parts_is_found():
    random = numpy.random.default_rng(1)
    bad = line(2e-6) | {SIZES[4]: 3 * (2e-6 + SIZES[4] / 1e9)}
    found = guidelines.check(
        run(
            rows_of(random, "allreduce", bad),
            *(rows_of(random, name, line(2e-6)) for name in ("reduce", "bcast")),
        )
    )
    told = verdicts(found, "allreduce ≤ reduce(M) + bcast(M)")
    assert told == dict.fromkeys(SIZES, "kept") | {SIZES[4]: "violated"}
    assert guidelines.violations(found)[0].subject == "collectives/allreduce/form=blocking@4"


def test_sides_of_different_states_of_the_machine_are_not_set_beside_each_other():
    random = numpy.random.default_rng(1)
    series = {name: rows_of(random, name, line(2e-6)) for name in ("reduce", "bcast", "allreduce")}
    for name, rows in series.items():
        for row in rows:
            row.line_seconds = [480e-9 if name == "allreduce" else 80e-9] * 2
    found = guidelines.check(run(*series.values()))
    assert found and not verdicts(found, "allreduce ≤ reduce(M) + bcast(M)")
    assert {one.state for one in found} == {"near", "far"}


def test_sizes_between_are_taken_from_their_neighbours_and_no_others():
    random = numpy.random.default_rng(2)
    found = guidelines.check(
        run(rows_of(random, "allgather", line(1e-6)), rows_of(random, "bcast", line(1e-6)),
            rows_of(random, "gather", line(1e-6)))
    )  # fmt: skip
    # pM of the two greatest is beyond what was measured of bcast, but for the one that is just there.
    told = verdicts(found, "allgather ≤ gather(M) + bcast(pM)")
    assert set(told) == set(SIZES[:-1])
    far = run(rows_of(random, "scatter", {8: 1e-6}), rows_of(random, "bcast", {8: 1e-6, 512: 1e-6}))
    assert "scatter ≤ bcast(pM)" not in {one.rule for one in guidelines.check(far)}


def test_a_size_that_is_slower_than_a_greater_one_is_found():
    random = numpy.random.default_rng(3)
    times = line(1e-6) | {SIZES[2]: 5e-6}
    found = guidelines.check(run(rows_of(random, "bcast", times)))
    told = verdicts(found, "t(M) ≤ t(next size)")
    assert [size for size, verdict in told.items() if verdict == "violated"] == [SIZES[2]]


def test_many_small_ones_that_beat_a_great_one_are_found():
    random = numpy.random.default_rng(4)
    found = guidelines.check(run(rows_of(random, "bcast", {1024: 1e-6, 4096: 9e-6})))
    assert verdicts(found, "t(kM) ≤ k t(M)") == {4096: "violated"}


def test_variants_are_held_against_one_another():
    random = numpy.random.default_rng(5)
    base = {"mode": "send", "memory": "malloc"}
    found = guidelines.check(
        run(
            rows_of(random, "pingpong", {8: 2e-6}, "point_to_point", **base),
            rows_of(random, "pingpong", {8: 1e-6}, "point_to_point", **base | {"mode": "ssend"}),
        )
    )
    assert verdicts(found, "mode send ≤ ssend") == {8: "violated"}


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_equals_are_violations_no_more_often_than_stated(tolerance):
    """Each left side as slow as its right side, at the very bound: at most 5 % of the draws may claim any."""
    random = numpy.random.default_rng(6)
    draws = 200
    wrong = 0
    bound = 1 + tolerance
    for _ in range(draws):
        sizes = dict.fromkeys(SIZES[:4], 1e-6)
        forms = run(
            rows_of(random, "bcast", {size: bound * time for size, time in sizes.items()}, form="blocking"),
            rows_of(random, "bcast", sizes, form="nonblocking"),
        )
        found = guidelines.check(forms, tolerance=tolerance)
        wrong += any(one.verdict == "violated" for one in found if one.rule == "form blocking ≤ nonblocking")
    assert wrong <= 20  # of 200 at 5 %: more once in a thousand times


def test_equal_times_are_neither_violation_nor_proof():
    random = numpy.random.default_rng(7)
    blocking = rows_of(random, "bcast", {8: 1e-6}, noise=1.0, form="blocking")
    nonblocking = [dataclasses.replace(row, variant={"form": "nonblocking"}) for row in blocking]
    found = guidelines.check(run(blocking, nonblocking))
    assert verdicts(found, "form blocking ≤ nonblocking") == {8: "unclear"}


def test_a_run_without_any_pair_has_no_findings():
    random = numpy.random.default_rng(8)
    assert guidelines.check(run(rows_of(random, "barrier", {0: 1e-6}))) == []
