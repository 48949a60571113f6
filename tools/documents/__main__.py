"""Writes the manual pages and the shell completions of the commands: python -m documents --prefix TREE.

They are committed, below docs/man/generated and docs/completion, as what bindgen writes is; a test compares.
`make documents` runs this. The functions' pages are bindgen's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from documents import commands, completion, man  # noqa: E402


def files(prefix: Path) -> dict[str, str]:
    """The text of each file, by its place in the repository."""
    from tasuki import cli

    version = (ROOT / "CMakeLists.txt").read_text().split("project(tasuki VERSION ")[1].split()[0]
    mpiexec = commands.mpiexec(prefix / "bin/mpiexec")
    tasuki = commands.tasuki(cli.app, cli.HELP)
    pages = {"mpiexec.1": man.page(mpiexec, version, "mpiexec"), "mpirun.1": ".so man1/mpiexec.1\n"}
    for name, language in (("mpicc", "C"), ("mpicxx", "C++"), ("mpifort", "Fortran")):
        pages[f"{name}.1"] = man.page(commands.wrapper(prefix / "bin" / name, language), version, "mpicc")
    for name, other in (("mpic++", "mpicxx"), ("mpif77", "mpifort"), ("mpif90", "mpifort")):
        pages[f"{name}.1"] = f".so man1/{other}.1\n"
    pages["tasuki.1"] = man.overview(tasuki, version)
    for command in tasuki[1:]:
        pages[f"{command.name.replace(' ', '-')}.1"] = man.page(command, version, "tasuki")
    return {
        "docs/man/generated/commands.man": man.collected(pages),
        "docs/completion/mpiexec.bash": completion.bash_mpiexec(mpiexec),
        "docs/completion/tasuki.bash": completion.bash_tasuki(tasuki),
        "docs/completion/mpiexec.fish": completion.fish_mpiexec(mpiexec),
        "docs/completion/tasuki.fish": completion.fish_tasuki(tasuki),
        "docs/completion/mpiexec.zsh": completion.zsh_mpiexec(mpiexec),
        "docs/completion/tasuki.zsh": completion.zsh_tasuki(tasuki),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=Path, default=ROOT / "build/prefix")
    for name, text in files(parser.parse_args().prefix).items():
        path = ROOT / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"{name}: written")


if __name__ == "__main__":
    main()
