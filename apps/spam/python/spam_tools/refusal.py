"""What is wrong with what the user asked for."""

from __future__ import annotations

import pathlib


class Refusal(Exception):
    """One line for standard error; the exit status is 2."""


def check_out(out: pathlib.Path, formats: tuple[str, ...]) -> None:
    """Refuses, before any work is done, a name under which nothing can be written."""
    if out.suffix not in formats:
        raise Refusal(f"--out {out}: expected a name that ends in {', '.join(formats)}")
    if not out.parent.is_dir():
        raise Refusal(f"--out {out}: there is no directory {out.parent}")
