"""Small wrong programs, each with the diagnosis that it must get.

Each program's first lines say what is wrong in it. All are started with the doctor and --end-on-deadlock: a
certain deadlock ends them after the stall time (125), whatever else as it ends any job. Most of the time they
wait, so a few run at once; each test takes the outcome of its own.

Lines are expected of ranks that wait. When a rank has failed there is little time to look them up, and a busy
machine may tell the program's name instead.
"""

import concurrent.futures
import dataclasses
import pathlib
import platform
import re

import harness
import pytest

HERE = pathlib.Path(__file__).resolve().parent
AT_ONCE = 4
TIMED_OUT = 124  # by its time limit
DEADLOCK = 125  # mpiexec's exit status by --end-on-deadlock
KILLED = 128
WORLD = "MPI_COMM_WORLD"
CERTAIN = r"\[{}, certain\]"


@dataclasses.dataclass
class Wrong:
    """What a program must get. `told`: patterns, each of which must be in what mpiexec says."""

    ranks: int
    status: int
    told: list
    check: int = 0  # TASUKI_CHECK
    seconds: int = 40  # the time limit
    never: list = dataclasses.field(default_factory=list)


def deadlock(ranks, *told, **more):
    return Wrong(ranks, DEADLOCK, list(told), **more)


def certain(name):
    return CERTAIN.format(name)


