"""tasuki explain: made up programs that are slow for one known reason: that one comes first; an efficient one
is called so; and what is left of damaged traces is explained."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import made_traces  # noqa: E402
from command import tasuki  # noqa: E402
from slow_programs import EFFICIENT, REASONS, Clock, imbalance  # noqa: E402
from tasuki import trace as traces  # noqa: E402
from tasuki.explain import explain  # noqa: E402


def explained(tmp_path, ranks, **how):
    path = made_traces.write(tmp_path / "a.trace", *ranks, **how)
    return explain(traces.load(path), ask=made_traces.lines)


@pytest.mark.parametrize("program", REASONS, ids=lambda one: one.__name__)
def test_the_reason_comes_first(tmp_path, program):
    kind, ranks, (low, high), words = REASONS[program]
    found = explained(tmp_path, program())
    first = found.findings[0]
    assert (first.kind, first.ranks) == (kind, ranks), found.text()
    assert low <= first.gain_share <= high, found.text()
    assert words in first.text, found.text()
    assert first.gain_seconds == pytest.approx(first.gain_share * found.seconds)
    assert not found.efficient


@pytest.mark.parametrize("program", EFFICIENT, ids=lambda one: one.__name__)
def test_an_efficient_program_is_called_so(tmp_path, program):
    found = explained(tmp_path, program())
    assert found.findings == [] and found.efficient, found.text()
    assert "The program is efficient" in found.text()
    assert found.lacking() in ("", "source lines") and ("not judged" in found.text()) == bool(found.lacking())


def test_of_windows_is_told_that_their_waits_are_not_judged(tmp_path):
    clocks = [Clock(rank, 2) for rank in range(2)]
    found = explained(
        tmp_path, [one.compute(100).call("MPI_Win_fence", 110, at="a.c:1").end() for one in clocks]
    )
    assert "Not recorded, so not judged: what one-sided accesses wait for." in found.text()


def test_gains_are_ranked_and_written_as_json(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *imbalance())
    done = tasuki("explain", path, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    gains = [one["gain_seconds"] for one in document["findings"]]
    assert gains == sorted(gains, reverse=True)
    assert document["tasuki_explanation"] == 1 and document["ranks"] == 4 and not document["efficient"]
    assert document["rank_seconds"]["computing"] == pytest.approx(22e-3)
    assert document["rank_seconds"]["waiting"] == pytest.approx(18e-3)


def test_the_unchanged_course_takes_what_was_recorded(tmp_path):
    from tasuki.explain import Course

    for number, program in enumerate([*REASONS, *EFFICIENT]):
        path = made_traces.write(tmp_path / f"{number}.trace", *program())
        course = Course(traces.load(path))
        assert course.run() == pytest.approx(course.seconds, abs=1e-9), program.__name__


def test_a_machine_says_which_calls_are_slow(tmp_path):
    """The K computer's MPI_Allreduce of 8 bytes takes less than 900 µs."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(10):
            clock.compute(100).call("MPI_Allreduce", clock.now + 900, sent=8, block=8)
    path = made_traces.write(tmp_path / "a.trace", *(clock.end() for clock in clocks))
    plain, priced = (tasuki("explain", path, *more).stdout for more in ([], ["--machine", "k-computer"]))
    assert "--run or --machine tells" in plain and "takes 18.0 ms in 20 calls" not in plain, plain
    assert "1. MPI_Allreduce takes 18.0 ms in 20 calls" in priced, priced


