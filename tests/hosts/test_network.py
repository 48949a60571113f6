"""The network between hosts when a job starts: what does not work is told in one sentence, before the program
runs, and the job is over on all hosts; what strangers send to a job's ports does no harm."""

import re
import time

import harness
import pytest
from launchers import HERE

MPIEXEC = harness.PREFIX / "bin/mpiexec"
SECONDS = {"TASUKI_NET_CONNECT_SECONDS": 2}
END = r"\(interface (\w+), address ([\d.]+):(\d+)\)"


@pytest.fixture(scope="session")
def hello():
    return harness.compile_program(HERE / "hello.c")


def job(hosts, program, places="node1:2,node2:2", environment=None, **how):
    return hosts[0].run([MPIEXEC, "--host", places, program], environment=environment, **how)


def expect_one_sentence(hosts, done, pattern):
    """One line, of one rank; no rank has come out of MPI_Init; nothing is left."""
    assert done.returncode == 1 and done.stdout == "", done.text
    lines = [line for line in done.stderr.splitlines() if "rank" in line]
    assert len(lines) == 1, done.text
    found = re.search(pattern, lines[0])
    assert found, done.text
    assert [host.leftovers() for host in hosts] == [[]] * len(hosts)
    return found


@pytest.mark.parametrize("index", [0, 1])
def test_a_firewall_that_drops_is_named_with_the_direction(hosts, hello, index):
    """Connections to that host are not answered; those from it are."""
    hosts.firewall_new_connections(index)
    begin = time.monotonic()
    done = job(hosts, hello, environment=SECONDS)
    assert time.monotonic() - begin < 30  # far more than it takes, and less than TCP's own patience
    there, here = hosts[index], hosts[1 - index]
    pattern = rf"MPI_Init: a connection from rank \d on {here.name} {END} to rank \d on {there.name} {END} "
    found = expect_one_sentence(
        hosts, done, pattern + r"does not come about: no answer within 1 s; .*firewall"
    )
    assert found[1] == found[4] == "eth0" and (found[2], found[5]) == (here.address, there.address)
    assert int(found[3]) > 0 and int(found[6]) > 0


def test_a_firewall_that_refuses(hosts, hello):
    """Systems refuse a few times a second only, so it may look as if there was no answer."""
    hosts.refuse_new_connections(1)
    done = job(hosts, hello, environment=SECONDS)
    expect_one_sentence(hosts, done, rf"to rank 2 on node2 {END} does not come about: (No route|no answer)")


@pytest.mark.parametrize("way", ["silent", "no route"])
def test_a_wrong_interface(hosts, hello, way):
    for index in (0, 1):
        third, mask = (0, 24) if way == "silent" else (index, 30)
        hosts.add_interface(index, "wrong0", f"10.88.{third}.{index + 1}/{mask}")
    done = job(hosts, hello, environment={**SECONDS, "TASUKI_NET_INTERFACE": "wrong0"})
    found = expect_one_sentence(
        hosts, done, rf"from rank \d on node\d {END} to rank \d on node\d {END} does not"
    )
    assert found[1] == found[4] == "wrong0" and "TASUKI_NET_INTERFACE" in done.stderr


def test_the_trial_can_be_left_out(hosts, hello):
    """Then the first message tells, later; and a network that works is not harmed by it."""
    done = job(hosts, hello, environment={"TASUKI_NET_PROBE": 0})
    assert done.returncode == 0 and done.stdout.count("sum 10") == 4, done.text
    hosts.firewall_new_connections(1)
    done = job(hosts, hello, environment={**SECONDS, "TASUKI_NET_PROBE": 0})
    assert done.returncode == 1 and "does not come about" not in done.stderr, done.text
    assert re.search(rf"cannot reach rank \d on node2 {END} by ", done.stderr), done.text


def test_hosts_in_a_ring(make_hosts, hello):
    """Each host is tried by its neighbours: the third of four cannot be reached."""
    hosts = make_hosts(4)
    places = ",".join(host.name for host in hosts)
    done = job(hosts, hello, places)
    assert done.returncode == 0 and done.stdout.count("sum 10") == 4, done.text
    hosts.firewall_new_connections(2)
    done = job(hosts, hello, places, environment=SECONDS)
    expect_one_sentence(
        hosts, done, rf"from rank (1 on node2|3 on node4) {END} to rank 2 on node3 {END} does not"
    )


def test_hosts_with_different_providers_are_refused_by_name(hosts, hello):
    words = ["-n", 1, "-x", "TASUKI_NET_PROVIDER=tcp", hello, ":", "-n", 1, "-x"]
    words += ["TASUKI_NET_PROVIDER=tcp;ofi_rxm", hello]
    done = hosts[0].run([MPIEXEC, "--host", "node1,node2", *words])
    expect_one_sentence(
        hosts, done, rf"rank \d on node\d {END} speaks libfabric's \S+ \S+ and rank \d on node\d"
    )
