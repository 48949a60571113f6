"""A rank whose calls never wait (what it sends has room, what it receives is there) serves the others; and
what a rank keeps of messages that come before their receives has a limit."""

import pytest
from harness import only_long

SENDER, RECEIVER = 0, 1


@pytest.mark.parametrize("victim", [SENDER, RECEIVER], ids=["sender", "receiver"])
@pytest.mark.parametrize("case", ["rendezvous", "window", "barrier"])
def test_a_rank_that_never_waits_serves_the_others(mpiexec, build, case, victim):
    done = mpiexec("-n", 3, "--heap=private", build("flood.c"), case, victim)
    assert done.returncode == 0 and done.stdout == "served\n", done.text


# Of all messages that a rank keeps; and so many, most of them short or all of 8 KiB, that each sender has
# more than its part.
LIMIT = 64 << 20
SHORT = {2: (50000,), 3: (35000,), 4: (25000,)}
LONG = {2: (5000, 8192), 3: (3500, 8192), 4: (2500, 8192)}
WAYS = {
    "memory": [],
    "model": ["--nodes=2"],
    "network": ["--nodes=2", "--network=fabric"],
}


@pytest.mark.parametrize("way", ["memory", pytest.param("model", marks=only_long), "network"])
@pytest.mark.parametrize(
    ("case", "ranks"), [("isend", 4), ("send", 2), pytest.param("both", 2, marks=only_long), ("both", 3)]
)
def test_a_flood_does_not_grow_its_receiver(mpiexec, build, case, ranks, way):
    """What is sent before it is received; and two or three ranks that flood each other end well."""
    flood = (SHORT if way == "memory" else LONG)[ranks]
    done = mpiexec("-n", ranks, *WAYS[way], build("unexpected.c"), case, LIMIT, *flood)
    assert done.returncode == 0 and done.stdout == "ended well\n", done.text


@pytest.mark.parametrize("way", ["memory", "network"])
def test_the_limit_is_a_setting(mpiexec, build, way):
    words = (*WAYS[way], build("unexpected.c"), "isend", LIMIT >> 4, 1000, 8192)
    done = mpiexec("-n", 3, *words, environment={"TASUKI_UNEXPECTED_BYTES_MAX": LIMIT >> 4})
    assert done.returncode == 0 and done.stdout == "ended well\n", done.text


def test_offers_of_partitioned_messages_are_no_part_of_it(mpiexec, build):
    words = (build("unexpected.c"), "offers", LIMIT >> 4, 1000, 8192)
    done = mpiexec("-n", 3, *words, environment={"TASUKI_UNEXPECTED_BYTES_MAX": LIMIT >> 4})
    assert done.returncode == 0 and done.stdout == "ended well\n", done.text


@pytest.mark.parametrize("way", ["memory", "network"])
def test_the_memory_of_a_receiver_is_bounded(mpiexec, build, way):
    """As its system counts it, while 7 ranks send 170 MB to it."""
    done = mpiexec("-n", 8, *WAYS[way], build("unexpected.c"), "isend", LIMIT, 3000, 8192)
    assert done.returncode == 0 and done.stdout == "ended well\n", done.text
