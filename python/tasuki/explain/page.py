"""The page of an explanation: one HTML document that needs nothing else. `tasuki explain --html FILE`."""

from __future__ import annotations

import collections
import json
import pathlib

import numpy as np

from tasuki.explain import Explanation, pictures, verdict_of
from tasuki.explain.course import Course, is_file
from tasuki.explain.finding import ranks_text
from tasuki.explain.path import Piece, critical_path, shares
from tasuki.report.frame import framed
from tasuki.report.markup import Markup, element, joined
from tasuki.units import bytes_text, percent_text, time_text

FIELD_HEIGHT = 560  # of all ranks together, about
LANE_MIN, LANE_MAX = 1.5, 26.0
LABEL_HEIGHT = 16
SPANS_MAX = 4000  # that the pointer can ask for: the longest
CORNERS_MAX = 3000  # of the critical path
ROWS_MAX = 16  # of a table
CELLS_MAX = 16  # ranks, up to which the matrix has numbers


def write(found: Explanation, path: str | pathlib.Path) -> None:
    pathlib.Path(path).write_text(document(found), encoding="utf-8")


def document(found: Explanation) -> str:
    course = found.course
    name = pathlib.PurePath(found.trace.path).name
    title = f"Why {name.removesuffix('.trace')} takes its time"
    way = critical_path(course)
    body = [
        element("a", "To the findings", href="#findings", class_="skip"),
        header(found, title),
        element(
            "main",
            findings(found),
            times(found, way),
            the_path(found, way),
            ranks(course),
            messages(course),
            functions(course),
        ),
    ]
    footer = f"Made by tasuki explain from {found.trace.path}. How to read it: docs/explain.md."
    return framed("tasuki.explain", title, body, footer, script_data=spans_json(course))


def section(name: str, title: str, *content: object) -> Markup:
    return element("section", element("h2", title), *content, id=name)


# ---- what was found ----


def header(found: Explanation, title: str) -> Markup:
    total = sum(found.parts.values()) or 1.0
    there = [(state, found.parts[state]) for state in pictures.STATES if found.parts[state] > 0]
    bars = [element("div", class_=state, style=f"width:{100 * part / total:.2f}%") for state, part in there]
    keys = [
        element("li", element("i", class_=state), f"{state} {percent_text(part / total)}")
        for state, part in there
    ]
    size = f"{len(found.trace.parts)} ranks, {time_text(found.seconds)}"
    host = sorted({part.head.get("host", "") for part in found.trace.parts} - {""})
    where = f", on {host[0]}" if len(host) == 1 else f", on {len(host)} hosts" if host else ""
    return element(
        "header",
        element("h1", title),
        element("p", size + where, class_="lead"),
        element("p", verdict_of(found), class_="verdict"),
        element("div", bars, class_="whole", role="img", aria_label="What the ranks did, together"),
        element("ul", keys, class_="key"),
        notes(found),
    )


def notes(found: Explanation) -> Markup | None:
    if not found.notes:
        return None
    told = [element("li", text) for text in found.notes[:ROWS_MAX]]
    if len(found.notes) > ROWS_MAX:
        told.append(element("li", f"and {len(found.notes) - ROWS_MAX} more"))
    return element("div", element("strong", "The trace is not whole"), element("ul", told), class_="warnings")


def findings(found: Explanation) -> Markup:
    items = []
    for one in found.findings:
        gain = element(
            "div", percent_text(one.gain_share), element("small", f"{time_text(one.gain_seconds)} at most")
        )
        words = element(
            "div",
            element("p", capital(one.text) + "."),
            element("p", capital(one.advice) + ".", class_="advice"),
        )
        items.append(element("li", element("div", gain, class_="gain"), words, class_="finding"))
    about = (
        "What the program would gain at most if this alone were mended. The percentages do not add up."
        if items
        else None
    )
    return section(
        "findings",
        "What could be gained",
        element("p", about, class_="lead") if about else element("p", verdict_of(found)),
        element("ol", items, class_="findings") if items else None,
        element("p", f"Not recorded, so not judged: {found.lacking()}.", class_="about")
        if found.lacking()
        else None,
    )


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---- the timeline ----


