"""spam film: the snapshots of a run, one after the other."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from spam_tools.refusal import Refusal, check_out

FORMATS = (".gif", ".mp4")
DOTS_PER_INCH = 90


def register(app: typer.Typer) -> None:
    app.command("film")(film)


def film(
    directory: Annotated[pathlib.Path, typer.Argument(metavar="DIR", help="What spam run --output made.")],
    out: Annotated[
        pathlib.Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="A .gif or .mp4 (needs ffmpeg); else DIR/film.gif."),
    ] = None,
    frames_per_second: Annotated[int, typer.Option(metavar="N", min=1, max=60)] = 8,
) -> None:
    """Makes a film of a run's snapshots (spam run --snapshot-interval), drawn as spam picture draws them."""
    from matplotlib import animation

    from spam_tools import states

    paths = states.snapshots_in(directory)
    out = out or directory / "film.gif"
    check_out(out, FORMATS)
    if len(paths) < 2:
        raise Refusal(
            f"{directory}: holds one snapshot; a film needs two at least (output.snapshot_interval)"
        )
    if out.suffix == ".mp4" and not animation.writers.is_available("ffmpeg"):
        raise Refusal(f"--out {out}: needs ffmpeg, which is not there; .gif needs nothing")
    kind = animation.PillowWriter if out.suffix == ".gif" else animation.FFMpegWriter
    try:
        write_film(paths, states.read_run(directory), out, kind(fps=frames_per_second))
    except OSError as error:
        raise Refusal(f"--out {out}: {error.strerror}") from None
    print(out)


def write_film(paths: list[pathlib.Path], run: dict, out: pathlib.Path, writer) -> None:
    """Reads every snapshot twice, for the scales and for its frame: one is in memory at a time."""
    from rich.console import Console
    from rich.progress import track

    from spam_tools import drawing, states

    console = Console(stderr=True)
    first, last = states.read_state(paths[0]), states.read_state(paths[-1])
    figure = drawing.Drawing(drawing.quantities_of([first, last]), first)
    for path in track(paths, "reading", console=console, transient=True):
        figure.make_room(states.read_state(path))
    figure.draw(last, drawing.title_of(last, run))
    figure.fix_layout()
    with writer.saving(figure.figure, out, DOTS_PER_INCH):
        for path in track(paths, "drawing", console=console, transient=True):
            state = states.read_state(path)
            figure.draw(state, drawing.title_of(state, run))
            writer.grab_frame()
