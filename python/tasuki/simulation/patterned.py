"""A list of patterns (tasuki.patterns) on a simulated machine: each is run there once (pattern_programs has
what it does), and counts as often as its line says.
"""

from __future__ import annotations

import contextlib
import dataclasses

from tasuki import machines, patterns
from tasuki.simulation import SimulationError, nodes_of, programs, rate_of
from tasuki.simulation import reason as general_reason
from tasuki.simulation.pattern_programs import Line, line_of, refuse

ALTERNATIVES_MESSAGES_MAX = 1e6


@dataclasses.dataclass
class Simulation:
    """A list of patterns on a machine; `run` runs each."""

    machine: machines.Machine
    lines: list[Line]
    placement: str
    shape: list[int] | None

    def places(self, line: Line) -> list[programs.Place]:
        nodes, each = nodes_of(self.machine, self.shape), int(self.machine.value("ranks_per_node") or 1)
        names = (self.placement, *(name for name in programs.PLACEMENTS if name != self.placement))
        traffic = line.program.traffic()
        try:
            return [programs.place(name, line.item.ranks, nodes, each, traffic) for name in names]
        except SimulationError as error:
            raise refuse(line.item, str(error)) from None

    def documents(self, what_if: bool) -> list[tuple[int, str, dict, dict]]:
        """(number of the line, what is otherwise, document, estimate) of each simulation."""
        found = []
        for number, line in enumerate(self.lines):
            places = self.places(line)
            try:
                estimate = line.program.estimate()
            except SimulationError as error:
                raise refuse(line.item, str(error)) from None
            first = line.program.document(self.machine, places[0].hosts, self.shape)
            found.append((number, "", first, estimate))
            if what_if and estimate["messages"] <= ALTERNATIVES_MESSAGES_MAX:
                for what, machine, place in programs.alternatives(self.machine, self.placement, places):
                    document = line.program.document(machine, place.hosts, self.shape)
                    found.append((number, what, document, estimate))
        return found

    def run(self, simulator=None, on_start=None, what_if: bool = True) -> dict:
        """What `tasuki simulate --patterns --json` writes; `on_start` as that of traced.Simulation.run."""
        asked = self.documents(what_if)
        each = [estimate for *_, estimate in asked]
        total = {name: sum(one[name] for one in each) for name in ("messages", "seconds")}
        total["memory_bytes"] = max(one["memory_bytes"] for one in each)
        with on_start(total, each) if on_start else contextlib.nullcontext() as on_end:
            answers = programs.run_documents([document for _, _, document, _ in asked], simulator, on_end)
        firsts = {
            number: answer for (number, what, *_), answer in zip(asked, answers, strict=True) if not what
        }
        for number, answer in firsts.items():
            if answer.get("stuck"):
                raise refuse(self.lines[number].item, "waits for ever on this machine")
        rows = [row_of(self.lines[number], answer) for number, answer in firsts.items()]
        seconds = sum(row["seconds"] for row in rows)
        others: dict[str, float] = {}
        for (number, what, *_), answer in zip(asked, answers, strict=True):
            if what and "seconds" in answer:
                line = self.lines[number]
                more = (answer["seconds"] - firsts[number]["seconds"]) / line.parts * line.item.count
                others[what] = others.get(what, seconds) + more
        longest = max(range(len(rows)), key=lambda number: rows[number]["seconds"])
        measured = [row["measured_seconds"] for row in rows]
        return {
            "machine": self.machine.name,
            "engine": answers[0]["engine"],
            "estimate": total,
            "placement": self.placement,
            "seconds": seconds,
            "measured_seconds": None if None in measured else sum(measured),
            "lines": rows,
            "reason": f"{rows[longest]['pattern']} takes the most, {share(rows[longest], seconds):.0%}: "
            f"{general_reason(firsts[longest])}",
            "alternatives": [{"what": what, "seconds": other} for what, other in others.items()],
            "advice": programs.advice(seconds, list(others.items())),
        }


def row_of(line: Line, answer: dict) -> dict:
    item, each = line.item, answer["seconds"] / line.parts
    return {
        **{name: getattr(item, name) for name in ("place", "pattern", "ranks", "bytes", "count")},
        "each_seconds": each,
        "seconds": each * item.count,
        "measured_seconds": item.measured_seconds,
        "algorithms": [one["algorithm"] for one in answer["collectives"]],
        **{
            name: answer[name] / line.parts
            for name in ("messages", "sent_bytes", "carried_bytes", "bound_seconds")
        },
        "busiest_link": answer.get("busiest_link"),
        "processor_busy_seconds": answer["processor_busy_seconds"],
    }


def share(row: dict, seconds: float) -> float:
    return row["seconds"] / seconds if seconds > 0 else 0.0


def simulation(
    items: list[patterns.Item],
    machine: machines.Machine,
    placement: str = "block",
    shape=None,
    way: str = "rounds",
) -> Simulation:
    rate_of(machine, "link_bytes_per_second")
    return Simulation(machine, [line_of(item, machine, way) for item in items], placement, shape)
