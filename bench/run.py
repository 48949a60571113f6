"""make bench: rows of the benchmark suite on our library and on others, in turns, as a table with ratios.

Every implementation builds the suite (docs/mbl.md) with its own mpicxx and starts it by its own mpiexec. They
take turns, group by group and round after round, so that a machine that gets slower meets all alike. A row's
figure is the best sample of all rounds (--statistic median: their median); "spread", median over best, says
how far the machine was from quiet. Data are in use (docs/mbl.md), but where a row says "untouched". "limit"
is what two processes do without MPI in the same rounds (the suite's group limit): copies and flags. "goal" is
the highest ratio that we aim at. Each state of the machine (cache lines near, or far: docs/results.md) has a
table of its own.

Prints the table and writes OUT/NAME.json of each, which tasuki compare and tasuki report read.
"""

import argparse
import dataclasses
import os
import statistics
import sys

import peers
from rich.table import Table
from tasuki import suite
from tasuki.commands import bench
from tasuki.results import STATES
from tasuki.units import bytes_text

KIB, MIB = 1 << 10, 1 << 20
BUDGET_SECONDS = 0.05  # a case and round
# Ourselves in other ways (--variants): name -> environment
VARIANTS = {
    "private heap": {"TASUKI_HEAP": "private"},
    "no advertised receives": {"TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0"},
}
# (kind, group) -> how many ranks are too many: it waits for milliseconds for its own turn
LEFT_OUT_FROM = {("mpich", "collectives"): 3}


@dataclasses.dataclass(frozen=True)
class Row:
    """A case of the suite. Its limit is the quickest of `limits`: cases of two processes without MPI."""

    title: str
    id: str
    bytes: int
    ranks: int = 2
    goal: float | None = None  # the highest ratio to the best of the others
    limits: tuple[str, ...] = ()

    @property
    def key(self):
        return self.id, self.bytes, self.ranks

    @property
    def group(self):
        return self.id.split("/")[0]

    def text(self):
        size = f" {bytes_text(self.bytes)}" if self.bytes or "ping-pong" in self.title else ""
        return self.title + size + f", {self.ranks} ranks" * (self.ranks > 2)


def point_to_point():
    base = "point_to_point/pingpong/mode=send,memory=malloc,touched={},layout={},receive={},cache=warm"
    goals = {0: 0.65, 8: 0.65, 64: 0.65, 512: 0.7, 64 * KIB: 0.4, MIB: 0.4, 8 * MIB: 0.5}
    touched_goals = {KIB: 1.05, 2 * KIB: 1.05, 4 * KIB: 0.9, 16 * KIB: 0.9, 64 * KIB: 0.85, 256 * KIB: 0.9}
    touched_goals |= {MIB: 0.7, 4 * MIB: 0.7, 8 * MIB: 0.7}
    copies = {
        touched: tuple(
            f"limit/copy/mode={mode},touched={touched}" for mode in ("push", "pull", "both", "cells")
        )
        for touched in ("no", "yes")
    }
    for size, goal in goals.items():
        limits = copies["no"] if size >= 512 else ("limit/line",)
        title, touched, receive = "ping-pong, untouched", "no", "posted"
        if size < 512:
            title, touched, receive = "ping-pong", "yes", "blocking"
        yield Row(title, base.format(touched, "contiguous", receive), size, 2, goal, limits)
    for size, goal in touched_goals.items():
        yield Row("ping-pong", base.format("yes", "contiguous", "posted"), size, 2, goal, copies["yes"])
    strided = base.format("yes", "vector", "posted")
    yield Row("ping-pong, strided", strided, MIB, 2, None, ("limit/strided/touched=yes",))
    yield Row("one of 64 sends", "point_to_point/rate/touched=yes", 8, 2, 0.5, ("limit/stream",))
    for ranks in (4, 8):
        yield Row(
            "ping-pong in pairs", "point_to_point/multi_pair/pattern=pingpong,touched=yes", 8, ranks, 1.0
        )


