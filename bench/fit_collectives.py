"""make fit-collectives: the parameters of the cost model, fitted to what this machine takes.

Measures every algorithm of the collectives, as `make regret` does (or takes the times that it wrote: --from
build/bench/regret.json), asks the library itself what it predicts (tools/price.cpp, so that no formula is
written twice), and looks for the parameters whose predictions are nearest: least squares on the logarithm of
predicted over measured times, with a loss that outliers bend little. Algorithms that are near the best of
their case weigh most, since these are the ones to choose among. Some cases are not used in the fit but to
test it: those of the numbers of ranks in --hold-out.

Writes OUT/tuning.json, a table for TASUKI_TUNING_FILE, and prints the parameters before and after, and the
errors. --update src/tuning/parameters.hpp makes them the built-in ones.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

import numpy
from regret import OPERATIONS, WHOLE, collect, library_operation
from rich.console import Console
from rich.table import Table
from scipy.optimize import least_squares

Point = collections.namedtuple("Point", "operation bytes ranks algorithm seconds")
Parameter = collections.namedtuple("Parameter", "path value low high description")

# What the times of ranks of one node can tell. The others keep their built-in values.
FITTED = (
    "messages.cache.software_ns",
    "messages.cache.latency_ns",
    "messages.cache.bytes_per_ns",
    "messages.cache.eager_bytes_per_ns",
    "messages.cache.long_ns",
    "schedule.plan_ns",
    "memory.reduced_bytes_per_ns",
    "memory.copied_bytes_per_ns",
    "memory.cache_bytes",
    "memory.node_bytes_per_ns",
    "stage.call_ns",
    "stage.flag_ns",
    "stage.flag_read_ns",
    "stage.cell_bytes_per_ns",
    "stage.shared_ns",
    "stage.pulled_bytes_per_ns",
    "stage.reduced_in_place_bytes_per_ns",
    "crowd.turn_ns",
)
# What shows only where ranks share processors. Such times vary with the whims of the system's scheduler, so
# the others are fitted without them.
OF_CROWDS = ("crowd.turn_ns",)
FACTOR_MAX = 8  # how far a parameter may come from its built-in value, either way
PRIOR = 0.1  # of a point's weight: how hard a parameter is held where the times say nothing about it
SECONDS_MAX = 60


class Prices:
    """The library's cost formulas, in a process of their own."""

    def __init__(self, program, points, processors):
        self.program = program
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for point in points:
            size = point.bytes * point.ranks if library_operation(point.operation) in WHOLE else point.bytes
            words = library_operation(point.operation), size, point.ranks, processors, point.algorithm
            print(*words, file=self.process.stdin)
        print(file=self.process.stdin)

    def ns(self, values):
        """The predictions for all points with these parameters, by path."""
        print(json.dumps(table_of(values)), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.program} ended")
        return numpy.array([math.nan if word == "-" else float(word) for word in line.split()])

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=SECONDS_MAX)


def builtin_parameters(program):
    done = subprocess.run([program, "parameters"], capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}")
    rows = [line.split(maxsplit=4) for line in done.stdout.splitlines()]
    return [Parameter(path, *map(float, numbers), text) for path, *numbers, text in rows]


def table_of(values):
    """The JSON table of parameters given by path."""
    table = {"tasuki_tuning": 1}
    for path, value in values.items():
        *groups, name = path.split(".")
        place = table
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = float(f"{value:.4g}")
    return table


def weights_of(points):
    """The square of a point's weight falls with how much slower than the best of its case it is."""
    best = {}
    for point in points:
        case = point[:3]
        best[case] = min(point.seconds, best.get(case, math.inf))
    return numpy.array([best[point[:3]] / point.seconds for point in points])


def fit(points, program, processors, before):
    """Values by path. What a processor for each rank tells comes first, then what crowds alone tell."""
    calm = [point for point in points if point.ranks <= processors]
    if calm and len(calm) < len(points):
        before = fit_some(FITTED, calm, program, processors, before)
        return fit_some(OF_CROWDS, points, program, processors, before)
    return fit_some(FITTED, points, program, processors, before)


def fit_some(paths, points, program, processors, before):
    """The parameters of these paths. They are searched by their logarithms, from the values before on."""
    prices = Prices(program, points, processors)
    weights = weights_of(points)
    measured = numpy.log([1e9 * point.seconds for point in points])
    start = numpy.log([before[path] for path in paths])
    prior = PRIOR * math.sqrt(len(points) / len(paths) / 10)

    def residuals(logarithms):
        values = dict(before, **dict(zip(paths, numpy.exp(logarithms), strict=True)))
        off = numpy.sqrt(weights) * (numpy.log(prices.ns(values)) - measured)
        return numpy.concatenate([off, prior * (logarithms - start)])

    found = least_squares(
        residuals,
        start,
        bounds=(start - math.log(FACTOR_MAX), start + math.log(FACTOR_MAX)),
        loss="soft_l1",
        f_scale=0.3,
        diff_step=1e-3,
        max_nfev=200,
    )
    prices.close()
    return dict(before, **dict(zip(paths, numpy.exp(found.x), strict=True)))


def median_factor(measured_ns, predicted_ns):
    """The median factor by which predictions are off, either way."""
    return math.exp(statistics.median(numpy.abs(numpy.log(predicted_ns / measured_ns))))


def regrets_of(points, predicted_ns):
    """case -> the time of the algorithm that the predictions would choose over that of the best."""
    cases = collections.defaultdict(list)
    for point, ns in zip(points, predicted_ns, strict=True):
        cases[point[:3]].append((ns, point.seconds))
    return {
        case: min(own)[1] / min(seconds for _, seconds in own) for case, own in cases.items() if len(own) > 1
    }


