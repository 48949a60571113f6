"""What the library told of itself: ways of messages, algorithms of collectives, unexpected messages."""

from __future__ import annotations

import collections
import statistics

from tasuki import replay
from tasuki import trace as traces
from tasuki.explain.course import Course, Step
from tasuki.explain.finding import CANDIDATES_MAX, Finding, call_text, ranks_text, they
from tasuki.units import bytes_text, time_text

TWO_COPIES = "two_copy"
MUCH_BYTES = 4096  # as the recorder has it: from here on it matters which way a message takes
BETTER = 0.95  # an algorithm that the model finds this much quicker
LONG_QUEUE = 16  # unexpected messages, from which on looking through them may cost


def told(step: Step, name: str) -> int:
    return int(step.place.part.columns[name][step.row])


def flags(step: Step) -> int:
    return told(step, "flags")


# ---- messages that took two copies ----


class Ends:
    """Of each message the calls that begin and that complete its two halves."""

    def __init__(self, course: Course):
        self.sent: dict[int, Step] = {}
        self.posted: dict[int, Step] = {}
        self.done: dict[int, list[Step]] = collections.defaultdict(list)
        self.messages: dict[int, replay.Message] = {}
        for lane in course.lanes:
            for step in lane.steps:
                if step.event is not None:
                    self.note(step)

    def note(self, step: Step) -> None:
        for half in step.event.begins:
            if half.of is None or half.kind == "collective" or half.of.bytes < MUCH_BYTES:
                continue
            (self.sent if half.kind == "send" else self.posted)[id(half.of)] = step
            self.messages[id(half.of)] = half.of
        for half in step.event.waits:
            if half.of is not None and half.kind != "collective" and half.of.bytes >= MUCH_BYTES:
                self.done[id(half.of)].append(step)

    def ways(self, number: int) -> set[str]:
        """Told where it was complete; else where it began."""
        found = {way_of(step) for step in self.done[number]} - {""}
        return found or {way_of(self.sent[number]), way_of(self.posted[number])}


def two_copies(course: Course, pricer) -> list[Finding]:
    """Messages within a host through the library's memory: no rank could reach the other's buffer."""
    if not any(TWO_COPIES in part.ways.values() for part in course.trace.parts):
        return []
    ends = Ends(course)
    groups: dict[tuple, list[int]] = collections.defaultdict(list)
    for number in ends.messages:
        send, post = ends.sent.get(number), ends.posted.get(number)
        if send is None or post is None or not same_host(send, post):
            continue
        if TWO_COPIES in ends.ways(number):
            scattered = bool((flags(send) | flags(post)) & traces.SCATTERED)
            groups[scattered, send.name, send.phase, send.at, post.at].append(number)
    found = []
    most = sorted(groups.items(), key=lambda one: -sum(ends.messages[each].bytes for each in one[1]))
    for key, numbers in most[:CANDIDATES_MAX]:
        found.append(two_copy_finding(course, pricer, ends, key, numbers))
    return found


def two_copy_finding(course: Course, pricer, ends: Ends, key: tuple, numbers: list[int]) -> Finding:
    scattered, name, phase, at, receive_at = key
    work: dict[Step, float] = {}
    size = statistics.median(ends.messages[number].bytes for number in numbers)
    for number in numbers:
        for step in ends.done[number]:
            priced = step.work / 2
            if pricer is not None:
                priced = min(step.work, pricer.point_to_point(ends.messages[number].bytes).seconds)
            work[step] = priced
    ranks = sorted({ends.sent[number].place.rank for number in numbers})
    there = sorted({ends.posted[number].place.rank for number in numbers})
    count, verb = ("one message", "takes") if len(numbers) == 1 else (f"{len(numbers)} messages", "take")
    where = f", received at {receive_at}" if receive_at and receive_at != at else ""
    text = (
        f"{count} of {bytes_text(size)} from {ranks_text(ranks)} to {ranks_text(there)} "
        f"({call_text(name, at, phase)}{where}) {verb} two copies"
    )
    if scattered:
        text += ": the data of their datatype lie apart, and are packed"
        advice = (
            "send what lies in one piece, or by a datatype of one level with blocks of 64 bytes and more, "
            "which is read where it lies"
        )
    else:
        text += ": neither rank can reach the other's buffer"
        advice = (
            "have either buffer by MPI_Alloc_mem, or malloc where the heap is global (mpiexec --heap): then "
            "one copy is enough"
        )
    gain = max(course.seconds - course.run(work=work), 0.0)
    kind = "packed_type" if scattered else "private_buffer"
    return Finding(kind, text, advice, gain, 0.0, ranks, name, phase, at=at)


