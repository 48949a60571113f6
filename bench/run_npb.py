"""make bench-npb NPB_BIN=DIR: finished programs of the NAS Parallel Benchmarks 3.4 on our library and on
others, interleaved. Bring the programs; nothing of the benchmarks is here, nor how to build them.

DIR has a folder for each MPI library, and in it the programs that were built for it, named KERNEL.CLASS.x:

    DIR/tasuki/cg.A.x   DIR/tasuki/ft.A.x   DIR/mpich/cg.A.x   DIR/openmpi/cg.A.x  …

KERNEL is one of bt, cg, ep, ft, is, lu, mg, sp; CLASS is S, W or A to F. What is in tasuki/ is run;
another library runs what it has of that. mpich and openmpi are Debian's (tools/fetch-peers-debian);
NPB_MPI="NAME=PREFIX …" names others, or others of these names. bt and sp run only with square numbers of
ranks, the others with powers of two.

A figure is `Mop/s total` as the program says it, and counts only where it says `Verification =
SUCCESSFUL`, of the class of its name, and with as many processes as were started. "ratio" is the best
other's figure to ours: below 1 we are faster. "in MPI" is the share of its time that our program spends
in MPI, "model" what `tasuki predict` makes of that time from a trace of the run, by prices measured
before (OUT/npb_prices.json; remove it to measure anew).

Prints the table and writes OUT/bench_npb.json. The exit status is 1 where something was wrong, and each
is one line.
"""

import argparse
import os
import pathlib
import re
import sys

import peers
import turns
from rich.table import Table
from tasuki import implementation
from turns import Row, Wrong

KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
SQUARE = ("bt", "sp")
NAME = re.compile(rf"({'|'.join(KERNELS)})\.([SWA-F])\.x")
NAME_WORDS = "KERNEL.CLASS.x, such as cg.A.x (" + " ".join(KERNELS) + "; S, W, A to F)"
RATIO_GOAL = 1.03


def refuse(text):
    sys.exit(f"bench-npb: {text}")


def programs_in(folder):
    """name -> path of the programs in a library's folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        if not NAME.fullmatch(path.name):
            refuse(f"{path}: expected files named {NAME_WORDS}")
        if not os.access(path, os.X_OK) or not path.is_file():
            refuse(f"{path}: expected a program that may be executed")
        found[path.name] = path
    return found


def programs_of(place):
    """library's name -> name -> path. Refuses, in one line, what is not laid out as said above."""
    if not place.is_dir():
        refuse(f"NPB_BIN={place}: no such folder")
    folders = {path.name: path for path in sorted(place.iterdir()) if path.is_dir()}
    if "tasuki" not in folders:
        refuse(f"{place}: there is no folder tasuki in it, expected one with files named {NAME_WORDS}")
    found = {name: programs_in(folder) for name, folder in folders.items()}
    if not found["tasuki"]:
        refuse(f"{folders['tasuki']}: there is no file named {NAME_WORDS}")
    return found


def libraries(args, programs):
    """Ourselves, and those whose programs are there."""
    places = {"tasuki": args.prefix} | {name: args.peers / name for name in peers.OF_DEBIAN}
    for text in args.mpi:
        name, _, place = text.partition("=")
        if not name or not place:
            refuse(f"--mpi {text}: expected NAME=PREFIX")
        places[name] = pathlib.Path(place)
    found = []
    for name in ("tasuki", *(name for name in programs if name != "tasuki")):
        if name not in places:
            refuse(f"{args.bin / name}: no library is called {name}; NPB_MPI={name}=PREFIX tells where it is")
        try:
            found.append(implementation.find(f"{name}={places[name]}"))
        except implementation.ImplementationError as error:
            refuse(error)
    return found


def field(text, name):
    found = re.search(rf"^\s*{re.escape(name)}\s*=\s*(\S+)", text, re.M)
    return found.group(1) if found else None


