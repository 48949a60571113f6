"""make model-lines: t_L, B and M_1/2 of messages and of collectives, as the model has them and as measured.

A row is a place (two ranks that share a cache, or have only a socket or the machine in common; virtual nodes,
whose network is as it is set, or TCP over the loopback interface; hosts, which are network namespaces of this
machine, with half of its processors each: that needs root) and what goes on there: a message one way, or an
algorithm of a collective, forced, one call right after the other; of pipelines between nodes single calls,
since their prices count that they are filled. *Predicted* are the formulas of the library
(tools/price.cpp) with the parameters that a job there takes; over TCP the row of the network is measured just
before, as `tasuki tune --host` does. Both, predicted and measured times, are fitted in
the same way over the same sizes: t = t_L + factor·M/B (docs/model.md).
"""

import dataclasses
import json
import math
import os
import pathlib
import sys

import numpy
import own_program
from rich.console import Console
from rich.table import Table

ROOT = own_program.HERE.parent
sys.path.insert(0, str(ROOT / "python"))

from tasuki import environment  # noqa: E402
from tasuki.tuning import TuningError, measure, messages, network, placement, prices, programs, tables  # noqa: E402
from tasuki.tuning.cases import Case  # noqa: E402
from tasuki.tuning.samples import Samples  # noqa: E402
from tasuki.units import bytes_text, time_text  # noqa: E402

KIB = 1 << 10
SHORT = (8, 64, 512, 4096, 16384)  # messages that wait for no receive, at any distance
LONG = tuple(128 * KIB << shift for shift in range(6))
VECTORS = tuple(128 * KIB << shift for shift in range(5))
TURNS = 7
SECONDS_MAX = 300
TUNE_SECONDS = 6
# What virtual nodes imitate: ns, and 10^6 bytes a second of each node. Slow enough for two processors to
# keep up with.
LATENCY_NS, NODE_MB_PER_SECOND = 2000, 200
WITHIN_B, WITHIN_LATENCY = 0.05, 0.15
MORE = 10  # times as much: no percentage

BETWEEN_RANKS = (
    *("bcast chain/16384", "bcast binomial", "reduce chain/16384", "allreduce chain/16384"),
    *("allreduce ring", "allgather ring", "allgather multi_ring", "bcast grid_2/16384"),
    *("reduce grid_2/16384", "allreduce grid_2/16384"),
)
ON_NODE = (
    *("bcast single_copy", "bcast chain/16384", "allreduce single_copy", "allreduce ring"),
    *("allgather single_copy", "allgather ring"),
)
IN_LEVELS = (
    *("bcast hierarchical", "reduce hierarchical", "allreduce hierarchical", "allreduce lanes"),
    *("allgather hierarchical", "alltoall hierarchical"),
)


@dataclasses.dataclass(frozen=True)
class Line:
    latency_ns: float
    bytes_per_ns: float
    factor: float

    @property
    def half_bytes(self):
        return self.latency_ns * self.bytes_per_ns / self.factor


@dataclasses.dataclass
class Place:
    name: str
    ranks: int
    nodes: int
    processors: float  # of a node
    options: tuple  # mpiexec's
    values: dict  # parameters
    row: str  # that of messages
    collectives: tuple
    bound_to: set | None = None


def factor_of(operation, ranks):
    """What its throughput counts, by the bytes of a case."""
    return {"allreduce": 2, "allgather": ranks, "alltoall": ranks}.get(operation, 1)


def line_of(sizes, times, factor):
    latency, slope = network.line(sizes, times)
    return Line(latency, factor / max(slope, 1e-12), factor)


def message_ns(values, row, size):
    """As docs/tuning.md has it; the way between nodes may be slower than a rank."""

    def of(name):
        return values[f"messages.{row}.{name}"]

    far = row == "network"
    is_long = size > (of("long_bytes") if far else values["messages.long_bytes"])
    rate = of("bytes_per_ns" if is_long else "eager_bytes_per_ns")
    if far:
        rate = min(rate, of("node_bytes_per_ns"))
    return of("software_ns") + of("latency_ns") + (of("long_ns") if is_long else 0) + size / rate


