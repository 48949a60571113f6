"""make fabric: what a message over libfabric takes, next to bare TCP and to other MPI libraries over TCP.

bench/network.cpp between two ranks on two virtual nodes of this machine (mpiexec --network fabric), the same
program of the peers made to use TCP, and bench/tcp_pair.cpp, two processes with a socket. All of them run in
turn, ROUNDS times; ours also with long messages in packets alone, and with copies of each kind. A cell is the
least time of all, and behind it the median of the rounds' medians; below are the ratios to TCP's.
"""

import json
import os
import statistics
import subprocess

import own_program
from rich.console import Console
from rich.table import Table

SIZES = (8, 64 << 10, 128 << 10, 256 << 10, 1 << 20, 4 << 20)
# How our messages go: variables.
COPIES = {"TASUKI_NET_COPY_BYTES_MIN": "16k"}
WAYS = {
    "": {},
    ", packets": {"TASUKI_NET_COPY_BYTES_MIN": "1024G"},
    ", advertised": COPIES,
    ", got": {**COPIES, "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0"},
    ", put": {**COPIES, "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0", "TASUKI_PROTOCOL_GET": "0"},
}
ROUNDS = 7
SECONDS_MAX = 60
OPEN_MPI = ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1")
# Directory of the peer, its launcher's words, its variables.
PEERS = {
    "MPICH, tcp": (
        "mpich",
        ("mpiexec",),
        {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"},
    ),
    "Open MPI, tcp": (
        "openmpi",
        ("mpirun", *OPEN_MPI, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"),
        {},
    ),
}


def ways(args):
    """Name -> the words and the variables of one run."""
    program = own_program.build("network", args.prefix, args.out)
    tcp = args.out / "tcp_pair"
    source = own_program.HERE / "tcp_pair.cpp"
    subprocess.run(["c++", "-O2", "-std=c++20", source, "-o", tcp], check=True)
    words = (args.prefix / "bin/mpiexec", "-n", 2, "--nodes", 2, "--network", "fabric", program)
    found = {"TCP, spinning": ((tcp,), {})} | {
        f"Tasuki{way}": (words, variables) for way, variables in WAYS.items()
    }
    for name, (folder, launcher, variables) in PEERS.items():
        prefix = args.peers / folder
        if not (prefix / "bin" / launcher[0]).exists():
            print(f"{name}: not there ({prefix}; make peers)")
            continue
        theirs = own_program.build("network", prefix, args.out / folder)
        variables = variables | {"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
        found[name] = ((prefix / "bin" / launcher[0], *launcher[1:], "-n", 2, theirs), variables)
    return found


def measure(name, words, variables):
    """Size -> (least, median) of one run."""
    done = own_program.run((*words, *SIZES), SECONDS_MAX, variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["bytes"]: row["seconds"] for row in rows}


def main():
    parser = own_program.make_parser(__doc__)
    parser.add_argument("--peers", type=own_program.pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    found = ways(args)
    runs = {name: [] for name in found}
    for _ in range(args.rounds):
        for name, (words, variables) in found.items():
            runs[name].append(measure(name, words, variables))
    times = {
        name: {
            size: (min(run[size][0] for run in rounds), statistics.median(run[size][1] for run in rounds))
            for size in SIZES
        }
        for name, rounds in runs.items()
    }
    table = Table("us one way: least, median", *(f"{size:,} B" for size in SIZES))
    limit = times["TCP, spinning"]
    for name, row in times.items():
        table.add_row(name, *(f"{row[size][0] * 1e6:.2f}, {row[size][1] * 1e6:.2f}" for size in SIZES))
        table.add_row(
            "",
            *(f"{row[size][0] / limit[size][0]:.2f}, {row[size][1] / limit[size][1]:.2f}" for size in SIZES),
        )
    Console(width=140).print(table)
    (args.out / "fabric.json").write_text(json.dumps({"rounds": runs}, indent=1))


if __name__ == "__main__":
    main()
