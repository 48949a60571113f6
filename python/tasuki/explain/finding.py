"""A finding, and the words of all."""

from __future__ import annotations

import dataclasses

CANDIDATES_MAX = 24  # changes that are computed: those with the longest waits


@dataclasses.dataclass
class Finding:
    kind: str  # docs/explain.md lists them
    text: str  # what happened
    advice: str  # what would mend it
    gain_seconds: float
    gain_share: float  # of the program's time
    ranks: list[int]
    function: str = ""
    phase: str = ""
    waiting_seconds: float = 0.0  # of all ranks together
    at: str = ""  # where the program calls the function: halo.c:42
    behind: str = ""  # where the call is behind which the late rank computes

    @property
    def call(self) -> tuple[str, str, str, str]:
        """What it is of, whatever rank."""
        return self.kind, self.function, self.phase, self.at


def call_text(name: str, at: str, phase: str = "") -> str:
    """MPI_Send at halo.c:42 in phase "sweep"."""
    return name + (f" at {at}" if at else "") + of_phase(phase)


def of_phase(phase: str) -> str:
    return f' in phase "{phase}"' if phase else ""


def ranks_text(ranks: list[int]) -> str:
    """rank 3; ranks 0, 2-5."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    words = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in runs]
    return "ranks " + ", ".join(words)


def they(ranks: list[int], verb: str) -> str:
    """rank 3 waits; ranks 0, 2-5 wait."""
    return f"{ranks_text(ranks)} {verb}{'s' if len(ranks) == 1 else ''}"
