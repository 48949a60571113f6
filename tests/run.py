"""make test: starts every part of the tests and adds up what they report.

Tests with processes wait a good deal, so four parts run side by side; the longest begin first
(LONGEST_FIRST), so that none is left alone at the end. Those that only compute (COMPUTE) have a lower
priority. Tests of what mpiexec makes of ranks that stand still (ALONE) come before. What the unit tests
need is built all the while, at a low priority, and they are the next when it is there. They run under the
sanitizers; without any, which is the same tests once more (some of them larger: collectives of 64 simulated
ranks instead of 9), only with --long, but for those of SPAM, which is not built under one. --long also
builds everything with clang and runs the unit tests of that build, and runs the tests of PROCESSORS.

Each part leaves a JUnit file under build/test, from which its numbers come.
A part that ends otherwise than by its own account (a build that fails, a crash, a time-out) counts as one
failure. The last lines name what failed, and the very last is "N passed, N failed"; the exit status is 0 only
when nothing failed and something passed.

`--only NAME` runs a part or two (unit, thread, address-undefined, tidy, ranks …); `--long` runs all at full
size. build/test/times.txt has what each part took: seconds, and seconds of processors.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

from rich.console import Console

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
OUT = BUILD / "test"
console = Console(highlight=False, soft_wrap=True)

COMPUTE = {"abi", "analysis", "install", "models", "reading", "report", "tidy", "unit"}
ALONE = {"wrong", "faults"}
LONGEST_FIRST = (
    "thread address-undefined clang ranks hosts suite property conformance fortran spam models analysis "
    "tools tuning programs stress tidy report install safety abi unit reading"
).split()
SIDE_BY_SIDE = 4
NICE_BESIDE, NICE_BUILD = 5, 7
SECONDS_MAX = 7200  # of a part and of its builds: only what hangs takes so long, beside other work too

# The protocols of tests/stress that mpi4py's point-to-point tests see too, and the nodes its collectives.
UNDER = "all written,two nodes"

SANITIZER_OPTIONS = {
    "TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1",
    "ASAN_OPTIONS": "detect_leaks=1 detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclasses.dataclass
class Part:
    name: str
    command: list  # writes the JUnit file
    builds: list = dataclasses.field(default_factory=list)  # run in turn beforehand, beside other parts
    variables: dict = dataclasses.field(default_factory=dict)  # of the command, beside the environment


@dataclasses.dataclass
class Result:
    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    build_processor_seconds: float = 0.0
    broken: list = dataclasses.field(default_factory=list)  # (test's name, its output)


# Of the unit tests without a sanitizer: what is always built and run.
UNIT_QUICK = {"targets": ["spam_test"], "pattern": "^unit/spam_test$"}


# Tests that look at choices pass with the built-in parameters of each: values of TASUKI_PROCESSOR. With
# --long, or `--only unit-intel`, the folders unit, ranks and tuning run under each.
PROCESSORS = ("amd", "intel", "unknown")

# A second compiler, which builds everything.
CLANG = {
    "configuration": ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"],
    "targets": ["all", "unit_tests"],
}


def unit_part(name, jobs, sanitizer=None, configuration=(), targets=("unit_tests",), pattern=""):
    """The unit tests, or some: in the release build, or in one of this configuration or under a sanitizer."""
    if sanitizer:
        configuration = [f"-DTASUKI_SANITIZER={sanitizer}", *configuration]
    folder = BUILD / (name if configuration else "release")
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *configuration]
    build = ["cmake", "--build", folder, "-j", jobs, "--target", *targets]
    run = ["env", *(f"{name}={value}" for name, value in SANITIZER_OPTIONS.items())] if sanitizer else []
    run += ["ctest", "--test-dir", folder, "-j", jobs, "--timeout", 1800, "--output-on-failure"]
    run += ["-R", pattern] if pattern else []
    junit = ["--output-junit", OUT / f"{name}.xml"]
    return Part(name, run + junit, [*([configure] if configuration else []), build])


def pytest_part(name, folder, *options):
    """Tests that nobody may hang: a single test has 600 s at most."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--timeout",
        600,
        "-p",
        "no:cacheprovider",
        folder,
        *options,
    ]
    return Part(name, [*command, f"--junitxml={OUT / f'{name}.xml'}"])


