"""What `mpiexec --io-times` wrote: which phases the ranks' collective accesses to files had, and when.

A file of lines of JSON, to which all ranks append (docs/io.md): one of each rank (`io_times`), one of each
access of a rank (`call`), and one where spans were left out (`left_out`). All times are nanoseconds of the
machine's one clock; those of ranks on other hosts than mpiexec's are brought to its clock here, by what it
says of theirs (`clock_of_node`). A rank that dies may leave an unfinished line: such lines are told and left
out; a whole line that says what cannot be is refused.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib

VERSION = 1
PHASES = ("read", "exchange", "write")
WAYS = ("two-phase", "independent")


class IoTimesError(Exception):
    """A file that cannot be used: its name, the line, what stood there, and what was expected."""


@dataclasses.dataclass(frozen=True)
class Span:
    """One phase of one cycle at one rank."""

    phase: str
    cycle: int
    begin_ns: int
    end_ns: int
    bytes: int


@dataclasses.dataclass
class Access:
    """A rank's part in a collective access."""

    rank: int
    file: str
    opened: int  # a number of the open file: the same name may be opened again
    call: int  # of the accesses to it
    function: str
    way: str
    aggregator: int | None
    cycles: int
    bytes: int
    begin_ns: int
    end_ns: int
    spans: list[Span]


@dataclasses.dataclass
class Call:
    """A collective access: what all its ranks did."""

    number: int  # in the job, by its begin
    accesses: list[Access]  # by rank

    @property
    def file(self) -> str:
        return self.accesses[0].file

    @property
    def function(self) -> str:
        return self.accesses[0].function

    @property
    def way(self) -> str:
        return self.accesses[0].way

    @property
    def cycles(self) -> int:
        return max(access.cycles for access in self.accesses)

    @property
    def bytes(self) -> int:
        return sum(access.bytes for access in self.accesses)

    @property
    def aggregators(self) -> list[int]:
        """Their ranks, by their numbers as aggregators."""
        found = [(one.aggregator, one.rank) for one in self.accesses if one.aggregator is not None]
        return [rank for _, rank in sorted(found)]

    @property
    def begin_ns(self) -> int:
        return min(access.begin_ns for access in self.accesses)

    @property
    def end_ns(self) -> int:
        return max(access.end_ns for access in self.accesses)

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) * 1e-9


@dataclasses.dataclass(frozen=True)
class NodeClock:
    """What a node's clock showed more than mpiexec's, when the job began and when it ended."""

    host: str
    begin: tuple[int, int, int]  # mpiexec's clock, the difference, by how much it may be wrong
    end: tuple[int, int, int] | None  # the host was lost

    @property
    def error_ns(self) -> int:
        return max(self.begin[2], self.end[2] if self.end else 0)

    def ahead(self, time_ns: int) -> int:
        """The difference when that clock showed `time_ns`."""
        (begin, first, _), (end, last, _) = self.begin, self.end or self.begin
        if end <= begin:
            return first
        return first + round((last - first) * (time_ns - first - begin) / (end - begin))

    def correct(self, access: Access) -> None:
        def own(time_ns):
            return time_ns - self.ahead(time_ns)

        access.begin_ns, access.end_ns = own(access.begin_ns), own(access.end_ns)
        access.spans = [
            dataclasses.replace(span, begin_ns=own(span.begin_ns), end_ns=own(span.end_ns))
            for span in access.spans
        ]


