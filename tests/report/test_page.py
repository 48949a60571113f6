"""The page in a browser: it loads without a word, asks for nothing, fits a phone, and shows every row."""

import re
import struct

import made_runs
import pytest
from tasuki import report
from tasuki.results import ResultsError

VIEWS = [(1280, False), (1280, True), (390, False), (390, True), (320, False)]

UNFOLD = "document.querySelectorAll('details').forEach(folded => { folded.open = true; })"

# Pairs of texts of one chart that lie on one another by more than a pixel.
OVERLAPS = """
[...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const texts = [...chart.querySelectorAll('text')].map(x => [x.textContent, x.getBoundingClientRect()]);
  return texts.flatMap(([one, a], place) => texts.slice(place + 1).filter(([_, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2).map(([two, _]) =>
    chart.getAttribute('aria-label') + ': ' + one + ' / ' + two));
})
"""

# Markers and texts outside the box of their chart.
OUTSIDE = """
[...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const box = chart.getBoundingClientRect();
  return [...chart.querySelectorAll('.point, text')].map(part => [part, part.getBoundingClientRect()])
    .filter(([_, r]) => r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2 ||
                        r.bottom > box.bottom + 2)
    .map(([part, _]) => chart.getAttribute('aria-label') + ': ' + (part.dataset.text || part.textContent));
})
"""

COLORS = """
(() => {
  const style = getComputedStyle(document.documentElement);
  const names = ['paper', 'card', 'ink', 'quiet', 'accent', 'limit', 'good', 'bad', 'warn',
                 's0', 's1', 's2', 's3', 's4', 's5'];
  return Object.fromEntries(names.map(name => [name, style.getPropertyValue('--' + name).trim()]));
})()
"""


def points_in(page, figure):
    """The texts of the points in the figure of that title."""
    return page.value(
        f"""[...[...document.querySelectorAll('figure')].find(
            figure => figure.querySelector('h3').textContent === '{figure}').querySelectorAll('.point')]
            .map(point => point.dataset.text)"""
    )


@pytest.mark.parametrize("width, dark", VIEWS)
def test_loads_and_fits(browser, made, width, dark):
    page = browser.open(made, width=width, dark=dark)
    assert page.errors == []
    assert page.requests == [made.resolve().as_uri()]
    assert page.value("document.documentElement.scrollWidth") <= width
    page.value(UNFOLD)
    assert page.value("document.documentElement.scrollWidth") <= width
    assert page.value(OVERLAPS) == []
    assert page.value(OUTSIDE) == []


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(browser, made, dark):
    """Texts 4.5 to 1 and graphics 3 to 1 against what they stand on (WCAG 2.1, AA)."""
    colors = browser.open(made, dark=dark).value(COLORS)
    for ground in ("paper", "card"):
        for name in ("ink", "quiet", "accent", "s0", "good", "bad"):
            assert contrast(colors[name], colors[ground]) >= 4.5, (name, ground)
        for name in ("limit", "s1", "s2", "s3", "s4", "s5"):
            assert contrast(colors[name], colors[ground]) >= 3, (name, ground)
    assert contrast(colors["ink"], colors["warn"]) >= 4.5


def contrast(one, other):
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(color):
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_charts_have_a_point_for_each_row(browser, made, runs):
    page = browser.open(made)
    base = runs[0].rows[0].series
    rows = [row for run in runs for row in run.rows if row.series == base]
    assert len(points_in(page, "Ping-pong: time, one way")) == len(rows)
    assert len(points_in(page, "Ping-pong: throughput")) == sum(1 for row in rows if row.bytes)
    rows = [row for run in runs for row in run.rows if row.benchmark == "bcast"]
    rows = [row for row in rows if row.variant == {"form": "blocking"}]
    assert len(points_in(page, "Bcast")) == len(rows)
    ways = [row for row in runs[0].rows if row.benchmark == "exchange"]
    assert len(points_in(page, "Exchange by way")) == len(ways)
    overlaps = points_in(page, "Overlap with computing")
    assert len(overlaps) == 18 and "Tasuki, gather, 8 B: -10 %" in overlaps
    assert any(text.startswith("MPICH, 8 B: ") for text in points_in(page, "Bcast"))


