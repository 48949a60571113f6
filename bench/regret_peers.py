"""How good the choices of other MPI libraries are, next to ours (`make regret`, where the peers are there).

A peer's regret in a case (an operation, a size, a number of ranks) is the time of what it takes by itself
over that of the best of its own algorithms, forced one after the other by its own settings: MPICH's
MPIR_CVAR_*_INTRA_ALGORITHM (without its collectives for shared memory, which its own choice may be), Open
MPI's coll_tuned_*_algorithm, Intel MPI's I_MPI_ADJUST_*. Each setting is a job of its own
(bench/collective_times.cpp), between two that are left to the library; a time is the lower quartile of all
batches of all rounds. What a setting does where its algorithm is not possible is up to the peer: it then
counts as one more run of whatever it takes instead.

Ours are the same cases with TASUKI_*_ALGORITHM. The least of many runs is a matter of luck: `noise` is what
the library's own choice has against the luckiest of as many jobs as it has settings.

`--hosts 2x1 2x2` does the same over hosts of so many ranks each, network namespaces of this machine as those
of bench/over_hosts.py, instead of on this machine alone; `--table` gives ours a tuning table for them.
"""

import argparse
import collections
import dataclasses
import functools
import math
import pathlib
import statistics
import sys
from collections.abc import Callable

import peers
import peers_over_hosts
from rich.table import Table

sys.path.insert(0, str(peers.HERE.parent / "python"))

from tasuki.tuning import prices, programs  # noqa: E402
from tasuki.tuning.samples import lower_quartile  # noqa: E402
from tasuki.units import bytes_text, time_text  # noqa: E402

OPERATIONS = ("bcast", "reduce", "allreduce", "allgather", "alltoall")
SIZES = (8, 4 << 10, 256 << 10)
RANKS = (2, 4)
SECONDS_MAX = 5  # of a job: an algorithm that takes longer is none to choose
SECONDS_MAX_OVER_HOSTS = 20  # its ranks are started by ssh
OF_MPICH = {
    "bcast": "binomial nb smp scatter_recursive_doubling_allgather scatter_ring_allgather pipelined_tree "
    "tree",
    "reduce": "binomial nb smp reduce_scatter_gather",
    "allreduce": "nb smp recursive_doubling recursive_multiplying reduce_scatter_allgather tree recexch ring "
    "k_reduce_scatter_allgather",
    "allgather": "brucks k_brucks nb recursive_doubling ring recexch_doubling recexch_halving",
    "alltoall": "brucks k_brucks nb pairwise scattered",
}
# How many each has: `ompi_info --param coll tuned --level 9`, `impi_info -v I_MPI_ADJUST_BCAST`.
OF_OPEN_MPI = {"bcast": 9, "reduce": 7, "allreduce": 6, "allgather": 7, "alltoall": 5}
OF_INTEL_MPI = {"bcast": 22, "reduce": 19, "allreduce": 32, "allgather": 6, "alltoall": 18}


def settings_of(name, price):
    """Operation -> the variables of the environment for each of its algorithms. `name`: of `make peers`."""
    found = collections.defaultdict(list)
    for operation in OPERATIONS:
        upper = operation.upper()
        if name == "mpich":
            for algorithm in OF_MPICH[operation].split():
                own = {f"MPIR_CVAR_{upper}_INTRA_ALGORITHM": algorithm}
                found[operation].append({**own, f"MPIR_CVAR_{upper}_DEVICE_COLLECTIVE": "0"})
        elif name == "openmpi":
            for number in range(1, OF_OPEN_MPI[operation] + 1):
                own = {f"OMPI_MCA_coll_tuned_{operation}_algorithm": str(number)}
                found[operation].append({**own, "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"})
        elif name == "impi":
            found[operation] = [
                {f"I_MPI_ADJUST_{upper}": str(number)} for number in range(1, OF_INTEL_MPI[operation] + 1)
            ]
        else:
            names = [algorithm for algorithm, _ in prices.algorithms(price)[operation]]
            found[operation] = [{f"TASUKI_{upper}_ALGORITHM": algorithm} for algorithm in names]
    return found


def jobs_of(settings):
    """Label -> (variables, the operations that they concern): the n-th algorithm of all operations at once,
    and before each such job one without any."""
    for number in range(max(map(len, settings.values()))):
        concerned = [operation for operation, own in settings.items() if number < len(own)]
        yield None, {}, concerned
        variables = {}
        for operation in concerned:
            variables |= settings[operation][number]
        yield number, variables, concerned


@dataclasses.dataclass
class Subject:
    """A library among so many ranks somewhere."""

    name: str
    place: str  # "4 ranks", "2 hosts x 2"
    ranks: int
    kind: str  # whose settings it has
    rows_of: Callable  # (words of collective_times, variables) -> rows, and what went wrong or None


def on_this_machine(args, present):
    """Every library that is there, among each number of ranks."""
    found = []
    for one in present:
        if args.only and one.name not in args.only:
            continue
        program = peers.compile_with(one, "collective_times", args.out)
        for ranks in args.ranks:

            def rows_of(words, variables, one=one, program=program, ranks=ranks):
                way = peers.with_variables(one, ranks, variables)
                return peers.rows_of(way, "collective_times", [*program, *words], ranks, SECONDS_MAX)

            found.append(Subject(one.name, f"{ranks} ranks", ranks, one.name, rows_of))
    return found


