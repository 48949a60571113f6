"""The command line `tasuki`: each command has a module in tasuki.commands.

A command's function takes what the user says, and says what is wrong with it by `commands.Refusal`: one
line on standard error, exit status 2. Heavy imports (numpy, pandas, matplotlib) belong into the functions, so
that --help comes at once.
"""

from __future__ import annotations

import inspect
import re
import sys

import typer
from rich.markup import escape

from tasuki.__main__ import print_version
from tasuki.commands import (
    Refusal,
    bench,
    compare,
    explain,
    fit,
    io_chart,
    predict,
    report,
    simulate,
    trace,
    tune,
)

HELP = """Measure an MPI library, model it, and let it choose.

    One round of the loop:

        tasuki bench --quick -n 2 -o run.json      measures: at most 3 minutes

        tasuki fit run.json                        latency, bandwidth and switch points, with their intervals

        tasuki report run.json -o report.html      the same as one page to look at

        tasuki tune -o table.json                  fits the parameters by which the library chooses

        tasuki compare a.json b.json               what became faster, and what slower

        tasuki predict list.txt --run run.json     what communication will cost a program

        tasuki explain solver.trace                why a program is slow, and what would help

        tasuki simulate --machine k-computer       what a collective takes on a machine one does not have

    `tasuki COMMAND --help` tells more of each. From Python: `import tasuki; tasuki.load("run.json").frame()`.
    """


def flowing(text: str) -> str:
    """Help as the terminal's width wants it: paragraphs flow; an indented line is an example, whose meaning,
    after two spaces or more, goes below it."""
    made = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.startswith("    "):
            made.append(escape(" ".join(paragraph.split())))
            continue
        for line in paragraph.splitlines():
            example, meaning = (re.split(r"  +", line.strip(), maxsplit=1) + [""])[:2]
            below = f"\n      {escape(meaning)}" if meaning else ""
            made.append(f"  [bold cyan]{escape(example)}[/]{below}")
    return "\n\n".join(made)


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help=flowing(HELP),
)


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", is_eager=True, help="Print the version and its commit."),
) -> None:
    if version:
        print_version()
        raise typer.Exit


for command in (bench, fit, predict, simulate, trace, explain, io_chart, tune, compare, report):
    command.register(app)
for registered in app.registered_commands:
    registered.help = flowing(registered.callback.__doc__ or "")


def main() -> None:
    try:
        app(prog_name="tasuki")
    except Refusal as refusal:
        print(f"tasuki: {refusal}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)


if __name__ == "__main__":
    main()
