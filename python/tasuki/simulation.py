"""The library's own collectives on a simulated machine: what `tasuki simulate` asks of its simulator.

A machine (tasuki.machines) with a topology, and cases: an operation, an algorithm, a size. Each answer has
the time, what the links carried and the bound; `fit` makes B' and t_L of several sizes, `reason` says in a
sentence what limits it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import subprocess

import tasuki
from tasuki import machines

WAYS = ("rounds", "data")
MESSAGES_MAX = 20e6
BYTES_OF_MESSAGE = 400  # of memory: two steps in the schedule of a rank, what is kept of them, and channels


class SimulationError(ValueError):
    """What was asked cannot be simulated."""


@dataclasses.dataclass(frozen=True)
class Case:
    operation: str
    bytes: int
    algorithm: str = "*"  # the library's choice
    segment_bytes: int = 0  # those that the library's formulas prefer
    way: str = "rounds"
    links: bool = False  # whether the answer lists the load of each link


@dataclasses.dataclass(frozen=True)
class Line:
    """t = t_L + M/B, fitted so that the relative deviations are least."""

    bytes_per_second: float
    latency_seconds: float

    @property
    def half_bytes(self) -> float:
        """M_1/2"""
        return self.bytes_per_second * self.latency_seconds


def fit(sizes, seconds) -> Line:
    weights = [1 / one**2 for one in seconds]
    total = sum(weights)
    mean_size = sum(w * m for w, m in zip(weights, sizes, strict=True)) / total
    mean_time = sum(w * t for w, t in zip(weights, seconds, strict=True)) / total
    spread = sum(w * (m - mean_size) ** 2 for w, m in zip(weights, sizes, strict=True))
    if spread == 0:
        raise SimulationError("one size alone, expected two or more for B' and t_L")
    pairs = zip(weights, sizes, seconds, strict=True)
    slope = sum(w * (m - mean_size) * (t - mean_time) for w, m, t in pairs) / spread
    return Line(1 / slope if slope > 0 else math.inf, mean_time - slope * mean_size)


def program() -> pathlib.Path:
    """The simulator of this package's tree."""
    try:
        found = tasuki.prefix() / "libexec/tasuki/tasuki-simulate"
    except FileNotFoundError as error:
        raise SimulationError(str(error)) from None
    if not os.access(found, os.X_OK):
        raise SimulationError(
            f"{found} is not there: expected a build where SimGrid was found (libsimgrid-dev 3.32 or newer)"
        )
    return found


def needed(machine: machines.Machine, name: str) -> float:
    value = machine.value(name)
    if value is None:
        raise SimulationError(
            f"{machine.name}: {name} is unknown, expected a number: --set {name}=VALUE supplies one"
        )
    return value


def request(machine: machines.Machine, cases, shape=None, directions: int = 1, only_names=False) -> dict:
    """What the program reads. `shape`: of a torus or a crossbar, the machine's own if it is not given;
    `directions`: how many links of a node work at a time, which share all that a node can send."""
    topology = machine.topology
    if topology is None:
        raise SimulationError(f"{machine.name}: has no topology, expected one (docs/simulate.md)")
    shape = list(shape or topology.shape)
    if topology.kind in ("torus", "crossbar"):
        topology = dataclasses.replace(
            topology, shape=shape if topology.kind == "torus" else [math.prod(shape)]
        )
    rate = needed(machine, "link_bytes_per_second")
    total = machine.value("total_bytes_per_second")
    if total is not None:
        rate = min(rate, total / directions)
    network = {name: getattr(topology, name) for name in ("kind", "shape", "down", "up", "links", "slow")}
    return {
        "topology": network | {"bytes_per_second": rate},
        "shape": shape if topology.kind in ("torus", "crossbar") and len(shape) <= 3 else [],
        "ranks_per_host": int(machine.value("ranks_per_node") or 1),
        "software_seconds": needed(machine, "software_seconds"),
        "hardware_seconds": needed(machine, "hardware_seconds"),
        "reduced_bytes_per_second": machine.value("arithmetic_bytes_per_second") or 0,
        "copied_bytes_per_second": machine.value("copy_bytes_per_second")
        or machine.value("memory_bytes_per_second")
        or 0,
        "only_names": only_names,
        "cases": [dataclasses.asdict(case) for case in cases],
    }


