"""Kernels and containers that lack what Tasuki uses: each feature for which there is another way is taken
away (restrict.c), and a little of each part of MPI still gives what it should (features.c)."""

import itertools
import json
import os

import harness
import pytest

MPIEXEC = harness.PREFIX / "bin/mpiexec"
FEATURES = (
    "cma uring membarrier memfd pidfd random affinity fallocate namespaces policy preadv2 thp ptrace".split()
)
# What mpiexec --info says is absent, by the name in restrict.c.
TOLD = {
    "uring": "io_uring",
    "membarrier": "membarrier",
    "memfd": "memfd_create",
    "cma": "process_vm_readv",
    "pidfd": "pidfd_open",
    "affinity": "sched_setaffinity",
    "namespaces": "mounts of a process's own",
}


@pytest.fixture
def right(restrict, features, tmp_path):
    def run(ranks, *restrictions, options=(), environment=None):
        command = (
            restrict,
            *restrictions,
            "--",
            MPIEXEC,
            "--timeout",
            50,
            "-n",
            ranks,
            *options,
            features,
            tmp_path,
        )
        done = harness.run_command(*command, environment=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", ""), done.text
        assert not [name for name in os.listdir("/dev/shm") if name.startswith("tasuki-")], done.text

    return run


def test_all_is_right_where_nothing_is_forbidden(right):
    right(3)


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_a_system_that_has_none_of_it(right, error):
    forbidden = [name for name in FEATURES if name != "fallocate"]  # which a file in /dev/shm needs
    right(3, *(["ENOSYS"] if error == "ENOSYS" else []), *forbidden)


def test_an_old_kernel(right, restrict):
    """5.10, whose io_uring cannot wait for memory: no rank has a ring here. Its memory files, and the copy of
    a heap that a child gets, can do less."""
    right(3, "5.10", "ENOSYS", "uring")
    child = harness.compile_program("heap_children.c")
    done = harness.run_command(restrict, "5.10", "--", MPIEXEC, "-n", 2, "--heap=global", child, "fork")
    assert (done.returncode, done.stdout.count("children: right")) == (0, 2), done.text


@harness.only_long
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_absent(right, feature, ranks):
    right(ranks, feature)
    right(ranks, "ENOSYS", feature)


PAIRS = [" ".join(pair) for pair in itertools.combinations(FEATURES, 2)]
PAIRS.remove("memfd fallocate")


@harness.only_long
@pytest.mark.parametrize("pair", PAIRS)
def test_each_pair_absent(right, pair):
    right(2, *pair.split())


@harness.only_long
@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_absent_between_nodes(right, feature):
    right(3, feature, options=("--nodes", 2))
    right(2, feature, options=("--nodes", 2), environment={"TASUKI_NETWORK": "fabric"})


def absent(done):
    """By name, of mpiexec --info=json: what the system refuses, and what is done without."""
    assert done.returncode == 0, done.text
    return {
        row["name"]: (row["refusal"], row["without"])
        for row in json.loads(done.stdout)["kernel"]
        if row["refusal"]
    }


def test_mpiexec_info_tells_what_is_not_there(restrict):
    before = absent(harness.run_command(MPIEXEC, "--info=json"))
    words = (restrict, "ENOSYS", *TOLD, "--", MPIEXEC)
    now = absent(harness.run_command(*words, "--info=json"))
    assert set(now) == set(before) | set(TOLD.values())
    assert all(without.endswith(".") for _, without in now.values())
    table = harness.run_command(*words, "--info").stdout
    for name in TOLD.values():
        assert f"  {name} " in table
    assert "memfd_create                           no: Function not implemented\n" in table
    heap = harness.run_command(restrict, "memfd", "namespaces", "--", MPIEXEC, "--info=json").stdout
    assert json.loads(heap)["heap"] == "private" and "memfd_create" in json.loads(heap)["heap_reason"]
