"""make predict-scaled: what `tasuki predict --ranks` makes of traces of 2 and 4 ranks among 4 and 8, beside
what the programs take there (docs/model.md).

Measures messages and collectives among 2 ranks alone: what more ranks than processors take contains waits for
a processor, and the replay adds those itself.
Traces each program among all these ranks, some rounds in turn, and keeps of each number of ranks the trace of
the quickest run. Then predicts from the trace of 2 ranks, and from those of 2 and 4. "in MPI" is the time of
all ranks together between the beginnings and the ends of their calls, "program" the time of the whole.

Prints the table and writes OUT/predict_scaled.json. --errors FILE as of predict_programs.py.
"""

import argparse
import dataclasses
import math
import os
import sys

import communication
import peers
import turns
from rich.table import Table
from tasuki import replay, scaled, trace
from turns import Row

GOAL = 0.15
MESSAGES = " messages"  # SPAM's halo by messages alone: that in shared memory has what it needs on one node


def record(ours, row, words, path, limit):
    """The trace of one run."""
    option = f"--trace={path}"
    traced = dataclasses.replace(ours, pinned=[*ours.pinned, option], crowded=[*ours.crowded, option])
    turns.run_once(traced, row, words, lambda text, row: text, limit)
    return trace.load(path)


def make_table(found):
    table = Table(title="seconds, of the quickest run", title_justify="left", header_style="bold")
    for title in ("program", "ranks", "from"):
        table.add_column(title, no_wrap=True)
    for title in ("program", "predicted", "off by", "in MPI", "predicted", "off by", "interval"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, given, one in found:
        table.add_row(
            name,
            str(one.ranks),
            given,
            f"{one.measured_run:.4f}",
            f"{one.predicted_run:.4f}",
            communication.off_text(one.run_off, GOAL),
            f"{one.measured:.4f}",
            f"{one.predicted:.4f}",
            communication.off_text(one.off, GOAL),
            "held" if one.held else "[red]did not[/]",
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    communication.add_arguments(parser, ranks=[2, 4, 8])
    return parser.parse_args()


def predictions(traces, pricer):
    """Of all numbers of ranks but the least: from each smaller one alone, and from the two before it."""
    counts = sorted(traces)
    for place, ranks in enumerate(counts[1:], 1):
        there = traces[ranks]
        measured = replay.replay(there, pricer).measured
        fewer = [(counts[0],)]
        fewer += [tuple(counts[place - 2 : place])] if place > 1 else []
        for given in fewer:
            smaller = traces[given[0]] if len(given) > 1 else None
            builder = scaled.ScaledBuilder(traces[given[-1]], ranks, smaller=smaller)
            found = replay.replay(traces[given[-1]], pricer, builder=builder)
            yield " and ".join(map(str, given)), communication.account_of(found, there, measured, ranks)


def main():
    args, console = parse_arguments(), peers.make_console()
    ours, machine = peers.begin_alone(args, console)
    programs = communication.words_of(ours, args.out, args.only)
    if not args.only:
        left_out = [name for name in programs if "shared" in name or "cyclic" in name]
        programs = {name.removesuffix(MESSAGES): programs[name] for name in programs if name not in left_out}
    with console.status("measuring what messages and collectives take"):
        prices = args.out / "scaled_prices.json"
        pricer = communication.prices(ours, {min(args.ranks)}, prices, anew=True)
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
        every = predictions({ranks: one for ranks, (_, one) in of.items()}, pricer)
        found += [(name, given, one) for given, one in every]
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found))
    peers.tell_gaps(args, [], troubles, console)
    rows = [{"program": name, "from": given, **vars(one)} for name, given, one in found]
    communication.add_errors(args.errors, ((name, one) for name, _, one in found))
    peers.finish(args, "predict_scaled.json", machine, {"rows": rows}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
