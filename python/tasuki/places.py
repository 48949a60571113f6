"""Where in a program the calls of a trace were made: files and lines, which tasuki-source-lines knows.

A trace has of each place the file that holds the code, and the offset in it. That file is looked at when the
trace is read: if it is another one by now, or has no debug information, a function or the offset is told.
Of a call that Python makes it also has the line of Python: told where the code's own is not known, or is
mpi4py's.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess

import tasuki
from tasuki import trace as traces

SECONDS_MAX = 30
# Of mpi4py: where in its own code a call is made helps nobody.
PYTHON = re.compile(r"MPI(\.cpython|\.abi3|\.pypy|\.mpi)[^/]*\.so$")


@dataclasses.dataclass(frozen=True)
class Place:
    """A call in the program; `text` is short: halo.c:42."""

    text: str = ""
    function: str = ""
    source: str = ""
    line: int = 0


NOWHERE = Place()


def places_of(trace: traces.Trace, ask=None) -> dict[int, list[Place]]:
    """For each part (by id) its places by number; number 0 is none. `ask`: see answers_of."""
    wanted: dict[str, Place] = {}
    for part in trace.parts:
        wanted |= dict.fromkeys(part.sites.values(), NOWHERE)
    codes = {site: site.partition("\t") for site in wanted}
    answers = (ask or answers_of)(list(dict.fromkeys(code for code, _, _ in codes.values())))
    for site, (code, _, python) in codes.items():
        wanted[site] = place_of(code, python, answers.get(code, ("", "", 0)))
    found = {}
    for part in trace.parts:
        known = [NOWHERE] * (max([0, *part.sites]) + 1)
        for number, site in part.sites.items():
            known[number] = wanted[site]
        found[id(part)] = known
    return found


def place_of(code: str, python: str, answer: tuple[str, str, int]) -> Place:
    """`code`: "OFFSET INODE PATH"; `python`: "LINE FUNCTION FILE", or nothing; `answer` of answers_of."""
    function, source, line = answer
    fields = code.split(" ", 2)
    own = len(fields) == 3 and not PYTHON.search(fields[2])
    if own and source and line > 0:
        return Place(f"{pathlib.PurePath(source).name}:{line}", function, source, line)
    called = python.split(" ", 2)
    if len(called) == 3 and called[0].isdigit():
        return Place(f"{pathlib.PurePath(called[2]).name}:{called[0]}", called[1], called[2], int(called[0]))
    if not own:
        return NOWHERE
    module = pathlib.PurePath(fields[2]).name
    return Place(f"{function} in {module}" if function else f"{module}+0x{fields[0]}", function)


def answers_of(sites: list[str]) -> dict[str, tuple[str, str, int]]:
    """Function, source file and line of each site ("OFFSET INODE PATH") that tasuki-source-lines knows."""
    try:
        program = tasuki.prefix() / "libexec" / "tasuki-source-lines"
        if not sites or not program.exists():
            return {}
        asked = "".join(f"at {site}\n" for site in sites)
        done = subprocess.run(
            [str(program)],
            input=asked,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS_MAX,
            check=False,
        )
        told = done.stdout
    except subprocess.TimeoutExpired as late:
        told = (late.stdout or b"").decode(errors="replace")
    except OSError:
        return {}
    found = {}
    for line in told.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[0].isdigit() and fields[3].isdigit() and int(fields[0]) < len(sites):
            found[sites[int(fields[0])]] = fields[1], fields[2], int(fields[3])
    return found
