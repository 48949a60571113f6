"""Each rule of the house can fail: a bad sample that it must name, beside a good one that must pass."""

import json
import subprocess

import definitions
import floor_plan
import pytest
import rules
import user_memory
from rules import Tree

TABLE = """
| folder | what | may include |
|---|---|---|
| `src/base/` | scalars | nothing |
| `src/transport/` | bytes | nothing |
| `src/object/` | objects | nothing |
| `src/p2p/` | messages | object, transport |
| `src/binding/` | entries | p2p |
"""


def house(**files):
    """A tree of src/<folder>/<file>, which TABLE fits where no file is given: __ for / in the names."""
    tree = {
        "ARCHITECTURE.md": TABLE,
        "src/base/types.hpp": "//",
        "src/transport/transport.hpp": '#include "base/types.hpp"\n',
        "src/object/comm.hpp": '#include "object/object.hpp"\n',
        "src/object/object.hpp": "//",
        "src/p2p/request.hpp": '#include "object/comm.hpp"\n',
        "src/p2p/large/large.hpp": '#include "transport/transport.hpp"\n#include "p2p/request.hpp"\n',
        "generated/binding/entry.cpp": '#include "p2p/large/large.hpp"\n',
    }
    tree.update({f"src/{name.replace('__', '/')}.cpp": text for name, text in files.items()})
    return Tree(tree)


def one_way(tree):
    return floor_plan.no_circles(tree, {})


def with_a_circle_less(tree):
    return floor_plan.no_circles(tree, {("p2p", "p2p/large"): "known"})


def at_most_25(tree):
    return floor_plan.small_folders(tree, {"rma": (27, "known")})


def folder_of_files(folder, count, generated=0):
    names = [f"src/{folder}/a{i}.cpp" for i in range(count)]
    return Tree(dict.fromkeys([*names, *(f"generated/{folder}/g{i}.cpp" for i in range(generated))], "//"))


def long_function(lines):
    return "// A file.\nint f(int a) {\n" + "  a++;\n" * (lines - 2) + "}\n"


BAD_AND_GOOD = [
    (rules.short_files, Tree({"src/a.cpp": "//\n" * 801}), Tree({"src/a.cpp": "//\n" * 800})),
    (rules.narrow_lines, Tree({"a.c": "/" * 111}), Tree({"a.c": "/" * 110})),
    (rules.short_functions, Tree({"a.cpp": long_function(71)}), Tree({"a.cpp": long_function(70)})),
    (
        rules.short_functions,
        Tree({"a.py": "def f():\n" + "    x = 1\n" * 70}),
        Tree({"a.py": "def f():\n" + "    x = 1\n" * 69}),
    ),
    (rules.opens_with_comment, Tree({"a.cpp": "#include <x>\n"}), Tree({"a.cpp": "// What it is.\n"})),
    (rules.opens_with_comment, Tree({"a.sh": "#!/bin/sh\nset -e\n"}), Tree({"a.sh": "#!/bin/sh\n# Why.\n"})),
    (rules.opens_with_comment, Tree({"a.py": "import os\n"}), Tree({"a.py": '"""What."""\n'})),
    (
        rules.programs_include_only_mpi,
        Tree({"bench/a.cpp": '#include "base/types.hpp"\n', "src/base/types.hpp": ""}),
        Tree(
            {
                "bench/a.cpp": '#include <mpi.h>\n#include "clock.hpp"\n',
                "include/mpi.h": "",
                "bench/clock.hpp": "",
            }
        ),
    ),
    (
        rules.headers_are_included,
        Tree({"src/p2p/a.hpp": "//", "src/p2p/b.cpp": "//"}),
        Tree({"src/p2p/a.hpp": "//", "src/p2p/b.cpp": '#include "p2p/a.hpp"\n'}),
    ),
    (
        rules.scripts_are_used,
        Tree({"tools/a.py": '"""A."""', "README.md": "tools/a.py"}),
        Tree({"tools/a.py": '"""A."""', "Makefile": "\tpython tools/a.py\n"}),
    ),
    (
        rules.few_macros,
        Tree({"src/a.hpp": "#define TWICE(x) (2 * (x))\n"}),
        Tree({"src/a.hpp": "#define TASUKI_ASSERT(x) ((void)(x))\n"}),
    ),
    (
        rules.few_macros,
        Tree({"src/a.hpp": "#define TASUKI_LOG(x) log_##x\n"}),
        Tree({"src/a.hpp": "// a ## b\n"}),
    ),
    (
        rules.no_exceptions,
        Tree({"src/p2p/a.cpp": "void f() { throw 1; }\n"}),
        Tree({"src/p2p/a.cpp": '// We never throw, \nconst char* s = "try";\n'}),
    ),
    (
        rules.no_sorts_that_warn,
        Tree({"src/p2p/a.cpp": "void f() { std::stable_sort(a.begin(), a.end()); }\n"}),
        Tree({"src/p2p/a.cpp": "// Not std::stable_sort.\nvoid f() { stable_sort(&a, is_before); }\n"}),
    ),
    (rules.links_resolve, Tree({"a.md": "[x](b.md)"}), Tree({"a.md": "[x](docs/b.md)", "docs/b.md": ""})),
    (
        rules.links_resolve,
        Tree({"a.md": "[x](b.md#two)", "b.md": "# One\n"}),
        Tree({"a.md": "[x](b.md#one-two) [y](https://x.y/z)", "b.md": "# One two\n"}),
    ),
    (
        rules.site_names_every_page,
        Tree({"a.md": "", "tools/site.yml": "nav:\n  - B: b.md\n"}),
        Tree(
            {
                "a.md": "",
                "docs/b.md": "",
                "tools/site.yml": "nav:\n  - A: a.md\n  - More:\n      - B: docs/b.md\n",
            }
        ),
    ),
    (
        rules.paths_exist,
        Tree({"a.md": "see `p2p/gone.hpp`"}),
        Tree({"a.md": "see `p2p/a.hpp` and `b.cpp`", "src/p2p/a.hpp": "//"}),
    ),
]

