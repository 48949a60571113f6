"""`make dist`: a source archive that builds without Python, pympistandard and network.

The archive is configured; of its generated files one source is compiled for each ABI, and the manual pages
are made. `make test-long` builds and installs all of it.
"""

from __future__ import annotations

import filecmp
import os
import re
import subprocess

import pytest
from test_install import PREFIX, ROOT, output

LONG = os.environ.get("TASUKI_TEST_LONG") == "1"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The unpacked archive of the last commit."""
    folder = tmp_path_factory.mktemp("dist")
    environment = {"PYTHON": str(ROOT / "build/venv/bin/python"), **os.environ}
    made = subprocess.run(
        [ROOT / "tools/make-dist", folder],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    output("tar", "-xzf", made.stdout.strip(), "-C", folder)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


@pytest.fixture(scope="module")
def built(sources):
    """A configured build, which finds no Python but one that only fails."""
    tools = sources.parent / "bin"
    tools.mkdir()
    for name in ("python", "python3"):
        (tools / name).write_text("#!/bin/sh\necho there is no Python >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    build = sources.parent / "build"
    words = ["cmake", "-S", sources, "-B", build, "-G", "Ninja", "-DCMAKE_INSTALL_LIBDIR=lib"]
    options = ["-DTASUKI_BUILD_TESTS=OFF", "-DTASUKI_SPAM=OFF", f"-DPython3_EXECUTABLE={tools}/python3"]
    told = output(*words, *options, PATH=f"{tools}:{os.environ['PATH']}")
    assert "Generated files: those of the source archive" in told
    assert not (build / "generated").exists()
    return build, {"PATH": f"{tools}:{os.environ['PATH']}"}


def test_its_generated_files_are_compiled(built):
    build, variables = built
    objects = output("ninja", "-C", build, "-t", "targets", "all")
    wrappers = re.findall(r"^(\S*tasuki_trace_\w+\.dir/\S*generated/trace/wrappers\.cpp\.o):", objects, re.M)
    assert len(wrappers) == 2
    output("cmake", "--build", build, "-j", "2", "--target", *wrappers, "tasuki_man", **variables)
    pages = build / "install/man/man3"
    assert len(list(pages.iterdir())) == 690
    assert (pages / "MPI_Send.3").read_text().startswith(".TH MPI_SEND")


@pytest.mark.skipif(not LONG, reason="builds everything: TASUKI_TEST_LONG=1")
@pytest.mark.timeout(3600)
def test_all_of_it_is_built_and_what_is_installed_is_the_same(built, tmp_path):
    build, variables = built
    output(
        "cmake", "--build", build, "-j", os.environ.get("TASUKI_TEST_JOBS", os.cpu_count() or 1), **variables
    )
    output("cmake", "--install", build, "--prefix", tmp_path, **variables)
    for folder in ("include", "share/tasuki/modules", "share/man"):
        for path in (tmp_path / folder).rglob("*"):
            if path.is_file():
                assert filecmp.cmp(path, PREFIX / path.relative_to(tmp_path), shallow=False), path
