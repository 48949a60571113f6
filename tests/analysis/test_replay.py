"""tasuki.replay: made up traces with answers worked out by hand: eager and rendezvous messages, waits,
persistent requests, wildcards, collectives, probes, what ranks that died leave; and on another machine."""

import dataclasses
import gc
import json
import pathlib
import random
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import made_traces  # noqa: E402
from made_traces import Rank  # noqa: E402
from tasuki import machines, pricing  # noqa: E402
from tasuki import predicted as predictions  # noqa: E402
from tasuki import trace as traces  # noqa: E402
from tasuki.replay import ReplayError, replay  # noqa: E402

MICRO = 1e-6


@dataclasses.dataclass
class Parts:
    sender_seconds: float
    wire_seconds: float
    transfer_seconds: float
    receiver_seconds: float
    rendezvous: bool
    how: str = "made up"


@dataclasses.dataclass
class Price:
    seconds: float
    how: str = "made up"


class Prices:
    """o_s 1 µs, L 2 µs, o_r 3 µs, 1 kB/µs, rendezvous above 10 kB; collectives 20 µs."""

    def point_to_point(self, size, used=0.0):
        return Parts(1 * MICRO, 2 * MICRO, size * 1e-9, 3 * MICRO, size > 10_000)

    def price(self, operation, ranks, size, used=0.0):
        assert operation.startswith("MPI_") and ranks > 1
        return Price(20 * MICRO)


@pytest.fixture
def predicted(tmp_path):
    """predicted(rank, …) -> {(rank, function): [microseconds of each of its calls]}, and the Replay"""

    def run(*ranks, factor=1.0, prices=None):
        trace = traces.load(made_traces.write(tmp_path / "a.trace", *ranks))
        found = replay(trace, prices or Prices(), factor)
        times = {}
        for row in found.calls.itertuples():
            times.setdefault((row.rank, row.function), []).append(row.predicted / MICRO)
        return times, found

    return run


def started(rank, size, at=0.0):
    return Rank(rank, size).call("MPI_Init", at, 10 + at, group=0)


def test_an_eager_message(predicted):
    """Sent at 20, there at 20 + 1 + 2 + 1, taken until 27; the receiver came at 15."""
    first = started(0, 2).call("MPI_Send", 20, 21, peer=1, sent=1000)
    second = started(1, 2).call("MPI_Recv", 15, 30, source=0, received=1000)
    times, found = predicted(first, second)
    assert times[0, "MPI_Send"] == pytest.approx([1])
    assert times[1, "MPI_Recv"] == pytest.approx([12])
    assert found.measured == pytest.approx(16e-6) and found.predicted == pytest.approx(13e-6)
    assert not found.notes


def test_the_collector_of_cycles_rests_meanwhile(predicted):
    """It looked at all events of a long trace again and again: 15 s instead of 3 for 190,000 calls."""
    ran, thresholds = [], gc.get_threshold()

    def note(phase, info):
        caller = sys._getframe(1)
        ran.append(caller.f_globals.get("__name__", ""))

    first, second = started(0, 2), started(1, 2)
    for number in range(100):
        first.call("MPI_Send", 20 + 10 * number, 21 + 10 * number, peer=1, sent=1000)
        second.call("MPI_Recv", 20 + 10 * number, 25 + 10 * number, source=0, received=1000)
    gc.callbacks.append(note)
    gc.set_threshold(20)
    try:
        predicted(first, second)
        assert gc.isenabled()
        with pytest.raises(ReplayError):
            predicted(first, second, factor=-1.0)
        assert gc.isenabled()
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)
    assert ran and not {"tasuki.replay", "tasuki.own_calls", "tasuki.predicted"} & set(ran), set(ran)


def test_a_late_receiver_finds_it_there(predicted):
    first = started(0, 2).call("MPI_Send", 20, 21, peer=1, sent=1000)
    second = started(1, 2).call("MPI_Recv", 100, 101, source=0, received=1000)
    assert predicted(first, second)[0][1, "MPI_Recv"] == pytest.approx([3])