BAD_AND_GOOD += [
    (user_memory.user_memory_is_asked_for, Tree({"src/p2p/new.cpp": bad}), Tree({"src/p2p/new.cpp": good}))
    for bad, good in [
        ("auto* a = new std::byte[bytes];", "auto* a = new (std::nothrow) std::byte[bytes];"),
        ("auto a = std::make_unique<std::byte[]>(bytes);", "auto a = std::make_unique<Thing>(bytes);"),
        ("void f() { a.resize(n); }", "bool f() { return try_resize(&a, n); }"),
        ("void f() { a->reserve(n); }", "std::vector<int> all(const Comm& comm);"),
        ("void f() { std::vector<int> a(static_cast<std::size_t>(n)); }", "std::vector<int> all(int n);"),
    ]
]


UPWARDS = '#include "p2p/request.hpp"\n'
LARGE = '#include "p2p/large/large.hpp"\n'
SCALARS = '#include "base/types.hpp"\n'
CALL = '#include "p2p/call/y.cpp"\n'
OBJECT = '#include "object/comm.hpp"\n'
ENTRY = '#include "generated/binding/entry.cpp"\n'
BAD_AND_GOOD += [
    (one_way, house(object__x=UPWARDS), house(binding__x=UPWARDS)),
    (one_way, house(p2p__x=LARGE), house(p2p__large__x=UPWARDS)),
    (
        one_way,
        house(
            p2p__large__x=CALL,
            p2p__call__y=LARGE,
        ),
        house(),
    ),
    (with_a_circle_less, house(), house(p2p__x=LARGE)),
    (
        floor_plan.table_is_what_is_included,
        house(binding__x=SCALARS, binding__y=OBJECT),
        house(),
    ),
    (
        floor_plan.table_is_what_is_included,
        house(p2p__large__x=ENTRY),
        house(),
    ),
    (floor_plan.table_is_what_is_included, house(nowhere__x="//"), house(object__x="//")),
    (
        floor_plan.table_is_what_is_included,
        Tree({"ARCHITECTURE.md": TABLE, **{name: "//" for name in house().files if name.endswith("pp")}}),
        house(),
    ),
    (
        floor_plan.table_is_what_is_included,
        Tree({**house().files, "ARCHITECTURE.md": TABLE + "| `src/object/` | twice | nothing |\n"}),
        house(),
    ),
    (at_most_25, folder_of_files("p2p", 26), folder_of_files("p2p", 25, generated=9)),
    (at_most_25, folder_of_files("p2p/large", 26), folder_of_files("p2p", 20)),
    (at_most_25, folder_of_files("rma", 28), folder_of_files("rma", 27)),
    (at_most_25, folder_of_files("rma", 25), folder_of_files("rma", 26)),
]


