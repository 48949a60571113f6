"""tasuki.trace: what was written is read; a file that is cut anywhere is told, and so is any damage."""

import pathlib
import random
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import made_traces  # noqa: E402
from made_traces import Rank  # noqa: E402
from tasuki import places  # noqa: E402
from tasuki import trace as traces  # noqa: E402


def two_ranks():
    first = Rank(0, 2).call("MPI_Init", 0, 10)
    first.call("MPI_Isend", 11, 12, peer=1, tag=-5, sent=300, block=300, made=1, phase="halo")
    first.call("MPI_Wait", 20, 22.5, done=[(0, -1, -1)])
    second = Rank(1, 2, offset=1000).call("MPI_Init", 1, 11)
    second.call("MPI_Recv", 15, 40, source=0, tag=-5, received=300, flags=traces.WILDCARD)
    return first, second


@pytest.mark.parametrize("plain", [False, True])
def test_what_was_written_is_read(tmp_path, plain):
    trace = traces.load(made_traces.write(tmp_path / "a.trace", *two_ranks(), plain=plain))
    assert trace.troubles == [] and [part.rank for part in trace.parts] == [0, 1]
    frame = trace.frame()
    assert list(frame["function"]) == ["MPI_Init", "MPI_Isend", "MPI_Wait", "MPI_Init", "MPI_Recv"]
    assert list(frame["phase"]) == ["", "halo", "", "", ""]
    assert frame["begin"].tolist() == pytest.approx(
        [0, 11e-6, 20e-6, 2e-6, 16e-6]
    )  # rank 1's clock is 1 µs late
    assert frame["seconds"].tolist() == pytest.approx([10e-6, 1e-6, 2.5e-6, 10e-6, 25e-6])
    assert list(frame["peer"]) == [-1, 1, -1, -1, 0]
    assert frame.loc[1, ["tag", "sent", "comm_name", "comm_size"]].tolist() == [-5, 300, "MPI_COMM_WORLD", 2]


def test_a_trace_of_version_1_is_read(tmp_path):
    """It has no places in the program."""
    ranks = two_ranks()
    ranks[1].call("MPI_Barrier", 50, 60, at="halo.c:42")
    frames = []
    for version in (1, 2):
        trace = traces.load(made_traces.write(tmp_path / f"{version}.trace", *ranks, version=version))
        frames.append(trace.frame())
        assert trace.parts[1].columns["site"].tolist() == ([0, 0, 1] if version == 2 else [0, 0, 0])
        assert trace.parts[1].sites == {1: "10 1 halo.c:42"}
    assert frames[0].equals(frames[1])


@pytest.mark.parametrize(("error_ns", "begin"), [(4000, 1010.0), (6000, 1015.0)])
def test_a_clock_that_gains_is_corrected_where_that_is_certain(tmp_path, error_ns, begin):
    """5 µs in 1 ms; not where that may be wrong by 6 µs."""
    rank = Rank(0, 1).call("MPI_Init", 0, 10).call("MPI_Barrier", 1015, 1020)
    rank.head += f"clock_drift_ns=5000\nclock_drift_error_ns={error_ns}\nclock_drift_over_ns=1000000\n"
    frame = traces.load(made_traces.write(tmp_path / "a.trace", rank)).frame()
    assert frame["begin"].tolist() == pytest.approx([0, begin * 1e-6], abs=1e-7)


def test_groups_have_one_number_in_all_ranks(tmp_path):
    ranks = []
    for rank in range(2):
        made = Rank(rank, 2).call("MPI_Barrier", 0, 1).call("MPI_Barrier", 2, 3, group=2 + rank)
        extra = [b"communicator\n0\n%d:1:1\n\nself" % rank] if rank == 0 else []
        for number, text in enumerate([*extra, b"communicator\n%d\n0:1:2\n\ndup" % rank], 2):
            made.definitions.append(b"G" + made_traces.varint(number) + text)
        made.rows[1]["group"] = 3 if rank == 0 else 2
        ranks.append(made)
    frame = traces.load(made_traces.write(tmp_path / "a.trace", *ranks)).frame()
    numbers = frame[frame["comm_name"] == "dup"]["comm"]
    assert len(numbers) == 2 and len(set(numbers)) == 1
    assert set(numbers) != set(frame[frame["comm_name"] == "MPI_COMM_WORLD"]["comm"])


def test_a_part_without_its_end_is_told(tmp_path):
    trace = traces.load(made_traces.write(tmp_path / "a.trace", *two_ranks(), whole=False))
    assert trace.troubles == [f"rank {rank}: its calls end without MPI_Finalize" for rank in (0, 1)]


