"""The fixtures of SPAM's tests: the installed program under our mpiexec, and small input files."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks")]

from harness import PREFIX, run_command, skip_without  # noqa: E402

# A gas of density 1 and then 2, as in the paper, in 14 columns of cells.
GAS = """\
[space]
width = 45.0
height = 9.0
cell_size = 3.1
boundary_x = ["open", "mirror"]
boundary_y = "periodic"
[material]
range = 3.0
viscosity = 0.0
[initial]
particles = 600
velocity_fluctuation = 0.1
position_fluctuation = 0.25
profile = [
  { x = 0.0, density = 1.0, velocity = 2.0 },
  { x = 20.0, density = 1.0, velocity = 2.0 },
  { x = 25.0, density = 2.0, velocity = 1.0 },
  { x = 45.0, density = 2.0, velocity = 1.0 },
]
[integration]
time_step = 0.02
steps = 4
"""


@pytest.fixture(scope="session", autouse=True)
def installed_program():
    skip_without("SPAM")
    if not (PREFIX / "bin" / "spam").exists():
        pytest.exit(f"{PREFIX}/bin/spam is not there: run `make build` first", returncode=1)


@pytest.fixture
def spam(tmp_path):
    """Runs `spam …` on some ranks, in tmp_path; without mpiexec where `ranks` is None. `before`: words before
    the program."""

    def run(*words, ranks=1, before=(), **how):
        launcher = () if ranks is None else (PREFIX / "bin/mpiexec", "-n", ranks)
        return run_command(*launcher, *before, PREFIX / "bin/spam", *words, cwd=tmp_path, **how)

    return run


@pytest.fixture
def gas(tmp_path):
    """Writes gas.toml into tmp_path: GAS, with some texts replaced by others, and more lines after it."""

    def write(*replaced, more=""):
        text = GAS
        for what, into in replaced:
            assert what in text, what
            text = text.replace(what, into, 1)
        (tmp_path / "gas.toml").write_text(text + more)
        return "gas.toml"

    return write
