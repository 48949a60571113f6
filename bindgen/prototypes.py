"""The C functions and callbacks of MPI: those of pympistandard, and the removed MPI-1 ones of the MPICH ABI.

Three slips of pympistandard 0.2 are put right here: MPI_Info_create_env's argv is `char*[]`, the count of
MPI_Psend_init and MPI_Precv_init is an MPI_Count in one form only (no `_c`), and `\\ldots` is C's `...`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pympistandard

from bindgen.constants import SPEC


@dataclass(frozen=True)
class Prototype:
    name: str
    returns: str
    parameters: str  # as C writes them, without the parentheses

    def declaration(self, prefix: str = "") -> str:
        return f"{self.returns} {prefix}{self.name}({self.parameters});"


# A parameter that hides a function of <strings.h> sets off -Wshadow in some compilers.
RENAMED_PARAMETERS = {"index": "indx"}
# Arrays in whose place a constant may stand that is no address of memory (MPI_STATUSES_IGNORE and the like).
# Where they are declared as arrays, compilers warn of what is read there.
NO_ARRAYS = ("array_of_statuses", "array_of_errcodes", "sourceweights", "destweights", "weights")


def _parameter(function: str, parameter) -> str:
    if parameter.name == "varargs" or str(parameter) == r"\ldots":
        return "..."
    if function == "MPI_Info_create_env" and parameter.name == "argv":
        return "char* argv[]"
    text = str(parameter)
    if parameter.name in NO_ARRAYS and text.endswith("[]"):
        text = text.removesuffix("[]").replace(f" {parameter.name}", f"* {parameter.name}")
    if parameter.name in RENAMED_PARAMETERS:
        text = text.replace(f" {parameter.name}", f" {RENAMED_PARAMETERS[parameter.name]}")
    return text


def _prototype(expression) -> Prototype:
    parameters = ", ".join(_parameter(expression.name, parameter) for parameter in expression.parameters)
    return Prototype(expression.name, expression.return_type, parameters or "void")


def _expand(symbols) -> list[Prototype]:
    """Every symbol, each followed by its large-count form where it has one."""
    prototypes = []
    for symbol in symbols:
        prototypes.append(_prototype(symbol.express.iso_c))
        large = symbol.express.embiggen.iso_c
        if large is not None:
            prototypes.append(_prototype(large))
    return prototypes


def _load() -> None:
    if not pympistandard.PROCEDURES:
        pympistandard.use_api_version(force_bundled=True)


def functions() -> list[Prototype]:
    """The 690 C functions of MPI-5.0, by name."""
    _load()
    procedures = sorted(
        pympistandard.all_iso_c_procedures(), key=lambda procedure: procedure.express.iso_c.name
    )
    return _expand(procedures)


def callbacks() -> list[Prototype]:
    """The types of user functions."""
    _load()
    return _expand(pympistandard.CALLBACKS.values())


def removed() -> list[Prototype]:
    """The functions that MPI-3.0 removed and the MPICH ABI still exports."""
    rows = json.loads((SPEC / "removed.json").read_text())
    return [Prototype(row["name"], "int", row["parameters"]) for row in rows]
