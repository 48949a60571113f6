"""tasuki.tuning.thresholds and messages: who copies a message, decided by made-up times of machines that are
known; where two ranks can be, by made-up processors; and `tasuki tune` with both."""

import itertools

import machine as made_up
import numpy
import pytest
from rich.console import Console
from tasuki.tuning import messages, show, tables, thresholds
from tasuki.tuning.cases import Case
from tasuki.tuning.samples import Samples
from tasuki.tuning.thresholds import EAGER_BYTES_MAX, MESSAGE_FIRST, RECEIVE_FIRST, SIZES, Thresholds

KI = 1024
NEVER = EAGER_BYTES_MAX + 1
INTEL = Thresholds(NEVER, NEVER, NEVER)
AMD = Thresholds(4 * KI, 8 * KI, 512 * KI)
ORDERS = (RECEIVE_FIRST, MESSAGE_FIRST)


def like_intel(way, size):
    """Microseconds: both copying wins from 16 KiB on, the ring below."""
    return {
        "eager": 0.3 + size / 12e3,
        "sender_write": 0.9 + size / 30e3,
        "waiting_get": 1.0 + size / 18e3,
        "get": 1.1 + size / 18e3,
        "cooperative": 1.0 + size / 30e3,
        "stream": 1.1 + size / 12e3,
    }[way]


def like_epyc(way, size):
    """A receiver that waits had better get from 8 KiB up to 512 KiB; both copy above."""
    return {
        "eager": 0.2 + size / 3.8e3,
        "sender_write": 0.7 + size / (9e3 if size < 512 * KI else 40e3),
        "waiting_get": 1.05 + size / 25e3,
        "get": 1.1 + size / 25e3,
        "cooperative": 1.1 + size / (9e3 if size < 512 * KI else 40e3),
        "stream": 1.3 + size / 14e3,
    }[way]


def like_virtual_epyc(way, size):
    """What the caches of two processors hand on is slow; what is streamed is not, from 16 KiB on."""
    return {
        "eager": 0.2 + size / 2e3,
        "sender_write": 0.7 + size / 2e3,
        "waiting_get": 0.6 + size / 3e3,
        "get": 0.7 + size / 3e3,
        "cooperative": 1.1 + size / 4e3,
        "stream": 3.0 + size / 11e3,
    }[way]


def times_of(machine, turns=15, noise=0.03, seed=1, left_out=()):
    random = numpy.random.default_rng(seed)
    samples = Samples()
    for size, order in itertools.product(SIZES, ORDERS):
        ways = [way for way in thresholds.ways_to_decide(order, size) if (order, size, way) not in left_out]
        drift = numpy.exp(random.normal(0, noise, turns))  # the same for all of a turn
        own = {
            way: list(1e-6 * machine(way, size) * drift * numpy.exp(random.normal(0, noise, turns)))
            for way in ways
        }
        if ways:
            samples.add(Case(order, size, 2), own)
    return samples


def slower_by(machine, old, new):
    """The worst ratio of true times, new over old."""
    changed = thresholds.changes([Case(order, size, 2) for size in SIZES for order in ORDERS], old, new)
    ratios = [
        machine(after, case.bytes) / machine(before, case.bytes) for case, (before, after) in changed.items()
    ]
    return max(ratios, default=1)


def test_the_way_follows_from_the_thresholds():
    one = Thresholds(4 * KI, 8 * KI, 64 * KI)
    way = thresholds.way_of
    assert [way(one, RECEIVE_FIRST, size) for size in (KI, 4 * KI, 8 * KI, 32 * KI, 64 * KI)] == [
        "eager",
        "sender_write",
        "waiting_get",
        "waiting_get",
        "sender_write",
    ]
    assert [way(one, MESSAGE_FIRST, size) for size in (4 * KI, 16 * KI, 32 * KI, 64 * KI)] == [
        "eager",
        "eager",
        "get",
        "cooperative",
    ]
    assert way(INTEL, RECEIVE_FIRST, 32 * KI) == "sender_write"


def test_an_intel_like_machine_finds_that_both_copy_from_16_kib_on():
    found = thresholds.decide(times_of(like_intel), AMD)
    assert found.sender_write == 16 * KI
    ways = {size: thresholds.way_of(found, RECEIVE_FIRST, size) for size in SIZES}
    assert all(way == ("eager" if size < 16 * KI else "sender_write") for size, way in ways.items())
    assert all(thresholds.way_of(found, MESSAGE_FIRST, size) == "cooperative" for size in SIZES[5:])


def test_an_epyc_like_machine_finds_that_a_waiting_receiver_gets():
    found = thresholds.decide(times_of(like_epyc), INTEL)
    ways = {size: thresholds.way_of(found, RECEIVE_FIRST, size) for size in SIZES}
    assert {way for size, way in ways.items() if 8 * KI <= size < 512 * KI} == {"waiting_get"}
    assert {way for size, way in ways.items() if size >= 512 * KI} == {"sender_write"}
    assert ways[KI] == "eager"
    assert found.cooperative == 512 * KI


def test_a_machine_whose_caches_are_far_apart_finds_that_long_messages_are_streamed():
    for old in (INTEL, AMD):
        found = thresholds.decide(times_of(like_virtual_epyc), old)
        assert found.stream == 16 * KI
        for size in SIZES[5:]:
            assert {thresholds.way_of(found, order, size) for order in ORDERS} == {"stream"}
    streams = AMD._replace(stream=4 * KI)
    assert thresholds.decide(times_of(like_epyc), streams).stream > 4 * KI, "where that is slower"


