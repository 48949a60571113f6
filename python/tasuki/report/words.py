"""Sentences made of data: what stands below a chart, for a reader who has not looked at it yet."""

from __future__ import annotations

import dataclasses
import math

from tasuki.compare import Verdict
from tasuki.results import Row
from tasuki.units import bytes_text, number_text, time_text


@dataclasses.dataclass
class Stretch:
    """Neighbouring sizes of one verdict. `ratio` is the most telling one, at the size `at`."""

    verdict: str
    first: int
    last: int
    sizes: int
    ratio: float
    at: int


def stretches(verdicts: list[Verdict]) -> list[Stretch]:
    """The sizes, in their order, by who is faster. The ratio is the other's time over the run's."""
    found: list[Stretch] = []
    for row in verdicts:
        ratio = 1 / row.ratio
        last = found[-1] if found else None
        if last is None or last.verdict != row.verdict:
            found.append(Stretch(row.verdict, row.bytes, row.bytes, 1, ratio, row.bytes))
            continue
        last.last = row.bytes
        last.sizes += 1
        if (ratio > last.ratio) if row.verdict == "faster" else (ratio < last.ratio):
            last.ratio, last.at = ratio, row.bytes
    return found


def span_text(stretch: Stretch, first: int, last: int) -> str:
    """ "up to 4 KiB", "from 1 MiB on", "at 8 B"; `first` and `last` are the ends of all sizes."""
    if stretch.first == first and stretch.last == last:
        return "at every size"
    if stretch.first == stretch.last:
        return f"at {bytes_text(stretch.first)}"
    if stretch.first == first:
        return f"up to {bytes_text(stretch.last)}"
    if stretch.last == last:
        return f"from {bytes_text(stretch.first)} on"
    return f"from {bytes_text(stretch.first)} to {bytes_text(stretch.last)}"


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def sizes_text(first: int, last: int, largest: int) -> str:
    """ "From 16 KiB on", "From 1 B to 8 KiB"."""
    return f"From {bytes_text(first)} {'on' if last == largest else f'to {bytes_text(last)}'}"


def listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def beside_peer(name: str, verdicts: list[Verdict]) -> str:
    """ "Faster than MPICH from 128 KiB on (2.1 times, 1 MiB); slower up to 64 B (1.3 times, 8 B)." Of both
    states of the machine, where there are verdicts of both, one after the other."""
    states = dict.fromkeys(verdict.state for verdict in verdicts)
    if len(states) > 1:
        parts = [
            f"Cache lines {state or 'unknown'}: "
            + beside_peer(name, [verdict for verdict in verdicts if verdict.state == state])
            for state in states
        ]
        return " ".join(parts)
    found = stretches(verdicts)
    if not found:
        return ""
    first, last = found[0].first, found[-1].last
    parts = []
    for verdict, word in (("faster", f"faster than {name}"), ("slower", f"slower than {name}")):
        chosen = [stretch for stretch in found if stretch.verdict == verdict]
        if not chosen:
            continue
        best = max(chosen, key=lambda stretch: max(stretch.ratio, 1 / stretch.ratio))
        times = number_text(max(best.ratio, 1 / best.ratio), 2)
        spans = listed([span_text(stretch, first, last) for stretch in chosen[:4]])
        if len(chosen) > 4:
            spans = f"at {sum(stretch.sizes for stretch in chosen)} of the sizes"
        most = "" if sum(stretch.sizes for stretch in chosen) == 1 else f"most at {bytes_text(best.at)}: "
        parts.append(f"{word} {spans} ({most}{times} times)")
    text = "; ".join(parts) if parts else f"no size at which it is clearly faster or slower than {name}"
    return sentence(text)


def growth(rows: list[Row]) -> str:
    """How a time by size behaves: what the smallest takes, until where that holds, what the largest takes."""
    first, last = rows[0], rows[-1]
    text = f"{bytes_text(first.bytes)} take {time_text(first.median_seconds)}"
    if len(rows) < 3 or last.median_seconds < 2 * first.median_seconds:
        return f"{text}, {bytes_text(last.bytes)} {time_text(last.median_seconds)}."
    double = next(row for row in rows if row.median_seconds >= 2 * first.median_seconds)
    return (
        f"{text}; from {bytes_text(double.bytes)} on it is at least twice that, "
        f"up to {time_text(last.median_seconds)} for {bytes_text(last.bytes)}."
    )


def best_of(named: list[tuple[str, list[Row]]], size: int) -> tuple[list[str], float]:
    """Which of the series are fastest at a size (those whose intervals meet the best's), and its time."""
    there = [(name, row) for name, rows in named for row in rows if row.bytes == size]
    if not there:
        return [], 0.0
    _, best = min(there, key=lambda pair: pair[1].median_seconds)
    names = [name for name, row in there if row.low_seconds <= best.high_seconds]
    return names, best.median_seconds


def who_is_best(named: list[tuple[str, list[Row]]]) -> str:
    """ "Fastest at 8 B: put (1.2 µs); at 4 MiB: send with barrier and put (1.1 ms)." """
    counted = [row.bytes for _, rows in named for row in rows]
    sizes = sorted(size for size in set(counted) if counted.count(size) > 1)
    if not sizes:
        return ""
    parts = []
    for size in dict.fromkeys((sizes[0], sizes[len(sizes) // 2], sizes[-1])):
        names, seconds = best_of(named, size)
        if len(names) == len(named):
            parts.append(f"at {bytes_text(size)} all are alike ({time_text(seconds)})")
        else:
            parts.append(f"at {bytes_text(size)} {listed(names)} ({time_text(seconds)})")
    return "Fastest: " + "; ".join(parts) + "."


def estimate_text(estimate, text) -> str:
    """The value of a fit.Estimate, in the words of `text`."""
    return text(max(0.0, estimate.value)) if math.isfinite(estimate.value) else "∞"


def interval_text(estimate, text) -> str:
    """Its 95 % interval; ends that the data do not tell are open."""
    low, high = estimate.low > 0 and math.isfinite(estimate.low), math.isfinite(estimate.high)
    if low and high:
        return f"{text(estimate.low)} to {text(estimate.high)}"
    if high:
        return f"up to {text(estimate.high)}"
    return f"{text(estimate.low)} or more" if low else "not told by the data"
