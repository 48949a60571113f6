"""Collective writes on a simulated machine: which order of exchange, which aggregators, how many.

A list of exchanges is a TOML file; where a field has an array, each value is tried with each of the others:

    placement = ["BK", "RR"]                  # ranks fill nodes in blocks, or go round them
    order = "all"                             # or some of rank, pairwise, nd_shift, nd_rank_shift, weighted
    aggregators_per_node = [1, 12]
    aggregator_layout = ["block", "round_robin"]
    region_bytes = "3744"                     # of each rank in turn, with a gap behind it
    gap_bytes = 256
    regions = 48000                           # of a rank
    cycles = 2                                # that are simulated, of those of the file
    cycles_at_a_time = 2                      # 1: a cycle begins when all have ended the last one

Without regions, `even_bytes` go from each rank to each aggregator once, and no file is written. What is wrong
with a file is a `SimulationError` that names file, field, value and what was expected.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import tomllib

from tasuki import machines, patterns
from tasuki.simulation import SimulationError, ask_each, needed, request

ORDERS = ("rank", "pairwise", "nd_shift", "nd_rank_shift", "weighted")
PLACEMENTS = {"BK": "block", "RR": "round_robin"}
LAYOUTS = ("block", "round_robin")
QUEUED_BYTES_MAX = 4096  # two packets: shorter messages go through links one after the other
SECONDS_OF_MESSAGE = 10e-6  # of the simulator, measured
MESSAGES_MAX = 20e6


@dataclasses.dataclass(frozen=True)
class Exchange:
    order: str = "nd_rank_shift"
    placement: str = "BK"
    aggregators_per_node: int = 1
    aggregator_layout: str = "round_robin"
    region_bytes: int = 0
    gap_bytes: int = 0
    regions: int = 0
    even_bytes: int = 0
    cycles: int = 2
    cycles_at_a_time: int = 2

    def document(self, machine: machines.Machine) -> dict:
        exchange = dataclasses.asdict(self) | {
            "placement": PLACEMENTS[self.placement],
            "messages_under_way": int(machine.value("messages_under_way") or 0),
            "receive_seconds": machine.value("receive_overhead_seconds") or 0,
            "gap_seconds": machine.value("gap_seconds") or 0,
            "handover_seconds": machine.value("handover_seconds") or 0,
            "buffer_bytes": int(machine.value("stripe_bytes") or 1 << 20),
            "queued_bytes_max": QUEUED_BYTES_MAX,
        }
        return {"exchange": exchange}

    def messages(self, nodes: int, ranks: int, buffer_bytes: int) -> float:
        """About how many it has."""
        aggregators = nodes * min(self.aggregators_per_node, ranks // nodes)
        if self.even_bytes:
            return float(ranks * aggregators)
        of_window = min(ranks, buffer_bytes / max(1, self.region_bytes + self.gap_bytes) + 1)
        return self.cycles * aggregators * of_window


def read(path: str | pathlib.Path) -> list[Exchange]:
    """All that the file asks for."""
    try:
        document = tomllib.loads(pathlib.Path(path).read_text())
    except OSError as error:
        raise SimulationError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SimulationError(f"{path}: is no TOML document: {error}") from None
    known = {field.name: field.type for field in dataclasses.fields(Exchange)}
    choices = {}
    for name, value in document.items():
        if name not in known:
            raise SimulationError(f"{path}: {name} is no field here, expected {', '.join(known)}")
        values = value if isinstance(value, list) else [value]
        if name == "order" and values == ["all"]:
            values = list(ORDERS)
        choices[name] = [checked(path, name, one) for one in values]
        if not values:
            raise SimulationError(f"{path}: {name} = [], expected a value or some")
    if ("even_bytes" in choices) == ("regions" in choices):
        raise SimulationError(f"{path}: expected either even_bytes, or regions and region_bytes")
    if "regions" in choices and "region_bytes" not in choices:
        raise SimulationError(f"{path}: region_bytes is not given, expected a size")
    return [Exchange(**dict(zip(choices, one, strict=True))) for one in itertools.product(*choices.values())]


def checked(path, name: str, value):
    texts = {"order": ORDERS, "placement": tuple(PLACEMENTS), "aggregator_layout": LAYOUTS}
    if name in texts:
        if value not in texts[name]:
            raise SimulationError(f"{path}: {name} = {value!r}, expected {', '.join(texts[name])}")
        return value
    if isinstance(value, str) and name.endswith("_bytes"):
        try:
            value = int(
                patterns.quantity(value, patterns.SIZES, f"{path}: {name}", "a size such as 64 or 8KiB")
            )
        except patterns.PatternsError as error:
            raise SimulationError(str(error)) from None
    least = 0 if name == "gap_bytes" else 1
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SimulationError(f"{path}: {name} = {value!r}, expected a whole number from {least} on")
    return value


def estimate(machine: machines.Machine, exchanges, nodes: int) -> dict:
    """What they will take; refuses those that are too large."""
    ranks = nodes * int(machine.value("ranks_per_node") or 1)
    buffer_bytes = int(machine.value("stripe_bytes") or 1 << 20)
    total = 0.0
    for one in exchanges:
        messages = one.messages(nodes, ranks, buffer_bytes)
        if messages > MESSAGES_MAX:
            raise SimulationError(
                f"{one.cycles} cycles among {ranks} ranks: about {messages:.2g} messages, "
                f"expected at most {MESSAGES_MAX:.0e}: fewer cycles or aggregators"
            )
        total += messages
    return {
        "messages": total,
        "seconds": total * SECONDS_OF_MESSAGE,
        "memory_bytes": 64e6 + 400 * ranks * ranks,
    }


def run_exchanges(
    machine: machines.Machine, exchanges, shape=None, simulator: pathlib.Path | None = None, on_end=None
) -> list[dict]:
    """The answers, in their order; `bytes_per_second` is that of the file, or of what was exchanged."""
    exchanges = list(exchanges)
    if any(one.regions for one in exchanges):
        needed(machine, "storage_targets")
    document = request(machine, [], shape)
    documents = [document | {"cases": [one.document(machine)]} for one in exchanges]
    answers = []
    found = ask_each(documents, simulator, on_end=on_end)
    for one, (answer, engine) in zip(exchanges, found, strict=True):
        bytes = answer["written_bytes"] or answer["received_bytes"]
        rate = {"bytes_per_second": bytes / answer["seconds"], "engine": engine}
        answers.append(dataclasses.asdict(one) | answer | rate)
    return answers


NAMES = {
    "order": "order",
    "placement": "placement",
    "aggregator_layout": "aggregators in",
    "aggregators_per_node": "aggregators a node",
}


def advice(answers: list[dict]) -> list[str]:
    """Sentences: what is the best, and how much worse each single change of it would be."""
    best = max(answers, key=lambda one: one["bytes_per_second"])
    choice = ", ".join(f"{title} {best[name]}" for name, title in NAMES.items())
    sentences = [f"best: {choice}"]
    for name, title in NAMES.items():
        for one in answers:
            same = all(one[other] == best[other] for other in NAMES if other != name)
            if not same or one[name] == best[name]:
                continue
            ratio = best["bytes_per_second"] / one["bytes_per_second"]
            alike = f"{title} {one[name]} instead of {best[name]} would take "
            sentences.append(alike + (f"{ratio:.2f} times as long" if ratio >= 1.005 else "as long"))
    return sentences
