"""tasuki.tuning.fitting and bench/fit_collectives.py: from times that the formulas themselves gave, with
noise, they find the parameters that were behind them."""

import pathlib
import re
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRICE = ROOT / "build" / "release" / "price"
sys.path.insert(0, str(ROOT / "bench"))
import fit_collectives  # noqa: E402
from tasuki.tuning import fitting, prices, regret, tables  # noqa: E402
from tasuki.tuning.cases import Case, Point  # noqa: E402

PROCESSORS = 4
ALGORITHMS = {
    "allreduce": ("recursive_doubling", "ring", "flag_based", "single_copy"),
    "bcast": ("binomial", "chain", "flag_based", "single_copy"),
    "gather": ("linear", "binomial", "flag_based", "single_copy"),
    "alltoall": ("pairwise", "bruck", "flag_based", "single_copy"),
}
SIZES = (8, 256, 4 << 10, 32 << 10, 256 << 10, 1 << 20)
# Each is told apart from the others by some of the cases above.
CHANGED = {
    "messages.cache.software_ns": 3,
    "messages.cache.long_ns": 2.5,
    "messages.cache.bytes_per_ns": 0.4,
    "node_segment.expose_ns": 3,
    "node_segment.get_bytes_per_ns": 0.3,
    "crowd.turn_ns": 4,
}


@pytest.fixture(scope="module")
def builtin():
    if not PRICE.exists():
        pytest.fail(f"{PRICE} is not there: run `make build` first")
    return tables.builtin(PRICE).values


def times_of(values, ranks, noise, seed=7):
    """What a machine with these parameters takes, but for noise; of ten times one is far off."""
    points = [
        Point(operation, size, count, algorithm, 1.0)
        for operation, names in ALGORITHMS.items()
        for algorithm in names
        for size in SIZES
        for count in ranks
    ]
    with prices.Prices(PRICE, points, PROCESSORS) as asked:
        ns = asked.ns(values)
    random = numpy.random.default_rng(seed)
    off = numpy.exp(random.normal(0, noise, len(points)))
    off[random.random(len(points)) < (0.1 if noise else 0)] *= 3
    return [
        point._replace(seconds=1e-9 * time * factor)
        for point, time, factor in zip(points, ns, off, strict=True)
        if not numpy.isnan(time)
    ]


def test_the_parameters_behind_the_times_are_found(builtin):
    truth = dict(builtin, **{path: builtin[path] * factor for path, factor in CHANGED.items()})
    points = times_of(truth, (2, 4, 8, 16), noise=0.05)
    found = fitting.fit(points, PRICE, PROCESSORS, builtin, polished=False)
    for path in CHANGED:
        assert found.values[path] == pytest.approx(truth[path], rel=0.25), path
        assert found.factors[path] < 2, path

    other = times_of(truth, (3, 6), noise=0)
    measured = numpy.array([1e9 * point.seconds for point in other])
    with prices.Prices(PRICE, other, PROCESSORS) as asked:
        assert fitting.median_factor(measured, asked.ns(builtin)) > 1.3
        assert fitting.median_factor(measured, asked.ns(found.values)) < 1.1


def test_what_no_time_tells_of_keeps_its_value(builtin):
    points = [point for point in times_of(builtin, (2,), noise=0) if point.series == "flag_based"]
    found = fitting.fit(points, PRICE, PROCESSORS, builtin)
    for path in ("messages.cache.software_ns", "crowd.turn_ns", "node_segment.expose_ns"):
        assert found.values[path] == pytest.approx(builtin[path], rel=0.01), path
        assert found.factors[path] is None, path


def test_the_header_takes_the_parameters(builtin):
    header = (ROOT / "src" / "tuning" / "parameters.hpp").read_text()
    changed = fit_collectives.with_builtins(
        header, dict(builtin, **{"node_segment.flag_ns": 4711, "messages.cache.long_ns": 42})
    )
    assert "double flag_ns = 4710;" in changed
    assert re.search(r"MessageParameters cache = \{[^}]*, 42\};", changed)
    assert len(changed.splitlines()) == len(header.splitlines())


def test_regret_is_that_of_what_is_chosen():
    times = {
        Case("bcast", 8, 2): {"binomial": 2e-6, "chain/4096": 1e-6},
        Case("bcast", 64, 2): {"chain": 1e-6},
    }
    chosen = {Case("bcast", 8, 2): "binomial", Case("bcast", 64, 2): "chain"}
    assert regret.regrets_of(times, chosen) == {Case("bcast", 8, 2): pytest.approx(2)}
    chosen[Case("bcast", 8, 2)] = "chain/65536"  # the same algorithm was measured with other segments
    assert regret.regrets_of(times, chosen) == {Case("bcast", 8, 2): pytest.approx(1)}


def test_the_choice_names_its_segments():
    told = subprocess.run(
        [PRICE],
        input="bcast 1048576 8 2 *\nbcast 1048576 8 2 chain\nbcast 1048576 8 2 chain/4096\n\n"
        '{"tasuki_tuning": 1, "choices": {"bcast of 1 to 2000000 bytes among 8 ranks": "chain/65536"}}\n',
        capture_output=True,
        text=True,
        timeout=60,
    )
    choice, cheapest, small = told.stdout.split()
    assert choice.startswith("chain/65536:")
    assert float(cheapest) < float(small)


@pytest.mark.parametrize(
    "question",
    ["bcast 8 2 2 best", "bcast -8 2 2 chain", "broadcast 8 2 2 chain", "bcast 8 2 2 chain/x", "8"],
)
def test_a_question_that_makes_no_sense_is_refused(question):
    done = subprocess.run([PRICE], input=question + "\n\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "expected OPERATION BYTES RANKS PROCESSORS ALGORITHM" in done.stderr
