"""`tasuki simulate --trace` and `--patterns`: programs on a simulated machine take what closed forms say, on
the nodes that a placement names; what cannot be run is refused by name."""

import pathlib
import sys

import machine as made_up
import pytest
from tasuki import machines, patterns, simulation, trace
from tasuki.simulation import pattern_programs, patterned, pictures, programs, traced

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/analysis"))

import made_traces  # noqa: E402
from made_traces import Rank  # noqa: E402

SIMULATOR = made_up.simulator()
SOFTWARE, HARDWARE, RATE, COPY, CONTROL, EAGER = 1e-6, 2e-6, 1e9, 4e9, 5e-6, 10_000
MICRO = 1e-6
A_COPY = 10e-9  # of some bytes at the rank


def machine(shape=(8,), kind="crossbar", **changes):
    values = {
        "software_seconds": SOFTWARE,
        "hardware_seconds": HARDWARE,
        "link_bytes_per_second": RATE,
        "copy_bytes_per_second": COPY,
        "control_seconds": CONTROL,
        "eager_bytes_max": EAGER,
    } | changes
    document = {
        "tasuki_machine": 1,
        "name": "made-up",
        "parameters": {name: {"value": value, "source": "guess"} for name, value in values.items()},
        "topology": {"kind": kind, "shape": list(shape), "source": "guess"},
    }
    return machines.machine_of(document, "made-up.json")


def message(bytes):
    return SOFTWARE + HARDWARE + bytes / RATE


def started(rank, size):
    return Rank(rank, size).call("MPI_Init", 0, 10, group=0)


@pytest.fixture
def simulated(tmp_path):
    """simulated(rank, …, of=machine) -> what is told of their trace there"""

    def run(*ranks, of=None, what_if=False, **options):
        loaded = trace.load(made_traces.write(tmp_path / "a.trace", *ranks))
        return traced.simulation(loaded, of or machine(), **options).run(SIMULATOR, what_if=what_if)

    return run


def function(found, name):
    (row,) = [row for row in found["functions"] if row["function"] == name]
    return row["seconds"]


def pair(size, send_at=20, receive_at=15):
    first = started(0, 2).call("MPI_Send", send_at, send_at + 1, peer=1, sent=size)
    second = started(1, 2).call("MPI_Recv", receive_at, 200, source=0, received=size)
    return first, second


def test_a_short_message(simulated):
    """Rank 0 computes 10 µs and sends; rank 1 came after 5 µs. Computing may take twice as long."""
    found = simulated(*pair(1000))
    assert found["seconds"] == pytest.approx(10 * MICRO + message(1000))
    assert function(found, "MPI_Send") == pytest.approx(SOFTWARE)
    assert function(found, "MPI_Recv") == pytest.approx(5 * MICRO + message(1000))
    assert found["recorded_seconds"] == pytest.approx(190 * MICRO)
    assert (found["messages"], found["sent_bytes"], found["network_bytes"]) == (1, 1000, 1000)
    assert simulated(*pair(1000), factor=2.0)["seconds"] == pytest.approx(20 * MICRO + message(1000))


def test_a_long_message_waits_for_its_receive(simulated):
    found = simulated(*pair(50_000, receive_at=100))
    end = 90 * MICRO + CONTROL + HARDWARE + 50_000 / RATE
    assert found["seconds"] == pytest.approx(end)
    assert function(found, "MPI_Send") == pytest.approx(end - 10 * MICRO)
    late = simulated(*pair(1000, receive_at=100))
    assert function(late, "MPI_Recv") == pytest.approx(0, abs=1e-12), "it is there"


def test_ranks_of_one_node_copy(simulated):
    found = simulated(*pair(1000), of=machine(ranks_per_node=2))
    assert found["seconds"] == pytest.approx(10 * MICRO + SOFTWARE + 1000 / COPY)
    assert found["nodes"] == [0, 0] and found["network_bytes"] == 0
    assert found["busiest_link"] is None


