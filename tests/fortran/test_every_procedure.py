"""Every procedure of MPI, called from Fortran in its three interfaces, with what it gives looked at.

The program, programs/every.F90, is one text: for mpif.h, `mpi`, `mpi_f08`, and once more for mpi_f08's large
counts, there without `ierror`; in both forms of mpi_f08 also with buffers that are sections of arrays, which
run backwards and have gaps. The names that a compiled program leaves to the linker say which procedures it
calls: all of the standard's, or the test fails. And what programs are compiled with is held, declaration by
declaration, to the standard's machine-readable form.
"""

import re
import subprocess

import harness
import pympistandard
import pytest
from conftest import COMPILERS, INTERFACES, flags_of

from bindgen import fortran_entries, fortran_functions, fortran_modules

PROCEDURES = fortran_functions.procedures()
MODULES = harness.PREFIX / "share/tasuki/modules"
FORMS = {
    **INTERFACES,
    "large sections": ["-DUSE_F08", "-DLARGE", "-DSECTIONS"],
    "large": ["-DUSE_F08", "-DLARGE"],
    "f08 sections": ["-DUSE_F08", "-DSECTIONS"],
}
QUICK = (*INTERFACES, "large sections")
GOOD = "all is well"

# Of these the module mpi has a second form, with a TYPE(C_PTR); mpif.h has no types for the others.
CPTR = {f"{name.lower()}_cptr_" for name in fortran_functions.CPTR_OVERLOADS}
NEED_TYPES = {"MPI_Status_f2f08", "MPI_Status_f082f", "MPI_Sizeof"}


def flags(compiler, form):
    long_lines = ["-ffree-line-length-none"] if compiler == "gfortran" else []
    return [*(flags_of(compiler, form) if form in INTERFACES else FORMS[form]), *long_lines, "-w"]


# flang takes 3 s of a processor for one of the forms.
QUICK_ONES = [*(("gfortran", form) for form in QUICK), ("flang", "large sections")]


@pytest.fixture(params=[(compiler, form) for compiler in COMPILERS for form in FORMS], ids=" ".join)
def program(request, build):
    compiler, form = request.param
    if request.param not in QUICK_ONES and not harness.LONG:
        pytest.skip("make test-long runs it")
    return form, build(compiler, "every.F90", *flags(compiler, form))


@pytest.mark.parametrize("ranks", [1, 2] if not harness.LONG else [1, 2, 3, 4])
def test_every_procedure_gives_what_it_should(program, mpiexec, ranks, tmp_path):
    done = mpiexec("-n", ranks, program[1], environment={"TEST_FILE": tmp_path / "file"})
    assert done.returncode == 0 and done.stdout.strip() == GOOD and done.stderr == "", done.text


def test_the_end_by_abort(program, mpiexec):
    done = mpiexec("-n", 1, program[1], environment={"TEST_END": "abort"})
    where = harness.place("every.F90")
    assert done.returncode == 7 and re.search(f"MPI_Abort .*; called at {where}", done.stderr), done.text


def wanted(form):
    """The names by which a program of that form calls the standard's procedures."""
    if form in ("mpi", "mpif.h"):
        names = {f"{p.name.lower()}_" for p in PROCEDURES if p.f90 and p.name != "MPI_Sizeof"}
        if form == "mpif.h":
            return names - {f"{name.lower()}_" for name in NEED_TYPES}
        return names | CPTR | {"mpi_sizeof_f08ts_"}
    names = set()
    for procedure in PROCEDURES:
        is_large = "large" in form and procedure.large_f08
        is_large = is_large and procedure.name not in fortran_modules.AMBIGUOUS_LARGE
        interface = procedure.large_f08 if is_large else procedure.f08
        if interface is None:
            continue
        ts = "_f08ts" if interface.has_buffer else "_f08"
        ts = "" if interface.returns else ts
        names.add(f"{procedure.name.lower()}{'_c' if is_large else ''}{ts}_")
    return names


def test_it_calls_every_procedure(program):
    form, path = program
    command = ["nm", "-D", "--undefined-only", path]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    called = {line.split()[-1] for line in lines}
    assert wanted(form) - called == set(), "nobody calls these"


# ----- argument order and kinds -----------------------------------------------------------------------------


def plain(text):
    return re.sub(r"\s+", "", text).lower().replace("character*(*)", "character(len=*)").replace("len=", "")


def names_and_kinds(text, separator):
    """A declaration of Fortran -> [(argument, its kind)], in the order of the arguments."""
    lines = [line.strip() for line in text.strip().splitlines()]
    names = [
        name.strip()
        for name in re.search(r"\(([^()]*)\)$", lines[0]).group(1).lower().split(",")
        if name.strip()
    ]
    kinds = {}
    for line in lines[1:]:
        if separator == "::" and "::" in line:
            kind, rest = line.split("::")
        else:
            kind, rest = re.match(r"(\w+\*?\((?:[^()]|\([^()]*\))*\)|<?\w+(?: \w+)?>?)\s+(.*)", line).groups()
        for name in re.findall(r"(\w+)(?:\([^)]*\))?(?:,|$)", rest.lower().replace(" ", "")):
            kinds[name] = plain(kind)
    return [(name, kinds[name]) for name in names]


