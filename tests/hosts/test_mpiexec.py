"""Our mpiexec on several hosts: it starts ranks there, carries their output and input, and loses hosts well.

The ranks are shells here, since what they would send each other is another matter.
"""

import re
import signal

import harness
import pytest

MPIEXEC = harness.PREFIX / "bin/mpiexec"
WHERE = ["sh", "-c", "echo rank $TASUKI_RANK on $(hostname)"]
PLACES = [f"rank {rank} on node{1 + rank // 2}" for rank in range(4)]


def nothing_left(hosts):
    return all(host.leftovers() == [] for host in hosts.alive())


@pytest.mark.parametrize("way", ["ssh", "command", "host file"])
def test_ranks_start_by_ssh(hosts, way):
    options = ["--host", "node1:2,node2:2"]
    if way == "command":
        options += ["--launcher-command", hosts.ssh_command]
    elif way == "host file":
        (hosts.shared_folder / "machines").write_text("node1 slots=2\nnode2:2  # the other\n")
        options = ["--hostfile", "machines"]
    done = hosts[0].run([MPIEXEC, *options, "-n", 4, *WHERE])
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == PLACES, done.text
    assert done.stderr == "" and nothing_left(hosts), done.text


def test_an_allocation_of_slurm_says_where(cluster):
    allocate = ["salloc", "--quiet", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2"]
    done = cluster[0].run([*allocate, MPIEXEC, "-n", 4, *WHERE])
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == PLACES, done.text
    assert [host.leftovers(kinds=["process", "memfd"]) for host in cluster] == [[], [], []]


def test_input_reaches_a_rank_elsewhere(hosts):
    text = "".join(f"line {number}\n" for number in range(10000))
    say = ["sh", "-c", "cat; if [ $TASUKI_RANK = 0 ]; then hostname; fi"]
    done = hosts[0].run([MPIEXEC, "--host", "node3,node1", "-n", 2, *say], stdin=text)
    assert done.returncode == 0 and done.stdout == f"{text}node3\n", done.text[-2000:]


def test_a_host_without_tasuki_gets_it(hosts):
    hosts[1].run(["mount", "-t", "tmpfs", "none", harness.PREFIX])
    done = hosts[0].run([MPIEXEC, "--host", "node1:2,node2:2", "-n", 4, *WHERE])
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == PLACES, done.text
    assert nothing_left(hosts)


def lose_host(hosts, way):
    """Takes node2 away from a job, or what the job has there."""
    if way == "cable":
        hosts.link_down(1)
    elif way == "power":
        hosts[1].kill()
    else:
        pattern = {"sshd": r"^sshd: root@notty", "agent": r"mpiexec.*agent"}[way]
        found = [key[0] for key, words in hosts[1].processes().items() if re.search(pattern, words)]
        assert found, hosts[1].processes()
        hosts[1].run(["kill", "-9", *found])  # the first may take others of them along


@pytest.mark.parametrize("way", ["agent", "sshd", "cable", "power"])
def test_a_host_is_lost(hosts, way):
    begin = [MPIEXEC, "--host", "node1:2,node2:2", "--host-silence", 2, "-n", 4]
    job = hosts[0].popen([*begin, "sh", "-c", "echo started; exec sleep 1000"])
    assert [job.stdout.readline() for _ in range(4)] == ["started\n"] * 4
    lose_host(hosts, way)
    _, errors = job.communicate(timeout=300)
    assert job.returncode == 1 and re.search(r"host 'node2' is lost: .*; ending the job", errors), errors
    assert hosts[0].leftovers() == []
    if way == "cable":  # sshd on the other side hears of nothing, and keeps its end of the connection
        of_sshd = re.compile(r"process .* sshd: root@notty|socket tcp .* state 01|socket unix")
        hosts.wait_until(
            lambda: all(map(of_sshd.match, hosts[1].leftovers(seconds=0))), "more than sshd is left"
        )
    elif way != "power":
        assert hosts[1].leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_mpiexec_is_the_end_of_all(hosts, number):
    job = hosts[0].popen(
        [MPIEXEC, "--host", "node1:2,node2:2", "-n", 4, "sh", "-c", "echo started; exec sleep 1000"]
    )
    assert [job.stdout.readline() for _ in range(4)] == ["started\n"] * 4
    job.send_signal(number)
    job.communicate(timeout=300)
    assert job.returncode != 0 and nothing_left(hosts)


def test_a_host_that_cannot_be_reached(hosts):
    hosts[1].run(["sh", "-c", "kill $(cat /proc/1/task/1/children)"])  # its sshd
    done = hosts[0].run([MPIEXEC, "--host", "node1:2,node2:2", "-n", 4, *WHERE])
    assert (
        done.returncode == 1
        and "cannot start ranks on host 'node2': ssh ended with status 255" in done.stderr
    )
    assert "Connection refused" in done.stderr and "rank" not in done.stdout, done.text
    assert nothing_left(hosts)
