"""tasuki explain: made up programs that are slow for one known reason: that one comes first; an efficient one
is called so; and what is left of damaged traces is explained."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import made_traces  # noqa: E402
from command import tasuki  # noqa: E402
from made_traces import Rank  # noqa: E402
from tasuki import trace as traces  # noqa: E402
from tasuki.explain import explain  # noqa: E402


class Clock:
    """A rank's calls one behind another, in microseconds."""

    def __init__(self, rank, size, init=0, **how):
        self.rank = Rank(rank, size, **how).call("MPI_Init", 0, init, group=0)
        self.now = init

    def compute(self, length):
        self.now += length
        return self

    def call(self, name, until, **values):
        self.rank.call(name, self.now, until, **values)
        self.now = until
        return self

    def end(self, at=None):
        self.rank.call("MPI_Finalize", self.now, at or self.now, group=0)
        return self.rank


def send(clock, peer, until=None, size=8, name="MPI_Send", **values):
    return clock.call(name, until or clock.now + 1, peer=peer, sent=size, block=size, **values)


def receive(clock, source, until, size=8, **values):
    return clock.call("MPI_Recv", until, source=source, received=size, **values)


def late_sender():
    """Rank 1 waits 600 of each 1000 µs for what rank 0 could send before it computes."""
    first, second = Clock(0, 2), Clock(1, 2)
    for step in range(10):
        send(first.compute(999), 1, at="solve.c:17")
        receive(second.compute(400), 0, 1000 * (step + 1) + 1, at="halo.c:42")
    return [first.end(10_001), second.end(10_001)]


def late_receiver():
    """Rank 0 computes 200, then waits in a long MPI_Send until rank 1 has computed 1000 µs."""
    first, second = Clock(0, 2), Clock(1, 2)
    for step in range(10):
        send(first.compute(200), 1, until=1100 * (step + 1), size=1 << 20)
        receive(second.compute(1000), 0, 1100 * (step + 1), size=1 << 20)
    return [first.end(11_000), second.end(11_000)]


