"""Repeatable reductions: the same bits by every algorithm and wherever the ranks are (see repeatable.cpp)."""

import re

import pytest

ORDER = {"TASUKI_REPEATABLE_REDUCTIONS": "order"}
NODES = [(2, 2), (4, 2), (6, 2), (8, 2), (8, 4)]


@pytest.fixture
def others(mpiexec, build):
    """others(*options of mpiexec) -> {(operation, algorithm): results of other bits}, and what was said."""

    def run(*options, arguments=(), environment=None):
        program = build("repeatable.cpp", "-std=c++20", "-ffp-contract=off", compiler="mpicxx")
        done = mpiexec(*options, program, *arguments, environment=environment, timeout=300)
        if "fabric" in options and "libfabric" in done.stderr and done.returncode != 0:
            pytest.skip("this machine has no libfabric")
        assert done.returncode == 0, done.text
        rows = re.findall(r"^(\w+) (\w+) (\d+) (\d+)$", done.stdout, re.M)
        assert {row[0] for row in rows} >= {"reduce", "allreduce", "reduce_scatter", "scan", "exscan"}, (
            done.text
        )
        assert all(int(compared) > 0 for _, _, compared, _ in rows), done.text
        return {(row[0], row[1]): int(row[3]) for row in rows}, done

    return run


def differing(scores):
    return {row: other for row, other in scores.items() if other > 0}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_every_algorithm_gives_the_same_bits(others, ranks):
    assert differing(others("-n", ranks, environment=ORDER)[0]) == {}


@pytest.mark.parametrize(("ranks", "nodes"), NODES)
def test_nodes_change_nothing(others, ranks, nodes):
    assert differing(others("-n", ranks, "--nodes", nodes, environment=ORDER)[0]) == {}


def test_the_place_of_ranks_changes_nothing(others):
    options = ("-n", 8, "--nodes", 2, "--map-by", "node")
    assert differing(others(*options, environment=ORDER)[0]) == {}


def test_a_network_changes_nothing(others):
    options = ("-n", 4, "--nodes", 2, "--network", "fabric")
    assert differing(others(*options, environment=ORDER)[0]) == {}


def test_private_memory_changes_nothing(others):
    assert differing(others("-n", 4, "--heap", "private", environment=ORDER)[0]) == {}


def test_checks_change_nothing(others):
    assert differing(others("-n", 3, environment=ORDER | {"TASUKI_CHECK": 2})[0]) == {}


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_communicator_can_ask_for_it(others, nodes):
    scores, done = others("-n", 4, "--nodes", nodes, arguments=["hint"])
    assert differing(scores) == {}
    assert "hints no order no\n" in done.stdout, done.text


def test_the_default_gives_other_bits_by_some_algorithms(others):
    """So the tests above can fail."""
    scores = differing(others("-n", 8, "--nodes", 4)[0])
    assert {"ring", "chain"} <= {algorithm for operation, algorithm in scores if operation == "allreduce"}
    assert {"reduce", "allreduce", "reduce_scatter", "scan"} <= {operation for operation, _ in scores}


def test_what_is_wanted_and_has_no_such_order_is_not_done(others):
    environment = ORDER | {"TASUKI_EXPLAIN": 1}
    _, done = others("-n", 4, environment=environment)
    told = [line for line in done.stderr.splitlines() if "allreduce of" in line]
    assert told and all("4 ranks, in one order: " in line for line in told), done.text
    assert any("halving_doubling (wanted)" in line for line in told), done.text
    assert not any(re.search(r": (ring|chain|binary_tree)", line) for line in told), done.text


def test_a_bad_value_is_one_line(mpiexec):
    done = mpiexec("--info", environment={"TASUKI_REPEATABLE_REDUCTIONS": "yes"})
    assert done.returncode == 2
    assert done.stderr == 'mpiexec: TASUKI_REPEATABLE_REDUCTIONS = "yes", expected no or order\n'
