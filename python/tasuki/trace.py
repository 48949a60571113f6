"""Traces: docs/trace.md describes the file that `mpiexec --trace` writes, and this module reads it.

`load(path)` gives a `Trace`, which has a `Part` for each process: its calls as numpy columns.
`Trace.frame()` has all calls as one tidy data frame. What is wrong with a file is a `TraceError`, which names
file, place, what is there and what was expected. A file that ends too early is read as far as it goes, and
`Trace.troubles` says so.
"""

from __future__ import annotations

import dataclasses
import pathlib
import struct
from collections.abc import Iterator

import numpy as np

MAGIC = b"TSKTRACE"
VERSION = 2
READ = (1, 2)  # the versions that are read
OWN = "(trace)"  # what the recorder itself took: neither the program's time nor MPI's

# Peers that are no rank of MPI_COMM_WORLD.
NOBODY, ANY_SOURCE, NULL_PROCESS, OTHER_WORLD = -1, -2, -3, -4
FAILED, WILDCARD, PERSISTENT, STARTS, UNANSWERED, SCATTERED = 1, 2, 4, 8, 16, 32

# The columns of a DATA block, in their order; those that are signed.
COLUMNS = (
    "gap length outside function group peer source tag sent received block phase thread repeats flags made"
    " done"
).split()
SIDE_COLUMNS = ("started", "done_serial", "done_source", "done_bytes")
# Of later versions, each with its name; 0 where a file has none. Further ones are passed over.
FURTHER_COLUMNS = "site queue way algorithm runner_up predicted runner_up_predicted".split()
SIGNED = {"gap", "peer", "source", "tag", "started", "done_serial", "done_source"}
ALL_COLUMNS = (*COLUMNS, *SIDE_COLUMNS, *FURTHER_COLUMNS)
GROUP_KINDS = ("communicator", "window", "file")

FILE_HEAD = struct.Struct("<8sI")
BLOCK_HEAD = struct.Struct("<4sIQ")
FURTHER_MAX = 64
DAMAGED = b"????"  # in place of the kind of a block whose checksum is wrong
TICK_NS = 10_000_000  # in steps of which the system tells how busy a processor was
RECORDS_MAX = 1 << 24  # of a block: far more than the recorder collects


class TraceError(ValueError):
    """A trace that cannot be read."""


@dataclasses.dataclass
class Group:
    """A communicator, a window or a file, as one process knows it."""

    kind: str
    rank: int  # of the process in it
    members: tuple[int, ...]  # as ranks of MPI_COMM_WORLD
    remote: tuple[int, ...] = ()  # of an intercommunicator
    name: str = ""
    number: int = 0  # the same for all its members, within the trace


@dataclasses.dataclass
class Part:
    """What one process recorded. Times are nanoseconds of rank 0's CLOCK_MONOTONIC."""

    head: dict[str, str]
    world: int
    rank: int
    size: int
    functions: dict[int, str] = dataclasses.field(default_factory=dict)
    groups: dict[int, Group] = dataclasses.field(default_factory=dict)
    phases: dict[int, str] = dataclasses.field(default_factory=dict)
    sites: dict[int, str] = dataclasses.field(default_factory=dict)  # of tasuki.places
    ways: dict[int, str] = dataclasses.field(default_factory=dict)
    algorithms: dict[int, str] = dataclasses.field(default_factory=dict)
    columns: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    whole: bool = False  # it came to MPI_Finalize

    def __len__(self) -> int:
        return len(self.columns["begin"])


