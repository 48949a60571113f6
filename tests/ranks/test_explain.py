"""TASUKI_EXPLAIN: one line for each distinct case, of rank 0 or of all ranks, and none without it."""

import re

import pytest


def lines_of(done, rank):
    return [line for line in done.stderr.splitlines() if line.startswith(f"tasuki: rank {rank}: ")]


@pytest.mark.parametrize("setting", ["1", "all"])
def test_each_case_is_told_once(run, setting):
    done = run("statistics.c", 2, environment={"TASUKI_EXPLAIN": setting})
    assert done.returncode == 0, done.text
    assert done.stderr.count("the heap is") == 1, done.text
    for rank in range(2):
        lines = lines_of(done, rank)
        if rank == 1 and setting != "all":
            assert lines == [], done.text
            continue
        assert len(lines) == len(set(lines)), done.text
        assert any("at once" in line for line in lines), done.text
        peer = "to rank 1" if rank == 0 else "from rank 0"
        # Ten messages of 500,000 bytes may go different ways, but each way is reported once.
        large = [line for line in lines if f"488.3 KiB {peer}" in line]
        assert 1 <= len(large) <= 6, done.text
        if rank == 0:
            assert sum(f"2.93 KiB {peer}: eager" in line for line in lines) == 1, done.text
        else:
            assert all("the receive was posted first" in line for line in large), done.text


def test_who_came_first_and_a_switched_off_protocol_are_told(run):
    environment = {"TASUKI_EXPLAIN": "all", "TASUKI_PROTOCOL_GET": 0, "TASUKI_PROTOCOL_PUT": 0}
    done = run("statistics.c", 2, "well", "message", environment=environment)
    assert done.returncode == 0, done.text
    received = [line for line in lines_of(done, 1) if "488.3 KiB from rank 0" in line]
    assert received, done.text
    assert all("two-copy" in line and "the message came before its receive" in line for line in received), (
        done.text
    )
    assert any("(switched off)" in line for line in lines_of(done, 0)), done.text


@pytest.mark.parametrize(
    "distance, expected",
    [
        ("cache", "a last-level cache in common"),
        ("package", "a socket in common"),
        ("machine", "different sockets"),
    ],
)
def test_the_distance_and_its_thresholds_are_told(run, distance, expected):
    environment = {"TASUKI_EXPLAIN": "all", "TASUKI_HEAP": "global", "TASUKI_PROTOCOL_DISTANCE": distance}
    environment |= {"TASUKI_PROCESSOR": "amd"}  # whose thresholds differ by the distance
    environment |= {"TASUKI_PROTOCOL_WAITING_GET_BYTES_MIN": "1G"}
    done = run("statistics.c", 2, environment=environment)
    assert done.returncode == 0, done.text
    received = [line for line in lines_of(done, 1) if "488.3 KiB from rank 0: sender-write" in line]
    assert received, done.text
    assert all(line.endswith(f"; the ranks have {expected}") for line in received), done.text
    starts = [line for line in lines_of(done, 0) if " on (different sockets)" in line]
    assert starts and all(" on (a socket in common), " in line for line in starts), done.text


@pytest.mark.parametrize("network", ["model", "fabric"])
def test_ways_to_other_nodes_are_told_in_words_of_their_own(mpiexec, build, network):
    options = ("-n", 3, "--nodes", 2, f"--network={network}")
    done = mpiexec(*options, build("exchange.c"), environment={"TASUKI_EXPLAIN": "all"})
    if network == "fabric" and "libfabric" in done.stderr and done.returncode != 0:
        pytest.skip("this machine has no libfabric")
    assert done.returncode == 0, done.text
    for rank, near in ((0, 1), (1, 0), (2, None)):  # ranks 0 and 1 are on one node
        lines = lines_of(done, rank)
        starts = [line for line in lines if "to other nodes up to 520 B go in one packet" in line]
        assert len(starts) == 1, done.text
        told = [line for line in lines if re.search(r" (to|from) rank \d: ", line)]
        far = [line for line in told if not re.search(rf" (to|from) rank ({rank}|{near}): ", line)]
        assert any("at once in packets, two copies" in line for line in far), done.text
        assert not any("ring" in line.split(": ", 4)[4] for line in far), done.text
        assert any("at once through the ring, two copies" in line for line in told if line not in far), (
            done.text
        )


def test_a_threshold_of_the_user_holds_for_all_distances(run):
    environment = {"TASUKI_EXPLAIN": "1", "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN": "5k"}
    done = run("statistics.c", 2, environment=environment)
    assert done.returncode == 0, done.text
    assert any(line.endswith("is advertised, from 5 KiB on;") for line in lines_of(done, 0)), done.text


def test_nothing_is_told_where_nobody_asked(run):
    done = run("statistics.c", 2, environment={"TASUKI_EXPLAIN": "0"})
    assert done.returncode == 0, done.text
    assert done.stderr == "", done.text


def test_another_word_is_refused(run):
    done = run("ring.c", 2, environment={"TASUKI_EXPLAIN": "everything"})
    assert done.returncode != 0, done.text
    assert "expected off, on or all" in done.stderr, done.text
