"""Writes the table of all functions of MPI in src/base, and in it what the doctor needs of each:
which of its arguments are on the CallLine (base/calls/call_board.hpp), whether it is collective, whether
it may wait for other processes.

The arguments follow from the kinds in pympistandard; the patterns below add what the kinds do not show.
"""

from __future__ import annotations

import re

from bindgen import mpi_functions
from bindgen.cpp_text import HEAD, wrapped
from bindgen.mpi_functions import Function, Parameter

# What a call's peer is called, in the order in which it is looked for. In windows a target may be "rank".
PEERS = ("dest", "source", "target_rank", "root")
OBJECTS = {"COMMUNICATOR": "comm", "WINDOW": "win", "FILE": "file", "SESSION": "session"}
COUNTS = ("count", "sendcount", "recvcount", "origin_count", "incount")
TYPES = ("datatype", "sendtype", "recvtype", "origin_datatype", "type")

DATA_COLLECTIVE = r"(neighbor_)?(allgatherv?|alltoall[vw]?|allreduce|barrier|bcast|exscan|gatherv?|" + (
    r"reduce|reduce_scatter|reduce_scatter_block|scan|scatterv?)"
)

# Functions that all processes of a group have to call (base names without MPI_, in lower case).
COLLECTIVE = re.compile(
    rf"i?{DATA_COLLECTIVE}(_init)?"
    r"|comm_(i?dup(_with_info)?|create(_group|_from_group)?|split(_type)?|free|disconnect|set_info)"
    r"|comm_(accept|connect|spawn|spawn_multiple)"
    r"|intercomm_(create(_from_groups)?|merge)"
    r"|cart_(create|map|sub)|graph_(create|map)|dist_graph_create(_adjacent)?"
    r"|win_(create|create_dynamic|allocate|allocate_shared|free|fence|set_info)"
    r"|file_(open|close|set_size|preallocate|set_view|set_info|set_atomicity|sync|seek_shared)"
    r"|file_i?(read|write)(_at)?_(all|ordered)(_begin|_end)?"
    r"|init|init_thread|finalize"
)

# Functions that may return only after another process has done something.
MAY_WAIT = re.compile(
    rf"{DATA_COLLECTIVE}"
    r"|[rs]?send|recv|mrecv|probe|mprobe|sendrecv(_replace)?|wait|wait(all|any|some)"
    r"|buffer_(detach|flush)|comm_(flush_buffer|detach_buffer)|session_(flush_buffer|detach_buffer)"
    r"|comm_(dup(_with_info)?|create(_group|_from_group)?|split(_type)?|free|disconnect|set_info)"
    r"|comm_(accept|connect|join|spawn|spawn_multiple)"
    r"|intercomm_(create(_from_groups)?|merge)"
    r"|cart_(create|map|sub)|graph_(create|map)|dist_graph_create(_adjacent)?"
    r"|win_(create|create_dynamic|allocate|allocate_shared|free|fence|set_info)"
    r"|win_(start|complete|wait|lock|lock_all|unlock|unlock_all|flush|flush_all)"
    r"|file_(open|close|set_size|preallocate|set_view|set_info|set_atomicity|sync|seek_shared)"
    r"|file_(read|write)(_at)?_(all|ordered)(_begin|_end)?|file_(read|write|seek)_shared"
    r"|init|init_thread|finalize|session_finalize"
)


def number_name(function: str) -> str:
    """MPI_Send_c is Function::kSend_c."""
    return "k" + function.removeprefix("MPI_")


def bare_name(function: Function) -> str:
    return function.base_name.removeprefix("MPI_").lower()


def is_collective(function: Function) -> bool:
    return COLLECTIVE.fullmatch(bare_name(function)) is not None


def _first(function: Function, names, matches) -> Parameter | None:
    for name in names:
        parameter = function.find(name)
        if parameter and parameter.direction == "in" and not parameter.is_array and matches(parameter):
            return parameter
    return None


def line_arguments(function: Function) -> dict[str, Parameter]:
    """Which of its parameters are the CallLine's `object`, `peer`, `tag`, `count`, `type` and `op`."""
    if function.name.startswith("MPI_T_"):
        return {}
    found = {}
    for kind in OBJECTS:
        for parameter in function.parameters:
            wanted = (
                parameter.kind == kind and parameter.direction in ("in", "inout") and not parameter.is_array
            )
            if wanted and "object" not in found:
                found["object"] = parameter
    ranks = PEERS + (("rank",) if function.name.startswith("MPI_Win_") else ())
    # Of a scatter, what is received is significant everywhere.
    backwards = "scatter" in function.name.lower()
    names = {"count": COUNTS, "type": TYPES}
    if backwards:
        names = {"count": ("recvcount",), "type": ("recvtype",)}
    found |= {
        "peer": _first(function, ranks, lambda parameter: "RANK" in parameter.kind),
        "tag": _first(function, ("tag", "sendtag"), lambda parameter: parameter.kind == "TAG"),
        "count": _first(function, names["count"], lambda _: True),
        "type": _first(function, names["type"], lambda parameter: parameter.kind == "DATATYPE"),
        "op": _first(function, ("op",), lambda parameter: parameter.kind == "OPERATION"),
    }
    return {field: parameter for field, parameter in found.items() if parameter}


def _text(parameter: Parameter | None) -> str:
    return f'"{parameter.name}"' if parameter else '""'


def _row(function: Function) -> str:
    arguments = line_arguments(function)
    fields = ", ".join(
        _text(arguments.get(field)) for field in ("object", "peer", "tag", "count", "type", "op")
    )
    may_wait = MAY_WAIT.fullmatch(bare_name(function)) is not None
    flags = ", ".join(str(flag).lower() for flag in (is_collective(function), may_wait))
    return f'{{"{function.name}", {fields}, {flags}}},'


def generate() -> dict[str, str]:
    functions = sorted(mpi_functions.functions(), key=lambda function: function.name.lower())
    numbers = wrapped(number_name(function.name) for function in functions)
    rows = "\n".join(_row(function) for function in functions)
    return {
        "base/calls/function_list.hpp": (
            "// Every function of MPI: generated by bindgen; do not edit. See base/calls/function.hpp.\n"
            "// clang-format off\n"
            "#pragma once\n\n#include <cstdint>\n\nnamespace tasuki {\n\n"
            "enum class Function : std::uint16_t {\n  kNone,\n"
            f"{numbers}\n}};\n"
            f"inline constexpr int kFunctions = {len(functions) + 1};  // with kNone\n\n"
            "}  // namespace tasuki\n"
        ),
        "base/calls/function_table.hpp": (
            HEAD.format(title="The rows of function_facts()") + "#pragma once\n\n"
            '#include "base/calls/function.hpp"\n\nnamespace tasuki {\n\n'
            "inline constexpr FunctionFacts kFunctionTable[kFunctions] = {\n"
            f'{{"", "", "", "", "", "", "", false, false}},\n{rows}\n}};\n\n'
            "}  // namespace tasuki\n"
        ),
    }
