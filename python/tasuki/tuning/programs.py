"""Finds the programs that tuning runs: mpiexec, and in libexec those that measure and that know the
formulas."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path

import tasuki
from tasuki.tuning import TuningError


@dataclasses.dataclass(frozen=True)
class Programs:
    mpiexec: Path
    algorithms: Path  # bench/algorithms.cpp
    price: Path  # tools/price.cpp
    message_ways: Path  # bench/message_ways.cpp
    network_ways: Path  # bench/network_ways.cpp


def installed_table(programs: Programs) -> Path:
    """The file whose table jobs of that installation choose by, if their users name no other one."""
    words = [str(programs.mpiexec), "--info=json"]
    done = subprocess.run(words, env=os.environ | {"TASUKI_TUNING_FILE": ""}, capture_output=True, text=True)
    if done.returncode != 0:
        raise TuningError(f"{' '.join(words)}: {done.stderr.strip()}")
    return Path(json.loads(done.stdout)["installed_tuning_file"])


def find(prefix: Path | str | None = None) -> Programs:
    """Those of the tree installed under `prefix`; None: of this package's own."""
    try:
        prefix = Path(prefix) if prefix is not None else tasuki.prefix()
    except FileNotFoundError as error:
        raise TuningError(str(error)) from None
    prefix = prefix.absolute()
    libexec = prefix / "libexec" / "tasuki"
    names = ("algorithms", "price", "message_ways", "network_ways")
    found = Programs(prefix / "bin/mpiexec", *(libexec / name for name in names))
    for path in dataclasses.astuple(found):
        if not os.access(path, os.X_OK):
            raise TuningError(f"{path} is not there: expected an installed tree of Tasuki in {prefix}")
    return found
