"""tasuki.io_times and `tasuki io-chart`: what was written is read and added up; what is unfinished is told
and left out, what cannot be is refused in one line; the chart shows every rank at any size."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import made_io_times as made  # noqa: E402
from command import tasuki  # noqa: E402
from tasuki import io_chart, io_times  # noqa: E402


def two_ranks(**changes):
    first = made.call_line(
        0,
        [
            ("exchange", 0, 1000, 1400, 100),
            ("exchange", 1, 1400, 2000, 100),
            ("write", 0, 1500, 1900, 150),
            ("write", 1, 2000, 2200, 50),
        ],
        aggregator=0,
        cycles=2,
        bytes=120,
    )
    second = made.call_line(1, [("exchange", 0, 1100, 1300, 80)], cycles=2, bytes=80)
    return [made.rank_line(0, 2), made.rank_line(1, 2), first | changes, second]


def loaded(tmp_path, lines, **how):
    return io_times.load(made.write(tmp_path / "a.iotimes", lines), **how)


def refused(tmp_path, lines, **how):
    with pytest.raises(io_times.IoTimesError) as told:
        loaded(tmp_path, lines, **how)
    assert "\n" not in str(told.value)
    return str(told.value)


def test_what_was_written_is_added_up(tmp_path):
    job = loaded(tmp_path, two_ranks())
    assert (job.size, job.nodes, job.troubles, len(job.calls)) == (2, 1, [], 1)
    call = job.calls[0]
    assert (call.file, call.function, call.way) == ("/scratch/a.dat", "MPI_File_write_all", "two-phase")
    assert (call.cycles, call.bytes, call.aggregators) == (2, 200, [0])
    assert call.seconds == pytest.approx(1.2e-6)
    exchange, write = io_times.phase_sums(job.calls)
    assert (exchange.phase, exchange.seconds) == ("exchange", pytest.approx(1.2e-6))
    assert (exchange.share, exchange.cycles, exchange.bytes) == (pytest.approx(1.2 / 1.8), 3, 280)
    assert exchange.seconds_per_cycle == pytest.approx(0.4e-6)
    assert (write.busiest_rank, write.busiest_seconds) == (0, pytest.approx(0.6e-6))
    # Rank 0 wrote for 600 ns, of which it exchanged in 400.
    assert io_times.overlap(job.calls) == pytest.approx(4 / 6)


def test_spans_of_one_kind_count_once_where_they_overlap_each_other(tmp_path):
    spans = [("exchange", 0, 0, 10, 1), ("exchange", 1, 5, 20, 1), ("write", 0, 0, 30, 1)]
    job = loaded(tmp_path, [made.rank_line(0, 1), made.call_line(0, spans)])
    assert io_times.overlap(job.calls) == 1.0
    assert io_times.overlap(loaded(tmp_path, [made.rank_line(0, 1), made.call_line(0, [])]).calls) is None


def test_calls_are_told_apart_and_numbered_by_their_begin(tmp_path):
    lines = [made.rank_line(0, 1)]
    lines.append(made.call_line(0, [("read", 0, 300, 400, 1)], call=1))
    lines.append(made.call_line(0, [("read", 0, 100, 200, 1)], call=0))
    lines.append(made.call_line(0, [("read", 0, 210, 220, 1)], call=0, opened=5))  # the same name once more
    job = loaded(tmp_path, lines)
    assert [(call.number, call.begin_ns) for call in job.calls] == [(0, 100), (1, 210), (2, 300)]


def test_the_frame_has_a_row_for_each_span(tmp_path):
    frame = loaded(tmp_path, two_ranks()).frame()
    assert list(frame["rank"]) == [0, 0, 0, 0, 1]
    assert frame["begin"].tolist() == pytest.approx([0, 4e-7, 5e-7, 1e-6, 1e-7])
    assert frame["aggregator"].isna().tolist() == [False] * 4 + [True]


def test_what_a_crash_leaves_can_be_read(tmp_path):
    lines = two_ranks()
    text = made.write(tmp_path / "whole", lines).read_text()
    first = text.index('{"call"')
    for end in range(len(json.dumps(lines[0], separators=(",", ":"))) + 1, len(text), 7):
        path = tmp_path / "cut"
        path.write_text(text[:end])
        job = io_times.load(path)
        last = text[:end].rpartition("\n")[2]
        has_note = any("unfinished line left out" in told for told in job.troubles)
        assert has_note == (last != "" and last not in text.splitlines())
        assert len(job.calls) == (1 if end >= text.index("\n", first) else 0)


def test_a_line_that_another_one_follows_without_an_end_is_left_out(tmp_path):
    lines = two_ranks()
    broken = json.dumps(lines[2])[:50] + json.dumps(lines[3])
    job = loaded(tmp_path, [*lines[:2], broken, lines[2]])
    assert job.troubles == ["1 unfinished line left out, the first is line 3"]
    assert [access.rank for access in job.calls[0].accesses] == [0]


def test_troubles_are_told(tmp_path):
    lines = [made.rank_line(0, 3), {"left_out": 7, "job": made.JOB, "rank": 0}]
    job = loaded(tmp_path, lines)
    assert job.troubles == ["rank 0: 7 spans are left out, for want of room", "1 of the 3 ranks are in it"]


def test_times_of_other_clocks_are_brought_to_mpiexecs(tmp_path):
    """Node 1's clock is 1,000,000 ns ahead when the job begins, and gains 10 ns in each 1,000."""
    spans = [("write", 0, 1_012_120, 1_014_140, 5)]
    clock = {
        "clock_of_node": 1,
        "host": "node2",
        "begin": [10_000, 1_000_000, 50],
        "end": [20_000, 1_000_100, 70],
    }
    lines = [
        made.rank_line(0, 2, 0, 2),
        made.rank_line(1, 2, 1, 2),
        made.call_line(0, [("write", 0, 12_000, 13_000, 5)]),
    ]
    found = loaded(tmp_path, [*lines, made.call_line(1, spans), clock])
    first, second = found.calls[0].accesses
    assert (first.begin_ns, first.end_ns) == (12_000, 13_000)
    assert abs(second.begin_ns - 12_100) <= 1 and abs(second.spans[0].end_ns - 14_100) <= 1
    assert found.clock_error_ns == {1: 70} and found.troubles == []
    found = loaded(tmp_path, [*lines, made.call_line(1, spans), clock | {"end": None}])
    assert found.calls[0].accesses[1].begin_ns == 12_120 and "node2" in found.troubles[0]
    assert "line 4: begin = [1, 2]" in refused(tmp_path, [*lines, clock | {"begin": [1, 2]}])


