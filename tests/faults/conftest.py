"""The fixtures of the fault tests: their programs, compiled by the harness of the rank tests."""

import pathlib
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks"), str(HERE.parent / "stress")]

import harness  # noqa: E402

# As in tests/ranks: a shell that starts tests in the background has these ignored, and so would all ranks.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session")
def faults():
    return harness.compile_program(HERE / "faults.c")


@pytest.fixture(scope="session")
def stress_program():
    return harness.compile_stress()


@pytest.fixture(scope="session")
def restrict():
    """restrict [ENOSYS] NAME… -- command: see restrict.c."""
    return harness.compile_plain(HERE / "restrict.c", "restrict")


@pytest.fixture(scope="session")
def features():
    return harness.compile_program(HERE / "features.c", "-pthread")


@pytest.fixture(scope="session")
def undumpable():
    """A library to preload; see restrict.c."""
    return harness.compile_plain(HERE / "restrict.c", "undumpable.so", "-DUNDUMPABLE", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def jumping_clock():
    """A library to preload; see clock.c."""
    return harness.compile_plain(HERE / "clock.c", "clock.so", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def bad_storage():
    """A library to preload; see bad_storage.c."""
    return harness.compile_plain(HERE / "bad_storage.c", "bad_storage.so", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def work():
    return harness.compile_program(HERE / "work.c", "-pthread")


@pytest.fixture(scope="session")
def own_mounts():
    """A command that gives what it runs mounts of its own; skips where that is not permitted."""
    words = ["unshare", "--mount", "--propagation", "private"]
    done = subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no mounts of our own here: {done.stderr.strip()}")
    return words
