"""Replay of a trace: what its calls cost by the model, on the machine they were recorded on or on another.

Each thread of each rank is a timeline. Between its calls it computes, as long as was recorded (times a
factor); its calls take what the pricer says of messages and collectives, and they wait for one another:

- A send takes o_s of the sender. An eager message arrives L and the transfer later; of a rendezvous message
  the receiver makes the transfer, once it is in a call that waits for it, and the sender waits for its end.
- A receive takes o_r once the message is there. A call that waits for several takes them as they come.
- To begin something (MPI_Isend, MPI_Irecv, MPI_Start, a nonblocking collective) waits for no rank. As the
  computing it takes what was recorded, for others wait where it takes long.
- A rank that computed since its last call of this function and size has cold caches: the price is between
  those back to back, after 100 µs and after 12.8 ms of computing (the suite's form=used and cold; one_way).
- A collective ends, for ranks that get data of all, the operation's price after the last rank came; for those
  that get data of the root that price after the root came (and not before they came themselves); a rank that
  only gives is done after o_s, where the block is eager.
- Tests that found nothing take one call's time, and what the program works between them, if that is most of
  it (POLLING_SHARE). The test that found something waits as MPI_Wait would, and of that wait so much is in
  MPI as of the trace's time between such tests and in them.
- What has no price (communicators, windows, files, …) takes what was recorded after the last rank came; so
  does the first collective of a function and size of TOUCHED_BYTES and more.
- What a rank sends to itself waits for nobody and has no price: its calls take what was recorded, or of those
  that complete it what the next point says.
- A call that completes requests takes at least what the quickest quarter of such calls took in the trace.

Where a host has fewer processors than ranks, tasuki.crowded has them share these, and `Replay.notes` says so.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import re

import numpy as np

from tasuki import trace as traces
from tasuki.own_calls import least_of, lengths_of, quick_tests_of, shares_of, used_after
from tasuki.predicted import Replay, frame_of, notes_of
from tasuki.pricing import PointToPoint
from tasuki.trace import Part, Trace

# Start and end are no communication of the program's.
LEFT_OUT = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"}

ALL = set(
    "barrier allreduce allgather allgatherv alltoall alltoallv alltoallw reduce_scatter reduce_scatter_block "
    "neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw".split()
)
FROM_ROOT = {"bcast", "scatter", "scatterv"}
TO_ROOT = {"reduce", "gather", "gatherv"}
PREFIX = {"scan", "exscan"}
PRICED = ALL | FROM_ROOT | TO_ROOT | PREFIX
UNPRICED = re.compile(
    r"comm_(dup\w*|idup\w*|create\w*|split\w*|free|disconnect|set_info|accept|connect|spawn\w*)"
    r"|intercomm_\w+|cart_(create|map|sub)|graph_(create|map)|dist_graph_create\w*"
    r"|win_(create\w*|allocate\w*|free|fence|set_info)"
    r"|file_(open|close|set_\w+|preallocate|sync|seek_shared)|file_i?(read|write)\w*_(all|ordered)\w*"
)
# The first operation of so many bytes finds memory that the system has yet to give.
TOUCHED_BYTES = 64 << 10
SENDS = {"send", "bsend", "ssend", "rsend", "psend"}
PROBES = {"probe", "mprobe", "iprobe", "improbe"}
TESTS = {"test", "testall", "testany", "testsome"}
COMPLETIONS = {"wait", "waitall", "waitany", "waitsome"} | TESTS
TO_ITSELF = PointToPoint(0.0, 0.0, 0.0, 0.0, False, "as recorded")
LOOKS = TESTS | {"iprobe", "improbe"}  # that may find nothing
# Of the time of loops of such calls: with a smaller share in MPI the program works in between, and that work
# takes its time. Else it only waits.
POLLING_SHARE = 0.1


class ReplayError(ValueError):
    """A trace that cannot be replayed."""


@contextlib.contextmanager
def uncollected():
    """Without Python's collector of cycles: it looks at all objects again and again while their number
    grows, and the events of a trace, which all stay, took several times as long with it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Message:
    __slots__ = (
        *("bytes", "ranks", "sent_at", "wanted_at", "ready", "arrival", "posted", "entered"),
        *("done", "rendezvous", "cost", "sender", "receiver"),
    )

    def __init__(self, size: int):
        self.bytes = size
        self.ranks: tuple[int, int] | None = None  # from, to
        self.sent_at = self.wanted_at = 0.0  # when its send and its receive began, as recorded
        self.ready = None  # when the sender has said that it is there
        self.arrival = None  # of an eager one
        self.entered = None  # when the receiver began to wait for it
        self.posted = None
        self.done = None  # when the receiver has it
        self.rendezvous = False
        self.cost = None  # PointToPoint
        self.sender = self.receiver = None  # timelines