def test_a_rendezvous_waits_for_the_receiver(predicted):
    """Said at 21, the receiver comes at 100: transfer 2 + 50, o_r 3: both are through at 155."""
    first = started(0, 2).call("MPI_Send", 20, 30, peer=1, sent=50_000)
    second = started(1, 2).call("MPI_Recv", 100, 110, source=0, received=50_000)
    times, _ = predicted(first, second)
    assert times[0, "MPI_Send"] == pytest.approx([135]) and times[1, "MPI_Recv"] == pytest.approx([55])


def test_waits_hold_later_calls_up(predicted):
    """Rank 1 receives until 27 and computes 10: its answer leaves at 37; rank 0 has it at 41 + 3."""
    first = started(0, 2).call("MPI_Send", 20, 21, peer=1, sent=1000)
    first.call("MPI_Recv", 22, 90, source=1, received=1000)
    second = started(1, 2).call("MPI_Recv", 15, 80, source=0, received=1000)
    second.call("MPI_Send", 90, 91, peer=0, sent=1000)
    times, _ = predicted(first, second)
    assert times[0, "MPI_Recv"] == pytest.approx([44 - 22])
    times, _ = predicted(
        first, second, factor=2.0
    )  # starts at 10: sent at 30, received 37, computed 57, 61 + 3
    assert times[0, "MPI_Recv"] == pytest.approx([64 - 33])


def exchange(rank, begin, size):
    """Irecv, Isend, Waitall: each call of the first two takes 1 µs, as recorded."""
    made = started(rank, 2)
    made.call("MPI_Irecv", begin, begin + 1, source=1 - rank, tag=4, received=size, made=1)
    made.call("MPI_Isend", begin + 2, begin + 3, peer=1 - rank, tag=4, sent=size, made=1)
    return made.call("MPI_Waitall", begin + 4, begin + 99, done=[(0, 1 - rank, size), (1, -1, -1)], group=0)


@pytest.mark.parametrize("size, ends", [(1000, 50 + 2 + 1 + 2 + 1 + 3), (50_000, 50 + 4 + 2 + 50 + 3)])
def test_nonblocking_exchanges(predicted, size, ends):
    """Both have what they wait for when the later one's message has come."""
    times, found = predicted(exchange(0, 20, size), exchange(1, 50, size))
    assert not [note for note in found.notes if "trace" in note], found.notes
    begin = {0: 24, 1: 54}
    assert times[0, "MPI_Waitall"][0] == pytest.approx(ends - begin[0], abs=2)
    if size > 10_000:
        assert times[1, "MPI_Waitall"][0] == pytest.approx(ends - begin[1], abs=2)


def test_wildcards_follow_what_came(predicted):
    """Two messages to rank 0, which takes any rank's: the statuses say that rank 2's was first."""
    first = started(0, 3)
    first.call("MPI_Irecv", 11, 11.5, source=traces.ANY_SOURCE, tag=-1, received=9000, made=1)
    first.call("MPI_Wait", 12, 50, done=[(0, 2, 1000)], group=0)
    first.call("MPI_Recv", 51, 90, source=1, received=1000, flags=traces.WILDCARD)
    second = started(1, 3).call("MPI_Send", 60, 61, peer=0, sent=1000)
    third = started(2, 3).call("MPI_Send", 30, 31, peer=0, sent=1000)
    times, found = predicted(first, second, third)
    assert times[0, "MPI_Wait"] == pytest.approx([30 + 1 + 2 + 1 + 3 - 12])
    assert times[0, "MPI_Recv"] == pytest.approx([60 + 7 - 38])
    assert not found.notes


