"""Writes what Fortran programs are compiled with: mpif.h, and the sources of the modules mpi and mpi_f08.

A compiled module serves one series of one compiler, so the sources are installed, and mpifort compiles them
for each compiler that it meets. None of them has executable code: interfaces lead to the entries that
fortran_entries.py writes.

A choice buffer in mpi_f08 is TYPE(*), DIMENSION(..) of a procedure that is BIND(C), which gets the standard's
descriptor (ISO_Fortran_binding.h) from every compiler. In the module mpi it is an array of any type by the
directives that compilers have for that.
"""

from __future__ import annotations

import re

import pympistandard

from bindgen import constants, fortran_functions
from bindgen.constants import HANDLE_TYPES, Constant
from bindgen.fortran_functions import Interface, Procedure

COLUMNS = 120
STATUS_INTEGERS = {"standard": 8, "mpich": 5}

KINDS = {"MPI_ADDRESS_KIND": 8, "MPI_COUNT_KIND": 8, "MPI_INTEGER_KIND": 4, "MPI_OFFSET_KIND": 8}

# Of no use in Fortran, which has no MPI_T, or in need of another form.
LEFT_OUT = {
    *("tool_handle", "verbosity", "bind", "scope", "pvar_class", "source_order", "cb_safety"),
    *("buffer", "ignore", "callback", "fortran_status"),
}

COMMONS = [
    ("mpipriv1", "integer", "MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE(MPI_STATUS_SIZE)"),
    ("mpipriv2", "integer", "MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1), MPI_ERRCODES_IGNORE(1)"),
    ("mpiprivc", "character*1", "MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)"),
    ("mpifcmb5", "integer", "MPI_UNWEIGHTED(1)"),
    ("mpifcmb9", "integer", "MPI_WEIGHTS_EMPTY(1)"),
    ("mpifcmba", "integer", "MPI_BUFFER_AUTOMATIC"),
]

F08_SENTINELS = [
    ("integer", "MPI_BOTTOM", ""),
    ("integer", "MPI_IN_PLACE", ""),
    ("integer", "MPI_BUFFER_AUTOMATIC", ""),
    ("type(MPI_Status)", "MPI_STATUS_IGNORE", "_OBJ"),
    ("type(MPI_Status)", "MPI_STATUSES_IGNORE(1)", "_OBJ"),
    ("integer", "MPI_ERRCODES_IGNORE(1)", ""),
    ("integer", "MPI_UNWEIGHTED(1)", ""),
    ("integer", "MPI_WEIGHTS_EMPTY(1)", ""),
    ("character(1)", "MPI_ARGV_NULL(1)", ""),
    ("character(1)", "MPI_ARGVS_NULL(1,1)", ""),
]

# Procedures that a program passes to MPI, and the interface that each has.
PREDEFINED = {
    **{f"MPI_{kind}_DUP_FN": f"mpi_{kind.lower()}_copy_attr_function" for kind in ("COMM", "TYPE", "WIN")},
    **{
        f"MPI_{kind}_NULL_COPY_FN": f"mpi_{kind.lower()}_copy_attr_function"
        for kind in ("COMM", "TYPE", "WIN")
    },
    **{
        f"MPI_{kind}_NULL_DELETE_FN": f"mpi_{kind.lower()}_delete_attr_function"
        for kind in ("COMM", "TYPE", "WIN")
    },
    "MPI_CONVERSION_FN_NULL": "mpi_datarep_conversion_function",
}
OLD_PREDEFINED = ("MPI_DUP_FN", "MPI_NULL_COPY_FN", "MPI_NULL_DELETE_FN")

# Both forms have the same kinds of arguments where a count has as many bytes as an address.
AMBIGUOUS_LARGE = {
    "MPI_Type_get_extent",
    "MPI_Type_get_true_extent",
    "MPI_Type_create_resized",
    "MPI_File_get_type_extent",
}
# Programs name the large form of these themselves (MPI 5.0, 19.2).
NAMED_LARGE = {"MPI_Op_create", "MPI_Register_datarep"}


