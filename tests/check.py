"""make check T=…: the loop of a developer, in well under a minute after a change.

T is a folder of tests/unit (p2p): builds and runs its unit tests, in the release build, and holds src/p2p
and tests/unit/p2p to the style. Or it is a folder or a file of tests with processes (ranks/test_windows.py,
also with ::test_name): builds and installs what changed, and runs it. Several are separated by spaces; the
first that fails ends it. Before a change lands, make test has to pass besides.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "release"
PYTEST = (sys.executable, "-m", "pytest", "-q", "--timeout", "300", "-p", "no:cacheprovider")


def unit_folders():
    return sorted({path.parent.name for path in (ROOT / "tests/unit").glob("*/*_test.cpp")})


def process_folders():
    return sorted({path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")})


def build_words(jobs, target):
    return ["cmake", "--build", BUILD, "-j", jobs, "--target", target]


def of_unit_folder(name, jobs):
    """The commands, each with its variables."""
    program = "spam_test" if name == "spam" else f"unit_{name}"
    places = [f"tests/unit/{name}/", "apps/spam/" if name == "spam" else f"src/{name}/"]
    tidy = [ROOT / "tests/tidy" / file for file in ("test_tidy.py", "test_short_path.py")]
    return [
        (build_words(jobs, program), {}),
        ([BUILD / "tests/unit" / program, "--gtest_brief=1"], {}),
        ([*PYTEST, *tidy], {"TASUKI_TIDY_ONLY": " ".join(places)}),
    ]


def of_path(path, jobs):
    install = ["cmake", "--install", BUILD, "--prefix", ROOT / "build" / "prefix"]
    return [(build_words(jobs, "all"), {}), (install, {}), ([*PYTEST, path], {})]


def commands_of(word, jobs):
    """None where there is no such thing."""
    if word in unit_folders():
        return of_unit_folder(word, jobs)
    name, colons, test = word.removeprefix("tests/").partition("::")
    folder = name.split("/")[0]
    known = folder in process_folders() and (ROOT / "tests" / name).exists()
    return of_path(f"{ROOT / 'tests' / name}{colons}{test}", jobs) if known else None


def run(words, variables):
    """Shows the output only of what fails, and of the tests themselves."""
    words = [str(word) for word in words]
    quiet = words[0] == "cmake"
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} if quiet else {}
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **variables}, **out)
    if quiet and done.returncode != 0:
        print(done.stdout)
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("what", nargs="*", metavar="T")
    args = parser.parse_args()
    begin = time.monotonic()
    chosen = {word: commands_of(word, args.jobs) for word in args.what}
    unknown = [word for word, commands in chosen.items() if commands is None]
    if unknown or not chosen:
        print(f"T={' '.join(unknown)}: expected a folder of unit tests:\n  {'  '.join(unit_folders())}")
        print("or a folder of tests with processes, or a file in it (ranks/test_windows.py):")
        print(f"  {'  '.join(process_folders())}")
        return 2
    for commands in chosen.values():
        for words, variables in commands:
            if run(words, variables) != 0:
                return 1
    print(f"passed, in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
