"""An application's communication as a list of patterns, and what it costs: count × the pattern's time, line
by line, as the Earth Simulator's MPI was shown to predict the turbulence code Trans7 (docs/model.md).

A line of the file is `pattern ranks bytes count [measured seconds]`; # begins a comment:

    concurrent/exchange/way=put_fence   64   6150KiB   2400   80.24s
    MPI_Allreduce                       64   8         100000

Sizes may have a unit (KiB = 1024, KB = 1000 bytes, …), the measured time s, ms or us. What is wrong with a
file is a `PatternsError` that names file, line, value and what was expected.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re

from tasuki.pricing import Pricer, PricingError, pattern_of

SIZES = {"": 1, "B": 1}
SIZES |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}
SIZES |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)} | {"kB": 1000}
TIMES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
OF_TWO = {"pingpong", "ping", "bidirectional"}
FIELDS = "pattern ranks bytes count [measured seconds]"


class PatternsError(ValueError):
    """A list of patterns that cannot be used."""


@dataclasses.dataclass(frozen=True)
class Item:
    """One line of a list: a pattern, so many times."""

    pattern: str
    ranks: int
    bytes: float
    count: float
    measured_seconds: float | None  # of all times together
    place: str  # "list.txt:3"


@dataclasses.dataclass(frozen=True)
class Predicted:
    item: Item
    each_seconds: float
    seconds: float  # count × each
    low: float | None  # of `seconds`; None: no interval is known
    high: float | None
    how: str


@dataclasses.dataclass(frozen=True)
class Prediction:
    machine: str
    items: list[Predicted]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.items)

    @property
    def low(self) -> float | None:
        """The ends of all lines added up: an interval at least as wide as that of the sum."""
        return self.added([one.low for one in self.items])

    @property
    def high(self) -> float | None:
        return self.added([one.high for one in self.items])

    @property
    def measured_seconds(self) -> float | None:
        return self.added([one.item.measured_seconds for one in self.items])

    @staticmethod
    def added(values: list[float | None]) -> float | None:
        return None if None in values else sum(values)

    def records(self) -> list[dict]:
        found = []
        for one in self.items:
            record = dataclasses.asdict(one)
            found.append(record.pop("item") | record)
        return found

    def frame(self):
        """The lines as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame.from_records(self.records())

    def document(self) -> dict:
        """What `tasuki predict --json` writes."""
        document = {"tasuki_prediction": 1, "kind": "patterns", "machine": self.machine}
        document |= {"seconds": self.seconds, "low": self.low, "high": self.high}
        return document | {"measured_seconds": self.measured_seconds, "lines": self.records()}


def load(path: str | pathlib.Path) -> list[Item]:
    """The lines of a file."""
    path = pathlib.Path(path)
    try:
        text = path.read_text()
    except OSError as error:
        raise PatternsError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PatternsError(f"{path}: is no text: expected lines of {FIELDS}") from None
    items = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if words:
            items.append(item_of(words, f"{path}:{number}"))
    if not items:
        raise PatternsError(f"{path}: has no line of {FIELDS}")
    return items


def item_of(words: list[str], place: str) -> Item:
    if len(words) not in (4, 5):
        raise PatternsError(f"{place}: {len(words)} words, expected {FIELDS}")
    try:
        pattern_of(words[0])
    except PricingError as error:
        raise PatternsError(f"{place}: {error}") from None
    if not re.fullmatch(r"[1-9]\d{0,8}", words[1]):
        raise PatternsError(f"{place}: ranks = {words[1]!r}, expected a whole number from 1 on")
    size = quantity(words[2], SIZES, f"{place}: bytes", "a size such as 64, 8KiB or 1.5MB")
    count = quantity(words[3], {"": 1}, f"{place}: count", "a number from 0 on")
    measured = None
    if len(words) == 5:
        measured = quantity(words[4], TIMES, f"{place}: measured", "a time such as 80.24s or 3ms")
    return Item(words[0], int(words[1]), size, count, measured, place)


def quantity(text: str, units: dict, place: str, expected: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([^\d.]*)", text)
    value = float(found[1]) * units[found[2]] if found and found[2] in units else math.inf
    if not math.isfinite(value):
        raise PatternsError(f"{place} = {text!r}, expected {expected}")
    return value


def among(items: list[Item], ranks: int) -> list[Item]:
    """The same list among another number of ranks: sizes and counts stay, and what was measured holds no
    more where that number is another one. What two ranks do alone stays among two."""

    def changed(item: Item) -> Item:
        group, benchmark, _ = pattern_of(item.pattern)
        of_two = benchmark in OF_TWO or (group == "point_to_point" and benchmark != "multi_pair")
        if of_two or item.ranks == ranks:
            return item
        return dataclasses.replace(item, ranks=ranks, measured_seconds=None)

    return [changed(item) for item in items]


def predict(items: list[Item], pricer: Pricer) -> Prediction:
    """The price of each line. PatternsError where the machine does not tell one, with the line's place."""
    found = []
    for item in items:
        try:
            price = pricer.price(item.pattern, item.ranks, item.bytes)
        except PricingError as error:
            raise PatternsError(f"{item.place}: {error}") from None
        ends = [None if end is None else end * item.count for end in (price.low, price.high)]
        found.append(Predicted(item, price.seconds, price.seconds * item.count, *ends, price.how))
    return Prediction(pricer.machine.name, found)
