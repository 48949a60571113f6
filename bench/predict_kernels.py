"""make predict-kernels: what `tasuki predict` makes of the kernels of apps/kernels, from traces, beside
what they took.

Measures messages and collectives (`tasuki bench`, OUT/kernels_prices.json; remove it to measure anew),
then traces each kernel (`mpiexec --trace`) and replays the trace with these prices (docs/trace.md). "in
MPI" is the time of all ranks together between the beginnings and the ends of their calls, "program" the
time of the whole. Of the rounds the one in which the program was quickest is told, and how far off the
prediction was in the others.

Prints the table and writes OUT/predict_kernels.json.
"""

import argparse
import os
import sys

import communication
import peers
import run_kernels
import turns
from rich.table import Table
from turns import Row

GOAL = 0.15


def off_text(off):
    return f"[{'green' if abs(off) <= GOAL else 'red'}]{100 * off:+.1f} %[/]"


def make_table(found):
    table = Table(
        title="seconds in MPI of all ranks, and of the program: measured under the trace, and predicted",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("kernel", no_wrap=True)
    for title in (
        "in MPI",
        "predicted",
        "off by",
        "all rounds",
        "program",
        "predicted",
        "off by",
        "share in MPI",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for row, accounts in found.items():
        one = min(accounts, key=lambda account: account.measured_run)
        offs = sorted(100 * account.off for account in accounts)
        table.add_row(
            row.text,
            f"{one.measured:.4f}",
            f"{one.predicted:.4f}",
            off_text(one.off),
            f"{offs[0]:+.0f} to {offs[-1]:+.0f} %",
            f"{one.measured_run:.4f}",
            f"{one.predicted_run:.4f}",
            off_text(one.run_off),
            f"{100 * one.share:.0f} %",
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True, help="our installed tree")
    parser.add_argument("--out", type=peers.pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    known = run_kernels.PROGRAMS
    parser.add_argument("--only", nargs="+", default=list(known), choices=known, metavar="KERNEL")
    return parser.parse_args()


def main():
    args, console = parse_arguments(), peers.make_console()
    ours, machine = peers.begin_alone(args, console)
    built = run_kernels.build(ours, args.out)
    rows = [Row(name, ranks) for name in args.only for ranks in args.ranks]
    with console.status("measuring what messages and collectives take"):
        pricer = communication.prices(ours, set(args.ranks), args.out / "kernels_prices.json")
    found, troubles = {}, []
    for _ in range(args.rounds):
        for row in rows:
            words = [built[row.program], *run_kernels.PROGRAMS[row.program][1]]
            try:
                told = communication.account(
                    ours, row, words, pricer, args.out, run_kernels.read_seconds, args.limit
                )
                found.setdefault(row, []).append(told)
            except turns.Wrong as wrong:
                troubles.append(str(wrong))
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found))
    notes = dict.fromkeys(note for accounts in found.values() for one in accounts for note in one.notes)
    for note in notes:
        if "% of the measured time" not in note:  # of each run another number
            console.print(f"note: {note}", markup=False, soft_wrap=True)
    peers.tell_gaps(args, [], troubles, console)
    told = [
        {"kernel": row.program, "ranks": row.ranks, "rounds": [vars(one) for one in accounts]}
        for row, accounts in found.items()
    ]
    peers.finish(args, "predict_kernels.json", machine, {"rows": told}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
