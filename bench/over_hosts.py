"""make bench-hosts: jobs over hosts, next to MPICH (Hydra) and Open MPI (mpirun), both over TCP, in turns.

Hosts are network namespaces of this machine, as in tests/hosts (so this needs root); all start ranks by ssh.
Three tables: what it takes to start a job of MPI_Init and MPI_Finalize on 2 hosts of 2 ranks; how our start
grows with agents, by a launcher that runs them on this machine; and bench/over_hosts.c, messages and
collectives among those 2 x 2 ranks. A cell is the least of all rounds, and behind it the median of the
rounds' medians. The 4 ranks share this machine's processors, which no host knows: each takes them for its
own.
"""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

import own_program
from rich.console import Console
from rich.table import Table

TESTS = own_program.HERE.parent / "tests"
sys.path[:0] = [str(TESTS / "hosts"), str(TESTS / "ranks")]

ROUNDS = 7
AGENTS = (1, 4, 16, 64)
SECONDS_MAX = 120
BUDGET_SECONDS = 0.05  # a case and round
VARIABLES = {
    "mpich": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"},
    "openmpi": {"OMPI_MCA_btl": "tcp,self,sm", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "eth0"},
}
FAKE_LAUNCHER = '#!/bin/sh\nshift\nexec sh -c "$*"\n'


def compile_by(prefix, folder):
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "over_hosts"
    words = [prefix / "bin/mpicc", "-O2", own_program.HERE / "over_hosts.c", "-o", program]
    subprocess.run(words, check=True)
    return program


def ways(args, launchers):
    """Name -> what runs the program with one argument on some hosts."""
    ours = compile_by(args.prefix, args.out)

    def run_ours(hosts, argument):
        mpiexec = args.prefix / "bin/mpiexec"
        return hosts[0].run(
            [mpiexec, "--host", "node1:2,node2:2", "-n", 4, ours, argument], timeout=SECONDS_MAX
        )

    found = {"Tasuki": run_ours}
    for name, launcher, peer in (
        ("MPICH, Hydra", "hydra", "mpich"),
        ("Open MPI, mpirun", "mpirun", "openmpi"),
    ):
        prefix = args.peers / peer
        if not (prefix / "bin/mpicc").exists():
            print(f"{name}: not there ({prefix}; make peers)")
            continue
        program = compile_by(prefix, args.out / peer)

        def run_theirs(hosts, argument, launcher=launcher, program=program, variables=VARIABLES[peer]):
            words = [program, argument]
            return launchers.launch(hosts, launcher, words, environment=variables, timeout=SECONDS_MAX)

        found[name] = run_theirs
    return found


def checked(name, done):
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.text}")
    return done


def measure_starts(hosts, found, rounds):
    """Name -> seconds of each round."""
    seconds = {name: [] for name in found}
    for _ in range(rounds):
        for name, run in found.items():
            seconds[name].append(checked(name, run(hosts, 0)).seconds)
    return seconds


def measure_agents(args, rounds):
    """Number of agents -> seconds of each round, for a program that is no MPI program and one that is."""
    launcher = args.out / "fake-launcher"
    launcher.write_text(FAKE_LAUNCHER)
    launcher.chmod(0o755)
    times = {number: {"true": [], "MPI": []} for number in AGENTS}
    for _ in range(rounds):
        for number in AGENTS:
            hosts = ",".join(f"host{index}.invalid" for index in range(number))
            begin = [
                args.prefix / "bin/mpiexec",
                "--launcher-command",
                launcher,
                "--host",
                hosts,
                "-n",
                number,
            ]
            for kind, program in (("true", ["true"]), ("MPI", [args.out / "over_hosts", 0])):
                start = time.monotonic()
                done = own_program.run([*begin, *program], SECONDS_MAX, capture_output=True, text=True)
                times[number][kind].append(time.monotonic() - start)
                if done.returncode != 0:
                    raise SystemExit(f"{number} agents: {done.stdout}{done.stderr}")
    return times


def measure_messages(hosts, found, rounds, budget):
    """(operation, bytes) -> name -> [(least, median) of each round]."""
    times = {}
    for _ in range(rounds):
        for name, run in found.items():
            lines = checked(name, run(hosts, budget)).stdout.splitlines()
            for row in (json.loads(line) for line in lines if line.startswith("{")):
                of_all = times.setdefault((row["operation"], row["bytes"]), {})
                of_all.setdefault(name, []).append((row["least"], row["median"]))
    return times


def cell(least, median, unit=1e3):
    return f"{least * unit:,.1f}, {median * unit:,.1f}"


def show_starts(starts):
    table = Table("ms: least, median", "2 hosts of 2 ranks", "of ours")
    ours = starts["Tasuki"]
    for name, seconds in starts.items():
        ratio = f"{min(seconds) / min(ours):.2f}, {statistics.median(seconds) / statistics.median(ours):.2f}"
        table.add_row(name, cell(min(seconds), statistics.median(seconds)), ratio)
    return table


def show_agents(agents):
    table = Table("agents", "true, ms: least, median", "an MPI program")
    for number, kinds in agents.items():
        table.add_row(str(number), *(cell(min(kind), statistics.median(kind)) for kind in kinds.values()))
    return table


def show_messages(times, names):
    table = Table("us: least, median", "bytes", *names, "least to the best peer's")
    for (operation, size), of_all in times.items():
        cells, least = [], {}
        for name in names:
            rounds = of_all[name]
            least[name] = min(one for one, _ in rounds)
            cells.append(cell(least[name], statistics.median(median for _, median in rounds), 1e6))
        peers = [least[name] for name in names if name != "Tasuki"]
        ratio = f"{least['Tasuki'] / min(peers):.2f}" if peers else ""
        table.add_row(operation, f"{size:,}", *cells, ratio)
    return table


def processor():
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} processors, {names[0] if names else 'unknown'}, {socket.gethostname()}"


def main():
    parser = own_program.make_parser(__doc__)
    parser.add_argument("--peers", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS)
    parser.add_argument("--only", choices=("starts", "agents", "messages"), action="append")
    args = parser.parse_args()
    os.environ["TASUKI_PEERS"] = str(args.peers.resolve())
    import hosts as host_room
    import launchers

    args.out, args.prefix = args.out.resolve() / "hosts", args.prefix.resolve()
    found, only = ways(args, launchers), args.only or ("starts", "agents", "messages")
    console, results = Console(width=120), {"processor": processor()}
    console.print(results["processor"])
    if "agents" in only:
        results["agents"] = agents = measure_agents(args, args.rounds)
        console.print(show_agents(agents))
    try:
        with host_room.Hosts(2) as hosts:
            if "starts" in only:
                results["starts"] = starts = measure_starts(hosts, found, args.rounds)
                console.print(show_starts(starts))
            if "messages" in only:
                times = measure_messages(hosts, found, args.rounds, args.budget)
                console.print(show_messages(times, list(found)))
                results["messages"] = [
                    {"operation": operation, "bytes": size, "seconds": of_all}
                    for (operation, size), of_all in times.items()
                ]
    except host_room.CannotError as reason:
        console.print(f"without hosts: {reason}")
    (args.out / "over_hosts.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
