"""A machine that is made up: calls take what the library's formulas say for parameters that nobody knows,
times a factor of each algorithm's own (since formulas are never right), times noise. It answers the
questions of tasuki.tuning in place of jobs, so that what is right is known."""

import pathlib
import time
import zlib

import numpy
import pytest
from harness import PREFIX, left_out
from tasuki.tuning import messages, placement, prices, programs, samples, session, tables
from tasuki.tuning.cases import algorithm_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRICE = PREFIX / "libexec/tasuki/price"
PROGRAMS = programs.Programs(
    pathlib.Path("mpiexec"),
    pathlib.Path("algorithms"),
    PRICE,
    pathlib.Path("message_ways"),
    pathlib.Path("network_ways"),
)
PROCESSORS = 4
PLACES = [messages.Processor(number, str(number), "0", "0-3") for number in range(PROCESSORS)]


def simulator():
    """tasuki-simulate; a module that asks is skipped where the build lacks SimGrid."""
    if "SimGrid" in left_out():
        pytest.skip(left_out()["SimGrid"], allow_module_level=True)
    return PREFIX / "libexec/tasuki/tasuki-simulate"


def builtin():
    return tables.builtin(PRICE)


def bad_table():
    """Rates a hundred times too high or too low, times ten: no formula chooses well by it."""
    return tables.load(ROOT / "tests" / "tuning" / "bad.json", PRICE)


class Machine:
    def __init__(self, values, off=0.2, noise=0.05, seed=1, place=placement.ONE_NODE):
        self.values, self.off, self.noise, self.place = values, off, noise, place
        self.formulas = prices.Formulas(PRICE, place.processors(PROCESSORS), place.nodes)
        self.random = numpy.random.default_rng(seed)
        self.seed = seed
        self.jobs = 0

    def true_times(self, case, series):
        """series -> seconds, without noise."""
        with self.formulas.prices([(*case, name) for name in series]) as asked:
            ns = asked.ns(self.values)
        return {
            name: 1e-9 * one * self.factor(case, name)
            for name, one in zip(series, ns, strict=True)
            if not numpy.isnan(one)
        }

    def factor(self, case, name):
        """Of an algorithm among so many ranks: always the same."""
        word = f"{case.operation} {case.ranks} {algorithm_of(name)} {self.seed}"
        return float(numpy.exp(numpy.random.default_rng(zlib.crc32(word.encode())).normal(0, self.off)))

    def ask(self, _programs, questions, take, deadline=None, options=None):
        """As measure.ask()."""
        self.jobs += 1
        self.options = options
        for question in questions:
            if deadline is not None and time.monotonic() > deadline:
                return False
            times = self.true_times(question.case, question.series)
            drift = numpy.exp(self.random.normal(0, self.noise, question.turns))  # the same for all of a turn
            visit = {}
            for name, seconds in times.items():
                own = numpy.exp(self.random.normal(0, self.noise, question.turns))
                visit[name] = list(seconds * own * drift)
            take(question.case, visit)
        return True

    def ask_messages(self, _programs, _pair, questions, _deadline):
        """As messages.ask(): a rank that waits had better get messages, up to some size."""
        self.jobs += 1
        rates = {"eager": 4e9, "sender_write": 9e9, "waiting_get": 25e9, "get": 25e9, "cooperative": 9e9}
        rates["stream"] = 4e9
        found = samples.Samples()
        for question in questions:
            size, turns = question.case.bytes, question.turns
            times = {way: (1e-6 if way == "eager" else 2e-6) + size / rates[way] for way in question.series}
            own = {way: numpy.exp(self.random.normal(0, self.noise, turns)) * times[way] for way in times}
            found.add(question.case, {way: list(values) for way, values in own.items()})
        return found

    def chosen_by(self, _programs, cases, path, _options=None):
        """As measure.chosen_by(): by the formulas, but that flags which were left are never taken again."""
        network = self.place.table_network()
        table = tables.load(path, PRICE, network) if path else tables.builtin(PRICE, network)
        smaller = {
            case: [case._replace(bytes=size) for size in session.BETWEEN if size < case.bytes]
            for case in cases
        }
        asked = list(dict.fromkeys([*cases, *(one for own in smaller.values() for one in own)]))
        with self.formulas.choices(asked) as choices:
            chosen = choices.of(table)
        found = {}
        for case in cases:
            found[case] = algorithm_of(chosen[case])
            if found[case] == "flag_based" and any(chosen[one] != "flag_based" for one in smaller[case]):
                found[case] = self.second_best(case, table)
        return found

    def second_best(self, case, table):
        names = self.formulas.possible_series([case], [table.values])[case]
        names.remove("flag_based")
        with self.formulas.prices([(*case, name) for name in names]) as asked:
            return algorithm_of(names[int(numpy.argmin(asked.ns(table.values)))])


def regret_of(machine, case, series, candidates):
    """Of a choice, by the times without noise."""
    times = machine.true_times(case, list(dict.fromkeys([series, *candidates])))
    return times[series] / min(times.values())
