"""What ranks give one another by the one that started them, at MPI_Init: the settings that must be alike."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_a_job_whose_ranks_are_alike_starts(run, ranks):
    done = run("ring.c", ranks, environment={"TASUKI_CHECK": 2, "TASUKI_SEGMENT_BYTES": "64k"})
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_a_rank_that_is_set_otherwise_ends_the_job_with_a_sentence(build, mpiexec, ranks):
    """TASUKI_BCAST_ALGORITHM is another for the last rank."""
    script = f'test $TASUKI_RANK = {ranks - 1} && export TASUKI_BCAST_ALGORITHM=chain; exec "$0"'
    done = mpiexec("-n", ranks, "sh", "-c", script, build("ring.c"))
    if ranks == 1:
        assert done.returncode == 0, done.text
        return
    assert done.returncode != 0
    sentence = (
        f"MPI_Init: TASUKI_BCAST_ALGORITHM is not set at rank 0 and chain at rank {ranks - 1}; "
        "it must be the same for all ranks"
    )
    assert sentence in done.text


def test_what_is_each_ranks_own_affair_may_differ(build, mpiexec):
    done = mpiexec("-n", 3, "sh", "-c", 'export TASUKI_SPIN_COUNT=$TASUKI_RANK; exec "$0"', build("ring.c"))
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_virtual_nodes_compare_settings_too(build, mpiexec, ranks):
    script = 'test $TASUKI_RANK = 1 && export TASUKI_CHECK=1; exec "$0"'
    done = mpiexec("--nodes", 2, "-n", ranks, "sh", "-c", script, build("ring.c"))
    assert done.returncode != 0
    assert "TASUKI_CHECK is not set at rank 0 and 1 at rank 1; it must be" in done.text
