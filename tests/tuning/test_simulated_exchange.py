"""`tasuki simulate --exchange`: collective writes on simulated machines take what closed forms say, carry
what was sent, and end no earlier than their bounds; where all ranks begin alike, later ranks are later."""

import json
import os

import machine as made_up
import pytest
from tasuki import machines, simulation
from tasuki.simulation import exchange, papers

SIMULATOR = made_up.simulator()
NODES, RANKS_PER_NODE = 4, 2
SOFTWARE, HARDWARE, RATE, TARGET_RATE, RECEIVE, HANDOVER = 1e-6, 6e-7, 5e9, 1e8, 4e-7, 1e-3
STRIPE = 64 << 10


def machine(kind="crossbar", shape=(NODES,), **changes):
    parameters = {
        "software_seconds": SOFTWARE,
        "hardware_seconds": HARDWARE,
        "link_bytes_per_second": RATE,
        "copy_bytes_per_second": RATE,
        "receive_overhead_seconds": RECEIVE,
        "ranks_per_node": RANKS_PER_NODE,
        "messages_under_way": 1,
        "storage_targets": 4,
        "targets_per_server": 2,
        "storage_link_bytes_per_second": RATE,
        "server_bytes_per_second": RATE,
        "target_bytes_per_second": TARGET_RATE,
        "handover_seconds": HANDOVER,
        "stripe_bytes": STRIPE,
    }
    document = {
        "tasuki_machine": 1,
        "parameters": {
            name: {"value": value, "source": "guess"} for name, value in (parameters | changes).items()
        },
        "topology": {"kind": kind, "shape": list(shape), "source": "guess"},
    }
    return machines.machine_of(document, "made-up.json")


def run(of, *exchanges):
    return exchange.run_exchanges(of, exchanges, simulator=SIMULATOR)


@pytest.mark.parametrize("size", [1000, 1 << 20], ids=["queued", "shared"])
def test_each_with_each_by_nodes(size):
    """One rank a node: each step of the shifted order has every link once, and w = 1 makes steps."""
    of = machine(ranks_per_node=1)
    (one,) = run(of, exchange.Exchange("nd_shift", even_bytes=size, cycles=1))
    step = SOFTWARE + HARDWARE + size / RATE + RECEIVE
    itself = SOFTWARE + size / RATE + RECEIVE
    assert one["seconds"] == pytest.approx((NODES - 1) * step + itself, rel=1e-6)
    assert one["messages"] == NODES * NODES


def test_a_target_serves_one_window_after_the_other():
    """All windows go to one target, of two nodes in turn or of one: the changes of nodes cost."""
    regions = {"region_bytes": STRIPE, "regions": 4, "cycles": 4}
    of = machine(storage_targets=1, ranks_per_node=1, shape=(2,))
    (two,) = run(of, exchange.Exchange("nd_shift", **regions))
    windows = 2 * 4
    least = windows * STRIPE / TARGET_RATE
    assert two["written_bytes"] == windows * STRIPE
    assert two["seconds"] == pytest.approx(least + (windows - 1) * HANDOVER, rel=0.01)
    (alone,) = run(machine(storage_targets=1, ranks_per_node=1, shape=(1,)), exchange.Exchange(**regions))
    assert alone["seconds"] == pytest.approx(4 * STRIPE / TARGET_RATE, rel=0.01)


@pytest.mark.parametrize("kind, shape", [("crossbar", (NODES,)), ("torus", (2, 2))])
@pytest.mark.parametrize("at_a_time", [1, 2])
def test_what_is_sent_arrives_and_bounds_hold(kind, shape, at_a_time):
    """In every order, of both placements, to aggregators in blocks and in turn; a file of some cycles."""
    region, gap, regions = 3000, 500, 100
    cases = [
        exchange.Exchange(order, placement, per_node, layout, region, gap, regions, 0, 100, at_a_time)
        for order in exchange.ORDERS
        for placement in exchange.PLACEMENTS
        for per_node, layout in ((2, "block"), (2, "round_robin"))
    ]
    for one in run(machine(kind, shape), *cases):
        assert one["cycles"] == one["cycles_of_file"] >= 5
        assert one["sent_bytes"] == one["received_bytes"] == one["written_bytes"], one
        assert one["sent_bytes"] == NODES * RANKS_PER_NODE * region * regions
        assert one["carried_bytes"] >= one["network_bytes"] + 3 * one["written_bytes"]
        assert one["seconds"] >= one["bound_seconds"] > 0, one
        assert one["seconds"] >= max(one["rank_seconds"])


