"""mpiexec --trace: every call of known programs is in the trace with its peers, bytes and requests; in both
ABIs and from mpi4py; by threads; of a rank that dies or never calls MPI_Finalize what it had written. Nothing
is left beside the file."""

import os
import re
import shutil
import sys

import pytest
from harness import (
    HERE,
    PREFIX,
    PROGRAMS,
    RANKS,
    ROOT,
    compile_for_mpich,
    compile_program,
    skip_without,
)

sys.path.insert(0, str(ROOT / "python"))

from tasuki import machines, places  # noqa: E402
from tasuki import trace as traces  # noqa: E402
from tasuki.simulation import traced  # noqa: E402

MPI4PY = """
import numpy, sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
out, found = numpy.ones(10), numpy.zeros(10)
request = comm.Isend(out, (comm.rank + 1) % comm.size, tag=3)
comm.Recv(found, tag=3)
request.Wait()
comm.Allreduce(out, found)
"""


@pytest.fixture
def record(mpiexec, tmp_path):
    """record(ranks, program, …) -> (Done, Trace)"""

    def run(ranks, *command, **how):
        path = tmp_path / "made.trace"
        done = mpiexec("-n", ranks, f"--trace={path}", *command, **how)
        assert os.listdir(tmp_path) == ["made.trace"], done.text
        return done, traces.load(path)

    return run


def test_a_job_is_explained_when_it_has_ended(mpiexec, tmp_path):
    environment = {"TASUKI_PYTHON": sys.executable}
    path = tmp_path / "made.trace"
    done = mpiexec("-n", 2, "--explain", f"--trace={path}", standard(), "calls", environment=environment)
    assert done.returncode == 0, done.text
    told = done.stderr.split("bytes sent; ", 1)[1]
    assert f"{path}: 2 ranks, " in told and "after MPI_Init: " in told, done.text
    assert path.exists()


def test_the_calls_are_named_by_file_and_line(record, tmp_path):
    """In the order in which the program makes them, as the compiler saw them; a library without its
    debug information by function or offset."""
    skip_without("libdw")
    trace = record(2, compile_program("traced.c", "-pthread", "-g"), "calls")[1]
    text = (HERE / "traced.c").read_text().splitlines()
    known = places.places_of(trace)
    for part in trace.parts:
        rows = zip(part.columns["function"], part.columns["site"], strict=True)
        for function, site in rows:
            name, place = part.functions[int(function)], known[id(part)][site]
            if name == traces.OWN:
                assert site == 0
                continue
            assert place.source.endswith("tests/ranks/traced.c") and place.text == f"traced.c:{place.line}"
            assert name in text[place.line - 1], (name, place)
    bare = places.places_of(trace, ask=lambda sites: {})
    offsets = [one.text for one in bare[id(trace.parts[0])][1:]]
    assert offsets and all(text.startswith("traced-") and "+0x" in text for text in offsets)


FORTRAN = """
program hello
  use mpi
  integer :: error
  call MPI_Init(error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
"""


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler")
def test_calls_of_fortran_are_named_by_file_and_line(record, tmp_path_factory):
    skip_without("libdw")
    source = tmp_path_factory.mktemp("source") / "placed.f90"
    source.write_text(FORTRAN)
    trace = record(2, compile_program(source, compiler="mpifort"))[1]
    for part, known in zip(trace.parts, places.places_of(trace).values(), strict=True):
        told = {
            part.functions[int(function)]: known[site].text
            for function, site in zip(part.columns["function"], part.columns["site"], strict=True)
        }
        assert told["MPI_Barrier"] == "placed.f90:6" and told["MPI_Finalize"] == "placed.f90:7"


def mpich():
    return compile_for_mpich("traced", "-pthread")


def standard():
    return compile_program("traced.c", "-pthread")


