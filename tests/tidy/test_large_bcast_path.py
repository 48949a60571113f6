"""A large broadcast's path keeps its budget; and the check of that fails where it should."""

import pathlib

import large_bcast_path
import pytest
from rules import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tree():
    return Tree.of_repository(ROOT)


def test_a_large_broadcast_keeps_its_budget(tree):
    wrong = large_bcast_path.budget(tree)
    assert not wrong, "\n" + "\n".join(wrong)


def test_a_step_that_is_gone_is_named(tree):
    name = "src/coll/shm/exposed_buffers.cpp"
    text = tree.files[name].replace("void move_bytes(", "void copy_bytes(")
    wrong = large_bcast_path.budget(Tree(tree.files | {name: text}))
    assert f"{name}: there is no move_bytes()" in wrong


def test_a_further_file_is_named(tree, monkeypatch):
    monkeypatch.setattr(large_bcast_path, "FILES_MAX", len(large_bcast_path.PATH) - 1)
    assert any("files, at most" in line for line in large_bcast_path.budget(tree))
