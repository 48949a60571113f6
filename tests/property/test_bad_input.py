"""Wrong arguments, one at a time, to every C function that the library has; see bad_input.py."""

import json

import pytest
from mpi_description import DESCRIPTION, LIBRARIES

CHAPTERS = ["p2p", "coll", "topology", "datatype", "object", "process", "io", "rma"]
# A chapter's wrong calls; bindgen adds to them with every function, so that they never become fewer.
CALLS_MIN = {
    "p2p": 900,
    "coll": 2000,
    "topology": 840,
    "datatype": 520,
    "object": 380,
    "process": 70,
    "io": 800,
}


@pytest.mark.parametrize("abi", LIBRARIES)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_wrong_argument_is_told_and_does_no_harm(mpi_python, tmp_path, chapter, abi):
    under_way = tmp_path / "call"
    done = mpi_python("bad_input.py", 1, chapter, under_way, abi=abi, timeout=300)
    assert done.returncode == 0, f"in {under_way.read_text().splitlines()[0]}\n{done.text}"
    wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert not wrong, "\n".join(wrong)
    calls = int(done.stdout.rsplit("right: ", 1)[1].split()[0])
    assert calls >= CALLS_MIN.get(chapter, 0)


def test_every_chapter_is_tested():
    chapters = {function["chapter"] for function in json.loads(DESCRIPTION.read_text())["functions"]}
    assert chapters == {*CHAPTERS, "tool"}