def expect_ring(frame, ranks):
    """Every rank's messages, in the phase that the program named."""
    for rank in range(ranks):
        own = frame[frame["rank"] == rank]
        ring = own[own["phase"] == "ring"].set_index("function")
        after, before = (rank + 1) % ranks, (rank - 1) % ranks
        sent = ring.loc["MPI_Isend"]
        assert (sent["peer"], sent["tag"], sent["sent"]) == (after, 7, 500)
        both = ring.loc["MPI_Sendrecv"]
        assert (both["peer"], both["source"], both["sent"], both["received"]) == (after, before, 12, 12)
        assert (ring.loc["MPI_Irecv", "source"], ring.loc["MPI_Irecv", "received"]) == (
            traces.ANY_SOURCE,
            1000,
        )
        assert (ring["comm_name"].loc[["MPI_Isend", "MPI_Sendrecv"]] == "MPI_COMM_WORLD").all()
        put = own.set_index("function").loc["MPI_Put"]
        assert (put["peer"], put["sent"], put["comm_kind"]) == (after, 8, "window")


def expect_collectives(frame, ranks):
    own = frame[frame["comm_name"] == "backwards"]
    table = own.groupby("function")[["sent", "received"]].sum()
    assert tuple(table.loc["MPI_Bcast"]) == (4, 4 * (ranks - 1))
    assert tuple(table.loc["MPI_Allreduce"]) == (4 * ranks, 4 * ranks)
    assert tuple(table.loc["MPI_Allgather"]) == (4 * ranks, 4 * ranks * ranks)
    assert tuple(table.loc["MPI_Gather"]) == (4 * ranks, 4 * ranks)
    # Rank 0 is the last of "backwards", and so the broadcast's root: in the world it is rank 0.
    assert set(own[own["function"] == "MPI_Bcast"]["peer"]) == {0}
    assert len(own[own["function"] == "MPI_Barrier"]) == ranks
    assert len(set(own["comm"])) == 1


