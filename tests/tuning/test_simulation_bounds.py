"""`tasuki simulate` beside what is known without it: closed forms, the bytes of each link by routes that are
found here, bounds that random programs keep, and GOAL's rules, which agree where nothing contends."""

import collections
import dataclasses
import math
import os
import random
import re

import goal
import pytest
from tasuki import simulation
from tasuki.simulation import programs
from test_simulate import HARDWARE, RATE, SIMULATOR, SOFTWARE, machine, message, run

SEGMENT = 16 << 10
ODD = (5, 3, 3)  # the way in each dimension that is shorter is one alone
SEEDS = range(100 if os.environ.get("TASUKI_TEST_LONG") else 4)
LINK = re.compile(r"machine_link_from_(\d+)_to_(\d+)_(UP|DOWN)")


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 4), (8, 6, 8)], ids=str)
@pytest.mark.parametrize("segments", [1, 20])
def test_a_broadcast_along_all_dimensions(shape, segments):
    """By data: the root sends to d ranks, each hop costs one send, and segments follow at the link's rate."""
    directions = len(shape)
    hops = sum(shape) - directions + 1
    size = directions * segments * SEGMENT
    (one,) = run(
        machine("torus", shape), simulation.Case("bcast", size, f"grid_{directions}", SEGMENT, "data")
    )
    first = (directions - 1) * SOFTWARE + hops * message(SEGMENT)
    after = (segments - 1) * (HARDWARE + SEGMENT / RATE)
    assert one["seconds"] == pytest.approx(first + after, rel=1e-6)
    assert one["sent_bytes"] == one["received_bytes"] == (math.prod(shape) - 1) * size


def test_an_allgather_of_four_rings():
    """By rounds: P-1 rounds, each of four sends and of a quarter of a block on each link."""
    shape, size = (4, 3, 4), 1 << 20
    ranks = math.prod(shape)
    (one,) = run(machine("torus", shape), simulation.Case("allgather", size, "multi_ring"))
    assert one["seconds"] == pytest.approx(
        (ranks - 1) * (4 * SOFTWARE + HARDWARE + size / 4 / RATE), rel=1e-6
    )
    assert one["sent_bytes"] == ranks * (ranks - 1) * size


def point(rank, shape):
    found = []
    for extent in reversed(shape):
        rank, at = divmod(rank, extent)
        found.insert(0, at)
    return found


def rank_at(place, shape):
    rank = 0
    for at, extent in zip(place, shape, strict=True):
        rank = rank * extent + at
    return rank


def route(sender, receiver, shape):
    """The links of a torus that a message takes: the last dimension first, the shorter way in each."""
    here, there = point(sender, shape), point(receiver, shape)
    for dimension in reversed(range(len(shape))):
        extent = shape[dimension]
        step = 1 if (there[dimension] - here[dimension]) % extent <= extent // 2 else -1
        while here[dimension] != there[dimension]:
            before = rank_at(here, shape)
            here[dimension] = (here[dimension] + step) % extent
            yield before, rank_at(here, shape)


def by_routes(messages, shape):
    """The bytes of each link. `messages`: sender, receiver, bytes."""
    found = collections.Counter()
    for sender, receiver, bytes in messages:
        for link in route(sender, receiver, shape):
            found[link] += bytes
    return found


def carried(answer):
    found = {}
    for link in answer["links"]:
        begin, end, way = LINK.fullmatch(link["name"]).groups()
        pair = (int(begin), int(end)) if way == "UP" else (int(end), int(begin))
        found[pair] = link["bytes"]
    return found


@pytest.mark.parametrize("operation", ["bcast", "allreduce", "allgather", "alltoall", "reduce"])
def test_each_link_carries_what_is_routed_over_it(tmp_path, operation):
    """Of every algorithm: the messages as its GOAL file has them, on routes that are found here."""
    of, size, file = machine("torus", ODD), 45 * 64, tmp_path / "schedules.goal"
    names = simulation.algorithms(of, operation, size, simulator=SIMULATOR)
    cases = [simulation.Case(operation, size, name, 1024, links=True) for name in names]
    assert names
    for one, case in zip(run(of, *cases), cases, strict=True):
        simulation.write_goal(of, case, file, simulator=SIMULATOR)
        steps = [step for rank in goal.read(file.read_text()) for step in rank if step.kind == "send"]
        messages = [(step.rank, step.peer, step.bytes) for step in steps]
        assert carried(one) == {link: n for link, n in by_routes(messages, ODD).items() if n}, case
        assert sum(bytes for _, _, bytes in messages) == one["sent_bytes"] == one["received_bytes"]


