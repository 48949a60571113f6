"""More than one job: spawning, ports, names and joining, with real processes, and how such families end."""

import os
import shutil
import subprocess
import time

import pytest
from harness import PREFIX, RANKS, clean_environment, run_command, wait_for_no

SPAWNING = ["spawn", "each", "multiple", "generations", "errors"]


@pytest.mark.parametrize("what", SPAWNING)
@pytest.mark.parametrize("ranks", RANKS)
def test_spawning_from_a_world(run, ranks, what):
    done = run("dynamic.c", ranks, what)
    assert done.returncode == 0, done.text
    assert f"{what}: right" in done.stdout, done.text


@pytest.mark.parametrize("what", SPAWNING)
def test_spawning_without_mpiexec(build, what):
    done = run_command(build("dynamic.c"), what)
    assert done.returncode == 0, done.text
    assert f"{what}: right" in done.stdout, done.text


def test_a_program_alone_that_ends_in_good_order_leaves_no_word_of_its_end(build):
    for _ in range(5):
        done = run_command(build("dynamic.c"), "detach")
        assert done.returncode == 0 and done.stderr == "", done.text
        assert "detached child: right" in done.stdout, done.text


def test_a_program_alone_that_leaves_without_finalizing_is_told(build, tmp_path):
    program = shutil.copy(build("dynamic.c"), tmp_path)
    done = run_command(program, "leave-unfinalized")
    assert "the program that spawned these ranks has died" in done.stderr, done.text
    assert wait_for_no(program) == []


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("how", "first"), [("nothing", "parent"), ("free", "parent"), ("disconnect", "child")]
)
def test_finalizing_waits_for_connected_processes(build, run, tmp_path, how, first, alone):
    told = tmp_path / "order"
    words = ["finish", how, told]
    done = run_command(build("dynamic.c"), *words) if alone else run("dynamic.c", 2, *words)
    assert done.returncode == 0 and done.stderr == "", done.text
    end = time.monotonic() + 60  # alone, the child may outlive its parent
    while len(lines := told.read_text().split()) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert lines[0] == first and len(lines) == 2, lines


@pytest.mark.parametrize(("ranks", "what"), [(1, "any-of-two"), (2, "any-of-two"), (2, "cancel-late")])
def test_one_that_finalizes_ends_nobody_who_can_go_on(run, ranks, what):
    done = run("dynamic.c", ranks, what)
    assert done.returncode == 0 and done.stderr == "", done.text
    assert f"{what.replace('-', ' ')}: right" in done.stdout, done.text


