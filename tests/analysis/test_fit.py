"""tasuki.fit: known latency, bandwidth and switch points come back from noisy times, within the intervals
that the fit itself states, in 95 of 100 draws; and what cannot be fitted is refused."""

import math
import pathlib
import sys

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import synthetic
from tasuki import fit, machines
from tasuki.commands.fit import estimate_text
from tasuki.units import bytes_text

DRAWS = 200
# Of 200 draws with a true coverage of 95 %, fewer than 185 hold the truth once in 40 times.
COVERED = 0.95 - 1.96 * math.sqrt(0.95 * 0.05 / DRAWS)

# sizes, (t_L, slope) of each segment, switches, noise of a point
KINDS = {
    "one segment": (synthetic.POWERS, [(1e-6, 1e-10)], [], 0.03),
    "few sizes": (synthetic.POWERS[::2], [(1e-6, 1e-10)], [], 0.05),
    "two segments": (synthetic.POWERS, [(0.3e-6, 2e-10), (2e-6, 0.9e-10)], [1024], 0.03),
    "three segments": (
        synthetic.POWERS,
        [(0.3e-6, 2e-10), (1.2e-6, 1e-10), (6e-6, 0.8e-10)],
        [1024, 65536],
        0.03,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_lies_in_the_stated_intervals(kind):
    sizes, lines, switches, noise = KINDS[kind]
    random = numpy.random.default_rng(7)
    truth = synthetic.times_of(sizes, lines, switches)
    held = {"latency": [], "bandwidth": [], "half": [], "switch": []}
    right = 0
    for _ in range(DRAWS):
        found = fit.fit_series(synthetic.rows_of(sizes, synthetic.noisy(random, truth, noise)))
        if len(found.segments) != len(lines):
            continue
        right += 1
        for segment, (latency, slope) in zip(found.segments, lines, strict=True):
            held["latency"].append(segment.latency_seconds.holds(latency))
            held["bandwidth"].append(segment.bytes_per_second.holds(1 / slope))
            held["half"].append(segment.half_bytes.holds(latency / slope))
        for found_break, switch in zip(found.breaks, switches, strict=True):
            held["switch"].append(found_break.low <= switch < found_break.high)
    assert right >= COVERED * DRAWS
    shares = {name: numpy.mean(one) for name, one in held.items() if one}
    assert min(shares.values()) >= COVERED, shares
    assert numpy.mean(sum(held.values(), [])) >= 0.95, shares


def test_the_intervals_are_narrow_where_the_data_tell():
    """Intervals from 0 to infinity would hold every truth."""
    truth = synthetic.times_of(synthetic.POWERS, [(1e-6, 1e-10)])
    noisy = synthetic.noisy(numpy.random.default_rng(3), truth, 0.03)
    (segment,) = fit.fit_series(synthetic.rows_of(synthetic.POWERS, noisy)).segments
    for estimate in (segment.latency_seconds, segment.bytes_per_second):
        assert estimate.high / estimate.low < 1.1
    assert segment.half_bytes.high / segment.half_bytes.low < 1.2


def test_without_noise_the_truth_is_found_exactly():
    sizes, lines, switches, _ = KINDS["three segments"]
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, lines, switches), factor=2.0)
    found = fit.fit_series(rows)
    assert [(one.low, one.high) for one in found.breaks] == [(1024, 2048), (65536, 131072)]
    assert found.outliers == []
    for segment, (latency, slope) in zip(found.segments, lines, strict=True):
        assert segment.latency_seconds.value == pytest.approx(latency, rel=1e-6)
        assert segment.bytes_per_second.value == pytest.approx(2 / slope, rel=1e-6)
        assert segment.half_bytes.value == pytest.approx(latency / slope, rel=1e-6)
    assert found.seconds(4096) == pytest.approx(1.2e-6 + 4096e-10, rel=1e-6)


@pytest.mark.parametrize("place", [0, 5, 12, 22, 23])
@pytest.mark.parametrize("times", [20, 1 / 20])
def test_one_wild_point_changes_nothing(place, times):
    truth = synthetic.times_of(synthetic.POWERS, [(1e-6, 1e-10)])
    truth[place] *= times
    found = fit.fit_series(synthetic.rows_of(synthetic.POWERS, truth))
    (segment,) = found.segments
    assert found.outliers == [synthetic.POWERS[place]]
    assert segment.latency_seconds.value == pytest.approx(1e-6, rel=1e-3)
    assert segment.bytes_per_second.value == pytest.approx(1e10, rel=1e-3)


