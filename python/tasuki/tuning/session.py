"""`tasuki tune` itself: measures within a budget of time, fits, decides, and looks again at what it
changed.

First who had better copy messages (messages.py), a few seconds; of ranks on several nodes, what messages
between these take (network.py). Then every algorithm of every case of the grid gets a few turns, and a first
fit tells where the choice would change, also between the sizes of the grid. What is left of the first part of
the budget goes, round after round, to where the choice is close or uncertain. The rest goes to the check: old
choice against new, by turns, in jobs that nothing was decided on.

Only the times of one node are fitted to. Between nodes the formulas keep the network's row as messages have
it, which predictions of programs need (docs/tuning.md).
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tasuki import environment
from tasuki.tuning import TuningError, decide, fitting, measure, messages, network, placement, prices, tables
from tasuki.tuning.cases import OPERATIONS, SIZES, Case, algorithm_of, as_barrier, grid
from tasuki.tuning.measure import Question
from tasuki.tuning.programs import Programs
from tasuki.tuning.samples import VISITED, Ratio, Samples
from tasuki.tuning.tables import TuningTable

# Shares of the budget, by when something has to be over; but for the network, those of what that has left.
NETWORK_SEEN, MESSAGES_SEEN, ALL_SEEN, CLOSER_SEEN, CHECKED = 0.1, 0.25, 0.5, 0.74, 0.95
TURNS_FIRST, TURNS_CLOSER, TURNS_CHECK = 3, 6, 7
CHECK_VISITS = 3  # at most, of each change
ROUND_SECONDS = 8  # of a closer look, before what is uncertain is asked anew
CLOSE = 1.2  # a series that takes up to so many times as long as the best may be the best
HOPELESS = 8  # predicted to take so many times as long as the best
SETTLED = 0.03  # a ratio that is known to be so close to 1 does not matter
PAIRS_MAX = 30  # more do not tell more
PACES = 0.5, 8.0  # measured over expected times of questions, at least and at most
BETWEEN = tuple(8 << octave for octave in range(18))  # sizes where choices are compared: 8 bytes to 1 MiB


@dataclasses.dataclass
class Settings:
    ranks: tuple[int, ...] = (2, 4, 8)
    operations: tuple[str, ...] = OPERATIONS
    sizes: tuple[int, ...] = SIZES
    budget_seconds: float = 120
    check: bool = True
    messages: bool = True  # measure who copies them
    table: TuningTable | None = None  # to start from; None: the built-in one
    source: Samples | None = None  # times that were measured before; None: measure
    place: placement.Placement = placement.ONE_NODE


@dataclasses.dataclass
class Outcome:
    old: TuningTable
    new: TuningTable
    fit: fitting.Fit
    samples: Samples
    olds: dict[Case, str]  # what the old table chose
    decisions: dict[Case, str]  # what the new one does
    checked: dict[Case, Ratio]  # new over old, of changes that were looked at again
    taken_back: list[Case]  # changes that turned out to be worse
    troubles: list[str]
    seconds: float = 0
    messages: list[messages.Found] = dataclasses.field(default_factory=list)
    network: list[network.Row] = dataclasses.field(default_factory=list)

    def changes(self) -> list[Case]:
        return [case for case, series in self.decisions.items() if series != self.olds[case]]


class Watch:
    """Is told how it goes; this one keeps it to itself."""

    def stage(self, text: str) -> None: ...

    def tick(self) -> None: ...


class Session:
    def __init__(self, programs: Programs, settings: Settings, watch: Watch | None = None):
        self.programs, self.settings, self.watch = programs, settings, watch or Watch()
        self.place = settings.place
        processors = self.place.processors(environment.processors())
        self.formulas = prices.Formulas(programs.price, processors, self.place.nodes)
        self.began = self.collectives_began = time.monotonic()
        self.builtin = tables.builtin(programs.price, self.place.table_network())
        self.old = settings.table or self.builtin
        self.start = self.old  # with the network's row, once it is measured
        self.samples = settings.source or Samples()
        self.expected: dict[Case, dict[str, float]] = {}  # seconds that a call may take
        self.paces: dict[int, float] = {}  # by ranks: measured over expected time of questions
        self.troubles: list[str] = []
        self.questions: list[Question] = []  # of the grid

    def moment(self, share: float) -> float:
        """When this share of the budget has passed."""
        end = self.began + self.settings.budget_seconds
        return self.collectives_began + share * (end - self.collectives_began)

    def left(self, share: float) -> float:
        return self.moment(share) - time.monotonic()

    def tune(self) -> Outcome:
        message_tuning, founds, rows = None, [], []
        if self.settings.source is None and self.place.nodes > 1:
            rows = self.see_network()
        elif self.settings.source is None and self.settings.messages:
            self.watch.stage("who copies")
            message_tuning = messages.MessageTuning(self.programs, self.old, self.settings.budget_seconds)
            founds = message_tuning.see(self.moment(MESSAGES_SEEN))
        if self.settings.source is None:
            self.see_all()
        if not self.samples.cases():
            raise TuningError(f"--budget {self.settings.budget_seconds:g}s is too short to measure anything")
        self.watch.stage("fitting")
        found = self.fitted(polished=False)
        if self.settings.source is None:
            self.see_closer(found.values)
            if self.unseen():
                asked = len(self.questions)
                seen = asked - len(self.unseen())
                self.troubles.append(f"the budget was enough for {seen} of {asked} cases")
            self.watch.stage("fitting")
        found = self.fitted(polished=True)
        table = TuningTable(found.values, names_network=self.start.names_network)
        cases = self.samples.cases()
        models, olds = self.choices(table, cases), self.real_old_choices(cases)
        first = decide.decide_all(self.samples, models, olds)
        decisions, ratios = first, {}
        if self.settings.check:
            if message_tuning is not None:
                self.watch.stage("old against new")
                message_tuning.see_again(founds, self.moment(CHECKED))
            decisions, ratios = self.checked(first, olds)
        messages.set_thresholds(table, self.old, founds)
        self.name_choices(table, decisions, models)
        return Outcome(
            self.old,
            table,
            found,
            self.samples,
            olds,
            decisions,
            ratios,
            [case for case in cases if decisions[case] != first[case]],
            self.troubles,
            time.monotonic() - self.began,
            founds,
            rows,
        )

    def checked(self, decisions, olds) -> tuple[dict[Case, str], dict[Case, Ratio]]:
        """The decisions after a second look at those that change something."""
        check = self.see_again(decisions, olds)
        kept, ratios = decide.checked(check, decisions, olds)
        self.samples.merge(check)
        return decide.as_the_library_can(self.samples, kept), ratios

    # What is measured.

    def ask(self, questions: list[Question], samples: Samples, deadline: float) -> bool:
        """As many of the questions as fit in before the deadline; False: not all did."""
        chosen, costs, begin = [], [], time.monotonic()
        end, jobs = begin, set()
        for question in questions:
            ranks = question.case.ranks
            cost = self.pace(ranks) * measure.cost_seconds(question, self.expected.get(question.case, {}))
            start = 0 if ranks in jobs else self.place.start_seconds()
            if end + start + cost <= deadline:  # else it is too dear, and another may not be
                chosen.append(question)
                costs.append(cost)
                jobs.add(ranks)
                end += start + cost

        def take(case, visit):
            samples.add(case, visit)
            times = self.expected.setdefault(case, {})
            times |= {series: min(seconds) for series, seconds in visit.items() if seconds}
            self.watch.tick()

        measure.ask(self.programs, chosen, take, deadline, self.place.options)
        took = time.monotonic() - begin - len(jobs) * self.place.start_seconds()
        if sum(costs) > 2:
            off = took / sum(costs)
            self.paces |= {ranks: min(max(self.pace(ranks) * off, PACES[0]), PACES[1]) for ranks in jobs}
        return len(chosen) == len(questions)

    def pace(self, ranks: int) -> float:
        return self.paces.get(ranks, max(self.paces.values(), default=1.0))

    def see_network(self) -> list[network.Row]:
        """Messages between the nodes; the start has their row from now on."""
        self.watch.stage("the network")
        seconds = NETWORK_SEEN * self.settings.budget_seconds
        rows = network.measured(self.programs, self.place, max(self.settings.ranks), seconds)
        self.start = network.tuned(self.old, rows)
        self.collectives_began = time.monotonic()
        return rows

    def expect(self, questions: list[Question]) -> None:
        """What calls may take, by the formulas, until they are measured."""
        asked = [(*question.case, series) for question in questions for series in question.series]
        with self.formulas.prices(asked) as told:
            for point, ns in zip(asked, told.ns(self.known_values()), strict=True):
                if not math.isnan(ns):
                    self.expected.setdefault(Case(*point[:3]), {}).setdefault(point[3], 1e-9 * ns)

    def known_values(self) -> Mapping[str, float]:
        """Parameters that are not far off. Of one node, a table to start from may be: the built-in ones."""
        return self.builtin.values if self.place.nodes == 1 else self.start.values

    def see_all(self) -> None:
        """A few turns of everything: first with sizes far apart, then with those between. Each number of
        ranks has its share of the time, and what those before it leave."""
        self.watch.stage("every algorithm")
        settings = self.settings
        cases = [as_barrier(case) for case in grid(settings.operations, settings.ranks, settings.sizes)]
        series = self.formulas.possible_series(cases, [self.known_values()])
        olds = self.old_choices(cases)
        wanted = {case: list(dict.fromkeys([*series[case], olds[case]])) for case in cases}
        questions = [Question(case, TURNS_FIRST, wanted[case]) for case in cases]
        self.expect(questions)
        questions = [self.without_hopeless(question) for question in questions]
        half = len(questions) // 2
        for part in (questions[:half], questions[half:]):
            for place, count in enumerate(settings.ranks):
                group = [question for question in part if question.case.ranks == count]
                share = self.left(ALL_SEEN) / (len(settings.ranks) - place)
                self.ask(group, self.samples, time.monotonic() + share)
        if not self.samples.cases():  # jobs take long to begin
            self.ask(questions, self.samples, self.moment(CLOSER_SEEN))
        self.questions = questions

    def without_hopeless(self, question: Question) -> Question:
        """Without what even wrong formulas will not find among the best."""
        times = self.expected[question.case]
        limit = HOPELESS * min(times[name] for name in question.series)
        return question._replace(series=[name for name in question.series if times[name] <= limit])

    def see_closer(self, values: Mapping[str, float]) -> None:
        """Turns where the choice is uncertain, until that part of the budget is over; first of what the grid
        has left to see."""
        self.watch.stage("close choices")
        table = TuningTable(dict(values))
        between = self.changes_between(table) | {one.case: one.series for one in self.unseen()}
        while self.left(CLOSER_SEEN) > 1:
            cases = list(dict.fromkeys([*self.samples.cases(), *between]))
            questions = self.open_questions(self.choices(table, cases), self.old_choices(cases), between)
            if not questions:
                return
            self.expect(questions)
            seen = sum(map(len, self.samples.visits.values()))
            self.ask(questions, self.samples, min(self.moment(CLOSER_SEEN), time.monotonic() + ROUND_SECONDS))
            if sum(map(len, self.samples.visits.values())) == seen:
                return

    def unseen(self) -> list[Question]:
        """Of the grid, for which there was no time yet."""
        return [question for question in self.questions if question.case not in self.samples.visits]

    def changes_between(self, table: TuningTable) -> dict[Case, list[str]]:
        """Sizes between those that were measured where the choice would change: the middle of each run of
        such sizes. On a node with flags, which sizes above can have only where those below do (the program
        leaves out what is not possible)."""
        kinds = sorted({(case.operation, case.ranks) for case in self.samples.cases() if case.bytes})
        fine = [Case(operation, size, ranks) for operation, ranks in kinds for size in BETWEEN]
        olds, news = self.choices(self.old, fine), self.choices(table, fine)
        found: dict[Case, list[str]] = {}
        more = [decide.FLAGS] if self.place.nodes == 1 else []
        for operation, ranks in kinds:
            pairs = {size: (olds[c], news[c]) for size in BETWEEN for c in [Case(operation, size, ranks)]}
            for first, last, (old, new) in decide.runs(pairs):
                own = [Case(operation, size, ranks) for size in BETWEEN if first <= size <= last]
                if old != new and not any(self.samples.times(case) for case in own):
                    found[own[len(own) // 2]] = [old, new, *more]
        return found

    def open_questions(self, models, olds, between) -> list[Question]:
        """What is not settled: those first where most is to be gained, and that were measured least."""
        found = []
        for case in models:
            times = self.samples.times(case)
            if not times:
                found.append((-math.inf, 0, Question(case, TURNS_CLOSER, list(dict.fromkeys(between[case])))))
                continue
            best = min(times, key=times.get)
            close = [name for name in times if times[name] <= CLOSE * times[best]]
            wanted = list(dict.fromkeys([best, models[case], olds[case], *close]))
            rivals = [name for name in wanted if name != best and self.is_open(case, name, best)]
            if rivals:
                taken = decide.decided(self.samples, case, models[case], olds[case])
                gain = times[best] / times.get(taken, times[best])
                pairs = min(self.samples.ratio(case, name, best).pairs for name in rivals)
                found.append((round(gain, 1), pairs, Question(case, TURNS_CLOSER, [best, *rivals])))
        return [question for *_, question in sorted(found, key=lambda one: one[:2])]

    def is_open(self, case: Case, name: str, best: str) -> bool:
        """Whether more turns may tell which of the two is faster, and it matters."""
        seen = self.samples.visits[case]
        if not any(len(visit.get(name, [])) >= VISITED for visit in seen):
            return not any(name in visit for visit in seen)  # else it is hopeless
        ratio = self.samples.ratio(case, name, best)
        if ratio.pairs >= PAIRS_MAX or ratio.low > 1 + SETTLED:
            return False
        return not (ratio.low > 1 - SETTLED and ratio.high < 1 + SETTLED)

    def see_again(self, decisions, olds) -> Samples:
        """Old against new, in jobs of their own."""
        self.watch.stage("old against new")
        check = Samples()
        changed = [case for case in decisions if decisions[case] != olds[case]]
        changed.sort(key=lambda case: self.gap(case, decisions, olds))
        questions = [Question(case, TURNS_CHECK, [olds[case], decisions[case]]) for case in changed]
        for _ in range(CHECK_VISITS):
            if questions and not self.ask(questions, check, self.moment(CHECKED)):
                break
        unseen = sum(case not in check.visits for case in changed)
        if unseen:
            self.troubles.append(
                f"the budget was too short to look again at {unseen} of {len(changed)} changes"
            )
        return check

    def gap(self, case, decisions, olds) -> float:
        """How clearly a change is one for the better, by what is known: the least clear is checked first."""
        ratio = decide.compared(self.samples, case, decisions[case], olds[case])
        return 0.0 if ratio is None or math.isinf(ratio.high) else -math.log(ratio.high)

    # What is fitted and chosen.

    def fitted(self, polished: bool) -> fitting.Fit:
        if self.place.nodes > 1:
            return fitting.Fit(dict(self.start.values), {})
        points = fitting.possible(self.samples.points(), self.formulas, self.builtin.values)
        if not points:
            raise TuningError("no times to fit to: none is of an algorithm that the library knows")
        start = fitting.better_start(points, self.formulas, self.old.values, self.builtin.values)
        return fitting.fit(points, self.formulas, start, polished)

    def choices(self, table: TuningTable, cases: list[Case]) -> dict[Case, str]:
        with self.formulas.choices(cases) as asked:
            return asked.of(table)

    def chosen_by(self, cases: list[Case], table: Path | str) -> dict[Case, str]:
        """What the library itself takes there by a table."""
        return measure.chosen_by(self.programs, cases, table, self.place.options)

    def old_choices(self, cases: list[Case]) -> dict[Case, str]:
        return self.choices(self.old, cases)

    def real_old_choices(self, cases: list[Case]) -> dict[Case, str]:
        """As the library itself makes them: not quite what the formulas say (decide.with_flags_first)."""
        told = self.old_choices(cases)
        if self.settings.source is not None and not self.settings.check:
            return told  # no jobs are wanted
        for case, algorithm in self.chosen_by(cases, self.old.path).items():
            if algorithm_of(told[case]) != algorithm:
                times = self.samples.times(case)
                alike = [name for name in times if algorithm_of(name) == algorithm]
                told[case] = min(alike, key=times.get, default=algorithm)
        return told

    def name_choices(
        self, table: TuningTable, decisions: Mapping[Case, str], models: dict[Case, str]
    ) -> None:
        """Names in the table what its parameters do not choose: by the formulas, and by the library itself,
        which is asked in jobs where jobs are wanted."""
        kinds = dict.fromkeys((case.operation, case.ranks) for case in decisions if case.bytes)
        between = [Case(operation, size, ranks) for operation, ranks in kinds for size in BETWEEN]
        models = self.choices(table, between) | models
        kept = decide.of_other_places(self.old.choices, decisions, self.place.nodes)
        table.choices = kept | decide.exceptions(decisions, models, self.place.nodes)
        if not self.settings.check:
            return
        others = self.other_choices(table, decisions)
        if others:
            table.choices = kept | decide.exceptions(decisions, models | others, self.place.nodes)
            others = self.other_choices(table, decisions)
        for case, algorithm in others.items():
            what = f"{case.operation} of {case.bytes} bytes {decide.place_text(case.ranks, self.place.nodes)}"
            self.troubles.append(f"{what}: the library takes {algorithm}, not {decisions[case]}")

    def other_choices(self, table: TuningTable, decisions: Mapping[Case, str]) -> dict[Case, str]:
        """Where the library chooses otherwise by this table than was decided, and what."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.json"
            tables.save(table, path)
            ran = self.chosen_by(list(decisions), path)
        return {case: name for case, name in ran.items() if name != algorithm_of(decisions[case])}


def tune_network(
    programs: Programs, settings: Settings
) -> tuple[TuningTable, TuningTable, list[network.Row]]:
    """What messages between nodes take, and no more. The old table, the new one, and the times."""
    old = settings.table or tables.builtin(programs.price, settings.place.table_network())
    rows = network.measured(programs, settings.place, max(settings.ranks), settings.budget_seconds)
    return old, network.tuned(old, rows), rows


def tune_messages(
    programs: Programs, settings: Settings, watch: Watch
) -> tuple[TuningTable, list[messages.Found]]:
    """Who copies messages, and no more: every way is measured. The new table, and what was found."""
    begin = time.monotonic()
    old = settings.table or tables.builtin(programs.price)
    tuning = messages.MessageTuning(programs, old, settings.budget_seconds)
    if not tuning.pairs:
        raise TuningError("messages need two cores, and this job may use one")
    watch.stage("who copies")
    founds = tuning.see(begin + CHECKED * settings.budget_seconds, everything=True)
    if settings.check:
        watch.stage("old against new")
        tuning.see_again(founds, begin + settings.budget_seconds)
    new = TuningTable(dict(old.values), dict(old.choices), names_network=old.names_network)
    messages.set_thresholds(new, old, founds)
    return new, founds
