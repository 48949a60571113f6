"""The short path keeps its budget; and the check of that fails where it should."""

import pathlib

import pytest
import short_path
from rules import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tree():
    return Tree.of_repository(ROOT)


def hold(wrong):
    assert not wrong, "\n" + "\n".join(wrong)


def test_short_path_keeps_its_budget(tree):
    hold(short_path.budget(tree))


def test_architecture_tells_the_same_files(tree):
    hold(short_path.told_files(tree))


ENTRY_TEXT = "int PMPI_Send(int a) {\n  return one(a);\n}\n"
ENTRY_LIST = {short_path.ENTRY[0]: {"PMPI_Send": ("one",)}}
GOOD = {"a.hpp": "int one(int a) {\n  return two(a);\n}\n", "b.hpp": "int two(int a) { return a; }\n"}
GOOD_LIST = {"a.hpp": {"one": ("two",)}, "b.hpp": {"two": ()}}

BAD = {
    "a function that is gone": ({"b.hpp": "int other(int a) { return a; }\n"}, {}, "no two()"),
    "a call that is gone": ({"a.hpp": "int one(int a) { return a; }\n"}, {}, "does not call two()"),
    "a call in a comment only": (
        {"a.hpp": "int one(int a) {\n  return a;  // two(a)\n}\n"},
        {},
        "does not call two()",
    ),
    "a step that nobody calls": ({}, {"b.hpp": {"two": (), "three": ()}}, "nothing on the list calls three"),
    "a step that is not listed": ({}, {"b.hpp": {}}, "two is called, and not on the list"),
    "another function of these files": (
        {"b.hpp": "void more() { }\nint two(int a) {\n  more();\n  return a;\n}\n"},
        {},
        "calls more()",
    ),
    "too long": ({"b.hpp": "int two(int a) {\n" + "  ++a;\n" * 200 + "}\n"}, {}, "lines, at most"),
    "too many files": (
        {f"{i}.hpp": f"int f{i}() {{ return 0; }}\n" for i in range(5)},
        {f"{i}.hpp": {f"f{i}": ()} for i in range(5)},
        "7 files, at most 6",
    ),
}


def small_house(files=None, lists=None):
    tree = Tree({short_path.ENTRY[0]: ENTRY_TEXT} | GOOD | (files or {}))
    return short_path.budget(tree, ENTRY_LIST | GOOD_LIST | (lists or {}), set())


def test_a_path_within_the_budget_passes():
    assert small_house() == []


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_named(what):
    files, lists, expected = BAD[what]
    wrong = small_house(files, lists)
    assert any(expected in line for line in wrong), wrong


def test_an_untold_file_is_named(tree):
    text = tree.files["ARCHITECTURE.md"].replace("`src/protocol/choose.hpp`", "the choice")
    assert short_path.told_files(Tree({"ARCHITECTURE.md": text}))
