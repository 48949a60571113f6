"""Storage that becomes full, fails from a byte on, or does things by halves, under collective access.

One aggregator's error is every rank's, by every way of the data to the aggregators; what had been written
before is still there; no rank hangs; and the file is of use afterwards.
"""

import os
import re
import socket

import harness
import pytest

MPIEXEC = harness.PREFIX / "bin/mpiexec"
PRELOAD = ("sh", "-c", 'LD_PRELOAD="$0 $LD_PRELOAD" exec "$@"')  # beside what mpiexec preloads

TOGETHER = ("romio_cb_write=enable", "romio_cb_read=enable", "cb_buffer_size=65536", "cb_nodes=3")
# By name: arguments of mpiexec, whose an error is, hints.
WAYS = {
    "memory": ((), "all", TOGETHER),
    "messages": ((), "all", (*TOGETHER, "tasuki_io_exchange=messages")),
    "nodes": (("--nodes", 2), "all", TOGETHER),
    "ring": ((), "all", (*TOGETHER, "tasuki_io_uring=enable")),
    "alone": ((), "each", ("romio_cb_write=disable", "romio_cb_read=disable")),
    "sieve": ((), "each", ("romio_cb_write=disable", "romio_ds_write=enable", "romio_ds_read=enable")),
}
PARTS = {
    "dense": (64, 0),
    "holes": (300, 100),
    "long": (20000, 100),
}  # bytes of a run, and between two of them
RANKS = 4


@pytest.fixture(scope="session")
def storage():
    return harness.compile_program(harness.ROOT / "tests/faults/storage.c")


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.fixture(params=PARTS)
def parts(request):
    return PARTS[request.param]


def run(program, way, parts, mode, name, before=(), outside=(), environment=None):
    """`before`: words before the program, `outside`: before mpiexec."""
    arguments, whose, hints = way
    words = [*outside, MPIEXEC, "-n", RANKS, *arguments, *before, program, *mode, name, *parts, whose, *hints]
    return harness.run_command(*words, environment=environment)


def right(*arguments, **how):
    done = run(*arguments, **how)
    assert done.returncode == 0 and done.stdout == "right\n" and done.stderr == "", done.text


@pytest.mark.parametrize("mode", ["full", "sparse"])
def test_a_file_system_becomes_full(storage, own_mounts, way, parts, mode):
    mount = (*own_mounts, "sh", "-c", 'mount -t tmpfs -o size=4m none /mnt && exec "$@"', "sh")
    right(storage, way, parts, (mode,), "/mnt/data", outside=mount)


def test_a_file_may_not_grow(storage, tmp_path, way, parts):
    """By a limit of the processes: needs no mounts."""
    right(storage, way, parts, ("limit", 2_500_000), tmp_path / "data")


@pytest.mark.parametrize("name", [name for name in WAYS if name != "ring"])  # it calls nothing replaceable
@pytest.mark.parametrize(("error", "error_class"), [("ENOSPC", "MPI_ERR_NO_SPACE"), ("EIO", "MPI_ERR_IO")])
def test_storage_fails_from_a_byte_on(storage, bad_storage, tmp_path, name, error, error_class):
    edge = 2_345_678
    before = (*PRELOAD, bad_storage)
    environment = {"STORAGE": f"{edge}:{error}"}
    mode = ("edge", f"{edge}:{error_class}")
    right(
        storage, WAYS[name], PARTS["holes"], mode, tmp_path / "data", before=before, environment=environment
    )


def test_calls_do_things_by_halves(storage, bad_storage, tmp_path, way, parts):
    before = (*PRELOAD, bad_storage)
    right(
        storage, way, parts, ("right",), tmp_path / "data", before=before, environment={"STORAGE": "clumsy"}
    )


