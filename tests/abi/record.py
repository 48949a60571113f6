"""What programs rely on once they are compiled: the symbols of the libraries, and what the headers say.

`make record-abi` writes it into tests/abi/record.json.xz, which tests/abi/test_record.py compares with, and
tells what has changed. A record has a line for each symbol, constant, type, field and function, so that a
difference shows what a change does to programs.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).resolve().parent / "record.json.xz"
PREFIX = ROOT / "build/prefix"

# libtasuki_trace.so is not among them: mpiexec preloads that of its own tree, and no program names it.
LIBRARIES = (
    "libmpi_abi.so.1",
    "libmpi.so.12",
    "libmpifort_abi.so.1",
    "libmpifort.so.12",
    "libtasuki_heap.so",
)
# The headers of an installed tree, and the Fortran types that its modules are compiled from.
HEADERS = {"standard": "include", "mpich": "include/mpich"}
CALLED = {"T": "function", "W": "weak function", "i": "function"}


def _output(*command: object, text: str | None = None) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout


def symbols_of(library: Path) -> list[str]:
    """NAME[@VERSION] KIND, of data with its size; of MPI functions also the kind of those with P before."""
    kinds: dict[str, str] = {}
    for line in _output("nm", "-D", "-P", "--defined-only", "--with-symbol-versions", library).splitlines():
        name, kind, *place = line.split()
        # Data's sizes are the program's, too: its copy of a variable, its common block.
        kinds[name] = CALLED.get(kind) or f"data of {int(place[1], 16)} bytes"
    lines = []
    for name, kind in sorted(kinds.items()):
        if name.lower().startswith("pmpi") and name[1:] in kinds:
            continue
        is_mpi = name.lower().startswith("mpi")
        profiling = is_mpi and kinds.get(("P" if name[0].isupper() else "p") + name)
        lines.append(f"{name} {kind}{f', with P {profiling}' if profiling else ''}")
    return lines


def _preprocessed(include: Path, *flags: str) -> str:
    return _output("gcc", "-E", "-P", *flags, f"-I{include}", "-", text="#include <mpi.h>\n")


def _constants(include: Path) -> list[str]:
    defined = re.findall(r"^#define (MPIX?_\w+) (\S.*)$", _preprocessed(include, "-dM"), flags=re.MULTILINE)
    return [f"constant {name} {value}" for name, value in sorted(defined)]


def _fields(body: str) -> list[str]:
    return [re.sub(r"\[.*", "", field.split()[-1]) for field in body.split(";") if field.strip()]


def _layouts(include: Path, text: str) -> list[str]:
    """Sizes and alignments of the types, the places of their fields, the values of their enumerations."""
    printed = []
    types = set(re.findall(r"^typedef [^({}]*?(MPIX?_\w+);", text, flags=re.MULTILINE))
    types -= {name for name in types if name.endswith(("_function", "_fn"))}  # of users' functions
    for kind, body, name in re.findall(
        r"typedef (struct|enum)\s*\w*\s*\{([^{}]*)\} (MPI\w+);", text, flags=re.S
    ):
        types.add(name)
        if kind == "struct":
            for field in _fields(body):
                size = f"sizeof((({name}*)0)->{field})"
                printed.append(
                    (f"field {name}.{field} at %zu of %zu bytes", f"offsetof({name}, {field}), {size}")
                )
        else:
            for value in re.findall(r"MPIX?_\w+", body):
                printed.append((f"enumerator {name} {value} %zu", f"(size_t){value}"))
    for name in types:
        printed.append((f"type {name} %zu bytes, aligned to %zu", f"sizeof({name}), _Alignof({name})"))
    calls = "".join(f'printf("{form}\\n", {values});\n' for form, values in sorted(printed))
    headers = "#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n"
    source = f"{headers}int main(void) {{\n{calls}return 0; }}\n"
    return _run_program(source, include)


def _run_program(source: str, include: Path) -> list[str]:
    """What a program prints that calls nothing of MPI."""
    run = (
        'out=$(mktemp) && gcc -std=c11 -x c "$@" - -o "$out" && "$out"; status=$?; rm -f "$out"; exit $status'
    )
    return _output("sh", "-c", run, "sh", f"-I{include}", text=source).splitlines()


def _declarations(text: str) -> list[str]:
    """Functions, variables, and the types of users' functions, without the names of parameters; with P only
    where there is no function of that name without it."""
    flat = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", re.sub(r"\s+", " ", text))
    found = re.findall(
        r"(?:^|[;}]) ?((?:typedef |extern )?[\w*][\w* ]*?)(P?MPI\w+)( ?\([^()]*\))?(?=;)", flat
    )
    names = {name for _, name, _ in found}
    lines = set()
    for before, name, parameters in found:
        if name[0] == "P" and name[1:] in names:
            continue
        kinds = {"typedef": "callback", "extern": "variable"}
        kind = kinds.get(before.split()[0], "function")
        if bool(parameters) == (kind == "variable"):
            continue  # a field of a struct, or a type that is no function's
        result = before.removeprefix("typedef ").removeprefix("extern ").strip()
        types = ", ".join(_type_of(parameter) for parameter in parameters.strip(" ()").split(","))
        lines.add(f"{kind} {name} {result}" + (f" ({types})" if parameters else ""))
    return sorted(lines)


def _type_of(parameter: str) -> str:
    words = parameter.strip()
    array = re.search(r"(\[.*\])$", words)
    words = words.removesuffix(array.group(1)) if array else words
    if words in ("void", "..."):
        return words
    return re.sub(r"\w+$", "", words).strip() + (array.group(1) if array else "")


def _fortran(include: Path, modules: Path) -> list[str]:
    """The constants of mpif.h, and the derived types of mpi_f08."""
    text = (include / "mpif.h").read_text()
    lines = [f"mpif.h {name}={value}" for name, value in re.findall(r"parameter \((\w+)=([^)]+)\)", text)]
    text = (modules / "tasuki_mpi_types.f90").read_text()
    for name, body in re.findall(r"type, bind\(C\) :: (\w+)\n(.*?)end type", text, flags=re.S):
        fields = "; ".join(" ".join(line.split()) for line in body.splitlines() if line.strip())
        lines.append(f"mpi_f08 type {name}: {fields}")
    return sorted(lines)


def interface_of(prefix: Path, abi: str) -> list[str]:
    include = prefix / HEADERS[abi]
    text = _preprocessed(include)
    lines = _constants(include) + _layouts(include, text) + _declarations(text)
    return lines + _fortran(include, prefix / "share/tasuki/modules" / abi)


def records(prefix: Path) -> dict[str, list[str]]:
    """The lines of every library and every ABI's headers, by the name of the library or ABI."""
    result = {library: symbols_of(prefix / "lib" / library) for library in LIBRARIES}
    return result | {abi: interface_of(prefix, abi) for abi in HEADERS}


def recorded() -> dict[str, list[str]]:
    return json.loads(lzma.decompress(RECORD.read_bytes()))


def differences(name: str, before: list[str], now: list[str]) -> str:
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    lines = [f"gone from {name}, programs break: {line}" for line in gone]
    return "\n".join(lines + [f"new in {name}: {line}" for line in new])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=Path, default=PREFIX, help="the installed tree to record")
    prefix = parser.parse_args().prefix
    before, now = recorded() if RECORD.exists() else {}, records(prefix)
    RECORD.write_bytes(lzma.compress(json.dumps(now).encode(), preset=9))
    for name, lines in now.items():
        if told := differences(name, before.get(name, []), lines):
            print(told)


if __name__ == "__main__":
    main()