def test_an_order_that_all_begin_alike_is_late():
    of = machine(shape=(8,), ranks_per_node=4)
    even = {"even_bytes": 3744, "cycles": 1, "aggregators_per_node": 4}
    rank, shifted = run(of, exchange.Exchange("rank", **even), exchange.Exchange("nd_rank_shift", **even))
    assert rank["seconds"] > 1.5 * shifted["seconds"]
    assert rank["rank_seconds"][-1] > 1.5 * rank["rank_seconds"][0], "in blocks, later ranks are later"
    (around,) = run(of, exchange.Exchange("rank", "RR", **even))
    assert around["seconds"] < rank["seconds"]
    says = exchange.advice([rank, shifted])
    assert says[0].startswith("best: order nd_rank_shift")
    ratio = rank["seconds"] / shifted["seconds"]
    assert says[1] == f"order rank instead of nd_rank_shift would take {ratio:.2f} times as long"


def test_two_cycles_at_a_time_overlap_exchange_and_writing():
    of = machine(link_bytes_per_second=2e8, copy_bytes_per_second=2e8)
    file = {"region_bytes": 3000, "regions": 200, "cycles": 100, "aggregators_per_node": 1}
    one, two = run(of, *(exchange.Exchange(**file, cycles_at_a_time=number) for number in (1, 2)))
    assert two["seconds"] < 0.9 * one["seconds"]


@pytest.mark.parametrize(
    "text, says",
    [
        ('order = "best"\neven_bytes = 8', "order = 'best', expected rank, pairwise, nd_shift"),
        ('placement = ["BK", "XX"]\neven_bytes = 8', "placement = 'XX', expected BK, RR"),
        ("cycles = 0\neven_bytes = 8", "cycles = 0, expected a whole number from 1 on"),
        ("cycle = 2", "cycle is no field here, expected order"),
        ("order = []\neven_bytes = 8", "order = [], expected a value"),
        ("regions = 4", "region_bytes is not given"),
        ("regions = 4\nregion_bytes = 'large'", "region_bytes = 'large', expected a size"),
        ("cycles = 2", "expected either even_bytes, or regions"),
        ("cycles =", "is no TOML document"),
    ],
)
def test_bad_lists(tmp_path, text, says):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(simulation.SimulationError) as error:
        exchange.read(path)
    assert says in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_arrays_are_tried_with_each_other(tmp_path):
    path = tmp_path / "all.toml"
    path.write_text('order = "all"\nplacement = ["BK", "RR"]\neven_bytes = "4KiB"\n')
    found = exchange.read(path)
    assert len(found) == 10
    assert {one.even_bytes for one in found} == {4096}


@pytest.mark.parametrize("name", ["link_bytes_per_second", "target_bytes_per_second"])
def test_a_rate_of_nothing_is_refused(name):
    with pytest.raises(simulation.SimulationError, match=f"{name} = 0, expected a number above 0"):
        run(machine().with_value(name, 0), exchange.Exchange(region_bytes=8, regions=1))


def test_what_is_too_large_or_unknown_is_refused():
    large = exchange.Exchange(even_bytes=8, aggregators_per_node=12)
    with pytest.raises(simulation.SimulationError, match="about 5.8e.10 messages, expected at most"):
        exchange.estimate(machine(ranks_per_node=12), [large], 20000)
    file = exchange.Exchange(region_bytes=8, regions=1)
    k = machines.load("k-computer")
    with pytest.raises(simulation.SimulationError, match="storage_targets is unknown"):
        exchange.run_exchanges(k, [file], simulator=SIMULATOR)


def test_the_paper_of_tsubame():
    """Its ratios, which the machine's numbers are fitted to, and what is not: the shapes of figure 8."""
    if not os.environ.get("TASUKI_TEST_LONG"):
        sources = {one.source for one in machines.load("tsubame2.5").parameters.values()}
        assert "fitted" in sources, "what was chosen to fit is named"
        return
    found = {(one.case, one.quantity): one for one in papers.paper_002(SIMULATOR)}
    fitted = [one for one in found.values() if one.kind == "fitted"]
    assert len(fitted) == 3
    for one in fitted:
        assert abs(one.off) <= 0.02, one
    even = {case: one.predicted for (case, quantity), one in found.items() if quantity == "time"}
    assert even["each with each, RR, rank"] < even["each with each, BK, rank"]
    assert all(one <= even["each with each, BK, rank"] for one in even.values())
    assert found["each with each, BK, rank", "last rank"].predicted > 2
    assert json.dumps([one.case for one in found.values()])
