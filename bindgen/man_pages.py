"""Writes the manual pages of all functions, one after the other, into man/functions.man.

When that is installed each page becomes a file (cmake/man-pages.awk); it begins with a line that names it.
The form without _c has the page, the one with it leads there. Signatures and what parameters mean come from
the standard, what is checked from the entries (call_checks.py), summaries from spec/summaries.txt.
"""

from __future__ import annotations

import re
import textwrap

import pympistandard

from bindgen import call_checks, entries, entry_body, fortran_functions, mpi_functions
from bindgen.constants import SPEC
from bindgen.fortran_functions import Interface, Procedure
from bindgen.mpi_functions import Function, Parameter
from bindgen.roff import flowing, roff

FILE = "man/functions.man"
COLUMNS = 72
DATE = "June 5, 2025"  # of MPI 5.0

# What else there is to read, by chapter: pages of docs/, and functions.
ABOUT = {
    "p2p": ("protocols.md", "how messages travel, and how to choose"),
    "coll": ("collectives.md", "the algorithms of collectives, and how to choose"),
    "io": ("io.md", "files: hints, and how collective accesses go"),
    "rma": ("design/windows.md", "windows"),
    "datatype": ("protocols.md", "how strided data travels"),
    "tool": ("variables.md", "the variables and counters there are"),
    "process": ("launchers.md", "who starts jobs"),
}
# The families whose summary follows from another function's.
NUMBERS = {
    "toint": "get the integer of a handle",
    "fromint": "get the handle of an integer",
    "c2f": "get the Fortran handle of one in C",
    "f2c": "get the C handle of one in Fortran",
    "c2f08": "convert a status of C to mpi_f08",
    "f082c": "convert a status of mpi_f08 to C",
    "f2f08": "convert a status of mpif.h to mpi_f08",
    "f082f": "convert a status of mpi_f08 to mpif.h",
}
STATUS_NUMBERS = {
    "c2f": "convert a status of C to mpif.h",
    "f2c": "convert a status of mpif.h to C",
}


def _read_summaries() -> dict[str, str]:
    lines = (SPEC / "summaries.txt").read_text().splitlines()
    return {f"MPI_{name}": text for name, text in (line.split(" ", 1) for line in lines)}


def summaries(names: set[str]) -> dict[str, str]:
    """Of every function: those that are written down, and those that follow from another one's name."""
    result = _read_summaries()
    if unknown := result.keys() - names:
        raise SystemExit(f"spec/summaries.txt: there is no {', '.join(sorted(unknown))}")
    for name in sorted(names - result.keys()):
        number = re.search(r"_(c2f08|f082c|f2f08|f082f|c2f|f2c|toint|fromint)$", name)
        rest = name.removeprefix("MPI_")
        begun = f"MPI_{rest[1:2].upper()}{rest[2:]}"
        if number:
            table = STATUS_NUMBERS if name.startswith("MPI_Status_") else {}
            result[name] = table.get(number.group(1)) or NUMBERS[number.group(1)]
        elif name.endswith("_init") and name.removesuffix("_init") in names:
            result[name] = f"make a persistent request of {name.removesuffix('_init')}"
        elif rest[0] in "IR" and begun in names:
            how = "begin" if rest[0] == "I" else "make a request of"
            result[name] = f"{how} {begun}"
        else:
            raise SystemExit(f"spec/summaries.txt: {name} is missing")
    return result


def _c_synopsis(function: Function) -> list[str]:
    line = function.declaration()
    if len(line) <= COLUMNS:
        return [line]
    head = f"{function.returns} {function.name}("
    texts = [parameter.text + "," for parameter in function.parameters]
    texts[-1] = texts[-1][:-1] + ");"
    words = textwrap.wrap(" ".join(text.replace(" ", "\0") for text in texts), COLUMNS - 4)
    return [head, *(f"    {word}".replace("\0", " ") for word in words)]


def _fortran_synopsis(interface: Interface) -> list[str]:
    names = ", ".join(parameter.name for parameter in interface.parameters)
    head = f"{interface.name}({names})"
    lines = textwrap.wrap(head, COLUMNS, subsequent_indent="    ", break_long_words=False)
    if interface.returns:
        lines[0] = f"{interface.returns} {lines[0]}"
    declared: dict[str, list[str]] = {}
    for parameter in interface.parameters:
        declared.setdefault(parameter.descriptor, []).append(parameter.text)
    for descriptor, texts in declared.items():
        text = f"{descriptor} :: {', '.join(texts)}" if descriptor[0] != "<" else f"{descriptor} {texts[0]}"
        rest = [f"{descriptor} {other}" for other in texts[1:]] if descriptor[0] == "<" else []
        for one in (text, *rest):
            indented = textwrap.wrap(one, COLUMNS - 4, subsequent_indent="    ", break_long_words=False)
            lines += [f"    {part}" for part in indented]
    return lines


