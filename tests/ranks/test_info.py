"""mpiexec --info: the same tables for people, for programs, and for the documentation."""

import json
import re

import pytest
from harness import ROOT


def test_the_table_fits_a_terminal(mpiexec):
    done = mpiexec("--info")
    assert done.returncode == 0, done.text
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\033" not in done.stdout
    for word in ("TASUKI_EAGER_BYTES_MAX", "16k (default)", "unexpected_messages", "communicator_freed"):
        assert word in done.stdout


def test_json_says_what_the_environment_says(mpiexec):
    done = mpiexec(
        "--info=json", environment={"TASUKI_EAGER_BYTES_MAX": "64k", "TASUKI_BCAST_ALGORITHM": "binomial"}
    )
    info = json.loads(done.stdout)
    settings = {setting["name"]: setting for setting in info["settings"]}
    assert settings["TASUKI_EAGER_BYTES_MAX"]["value"] == "64k"
    assert settings["TASUKI_EAGER_BYTES_MAX"]["default"] == "16k"
    assert settings["TASUKI_BCAST_ALGORITHM"]["source"] == "environment"
    assert settings["TASUKI_RING_BYTES"]["value"] == "automatic"
    assert len({row["name"] for row in info["performance_variables"]}) == len(info["performance_variables"])
    assert all(row["description"] for table in ("settings", "events") for row in info[table])


def test_the_documentation_is_what_it_prints(mpiexec):
    page = (ROOT / "docs/variables.md").read_text()
    assert mpiexec("--info=markdown").stdout == page, "mpiexec --info=markdown > docs/variables.md"


def documented_algorithms(operations):
    """operation -> the algorithms that the tables of docs/collectives.md have for it, by their names."""
    found = {operation: set() for operation in operations}
    rows = []
    page = (ROOT / "docs/collectives.md").read_text().split("## Intercommunicators")[0]
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells[:1] == ["operation"]:
            over_flags = cells[1] == "a rank shows"
        elif len(cells) > 1 and not set(cells[0]) & set("-"):
            # "gather(v), scatter" is gather, gatherv and scatter; an empty cell is as the one above it.
            rows = re.findall(r"(\w+)(\(v)?", re.sub(r"\(_block\)|, w\)", "", cells[0])) or rows
            names = ["flag_based"] if over_flags else re.findall(r"`(\w+)`", cells[1])
            for operation, has_v in rows:
                for name in (operation, operation + "v")[: 2 if has_v else 1]:
                    found.get(name, set()).update(names)
    return found


def test_every_algorithm_is_in_the_documentation(mpiexec):
    settings = json.loads(mpiexec("--info=json").stdout)["settings"]
    known = {}
    for setting in settings:
        if named := re.fullmatch(r"TASUKI_(\w+)_ALGORITHM", setting["name"]):
            values = re.split(r", | or ", setting["expected"])
            known[named[1].lower()] = set(values) - {"cheapest"}
    assert known["barrier"] >= {"dissemination", "flag_based"}, known
    assert documented_algorithms(known) == known


@pytest.mark.parametrize(
    ("arguments", "environment", "text"),
    [
        (["--info=xml"], {}, "--info=xml: expected table, json or markdown"),
        (
            ["--info"],
            {"TASUKI_SPIN_COUNT": "many"},
            'TASUKI_SPIN_COUNT = "many", expected a number, 0 to 1000000000',
        ),
    ],
)
def test_bad_use_is_one_line(mpiexec, arguments, environment, text):
    done = mpiexec(*arguments, environment=environment)
    assert done.returncode == 2
    assert done.stderr == f"mpiexec: {text}\n"


@pytest.mark.parametrize("choice", ["recursive_doubling", "halving_doubling", "ring"])
def test_a_forced_algorithm_gives_the_same_results(run, choice):
    done = run("collectives.c", 3, environment={"TASUKI_ALLREDUCE_ALGORITHM": choice})
    assert done.returncode == 0, done.text
