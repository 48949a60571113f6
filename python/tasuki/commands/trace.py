"""tasuki trace: what is in a trace; and one trace of the ranks' parts."""

from __future__ import annotations

import pathlib
import sys
from typing import Annotated

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("trace")(trace)


def trace(
    files: Annotated[
        list[pathlib.Path],
        typer.Argument(metavar="FILE…", help="A trace; with -o, the ranks' parts of one."),
    ],
    out: Annotated[
        pathlib.Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the parts as one trace.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every call as CSV.")] = False,
) -> None:
    """Shows what is in a trace that `mpiexec --trace` wrote: calls, bytes and time of each function, rank and
    phase, and who sends how much to whom.

    Where mpiexec was killed, or another MPI ran with the recorder preloaded, the parts of the ranks are left.
    This makes a trace of them:

        tasuki trace solver.trace.parts-*/* -o solver.trace
    """
    from tasuki import trace as traces

    try:
        if out is not None:
            traces.merge(files, out)
            return
        if len(files) != 1:
            raise Refusal(f"trace: {len(files)} files given, expected one, or -o FILE to make one of them")
        found = traces.load(files[0])
    except traces.TraceError as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(f"{out}: {error.strerror}") from None
    if as_csv:
        found.frame().to_csv(sys.stdout, index=False)
    else:
        print_summary(found)


def print_summary(found) -> None:
    from rich.console import Console

    from tasuki.units import bytes_text

    frame = found.frame()
    console = Console()
    calls, sent = int(frame["calls"].sum()), bytes_text(float(frame["sent"].sum()))
    console.print(f"{found.path}: {len(found.parts)} ranks, {calls} calls, {sent} sent", highlight=False)
    for column in ("function", "rank", "phase", "comm_name"):
        if frame[column].nunique() > 1 or column == "function":
            console.print(table_of(frame, column))
    console.print(matrix_of(frame, len(found.parts)))
    for trouble in found.troubles:
        print(f"note: {trouble}")


def table_of(frame, column: str):
    from rich.table import Table

    from tasuki.units import bytes_text, time_text

    table = Table(column, box=None, pad_edge=False)
    for name in ("calls", "sent", "received", "time"):
        table.add_column(name, justify="right")
    sums = frame.groupby(column)[["calls", "sent", "received", "seconds"]].sum()
    for name, row in sums.sort_values("seconds", ascending=False).iterrows():
        sent, received = bytes_text(float(row["sent"])), bytes_text(float(row["received"]))
        words = [str(name) or "(none)", f"{int(row['calls'])}", sent, received, time_text(row["seconds"])]
        table.add_row(*words)
    return table


def matrix_of(frame, ranks: int):
    """Bytes of messages and accesses from each rank to each other, of up to 16 ranks."""
    from rich.table import Table

    from tasuki.units import bytes_text

    shown = min(ranks, 16)
    aimed = frame[(frame["peer"] >= 0) & (frame["sent"] > 0) & (frame["comm_kind"] != "file")]
    sums = aimed.groupby(["rank", "peer"])["sent"].sum()
    table = Table("from rank, to", box=None, pad_edge=False)
    for rank in range(shown):
        table.add_column(str(rank), justify="right")
    for rank in range(shown):
        cells = [sums.get((rank, peer), 0) for peer in range(shown)]
        table.add_row(str(rank), *(bytes_text(float(cell)) if cell else "-" for cell in cells))
    return table
