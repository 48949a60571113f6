"""MPI_THREAD_MULTIPLE and the other thread levels, with real processes and threads."""

import os

import harness
import pytest

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))


@pytest.mark.parametrize("ranks, threads", [(1, 6), (2, 4), (2, 16), (3, 5), (4, 4)])
def test_many_threads_in_all_of_mpi(run, ranks, threads):
    """Deadlocks and starvation are failures too: the time limit."""
    for seed in range(1, 6 if LONG else 2):
        done = run("thread_storm.c", ranks, seed, threads, 2000 if LONG else 300)
        assert done.returncode == 0, done.text
        assert done.stdout.count("thread storm: right") == 1, done.text


@harness.only_long
def test_sixteen_threads_a_rank_for_a_minute(run):
    done = run("thread_storm.c", 2, 7, 16, 0, 60, timeout=600)
    assert done.returncode == 0, done.text
    assert "thread storm: right" in done.stdout, done.text


@pytest.mark.parametrize("level", range(4))
def test_the_level_that_is_asked_for_is_granted_and_told(run, level):
    done = run("thread_level.c", 2, level)
    assert done.returncode == 0, done.text
    assert "right" in done.stdout, done.text


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_mutex_of_the_user_taken_in_a_callback_keeps_no_other_thread_waiting(run, ranks, tmp_path):
    """A deadlock is the time limit."""
    done = run("callback_mutex.c", ranks, tmp_path / "converted")
    assert done.returncode == 0, done.text
    assert "callbacks: right" in done.stdout, done.text


@pytest.mark.parametrize("what", ["accumulate", "accumulate_alone", "get_accumulate"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_thread_amid_a_long_accumulate_keeps_no_other_one_waiting(run, ranks, what):
    """One that waits for all of it is the time limit."""
    done = run("beside.c", ranks, what, 256 if LONG else 32)
    assert done.returncode == 0, done.text
    assert f"beside {what}: right" in done.stdout, done.text


@pytest.mark.parametrize("program, words", [("ring.c", ()), ("thread_storm.c", (1, 3, 100))])
def test_a_thread_that_makes_progress_beside_all_kinds_of_programs(run, program, words):
    done = run(program, 2, *words, environment={"TASUKI_PROGRESS_THREAD": "1"})
    assert done.returncode == 0, done.text


def test_progress_goes_on_while_the_program_computes(run):
    """Either rank looks into its buffer alone until something has come there."""
    done = run("progress_thread.c", 2, environment={"TASUKI_PROGRESS_THREAD": "1"})
    assert done.returncode == 0, done.text
    assert "progress: right" in done.stdout, done.text


def test_another_word_for_the_thread_that_makes_progress_is_refused(run):
    done = run("ring.c", 1, environment={"TASUKI_PROGRESS_THREAD": "often"})
    assert done.returncode != 0
    assert 'TASUKI_PROGRESS_THREAD = "often", expected 0, 1 or auto' in done.text, done.text
