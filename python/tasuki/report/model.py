"""The model's part of the page: the fits by segment, and predicted against measured times."""

from __future__ import annotations

from tasuki.report import words
from tasuki.report.markup import Markup
from tasuki.report.material import Material
from tasuki.report.tables import case_cell, table
from tasuki.units import bytes_text, rate_text, time_text

FIT_HEADS = ["series", "sizes", "t_L", "95 %", "B", "95 %", "M½", "95 %"]


def fit_table(material: Material) -> Markup | None:
    """A line for each segment of each series; series that could not be fitted say why."""
    rows = []
    for fit in material.fits.values():
        for place, segment in enumerate(fit.segments):
            rows.append(
                [
                    case_cell(fit.group, fit.benchmark, fit.variant, fit.ranks) if place == 0 else "",
                    *segment_cells(segment),
                ]
            )
    return table(FIT_HEADS, rows, "t = t_L + M/B, by segment") if rows else None


def segment_cells(segment) -> list[str]:
    cells = [f"{bytes_text(segment.bytes_first)} – {bytes_text(segment.bytes_last)}"]
    for estimate, text in (
        (segment.latency_seconds, time_text),
        (segment.bytes_per_second, rate_text),
        (segment.half_bytes, bytes_text),
    ):
        cells += [words.estimate_text(estimate, text), words.interval_text(estimate, text)]
    return cells


def fits_text(material: Material) -> str:
    fitted = [fit for fit in material.fits.values() if fit.segments]
    switching = sum(1 for fit in fitted if fit.breaks)
    text = f"A line t = t_L + M/B goes through the times of each of {len(fitted)} series"
    if not switching:
        return text + "; none of them has a switch of protocols or algorithms in the sizes measured."
    return (
        text + f"; in {switching} of them the data show switches, and each range of sizes has its own line."
    )


def fit_troubles(material: Material) -> list[str]:
    """Why series have no fit, each reason once, with how many series it is."""
    reasons: dict[str, list[str]] = {}
    for fit in material.fits.values():
        if fit.trouble:
            reasons.setdefault(fit.trouble.removeprefix(f"{fit.series}: "), []).append(fit.series)
    return [f"{len(series)} series: {reason} ({', '.join(series)})" for reason, series in reasons.items()]
