"""`tasuki report` as one types it: the files that it writes, and one clear line for what cannot be used."""

import json
import os
import pathlib
import subprocess
import sys

import made_runs
import pytest
from tasuki.commands import Refusal
from tasuki.commands import report as command

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"


def tasuki(*words, folder):
    return subprocess.run(
        [sys.executable, "-m", "tasuki.cli", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PYTHON)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("command")
    made_runs.run_of().save(path / "run.json")
    made_runs.run_of("mpich", 0.8, 2).save(path / "mpich.json")
    made_runs.run_of(groups=("start_up",)).save(path / "small.json")
    whole = (path / "run.json").read_text()
    (path / "half.json").write_text(whole[: len(whole) // 2])
    (path / "empty.json").write_text(json.dumps(json.loads(whole) | {"rows": []}))
    (path / "future.json").write_text(json.dumps(json.loads(whole) | {"tasuki_results": 99}))
    (path / "folder.html").mkdir()
    return path


def test_writes_page_and_picture(folder):
    done = tasuki("report", "run.json", "mpich.json", "-o", "a.html", "--png", "a.png", folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a.html\na.png\n", "")
    assert "Tasuki beside MPICH" in (folder / "a.html").read_text()
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words, told",
    [
        ({"results": ["nowhere.json"]}, "nowhere.json: No such file"),
        ({"results": ["half.json"]}, "half.json: is no whole JSON document"),
        ({"results": ["empty.json"]}, "empty.json: has no rows, expected at least one"),
        ({"results": ["small.json", "future.json"]}, "future.json: tasuki_results = 99, expected 1"),
        ({"out": "folder.html"}, "folder.html: Is a directory, expected a file that can be written"),
        ({"out": "no/where.html"}, "no/where.html: No such file or directory, expected a file"),
        ({"png": "small.png"}, "small.json: has no series of 3 sizes or more to draw"),
        ({"state": "close"}, "--state close: expected near or far"),
        ({"state": "far"}, "small.json: has no row that was measured with cache lines far"),
        ({"prediction": ["small.json"]}, "small.json: has no field tasuki_prediction"),
    ],
)
def test_refuses(folder, monkeypatch, words, told):
    monkeypatch.chdir(folder)
    chosen = {"results": ["small.json"], "out": "page.html", "png": None, "prediction": None} | words
    with pytest.raises(Refusal) as refused:
        command.report(**chosen)
    assert str(refused.value).startswith("report: ") and "\n" not in str(refused.value)
    assert told in str(refused.value)


def test_states_of_the_machine_are_told_and_taken_apart(folder, tmp_path):
    """The run in both states, its peer with lines far alone."""
    near, far = [80e-9, 80e-9], [480e-9, 480e-9]
    run, peer = made_runs.run_of(), made_runs.run_of("mpich", 0.8, 2)
    for place, row in enumerate(run.rows):
        row.line_seconds = near if place % 2 else far
    for row in peer.rows:
        row.line_seconds = far
    run.save(tmp_path / "run.json"), peer.save(tmp_path / "mpich.json")
    words = ("report", "run.json", "mpich.json", "-o", "page.html")
    done = tasuki(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert (
        "the machine was in two states" in page and "MPICH: cache lines far (480 ns there and back)" in page
    )
    assert "rows of mpich and tasuki are from different states" in page
    done = tasuki(*words, "--state", "far", "--png", "page.png", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "two states" not in page and "different states" not in page
    done = tasuki(*words, "--state", "near", folder=tmp_path)
    assert done.returncode == 0 and "MPICH has no row in common" in (tmp_path / "page.html").read_text()


def test_a_refusal_is_one_line(folder):
    done = tasuki("report", "half.json", folder=folder)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("tasuki: report: half.json: ") and done.stderr.count("\n") == 1
