"""A run that is continued from a restart file gives the bits of one that was never interrupted; on other
ranks, the same but for rounding. A file that is not whole, or not of this run, is refused by all ranks alike;
one that cannot be written leaves everything as it was.
"""

import h5py
import harness
import numpy
import pytest
from test_bad_input import refused

VISCOUS = ("viscosity = 0.0", "viscosity = 0.5")
STEPS = ("steps = 4", "steps = 12")
# Steps as long as may be, so that particles change their columns, and columns their ranks.
FAST = (("time_step = 0.02", "time_step = 0.2"), ("cell_size = 3.1", "cell_size = 4.0"))
# What is looked at is not in step with the restart file; columns are dealt out anew just there.
OUTPUT = """\
[output]
check_interval = 5
energy_tolerance = 0.1
[parallel]
mapping = "balanced"
remap_interval = 6
"""


@pytest.fixture
def run(spam, gas):
    """Runs 12 steps, or fewer, of a small viscous gas."""
    gas(VISCOUS, STEPS, *FAST, more=OUTPUT)

    def run_gas(directory, *options, ranks=2, environment=None, **how):
        # More threads than processors: none of them may keep one while it waits.
        environment = {"OMP_WAIT_POLICY": "passive"} | (environment or {})
        words = ("run", "gas.toml", "--quiet", "-o", directory, *options)
        return spam(*words, ranks=ranks, environment=environment, **how)

    return run_gas


def succeed(done):
    assert done.returncode == 0 and done.stderr == "", done.text


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize(
    ("ranks", "threads", "options"),
    [
        (1, 1, ()),
        (2, 2, ()),
        (3, 1, ("--halo", "shared", "--mapping", "cyclic(2)")),
        (4, 2, ("--mapping", "flat")),
        (8, 1, ()),
        (1, 2, ("--engine", "list", "--schedule", "static")),
        (3, 1, ("--engine", "list", "--sorting", "threaded")),
    ],
)
def test_continued_it_has_the_same_bits(run, tmp_path, ranks, threads, options):
    options = ("--threads", threads, *options)
    succeed(run("whole", *options, ranks=ranks))
    succeed(run("halves", "--steps", 6, *options, ranks=ranks))
    succeed(run("halves", "--overwrite", "--restart", "halves/restart-6.spam", *options, ranks=ranks))
    whole, halves = contents(tmp_path / "whole"), contents(tmp_path / "halves")
    for name in ("snapshot-0.vtkhdf", "snapshot-12.vtkhdf", "restart-12.spam"):
        assert whole[name] == halves[name], name
    assert whole["snapshot-0.vtkhdf"] != whole["snapshot-12.vtkhdf"]
    assert not [name for name in halves if name.endswith(".part")]


def test_on_other_ranks_it_goes_on_all_the_same(run, tmp_path):
    succeed(run("whole", "--restart-interval", 6, ranks=4))
    whole = particles(tmp_path / "whole/snapshot-12.vtkhdf")
    others = [(1, ()), (3, ()), (8, ()), (4, ("--mapping", "cyclic(1)")), (2, ("--engine", "list"))]
    for ranks, options in others:
        directory = f"on-{ranks}"
        succeed(run(directory, "--restart", "whole/restart-6.spam", *options, ranks=ranks))
        found = particles(tmp_path / directory / "snapshot-12.vtkhdf")
        for name, values in whole.items():
            assert numpy.allclose(found[name], values, rtol=1e-11, atol=1e-11), (ranks, name)


def particles(path):
    with h5py.File(path) as file:
        return {name: file["VTKHDF"][name][:] for name in ("Points", "PointData/velocity", "PointData/heat")}


@pytest.fixture
def restart(run, tmp_path):
    """A restart file of step 6."""
    succeed(run("first", "--steps", 6))
    return tmp_path / "first/restart-6.spam"


