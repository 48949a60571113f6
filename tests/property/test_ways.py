"""The random programs on every way that jobs can run (ways.py), 10,000 seeds of them in `make test-long`."""

import harness
import pytest
from ways import ROUNDS, way_of

JOBS = 10_000 // ROUNDS if harness.LONG else 10
SECONDS = 300 if harness.LONG else 1


@pytest.mark.parametrize("job", range(JOBS))
def test_random_programs_on_a_way_of_their_own(mpi_python, seed, tmp_path, job):
    first = (seed // ROUNDS + job) * ROUNDS
    way = way_of(first)
    # In buffers of a few bytes an access to a file is thousands of messages, each a wait beside other work.
    environment = way.environment | {"PROPERTY_FILE": tmp_path / "file", "PROPERTY_LARGE_BYTES": 20_000}
    words = (way.program, way.ranks, first, ROUNDS, SECONDS)
    done = mpi_python(
        *words, abi=way.abi, options=way.options, environment=environment, timeout=SECONDS + 200
    )
    assert done.returncode == 0 and done.stdout.count("right: ") == 1, f"{way}\n{done.text}"
