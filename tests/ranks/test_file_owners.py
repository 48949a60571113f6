"""What ranks of several nodes share of a file, its pointer and locks on its ranges, is served by an owner."""

import re

import pytest

CASES = [(2, 2), (3, 2), (4, 2), (4, 4), (8, 2), (8, 4)]


def requests_to_owners(done):
    return int(re.search(r"requests to owners: (\d+)", done.stdout)[1])


@pytest.mark.parametrize("ranks, nodes", CASES)
def test_over_nodes_owners_serve(mpiexec, build, tmp_path, ranks, nodes):
    words = ("-n", ranks, "--nodes", nodes, "--network-latency=5us", build("file_owners.c"))
    done = mpiexec(*words, "all", tmp_path / "file")
    assert done.returncode == 0, done.text
    assert done.stdout.count("owners: right") == 1, done.text
    # Each of the 60 writes asks for its place and for its range, and gives that back.
    assert requests_to_owners(done) > 60 * 3 * (ranks - 1), done.text


@pytest.mark.parametrize("order", ["slot", "node"])
@pytest.mark.parametrize("check", [2, 3])
def test_owners_serve_in_checking_mode(mpiexec, build, tmp_path, order, check):
    words = ("-n", 4, "--nodes", 2, "--map-by", order, build("file_owners.c"), "all", tmp_path / "file")
    done = mpiexec(*words, environment={"TASUKI_CHECK": str(check)})
    assert done.returncode == 0, done.text
    assert done.stdout.count("owners: right") == 1, done.text
    assert "nobody received" not in done.text and "left" not in done.stderr, done.text


@pytest.mark.parametrize("ranks", [1, 4])
def test_on_one_node_nothing_is_asked_for(mpiexec, build, tmp_path, ranks):
    done = mpiexec("-n", ranks, build("file_owners.c"), "all", tmp_path / "file")
    assert done.returncode == 0, done.text
    assert requests_to_owners(done) == 0, done.text


@pytest.mark.parametrize("ranks, nodes", [(2, 2), (4, 2), (8, 4)])
def test_ranks_in_finalize_serve(mpiexec, build, tmp_path, ranks, nodes):
    words = ("-n", ranks, "--nodes", nodes, build("file_owners.c"), "finalize", tmp_path / "file")
    done = mpiexec(*words)
    assert done.returncode == 0, done.text
    assert requests_to_owners(done) > 0, done.text


@pytest.mark.parametrize("ranks, nodes", [(3, 2), (4, 4)])
def test_without_the_world_the_files_own_ranks_serve(mpiexec, build, tmp_path, ranks, nodes):
    words = ("-n", ranks, "--nodes", nodes, build("file_owners.c"), "session", tmp_path / "file")
    done = mpiexec(*words)
    assert done.returncode == 0, done.text
    assert done.stdout.count("owners: right") == 1, done.text


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_an_owner_that_dies_ends_the_job(mpiexec, build, tmp_path, rank):
    words = ("-n", 3, "--nodes", 3, build("file_owners.c"), "die", tmp_path / "file", rank)
    done = mpiexec(*words)
    assert done.returncode != 0, done.text
    assert f"rank {rank}" in done.stderr, done.text
