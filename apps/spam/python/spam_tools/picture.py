"""spam picture: the last state of a run."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from spam_tools.refusal import Refusal, check_out

FORMATS = (".png", ".svg", ".pdf")


def register(app: typer.Typer) -> None:
    app.command("picture")(picture)


def picture(
    directory: Annotated[pathlib.Path, typer.Argument(metavar="DIR", help="What spam run --output made.")],
    out: Annotated[
        pathlib.Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="A .png, .svg or .pdf; else DIR/picture.png."),
    ] = None,
    step: Annotated[
        int | None, typer.Option(metavar="N", help="The snapshot of that step instead of the last one.")
    ] = None,
) -> None:
    """Draws density, velocity and pressure (and heat, if there is any) of a run's last snapshot.

    They are seen as colours in space, and as means along x next to those of the first snapshot.
    """
    from spam_tools import states

    paths = states.snapshots_in(directory)
    out = out or directory / "picture.png"
    check_out(out, FORMATS)
    chosen = paths[-1] if step is None else directory / f"snapshot-{step}.vtkhdf"
    if chosen not in paths:
        there = ", ".join(path.stem.removeprefix("snapshot-") for path in paths)
        raise Refusal(f"--step {step}: {directory} has no such snapshot; expected one of {there}")
    try:
        write_picture(states.read_state(paths[0]), states.read_state(chosen), states.read_run(directory), out)
    except OSError as error:
        raise Refusal(f"--out {out}: {error.strerror}") from None
    print(out)


def write_picture(first, last, run: dict, out: pathlib.Path) -> None:
    """A file with `last`, and `first` to compare."""
    from spam_tools import drawing

    figure = drawing.Drawing(drawing.quantities_of([first, last]), first)
    figure.make_room(last)
    figure.draw(last, drawing.title_of(last, run))
    figure.save(out)
