"""How good choices are: `make regret` and the rows that `tasuki tune` shows before and after.

*Regret* of a case: the time of the series that is chosen over that of the best one (1: none is better);
cases with a single series do not count. *Predicted* is what the library's formulas say; the error of a
prediction is the factor by which it is off, either way.

    python -m tasuki.tuning.regret --prefix build/prefix --out build/bench

measures every algorithm in every case of the grid, prints both tables, and writes OUT/regret.json and
OUT/predicted.png. With --nodes 2 the ranks are on virtual nodes that send over the network, with
--host a:4,b:4 on these hosts: the choices and the predictions are then those of the library there. With
--table FILE the choices are the table's, and those of the built-in parameters are told beside them, by the
same times.

The best of many algorithms is also the luckiest. --again N looks once more at each case with a regret, the
choice and the best alone, by N turns in a job of their own: a regret by such times is due to the choice.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tasuki import environment
from tasuki.tuning import TuningError, decide, fitting, measure, placement, prices, programs, tables
from tasuki.tuning.cases import OPERATIONS, SIZES, Case, Point, algorithm_of, as_barrier, grid
from tasuki.tuning.samples import Samples
from tasuki.units import bytes_text, time_text

GOAL_MEDIAN, GOAL_WORST = 1.05, 1.3
TURNS = 9


def regrets_of(times: Mapping[Case, Mapping[str, float]], chosen: Mapping[Case, str]) -> dict[Case, float]:
    """Of a choice whose segments were not measured, the same algorithm with others counts."""
    found = {}
    for case, own in times.items():
        taken = taken_of(own, chosen.get(case, ""))
        if taken is not None and len(own) > 1:
            found[case] = own[taken] / min(own.values())
    return found


def taken_of(own: Mapping[str, float], series: str) -> str | None:
    if series in own:
        return series
    alike = [name for name in own if algorithm_of(name) == algorithm_of(series)]
    return min(alike, key=own.get) if alike else None


def summary_of(regrets: Mapping[Case, float]) -> str:
    if not regrets:
        return "no case has two algorithms to choose from"
    worst = max(regrets, key=regrets.get)
    mean = math.exp(statistics.fmean(map(math.log, regrets.values())))
    over = sum(value > GOAL_MEDIAN for value in regrets.values())
    return (
        f"median {statistics.median(regrets.values()):.2f}, mean {mean:.3f}, {over} of {len(regrets)} cases "
        f"above {GOAL_MEDIAN}, worst {regrets[worst]:.2f} ({worst.operation} "
        f"{bytes_text(worst.bytes)}, {worst.ranks} ranks)"
    )


def looked_at_again(regrets, times, chosen, ask) -> dict[Case, float]:
    """The regrets, of those that are some by what `ask(questions)` says of the choice and the best alone."""
    pairs = {
        case: [taken_of(times[case], chosen[case]), min(times[case], key=times[case].get)]
        for case, value in regrets.items()
        if value > GOAL_MEDIAN
    }
    seen = ask(pairs)
    ratios = {case: decide.compared(seen, case, *pair) for case, pair in pairs.items()}
    return regrets | {case: max(1.0, ratio.median) for case, ratio in ratios.items() if ratio is not None}


def regret_table(times, chosen, predicted) -> Table:
    table = Table(title="regret: chosen over best", title_justify="left", header_style="bold")
    left = ("operation", "chosen", "best")
    for column in ("operation", "ranks", "size", "chosen", "time", "predicted", "best", "time", "regret"):
        table.add_column(column, justify="left" if column in left else "right")
    regrets = regrets_of(times, chosen)
    for case in sorted(regrets, key=lambda case: (case.operation, case.ranks, case.bytes)):
        own = times[case]
        mine, best, value = taken_of(own, chosen[case]), min(own, key=own.get), regrets[case]
        colour = "green" if value <= GOAL_MEDIAN else "red" if value > GOAL_WORST else "yellow"
        told = predicted.get((case, mine))
        cells = (case.operation, str(case.ranks), bytes_text(case.bytes), mine, time_text(own[mine]))
        cells += ("-" if told is None else time_text(told), best, time_text(own[best]))
        table.add_row(*cells, f"[{colour}]{value:.2f}[/]")
    return table


def error_table(points: list[Point], told: Mapping) -> Table:
    """By operation, how far off predictions are."""
    table = Table(title="predictions", title_justify="left", header_style="bold")
    for column in ("operation", "points", "median error", "worst"):
        table.add_column(column, justify="left" if column == "operation" else "right")
    by_operation = collections.defaultdict(list)
    for point in points:
        by_operation[point.operation].append(point)
    for name, own in [*sorted(by_operation.items()), ("all", points)]:
        factors = [told[Case(*point[:3]), point.series] / point.seconds for point in own]
        worst, factor = max(zip(own, factors, strict=True), key=lambda pair: abs(math.log(pair[1])))
        where = f"{worst.series}, {worst.ranks} ranks, {bytes_text(worst.bytes)}: {factor:.2f}"
        median = math.exp(statistics.median(abs(math.log(factor)) for factor in factors))
        table.add_row(name, str(len(own)), f"{100 * (median - 1):.0f} %", where)
    return table


def plot(points: list[Point], told: Mapping, path: Path) -> None:
    """A panel for each number of ranks. On the diagonal predictions are right; bands: 30 %, and twice."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ranks = sorted({point.ranks for point in points})
    figure, panels = pyplot.subplots(1, len(ranks), figsize=(5 * len(ranks), 5), squeeze=False, sharey=True)
    colours = pyplot.get_cmap("tab10")
    operations = sorted({point.operation for point in points})
    for panel, count in zip(panels[0], ranks, strict=True):
        everything = []
        for place, operation in enumerate(operations):
            own = [point for point in points if point[0] == operation and point.ranks == count]
            here = [(1e6 * point.seconds, 1e6 * told[Case(*point[:3]), point.series]) for point in own]
            everything += here
            if here:
                dots = dict(s=14, alpha=0.7, color=colours(place), label=operation)
                panel.scatter(*zip(*here, strict=True), **dots)
        ends = [min(min(pair) for pair in everything) / 1.5, max(max(pair) for pair in everything) * 1.5]
        panel.plot(ends, ends, color="black", linewidth=1)
        for band in (1.3, 2):
            lower, upper = [end / band for end in ends], [end * band for end in ends]
            panel.fill_between(ends, lower, upper, color="black", alpha=0.07)
        panel.set(xscale="log", yscale="log", xlim=ends, title=f"{count} ranks", xlabel="measured (us)")
    panels[0][0].set_ylabel("predicted (us)")
    panels[0][0].legend(fontsize="small", loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def predictions(points: list[Point], formulas: prices.Formulas, values) -> dict[tuple[Case, str], float]:
    """(case, series) -> seconds, of those that are possible."""
    with formulas.prices(points) as asked:
        ns = asked.ns(values)
    return {
        (Case(*point[:3]), point.series): 1e-9 * float(one)
        for point, one in zip(points, ns, strict=True)
        if not math.isnan(one)
    }


def document_of(samples: Samples, chosen: Mapping[Case, str]) -> dict:
    """As a file has it: a row for each series with its time, and all visits, which load_samples() reads."""
    rows = [
        {**case._asdict(), "series": series, "chosen": chosen.get(case) == series, "seconds": seconds}
        for case, own in samples.all_times().items()
        for series, seconds in own.items()
    ]
    visits = [
        {**case._asdict(), "seconds": visit} for case, own in samples.visits.items() for visit in own if visit
    ]
    return {"rows": rows, "visits": visits}


def load_samples(path: Path | str, place: placement.Placement = placement.ONE_NODE) -> Samples:
    """The times that this program or `tasuki tune` has written, of this place."""
    samples = Samples()
    try:
        document = json.loads(Path(path).read_text())
        if (there := document.get("placement", str(placement.ONE_NODE))) != str(place):
            raise TuningError(f"{path}: its times are of {there}, expected those of {place}")
        for visit in document["visits"]:
            if visit["operation"] not in OPERATIONS:
                names = ", ".join(OPERATIONS)
                raise TuningError(f"{path}: operation = {visit['operation']!r}, expected one of {names}")
            times = {str(series): list(seconds) for series, seconds in visit["seconds"].items()}
            for seconds in (one for own in times.values() for one in own):
                if not isinstance(seconds, (int, float)) or not math.isfinite(seconds) or seconds <= 0:
                    raise TuningError(f"{path}: seconds = {seconds!r}, expected a time above 0")
            samples.add(Case(visit["operation"], int(visit["bytes"]), int(visit["ranks"])), times)
    except OSError as error:
        raise TuningError(f"{path}: {error.strerror}") from None
    except TuningError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TuningError(f"{path}: is no file of times that `make regret` wrote: {error!r}") from None
    return samples


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=Path, help="an installed tree; by default this package's own")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", type=Path, help="whose choices; by default the built-in parameters")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--operations", nargs="+", default=OPERATIONS, choices=OPERATIONS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    parser.add_argument("--rounds", type=int, default=2, help="how often everything is run")
    parser.add_argument("--turns", type=int, default=TURNS, help="batches of each algorithm in a round")
    parser.add_argument("--again", type=int, default=0, help="turns of a second look at what has a regret")
    parser.add_argument("--nodes", type=int, help="divide the ranks among so many virtual nodes")
    parser.add_argument(
        "--network", default=placement.NETWORKS[0], choices=placement.NETWORKS, help="between virtual nodes"
    )
    parser.add_argument("--host", default="", help="divide the ranks among these hosts, as for mpiexec")
    return parser.parse_args()


