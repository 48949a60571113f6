"""Runs the benchmark suite with an MPI: each group's cases in a job of their own, row by row into a `Run`.

A case that dies or hangs costs its job, becomes a trouble by name, and the rest of the group goes on in a
new job. What a job leaves behind is ended with it. docs/results.md describes what comes out.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import pathlib
import tempfile
import time
from collections.abc import Callable

from tasuki import environment, launching, programs
from tasuki.implementation import Implementation, ImplementationError
from tasuki.results import ResultsError, Row, Run, row_of, summarise

QUICK_BUDGET, BUDGET = 0.08, 0.1  # seconds a case
WIDTH = 0.05
CASE_LIMIT_MIN, CASE_LIMIT_BUDGETS = 30.0, 100  # how long a case may take before it counts as hanging
LIST_LIMIT = 120.0
POLL_SECONDS = 0.25
DEATHS_MAX = 2  # of one benchmark: then its other sizes are left out
WHOLE_JOBS = {"mpi": "mpiexec, MPI_Init and MPI_Finalize", "true": "mpiexec with a program that does nothing"}
WHOLE_JOBS_MIN, WHOLE_JOBS_MAX = 3, 20
WHOLE_JOBS_BUDGETS = 100  # a whole job is a long thing: so many times a case's budget for its samples


@dataclasses.dataclass(frozen=True)
class Case:
    """A benchmark in one variant at one size; `ranks` are those that take part."""

    id: str
    bytes: int
    ranks: int
    doc: str = ""

    @property
    def group(self) -> str:
        return self.id.split("/", 1)[0]

    @property
    def name(self) -> str:
        return f"{self.id} {self.bytes}"


@dataclasses.dataclass
class Settings:
    """What is measured, and for how long."""

    ranks: list[int] = dataclasses.field(default_factory=lambda: [2])
    quick: bool = False
    budget_seconds: float | None = None  # for a case's samples; None: BUDGET, or QUICK_BUDGET
    width: float = WIDTH
    cold: bool = False
    thread_multiple: bool = False  # MPI is begun so; one thread calls it all the same
    threads: int = 0  # the most of a rank that call at the same time: point_to_point/threads
    only: list[str] = dataclasses.field(default_factory=list)
    case_limit_seconds: float | None = None
    folder: str = ""  # where files are made by the group io; empty: a temporary one

    def __post_init__(self) -> None:
        if self.budget_seconds is None:
            self.budget_seconds = QUICK_BUDGET if self.quick else BUDGET

    def limit(self) -> float:
        return self.case_limit_seconds or max(CASE_LIMIT_MIN, CASE_LIMIT_BUDGETS * self.budget_seconds)

    def threads_words(self) -> list[str]:
        return ["--threads", str(self.threads)] if self.threads else []

    def description(self) -> dict:
        """The field `settings` of docs/results.md."""
        names = (
            "budget_seconds",
            "width",
            "quick",
            "cold",
            "thread_multiple",
            "threads",
            "ranks",
            "only",
            "folder",
        )
        return {name: getattr(self, name) for name in names}


class Watch:
    """Is told how a measurement goes on. This one does not care."""

    def begin(self, cases: int) -> None:
        """So many cases are to come."""

    def stage(self, text: str) -> None:
        """What happens now."""

    def done(self, cases: int) -> None:
        """So many more are done, or will not come."""

    def trouble(self, text: str) -> None:
        """Something went wrong, and the rest goes on."""


def list_cases(
    implementation: Implementation, program: pathlib.Path, settings: Settings, ranks: int
) -> list[Case]:
    """What can be measured among so many ranks."""
    options = ["--quick"] * settings.quick + settings.threads_words()
    words = implementation.launch(ranks, program, "--list", *options)
    with launching.Job(words, implementation.variables()) as job:
        status = job.wait(LIST_LIMIT)
        if status != 0:
            wrong = why(status, LIST_LIMIT, job)
            raise ImplementationError(f"{implementation.name}: {' '.join(words)}: {wrong}")
        if implementation.tuning and implementation.tuning in job.errors():
            raise ImplementationError(f"{implementation.name} does not take the table: {job.complaint()}")
        told = job.text()
    cases = [Case(f"start_up/job/program={name}", 0, ranks, doc) for name, doc in WHOLE_JOBS.items()]
    for line in told.splitlines():
        if line.startswith("{"):
            known = json.loads(line)
            cases.append(Case(known["id"], known["bytes"], known["ranks"], known["doc"]))
    return cases


def chosen(cases: list[Case], only: list[str]) -> list[Case]:
    """Those whose ids begin with one of the words, part by part: "rma/put" is not "rma/putting"."""
    known = sorted({"/".join(case.id.split("/")[:2]) for case in cases})
    for word in only:
        if not any(is_within(case.id, word) for case in cases):
            groups = sorted({case.group for case in cases})
            near = [name for name in known if name.split("/")[0] == word.split("/")[0]] or groups
            raise ResultsError(
                f"--only {word}: there is no such benchmark; expected one of {', '.join(near)}"
            )
    return [case for case in cases if not only or any(is_within(case.id, word) for word in only)]


def is_within(case: str, word: str) -> bool:
    word = word.rstrip("/")
    return case == word or case.startswith((word + "/", word + ","))


def measure(
    implementation: Implementation,
    settings: Settings,
    run: Run | None = None,
    watch: Watch | None = None,
    save: Callable[[Run], None] = lambda run: None,
    work: pathlib.Path | None = None,
) -> Run:
    """All cases, into a new run or one that is gone on with; `save` is called whenever a group is done.
    KeyboardInterrupt passes through, and `run` has what was measured until then."""
    session = Session(implementation, settings, run, watch, work)
    try:
        for group in session.groups():
            session.measure(group)
            save(session.run)
    finally:
        session.close()
    return session.run


def take_turns(sessions: list[Session], rounds: int, save: Callable[[Run], None] = lambda run: None) -> None:
    """Group by group and round after round, so that a machine that gets slower meets all alike; who begins
    changes from round to round. Sessions with `rounds` set."""
    groups = list(dict.fromkeys(group for session in sessions for group in session.groups()))
    for turn in range(rounds):
        shift = turn % len(sessions)
        for group in groups:
            for session in sessions[shift:] + sessions[:shift]:
                if group in session.cases:
                    session.measure(group)
        for session in sessions:
            save(session.run)


class Session:
    """The suite with one MPI: what is to be done, and what has been. `measure()` takes group by group, so
    that several MPIs can take turns."""

    def __init__(self, implementation, settings, run=None, watch=None, work=None, rounds=False):
        """`rounds`: a group may be measured again, which gives its rows more samples."""
        self.implementation, self.settings, self.rounds = implementation, settings, rounds
        self.in_rounds: dict[tuple[str, int, int], Row] = {}
        self.watch = watch or Watch()
        self.run = run if run is not None else Run({}, {}, settings.description(), [])
        self.run.troubles.clear(), self.run.left_out.clear()
        self.watch.stage(f"{implementation.name}: building the suite")
        self.program = programs.build(implementation, work)
        self.describe()
        self.scratch = tempfile.TemporaryDirectory(prefix="tasuki-bench-", dir=self.shared_folder(work))
        self.cases: dict[tuple[int, str], list[Case]] = {}
        self.list_all()

    def shared_folder(self, work: pathlib.Path | None) -> pathlib.Path | None:
        """Jobs start in a folder that all hosts see, as they see the suite; on one machine in any."""
        if not self.implementation.placement.hosts:
            return None
        folder = (
            pathlib.Path(self.settings.folder) if self.settings.folder else work or programs.work_folder()
        )
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        self.scratch.cleanup()

    def describe(self) -> None:
        one = self.implementation
        self.run.implementation = one.description()
        variables = one.variables()
        machine = environment.describe(variables)
        machine["compiler"] = environment.compiler_version(one.mpicxx, variables)
        machine["warnings"] = environment.doubts(machine, self.settings.ranks)
        if self.run.environment:  # gone on with: the machine's earlier doubts count too
            earlier = self.run.environment.get("warnings", [])
            machine["warnings"] = list(dict.fromkeys([*earlier, *machine["warnings"]]))
        self.run.environment = machine

    def list_all(self) -> None:
        """Cases by (ranks of the job, group); each is measured once, in the first job that can."""
        taken = {(case_id(row), row.bytes, row.ranks) for row in self.run.rows}
        every: list[Case] = []
        for ranks in self.settings.ranks:
            self.watch.stage(f"{self.implementation.name}: listing the cases of {ranks} ranks")
            cases = list_cases(self.implementation, self.program, self.settings, ranks)
            every += cases
            for case in cases:
                key = (case.id, case.bytes, case.ranks)
                if key not in taken:
                    taken.add(key)
                    self.cases.setdefault((ranks, case.group), []).append(case)
        wanted = set(chosen(every, self.settings.only))
        self.cases = {
            key: kept
            for key, cases in self.cases.items()
            if (kept := [case for case in cases if case in wanted])
        }

    def groups(self) -> list[tuple[int, str]]:
        return list(self.cases)

    def count(self) -> int:
        return sum(len(cases) for cases in self.cases.values())

    def measure(self, key: tuple[int, str]) -> None:
        """The cases of a group among so many ranks: their rows into the run."""
        ranks, group = key
        self.watch.stage(f"{self.implementation.name}, {ranks} ranks: {group}")
        whole = [case for case in self.cases[key] if case.id.startswith("start_up/job/")]
        for case in whole:
            self.whole_job(case, ranks)
        Group(self, ranks, [case for case in self.cases[key] if case not in whole]).measure()

    def whole_job(self, case: Case, ranks: int) -> None:
        """How long a job takes that does nothing else, from mpiexec's begin to its end."""
        one = self.implementation
        nothing = pathlib.Path(self.scratch.name) / "nothing"
        nothing.touch()
        words = ["true"] if case.id.endswith("=true") else [self.program, "--cases", nothing]
        seconds = []
        budget = WHOLE_JOBS_BUDGETS * self.settings.budget_seconds
        while len(seconds) <= WHOLE_JOBS_MIN or (len(seconds) <= WHOLE_JOBS_MAX and sum(seconds) < budget):
            with launching.Job(one.launch(ranks, *words), one.variables(), self.scratch.name) as job:
                status = job.wait(self.settings.limit())
                elapsed = time.monotonic() - job.begin
                if status != 0:
                    self.trouble(case.name, ranks, why(status, self.settings.limit(), job))
                    break
            seconds.append(elapsed)
        else:
            self.add(row_of_samples(case, seconds[1:], self.settings.width))  # the first one warmed up
        self.watch.done(1)

    def add(self, row: Row) -> None:
        """A new row, or, in a later round, more samples of one that is there."""
        key = (case_id(row), row.bytes, row.ranks)
        if not self.rounds:
            self.run.rows.append(row)
        elif key not in self.in_rounds:
            row.parts = [len(row.seconds)]
            self.in_rounds[key] = row
            self.run.rows.append(row)
        else:
            self.in_rounds[key].extend(row, self.settings.width)

    def leave_out(self, line: str) -> None:
        if line not in self.run.left_out:
            self.run.left_out.append(line)

    def trouble(self, name: str, ranks: int, text: str) -> None:
        line = f"{name} @{ranks}: {text}"
        if line not in self.run.troubles:
            self.run.troubles.append(line)
        self.watch.trouble(f"{self.implementation.name}: {line}")


