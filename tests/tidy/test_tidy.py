"""The repository keeps to its own style (STYLE.md). rules.py and the modules beside it explain each
rule.

TASUKI_TIDY_ONLY, beginnings of paths (src/p2p/ tests/unit/p2p/), restricts the rules that look at each file
for itself to these: make check.
"""

import os
import pathlib

import definitions
import floor_plan
import pytest
import rules
import user_memory

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TASUKI_BUILD_DIR", ROOT / "build" / "release"))

PURE_RULES = [
    rules.short_files,
    rules.narrow_lines,
    rules.short_functions,
    rules.opens_with_comment,
    rules.programs_include_only_mpi,
    rules.headers_are_included,
    rules.scripts_are_used,
    rules.few_macros,
    rules.no_exceptions,
    rules.no_sorts_that_warn,
    rules.links_resolve,
    rules.paths_exist,
    rules.site_names_every_page,
    floor_plan.no_circles,
    floor_plan.table_is_what_is_included,
    floor_plan.small_folders,
    definitions.one_definition,
    definitions.names_of_precompiled_headers_are_theirs,
    definitions.files_in_one_piece_have_their_own_names,
    user_memory.user_memory_is_asked_for,
    rules.clang_format_clean,
    rules.ruff_clean,
]
OF_EACH_FILE = {
    rules.short_files,
    rules.narrow_lines,
    rules.short_functions,
    rules.opens_with_comment,
    rules.no_exceptions,
    rules.no_sorts_that_warn,
    rules.clang_format_clean,
    rules.ruff_clean,
}
ONLY = os.environ.get("TASUKI_TIDY_ONLY", "").split()


@pytest.fixture(scope="session")
def tree():
    return rules.Tree.of_repository(ROOT, BUILD)


def hold(wrong):
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("rule", PURE_RULES, ids=lambda rule: rule.__name__)
def test_repository_keeps_to(rule, tree):
    hold(rule(tree.under(ONLY) if ONLY and rule in OF_EACH_FILE else tree))


def test_every_source_is_built(tree):
    hold(rules.everything_is_built(tree, BUILD / "compile_commands.json"))


def test_core_has_no_mutable_globals():
    hold(rules.no_mutable_globals([BUILD / "libtasuki_core.a"]))