def _wrapped(line: str) -> str:
    """A statement in free form, continued over as many lines as it needs."""
    indent = len(line) - len(line.lstrip())
    lines = []
    while len(line) > COLUMNS:
        cut = line.rfind(" ", indent + 8, COLUMNS - 2)
        lines.append(f"{line[:cut]} &")
        line = " " * (indent + 4) + line[cut + 1 :]
    return "\n".join([*lines, line])


def value_text(constant: Constant, abi: str) -> str:
    value = constant.value(abi)
    if constant.category == "string_length":
        value -= 1  # Fortran's have no final byte
    if constant.category == "keyval" and abi == "mpich" and constant.name != "MPI_KEYVAL_INVALID":
        value += 1
    if value >= 1 << 31:
        value -= 1 << 32
    return "(-2147483647-1)" if value == -(1 << 31) else str(value)


def shared_constants(abi: str) -> list[Constant]:
    """Those of one value in all interfaces or, with handles, of one value and two types."""
    return [
        constant
        for constant in constants.load()
        if constant.category not in LEFT_OUT
        and not constant.name.startswith("MPI_T_")
        and isinstance(constant.value(abi), int)
    ]


def integers(abi: str) -> list[tuple[str, str, str]]:
    """(type, name, value) of the constants that are the same in all interfaces."""
    rows = [("integer", name, str(value)) for name, value in KINDS.items()]
    base = {"standard": (1, 2, 3), "mpich": (3, 4, 5)}[abi]
    rows += [
        ("integer", name, str(value))
        for name, value in zip(("MPI_SOURCE", "MPI_TAG", "MPI_ERROR"), base, strict=True)
    ]
    rows.append(("integer", "MPI_STATUS_SIZE", str(STATUS_INTEGERS[abi])))
    for constant in shared_constants(abi):
        if constant.category in HANDLE_TYPES:
            continue
        kind = "integer(MPI_OFFSET_KIND)" if constant.category == "displacement" else "integer"
        rows.append((kind, constant.name, value_text(constant, abi)))
    return rows


def handles(abi: str) -> list[Constant]:
    return [constant for constant in shared_constants(abi) if constant.category in HANDLE_TYPES]


# Programs with mpif.h may be compiled with wider INTEGERs, LOGICALs and REALs (-fdefault-integer-8 …).
# Then these datatypes are others; MPI_DATATYPE_NULL, which calls refuse, where MPI has none: (which, wider).
WIDE = {"integer": "kind(0)/8", "logical": "kind(.true.)/8", "real": "kind(0.0)/8", "double": "kind(0d0)/16"}
WIDER = {
    "MPI_INTEGER": ("integer", "MPI_INTEGER8"),
    "MPI_2INTEGER": ("integer", "MPI_DATATYPE_NULL"),
    "MPI_LOGICAL": ("logical", "MPI_LOGICAL8"),
    "MPI_REAL": ("real", "MPI_REAL8"),
    "MPI_COMPLEX": ("real", "MPI_COMPLEX16"),
    "MPI_2REAL": ("real", "MPI_2DOUBLE_PRECISION"),
    "MPI_DOUBLE_PRECISION": ("double", "MPI_REAL16"),
    "MPI_DOUBLE_COMPLEX": ("double", "MPI_COMPLEX32"),
    "MPI_2DOUBLE_PRECISION": ("double", "MPI_DATATYPE_NULL"),
}

# ----- mpif.h ---------------------------------------------------------------------------------------------


