"""The papers' tables beside what the simulation says: predicted, printed, off by."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib

from tasuki import machines
from tasuki.simulation import Case, Line, ask_each, directions_of, estimate, fit, needed, request
from tasuki.simulation import exchange as exchanges
from tasuki.simulation.exchange import LAYOUTS, ORDERS, PLACEMENTS, Exchange, run_exchanges


@dataclasses.dataclass(frozen=True)
class Printed:
    """A line of a paper's table, and what the simulation says."""

    case: str
    quantity: str
    unit: str
    predicted: float
    printed: float | None  # None: no number is printed
    kind: str  # estimated, measured, fitted (a number of the machine was chosen so that it fits), or a note

    @property
    def off(self) -> float | None:
        return None if self.printed is None else self.predicted / self.printed - 1


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


SHORT_BYTES = 64  # of an Allgather that is all latency
LONG = (
    ("Allgather from 64 KiB", "allgather", "multi_ring", (8, 6, 8), 384, (256 * KIB, 512 * KIB)),
    ((15040, 252), (13210, 201)),
)
FULL = (48, 54, 32)  # guess: the whole machine as a torus, one of the shapes of 82,944 nodes
FULL_BYTES = 384 * KIB


def paper_004(
    simulator: pathlib.Path | None = None, table=TABLE_004, allgather: bool = True, on_start=None
) -> list[Printed]:
    """The K computer: table 1, by data; t_O and t_S are added, as the paper has them. Beside it, the same by
    rounds, as the library's executor runs them."""
    machine = machines.load("k-computer")
    value = machine.value
    start = value("decision_seconds") + value("addresses_seconds")
    control, link = value("control_seconds"), value("link_bytes_per_second")
    lines = [((*row[:6], SEGMENT), row[6:]) for row in table]
    pair = ("PingPong", "bcast", "binomial", (2,), 1, (64 * KIB, 4 * MIB), 0)
    lines.insert(0, (pair, ((link / 1e6, 6.965), (4685, 10.5))))
    if allgather:
        lines.append(((*LONG[0], 0), LONG[1]))
    asked = [
        (Case(operation, size, algorithm, segment, way), shape)
        for (_, operation, algorithm, shape, _, sizes, segment), _ in lines
        for way in ("data", "rounds")
        for size in sizes
    ]
    short = Case("allgather", SHORT_BYTES, "multi_ring", way="data")
    times = [
        one["seconds"]
        for one in run_all(machine, [*asked, *[(short, (8, 6, 8))] * allgather], simulator, on_start)
    ]
    found = []
    for (name, _, _, _, factor, sizes, _), (estimated, measured) in lines:
        added = control if name == "PingPong" else start
        bytes = [factor * size for size in sizes]
        data, rounds = (
            fit(bytes, [time + added for time in times[at : at + len(sizes)]]) for at in (0, len(sizes))
        )
        del times[: 2 * len(sizes)]
        if name == "Allgather from 64 KiB":
            found += short_rows((times[-1] + start) * 1e6)
        found += rows(name, data, estimated, measured)
        if name != "PingPong":
            values = (rounds.bytes_per_second / 1e6, rounds.latency_seconds * 1e6)
            found += [
                Printed(f"{name}, by rounds", quantity, unit, one, None, "not in the paper")
                for quantity, unit, one in zip(("B'", "t_L"), ("MB/s", "µs"), values, strict=True)
            ]
    return found


def short_rows(latency: float) -> list[Printed]:
    case = "Allgather to 32 KiB"
    return [
        Printed(case, "t_L", "µs", latency, printed, kind)
        for printed, kind in ((1544, "estimated"), (1590, "measured"))
    ]


def paper_004_full(simulator: pathlib.Path | None = None, on_start=None) -> list[Printed]:
    """All 82,944 nodes of the K computer, beside the paper's formula: it measured none."""
    machine = machines.load("k-computer")
    start = machine.value("decision_seconds") + machine.value("addresses_seconds")
    found = []
    for operation, factor, rate, latency in (
        ("bcast", 1, 12680e6, 914e-6),
        ("allreduce", 2, 5129e6, 3430e-6),
    ):
        case = Case(operation, FULL_BYTES, "grid_3", SEGMENT, "data")
        (answer,) = run_all(machine, [(case, FULL)], simulator, on_start)
        formula = latency + factor * FULL_BYTES / rate
        name = f"{operation} of {FULL_BYTES >> 10} KiB, 82,944 nodes"
        predicted = (answer["seconds"] + start) * 1e6
        found.append(Printed(name, "time", "µs", predicted, formula * 1e6, "by formula"))
    return found


