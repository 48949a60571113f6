"""Handles in numbers: millions at once, one group for each object, and an error when none is left."""

import re

import pytest
from harness import compile_for_mpich, compile_program, place


@pytest.fixture(params=["standard", "mpich"])
def program(request):
    return compile_program("handles.c") if request.param == "standard" else compile_for_mpich("handles")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_an_object_gives_the_same_group_each_time(mpiexec, program, ranks):
    done = mpiexec("-n", ranks, program, "groups")
    assert (done.returncode, done.stderr) == (0, ""), done.text


def test_millions_of_handles_are_held_at_once(mpiexec, program):
    done = mpiexec("-n", 1, program, "many")
    assert (done.returncode, done.stderr) == (0, ""), done.text


@pytest.mark.parametrize("ranks", [1, 2])
def test_without_handles_the_objects_error_handler_is_called(mpiexec, program, ranks):
    done = mpiexec("-n", ranks, program, "full", 1000, environment={"TASUKI_HANDLES_MAX": 1000})
    assert done.returncode == 0, done.text
    told = done.stderr.splitlines()
    assert told[0] == "mpiexec: the program left behind:" and len(told) == 2, done.text
    assert "info object, made by MPI_Info_create" in told[1], done.text
    assert "held when there were no more handles" in told[1], done.text


def test_the_source_line_that_made_most_handles_is_told(mpiexec, build):
    done = mpiexec("-n", 1, build("handles.c"), "full", 300, environment={"TASUKI_HANDLES_MAX": 300})
    assert re.search(f"made by MPI_Info_create at {place('handles.c')}", done.stderr), done.text
