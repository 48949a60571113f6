"""Storage that becomes full, fails from a byte on, or does things by halves, under collective access.

One aggregator's error is every rank's, by every way of the data to the aggregators; what had been written
before is still there; no rank hangs; and the file is of use afterwards.
"""

import re

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