def run_all(
    machine: machines.Machine, asked: list[tuple[Case, tuple]], simulator=None, on_start=None
) -> list[dict]:
    """The answers to cases, each on a shape of its own. `on_start(total, each)`: gives what is to be called
    with the number of each that has ended."""
    documents = [request(machine, [case], shape, directions_of(case.algorithm)) for case, shape in asked]
    each = [estimate(machine, [case], shape) for case, shape in asked]
    return [answer for answer, _ in asked_with_bar(documents, each, simulator, on_start)]


def asked_with_bar(documents: list[dict], each: list[dict], simulator, on_start) -> list:
    total = {name: sum(one[name] for one in each) for name in ("messages", "seconds")}
    total["memory_bytes"] = max(one["memory_bytes"] for one in each)
    with on_start(total, each) if on_start else contextlib.nullcontext() as on_end:
        return ask_each(documents, simulator, on_end=on_end)


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


def paper_000(simulator: pathlib.Path | None = None, on_start=None) -> list[Printed]:
    """The Earth Simulator: 64 nodes exchange 6 MiB each with each, shifted; and Trans7, 2,400 of them. What a
    message takes beyond the crossbar's rate is what tables 2 and 3 print for a call, and so are barrier and
    fence, which are delays."""
    machine, nodes = machines.load("earth-simulator"), 64
    rate = needed(machine, "link_bytes_per_second")
    for name in ("software_seconds", "copy_bytes_per_second", "memory_bytes_per_second"):
        machine = machine.with_value(name, 0)
    case = Case("alltoall", EXCHANGE, "pairwise")
    changed = [machine.with_value("hardware_seconds", row[1][1] - row[1][0] / rate) for row in TABLE_000]
    documents = [request(one, [case], (nodes,)) for one in changed]
    each = [estimate(machine, [case], (nodes,))] * len(documents)
    answers = asked_with_bar(documents, each, simulator, on_start)
    found = []
    for row, (answer, _) in zip(TABLE_000, answers, strict=True):
        way, _, barrier, fence, exchange, estimated, measured = row
        time = answer["seconds"] + (nodes - 1) * barrier + fence
        found.append(Printed(way, "exchange", "ms", time * 1e3, exchange * 1e3, "measured"))
        for printed, kind in ((estimated, "estimated"), (measured, "measured")):
            found.append(Printed(way, "Trans7", "s", TRANS7_EXCHANGES * time, printed, kind))
    return found


HPIO = Exchange("rank", "BK", 12, "block", 3744, 256, 48000, cycles=2, cycles_at_a_time=1)
EVEN_BYTES = 3744  # guess: figure 8 tells of no size
STOCK, LAYOUT_ALONE = "HPIO, stock", "HPIO, aggregators in turn"


def paper_002(simulator: pathlib.Path | None = None, on_start=None) -> list[Printed]:
    """TSUBAME2.5: the exchange of each with each of figure 8, and HPIO, whose three printed throughputs three
    numbers of the machine are fitted to; twelve aggregators a node, as in figure 11."""
    machine = machines.load("tsubame2.5")
    orders = ORDERS[:4]
    even = [
        Exchange(order, placement, 12, "block", even_bytes=EVEN_BYTES, cycles=1)
        for placement in PLACEMENTS
        for order in orders
    ]
    changed = [HPIO, dataclasses.replace(HPIO, aggregator_layout=LAYOUTS[1])]
    changed += [dataclasses.replace(changed[1], order=order) for order in orders[1:]]
    asked = even + changed
    each = [exchanges.estimate(machine, [one], 64) for one in asked]
    total = exchanges.estimate(machine, asked, 64)
    with on_start(total, each) if on_start else contextlib.nullcontext() as on_end:
        answers = run_exchanges(machine, asked, (64,), simulator, on_end)
    found = []
    for one in answers[: len(even)]:
        case = f"each with each, {one['placement']}, {one['order']}"
        times = one["rank_seconds"]
        ends = (
            ("time", "bounds", one["seconds"] / one["bound_seconds"]),
            ("last rank", "first", times[-1] / times[0]),
        )
        found += [Printed(case, quantity, unit, value, None, "drawn") for quantity, unit, value in ends]
    rates = [one["bytes_per_second"] / 1e9 for one in answers[len(even) :]]
    names = [STOCK, LAYOUT_ALONE] + [f"{LAYOUT_ALONE}, {order}" for order in orders[1:]]
    best = max(rates)
    printed = [None] * len(rates)
    printed[rates.index(best)] = 7.4
    for name, rate, number in zip(names, rates, printed, strict=True):
        found.append(Printed(name, "rate", "GB/s", rate, number, "fitted" if number else ""))
    for name, rate, ratio in ((STOCK, rates[0], 1.67), (LAYOUT_ALONE, rates[1], 1.16)):
        found.append(Printed(f"best over {name}", "ratio", "", best / rate, ratio, "fitted"))
    return found


PAPERS = {"004": paper_004, "004-full": paper_004_full, "000": paper_000, "002": paper_002}
