"""tasuki bench."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import signal
import sys
import time

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tasuki import suite
from tasuki.commands import Refusal, options
from tasuki.implementation import Implementation, ImplementationError, find
from tasuki.results import ResultsError, Run, load
from tasuki.tuning import TuningError, placement
from tasuki.tuning.placement import NETWORKS

RANKS_MAX = 4096
UNSTABLE = 0.2  # a median's interval wider than this part of it is told
# Fields that must be the same in a file that --resume goes on with.
SAME = {
    "implementation": ("name", "kind", "version", "mpiexec", "tuning", "placement"),
    "settings": ("budget_seconds", "width", "quick", "cold", "thread_multiple", "threads"),
    "environment": ("host", "cpu", "processors", "variables"),
}
ABSENT = {
    "placement": str(placement.Placement()),
    "thread_multiple": False,
    "threads": 0,
}  # what files of former releases do not say


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    quick: options.Quick = False,
    ranks: options.Ranks = None,
    mpi: options.Mpi = "",
    only: options.Only = None,
    list_: options.List = False,
    out: options.Out = None,
    csv: options.Csv = None,
    resume: options.Resume = False,
    table: options.Table = None,
    budget: options.Budget = None,
    width: options.Width = suite.WIDTH,
    cold: options.Cold = False,
    thread_multiple: options.ThreadMultiple = False,
    threads: options.Threads = 0,
    folder: options.Folder = None,
    limit: options.Limit = None,
    work: options.Work = None,
    nodes: options.Nodes = None,
    host: options.Host = "",
    network: options.Network = NETWORKS[0],
) -> None:
    """Measures an MPI library with the benchmark suite.

    The suite (point-to-point, collectives, concurrent exchanges, RMA, MPI-IO, start-up, and the machine's own
    limits) is compiled by the MPI's own mpicxx and run by its mpiexec. A case is repeated until its median is
    known well or its budget is spent. A case that dies or hangs is told by name, and the rest goes on; Ctrl-C
    keeps what is there, and --resume goes on from it.

    Examples:

        tasuki bench --quick -n 2 -o run.json                  ours, at most 3 minutes

        tasuki bench --quick --mpi /opt/mpich -o mpich.json    another MPI, by the same programs

        tasuki bench -n 2,4,8 --only collectives -o run.json   one group, three numbers of ranks

        tasuki bench --list --only rma                         what there is to measure

        tasuki bench --quick -n 4 --host a:2,b:2 -o run.json   two ranks on each of two hosts

    Then: `tasuki fit run.json`, `tasuki report run.json mpich.json -o report.html`,
    `tasuki compare mpich.json run.json`. docs/results.md describes the file, docs/mbl.md the suite.
    """
    if out is None and not list_ and csv is None:
        raise Refusal("bench: nothing would be kept: expected -o FILE (or --csv FILE, or --list)")
    try:
        settings = suite.Settings(
            ranks=ranks_of(ranks or ["2"]),
            quick=quick,
            budget_seconds=positive("--budget", budget),
            width=positive("--width", width),
            cold=cold,
            thread_multiple=thread_multiple,
            threads=threads,
            only=only or [],
            case_limit_seconds=positive("--limit", limit),
            folder=folder_of(folder),
        )
        implementation = find(mpi)
        implementation = implementation.with_table(table) if table else implementation
        implementation = implementation.placed(placed(nodes, host, network, settings.ranks))
        if list_:
            return print_list(implementation, settings, work)
        for path in filter(None, (out, csv)):
            must_be_writable(path)
        run = resumed(out, implementation, settings) if resume else None
        measure(implementation, settings, run, out, csv, work)
    except (ImplementationError, ResultsError) as error:
        raise Refusal(f"bench: {error}") from None


def ranks_of(texts: list[str]) -> list[int]:
    """2, 4 and 8 of "-n 2 -n 4,8"."""
    found = []
    for text in texts:
        for word in text.split(","):
            if not word.strip().isdecimal() or not 1 <= int(word) <= RANKS_MAX:
                raise Refusal(f"bench: -n {text}: {word!r}, expected numbers of ranks from 1 to {RANKS_MAX}")
            found.append(int(word))
    return list(dict.fromkeys(found))


def placed(nodes: int | None, host: str, network: str, ranks: list[int]) -> placement.Placement:
    if network not in NETWORKS:
        raise Refusal(f"bench: --network {network}: expected {' or '.join(NETWORKS)}")
    try:
        found = placement.of(nodes, host, network)
    except TuningError as error:
        raise Refusal(f"bench: {error}") from None
    if min(ranks) < found.nodes:
        raise Refusal(f"bench: -n {min(ranks)}: expected a rank or more on each of the {found.nodes} nodes")
    return found


def positive(option: str, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise Refusal(f"bench: {option} {value:g}: expected a number above 0")
    return value


def folder_of(path: pathlib.Path | None) -> str:
    if path is None:
        return ""
    if not path.is_dir() or not os.access(path, os.W_OK):
        raise Refusal(f"bench: --folder {path}: expected a folder that can be written to")
    return str(path.absolute())


def must_be_writable(path: pathlib.Path) -> None:
    """Now, not after minutes of measuring."""
    place = path if path.exists() else path.absolute().parent
    if path.is_dir() or not place.exists() or not os.access(place, os.W_OK):
        raise Refusal(f"bench: -o {path}: cannot be written")


def resumed(
    path: pathlib.Path | None, implementation: Implementation, settings: suite.Settings
) -> Run | None:
    """The run in the file of -o, which must be of the same MPI, settings and machine; None: there is none."""
    if path is None:
        raise Refusal("bench: --resume: expected -o FILE, the file to go on with")
    if not path.exists():
        return None
    run = load(path)
    now = {
        "implementation": implementation.description(),
        "settings": settings.description(),
        "environment": suite.environment.describe(implementation.variables()),
    }
    for part, names in SAME.items():
        for name in names:
            then = getattr(run, part).get(name, ABSENT.get(name))
            if then != now[part][name]:
                raise Refusal(
                    f"bench: --resume: {path}: {part}.{name} was {then!r} and is {now[part][name]!r}: "
                    "expected the same; measure into another file"
                )
    run.settings = settings.description() | {
        "ranks": list(dict.fromkeys([*run.settings.get("ranks", []), *settings.ranks]))
    }
    return run


def print_list(implementation: Implementation, settings: suite.Settings, work: pathlib.Path | None) -> None:
    """Each benchmark in each variant on a line, with its sizes."""
    session = suite.Session(implementation, settings, work=work)
    session.close()
    sizes: dict[tuple[str, int], list[int]] = collections.defaultdict(list)
    docs: dict[str, str] = {}
    for cases in session.cases.values():
        for case in cases:
            sizes[case.id, case.ranks].append(case.bytes)
            docs[case.id] = case.doc
    before = None
    for (id_, ranks), listed in sizes.items():
        group = id_.split("/")[0]
        if group != before:
            print(f"{group}:")
            before = group
        several = (
            f"{listed[0]} … {listed[-1]} B, {len(listed)} sizes" if len(listed) > 1 else f"{listed[0]} B"
        )
        print(f"  {id_} @{ranks}  ({several if listed != [0] else 'no sizes'}): {docs[id_]}")
    print(f"{session.count()} cases, about {session.count() * settings.budget_seconds * 1.5:.0f} s and more")


class Bar(suite.Watch):
    """The progress on a terminal. It is drawn twice a second at most: ranks may need the processor."""

    def __init__(self, console: Console):
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self.progress = Progress(
            *columns, TimeRemainingColumn(), console=console, transient=True, refresh_per_second=2
        )
        self.task = self.progress.add_task("", total=None)

    def begin(self, cases: int) -> None:
        self.progress.update(self.task, total=cases)

    def stage(self, text: str) -> None:
        self.progress.update(self.task, description=text)

    def done(self, cases: int) -> None:
        self.progress.advance(self.task, cases)

    def trouble(self, text: str) -> None:
        self.progress.console.print(text, style="red", markup=False, soft_wrap=True)


@contextlib.contextmanager
def bar_on(console: Console):
    """A bar, which is drawn if the console is a terminal."""
    bar = Bar(console)
    with bar.progress if console.is_terminal else contextlib.nullcontext():
        yield bar


@contextlib.contextmanager
def ended_by_signals():
    """SIGTERM ends a measurement as Ctrl-C does: what is there is kept. So where SIGINT was ignored."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def measure(implementation, settings, run, out, csv, work) -> None:
    console = Console(stderr=True, highlight=False)
    begin = time.monotonic()
    session = None
    interrupted = False
    with ended_by_signals(), bar_on(console) as bar:
        try:
            session = suite.Session(implementation, settings, run, bar, work)
            bar.begin(session.count())
            for warning in session.run.environment["warnings"]:
                bar.progress.console.print(
                    f"warning: {warning}", style="yellow", markup=False, soft_wrap=True
                )
            for group in session.groups():
                session.measure(group)
                save(session.run, out, csv)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if session:
                session.close()
    if session is None:
        sys.exit(130)
    save(session.run, out, csv)
    tell(session, out or csv, time.monotonic() - begin, console)
    if interrupted:
        left = session.count() - len(session.run.rows)
        hint = "the same command with --resume goes on" if out else "-o FILE would have kept more"
        console.print(
            f"interrupted; {max(left, 0)} cases are left: {hint}",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )
        sys.exit(130)
    sys.exit(1 if session.run.troubles else 0)


