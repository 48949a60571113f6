"""What communication should take, from first principles: the throughput model's formulas, by which the K
computer's MPI was once judged (docs/model.md), and textbook trees and rings where nothing better is known.

The pipelines' formulas stand here a second time, beside src/coll/pipeline/throughput.hpp: this package
prices recorded runs and machines where no library is built. tests/analysis and
tests/unit/coll/throughput_test.cpp hold either to the published numbers.

Pure functions in seconds, bytes and bytes per second (any other units that fit together do as well). A
`Line` is t = latency + factor·M/B. The paper's symbols are named beside each function.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Line:
    """t = t_L + factor·M/B; throughput factor·M/t = B / (1 + M_half/M)."""

    latency: float  # t_L
    bandwidth: float  # B, or B' where an algorithm sets it
    factor: float = 1.0

    def seconds(self, bytes: float) -> float:
        return self.latency + self.factor * bytes / self.bandwidth

    @property
    def half_bytes(self) -> float:
        return self.bandwidth * self.latency / self.factor

    def throughput(self, bytes: float) -> float:
        return self.factor * bytes / self.seconds(bytes)


@dataclasses.dataclass(frozen=True)
class Network:
    """What one-sided transfers between neighbours take, and what collectives add."""

    software: float  # L_S: of the latency, what the processor does; d transfers at once take d of it
    hardware: float  # L_H: of the latency, what runs beside the processor
    link: float  # bytes per second in one direction
    total: float  # bytes per second in all directions together
    decision: float = 0.0  # t_O: the choice of an algorithm (an allreduce of one element, and so on)
    addresses: float = 0.0  # t_S: the exchange of addresses (a ping-pong of 8 bytes)
    memory: float = math.inf  # B_M: bytes per second of a node's memory

    @property
    def latency(self) -> float:
        return self.software + self.hardware

    def one_direction(self, directions: int) -> float:
        """b = B/d: what each of d directions gets when all are used at once."""
        return min(self.link, self.total / directions)


# ---- one message ---------------------------------------------------------------------------------------


def pingpong(network: Network, control: Sequence[float] = ()) -> Line:
    """One way of a ping-pong by rendezvous: the latency and that of each control message; B is the link's."""
    return Line(network.latency + sum(control), network.link)


def loggp(bytes: float, o_s: float, latency: float, o_r: float, gap_per_byte: float) -> float:
    """o_s + L + (M - 1)·G + o_r."""
    return o_s + latency + max(bytes - 1, 0) * gap_per_byte + o_r


# ---- pipelines: Bcast and Reduce cut the message into a part for each direction, and that into segments --


def steps(shape: Sequence[int]) -> int:
    """S: how often the first segment is handed on until the farthest node has it. `shape`: nodes by
    dimension."""
    return sum(extent - 1 for extent in shape) + (1 if len(shape) > 1 else 0)


def bcast(network: Network, shape: Sequence[int], segment: float, bytes: float) -> float:
    """t = t_O + t_S + S·(d·L_S + L_H + m/b) + (M/(d·m) - 1)·max(d·L_S, L_H + m/b). A message shorter than d
    segments goes as one shorter segment a direction."""
    return network.decision + network.addresses + pipeline(network, shape, segment, bytes)


def pipeline(
    network: Network, shape: Sequence[int], segment: float, bytes: float, per_byte: float = 0.0
) -> float:
    """The time of a pipelined Bcast, or Reduce where a direction reduces a byte in `per_byte`."""
    directions = len(shape)
    segment = min(segment, bytes / directions)
    software = directions * network.software + segment * per_byte
    hardware = network.hardware + segment / network.one_direction(directions)
    more = bytes / (directions * segment) - 1 if segment else 0
    return steps(shape) * (software + hardware) + more * max(software, hardware)


def bcast_line(network: Network, shape: Sequence[int], segment: float) -> Line:
    """The same as a line in M: t_L and B' = d·m / max(d·L_S, L_H + m/b)."""
    directions = len(shape)
    slower = max(
        directions * network.software, network.hardware + segment / network.one_direction(directions)
    )
    latency = bcast(network, shape, segment, directions * segment) - slower
    return Line(latency, directions * segment / slower)


def allreduce(
    network: Network, shape: Sequence[int], segment: float, bytes: float, arithmetic: float
) -> float:
    """A pipelined Reduce, and a Bcast after it. `arithmetic`: T_C, over all directions together."""
    reduce = pipeline(network, shape, segment, bytes, len(shape) / arithmetic)
    return network.decision + 2 * network.addresses + reduce + pipeline(network, shape, segment, bytes)


def allreduce_line(network: Network, shape: Sequence[int], segment: float, arithmetic: float) -> Line:
    """The same as t = t_L + 2M/B'."""
    directions = len(shape)
    moving = network.hardware + segment / network.one_direction(directions)
    reducing = directions * (network.software + segment / arithmetic)
    slower = max(reducing, moving) + max(directions * network.software, moving)
    latency = allreduce(network, shape, segment, directions * segment, arithmetic) - slower
    return Line(latency, 2 * directions * segment / slower, factor=2.0)


