"""A tuning table as a machine to predict on: collectives take what the library chooses there and what its own
formulas say of it (tools/price.cpp), messages what the table's row says.

Where the ranks are decides which row that is: of ranks of one node `messages.cache`, as the library's choice
has it, of several `messages.network`, which `tasuki tune --host` measures. The library's formulas know nodes
of as many ranks each: a collective on others is priced as if the smaller nodes were full.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib

from tasuki import pricing
from tasuki.machines import Machine, MachineError, Parameter
from tasuki.nodes import Nodes
from tasuki.tuning import TuningError, prices, programs, tables
from tasuki.tuning.cases import Case, library_operation

NETWORK, NODE = tables.NETWORK, "messages.cache."


def is_table(path: pathlib.Path | str) -> bool:
    try:
        document = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "tasuki_tuning" in document


def changed(table: tables.TuningTable, name: str, value: float) -> tables.TuningTable:
    """The table with one number changed: a what-if."""
    if name not in table.values:
        raise MachineError(
            f"--set {name}: no parameter of a tuning table, expected one such as {NETWORK}latency_ns"
        )
    return dataclasses.replace(
        table,
        values=table.values | {name: value},
        names_network=table.names_network or name.startswith(NETWORK),
    )


class TablePricer(pricing.Pricer):
    """Of ranks that fill nodes, one after the other."""

    def __init__(self, table: tables.TuningTable, nodes: Nodes, price: pathlib.Path):
        several = len(nodes.sizes) > 1
        if several and not table.names_network:
            raise MachineError(
                f"{table.path}: has no row {NETWORK[:-1]}, expected a table that `tasuki tune --host` wrote"
            )
        self.table, self.nodes, self.price_program = table, nodes, price
        self.row = NETWORK if several else NODE
        self.algorithms = prices.algorithms(price)
        # Of messages within a node, where there are several.
        self.near = TablePricer(table, Nodes(nodes.sizes[:1]), price) if several else self
        super().__init__(machine_of(table, self.row, str(nodes)))

    @property
    def processors(self) -> int:
        """Of a node; 0: not known."""
        return int((self.table.made_on or {}).get("processors", 0))

    def between(self, one: int, other: int) -> pricing.Pricer:
        """What prices messages of these two ranks."""
        return self.near if self.nodes.node_of(one) == self.nodes.node_of(other) else self

    def message(self, bytes: float, mode: str = "") -> pricing.Price:
        """As the table says it of this row (docs/tuning.md)."""
        value = self.table.values
        longer = value[self.row + "long_bytes"] if self.row == NETWORK else value["messages.long_bytes"]
        ns = value[self.row + "software_ns"] + value[self.row + "latency_ns"]
        if bytes > longer:
            ns += value[self.row + "long_ns"] + bytes / value[self.row + "bytes_per_ns"]
        else:
            ns += bytes / value[self.row + "eager_bytes_per_ns"]
        return pricing.Price(1e-9 * ns, None, None, f"by {self.row[:-1]}")

    def estimate(self, benchmark: str, ranks: int, bytes: float) -> pricing.Price | None:
        benchmark = pricing.PLAIN.get(benchmark, benchmark)  # no rank knows more than its own of a "v" form
        if library_operation(benchmark) not in self.algorithms or ranks < 2:
            return super().estimate(benchmark, ranks, bytes)
        filled = self.nodes.of_first(ranks)
        nodes, each = len(filled.sizes), max(filled.sizes)
        case = Case(benchmark, round(bytes), nodes * each)
        try:
            with prices.Prices(self.price_program, [(*case, "*")], self.processors, nodes) as asked:
                (answer,) = asked.ask(tables.document_of(self.table.values, self.table.choices))
            shape = prices.shape_of(nodes * each, nodes)
        except TuningError as error:
            raise pricing.PricingError(f"{self.machine.name}: {error}") from None
        series, _, ns = answer.rpartition(":")
        how = f"by the library's formula: {series}, {shape} ranks"
        if nodes * each != ranks:
            how = f"substituted: {benchmark} on {filled}, {how}"
        return pricing.Price(1e-9 * float(ns), None, None, how)


def machine_of(table: tables.TuningTable, row: str, shape: str) -> Machine:
    """What the pricer and its reports need of a machine."""
    value = {name.removeprefix(row): one for name, one in table.values.items() if name.startswith(row)}
    long_bytes = value.get("long_bytes", table.values["messages.long_bytes"])
    parameters = {
        "latency_seconds": 1e-9 * (value["software_ns"] + value["latency_ns"]),
        "software_seconds": 1e-9 * value["software_ns"],
        "hardware_seconds": 1e-9 * value["latency_ns"],
        "link_bytes_per_second": 1e9 * value["bytes_per_ns"],
        "eager_bytes_max": long_bytes,
    }
    known = {key: Parameter(number, note=f"from {row[:-1]}") for key, number in parameters.items()}
    name = f"{pathlib.Path(table.path).name}, {shape} ranks"
    return Machine(name, f"the tuning table {table.path}", parameters=known, path=table.path)


def load(path: str, nodes: Nodes, changes: dict[str, float]) -> TablePricer:
    try:
        price = programs.find().price
        table = tables.load(path, price, "tcp")
        for name, value in changes.items():
            table = changed(table, name, value)
        if changes:  # the library has limits for each
            tables.check(tables.document_of(table.values), price, path)
        return TablePricer(table, nodes, price)
    except TuningError as error:
        raise MachineError(str(error)) from None
