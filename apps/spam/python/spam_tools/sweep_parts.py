"""The tables and figures of a sweep: which runs each needs, and how it is made of them.

Numbers are those of Yoshikawa et al. (2002). All of them become a table; a figure is drawn of one, with a
line for each column over its index. Processors are ranks of one thread ("MPI-only") or threads of one rank
("hybrid").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pandas

from spam_tools.sweep_runs import Variant

Runs = dict[Variant, dict]
MAPPINGS = ("flat", "cyclic(4)", "balanced")
SCHEDULES = ("static", "cyclic", "dynamic")
UPDATES = ("critical", "reduction", "none")
SORTINGS = ("serial", "threaded")
PROCESSORS = "processors"
MILLISECONDS = "ms per step"


@dataclasses.dataclass
class Part:
    name: str  # as the paper numbers them
    title: str
    about: str
    variants: list[Variant]
    make: Callable[[Runs], pandas.DataFrame]
    unit: str
    number_format: str = "{:.1f}"

    @property
    def heading(self) -> str:
        return f"{self.name[:-1].capitalize()} {self.name[-1]}"

    @property
    def is_figure(self) -> bool:
        return self.name.startswith("figure")


def time_of(run: dict, phase: str | None = None) -> float:
    """In ms a step: of all, or of a phase on its slowest rank."""
    seconds = run["seconds"] if phase is None else max(run["phases"][phase])
    return 1e3 * seconds / max(1, run["steps"])


def grid(columns: dict[str, Callable[[int], Variant]], rows: list, value: Callable[[dict], float],
         index: str) -> tuple[list[Variant], Callable[[Runs], pandas.DataFrame]]:  # fmt: skip
    """Runs that differ in two ways, and the table of one value of each."""

    def make(runs: Runs) -> pandas.DataFrame:
        data = {name: [value(runs[variant(row)]) for row in rows] for name, variant in columns.items()}
        return pandas.DataFrame(data, index=pandas.Index(rows, name=index))

    return [variant(row) for row in rows for variant in columns.values()], make


def parts_of(numbers: list[int]) -> list[Part]:
    """All of them, for these numbers of processors; tables that the paper has of 4 take the most."""
    most = numbers[-1]
    return [
        breakdown(),
        load_of_mappings(most),
        times_of_mappings(numbers),
        times_of_schedules(most),
        load_of_schedules(most),
        times_of_updates(numbers),
        times_of_sorting(numbers),
        *hybrid_against_ranks(numbers),
        cache_misses(numbers),
    ]


def breakdown() -> Part:
    engines = {"pair list": Variant(), "blocks": Variant(engine="blocked")}

    def make(runs: Runs) -> pandas.DataFrame:
        data = {}
        for name, variant in engines.items():
            times = {phase: time_of(runs[variant], phase) for phase in ("force", "sorting")}
            whole = time_of(runs[variant])
            others = whole - sum(times.values())
            data[name] = [100 * time / whole for time in (*times.values(), others)]
        index = pandas.Index(["force", "sorting", "others"], name="phase")
        return pandas.DataFrame(data, index=index)

    about = "One rank of one thread. Paper: force 88.03 %, sorting 6.50 %, others 5.47 %."
    return Part("table1", "Where a step's time goes", about, list(engines.values()), make, "% of a step")


def load_of_mappings(ranks: int) -> Part:
    variants = {name: Variant(ranks=ranks, mapping=name) for name in MAPPINGS}

    def make(runs: Runs) -> pandas.DataFrame:
        data = {name: runs[variant]["pairs"] for name, variant in variants.items()}
        return pandas.DataFrame(data, index=pandas.RangeIndex(ranks, name="rank"))

    about = "Paper, of 4: 367, 387, 1562 and 1535 thousand with flat; 972, 974, 963 and 954 with cyclic."
    return Part(
        "table3", "Pairs in range per rank and step", about, list(variants.values()), make, "", "{:,.0f}"
    )


def times_of_mappings(numbers: list[int]) -> Part:
    columns = {name: lambda n, name=name: Variant(ranks=n, mapping=name) for name in MAPPINGS}
    variants, make = grid(columns, numbers, time_of, PROCESSORS)
    about = "MPI-only, with the pair list."
    return Part("figure3", "Cell mappings", about, variants, make, MILLISECONDS)


def times_of_schedules(threads: int) -> Part:
    columns = {"time": lambda schedule: Variant(threads=threads, schedule=schedule, update="critical")}
    variants, make = grid(columns, list(SCHEDULES), time_of, "schedule")
    about = f"One rank of {threads} threads, updates in critical sections, as the paper's at that point."
    return Part("table4", "Thread schedules", about, variants, make, MILLISECONDS)


def load_of_schedules(threads: int) -> Part:
    variants = {name: Variant(threads=threads, schedule=name, update="critical") for name in SCHEDULES}

    def make(runs: Runs) -> pandas.DataFrame:
        data = {name: runs[variant]["pairs_by_thread"][0] for name, variant in variants.items()}
        return pandas.DataFrame(data, index=pandas.RangeIndex(threads, name="thread"))

    return Part(
        "table5",
        "Pairs in range per thread and step",
        "Of the runs of table 4.",
        list(variants.values()),
        make,
        "",
        "{:,.0f}",
    )


def times_of_updates(numbers: list[int]) -> Part:
    columns = {name: lambda n, name=name: Variant(threads=n, update=name) for name in UPDATES}
    variants, make = grid(columns, numbers, time_of, "threads")
    about = (
        'One rank. "none" loses forces where two threads meet: wrong, and the bound of what can be gained.'
    )
    return Part("figure4", "How threads add up forces", about, variants, make, MILLISECONDS)


def times_of_sorting(numbers: list[int]) -> Part:
    columns = {name: lambda n, name=name: Variant(threads=n, sorting=name) for name in SORTINGS}
    variants, make = grid(columns, numbers, time_of, "threads")
    about = "One rank, with the array reduction: the list of pairs made by one thread, or one by each."
    return Part("figure5", "Who makes the list of pairs", about, variants, make, MILLISECONDS)


def kinds(**more) -> dict[str, Callable[[int], Variant]]:
    """The paper's two, and the same two with blocks."""
    return {
        "list, MPI-only": lambda n: Variant(ranks=n, **more),
        "list, hybrid": lambda n: Variant(threads=n, **more),
        "blocks, MPI-only": lambda n: Variant(ranks=n, engine="blocked", **more),
        "blocks, hybrid": lambda n: Variant(threads=n, engine="blocked", **more),
    }


