"""The fixtures of the safety tests: programs compiled by the harness of the rank tests, and other users."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks")]

import harness  # noqa: E402

ATTACKER, VICTIM = 65534, 54321  # user numbers: nobody, and one that nobody has


@pytest.fixture(scope="session")
def safety():
    return harness.compile_program(HERE / "safety.c", "-pthread")


def as_user(user, *command, timeout=300, **options):
    """Runs a command as another user, with nothing of this one's but the environment's PATH."""
    words = [str(word) for word in command]
    return subprocess.run(
        words,
        user=user,
        group=user,
        extra_groups=[],
        env={"PATH": os.environ["PATH"]},
        cwd="/",
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        **options,
    )


@pytest.fixture(scope="session")
def other_users(safety):
    """as_user(), where this user may become others, and they may read the installed tree."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user: nothing was tried from outside")
    launcher = harness.PREFIX / "bin" / "mpiexec"
    for path in (launcher, safety):
        if as_user(VICTIM, "test", "-x", path).returncode != 0:
            pytest.skip(f"other users cannot run {path}: nothing was tried from outside")
    return as_user
