"""A tuning table for a machine that one does not have, and where the library's formulas and the simulation
disagree there.

The table has the network's numbers as the machine has them. It says that it was made on a machine that is
simulated, so that the library takes it with TASUKI_TUNING_FOREIGN only (docs/tuning.md).
"""

from __future__ import annotations

import json
import math
import os
import pathlib

import tasuki
from tasuki import machines
from tasuki.simulation import Case, SimulationError, algorithms, estimate, needed, run

SIZES = {
    "bcast": (1 << 10, 32 << 10, 1 << 20),
    "reduce": (1 << 10, 32 << 10, 1 << 20),
    "allreduce": (1 << 10, 32 << 10, 1 << 20),
    "allgather": (64, 2 << 10, 32 << 10),  # of a rank
    "alltoall": (64, 2 << 10),  # of a rank for another
}
WORSE = 1.05  # what the formulas choose is told of from here on


def table(machine: machines.Machine, shape=None) -> dict:
    """The document of the table."""
    rate = needed(machine, "link_bytes_per_second") / 1e9
    network = {
        "software_ns": needed(machine, "software_seconds") * 1e9,
        "latency_ns": needed(machine, "hardware_seconds") * 1e9,
        "bytes_per_ns": rate,
        "eager_bytes_per_ns": rate,
        "long_ns": (machine.value("control_seconds") or 0) * 1e9,
        "gap_ns": (machine.value("gap_seconds") or 0) * 1e9,
        "node_bytes_per_ns": (machine.value("total_bytes_per_second") or rate * 1e9) / 1e9,
    }
    names = {
        "arithmetic_bytes_per_second": "reduced_bytes_per_ns",
        "copy_bytes_per_second": "copied_bytes_per_ns",
    }
    memory = {path: machine.value(name) / 1e9 for name, path in names.items() if machine.value(name)}
    groups = {"messages": {"network": rounded(network)}} | ({"memory": rounded(memory)} if memory else {})
    extents = "x".join(map(str, shape or machine.topology.shape))
    return {
        "tasuki_tuning": 1,
        "machine": f"simulated: {machine.title or machine.name}, nodes {extents}",
        "made_on": {"processor": f"simulated: {machine.name}", "library": tasuki.__version__},
        **groups,
    }


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in values.items()}


def save(document: dict, path: str | pathlib.Path) -> None:
    """Writes it, whole or not at all."""
    path = pathlib.Path(path)
    draft = path.with_name(path.name + ".part")
    try:
        draft.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        os.replace(draft, path)
    except OSError as error:
        raise SimulationError(f"{path}: {error.strerror}") from None


def cases(machine: machines.Machine, shape=None, simulator=None, sizes=SIZES) -> list[Case]:
    """Every algorithm that is valid, of the operations and sizes; those that are too large are left out."""
    found = []
    for operation, all_bytes in sizes.items():
        for bytes in all_bytes:
            for name in algorithms(machine, operation, bytes, shape, simulator):
                case = Case(operation, bytes, name)
                try:
                    estimate(machine, [case], shape)
                except SimulationError:
                    continue
                found.append(case)
    return found


def disagreements(answers: list[dict]) -> list[dict]:
    """Of each operation and size: what the formulas and what the simulation say is the fastest, and how many
    times as long the formulas' choice takes."""
    groups: dict[tuple, list[dict]] = {}
    for one in answers:
        groups.setdefault((one["operation"], one["bytes"]), []).append(one)
    found = []
    for (operation, bytes), those in groups.items():
        chosen = min(those, key=lambda one: one["formula_seconds"])
        best = min(those, key=lambda one: one["seconds"])
        found.append(
            {
                "operation": operation,
                "bytes": bytes,
                "formula": chosen["algorithm"],
                "simulated": best["algorithm"],
                "times": chosen["seconds"] / best["seconds"],
                "formula_off": chosen["formula_seconds"] / chosen["seconds"] - 1,
            }
        )
    return found


def sentences(found: list[dict]) -> list[str]:
    from tasuki.units import bytes_text

    worse = [one for one in found if one["times"] >= WORSE]
    mean = math.exp(sum(math.log(one["times"]) for one in found) / len(found)) if found else 1
    said = [
        f"{one['operation']} of {bytes_text(one['bytes'])}: the formulas choose {one['formula']}, which "
        f"takes {one['times']:.2f} times as long as {one['simulated']}"
        for one in worse
    ]
    agree = len(found) - len(worse)
    return [
        *said,
        f"in {agree} of {len(found)} cases what the formulas choose is within {WORSE - 1:.0%} of the best; "
        f"{mean:.2f} times the best in the mean",
    ]


def tune(machine: machines.Machine, path, shape=None, simulator=None, sizes=SIZES, on_end=None) -> list[dict]:
    """Writes the table, and gives the disagreements."""
    document = table(machine, shape)
    answers = run(machine, cases(machine, shape, simulator, sizes), shape, simulator, on_end)
    save(document, path)
    return disagreements(answers)
