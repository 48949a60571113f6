"""make predict-programs: what `tasuki predict` makes of programs by their own traces, beside what they take:
the kernels of apps/kernels, examples/heat.py, and SPAM with its mappings and halos (docs/model.md).

Measures messages and collectives (`tasuki bench`) among no more ranks than processors, then traces each
program (`mpiexec --trace`), some rounds in turn, and replays each trace with these prices (docs/trace.md).
"in MPI" is the time of all ranks together between the beginnings and the ends of their calls, "program" the
time of the whole. Of the rounds the one in which the program was quickest is told, how far off the prediction
was in all, and in how many its interval held.

Prints the table and writes OUT/predict_programs.json. --errors FILE adds how far off each run was to those
from which the intervals are made (python/tasuki/prediction_errors.json).
"""

import argparse
import os
import sys

import communication
import peers
import turns
from rich.table import Table
from turns import Row

GOAL = 0.05


def make_table(found):
    table = Table(
        title="measured under the trace, and predicted: ms in MPI of all ranks, and of the program",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("program, ranks", no_wrap=True)
    for title in ("in MPI", "predicted", "off by", "all rounds", "held", "program", "predicted", "off by"):
        table.add_column(title, justify="right", no_wrap=True)
    for row, accounts in found.items():
        one = min(accounts, key=lambda account: account.measured_run)
        offs = sorted(100 * account.off for account in accounts)
        table.add_row(
            f"{row.program}, {row.ranks}",
            f"{1e3 * one.measured:.4g}",
            f"{1e3 * one.predicted:.4g}",
            communication.off_text(one.off, GOAL),
            f"{offs[0]:+.0f} to {offs[-1]:+.0f} %",
            f"{sum(account.held for account in accounts)} of {len(accounts)}",
            f"{1e3 * one.measured_run:.4g}",
            f"{1e3 * one.predicted_run:.4g}",
            communication.off_text(one.run_off, GOAL),
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    communication.add_arguments(parser, ranks=[2])
    return parser.parse_args()


def main():
    args, console = parse_arguments(), peers.make_console()
    ours, machine = peers.begin_alone(args, console)
    words_of = communication.words_of(ours, args.out, args.only)
    rows = [Row(name, ranks) for name in words_of for ranks in args.ranks]
    with console.status("measuring what messages and collectives take"):
        ranks = {min(count, machine["processors"]) for count in args.ranks}
        pricer = communication.prices(ours, ranks, args.out / "programs_prices.json", anew=True)
    found, troubles = {}, []
    for _ in range(args.rounds):
        for row in rows:
            try:
                told = communication.account(
                    ours, row, words_of[row.program], pricer, args.out, lambda text, row: text, args.limit
                )
                found.setdefault(row, []).append(told)
            except turns.Wrong as wrong:
                troubles.append(str(wrong))
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found))
    peers.tell_gaps(args, [], troubles, console)
    told = [
        {"program": row.program, "ranks": row.ranks, "rounds": [vars(one) for one in accounts]}
        for row, accounts in found.items()
    ]
    communication.add_errors(
        args.errors, ((row.program, one) for row, accounts in found.items() for one in accounts)
    )
    peers.finish(args, "predict_programs.json", machine, {"rows": told}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
