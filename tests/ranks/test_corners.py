"""Corners of collectives: rare types, MPI_BOTTOM, callbacks, jobs that end in one (see corners.c)."""

import os
import re

import pytest
from harness import RANKS

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
ENDS = {
    "abort": (r"MPI_Abort with code 3", 3),
    "exit": (r"rank 2 .* exited with status 0 without calling MPI_Finalize", 1),
    "kill": (r"rank 2 .* was killed by signal 6", 128 + 6),
}


@pytest.mark.parametrize("ranks", RANKS)
def test_corners(run, ranks):
    done = run("corners.c", ranks)
    assert done.returncode == 0 and done.stdout == "right\n", done.text


def test_corners_of_private_memory(run):
    done = run("corners.c", 3, environment={"TASUKI_HEAP": "private"})
    assert done.returncode == 0 and done.stdout == "right\n", done.text


@pytest.mark.skipif(not LONG, reason="takes 10 GiB: make test-long")
@pytest.mark.parametrize("heap", ["global", "private"])
def test_more_than_2_31_bytes(run, heap):
    done = run("corners.c", 2, "large", environment={"TASUKI_HEAP": heap}, timeout=300)
    assert done.returncode == 0 and done.stdout == "right\n", done.text


@pytest.mark.parametrize("count", [4, 300000])
@pytest.mark.parametrize("how", ENDS)
def test_a_rank_that_ends_in_a_collective_ends_the_job(run, how, count):
    done = run("corners.c", 3, how, count)
    text, status = ENDS[how]
    assert done.returncode == status, done.text
    assert re.search(text, done.stderr), done.text
