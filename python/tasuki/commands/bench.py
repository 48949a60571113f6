"""tasuki bench."""

from __future__ import annotations

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench() -> None:
    """Measures this machine's MPI with the benchmark suite."""
    raise Refusal("bench: not written yet")
