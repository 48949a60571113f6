"""MPI_Abort and errors that end the job: all ranks end at once, with one message, even if others fail."""

import re

import pytest
from harness import RANKS, place, run_command

SECONDS_MAX = 60  # far less than what the ranks sleep for
CAUSES = {
    "abort": r"MPI_Abort with code 4\d, called by rank \d",
    "fatal": r"MPI_Send: dest = -5, expected 0\.\.\d or MPI_PROC_NULL "
    r"\(communicator MPI_COMM_WORLD, rank \d\)",
    "thread": r"MPI_Abort with code 4\d, called by rank \d",
    "operation": r"MPI_Abort with code 4\d, called by rank \d",
    "handler": r"MPI_Abort with code 4\d, called by rank \d",
    "finalize": r"MPI_Abort with code 4\d, called by rank \d",
    "waits": r"MPI_Abort with code 40, called by rank 0",
}


def told_once(done, cause, status, spawn=""):
    """One line says which rank ended the job and why, and no rank waited for anything."""
    assert done.seconds < SECONDS_MAX, done.text
    who = rf"mpiexec: rank \d{spawn} \(pid \d+ on \S+\) ended the job: "
    where = rf"(; called at {place('abort.c')})?(; ending the other .*)?\n"
    assert re.fullmatch(who + cause + where, done.stderr), done.text
    assert done.returncode in status, done.text


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("way", CAUSES)
def test_all_fail_at_once_and_one_is_told(run, way, ranks):
    done = run("abort.c", ranks, way)
    told_once(done, CAUSES[way], {6} if way == "fatal" else range(40, 40 + ranks))


@pytest.mark.parametrize("ranks", [2, 8])
def test_under_a_wrapper_script(mpiexec, build, ranks):
    wrapped = 'trap "echo trapped" EXIT; "$0" "$@"; echo went on'
    done = mpiexec("-n", ranks, "sh", "-c", wrapped, build("abort.c"), "fatal")
    told_once(done, CAUSES["fatal"], {6})
    assert "went on" not in done.stdout, done.text


@pytest.mark.parametrize("ranks", [1, 4])
def test_in_a_spawned_world(run, ranks):
    done = run("abort.c", ranks, "workers")
    told_once(done, CAUSES["abort"], range(40, 43), spawn=" of spawn 1")


@pytest.mark.parametrize("ranks", RANKS)
def test_in_mpi_init(run, ranks):
    """A setting that no rank can have: all of them fail in MPI_Init."""
    done = run("abort.c", ranks, "abort", environment={"TASUKI_CHECK": "seven"})
    told_once(done, ".*TASUKI_CHECK.*", {1})
    assert done.stderr.count("TASUKI_CHECK") == 1, done.text


def test_alone(build):
    done = run_command(build("abort.c"), "fatal", environment={"TASUKI_SINGLETON": 1})
    assert done.returncode == 6 and re.fullmatch(CAUSES["fatal"] + "\n", done.stderr), done.text