@pytest.mark.parametrize("program", [standard, mpich])
def test_what_the_library_tells_is_recorded(record, program):
    """Ways and queues of messages; and on which processors each rank may run."""
    done, trace = record(2, program(), "ways")
    assert done.returncode == 0, done.text
    frame = trace.frame()
    sends = frame[(frame["function"] == "MPI_Send") & (frame["sent"] > 8)]
    begun, waits = (list(frame[frame["function"] == name]["way"]) for name in ("MPI_Irecv", "MPI_Wait"))
    received = [one or other for one, other in zip(waits, begun, strict=True)]
    for found in (list(sends["way"]), received):
        assert found[0] == "two_copy" and found[1] in ("get", "cooperative", "sender_write", "put"), done.text
    assert [bool(flags & traces.SCATTERED) for flags in sends["flags"]] == [False, False, True]
    # The last of twenty is received first; a message of the library's own may have come as well.
    queue = list(frame[(frame["rank"] == 1) & (frame["function"] == "MPI_Recv")]["queue"])
    assert len(queue) == 20 and queue[0] >= 19 and queue[0] - queue[-1] >= 18, queue
    assert all(re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", part.head["allowed"]) for part in trace.parts)


def test_the_algorithm_of_a_collective_and_its_runner_up_are_recorded(record):
    """One that was asked for, and what the model says of it and of the quickest other one."""
    done, trace = record(2, standard(), "ways", environment={"TASUKI_ALLREDUCE_ALGORITHM": "ring"})
    assert done.returncode == 0, done.text
    frame = trace.frame()
    assert list(frame[frame["function"] == "MPI_Allreduce"]["algorithm"]) == ["allreduce_ring"] * 2
    for part in trace.parts:
        row = part.columns["predicted"].argmax()
        assert part.columns["predicted"][row] > 0 and part.columns["runner_up_predicted"][row] > 0
        name = part.algorithms[int(part.columns["runner_up"][row])]
        assert name.startswith("allreduce_") and name != "allreduce_ring"


def expect_requests(trace, ranks):
    """The receive from anywhere got the message of the rank before, which was shorter than its buffer; the
    persistent ones are started and done twice."""
    for part in trace.parts:
        done = list(zip(part.columns["done_source"], part.columns["done_bytes"] - 1, strict=True))
        before = (part.rank - 1) % ranks
        assert (before, 500) in done
        assert done.count((before, 40)) == 2
        assert len(part.columns["started"]) == 4
        assert part.whole


@pytest.mark.parametrize("program", [standard, mpich])
@pytest.mark.parametrize("ranks", RANKS)
def test_calls_are_recorded(record, ranks, program):
    done, trace = record(ranks, program(), "calls")
    assert done.returncode == 0, done.text
    assert f"of {ranks} rank" in done.stderr and trace.troubles == []
    assert trace.parts[0].head["abi"] == ("standard" if program is standard else "mpich")
    frame = trace.frame()
    assert (frame["seconds"] >= 0).all() and (frame["end"] >= frame["begin"]).all()
    expect_ring(frame, ranks)
    expect_collectives(frame, ranks)
    expect_requests(trace, ranks)
    # While MPI_Pcontrol(0) held, one barrier of all; the hundred probes are a few records.
    assert "MPI_Barrier" not in set(frame[frame["comm_name"] == "MPI_COMM_WORLD"]["function"])
    probes = frame[frame["function"] == "MPI_Iprobe"]
    assert probes["calls"].sum() == 100 * ranks
    assert len(probes) < 100 * ranks or ranks > os.cpu_count()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_mpi4py_is_recorded(record, ranks):
    pytest.importorskip("mpi4py")
    done, trace = record(ranks, sys.executable, "-c", MPI4PY)
    assert done.returncode == 0, done.text
    frame = trace.frame()
    sends = frame[frame["function"].str.startswith("MPI_Isend")]
    assert sorted(sends["sent"]) == [80] * ranks
    assert sorted(sends["peer"]) == list(range(ranks))
    receives = frame[frame["function"].str.startswith("MPI_Recv")]
    assert sorted(zip(receives["rank"], receives["source"], strict=True)) == sorted(
        (rank, (rank - 1) % ranks) for rank in range(ranks)
    )
    assert (frame[frame["function"].str.startswith("MPI_Allreduce")]["sent"] == 80).sum() == ranks


PYTHON_LINES = """import numpy, threading
from mpi4py import MPI  # MPI_Init_thread

comm = MPI.COMM_WORLD


def turn():
    out, found = numpy.ones(10), numpy.zeros(10)
    request = comm.Isend(out, (comm.rank + 1) % comm.size, tag=3)  # MPI_Isend
    try:
        raise ValueError(found)
    except ValueError:
        comm.Recv(found, tag=3)  # MPI_Recv
    request.Wait()  # MPI_Wait
    [comm.Allreduce(out, found) for _ in range(3)]  # MPI_Allreduce
    assert comm.allgather("text") == ["text"] * comm.size  # MPI_Allgather, MPI_Allgatherv


turn()
comm.Barrier()  # MPI_Barrier
until = threading.Event()
other = threading.Thread(target=until.wait)
other.start()
comm.Barrier()
until.set()
other.join()
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_calls_of_python_are_named_by_file_and_line(record, ranks):
    """By the program's own, not mpi4py's; but not while Python has other threads, for whose lock the recorder
    would have to wait."""
    pytest.importorskip("mpi4py")
    source = PROGRAMS / "lines.py"
    source.write_text(PYTHON_LINES)
    lines = PYTHON_LINES.splitlines()
    done, trace = record(ranks, sys.executable, source)
    assert done.returncode == 0, done.text
    for part, known in zip(trace.parts, places.places_of(trace).values(), strict=True):
        told = [
            (part.functions[int(function)].removesuffix("_c"), known[site])
            for function, site in zip(part.columns["function"], part.columns["site"], strict=True)
        ]
        named = [(name, place) for name, place in told if place.line > 0]
        for name, place in named:
            assert place.source == str(source) and place.text == f"lines.py:{place.line}"
            assert name in lines[place.line - 1], (name, place)
        found = {name for name, _ in named}
        wanted = {"Init_thread", "Isend", "Recv", "Wait", "Allreduce", "Allgather", "Barrier"}
        assert {f"MPI_{name}" for name in wanted} <= found, told
        assert [place.line > 0 for name, place in told if name == "MPI_Barrier"] == [True, False], told


def test_threads_are_told_apart(record):
    done, trace = record(2, standard(), "threads")
    assert done.returncode == 0, done.text
    frame = trace.frame()
    sends = frame[frame["function"] == "MPI_Isend"]
    assert len(sends) == 2 * 4 * 500
    of_threads = sends.groupby(["rank", "thread"])["tag"].agg(["nunique", "size"])
    assert (of_threads["nunique"] == 1).all() and (of_threads["size"] == 500).all()
    for part in trace.parts:
        assert sorted(part.columns["done_serial"] > 0) == [True] * 2000


def test_exit_without_finalize_leaves_all_calls(record):
    done, trace = record(2, standard(), "silent")
    frame = trace.frame()
    assert (frame.groupby("rank")["function"].agg(lambda one: (one == "MPI_Sendrecv").sum()) == 100).all()
    assert [text for text in trace.troubles if "without MPI_Finalize" in text], done.text


def test_a_rank_that_dies_leaves_what_it_had_written(record):
    done, trace = record(3, standard(), "die")
    assert done.returncode == 128 + 9, done.text
    assert len(trace.parts) == 3
    assert all((part.columns["done"] >= 0).all() and len(part) > 1 for part in trace.parts)
    assert len(trace.troubles) == 3


def test_the_file_is_named_after_the_program(mpiexec, tmp_path):
    shutil.copy(standard(), tmp_path / "solver")
    done = mpiexec("-n", 2, "--trace", tmp_path / "solver", "bulk", 10, cwd=tmp_path)
    assert done.returncode == 0, done.text
    assert done.stderr.startswith("mpiexec: solver.trace: 24 calls of 2 ranks, 160 bytes sent; "), done.text
    assert sorted(os.listdir(tmp_path)) == ["solver", "solver.trace"]


def test_records_are_small(record):
    """20,000 exchanges a rank, of two directions each: 16 bytes a call at most."""
    done, trace = record(2, standard(), "bulk", 20000)
    assert done.returncode == 0, done.text
    assert os.path.getsize(trace.path) <= 16 * 40000
    assert (trace.frame()["function"] == "MPI_Sendrecv").sum() == 40000


def test_clocks_of_ranks_are_brought_together(record):
    """As on several machines: the ranks measure how far their clocks are apart, which here is nothing."""
    _, trace = record(3, standard(), "bulk", 10, environment={"TASUKI_TRACE_CLOCKS": "1"})
    offsets = [int(part.head["clock_offset_ns"]) for part in trace.parts]
    assert offsets[0] == 0
    assert any(offsets), "none was measured"
    assert max(map(abs, offsets)) < 1e9


def test_a_program_without_mpi_has_no_trace(mpiexec, tmp_path):
    done = mpiexec("-n", 2, f"--trace={tmp_path}/none.trace", "true")
    assert done.returncode == 0 and "no rank called MPI_Init" in done.stderr, done.text
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "option, told",
    [
        ("--trace=/nowhere/a.trace", "cannot make a folder beside '/nowhere/a.trace'"),
        ("--trace=", "--trace=: expected the name of a file"),
    ],
)
def test_bad_names_are_refused(mpiexec, option, told):
    done = mpiexec("-n", 1, option, "true")
    assert done.returncode != 0 and told in done.stderr, done.text


def test_a_job_within_is_not_recorded(record):
    """mpiexec that a rank starts gives its ranks nothing of the outer job's recording."""
    inner = f"{PREFIX}/bin/mpiexec -n 1 {standard()} bulk 5; exec {standard()} bulk 7"
    done, trace = record(1, "sh", "-c", inner)
    assert done.returncode == 0, done.text
    assert (trace.frame()["function"] == "MPI_Sendrecv").sum() == 7


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_traced_program_on_a_simulated_machine(record, ranks):
    """The token of ring.c, without the computing between its calls: a message from each rank to the next."""
    latency, rate = 3e-6, 1e9
    numbers = {"software_seconds": 1e-6, "hardware_seconds": latency - 1e-6, "link_bytes_per_second": rate}
    document = {
        "tasuki_machine": 1,
        "name": "made-up",
        "parameters": {name: {"value": value, "source": "guess"} for name, value in numbers.items()},
        "topology": {"kind": "crossbar", "shape": [4], "source": "guess"},
    }
    machine = machines.machine_of(document, "made-up.json")
    trace = record(ranks, compile_program("ring.c"))[1]
    skip_without("SimGrid")
    simulator = PREFIX / "libexec/tasuki/tasuki-simulate"
    found = traced.simulation(trace, machine, factor=0.0).run(simulator, what_if=False)
    assert found["messages"] == ranks and found["sent_bytes"] == 4 * ranks
    assert found["seconds"] == pytest.approx(ranks * (latency + 4 / rate), rel=1e-6)
    assert traced.simulation(trace, machine).run(simulator, what_if=False)["seconds"] > found["seconds"]
