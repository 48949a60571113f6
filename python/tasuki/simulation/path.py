"""The critical path of a simulated collective: which sends, transfers and reductions, each begun when the one
before it was over, take all of its time."""

from __future__ import annotations

import collections

SHARE_MIN = 0.005  # what is less is not told

RANK, KIND, BEGIN, END, PEER = range(5)  # of a span: what a rank did from when to when


def touched(span) -> tuple[int, ...]:
    return (span[RANK], span[PEER]) if span[PEER] >= 0 else (span[RANK],)


def critical_path(spans: list) -> list:
    """Its spans, the first one first. Of two that end when the next one begins, a transfer is taken."""
    ends = collections.defaultdict(list)  # by rank and, roughly, date
    last = max((span[END] for span in spans), default=0)
    grain = max(last * 1e-9, 1e-15)
    for span in spans:
        for rank in touched(span):
            ends[rank, round(span[END] / grain)].append(span)
    path = [max(spans, key=lambda span: span[END])] if spans else []
    while path:
        span = path[-1]
        slot = round(span[BEGIN] / grain)
        before = [
            one
            for rank in touched(span)
            for near in (slot - 1, slot, slot + 1)
            for one in ends[rank, near]
            if one is not span and one[BEGIN] < span[BEGIN]
        ]
        if not before:
            break
        path.append(max(before, key=lambda one: (one[KIND] == "transfer", one[END], -one[BEGIN])))
    return path[::-1]


def sentence(path: list, seconds: float) -> str:
    """What it is made of."""
    if not path or seconds <= 0:
        return "critical path: nothing"
    shares = collections.Counter()
    for span in path:
        shares[span[KIND]] += span[END] - span[BEGIN]
    ranks = {rank for span in path for rank in touched(span)}
    number = sum(span[KIND] == "transfer" for span in path)
    names = {
        "program": "the program's computing",
        "transfer": "transfers",
        "send": "software of sends",
        "compute": "reductions and copies",
        "recorded": "calls as they were recorded",
    }
    parts = [
        f"{names[kind]} {shares[kind] / seconds:.0%}" for kind in names if shares[kind] >= SHARE_MIN * seconds
    ]
    transfers = f"{number} transfer{'' if number == 1 else 's'} through {len(ranks)} ranks"
    return f"critical path: {transfers}; of the time {', '.join(parts)}"
