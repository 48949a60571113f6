"""Sentences and ticks made of data: what they say is what the rows say."""

import pytest
from tasuki.compare import Verdict
from tasuki.report import axes, material, words
from tasuki.results import Row, Run


def series(times, name="put", width=0.02):
    """A row for each size: {bytes: seconds}."""
    return [
        Row("rma", name, {}, 2, size, [seconds], seconds, seconds * (1 - width), seconds * (1 + width))
        for size, seconds in times.items()
    ]


OWN = {8: 1e-6, 64: 1e-6, 1024: 2e-6, 65536: 20e-6, 1048576: 100e-6}


def verdicts(factors):
    """Of OWN against a peer that takes so many times its time; within 5 % they are the same."""
    found = []
    for (size, seconds), factor in zip(OWN.items(), factors, strict=True):
        verdict = "faster" if factor > 1.05 else "slower" if factor < 0.95 else "same"
        ratio = 1 / factor
        numbers = (seconds * factor, seconds, ratio, ratio, ratio, 0.0)
        found.append(Verdict("rma/put@2", "rma", "put", 2, size, "own", *numbers, verdict, True))
    return found


@pytest.mark.parametrize(
    "factors, text",
    [
        ((1.3, 1.3, 1.3, 1.3, 2.1), "Faster than P at every size (most at 1 MiB: 2.1 times)."),
        ((0.5, 0.8, 0.8, 0.8, 0.8), "Slower than P at every size (most at 8 B: 2.0 times)."),
        ((1, 1.01, 1, 0.99, 1), "No size at which it is clearly faster or slower than P."),
        (
            (0.5, 0.8, 1, 1.5, 3),
            "Faster than P from 64 KiB on (most at 1 MiB: 3.0 times); slower than P up to 64 B "
            "(most at 8 B: 2.0 times).",
        ),
        ((1, 2, 1, 2, 1), "Faster than P at 64 B and at 64 KiB (most at 64 B: 2.0 times)."),
    ],
)
def test_beside_a_peer(factors, text):
    assert words.beside_peer("P", verdicts(factors)) == text


def test_beside_a_peer_that_lacks_the_sizes():
    assert words.beside_peer("P", []) == ""


def test_growth():
    assert words.growth(series(OWN)) == (
        "8 B take 1.00 µs; from 1 KiB on it is at least twice that, up to 100 µs for 1 MiB."
    )


def test_who_is_best():
    named = [
        ("a", series({8: 1e-6, 64: 2e-6, 512: 9e-6})),
        ("b", series({8: 2e-6, 64: 2e-6, 512: 3e-6})),
        ("c", series({8: 2e-6, 64: 3e-6, 512: 3e-6})),
    ]
    assert words.who_is_best(named) == (
        "Fastest: at 8 B a (1.00 µs); at 64 B a and b (2.00 µs); at 512 B b and c (3.00 µs)."
    )


def run_named(**implementation):
    return Run(implementation, {}, {}, [])


def test_names_tell_runs_apart():
    two = [run_named(name="tasuki", version="1"), run_named(name="mpich", version="1")]
    assert material.names_of(two) == ["Tasuki", "MPICH"]
    assert material.names_of([run_named(name="mpich", version=v) for v in ("4", "5")]) == [
        "MPICH 4",
        "MPICH 5",
    ]
    tables = [run_named(name="tasuki", tuning=""), run_named(name="tasuki", tuning="/x/mine.json")]
    assert material.names_of(tables) == ["Tasuki", "Tasuki mine"]
    assert material.names_of([run_named(name="x")] * 2) == ["x (1)", "x (2)"]


def row_of(**variant):
    return Row("rma", "put", variant, 2, 8, [1.0], 1.0, 1.0, 1.0)


def test_labels_tell_what_differs():
    assert material.labels_of([row_of(a="1", b="x"), row_of(a="2", b="x")]) == ["a 1", "a 2"]
    rows = [row_of(a="1", b="1", c="1"), row_of(a="2", b="1", c="1"), row_of(a="1", b="2", c="2")]
    assert material.labels_of(rows) == ["base case", "a 2", "b 2, c 2"]


SIZE, SECONDS = axes.Axis("bytes", ""), axes.Axis("seconds", "")


def texts(axis, low, high, most=6):
    return [text for _, text in axes.Scale(axis, low, high).ticks(most)]


def test_ticks():
    assert texts(SIZE, 1, 8 << 20) == ["1 B", "32 B", "1 KiB", "32 KiB", "1 MiB"]
    assert texts(SIZE, 0.9, 70) == ["1 B", "4 B", "16 B", "64 B"]
    assert texts(SECONDS, 4e-7, 1e-3) == ["1 µs", "10 µs", "100 µs", "1 ms"]
    assert texts(SECONDS, 5.5e-6, 1.05e-5) == ["6 µs", "7 µs", "8 µs", "9 µs", "10 µs"]
    assert texts(SECONDS, 1.9e-7, 2.7e-7) == ["200 ns", "220 ns", "240 ns", "260 ns"]
    assert texts(axes.Axis("rate", "", logarithmic=False), 0, 16e9) == ["0", "5 GB/s", "10 GB/s", "15 GB/s"]


@pytest.mark.parametrize("low, high", [(1e-9, 1e3), (1e-6, 1.0000001e-6), (3e-6, 3.1e-6), (0.9, 1.1), (1, 1)])
def test_there_are_ticks_on_every_scale(low, high):
    scale = axes.scale_of(SECONDS, [low, high])
    ticks = scale.ticks(6)
    assert 1 <= len(ticks) <= 7
    assert all(-1e-9 <= scale.place(value) <= 1 + 1e-9 for value, _ in ticks)


def test_zero_bytes_have_a_place():
    scale = axes.scale_of(SIZE, [0, 1, 1024])
    assert scale.place(0) == 0 < scale.place(1) < scale.place(1024) <= 1
