"""`spam picture`, `spam film` and `spam sweep`, also as `python -m spam_tools`.

Looks whether the packages are there, then runs cli.py.

Python before 3.11 must be able to read this file, to be told that it is too old.
"""

import importlib.util
import sys

PYTHON_MIN = (3, 11)
PACKAGES = ("typer", "rich", "numpy", "scipy", "pandas", "matplotlib", "h5py")


def main():
    if sys.version_info < PYTHON_MIN:
        version = ".".join(str(number) for number in sys.version_info[:2])
        sys.exit("spam: {} is Python {}, expected 3.11 or later".format(*(sys.executable, version)))
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        install = f"{sys.executable} -m pip install {' '.join(missing)}"
        hint = f"`{install}`, or set TASUKI_PYTHON to a Python that has them"
        sys.exit(f"spam: {sys.executable} has no {', '.join(missing)}: {hint}")
    from spam_tools import cli

    cli.main()


if __name__ == "__main__":
    main()