def percent(factor):
    return f"{100 * (factor - 1):.0f} %"


def error_table(points, weights, before_ns, after_ns, held_out):
    """How far off the predictions are, and what they would choose."""
    table = Table(title="predictions, before and after", title_justify="left", header_style="bold")
    columns = ("cases", "points", "error", "after", "near the best", "after", "regret, worst", "after")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    measured = numpy.array([1e9 * point.seconds for point in points])
    ranks = sorted({point.ranks for point in points})
    groups = [(f"{count} ranks", lambda p, count=count: p.ranks == count) for count in ranks]
    groups += [
        (name, lambda p, name=name: p.operation == name) for name in sorted({p.operation for p in points})
    ]
    groups += [
        ("all fitted", lambda p: p.ranks not in held_out),
        ("held out", lambda p: p.ranks in held_out),
    ]
    for name, belongs in groups:
        here = numpy.array([belongs(point) for point in points])
        if not here.any():
            continue
        near = here & (weights > 0.5)
        own = [point for point, inside in zip(points, here, strict=True) if inside]
        cells = [name, str(here.sum())]
        for mask in (here, near):
            cells += [percent(median_factor(measured[mask], ns[mask])) for ns in (before_ns, after_ns)]
        for ns in (before_ns, after_ns):
            regrets = list(regrets_of(own, ns[here]).values()) or [1]
            cells.append(f"{statistics.median(regrets):.2f}, {max(regrets):.2f}")
        table.add_row(*cells)
    return table


def unit_of(path):
    return "bytes/ns" if path.endswith("bytes_per_ns") else "ns" if path.endswith("_ns") else "bytes"


def parameter_table(parameters, after):
    table = Table(title="parameters", title_justify="left", header_style="bold")
    for place, column in enumerate(("parameter", "unit", "before", "after", "what it is")):
        table.add_column(column, justify="right" if place in (2, 3) else "left")
    for row in parameters:
        if row.path in FITTED:
            fitted = f"[bold]{after[row.path]:.4g}[/]"
            table.add_row(row.path, unit_of(row.path), f"{row.value:.4g}", fitted, row.description)
    return table


def with_builtins(text, after):
    """src/tuning/parameters.hpp with these values in its initialisers: each has the name of its parameter."""
    messages = collections.defaultdict(list)
    for path, value in after.items():
        *groups, name = path.split(".")
        rounded = float(f"{value:.3g}")
        number = f"{rounded:.0f}" if rounded == int(rounded) else f"{rounded:g}"
        if len(groups) == 2:
            messages[groups[1]].append(number)
        elif path in FITTED:
            text, found = re.subn(rf"(double {name}) = [^;]+;", rf"\1 = {number};", text)
            if found != 1:
                sys.exit(f"no single initialiser of {name}, of {path}, was found")
    for name, numbers in messages.items():
        text = re.sub(rf"(MessageParameters {name}) = [^;]+;", rf"\1 = {{{', '.join(numbers)}}};", text)
    return text


def points_of(times):
    return [Point(*case, name, seconds) for case, own in times.items() for name, seconds in own.items()]


def load_points(path):
    rows = json.loads(path.read_text())["rows"]
    return [Point(*(row[field] for field in Point._fields)) for row in rows]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, help="our installed tree")
    parser.add_argument("--price", type=pathlib.Path, required=True, help="the program of tools/price.cpp")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument(
        "--from", dest="source", type=pathlib.Path, nargs="+", help="regret.json: no measuring"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4, 6, 8])
    parser.add_argument("--hold-out", type=int, nargs="*", default=[3, 6], help="numbers of ranks")
    parser.add_argument("--operations", nargs="+", default=OPERATIONS, choices=OPERATIONS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--update", type=pathlib.Path, help="the header with the built-in parameters")
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--processors", type=int, default=processors, help="that the ranks had")
    args = parser.parse_args()
    if args.source is None and args.prefix is None:
        parser.error("--prefix or --from: what is to be measured, or what was")
    return args


def measured_points(args):
    if args.source is not None:
        return [point for path in args.source for point in load_points(path)]
    args.prefix, args.out = args.prefix.resolve(), args.out.resolve()
    times, _, _ = collect(args)
    return points_of(times)


def main():
    args, console = parse_arguments(), Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=150)
    args.out.mkdir(parents=True, exist_ok=True)
    points = measured_points(args)
    parameters = builtin_parameters(args.price)
    before = {row.path: row.value for row in parameters}
    everything = Prices(args.price, points, args.processors)
    before_ns = everything.ns(before)
    possible = ~numpy.isnan(before_ns)  # the library knows the algorithm, and takes it for possible
    fitted = [
        point
        for point, good in zip(points, possible, strict=True)
        if good and point.ranks not in args.hold_out
    ]
    if not fitted:
        sys.exit("no times to fit to: all are of ranks that are held out, or of no known algorithm")
    after = fit(fitted, args.price, args.processors, before)
    after_ns = everything.ns(after)
    everything.close()

    known = [point for point, good in zip(points, possible, strict=True) if good]
    console.print(parameter_table(parameters, after))
    console.print(
        error_table(known, weights_of(known), before_ns[possible], after_ns[possible], args.hold_out)
    )
    if args.update is not None:
        args.update.write_text(with_builtins(args.update.read_text(), after))
        console.print(f"{args.update} has them as the built-in ones")
    words = {"tasuki_tuning": 1, "machine": f"{platform.machine()}, {args.processors} processors"}
    words["written"] = time.strftime("%Y-%m-%d")
    table = {**words, **table_of(after)}
    (args.out / "tuning.json").write_text(json.dumps(table, indent=2) + "\n")
    console.print(f"TASUKI_TUNING_FILE={args.out / 'tuning.json'}")


if __name__ == "__main__":
    main()