def test_predict_and_explain_take_the_same_machines(tmp_path):
    """A shipped one, one of the simulator's with its topology, and a tuning table, which has to know where
    the ranks are."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(10):
            clock.compute(100).call("MPI_Allreduce", clock.now + 900, sent=8, block=8)
    path = made_traces.write(tmp_path / "a.trace", *(clock.end() for clock in clocks))
    table = tmp_path / "hosts.json"
    network = {"software_ns": 2000, "latency_ns": 9000, "bytes_per_ns": 2.5, "eager_bytes_per_ns": 2}
    rows = {"network": network | {"long_ns": 21000, "long_bytes": 65536}}
    table.write_text(json.dumps({"tasuki_tuning": 1, "made_on": {"processors": 4}, "messages": rows}))
    simulated = json.loads((ROOT / "python/tasuki/machines/k-computer.json").read_text())
    simulated["topology"] |= {"shape": [2, 1, 1]}
    (tmp_path / "torus.json").write_text(json.dumps(simulated))
    for words in (
        ["k-computer"],
        [tmp_path / "torus.json"],
        [table, "--map", "1x2"],
        [table, "--map", "2x1"],
    ):
        explained = tasuki("explain", path, "--machine", *words)
        assert "1. MPI_Allreduce takes 18.0 ms in 20 calls" in explained.stdout, (words, explained)
        predicted = tasuki("predict", path, "--machine", *words, "--json")
        assert predicted.returncode == 0 and json.loads(predicted.stdout), (words, predicted)
    for words, told in (
        (["--machine", table], "expected --map NODESxRANKS, too"),
        (["--machine", table, "--map", "2x2"], "has the calls of 2 ranks"),
        (["--machine", table, "--map", "two"], "--map two: expected nodes and the ranks of each"),
        (["--map", "2x1"], "explain: --map 2x1: expected --run or --machine, too"),
    ):
        refused = tasuki("explain", path, *words)
        assert refused.returncode == 2 and told in refused.stderr, (words, refused)


def test_a_crashed_program_is_explained_as_far_as_it_came(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *imbalance(), whole=False)
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert "MPI_Allreduce" in done.stdout.split("2.")[0]
    assert "note: rank 3: its calls end without MPI_Finalize" in done.stdout


def test_a_cut_trace_is_explained_as_far_as_it_goes(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *imbalance())
    data = path.read_bytes()
    path.write_bytes(data[:-3])  # in the block that says that rank 3 came to its end
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert "1. ranks 0-2 wait in MPI_Allreduce" in done.stdout
    assert "what followed is missing" in done.stdout
    path.write_bytes(data[:-30])  # in rank 3's calls, for which the others wait
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert "Nothing was found that held the program up, but the trace is not whole." in done.stdout
    assert "what followed is missing" in done.stdout and "efficient" not in done.stdout


def test_of_a_damaged_trace_the_other_processes_are_explained(tmp_path):
    """One byte of rank 1's calls is wrong; rank 3, for which all wait, is there."""
    path = made_traces.write(tmp_path / "a.trace", *imbalance())
    data = bytearray(path.read_bytes())
    second = [place for place in range(len(data)) if data.startswith(b"DATA", place)][1]
    data[second + 60] ^= 0x40
    path.write_bytes(data)
    done = tasuki("explain", path)
    assert done.returncode == 0, done.stderr
    assert (
        "checksum is wrong: the file is damaged, and what follows of its process is left out" in done.stdout
    )
    assert "3 ranks" not in done.stdout and "4 ranks" in done.stdout
    assert "efficient" not in done.stdout
    strict = tasuki("trace", path)
    assert strict.returncode == 2 and "its checksum is wrong" in strict.stderr


def test_a_trace_of_version_1_is_explained(tmp_path):
    """Without source lines, and without what libraries tell."""
    found = explained(tmp_path, imbalance(), version=1)
    assert found.findings[0].kind == "collective" and found.findings[0].at == ""
    assert "Not recorded, so not judged: the ways of messages" in found.text()


def test_what_cannot_be_read_is_one_line(tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *EFFICIENT[0]())
    data = path.read_bytes()
    for text, words in (
        (data[:8] + b"\x09\0\0\0" + data[12:], "version 9, expected 1 or 2"),
        (b"nothing of the kind", "a file of mpiexec --trace"),
        (data[:12], "no process is in it"),
    ):
        path.write_bytes(text)
        done = tasuki("explain", path)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1 and done.stdout == ""
    done = tasuki("explain", tmp_path / "none.trace")
    assert done.returncode == 2 and "No such file" in done.stderr
