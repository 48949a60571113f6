"""A trace as that of more ranks: what would the program do among 8 that was traced among 2?

The job of N ranks is N/P copies of the traced one side by side, rank r of copy j being rank j·P + r. Messages
stay within their copy, but for those of a rank to itself, which go to the next one; a collective of all ranks
is one of all copies, with its root in the first one. The computing between calls, bytes of messages and of
collectives change by a power of the number of ranks:

- With a trace of the same program among fewer ranks, as they changed from there to this one, by place in the
  program and function.
- Else, as in a program that divides one problem: computing by 1/ranks, bytes as `SHRINKS` says; or, where
  each rank has a problem of its own (`weak`), computing not at all. `Replay.notes` says what that rests on.

What one rank alone computes before a collective of all, SERIAL_TIMES as long as any other, does not change,
and the other copies do not have it.
"""

from __future__ import annotations

import collections
import dataclasses
import math

from tasuki import crowded
from tasuki.nodes import Nodes
from tasuki.places import places_of
from tasuki.replay import Builder, Collective, Half, ReplayError, Timeline, uncollected
from tasuki.trace import Trace

# By which power of the ranks the block of a collective shrinks, where one problem is divided.
SHRINKS = {
    **dict.fromkeys(("alltoall", "alltoallv", "alltoallw"), 2.0),
    **dict.fromkeys(("allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv"), 1.0),
    **dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), 1.0),
}
# What is shorter than that before a call is the call's own and a recorder's, and no work to divide.
FIXED_SECONDS = 1e-6
# The least block that is divided: a few numbers for each rank stay what they are.
ELEMENT_BYTES = 8
# Of all computing, and how many: of which places is told that they may not be divided, or were not.
TOLD_SHARE, TOLD_PLACES, UNDIVIDED_POWER = 0.05, 3, -0.8
SERIAL_TIMES, SERIAL_SECONDS = 20.0, 1e-3
POWER_MAX = 2.5  # of what changed from fewer ranks to the traced ones

Place = tuple[str, str]  # a function, and where it is called


@dataclasses.dataclass
class Course:
    """What the ranks of a trace do, without what others computed on their processors meanwhile."""

    builder: Builder
    ranks: int
    alike: dict[
        int, float
    ]  # by id, events before which one rank computes alone: what part of it others do, too
    serial_seconds: float = 0.0  # what such ranks compute

    @classmethod
    def of(cls, trace: Trace) -> Course:
        worlds = {part.world for part in trace.parts}
        if worlds != {0}:
            raise ReplayError(
                f"{trace.path}: among other ranks a program that spawned others is not replayed"
            )
        builder = Builder(trace)
        crowded.own_seconds(builder.timelines, crowded.pools_of(builder.timelines))
        found = cls(builder, trace.parts[0].size, {})
        found.find_serial()
        return found

    def of_all(self, one: Collective) -> bool:
        return one.members == tuple(range(self.ranks))

    def find_serial(self) -> None:
        """By stretches of computing between two collectives of all ranks."""
        stretches: dict[int, dict[Timeline, list]] = collections.defaultdict(dict)
        for timeline in self.builder.timelines:
            stretch = []
            for event in timeline.events:
                stretch.append(event)
                halves = [half for half in event.begins if half.kind == "collective" and self.of_all(half.of)]
                for half in halves:
                    stretches[id(half.of)][timeline] = stretch
                    stretch = []
        for ends in stretches.values():
            sums = sorted(
                (sum(event.gap + event.within for event in events), place)
                for place, events in enumerate(ends.values())
            )
            if len(sums) < 2:
                continue
            (second, _), (most, place) = sums[-2:]
            if most > SERIAL_SECONDS and most > SERIAL_TIMES * second:
                self.serial_seconds += most
                self.alike |= {id(event): second / most for event in list(ends.values())[place]}

    def place_of(self, timeline: Timeline, event) -> Place:
        site = timeline.part.columns["site"][event.row]
        return event.name, timeline.part.sites.get(int(site), "")

    def received_of_itself(self) -> list[Half]:
        found = {}
        for timeline in self.builder.timelines:
            for event in timeline.events:
                for half in (*event.begins, *event.waits):
                    if half.kind == "receive" and half.of is not None and len(set(half.of.ranks)) == 1:
                        found[id(half)] = half
        return list(found.values())

    def texts(self) -> dict[str, str]:
        """Where each place of the trace is in the program's sources."""
        trace, found = self.builder.trace, {}
        known = places_of(trace)
        for part in trace.parts:
            found |= {site: known[id(part)][number].text for number, site in part.sites.items()}
        return found

    @property
    def serial_places(self) -> set[Place]:
        return {
            self.place_of(timeline, event)
            for timeline in self.builder.timelines
            for event in timeline.events
            if id(event) in self.alike
        }

    def sums(self) -> dict[str, dict[Place, tuple[float, int]]]:
        """Computing before calls of each place, by rank, and bytes of a message or a collective there: sums,
        and how many there are."""
        found = {kind: collections.defaultdict(lambda: (0.0, 0)) for kind in ("computing", "bytes")}

        def add(kind: str, place: Place, value: float, count: int) -> None:
            before = found[kind][place]
            found[kind][place] = before[0] + value, before[1] + count

        for timeline in self.builder.timelines:
            for event in timeline.events:
                place = self.place_of(timeline, event)
                if id(event) not in self.alike:
                    add("computing", place, (event.gap + event.within) / self.ranks, 1)
                for half in event.begins:
                    if half.of is not None and half.kind != "receive":
                        add("bytes", place, half.of.bytes if half.kind == "send" else half.of.block, 1)
        return found


