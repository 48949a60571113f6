"""TASUKI_CHECK in processes: each level finds its misuse, says what it is, and leaves the rest alone."""

import pytest

# The case, the level that finds it, how many ranks get how many errors, and what one of them says.
ENDS, ALL, LAST = "the two ends", "all ranks", "the last rank"
CASES = {
    "aliased": (1, ENDS, 3, "expected MPI_IN_PLACE or two separate buffers"),
    "twice": (1, ENDS, 1, "requests[1] is the same request as requests[0]"),
    "types": (2, ENDS, 1, "sent as 10 x MPI_INT by MPI_Isend, received as 500 x MPI_FLOAT by MPI_Recv"),
    "long_types": (2, ENDS, 1, "tag 5: sent as 500 x MPI_INT by MPI_Isend, received as 500 x MPI_FLOAT"),
    "bytes": (2, ENDS, 1, "tag 5: sent as 10 x MPI_DOUBLE by MPI_Isend, received as 500 x MPI_BYTE"),
    "partitions": (2, ENDS, 1, "tag 5: sent as MPI_INT, received as MPI_FLOAT"),
    "put": (2, ALL, 1, "the origin is of MPI_INT and the target of MPI_DOUBLE"),
    "overlap": (3, ENDS, 1, "being received into by MPI_Irecv (source = "),
    "changed": (3, ENDS, 1, "the buffer of MPI_Issend (dest = "),
    "written": (3, ENDS, 1, "was written by the program before its message came"),
    "collective": (3, LAST, 1, "the buffer of MPI_Iallreduce was changed"),
    "into_collective": (3, ALL, 1, "being received into by MPI_Iallreduce, which is not over"),
    "right": (3, ENDS, 0, ""),
}


def ranks_with_errors(who, ranks):
    return {ENDS: min(ranks, 2), ALL: ranks, LAST: 1}[who]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("case", CASES)
def test_is_found_at_its_level(run, case, ranks):
    level, who, each, text = CASES[case]
    errors = each * ranks_with_errors(who, ranks)
    done = run("misuse.c", ranks, case, errors, environment={"TASUKI_CHECK": level})
    assert done.returncode == 0, done.text
    assert f"errors: {errors}" in done.stdout, done.text
    assert errors == 0 or done.stdout.count(text) >= ranks_with_errors(who, ranks), done.text


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][0] > 1])
def test_is_left_alone_below_its_level(run, case):
    done = run("misuse.c", 2, case, 0, environment={"TASUKI_CHECK": CASES[case][0] - 1})
    assert done.returncode == 0, done.text


def test_blocks_that_lie_upon_each_other(run):
    done = run("misuse.c", 3, "blocks", 3, environment={"TASUKI_CHECK": 1})
    assert done.returncode == 0, done.text
    assert done.stdout.count("blocks 0 and 1 of the receive buffer overlap by 4 bytes") == 3, done.text
    done = run("misuse.c", 1, "blocks", 0, environment={"TASUKI_CHECK": 1})
    assert done.returncode == 0, done.text


def test_is_found_between_nodes(mpiexec, build):
    program = build("misuse.c")
    for case in ("types", "long_types", "partitions"):
        done = mpiexec("-n", 4, "--nodes", 2, program, case, 2, environment={"TASUKI_CHECK": 2})
        assert done.returncode == 0, done.text
        assert done.stdout.count(CASES[case][3]) == 2, done.text


RIGHT = ["collectives.c", "corners.c", "windows.c", "exchange.c", "partitioned.c"]


@pytest.mark.parametrize("program", RIGHT)
def test_right_programs_are_left_alone(run, program):
    done = run(program, 3, environment={"TASUKI_CHECK": 3})
    assert done.returncode == 0, done.text
