"""Jobs of an MPI: started, watched, and ended with all that they left behind.

Each job runs in a session of its own and carries a mark in its environment. A job that has to be ended may
have ranks in other sessions, of launchers that are dead: they are found by the mark.
"""

from __future__ import annotations

import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time
import uuid

MARK = "MBL_JOB"
TEXT_MAX = 300  # characters of a job's complaint that are passed on


class Job:
    """A running program of ranks. Its output goes to files, so that it never waits for a reader."""

    def __init__(self, words: list[str], variables: dict[str, str], folder: str | pathlib.Path | None = None):
        self.mark = uuid.uuid4().hex
        self.begin = time.monotonic()
        self.out, self.error = tempfile.TemporaryFile("w+b"), tempfile.TemporaryFile("w+b")
        self.process = subprocess.Popen(
            [str(word) for word in words],
            env=variables | {MARK: self.mark},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=self.error,
            start_new_session=True,
        )

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_) -> None:
        self.end()
        self.out.close(), self.error.close()

    def wait(self, seconds: float) -> int | None:
        """The exit status, or None if it still runs after that time. Sleeps meanwhile: a rank may need the
        processor."""
        if self.process.poll() is None and seconds > 0:
            watched = os.pidfd_open(self.process.pid)
            try:
                select.select([watched], [], [], seconds)
            finally:
                os.close(watched)
        return self.process.poll()

    def end(self) -> None:
        """Ends what still runs of it: politely for a second, so that a launcher can end its ranks."""
        if self.process.poll() is None:
            self.process.terminate()
            if self.wait(1) is None:
                self.process.kill()
        self.process.wait()
        for process in marked(self.mark):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def text(self) -> str:
        """What it wrote so far on its standard output."""
        return read_all(self.out)

    def errors(self) -> str:
        return read_all(self.error)

    def complaint(self) -> str:
        """What it wrote on standard error, or else on standard output, in one line, short."""
        told = self.errors().strip() or self.text().strip()
        lines = [line.strip() for line in told.splitlines() if line.strip(" -=*")]
        text = " / ".join(lines)
        return text if len(text) <= TEXT_MAX else text[: TEXT_MAX // 2] + " … " + text[-TEXT_MAX // 2 :]


def read_all(file) -> str:
    # Not by the file's own position: that is the one at which the job goes on writing.
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode(errors="replace")


def marked(mark: str) -> list[int]:
    """The processes that carry the mark."""
    found = []
    needle = f"{MARK}={mark}".encode()
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if needle in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended, or is another user's
    return found


def status_text(status: int) -> str:
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
