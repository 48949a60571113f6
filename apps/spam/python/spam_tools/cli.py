"""The commands of `spam` that are written in Python. Each has a module with a function register(app).

What is wrong with what the user says is a Refusal: one line on standard error, exit status 2. Heavy imports
(pandas, matplotlib) belong into the functions, so that --help comes at once.
"""

from __future__ import annotations

import sys

import typer

from spam_tools import film, picture, shock, sweep
from spam_tools.refusal import Refusal

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Draw what a run of spam left, and compare its options.",
)
for command in (picture, film, shock, sweep):
    command.register(app)


def main() -> None:
    try:
        app(prog_name="spam")
    except Refusal as refusal:
        print(f"spam: {refusal}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
