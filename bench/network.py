"""make network: what is left of the latency and the bandwidth that are set between two virtual nodes.

bench/network.cpp between two ranks, once on one node and once for each network in NETWORKS on two. The
latency of a network is the time of 8 bytes less that of 8 bytes on one node (the software's share); its
bandwidth is that of the increase from 256 KiB to 2 MiB. Both are printed as ratios to what was set. The rest
is what the machine takes itself: the copies cost time too, and so does waking a rank that waits.

Then the library's algorithms for long messages among nodes whose ranks share links: the least of single
calls on virtual nodes, and what `tasuki simulate` says of such a machine.
"""

import json

import own_program
from rich.console import Console
from rich.table import Table
from tasuki import machines, simulation

MIB = 1 << 20
SIZES = (8, MIB // 4, 2 * MIB)
# Nanoseconds and 10^6 bytes a second.
NETWORKS = [(1000, 10000), (2000, 5000), (5000, 5000), (20000, 2000), (100000, 1000)]
# Of a node's links: slow enough for two processors to keep up with, also where others use them.
NODE_MB_PER_SECOND = 20
# In the way that the library executes them: pipelines and pairwise exchanges follow data.
COLLECTIVES = (
    simulation.Case("bcast", MIB, "chain", 1 << 14, "data"),
    simulation.Case("bcast", MIB, "binomial", MIB, "rounds"),
    simulation.Case("reduce", MIB, "binomial", MIB, "rounds"),
    simulation.Case("allgather", MIB // 4, "ring"),
    simulation.Case("allreduce", MIB, "ring"),
    simulation.Case("alltoall", MIB // 4, "pairwise", 0, "data"),
)


def virtual_nodes(nodes, mb_per_second=NODE_MB_PER_SECOND):
    """The machine that mpiexec --nodes imitates, with a rank on each node."""
    latency = 2e-6
    parameters = {
        "software_seconds": 0,
        "hardware_seconds": latency,
        "link_bytes_per_second": mb_per_second * 1e6,
        "total_bytes_per_second": mb_per_second * 1e6,
    }
    document = {
        "tasuki_machine": 1,
        "name": f"{nodes} virtual nodes",
        "sources": {"set": f"mpiexec --nodes {nodes} --network-node-bandwidth {mb_per_second}MB/s"},
        "parameters": {name: {"value": value, "source": "set"} for name, value in parameters.items()},
        "topology": {"kind": "crossbar", "shape": [nodes], "source": "set"},
    }
    return machines.machine_of(document, "virtual nodes")


def simulated(prefix, nodes, cases):
    """What is said of each case there."""
    simulator = prefix / "libexec/tasuki/tasuki-simulate"
    return simulation.run(virtual_nodes(nodes), cases, simulator=simulator)


def measured_seconds(prefix, program, nodes, case, turns):
    """Of single calls, the algorithm being forced."""
    environment = {f"TASUKI_{case.operation.upper()}_ALGORITHM": case.algorithm}
    if case.segment_bytes != 0:
        environment["TASUKI_SEGMENT_BYTES"] = str(case.segment_bytes)
    network = (f"--network-node-bandwidth={NODE_MB_PER_SECOND}MB/s", "--network-bandwidth=unlimited")
    command = [prefix / "bin/mpiexec", "-n", nodes, "--nodes", nodes, *network, program, turns]
    command.append(f"{case.operation}:{case.bytes}:1")
    done = own_program.run(command, 300, environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)["seconds"]


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
    console = Console(width=110)
    console.print(f"8 bytes on one node take {here[8] * 1e6:.2f} us", table)
    collectives = list(compared(args.prefix, args.out))
    console.print(table_of_collectives(collectives))
    found = {"one_node": here, "networks": results, "collectives": collectives}
    (args.out / "network.json").write_text(json.dumps(found, indent=1))


def compared(prefix, out, turns=5):
    """For each number of nodes and case what was simulated, and the least that was measured, in seconds."""
    program = own_program.build("collective_times", prefix, out)
    for nodes in (4, 8):
        for case, said in zip(COLLECTIVES, simulated(prefix, nodes, COLLECTIVES), strict=True):
            measured = min(measured_seconds(prefix, program, nodes, case, turns))
            yield {
                "nodes": nodes,
                "case": case.document(),
                "simulated": said["seconds"],
                "measured": measured,
            }


def table_of_collectives(rows):
    table = Table("nodes", "operation", "algorithm", "bytes", "simulated", "measured", "ratio")
    for row in rows:
        case, simulated, measured = row["case"], row["simulated"], row["measured"]
        times = (f"{simulated * 1e3:.1f} ms", f"{measured * 1e3:.1f} ms", f"{measured / simulated:.3f}")
        table.add_row(str(row["nodes"]), case["operation"], case["algorithm"], str(case["bytes"]), *times)
    return table


if __name__ == "__main__":
    main()
