"""The row of the network: what made-up messages between hosts took gives the parameters that they were made
by; and a table says nothing of a network that nobody has measured."""

import dataclasses
import json
import subprocess

import machine as made_up
import pytest
from tasuki import environment
from tasuki.tuning import network, placement, tables

SOFTWARE, LATENCY, RATE, LONG, GAP, NODE_RATE = 2000.0, 9000.0, 2.5, 21000.0, 1500.0, 4.0
PAIRS = 2


def message_ns(size):
    return SOFTWARE + LATENCY + size / RATE + (LONG if size > network.LONG_BYTES else 0)


def rows():
    """As bench/network_ways.cpp prints them, of a network with those parameters."""
    sizes = (8, 64, 512, 4096, 16384, 65536, 131072, 262144, 1 << 20, 4 << 20)
    found = [network.Row("ping", 1, size, [1e-9 * message_ns(size)] * 3) for size in sizes]
    found.append(network.Row("send", 1, 8, [1e-9 * SOFTWARE] * 3))
    for pairs in (1, PAIRS):
        for size in (8, 1 << 20):
            window = max(1, min(network.WINDOW, network.WINDOW_BYTES // size))
            each = pairs * GAP if size == 8 else max(size / RATE, pairs * size / NODE_RATE)
            ns = each + message_ns(8) / window  # the answer
            found.append(network.Row("stream", pairs, size, [1e-9 * ns] * 3))
    return found


def test_the_parameters_are_found():
    values = network.fitted(rows())
    expected = {
        "software_ns": SOFTWARE,
        "latency_ns": LATENCY,
        "bytes_per_ns": RATE,
        "eager_bytes_per_ns": RATE,
        "long_ns": LONG,
        "gap_ns": GAP,
        "node_bytes_per_ns": NODE_RATE,
    }
    for name, value in expected.items():
        assert values[tables.NETWORK + name] == pytest.approx(value, rel=0.01), name


def test_rates_and_handshakes_are_those_of_all_sizes_and_not_of_two():
    """The longest are slower, where caches end: two sizes alone would leave nothing for the handshake."""
    slower = [
        dataclasses.replace(row, seconds=[1.3 * row.seconds[0]]) if row.bytes == 4 << 20 else row
        for row in rows()
    ]
    values = network.fitted(slower)
    assert values[tables.NETWORK + "long_ns"] == pytest.approx(LONG, rel=0.5)
    assert values[tables.NETWORK + "bytes_per_ns"] == pytest.approx(RATE, rel=0.3)


def test_a_send_that_delivers_is_half_of_a_message():
    whole = SOFTWARE + LATENCY
    delivering = [
        dataclasses.replace(row, seconds=[0.9e-9 * whole]) if row.kind == "send" else row for row in rows()
    ]
    values = network.fitted(delivering)
    assert values[tables.NETWORK + "software_ns"] == pytest.approx(whole / 2, rel=0.01)
    assert values[tables.NETWORK + "latency_ns"] == pytest.approx(whole / 2, rel=0.01)


def test_only_a_measured_network_stands_in_a_table(tmp_path):
    path = tmp_path / "table.json"
    tables.save(made_up.builtin(), path)
    assert "network" not in json.loads(path.read_text())["messages"]
    old = tables.load(path, made_up.PRICE)
    assert not old.names_network
    tables.save(network.tuned(old, rows()), path)
    new = tables.load(path, made_up.PRICE)
    assert new.names_network
    assert new.values["messages.network.long_ns"] == pytest.approx(LONG, rel=0.01)
    assert new.values["messages.cache.long_ns"] == old.values["messages.cache.long_ns"]


@pytest.mark.parametrize(
    "place, ranks, words",
    [
        (placement.of(None, "a:4,b:4", ""), 8, ["--host", "a:4,b:4", "--ppn", "2", "-n", "4"]),
        (placement.of(None, "a:1,b:1", ""), 2, ["--host", "a:1,b:1", "--ppn", "1", "-n", "2"]),
        (placement.Placement(4), 16, ["--nodes", "4", "--network", "fabric", "-n", "4"]),
    ],
)
def test_ranks_without_a_processor_do_not_measure(monkeypatch, place, ranks, words):
    ran = []

    def run(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="", stderr="")

    monkeypatch.setattr(network.subprocess, "run", run)
    monkeypatch.setattr(environment, "processors", lambda: 2)
    assert network.measured(made_up.PROGRAMS, place, ranks, 1.5) == []
    assert ran == [[made_up.PROGRAMS.mpiexec, *words, made_up.PROGRAMS.network_ways, "0.1000"]]
