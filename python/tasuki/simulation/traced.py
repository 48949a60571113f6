"""A traced program on a simulated machine: its messages and collectives there, with the computing between its
calls as it was recorded, times a factor.

Which send meets which receive is found as for `tasuki predict` (tasuki.replay). Collectives run the library's
schedules, with the algorithm that it would choose for that machine, or the recorded one where that goes by
messages; those of several block sizes run with their mean. What has no schedule (windows, files, making
communicators, neighbours' collectives) takes what was recorded after the last rank has come; what waits for
something that is not in the trace takes what was recorded. Each rank has a processor of its own.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import pathlib
import re
import tempfile

from tasuki import machines, replay, trace
from tasuki.simulation import MESSAGES_OF_DETAILS_MAX, SimulationError, nodes_of, path, programs, rate_of
from tasuki.simulation import reason as general_reason

PLAIN = {
    **{f"{name}v": name for name in ("alltoall", "allgather", "gather", "scatter")},
    "alltoallw": "alltoall",
    "reduce_scatter_block": "reduce_scatter",
}
KNOWN = set(
    "barrier bcast allreduce reduce scan exscan allgather alltoall gather scatter reduce_scatter".split()
)
MESSAGES = re.compile(r"MPI_[IP]?([bsr]?send|recv)", re.IGNORECASE)  # with MPI_PROC_NULL they take nothing
REDUCE = {"allreduce", "reduce", "scan", "exscan", "reduce_scatter"}


@dataclasses.dataclass
class Traced:
    program: programs.Program
    builder: replay.Builder
    timelines: list[replay.Timeline]
    names: list[list[str]]  # the call that each operation of each timeline belongs to
    calls: list[tuple]  # (timeline, event, operation at its begin, operation at its end)
    as_recorded: int  # calls that take what was recorded
    recorded_seconds: float  # what the program took


def load(place: str | pathlib.Path) -> trace.Trace:
    """A trace: a file, or a folder with one, or with the parts of one."""
    place = pathlib.Path(place)
    if not place.is_dir():
        return trace.load(place)
    whole = sorted(place.glob("*.trace"))
    parts = sorted(place.glob("*.part"))
    if len(whole) == 1:
        return trace.load(whole[0])
    if len(whole) > 1 or not parts:
        raise SimulationError(
            f"{place}: {len(whole)} files *.trace and {len(parts)} *.part, expected one trace or its parts"
        )
    with tempfile.TemporaryDirectory() as folder:
        merged = pathlib.Path(folder) / "whole.trace"
        trace.merge(parts, merged)
        found = trace.load(merged)
    found.path = str(place)
    return found


class Maker:
    """Writes the program of a trace."""

    def __init__(
        self, loaded: trace.Trace, machine: machines.Machine, factor: float, recorded: bool, way: str
    ):
        self.builder = replay.Builder(loaded)
        self.timelines = [one for one in self.builder.timelines if one.events]
        if not self.timelines:
            raise SimulationError(f"{loaded.path}: has no call between MPI_Init and MPI_Finalize")
        self.factor, self.recorded = factor, recorded
        self.order = {id(part): number for number, part in enumerate(loaded.parts)}
        self.program = programs.Program(machine, [self.order[id(one.part)] for one in self.timelines], way)
        self.operations: dict[int, int] = {}  # of each half, by its id
        self.messages: dict[int, int] = {}  # by the id of a replay.Message
        self.together: dict[int, tuple[str, int]] = {}  # by the id of a replay.Collective: kind and number
        self.names: list[list[str]] = [[] for _ in self.timelines]
        self.calls: list[tuple] = []
        self.as_recorded = 0

    def make(self) -> Traced:
        self.note_messages()
        self.note_collectives()
        for number, timeline in enumerate(self.timelines):
            self.write(number, timeline)
        first = min(one.start for one in self.timelines)
        last = max(
            float(one.part.columns["end"][one.events[-1].row]) * 1e-9 + one.rest for one in self.timelines
        )
        return Traced(
            self.program,
            self.builder,
            self.timelines,
            self.names,
            self.calls,
            self.as_recorded,
            max(last - first, 0.0),
        )

    def events(self):
        return (
            (number, timeline, event)
            for number, timeline in enumerate(self.timelines)
            for event in timeline.events
        )

    def note_messages(self) -> None:
        """Those of which both ends are in the trace."""
        ends: dict[int, list] = {}
        for number, _, event in self.events():
            for half in event.begins:
                if half.kind in ("send", "receive") and half.of is not None:
                    sender, receiver, _, synchronous = ends.get(id(half.of), (None, None, None, False))
                    if half.kind == "send":
                        sender = number
                        synchronous = True if "ssend" in event.name.lower() else None
                        synchronous = False if half.buffered else synchronous
                    else:
                        receiver = number
                    ends[id(half.of)] = [sender, receiver, half.of.bytes, synchronous]
        for key, (sender, receiver, bytes, synchronous) in ends.items():
            if sender is not None and receiver is not None:
                self.messages[key] = self.program.message(sender, receiver, bytes, synchronous)

    def note_collectives(self) -> None:
        members: dict[int, dict[int, int]] = collections.defaultdict(dict)
        sizes: dict[int, list] = collections.defaultdict(list)
        found: dict[int, tuple] = {}
        for number, timeline, event in self.events():
            for half in event.begins:
                if half.kind == "collective":
                    members[id(half.of)][timeline.part.rank] = number
                    columns = timeline.part.columns
                    sizes[id(half.of)].append(
                        (int(columns["sent"][event.row]), int(columns["received"][event.row]))
                    )
                    found[id(half.of)] = (half.of, timeline.part, event.row)
        for key, (one, part, row) in found.items():
            if set(members[key]) != set(one.members):
                continue  # some ranks' calls are not in the trace
            name = PLAIN.get(one.name, one.name)
            group = part.groups.get(int(part.columns["group"][row]))
            ranks = group.members if group is not None and len(group.members) == one.size else one.members
            if name not in KNOWN or (group is not None and group.remote):
                self.together[key] = ("meet", self.program.meeting(one.size))
                continue
            size = bytes_of(one, name, sizes[key])
            told = part.algorithms.get(int(part.columns["algorithm"][row]), "") if self.recorded else ""
            root = ranks.index(one.root) if one.root in ranks else 0
            those = tuple(members[key][rank] for rank in ranks)
            self.together[key] = (
                "collective",
                self.program.call(name, size, those, told or "*", root),
            )

    def write(self, number: int, timeline) -> None:
        cursor: tuple[int, ...] = ()
        late = timeline.start - min(one.start for one in self.timelines)
        if timeline.thread > 0 or timeline.part.world > 0:  # it began amid the others
            cursor = (self.program.alone(number, late, ()),)
        for event in timeline.events:
            begin = self.program.add(number, "compute", 0, (event.gap + event.within) * self.factor, cursor)
            halves = [self.half(number, timeline, event, half, begin) for half in event.begins]
            waited = [self.operations.get(id(half)) for half in event.waits]
            if None in halves or None in waited:  # its other end is not in the trace
                self.as_recorded += 1
                halves = [one for one in halves if one is not None]
                waited = [one for one in waited if one is not None]
                waited.append(self.program.alone(number, event.length, (begin,)))
            elif event.unpriced and not event.begins and not event.waits and not MESSAGES.match(event.name):
                waited.append(self.program.alone(number, event.length, (begin,)))
            early = [one for one in halves if self.ends_at_once(number, one)]
            end = self.program.add(number, "join", 0, 0.0, dict.fromkeys((begin, *waited, *early)))
            self.names[number] += [event.name] * (end + 1 - len(self.names[number]))
            self.calls.append((number, event, begin, end))
            cursor = (end,)
        self.program.add(number, "compute", 0, timeline.rest * self.factor, cursor)
        self.names[number].append("MPI_Finalize")

    def ends_at_once(self, number: int, operation: int) -> bool:
        """Of a send that waits for nothing: its call lasts until the processor is through with it."""
        kind, message = self.program.timelines[number][operation][:2]
        return kind == "send" and self.program.messages[message][3] == "eager"

    def half(self, number: int, timeline, event, half, begin: int) -> int | None:
        if half.kind == "collective":
            kind, of = self.together.get(id(half.of), (None, 0))
            if kind is None:
                return None
            seconds = 0.0
            if kind == "meet":
                last = max(begun for begun, _ in half.of.recorded.values())
                seconds = max(half.of.recorded[timeline.part.rank][1] - last, 0.0)
            found = self.program.add(number, kind, of, seconds, (begin,))
        else:
            message = self.messages.get(id(half.of)) if half.of is not None else None
            if message is None:
                return None
            found = self.program.add(number, half.kind, message, 0.0, (begin,))
        self.operations[id(half)] = found
        return found


def bytes_of(one: replay.Collective, name: str, sizes: list[tuple[int, int]]) -> int:
    """As src/sim/collective.hpp counts them; of forms with several sizes the mean."""
    size = one.block
    if one.name.endswith(("v", "w")):
        sent, received = (sum(column) / len(sizes) for column in zip(*sizes, strict=True))
        mean = received if name == "scatter" else sent / one.size if name == "alltoall" else sent
        size = round(mean) or one.block
    if name == "reduce_scatter":
        size *= one.size
    if name in REDUCE:
        size = -(-size // 8) * 8
    return size if name != "barrier" else 0


@dataclasses.dataclass
class Simulation:
    """A trace's program on a machine; `run` runs it."""

    trace: trace.Trace
    machine: machines.Machine
    traced: Traced
    places: list[programs.Place]  # the one that is used, and others
    shape: list[int] | None
    spans: list = dataclasses.field(default_factory=list)  # what each timeline did when, once it has run

    @property
    def program(self) -> programs.Program:
        return self.traced.program

    def documents(self, what_if: bool) -> list[tuple[str, dict]]:
        """The program as it is, and what could be otherwise, each with what that is called."""
        try:
            small = self.program.estimate()["messages"] <= MESSAGES_OF_DETAILS_MAX
        except SimulationError as error:
            raise SimulationError(f"{self.trace.path}: {error}") from None
        first, others = self.places[0], []
        if small and what_if:
            others = programs.alternatives(self.machine, first.name, self.places)
        wanted = {"ends": True, "links": True, "spans": small}
        found = [("", self.program.document(self.machine, first.hosts, self.shape, **wanted))]
        found += [(what, self.program.document(of, place.hosts, self.shape)) for what, of, place in others]
        if small and what_if:
            found.append(("computing of twice the speed", twice_the_speed(found[0][1])))
        return found

    def estimate(self, documents: list) -> dict:
        one = self.program.estimate()
        return {
            "messages": one["messages"] * len(documents),
            "seconds": one["seconds"] * len(documents),
            "memory_bytes": one["memory_bytes"],
        }

    def run(self, simulator=None, on_start=None, what_if: bool = True) -> dict:
        """What `tasuki simulate --trace --json` writes. `on_start(total, each)`: gives what is to be called
        with the number of each simulation that has ended. `what_if`: also with what could be otherwise."""
        documents = self.documents(what_if)
        total, one = self.estimate(documents), self.program.estimate()
        with on_start(total, [one] * len(documents)) if on_start else contextlib.nullcontext() as on_end:
            answers = programs.run_documents([document for _, document in documents], simulator, on_end)
        answer = answers[0]
        self.refuse_stuck(answer)
        others = zip((what for what, _ in documents[1:]), answers[1:], strict=True)
        others = [(what, other["seconds"]) for what, other in others if "seconds" in other]
        return self.told(answer, total, others)

    def refuse_stuck(self, answer: dict) -> None:
        """What never ends there: a program that relies on sends being buffered."""
        if not answer.get("stuck"):
            return
        timeline, operation = answer["stuck"][0]
        name = self.traced.names[timeline][operation]
        most = self.program.eager_bytes_max
        raise SimulationError(
            f"{self.trace.path}: on {self.machine.name} rank {self.program.ranks[timeline]} waits in {name} "
            f"for ever: it relies on sends of more than {most or 0:g} bytes that wait for no receive "
            "(--set eager_bytes_max=BYTES takes another limit)"
        )

    def told(self, answer: dict, total: dict, others: list[tuple[str, float]]) -> dict:
        seconds = answer["seconds"]
        self.spans = answer.get("spans", [])
        sentence = path.sentence(path.critical_path(self.spans), seconds) if self.spans else ""
        return {
            "trace": self.trace.path,
            "machine": self.machine.name,
            "engine": answer["engine"],
            "estimate": total,
            "ranks": len(self.trace.parts),
            "placement": self.places[0].name,
            "nodes": self.places[0].hosts,
            "seconds": seconds,
            "recorded_seconds": self.traced.recorded_seconds,
            **{
                name: answer[name]
                for name in ("messages", "sent_bytes", "network_bytes", "carried_bytes", "bound_seconds")
            },
            "busiest_link": answer.get("busiest_link"),
            "functions": self.by_function(answer),
            "ranks_of": self.by_rank(answer),
            "collectives": self.collectives(answer),
            "links": answer["links"],
            "reason": reason(answer, self.program.ranks),
            "critical_path": sentence,
            "alternatives": [{"what": what, "seconds": other} for what, other in others],
            "advice": programs.advice(seconds, others),
            "notes": self.notes(answer),
        }

    def by_function(self, answer: dict) -> list[dict]:
        found: dict[str, dict] = {}
        for timeline, event, begin, end in self.traced.calls:
            ends = answer["ends"][timeline]
            one = found.setdefault(
                event.name, {"function": event.name, "calls": 0, "recorded_seconds": 0.0, "seconds": 0.0}
            )
            one["calls"] += 1
            one["recorded_seconds"] += event.length
            one["seconds"] += ends[end] - ends[begin]
        return sorted(found.values(), key=lambda one: -one["seconds"])

    def by_rank(self, answer: dict) -> list[dict]:
        found = []
        for number, timeline in enumerate(self.traced.timelines):
            computing = answer["computing_seconds"][number]
            found.append(
                {
                    "world": timeline.part.world,
                    "rank": timeline.part.rank,
                    "thread": timeline.thread,
                    "node": self.places[0].hosts[self.program.ranks[number]],
                    "computing_seconds": computing,
                    "mpi_seconds": max(answer["timeline_seconds"][number] - computing, 0.0),
                    "end_seconds": answer["timeline_seconds"][number],
                }
            )
        return found

    def collectives(self, answer: dict) -> list[dict]:
        """Of each kind of call: how often, and the algorithm."""
        calls = collections.Counter(self.program.calls)
        found: dict[tuple, dict] = {}
        for number, (asked, chosen) in enumerate(
            zip(self.program.collectives, answer["collectives"], strict=True)
        ):
            key = (asked["operation"], asked["bytes"], len(asked["members"]), chosen["algorithm"])
            names = ("operation", "bytes", "ranks", "algorithm")
            one = found.setdefault(key, dict(zip(names, key, strict=True)) | {"calls": 0})
            one["calls"] += calls[number]
        return sorted(found.values(), key=lambda one: (one["operation"], one["bytes"], one["ranks"]))

    def notes(self, answer: dict) -> list[str]:
        notes = list(self.trace.troubles)
        for number, what in (
            (self.traced.as_recorded, "calls wait for what is not in the trace: they take what was recorded"),
            (self.traced.builder.unmatched, "sends and receives have no other end in the trace"),
        ):
            if number:
                notes.append(f"{number} {what}")
        other = sum(
            asked["algorithm"] not in ("*", chosen["algorithm"])
            for asked, chosen in zip(self.program.collectives, answer["collectives"], strict=True)
        )
        if other:
            notes.append(
                f"{other} kinds of collectives were recorded with an algorithm that goes without messages "
                "or is not valid there: the library's choice is taken"
            )
        met = sum(kind == "meet" for timeline in self.program.timelines for kind, *_ in timeline)
        if met > self.traced.as_recorded:
            number = met - self.traced.as_recorded
            notes.append(f"{number} calls have no schedule: they take what was recorded")
        if self.program.eager_bytes_max is None:
            notes.append(
                f"{self.machine.name} tells no eager_bytes_max: no send waits for its receive "
                "(--set eager_bytes_max=BYTES)"
            )
        processors = self.trace.processors
        if processors and len(self.trace.parts) > processors:
            notes.append(
                f"{len(self.trace.parts)} ranks shared {processors} processors when they were recorded: "
                "their computing is longer than it would be alone (--compute-factor)"
            )
        return notes