def save(run: Run, out: pathlib.Path | None, csv: pathlib.Path | None) -> None:
    if out:
        run.save(out)
    if csv:
        try:
            run.frame().drop(columns=["seconds", "outliers", "parts"], errors="ignore").to_csv(
                csv, index=False
            )
        except OSError as error:
            raise Refusal(f"bench: --csv {csv}: {error.strerror}") from None


def tell(session: suite.Session, path: pathlib.Path, seconds: float, console: Console) -> None:
    """What there is to know at the end: doubts, then one line."""
    run = session.run
    unstable = [row for row in run.rows if row.high_seconds - row.low_seconds > UNSTABLE * row.median_seconds]
    if unstable:
        worst = max(unstable, key=lambda row: (row.high_seconds - row.low_seconds) / row.median_seconds)
        console.print(
            f"warning: {len(unstable)} of {len(run.rows)} medians are known to {UNSTABLE:.0%} only, or worse "
            f"(worst: {worst.series}, {worst.bytes} B): a quieter machine or a longer --budget would help",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )
    counts = [f"{len(run.rows)} rows"]
    if run.left_out:
        counts.append(f"{len(run.left_out)} not supported by this MPI")
    if run.troubles:
        counts.append(f"{len(run.troubles)} troubles (named in the file)")
    ranks = ", ".join(str(count) for count in session.settings.ranks)
    told = f"{session.implementation.name} {session.implementation.version}, {ranks} ranks"
    print(f"{path}: {', '.join(counts)}; {told}; {seconds:.0f} s")
