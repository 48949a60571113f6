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


@pytest.mark.parametrize("ranks", RANKS[1:])
@pytest.mark.parametrize("how", ["", "two nodes", "private", "little at once", "checked"])
def test_a_sender_does_not_wait_for_a_late_receiver(mpiexec, build, ranks, how):
    """Where no memory is shared, or the user has set what goes at once, only the data is promised."""
    options = {"two nodes": ["--nodes", 2], "private": ["--heap", "private"]}.get(how, [])
    environment = {
        "little at once": {"TASUKI_EAGER_BYTES_MAX": "8k"},
        "checked": {"TASUKI_CHECK": 3},
    }.get(how)
    waits = ["waits"] if how in ("two nodes", "private", "little at once") else []
    done = mpiexec("-n", ranks, *options, build("late.c"), *waits, environment=environment)
    assert done.returncode == 0 and done.stderr == "", done.text
    assert done.stdout == "late: right\n", done.text


@pytest.mark.parametrize("ranks", RANKS[1:])
@pytest.mark.parametrize("heap", ["global", "private"])
@pytest.mark.parametrize("environment", [{}, {"TASUKI_PROTOCOL_STREAM_BYTES_MIN": "16k"}])
def test_what_goes_at_once_waits_for_no_receiver(mpiexec, build, ranks, heap, environment):
    done = mpiexec("-n", ranks, "--heap", heap, build("ahead.c"), environment=environment)
    assert done.returncode == 0 and done.stdout == "ahead: right\n", done.text


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
