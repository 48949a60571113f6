"""The rows of make bench (bench/run.py) are cases of the suite: ids that it lists, sizes that it takes."""

import json
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "bench"))
import against_imb  # noqa: E402
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
    done = harness.run_command(*words, timeout=300)
    assert done.returncode == 0, done.text
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f"{row['id']} {row['bytes']}" for row in told if "id" in row] == [case.name for case in chosen]


IMB_TABLE = """
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.20         0.00
         4096         1000         0.68      6023.53

# All processes entering MPI_Finalize
"""


def test_what_imb_says_is_read():
    row = against_imb.Row("PingPong", 4096, "")
    assert against_imb.imb_seconds(IMB_TABLE, row) == pytest.approx(0.68e-6)
    slowest = IMB_TABLE.replace("t[usec]   Mbytes/sec", "t_min[usec]  t_max[usec]")
    assert against_imb.imb_seconds(slowest, row) == pytest.approx(6023.53e-6)
    with pytest.raises(against_imb.Wrong, match="no row PingPong 8"):
        against_imb.imb_seconds(IMB_TABLE, against_imb.Row("PingPong", 8, ""))


def test_rows_beside_imb_are_cases(tmp_path):
    cases = tmp_path / "cases"
    cases.write_text("".join(f"{row.case} {row.bytes}\n" for row in against_imb.ROWS))
    words = (harness.PREFIX / "bin/mpiexec", "-n", against_imb.RANKS, MBL, "--cases", cases, "--list")
    done = harness.run_command(*words)
    assert done.returncode == 0 and done.stdout.count('"id"') == len(against_imb.ROWS) >= 10, done.text
