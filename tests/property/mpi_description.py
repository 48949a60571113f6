"""Writes what bindgen knows of MPI's C functions and constants to a file for mpi.py: quicker to load."""

import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bindgen import constants, entries, mpi_functions  # noqa: E402

DESCRIPTION = ROOT / "build/property/api.json"
LIBRARIES = {"standard": "libmpi_abi.so.1", "mpich": "libmpi.so.12"}  # by ABI


def write(path: pathlib.Path) -> None:
    """Writes what bindgen knows to `path`, unless what lies there is newer than its sources."""
    sources = [*(ROOT / "bindgen").glob("*.py"), *(ROOT / "bindgen/spec").iterdir()]
    if path.exists() and path.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return
    functions = [
        {
            "name": function.name,
            "base": function.base_name,
            "returns": function.returns,
            "chapter": entries.chapter_of(function.name),
            "parameters": [
                [p.name, p.text, p.kind, p.direction, p.length, p.is_const] for p in function.parameters
            ],
        }
        for function in mpi_functions.functions()
    ]
    values = [[c.name, c.category, c.standard, c.mpich] for c in constants.load()]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"functions": functions, "constants": values}))
    partial.replace(path)
