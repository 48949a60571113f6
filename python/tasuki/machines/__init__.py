"""Machines as files of parameters, each with its source: what `tasuki predict --machine` prices a program
with.

The files of this folder are shipped (`load("k-computer")`); `tasuki fit run.json --machine local.json`
writes one of a run. docs/model.md describes the format. A machine has parameters (numbers that a formula
takes; a number that was never published stands there as unknown, with the reason) and curves (times measured,
or lines fitted to them). What is wrong with a file is a `MachineError` that names file, place, value and
what was expected.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib

from tasuki import fit
from tasuki.results import Row, Run

VERSION = 1
GUESS = "guess"  # the source of a number that nobody printed
FOLDER = pathlib.Path(__file__).parent

PARAMETERS = {
    "latency_seconds": "of a short message between neighbours, one way",
    "software_seconds": "L_S, the processor's part of that latency",
    "hardware_seconds": "L_H, the rest of it",
    "control_seconds": "the control messages of a rendezvous together",
    "send_overhead_seconds": "o_s: the sender's processor is busy with a message",
    "receive_overhead_seconds": "o_r: the receiver's is",
    "gap_seconds": "g: between messages in a stream",
    "link_bytes_per_second": "of one link in one direction",
    "total_bytes_per_second": "of all links of a node in one direction",
    "memory_bytes_per_second": "B_M, of a node's memory",
    "copy_bytes_per_second": "of a copy in memory by one process",
    "arithmetic_bytes_per_second": "T_C, of a reduction",
    "decision_seconds": "t_O, the choice of a collective's algorithm",
    "addresses_seconds": "t_S, the exchange of addresses before a collective",
    "segment_bytes": "m, of a pipelined collective",
    "eager_bytes_max": "up to it a message leaves without waiting for its receive",
    "dimensions": "of the network, as a collective uses it: 1, 2 or 3",
    "ranks_per_node": "of the measurements",
    "messages_under_way": "w, of a rank in an exchange of collective files, or of a program",
    "storage_targets": "of the storage",
    "targets_per_server": "of the storage",
    "storage_link_bytes_per_second": "of a node's link to the storage",
    "server_bytes_per_second": "of a server's link",
    "target_bytes_per_second": "of a target",
    "handover_seconds": "of a target, when another node writes to it than before",
    "stripe_bytes": "of files, and of an aggregator's buffer",
}


class MachineError(ValueError):
    """A file of a machine that cannot be used."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    value: float | None  # None: unknown, and `note` says why
    low: float | None = None
    high: float | None = None
    source: str = ""
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Point:
    bytes: int
    seconds: float
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass
class Curve:
    """The time of one pattern among so many ranks, by size: points, segments, or both."""

    group: str
    benchmark: str
    variant: dict[str, str]
    ranks: int
    factor: float = 1.0
    points: list[Point] = dataclasses.field(default_factory=list)
    segments: list[fit.Segment] | None = None  # None: not fitted yet
    source: str = ""
    note: str = ""

    @property
    def pattern(self) -> str:
        variant = ",".join(f"{name}={value}" for name, value in self.variant.items())
        return "/".join(filter(None, (self.group, self.benchmark, variant)))

    def lines(self) -> list[fit.Segment]:
        """The segments, fitted to the points when first asked for; none where there are too few points."""
        if self.segments is None:
            try:
                self.segments = fit.fit_series(self.rows()).segments
            except fit.FitError:
                self.segments = []
        return self.segments

    def rows(self) -> list[Row]:
        place = (self.group, self.benchmark, self.variant, self.ranks)
        return [
            Row(*place, point.bytes, [point.seconds], *[point.seconds] * 3, factor=self.factor)
            for point in self.points
        ]


TOPOLOGIES = {
    "torus": ("shape",),
    "crossbar": ("shape",),
    "fat_tree": ("down", "up", "links"),
    "dragonfly": ("down", "links", "shape"),
}


@dataclasses.dataclass(frozen=True)
class Topology:
    """What connects the nodes, for `tasuki simulate`."""

    kind: str
    shape: list[int]  # torus: its extents; crossbar: the nodes; dragonfly: the nodes at a router
    down: list[int] = dataclasses.field(default_factory=list)  # fat tree: below a switch, level by level
    up: list[int] = dataclasses.field(default_factory=list)  # above it
    links: list[int] = dataclasses.field(default_factory=list)  # to each of these
    slow: list[dict] = dataclasses.field(default_factory=list)  # links with less than the rate
    source: str = ""
    note: str = ""