def hybrid_against_ranks(numbers: list[int]) -> list[Part]:
    variants, make = grid(kinds(), numbers, time_of, PROCESSORS)
    _, make_force = grid(kinds(), numbers, lambda run: time_of(run, "force"), PROCESSORS)
    about = (
        "Hybrid: threads of one rank. The hybrid list adds up by array reduction, with the schedule dynamic."
    )
    return [
        Part("figure6", "Hybrid against MPI-only", about, variants, make, MILLISECONDS),
        Part(
            "figure7",
            "Hybrid against MPI-only: forces alone",
            "Of the runs of figure 6, on the slowest rank.",
            variants,
            make_force,
            MILLISECONDS,
        ),
    ]


def cache_misses(numbers: list[int]) -> Part:
    columns = kinds(counts_cache=True) | {
        "list, hybrid, critical": lambda n: Variant(threads=n, update="critical", counts_cache=True)
    }
    values = {
        "misses, % of references": lambda run: 100 * cache_sum(run, "misses") / cache_sum(run, "references"),
        "bus, % of references": lambda run: (
            100 * cache_sum(run, "transactions") / cache_sum(run, "references")
        ),
        "misses per pair in range": lambda run: cache_sum(run, "misses") / pairs_of(run),
    }
    grids = {name: grid(columns, numbers, value, PROCESSORS) for name, value in values.items()}

    def make(runs: Runs) -> pandas.DataFrame:
        tables = {name: make_one(runs) for name, (_, make_one) in grids.items()}
        table = pandas.concat(tables, axis=1)
        table.columns = [f"{kind}: {what}" for what, kind in table.columns]
        return table.T.rename_axis("processors")

    about = (
        "In the force loops. Paper, for 1 to 4 processors: 13.6 to 14.6 % MPI-only, 13.6 to 64.2 % hybrid, "
        "of all transactions on the bus that the processors share to all references."
    )
    variants = next(iter(grids.values()))[0]
    return Part("table6", "Cache misses", about, variants, make, "", "{:.3f}")


def cache_sum(run: dict, name: str) -> float:
    return sum(run["cache"][name])


def pairs_of(run: dict) -> float:
    """Forces are computed four times a step, and once more at the end."""
    return sum(run["pairs"]) * (run["steps"] + 0.25)
