"""mbl as a program: its command line, its rows, going on after a job that died, and the method: budget,
statistics, data that are looked at, ranks that come late, clocks that differ.

Times are never judged here; what is made of them is. (disturbances.c makes calls go wrong.)"""

import functools
import json
import os

import harness
import pytest
from harness import RANKS
from scipy import stats

HERE = harness.HERE.parent / "suite"
BENCH = harness.ROOT / "bench/mbl"
MBL = harness.PREFIX / "libexec/tasuki/mbl"
VARIANT = "mode=send,memory=malloc,touched=yes,layout=contiguous,receive=posted,cache=warm"
PINGPONG = f"point_to_point/pingpong/{VARIANT}"
BLOCKING = PINGPONG.replace("posted", "blocking")


def mbl(ranks, *options, environment=None, timeout=300):
    command = [harness.PREFIX / "bin/mpiexec", "-n", ranks, MBL, *options]
    return harness.run_command(*command, environment=environment, timeout=timeout)


def lines_of(done):
    assert done.returncode == 0, done.text
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of(done):
    """The rows of a run that went to its end."""
    lines = lines_of(done)
    assert lines[-1] == {"end": True}, done.text
    return [line for line in lines if "seconds" in line]


@functools.cache
def listed(ranks, *options):
    return lines_of(mbl(ranks, "--list", *options))


@pytest.fixture
def cases(tmp_path):
    """cases("ID BYTES", ...) -> the words that ask for these."""

    def write(*names):
        path = tmp_path / "cases"
        path.write_text("\n".join(names) + "\n")
        return ["--cases", path]

    return write


# ---- the list ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
def test_every_case_is_listed_once_and_fits_the_ranks(ranks):
    for options in ((), ("--quick",)):
        names = [(case["id"], case["bytes"]) for case in listed(ranks, *options)]
        assert len(names) == len(set(names))
        assert all(1 <= case["ranks"] <= ranks and case["doc"] for case in listed(ranks, *options))


def test_variants_are_names_and_values():
    for case in listed(4):
        parts = case["id"].split("/")
        assert len(parts) in (2, 3), case["id"]
        names = [word.split("=")[0] for word in ",".join(parts[2:]).split(",") if word]
        assert len(names) == len(set(names)) and all(
            part.count("=") == 1 for part in ",".join(parts[2:]).split(",") if part
        ), case["id"]


# What moves no data, or says by another name how they were used.
WITHOUT_USE = (
    "start_up/",
    "point_to_point/latency/",
    "point_to_point/one_way/",
    "point_to_point/late_receive/",
)
WITHOUT_USE += ("collectives/barrier/", "rma/epoch/", "rma/counter/", "rma/window/", "io/sync/", "io/open/")
WITHOUT_USE += ("io/set_view", "io/seek_shared", "io/set_size", "io/preallocate", "limit/line", "limit/meet")
WITHOUT_USE += ("limit/stream",)


def test_each_case_that_moves_data_says_whether_they_are_in_use():
    ids = {case["id"] for case in listed(4)}
    told = {name for name in ids if "touched=yes" in name or "touched=no" in name}
    alone = {name for name in ids if "form=used" in name or "form=cold" in name}
    assert not [name for name in ids - told - alone if not name.startswith(WITHOUT_USE)]
    assert not [name for name in told if name.startswith(WITHOUT_USE)]
    both = {name.replace("touched=no", "touched=yes") for name in told}
    # All but accesses whose target takes no part.
    assert not [name for name in both - ids if not name.startswith("rma/")]


def test_all_groups_are_there_and_the_quick_ones_are_few():
    groups = {case["id"].split("/")[0] for case in listed(2, "--quick")}
    assert groups == {"start_up", "point_to_point", "collectives", "concurrent", "rma", "io", "limit"}
    assert len(listed(2, "--quick")) <= 640
    assert {(case["id"], case["bytes"]) for case in listed(2, "--quick")} <= {
        (case["id"], case["bytes"]) for case in listed(2)
    }


