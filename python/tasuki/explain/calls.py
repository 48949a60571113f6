"""What calls took by themselves: many small ones, slow ones, files, shared processors, MPI_Init."""

from __future__ import annotations

import collections

from tasuki import replay
from tasuki import trace as traces
from tasuki.explain.course import Course, Lane, Step, is_file
from tasuki.explain.finding import CANDIDATES_MAX, Finding, call_text, of_phase, ranks_text
from tasuki.units import bytes_text, time_text

SMALL_BYTES = 4096  # a message that costs little more than an empty one
RUN_MIN = 4  # so many small messages one behind another could be one
MERGED = ("allreduce", "bcast", "reduce", "allgather", "barrier")
CLOSE_SECONDS = 20e-6  # calls with no more computing between them are one behind another


class Runs:
    """Small sends to the same rank, or small collectives, one behind another.

    A key is (sender, receiver, function, phase, place); of collectives sender and receiver are -1.
    """

    def __init__(self, course: Course, pricer):
        self.pricer = pricer
        self.work: dict[tuple, dict[Step, float]] = collections.defaultdict(dict)  # if they were one
        self.counts, self.sizes = collections.Counter(), collections.Counter()
        self.callers: dict[tuple, set[int]] = collections.defaultdict(set)
        self.open: dict[tuple, list[Step]] = {}
        self.receipts = {
            id(half.of): step
            for lane in course.lanes
            for step in lane.steps
            if step.event is not None
            for half in step.event.waits
            if half.kind == "receive" and half.of is not None
        }
        for lane in course.lanes:
            for step in lane.steps:
                self.look(lane, step)
            self.close(lane)

    def look(self, lane: Lane, step: Step) -> None:
        if step.gap > CLOSE_SECONDS:
            self.close(lane)
        key = self.key_of(lane, step)
        if key is not None:
            if key[0] == -1 and any(other != key for other in self.open):
                self.close(lane)
            self.open.setdefault(key, []).append(step)
            return
        # The completion of sends is no end of a run; what receives, or anything else, is.
        event = step.event
        if (
            event is None
            or event.begins
            or event.unpriced
            or any(half.kind != "send" for half in event.waits)
        ):
            self.close(lane)

    def key_of(self, lane: Lane, step: Step) -> tuple | None:
        columns = lane.part.columns
        if step.event is None or columns["sent"][step.row] > SMALL_BYTES or len(step.event.begins) != 1:
            return None
        half = step.event.begins[0]
        if half.of is None or half.kind == "receive":
            return None
        if half.kind == "send":
            return lane.rank, int(columns["peer"][step.row]), step.name, step.phase, step.at
        return (-1, -1, step.name, step.phase, step.at) if half.of.name in MERGED else None

    def close(self, lane: Lane) -> None:
        for key, steps in self.open.items():
            if len(steps) < RUN_MIN:
                continue
            size = sum(int(lane.part.columns["sent"][step.row]) for step in steps)
            self.counts[key] += len(steps)
            self.sizes[key] += size
            self.callers[key].add(lane.rank)
            for step in steps[1:]:
                self.leave_out(self.work[key], step)
            if self.pricer is not None and key[0] != -1:
                added = self.pricer.point_to_point(size).transfer_seconds
                self.work[key][steps[0]] = steps[0].work + added
        self.open.clear()

    def leave_out(self, work: dict[Step, float], step: Step) -> None:
        work[step] = 0.0
        half = step.event.begins[0]
        receipt = self.receipts.get(id(half.of)) if half.kind == "send" else None
        if receipt is not None and len(receipt.event.waits) == 1:
            work[receipt] = 0.0


def small_messages(course: Course, pricer) -> list[Finding]:
    """Sends to the same rank, or collectives, that could be one."""
    runs, found = Runs(course, pricer), []
    for key in sorted(runs.work, key=lambda one: -runs.counts[one])[:CANDIDATES_MAX]:
        sender, receiver, name, phase, at = key
        callers = sorted(runs.callers[key])
        each = f", {bytes_text(runs.sizes[key] / runs.counts[key])} each" if runs.sizes[key] else ""
        count = runs.counts[key] // len(callers)
        if sender >= 0:
            text = f"rank {sender} sends rank {receiver} {count} small messages one behind another "
            text += f"({call_text(name, at, phase)}){each}"
            advice = "put them together and send one"
        else:
            text = f"{ranks_text(callers)} call{'s' if len(callers) == 1 else ''} {name} {count} times"
            text += f"{call_text('', at, phase)}, one behind another{each}"
            advice = "put the data together and call once"
        gain = max(course.seconds - course.run(work=runs.work[key]), 0.0)
        found.append(Finding("small_messages", text, advice, gain, 0.0, callers, name, phase, at=at))
    return found


def slow_calls(course: Course, pricer) -> list[Finding]:
    """Calls that took longer than the machine's figures say, without their waits."""
    if pricer is None:
        return []
    prices = replay.Engine(course.builder, pricer, 1.0)
    groups: dict[tuple, dict[Step, float]] = collections.defaultdict(dict)
    for lane in course.lanes:
        for step in lane.steps:
            price = price_of(step, prices)
            if price is not None and price < step.work:
                groups[step.name, step.phase, step.at][step] = price
    found = []
    most_lost = sorted(groups.items(), key=lambda one: -sum(step.work - p for step, p in one[1].items()))
    for (name, phase, at), work in most_lost[:CANDIDATES_MAX]:
        took, priced = sum(step.work for step in work), sum(work.values())
        found.append(
            Finding(
                "slow_calls",
                f"{call_text(name, at, phase)} takes {time_text(took)} in {len(work)} calls without their "
                f"waits, where the machine's figures say {time_text(priced)}",
                "look for other load and cold caches, and with TASUKI_EXPLAIN=1 at the way taken",
                max(0.0, course.seconds - course.run(work=work)),
                0.0,
                sorted({step.place.rank for step in work}),
                name,
                phase,
                0.0,
                at,
            )
        )
    return found


