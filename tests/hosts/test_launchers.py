"""The launchers of others do here what they do elsewhere, shown with the MPI that each belongs to.

So a test of Tasuki under one of them that fails tells of Tasuki, not of the hosts.
"""

import re

import pytest
from launchers import HERE, LAUNCHERS, compile_for, end_jobs, launch

SUM = 1 + 2 + 3 + 4


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_ranks_on_each_of_two_hosts_sum(cluster, launcher):
    done = launch(cluster, launcher, [compile_for(launcher, HERE / "hello.c")])
    assert done.returncode == 0, done.text
    said = sorted(re.findall(r"^rank \d of .*$", done.stdout, re.M))
    assert said == [f"rank {rank} of 4 on node{1 + rank // 2}: sum {SUM}" for rank in range(4)], done.text


@pytest.mark.parametrize("launcher", [name for name in LAUNCHERS if not name.startswith("salloc")])
def test_a_killed_rank_ends_the_job(cluster, launcher):
    """srun leaves the other ranks alone unless it is told otherwise."""
    options = ["--kill-on-bad-exit=1"] if launcher.startswith("srun") else []
    done = launch(cluster, launcher, [compile_for(launcher, HERE / "hello.c"), "kill"], options)
    assert done.returncode != 0 and f"sum {SUM}" in done.stdout, done.text
    assert [cluster.leftovers(host, kinds=["process"]) for host in (0, 1)] == [[], []], done.text


def test_a_job_that_a_test_leaves_is_ended(cluster):
    """A killed srun does not end its allocation."""
    process = cluster[0].popen(["srun", "--nodes=3", "--exclusive", "sleep", "1000"])
    queue = ["squeue", "--noheader", "--format=%T"]
    cluster.wait_until(lambda: cluster[0].run(queue).stdout == "RUNNING\n", "the job does not run")
    process.kill()
    end_jobs(cluster)
    assert cluster[0].run(queue).stdout == ""
    assert cluster.leftovers(2, kinds=["process"]) == []
