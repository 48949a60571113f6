"""The fixtures of the rank tests. What they do, and why, is told in harness.py."""

import signal

import pytest
from harness import PREFIX, compile_program, run_command

# A shell that starts the tests in the background, or nohup, has these signals ignored, and every program
# started from here would inherit that: no test could interrupt one.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def installed_tree():
    if not (PREFIX / "bin" / "mpiexec").exists():
        pytest.exit(f"{PREFIX}/bin/mpiexec is not there: run `make build` first", returncode=1)


@pytest.fixture
def mpiexec():
    """mpiexec(*arguments, timeout=…, environment=…, stdin=…) -> Done."""
    return lambda *arguments, **how: run_command(PREFIX / "bin" / "mpiexec", *arguments, **how)


@pytest.fixture
def build():
    """build("ring.c") -> path of the compiled program."""
    return compile_program


@pytest.fixture
def run(mpiexec):
    """run("ring.c", ranks, *program_arguments, …) -> Done: compile, then mpiexec -n ranks."""

    def compile_and_run(source, ranks, *arguments, **how):
        return mpiexec("-n", ranks, compile_program(source), *arguments, **how)

    return compile_and_run