def test_only_takes_prefixes():
    assert {case["id"].split("/")[1] for case in listed(2, "--only", "start_up/comm_", "start_up/in")} == {
        "comm_dup", "comm_idup", "comm_split", "comm_split_type", "comm_create", "comm_create_group",
        "init", "intercomm",
    }  # fmt: skip


# ---- bad words -----------------------------------------------------------------------------------------

WRONG_WORDS = {
    ("--foo",): "--foo: no such option",
    ("7",): "7: no such option",
    ("--budget", "soon"): "--budget: soon, expected a number above 0",
    ("--budget", "0"): "--budget: 0, expected a number above 0",
    ("--width", "-1"): "--width: -1, expected a number above 0",
    ("--width", "2"): "--width: 2, expected a number above 0 and at most 1",
    ("--quick", "--out"): "--out: nothing follows",
    ("--only", "point_to_pony"): "no case of that name",
    ("--cases", "/no/such/file"): "--cases: cannot read /no/such/file",
    ("--quick", "--only", "start_up/group", "--out", "/no/such/folder/rows"): "--out: cannot write /no/such",
}


@pytest.mark.parametrize("words", WRONG_WORDS, ids=" ".join)
def test_a_wrong_word_is_one_line_and_status_2(words):
    done = mbl(2, *words)
    assert done.returncode == 2, done.text
    told = [line for line in done.stderr.splitlines() if line.startswith("mbl: ")]
    assert len(told) == 1 and WRONG_WORDS[words] in told[0], done.text
    assert not done.stdout


WRONG_CASES = {
    "no/such/case 8": "no such case",
    "start_up/comm_dup 8": "it has no sizes, expected 0",
    "start_up/comm_dup": "expected an id and a number of bytes",
    f"{PINGPONG} -8": "expected an id and a number of bytes",
    f"{PINGPONG} 8 9": "expected an id and a number of bytes",
    f"{PINGPONG.replace('contiguous', 'vector')} 1000": "expected a multiple of 512 bytes",
    "point_to_point/multi_pair/pattern=rate,touched=yes 8": "needs 4 ranks or more, there are 2",
}


@pytest.mark.parametrize("case", WRONG_CASES)
def test_a_wrong_case_is_named_with_its_line(case, cases):
    done = mbl(2, *cases(f"{PINGPONG} 8", case))
    assert done.returncode == 2, done.text
    assert f'mbl: --cases: "{case}": {WRONG_CASES[case]}' in done.stderr, done.text


# ---- rows ----------------------------------------------------------------------------------------------


def interval_of(samples):
    """The 95 % interval of the median between order statistics, by scipy's binomial distribution."""
    ordered, n = sorted(samples), len(samples)
    rank = int(stats.binom.ppf(0.025, n, 0.5))  # the least k with P(at most k below) >= 2.5 %
    while rank > 0 and stats.binom.cdf(rank - 1, n, 0.5) > 0.025:
        rank -= 1
    return ordered[max(rank - 1, 0)], ordered[n - max(rank, 1)]


def outliers_of(samples):
    median = stats.scoreatpercentile(samples, 50)
    spread = stats.median_abs_deviation(samples)
    far = max(3.5 * spread / 0.6745, 0.01 * median)
    return [(i, abs(sample - median) - far) for i, sample in enumerate(samples)], far


ROUNDED = (
    5e-5  # a row's numbers have five digits: by so much, relatively, each may differ from what was there
)


def check_statistics(row):
    low, high = interval_of(row["seconds"])
    median = stats.scoreatpercentile(row["seconds"], 50)
    assert row["median_seconds"] == pytest.approx(median, rel=2.1 * ROUNDED)
    assert row["low_seconds"] == pytest.approx(low, rel=2.1 * ROUNDED), row
    assert row["high_seconds"] == pytest.approx(high, rel=2.1 * ROUNDED), row
    beyond, far = outliers_of(row["seconds"])
    for i, distance in beyond:
        # The sample, the median, and the spread, which is a difference of two.
        unsure = ROUNDED * (row["seconds"][i] + median + 2.1 * (median + far) * 3.5 / 0.6745)
        if abs(distance) > unsure:
            assert (i in row["outliers"]) == (distance > 0), (i, row)


