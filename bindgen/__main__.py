"""Writes every generated file of the repository: python -m bindgen [--check].

--check writes nothing and fails when a file differs from what would be written.
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


def files() -> dict[str, str]:
    return {
        "include/mpi.h": mpi_headers.generate("standard"),
        "src/binding/abi/mpich/mpi.h": mpi_headers.generate("mpich"),
        "src/binding/abi/standard/generated/abi_tables_standard.hpp": abi_tables.generate("standard"),
        "src/binding/abi/mpich/generated/abi_tables_mpich.hpp": abi_tables.generate("mpich"),
        **function_table.generate(),
        **entries.generate(),
        **fortran_entries.generate(),
        **fortran_modules.generate(),
        **mpich_module_names.generate(),
        **trace_wrappers.generate(),
        **man_pages.generate(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="write the generated files")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    check = parser.parse_args().check
    stale = []
    for name, text in files().items():
        path = ROOT / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for name in stale:
        print(f"{name}: {'out of date; run python -m bindgen' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