def four(name, at=(20, 30, 40, 50), **values):
    made = []
    for rank, begin in enumerate(at):
        values["sent"] = values["received"] = values.get("block", 0)
        made.append(started(rank, 4).call(name, begin, 90, **values).call("MPI_Finalize", 100, 110, group=0))
    return made


def test_collectives_run_the_librarys_schedules(simulated):
    """Among four, by recursive doubling: two messages after the last rank came; the chosen one is told."""
    found = simulated(*four("MPI_Allreduce", block=8, algorithm="ring"))
    assert found["collectives"] == [
        {"operation": "allreduce", "bytes": 8, "ranks": 4, "algorithm": "recursive_doubling", "calls": 1}
    ]
    assert found["seconds"] == pytest.approx(40 * MICRO + 2 * message(8) + 10 * MICRO, abs=A_COPY)
    ring = simulated(*four("MPI_Allreduce", block=8, algorithm="ring"), recorded=True)
    assert ring["collectives"][0]["algorithm"] == "ring"
    assert ring["seconds"] > found["seconds"]
    other = simulated(*four("MPI_Allreduce", block=8, algorithm="single_copy"), recorded=True)
    assert other["collectives"][0]["algorithm"] == "recursive_doubling"
    assert any("the library's choice is taken" in note for note in other["notes"])


def test_the_root_of_a_broadcast_holds_the_others_up(simulated):
    late = simulated(*four("MPI_Bcast", at=(20, 20, 50, 20), block=8, peer=2))
    assert late["seconds"] == pytest.approx(40 * MICRO + 2 * message(8) + 10 * MICRO)
    early = simulated(*four("MPI_Bcast", at=(20, 20, 50, 20), block=8, peer=0))
    assert early["seconds"] == pytest.approx(40 * MICRO + message(8) + 10 * MICRO, abs=A_COPY), "it was there"


def test_what_has_no_schedule_takes_what_was_recorded(simulated):
    found = simulated(*four("MPI_Win_fence"))
    assert found["seconds"] == pytest.approx(40 * MICRO + 40 * MICRO + 10 * MICRO)
    assert "4 calls have no schedule: they take what was recorded" in found["notes"]


def exchange(rank, size, begin):
    made = started(rank, 2)
    made.call("MPI_Irecv", begin, begin + 1, source=1 - rank, tag=4, received=size, made=1)
    made.call("MPI_Isend", begin + 1, begin + 2, peer=1 - rank, tag=4, sent=size, made=1)
    made.call("MPI_Waitall", begin + 8, begin + 99, done=[(0, 1 - rank, size), (1, -1, -1)], group=0)
    return made


def test_computing_between_begin_and_wait_hides_messages(simulated):
    """6 µs of computing between MPI_Isend and MPI_Waitall: they take the processor, the messages go on."""
    found = simulated(exchange(0, 1000, 20), exchange(1, 1000, 20))
    assert found["seconds"] == pytest.approx(10 * MICRO + SOFTWARE + 6 * MICRO)
    assert function(found, "MPI_Waitall") == pytest.approx(0, abs=1e-12)
    long = simulated(exchange(0, 50_000, 20), exchange(1, 50_000, 20))
    assert long["seconds"] == pytest.approx(10 * MICRO + SOFTWARE + CONTROL + HARDWARE + 50_000 / RATE)


def test_a_cut_trace_is_run_as_far_as_it_goes(simulated):
    """Rank 1's receive is missing: a rendezvous takes what was recorded, and the notes say so."""
    first = started(0, 2).call("MPI_Send", 20, 60, peer=1, sent=50_000)
    found = simulated(first, started(1, 2).call("MPI_Barrier", 20, 30))
    assert found["seconds"] == pytest.approx(50 * MICRO)
    assert [note for note in found["notes"] if "recorded" in note] == [
        "2 calls wait for what is not in the trace: they take what was recorded"
    ]


