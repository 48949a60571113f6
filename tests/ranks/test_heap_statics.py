"""Static data of a program whose heap is symmetric: mapped from the heap, and the same to the program."""

import subprocess

import pytest
from harness import HERE

# How the program is linked decides where its data lies; COMMON of Fortran is .bss as any.
LINKS = {"pie": ["-fPIE", "-pie"], "fixed": ["-fno-pie", "-no-pie"], "norelro": ["-Wl,-z,norelro"]}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_static_data_is_global(mpiexec, build, link, ranks):
    done = mpiexec("-n", ranks, "--heap=global", build("heap_statics.c", *LINKS[link]))
    assert done.returncode == 0, done.text
    assert done.stdout.count("statics: global") == ranks, done.text


@pytest.mark.parametrize("how", ["--heap=private", "TASUKI_STATIC_DATA"])
def test_static_data_stays_private_when_asked(mpiexec, build, how):
    wish = ["--heap=global", "-x", "TASUKI_STATIC_DATA=private"] if how.startswith("TASUKI") else [how]
    done = mpiexec("-n", 2, *wish, build("heap_statics.c"))
    assert done.returncode == 0, done.text
    assert done.stdout.count("statics: private") == 2, done.text


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("heap", ["global", "private"])
def test_common_blocks_of_fortran(mpiexec, build, heap, link):
    # The C compiler's driver hands Fortran on to gfortran: there are no bindings for it yet.
    program = build("heap_common.f90", *LINKS[link], HERE / "heap_common.c", "-lgfortran", "-lm")
    done = mpiexec("-n", 3, f"--heap={heap}", program)
    assert done.returncode == 0, done.text
    for block in ("fields", "edges", "scalars", "tables"):
        assert done.stdout.count(f"common {block}: {heap}") == 3, done.text


@pytest.mark.parametrize("heap", ["global", "private"])
def test_copied_variables_of_libraries_stay_the_same_to_both(mpiexec, build, heap):
    program = build("heap_copies.c", *LINKS["fixed"])
    listed = subprocess.run(["readelf", "-rW", program], check=True, capture_output=True, text=True).stdout
    copied = [line for line in listed.splitlines() if "_COPY" in line]
    for name in ("stdout@", "__environ@", "optind@"):
        assert any(f" {name}" in line for line in copied), listed
    done = mpiexec("-n", 2, f"--heap={heap}", program)
    assert done.returncode == 0, done.text
    assert done.stdout.count(f"copies: {heap}") == 2, done.text
