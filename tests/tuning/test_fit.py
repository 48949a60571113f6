"""tasuki.tuning.fitting and bench/fit_collectives.py: from times that the formulas themselves gave, with
noise, they find the parameters that were behind them."""

import json
import pathlib
import re
import subprocess
import sys

import numpy
import pytest
from harness import PREFIX

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRICE = PREFIX / "libexec/tasuki/price"
sys.path.insert(0, str(ROOT / "bench"))
import fit_collectives  # noqa: E402
from tasuki.tuning import TuningError, fitting, placement, prices, regret, tables, thresholds  # noqa: E402
from tasuki.tuning.cases import Case, Point  # noqa: E402
from tasuki.tuning.samples import Samples  # noqa: E402

PROCESSORS = 4
FORMULAS = prices.Formulas(PRICE, PROCESSORS)
ALGORITHMS = {
    "allreduce": ("recursive_doubling", "ring", "flag_based", "single_copy"),
    "bcast": ("binomial", "chain", "flag_based", "single_copy"),
    "gather": ("linear", "binomial", "flag_based", "single_copy"),
    "alltoall": ("pairwise", "bruck", "flag_based", "single_copy"),
}
SIZES = (8, 256, 4 << 10, 32 << 10, 256 << 10, 1 << 20)
# Each is told apart from the others by some of the cases above.
CHANGED_ANYWHERE = {
    "messages.cache.software_ns": 3,
    "messages.cache.long_ns": 2.5,
    "node_segment.expose_ns": 3,
    "node_segment.get_bytes_per_ns": 0.3,
    "crowd.turn_ns": 4,
}
# On Intel's the rate of a rank that copies alone hides that of a message.
CHANGED = {"amd": CHANGED_ANYWHERE | {"messages.cache.bytes_per_ns": 0.4}, "intel": CHANGED_ANYWHERE}


@pytest.fixture
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


@pytest.mark.parametrize("maker", ["amd", "intel"])  # the prices of "unknown" are those of "intel"
def test_the_parameters_behind_the_times_are_found(maker, built_in_for):
    built_in_for(maker)
    # Where data travels for a long time, or past the caches, the times of long messages tell little else.
    quick = {"messages.cache.stream_bytes_min": thresholds.NEVER, "memory.travelled_bytes_per_ns": 50.0}
    builtin = tables.builtin(PRICE).values | quick
    truth = dict(builtin, **{path: builtin[path] * factor for path, factor in CHANGED[maker].items()})
    points = times_of(truth, (2, 4, 8, 16), noise=0.05)
    found = fitting.fit(points, FORMULAS, builtin, polished=False)
    for path in CHANGED[maker]:
        assert found.values[path] == pytest.approx(truth[path], rel=0.25), path
        assert found.factors[path] < 2, path

    other = times_of(truth, (3, 6), noise=0)
    measured = numpy.array([1e9 * point.seconds for point in other])
    with prices.Prices(PRICE, other, PROCESSORS) as asked:
        assert fitting.median_factor(measured, asked.ns(builtin)) > 1.3
        assert fitting.median_factor(measured, asked.ns(found.values)) < 1.1


def test_what_no_time_tells_of_keeps_its_value(builtin):
    points = [point for point in times_of(builtin, (2,), noise=0) if point.series == "flag_based"]
    found = fitting.fit(points, FORMULAS, builtin)
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

    header = (ROOT / "src" / "tuning" / "processors.hpp").read_text()
    changed = fit_collectives.with_builtins(header, dict(builtin, **{"node_segment.flag_ns": 4711}))
    assert "parameters.flag_ns = 4710;" in changed


def test_regret_is_that_of_what_is_chosen():
    times = {
        Case("bcast", 8, 2): {"binomial": 2e-6, "chain/4096": 1e-6},
        Case("bcast", 64, 2): {"chain": 1e-6},
    }
    chosen = {Case("bcast", 8, 2): "binomial", Case("bcast", 64, 2): "chain"}
    assert regret.regrets_of(times, chosen) == {Case("bcast", 8, 2): pytest.approx(2)}
    chosen[Case("bcast", 8, 2)] = "chain/65536"  # the same algorithm was measured with other segments
    assert regret.regrets_of(times, chosen) == {Case("bcast", 8, 2): pytest.approx(1)}