def check_settled(row, width):
    """Six samples or more whose median's interval is narrow enough, and none else."""
    found = (row["high_seconds"] - row["low_seconds"]) / row["median_seconds"]
    if len(row["seconds"]) < 6:
        assert not row["settled"], row
    else:
        assert row["settled"] == (found <= width) or abs(found - width) < 10 * ROUNDED * (1 + found), row


def test_rows_are_valid_and_their_statistics_right(cases):
    names = [f"{PINGPONG} {bytes}" for bytes in (0, 8, 65536)] + ["start_up/comm_dup 0", "limit/line 0"]
    for budget in ("0.0001", "0.001", "0.05"):
        rows = rows_of(mbl(2, *cases(*names), "--budget", budget, "--width", "0.05"))
        assert [f"{row['id']} {row['bytes']}" for row in rows] == names
        for row in rows:
            check_statistics(row)
            check_settled(row, 0.05)
            assert min(row["seconds"]) > 0 and row["rounds"] >= 1 and row["late"] >= 0
            assert row["clock_error_seconds"] >= 0
        assert rows[0]["variant"] == dict(word.split("=") for word in VARIANT.split(","))
        assert [row["group"] for row in rows] == ["point_to_point"] * 3 + ["start_up", "limit"]
        assert [row["checked"] for row in rows[:4]] == [True, True, True, None]


def test_a_line_before_each_case_and_one_at_the_end(cases):
    lines = lines_of(mbl(2, *cases(f"{PINGPONG} 8", "start_up/finalize 0"), "--budget", "0.001"))
    assert lines[0] == {"begin": f"{PINGPONG} 8"}
    assert lines[1]["id"] == PINGPONG
    assert lines[2] == {"begin": "start_up/finalize 0"}
    assert lines[3]["id"] == "start_up/finalize" and len(lines[3]["seconds"]) == 1
    assert lines[4] == {"end": True}


def test_rows_are_added_to_a_file_so_that_a_run_can_go_on(cases, tmp_path):
    out = tmp_path / "rows"
    for name in ("start_up/group 0", "start_up/comm_dup 0"):
        done = mbl(2, *cases(name), "--budget", "0.001", "--out", out)
        assert done.returncode == 0 and not done.stdout, done.text
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line.get("begin", line.get("id", line.get("end"))) for line in lines] == [
        "start_up/group 0", "start_up/group", True, "start_up/comm_dup 0", "start_up/comm_dup", True,
    ]  # fmt: skip


def test_sizes_between_the_listed_ones_can_be_asked_for(cases):
    rows = rows_of(mbl(2, *cases(f"{PINGPONG} 12345"), "--budget", "0.001"))
    assert rows[0]["bytes"] == 12345 and rows[0]["checked"] is True


def test_init_has_a_sample_of_each_rank(cases):
    rows = rows_of(mbl(3, *cases("start_up/init 0")))
    assert len(rows[0]["seconds"]) == 3 and rows[0]["ranks"] == 3


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_rows_have_the_time_of_a_cache_line(cases, ranks):
    """Before and after, where two ranks share a machine and each has a processor."""
    (row,) = rows_of(mbl(ranks, *cases("start_up/group 0"), "--budget", "0.001"))
    there = 1 < ranks <= len(os.sched_getaffinity(0))
    assert len(row["line_seconds"]) == 2 * there and all(seconds > 0 for seconds in row["line_seconds"])


def test_a_case_of_two_ranks_runs_in_a_larger_job(cases):
    rows = rows_of(mbl(5, *cases(f"{PINGPONG} 8", "point_to_point/multi_pair/pattern=pingpong,touched=yes 8",
                                 "start_up/comm_dup 0", f"{BLOCKING} 8"), "--budget", "0.001"))  # fmt: skip
    assert [row["ranks"] for row in rows] == [2, 4, 5, 2]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("group", ["point_to_point", "start_up", "limit"])
