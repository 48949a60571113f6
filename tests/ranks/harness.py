"""The harness of the rank tests: C programs, compiled by our mpicc, run by our mpiexec as real processes.

A test asks for the fixture `run`:

    from harness import RANKS

    @pytest.mark.parametrize("ranks", RANKS)
    def test_ring(run, ranks):
        done = run("ring.c", ranks)           # compiled once, cached by content
        assert done.returncode == 0, done.text

or, when the program is the least of it, for the fixture `mpiexec`, which takes
a command line of mpiexec's as it is:

    done = mpiexec("-n", 2, "--timeout", 3, "sleep", 100, timeout=10)

Nothing here can hang: every run has a time limit, and what outlives it is killed with all its children (the
launcher runs in a session of its own) and reported as a failure with the output so far. The installed tree
under test is build/prefix, or what TASUKI_TEST_PREFIX names.
"""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))
PROGRAMS = ROOT / "build" / "ranks"  # where the compiled programs are kept
RANKS = [1, 2, 3, 4, 8]
RUN_SECONDS_MAX = 300  # far more than a run takes on a quiet machine: it guards against a hang
# What a build says on standard error when it is asked for what it lacks: the test needed it.
REFUSALS = {
    "libfabric": "this Tasuki was built without libfabric's headers",
    "PMIx": "this Tasuki was built without PMIx",
}
SLOWER = int(os.environ.get("TASUKI_TEST_SLOWER", 1))  # so many times the time limits: under an emulator
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
only_long = pytest.mark.skipif(not LONG, reason="make test-long runs it")


@dataclasses.dataclass
class Done:
    """How a command ended. `text` is standard output and error together with the command: for messages."""

    command: list
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def text(self):
        return f"$ {' '.join(self.command)}\n{self.stdout}{self.stderr}(exit status {self.returncode})"


def process_fields(pid):
    """The fields of /proc/PID/stat behind the name: the state first, then the parent."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def is_alive(pid):
    try:
        return process_fields(pid)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def clean_environment(extra=None):
    """The caller's environment without what a surrounding job would leave in it, plus `extra`. The built-in
    parameters that the caller names stay."""
    foreign = ("PMI_", "PMIX_", "OMPI_", "SLURM_", "MPI_LOCAL", "TASUKI_")
    # pytest changes a variable of its own between tests, while threads of some tests are here.
    names = [name for name in os.environ if name == "TASUKI_PROCESSOR" or not name.startswith(foreign)]
    environment = {name: value for name in names if (value := os.environ.get(name)) is not None}
    environment.update({name: str(value) for name, value in (extra or {}).items()})
    return environment


def start_command(*words, environment=None, **how):
    """Starts a command in a session of its own, with pipes for its output. `how`: arguments of Popen."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
    return subprocess.Popen(
        [str(word) for word in words],
        text=True,
        env=clean_environment(environment),
        start_new_session=True,
        **how,
    )


def run_command(*command, timeout=RUN_SECONDS_MAX, environment=None, stdin="", cwd=None, preexec_fn=None):
    """Runs a command to its end or its time limit, and never longer. Fails the test when the limit is hit."""
    words = [str(word) for word in command]
    timeout *= SLOWER
    begin = time.monotonic()
    how = {"stdin": subprocess.PIPE, "errors": "replace", "cwd": cwd, "preexec_fn": preexec_fn}
    process = start_command(*words, environment=environment, **how)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            out, err = "", "(its output is still held open by a process that outlived it)\n"
        pytest.fail(f"$ {' '.join(words)}\n{out}{err}did not end within {timeout} s")
    for name, refusal in REFUSALS.items():
        if refusal in err:
            skip_without(name)
    return Done(words, process.returncode, out, err, time.monotonic() - begin)


@functools.cache
def left_out():
    """What the build under test lacks, as it says itself: name -> sentence."""
    info = json.loads(run_command(PREFIX / "bin/mpiexec", "--info=json").stdout)
    return {row["name"]: f"{row['name']}: {row['lack']}; {row['without']}" for row in info["left_out"]}


