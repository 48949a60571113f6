"""What scripts share that run one program of this folder on our library alone."""

import argparse
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


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
