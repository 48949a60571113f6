"""Latency, bandwidth and M_1/2 of measured times, over each range of sizes in which one protocol or
algorithm is in force: t = t_L + factor·M/B, throughput B / (1 + M_half/M) with M_half = B·t_L/factor.
docs/model.md explains it.

`fit_series(rows)` fits the rows of one series, `fit_run(run)` each series of a run; `frame(fits)` has them
as a tidy data frame. The ranges are found by tasuki.piecewise from the rows' medians. Every number is an
`Estimate` with an interval that holds the truth in 95 of 100 cases; an end that the data do not tell is 0
or infinite.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from tasuki import piecewise
from tasuki.results import ResultsError, Row, Run

SIZES_MIN = 3


class FitError(ResultsError):
    """Rows that cannot be fitted; the text says which, and what was expected."""


@dataclasses.dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def holds(self, truth: float) -> bool:
        return self.low <= truth <= self.high


@dataclasses.dataclass(frozen=True)
class Segment:
    """A range of sizes, bytes_first to bytes_last, on one line."""

    bytes_first: int
    bytes_last: int
    points: int
    latency_seconds: Estimate  # t_L
    bytes_per_second: Estimate  # B, in the throughput convention of the rows
    half_bytes: Estimate  # M_1/2
    factor: float = 1.0

    def seconds(self, bytes: float) -> float:
        return self.latency_seconds.value + self.factor * bytes / self.bytes_per_second.value


@dataclasses.dataclass(frozen=True)
class Break:
    """A switch: it is above `low` bytes and not above `high`. Between `before` and `after` the best fit has
    it."""

    low: int
    high: int
    before: int
    after: int


@dataclasses.dataclass
class SeriesFit:
    series: str
    group: str
    benchmark: str
    variant: dict[str, str]
    ranks: int
    factor: float
    segments: list[Segment] = dataclasses.field(default_factory=list)
    breaks: list[Break] = dataclasses.field(default_factory=list)
    outliers: list[int] = dataclasses.field(default_factory=list)  # sizes whose points are odd
    noise: float = math.nan  # relative deviation of a point from its line
    zero_seconds: float | None = None  # of the size 0, which no line is fitted to
    trouble: str = ""  # why there are no segments

    def segment_of(self, bytes: float) -> Segment:
        """The segment that holds this size; between two, that of the nearer measured size (by ratio)."""
        if not self.segments:
            raise FitError(self.trouble)
        for before, after in zip(self.segments, self.segments[1:], strict=False):
            if bytes < math.sqrt(before.bytes_last * after.bytes_first):
                return before
        return self.segments[-1]

    def seconds(self, bytes: float) -> float:
        if bytes == 0 and self.zero_seconds is not None:
            return self.zero_seconds
        return self.segment_of(bytes).seconds(bytes)

    @property
    def points(self) -> int:
        return sum(segment.points for segment in self.segments)

    @property
    def quality(self) -> str:
        """In a word, how well the lines go through the points."""
        if not self.segments:
            return "none"
        return "good" if self.noise < 0.05 else "fair" if self.noise < 0.15 else "poor"


def fit_series(rows: Sequence[Row]) -> SeriesFit:
    """The segments of one series' rows, in any order of sizes."""
    rows = sorted(rows, key=lambda row: row.bytes)
    check(rows)
    first = rows[0]
    fit = SeriesFit(first.series, first.group, first.benchmark, first.variant, first.ranks, first.factor)
    sized = [row for row in rows if row.bytes > 0]
    if len(sized) < len(rows):
        fit.zero_seconds = rows[0].median_seconds
    if len(sized) < SIZES_MIN:
        raise FitError(
            f"{first.series}: {len(sized)} sizes above 0, expected at least {SIZES_MIN}: a line goes through "
            "any two points, and nothing tells how good it is"
        )
    sizes = [row.bytes for row in sized]
    pieces = piecewise.fit(sizes, [row.median_seconds for row in sized])
    fit.segments = [segment_of(line, sizes, first.factor) for line in pieces.lines]
    for line, (low, high) in zip(pieces.lines[1:], pieces.borders, strict=True):
        fit.breaks.append(Break(sizes[low - 1], sizes[high], sizes[line.first - 1], sizes[line.first]))
    fit.outliers = [sizes[place] for place in pieces.odd]
    fit.noise = pieces.noise
    return fit


