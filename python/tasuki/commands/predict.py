"""tasuki predict."""

from __future__ import annotations

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict() -> None:
    """Predicts the communication time of an application."""
    raise Refusal("predict: not written yet")
