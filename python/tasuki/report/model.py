"""The model's part of the page: the fits by segment, and predicted against measured times."""

from __future__ import annotations

from tasuki.report import words
from tasuki.report.axes import Axis
from tasuki.report.chart import STYLES, Chart, Line, Point
from tasuki.report.markup import Markup
from tasuki.report.material import Material
from tasuki.report.predictions import Entry, Prediction
from tasuki.report.tables import case_cell, table
from tasuki.units import bytes_text, number_text, rate_text, time_text

PREDICTION_HEADS = ["", "ranks", "size", "count", "predicted", "measured", "off by"]
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


def prediction_chart(prediction: Prediction) -> Chart | None:
    """Each line that was measured as a point; on the diagonal it took what was predicted."""
    lines = []
    for style, by in enumerate(prediction.kinds()):
        entries = [entry for entry in prediction.entries if entry.by == by]
        points = [point_of(entry) for entry in entries if entry.measured_seconds and entry.seconds > 0]
        if points:
            lines.append(Line(f"by {by}", points, style % STYLES, "points"))
    if not lines:
        return None
    x, y = Axis("seconds", "measured"), Axis("seconds", "predicted")
    title = f"Predicted against measured: {prediction.title}"
    return Chart(title, x, y, lines, prediction_text(prediction), diagonal=True)


def point_of(entry: Entry) -> Point:
    text = f"{entry.name}: predicted {time_text(entry.seconds)}, measured {time_text(entry.measured_seconds)}"
    return Point(entry.measured_seconds, entry.seconds, f"{text} ({off_text(entry)})")


def off_text(entry: Entry) -> str:
    """ "3.1 % too much" """
    if entry.off is None:
        return ""
    return f"{number_text(100 * abs(entry.off), 2)} % too {'much' if entry.off >= 0 else 'little'}"


def prediction_text(prediction: Prediction) -> str:
    """The sums, and the line that is predicted worst of those that matter."""
    total = prediction.total
    where = f" on {prediction.machine}" if prediction.machine else ""
    text = f"Communication is predicted to take {time_text(total.seconds)}{where}"
    if total.measured_seconds is None:
        return text + "."
    text += (
        f" and took {time_text(total.measured_seconds)}: {off_text(total)}. On the dashed line they agree."
    )
    entries = [entry for entry in prediction.entries if entry.by == prediction.entries[0].by]
    known = [entry for entry in entries if entry.off is not None]
    if len(known) > 1:
        worst = max(known, key=lambda entry: abs(entry.seconds - entry.measured_seconds))
        text += f" The largest part of the difference lies in {worst.name} ({off_text(worst)})."
    return text


def prediction_table(prediction: Prediction, by: str) -> Markup:
    rows = []
    for entry in [*(entry for entry in prediction.entries if entry.by == by), prediction.total]:
        measured = time_text(entry.measured_seconds) if entry.measured_seconds else ""
        rows.append(
            [
                entry.name,
                str(entry.ranks or ""),
                bytes_text(entry.bytes) if entry.bytes is not None else "",
                f"{entry.count:,.0f}" if entry.count else "",
                time_text(entry.seconds),
                measured,
                off_text(entry),
            ]
        )
    filled = [place for place in range(len(PREDICTION_HEADS)) if any(row[place] for row in rows)]
    rows = [[row[place] for place in filled] for row in rows]
    return table([PREDICTION_HEADS[place] for place in filled], rows, f"{prediction.title}, by {by}")
