"""Hosts of a test: network namespaces that know each other by name, made in a second, gone at the end.

    hosts = Hosts(3)                      # in tests: the fixture `hosts`, or make_hosts(2)
    done = hosts[0].run(["ssh", "node2", "hostname"])        # Done, as of the rank tests' harness
    process = hosts[1].popen(["sleep", "100"])               # a subprocess.Popen
    hosts.link_down(1)                    # or firewall_new_connections, lose; hosts[1].kill(): the whole host
    assert hosts.leftovers(0) == []       # processes, memfds, sockets, files that were not there before

A host has its own: name (node1 …), address (10.77.0.1 …) and interfaces, processes, System V and POSIX IPC,
/tmp, /run, /dev/shm, /sys (its interfaces), boot_id; and an sshd as Debian sets it up, for root, by key.
Hosts share: all other files, hence this repository, build/prefix, build/peers; `hosts.shared_folder`; root's
home, which is empty but for .ssh, as in a cluster; memory, processors and the clock. pytest's tmp_path is in
/tmp: hosts do not see it.

The process that runs the tests is on none of them: it starts commands there by nsenter. Hosts of one Hosts
reach each other and nobody else, so all may have the same addresses. They need root. All ends with the
process that made them, also when that is killed: see room.py. One thread uses a Hosts.
"""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import harness
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = harness.ROOT / "build"
RUNS = BUILD / "hosts"
START_SECONDS_MAX = 60
NEEDED = ("ip", "nft", "nsenter", "ssh", "ssh-keygen", "/usr/sbin/sshd")
KINDS = ("process", "memfd", "socket", "file")
HOME = pwd.getpwuid(0).pw_dir
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # su may leave out where ip and sshd are

SSHD_CONFIG = """\
Port 22
ListenAddress 0.0.0.0
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/home/.ssh/authorized_keys
PermitRootLogin yes
PasswordAuthentication no
StrictModes no
UsePAM no
PrintMotd no
PidFile none
"""
# The key exchange is the one that takes the least processor time.
SSH_CONFIG = """\
IdentityFile {folder}/home/.ssh/id_ed25519
UserKnownHostsFile {folder}/home/.ssh/known_hosts
BatchMode yes
KexAlgorithms curve25519-sha256
LogLevel ERROR
User root
"""


class CannotError(Exception):
    """This machine has no hosts to offer; the text says why."""


def why_not():
    """What this machine lacks, or None."""
    if os.geteuid() != 0:
        return f"hosts need root, and this is user {os.geteuid()}"
    missing = [name for name in NEEDED if not shutil.which(name, path=PATH)]
    return f"not installed: {', '.join(missing)} (tools/packages-debian.txt)" if missing else None


def kept_folders():
    """What hosts see although it may lie in a folder that each has for itself, such as /tmp."""
    folders = [harness.ROOT, harness.PREFIX, pathlib.Path(sys.base_prefix), *BUILD.iterdir()]
    folders = {folder.resolve() for folder in folders if folder.is_dir()}
    return sorted(folder for folder in folders if not folder.is_relative_to(harness.ROOT)) + [harness.ROOT]