def test_tags_and_order_decide_what_meets(predicted):
    first = started(0, 2).call("MPI_Send", 20, 21, peer=1, tag=1, sent=1000)
    first.call("MPI_Send", 70, 71, peer=1, tag=2, sent=1000)
    second = started(1, 2).call("MPI_Recv", 15, 80, source=0, tag=2, received=1000)
    second.call("MPI_Recv", 81, 82, source=0, tag=1, received=1000)
    assert predicted(first, second)[0][1, "MPI_Recv"] == pytest.approx([70 + 7 - 15, 3])


def test_persistent_requests(predicted):
    """Each round is a message of its own."""
    first = started(0, 2).call("MPI_Send_init", 11, 12, peer=1, sent=1000, made=1, flags=traces.PERSISTENT)
    second = started(1, 2).call(
        "MPI_Recv_init", 11, 12, source=0, received=1000, made=1, flags=traces.PERSISTENT
    )
    for number, begin in enumerate((20, 200), 1):
        first.call("MPI_Start", begin, begin + 1, made=1, started=[0], flags=traces.STARTS, group=0)
        first.call("MPI_Wait", begin + 2, begin + 3, done=[(number, -1, -1)], group=0)
        second.call("MPI_Start", begin - 5, begin - 4, made=1, started=[0], flags=traces.STARTS, group=0)
        second.call("MPI_Wait", begin - 3, begin + 9, done=[(number, 0, 1000)], group=0)
    times, found = predicted(first, second)
    assert [note for note in found.notes if "other end" in note] == []
    assert len(times[1, "MPI_Wait"]) == 2
    assert times[1, "MPI_Wait"][0] == pytest.approx(20 + 7 - 17, abs=1)


def test_collectives_wait_for_the_last(predicted):
    ranks = [
        started(rank, 3).call("MPI_Allreduce", 20 + 10 * rank, 60, sent=8, received=8, block=8)
        for rank in range(3)
    ]
    times, _ = predicted(*ranks)
    assert [times[rank, "MPI_Allreduce"] for rank in range(3)] == [
        pytest.approx([one]) for one in (40, 30, 20)
    ]


def test_a_broadcast_needs_its_root_alone(predicted):
    begins = (50, 20, 90)
    ranks = [
        started(rank, 3).call("MPI_Bcast", begin, begin + 1, peer=0, block=8)
        for rank, begin in enumerate(begins)
    ]
    times, _ = predicted(*ranks)
    assert times[0, "MPI_Bcast"] == pytest.approx([1])  # o_s
    assert times[1, "MPI_Bcast"] == pytest.approx([50 + 20 - 20])
    assert times[2, "MPI_Bcast"] == pytest.approx([20])


def test_a_reduction_to_a_root_holds_nobody_else(predicted):
    begins = (30, 20, 90)
    ranks = [
        started(rank, 3).call("MPI_Reduce", begin, begin + 1, peer=0, block=8)
        for rank, begin in enumerate(begins)
    ]
    times, _ = predicted(*ranks)
    assert times[0, "MPI_Reduce"] == pytest.approx([90 + 20 - 30])
    assert times[1, "MPI_Reduce"] == times[2, "MPI_Reduce"] == pytest.approx([1])


def test_nonblocking_collectives_overlap(predicted):
    ranks = []
    for rank in range(2):
        made = started(rank, 2).call("MPI_Iallreduce", 20 + 10 * rank, 21 + 10 * rank, block=8, made=1)
        ranks.append(made.call("MPI_Wait", 100, 101, done=[(0, -1, -1)], group=0))
    times, _ = predicted(*ranks)
    assert times[0, "MPI_Wait"] == pytest.approx([0])  # long done


def test_unpriced_collectives_take_what_was_recorded(predicted):
    """The last came at 40 and it ended at 45: 5 µs after the last, whenever that is."""
    first = started(0, 2).call("MPI_Win_fence", 20, 45)
    second = started(1, 2).call("MPI_Win_fence", 40, 45)
    times, found = predicted(first, second)
    assert times[0, "MPI_Win_fence"] == pytest.approx([25]) and times[1, "MPI_Win_fence"] == pytest.approx(
        [5]
    )
    assert "without a price" in found.notes[0]


