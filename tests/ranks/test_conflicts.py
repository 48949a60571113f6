"""TASUKI_CHECK=3: accesses to a window that conflict in one epoch are an error; legal ones never are."""

import pytest

LEVEL = {"TASUKI_CHECK": 3}
RANKS = [2, 3, 4, 8]
HINT = "; hint: separate them by a synchronization"


def conflict(call, mine, target, other, origin, its, rank):
    return (
        f"conflict: {call}: bytes {mine} of rank {target}'s window are accessed while {other} of "
        f"rank {origin} accesses bytes {its}, expected no conflicting accesses in one epoch "
        f"(window field, rank {rank}){HINT}"
    )


def cases(ranks):
    last = ranks - 1
    return {
        "puts": [conflict("MPI_Put", "20..27", 0, "MPI_Put", last, "16..23", 0)],
        "own": [
            conflict("MPI_Get", "44..59", (rank + 1) % ranks, "MPI_Put", rank, "32..47", rank)
            for rank in range(ranks)
        ],
        "operations": [conflict("MPI_Accumulate", "0..3", last, "MPI_Accumulate", 0, "0..3", last)],
        "mixed": [conflict("MPI_Put", "0..3", last, "MPI_Accumulate", 0, "0..3", last)],
    }


@pytest.mark.parametrize("flavor", ["allocate", "create"])
@pytest.mark.parametrize("ranks", RANKS)
def test_conflicts_name_both_accesses(run, ranks, flavor):
    for case, lines in cases(ranks).items():
        done = run("conflicts.c", ranks, case, flavor, environment=LEVEL)
        assert done.returncode == 0, done.text
        for line in lines:
            assert done.stdout.count(line) == 1, f"{line}\n{done.text}"
        assert f"errors: {len(lines)}\n" in done.stdout, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_origins_of_one_exposure_meet(run, ranks):
    done = run("conflicts.c", ranks, "posted", environment=LEVEL)
    assert done.returncode == 0, done.text
    assert f"errors: {ranks - 2}\n" in done.stdout, done.text
    assert done.stdout.count("conflict: MPI_Put: bytes 0..3 of rank 0's window") == ranks - 2, done.text


@pytest.mark.parametrize("flavor", ["allocate", "create"])
@pytest.mark.parametrize("ranks", [1, *RANKS])
def test_what_is_legal_is_left_alone(run, ranks, flavor):
    done = run("conflicts.c", ranks, "legal", flavor, environment=LEVEL)
    assert done.returncode == 0 and "errors: 0\n" in done.stdout, done.text


def test_below_the_level_nothing_is_looked_for(run):
    done = run("conflicts.c", 4, "puts", environment={"TASUKI_CHECK": 2})
    assert done.returncode == 0 and "errors: 0\n" in done.stdout, done.text


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_windows_of_every_flavor_are_left_alone(run, ranks):
    done = run("windows.c", ranks, environment=LEVEL)
    assert done.returncode == 0 and done.stdout.count("windows: right") == 1, done.text
