"""tasuki fit."""

from __future__ import annotations

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("fit")(fit)


def fit() -> None:
    """Fits latency, bandwidth and M_1/2 to results."""
    raise Refusal("fit: not written yet")