def conformance_part(long):
    """mpi4py's suite: at 2 ranks in one ABI, at 3 in the other; --long: at 1 to 5 in both, each protocol."""
    command = [sys.executable, ROOT / "tests/conformance/run.py", "--prefix", BUILD / "prefix"]
    command += ["--ranks", "1,2,3,4,5", "--under", "all"] if long else ["--quick", "--under", UNDER]
    return Part("conformance", [*command, "--junit", OUT / "conformance.xml"])


def parts_of_long(jobs):
    """What runs with --long alone, or when it is asked for."""
    chosen = [unit_part("clang", jobs, **CLANG)]
    for processor in PROCESSORS:
        own = [unit_part(f"unit-{processor}", jobs)]
        for folder in ("ranks", "tuning"):
            own.append(pytest_part(f"{folder}-{processor}", ROOT / "tests" / folder))
        chosen += [dataclasses.replace(part, variables={"TASUKI_PROCESSOR": processor}) for part in own]
    return chosen


def parts(jobs, long):
    known = {"unit", "tidy", "conformance"}
    folders = sorted({path.parent for path in (ROOT / "tests").glob("*/test_*.py")} - {ROOT / "tests/tidy"})
    chosen = [pytest_part("tidy", ROOT / "tests/tidy")]
    for folder in folders:
        name = "reading" if folder.name == "conformance" else folder.name
        assert name not in known, name
        chosen.append(pytest_part(name, folder))
    chosen += [conformance_part(long), unit_part("unit", jobs, **({} if long else UNIT_QUICK))]
    # Address and undefined behaviour get along in one build, which saves a third.
    chosen.append(
        unit_part("thread", jobs, "thread", [f"-DTASUKI_ALL_UNDER_THREAD={'ON' if long else 'OFF'}"])
    )
    alignment = [f"-DTASUKI_CHECK_ALIGNMENT={'ON' if long else 'OFF'}"]
    chosen.append(unit_part("address-undefined", jobs, "address,undefined", alignment))
    return chosen


def read_junit(path, result):
    """Adds the numbers of a JUnit file. A testcase fails, errs, is skipped, or passed."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        trouble = case.find("failure") if case.find("failure") is not None else case.find("error")
        if trouble is not None:
            result.failed += 1
            text = (trouble.text or "") + (case.findtext("system-out") or "")
            name = f"{case.get('classname', '')}.{case.get('name')}"
            result.broken.append((name, text.strip() or trouble.get("message", "")))
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            result.skipped += 1
        else:
            result.passed += 1


def run_command(words, out, seconds_max, environment):
    """Its exit status (None: it did not end in time), and the seconds of processors of all its processes."""
    process = subprocess.Popen(
        words, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, cwd=ROOT
    )
    late = threading.Event()
    timer = threading.Timer(max(seconds_max, 1), lambda: (late.set(), process.kill()))
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if late.is_set() else process.returncode, usage.ru_utime + usage.ru_stime


def run_commands(commands, log, environment):
    """Runs them in turn, with their output in `log`, up to the first that fails: why it did, or None; and the
    seconds of processors."""
    begin, processor_seconds = time.monotonic(), 0.0
    with log.open("w") as out:
        for command in commands:
            words = [str(word) for word in command]
            left = SECONDS_MAX - (time.monotonic() - begin)
            status, seconds = run_command(words, out, left, environment)
            processor_seconds += seconds
            if status is None:
                return f"{words[0]} did not end within {SECONDS_MAX} s", processor_seconds
            if status != 0:
                return f"{' '.join(words)}: exit status {status}", processor_seconds
    return None, processor_seconds


def build_part(part, environment):
    """What went wrong, or None; and seconds of processors. The output is in NAME-build.log."""
    if not part.builds:
        return None, 0.0
    commands = [["nice", "-n", NICE_BUILD, *command] for command in part.builds]
    return run_commands(commands, OUT / f"{part.name}-build.log", environment)


def run_part(part, built, environment):
    """Runs a part, after its build_part(), which gave `built`."""
    result, begin = Result(part.name), time.monotonic()
    junit, log = OUT / f"{part.name}.xml", OUT / f"{part.name}-build.log"
    junit.unlink(missing_ok=True)
    trouble, result.build_processor_seconds = built
    if not trouble:
        log = OUT / f"{part.name}.log"
        beside = part.name in COMPUTE
        command = ["nice", "-n", NICE_BESIDE, *part.command] if beside else part.command
        own = environment | part.variables
        trouble, result.processor_seconds = run_commands([command], log, own)
    if junit.exists():
        read_junit(junit, result)
    if (trouble and result.failed == 0) or (not trouble and result.passed + result.skipped == 0):
        result.failed += 1
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-40:])
        result.broken.append((part.name, f"{tail}\n{trouble or 'no test ran'}"))
    result.seconds = time.monotonic() - begin
    return result


def show(result):
    mark = "[red]failed[/]" if result.failed else "[green]passed[/]"
    skipped = f", {result.skipped} skipped" if result.skipped else ""
    console.print(
        f"{result.name:<14} {mark}  {result.passed:5} passed, {result.failed} failed{skipped}  "
        f"[dim]{result.seconds:.0f} s[/]"
    )
    with (OUT / "times.txt").open("a") as times:
        words = f"{result.seconds:.0f} s, {result.processor_seconds:.0f} s of processors"
        if result.build_processor_seconds > 0:
            words += f" and {result.build_processor_seconds:.0f} s to build"
        print(f"{result.name}: {words}", file=times)
    for name, text in result.broken:
        console.print(f"\n--- {result.name}: {name}", style="red", markup=False)
        console.print("\n".join(text.splitlines()[-60:]), markup=False)


def in_order(chosen):
    """The parts that come first, alone; and the others in the order in which they are to begin."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    others = [part for part in chosen if part.name not in ALONE]
    others.sort(key=lambda part: places.get(part.name, len(places)))
    return [part for part in chosen if part.name in ALONE], others


