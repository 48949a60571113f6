"""A rank whose calls never wait (what it sends has room, what it receives is there) serves the others."""

import pytest

SENDER, RECEIVER = 0, 1


@pytest.mark.parametrize("victim", [SENDER, RECEIVER], ids=["sender", "receiver"])
@pytest.mark.parametrize("case", ["rendezvous", "window", "barrier"])
def test_a_rank_that_never_waits_serves_the_others(mpiexec, build, case, victim):
    done = mpiexec("-n", 3, "--heap=private", build("flood.c"), case, victim)
    assert done.returncode == 0 and done.stdout == "served\n", done.text
