"""Random sequences of collectives, many under way at a time, against a serial oracle."""

import pytest


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_random_sequences_of_collectives(rounds, ranks):
    rounds("collectives.py", ranks, 60, 2)


def test_random_sequences_when_nothing_is_eager_and_rings_are_small(rounds):
    small = {"TASUKI_EAGER_BYTES_MAX": 64, "TASUKI_RING_BYTES": 8192}
    rounds("collectives.py", 3, 60, 2, environment=small)