def test_a_program_that_relies_on_buffering_is_named(simulated):
    ranks = []
    for rank in (0, 1):
        made = started(rank, 2).call("MPI_Send", 20, 21, peer=1 - rank, sent=20_000)
        ranks.append(made.call("MPI_Recv", 22, 30, source=1 - rank, received=20_000))
    with pytest.raises(
        simulation.SimulationError, match="rank 0 waits in MPI_Send for ever.*eager_bytes_max"
    ):
        simulated(*ranks)
    assert simulated(*ranks, of=machine(eager_bytes_max=20_000))["seconds"] > 0


def pairs(ranks):
    """The first and the last exchange, the second and the last but one, …"""
    made = []
    for rank in range(ranks):
        other = ranks - 1 - rank
        one = started(rank, ranks)
        one.call("MPI_Irecv", 20, 21, source=other, received=8000, made=1)
        one.call("MPI_Isend", 21, 22, peer=other, sent=8000, made=1)
        made.append(one.call("MPI_Waitall", 22, 99, done=[(0, other, 8000), (1, -1, -1)], group=0))
    return made


def test_a_better_mapping_is_told(simulated):
    """Pairs that are far from each other in blocks: by traffic they share nodes."""
    found = simulated(*pairs(8), of=machine(ranks_per_node=2), what_if=True)
    assert found["nodes"] == [0, 0, 1, 1, 2, 2, 3, 3]
    told = {one["what"]: one["seconds"] for one in found["alternatives"]}
    better = told["placement traffic instead of block"]
    assert better == pytest.approx(10 * MICRO + SOFTWARE + 8000 / COPY)
    assert better < told["links of twice the rate"] < found["seconds"]
    assert any(one.startswith("placement traffic instead of block would save") for one in found["advice"])
    chosen = simulated(*pairs(8), of=machine(ranks_per_node=2), placement="traffic")
    assert chosen["seconds"] == pytest.approx(better) and chosen["nodes"] == [0, 1, 2, 3, 3, 2, 1, 0]


def test_the_critical_path_of_a_program(simulated):
    found = simulated(*pair(1000))
    shares = "the program's computing 71%, transfers 21%, software of sends 7%"
    assert found["critical_path"] == f"critical path: 1 transfer through 2 ranks; of the time {shares}"
    assert found["reason"].startswith("waiting limits it: rank 0 computes 71% of the time")


def test_pictures_of_a_program(simulated, tmp_path):
    """Of a torus: what each rank did when, the computing too, and the links."""
    of = machine((2, 4), "torus")
    loaded = trace.load(made_traces.write(tmp_path / "b.trace", *pairs(8)))
    asked = traced.simulation(loaded, of)
    found = asked.run(SIMULATOR, what_if=False)
    assert {span[1] for span in asked.spans} == {"program", "send", "transfer"}
    pictures.write_program(of, found, asked.spans, None, tmp_path / "made")
    assert sorted(one.name for one in (tmp_path / "made").iterdir()) == ["links.png", "ranks.png"]
    assert pictures.title_of(found).startswith("b.trace, 8 ranks, made-up: ")


def test_what_is_no_trace_is_refused(tmp_path):
    (tmp_path / "list.trace").write_text("MPI_Bcast 8 8 1")
    for place in (tmp_path, tmp_path / "list.trace"):
        with pytest.raises(trace.TraceError, match="begins with b'MPI_Bcas', expected b'TSKTRACE'"):
            traced.load(place)
    (tmp_path / "none").mkdir()
    with pytest.raises(simulation.SimulationError, match="0 files .*expected one trace or its parts"):
        traced.load(tmp_path / "none")


