"""Random point-to-point messages in all modes and sizes, against MPI's rules of matching."""

import pytest


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_random_messages_arrive_once_whole_and_in_order(rounds, ranks):
    rounds("messages.py", ranks, 100, 2)


@pytest.mark.parametrize("eager_bytes_max", [0, 100, 100_000])
def test_random_messages_at_other_thresholds_and_with_small_rings(rounds, eager_bytes_max):
    environment = {"TASUKI_EAGER_BYTES_MAX": eager_bytes_max, "TASUKI_RING_BYTES": 8192}
    rounds("messages.py", 3, 60, 1, environment=environment)
