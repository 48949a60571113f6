"""The fixtures of the tests with several hosts. What a host is, is told in hosts.py."""

import contextlib
import pathlib
import signal
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks"), str(HERE.parent / "programs")]

import launchers  # noqa: E402
from hosts import CannotError, Hosts  # noqa: E402

# As in tests/ranks: a shell that starts tests in the background has these ignored, and so would all ranks.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def make_hosts():
    """make_hosts(3) -> Hosts, which last as long as the test; skips where there can be none, and says why."""
    with contextlib.ExitStack() as made:

        def make(count):
            try:
                hosts = made.enter_context(Hosts(count))
            except CannotError as reason:
                pytest.skip(str(reason))
            print(f"{count} hosts in {hosts.start_seconds:.2f} s")
            return hosts

        yield make


@pytest.fixture
def hosts(make_hosts):
    """Three hosts of this test's own."""
    return make_hosts(3)


@pytest.fixture(scope="session")
def slurm_hosts():
    try:
        with Hosts(3) as hosts:
            launchers.start_slurm(hosts)
            yield hosts
    except CannotError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def cluster(slurm_hosts):
    """Three hosts with Slurm, made once for all tests; one that harms them takes `hosts`, start_slurm()."""
    yield slurm_hosts
    launchers.end_jobs(slurm_hosts)
    slurm_hosts.kill_started()
    slurm_hosts.mark()