@dataclasses.dataclass
class Trace:
    path: str
    parts: list[Part]
    troubles: list[str]
    version: int = VERSION

    @property
    def begin(self) -> int:
        """The first call's begin, in nanoseconds."""
        return min((int(part.columns["begin"][0]) for part in self.parts if len(part)), default=0)

    @property
    def processors(self) -> int:
        return int(self.parts[0].head.get("processors", "0") or 0) if self.parts else 0

    @property
    def others_seconds(self) -> float:
        """What other programs took of the processors of the ranks' hosts while these ran; 0: not told."""
        hosts: dict[str, list[Part]] = {}
        for part in self.parts:
            hosts.setdefault(part.head.get("host", ""), []).append(part)
        total = 0
        for parts in hosts.values():
            busy = max(int(part.head.get("busy_ns", "0") or 0) for part in parts)
            own = sum(int(part.head.get("own_ns", "0") or 0) for part in parts)
            unsure = TICK_NS * int(parts[0].head.get("processors", "0") or 0)
            total += max(0, busy - own - unsure)
        return total * 1e-9

    def frame(self):
        """All calls as a pandas.DataFrame: one line a call (or a row of tests that found nothing)."""
        import pandas

        frames = [frame_of(part, self.begin) for part in self.parts]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def frame_of(part: Part, begin: int):
    import pandas

    columns = part.columns
    group = columns["group"]
    known = part.groups.get
    numbers = {number: one.number for number, one in part.groups.items()}
    names = {number: one.name for number, one in part.groups.items()}
    sizes = {number: len(one.remote or one.members) for number, one in part.groups.items()}
    kinds = {number: known(number).kind for number in part.groups}
    frame = pandas.DataFrame(
        {
            "world": part.world,
            "rank": part.rank,
            "thread": columns["thread"],
            "function": category(columns["function"], part.functions),
            "comm": lookup(group, numbers),
            "comm_name": category(group, names),
            "comm_kind": category(group, kinds),
            "comm_size": lookup(group, sizes),
            "peer": np.where(columns["peer"] == NOBODY, columns["source"], columns["peer"]),
            "source": columns["source"],
            "tag": columns["tag"],
            "sent": columns["sent"],
            "received": columns["received"],
            "block": columns["block"],
            "phase": category(columns["phase"], part.phases),
            "way": category(columns["way"], part.ways),
            "algorithm": category(columns["algorithm"], part.algorithms),
            "queue": columns["queue"],
            "begin": (columns["begin"] - begin) * 1e-9,
            "end": (columns["end"] - begin) * 1e-9,
            "seconds": (columns["end"] - columns["begin"] - columns["outside"]) * 1e-9,
            "calls": columns["repeats"] + 1,
            "flags": columns["flags"],
        }
    )
    return frame[frame["function"] != OWN]


def lookup(values: np.ndarray, meaning: dict[int, int]) -> np.ndarray:
    table = np.zeros(max([0, *meaning]) + 1, dtype=np.int64)
    for number, value in meaning.items():
        table[number] = value
    return table[values]


def category(values: np.ndarray, meaning: dict[int, str]):
    """Numbers as text; those without a meaning as the empty text."""
    table = np.full(max([0, *meaning]) + 1, "", dtype=object)
    for number, text in meaning.items():
        table[number] = text
    return table[values]


# ---- reading ----