def messages_at(place, args, program):
    """(what, sizes, predicted ns, measured ns)."""
    sizes = [*SHORT, *LONG]
    options = place.options if place.ranks == 2 else ()
    words = [args.prefix / "bin/mpiexec", *options, "-n", 2, program, *sizes]
    with measure.bound_to(place.bound_to):
        done = own_program.run(words, SECONDS_MAX, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    times = {row["bytes"]: 1e9 * row["seconds"][0] for row in rows}
    for what, own in (("message, short", SHORT), ("message, long", LONG)):
        yield what, own, [message_ns(place.values, place.row, size) for size in own], [times[n] for n in own]


def is_pipeline(series):
    return "/" in series or series == "multi_ring"


def single_calls(place, args, cases, series):
    """Seconds of calls of a pipeline, for each case of an operation: a price counts that it is filled, and
    calls that come one right after the other find it full."""
    algorithm, _, segment = series.partition("/")
    settings = {f"TASUKI_{cases[0].operation.upper()}_ALGORITHM": algorithm}
    if segment:
        settings["TASUKI_SEGMENT_BYTES"] = segment
    words = [
        args.prefix / "bin/mpiexec",
        *place.options,
        "-n",
        place.ranks,
        args.out / "collective_times",
        TURNS,
    ]
    words += [f"{case.operation}:{case.bytes}:1" for case in cases]
    done = own_program.run(words, SECONDS_MAX, settings, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    for case, line in zip(cases, lines, strict=True):
        yield case, {series: json.loads(line)["seconds"]}


def collectives_at(place, args, found):
    """The same of collectives."""
    asked = [name.split() for name in place.collectives]
    if not asked:
        return
    cases = {}
    for operation, series in asked:
        blocks = operation in ("allgather", "alltoall")
        cases[operation, series] = [
            Case(operation, size // place.ranks if blocks else size, place.ranks) for size in VECTORS
        ]
    points = [(*case, series) for (_, series), own in cases.items() for case in own]
    with prices.Prices(found.price, points, place.processors, place.nodes) as told:
        ns = dict(zip(points, told.ns(place.values), strict=True))
    samples = Samples()
    together = {}
    for (_, series), own in cases.items():
        if any(numpy.isnan(ns[(*case, series)]) for case in own):
            continue
        if is_pipeline(series) and place.nodes > 1:
            for case, visit in single_calls(place, args, own, series):
                samples.add(case, visit)
        else:
            for case in own:
                together.setdefault(case, []).append(series)
    questions = [measure.Question(case, TURNS, [series]) for case, own in together.items() for series in own]
    measure.ask(found, questions, samples.add, options=lambda ranks: list(place.options))
    times = {case: samples.least(case) for case in samples.cases()}
    for (operation, series), own in cases.items():
        if any(series not in times.get(case, {}) for case in own):
            continue
        measured = [1e9 * times[case][series] for case in own]
        predicted = [ns[(*case, series)] for case in own]
        yield f"{operation} {series}", [case.bytes for case in own], predicted, measured


def places_on_machine(found, table):
    values = (tables.load(table, found.price) if table else tables.builtin(found.price)).values
    processors = messages.known_processors()
    for distance, pair in messages.pairs_of(processors).items():
        yield Place(distance, 2, 1, 2, (), values, distance, ON_NODE, set(pair))


def places_of_virtual_nodes(found, processors):
    words = (str(LATENCY_NS), "0", str(NODE_MB_PER_SECOND))
    rows = (line.split() for line in tables.listed(found.price, "parameters", *words))
    values = {path: float(value) for path, value, *_ in rows}
    link = ("--network-latency", f"{LATENCY_NS}ns", "--network-bandwidth", "unlimited")
    link += ("--network-node-bandwidth", f"{NODE_MB_PER_SECOND}MB/s")
    for nodes, each in ((2, 1), (4, 1), (8, 1), (2, 2), (2, 4), (4, 2)):
        what = BETWEEN_RANKS if each == 1 else IN_LEVELS
        what = what if nodes * each > 2 else ()  # of two: a message alone
        name = f"{nodes} virtual nodes x {each}"
        options = ("--nodes", str(nodes), *link)
        yield Place(name, nodes * each, nodes, processors / nodes, options, values, "network", what)


def measured_network(found, place, ranks):
    """The parameters of a job there."""
    rows = network.measured(found, place, ranks, TUNE_SECONDS)
    return {**tables.builtin(found.price, "tcp").values, **network.fitted(rows)}


def places_of_loopback(found, processors):
    """Virtual nodes that send over libfabric, by a row that is measured first."""
    values = measured_network(found, placement.Placement(2), 2)
    for nodes, each in ((2, 1), (4, 1), (2, 2), (2, 4)):
        what = IN_LEVELS if each > 1 else BETWEEN_RANKS
        name = f"{nodes} nodes x {each}, loopback"
        options = tuple(placement.Placement(nodes).options(nodes * each))
        yield Place(name, nodes * each, nodes, processors / nodes, options, values, "network", what)


def places_of_hosts(found, processors, names):
    """On these hosts, likewise."""
    both = ",".join(f"{name}:{processors}" for name in names)
    values = measured_network(found, placement.of(None, both, ""), processors * len(names))
    for each in (1, 2, 4):
        hosts = ",".join(f"{name}:{each}" for name in names)
        what = IN_LEVELS if each > 1 else BETWEEN_RANKS
        options = ("--host", hosts, "--ppn", str(each))
        yield Place(f"2 hosts x {each}", 2 * each, 2, processors, options, values, "network", what)


def rows_of(places, args, found, program):
    for place in places:
        kinds = [collectives_at(place, args, found)]
        if place.ranks == 2:
            kinds.insert(0, messages_at(place, args, program))
        for kind in kinds:
            for what, sizes, predicted, measured in kind:
                factor = factor_of(what.split()[0], place.ranks)
                yield {
                    "place": place.name,
                    "what": what,
                    "sizes": list(sizes),
                    "predicted_ns": [float(ns) for ns in predicted],
                    "measured_ns": measured,
                    "predicted": dataclasses.asdict(line_of(sizes, predicted, factor)),
                    "measured": dataclasses.asdict(line_of(sizes, measured, factor)),
                }


def difference(predicted, measured, goal):
    off = predicted / measured - 1 if measured > 0 else math.inf
    if off > MORE:
        return "[yellow]above[/]"
    return f"[{'green' if abs(off) <= goal else 'yellow'}]{100 * off:+.0f} %[/]"


def table_of(rows):
    table = Table(title="predicted, measured, off by", title_justify="left")
    for column in ("place", "what", "B, MB/s", "", "", "t_L", "", "", "M_1/2", ""):
        table.add_column(column, justify="left" if column in ("place", "what") else "right")
    before = None
    for row in rows:
        told, seen = Line(**row["predicted"]), Line(**row["measured"])
        cells = (f"{told.bytes_per_ns * 1e3:,.0f}", f"{seen.bytes_per_ns * 1e3:,.0f}")
        cells += (difference(told.bytes_per_ns, seen.bytes_per_ns, WITHIN_B),)
        cells += tuple(time_text(1e-9 * line.latency_ns) for line in (told, seen))
        cells += (difference(told.latency_ns, seen.latency_ns, WITHIN_LATENCY),)
        cells += tuple(bytes_text(round(line.half_bytes)) for line in (told, seen))
        table.add_row(row["place"] if row["place"] != before else "", row["what"], *cells)
        before = row["place"]
    return table


def processors_of_hosts():
    """Of two: as many each, so that a host knows what it has."""
    numbers = sorted(os.sched_getaffinity(0))
    half = max(len(numbers) // 2, 1)
    return [",".join(map(str, own)) for own in (numbers[:half], numbers[half:] or numbers)]


def on_hosts(args):
    """This program, on the first of two hosts that are made for it; its rows."""
    sys.path[:0] = [str(ROOT / "tests" / name) for name in ("hosts", "ranks")]
    import hosts as host_room

    with host_room.Hosts(2) as hosts:
        names = ",".join(host.name for host in hosts.hosts)
        for host, own in zip(hosts.hosts, processors_of_hosts(), strict=True):
            every = f"for p in /proc/[0-9]*; do taskset -pc {own} ${{p#/proc/}}; done"
            host.run(["sh", "-c", every])
        words = ["taskset", "-c", processors_of_hosts()[0], sys.executable, pathlib.Path(__file__)]
        words += ["--prefix", args.prefix.resolve()]
        words += ["--out", args.out.resolve(), "--host", names]
        done = hosts[0].run(words, timeout=SECONDS_MAX, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"over hosts: {done.text}")
    return json.loads((args.out / "model_lines_of_hosts.json").read_text())


def main():
    parser = own_program.make_parser(__doc__)
    parser.add_argument("--places", nargs="+", choices=PLACES, default=PLACES)
    parser.add_argument(
        "--table",
        type=pathlib.Path,
        help="of `tasuki tune`: this machine's parameters; else the built-in ones",
    )
    parser.add_argument("--host", default="", help="measure on these two hosts alone: A,B")
    args, console = parser.parse_args(), Console(width=150, highlight=False)
    args.out.mkdir(parents=True, exist_ok=True)
    found, processors = programs.find(args.prefix), environment.processors()
    program = own_program.build("network", args.prefix, args.out)
    own_program.build("collective_times", args.prefix, args.out)
    if busy := environment.busy_text(os.getloadavg()[0]):
        console.print(busy, style="yellow")
    if args.host:
        places = places_of_hosts(found, processors, args.host.split(","))
        rows = list(rows_of(places, args, found, program))
        (args.out / "model_lines_of_hosts.json").write_text(json.dumps(rows))
        return
    rows = []
    if "machine" in args.places:
        rows += rows_of(places_on_machine(found, args.table), args, found, program)
    if "nodes" in args.places:
        rows += rows_of(places_of_virtual_nodes(found, processors), args, found, program)
    if "loopback" in args.places:
        rows += rows_of(places_of_loopback(found, processors), args, found, program)
    if "hosts" in args.places:
        rows += on_hosts(args)
    (args.out / "model_lines.json").write_text(json.dumps(rows, indent=1))
    console.print(table_of(rows), f"{tables.processor_name()}, {processors} processors")


PLACES = ("machine", "nodes", "loopback", "hosts")

if __name__ == "__main__":
    try:
        main()
    except TuningError as error:
        sys.exit(f"model_lines: {error}")
