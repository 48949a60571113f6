"""The fixtures of the tests of programs under tools: programs with and without sanitizers, in both ABIs.

All run on mpiexec with two ranks, as a user would run them. Programs are compiled when a test first asks.
"""

import functools
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks")]

import harness  # noqa: E402

# As in tests/ranks: a shell that starts tests in the background has these ignored, and so would all ranks.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@functools.cache
def mpich_flags():
    lib = harness.PREFIX / "lib"
    include = harness.PREFIX / "include" / "mpich"
    return ["-Wall", "-Werror", f"-I{include}", f"-L{lib}", f"-Wl,-rpath,{lib}", "-l:libmpi.so.12"]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """compiled("exercise.c", "gcc", "mpich", flag, …) -> the program, for "standard" or "mpich"."""
    folder = tmp_path_factory.mktemp("tools")

    @functools.cache
    def program(source, compiler="gcc", abi="standard", *flags):
        if shutil.which(compiler) is None:
            pytest.fail(f"{compiler} is not installed (tools/packages-debian.txt has it)")
        if abi == "standard":
            return harness.compile_program(HERE / source, f"-cc={compiler}", *flags)
        out = folder / f"{pathlib.Path(source).stem}-{len(list(folder.iterdir()))}"
        command = [compiler, "-O1", "-g", *flags, HERE / source, "-o", out, *mpich_flags()]
        done = harness.run_command(*command, timeout=300)
        assert done.returncode == 0, done.text
        return out

    return program


@pytest.fixture
def mpiexec():
    """mpiexec(*arguments, timeout=…, environment=…, cwd=…) -> Done."""
    return lambda *arguments, **how: harness.run_command(
        harness.PREFIX / "bin" / "mpiexec", *arguments, **how
    )


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    """A shell script that runs $TOOL_COMMAND: mpiexec cannot see which program that is."""
    path = tmp_path_factory.mktemp("script") / "run.sh"
    path.write_text("#!/bin/sh\nexec $TOOL_COMMAND\n")
    path.chmod(0o755)
    return path


@functools.cache
def heap_reason(*command):
    """What mpiexec --info says of a command's heap: (kind, reason)."""
    done = harness.run_command(harness.PREFIX / "bin" / "mpiexec", "--info", *command)
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "heap of several ranks" in line)
    return lines[at].split()[-1], lines[at + 1].strip()


@pytest.fixture
def told():
    return heap_reason


@pytest.fixture
def needs():
    """needs("strace", "/bin/true"): fails without the tool, skips where the system forbids it."""

    def check(*command):
        if shutil.which(command[0]) is None:
            pytest.fail(f"{command[0]} is not installed (tools/packages-debian.txt has it)")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.skip(f"{' '.join(command)} does not work here: {done.stderr.strip()}")

    return check