@pytest.mark.parametrize(
    "text, says",
    [
        ("0 1 9", "node '9' of rank 2, expected one from 0 to 7"),
        ("0 1", "2 nodes, expected one for each of 4 ranks"),
        ("0 1 1 2", "2 ranks on node 1, expected at most 1"),
    ],
)
def test_bad_placements(simulated, tmp_path, text, says):
    (tmp_path / "nodes").write_text(text)
    with pytest.raises(simulation.SimulationError, match=says):
        simulated(*four("MPI_Barrier"), placement=str(tmp_path / "nodes"))
    with pytest.raises(
        simulation.SimulationError, match="--placement nowhere: No such file.*block, round_robin"
    ):
        simulated(*four("MPI_Barrier"), placement="nowhere")


def test_too_few_nodes_and_too_much(simulated):
    with pytest.raises(simulation.SimulationError, match="4 ranks, expected at most 2: 2 nodes of 1"):
        simulated(*four("MPI_Barrier"), of=machine((2,)))
    made = programs.Program(machine(), list(range(8)))
    number = made.call("alltoall", 8, tuple(range(8)))
    made.calls += [number] * 10**6
    with pytest.raises(simulation.SimulationError, match="about 5.6e.07 messages, expected at most 2e.07"):
        made.estimate()


def test_a_trace_that_is_too_large_is_named(simulated, monkeypatch):
    monkeypatch.setattr(programs, "OPERATIONS_MAX", 5)
    with pytest.raises(
        simulation.SimulationError, match="a.trace: about 8 operations, expected at most 5e.00"
    ):
        simulated(*pair(1000))


def each(text, of=None, tmp_path=None, what_if=False, **options):
    (tmp_path / "list.txt").write_text(text)
    items = patterns.load(tmp_path / "list.txt")
    return patterned.simulation(items, of or machine(), **options).run(SIMULATOR, what_if=what_if)


def test_patterns(tmp_path):
    """Messages, a fence, orders and collectives among eight on a switch, by hand."""
    lines = {
        "point_to_point/pingpong 2 1000 10": message(1000),
        "point_to_point/pingpong 2 50000 10": message(50_000) + CONTROL,
        "point_to_point/pingpong/mode=ssend 2 1000 10": message(1000) + CONTROL,
        "point_to_point/bidirectional 2 1000 10": message(1000),
        "point_to_point/multi_pair 8 1000 10": message(1000),
        "concurrent/shift/way=sendrecv 8 1000 10": message(1000),
        "concurrent/exchange/way=put_fence 8 100000 10": SOFTWARE
        + HARDWARE
        + 700_000 / RATE
        + 3 * message(0),
        "concurrent/exchange/way=send_barrier 4 1000 10": 3 * (message(1000) + 2 * message(0)),
        "MPI_Barrier 8 0 1e5": 3 * message(0),
        "MPI_Allreduce 4 8 10": 2 * message(8),
        "collectives/bcast/form=nonblocking 8 8 10": 3 * message(8),
        "MPI_Reduce 1 8 10": 0,
    }
    found = each("\n".join(lines), tmp_path=tmp_path)
    for row, seconds in zip(found["lines"], lines.values(), strict=True):
        assert row["each_seconds"] == pytest.approx(seconds, rel=0.02), row["pattern"]
        assert row["seconds"] == pytest.approx(row["each_seconds"] * row["count"])
        assert row["bound_seconds"] <= row["each_seconds"] * (1 + 1e-9)
    assert found["lines"][-2]["algorithms"] == ["binomial"]
    assert found["seconds"] == pytest.approx(sum(row["seconds"] for row in found["lines"]))
    assert found["reason"].startswith("MPI_Barrier takes the most, 99%")
    one = each("concurrent/shift 8 100000 10", tmp_path=tmp_path, what_if=True)
    told = {other["what"]: other["seconds"] for other in one["alternatives"]}
    links, latency = told["links of twice the rate"], told["half the latency (software and hardware)"]
    assert one["seconds"] - links == pytest.approx(10 * 50_000 / RATE)
    assert one["seconds"] - latency == pytest.approx(10 * (SOFTWARE + HARDWARE + CONTROL) / 2)


