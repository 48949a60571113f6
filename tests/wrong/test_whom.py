"""Each call that can wait for another rank says for which one.

whom.c has rank 0 wait in one call after the other for rank 1, which waits for rank 2, which waits for rank 0.
The doctor has to find that circle whatever the call is. The right twin of each, where rank 2 comes later and
all goes on, gets no word, although TASUKI_CHECK=1 has mpiexec ask all the time.
"""

import concurrent.futures
import re

import harness
import pytest
from test_wrong import AT_ONCE, DEADLOCK, HERE

RANKS = 3
SEND = ": send to rank 1, tag 5, 1048576 bytes, .*begun by "
REQUEST = r"MPI_Wait \(1 open request\) .*"
# The first argument of whom.c: what follows "rank 0 waits for rank 1 in ". None: "MPI_" and the name.
CALLS = {
    "precv": REQUEST + ": partitioned receive, which waits for MPI_Pready, from rank 1, tag 5, 8 bytes",
    "precv_of_none": REQUEST + ": partitioned receive, which waits for MPI_Psend_init, from rank 1, tag 5",
    "psend": REQUEST + ": partitioned send to rank 1, tag 5",
    "buffer_detach": "MPI_Buffer_detach .*" + SEND + "MPI_Bsend",
    "buffer_flush": "MPI_Buffer_flush .*" + SEND + "MPI_Bsend",
    "buffer_iflush": "MPI_Wait .*" + SEND + "MPI_Bsend",
    "comm_detach_buffer": "MPI_Comm_detach_buffer .*" + SEND + "MPI_Bsend",
    "comm_flush_buffer": "MPI_Comm_flush_buffer .*" + SEND + "MPI_Bsend",
    "comm_iflush_buffer": "MPI_Wait .*" + SEND + "MPI_Bsend",
    "session_detach_buffer": "MPI_Session_detach_buffer .*" + SEND + "MPI_Bsend",
    "session_flush_buffer": "MPI_Session_flush_buffer .*" + SEND + "MPI_Bsend",
    "session_iflush_buffer": "MPI_Wait .*" + SEND + "MPI_Bsend",
    "session_finalize": "MPI_Session_finalize .*" + SEND + "MPI_Bsend",
    "finalize_bsend": "MPI_Finalize .*" + SEND + "MPI_Bsend",
    "finalize_isend": "MPI_Finalize .*" + SEND + "MPI_Isend",
    "finalize_persistent": "MPI_Finalize .*" + SEND + "MPI_Send_init",
    "disconnect_isend": "MPI_Comm_disconnect .*" + SEND + "MPI_Isend",
    "disconnect_irecv": "MPI_Comm_disconnect .*: receive from rank 1, tag 5, .*begun by MPI_Irecv",
    "disconnect_ibarrier": "MPI_Comm_disconnect",
    "disconnect_bsend": "MPI_Comm_disconnect .*" + SEND + "MPI_Bsend",
    "disconnect_partitioned": "MPI_Comm_disconnect .*: "
    "partitioned receive, which waits for MPI_Pready, from rank 1",
    "ssend": None,
    "sendrecv_replace": None,
    "isendrecv": REQUEST + "from rank 1, tag 5, .*begun by MPI_Isendrecv",
    "ssend_init": REQUEST + ": send to rank 1, tag 5, 4 bytes, .*begun by MPI_Ssend_init",
    "mprobe": None,
    "ibarrier": REQUEST,
    "barrier_init": REQUEST,
    "bcast": None,
    "neighbor_allgather": None,
    "inter_barrier": "MPI_Barrier",
    "inter_allreduce": "MPI_Allreduce",
    "comm_dup": None,
    "comm_idup": REQUEST,
    "comm_split": None,
    "comm_split_type": None,
    "comm_create_group": None,
    "comm_create_from_group": None,
    "intercomm_create": None,
    "intercomm_create_from_groups": None,
    "intercomm_merge": None,
    "dist_graph_create": None,
    "win_create": None,
    "win_allocate_shared": None,
    "win_free": None,
    "win_fence": None,
    "locked": "MPI_Win_(un)?lock",
    "lock_all": "MPI_Win_(lock_all|flush_all)",
    "lock_rget": "MPI_(Win_lock|Wait)",
    "win_complete": "MPI_Win_(start|complete)",
    "win_wait": None,
    "file_open": None,
    "file_close": None,
    "file_write_all": "MPI_File_(write_at_all|close)",
    "file_iwrite_all": "MPI_(Wait|File_close)",
    "file_iwrite_all_close": "MPI_File_close",
    "file_write_all_end": "MPI_File_(write_at_all_end|close)",
    "file_write_ordered": None,
    "file_seek_shared": None,
    "file_set_view": None,
    "file_set_size": None,
    "file_sync": "MPI_File_(sync|close)",
    "file_set_atomicity": None,
}
# Over nodes these wait in another way.
OVER_NODES = [name for name in CALLS if re.match("precv|psend|bcast|win_|lock|file_|comm_split", name)]


def run(name, nodes, *seconds):
    options = ["-n", RANKS, "--nodes", nodes, "--timeout", 60]
    options += [] if seconds else ["--stall", 1, "--end-on-deadlock"]
    program = harness.compile_program(HERE / "whom.c")
    environment = {"TASUKI_CHECK": 1 if seconds else 0}
    return harness.run_command(
        harness.PREFIX / "bin/mpiexec",
        *options,
        program,
        name,
        *seconds,
        environment=environment,
        timeout=300,
    )


@pytest.fixture(scope="module")
def outcomes():
    """A few at a time: (name, nodes, seconds …) -> future of Done."""
    wanted = (
        [(name, 1) for name in CALLS]
        + [(name, RANKS) for name in OVER_NODES]
        + [(name, 1, 1) for name in CALLS]
    )
    harness.compile_program(HERE / "whom.c")  # once, before several ask for it
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {one: pool.submit(run, *one) for one in wanted}


def check(name, done):
    call = CALLS[name] or "MPI_" + name.capitalize()
    assert done.returncode == DEADLOCK, done.text
    assert re.search(r"deadlock: .*\[(deadlock-cycle|peer-ended), certain\]", done.stderr), done.text
    assert re.search(f"rank 0 waits for rank 1 in {call}", done.stderr), done.text
    assert "rank 1 waits for rank 2 in MPI_Recv" in done.stderr, done.text


@pytest.mark.parametrize("name", CALLS)
def test_the_circle_is_found(outcomes, name):
    check(name, outcomes[name, 1].result())


@pytest.mark.parametrize("name", OVER_NODES)
def test_the_circle_is_found_over_nodes(outcomes, name):
    check(name, outcomes[name, RANKS].result())


@pytest.mark.parametrize("name", CALLS)
def test_its_right_twin_gets_no_word(outcomes, name):
    done = outcomes[name, 1, 1].result()
    assert done.returncode == 0 and done.stdout == "right\n" and done.stderr == "", done.text
