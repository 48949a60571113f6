"""Rows with known latency, bandwidth and switch points, and with noise: what the tests of the analysis
fit."""

import numpy
from tasuki.results import Row, Run

POWERS = [1 << power for power in range(24)]


def times_of(sizes, lines, switches=()):
    """Without noise: lines[k] = (t_L, slope) holds above switches[k-1] bytes and up to switches[k]."""
    which = numpy.searchsorted(switches, sizes, side="left")
    return numpy.array([lines[k][0] + lines[k][1] * size for size, k in zip(sizes, which, strict=True)])


def noisy(random, times, noise, odd=0.05):
    """Lognormal noise, and a share of points that are odd: mostly much too slow, as they are on a busy
    machine."""
    times = times * numpy.exp(random.normal(0, noise, len(times)))
    far = random.random(len(times)) < odd
    slow = random.random(len(times)) < 0.7
    factor = numpy.where(slow, random.uniform(1.5, 5, len(times)), 1 / random.uniform(1.5, 3, len(times)))
    return numpy.where(far, times * factor, times)


def rows_of(sizes, times, group="point_to_point", benchmark="pingpong", ranks=2, factor=1.0, **variant):
    return [
        Row(
            group,
            benchmark,
            variant,
            ranks,
            int(size),
            [float(time)] * 3,
            float(time),
            0.99 * time,
            1.01 * time,
            factor=factor,
        )
        for size, time in zip(sizes, times, strict=True)
    ]


def run_of(rows, name="tasuki"):
    environment = {"host": "synthetic", "cpu": "none", "processors": 2, "time": "2026-11-22T10:00:00+00:00"}
    return Run({"name": name, "version": "0"}, environment, {}, list(rows))
