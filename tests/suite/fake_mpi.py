"""A pretended MPI, for what real ones do not do on demand: its suite has cases that die, hang, or are absent.

make(prefix) writes bin/mpicxx, whose "program" is this file, and bin/mpiexec, which runs it once. The suite
follows docs/results.md and the words of mbl: --list, --cases FILE, --out FILE.
"""

import json
import os
import pathlib
import stat
import subprocess
import sys
import time

# id -> what happens
CASES = {
    "fake/first": "row",
    "fake/absent": "unsupported",
    "fake/deadly": "die",
    "fake/second": "row",
    "fake/endless": "hang",
    "other/third": "row",
}
SIZES = (8, 16, 32, 64)
# In the folder of FAKE_NOTES: the cases that were begun; the pid of a process that a hanging case starts.
BEGUN, LEFT_BEHIND = "begun", "left_behind"

MPICXX = """#!/bin/sh
case $1 in --version) echo 'fake compiler 1.0'; exit ;; esac
[ -z "$FAKE_BROKEN" ] || { echo 'error: no such thing' >&2; exit 1; }
while [ $# -gt 1 ]; do [ "$1" != -o ] || target=$2; shift; done
printf '#!/bin/sh\\nexec %s %s "$@"\\n' PYTHON FILE >"$target"
chmod +x "$target"
"""
MPIEXEC = """#!/bin/sh
case $1 in --version) echo 'Fake MPI 1.0'; exit ;; esac
export FAKE_RANKS=$2
shift 2
[ -z "$FAKE_DEAD" ] || { echo 'no ranks today' >&2; exit 7; }
"$@"
"""


def make(prefix):
    for name, text in (("mpicxx", MPICXX), ("mpiexec", MPIEXEC)):
        path = pathlib.Path(prefix) / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("PYTHON", sys.executable).replace("FILE", os.path.abspath(__file__)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return prefix


def row(name, size):
    group, benchmark = name.split("/")
    seconds = [1e-6, 1.1e-6, 0.9e-6]
    times = {"median_seconds": 1e-6, "low_seconds": 0.9e-6, "high_seconds": 1.1e-6}
    what = {"group": group, "benchmark": benchmark, "variant": {}, "ranks": int(os.environ["FAKE_RANKS"])}
    return {"id": name, **what, "bytes": size, "seconds": seconds, **times}


def hang():
    """With a child in a session of its own, which no launcher would find."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (pathlib.Path(os.environ["FAKE_NOTES"]) / LEFT_BEHIND).write_text(str(child.pid))
    time.sleep(600)


def run(cases, out):
    with open(out, "a") as file:

        def tell(document):
            print(json.dumps(document), file=file, flush=True)

        for line in pathlib.Path(cases).read_text().splitlines():
            name, size = line.split()
            tell({"begin": line})
            with (pathlib.Path(os.environ["FAKE_NOTES"]) / BEGUN).open("a") as begun:
                begun.write(f"{line}\n")
            time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
            if CASES[name] == "die":
                sys.exit("mbl: a rank died of it")
            elif CASES[name] == "hang":
                hang()
            elif CASES[name] == "unsupported":
                tell({"unsupported": line, "why": "MPI_Absent is not there"})
            else:
                tell(row(name, int(size)))
        tell({"end": True})


def main():
    words = sys.argv[1:]
    if "--list" in words:
        for name in CASES:
            for size in SIZES:
                print(
                    json.dumps(
                        {"id": name, "bytes": size, "ranks": int(os.environ["FAKE_RANKS"]), "doc": "a case"}
                    )
                )
    else:
        options = dict(zip(words[::2], words[1::2], strict=False))
        if os.stat(options["--cases"]).st_size:
            run(options["--cases"], options["--out"])


if __name__ == "__main__":
    main()
