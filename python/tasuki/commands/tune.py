"""tasuki tune."""

from __future__ import annotations

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("tune")(tune)


def tune() -> None:
    """Fits the table by which the library chooses its algorithms."""
    raise Refusal("tune: not written yet")