@dataclasses.dataclass
class Machine:
    name: str
    title: str
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    parameters: dict[str, Parameter] = dataclasses.field(default_factory=dict)
    curves: list[Curve] = dataclasses.field(default_factory=list)
    path: str = ""
    topology: Topology | None = None

    def value(self, name: str) -> float | None:
        """A parameter, or None where it is unknown or not told of."""
        return self.parameters[name].value if name in self.parameters else None

    def with_value(self, name: str, value: float) -> Machine:
        """The machine with one number changed: a what-if."""
        if name not in PARAMETERS:
            raise MachineError(f"{name}: no parameter, expected one of {', '.join(PARAMETERS)}")
        if not math.isfinite(value) or value < 0:
            raise MachineError(f"{name} = {value!r}, expected a number from 0 on")
        changed = self.parameters | {name: Parameter(value, note="set on the command line")}
        return dataclasses.replace(self, parameters=changed)


def names() -> list[str]:
    """The machines that are shipped."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str | pathlib.Path) -> Machine:
    """A shipped machine by its name, or a file by its path."""
    path = pathlib.Path(name)
    if str(name) in names():
        path = FOLDER / f"{name}.json"
    try:
        document = json.loads(path.read_text())
    except (FileNotFoundError, IsADirectoryError):
        known = ", ".join(names())
        raise MachineError(f"{name}: no such machine or file, expected {known} or a file") from None
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise MachineError(f"{path}: is no whole JSON document: {error}") from None
    machine = machine_of(document, str(path))
    machine.path = str(path)
    return machine


def of_run(run: Run) -> Machine:
    """The machine that a run measured: its rows as curves, and what tasuki.loggp derives from them; each
    curve in one state of the machine."""
    from tasuki import loggp

    run = run.in_one_state()
    machine = Machine(
        name=f"{run.environment.get('host', 'local')}-{run.implementation.get('name', 'mpi')}",
        title=f"{run.implementation.get('name', 'an MPI')} {run.implementation.get('version', '')} on "
        f"{run.environment.get('cpu', 'an unknown processor')}, "
        f"{run.environment.get('processors', 'an unknown number of')} processors",
        sources={"run": f"tasuki bench, {run.environment.get('time', 'at an unknown time')}"},
        path=run.path,
    )
    for rows in run.series().values():
        fit.check(rows)
        first = rows[0]
        points = [Point(row.bytes, row.median_seconds, row.low_seconds, row.high_seconds) for row in rows]
        place = (first.group, first.benchmark, first.variant, first.ranks, first.factor)
        machine.curves.append(Curve(*place, points, source="run"))
    for name, (estimate, note) in loggp.parameters_of(run).items():
        machine.parameters[name] = Parameter(estimate.value, estimate.low, estimate.high, "run", note)
    return machine


# ---- to and from JSON ----------------------------------------------------------------------------------


def save(machine: Machine, path: str | pathlib.Path) -> None:
    """Writes the file, whole or not at all: a parameter or a curve on each line."""
    parts = {
        "parameters": [f"{text_of(name)}: {text_of(told(one))}" for name, one in machine.parameters.items()]
    }
    parts["curves"] = [text_of(curve_told(curve)) for curve in machine.curves]
    lines = ["{", f' "tasuki_machine": {VERSION},']
    lines += [
        f" {text_of(name)}: {text_of(getattr(machine, name))}," for name in ("name", "title", "sources")
    ]
    lines += [' "parameters": {', ",\n".join(f"  {one}" for one in parts["parameters"]), " },"]
    if machine.topology is not None:
        topology = {name: one for name, one in dataclasses.asdict(machine.topology).items() if one}
        lines += [f' "topology": {text_of(topology)},']
    lines += [' "curves": [', ",\n".join(f"  {one}" for one in parts["curves"]), " ]", "}"]
    path = pathlib.Path(path)
    draft = path.with_name(path.name + ".part")
    draft.write_text("\n".join(lines) + "\n")
    draft.replace(path)


def text_of(value) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def told(parameter: Parameter) -> dict:
    fields = {name: value for name, value in dataclasses.asdict(parameter).items() if value not in (None, "")}
    if parameter.value is None:
        return {"unknown": fields.pop("note", "")} | fields
    return {name: value for name, value in fields.items() if value != math.inf}


def curve_told(curve: Curve) -> dict:
    document = {"pattern": curve.pattern, "ranks": curve.ranks, "factor": curve.factor}
    if curve.points:
        document["points"] = [
            {name: value for name, value in dataclasses.asdict(point).items() if value is not None}
            for point in curve.points
        ]
    if curve.lines():
        document["segments"] = [segment_told(segment) for segment in curve.lines()]
    return document | {name: getattr(curve, name) for name in ("source", "note") if getattr(curve, name)}


def segment_told(segment: fit.Segment) -> dict:
    """A bandwidth that has no upper end is left out, and so is the upper end of its interval."""
    document = {"bytes_first": segment.bytes_first, "bytes_last": segment.bytes_last}
    for name in ("latency_seconds", "bytes_per_second"):
        estimate = getattr(segment, name)
        ends = {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        document |= {one: value for one, value in ends.items() if math.isfinite(value)}
    return document


class Reader:
    """One object of a file: takes its fields, and says what is wrong with them, and where."""

    def __init__(self, document, place: str, fields: tuple[str, ...]):
        if not isinstance(document, dict):
            raise MachineError(f"{place} = {document!r}, expected an object")
        for name in document:
            if name not in fields:
                raise MachineError(f"{place}: {name} is no field here, expected {', '.join(fields)}")
        self.document, self.place = document, place

    def wrong(self, name: str, expected: str):
        return MachineError(f"{self.place}.{name} = {self.document.get(name)!r}, expected {expected}")

    def text(self, name: str) -> str:
        value = self.document.get(name, "")
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def number(self, name: str, least: float = 0.0, needed: bool = True, above: bool = False) -> float | None:
        value = self.document.get(name)
        if value is None and not needed and name not in self.document:
            return None
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value < least or (above and value == least):
            raise self.wrong(name, f"a number above {least:g}" if above else f"a number from {least:g} on")
        return value

    def whole(self, name: str, least: int) -> int:
        value = self.document.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.wrong(name, f"a whole number from {least} on")
        return value

    def array(self, name: str) -> list:
        value = self.document.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "an array")
        return value

    def object(self, name: str) -> dict:
        value = self.document.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return value


def machine_of(document, place: str) -> Machine:
    """A checked machine, of a file's document."""
    if not isinstance(document, dict) or "tasuki_machine" not in document:
        raise MachineError(f"{place}: has no field tasuki_machine: expected a machine (docs/model.md)")
    if document["tasuki_machine"] != VERSION:
        raise MachineError(f"{place}: tasuki_machine = {document['tasuki_machine']!r}, expected {VERSION}")
    fields = ("tasuki_machine", "name", "title", "sources", "parameters", "topology", "curves")
    reader = Reader(document, place, fields)
    sources = reader.object("sources")
    parameters = {}
    for name, one in reader.object("parameters").items():
        if name not in PARAMETERS:
            raise MachineError(
                f"{place}: parameters.{name} is no parameter, expected one of {', '.join(PARAMETERS)}"
            )
        parameters[name] = parameter_of(one, f"{place}: parameters.{name}", sources)
    curves = [curve_of(one, f"{place}: curves[{i}]", sources) for i, one in enumerate(reader.array("curves"))]
    name = reader.text("name") or pathlib.Path(place).stem
    machine = Machine(name, reader.text("title"), sources, parameters, curves)
    if "topology" in document:
        machine.topology = topology_of(document["topology"], f"{place}: topology", sources)
    return machine