class Collective:
    __slots__ = (
        "name",
        "size",
        "begins",
        "recorded",
        "root",
        "block",
        "waiting",
        "price",
        "members",
        "used",
        "priced",
    )

    def __init__(self, name: str, members: tuple[int, ...]):
        self.name, self.members, self.size = name, members, len(members)
        self.begins: dict[int, float] = {}
        self.recorded: dict[int, tuple[float, float]] = {}
        self.root, self.block = traces.NOBODY, 0
        self.waiting: list[Timeline] = []
        self.price = None
        self.used = 0.0  # how much its members computed before, on average: used_after()
        self.priced = name in PRICED


@dataclasses.dataclass(slots=True)
class Half:
    """This rank's half of a message, or its part in a collective."""

    kind: str  # "send", "receive", "collective"
    of: Message | Collective | None  # None: no rank of the trace is at the other end
    buffered: bool = False  # the sender need not wait
    at: float = 0.0  # when it began, as recorded


@dataclasses.dataclass(slots=True)
class Event:
    name: str
    row: int
    gap: float
    length: float  # in MPI, as recorded
    begins: list[Half]
    waits: list[Half]
    probe: Message | None = None
    begin: float | None = None
    end: float | None = None
    unpriced: bool = False
    floor: float = 0.0  # what it takes at least
    used: float = 0.0  # how much the rank computed since its last call like it: used_after()
    within: float = 0.0  # computing between tests that found nothing
    usual: float = 0.0  # what calls like it took, by their median
    first: bool = False  # of its function and size
    completes: bool = False  # requests
    in_vain: bool = False  # looked, and found nothing
    share_in_mpi: float = 1.0  # of what it waits longer than recorded

    @property
    def predicted(self) -> float:
        """Seconds in MPI."""
        seconds = self.end - self.begin
        own = min(seconds, self.length)
        return own + self.share_in_mpi * (seconds - own)


class Timeline:
    def __init__(self, part: Part, thread: int, start: float):
        self.part, self.thread, self.now, self.start = part, thread, start, start
        self.rest = 0.0  # computing between the last call and MPI_Finalize
        self.events: list[Event] = []
        self.next = 0
        self.queued = False
        self.copied = False  # of a rank that was not traced (tasuki.scaled)


# ---- from a trace to events ----


class Builder:
    """Finds out which send meets which receive, and which calls are one collective."""

    alone = False  # whether the gaps are without what other ranks computed on the same processors
    notes: tuple[str, ...] = ()

    @uncollected()
    def __init__(self, trace: Trace):
        self.trace = trace
        self.sends: dict[tuple, list[tuple[int, Message]]] = collections.defaultdict(list)
        self.receives: list[tuple[tuple, int, Half | Event]] = []
        self.collectives: dict[tuple, Collective] = {}
        self.timelines: list[Timeline] = []
        self.unmatched = 0
        for part in trace.parts:
            PartBuilder(self, part).build()
        self.match()
        self.find_least()

    def find_least(self) -> None:
        """What calls that complete requests take at least: what they took without their waits."""
        for part in self.trace.parts:
            waited = np.zeros(len(part))
            events = [
                one for line in self.timelines if line.part is part for one in line.events if one.completes
            ]
            for event in events:
                begin = part.columns["begin"][event.row] * 1e-9
                waited[event.row] = max([0.0, *(needed_at(half) - begin for half in event.waits)])
            least = least_of(part, waited)
            for event in events:
                event.floor = least[event.row]

    def match(self) -> None:
        """A receive gets the first message of its source on its communicator with its tag (MPI 3.5)."""
        waiting = {key: collections.OrderedDict(enumerate(found)) for key, found in self.sends.items()}
        by_tag = {}
        for key, found in waiting.items():
            for place, (tag, _) in found.items():
                by_tag.setdefault((key, tag), collections.deque()).append(place)
        for key, tag, half in self.receives:
            found = waiting.get(key, {})
            if tag == -1:
                place = next(iter(found), None)
            else:
                places = by_tag.get((key, tag), ())
                while places and places[0] not in found:
                    places.popleft()
                place = places[0] if places else None
            if place is None:
                self.unmatched += 1
            elif isinstance(half, Event):  # a probe leaves it there
                half.probe = found[place][1]
            else:
                half.of = found.pop(place)[1]
                half.of.wanted_at = half.at
        for found in waiting.values():
            for _, message in found.values():
                message.receiver = None
            self.unmatched += len(found)