def in_two_files(text):
    """The same in namespace tasuki of two files of the library."""
    return Tree({name: f"namespace tasuki {{\n{text}\n}}\n" for name in ("src/io/a.hpp", "src/rma/b.cpp")})


BAD_AND_GOOD += [
    (definitions.one_definition, in_two_files(bad), in_two_files(good))
    for bad, good in [
        ("struct A { int a; };", "struct A;"),
        ("class alignas(64) A final : public B<int> { int a; };", "namespace { class A { int a; }; }"),
        ("enum class A : int { kOne };", "using A = int;"),
        ("inline int f(int a) { return a; }", "int f(int a = 1);\nstatic int f(int a) { return a; }"),
        ("template <class T> T f(const T& a) { return a; }", "void f(const A& options = {});"),
        ("inline int counts[2] = {1, 2};", "constexpr int counts[2] = {1, 2};"),
        ("inline constexpr Count kOne = Count{1};", "constexpr Count kOne = Count{1};"),
        ("Code A::f(int a) const { return a; }", "Code A::f(int a) const;"),
    ]
]


@pytest.mark.parametrize(
    "rule, bad, good",
    BAD_AND_GOOD,
    ids=[f"{rule.__name__}-{i}" for i, (rule, _, _) in enumerate(BAD_AND_GOOD)],
)
def test_rule_names_the_bad_and_passes_the_good(rule, bad, good):
    assert rule(bad), "the bad sample passed"
    assert rule(good) == []


def test_functions_are_found_by_their_braces():
    text = """// File.
namespace a {
struct S : public T {
  S(int x) : x_{x}, y_{1} {
    if (x) { x_ = 2; }
  }
  int get() const { return x_; }
  int table[2] = {1, 2};
};
template <class F>
auto operator()(F f) -> int {
  auto g = [&](int i) { return "}{"[i]; };
  for (;;) { }
}
#define ODD {
int main() { return '{'; }
}
"""
    found = [(name, begin, end) for name, begin, end in rules.c_functions(text)]
    assert [(begin, end) for _, begin, end in found] == [(4, 6), (7, 7), (10, 14), (16, 16)], found
    assert [name for name, _, _ in found][::3] == ["S", "main"]


def test_functions_of_one_name_are_told_apart_by_their_parameters():
    text = "namespace a {{\ninline int f({}) {{ return 1; }}\n}}\n"
    for parameters in ("long a", "int a, int b", "const int& a", "int* a"):
        tree = Tree({"src/io/a.hpp": text.format("int a"), "src/io/b.hpp": text.format(parameters)})
        assert definitions.one_definition(tree) == [], parameters
    tree = Tree({"src/io/a.hpp": text.format("int a"), "src/io/b.hpp": text.format("int  other = 3")})
    assert definitions.one_definition(tree)


def test_names_of_precompiled_headers_are_found_in_anonymous_namespaces():
    cmake = "target_precompile_headers(core PRIVATE <vector>\n  src/io/first.hpp)\n"
    header = "namespace a {\nstruct A { int a; };\ninline constexpr int kOne = 1;\n}\n"
    files = {
        "CMakeLists.txt": cmake,
        "src/io/first.hpp": '#include "io/second.hpp"\n',
        "src/io/second.hpp": header,
    }

    def wrong(text):
        return definitions.names_of_precompiled_headers_are_theirs(Tree({**files, "src/io/c.cpp": text}))

    for local in ("struct A { int b; };", "constexpr int kOne = 2;"):
        assert wrong(f"namespace a {{\nnamespace {{\n{local}\n}}\n}}\n"), local
        assert wrong(f"namespace b {{\nnamespace {{\n{local}\n}}\n}}\n") == [], local
    assert wrong("namespace a {\nnamespace {\nstruct B { int b; };\n}\n}\n") == []


