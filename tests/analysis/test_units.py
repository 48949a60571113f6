"""Quantities as people read them: three digits, the unit that fits, no exponents."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from tasuki import units


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"),
        (1.23e-4, "0.000123"),
        (9.999, "10.0"),
        (99.96, "100"),
        (12345.6, "12,346"),
        (-3.456, "-3.46"),
    ],
)
def test_numbers(value, text):
    assert units.number_text(value) == text


@pytest.mark.parametrize(
    "count, text", [(0, "0 B"), (1000, "1000 B"), (1024, "1 KiB"), (1536, "1.50 KiB"), (8 << 20, "8 MiB")]
)
def test_sizes(count, text):
    assert units.bytes_text(count) == text


@pytest.mark.parametrize(
    "seconds, text",
    [(1e-10, "0.100 ns"), (1.38e-6, "1.38 µs"), (9.999e-7, "1.00 µs"), (0.5, "500 ms"), (80.24, "80.2 s")],
)
def test_times(seconds, text):
    assert units.time_text(seconds) == text


@pytest.mark.parametrize("rate, text", [(14.8e9, "14.8 GB/s"), (999.7e6, "1.00 GB/s"), (5, "5.00 B/s")])
def test_rates(rate, text):
    assert units.rate_text(rate) == text


def test_percent():
    assert (units.percent_text(0.925), units.percent_text(1.203)) == ("92 %", "120 %")