CASES = {
    # Deadlocks between messages.
    "recv_recv": deadlock(
        2,
        certain("deadlock-cycle"),
        r"ranks 0, 1 wait for each other",
        rf"rank 0 waits for rank 1 in MPI_Recv \(source 1, tag 7, .*{WORLD}\) at recv_recv\.c:11",
        r"hint: all of them receive before they send",
    ),
    "ssend_ring": deadlock(
        4,
        certain("unsafe-exchange"),
        r"ranks 0-3 +waiting .* in MPI_Ssend \(destination rank \+ 1, tag 3",
        r"ranks 0-3 wait for one another",
        r"rank 3 waits for rank 0 in MPI_Ssend .*at ssend_ring\.c:13",
    ),
    "large_sends": deadlock(
        2,
        certain("unsafe-exchange"),
        r"rank 0 waits for rank 1 in MPI_Send \(destination 1, tag 1, \d+ x MPI_DOUBLE",
    ),
    "self_send": deadlock(2, certain("waits-for-itself"), r"rank 1 waits for itself", r"destination itself"),
    "never_sent": deadlock(
        2,
        certain("peer-ended"),
        r"rank 0 waits for rank 1, which is in MPI_Finalize already",
        r"in MPI_Wait .*: receive from rank 1, tag 5, .*begun by MPI_Irecv at never_sent\.c:14",
    ),
    "waitall": deadlock(
        3, certain("deadlock-cycle"), r"rank 0 waits for rank 2 in MPI_Waitall .*: receive from rank 2, tag 9"
    ),
    "waitany": deadlock(
        3, certain("deadlock-cycle"), r"rank 0 waits for rank [12] in MPI_Waitany \(2 open requests\)"
    ),
    "any_source": deadlock(
        3,
        certain("deadlock-cycle"),
        r"rank 0 waits for rank [12] in MPI_Recv \(source any, tag 1, .*any_source\.c:14",
    ),
    "probe": deadlock(
        2, certain("deadlock-cycle"), r"rank 0 waits for rank 1 in MPI_Probe \(source 1, tag 11"
    ),
    "wrong_tag": deadlock(
        2,
        certain("tag-mismatch"),
        rf"rank 0 waits for a message from rank 1 with tag 7 on {WORLD}, and has one from rank 1 with tag 8",
    ),
    "crossed_tags": deadlock(
        2,
        certain("tag-mismatch"),
        r"rank 1 waits for a message from rank 0 with tag 1 .* and has one .* with tag 2",
    ),
    "wrong_comm": deadlock(
        2,
        certain("communicator-mismatch"),
        r"with tag 7 on MPI_COMM_WORLD, and has one from rank 1 with tag 7 on solver",
    ),
    # Deadlocks with collective calls.
    "barrier_recv": deadlock(
        3,
        certain("deadlock-cycle"),
        r"in MPI_Barrier \(MPI_COMM_WORLD\) at barrier_recv\.c:11",
        r"rank 1 waits for rank 0 in MPI_Recv \(source 0, tag 4",
        r"hint: a collective call waits for all ranks",
    ),
    "refused": deadlock(
        2,
        certain("deadlock-cycle"),
        certain("collective-missing"),
        rf"rank 0 has not come to the 2nd collective call on {WORLD}, in which rank 1 waits",
    ),
    "missing_rank": deadlock(
        4,
        certain("collective-missing"),
        rf"rank 3 has not come to the 1st collective call on {WORLD}, in which ranks 0-2 wait",
        r"rank 3 is in MPI_Finalize",
    ),
    "two_comms": deadlock(
        3,
        certain("deadlock-cycle"),
        r"MPI_Barrier \(rows\)",
        r"MPI_Barrier \(columns\)",
        r"in the same order",
    ),
    "split_missing": deadlock(
        3,
        certain("collective-mismatch"),
        r"ranks 1, 2: MPI_Comm_split",
        r"rank 0: MPI_Barrier .*split_missing\.c:15",
    ),
    "file_missing": deadlock(
        3, certain("collective-mismatch"), r"ranks 1, 2: MPI_File_open", r"rank 0: MPI_Barrier"
    ),
    # Deadlocks with windows.
    "lock_order": deadlock(
        2,
        certain("deadlock-cycle"),
        r"rank 0 waits for rank 1 in MPI_Win_lock \(target 1, window forks\)",
        r"hint: take locks",
    ),
    "missing_fence": deadlock(
        3,
        certain("deadlock-cycle"),
        r"in MPI_Win_fence \(window",
        r"rank 0 has not come to the 2nd collective call on window",
    ),
    "missing_post": deadlock(
        2,
        certain("deadlock-cycle"),
        r"rank 1 waits for rank 0 in MPI_Win_(start|complete)",
        r"needs its MPI_Win_post",
    ),
    # Calls that do not fit together. The status is the class of the error.
    "collective_order": Wrong(3, 16, [r"rank 0 is in MPI_Barrier, the others in MPI_Allreduce"], check=2),
    "roots": Wrong(3, 8, [r"rank 1 is in MPI_Bcast root 1, rank 2 root 2, rank 0 root 0"], check=2),
    "counts": Wrong(3, 2, [r"rank 1 is in MPI_Bcast of 12 bytes, the others of 16 bytes"], check=2),
    "operations": Wrong(
        3, 10, [r"rank 0 is in MPI_Allreduce with MPI_MAX, the others with MPI_SUM"], check=2
    ),
    "truncation": Wrong(
        2, 15, [r"MPI_Recv: message of 80 bytes from rank 0, tag 5, receive buffer holds 40"]
    ),
    "types": Wrong(
        2, 3, [r"sent as 1 x MPI_FLOAT by MPI_Send, received as 1 x MPI_INT by MPI_Recv"], check=2
    ),
    # Misuse.
    "freed_comm": Wrong(
        2, 5, [r"MPI_Barrier: comm = \w+, which is no communicator", r"hint: it has been freed"]
    ),
    "uncommitted_type": Wrong(2, 3, [r"MPI_Bcast: datatype = .* not committed"]),
    "wrong_root": Wrong(2, 8, [r"MPI_Bcast: root = 2, expected 0\.\.1"]),
    "before_init": Wrong(1, 1, [r"MPI_Comm_size called before MPI_Init"]),
    "aliased": Wrong(2, 1, [r"MPI_Allreduce: sendbuf and recvbuf = \w+ begin with the same byte"], check=1),
    "buffer_reuse": Wrong(
        2, 1, [r"the buffer of MPI_Isend \(dest = 1, tag = 5\) was changed before"], check=3
    ),
    "buffer_overlap": Wrong(
        2, 1, [r"MPI_Irecv: buf = .* being received into by MPI_Irecv \(source = 1, tag = 1\)"], check=3
    ),
    "conflict": Wrong(
        2, 47, [r"MPI_Put: bytes 0\.\.3 of rank 1's window .* MPI_Put of rank 0 accesses"], check=3
    ),
    # Leaks.
    "leaked_request": Wrong(
        2, 0, [r"request, begun by MPI_Isend at leaked_request\.c:11, not completed"], check=3
    ),
    "leaked_comm": Wrong(
        2, 0, [r"communicator, made by MPI_Comm_split at leaked_comm\.c:11, not freed: 3 on each"], check=3
    ),
    "leaked_type": Wrong(
        2, 0, [r"datatype, made by MPI_Type_vector at leaked_type\.c:8, not freed"], check=3
    ),
    "leaked_window": Wrong(
        2, 0, [r"window, made by MPI_Win_allocate at leaked_window\.c:9, not freed"], check=3
    ),
    # Ends.
    "segfault": Wrong(
        3,
        KILLED + 11,
        [
            certain("rank-died"),
            r"rank 2 .*killed by signal 11 .* outside MPI, after MPI_Comm_size at segfault",
            r"ranks 0, 1 +waiting .* in MPI_Barrier",
        ],
    ),
    "exit_middle": Wrong(
        3,
        3,
        [r"rank 1 .*status 3 without calling MPI_Finalize, after MPI_Barrier at exit_middle"],
    ),
    "abort_middle": Wrong(2, KILLED + 6, [r"rank 1 .*killed by signal 6 \(Aborted\)", r"Assertion"]),
    "mpi_abort": Wrong(2, 5, [r"rank 1 .*MPI_Abort with code 5.* called at mpi_abort"]),
    "no_finalize": Wrong(
        3, 1, [certain("missing-finalize"), r"rank 1 .*exited with status 0 without calling MPI_Finalize"]
    ),
    "no_init": Wrong(
        3, 1, [certain("missing-init"), r"rank 1 .*(exited with status 0|ended) without calling MPI_Init"]
    ),
    "bus_error": Wrong(2, KILLED + 7, [r"rank 0 .*killed by signal 7 \(Bus error\) outside MPI"]),
    # Not deadlocked for certain: more than the report says may end it.
    "parrived": Wrong(
        2,
        TIMED_OUT,
        [
            r"rank 1 waits for rank 0, which asks for something again and again",
            # Between two calls it is outside MPI.
            r"rank 0 is (in|outside MPI, after) MPI_Parrived .*; it has open: "
            r"partitioned receive, which waits for MPI_Pready, from rank 1, tag 13, 4 bytes",
        ],
        seconds=3,
    ),
    # Nothing wrong.
    "slow_rank": Wrong(
        3,
        TIMED_OUT,
        [r"ranks 1, 2 wait for rank 0, which computes: no deadlock", r"rank 0 is outside MPI"],
        never=[r"deadlock-"],
        seconds=3,
    ),
}
if platform.machine() == "x86_64":  # others divide by zero without a signal
    CASES["division"] = Wrong(
        2, KILLED + 8, [r"rank 1 .*killed by signal 8 \(Floating point exception\)", r"MPI_Bcast \(root 1"]
    )


