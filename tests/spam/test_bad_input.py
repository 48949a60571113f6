"""Whatever is wrong, spam says in one line, ends with status 1 (2 for a wrong command line) on any ranks,
and has overwritten nothing. What can be wrong inside an input file is tests/unit/spam/input_test.cpp's."""

import os

import pytest

RUN = ("run", "gas.toml", "--output", "out", "--quiet")


def refused(done, status=1):
    """The one line that it says, without its beginning."""
    assert done.returncode == status, done.text
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("spam: "), done.text
    return lines[0].removeprefix("spam: ")


@pytest.mark.parametrize("ranks", [1, 3])
def test_an_input_file_is_checked_before_anything_is_made(spam, gas, tmp_path, ranks):
    gas(("range = 3.0", "range = -3.0"))
    assert refused(spam(*RUN, ranks=ranks)).startswith("gas.toml:8: material.range: -3; expected")
    assert not (tmp_path / "out").exists()


def test_an_input_file_that_is_not_there(spam):
    assert refused(spam(*RUN, ranks=2)) == "gas.toml: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("options", "begin"),
    [
        (("--steps", -1), "--steps: -1; expected"),
        (("--engine", "paper"), '--engine: "paper"; expected blocked, list'),
        (("--mapping", "cylic(4)"), "--mapping: "),
        (("--engine", "list", "--threads", 2, "--update", "none"), '--update: "none" loses forces'),
        (("--restart", "nothing.spam"), "nothing.spam: "),
        (("--restart", "gas.toml"), "gas.toml: "),
    ],
)
def test_options_are_checked_as_keys_are(spam, gas, tmp_path, options, begin):
    gas()
    assert refused(spam(*RUN, *options, ranks=2)).startswith(begin)
    assert not list(tmp_path.glob("out/*"))


def test_more_ranks_than_columns(spam, gas):
    gas(
        ("width = 45.0", "width = 7.0"),
        ("x = 20.0", "x = 2.0"),
        ("x = 25.0", "x = 3.0"),
        ("x = 45.0", "x = 7.0"),
    )
    told = refused(spam(*RUN, ranks=3))
    assert told.startswith("gas.toml: space.width and space.cell_size make 2 columns of cells for 3 ranks")


@pytest.mark.parametrize(
    "words",
    [(), ("walk",), ("run",), (*RUN, "--steps", "many"), (*RUN, "--speed", 3), ("forces", "gas.toml")],
)
def test_a_wrong_command_line_is_told_once(spam, words):
    done = spam(*words, ranks=2)
    assert done.returncode == 2 and done.stdout == "", done.text
    assert done.stderr.count("Run with --help for more information.") == 1, done.text


def test_help_and_version_are_told_once(spam):
    for words, told in (
        (("--help",), "sweep"),
        (("run", "--help"), "cyclic(k):"),
        (("--version",), "spam 0."),
    ):
        done = spam(*words, ranks=2)
        assert done.returncode == 0 and done.stdout.count(told) == 1 and done.stderr == "", done.text


def test_an_earlier_run_is_overwritten_only_if_asked_for(spam, gas, tmp_path):
    gas()
    out = tmp_path / "out"
    done = spam(*RUN, ranks=2)
    assert done.returncode == 0 and done.stdout + done.stderr == "", done.text
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in out.iterdir()}
    assert {"run.json", "restart-4.spam", "snapshot-0.vtkhdf", "snapshot-4.vtkhdf"} == set(before)
    told = refused(spam(*RUN, ranks=2))
    assert told.startswith("--output out: holds a run already (") and told.endswith("--overwrite")
    assert refused(spam(*RUN, "--restart", "gas.toml", "--overwrite")).startswith("gas.toml: ")
    assert before == {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in out.iterdir()}

    (out / "notes.txt").write_text("the user's own")
    done = spam(*RUN, "--steps", 2, "--overwrite", ranks=2)
    assert done.returncode == 0, done.text
    names = {path.name for path in out.iterdir()}
    assert names == {"notes.txt", "run.json", "restart-2.spam", "snapshot-0.vtkhdf", "snapshot-2.vtkhdf"}


def test_a_directory_that_cannot_be_made_or_written(spam, gas, tmp_path):
    gas()
    (tmp_path / "out").write_text("a file")
    assert refused(spam(*RUN, ranks=2)).startswith("--output out: cannot be made: ")
    below = ("run", "gas.toml", "--output", "out/below")
    assert refused(spam(*below, ranks=2)) == "--output out/below: cannot be made: Not a directory"
    assert (tmp_path / "out").read_text() == "a file"


def test_a_table_of_forces_is_not_overwritten_either(spam, gas, tmp_path):
    gas()
    table = tmp_path / "forces.csv"
    table.write_text("mine")
    words = ("forces", "gas.toml", "--output", "forces.csv")
    assert refused(spam(*words, ranks=2)).startswith("--output forces.csv: is there already")
    assert table.read_text() == "mine"
    assert spam(*words, "--overwrite", ranks=2).returncode == 0
    lines = table.read_text().splitlines()
    assert lines[0] == "id,x,y,fx,fy,density" and len(lines) == 601
    assert refused(spam("forces", "gas.toml", "-o", "nowhere/forces.csv", ranks=2)).startswith(
        "nowhere/forces.csv: "
    )


def test_energy_that_is_not_conserved_ends_the_run(spam, gas):
    gas(
        ("time_step = 0.02", "time_step = 0.2"),
        more="[output]\ncheck_interval = 1\nenergy_tolerance = 1e-12\n",
    )
    assert "energy" in refused(spam(*RUN, ranks=2))


def test_a_step_that_is_far_too_long_ends_the_run(spam, gas):
    gas(("time_step = 0.02", "time_step = 50.0"))
    done = spam(*RUN, ranks=4)
    assert done.returncode != 0 and "particle" in done.stderr, done.text


def test_tools_that_are_not_there_are_named(spam, tmp_path, gas):
    program = tmp_path / "bin" / "spam"
    program.parent.mkdir()
    from harness import PREFIX, run_command

    os.link(PREFIX / "bin/spam", program)
    done = run_command(program, "sweep", environment={"LD_LIBRARY_PATH": PREFIX / "lib"})
    assert refused(done) == f"sweep needs {tmp_path}/libexec/tasuki/spam-tools: No such file or directory"
