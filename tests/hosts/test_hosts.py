"""The hosts that tests run on: what each has for itself, what fails when it shall; and nothing is left."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import harness
import hosts as library
import pytest

# Answers each line on a connection to port 5000 with the same.
ECHO = """
import socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)
socketserver.ThreadingTCPServer.allow_reuse_address = True
with socketserver.ThreadingTCPServer(("", 5000), Handler) as server:
    print("ready", flush=True)
    server.serve_forever()
"""
# Says what becomes of each line of standard input, sent there and back on one connection.
CLIENT = """
import socket, sys
line = socket.create_connection((sys.argv[1], 5000), timeout=1)
print("connected", flush=True)
for word in sys.stdin:
    line.sendall(word.encode())
    try:
        print(line.recv(100).decode().strip() or "the end", flush=True)
    except TimeoutError:
        print("silence", flush=True)
"""
# Counts the datagrams that came to port 5000, when standard input has a line.
COUNT = """
import socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", 5000))
line.setblocking(False)
print("ready", flush=True)
for _ in sys.stdin:
    count = 0
    try:
        while line.recv(100):
            count += 1
    except BlockingIOError:
        print(count, flush=True)
"""
SEND = """
import socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(200):
    line.sendto(b"datagram", (sys.argv[1], 5000))
"""


def said(host, *words):
    done = host.run(words)
    assert done.returncode == 0, done.text
    return done.stdout.strip()


def start(host, program, *arguments):
    """A program in Python on a host, that has said its first word."""
    process = host.popen(["python3", "-c", program, *arguments])
    assert process.stdout.readline(), process.communicate()
    return process


def ask(process, word):
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def ssh_works(host, name):
    return host.run(["ssh", "-o", "ConnectTimeout=1", name, "true"]).returncode == 0


def test_a_host_has_a_name_and_folders_and_memory_of_its_own(hosts):
    commands = {
        "hostname": ["hostname"],
        "address": ["sh", "-c", "ip -br -4 addr show eth0; ls /sys/class/net"],
        "boot_id": ["cat", "/proc/sys/kernel/random/boot_id"],
        "files": [
            "sh",
            "-c",
            "for d in /tmp /run /dev/shm; do ls $d/*.mark 2>/dev/null; touch $d/$(hostname).mark; done",
        ],
        "memory": ["sh", "-c", "ipcmk --shmem 4096 >/dev/null; ipcs --shmems | grep -c 0x"],
    }
    answers = {name: [said(host, *words) for host in hosts] for name, words in commands.items()}
    assert answers["hostname"] == ["node1", "node2", "node3"]
    assert len(set(answers["boot_id"])) == len(set(answers["address"])) == 3
    assert all("eth0" in text and "br0" not in text for text in answers["address"])
    assert answers["files"] == [""] * 3 and answers["memory"] == ["1"] * 3
    own = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert own not in answers["boot_id"]


def test_hosts_share_files_and_root_s_home(hosts):
    (hosts.shared_folder / "here").write_text("from the test")
    assert said(hosts[1], "cat", hosts.shared_folder / "here") == "from the test"
    assert said(hosts[2], "pwd") == str(hosts.shared_folder)
    said(hosts[0], "sh", "-c", "echo kept > ~/note")
    assert said(hosts[2], "sh", "-c", "cat ~/note; ls -A ~ | wc -l") == "kept\n2"
    for path in (harness.ROOT / "Makefile", harness.PREFIX, sys.executable):
        assert hosts[0].run(["test", "-e", path]).returncode == 0, path


def test_hosts_reach_each_other_by_ssh(hosts):
    for command in ("ssh", hosts.ssh_command):
        for number in (1, 2, 3):
            assert said(hosts[0], command, f"node{number}", "hostname") == f"node{number}"
    assert said(hosts[1], "ssh", hosts[2].address, "ssh node1 hostname") == "node1"


def test_a_command_has_its_environment_input_and_folder(hosts):
    done = hosts[0].run(
        ["sh", "-c", "echo $WORD $HOME $TMPDIR; pwd; cat; echo wrong >&2; exit 3"],
        environment={"WORD": "given"},
        stdin="from the test\n",
        cwd="/usr",
    )
    assert done.stdout == f"given {library.HOME} /tmp\n/usr\nfrom the test\n", done.text
    assert done.stderr == "wrong\n" and done.returncode == 3, done.text


def test_a_signal_reaches_the_command(hosts):
    process = hosts[1].popen(
        ["sh", "-c", "trap 'echo heard; exit 3' TERM; echo ready; while :; do sleep 0.1; done"]
    )
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.communicate(timeout=300) == ("heard\n", "") and process.returncode == 3
    process = hosts[1].popen(["sleep", "1000"])
    process.kill()
    process.wait(20)
    assert hosts.leftovers(1) == []


def test_what_takes_too_long_ends_on_all_hosts(hosts):
    script = "setsid sleep 1000 >/dev/null 2>&1 & ssh node2 'setsid sleep 1001 & sleep 1002'"
    with pytest.raises(pytest.fail.Exception, match="did not end within 2 s"):
        hosts[0].run(["sh", "-c", script], timeout=2)
    assert [hosts.leftovers(host) for host in range(3)] == [[], [], []]


def test_leftovers_of_every_kind_are_seen(hosts):
    assert hosts.leftovers(1) == []
    hold = """
