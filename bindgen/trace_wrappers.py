"""Writes trace/: the functions that the trace records, their wrappers for either ABI, and the
interposed functions.

A function is recorded when it sends, receives, waits, or may take long. Of the others (MPI_Comm_rank,
MPI_Wtime, the types, groups, infos, statuses and MPI_T) the program calls the library's own. What is to be
remembered of a call follows from the names and kinds of its parameters: FAMILIES, and `_wrapper`.
"""

from __future__ import annotations

import re

from bindgen import function_table, mpi_functions
from bindgen.cpp_text import HEAD, wrapped
from bindgen.mpi_functions import Function

# A function's bytes and peers: which of Call's methods (src/trace/call.hpp) takes which of its parameters.
# Names without MPI_, in lower case, without _init, as a whole.
FAMILIES = [
    (r"i?[bsr]?send", "send", "count datatype dest tag"),
    (r"psend", "send_parts", "partitions count datatype dest tag"),
    (r"i?recv", "receive", "count datatype source tag"),
    (r"precv", "receive_parts", "partitions count datatype source tag"),
    (r"i?mrecv", "receive_matched", "count datatype"),
    (r"i?m?probe", "probe", "source tag"),
    (r"i?sendrecv", "send", "sendcount sendtype dest sendtag"),
    (r"i?sendrecv", "receive", "recvcount recvtype source recvtag"),
    (r"i?sendrecv_replace", "send", "count datatype dest sendtag"),
    (r"i?sendrecv_replace", "receive", "count datatype source recvtag"),
    (r"i?bcast", "bcast", "count datatype root"),
    (r"i?reduce", "reduce", "count datatype root"),
    (r"i?(allreduce|scan|exscan)", "allreduce", "count datatype"),
    (r"i?gather", "gather", "sendbuf sendcount sendtype recvcount recvtype root"),
    (r"i?gatherv", "gather", "sendbuf sendcount sendtype recvcounts recvtype root"),
    (r"i?scatter", "scatter", "sendcount sendtype recvbuf recvcount recvtype root"),
    (r"i?scatterv", "scatter", "sendcounts sendtype recvbuf recvcount recvtype root"),
    (r"i?allgather", "allgather", "sendbuf sendcount sendtype recvcount recvtype"),
    (r"i?allgatherv", "allgather", "sendbuf sendcount sendtype recvcounts recvtype"),
    (r"i?alltoall", "alltoall", "sendbuf sendcount sendtype recvcount recvtype"),
    (r"i?alltoallv", "alltoall", "sendbuf sendcounts sendtype recvcounts recvtype"),
    (r"i?alltoallw", "alltoall", "sendbuf sendcounts sendtypes recvcounts recvtypes"),
    (r"i?reduce_scatter", "reduce_scatter", "recvcounts datatype"),
    (r"i?reduce_scatter_block", "reduce_scatter_block", "recvcount datatype"),
    (r"i?neighbor_allgather", "neighbor_allgather", "sendcount sendtype recvcount recvtype"),
    (r"i?neighbor_allgatherv", "neighbor_allgather", "sendcount sendtype recvcounts recvtype"),
    (r"i?neighbor_alltoall", "neighbor_alltoall", "sendcount sendtype recvcount recvtype"),
    (r"i?neighbor_alltoallv", "neighbor_alltoall", "sendcounts sendtype recvcounts recvtype"),
    (r"i?neighbor_alltoallw", "neighbor_alltoall", "sendcounts sendtypes recvcounts recvtypes"),
    (r"r?(put|accumulate)", "put", "origin_count origin_datatype target_rank"),
    (r"r?get", "fetch", "origin_count origin_datatype target_rank"),
    (r"r?get_accumulate", "put", "origin_count origin_datatype target_rank"),
    (r"r?get_accumulate", "fetch", "result_count result_datatype target_rank"),
    (r"fetch_and_op|compare_and_swap", "exchange", "datatype target_rank"),
    (r"win_(lock|unlock|flush|flush_local)", "target", "rank"),
    (r"file_i?read\w*(?<!_end)", "fill", "count datatype"),
    (r"file_i?write\w*(?<!_end)", "drain", "count datatype"),
    (r"pack|i?barrier", None, ""),
]

# Further functions that are recorded, with their time alone.
OTHERS = re.compile(
    r"start(all)?|test(all|any|some)?|pready(_range|_list)?|parrived|request_(free|get_status\w*)|alloc_mem|free_mem"
    r"|win_(post|test|sync|flush_local_all|attach|detach)|file_(delete|seek)|unpack|abort|pcontrol"
    r"|session_init|comm_set_name|type_free"
)

# Collectives for which the library chooses an algorithm when they are called.
ALGORITHMIC = re.compile(
    r"i?(allgatherv?|allreduce|alltoall[vw]?|barrier|bcast|exscan|gatherv?|reduce|reduce_scatter(_block)?|scan"
    r"|scatterv?)"
)

