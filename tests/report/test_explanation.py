"""The page of tasuki explain in a browser, of 8 ranks and of 512: it loads without a word, asks for nothing,
fits a phone, shows each finding, and tells what is under the pointer."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "analysis"))

import made_traces  # noqa: E402
import slow_programs  # noqa: E402
from tasuki import trace as traces  # noqa: E402
from tasuki.explain import explain, page  # noqa: E402

STEPS = {8: 12, 512: 2}
OUT_OF_PAGE = """
[...document.querySelectorAll('main *')].filter(part => !part.closest('.scroll, svg') &&
    part.getBoundingClientRect().right > innerWidth + 1).map(part => part.outerHTML.slice(0, 100))
"""
ON_ONE_ANOTHER = """
['.rank', '.tick'].flatMap(kind => [...document.querySelectorAll('.lanes')].flatMap(field => {
  const boxes = [...field.querySelectorAll(kind)].map(x => x.getBoundingClientRect());
  return boxes.slice(1).filter((box, place) =>
    Math.min(box.right, boxes[place].right) - Math.max(box.left, boxes[place].left) > 1 &&
    Math.min(box.bottom, boxes[place].bottom) - Math.max(box.top, boxes[place].top) > 2).map(() => kind);
}))
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By the number of ranks: the explanation, and the file."""
    found = {}
    for size, steps in STEPS.items():
        folder = tmp_path_factory.mktemp("explanation")
        path = made_traces.write(folder / "stencil.trace", *slow_programs.stencil(size, steps))
        explanation = explain(traces.load(path), ask=made_traces.lines)
        page.write(explanation, folder / "stencil.html")
        found[size] = explanation, folder / "stencil.html"
    return found


@pytest.mark.parametrize(
    "size, width, dark", [(8, 1280, False), (8, 390, True), (512, 1280, True), (512, 390, False)]
)
def test_it_loads_and_fits(browser, pages, size, width, dark):
    found, path = pages[size]
    shown = browser.open(path, width=width, dark=dark)
    assert shown.errors == []
    assert [one for one in shown.requests if not one.startswith("data:")] == [path.resolve().as_uri()]
    assert shown.value("document.documentElement.scrollWidth") <= width
    assert shown.value(OUT_OF_PAGE) == []
    assert shown.value(ON_ONE_ANOTHER) == []
    told = shown.value("[...document.querySelectorAll('.finding')].map(one => one.innerText)")
    assert len(told) == len(found.findings) > 0
    for text, one in zip(told, found.findings, strict=True):
        assert one.text[1:] in text and one.advice[1:] in text
    assert shown.value("[...document.images].every(one => one.naturalWidth > 0)")
    assert path.stat().st_size < 500_000


def test_the_pointer_is_told_what_a_rank_does(browser, pages):
    _, path = pages[8]
    shown = browser.open(path)
    shown.value("document.querySelector('.lanes').scrollIntoView()")
    box = shown.value(
        "(() => { const r = document.querySelector('.lanes img').getBoundingClientRect();"
        "return [r.left, r.top, r.width, r.height]; })()"
    )
    shown.press(box[0] + 0.02 * box[2], box[1] + box[3] * 3.5 / 8)
    assert shown.value("document.getElementById('told').textContent").startswith("rank 3, 0.1")
    shown.press(box[0] + 0.995 * box[2], box[1] + box[3] * 5.5 / 8)
    assert "MPI_Finalize, waits" in shown.value("document.getElementById('told').textContent")


def test_the_critical_path_has_no_gap(pages):
    from tasuki.explain.path import critical_path, shares

    for size, (found, _) in pages.items():
        way = critical_path(found.course)
        assert way[0].begin == pytest.approx(found.course.begin) and way[-1].end == pytest.approx(
            found.course.end
        )
        for one, other in zip(way, way[1:], strict=False):
            assert one.end == pytest.approx(other.begin, abs=1e-9)
        first = shares(way, found.course.seconds)[0]
        assert first[0] == "computing after solve.c:17" if size == 8 else first[2] > 0.3
        # The rank with the most work is on it, those without are not.
        assert {piece.rank for piece in way if piece.kind == "computing"} <= {
            rank for rank in range(size) if abs(rank - size / 3) < size / 8 + 2
        }


def test_an_efficient_program_has_a_page(browser, tmp_path):
    path = made_traces.write(tmp_path / "a.trace", *slow_programs.efficient())
    page.write(explain(traces.load(path)), tmp_path / "a.html")
    shown = browser.open(tmp_path / "a.html")
    assert shown.errors == []
    assert "The program is efficient" in shown.value("document.querySelector('.verdict').textContent")


def test_names_that_look_like_markup_are_shown(browser, tmp_path):
    clocks = [slow_programs.Clock(rank, 2) for rank in range(2)]
    for rank, clock in enumerate(clocks):
        clock.compute(1000 if rank else 100)
        clock.call("MPI_Barrier", 1010, phase="</script><b>bold", at="a&<i>.c:3")
    path = made_traces.write(tmp_path / "a.trace", *(clock.end() for clock in clocks))
    page.write(explain(traces.load(path), ask=made_traces.lines), tmp_path / "a.html")
    shown = browser.open(tmp_path / "a.html")
    assert shown.errors == []
    assert "</script><b>bold" in shown.value("document.querySelector('.finding').textContent")
    assert not shown.value("document.querySelectorAll('b, i:not(.key i)').length")
