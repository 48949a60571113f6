"""A list of patterns (tasuki.patterns) on a simulated machine: each is run there once, as the suite of
benchmarks programs it, and counts as often as its line says.

Known are the collectives by their functions' names or as collectives/NAME, point_to_point/pingpong, ping,
bidirectional and multi_pair, concurrent/shift and concurrent/exchange. A put followed by a fence is a message
that waits for no receive, and a barrier at the end.
"""

from __future__ import annotations

import contextlib
import dataclasses

from tasuki import machines, patterns
from tasuki.pricing import pattern_of
from tasuki.simulation import SimulationError, nodes_of, programs, rate_of
from tasuki.simulation import reason as general_reason
from tasuki.simulation.traced import KNOWN, PLAIN, REDUCE

BLOCKS = {"reduce_scatter", "reduce_scatter_block"}  # a block's bytes are told, all blocks' are simulated
ALTERNATIVES_MESSAGES_MAX = 1e6


@dataclasses.dataclass
class Line:
    """A line of a list, and its program."""

    item: patterns.Item
    program: programs.Program


def refuse(item: patterns.Item, what: str) -> SimulationError:
    return SimulationError(f"{item.place}: {item.pattern}: {what}")


def line_of(item: patterns.Item, machine: machines.Machine, way: str = "rounds") -> Line:
    group, name, variant = pattern_of(item.pattern)
    made = programs.Program(machine, list(range(item.ranks)), way)
    bare = name.removeprefix("MPI_")
    if PLAIN.get(bare, bare) in KNOWN:
        collective(made, item, bare, variant)
    elif bare in WRITERS:
        if item.ranks < 2:
            raise refuse(item, f"{item.ranks} ranks, expected 2 or more")
        WRITERS[bare](made, item, variant)
    else:
        known = ", ".join((*sorted(KNOWN), *WRITERS))
        raise refuse(item, f"is not simulated, expected one of {known}")
    return Line(item, made)


def collective(made: programs.Program, item, name: str, variant: dict) -> None:
    if variant.get("form") == "overlap" or variant.get("lengths") == "rising":
        raise refuse(item, "computing meanwhile and rising lengths are not simulated")
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


def both_ways(made: programs.Program, item, variant: dict) -> None:
    for sender in (0, 1):
        transfer(made, item, sender, 1 - sender, rendezvous=mode_of(item, variant))


def pairs(made: programs.Program, item, variant: dict) -> None:
    half = item.ranks // 2
    for rank in range(half):
        transfer(made, item, rank, rank + half)


def way_of(item, variant: dict, known: tuple[str, ...]) -> str:
    way = variant.get("way", known[0])
    if way not in known:
        raise refuse(item, f"way={way}, expected {', '.join(known)}")
    return way


def shift(made: programs.Program, item, variant: dict) -> None:
    way = way_of(item, variant, ("sendrecv", "isend_irecv", "put_fence"))
    distance = item.ranks // 2 if variant.get("distance") == "half" else 1
    to = [[(rank + distance) % item.ranks] for rank in range(item.ranks)]
    exchange_among(made, item, to, way)


def exchange(made: programs.Program, item, variant: dict) -> None:
    way = way_of(item, variant, ("isend", "send", "send_barrier", "put_fence", "alltoall"))
    if way == "alltoall":
        return together(made, "alltoall", round(item.bytes), ())
    naive, ranks = variant.get("order") == "naive", range(item.ranks)
    to = [
        [other for other in (ranks if naive else [*ranks[rank + 1 :], *ranks[:rank]]) if other != rank]
        for rank in ranks
    ]
    return exchange_among(made, item, to, way)


def exchange_among(made: programs.Program, item, to: list[list[int]], way: str) -> None:
    """Each rank sends to those of its list, in that order; receives are posted before."""
    put = way == "put_fence"
    in_turn = way in ("send", "send_barrier", "sendrecv")
    last: list[tuple[int, ...]] = [() for _ in to]  # what the next step of each rank waits for
    ends: list[list[int]] = [[] for _ in to]
    for step in range(max(map(len, to), default=0)):
        for rank, others in enumerate(to):
            if step < len(others):
                other = others[step]
                send, receive = transfer(made, item, rank, other, (last[rank], ()), False if put else None)
                ends[rank].append(send)
                ends[other].append(receive)
                if in_turn:
                    last[rank] = (send,)
        if way == "send_barrier":
            together(made, "barrier", 0, [(*one, *end) for one, end in zip(last, ends, strict=True)])
            last = [(len(timeline) - 1,) for timeline in made.timelines]
    if put:
        together(made, "barrier", 0, ends)