def mpif(abi: str) -> str:
    """Valid in fixed and in free form: statements from column 7, none beyond column 72."""
    lines = [
        "! mpif.h: MPI for Fortran programs that include it: generated by bindgen; do not edit.",
        "! Use the module mpi_f08, or mpi, in new programs: they check arguments. Fixed and free form.",
    ]

    def parameter(kind: str, name: str, value: str) -> None:
        lines.append(f"      {kind} {name}")
        lines.append(f"      parameter ({name}={value})")

    for kind, name, value in integers(abi):
        parameter(kind.replace("(MPI_OFFSET_KIND)", "*8"), name, value)
    for name, test in WIDE.items():
        parameter("integer", f"mpiw_{name[0]}", test)
    values = {constant.name: value_text(constant, abi) for constant in handles(abi)}
    for name, value in values.items():
        which, wider = WIDER.get(name, ("", ""))
        more = f"+mpiw_{which[:1]}*({int(values[wider]) - int(value)})" if which else ""
        parameter("integer", name, value + more)
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        parameter("logical", name, ".false.")
    for block, kind, names in COMMONS:
        for name in re.split(r", (?=MPI)", names):
            lines.append(f"      {kind} {name}")
        for name in re.split(r", (?=MPI)", re.sub(r"\([^)]*\)", "", names)):
            lines.append(f"      common /{block}/ {name}")
        lines.append(f"      save /{block}/")
    for name in ("MPI_WTIME", "MPI_WTICK", "PMPI_WTIME", "PMPI_WTICK"):
        lines.append(f"      double precision {name}")
        lines.append(f"      external {name}")
    for name in ("MPI_AINT_ADD", "MPI_AINT_DIFF", "PMPI_AINT_ADD", "PMPI_AINT_DIFF"):
        lines.append(f"      integer*8 {name}")
        lines.append(f"      external {name}")
    lines += [f"      external {name}" for name in (*PREDEFINED, *OLD_PREDEFINED)]
    return "\n".join(lines) + "\n"


# ----- the modules ----------------------------------------------------------------------------------------


def _head(what: str) -> list[str]:
    return [f"! {what}: generated by bindgen; do not edit."]


def types_module(abi: str) -> str:
    """What mpi and mpi_f08 have in common, so that a type is the same in both."""
    lines = [*_head("The types and constants of the modules mpi and mpi_f08"), "module tasuki_mpi_types"]
    lines += ["  use, intrinsic :: iso_c_binding, only: c_int", "  implicit none", "  private :: c_int", ""]
    lines += [f"  {kind}, parameter :: {name} = {value}" for kind, name, value in integers(abi)]
    for handle_type in HANDLE_TYPES.values():
        lines += ["", f"  type, bind(C) :: {handle_type}", "    integer(c_int) :: MPI_VAL", "  end type"]
    fields = {
        "standard": ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal(5)"),
        "mpich": ("MPI_internal(2)", "MPI_SOURCE", "MPI_TAG", "MPI_ERROR"),
    }[abi]
    lines += ["", "  type, bind(C) :: MPI_Status"]
    lines += [f"    integer(c_int) :: {field}" for field in fields]
    lines += ["  end type", ""]
    for operator, name in (("==", "eq"), ("/=", "ne")):
        lines.append(f"  interface operator({operator})")
        for category, handle_type in HANDLE_TYPES.items():
            procedure = f"tasuki_{category}_{name}"
            lines += [
                f"    pure logical function {procedure}(a, b)",
                f"      import :: {handle_type}",
                f"      type({handle_type}), intent(in) :: a, b",
                "    end function",
            ]
        lines.append("  end interface")
    lines += ["end module tasuki_mpi_types", ""]
    lines += ["module tasuki_mpi_handles  ! of mpi", "  implicit none"]
    for constant in handles(abi):
        lines.append(f"  integer, parameter :: {constant.name} = {value_text(constant, abi)}")
    lines += ["end module tasuki_mpi_handles", ""]
    lines += ["module tasuki_mpi_f08_handles  ! of mpi_f08", "  use tasuki_mpi_types", "  implicit none"]
    for constant in handles(abi):
        kind = HANDLE_TYPES[constant.category]
        lines.append(f"  type({kind}), parameter :: {constant.name} = {kind}({value_text(constant, abi)})")
    lines += ["end module tasuki_mpi_f08_handles", ""]
    return "\n".join(lines)


