"""The recipe for Spack and the container file say what the build and the documents say."""

import pathlib
import re

from test_install import PREFIX, ROOT, output

CONTAINER = (ROOT / "packaging/Containerfile").read_text()
SPACK = ROOT / "packaging/spack/packages/tasuki/package.py"


def options_of_cmake():
    """What a person may set: CMake's options and cached variables of ours."""
    texts = [(ROOT / "CMakeLists.txt").read_text()]
    texts += [path.read_text() for path in (ROOT / "cmake").glob("*.cmake")]
    return set(re.findall(r"(?:option\(|set\()(TASUKI_\w+)(?= \"| \S+ CACHE)", "\n".join(texts)))


def test_the_recipe_of_spack_sets_options_that_there_are():
    text = SPACK.read_text()
    compile(text, str(SPACK), "exec")
    set_there = set(re.findall(r'"(TASUKI_\w+)"', text))
    assert {"TASUKI_WITH_FABRIC", "TASUKI_WRAPPER_CC", "TASUKI_PYTHON"} <= set_there <= options_of_cmake()
    wanted = (ROOT / "CMakeLists.txt").read_text()
    assert f'depends_on("cmake@{re.search(r"cmake_minimum_required.VERSION ([0-9.]+)", wanted)[1]}:"' in text
    for command in ("mpicc", "mpicxx", "mpif77", "mpif90"):
        assert f'"{command}"' in text and (PREFIX / "bin" / command).exists()
    repository = re.search(r"spack repo add ([\w/]+)", text)[1]
    assert "namespace: tasuki" in (ROOT / repository / "repo.yaml").read_text()


def test_the_container_is_built_by_the_documented_commands():
    commands = re.findall(r"^RUN (make .*)$", CONTAINER, flags=re.M)
    documents = (ROOT / "README.md").read_text() + (ROOT / "docs/install.md").read_text()
    assert commands and all(command in documents for command in commands)


def test_the_container_has_the_libraries_that_programs_load():
    programs = [PREFIX / "bin/mpiexec", PREFIX / "bin/spam", PREFIX / "libexec/tasuki-source-lines"]
    programs = filter(pathlib.Path.exists, programs)  # the build under test may lack some
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", *programs)))
    needed -= {name for name in needed if re.match(r"ld-|lib(c|m|gcc_s|stdc\+\+|mpi_abi)\.", name)}
    needed |= {"libmimalloc.so.2", "libfabric.so.1", "libpmix.so.2"}  # opened when a job begins
    for name in sorted(needed):
        owners = output("dpkg", "-S", f"*/{name}")
        packages = {line.partition(":")[0] for line in owners.splitlines()}
        assert any(re.search(rf"\s{re.escape(one)}\s", CONTAINER) for one in packages), owners
