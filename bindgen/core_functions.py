"""Reads the core's functions out of every api.hpp below src: their names and parameter lists."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class CoreParameter:
    type: str  # without spaces before *: "const Status*"
    name: str


@dataclass(frozen=True)
class CoreFunction:
    name: str
    header: str  # as it is included: "p2p/call/api.hpp"
    parameters: tuple[CoreParameter, ...]  # after the Process&

    @property
    def takes_wide(self) -> bool:
        return bool(self.parameters) and self.parameters[-1] == CoreParameter("bool", "wide")


def _parameter(text: str) -> CoreParameter:
    text = " ".join(text.split())
    ranges = re.fullmatch(r"const int ?\(\* ?(\w+)\)\[3\]", text)
    if ranges:
        return CoreParameter("const int(*)[3]", ranges.group(1))
    match = re.fullmatch(r"(.*[\s*&])(\w+)", text)
    if match is None:
        raise SystemExit(f"core_functions.py: cannot read the parameter '{text}'")
    kind = re.sub(r"\s*([*&])\s*", r"\1", match.group(1).strip())
    return CoreParameter(kind, match.group(2))


@functools.cache
def read_once() -> dict[str, CoreFunction]:
    return read()


def read(source: Path = ROOT / "src") -> dict[str, CoreFunction]:
    functions: dict[str, CoreFunction] = {}
    for path in sorted(source.glob("**/api.hpp")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for match in re.finditer(r"\bCode\s+(\w+)\(\s*Process&\s*process\s*(?:,([^;{}]*))?\)\s*;", text):
            name, parameters = match.groups()
            rest = tuple(_parameter(part) for part in (parameters or "").split(",") if part.strip())
            functions[name] = CoreFunction(name, str(path.relative_to(source)), rest)
    return functions
