"""make bench-io-orders: what the order of exchange does, over virtual nodes whose ranks share a link.

bench/io_orders.cpp, with RANKS ranks on NODES nodes, in blocks (BK) and round robin (RR), for each size of
the collective buffer in BUFFERS: every order takes its turn in every round, and the medians are compared. The
time of exchange is that of the rank that spent most in it (mpiexec --io-times); the bound is what the busiest
link needs for its bytes. Beside it, how many messages hit one node at the same step of a cycle: the k-th
message of every rank, counted from the aggregators, the placement and the orders, which are written out here
once more; all cycles are alike.

Prints a table; writes OUT/io_orders.json and OUT/io_orders.png.
"""

import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

import own_program
from rich.console import Console
from rich.table import Table
from tasuki import io_times

ORDERS = ("rank", "pairwise", "nd_shift", "nd_rank_shift", "weighted")
NODES, RANKS = 4, 8
MIB = 1 << 20
BYTES = 32 * MIB  # of all ranks
BUFFERS = (16 * MIB, 2 * MIB)
MB_PER_SECOND = 100  # of a node's links: slow enough for two processors to keep up with
PLACEMENTS = {"BK": "slot", "RR": "node"}
SECONDS_MAX = 170


def node_of(placement, rank):
    return rank * NODES // RANKS if placement == "BK" else rank % NODES


def listed(order, placement, rank):
    """All ranks, in the order in which that rank issues its messages; even amounts."""
    if order == "rank":
        return list(range(RANKS))
    if order == "pairwise":
        return [(rank + i) % RANKS for i in range(RANKS)]
    made = []
    mine = node_of(placement, rank)
    index = [one for one in range(RANKS) if node_of(placement, one) == mine].index(rank)
    for i in range(1, NODES + 1):
        members = [one for one in range(RANKS) if node_of(placement, one) == (mine + i) % NODES]
        first = 0 if order == "nd_shift" else index % len(members)
        made += members[first:] + members[:first]
    return made


def hits(order, placement, aggregators, what):
    """(step, node) -> how many messages hit that node then. What stays on a node is no message."""
    counted = collections.Counter()
    for rank in range(RANKS):
        here = node_of(placement, rank)
        far = [one for one in listed(order, placement, rank) if node_of(placement, one) != here]
        if what == "write":
            far = [one for one in far if one in aggregators]
        elif rank not in aggregators:
            continue
        counted.update((step, node_of(placement, one)) for step, one in enumerate(far))
    return counted