def test_a_second_look_tells_luck_from_a_wrong_choice():
    wrong, lucky, right, hopeless = (Case("bcast", size, 2) for size in (8, 64, 512, 4096))
    times = {case: {"binomial": 2e-6, "chain/4096": 1e-6} for case in (wrong, lucky, hopeless)}
    times[right] = {"binomial": 1e-6, "chain/4096": 2e-6}
    chosen = dict.fromkeys(times, "binomial")

    def ask(pairs):
        assert pairs == dict.fromkeys((wrong, lucky, hopeless), ["binomial", "chain/4096"])
        seen = Samples()
        for case, first in ((wrong, 2e-6), (lucky, 0.9e-6)):
            seen.add(case, {"binomial": [first] * 3, "chain/4096": [1e-6] * 3})
        seen.add(hopeless, {"binomial": [4e-6], "chain/4096": [1e-6] * 3})  # no second batch
        return seen

    again = regret.looked_at_again(regret.regrets_of(times, chosen), times, chosen, ask)
    assert again == {wrong: pytest.approx(2), lucky: 1, right: 1, hopeless: pytest.approx(4)}


def test_the_choice_names_its_segments():
    told = subprocess.run(
        [PRICE],
        input="bcast 1048576 8 2 *\nbcast 1048576 8 2 chain\nbcast 1048576 8 2 chain/4096\n\n"
        '{"tasuki_tuning": 1, "choices": {"bcast of 1 to 2000000 bytes among 8 ranks": "chain/65536"}}\n',
        capture_output=True,
        text=True,
        timeout=300,
    )
    choice, cheapest, small = told.stdout.split()
    assert choice.startswith("chain/65536:")
    assert float(cheapest) < float(small)


@pytest.mark.parametrize(
    "question",
    ["bcast 8 2 2 best", "bcast -8 2 2 chain", "broadcast 8 2 2 chain", "bcast 8 2 2 chain/x", "8"],
)
def test_a_question_that_makes_no_sense_is_refused(question):
    done = subprocess.run([PRICE], input=question + "\n\n", capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert "expected OPERATION BYTES RANKS PROCESSORS ALGORITHM" in done.stderr


def test_ranks_on_several_nodes_have_prices_of_their_own():
    """2x4 is not 8: no shared memory, parts of nodes, and the network's row, of which jobs over hosts have
    another; 1x8 is 8."""
    asked = ["allreduce 64 8 2 *", "allreduce 64 1x8 2 *", "allreduce 64 2x4 2 flag_based"]
    asked += ["allreduce 64 2x4 2 hierarchical", "allreduce 64 2x4 0.5 hierarchical"]
    over_tcp = tables.document_of(tables.builtin(PRICE, "tcp").values)
    lines = "\n".join([*asked, "", '{"tasuki_tuning": 1}', json.dumps(over_tcp), ""])
    told = subprocess.run([PRICE], input=lines, capture_output=True, text=True, timeout=300)
    here, there = (line.split() for line in told.stdout.splitlines())
    assert here[0] == here[1] == there[0] and here[0].startswith("flag_based:")
    assert here[2] == there[2] == "-"
    assert 2000 < float(here[3]) < float(here[4]) and float(there[3]) > 12000 + float(here[3]) - 2 * 2000


@pytest.mark.parametrize("ranks", ["2x", "x4", "0x4", "2x0", "2x4x1", "4.5", "99999x4", "two"])
def test_ranks_that_are_no_shape_are_refused(ranks):
    told = subprocess.run(
        [PRICE], input=f"bcast 8 {ranks} 2 *\n\n", capture_output=True, text=True, timeout=300
    )
    assert told.returncode == 2 and "expected OPERATION BYTES RANKS" in told.stderr


def test_a_placement_is_that_of_the_options():
    hosts = placement.of(None, "a:4,b:4", "fabric")
    assert hosts.options(4) == ["--host", "a:4,b:4", "--ppn", "2"]
    assert (hosts.nodes, hosts.processors(2), hosts.table_network()) == (2, 2, "tcp")
    nodes = placement.of(2, "", "fabric")
    assert nodes.options(8) == ["--nodes", "2", "--network", "fabric"]
    assert (nodes.processors(2), nodes.table_network()) == (1, "tcp")
    assert placement.of(2, "", "model").table_network() == ""
    assert placement.of(None, "", "fabric") == placement.Placement()
    assert placement.Placement().options(8) == []
    bad = (0, "", "expected a number"), (2, "a,b", "takes no"), (None, "a,a", "different")
    for nodes, host, told in bad:
        with pytest.raises(TuningError, match=told):
            placement.of(nodes, host, "fabric")
    with pytest.raises(TuningError, match="--ranks 3: expected a multiple of the 2 nodes"):
        hosts.check([2, 3])
