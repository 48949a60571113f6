"""Collective access to files whose parts travel as messages: within a node, and between nodes."""

import pytest
from harness import RANKS


def check(done):
    assert done.returncode == 0, done.text
    assert done.stdout.count("file_exchange: right") == 1, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_on_one_node(run, ranks, tmp_path):
    check(run("file_exchange.c", ranks, tmp_path / "file"))


@pytest.mark.parametrize("ranks, nodes", [(2, 2), (3, 2), (4, 2), (5, 4), (8, 4)])
@pytest.mark.parametrize("by", ["slot", "node"])
def test_on_several_nodes(mpiexec, build, ranks, nodes, by, tmp_path):
    words = ("-n", ranks, "--nodes", nodes, "--map-by", by, "--network-bandwidth=2GB/s")
    done = mpiexec(*words, build("file_exchange.c"), tmp_path / "file")
    check(done)


def test_with_private_heaps(mpiexec, build, tmp_path):
    done = mpiexec("-n", 4, "--heap", "private", build("file_exchange.c"), tmp_path / "file")
    check(done)


def test_two_phases_are_what_is_tested(mpiexec, build, tmp_path):
    words = ("-n", 4, "--nodes", 2, build("file_exchange.c"), tmp_path / "file")
    done = mpiexec(*words, environment={"TASUKI_EXPLAIN": "on"})
    check(done)
    for what in ("writes", "reads"):
        assert f"{what} together: two phases" in done.stderr, done.text
        assert "sent window by window" in done.stderr, done.text
        assert f"{what} together: each rank its own" not in done.stderr, done.text