def test_probes_wait_for_the_message(predicted):
    first = started(0, 2).call("MPI_Send", 40, 41, peer=1, tag=6, sent=1000)
    second = started(1, 2).call("MPI_Probe", 20, 60, source=0, tag=6)
    second.call("MPI_Recv", 61, 62, source=0, tag=6, received=1000)
    times, found = predicted(first, second)
    assert times[1, "MPI_Probe"] == pytest.approx([24]) and times[1, "MPI_Recv"] == pytest.approx([3])
    assert not found.notes


def test_the_recorders_own_time_is_nobodys(predicted):
    """Between rank 0's calls lie 10 µs of computing and 70 of the recorder."""
    first = started(0, 2).call("(trace)", 15, 85, group=0).call("MPI_Send", 90, 91, peer=1, sent=1000)
    second = started(1, 2).call("MPI_Recv", 15, 99, source=0, received=1000)
    assert predicted(first, second)[0][1, "MPI_Recv"] == pytest.approx([20 + 7 - 15])


def test_what_a_dead_rank_left_is_taken_as_recorded(predicted):
    first = started(0, 2).call("MPI_Recv", 20, 50, source=1, received=8)
    times, found = predicted(first, started(1, 2))
    assert times[0, "MPI_Recv"] == pytest.approx([30])
    assert any("no other end" in note for note in found.notes)
    second = started(0, 2).call("MPI_Barrier", 20, 50)
    times, found = predicted(second, started(1, 2))
    assert times[0, "MPI_Barrier"] == pytest.approx([30])
    assert any("not in the trace" in note for note in found.notes)


def test_more_ranks_than_processors_are_told(predicted):
    ranks = [Rank(rank, 3, processors=2).call("MPI_Barrier", 20, 50) for rank in range(3)]
    assert "3 ranks shared 2 processors" in predicted(*ranks)[1].notes[0]


def begin(rank, processors):
    return begin_of(2, rank, processors)


def begin_of(size, rank, processors):
    return Rank(rank, size, processors=processors).call("MPI_Init", 0, 10, group=0)


def test_ranks_that_share_a_processor_compute_in_turn(predicted):
    """Both computed from 10 on, rank 0 until 110, rank 1 until 210: 50 and 150 of their own. So rank 0 comes
    to the barrier at 60, rank 1 at 210. Of the 20 of such a barrier each works 10, one after the other, and a
    change of processes takes 1.6."""
    ranks = [begin(0, 1).call("MPI_Barrier", 110, 215), begin(1, 1).call("MPI_Barrier", 210, 215)]
    times, found = predicted(*ranks)
    assert times[0, "MPI_Barrier"] == pytest.approx([171.6])
    assert times[1, "MPI_Barrier"] == pytest.approx([10]), "it has the processor"
    assert found.predicted_seconds == pytest.approx(221.6 * MICRO)
    ranks = [begin(0, 2).call("MPI_Barrier", 110, 215), begin(1, 2).call("MPI_Barrier", 210, 215)]
    times, _ = predicted(*ranks)
    assert times[0, "MPI_Barrier"] == pytest.approx([120]), "with a processor each"


def test_a_rank_that_computes_for_long_gives_its_processor_away(predicted):
    """10 ms each, in slices of 3 ms: rank 0 is done after 19, rank 1 after 20."""
    ranks = [begin(rank, 1).call("MPI_Barrier", 20_010, 20_030) for rank in range(2)]
    times, _ = predicted(*ranks)
    assert times[0, "MPI_Barrier"] == pytest.approx([1021.6]) and times[1, "MPI_Barrier"] == pytest.approx(
        [10]
    )


