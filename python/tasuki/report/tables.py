"""Tables of the page: what was measured, headline numbers, all rows, the environment, troubles."""

from __future__ import annotations

from tasuki.report import pingpong, words
from tasuki.report.axes import short_text
from tasuki.report.markup import Markup, element, joined
from tasuki.report.material import Material, state_text, states_differ, words_of
from tasuki.results import Row, Run
from tasuki.units import bytes_text, number_text, percent_text, rate_text, time_text

WARNED_UNSETTLED = 0.25  # share of rows whose interval stayed wide, from which on the page warns


def table(
    heads: list[str], rows: list[list], caption: str = "", numbers_from: int = 1, unseen: bool = False
) -> Markup:
    """A table that scrolls by itself where it is too wide. Columns from `numbers_from` on are flush right. An
    `unseen` caption is for those who hear the page: others see the same words above."""
    kinds = ["number" if place >= numbers_from else "wide" for place in range(len(heads))]
    head = [element("th", text, scope="col", class_=kind) for text, kind in zip(heads, kinds, strict=True)]
    body = []
    for row in rows:
        cells = [element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)]
        body.append(element("tr", cells))
    parts = [element("caption", caption, class_="unseen" if unseen else None)] if caption else []
    parts += [element("thead", element("tr", head)), element("tbody", body)]
    return element(
        "div", element("table", parts), class_="scroll", tabindex=0, role="region", aria_label=caption
    )


def case_cell(group: str, benchmark: str, variant: dict[str, str], ranks: int) -> Markup:
    """A series in words: the benchmark, and below it which case it is."""
    name = f"{group} / {benchmark}".replace("_", " ")
    about = ", ".join(filter(None, [words_of(variant), f"{ranks} ranks"]))
    return joined(name, element("div", about, class_="about"))


def pairs(items: list[tuple[str, object]]) -> Markup:
    """Names with their values, where there is a value."""
    parts = []
    for name, value in items:
        if value not in (None, "", [], {}):
            parts.append(element("div", element("dt", name), element("dd", value)))
    return element("dl", parts)


def folded(title: str, *content: object, opened: bool = False) -> Markup:
    return element("details", element("summary", title), *content, open=opened)


def implementation_text(run: Run) -> str:
    """What there is to tell of an implementation beside its name."""
    told = run.implementation
    parts = [told.get("version"), f"table {told['tuning']}" if told.get("tuning") else None]
    return ", ".join(str(part) for part in parts if part)


def measured(material: Material) -> Markup:
    """Which implementation, where, when, how."""
    machine = material.run.environment
    memory = machine.get("memory_bytes")
    return pairs(
        [
            *(
                (name, implementation_text(run))
                for name, run in zip(material.names, material.runs, strict=True)
            ),
            ("Machine", machine.get("host")),
            ("State", state_text(material.run)),
            ("Memory", bytes_text(memory) if memory else None),
            ("System", machine.get("kernel")),
        ]
    )


def processor_text(machine: dict) -> str:
    number = machine.get("processors")
    text = f"{number} × " if number else ""
    return text + str(machine.get("cpu") or ("processors" if number else ""))


def method_text(material: Material) -> str:
    """How much was measured, on what, when, and when a case was done."""
    run, machine = material.run, material.run.environment
    ranks = sorted({row.ranks for row in run.rows})
    text = f"{len(run.rows):,} cases on {words.listed([str(number) for number in ranks])} ranks"
    where, when = processor_text(machine), str(machine.get("time") or "").replace("T", " ")[:16]
    text += "".join([f", on {where}" if where else "", f", {when}" if when else ""]) + "."
    width, budget = run.settings.get("width"), run.settings.get("budget_seconds")
    until = [f"the 95 % interval of its median was narrower than {100 * width:g} %"] if width else []
    until += [f"{short_text('seconds', budget)} were over"] if budget else []
    return text + (f" Each case was repeated until {' or '.join(until)}." if until else "")


