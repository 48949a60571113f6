"""The network between hosts when a job starts: what does not work is told in one sentence, before the program
runs, and the job is over on all hosts; what strangers send to a job's ports does no harm."""

import re
import time

import harness
import pytest
from launchers import HERE

pytestmark = harness.needs("libfabric")

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


# ----- strangers --------------------------------------------------------------------------------------------

# Writes what is sent to TCP ports above 1023 of this host to a folder, a file for each connection, until
# standard input ends.
CAPTURE = """
import collections, select, socket, sys
line = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
print("ready", flush=True)
streams = collections.defaultdict(dict)
while True:
    ready, _, _ = select.select([line, sys.stdin], [], [])
    if line in ready:
        data = line.recv(1 << 17)
        ip = data[: int.from_bytes(data[2:4], "big")]
        tcp = ip[(ip[0] & 15) * 4 :]
        body = tcp[(tcp[12] >> 4) * 4 :]
        ports = int.from_bytes(tcp[:2], "big"), int.from_bytes(tcp[2:4], "big")
        if ip[9] == 6 and min(ports) > 1023 and body:
            streams[ip[12:20] + tcp[:4]][int.from_bytes(tcp[4:8], "big")] = body
    elif not sys.stdin.read(1):
        break
for number, parts in enumerate(streams.values()):
    with open(f"{sys.argv[1]}/stream.{number}", "wb") as file:
        file.write(b"".join(parts[place] for place in sorted(parts)))
print(len(streams), flush=True)
"""
# Sends each port what nobody of the job would: PLACES WAY [FOLDER].
STRANGER = """
import os, pathlib, random, socket, sys, time
places = [(host, int(port)) for host, port in (place.rsplit(":", 1) for place in sys.argv[1].split(","))]
way, kept, refused = sys.argv[2], [], 0
generator = random.Random(1)
def send(place, data):
    global refused
    line = socket.create_connection(place, timeout=5)
    kept.append(line)
    try:
        line.sendall(data)
    except OSError:
        refused += 1
for place in places:
    if way == "silence":
        for _ in range(50):
            send(place, b"")
    elif way == "garbage":
        for _ in range(50):
            send(place, generator.randbytes(generator.choice([1, 8, 300, 70000])))
    elif way == "much":
        send(place, bytes(8) + generator.randbytes(1 << 20) * 32)
    elif way == "copy":
        for path in pathlib.Path(sys.argv[3]).glob("stream.*"):
            send(place, path.read_bytes())
print(f"sent {len(kept)}, refused {refused}", flush=True)
time.sleep(1)
"""


def ports_of(hosts, program):
    """Where ranks listen: host's address and port; nowhere else than on the interface that was chosen."""
    found = []
    for host in hosts:
        done = host.run(["ss", "-H", "-ltnp"])
        lines = [line.split() for line in done.stdout.splitlines() if program.name[:15] in line]
        assert all(line[3].startswith(f"{host.address}:") for line in lines), done.text
        found += [line[3] for line in lines]
    return found


@pytest.fixture(scope="session")
def traffic():
    return harness.compile_program(HERE / "traffic.c")


def start_traffic(hosts, traffic, seconds):
    words = [MPIEXEC, "--host", "node1:2,node2:2", traffic, "for", seconds]
    running = hosts[0].popen(words)
    assert running.stdout.readline() == "running\n", running.communicate(timeout=300)
    return running


@pytest.mark.parametrize("way", ["silence", "garbage", "much", "copy"])
def test_a_stranger_does_no_harm(hosts, hello, traffic, way):
    """From a third host to each port of a job that runs: messages go on and are right, and it ends well."""
    folder = hosts.shared_folder / "copied"
    folder.mkdir()
    if way == "copy":  # of all that the ranks of another job on the same hosts have sent each other
        capture = hosts[0].popen(["python3", "-c", CAPTURE, folder])
        assert capture.stdout.readline() == "ready\n"
        assert job(hosts, hello).returncode == 0
        count, errors = capture.communicate(timeout=300)
        assert int(count) >= 4 and any(path.stat().st_size > 100 for path in folder.iterdir()), errors
    running = start_traffic(hosts, traffic, 4)
    places = ports_of(hosts, traffic)
    assert len(places) == 4
    done = hosts[2].run(["python3", "-c", STRANGER, ",".join(places), way, folder])
    assert done.returncode == 0 and done.stdout.startswith("sent "), done.text
    out, errors = running.communicate(timeout=300)
    assert running.returncode == 0 and out == "", (done.text, errors)
    told = [
        line
        for line in errors.splitlines()
        if "that no rank of this job has sent; it was dropped" not in line
    ]
    assert told == [] and len(errors.splitlines()) <= 4, errors
    assert [host.leftovers() for host in hosts] == [[]] * 3


def test_the_secret_is_nowhere_to_be_read(hosts, traffic):
    """It is in the memory of the job: on no command line, in no environment and in no file with a name."""
    running = start_traffic(hosts, traffic, 1000)
    ranks = [
        key[0]
        for key, words in hosts[0].processes().items()
        if "/traffic-" in words and "--host" not in words
    ]
    memory = (hosts[0].root / f"proc/{ranks[0]}/fd/200").open("rb").read(1 << 20)
    secret = re.search(rb"network_secret([0-9a-f]{32})", memory)[1]
    for host in hosts:
        for path in [
            *(host.root / "proc").glob("[0-9]*/cmdline"),
            *(host.root / "proc").glob("[0-9]*/environ"),
        ]:
            assert secret not in path.read_bytes(), path
        find = ["find", "/tmp", "/dev/shm", "/run", "-xdev", "-type", "f"]
        done = host.run([*find, "-exec", "grep", "-l", secret.decode(), "{}", "+"])
        assert done.stdout == "", done.text
    running.terminate()
    running.communicate(timeout=300)
