"""Random views and accesses of files, collective and not, with random hints, against a list of bytes."""

import os
import pathlib
import tempfile

import pytest

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))


@pytest.fixture
def on_files(rounds, tmp_path):
    """on_files(ranks, n, seconds): n rounds of random views of a file, or what ends in `seconds`."""

    def run(ranks, number, seconds, environment=None, **how):
        environment = {"PROPERTY_FILE": tmp_path / "file", **(environment or {})}
        rounds("files.py", ranks, number, seconds, environment=environment, **how)

    return run


@pytest.mark.parametrize("ranks, number", [(1, 150), (2, 200), (3, 150), (4, 150), (8, 60)])
def test_random_views(on_files, ranks, number):
    on_files(ranks, number, 3)


@pytest.mark.parametrize("ranks, nodes, by", [(4, 2, "slot"), (4, 2, "node"), (8, 4, "slot"), (8, 4, "node")])
def test_random_views_on_several_nodes(on_files, ranks, nodes, by):
    # In buffers of a few bytes an access is thousands of messages, each a wait beside other work.
    environment = {} if LONG else {"PROPERTY_LARGE_BYTES": 20_000}
    on_files(ranks, 40, 2, environment=environment, options=("--nodes", nodes, "--map-by", by))


def test_random_views_without_global_memory(on_files):
    on_files(3, 100, 2, options=("--heap", "private"))


def test_random_views_in_memory(on_files):
    """On tmpfs, where files that are there already may be written by other means."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        on_files(3, 100, 2, environment={"PROPERTY_FILE": pathlib.Path(folder) / "file"})