def topology_of(document, place: str, sources: dict) -> Topology:
    fields = ("kind", "shape", "down", "up", "links", "slow", "source", "note")
    reader = Reader(document, place, fields)
    kind = reader.text("kind")
    if kind not in TOPOLOGIES:
        raise reader.wrong("kind", f"one of {', '.join(TOPOLOGIES)}")
    lists = {}
    for name in ("shape", "down", "up", "links"):
        lists[name] = reader.array(name)
        whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 1 for one in lists[name])
        if not whole or (name in TOPOLOGIES[kind] and not lists[name]):
            raise reader.wrong(name, "an array of whole numbers from 1 on")
    levels = {name: lists[name] for name in TOPOLOGIES[kind] if name != "shape"}
    for name, numbers in levels.items():
        if len(numbers) != len(lists["down"]) or (kind == "dragonfly" and len(numbers) != 3):
            raise reader.wrong(name, "3 numbers" if kind == "dragonfly" else "a number for each level")
    slow = [slow_of(one, f"{place}.slow[{i}]") for i, one in enumerate(reader.array("slow"))]
    return Topology(kind, **lists, slow=slow, source=source_of(reader, sources), note=reader.text("note"))


def slow_of(document, place: str) -> dict:
    """A link between two nodes that has but a part of the rate."""
    reader = Reader(document, place, ("from", "to", "factor"))
    link = {name: reader.whole(name, 0) for name in ("from", "to")}
    return link | {"factor": reader.number("factor", above=True)}


