"""make conformance: mpi4py's own test suite, file by file, on both ABIs of the library, as a table.

Each file runs as `mpiexec -n N python test/main.py -v -i FILE` from the unpacked sdist: in the `mpich` ABI
with the mpi4py of this environment (the wheel from PyPI), in the `standard` ABI with the one built by our
mpicc (build/mpi4py-abi). Every rank's report goes to a file of its own and is read back test by test: a
test failed when it failed in any rank, was skipped when all skipped it, and passed otherwise. A file that
does not end in time is killed with all its ranks and counts as failed, as does one that crashes.

waiting.json says what waits for parts of the library that do not exist yet, or for another wheel, and why:
whole files and single tests. They are not run (a test that fails in some of the ranks may leave the others
waiting); --all runs them, and counts those of the single tests that fail apart. Nothing else may fail. The
table is printed, build/conformance/report.json (--out names another folder) has all of it, --junit writes a
line a file and run for tests/run.py.

--under runs the suite once more under each of the named environments of tests/stress/protocols.py, in which
messages take other ways than they would choose: at 2 ranks in the standard ABI, with a table of its own.
"""

import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

from reading import judge
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "stress"))

from protocols import PROTOCOLS  # noqa: E402

ROOT = HERE.parents[1]
VERSION = "4.1.2"
UNDER_QUICK = {"two nodes": ("test_p2p_buf", "test_cco_buf")}
UNDER_QUICK_ELSE = ("test_p2p_buf", "test_p2p_buf_matched", "test_p2p_obj*")
# Others expect that all ranks share memory.
UNDER_LONG = {"two nodes": ("test_p2p_*", "test_cco_*", "test_comm*", "test_rma*", "test_file", "test_io")}
# Long, and the same at any number of ranks (one test of test_msgspec wants two): so many suffice.
LOCAL = {"test_datatype": 1, "test_util_dtlib": 1, "test_pack": 1, "test_msgspec": 2}
# When quick, these run in one ABI: what they test beyond the others is long and lies below the ABIs.
ONE_ABI = (
    "test_util_*",
    "test_datatype",
    "test_pack",
    "test_msgspec",
    "test_cco_pr_*",
    "test_cco_ngh_*",
    "test_rma_nb",
    "test_p2p_obj*",
)


@dataclasses.dataclass
class Run:
    """One file, under one ABI, at one number of ranks."""

    abi: str
    file: str
    ranks: int
    under: str = "default"  # the name of a protocol
    passed: int = 0
    skipped: int = 0
    failed: list = dataclasses.field(default_factory=list)
    waiting: list = dataclasses.field(default_factory=list)  # failed as waiting.json expects (--all)
    trouble: str = ""  # why the file as a whole failed
    seconds: float = 0.0
    output: str = ""

    @property
    def name(self):
        under = "" if self.under == "default" else f" under {self.under}"
        return f"{self.file} n={self.ranks}{under}"

    @property
    def good(self):
        return not self.failed and not self.trouble


class Waiting:
    """waiting.json: patterns of files and of tests (module.Class.test), of one ABI or of both, each with its
    reason."""

    def __init__(self, path):
        content = json.loads(path.read_text())
        self.files = content["files"]
        self.tests = {abi: {**content["tests"], **content[f"tests, {abi}"]} for abi in ("mpich", "standard")}

    def file(self, name):
        return next(
            (reason for pattern, reason in self.files.items() if fnmatch.fnmatch(name, pattern)), None
        )

    def test(self, run, name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.tests[run.abi])