WRITERS = {
    "pingpong": one_way,
    "ping": one_way,
    "bidirectional": both_ways,
    "multi_pair": pairs,
    "shift": shift,
    "exchange": exchange,
}


@dataclasses.dataclass
class Simulation:
    """A list of patterns on a machine; `run` runs each."""

    machine: machines.Machine
    lines: list[Line]
    placement: str
    shape: list[int] | None

    def places(self, line: Line) -> list[programs.Place]:
        nodes, each = nodes_of(self.machine, self.shape), int(self.machine.value("ranks_per_node") or 1)
        names = (self.placement, *(name for name in programs.PLACEMENTS if name != self.placement))
        traffic = line.program.traffic()
        try:
            return [programs.place(name, line.item.ranks, nodes, each, traffic) for name in names]
        except SimulationError as error:
            raise refuse(line.item, str(error)) from None

    def documents(self, what_if: bool) -> list[tuple[int, str, dict, dict]]:
        """(number of the line, what is otherwise, document, estimate) of each simulation."""
        found = []
        for number, line in enumerate(self.lines):
            places = self.places(line)
            try:
                estimate = line.program.estimate()
            except SimulationError as error:
                raise refuse(line.item, str(error)) from None
            first = line.program.document(self.machine, places[0].hosts, self.shape)
            found.append((number, "", first, estimate))
            if what_if and estimate["messages"] <= ALTERNATIVES_MESSAGES_MAX:
                for what, machine, place in programs.alternatives(self.machine, self.placement, places):
                    document = line.program.document(machine, place.hosts, self.shape)
                    found.append((number, what, document, estimate))
        return found

    def run(self, simulator=None, on_start=None, what_if: bool = True) -> dict:
        """What `tasuki simulate --patterns --json` writes; `on_start` as that of traced.Simulation.run."""
        asked = self.documents(what_if)
        each = [estimate for *_, estimate in asked]
        total = {name: sum(one[name] for one in each) for name in ("messages", "seconds")}
        total["memory_bytes"] = max(one["memory_bytes"] for one in each)
        with on_start(total, each) if on_start else contextlib.nullcontext() as on_end:
            answers = programs.run_documents([document for _, _, document, _ in asked], simulator, on_end)
        firsts = {
            number: answer for (number, what, *_), answer in zip(asked, answers, strict=True) if not what
        }
        for number, answer in firsts.items():
            if answer.get("stuck"):
                raise refuse(self.lines[number].item, "waits for ever on this machine")
        rows = [self.row(self.lines[number].item, answer) for number, answer in firsts.items()]
        seconds = sum(row["seconds"] for row in rows)
        others: dict[str, float] = {}
        for (number, what, *_), answer in zip(asked, answers, strict=True):
            if what and "seconds" in answer:
                more = (answer["seconds"] - firsts[number]["seconds"]) * self.lines[number].item.count
                others[what] = others.get(what, seconds) + more
        longest = max(range(len(rows)), key=lambda number: rows[number]["seconds"])
        measured = [row["measured_seconds"] for row in rows]
        return {
            "machine": self.machine.name,
            "engine": answers[0]["engine"],
            "estimate": total,
            "placement": self.placement,
            "seconds": seconds,
            "measured_seconds": None if None in measured else sum(measured),
            "lines": rows,
            "reason": f"{rows[longest]['pattern']} takes the most, {share(rows[longest], seconds):.0%}: "
            f"{general_reason(firsts[longest])}",
            "alternatives": [{"what": what, "seconds": other} for what, other in others.items()],
            "advice": programs.advice(seconds, list(others.items())),
        }

    def row(self, item: patterns.Item, answer: dict) -> dict:
        link = answer.get("busiest_link")
        return {
            **{name: getattr(item, name) for name in ("place", "pattern", "ranks", "bytes", "count")},
            "each_seconds": answer["seconds"],
            "seconds": answer["seconds"] * item.count,
            "measured_seconds": item.measured_seconds,
            "algorithms": [one["algorithm"] for one in answer["collectives"]],
            **{name: answer[name] for name in ("messages", "sent_bytes", "carried_bytes", "bound_seconds")},
            "busiest_link": link,
            "processor_busy_seconds": answer["processor_busy_seconds"],
        }


def share(row: dict, seconds: float) -> float:
    return row["seconds"] / seconds if seconds > 0 else 0.0


def simulation(
    items: list[patterns.Item],
    machine: machines.Machine,
    placement: str = "block",
    shape=None,
    way: str = "rounds",
) -> Simulation:
    rate_of(machine, "link_bytes_per_second")
    return Simulation(machine, [line_of(item, machine, way) for item in items], placement, shape)
