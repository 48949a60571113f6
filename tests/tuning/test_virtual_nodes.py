"""Long messages among virtual nodes whose ranks share links (mpiexec --network-node-bandwidth) take what
their busiest link needs, never less; and what `tasuki simulate` says, within 10 %. TASUKI_TEST_LONG: the
latter, which is a timing, by the least of several calls at a priority of real time, since a loaded machine
wakes ranks late."""

import contextlib
import os
import pathlib
import sys

import pytest
from harness import PREFIX, skip_without

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import network  # noqa: E402

SLOTS_EARLY = 0.9  # a packet may be early by the time of 16 KiB of its link
AGREE_WITHIN = 0.10
ATTEMPTS = 3


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    skip_without("SimGrid")
    return network.own_program.build("collective_times", PREFIX, tmp_path_factory.mktemp("program"))


def identifier(case):
    return f"{case.operation}-{case.algorithm}"


@pytest.mark.parametrize("case", network.COLLECTIVES, ids=identifier)
def test_no_link_carries_more_than_it_can(program, case):
    (said,) = network.simulated(PREFIX, 4, [case])
    measured = min(network.measured_seconds(PREFIX, program, 4, case, 2))
    assert measured > SLOTS_EARLY * said["bound_seconds"]


@pytest.fixture
def real_time_priority():
    """This process's, and so that of the ranks that it starts."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    yield
    os.sched_setscheduler(0, *before)


@pytest.mark.skipif(not os.environ.get("TASUKI_TEST_LONG"), reason="a timing; TASUKI_TEST_LONG")
@pytest.mark.parametrize("nodes", [4, 8])
@pytest.mark.parametrize("case", network.COLLECTIVES, ids=identifier)
def test_virtual_nodes_take_what_the_simulation_says(real_time_priority, program, case, nodes):
    (said,) = network.simulated(PREFIX, nodes, [case])
    ratios = []
    for _ in range(ATTEMPTS):
        measured = min(network.measured_seconds(PREFIX, program, nodes, case, 5))
        ratios.append(measured / said["seconds"])
        if abs(ratios[-1] - 1) < AGREE_WITHIN:
            return
    pytest.fail(f"measured {ratios} of the simulated {said['seconds'] * 1e3:.1f} ms")