def _large_fortran(procedure: Procedure) -> list[str]:
    """The declarations of the large form that differ from the small one's."""
    small = {p.name: (p.descriptor, p.text) for p in procedure.f08.parameters}
    lines = []
    for parameter in procedure.large_f08.parameters:
        if small.get(parameter.name) != (parameter.descriptor, parameter.text):
            lines.append(f"    {parameter.descriptor} :: {parameter.text}")
    return lines


def _block(title: str, lines: list[str]) -> list[str]:
    return [".PP", title, ".PP", ".nf", ".RS 4", *map(roff, lines), ".RE", ".fi"] if lines else []


def _synopsis(forms: list[Function], procedure: Procedure | None) -> list[str]:
    lines = ["#include <mpi.h>", ""]
    for form in forms:
        lines += [*_c_synopsis(form), ""]
    text = _block("C:", lines[:-1])
    if procedure and procedure.f08:
        fortran = ["use mpi_f08", "", *_fortran_synopsis(procedure.f08)]
        if procedure.large_f08 and (differing := _large_fortran(procedure)):
            fortran += ["", "! for large counts:", *differing]
        text += _block("Fortran 2008:", fortran)
    if procedure and procedure.f90:
        text += _block("Fortran with mpif.h or use mpi:", _fortran_synopsis(procedure.f90))
    return [".SH SYNOPSIS", *text[1:]]


DIRECTIONS = {"in": "in", "out": "out", "inout": "in and out"}


# Of kinds of parameters that the standard has no words for.
UNDESCRIBED = {
    **{
        kind: noun
        for kind, (noun, _, _) in ((k, call_checks.NOUNS[v]) for k, v in entry_body.HANDLES.items())
    },
    **{
        f"F90_{kind}": "a handle of mpif.h" for kind in ("COMM", "DATATYPE", "OP", "WIN", *entry_body.HANDLES)
    },
    "ARGUMENT_COUNT": "the address of main's argc, or NULL",
    "ARGUMENT_LIST": "the address of main's argv, or NULL",
    "ASSERT": "MPI_MODE_ constants, joined by |, or 0",
    "ERROR_CLASS": "an error class",
    "ERROR_CODE": "an error code",
    "F08_STATUS": "a status of mpi_f08",
    "F90_STATUS": "a status of mpif.h",
    "KEY_INDEX": "the integer of a handle",
    "STATUS": "a status",
}


def _plain(text: str) -> str:
    """Without the macros that the standard's source has."""
    text = text.replace("\\_", "_").replace("~", " ").replace("``", '"').replace("''", '"')
    while (inner := re.sub(r"\\?\b\w+ ?\{([^{}]*)\}", r"\1", text)) != text:
        text = inner
    return " ".join(re.sub(r"[\\$]|(?<=MPI)/", " ", text).split())


def _parameter(parameter: Parameter, facts: dict, checks: call_checks.Checks) -> list[str]:
    described = facts.get(parameter.name, {})
    words = _plain(described.get("desc") or "") or UNDESCRIBED.get(parameter.kind, "")
    notes = [words] if words else []
    if described.get("root_only"):
        notes.append("significant at the root alone")
    expected = checks.of_argument.get(parameter.name, [])
    told = [f"Expected: {text}; else {error_class}." for text, error_class in expected]
    sentence = "; ".join(notes)
    sentence = f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""
    text = " ".join(part for part in (sentence, *told) if part)
    direction = DIRECTIONS[parameter.direction]
    return [".TP", f"\\fI{roff(parameter.name)}\\fR ({direction})", *flowing(text)]


def _parameters(forms: list[Function], checks: call_checks.Checks) -> list[str]:
    facts = _facts(forms[0])
    lines, seen = [], set()
    for form in forms:
        for parameter in form.parameters:
            if parameter.name not in seen and parameter.text != "...":
                seen.add(parameter.name)
                lines += _parameter(parameter, facts, checks)
    return [".SH PARAMETERS", *lines] if lines else []


