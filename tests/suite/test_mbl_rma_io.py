"""mbl's groups rma and io: every case moves the right data at several numbers of ranks, wrong data end the
program, and what a library lacks is told. (faults.c makes calls go wrong.)"""

import functools
import json
import os

import harness
import pytest

HERE = harness.HERE.parent / "suite"
MBL = harness.PREFIX / "libexec/tasuki/mbl"
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
OF_HOW_MANY = {1: 3, 2: 1, 3: 3, 4: 5, 8: 7}  # ranks: of so many cases one
BYTES_MAX = 20 << 10  # in these tests
# What moves no data of its own, so that there is nothing to look at.
UNCHECKED = ("rma/epoch", "rma/window", "io/open", "io/set_view", "io/sync/data=none")


def mbl(ranks, *options, environment=None):
    command = [harness.PREFIX / "bin/mpiexec", "-n", ranks, MBL, *options]
    return harness.run_command(*command, environment=environment, timeout=590)


@functools.cache
def listed(ranks, group):
    done = mbl(ranks, "--list", "--only", group)
    assert done.returncode == 0, done.text
    return [json.loads(line) for line in done.stdout.splitlines()]


def small_cases(ranks, group):
    """(id, bytes) of each series, in turn its smallest size and a larger one."""
    series = {}
    for case in listed(ranks, group):
        one = (case["id"], case["ranks"])
        if case["bytes"] <= BYTES_MAX or one not in series:
            series.setdefault(one, []).append(case["bytes"])
    # What runs on fewer ranks anyway is another number's.
    there = [(name, sizes) for (name, needed), sizes in series.items() if needed == ranks]
    return [(name, sizes[-(place % 2)]) for place, (name, sizes) in enumerate(there)]


def rows_of(done):
    """The rows of a run that went to its end, and what it told as unsupported."""
    assert done.returncode == 0, done.text
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {"end": True}, done.text
    return [line for line in lines if "seconds" in line], [line for line in lines if "unsupported" in line]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("group", ["rma", "io"])
def test_all_cases_move_the_right_data(group, ranks, tmp_path):
    wanted = small_cases(ranks, group)
    wanted = wanted[:: 1 if LONG else OF_HOW_MANY[ranks]]
    cases = tmp_path / "cases"
    cases.write_text("".join(f"{name} {size}\n" for name, size in wanted))
    files = tmp_path / "files"
    files.mkdir()
    rows, lacking = rows_of(mbl(ranks, "--cases", cases, "--budget", 1e-4, "--folder", files))
    assert not lacking
    assert [(row["id"], row["bytes"]) for row in rows] == wanted
    for row in rows:
        moves = not row["id"].startswith(UNCHECKED)
        assert row["checked"] is (True if moves else None), row["id"]
        assert min(row["seconds"]) > 0, row["id"]
    assert not list(files.iterdir()), "a file is left"


def test_every_operation_and_every_function_of_data_access_is_there():
    ids = {case["id"] for case in listed(2, "rma")} | {case["id"] for case in listed(2, "io")}
    operations = "put get accumulate get_accumulate fetch_and_op compare_and_swap rput rget raccumulate"
    for operation in operations.split():
        assert any(name.startswith(f"rma/latency/operation={operation},") for name in ids), operation
    calls = (
        "{0} {0}_all {0}_at {0}_at_all {0}_shared {0}_ordered i{0} i{0}_all i{0}_at i{0}_at_all i{0}_shared"
    )
    calls += " {0}_all_begin {0}_at_all_begin {0}_ordered_begin"
    for direction in ("write", "read"):
        for call in calls.format(direction).split():
            assert f"io/{direction}/call={call},layout=contiguous,hints=none,touched=yes" in ids, call


def test_the_quick_ones_are_few():
    for group, most in (("rma", 80), ("io", 50)):
        done = mbl(2, "--list", "--quick", "--only", group)
        assert 0 < len(done.stdout.splitlines()) <= most, group


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    command = [harness.PREFIX / "bin/mpicc", "-shared", "-fPIC", HERE / "faults.c", "-o", library]
    done = harness.run_command(*command)
    assert done.returncode == 0, done.text
    return library


def run_with_fault(faults, fault, case, tmp_path):
    cases = tmp_path / "cases"
    cases.write_text(case + "\n")
    environment = {"LD_PRELOAD": faults, "FAULT": fault}
    return mbl(2, "--cases", cases, "--budget", 1e-4, "--folder", tmp_path, environment=environment)


PLAIN = "window=allocate,layout=contiguous"
REGIONS = "memory=regions,file=regions,region=64,space=64"
WRONG = {
    "put": f"rma/ping/operation=put,sync=fence_pair,{PLAIN},touched=yes 64",
    "accumulate": f"rma/shift/operation=accumulate,sync=flush,{PLAIN},touched=no 64",
    "compare_and_swap": f"rma/latency/operation=compare_and_swap,sync=flush,{PLAIN},touched=no 8",
    "write_at_all": "io/write/call=write_at_all,layout=strided,hints=none,touched=yes 4096",
    "read_all": f"io/hpio_read/call=read_all,{REGIONS},hints=none,touched=yes 4096",
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_data_end_the_program(faults, fault, tmp_path):
    well = run_with_fault(faults, "none", WRONG[fault], tmp_path)
    assert len(rows_of(well)[0]) == 1
    done = run_with_fault(faults, fault, WRONG[fault], tmp_path)
    assert done.returncode != 0, done.text
    assert "wrong data" in done.stderr and "expected" in done.stderr, done.text
    assert WRONG[fault] in done.stderr, done.text


def test_a_call_that_returns_an_error_is_told_and_the_others_go_on(faults, tmp_path):
    lacking = "io/read/call=read_all,layout=contiguous,hints=none,touched=yes 4096"
    other = "io/read/call=read,layout=contiguous,hints=none,touched=yes 4096"
    done = run_with_fault(faults, "lacks_read_all", f"{lacking}\n{other}", tmp_path)
    rows, told = rows_of(done)
    assert [row["id"] for row in rows] == [other.split()[0]]
    assert [line["unsupported"] for line in told] == [lacking]
    assert told[0]["why"].startswith("MPI_File_read_all: "), told


def test_a_folder_that_is_not_there_is_told(tmp_path):
    case = "io/write/call=write,layout=contiguous,hints=none"
    rows, told = rows_of(mbl(2, "--quick", "--only", case, "--folder", tmp_path / "nowhere"))
    assert not rows
    assert told[0]["why"].startswith("MPI_File_open: "), told


def test_performance_variables_become_notes(tmp_path):
    """Ours count messages; the ordered calls send some to agree on places."""
    case = "io/write/call=write_ordered,layout=contiguous,hints=none"
    options = ("--quick", "--only", case, "--folder", tmp_path)
    rows, _ = rows_of(mbl(2, *options, environment={"MBL_VARIABLES": "collectives"}))
    notes = {name: value for name, value in rows[0]["notes"].items() if name.startswith("pvar_")}
    assert notes and all("collectives" in name for name in notes), rows
    assert any(value > 0 for value in notes.values()), notes
    rows, _ = rows_of(mbl(2, *options, environment={"MBL_VARIABLES": "no_such_word_anywhere"}))
    assert not any(name.startswith("pvar_") for name in rows[0]["notes"])
