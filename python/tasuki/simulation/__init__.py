"""The library's own collectives on a simulated machine: what `tasuki simulate` asks of its simulator.

A machine (tasuki.machines) with a topology, and cases: an operation, an algorithm, a size. Each answer has
the time, what the links carried and the bound; `fit` makes B' and t_L of several sizes, `reason` says in a
sentence what limits it.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
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
MESSAGES_OF_DETAILS_MAX = 200e3
BYTES_OF_ONE_MAX = 400e6  # of a case that may run beside others
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

    spans: bool = False  # whether it lists what each rank did when

    def document(self) -> dict:
        return dataclasses.asdict(self)


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


def rate_of(machine: machines.Machine, name: str) -> float:
    value = needed(machine, name)
    if value <= 0:
        raise SimulationError(f"{machine.name}: {name} = {value:g}, expected a number above 0")
    return value


def request(machine: machines.Machine, cases, shape=None, directions: int = 1, only_names=False) -> dict:
    """What the program reads. `shape`: of a torus or a crossbar, the machine's own if it is not given;
    `directions`: how many links of a torus's node work at a time, which share all that a node can send."""
    topology = machine.topology
    if topology is None:
        raise SimulationError(f"{machine.name}: has no topology, expected one (docs/simulate.md)")
    shape = list(shape or topology.shape)
    if topology.kind in ("torus", "crossbar"):
        topology = dataclasses.replace(
            topology, shape=shape if topology.kind == "torus" else [math.prod(shape)]
        )
    rate = rate_of(machine, "link_bytes_per_second")
    if machine.value("total_bytes_per_second") is not None:
        links = directions if topology.kind == "torus" else 1
        rate = min(rate, rate_of(machine, "total_bytes_per_second") / links)
    network = {name: getattr(topology, name) for name in ("kind", "shape", "down", "up", "links", "slow")}
    document = {
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
        "cases": [case.document() for case in cases],
    }
    if machine.value("storage_targets"):
        document["storage"] = {
            "targets": int(machine.value("storage_targets")),
            "targets_per_server": int(machine.value("targets_per_server") or 1),
            "node_bytes_per_second": rate_of(machine, "storage_link_bytes_per_second"),
            "server_bytes_per_second": rate_of(machine, "server_bytes_per_second"),
            "target_bytes_per_second": rate_of(machine, "target_bytes_per_second"),
        }
    return document


def directions_of(algorithm: str) -> int:
    return {"multi_ring": 4, "grid_2": 2, "grid_3": 3}.get(algorithm, 1)


