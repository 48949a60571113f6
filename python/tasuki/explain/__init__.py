"""Where the time of a traced program went, ranked by what could be gained: `tasuki explain`.

The trace is laid out as a `Course`: each call ends after the calls of other ranks that it needs have begun,
and after work of its own. With nothing changed that gives the recorded times exactly. A finding is a change:
work that ranks share evenly, messages that come in time, many calls made one. What the program would take
with that change alone is computed, and the difference is the gain. So a gain is what the recorded run
could have saved at most, and the gains of several findings do not add up.
"""

from __future__ import annotations

import dataclasses

from tasuki import trace as traces
from tasuki.explain import calls, library, waits
from tasuki.explain.course import Course, is_file
from tasuki.explain.finding import Finding
from tasuki.units import percent_text, time_text

WORTH = 0.02  # of the program's time: smaller gains are none
ONE_SIDED = "what one-sided accesses wait for"
OF_THE_LIBRARY = (
    "the ways of messages (private buffers, derived types that were packed), unexpected messages and the "
    "algorithms of collectives, of which this library or this version of the trace tells nothing"
)


@dataclasses.dataclass
class Explanation:
    trace: traces.Trace
    seconds: float  # from the first MPI_Init's begin to the last rank's MPI_Finalize
    parts: dict[str, float]  # seconds of all ranks: computing, waiting, …
    findings: list[Finding]  # the largest gain first
    notes: list[str]
    course: Course
    priced: bool = False  # calls were compared with the machine's figures

    @property
    def efficient(self) -> bool:
        return not self.findings and not self.trace.troubles

    def document(self) -> dict:
        """For a JSON file."""
        return {
            "tasuki_explanation": 1,
            "trace": self.trace.path,
            "ranks": len(self.trace.parts),
            "seconds": self.seconds,
            "rank_seconds": self.parts,
            "efficient": self.efficient,
            "findings": [dataclasses.asdict(one) for one in self.findings],
            "notes": self.notes,
            "not_recorded": self.lacking(),
        }

    def text(self) -> str:
        return text_of(self)

    def lacking(self) -> str:
        """What cannot be judged."""
        return not_recorded(self.trace)


def explain(trace: traces.Trace, pricer=None, worth: float = WORTH, ask=None) -> Explanation:
    """What held the program up. `pricer`: a tasuki.pricing.Pricer, which knows what calls should take. `ask`
    gives source lines (tasuki.places.answers_of)."""
    course = Course(trace, ask)
    found_waits = [wait for lane in course.lanes for step in lane.steps for wait in step.waits]
    waits.find_chains(course, found_waits)
    init, whole = calls.init_of(trace, course)
    found = [
        *waits.chains(course, found_waits),
        *waits.late_ranks(course, found_waits),
        *waits.collectives(course, found_waits),
        *calls.small_messages(course, pricer),
        *calls.files(course),
        *calls.slow_calls(course, pricer),
        *library.two_copies(course, pricer),
        *library.algorithms(course),
        *library.queues(course),
        *calls.shared_processors(course),
        *init,
    ]
    for one in found:
        one.gain_share = one.gain_seconds / whole if whole > 0 else 0.0
    found = [one for one in found if one.gain_share >= worth]
    found.sort(key=lambda one: -one.gain_seconds)
    return Explanation(trace, whole, parts_of(course), found, notes_of(course), course, pricer is not None)


def parts_of(course: Course) -> dict[str, float]:
    """Seconds of all ranks together, after MPI_Init."""
    found = {"computing": 0.0, "waiting": 0.0, "communication": 0.0, "files": 0.0}
    for lane in course.lanes:
        for step in lane.steps:
            found["computing"] += step.gap
            found["waiting"] += sum(wait.seconds for wait in step.waits)
            found["files" if is_file(step.name) else "communication"] += step.work
    return found


def notes_of(course: Course) -> list[str]:
    notes = list(course.trace.troubles)
    if course.builder.unmatched:
        notes.append(f"{course.builder.unmatched} sends and receives have no other end in the trace")
    return notes


def not_recorded(trace: traces.Trace) -> str:
    """What cannot be judged, in words; of one-sided accesses only where there are windows."""
    lacking = [] if any(part.sites for part in trace.parts) else ["source lines"]
    libraries = [part.head.get("library", "") for part in trace.parts]
    if trace.version < 2 or not all(name.startswith("Tasuki") for name in libraries):
        lacking.append(OF_THE_LIBRARY)
    if any(name.startswith("MPI_Win_") for part in trace.parts for name in part.functions.values()):
        lacking.append(ONE_SIDED)
    return "; ".join(lacking)


def verdict_of(found: Explanation) -> str:
    """In a sentence."""
    if found.findings:
        one = found.findings[0]
        count = len(found.findings)
        what = "One thing holds" if count == 1 else f"{count} things hold"
        return (
            f"{what} it up; the first could gain {percent_text(one.gain_share)} of its time, "
            f"{time_text(one.gain_seconds)}."
        )
    if found.trace.troubles:
        return "Nothing was found that held the program up, but the trace is not whole."
    text = "The program is efficient: nothing in the trace would gain it 2 % or more."
    if not found.priced and found.parts["communication"] > 0.2 * sum(found.parts.values()):
        text += "\nWhether its calls are as fast as the machine allows: --run or --machine tells."
    return text


def text_of(found: Explanation) -> str:
    total = sum(found.parts.values()) or 1.0
    shares = ", ".join(
        f"{name} {percent_text(seconds / total)}" for name, seconds in found.parts.items() if seconds > 0
    )
    lines = [
        f"{found.trace.path}: {len(found.trace.parts)} ranks, {time_text(found.seconds)}",
        f"after MPI_Init: {shares}",
        "",
    ]
    if not found.findings:
        lines.append(verdict_of(found))
    for number, one in enumerate(found.findings, 1):
        lines.append(f"{number}. {one.text}.")
        lines.append(
            f"   Gain at most {time_text(one.gain_seconds)}, {percent_text(one.gain_share)}: {one.advice}."
        )
    lines += [""] + [f"note: {note}" for note in found.notes] if found.notes else []
    if found.lacking():
        lines += ["", f"Not recorded, so not judged: {found.lacking()}."]
    return "\n".join(lines)