def _declarations(interface: Interface, indent: str, is_f90: bool) -> list[str]:
    lines = []
    for parameter in interface.parameters:
        if parameter.descriptor == "<type>":
            is_scalar = "(" not in parameter.text
            text = parameter.name if is_scalar else parameter.text
            lines += [
                f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {parameter.name}",
                f"!DEC$ ATTRIBUTES NO_ARG_CHECK :: {parameter.name}",
                f"!DIR$ IGNORE_TKR {parameter.name}",
                f"{indent}integer :: {text if not is_scalar else parameter.name + '(*)'}",
            ]
        elif parameter.descriptor == "EXTERNAL":
            lines.append(f"{indent}external :: {parameter.name}")
        else:
            kind = parameter.descriptor.replace("CHARACTER*(*)", "character(*)")
            lines.append(f"{indent}{_lower_words(kind)} :: {parameter.text}")
    return lines


def _lower_words(text: str) -> str:
    """Fortran's own words in lower case; names of MPI stay."""
    return re.sub(r"\b(?!MPI_)[A-Z][A-Z_]*\b", lambda match: match.group(0).lower(), text)


def _procedure(
    interface: Interface, name: str, bind: str | None, indent: str = "    ", is_f90: bool = False
) -> list[str]:
    """One interface body."""
    arguments = ", ".join(parameter.name for parameter in interface.parameters)
    suffix = f' bind(C, name="{bind}")' if bind else ""
    word = "function" if interface.returns else "subroutine"
    lines = [f"{indent}{word} {name}({arguments}){suffix}"]
    text = " ".join(parameter.descriptor + parameter.text for parameter in interface.parameters)
    names = sorted(set(re.findall(r"\bMPI_\w+", text)))
    if "C_PTR" in text:
        lines.append(f"{indent}  use, intrinsic :: iso_c_binding, only: c_ptr")
    if interface.returns:
        names = sorted({*names, *re.findall(r"\bMPI_\w+", interface.returns)})
    if names:
        lines.append(f"{indent}  import :: {', '.join(names)}")
    if interface.returns:
        lines.append(f"{indent}  {_lower_words(interface.returns)} :: {name}")
    lines += _declarations(interface, indent + "  ", is_f90)
    lines.append(f"{indent}end {word}")
    return lines


def _callback(symbol, name: str) -> list[str]:
    parameters = tuple(
        fortran_functions.Declaration(p.name, p.descriptor, str(p), p._parseset["kind"])
        for p in symbol.parameters
    )
    return _procedure(Interface(name, None, parameters), name, None)


def _f08_interfaces(procedure: Procedure, prefix: str) -> list[str]:
    """The generic name, which stands for the small and the large form."""
    name = prefix + procedure.name
    bodies = []
    small, large = procedure.f08, procedure.large_f08
    suffix = "_f08ts" if small.has_buffer else "_f08"
    if small.returns:  # no generic name is needed, and no other name
        return ["  interface", *_procedure(small, name, None), "  end interface"]
    bind = f"{name.lower()}{suffix}_" if small.has_buffer else None
    bodies += _procedure(small, f"{name}{suffix}", bind)
    result = []
    if large is not None and procedure.name not in AMBIGUOUS_LARGE:
        suffix = "_c_f08ts" if large.has_buffer else "_c_f08"
        bind = f"{name.lower()}{suffix}_" if large.has_buffer else None
        body = _procedure(large, f"{name}{suffix}", bind)
        if procedure.name in NAMED_LARGE:
            result = [f"  interface {name}_c", *body, "  end interface"]
        else:
            bodies += body
    return [f"  interface {name}", *bodies, "  end interface", *result]


