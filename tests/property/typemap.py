"""The oracle of datatypes: a type map (MPI 5.1) as a plain list of (displacement, basic type).

Nothing here knows of layouts, strides or blocks: a constructor places copies of maps, bounds come from
markers or from the entries, and packing walks the entries one by one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math


@dataclasses.dataclass(frozen=True)
class Basic:
    name: str  # without MPI_
    size: int
    alignment: int
    word: int  # the bytes of the numbers that it holds: what external32 turns around
    external: int = 0  # the bytes that one of these has there, where it is fewer
    signed: bool = True


BASICS = [
    Basic(*row)
    for row in [
        ("BYTE", 1, 1, 1),
        ("CHAR", 1, 1, 1),
        ("UNSIGNED_CHAR", 1, 1, 1),
        ("INT8_T", 1, 1, 1),
        ("SHORT", 2, 2, 2),
        ("UINT16_T", 2, 2, 2),
        ("INT", 4, 4, 4),
        ("UNSIGNED", 4, 4, 4),
        ("FLOAT", 4, 4, 4),
        ("INT64_T", 8, 8, 8),
        ("LONG_LONG", 8, 8, 8),
        ("LONG", 8, 8, 8, 4),
        ("UNSIGNED_LONG", 8, 8, 8, 4, False),
        ("DOUBLE", 8, 8, 8),
        ("AINT", 8, 8, 8),
        ("C_FLOAT_COMPLEX", 8, 4, 4),
        ("C_DOUBLE_COMPLEX", 16, 8, 8),
        ("LONG_DOUBLE", 16, 16, 16),
    ]
]
BY_NAME = {basic.name: basic for basic in BASICS}
# Types for MPI_MINLOC and MPI_MAXLOC: predefined, and yet of two entries.
PAIRS = {
    "FLOAT_INT": ("FLOAT", 4),
    "SHORT_INT": ("SHORT", 4),
    "DOUBLE_INT": ("DOUBLE", 8),
    "LONG_INT": ("LONG", 8),
    "2INT": ("INT", 4),
}


class Map:
    """A type map with its markers; padded: a struct, whose extent is rounded up to its alignment."""

    def __init__(self, entries=(), padded=False):
        self.entries = list(entries)
        self.lb_markers, self.ub_markers = [], []
        self.lb_placed, self.ub_placed = [], []
        self.padded = padded

    def place(self, displacement: int, copies: int, other: Map) -> None:
        """Appends `copies` of `other`, its extent apart."""
        extent = other.extent
        for i in range(copies):
            shift = displacement + i * extent
            self.lb_markers += [marker + shift for marker in other.lb_markers]
            self.ub_markers += [marker + shift for marker in other.ub_markers]
            if other.entries:
                self.lb_placed.append(shift + other.lb)
                self.ub_placed.append(shift + other.ub)
                self.entries += [(shift + at, basic) for at, basic in other.entries]

    def mark(self, lb: int, extent: int) -> None:
        self.lb_markers, self.ub_markers = [lb], [lb + extent]

    @property
    def size(self) -> int:
        return sum(basic.size for _, basic in self.entries)

    @property
    def true_lb(self) -> int:
        return min((at for at, _ in self.entries), default=0)

    @property
    def true_ub(self) -> int:
        return max((at + basic.size for at, basic in self.entries), default=0)

    @property
    def lb(self) -> int:
        return min(self.lb_markers or self.lb_placed, default=self.true_lb)

    @property
    def ub(self) -> int:
        if self.ub_markers:
            return max(self.ub_markers)
        ub = max(self.ub_placed, default=self.true_ub)
        if self.padded:
            alignment = math.lcm(*(basic.alignment for _, basic in self.entries))
            ub += -(ub - self.lb) % alignment
        return ub

    @property
    def extent(self) -> int:
        return self.ub - self.lb

    def walk(self, count: int):
        """(displacement, basic) of `count` elements in the order in which they travel."""
        extent = self.extent
        return [(i * extent + at, basic) for i in range(count) for at, basic in self.entries]

    def signature(self, count: int) -> list[Basic]:
        return [basic for _, basic in self.entries] * count

    def overlaps(self, count: int) -> bool:
        """Whether `count` elements name a byte twice: then they must not be received into."""
        spans = sorted((at, at + basic.size) for at, basic in self.walk(count))
        return any(first[1] > second[0] for first, second in itertools.pairwise(spans))

    def span(self, count: int) -> tuple[int, int]:
        """The first byte and the one after the last."""
        walk = self.walk(count)
        low = min((at for at, _ in walk), default=0)
        return low, max((at + basic.size for at, basic in walk), default=low)


def basic_map(name: str) -> Map:
    if name in PAIRS:
        value, offset = PAIRS[name]
        return Map([(0, BY_NAME[value]), (offset, BY_NAME["INT"])], padded=True)
    return Map([(0, BY_NAME[name])])


def vector(old: Map, count: int, blocklength: int, stride_bytes: int) -> Map:
    made = Map()
    for i in range(count):
        made.place(i * stride_bytes, blocklength, old)
    return made


def blocks(olds: list[Map], lengths: list[int], displacements: list[int], padded: bool = False) -> Map:
    """Blocks at displacements in bytes: every indexed form, and the struct."""
    made = Map(padded=padded)
    for old, length, displacement in zip(olds, lengths, displacements, strict=True):
        made.place(displacement, length, old)
    return made


def resized(old: Map, lb: int, extent: int) -> Map:
    made = Map(old.entries)
    made.mark(lb, extent)
    return made


def chosen_cells(old: Map, sizes: list[int], chosen: list[list[int]], fortran: bool) -> Map:
    """The cells of an array at all combinations of the chosen indices of each dimension, in storage order."""
    order = range(len(sizes)) if fortran else range(len(sizes) - 1, -1, -1)  # the fastest dimension first
    made = Map()
    reversed_order = list(order)[::-1]
    for indices in itertools.product(*(chosen[dimension] for dimension in reversed_order)):
        at = dict(zip(reversed_order, indices, strict=True))
        cell, step = 0, 1
        for dimension in order:
            cell += at[dimension] * step
            step *= sizes[dimension]
        made.place(cell * old.extent, 1, old)
    made.mark(0, math.prod(sizes) * old.extent)
    return made


def owned(gsize: int, kind: str, arg: int | None, psize: int, coordinate: int) -> list[int]:
    """The indices of one dimension that a process of the grid owns (MPI 5.1.4)."""
    if kind == "NONE":
        return list(range(gsize))
    if kind == "BLOCK":
        length = -(-gsize // psize) if arg is None else arg
        return [i for i in range(gsize) if i // length == coordinate]
    length = 1 if arg is None else arg
    return [i for i in range(gsize) if i // length % psize == coordinate]


class Memory:
    """Bytes that hold `count` elements of a map, with `margin` bytes to either side."""

    def __init__(self, map_: Map, count: int, margin: int = 16):
        self.low, high = map_.span(count)
        self.low -= margin
        self.bytes = bytearray(high + margin - self.low)

    def fill(self, random) -> Memory:
        self.bytes[:] = random.randbytes(len(self.bytes))
        return self

    def read(self, at: int, size: int) -> bytes:
        return bytes(self.bytes[at - self.low : at - self.low + size])

    def write(self, at: int, data: bytes) -> None:
        self.bytes[at - self.low : at - self.low + len(data)] = data

    def shorten(self, map_: Map, count: int) -> Memory:
        """Makes numbers so small that they have an external32 form, where none lies over another one."""
        for at, basic in map_.walk(count):
            if basic.external:
                self.write(at, shortened(self.read(at, basic.size), basic))
        return self

    def packed(self, map_: Map, count: int) -> bytes:
        return b"".join(self.read(at, basic.size) for at, basic in map_.walk(count))

    def unpack(self, map_: Map, count: int, data: bytes) -> int:
        """Writes as many whole entries as there is data for; returns their number."""
        position = done = 0
        for at, basic in map_.walk(count):
            if position + basic.size > len(data):
                break
            self.write(at, data[position : position + basic.size])
            position += basic.size
            done += 1
        return done


def shortened(data: bytes, basic: Basic) -> bytes:
    """A native number as large as external32 has room for: its low bytes, and their sign."""
    return extended(data[: basic.external], basic)


def extended(data: bytes, basic: Basic) -> bytes:
    """The few bytes of a number (little-endian) as a native one."""
    negative = basic.signed and data[-1] >= 0x80
    return data + (b"\xff" if negative else b"\0") * (basic.size - len(data))


def external_form(data: bytes, signature: list[Basic]) -> bytes | None:
    """Native bytes as external32, on a little-endian machine, for all but long double; None where a number
    does not fit."""
    out, position = [], 0
    for basic in signature:
        one = data[position : position + basic.size]
        position += basic.size
        if basic.external:
            if one != shortened(one, basic):
                return None
            one = one[: basic.external]
        word = basic.external or basic.word
        out += [one[at : at + word][::-1] for at in range(0, len(one), word)]
    return b"".join(out)


def external_size(signature: list[Basic]) -> int:
    return sum(basic.external or basic.size for basic in signature)