def test_merged_parts_are_the_whole(tmp_path):
    whole = made_traces.write(tmp_path / "whole.trace", *two_ranks())
    parts = [made_traces.write(tmp_path / f"{rank}", one) for rank, one in enumerate(two_ranks())]
    traces.merge(parts[::-1], tmp_path / "merged.trace")
    assert (tmp_path / "merged.trace").read_bytes() == whole.read_bytes()
    with pytest.raises(traces.TraceError, match="rank 1 of world 0 is in two parts"):
        traces.merge([parts[1], parts[1]], tmp_path / "merged.trace")


@pytest.mark.parametrize(
    "data, told",
    [
        (b"", "begins with b''"),
        (b'{"tasuki_results": 1}', "expected b'TSKTRACE'"),
        (b"TSKTRACE\3\0\0\0", "version 3, expected 1 or 2"),
        (b"TSKTRACE\1\0\0\0", "no process is in it"),
        (b"TSKTRACE\1\0\0\0" + made_traces.block(b"DATA", b"\0"), "before the first HEAD"),
        (
            b"TSKTRACE\1\0\0\0" + made_traces.block(b"HEAD", b"rank=x\nworld=0\n"),
            "rank = 'x', expected a number",
        ),
        (b"TSKTRACE\1\0\0\0" + made_traces.block(b"WHAT", b""), "before the first HEAD"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path, data, told):
    (tmp_path / "a.trace").write_bytes(data)
    with pytest.raises(traces.TraceError) as error:
        traces.load(tmp_path / "a.trace")
    assert told in str(error.value) and str(tmp_path / "a.trace") in str(error.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(traces.TraceError, match="No such file"):
        traces.load(tmp_path / "none")


def test_every_cut_is_refused_or_told(tmp_path):
    data = made_traces.write(tmp_path / "a.trace", *two_ranks()).read_bytes()
    whole = traces.load(tmp_path / "a.trace").frame()
    for size in range(len(data)):
        (tmp_path / "a.trace").write_bytes(data[:size])
        try:
            trace = traces.load(tmp_path / "a.trace")
        except traces.TraceError:
            continue
        assert trace.troubles, size
        assert len(trace.frame()) <= len(whole)


def test_every_flipped_byte_of_a_payload_is_seen(tmp_path):
    data = made_traces.write(tmp_path / "a.trace", *two_ranks()).read_bytes()
    begin = traces.FILE_HEAD.size + traces.BLOCK_HEAD.size
    for place in range(begin, begin + 30):
        changed = bytearray(data)
        changed[place] ^= 0x40
        (tmp_path / "a.trace").write_bytes(changed)
        with pytest.raises(traces.TraceError, match="checksum"):
            traces.load(tmp_path / "a.trace")


def test_payloads_of_noise_are_refused(tmp_path):
    """With a checksum that is right: blocks of changed bytes are read, or refused by a TraceError."""
    draw = random.Random(1)
    first, _ = two_ranks()
    good = first.blocks()
    head = good[: good.index(b"DATA")]
    start = len(head) + traces.BLOCK_HEAD.size
    payload = good[start : good.index(b"END ", start)]
    refused = 0
    for _ in range(600):
        noise = bytearray(payload)
        for _ in range(draw.randint(1, 4)):
            noise[draw.randrange(len(noise))] = draw.randrange(256)
        text = traces.FILE_HEAD.pack(traces.MAGIC, 1) + head + made_traces.block(b"DATA", bytes(noise))
        (tmp_path / "a.trace").write_bytes(text)
        try:
            traces.load(tmp_path / "a.trace").frame()
        except traces.TraceError:
            refused += 1
    assert refused > 100


def test_a_line_of_python_is_told_where_the_code_has_none():
    """Of mpi4py always; of a library with debug information its own line."""
    python, known, unknown = "12 solve /home/a file.py", ("write", "/b/h5.c", 7), ("", "", 0)
    library, mpi4py = "1f 5 /lib/libhdf5.so", "1f 5 /p/mpi4py/MPI.mpich.cpython-311.so"
    text = {
        (code, of, answer): places.place_of(code, of, answer).text
        for code in (library, mpi4py)
        for of in (python, "")
        for answer in (known, unknown)
    }
    assert text[mpi4py, python, known] == text[mpi4py, python, unknown] == "a file.py:12"
    assert text[mpi4py, "", known] == text[mpi4py, "", unknown] == ""
    assert text[library, python, known] == text[library, "", known] == "h5.c:7"
    assert text[library, python, unknown] == "a file.py:12"
    assert text[library, "", unknown] == "libhdf5.so+0x1f"