def run(prefix, program, out, placement, buffer_bytes, rounds):
    """order, what -> (medians of the call and of the exchange in ms, and all of them); the aggregators."""
    times = out / f"io_orders_{placement}_{buffer_bytes}.times"
    times.unlink(missing_ok=True)
    folder = pathlib.Path("/dev/shm")
    file = (folder if folder.is_dir() else out) / f"bench-io-orders-{os.getpid()}"
    words = [prefix / "bin/mpiexec", "-n", RANKS, "--nodes", NODES, "--map-by", PLACEMENTS[placement]]
    words += [f"--network-node-bandwidth={MB_PER_SECOND}MB/s", "--network-bandwidth=unlimited"]
    words += [f"--io-times={times}", program, file, BYTES, buffer_bytes, rounds, *ORDERS]
    try:
        done = own_program.run(words, SECONDS_MAX, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(map(str, words))}\ndid not end within {SECONDS_MAX} s")
    finally:
        file.unlink(missing_ok=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    told = next(row for row in rows if "aggregators" in row)
    if told["order"] != ORDERS[0]:
        sys.exit(f"tasuki_io_order = {told['order']!r} took effect, expected {ORDERS[0]}")
    seconds = {(row["order"], row["what"]): row["seconds"] for row in rows if "what" in row}
    return seconds, exchanges(times), [int(rank) for rank in told["aggregators"].split()]


def exchanges(times):
    """order, what -> of each call, the seconds that its busiest rank spent in the exchange."""
    calls = [call for call in io_times.load(times).calls if call.way == "two-phase"]
    opened = list(dict.fromkeys(call.accesses[0].opened for call in calls))  # as they were first used
    if len(opened) != len(ORDERS):
        sys.exit(f"{times}: {len(opened)} files with accesses in two phases, expected {len(ORDERS)}")
    found = collections.defaultdict(list)
    for call in calls:
        order = ORDERS[opened.index(call.accesses[0].opened)]
        what = "write" if "write" in call.function.lower() else "read"
        sums = {one.phase: one for one in io_times.phase_sums([call])}
        found[order, what].append(sums["exchange"].busiest_seconds)
    return found


def bound_seconds(placement, aggregators):
    """Of the busiest link: an aggregator gets the same from every rank of the other nodes."""
    share = BYTES / RANKS / len(aggregators)
    incoming = collections.Counter()
    for aggregator in aggregators:
        here = node_of(placement, aggregator)
        incoming[here] += sum(share for rank in range(RANKS) if node_of(placement, rank) != here)
    return max(incoming.values()) / MB_PER_SECOND / 1e6


def measure(prefix, program, out, rounds):
    rows = []
    for buffer_bytes in BUFFERS:
        for placement in PLACEMENTS:
            seconds, exchange, aggregators = run(prefix, program, out, placement, buffer_bytes, rounds)
            for what in ("write", "read"):
                for order in ORDERS:
                    counted = hits(order, placement, aggregators, what)
                    row = {
                        "buffer_bytes": buffer_bytes,
                        "placement": placement,
                        "what": what,
                        "order": order,
                        "call_ms": 1e3 * statistics.median(seconds[order, what]),
                        "exchange_ms": 1e3 * statistics.median(exchange[order, what]),
                        "bound_ms": 1e3 * bound_seconds(placement, aggregators),
                        "hits_most": max(counted.values()),
                        "hits_mean": statistics.mean(counted.values()),
                        "hits": [[step, node, number] for (step, node), number in sorted(counted.items())],
                        "call_seconds": seconds[order, what],
                        "exchange_seconds": exchange[order, what],
                    }
                    rows.append(row)
    return rows


def make_table(rows):
    title = f"{NODES} nodes of {RANKS // NODES} ranks, links of {MB_PER_SECOND} MB/s, {BYTES // MIB} MiB"
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in ("buffer", "ranks", "", "order"):
        table.add_column(name, no_wrap=True)
    for name in ("exchange, ms", "ratio", "call, ms", "bound, ms", "most hits", "mean"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        first = rows[number - number % len(ORDERS)]
        head = (f"{row['buffer_bytes'] // MIB} MiB", row["placement"], row["what"])
        table.add_row(
            *(head if row is first else ("", "", "")),
            row["order"],
            f"{row['exchange_ms']:.1f}",
            f"{row['exchange_ms'] / first['exchange_ms']:.2f}",
            f"{row['call_ms']:.1f}",
            f"{row['bound_ms']:.1f}",
            str(row["hits_most"]),
            f"{row['hits_mean']:.1f}",
            end_section=(number + 1) % len(ORDERS) == 0,
        )
    return table


def draw(rows, path):
    """For each placement: the exchange's time by order, and which nodes are hit at which step of a write."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in rows if row["buffer_bytes"] == BUFFERS[0]]
    figure = pyplot.figure(figsize=(13, 7), layout="constrained")
    grid = figure.add_gridspec(len(PLACEMENTS), 1 + len(ORDERS), width_ratios=[5] + [1.5] * len(ORDERS))
    most = max(number for row in rows for _, _, number in row["hits"])
    slowest = max(row["exchange_ms"] for row in rows)
    for line, placement in enumerate(PLACEMENTS):
        bars = figure.add_subplot(grid[line, 0])
        for shift, (what, colour) in enumerate((("write", "#4878a8"), ("read", "#e0a040"))):
            found = [row for row in rows if (row["placement"], row["what"]) == (placement, what)]
            places = [number + 0.4 * shift - 0.2 for number in range(len(ORDERS))]
            drawn = bars.bar(places, [row["exchange_ms"] for row in found], 0.38, color=colour, label=what)
            bars.bar_label(drawn, fmt="%.0f", fontsize=8)
        bars.axhline(
            found[0]["bound_ms"], color="black", linewidth=1, linestyle="--", label="busiest link alone"
        )
        bars.set_xticks(range(len(ORDERS)), ORDERS, fontsize=8)
        bars.set_ylim(0, slowest * 1.25)
        bars.set_ylabel("exchange, ms")
        words = "in blocks (BK)" if placement == "BK" else "round robin (RR)"
        bars.set_title(f"ranks {words}: time", fontsize=10)
        bars.legend(fontsize=8, ncols=3, loc="upper right")
        for number, order in enumerate(ORDERS):
            wanted = (placement, "write", order)
            row = next(one for one in rows if (one["placement"], one["what"], one["order"]) == wanted)
            steps = 1 + max(step for step, _, _ in row["hits"])
            cells = [[0] * steps for _ in range(NODES)]
            for step, node, many in row["hits"]:
                cells[node][step] = many
            chart = figure.add_subplot(grid[line, 1 + number])
            chart.imshow(cells, cmap="Reds", vmin=0, vmax=most, aspect="auto")
            for node in range(NODES):
                for step in range(steps):
                    dark = cells[node][step] > most / 2
                    chart.text(step, node, cells[node][step] or "", ha="center", va="center", fontsize=9)
                    chart.texts[-1].set_color("white" if dark else "black")
            chart.set_title(order, fontsize=9)
            chart.set_xticks(range(steps))
            chart.set_yticks(range(NODES), [f"node {node}" for node in range(NODES)] if number == 0 else [])
            chart.set_xlabel("step", fontsize=8)
            chart.tick_params(labelsize=8)
    buffer = f"{BUFFERS[0] // MIB} MiB of collective buffer"
    figure.suptitle(
        f"Orders of exchange: {NODES} nodes of {RANKS // NODES} ranks, links of {MB_PER_SECOND} MB/s, "
        f"{BYTES // MIB} MiB, {buffer}. Right: messages that hit a node at the same step of a write"
    )
    figure.savefig(path, dpi=110)


def main():
    parser = own_program.make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    program = own_program.build("io_orders", args.prefix, args.out)
    rows = measure(args.prefix, program, args.out, args.rounds)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=120)
    console.print(make_table(rows))
    (args.out / "io_orders.json").write_text(json.dumps({"rounds": args.rounds, "rows": rows}, indent=1))
    draw(rows, args.out / "io_orders.png")
    console.print(f"all figures in {args.out / 'io_orders.json'}, a picture in {args.out / 'io_orders.png'}")


if __name__ == "__main__":
    main()
