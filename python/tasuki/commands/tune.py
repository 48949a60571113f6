"""tasuki tune."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from tasuki.commands import Refusal

RANKS_MAX = 1024
RANKS = 2, 4, 8  # of one node, where no others are named
DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>s|m|min|h|)")
UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}

Ranks = Annotated[
    str,
    typer.Option(
        "-n",
        "--ranks",
        metavar="N[,N…]",
        help="Numbers of ranks to measure with, all together: 2,4,8; of hosts, as many as they have slots; "
        "of N virtual nodes 1, 2 and 4 on each.",
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The table to start from; the built-in one when not given."),
]
Source = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Times that were measured before: --times, `make regret`."),
]
OnlyMessages = Annotated[
    bool,
    typer.Option(
        "--only-messages",
        help="Only who copies messages; prints every way by size. Of hosts or nodes: only their network.",
    ),
]
Host = Annotated[
    str,
    typer.Option(
        metavar="HOST:N[,HOST:N…]",
        help="Collectives and the network between these hosts, as mpiexec --host takes them; all are alike.",
    ),
]
Check = Annotated[
    bool, typer.Option("--check/--no-check", help="Measure every change once more, old against new.")
]
Prefix = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The installed tree to tune; this one when not given.")
]
Nodes = Annotated[
    int | None,
    typer.Option(metavar="N", help="The same on so many virtual nodes of this machine."),
]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="The table to write; tuning.json when not given."),
]
Install = Annotated[
    bool, typer.Option("--install", help="Write it into the installation, whose jobs then choose by it.")
]
Times = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the times, for --from.")]


def register(app: typer.Typer) -> None:
    app.command("tune")(tune)


def tune(
    out: Out = None,
    install: Install = False,
    ranks: Ranks = "",
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="For everything, the check included: 90s, 2m, 1h.")
    ] = "2m",
    operations: Annotated[
        str, typer.Option(metavar="NAME[,NAME…]", help="Only these operations: bcast,allreduce.")
    ] = "",
    table: Table = None,
    source: Source = None,
    times: Times = None,
    only_messages: OnlyMessages = False,
    host: Host = "",
    nodes: Nodes = None,
    check: Check = True,
    prefix: Prefix = None,
) -> None:
    """Fits the table by which the library chooses among the algorithms of its collectives and who copies a
    message.

    Measures who had better copy a message, from which size on, with data that programs write and read.
    Times every algorithm, forced in turn; fits the parameters of the library's formulas to the times; and,
    where no parameters would choose well, names the choice in the table. Then it measures what it changed
    once more, old against new, and takes back what did not prove. It shows what changed and what it gained.

    Examples:

        tasuki tune                                   two minutes, writes tuning.json

        tasuki tune -n 2,4 --budget 30s -o quick.json

        tasuki tune --table old.json -o new.json      starts from another table than the built-in one

        tasuki tune --only-messages                   seconds; who copies messages, and the times of each way

        tasuki tune --host a:4,b:4 --table tuning.json -o hosts.json     adds the network, and choices there

        tasuki tune --host a:4,b:4 -n 2,8             1 and 4 ranks on each host

        tasuki tune --host a:2,b:2 --only-messages    half a minute; the network alone

        tasuki tune --install                         all jobs of this installation choose by it from then on

    Then: `TASUKI_TUNING_FILE=tuning.json mpiexec …`, but for `--install`. The table holds for this machine
    and this version of the library; elsewhere it is refused. docs/tuning.md describes the file.
    """
    from tasuki.tuning import TuningError

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as by Ctrl-C, so that no job is left behind
    if only_messages and (source is not None or times is not None):
        raise Refusal("tune: --only-messages: takes no --from and no --times")
    settings = {"budget_seconds": seconds_of(budget), "operations": operations_of(operations), "check": check}
    try:
        out = out_of(out, install, prefix)
        for path in filter(None, (out, times)):
            must_be_writable(path)
        place = place_of(nodes, host)
        settings |= {"place": place, "ranks": ranks_of(ranks, place)}
        if only_messages and place.nodes > 1:
            run_network(settings, table, prefix, out)
        elif only_messages:
            run_messages(settings, table, prefix, out)
        else:
            run(settings, table, source, prefix, out, times)
    except TuningError as error:
        raise Refusal(f"tune: {error}") from None
    use = "jobs of this installation choose by it" if install else f"use it by TASUKI_TUNING_FILE={out}"
    make_console().print(f"{out} is written; {use}")


def make_console():
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=150)


def warn_if_busy(console) -> None:
    from tasuki import environment

    if busy := environment.busy_text(os.getloadavg()[0]):
        console.print(busy, style="yellow")


def made(settings, table, prefix):
    """The programs, and the settings with the table to start from."""
    from tasuki.tuning import programs, session, tables

    found = programs.find(prefix)
    network = settings["place"].table_network()
    old = None if table is None else tables.load(table, found.price, network)
    return found, session.Settings(table=old, **settings)


def run_messages(settings, table, prefix, out) -> None:
    """Every way of a message, and the thresholds."""
    from tasuki.tuning import session, show, tables

    found, settings = made(settings, table, prefix)
    console = make_console()
    warn_if_busy(console)
    with watching(console, settings.budget_seconds) as watch:
        new, founds = session.tune_messages(found, settings, watch)
    show.show_ways(console, founds)
    show.show_messages(console, tables.parameters(found.price), founds)
    tables.save(new, out)


def run_network(settings, table, prefix, out) -> None:
    """The network between nodes."""
    from tasuki.tuning import session, show, tables

    found, settings = made(settings, table, prefix)
    console = make_console()
    warn_if_busy(console)
    old, new, rows = session.tune_network(found, settings)
    show.show_network(console, tables.parameters(found.price, "tcp"), rows, old, new)
    tables.save(new, out)


def run(settings, table, source, prefix, out, times) -> None:
    from tasuki.tuning import regret, session, show, tables

    found, settings = made(settings, table, prefix)
    settings.source = None if source is None else regret.load_samples(source, settings.place)
    console = make_console()
    warn_if_busy(console)
    with watching(console, settings.budget_seconds) as watch:
        outcome = session.Session(found, settings, watch).tune()
    show.show(console, tables.parameters(found.price), outcome)
    tables.save(outcome.new, out)
    if times is not None:
        write_times(times, outcome, settings.place)
    console.print(f"{outcome.seconds:.0f} s")


@contextlib.contextmanager
def watching(console, budget_seconds: float):
    """A bar over the budget, with the time that is left. It moves seldom: the ranks need the processors."""
    from rich.progress import BarColumn, Progress, TextColumn

    from tasuki.tuning.session import Watch

    columns = (TextColumn("{task.description:16}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=console, transient=True, refresh_per_second=1) as progress:
        task = progress.add_task("", total=budget_seconds, left="")

        class Bar(Watch):
            def stage(self, text: str) -> None:
                progress.update(task, description=text)
                self.tick()

            def tick(self) -> None:
                spent = progress.tasks[0].elapsed or 0
                left = f"{max(budget_seconds - spent, 0):.0f} s left at most"
                progress.update(task, completed=min(spent, budget_seconds), left=left)

        yield Bar()


def place_of(nodes: int | None, host: str):
    from tasuki.tuning import placement

    place = placement.of(nodes, host, placement.NETWORKS[0])
    if host and place.nodes < 2:
        raise Refusal(f"tune: --host {host}: expected two or more hosts")
    return place


def ranks_of(text: str, place) -> tuple[int, ...]:
    if not text and place.hosts:
        return (place.slots(),)
    if not text:
        return RANKS if place.nodes == 1 else tuple(each * place.nodes for each in (1, 2, 4))
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not word.isdecimal() or not 2 <= int(word) <= RANKS_MAX:
            raise Refusal(f"tune: -n {text}: {word!r}, expected numbers of ranks from 2 to {RANKS_MAX}")
    found = tuple(dict.fromkeys(int(word) for word in words))
    place.check(found, "-n")
    return found


def seconds_of(text: str) -> float:
    found = DURATION.fullmatch(text.strip())
    seconds = float(found["number"]) * UNITS[found["unit"]] if found else 0
    if seconds <= 0:
        raise Refusal(f"tune: --budget {text}: expected a time above 0, like 90s or 2m")
    return seconds


def operations_of(text: str) -> tuple[str, ...]:
    from tasuki.tuning.cases import OPERATIONS

    words = [word.strip() for word in text.split(",")] if text else list(OPERATIONS)
    for word in words:
        if word not in OPERATIONS:
            raise Refusal(f"tune: --operations {text}: {word!r}, expected some of {', '.join(OPERATIONS)}")
    return tuple(dict.fromkeys(words))


def out_of(out: Path | None, install: bool, prefix: Path | None) -> Path:
    """The table to write."""
    from tasuki.tuning import programs

    if not install:
        return out or Path("tuning.json")
    if out is not None:
        raise Refusal(f"tune: -o {out}: expected no file with --install, which has a place of its own")
    path = programs.installed_table(programs.find(prefix))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"tune: --install: {path.parent}: {error.strerror}") from None
    return path


def must_be_writable(path: Path) -> None:
    """Before two minutes are spent on what could not be kept."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise Refusal(f"tune: {path}: cannot be written: expected a file in a folder that is there")


def write_times(path: Path, outcome, place) -> None:
    from tasuki.tuning import TuningError, regret

    document = {"placement": str(place), **regret.document_of(outcome.samples, outcome.decisions)}
    try:
        path.write_text(json.dumps(document) + "\n")
    except OSError as error:
        raise TuningError(f"{path}: {error.strerror}") from None
