"""The model's part of the page: the fits by segment, and predicted against measured times."""

from __future__ import annotations

from tasuki.report.markup import Markup
from tasuki.report.material import Material
from tasuki.report.tables import table
from tasuki.units import bytes_text, rate_text, time_text

FIT_HEADS = ["series", "sizes", "t_L", "95 %", "B", "95 %", "M½", "95 %"]


def fit_table(material: Material) -> Markup | None:
    """A line for each segment of each series; series that could not be fitted say why."""
    rows = []
    for fit in material.fits.values():
        for place, segment in enumerate(fit.segments):
            rows.append([fit.series if place == 0 else "", *segment_cells(segment)])
    return table(FIT_HEADS, rows, "t = t_L + M/B, by segment") if rows else None


def segment_cells(segment) -> list[str]:
    cells = [f"{bytes_text(segment.bytes_first)} – {bytes_text(segment.bytes_last)}"]
    for estimate, text in (
        (segment.latency_seconds, time_text),
        (segment.bytes_per_second, rate_text),
        (segment.half_bytes, bytes_text),
    ):
        cells += [text(estimate.value), f"{text(estimate.low)} – {text(estimate.high)}"]
    return cells


def fits_text(material: Material) -> str:
    fitted = [fit for fit in material.fits.values() if fit.segments]
    switching = sum(1 for fit in fitted if fit.breaks)
    return (
        f"{len(fitted)} series could be fitted; {switching} of them change their protocol or algorithm "
        "somewhere in the sizes measured, and have a line for each segment."
    )


def fit_troubles(material: Material) -> list[str]:
    return [f"{fit.series}: {fit.trouble}" for fit in material.fits.values() if fit.trouble]
