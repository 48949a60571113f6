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


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"tasuki_results": 99}, "tasuki_results = 99, expected 1"),
        ({"rows": None}, "rows = None, expected list"),
        ({"rows": [ROW | {"seconds": [1e-6, -2e-6]}]}, r"rows\[0\]: seconds\[1\] = -2e-06"),
        ({"rows": [ROW, {"group": "io"}]}, r"rows\[1\]: has no benchmark"),
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
