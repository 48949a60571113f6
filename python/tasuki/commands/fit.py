"""tasuki fit: latency, bandwidth, M_1/2 and switch points of a run, and a machine file of it."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import sys
from typing import Annotated

import typer

from tasuki.commands import Refusal

SIZES_SHOWN = 5


def register(app: typer.Typer) -> None:
    app.command("fit")(fit)


def fit(
    run: Annotated[pathlib.Path, typer.Argument(metavar="RUN.json", help="What `tasuki bench` measured.")],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP[/BENCHMARK…]", help="Only the series that begin so. Repeatable."),
    ] = None,
    all_: Annotated[
        bool,
        typer.Option("--all", help="Show also the series of three or four sizes, of which little is known."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the segments as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the segments as CSV.")] = False,
    machine: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", help="Write the run as a machine for `tasuki predict --machine FILE`."),
    ] = None,
) -> None:
    """Fits latency, bandwidth and M_1/2 to a run, and finds the sizes at which a protocol or algorithm
    changes.

    For each series of sizes, and each segment between two switches: t = t_L + M/B, throughput B / (1 +
    M_half/M).

    Behind ± is the 95 % interval; ≥ and ≤ say that the sizes measured tell only one end of it.
    """
    from tasuki import fit as fitting
    from tasuki import machines, results

    if as_json and as_csv:
        raise Refusal("fit: both --json and --csv given, expected one of them at most")
    try:
        measured = results.load(run)
        if only:
            measured.rows = [row for row in measured.rows if begins(row.series, only)]
        if only and not measured.rows:
            raise Refusal(f"{run}: no series begins with {' or '.join(only)}")
        if machine is not None:
            machines.save(dataclasses.replace(machines.of_run(measured), name=machine.stem), machine)
    except results.ResultsError as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(f"{machine}: {error.strerror}") from None
    fits = fitting.fit_run(measured)
    if not any(one.segments for one in fits):
        troubles = "; ".join(one.trouble for one in fits[:3]) or "it has no rows"
        raise Refusal(f"{run}: nothing can be fitted: {troubles}")
    if as_json:
        document = {"tasuki_fit": 1, "segments": fitting.records(fits), "loggp": loggp_told(measured)}
        print(json.dumps(finite(document), indent=1, ensure_ascii=False, allow_nan=False))
    elif as_csv:
        fitting.frame(fits).to_csv(sys.stdout, index=False)
    else:
        print_fits(fits, fitting.SIZES_MIN if all_ or only else SIZES_SHOWN)
        print_loggp(measured)
        if machine is not None:
            print(f"{machine} is written: tasuki predict LIST --machine {machine}")


def begins(series: str, prefixes: list[str]) -> bool:
    return any(series == one or series.startswith((one + "/", one + "@", one + ",")) for one in prefixes)


def finite(value):
    """The same with null for what is not finite: JSON has no infinity."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def loggp_told(run) -> dict:
    from tasuki import loggp

    return {
        name: {"value": estimate.value, "low": estimate.low, "high": estimate.high, "from": note}
        for name, (estimate, note) in loggp.parameters_of(run).items()
    }


def estimate_text(estimate, text) -> str:
    """The value and its interval: "1.30 µs ± 4 %"; where it is wide, the end that is near, or both ends."""
    from tasuki.units import percent_text

    if not math.isfinite(estimate.high):
        return f"≥ {text(estimate.low)}" if estimate.low > 0 else "not told"
    if estimate.low <= 0:
        return f"≤ {text(estimate.high)}"
    wide = estimate.high > 2 * estimate.value, estimate.low < estimate.value / 2
    if wide == (False, False):
        off = max(estimate.high / estimate.value - 1, 1 - estimate.low / estimate.value)
        return f"{text(estimate.value)} ± {percent_text(off)}"
    if wide == (False, True):
        return f"≤ {text(estimate.high)}"
    if wide == (True, False):
        return f"≥ {text(estimate.low)}"
    return f"{text(estimate.low)} … {text(estimate.high)}"


def print_fits(fits, sizes_min: int) -> None:
    """Each series of so many sizes with a line for each segment."""
    from rich.console import Console
    from rich.table import Table

    from tasuki.units import bytes_text, percent_text, rate_text, time_text

    console = Console(highlight=False)
    shown = [one for one in fits if one.points >= sizes_min]
    for one in shown:
        told = f"{one.points} sizes, points are off by {percent_text(one.noise)}"
        if one.outliers:
            told += f", odd at {', '.join(map(bytes_text, one.outliers))}"
        console.print(f"{one.series}: {told}", soft_wrap=True)
        table = Table(box=None, pad_edge=False, show_edge=False)
        for head in ("   from", "to", "t_L", "B", "M_1/2"):
            table.add_column(head, justify="right", no_wrap=True)
        for segment in one.segments:
            words = [estimate_text(segment.latency_seconds, time_text)]
            words += [estimate_text(segment.bytes_per_second, rate_text)]
            words += [estimate_text(segment.half_bytes, bytes_text)]
            first, last = bytes_text(segment.bytes_first), bytes_text(segment.bytes_last)
            table.add_row(first, last, *words)
        console.print(table)
        places = [f"above {bytes_text(place.low)}, up to {bytes_text(place.high)}" for place in one.breaks]
        if places:
            console.print(f"   switches: {'; '.join(places)}", soft_wrap=True)
    few = sum(1 for one in fits if 0 < one.points < sizes_min)
    left = [one for one in fits if not one.segments]
    if few:
        console.print(f"\n{few} series of fewer than {sizes_min} sizes are not shown: --all shows them")
    if left:
        console.print(f"\n{len(left)} series have no fit; of the first: {left[0].trouble}", soft_wrap=True)


def print_loggp(run) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki import loggp
    from tasuki.units import bytes_text, rate_text, time_text

    found = loggp.parameters_of(run)
    if not found:
        return
    table = Table("parameter", "value", "from", box=None, pad_edge=False)
    for name, (estimate, note) in found.items():
        text = rate_text if name.endswith("per_second") else bytes_text if "bytes" in name else time_text
        table.add_row(name, estimate_text(estimate, text), note)
    console = Console(highlight=False)
    console.print("\nLogGP:")
    console.print(table)