# In src/trace/wrappers_by_hand.cpp.
BY_HAND = set(
    """
    MPI_Init MPI_Init_thread MPI_Finalize MPI_Abort MPI_Pcontrol MPI_Comm_set_name MPI_Type_free
    MPI_Wait MPI_Waitall MPI_Waitany MPI_Waitsome MPI_Test MPI_Testall MPI_Testany MPI_Testsome
    MPI_Start MPI_Startall MPI_Request_free
    """.split()
)

# What the wrappers call beside the functions themselves.
HELPERS = """
    MPI_Cartdim_get MPI_Comm_get_name MPI_Comm_group MPI_Comm_rank MPI_Comm_remote_group MPI_Comm_size
    MPI_Comm_test_inter MPI_Dist_graph_neighbors_count MPI_File_get_group MPI_Get_elements_x
    MPI_Get_library_version MPI_Graph_neighbors_count MPI_Group_free MPI_Group_rank MPI_Group_size
    MPI_Group_translate_ranks MPI_Initialized MPI_Query_thread
    MPI_Topo_test MPI_Type_get_extent_x MPI_Type_get_true_extent_x MPI_Type_size_x MPI_Win_get_group
    MPI_T_enum_get_item MPI_T_init_thread MPI_T_pvar_get_index MPI_T_pvar_get_info MPI_T_pvar_handle_alloc
    MPI_T_pvar_read MPI_T_pvar_session_create MPI_T_pvar_start
""".split()

SITE = "__builtin_return_address(0)"

HOLDERS = {"COMMUNICATOR": "communicator", "WINDOW": "window", "FILE": "file"}


def is_recorded(function: Function) -> bool:
    if function.name.startswith("MPI_T_") or function.returns != "int":
        return False
    name = function_table.bare_name(function)
    return any(
        pattern.fullmatch(name) for pattern in (function_table.MAY_WAIT, function_table.COLLECTIVE, OTHERS)
    ) or bool(_family(name))


def _family(name: str) -> list[tuple[str | None, list[str]]]:
    name = name.removesuffix("_init")
    return [(method, words.split()) for pattern, method, words in FAMILIES if re.fullmatch(pattern, name)]


def short(function: Function) -> str:
    return function.name.removeprefix("MPI_")


def _holder_lines(function: Function) -> list[str]:
    """Which communicator, window or file the call is on, and whether it ends that."""
    for parameter in function.parameters:
        holder = HOLDERS.get(parameter.kind)
        if holder is None or parameter.is_array or parameter.direction == "out":
            continue
        if "*" in parameter.text:
            lines = [f"call.on_{holder}(*{parameter.name});"]
            return lines + [f"call.forget_{holder}(*{parameter.name});"]
        return [f"call.on_{holder}({parameter.name});"]
    return []


def _after_lines(function: Function) -> list[str]:
    """What the call made, and what it received."""
    lines = []
    flag = function.find("flag")
    flag = flag if flag and flag.direction == "out" else None
    for parameter in function.parameters:
        if parameter.is_array or parameter.direction != "out" or "*" not in parameter.text:
            continue
        if parameter.kind == "REQUEST":
            persistent = ", true" if function.base_name.endswith("_init") else ""
            lines.append(f"call.made(code, {parameter.name}{persistent});")
        elif parameter.kind in HOLDERS and "idup" not in function.name.lower():
            lines.append(f"call.made_{HOLDERS[parameter.kind]}(code, {parameter.name});")
    if _status(function):
        condition = "code == MPI_SUCCESS && *flag != 0" if flag else "code == MPI_SUCCESS"
        lines.append(f"if ({condition}) call.received(status);")
    if flag:
        lines.append("if (code == MPI_SUCCESS && *flag == 0) call.unanswered();")
    return lines


def _status(function: Function) -> bool:
    """Whether it has the status of one message."""
    name = function_table.bare_name(function)
    return any(method in ("receive", "receive_matched", "probe") for method, _ in _family(name)) and bool(
        function.find("status")
    )


def _note_lines(function: Function) -> list[str]:
    """How much the call moves, and with which rank."""
    lines = []
    for method, words in _family(function_table.bare_name(function)):
        for word in words:
            if function.find(word) is None:
                raise SystemExit(f"trace_wrappers.py: {function.name} has no parameter {word}")
        if method:
            lines.append(f"call.{method}({', '.join(words)});")
    return lines


def _wrapper(forms: list[Function]) -> str:
    """What follows the name of the template that wraps these forms of a function: parameters and body."""
    function = forms[0]
    lines = ["Call call(function);", *_holder_lines(function), *_note_lines(function)]
    if ALGORITHMIC.fullmatch(function_table.bare_name(function)):
        lines.append("call.collective();")
    if _status(function):
        lines += ["MPI_Status own_status;", "status = call.status_or(status, &own_status);"]
    lines.append("call.begin();")
    own = f"(real.*own)({', '.join(parameter.name for parameter in function.parameters)})"
    after = _after_lines(function)
    if after:
        lines += [f"const int code = call.end({own});", *after, "return code;"]
    else:
        lines.append(f"return call.end({own});")
    body = "\n".join(f"  {line}" for line in lines)
    return f"({mpi_functions.common_parameters(forms)}) {{\n{body}\n}}\n"


