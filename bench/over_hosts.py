"""make bench-hosts: jobs over hosts, next to MPICH, Open MPI and Intel MPI over TCP, in turns.

Hosts are network namespaces of this machine, as in tests/hosts (so this needs root); all start ranks by ssh.
What there is (`--only` names some of it):

    starts       what it takes to start a job of MPI_Init and MPI_Finalize on 2 hosts of 2 ranks
    agents       how our start grows with agents, also in trees, by a launcher that runs them on this machine
    messages     one way and 64 at once, between 2 hosts of 1 rank; beside two sockets, which are the limit
    windows      put and flush, fetch_and_op, between the same
    collectives  on 2 hosts of 2 ranks and on 3 of 2
    files        write_all and read_all on 2 hosts of 2 ranks, to a file that they share

The last four come from bench/over_hosts.c and bench/tcp_pair.cpp, in one interleaved run. A cell is the least
of all rounds, and behind it the median of the rounds' medians; so are the ratios, to the best peer and to
sockets that spin, and behind them the goal. `--ranks`: unbound, or each bound to a processor. `--network`:
as it is, with 1 Gbit/s (rate), or with 2 % of all packets lost (loss). The ranks share this machine's
processors, which no host knows: each takes them for its own. So where there are more ranks than processors
the peers are told to offer theirs while they wait. On a machine that others use, too, `--ahead` has
ranks, ours and all others, go before them.
"""

import functools
import json
import os
import pathlib
import statistics
import subprocess
import time

import own_program
import peers_over_hosts
from peers_over_hosts import OURS, SECONDS_MAX, goes_ahead
from rich.console import Console
from rich.table import Table

ROUNDS = 5
AGENTS = (1, 4, 16, 64)
TREES = (0, 8, 2)  # fan-outs; 0: none
BUDGET_SECONDS = 0.05  # a case and round
PORT = 7700
SPINNING, BLOCKING = "sockets", "sockets, blocking"
FAKE_LAUNCHER = '#!/bin/sh\nshift\nexec sh -c "$*"\n'
PARTS = ("starts", "agents", "messages", "windows", "collectives", "files")
# What is measured between how many hosts of how many ranks.
SHAPES = {(2, 1): ("messages", "windows"), (2, 2): ("collectives", "files"), (3, 2): ("collectives",)}
# Operation -> goals by bytes, or for all: of the ratio to the best peer, and to sockets.
GOALS = {
    "pingpong": {8: (0.95, 1.2), 1024: (0.95, 1.2), 65536: (0.9, 1.15), 4194304: (0.95, 1.05)},
    "outstanding": (0.5, None),
    "put": (0.9, None),
    "fetch_and_op": (0.9, None),
    **dict.fromkeys(("barrier", "bcast", "allreduce", "allgather", "alltoall"), (0.85, None)),
    "write_all": (0.6, None),
    "read_all": (0.6, None),
}
NETWORKS = ("plain", "rate", "loss")
RATE = "1gbit"
LOST_PERCENT = 2


def with_newer_library(args, run_ours):
    """Ours with a libfabric that opens in less time than Debian's, where it is there."""
    library = args.peers.resolve() / "mpich/lib/mpich/libfabric.so.1"
    if not library.exists():
        return {}
    options = ["-x", f"TASUKI_NET_LIBRARY={library}"]
    return {"Tasuki, MPICH's libfabric": lambda hosts, shape: run_ours(hosts, shape, options=options)}


def sockets(args):
    """Name -> what runs two sockets between two hosts."""
    program = args.out / "tcp_pair"
    source = own_program.HERE / "tcp_pair.cpp"
    subprocess.run(["c++", "-O2", "-std=c++20", source, "-o", program], check=True)
    program = goes_ahead(program) if args.ahead else program

    def run(hosts, bound, *options, timeout=SECONDS_MAX):
        words = [program, "--touch", "--batches", *options, "--port", PORT]
        sizes = list(GOALS["pingpong"])
        bind = [["taskset", "-c", host % os.cpu_count()] if bound else [] for host in (0, 1)]
        other = hosts[1].popen([*bind[1], *words, "--listen", *sizes])
        try:
            return hosts[0].run([*bind[0], *words, "--connect", hosts[1].address, *sizes], timeout=timeout)
        finally:
            other.kill()
            other.communicate()

    return {
        SPINNING: run,
        BLOCKING: lambda hosts, bound, timeout: run(hosts, bound, "--blocking", timeout=timeout),
    }