def reason(text):
    """What pytest says of a failed assertion or error, or else the last line, as one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line[1:].strip() for line in lines if line.startswith("E ")] or lines[-1:]
    return " | ".join(said[:3])[:300]


def run_parts(chosen, jobs, environment):
    """Runs them all, as this file's head says, and shows each result when it is there."""
    results = []
    turn = threading.Lock()
    ready = queue.PriorityQueue()  # (place, part, the future of its build) of those that are built
    alone, others = in_order(chosen)
    builder = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    workers = concurrent.futures.ThreadPoolExecutor(max_workers=SIDE_BY_SIDE if jobs > 1 else 1)

    def build(place, part):
        built = builder.submit(build_part, part, environment)
        built.add_done_callback(lambda built: ready.put((place, part, built)))

    def run(part, built):
        result = run_part(part, built, environment)
        with turn:
            results.append(result)
            show(result)
            sys.stdout.flush()

    def run_next():
        _, part, built = ready.get()
        run(part, built.result())

    try:
        for place, part in sorted(enumerate(others), key=lambda other: bool(other[1].builds)):
            build(place, part)
        for part in alone:
            run(part, build_part(part, environment))
        for future in [workers.submit(run_next) for _ in others]:
            future.result()
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        builder.shutdown(cancel_futures=True)
        workers.shutdown()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--long", action="store_true", help="everything at full size")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PART", help="this part alone; repeatable"
    )
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "times.txt").unlink(missing_ok=True)
    known = [*parts(args.jobs, args.long), *parts_of_long(args.jobs)]
    names = [part.name for part in known]
    unknown = set(args.only) - set(names)
    if unknown:
        parser.error(f"--only {', '.join(unknown)}: expected {', '.join(names)}")
    chosen = known if args.long else parts(args.jobs, args.long)
    if args.only:
        chosen = [part for part in known if part.name in args.only]
    environment = dict(os.environ)
    if args.long:
        environment["TASUKI_TEST_LONG"] = "1"
    results = run_parts(chosen, args.jobs, environment)
    passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
    broken = [f"failed: {r.name}: {name}: {reason(text)}\n" for r in results for name, text in r.broken]
    summary = "".join(broken) + f"{passed} passed, {failed} failed\n"
    print(summary, end="", flush=True)
    (OUT / "summary.txt").write_text(summary)
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
