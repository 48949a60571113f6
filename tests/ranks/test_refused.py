"""A collective that one rank is refused takes no number there: the next correct call meets the others'."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("environment", [{}, {"TASUKI_CHECK": 2}], ids=["unchecked", "compared"])
@pytest.mark.parametrize("ranks", RANKS)
def test_the_next_call_of_a_refused_rank_matches(run, ranks, environment):
    done = run("refused.c", ranks, "intra", environment=environment)
    assert done.returncode == 0 and done.stdout == "well\n", done.text


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_it_does_between_groups(run, ranks):
    done = run("refused.c", ranks, "inter")
    assert done.returncode == 0 and done.stdout == "well\n", done.text


def test_it_does_over_nodes(mpiexec, build):
    done = mpiexec("-n", 4, "--nodes", 2, build("refused.c"), "intra")
    assert done.returncode == 0 and done.stdout == "well\n", done.text
