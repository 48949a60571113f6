"""make bench-imb: what mbl says beside what the Intel MPI Benchmarks say of the same library (docs/mbl.md).

Both are run in turns, some rounds: IMB-MPI1 (build/imb, from the package impi-rt), and mbl with the cases
that do the same. Of each row the least time of the rounds is told, of mbl's medians and of IMB's means, and
their ratio. IMB has a barrier before each call of a collective unless told otherwise; here it is told so
(-sync 0), for mbl's calls are back to back. It prints hundredths of a microsecond, and its loop takes some
tens of nanoseconds: it finds its buffers' places by divisions, asks for statuses, and takes the time of each
call of a collective. So what differs by OVERHEAD_SECONDS at most agrees, too.

Prints the table and writes OUT/against_imb.json.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys

import peers
from rich.table import Table

GOAL, OVERHEAD_SECONDS = 0.05, 40e-9
RANKS = 2
PINGPONG = (
    "point_to_point/pingpong/mode=send,memory=malloc,touched=no,layout=contiguous,receive=blocking,cache=warm"
)


@dataclasses.dataclass(frozen=True)
class Row:
    benchmark: str  # of IMB
    bytes: int
    case: str  # of mbl
    repetitions: int = 5000

    @property
    def text(self):
        return f"{self.benchmark} {self.bytes}"


SENDRECV = "point_to_point/bidirectional/mode=sendrecv,touched=no"
ROWS = (
    Row("PingPong", 8, PINGPONG),
    Row("PingPong", 4096, PINGPONG),
    Row("PingPong", 65536, PINGPONG),
    Row("PingPong", 1 << 20, PINGPONG, 1000),
    Row("Sendrecv", 8, SENDRECV),
    Row("Sendrecv", 65536, SENDRECV),
    Row("Bcast", 65536, "collectives/bcast/form=blocking,touched=no"),
    Row("Reduce", 65536, "collectives/reduce/form=blocking,touched=no"),
    Row("Allreduce", 8, "collectives/allreduce/form=blocking,buffers=two,touched=no"),
    Row("Allreduce", 65536, "collectives/allreduce/form=blocking,buffers=two,touched=no"),
    Row("Allgather", 65536, "collectives/allgather/form=blocking,buffers=two,touched=no"),
    Row("Alltoall", 65536, "collectives/alltoall/form=blocking,buffers=two,touched=no"),
)


class Wrong(RuntimeError):
    """A program that did not do as it should."""


def run(ours, words):
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, env=ours.variables()
    )
    if done.returncode != 0:
        raise Wrong(f"{words[0]}: {(done.stderr or done.stdout).strip()[-1000:]}")
    return done.stdout


def imb_seconds(text, row):
    """Of its table: of a ping-pong the time one way, of others that of the slowest rank."""
    head = re.search(r"^\s*(#bytes.*)$", text, re.M)
    names = head.group(1).split() if head else []
    for line in text.splitlines():
        words = line.split()
        if len(words) == len(names) and all(re.fullmatch(r"[\d.]+", word) for word in words):
            told = dict(zip(names, words, strict=True))
            if int(told["#bytes"]) == row.bytes:
                return float(told.get("t_max[usec]", told.get("t[usec]"))) * 1e-6
    raise Wrong(f"IMB-MPI1 has no row {row.text}: {text[-500:]}")


def by_imb(ours, program, row, out):
    sizes = out / "imb_sizes"
    sizes.write_text(f"{row.bytes}\n")
    words = [program, "-npmin", RANKS, "-iter", row.repetitions, "-iter_policy", "off", "-sync", 0]
    words += ["-msglen", sizes, row.benchmark]
    return imb_seconds(run(ours, ours.launch(RANKS, *words)), row)


def by_mbl(ours, program, row, out):
    cases = out / "imb_cases"
    cases.write_text(f"{row.case} {row.bytes}\n")
    text = run(ours, ours.launch(RANKS, program, "--cases", cases, "--budget", 0.1))
    rows = [json.loads(line) for line in text.splitlines()]
    return next(row["median_seconds"] for row in rows if "median_seconds" in row)


def agree(imb, mbl):
    return abs(mbl / imb - 1) <= GOAL or abs(mbl - imb) <= OVERHEAD_SECONDS


def make_table(found):
    table = Table(title="microseconds, the least of the rounds", title_justify="left", header_style="bold")
    table.add_column("row", no_wrap=True)
    for title in ("IMB", "mbl", "mbl / IMB"):
        table.add_column(title, justify="right", no_wrap=True)
    for row, (imb, mbl) in found.items():
        color = "green" if agree(imb, mbl) else "red"
        table.add_row(row.text, f"{imb * 1e6:.3f}", f"{mbl * 1e6:.3f}", f"[{color}]{mbl / imb:.2f}[/]")
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True, help="our installed tree")
    parser.add_argument("--imb", type=pathlib.Path, required=True, help="the folder of IMB-MPI1")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def main():
    args, console = parse_arguments(), peers.make_console()
    ours, machine = peers.begin_alone(args, console)
    programs = ((by_imb, args.imb / "IMB-MPI1"), (by_mbl, ours.prefix / "libexec" / "tasuki" / "mbl"))
    times = {row: ([], []) for row in ROWS}
    try:
        for number in range(args.rounds):
            for row in ROWS:
                for place in (0, 1) if number % 2 == 0 else (1, 0):
                    measure, program = programs[place]
                    times[row][place].append(measure(ours, program, row, args.out))
    except (Wrong, OSError) as wrong:
        sys.exit(f"against_imb: {wrong}")
    found = {row: (min(imb), min(mbl)) for row, (imb, mbl) in times.items()}
    console.print(make_table(found))
    close = sum(abs(mbl / imb - 1) <= GOAL for imb, mbl in found.values())
    more = sum(agree(imb, mbl) for imb, mbl in found.values()) - close
    console.print(
        f"{close} of {len(found)} rows within {100 * GOAL:.0f} %, {more} more within "
        f"{OVERHEAD_SECONDS * 1e9:.0f} ns, which IMB's own loop takes"
    )
    told = [
        {"row": row.text, "case": row.case, "imb_seconds": imb, "mbl_seconds": mbl}
        for row, (imb, mbl) in times.items()
    ]
    peers.finish(args, "against_imb.json", machine, {"rows": told}, console)


if __name__ == "__main__":
    main()
