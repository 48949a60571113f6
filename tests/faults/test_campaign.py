"""Hundreds of jobs in which somebody dies at a random moment; see campaign.py, which judges them."""

import json
import os
import random
import sys

import harness
import pytest

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))


@pytest.mark.timeout(900)
def test_a_death_leaves_nothing_and_no_hang(work):
    """Always the same jobs in `make test`; others each time in `make test-long`, which says which."""
    jobs, seed = (1000, random.randrange(1 << 30)) if LONG else (100, 1)
    campaign = harness.ROOT / "tests/faults/campaign.py"
    done = harness.run_command(
        sys.executable, campaign, work, "--jobs", jobs, "--seed", seed, timeout=800 if LONG else 200
    )
    assert done.returncode == 0, done.text
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["jobs"] == jobs and summary["wrong"] == summary["left"] == summary["hangs"] == 0, summary
