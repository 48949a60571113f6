"""Programs over hosts: what works on one machine works on several, with the same results.

Most of these tests are those of other folders, run once more with an mpiexec that spreads all jobs over hosts
(programs.py): mpi4py's own suite, the Intel benchmarks, LAMMPS, SPAM, files on a folder that the hosts share,
windows, sessions. `make test` runs some of each; `make test-long` all of them, over more
hosts.
"""

import sys

import harness
import pytest
from harness import only_long
from programs import OverHosts

pytestmark = harness.needs("libfabric")

PLACES = {
    "2x2": "node1:2,node2:2",
    "3x1": "node1,node2,node3",
    "4x2": "node1:2,node2:2,node3:2,node4:2",
}


@pytest.fixture
def over(make_hosts):
    """over("2x2") -> OverHosts."""

    def make(shape):
        return OverHosts(make_hosts(len(PLACES[shape].split(","))), PLACES[shape])

    return make


# ---- what MPI says of hosts ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, spec", [("2x2", "aabb"), ("3x1", "abc")])
def test_names_and_memory_are_those_of_the_host(over, shape, spec):
    here = over(shape)
    done = here.run([here.mpiexec, "-n", len(spec), harness.compile_program("nodes.c"), spec, "hosts"])
    assert done.returncode == 0 and done.stdout == "nodes: right\n", done.text


def test_hosts_may_have_different_numbers_of_processors(over):
    """The choice of an algorithm takes processors into account: all ranks must take the same ones."""
    here = over("2x2")
    # All that is started by ssh there from now on has one processor.
    one = here.hosts[1].run(
        [
            "sh",
            "-c",
            "taskset -cp $(taskset -cp 1 | sed 's/.*: //; s/[-,].*//') $(cat $0)",
            "/proc/1/task/1/children",
        ]
    )
    assert one.returncode == 0, one.text
    for ranks in (4, 8):
        done = here.run([here.mpiexec, "-n", ranks, harness.compile_program("collectives.c")])
        assert done.returncode == 0 and done.stdout == "collectives: right\n", done.text


def test_hints_of_files_name_hosts(over):
    """cb_config_list says which hosts aggregate: all ranks must know all names."""
    here = over("2x2")
    program, hints = (
        harness.compile_program("io_hints.c"),
        ["cb_config_list=node2:1", "romio_cb_write=enable"],
    )
    done = here.run([here.mpiexec, "-n", 4, program, here.folder / "file", *hints])
    assert done.returncode == 0 and "romio_aggregator_list = 2\n" in done.stdout, done.text


@pytest.mark.parametrize("shape, ranks", [("2x2", "0 2 1 3"), ("3x1", "0 1 2")])
def test_aggregators_are_one_of_each_host_in_turn(over, shape, ranks):
    """So parts of a file that follow one another go to different hosts, however the ranks lie."""
    here = over(shape)
    program = harness.compile_program("io_hints.c")
    words = [
        program,
        here.folder / "file",
        "romio_cb_write=enable",
        "romio_cb_read=enable",
        "cb_config_list=*:*",
    ]
    done = here.run([here.mpiexec, "-n", len(ranks.split()), *words])
    assert done.returncode == 0 and f"romio_aggregator_list = {ranks}\n" in done.stdout, done.text
    if shape == "2x2":
        done = here.run([here.mpiexec, "-n", 4, "--map-by", "node", *words])
        assert done.returncode == 0 and "romio_aggregator_list = 0 1 2 3\n" in done.stdout, done.text


# ---- programs of others ----------------------------------------------------------------------------------


def conformance(here, ranks, abi, files, seconds):
    """These files of mpi4py's suite."""
    run = [sys.executable, harness.ROOT / "tests/conformance/run.py", "--launcher", here.mpiexec]
    # test_rma takes and gives back a lock some ten thousand times.
    run += [
        "--timeout",
        seconds,
        "--ranks",
        ranks,
        "--abi",
        abi,
        "--out",
        here.folder / "conformance",
        *files,
    ]
    done = here.run(run, timeout=seconds)
    assert done.returncode == 0 and ", 0 failed" in done.stdout, done.text


SUITE = {
    "mpich": ["test_p2p_buf", "test_session"],
    "standard": ["test_p2p_obj", "test_cco_nb_buf", "test_file", "test_win"],
}


@pytest.mark.parametrize("abi", SUITE)
def test_some_of_mpi4pys_suite(over, abi):
    conformance(over("2x2"), 4, abi, SUITE[abi], 200)


@only_long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("abi", SUITE)
@pytest.mark.parametrize("shape, ranks", [("2x2", 4), ("3x1", 3)])
def test_all_of_mpi4pys_suite(over, shape, ranks, abi):
    files = {path.stem for path in (harness.ROOT / "build/mpi4py-4.1.2/test").glob("test_*.py")}
    # Jobs that meet: tests/hosts/test_dynamic_hosts.py.
    conformance(over(shape), ranks, abi, sorted(files - {"test_spawn", "test_dynproc"}), 3500)