def test_a_kernel_that_permits_no_ring(storage, restrict, tmp_path):
    """Then the same goes by ordinary calls, and who wants to know is told."""
    why = "the kernel refuses it: Operation not permitted|this library was built without liburing"
    before = (restrict, "uring", "--")
    how = {"before": before, "environment": {"TASUKI_EXPLAIN": "1"}}
    for mode in (("right",), ("limit", 2_500_000)):
        done = run(storage, WAYS["ring"], PARTS["holes"], mode, tmp_path / mode[0], **how)
        assert done.returncode == 0 and done.stdout == "right\n", done.text
        told = re.search(rf"there is no io_uring \(({why})\): preadv and pwritev do it", done.stderr)
        assert told, done.text


@pytest.fixture
def special_files(tmp_path):
    """A folder of what is no plain file."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("0123456789")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    return tmp_path


def classes(name, letters, ranks, outside=()):
    """call -> the class of its error."""
    program = harness.compile_program(harness.ROOT / "tests/faults/special_files.c")
    done = harness.run_command(*outside, MPIEXEC, "-n", ranks, program, name, letters)
    assert done.returncode == 0 and done.stderr == "", done.text
    return dict(line.split() for line in done.stdout.splitlines())


MODES = ["r", "w", "rw", "rwc", "wcx", "wa", "ws", "rs"]
NEVER_OPENED = {  # the class of each mode but "wcx"; of that one
    "folder": ("MPI_ERR_BAD_FILE", "MPI_ERR_FILE_EXISTS"),
    "none/file": ("MPI_ERR_NO_SUCH_FILE", "MPI_ERR_NO_SUCH_FILE"),
    "plain/file": ("MPI_ERR_BAD_FILE", "MPI_ERR_BAD_FILE"),
    "loop": ("MPI_ERR_BAD_FILE", "MPI_ERR_FILE_EXISTS"),
    "pipe": ("MPI_ERR_UNSUPPORTED_OPERATION", "MPI_ERR_FILE_EXISTS"),
    "socket": ("MPI_ERR_UNSUPPORTED_OPERATION", "MPI_ERR_FILE_EXISTS"),
    "@LONG": ("MPI_ERR_BAD_FILE", "MPI_ERR_BAD_FILE"),
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", NEVER_OPENED)
def test_what_cannot_be_opened_is_refused(special_files, name, ranks):
    usual, exclusive = NEVER_OPENED[name]
    for letters in MODES:
        wanted = exclusive if letters == "wcx" else usual
        path = name if name == "@LONG" else special_files / name
        assert classes(path, letters, ranks) == {"open": wanted}, letters


DEVICES = {"null": "MPI_SUCCESS", "zero": "MPI_SUCCESS", "full": "MPI_ERR_NO_SPACE"}  # what a write gives


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", DEVICES)
def test_devices_do_what_the_system_does(name, ranks):
    for letters in MODES:
        if letters == "wcx":
            assert classes(f"/dev/{name}", letters, ranks) == {"open": "MPI_ERR_FILE_EXISTS"}
            continue
        for call, found in classes(f"/dev/{name}", letters, ranks).items():
            refused = call in ("set_size", "preallocate")
            wanted = DEVICES[name] if "write" in call else "MPI_SUCCESS"
            assert found == ("MPI_ERR_UNSUPPORTED_OPERATION" if refused else wanted), (letters, call)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_file_system_that_is_read_only(own_mounts, ranks):
    """Root may write any file, so only the mount refuses: not the permissions."""
    script = 'mount -t tmpfs none /mnt && echo x > /mnt/data && mount -o remount,ro /mnt && exec "$@"'
    mount = (*own_mounts, "sh", "-c", script, "sh")
    assert set(classes("/mnt/data", "r", ranks, mount).values()) == {"MPI_SUCCESS"}
    for letters in ("w", "rw", "wa"):
        assert classes("/mnt/data", letters, ranks, mount) == {"open": "MPI_ERR_READ_ONLY"}
    assert classes("/mnt/other", "rwc", ranks, mount) == {"open": "MPI_ERR_READ_ONLY"}
    assert classes("/mnt/other", "w", ranks, mount) == {"open": "MPI_ERR_NO_SUCH_FILE"}
