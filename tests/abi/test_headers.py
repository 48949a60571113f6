"""The headers of both ABIs: up to date, clean in every C and C++, of the layout that the ABIs fix, and equal
to what another implementation of these ABIs says.

The other implementation is PyPI's mpich, which has headers of both. Its place is $TASUKI_PEERS/mpich (by
default build/peers/mpich); without it only that comparison is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bindgen import constants, mpi_functions  # noqa: E402
from bindgen.__main__ import header, remove_others, write  # noqa: E402

PREFIX = Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build/prefix"))
INCLUDE = {"standard": ROOT / "include", "mpich": PREFIX / "include/mpich"}
PEER = Path(os.environ.get("TASUKI_PEERS", ROOT / "build/peers")) / "mpich/include"
PEER_HEADER = {"standard": "mpi_abi.h", "mpich": "mpi.h"}
ABIS = ("standard", "mpich")

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror"]
LANGUAGES = [("c", version) for version in ("c99", "c11", "c17")] + [
    ("c++", version) for version in ("c++11", "c++14", "c++17", "c++20")
]


def compile_text(text: str, *flags: str, language: str = "c") -> subprocess.CompletedProcess:
    compiler = "g++" if language == "c++" else "gcc"
    command = [compiler, "-x", language, *flags, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def check_compiles(text: str, *flags: str, language: str = "c") -> None:
    result = compile_text(text, "-fsyntax-only", *flags, language=language)
    assert result.returncode == 0, result.stderr[:4000]


def printed(text: str, tmp_path: Path, *flags: str) -> list[str]:
    program = tmp_path / "program"
    result = compile_text(text, "-w", *flags, "-o", str(program))
    assert result.returncode == 0, result.stderr[:4000]
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def all_functions(abi: str) -> list[mpi_functions.Function]:
    return mpi_functions.functions() + (mpi_functions.removed() if abi == "mpich" else [])


def values_program(header: str, abi: str) -> str:
    """Prints every constant of the ABI that has a number, and the layouts."""
    lines = []
    for constant in constants.load():
        if isinstance(constant.value(abi), int):
            lines.append(f'printf("{constant.name} %lld\\n", (long long)(intptr_t)({constant.name}));')
    for name in ("MPI_Status", "MPI_Aint", "MPI_Offset", "MPI_Count", *constants.HANDLE_TYPES.values()):
        lines.append(f'printf("sizeof({name}) %zu\\n", sizeof({name}));')
    for field in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR"):
        lines.append(f'printf("offsetof({field}) %zu\\n", offsetof(MPI_Status, {field}));')
    if abi == "mpich":
        for field in ("count_lo", "count_hi_and_cancelled"):
            lines.append(f'printf("offsetof({field}) %zu\\n", offsetof(MPI_Status, {field}));')
    includes = f"#include <{header}>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
    return includes + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"


def test_the_kept_header_is_what_bindgen_writes():
    for name, text in header().items():
        assert (ROOT / name).read_text() == text, f"{name} is out of date: build/venv/bin/python -m bindgen"


def test_only_what_changed_is_written_and_what_is_no_longer_made_is_removed(tmp_path):
    """Else the build compiles too much, or a file that nobody makes any more."""
    before = {"a/same.hpp": "1\n", "a/changed.hpp": "2\n", "b/gone.cpp": "3\n"}
    write(tmp_path, before)
    remove_others(tmp_path, before)
    (tmp_path / "of_others.txt").write_text("")
    for path in tmp_path.rglob("*.hpp"):
        os.utime(path, (0, 0))
    after = {"a/same.hpp": "1\n", "a/changed.hpp": "4\n"}
    write(tmp_path, after)
    remove_others(tmp_path, after)
    assert (tmp_path / "a/same.hpp").stat().st_mtime == 0
    assert (tmp_path / "a/changed.hpp").stat().st_mtime > 0
    assert not (tmp_path / "b/gone.cpp").exists() and (tmp_path / "of_others.txt").exists()


@pytest.mark.parametrize("abi", [*ABIS, "standard -DTASUKI_REMOVED_FUNCTIONS"])
@pytest.mark.parametrize(("language", "version"), LANGUAGES)
def test_header_compiles_without_a_warning(abi, language, version):
    uses = "int main(void) { return MPI_COMM_WORLD == MPI_COMM_NULL; }\n"
    abi, *flags = abi.split()
    flags += [f"-std={version}", *WARNINGS, f"-I{INCLUDE[abi]}"]
    check_compiles("#include <mpi.h>\n" + uses, *flags, language=language)


CONSTANTS_FOR_ARRAYS = """
#include <mpi.h>
int main(void) {
  MPI_Request requests[2];
  MPI_Comm comm = MPI_COMM_WORLD;
  int count, some[2] = {0, 0};
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Testall(2, requests, &count, MPI_STATUSES_IGNORE);
  MPI_Waitsome(2, requests, &count, some, MPI_STATUSES_IGNORE);
  MPI_Testsome(2, requests, &count, some, MPI_STATUSES_IGNORE);
  MPI_Dist_graph_create(comm, 1, some, some, some, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_create_adjacent(comm, 1, some, MPI_UNWEIGHTED, 0, some, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                                 &comm);
  MPI_Dist_graph_neighbors(comm, 1, some, MPI_UNWEIGHTED, 1, some, MPI_UNWEIGHTED);
  return MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &comm, MPI_ERRCODES_IGNORE);
}
"""


@pytest.mark.parametrize("abi", ABIS)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_constants_in_place_of_arrays_set_off_no_warning(abi, language):
    flags = ("-O2", "-S", "-o", "/dev/null", *WARNINGS, f"-I{INCLUDE[abi]}")
    result = compile_text(CONSTANTS_FOR_ARRAYS, *flags, language=language)
    assert result.returncode == 0, result.stderr[:4000]


@pytest.mark.parametrize("abi", ABIS)
def test_every_function_is_declared_with_its_profiling_twin(abi):
    text = (INCLUDE[abi] / "mpi.h").read_text().split("/* What MPI 3.0 removed")[0]
    declared = re.findall(r"^(?!typedef)\w[\w ]*\*? (P?MPI_\w+)\(", text, flags=re.MULTILINE)
    functions = {name for name in declared if name.startswith("MPI_")}
    assert len(functions) == (690 if abi == "standard" else 700)
    assert {"P" + name for name in functions} == {name for name in declared if name.startswith("PMPI_")}
    assert len(declared) == 2 * len(functions)


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_a_call_of_a_removed_function_names_its_successor(compiler, tmp_path):
    """At compile time; what -DTASUKI_REMOVED_FUNCTIONS gives back is in tests/programs/removed.c."""
    removed = mpi_functions.removed()
    assert len(removed) == 10
    text = "#include <mpi.h>\n"
    for function in removed:
        arguments = ", ".join("0" for _ in function.parameters)
        text += f"int calls_{function.name}(void) {{ return {function.name}({arguments}); }}\n"
    language = "c++" if "++" in compiler else "c"
    command = [compiler, "-x", language, f"-I{INCLUDE['standard']}", "-S", "-", "-o", tmp_path / "out"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    for function in removed:
        message = (
            f"MPI 3.0 removed {function.name}: call {function.instead}, or compile with -DTASUKI_REMOVED"
        )
        assert message in result.stderr, result.stderr


@pytest.mark.parametrize("abi", ABIS)
def test_values_are_those_of_the_spec(abi, tmp_path):
    lines = printed(values_program("mpi.h", abi), tmp_path, f"-I{INCLUDE[abi]}")
    values = dict(line.rsplit(" ", 1) for line in lines)
    handle_bits = 64 if abi == "standard" else 32
    for constant in constants.load():
        expected = constant.value(abi)
        if isinstance(expected, int):
            if constant.category in constants.HANDLE_TYPES and expected >= 1 << (handle_bits - 1):
                expected -= 1 << handle_bits  # an int handle with the top bit set
            assert int(values[constant.name]) == expected, constant.name
    assert int(values["sizeof(MPI_Status)"]) == (32 if abi == "standard" else 20)
    assert int(values["offsetof(MPI_SOURCE)"]) == (0 if abi == "standard" else 8)
    assert int(values["sizeof(MPI_Comm)"]) == (8 if abi == "standard" else 4)
    assert int(values["sizeof(MPI_Count)"]) == 8


needs_peer = pytest.mark.skipif(
    not (PEER / "mpi_abi.h").exists(), reason=f"no headers to compare with in {PEER}"
)


@needs_peer
@pytest.mark.parametrize("abi", ABIS)
def test_values_and_layouts_equal_the_peers(abi, tmp_path):
    ours = printed(values_program("mpi.h", abi), tmp_path, f"-I{INCLUDE[abi]}")
    theirs = printed(values_program(PEER_HEADER[abi], abi), tmp_path, f"-I{PEER}")
    assert ours == theirs


@needs_peer
@pytest.mark.parametrize("abi", ABIS)
def test_prototypes_and_callbacks_agree_with_the_peers(abi):
    """Declares everything once more after the peer's header: C refuses a declaration of another type."""
    lines = [f"#include <{PEER_HEADER[abi]}>"]
    if abi == "standard":
        lines.append("typedef int MPI_Fint; typedef struct { int words[8]; } MPI_F08_status;")
    for callback in mpi_functions.callbacks():
        lines.append(f"typedef {callback.declaration()}")
    for function in all_functions(abi):
        for prefix in ("", "P"):
            lines += [f"#undef {prefix}{function.name}", function.declaration(prefix)]
    check_compiles("\n".join(lines) + "\n", "-std=c11", f"-I{PEER}")


@needs_peer
def test_the_peers_functions_are_all_ours():
    library = PEER.parent / "lib/libmpi.so.12"
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    theirs = set(re.findall(r" [TW] (P?MPI_\w+)$", symbols, flags=re.MULTILINE))
    ours = {prefix + function.name for function in all_functions("mpich") for prefix in ("", "P")}
    assert len(theirs) >= 2 * 690
    assert theirs - ours == set()
