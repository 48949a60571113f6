"""The course of a traced program: what follows from what, and how long each call takes by itself."""

from __future__ import annotations

import bisect
import collections
import dataclasses

from tasuki import places, replay
from tasuki import trace as traces

LOOK_BACK_MAX = 500  # calls of a late rank that are looked at for what held it up


@dataclasses.dataclass(slots=True)
class Wait:
    """A call that waited for a call of another rank."""

    kind: str  # late_sender, late_receiver, collective
    waiter: Step
    late: Step
    seconds: float
    behind: str = ""  # what the late rank did meanwhile: computing, waiting, or a function
    after: str = ""  # the place of the call before most of that computing
    chain: bool = False


class Step:
    """A call on its timeline. `needs`: (kind, step whose begin it waits for)."""

    __slots__ = "event name place row gap begin end work needs waits new_begin new_end phase at hall".split()

    def __init__(self, place, event, name, row, begin, end, phase, at=""):
        self.place, self.event, self.name, self.row, self.phase = place, event, name, row, phase
        self.at = at  # in the program: halo.c:42
        self.begin, self.end = begin, end
        self.gap = self.work = 0.0
        self.needs: list[tuple[str, Step]] = []
        self.waits: list[Wait] = []
        self.new_begin = self.new_end = self.hall = None


class Hall:
    """A collective in which each waits for the last one: kept once, not as each one's need of each other."""

    __slots__ = "steps last run reached".split()

    def __init__(self, steps: list[Step]):
        self.steps, self.last = steps, max(steps, key=lambda step: step.begin)
        self.run, self.reached = 0, 0.0


class Lane:
    """The calls of a thread of a rank."""

    def __init__(self, timeline: replay.Timeline):
        self.timeline, self.part, self.rank = timeline, timeline.part, timeline.part.rank
        self.steps: list[Step] = []
        self.start = 0.0
        self.begins: list[float] = []