# Each runs in a pytest of its own on the first host: the files, and words that choose among their tests.
QUICK = {
    "lammps": ("tests/programs/test_lammps.py", "-k", "4"),
    "spam": ("tests/spam/test_choices.py", "tests/spam/test_halo.py", "-k", "4"),
    "file pointers": ("tests/ranks/test_files.py", "-k", "4"),
    "windows": ("tests/ranks/test_windows.py", "-k", "over_nodes and 4-2 or share_no_memory and private-4-2"),
    "ranks": (
        "tests/ranks/test_sessions.py",
        "tests/ranks/test_requests.py",
        "tests/ranks/test_corners.py",
        "-k",
        "4",
    ),
}
# These look at one machine: at memory that all ranks share, /dev/shm, names of virtual nodes, processes that
# mpiexec has itself.
ONE_MACHINE = """
test_on_one_node_nothing_is_asked_for test_random_views_in_memory test_right_programs_are_left_alone
test_a_rank_whose_heap_is_private_reaches test_a_config_list_names_nodes test_in_a_spawned_world
mpi_t-
"""
NOT_THOSE = ("-k", f"not ({' or '.join(ONE_MACHINE.split())})")
RANKS = """
abort algorithms arrays basics budget checks compare corners directory explain file_exchange file_owners files
heap_children heap_rules heap_statics info initial_errhandler io_hints mixture mpi_t outcomes profiling
refused requests sessions statistics symmetric_heap threads tuning
"""
PROPERTY = "collectives communicators datatypes files large_counts messages"
WINDOWS = "over_nodes or share_no_memory or attached or adjoining"
ALL = {
    "imb": ("tests/programs/test_imb.py",),
    "lammps": ("tests/programs/test_lammps.py",),
    "spam": ("tests/spam",),
    # Not all of its collectives: it begins each sample by clocks, and its ranks spin until then, where all
    # hosts share the processors.
    "mbl": ("tests/suite/test_mbl_program.py",),
    "stress": ("tests/stress", "-k", "not nodes"),
    "property": (*(f"tests/property/test_{name}.py" for name in PROPERTY.split()), *NOT_THOSE),
    "windows": ("tests/ranks/test_windows.py", "tests/ranks/test_accumulates.py", "-k", WINDOWS),
    "nodes": ("tests/ranks/test_nodes.py", "-k", "test_programs_over_nodes or two_copies"),
    "ranks": (*(f"tests/ranks/test_{name}.py" for name in RANKS.split()), *NOT_THOSE),
}


# Random messages with checksums between two hosts: by each provider, each way in turn. shm reaches no other
# host (tests/ranks/test_fabric.py has it).
LONG_ONES = {
    "TASUKI_NET_COPY_BYTES_MIN": 1,
    "TASUKI_EAGER_BYTES_MAX": 0,
    "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN": 1,
}
ASKED = LONG_ONES | {"TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "off"}
WRITTEN = ": sender-write: into the buffer of a receive that was advertised, the network copies"
STRESS_WAYS = {
    "write": (LONG_ONES, WRITTEN),
    "get": (ASKED, ": get: the receiver has the network copy"),
    "put": (ASKED | {"TASUKI_PROTOCOL_GET": "off"}, ": put: the sender has the network copy"),
    "eager": ({"TASUKI_EAGER_BYTES_MAX": "1G"}, ": eager: at once in packets"),
    "packets": ({"TASUKI_EAGER_BYTES_MAX": 0}, ": two-copy: in packets, as the receiver is ready"),
    # Parts, told of in another way than the provider's first.
    "parts": (LONG_ONES | {"TASUKI_NET_COPY_BYTES_MAX": "10k", "TASUKI_NET_TELL": "delivery"}, WRITTEN),
}
STRESS_PROVIDERS = {
    "tcp": {},
    "tcp;ofi_rxm": {},
    "tcp;ofi_rxm with atomics": {"TASUKI_NET_ATOMICS": 1},
}
STRESS_SAMPLE = [("tcp", "write"), ("tcp;ofi_rxm with atomics", "parts"), ("tcp", "eager")]


@pytest.mark.parametrize(
    ("provider", "way"),
    [
        pytest.param(provider, way, marks=[] if (provider, way) in STRESS_SAMPLE else only_long)
        for provider in STRESS_PROVIDERS
        for way in STRESS_WAYS
    ],
)
def test_random_messages_between_hosts(make_hosts, provider, way):
    here = OverHosts(make_hosts(2), "node1,node2")
    settings, told = STRESS_WAYS[way]
    name = provider.removesuffix(" with atomics")
    environment = {"TASUKI_NET_PROVIDER": name, "TASUKI_EXPLAIN": "all"}
    environment |= settings | STRESS_PROVIDERS[provider]
    seconds = 10 if harness.LONG else 1
    words = [here.mpiexec, "-n", 2, harness.compile_stress(), 1, 1_000_000, seconds, 1, 1 << 20, 0]
    done = here.run(words, environment=environment, timeout=3 * seconds + 80)
    assert done.returncode == 0 and done.stdout.count("right: ") == 1, done.text
    assert f"provider {name} " in done.stderr.replace("net 1", "tcp 1") and told in done.stderr, done.text


@pytest.mark.parametrize("what", QUICK)
def test_some_programs(over, what):
    over("2x2").pytest(*QUICK[what])


@only_long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shape, what", [("4x2", what) for what in ALL] + [("3x1", "imb"), ("3x1", "spam")])
def test_all_programs(over, shape, what):
    over(shape).pytest(*ALL[what], seconds=3500)