def test_a_processor_whose_ranks_wait_takes_one_of_another_after_a_while(predicted):
    """Ranks 0 and 1 are at home at one processor and compute 1 ms each, 2 and 3 at another and come at once.
    These look for 200 µs, then it is idle and rank 1 computes there: 200 + 1000 rather than 2000. In what was
    recorded two computed from 10 to 1010: all of it is their own."""
    ends = [1010, 1010, 10, 10]
    ranks = [begin_of(4, rank, 2).call("MPI_Barrier", end, 1020) for rank, end in enumerate(ends)]
    times, found = predicted(*ranks)
    assert 1200 <= found.predicted_seconds / MICRO < 1260, times


def test_a_message_that_is_there_needs_no_change_of_processes(predicted):
    """Rank 0 sends four messages, and then rank 1 gets them all at once on the same processor."""
    first, second = begin(0, 1), begin(1, 1)
    for number in range(4):
        at = 100 * (number + 1)
        first.call("MPI_Send", at, at + 1, peer=1, sent=1000)
        second.call("MPI_Recv", 1000 + at, 1000 + at + 1, source=0, received=1000)
    times, _ = predicted(first, second)
    assert times[1, "MPI_Recv"] == pytest.approx([3, 3, 3, 3]), "o_r alone"


@pytest.mark.parametrize("size", [1000, 100_000])
def test_messages_between_ranks_that_share_a_processor(predicted, size):
    """The one that waits lets the other one run, and none waits for ever."""
    ranks = []
    for rank in range(2):
        one, other = begin(rank, 1), 1 - rank
        for number in range(3):
            at = 100 * number
            one.call("MPI_Irecv", at + 90, at + 91, source=other, received=size, made=1)
            one.call("MPI_Isend", at + 92, at + 93, peer=other, sent=size, made=1)
            done = [(2 * number, other, size), (2 * number + 1, -1, 0)]
            one.call("MPI_Waitall", at + 94, at + 99, done=done)
        ranks.append(one)
    times, found = predicted(*ranks)
    assert len(times[0, "MPI_Waitall"]) == 3 and not found.notes[1:]
    assert all(time > 0 for time in times[0, "MPI_Waitall"] + times[1, "MPI_Waitall"])
    own = 0.5 * (80 + 1 + 1 + 2 * (91 + 1 + 1))  # of each rank
    assert found.predicted_seconds > 2 * own * MICRO


def test_what_a_rank_sends_to_itself_takes_what_was_recorded(predicted):
    """It waits for no other rank, and what a message between two takes is no price of it."""
    one = started(0, 1)
    for number in range(8):
        at = 100 * number
        one.call("MPI_Isend", at + 20, at + 20.3, peer=0, sent=1000, made=1)
        one.call("MPI_Recv", at + 30, at + 30.4, source=0, received=1000)
        one.call("MPI_Wait", at + 40, at + 40.2, done=[(number, -1, 0)])
        one.call("MPI_Sendrecv", at + 50, at + 50.6, peer=0, source=0, sent=100_000, received=100_000)
    times, _ = predicted(one)
    for name, expected in (("Isend", 0.3), ("Recv", 0.4), ("Wait", 0.2), ("Sendrecv", 0.6)):
        assert times[0, f"MPI_{name}"] == pytest.approx([expected] * 8), name


def test_different_collectives_are_refused(predicted):
    with pytest.raises(ReplayError, match="rank 1 calls barrier as collective number 1 .*another rank bcast"):
        predicted(started(0, 2).call("MPI_Bcast", 20, 30, peer=0), started(1, 2).call("MPI_Barrier", 20, 30))
    with pytest.raises(ReplayError, match="compute factor -1"):
        predicted(started(0, 1).call("MPI_Barrier", 20, 30), factor=-1)
    with pytest.raises(ReplayError, match="no call"):
        predicted(started(0, 1))


