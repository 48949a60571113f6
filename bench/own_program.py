"""What scripts share that run one program of this folder, or rows of the suite, on our library alone."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PINGPONG = (
    "point_to_point/pingpong/mode=send,memory=malloc,touched={},layout=contiguous,receive=posted,cache=warm"
)


def make_parser(doc):
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="the installed tree")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return parser


def build(name, prefix, out):
    """The program, in the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    program = out / name
    flags = ("-O2", "-std=c++20", HERE / f"{name}.cpp", "-o", program)
    subprocess.run([prefix / "bin/mpicxx", *flags], check=True)
    return program


def run(words, seconds_max, environment=(), **options):
    """subprocess.run() of the words, with `environment` and without the user's settings."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI_")}
    variables.update(environment)
    return subprocess.run([str(word) for word in words], env=variables, timeout=seconds_max, **options)


def run_cases(prefix, options, cases, environment=()):
    """(id, bytes) -> the least seconds of each case of the suite, between two ranks; and what stderr says."""
    with tempfile.NamedTemporaryFile("w", suffix=".cases") as file:
        file.write("".join(f"{case} {size}\n" for case, size in cases))
        file.flush()
        words = [prefix / "bin/mpiexec", *options, "-n", 2, prefix / "libexec/tasuki/mbl"]
        words += ["--cases", file.name, "--budget", 0.05]
        done = run(words, 300, environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(row["id"], row["bytes"]): min(row["seconds"]) for row in rows if "id" in row}, done.stderr