def one_sided():
    ping = "rma/ping/operation={},sync={},window={},layout=contiguous,touched={}"
    yield Row("fence", "rma/epoch/sync=fence,asserts=none", 0, 2, 0.65, ("limit/meet",))
    for size in (8, 4 * MIB):
        moved = ("limit/move/of=bcast,touched=yes",)
        case = ping.format("put", "fence_pair", "allocate", "yes")
        yield Row("put between fences", case, size, 2, None, moved)
    case = ping.format("put", "fence_pair", "malloc", "yes")
    yield Row("put between fences, malloc", case, 4 * MIB, limits=moved)
    for operation in ("put", "fetch_and_op"):
        yield Row(f"{operation} and flush", ping.format(operation, "flush", "allocate", "no"), 8, 2, 1.0)


# Of blocking collectives: the variant, the sizes, and the goals.
COLLECTIVES = {
    "barrier": ("", {0: 0.55}),
    "bcast": ("", {8: None, KIB: None, 64 * KIB: None, MIB: None}),
    "reduce": ("", {8: None, KIB: None, 64 * KIB: None, MIB: None}),
    "allreduce": (",buffers=two", {8: None, KIB: None, 64 * KIB: None, MIB: None}),
    "scan": ("", {8: None, 64 * KIB: None}),
    "allgather": (",buffers=two", {8: None, KIB: None, 64 * KIB: None}),
    "alltoall": (",buffers=two", {64: None, 32 * KIB: None, 512 * KIB: None}),
    "reduce_scatter_block": ("", {8: None, 32 * KIB: None, 512 * KIB: None}),
    "gather": ("", {8: None, 64 * KIB: None}),
    "scatter": ("", {8: None, 64 * KIB: None}),
}
MOVES = ("bcast", "allgather", "alltoall", "gather", "scatter")


def collectives():
    for ranks in (2, 4, 8):
        for name, (variant, goals) in COLLECTIVES.items():
            limits = (
                ("limit/meet",)
                if name == "barrier"
                else (f"limit/move/of={name},touched=yes",) * (name in MOVES)
            )
            for size, goal in goals.items():
                if ranks > 2 and goal:  # more ranks than the machine has processors
                    goal = 0.95
                used = ",touched=yes" * (name != "barrier")
                case = f"collectives/{name}/form=blocking{variant}{used}"
                yield Row(name, case, size, ranks, goal, limits if ranks == 2 else ())


def rows():
    job = Row("mpiexec, init, finalize", "start_up/job/program=mpi", 0, 2, 0.5)
    return [*point_to_point(), *one_sided(), job, *collectives()]


def is_quick(row):
    untouched = row.title.startswith("ping-pong") and row.ranks == 2
    return untouched or row.title == "barrier" or (row.title == "allreduce" and row.bytes == 8)


def cases_of(one, ours, chosen):
    """(ranks, group) -> the cases of this implementation; the limits are ours to measure."""
    cases = {}
    for row in chosen:
        if row.ranks < LEFT_OUT_FROM.get((one.kind, row.group), row.ranks + 1):
            group = cases.setdefault((row.ranks, row.group), {})
            group[row.id, row.bytes] = suite.Case(row.id, row.bytes, row.ranks)
        if one is ours:
            for limit in row.limits:
                size = 0 if limit in ("limit/line", "limit/meet") else 64 if "stream" in limit else row.bytes
                cases.setdefault((2, "limit"), {})[limit, size] = suite.Case(limit, size, 2)
    return {key: list(group.values()) for key, group in cases.items()}


def measure(present, args, console):
    """The runs, each with rows of all rounds."""
    chosen = suite.Settings(budget_seconds=BUDGET_SECONDS, ranks=sorted({row.ranks for row in args.rows}))
    sessions = []
    with bench.bar_on(console) as bar:
        try:
            for one in present:
                sessions.append(
                    suite.Session(one, chosen, watch=bar, work=args.out.resolve() / "suites", rounds=True)
                )
                sessions[-1].cases = cases_of(one, present[0], args.rows)
            bar.begin(args.rounds * sum(session.count() for session in sessions))
            suite.take_turns(sessions, args.rounds)
        finally:
            for session in sessions:
                session.close()
    return [session.run for session in sessions]


def seconds_of(run):
    return {(suite.case_id(row), row.bytes, row.ranks): row.seconds for row in run.rows}


def limit_of(row, found, pick):
    """The quickest of the row's limits."""
    sizes = {"limit/line": 0, "limit/meet": 0, "limit/stream": 64}
    keys = [(limit, sizes.get(limit, row.bytes), 2) for limit in row.limits]
    return min((pick(found[key]) for key in keys if key in found), default=None)


