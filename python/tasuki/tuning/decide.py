"""What is taken: the choice of each case that was measured, and which of them the table has to name.

The model's choice stands, unless the times say that another series is surely faster there, or that it is
slower than the choice the old table made. Then the table names the choice for that case (`choices` in
docs/tuning.md), since no parameters of the formulas would give it. So a case that was measured cannot get
worse by more than the noise of its measurement.

*Noise*: two series are told apart when the interval of their ratio leaves out 1 and they differ by 2 %; and
in any case by 5 %.
"""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Mapping

from tasuki.tuning.cases import Case, library_bytes, library_operation
from tasuki.tuning.samples import Ratio, Samples

TELLING = 0.02  # less is no difference
SURELY = 0.05  # more is one, whatever the interval says
APART = 1.5  # times from different moments are comparable up to this factor
FLAGS = "flag_based"
LARGEST_FACTOR = 2  # a choice for the largest size that was measured holds up to so many times of it


def is_worse(ratio: Ratio) -> bool:
    """New over old."""
    return ratio.median > 1 + SURELY or (ratio.low > 1 and ratio.median > 1 + TELLING)


def is_better(ratio: Ratio) -> bool:
    return ratio.high < 1 and ratio.median < 1 - TELLING


def compared(samples: Samples, case: Case, new: str, old: str) -> Ratio | None:
    """New over old; of two that were never timed side by side, by their times; None: one was not measured."""
    if new == old:
        return Ratio(1.0, 1.0, 1.0, 0)
    ratio = samples.ratio(case, new, old)
    if ratio.pairs:
        return ratio
    times = samples.times(case)
    if new not in times or old not in times:
        return None
    median = times[new] / times[old]
    return Ratio(median, median / APART, median * APART, 0)


def regret_of(samples: Samples, case: Case, series: str) -> float | None:
    """The time of a series over that of the best one, side by side where they were timed so; 1: none is
    better; None: it was not measured, or there is no other."""
    rivals = [name for name in samples.times(case) if name != series]
    ratios = [compared(samples, case, series, rival) for rival in rivals]
    known = [ratio.median for ratio in ratios if ratio is not None]
    return max(1.0, *known) if known else None


def regrets_of(samples: Samples, chosen: Mapping[Case, str]) -> dict[Case, float]:
    found = {case: regret_of(samples, case, series) for case, series in chosen.items()}
    return {case: regret for case, regret in found.items() if regret is not None}


def decided(samples: Samples, case: Case, model: str, old: str) -> str:
    """The series to take in a case, by all its times."""
    times = samples.times(case)
    if not times:
        return model
    pick = model if model in times else min(times, key=times.get)
    for rival in sorted(times, key=times.get):
        ratio = compared(samples, case, rival, pick)
        if ratio is not None and rival != pick and is_better(ratio):
            pick = rival
            break
    against_old = compared(samples, case, pick, old)
    return old if against_old is not None and is_worse(against_old) else pick


def decide_all(samples: Samples, models: Mapping[Case, str], olds: Mapping[Case, str]) -> dict[Case, str]:
    """For every case that was measured."""
    found = {case: decided(samples, case, models[case], olds[case]) for case in samples.cases()}
    return as_the_library_can(samples, found)


def as_the_library_can(samples: Samples, decisions: Mapping[Case, str]) -> dict[Case, str]:
    """The decisions, but for what with_flags_first() has to change."""
    found = dict(decisions)
    for operation, ranks in sorted({(case.operation, case.ranks) for case in found}):
        own = sorted(case for case in found if (case.operation, case.ranks) == (operation, ranks))
        found |= with_flags_first(samples, own, found)
    return found


def with_flags_first(samples: Samples, cases: list[Case], decisions: Mapping[Case, str]) -> dict[Case, str]:
    """The library runs over the flags up to some size, and above it never again. So where the decisions would
    have it otherwise, the size is taken that costs least."""
    best_cost, best = (math.inf, 0), dict(decisions)
    for count in range(len(cases) + 1):
        tried = {
            case: decisions[case]
            if (decisions[case] == FLAGS) == (place < count)
            else fastest(samples, case, flags=place < count)
            for place, case in enumerate(cases)
        }
        changed = [case for case in cases if tried[case] != decisions[case]]
        loss = sum(loss_of(samples.times(case), tried[case], decisions[case]) for case in changed)
        if (loss, len(changed)) < best_cost:
            best_cost, best = (loss, len(changed)), tried
    return best


