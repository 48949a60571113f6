"""Nonblocking and split accesses to files, by io_uring and by threads, within a node and between nodes."""

import pytest
from harness import RANKS


def check(done):
    assert done.returncode == 0, done.text
    assert done.stdout.count("file_requests: right") == 1, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_on_one_node(run, ranks, tmp_path):
    check(run("file_requests.c", ranks, tmp_path / "file"))


@pytest.mark.parametrize("ranks", [2, 4])
def test_on_two_nodes(mpiexec, build, ranks, tmp_path):
    words = ("-n", ranks, "--nodes", 2, build("file_requests.c"), tmp_path / "file")
    check(mpiexec(*words))


def test_by_threads(mpiexec, build, tmp_path):
    hints = tmp_path / "hints"
    hints.write_text("tasuki_io_uring disable\n")
    words = ("-n", 2, build("file_requests.c"), tmp_path / "file")
    check(mpiexec(*words, environment={"ROMIO_HINTS": hints}))


@pytest.mark.parametrize("helper", ["0", "1"])
def test_with_threads(run, helper, tmp_path):
    environment = {"TASUKI_PROGRESS_THREAD": helper}
    check(run("file_requests.c", 2, tmp_path / "file", "threads", environment=environment))


def test_what_is_left_is_done_by_the_end(run, tmp_path):
    check(run("file_requests.c", 2, tmp_path / "file", "left"))
    block = 8 << 20
    assert (tmp_path / "file").read_bytes() == b"a" * 2 * block + b"b" * 2 * block


def test_a_buffer_is_the_request_s_until_that_is_waited_for(run, tmp_path):
    check(run("file_requests.c", 2, tmp_path / "file", "reused", environment={"TASUKI_CHECK": 3}))
