"""Both halos of SPAM show each rank exactly what its neighbours have, at every stage, for as long as they may
be read (halo.cpp says how that is found), on one node and across two. TASUKI_TEST_LONG: more seeds, and the
other MPIs.
"""

import os
import pathlib

import harness
import pytest

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "apps" / "spam" / "src"
PARTS = (
    "halo",
    "halo_messages",
    "halo_shared",
    "ghost_messages",
    "borders",
    "node_window",
    "domain",
    "balance",
)
FLAGS = ("-std=c++20", "-fopenmp", "-I" + str(SOURCES), *(SOURCES / f"{part}.cpp" for part in PARTS))
SPAM = harness.PREFIX / "bin" / "spam"
KINDS = ("messages", "shared")
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
PEERS = pathlib.Path(os.environ.get("TASUKI_PEERS", HERE.parents[1] / "build" / "peers"))
PEER_OPTIONS = {"mpich": (), "openmpi": ("--allow-run-as-root", "--oversubscribe")}


@pytest.fixture(scope="session")
def program():
    return harness.compile_program(HERE / "halo.cpp", *FLAGS, compiler="mpicxx")


def expect_right(*command):
    done = harness.run_command(*command)
    assert done.returncode == 0, done.text
    assert "halo: right" in done.stdout, done.text


@pytest.mark.parametrize("ranks", harness.RANKS)
@pytest.mark.parametrize("kind", KINDS)
def test_ghosts_are_what_their_owners_have(program, kind, ranks):
    for seed in range(20 if LONG else 2):
        with_all = seed % 2  # periodic, and with velocities
        expect_right(harness.PREFIX / "bin/mpiexec", "-n", ranks, program, kind, with_all, with_all, seed)


@pytest.mark.parametrize("ranks", harness.RANKS[1:])
def test_shared_memory_and_messages_go_together(program, ranks):
    for seed in range(20 if LONG else 2):
        launch = (harness.PREFIX / "bin/mpiexec", "--nodes", 2, "-n", ranks)
        expect_right(*launch, program, "shared", 1, seed % 2, seed)


@pytest.mark.parametrize("ranks", harness.RANKS)
def test_both_halos_lead_to_the_same_bits(ranks, gas, tmp_path):
    last, small = {}, tmp_path / gas()
    for way, nodes in (("messages", 1), ("shared", 1), ("shared", 2)):
        output = tmp_path / f"{way}-{nodes}"
        options = ("--halo", way, "--steps", 12, "--remap-interval", 5, "--threads", 1, "--quiet")
        launch = (harness.PREFIX / "bin/mpiexec", "--nodes", min(nodes, ranks), "-n", ranks)
        done = harness.run_command(*launch, SPAM, "run", small, "--output", output, *options)
        assert done.returncode == 0, done.text
        last[way, nodes] = (output / "restart-12.spam").read_bytes()
    assert len(set(last.values())) == 1


@pytest.mark.skipif(not LONG, reason="other MPIs are asked by make test-long")
@pytest.mark.parametrize("name", PEER_OPTIONS)
def test_other_mpis_do_the_same(name, tmp_path):
    prefix = PEERS / name
    assert (prefix / "bin/mpiexec").exists(), f"{prefix} is not there (make peers)"
    built = tmp_path / "halo"
    words = (prefix / "bin/mpicxx", "-O1", HERE / "halo.cpp", *FLAGS, "-o", built)
    done = harness.run_command(*words, timeout=300)
    assert done.returncode == 0, done.text
    for kind in KINDS:
        for ranks in harness.RANKS:
            expect_right(prefix / "bin/mpiexec", *PEER_OPTIONS[name], "-n", ranks, built, kind, 1, 1, ranks)
