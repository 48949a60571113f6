"""The ping-pong: headline numbers, and charts of throughput and time with fit, switch points and limits."""

from __future__ import annotations

import dataclasses
import itertools
import math

from tasuki.report import words
from tasuki.report.chart import LIMIT, OTHER_LIMIT, STYLES, Chart, Line, Mark, Point
from tasuki.report.groups import BY_SIZE, RATE, TIME, line_of, peak
from tasuki.report.material import Material, copies, main_series, pingpong, rows_of
from tasuki.results import Row, Run
from tasuki.units import bytes_text, number_text, percent_text, rate_text, time_text

CURVE_POINTS = 24  # of a segment of the fit


@dataclasses.dataclass
class Headline:
    """What one implementation's ping-pong comes to. `half_bytes`: where half the peak is reached."""

    latency_seconds: float
    latency_bytes: int
    peak: float
    peak_bytes: int
    half_bytes: float
    copy_share: float | None


def headline(rows: list[Row], run: Run) -> Headline | None:
    if not any(row.bytes for row in rows):
        return None
    highest, size = peak(rows)
    limit = copies(run)
    share = highest / peak(limit)[0] if limit else None
    return Headline(rows[0].median_seconds, rows[0].bytes, highest, size, half_peak(rows, highest), share)


def half_peak(rows: list[Row], highest: float) -> float:
    """The size from which on half the peak is reached, interpolated between sizes."""
    rows = [row for row in rows if row.bytes]
    place = next(place for place, row in enumerate(rows) if row.bytes_per_second >= highest / 2)
    if place == 0:
        return float(rows[0].bytes)
    before, after = rows[place - 1], rows[place]
    rise = math.log(after.bytes_per_second / before.bytes_per_second)
    share = math.log(highest / 2 / before.bytes_per_second) / rise
    return before.bytes * (after.bytes / before.bytes) ** share


def headlines(material: Material) -> list[tuple[str, Headline]]:
    """Of the run and of each peer that has the same series."""
    own = pingpong(material.run)
    if not own:
        return []
    found = []
    for name, run in zip(material.names, material.runs, strict=True):
        told = headline(rows_of(run, own[0].series), run)
        if told:
            found.append((name, told))
    return found


def peak_segment(material: Material, rows: list[Row]):
    """The fit's segment that holds the peak, or None: what comes after it lies beyond some cache."""
    fit = material.fits.get(rows[0].series)
    return fit.segment_of(peak(rows)[1]) if fit and fit.segments else None


def told_half(segment) -> float | None:
    """A segment's M½, where it lies among its sizes and the data tell it."""
    half = segment.half_bytes if segment else None
    told = half and half.low > 0 and math.isfinite(half.high)
    return half.value if told and segment.bytes_first <= half.value <= segment.bytes_last else None


def tiles(material: Material) -> list[tuple[str, str, str]]:
    """(what, number, where from) of the run."""
    told = headlines(material)
    if not told or told[0][0] != material.names[0]:
        return []
    own, rows = told[0][1], pingpong(material.run)
    found = [
        ("Latency", time_text(own.latency_seconds), f"half a ping-pong of {bytes_text(own.latency_bytes)}"),
        ("Peak throughput", rate_text(own.peak), f"at {bytes_text(own.peak_bytes)}"),
    ]
    if own.copy_share is not None:
        found.append(
            ("Share of a bare copy", percent_text(own.copy_share), "peak over peak, in the same run")
        )
    segment = peak_segment(material, rows)
    half = told_half(segment)
    if half is not None:
        interval = "95 %: " + words.interval_text(segment.half_bytes, bytes_text)
        found.append(("M½ of the fit", bytes_text(half), interval))
    else:
        found.append(("Half the peak", bytes_text(own.half_bytes), "or more reach it"))
    return found


def curves(material: Material) -> list[Chart]:
    """Throughput and time of the ping-pong, of all implementations."""
    rows = pingpong(material.run)
    if not any(row.bytes for row in rows):
        return []
    return [throughput(material, rows), time(material, rows)]


def lines_of(material: Material, rows: list[Row], quantity: str) -> list[Line]:
    """The run's points with its fit as a curve (joined points where there is none), and the peers' lines."""
    name = material.names[0]
    own = line_of(rows, name, 0, quantity)
    lines = [own, *fitted(material, rows, quantity)]
    if len(lines) > 1:
        own.shown = "points"
    for style, (peer, run) in enumerate(material.peers, 1):
        other = rows_of(run, rows[0].series)
        if other:
            lines.append(line_of(other, peer, style % STYLES, quantity))
    return lines


