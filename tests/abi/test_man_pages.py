"""The manual pages of the functions: one for each, clean, and true of what the calls check."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bindgen import man_pages, mpi_functions  # noqa: E402

PAGES = man_pages.pages()


def test_every_function_has_a_page():
    assert {name.removesuffix(".3") for name in PAGES} == {f.name for f in mpi_functions.functions()}
    leads = {name: text for name, text in PAGES.items() if text.startswith(".so ")}
    assert len(leads) == 159 and all(name.endswith("_c.3") for name in leads)
    for text in leads.values():
        assert text.removeprefix(".so man3/").strip() in PAGES.keys() - leads.keys()


def test_the_collected_pages_are_divided_again(tmp_path):
    """As they are installed: by awk, page by page."""
    (tmp_path / "man3").mkdir()
    (tmp_path / "functions.man").write_text(man_pages.generate()[man_pages.FILE])
    words = ["awk", "-v", f"into={tmp_path}", "-f", ROOT / "cmake/man-pages.awk", tmp_path / "functions.man"]
    subprocess.run(words, check=True)
    assert {path.name: path.read_text() for path in (tmp_path / "man3").iterdir()} == PAGES


def test_the_pages_are_clean(tmp_path):
    files = []
    for name, text in PAGES.items():
        if not text.startswith(".so"):
            (tmp_path / name).write_text(text)
            files.append(tmp_path / name)
    words = ["mandoc", "-Tlint", "-Wwarning", *files]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, ""), told.stdout[:2000]
    for name, text in PAGES.items():
        left = re.search(r"[{}~$]|``|\\[a-d]|\bmpi(arg|code|func)\b", text.replace("\\&", ""))
        assert not left, f"{name} has {left.group(0)!r} of the standard's source"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("MPI_Send", ["dest", "a rank of the communicator, or MPI_PROC_NULL", "MPI_ERR_RANK"]),
        ("MPI_Send", ["tag", "from 0 to MPI_TAG_UB", "MPI_ERR_TAG"]),
        ("MPI_Win_lock", ["lock_type", "one of MPI's constants for it", "MPI_ERR_LOCKTYPE"]),
        ("MPI_Bcast", ["root", "a rank of the communicator; between groups", "MPI_ERR_ROOT"]),
        ("MPI_Waitall", ["array_of_requests", "requests, or MPI_REQUEST_NULL", "MPI_ERR_REQUEST"]),
    ],
)
def test_a_page_says_what_is_checked_of_an_argument(name, told):
    """tests/property/test_bad_input.py holds the calls to it."""
    parameters = PAGES[f"{name}.3"].split(".SH PARAMETERS")[1].split(".SH ")[0]
    argument, expected, error_class = told
    said = next(text for text in parameters.split(".TP\n") if text.startswith(f"\\fI{argument}\\fR"))
    flowing = " ".join(said.split())
    assert f"Expected: {expected}" in flowing and f"else {error_class}." in flowing, flowing


def test_a_page_has_the_signatures_of_all_languages():
    text = PAGES["MPI_Isend.3"]
    for line in (
        "int MPI_Isend_c(",
        "TYPE(*), DIMENSION(..), INTENT(IN), ASYNCHRONOUS :: buf",
        "! for large counts:",
        "<type> buf(*)",
    ):
        assert line in text, text
    assert "Fortran" not in PAGES["MPI_T_cvar_read.3"].split(".SH PARAMETERS")[0]
    assert "Where flag is false, status stays as it is." in PAGES["MPI_Test.3"]
    assert "Deprecated: call MPI_Comm_get_attr instead." in PAGES["MPI_Attr_get.3"]