def test_of_several_jobs_the_last_one_is_taken_or_the_one_that_is_named(tmp_path):
    lines = [*two_ranks(), made.rank_line(0, 1, job="bb")]
    job = loaded(tmp_path, lines)
    assert (job.name, len(job.calls)) == ("bb", 0)
    assert job.troubles == [f"this is its last job, bb; the others are {made.JOB}"]
    assert len(loaded(tmp_path, lines, job=made.JOB).calls) == 1
    assert f"has no job cc, expected {made.JOB} or bb" in refused(tmp_path, lines, job="cc")


@pytest.mark.parametrize(
    "change, told",
    [
        (
            {"spans": [["write", 0, 20, 10, 1]]},
            'line 3: spans[0] = ["write", 0, 20, 10, 1], expected [phase,',
        ),
        ({"spans": [["sleep", 0, 10, 20, 1]]}, "line 3: spans[0] = "),
        ({"spans": [["write", 0, 10, 20]]}, "line 3: spans[0] = "),
        ({"spans": [["write", True, 10, 20, 1]]}, "line 3: spans[0] = "),
        ({"spans": 3}, "line 3: spans = 3, expected a list"),
        ({"rank": 2}, "line 3: rank = 2, expected 0 to 1"),
        ({"rank": None}, "line 3: rank = null, expected 0 to 1"),
        ({"job": "cc"}, 'line 3: job = "cc", expected that of a rank\'s line above'),
        ({"end_ns": 1}, "line 3: end_ns = 1, expected a whole number from 1000 on"),
        ({"way": "by boat"}, 'line 3: way = "by boat", expected two-phase or independent'),
        ({"file": ""}, 'line 3: file = "", expected a text'),
        ({"aggregator": -1}, "line 3: aggregator = -1, expected a whole number from 0 on"),
        ({"bytes": 1.5}, "line 3: bytes = 1.5, expected a whole number from 0 on"),
    ],
)
def test_refuses_what_a_line_cannot_say(tmp_path, change, told):
    assert told in refused(tmp_path, two_ranks(**change))


@pytest.mark.parametrize(
    "lines, told",
    [
        ([], "is empty, expected what mpiexec --io-times wrote"),
        (["hello"], "does not begin with a rank's line"),
        (["[1]"], "does not begin with a rank's line"),
        ([{"a": 1}], "line 1: has none of the fields io_times, call and left_out"),
        ([made.rank_line(0, 1, version=2)], "line 1: io_times = 2, expected 1: another version wrote it"),
        (
            [made.rank_line(0, 2), made.rank_line(1, 3)],
            "line 2: ranks, nodes = [3, 1], expected [2, 1] as in",
        ),
        ([made.rank_line(0, 1, node=1)], "line 1: node = 1, expected 0 to 0"),
        ([made.rank_line(0, 2), made.call_line(1, [])], "line 2: rank = 1, expected one that has a line"),
    ],
)
def test_refuses_what_is_no_such_file(tmp_path, lines, told):
    assert told in refused(tmp_path, lines)


# ---- the command ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("io-chart")
    made.write(path / "a.iotimes", made.job(8, 4, 4, 6, calls=3))
    made.write(path / "none.iotimes", [made.rank_line(0, 1)])
    (path / "folder.png").mkdir()
    return path


