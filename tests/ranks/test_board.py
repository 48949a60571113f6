"""What each rank reports while it waits: waits.c has all ranks but the last wait for that one, in one
kind of call after the other, and mpiexec --doctor=json, asked by SIGQUIT, says what they have told."""

import json
import os
import re
import signal
import threading
import time

import pytest
from harness import PREFIX, compile_program, place, start_command

SECONDS_MAX = 120  # for one kind of wait

INT = 4
LONG = 200000 * INT  # bytes

# What each kind of wait has to tell: of the call, of requests that it waits for, of messages that nobody has
# received. LAST is the rank that all wait for; None of a peer: any.
LAST = "last"
WAITS = [
    ("MPI_Recv", {"peer": LAST, "tag": 7, "communicator": "mesh"}, [(LAST, 7, 5 * INT)], []),
    ("MPI_Wait", {}, [(LAST, 8, 3 * INT)], []),
    ("MPI_Waitany", {}, [(None, 9, INT), (None, 10, INT)], []),
    ("MPI_Send", {"peer": LAST, "tag": 11, "communicator": "mesh"}, [(LAST, 11, LONG)], []),
    ("MPI_Probe", {"peer": LAST, "tag": 12, "communicator": "mesh"}, [], []),
    ("MPI_Test", {}, [], []),
    ("MPI_Recv", {"peer": LAST, "tag": 15, "communicator": "mesh"}, [(LAST, 15, INT)], [(LAST, 14, INT)]),
    ("MPI_Barrier", {"communicator": "mesh"}, [], []),
    ("MPI_Bcast", {"root": LAST, "communicator": "mesh"}, [], []),
    ("MPI_Allreduce", {"communicator": "mesh"}, [], []),
    ("MPI_Wait", {}, [(None, None, None)], []),
    ("MPI_Win_fence", {}, [], []),
    ("MPI_Win_lock", {"peer": 0}, [], []),
    ("MPI_Comm_split", {"communicator": "mesh"}, [], []),
]


class Job:
    """mpiexec with waits.c, and its answers line by line."""

    def __init__(self, ranks):
        words = [PREFIX / "bin" / "mpiexec", "--doctor=json", "--stall", 0, "--timeout", 120, "-n", ranks]
        self.process = start_command(*words, compile_program("waits.c"))
        self.answers = []
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.ready.wait(SECONDS_MAX)  # before that mpiexec may not expect a signal

    def _read(self):
        for line in self.process.stdout:
            if line == "ready\n":
                self.ready.set()
            else:
                self.answers.append(json.loads(line))

    def ask(self):
        """The ranks as they tell of themselves now."""
        asked = len(self.answers)
        self.process.send_signal(signal.SIGQUIT)
        end = time.monotonic() + SECONDS_MAX
        while len(self.answers) == asked:
            assert time.monotonic() < end and self.process.poll() is None, self.end()
            time.sleep(0.01)
        return self.answers[-1]

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        return self.process.stderr.read()


def told(messages):
    return sorted(
        ((m.get("peer"), m.get("tag"), m["bytes"] if m["bytes"] >= 0 else None) for m in messages), key=repr
    )


def with_last(entries, last):
    return sorted(((last if peer == LAST else peer, *rest) for peer, *rest in entries), key=repr)


def differences(rank, wait, last):
    """What `rank` tells that it should not, or does not tell; empty: all is right."""
    call, fields, awaited, unexpected = wait
    if rank["call"] != call or not rank["answered"] or not rank["in_mpi"]:
        return [f"rank {rank['rank']}: is in {rank['call']}, expected {call}"]
    wrong = []
    if rank["waiting"] != (call != "MPI_Test"):
        wrong.append(f"waiting = {rank['waiting']}")
    for key, value in fields.items():
        expected = last if value == LAST else value
        if rank.get(key) != expected:
            wrong.append(f"{key} = {rank.get(key)}, expected {expected}")
    if told(m for m in rank["open"] if m["awaited"]) != with_last(awaited, last):
        wrong.append(
            f"awaits {told(m for m in rank['open'] if m['awaited'])}, expected {with_last(awaited, last)}"
        )
    if told(rank["unexpected"]) != with_last(unexpected, last):
        wrong.append(f"unexpected: {told(rank['unexpected'])}")
    if not re.fullmatch(place("waits.c"), rank.get("at", "")):
        wrong.append(f"at {rank.get('at')}")
    return wrong


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_each_kind_of_wait_is_told(ranks):
    job = Job(ranks)
    try:
        last = ranks - 1
        for number, wait in enumerate(WAITS):
            end = time.monotonic() + SECONDS_MAX
            while True:
                answer = job.ask()
                waiting = [rank for rank in answer["ranks"] if rank["rank"] != last]
                wrong = [text for rank in waiting for text in differences(rank, wait, last)]
                outside = answer["ranks"][last]  # it may have been asked just before it left MPI
                if outside["in_mpi"] or outside["answered"]:
                    wrong.append(f"rank {last} is in MPI")
                if not wrong:
                    break
                assert time.monotonic() < end, (
                    f"wait {number}, {wait[0]}: {wrong}\n{json.dumps(answer, indent=1)}"
                )
            assert not answer["deadlock"], "the last rank will end it"
            if wait[0] != "MPI_Test":
                verdict = "\n".join(line for finding in answer["findings"] for line in finding["text"])
                assert f"rank {last}" in verdict, f"wait {number}, {wait[0]}: {verdict}"
            os.kill(outside["pid"], signal.SIGUSR1)
        assert job.process.wait(SECONDS_MAX) == 0, job.end()
    finally:
        job.end()
