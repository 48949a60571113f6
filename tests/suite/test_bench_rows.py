"""The rows of make bench (bench/run.py) are cases of the suite: ids that it lists, sizes that it takes."""

import json
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "bench"))
import against_imb  # noqa: E402
import run as make_bench  # noqa: E402
from tasuki import results  # noqa: E402

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


def test_each_state_of_the_machine_has_a_table(rows):
    """Of two rounds, one in each; of a peer that was there in one of them; and of rows that know no state."""
    row, other = rows[0], next(one for one in rows if one.ranks > 2)

    def run(line_seconds):
        parts = [2] * (len(line_seconds) // 2)
        made = []
        for one in (row, other):
            group, benchmark, variant = one.id.split("/")
            words = dict(word.split("=") for word in variant.split(","))
            lines, split = (line_seconds, parts) if one is row else ([], [])
            seconds = [1e-6, 2e-6] * max(1, len(split))
            known = {"seconds": seconds, "parts": split, "line_seconds": lines, **results.summarise(seconds)}
            made.append(results.Row(group, benchmark, words, one.ranks, one.bytes, **known))
        return results.Run({}, {}, {}, made)

    runs = [run([80e-9, 80e-9, 480e-9, 480e-9]), run([480e-9, 480e-9])]
    tables = list(make_bench.tables_of(runs, ["tasuki", "peer"], rows, "best"))
    assert ["near" in table.title for table in tables] == [True, False, False]
    assert ["far" in table.title for table in tables] == [False, True, False]
    cells = [[list(column.cells) for column in table.columns[:4]] for table in tables]
    assert [len(one[0]) for one in cells] == [1, 1, 1]
    assert cells[0][2] == ["-"] and cells[0][3] == ["-"] and cells[1][2] == ["1.00"]


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
