"""TASUKI_CHECK=3: what the program leaves behind is told at the end, once for all ranks, and by its maker."""

import re

import pytest
from harness import RANKS, place, run_command

LEVEL = {"TASUKI_CHECK": 3}
HEADING = "mpiexec: the program left behind:"
KINDS = {  # what the argument of leaks.c leaves: what is told of it, and how many of each rank
    "comm": ("communicator 'rows', made by MPI_Comm_split", "not freed: 3"),
    "group": ("group, made by MPI_Comm_group", "not freed: 1"),
    "type": ("datatype, made by MPI_Type_contiguous", "not freed: 1"),
    "op": ("reduction operation, made by MPI_Op_create", "not freed: 1"),
    "info": ("info object, made by MPI_Info_create", "not freed: 1"),
    "errhandler": ("error handler, made by MPI_Comm_create_errhandler", "not freed: 1"),
    "window": ("window, made by MPI_Win_create", "not freed: 1"),
    "file": ("file '/dev/null', opened by MPI_File_open", "not closed: 1"),
    "keyval": ("attribute key, made by MPI_Comm_create_keyval", "not freed: 1"),
    "send": ("request, begun by MPI_Isend", "not completed: 2"),
    "receive": ("request, begun by MPI_Irecv", "not completed: 1"),
    "collective": ("request, begun by MPI_Ibarrier", "not completed: 1"),
    "persistent": ("persistent request, made by MPI_Recv_init", "not freed: 1"),
    "matched": ("message, matched by MPI_Mprobe", "not received: 1"),
}


def told(done):
    """The lines about leaks; nothing else is on standard error."""
    lines = done.stderr.splitlines()
    assert not lines or lines[0] == HEADING, done.text
    return [line.removeprefix("mpiexec:   ") for line in lines[1:]]


def ranks_text(ranks):
    if ranks == 1:
        return " on rank 0"
    return f" on each of ranks {'0, 1' if ranks == 2 else f'0-{ranks - 1}'}"


@pytest.mark.parametrize("ranks", RANKS)
def test_each_kind_is_one_line(run, ranks):
    done = run("leaks.c", ranks, *KINDS, environment=LEVEL)
    assert done.returncode == 0 and done.stdout.count("done") == ranks, done.text
    lines = told(done)
    assert len(lines) == len(KINDS), done.text
    for object_made, count in KINDS.values():
        where = f" at {place('leaks.c')}" if object_made.split(",")[0] != "attribute key" else ""
        text = re.escape(object_made) + where + ", " + re.escape(count + ranks_text(ranks))
        assert len([line for line in lines if re.fullmatch(text, line)]) == 1, done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_who_leaves_nothing_is_told_nothing(run, ranks):
    done = run("leaks.c", ranks, "nothing", environment=LEVEL)
    assert done.returncode == 0 and told(done) == [], done.text


def test_below_the_level_nothing_is_told(run):
    done = run("leaks.c", 2, *KINDS, environment={"TASUKI_CHECK": 2})
    assert done.returncode == 0 and done.stderr == "", done.text


def test_messages_that_nobody_received(run):
    done = run("leaks.c", 3, "message", "offer", "lost", environment=LEVEL)
    assert done.returncode == 0, done.text
    lines = told(done)
    for rank in range(3):
        sender = (rank + 2) % 3
        for tag in (5, 7):
            told_of = f"message from rank {sender} (tag {tag}, 80 bytes, MPI_COMM_WORLD)"
            assert f"{told_of}, not received: 1 on rank {rank}" in lines, done.text
        assert (
            f"message from rank {rank} (tag 6, 80 bytes, columns, which has been freed), not received: "
            f"1 on rank {rank}" in lines
        ), done.text
    assert len(lines) == 9, done.text


def test_spawned_ranks_are_told_apart(run):
    done = run("leaks.c", 1, "parent", "comm", environment=LEVEL)
    assert done.returncode == 0, done.text
    lines = sorted(told(done), key=lambda line: "of spawn" not in line)
    assert len(lines) == 2, done.text
    assert lines[0].endswith("not freed: 3 on each of ranks 0, 1 of spawn 1"), done.text
    assert lines[1].endswith("not freed: 3 on rank 0"), done.text


def test_alone_the_program_tells_itself(build):
    done = run_command(build("leaks.c"), "group", environment={"TASUKI_CHECK": 3, "TASUKI_SINGLETON": 1})
    assert done.returncode == 0, done.text
    assert "tasuki:   group, made by MPI_Comm_group" in done.stderr, done.text