def test_names_of_files_in_one_piece_are_told_apart():
    cmake = 'list(FILTER in_one_piece EXCLUDE REGEX "/(apart|alone)\\\\.cpp$")'
    unit_cmake = "foreach(name io/apart io/alone)\n  set_source_files_properties(${name})\n"
    text = "namespace a {{\nnamespace {{\n{}\n}}\n}}\n"
    first = text.format("int f(const A& a) { return a.one; }")

    def wrong(name, local):
        files = {"src/launch/CMakeLists.txt": cmake, "src/launch/a.cpp": first, name: text.format(local)}
        files |= {"tests/unit/CMakeLists.txt": unit_cmake, "tests/unit/io/a_test.cpp": first}
        return definitions.files_in_one_piece_have_their_own_names(Tree(files))

    assert wrong("src/launch/b.cpp", "int f(A a) { return a.two; }")
    assert wrong("src/launch/b.cpp", "void write(A& a) { a.one = 1; }")
    assert wrong("src/launch/b.cpp", "int f(const B& b) { return b.one; }") == []
    assert wrong("src/launch/apart.cpp", "int f(A a) { return a.two; }") == []
    assert wrong("src/io/b.cpp", "int f(A a) { return a.two; }") == []
    assert wrong("tests/unit/io/b_test.cpp", "int f(A a) { return a.two; }")
    assert wrong("tests/unit/io/alone_test.cpp", "int f(A a) { return a.two; }") == []
    assert wrong("tests/unit/coll/b_test.cpp", "int f(A a) { return a.two; }") == []


def test_programs_are_told_apart():
    """Two unit tests of one folder are one program, two folders are two; each holds the library."""
    text = "namespace a {\nstruct A { int a; };\n}\n"
    apart = Tree({"tests/unit/io/a_test.cpp": text, "tests/unit/coll/a_test.cpp": text})
    assert definitions.one_definition(apart) == []
    for first in ("tests/unit/io/b_test.cpp", "src/io/a.hpp", "tests/unit/support/a.hpp"):
        assert definitions.one_definition(Tree({first: text, "tests/unit/io/a_test.cpp": text})), first


def test_formatting_is_checked_by_clang_format(tmp_path):
    (tmp_path / ".clang-format").write_text("BasedOnStyle: Google\n")
    for text, clean in (("int  main( ) { }\n", False), ("int main() {}\n", True)):
        (tmp_path / "a.cpp").write_text(text)
        assert (rules.clang_format_clean(Tree({"a.cpp": text}, tmp_path)) == []) == clean


def test_python_is_checked_by_ruff(tmp_path):
    for text, clean in (('x = {  "a":1 }\n', False), ("import os\n", False), ('x = {"a": 1}\n', True)):
        (tmp_path / "a.py").write_text(text)
        assert (rules.ruff_clean(Tree({"a.py": text}, tmp_path)) == []) == clean


def test_unbuilt_sources_are_found(tmp_path):
    for name in ("built.cpp", "forgotten.cpp", "named.c"):
        (tmp_path / name).write_text("//\n")
    commands = tmp_path / "compile_commands.json"
    commands.write_text(json.dumps([{"directory": str(tmp_path), "file": "built.cpp", "command": "g++"}]))
    tree = Tree(
        {"built.cpp": "//", "forgotten.cpp": "//", "named.c": "//", "x.py": 'run("named.c")'}, tmp_path
    )
    assert rules.everything_is_built(tree, commands) == ["forgotten.cpp: nothing builds it"]


MUTABLE = {
    "a counter": "int counter = 3;",
    "a zeroed array": "static int cache[4]; int* f() { return cache; }",
    "a function's static": "int next() { static int n; return ++n; }",
    "thread-local": "thread_local int depth; int* f() { return &depth; }",
    "an inline variable": "inline int shared_one = 1; int* f() { return &shared_one; }",
}
IMMUTABLE = {
    "constants": "extern const int table[] = {1, 2};",
    "pointers to constants": 'extern const char* const names[] = {"a", "b"};',
    "a virtual table": "struct A { virtual ~A(); }; A::~A() {}",
}


def compiled(tmp_path, text):
    (tmp_path / "a.cpp").write_text(text + "\n")
    subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-c", "a.cpp"], cwd=tmp_path, check=True)
    return [tmp_path / "a.o"]


@pytest.mark.parametrize("what", MUTABLE)
def test_mutable_globals_are_found(what, tmp_path):
    assert rules.no_mutable_globals(compiled(tmp_path, MUTABLE[what]))


@pytest.mark.parametrize("what", IMMUTABLE)
def test_constants_are_no_mutable_globals(what, tmp_path):
    assert rules.no_mutable_globals(compiled(tmp_path, IMMUTABLE[what])) == []
