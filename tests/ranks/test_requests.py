"""Requests that the point-to-point programs do not have: generalised and partitioned ones."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_generalised_requests(run, ranks):
    done = run("generalized.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("generalized: right") == 1, done.text
