"""The file that the library reads its parameters from: docs/tuning.md describes it."""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import tasuki
from tasuki.tuning import TuningError

VERSION = 1
NETWORK = "messages.network."  # begins the names of what `tasuki tune --host` measures
SECONDS_MAX = 60
DIGITS = 4  # of a parameter in a file
THRESHOLD = "_bytes_min"  # ends the names of those parameters that are whole bytes
WORDS = ("machine", "written")  # texts for the reader
# Names in tables of former releases, which the library takes for one release more
# (src/base/variables/former_names.hpp); then they go.
FORMER_GROUP, GROUP = "stage.", "node_segment."
FORMER_PARAMETERS = {
    "node_segment.shared_ns": "node_segment.expose_ns",
    "node_segment.pulled_bytes_per_ns": "node_segment.get_bytes_per_ns",
}
FORMER_ALGORITHMS = {
    "flags": "flag_based",
    "shared": "single_copy",
    "shared_split": "single_copy_split",
    "shared_copy": "kept_copy",
    "two_level": "hierarchical",
}


Parameter = collections.namedtuple("Parameter", "path value low high description")


@dataclasses.dataclass
class TuningTable:
    """All parameters, by path ("node_segment.flag_ns"), and the choices that it names, as the file does."""

    values: dict[str, float]
    choices: dict[str, str] = dataclasses.field(default_factory=dict)
    made_on: dict | None = None  # a machine; None: written by hand
    path: str = ""
    names_network: bool = False  # its values of the network were measured: without, a job takes its own


def listed(program: Path, *words: str) -> list[str]:
    """What tools/price.cpp lists."""
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        raise TuningError(f"{program}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def parameters(program: Path, network: str = "") -> list[Parameter]:
    """All parameters, with their built-in values; `network`: "tcp" for that between hosts, else that which
    virtual nodes imitate."""
    words = ["parameters", network] if network else ["parameters"]
    rows = [line.split(maxsplit=4) for line in listed(program, *words)]
    return [Parameter(path, *map(float, numbers), text) for path, *numbers, text in rows]


def builtin(price: Path, network: str = "") -> TuningTable:
    """What the library takes without a file, in a job of this network."""
    return TuningTable({row.path: row.value for row in parameters(price, network)})


def builtin_thresholds(program: Path) -> dict[str, int]:
    """What is built in for this processor where a table says 0."""
    rows = (line.split() for line in listed(program, "thresholds"))
    return {path: int(value) for path, value in rows}


def rounded(path: str, value: float, digits: int) -> float | int:
    return int(value) if path.endswith((THRESHOLD, "long_bytes")) else float(f"{value:.{digits}g}")


def document_of(
    values: Mapping[str, float], choices: Mapping[str, str] | None = None, digits: int = 12
) -> dict:
    """The JSON document of parameters given by path."""
    table: dict = {"tasuki_tuning": VERSION}
    for path, value in values.items():
        if path.endswith(THRESHOLD) and value == 0:
            continue  # as built in
        *groups, name = path.split(".")
        place = table
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = rounded(path, value, digits)
    return table | ({"choices": dict(choices)} if choices else {})


def values_of(document: dict, prefix: str = "") -> dict[str, float]:
    """The numbers of a document by path, which is document_of() backwards."""
    found = {}
    for name, value in document.items():
        if isinstance(value, dict):
            found |= values_of(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def present_parameter(path: str) -> str:
    """What the parameter is called now."""
    if path.startswith(FORMER_GROUP):
        path = GROUP + path.removeprefix(FORMER_GROUP)
    return FORMER_PARAMETERS.get(path, path)


def present_choice(series: str) -> str:
    """What the algorithm of "chain/4096" is called now."""
    name, *segment = series.split("/")
    return "/".join([FORMER_ALGORITHMS.get(name, name), *segment])


def check(document: dict, price: Path, path: Path | str) -> None:
    """TuningError where the library (`price` asks it) refuses the document."""
    asked = f"\n{json.dumps(document)}\n"
    done = subprocess.run([price], input=asked, capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        reason = done.stderr.partition("price: ")[2].partition(': "')[0].removeprefix("line 1: ")
        raise TuningError(f"{path}: {reason or done.stderr.strip()}")


def load(path: Path | str, price: Path, network: str = "") -> TuningTable:
    """Reads a table that the library takes for good. What it does not name is as built in,
    with the row of this network."""
    try:
        text = Path(path).read_text()
        document = json.loads(text)
    except OSError as error:
        raise TuningError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise TuningError(f"{path}: is no JSON document: {error}") from None
    check(document, price, path)
    made_on, choices = document.pop("made_on", None), document.pop("choices", {})
    for name in ("tasuki_tuning", *WORDS):
        document.pop(name, None)
    values = {present_parameter(name): value for name, value in values_of(document).items()}
    names_network = any(name.startswith(NETWORK) for name in values)
    choices = {case: present_choice(series) for case, series in choices.items()}
    return TuningTable(builtin(price, network).values | values, choices, made_on, str(path), names_network)


def processor_name() -> str:
    """As /proc/cpuinfo and the library have it; empty where the system does not say."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return ""


def this_machine() -> dict:
    """What the library compares before it takes a table."""
    return {"processor": processor_name(), "processors": os.cpu_count(), "library": tasuki.__version__}


def save(table: TuningTable, path: Path | str) -> None:
    """Writes a table as one made on this machine, all of it or nothing."""
    machine = this_machine()
    values = {
        name: value
        for name, value in table.values.items()
        if table.names_network or not name.startswith(NETWORK)
    }
    document = {
        "tasuki_tuning": VERSION,
        "machine": f"{platform.node()}: {machine['processor'] or platform.machine()}",
        "written": time.strftime("%Y-%m-%d"),
        "made_on": machine,
        **document_of(values, table.choices, DIGITS),
    }
    path = Path(path)
    draft = path.with_name(path.name + ".part")
    try:
        draft.write_text(json.dumps(document, indent=2) + "\n")
        draft.replace(path)
    except OSError as error:
        raise TuningError(f"{path}: {error.strerror}") from None
