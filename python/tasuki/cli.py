"""The command line `tasuki`: each command has a module in tasuki.commands.

A command's function takes what the user says, and says what is wrong with it by `commands.Refusal`: one
line on standard error, exit status 2. Heavy imports (numpy, pandas, matplotlib) belong into the functions, so
that --help comes at once.
"""

from __future__ import annotations

import sys

import typer

from tasuki.commands import Refusal, bench, compare, fit, predict, report, tune

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="""Measure an MPI library, model it, and let it choose.

    One round of the loop:

        tasuki bench --quick -n 2 -o run.json      measures (at most 3 minutes)

        tasuki fit run.json                        latency, bandwidth and switch points, with their intervals

        tasuki report run.json -o report.html      the same as one page to look at

        tasuki tune -o table.json                  fits the parameters by which the library chooses

        tasuki compare a.json b.json               what became faster, and what slower

        tasuki predict list.txt --run run.json     what communication will cost a program
    """,
)
for command in (bench, fit, predict, tune, compare, report):
    command.register(app)


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
