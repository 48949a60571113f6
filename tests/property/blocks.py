"""Buffers of the collective tests: blocks of elements, each an int or a pair of ints, in layouts with gaps.

An element is a tuple of 32-bit ints. A Layout says where its ints lie and how far elements are apart (which
may be backwards); a Side is one buffer with its blocks. Sentinels fill what no element owns, so that a
comparison of the whole memory also shows bytes that no rank may write.
"""

from __future__ import annotations

import dataclasses
import struct

from mpi import MPI as mpi

SENTINEL = 0xA5


@dataclasses.dataclass(frozen=True)
class Layout:
    handle: int
    extent: int  # bytes from one element to the next
    offsets: tuple  # of the ints of an element

    @property
    def width(self) -> int:
        return len(self.offsets)


class Layouts:
    """Layouts of one and of two ints. layouts[width] is a list of them; freed by free()."""

    def __init__(self):
        self.made = []
        plain, pair = Layout(mpi.INT, 4, (0,)), Layout(getattr(mpi, "2INT"), 8, (0, 4))
        shifted = self.resized(self.keep(mpi.Type_create_hindexed_block(1, 1, [8], mpi.INT)), 0, 16)
        swapped = self.keep(mpi.Type_create_hindexed_block(2, 1, [4, 0], mpi.INT))
        strided = self.resized(self.keep(mpi.Type_vector(2, 1, 2, mpi.INT)), -4, 20)
        self.by_width = {
            1: [
                plain,
                Layout(self.resized(mpi.INT, 0, 12), 12, (0,)),
                Layout(self.resized(mpi.INT, 0, -8), -8, (0,)),
                Layout(shifted, 16, (8,)),
            ],
            2: [
                pair,
                Layout(self.keep(mpi.Type_contiguous(2, mpi.INT)), 8, (0, 4)),
                Layout(swapped, 8, (4, 0)),
                Layout(strided, 20, (0, 8)),
            ],
        }
        for handle in self.made:
            mpi.Type_commit(mpi.inout(handle))

    def keep(self, handle):
        self.made.append(handle)
        return handle

    def resized(self, handle, lb, extent):
        return self.keep(mpi.Type_create_resized(handle, lb, extent))

    def free(self):
        for handle in self.made:
            mpi.Type_free(mpi.inout(handle))


class Side:
    """One buffer: block i has counts[i] elements of layouts[i], places[i] bytes from the buffer's address."""

    def __init__(self, layouts: list[Layout], counts: list[int], places: list[int]):
        self.layouts, self.counts, self.places = layouts, counts, places
        low, high = 0, 4
        for layout, count, place in zip(layouts, counts, places, strict=True):
            for i in (0, count - 1) if count else ():
                at = place + i * layout.extent
                low, high = min(low, at), max(high, at + max(layout.offsets) + 4)
        self.low = low
        self.memory = bytearray([SENTINEL]) * (high - low)

    @property
    def address(self) -> int:
        return mpi.address(self.memory, -self.low)

    def image(self, blocks: list) -> bytes:
        """The memory when block i holds blocks[i]; None: only sentinels there."""
        out = bytearray([SENTINEL]) * len(self.memory)
        for layout, count, place, elements in zip(
            self.layouts, self.counts, self.places, blocks, strict=True
        ):
            assert elements is None or len(elements) == count, (len(elements), count)
            if not elements:
                continue
            at = place - self.low
            if layout.offsets == (0,) and layout.extent == 4:
                struct.pack_into(f"{count}i", out, at, *[element[0] for element in elements])
                continue
            for element in elements:
                for offset, value in zip(layout.offsets, element, strict=True):
                    struct.pack_into("i", out, at + offset, value)
                at += layout.extent
        return out

    def set(self, blocks: list) -> None:
        self.memory[:] = self.image(blocks)


def regular(layout: Layout, count: int, blocks: int) -> Side:
    """Blocks of the same count, one after the other."""
    return Side([layout] * blocks, [count] * blocks, [i * count * layout.extent for i in range(blocks)])


def scattered(random, layout: Layout, counts: list[int]) -> tuple[Side, list[int]]:
    """Blocks in any order with gaps between them, and their displacements in elements."""
    displacements, at = [0] * len(counts), random.randint(0, 3)
    for i in random.sample(range(len(counts)), len(counts)):
        displacements[i] = at
        at += counts[i] + random.choice([0, 0, 2])
    places = [displacement * layout.extent for displacement in displacements]
    return Side([layout] * len(counts), counts, places), displacements


def mixed(random, layouts: list[Layout], counts: list[int]) -> Side:
    """Blocks of a layout each, in any order; for the w forms, whose displacements are bytes."""
    places, at = [0] * len(counts), random.randint(0, 9)
    for i in random.sample(range(len(counts)), len(counts)):
        layout, bytes_ = layouts[i], abs(layouts[i].extent) * max(counts[i] - 1, 0)
        places[i] = at + (bytes_ if layout.extent < 0 else 0)
        at += bytes_ + 24 + random.choice([0, 5])
    return Side(layouts, counts, places)
