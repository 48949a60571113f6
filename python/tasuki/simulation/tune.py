"""A tuning table for a machine that one does not have, and where the library's formulas and the simulation
disagree there.

The table has the network's numbers as the machine has them. It says that it was made on a machine that is
simulated, so that the library takes it with TASUKI_TUNING_FOREIGN only (docs/tuning.md).
"""

from __future__ import annotations

import contextlib
import dataclasses
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
    links = 2 * len(machine.topology.shape) if machine.topology.kind == "torus" else 1  # of a node
    network = {
        "software_ns": needed(machine, "software_seconds") * 1e9,
        "latency_ns": needed(machine, "hardware_seconds") * 1e9,
        "bytes_per_ns": rate,
        "eager_bytes_per_ns": rate,
        "long_ns": (machine.value("control_seconds") or 0) * 1e9,
        "gap_ns": (machine.value("gap_seconds") or 0) * 1e9,
        "node_bytes_per_ns": (machine.value("total_bytes_per_second") or links * rate * 1e9) / 1e9,
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


def cases(
    machine: machines.Machine, shape=None, simulator=None, sizes=SIZES
) -> tuple[list[Case], list[Case]]:
    """Every algorithm that is valid, of the operations and sizes; and those that are too large."""
    found, too_large = [], []
    for operation, all_bytes in sizes.items():
        for bytes in all_bytes:
            for name in algorithms(machine, operation, bytes, shape, simulator):
                case = Case(operation, bytes, name)
                try:
                    estimate(machine, [case], shape)
                except SimulationError:
                    too_large.append(case)
                    continue
                found.append(case)
    return found, too_large


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
    alike: dict[tuple, list[dict]] = {}
    for one in worse:
        alike.setdefault((one["operation"], one["formula"], one["simulated"]), []).append(one)
    said = []
    for (operation, formula, best), those in alike.items():
        times = list(dict.fromkeys(f"{one['times']:.2f}" for one in those))
        sizes = ", ".join(bytes_text(one["bytes"]) for one in those)
        said.append(
            f"{operation} of {sizes}: the formulas choose {formula}, which takes {', '.join(times)} times as "
            f"long as {best}"
        )
    agree = len(found) - len(worse)
    return [
        *said,
        f"in {agree} of {len(found)} cases what the formulas choose is within {WORSE - 1:.0%} of the best; "
        f"{mean:.2f} times the best in the mean",
    ]


def left_out(too_large: list[Case]) -> list[str]:
    """A sentence that names what is too large to be simulated."""
    names = dict.fromkeys(f"{case.operation} by {case.algorithm}" for case in too_large)
    return [f"too large, and not simulated: {', '.join(names)}"] if names else []


@dataclasses.dataclass(frozen=True)
class Tuned:
    found: list[dict]  # the disagreements
    too_large: list[Case]
    estimate: dict

    def sentences(self) -> list[str]:
        return [*sentences(self.found), *left_out(self.too_large)]


def tune(machine: machines.Machine, path, shape=None, simulator=None, sizes=SIZES, on_start=None) -> Tuned:
    """Writes the table, and gives the disagreements. `on_start(total, each)`: gives what is to be called with
    the number of each case that has ended."""
    document = table(machine, shape)
    asked, too_large = cases(machine, shape, simulator, sizes)
    if not asked:
        raise SimulationError(f"{machine.name}: all algorithms are too large to be simulated: fewer nodes?")
    each = [estimate(machine, [case], shape) for case in asked]
    total = estimate(machine, asked, shape)
    with on_start(total, each) if on_start else contextlib.nullcontext() as on_end:
        answers = run(machine, asked, shape, simulator, on_end)
    save(document, path)
    return Tuned(disagreements(answers), too_large, total)
