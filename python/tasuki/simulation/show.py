"""What a simulation says, for people: tables and sentences on the terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import json

SECONDS_WITHOUT_BAR = 3  # of simulating


@contextlib.contextmanager
def progress(total: dict, each: list[dict]):
    """A bar, and what is expected, on standard error, where that is a terminal and it takes seconds: gives
    what is to be called with the number of each case that has ended."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal or total["seconds"] < SECONDS_WITHOUT_BAR:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"simulating {expectation(total)}", total=total["seconds"])
        yield lambda number: bar.advance(task, each[number]["seconds"])


def expectation(expected: dict) -> str:
    from tasuki.units import bytes_text, time_text

    return (
        f"about {expected['messages']:,.0f} messages, {time_text(expected['seconds'])} of work, "
        f"{bytes_text(expected['memory_bytes'])} of memory"
    )


def header(machine, answers: list[dict], expected: dict) -> str:
    return f"{machine.title}; {answers[0]['engine']}\nexpected {expectation(expected)}"


def print_exchanges(machine, path: str, extents, as_json: bool) -> None:
    from tasuki import simulation
    from tasuki.simulation import exchange

    asked = exchange.read(path)
    nodes = simulation.nodes_of(machine, extents)
    expected = exchange.estimate(machine, asked, nodes)
    each = [exchange.estimate(machine, [one], nodes) for one in asked]
    with progress(expected, each) as on_end:
        answers = exchange.run_exchanges(machine, asked, extents, on_end=on_end)
    sentences = [
        *exchange.advice(answers),
        simulation.reason(max(answers, key=lambda one: one["bytes_per_second"])),
    ]
    fitted = [name for name, one in machine.parameters.items() if one.source == "fitted"]
    if as_json:
        document = {"machine": machine.name, "estimate": expected, "fitted": fitted, "answers": answers}
        print(json.dumps(document | {"advice": sentences}, indent=1, ensure_ascii=False))
        return
    print_exchange_table(machine, answers, expected, fitted, sentences)


