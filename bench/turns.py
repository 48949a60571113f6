"""Programs that say themselves how fast they were, run by several MPI libraries in turns: what
run_kernels.py and run_npb.py share.

A row is a program with a number of ranks. In each round every implementation runs every row, one after
the other, and in the next round another one begins; so a machine that gets slower meets all alike. What
goes wrong is one line, and that row of that implementation is not tried again.
"""

import dataclasses
import statistics

import peers
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tasuki import implementation, launching


@dataclasses.dataclass(frozen=True)
class Row:
    program: str
    ranks: int

    @property
    def text(self):
        return f"{self.program}, {self.ranks} rank{'s' * (self.ranks > 1)}"


class Wrong(ValueError):
    """A run that does not count; the text says why."""


def run_once(one, row, words, read, seconds_max):
    """What `read` makes of the program's output. Raises Wrong, with whose run it was and why it does not
    count."""
    variables = one.variables(left_out=implementation.OF_ANY_MPI)
    with launching.Job(one.launch(row.ranks, *words), variables) as job:
        status = job.wait(seconds_max)
        if status is None:
            raise Wrong(f"{one.name}: {row.text}: did not end within {seconds_max} s")
        text, complaint = job.text(), job.complaint()
    try:
        found = read(text, row)
    except Wrong as wrong:
        if status == 0:
            raise Wrong(f"{one.name}: {row.text}: {wrong}") from None
        raise Wrong(f"{one.name}: {row.text}: {launching.status_text(status)}: {complaint}") from None
    if status != 0:
        raise Wrong(f"{one.name}: {row.text}: {launching.status_text(status)}: {complaint}")
    return found


def take(present, rows, words_of, read, args, console):
    """row -> name -> figures of all rounds; and what went wrong. `words_of(one, row)`: what runs it, or
    None."""
    found, troubles = {row: {} for row in rows}, []
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=args.rounds * len(rows) * len(present))
        gone = set()
        for number in range(args.rounds):
            first = number % len(present)
            for row in rows:
                for one in (*present[first:], *present[:first]):
                    progress.update(task, description=f"{one.name} {row.text}")
                    words = words_of(one, row)
                    if words is not None and (row, one.name) not in gone:
                        try:
                            figure = run_once(one, row, words, read, args.limit)
                            found[row].setdefault(one.name, []).append(figure)
                        except Wrong as wrong:
                            gone.add((row, one.name))
                            troubles.append(str(wrong))
                    progress.advance(task)
    return found, troubles


def ratios(by_name, ours, quicker):
    """(of the best, of the medians): our time to the best of the others'. `quicker`: min of seconds, max of
    rates."""
    mine, others = by_name.get(ours), [figures for name, figures in by_name.items() if name != ours]
    if not mine or not others:
        return None, None
    found = []
    for pick in (quicker, statistics.median):
        ratio = pick(mine) / quicker(pick(figures) for figures in others)
        found.append(ratio if quicker is min else 1 / ratio)
    return tuple(found)


def ratio_text(ratio, goal):
    if ratio is None:
        return "-"
    return f"[{'green' if ratio <= goal else 'red'}]{ratio:.2f}[/]"


def cell(figures, quicker, digits):
    """The best, and in brackets the median."""
    if not figures:
        return "-"
    return f"{quicker(figures):.{digits}f} ({statistics.median(figures):.{digits}f})"


def add_arguments(parser, rounds, limit):
    peers.add_arguments(parser)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--limit", type=float, default=limit, help="seconds that a run may take")
    parser.set_defaults(rounds=rounds)
