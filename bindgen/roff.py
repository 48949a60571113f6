"""Text as manual pages have it."""

from __future__ import annotations

import textwrap


def roff(text: str) -> str:
    """Text that the macros leave as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.split("\n"))


def flowing(text: str) -> list[str]:
    """A paragraph in lines of the length that sources have."""
    return [roff(line) for line in textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False)]