def times(found: Explanation, way: list[Piece]) -> Markup:
    course = found.course
    count = len(course.lanes)
    height = min(max(FIELD_HEIGHT / count, LANE_MIN), LANE_MAX) * count
    labels = []
    every = max(1, round_up(LABEL_HEIGHT * count / height))
    for number in range(0, count, every):
        labels.append(
            element(
                "span",
                lane_text(course, number),
                class_="rank",
                style=f"top:{100 * (number + 0.5) / count:.3f}%",
            )
        )
    ticks = [
        element("span", text, class_="tick", style=f"left:{100 * share:.2f}%")
        for share, text in axis(course.seconds)
    ]
    keys = [
        element("li", element("i", class_=state), state)
        for state in pictures.STATES
        if found.parts[state] > 0
    ]
    keys.append(element("li", element("i", class_="path"), "critical path"))
    lead = "A row is a rank. What is shorter than a point mixes into its color."
    return section(
        "timeline",
        "Timeline",
        element("p", lead, class_="lead"),
        element("ul", keys, class_="key"),
        element(
            "div",
            element("img", src=pictures.timeline(course), alt="What each rank does when"),
            path_line(course, way),
            labels,
            ticks,
            class_="lanes",
            style=f"height:{height:.0f}px",
        ),
    )


def round_up(value: float) -> int:
    """To 1, 2, 4, 8, …"""
    number = 1
    while number < value:
        number *= 2
    return number


def lane_text(course: Course, number: int) -> str:
    lane = course.lanes[number]
    several = len({one.rank for one in course.lanes}) < len(course.lanes)
    return f"{lane.rank}.{lane.timeline.thread}" if several else str(lane.rank)


def axis(seconds: float) -> list[tuple[float, str]]:
    """Places from 0 to 1, and what stands there."""
    if seconds <= 0:
        return [(0.0, "0")]
    step = 10.0 ** np.floor(np.log10(seconds / 4))
    while seconds / step > 7:
        step *= 2 if seconds / (2 * step) >= 4 else 5
    return [
        (number * step / seconds, time_text(number * step) if number else "0")
        for number in range(int(seconds / step) + 1)
    ]


def path_line(course: Course, way: list[Piece]) -> Markup:
    corners: list[tuple[float, int]] = []
    short = course.seconds / 2000 if len(way) > CORNERS_MAX else 0.0
    for piece in way:
        if piece.end - piece.begin < short:
            continue
        if len(corners) > 1 and corners[-1][1] == piece.lane:
            corners[-1] = piece.end, piece.lane
        else:
            corners += [(piece.begin, piece.lane), (piece.end, piece.lane)]
    scale = 1000 / max(course.seconds, 1e-12)
    points = " ".join(f"{(time - course.begin) * scale:.1f},{lane + 0.5}" for time, lane in corners)
    return element(
        "svg",
        element("polyline", points=points, class_="path"),
        viewBox=f"0 0 1000 {len(course.lanes)}",
        preserveAspectRatio="none",
        aria_label="The critical path",
        role="img",
    )


def spans_json(course: Course) -> str:
    """What the pointer can ask for: of each lane begin, end (seconds from the begin) and number of a text."""
    every = []
    for number, lane in enumerate(course.lanes):
        for step in lane.steps:
            if step.gap > 0:
                at = course.place_before(step)
                every.append(
                    (
                        step.gap,
                        number,
                        step.begin - step.gap,
                        step.begin,
                        f"computing{' after ' + at if at else ''}",
                    )
                )
            if step.end > step.begin:
                every.append((step.end - step.begin, number, step.begin, step.end, call_text_of(step)))
    every.sort(key=lambda one: -one[0])
    texts: dict[str, int] = {}
    rows: list[list] = [[] for _ in course.lanes]
    for _, number, begin, end, text in every[:SPANS_MAX]:
        span = [
            round(begin - course.begin, 9),
            round(end - course.begin, 9),
            texts.setdefault(text, len(texts)),
        ]
        rows[number].append(span)
    unit, scale = next(
        ((name, 1 / size) for size, name in ((1, "s"), (1e-3, "ms")) if course.seconds >= size), ("µs", 1e6)
    )
    document = {
        "seconds": course.seconds,
        "scale": scale,
        "unit": unit,
        "digits": 3,
        "lanes": [f"rank {lane_text(course, number)}" for number in range(len(course.lanes))],
        "texts": list(texts),
        "spans": [sorted(row) for row in rows],
    }
    return json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")