def directions_of(algorithm: str) -> int:
    return {"multi_ring": 4, "grid_2": 2, "grid_3": 3}.get(algorithm, 1)


def ask(document: dict, simulator: pathlib.Path | None = None) -> dict:
    done = subprocess.run(
        [simulator or program()], input=json.dumps(document), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SimulationError(done.stderr.strip() or "tasuki-simulate ended early")
    return json.loads(done.stdout)


def messages_of(case: Case, ranks: int, directions: int) -> float:
    """About how many messages a case has: for the estimate."""
    if case.operation in ("allgather", "alltoall"):
        return ranks * (ranks - 1) * directions
    segment = case.segment_bytes or 16384
    pieces = max(1, min(1024 * directions, case.bytes / segment))
    return ranks * pieces * (2 if case.operation == "allreduce" else 1) + ranks * math.log2(max(2, ranks))


def estimate(machine: machines.Machine, cases, shape=None) -> dict:
    """What the cases will take, before they are run; refuses those that are too large."""
    nodes = math.prod(shape or machine.topology.shape) if machine.topology else 1
    ranks = nodes * int(machine.value("ranks_per_node") or 1)
    most = 0.0
    for case in cases:
        messages = messages_of(case, ranks, directions_of(case.algorithm))
        if messages > MESSAGES_MAX:
            raise SimulationError(
                f"{case.operation} of {case.bytes} bytes by {case.algorithm} among {ranks} ranks: "
                f"about {messages:.2g} messages, expected at most {MESSAGES_MAX:.0e}"
            )
        most = max(most, messages)
    total = sum(messages_of(case, ranks, directions_of(case.algorithm)) for case in cases)
    return {"messages": total, "seconds": total / 100e3, "memory_bytes": most * BYTES_OF_MESSAGE}


def run(machine: machines.Machine, cases, shape=None, simulator: pathlib.Path | None = None) -> list[dict]:
    """The answers to the cases, in their order. Those whose nodes use as many links at a time go together."""
    cases = list(cases)
    answers: list[dict] = [{}] * len(cases)
    for directions in sorted({directions_of(case.algorithm) for case in cases}):
        chosen = [i for i, case in enumerate(cases) if directions_of(case.algorithm) == directions]
        document = request(machine, [cases[i] for i in chosen], shape, directions)
        found = ask(document, simulator)
        for i, answer in zip(chosen, found["answers"], strict=True):
            answers[i] = dataclasses.asdict(cases[i]) | answer | {"engine": found["engine"]}
    return answers


def algorithms(
    machine: machines.Machine, operation: str, bytes: int, shape=None, simulator=None
) -> list[str]:
    """Those of the library that are valid for these ranks, and go by messages."""
    return ask(request(machine, [Case(operation, bytes)], shape, only_names=True), simulator)["answers"][0]


def reason(answer: dict) -> str:
    """What limits it, in a sentence."""
    seconds, link = answer["seconds"], answer.get("busiest_link")
    processor = answer["processor_busy_seconds"] / seconds if seconds > 0 else 0
    if link and link["busy"] >= 0.8 and link["busy"] >= processor:
        return (
            f"link {link['name']} limits it: {link['busy']:.0%} of the time it carries what {link['pairs']} "
            f"pairs of nodes send, at {link['bytes_per_second'] / 1e6:,.0f} MB/s"
        )
    if processor >= 0.8:
        return f"a processor limits it: it is busy {processor:.0%} of the time, with software and reductions"
    busy = f"the busiest link works {link['busy']:.0%} of the time, " if link else ""
    return f"waiting limits it: {busy}the busiest processor {processor:.0%}; the rest is waiting for others"


# ---- the papers -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Printed:
    """A line of a paper's table, and what the simulation says."""

    case: str
    quantity: str
    unit: str
    predicted: float
    printed: float
    kind: str  # estimated or measured

    @property
    def off(self) -> float:
        return self.predicted / self.printed - 1


KIB, MIB = 1 << 10, 1 << 20
SEGMENT = 16 * KIB
TABLE_004 = (
    # name, operation, algorithm, shape, factor, sizes, (B', t_L) estimated, measured: MB/s and µs
    ("Bcast 384", "bcast", "chain", (384,), 1, (MIB, 2 * MIB), (4226, 1874), (3616, 2795)),
    ("Bcast 64x6", "bcast", "grid_2", (64, 6), 1, (MIB, 2 * MIB), (8452, 411), (7467, 548)),
    ("Bcast 8x6x8", "bcast", "grid_3", (8, 6, 8), 1, (768 * KIB, 1536 * KIB), (12680, 143), (10400, 169)),
    (
        "Allreduce 8x6x8",
        "allreduce",
        "grid_3",
        (8, 6, 8),
        2,
        (1536 * KIB, 3072 * KIB),
        (5129, 513),
        (5266, 389),
    ),
)


def paper_004(simulator: pathlib.Path | None = None, table=TABLE_004) -> list[Printed]:
    """The K computer: table 1, by data; t_O and t_S are added, as the paper has them."""
    machine = machines.load("k-computer")
    value = machine.value
    start = value("decision_seconds") + value("addresses_seconds")
    control, link = value("control_seconds"), value("link_bytes_per_second")
    found = []
    sizes = (64 * KIB, 4 * MIB)
    pair = [Case("bcast", size, "binomial", way="data") for size in sizes]
    times = [one["seconds"] + control for one in run(machine, pair, (2,), simulator)]
    found += rows("PingPong", fit(sizes, times), (link / 1e6, 6.965), (4685, 10.5))
    for name, operation, algorithm, shape, factor, sizes, estimated, measured in table:
        cases = [Case(operation, size, algorithm, SEGMENT, "data") for size in sizes]
        times = [one["seconds"] + start for one in run(machine, cases, shape, simulator)]
        found += rows(name, fit([factor * size for size in sizes], times), estimated, measured)
    return found


def rows(name: str, line: Line, estimated, measured) -> list[Printed]:
    values = (line.bytes_per_second / 1e6, line.latency_seconds * 1e6)
    return [
        Printed(name, quantity, unit, value, printed[i], kind)
        for kind, printed in (("estimated", estimated), ("measured", measured))
        for i, (quantity, unit, value) in enumerate(zip(("B'", "t_L"), ("MB/s", "µs"), values, strict=True))
    ]


EXCHANGE = 6 * MIB
TRANS7_EXCHANGES = 2400
TABLE_000 = (
    # way, (size, seconds of one call of that size), barrier after each step, fence at the end,
    # an exchange measured, Trans7 estimated and measured: seconds
    ("Put, fence", (4, 6.36e-6), 0, 223.75e-6, 33.0e-3, 79.2, 80.24),
    ("Send, barriers", (204804, 83.26e-6), 3.25e-6, 0, 35.3e-3, 84.8, 86.86),
)


def paper_000(simulator: pathlib.Path | None = None) -> list[Printed]:
    """The Earth Simulator: 64 nodes exchange 6 MiB each with each, shifted; and Trans7, 2,400 of them. What a
    message takes beyond the crossbar's rate is what tables 2 and 3 print for a call, and so are barrier and
    fence, which are delays."""
    machine, nodes = machines.load("earth-simulator"), 64
    rate = needed(machine, "link_bytes_per_second")
    for name in ("software_seconds", "copy_bytes_per_second", "memory_bytes_per_second"):
        machine = machine.with_value(name, 0)
    found = []
    for way, (size, seconds), barrier, fence, exchange, estimated, measured in TABLE_000:
        changed = machine.with_value("hardware_seconds", seconds - size / rate)
        (answer,) = run(changed, [Case("alltoall", EXCHANGE, "pairwise")], (nodes,), simulator)
        time = answer["seconds"] + (nodes - 1) * barrier + fence
        found.append(Printed(way, "exchange", "ms", time * 1e3, exchange * 1e3, "measured"))
        for printed, kind in ((estimated, "estimated"), (measured, "measured")):
            found.append(Printed(way, "Trans7", "s", TRANS7_EXCHANGES * time, printed, kind))
    return found


PAPERS = {"004": paper_004, "000": paper_000}
