"""Writes what is made of the standard's machine-readable form and of the core's functions.

python -m bindgen                  include/mpi.h, which is kept in the repository
python -m bindgen sources FOLDER   what the build compiles and installs; CMake runs it (cmake/generated.cmake)
python -m bindgen manual FOLDER    the manual pages of MPI's functions; they depend on the core's sources, too

A file whose text is the same as before is not written, so that nothing is recompiled for it. A file that an
earlier run wrote into FOLDER and that is no longer made is removed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bindgen import (
    abi_tables,
    entries,
    fortran_entries,
    fortran_modules,
    function_table,
    man_pages,
    mpi_headers,
    mpich_module_names,
    trace_wrappers,
)

ROOT = Path(__file__).resolve().parent.parent


def header() -> dict[str, str]:
    return {"include/mpi.h": mpi_headers.generate("standard")}


def sources() -> dict[str, str]:
    return {
        "binding/abi/mpich/mpi.h": mpi_headers.generate("mpich"),
        "binding/abi/standard/abi_tables_standard.hpp": abi_tables.generate("standard"),
        "binding/abi/mpich/abi_tables_mpich.hpp": abi_tables.generate("mpich"),
        **function_table.generate(),
        **entries.generate(),
        **fortran_entries.generate(),
        **fortran_modules.generate(),
        **mpich_module_names.generate(),
        **trace_wrappers.generate(),
    }


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def remove_others(folder: Path, files: dict[str, str]) -> None:
    """Removes what is listed in FOLDER/files.txt and not among `files`, and writes that list anew."""
    record = folder / "files.txt"
    before = record.read_text().split() if record.exists() else []
    for name in {*before} - {*files}:
        (folder / name).unlink(missing_ok=True)
    write(folder, {record.name: "".join(f"{name}\n" for name in sorted(files))})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bindgen", description="writes generated files")
    parser.add_argument("what", nargs="?", choices=("header", "sources", "manual"), default="header")
    parser.add_argument("folder", nargs="?", type=Path, help="of sources and manual")
    args = parser.parse_args()
    if (args.what == "header") != (args.folder is None):
        parser.error(f"{args.what}: expected {'no' if args.what == 'header' else 'a'} folder")
    if args.what == "header":
        write(ROOT, header())
    elif args.what == "sources":
        files = sources()
        write(args.folder, files)
        remove_others(args.folder, files)
    else:
        write(args.folder, man_pages.generate())
    return 0


if __name__ == "__main__":
    sys.exit(main())