def call_text_of(step) -> str:
    text = step.name + (f" at {step.at}" if step.at else "")
    if not step.waits:
        return text
    wait = step.waits[-1]
    return f"{text}, waits {time_text(wait.seconds)} for rank {wait.late.place.rank}"


def the_path(found: Explanation, way: list[Piece]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", percent_text(share), class_="number"),
            element("td", text, class_="wide"),
            element("td", ranks_text(of_ranks), class_="wide"),
        )
        for text, of_ranks, share in shares(way, found.course.seconds)[:ROWS_MAX]
        if share >= 0.001
    ]
    lead = "The program's end followed from these, without a gap: to make it shorter, make these shorter."
    return section(
        "path",
        "Critical path",
        element("p", lead, class_="lead"),
        table(["of the time", "what", "ranks"], rows, numbers=1),
    )


def table(titles: list[str], rows: list, numbers: int = 0, class_: str | None = None) -> Markup:
    """The first `numbers` columns are numbers."""
    heads = [
        element("th", text, class_="number" if place < numbers else None) for place, text in enumerate(titles)
    ]
    made = element("table", element("thead", element("tr", heads)), element("tbody", rows), class_=class_)
    return element("div", made, class_="scroll", tabindex=0)


# ---- ranks, messages, functions ----


def ranks(course: Course) -> Markup:
    seconds = pictures.sums(course)
    whole = max(course.seconds, 1e-12)
    lead = "From the end of MPI_Init to the program's end."
    keys = [element("li", element("i", class_=state), state) for state in pictures.STATES]
    if len(course.lanes) <= 2 * ROWS_MAX:
        cells = []
        for number, of_lane in enumerate(seconds):
            parts = [
                element(
                    "div",
                    class_=state,
                    style=f"width:{100 * part / whole:.2f}%",
                    title=f"{state} {time_text(part)}",
                )
                for state, part in zip(pictures.STATES, of_lane, strict=True)
            ]
            cells += [
                element("span", f"rank {lane_text(course, number)}"),
                element("div", parts, class_="bar"),
            ]
        shown = element("div", cells, class_="bars")
    else:
        shown = joined(
            element(
                "img", src=pictures.stacked(seconds / whole), alt="Shares of each rank", class_="stacked"
            ),
            element(
                "p",
                f"From left to right ranks 0 to {len(course.lanes) - 1}, the whole time high.",
                class_="about",
            ),
            extremes(course, seconds),
        )
    return section(
        "ranks", "Ranks", element("p", lead, class_="lead"), element("ul", keys, class_="key"), shown
    )


def extremes(course: Course, seconds: np.ndarray) -> Markup:
    rows = []
    for place, state in enumerate(pictures.STATES):
        column = seconds[:, place]
        if not column.any():
            continue
        least, most = int(column.argmin()), int(column.argmax())
        cells = (
            f"{time_text(column[least])} (rank {lane_text(course, least)})",
            time_text(float(np.median(column))),
            f"{time_text(column[most])} (rank {lane_text(course, most)})",
        )
        rows.append(element("tr", element("td", state), [element("td", text) for text in cells]))
    return table(["", "least", "median", "most"], rows)


