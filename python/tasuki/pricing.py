"""What an operation costs on a machine: a `Pricer` of a run's rows or of a file of parameters.

`price(operation, ranks, bytes)` looks, in this order, for

1. the pattern measured among so many ranks: the time at that size, the line between its neighbours, or,
   outside, the fitted line (told as extrapolated); of a "v" form that was measured at too few sizes for a
   line, the plain form's time, in proportion to both at the last size (told as substituted);
2. the pattern among other numbers of ranks: between two, by the logarithm of the ranks; outside, in
   proportion to what a textbook algorithm of messages costs (told as substituted);
3. a formula of tasuki.model, where the machine's parameters are known;
4. a textbook algorithm of messages (told as substituted).

Each `Price` says how it was found. What nothing tells is a `PricingError` that names what is missing.
"""

from __future__ import annotations

import dataclasses
import math
import re

from tasuki import machines, model
from tasuki.machines import Curve, Machine
from tasuki.results import Run
from tasuki.units import bytes_text

NEAR = 0.03  # outside what was measured, a size so near a measured one counts as that
TEXTBOOK = "substituted: {} by messages of a textbook algorithm"
PINGPONG = "point_to_point/pingpong"
ONE_WAY = "point_to_point/one_way"
PLAIN = {
    **{f"{name}v": name for name in ("alltoall", "allgather", "gather", "scatter")},
    "alltoallw": "alltoall",
    "reduce_scatter": "reduce_scatter_block",
}


class PricingError(ValueError):
    """A price that the machine's parameters do not tell."""


@dataclasses.dataclass(frozen=True)
class Price:
    seconds: float
    low: float | None  # None: no interval is known
    high: float | None
    how: str  # "measured", "between 8 B and 16 B", "substituted: …"


@dataclasses.dataclass(frozen=True)
class PointToPoint:
    """A message in LogGP's parts; their sum is half a round trip of a ping-pong of that size."""

    sender_seconds: float  # o_s
    wire_seconds: float  # L
    transfer_seconds: float  # what the size adds: (M - 1)·G in its segment
    receiver_seconds: float  # o_r
    rendezvous: bool  # whether the sender waits for the receive
    how: str

    @property
    def seconds(self) -> float:
        return self.sender_seconds + self.wire_seconds + self.transfer_seconds + self.receiver_seconds