@dataclasses.dataclass
class Job:
    path: str
    name: str
    size: int  # ranks that it has
    nodes: int
    node_of: dict[int, int]  # of the ranks that are in the file
    calls: list[Call]
    troubles: list[str]
    clock_error_ns: dict[int, int] = dataclasses.field(default_factory=dict)  # of nodes with other clocks

    @property
    def begin_ns(self) -> int:
        return min((call.begin_ns for call in self.calls), default=0)

    def frame(self):
        """All spans as a pandas.DataFrame, times in seconds from the first call's begin on."""
        import pandas

        rows = [
            (
                call.number,
                call.file,
                call.function,
                call.way,
                one.rank,
                self.node_of[one.rank],
                one.aggregator,
            )
            + (span.phase, span.cycle, (span.begin_ns - self.begin_ns) * 1e-9)
            + ((span.end_ns - self.begin_ns) * 1e-9, span.bytes)
            for call in self.calls
            for one in call.accesses
            for span in one.spans
        ]
        names = ["call", "file", "function", "way", "rank", "node", "aggregator"]
        names += ["phase", "cycle", "begin", "end", "bytes"]
        return pandas.DataFrame(rows, columns=names).astype({"aggregator": "Int64"})


# ---- reading ----


def load(path: str | pathlib.Path, job: str = "") -> Job:
    """The file's job of that name; without one its last, and a trouble tells of the others."""
    path = pathlib.Path(path)
    try:
        text = path.read_text(errors="surrogateescape")
    except OSError as error:
        raise IoTimesError(f"{path}: {error.strerror}") from None
    jobs: dict[str, Job] = {}
    broken: list[int] = []
    accesses: dict[str, list[Access]] = {}
    clocks: dict[int, NodeClock] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        entry = entry_of(line)
        if entry is None:
            broken.append(number)
            continue
        reader = Reader(f"{path}: line {number}", entry)
        if "io_times" in entry:
            reader.rank(str(path), jobs)
        elif "call" in entry:
            accesses.setdefault(reader.job(jobs).name, []).append(reader.access(jobs))
        elif "clock_of_node" in entry:
            clocks[reader.whole("clock_of_node")] = reader.clock()
        elif "left_out" in entry:
            left_out = reader.whole("left_out", 1)
            rank = reader.rank_of(reader.job(jobs))
            reader.job(jobs).troubles.append(f"rank {rank}: {left_out} spans are left out, for want of room")
        else:
            raise IoTimesError(f"{reader.where}: has none of the fields io_times, call and left_out")
        if broken and not jobs:
            break
    if not jobs:
        told = "is empty" if not text else "does not begin with a rank's line"
        raise IoTimesError(f"{path}: {told}, expected what mpiexec --io-times wrote")
    return finish(jobs, job, accesses, clocks, broken)


def finish(
    jobs: dict[str, Job],
    name: str,
    accesses: dict[str, list[Access]],
    clocks: dict[int, NodeClock],
    broken: list[int],
) -> Job:
    path = next(iter(jobs.values())).path
    if name and name not in jobs:
        raise IoTimesError(f"{path}: has no job {name}, expected {' or '.join(jobs)}")
    found = jobs[name] if name else list(jobs.values())[-1]
    for access in accesses.get(found.name, []):
        if clock := clocks.get(found.node_of[access.rank]):
            clock.correct(access)
    found.clock_error_ns = {node: clock.error_ns for node, clock in clocks.items()}
    found.troubles += [
        f"the clock of host {clock.host} is known from the job's begin only"
        for clock in clocks.values()
        if clock.end is None
    ]
    found.calls = calls_of(accesses.get(found.name, []))
    if len(found.node_of) < found.size:
        found.troubles.append(f"{len(found.node_of)} of the {found.size} ranks are in it")
    if broken:
        lines = f"{len(broken)} unfinished line{'s' if len(broken) > 1 else ''}"
        found.troubles.append(f"{lines} left out, the first is line {broken[0]}")
    if len(jobs) > 1 and not name:
        others = ", ".join(one for one in jobs if one != found.name)
        found.troubles.append(f"this is its last job, {found.name}; the others are {others}")
    return found