def print_exchange_table(machine, answers, expected: dict, fitted: list[str], sentences: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki.units import time_text

    console = Console(highlight=False, width=160)
    console.print(header(machine, answers, expected))
    if fitted:
        console.print(f"fitted to printed values, not measured: {', '.join(fitted)}")
    table = Table(box=None, pad_edge=False)
    for head in ("order", "placement", "aggregators", "layout", "rate", "time", "bound", "exchange", "write"):
        left = head in ("order", "placement", "layout")
        table.add_column(head, justify="left" if left else "right")
    for one in answers:
        table.add_row(
            one["order"],
            one["placement"],
            str(one["aggregators"]),
            one["aggregator_layout"],
            f"{one['bytes_per_second'] / 1e9:,.3f} GB/s",
            *(
                time_text(one[name], 4)
                for name in ("seconds", "bound_seconds", "exchange_seconds", "write_seconds")
            ),
        )
    console.print(table)
    for sentence in sentences:
        console.print(f"{sentence}.")


def print_answers(machine, answers: list[dict], estimate: dict, sizes: list[int], path: str) -> None:
    from rich.console import Console

    from tasuki import simulation
    from tasuki.units import bytes_text, time_text

    console = Console(highlight=False, width=160)
    console.print(header(machine, answers, estimate))
    heads = ("algorithm", "size", "segment", "time", "bound", "formula", "busiest link", "busiest processor")
    table = table_of(heads, ("algorithm",))
    by_name: dict[str, list[dict]] = {}
    for one in answers:
        by_name.setdefault(one["algorithm"], []).append(one)
    in_order = sorted(by_name.values(), key=lambda those: those[-1]["seconds"])
    for one in (one for those in in_order for one in those):
        link = one.get("busiest_link", {"busy": 0})
        table.add_row(
            one["algorithm"],
            bytes_text(one["bytes"]),
            bytes_text(one["segment_bytes"]) if one["segment_bytes"] else "-",
            time_text(one["seconds"], 4),
            time_text(one["bound_seconds"], 4),
            time_text(one["formula_seconds"], 4),
            f"{link['busy']:.0%}",
            f"{one['processor_busy_seconds'] / one['seconds']:.0%}" if one["seconds"] else "-",
        )
    console.print(table)
    print_lines(console, in_order, sizes)
    best = simulation.best(answers)
    others = [those[-1] for those in in_order if those[-1]["bytes"] == sizes[-1] and those[-1] is not best]
    fastest = f"{best['algorithm']} is the fastest at" if others else f"{best['algorithm']} at"
    told = f"{fastest} {bytes_text(best['bytes'])}: {simulation.reason(best)}"
    print_sentences(console, [told, path, *slower(best, others)])


def print_lines(console, by_algorithm: list[list[dict]], sizes: list[int]) -> None:
    """B', t_L and M_1/2 of those that were simulated at all sizes."""
    from tasuki import simulation
    from tasuki.units import bytes_text, time_text

    table = table_of(("t = t_L + M/B'", "B'", "t_L", "M_1/2"), ("t = t_L + M/B'",))
    for those in by_algorithm:
        if len(those) != len(sizes) or len(sizes) < 2:
            continue
        line = simulation.fit(sizes, [one["seconds"] for one in those])
        is_line = line.latency_seconds > 0  # else the times grow faster than the sizes
        table.add_row(
            those[0]["algorithm"],
            f"{line.bytes_per_second / 1e6:,.0f} MB/s",
            time_text(line.latency_seconds, 4) if is_line else "none",
            bytes_text(line.half_bytes) if is_line else "-",
        )
    if table.row_count:
        console.print(table)


def slower(best: dict, others: list[dict]) -> list[str]:
    """What limits the other algorithms, and how much longer they take: a sentence for each limit."""
    from tasuki import simulation

    limits: dict[str, list[str]] = {}
    for one in others:
        ratio = f"{one['seconds'] / best['seconds']:.2f}" if best["seconds"] else "-"
        limits.setdefault(simulation.limit(one), []).append(f"{one['algorithm']} {ratio}")
    return [
        f"times as long as {best['algorithm']}, limited by {what}: {', '.join(names)}"
        for what, names in limits.items()
    ]


def table_of(heads: tuple[str, ...], left: tuple[str, ...]):
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right", no_wrap=True)
    return table


def print_sentences(console, sentences: list[str]) -> None:
    for sentence in sentences:
        if sentence:
            console.print(f"{sentence}.")


def print_patterns(machine, found: dict) -> None:
    """A line for each pattern, and what is together."""
    from rich.console import Console

    from tasuki.units import bytes_text, percent_text, time_text

    console = Console(highlight=False, width=160)
    console.print(header(machine, [found], found["estimate"]))
    measured = any(row["measured_seconds"] for row in found["lines"])
    heads = ("pattern", "ranks", "size", "count", "each", "together", "bound", "busiest link", "algorithm")
    heads = heads[:6] + (("measured", "off by") if measured else ()) + heads[6:]
    table = table_of(heads, ("pattern", "algorithm"))
    for row in found["lines"]:
        link, seconds = row["busiest_link"] or {"busy": 0}, row["measured_seconds"]
        known = [time_text(seconds, 4), percent_text(row["seconds"] / seconds - 1)] if seconds else ["-", "-"]
        table.add_row(
            row["pattern"],
            str(row["ranks"]),
            bytes_text(row["bytes"]),
            f"{row['count']:,.6g}",
            time_text(row["each_seconds"], 4),
            time_text(row["seconds"], 4),
            *(known if measured else ()),
            time_text(row["bound_seconds"], 4),
            f"{link['busy']:.0%}",
            ", ".join(dict.fromkeys(row["algorithms"])) or "-",
        )
    console.print(table)
    total = f"together {time_text(found['seconds'], 4)}"
    if found["measured_seconds"]:
        off = percent_text(found["seconds"] / found["measured_seconds"] - 1)
        total += f", measured {time_text(found['measured_seconds'], 4)}, off by {off}"
    print_sentences(console, [total, found["reason"], *found["advice"]])


RANKS_SHOWN_MAX = 16


def print_trace(machine, found: dict) -> None:
    """Where the time of a traced program goes on the simulated machine."""
    from rich.console import Console

    from tasuki.units import bytes_text, time_text

    console = Console(highlight=False, width=160)
    console.print(header(machine, [found], found["estimate"]))
    link = found["busiest_link"] or {"busy": 0}
    nodes = len(set(found["nodes"]))
    console.print(
        f"{found['trace']}: {found['ranks']} ranks on {nodes} nodes (placement {found['placement']}) take "
        f"{time_text(found['seconds'], 4)}, recorded {time_text(found['recorded_seconds'], 4)}; "
        f"bound {time_text(found['bound_seconds'], 4)}\n"
        f"{found['messages']:,.0f} messages, {bytes_text(found['sent_bytes'])} sent, "
        f"{bytes_text(found['network_bytes'])} between nodes; the busiest link works {link['busy']:.0%}"
    )
    console.print("all ranks together:")
    table = table_of(("function", "calls", "recorded", "simulated"), ("function",))
    for row in found["functions"]:
        times = (time_text(row[name], 4) for name in ("recorded_seconds", "seconds"))
        table.add_row(row["function"], f"{row['calls']:,}", *times)
    console.print(table)
    table = table_of(("rank", "node", "computes", "in MPI", "until"), ())
    ranks = sorted(found["ranks_of"], key=lambda row: -row["computing_seconds"])
    for row in ranks[:RANKS_SHOWN_MAX]:
        name = f"{row['rank']}" + (f" thread {row['thread']}" if row["thread"] else "")
        times = (time_text(row[name], 4) for name in ("computing_seconds", "mpi_seconds", "end_seconds"))
        table.add_row(f"{row['world']}.{name}" if row["world"] else name, str(row["node"]), *times)
    console.print(table)
    if len(ranks) > RANKS_SHOWN_MAX:
        console.print(f"and {len(ranks) - RANKS_SHOWN_MAX} that compute less")
    if found["collectives"]:
        table = table_of(("collective", "ranks", "size", "calls", "algorithm"), ("collective", "algorithm"))
        for row in found["collectives"]:
            size = bytes_text(row["bytes"])
            table.add_row(row["operation"], str(row["ranks"]), size, f"{row['calls']:,}", row["algorithm"])
        console.print(table)
    print_sentences(console, [found["reason"], found["critical_path"], *found["advice"]])
    for note in found["notes"]:
        console.print(f"note: {note}")


def print_paper(found, as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki.units import percent_text

    if as_json:
        rows = [dataclasses.asdict(one) | {"off": one.off} for one in found]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for head in ("case", "", "unit", "predicted", "printed", "off by", ""):
        table.add_column(head, justify="right" if head in ("predicted", "printed", "off by") else "left")
    for one in found:
        table.add_row(
            one.case,
            one.quantity,
            one.unit,
            number_text(one.predicted),
            number_text(one.printed),
            "-" if one.off is None else percent_text(one.off),
            one.kind,
        )
    Console(highlight=False, width=120).print(table)


def number_text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if value < 100 else f"{value:,.0f}"