def stop(process):
    """The launcher first, so that it can end its ranks; then everything that is left of its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=120)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
    process.wait()


class Suite:
    def __init__(self, args):
        self.args = args
        self.source = ROOT / "build" / f"mpi4py-{VERSION}"
        self.out = args.out
        self.waiting = Waiting(HERE / "waiting.json")

    def files(self):
        names = sorted(path.stem for path in (self.source / "test").glob("test_*.py"))
        if not names:
            sys.exit(f"{self.source}/test has no tests: make conformance unpacks mpi4py {VERSION} there")
        if self.args.files:
            return [name for name in names if matches(name, self.args.files)]
        return [name for name in names if self.args.all or not self.waiting.file(name)]

    def environment(self, run):
        foreign = ("PMI_", "PMIX_", "OMPI_", "SLURM_", "TASUKI_", "MPI4PY_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        environment.update({name: str(value) for name, value in PROTOCOLS[run.under].items()})
        if run.abi == "standard":
            environment["PYTHONPATH"] = str(ROOT / "build" / "mpi4py-abi")
        return environment

    def run(self, run):
        folder = self.out / "ranks" / f"{run.abi}-{run.file}-{run.ranks}-{run.under}".replace(" ", "_")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        # Ranks on several hosts may have the same process numbers, and have no /tmp in common.
        (folder / "tmp").mkdir()
        inner = f'TMPDIR="{folder}/tmp" exec "$@" 2>"{folder}/$(hostname)-$$.txt"'
        # Without --no-builddir each rank imports setuptools, to look for a build folder that is not there.
        python = [sys.executable, self.source / "test" / "main.py", "-v", "--no-builddir"]
        python += ["-i", rf"^{run.file}\.py$"]
        if not self.args.all:
            for pattern in self.waiting.tests[run.abi]:
                python += ["-x", pattern]
        words = [self.args.launcher, "-n", run.ranks, "sh", "-c", inner, "rank", *python]
        begin = time.monotonic()
        with (folder / "launcher.log").open("w") as log:
            process = subprocess.Popen(
                [str(word) for word in words],
                cwd=self.source,
                env=self.environment(run),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=self.args.timeout)
            except subprocess.TimeoutExpired:
                stop(process)
                status = None
        run.seconds = time.monotonic() - begin
        reports = [path.read_text(errors="replace") for path in sorted(folder.glob("*.txt"))]
        run.passed, run.skipped, failed = judge(reports)
        run.failed = [name for name in failed if not self.waiting.test(run, name)]
        run.waiting = [name for name in failed if self.waiting.test(run, name)]
        self.explain(run, status, reports, folder)

    def explain(self, run, status, reports, folder):
        """Why the file as a whole failed, if it did; and what to show of it."""
        finished = [report for report in reports if re.search(r"^Ran \d+ tests?", report, re.M)]
        if status is None:
            run.trouble = f"did not end within {self.args.timeout} s"
        elif len(finished) < run.ranks:
            missing = run.ranks - len(finished)
            run.trouble = f"{missing} of {run.ranks} ranks did not come to the end (exit status {status})"
        elif status != 0 and not run.failed and not run.waiting:
            run.trouble = f"mpiexec ended with exit status {status}, though no test failed"
        if not run.good:
            tails = ["\n".join(report.splitlines()[-40:]) for report in reports[:1]]
            log = (folder / "launcher.log").read_text(errors="replace")[-2000:]
            run.output = "\n".join([*tails, log, run.trouble, *run.failed])


def matches(file, patterns):
    return any(fnmatch.fnmatch(file, pattern) for pattern in patterns)


def plan_runs(args, files):
    runs = [Run(abi, file, ranks) for abi in args.abi for file in files for ranks in args.ranks]
    if args.quick:
        ranks = {"mpich": 2, "standard": 3}
        runs = [run for run in runs if run.ranks == LOCAL.get(run.file, ranks[run.abi])]
        runs = [run for run in runs if run.abi == "standard" or not matches(run.file, ONE_ABI)]
    runs = [] if args.under_only else runs
    for name in args.under:
        patterns = UNDER_QUICK.get(name, UNDER_QUICK_ELSE) if args.quick else UNDER_LONG.get(name, ("*",))
        chosen = [file for file in files if matches(file, patterns)]
        runs += [Run("standard", file, 2, name) for file in chosen if file not in LOCAL]
    return runs


def table_under(runs, names):
    """passed/failed by file, a column for each protocol."""
    table = Table(title="the standard ABI at 2 ranks, by protocol", title_justify="left", header_style="bold")
    table.add_column("file")
    for name in names:
        table.add_column(f"{name}: passed/failed", justify="right")
    by_file = {}
    for run in runs:
        if run.under != "default":
            failed = "0" if run.good else f"[red]{len(run.failed) or 'all'}[/]"
            by_file.setdefault(run.file, {})[run.under] = f"{run.passed}/{failed}"
    for file, row in by_file.items():
        table.add_row(file, *(row.get(name, "") for name in names))
    return table


def table_of(runs, abi, ranks_list):
    """passed/failed/skipped by file, a group of columns for each number of ranks."""
    table = Table(title=f"mpi4py {VERSION}, {abi} ABI", title_justify="left", header_style="bold")
    table.add_column("file")
    for ranks in ranks_list:
        table.add_column(f"n={ranks}: passed", justify="right")
        table.add_column("failed", justify="right")
        table.add_column("skipped", justify="right")
        table.add_column("s", justify="right", style="dim")
    by_file = {}
    for run in runs:
        if run.abi == abi and run.under == "default":
            by_file.setdefault(run.file, {})[run.ranks] = run
    for file, row in by_file.items():
        cells = []
        for ranks in ranks_list:
            if ranks not in row:
                cells += ["", "", "", ""]
                continue
            run = row[ranks]
            failed = "0" if run.good else f"[red]{len(run.failed) or 'all'}[/]"
            waiting = f" (+{len(run.waiting)})" if run.waiting else ""
            cells += [str(run.passed), failed + waiting, str(run.skipped), f"{run.seconds:.1f}"]
        table.add_row(file, *cells)
    return table


def write_junit(runs, path):
    """One testcase a file and run, with what failed in it."""
    suite = xml.etree.ElementTree.Element("testsuite", name="conformance")
    for run in runs:
        classname = f"mpi4py.{run.abi}"
        case = xml.etree.ElementTree.SubElement(suite, "testcase", classname=classname, name=run.name)
        if not run.good:
            printable = re.sub(r"[^\t\n\x20-\ufffd]", "?", run.output)
            xml.etree.ElementTree.SubElement(case, "failure").text = printable
    xml.etree.ElementTree.ElementTree(suite).write(path, encoding="unicode")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="patterns, for example test_p2p_*; default: all that count")
    parser.add_argument(
        "--prefix", type=pathlib.Path, default=ROOT / "build/prefix", help="the installed tree"
    )
    parser.add_argument("--launcher", help="mpiexec to use instead of the prefix's")
    parser.add_argument("--abi", default="mpich,standard")
    parser.add_argument("--ranks", default="1,2,3,4")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the mpich ABI at 2 ranks, the standard one at 3, local tests at fewer, some in one ABI",
    )
    parser.add_argument(
        "--timeout", type=int, default=1200, help="seconds for one file at one number of ranks"
    )
    parser.add_argument("--under", default="", metavar="NAME,…|all", help="also under these protocols")
    parser.add_argument("--under-only", action="store_true", help="under these alone")
    parser.add_argument("--all", action="store_true", help="run what waits for later parts as well")
    parser.add_argument(
        "--out", type=pathlib.Path, default=ROOT / "build/conformance", help="for all reports"
    )
    parser.add_argument("--junit", type=pathlib.Path)
    args = parser.parse_args()
    args.prefix, args.out = args.prefix.resolve(), args.out.resolve()
    args.launcher = args.launcher or args.prefix / "bin" / "mpiexec"
    args.ranks = [int(word) for word in args.ranks.split(",")]
    args.abi = args.abi.split(",")
    every = [name for name in PROTOCOLS if name != "default"]
    args.under = every if args.under == "all" else [name for name in args.under.split(",") if name]
    unknown = set(args.under) - set(PROTOCOLS)
    if unknown:
        parser.error(f"--under {', '.join(unknown)}: expected all or {', '.join(every)}")
    return args


def main():
    args = parse_arguments()
    suite, console = Suite(args), Console()
    console = console if console.is_terminal else Console(width=130)
    files = suite.files()
    runs = plan_runs(args, files)
    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(runs))
        for run in runs:
            progress.update(task, description=run.file)
            suite.run(run)
            progress.advance(task)
            if not run.good:
                told = ", ".join([run.trouble, *run.failed]) if run.trouble else ", ".join(run.failed)
                progress.console.print(f"{run.abi} {run.name}: {told}", style="red", markup=False)
    for abi in [] if args.under_only else args.abi:
        ranks_list = sorted({run.ranks for run in runs if run.abi == abi and run.under == "default"})
        console.print(table_of(runs, abi, ranks_list))
    if args.under:
        console.print(table_under(runs, args.under))
    suite.out.mkdir(parents=True, exist_ok=True)
    report = {"mpi4py": VERSION, "runs": [dataclasses.asdict(run) for run in runs]}
    (suite.out / "report.json").write_text(json.dumps(report, indent=1))
    if args.junit:
        write_junit(runs, args.junit)
    passed, failed = sum(run.passed for run in runs), sum(len(run.failed) + bool(run.trouble) for run in runs)
    skipped, waiting = sum(run.skipped for run in runs), sum(len(run.waiting) for run in runs)
    summary = f"{passed} passed, {failed} failed, {skipped} skipped"
    if args.all:
        summary += f", {waiting} failed as expected"
    console.print(f"{summary}; all in {suite.out / 'report.json'}", soft_wrap=True)
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