def amounts_of(course: Course) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and messages of sends and accesses from each rank to each other."""
    size = max(part.rank for part in course.trace.parts) + 1
    amounts, counts = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
    for part in course.trace.parts:
        columns = part.columns
        files = {number for number, name in part.functions.items() if is_file(name)}
        of_group = np.array(
            [
                number in part.groups and part.groups[number].kind == "file"
                for number in range(max([0, *part.groups]) + 1)
            ]
        )
        aimed = (columns["peer"] >= 0) & (columns["peer"] < size) & (columns["sent"] > 0)
        aimed &= ~of_group[columns["group"]] & ~np.isin(columns["function"], list(files))
        np.add.at(amounts[part.rank], columns["peer"][aimed], columns["sent"][aimed])
        np.add.at(counts[part.rank], columns["peer"][aimed], 1)
    return amounts, counts


def messages(course: Course) -> Markup | None:
    amounts, counts = amounts_of(course)
    if not amounts.any():
        return None
    size = len(amounts)
    pairs = np.argsort(-amounts, axis=None, kind="stable")[:ROWS_MAX]
    rows = []
    for pair in pairs:
        sender, receiver = divmod(int(pair), size)
        if amounts[sender, receiver] > 0:
            cells = (
                bytes_text(amounts[sender, receiver]),
                f"{counts[sender, receiver]:,}",
                f"{sender} to {receiver}",
            )
            rows.append(
                element(
                    "tr",
                    [
                        element("td", text, class_="number" if place < 2 else None)
                        for place, text in enumerate(cells)
                    ],
                )
            )
    largest = table(["bytes", "messages", "ranks"], rows, numbers=2)
    shown = (
        matrix_table(amounts)
        if size <= CELLS_MAX
        else element("div", matrix_picture(amounts), largest, class_="columns")
    )
    there = amounts[amounts > 0]
    lead = (
        f"{bytes_text(amounts.sum())} in {int(counts.sum()):,} messages and accesses between {len(there):,} "
        "pairs of ranks; "
        "of collectives only what a root sends is among them."
    )
    return section("messages", "Who sends to whom", element("p", lead, class_="lead"), shown)


def matrix_table(amounts: np.ndarray) -> Markup:
    most = amounts.max()
    size = len(amounts)
    rows = []
    for sender in range(size):
        cells = [
            element(
                "td",
                bytes_text(value) if value else "",
                class_="cell",
                style=f"background:rgba(40,116,190,{0.6 * value / most:.3f})" if value else None,
            )
            for value in amounts[sender]
        ]
        rows.append(element("tr", element("th", f"rank {sender}"), cells))
    return table(["from, to", *map(str, range(size))], rows, class_="matrix")


def matrix_picture(amounts: np.ndarray) -> Markup:
    size = len(amounts)
    there = amounts[amounts > 0]
    every = round_up(size / 16)
    labels = [
        element("span", str(rank), class_="rank", style=f"top:{100 * (rank + 0.5) / size:.2f}%")
        for rank in range(0, size, every)
    ]
    labels += [
        element("span", str(rank), class_="tick", style=f"left:{100 * (rank + 0.5) / size:.2f}%")
        for rank in range(0, size, 2 * every)
    ]
    image = element("img", src=pictures.matrix(amounts), alt="Bytes from each rank to each other")
    low, high = bytes_text(there.min()), bytes_text(there.max())
    about = (
        f"A row is a sender, a column a receiver; {low} each."
        if low == high
        else (f"A row is a sender, a column a receiver; pale {low}, dark {high}.")
    )
    return element(
        "div", element("div", image, labels, class_="square lanes"), element("p", about, class_="about")
    )


def functions(course: Course) -> Markup:
    sums: dict[tuple, list[float]] = collections.defaultdict(lambda: [0.0, 0.0, 0.0])
    for lane in course.lanes:
        for step in lane.steps:
            one = sums[step.name, step.at]
            one[0] += 1
            one[1] += step.end - step.begin
            one[2] += sum(wait.seconds for wait in step.waits)
    longest = sorted(sums.items(), key=lambda item: -item[1][1])
    rows = []
    for (name, at), (calls, seconds, waited) in longest[:ROWS_MAX]:
        cells = (time_text(seconds), time_text(waited) if waited else "", f"{int(calls):,}", name, at)
        rows.append(
            element(
                "tr",
                [
                    element("td", text, class_="number" if place < 3 else "wide")
                    for place, text in enumerate(cells)
                ],
            )
        )
    lead = "Of all ranks together, the longest first."
    if len(longest) > ROWS_MAX:
        lead += f" {len(longest) - ROWS_MAX} more are shorter."
    titles = ["time", "of it waiting", "calls", "function", "where"]
    return section("functions", "Calls", element("p", lead, class_="lead"), table(titles, rows, numbers=3))
