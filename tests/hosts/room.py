"""The processes behind hosts.py: makes a room of hosts, keeps it while the test's process lives, clears it.

room.py SOCKET FOLDER COUNT KEEP...: the test's process holds the other end of SOCKET, a descriptor. There
comes one message from each host when it can be used ("node1" …) and one from the room; or what went wrong.
The kernel attaches the sender's process id to each, as the test sees it. KEEP are folders that hosts see,
even in places where a host has a folder of its own, such as /tmp.

The first process stays outside and removes FOLDER at the end. The room is a PID namespace; its process 1 is
in the network namespace with the switch; below it is process 1 of each host. Invariants:
1. Nothing has a name outside of the room: no namespace, interface or mount can be left over or in the way.
2. When the test's process ends in whatever way, so does the socket, and with it the room's process 1; then
   the kernel kills everything in the room, also what is in hosts and in sessions of its own.
3. Each process 1 ignores SIGCHLD, so the kernel reaps what loses its parent.
"""

import ctypes
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

libc = ctypes.CDLL(None, use_errno=True)

NEW_MOUNTS, NEW_NAME, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_PROCESSES, NEW_NETWORK = 0x20000000, 0x40000000
BIND, MOVE, RECURSIVE, PRIVATE = 4096, 8192, 16384, 1 << 18
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
START_SECONDS_MAX = 20


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise RuntimeError(f"{what}: {os.strerror(number)}")


def unshare(flags):
    check(libc.unshare(flags), f"unshare({flags:#x})")


def mount(source, target, kind=None, flags=0):
    words = [str(word).encode() if word else None for word in (source, target, kind)]
    check(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {kind or ''} {source} at {target}")


def hide(target, stage, keep, kind="tmpfs", source=None):
    """Puts a new file system of this kind, or the folder `source`, at `target`, with what to keep in it."""
    mount(source or kind, stage, None if source else kind, BIND if source else 0)
    for path in keep:
        if path.is_relative_to(target):
            place = stage / path.relative_to(target)
            place.mkdir(parents=True, exist_ok=True)
            mount(path, place, flags=BIND | (RECURSIVE if kind == "sysfs" else 0))
    mount(stage, target, flags=MOVE)


def ip(*lines):
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ip: {done.stderr.strip()}")


def mount_folders(folder, keep, name):
    stage = folder / "stage"
    mount("proc", "/proc", "proc")
    hide("/sys", stage, [pathlib.Path("/sys/fs/cgroup")], kind="sysfs")
    for path in ("/tmp", "/run", "/dev/shm"):
        hide(path, stage, keep)
    os.chmod("/run", 0o755)
    hide(pwd.getpwuid(0).pw_dir, stage, keep, source=folder / "home")
    mount(folder / "hosts", "/etc/hosts", flags=BIND)
    boot_id = pathlib.Path("/run/boot_id")
    boot_id.write_text(f"{uuid.uuid4()}\n")
    mount(boot_id, "/proc/sys/kernel/random/boot_id", flags=BIND)
    pathlib.Path("/run/sshd").mkdir(mode=0o755)
    (folder / name).mkdir()


def start_sshd(folder, name):
    """Starts it and waits until it listens."""
    words = ["/usr/sbin/sshd", "-D", "-f", folder / "sshd_config", "-E", folder / name / "sshd.log"]
    daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + START_SECONDS_MAX
    listens = " 00000000:0016 00000000:0000 0A "
    while listens not in pathlib.Path("/proc/net/tcp").read_text():
        if daemon.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"sshd does not listen: {(folder / name / 'sshd.log').read_text()}")
        time.sleep(0.005)


def become_host(line, folder, keep, number):
    """Process 1 of a host. Does not return."""
    name = f"node{number}"
    socket.sethostname(name)
    mount_folders(folder, keep, name)
    start_sshd(folder, name)
    stay(lambda: line.send(name.encode()))


def stay(tell):
    """What process 1 does from now on: nothing, till it is killed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    tell()
    while True:
        signal.pause()


def fork(line, work):
    """A child that does the work and ends; when it cannot, the other end of the line hears why: "cannot" when
    the machine does not permit it or lacks it, "failed" else."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            lacks = "Operation not permitted|not supported|not implemented|Unknown device type|No such device"
            line.send(f"{'cannot' if re.search(lacks, str(error)) else 'failed'}: {error}".encode())
            os._exit(1)
    return child


def make_host(line, folder, keep, number):
    """Between the room's process 1 and the host's: makes the host's end of the cable, and ends."""
    unshare(NEW_MOUNTS | NEW_NAME | NEW_IPC | NEW_NETWORK)
    ip(
        f"link add eth0 type veth peer name e{number} netns 1",
        f"addr add 10.77.0.{number}/24 dev eth0",
        "link set eth0 up",
        "link set lo up",
    )
    unshare(NEW_PROCESSES)
    fork(line, lambda: become_host(line, folder, keep, number))


def become_room(line, folder, count, keep):
    """Process 1 of the room. Ends when the test's process does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    check(libc.prctl(DIE_WITH_PARENT, signal.SIGKILL), "prctl")
    mount("none", "/", flags=PRIVATE | RECURSIVE)
    mount("proc", "/proc", "proc")
    ip("link add br0 type bridge", "link set br0 up", "link set lo up")
    numbers = range(1, count + 1)
    children = [fork(line, lambda n=n: make_host(line, folder, keep, n)) for n in numbers]
    if any(os.waitpid(child, 0)[1] for child in children):
        return
    ip(*(f"link set e{number} master br0 up" for number in numbers))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    line.send(b"room")
    line.recv(1)  # nobody writes: this is the end of the test's process


def main(line, folder, count, *keep):
    line, folder = socket.socket(fileno=int(line)), pathlib.Path(folder)
    keep = [pathlib.Path(path) for path in keep]

    def work():
        unshare(NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK)
        room = fork(line, lambda: become_room(line, folder, int(count), keep))
        line.close()
        os.waitpid(room, 0)

    fork(line, work)
    line.close()
    os.wait()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
