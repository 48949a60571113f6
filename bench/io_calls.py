"""make io-calls: the calls of strided access to files, by io_uring or without, over gaps or sieved.

bench/io_calls.cpp by 1 and 4 ranks, on tmpfs and in the folder for temporary files; its tables go to standard
output. docs/io.md has what they said on one machine.
"""

import pathlib
import tempfile

import own_program

TMPFS = pathlib.Path("/dev/shm")


def main():
    args = own_program.make_parser(__doc__).parse_args()
    program = own_program.build("io_calls", args.prefix, args.out)
    folders = [pathlib.Path(tempfile.gettempdir())]
    if TMPFS.is_dir():
        folders.insert(0, TMPFS)
    for folder in folders:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            for ranks in (1, 4):
                print(f"\n{folder}, {ranks} rank{'s' if ranks > 1 else ''}:\n", flush=True)
                words = [args.prefix / "bin/mpiexec", "-n", ranks, program, pathlib.Path(own) / "data"]
                own_program.run(words, 300, check=True)


if __name__ == "__main__":
    main()
