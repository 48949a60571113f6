"""Files that our library writes are read by MPICH and Open MPI, and the reverse: subarrays, arrays dealt out
to ranks, blocks with holes, beyond 4 GiB, in order of ranks; native and external32.

The same program (exchanged_files.c), built by each library's mpicc. The other libraries are looked for in
build/peers (make test fetches them) or in the folder TASUKI_PEERS.
"""

import os
import pathlib

import pytest
from conftest import HERE, harness

PREFIX = harness.PREFIX
PEERS = pathlib.Path(os.environ.get("TASUKI_PEERS", harness.ROOT / "build" / "peers"))
IMPLEMENTATIONS = {"tasuki": PREFIX, "mpich": PEERS / "mpich", "openmpi": PEERS / "openmpi"}
CASES = 9  # of exchanged_files.c
SECONDS_MAX = 60


def environment_of(name):
    """Its own tools first; and Open MPI asks whether root means it."""
    words = {"PATH": f"{IMPLEMENTATIONS[name] / 'bin'}:{os.environ['PATH']}"}
    if name == "openmpi":
        words |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return words


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """run("mpich", "write", folder) -> the lines of the program of that library, with two ranks."""
    built = {}

    def build(name):
        prefix = IMPLEMENTATIONS[name]
        assert (prefix / "bin/mpicc").exists(), f"{prefix} is not there (make peers)"
        program = tmp_path_factory.mktemp("program") / name
        words = (prefix / "bin/mpicc", "-O1", HERE / "exchanged_files.c", "-o", program)
        done = harness.run_command(*words, environment=environment_of(name), timeout=SECONDS_MAX)
        assert done.returncode == 0, done.text
        return program

    def start(name, *arguments):
        if name not in built:
            built[name] = build(name)
        options = ["--oversubscribe"] if name == "openmpi" else []
        words = (IMPLEMENTATIONS[name] / "bin/mpiexec", *options, "-n", 2, built[name], *arguments)
        done = harness.run_command(*words, environment=environment_of(name), timeout=SECONDS_MAX)
        assert done.returncode == 0, done.text
        return done.stdout.splitlines()

    return start


@pytest.fixture(scope="module")
def written(run, tmp_path_factory):
    """The folder of the files of each library."""
    folders = {}
    for name in IMPLEMENTATIONS:
        folders[name] = tmp_path_factory.mktemp(name)
        lines = run(name, "write", folders[name])
        assert len(lines) == CASES and all(line.startswith("right ") for line in lines), lines
    return folders


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_files_of_others_are_read(run, written, name):
    others = [folder for writer, folder in written.items() if writer != name]
    lines = run(name, "read", *others)
    assert len(lines) == CASES * len(others) and all(line.startswith("right ") for line in lines), lines


def test_holes_stay_holes(written):
    """What no view shows was never written: it is zero, and takes no room where it is large."""
    for name in ("tasuki", "openmpi"):  # MPICH fills them with what was in its buffers
        content = (written[name] / "listed").read_bytes()
        assert content[:13] == bytes(13) and content[17:21] == bytes(4)
    far = (written["tasuki"] / "far").stat()
    assert far.st_size > 5 << 30 and far.st_blocks * 512 < 1 << 20
