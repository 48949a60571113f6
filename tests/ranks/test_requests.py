"""Requests that the point-to-point programs do not have: generalised, partitioned and freed ones."""

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


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", [0, 3])
def test_freed_requests(run, ranks, check):
    done = run("freed.c", ranks, environment={"TASUKI_CHECK": check})
    assert done.returncode == 0 and done.stderr == "", done.text
    assert done.stdout == "freed: right\n", done.text
