"""make fit-collectives: the built-in parameters of the cost model, fitted to what this machine takes.

For work on the library; users have `tasuki tune`, whose parts these are. Times every algorithm as
`make regret` does (or takes the times that it wrote: --from build/bench/regret.json), fits, and shows how
far off the predictions are, before and after. Some cases are not used in the fit but to test it: those of
the numbers of ranks in --hold-out. Writes OUT/tuning.json; --update src/tuning/parameters.hpp makes the
parameters the built-in ones.
"""

import argparse
import collections
import pathlib
import re
import statistics
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from rich.console import Console
from rich.table import Table
from tasuki import environment
from tasuki.tuning import TuningError, fitting, measure, prices, programs, regret, show, tables
from tasuki.tuning.cases import OPERATIONS, SIZES, Case, as_barrier, grid
from tasuki.tuning.samples import Samples


def percent(factor):
    return f"{100 * (factor - 1):.0f} %"


def chosen_by(points, ns):
    """case -> the series that these predictions would choose."""
    cheapest = {}
    for point, one in zip(points, ns, strict=True):
        case = Case(*point[:3])
        cheapest[case] = min(cheapest.get(case, (one, point.series)), (one, point.series))
    return {case: series for case, (_, series) in cheapest.items()}


def error_table(points, before_ns, after_ns, held_out):
    """How far off the predictions are, and what they would choose."""
    table = Table(title="predictions, before and after", title_justify="left", header_style="bold")
    columns = ("cases", "points", "error", "after", "near the best", "after", "regret, worst", "after")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    measured = numpy.array([1e9 * point.seconds for point in points])
    weights = fitting.weights_of(points)
    groups = [(f"{count} ranks", {count}) for count in sorted({point.ranks for point in points})]
    groups.append(("all fitted", {point.ranks for point in points} - set(held_out)))
    groups.append(("held out", set(held_out)))
    for name, ranks in groups:
        here = numpy.array([point.ranks in ranks for point in points])
        if not here.any():
            continue
        own = [point for point in points if point.ranks in ranks]
        times = collections.defaultdict(dict)
        for point in own:
            times[Case(*point[:3])][point.series] = point.seconds
        cells = [name, str(here.sum())]
        for mask in (here, here & (weights > 0.5)):
            cells += [
                percent(fitting.median_factor(measured[mask], ns[mask])) for ns in (before_ns, after_ns)
            ]
        for ns in (before_ns, after_ns):
            values = list(regret.regrets_of(times, chosen_by(own, ns[here])).values()) or [1]
            cells.append(f"{statistics.median(values):.2f}, {max(values):.2f}")
        table.add_row(*cells)
    return table


def parameter_table(parameters, found):
    table = Table(title="parameters", title_justify="left", header_style="bold")
    for place, column in enumerate(("parameter", "unit", "before", "after", "known to", "what it is")):
        table.add_column(column, justify="right" if place in (2, 3, 4) else "left")
    for row in parameters:
        if row.path in fitting.FITTED:
            after, known = f"{found.values[row.path]:.4g}", show.known_text(found.factors.get(row.path))
            cells = (row.path, show.unit_of(row.path), f"{row.value:.4g}", after, known)
            table.add_row(*cells, row.description)
    return table


def with_builtins(text, after):
    """src/tuning/parameters.hpp, or processors.hpp, with these values where it sets or assigns parameters:
    each has the name of its own."""
    messages = collections.defaultdict(list)
    for path, value in after.items():
        *groups, name = path.split(".")
        if name.endswith(tables.THRESHOLD):
            continue  # no formula uses it
        rounded = float(f"{value:.3g}")
        number = f"{rounded:.0f}" if rounded == int(rounded) else f"{rounded:g}"
        if len(groups) == 2:
            messages[groups[1]].append(number)
        elif path in fitting.FITTED:
            text, found = re.subn(rf"((?:double |parameters\.){name}) = [^;]+;", rf"\1 = {number};", text)
            if found != 1:
                sys.exit(f"no single value of {name}, of {path}, was found")
    for name, numbers in messages.items():
        row = f"{{{', '.join(numbers)}}}"
        text = re.sub(rf"((?:MessageParameters |parameters\.){name}) = [^;]+;", rf"\1 = {row};", text)
    return text


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="an installed tree")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument(
        "--from", dest="source", type=pathlib.Path, nargs="+", help="regret.json: no measuring"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4, 6, 8])
    parser.add_argument("--hold-out", type=int, nargs="*", default=[3, 6], help="numbers of ranks")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--update", type=pathlib.Path, help="the header with the built-in parameters")
    parser.add_argument("--processors", type=int, default=environment.processors(), help="that ranks had")
    return parser.parse_args()


def points_of(args, found, before):
    if args.source is not None:
        return [point for path in args.source for point in regret.load_samples(path).points()]
    cases = [as_barrier(case) for case in grid(OPERATIONS, args.ranks, SIZES)]
    series = prices.possible_series(found.price, cases, args.processors, [before])
    samples = Samples()
    for _ in range(args.rounds):
        questions = [measure.Question(case, regret.TURNS, series[case]) for case in cases]
        measure.ask(found, questions, samples.add)
    return samples.points()


def main():
    args, console = parse_arguments(), Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=150)
    args.out.mkdir(parents=True, exist_ok=True)
    tools = programs.find(args.prefix)
    parameters = tables.parameters(tools.price)
    before = {row.path: row.value for row in parameters}
    everything = points_of(args, tools, before)
    formulas = prices.Formulas(tools.price, args.processors)
    points = fitting.possible(everything, formulas, before)
    fitted = [point for point in points if point.ranks not in args.hold_out]
    if not fitted:
        sys.exit("no times to fit to: all are of ranks that are held out, or of no known algorithm")
    found = fitting.fit(fitted, formulas, before)
    with formulas.prices(points) as told:
        before_ns, after_ns = told.ns(before), told.ns(found.values)
    console.print(parameter_table(parameters, found))
    console.print(error_table(points, before_ns, after_ns, args.hold_out))
    if args.update is not None:
        args.update.write_text(with_builtins(args.update.read_text(), found.values))
        console.print(f"{args.update} has them as the built-in ones")
    tables.save(tables.TuningTable(found.values), args.out / "tuning.json")
    console.print(f"TASUKI_TUNING_FILE={args.out / 'tuning.json'}")


if __name__ == "__main__":
    try:
        main()
    except TuningError as error:
        sys.exit(f"fit_collectives: {error}")
