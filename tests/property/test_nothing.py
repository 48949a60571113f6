"""What is not significant is not looked at (nothing.py); strings as long as constants say (limits.py)."""

import pytest

WAYS = [  # ranks, ABI, options of mpiexec, TASUKI_CHECK
    (1, "standard", (), "0"),
    (2, "standard", (), "0"),
    (3, "mpich", (), "0"),
    (4, "standard", ("--nodes", 2), "0"),
    (8, "standard", (), "0"),
    (3, "standard", (), "1"),
    (3, "standard", (), "2"),
    (3, "standard", (), "3"),
]


@pytest.mark.parametrize("ranks, abi, options, check", WAYS)
def test_nothing_is_looked_at_that_is_not_significant(mpi_python, tmp_path, ranks, abi, options, check):
    done = mpi_python(
        "nothing.py", ranks, tmp_path / "file", abi=abi, options=options, environment={"TASUKI_CHECK": check}
    )
    assert "WRONG" not in done.stdout, done.stdout[:5000]
    assert done.returncode == 0 and "right: " in done.stdout, done.text


@pytest.mark.parametrize("abi", ["standard", "mpich"])
def test_strings_may_be_as_long_as_the_constants_say(mpi_python, tmp_path, abi):
    done = mpi_python("limits.py", 2, tmp_path / "file", abi=abi)
    assert done.returncode == 0 and done.stdout == "right\n", done.text
