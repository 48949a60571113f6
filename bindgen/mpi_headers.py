"""Writes the two mpi.h: include/mpi.h (MPI-5.0 standard ABI) and the generated one (MPICH ABI)."""

from __future__ import annotations

from bindgen import constants as spec
from bindgen import mpi_functions

TITLES = {
    "version": "Versions",
    "comm": "Communicators",
    "group": "Groups",
    "datatype": "Datatypes",
    "op": "Reduction operations",
    "request": "Requests",
    "message": "Matched messages",
    "errhandler": "Error handlers",
    "info": "Info objects",
    "session": "Sessions",
    "win": "Windows",
    "file": "Files",
    "error_class": "Error classes",
    "buffer": "Buffer addresses",
    "ignore": "Arguments that are left out",
    "rank": "Ranks",
    "tag": "Tags",
    "undefined": "No value",
    "bytes": "Bytes that a buffered message needs beside its data",
    "string_length": "Lengths of strings, with the final NUL",
    "thread_level": "Thread levels",
    "comparison": "Results of comparisons",
    "topology": "Topologies",
    "split_type": "Split types",
    "combiner": "Combiners",
    "order": "Array orders",
    "distribution": "Array distributions",
    "darg": "The default distribution argument",
    "typeclass": "Type classes",
    "keyval": "Attribute keys",
    "lock_type": "Lock types",
    "win_flavor": "Window flavours",
    "win_model": "Window memory models",
    "win_assert": "Assertions of synchronisation calls",
    "file_mode": "File access modes",
    "seek": "File positions",
    "displacement": "File displacement",
    "fortran_status": "A Fortran status as an array of MPI_Fint",
    "callback": "Predefined user functions",
    "tool_handle": "Tool information interface",
    "verbosity": "",
    "bind": "",
    "scope": "",
    "pvar_class": "",
}

STANDARD_TYPES = """\
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

typedef struct {
  MPI_Fint MPI_SOURCE;
  MPI_Fint MPI_TAG;
  MPI_Fint MPI_ERROR;
  MPI_Fint MPI_internal[5];
} MPI_F08_status;
"""

MPICH_TYPES = """\
typedef long MPI_Aint;
typedef long long MPI_Offset;
typedef long long MPI_Count;
typedef int MPI_Fint;

typedef struct MPI_Status {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
} MPI_Status;

typedef struct {
  MPI_Fint count_lo;
  MPI_Fint count_hi_and_cancelled;
  MPI_Fint MPI_SOURCE;
  MPI_Fint MPI_TAG;
  MPI_Fint MPI_ERROR;
} MPI_F08_status;
"""

MPICH_SYMBOLS = """\
/* Constants that are variables or functions of the library. */
extern int* const MPI_UNWEIGHTED;
extern int* const MPI_WEIGHTS_EMPTY;
extern MPI_Fint* MPI_F_STATUS_IGNORE;
extern MPI_Fint* MPI_F_STATUSES_IGNORE;
extern MPI_F08_status* MPI_F08_STATUS_IGNORE;
extern MPI_F08_status* MPI_F08_STATUSES_IGNORE;
extern struct MPIR_T_pvar_handle_s* const MPI_T_PVAR_ALL_HANDLES;
int MPIR_Dup_fn(MPI_Comm oldcomm, int keyval, void* extra_state, void* attribute_val_in,
                void* attribute_val_out, int* flag);
"""

TOOL_TYPES = ("enum", "cvar_handle", "pvar_handle", "pvar_session", "event_registration", "event_instance")

OPENING = {
    "standard": """\
/* mpi.h: the MPI-5.0 standard ABI (MPI 5.0, chapter 20), as Tasuki offers it.
 *
 * A program compiled with this header needs libmpi_abi.so.1 of any MPI that has this ABI. The conversions to
 * and from Fortran handles (MPI_*_c2f, MPI_*_f2c and the Fortran forms of a status) are outside the standard
 * ABI: use MPI_*_toint and MPI_*_fromint where the program shall run on other libraries too.
 */
""",
    "mpich": """\
/* mpi.h of the MPICH ABI, as Tasuki offers it: libmpi.so.12.
 *
 * For building Tasuki's own libmpi.so.12, and for programs that must be linked against that library. New
 * programs use the standard ABI.
 */
""",
}


# How the successor of a removed function is called where it has other arguments.
REMOVED_BODIES = {
    "MPI_Type_extent": "MPI_Aint lb; return MPI_Type_get_extent(datatype, &lb, extent);",
    "MPI_Type_lb": "MPI_Aint extent; return MPI_Type_get_extent(datatype, displacement, &extent);",
    "MPI_Type_ub": "MPI_Aint lb, extent; const int code = MPI_Type_get_extent(datatype, &lb, &extent); "
    "if (code == MPI_SUCCESS) *displacement = lb + extent; return code;",
}


