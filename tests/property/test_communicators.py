"""Random trees of communicators: groups, ranks, comparison, topologies, attributes, and messages on all at
once.
"""

import pytest


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_random_trees_of_communicators(rounds, ranks):
    rounds("communicators.py", ranks, 100, 1.5)
