"""Times algorithms, forced in turn: runs bench/algorithms.cpp, one job for each number of ranks.
messages.py asks for the ways of a message in the same form.

What a question costs is estimated before it is asked, so that a budget can be kept; a job that outlasts its
deadline is ended, and what it has told by then counts.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Thread, Timer

from tasuki.tuning import TuningError
from tasuki.tuning.cases import Case
from tasuki.tuning.programs import Programs

# As bench/algorithms.cpp has them.
TURN_SECONDS = 0.004
CALLS_BEFORE = 3
ROUNDS_MIN = 2
START_SECONDS = 0.3  # with less left no job is started
END_SECONDS = 5  # until a job that was asked to end is killed
WORDS_MAX = 400  # of one command line
CHOSEN_SECONDS_MAX = 60
JOB_SECONDS_MAX = 600  # of a job without a deadline: it hangs

Question = collections.namedtuple("Question", "case turns series")


def cost_seconds(question: Question, times: Mapping[str, float]) -> float:
    """About how long a question takes; `times`: of calls, as far as they are known or predicted."""
    total = 0.0
    for series in question.series:
        call = times.get(series, 1e-5)
        turn = max(TURN_SECONDS, ROUNDS_MIN * call) + CALLS_BEFORE * call
        total += (question.turns + 0.7) * turn + 4 * CALLS_BEFORE * call
    return total


def environment(**settings: str) -> dict[str, str]:
    """Ours, without the settings of the library and without a tuning table of the installation: as a job has
    it that wishes nothing. TASUKI_PROCESSOR stays: the formulas are asked with it, too."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TASUKI_") or name == "TASUKI_PROCESSOR"
    }
    return own | {"TASUKI_TUNING_FILE": ""} | settings


def word_of(question: Question) -> str:
    case = question.case
    return f"{case.operation}:{case.bytes}:{question.turns}:{','.join(question.series)}"


def ask(
    programs: Programs,
    questions: Iterable[Question],
    take: Callable[[Case, dict[str, list[float]]], None],
    deadline: float | None = None,
    options: Callable[[int], list[str]] = lambda ranks: [],
) -> bool:
    """Calls `take(case, {series: seconds of each turn})` as each answer comes. False: the deadline (of
    time.monotonic) came first. `options`: mpiexec's further ones for so many ranks."""
    by_ranks = collections.defaultdict(list)
    for question in questions:
        by_ranks[question.case.ranks].append(question)
    for ranks, own in by_ranks.items():
        for first in range(0, len(own), WORDS_MAX):
            words = [programs.algorithms, *map(word_of, own[first : first + WORDS_MAX])]
            launcher = [programs.mpiexec, *options(ranks), "-n", str(ranks)]
            if not run_command(launcher, words, ranks, take, deadline):
                return False
    return True


@contextlib.contextmanager
def bound_to(processors: set[int] | None):
    """What this thread starts meanwhile runs on these processors; None: wherever it may."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_command(launcher, words, ranks, take, deadline, processors: set[int] | None = None) -> bool:
    """A job that prints answers, on these processors. False: the deadline came first."""
    left = JOB_SECONDS_MAX if deadline is None else deadline - time.monotonic()
    if left <= START_SECONDS:
        return False
    begin = time.monotonic()
    with bound_to(processors):
        job = subprocess.Popen(
            [*launcher, *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    timer = Timer(left, job.terminate)
    complaints: list[str] = []
    reader = Thread(target=lambda: complaints.append(job.stderr.read()))
    reader.start()
    timer.start()
    try:
        for line in job.stdout:
            take_line(line, ranks, take)
    except BaseException:
        job.terminate()
        raise
    finally:
        end(job)
        timer.cancel()
        reader.join()
        job.stdout.close()
        job.stderr.close()
    late = time.monotonic() - begin >= left
    if job.returncode == 0 or (late and deadline is not None):
        return job.returncode == 0
    why = f"did not end within {JOB_SECONDS_MAX} s" if late else "".join(complaints).strip()[-500:]
    raise TuningError(f"{words[0]} with {ranks} ranks: {why}")


def chosen_by(
    programs: Programs,
    cases: Iterable[Case],
    table: os.PathLike | str,
    options: Callable[[int], list[str]] = lambda ranks: [],
) -> dict[Case, str]:
    """The algorithm that the library itself takes in each case, with this table; "": with none."""
    found = {}
    settings = {"TASUKI_TUNING_FILE": str(table), "TASUKI_TUNING_FOREIGN": "allow"} if table else {}
    by_ranks = collections.defaultdict(list)
    for case in cases:
        by_ranks[case.ranks].append(case)
    for ranks, own in by_ranks.items():
        for first in range(0, len(own), WORDS_MAX):
            words = [word_of(Question(case, 0, ["cheapest"])) for case in own[first : first + WORDS_MAX]]
            command = [
                programs.mpiexec,
                "--timeout",
                str(CHOSEN_SECONDS_MAX),
                *options(ranks),
                "-n",
                str(ranks),
            ]
            done = subprocess.run(
                [*command, programs.algorithms, *words],
                env=environment(**settings),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            if done.returncode != 0 or "TASUKI_TUNING_FILE" in done.stderr:
                raise TuningError(f"{programs.algorithms} with {table}: {done.stderr.strip()[-500:]}")
            for row in map(json.loads, done.stdout.splitlines()):
                case = Case(row["operation"], row["bytes"], row["ranks"])
                for one in row["rows"]:
                    found[case] = one["algorithm"]
    return found


def take_line(line: str, ranks: int, take) -> None:
    try:
        row = json.loads(line)
    except ValueError:
        return  # the last line of a job that was ended
    rows = {one["series"]: one["seconds"] for one in row["rows"]}
    # A turn without a time: the use of the data, which is taken off, took longer when it was measured.
    void = {turn for times in rows.values() for turn, seconds in enumerate(times) if seconds <= 0}
    rows = {
        series: [seconds for turn, seconds in enumerate(times) if turn not in void]
        for series, times in rows.items()
    }
    take(Case(row["operation"], row["bytes"], ranks), rows)


def end(job: subprocess.Popen) -> None:
    try:
        job.wait(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()