def show(console: Console, times, chosen, points: list[Point], told: Mapping, path: Path) -> None:
    """The tables, the picture, and in a line what the predictions come to."""
    console.print(regret_table(times, chosen, told))
    console.print(error_table(points, told))
    plot(points, told, path)
    measured = [1e9 * point.seconds for point in points]
    expected = [1e9 * told[Case(*point[:3]), point.series] for point in points]
    error = fitting.median_factor(measured, expected) - 1
    console.print(f"predictions: median error {100 * error:.0f} %; {path}")


def main() -> None:
    args, console = parse_arguments(), Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=150)
    place = placement.of(args.nodes, args.host, args.network)
    place.check(args.ranks)
    found, processors = programs.find(args.prefix), place.processors(environment.processors())
    args.out.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    if busy := environment.busy_text(load):
        console.print(busy, style="yellow")
    formulas = prices.Formulas(found.price, processors, place.nodes)
    builtin = tables.builtin(found.price, place.table_network())
    table = builtin
    if args.table is not None:
        table = tables.load(args.table, found.price, place.table_network())
    cases = [as_barrier(case) for case in grid(args.operations, args.ranks, args.sizes)]
    with formulas.choices(cases) as choices:
        chosen, before = choices.of(table), choices.of(builtin)
    series = formulas.possible_series(cases, [table.values])
    for case in cases:
        series[case] = list(dict.fromkeys([*series[case], chosen[case], before[case]]))
    samples = Samples()
    for _ in range(args.rounds):
        questions = [measure.Question(case, args.turns, series[case]) for case in cases]
        measure.ask(found, questions, samples.add, options=place.options)
    times, points = samples.all_times(), samples.points()
    told = predictions(points, formulas, table.values)
    points = [point for point in points if (Case(*point[:3]), point.series) in told]
    show(console, times, chosen, points, told, args.out / "predicted.png")

    def ask_again(pairs):
        questions = [measure.Question(case, args.again, pair) for case, pair in pairs.items()]
        seen = Samples()
        measure.ask(found, questions, seen.add, options=place.options)
        return seen

    rows = []
    kinds = {"table": chosen, "built-in": before} if args.table is not None else {"built-in": before}
    for whose, taken in kinds.items():
        regrets = regrets_of(times, taken)
        again = looked_at_again(regrets, times, taken, ask_again) if args.again else regrets
        rows += [
            {"choices": whose, **case._asdict(), "regret": value, "again": again[case]}
            for case, value in regrets.items()
        ]
        word = "regret" if len(kinds) == 1 else f"regret, {whose} choices,"
        console.print(f"{word} by these times: {summary_of(regrets)}")
        if args.again:
            console.print(f"{word} looked at again: {summary_of(again)}")
    document = {"load_before": load, "placement": str(place), "regrets": rows}
    document |= document_of(samples, chosen)
    (args.out / "regret.json").write_text(json.dumps(document, indent=1))
    console.print(f"{tables.processor_name()}, {place}; load before: {load:.1f}")


if __name__ == "__main__":
    try:
        main()
    except TuningError as error:
        sys.exit(f"regret: {error}")