class Powers:
    """By which power of the number of ranks a place's computing and bytes change."""

    def __init__(self, course: Course, weak: bool, smaller: Course | None):
        self.weak = weak
        self.known: dict[str, dict[Place, float]] = {"computing": {}, "bytes": {}}
        if smaller is None:
            return
        here, there, span = course.sums(), smaller.sums(), math.log(course.ranks / smaller.ranks)
        for kind, places in here.items():
            for place, (total, count) in places.items():
                if kind == "computing" and place in course.serial_places | smaller.serial_places:
                    continue
                before, times = there[kind].get(place, (0.0, 0))
                if kind == "bytes":
                    total, before = total / count, before / max(times, 1)
                if total > 0 and before > 0:
                    power = math.log(total / before) / span
                    self.known[kind][place] = max(-POWER_MAX, min(POWER_MAX, power))

    def computing(self, place: Place) -> float:
        return self.known["computing"].get(place, 0.0 if self.weak else -1.0)

    def divides(self, place: Place) -> bool:
        """Whether its computing is only taken to go by 1/ranks."""
        return not self.weak and place not in self.known["computing"]

    def bytes(self, place: Place, operation: str) -> float:
        default = SHRINKS.get(operation, 0.0)
        if self.weak:
            default = max(0.0, default - 1.0)
        return self.known["bytes"].get(place, -default)


