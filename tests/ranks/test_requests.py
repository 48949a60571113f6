"""Requests that the point-to-point programs do not have: generalised and partitioned ones."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_generalised_requests(run, ranks):
    done = run("generalized.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("generalized: right") == 1, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_partitioned_messages(run, ranks):
    done = run("partitioned.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("partitioned: right") == 1, done.text
