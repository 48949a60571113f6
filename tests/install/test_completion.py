"""What bash completes of mpiexec and tasuki, with the installed files; and that the files and the pages
of the commands are what the commands' own parsers say (make documents)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from test_install import PREFIX, ROOT, environment, output

sys.path.insert(0, str(ROOT / "tools"))

# Runs the function that `complete` has registered, as readline would: the line up to the cursor is completed.
COMPLETE = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
IFS=$' \t\n=:' read -ra COMP_WORDS <<<"$2"
set -- $2
function=$(complete -p "$1"); function=${function#*-F }; function=${function%% *}
compopt() { :; }
"$function"
printf '%s\n' "${COMPREPLY[@]}"
"""


def completed(line: str, folder=ROOT) -> list[str]:
    script = PREFIX / "share/bash-completion/completions" / line.split()[0]
    words = ["bash", "-uc", COMPLETE, "bash", script, line]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "solver.c").write_text("")
    (tmp_path / "hosts").write_text("")
    (tmp_path / "results").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mpiexec --bind-to n", ["none", "numa"]),
        ("mpiexec -n 4 --bind-to=s", ["share", "socket"]),
        ("mpirun -map-by so", ["socket"]),
        ("mpiexec --stats=j", ["json"]),
        ("mpiexec --hostfile h", ["hosts"]),
        ("mpiexec --wdir ", ["results"]),
        ("mpiexec --end", ["--end-on-deadlock"]),
        ("mpiexec -n ", []),
        ("mpiexec -n 2 ./x so", ["solver.c"]),
        ("mpiexec -n 1 ./x : --end", ["--end-on-deadlock"]),
        ("mpiexec --env A B --end", ["--end-on-deadlock"]),
        ("mpiexec --stats --end", ["--end-on-deadlock"]),
        ("mpiexec -n 1 ./x --end", []),
        ("tasuki re", ["report"]),
        ("tasuki --ver", ["--version"]),
        ("tasuki bench --qu", ["--quick"]),
        ("tasuki simulate --way d", ["data"]),
        ("tasuki fit so", ["solver.c"]),
        ("tasuki bench --folder ", ["results"]),
        ("tasuki nonsense -", []),
    ],
)
def test_bash_completes(line, expected, folder):
    assert completed(line, folder) == expected


def test_every_command_and_option_is_offered():
    assert set(completed("tasuki ")) >= {"bench", "fit", "io-chart", "tune", "--help"}
    offered = set(completed("mpiexec -"))
    told = {word for word in output(PREFIX / "bin/mpiexec", "--help").split() if word.startswith("--")}
    assert (
        len(told) > 50
        and {word for word in told if "=" not in word and word[-1].isalpha()} - {"--name"} <= offered
    )


def test_the_documents_are_what_the_commands_say():
    from documents.__main__ import files

    stale = [name for name, text in files(PREFIX).items() if (ROOT / name).read_text() != text]
    assert not stale, f"out of date, run make documents: {stale}"


def test_the_commands_have_clean_pages_where_man_looks():
    folder = PREFIX / "share/man/man1"
    commands = {path.name for path in (PREFIX / "bin").iterdir()} - {"spam"}
    assert commands <= {path.name.removesuffix(".1") for path in folder.iterdir()}
    pages = [path for path in folder.iterdir() if not path.read_text().startswith(".so")]
    assert output("mandoc", "-Tlint", "-Wwarning", *pages) == ""
    page = output("mandoc", "-Tutf8", "-O", "width=100", folder / "mpiexec.1")
    assert "end the job after that time, with exit status 124" in page
    assert len(list((PREFIX / "share/man/man3").iterdir())) == 690
