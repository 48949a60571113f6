"""`tasuki tune` on machines that are made up (machine.py), so that the best choice is known: a bad table
becomes a good one, and nothing gets worse than the noise, whatever the table was that it started from."""

import json
import time

import machine as made_up
import numpy
import pytest
import test_network
from tasuki import environment
from tasuki.tuning import (
    TuningError,
    decide,
    measure,
    messages,
    network,
    placement,
    regret,
    session,
    tables,
    thresholds,
)
from tasuki.tuning.cases import Case
from tasuki.tuning.samples import Samples

OPERATIONS = ("bcast", "allreduce", "gather", "barrier")
RANKS = (2, 8)


@pytest.fixture
def tune(monkeypatch):
    """Runs a session on a machine."""

    def run(machine, table=None, **settings):
        monkeypatch.setattr(environment, "processors", lambda: made_up.PROCESSORS)
        monkeypatch.setattr(measure, "ask", machine.ask)
        monkeypatch.setattr(messages, "known_processors", lambda: made_up.PLACES)
        monkeypatch.setattr(messages, "ask", machine.ask_messages)
        monkeypatch.setattr(measure, "chosen_by", machine.chosen_by)
        monkeypatch.setattr(network, "measured", lambda *_: test_network.rows())
        wanted = session.Settings(
            **({"ranks": RANKS, "operations": OPERATIONS, "budget_seconds": 60, "table": table} | settings)
        )
        return session.Session(made_up.PROGRAMS, wanted).tune()

    return run


def strange(seed):
    """Parameters of another machine: up to three times off, but for the network's, which it does not tell."""
    random = numpy.random.default_rng(seed)
    values = made_up.builtin().values
    told = {path: value for path, value in values.items() if not path.startswith(tables.NETWORK)}
    return values | {
        path: value * float(numpy.exp(random.uniform(-1.1, 1.1))) for path, value in told.items()
    }


def true_regrets(machine, outcome, choices):
    return {
        case: made_up.regret_of(machine, case, choices[case], outcome.samples.times(case))
        for case in outcome.samples.cases()
    }


@pytest.mark.parametrize("maker, seed", [("amd", 1), ("amd", 2), ("intel", 2), ("unknown", 2)])
def test_a_bad_table_becomes_a_good_one(tune, built_in_for, maker, seed):
    built_in_for(maker)
    machine = made_up.Machine(strange(seed), seed=seed)
    outcome = tune(machine, made_up.bad_table())
    before = true_regrets(machine, outcome, outcome.olds)
    after = true_regrets(machine, outcome, outcome.decisions)
    assert numpy.mean(list(before.values())) > 1.3, "the table was not bad"
    assert numpy.mean(list(after.values())) <= 1.05
    # Not all, since the library takes flags for the small sizes of an operation or not at all.
    assert numpy.quantile(list(after.values()), 0.95) <= 1.05
    assert outcome.changes()


@pytest.mark.parametrize("seed", [3, 4])
def test_no_row_gets_worse_than_noise(tune, seed):
    machine = made_up.Machine(made_up.builtin().values, seed=seed)
    outcome = tune(machine)
    before = true_regrets(machine, outcome, outcome.olds)
    after = true_regrets(machine, outcome, outcome.decisions)
    for case, value in after.items():
        assert value <= before[case] * 1.05, case
    assert numpy.mean(list(after.values())) <= numpy.mean(list(before.values()))


def test_the_library_chooses_by_the_table_as_was_decided(tune, tmp_path):
    machine = made_up.Machine(strange(5), seed=5)
    outcome = tune(machine, made_up.bad_table())
    tables.save(outcome.new, tmp_path / "table.json")
    chosen = machine.chosen_by(None, list(outcome.decisions), tmp_path / "table.json")
    for case, series in outcome.decisions.items():
        assert chosen[case] == series.partition("/")[0], case
    assert not outcome.troubles


def test_a_change_that_the_second_look_finds_slower_is_taken_back(tune):
    class Liar(made_up.Machine):
        """Says of "single_copy" that it takes no time, until old and new are looked at alone."""

        def true_times(self, case, series):
            times = super().true_times(case, series)
            if "single_copy" in times and len(times) > 2:
                times["single_copy"] /= 50
            return times

    machine = Liar(made_up.builtin().values, off=0, seed=6)
    outcome = tune(machine, operations=("bcast",), ranks=(2,))
    assert outcome.taken_back
    for case in outcome.taken_back:
        assert outcome.decisions[case] == outcome.olds[case]


def test_what_was_measured_before_is_enough(tune, tmp_path):
    machine = made_up.Machine(strange(7), seed=7)
    first = tune(machine, made_up.bad_table(), check=False)
    path = tmp_path / "times.json"
    path.write_text(json.dumps(regret.document_of(first.samples, first.decisions)))
    jobs = machine.jobs
    again = tune(machine, made_up.bad_table(), check=False, source=regret.load_samples(path))
    assert machine.jobs == jobs, "nothing was to be measured"
    after = true_regrets(machine, again, again.decisions)
    assert numpy.mean(list(after.values())) <= 1.05


def test_messages_are_tuned_beside_the_collectives(tune):
    machine = made_up.Machine(made_up.builtin().values, seed=8)
    outcome = tune(machine, operations=("bcast",), ranks=(2,))
    (found,) = outcome.messages
    assert found.distance == "cache" and found.new != found.old
    assert thresholds.way_of(found.new, thresholds.RECEIVE_FIRST, 64 << 10) == "waiting_get"
    assert found.checked and all(ratio.median < 1.05 for ratio in found.checked.values())
    assert outcome.new.values["messages.cache.cooperative_bytes_min"] == found.new.cooperative
    again = tune(machine, outcome.new, operations=("bcast",), ranks=(2,))
    assert again.messages[0].old == found.new == again.messages[0].new
    quiet = tune(machine, outcome.new, operations=("bcast",), ranks=(2,), messages=False)
    assert not quiet.messages
    assert quiet.new.values["messages.cache.cooperative_bytes_min"] == found.new.cooperative


