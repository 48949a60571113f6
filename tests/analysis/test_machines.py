"""tasuki.machines: the shipped files are whole and say where their numbers are from; a run's machine is
written and read back; a bad file is refused by file, place, value and what was expected."""

import json
import pathlib
import sys

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import synthetic
from tasuki import loggp, machines, pricing

LINES = [(0.3e-6, 2e-10), (1.2e-6, 1e-10), (6e-6, 0.8e-10)]


def run(latency=0.12e-6, gap=0.14e-6):
    times = synthetic.times_of(synthetic.POWERS, LINES, [1024, 65536])
    rows = synthetic.rows_of(synthetic.POWERS, times, mode="send")
    rows += synthetic.rows_of(synthetic.POWERS[:3], 9 * times[:3], mode="ssend")
    rows += synthetic.rows_of([0], numpy.array([latency]), benchmark="latency", mode="send")
    rows += synthetic.rows_of([8, 64], numpy.array([gap, 2 * gap]), benchmark="rate", mode="send")
    rows += synthetic.rows_of([0], numpy.array([2e-6]), "collectives", "barrier", 4)
    return synthetic.run_of(rows)


@pytest.mark.parametrize("name", ["earth-simulator", "k-computer", "tsubame2.5", "local"])
def test_each_shipped_number_has_a_source_or_a_reason_to_be_unknown(name):
    machine = machines.load(name)
    assert name in machines.names() and machine.name == name and machine.curves
    for parameter in machine.parameters.values():
        sources = [*machine.sources, machines.GUESS]
        assert parameter.note if parameter.value is None else parameter.source in sources
    for curve in machine.curves:
        assert curve.source in machine.sources and (curve.note or curve.points)
    assert all(len(source) > 20 for source in machine.sources.values())


def test_what_the_papers_print():
    earth, k = machines.load("earth-simulator"), machines.load("k-computer")
    (sent,) = [
        curve
        for curve in earth.curves
        if curve.pattern.endswith("mode=send,memory=global,place=between_nodes")
    ]
    peak = sent.points[-1]
    assert peak.bytes / peak.seconds == pytest.approx(11.8e9, rel=1e-4)
    assert peak.bytes / peak.seconds / earth.value("link_bytes_per_second") == pytest.approx(0.959, abs=5e-4)
    assert k.value("software_seconds") + k.value("hardware_seconds") == pytest.approx(
        k.value("latency_seconds")
    )
    (pingpong,) = [curve for curve in k.curves if curve.benchmark == "pingpong"]
    assert pingpong.segments[1].bytes_per_second.value == 4685e6
    assert machines.load("tsubame2.5").value("latency_seconds") is None


def test_a_machine_of_a_run_is_written_and_read_back(tmp_path):
    machine = machines.of_run(run())
    machines.save(machine, tmp_path / "local.json")
    again = machines.load(tmp_path / "local.json")
    assert again.parameters == machine.parameters
    for before, after in zip(machine.curves, again.curves, strict=True):
        assert (after.pattern, after.ranks, after.points) == (before.pattern, before.ranks, before.points)
        assert [one.latency_seconds for one in after.lines()] == [
            one.latency_seconds for one in before.lines()
        ]
    price = pricing.Pricer(again).price("point_to_point/pingpong", 2, 1 << 25)
    assert price.seconds == pytest.approx(6e-6 + (1 << 25) * 0.8e-10, rel=1e-3)
    assert price.low < price.seconds < price.high and price.how == "extrapolated from 8 MiB"


def test_loggp_is_derived_from_the_rows():
    found = {name: estimate for name, (estimate, _) in loggp.parameters_of(run()).items()}
    assert found["latency_seconds"].value == pytest.approx(0.3e-6, rel=1e-3)
    assert found["link_bytes_per_second"].value == pytest.approx(1 / 0.8e-10, rel=1e-3)
    assert found["eager_bytes_max"].low == 65536 and found["eager_bytes_max"].high == 131072
    assert found["send_overhead_seconds"].value == 0.12e-6
    assert found["gap_seconds"].value == found["receive_overhead_seconds"].value == 0.14e-6
    sender_slower = loggp.parameters_of(run(gap=0.1e-6))
    assert "at most g" in sender_slower["receive_overhead_seconds"][1]
    assert sender_slower["receive_overhead_seconds"][0].low == 0
    assert loggp.parameters_of(synthetic.run_of([])) == {}