import os, socket, time
memory = os.memfd_create("forgotten")
listening = socket.create_server(("", 5000))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind(chr(0) + "nameless")
print("ready", flush=True)
time.sleep(1000)
"""
    process = start(hosts[1], hold)
    said(hosts[1], "sh", "-c", "mkdir /tmp/folder; touch /dev/shm/memory")
    left = hosts.leftovers(1, seconds=0)
    kinds = [line.split()[0] for line in left]
    assert kinds == ["file", "file", "memfd", "process", "socket", "socket"], left
    for word in (
        "/tmp/folder",
        "/dev/shm/memory",
        "/memfd:forgotten",
        "python3 -c",
        "tcp 00000000:1388",
        "@nameless",
    ):
        assert sum(word in line for line in left) == 1, (word, left)
    assert hosts.leftovers(0) == hosts.leftovers(2) == []
    hosts.kill_started()
    process.wait(20)
    assert [line.split()[0] for line in hosts.leftovers(1, seconds=0)] == ["file", "file"]
    hosts.mark()
    assert hosts.leftovers(1) == []


def test_a_link_is_down_and_up_again(hosts):
    start(hosts[1], ECHO)
    client = start(hosts[0], CLIENT, "node2")
    assert ask(client, "one") == "one"
    hosts.link_down(1)
    assert ask(client, "two") == "silence"
    assert not ssh_works(hosts[0], "node2") and ssh_works(hosts[0], "node3")
    hosts.link_up(1)
    hosts.wait_until(lambda: ssh_works(hosts[0], "node2"), "node2 is not reached")


def test_a_firewall_drops_new_connections_only(hosts):
    start(hosts[1], ECHO)
    client = start(hosts[0], CLIENT, "node2")
    hosts.firewall_new_connections(1)
    assert ask(client, "one") == "one"
    done = hosts[0].run(["python3", "-c", CLIENT, "node2"])
    assert "TimeoutError" in done.stderr and done.stdout == "", done.text
    assert ssh_works(hosts[0], "node2")
    assert ask(start(hosts[1], CLIENT, "node2"), "to itself") == "to itself"
    hosts.open_network(1)
    assert ask(start(hosts[0], CLIENT, "node2"), "two") == "two"


def test_packets_are_lost(hosts):
    counter = start(hosts[1], COUNT)
    said(hosts[0], "python3", "-c", SEND, "node2")
    assert ask(counter, "how many") == "200"
    hosts.lose(1, 50)
    said(hosts[0], "python3", "-c", SEND, "node2")
    assert 40 < int(ask(counter, "how many")) < 160


def test_a_killed_host_falls_silent(hosts):
    server = start(hosts[1], ECHO)
    client = start(hosts[0], CLIENT, "node2")
    assert ask(client, "one") == "one"
    hosts[1].kill()
    assert ask(client, "two") == "silence"
    assert server.wait(20) != 0
    assert hosts.alive() == [hosts[0], hosts[2]] and not ssh_works(hosts[0], "node2")


def test_several_runs_side_by_side(make_hosts):
    """They have the same names and addresses, and nothing to do with each other."""
    first, second = make_hosts(2), make_hosts(4)
    first.link_down(1)
    assert said(second[0], "ssh", "node2", "hostname") == "node2"
    assert said(second[0], "ssh", "node4", "hostname") == "node4"
    assert not ssh_works(first[0], "node2")


# ---- nothing is left ----

VICTIM = """
import sys
sys.path[:0] = sys.argv[1:]
from hosts import Hosts
with Hosts(2) as hosts:
    hosts[0].popen(["setsid", "sleep", "1000"])
    hosts[0].run(["ssh", "node2", "setsid sleep 1000 >/dev/null 2>&1 </dev/null & mount -t tmpfs none /mnt"])
    print(hosts.folder, hosts.switch_pid, *(host.pid for host in hosts), flush=True)
    word = sys.stdin.readline()
    assert word != "fail\\n"