def test_neighbours_that_are_all_slow_are_a_segment():
    """Beyond 1 MiB a cache ends: the last three sizes take four times their line, and are not odd points."""
    times = synthetic.times_of(synthetic.POWERS, [(1e-6, 1e-10), (0, 4e-10)], [1 << 20])
    times = synthetic.noisy(numpy.random.default_rng(5), times, 0.02, odd=0)
    found = fit.fit_series(synthetic.rows_of(synthetic.POWERS, times))
    assert found.outliers == []
    assert [(one.low, one.high) for one in found.breaks] == [(1 << 20, 1 << 21)]
    assert found.segments[1].bytes_per_second.holds(2.5e9)


def test_where_many_points_are_odd_the_line_is_wrong():
    """Three of five sizes lie on a line by chance: the other two still count, and the intervals are wide."""
    sizes = [8, 1024, 16384, 131072, 2097152]
    times = synthetic.times_of(sizes, [(1e-6, 1e-10), (5e-6, 1e-10)], [1024])
    found = fit.fit_series(synthetic.rows_of(sizes, times))
    assert len(found.outliers) <= 1 and found.noise > 0.1
    latency = found.segments[0].latency_seconds
    assert latency.high / latency.low > 2


def test_a_segment_of_odd_points_alone_has_a_line():
    """On a machine that others used: of the last three sizes two are odd, so one is left for their line."""
    sizes = [8 << place for place in range(20)]
    times = [0.242, 0.235, 0.24, 0.325, 0.358, 0.376, 0.49, 0.692, 1.14, 0.805, 0.817, 0.911, 1.63, 2.82]
    times = [time * 1e-6 for time in [*times, 4.87, 8.85, 21.6, 59.2, 171, 47100]]
    found = fit.fit_series(synthetic.rows_of(sizes, times))
    assert sum(size >= found.segments[-1].bytes_first for size in found.outliers) >= 2
    assert found.segments[-1].bytes_per_second.low < 1e9


def test_what_the_sizes_do_not_tell_has_an_open_interval():
    """Up to 64 bytes nothing tells the bandwidth, from 1 MiB on little tells the latency."""
    random = numpy.random.default_rng(11)
    small, large = synthetic.POWERS[:7], [megabytes << 20 for megabytes in (1, 2, 4, 8, 16, 32, 64)]
    line = [(1e-6, 1e-10)]
    rows = synthetic.rows_of(small, synthetic.noisy(random, synthetic.times_of(small, line), 0.03, odd=0))
    (segment,) = fit.fit_series(rows).segments
    assert segment.bytes_per_second.high == math.inf and segment.half_bytes.high == math.inf
    assert segment.bytes_per_second.low < 1e10
    rows = synthetic.rows_of(large, synthetic.noisy(random, synthetic.times_of(large, line), 0.03, odd=0))
    (segment,) = fit.fit_series(rows).segments
    assert segment.latency_seconds.low == 0 and segment.latency_seconds.holds(1e-6)


def test_sizes_in_any_order_and_a_size_of_zero():
    sizes = [0, *synthetic.POWERS]
    times = synthetic.times_of(sizes, [(1e-6, 1e-10)])
    times[0] = 0.2e-6  # nothing is moved, and another path is taken
    rows = synthetic.rows_of(sizes, times)
    found = fit.fit_series([*rows[12:], *rows[:12]])
    assert found.zero_seconds == found.seconds(0) == 0.2e-6
    assert [segment.latency_seconds.value for segment in found.segments] == [pytest.approx(1e-6, rel=1e-3)]
    assert found.segments[0].bytes_first == 1


@pytest.mark.parametrize("sizes", [[], [8], [8, 1024], [0, 8, 1024]])
def test_too_few_sizes_are_refused(sizes):
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, [(1e-6, 1e-10)]))
    told = (
        f"{len([size for size in sizes if size])} sizes above 0, expected at least 3" if sizes else "no rows"
    )
    with pytest.raises(fit.FitError, match=told):
        fit.fit_series(rows)