class Pricer:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.found: dict[str, list[Curve]] = {}
        self.prices: dict[tuple, Price | None] = {}

    @staticmethod
    def of_run(run: Run) -> Pricer:
        return Pricer(machines.of_run(run))

    @staticmethod
    def of_machine(machine: Machine) -> Pricer:
        return Pricer(machine)

    def price(self, operation: str, ranks: int, bytes: float, used: float = 0.0) -> Price:
        """The time of one operation: a pattern "group/benchmark[/name=value,…]" (or without the group), or an
        MPI function. `bytes` as the suite counts them (docs/mbl.md). `used`, from 0 to 2: how much the ranks
        computed since they last did so; 1 is what the suite's form=used does, 2 what its form=cold does."""
        asked = operation, ranks, bytes
        if asked not in self.prices:
            self.prices[asked] = self.looked_up(*asked)
        if not used:
            return self.prices[asked]
        stages = ["", *(f"collectives/{benchmark_of(operation)}/form={form}" for form in ("used", "cold"))]
        return self.after_computing(self.prices[asked], stages, ranks, bytes, used)

    def after_computing(self, warm: Price, stages: list[str], ranks: int, bytes: float, used: float) -> Price:
        """Between the warm price and those of the patterns `stages`; what was not measured is left out. Where
        all caches are cold, memory may be nearer than another processor's cache. But a program has just
        written what it sends: more computing makes nothing quicker."""
        known = [(0.0, warm)]
        for stage, pattern in enumerate(stages):
            asked = pattern, ranks, bytes
            if pattern and asked not in self.prices:
                self.prices[asked] = self.measured(self.curves_of(pattern), ranks, bytes)
            if pattern and self.prices[asked] is not None:
                known.append(
                    (float(stage), max(self.prices[asked], known[-1][1], key=lambda one: one.seconds))
                )
        for (left, low), (right, high) in zip(known, known[1:], strict=False):
            if used <= right:
                return mixed(low, high, (used - left) / (right - left), warm.how)
        return known[-1][1]

    def looked_up(self, operation: str, ranks: int, bytes: float) -> Price:
        curves = self.curves_of(operation)
        price = self.measured(curves, ranks, bytes)
        if price is not None:
            return price
        benchmark = benchmark_of(operation)
        if benchmark == "pingpong":
            return self.message(bytes)
        price = self.estimate(benchmark, ranks, bytes)
        if price is None:
            raise PricingError(self.missing(operation, ranks, bytes, curves))
        return price

    def measured(self, curves: list[Curve], ranks: int, bytes: float) -> Price | None:
        """Among so many ranks; where the curves are all of others, by those."""
        exact = [curve for curve in curves if curve.ranks == ranks]
        if curves and not exact:
            return self.among_other_ranks(curves, ranks, bytes)
        found = (self.on_curve(curve, bytes) for curve in exact)
        return next((price for price in found if price is not None), None)

    def on_curve(self, curve: Curve, bytes: float) -> Price | None:
        price = at(curve, bytes)
        return price if price is not None else self.as_plain_form(curve, bytes)

    def missing(self, operation: str, ranks: int, bytes: float, curves: list[Curve]) -> str:
        asked = f"{operation} among {ranks} ranks at {bytes_text(bytes)}"
        if curves:
            known = ", ".join(str(curve.ranks) for curve in curves)
            return f"{self.machine.name}: nothing tells the time of {asked}: measured among {known} ranks"
        known = sorted({curve.pattern for curve in self.machine.curves})
        shown = ", ".join(known[:6]) + (f" and {len(known) - 6} more" if len(known) > 6 else "")
        return f"{self.machine.name}: nothing tells the time of {asked}: it knows {shown or 'no pattern'}"

    # ---- curves ----

    def curves_of(self, operation: str) -> list[Curve]:
        """The curves of the pattern, by ranks. Of several variants that fit, the one with the most sizes: the
        suite gives those to its base variant; of two, the one whose data are in use. An MPI function may do
        with another form's or mode's."""
        if operation not in self.found:
            group, benchmark, variant = pattern_of(operation)
            named = [
                curve
                for curve in self.machine.curves
                if curve.benchmark == benchmark and group in ("", curve.group)
            ]
            fitting = [curve for curve in named if variant.items() <= curve.variant.items()]
            if operation.startswith("MPI_"):
                fitting = fitting or named
            best = max(fitting, key=lambda one: preference_of(one, variant), default=None)
            chosen = [one for one in fitting if best and one.pattern == best.pattern]
            self.found[operation] = sorted(chosen, key=lambda curve: curve.ranks)
        return self.found[operation]

    def among_other_ranks(self, curves: list[Curve], ranks: int, bytes: float) -> Price | None:
        fewer = [curve for curve in curves if curve.ranks < ranks]
        more = [curve for curve in curves if curve.ranks > ranks]
        if fewer and more:
            low, high = fewer[-1], more[0]
            prices = self.on_curve(low, bytes), self.on_curve(high, bytes)
            if None not in prices:
                share = math.log(ranks / low.ranks) / math.log(high.ranks / low.ranks)
                return mixed(*prices, share, f"between {low.ranks} and {high.ranks} ranks")
        nearest = fewer[-1] if fewer else more[0]
        price = self.on_curve(nearest, bytes)
        wanted, known = (self.estimate(nearest.benchmark, count, bytes) for count in (ranks, nearest.ranks))
        if price is None or wanted is None or known is None or not known.seconds:
            return None
        ratio = wanted.seconds / known.seconds
        how = f"substituted: {nearest.ranks} ranks, times {ratio:.3g} by {wanted.how.split(' by ')[-1]}"
        return Price(price.seconds * ratio, None, None, how)

    def as_plain_form(self, curve: Curve, bytes: float) -> Price | None:
        """Of a form whose few sizes tell no line: the suite measures the plain form at all sizes."""
        plain = PLAIN.get(curve.benchmark)
        if plain is None or not curve.points:
            return None
        known = min(curve.points, key=lambda point: abs(math.log((point.bytes + 1) / (bytes + 1))))
        for other in self.curves_of(f"{curve.group}/{plain}/form={curve.variant.get('form', 'blocking')}"):
            there, here = at(other, bytes), at(other, known.bytes)
            if other.ranks == curve.ranks and there is not None and here is not None and here.seconds:
                ratio = known.seconds / here.seconds
                how = f"substituted: {plain}, times {ratio:.3g} as at {bytes_text(known.bytes)}"
                return Price(there.seconds * ratio, None, None, how)
        return None

    # ---- formulas ----

    def estimate(self, benchmark: str, ranks: int, bytes: float) -> Price | None:
        """Without any measurement of this pattern: by a formula, or by messages."""
        price = self.by_formula(benchmark, ranks, bytes)
        return price if price is not None else self.by_messages(benchmark, ranks, bytes)

    def network(self) -> model.Network | None:
        """The parameters of the throughput model, or None where one of them is unknown."""
        value = self.machine.value
        needed = [value(name) for name in ("software_seconds", "hardware_seconds", "link_bytes_per_second")]
        if None in needed:
            return None
        total = value("total_bytes_per_second") or needed[2]
        others = value("decision_seconds") or 0.0, value("addresses_seconds") or 0.0
        return model.Network(*needed, total, *others, value("memory_bytes_per_second") or math.inf)

    def by_formula(self, benchmark: str, ranks: int, bytes: float) -> Price | None:
        """The throughput model's pipelines and rings, on machines whose parameters are known."""
        network = self.network()
        segment = self.machine.value("segment_bytes")
        if network is None or segment is None or ranks < 2 or bytes < 1:
            return None
        shape = shape_of(ranks, int(self.machine.value("dimensions") or 1))
        how = f"substituted: {benchmark} by a formula for {'x'.join(map(str, shape))} nodes"
        if benchmark == "bcast":
            seconds = model.bcast(network, shape, segment, bytes)
        elif benchmark == "allgather" and ranks > model.RINGS and len(shape) == model.RINGS:
            seconds = model.allgather(network, ranks, bytes)
        elif benchmark == "allreduce":
            arithmetic = self.machine.value("arithmetic_bytes_per_second")
            arithmetic = arithmetic or model.arithmetic_throughput(network, len(shape))
            seconds = model.allreduce(network, shape, segment, bytes, arithmetic)
        else:
            return None
        trees = self.textbook(benchmark, ranks, bytes)
        if trees and trees < seconds:
            return Price(trees, None, None, TEXTBOOK.format(benchmark))
        return Price(seconds, None, None, how)

    def by_messages(self, benchmark: str, ranks: int, bytes: float) -> Price | None:
        seconds = self.textbook(benchmark, ranks, bytes)
        if seconds is None:
            return None
        how = TEXTBOOK.format(benchmark)
        return Price(seconds, None, None, how)

    def textbook(self, benchmark: str, ranks: int, bytes: float) -> float | None:
        return model.by_messages(benchmark, ranks, bytes, lambda size: self.message(size).seconds)

    # ---- messages ----

    def message(self, bytes: float, mode: str = "") -> Price:
        """Half a round trip of a ping-pong."""
        curves = mode and self.curves_of(f"{PINGPONG}/mode={mode}") or self.curves_of(PINGPONG)
        for curve in curves:
            price = at(curve, bytes)
            if price is not None:
                return price
        latency, link = (self.needed(name) for name in ("latency_seconds", "link_bytes_per_second"))
        eager = self.machine.value("eager_bytes_max")
        control = self.machine.value("control_seconds") or 0.0
        if eager is None or bytes <= eager:
            control = 0.0
        return Price(latency + control + bytes / link, None, None, "by latency and link bandwidth")

    def point_to_point(self, bytes: float, mode: str = "", used: float = 0.0) -> PointToPoint:
        """A message in parts. Overheads that are unknown are a third of the least message's time each; on
        machines with L_S and L_H half of L_S each. `used`: as of price()."""
        least, whole = self.message(1, mode).seconds, self.message(bytes, mode)
        stages = ["", *(f"{ONE_WAY}/cache={state}" for state in ("used", "cold"))]
        if any(self.curves_of(stage) for stage in stages[1:]):
            whole = self.after_computing(whole, stages, 2, bytes, used)
        else:
            whole = dataclasses.replace(whole, seconds=whole.seconds * self.times_touched(bytes, mode))
        value = self.machine.value
        send, receive, how = value("send_overhead_seconds"), value("receive_overhead_seconds"), whole.how
        if send is None or receive is None:
            software = value("software_seconds")
            default = software / 2 if software is not None else least / 3
            missing = "o_s, o_r" if send is None and receive is None else "o_s" if send is None else "o_r"
            how += f"; {missing} substituted: " + (
                "half of L_S" if software is not None else "a third of t_L"
            )
            send, receive = send if send is not None else default, receive if receive is not None else default
        scale = min(1.0, least / (send + receive)) if send + receive > 0 else 1.0
        send, receive = send * scale, receive * scale
        short = min(least, whole.seconds)
        send, receive = send * short / least, receive * short / least
        eager = value("eager_bytes_max")
        rendezvous = eager is not None and bytes > eager
        wire = max(short - send - receive, 0.0)
        return PointToPoint(send, wire, whole.seconds - short, receive, rendezvous, how)

    def times_touched(self, bytes: float, mode: str) -> float:
        """How much longer a message takes whose data the ranks write before and read after, as programs do:
        the suite measures that at a few sizes, and the base variant does not touch its buffers."""
        base = self.curves_of(f"{PINGPONG}/mode={mode}" if mode else PINGPONG)
        base = base[0] if base else None
        if base is None or base.variant.get("touched") != "no":
            return 1.0
        wanted = base.variant | {"touched": "yes"}
        there = [one for one in self.machine.curves if one.benchmark == "pingpong" and one.variant == wanted]
        known = [
            (math.log(point.bytes), point.seconds / here.seconds)
            for one in there
            for point in one.points
            if point.bytes > 0 and one.ranks == base.ranks and (here := at(base, point.bytes))
        ]
        if not known or bytes < 1:
            return 1.0
        return between(sorted(known), math.log(bytes))

    def needed(self, name: str) -> float:
        value = self.machine.value(name)
        if value is None:
            told = self.machine.parameters.get(name)
            why = f"unknown ({told.note})" if told else "not told of"
            what = f"{self.machine.name}: {name} ({machines.PARAMETERS[name]})"
            raise PricingError(f"{what} is {why}; --set {name}=VALUE gives it")
        return value


