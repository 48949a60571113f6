"""The random programs on every way that jobs can run (ways.py), 10,000 seeds of them in `make test-long`."""

import harness
import pytest
from hosts import CannotError, Hosts
from ways import ROUNDS, STRESS, way_of

JOBS = 10_000 // ROUNDS if harness.LONG else 12
SECONDS = 300 if harness.LONG else 1
SECONDS_MAX = SECONDS + 200


@pytest.fixture(scope="module")
def two_hosts():
    try:
        with Hosts(2) as hosts:
            yield hosts
    except CannotError as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("job", range(JOBS))
def test_random_programs_on_a_way_of_their_own(mpi_python, seed, tmp_path, request, job):
    first = (seed // ROUNDS + job) * ROUNDS
    way = way_of(first)
    hosts = request.getfixturevalue("two_hosts") if way.over_hosts else None
    program = harness.compile_stress(way.abi) if way.program == STRESS else way.program
    environment = way.environment | {
        "PROPERTY_FILE": (hosts.shared_folder if hosts else tmp_path) / "file",
        # In buffers of a few bytes an access to a file is thousands of messages, each a wait.
        "PROPERTY_LARGE_BYTES": 20_000,
        "STRESS_SECONDS_MAX": SECONDS_MAX - 10,
    }
    words = (program, way.ranks, first, ROUNDS, SECONDS, *way.arguments)
    where = {"host": hosts and hosts[0], "options": way.options}
    done = mpi_python(*words, abi=way.abi, environment=environment, timeout=SECONDS_MAX, **where)
    assert done.returncode == 0 and done.stdout.count("right: ") == 1, f"{way}\n{done.text}"
