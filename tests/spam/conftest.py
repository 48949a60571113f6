"""What the tests of SPAM with processes share: the harness of the rank tests is importable."""

import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "ranks")]
