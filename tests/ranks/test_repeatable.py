"""Repeatable reductions: the same bits by every algorithm and wherever the ranks are (see repeatable.cpp)."""

import re

import pytest

ORDER = {"TASUKI_REPEATABLE_REDUCTIONS": "order"}
EXACT = {"TASUKI_REPEATABLE_REDUCTIONS": "exact"}
BOTH = pytest.mark.parametrize("asked", [ORDER, EXACT], ids=["order", "exact"])
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


def spread(done):
    """{vectors: digest of their sum}"""
    return dict(re.findall(r"^spread of (\d) vectors (\w+)$", done.stdout, re.M))


def differing(scores):
    return {row: other for row, other in scores.items() if other > 0}


@BOTH
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_every_algorithm_gives_the_same_bits(others, asked, ranks):
    assert differing(others("-n", ranks, environment=asked)[0]) == {}


@pytest.mark.parametrize(
    ("asked", "ranks", "nodes"), [(ORDER, *on) for on in NODES] + [(EXACT, 4, 2), (EXACT, 8, 4)]
)
def test_nodes_change_nothing(others, asked, ranks, nodes):
    assert differing(others("-n", ranks, "--nodes", nodes, environment=asked)[0]) == {}


@BOTH
def test_the_place_of_ranks_changes_nothing(others, asked):
    options = ("-n", 8, "--nodes", 2, "--map-by", "node")
    assert differing(others(*options, environment=asked)[0]) == {}


@BOTH
def test_a_network_changes_nothing(others, asked):
    options = ("-n", 4, "--nodes", 2, "--network", "fabric")
    assert differing(others(*options, environment=asked)[0]) == {}


@BOTH
def test_private_memory_changes_nothing(others, asked):
    assert differing(others("-n", 4, "--heap", "private", environment=asked)[0]) == {}


@BOTH
def test_checks_change_nothing(others, asked):
    assert differing(others("-n", 3, environment=asked | {"TASUKI_CHECK": 2})[0]) == {}


@pytest.mark.parametrize("value", ["order", "exact"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_communicator_can_ask_for_it(others, nodes, value):
    scores, done = others("-n", 4, "--nodes", nodes, arguments=[value])
    assert differing(scores) == {}
    assert "hints no order no\n" in done.stdout, done.text


def test_the_default_gives_other_bits_by_some_algorithms(others):
    """So the tests above can fail."""
    scores = differing(others("-n", 8, "--nodes", 4)[0])
    assert {"ring", "chain"} <= {algorithm for operation, algorithm in scores if operation == "allreduce"}
    assert {"reduce", "allreduce", "reduce_scatter", "scan"} <= {operation for operation, _ in scores}


def test_the_number_of_ranks_changes_nothing_that_is_exact(others):
    def sums(asked):
        found = {}
        for ranks, nodes in [(1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (8, 1), (8, 4)]:
            _, done = others("-n", ranks, "--nodes", nodes, environment=asked)
            for vectors, digest in spread(done).items():
                found.setdefault(vectors, set()).add(digest)
        return {vectors: len(digests) for vectors, digests in found.items()}

    assert sums(EXACT) == {"1": 1, "2": 1, "3": 1}
    assert sums(ORDER)["3"] > 1


def test_what_is_wanted_and_has_no_such_order_is_not_done(others):
    environment = ORDER | {"TASUKI_EXPLAIN": 1}
    _, done = others("-n", 4, environment=environment)
    told = [line for line in done.stderr.splitlines() if "allreduce of" in line]
    assert told and all("4 ranks, in one order: " in line for line in told), done.text
    assert any("halving_doubling (wanted)" in line for line in told), done.text
    assert not any(re.search(r": (ring|chain|binary_tree)", line) for line in told), done.text


def test_what_is_exact_is_told(others):
    _, done = others("-n", 4, environment=EXACT | {"TASUKI_EXPLAIN": 1})
    told = [line for line in done.stderr.splitlines() if "allreduce of" in line]
    assert any("4 ranks, exact: collect_slices (wanted)" in line for line in told), done.text
    assert any("4 ranks, exact: flag_based" in line for line in told), done.text
    assert any("4 ranks, in one order: halving_doubling (wanted)" in line for line in told), done.text
    assert not any(re.search(r"exact: (ring|chain|halving|recursive)", line) for line in told), done.text


def test_a_bad_value_is_one_line(mpiexec):
    done = mpiexec("--info", environment={"TASUKI_REPEATABLE_REDUCTIONS": "yes"})
    assert done.returncode == 2
    assert done.stderr == 'mpiexec: TASUKI_REPEATABLE_REDUCTIONS = "yes", expected no, order or exact\n'