def f08_module() -> str:
    lines = [*_head("MPI for Fortran 2008 with TS 29113"), "module mpi_f08", "  use tasuki_mpi_f08_handles"]
    lines += ["  use, intrinsic :: iso_c_binding, only: c_ptr", "  implicit none", "  private :: c_ptr", ""]
    lines.append("  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.")
    lines.append("  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.")
    for kind, name, suffix in F08_SENTINELS:
        symbol = f"MPIR_F08_{re.sub(r'[(].*', '', name)}{suffix}"
        lines.append(f'  {kind}, bind(C, name="{symbol}"), protected, target :: {name}')
    lines += ["", "  abstract interface"]
    for symbol in pympistandard.CALLBACKS.values():
        if symbol.express.f08 is None:
            continue
        lines += _callback(symbol.express.f08, symbol.express.f08.name)
        large = symbol.express.embiggen.f08
        if large is not None:
            lines += _callback(large, large.name)
    lines += ["  end interface", "", "  interface"]
    for name, callback in PREDEFINED.items():
        lines += _callback(pympistandard.CALLBACKS[callback].express.f08, name)
    large = pympistandard.CALLBACKS["mpi_datarep_conversion_function"].express.embiggen.f08
    lines += [*_callback(large, "MPI_CONVERSION_FN_NULL_C"), "  end interface"]
    for prefix in ("", "P"):
        for procedure in fortran_functions.procedures():
            if procedure.f08 is not None:
                lines += ["", *_f08_interfaces(procedure, prefix)]
    lines += ["end module mpi_f08", ""]
    return "\n".join(_wrapped(line) for line in lines)


def f90_module() -> str:
    lines = [*_head("MPI for Fortran 90 and later"), "module mpi", "  use tasuki_mpi_types"]
    lines.append("  use tasuki_mpi_handles")
    lines += ["  use, intrinsic :: iso_c_binding, only: c_ptr", "  implicit none", "  private :: c_ptr", ""]
    lines.append("  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.")
    lines.append("  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.")
    for block, kind, names in COMMONS:
        kind = kind.replace("character*1", "character(1)")
        lines.append(f"  {kind}, target :: {names}")
        lines.append(f"  common /{block}/ {re.sub(r'[(][^)]*[)]', '', names)}")
        lines.append(f"  save /{block}/")
    lines.append("")
    lines += [f"  external :: {name}" for name in (*PREDEFINED, *OLD_PREDEFINED)]
    for prefix in ("", "P"):
        for procedure in fortran_functions.procedures():
            interface = procedure.f90
            if interface is None:
                continue
            name = prefix + procedure.name
            lines.append("")
            if procedure.name == "MPI_Sizeof":
                f08 = procedure.f08
                bind = f"{name.lower()}_f08ts_"
                lines += [f"  interface {name}", *_procedure(f08, f"{name}_f08ts", bind), "  end interface"]
            elif procedure.name in fortran_functions.CPTR_OVERLOADS:
                cptr = Interface(
                    interface.name,
                    interface.returns,
                    tuple(
                        fortran_functions.Declaration(p.name, "type(C_PTR)", p.text, p.kind)
                        if p.name == "baseptr"
                        else p
                        for p in interface.parameters
                    ),
                )
                lines += [f"  interface {name}", *_procedure(interface, name, None, is_f90=True)]
                lines += [*_procedure(cptr, f"{name}_cptr", None, is_f90=True), "  end interface"]
            else:
                lines += ["  interface", *_procedure(interface, name, None, is_f90=True), "  end interface"]
    lines += ["end module mpi", ""]
    return "\n".join(_wrapped(line) for line in lines)


def generate() -> dict[str, str]:
    fortran_functions.procedures()  # reads the standard
    folder = "fortran/modules"
    files = {f"{folder}/mpi.f90": f90_module(), f"{folder}/mpi_f08.f90": f08_module()}
    for abi in constants.ABIS:
        files[f"{folder}/{abi}/mpif.inc"] = mpif(abi)
        files[f"{folder}/{abi}/tasuki_mpi_types.f90"] = types_module(abi)
    return files
