"""Axes: where a value lies between 0 and 1, and which ticks with which texts are drawn. Pure functions.

Sizes are on a logarithmic axis with ticks at powers of two, on which 0 B has a place of its own at the left.
"""

from __future__ import annotations

import dataclasses
import math

from tasuki import units

# Room between the 0 B of an axis of sizes and its next size, in octaves.
ZERO_OCTAVES = 2.0

BINARY = ("bytes", "ranks")  # with ticks at powers of two

TEXTS = {
    "bytes": units.bytes_text,
    "seconds": units.time_text,
    "rate": units.rate_text,
    "number": units.number_text,
    "share": units.percent_text,
    "ranks": lambda ranks: f"{ranks:g}",
}


def value_text(quantity: str, value: float) -> str:
    return TEXTS[quantity](value)


def short_text(quantity: str, value: float) -> str:
    """As on an axis: "5 µs" for "5.00 µs"."""
    number, _, unit = value_text(quantity, value).partition(" ")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number} {unit}".strip()


@dataclasses.dataclass
class Axis:
    """`quantity`: a key of TEXTS. `logarithmic`: else it begins at 0. `label`: what is on it."""

    quantity: str
    label: str
    logarithmic: bool = True


@dataclasses.dataclass
class Scale:
    """An axis with its ends. `zero`: the place of 0 on a logarithmic axis is at the left end."""

    axis: Axis
    low: float
    high: float
    zero: bool = False

    def place(self, value: float) -> float:
        if not self.axis.logarithmic:
            return value / self.high
        if value <= 0:
            return 0.0
        octaves = math.log2(self.high / self.low)
        room = ZERO_OCTAVES if self.zero else 0.0
        return (math.log2(value / self.low) + room) / (octaves + room)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most about `most` ticks: (value, text)."""
        if not self.axis.logarithmic:
            values = linear_ticks(self.high, most)
        elif self.axis.quantity in BINARY:
            values = ([0.0] if self.zero else []) + binary_ticks(self.low, self.high, most)
        else:
            values = decimal_ticks(self.low, self.high, most)
        return [(value, short_text(self.axis.quantity, value) if value else "0") for value in values]


def scale_of(axis: Axis, values: list[float]) -> Scale:
    """The scale that shows `values`, with a little room."""
    finite = [value for value in values if math.isfinite(value)]
    positive = [value for value in finite if value > 0] or [1.0]
    if not axis.logarithmic:
        return Scale(axis, 0.0, 1.06 * max(positive))
    low, high = min(positive), max(positive)
    zero = axis.quantity == "bytes" and min(finite, default=1.0) <= 0
    room = 1.12 if axis.quantity in BINARY else max(1.1, (high / low) ** 0.05)
    return Scale(axis, low if zero else low / room, high * room, zero)


def linear_ticks(high: float, most: int) -> list[float]:
    step = 10.0 ** math.floor(math.log10(high / most))
    step *= next(factor for factor in (1, 2, 5, 10) if high / (step * factor) <= most)
    return [place * step for place in range(int(high / step * (1 + 1e-9)) + 1)]


def binary_ticks(low: float, high: float, most: int) -> list[float]:
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    steps = (1, 2, 5, 10, 20)
    step = next((step for step in steps if (last - first) / step + 1 <= most), steps[-1])
    return [2.0**power for power in range(first, last + 1) if power % step == 0] or [2.0**first]


def decimal_ticks(low: float, high: float, most: int) -> list[float]:
    """As many digits of each decade as there is room for; within a part of one decade, equal steps."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in (range(1, 10), (1, 2, 5), (1, 3), (1,)):
        found = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
        found = [value for value in found if low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)]
        if 2 <= len(found) <= most:
            return found
    if len(found) > most:
        return found[:: math.ceil(len(found) / most)]
    step = linear_ticks(high - low, most - 2)[1]
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