def test_prints_calls_and_phases(folder):
    done = tasuki("io-chart", folder / "a.iotimes", "--call", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert "8 ranks on 4 nodes, 3 collective accesses to /scratch/a.dat" in done.stdout
    assert "→ 1  write_all            4       6  48 MiB" in done.stdout
    for word in ("phases of call 1", "exchange", "write", "overlap in"):
        assert word in done.stdout


def test_json_is_what_the_module_says(folder):
    told = json.loads(tasuki("io-chart", folder / "a.iotimes", "--json", "--call", "all").stdout)
    job = io_times.load(folder / "a.iotimes")
    assert told == io_times.document(job, job.calls)
    assert [call["aggregators"] for call in told["calls"]] == [[0, 2, 4, 6]] * 3


def test_csv_has_every_span(folder):
    lines = tasuki("io-chart", folder / "a.iotimes", "--csv", "--call", "all").stdout.splitlines()
    assert lines[0] == "call,file,function,way,rank,node,aggregator,phase,cycle,begin,end,bytes"
    assert len(lines) == 1 + 3 * (8 * 6 + 4 * 6)


@pytest.mark.parametrize(
    "words, told",
    [
        (["nowhere"], "nowhere: No such file or directory"),
        (["none.iotimes"], "none.iotimes: has no collective access, expected one that has ended"),
        (["a.iotimes", "--call", "3"], "--call 3: no such access, expected 0 to 2, or all"),
        (["a.iotimes", "--file", "b.dat"], "--file b.dat: no such file in"),
        (["a.iotimes", "--ranks", "0,8"], "--ranks 0,8: '8', expected ranks of 0 to 7, as 0,2,4-7"),
        (["a.iotimes", "--ranks", "x"], "--ranks x: 'x', expected ranks of 0 to 7"),
        (["a.iotimes", "--job", "x"], "has no job x, expected 00000000000000aa"),
        (["a.iotimes", "-o", "a.html"], "-o a.html: expected a name that ends in .png, .svg, .pdf"),
        (["a.iotimes", "-o", "folder.png"], "-o folder.png: Is a directory"),
        (
            ["a.iotimes", "-o", "a.png", "--between", "3-1"],
            "--between 3-1: expected two times in milliseconds",
        ),
    ],
)
def test_refuses_what_it_is_asked_for(folder, monkeypatch, words, told):
    monkeypatch.chdir(folder)
    done = tasuki("io-chart", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tasuki: io-chart: ") and done.stderr.count("\n") == 1
    assert told in done.stderr


# ---- the chart ----


def svg_of(tmp_path, lines, **how):
    job = loaded(tmp_path, lines)
    path = tmp_path / "chart.svg"
    io_chart.write(job, job.calls, sorted(job.node_of), path, **how)
    return path.read_text()


def comments_of(svg):
    """The texts that matplotlib draws: it writes each before its glyphs."""
    return [line.strip()[5:-4] for line in svg.splitlines() if line.strip().startswith("<!-- ")]


@pytest.mark.parametrize("ranks, nodes, aggregators, cycles", [(1, 1, 1, 1), (8, 4, 4, 6), (64, 8, 8, 40)])
def test_the_chart_names_every_rank_node_and_aggregator(tmp_path, ranks, nodes, aggregators, cycles):
    texts = comments_of(svg_of(tmp_path, made.job(ranks, nodes, aggregators, cycles, round_robin=nodes > 1)))
    marked = {number * ranks // aggregators for number in range(aggregators)}
    labels = [f"◆ {rank}" if rank in marked else f"{rank}" for rank in range(ranks)]
    assert all(label in texts for label in labels)
    assert [f"node {node}" in texts for node in range(nodes)] == [nodes > 1] * nodes
    assert {"exchange", "write", "aggregator"} <= set(texts) and "read" not in texts


def test_a_thousand_cycles_become_as_many_bars_as_can_be_seen():
    spans = [(cycle * 1.0, cycle + 0.99, cycle) for cycle in range(1000)]
    assert io_chart.bars_of(spans, 0.02) == spans
    assert io_chart.bars_of(spans, 0.5) == [(0.0, 999.99, None)]
    # What is far from the others stays as it is.
    assert io_chart.bars_of([*spans, (2000.0, 2000.1, 1000)], 0.5)[-1] == (2000.0, 2000.1, 1000)


def test_a_part_of_the_time_is_drawn_alone(tmp_path):
    lines = two_ranks()
    whole = comments_of(svg_of(tmp_path, lines))
    part = comments_of(svg_of(tmp_path, lines, between=(0.0, 0.0003)))
    assert whole.count("1") > part.count("1")  # cycle 1 began later


def test_names_of_files_need_not_be_text(tmp_path):
    path = made.write(tmp_path / "a.iotimes", two_ranks(file="/scratch/bad\udcff.dat"))
    path.write_bytes(path.read_bytes().replace(rb"\udcff", b"\xff"))
    done = tasuki("io-chart", path, "-o", tmp_path / "a.png")
    assert done.returncode == 0 and "bad?.dat" in done.stdout
