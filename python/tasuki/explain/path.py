"""The critical path: the calls and the computing that the program's end followed from, without a gap."""

from __future__ import annotations

import collections
import dataclasses

from tasuki.explain.course import Course, Step, is_file


@dataclasses.dataclass(slots=True)
class Piece:
    """A rank's time on the path. `at`: of computing the place of the call before it."""

    rank: int
    lane: int
    begin: float
    end: float
    kind: str  # computing, communication, files
    name: str = ""
    at: str = ""


def critical_path(course: Course) -> list[Piece]:
    """From the begin to the end. At a call that waited it goes over to the rank that was waited for."""
    places = {}
    for number, lane in enumerate(course.lanes):
        for index, step in enumerate(lane.steps):
            places[step] = number, index
    last = max((lane.steps[-1] for lane in course.lanes if lane.steps), key=lambda step: step.end)
    found: list[Piece] = []
    at, end = places[last], last.end
    for _ in range(2 * len(places)):
        step = course.lanes[at[0]].steps[at[1]]
        late = step.waits[-1].late if step.waits and step.waits[-1].late.begin < end else None
        begin = late.begin if late is not None else step.begin
        if end > begin:
            kind = "files" if is_file(step.name) else "communication"
            found.append(Piece(step.place.rank, at[0], begin, end, kind, step.name, step.at))
        if late is not None:
            at, step, end = places[late], late, late.begin
        else:
            end = step.begin
        if step.gap > 0:
            found.append(
                Piece(step.place.rank, at[0], end - step.gap, end, "computing", "", after_of(course, step))
            )
        if at[1] == 0:
            break
        at = at[0], at[1] - 1
        end = course.lanes[at[0]].steps[at[1]].end
    return found[::-1]


def after_of(course: Course, step: Step) -> str:
    return course.place_before(step) or ("MPI_Init" if step is step.place.steps[0] else "")


def shares(path: list[Piece], seconds: float) -> list[tuple[str, list[int], float]]:
    """What the path consists of, in words; the ranks; the share of the program's time. The largest first."""
    sums: dict[str, float] = collections.Counter()
    ranks: dict[str, dict[int, float]] = collections.defaultdict(collections.Counter)
    for piece in path:
        if piece.kind == "computing":
            text = f"computing after {piece.at}" if piece.at else "computing"
        else:
            text = f"{piece.name} at {piece.at}" if piece.at else piece.name
        sums[text] += piece.end - piece.begin
        ranks[text][piece.rank] += piece.end - piece.begin
    found = []
    for text, spent in sorted(sums.items(), key=lambda one: -one[1]):
        of_ranks = sorted(rank for rank, part in ranks[text].items() if part > 0.02 * spent)
        found.append((text, of_ranks, spent / seconds if seconds > 0 else 0.0))
    return found
