"""The benchmark suite as a program of an MPI: built by that MPI's mpicxx, once for each state of the sources.

What was built lies under ~/.cache/tasuki (or XDG_CACHE_HOME, or where the caller says), in a folder named
by a hash of sources, compiler and flags. Our own tree has it built already.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import tasuki
from tasuki import environment
from tasuki.implementation import Implementation, ImplementationError

FLAGS = ("-std=c++20", "-O2", "-pthread")
SECONDS_MAX = 600  # for one source
TOLD_LINES = 12  # of a compiler's complaint


def work_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tasuki"


def sources() -> list[pathlib.Path]:
    folder = tasuki.share_dir("mbl")
    found = sorted(folder.glob("*.cpp"))
    if not found:
        raise ImplementationError(f"{folder}: there are no sources of the benchmark suite")
    return found


def headers() -> list[pathlib.Path]:
    folder = tasuki.share_dir("mbl")
    return sorted(folder.glob("*.hpp")) + sorted(folder.parent.glob("*.h"))


def ready(implementation: Implementation) -> pathlib.Path | None:
    """The program that was installed with this package, if it is this MPI's."""
    if tasuki.share_dir("mbl").parts[-3:] != ("share", "tasuki", "mbl"):
        return None  # of the sources themselves: they may be newer
    prefix = tasuki.prefix()
    program = prefix / "libexec" / "tasuki" / "mbl"
    return program if implementation.prefix == prefix and program.exists() else None


def compile_words(implementation: Implementation, source: pathlib.Path, target: pathlib.Path) -> list[str]:
    return [str(word) for word in (implementation.mpicxx, *FLAGS, "-c", source, "-o", target)]


def call(words: list[str], implementation: Implementation) -> None:
    try:
        done = subprocess.run(
            words,
            env=implementation.variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except OSError as error:
        raise ImplementationError(f"{words[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ImplementationError(f"{' '.join(words)}: did not end within {SECONDS_MAX} s") from None
    if done.returncode != 0:
        told = "\n".join((done.stderr or done.stdout).strip().splitlines()[:TOLD_LINES])
        raise ImplementationError(
            f"{implementation.name}: {' '.join(words)}: exit status {done.returncode}\n{told}"
        )


def key_of(implementation: Implementation) -> str:
    digest = hashlib.sha256()
    for word in (implementation.mpicxx, implementation.kind, implementation.version, *FLAGS):
        digest.update(f"{word}\0".encode())
    digest.update(environment.compiler_version(implementation.mpicxx, implementation.variables()).encode())
    for path in sources() + headers():
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def build(implementation: Implementation, work: pathlib.Path | None = None) -> pathlib.Path:
    """The program's path. Takes half a minute where it is not there yet."""
    if not implementation.mpicxx.exists():
        raise ImplementationError(
            f"{implementation.name}: there is no {implementation.mpicxx}; expected a C++ compiler"
        )
    built = ready(implementation)
    if built:
        return built
    folder = (work or work_folder()).absolute() / "mbl" / key_of(implementation)  # jobs start elsewhere
    if (folder / "mbl").exists():
        return folder / "mbl"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = pathlib.Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=folder.parent))
    except OSError as error:
        raise ImplementationError(
            f"{folder.parent}: {error.strerror}: no place to build the suite in"
        ) from None
    try:
        build_in(draft, implementation)
        if not folder.exists():  # another may have been quicker
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder / "mbl"


def build_in(folder: pathlib.Path, implementation: Implementation) -> None:
    pairs = [(source, folder / f"{source.stem}.o") for source in sources()]
    with concurrent.futures.ThreadPoolExecutor(max_workers=environment.processors()) as workers:
        jobs = [
            workers.submit(call, compile_words(implementation, source, target), implementation)
            for source, target in pairs
        ]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    objects = [target for _, target in pairs]
    words = [implementation.mpicxx, *FLAGS, *objects, "-o", folder / "mbl"]
    call([str(word) for word in words], implementation)
    for target in objects:
        target.unlink()