class Course:
    """The recorded program: what follows from what, and how long each takes by itself."""

    def __init__(self, trace: traces.Trace, ask=None):
        self.trace = trace
        self.places = places.places_of(trace, ask)
        self.builder = replay.Builder(trace)
        self.runs = 0
        self.lanes = [Lane(one) for one in self.builder.timelines]
        self.instances: list[list[tuple[Lane, Step]]] = []  # of collectives that hold all members
        for lane in self.lanes:
            self.lay_out(lane)
        if not any(lane.steps for lane in self.lanes):
            raise replay.ReplayError(f"{trace.path}: no call between MPI_Init and MPI_Finalize was recorded")
        self.join()
        self.order = self.in_order()
        self.begin = min(lane.start for lane in self.lanes if lane.steps)
        self.end = max(lane.steps[-1].end for lane in self.lanes if lane.steps)

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def in_order(self) -> list[tuple[Step, Step | None, list[Step]]]:
        """All calls, so that what a call needs comes before it: by their ends. With each the next one of its
        rank, and those that it needs."""
        found = []
        for lane in self.lanes:
            end = begin = float("-inf")
            for number, step in enumerate(lane.steps):
                end, begin = max(end, step.end), max(begin, step.begin)
                found.append((end, begin, lane, number))
        found.sort(key=lambda one: one[:2])
        order = []
        for _, _, lane, number in found:
            step, following = lane.steps[number], lane.steps[number + 1 : number + 2]
            needed = [other for _, other in step.needs]
            order.append((step, following[0] if following else None, needed))
        return order

    def lay_out(self, lane: Lane) -> None:
        part, columns = lane.part, lane.part.columns
        lane.start = lane.timeline.start
        phases = traces.category(columns["phase"], part.phases)
        sites, known = columns["site"], self.places[id(part)]
        for event in lane.timeline.events:
            begin, end = columns["begin"][event.row] * 1e-9, columns["end"][event.row] * 1e-9
            lane.steps.append(
                Step(
                    lane,
                    event,
                    event.name,
                    event.row,
                    float(begin),
                    float(end),
                    str(phases[event.row]),
                    known[sites[event.row]].text,
                )
            )
        last = len(part) - 1
        if last >= 0 and lane.steps and columns["thread"][last] == lane.timeline.thread:
            name = part.functions[int(columns["function"][last])]
            if name == "MPI_Finalize":  # all wait there for the last; what it takes by itself counts no more
                begin = float(columns["begin"][last] * 1e-9)
                lane.steps.append(Step(lane, None, name, last, begin, begin, "", known[sites[last]].text))
        before = lane.start
        for step in lane.steps:
            step.gap = max(step.begin - before, 0.0)
            before = step.end
        lane.begins = [step.begin for step in lane.steps]

    def join(self) -> None:
        """Says of each call which calls of other ranks it needs."""
        sent, posted, taken = {}, {}, {}
        halls: dict[int, list[Step]] = collections.defaultdict(list)
        waiting: dict[int, list[Step]] = collections.defaultdict(list)
        collectives = {}
        for lane in self.lanes:
            for step in lane.steps:
                if step.event is None:
                    continue
                for half in step.event.begins:
                    if half.of is None:
                        continue
                    if half.kind == "send":
                        sent[id(half.of)] = step
                    elif half.kind == "receive":
                        posted[id(half.of)] = step
                    else:
                        halls[id(half.of)].append(step)
                        collectives[id(half.of)] = half.of
                for half in step.event.waits:
                    if half.kind == "receive" and half.of is not None:
                        taken[id(half.of)] = step
                    elif half.kind == "collective" and half.of is not None:
                        waiting[id(half.of)].append(step)
        for lane in self.lanes:
            for number, step in enumerate(lane.steps):
                if step.event is None:
                    continue
                waits = step.event.waits
                if lane.part.columns["flags"][step.row] & traces.UNANSWERED and number + 1 < len(lane.steps):
                    following = lane.steps[number + 1].event
                    waits = following.waits if following is not None else waits
                if step.event.probe is not None:
                    self.need(step, "late_sender", sent.get(id(step.event.probe)))
                for half in waits:
                    if half.of is None:
                        continue
                    if half.kind == "receive":
                        self.need(step, "late_sender", sent.get(id(half.of)))
                    elif half.kind == "send" and not half.buffered:
                        self.need_receiver(step, posted.get(id(half.of)), taken.get(id(half.of)))
                    elif half.kind == "collective":
                        self.need_members(step, half.of, halls[id(half.of)], waiting[id(half.of)])
        finals = [lane.steps[-1] for lane in self.lanes if lane.steps and lane.steps[-1].event is None]
        if len(finals) > 1 and len({step.place.part.world for step in finals}) == 1:
            last = max(step.begin for step in finals)
            for step in finals:
                step.end = last
            self.meet(finals, finals)
        for number, found in halls.items():
            if collectives[number].name not in replay.FROM_ROOT | replay.TO_ROOT | replay.PREFIX:
                self.instances.append([(step.place, step) for step in found])
        self.instances.append([(step.place, step) for step in finals])
        for lane in self.lanes:
            for step in lane.steps:
                reached = max([step.begin, *(other.begin for _, other in step.needs)])
                if step.hall is not None:
                    reached = max(reached, step.hall.last.begin)
                step.work = step.end - reached
                self.note_wait(step)

    def need(self, step: Step, kind: str, other: Step | None) -> None:
        # What began later than this one ended was not needed: clocks differ, or the call had a shorter way.
        if other is not None and other.place is not step.place and other.begin <= step.end:
            step.needs.append((kind, other))

    def need_receiver(self, step: Step, posted: Step | None, taken: Step | None) -> None:
        """A sender waited for its receiver if that came meanwhile."""
        if posted is not None and step.begin < posted.begin:
            self.need(step, "late_receiver", posted)
        elif taken is not None and step.begin < taken.begin:
            self.need(step, "late_receiver", taken)

    def meet(self, members: list[Step], waiting: list[Step]) -> None:
        """Those that wait need all members."""
        hall = Hall(members)
        for step in waiting:
            if hall.last.begin <= step.end:
                step.hall = hall
            else:
                for other in members:
                    self.need(step, "collective", other)

    def need_members(
        self, step: Step, one: replay.Collective, members: list[Step], waiting: list[Step]
    ) -> None:
        root = one.root
        if one.name not in replay.FROM_ROOT | replay.TO_ROOT | replay.PREFIX:
            if step is waiting[0] and members:
                self.meet(members, waiting)
            return
        if one.name in replay.FROM_ROOT:
            members = [other for other in members if other.place.rank == root]
        elif one.name in replay.TO_ROOT and step.place.rank != root:
            members = [other for other in members if other.place.rank == root and step.begin < other.begin]
        elif one.name in replay.PREFIX:
            members = [other for other in members if other.place.rank < step.place.rank]
        for other in members:
            self.need(step, "collective", other)

    def note_wait(self, step: Step) -> None:
        """The wait of a call is that for the last one it needed."""
        needs = [*step.needs, ("collective", step.hall.last)] if step.hall is not None else step.needs
        if needs:
            kind, late = max(needs, key=lambda one: one[1].begin)
            if late.begin > step.begin and late.place is not step.place:
                step.waits.append(Wait(kind, step, late, late.begin - step.begin))

    def run(self, gaps=None, work=None, dropped=frozenset()) -> float:
        """Seconds of the program with other gaps (computing before a call), other work of calls, and without
        waiting in those of `dropped`."""
        gaps, work = gaps or {}, work or {}
        self.runs += 1
        for lane in self.lanes:
            if lane.steps:
                lane.steps[0].new_begin = lane.start + gaps.get(lane.steps[0], lane.steps[0].gap)
                for step in lane.steps[1:]:
                    step.new_begin = None
        end = float("-inf")
        for step, following, needed in self.order:
            reached = step.new_begin
            if not dropped or step not in dropped:
                for other in needed:
                    if other.new_begin is not None and other.new_begin > reached:
                        reached = other.new_begin
                if step.hall is not None:
                    reached = max(reached, self.reached(step.hall))
            own = step.new_end = reached + (work.get(step, step.work) if work else step.work)
            if following is not None:
                following.new_begin = own + (gaps.get(following, following.gap) if gaps else following.gap)
            elif own > end:
                end = own
        return end - self.begin

    def reached(self, hall: Hall) -> float:
        """When the last one comes in this run. When first asked, all calls before have their new times."""
        if hall.run != self.runs:
            begins = [step.new_begin for step in hall.steps if step.new_begin is not None]
            hall.run, hall.reached = self.runs, max(begins, default=float("-inf"))
        return hall.reached

    def between(self, lane: Lane, first: float, last: float) -> list[Step]:
        """The calls of a rank in a time, the last ones first."""
        at = bisect.bisect_left(lane.begins, last)
        found = []
        for step in reversed(lane.steps[max(0, at - LOOK_BACK_MAX) : at + 1]):
            if step.end + 0.0 < first and step.begin < first:
                break
            found.append(step)
        return found

    def place_before(self, step: Step) -> str:
        """Where the call before this one is."""
        lane = step.place
        at = bisect.bisect_left(lane.begins, step.begin)
        while at > 0 and lane.steps[at - 1].begin >= step.begin:
            at -= 1
        return lane.steps[at - 1].at if at > 0 else ""

    def find_behind(self, wait: Wait) -> list[Wait]:
        """Says what the late rank did meanwhile; returns the waits it was in then."""
        first, last = wait.waiter.begin, wait.late.begin
        spent: dict[str, float] = collections.Counter()
        waits, longest = [], 0.0
        for step in self.between(wait.late.place, first, last):
            computing = overlap(step.begin - step.gap, step.begin, first, last)
            spent["computing"] += computing
            if computing > longest:
                longest, wait.after = computing, self.place_before(step)
            inside = overlap(step.begin, step.end, first, last)
            for other in step.waits:
                seconds = overlap(step.begin, step.begin + other.seconds, first, last)
                spent["waiting"] += seconds
                inside -= seconds
                if seconds > 0.2 * wait.seconds:
                    waits.append(other)
            spent[step.name] += inside
        wait.behind = max(spent, key=lambda name: spent[name]) if spent else "computing"
        if spent["waiting"] >= 0.3 * wait.seconds:
            return waits
        return []