def arithmetic_throughput(network: Network, directions: int) -> float:
    """T_C = (B_M - 2B)/4: each of the memory's bytes that sending and receiving leave is loaded twice, and
    stored twice (the reduction's two operands, its result, and the buffer)."""
    return (network.memory - 2 * directions * network.one_direction(directions)) / 4


def best_segment(network: Network, shape: Sequence[int], bytes: float) -> float:
    """The segment m with the least time of bcast(). Where the links set the pace that is
    m² = M·L_H·b / (d·(S-1)), and where the software does m² = M·L_S·b/S; between the two, where both take
    alike."""
    directions = len(shape)
    rate = network.one_direction(directions)
    same = rate * (directions * network.software - network.hardware)  # above it, the links set the pace
    count = steps(shape)
    most = bytes / directions
    linked = math.sqrt(bytes * network.hardware * rate / (directions * (count - 1))) if count > 1 else most
    driven = math.sqrt(bytes * network.software * rate / count)
    candidates = [max(linked, same), min(driven, same) if same > 0 else most, most]
    candidates = [min(max(one, 1.0), most) for one in candidates]
    return min(candidates, key=lambda segment: bcast(network, shape, segment, bytes))


def bandwidth_behind(effective: float, network: Network, directions: int, segment: float) -> float:
    """b, the bandwidth of one direction that gives a pipeline the effective B' = d·m / (L_H + m/b)."""
    return segment / (directions * segment / effective - network.hardware)


# ---- Allgather: three stages of rings, in four directions at once --------------------------------------

RINGS = 3
RING_DIRECTIONS = 4


def allgather(network: Network, ranks: int, bytes: float) -> float:
    """t = t_O + t_S + 3·(4L_S + L_H + M/B) + max(4L_S, L_H + M/B)·(np - 4). `bytes`: of one rank."""
    software = RING_DIRECTIONS * network.software
    hardware = network.hardware + bytes / ring_bandwidth(network)
    rounds = RINGS * (software + hardware) + max(software, hardware) * (ranks - RINGS - 1)
    return network.decision + network.addresses + rounds


def ring_bandwidth(network: Network) -> float:
    return RING_DIRECTIONS * network.one_direction(RING_DIRECTIONS)


def allgather_switch(network: Network) -> float:
    """The size from which the links set the pace, and not the software: B·(4L_S - L_H)."""
    return ring_bandwidth(network) * (RING_DIRECTIONS * network.software - network.hardware)


def allgather_lines(network: Network, ranks: int) -> tuple[Line, Line]:
    """Below the switch and above it, in the convention np·M/t."""
    started = network.decision + network.addresses
    started += RINGS * (RING_DIRECTIONS * network.software + network.hardware)
    more = ranks - RINGS - 1
    rate = ring_bandwidth(network)
    short = Line(started + RING_DIRECTIONS * network.software * more, rate * ranks / RINGS, ranks)
    return short, Line(started + network.hardware * more, rate * ranks / (ranks - 1), ranks)


# ---- trees and rings of messages, where only a message's time is known ---------------------------------


def rounds_of(ranks: int) -> int:
    return max(ranks - 1, 0).bit_length()


def by_messages(operation: str, ranks: int, bytes: float, message) -> float | None:
    """An operation's time when its ranks exchange messages as the textbook has it, each round as long as one
    message; message(bytes) -> seconds. `bytes` as the suite counts them (docs/mbl.md). None: not known here.
    """
    rounds, others = rounds_of(ranks), ranks - 1
    if operation == "barrier":  # dissemination
        return rounds * message(0)
    if operation in ("bcast", "reduce"):  # a binomial tree, or scatter and allgather (reduce: the mirror)
        halves = rounds * message(bytes / ranks) + others * message(bytes / ranks)
        return min(rounds * message(bytes), halves)
    if operation == "allreduce":  # recursive doubling, or rings of reduce-scatter and allgather
        return min(rounds * message(bytes), 2 * others * message(bytes / ranks))
    if operation in ("scan", "exscan"):
        return rounds * message(bytes)
    if operation in ("gather", "scatter", "gatherv", "scatterv"):  # binomial: each round doubles the blocks
        return sum(message(min(1 << k, ranks - (1 << k)) * bytes) for k in range(rounds))
    if operation in ("allgather", "allgatherv"):  # doubling, or a ring
        doubling = sum(message(min(1 << k, ranks - (1 << k)) * bytes) for k in range(rounds))
        return min(doubling, others * message(bytes))
    if operation in ("alltoall", "alltoallv", "alltoallw", "exchange"):  # pairwise
        return others * message(bytes)
    if operation in ("reduce_scatter", "reduce_scatter_block"):
        return others * message(bytes / ranks)
    return None
