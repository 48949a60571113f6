"""The programs of patterns (tasuki.patterns), as the suite of benchmarks writes them (docs/mbl.md), for a
simulated machine.

Known are the collectives by their functions' names or as collectives/NAME, those of neighbours among them;
point_to_point/pingpong, ping, latency, bidirectional, rate and multi_pair; concurrent/shift, exchange and
halo; rma/ping, latency, shift and exchange. An access to a window is a message that waits for no receive:
there for a put or an accumulate, there and back for what gets something.
"""

from __future__ import annotations

import dataclasses
import itertools

from tasuki import machines, patterns
from tasuki.pricing import pattern_of, shape_of
from tasuki.simulation import SimulationError, programs
from tasuki.simulation.traced import KNOWN, PLAIN, REDUCE

BLOCKS = {"reduce_scatter", "reduce_scatter_block"}  # a block's bytes are told, all blocks' are simulated
WINDOW = 64  # messages of a window of `rate`
CALLS = 200  # of `latency`
NEIGHBOURS_DIMENSIONS = 2  # of the suite's grid for collectives of neighbours
GETTING = {"get", "rget", "get_accumulate", "fetch_and_op", "compare_and_swap"}
PUTTING = {"put", "rput", "accumulate", "raccumulate"}
SYNCS = ("fence", "fence_pair", "fence_asserted", "pscw", "lock", "lock_all", "flush", "flush_local")


@dataclasses.dataclass
class Line:
    """A line of a list, and its program."""

    item: patterns.Item
    program: programs.Program
    parts: int = 1  # operations that the program has


def refuse(item: patterns.Item, what: str) -> SimulationError:
    return SimulationError(f"{item.place}: {item.pattern}: {what}")


def line_of(item: patterns.Item, machine: machines.Machine, way: str = "rounds") -> Line:
    group, name, variant = pattern_of(item.pattern)
    made = Line(item, programs.Program(machine, list(range(item.ranks)), way))
    bare = name.removeprefix("MPI_")
    if PLAIN.get(bare, bare) in KNOWN:
        collective(made.program, item, bare, variant)
        return made
    write = writer_of(item, group, bare)
    if item.ranks < 2:
        raise refuse(item, f"{item.ranks} ranks, expected 2 or more")
    made.parts = write(made.program, item, variant) or 1
    return made


def writer_of(item: patterns.Item, group: str, name: str):
    found = RMA.get(name) if group == "rma" else None if group == "io" else WRITERS.get(name)
    if found is not None:
        return found
    known = ", ".join((*sorted(KNOWN), *WRITERS, *(f"rma/{one}" for one in RMA)))
    files = " (--exchange FILE simulates collective writing)" if group == "io" else ""
    raise refuse(item, f"is not simulated{files}, expected one of {known}")


def must_be_plain(item: patterns.Item, variant: dict) -> None:
    if variant.get("form") == "overlap" or variant.get("lengths") == "rising":
        raise refuse(item, "computing meanwhile and rising lengths are not simulated")