def test_sums_by_function_rank_and_phase(predicted):
    first = started(0, 2).call("MPI_Send", 20, 21, peer=1, sent=1000, phase="first")
    second = started(1, 2).call("MPI_Recv", 15, 30, source=0, received=1000)
    _, found = predicted(first, second)
    document = found.document()
    by = {row["function"]: row for row in document["functions"]}
    assert by["MPI_Recv"]["measured"] == pytest.approx(15e-6) and by["MPI_Recv"]["ratio"] == pytest.approx(
        0.8
    )
    assert {row["phase"] for row in document["phases"]} == {"", "first"}
    assert "MPI_Recv" in found.text()


def waits_for_anything(rank, begin):
    return started(rank, 2).call("MPI_Barrier", begin, 60)


def test_the_interval_knows_what_other_programs_took(predicted):
    """Both were busy for 2 s of which the ranks took 1.2 s; 10 ms a processor are not told apart."""
    ranks = [
        Rank(rank, 2, processors=2, end=f"busy_ns=2000000000\nown_ns={600 + rank}000000\n")
        .call("MPI_Init", 0, 10, group=0)
        .call("MPI_Barrier", 20, 60)
        for rank in range(2)
    ]
    _, found = predicted(*ranks)
    assert found.others_seconds == pytest.approx(2 - 1.201 - 0.02)
    high = predictions.bounds_of(predictions.recorded_errors()["traced"])[1]
    assert found.interval[0] == 0 and found.interval[1] == pytest.approx(40e-6 * (1 + high) + 0.779)


def test_the_interval_is_as_wide_as_recorded_runs_were_off(predicted, monkeypatch):
    errors = {"traced": [-0.05, 0.0, 0.1], "shared": [-0.25, 0.25], "scaled": [0.5]}
    monkeypatch.setattr(predictions, "recorded_errors", lambda: errors)
    _, found = predicted(waits_for_anything(0, 20), waits_for_anything(1, 20))
    assert found.kind == "traced" and found.interval == (pytest.approx(38e-6), pytest.approx(44e-6))
    assert "in 19 of 20 runs from 38" in found.text()
    assert found.error(50e-6) == pytest.approx(0.25) and found.error(30e-6) == pytest.approx(-0.25)
    _, found = predicted(*(begin(rank, 1).call("MPI_Barrier", 20, 60) for rank in range(2)))
    assert found.kind == "shared" and found.interval[1] / found.predicted == pytest.approx(1.25)


def test_an_interval_of_recorded_errors_holds_in_19_of_20_more():
    """Of any distribution: here of errors that are mostly small, to one side, with some far off."""
    draw = random.Random(5)

    def error():
        return draw.gauss(0.05, 0.05) if draw.random() < 0.9 else draw.expovariate(2)

    for known in (39, 200):
        held = []
        for _ in range(1000):
            low, high = predictions.bounds_of([error() for _ in range(known)])
            held.append(low <= error() <= high)
        assert 0.93 < sum(held) / len(held), known
    assert predictions.bounds_of([0.2, 0.3]) == (0.0, 0.3), "what was predicted is within"


def test_the_recorded_errors_are_enough_to_tell():
    runs = json.loads(predictions.ERRORS.read_text())["runs"]
    for kind in ("traced", "shared", "scaled"):
        of = [run for run in runs if run["kind"] == kind and run["others"] < predictions.QUIET]
        assert len(predictions.recorded_errors()[kind]) == len(of) >= 19
        assert len({run["program"] for run in of}) >= 4, kind


class Colder(Prices):
    """A collective takes 20 µs back to back, 30 after computing that fills a processor's caches, 50 after
    more."""

    def price(self, operation, ranks, size, used=0.0):
        return Price((20 + 10 * min(used, 1) + 20 * max(used - 1, 0)) * MICRO)