def test_all_cases_move_the_right_data(group, ranks, cases):
    """Each series at its smallest size and at its largest up to 64 KiB."""
    series = {}
    for case in listed(ranks):
        if case["id"].startswith(group + "/"):
            series.setdefault(case["id"], []).append(case["bytes"])
    if ranks > 2:  # what two ranks do among themselves has been seen
        kept = {case["id"] for case in listed(ranks) if case["ranks"] > 2}
        series = {name: sizes for name, sizes in series.items() if name in kept}
    names = []
    for name, sizes in series.items():
        sizes = [size for size in sizes if size <= 65536] or sizes[:1]
        names += [f"{name} {size}" for size in sorted({sizes[0], sizes[-1]})]
    if not names:
        assert (group, ranks) != ("point_to_point", 2)
        return
    rows = rows_of(mbl(ranks, *cases(*names), "--budget", "0.0001"))
    told = [f"{row['id']} {row['bytes']}" for row in rows]
    assert sorted(told) == sorted(names)
    moves = ("point_to_point/latency/", "start_up/", "limit/")
    assert all(row["checked"] is True for row in rows if not row["id"].startswith(moves))


def test_cold_samples_are_one_round(cases):
    rows = rows_of(mbl(2, *cases(f"{PINGPONG} 65536"), "--cold", "--budget", "0.001"))
    assert rows[0]["rounds"] == 1 and rows[0]["checked"] is True


def test_samples_end_when_the_median_is_known_or_with_the_budget(cases):
    """Six samples bound a median; fewer are taken where even those would take ten budgets. One rank never
    waits for another, so it knows a median on every machine."""
    known = rows_of(mbl(1, *cases("start_up/group 0"), "--budget", "5", "--width", "1"))[0]
    assert known["settled"] and len(known["seconds"]) < 200
    words = (*cases(f"{PINGPONG} 8"), "--budget")
    ended = rows_of(mbl(2, *words, "0.00001", "--width", "1e-9"))[0]
    assert not ended["settled"] and 3 <= len(ended["seconds"]) <= 6


# ---- what goes wrong -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def disturb(tmp_path_factory):
    library = tmp_path_factory.mktemp("disturbances") / "disturbances.so"
    compiled = harness.run_command(
        harness.PREFIX / "bin/mpicc", "-shared", "-fPIC", HERE / "disturbances.c", "-o", library
    )
    assert compiled.returncode == 0, compiled.text
    return lambda what: {"LD_PRELOAD": library, "DISTURB": what}


@pytest.mark.parametrize("touched", ["yes", "no"])
def test_data_in_use_are_written_line_by_line(touched, cases, disturb):
    case = BLOCKING.replace("touched=yes", f"touched={touched}")
    done = mbl(2, *cases(f"{case} 4096"), "--budget", "0.001", environment=disturb("lines"))
    assert rows_of(done)[0]["checked"] is True
    assert ("each line is written" in done.stderr) == (touched == "yes"), done.text


@pytest.mark.parametrize("when", ["wrong", "wrong_later"])
def test_wrong_data_end_the_program(when, cases, disturb):
    """Before times are taken, and after: a byte that is wrong only then is seen too."""
    words = (*cases("start_up/group 0", f"{BLOCKING} 64"), "--budget", "0.001")
    assert len(rows_of(mbl(2, *words, environment=disturb("nothing")))) == 2
    done = mbl(2, *words, environment=disturb(when))
    assert done.returncode == 1, done.text
    assert f"mbl: {BLOCKING} 64: wrong data: rank 1: byte 63 is 0x" in done.stderr, done.text
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {"begin": f"{BLOCKING} 64"}, "the last line says what was running"
    assert any(line.get("id") == "start_up/group" for line in lines)


