"""Files of MPI under real processes: the block that they share, and the C interface with its handlers."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_files(run, ranks, tmp_path):
    name = tmp_path / "file"
    done = run("files.c", ranks, name)
    assert done.returncode == 0, done.text
    assert done.stdout.count("files: right") == 1, done.text
    assert not name.exists()
