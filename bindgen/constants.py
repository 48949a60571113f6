"""The constants of both ABIs, read from spec/constants.json.

One row of that file is one constant: its name, its category, the C type where the category does not say
it, and its value in the MPI-5.0 standard ABI and in the MPICH ABI. A value is a number, or the name of an
exported symbol (the MPICH ABI has a few constants that are variables or functions), or None where the ABI
does not have the constant. The core's number of a constant is its standard value; one that the standard
ABI does not have may have a number of the core's own ("core"), or the core does not know it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

SPEC = Path(__file__).parent / "spec"

HANDLE_TYPES = {
    "comm": "MPI_Comm",
    "datatype": "MPI_Datatype",
    "errhandler": "MPI_Errhandler",
    "file": "MPI_File",
    "group": "MPI_Group",
    "info": "MPI_Info",
    "message": "MPI_Message",
    "op": "MPI_Op",
    "request": "MPI_Request",
    "session": "MPI_Session",
    "win": "MPI_Win",
}

ABIS = ("standard", "mpich")


@dataclass(frozen=True)
class Constant:
    name: str
    category: str
    type: str
    standard: int | str | None
    mpich: int | str | None
    core: int | str | None

    def value(self, abi: str) -> int | str | None:
        return getattr(self, abi)

    @property
    def is_null_handle(self) -> bool:
        return self.category in HANDLE_TYPES and self.name.endswith("_NULL")


def _number(value: int | str | None) -> int | str | None:
    return int(value, 16) if isinstance(value, str) and value.startswith("0x") else value


def load() -> list[Constant]:
    rows = json.loads((SPEC / "constants.json").read_text())
    constants = [
        Constant(
            name=row["name"],
            category=row["category"],
            type=row.get("type") or HANDLE_TYPES.get(row["category"], "int"),
            standard=_number(row["standard"]),
            mpich=_number(row["mpich"]),
            core=row.get("core", _number(row["standard"])),
        )
        for row in rows
    ]
    names = [constant.name for constant in constants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SystemExit(f"spec/constants.json: listed twice: {', '.join(twice)}")
    return constants


def by_category(constants: list[Constant]) -> dict[str, list[Constant]]:
    categories: dict[str, list[Constant]] = {}
    for constant in constants:
        categories.setdefault(constant.category, []).append(constant)
    return categories