def refused_to_continue(run, tmp_path, file, ranks=2):
    """The line that is told about a file: nothing else happened."""
    before = contents(tmp_path / "first")
    told = refused(run("second", "--restart", file, ranks=ranks))
    assert contents(tmp_path / "first") == before
    assert not (tmp_path / "second").exists() or not contents(tmp_path / "second")
    return told


def test_what_is_no_whole_restart_file(run, restart, tmp_path):
    """Every length and every bit of a file's head: tests/unit/spam/restart_head_test.cpp."""
    data = restart.read_bytes()
    for length in (0, 7, 100, 200, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.spam").write_bytes(data[:length])
        told = refused_to_continue(run, tmp_path, "cut.spam", ranks=1 + length % 3)
        assert told.startswith(
            ("cut.spam: it is no restart file", "cut.spam: a restart file cut short: it has")
        )
    for place in (0, 50, 160, len(data) - 600 * 48, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 4
        (tmp_path / "damaged.spam").write_bytes(damaged)
        told = refused_to_continue(run, tmp_path, "damaged.spam", ranks=1 + place % 3)
        assert told.startswith(
            ("damaged.spam: it is no restart file", "damaged.spam: a damaged restart file: ")
        )
    assert refused_to_continue(run, tmp_path, "nothing.spam") == "nothing.spam: there is no such file"
    told = refused_to_continue(run, tmp_path, "first")
    assert told == "first: it is no file, and a restart file was expected"


def test_a_file_of_another_run(run, gas, restart, tmp_path):
    gas(VISCOUS, STEPS, *FAST, ("range = 3.0", "range = 2.9"), more=OUTPUT)
    told = refused_to_continue(run, tmp_path, "first/restart-6.spam", ranks=3)
    assert told == (
        "first/restart-6.spam: it belongs to a run with material.range = 3, and gas.toml says 2.9"
    )
    gas(VISCOUS, ("steps = 4", "steps = 5"), *FAST, more=OUTPUT)
    told = refused_to_continue(run, tmp_path, "first/restart-6.spam")
    assert told.startswith("first/restart-6.spam: it was written after 6 steps, and gas.toml says")


PRELOAD = ("sh", "-c", 'LD_PRELOAD="$0 $LD_PRELOAD" exec "$@"')  # beside what mpiexec preloads


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_disk_that_is_full(run, restart, tmp_path, ranks):
    """A restart file of ours has 29 KB."""
    library = harness.compile_plain(
        harness.ROOT / "tests/faults/bad_storage.c", "bad_storage.so", "-shared", "-fPIC"
    )
    before = contents(tmp_path / "first")
    done = run(
        *("first", "--overwrite", "--restart", "first/restart-6.spam", "--restart-interval", 9),
        ranks=ranks,
        before=(*PRELOAD, library),
        environment={"STORAGE": "20000:ENOSPC"},
    )
    told = refused(done)
    assert told.startswith("first/restart-9.spam.part: cannot be written: ") and "No space left" in told, told
    assert contents(tmp_path / "first") == before


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_disk_that_is_full_for_a_snapshot(run, tmp_path, ranks):
    (tmp_path / "first").mkdir()
    (tmp_path / "first/snapshot-4.vtkhdf.part").symlink_to("/dev/full")
    told = refused(run("first", "--snapshot-interval", 4, "--restart-interval", 2, ranks=ranks))
    assert told == "first/snapshot-4.vtkhdf: cannot be written: No space left on device"
    assert set(contents(tmp_path / "first")) == {"snapshot-0.vtkhdf", "restart-2.spam"}


def test_a_name_that_is_taken(run, restart, tmp_path):
    (tmp_path / "first/restart-12.spam.part").mkdir()
    told = refused(run("first", "--overwrite", "--restart", "first/restart-6.spam", ranks=3))
    assert told.startswith("first/restart-12.spam.part: cannot be opened: "), told
    assert (tmp_path / "first/restart-12.spam.part").is_dir()
    assert not (tmp_path / "first/restart-12.spam").exists()
