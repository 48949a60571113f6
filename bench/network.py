"""make network: what is left of the latency and the bandwidth that are set between two virtual nodes.

bench/network.cpp between two ranks, once on one node and once for each network in NETWORKS on two. The
latency of a network is the time of 8 bytes less that of 8 bytes on one node (the software's share); its
bandwidth is that of the increase from 256 KiB to 2 MiB. Both are printed as ratios to what was set. The rest
is what the machine takes itself: the copies cost time too, and so does waking a rank that waits.
"""

import json

import own_program
from rich.console import Console
from rich.table import Table

MIB = 1 << 20
SIZES = (8, MIB // 4, 2 * MIB)
# Nanoseconds and 10^6 bytes a second.
NETWORKS = [(1000, 10000), (2000, 5000), (5000, 5000), (20000, 2000), (100000, 1000)]


def best_seconds(prefix, program, *options):
    """Size -> the least seconds of a message one way."""
    command = [prefix / "bin/mpiexec", "-n", 2, *options, program, *SIZES]
    done = own_program.run(command, 300, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["bytes"]: min(row["seconds"]) for row in rows}


def main():
    args = own_program.make_parser(__doc__).parse_args()
    program = own_program.build("network", args.prefix, args.out)
    here = best_seconds(args.prefix, program)
    table = Table("latency set", "measured", "ratio", "bandwidth set", "measured", "ratio")
    results = []
    for latency_ns, mb_per_second in NETWORKS:
        network = (f"--network-latency={latency_ns}ns", f"--network-bandwidth={mb_per_second}MB/s")
        far = best_seconds(args.prefix, program, "--nodes", 2, *network)
        latency = (far[8] - here[8]) * 1e9
        rate = (SIZES[2] - SIZES[1]) / (far[SIZES[2]] - far[SIZES[1]]) / 1e6
        results.append(
            {
                "latency_ns": latency_ns,
                "measured_latency_ns": latency,
                "mb_per_second": mb_per_second,
                "measured_mb_per_second": rate,
                "seconds": far,
            }
        )
        table.add_row(
            *(f"{latency_ns / 1000:g} us", f"{latency / 1000:.2f} us", f"{latency / latency_ns:.2f}"),
            *(f"{mb_per_second} MB/s", f"{rate:.0f} MB/s", f"{rate / mb_per_second:.2f}"),
        )
    Console(width=110).print(f"8 bytes on one node take {here[8] * 1e6:.2f} us", table)
    (args.out / "network.json").write_text(json.dumps({"one_node": here, "networks": results}, indent=1))


if __name__ == "__main__":
    main()
