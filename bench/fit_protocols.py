"""Where one protocol ends and the next begins on this machine: the thresholds of protocol/choose.hpp.

Runs the suite's ping-pong with each protocol forced in turn, interleaved, round after round; prints the best
time of each for every size, buffers touched (as programs do), and the thresholds that follow. A threshold is
the first size from which the second protocol is never slower by more than the noise, so small messages keep
the simpler way. The thresholds are the row of kDistanceTables for the distance between the two ranks, which
is printed with them; `--bind-to` decides it where there is more than one socket or last-level cache.
"""

import argparse
import pathlib
import re
import sys

import own_program
from rich.console import Console
from rich.table import Table

SIZES = [64 << n for n in range(16)] + [3 << n for n in range(9, 16)]
NOISE = 1.03
LONG = {"TASUKI_EAGER_BYTES_MAX": "0"}
WAYS = {
    "eager": {"TASUKI_EAGER_BYTES_MAX": "4M", "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0"},
    "sender-write": {**LONG, "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN": "1"},
    "get": {**LONG, "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0", "TASUKI_PROTOCOL_COOPERATIVE": "0"},
    "cooperative": {
        **LONG,
        "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0",
        "TASUKI_PROTOCOL_COOPERATIVE_BYTES_MIN": "1",
    },
    "two-copy": {
        **LONG,
        "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0",
        "TASUKI_PROTOCOL_GET": "0",
        "TASUKI_PROTOCOL_PUT": "0",
    },
}


def distance(prefix, options):
    """What the two ranks have in common, as the library sees it."""
    environment = WAYS["get"] | {"TASUKI_HEAP": "global", "TASUKI_EXPLAIN": "1"}
    cases = [(own_program.PINGPONG.format("no"), SIZES[-1])]
    told = own_program.run_cases(prefix, options, cases, environment)[1]
    found = re.search(r"get: .*; the ranks have (.*)", told)
    return found.group(1) if found else sys.exit(f"the receiver got no message:\n{told}")


def run(prefix, options, way):
    """(bytes, touched) -> best seconds."""
    ids = {own_program.PINGPONG.format(word): word == "yes" for word in ("no", "yes")}
    cases = [(case, size) for case in ids for size in SIZES]
    environment = WAYS[way] | {"TASUKI_HEAP": "global"}
    found, _ = own_program.run_cases(prefix, options, cases, environment)
    return {(size, ids[case]): seconds for (case, size), seconds in found.items()}


def first_size(best, earlier, later):
    """The first size from which `later` is never slower than `earlier`, or None."""
    sizes = sorted({size for size, touched, _ in best if touched})
    first = None
    for size in reversed(sizes):
        if best[size, True, later] > NOISE * best[size, True, earlier]:
            break
        first = size
    return first


def print_table(best, ways, touched, console):
    table = Table(title=f"us one way, buffers {'' if touched else 'un'}touched", title_justify="left")
    for title in ("bytes", *ways):
        table.add_column(title, justify="right", no_wrap=True)
    for size in sorted({size for size, _, _ in best}):
        figures = [best[size, touched, way] for way in ways]
        cells = [
            f"[{'bold green' if figure == min(figures) else 'default'}]{1e6 * figure:.2f}"
            for figure in figures
        ]
        table.add_row(str(size), *cells)
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="our installed tree")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bind-to", default="core", help="what mpiexec binds each rank to")
    args = parser.parse_args()
    console = Console(highlight=False)
    options = ["--bind-to", args.bind_to]
    best = {}
    for _ in range(args.rounds):
        for way in WAYS:
            for (size, touched), seconds in run(args.prefix, options, way).items():
                key = size, touched, way
                best[key] = min(seconds, best.get(key, seconds))
    for touched in (False, True):
        print_table(best, WAYS, touched, console)
    console.print(f"Thresholds for ranks that have {distance(args.prefix, options)}:")
    for name, earlier, later in (
        ("TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN", "eager", "sender-write"),
        ("TASUKI_EAGER_BYTES_MAX", "eager", "cooperative"),
        ("TASUKI_PROTOCOL_COOPERATIVE_BYTES_MIN", "get", "cooperative"),
    ):
        console.print(
            f"{name}: {later} is no slower than {earlier} from {first_size(best, earlier, later)} bytes on"
        )


if __name__ == "__main__":
    main()