def test_who_computed_before_has_cold_caches(predicted):
    """The second of two comes after 50 µs of computing, half of what fills the caches; the third after 100 µs
    and the half of 12.7 ms."""
    ranks = []
    for rank in range(2):
        made = started(rank, 2).call("MPI_Allreduce", 10, 30, sent=8, received=8, block=8)
        made.call("MPI_Allreduce", 80, 100, sent=8, received=8, block=8)
        ranks.append(made.call("MPI_Allreduce", 100 + 6450, 6600, sent=8, received=8, block=8))
    times, _ = predicted(*ranks, prices=Colder())
    assert times[0, "MPI_Allreduce"] == pytest.approx([20, 25, 40])


def test_more_computing_makes_nothing_quicker():
    """Where all caches are cold an operation may be measured quicker than where the own ones are."""
    stages = {"blocking": 20, "used": 50, "cold": 30}
    curves = [
        machines.Curve("collectives", "alltoall", {"form": form}, 2, 2.0, [machines.Point(8, micro * MICRO)])
        for form, micro in stages.items()
    ]
    priced = pricing.Pricer(machines.Machine("a", "a", curves=curves))
    told = [priced.price("MPI_Alltoall", 2, 8, used).seconds / MICRO for used in (0, 0.5, 1, 1.5, 2)]
    assert told == pytest.approx([20, 35, 50, 50, 50])


def test_the_first_of_many_bytes_takes_what_was_recorded(predicted):
    """Its memory may be new; the second takes its price."""
    ranks = []
    for rank in range(2):
        made = started(rank, 2).call("MPI_Alltoall", 20, 500, sent=1 << 20, received=1 << 20, block=1 << 19)
        ranks.append(made.call("MPI_Alltoall", 500, 600, sent=1 << 20, received=1 << 20, block=1 << 19))
    times, found = predicted(*ranks)
    assert times[0, "MPI_Alltoall"] == pytest.approx([480, 20])
    assert "without a price" in found.notes[0]


def test_a_wait_in_a_loop_of_tests_is_in_mpi_as_far_as_the_tests_are(predicted):
    """Ten tests of 1 µs in 40 µs found nothing, so a fourth of what the last one waits longer is in MPI: the
    message is there at 60 + 4, and the tests began at 21."""
    first = started(0, 2).call("MPI_Send", 60, 61, peer=1, sent=1000)
    second = started(1, 2).call("MPI_Irecv", 20, 21, source=0, received=1000, made=1)
    second.call("MPI_Test", 21, 61, flags=traces.UNANSWERED, repeats=9, outside=30_000, group=0)
    second.call("MPI_Test", 61, 62, done=[(0, 0, 1000)], group=0)
    times, found = predicted(first, second)
    assert times[1, "MPI_Test"] == pytest.approx([1, 1 + (60 + 4 + 3 - 22 - 1) / 4])


def test_calls_that_complete_take_what_the_quickest_of_the_trace_took(predicted):
    first, second = started(0, 2), started(1, 2)
    for number in range(8):
        begin = 20 + 100 * number
        first.call("MPI_Send", begin, begin + 1, peer=1, sent=1000)
        second.call("MPI_Irecv", begin, begin + 1, source=0, received=1000, made=1)
        second.call("MPI_Wait", begin + 50, begin + 60 + number, done=[(number, 0, 1000)], group=0)
    times, _ = predicted(first, second)
    assert times[1, "MPI_Wait"] == pytest.approx([11.75 + 3] * 8)


def test_a_message_of_a_call_that_took_long_is_late(predicted):
    """The call of 30 µs ends at 50, so the message is there at 52."""
    first = started(0, 2).call("MPI_Isend", 20, 50, peer=1, sent=1000, made=1)
    second = started(1, 2).call("MPI_Recv", 20, 60, source=0, received=1000)
    assert predicted(first, second)[0][1, "MPI_Recv"] == pytest.approx([52 + 3 - 20])


