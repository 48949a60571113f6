"""Whole programs under our mpiexec at 1, 2, 3, 4 and 8 processes: what only real processes can show."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_ring_passes_a_growing_token(run, ranks):
    done = run("ring.c", ranks)
    assert done.returncode == 0, done.text
    assert f"ring of {ranks}: sum {ranks * (ranks + 1) // 2}" in done.stdout, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_exchange_of_every_size_among_all(run, ranks):
    done = run("exchange.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("exchange: all sizes right") == 1, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_collectives_agree_with_arithmetic(run, ranks):
    done = run("collectives.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("collectives: right") == 1, done.text


@pytest.mark.parametrize("ranks", [2, 4])
def test_threads_talk_at_once(run, ranks):
    done = run("threads.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("threads: right") == 1, done.text


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_the_abi_says_of_fortran(run, ranks):
    done = run("fortran_abi.c", ranks)
    assert done.returncode == 0 and "fortran abi: right" in done.stdout, done.text


def test_program_without_a_launcher_is_a_working_singleton(build):
    from harness import run_command

    done = run_command(build("ring.c"))
    assert done.returncode == 0, done.text
    assert "ring of 1: sum 1" in done.stdout, done.text
