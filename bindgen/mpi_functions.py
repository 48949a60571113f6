"""The functions of MPI and the types of users' functions, as C declares them: name, result, parameters.

They come from pympistandard, which also knows each parameter's kind, direction and length, and from
spec/removed.json: the functions that MPI-3.0 removed and the MPICH ABI still has, of which only the text is
known. Three slips of pympistandard 0.2 are put right here: MPI_Info_create_env's argv is `char*[]`, the count
of MPI_Psend_init and MPI_Precv_init is an MPI_Count in one form only (no `_c`), and `\\ldots` is C's `...`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pympistandard

from bindgen.constants import SPEC


@dataclass(frozen=True)
class Parameter:
    name: str
    text: str  # as C declares it
    kind: str = ""  # pympistandard's: RANK, TAG, POLYXFER_NUM_ELEM_NNI …
    direction: str = ""  # in, out, inout
    length: str | tuple | None = None  # None: a scalar
    is_const: bool = False

    @property
    def is_array(self) -> bool:
        return self.length is not None and self.kind != "STRING"


@dataclass(frozen=True)
class Function:
    name: str
    base_name: str  # without _c
    returns: str
    parameters: tuple[Parameter, ...]
    instead: str = ""  # of a removed function: the one that replaces it

    @property
    def is_large(self) -> bool:
        return self.name != self.base_name

    @property
    def parameter_text(self) -> str:
        return ", ".join(parameter.text for parameter in self.parameters) or "void"

    def declaration(self, prefix: str = "") -> str:
        return f"{self.returns} {prefix}{self.name}({self.parameter_text});"

    def find(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


# A parameter that hides a function of <strings.h> sets off -Wshadow in some compilers.
RENAMED_PARAMETERS = {"index": "indx"}
# Arrays in whose place a constant may stand that is no address of memory (MPI_STATUSES_IGNORE and the like).
# Where they are declared as arrays, compilers warn of what is read there.
NO_ARRAYS = ("array_of_statuses", "array_of_errcodes", "sourceweights", "destweights", "weights")


def _text(function: str, expression) -> str:
    if expression.name == "varargs" or str(expression) == r"\ldots":
        return "..."
    if function == "MPI_Info_create_env" and expression.name == "argv":
        return "char* argv[]"
    text = str(expression)
    if expression.name in NO_ARRAYS and text.endswith("[]"):
        text = text.removesuffix("[]").replace(f" {expression.name}", f"* {expression.name}")
    if expression.name in RENAMED_PARAMETERS:
        text = text.replace(f" {expression.name}", f" {RENAMED_PARAMETERS[expression.name]}")
    return text


def _parameter(function: str, expression) -> Parameter:
    parsed = expression._parseset  # the only way to the length and the constness
    length = parsed["length"]
    return Parameter(
        name=RENAMED_PARAMETERS.get(parsed["name"], parsed["name"]),
        text=_text(function, expression),
        kind=parsed["kind"],
        direction=parsed["param_direction"].lower(),
        length=tuple(length) if isinstance(length, list) else length or None,
        is_const=bool(parsed["constant"]),
    )


def _both_forms(symbols) -> list[Function]:
    """Every symbol, each followed by its large-count form where it has one."""
    result = []
    for symbol in symbols:
        small, large = symbol.express.iso_c, symbol.express.embiggen.iso_c
        for form in (small, large) if large is not None else (small,):
            parameters = tuple(_parameter(form.name, parameter) for parameter in form.parameters)
            result.append(Function(form.name, small.name, form.return_type, parameters))
    return result


def _load() -> None:
    if not pympistandard.PROCEDURES:
        pympistandard.use_api_version(force_bundled=True)


def functions() -> list[Function]:
    """The 690 C functions of MPI-5.0, by name."""
    _load()
    return _both_forms(
        sorted(pympistandard.all_iso_c_procedures(), key=lambda procedure: procedure.express.iso_c.name)
    )


def callbacks() -> list[Function]:
    """The types of user functions."""
    _load()
    return _both_forms(pympistandard.CALLBACKS.values())


def removed() -> list[Function]:
    """The functions that MPI-3.0 removed and the MPICH ABI still exports."""
    result = []
    for row in json.loads((SPEC / "removed.json").read_text()):
        parameters = tuple(Parameter(text.split()[-1], text) for text in row["parameters"].split(", "))
        result.append(Function(row["name"], row["name"], "int", parameters, row["instead"]))
    return result


def common_parameters(forms: list[Function]) -> str:
    """The parameter list of a function template for these forms of a function: `auto` where they differ."""
    return ", ".join(map(_common, *(form.parameters for form in forms)))


def _common(parameter: Parameter, *others: Parameter) -> str:
    if all(other.text == parameter.text for other in others):
        return parameter.text
    constness = "const " if parameter.is_const else ""
    is_pointer = "*" in parameter.text or "[" in parameter.text
    return f"{constness}auto{'*' if is_pointer else ''} {parameter.name}"