def overlap(begin: float, end: float, first: float, last: float) -> float:
    return max(0.0, min(end, last) - max(begin, first))


def is_file(name: str) -> bool:
    return name.startswith("MPI_File_")


class Work:
    """Computing that is moved from late ranks to those that waited for them."""

    def __init__(self, course: Course):
        self.course = course
        self.gaps: dict[Step, float] = {}

    def share(self, arrivals: list[Step]) -> None:
        """So that these calls would begin at about the same time."""
        if len(arrivals) < 2:
            return
        mean = sum(step.begin for step in arrivals) / len(arrivals)
        first = min(step.begin for step in arrivals)
        taken = sum(self.take(step, first, step.begin - mean) for step in arrivals if step.begin > mean)
        wanted = sum(mean - step.begin for step in arrivals if step.begin < mean)
        for step in arrivals:
            if step.begin < mean:
                self.gaps[step] = self.gaps.get(step, step.gap) + taken * (mean - step.begin) / wanted

    def take(self, late: Step, first: float, amount: float) -> float:
        taken = 0.0
        for step in self.course.between(late.place, first, late.begin):
            if taken >= amount:
                break
            there = min(
                self.gaps.get(step, step.gap), overlap(step.begin - step.gap, step.begin, first, late.begin)
            )
            part = min(there, amount - taken)
            if part > 0:
                self.gaps[step] = self.gaps.get(step, step.gap) - part
                taken += part
        return taken
