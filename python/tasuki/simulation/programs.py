"""Programs on a simulated machine: what the threads of each rank compute, send, receive and call.

A `Program` is written operation by operation, by tasuki.simulation.traced (a trace) or .patterns (a pattern),
and run by tasuki-simulate (src/sim/program_case.hpp has the document). Each collective runs the library's own
schedule. Of messages those above the machine's eager_bytes_max wait for their receives.
"""

from __future__ import annotations

import dataclasses
import math

from tasuki import machines
from tasuki.simulation import Case, SimulationError, ask_each, messages_of, request

MESSAGES_MAX = 20e6
OPERATIONS_MAX = 4e6
BYTES_OF_OPERATION, BYTES_OF_MESSAGE = 700, 400  # of memory, measured
OPERATIONS_A_SECOND, MESSAGES_A_SECOND = 150e3, 80e3
MESSAGES_UNDER_WAY = 4  # of a rank, where the machine does not tell
SECONDS_OF_SHARING = 1.7e-9  # of a message, times the square of how many share links with it: measured
SHARING_MAX = 1000  # beyond, that is taken for regular
SECONDS_MAX = 3600


class Program:
    """`ranks`: the rank of each timeline."""

    def __init__(self, machine: machines.Machine, ranks: list[int], way: str = "rounds"):
        self.ranks, self.way = ranks, way
        self.eager_bytes_max = machine.value("eager_bytes_max")
        self.messages_under_way = int(machine.value("messages_under_way") or MESSAGES_UNDER_WAY)
        self.messages: list[list] = []
        self.timelines: list[list] = [[] for _ in ranks]
        self.collectives: list[dict] = []
        self.calls: list[int] = []
        self.meetings: list[int] = []
        self.known: dict[tuple, int] = {}

    def add(self, timeline: int, kind: str, number: int = 0, seconds: float = 0.0, after=()) -> int:
        """An operation that starts when those of `after` are over; its number in the timeline."""
        self.timelines[timeline].append([kind, number, seconds, *after])
        return len(self.timelines[timeline]) - 1

    def message(self, sender: int, receiver: int, bytes: float, rendezvous: bool | None = None) -> int:
        """Between two timelines; `rendezvous`: None for what the machine does with that size."""
        if rendezvous is None:
            rendezvous = self.eager_bytes_max is not None and bytes > self.eager_bytes_max
        self.messages.append([sender, receiver, float(bytes), "rendezvous" if rendezvous else "eager"])
        return len(self.messages) - 1

    def call(self, operation: str, bytes: int, members: tuple[int, ...], algorithm="*", root: int = 0) -> int:
        """A collective of these timelines, in the order of their ranks."""
        key = (operation, bytes, members, algorithm, root)
        if key not in self.known:
            self.known[key] = len(self.collectives)
            case = Case(operation, bytes, algorithm, way=self.way).document()
            eager = math.inf if self.eager_bytes_max is None else self.eager_bytes_max
            case |= {"members": members, "root": root, "or_chosen": True, "eager_bytes_max": min(eager, 1e18)}
            self.collectives.append(case)
        self.calls.append(self.known[key])
        return len(self.calls) - 1

    def meeting(self, number: int) -> int:
        """So many operations that wait for one another."""
        self.meetings.append(number)
        return len(self.meetings) - 1

    def alone(self, timeline: int, seconds: float, after) -> int:
        """What takes its time and is neither computing nor a message."""
        return self.add(timeline, "meet", self.meeting(1), seconds, after)

    def traffic(self) -> dict[tuple[int, int], float]:
        """Bytes between pairs of ranks, without those of collectives."""
        found: dict[tuple[int, int], float] = {}
        for sender, receiver, bytes, _ in self.messages:
            pair = tuple(sorted((self.ranks[sender], self.ranks[receiver])))
            found[pair] = found.get(pair, 0.0) + bytes
        return found

    def estimate(self) -> dict:
        """What it will take; refuses what is too large."""
        each = [
            messages_of(Case(one["operation"], one["bytes"]), len(one["members"]), 1)
            if len(one["members"]) > 1
            else 0.0
            for one in self.collectives
        ]
        messages = len(self.messages) + sum(each[number] for number in self.calls)
        operations = sum(map(len, self.timelines))
        for what, number, most in (
            ("messages", messages, MESSAGES_MAX),
            ("operations", operations, OPERATIONS_MAX),
        ):
            if number > most:
                raise SimulationError(f"about {number:.2g} {what}, expected at most {most:.0e}")
        under_way = min(len(self.messages), SHARING_MAX, len(self.ranks) * self.messages_under_way)
        seconds = messages / MESSAGES_A_SECOND + operations / OPERATIONS_A_SECOND
        seconds += SECONDS_OF_SHARING * under_way**2 * len(self.messages)
        if seconds > SECONDS_MAX:
            raise SimulationError(f"about {seconds / 3600:.1f} hours of work, expected at most one")
        return {
            "messages": messages,
            "seconds": seconds,
            "memory_bytes": 30e6
            + operations * BYTES_OF_OPERATION
            + (len(self.messages) + max(each, default=0)) * BYTES_OF_MESSAGE,
        }

    def document(self, machine: machines.Machine, hosts: list[int], shape=None, **wanted) -> dict:
        """What the simulator reads, with the host of each rank. `wanted`: ends, links, spans."""
        document = request(machine, [], shape)
        told = {
            "hosts": [hosts[rank] for rank in self.ranks],
            "messages": self.messages,
            "timelines": self.timelines,
            "collectives": self.collectives,
            "calls": self.calls,
            "meetings": self.meetings,
            "control_seconds": machine.value("control_seconds") or 0,
            "messages_under_way": self.messages_under_way,
        }
        return document | {"cases": [{"program": told} | wanted]}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where ranks are: a name, and the host of each."""

    name: str
    hosts: list[int]


PLACEMENTS = ("block", "round_robin", "traffic")


def place(text: str, ranks: int, nodes: int, each: int, traffic: dict) -> Place:
    """By name, or of a file that has the number of a node for each rank. `each`: ranks that a node takes."""
    if text not in PLACEMENTS:
        return placed_by_file(text, ranks, nodes, each)
    if ranks > nodes * each:
        raise SimulationError(
            f"{ranks} ranks, expected at most {nodes * each}: {nodes} nodes of {each} "
            "(--shape and --set ranks_per_node=N take others)"
        )
    used = math.ceil(ranks / each)
    if text == "round_robin":
        return Place(text, [rank % used for rank in range(ranks)])
    order = by_traffic(ranks, each, traffic) if text == "traffic" else range(ranks)
    hosts = [0] * ranks
    for number, rank in enumerate(order):
        hosts[rank] = number // each
    return Place(text, hosts)


def placed_by_file(path: str, ranks: int, nodes: int, each: int) -> Place:
    try:
        with open(path) as file:
            words = file.read().split()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        raise SimulationError(
            f"--placement {path}: {why}; expected {', '.join(PLACEMENTS)} or a file of nodes"
        ) from None
    for number, word in enumerate(words):
        if not word.isdecimal() or int(word) >= nodes:
            raise SimulationError(
                f"{path}: node {word!r} of rank {number}, expected one from 0 to {nodes - 1}"
            )
    if len(words) != ranks:
        raise SimulationError(f"{path}: {len(words)} nodes, expected one for each of {ranks} ranks")
    hosts = list(map(int, words))
    for host in set(hosts):
        if hosts.count(host) > each:
            raise SimulationError(
                f"{path}: {hosts.count(host)} ranks on node {host}, expected at most {each}"
            )
    return Place(path, hosts)


def by_traffic(ranks: int, each: int, traffic: dict) -> list[int]:
    """The ranks in an order in which nodes are filled: next comes the one that exchanges the most with those
    of the node that is being filled, or, for a new node, with those of the one before."""
    near: list[dict[int, float]] = [{} for _ in range(ranks)]
    for (one, other), bytes in traffic.items():
        if one != other:
            near[one][other] = near[other][one] = bytes
    left = dict.fromkeys(range(ranks))
    order: list[int] = []
    pull: dict[int, float] = {}
    while left:
        if len(order) % each == 0:
            pull = {}
            for rank in order[-each:]:
                for other, bytes in near[rank].items():
                    if other in left:
                        pull[other] = pull.get(other, 0.0) + bytes
        rank = max(pull, key=lambda one: (pull[one], -one), default=next(iter(left)))
        pull.pop(rank, None)
        del left[rank]
        order.append(rank)
        for other, bytes in near[rank].items():
            if other in left:
                pull[other] = pull.get(other, 0.0) + bytes
    return order


def alternatives(machine: machines.Machine, text: str, places: list[Place]) -> list[tuple]:
    """(sentence's beginning, machine, place) of what could be otherwise: another mapping, a faster machine.
    `places`: the one that is used, and others."""
    found = []
    for other in places[1:]:
        if all(other.hosts != one.hosts for one in (places[0], *(one for _, _, one in found))):
            found.append((f"placement {other.name} instead of {text}", machine, other))
    total = machine.value("total_bytes_per_second")
    faster = machine.with_value("link_bytes_per_second", 2 * (machine.value("link_bytes_per_second") or 0))
    if total is not None:
        faster = faster.with_value("total_bytes_per_second", 2 * total)
    found.append(("links of twice the rate", faster, places[0]))
    quicker = machine
    for name in ("software_seconds", "hardware_seconds", "control_seconds"):
        if machine.value(name):
            quicker = quicker.with_value(name, machine.value(name) / 2)
    found.append(("half the latency (software and hardware)", quicker, places[0]))
    return found


def advice(seconds: float, others: list[tuple[str, float]]) -> list[str]:
    """Sentences: what each change would make of the time, the best first; what changes nothing in one."""
    said, nothing = [], []
    for what, other in sorted(others, key=lambda one: one[1]):
        ratio = other / seconds if seconds > 0 else 1.0
        if ratio < 0.995:
            said.append(f"{what} would save {1 - ratio:.1%} of the time")
        elif ratio > 1.005:
            said.append(f"{what} would take {ratio:.2f} times as long")
        else:
            nothing.append(what)
    return said + ([f"{', '.join(nothing)} would change nothing"] if nothing else [])


def run_documents(documents: list[dict], simulator=None, on_end=None) -> list[dict]:
    """The answers, each with its engine; what waits for ever is a SimulationError."""
    return [answer | {"engine": engine} for answer, engine in ask_each(documents, simulator, on_end=on_end)]
