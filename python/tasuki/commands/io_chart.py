"""tasuki io-chart: the phases of collective accesses to files, as a chart and in numbers."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Annotated

import typer

from tasuki.commands import Refusal

CALLS_SHOWN = 20


def register(app: typer.Typer) -> None:
    app.command("io-chart")(io_chart)


def io_chart(
    times: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="What mpiexec --io-times wrote.")],
    out: Annotated[
        pathlib.Path | None,
        typer.Option("-o", "--out", metavar="CHART.png", help="Draw the chart: .png, .svg or .pdf."),
    ] = None,
    call: Annotated[
        str, typer.Option(metavar="N|all", help="Which collective access; without it, the longest one.")
    ] = "",
    file: Annotated[
        str, typer.Option(metavar="NAME", help="Only accesses to that file: its path, or the end of it.")
    ] = "",
    ranks: Annotated[str, typer.Option(metavar="LIST", help="Draw only these ranks, as 0,2,8-15.")] = "",
    between: Annotated[
        str, typer.Option(metavar="MS-MS", help="Draw that part of the time, as 12.5-20, and nothing else.")
    ] = "",
    job: Annotated[str, typer.Option(metavar="NAME", help="Which job, where the file has several.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document and nothing else.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every span as CSV.")] = False,
) -> None:
    """Shows when each rank read, exchanged and wrote in its collective accesses to files.

    A program says so where it is asked to; a chart has a row for each rank, and aggregators are marked:

        mpiexec -n 8 --io-times=solver.iotimes ./solver

        tasuki io-chart solver.iotimes -o chart.png

    Of several accesses the longest one is taken; the list that is printed has their numbers:

        tasuki io-chart solver.iotimes --call 3 -o chart.png
    """
    from tasuki import io_times

    try:
        found = io_times.load(times, job)
    except io_times.IoTimesError as error:
        raise Refusal(f"io-chart: {error}") from None
    listed = of_file(found, file)
    wanted = ranks_of(found, ranks)
    if not listed:
        raise Refusal(f"io-chart: {times}: has no collective access, expected one that has ended")
    chosen = chosen_of(listed, call)
    if out is not None:
        draw(found, chosen, wanted, out, times_of(between))
    if as_json:
        print(json.dumps(io_times.document(found, chosen), indent=1, ensure_ascii=False))
    elif as_csv:
        found.calls = chosen
        found.frame().to_csv(sys.stdout, index=False)
    else:
        show(found, listed, chosen, out)


# ---- what is chosen ----


def of_file(job, name: str) -> list:
    if not name:
        return job.calls
    parts = pathlib.PurePath(name).parts
    chosen = [one for one in job.calls if pathlib.PurePath(one.file).parts[-len(parts) :] == parts]
    if not chosen:
        files = sorted({one.file for one in job.calls}) or ["none"]
        raise Refusal(
            f"io-chart: --file {name}: no such file in {job.path}, expected {' or '.join(files[:5])}"
        )
    return chosen


def ranks_of(job, text: str) -> list[int]:
    """The ranks that a list names; all that are in the file, without one."""
    if not text:
        return sorted(job.node_of)
    chosen: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) >= job.size:
            raise Refusal(
                f"io-chart: --ranks {text}: {part!r}, expected ranks of 0 to {job.size - 1}, as 0,2,4-7"
            )
        chosen.update(range(int(first), int(last or first) + 1))
    return sorted(chosen & set(job.node_of))


def chosen_of(calls: list, text: str) -> list:
    if text == "all":
        return calls
    if not text:
        return [max(calls, key=lambda one: one.seconds)]
    numbers = {str(one.number): one for one in calls}
    if text not in numbers:
        known = f"{calls[0].number} to {calls[-1].number}" if len(calls) > 1 else f"{calls[0].number}"
        raise Refusal(f"io-chart: --call {text}: no such access, expected {known}, or all")
    return [numbers[text]]


def times_of(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    first, _, last = text.partition("-")
    try:
        times = (float(first), float(last))
    except ValueError:
        times = (0.0, 0.0)
    if not 0 <= times[0] < times[1] < float("inf"):
        raise Refusal(f"io-chart: --between {text}: expected two times in milliseconds, as 12.5-20")
    return times


def draw(job, chosen: list, ranks: list[int], out: pathlib.Path, between: tuple[float, float] | None) -> None:
    from tasuki import io_chart as chart

    if out.suffix not in chart.FORMATS:
        raise Refusal(f"io-chart: -o {out}: expected a name that ends in {', '.join(chart.FORMATS)}")
    there = {access.rank for one in chosen for access in one.accesses}
    drawn = [rank for rank in ranks if rank in there]
    if not drawn:
        raise Refusal(f"io-chart: none of the ranks {ranks} took part in call {chosen[0].number}")
    try:
        chart.write(job, chosen, drawn, out, between)
    except OSError as error:
        raise Refusal(f"io-chart: -o {out}: {error.strerror}, expected a file that can be written") from None


# ---- what is printed ----


def show(job, listed: list, chosen: list, out: pathlib.Path | None) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    nodes = f" on {job.nodes} nodes" if job.nodes > 1 else ""
    accesses = f"{len(listed)} collective access{'es' if len(listed) > 1 else ''}"
    files = sorted({one.file for one in listed})
    told = f" to {shown(files[0])}" if len(files) == 1 else ""
    console.print(f"{job.path}: {job.size} rank{'s' if job.size > 1 else ''}{nodes}, {accesses}{told}")
    console.print(table_of_calls(listed, chosen, len(files) > 1))
    if len(listed) > CALLS_SHOWN:
        console.print(f"and {len(listed) - CALLS_SHOWN} shorter ones (--json --call all)")
    which = f"call {chosen[0].number}" if len(chosen) == 1 else f"all {len(chosen)} calls"
    console.print(f"\nphases of {which}")
    print_phases(console, chosen)
    for trouble in job.troubles:
        console.print(f"note: {trouble}")
    if out is not None:
        console.print(f"{out}")


def shown(file: str) -> str:
    """A name that may not be text."""
    return file.encode(errors="replace").decode()


def table_of_calls(listed: list, chosen: list, with_files: bool):
    """The longest ones, in their order; what is chosen is marked. No aggregators: each rank moved its own."""
    from rich.table import Table

    from tasuki.units import bytes_text, rate_text, time_text

    longest = sorted(listed, key=lambda one: -one.seconds)[:CALLS_SHOWN]
    table = Table(box=None, pad_edge=False)
    table.add_column("call", justify="right", no_wrap=True)
    table.add_column("MPI_File_", no_wrap=True)
    if with_files:
        table.add_column("file", overflow="fold")
    for name in ("aggregators", "cycles", "data", "time", "rate"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in sorted(longest, key=lambda one: one.number):
        two_phase = one.way == "two-phase"
        table.add_row(
            f"{'→ ' if one in chosen and len(listed) > 1 else ''}{one.number}",
            one.function.removeprefix("MPI_File_"),
            *([shown(pathlib.PurePath(one.file).name)] if with_files else []),
            f"{len(one.aggregators)}" if two_phase else "-",
            f"{one.cycles}" if two_phase else "-",
            bytes_text(one.bytes),
            time_text(one.seconds),
            rate_text(one.bytes / one.seconds) if one.seconds else "-",
        )
    return table


def print_phases(console, chosen: list) -> None:
    from rich.table import Table

    from tasuki.io_times import overlap, phase_sums
    from tasuki.units import bytes_text, percent_text, time_text

    sums = phase_sums(chosen)
    if not sums:
        console.print("none was told")
        return
    table = Table("phase", box=None, pad_edge=False)
    for name in ("all ranks", "share", "per cycle", "busiest rank", "its sum", "moved"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in sums:
        table.add_row(
            one.phase,
            time_text(one.seconds),
            percent_text(one.share),
            time_text(one.seconds_per_cycle),
            f"{one.busiest_rank}",
            time_text(one.busiest_seconds),
            bytes_text(one.bytes),
        )
    console.print(table)
    share = overlap(chosen)
    if share is not None:
        console.print(f"exchange and access to the file overlap in {percent_text(share)} of what they could")
