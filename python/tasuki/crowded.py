"""Replay of ranks that share processors: more ranks on a host, or on some processors of it, than these are.

What was recorded between two calls of a rank then holds times in which others ran, and a call ends only
when the rank has a processor again. So two things are done:

- `own_seconds` takes the others' part out of what was recorded: at each moment the ranks there that compute
  (that are outside of MPI) share the processors evenly.
- `CrowdedEngine` runs all timelines in the order of time. Each rank is at home at one of the processors. It
  needs that to compute, to begin a call and for its own work in it; it gives it away when it has to wait, or
  after a time slice if another one wants it; so does a test that finds nothing. They get it in the order in
  which they came, and one that waited goes on a change of processes later. A processor whose ranks all have
  waited for OFFER_SECONDS takes one of another's. All that a rank waits for a processor in a call is in MPI.
"""

from __future__ import annotations

import collections
import heapq
import math
import re

import numpy as np

from tasuki.replay import FROM_ROOT, PREFIX, TO_ROOT, Collective, Engine, Timeline

SLICE_SECONDS = 3e-3  # Linux's, of a rank that computes while others want its processor
# A change of processes by sched_yield, with the look of the new one at what it waits for: a token between two
# ranks on one processor takes 1.4 to 1.7 µs a hop, around four ranks 3.1, for those that wait look in turn,
# whichever way it goes; where each goes over 4 KiB to 256 KiB in between 0.8 to 3.7 more than that alone. So
# caches to fill again cost nothing that shows (AMD EPYC, Linux 6, 64 KiB and 1 MiB of own cache).
SWITCH_SECONDS = 1.6e-6
# Until a processor goes on that all its ranks have left: an answer takes 22 to 37 µs more from a rank that
# has slept.
WAKE_SECONDS = 25e-6
# So long a rank that waits looks again and again, and its processor is not idle.
OFFER_SECONDS = 200e-6

Where = tuple[str, str]  # a host, and the processors of it on which a rank may run


class Processor:
    """One of a pool, and the ranks that are at home there."""

    def __init__(self, pool: Pool):
        self.pool = pool
        self.ranks: list[Timeline] = []
        self.wanted: collections.deque[Timeline] = collections.deque()
        self.free_since: float | None = None  # else a rank has it

    def is_idle(self, time: float) -> bool:
        """Whether its ranks, which all wait, have stopped to look: the system then moves others here."""
        return self.free_since is not None and time >= self.free_since + OFFER_SECONDS


class Pool:
    """Processors of a host."""

    def __init__(self, processors: int):
        self.processors = processors
        self.each = [Processor(self) for _ in range(processors)]


def pools_of(timelines: list[Timeline]) -> dict[Where, Pool]:
    """Those processors of which there are fewer than threads that call there."""
    found = {}
    for where, count in collections.Counter(where_of(one) for one in timelines).items():
        known = min(processors_of(one) for one in timelines if where_of(one) == where)
        if 0 < known < count:
            found[where] = Pool(known)
    return found


def where_of(timeline: Timeline) -> Where:
    head = timeline.part.head
    return head.get("host", ""), head.get("allowed", "")


def processors_of(timeline: Timeline) -> int:
    """Those of the host, or how many of them the rank may run on; 0: not known."""
    head = timeline.part.head
    allowed = 0
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", head.get("allowed", "")):
        allowed += int(last or first) - int(first) + 1
    known = int(head.get("processors", "0") or 0)
    return min(known, allowed) if known and allowed else known or allowed


def own_seconds(timelines: list[Timeline], pools: dict[Where, Pool]) -> None:
    """Takes from each event's gap the part in which other ranks on its processors ran, and from what its call
    takes at least: they ran in those that took longer than usual, and in most that complete requests."""
    for where, pool in pools.items():
        spans, events = [], []
        for timeline in timelines:
            if where_of(timeline) == where:
                begins = timeline.part.columns["begin"]
                for event in timeline.events:
                    event.floor = event.usual or (0.0 if event.completes else event.floor)
                    at = begins[event.row] * 1e-9
                    for name, end in (("gap", at), ("within", at + event.within)):
                        if name == "gap" or event.within:
                            spans.append((end - getattr(event, name), end))
                            events.append((event, name))
        begins, ends = np.array(spans).reshape(-1, 2).T
        times = np.concatenate([begins, ends])
        order = np.argsort(times, kind="stable")
        computing = np.cumsum(np.repeat([1, -1], len(begins))[order])
        times = times[order]
        share = np.minimum(1.0, pool.processors / np.maximum(computing[:-1], 1))
        done = np.concatenate([[0.0], np.cumsum(share * np.diff(times))])
        own = np.interp(ends, times, done) - np.interp(begins, times, done)
        for (event, name), seconds in zip(events, own.tolist(), strict=True):
            setattr(event, name, min(getattr(event, name), seconds))


