"""Tasuki, an MPI library: where the installed tree is, and the tools that measure, model and choose.

`pip install tasuki` puts mpiexec and mpicc into the environment's bin, the libraries into its lib and mpi.h
into its include; the functions here find them. `tasuki.results.load(path)` reads what `tasuki bench` wrote;
`tasuki --help` lists the commands, each of which is a module here too.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

__all__ = ["__version__", "include_dir", "library", "library_dir", "mpicc", "mpicxx", "mpiexec", "prefix"]

try:
    __version__ = metadata.version("tasuki")
except metadata.PackageNotFoundError:  # it runs from a tree that pip did not install
    __version__ = "0.1.0"


def prefix() -> Path:
    """The prefix that Tasuki is installed under."""
    for file in metadata.files("tasuki") or ():
        if file.name == "mpicc" and file.parent.name == "bin":
            return Path(os.path.abspath(file.locate())).parent.parent
    raise FileNotFoundError("this installation of tasuki does not list bin/mpicc: install it again with pip")


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
