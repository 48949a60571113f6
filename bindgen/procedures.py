"""The 690 C functions of MPI with what pympistandard knows of their parameters: kind, direction, length."""

from __future__ import annotations

from dataclasses import dataclass

import pympistandard

from bindgen import prototypes


@dataclass(frozen=True)
class Parameter:
    name: str
    text: str  # as C declares it
    kind: str  # pympistandard's: RANK, TAG, POLYXFER_NUM_ELEM_NNI …
    direction: str  # in, out, inout
    length: str | tuple | None  # None: a scalar
    is_const: bool

    @property
    def is_array(self) -> bool:
        return self.length is not None and self.kind != "STRING"


@dataclass(frozen=True)
class Function:
    name: str
    base_name: str  # without _c
    returns: str
    parameters: tuple[Parameter, ...]

    @property
    def is_large(self) -> bool:
        return self.name != self.base_name

    @property
    def parameter_text(self) -> str:
        return ", ".join(parameter.text for parameter in self.parameters) or "void"

    def find(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def _parameter(function: str, expression) -> Parameter:
    parsed = expression._parseset  # the only way to the length and the constness
    name = prototypes.RENAMED_PARAMETERS.get(parsed["name"], parsed["name"])
    length = parsed["length"]
    return Parameter(
        name=name,
        text=prototypes._parameter(function, expression),
        kind=parsed["kind"],
        direction=parsed["param_direction"].lower(),
        length=tuple(length) if isinstance(length, list) else length or None,
        is_const=bool(parsed["constant"]),
    )


def _function(expression, base_name: str) -> Function:
    parameters = tuple(_parameter(expression.name, parameter) for parameter in expression.parameters)
    return Function(expression.name, base_name, expression.return_type, parameters)


def common_parameters(forms: list[Function]) -> str:
    """The parameter list of a function template for these forms of a function: `auto` where they differ."""
    return ", ".join(map(_common, *(form.parameters for form in forms)))


def _common(parameter: Parameter, *others: Parameter) -> str:
    if all(other.text == parameter.text for other in others):
        return parameter.text
    constness = "const " if parameter.is_const else ""
    is_pointer = "*" in parameter.text or "[" in parameter.text
    return f"{constness}auto{'*' if is_pointer else ''} {parameter.name}"


def functions() -> list[Function]:
    prototypes.functions()  # loads pympistandard's data
    procedures = sorted(
        pympistandard.all_iso_c_procedures(), key=lambda procedure: procedure.express.iso_c.name
    )
    result = []
    for procedure in procedures:
        small = procedure.express.iso_c
        large = procedure.express.embiggen.iso_c
        result.append(_function(small, small.name))
        if large is not None:
            result.append(_function(large, small.name))
    return result
