"""Virtual nodes (mpiexec --nodes): programs of other tests, what must not cross nodes, and bad options."""

import json
import signal

import pytest

# A network that is slow enough to matter and fast enough for a test.
NETWORK = ("--network-latency=20us", "--network-bandwidth=2GB/s")


def spec_of(ranks, nodes, order):
    number = {"slot": lambda rank: rank * nodes // ranks, "node": lambda rank: rank % nodes}[order]
    return "".join("abcdefgh"[number(rank)] for rank in range(ranks))


@pytest.mark.parametrize("ranks, nodes", [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (8, 3)])
@pytest.mark.parametrize("order", ["slot", "node"])
def test_who_shares_memory_with_whom(mpiexec, build, ranks, nodes, order):
    if nodes == 1:  # the names are the machine's then
        done = mpiexec("-n", ranks, "--nodes", 1, build("ring.c"))
    else:
        words = ("-n", ranks, "--nodes", nodes, "--map-by", order, *NETWORK)
        done = mpiexec(*words, build("nodes.c"), spec_of(ranks, nodes, order))
        assert done.stdout.count("nodes: right") == 1, done.text
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_fewer_ranks_than_nodes_have_one_each(mpiexec, build, ranks):
    """By the option and by the variable alike: a script that runs at any number of ranks sets either."""
    program = [build("ring.c")] if ranks == 1 else [build("nodes.c"), spec_of(ranks, ranks, "slot")]
    words = ("-n", ranks, *program)
    for done in (mpiexec("--nodes", 4, *words), mpiexec(*words, environment={"TASUKI_NODES": 4})):
        assert done.returncode == 0, done.text
        assert done.stdout.count("nodes: right") == (ranks > 1), done.text


PROGRAMS = {
    "exchange.c": "exchange: all sizes right",
    "collectives.c": "collectives: right",
    "windows.c": "windows: right",
    "files.c": "files: right",
    "freed.c": "freed: right",
}


@pytest.mark.parametrize("source", PROGRAMS)
@pytest.mark.parametrize("ranks, nodes", [(2, 2), (4, 3)])
def test_programs_over_nodes(mpiexec, build, tmp_path, source, ranks, nodes):
    run_over_nodes(mpiexec, build, tmp_path, source, ranks, nodes)


def test_programs_over_nodes_whose_links_are_shared(mpiexec, build, tmp_path):
    run_over_nodes(mpiexec, build, tmp_path, "exchange.c", 4, 2, "--network-node-bandwidth=1GB/s")


def run_over_nodes(mpiexec, build, tmp_path, source, ranks, nodes, *network):
    argument = {"windows.c": ["nodes"], "files.c": [tmp_path / "file"]}.get(source, [])
    words = ("-n", ranks, "--nodes", nodes, *NETWORK, *network)
    done = mpiexec(*words, build(source), *argument)
    assert done.returncode == 0, done.text
    assert done.stdout.count(PROGRAMS[source]) == 1, done.text


@pytest.mark.parametrize("heap", ["global", "private"])
def test_messages_cross_in_two_copies_and_say_so(mpiexec, build, heap):
    """No way that needs common memory is taken between ranks of different nodes."""
    words = ("-n", 2, "--nodes", 2, "--heap", heap, "--stats=json", build("exchange.c"))
    done = mpiexec(*words, environment={"TASUKI_EXPLAIN": "on"})
    assert done.returncode == 0, done.text
    told = [line for line in done.stderr.splitlines() if "from rank 1" in line and "MiB" in line]
    assert told and all("two-copy" in line and "the two ranks share no memory" in line for line in told), (
        done.text
    )
    ways = json.loads(done.stdout[done.stdout.index("{") :])["ways"]
    assert ways["two-copy"]["sent_messages"] > 0, done.text


def test_programs_of_several_applications_share_the_nodes(mpiexec, build):
    """The ranks of all programs are dealt to the nodes together."""
    program = build("nodes.c")
    done = mpiexec("--nodes", 2, "-n", 3, program, "aabb", ":", "-n", 1, program, "aabb")
    assert done.returncode == 0 and "nodes: right" in done.stdout, done.text


def test_what_is_spawned_is_on_one_node(mpiexec, build):
    done = mpiexec("-n", 2, "--nodes", 2, build("dynamic.c"), "each")
    assert done.returncode == 0, done.text


def test_the_environment_names_at_most_as_many_nodes_as_ranks(mpiexec, build):
    for ranks, spec in ((2, "ab"), (4, "aabc")):
        done = mpiexec("-n", ranks, build("nodes.c"), spec, environment={"TASUKI_NODES": min(3, ranks)})
        assert done.returncode == 0 and "nodes: right" in done.stdout, done.text
    done = mpiexec("-n", 1, build("ring.c"), environment={"TASUKI_NODES": 7})
    assert done.returncode == 0, done.text


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("--nodes", 0), "--nodes 0: expected a number from 1"),
        (("--nodes", "two"), "--nodes two: expected a number from 1"),
        (("--nodes", 2, "--network-latency", "fast"), "--network-latency fast: expected a time"),
        (("--nodes", 2, "--network-latency", "2s"), "expected a time up to 1s"),
        (("--nodes", 2, "--network-latency=-1us"), "expected a time"),
        (("--nodes", 2, "--network-bandwidth", "5"), "--network-bandwidth 5: expected"),
        (("--nodes", 2, "--network-bandwidth", "0GB/s"), "expected 1MB/s to 1TB/s"),
        (("--nodes", 2, "--network-node-bandwidth", "2"), "--network-node-bandwidth 2: expected"),
    ],
)
def test_bad_options_are_told(mpiexec, words, complaint):
    done = mpiexec("-n", 2, *words, "true")
    assert done.returncode == 2 and complaint in done.stderr, done.text
    assert done.stderr.count("\n") == 1, done.text


@pytest.mark.parametrize("value", ["0", "-1", "x", "2x", "99999999999999999999"])
def test_a_bad_environment_is_told(mpiexec, value):
    done = mpiexec("-n", 2, "true", environment={"TASUKI_NODES": value})
    assert done.returncode == 2 and f'TASUKI_NODES = "{value}", expected a number' in done.stderr, done.text


def test_a_rank_that_dies_on_another_node_ends_the_job(mpiexec, build):
    """The others wait for its message."""
    done = mpiexec("-n", 4, "--nodes", 2, build("launch.c"), "signal", 3, signal.SIGKILL)
    assert done.returncode == 128 + signal.SIGKILL, done.text
    assert "rank 3" in done.stderr, done.text