def _wrappers(recorded: list[Function]) -> tuple[list[str], dict[str, str]]:
    """One template for all functions whose wrappers have the same text, named after the first of them; and of
    each function what stands in the table."""
    forms: dict[str, list[Function]] = {}
    for function in recorded:
        forms.setdefault(function.base_name, []).append(function)
    first: dict[str, str] = {}  # a wrapper's text -> the name of its template
    entries = {}
    for base_name, group in forms.items():
        if base_name in BY_HAND:
            entries |= {function.name: f"traced_{short(function)}" for function in group}
            continue
        template = first.setdefault(_wrapper(group), f"like_{short(group[0])}")
        for function in group:
            entries[function.name] = (
                f"{template}<Function::k{short(function)}, &Functions::{short(function)}>"
            )
    return [
        f"template <Function function, auto own>\nint {name}{text}" for text, name in first.items()
    ], entries


def _interposed(function: Function) -> str:
    if function.name == "MPI_Pcontrol":  # its further argument goes on as it came, if it came
        return (
            "int MPI_Pcontrol(const int level, ...) {\n"
            "  va_list rest;\n  va_start(rest, level);\n"
            "  const int code = functions().Pcontrol(level, va_arg(rest, void*));\n"
            "  va_end(rest);\n  return code;\n}\n"
        )
    arguments = ", ".join(parameter.name for parameter in function.parameters)
    call = f"functions({SITE}).{short(function)}({arguments})"
    return f"int {function.name}({function.parameter_text}) {{ return {call}; }}\n"


def _pointer(function: Function) -> str:
    return f"  decltype(&P{function.name}) {short(function)};\n"


def _tables(recorded: list[Function], helpers: list[Function]) -> str:
    names = wrapped(f'"{function.name}"' for function in recorded)
    helper_names = wrapped(f'"{function.name}"' for function in helpers)
    return (
        HEAD.format(title="The functions that the trace records, as pointers")
        + "#pragma once\n\n#include <mpi.h>\n\nnamespace tasuki::trace {\n\n"
        + f"inline constexpr const char* kFunctionNames[] = {{\n{names}\n}};\n"
        + f"inline constexpr const char* kHelperNames[] = {{\n{helper_names}\n}};\n\n"
        + "namespace TASUKI_TRACE_ABI {\n\n"
        + "/// In the order of kFunctionNames.\nstruct Functions {\n"
        + "".join(map(_pointer, recorded))
        + "};\n\n/// In the order of kHelperNames.\nstruct Helpers {\n"
        + "".join(map(_pointer, helpers))
        + "};\n\n}  // namespace TASUKI_TRACE_ABI\n}  // namespace tasuki::trace\n"
    )


def generate() -> dict[str, str]:
    every = sorted(mpi_functions.functions(), key=lambda function: function.name.lower())
    recorded = [function for function in every if is_recorded(function)]
    helpers = [function for function in every if function.name in HELPERS]
    numbers = wrapped(f"k{short(function)}" for function in recorded)
    templates, entries = _wrappers(recorded)
    table = "".join(f"    {entries[function.name]},\n" for function in recorded)
    interposed = "".join(map(_interposed, recorded))
    place = "trace"
    return {
        f"{place}/functions.hpp": (
            HEAD.format(title="Numbers of the functions that the trace records")
            + "#pragma once\n\n#include <cstdint>\n\nnamespace tasuki::trace {\n\n"
            + f"enum class Function : std::uint16_t {{\n{numbers}\n  kOwn,  // of the trace itself\n}};\n\n"
            + "}  // namespace tasuki::trace\n"
        ),
        f"{place}/tables.hpp": _tables(recorded, helpers),
        f"{place}/wrappers.cpp": (
            HEAD.format(title="What is called instead of MPI's functions, for one ABI")
            + '#include "trace/call.hpp"\n#include "trace/wrappers_by_hand.hpp"\n\n'
            + "namespace tasuki::trace::TASUKI_TRACE_ABI {\nnamespace {\n\n"
            + "\n".join(templates)
            + "\n}  // namespace\n\nextern const Functions kTraced;\nconst Functions kTraced = {\n"
            + table
            + "};\n\n}  // namespace tasuki::trace::TASUKI_TRACE_ABI\n"
        ),
        f"{place}/interposed.cpp": (
            HEAD.format(title="MPI's functions as a program finds them in the preloaded library")
            + '#include <cstdarg>\n\n#include "trace/interposed.hpp"\n\n'
            + 'using tasuki::trace::functions;\n\nextern "C" {\n\n'
            + interposed
            + "\n}\n"
        ),
    }