def calls_of(accesses: list[Access]) -> list[Call]:
    groups: dict[tuple, list[Access]] = {}
    for access in accesses:
        groups.setdefault((access.opened, access.call), []).append(access)
    calls = [Call(0, sorted(group, key=lambda access: access.rank)) for group in groups.values()]
    calls.sort(key=lambda call: (call.begin_ns, call.accesses[0].opened))
    for number, call in enumerate(calls):
        call.number = number
    return calls


def entry_of(line: str) -> dict | None:
    """What a whole line says; None of one that is unfinished, or has another one in its middle."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


class Reader:
    """Takes the fields of one line, and refuses what cannot be."""

    def __init__(self, where: str, entry: dict):
        self.where, self.entry = where, entry

    def refuse(self, name: str, value, expected: str) -> IoTimesError:
        return IoTimesError(f"{self.where}: {name} = {json.dumps(value)[:60]}, expected {expected}")

    def whole(self, name: str, least: int = 0, most: int | None = None) -> int:
        value = self.entry.get(name)
        if type(value) is not int or value < least or (most is not None and value > most):
            expected = f"a whole number from {least} on" if most is None else f"{least} to {most}"
            raise self.refuse(name, value, expected)
        return value

    def text(self, name: str, among: tuple[str, ...] = ()) -> str:
        value = self.entry.get(name)
        if not isinstance(value, str) or not value or (among and value not in among):
            raise self.refuse(name, value, " or ".join(among) or "a text")
        return value

    def rank(self, path: str, jobs: dict[str, Job]) -> None:
        if self.entry["io_times"] != VERSION:
            raise self.refuse("io_times", self.entry["io_times"], f"{VERSION}: another version wrote it")
        name, size, nodes = self.text("job"), self.whole("ranks", 1), self.whole("nodes", 1)
        job = jobs.setdefault(name, Job(path, name, size, nodes, {}, [], []))
        if (job.size, job.nodes) != (size, nodes):
            raise self.refuse("ranks, nodes", [size, nodes], f"{[job.size, job.nodes]} as in the lines above")
        job.node_of[self.rank_of(job)] = self.whole("node", 0, nodes - 1)

    def job(self, jobs: dict[str, Job]) -> Job:
        name = self.text("job")
        if name not in jobs:
            raise self.refuse("job", name, "that of a rank's line above")
        return jobs[name]

    def rank_of(self, job: Job) -> int:
        return self.whole("rank", 0, job.size - 1)

    def access(self, jobs: dict[str, Job]) -> Access:
        job = self.job(jobs)
        rank = self.rank_of(job)
        if rank not in job.node_of:
            raise self.refuse("rank", rank, "one that has a line of its own above")
        begin_ns = self.whole("begin_ns")
        aggregator = None if self.entry.get("aggregator") is None else self.whole("aggregator")
        return Access(
            rank=rank,
            file=self.text("file"),
            opened=self.whole("opened"),
            call=self.whole("call"),
            function=self.text("function"),
            way=self.text("way", WAYS),
            aggregator=aggregator,
            cycles=self.whole("cycles"),
            bytes=self.whole("bytes"),
            begin_ns=begin_ns,
            end_ns=self.whole("end_ns", begin_ns),
            spans=self.spans(),
        )

    def clock(self) -> NodeClock:
        end = None if self.entry.get("end") is None else self.reading("end")
        return NodeClock(self.text("host"), self.reading("begin"), end)

    def reading(self, name: str) -> tuple[int, int, int]:
        value = self.entry.get(name)
        good = isinstance(value, list) and len(value) == 3 and all(type(one) is int for one in value)
        if not good or value[0] < 0 or value[2] < 0:
            raise self.refuse(name, value, "[ns of mpiexec's clock, ns ahead of it, ns of error]")
        return tuple(value)

    def spans(self) -> list[Span]:
        value = self.entry.get("spans")
        if not isinstance(value, list):
            raise self.refuse("spans", value, "a list")
        return [self.span(number, one) for number, one in enumerate(value)]

    def span(self, number: int, one) -> Span:
        good = isinstance(one, list) and len(one) == 5 and one[0] in PHASES
        good = good and all(type(value) is int and value >= 0 for value in one[1:]) and one[2] <= one[3]
        if not good:
            expected = "[phase, cycle, begin_ns, end_ns, bytes]"
            raise self.refuse(f"spans[{number}]", one, f"{expected} with read, exchange or write")
        return Span(*one)


# ---- what the spans add up to ----


@dataclasses.dataclass
class PhaseSum:
    """One phase over some calls. Seconds are summed over ranks; `share` is that of all phases' sum."""

    phase: str
    seconds: float
    share: float
    cycles: int  # in which it was: each call's and rank's counted
    busiest_rank: int
    busiest_seconds: float
    bytes: int

    @property
    def seconds_per_cycle(self) -> float:
        """Of one rank, as the mean of those that had the phase."""
        return self.seconds / self.cycles