@pytest.mark.parametrize(
    "machine, right", [(like_intel, Thresholds(16 * KI, NEVER, NEVER)), (like_epyc, AMD)]
)
def test_thresholds_that_are_right_stay(machine, right):
    assert thresholds.decide(times_of(machine), right) == right


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("old", [INTEL, AMD])
def test_noise_changes_nothing(seed, old):
    """All ways take the same time: what looks surely faster by chance does not hold at the second look."""

    def alike(_way, size):
        return 1 + size / 10e3

    found = thresholds.decide(times_of(alike, noise=0.2, seed=seed), old)
    samples, check = (times_of(alike, noise=0.2, seed=one) for one in (seed, 100 + seed))
    kept, ratios = thresholds.confirmed(samples, check, old, found)
    assert len(thresholds.changes(samples.cases(), old, kept)) == len(ratios)
    assert all(ratio.median <= 1.05 for ratio in ratios.values())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("machine", [like_intel, like_epyc])
@pytest.mark.parametrize("old", [INTEL, AMD, Thresholds(KI, KI, 4096 * KI)])
def test_no_size_gets_slower(machine, seed, old):
    found = thresholds.decide(times_of(machine, noise=0.1, seed=seed), old)
    assert slower_by(machine, old, found) <= 1.05


def test_a_size_that_was_not_measured_keeps_its_way():
    missing = {(RECEIVE_FIRST, 64 * KI, "waiting_get")}
    samples = times_of(like_epyc, left_out=missing)
    found = thresholds.decide(samples, INTEL)
    assert thresholds.way_of(found, RECEIVE_FIRST, 64 * KI) == "sender_write"
    assert thresholds.way_of(found, RECEIVE_FIRST, 256 * KI) == "waiting_get"
    assert slower_by(like_epyc, INTEL, found) <= 1
    assert thresholds.decide(Samples(), INTEL) == INTEL


def test_what_the_second_look_finds_slower_is_taken_back():
    samples = times_of(like_epyc)
    found = thresholds.decide(samples, INTEL)

    def other(way, size):
        return like_epyc(way, size) * (3 if way == "waiting_get" and size == 8 * KI else 1)

    kept, ratios = thresholds.confirmed(samples, times_of(other), INTEL, found)
    assert thresholds.way_of(kept, RECEIVE_FIRST, 8 * KI) == "eager"
    assert thresholds.way_of(kept, RECEIVE_FIRST, 64 * KI) == "waiting_get"
    assert Case(RECEIVE_FIRST, 8 * KI, 2) not in ratios
    nothing, ratios = thresholds.confirmed(samples, Samples(), INTEL, found)
    assert (nothing, ratios) == (INTEL, {})


def test_untouched_data_decide_nothing():
    samples, plain = times_of(like_intel), times_of(like_epyc)
    for case in plain.cases():
        samples.add(case._replace(operation=case.operation + messages.UNTOUCHED), plain.visits[case][0])
    assert thresholds.decide(samples, AMD) == thresholds.decide(times_of(like_intel), AMD)


def test_a_pair_of_processors_for_each_distance():
    """Two packages of two caches of two cores of two threads."""
    made = [
        messages.Processor(number, str(number // 2), str(number // 8), str(number // 4))
        for number in range(16)
    ]
    assert messages.pairs_of(made) == {"cache": (0, 2), "package": (0, 4), "machine": (0, 8)}
    assert messages.pairs_of(made[:4]) == {"cache": (0, 2)}
    assert messages.pairs_of(made[:2]) == {}, "threads of one core"
    assert messages.pairs_of([made[0], made[8], made[10]]) == {"cache": (8, 10), "machine": (0, 8)}


def test_processors_are_read_as_the_system_tells_them(tmp_path):
    for number in (0, 1):
        for index, level, shared in ((0, 1, str(number)), (2, 2, str(number)), (3, 3, "0-1")):
            cache = tmp_path / f"cpu{number}" / "cache" / f"index{index}"
            cache.mkdir(parents=True)
            (cache / "level").write_text(f"{level}\n")
            (cache / "shared_cpu_list").write_text(f"{shared}\n")
    assert messages.known_processors(tmp_path, [0, 1]) == [
        messages.Processor(0, "0", "", "0-1"),
        messages.Processor(1, "1", "", "0-1"),
    ]


def test_what_the_budget_did_not_reach_is_told(capsys):
    samples = Samples()
    samples.add(Case(RECEIVE_FIRST, 256, 2), {"eager": [1e-6], "bare_through": [1e-6]})
    console = Console(width=150, highlight=False)
    for founds, asked in (([], 3), (samples, 3), (samples, 1)):
        found = messages.Found("cache", AMD, AMD, founds or Samples(), asked)
        show.show_ways(console, [found])
        show.show_messages(console, tables.parameters(made_up.PRICE), [found])
    nothing, some, everything = capsys.readouterr().out.split("Ranks that have")[1:]
    assert "us one way" not in nothing and "the budget was enough for 0 of 3 cases" in nothing
    assert "us one way: the receive was posted, data touched" in some and "message came first" not in some
    assert "the budget was enough for 1 of 3 cases" in some
    assert "budget" not in everything


def test_the_table_names_what_changed_alone():
    old = tables.TuningTable({messages.path_of("machine", "cooperative"): 65536.0, "crowd.turn_ns": 5.0})
    new = tables.TuningTable({messages.path_of("cache", "sender_write"): 0, "crowd.turn_ns": 12345.0})
    found = messages.Found("cache", INTEL, INTEL._replace(sender_write=16385 - 1), Samples(), 0)
    messages.set_thresholds(new, old, [found])
    assert tables.document_of(new.values, digits=4) == {
        "tasuki_tuning": 1,
        "messages": {"cache": {"sender_write_bytes_min": 16384}, "machine": {"cooperative_bytes_min": 65536}},
        "crowd": {"turn_ns": 12340.0},
    }
