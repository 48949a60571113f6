"""What the tests of the report share: one browser, and pages made of synthetic runs."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import browser as browsers
import made_runs
from tasuki import report


@pytest.fixture(scope="session")
def browser():
    assert browsers.executable(), (
        f"none of {', '.join(browsers.NAMES)} is installed (tools/packages-debian.txt)"
    )
    with browsers.Browser() as one:
        yield one


@pytest.fixture(scope="session")
def runs():
    """A run and two peers, one slower and one a little faster."""
    return [
        made_runs.run_of("tasuki"),
        made_runs.run_of("mpich", speed=0.8, seed=2),
        made_runs.run_of("openmpi", speed=1.05, seed=3),
    ]


@pytest.fixture(scope="session")
def made(runs, tmp_path_factory):
    """The page of `runs`."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write_page(report.material_of(runs), path)
    return path