def fitted(material: Material, rows: list[Row], quantity: str) -> list[Line]:
    """The fit, a line for each of its segments."""
    fit = material.fits.get(rows[0].series)
    segments = fit.segments if fit else []
    # Neighbours meet in the middle between their sizes.
    inner = [math.sqrt(one.bytes_last * two.bytes_first) for one, two in itertools.pairwise(segments)]
    borders = [segments[0].bytes_first, *inner, segments[-1].bytes_last] if segments else []
    lines = []
    for segment, (first, last) in zip(segments, itertools.pairwise(borders), strict=True):
        points = []
        for step in range(CURVE_POINTS):
            size = first * (last / first) ** (step / (CURVE_POINTS - 1))
            seconds = segment.seconds(size)
            points.append(Point(size, segment.factor * size / seconds if quantity == "rate" else seconds, ""))
        lines.append(Line("" if lines else f"{material.names[0]}, fit", points, 0, "curve"))
    return lines


def switch_marks(material: Material, rows: list[Row]) -> list[Mark]:
    """A mark for each bracket in which the fit found a switch."""
    fit = material.fits.get(rows[0].series)
    breaks = fit.breaks if fit else []
    return [
        Mark(max(1, place.low), place.high, f"{bytes_text(place.low)}–{bytes_text(place.high)}")
        for place in breaks
    ]


def copy_line(material: Material, quantity: str) -> list[Line]:
    rows = copies(material.run)
    line = line_of(rows, "bare copy", LIMIT, quantity)
    line.shown = "curve"
    return [line] if len(rows) > 1 else []


def throughput(material: Material, rows: list[Row]) -> Chart:
    lines = lines_of(material, rows, "rate") + copy_line(material, "rate")
    labels = []
    segment = peak_segment(material, rows)
    half = told_half(segment)
    if half is not None:
        labels = [Point(half, segment.bytes_per_second.value / 2, f"M½ {bytes_text(half)}")]
    explained = " ".join(filter(None, [throughput_text(material, rows), *beside(material, rows)]))
    marks = switch_marks(material, rows)
    return Chart("Ping-pong: throughput", BY_SIZE, RATE, lines, explained, marks=marks, labels=labels)


def throughput_text(material: Material, rows: list[Row]) -> str:
    """Peak, half of it, the copy, and where the fit switches."""
    highest, size = peak(rows)
    half = half_peak(rows, highest)
    text = f"{material.names[0]} moves at most {rate_text(highest)} ({bytes_text(size)}) "
    text += f"and reaches half of that from {bytes_text(half)} on."
    limit = copies(material.run)
    if limit:
        text += f" The peak is {percent_text(highest / peak(limit)[0])} of that of a bare copy."
    segment = peak_segment(material, rows)
    if segment:
        sizes = words.sizes_text(segment.bytes_first, segment.bytes_last, rows[-1].bytes)
        seconds = time_text(max(0.0, segment.latency_seconds.value))
        text += f" {sizes} the fit is t = {seconds} + M / {rate_text(segment.bytes_per_second.value)}."
    return text


def beside(material: Material, rows: list[Row]) -> list[str]:
    return [
        words.beside_peer(name, material.verdicts_of(place, rows))
        for place, (name, _) in enumerate(material.peers)
    ]


def time(material: Material, rows: list[Row]) -> Chart:
    lines = lines_of(material, rows, "seconds") + copy_line(material, "seconds")
    cache_line = main_series(material.run, "limit", "line")
    if cache_line:
        low, high = min(row.bytes for row in rows), max(row.bytes for row in rows)
        seconds = cache_line[0].median_seconds
        ends = [Point(float(low), seconds, ""), Point(float(high), seconds, "")]
        lines.append(Line("a cache line, one way", ends, OTHER_LIMIT, "curve"))
    explained = time_text_of(material, rows, cache_line)
    marks = switch_marks(material, rows)
    return Chart("Ping-pong: time, one way", BY_SIZE, TIME, lines, explained, marks=marks)


def time_text_of(material: Material, rows: list[Row], cache_line: list[Row]) -> str:
    text = words.growth(rows)
    if cache_line:
        times = number_text(rows[0].median_seconds / cache_line[0].median_seconds, 2)
        text += f" A cache line alone takes {time_text(cache_line[0].median_seconds)} one way:"
        text += f" the shortest message takes {times} times that."
    return text + fit_text(material.fits.get(rows[0].series))


def fit_text(fit) -> str:
    """Where the fit switches, and how well it goes through the points."""
    if not fit or not fit.segments:
        return ""
    text = " The fit finds no switch of protocols: one latency and one bandwidth describe all sizes."
    if fit.breaks:
        places = words.listed(
            [f"above {bytes_text(b.low)} and up to {bytes_text(b.high)}" for b in fit.breaks]
        )
        text = f" The fit finds a switch {places}."
    text += f" The points lie {percent_text(fit.noise)} off it."
    if fit.outliers:
        sizes = words.listed([bytes_text(size) for size in fit.outliers])
        text += f" It leaves out what does not follow it: {sizes}."
    return text
