"""`tasuki report`: results as one page to look at (docs/report.md).

    material = material_of([run, peer])
    write_page(material, "report.html")
    write_picture(material, "report.png")

From data to page: material.py (what there is); pingpong.py, groups.py, model.py, verdicts.py and tables.py
(what is told of it: charts as data, tables, with words.py for the sentences); then svg.py and page.py draw
that into the page, and picture.py the main charts into a PNG.
"""

from __future__ import annotations

import dataclasses
import pathlib

from tasuki import compare, fit, guidelines
from tasuki.report import groups, page, picture, pingpong
from tasuki.report.chart import Chart
from tasuki.report.material import Material, names_of, state_text
from tasuki.report.material import pingpong as pingpong_rows
from tasuki.report.predictions import Prediction
from tasuki.report.predictions import load as load_prediction
from tasuki.results import ResultsError, Run

__all__ = ["Material", "load_prediction", "material_of", "write_page", "write_picture"]

PICTURE_CHARTS_MAX = 2


def material_of(
    runs: list[Run], predictions: list[Prediction] | None = None, state: str | None = None
) -> Material:
    """The run to report on, then its peers: fitted, compared, and held against the guidelines. `state`: what
    was measured in this state of the machine alone (Run.in_state)."""
    if state and state not in runs[0].by_state():
        raise ResultsError(
            f"{runs[0].path or 'the run'}: has no row that was measured with cache lines {state}"
        )
    runs = [run.in_state(state) for run in runs] if state else runs
    if not runs[0].rows:
        raise ResultsError(f"{runs[0].path or 'the run'}: has no rows, expected at least one")
    fits = {found.series: found for found in fit.fit_run(runs[0]) if found.group != "limit"}
    compared = [compared_with(peer, runs[0]) for peer in runs[1:]]
    findings = guidelines.check(runs[0])
    return Material(runs, names_of(runs), fits, compared, findings, predictions or [])


def compared_with(peer: Run, run: Run) -> compare.Comparison | None:
    """The run's rows against the peer's; None: they share no row. Rows of the machine's limits are no verdict
    on an MPI, but a control, which `warnings` tells of."""
    common = compare.rows_by_key(peer).keys() & compare.rows_by_key(run).keys()
    if not common:
        return None
    whole = compare.compare(peer, run)
    rows = [row for row in whole.rows if row.group != "limit"]
    names = compare.names_of([peer, run])
    told = [*compare.told_apart(names, whole.apart), *compare.control(whole.rows)]
    return dataclasses.replace(whole, rows=rows, warnings=told) if rows or any(whole.apart.values()) else None


def write_page(material: Material, path: str | pathlib.Path) -> None:
    pathlib.Path(path).write_text(page.document(material), encoding="utf-8")


def main_charts(material: Material) -> list[Chart]:
    """The ping-pong's charts; of a run without one, the first curves there are."""
    found = pingpong.curves(material)
    for group in material.groups():
        found = found or groups.curves_beside_peers(material, group)
    return found[:PICTURE_CHARTS_MAX]


def write_picture(material: Material, path: str | pathlib.Path) -> None:
    chosen = main_charts(material)
    if not chosen:
        place = material.run.path or "the run"
        raise ResultsError(
            f"{place}: has no series of {groups.SIZES_OF_A_CURVE} sizes or more to draw a picture of"
        )
    told = [page.title_of(material), used_text(material), state_text(material.run)]
    picture.write(chosen, path, "; ".join(filter(None, told)))


def used_text(material: Material) -> str:
    """Whether the data of the ping-pong are in use, where the run tells."""
    rows = pingpong_rows(material.run)
    touched = rows[0].variant.get("touched") if rows else None
    return {"yes": "data in use", "no": "buffers that nobody touches"}.get(touched, "")
