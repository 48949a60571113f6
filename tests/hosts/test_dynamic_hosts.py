"""Spawning, ports and names over several hosts: jobs that start others, and meet others, elsewhere."""

import re
import sys

import harness
import pytest
from harness import only_long
from launchers import HERE

MPIEXEC = harness.PREFIX / "bin/mpiexec"
TWO_HOSTS = ["--host", "node1:2,node2:2"]
SUITE = harness.ROOT / "build" / "mpi4py-4.1.2"


@pytest.fixture(scope="session")
def program():
    return harness.compile_program(HERE / "dynamic_hosts.c")


@pytest.fixture
def start(hosts, program):
    """start(ranks, *words, at=0) -> Done of a job on two hosts, of which nothing is left."""

    def run(ranks, *words, at=0, options=TWO_HOSTS, program=program):
        done = hosts[at].run([MPIEXEC, *options, "-n", ranks, program, *words])
        left = [hosts.leftovers(host) for host in (0, 1)]
        assert left == [[], []], f"{left}\n{done.text}"
        return done

    return run


def places(done):
    return re.findall(r"^child \d+ on (\w+)", done.stdout, re.M)


@pytest.mark.parametrize(
    ("ranks", "children", "where", "wanted"),
    [
        (1, 1, None, ["node1"]),  # one slot is left there
        (1, 3, None, ["node1", "node2", "node2"]),
        (4, 2, None, ["node1", "node1"]),  # no slot is left: as if nothing ran
        (4, 4, None, ["node1", "node1", "node2", "node2"]),
        (1, 2, "node2", ["node2", "node2"]),
        (4, 3, "node2:1,node1:2", ["node2", "node1", "node1"]),
    ],
)
def test_children_are_where_they_shall_be(start, ranks, children, where, wanted):
    done = start(ranks, "spawn", children, *([where] if where else []))
    assert done.returncode == 0 and "spawn: right" in done.stdout, done.text
    assert places(done) == wanted and "universe of 4" in done.stdout, done.text


def test_two_programs_on_two_hosts(start):
    done = start(4, "multiple", "node2", "node1")
    assert done.returncode == 0 and places(done) == ["node2", "node2", "node1"], done.text


def test_what_cannot_be_started_is_an_error_of_the_call(start):
    done = start(4, "unknown")
    assert done.returncode == 0 and places(done) == ["node2", "node2"], done.text


def test_a_host_that_cannot_be_reached_is_an_error_of_the_call(hosts, start):
    hosts[1].run(["sh", "-c", "kill $(cat /proc/1/task/1/children)"])  # its sshd
    done = start(1, "unreachable")
    assert done.returncode == 0 and places(done) == ["node1", "node1"], done.text


@pytest.mark.parametrize("what", ["spawn", "each", "multiple", "generations", "errors", "finalize-early"])
@pytest.mark.parametrize("ranks", [1, 4])
def test_what_works_on_one_host(start, ranks, what):
    done = start(ranks, what, program=harness.compile_program("dynamic.c"))
    right = "late child: right" if what == "finalize-early" else f"{what}: right"
    assert done.returncode == 0 and right in done.stdout, done.text


def test_a_name_is_found_on_the_other_host(start):
    done = start(4, "names")
    assert done.returncode == 0 and "names: right" in done.stdout, done.text


@pytest.mark.parametrize("ranks", [1, 2])
def test_two_mpiexecs_on_two_hosts_meet_by_a_port(hosts, program, ranks):
    server = hosts[0].popen([MPIEXEC, "-n", ranks, program, "serve", 2])
    port = server.stdout.readline().strip()
    for place, visitors in ((1, 2), (2, 1)):
        done = hosts[place].run([MPIEXEC, "-n", visitors, program, "visit", port])
        assert done.returncode == 0 and "visit: right" in done.stdout, done.text
    output, errors = server.communicate(timeout=300)
    assert server.returncode == 0 and "serve: right" in output, output + errors
    done = hosts[1].run([program, "visit-closed", port])
    assert done.returncode == 0 and "has ended, or that cannot be reached" in done.stdout, done.text
    assert [host.leftovers() for host in hosts] == [[]] * 3


def test_two_processes_join_over_a_socket_between_hosts(hosts, program):
    server = hosts[0].popen([MPIEXEC, "-n", 1, program, "join-serve"])
    assert server.stdout.readline() == "listening\n"
    done = hosts[1].run([MPIEXEC, "-n", 1, program, "join-visit", hosts[0].address])
    output, errors = server.communicate(timeout=300)
    assert done.returncode == 0 and server.returncode == 0, done.text + output + errors
    assert "join-visit: right" in done.stdout and "join-serve: right" in output


@harness.needs("libfabric")
def test_a_port_that_is_closed_is_an_error_of_the_call(hosts, program):
    server = hosts[0].popen([MPIEXEC, *TWO_HOSTS, "-n", 4, program, "stay"])
    port = server.stdout.readline().strip()
    number, at, place = port.partition("@")
    digit = "1" if number[-1] == "0" else "0"
    done = hosts[2].run(
        [MPIEXEC, "-n", 2, program, "visit-closed", number[:-1] + digit + at + place], timeout=300
    )
    assert done.returncode == 0 and "was closed before a process accepted" in done.stdout, done.text
    server.kill()
    server.communicate(timeout=300)