WINDOWS = ("lock_order", "missing_fence", "missing_post")


def run_case(name, nodes=1):
    case = CASES[name]
    program = harness.compile_program(HERE / f"{name}.c")
    options = ["--doctor", "--stall", 1, "--end-on-deadlock", "--timeout", case.seconds, "--nodes", nodes]
    command = [harness.PREFIX / "bin/mpiexec", "-n", case.ranks, *options, program]
    return harness.run_command(*command, environment={"TASUKI_CHECK": case.check})


@pytest.fixture(scope="session")
def outcomes():
    """All programs, a few at a time: name -> future of Done."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(run_case, name) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_it_gets_its_diagnosis(outcomes, name):
    check(CASES[name], outcomes[name].result())


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_get_the_same_where_their_owners_serve_them(name):
    check(CASES[name], run_case(name, nodes=2))


def check(case, done):
    for pattern in case.told:
        pattern = re.sub(r"(\w+)\\\.c:(\d+)", lambda at: harness.place(f"{at[1]}.c", at[2]), pattern)
        assert re.search(pattern, done.stderr), f"{pattern!r} is not in\n{done.text}"
    for pattern in case.never:
        assert not re.search(pattern, done.stderr), f"{pattern!r} is in\n{done.text}"
    assert done.returncode == case.status, done.text


def test_every_program_has_a_case():
    programs = {path.stem for path in HERE.glob("*.c")}
    assert programs - {"division", "whom"} == set(CASES) - {"division"}  # whom: test_whom.py
