"""Programs of ours that other launchers start on several hosts: they join one job, and end as one.

The launchers are those of launchers.py, over ssh and in Slurm. `srun` is used as it is: it ends no other rank
of one that was killed, so the ranks see to that themselves.
"""

import re
import signal
import sys
import time

import debian_programs
import harness
import pytest
from harness import only_long
from launchers import HERE, HYDRA, end_jobs, launch

JOINED = ["hydra", "mpirun", "srun --mpi=pmi2", "srun --mpi=pmix"]
SHAPES = [(2, 2), (3, 1)]  # hosts, ranks on each
MPIEXEC = harness.PREFIX / "bin/mpiexec"
SECONDS_MAX = 90  # until a job whose rank ended badly is over; two or so, but the machine may be busy
MPI4PY = harness.ROOT / "build/mpi4py-4.1.2"
# The ranks of a host take its processors for their own, but all hosts of a test have the same ones.
CROWDED = {"TASUKI_SPIN_COUNT": 0}


@pytest.fixture
def build():
    """build(source) -> the program, compiled by our mpicc."""
    return harness.compile_program


@pytest.fixture
def start(cluster):
    """start(launcher, (hosts, ranks on each), words...) -> Done. Variables reach the ranks by every launcher.
    All is gone afterwards."""

    def run(launcher, shape, *words, variables=None, options=(), **how):
        settings = ["env", *(f"{name}={value}" for name, value in (variables or {}).items())]
        number_of_hosts, ranks_per_host = shape
        return launch(
            cluster,
            launcher,
            [*settings, *words],
            options,
            number_of_hosts=number_of_hosts,
            ranks_per_host=ranks_per_host,
            **how,
        )

    yield run
    end_jobs(cluster)
    left = [line for host in cluster for line in host.leftovers(kinds=["process", "memfd", "file"])]
    assert [line for line in left if "slurm" not in line] == []


def told(done):
    """What our ranks have said."""
    return [line for line in done.stderr.splitlines() if line.startswith("tasuki: ")]


