"""What `tasuki predict --json` wrote, of a list of patterns or of a trace, read and checked.

A document has `lines`, each with `seconds` (predicted), perhaps `measured_seconds`, and a name: of a pattern,
or of a function, rank or phase of a trace (`by`).
"""

from __future__ import annotations

import dataclasses
import math
import pathlib

from tasuki.results import ResultsError, read_document

VERSION = 1


@dataclasses.dataclass
class Entry:
    """A line of a prediction. `by`: what the lines of its kind divide the time among."""

    name: str
    by: str
    seconds: float
    measured_seconds: float | None
    ranks: int | None = None
    bytes: float | None = None
    count: float | None = None

    @property
    def off(self) -> float | None:
        """By which part of the measured time the prediction is too high."""
        return self.seconds / self.measured_seconds - 1 if self.measured_seconds else None


@dataclasses.dataclass
class Prediction:
    title: str
    machine: str
    total: Entry
    entries: list[Entry]

    def kinds(self) -> list[str]:
        return list(dict.fromkeys(entry.by for entry in self.entries))


def load(path: str | pathlib.Path) -> Prediction:
    """Reads and checks what `tasuki predict --json` wrote."""
    document = read_document(path, "tasuki_prediction", VERSION, "what `tasuki predict --json` wrote")
    if document.get("kind") == "trace":
        document = document | of_trace(document)
    lines = document.get("lines")
    if not isinstance(lines, list) or not lines:
        raise ResultsError(f"{path}: lines = {lines!r}, expected at least one")
    entries = [entry_of(line, f"{path}: lines[{place}]") for place, line in enumerate(lines)]
    total = entry_of({"name": "all"} | document, str(path))
    title = str(document.get("program") or path.stem)
    return Prediction(title, str(document.get("machine") or ""), total, entries)


def of_trace(document: dict) -> dict:
    """The fields of a list's document, from those of a trace's: its functions, ranks and phases as lines."""
    lines = []
    for field, by, *names in (
        ("functions", "function", "function"),
        ("ranks_of", "rank", "world", "rank"),
        ("phases", "phase", "phase"),
    ):
        for row in document.get(field) or []:
            name = ", ".join(f"{part} {row[part]}" if len(names) > 1 else str(row[part]) for part in names)
            line = {"by": by, "name": name, "count": row.get("calls")}
            lines.append(line | {"seconds": row.get("predicted"), "measured_seconds": row.get("measured")})
    program = pathlib.Path(str(document.get("trace") or "")).name
    return {"lines": lines, "program": program, "seconds": document.get("predicted_seconds"), "ranks": None}


def entry_of(line: object, place: str) -> Entry:
    if not isinstance(line, dict):
        raise ResultsError(f"{place} = {line!r}, expected an object")
    seconds, measured = line.get("seconds"), line.get("measured_seconds")
    if not is_time(seconds):
        raise ResultsError(f"{place}: seconds = {seconds!r}, expected a time")
    if measured is not None and not is_time(measured):
        raise ResultsError(f"{place}: measured_seconds = {measured!r}, expected a time or null")
    name, by = str(line.get("name") or line.get("pattern") or "?"), str(line.get("by") or "pattern")
    known = {
        field: line[field]
        for field in ("ranks", "bytes", "count")
        if isinstance(line.get(field), (int, float))
    }
    return Entry(name, by, seconds, measured or None, **known)


def is_time(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0
