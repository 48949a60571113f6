"""Random derived datatypes against a type map in plain Python (typemap.py)."""

import pytest


@pytest.mark.parametrize("ranks, number", [(1, 1000), (2, 400), (4, 200)])
def test_random_types_move_the_bytes_of_their_type_maps(rounds, ranks, number):
    rounds("datatypes.py", ranks, number, 5)
