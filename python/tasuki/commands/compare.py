"""tasuki compare."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys

import typer

from tasuki.commands import Refusal, options

FAIL_ON = ("slower", "violated")
ROUNDS = 5
LINES_MAX = 40
BUDGET_MIN = 0.002  # seconds a case and round


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    files: options.Files = None,
    mpi: options.Mpis = None,
    table: options.Tables = None,
    quick: options.Quick = False,
    ranks: options.Ranks = None,
    only: options.Only = None,
    budget: options.Budget = None,
    rounds: options.Rounds = ROUNDS,
    out: options.OutFolder = pathlib.Path("comparison"),
    work: options.Work = None,
    tolerance: options.Tolerance = 0.05,
    every: options.Every = False,
    as_json: options.Json = False,
    fail_on: options.FailOn = None,
    gate: options.Gate = False,
) -> None:
    """Says what is faster in one run than in another, and whether an MPI keeps the performance guidelines.

    Of files that `tasuki bench` wrote, or of MPIs and tables that it measures now, in rounds: all take turns,
    group by group, so that a machine that gets slower meets all alike. A ratio is time by the base's time:
    below 1 is faster. A row is "faster" or "slower" only if the difference exceeds the tolerance and is not
    chance: of all rows so called, at most 5 % are expected to be wrong, however many are compared. Else it is
    "same"; "same?" was too restless to tell.

    The guidelines say what must not be slower than what else of the same MPI, since that does the same:
    MPI_Allreduce than MPI_Reduce and MPI_Bcast, a shorter message than a longer one. One file is enough for
    them.

    Examples:

        tasuki compare before.json after.json                            two runs

        tasuki compare --quick --mpi /opt/mpich --mpi build/prefix       two MPIs, measured in turns

        tasuki compare --quick --table table.json --only collectives     our own table against this one

        tasuki compare before.json after.json --fail-on slower           for CI: exit status 1 if anything is

        tasuki compare --quick --mpi before --mpi after --gate           in one line (docs/results.md)

        tasuki compare run.json                                          the guidelines alone
    """
    from tasuki.implementation import ImplementationError
    from tasuki.results import ResultsError, load

    check_words(files, mpi, table, tolerance, rounds, fail_on, gate)
    try:
        if files:
            runs = [load(path) for path in files]
        else:
            settings = settings_of(quick, ranks, only, budget, rounds)
            runs = measured(contenders(mpi or [], table or []), settings, rounds, out, work)
        tell(runs, tolerance, every, as_json, fail_on or [], gate)
    except (ImplementationError, ResultsError) as error:
        raise Refusal(f"compare: {error}") from None


def check_words(files, mpi, table, tolerance, rounds, fail_on, gate) -> None:
    if files and (mpi or table):
        raise Refusal("compare: expected either files or --mpi and --table, not both")
    if not files and not mpi and not table:
        raise Refusal("compare: expected files of results, or two times --mpi, or --table")
    if not 0 <= tolerance < 10:
        raise Refusal(f"compare: --tolerance {tolerance:g}: expected a fraction from 0 on, 0.05 for 5 %")
    if rounds < 1:
        raise Refusal(f"compare: --rounds {rounds}: expected 1 or more")
    for word in fail_on or []:
        if word not in FAIL_ON:
            raise Refusal(f"compare: --fail-on {word}: expected {' or '.join(FAIL_ON)}")
    if files and len(files) == 1 and "slower" in (fail_on or []):
        raise Refusal(f"compare: {files[0]} --fail-on slower: expected two files or more")
    if files and len(files) == 1 and gate:
        raise Refusal(f"compare: {files[0]} --gate: expected two files or more")


def contenders(mpis: list[str], tables: list[pathlib.Path]) -> list:
    """The MPIs that are measured. A table is for the first of them that is Tasuki, or for our own."""
    from tasuki import implementation

    found = implementation.find_all(mpis)
    ours = next((one for one in found if one.kind == "tasuki"), None) or implementation.find()
    found += [ours.with_table(path) for path in tables]
    if len(found) < 2:
        raise Refusal("compare: --mpi: expected two MPIs or more, or a --table")
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise Refusal(f"compare: two are called the same: {', '.join(names)}: name them, --mpi NAME=PREFIX")
    return found


def settings_of(quick, ranks, only, budget, rounds):
    """The budget of a case is divided among the rounds."""
    from tasuki import suite
    from tasuki.commands import bench

    words = {"quick": quick, "only": only or [], "ranks": bench.ranks_of(ranks or ["2"])}
    settings = suite.Settings(**words, budget_seconds=bench.positive("--budget", budget))
    return dataclasses.replace(settings, budget_seconds=max(settings.budget_seconds / rounds, BUDGET_MIN))


def measured(found: list, settings, rounds: int, out: pathlib.Path, work: pathlib.Path | None) -> list:
    """Measures all in turns, and keeps the results in NAME.json."""
    from rich.console import Console

    from tasuki import suite
    from tasuki.commands import bench

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"compare: -o {out}: {error.strerror}") from None
    places = {one.name: out / f"{one.name.replace('/', '-')}.json" for one in found}
    for place in places.values():
        bench.must_be_writable(place)
    console = Console(stderr=True, highlight=False)
    sessions: list[suite.Session] = []
    with bench.ended_by_signals(), bench.bar_on(console) as bar:
        try:
            for one in found:
                sessions.append(suite.Session(one, settings, watch=bar, work=work, rounds=True))
            bar.begin(rounds * sum(session.count() for session in sessions))
            suite.take_turns(sessions, rounds, lambda run: run.save(places[run.implementation["name"]]))
        except KeyboardInterrupt:
            console.print("interrupted: what was measured until now is compared", style="yellow")
        finally:
            for session in sessions:
                session.close()
    for session in sessions:
        session.run.path = str(places[session.implementation.name])
        session.run.save(session.run.path)
    console.print(f"results: {', '.join(session.run.path for session in sessions)}", markup=False)
    return [session.run for session in sessions]


def tell(runs: list, tolerance: float, every: bool, as_json: bool, fail_on: list[str], gate: bool) -> None:
    from tasuki import compare as comparing
    from tasuki import guidelines

    made = comparing.compare(*runs, tolerance=tolerance) if len(runs) > 1 else None
    ended = comparing.gate(made) if made and gate else None
    if ended and not as_json:
        print(ended.text)
        sys.exit(ended.status)
    names = comparing.names_of(runs)
    findings = {name: guidelines.check(run, tolerance) for name, run in zip(names, runs, strict=True)}
    if as_json:
        document = made.document() if made else {"tasuki_comparison": 1}
        told = {name: [dataclasses.asdict(one) for one in found] for name, found in findings.items()}
        document |= {"guidelines": told, "gate": dataclasses.asdict(ended) if ended else None}
        print(json.dumps(document, indent=1))
    else:
        show(made, findings, every, {name: text for run in runs for name, text in run.short_names().items()})
    if ended and ended.status != comparing.PASSED:
        sys.exit(ended.status)
    slower = made is not None and any(row.verdict == "slower" for row in made.rows)
    violated = any(guidelines.violations(found) for found in findings.values())
    failed = ("slower" in fail_on and slower) or ("violated" in fail_on and violated)
    sys.exit(1 if failed else 0)


def show(made, findings: dict, every: bool, names: dict[str, str]) -> None:
    """`names`: short ones of the series."""
    from rich.console import Console

    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=150)
    if made:
        show_rows(console, made, every, names)
        show_summary(console, made)
        for name, rows in made.missing.items():
            if rows:
                console.print(f"{name} has no {rows[0]}" + f" (and {len(rows) - 1} others)" * (len(rows) > 1))
        for warning in made.warnings:
            console.print(f"note: {warning}", style="yellow", markup=False)
    if made or any(findings.values()):
        console.print("cases are named by what tells them from their benchmark's base case", style="dim")
    for name, found in findings.items():
        show_guidelines(console, name, found, every, names)


def colour_of(verdict: str) -> str:
    return {"faster": "green", "slower": "red", "violated": "red", "kept": "green"}.get(verdict, "dim")


def ratio_text(ratio: float) -> str:
    """Three digits, and no more than a thousandth or a thousandfold."""
    return "<0.001" if ratio < 0.001 else ">1000" if ratio > 1000 else f"{ratio:.3g}"


def show_rows(console, made, every: bool, names: dict[str, str]) -> None:
    from rich.table import Table

    from tasuki.units import bytes_text, time_text

    rows = [row for row in made.rows if every or row.verdict != "same"]
    rows.sort(key=lambda row: (row.verdict != "slower", -row.ratio if row.verdict == "slower" else row.ratio))
    if not rows:
        console.print(f"no row differs by more than {made.tolerance:.0%} beyond chance")
        return
    table = Table(title=f"time by that of {made.base} (below 1: faster)", title_justify="left")
    table.add_column("case", overflow="fold")
    states = len({row.state for row in made.rows}) > 1
    for title in (
        "bytes",
        *["lines"] * states,
        made.base,
        "other",
        "time",
        "ratio",
        "95 % interval",
        "verdict",
    ):
        table.add_column(title, justify="right", no_wrap=title not in ("other", made.base))
    shown = rows if every else rows[:LINES_MAX]
    for row in shown:
        interval = f"{ratio_text(row.low)} … {ratio_text(row.high)}"
        verdict = row.verdict if row.tight else f"{row.verdict}?"
        times = (time_text(row.base_seconds), row.other, time_text(row.other_seconds))
        cells = (bytes_text(row.bytes), *[row.state] * states, *times, ratio_text(row.ratio), interval)
        table.add_row(names[row.series], *cells, f"[{colour_of(row.verdict)}]{verdict}[/]")
    console.print(table)
    if len(shown) < len(rows):
        console.print(f"and {len(rows) - len(shown)} more (--all shows every row)")


def show_summary(console, made) -> None:
    from rich.table import Table

    table = Table(title="by group", title_justify="left")
    for title in ("against " + made.base, "group", "mean ratio", "faster", "same", "slower", "too restless"):
        table.add_column(title, justify="left" if title in ("group", "against " + made.base) else "right")
    for one in made.summary():
        counts = (str(one[name]) for name in ("faster", "same", "slower", "loose"))
        table.add_row(one["other"], one["group"], ratio_text(one["ratio"]), *counts)
    console.print(table)


def show_guidelines(console, name: str, found: list, every: bool, names: dict[str, str]) -> None:
    from rich.table import Table

    from tasuki import guidelines
    from tasuki.units import bytes_text, time_text

    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in guidelines.VERDICTS}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    console.print(f"guidelines of {name}: {told if found else 'the run has no rows that they speak of'}")
    worst = guidelines.violations(found)
    if not worst:
        return
    table = Table()
    table.add_column("guideline"), table.add_column("of", overflow="fold")
    for title in ("bytes", "left", "right", "ratio", "95 % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    shown = worst if every else worst[: LINES_MAX // 2]
    for one in shown:
        interval = f"{ratio_text(one.low)} … {ratio_text(one.high)}"
        times = (time_text(one.left_seconds), time_text(one.right_seconds))
        table.add_row(
            one.rule, names[one.subject], bytes_text(one.bytes), *times, ratio_text(one.ratio), interval
        )
    console.print(table)
    if len(shown) < len(worst):
        console.print(f"and {len(worst) - len(shown)} more (--all shows every one)")
