"""Files of results: what was written is read back, and a bad file is refused by name, place and value."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from tasuki import results

ROW = {
    "group": "point_to_point",
    "benchmark": "pingpong",
    "variant": {"mode": "send"},
    "ranks": 2,
    "bytes": 8,
    "seconds": [1e-6, 1.1e-6, 0.9e-6],
    "median_seconds": 1e-6,
    "low_seconds": 0.9e-6,
    "high_seconds": 1.1e-6,
}
DOCUMENT = {"tasuki_results": 1, "implementation": {}, "environment": {}, "settings": {}, "rows": [ROW]}


def written(tmp_path, **changes):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(DOCUMENT | changes))
    return path


def test_what_is_saved_is_loaded(tmp_path):
    run = results.load(written(tmp_path))
    run.save(tmp_path / "again.json")
    again = results.load(tmp_path / "again.json")
    assert again.rows == run.rows
    assert list(again.series()) == ["point_to_point/pingpong/mode=send@2"]


def test_the_frame_has_a_column_for_each_variant(tmp_path):
    frame = results.load(written(tmp_path)).frame()
    assert frame["variant.mode"].tolist() == ["send"]
    assert frame["bytes_per_second"].tolist() == pytest.approx([8e6])


def test_short_names_tell_what_differs_from_the_base_case(tmp_path):
    other = {"variant": {"mode": "isend"}, "bytes": 8}
    run = results.load(written(tmp_path, rows=[ROW | other, ROW, ROW | {"bytes": 16}, ROW | {"ranks": 4}]))
    assert run.short_names() == {
        "point_to_point/pingpong/mode=send@2": "point_to_point/pingpong@2",
        "point_to_point/pingpong/mode=isend@2": "point_to_point/pingpong/mode=isend@2",
        "point_to_point/pingpong/mode=send@4": "point_to_point/pingpong@4",
    }


def test_rows_know_the_state_of_the_machine():
    """Of each round; one during which it changed counts for neither, and neither does one of one round."""
    near, far = [80e-9, 90e-9], [480e-9, 500e-9]
    row = results.row_of(ROW | {"parts": [1, 1, 1], "line_seconds": [*near, *far, near[0], far[0]]})
    assert row.states() == ["near", "far", ""]
    split = row.by_state()
    assert {state: one.seconds for state, one in split.items()} == {"near": [1e-6], "far": [1.1e-6]}
    assert split["far"].line_seconds == far and split["far"].median_seconds == 1.1e-6
    assert list(results.row_of(ROW | {"line_seconds": far}).by_state()) == ["far"]
    assert not results.row_of(ROW | {"line_seconds": [near[0], far[0]]}).by_state()
    assert list(results.row_of(ROW).by_state()) == [""]
    run = results.Run({}, {}, {}, [row, results.row_of(ROW)])
    assert {state: len(part.rows) for state, part in run.by_state().items()} == {"": 1, "near": 1, "far": 1}


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"tasuki_results": 99}, "tasuki_results = 99, expected 1"),
        ({"rows": None}, "rows = None, expected list"),
        ({"rows": [ROW | {"seconds": [1e-6, -2e-6]}]}, r"rows\[0\]: seconds\[1\] = -2e-06"),
        ({"rows": [ROW, {"group": "io"}]}, r"rows\[1\]: has no benchmark"),
        ({"rows": [ROW | {"line_seconds": [1e-7]}]}, r"rows\[0\]: line_seconds = \[1e-07\], expected pairs"),
        ({"rows": [ROW | {"bytes": 1.5}]}, r"rows\[0\]: bytes = 1.5, expected a whole number"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, changes, told):
    with pytest.raises(results.ResultsError, match=f"run.json: {told}"):
        results.load(written(tmp_path, **changes))


def test_a_truncated_file_is_refused(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(results.ResultsError, match="is no whole JSON document"):
        results.load(path)