def _facts(function: Function) -> dict[str, dict]:
    """What pympistandard says of each parameter; by the name that C has for it."""
    symbol = pympistandard.PROCEDURES[function.base_name.lower()]
    renamed = mpi_functions.RENAMED_PARAMETERS
    return {renamed.get(one["name"], one["name"]): one for one in symbol._parseset["parameters"]}


def _returns(function: Function, checks: call_checks.Checks) -> list[str]:
    if function.returns != "int" or entries.CONVERSION.match(function.name):
        return [".SH RETURNS", "The result itself; there are no errors."]
    returned = (
        "Other codes are returned where the error handler returns; by default the job ends with a message."
    )
    if entries.chapter_of(function.name) == "tool":
        returned = "Errors reach no error handler."
    lines = [".SH ERRORS", *flowing(f"MPI_SUCCESS is returned when all is well. {returned}")]
    if checks.classes:
        told = f"Classes that the call itself gives: {', '.join(sorted(checks.classes))}."
        lines += [".PP", *flowing(f"{told} What it waits for may give others.")]
    return lines


def _notes(function: Function, forms: list[Function]) -> list[str]:
    chapter = entries.chapter_of(function.name)
    notes = []
    successor = entries.SUCCESSORS.get(function.base_name)
    if successor:
        notes.append(f"Deprecated: call MPI_{successor[0].upper()}{successor[1:]} instead.")
    if len(forms) == 2:
        notes.append(
            "The form with _c takes counts beyond 2147483647; in Fortran 2008 one name serves for both."
        )
    if chapter == "coll":
        notes.append("All ranks of the communicator call it, in the same order as its other collectives.")
    if entries.ANY_TIME.match(function.name):
        notes.append("It may be called before MPI_Init and after MPI_Finalize.")
    for pattern, names, how in entry_body.FLAG_IS_FALSE:
        if re.fullmatch(pattern, function.base_name):
            for parameter in function.parameters:
                if re.fullmatch(names, parameter.name) and parameter.name != "flag":
                    becomes = {
                        "left": "stays as it is",
                        "null": "is the NULL handle",
                        "stored": "is MPI_UNDEFINED",
                    }
                    notes.append(f"Where flag is false, {parameter.name} {becomes[how]}.")
    if function.find("info") and chapter == "io":
        notes.append("The hints that are known are listed in io.md.")
    if function.base_name in ("MPI_Wtime", "MPI_Wtick"):
        notes.append("The clock is CLOCK_MONOTONIC; clocks of several hosts are not synchronised.")
    return [".SH NOTES", *(line for note in notes for line in (*flowing(note), ".PP"))][:-1] if notes else []


def _see_also(function: Function, summaries_: dict[str, str]) -> list[str]:
    others = re.findall(r"MPI_\w+", summaries_[function.base_name])
    lines = ["mpicc(1), mpiexec(1)", *(f"{other}(3)" for other in others)]
    page, about = ABOUT.get(entries.chapter_of(function.name), ("errors.md", "errors"))
    where = f"In share/doc/tasuki/docs: {page} ({about}), errors.md, fortran.md."
    return [".SH SEE ALSO", *flowing(", ".join(lines) + "."), ".PP", *flowing(where)]


def page(forms: list[Function], procedure: Procedure | None, summaries_: dict[str, str]) -> str:
    function = forms[0]
    names = ", ".join(form.name for form in forms)
    checks = call_checks.of(function)
    lines = [
        f'.TH {function.name.upper()} 3 "{DATE}" "Tasuki" "MPI 5.0"',
        ".SH NAME",
        f"{names} \\- {roff(summaries_[function.base_name])}",
        *_synopsis(forms, procedure),
        *_parameters(forms, checks),
        *_returns(function, checks),
        *_notes(function, forms),
        *_see_also(function, summaries_),
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """MPI_Send.3 -> its text, of all 690 functions."""
    forms: dict[str, list[Function]] = {}
    for function in mpi_functions.functions():
        forms.setdefault(function.base_name, []).append(function)
    procedures = {procedure.name: procedure for procedure in fortran_functions.procedures()}
    told = summaries(set(forms))
    result = {}
    for name, both in forms.items():
        result[f"{name}.3"] = page(both, procedures.get(name), told)
        for other in both[1:]:
            result[f"{other.name}.3"] = f".so man3/{name}.3\n"
    return result


def generate() -> dict[str, str]:
    text = '.\\" Generated by bindgen; do not edit. Each page begins with a line that names its file.\n'
    for name, lines in pages().items():
        text += f'.\\" file man3/{name}\n{lines}'
    return {FILE: text}
