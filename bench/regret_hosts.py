"""make regret-hosts: how good choices over hosts are, before and after `tasuki tune --host`.

Makes two hosts, network namespaces of this machine that share its processors (that needs root); has
`tasuki tune` make a table there for all numbers of ranks, 1, 2 and 4 on each host if nothing else is said;
then measures, for one after the other, what is chosen against what is best, by the table and by the built-in
parameters (tasuki.tuning.regret). The table is OUT/hosts.json.
"""

import pathlib
import sys

import own_program

ROOT = own_program.HERE.parent
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("hosts", "ranks")]
import hosts as host_room  # noqa: E402

COUNT = 2
SIZES = (8, 4 << 10, 32 << 10, 256 << 10)
TURNS = 5
SECONDS_MAX = 900


def run(host, *words):
    done = host.run(
        [sys.executable, "-m", *words], SECONDS_MAX, {"PYTHONPATH": str(ROOT / "python")}, cwd=ROOT
    )
    if done.returncode != 0:
        raise SystemExit(f"regret_hosts: {' '.join(map(str, words))}\n{done.text}")
    return done.stdout


def main():
    parser = own_program.make_parser(__doc__)
    parser.add_argument("--each", type=int, nargs="+", default=[1, 2, 4], help="ranks on a host")
    parser.add_argument("--budget", default="4m", help="of tasuki tune")
    parser.add_argument("--table", type=pathlib.Path, help="look at this one: nothing is tuned")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    table = (args.table or args.out / "hosts.json").resolve()
    prefix, out = args.prefix.resolve(), args.out.resolve()
    try:
        hosts = host_room.Hosts(COUNT)
    except host_room.CannotError as reason:
        sys.exit(f"regret_hosts: without hosts: {reason}")
    with hosts:
        places = {each: ",".join(f"{host.name}:{each}" for host in hosts.hosts) for each in args.each}
        if args.table is None:
            ranks = ",".join(str(COUNT * each) for each in args.each)
            words = ("--host", places[max(args.each)], "-n", ranks, "--budget", args.budget, "-o", table)
            print(run(hosts[0], "tasuki.cli", "tune", "--prefix", prefix, *words), flush=True)
        for each, place in places.items():
            words = ("--prefix", prefix, "--out", out / f"regret_{COUNT}x{each}", "--table", table)
            words += ("--host", place, "--ranks", COUNT * each, "--sizes", *SIZES)
            words += ("--rounds", 1, "--turns", TURNS, "--again", 2 * TURNS)
            print(run(hosts[0], "tasuki.tuning.regret", *words), flush=True)


if __name__ == "__main__":
    main()
