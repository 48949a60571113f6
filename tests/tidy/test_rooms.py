"""The rooms of a folder have no circle; and the check of that finds one where there is one."""

import pathlib

import rooms
from rules import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_rooms_have_no_circle():
    wrong = rooms.circles(Tree.of_repository(ROOT))
    assert not wrong, "\n" + "\n".join(wrong)


def test_a_circle_is_found():
    good = {
        "src/coll/api.hpp": "",
        "src/coll/a/one.hpp": '#include "coll/b/two.hpp"\n#include "coll/api.hpp"\n',
        "src/coll/b/two.hpp": "",
        "src/coll/c/three.cpp": '#include "coll/a/one.hpp"\n',
    }
    assert rooms.circles(Tree(good)) == []
    bad = good | {"src/coll/b/two.cpp": '#include "coll/a/one.hpp"\n'}
    assert rooms.circles(Tree(bad)) == [
        "src/coll/a/one.hpp:1: coll/a includes coll/b, from which a circle leads back",
        "src/coll/b/two.cpp:1: coll/b includes coll/a, from which a circle leads back",
    ]