@dataclasses.dataclass
class Operation:
    rank: int
    kind: str  # compute, send, receive
    number: int  # of a message
    nanoseconds: int
    after: list[int]  # operations of the rank


class RandomProgram:
    """Messages between random ranks, and computing. In turn: a rank sends or receives one at a time, so that
    on a switch nothing contends; else each message waits for some of what its two ranks did before."""

    def __init__(self, seed, ranks, in_turn):
        self.random = random.Random(seed)
        self.in_turn = in_turn
        self.messages = []  # sender, receiver, bytes
        self.ranks = [[] for _ in range(ranks)]
        self.last = [[] for _ in range(ranks)]  # of each rank: its last message
        self.end_by_path = {}  # of each operation: the earliest date, had all as much as they want
        for number in range(12 * ranks):
            pair = self.random.sample(range(ranks), 2)
            self.messages.append((*pair, self.random.randrange(1, 40_000)))
            added = [
                self.add(rank, kind, number) for rank, kind in zip(pair, ("send", "receive"), strict=True)
            ]
            send, receive = (self.start_of(*one) for one in added)
            end = max(send + SOFTWARE, receive) + HARDWARE + self.messages[-1][2] / RATE
            for rank, at in added:
                self.end_by_path[rank, at] = end
                self.last[rank] = [at]
            busy = self.random.randrange(ranks)
            at = self.add(busy, "compute", 0, self.random.randrange(1, 5000))
            self.end_by_path[busy, at[1]] = self.start_of(*at) + self.ranks[busy][-1].nanoseconds * 1e-9

    def add(self, rank, kind, number, nanoseconds=0):
        operations = self.ranks[rank]
        some = self.random.sample(range(len(operations)), min(2, len(operations)))
        after = sorted({*some, *(self.last[rank] if self.in_turn and kind != "compute" else ())})
        operations.append(Operation(rank, kind, number, nanoseconds, after))
        return rank, len(operations) - 1

    def start_of(self, rank, at):
        return max((self.end_by_path[rank, one] for one in self.ranks[rank][at].after), default=0.0)

    def document(self, of):
        made = programs.Program(of, list(range(len(self.ranks))))
        for sender, receiver, bytes in self.messages:
            made.message(sender, receiver, bytes, rendezvous=True)
        for operations in self.ranks:
            for one in operations:
                made.add(one.rank, one.kind, one.number, one.nanoseconds * 1e-9, one.after)
        return made.document(of, list(range(len(self.ranks))), links=True)

    def text(self):
        lines = [f"num_ranks {len(self.ranks)}"]
        for rank, operations in enumerate(self.ranks):
            lines.append(f"rank {rank} {{")
            for at, one in enumerate(operations):
                sender, receiver, bytes = self.messages[one.number]
                ends = {"send": f"{bytes}b to {receiver}", "receive": f"{bytes}b from {sender}"}
                kind = {"send": "send", "receive": "recv", "compute": "calc"}[one.kind]
                what = f"{ends[one.kind]} tag {one.number}" if one.kind in ends else f"{one.nanoseconds}"
                lines.append(f"l{at}: {kind} {what} cpu 0")
                lines += [f"l{at} requires l{before}" for before in one.after]
            lines.append("}")
        return "\n".join(lines)

    def busiest_processor(self):
        return max(
            sum(SOFTWARE if one.kind == "send" else one.nanoseconds * 1e-9 for one in operations)
            for operations in self.ranks
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_take_what_goal_says(seed):
    """Where nothing contends: on a switch, with one message of a rank at a time."""
    of, made = machine("crossbar", (9,)), RandomProgram(seed, 9, in_turn=True)
    (one,) = simulation.ask(made.document(of), SIMULATOR)["answers"]
    assert one["seconds"] == pytest.approx(goal.seconds(made.text(), SOFTWARE, HARDWARE, RATE), rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_keep_their_bounds(seed):
    """On a torus, where messages share links: no earlier than the path of what waits for what, the busiest
    link and the busiest processor; and each link carries what is routed over it."""
    made, of = RandomProgram(seed, math.prod(ODD), in_turn=False), machine("torus", ODD)
    (one,) = simulation.ask(made.document(of), SIMULATOR)["answers"]
    loads = by_routes(made.messages, ODD)
    assert carried(one) == loads
    bounds = (max(made.end_by_path.values()), max(loads.values()) / RATE, made.busiest_processor())
    assert one["seconds"] >= max(bounds) * (1 - 1e-9)
    assert one["bound_seconds"] == pytest.approx(max(bounds[1:]), rel=1e-6)
    assert one["sent_bytes"] == one["received_bytes"] == sum(bytes for _, _, bytes in made.messages)