# ---- one curve -----------------------------------------------------------------------------------------


def at(curve: Curve, bytes: float) -> Price | None:
    """The time at a size: a measured one, on the line between two, or on a fitted line. None: not told."""
    points = curve.points
    for point in points:
        if bytes == point.bytes:
            return Price(point.seconds, point.low, point.high, "measured")
    for left, right in zip(points, points[1:], strict=False):
        if left.bytes < bytes < right.bytes:
            share = (bytes - left.bytes) / (right.bytes - left.bytes)
            ends = [Price(one.seconds, one.low, one.high, "") for one in (left, right)]
            return mixed(*ends, share, f"between {bytes_text(left.bytes)} and {bytes_text(right.bytes)}")
    for point in points:
        if abs(bytes - point.bytes) <= NEAR * point.bytes:
            return Price(point.seconds, point.low, point.high, f"measured at {bytes_text(point.bytes)}")
    return on_lines(curve, bytes)


def on_lines(curve: Curve, bytes: float) -> Price | None:
    """The time on the fitted lines. They go on beyond the largest size; below the smallest only where they
    are fitted to points, for published lines begin where a protocol does."""
    lines = curve.lines()
    if not lines or (bytes < lines[0].bytes_first and not curve.points):
        return None
    line = next((one for one in lines if bytes <= one.bytes_last), lines[-1])
    latency, bandwidth = line.latency_seconds, line.bytes_per_second
    moved = line.factor * bytes
    first, last = lines[0].bytes_first, lines[-1].bytes_last
    scale = 1.0
    if bytes > last:
        how = f"extrapolated from {bytes_text(last)}"
        scale = last_off(curve, line)
    elif bytes < first:
        how = f"extrapolated from {bytes_text(first)}"
    else:
        how = f"by the line from {bytes_text(line.bytes_first)} to {bytes_text(line.bytes_last)}"
    if (latency.low, bandwidth.low) == (latency.high, bandwidth.high):  # none, or no width
        return Price(scale * line.seconds(bytes), None, None, how)
    low = latency.low + moved / bandwidth.high
    high = latency.high + (moved / bandwidth.low if bandwidth.low > 0 else math.inf)
    return Price(scale * line.seconds(bytes), scale * low, scale * high if high < math.inf else None, how)