"""


def in_namespaces(namespaces):
    """The processes that have one of these namespaces, each by its link in /proc/PID/ns."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            links = {os.readlink(path / "ns" / kind) for kind in ("pid", "net", "mnt")}
            found += [path.name] if links & namespaces else []
        except OSError:
            continue
    return found


def named(folder):
    """Processes and mounts of any namespace in which the folder of a run appears."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words, mounts = (path / "cmdline").read_text(), (path / "mountinfo").read_text()
            found += [path.name] if str(folder) in words + mounts else []
        except OSError:
            continue
    return found


def machine():
    """What a run could leave on the machine: interfaces, named namespaces, mounts."""
    links, names = (
        subprocess.run(words, capture_output=True, text=True)
        for words in (["ip", "-o", "link"], ["ip", "netns", "list"])
    )
    return {
        *re.findall(r"^\d+: ([^:@]+)", links.stdout, re.M),
        *names.stdout.splitlines(),
        *pathlib.Path("/proc/self/mountinfo").read_text().splitlines(),
    }


@pytest.mark.parametrize("way", ["ends", "fails", "killed", "interrupted", "room killed"])
def test_nothing_is_left(hosts, way):
    """However the process ends that made hosts: a process that adopts what outlives it would see that."""
    before = machine()
    folders = [library.HERE, harness.HERE]
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, *folders],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
    )
    folder, *pids = victim.stdout.readline().split()
    namespaces = {os.readlink(f"/proc/{pid}/ns/{kind}") for pid in pids for kind in ("pid", "net", "mnt")}
    # Three first processes, two sshd, two that sleep, and the processes outside.
    assert len(in_namespaces(namespaces)) >= 7 and len(named(folder)) >= 8 and pathlib.Path(folder).exists()
    if way == "killed":
        victim.kill()
    elif way == "interrupted":
        victim.send_signal(signal.SIGINT)
    elif way == "room killed":
        os.kill(int(pids[0]), signal.SIGKILL)
    victim.communicate("fail\n" if way == "fails" else "end\n", timeout=300)
    assert (victim.returncode == 0) == (way in ("ends", "room killed"))
    hosts.wait_until(
        lambda: not in_namespaces(namespaces) and not named(folder), "processes or mounts are left"
    )
    hosts.wait_until(lambda: not pathlib.Path(folder).exists(), "files are left")
    assert machine() - before == set()
    assert said(hosts[0], "ssh", "node2", "hostname") == "node2"


def test_close_leaves_no_zombie(make_hosts):
    hosts = make_hosts(2)
    hosts[0].popen(["sleep", "1000"])
    hosts[1].popen(["true"])
    hosts.close()
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [pid for pid in children if pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"] == []
    assert not hosts.folder.exists()


def test_where_there_can_be_none_the_reason_is_said(hosts, monkeypatch):
    make = "import sys; sys.path[:0] = sys.argv[1:]; from hosts import Hosts; Hosts(2)"
    words = ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", make, library.HERE, harness.HERE]
    done = harness.run_command(*words)
    assert re.search(r"CannotError: cannot: unshare.*Operation not permitted", done.stderr), done.text
    monkeypatch.setattr(library, "NEEDED", ("nft", "no-such-program"))
    assert library.why_not() == "not installed: no-such-program (tools/packages-debian.txt)"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert library.why_not() == "hosts need root, and this is user 1000"
