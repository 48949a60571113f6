"""tasuki compare."""

from __future__ import annotations

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare() -> None:
    """Compares two or more MPIs or tables."""
    raise Refusal("compare: not written yet")
