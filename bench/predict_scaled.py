"""make predict-scaled: what `tasuki predict --ranks` makes of traces of 2 and 4 ranks among 4 and 8, beside
what the programs take there (docs/model.md).

Measures messages and collectives among 2 ranks alone (OUT/scaled_prices.json; remove it to measure anew):
what more ranks than processors take contains waits for a processor, and the replay adds those itself.
Traces each program among all these ranks, some rounds in turn, and keeps of each number of ranks the trace of
the quickest run. Then predicts from the trace of 2 ranks, and from those of 2 and 4. "in MPI" is the time of
all ranks together between the beginnings and the ends of their calls, "program" the time of the whole.

Prints the table and writes OUT/predict_scaled.json.
"""

import argparse
import dataclasses
import math
import os
import sys

import communication
import peers
import run_kernels
import turns
from rich.table import Table
from tasuki import replay, scaled, trace
from turns import Row

GOAL = 0.15
ROOT = peers.pathlib.Path(__file__).resolve().parent.parent


def words_of(ours, built, out):
    """name -> the command of each program."""
    paper = [ours.prefix / "bin" / "spam", "run", ROOT / "apps/spam/examples/paper.toml"]
    found = {name: [built[name], *run_kernels.PROGRAMS[name][1]] for name in built}
    found["heat.py"] = [sys.executable, ROOT / "examples/heat.py", "--steps", "300"]
    for mapping in ("flat", "balanced"):
        found[f"spam {mapping}"] = [*paper, "--threads", 1, "--check-interval", 0, "--mapping", mapping]
        found[f"spam {mapping}"] += ["--overwrite", "--output", out / "spam"]
    return found


def record(ours, row, words, path, limit):
    """The trace of one run."""
    option = f"--trace={path}"
    traced = dataclasses.replace(ours, pinned=[*ours.pinned, option], crowded=[*ours.crowded, option])
    turns.run_once(traced, row, words, lambda text, row: text, limit)
    return trace.load(path)


def off_text(off):
    return f"[{'green' if abs(off) <= GOAL else 'red'}]{100 * off:+.1f} %[/]"


def make_table(found):
    table = Table(title="seconds, of the quickest run", title_justify="left", header_style="bold")
    for title in ("program", "ranks", "from"):
        table.add_column(title, no_wrap=True)
    for title in ("program", "predicted", "off by", "in MPI", "predicted", "off by"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in found:
        run = one["predicted_run"] / one["measured_run"] - 1
        off = one["predicted"] / one["measured"] - 1
        table.add_row(
            one["program"],
            str(one["ranks"]),
            one["from"],
            f"{one['measured_run']:.4f}",
            f"{one['predicted_run']:.4f}",
            off_text(run),
            f"{one['measured']:.4f}",
            f"{one['predicted']:.4f}",
            off_text(off),
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True, help="our installed tree")
    parser.add_argument("--out", type=peers.pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    parser.add_argument("--only", nargs="+", default=[], metavar="PROGRAM")
    return parser.parse_args()


def predictions(name, traces, pricer):
    """Of all numbers of ranks but the least: from each smaller one alone, and from the two before it."""
    counts = sorted(traces)
    for place, ranks in enumerate(counts[1:], 1):
        there = replay.replay(traces[ranks], pricer)
        fewer = [(counts[0],)]
        fewer += [tuple(counts[place - 2 : place])] if place > 1 else []
        for given in fewer:
            smaller = traces[given[0]] if len(given) > 1 else None
            builder = scaled.ScaledBuilder(traces[given[-1]], ranks, smaller=smaller)
            found = replay.replay(traces[given[-1]], pricer, builder=builder)
            yield {
                "program": name,
                "ranks": ranks,
                "from": " and ".join(map(str, given)),
                "measured": there.measured,
                "measured_run": there.measured_seconds,
                "predicted": found.predicted,
                "predicted_run": found.predicted_seconds,
                "as_traced": there.predicted,
                "as_traced_run": there.predicted_seconds,
                "notes": found.notes,
            }


def main():
    args, console = parse_arguments(), peers.make_console()
    ours, machine = peers.begin_alone(args, console)
    programs = words_of(ours, run_kernels.build(ours, args.out), args.out)
    programs = {name: words for name, words in programs.items() if not args.only or name in args.only}
    with console.status("measuring what messages and collectives take"):
        pricer = communication.prices(ours, {min(args.ranks)}, args.out / "scaled_prices.json")
    best, troubles = {}, []
    for name, words in programs.items():
        for number in range(args.rounds):
            for ranks in args.ranks:
                path = args.out / f"{name.replace(' ', '-')}.{ranks}.{number}.trace"
                try:
                    one = record(ours, Row(name, ranks), words, path, args.limit)
                except (turns.Wrong, trace.TraceError) as wrong:
                    troubles.append(str(wrong))
                    continue
                took = replay.recorded_seconds(one)
                if took < best.setdefault(name, {}).get(ranks, (math.inf, None))[0]:
                    best[name][ranks] = took, one
    if hasattr(os, "sched_setscheduler"):  # what follows is no measurement, and not short
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    found = []
    for name, of in best.items():
        found += predictions(name, {ranks: one for ranks, (_, one) in of.items()}, pricer)
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found))
    peers.tell_gaps(args, [], troubles, console)
    peers.finish(args, "predict_scaled.json", machine, {"rows": found}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