def twice_the_speed(document: dict) -> dict:
    (case,) = document["cases"]
    told = case["program"]
    timelines = [
        [[one[0], one[1], one[2] / 2 if one[0] == "compute" else one[2], *one[3:]] for one in timeline]
        for timeline in told["timelines"]
    ]
    return document | {"cases": [{"program": told | {"timelines": timelines}}]}


def reason(answer: dict, ranks: list[int]) -> str:
    """What limits a program, in a sentence."""
    seconds, link = answer["seconds"], answer.get("busiest_link")
    if seconds <= 0:
        return "nothing takes time"
    if link and link["busy"] >= 0.8:
        return general_reason(answer)
    shares = [one / seconds for one in answer["computing_seconds"]]
    most = max(shares)
    who = f"rank {ranks[shares.index(most)]} computes {most:.0%} of the time"
    if most >= 0.8:
        return f"computing limits it: {who}, the ranks {sum(shares) / len(shares):.0%} in the mean"
    busy = f", the busiest link works {link['busy']:.0%}" if link else ""
    return (
        f"waiting limits it: {who}, the ranks {sum(shares) / len(shares):.0%} in the mean{busy}; "
        "the rest is waiting for messages and for others"
    )


def simulation(
    loaded: trace.Trace,
    machine: machines.Machine,
    placement: str = "block",
    shape=None,
    factor: float = 1.0,
    recorded: bool = False,
    way: str = "rounds",
) -> Simulation:
    """`placement`: a name or a file; `factor`: of the computing; `recorded`: the algorithms as recorded."""
    rate_of(machine, "link_bytes_per_second")
    made = Maker(loaded, machine, factor, recorded, way).make()
    ranks, nodes = len(loaded.parts), nodes_of(machine, shape)
    each, traffic = int(machine.value("ranks_per_node") or 1), made.program.traffic()
    names = (placement, *(name for name in programs.PLACEMENTS if name != placement))
    places = [programs.place(name, ranks, nodes, each, traffic) for name in names]
    return Simulation(loaded, machine, made, places, shape)
