"""A core dump has what the program has touched of its heap and its static data, and takes no more disk."""

import pathlib
import resource

import harness
import pytest

# 8 MiB are filled; the rest is libraries' data, and pages around what is touched.
CORE_BYTES_MAX = 40 << 20
LOOK = ["-ex", "x/s filled", "-ex", "x/s sparse + (3ul << 30)", "-ex", "x/s statics + (1 << 29)"]


def cores_are_files():
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip(f"the kernel does not leave cores in the program's directory (core_pattern: {pattern})")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard != resource.RLIM_INFINITY:
        pytest.skip(f"the hard limit of core files is {hard} bytes (ulimit -c)")


def allow_cores():
    unlimited = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_CORE, (unlimited, unlimited))


def expect_contents(program, core):
    done = harness.run_command("gdb", "-batch", *LOOK, "-ex", "bt", program, core)
    assert '"heap!heap!heap!' in done.stdout, done.text
    assert '"far away"' in done.stdout and '"static data"' in done.stdout, done.text
    return done


@pytest.mark.parametrize(
    "how, heap",
    [(how, "auto") for how in ("segfault", "abort", "trap", "handler")] + [("segfault", "private")],
)
def test_the_core_of_a_rank_holds_its_heap_and_no_more(mpiexec, compiled, needs, tmp_path, how, heap):
    cores_are_files()
    needs("gdb", "--version")
    program = compiled("core.c")
    rings = ["-x", "TASUKI_RING_BYTES=32M"]  # 128 MiB of rings, which are in no core
    done = mpiexec("-n", 2, f"--heap={heap}", *rings, program, how, cwd=tmp_path, preexec_fn=allow_cores)
    assert done.returncode != 0 and "was killed by signal" in done.stderr, done.text
    assert "a handler that the program did not set" not in done.stdout, done.text
    assert ("the program's own handler" in done.stdout) == (how == "handler"), done.text
    (core,) = tmp_path.glob("core*")
    assert core.stat().st_blocks * 512 < CORE_BYTES_MAX, done.text
    shown = expect_contents(program, core)
    assert "main (argc=" in shown.stdout, shown.text


def test_a_debugger_writes_a_core_of_a_rank_that_runs(mpiexec, compiled, needs, tmp_path):
    needs("gdb", "-batch", "-ex", "run", "--args", "/bin/true")
    program = compiled("core.c")
    commands = ["break here", "run", "call (int)tasuki_heap_for_core()", "generate-core-file", "continue"]
    words = [word for command in commands for word in ("-ex", command)]
    done = mpiexec("-n", 2, "gdb", "-q", "-batch", *words, "--args", program, cwd=tmp_path)
    cores = list(tmp_path.glob("core.*"))
    assert done.returncode == 0 and len(cores) == 2, done.text
    for core in cores:
        assert core.stat().st_blocks * 512 < 2 * CORE_BYTES_MAX, done.text  # with the libraries' code
        expect_contents(program, core)
