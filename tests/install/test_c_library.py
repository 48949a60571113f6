"""A compiler for another C library than glibc is refused when Tasuki is configured, by one sentence."""

import subprocess

from test_install import ROOT


def test_another_c_library_is_refused(tmp_path):
    (tmp_path / "features.h").write_text("/* that of musl defines no name of the library */\n")
    compiler = tmp_path / "musl-gcc"
    compiler.write_text(f'#!/bin/sh\nexec cc -isystem {tmp_path} "$@"\n')
    compiler.chmod(0o755)
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_C_COMPILER={compiler}"],
        capture_output=True,
        text=True,
        check=False,
    )
    told = " ".join(done.stderr.split())
    assert done.returncode != 0, done.stdout
    assert f"Tasuki needs glibc. {compiler} compiles for another C library, as musl's does" in told