def needed_at(half: Half) -> float:
    """When the other ranks had begun what it waits for, as recorded."""
    if half.of is None:
        return 0.0
    if half.kind == "collective":
        return max(begin for begin, _ in half.of.recorded.values())
    return half.of.sent_at if half.kind == "receive" else half.of.wanted_at


class PartBuilder:
    def __init__(self, builder: Builder, part: Part):
        self.builder, self.part = builder, part
        self.rows = {name: part.columns[name].tolist() for name in part.columns}
        self.requests: dict[int, list[Half]] = {}
        self.templates: dict[int, int] = {}  # a persistent request's serial: the row that made it
        self.calls: dict[int, int] = collections.Counter()  # collectives on a group so far
        self.received: dict[int, tuple[int, int]] = {}  # of a request's serial: source and bytes
        self.next_started = self.next_done = 0
        self.lengths, self.shares = lengths_of(part), shares_of(part)
        self.quick_tests = quick_tests_of(part)
        self.computed: dict[int, float] = collections.Counter()  # by thread, so far
        self.computed_at: dict[tuple, float] = {}  # at the last call of a thread, by function and size

    def build(self) -> None:
        part, rows = self.part, self.rows
        self.note_received()
        threads: dict[int, Timeline] = {}
        before: dict[int, float] = {}
        for row in range(len(part)):
            name = part.functions[rows["function"][row]]
            thread = rows["thread"][row]
            begin, end = rows["begin"][row] * 1e-9, rows["end"][row] * 1e-9
            if name == traces.OWN:  # neither computing nor MPI
                before[thread] = before.get(thread, begin) + end - begin
                continue
            if thread not in threads:
                start = end if name in LEFT_OUT else begin
                threads[thread] = Timeline(part, thread, start)
                before[thread] = start
            timeline = threads[thread]
            if name not in LEFT_OUT:
                gap = max(begin - before[thread], 0.0)
                timeline.events.append(self.event(row, name, gap, timeline))
            elif name == "MPI_Finalize":
                timeline.rest = max(begin - before[thread], 0.0)
            before[thread] = end
        self.builder.timelines += threads.values()

    def note_received(self) -> None:
        rows = self.rows
        serials = np.repeat(
            self.part.columns["made_before"] + self.part.columns["made"], self.part.columns["done"]
        )
        serials = (serials - self.part.columns["done_serial"]).tolist()
        self.done = serials
        for serial, source, size in zip(serials, rows["done_source"], rows["done_bytes"], strict=True):
            if size > 0:
                self.received[serial] = source, size - 1

    def event(self, row: int, name: str, gap: float, timeline: Timeline) -> Event:
        rows = self.rows
        bare = name.removeprefix("MPI_").removesuffix("_c").lower()
        length = (rows["end"][row] - rows["begin"][row] - rows["outside"][row]) * 1e-9
        event = Event(name, row, gap, length, [], [])
        kind = timeline.thread, name, (rows["sent"][row] + rows["received"][row]).bit_length()
        event.first = kind not in self.computed_at
        self.computed[timeline.thread] += gap
        computed = self.computed[timeline.thread]
        event.used = used_after(computed - self.computed_at.get(kind, 0.0))
        self.computed_at[kind] = computed
        flags, made = rows["flags"][row], rows["made"][row]
        if flags & traces.UNANSWERED:
            event.in_vain = True
            event.floor = length / (rows["repeats"][row] + 1)
            event.usual = self.quick_tests[rows["function"][row]]
            if self.shares[rows["function"][row]] < POLLING_SHARE:
                event.within = rows["outside"][row] * 1e-9
        elif flags & traces.PERSISTENT:
            self.templates[rows["made_before"][row]] = row
            event.unpriced = True
        elif flags & traces.STARTS:
            self.start(event, row, made, timeline)
        elif bare in COMPLETIONS:
            count = rows["done"][row]
            for serial in self.done[self.next_done : self.next_done + count]:
                event.waits += self.requests.pop(serial, [])
            self.next_done += count
        else:
            halves = self.halves(event, row, bare.removeprefix("i") if made else bare, row, timeline)
            event.begins = halves
            if made:
                self.requests[rows["made_before"][row]] = halves
            else:
                event.waits = halves
        if bare in PROBES and not flags & traces.UNANSWERED:
            self.look(event, row, bare, timeline)
        priced = event.begins or event.waits or bare in COMPLETIONS or bare in PROBES
        event.unpriced = event.unpriced or not priced
        ends = {end for end in (rows["peer"][row], rows["source"][row]) if end >= 0}
        to_itself = ends == {self.part.rank} and all(half.kind != "collective" for half in event.begins)
        if event.begins and (to_itself or not event.waits):
            event.floor, event.usual = length, self.lengths[row]
        event.completes = bool(event.waits) and bare in COMPLETIONS
        if bare in LOOKS:
            event.share_in_mpi = self.shares.get(rows["function"][row], 1.0)
        return event

    def start(self, event: Event, row: int, made: int, timeline: Timeline) -> None:
        for number in range(made):
            serial = self.rows["made_before"][row] + number
            persistent = serial - number - self.rows["started"][self.next_started]
            self.next_started += 1
            template = self.templates.get(persistent)
            if template is None:
                continue
            name = self.part.functions[self.rows["function"][template]]
            bare = name.removeprefix("MPI_").removesuffix("_c").lower().removesuffix("_init")
            halves = self.halves(event, template, bare, row, timeline, serial)
            event.begins += halves
            self.requests[serial] = halves

    def halves(self, event, row: int, bare: str, at: int, timeline: Timeline, serial: int | None = None):
        """What the call of `row` begins; `at` is the row at which it does so."""
        rows, found = self.rows, []
        if serial is None and rows["made"][row]:
            serial = rows["made_before"][row]
        both = bare.startswith("sendrecv")
        if bare in SENDS or both:
            found.append(self.send(row, bare, timeline))
        if bare in ("recv", "precv") or both:
            found.append(self.receive(row, serial, timeline))
        if bare in PRICED or UNPRICED.fullmatch(bare):
            half = self.collective(row, bare, at, timeline)
            if half is not None:
                half.of.used += event.used / half.of.size
            if half is not None and event.first and half.of.block >= TOUCHED_BYTES:
                half.of.priced = False
            event.unpriced = half is not None and not half.of.priced
            found.append(half)
        found = [half for half in found if half is not None]
        for half in found:
            half.at = rows["begin"][at] * 1e-9
            if half.kind == "send" and half.of is not None:
                half.of.sent_at = half.at
        return found

    def group(self, row: int) -> traces.Group | None:
        return self.part.groups.get(self.rows["group"][row])

    def send(self, row: int, bare: str, timeline: Timeline) -> Half | None:
        peer, group = self.rows["peer"][row], self.group(row)
        if peer < 0 or group is None:
            return None if peer == traces.NULL_PROCESS else Half("send", None)
        message = Message(self.rows["sent"][row])
        message.sender = timeline
        message.ranks = self.part.rank, peer
        key = (self.part.world, group.number, self.part.rank, peer)
        self.builder.sends[key].append((self.rows["tag"][row], message))
        return Half("send", message, buffered=bare == "bsend")

    def receive(self, row: int, serial: int | None, timeline: Timeline) -> Half | None:
        source, group = self.rows["source"][row], self.group(row)
        if serial is not None and serial in self.received and source == traces.ANY_SOURCE:
            source = self.received[serial][0]
        if source < 0 or group is None:
            return None if source == traces.NULL_PROCESS else Half("receive", None)
        half = Half("receive", None)
        # A sendrecv has one column for two tags: the send's. Those of the two sides are mostly equal.
        tag = -1 if self.rows["peer"][row] != traces.NOBODY else self.rows["tag"][row]
        self.builder.receives.append(((self.part.world, group.number, source, self.part.rank), tag, half))
        return half

    def look(self, event: Event, row: int, bare: str, timeline: Timeline) -> None:
        """A probe; what MPI_Mprobe found is received by it, for MPI_Mrecv does not say of whom."""
        source, group = self.rows["source"][row], self.group(row)
        if source < 0 or group is None:
            return
        key = (self.part.world, group.number, source, self.part.rank)
        if bare in ("probe", "iprobe"):
            self.builder.receives.append((key, self.rows["tag"][row], event))
            return
        half = Half("receive", None)
        self.builder.receives.append((key, self.rows["tag"][row], half))
        event.begins = event.waits = [half]

    def collective(self, row: int, bare: str, at: int, timeline: Timeline) -> Half | None:
        group = self.group(row)
        if group is None:
            return None
        self.calls[group.number] += 1
        key = (self.part.world, group.number, self.calls[group.number])
        members = tuple(sorted(set(group.members + group.remote)))
        one = self.builder.collectives.setdefault(key, Collective(bare, members))
        if one.name != bare:
            raise ReplayError(
                f"{self.builder.trace.path}: rank {self.part.rank} calls {bare} as collective number "
                f"{key[2]} on {group.name or 'a communicator'}, another rank {one.name}"
            )
        one.recorded[self.part.rank] = (self.rows["begin"][at] * 1e-9, self.rows["end"][at] * 1e-9)
        one.root = self.rows["peer"][row] if self.rows["peer"][row] >= 0 else one.root
        own = self.rows["received"][row] if bare == "reduce_scatter" else self.rows["block"][row]
        one.block = max(one.block, own)
        return Half("collective", one)