def imbalance():
    """Rank 3 computes for 1000 µs, the others for 400, before each MPI_Allreduce."""
    clocks = [Clock(rank, 4) for rank in range(4)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            clock.compute(1000 if rank == 3 else 400)
            clock.call("MPI_Allreduce", 1010 * (step + 1), sent=8, block=8, phase="solve", at="cg.f90:7")
    return [clock.end(10_100) for clock in clocks]


def late_root():
    """All wait in MPI_Bcast for rank 0, which computes what they need."""
    clocks = [Clock(rank, 3) for rank in range(3)]
    for step in range(5):
        for rank, clock in enumerate(clocks):
            clock.compute(900 if rank == 0 else 100)
            clock.call("MPI_Bcast", 1000 * step + (901 if rank == 0 else 1000), peer=0, sent=8, block=8)
            clock.now = 1000 * (step + 1)
    return [clock.end(5000) for clock in clocks]


def chain():
    """Each of four ranks computes 1000 µs when the message of the one before has come."""
    ranks = []
    for number in range(4):
        clock = Clock(number, 4)
        if number > 0:
            receive(clock, number - 1, 1001 * number + 1)
        clock.compute(1000)
        if number < 3:
            send(clock, number + 1, until=1001 * (number + 1))
        ranks.append(clock.end())
    return ranks


def small_messages():
    """100 messages of 8 bytes one behind another, 1 µs each, in 150 µs."""
    first, second = Clock(0, 2), Clock(1, 2)
    for step in range(5):
        first.compute(50)
        second.compute(50)
        for number in range(100):
            send(first, 1)
            receive(second, 0, 151 * step + 52 + number)
        first.now = second.now
    return [first.end(first.now + 2), second.end(first.now + 2)]


def small_collectives():
    """20 reductions of a number one behind another, 10 µs each, after 100 µs of computing."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(5):
            clock.compute(100)
            for _ in range(20):
                clock.call("MPI_Allreduce", clock.now + 10, sent=8, block=8)
    return [clock.end() for clock in clocks]


def shared_processors():
    """Two ranks on one processor: each computes for 1000 µs, of which it has a half."""
    clocks = [Clock(rank, 2, processors=1) for rank in range(2)]
    for clock in clocks:
        for _ in range(5):
            clock.compute(1000).call("MPI_Barrier", clock.now + 5)
    return [clock.end() for clock in clocks]


def files():
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(5):
            clock.compute(100).call("MPI_File_write_at", clock.now + 900, sent=4096, group=0, phase="output")
    return [clock.end() for clock in clocks]


def starting():
    clocks = [Clock(rank, 2, init=5000) for rank in range(2)]
    return [clock.compute(1000).call("MPI_Barrier", 6003).end() for clock in clocks]


def efficient():
    """Both compute for 1000 µs and exchange in 5."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(10):
            clock.compute(1000).call("MPI_Allreduce", clock.now + 5, sent=8, block=8)
    return [clock.end() for clock in clocks]


def ping_pong():
    """Nobody is late: what each waits for is the latency of the other's answer."""
    first, second = Clock(0, 2), Clock(1, 2)
    for _ in range(50):
        send(first, 1)
        receive(second, 0, first.now + 3)
        send(second, 0)
        receive(first, 1, second.now + 3)
        second.now = max(second.now, first.now - 3)
    return [first.end(first.now), second.end(first.now)]


def halo():
    """Two ranks exchange by MPI_Isend, MPI_Irecv and MPI_Waitall; rank 1 computes 1000 µs, rank 0 600."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            peer, made = 1 - rank, 2 * step
            clock.compute(1000 if rank == 1 else 600)
            clock.call("MPI_Irecv", clock.now + 1, source=peer, received=64, made=1)
            clock.call("MPI_Isend", clock.now + 1, peer=peer, sent=64, block=64, made=1)
            done = [(made, peer, 64), (made + 1, -1, -1)]
            clock.call("MPI_Waitall", 1004 * (step + 1), done=done, group=0)
    return [clock.end() for clock in clocks]


REASONS = {
    # program: kind, its ranks, the gain as a part of the program's time, words
    late_sender: (
        "late_sender",
        [0],
        (0.28, 0.32),
        "rank 0 sends late (MPI_Send at solve.c:17), behind computing after solve.c:17: rank 1 waits in "
        "MPI_Recv at halo.c:42 10 times",
    ),
    late_receiver: ("late_receiver", [1], (0.34, 0.38), "rank 1 receives late (MPI_Recv), behind computing"),
    imbalance: ("collective", [3], (0.43, 0.46), 'MPI_Allreduce at cg.f90:7 in phase "solve" for rank 3'),
    halo: ("late_sender", [1], (0.18, 0.21), "rank 1 sends late (MPI_Isend), behind computing"),
    late_root: ("collective", [0], (0.4, 0.56), "MPI_Bcast for rank 0"),
    chain: ("chain", [0, 1, 2, 3], (0.7, 0.76), "ranks 0-3 work one after another"),
    small_messages: ("small_messages", [0], (0.6, 0.67), "rank 0 sends rank 1 500 small messages"),
    small_collectives: (
        "small_messages",
        [0, 1],
        (0.6, 0.65),
        "ranks 0, 1 call MPI_Allreduce 100 times, one behind another, 8 B each",
    ),
    shared_processors: ("processors", [0, 1], (0.45, 0.5), "share one processor"),
    files: ("files", [0, 1], (0.89, 0.91), 'in phase "output": 10 calls, 40 KiB'),
    starting: ("init", [0], (0.83, 0.84), "MPI_Init takes 5.00 ms"),
}


def explained(tmp_path, ranks, **how):
    path = made_traces.write(tmp_path / "a.trace", *ranks, **how)
    return explain(traces.load(path), ask=made_traces.lines)


@pytest.mark.parametrize("program", REASONS, ids=lambda one: one.__name__)
def test_the_reason_comes_first(tmp_path, program):
    kind, ranks, (low, high), words = REASONS[program]
    found = explained(tmp_path, program())
    first = found.findings[0]
    assert (first.kind, first.ranks) == (kind, ranks), found.text()
    assert low <= first.gain_share <= high, found.text()
    assert words in first.text, found.text()
    assert first.gain_seconds == pytest.approx(first.gain_share * found.seconds)
    assert not found.efficient


@pytest.mark.parametrize("program", [efficient, ping_pong], ids=lambda one: one.__name__)
def test_an_efficient_program_is_called_so(tmp_path, program):
    found = explained(tmp_path, program())
    assert found.findings == [] and found.efficient, found.text()
    assert "The program is efficient" in found.text()
    assert "Not recorded, so not judged: the way a message took" in found.text()


def test_gains_are_ranked_and_written_as_json(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *imbalance())
    done = tasuki("explain", path, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    gains = [one["gain_seconds"] for one in document["findings"]]
    assert gains == sorted(gains, reverse=True)
    assert document["tasuki_explanation"] == 1 and document["ranks"] == 4 and not document["efficient"]
    assert document["rank_seconds"]["computing"] == pytest.approx(22e-3)
    assert document["rank_seconds"]["waiting"] == pytest.approx(18e-3)


def test_the_unchanged_course_takes_what_was_recorded(tmp_path):
    from tasuki.explain import Course

    for number, program in enumerate([*REASONS, efficient, ping_pong]):
        path = made_traces.write(tmp_path / f"{number}.trace", *program())
        course = Course(traces.load(path))
        assert course.run() == pytest.approx(course.seconds, abs=1e-9), program.__name__


def test_a_machine_says_which_calls_are_slow(tmp_path):
    """The K computer's MPI_Allreduce of 8 bytes takes less than 900 µs."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(10):
            clock.compute(100).call("MPI_Allreduce", clock.now + 900, sent=8, block=8)
    path = made_traces.write(tmp_path / "a.trace", *(clock.end() for clock in clocks))
    plain, priced = (tasuki("explain", path, *more).stdout for more in ([], ["--machine", "k-computer"]))
    assert "--run or --machine tells" in plain and "takes 18.0 ms in 20 calls" not in plain, plain
    assert "1. MPI_Allreduce takes 18.0 ms in 20 calls" in priced, priced


def test_a_crashed_program_is_explained_as_far_as_it_came(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *imbalance(), whole=False)
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert "MPI_Allreduce" in done.stdout.split("2.")[0]
    assert "note: rank 3: its calls end without MPI_Finalize" in done.stdout


def test_a_cut_trace_is_explained_as_far_as_it_goes(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *imbalance())
    data = path.read_bytes()
    path.write_bytes(data[:-3])  # in the block that says that rank 3 came to its end
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert "1. ranks 0-2 wait in MPI_Allreduce" in done.stdout
    assert "what followed is missing" in done.stdout
    path.write_bytes(data[:-30])  # in rank 3's calls, for which the others wait
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert "Nothing was found that held the program up, but the trace is not whole." in done.stdout
    assert "what followed is missing" in done.stdout and "efficient" not in done.stdout


def test_what_cannot_be_read_is_one_line(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *efficient())
    data = path.read_bytes()
    for text, words in (
        (data[:8] + b"\x09\0\0\0" + data[12:], "version 9, expected 1 or 2"),
        (b"nothing of the kind", "a file of mpiexec --trace"),
        (data[:12], "no process is in it"),
    ):
        path.write_bytes(text)
        done = tasuki("explain", path)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1 and done.stdout == ""
    done = tasuki("explain", tmp_path / "none.trace")
    assert done.returncode == 2 and "No such file" in done.stderr