# ---- joining --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("launcher", JOINED)
def test_all_ranks_are_one_job(start, build, launcher, shape):
    done = start(launcher, shape, build(HERE / "hello.c"))
    assert done.returncode == 0 and told(done) == [], done.text
    ranks = shape[0] * shape[1]
    said = sorted(re.findall(r"^rank (\d) of (\d) on (node\d)\S*: sum (\d+)$", done.stdout, re.M))
    total = str(ranks * (ranks + 1) // 2)
    places = [(str(rank), str(ranks), f"node{1 + rank // shape[1]}", total) for rank in range(ranks)]
    assert said == places, done.text


# The rank programs, and what they print when all is well.
PROGRAMS = [
    ("exchange.c", "", "exchange: all sizes right"),
    ("collectives.c", "", "collectives: right"),
    ("windows.c", "nodes", "windows: right"),
    ("windows_over_nodes.c", "memory", "windows over nodes: right"),
    ("sessions.c", "", ""),
]


# The second shape by one launcher of each wire.
PLACES = [(launcher, (2, 2)) for launcher in JOINED] + [("hydra", (3, 1)), ("srun --mpi=pmix", (3, 1))]


@pytest.mark.parametrize("source, words, says", PROGRAMS)
@pytest.mark.parametrize("launcher, shape", PLACES)
def test_the_programs_of_the_rank_tests(start, build, launcher, shape, source, words, says):
    done = start(launcher, shape, build(source), *words.split(), variables=CROWDED)
    assert done.returncode == 0 and says in done.stdout, done.text


@pytest.mark.parametrize("launcher", JOINED)
def test_sessions_alone_end_well(start, build, launcher):
    """The launcher is told at the end of the process, since sessions might come back."""
    done = start(launcher, (2, 1), build("session_alone.c"), "session")
    assert done.returncode == 0 and done.stdout.count("session done") == 2, done.text


@pytest.mark.parametrize("launcher", JOINED)
def test_files_that_the_hosts_share(start, build, cluster, launcher):
    file = cluster.shared_folder / "file"
    done = start(launcher, (2, 2), build("files.c"), file, variables=CROWDED)
    assert done.returncode == 0 and "files: right" in done.stdout and not file.exists(), done.text


# By one launcher of each wire, and by all in make test-long.
@pytest.mark.parametrize(
    "launcher",
    [
        "hydra",
        pytest.param("mpirun", marks=only_long),
        pytest.param("srun --mpi=pmi2", marks=only_long),
        "srun --mpi=pmix",
    ],
)
def test_mpi4py(start, launcher):
    built = {"PYTHONPATH": harness.ROOT / "build/mpi4py-abi", "LD_LIBRARY_PATH": harness.PREFIX / "lib"}
    run_mpi4py_tests(start, launcher, {**CROWDED, **built})


def run_mpi4py_tests(start, launcher, variables, files="p2p_buf|cco_buf|cco_obj"):
    """Some of mpi4py's own tests, with the mpi4py that these variables lead to."""
    if not (MPI4PY / "test").is_dir():
        pytest.skip(f"{MPI4PY} is not there (make conformance)")
    python = [sys.executable, MPI4PY / "test/main.py", "-v", "--no-builddir"]
    python += ["-i", rf"^test_({files})\.py$", "-x", "Self", "-x", "Dup"]
    done = start(launcher, (2, 2), *python, variables=variables, cwd=MPI4PY)
    assert done.returncode == 0, done.text[-4000:]
    assert len(re.findall(r"Ran \d{2,} tests", done.stderr)) == 4, done.text[-4000:]


# ---- programs of others ----------------------------------------------------------------------------------

# A system of 17 equations in two sizes of blocks, one and three right sides, on two grids.
SCALAPACK_INPUT = """\
'ScaLAPACK, LU factorization input file'
'MPI Machine'
'LU.out'
6                       device out
1                       number of problem sizes
17                      values of M
17                      values of N
2                       number of NB's
2 5                     values of NB
2                       number of NRHS's
1 3                     values of NRHS
1                       number of NBRHS's
2                       values of NBRHS
2                       number of process grids
1 2                     values of P
1 2                     values of Q
1.0                     threshold
F                       condition and refinement
"""
with_and_without_heap = pytest.mark.parametrize("heap", [False, True], ids=["private", "heap"])


def variables_of(packages=None, *, heap):
    """What a program of the MPICH ABI needs to have our library."""
    folders = [*(packages.libraries if packages else []), harness.PREFIX / "lib"]
    preload = {"LD_PRELOAD": harness.PREFIX / "lib/libtasuki_heap.so"} if heap else {}
    return {**CROWDED, "LD_LIBRARY_PATH": ":".join(map(str, folders)), "OMP_NUM_THREADS": 1, **preload}


@only_long
@with_and_without_heap
@pytest.mark.parametrize("shape", [(2, 1), (1, 2)])
@pytest.mark.parametrize("launcher", JOINED)
def test_netpipe_of_debian(start, cluster, launcher, shape, heap):
    packages = debian_programs.unpack("netpipe-mpich2")
    out = cluster.shared_folder / "netpipe"
    words = [packages.bin / "NPmpich2", "-i", "-u", 4096, "-n", 2, "-o", out]
    done = start(launcher, shape, *words, variables=variables_of(packages, heap=heap))
    assert done.returncode == 0 and "fail" not in done.text.lower(), done.text
    rows = out.read_text().splitlines()
    out.unlink()
    assert len(rows) > 15, done.text


@only_long
@with_and_without_heap
@pytest.mark.parametrize("launcher", JOINED)
def test_scalapack_of_debian(start, cluster, launcher, heap):
    """Systems of linear equations, on grids of one and of four ranks: the residuals are checked."""
    packages = debian_programs.unpack("scalapack-mpi-test", "libscalapack-mpich2.2")
    tests = packages.lib / "scalapack/mpich-tests"
    (cluster.shared_folder / "LU.dat").write_text(SCALAPACK_INPUT)
    variables = variables_of(packages, heap=heap)
    folder = cluster.shared_folder
    done = start(launcher, (2, 2), tests / "xdlu", variables=variables, cwd=folder)
    counts = [int(count) for count in re.findall(r"(\d+) tests completed and (?:passed|failed)", done.stdout)]
    assert done.returncode == 0 and counts == [8, 0], done.text[-4000:]


@only_long
@with_and_without_heap
@pytest.mark.parametrize("launcher", JOINED)
def test_the_wheel_of_mpi4py(start, launcher, heap):
    library = {"MPI4PY_LIBMPI": harness.PREFIX / "lib/libmpi.so.12", **variables_of(heap=heap)}
    run_mpi4py_tests(start, launcher, library, files="p2p_buf")


def test_our_mpiexec_in_an_allocation(cluster, build):
    allocate = ["salloc", "--quiet", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2"]
    done = cluster[0].run([*allocate, MPIEXEC, "-n", 4, build(HERE / "hello.c")])
    assert done.returncode == 0 and len(re.findall(r"of 4 on node\d\S*: sum 10$", done.stdout, re.M)) == 4, (
        done.text
    )


# ---- what is said ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "launcher, wire", [("hydra", r"PMI-1 \(descriptor \d+\)"), ("srun --mpi=pmix", r"PMIx \(.*\)")]
)
def test_the_wire_and_the_network_are_explained(start, build, launcher, wire):
    done = start(launcher, (2, 2), build("ring.c"), variables={"TASUKI_EXPLAIN": 1})
    joined = rf"tasuki: rank 0 of 4 joined by {wire}, because .*; its ranks make 2 nodes on node1, node2"
    assert re.search(joined, done.stderr), done.text
    network = r"packets between nodes go by libfabric .* interface eth0, .* reached this host at 10\.77\.0\.1"
    assert re.search(network, done.stderr), done.text
    done = start(launcher, (1, 1), MPIEXEC, "--info")
    assert re.search(r"by itself +a rank of another launcher's job, by PMI", done.stdout), done.text


def test_srun_without_a_wire_says_what_to_type(cluster, build):
    done = cluster[0].run(["srun", "--nodes=2", "--ntasks=2", "--mpi=none", build("ring.c")])
    assert done.returncode != 0 and "ring of" not in done.stdout, done.text
    assert "without a way to find the others (PMI or PMIx); type srun --mpi=pmi2" in done.stderr, done.text


@pytest.mark.parametrize("launcher", ["hydra", "srun --mpi=pmix"])
def test_hosts_with_different_networks_are_refused_by_name(start, build, launcher):
    script = '[ $(hostname) = node2 ] && export TASUKI_NET_PROVIDER="tcp;ofi_rxm"; exec "$0"'
    done = start(launcher, (2, 1), "sh", "-c", script, build("ring.c"))
    assert done.returncode != 0 and "ring of" not in done.stdout, done.text
    refused = (
        r"rank \d on node\d \(interface eth0, .*\) speaks libfabric's .* and rank \d on node\d \(.*\) speaks"
    )
    assert re.search(refused, done.stderr) and "TASUKI_NET_PROVIDER" in done.stderr, done.text
    assert done.seconds < SECONDS_MAX, done.text


def test_a_firewall_is_named_with_both_ends(hosts, build):
    hosts.firewall_new_connections(1, "20000-20100")
    ports = {"FI_TCP_PORT_LOW_RANGE": 20000, "FI_TCP_PORT_HIGH_RANGE": 20100, "TASUKI_NET_CONNECT_SECONDS": 2}
    done = launch(hosts, "hydra", [build("ring.c")], ranks_per_host=1, environment=ports)
    assert done.returncode != 0 and done.seconds < SECONDS_MAX and "ring of" not in done.stdout, done.text
    said = (
        r"rank 0 on node1 \(interface eth0, address 10\.77\.0\.1:\d+\) cannot "
        r"(connect to port 20\d+ of|reach) rank 1 "
        r"on node2 \(interface eth0, address 10\.77\.0\.2:\d+\).*firewall"
    )
    assert re.search(said, done.stderr), done.text


def test_a_bad_time_of_silence_is_told(start, build):
    done = start("hydra", (2, 1), build("ring.c"), variables={"TASUKI_HOST_SILENCE_SECONDS": "soon"})
    said = 'TASUKI_HOST_SILENCE_SECONDS = "soon", expected a number of seconds above 0'
    assert done.returncode != 0 and said in done.stderr, done.text


# ---- ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("launcher", JOINED)
def test_a_killed_rank_ends_the_job(start, build, launcher, shape):
    done = start(launcher, shape, build(HERE / "hello.c"), "kill")
    assert done.returncode != 0 and ": sum " in done.stdout, done.text
    assert done.seconds < SECONDS_MAX, done.text
    if launcher == "srun --mpi=pmi2":
        assert re.search(r"rank 1 (\(process \d+\)|on node2 .*) has ended without MPI_Finalize", done.stderr)


def test_an_end_is_seen_by_ranks_that_compute(start, build):
    done = start("srun --mpi=pmi2", (2, 1), build(HERE / "hello.c"), "kill-busy")
    assert done.returncode != 0 and done.seconds < SECONDS_MAX, done.text
    assert re.search(r"rank 0 of 2: rank 1 on node2 .* has ended without MPI_Finalize", done.stderr), (
        done.text
    )


@pytest.mark.parametrize("launcher", JOINED)
def test_an_abort_ends_the_job_with_its_message_and_code(start, build, launcher):
    done = start(launcher, (2, 2), build("launchers.c"), "abort")
    assert "tasuki: rank 1 of 4: MPI_Abort with code 7, called by rank 1" in done.stderr, done.text
    assert done.seconds < SECONDS_MAX, done.text
    # srun kills those that are left, and reports the highest status.
    assert done.returncode in ((7, 128 + signal.SIGKILL) if launcher.startswith("srun") else (7,)), done.text


@pytest.mark.parametrize("launcher", JOINED)
def test_a_status_after_finalize_is_the_launchers(start, build, launcher):
    # A launcher ends the others when one ends so: the second sleeps until the first one's line is out.
    done = start(launcher, (2, 1), "sh", "-c", '"$0"; sleep 1; exit 3', build("ring.c"))
    assert "ring of 2" in done.stdout and done.returncode == 3, done.text


@harness.needs("libfabric")
def test_a_host_that_falls_silent_ends_the_job(hosts, build):
    """Neither Hydra nor anything else there notices that a cable was pulled: the ranks do, on both sides."""
    places = ["-launcher", "ssh", "-launcher-exec", hosts.ssh_command, "-hosts", "node1:2,node2:2"]
    program = build(HERE / "hello.c")
    job = hosts[0].popen(
        [HYDRA, *places, "-n", "4", program, "wait"], environment={"TASUKI_HOST_SILENCE_SECONDS": "3"}
    )
    assert len([job.stdout.readline() for _ in range(4)]) == 4
    hosts.link_down(1)
    begin = time.monotonic()

    def ranks():
        return [
            words for host in hosts for words in host.processes().values() if words.startswith(str(program))
        ]

    hosts.wait_until(lambda: not ranks(), "ranks are left", SECONDS_MAX)
    assert time.monotonic() - begin < SECONDS_MAX
    job.kill()
    _, errors = job.communicate(timeout=300)
    silent = r"rank \d of 4: for 3 s nothing was heard of the host of rank 2 on node2 \(interface eth0, .*\)"
    assert re.search(silent, errors), errors