# ---- the replay ----


class Engine:
    """Runs every timeline until it waits for another, until all are at their ends."""

    def __init__(self, builder: Builder, pricer, compute_factor: float):
        self.builder, self.pricer, self.compute_factor = builder, pricer, compute_factor
        self.costs: dict[tuple[int, float, int], object] = {}
        self.hows: dict[str, str] = {}
        self.as_recorded = 0
        self.queue: collections.deque[Timeline] = collections.deque()

    def run(self) -> None:
        timelines = self.builder.timelines
        self.begin(timelines)
        while True:
            self.go_on()
            stuck = [one for one in timelines if one.next < len(one.events)]
            if not stuck:
                return
            if not self.serve_elsewhere(stuck):
                self.give_up(stuck)

    def begin(self, timelines: list[Timeline]) -> None:
        for timeline in timelines:
            self.wake(timeline)

    def go_on(self) -> None:
        """Until no rank has anything to do."""
        while self.queue:
            timeline = self.queue.popleft()
            timeline.queued = False
            self.advance(timeline)

    def wake(self, timeline: Timeline | None) -> None:
        if timeline is not None and not timeline.queued:
            timeline.queued = True
            self.queue.append(timeline)

    def cost(self, size: int, used: float = 0.0, ranks: tuple[int, int] | None = None):
        """`ranks`: of a message's two ends, for pricers to whom that matters."""
        if ranks and ranks[0] == ranks[1]:
            return TO_ITSELF
        between = getattr(self.pricer, "between", None)
        pricer = between(*ranks) if between and ranks else self.pricer
        asked = size, round(used, 1), id(pricer)
        if asked not in self.costs:
            self.costs[asked] = pricer.point_to_point(size, used=asked[1])
            self.hows.setdefault("messages", self.costs[asked].how)
        return self.costs[asked]

    def advance(self, timeline: Timeline) -> None:
        while timeline.next < len(timeline.events):
            event = timeline.events[timeline.next]
            if event.begin is None:
                self.enter(timeline, event)
            end = self.end_of(timeline, event)
            if end is None:
                return
            event.end = end
            timeline.now = end
            timeline.next += 1

    def enter(self, timeline: Timeline, event: Event) -> None:
        """What is known as soon as the call begins."""
        event.begin = now = timeline.now + (event.gap + event.within) * self.compute_factor
        for half in event.begins:
            if half.kind == "send" and half.of is not None:
                now = self.post_send(half.of, now, event)
            elif half.kind == "receive" and half.of is not None:
                half.of.posted, half.of.receiver = now, timeline
            elif half.kind == "collective":
                half.of.begins[timeline.part.rank] = now
                if len(half.of.begins) == half.of.size or timeline.part.rank == half.of.root:
                    for waiting in half.of.waiting:
                        self.wake(waiting)
        timeline.now = now
        for half in event.waits:
            if half.kind == "receive" and half.of is not None:
                half.of.entered = now
                half.of.receiver = timeline

    def post_send(self, message: Message, now: float, event: Event) -> float:
        cost = message.cost = self.cost(message.bytes, event.used, message.ranks)
        message.rendezvous = cost.rendezvous
        message.ready = now + cost.sender_seconds
        if not cost.rendezvous:
            # A call that took longer than usual was late with its message, too.
            message.arrival = cost.wire_seconds + max(
                message.ready + cost.transfer_seconds, event.begin + event.floor
            )
        self.wake(message.receiver)
        return message.ready

    def end_of(self, timeline: Timeline, event: Event) -> float | None:
        if event.unpriced and not event.waits:
            return event.begin + event.length
        if any(half.of is None for half in event.waits):  # its other end is not in the trace
            event.unpriced = True
            self.as_recorded += 1
            return max(timeline.now, event.begin + event.length)
        now = max(timeline.now, event.begin + event.floor)
        if event.probe is not None:
            if event.probe.ready is None:
                event.probe.receiver = timeline
                return None
            return max(now, event.probe.arrival or event.probe.ready)
        receives = [half.of for half in event.waits if half.kind == "receive" and half.of is not None]
        if any(message.ready is None and message.done is None for message in receives):
            return None
        now = self.take(receives, now)
        for half in event.waits:
            if half.kind == "send":
                end = self.end_of_send(half)
            elif half.kind == "collective":
                end = self.end_of_collective(timeline, half.of)
            else:
                continue
            if end is None:
                return None
            now = max(now, end)
        return now

    def take(self, receives: list[Message], now: float) -> float:
        """Receives what has come, in the order in which it came."""
        todo = [message for message in receives if message.done is None]
        for message in sorted(todo, key=lambda one: one.ready if one.rendezvous else one.arrival):
            now = message.done = self.received_at(message, now)
            self.wake(message.sender)
        return max([now, *(message.done for message in receives)])

    def received_at(self, message: Message, now: float) -> float:
        cost = message.cost
        if message.rendezvous:
            return max(now, message.ready) + cost.wire_seconds + cost.transfer_seconds + cost.receiver_seconds
        return max(now, message.arrival) + cost.receiver_seconds

    def end_of_send(self, half: Half) -> float | None:
        message = half.of
        if message is None or half.buffered:
            return 0.0
        return message.done if message.rendezvous else message.ready

    def end_of_collective(self, timeline: Timeline, one: Collective) -> float | None:
        rank = timeline.part.rank
        own = one.begins[rank]
        needed = [member for member in one.members if member not in one.begins]
        if one.name in FROM_ROOT:
            needed = [one.root] if one.root in needed else []
        elif one.name in TO_ROOT and rank != one.root:
            needed = [] if not self.cost(one.block).rendezvous else [one.root] if one.root in needed else []
        if needed:
            if timeline not in one.waiting:
                one.waiting.append(timeline)
            return None
        if not one.priced:
            begins = max(begin for begin, _ in one.recorded.values())
            return max(one.begins.values()) + max(one.recorded[rank][1] - begins, 0.0)
        price = self.price(one)
        message = self.cost(one.block)
        if one.name in FROM_ROOT:
            if rank == one.root and not message.rendezvous:
                return own + min(message.sender_seconds, price)
            return max(own, one.begins.get(one.root, own)) + price
        if one.name in TO_ROOT and rank != one.root:
            if not message.rendezvous:
                return own + min(message.sender_seconds, price)
            return max(own, one.begins.get(one.root, own)) + price
        last = max(one.begins.values())
        if one.name in PREFIX:
            before = one.members[: one.members.index(rank) + 1]
            last = max(one.begins[member] for member in before)
        return last + price

    def price(self, one: Collective) -> float:
        if one.size < 2:
            return 0.0
        if one.price is None:
            found = self.pricer.price("MPI_" + one.name.capitalize(), one.size, one.block, used=one.used)
            one.price = found.seconds * self.crowding(one, found.how)
            self.hows.setdefault(one.name, found.how)
        return one.price

    def crowding(self, one: Collective, how: str) -> float:
        """How much longer than its price it takes because its ranks share processors."""
        return 1.0

    def serve_elsewhere(self, stuck: list[Timeline]) -> bool:
        """A rank that waits in any call receives what has been posted: that frees senders which no rank
        waits for by name. And of several receives those that can go on need not wait for the others."""
        moved = False
        for timeline in stuck:
            event = timeline.events[timeline.next]
            ready = [
                half.of
                for half in event.waits
                if half.kind == "receive" and half.of and half.of.ready is not None and half.of.done is None
            ]
            for message in ready:
                message.done = self.received_at(message, timeline.now)
                self.wake(message.sender)
                moved = True
            message = self.awaited_send(event)
            if message is not None and message.receiver in stuck and message.posted is not None:
                there = message.receiver.events[message.receiver.next].begin
                message.done = self.received_at(message, max(there or 0.0, message.posted))
                self.wake(timeline)
                moved = True
        return moved

    def awaited_send(self, event: Event) -> Message | None:
        for half in event.waits:
            if half.kind == "send" and half.of and half.of.rendezvous and half.of.done is None:
                return half.of
        return None

    def give_up(self, stuck: list[Timeline]) -> None:
        """What waits for calls that are not in the trace takes the time that was recorded."""
        timeline = min(stuck, key=lambda one: one.now)
        event = timeline.events[timeline.next]
        event.waits, event.probe, event.unpriced = [], None, True
        self.as_recorded += 1
        self.wake(timeline)


