"""Sentences made of data: what stands below a chart, for somebody who has not looked at it yet."""

from __future__ import annotations

import dataclasses

from tasuki.results import Row
from tasuki.units import bytes_text, number_text, time_text


@dataclasses.dataclass
class Stretch:
    """Neighbouring sizes of one verdict. `ratio` is the most telling one, at the size `at`."""

    verdict: str
    first: int
    last: int
    ratio: float
    at: int


def apart(a: Row, b: Row) -> str:
    """Whether a is "faster" or "slower" than b; "same" where their intervals meet."""
    if a.high_seconds < b.low_seconds:
        return "faster"
    return "slower" if a.low_seconds > b.high_seconds else "same"


def stretches(own: list[Row], other: list[Row]) -> list[Stretch]:
    """The sizes that both have, by who is faster. The ratio is other's time over own's."""
    times = {row.bytes: row for row in other}
    found: list[Stretch] = []
    for row in own:
        if row.bytes not in times:
            continue
        verdict = apart(row, times[row.bytes])
        ratio = times[row.bytes].median_seconds / row.median_seconds
        last = found[-1] if found else None
        if last is None or last.verdict != verdict:
            found.append(Stretch(verdict, row.bytes, row.bytes, ratio, row.bytes))
            continue
        last.last = row.bytes
        if (ratio > last.ratio) if verdict == "faster" else (ratio < last.ratio):
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


def listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def beside_peer(name: str, own: list[Row], other: list[Row]) -> str:
    """ "Faster than MPICH from 128 KiB on (2.1 times, 1 MiB); slower up to 64 B (1.3 times, 8 B)." """
    found = stretches(own, other)
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
            spans = f"at {sum(count_sizes(own, stretch) for stretch in chosen)} of the sizes"
        parts.append(f"{word} {spans} (most at {bytes_text(best.at)}: {times} times)")
    text = "; ".join(parts) if parts else f"no size at which it is clearly faster or slower than {name}"
    return sentence(text)


def count_sizes(rows: list[Row], stretch: Stretch) -> int:
    return sum(1 for row in rows if stretch.first <= row.bytes <= stretch.last)


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
