"""The rows of make bench (bench/run.py) are cases of the suite: ids that it lists, sizes that it takes."""

import json
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "bench"))
import run as make_bench  # noqa: E402

MBL = harness.PREFIX / "libexec/tasuki/mbl"


@pytest.fixture(scope="module")
def rows():
    return [row for row in make_bench.rows() if not row.id.startswith("start_up/job/")]


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_every_row_is_a_case(rows, ranks):
    listed = harness.run_command(harness.PREFIX / "bin/mpiexec", "-n", ranks, MBL, "--list")
    assert listed.returncode == 0, listed.text
    ids = {json.loads(line)["id"] for line in listed.stdout.splitlines()}
    for row in rows:
        if row.ranks == ranks:
            assert {row.id, *row.limits} <= ids, row


def test_their_cases_run(rows, tmp_path):
    """Also the limits, each with the size that the row has."""
    cases = tmp_path / "cases"
    ours = make_bench.peers.implementation.Implementation("tasuki", harness.PREFIX, kind="tasuki")
    groups = make_bench.cases_of(ours, ours, [row for row in rows if row.ranks == 2])
    chosen = [case for group in groups.values() for case in group]
    cases.write_text("".join(f"{case.name}\n" for case in chosen))
    words = (harness.PREFIX / "bin/mpiexec", "-n", 2, MBL, "--cases", cases, "--budget", 0.0001)
    done = harness.run_command(*words, timeout=150)
    assert done.returncode == 0, done.text
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f"{row['id']} {row['bytes']}" for row in told if "id" in row] == [case.name for case in chosen]
