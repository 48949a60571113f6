"""mpiexec --stats: what it counts is what was sent, by the way, by whether the send or the receive
came first, also when ranks abort or are killed."""

import json

import pytest

MESSAGES = 10
BYTES = MESSAGES * (8 + 3000 + 500000)
LARGE = ("get", "cooperative", "sender-write", "put", "two-copy")


def counted(mpiexec, build, *arguments, status=0, ranks=2, environment=None):
    done = mpiexec("--stats=json", "-n", ranks, build("statistics.c"), *arguments, environment=environment)
    assert done.returncode == status, done.text
    return json.loads(done.stdout)


@pytest.mark.parametrize("first", ["receive", "message"])
def test_messages_are_counted_by_way_and_by_who_came_first(mpiexec, build, first):
    run = counted(mpiexec, build, "well", first)
    assert run["ranks"] == 2
    assert run["finished"] is True
    assert run["all"]["sent_bytes"] == run["all"]["received_bytes"] == BYTES
    assert run["all"]["sent_messages"] == run["all"]["received_messages"]  # also those that the ranks meet by
    early = run["all"]["message_first_bytes"]
    assert early == (BYTES if first == "message" else 0)
    ways = run["ways"]
    assert ways["eager"]["sent_messages"] == ways["eager"]["received_messages"] == MESSAGES
    assert sum(ways[way]["sent_messages"] for way in LARGE) == MESSAGES
    assert sum(ways[way]["received_bytes"] for way in LARGE) == MESSAGES * 500000
    assert ways["short"]["sent_messages"] > MESSAGES
    sender, receiver = run["each_rank"]
    assert (sender["rank"], receiver["rank"]) == ("0", "1")
    assert sum(way["sent_bytes"] for way in sender["ways"].values()) == BYTES
    assert sum(way["received_bytes"] for way in receiver["ways"].values()) == BYTES
    assert run["seconds"] > 0
    assert run["bytes_per_second"] == pytest.approx(BYTES / run["seconds"], rel=1e-3)


@pytest.mark.parametrize(("end", "status"), [("abort", 3), ("kill", 137)])
def test_what_was_sent_before_a_bad_end_is_counted(mpiexec, build, end, status):
    run = counted(mpiexec, build, end, "receive", status=status)
    sender, receiver = run["each_rank"]
    assert not sender["finished"]
    assert not receiver["finished"]
    assert sum(way["sent_bytes"] for way in sender["ways"].values()) == BYTES
    if end == "abort":
        assert sum(way["received_bytes"] for way in receiver["ways"].values()) == BYTES


def test_the_table_goes_to_standard_error_after_the_programs_output(mpiexec, build):
    done = mpiexec("--stats=ranks", "-n", 2, build("statistics.c"))
    assert done.returncode == 0, done.text
    assert done.stdout == "", done.text
    assert "messages of 2 ranks" in done.stderr, done.text
    rows = {line.split()[0]: line for line in done.stderr.splitlines() if line.strip()}
    assert f" {MESSAGES} " in rows["eager"], done.text
    assert "4.80 MiB" in rows["all"], done.text
    assert rows["0"], done.text
    assert rows["1"], done.text


def test_a_file_takes_it_and_nothing_is_said(mpiexec, build, tmp_path):
    path = tmp_path / "statistics.json"
    done = mpiexec("--stats=json", "--stats-file", path, "-n", 1, build("ring.c"))
    assert done.returncode == 0, done.text
    assert "each_rank" not in done.stdout + done.stderr, done.text
    assert json.loads(path.read_text())["ranks"] == 1


def test_a_file_that_cannot_be_written_is_told(mpiexec, build, tmp_path):
    done = mpiexec("--stats-file", tmp_path / "no" / "such", "-n", 1, build("ring.c"))
    assert done.returncode == 1, done.text
    assert "cannot write" in done.stderr, done.text


def test_programs_without_mpi_and_bad_forms(mpiexec):
    done = mpiexec("--stats", "-n", 2, "true")
    assert done.returncode == 0, done.text
    assert "no rank used MPI" in done.stderr, done.text
    done = mpiexec("--stats=xml", "-n", 2, "true")
    assert done.returncode == 2, done.text
    assert "expected table, ranks or json" in done.stderr, done.text


def test_nobody_counts_for_mpiexec_when_nobody_asked(mpiexec, build):
    done = mpiexec("-n", 2, build("statistics.c"))
    assert done.returncode == 0, done.text
    assert "messages of" not in done.stderr, done.text