def read_rate(text, row):
    """`Mop/s total`, where all that the program says of itself is as it should be."""
    verification = field(text, "Verification")
    if verification != "SUCCESSFUL":
        raise Wrong(f"Verification = {verification or '(nothing)'}, expected SUCCESSFUL")
    wanted, told = NAME.fullmatch(row.program).group(2), field(text, "Class")
    if told not in (None, wanted):
        raise Wrong(f"Class = {told}, expected {wanted}")
    processes = field(text, "Total processes")
    if processes not in (None, str(row.ranks)):
        raise Wrong(f"Total processes = {processes}, expected {row.ranks}: is it built for another MPI?")
    try:
        rate = float(field(text, "Mop/s total"))
    except (TypeError, ValueError):
        rate = 0.0
    if not rate > 0:
        raise Wrong(f"Mop/s total = {field(text, 'Mop/s total') or '(nothing)'}, expected a number above 0")
    return rate


def runs_with(name, ranks):
    """Whether the kernel takes so many ranks."""
    if name.split(".")[0] in SQUARE:
        return round(ranks**0.5) ** 2 == ranks
    return ranks & (ranks - 1) == 0


def make_table(found, present, rows, accounts):
    table = Table(
        title="Mop/s, best (median); ratio: the best peer's to ours; model: off by, of the time in MPI",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("program", no_wrap=True)
    for title in (*(one.name for one in present), "ratio", "of medians", "in MPI", "model"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        cells = [turns.cell(found[row].get(one.name), max, 1) for one in present]
        both = turns.ratios(found[row], present[0].name, max)
        one = accounts.get(row)
        told = [f"{100 * one.share:.0f} %", f"{100 * one.off:+.0f} %"] if one else ["-", "-"]
        table.add_row(row.text, *cells, *(turns.ratio_text(ratio, RATIO_GOAL) for ratio in both), *told)
    return table


def accounts_of(one, rows, words_of, args, troubles, console):
    """row -> what the model says of its communication."""
    found = {}
    rows = [row for row in rows if row.ranks > 1]
    if args.no_model or not rows:
        return found
    import communication  # which imports a good deal

    with console.status("measuring what messages and collectives take"):
        pricer = communication.prices(one, {row.ranks for row in rows}, args.out / "npb_prices.json")
    for row in rows:
        with console.status(f"tracing {row.text}"):
            try:
                words = words_of(one, row)
                found[row] = communication.account(one, row, words, pricer, args.out, read_rate, args.limit)
            except Wrong as wrong:
                troubles.append(f"the model's account: {wrong}")
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_arguments(parser, rounds=5, limit=600)
    parser.add_argument(
        "--bin", type=pathlib.Path, required=True, metavar="DIR", help="folder of the programs"
    )
    parser.add_argument("--mpi", nargs="*", default=[], metavar="NAME=PREFIX", help="further libraries")
    parser.add_argument("--no-model", action="store_true", help="without traces and predictions")
    return parser.parse_args()


def main():
    args, console = parse_arguments(), peers.make_console()
    programs = programs_of(args.bin)
    present = libraries(args, programs)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    args.out.mkdir(parents=True, exist_ok=True)
    rows = [Row(name, ranks) for name in programs["tasuki"] for ranks in args.ranks if runs_with(name, ranks)]

    def words_of(one, row):
        path = programs[one.name].get(row.program)
        return [path] if path else None

    found, troubles = turns.take(present, rows, words_of, read_rate, args, console)
    good = [row for row in rows if found[row].get(present[0].name)]
    accounts = accounts_of(present[0], good, words_of, args, troubles, console)
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found, present, rows, accounts))
    for name in sorted(set(programs) - {"tasuki"}):
        missing = sorted(set(programs["tasuki"]) - set(programs[name]))
        if missing:
            console.print(f"{args.bin / name} has no {', '.join(missing)}", style="yellow", markup=False)
    peers.tell_gaps(args, [], troubles, console)
    told = [
        {"program": row.program, "ranks": row.ranks, "mops": found[row]}
        | ({"model": vars(accounts[row])} if row in accounts else {})
        for row in rows
    ]
    peers.finish(args, "bench_npb.json", machine, {"rounds": args.rounds, "rows": told}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
