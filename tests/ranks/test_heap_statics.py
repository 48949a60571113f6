"""Static data of a program whose heap is global: mapped from the arena, and the same to the program."""

import pytest

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