def test_a_port_behind_a_firewall_is_an_error_of_the_call(hosts, program):
    server = hosts[0].popen([MPIEXEC, "-n", 1, program, "stay"])
    port = server.stdout.readline().strip()
    hosts.firewall_new_connections(0)
    limit = {"TASUKI_NET_CONNECT_SECONDS": "2"}
    done = hosts[1].run([MPIEXEC, "-n", 2, program, "visit-closed", port], environment=limit)
    assert done.returncode == 0 and "cannot be reached" in done.stdout and "node1" in done.stdout, done.text
    server.kill()
    server.communicate(timeout=300)


def test_a_name_of_another_mpiexec_on_another_host_is_not_found_but_told(hosts):
    program = harness.compile_program("dynamic.c")
    server = hosts[0].popen([MPIEXEC, "-n", 1, program, "serve", "elsewhere", 1])
    assert server.stdout.readline() == "serving\n"
    done = hosts[1].run([MPIEXEC, "-n", 1, program, "visit", "elsewhere", 1])
    assert done.returncode != 0 and "pass the port's name itself" in done.stderr, done.text
    server.kill()
    server.communicate(timeout=300)


def test_the_death_of_one_of_another_job_is_told_and_not_waited_for(hosts, program):
    server = hosts[0].popen([MPIEXEC, "-n", 1, program, "stay"])
    port = server.stdout.readline().strip()
    done = hosts[1].run([MPIEXEC, "-n", 1, program, "visit-and-die", port])
    assert done.returncode == 137, done.text
    output, errors = server.communicate(timeout=300)
    assert server.returncode == 0 and "stay: right" in output, output + errors
    assert "rank 0 of another job" in errors and "died" in errors, errors


@harness.needs("libfabric")
def test_the_power_of_a_host_of_another_job_fails(hosts, program):
    server = hosts[0].popen(
        [MPIEXEC, "-n", 1, program, "serve-and-wait"], environment={"TASUKI_NET_CONNECT_SECONDS": "4"}
    )
    port = server.stdout.readline().strip()
    visitor = hosts[1].popen([MPIEXEC, "-n", 1, program, "visit-and-wait", port])
    assert visitor.stdout.readline() == "waiting\n"
    hosts[1].kill()
    _, errors = server.communicate(timeout=300)
    assert server.returncode == 1, errors
    assert "waits for rank 0 of another job, which has died" in errors and "node2" in errors, errors


def test_a_child_that_is_killed_ends_all(start):
    done = start(4, "wait-for-killed", "node2")
    assert done.returncode == 137 and "was killed by signal 9" in done.stderr, done.text


@pytest.mark.parametrize("parting", ["disconnect", "free"])
@pytest.mark.parametrize(("dies", "other"), [("child", "parent"), ("parent", "child")])
def test_only_what_is_connected_ends_with_a_job(start, dies, other, parting):
    """The ranks are on one host and the spawned ones on the other."""
    done = start(2, "either", dies, "abort", parting, program=harness.compile_program("strangers.c"))
    assert done.returncode == 9, done.text
    assert done.stdout == (f"{other} goes on\n" if parting == "disconnect" else ""), done.text


@harness.needs("libfabric")
@pytest.mark.parametrize("lost", [1, 2])
def test_a_host_is_lost_amid(hosts, program, lost):
    """Host 3 has children only."""
    options = ["--host", "node1:2,node2:2,node3:2", "--host-silence", 2]
    job = hosts[0].popen([MPIEXEC, *options, "-n", 4, program, "wait", "node3"])
    assert [job.stdout.readline() for _ in range(2)] == ["waiting\n"] * 2
    hosts[lost].kill()
    _, errors = job.communicate(timeout=300)
    assert job.returncode == 1 and re.search(rf"host 'node{lost + 1}' is lost: .*; ending", errors), errors
    assert [host.leftovers() for host in hosts.alive()] == [[], []]


@pytest.mark.parametrize("file", ["test_spawn", "test_dynproc"])
@pytest.mark.parametrize(
    ("where", "abi"),
    [
        ("node1:2,node2:2", "standard"),
        pytest.param("node1:2,node2:2", "mpich", marks=only_long),
        pytest.param("node1,node2,node3", "standard", marks=only_long),
    ],
)
def test_mpi4py(hosts, file, where, abi):
    python = [sys.executable, SUITE / "test" / "main.py", "-v", "--no-builddir", "-i", rf"^{file}\.py$"]
    python += [] if harness.LONG else ["-x", "Many"]  # children
    environment = {"PYTHONPATH": str(harness.ROOT / "build" / "mpi4py-abi")} if abi == "standard" else {}
    shared = f"TMPDIR={hosts.shared_folder}"  # it spawns scripts that it writes there
    words = [MPIEXEC, "--host", where, "env", shared, *python]
    done = hosts[0].run(words, environment=environment, cwd=SUITE, timeout=300)
    assert done.returncode == 0 and done.stderr.count("\nOK") >= 1, done.text[-6000:]
    assert "FAILED" not in done.stderr, done.text[-6000:]
