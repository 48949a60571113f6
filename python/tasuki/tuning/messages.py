"""Measures who had better copy a message, for each distance that two ranks of this machine can have: every
way, forced in turn, in one job (bench/message_ways.cpp). tuning/thresholds.py decides by the times.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from tasuki import environment
from tasuki.tuning import measure, tables, thresholds
from tasuki.tuning.cases import Case
from tasuki.tuning.measure import Question
from tasuki.tuning.programs import Programs
from tasuki.tuning.samples import Ratio, Samples
from tasuki.tuning.tables import TuningTable
from tasuki.tuning.thresholds import ORDERS, RANKS, RECEIVE_FIRST, SIZES, Thresholds

TURNS, TURNS_FEW = 15, 9  # of each way
BUDGET_SHORT_SECONDS = 30  # of less than that fewer turns
UNTOUCHED = "_untouched"
WAYS = ("eager", "sender_write", "waiting_get", "stream", "get", "cooperative", "two_copy")
WAYS_MESSAGE_FIRST = ("eager", "stream", "get", "cooperative", "two_copy")
BARE_LOOPS = ("push", "pull", "both")
DISTANCES = ("cache", "package", "machine")  # base/distance.hpp
CPUS = Path("/sys/devices/system/cpu")

Processor = collections.namedtuple("Processor", "number core package cache")


@dataclasses.dataclass
class Found:
    """What was measured and decided for one distance."""

    distance: str
    old: Thresholds
    new: Thresholds
    samples: Samples
    asked: int  # cases; those that are not in `samples` came after the deadline
    checked: dict[Case, Ratio] = dataclasses.field(default_factory=dict)  # new over old, looked at again
    taken_back: bool = False


# Where two ranks can be.


def text_of(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def known_processors(folder: Path = CPUS, allowed: Iterable[int] | None = None) -> list[Processor]:
    """Those that this process may run on. The last level of cache is the one with the highest number."""
    found = []
    for number in sorted(os.sched_getaffinity(0) if allowed is None else allowed):
        own = folder / f"cpu{number}"
        caches = sorted(
            (text_of(one / "level"), text_of(one / "shared_cpu_list")) for one in own.glob("cache/index*")
        )
        core, package = (
            text_of(own / "topology" / name) for name in ("core_cpus_list", "physical_package_id")
        )
        found.append(Processor(number, core or str(number), package, caches[-1][1] if caches else ""))
    return found


def distance_of(one: Processor, other: Processor) -> str:
    if one.package != other.package:
        return "machine"
    return "cache" if one.cache == other.cache else "package"


def pairs_of(processors: list[Processor]) -> dict[str, tuple[int, int]]:
    """A pair of processors for each distance that two of different cores have: those nearest to the first."""
    found: dict[str, tuple[int, int]] = {}
    for first in processors[:1]:
        for other in processors:
            if other.core != first.core:
                found.setdefault(distance_of(first, other), (first.number, other.number))
    for index, first in enumerate(processors):  # a distance that the first one has to nobody
        for other in processors[index + 1 :]:
            if other.core != first.core and len(found) < len(DISTANCES):
                found.setdefault(distance_of(first, other), (first.number, other.number))
    return {name: found[name] for name in DISTANCES if name in found}


# What is asked.


def questions_to_decide(turns: int) -> list[Question]:
    asked = [
        Question(Case(order, size, RANKS), turns, list(thresholds.ways_to_decide(order, size)))
        for size in SIZES
        for order in ORDERS
    ]
    return [question for question in asked if question.series]


def questions_of_all(turns: int) -> list[Question]:
    """Every way of every size, also with data that nobody touches, beside the bare loops."""
    first = [*WAYS, *BARE_LOOPS]
    return [
        Question(Case(order, size, RANKS), turns, ways)
        for size in SIZES
        for order, ways in (
            (RECEIVE_FIRST, first),
            (RECEIVE_FIRST + UNTOUCHED, first),
            (thresholds.MESSAGE_FIRST, list(WAYS_MESSAGE_FIRST)),
        )
    ]


def ask(programs: Programs, pair: tuple[int, int], questions: list[Question], deadline: float) -> Samples:
    """The times of one job, whose ranks run on the two processors."""
    samples = Samples()
    launcher = [programs.mpiexec, "-n", str(RANKS), "--bind-to", "core"]
    words = [programs.message_ways, *map(measure.word_of, questions)]
    if questions:
        measure.run_command(launcher, words, RANKS, samples.add, deadline, set(pair))
    return samples


# What is decided.


def path_of(distance: str, name: str) -> str:
    return f"messages.{distance}.{name}_bytes_min"


def thresholds_of(values: Mapping[str, float], builtin: Mapping[str, int], distance: str) -> Thresholds:
    """By a table; 0: as built in."""
    paths = (path_of(distance, name) for name in Thresholds._fields)
    return Thresholds(*(int(values.get(path, 0)) or builtin[path] for path in paths))


def set_thresholds(table: TuningTable, old: TuningTable, founds: Iterable[Found]) -> None:
    """What was not measured stays as in the old table; what did not change too."""
    table.values |= {path: value for path, value in old.values.items() if path.endswith("_bytes_min")}
    for found in founds:
        for name, before, after in zip(Thresholds._fields, found.old, found.new, strict=True):
            if before != after:
                table.values[path_of(found.distance, name)] = after


class MessageTuning:
    """Measures and decides, at every distance that two ranks of this machine can have."""

    def __init__(self, programs: Programs, old: TuningTable, budget_seconds: float):
        self.programs = programs
        self.turns = TURNS if budget_seconds >= BUDGET_SHORT_SECONDS else TURNS_FEW
        self.pairs = pairs_of(known_processors()) if environment.processors() >= RANKS else {}
        builtin = tables.builtin_thresholds(programs.price)
        self.olds = {name: thresholds_of(old.values, builtin, name) for name in self.pairs}

    def see(self, deadline: float, everything: bool = False) -> list[Found]:
        questions = (questions_of_all if everything else questions_to_decide)(self.turns)
        founds = []
        for distance, pair in self.pairs.items():
            samples = ask(self.programs, pair, questions, deadline)
            old = self.olds[distance]
            founds.append(Found(distance, old, thresholds.decide(samples, old), samples, len(questions)))
        return founds

    def see_again(self, founds: Iterable[Found], deadline: float) -> None:
        """Old against new, in jobs of their own; what did not prove is taken back."""
        for found in founds:
            changed = thresholds.changes(found.samples.cases(), found.old, found.new)
            if not changed:
                continue
            questions = [Question(case, self.turns, list(pair)) for case, pair in changed.items()]
            check = Samples()
            if time.monotonic() < deadline:
                check = ask(self.programs, self.pairs[found.distance], questions, deadline)
            new, found.checked = thresholds.confirmed(found.samples, check, found.old, found.new)
            found.taken_back = new != found.new
            found.new = new
