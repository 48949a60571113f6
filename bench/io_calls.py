"""make io-calls: the calls of strided access to files, by io_uring or without, over gaps or sieved.

bench/io_calls.cpp by 1 and 4 ranks, on tmpfs and in the folder for temporary files; its tables go to standard
output. docs/io.md has what they said on one machine.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TMPFS = pathlib.Path("/dev/shm")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="the installed tree")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    program = args.out / "io_calls"
    flags = ("-O2", "-std=c++20", HERE / "io_calls.cpp", "-o", program)
    subprocess.run([args.prefix / "bin/mpicxx", *flags], check=True)

    variables = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI_")}
    folders = [pathlib.Path(tempfile.gettempdir())]
    if TMPFS.is_dir():
        folders.insert(0, TMPFS)
    for folder in folders:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            for ranks in (1, 4):
                print(f"\n{folder}, {ranks} rank{'s' if ranks > 1 else ''}:\n", flush=True)
                words = [args.prefix / "bin/mpiexec", "-n", ranks, program, pathlib.Path(own) / "data"]
                subprocess.run([str(word) for word in words], env=variables, check=True, timeout=300)


if __name__ == "__main__":
    main()
