"""bench/fit_collectives.py: from times that the formulas themselves gave, with noise, it finds the parameters
that were behind them."""

import json
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRICE = ROOT / "build" / "release" / "price"
sys.path.insert(0, str(ROOT / "bench"))
import fit_collectives as tool  # noqa: E402

PROCESSORS = 4
ALGORITHMS = {
    "allreduce": ("recursive_doubling", "ring", "flags", "shared"),
    "bcast": ("binomial", "chain", "flags", "shared"),
    "gather": ("linear", "binomial", "flags", "shared"),
    "alltoall": ("pairwise", "bruck", "flags", "shared"),
}
SIZES = (8, 256, 4 << 10, 32 << 10, 256 << 10, 1 << 20)
# Each is told apart from the others by some of the cases above.
CHANGED = {
    "messages.cache.software_ns": 3,
    "messages.cache.long_ns": 2.5,
    "messages.cache.bytes_per_ns": 0.4,
    "stage.shared_ns": 3,
    "stage.pulled_bytes_per_ns": 0.3,
    "crowd.turn_ns": 4,
}


@pytest.fixture(scope="module")
def builtin():
    if not PRICE.exists():
        pytest.fail(f"{PRICE} is not there: run `make build` first")
    return {row.path: row.value for row in tool.builtin_parameters(PRICE)}


def times_of(values, ranks, noise, seed=7):
    """What a machine with these parameters takes, but for noise; of ten times one is far off."""
    points = [
        tool.Point(operation, size, count, algorithm, 1.0)
        for operation, names in ALGORITHMS.items()
        for algorithm in names
        for size in SIZES
        for count in ranks
    ]
    prices = tool.Prices(PRICE, points, PROCESSORS)
    ns = prices.ns(values)
    prices.close()
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
    found = tool.fit(points, PRICE, PROCESSORS, builtin)
    for path in CHANGED:
        assert found[path] == pytest.approx(truth[path], rel=0.25), path

    other = times_of(truth, (3, 6), noise=0)
    measured = numpy.array([1e9 * point.seconds for point in other])
    prices = tool.Prices(PRICE, other, PROCESSORS)
    assert tool.median_factor(measured, prices.ns(builtin)) > 1.3
    assert tool.median_factor(measured, prices.ns(found)) < 1.1
    prices.close()


def test_what_no_time_tells_of_keeps_its_value(builtin):
    points = [point for point in times_of(builtin, (2,), noise=0) if point.algorithm == "flags"]
    found = tool.fit(points, PRICE, PROCESSORS, builtin)
    for path in ("messages.cache.software_ns", "crowd.turn_ns", "stage.shared_ns"):
        assert found[path] == pytest.approx(builtin[path], rel=0.01), path


def test_the_header_takes_the_parameters(builtin):
    header = (ROOT / "src" / "tuning" / "parameters.hpp").read_text()
    changed = tool.with_builtins(
        header, dict(builtin, **{"stage.flag_ns": 4711, "messages.cache.long_ns": 42})
    )
    assert "double flag_ns = 4710;" in changed
    assert re.search(r"MessageParameters cache = \{[^}]*, 42\};", changed)
    assert len(changed.splitlines()) == len(header.splitlines())


def test_regret_is_that_of_the_cheapest_prediction():
    points = [
        tool.Point("bcast", 8, 2, "binomial", 2e-6),
        tool.Point("bcast", 8, 2, "chain", 1e-6),
        tool.Point("bcast", 64, 2, "chain", 1e-6),  # no choice
    ]
    assert tool.regrets_of(points, [10, 20, 5]) == {("bcast", 8, 2): pytest.approx(2)}
    assert tool.regrets_of(points, [20, 10, 5]) == {("bcast", 8, 2): pytest.approx(1)}


def test_a_whole_run_writes_a_table_that_the_library_reads(builtin, tmp_path):
    rows = [point._asdict() for point in times_of(dict(builtin, **{"crowd.turn_ns": 9000}), (2, 3, 8), 0)]
    (tmp_path / "regret.json").write_text(json.dumps({"rows": rows}))
    command = [sys.executable, ROOT / "bench" / "fit_collectives.py", "--price", PRICE, "--out", tmp_path]
    command += ["--from", tmp_path / "regret.json", "--processors", PROCESSORS]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "held out" in done.stdout
    text = (tmp_path / "tuning.json").read_text()
    assert json.loads(text)["crowd"]["turn_ns"] == pytest.approx(9000, rel=0.1)
    line = " ".join(text.split())
    asked = subprocess.run(
        [PRICE], input=f"barrier 0 2 2 *\n\n{line}\n", capture_output=True, text=True, timeout=60
    )
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.startswith("flags:")


@pytest.mark.parametrize("question", ["bcast 8 2 2 best", "bcast -8 2 2 chain", "broadcast 8 2 2 chain", "8"])
def test_a_question_that_makes_no_sense_is_refused(question):
    done = subprocess.run([PRICE], input=question + "\n\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "expected OPERATION BYTES RANKS PROCESSORS ALGORITHM" in done.stderr