def ask(document: dict, simulator: pathlib.Path | None = None) -> dict:
    done = subprocess.run(
        [simulator or program()], input=json.dumps(document), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SimulationError(done.stderr.strip() or "tasuki-simulate ended early")
    return json.loads(done.stdout)


def ask_each(
    documents: list[dict],
    simulator: pathlib.Path | None = None,
    at_a_time: int = 0,
    on_end: collections.abc.Callable[[int], None] | None = None,
) -> list[tuple[dict, str]]:
    """The answer to the one case of each document, and the engine's name. As many simulators run `at_a_time`
    as there are processors, if it is not told; `on_end` is called with the number of each that has ended."""
    simulator = simulator or program()

    def answer(number: int) -> tuple[dict, str]:
        found = ask(documents[number], simulator)
        if on_end is not None:
            on_end(number)
        return found["answers"][0], found["engine"]

    workers = at_a_time or len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        return list(pool.map(answer, range(len(documents))))


def messages_of(case: Case, ranks: int, directions: int) -> float:
    """About how many messages a case has: for the estimate."""
    if case.operation in ("allgather", "alltoall"):
        return ranks * (ranks - 1) * directions
    segment = case.segment_bytes or 16384
    pieces = max(1, min(1024 * directions, case.bytes / segment))
    return ranks * pieces * (2 if case.operation == "allreduce" else 1) + ranks * math.log2(max(2, ranks))


def nodes_of(machine: machines.Machine, shape=None) -> int:
    if machine.topology is None:
        raise SimulationError(f"{machine.name}: has no topology, expected one (docs/simulate.md)")
    topology = machine.topology
    if shape or topology.kind in ("torus", "crossbar"):
        return math.prod(shape or topology.shape)
    return math.prod(topology.down) * (topology.shape[0] if topology.kind == "dragonfly" else 1)


def estimate(machine: machines.Machine, cases, shape=None) -> dict:
    """What the cases will take, before they are run; refuses those that are too large."""
    ranks = nodes_of(machine, shape) * int(machine.value("ranks_per_node") or 1)
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
    return {"messages": total, "seconds": total / 80e3, "memory_bytes": most * BYTES_OF_MESSAGE}


def run(
    machine: machines.Machine, cases, shape=None, simulator: pathlib.Path | None = None, on_end=None
) -> list[dict]:
    """The answers to the cases, in their order."""
    cases = list(cases)
    documents = [request(machine, [case], shape, directions_of(case.algorithm)) for case in cases]
    memory = max((estimate(machine, [case], shape)["memory_bytes"] for case in cases), default=0)
    found = ask_each(documents, simulator, 1 if memory > BYTES_OF_ONE_MAX else 0, on_end)
    return [
        dataclasses.asdict(case) | answer | {"engine": engine}
        for case, (answer, engine) in zip(cases, found, strict=True)
    ]


def best(answers: list[dict]) -> dict:
    """Of the largest size, the one that takes the least time."""
    last = max(one["bytes"] for one in answers)
    return min((one for one in answers if one["bytes"] == last), key=lambda one: one["seconds"])


def details(machine: machines.Machine, answer: dict, shape=None, simulator=None) -> dict | None:
    """The answer once more, with the loads of its links and what each rank did when; None where that is too
    much."""
    if answer["messages"] > MESSAGES_OF_DETAILS_MAX:
        return None
    names = [field.name for field in dataclasses.fields(Case)]
    asked = {name: answer[name] for name in names} | {"links": True, "spans": True}
    (told,) = run(machine, [Case(**asked)], shape, simulator)
    return told


def write_goal(machine: machines.Machine, case: Case, path, shape=None, simulator=None) -> dict:
    """Writes the schedules of a case in GOAL (src/sim/goal.hpp says how): in its binary form to a file
    called *.bin, else as text."""
    form = "binary" if os.fspath(path).endswith(".bin") else "text"
    document = request(machine, [], shape, directions_of(case.algorithm))
    document["cases"] = [case.document() | {"goal": os.path.abspath(path), "goal_form": form}]
    return ask(document, simulator)["answers"][0]


def algorithms(
    machine: machines.Machine, operation: str, bytes: int, shape=None, simulator=None
) -> list[str]:
    """Those of the library that are valid for these ranks, and go by messages."""
    return ask(request(machine, [Case(operation, bytes)], shape, only_names=True), simulator)["answers"][0]


BUSY = 0.8  # of the time: what is so busy limits


def limit(answer: dict) -> str:
    """What limits it, in a word or two."""
    seconds, link = answer["seconds"], answer.get("busiest_link")
    processor = answer["processor_busy_seconds"] / seconds if seconds > 0 else 0
    if link and link["busy"] >= BUSY and link["busy"] >= processor:
        return f"link {link['name']}"
    return "a processor" if processor >= BUSY else "waiting"


def reason(answer: dict) -> str:
    """What limits it, in a sentence."""
    seconds, link = answer["seconds"], answer.get("busiest_link")
    processor = answer["processor_busy_seconds"] / seconds if seconds > 0 else 0
    what = limit(answer)
    if what.startswith("link"):
        return (
            f"link {link['name']} limits it: {link['busy']:.0%} of the time it carries what {link['pairs']} "
            f"pairs of nodes send, at {link['bytes_per_second'] / 1e6:,.0f} MB/s"
        )
    if what == "a processor":
        return f"a processor limits it: it is busy {processor:.0%} of the time, with software and reductions"
    busy = f"the busiest link works {link['busy']:.0%} of the time, " if link else ""
    return f"waiting limits it: {busy}the busiest processor {processor:.0%}; the rest is waiting for others"