def test_threads_are_asked_for_and_have_to_be_there(cases, disturb):
    words = (*cases("start_up/group 0"), "--budget", "0.001")
    assert len(rows_of(mbl(2, *words, environment=disturb("serialized")))) == 1
    asked = (*words, "--thread-multiple")
    assert len(rows_of(mbl(2, *asked))) == 1
    done = mbl(2, *asked, environment=disturb("serialized"))
    assert done.returncode == 2 and "this MPI does not give MPI_THREAD_MULTIPLE" in done.stderr, done.text


def test_threads_call_at_the_same_time(disturb):
    """1, 2, 4 and so on and as many as asked for, on one communicator and on one each; their data are looked
    at."""
    words = ("--threads", 3, "--quick", "--budget", "0.001", "--only", "point_to_point/threads")
    found = [row["variant"] for row in rows_of(mbl(2, *words)) if row["checked"] is True and row["seconds"]]
    for pattern in ("rate", "pingpong"):
        for apart in ("tags", "communicators"):
            for threads in ("1", "2", "3"):
                for touched in ("yes", "no"):
                    variant = {"pattern": pattern, "apart": apart, "threads": threads, "touched": touched}
                    assert found.count(variant) == 2, variant  # at two sizes
    assert not [case for case in listed(2) if "/threads/" in case["id"]], "without --threads"
    done = mbl(2, *words, environment=disturb("serialized"))
    assert done.returncode == 2 and "this MPI does not give MPI_THREAD_MULTIPLE" in done.stderr, done.text
    for wrong, told in (
        (0, "0, expected a number above 0 and at most 256"),
        (0.5, "0.5, expected 1 or more"),
    ):
        done = mbl(2, "--threads", wrong, "--list")
        assert done.returncode == 2 and f"mbl: --threads: {told}" in done.stderr, done.text


def test_ranks_that_come_late_have_their_samples_taken_again(cases, disturb):
    words = (*cases(f"{PINGPONG} 8"), "--budget", "2", "--width", "1e-9")
    row = rows_of(mbl(2, *words, environment=disturb("late")))[0]
    assert row["late"] >= 1, row
    assert row["checked"] is True and len(row["seconds"]) >= 3, row


def test_a_row_has_three_samples_however_late_the_ranks(cases, disturb):
    """Late ones count when ten budgets are spent, and a note says how many do."""
    words = (*cases(f"{PINGPONG} 8"), "--budget", "0.00001", "--width", "1e-9")
    row = rows_of(mbl(2, *words, environment=disturb("always_late")))[0]
    assert 3 <= len(row["seconds"]) <= 6 and row["notes"]["late_kept"] >= 1, row


def test_a_late_rank_that_ends_the_budget_leaves_a_row_that_says_what_it_is(cases, disturb):
    words = (*cases(f"{PINGPONG} 8"), "--budget", "0.01", "--width", "1")
    row = rows_of(mbl(2, *words, environment=disturb("late_once")))[0]
    check_settled(row, 1)


def clock_lines(mode, ranks):
    more = (BENCH / "clock.cpp", BENCH / "suite.cpp", "-std=c++20")
    program = harness.compile_program(HERE / "skewed_clocks.cpp", *more, compiler="mpicxx")
    done = harness.run_command(harness.PREFIX / "bin/mpiexec", "-n", ranks, program, mode)
    assert done.returncode == 0, done.text
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_clocks_of_one_machine_are_the_same():
    """The truth is 0, and what is found is no further from it than a disturbed round trip."""
    for first, drifted, corrected, later, _, offset in clock_lines("same", 3):
        assert max(first, drifted, corrected, later, abs(offset)) < 100e-6


def test_clocks_that_differ_and_drift_are_brought_together():
    """Rank r's clock gains 400 r microseconds a second: after 0.7 s it is some 280 r of them wrong."""
    lines = clock_lines("skewed", 3)
    for rank, (first, drifted, corrected, later, told, offset) in enumerate(lines):
        assert offset <= -1.5 * rank, "and what it gained since the machine started"
        assert first < 100e-6 and corrected < 100e-6 and later < 140e-6, lines
        assert drifted >= 200e-6 * rank, lines
        assert 500e-6 < told, "the check tells the worst rank's error"
