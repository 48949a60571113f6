"""Traces among more ranks than were traced: computing and bytes that change by known powers, work of one rank
alone, messages within their copies, and processors that all share."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import made_traces  # noqa: E402
from command import tasuki  # noqa: E402
from made_traces import Rank  # noqa: E402
from tasuki import trace as traces  # noqa: E402
from tasuki.replay import ReplayError, replay  # noqa: E402
from tasuki.scaled import ScaledBuilder  # noqa: E402
from test_replay import MICRO, Price, Prices  # noqa: E402


class Seen(Prices):
    """Notes what was asked for."""

    def __init__(self, how="made up"):
        self.collectives, self.messages, self.how = [], [], how

    def point_to_point(self, size, used=0.0):
        self.messages.append(size)
        return super().point_to_point(size)

    def price(self, operation, ranks, size, used=0.0):
        self.collectives.append((operation, ranks, size))
        return Price(20 * MICRO, self.how)


@pytest.fixture
def scaled(tmp_path):
    """scaled(ranks, [Rank], weak=, smaller=[Rank], how=) -> (Replay, what was asked for)"""

    def run(ranks, recorded, weak=False, smaller=None, how="made up"):
        trace = traces.load(made_traces.write(tmp_path / "a.trace", *recorded))
        fewer = traces.load(made_traces.write(tmp_path / "b.trace", *smaller)) if smaller else None
        seen = Seen(how)
        return replay(trace, seen, builder=ScaledBuilder(trace, ranks, weak, fewer)), seen

    return run


def job(size, *computing, call="MPI_Barrier", processors=64, allowed=(), **values):
    """All ranks compute so many microseconds, each or all, and call; at once in 5 µs."""
    made = []
    for rank in range(size):
        one = Rank(rank, size, processors=processors, allowed=allowed[rank] if allowed else "")
        one.call("MPI_Init", 0, 10, group=0)
        begin = 10 + (computing[rank] if len(computing) > 1 else computing[0])
        made.append(one.call(call, begin, 10 + max(computing) + 5, at="a.c:1", **values))
    return made


@pytest.mark.parametrize("weak, expected", [(False, 25), (True, 100)])
def test_computing_is_divided_or_each_ranks_own(scaled, weak, expected):
    found, seen = scaled(8, job(2, 100), weak)
    assert found.predicted_seconds == pytest.approx((expected + 20) * MICRO)
    assert seen.collectives == [("MPI_Barrier", 8, 0)]
    assert found.ranks == 8 and len(found.by("rank")) == 8 and found.document()["ranks_measured"] == 2
    assert "2 ranks" in found.text() and "8 ranks: 4 copies of the 2 traced ones" in found.text()


def test_it_changes_as_it_did_from_fewer_ranks(scaled):
    """From 100 to 80 µs from 2 to 4 ranks: so 64 among 8; blocks of 64 kB and 16 kB: so 4."""
    blocks = {"call": "MPI_Alltoall", "sent": 1, "received": 1}
    found, seen = scaled(8, job(4, 80, block=16_000, **blocks), smaller=job(2, 100, block=64_000, **blocks))
    assert found.predicted_seconds == pytest.approx((64 + 20) * MICRO)
    assert seen.collectives == [("MPI_Alltoall", 8, 4000)]
    assert "as they changed from 2 to 4 ranks" in found.notes[-2]


def test_what_may_not_be_divided_is_told(scaled):
    told = scaled(8, job(2, 100))[0].notes[-1]
    assert told.startswith("one trace does not tell") and told.endswith(
        "Most computing is before MPI_Barrier at a.c:1+0x10 (100 %)"
    )
    assert "--smaller" in told
    told = scaled(8, job(4, 80), smaller=job(2, 100))[0].notes[-1]
    assert told.endswith("less than by 1/ranks: before MPI_Barrier at a.c:1+0x10 by ranks^-0.32 (100 %)")
    for weak, smaller in ((True, None), (False, job(2, 160))):
        notes = scaled(8, job(4, 80), weak=weak, smaller=smaller)[0].notes
        assert not [note for note in notes if "1/ranks" in note], notes


def test_a_call_takes_as_long_before_it_among_more_ranks(scaled):
    """What is less than a microsecond is no work: it stays, and of longer computing as much."""
    for computing, expected in ((0.4, 0.4), (2, 1), (80, 20)):
        found, _ = scaled(8, job(2, computing))
        assert found.predicted_seconds == pytest.approx((expected + 20) * MICRO), computing


def test_a_number_for_each_rank_stays_one(scaled):
    seen = scaled(8, job(2, 80, call="MPI_Alltoall", block=4))[1]
    assert seen.collectives == [("MPI_Alltoall", 8, 4)]


def test_without_that_blocks_of_an_all_to_all_shrink_by_the_square(scaled):
    seen = scaled(8, job(4, 80, call="MPI_Alltoall", block=16_000))[1]
    assert seen.collectives == [("MPI_Alltoall", 8, 4000)]
    seen = scaled(8, job(4, 80, call="MPI_Allreduce", block=16_000))[1]
    assert seen.collectives == [("MPI_Allreduce", 8, 16_000)]


def test_what_one_rank_computes_alone_stays(scaled):
    found, _ = scaled(4, job(2, 5000, 10, call="MPI_Bcast", peer=0))
    assert found.predicted_seconds == pytest.approx((5000 + 20) * MICRO)
    ranks = found.by("rank").set_index("rank")["predicted"] / MICRO
    assert ranks[0] < 21 and all(ranks[rank] == pytest.approx(5015) for rank in (1, 2, 3)), ranks
    assert "0.005 s that one rank computes alone stay" in found.text()


def test_messages_stay_within_their_copy(scaled):
    one = Rank(0, 2).call("MPI_Init", 0, 10, group=0).call("MPI_Send", 110, 120, peer=1, sent=1000)
    two = Rank(1, 2).call("MPI_Init", 0, 10, group=0).call("MPI_Recv", 10, 120, source=0, received=1000)
    found, seen = scaled(6, [one, two])
    assert set(seen.messages) == {1000} and not [note for note in found.notes if "no other end" in note]
    ends = found.by("rank").set_index("rank")["predicted"] / MICRO
    received = 100 / 3 + 1 + 2 + 1 + 3  # computing, o_s, L, the transfer, o_r
    assert all(ends[rank] == pytest.approx(received) for rank in (1, 3, 5)), ends


def test_a_rank_that_was_its_own_neighbour_has_another_one(scaled):
    """As in a closed grid of ranks: what one of two sent to itself goes around four copies, and is priced."""
    recorded = []
    for rank in range(2):
        one = Rank(rank, 2).call("MPI_Init", 0, 10, group=0)
        one.call("MPI_Isend", 10 + 100 * rank, 11 + 100 * rank, peer=rank, sent=1000, made=1)
        one.call("MPI_Recv", 12 + 100 * rank, 13 + 100 * rank, source=rank, received=1000)
        recorded.append(one.call("MPI_Wait", 114, 115, done=[(0, -1, 0)]))
    assert scaled(2, recorded)[1].messages == []
    found, seen = scaled(8, recorded)
    assert set(seen.messages) == {1000} and not [note for note in found.notes if "no other end" in note]
    ends = found.calls[found.calls["function"] == "MPI_Recv"]["predicted"] / MICRO
    assert len(ends) == 8 and ends.min() > 5, ends


def test_more_ranks_share_all_processors_of_those_traced(scaled):
    """Rank 0 computed 4 ms and rank 1 2 ms, each bound to its processor: four ranks of 2, 1, 2 and 1 ms are
    on both, so 3 ms, where two bound to the first would take 4."""
    recorded = job(2, 4000, 2000, processors=2, allowed=("0", "1"))
    found, _ = scaled(4, recorded)
    assert 3000 < found.predicted_seconds / MICRO < 3100


@pytest.mark.parametrize("how, expected", [("substituted: 2 ranks, times 2", 40), ("measured", 20)])
def test_ranks_that_share_processors_work_for_a_collective_in_turn(scaled, how, expected):
    """Four ranks on two processors compute 50 µs each, which takes 100, and work 20 for a barrier. Where that
    was measured among four, it has the turns in it."""
    found, _ = scaled(4, job(2, 100, processors=2), how=how)
    assert 100 + expected <= found.predicted_seconds / MICRO < 100 + expected + 10


def test_what_calls_take_at_least_is_without_what_others_ran_in_them(scaled):
    """Of two ranks on one processor each is 100 µs in a call that finds a message there, for the other one
    computes meanwhile: that is no work of such a call, and four ranks have as much to do as two."""
    recorded = []
    for rank in range(2):
        one = Rank(rank, 2, processors=1).call("MPI_Init", 0, 10, group=0)
        for number in range(10):
            at = 10 + 200 * number + 100 * rank
            one.call("MPI_Irecv", at, at + 1, source=1 - rank, received=1000, made=1)
            one.call("MPI_Send", at + 1, at + 2, peer=1 - rank, sent=1000)
            one.call("MPI_Wait", at + 3, at + 103, done=[(number, 1 - rank, 1000)])
        recorded.append(one)
    found, _ = scaled(4, recorded)
    assert 1800 < found.predicted_seconds / MICRO < 2600


def test_what_cannot_be_is_refused(scaled, tmp_path):
    with pytest.raises(ReplayError, match="calls of 2 ranks: expected a multiple of it, not 5"):
        scaled(5, job(2, 100))
    with pytest.raises(ReplayError, match="b.trace is of 2 ranks: expected fewer than 2"):
        scaled(4, job(2, 100), smaller=job(2, 100))
    with pytest.raises(ReplayError, match="a program that spawned others"):
        scaled(4, [*job(2, 100), Rank(0, 1, world=1).call("MPI_Barrier", 10, 11)])


def test_the_command(tmp_path):
    two, four = tmp_path / "two.trace", tmp_path / "four.trace"
    made_traces.write(two, *job(2, 100))
    made_traces.write(four, *job(4, 80))
    words = "predict", four, "--machine", "k-computer"
    done = tasuki(*words, "--ranks", 8, "--smaller", two)
    assert done.returncode == 0 and "4 ranks, predicted among 8, 8 calls" in done.stdout, done
    assert "as where each rank has a problem" in tasuki(*words, "--ranks", 8, "--weak").stdout
    for more, told in (
        (["--weak"], "--weak: expected --ranks N, too, more than the 4 of"),
        (["--smaller", two], "--smaller: expected --ranks N, too"),
        (["--ranks", 6], "calls of 4 ranks: expected a multiple of it, not 6"),
        (["--ranks", 8, "--smaller", pathlib.Path("nowhere")], "nowhere: No such file"),
    ):
        done = tasuki(*words, *more)
        assert done.returncode == 2 and told in done.stderr, (more, done)
    (tmp_path / "list.txt").write_text("MPI_Send 2 8 1\n")
    done = tasuki("predict", tmp_path / "list.txt", "--machine", "k-computer", "--weak")
    assert done.returncode == 2 and "is a list of patterns, expected a trace" in done.stderr