def skip_without(name):
    """Skips the test, in the build's words, where the build lacks `name`."""
    if name in left_out():
        pytest.skip(left_out()[name])


def needs(name):
    """The mark of a test, or of a module, that skip_without(name) would not see in time."""
    return pytest.mark.skipif(name in left_out(), reason=left_out().get(name, ""))


def place(file, line=r"\d+"):
    """The pattern of a place in the source of a program; without libdw its function and program are told."""
    return r"[^;:\n]+" if "libdw" in left_out() else rf"{re.escape(file)}:{line}"


def has_small_shm():
    """Whether /dev/shm is as small as containers have it: libfabric's shm needs more."""
    room = os.statvfs("/dev/shm")
    return room.f_bavail * room.f_frsize < 256 << 20


def compile_program(source, *flags, compiler="mpicc"):
    """Compiles tests/ranks/`source` (or a path) by our mpicc, once for each content. Returns the program.

    Flags that are paths are further sources.
    """
    source = HERE / source
    mpicc = PREFIX / "bin" / compiler
    folders = [source.parent, *(pathlib.Path(flag[2:]) for flag in map(str, flags) if flag.startswith("-I"))]
    headers = sorted([*HERE.glob("*.h"), *(path for folder in folders for path in folder.glob("*.hpp"))])
    sources = [flag for flag in flags if isinstance(flag, pathlib.Path)]
    key = hashlib.sha256(" ".join(map(str, flags)).encode() + str(mpicc).encode())
    for part in [source, *sources, *headers, PREFIX / "include" / "mpi.h"]:
        key.update(part.read_bytes())
    program = PROGRAMS / f"{source.stem}-{key.hexdigest()[:12]}"
    if not program.exists():
        PROGRAMS.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(f".{os.getpid()}")
        done = run_command(
            mpicc, "-O1", "-g", "-Wall", "-Wextra", "-Werror", source, "-o", partial, *flags, timeout=300
        )
        assert done.returncode == 0, done.text
        partial.replace(program)
    return program


def compile_plain(source, name, *flags):
    """A helper in C that is no MPI program: a program, or by its flags a library to preload."""
    program = PROGRAMS / name
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    partial = program.with_suffix(f".{os.getpid()}")  # other tests may be running the program
    done = run_command("cc", "-O1", "-Wall", "-Wextra", source, "-o", partial, *flags)
    assert done.returncode == 0, done.text
    partial.replace(program)
    return program


def compile_for_mpich(source, *flags):
    """A program, or by its flags a library, built for the MPICH ABI as others find it."""
    name = f"{source}-mpich{'.so' if '-shared' in flags else ''}"
    mpich = (f"-I{PREFIX / 'include/mpich'}", f"-I{HERE}", PREFIX / "lib/libmpi.so.12")
    return compile_plain(HERE / f"{source}.c", name, *flags, *mpich)


def processes_of(program):
    """The numbers of the processes that run `program`, a path without links, but for zombies."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "exe").readlink() == pathlib.Path(program):
                found.append(folder.name)
        except OSError:
            continue
    return found


def wait_for_no(program, seconds=60):
    """What is left of `program` after at most that time. It is the caller's own copy, since other runs of the
    tests may have the same program."""
    end = time.monotonic() + seconds
    while (left := processes_of(program)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def compile_stress(abi="standard"):
    """The program of tests/stress, for tests that want messages of every kind."""
    folder = HERE.parent / "stress"
    more = (folder / "play.cpp", folder / "transfer.cpp", "-std=c++20", "-pthread")
    if abi == "standard":
        return compile_program(folder / "stress.cpp", *more, compiler="mpicxx")
    mpich = (f"-I{PREFIX / 'include/mpich'}", str(PREFIX / "lib/libmpi.so.12"))
    return compile_program(folder / "stress.cpp", *more, *mpich, compiler=shutil.which("c++"))
