"""mpiexec --io-times: the file tells which phases every rank's collective accesses had, on one node and
between several, also of a job that ends badly; MPI_T has the same sums; what cannot be written is told and
does no harm."""

import sys

import pytest
from harness import ROOT

sys.path.insert(0, str(ROOT / "python"))
from tasuki import io_times

BYTES = 100_000  # of a rank
BUFFER_BYTES = 65536


@pytest.fixture
def record(mpiexec, build, tmp_path):
    """record(ranks, end, …) -> (Done, Job)"""

    def run(ranks, end, *words, how="enable"):
        path = tmp_path / "made.iotimes"
        program = (build("io_times.c"), tmp_path / "data", end, how)
        done = mpiexec("-n", ranks, f"--io-times={path}", *words, *program)
        return done, io_times.load(path)

    return run


def expect_two_calls(job, ranks):
    assert job.troubles == []
    assert [call.function for call in job.calls] == ["MPI_File_write_all", "MPI_File_read_at_all"]
    for call, moving in zip(job.calls, ("write", "read"), strict=True):
        assert call.way == "two-phase" and call.bytes == ranks * BYTES
        assert [access.rank for access in call.accesses] == list(range(ranks))
        assert len(call.aggregators) == 2
        # Each aggregator has a buffer's worth in a cycle.
        assert call.cycles >= ranks * BYTES / 2 / BUFFER_BYTES
        for access in call.accesses:
            assert all(access.begin_ns <= one.begin_ns <= one.end_ns <= access.end_ns for one in access.spans)
            assert all(one.cycle < call.cycles for one in access.spans)
            phases = {one.phase for one in access.spans}
            assert phases <= {"exchange", moving}
            if access.rank in call.aggregators:
                assert phases == {"exchange", moving}
                cycles = {one.cycle for one in access.spans if one.phase == moving}
                assert len(cycles) >= call.cycles - 1
            else:
                assert moving not in phases
        moved = sum(one.bytes for access in call.accesses for one in access.spans if one.phase == moving)
        assert moved == ranks * BYTES


def counted(done):
    """What the program printed of MPI_T."""
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def sums(job, phase):
    spans = [
        one for call in job.calls for access in call.accesses for one in access.spans if one.phase == phase
    ]
    return sum(one.bytes for one in spans), sum(one.end_ns - one.begin_ns for one in spans) * 1e-9


def test_one_after_the_other_does_not_look_like_overlap(record):
    done, job = record(2, "well")  # on one node, without a ring: a rank copies, then it writes
    assert done.returncode == 0, done.text
    assert io_times.overlap(job.calls) == 0


@pytest.mark.parametrize("ranks, nodes", [(2, 1), (4, 1), (4, 2), (6, 3)])
def test_every_phase_of_every_rank_is_told(record, ranks, nodes):
    done, job = record(ranks, "well", *(["--nodes", nodes] if nodes > 1 else []))
    assert done.returncode == 0, done.text
    assert f"made.iotimes: {2 * ranks} collective accesses of {ranks} ranks; tasuki io-chart" in done.stderr
    assert (job.size, job.nodes) == (ranks, nodes)
    assert job.node_of == {rank: rank * nodes // ranks for rank in range(ranks)}
    expect_two_calls(job, ranks)


def test_the_variables_of_mpi_t_are_the_sums(record):
    done, job = record(4, "well", "--nodes", 2)
    assert done.returncode == 0, done.text
    counts = counted(done)
    assert counts["io_collective_accesses"] == counts["io_two_phase_accesses"] == 8
    assert counts["io_cycles"] == 4 * sum(call.cycles for call in job.calls)
    for phase in io_times.PHASES:
        moved, seconds = sums(job, phase)
        assert counts[f"io_{phase}_bytes"] == moved
        assert counts[f"io_{phase}_time"] == pytest.approx(seconds, abs=1e-6)
    assert counts["io_independent_writes"] == 4
    assert counts["io_independent_write_bytes"] == 4 * BYTES / 2


def test_what_each_rank_does_by_itself_is_one_phase(record):
    done, job = record(3, "well", how="disable")
    assert done.returncode == 0, done.text
    for call, moving in zip(job.calls, ("write", "read"), strict=True):
        assert (call.way, call.cycles, call.aggregators, len(call.accesses)) == ("independent", 0, [], 3)
        for access in call.accesses:
            assert [(one.phase, one.cycle, one.bytes) for one in access.spans] == [(moving, 0, BYTES)]
    assert counted(done)["io_two_phase_accesses"] == 0


@pytest.mark.parametrize("end, status", [("abort", 3), ("kill", 137), ("open", 0)])
def test_what_had_ended_is_told_of_a_job_that_ends_otherwise(record, end, status):
    done, job = record(4, end)
    assert done.returncode == status, done.text
    expect_two_calls(job, 4)


def test_the_file_is_that_of_the_last_job(record):
    record(4, "well")
    done, job = record(2, "well")
    assert job.size == 2 and job.troubles == []


def test_without_mpiexecs_option_jobs_append(mpiexec, build, tmp_path):
    path = tmp_path / "both.iotimes"
    for ranks in (2, 3):
        words = ("-n", ranks, build("io_times.c"), tmp_path / "data", "well")
        done = mpiexec(*words, environment={"TASUKI_IO_TIMES": str(path)})
        assert done.returncode == 0 and done.stderr == "", done.text
    job = io_times.load(path)
    assert job.size == 3 and len(job.calls) == 2
    assert len(job.troubles) == 1 and "this is its last job" in job.troubles[0]


def test_a_program_without_such_accesses_is_told_so(mpiexec, build, tmp_path):
    done = mpiexec("-n", 2, f"--io-times={tmp_path / 'a'}", build("ring.c"))
    assert done.returncode == 0, done.text
    assert "a: none of 2 ranks ended a collective access to a file" in done.stderr


def test_what_cannot_be_written_is_told_in_one_line(mpiexec, build, tmp_path):
    words = (build("io_times.c"), tmp_path / "data", "well")
    done = mpiexec("-n", 2, "--io-times=/no/where", *words)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "mpiexec: --io-times: cannot write '/no/where': No such file or directory\n"
    done = mpiexec("-n", 2, *words, environment={"TASUKI_IO_TIMES": "/no/where"})
    assert done.returncode == 0 and "io_cycles" in done.stdout
    told = "TASUKI_IO_TIMES: cannot write '/no/where': No such file or directory; no phase times are kept"
    assert done.stderr == f"tasuki: {told}\n"
    done = mpiexec("-n", 2, "--io-times=", *words)
    assert done.returncode == 2 and "--io-times=: expected the name of a file" in done.stderr