def price_of(step: Step, prices: replay.Engine) -> float | None:
    if step.event is None or step.event.unpriced or not step.event.waits or not step.event.begins:
        return None
    total = 0.0
    for half in step.event.waits:
        if half.of is None:
            return None
        if half.kind == "collective":
            if half.of.name not in replay.PRICED:
                return None
            total += prices.price(half.of)
            continue
        cost = prices.cost(half.of.bytes, ranks=half.of.ranks)
        both = half.kind == "receive" or (cost.rendezvous and not half.buffered)
        total += cost.seconds if both else cost.sender_seconds
    return total


def files(course: Course) -> list[Finding]:
    groups: dict[str, dict[Step, float]] = collections.defaultdict(dict)
    for lane in course.lanes:
        for step in lane.steps:
            if is_file(step.name):
                groups[step.phase][step] = 0.0
    found = []
    for phase, steps in groups.items():
        gain = course.seconds - course.run(work=steps)
        seconds = sum(step.work for step in steps)
        moved = sum(
            int(step.place.part.columns["sent"][step.row] + step.place.part.columns["received"][step.row])
            for step in steps
        )
        ranks = sorted({step.place.rank for step in steps})
        names = collections.Counter()
        for step in steps:
            names[step.name, step.at] += step.work
        (name, at), _ = names.most_common(1)[0]
        one_of_many = len(ranks) == 1 < len(course.trace.parts)
        alone = "" if "_all" in name else ", by that rank alone" if one_of_many else ", by each rank alone"
        advice = (
            "fewer and larger accesses, collective ones, or MPI_File_iwrite beside computing come near it"
        )
        if one_of_many:
            advice = (
                "to come near it let all ranks access their parts by MPI_File_write_at_all or "
                "MPI_File_read_at_all, or this one by MPI_File_iwrite beside its computing"
            )
        found.append(
            Finding(
                "files",
                f"files take {time_text(seconds)} of {ranks_text(ranks)}{of_phase(phase)}: {len(steps)} "
                f"call{'s' if len(steps) > 1 else ''}, {bytes_text(moved)}, most of it in "
                f"{call_text(name, at)}{alone}",
                f"the gain is that of no file access at all: {advice}",
                max(gain, 0.0),
                0.0,
                ranks,
                name,
                phase,
                0.0,
                at,
            )
        )
    return found


def shared_processors(course: Course) -> list[Finding]:
    """More ranks than processors on a host: what was recorded between calls holds times of the others."""
    from tasuki import crowded

    timelines = course.builder.timelines
    pools = crowded.pools_of(timelines)
    if not pools:
        return []
    before = {id(event): event.gap for one in timelines for event in one.events}
    crowded.own_seconds(timelines, pools)
    gaps = {}
    for lane in course.lanes:
        for step in lane.steps:
            if step.event is not None:
                gaps[step] = max(0.0, step.gap - (before[id(step.event)] - step.event.gap))
    for one in timelines:
        for event in one.events:
            event.gap = before[id(event)]
    gain = course.seconds - course.run(gaps=gaps)
    found = []
    for (host, allowed), pool in pools.items():
        ranks = sorted({one.part.rank for one in timelines if crowded.where_of(one) == (host, allowed)})
        there = course.trace.processors
        bound = bool(allowed) and pool.processors < there
        where = (f" ({allowed})" if bound else "") + (f" of {host}" if host else "")
        advice = f"run no more than {pool.processors} there"
        if bound:
            advice = f"bind them to others, too: the host has {there}"
        count = "one processor" if pool.processors == 1 else f"{pool.processors} processors"
        found.append(
            Finding(
                "processors",
                f"{ranks_text(ranks)} share {count}{where}: while one computes another one waits",
                advice,
                max(gain, 0.0),
                0.0,
                ranks,
            )
        )
    return found


def init_of(trace: traces.Trace, course: Course) -> tuple[list[Finding], float]:
    """MPI_Init, and the program's time with it."""
    spans = []
    for part in trace.parts:
        if len(part) and part.functions[int(part.columns["function"][0])] in ("MPI_Init", "MPI_Init_thread"):
            begin, end = part.columns["begin"][0] * 1e-9, part.columns["end"][0] * 1e-9
            spans.append((float(begin), float(end), part.rank))
    if not spans:
        return [], course.seconds
    first = min(begin for begin, *_ in spans)
    whole = course.end - min(first, course.begin)
    begin, end, rank = max(spans, key=lambda one: one[1] - one[0])
    one = Finding(
        "init",
        f"MPI_Init takes {time_text(end - begin)} (rank {rank}, the longest)",
        "a longer run makes it small; do one job in place of many short ones",
        max(0.0, course.begin - first),
        0.0,
        [rank],
        "MPI_Init",
    )
    return [one], whole
