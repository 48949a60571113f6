"""The command `tasuki` of the installed tree: it finds its package and a Python wherever the tree lies, and
says what is missing where it cannot run."""

from __future__ import annotations

import shutil
import sys

import pytest
from test_install import PREFIX, ROOT, done, output

COMMANDS = ("bench", "fit", "predict", "explain", "tune", "compare", "report")


@pytest.fixture
def moved(tmp_path):
    tree = tmp_path / "somewhere else"
    shutil.copytree(PREFIX, tree, symlinks=True)
    return tree


def python_script(folder, *options):
    """A Python that is started with these options."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(options)} "$@"\n')
    script.chmod(0o755)
    return script


def test_help_names_every_command():
    told = output(PREFIX / "bin/tasuki", "--help")
    for command in COMMANDS:
        assert f"tasuki {command} " in told, command


def test_the_moved_tree_runs_its_own_package(moved, tmp_path):
    (tmp_path / "tasuki").symlink_to(moved / "bin/tasuki")
    assert "tasuki bench" in output(tmp_path / "tasuki", "--help")
    package = moved / "lib/tasuki/python"
    script = "import tasuki; print(tasuki.__file__, tasuki.prefix(), tasuki.share_dir('mbl'), sep='|')"
    told = output(sys.executable, "-c", script, PYTHONPATH=str(package)).split("|")
    assert told == [str(package / "tasuki/__init__.py"), str(moved), str(moved / "share/tasuki/mbl")]
    assert (moved / "share/tasuki/mbl/suite.hpp").exists()


def test_the_package_of_the_sources_finds_what_was_built():
    script = "import tasuki; print(tasuki.share_dir('mbl'), tasuki.results.VERSION, sep='|')"
    told = output(sys.executable, "-c", script, PYTHONPATH=str(ROOT / "python"))
    assert told == f"{ROOT / 'bench/mbl'}|1"


def test_it_runs_as_a_module():
    told = output(sys.executable, "-m", "tasuki", "--help", PYTHONPATH=str(ROOT / "python"))
    assert "tasuki report" in told


def test_a_python_without_the_packages_is_told_which(tmp_path):
    failed = done(PREFIX / "bin/tasuki", "--help", TASUKI_PYTHON=str(python_script(tmp_path, "-S")))
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1
    assert "has no typer, rich, numpy" in failed.stderr and "pip install typer" in failed.stderr


def test_a_typer_that_is_too_old_is_told(tmp_path):
    """As Debian 12's is."""
    folder = tmp_path / "typer-0.7.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: typer\nVersion: 0.7.0\n")
    failed = done(PREFIX / "bin/tasuki", "--help", PYTHONPATH=str(tmp_path))
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1
    assert "has typer 0.7.0, expected 0.12 or later" in failed.stderr


def test_a_python_that_is_not_there_is_named():
    failed = done(PREFIX / "bin/tasuki", TASUKI_PYTHON="no-such-python")
    assert failed.returncode == 127 and failed.stderr.count("\n") == 1
    assert "'no-such-python' is not there" in failed.stderr


def test_without_the_python_of_the_build_that_of_the_path_is_taken(moved):
    script = moved / "bin/tasuki"
    lines = script.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  python='"))
    lines[place] = "  python='/nowhere/python'"
    script.write_text("\n".join(lines) + "\n")
    folder = moved / "path"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    failed = done(script, "--help", PATH=f"{folder}:/usr/bin:/bin")
    assert failed.returncode == 0 or "has no typer" in failed.stderr  # a link to a venv's Python has no venv