def test_rows_that_do_not_belong_together_are_refused():
    sizes = synthetic.POWERS[:5]
    times = synthetic.times_of(sizes, [(1e-6, 1e-10)])
    rows = synthetic.rows_of(sizes, times)
    with pytest.raises(fit.FitError, match="two rows of 1 bytes, expected one: rows of two runs"):
        fit.fit_series(rows + synthetic.rows_of(sizes, 2 * times))
    with pytest.raises(
        fit.FitError, match="rows of point_to_point/pingpong@2 and of point_to_point/pingpong@4"
    ):
        fit.fit_series(rows[:3] + synthetic.rows_of(sizes[3:], times[3:], ranks=4))
    with pytest.raises(fit.FitError, match="factor = 1 and 2, expected one value"):
        fit.fit_series(rows[:3] + synthetic.rows_of(sizes[3:], times[3:], factor=2.0))


@pytest.mark.parametrize("wrong", [-1e-6, 0.0, math.nan, math.inf])
def test_times_that_are_none_are_refused(wrong):
    rows = synthetic.rows_of(synthetic.POWERS, synthetic.times_of(synthetic.POWERS, [(1e-6, 1e-10)]))
    rows[4].median_seconds = wrong
    with pytest.raises(fit.FitError, match=r"pingpong@2: median_seconds = .* at 16 bytes, expected a time"):
        fit.fit_series(rows)


def test_a_line_is_of_one_state_of_the_machine():
    """A few sizes were measured while cache lines were far, and took three times as long."""
    sizes = synthetic.POWERS
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, [(1e-6, 1e-10)]))
    slow = synthetic.rows_of(sizes, 3 * synthetic.times_of(sizes, [(1e-6, 1e-10)]))
    mixed = slow[:8] + rows[8:]
    for place, row in enumerate(mixed):
        row.line_seconds = [480e-9 if place < 8 else 80e-9] * 2
    run = synthetic.run_of(mixed)
    (found,) = fit.fit_run(run)
    (segment,) = found.segments
    assert segment.bytes_first == sizes[8]
    assert segment.latency_seconds.value == pytest.approx(1e-6, rel=0.01)
    assert [point.bytes for point in machines.of_run(run).curves[0].points] == sizes[8:]


def test_a_run_has_a_fit_of_each_series():
    sizes = synthetic.POWERS
    good = synthetic.rows_of(sizes, synthetic.times_of(sizes, [(1e-6, 1e-10)]), mode="send")
    barrier = synthetic.rows_of([0], numpy.array([2e-6]), "collectives", "barrier", 4)
    fits = fit.fit_run(synthetic.run_of(good + barrier))
    table = fit.frame(fits)
    assert table["series"].tolist() == ["collectives/barrier@4", "point_to_point/pingpong/mode=send@2"]
    assert "0 sizes above 0" in table["trouble"][0] and not table["trouble"][1]
    assert table["latency_seconds_low"][1] <= 1e-6 * 1.001
    assert table["variant.mode"][1] == "send"
    with pytest.raises(fit.FitError, match="0 sizes above 0"):
        fits[0].seconds(8)


@pytest.mark.parametrize(
    "value, low, high, told",
    [
        (100.0, 95.0, 104.0, "100 B ± 5.0 %"),
        (100.0, 95.0, 300.0, "≥ 95 B"),
        (100.0, 20.0, 104.0, "≤ 104 B"),
        (100.0, 20.0, 300.0, "20 B … 300 B"),
        (math.inf, 95.0, math.inf, "≥ 95 B"),
        (100.0, 0.0, 104.0, "≤ 104 B"),
        (math.inf, 0.0, math.inf, "not told"),
    ],
)
def test_an_interval_is_told_by_the_ends_that_the_data_know(value, low, high, told):
    assert estimate_text(fit.Estimate(value, low, high), bytes_text) == told


def test_a_segment_of_odd_points_alone_has_intervals():
    """Times of a machine that is used by others: of the last segment's sizes all but one are odd."""
    told = [1.17, 1.02, 1.03, 1.06, 1.13, 1.26, 1.51, 2890, 3.05, 5.1, 9.19, 29.3, 75.1, 108000]
    found = fit.fit_series(
        synthetic.rows_of([2**power for power in range(3, 17)], [1e-6 * us for us in told])
    )
    assert all(one.bytes_per_second.low <= one.bytes_per_second.high for one in found.segments)