def generated(module):
    """The interfaces of a module: name -> text."""
    text = re.sub(r"&\n\s*", "", (MODULES / module).read_text())
    text = "\n".join(line for line in text.splitlines() if not re.match(r"\s*(!|import|use)", line))
    found = re.findall(
        r"^ +(?:subroutine|function) (\w+)(\(.*?)\n +end (?:subroutine|function)", text, re.S | re.M
    )
    return {name: re.sub(r" bind\(C.*", "", "x" + body) for name, body in found}


def standard(name):
    return pympistandard.PROCEDURES[name.lower()].express


@pytest.mark.parametrize("prefix", ["", "P"])
def test_the_interfaces_of_mpi_f08_are_the_standard_s(prefix):
    interfaces = generated("mpi_f08.f90")
    compared = 0
    for procedure in PROCEDURES:
        for interface, suffix in ((procedure.f08, ""), (procedure.large_f08, "_c")):
            if interface is None or suffix and procedure.name in fortran_modules.AMBIGUOUS_LARGE:
                continue
            form = standard(procedure.name)
            form = form.embiggen.f08 if suffix else form.f08
            ts = "" if interface.returns else "_f08ts" if interface.has_buffer else "_f08"
            ours = names_and_kinds(interfaces[f"{prefix}{procedure.name}{suffix}{ts}"], "::")
            assert ours[: len(form.parameters)] == names_and_kinds(str(form), "::"), procedure.name
            compared += 1
    assert compared == 429 + 159 - len(fortran_modules.AMBIGUOUS_LARGE)


def test_the_interfaces_of_mpi_are_the_standard_s():
    interfaces = generated("mpi.f90")
    for procedure in PROCEDURES:
        if procedure.f90 is None or procedure.name == "MPI_Sizeof":
            continue
        ours = names_and_kinds(interfaces[procedure.name], "::")
        theirs = names_and_kinds(str(standard(procedure.name).f90), " ")
        assert [name for name, _ in ours] == [name for name, _ in theirs], procedure.name
        for (name, our), (_, their) in zip(ours, theirs, strict=True):
            assert our == their or their == "<type>" or their == "external", (
                procedure.name,
                name,
                our,
                their,
            )


# What an entry of ours takes by reference, by Fortran's kind of the argument.
C_TYPES = [
    (r"type\(\*\).*|<type>", {"void", "void*", "Descriptor"}),
    (
        r"integer\(kind=mpi_(\w+)_kind\).*",
        {"address": "MPI_Aint", "count": "MPI_Count", "offset": "MPI_Offset"},
    ),
    (r"character.*", {"char", "Descriptor"}),
    (r"type\(mpi_status\).*", {"MPI_Status"}),
    (r"type\(c_ptr\).*", {"void", "void*"}),
    (r"external|procedure.*", None),
    (r".*", {"Fint", "int", "void", "MPI_Status"}),
]


def entries():
    """Every entry in C++: its name -> [(parameter, its type)], without the lengths of strings. A parameter of
    what is written by hand has no name here: it is free to have another than the standard's."""
    found = {}
    for file, text in sorted(fortran_entries.generate().items()):
        for name, parameters in re.findall(r'^extern "C" \w+ (mpi_\w+)\((.*?)\) \{', text, re.M):
            one = found.setdefault(name, [])
            for text in parameters.split(", ") if parameters else []:
                text = re.sub(r"\[.*|\bconst\b", "", text).strip()
                kind, parameter = re.match(r"(.*?)\*?\s*(\w+)$", text).groups()
                if kind.strip() != "std::size_t":
                    one.append(("" if file.endswith("by_hand.cpp") else parameter, kind.strip()))
    return found


# Entries that are written out, or are aliases of others.
NO_TEMPLATE = {"mpi_sizeof_", "mpi_sizeof_f08ts_", "mpi_f_sync_reg_", "mpi_f_sync_reg_f08ts_"}


def entry_takes(kind, c_type):
    for pattern, types in C_TYPES:
        if match := re.fullmatch(pattern, kind):
            if isinstance(types, dict):
                return c_type in (types[match.group(1)], "void")
            return types is None or c_type in types
    return False


def test_the_entries_take_the_standard_s_arguments():
    """mpif.h's, and those of mpi_f08 with choice buffers or large counts: number, order and kinds."""
    there = entries()
    forms = [(f"{p.name.lower()}_", standard(p.name).f90, " ") for p in PROCEDURES if p.f90]
    for procedure in PROCEDURES:
        name = procedure.name.lower()
        if procedure.f08 and procedure.f08.has_buffer:
            forms.append((f"{name}_f08ts_", standard(name).f08, "::"))
        if procedure.large_f08:
            suffix = "_c_f08ts_" if procedure.large_f08.has_buffer else "_c_"
            forms.append((f"{name}{suffix}", standard(name).embiggen.f08, "::"))
    without = set()
    for name, form, separator in forms:
        name = name if name in there else f"{name}f08_"  # those that hand back a buffer have an own one
        if name not in there:
            without.add(name.removesuffix("f08_"))
            continue
        theirs = names_and_kinds(str(form), separator)
        ours = there[name]
        assert len(ours) == len(theirs), name
        for (parameter, c_type), (argument, kind) in zip(ours, theirs, strict=True):
            assert entry_takes(kind, c_type), (name, argument, kind, c_type)
            assert parameter in ("", argument, {"index": "indx"}.get(argument)), (name, argument)
    assert without == NO_TEMPLATE
