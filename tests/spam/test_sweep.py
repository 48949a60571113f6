"""`spam sweep` runs a grid of options and writes the paper's tables and figures of it."""

import csv

TABLES = ("table1", "table3", "table4", "table5")
FIGURES = ("figure3", "figure4", "figure5", "figure6", "figure7")


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_tables_and_figures_are_made(spam, gas, tmp_path):
    only = ",".join(TABLES + FIGURES)
    done = spam(
        "sweep", gas(), "-o", "swept", "--processors", "2", "--steps", "1", "--only", only, ranks=None
    )
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "swept/index.md").read_text()
    for name in TABLES + FIGURES:
        assert f"## {name[:-1].capitalize()} {name[-1]}. " in index
        assert rows_of(tmp_path / f"swept/{name}.csv"), name
    for name in FIGURES:
        assert (tmp_path / f"swept/{name}.png").read_bytes()[1:4] == b"PNG"
    assert not (tmp_path / "swept/runs").exists()
    flat, threads = rows_of(tmp_path / "swept/table3.csv"), rows_of(tmp_path / "swept/table5.csv")
    # The same gas: the load of two ranks (and their ghosts' pairs, counted twice) and of two threads.
    assert sum(float(row["flat"]) for row in flat) >= sum(float(row["static"]) for row in threads) > 0
    shares = [float(row["pair list"]) for row in rows_of(tmp_path / "swept/table1.csv")]
    assert abs(sum(shares) - 100) < 1e-6


def test_a_thread_that_shares_a_list_misses_more(spam, gas, tmp_path):
    """In the model of caches: a list cut anywhere, against ranks with a list each, against blocks."""
    done = spam("sweep", gas(), "-o", "swept", "--processors", "2", "--only", "table6", ranks=None)
    assert done.returncode == 0, done.stderr
    rows = [
        (*row["processors"].split(": "), float(row["2"])) for row in rows_of(tmp_path / "swept/table6.csv")
    ]
    per_pair = {kind: number for kind, what, number in rows if what == "misses per pair in range"}
    assert per_pair["list, hybrid"] > per_pair["list, MPI-only"] > per_pair["blocks, hybrid"]


def test_what_is_wrong_is_refused(spam, gas, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    for words, told in (
        (("-o", "full"), "--output full: is there already"),
        (("-o", "new", "--only", "table2"), "--only table2: expected some of table1"),
        (("-o", "new", "--processors", "0,1"), "--processors 0,1: expected whole numbers"),
    ):
        done = spam("sweep", gas(), *words, ranks=None)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert told in done.stderr
    assert (tmp_path / "full/file").read_text() == "mine"
    assert not (tmp_path / "new").exists()
    broken = spam("sweep", gas(("particles = 600", "particles = -1")), "-o", "new", ranks=None)
    assert broken.returncode == 2
    assert "initial.particles" in broken.stderr
