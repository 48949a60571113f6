"""Files that our library writes are read by MPICH and Open MPI, and the reverse: subarrays, arrays dealt out
to ranks, blocks with holes, beyond 4 GiB, in order of ranks; native and external32, in that every basic type.

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
VIEWS = 9  # of exchanged_files.c
TYPES = 29  # that it stores in external32
NOT_OF_OPEN_MPI = 4  # those of long and of long double: it has other bytes than the standard
CASES = {"tasuki": VIEWS + TYPES, "mpich": VIEWS + TYPES, "openmpi": VIEWS + TYPES - NOT_OF_OPEN_MPI}
# The bytes of C's types whose size is not that of memory (MPI 14.5.2).
EXTERNAL_BYTES = {"LONG": 4, "UNSIGNED_LONG": 4}
NATIVE_BYTES = {"LONG_LONG": 8, "AINT": 8, "INT": 4, "LONG_DOUBLE": 16, "C_BOOL": 1, "C_DOUBLE_COMPLEX": 16}
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
        assert len(lines) == CASES[name] and all(line.startswith("right ") for line in lines), lines
    return folders


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_files_of_others_are_read(run, written, name):
    others = [folder for writer, folder in written.items() if writer != name]
    lines = run(name, "read", *others)
    files = sum(min(CASES[name], CASES[writer]) for writer in written if writer != name)
    assert len(lines) == files and all(line.startswith("right ") for line in lines), lines


def test_sizes_in_external32_are_the_standards(run, written):
    lines = run("tasuki", "read", written["tasuki"])
    for name, wanted in (EXTERNAL_BYTES | NATIVE_BYTES).items():
        assert f"right external_MPI_{name} {wanted}" in lines  # MPI_File_get_type_extent
        assert (written["tasuki"] / f"external_MPI_{name}.0").stat().st_size == 200 * wanted


def test_holes_stay_holes(written):
    """What no view shows was never written: it is zero, and takes no room where it is large."""
    for name in ("tasuki", "openmpi"):  # MPICH fills them with what was in its buffers
        content = (written[name] / "listed").read_bytes()
        assert content[:13] == bytes(13) and content[17:21] == bytes(4)
    far = (written["tasuki"] / "far").stat()
    assert far.st_size > 5 << 30 and far.st_blocks * 512 < 1 << 20