def way_of(step: Step) -> str:
    return step.place.part.ways.get(told(step, "way"), "")


def same_host(one: Step, other: Step) -> bool:
    return one.place.part.head.get("host") == other.place.part.head.get("host")


# ---- algorithms ----


def algorithms(course: Course) -> list[Finding]:
    """Collectives that were told to take one algorithm, where the model finds another one quicker."""
    groups: dict[tuple, list[Step]] = collections.defaultdict(list)
    for lane in course.lanes:
        if not lane.part.columns["predicted"].any():
            continue
        for step in lane.steps:
            predicted, other = told(step, "predicted"), told(step, "runner_up_predicted")
            if other > 0 and other < BETTER * predicted:
                names = lane.part.algorithms
                key = names[told(step, "algorithm")], names.get(told(step, "runner_up"), "")
                groups[step.name, step.phase, step.at, *key].append(step)
    found = []
    for (name, phase, at, taken, better), steps in groups.items():
        work = {}
        for step in steps:
            saved = (told(step, "predicted") - told(step, "runner_up_predicted")) * 1e-9
            work[step] = max(step.work - saved, 0.0)
        ranks = sorted({step.place.rank for step in steps})
        mean, other = (
            statistics.mean(told(step, name) for step in steps) * 1e-9
            for name in ("predicted", "runner_up_predicted")
        )
        found.append(
            Finding(
                "algorithm",
                f"{call_text(name, at, phase)} takes the algorithm {taken}, for which the model predicts "
                f"{time_text(mean)} a call; for {better} it predicts {time_text(other)}",
                f"let the model choose: a setting (TASUKI_…_ALGORITHM) or a table of tasuki tune wants "
                f"{taken}",
                max(course.seconds - course.run(work=work), 0.0),
                0.0,
                ranks,
                name,
                phase,
                at=at,
            )
        )
    return found


# ---- unexpected messages ----


def queues(course: Course) -> list[Finding]:
    """Receives that look through many unexpected messages."""
    groups: dict[tuple, list[Step]] = collections.defaultdict(list)
    usual: dict[tuple, list[float]] = collections.defaultdict(list)
    for lane in course.lanes:
        if not (lane.part.columns["queue"] >= LONG_QUEUE).any():
            continue
        for step in lane.steps:
            if step.event is None or not any(half.kind == "receive" for half in step.event.waits):
                continue
            if told(step, "queue") >= LONG_QUEUE:
                groups[lane.rank, step.name, step.phase, step.at].append(step)
            usual[kind_of(step)].append(step.work)
    found = []
    # What the quickest tenth of such receives takes: those that had little to look through.
    least = {kind: sorted(seconds)[len(seconds) // 10] for kind, seconds in usual.items()}
    most = sorted(groups.items(), key=lambda one: -sum(step.work for step in one[1]))
    for (rank, name, phase, at), steps in most[:CANDIDATES_MAX]:
        work = {step: min(step.work, least[kind_of(step)]) for step in steps}
        longest = max(told(step, "queue") for step in steps)
        senders = sorted({sender for step in steps for sender in senders_of(step)})
        whom = f" of {ranks_text(senders)}" if senders else ""
        call = call_text(name, at, phase)
        found.append(
            Finding(
                "unexpected_messages",
                f"{they([rank], 'receive')} {len(steps)} messages{whom} ({call}) out of "
                f"a queue of up to {longest} that came before their receives",
                "post the receives before the messages come (MPI_Irecv) and in their order, or send fewer at "
                "a time",
                max(course.seconds - course.run(work=work), 0.0),
                0.0,
                [rank],
                name,
                phase,
                at=at,
            )
        )
    return found


def kind_of(step: Step) -> tuple:
    size = sum(half.of.bytes for half in step.event.waits if half.of is not None and half.kind == "receive")
    return step.name, len(step.event.waits), size.bit_length()


def senders_of(step: Step) -> list[int]:
    found = [half.of for half in step.event.waits if half.kind == "receive" and half.of is not None]
    return [one.sender.part.rank for one in found if one.sender is not None]
