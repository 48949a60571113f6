"""What a run computes does not depend on how: ranks, threads, mapping, remapping, halo and engine change the
order in which forces are added, and so the last bits alone.

One rank with one thread is the reference. After STEPS steps, with friction, places and velocities agree to
BOUND, measured against the sizes of space and of the flow; twice the same choices give the same bits.
"""

import h5py
import numpy
import pytest

STEPS = 20
BOUND = 1e-10  # relative; a mistake in one pair's force shows at 1e-4
HEIGHT, WIDTH = 9.0, 45.0
# Threads that wait let others work: here are more of them than cores.
ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}

PERIODIC = ('boundary_x = ["open", "mirror"]', 'boundary_x = "periodic"')
MIRRORS = ('boundary_y = "periodic"', 'boundary_y = ["mirror", "mirror"]')
CASES = {"shock": (), "ring": (PERIODIC,), "box": (MIRRORS,)}

# Ranks, and words of `spam run`.
CHOICES = [
    *[(ranks, "--mapping balanced") for ranks in (2, 3, 4, 8)],
    *[(3, f"--mapping {mapping}") for mapping in ("flat", "cyclic(2)", "cyclic(3)")],
    (4, "--mapping cyclic(4)"),
    *[(1, f"--threads {threads}") for threads in (2, 3)],
    (2, "--threads 2 --mapping cyclic(2)"),
    (3, "--threads 3 --mapping balanced --halo shared"),
    *[(ranks, "--halo shared --mapping cyclic(1)") for ranks in (2, 8)],
    (4, "--halo shared --mapping balanced"),
    (1, "--engine list"),
    (3, "--engine list --mapping cyclic(2) --halo shared"),
    (1, "--engine list --threads 3 --schedule static --update critical --sorting threaded"),
    (2, "--engine list --threads 2 --schedule cyclic --update reduction --mapping cyclic(2)"),
]
OTHER_CASES = [(1, "--threads 3"), (3, "--mapping cyclic(2)"), (2, "--engine list --halo shared")]


@pytest.fixture
def last_state(spam, gas, tmp_path):
    """Runs a case; returns its last state by name, ordered by the particles' ids, and its restart file."""

    def run(case, ranks, words):
        name = gas(*CASES[case], ("viscosity = 0.0", "viscosity = 0.5"), ("steps = 4", f"steps = {STEPS}"))
        options = ["--remap-interval", "6", "--threads", "1", "--mapping", "flat", "--quiet"]
        for word, value in zip(words.split()[::2], words.split()[1::2], strict=True):
            if word in options:
                options[options.index(word) + 1] = value
            else:
                options += [word, value]
        done = spam(
            "run", name, "--output", "out", "--overwrite", *options, ranks=ranks, environment=ENVIRONMENT
        )
        assert done.returncode == 0, done.text
        with h5py.File(tmp_path / f"out/snapshot-{STEPS}.vtkhdf") as file:
            grid = file["VTKHDF"]
            state = {
                "place": grid["Points"][:],
                **{name: grid["PointData"][name][:] for name in grid["PointData"]},
            }
        return state, (tmp_path / f"out/restart-{STEPS}.spam").read_bytes()

    return run


@pytest.fixture(scope="module")
def references():
    return {}


def expect_equal(state, reference):
    assert (state["id"] == reference["id"]).all()
    apart = numpy.abs(state["place"] - reference["place"])
    # Over an edge that repeats, two places may be a bit and a period apart.
    apart = numpy.minimum(apart, numpy.abs(apart - [WIDTH, HEIGHT, 1]))
    assert apart.max() <= BOUND * HEIGHT
    for name in ("velocity", "density", "heat"):
        scale = numpy.abs(reference[name]).max()
        assert scale > 0, name
        assert numpy.abs(state[name] - reference[name]).max() <= BOUND * scale, name


def check(case, ranks, words, last_state, references):
    if case not in references:
        references[case] = last_state(case, 1, "")[0]
    state, _ = last_state(case, ranks, words)
    expect_equal(state, references[case])


@pytest.mark.parametrize("ranks, words", CHOICES)
def test_choices_change_the_last_bits_alone(ranks, words, last_state, references):
    check("shock", ranks, words, last_state, references)


@pytest.mark.parametrize("ranks, words", OTHER_CASES)
@pytest.mark.parametrize("case", ["ring", "box"])
def test_so_they_do_with_other_edges(case, ranks, words, last_state, references):
    check(case, ranks, words, last_state, references)


@pytest.mark.parametrize("words", ["--threads 2 --mapping balanced", "--halo shared --mapping cyclic(2)"])
def test_the_same_choices_give_the_same_bits(words, last_state):
    assert last_state("shock", 3, words)[1] == last_state("shock", 3, words)[1]