def fit_run(run: Run) -> list[SeriesFit]:
    """A fit of each series of the run, in one state of the machine. Those that cannot be fitted have no
    segments, and say why."""
    fits = []
    for rows in run.in_one_state().series().values():
        try:
            fits.append(fit_series(rows))
        except FitError as error:
            first = rows[0]
            place = (first.series, first.group, first.benchmark, first.variant, first.ranks, first.factor)
            fits.append(SeriesFit(*place, trouble=str(error)))
    return fits


def check(rows: Sequence[Row]) -> None:
    """Refuses rows that are not of one series, or not of one run."""
    if not rows:
        raise FitError("no rows: expected those of one series")
    first = rows[0]
    for before, row in zip([first, *rows], rows, strict=False):
        if row.series != first.series:
            raise FitError(f"rows of {first.series} and of {row.series}: expected those of one series")
        if row.factor != first.factor:
            raise FitError(f"{row.series}: factor = {first.factor:g} and {row.factor:g}, expected one value")
        if before is not row and before.bytes == row.bytes:
            raise FitError(
                f"{row.series}: two rows of {row.bytes} bytes, expected one: rows of two runs "
                "(implementations, machines, tables) have a fit each"
            )
        if not math.isfinite(row.median_seconds) or row.median_seconds <= 0:
            raise FitError(
                f"{row.series}: median_seconds = {row.median_seconds!r} at {row.bytes} bytes, "
                "expected a time above 0"
            )


def segment_of(line: piecewise.Line, sizes: list[int], factor: float) -> Segment:
    slope_low, slope_high = line.slope_interval
    half = line.latency / line.slope if line.slope else math.inf
    return Segment(
        bytes_first=sizes[line.first],
        bytes_last=sizes[line.end - 1],
        points=line.end - line.first,
        latency_seconds=Estimate(line.latency, *line.latency_interval),
        bytes_per_second=Estimate(*(inverse(slope, factor) for slope in (line.slope, slope_high, slope_low))),
        half_bytes=Estimate(half, *line.half_interval),
        factor=factor,
    )


def inverse(slope: float, factor: float) -> float:
    return factor / slope if slope > 0 else math.inf


def records(fits: Iterable[SeriesFit]) -> list[dict]:
    """A flat object for each segment; a series without any has one that says why."""
    found = []
    for fit in fits:
        place = {"series": fit.series, "group": fit.group, "benchmark": fit.benchmark, "ranks": fit.ranks}
        place |= {f"variant.{name}": value for name, value in fit.variant.items()}
        place |= {"factor": fit.factor, "noise": fit.noise, "quality": fit.quality, "trouble": fit.trouble}
        if not fit.segments:
            found.append(place)
        for number, segment in enumerate(fit.segments):
            record = place | {"segment": number + 1, "segments": len(fit.segments), "points": segment.points}
            record |= {"bytes_first": segment.bytes_first, "bytes_last": segment.bytes_last}
            if number > 0:
                record |= {"break_low": fit.breaks[number - 1].low, "break_high": fit.breaks[number - 1].high}
            for name in ("latency_seconds", "bytes_per_second", "half_bytes"):
                estimate = getattr(segment, name)
                record |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            found.append(record)
    return found


def frame(fits: Iterable[SeriesFit]):
    """The segments as a pandas.DataFrame, a line each."""
    import pandas

    return pandas.DataFrame.from_records(records(fits))