def recorded_seconds(trace: Trace) -> float:
    """What the program took: from the first call's end to the last one's begin."""
    parts = [part.columns for part in trace.parts if len(part)]
    return max(float(part["begin"][-1] - part["end"][0]) * 1e-9 for part in parts)


@uncollected()
def replay(trace: Trace, pricer, compute_factor: float = 1.0, builder: Builder | None = None) -> Replay:
    """Predicts each call of a trace. `pricer`: tasuki.pricing.Pricer, or what has its methods. `builder`: the
    trace's ranks where they are others than those traced (tasuki.scaled)."""
    if compute_factor < 0:
        raise ReplayError(f"compute factor {compute_factor}, expected 0 or more")
    from tasuki import crowded  # which knows this module

    builder = builder or Builder(trace)
    pools = crowded.pools_of(builder.timelines)
    if pools:
        engine = crowded.CrowdedEngine(builder, pricer, compute_factor, pools)
    else:
        engine = Engine(builder, pricer, compute_factor)
    engine.run()
    calls = frame_of(builder)
    starts = [timeline.start for timeline in builder.timelines if timeline.events]
    ends = [one.now + one.rest * compute_factor for one in builder.timelines if one.events]
    if not starts:
        raise ReplayError(f"{trace.path}: no call between MPI_Init and MPI_Finalize was recorded")
    return Replay(
        trace,
        calls,
        recorded_seconds(trace),
        float(max(ends) - min(starts)),
        engine.hows,
        notes_of(trace, builder, engine, calls),
        len(calls.groupby(["world", "rank"])),
        trace.others_seconds,
        bool(pools),
    )