def collective(made: programs.Program, item, name: str, variant: dict) -> None:
    must_be_plain(item, variant)
    size = round(item.bytes)
    size *= item.ranks if name in BLOCKS else 1
    operation = PLAIN.get(name, name)
    size = 0 if operation == "barrier" else -(-size // 8) * 8 if operation in REDUCE else size
    together(made, operation, size, ())


def together(made: programs.Program, operation: str, size: int, before) -> None:
    """All timelines call it, each after what `before` has of it."""
    if len(made.ranks) < 2:
        return
    number = made.call(operation, size, tuple(range(len(made.ranks))))
    for timeline in range(len(made.ranks)):
        made.add(timeline, "collective", number, 0.0, before[timeline] if before else ())


def transfer(made: programs.Program, item, sender: int, receiver: int, after=((), ()), rendezvous=None):
    """A message, whose send and receive start after those; their operations."""
    number = made.message(sender, receiver, item.bytes, rendezvous)
    return (
        made.add(sender, "send", number, 0.0, after[0]),
        made.add(receiver, "receive", number, 0.0, after[1]),
    )


def mode_of(item, variant: dict) -> bool | None:
    """Whether a message waits for its receive; None: as the machine does it."""
    mode = variant.get("mode", "send")
    return True if "ssend" in mode else False if "bsend" in mode else None


def one_way(made: programs.Program, item, variant: dict) -> None:
    transfer(made, item, 0, 1, rendezvous=mode_of(item, variant))


def rate(made: programs.Program, item, variant: dict) -> int:
    """A window of messages, and an answer to all of them."""
    there = [transfer(made, item, 0, 1)[1] for _ in range(WINDOW)]
    word(made, item, 1, 0, there)
    return WINDOW


def latency(made: programs.Program, item, variant: dict) -> int:
    for _ in range(CALLS):
        transfer(made, item, 0, 1, rendezvous=mode_of(item, variant))
    return CALLS


def both_ways(made: programs.Program, item, variant: dict) -> None:
    for sender in (0, 1):
        transfer(made, item, sender, 1 - sender, rendezvous=mode_of(item, variant))


def pairs(made: programs.Program, item, variant: dict) -> None:
    half = item.ranks // 2
    for rank in range(half):
        transfer(made, item, rank, rank + half)


def shift(made: programs.Program, item, variant: dict) -> None:
    way = one_of(item, variant, "way", ("sendrecv", "isend_irecv", "put_fence"))
    distance = item.ranks // 2 if variant.get("distance") == "half" else 1
    to = [[(rank + distance) % item.ranks] for rank in range(item.ranks)]
    exchange_among(made, item, to, way)


def exchange(made: programs.Program, item, variant: dict) -> None:
    way = one_of(item, variant, "way", ("isend", "send", "send_barrier", "put_fence", "alltoall"))
    if way == "alltoall":
        return together(made, "alltoall", round(item.bytes), ())
    return exchange_among(made, item, to_all(item, variant), way)


def exchange_among(made: programs.Program, item, to: list[list[int]], way: str) -> None:
    """Each rank sends to those of its list, in that order; receives are posted before."""
    if way.startswith("put_"):
        return accesses(made, item, to, "put", way.removeprefix("put_"))
    in_turn = way in ("send", "send_barrier", "sendrecv")
    last: list[tuple[int, ...]] = [() for _ in to]  # what the next step of each rank waits for
    for step in itertools.zip_longest(*to):
        ends: list[list[int]] = [[] for _ in to]
        for rank, other in enumerate(step):
            if other is not None:
                send, receive = transfer(made, item, rank, other, (last[rank], ()))
                ends[rank].append(send)
                ends[other].append(receive)
                if in_turn:
                    last[rank] = (send,)
        if way == "send_barrier":
            together(made, "barrier", 0, [(*one, *end) for one, end in zip(last, ends, strict=True)])
            last = [(len(timeline) - 1,) for timeline in made.timelines]
    return None


def faces(ranks: int, dimensions: int) -> list[list[int]]:
    """The ranks below and above each in a periodic grid, as MPI_Dims_create cuts it, without the rank."""
    extents = sorted(shape_of(ranks, dimensions), reverse=True)
    strides = [1]
    for extent in reversed(extents[1:]):
        strides.insert(0, strides[0] * extent)
    found = []
    for rank in range(ranks):
        there = [
            rank + ((rank // stride + step) % extent - rank // stride % extent) * stride
            for extent, stride in zip(extents, strides, strict=True)
            for step in (-1, 1)
        ]
        found.append([other for other in there if other != rank])
    return found


def halo(made: programs.Program, item, variant: dict) -> None:
    known = ("isend", "sendrecv", "persistent", "neighbor_alltoallw", "put_fence", "put_pscw")
    way, dimensions = one_of(item, variant, "way", known), variant.get("dimensions", "1")
    if dimensions not in ("1", "2", "3"):
        raise refuse(item, f"dimensions={dimensions}, expected 1, 2 or 3")
    exchange_among(made, item, faces(item.ranks, int(dimensions)), way)


def of_neighbours(made: programs.Program, item, variant: dict) -> None:
    must_be_plain(item, variant)
    exchange_among(made, item, faces(item.ranks, NEIGHBOURS_DIMENSIONS), "isend")


# ----- windows ---------------------------------------------------------------------------------------------


def accesses(made: programs.Program, item, to: list[list[int]], operation: str, sync: str) -> None:
    """Each rank accesses the windows of its list, and then synchronises."""
    ordered = sorted({(origin, target) for origin, targets in enumerate(to) for target in targets})
    before: dict[tuple[int, int], list[int]] = {pair: [] for pair in ordered}
    if sync == "fence_pair":
        together(made, "barrier", 0, ())
        before = {pair: [len(made.timelines[pair[0]]) - 1] for pair in ordered}
    if sync == "pscw":
        before = {(origin, target): [word(made, item, target, origin, ())] for origin, target in ordered}
    ends: dict[tuple[int, int], tuple[list[int], list[int]]] = {pair: ([], []) for pair in ordered}
    for origin, target in in_steps(to):
        after = before[origin, target]
        if sync == "lock":
            after = [word(made, item, target, origin, [word(made, item, origin, target, ())])]
        here, there = access(made, item, origin, target, operation, after)
        if sync == "lock" and operation in PUTTING:
            here = word(made, item, target, origin, [there])
        ends[origin, target][0].append(here)
        ends[origin, target][1].append(there)
    for (origin, target), (here, there) in ends.items():
        if sync in ("lock_all", "flush") and operation in PUTTING:
            word(made, item, target, origin, there)
        elif sync == "pscw":
            word(made, item, origin, target, here)
    if sync.startswith("fence"):
        reached: list[list[int]] = [[] for _ in to]
        for (origin, target), (here, there) in ends.items():
            reached[origin] += here
            reached[target] += there
        together(made, "barrier", 0, reached)


def word(made: programs.Program, item, sender: int, receiver: int, after) -> int:
    """A message without data, which `receiver` has got when the returned operation is over."""
    return transfer(made, dataclasses.replace(item, bytes=0), sender, receiver, (after, ()), False)[1]


def access(made: programs.Program, item, origin: int, target: int, operation: str, after) -> tuple[int, int]:
    """What the origin waits for, and the target's last step of it."""
    asks = dataclasses.replace(item, bytes=0) if operation in ("get", "rget") else item
    here, there = transfer(made, asks, origin, target, (after, ()), False)
    if operation in PUTTING:
        return here, there
    there, here = transfer(made, item, target, origin, ((there,), ()), False)
    return here, there


def in_steps(to: list[list[int]]):
    """(origin, target): the first of each rank's list, then the second ones, …"""
    for step in itertools.zip_longest(*to):
        yield from ((origin, target) for origin, target in enumerate(step) if target is not None)


def one_of(item, variant: dict, name: str, known) -> str:
    value = variant.get(name, known[0])
    if value not in known:
        raise refuse(item, f"{name}={value}, expected {', '.join(known)}")
    return value


def windows(to_of, parts: int = 1):
    """A writer of accesses: `to_of(item, variant)` says whose windows each rank accesses, `parts` times."""

    def write(made: programs.Program, item, variant: dict) -> int:
        operation = one_of(item, variant, "operation", ("put", *sorted((PUTTING | GETTING) - {"put"})))
        sync = one_of(item, variant, "sync", SYNCS)
        accesses(made, item, [targets * parts for targets in to_of(item, variant)], operation, sync)
        return parts

    return write


def first_to_second(item, variant: dict) -> list[list[int]]:
    return [[1], *([] for _ in range(item.ranks - 1))]


def to_next(item, variant: dict) -> list[list[int]]:
    return [[(rank + 1) % item.ranks] for rank in range(item.ranks)]


def to_all(item, variant: dict) -> list[list[int]]:
    naive, ranks = variant.get("order") == "naive", range(item.ranks)
    return [
        [other for other in (ranks if naive else [*ranks[rank + 1 :], *ranks[:rank]]) if other != rank]
        for rank in ranks
    ]


WRITERS = {
    "pingpong": one_way,
    "ping": one_way,
    "latency": latency,
    "bidirectional": both_ways,
    "rate": rate,
    "multi_pair": pairs,
    "shift": shift,
    "exchange": exchange,
    "halo": halo,
    **{
        f"neighbor_{name}": of_neighbours
        for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
    },
}
RMA = {
    "ping": windows(first_to_second),
    "latency": windows(first_to_second, CALLS),
    "shift": windows(to_next),
    "exchange": windows(to_all),
}