DOCUMENT = {
    "tasuki_machine": 1,
    "name": "mine",
    "sources": {"me": "my own eyes"},
    "parameters": {"latency_seconds": {"value": 1e-6, "source": "me"}},
    "curves": [
        {
            "pattern": "collectives/bcast/form=blocking",
            "ranks": 4,
            "points": [{"bytes": 8, "seconds": 1e-6}, {"bytes": 16, "seconds": 2e-6}],
            "segments": [{"bytes_first": 8, "bytes_last": 16, "latency_seconds": 0, "bytes_per_second": 8e6}],
            "source": "me",
        }
    ],
}


def changed(path, value):
    """DOCUMENT with one place changed: ("curves", 0, "ranks")."""
    document = json.loads(json.dumps(DOCUMENT))
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return document


POINTS = ("curves", 0, "points")
BAD = [
    (("tasuki_machine",), 2, "tasuki_machine = 2, expected 1"),
    (("other",), 2, "other is no field here, expected tasuki_machine, name"),
    (("parameters",), [], r"parameters = \[\], expected an object"),
    (
        ("parameters", "speed"),
        {"value": 1},
        "parameters.speed is no parameter, expected one of latency_seconds",
    ),
    (
        ("parameters", "latency_seconds", "value"),
        -1,
        r"latency_seconds.value = -1, expected a number from 0 on",
    ),
    (("parameters", "latency_seconds", "value"), "1", r"latency_seconds.value = '1', expected a number"),
    (
        ("parameters", "latency_seconds", "source"),
        "you",
        "latency_seconds.source = 'you', expected one of me",
    ),
    (("parameters", "latency_seconds"), 3, "latency_seconds = 3, expected an object"),
    (("curves", 0, "pattern"), "bcast", r"curves\[0\].pattern = 'bcast', expected group/benchmark"),
    (("curves", 0, "ranks"), 0, r"curves\[0\].ranks = 0, expected a whole number from 1 on"),
    (("curves", 0, "factor"), 0, r"curves\[0\].factor = 0, expected a number above 0"),
    ((*POINTS, 0, "seconds"), 0, r"points\[0\].seconds = 0, expected a number above 0"),
    ((*POINTS, 0, "seconds"), float("nan"), r"points\[0\].seconds = nan, expected a number above 0"),
    ((*POINTS, 0, "bytes"), 16, r"curves\[0\].points: sizes \[16, 16\], expected ascending ones"),
    (POINTS, {}, r"curves\[0\].points = \{\}, expected an array"),
    (
        ("curves", 0, "segments", 0, "bytes_last"),
        4,
        r"segments\[0\].bytes_last = 4, expected a whole number from 8",
    ),
    (
        ("curves", 0, "segments", 0, "latency_seconds"),
        None,
        r"latency_seconds = None, expected a number from 0 on",
    ),
]


@pytest.mark.parametrize("path, value, told", BAD)
def test_a_bad_file_is_refused(tmp_path, path, value, told):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(DOCUMENT))
    machines.load(file)
    file.write_text(json.dumps(changed(path, value)))
    with pytest.raises(machines.MachineError, match=f"mine.json.*{told}"):
        machines.load(file)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(
        machines.MachineError, match="nowhere: no such machine or file, expected earth-sim.* or a file"
    ):
        machines.load("nowhere")
    (tmp_path / "cut.json").write_text(json.dumps(DOCUMENT)[:-9])
    with pytest.raises(machines.MachineError, match="cut.json: is no whole JSON document"):
        machines.load(tmp_path / "cut.json")
    (tmp_path / "run.json").write_text('{"tasuki_results": 1}')
    with pytest.raises(machines.MachineError, match="run.json: has no field tasuki_machine"):
        machines.load(tmp_path / "run.json")


def test_one_number_may_be_changed():
    machine = machines.load("tsubame2.5").with_value("latency_seconds", 2e-6)
    assert machine.value("latency_seconds") == 2e-6
    with pytest.raises(machines.MachineError, match="speed: no parameter, expected one of latency_seconds"):
        machine.with_value("speed", 1)
    with pytest.raises(machines.MachineError, match="latency_seconds = -1, expected a number from 0 on"):
        machine.with_value("latency_seconds", -1)
