"""Another user of the machine: whatever he tries, a job's memory, sockets and names are not his.

The job belongs to one user, the attempts are another's; only root can be both, one after the other.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

import harness
import pytest
from conftest import ATTACKER, VICTIM, as_user

# Tried as the other user, with the numbers of the job's processes and mpiexec's abstract socket. Each attempt
# that succeeds is a line of the output.
ATTACK = r"""
import ctypes, os, socket, struct, sys
name, pids = sys.argv[1], [int(pid) for pid in sys.argv[2:]]
libc = ctypes.CDLL(None, use_errno=True)
for pid in pids:
    for what in ("fd", "map_files"):
        try:
            print("listed", pid, what, os.listdir(f"/proc/{pid}/{what}"))
        except OSError:
            pass
    for what in ("maps", "mem", "environ"):
        try:
            open(f"/proc/{pid}/{what}", "rb").read(1)
            print("read", pid, what)
        except OSError:
            pass
    for fd in range(1100):
        for path in (f"/proc/{pid}/fd/{fd}",):
            try:
                os.close(os.open(path, os.O_RDWR))
                print("opened", path)
            except OSError:
                pass
    here, there = ctypes.create_string_buffer(8), (ctypes.c_void_p * 2)(0x200000000000, 8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(here), 8)
    if libc.process_vm_readv(pid, vector, 1, there, 1, 0) > 0 or ctypes.get_errno() == 14:
        print("may read the memory of", pid)
    if libc.syscall(438, libc.syscall(434, pid, 0), 200, 0) >= 0:  # pidfd_getfd
        print("took a descriptor of", pid)
for path in os.listdir("/dev/shm"):
    if "tasuki" in path:
        print("a name in /dev/shm:", path)
for body in (b"bye", struct.pack("<II", 0x6e707374, 0), b"x" * 1000):
    try:
        door = socket.socket(socket.AF_UNIX)
        door.settimeout(5)
        door.connect("\0" + name)
        door.sendall(struct.pack("<I", len(body)) + body)
        if door.recv(1):
            print("mpiexec answered")
    except OSError:
        pass
print("tried")
"""


def start_victim(program):
    """A job of the victim's. Returns mpiexec's Popen and [(rank, pid, port)]."""
    process = subprocess.Popen(
        [str(harness.PREFIX / "bin" / "mpiexec"), "-n", "2", str(program), "wait"],
        user=VICTIM,
        group=VICTIM,
        extra_groups=[],
        env={"PATH": os.environ["PATH"]},
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    ranks = [process.stdout.readline().split() for _ in range(2)]
    return process, [(int(rank), int(pid), port) for rank, pid, port in ranks]


@pytest.fixture
def victim(other_users, safety):
    process, ranks = start_victim(safety)
    yield process, ranks
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(timeout=300) != 0


def socket_of(launcher_pid):
    lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
    names = [line.split()[-1][1:] for line in lines if f"@tasuki-mpiexec-{launcher_pid}-" in line]
    assert names, "every user can read the names of sockets"
    return names[0]


def test_nothing_of_a_job_is_open_to_another_user(victim):
    process, ranks = victim
    pids = [process.pid, *(pid for _, pid, _ in ranks)]
    done = as_user(ATTACKER, sys.executable, "-c", ATTACK, socket_of(process.pid), *pids)
    if "Permission denied" in done.stderr:
        pytest.skip("the other user cannot run Python here")
    assert done.stdout == "tried\n", done.stdout + done.stderr
    assert process.poll() is None, "and the job is none the worse"


def test_another_user_cannot_connect_to_a_port(victim, safety):
    _, ranks = victim
    done = as_user(ATTACKER, safety, "connect", ranks[0][2])
    assert "is not open" in done.stdout or "cannot reach" in done.stdout, done.stdout + done.stderr
    assert "connected" not in done.stdout


def test_another_user_cannot_look_at_a_job(victim):
    process, _ = victim
    done = as_user(ATTACKER, harness.PREFIX / "bin" / "mpiexec", "--doctor", "--job", process.pid)
    assert done.returncode != 0, done.stdout + done.stderr
    assert "by the user who started it" in done.stderr.replace("\n", " "), done.stderr


@pytest.fixture
def names_folder():
    folder = pathlib.Path(f"/tmp/tasuki-{VICTIM}")

    def remove():
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        shutil.rmtree(folder, ignore_errors=True)

    remove()
    yield folder
    remove()


def publish(program):
    return as_user(VICTIM, program, "publish", "a name")


def test_published_names_are_the_users_alone(other_users, safety, names_folder):
    assert publish(safety).stdout == "published\n"
    assert names_folder.stat().st_mode & 0o777 == 0o700
    assert as_user(ATTACKER, "ls", names_folder).returncode != 0


@pytest.mark.parametrize("trap", ["folder", "link", "link to nothing", "file"])
def test_a_folder_that_another_user_made_first_is_not_used(other_users, safety, names_folder, trap):
    elsewhere = pathlib.Path(f"/tmp/tasuki-trap-{os.getpid()}")
    commands = {
        "folder": f"mkdir -m 777 {names_folder}",
        "link": f"mkdir -m 777 {elsewhere}; ln -s {elsewhere} {names_folder}",
        "link to nothing": f"ln -s {elsewhere} {names_folder}",
        "file": f"touch {names_folder}",
    }
    try:
        assert as_user(ATTACKER, "sh", "-c", commands[trap]).returncode == 0
        done = publish(safety)
        assert "is not a folder of this user's alone" in done.stdout, done.stdout + done.stderr
        assert f"user {ATTACKER}" in done.stdout
        assert not elsewhere.exists() or not list(elsewhere.iterdir()), "nothing was written there"
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)
