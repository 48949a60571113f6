"""From which size on which rank copies a message: decided by times of each way, touched data alone.

A table can name four thresholds for each distance of two ranks (src/base/distance_tables.hpp has those that
are built in). They say which way a message goes:

- its receive was posted, and its rank waits for it: below `sender_write` through the ring, from there on the
  sender writes; from `waiting_get` to below `cooperative` the receiver gets it instead;
- it came before its receive, and is too long to go at once: below `cooperative` the receiver gets it, from
  there on both copy;
- either way, from `stream` on the sender writes all of it, past its caches.

All of it is pure. A *case* is an order (who came first) and a size, a *series* a way, as
bench/message_ways.cpp has them.
"""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Iterable

from tasuki.tuning.cases import Case
from tasuki.tuning.decide import SURELY, compared, is_better, is_worse
from tasuki.tuning.samples import Ratio, Samples

RANKS = 2
RECEIVE_FIRST, MESSAGE_FIRST = "receive_first", "message_first"
ORDERS = (RECEIVE_FIRST, MESSAGE_FIRST)
EAGER_BYTES_MAX = 16 << 10  # kEagerBytesMaxDefault: above, a receive that is posted is always advertised
SIZES = tuple(1024 << octave for octave in range(13))  # 1 KiB to 4 MiB

NEVER = 1 << 30  # bytes: as a table says that nothing is streamed

Thresholds = collections.namedtuple(
    "Thresholds", "sender_write waiting_get cooperative stream", defaults=(NEVER,)
)


def way_of(thresholds: Thresholds, order: str, size: int) -> str:
    """Between buffers that both ranks can reach."""
    at_once = size <= EAGER_BYTES_MAX
    if order == RECEIVE_FIRST and size >= thresholds.sender_write:
        if size >= thresholds.stream:
            return "stream"
        gets = thresholds.waiting_get <= size < thresholds.cooperative
        return "waiting_get" if gets else "sender_write"
    if at_once:
        return "eager"
    if size >= thresholds.stream:
        return "stream"
    return "get" if size < thresholds.cooperative else "cooperative"


def ways_to_decide(order: str, size: int) -> tuple[str, ...]:
    """Those that some thresholds would choose."""
    if order == RECEIVE_FIRST:
        return ("eager", "sender_write", "waiting_get", "stream")[size > EAGER_BYTES_MAX :]
    return () if size <= EAGER_BYTES_MAX else ("get", "cooperative", "stream")


def changes(cases: Iterable[Case], old: Thresholds, new: Thresholds) -> dict[Case, tuple[str, str]]:
    """Cases (with touched data) whose way differs, and both ways."""
    touched = [case for case in cases if case.operation in ORDERS]
    pairs = {case: tuple(way_of(one, *case[:2]) for one in (old, new)) for case in touched}
    return {case: pair for case, pair in pairs.items() if pair[0] != pair[1]}


def is_no_worse(ratio: Ratio) -> bool:
    return ratio.median <= 1 and ratio.high < 1 + SURELY


def decide(samples: Samples, old: Thresholds, seen: Iterable[Case] | None = None) -> Thresholds:
    """The thresholds that gain most over the old ones where they are surely faster, and that make no size
    slower. A size that was not measured both ways keeps its way; so does one that is not `seen`, if these are
    given. Of those that gain the same, those that change least."""
    own = [case for case in samples.cases() if case.operation in ORDERS]
    if not own:
        return old
    allowed = set(own if seen is None else seen)
    ratios: dict[tuple[Case, str, str], Ratio | None] = {}

    def cost(new: Thresholds) -> tuple[float, int, int, int]:
        """The sum of the logarithms of what is surely faster; how much is changed; how simple it is."""
        changed = changes(own, old, new)
        gain = 0.0
        for case, (before, after) in changed.items():
            if (case, before, after) not in ratios:
                ratios[case, before, after] = compared(samples, case, after, before)
            ratio = ratios[case, before, after]
            if ratio is None or case not in allowed or not (is_better(ratio) or is_no_worse(ratio)):
                return math.inf, 0, 0, 0
            gain += math.log(ratio.median) if is_better(ratio) else 0.0
        return gain, len(changed), sum(a != b for a, b in zip(old, new, strict=True)), -sum(new)

    sizes = sorted({case.bytes for case in own})
    writes = [size for size in sizes if size <= EAGER_BYTES_MAX] + [EAGER_BYTES_MAX + 1]
    candidates = (
        dict.fromkeys([threshold, *found])
        for threshold, found in zip(old, (writes, sizes, sizes, [*sizes, NEVER]), strict=True)
    )
    return min((Thresholds(*one) for one in itertools.product(*candidates)), key=cost)


def confirmed(
    samples: Samples, check: Samples, old: Thresholds, new: Thresholds
) -> tuple[Thresholds, dict[Case, Ratio]]:
    """The thresholds after a second look at the cases that they change, and the ratio of each there. Only
    what did not turn out slower there, and was looked at, may change."""
    ratios = {
        case: check.ratio(case, after, before)
        for case, (before, after) in changes(samples.cases(), old, new).items()
    }
    kept = {case: ratio for case, ratio in ratios.items() if ratio.pairs and not is_worse(ratio)}
    if len(kept) < len(ratios):
        new = decide(samples, old, kept)
    return new, {case: kept[case] for case in changes(kept, old, new)}