def source_of(reader: Reader, sources: dict) -> str:
    source = reader.text("source")
    if source not in sources and source != GUESS:
        known = ", ".join(sources) or "the sources, of which there are none"
        raise reader.wrong("source", f"one of {known}, or the word {GUESS}")
    return source


def parameter_of(document, place: str, sources: dict) -> Parameter:
    reader = Reader(document, place, ("value", "low", "high", "unknown", "source", "note"))
    if "unknown" in document:
        return Parameter(None, note=reader.text("unknown"))
    ends = [reader.number(name, needed=name == "value") for name in ("value", "low", "high")]
    return Parameter(*ends, source_of(reader, sources), reader.text("note"))


def curve_of(document, place: str, sources: dict) -> Curve:
    fields = ("pattern", "ranks", "factor", "points", "segments", "source", "note")
    reader = Reader(document, place, fields)
    try:
        group, benchmark, variant = parts_of(reader.text("pattern"))
    except ValueError:
        raise reader.wrong("pattern", "group/benchmark or group/benchmark/name=value,…") from None
    factor = reader.number("factor", needed=False, above=True) or 1.0
    points = [point_of(one, f"{place}.points[{i}]") for i, one in enumerate(reader.array("points"))]
    segments = [
        segment_of(one, f"{place}.segments[{i}]", factor) for i, one in enumerate(reader.array("segments"))
    ]
    if not points and not segments:
        raise MachineError(f"{place}: has neither points nor segments")
    for name, sizes in (("points", points), ("segments", segments)):
        firsts = [one.bytes if name == "points" else one.bytes_first for one in sizes]
        if firsts != sorted(set(firsts)):
            raise MachineError(f"{place}.{name}: sizes {firsts}, expected ascending ones")
    source, note = source_of(reader, sources), reader.text("note")
    ranks = reader.whole("ranks", 1)
    return Curve(group, benchmark, variant, ranks, factor, points, segments or None, source, note)


def parts_of(pattern: str) -> tuple[str, str, dict[str, str]]:
    """Group, benchmark and variant of "group/benchmark/name=value,…"; ValueError when it is none."""
    parts = pattern.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(pattern)
    words = parts[2].split(",") if len(parts) == 3 else []
    if not all("=" in word for word in words):
        raise ValueError(pattern)
    return parts[0], parts[1], dict(word.split("=", 1) for word in words)


def point_of(document, place: str) -> Point:
    reader = Reader(document, place, ("bytes", "seconds", "low", "high"))
    ends = [reader.number(name, needed=False) for name in ("low", "high")]
    return Point(reader.whole("bytes", 0), reader.number("seconds", above=True), *ends)


def segment_of(document, place: str, factor: float) -> fit.Segment:
    names = ("latency_seconds", "bytes_per_second")
    ends = [f"{name}_{end}" for name in names for end in ("low", "high")]
    reader = Reader(document, place, ("bytes_first", "bytes_last", *names, *ends))
    first = reader.whole("bytes_first", 0)
    last = reader.whole("bytes_last", first)
    latency = reader.number("latency_seconds")
    bandwidth = reader.number("bytes_per_second", needed=False, above=True) or math.inf
    half = latency * bandwidth / factor if math.isfinite(bandwidth) else math.inf
    return fit.Segment(
        bytes_first=first,
        bytes_last=last,
        points=0,
        latency_seconds=estimate_of(reader, "latency_seconds", latency),
        bytes_per_second=estimate_of(reader, "bytes_per_second", bandwidth),
        half_bytes=fit.Estimate(half, 0.0, math.inf),
        factor=factor,
    )


def estimate_of(reader: Reader, name: str, value: float) -> fit.Estimate:
    """The value with the interval that the file tells; where it tells none, the value alone. An interval with
    a lower end only is open."""
    low, high = (reader.number(f"{name}_{end}", needed=False) for end in ("low", "high"))
    if low is None and high is None:
        return fit.Estimate(value, value, value)
    return fit.Estimate(value, low or 0.0, math.inf if high is None else high)