def checked(name, done):
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.text}")
    return done


def measure_starts(hosts, found, rounds):
    """Name -> seconds of each round."""
    seconds = {name: [] for name in found}
    for _ in range(rounds):
        for name, run in found.items():
            seconds[name].append(checked(name, run(hosts, (2, 2))).seconds)
    return seconds


def measure_agents(args, rounds):
    """Number of agents -> seconds of each round, for a program that is no MPI program by each tree, and for
    one that is."""
    launcher = args.out / "fake-launcher"
    launcher.write_text(FAKE_LAUNCHER)
    launcher.chmod(0o755)
    runs = {f"true, {tree or 'no'} tree": (tree, ["true"]) for tree in TREES}
    runs["MPI, no tree"] = (0, [args.out / "over_hosts"])
    times = {number: {name: [] for name in runs} for number in AGENTS}
    for _ in range(rounds):
        for number in AGENTS:
            hosts = ",".join(f"host{index}.invalid" for index in range(number))
            begin = [
                args.prefix / "bin/mpiexec",
                "--launcher-command",
                launcher,
                "--host",
                hosts,
                "--host-silence",
                60,  # of 64 agents with MPI some wait long for a processor
                "-n",
                number,
            ]
            for kind, (tree, program) in runs.items():
                start = time.monotonic()
                words = [*begin, "--launcher-tree", tree, *program]
                done = own_program.run(words, SECONDS_MAX, capture_output=True, text=True)
                times[number][kind].append(time.monotonic() - start)
                if done.returncode != 0:
                    raise SystemExit(f"{number} agents: {done.stdout}{done.stderr}")
    return times


class Times:
    """(operation, bytes) -> name -> [(least, median) of each round], and what did not end well."""

    def __init__(self):
        self.rows, self.troubles = {}, {}

    def take(self, name, run):
        """Runs what prints rows of JSON."""
        rows, trouble = peers_over_hosts.rows_of(name, run)
        if trouble:
            self.troubles.setdefault(name, trouble)
        for row in rows:
            of_all = self.rows.setdefault((row.get("operation", "pingpong"), row["bytes"]), {})
            pair = (row["least"], row["median"]) if "least" in row else tuple(row["seconds"])
            of_all.setdefault(name, []).append(pair)


def measure(hosts, found, limits, shape, groups, bound, args):
    times = Times()
    arguments = (args.budget, int(bound), hosts.shared_folder, *groups)
    for _ in range(args.rounds):
        for name, run in found.items():
            times.take(name, functools.partial(run, hosts, shape, *arguments))
        for name, run in limits.items() if "messages" in groups else ():
            times.take(name, functools.partial(run, hosts, bound))
    return times


def set_network(hosts, network):
    for index in range(len(hosts)):
        if network == "rate":
            hosts.limit_rate(index, RATE)
        elif network == "loss":
            hosts.lose(index, LOST_PERCENT)


def cell(least, median, unit=1e3):
    return f"{least * unit:,.1f}, {median * unit:,.1f}"


def show_starts(starts):
    table = Table("ms: least, median", "2 hosts of 2 ranks", "of ours")
    ours = starts[OURS]
    for name, seconds in starts.items():
        ratio = f"{min(seconds) / min(ours):.2f}, {statistics.median(seconds) / statistics.median(ours):.2f}"
        table.add_row(name, cell(min(seconds), statistics.median(seconds)), ratio)
    return table


def show_agents(agents):
    table = Table("agents", *(f"{name}, ms: least, median" for name in agents[AGENTS[0]]))
    for number, kinds in agents.items():
        table.add_row(str(number), *(cell(min(kind), statistics.median(kind)) for kind in kinds.values()))
    return table


def of_rounds(rounds):
    """(least of all, median of the medians)."""
    return min(one for one, _ in rounds), statistics.median(median for _, median in rounds)


def ratio_to(ours, others, goal):
    """Of ours to the best of the others: by the least, by the median, and the goal."""
    if ours is None or not others:
        return ""
    ratios = [ours[which] / min(other[which] for other in others) for which in (0, 1)]
    return f"{ratios[0]:.2f}, {ratios[1]:.2f}" + (f" ({goal})" if goal else "")