def figure_text(seconds, size):
    if seconds is None:
        return "-"
    us = 1e6 * seconds
    text = f"{us:.3f}" if us < 0.1 else f"{us:.2f}" if us < 100 else f"{us:.0f}"
    return f"{text} ({size / seconds / 1e9:.1f})" if size >= 4096 else text


def tables_of(runs, names, chosen, statistic):
    """One for each state of the machine in which something was measured, and for what knows none."""
    parts = [run.by_state() for run in runs]
    for state in (*STATES, ""):
        found = [seconds_of(part[state]) if state in part else {} for part in parts]
        rows = [row for row in chosen if any(row.key in one for one in found)]
        if rows:
            yield make_table(found, names, rows, statistic, state)


def make_table(found, names, chosen, statistic, state):
    """Microseconds (GB/s from 4 KiB on), our ratio to the best peer (below 1: we are faster), our share of
    the limit's speed, and our spread (median over best). Green: the goal is reached, or else 1."""
    table = Table(
        title=f"us (GB/s), {statistic} of all samples; ratio: to the best peer; share: of the limit"
        + f"; cache lines {state}" * bool(state),
        title_justify="left",
        header_style="bold",
    )
    table.add_column("row", no_wrap=True)
    for title in (*names, "ratio", "goal", "limit", "share", "spread"):
        table.add_column(title, justify="right", no_wrap=True)
    pick = min if statistic == "best" else statistics.median
    for row in chosen:
        figures = [pick(one[row.key]) if row.key in one else None for one in found]
        others = [
            f for f, name in zip(figures, names, strict=True) if f and name not in (names[0], *VARIANTS)
        ]
        mine, limit = figures[0], limit_of(row, found[0], pick)
        ratio = mine / min(others) if mine and others else None
        colour = "green" if ratio and ratio <= (row.goal or 1) else "red"
        spread = statistics.median(found[0][row.key]) / min(found[0][row.key]) if mine else None
        table.add_row(
            row.text(),
            *(figure_text(figure, row.bytes) for figure in figures),
            f"[{colour}]{ratio:.2f}[/]" if ratio else "-",
            f"{row.goal:.2f}" if row.goal else "-",
            figure_text(limit, row.bytes),
            f"{100 * limit / mine:.0f} %" if mine and limit else "-",
            f"{spread:.2f}" if spread else "-",
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="one round of the main rows")
    parser.add_argument(
        "--variants", nargs="*", default=[], choices=VARIANTS, help="ourselves in other ways, too"
    )
    parser.add_argument("--only", help="groups of the suite, or beginnings of ids, separated by commas")
    parser.add_argument("--statistic", choices=["best", "median"], default="best")
    args = parser.parse_args()
    args.rows = [row for row in rows() if not args.quick or is_quick(row)]
    args.rounds = 1 if args.quick else args.rounds
    if args.only:
        args.rows = [row for row in rows() if row.id.startswith(tuple(args.only.split(",")))]
        if not args.rows:
            known = ", ".join(dict.fromkeys("/".join(row.id.split("/")[:2]) for row in rows()))
            parser.error(f"--only {args.only}: expected some of {known}")
    return args


def main():
    args, console = parse_arguments(), peers.make_console()
    present, absent = peers.implementations(args)
    ours = [
        dataclasses.replace(present[0], name=name, own_variables=VARIANTS[name]) for name in args.variants
    ]
    present[1:1] = ours
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    args.out.mkdir(parents=True, exist_ok=True)
    runs = measure(present, args, console)
    for one, run in zip(present, runs, strict=True):
        run.environment["load_after"] = os.getloadavg()
        run.save(args.out / f"{one.name.replace(' ', '-')}.json")
    for table in tables_of(runs, [one.name for one in present], args.rows, args.statistic):
        console.print(table)
    troubles = [
        f"{one.name}: {text}" for one, run in zip(present, runs, strict=True) for text in run.troubles
    ]
    peers.tell_gaps(args, absent, troubles, console)
    console.print(
        f"{machine['cpu']}, {machine['processors']} processors; all samples in {args.out}/NAME.json"
    )
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
