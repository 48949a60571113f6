"""mpiexec --top: the table in a terminal (a pseudo-terminal, read by a terminal emulator), below a program
and of a job that runs, and the lines that it gives where there is no terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte
import pytest
from harness import PREFIX, clean_environment, compile_program

MPIEXEC = PREFIX / "bin" / "mpiexec"
SECONDS_MAX = 60
FOR_EVER = 1000


class Terminal:
    """A program in a terminal of its own, with the terminal's screen."""

    def __init__(self, command, rows, columns):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.all = b""
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=clean_environment({"TERM": "xterm"}),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            with contextlib.suppress(OSError):  # the other end is closed
                text = os.read(self.master, 65536)
                self.all += text
                self.stream.feed(text)

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def wait_for(self, pattern, seconds=SECONDS_MAX):
        """Returns the line of the screen that matches."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.lines():
                if re.search(pattern, line):
                    return line
            self.read(0.1)
        pytest.fail(f"no {pattern!r} within {seconds} s on\n" + "\n".join(self.lines()))

    def press(self, keys):
        os.write(self.master, keys)

    def end(self, seconds=SECONDS_MAX):
        limit = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < limit:
            self.read(0.1)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            pytest.fail("it does not end; its screen:\n" + "\n".join(self.lines()))
        self.read(0.1)
        return self.process.returncode

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.modes

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(SECONDS_MAX)
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(*command, rows=24, columns=120):
        opened.append(Terminal(command, rows, columns))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


@pytest.fixture
def job():
    """job(ranks): a job that runs until the test is over. Returns its mpiexec's number."""
    started = []

    def start(ranks, seconds=FOR_EVER):
        started.append(
            subprocess.Popen(
                [MPIEXEC, "--stall", "0", "-n", str(ranks), compile_program("top.c"), str(seconds)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                env=clean_environment(),
                text=True,
            )
        )
        started[-1].stdout.readline()  # the first line: MPI is initialised
        return started[-1]

    yield start
    for one in started:
        one.terminate()
        one.wait(SECONDS_MAX)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_the_table_stands_below_the_programs_output(terminal, ranks):
    shown = terminal(MPIEXEC, "--top", "-n", ranks, compile_program("top.c"), 4)
    plural = "" if ranks == 1 else "s"
    shown.wait_for(rf"^mpiexec: top-.*: {ranks} rank{plural}, 0:0\d$")
    shown.wait_for("^the first line")
    heading = shown.wait_for(r"^rank +state")
    assert "sent/s" in heading
    if ranks > 1:
        first = shown.wait_for(r"^0 .* MPI_\w+ .*\d .*(short|eager|sender-write|get|cooperative|two-copy)")
        assert "%" in first
    if ranks > 2:
        shown.wait_for(rf"^{ranks - 1} +waits in MPI_Recv \(source 0, tag 5")
    shown.wait_for(r"^all ")
    lines = shown.lines()
    headings = [number for number, line in enumerate(lines) if line.startswith("rank ")]
    assert lines.index("the first line") < headings[0], lines
    assert len(headings) == 1, lines
    assert lines[-1].startswith("all ")
    shown.wait_for("line after 2")
    assert shown.end() == 0
    lines = shown.lines()
    assert "the last line" in lines
    assert not any(line.startswith(("rank ", "all ", "mpiexec:")) for line in lines), lines
    assert shown.screen.margins in (None, (0, 23)), "the terminal still scrolls a part of its lines"
    assert shown.is_as_before()


def test_ctrl_c_ends_the_job_and_leaves_the_terminal_as_it_was(terminal):
    shown = terminal(MPIEXEC, "--top", "-n", 2, compile_program("top.c"), FOR_EVER)
    shown.wait_for(r"^all ")
    shown.press(b"\x03")
    assert shown.end() == 128 + signal.SIGINT
    assert not any(line.startswith(("rank ", "all ")) for line in shown.lines()), shown.lines()
    assert "got SIGINT" in "\n".join(shown.lines()) or "signal 2" in "\n".join(shown.lines())
    assert shown.screen.margins in (None, (0, 23))
    assert shown.is_as_before()


def test_many_ranks_are_grouped_and_a_new_size_is_followed(terminal, job):
    running = job(8)
    shown = terminal(MPIEXEC, "--top", "--job", running.pid, rows=8, columns=100)
    shown.wait_for(r"^[0-9, -]*-7 +(in|waits in) MPI_Recv")
    shown.resize(20, 60)
    shown.wait_for(r"^7 +waits in MPI_Recv")
    assert all(len(line) <= 60 for line in shown.lines())


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_a_job_that_runs_is_shown_until_a_key(terminal, job, key):
    running = job(3)
    shown = terminal(MPIEXEC, "--top", "--job", running.pid)
    assert str(running.pid) in shown.wait_for(r": 3 ranks$")
    shown.wait_for(r"^2 +waits in MPI_Recv \(source 0, tag 5.*\d+\.\d s +100 %")
    shown.wait_for(r"^all +.* [\d.]+( [kM])? +[\d.]+ [KMG]iB")
    assert shown.all.startswith(b"\033[?1049h")
    shown.press(key)
    assert shown.end() == 0
    assert shown.all.rstrip().endswith(b"\033[?25h\033[?1049l")
    assert shown.is_as_before()
    assert running.poll() is None, "the job is to go on"


def test_a_job_that_ends_ends_the_display(terminal, job):
    running = job(2, 2)
    shown = terminal(MPIEXEC, "--top", "--job", running.pid)
    shown.wait_for(r"^all ")
    assert shown.end() == 0
    assert shown.all.rstrip().endswith(b"the job is over")


def test_without_a_terminal_there_is_a_line_each_second(mpiexec, build):
    done = mpiexec("--top", "-n", 3, build("top.c"), 3)
    assert done.returncode == 0, done.text
    assert done.stdout.startswith("the first line\n"), done.text
    lines = [line for line in done.stderr.splitlines() if line.startswith("mpiexec: top-")]
    assert len(lines) >= 2, done.text
    assert "\033" not in done.text
    # Not each: in some second the ranks of a busy machine may all wait.
    shape = re.compile(r": 3 ranks, 0:\d\d: .*in MPI \d+ %; [\d.]+( [kM])? messages/s, .*iB/s; ")
    assert any(map(shape.search, lines)), lines


def test_of_a_job_that_runs_too(mpiexec, job):
    running = job(2, 3)
    done = mpiexec("--top", "--job", running.pid)
    assert done.returncode == 0, done.text
    assert f"mpiexec {running.pid} (" in done.stdout, done.text
    assert done.stdout.endswith("mpiexec: the job is over\n"), done.text


def test_what_cannot_be_shown_is_told(mpiexec):
    done = mpiexec("--top", "--job", os.getpid())
    assert done.returncode == 1, done.text
    assert done.stderr.startswith("mpiexec: "), done.text
    done = mpiexec("--top", "--doctor")
    assert done.returncode == 2, done.text
    assert "--doctor and --top without a program: expected one of them" in done.stderr, done.text