def test_ranks_that_share_a_processor_keep_it_where_they_wait_for_nobody(predicted):
    """Receives from MPI_PROC_NULL, at 0.1 µs: the others do not compute in between."""
    ranks = []
    for rank in range(2):
        one = begin(rank, 1)
        for number in range(3):
            one.call("MPI_Recv", 20 * number + 30, 20 * number + 30.1, source=traces.NULL_PROCESS)
        ranks.append(one.call("MPI_Barrier", 90, 120))
    times, _ = predicted(*ranks)
    assert times[0, "MPI_Recv"] == times[1, "MPI_Recv"] == pytest.approx([0.1] * 3)


def test_a_test_that_finds_nothing_gives_the_processor_to_a_rank_that_wants_it(predicted):
    """One processor, on which two ranks compute 500 µs in turn. All tests that found nothing took as long as
    the other computed, so what one takes by itself only those that found something tell."""
    ranks = []
    for rank in range(2):
        one = begin(rank, 1).call("MPI_Irecv", 10.1, 10.2, source=1 - rank, received=8, made=1)
        for number in range(8):
            at = max(1000 * number + 510 - 500 * rank, 10.5)
            one.call("MPI_Test", at, max(1000 * number + 1009.5 - 500 * rank, at), flags=traces.UNANSWERED)
        one.call("MPI_Isend", 8010 + rank, 8010.5 + rank, peer=1 - rank, sent=8, made=1)
        for number in range(3):
            one.call(
                "MPI_Test", 8020 + number, 8020.2 + number, done=[(number % 2, 1 - rank, 8)][: 2 - number]
            )
        ranks.append(one)
    times, found = predicted(*ranks)
    for rank in range(2):
        assert times[rank, "MPI_Test"][1:7] == pytest.approx([500] * 6, abs=10)
    assert found.predicted_seconds == pytest.approx(found.measured_seconds, rel=0.01)


def test_a_rank_that_always_waits_does_not_take_that_long_by_itself(predicted):
    """Rank 0 waits 100 µs of each turn for rank 1. Where computing takes half as long, so do the waits."""
    ranks = [started(rank, 2) for rank in range(2)]
    for number in range(10):
        at = 200 * number
        ranks[0].call("MPI_Irecv", at + 20, at + 21, source=1, received=8, made=1)
        ranks[0].call("MPI_Wait", at + 22, at + 130, done=[(number, 1, 8)])
        ranks[1].call("MPI_Send", at + 120, at + 121, peer=0, sent=8)
    times, _ = predicted(*ranks, factor=0.5)
    assert all(time < 60 for time in times[0, "MPI_Wait"]), times


@pytest.mark.parametrize("share, expected", [(0.01, 990.5), (0.5, 25)])
def test_work_between_tests_that_found_nothing_takes_its_time(predicted, share, expected):
    """A loop of 1000 µs: mostly work, or mostly tests, which only wait."""
    one = started(0, 1).call("MPI_Irecv", 20, 21, source=0, received=8, made=1)
    one.call("MPI_Test", 31, 1031, flags=traces.UNANSWERED, repeats=19, outside=round(1000_000 * (1 - share)))
    one.call("MPI_Barrier", 1031, 1032)
    found = predicted(one)[1]
    assert found.predicted_seconds == pytest.approx((21 + expected) * MICRO)


def test_what_a_completion_takes_is_that_of_its_very_size(predicted):
    """900 bytes took 50 µs, by a type with gaps, and 1000 bytes 1; both ranks were there."""
    ranks = [started(rank, 2) for rank in range(2)]
    for number in range(24):
        at, size = 200 * number, 900 if number % 3 == 0 else 1000
        ranks[1].call("MPI_Send", at + 20, at + 21, peer=0, sent=size)
        ranks[0].call("MPI_Irecv", at + 24, at + 25, source=1, received=size, made=1)
        took = 50 if size == 900 else 1
        ranks[0].call("MPI_Wait", at + 30, at + 30 + took, done=[(number, 1, size)])
    waits = predicted(*ranks)[0][0, "MPI_Wait"]
    assert waits[3] == pytest.approx(50 + 3) and waits[4] < 10