def fastest(samples: Samples, case: Case, flags: bool) -> str:
    """Of those that are flags, or of the others; empty: there is none."""
    times = samples.times(case)
    return min((name for name in times if (name == FLAGS) == flags), key=times.get, default="")


def loss_of(times: Mapping[str, float], taken: str, wanted: str) -> float:
    """What it costs to take one series in another's place: the logarithm of the ratio of their times."""
    if not taken:
        return math.inf
    return max(0.0, math.log(times[taken] / times.get(wanted, times[taken])))


def checked(
    check: Samples, decisions: Mapping[Case, str], olds: Mapping[Case, str]
) -> tuple[dict[Case, str], dict[Case, Ratio]]:
    """The decisions after a second look at those that change something, and each one's ratio there. What is
    worse than the old choice is taken back."""
    kept, ratios = dict(decisions), {}
    for case, series in decisions.items():
        ratio = check.ratio(case, series, olds[case]) if series != olds[case] else None
        if ratio is None or not ratio.pairs:
            continue
        if is_worse(ratio):
            kept[case] = olds[case]
        else:
            ratios[case] = ratio
    return kept, ratios


def exceptions(decisions: Mapping[Case, str], models: Mapping[Case, str], nodes: int = 1) -> dict[str, str]:
    """What a table has to name, as its `choices` on so many nodes: each case whose decision is not the
    model's, up to halfway (in octaves) to the next sizes that were measured. `models` has more sizes: flags
    are named also where the model leaves them for a size between, since it could not come back to them."""
    by_kind = collections.defaultdict(dict)
    for case, series in decisions.items():
        by_kind[case.operation, case.ranks][case.bytes] = series
    named = {}
    for (operation, ranks), series in sorted(by_kind.items()):
        sizes = sorted(series)
        known = sorted({case.bytes for case in models if case[::2] == (operation, ranks)})
        for first, last, name in runs(series):
            own = [size for size in sizes if first <= size <= last]
            if name == FLAGS:
                own = [size for size in known if size <= last]
            if all(models[Case(operation, size, ranks)] == name for size in own):
                continue
            low, high = ends(sizes, first, last)
            unit = library_bytes(Case(operation, 1, ranks))
            sizes_text = f"{low * unit} to {high * unit} bytes"
            named[f"{library_operation(operation)} of {sizes_text} {place_text(ranks, nodes)}"] = name
    return named


def place_text(ranks: int, nodes: int) -> str:
    """As `choices` and TASUKI_EXPLAIN have it."""
    return f"among {ranks} ranks" + (f" on {nodes} nodes" if nodes > 1 else "")


def of_other_places(choices: Mapping[str, str], decisions: Mapping[Case, str], nodes: int) -> dict[str, str]:
    """Those of a table's choices that the decisions on so many nodes say nothing about: of other operations,
    numbers of ranks or nodes."""
    decided = {(library_operation(case.operation), place_text(case.ranks, nodes)) for case in decisions}
    return {text: name for text, name in choices.items() if kind_of(text) not in decided}


def kind_of(choice: str) -> tuple[str, str]:
    """("bcast", "among 4 ranks on 2 nodes") of a choice in a table that was checked."""
    found = re.match(r"(\w+) of \d+ to \d+ bytes (among .*)", choice)
    return found[1], found[2]


def runs(series: Mapping[int, str]) -> list[tuple[int, int, str]]:
    """(first size, last size, series) of neighbours that are alike."""
    found: list[tuple[int, int, str]] = []
    for size in sorted(series):
        if found and found[-1][2] == series[size]:
            found[-1] = found[-1][0], size, series[size]
        else:
            found.append((size, size, series[size]))
    return found


def ends(sizes: list[int], first: int, last: int) -> tuple[int, int]:
    """From where to where a choice holds that was measured from `first` to `last` among `sizes`."""
    before = max((size for size in sizes if size < first), default=None)
    after = min((size for size in sizes if size > last), default=None)
    low = 0 if before is None else math.isqrt(before * first) + 1
    high = last * LARGEST_FACTOR if after is None else math.isqrt(last * after)
    return low, high