def last_off(curve: Curve, line) -> float:
    """How much longer the largest size took than its line says: where a cache ends only there, all larger
    sizes will. 1 where that time is not known well."""
    if not curve.points:
        return 1.0
    last = curve.points[-1]
    known = last.low is not None and last.high is not None and last.high < 1.3 * last.low
    return last.seconds / line.seconds(last.bytes) if known else 1.0


def mixed(left: Price, right: Price, share: float, how: str) -> Price:
    ends = []
    for one, other in ((left.low, right.low), (left.high, right.high)):
        ends.append(None if one is None or other is None else (1 - share) * one + share * other)
    return Price((1 - share) * left.seconds + share * right.seconds, *ends, how)


def between(points: list[tuple[float, float]], x: float) -> float:
    """On the line between the neighbours; outside, the last one's."""
    if x <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in zip(points, points[1:], strict=False):
        if x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return points[-1][1]


def preference_of(curve: Curve, wanted: dict) -> tuple:
    """The greater, the more a curve is what a pattern with that variant means."""
    sizes = max(len(curve.points), len(curve.segments or []))
    return curve.variant == wanted, sizes, curve.variant.get("touched") != "no"


# ---- names ---------------------------------------------------------------------------------------------


def pattern_of(operation: str) -> tuple[str, str, dict[str, str]]:
    """Group (or ""), benchmark and variant of a pattern or of an MPI function's name."""
    found = re.fullmatch(r"MPI_(I?)(\w+?)(_init)?(_c)?", operation)
    if found:
        return pattern_of_function(found[1], found[2], bool(found[3]))
    parts = operation.split("/")
    words = parts.pop().split(",") if "=" in parts[-1] else []
    if len(parts) not in (1, 2) or not all(parts) or not all("=" in word for word in words):
        raise PricingError(
            f"{operation!r}: no pattern, expected group/benchmark/name=value,… or an MPI function's name"
        )
    variant = dict(word.split("=", 1) for word in words)
    return ("" if len(parts) == 1 else parts[0]), parts[-1], variant


def pattern_of_function(immediate: str, name: str, persistent: bool) -> tuple[str, str, dict[str, str]]:
    lower = name.lower()
    if lower in ("send", "bsend", "ssend", "rsend", "recv"):
        mode = ("i" if immediate else "") + ("send" if lower == "recv" else lower)
        return "point_to_point", "pingpong", {"mode": mode} if lower != "recv" else {}
    form = "persistent" if persistent else "nonblocking" if immediate else "blocking"
    return "collectives", lower, {"form": form}


def benchmark_of(operation: str) -> str:
    return pattern_of(operation)[1]


def shape_of(ranks: int, dimensions: int) -> tuple[int, ...]:
    """The most cube-like box of so many nodes; of fewer dimensions where an extent would be 1."""
    best: tuple[int, ...] = (ranks,)
    for first in range(2, ranks + 1):
        if dimensions < 2 or ranks % first:
            continue
        rest = shape_of(ranks // first, dimensions - 1) if ranks > first else ()
        shape = tuple(sorted((first, *rest)))
        if rest and (len(shape), -max(shape)) > (len(best), -max(best)):
            best = shape
    return best
