"""Tasuki, an MPI library: where the installed tree is, and the tools that measure, model and choose.

`pip install tasuki` puts mpiexec and mpicc into the environment's bin, the libraries into its lib and mpi.h
into its include; the functions here find them. An installed tree has this package in its lib/tasuki/python.

`tasuki.load(path)` reads what `tasuki bench` wrote; `tasuki --help` lists the commands, each of which is a
module here too: tasuki.results, suite, fit, model, compare, … come when they are first used.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from importlib import metadata
from pathlib import Path

__all__ = [
    "__version__",
    "include_dir",
    "library",
    "library_dir",
    "load",
    "mpicc",
    "mpicxx",
    "mpiexec",
    "prefix",
    "share_dir",
]

try:
    __version__ = metadata.version("tasuki")
except metadata.PackageNotFoundError:  # it runs from a tree that pip did not install
    __version__ = "0.1.0"


def __getattr__(name: str):
    """A module of the package, when it is first asked for: `import tasuki` alone is cheap."""
    if not name.startswith("_") and importlib.util.find_spec(f"tasuki.{name}") is not None:
        return importlib.import_module(f"tasuki.{name}")
    raise AttributeError(f"module 'tasuki' has no attribute {name!r}")


def load(path: str | Path):
    """Reads a file of results (docs/results.md): a tasuki.results.Run; its frame() is a table of rows."""
    from tasuki import results

    return results.load(path)


def prefix() -> Path:
    """The prefix that Tasuki is installed under: the tree that has this package, the environment that pip put
    both into, or build/prefix of the sources."""
    package = Path(os.path.abspath(__file__)).parent
    if package.parts[-3:] == ("tasuki", "python", "tasuki") and (package.parents[3] / "bin/mpiexec").exists():
        return package.parents[3]
    for file in installed_files():
        if file.name == "mpicc" and file.parent.name == "bin":
            return Path(os.path.abspath(file.locate())).parent.parent
    built = package.parents[1] / "build" / "prefix"
    if (built / "bin/mpicc").exists():
        return built
    raise FileNotFoundError(
        f"no bin/mpicc belongs to {package}: `make build`, or install tasuki again with pip"
    )


def installed_files() -> list:
    """What pip put into the environment; nothing where it did not."""
    try:
        return metadata.files("tasuki") or []
    except metadata.PackageNotFoundError:
        return []


def share_dir(name: str) -> Path:
    """Sources that the tools compile, of the folder share/tasuki of the prefix ("mbl"), or bench/ of ours."""
    sources = Path(os.path.abspath(__file__)).parents[2] / "bench" / name
    return sources if sources.is_dir() else prefix() / "share" / "tasuki" / name


def include_dir() -> Path:
    """Where mpi.h of the standard ABI is."""
    return prefix() / "include"


def library_dir() -> Path:
    """Where libmpi_abi.so.1 and libmpi.so.12 are."""
    return prefix() / "lib"


def library(abi: str = "standard") -> Path:
    """The library of an ABI, "standard" or "mpich"."""
    names = {"standard": "libmpi_abi.so.1", "mpich": "libmpi.so.12"}
    if abi not in names:
        raise ValueError(f"abi = {abi!r}, expected 'standard' or 'mpich'")
    return library_dir() / names[abi]


def mpiexec() -> Path:
    """The launcher."""
    return prefix() / "bin" / "mpiexec"


def mpicc() -> Path:
    """The C compiler wrapper."""
    return prefix() / "bin" / "mpicc"


def mpicxx() -> Path:
    """The C++ compiler wrapper."""
    return prefix() / "bin" / "mpicxx"
