"""Programs under debuggers, tracers of system calls and profilers: both ranks start, run and end."""

import pytest


def test_gdb_runs_a_rank_and_shows_where_it_fails(mpiexec, compiled, needs):
    needs("gdb", "-batch", "-ex", "run", "--args", "/bin/true")
    gdb = ["gdb", "-q", "-batch", "-ex", "run"]
    done = mpiexec("-n", 2, *gdb, "--args", compiled("exercise.c"))
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    assert done.stdout.count("exited normally") == 2, done.text
    done = mpiexec("-n", 2, *gdb, "-ex", "bt", "--args", compiled("exercise.c"), "segfault")
    assert "received signal SIGSEGV" in done.stdout and "do_wrong (what=" in done.stdout, done.text


@pytest.mark.parametrize("heap", ["auto", "global"])
def test_strace_follows_the_ranks_to_their_end(mpiexec, compiled, needs, tmp_path, heap):
    needs("strace", "-f", "/bin/true")
    done = mpiexec(
        "-n", 2, f"--heap={heap}", "strace", "-ff", "-o", tmp_path / "calls", compiled("exercise.c")
    )
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    ends = [path.read_text().splitlines()[-1] for path in tmp_path.glob("calls.*")]
    assert len(ends) >= 2 and all("+++ exited with 0 +++" in end for end in ends), ends


def test_perf_records_the_ranks(mpiexec, compiled, needs, tmp_path):
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-o"]
    needs(*record, tmp_path / "true.data", "/bin/true")
    shell = f'exec {" ".join(record)} {tmp_path}/rank-$TASUKI_RANK.data "$0"'
    done = mpiexec("-n", 2, "sh", "-c", shell, compiled("exercise.c"))
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    for rank in range(2):
        assert (tmp_path / f"rank-{rank}.data").stat().st_size > 0
