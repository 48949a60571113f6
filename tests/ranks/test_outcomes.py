"""What calls give back that find nothing or fail: OUT arguments, codes, and which error handler is called."""

import pytest


def check(run, ranks, group, **how):
    done = run("outcomes.c", ranks, group, **how)
    assert done.returncode == 0, done.text
    assert done.stdout.count(f"{group}: right") == 1, done.text


@pytest.mark.parametrize("ranks", [1, 3])
def test_out_arguments_of_calls_that_find_nothing_say_so(run, ranks):
    check(run, ranks, "nothing")


def test_out_handles_are_null_after_an_error(run):
    check(run, 2, "handles")


def test_errors_without_an_object_go_to_self_or_else_to_world(run):
    check(run, 2, "owners")


def test_the_call_returns_what_the_error_handler_leaves(run):
    check(run, 2, "handlers")


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_call_returns_what_a_callback_returned(run, ranks):
    check(run, ranks, "callbacks")


def test_numbers_of_removed_error_classes_and_codes_are_used_again(run):
    check(run, 1, "numbers")


@pytest.mark.parametrize("ranks", [1, 3])
def test_names_of_process_sets_match_in_any_case(run, ranks):
    check(run, ranks, "sets")


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("level", [0, 2])
def test_a_message_of_nothing_needs_no_datatype(run, ranks, level):
    check(run, ranks, "empty", environment={"TASUKI_CHECK": level})


LEFT = [(way, level) for way in ("throw", "jump") for level in ("single", "multiple")]


@pytest.fixture
def left(build, mpiexec):
    program = build("left.cpp", "-std=c++20", compiler="mpicxx")
    return lambda ranks, *words: mpiexec("-n", ranks, program, *words)


@pytest.mark.parametrize("way, level", LEFT)
def test_calls_go_on_after_an_error_handler_that_does_not_return(left, way, level):
    done = left(2, way, level, "handlers")
    assert done.returncode == 0 and "13 calls were left: right" in done.stdout, done.text


@pytest.mark.parametrize("way, level", LEFT)
def test_calls_go_on_after_a_callback_that_does_not_return(left, way, level):
    done = left(2, way, level, "callbacks")
    assert done.returncode == 0 and "4 calls were left: right" in done.stdout, done.text


@pytest.mark.parametrize("way, level", LEFT)
def test_a_call_that_was_left_is_over(left, way, level):
    done = left(1, way, level, "die")
    assert "outside MPI, after MPI_Wait" in done.stderr, done.text