def test_one_that_died_is_not_waited_for_in_finalize(build):
    """Two jobs that share no mpiexec: the one that is left reports the other's death, and ends."""
    program = build("dynamic.c")
    service = f"tasuki-test-{os.getpid()}-die"
    server = subprocess.Popen(
        [str(program), "stay", service],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    try:
        assert server.stdout.readline() == "serving\n"
        run_command(program, "visit-and-die", service)
        _, errors = server.communicate(timeout=300)
        assert server.returncode == 0, errors
        assert "MPI_Finalize: rank 0 of another job" in errors and "died" in errors, errors
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("ranks", [1, 3])
def test_connecting_and_accepting_have_limits_of_time(run, ranks):
    done = run("dynamic.c", ranks, "time-out")
    assert done.returncode == 0, done.text
    assert "time-out: right" in done.stdout, done.text


@pytest.mark.parametrize("ranks", [1, 2])
def test_spawning_a_hundred_times_takes_no_more_descriptors(run, ranks):
    done = run("dynamic.c", ranks, "many", 100)
    assert done.returncode == 0, done.text
    assert "many: right" in done.stdout, done.text


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_two_ranks_join_over_a_socket(run, ranks):
    done = run("dynamic.c", ranks, "join")
    assert done.returncode == 0, done.text
    assert "join: right" in done.stdout, done.text


@pytest.mark.parametrize(("servers", "visitors"), [(1, 1), (2, 3), (4, 2), (1, None), (8, 1)])
def test_two_jobs_meet_twice_by_a_name(build, servers, visitors):
    program = build("dynamic.c")
    service = f"tasuki-test-{os.getpid()}-{servers}-{visitors}"
    launcher = [PREFIX / "bin" / "mpiexec", "-n"]
    server = subprocess.Popen(
        [str(word) for word in [*launcher, servers, program, "serve", service, 2]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
    )
    try:
        assert server.stdout.readline() == "serving\n"
        words = [program, "visit", service, 2]
        done = run_command(*([*launcher, visitors] if visitors else []), *words)
        assert done.returncode == 0, done.text
        assert "visit: right" in done.stdout, done.text
        output, _ = server.communicate(timeout=300)
        assert server.returncode == 0, output
        assert "serve: right" in output, output
    finally:
        server.kill()
        server.wait()


def test_a_name_whose_publisher_died_is_gone(build, run):
    """A server that is killed leaves an entry behind; it is told from a living one, and replaced."""
    program = build("dynamic.c")
    service = f"tasuki-test-{os.getpid()}-dead"
    server = subprocess.Popen(
        [str(program), "serve", service, "1"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    assert server.stdout.readline() == "serving\n"
    server.kill()
    server.wait()
    done = run("dynamic.c", 1, "visit", service, 1)
    assert done.returncode != 0
    assert "which has ended" in done.stderr, done.text
    done = run("dynamic.c", 1, "visit", service, 1)
    assert "is not published" in done.stderr, done.text


def test_messages_to_children_outlive_their_senders(run):
    done = run("dynamic.c", 2, "finalize-early")
    assert done.returncode == 0, done.text
    assert "late child: right" in done.stdout, done.text


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["wait-for", "aborting-child"], 42, "MPI_Abort with code 42"),
        (["wait-for", "leaving-child"], 1, "which has called MPI_Finalize"),
        (["probe-for", "leaving-child"], 1, "which has called MPI_Finalize"),
        (["wait-for-any-of", "leaving-child"], 1, "which has called MPI_Finalize"),
        (["spawn-no-mpi"], 1, "without calling MPI_Init"),
        (["die-with-children"], 137, ""),
    ],
    ids=["abort", "leave", "leave-probe", "leave-any", "no-mpi", "die"],
)
def test_the_end_of_one_is_the_end_of_all(build, mpiexec, tmp_path, words, status, says, alone):
    program = shutil.copy(build("dynamic.c"), tmp_path)
    done = run_command(program, *words) if alone else mpiexec("-n", 2, program, *words)
    # Alone, it is the parent's own end that counts: by an error of its own, or the signal.
    assert done.returncode != 0 if alone else done.returncode == status, done.text
    assert says in done.stderr, done.text
    assert wait_for_no(program) == []


ENDS = {"abort": 9, "segv": 128 + 11, "exit": 9, "signal": 128 + 15}
OTHER = {"child": "parent", "parent": "child"}


@pytest.mark.parametrize("parting", ["disconnect", "merged", "free", "nothing"])
@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("dies", OTHER)
def test_only_what_is_connected_ends_with_a_job(run, dies, how, parting):
    done = run("strangers.c", 2, "either", dies, how, parting)
    assert done.returncode == ENDS[how], done.text
    goes_on = [f"{OTHER[dies]} goes on"] if parting in ("disconnect", "merged") else []
    assert done.stdout.splitlines() == goes_on, done.text
    told = [line for line in done.stderr.splitlines() if line.startswith("mpiexec: rank 1")]
    assert len(told) == 1 and (" of spawn 1 " in told[0]) == (dies == "child"), done.text


@pytest.mark.parametrize("dies", OTHER)
@pytest.mark.parametrize("ranks", RANKS)
def test_strangers_at_several_numbers_of_ranks(run, ranks, dies):
    done = run("strangers.c", ranks, "either", dies, "abort", "disconnect")
    assert done.returncode == 9 and done.stdout == f"{OTHER[dies]} goes on\n", done.text


@pytest.mark.parametrize("parting", ["disconnect", "free"])
@pytest.mark.parametrize("dies", OTHER)
def test_strangers_of_a_program_alone(build, tmp_path, dies, parting):
    """No mpiexec ends the program itself: it goes on in any case, and is told in MPI_Finalize."""
    program = shutil.copy(build("strangers.c"), tmp_path)
    done = run_command(program, "either", dies, "abort", parting)
    goes_on = f"{OTHER[dies]} goes on\n" if dies == "child" or parting == "disconnect" else ""
    assert done.stdout == goes_on, done.text
    assert done.returncode == (0 if dies == "child" else 9), done.text
    told = "is connected, died without calling it" in done.stderr
    assert told == (dies == "child" and parting == "free"), done.text
    assert wait_for_no(program) == []


@pytest.mark.parametrize(
    ("parts_from", "goes_on"), [("parent", ["oldest"]), ("child", ["middle", "oldest"]), ("nobody", [])]
)
def test_connected_through_another_job(run, parts_from, goes_on):
    done = run("strangers.c", 1, "three", parts_from)
    assert done.returncode == 9, done.text
    assert sorted(done.stdout.splitlines()) == [f"{who} goes on" for who in goes_on], done.text


def test_strangers_that_met_again(run):
    done = run("strangers.c", 1, "meet-again")
    assert done.returncode == 9, done.text
    assert sorted(done.stdout.splitlines()) == ["parent goes on", "server goes on"], done.text


def test_an_mpiexec_that_is_none_is_told(build):
    done = run_command(build("dynamic.c"), "spawn", environment={"TASUKI_MPIEXEC": "/bin/true"})
    assert done.returncode != 0
    assert "is no mpiexec of this library" in done.stderr, done.text
    done = run_command(build("dynamic.c"), "spawn", environment={"TASUKI_MPIEXEC": "/no/mpiexec"})
    assert "cannot start '/no/mpiexec'" in done.stderr, done.text


def test_a_thread_that_spawns_keeps_no_other_one_of_its_rank_waiting(build, tmp_path):
    """One that waits until mpiexec has answered is the time limit: the other thread lets mpiexec go on."""
    slow = tmp_path / "slow-mpiexec"
    slow.write_text(
        f"#!/bin/sh\n"
        f"touch {tmp_path}/x.asked\n"
        f"while [ ! -e {tmp_path}/x.go ]; do sleep 0.01; done\n"
        f'exec {PREFIX}/bin/mpiexec "$@"\n'
    )
    slow.chmod(0o755)
    environment = {"TASUKI_MPIEXEC": str(slow)}
    done = run_command(build("dynamic.c"), "beside", tmp_path / "x", environment=environment)
    assert done.returncode == 0, done.text
    assert "beside: right" in done.stdout, done.text


def test_labels_tell_spawned_ranks(mpiexec, build):
    done = mpiexec("-n", 1, "-l", build("dynamic.c"), "finalize-early")
    assert done.returncode == 0, done.text
    assert "[1.0] late child: right" in done.stdout, done.text