def _removed_functions() -> list[str]:
    """Not in the standard ABI: the header has them where they are asked for, else it tells what there is."""

    def body(function: mpi_functions.Function) -> str:
        names = ", ".join(parameter.name.removesuffix("[]") for parameter in function.parameters)
        names = names.replace("*", "")
        return REMOVED_BODIES.get(function.name, f"return {function.instead}({names});")

    removed = mpi_functions.removed()
    return [
        "/* What MPI 3.0 removed: -DTASUKI_REMOVED_FUNCTIONS gives it back; without, a call is an error that",
        " * names its successor (gcc, and clang from 14 on). */",
        "#ifdef TASUKI_REMOVED_FUNCTIONS",
        "typedef MPI_Comm_errhandler_function MPI_Handler_function;",
        *(
            f"static inline int {function.name}({function.parameter_text}) {{ {body(function)} }}"
            for function in removed
        ),
        "#elif defined(__has_attribute)",
        "#if __has_attribute(error)",
        "#define TASUKI_REMOVED(name, successor) __attribute__((error( \\",
        '    "MPI 3.0 removed " name ": call " successor ", or compile with -DTASUKI_REMOVED_FUNCTIONS")))',
        *(
            f'TASUKI_REMOVED("{function.name}", "{function.instead}") {function.declaration()}'
            for function in removed
        ),
        "#undef TASUKI_REMOVED",
        "#endif",
        "#endif",
        "",
    ]


def _value(constant: spec.Constant, abi: str) -> str:
    value = constant.value(abi)
    if isinstance(value, str):
        return f"(({constant.type}){value})" if constant.category == "callback" else value
    if constant.category in spec.HANDLE_TYPES or constant.category in (
        "buffer",
        "ignore",
        "callback",
        "tool_handle",
    ):
        if abi == "mpich" and constant.category in spec.HANDLE_TYPES:
            return f"(({constant.type})0x{value:08x})"
        return f"(({constant.type}){value})"
    if constant.category == "displacement":
        return f"((MPI_Offset)({value}))"
    if constant.category == "keyval" and abi == "mpich":
        return f"0x{value:08x}"
    return f"({value})" if value < 0 else str(value)


def _defines(rows: list[spec.Constant], abi: str) -> list[str]:
    lines = []
    for constant in rows:
        value = constant.value(abi)
        if value is None or value == constant.name:  # not in this ABI, or an exported variable
            continue
        lines.append(f"#define {constant.name} {_value(constant, abi)}")
    return lines


def _enum(rows: list[spec.Constant], abi: str, name: str) -> list[str]:
    body = [f"  {constant.name} = {constant.value(abi)}," for constant in rows]
    body[-1] = body[-1].rstrip(",")  # C++98 has no comma there
    return [f"typedef enum {name} {{", *body, f"}} {name};"]


def _handle_typedef(kind: str, abi: str) -> str:
    handle = spec.HANDLE_TYPES[kind]
    if abi == "standard":
        return f"typedef struct MPI_ABI_{handle.removeprefix('MPI_')}* {handle};"
    if kind == "file":
        return "typedef struct ADIOI_FileD* MPI_File;"
    return f"typedef int {handle};"


def _tool_typedef(name: str, abi: str) -> str:
    tag = f"MPIR_T_{name}_s" if abi == "mpich" else f"MPI_T_{name}_t"
    return f"typedef struct {tag}* MPI_T_{name};"


def _callback_typedefs(abi: str) -> list[str]:
    lines = [f"typedef {callback.declaration()}" for callback in mpi_functions.callbacks()]
    for kind in ("Comm", "File", "Session", "Win"):
        lines.append(f"typedef MPI_{kind}_errhandler_function MPI_{kind}_errhandler_fn;")
    if abi == "mpich":
        lines.append("typedef MPI_Comm_errhandler_function MPI_Handler_function;")
    return lines


def generate(abi: str) -> str:
    categories = spec.by_category(spec.load())
    guard = "MPI_H_ABI" if abi == "standard" else "MPI_INCLUDED"
    out = [
        OPENING[abi] + "/* Generated by bindgen; do not edit. */",
        "/* clang-format off */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "#ifdef __GNUC__",
        "#pragma GCC visibility push(default)",
        "#endif",
        "",
        *_defines(categories["version"], abi),
        "",
        *[_handle_typedef(kind, abi) for kind in spec.HANDLE_TYPES],
        "",
        STANDARD_TYPES if abi == "standard" else MPICH_TYPES,
        *[_tool_typedef(name, abi) for name in TOOL_TYPES],
        "",
        *_enum(categories["cb_safety"], abi, "MPI_T_cb_safety"),
        *_enum(categories["source_order"], abi, "MPI_T_source_order"),
        "",
        "/* User functions */",
        *_callback_typedefs(abi),
        "",
    ]
    if abi == "mpich":
        out.append(MPICH_SYMBOLS)
    for category, title in TITLES.items():
        if category == "version":
            continue
        if title:
            out.append(f"/* {title} */")
        out += [*_defines(categories[category], abi), ""]
    functions = mpi_functions.functions() + (mpi_functions.removed() if abi == "mpich" else [])
    out.append("/* Functions */")
    out += [function.declaration() for function in functions]
    out += ["", "/* The profiling interface: the same functions */"]
    out += [function.declaration("P") for function in functions]
    out.append("")
    if abi == "standard":
        out += _removed_functions()
    out += [
        "#ifdef __GNUC__",
        "#pragma GCC visibility pop",
        "#endif",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    missing = set(categories) - set(TITLES) - {"cb_safety", "source_order"}
    if missing:
        raise SystemExit(f"mpi_headers.py: no section for {', '.join(sorted(missing))}")
    return "\n".join(out) + "\n"
