"""Quantities as people read them: "128 KiB", "1.38 µs", "14.8 GB/s". Sizes are binary, rates decimal."""

from __future__ import annotations

import math

SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))


def number_text(value: float, digits: int = 3) -> str:
    """`digits` significant digits, thousands with commas, without an exponent: 0.0123, 12.3, 12,345."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(value))):
        decimals = max(0, decimals - 1)
    return f"{rounded:,.{decimals}f}"


def bytes_text(count: float) -> str:
    for unit, name in SIZES:
        if count >= unit:
            value = count / unit
            return f"{int(value)} {name}" if value == int(value) else f"{number_text(value)} {name}"
    return f"{int(round(count))} B"


def scaled_text(value: float, units: tuple, digits: int) -> str:
    """In the largest unit of which `value` has at least one."""
    for unit, name in units:
        if abs(value) >= unit * (1 - 0.5 * 10.0**-digits):
            return f"{number_text(value / unit, digits)} {name}"
    unit, name = units[-1]
    return f"{number_text(value / unit, digits)} {name}"


def time_text(seconds: float, digits: int = 3) -> str:
    return scaled_text(seconds, TIMES, digits)


def rate_text(bytes_per_second: float, digits: int = 3) -> str:
    return scaled_text(bytes_per_second, RATES, digits)


def percent_text(fraction: float) -> str:
    return f"{number_text(100 * fraction, 2 if abs(fraction) < 0.995 else 3)} %"