def is_trace(path: str | pathlib.Path) -> bool:
    """Whether a file begins as a trace does."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def load(path: str | pathlib.Path, forgiving: bool = False) -> Trace:
    """Reads a trace, whole or a rank's part of one. `forgiving`: of a process of which a block is damaged
    what came before is read, and `troubles` says so."""
    path = pathlib.Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    trace = Trace(str(path), [], [])
    if len(data) >= FILE_HEAD.size:
        trace.version = FILE_HEAD.unpack_from(data)[1]
    collected: list[dict[str, list[np.ndarray]]] = []
    lost = False  # what follows of this process
    for kind, place, payload in blocks(data, path, trace.troubles, forgiving):
        where = f"{path}: block at byte {place}"
        if kind == DAMAGED:
            lost = True
        elif lost and kind in (b"DATA", b"END "):
            continue
        elif kind == b"HEAD":
            lost = False
            trace.parts.append(part_of(payload, where))
            collected.append({name: [] for name in (*ALL_COLUMNS, "made_before", "begin", "end")})
        elif not trace.parts:
            raise TraceError(f"{where}: a block {kind.decode()!r} before the first HEAD")
        elif kind == b"DATA":
            try:
                Reader(payload, where).block(trace.parts[-1], collected[-1])
            except TraceError as error:
                if not forgiving:
                    raise
                trace.troubles.append(f"{error}: what follows of its process is left out")
                lost = True
        elif kind == b"END ":
            trace.parts[-1].whole = True
            trace.parts[-1].head |= lines_of(payload)
        else:
            raise TraceError(f"{where}: kind {kind!r}, expected HEAD, DATA or END")
    for part, columns in zip(trace.parts, collected, strict=True):
        finish(part, columns)
        if not part.whole:
            trace.troubles.append(f"rank {part.rank}: its calls end without MPI_Finalize")
    if not trace.parts:
        raise TraceError(f"{path}: no process is in it")
    for world, size in {part.world: part.size for part in trace.parts}.items():
        found = sum(part.world == world for part in trace.parts)
        if found < size:
            trace.troubles.append(f"{path}: {found} of the {size} ranks of world {world} are in it")
    number_groups(trace)
    return trace


def blocks(
    data: bytes, path: pathlib.Path, troubles: list[str], forgiving: bool = False
) -> Iterator[tuple[bytes, int, bytes]]:
    if len(data) < FILE_HEAD.size or data[: len(MAGIC)] != MAGIC:
        raise TraceError(f"{path}: begins with {data[:8]!r}, expected {MAGIC!r}: a file of mpiexec --trace")
    _, version = FILE_HEAD.unpack_from(data)
    if version not in READ:
        raise TraceError(
            f"{path}: version {version}, expected {' or '.join(map(str, READ))}: a file of another tasuki"
        )
    place = FILE_HEAD.size
    while place < len(data):
        if place + BLOCK_HEAD.size > len(data):
            troubles.append(
                f"{path}: ends in the head of the block at byte {place}: what followed is missing"
            )
            return
        kind, size, wanted = BLOCK_HEAD.unpack_from(data, place)
        begin = place + BLOCK_HEAD.size
        if begin + size > len(data):
            troubles.append(
                f"{path}: ends {begin + size - len(data)} bytes before the block at byte {place} does: "
                "what followed is missing"
            )
            return
        payload = data[begin : begin + size]
        if checksum(payload) != wanted:
            text = f"{path}: block at byte {place}: its checksum is wrong: the file is damaged"
            if not forgiving:
                raise TraceError(text)
            troubles.append(f"{text}, and what follows of its process is left out")
            kind = DAMAGED
        yield kind, place, payload
        place = begin + size


def checksum(payload: bytes) -> int:
    words = np.frombuffer(payload + bytes(-len(payload) % 8), dtype="<u8")
    odd = np.arange(1, 2 * len(words), 2, dtype=np.uint64)
    return (len(payload) + int((words * odd).sum(dtype=np.uint64))) % (1 << 64)


def lines_of(payload: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in payload.decode(errors="replace").splitlines() if "=" in line)


def part_of(payload: bytes, where: str) -> Part:
    head = lines_of(payload)
    numbers = []
    for name in ("world", "rank", "size"):
        try:
            numbers.append(int(head[name]))
        except (KeyError, ValueError):
            raise TraceError(f"{where}: {name} = {head.get(name)!r}, expected a number") from None
    return Part(head, *numbers)


class Reader:
    """Reads the payload of a DATA block from its begin to its end."""

    def __init__(self, payload: bytes, where: str):
        self.payload, self.where, self.place = payload, where, 0

    def fail(self, what: str) -> TraceError:
        return TraceError(f"{self.where}, payload's byte {self.place}: {what}")

    def varint(self) -> int:
        value = shift = 0
        while True:
            if self.place >= len(self.payload) or shift > 63:
                raise self.fail("a number that does not end")
            byte = self.payload[self.place]
            self.place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def bytes(self, size: int) -> bytes:
        if size > len(self.payload) - self.place:
            raise self.fail(f"{size} bytes are told of, {len(self.payload) - self.place} are left")
        self.place += size
        return self.payload[self.place - size : self.place]

    def column(self, count: int, name: str) -> np.ndarray:
        kind = self.bytes(1)[0]
        if kind == 0:
            value = self.varint()
            if value >= 1 << 64:
                raise self.fail(f"{name} = {value}, expected less than 2^64")
            values = np.full(count, value, dtype=np.uint64)
        elif kind == 1:
            values = varints(self.bytes(self.varint()))
            if values is None or len(values) != count:
                found = "an unfinished number" if values is None else f"{len(values)} values"
                raise self.fail(f"column {name} has {found}, expected {count}")
        else:
            raise self.fail(f"column {name} is of kind {kind}, expected 0 or 1")
        if name in SIGNED:
            return (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64)
        return values.astype(np.int64)

    def block(self, part: Part, columns: dict[str, list[np.ndarray]]) -> None:
        count, made_before = self.varint(), self.varint()
        self.varint(), self.varint()  # calls and bytes sent, for readers that stop here
        if count > RECORDS_MAX:
            raise self.fail(f"{count} records, expected at most {RECORDS_MAX}")
        for _ in range(self.varint()):
            self.define(part, self.bytes(self.varint()))
        found = {name: self.column(count, name) for name in COLUMNS}
        for name in SIDE_COLUMNS:
            side = self.varint()
            if side > RECORDS_MAX:
                raise self.fail(f"{side} values of {name}, expected at most {RECORDS_MAX}")
            found[name] = self.column(side, name)
        found |= self.further(count)
        self.check(part, found)
        ends = np.cumsum(found["gap"] + found["length"])
        found["end"], found["begin"] = ends, ends - found["length"]
        found["made_before"] = made_before + np.cumsum(found["made"]) - found["made"]
        if self.place != len(self.payload):
            raise self.fail(f"{len(self.payload) - self.place} bytes too many")
        for name, values in found.items():
            columns[name].append(values)

    def further(self, count: int) -> dict[str, np.ndarray]:
        found = {name: np.zeros(count, dtype=np.int64) for name in FURTHER_COLUMNS}
        if self.place == len(self.payload):  # of version 1
            return found
        columns = self.varint()
        if columns > FURTHER_MAX:
            raise self.fail(f"{columns} further columns, expected at most {FURTHER_MAX}")
        for _ in range(columns):
            name = self.bytes(self.varint()).decode(errors="replace")
            values = self.column(count, name)
            if name in found:
                found[name] = values
        return found

    def check(self, part: Part, found: dict[str, np.ndarray]) -> None:
        known_values = {
            "function": part.functions,
            "group": part.groups,
            "phase": part.phases,
            "site": part.sites,
            "way": part.ways,
            "algorithm": part.algorithms,
            "runner_up": part.algorithms,
        }
        for name, known in known_values.items():
            values = np.unique(found[name])
            unknown = [
                int(one) for one in values if int(one) not in known and (one != 0 or name == "function")
            ]
            if unknown:
                raise self.fail(f"{name} {unknown[0]} is not defined")
        if found["done"].sum() != len(found["done_serial"]):
            raise self.fail(f"{len(found['done_serial'])} requests are done, expected {found['done'].sum()}")
        starts = found["made"][found["flags"] & STARTS != 0].sum()
        if starts != len(found["started"]):
            raise self.fail(f"{len(found['started'])} requests are started, expected {starts}")

    def define(self, part: Part, text: bytes) -> None:
        inner = Reader(text, f"{self.where}, definition")
        kind = inner.bytes(1)
        number = inner.varint()
        value = text[inner.place :].decode(errors="replace")
        if kind == b"F":
            part.functions[number] = value
        elif kind == b"P":
            part.phases[number] = value
        elif kind == b"S":
            part.sites[number] = value
        elif kind == b"W":
            part.ways[number] = value
        elif kind == b"A":
            part.algorithms[number] = value
        elif kind == b"G":
            part.groups[number] = inner.group(value)
        elif kind == b"N" and number in part.groups:
            part.groups[number].name = value
        else:
            raise inner.fail(f"{kind!r} {number}, expected F, G, P, S, W, A, or N of a known group")

    def group(self, text: str) -> Group:
        fields = text.split("\n")
        if len(fields) != 5 or fields[0] not in GROUP_KINDS:
            raise self.fail(f"{text!r}, expected kind, rank, members, remote members and name")
        try:
            return Group(fields[0], int(fields[1]), members_of(fields[2]), members_of(fields[3]), fields[4])
        except ValueError:
            raise self.fail(f"{text!r}, expected members as first:stride:count") from None


def members_of(text: str) -> tuple[int, ...]:
    members: list[int] = []
    for run in filter(None, text.split(",")):
        first, stride, count = map(int, run.split(":"))
        if not 0 < count <= RECORDS_MAX:
            raise ValueError(run)
        members += [first + stride * place for place in range(count)]
    return tuple(members)


def varints(stream: bytes) -> np.ndarray | None:
    """All numbers of a stream; None: the last one does not end."""
    data = np.frombuffer(stream, dtype=np.uint8)
    if len(data) == 0:
        return np.zeros(0, dtype=np.uint64)
    ends = np.flatnonzero(data < 0x80)
    if len(ends) == 0 or ends[-1] != len(data) - 1:
        return None
    if len(ends) == len(data):  # of one byte each
        return data.astype(np.uint64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if (ends - starts).max() > 9:
        return None
    shifts = (np.arange(len(data)) - np.repeat(starts, ends - starts + 1)) * 7
    return np.add.reduceat((data & 0x7F).astype(np.uint64) << shifts.astype(np.uint64), starts)


def finish(part: Part, columns: dict[str, list[np.ndarray]]) -> None:
    for name, values in columns.items():
        part.columns[name] = np.concatenate(values) if values else np.zeros(0, dtype=np.int64)
    offset = int(part.head.get("clock_offset_ns", "0") or 0)
    drift, over = (int(part.head.get(name, "0") or 0) for name in ("clock_drift_ns", "clock_drift_over_ns"))
    believed = abs(drift) > int(part.head.get("clock_drift_error_ns", "0") or 0) and over > 0
    first = part.columns["begin"][0] if len(part.columns["begin"]) else 0
    for name in ("begin", "end"):
        times = part.columns[name]
        # What the host's clock has gained on that of rank 0 since the offset was measured.
        gained = ((times - first) * (drift / over)).astype(np.int64) if believed else 0
        part.columns[name] = times + offset - gained


def number_groups(trace: Trace) -> None:
    """Gives a group the same number in all its members: those of the same members, in the order in which they
    came. Communicators are made collectively, so the members agree on it."""
    numbers: dict[tuple, int] = {}
    for part in trace.parts:
        seen: dict[tuple, int] = {}
        for number in sorted(part.groups):
            group = part.groups[number]
            both = tuple(sorted((group.members, group.remote))) if group.remote else (group.members,)
            alike = (part.world, group.kind, both)
            seen[alike] = seen.get(alike, 0) + 1
            group.number = numbers.setdefault((*alike, seen[alike]), len(numbers) + 1)


def merge(parts: list[str | pathlib.Path], whole: str | pathlib.Path) -> None:
    """Makes one trace of the ranks' parts, as mpiexec does."""
    found = []
    for path in map(pathlib.Path, parts):
        part = load(path)
        troubles: list[str] = []
        data = path.read_bytes()
        end = FILE_HEAD.size
        for _, place, payload in blocks(data, path, troubles):
            end = place + BLOCK_HEAD.size + len(payload)
        found.append((part.parts[0].world, part.parts[0].rank, data[FILE_HEAD.size : end]))
    found.sort(key=lambda one: one[:2])
    twice = [one[:2] for one, other in zip(found, found[1:], strict=False) if one[:2] == other[:2]]
    if twice:
        raise TraceError(f"{whole}: rank {twice[0][1]} of world {twice[0][0]} is in two parts")
    pathlib.Path(whole).write_bytes(FILE_HEAD.pack(MAGIC, VERSION) + b"".join(data for *_, data in found))