def over_nodes(table, seed=9):
    """A machine of two nodes whose network is that of test_network.rows()."""
    values = tables.builtin(made_up.PRICE, "tcp").values | network.fitted(test_network.rows())
    return made_up.Machine(values, seed=seed, place=placement.Placement(2)), {
        "table": table,
        "operations": ("bcast", "reduce", "allgather"),
        "ranks": (4,),
        "place": placement.Placement(2),
    }


def test_over_nodes_the_choices_name_the_nodes(tune):
    machine, settings = over_nodes(None)
    outcome = tune(machine, **settings)
    assert machine.options(4) == ["--nodes", "2", "--network", "fabric"]
    assert not outcome.messages and not outcome.troubles and outcome.changes()
    assert outcome.new.choices and all(text.endswith(" on 2 nodes") for text in outcome.new.choices)
    after = true_regrets(machine, outcome, outcome.decisions)
    assert numpy.mean(list(after.values())) <= 1.03 and max(after.values()) <= 1.2
    assert outcome.new.names_network and outcome.network
    assert outcome.new.values == outcome.old.values | network.fitted(test_network.rows())


def test_choices_of_other_places_stay(tune):
    table = tables.builtin(made_up.PRICE, "tcp")
    others = {
        "bcast of 0 to 9 bytes among 4 ranks": "binomial",
        "bcast of 0 to 9 bytes among 4 ranks on 4 nodes": "chain/4096",
        "bcast of 0 to 9 bytes among 8 ranks on 2 nodes": "binomial",
        "scan of 0 to 9 bytes among 4 ranks on 2 nodes": "recursive_doubling",
    }
    table.choices = others | {"bcast of 5 to 6 bytes among 4 ranks on 2 nodes": "scatter_ring"}
    machine, settings = over_nodes(table)
    new = tune(machine, **settings, check=False).new
    assert others.items() <= new.choices.items()
    assert "bcast of 5 to 6 bytes among 4 ranks on 2 nodes" not in new.choices


def test_numbers_of_ranks_share_the_time(tune):
    """One that takes long leaves the others their share; and what was left out is seen later."""
    budget, jobs = 60, []

    class Patient(made_up.Machine):
        def ask(self, programs, questions, take, deadline=None, options=None):
            jobs.append(({question.case.ranks for question in questions}, deadline - time.monotonic()))
            if jobs[-1][0] == {8} and len(jobs) <= 4:
                return False  # the deadline came first
            return super().ask(programs, questions, take, deadline, options)

    machine = Patient(made_up.builtin().values)
    outcome = tune(machine, ranks=(4, 8), budget_seconds=budget, check=False, messages=False)
    assert [ranks for ranks, _ in jobs[:4]] == [{4}, {8}, {4}, {8}]
    for place, (_, seconds) in enumerate(jobs[:4]):
        assert seconds <= session.ALL_SEEN * budget / (2 - place % 2)
    assert {case.ranks for case in outcome.samples.cases()} == {4, 8}
    assert not outcome.troubles


def test_a_budget_that_is_too_short_is_told(tune):
    machine = made_up.Machine(made_up.builtin().values)
    with pytest.raises(TuningError, match="budget 0.1s is too short"):
        tune(machine, budget_seconds=0.1)


def test_named_choices_hold_halfway_to_the_next_sizes():
    decisions = {
        Case("bcast", size, 4): name for size, name in ((8, "a"), (512, "b"), (2048, "b"), (8192, "a"))
    }
    named = decide.exceptions(decisions, dict.fromkeys(decisions, "a"))
    assert named == {"bcast of 65 to 4096 bytes among 4 ranks": "b"}
    blocks = {Case("allgather", 8, 4): "b"}
    assert decide.exceptions(blocks, dict.fromkeys(blocks, "a")) == {
        "allgather of 0 to 64 bytes among 4 ranks": "b"
    }


def test_flags_come_before_all_else_and_without_a_gap():
    samples = Samples()
    cases = [Case("bcast", size, 4) for size in (8, 64, 512)]
    for case, flags in zip(cases, (2.0, 1.0, 1.0), strict=True):
        samples.add(case, {"flag_based": [flags] * 9, "binomial": [1.5] * 9})
    models = dict.fromkeys(cases, "flag_based")
    decisions = decide.decide_all(samples, models, models)
    # To take what is better for 8 bytes would lose the flags for 64 and 512.
    assert decisions == models
    decisions = dict(zip(cases, ("flag_based", "flag_based", "binomial"), strict=True))
    fine = {Case("bcast", 8 << octave, 4): "flag_based" for octave in range(7)}
    assert decide.exceptions(decisions, fine) == {"bcast of 182 to 1024 bytes among 4 ranks": "binomial"}
    fine[Case("bcast", 16, 4)] = "chain"  # the model leaves them between two sizes that were measured
    named = decide.exceptions(decisions, fine)
    assert named["bcast of 0 to 181 bytes among 4 ranks"] == "flag_based"


def test_a_turn_without_a_time_is_none_of_any_series():
    rows = [{"series": "ring", "seconds": [3.0, 0.0, 4.0]}, {"series": "bruck", "seconds": [5.0, 6.0, 7.0]}]
    line, samples = json.dumps({"operation": "bcast", "bytes": 8, "rows": rows}), Samples()
    measure.take_line(line, 2, samples.add)
    assert samples.visits == {Case("bcast", 8, 2): [{"ring": [3.0, 4.0], "bruck": [5.0, 7.0]}]}