def test_every_row_is_in_a_table(browser, made, runs):
    page = browser.open(made)
    assert page.value("document.querySelectorAll('#everything tbody tr').length") == sum(
        len(run.rows) for run in runs
    )


def test_says_what_matters(browser, made):
    page = browser.open(made)
    text = page.value("document.body.innerText.replaceAll('\\u00a0', ' ')")
    assert "Tasuki beside MPICH and Open MPI" in text
    for words in ("Latency", "Peak throughput", "Share of a bare copy", "Imagined Processor 3000", "24 GiB"):
        assert words in text
    assert re.search(r"Faster than MPICH at every size \(most at .*: 1\.3 times\)", text)
    assert "The fit finds a switch above 8 KiB and up to 16 KiB." in text
    assert re.search(r"From 16 KiB on the fit is t = 1\.\d+ µs \+ M / 14\.\d GB/s", text)
    assert "Not in this run" not in text
    sections = page.value("[...document.querySelectorAll('section')].map(section => section.id)")
    assert sections[:4] == ["headlines", "pingpong", "point_to_point", "collectives"]
    broken = "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"
    assert page.value(broken) == 0


def test_tells_the_point_below_the_pointer(browser, made):
    page = browser.open(made)
    page.value("document.querySelector('#pingpong').scrollIntoView()")
    place = page.value(
        """(() => { const box = document.querySelector('#pingpong .point').getBoundingClientRect();
                    return [box.x + box.width / 2, box.y + box.height / 2, box.x, box.y]; })()"""
    )
    page.press(place[0], place[1])
    told = "document.getElementById('told')"
    assert page.value(f"{told}.hidden") is False
    assert page.value(f"{told}.textContent") in points_in(page, "Ping-pong: throughput")
    page.press(2, 2)
    assert page.value(f"{told}.hidden") is True


def test_charts_are_named_and_described(made):
    text = made.read_text()
    charts = re.findall(r"<svg viewBox=[^>]*class=\"chart\">.*?</svg>", text, flags=re.S)
    assert len(charts) > 20
    for chart in charts:
        assert re.match(
            r'<svg [^>]*role="img" aria-label="[^"]+"[^>]*><title>[^<]+</title><desc>[^<]+</desc>', chart
        )
        assert chart.count('class="point') == len(
            re.findall(r'class="point[^>]*><title>[^<]+</title>', chart)
        )


def test_is_small_and_whole(made):
    text = made.read_text()
    assert len(text.encode()) < 2_000_000
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", text)
    assert "@import" not in text and "url(" not in text


def test_can_be_printed(browser, made):
    """Dark on white, whatever the screen's colors are, with two charts beside one another."""
    page = browser.open(made, width=760, dark=True)
    assert len(page.ask("Page.printToPDF")["data"]) > 10_000
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.ask("Emulation.setEmulatedMedia", media="print", features=dark)
    colors = page.value(COLORS)
    assert all(contrast(colors[name], "#ffffff") >= 4.5 for name in ("ink", "quiet", "accent", "s0"))
    tops = "[...document.querySelectorAll('#pingpong figure')].map(one => one.getBoundingClientRect().top)"
    assert len(set(page.value(tops))) == 1


def test_shows_what_is_there(browser, tmp_path):
    """A run of one group: the others are named in a line; several numbers of ranks have a line each."""
    run = made_runs.run_of(groups=("collectives",), ranks=(2, 4, 8))
    report.write_page(report.material_of([run]), tmp_path / "part.html")
    page = browser.open(tmp_path / "part.html", width=390)
    assert page.errors == []
    page.value(UNFOLD)
    assert page.value(OVERLAPS) == [] and page.value(OUTSIDE) == []
    text = page.value("document.body.innerText")
    assert "Not in this run: point-to-point, concurrent patterns" in text
    sections = page.value("[...document.querySelectorAll('section')].map(section => section.id)")
    assert sections == ["collectives", "fit", "guidelines", "everything"]
    assert len(points_in(page, "Bcast")) == 3 * 8
    assert len(points_in(page, "Time by ranks (1 of 2)")) == 3 * 3