def goals_of(operation, size):
    goals = GOALS.get(operation, (None, None))
    return goals.get(size, (None, None)) if isinstance(goals, dict) else goals


def show_times(title, times, names):
    table = Table(
        "us: least, median", "bytes", *names, "to best peer (goal)", "to sockets (goal)", title=title
    )
    for (operation, size), of_all in times.rows.items():
        found = {name: of_rounds(of_all[name]) for name in names if name in of_all}
        peers = [value for name, value in found.items() if name not in (OURS, SPINNING, BLOCKING)]
        limits = [found[SPINNING]] if SPINNING in found else []
        goals = goals_of(operation, size)
        cells = [cell(*found[name], 1e6) if name in found else "" for name in names]
        ratios = [ratio_to(found.get(OURS), *what) for what in zip((peers, limits), goals, strict=True)]
        table.add_row(operation, f"{size:,}", *cells, *ratios)
    return table


def measure_all(console, found, args, only, host_room):
    """Name of a table -> its rows."""
    results, limits = {}, sockets(args)
    for network in args.network or ["plain"]:
        with host_room.Hosts(3) as hosts:
            set_network(hosts, network)
            for shape, groups in SHAPES.items():
                groups = [group for group in groups if group in only]
                for ranks in (args.ranks or ("unbound", "bound")) if groups else ():
                    title = f"{shape[0]} hosts of {shape[1]}, {ranks}, network: {network}"
                    times = measure(hosts, found, limits, shape, groups, ranks == "bound", args)
                    names = [*found, *(limits if "messages" in groups else ())]
                    console.print(show_times(title, times, names))
                    for trouble in times.troubles.values():
                        console.print(trouble, markup=False, style="red")
                    results[title] = {
                        "troubles": times.troubles,
                        "rows": [
                            {"operation": operation, "bytes": size, "seconds": of_all}
                            for (operation, size), of_all in times.rows.items()
                        ],
                    }
    return results


def processor():
    with open("/proc/cpuinfo") as file:
        fields = [[part.strip() for part in line.split(":", 1)] for line in file if ":" in line]
    of_first = dict(reversed(fields))
    count = sum(name == "processor" for name, _ in fields)
    load = os.getloadavg()[0]
    return (
        f"{count} processors, {of_first.get('model name', 'unknown')}, family {of_first.get('cpu family')}, "
        f"model {of_first.get('model')}; load before: {load:.1f}"
    )


def main():
    parser = own_program.make_parser(__doc__)
    parser.add_argument("--peers", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds of a row in a round")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--ranks", choices=("unbound", "bound"), action="append", help="default: both")
    parser.add_argument("--network", choices=NETWORKS, action="append", help="default: plain")
    parser.add_argument("--peer", action="append", help="a name below --peers; default: all")
    parser.add_argument(
        "--ahead", action="store_true", help="ranks go before all else on this machine, which is busy"
    )
    args = parser.parse_args()
    if args.ahead and args.ranks != ["bound"]:
        parser.error("--ahead: ranks that go before all else and spin are to be bound: --ranks bound")
    args.peers = args.peers.resolve()
    host_room, launchers = peers_over_hosts.rooms(args.peers)
    args.out, args.prefix = args.out.resolve() / "hosts", args.prefix.resolve()
    ways = peers_over_hosts.ways(
        args.prefix, args.peers, "over_hosts.c", args.out, launchers, args.peer, args.ahead
    )
    found, only = {way.name: way.run for way in ways}, args.only or PARTS
    console, results = Console(width=190), {"processor": processor()}
    console.print(results["processor"])
    if "agents" in only:
        results["agents"] = agents = measure_agents(args, args.rounds)
        console.print(show_agents(agents))
    try:
        if "starts" in only:
            with host_room.Hosts(2) as hosts:
                ways_to_start = {**found, **with_newer_library(args, found[OURS])}
                results["starts"] = starts = measure_starts(hosts, ways_to_start, args.rounds)
            console.print(show_starts(starts))
        results["tables"] = measure_all(console, found, args, only, host_room)
    except host_room.CannotError as reason:
        console.print(f"without hosts: {reason}")
    (args.out / "over_hosts.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
