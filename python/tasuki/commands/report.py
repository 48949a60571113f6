"""tasuki report: from files of results to one page (tasuki.report)."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    results: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="RUN.json [PEER.json …]", help="The run to report on, then others to set beside it."
        ),
    ],
    out: Annotated[
        pathlib.Path, typer.Option("--out", "-o", metavar="FILE.html", help="The page.")
    ] = pathlib.Path("report.html"),
    png: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE.png", help="The main charts as a picture, too.")
    ] = None,
    prediction: Annotated[
        list[pathlib.Path] | None,
        typer.Option(metavar="FILE.json", help="What `tasuki predict --json` wrote. Repeatable."),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="near|far", help="What was measured with cache lines near, or far, alone."),
    ] = None,
) -> None:
    """Writes results as one page to look at.

    The page needs nothing else: no network, no other file. It shows latency
    and throughput with the fit, its switch points and the machine's limits;
    collectives, one-sided communication, files, and every row. A sentence
    below each chart tells what is in it.

        tasuki report run.json -o report.html

        tasuki report run.json mpich.json -o report.html --png report.png

    Peers should be measured on the same machine, at the same settings, as
    `tasuki compare --mpi …` does.
    """
    from tasuki import report as reports
    from tasuki.results import STATES, ResultsError, load

    if state not in (None, *STATES):
        raise Refusal(f"report: --state {state}: expected {' or '.join(STATES)}")
    try:
        predictions = [reports.load_prediction(path) for path in prediction or []]
        material = reports.material_of([load(path) for path in results], predictions, state)
        write(out, lambda path: reports.write_page(material, path))
        if png:
            write(png, lambda path: reports.write_picture(material, path))
    except ResultsError as error:
        raise Refusal(f"report: {error}") from None


def write(path: pathlib.Path, by) -> None:
    """Writes a file, and tells where it is."""
    try:
        by(path)
    except OSError as error:
        raise Refusal(f"report: {path}: {error.strerror}, expected a file that can be written") from None
    print(path)
