"""Where the ranks of a prediction are: how many on each node, one node after the other."""

from __future__ import annotations

import dataclasses

NODES_MAX = 1 << 15  # and ranks of each: as tools/price.cpp


@dataclasses.dataclass(frozen=True)
class Nodes:
    sizes: tuple[int, ...]  # the ranks of each node

    @classmethod
    def read(cls, text: str) -> Nodes:
        """ "2x4": 2 nodes of 4 ranks; "4,2" or "2x4,2": nodes of 4, and one of 2. Raises ValueError."""
        sizes: list[int] = []
        for part in text.split(","):
            words = part.split("x")
            if "," in text and len(words) == 1:
                words = ["1", *words]
            if len(words) != 2 or not all(word.isdecimal() and 1 <= int(word) <= NODES_MAX for word in words):
                raise ValueError(
                    f"--map {text}: expected nodes and the ranks of each, 2x4 or 4,4,2, from 1 to {NODES_MAX}"
                )
            sizes += [int(words[1])] * int(words[0])
        return cls(tuple(sizes))

    @property
    def ranks(self) -> int:
        return sum(self.sizes)

    def of_first(self, ranks: int) -> Nodes:
        """Those that so many ranks fill. REQUIRES: there is room."""
        found: list[int] = []
        for size in self.sizes:
            if ranks > 0:
                found.append(min(size, ranks))
            ranks -= size
        return Nodes(tuple(found))

    def node_of(self, rank: int) -> int:
        for number, size in enumerate(self.sizes):
            if rank < size:
                return number
            rank -= size
        return len(self.sizes)

    def __str__(self) -> str:
        if len(set(self.sizes)) == 1:
            return f"{len(self.sizes)}x{self.sizes[0]}"
        return ",".join(map(str, self.sizes))