def write_keys(folder, count):
    """The keys of this run, and what ssh and sshd need to know about them."""
    ssh = folder / "home" / ".ssh"
    ssh.mkdir(parents=True, mode=0o700)
    for key in (folder / "host_key", ssh / "id_ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key], check=True)
    shutil.copy(ssh / "id_ed25519.pub", ssh / "authorized_keys")
    (ssh / "known_hosts").write_text("* " + (folder / "host_key.pub").read_text())
    (ssh / "config").write_text(SSH_CONFIG.format(folder=folder))
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    names = "".join(f"10.77.0.{number}\tnode{number}\n" for number in range(1, count + 1))
    (folder / "hosts").write_text(f"127.0.0.1\tlocalhost\n{names}")
    command = folder / "ssh-between-hosts"
    command.write_text(f'#!/bin/sh\nexec ssh -F {ssh}/config "$@"\n')
    command.chmod(0o755)


class Command(subprocess.Popen):
    """A command on a host. What subprocess knows is nsenter, which waits for it, signals go on to it."""

    def send_signal(self, number):
        end = time.monotonic() + 10
        while self.poll() is None and time.monotonic() < end:
            children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            if children:
                os.kill(int(children[0]), number)
                return
            time.sleep(0.002)


class Host:
    def __init__(self, hosts, index, pid):
        self.hosts, self.index, self.pid = hosts, index, pid
        self.name, self.address = f"node{index + 1}", f"10.77.0.{index + 1}"
        self.root = pathlib.Path(f"/proc/{pid}/root")
        self.before = set()

    def _words(self, words, cwd):
        place = cwd or self.hosts.shared_folder
        return ["nsenter", "-t", str(self.pid), "-a", f"--wdns={place}", "--", *map(str, words)]

    def _environment(self, extra):
        own = {"HOME": HOME, "PATH": PATH, "TMPDIR": "/tmp", "HOSTNAME": self.name}
        return {**own, **(extra or {})}

    def run(self, words, timeout=harness.RUN_SECONDS_MAX, environment=None, stdin="", cwd=None):
        """Runs a command to its end, in the shared folder unless told otherwise: Done. When it takes longer
        than `timeout` seconds, the test fails, and everything that was started on any host is killed."""
        words, environment = self._words(words, cwd), self._environment(environment)
        try:
            return harness.run_command(*words, timeout=timeout, environment=environment, stdin=stdin)
        except pytest.fail.Exception:
            self.hosts.kill_started()
            raise

    def popen(self, words, environment=None, cwd=None, **how):
        """Starts a command. It ends with the host at the latest."""
        streams = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        how = {**streams, "text": True, "errors": "replace", "start_new_session": True, **how}
        environment = harness.clean_environment(self._environment(environment))
        process = Command(self._words(words, cwd), env=environment, **how)
        self.hosts.commands.append(process)
        return process

    def kill(self):
        """The whole host goes, as when its power fails: nobody hears an end of its connections."""
        self.hosts.link_down(self.index)
        os.kill(self.pid, signal.SIGKILL)
        self.hosts.wait_until(lambda: not self.is_alive(), f"{self.name} is still there")

    def is_alive(self):
        try:
            return (
                pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
            )
        except (FileNotFoundError, ProcessLookupError):
            return False

    def processes(self):
        """{(process id on this host, time of its start): its command}, without zombies."""
        found = {}
        for path in (self.root / "proc").glob("[0-9]*"):
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                words = (path / "cmdline").read_text(errors="replace").split("\0")
                if fields[0] not in "ZX":
                    found[int(path.name), int(fields[19])] = " ".join(words).strip()
            except OSError:
                continue
        return found

    def _memfds(self):
        """(process id, time of its start, memfd that it has open or mapped) for each."""
        for pid, start in self.processes():
            path = self.root / "proc" / str(pid)
            try:
                links = [os.readlink(link) for link in (path / "fd").iterdir()]
                maps = (path / "maps").read_text(errors="replace").splitlines()
            except OSError:
                continue
            names = {link for link in links if link.startswith("/memfd:")}
            names |= {"/memfd:" + line.partition("/memfd:")[2] for line in maps if "/memfd:" in line}
            yield from ((pid, start, name) for name in names)

    def _sockets(self):
        """Sockets with a name or a peer: of TCP and UDP, by addresses and state, and of the UNIX domain."""
        network = self.root / "proc" / "1" / "net"
        for kind in ("tcp", "tcp6", "udp", "udp6"):
            for line in (network / kind).read_text().splitlines()[1:]:
                _, ours, theirs, state, _, _, _, _, _, inode, *_ = line.split()
                if inode != "0":  # else no process has it: the kernel is about to end the connection
                    yield "socket", kind, f"{ours} to {theirs}, state {state}"
        for line in (network / "unix").read_text().splitlines()[1:]:
            fields = line.split()
            if len(fields) > 7:
                yield "socket", "unix", fields[7]

    def _files(self):
        for folder in ("tmp", "dev/shm"):
            for place, folders, names in os.walk(self.root / folder):
                place = pathlib.Path(place)
                device = place.lstat().st_dev  # no further than this file system
                folders[:] = [name for name in folders if (place / name).lstat().st_dev == device]
                yield from (("file", f"/{(place / name).relative_to(self.root)}") for name in folders + names)

    def present(self):
        """What could be left over, each as a tuple that stays the same while the thing lasts."""
        processes = {("process", *key, command) for key, command in self.processes().items()}
        memfds = {("memfd", *rest) for rest in self._memfds()}
        return processes | memfds | set(self._sockets()) | set(self._files())

    def leftovers(self, kinds=KINDS, seconds=60):
        """What is there and was not when mark() was called last, a line each. Waits so long for it to go."""
        end = time.monotonic() + seconds
        while left := {item for item in self.present() - self.before if item[0] in kinds}:
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        return sorted(" ".join(map(str, item)) for item in left)


class Hosts:
    """Hosts by index, and the network between them. CannotError where the machine has none to offer."""

    def __init__(self, count):
        if reason := why_not():
            raise CannotError(reason)
        begin = time.monotonic()
        RUNS.mkdir(parents=True, exist_ok=True)
        self.commands, self.hosts = [], []
        folder = self.folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=RUNS))
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for name in ("stage", "shared"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        write_keys(folder, count)
        self.shared_folder, self.ssh_command = folder / "shared", folder / "ssh-between-hosts"
        self.line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        words = [
            sys.executable,
            "-I",
            "-S",
            HERE / "room.py",
            theirs.fileno(),
            folder,
            count,
            *kept_folders(),
        ]
        self.room = subprocess.Popen(
            list(map(str, words)),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=harness.clean_environment({"PATH": PATH}),
        )
        theirs.close()
        try:
            self._wait_for_hosts(count)
        except BaseException:
            self.close()
            raise
        self.mark()
        self.start_seconds = time.monotonic() - begin

    def _wait_for_hosts(self, count):
        pids = {}
        self.line.settimeout(START_SECONDS_MAX)
        while len(pids) < count + 1:
            message, attached, _, _ = self.line.recvmsg(4096, 64)
            if not message.startswith((b"node", b"room")):
                text = message.decode() or "the hosts' first process ended without a word"
                raise CannotError(text) if text.startswith("cannot") else RuntimeError(text)
            pids[message.decode()] = struct.unpack("3i", attached[0][2])[0]
        self.switch_pid = pids["room"]
        self.hosts = [Host(self, index, pids[f"node{index + 1}"]) for index in range(count)]

    def __getitem__(self, index):
        return self.hosts[index]

    def __len__(self):
        return len(self.hosts)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """All hosts end, with all that runs there; their files go."""
        self.line.close()
        try:
            self.room.wait(START_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(self.room.pid, signal.SIGKILL)
            self.room.wait()
            raise
        for command in self.commands:
            command.wait()
            for stream in (command.stdin, command.stdout, command.stderr):
                if stream:
                    stream.close()

    def wait_until(self, condition, otherwise, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{otherwise} after {seconds} s"
            time.sleep(0.01)

    def alive(self):
        return [host for host in self.hosts if host.is_alive()]

    def mark(self):
        """What is there now is no leftover: for those who start daemons."""
        for host in self.alive():
            host.before = host.present()

    def leftovers(self, index, kinds=KINDS, seconds=60):
        return self.hosts[index].leftovers(kinds, seconds)

    def kill_started(self):
        """Kills all processes on all hosts that were not there at mark()."""

        def kill(host):
            pids = [str(item[1]) for item in host.present() - host.before if item[0] == "process"]
            if pids:
                enter = ["nsenter", "-t", str(host.pid), "-a", "--"]
                subprocess.run([*enter, "kill", "-9", *pids], capture_output=True)
            return not pids

        for host in self.alive():
            self.wait_until(lambda host=host: kill(host), f"processes on {host.name} cannot be killed")

    # ---- the network ----

    def _configure(self, pid, *words):
        enter = ["nsenter", "-t", str(pid), "-n", "--"]
        done = subprocess.run([*enter, *words], capture_output=True, text=True, env={"PATH": PATH})
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"

    def link_down(self, index):
        """Pulls the cable of a host: what it sends and what it is sent is lost, without a word to anybody."""
        self._configure(self.switch_pid, "ip", "link", "set", f"e{index + 1}", "down")

    def link_up(self, index):
        self._configure(self.switch_pid, "ip", "link", "set", f"e{index + 1}", "up")

    def _filter(self, index, rule, verdict="drop"):
        """Drops what comes to a host from others and fits the rule."""
        for words in (
            "add table inet test",
            "add chain inet test in { type filter hook input priority 0 ; }",
            f"add rule inet test in iifname != lo {rule} {verdict}",
        ):
            self._configure(self.hosts[index].pid, "nft", words)

    def firewall_new_connections(self, index, ports="1024-65535"):
        """Connections to these TCP ports of a host are not answered from now on; those that are open stay."""
        self._filter(index, f"tcp dport {ports} tcp flags & (syn | ack) == syn")

    def refuse_new_connections(self, index, ports="1024-65535"):
        """The same, but those who try are told so."""
        rule = f"tcp dport {ports} tcp flags & (syn | ack) == syn"
        self._filter(index, rule, "reject with icmpx type admin-prohibited")

    def add_interface(self, index, name, address):
        """An interface of a host that leads nowhere."""
        pid = self.hosts[index].pid
        for words in (f"add {name} type veth peer name {name}-end", f"set {name} up", f"set {name}-end up"):
            self._configure(pid, "ip", "link", *words.split())
        self._configure(pid, "ip", "addr", "add", address, "dev", name)

    def lose(self, index, percent):
        """Loses this part of the packets to a host."""
        self._filter(index, f"numgen random mod 100 < {percent}")

    def _connections(self, index, how=""):
        """(port at the other end, port here) of each TCP connection between hosts that is open, but ssh's."""
        high = "sport gt :1023 and dport gt :1023"
        done = self.hosts[index].run(["ss", f"-Htn{how}", "state", "established", high])
        ends = [line.split()[2:4] for line in done.stdout.splitlines()]
        found = [(there.rpartition(":")[2], here.rpartition(":")[2]) for here, there in ends]
        assert found, done.text
        return found

    def reset_connections(self, index):
        """Ends the connections of a host: both ends are told by a reset."""
        self._connections(index, how="K")

    def drop_connections(self, index):
        """What comes to a host by the connections that are open now is lost."""
        for there, here in self._connections(index):
            self._filter(index, f"tcp sport {there} tcp dport {here}")

    def open_network(self, index):
        """Takes back what firewall_new_connections, drop_connections and lose did to a host."""
        self._configure(self.hosts[index].pid, "nft", "flush ruleset")

    def limit_rate(self, index, rate):
        """A host sends no faster than this (tc's words: 1gbit)."""
        words = f"qdisc add dev eth0 root tbf rate {rate} burst 256k latency 20ms"
        self._configure(self.hosts[index].pid, "tc", *words.split())
