"""spam sweep: the options of a run against each other, as the tables and figures of the paper have them."""

from __future__ import annotations

import os
import pathlib
from typing import Annotated

import typer

from spam_tools.refusal import Refusal


def register(app: typer.Typer) -> None:
    app.command("sweep")(sweep)


def sweep(
    input_file: Annotated[pathlib.Path, typer.Argument(metavar="INPUT", help="An input file of spam run.")],
    output: Annotated[pathlib.Path, typer.Option("-o", "--output", metavar="DIR", help="A new directory.")],
    processors: Annotated[
        str, typer.Option(metavar="N,…", help="How many ranks, or threads of one rank.")
    ] = "1,2,3,4",
    steps: Annotated[int, typer.Option(min=1, help="Of each run.")] = 50,
    rounds: Annotated[
        int, typer.Option(min=1, help="Each run is made so often, in turn; the fastest one counts.")
    ] = 1,
    only: Annotated[
        str, typer.Option(metavar="NAME,…", help="Not all tables and figures: table3,figure6 …")
    ] = "",
    mpiexec: Annotated[
        str, typer.Option(metavar="PATH", help="Else the one beside spam, or that of PATH.")
    ] = "",
) -> None:
    """Runs a grid of options, and writes the paper's tables 1 and 3 to 6 and figures 3 to 7 of them.

    The directory gets index.md with all of them, a .csv for each, pictures, and runs.csv. Cache misses are
    counted by the processor where it has counters for users, and by a model of caches where not.
    """
    numbers = numbers_of(processors)
    if not input_file.is_file():
        raise Refusal(f"{input_file}: there is no such file; expected an input file of spam run")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise Refusal(f"--output {output}: is there already; expected another name")
    from spam_tools import sweep_parts, sweep_report, sweep_runs

    parts = chosen(sweep_parts.parts_of(numbers), only)
    launcher = sweep_runs.Launcher.find(os.environ.get("SPAM", "spam"), mpiexec)
    try:
        output.mkdir(parents=True, exist_ok=True)
        runs = sweep_runs.run_all(launcher, input_file, output, parts, steps, rounds)
        sweep_report.write(output, parts, runs, input_file, steps, rounds)
    except OSError as error:
        raise Refusal(f"--output {output}: {error}") from None
    print(output / "index.md")


def numbers_of(text: str) -> list[int]:
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1:
        raise Refusal(f"--processors {text}: expected whole numbers from 1 up, as in 1,2,4")
    return numbers


def chosen(parts: list, only: str) -> list:
    if not only:
        return parts
    names = {part.name for part in parts}
    for name in only.split(","):
        if name not in names:
            raise Refusal(f"--only {name}: expected some of {', '.join(part.name for part in parts)}")
    return [part for part in parts if part.name in only.split(",")]
