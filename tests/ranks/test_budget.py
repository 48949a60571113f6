"""Short messages make no allocation, no lock and no system call."""

import pytest
from harness import run_command


def test_short_messages_keep_their_budget(build):
    """Without mpiexec, whose heap library would count allocations in its own way."""
    done = run_command(build("budget.c"))
    if done.returncode == 77:
        pytest.skip("the kernel cannot count system calls: no syscall user dispatch")
    assert done.returncode == 0, done.text
    assert "budget kept" in done.text