class ScaledBuilder(Builder):
    """The timelines of a trace among more ranks. REQUIRES: `ranks` is a multiple of those traced."""

    alone = True  # the gaps are without what others computed meanwhile

    @uncollected()
    def __init__(
        self,
        trace: Trace,
        ranks: int,
        weak: bool = False,
        smaller: Trace | None = None,
        nodes: Nodes | None = None,
        processors: int = 0,
    ):
        """`nodes`: where the ranks are, with so many processors each (0: enough); else where they were."""
        traced = trace.parts[0].size
        if ranks % traced:
            raise ReplayError(
                f"{trace.path} has the calls of {traced} ranks: expected a multiple of it, not {ranks}"
            )
        before = Course.of(smaller) if smaller is not None else None
        if before is not None and not before.ranks < traced:
            raise ReplayError(f"{smaller.path} is of {before.ranks} ranks: expected fewer than {traced}")
        self.trace, self.ranks, self.traced = trace, ranks, traced
        self.timelines, self.unmatched = [], 0
        self.courses = [Course.of(trace) for _ in range(ranks // traced)]
        self.powers = Powers(self.courses[0], weak, before)
        self.allowed, self.nodes, self.processors = allowed_of(trace), nodes, processors
        if ranks > traced:
            self.notes = (self.note(weak, smaller), *self.undivided(weak, before))
        for copy, course in enumerate(self.courses):
            self.scale(course, copy)
        self.join_neighbours()
        for copy, course in enumerate(self.courses):
            self.join(course, copy)
            self.unmatched += course.builder.unmatched
            self.timelines += course.builder.timelines

    def note(self, weak: bool, smaller: Trace | None) -> str:
        how = (
            f"as they changed from {smaller.parts[0].size} to {self.traced} ranks"
            if smaller is not None
            else "as where each rank has a problem of its own"
            if weak
            else "as where one problem is divided"
        )
        text = (
            f"{self.ranks} ranks: {len(self.courses)} copies of the {self.traced} traced ones, which meet in "
            f"collectives of all; computing and bytes {how}"
        )
        alone = self.courses[0].serial_seconds
        return text + (f"; {alone:.2g} s that one rank computes alone stay" if alone else "")

    def undivided(self, weak: bool, before: Course | None) -> list[str]:
        """What computing may not go by 1/ranks, or did not."""
        course, texts = self.courses[0], self.courses[0].texts()
        sums = {place: total for place, (total, _) in course.sums()["computing"].items()}
        told: dict[str, float] = collections.Counter()
        for (name, site), total in sums.items():
            power = self.powers.computing((name, site))
            how = "" if before is None else f" by ranks^{power:.2f}"
            if before is None or power > UNDIVIDED_POWER:
                told[f"before {name}" + (f" at {texts[site]}" if texts.get(site) else "") + how] += total
        whole = sum(sums.values())
        most = sorted((text for text in told if told[text] > TOLD_SHARE * whole), key=told.get)[-TOLD_PLACES:]
        if weak or not most:
            return []
        shown = ", ".join(f"{text} ({100 * told[text] / whole:.0f} %)" for text in reversed(most))
        if before is not None:
            return [f"computing that went less than by 1/ranks: {shown}"]
        return [
            "one trace does not tell what computing goes less than by 1/ranks, such as borders that two "
            "ranks compute, tables of one size, work for each other rank: with such the prediction is too "
            f"short, and --smaller with a trace of fewer ranks tells. Most computing is {shown}"
        ]

    def scale(self, course: Course, copy: int) -> None:
        times = self.ranks / self.traced
        blocks: set[int] = set()
        for timeline in course.builder.timelines:
            timeline.copied = copy > 0
            for event in timeline.events:
                place = course.place_of(timeline, event)
                factor = times ** self.powers.computing(place)
                if id(event) in course.alike:
                    factor = factor * course.alike[id(event)] if copy else 1.0
                least = FIXED_SECONDS if self.powers.divides(place) else 0.0
                event.gap = max(event.gap * factor, min(event.gap, least))
                event.within *= factor
                for half in event.begins:
                    if half.of is None or half.kind == "receive":
                        continue
                    if half.kind == "send":
                        half.of.ranks = tuple(rank + copy * self.traced for rank in half.of.ranks)
                        half.of.bytes = round(half.of.bytes * times ** self.powers.bytes(place, "send"))
                    elif id(half.of) not in blocks:
                        blocks.add(id(half.of))
                        block = round(half.of.block * times ** self.powers.bytes(place, half.of.name))
                        half.of.block = max(block, min(half.of.block, ELEMENT_BYTES))
            timeline.rest *= times ** self.powers.computing(("", ""))

    def join_neighbours(self) -> None:
        """What a rank sent to itself goes to the same one of the next copy: as in a grid of ranks that is
        closed, in a direction in which there was one rank."""
        received = [course.received_of_itself() for course in self.courses]
        messages = [[half.of for half in halves] for halves in received]
        for copy, halves in enumerate(received):
            before = copy - 1 if copy else len(received) - 1
            for half, message in zip(halves, messages[before], strict=True):
                half.of = message
                sender = message.ranks[0]
                message.ranks = sender, sender % self.traced + copy * self.traced

    def join(self, course: Course, copy: int) -> None:
        """Gives the copy's ranks their numbers; its collectives of all ranks are the first copy's."""
        offset = copy * self.traced
        instead: dict[int, Collective] = {}
        for key, one in course.builder.collectives.items():
            mine = {rank + offset: times for rank, times in one.recorded.items()}
            if not course.of_all(one):
                one.members, one.recorded = tuple(rank + offset for rank in one.members), mine
                one.root = one.root + offset if one.root >= 0 else one.root
                continue
            if copy == 0:
                one.members, one.size = tuple(range(self.ranks)), self.ranks
                continue
            instead[id(one)] = self.courses[0].builder.collectives[key]
            instead[id(one)].recorded |= mine
        for timeline in course.builder.timelines:
            part = timeline.part
            rank = part.rank + offset
            head = part.head | {"allowed": self.allowed[part.head.get("host", "")]}
            if self.nodes is not None:
                host = f"node {self.nodes.node_of(rank)}"
                head |= {"host": host, "processors": str(self.processors), "allowed": ""}
            timeline.part = dataclasses.replace(part, head=head, rank=rank, size=self.ranks)
            for event in timeline.events:
                for half in (*event.begins, *event.waits):
                    self.turn(half, instead)

    @staticmethod
    def turn(half: Half, instead: dict[int, Collective]) -> None:
        if half.kind == "collective":
            half.of = instead.get(id(half.of), half.of)


def allowed_of(trace: Trace) -> dict[str, str]:
    """By host the processors on which any of its ranks may run: more ranks share them all."""
    found: dict[str, dict[str, None]] = collections.defaultdict(dict)
    for part in trace.parts:
        found[part.head.get("host", "")] |= dict.fromkeys(part.head.get("allowed", "").split(","))
    return {host: ",".join(words) for host, words in found.items()}