class CrowdedEngine(Engine):
    """Steps: "run" (has a processor, and computes), "ran" (has computed for a while), "ready" (its call
    is over, as soon as it has a processor), "look" (something came that it may wait for), "free" (a
    processor)."""

    def __init__(self, builder, pricer, compute_factor: float, pools: dict[Where, Pool]):
        super().__init__(builder, pricer, compute_factor)
        self.pools = pools
        self.pool_of = {one: pools.get(where_of(one)) for one in builder.timelines}
        self.pool_of_rank = {one.part.rank: pool for one, pool in self.pool_of.items() if one.part.world == 0}
        self.home_of: dict[Timeline, Processor] = {}
        self.on: dict[Timeline, Processor] = {}  # which the ranks have that have one
        self.steps: list[tuple] = []
        self.time = 0.0
        self.serial = 0
        self.left: dict[Timeline, float] = {}  # to compute before the next call
        self.waiting: dict[Timeline, bool] = {}  # in a call; True: will look
        self.waits_since: dict[Timeline, float] = {}  # in a call that cannot end yet
        self.work: dict[Timeline, float] = {}  # of its own in a call whose waits are over

    def at(self, time: float, step: str, what) -> None:
        self.serial += 1
        heapq.heappush(self.steps, (time, self.serial, step, what))

    def begin(self, timelines: list[Timeline]) -> None:
        if not self.builder.alone:
            own_seconds(timelines, self.pools)
        for timeline in timelines:
            if self.pool(timeline) is not None:
                for event in timeline.events:
                    event.share_in_mpi = 1.0  # its processor is given away in calls
        self.find_homes(timelines)
        for timeline in sorted(timelines, key=lambda one: one.now):
            self.want(timeline, timeline.now)

    def go_on(self) -> None:
        while self.steps:
            self.time, _, step, what = heapq.heappop(self.steps)
            getattr(self, step)(what)

    def wake(self, timeline: Timeline | None) -> None:
        if timeline is not None and self.waiting.get(timeline) is False:
            self.waiting[timeline] = True
            self.at(self.time, "look", timeline)

    # ---- processors ----

    def pool(self, timeline: Timeline) -> Pool | None:
        return self.pool_of[timeline]

    def find_homes(self, timelines: list[Timeline]) -> None:
        """Neighbours share a processor, as the library has them do."""
        begin = min(one.now for one in timelines)
        for pool in self.pools.values():
            for processor in pool.each:
                processor.free_since = begin
            here = [one for one in timelines if self.pool_of[one] is pool]
            for place, one in enumerate(sorted(here, key=lambda one: (one.part.world, one.part.rank))):
                home = self.home_of[one] = pool.each[place * pool.processors // len(here)]
                home.ranks.append(one)

    def want(self, timeline: Timeline, time: float) -> None:
        home = self.home_of.get(timeline)
        if home is None:
            self.got(timeline, time)
            return
        if home.free_since is None:
            idle = next((one for one in home.pool.each if one.is_idle(time)), None)
            if idle is None:
                home.wanted.append(timeline)
                return
            home = idle
        self.take_processor(home, timeline, time)

    def take_processor(self, processor: Processor, timeline: Timeline, time: float) -> None:
        change = (
            WAKE_SECONDS if processor.is_idle(time) else SWITCH_SECONDS * (1 + self.looking(processor) / 2)
        )
        processor.free_since = None
        self.on[timeline] = processor
        self.got(timeline, time, change)

    def looking(self, processor: Processor) -> int:
        """How many of its ranks look in turn whether they can go on, but for the last one."""
        since = self.time - OFFER_SECONDS
        return max(0, sum(self.waits_since.get(one, -1.0) > since for one in processor.ranks) - 1)

    def got(self, timeline: Timeline, time: float, change: float = 0.0) -> None:
        """It has a processor. A call that was over ends now."""
        if timeline.next < len(timeline.events):
            event = timeline.events[timeline.next]
            if event.begin is not None:
                time += change + self.work.pop(timeline, 0.0)
                event.end = time
                timeline.next += 1
        timeline.now = time
        self.run_on(timeline)

    def give_away(self, timeline: Timeline, time: float) -> None:
        processor = self.on.pop(timeline, None)
        if processor is not None:
            self.at(time, "free", processor)

    def free(self, processor: Processor) -> None:
        if processor.wanted:
            self.take_processor(processor, processor.wanted.popleft(), self.time)
        else:
            processor.free_since = self.time
            self.at(self.time + OFFER_SECONDS, "fill", processor)

    def fill(self, processor: Processor) -> None:
        """One that is idle gets a rank that waits for another one."""
        if processor.is_idle(self.time):
            longest = max(processor.pool.each, key=lambda one: len(one.wanted))
            if longest.wanted:
                self.take_processor(processor, longest.wanted.popleft(), self.time)

    def crowding(self, one: Collective, how: str) -> float:
        """Each rank works as long as the price says. What was measured among as many has in it that they take
        turns, and here they do so anyway."""
        if how.startswith("substituted"):
            return 1.0
        at = collections.Counter(self.pool_of_rank.get(member) for member in one.members)
        turns = (count / pool.processors for pool, count in at.items() if pool is not None)
        return 1 / max([1.0, *turns])

    # ---- steps ----

    def run_on(self, timeline: Timeline) -> None:
        """Has a processor at timeline.now: computes on, for a slice at most."""
        if timeline.next == len(timeline.events):
            self.give_away(timeline, timeline.now)
            return
        event = timeline.events[timeline.next]
        left = self.left.pop(timeline, (event.gap + event.within) * self.compute_factor)
        now = min(left, SLICE_SECONDS)
        self.left[timeline] = left - now
        timeline.now += now
        self.at(timeline.now, "ran", timeline)

    def ran(self, timeline: Timeline) -> None:
        processor = self.on.get(timeline)
        if self.left[timeline] > 0:
            if processor is not None and processor.wanted:
                processor.wanted.append(timeline)
                del self.on[timeline]
                self.free(processor)
            else:
                self.run_on(timeline)
            return
        del self.left[timeline]
        event = timeline.events[timeline.next]
        event.gap = event.within = 0.0  # it is behind us
        self.enter(timeline, event)
        busy = max(timeline.now, event.begin + event.floor)
        end = self.end_of(timeline, event)
        if event.in_vain and processor is not None and processor.wanted:
            self.give_away(timeline, busy)
            self.at(busy, "ready", timeline)
            return
        alone = not event.begins and not event.waits and event.probe is None  # it waits for no rank
        if end is not None and (alone or self.able_at(timeline, event) <= busy):
            event.end = timeline.now = end
            timeline.next += 1
            self.run_on(timeline)
            return
        self.give_away(timeline, busy)
        self.waiting[timeline] = False
        self.waits_since[timeline] = busy
        if end is None:
            self.serve_elsewhere(list(self.waiting))
        self.look_at(timeline, end)

    def able_at(self, timeline: Timeline, event) -> float:
        """From when on nothing but its own work keeps the rank in the call, whose end is known."""
        if event.unpriced:
            return event.begin + event.length if not event.waits else math.inf
        times = [event.begin]
        if event.probe is not None:
            times.append(event.probe.arrival or event.probe.ready)
        for half in event.waits:
            message = half.of
            if half.kind == "collective":
                times.append(self.begun_at(timeline.part.rank, message))
            elif half.kind == "receive":
                times.append(message.ready if message.rendezvous else message.arrival)
            else:
                times.append(self.end_of_send(half))
        return max(times)

    def begun_at(self, rank: int, one: Collective) -> float:
        """When all had begun it that the rank waits for."""
        root = one.begins.get(one.root, 0.0)
        if one.name in FROM_ROOT:
            return root
        if one.name in TO_ROOT and rank != one.root:
            return root if self.cost(one.block).rendezvous else 0.0
        members = one.members
        if one.name in PREFIX:
            members = members[: members.index(rank) + 1]
        return max(one.begins[member] for member in members)

    def look(self, timeline: Timeline) -> None:
        if timeline in self.waiting:
            self.waiting[timeline] = False
            self.look_at(timeline, self.end_of(timeline, timeline.events[timeline.next]))

    def look_at(self, timeline: Timeline, end: float | None) -> None:
        if end is not None and timeline in self.waiting:
            del self.waiting[timeline]
            event = timeline.events[timeline.next]
            able = min(end, max(self.able_at(timeline, event), event.begin + event.floor, timeline.now))
            self.work[timeline] = end - able
            self.at(able, "ready", timeline)

    def ready(self, timeline: Timeline) -> None:
        self.waits_since.pop(timeline, None)
        self.want(timeline, self.time)
