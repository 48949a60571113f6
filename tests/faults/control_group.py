"""A memory control group for a test, of either version, below the one that the tests run in.

It limits, and it tells afterwards what is left: processes, and memory that was not given back.
"""

import contextlib
import os
import pathlib
import time


class ControlGroup:
    def __init__(self, path, limit_file, usage_file):
        self.path, self.limit_file, self.usage_file = path, limit_file, usage_file

    def enter(self):
        """For subprocess' preexec_fn: the child goes into the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def processes(self):
        return [int(word) for word in (self.path / "cgroup.procs").read_text().split()]

    def bytes_used(self):
        return int((self.path / self.usage_file).read_text())

    def remove(self):
        self.settles(lambda: not self.processes())
        self.path.rmdir()

    def settles(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.02)
        return condition()


def places():
    """(directory of our group, file of the limit, file of the usage) where memory may be counted."""
    root = pathlib.Path("/sys/fs/cgroup")
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield root / "memory" / path.strip("/"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        elif controllers == "":
            yield root / path.strip("/"), "memory.max", "memory.current"


@contextlib.contextmanager
def control_group(limit_bytes):
    """A ControlGroup, or a text that says why there can be none here."""
    reasons = []
    for number, (own, limit_file, usage_file) in enumerate(places()):
        path = own / f"tasuki-test-{os.getpid()}-{number}"
        try:
            path.mkdir()
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            (path / limit_file).write_text(str(limit_bytes))
            swap = path / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
        except OSError as error:
            reasons.append(str(error))
            path.rmdir()
            continue
        group = ControlGroup(path, limit_file, usage_file)
        try:
            yield group
        finally:
            group.remove()
        return
    yield "no memory control group can be made here: " + "; ".join(reasons or ["none is mounted"])