def over_hosts(args, hosts, launchers):
    """The same over hosts, by each way of a library to send between them."""
    found, table = [], {}
    if args.table:
        table = {"TASUKI_TUNING_FILE": str(args.table.resolve()), "TASUKI_TUNING_FOREIGN": "allow"}
    out = args.out.resolve() / "hosts"
    folders = (args.prefix.resolve(), args.peers.resolve())
    for way in peers_over_hosts.ways(*folders, "collective_times.cpp", out, launchers):
        kind = way.folder or "tasuki"
        if args.only and kind not in args.only:
            continue
        own = {} if way.folder else table
        for shape in args.hosts:

            def rows_of(words, variables, way=way, shape=shape, own=own):
                environment = {**own, **variables}
                run = functools.partial(way.run, hosts, shape, *words, variables=environment)
                return peers_over_hosts.rows_of(way.name, run, SECONDS_MAX_OVER_HOSTS)

            count, each = shape
            found.append(Subject(way.name, f"{count} hosts x {each}", count * each, kind, rows_of))
    return found


def measure(subject, args, price, console):
    """Case -> label -> seconds of batches; the label None is the library's own choice, by job."""
    settings, found = settings_of(subject.kind, price), collections.defaultdict(dict)
    for job, (label, variables, concerned) in enumerate([*jobs_of(settings)] * args.rounds):
        words = [f"{operation}:{size}" for operation in concerned for size in args.sizes]
        rows, trouble = subject.rows_of([args.turns, *words], variables)
        if trouble is not None and label is None:
            console.print(trouble, style="red", markup=False)
        for row in rows:
            own = found[row["operation"], row["bytes"]]
            key = (None, job) if label is None else (label, 0)
            own.setdefault(key, []).extend(row["seconds"])
    return found


def regret_of(own):
    """(regret, noise): of the choice against the best of all, and of its luckiest job against all of its."""
    default = [seconds for (label, _), batches in own.items() if label is None for seconds in batches]
    forced = [lower_quartile(batches) for (label, _), batches in own.items() if label is not None]
    if not default or not forced:
        return None
    mine = lower_quartile(default)
    luckiest = min(lower_quartile(batches) for (label, _), batches in own.items() if label is None)
    return mine / min(mine, *forced), mine / luckiest


def show(console, regrets, times):
    table = Table(title="regret of each library: its choice over its best", title_justify="left")
    for column in ("library", "place", "cases", "median", "above 1.2", "worst", "where", "noise"):
        table.add_column(column, justify="left" if column in ("library", "place", "where") else "right")
    for (name, place), own in regrets.items():
        values = [value for value, _ in own.values()]
        worst = max(own, key=lambda case: own[case][0])
        where = f"{worst[0]} {bytes_text(worst[1])}, {time_text(times[name, place, worst])}"
        cells = [f"{statistics.median(values):.2f}", str(sum(value > 1.2 for value in values))]
        noise = math.exp(statistics.fmean(math.log(noise) for _, noise in own.values()))
        cells += [f"{max(values):.2f}", where, f"{noise:.2f}"]
        table.add_row(name, place, str(len(own)), *cells)
    console.print(table)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.set_defaults(rounds=1)
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--turns", type=int, default=3, help="batches of a job")
    parser.add_argument("--only", nargs="+", help="names of libraries")
    parser.add_argument(
        "--hosts", type=shape_of, nargs="+", metavar="HOSTSxRANKS", help="instead of this machine, on hosts"
    )
    parser.add_argument("--table", type=pathlib.Path, help="over hosts: ours by this tuning table")
    return parser.parse_args()


def shape_of(word):
    """(hosts, ranks on each) of 2x4."""
    count, _, each = word.partition("x")
    if not (count.isdecimal() and each.isdecimal() and int(count) > 1 and int(each) > 0):
        raise argparse.ArgumentTypeError(f"{word}: expected hosts and ranks of each, such as 2x4")
    return int(count), int(each)


def compare(subjects, args, price, console):
    """Shows how good the choice of each is; the rows of a file."""
    regrets, times, rows = {}, {}, []
    for subject in subjects:
        found = measure(subject, args, price, console)
        own = {case: regret_of(batches) for case, batches in found.items()}
        own = {case: value for case, value in own.items() if value is not None}
        if not own:
            continue
        regrets[subject.name, subject.place] = own
        for case, (regret, noise) in own.items():
            default = [s for (label, _), b in found[case].items() if label is None for s in b]
            times[subject.name, subject.place, case] = lower_quartile(default)
            what = {"library": subject.name, "place": subject.place, "ranks": subject.ranks}
            what |= {"operation": case[0], "bytes": case[1], "regret": regret, "noise": noise}
            rows.append(what)
    show(console, regrets, times)
    return rows


def main():
    args, console = parse_arguments(), peers.make_console()
    args.out.mkdir(parents=True, exist_ok=True)
    price = programs.find(args.prefix).price
    present, absent = peers.implementations(args)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    if args.hosts:
        host_room, launchers = peers_over_hosts.rooms(args.peers.resolve())
        try:
            with host_room.Hosts(max(count for count, _ in args.hosts)) as hosts:
                rows = compare(over_hosts(args, hosts, launchers), args, price, console)
        except host_room.CannotError as reason:
            sys.exit(f"regret_peers: without hosts: {reason}")
    else:
        rows = compare(on_this_machine(args, present), args, price, console)
    peers.tell_gaps(args, absent, [], console)
    name = "regret_peers_hosts.json" if args.hosts else "regret_peers.json"
    peers.finish(args, name, machine, {"rows": rows}, console)


if __name__ == "__main__":
    main()
