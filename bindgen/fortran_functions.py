"""The procedures of MPI in Fortran, each with the C function that does its work.

They come from pympistandard. The names and the order of the parameters are those of C, with `ierror` after
them; two procedures have no C function (MPI_F_sync_reg and MPI_Sizeof).
"""

from __future__ import annotations

from dataclasses import dataclass

import pympistandard

from bindgen import mpi_functions
from bindgen.mpi_functions import Function

# With these the module mpi takes a TYPE(C_PTR), too (MPI 5.0, 19.1.4).
CPTR_OVERLOADS = ("MPI_Alloc_mem", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_shared_query")


@dataclass(frozen=True)
class Declaration:
    """A parameter as Fortran declares it: `descriptor` :: `text`."""

    name: str
    descriptor: str  # TYPE(MPI_Comm), INTENT(IN)
    text: str  # array_of_requests(count)
    kind: str


@dataclass(frozen=True)
class Interface:
    """One form of a procedure in one of the modules."""

    name: str  # MPI_Send
    returns: str | None  # of a function: DOUBLE PRECISION
    parameters: tuple[Declaration, ...]

    @property
    def has_buffer(self) -> bool:
        return any("DIMENSION(..)" in parameter.descriptor for parameter in self.parameters)


@dataclass(frozen=True)
class Procedure:
    name: str  # MPI_Send
    c: Function | None
    large_c: Function | None
    f90: Interface | None  # of the module mpi
    f08: Interface | None
    large_f08: Interface | None


def _lower(text: str) -> str:
    return text.lower().replace("mpi_status_size", "MPI_STATUS_SIZE")


def _interface(expression, name: str) -> Interface | None:
    if expression is None:
        return None
    parameters = tuple(
        Declaration(
            _lower(parameter.name),
            getattr(parameter, "descriptor", None) or parameter.type,  # the module mpi has types alone
            _lower(str(parameter)),
            parameter._parseset["kind"],
        )
        for parameter in expression.parameters
    )
    return Interface(name, expression.return_type or None, parameters)


def procedures() -> list[Procedure]:
    """All 434, by name."""
    of_c = {function.name.lower(): function for function in mpi_functions.functions()}
    result = []
    for name, symbol in sorted(pympistandard.PROCEDURES.items()):
        express = symbol.express
        if express.f90 is None and express.f08 is None:
            continue
        c = of_c.get(name.lower())
        title = c.name if c else express.f08.name
        result.append(
            Procedure(
                title,
                c,
                of_c.get(f"{name.lower()}_c"),
                _interface(express.f90, title),
                _interface(express.f08, title),
                _interface(express.embiggen.f08, title),
            )
        )
    return result
