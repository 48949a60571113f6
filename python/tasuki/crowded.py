"""Replay of ranks that share processors: more ranks on a host, or on some processors of it, than these are.

What was recorded between two calls of a rank then holds times in which others ran, and a call ends only
when the rank has a processor again. So two things are done:

- `own_seconds` takes the others' part out of what was recorded: at each moment the ranks there that compute
  (that are outside of MPI) share the processors evenly.
- `CrowdedEngine` runs all timelines in the order of time. A rank needs a processor to compute and to begin a
  call; it gives it away when it has to wait, or after a time slice if another one wants it; so does a test
  that finds nothing. They get it in the order in which they came, and one that waited goes on a change of
  processes later. All that it waits for a processor in a call is in MPI.
"""

from __future__ import annotations

import collections
import heapq
import re

import numpy as np

from tasuki.replay import Collective, Engine, Timeline

SLICE_SECONDS = 3e-3  # Linux's, of a rank that computes while others want its processor
# What a rank that gave its processor away takes to go on: a change of processes by sched_yield took 1.3 µs,
# one by a futex 2.9 µs (AMD EPYC, Linux 6); ranks of Tasuki that wait try the first a while, then the second.
SWITCH_SECONDS = 2e-6

Where = tuple[str, str]  # a host, and the processors of it on which a rank may run


class Pool:
    """Processors of a host."""

    def __init__(self, processors: int):
        self.processors = self.free = processors
        self.wanted: collections.deque[Timeline] = collections.deque()


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
    """Takes from each event's gap the part in which other ranks on its processors ran."""
    for where, pool in pools.items():
        spans, events = [], []
        for timeline in timelines:
            if where_of(timeline) == where:
                begins = timeline.part.columns["begin"]
                for event in timeline.events:
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
        self.steps: list[tuple] = []
        self.time = 0.0
        self.serial = 0
        self.left: dict[Timeline, float] = {}  # to compute before the next call
        self.waiting: dict[Timeline, bool] = {}  # in a call; True: will look

    def at(self, time: float, step: str, what) -> None:
        self.serial += 1
        heapq.heappush(self.steps, (time, self.serial, step, what))

    def begin(self, timelines: list[Timeline]) -> None:
        if not self.builder.alone:
            own_seconds(timelines, self.pools)
        for timeline in timelines:
            if self.pool(timeline) is not None:
                for event in timeline.events:
                    event.floor = event.usual or event.floor  # others ran in those that took longer
                    event.share_in_mpi = 1.0  # its processor is given away in calls
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

    def want(self, timeline: Timeline, time: float) -> None:
        pool = self.pool(timeline)
        if pool is not None and pool.free == 0:
            pool.wanted.append(timeline)
            return
        if pool is not None:
            pool.free -= 1
        self.got(timeline, time)

    def got(self, timeline: Timeline, time: float) -> None:
        """It has a processor. A call that was over ends now."""
        if timeline.next < len(timeline.events):
            event = timeline.events[timeline.next]
            if event.begin is not None:
                time += SWITCH_SECONDS
                event.end = time
                timeline.next += 1
        timeline.now = time
        self.run_on(timeline)

    def give_away(self, timeline: Timeline, time: float) -> None:
        if self.pool(timeline) is not None:
            self.at(time, "free", self.pool(timeline))

    def free(self, pool: Pool) -> None:
        if pool.wanted:
            self.got(pool.wanted.popleft(), self.time)
        else:
            pool.free += 1

    def crowding(self, one: Collective, how: str) -> float:
        """Each rank works as long as the price says. What was measured among as many has that in it."""
        if not how.startswith("substituted"):
            return 1.0
        at = collections.Counter(self.pool_of_rank.get(member) for member in one.members)
        return max([1.0, *(count / pool.processors for pool, count in at.items() if pool is not None)])

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
        pool = self.pool(timeline)
        if self.left[timeline] > 0:
            if pool is not None and pool.wanted:
                pool.wanted.append(timeline)
                self.free(pool)
            else:
                self.run_on(timeline)
            return
        del self.left[timeline]
        event = timeline.events[timeline.next]
        event.gap = event.within = 0.0  # it is behind us
        self.enter(timeline, event)
        busy = max(timeline.now, event.begin + event.floor)
        end = self.end_of(timeline, event)
        if event.in_vain and pool is not None and pool.wanted:
            self.give_away(timeline, busy)
            self.at(busy, "ready", timeline)
            return
        alone = not event.begins and not event.waits and event.probe is None  # it waits for no rank
        if end is not None and (alone or end <= busy):
            event.end = timeline.now = end
            timeline.next += 1
            self.run_on(timeline)
            return
        self.give_away(timeline, busy)
        self.waiting[timeline] = False
        if end is None:
            self.serve_elsewhere(list(self.waiting))
        self.look_at(timeline, end)

    def look(self, timeline: Timeline) -> None:
        if timeline in self.waiting:
            self.waiting[timeline] = False
            self.look_at(timeline, self.end_of(timeline, timeline.events[timeline.next]))

    def look_at(self, timeline: Timeline, end: float | None) -> None:
        if end is not None and timeline in self.waiting:
            del self.waiting[timeline]
            self.at(end, "ready", timeline)

    def ready(self, timeline: Timeline) -> None:
        self.want(timeline, self.time)