def warnings(material: Material) -> list[str]:
    """What a reader must know before he believes the numbers."""
    found = []
    for name, run in zip(material.names, material.runs, strict=True):
        whose = f"{name}: " if material.peers else ""
        found += [f"{whose}{text}" for text in run.environment.get("warnings") or []]
        wide = sum(1 for row in run.rows if not row.settled)
        if wide > WARNED_UNSETTLED * len(run.rows):
            found.append(f"{whose}{wide} of {len(run.rows)} rows ended on the budget, with a wide interval")
        if run.troubles:
            cases = "a case" if len(run.troubles) == 1 else f"{len(run.troubles)} cases"
            found.append(f"{whose}{cases} could not be measured; see Troubles at the end")
    if states_differ(material.runs):
        named = zip(material.names, material.runs, strict=True)
        told = "; ".join(f"{name}: {state_text(run)}" for name, run in named if state_text(run))
        found.append(f"the machine was in two states, which charts do not tell apart (--state does): {told}")
    return found + machines_differ(material)


def machines_differ(material: Material) -> list[str]:
    """Ratios between machines say nothing of the libraries."""
    found = []
    for name, peer in material.peers:
        for field in ("host", "cpu", "processors"):
            own, other = material.run.environment.get(field), peer.environment.get(field)
            if own and other and own != other:
                found.append(f"{name} was measured elsewhere: {field} is {other}, not {own}")
    return found


def headline_table(material: Material) -> Markup | None:
    """The run's headline numbers beside its peers', with ratios."""
    told = pingpong.headlines(material)
    if len(told) < 2:
        return None
    rows = []
    for name, numbers in told:
        share = percent_text(numbers.copy_share) if numbers.copy_share is not None else "–"
        rows.append(
            [
                name,
                time_text(numbers.latency_seconds),
                ratio_text(numbers.latency_seconds, told[0][1].latency_seconds, name == told[0][0]),
                rate_text(numbers.peak),
                ratio_text(numbers.peak, told[0][1].peak, name == told[0][0]),
                bytes_text(numbers.half_bytes),
                share,
            ]
        )
    heads = ["", "latency", "ratio", "peak", "ratio", "half the peak from", "of a bare copy"]
    return table(heads, rows, f"Ping-pong; ratios are to {told[0][0]}")


def ratio_text(value: float, base: float, own: bool) -> str:
    return "1" if own else f"{number_text(value / base)} ×"


def row_cells(row: Row) -> list[str]:
    rate = rate_text(row.bytes_per_second) if row.bytes else ""
    notes = ", ".join(f"{name} {number_text(value)}" for name, value in row.notes.items())
    remarks = [] if row.settled else ["wide"]
    remarks += [f"{len(row.outliers)} outliers"] if row.outliers else []
    return [
        row.benchmark,
        words_of(row.variant),
        str(row.ranks),
        bytes_text(row.bytes),
        time_text(row.median_seconds),
        f"{time_text(row.low_seconds)} – {time_text(row.high_seconds)}",
        rate,
        str(len(row.seconds)),
        "; ".join(filter(None, [*remarks, notes])),
    ]


def all_rows(material: Material) -> list[Markup]:
    """Every row of every run, a folded table for each group of each."""
    heads = ["benchmark", "variant", "ranks", "size", "median", "95 %", "throughput", "samples", "remarks"]
    found = []
    for name, run in zip(material.names, material.runs, strict=True):
        parts = []
        for group in dict.fromkeys(row.group for row in run.rows):
            rows = [row_cells(row) for row in run.rows if row.group == group]
            title = f"{group.replace('_', ' ')}: {len(rows)} rows"
            parts.append(folded(title, table(heads, rows, f"{name}, {title}", numbers_from=2)))
        found.append(folded(f"{name}: all {len(run.rows)} rows", *parts))
    return found


def environments(material: Material) -> list[Markup]:
    found = []
    for name, run in zip(material.names, material.runs, strict=True):
        items = flat(run.implementation) + flat(run.settings) + flat(run.environment)
        found.append(folded(f"{name}: environment", pairs(items)))
    return found


def flat(document: dict, before: str = "") -> list[tuple[str, object]]:
    """An object's fields as pairs; those of objects in it with both names."""
    found = []
    for name, value in document.items():
        if isinstance(value, dict):
            found += flat(value, f"{before}{name}.")
        elif isinstance(value, list):
            found.append((before + name, ", ".join(str(part) for part in value)))
        else:
            found.append((before + name, str(value) if value is not None else ""))
    return found


def troubles(material: Material) -> Markup | None:
    items = []
    for name, run in zip(material.names, material.runs, strict=True):
        items += [element("li", f"{name}: {text}" if material.peers else text) for text in run.troubles]
    return joined(element("ul", items, class_="troubles")) if items else None
