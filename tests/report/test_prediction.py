"""Predicted against measured on the page, of what `tasuki predict --json` writes, or a line of refusal."""

import json

import made_runs
import pytest
from tasuki import report
from tasuki.results import ResultsError

LINES = [
    {"pattern": "exchange/put_fence", "ranks": 64, "bytes": 6297600, "count": 2400, "seconds": 79.2},
    {"pattern": "exchange/send", "ranks": 64, "bytes": 6297600, "count": 2400, "seconds": 84.8},
]
MEASURED = [80.24, 86.86]


def document(lines, **fields):
    return {
        "tasuki_prediction": 1,
        "kind": "patterns",
        "machine": "local",
        "seconds": 164.0,
        "lines": lines,
    } | fields


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def page_of(browser, tmp_path, *documents):
    loaded = [
        report.load_prediction(written(tmp_path / f"p{n}.json", one)) for n, one in enumerate(documents)
    ]
    run = made_runs.run_of(groups=("start_up",))
    report.write_page(report.material_of([run], loaded), tmp_path / "page.html")
    return browser.open(tmp_path / "page.html", width=390)


def test_measured_lines_are_points(browser, tmp_path):
    lines = [line | {"measured_seconds": time} for line, time in zip(LINES, MEASURED, strict=True)]
    page = page_of(browser, tmp_path, document(lines, measured_seconds=sum(MEASURED)))
    assert page.errors == [] and page.value("document.documentElement.scrollWidth") <= 390
    points = page.value("[...document.querySelectorAll('#prediction .point')].map(p => p.dataset.text)")
    assert points == [
        "exchange/put_fence: predicted 79.2 s, measured 80.2 s (1.3 % too little)",
        "exchange/send: predicted 84.8 s, measured 86.9 s (2.4 % too little)",
    ]
    text = page.value("document.querySelector('#prediction').innerText.replaceAll('\\u00a0', ' ')")
    assert "predicted to take 164 s on local and took 167 s: 1.9 % too little." in text
    assert "lies in exchange/send (2.4 % too little)" in text
    assert page.value("document.querySelectorAll('#prediction tbody tr').length") == 3


def test_without_measured_times_it_is_a_table(browser, tmp_path):
    page = page_of(browser, tmp_path, document(LINES), document(LINES[:1], seconds=79.2))
    assert page.value("document.querySelectorAll('#prediction svg').length") == 0
    assert "predicted to take 164 s on local." in page.value(
        "document.querySelector('#prediction p').innerText.replaceAll('\\u00a0', ' ')"
    )
    assert page.value("document.querySelectorAll('#prediction2 tbody tr').length") == 2


def test_a_trace_is_told_by_function_and_rank(browser, tmp_path):
    """In the shape of replay.Replay.document()."""
    told = {
        "tasuki_prediction": 1,
        "kind": "trace",
        "trace": "/somewhere/heat.trace",
        "ranks": 2,
        "predicted_seconds": 2.0,
        "measured_seconds": 2.1,
        "functions": [
            {"function": "MPI_Allreduce", "calls": 10, "predicted": 1.1, "measured": 1.0, "ratio": 1.1},
            {"function": "MPI_Send", "calls": 5, "predicted": 0.9, "measured": 1.1, "ratio": 0.82},
            {"function": "MPI_Comm_rank", "calls": 1, "predicted": 0.0, "measured": 0.0, "ratio": None},
        ],
        "ranks_of": [{"world": 0, "rank": 1, "calls": 8, "predicted": 2.0, "measured": 2.1, "ratio": 0.95}],
        "phases": [],
    }
    page = page_of(browser, tmp_path, told)
    summaries = page.value("[...document.querySelectorAll('#prediction summary')].map(s => s.textContent)")
    assert summaries == ["By function", "By rank"]
    assert "heat.trace" in page.value("document.querySelector('#prediction h3').textContent")
    assert page.value("document.querySelectorAll('#prediction .point').length") == 3
    assert "4.8\u00a0% too little" in page.value("document.querySelector('#prediction figcaption').innerText")


@pytest.mark.parametrize(
    "content, told",
    [
        ("{", "is no whole JSON document"),
        ([], "has no field tasuki_prediction"),
        (document(LINES) | {"tasuki_prediction": 2}, "tasuki_prediction = 2, expected 1"),
        (document([]), "lines = [], expected at least one"),
        (document([LINES[0] | {"seconds": -1}]), "lines[0]: seconds = -1, expected a time"),
        (
            document([LINES[0] | {"measured_seconds": "x"}]),
            "lines[0]: measured_seconds = 'x', expected a time",
        ),
        (document(["x"]), "lines[0] = 'x', expected an object"),
    ],
)
def test_bad_documents_are_refused(tmp_path, content, told):
    path = written(tmp_path / "bad.json", content)
    with pytest.raises(ResultsError) as caught:
        report.load_prediction(path)
    assert told in str(caught.value) and "bad.json" in str(caught.value)
