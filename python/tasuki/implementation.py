"""An MPI under test: where its compiler and launcher are, what it is, and what words and variables it needs.

`find("PREFIX")` or `find("NAME=PREFIX")` recognises it by what its mpiexec says of itself. Nothing here
runs programs of ranks: launching.py does.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import subprocess

import tasuki
from tasuki import environment
from tasuki.tuning.placement import Placement

# What a launcher above us leaves in the environment: with it a job would take itself for a part of another.
OF_A_JOB = (
    *("PMI_", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER", "OMPI_COMM_WORLD_", "MPI_LOCALRANKID"),
    *("TASUKI_JOB_", "TASUKI_RANK", "TASUKI_SIZE", "TASUKI_LAUNCHER_ID", "HYDI_", "PRTE_LAUNCHED"),
)
# Also what sets an MPI's or a batch system's ways: for runs in which nothing but what we say shall count.
OF_ANY_MPI = ("PMI_", "PMIX_", "OMPI_", "SLURM_", "TASUKI_", "I_MPI_")
SECONDS_MAX = 60  # for a launcher to tell its version


class ImplementationError(ValueError):
    """An MPI that cannot be used: the text says which, what is wrong and what was expected."""


@dataclasses.dataclass
class Implementation:
    """`pinned`, `crowded`: its launcher's options when each rank has a core, and when not."""

    name: str
    prefix: pathlib.Path
    kind: str = "unknown"  # tasuki, mpich, openmpi, impi
    version: str = "unknown"
    pinned: list[str] = dataclasses.field(default_factory=list)
    crowded: list[str] = dataclasses.field(default_factory=list)
    own_variables: dict[str, str] = dataclasses.field(default_factory=dict)
    tuning: str = ""  # the table that it chooses by; empty: its own
    placement: Placement = Placement()  # where ranks are: on this machine, or on nodes

    @property
    def mpiexec(self) -> pathlib.Path:
        return self.prefix / "bin" / "mpiexec"

    @property
    def mpicc(self) -> pathlib.Path:
        return self.prefix / "bin" / "mpicc"

    @property
    def mpicxx(self) -> pathlib.Path:
        return self.prefix / "bin" / "mpicxx"

    @property
    def mpifort(self) -> pathlib.Path:
        return self.prefix / "bin" / "mpifort"

    def variables(self, left_out: tuple[str, ...] = OF_A_JOB) -> dict[str, str]:
        """The environment of everything that is run of it: ours, less what begins with a word of left_out."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        return kept | self.own_variables

    def launch(self, ranks: int, *words) -> list[str]:
        """The words that run a program with so many ranks."""
        options = self.pinned if ranks <= environment.cores() else self.crowded
        options = [*options, *self.placement.options(ranks)]
        return [str(word) for word in (self.mpiexec, *options, "-n", ranks, *words)]

    def placed(self, placement: Placement) -> Implementation:
        """The same, with its ranks on several nodes."""
        if placement.nodes > 1 and self.kind != "tasuki":
            raise ImplementationError(f"{self.name} is {self.kind}: --nodes and --host are for Tasuki alone")
        return dataclasses.replace(self, placement=placement)

    def with_table(self, path: str | pathlib.Path) -> Implementation:
        """The same, choosing by this tuning table."""
        path = pathlib.Path(path).absolute()
        if self.kind != "tasuki":
            raise ImplementationError(f"{self.name} is {self.kind}: a tuning table is for Tasuki alone")
        if not path.is_file():
            raise ImplementationError(f"{path}: no such tuning table")
        own_variables = self.own_variables | {"TASUKI_TUNING_FILE": str(path)}
        name = f"{self.name}+{path.stem}"
        return dataclasses.replace(self, name=name, tuning=str(path), own_variables=own_variables)

    def description(self) -> dict:
        """The field `implementation` of docs/results.md."""
        return {
            "name": self.name,
            "kind": self.kind,
            "version": self.version,
            "mpiexec": str(self.mpiexec),
            "pinned": self.pinned,
            "crowded": self.crowded,
            "tuning": self.tuning,
            "placement": str(self.placement),
        }


def recognise(told: str) -> tuple[str, str]:
    """(kind, version) by what a launcher says of itself."""
    for kind, pattern in (
        ("tasuki", r"\(Tasuki\) ([^\s,]+)"),
        ("impi", r"Intel\(R\) MPI Library.*?Version (\S+.*)"),
        ("openmpi", r"\((?:Open MPI|OpenRTE)\) (\S+)"),
        ("mpich", r"HYDRA build details:\s*Version:\s*(\S+)"),
    ):
        found = re.search(pattern, told)
        if found:
            return kind, found.group(1).strip()
    lines = [line.strip() for line in told.splitlines() if re.search(r"\d", line)]
    return "unknown", lines[0] if lines else "unknown"


def launcher_options(kind: str) -> tuple[list[str], list[str]]:
    """(pinned, crowded) of this kind's mpiexec."""
    if kind == "mpich":
        return ["-bind-to", "core"], []
    if kind == "openmpi":
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [*root, "--bind-to", "core"], [*root, "--oversubscribe", "--bind-to", "none"]
    return [], []


def prefix_variables(prefix: pathlib.Path) -> dict[str, str]:
    """What Intel MPI needs where PyPI's packages put it; nothing for others."""
    if not (prefix / "bin" / "impi_info").exists():
        return {}
    fabric = prefix / "opt" / "mpi" / "libfabric" / "lib"  # until 2021.17; now beside libmpi
    libraries = [str(folder) for folder in (prefix / "lib", fabric) if folder.is_dir()]
    return {"I_MPI_ROOT": str(prefix), "LD_LIBRARY_PATH": ":".join(libraries)}


def find(text: str = "") -> Implementation:
    """The MPI of "PREFIX" or "NAME=PREFIX"; of an empty text the one that this package belongs to."""
    name, _, place = text.rpartition("=")
    if not text:
        try:
            place = tasuki.prefix()
        except FileNotFoundError as error:
            raise ImplementationError(str(error)) from None
    prefix = pathlib.Path(place).expanduser().absolute()
    if not (prefix / "bin" / "mpiexec").exists():
        raise ImplementationError(
            f"{text or prefix}: there is no {prefix}/bin/mpiexec; expected the prefix of an MPI"
        )
    found = Implementation(name, prefix, own_variables=prefix_variables(prefix))
    try:
        done = subprocess.run(
            [str(found.mpiexec), "--version"],
            env=found.variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ImplementationError(f"{found.mpiexec} --version did not end within {SECONDS_MAX} s") from None
    except OSError as error:
        raise ImplementationError(f"{found.mpiexec} --version: {error.strerror}") from None
    if done.returncode != 0:
        told = (done.stderr or done.stdout).strip()[-300:]
        raise ImplementationError(f"{found.mpiexec} --version: exit status {done.returncode}: {told}")
    found.kind, found.version = recognise(done.stdout + done.stderr)
    found.pinned, found.crowded = launcher_options(found.kind)
    found.name = name or (found.kind if found.kind != "unknown" else prefix.name)
    return found


def find_all(texts: list[str]) -> list[Implementation]:
    """Several, or our own where none is named; no two may have one name."""
    found = [find(text) for text in texts] or [find()]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ImplementationError(
                f"--mpi: {names.count(name)} are called {name}: name them, --mpi NAME=PREFIX"
            )
    return found