def test_several_numbers_of_ranks_beside_a_peer(browser, tmp_path):
    runs = [made_runs.run_of(name, groups=("collectives",), ranks=(2, 4)) for name in ("tasuki", "mpich")]
    report.write_page(report.material_of(runs), tmp_path / "ranks.html")
    page = browser.open(tmp_path / "ranks.html")
    assert page.errors == []
    assert len(points_in(page, "Bcast, 2 ranks")) == len(points_in(page, "Bcast, 4 ranks")) == 2 * 8


def test_a_single_row(browser, tmp_path):
    run = made_runs.run_of(groups=("start_up",))
    run.rows = run.rows[:1]
    report.write_page(report.material_of([run]), tmp_path / "one.html")
    page = browser.open(tmp_path / "one.html")
    assert page.errors == [] and page.value("document.querySelectorAll('.point').length") == 1


def test_texts_of_a_run_are_no_markup(browser, tmp_path):
    run = made_runs.run_of(name="<script>wrong()</script>", groups=("start_up",))
    run.environment["warnings"] = ["<b>bold</b> & more"]
    run.troubles = ["rma/put: <img src=nothing.png>"]
    report.write_page(report.material_of([run]), tmp_path / "odd.html")
    page = browser.open(tmp_path / "odd.html")
    assert page.errors == [] and len(page.requests) == 1
    assert "<b>bold</b> & more" in page.value("document.querySelector('.warnings').innerText")
    assert page.value("document.querySelectorAll('script').length") == 1


def test_warnings_stand_at_the_top(browser, tmp_path, runs):
    run, peer = made_runs.run_of(groups=("start_up",)), made_runs.run_of("mpich", groups=("start_up",))
    run.environment["warnings"] = ["the load was 3.1 before the run"]
    run.troubles = ["rma/put: mpiexec ended with exit status 1"]
    peer.environment["cpu"] = "another"
    for row in run.rows:
        row.settled = False
    report.write_page(report.material_of([run, peer]), tmp_path / "warned.html")
    warned = browser.open(tmp_path / "warned.html").value("document.querySelector('.warnings').innerText")
    for words in (
        "load was 3.1",
        "3 of 3 rows ended on the budget",
        "a case could not be measured",
        "elsewhere",
    ):
        assert words in warned


def test_limits_that_differ_are_told(browser, tmp_path):
    """Where no MPI is at work there should be no difference: if there is, the ratios mean less."""
    run, peer = (made_runs.run_of(name, groups=("limit", "start_up")) for name in ("tasuki", "mpich"))
    for row in peer.rows:
        if row.group == "limit":
            row.seconds = [2 * seconds for seconds in row.seconds]
            row.median_seconds, row.low_seconds = 2 * row.median_seconds, 2 * row.low_seconds
            row.high_seconds *= 2
    report.write_page(report.material_of([run, peer]), tmp_path / "limits.html")
    page = browser.open(tmp_path / "limits.html")
    told = page.value("document.querySelector('#compared .warnings').innerText")
    assert "MPICH: 109 of 109 rows of the group limit differ" in told
    assert "Of 3 rows Tasuki" in page.value("document.querySelector('#compared .lead').textContent")


def test_picture(runs, tmp_path):
    path = tmp_path / "report.png"
    report.write_picture(report.material_of(runs), path)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 20_000
    assert struct.unpack(">II", data[16:24]) == (2 * 6 * 160, int(4.3 * 160))


def test_picture_of_a_run_without_pingpong(tmp_path):
    report.write_picture(report.material_of([made_runs.run_of(groups=("rma",))]), tmp_path / "rma.png")
    with pytest.raises(ResultsError, match="no series of 3 sizes"):
        report.write_picture(
            report.material_of([made_runs.run_of(groups=("start_up",))]), tmp_path / "no.png"
        )