class Group:
    """Cases that share a job as long as it lives."""

    def __init__(self, session: Session, ranks: int, cases: list[Case]):
        self.session, self.ranks = session, ranks
        self.waiting = {case.name: case for case in cases}  # in order
        self.current: str | None = None  # the case that the job is in
        self.ended = False  # the job has said that it is through
        self.deaths: collections.Counter[str] = collections.Counter()

    def measure(self) -> None:
        while self.waiting:
            before = len(self.waiting)
            trouble = self.one_job()
            if trouble is None and not self.waiting:
                return
            trouble = trouble or "the program ended without a word"
            if self.current is not None:
                self.give_up(self.current, trouble)
            elif len(self.waiting) == before:
                self.session.trouble(f"{len(self.waiting)} cases of {self.group()}", self.ranks, trouble)
                self.session.watch.done(len(self.waiting))
                return

    def group(self) -> str:
        return next(iter(self.waiting.values())).group

    def give_up(self, name: str, trouble: str) -> None:
        """The case that was running when its job ended; after some deaths the benchmark's other sizes too."""
        case = self.waiting.pop(name)
        self.session.watch.done(1)
        self.deaths[case.id] += 1
        others = [other for other, one in self.waiting.items() if one.id == case.id]
        if self.deaths[case.id] >= DEATHS_MAX and others:
            trouble += f"; its other {len(others)} sizes are left out"
            for other in others:
                del self.waiting[other]
            self.session.watch.done(len(others))
        self.session.trouble(name, self.ranks, trouble)

    def one_job(self) -> str | None:
        """Runs what is waiting. Returns what went wrong, or None."""
        session, settings = self.session, self.session.settings
        self.current, self.ended = None, False
        with tempfile.TemporaryDirectory(dir=session.scratch.name) as made:
            folder = pathlib.Path(made)
            (folder / "cases").write_text("".join(f"{name}\n" for name in self.waiting))
            words = [session.program, "--cases", folder / "cases", "--out", folder / "rows"]
            words += ["--budget", f"{settings.budget_seconds:g}", "--width", f"{settings.width:g}"]
            words += ["--folder", settings.folder or folder] + ["--cold"] * settings.cold
            words += ["--thread-multiple"] * settings.thread_multiple
            words += settings.threads_words()
            one = session.implementation
            with launching.Job(one.launch(self.ranks, *words), one.variables(), folder) as job:
                return self.follow(job, folder / "rows", settings.limit())

    def follow(self, job: launching.Job, path: pathlib.Path, limit: float) -> str | None:
        """Takes the job's lines until it ends, or says nothing for too long."""
        rest, place, heard = "", 0, time.monotonic()
        while True:
            status = job.wait(POLL_SECONDS)
            text = ""
            if path.exists():
                with path.open() as file:
                    file.seek(place)
                    text = file.read()
                    place = file.tell()
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                self.take(json.loads(line))
            if lines:
                heard = time.monotonic()
            if status is not None:
                return None if status == 0 and self.ended else why(status, limit, job)
            if time.monotonic() - heard > limit:
                return why(None, limit, job)

    def take(self, told: dict) -> None:
        if "begin" in told:
            self.current = told["begin"]
        elif "end" in told:
            self.ended = True
        else:
            if "unsupported" in told:
                self.session.leave_out(f"{told['unsupported']} @{self.ranks}: {told['why']}")
            else:
                self.session.add(row_of(told, f"mbl's row of {self.current}"))
            self.waiting.pop(self.current, None)
            self.current = None
            self.session.watch.done(1)


def why(status: int | None, limit: float, job: launching.Job) -> str:
    told = job.complaint()
    text = f"no sign of life for {limit:g} s" if status is None else launching.status_text(status)
    return f"{text}: {told}" if told else text


def row_of_samples(case: Case, seconds: list[float], width: float) -> Row:
    group, benchmark, *variant = case.id.split("/")
    words = [word.partition("=") for word in variant[0].split(",")] if variant else []
    row = Row(
        group=group,
        benchmark=benchmark,
        variant={name: value for name, _, value in words},
        ranks=case.ranks,
        bytes=case.bytes,
        seconds=seconds,
        **summarise(seconds),
    )
    row.settled = row.high_seconds - row.low_seconds <= width * row.median_seconds
    return row


def case_id(row: Row) -> str:
    """As mbl names the benchmark of a row."""
    return row.series.rpartition("@")[0]