def phase_sums(calls: list[Call]) -> list[PhaseSum]:
    """Of the phases that there are."""
    sums = []
    for phase in PHASES:
        by_rank: dict[int, int] = {}
        cycles, moved = set(), 0
        for call in calls:
            for access in call.accesses:
                for span in access.spans:
                    if span.phase != phase:
                        continue
                    by_rank[access.rank] = by_rank.get(access.rank, 0) + span.end_ns - span.begin_ns
                    cycles.add((call.number, access.rank, span.cycle))
                    moved += span.bytes
        if not by_rank:
            continue
        busiest = max(by_rank, key=lambda rank: (by_rank[rank], -rank))
        seconds = sum(by_rank.values()) * 1e-9
        sums.append(PhaseSum(phase, seconds, 0.0, len(cycles), busiest, by_rank[busiest] * 1e-9, moved))
    total = sum(one.seconds for one in sums)
    for one in sums:
        one.share = one.seconds / total if total else 0.0
    return sums


def overlap(calls: list[Call]) -> float | None:
    """Of the time in which exchange or access to the file, whichever is shorter at a rank, could have gone
    beside the other: the share in which it did. None where no rank has both."""
    both = possible = 0
    for call in calls:
        for access in call.accesses:
            exchange = merged(span for span in access.spans if span.phase == "exchange")
            moving = merged(span for span in access.spans if span.phase != "exchange")
            both += common(exchange, moving)
            possible += min(length(exchange), length(moving))
    return both / possible if possible else None


def merged(spans) -> list[tuple[int, int]]:
    """The times in which at least one of them was, in ascending order."""
    made: list[list[int]] = []
    for begin, end in sorted((span.begin_ns, span.end_ns) for span in spans):
        if made and begin <= made[-1][1]:
            made[-1][1] = max(made[-1][1], end)
        else:
            made.append([begin, end])
    return [(begin, end) for begin, end in made]


def length(times: list[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in times)


def common(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> int:
    total = one = other = 0
    while one < len(some) and other < len(others):
        total += max(0, min(some[one][1], others[other][1]) - max(some[one][0], others[other][0]))
        if some[one][1] <= others[other][1]:
            one += 1
        else:
            other += 1
    return total


def document(job: Job, calls: list[Call]) -> dict:
    """What `tasuki io-chart --json` prints."""
    return {
        "job": job.name,
        "ranks": job.size,
        "nodes": job.nodes,
        "calls": [
            {
                "call": call.number,
                "file": call.file,
                "function": call.function,
                "way": call.way,
                "ranks": len(call.accesses),
                "aggregators": call.aggregators,
                "cycles": call.cycles,
                "bytes": call.bytes,
                "begin_seconds": (call.begin_ns - job.begin_ns) * 1e-9,
                "seconds": call.seconds,
                "phases": [
                    dataclasses.asdict(one) | {"seconds_per_cycle": one.seconds_per_cycle}
                    for one in phase_sums([call])
                ],
                "overlap": overlap([call]),
            }
            for call in calls
        ],
        "troubles": job.troubles,
    }