def test_more_patterns(tmp_path):
    """Windows of messages, faces of grids and accesses to windows, by hand; every way takes something."""
    short, wide = message(1000), 100_000 / RATE
    back = message(0)
    lines = {
        "point_to_point/rate 2 1000 10": (64 * SOFTWARE + HARDWARE + 1000 / RATE + back) / 64,
        "point_to_point/latency/mode=isend 2 0 10": (200 * SOFTWARE + HARDWARE) / 200,
        "concurrent/halo/way=isend,dimensions=1 8 1000 1": SOFTWARE
        + HARDWARE
        + max(SOFTWARE, 1000 / RATE)
        + 1000 / RATE,
        "concurrent/halo/way=neighbor_alltoallw,dimensions=3 8 100000 1": 2 * SOFTWARE
        + HARDWARE
        + 6 * wide
        + CONTROL,
        "MPI_Neighbor_alltoall 6 100000 1": 2 * SOFTWARE + HARDWARE + 4 * wide + CONTROL,
        "rma/ping/operation=put,sync=flush 2 1000 1": short + back,
        "rma/ping/operation=put,sync=flush_local 2 1000 1": short,
        "rma/ping/operation=put,sync=lock 2 1000 1": 2 * back + short + back,
        "rma/ping/operation=get,sync=flush 2 1000 1": back + short,
        "rma/ping/operation=get_accumulate,sync=flush 2 1000 1": 2 * short,
        "rma/ping/operation=put,sync=fence 2 1000 1": short + back,
        "rma/ping/operation=put,sync=fence_pair 2 1000 1": back + short + back,
        "rma/ping/operation=put,sync=pscw 2 1000 1": back + short,
        "rma/shift/operation=put,sync=flush 8 1000 1": short + back,
        "rma/exchange/operation=put,sync=fence 8 100000 1": SOFTWARE + HARDWARE + 7 * wide + 3 * back,
    }
    found = each("\n".join(lines), tmp_path=tmp_path)
    for row, seconds in zip(found["lines"], lines.values(), strict=True):
        assert row["each_seconds"] == pytest.approx(seconds, rel=0.03), row["pattern"]
        assert row["bound_seconds"] <= row["each_seconds"] * (1 + 1e-9)


@pytest.mark.parametrize(
    "ranks, dimensions, of_rank", [(8, 1, 2), (8, 2, 3), (8, 3, 3), (12, 2, 4), (2, 2, 1)]
)
def test_faces_are_in_a_periodic_grid(ranks, dimensions, of_rank):
    """Each rank's neighbours have it as theirs. Of two ranks in a direction each is the other's both."""
    to = pattern_programs.faces(ranks, dimensions)
    for rank, others in enumerate(to):
        assert len(set(others)) == of_rank and rank not in others
        assert all(others.count(other) == to[other].count(rank) for other in others)


@pytest.mark.parametrize(
    "line, says",
    [
        ("io/write/call=write_all 8 8 1", "is not simulated (--exchange FILE simulates collective writing)"),
        ("concurrent/halo/way=isend,dimensions=4 8 8 1", "dimensions=4, expected 1, 2 or 3"),
        ("rma/ping/operation=push 2 8 1", "operation=push, expected put,"),
        ("rma/ping/operation=put,sync=never 2 8 1", "sync=never, expected fence,"),
        ("rma/counter 8 8 1", "list.txt:1: rma/counter: is not simulated, expected one of"),
        ("concurrent/shift/way=magic 8 8 1", "way=magic, expected sendrecv, isend_irecv, put_fence"),
        ("collectives/bcast/form=overlap 8 8 1", "computing meanwhile and rising lengths"),
        ("MPI_Bcast 64 8 1", "list.txt:1: MPI_Bcast: 64 ranks, expected at most 8"),
        ("MPI_Send 1 8 1", "1 ranks, expected 2 or more"),
    ],
)
def test_bad_patterns(tmp_path, line, says):
    with pytest.raises(simulation.SimulationError) as error:
        each(line, tmp_path=tmp_path)
    assert says in str(error.value) and "\n" not in str(error.value)
