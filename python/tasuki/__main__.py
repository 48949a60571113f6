"""The command `tasuki`, also as `python -m tasuki`: looks whether its packages are there, then runs cli.py.

Python before 3.11 must be able to read this file, to be told that it is too old.
"""

import importlib.util
import subprocess
import sys
from importlib import metadata

PYTHON_MIN = (3, 11)
TYPER_MIN = (0, 12)
PACKAGES = ("typer", "rich", "numpy", "scipy", "pandas", "matplotlib")


def main():
    if sys.version_info < PYTHON_MIN:
        version = ".".join(str(number) for number in sys.version_info[:2])
        sys.exit("tasuki: {} is Python {}, expected 3.11 or later".format(*(sys.executable, version)))
    if sys.argv[1:] == ["--version"]:  # needs none of the packages
        print_version()
        return
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        install = f"{sys.executable} -m pip install {' '.join(missing)}"
        hint = f"`{install}`, or set TASUKI_PYTHON to a Python that has them"
        sys.exit(f"tasuki: {sys.executable} has no {', '.join(missing)}: {hint}")
    typer = metadata.version("typer")
    if tuple(int(number) for number in typer.split(".")[:2]) < TYPER_MIN:
        hint = (
            f"`{sys.executable} -m pip install --upgrade typer`, or set TASUKI_PYTHON to a Python that has it"
        )
        sys.exit(f"tasuki: {sys.executable} has typer {typer}, expected 0.12 or later: {hint}")
    from tasuki import cli

    cli.main()


def print_version():
    """Of the tree that it belongs to, as its mpiexec tells it."""
    import tasuki

    told = subprocess.run([tasuki.mpiexec(), "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    print(told.strip().replace("mpiexec", "tasuki", 1))


if __name__ == "__main__":
    main()
