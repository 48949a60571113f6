"""mpiexec with real processes: what it starts, how their output comes, and how a job ends.

Most ranks are plain programs (sh, python), since mpiexec must be right about those too; launch.c is the MPI
program that ends in every way there is.
"""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from harness import PREFIX, RANKS, SLOWER, clean_environment

MPIEXEC = str(PREFIX / "bin" / "mpiexec")
END_SECONDS_MAX = 60  # far less than what the ranks sleep for; that they end is looked at, and not how fast


def lines(text):
    return sorted(text.splitlines())


def start(*words, **how):
    """mpiexec in the background, in a session of its own."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
    return subprocess.Popen(
        [MPIEXEC, *map(str, words)], text=True, env=clean_environment(), start_new_session=True, **how
    )


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_alive(pid):
    """Whether it runs; a zombie does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids_in(path, count):
    """The numbers that `count` processes have written into the files of a directory."""
    assert wait_for(lambda: sum(1 for file in path.iterdir() if file.read_text().endswith("\n")) == count)
    return [int(file.read_text()) for file in path.iterdir()]


# ---- what is started ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_of_a_program_that_is_not_mpi(mpiexec, ranks):
    done = mpiexec("-n", ranks, "sh", "-c", "echo $TASUKI_RANK of $TASUKI_SIZE")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == lines("".join(f"{rank} of {ranks}\n" for rank in range(ranks))), done.text
    assert done.stderr == "", done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_of_an_mpi_program(run, ranks):
    done = run("launch.c", ranks, "hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == lines("".join(f"rank {rank} of {ranks}\n" for rank in range(ranks)))


def test_several_programs_in_one_job(mpiexec, build):
    program = build("launch.c")
    done = mpiexec("-n", 1, program, "appnum", ":", "-n", 2, program, "appnum")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["rank 0 application 0", "rank 1 application 1", "rank 2 application 1"]


def test_each_program_has_its_own_environment_and_directory(mpiexec, tmp_path):
    (tmp_path / "here").mkdir()
    show = "echo $TASUKI_RANK $A $B $C $(basename $PWD)"
    done = mpiexec(
        "-genv", "C", "all", "-n", 1, "-x", "A=one", "-wdir", tmp_path / "here", "sh", "-c", show,
        ":", "-env", "B", "two", "-wdir", tmp_path, "sh", "-c", show,
    )  # fmt: skip
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["0 one all here", f"1 two all {tmp_path.name}"]


def test_application_file(mpiexec, tmp_path):
    file = tmp_path / "programs"
    file.write_text("# two programs\n-n 1 echo 'boss  here'\n-n 2 -x W=worker sh -c 'echo $W'\n")
    for option in ("-configfile", "--app", "--appfile"):
        done = mpiexec(option, file)
        assert done.returncode == 0, done.text
        assert lines(done.stdout) == ["boss  here", "worker", "worker"]


def test_a_program_is_relative_to_its_directory(mpiexec, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo without a first line for the kernel\n")
    script.chmod(0o755)
    done = mpiexec("-wdir", tmp_path, "./script")
    assert done.returncode == 0, done.text
    assert "without a first line" in done.stdout


def test_the_folders_of_a_program(mpiexec, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        script = tmp_path / folder / "sh"  # PATH has another one
        script.write_text(f"#!/bin/sh\necho from {folder} $1\n")
        script.chmod(0o755)
    one, two = tmp_path / "one", tmp_path / "two"
    relative = ["-path", "gone:one", "-wdir", tmp_path]
    for option in (["-path", one], [f"--path=/no/such:{one}:{two}"], relative):
        done = mpiexec(*option, "-n", 2, "sh", "word")
        assert (done.returncode, done.stdout) == (0, "from one word\n" * 2), done.text
    done = mpiexec("-path", one, "sh", 1, ":", "-path", two, "sh", 2, ":", "sh", "-c", "echo shell")
    assert lines(done.stdout) == ["from one 1", "from two 2", "shell"], done.text
    done = mpiexec("-path", one, "true")
    refused(done, 127, f"cannot run 'true' for rank 0: No such file or directory .searched {one}.")


def test_no_more_ranks_than_slots_where_that_is_asked(mpiexec):
    ranks = processors() + 1
    done = mpiexec("--nooversubscribe", "-n", ranks, "true")
    refused(done, 2, f"--nooversubscribe: {ranks} ranks on {ranks - 1} processors")
    assert mpiexec("--nooversubscribe", "-n", ranks - 1, "true").returncode == 0
    done = mpiexec("--nooversubscribe", "--host", "localhost:2", "-n", 3, "true")
    refused(done, 2, "--nooversubscribe: 3 ranks on 2 slots")


def test_parameters_of_open_mpi_are_named_and_the_job_starts(mpiexec):
    done = mpiexec("--mca", "btl", "self,vader", "--mca", "pml", "ob1", "-n", 2, "echo", "here")
    assert (done.returncode, done.stdout) == (0, "here\n" * 2), done.text
    assert done.stderr.startswith("mpiexec: --mca btl, --mca pml: parameters of Open MPI change nothing here")


def test_environment_of_other_launchers_is_kept_from_the_ranks(mpiexec):
    foreign = {"PMI_RANK": 1, "PMI_SIZE": 2, "SLURM_PROCID": 1, "SLURM_STEP_NUM_TASKS": 2, "SLURM_JOB_ID": 5}
    done = mpiexec("env", environment=foreign)
    assert done.returncode == 0, done.text
    assert "PMI_RANK" not in done.stdout and "SLURM_PROCID" not in done.stdout
    assert "SLURM_JOB_ID=5" in done.stdout


def test_mpi4py_is_told_where_the_library_is(mpiexec):
    done = mpiexec("sh", "-c", "echo $MPI4PY_LIBMPI")
    assert os.path.samefile(done.stdout.strip(), PREFIX / "lib" / "libmpi.so.12"), done.text
    done = mpiexec("sh", "-c", "echo $MPI4PY_LIBMPI", environment={"MPI4PY_LIBMPI": "/mine"})
    assert done.stdout == "/mine\n", done.text


def test_programs_built_elsewhere_find_the_library_after_their_own(mpiexec):
    done = mpiexec("sh", "-c", "echo $LD_LIBRARY_PATH", environment={"LD_LIBRARY_PATH": "/mine"})
    first, second, *_ = done.stdout.strip().split(":")
    assert first == "/mine" and os.path.samefile(second, PREFIX / "lib"), done.text


def test_a_script_that_closes_descriptors_does_not_hide_the_job(mpiexec, build):
    between = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds=True))"
    done = mpiexec("-n", 2, sys.executable, "-c", between, build("launch.c"), "hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["rank 0 of 2", "rank 1 of 2"]


def test_a_rank_may_start_mpiexec(mpiexec, build):
    done = mpiexec("-n", 1, MPIEXEC, "-n", 2, build("launch.c"), "hello")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["rank 0 of 2", "rank 1 of 2"]


# ---- output and input -----------------------------------------------------------------------------------

WRITER = """
import os, sys
rank = os.environ["TASUKI_RANK"]
for number in range(2000):
    line = f"{rank} {number} " + rank * (number % 200) + "\\n"
    for part in (line[:3], line[3:50], line[50:]):
        os.write(1, part.encode())
"""


def test_lines_of_eight_ranks_stay_whole_and_in_order(mpiexec):
    done = mpiexec("-n", 8, sys.executable, "-c", WRITER)
    assert done.returncode == 0, done.text[-2000:]
    next_number = [0] * 8
    for line in done.stdout.splitlines():
        rank, number, *rest = line.split(" ")
        assert int(number) == next_number[int(rank)]
        assert rest == [rank * (int(number) % 200)], line
        next_number[int(rank)] += 1
    assert next_number == [2000] * 8


def test_a_last_line_without_end_comes_too(mpiexec):
    done = mpiexec("-n", 2, "sh", "-c", "printf end$TASUKI_RANK; printf err >&2")
    assert sorted([done.stdout[:4], done.stdout[4:]]) == ["end0", "end1"], done.text
    assert done.stderr == "errerr", done.text


def test_a_prompt_comes_before_its_line_ends():
    job = start("sh", "-c", "printf 'name: '; read name; echo hello $name", stdin=subprocess.PIPE)
    assert os.read(job.stdout.fileno(), 6) == b"name: "
    out, _ = job.communicate("you\n", timeout=END_SECONDS_MAX)
    assert out == "hello you\n"


def test_labels(mpiexec):
    done = mpiexec("-l", "-n", 2, "sh", "-c", "echo one; echo two >&2; printf three")
    assert done.returncode == 0, done.text
    assert lines(done.stdout) == ["[0] one", "[0] three", "[1] one", "[1] three"], done.text
    assert lines(done.stderr) == ["[0] two", "[1] two"], done.text


def test_files_for_each_rank(mpiexec, tmp_path):
    say = "echo out $TASUKI_RANK; echo err $TASUKI_RANK >&2"
    done = mpiexec("-n", 2, "--output-filename", tmp_path / "dir" / "job", "sh", "-c", say)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.text
    assert (tmp_path / "dir/job/rank.1/stdout").read_text() == "out 1\n"
    assert (tmp_path / "dir/job/rank.0/stderr").read_text() == "err 0\n"
    done = mpiexec("-n", 2, "-outfile-pattern", tmp_path / "o.%r.txt", "sh", "-c", say)
    assert (tmp_path / "o.1.txt").read_text() == "out 1\n"
    assert lines(done.stderr) == ["err 0", "err 1"], done.text
    mpiexec("-n", 2, "--output-filename", tmp_path / "both.%r", "sh", "-c", say)
    assert (tmp_path / "both.0").read_text() == "out 0\nerr 0\n"


def test_files_that_cannot_be_written(mpiexec):
    done = mpiexec("-n", 2, "--output-filename", "/proc/nowhere", "true")
    assert done.returncode == 1, done.text
    assert re.fullmatch(r"mpiexec: cannot write '/proc/nowhere/rank.0/stdout' for rank 0: .*\n", done.stderr)


def test_input_goes_to_rank_0_and_ends_there(mpiexec):
    done = mpiexec("-n", 3, "sh", "-c", "echo $TASUKI_RANK $(wc -c)", stdin="x" * 300_000)
    assert lines(done.stdout) == ["0 300000", "1 0", "2 0"], done.text
    done = mpiexec("-n", 3, "--stdin", 2, "sh", "-c", "echo $TASUKI_RANK $(wc -c)", stdin="four")
    assert lines(done.stdout) == ["0 0", "1 0", "2 4"], done.text
    done = mpiexec("--stdin", "none", "wc", "-c", stdin="four")
    assert done.stdout.split() == ["0"], done.text


class Terminal:
    """mpiexec, or another program, as the foreground job of a terminal of its own."""

    def __init__(self, *words, program=MPIEXEC):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(program, [program, *map(str, words)], clean_environment({"PS1": "$ "}))
        self.text = ""

    def read_until(self, wanted, seconds=60):
        end = time.monotonic() + seconds
        while wanted not in self.text and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 4096).decode()
                except OSError:  # the other side is gone
                    break
        assert wanted in self.text, self.text

    def type(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_terminal_is_read_by_rank_0_up_to_its_end():
    terminal = Terminal(
        "-n", 2, "sh", "-c", "while read word; do echo $TASUKI_RANK got $word; done; echo end"
    )
    terminal.type("one\n")
    terminal.read_until("0 got one")
    terminal.type("two\n\x04")
    terminal.read_until("0 got two")
    assert terminal.status() == 0
    assert "1 got" not in terminal.text


def test_control_c_on_a_terminal_ends_all():
    terminal = Terminal("-n", 2, "sh", "-c", "echo ready; sleep 1000")
    terminal.read_until("ready\r\nready")
    terminal.type("\x03")
    terminal.read_until("mpiexec: got signal 2 (Interrupt); ending 2 ranks")
    assert terminal.status() == 128 + signal.SIGINT


INTERRUPTED = """
import os, sys, time
try:
    os.write(1, b"ready\\n")
    time.sleep(1000)
finally:
    print("\\n".join(f"{sys.exc_info()[0].__name__} {n:90}" for n in range(1000)))  # more than a pipe holds
"""


@pytest.mark.parametrize("ranks", RANKS)
def test_an_interrupt_reaches_the_ranks_first(ranks):
    """They have two seconds, in which a busy machine may not let all of them come to their end: some
    tries."""
    expected = sorted(f"KeyboardInterrupt {n:90}" for n in range(1000) for _ in range(ranks))
    for _ in range(10):
        job = start("-n", ranks, sys.executable, "-c", INTERRUPTED)
        assert [job.stdout.readline() for _ in range(ranks)] == ["ready\n"] * ranks
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=END_SECONDS_MAX)
        assert job.returncode == 128 + signal.SIGINT
        if lines(out) == expected:
            break
    assert lines(out) == expected
    assert err.splitlines().count("KeyboardInterrupt") == ranks, err


def test_one_that_heeds_no_interrupt_is_ended_by_what_comes_after():
    script = "trap 'echo 1st' INT; trap 'echo 2nd; exit' TERM; echo; while :; do sleep 0.05; done"
    job = start("sh", "-c", script)
    job.stdout.readline()
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=END_SECONDS_MAX)
    assert (job.returncode, out) == (130, "1st\n2nd\n")


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_a_shell_stops_and_continues_a_job(tmp_path):
    """As the job of a shell in its terminal: Ctrl-Z, fg, and standard input and Ctrl-C afterwards."""
    terminal = Terminal("--norc", "--noprofile", "-i", program="/bin/bash")
    script = f"echo $$ > {tmp_path}/$TASUKI_RANK; while read word; do echo got $word; done; exec sleep 1000"
    terminal.type(f"{MPIEXEC} -n 2 sh -c '{script}'\n")
    pids = pids_in(tmp_path, 2)
    for turn in ("one", "two"):
        terminal.type(f"{turn}\n")
        terminal.read_until(f"got {turn}\r\n")
        terminal.type("\x1a")
        assert wait_for(lambda: all(state_of(pid) == "T" for pid in pids))
        terminal.read_until("Stopped")
        terminal.text = ""
        terminal.type("fg\n")
        assert wait_for(lambda: not any(state_of(pid) == "T" for pid in pids))
    terminal.type("\x03")
    terminal.read_until("ending 2 ranks")
    assert wait_for(lambda: not any(is_alive(pid) for pid in pids))
    terminal.type("\nexit 7\n")
    terminal.read_until("exit 7")
    assert terminal.status() == 7


def test_a_terminal_that_hangs_up_ends_the_job(tmp_path):
    terminal = Terminal("-n", 2, "sh", "-c", NOTE_AND_SLEEP.format(tmp_path))
    pids = pids_in(tmp_path, 2)
    os.close(terminal.fd)
    assert terminal.status() == 128 + signal.SIGHUP
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.skipif(SLOWER > 1, reason="an emulator makes no process that shares mpiexec's memory")
def test_ranks_share_one_session_that_is_not_mpiexecs(mpiexec):
    """So they have processors' time of their own where the kernel divides it by sessions (autogroup)."""
    script = "import os; print(os.getsid(0), os.getpgid(0) == os.getpid())"
    terminal = Terminal("-n", 3, sys.executable, "-c", script)
    assert terminal.status() == 0
    terminal.read_until("True")
    sessions = {line.split()[0] for line in terminal.text.splitlines() if "True" in line}
    assert len(sessions) == 1 and sessions != {str(terminal.pid)}, terminal.text
    if not pathlib.Path("/proc/self/autogroup").exists():
        return
    groups = set(mpiexec("-n", 3, "cat", "/proc/self/autogroup").stdout.splitlines())
    assert len(groups) == 1 and groups != {pathlib.Path("/proc/self/autogroup").read_text().strip()}


def test_a_reader_that_leaves_ends_the_job_quietly():
    job = start("-n", 2, "yes")
    assert job.stdout.readline() == "y\n"
    job.stdout.close()
    assert job.wait(timeout=END_SECONDS_MAX) == 128 + signal.SIGPIPE
    assert job.stderr.read() == ""


def test_a_slow_reader_blocks_neither_mpiexec_nor_memory():
    job = start("-n", 2, "yes")
    time.sleep(0.5)  # no reader: the pipes are full
    status = pathlib.Path(f"/proc/{job.pid}/status").read_text()
    assert int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) < 50_000
    job.send_signal(signal.SIGINT)
    assert job.wait(timeout=END_SECONDS_MAX) == 128 + signal.SIGINT


def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        job = start("-n", 2, "echo", "hello", stdout=full)
        _, err = job.communicate(timeout=END_SECONDS_MAX)
    assert job.returncode == 1
    assert err == "mpiexec: cannot write standard output: No space left on device\n"


# ---- how ranks end --------------------------------------------------------------------------------------


# Where the rank was in MPI, which test_doctor.py is about.
PLACE = r"(,? (in|after|outside MPI, after) MPI_\w+[^;]*)?"


def ended(done, ranks, cause, status):
    """The job ended at once, with this status and one message: rank 1, its pid, the host, the cause."""
    assert done.returncode == status, done.text
    assert done.seconds < END_SECONDS_MAX, done.text
    told = [line for line in done.stderr.splitlines() if line.startswith("mpiexec:")]
    others = "; ending the other rank" if ranks == 2 else f"; ending the other {ranks - 1} ranks"
    host = re.escape(os.uname().nodename)
    assert len(told) == 1, done.text
    assert re.fullmatch(rf"mpiexec: rank 1 \(pid \d+ on {host}\) {cause}{PLACE}({others})?", told[0]), (
        done.text
    )


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_a_rank_that_crashes_ends_the_job(run, ranks):
    done = run("launch.c", ranks, "signal", 1, signal.SIGSEGV)
    ended(done, ranks, r"was killed by signal 11 \(Segmentation fault\)", 128 + 11)


@pytest.mark.parametrize("ranks", [2, 8])
def test_exit_without_finalize_ends_the_job(run, ranks):
    done = run("launch.c", ranks, "exit", 1, 0)
    ended(done, ranks, "exited with status 0 without calling MPI_Finalize", 1)
    done = run("launch.c", ranks, "exit", 1, 7)
    ended(done, ranks, "exited with status 7 without calling MPI_Finalize", 7)


@pytest.mark.parametrize("ranks", [2, 8])
def test_abort_ends_the_job(run, ranks):
    done = run("launch.c", ranks, "abort", 1, 5)
    ended(done, ranks, "ended the job: MPI_Abort with code 5.*", 5)
    assert "before the abort" in done.stdout, done.text


def test_abort_under_a_script_ends_the_script_too(mpiexec, build):
    script = '"$0" abort 1 5; sleep 1000'
    done = mpiexec("-n", 2, "sh", "-c", script, build("launch.c"))
    ended(done, 2, "ended the job: MPI_Abort with code 5.*", 5)


def test_exit_without_init_ends_the_job(mpiexec, run):
    done = mpiexec("-n", 3, "sh", "-c", "[ $TASUKI_RANK = 1 ] && exit 3; sleep 1000")
    ended(done, 3, "exited with status 3", 3)
    done = run("launch.c", 3, "skip-init", 1, 3)
    assert done.returncode == 3, done.text


def test_a_rank_that_never_calls_init_is_not_waited_for(run):
    # Before the others called MPI_Init, and after: neither may hang.
    done = run("launch.c", 3, "late-init", 1)
    assert done.returncode == 1 and "rank 1 ended without calling MPI_Init" in done.stderr, done.text
    assert done.seconds < END_SECONDS_MAX, done.text
    done = run("launch.c", 3, "skip-init", 1)
    assert done.returncode == 1 and "MPI_Init" in done.stderr, done.text
    assert done.seconds < END_SECONDS_MAX, done.text


def test_a_status_after_finalize_is_mpiexecs(run):
    done = run("launch.c", 4, "late-status", 2, 9)
    assert done.returncode == 9, done.text
    assert done.stderr == "", done.text


def test_a_rank_that_kills_itself_is_named(mpiexec):
    done = mpiexec("-n", 2, "sh", "-c", "[ $TASUKI_RANK = 1 ] && kill -KILL $$; sleep 1000")
    ended(done, 2, r"was killed by signal 9 \(Killed\).*", 128 + 9)


def test_ranks_that_ignore_sigterm_are_killed(mpiexec):
    done = mpiexec(
        "-n", 3, "sh", "-c", "trap '' TERM; [ $TASUKI_RANK = 1 ] && exit 3; sleep 1000; sleep 1000"
    )
    ended(done, 3, "exited with status 3", 3)


def test_ranks_get_the_chance_to_clean_up(mpiexec):
    script = (
        "trap 'echo cleaned; exit 0' TERM; [ $TASUKI_RANK = 1 ] && { sleep 0.3; exit 3; }; sleep 1000 & wait"
    )
    done = mpiexec("-n", 2, "sh", "-c", script)
    assert done.returncode == 3 and done.stdout == "cleaned\n", done.text


def test_what_ranks_leave_behind_is_ended(mpiexec, tmp_path):
    script = f"sleep 1000 & echo $! > {tmp_path}/$TASUKI_RANK"
    done = mpiexec("-n", 2, "sh", "-c", script)
    assert done.returncode == 0 and done.seconds < END_SECONDS_MAX, done.text
    assert not any(is_alive(pid) for pid in pids_in(tmp_path, 2))


def test_a_child_program_of_a_rank_is_not_the_rank(run):
    done = run("launch.c", 2, "child", 1)
    assert done.returncode == 0, done.text
    assert re.search(r"rank 1 of this job is process \d+, so this one cannot be it", done.stderr), done.text
    assert re.search(r"child: status [1-9]", done.stdout), done.text


# ---- signals and time -----------------------------------------------------------------------------------

NOTE_AND_SLEEP = "echo $$ > {0}/$TASUKI_RANK; sleep 1000"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all(tmp_path, number):
    job = start("-n", 4, "sh", "-c", NOTE_AND_SLEEP.format(tmp_path))
    pids = pids_in(tmp_path, 4)
    job.send_signal(number)
    _, err = job.communicate(timeout=END_SECONDS_MAX)
    assert job.returncode == 128 + number
    assert err == f"mpiexec: got signal {int(number)} ({signal.strsignal(number)}); ending 4 ranks\n"
    assert not any(is_alive(pid) for pid in pids)


# Of a rank's script: a child that has made a session of its own and heeds no signal that can be ignored, and
# one of a process that has gone.
STRAY = """setsid sh -c 'trap "" TERM HUP INT; echo $$ > {0}/a.'$TASUKI_RANK'; while :; do sleep 0.05; done' &
    (setsid sh -c 'sleep 1000 & echo $! > {0}/b.'$TASUKI_RANK'; wait' &)
    while ! [ -s {0}/a.$TASUKI_RANK ] || ! [ -s {0}/b.$TASUKI_RANK ]; do sleep 0.02; done; """


def test_what_left_its_process_group_is_ended(mpiexec, tmp_path):
    done = mpiexec("-n", 2, "sh", "-c", STRAY.format(tmp_path))
    assert done.returncode == 0 and done.seconds < END_SECONDS_MAX, done.text
    assert not any(is_alive(pid) for pid in pids_in(tmp_path, 4))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_left_its_process_group_ends_with_mpiexec(tmp_path, number):
    job = start("-n", 2, "sh", "-c", STRAY.format(tmp_path) + "trap '' TERM; wait")
    pids = pids_in(tmp_path, 4)
    assert all(is_alive(pid) for pid in pids)
    job.send_signal(number)
    job.communicate(timeout=END_SECONDS_MAX)
    assert wait_for(lambda: not any(is_alive(pid) for pid in pids), 5)


def test_what_a_script_started_before_it_became_mpiexec_goes_on(tmp_path):
    script = f"setsid sleep 5 & echo $! > {tmp_path}/0; sleep 5 & echo $! > {tmp_path}/1; exec {MPIEXEC} true"
    subprocess.run(["sh", "-c", script], timeout=20, check=True, env=clean_environment())
    pids = pids_in(tmp_path, 2)
    assert all(is_alive(pid) for pid in pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def test_a_program_that_goes_on_alone_is_waited_for_no_longer_than_its_rank(mpiexec, tmp_path):
    """What lost its parent while the job runs is left alone, and does not stay as a zombie."""
    script = (
        f"(setsid sleep 0.1 & echo $! > {tmp_path}/0); "
        "while [ -d /proc/$(cat {0}/0) ]; do sleep 0.02; done; echo gone".replace("{0}", str(tmp_path))
    )
    done = mpiexec("-n", 1, "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "gone\n"), done.text


def test_killing_mpiexec_leaves_nothing(tmp_path):
    # The ranks' shells have children of their own: those get no signal from the kernel.
    script = f"sleep 1000 & echo $! > {tmp_path}/$TASUKI_RANK; wait"
    job = start("-n", 4, "sh", "-c", script)
    pids = pids_in(tmp_path, 4)
    assert all(is_alive(pid) for pid in pids)
    job.kill()
    job.communicate(timeout=END_SECONDS_MAX)
    assert wait_for(lambda: not any(is_alive(pid) for pid in pids), 5)


def test_stop_and_continue_reach_the_ranks(tmp_path):
    job = start("-n", 2, "sh", "-c", f"echo $$ > {tmp_path}/$TASUKI_RANK; exec sleep 1000")
    pids = [*pids_in(tmp_path, 2), job.pid]

    def stopped():
        return [
            pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T" for pid in pids
        ]

    job.send_signal(signal.SIGTSTP)
    assert wait_for(lambda: all(stopped()))
    job.send_signal(signal.SIGCONT)
    assert wait_for(lambda: not any(stopped()))
    job.terminate()
    assert job.wait(timeout=END_SECONDS_MAX) == 128 + signal.SIGTERM


def test_user_signals_are_passed_on(tmp_path):
    script = (
        f"trap 'echo got it; exit 0' USR1; echo $$ > {tmp_path}/$TASUKI_RANK; while :; do sleep 0.05; done"
    )
    job = start("-n", 2, "sh", "-c", script)
    pids_in(tmp_path, 2)
    job.send_signal(signal.SIGUSR1)
    out, _ = job.communicate(timeout=END_SECONDS_MAX)
    assert (job.returncode, out) == (0, "got it\n" * 2)


def test_a_signal_that_was_ignored_stays_ignored(tmp_path):
    job = subprocess.Popen(
        ["nohup", MPIEXEC, "sh", "-c", f"echo $$ > {tmp_path}/0; sleep 0.5; echo survived"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=clean_environment(),
    )  # fmt: skip
    pids_in(tmp_path, 1)
    job.send_signal(signal.SIGHUP)
    out, _ = job.communicate(timeout=END_SECONDS_MAX)
    assert (job.returncode, out) == (0, "survived\n")


def test_timeout(mpiexec, run):
    done = mpiexec("-n", 2, "--timeout", 0.3, "sleep", 1000)
    assert done.returncode == 124 and done.seconds < END_SECONDS_MAX, done.text
    assert done.stderr == "mpiexec: the time limit of 0.3 s is over; ending 2 ranks that still run\n"
    assert mpiexec("--timeout", 30, "true").returncode == 0


def test_timeout_from_the_environment(mpiexec):
    done = mpiexec("sleep", 1000, environment={"MPIEXEC_TIMEOUT": 0.3})
    assert done.returncode == 124 and done.seconds < END_SECONDS_MAX, done.text
    done = mpiexec("--timeout", 30, "true", environment={"MPIEXEC_TIMEOUT": 0.001})
    assert done.returncode == 0, done.text
    done = mpiexec("true", environment={"MPIEXEC_TIMEOUT": "soon"})
    assert done.returncode != 0 and 'MPIEXEC_TIMEOUT = "soon", expected a number of seconds' in done.stderr


def test_timeout_ends_ranks_that_wait_inside_mpi(mpiexec, build):
    done = mpiexec("-n", 4, "--timeout", 1, build("launch.c"), "sleep", 1)
    assert done.returncode == 124 and done.seconds < 1 + END_SECONDS_MAX, done.text


# ---- what is refused ------------------------------------------------------------------------------------


def refused(done, status, message):
    """One line, the status, and nothing was started."""
    assert done.returncode == status, done.text
    assert re.fullmatch(f"mpiexec: {message}\n", done.stderr), done.text
    assert done.stdout == "", done.text


def test_missing_programs(mpiexec):
    refused(
        mpiexec("-n", 2, "no-such-program"), 127,
        r"cannot run 'no-such-program' for rank 0: No such file or directory \(searched PATH\)",
    )  # fmt: skip
    refused(mpiexec("./gone"), 127, "cannot run './gone' for rank 0: No such file or directory")
    refused(mpiexec("/etc/passwd"), 126, "cannot run '/etc/passwd' for rank 0: Permission denied")
    # The second program's is told before the first one has run.
    refused(
        mpiexec("-n", 2, "echo", "hello", ":", "./gone"),
        127,
        "cannot run './gone' for rank 2: No such file.*",
    )


def test_a_program_that_the_kernel_refuses(mpiexec, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = mpiexec("-n", 1, "sleep", "1000", ":", "-n", 1, script)
    assert done.seconds < END_SECONDS_MAX, done.text
    refused(
        done, 127, r"cannot run '.*/script' for rank 1: No such file or directory \(could not execute it\)"
    )


def test_bad_command_lines(mpiexec, tmp_path):
    refused(mpiexec("-n", 0, "true"), 2, "-n 0: expected a number from 1 to 65536")
    refused(mpiexec("-n", 2), 2, "no program is given to start; mpiexec --help shows how")
    refused(mpiexec("--timeot", 3, "true"), 2, r"unknown option --timeot; did you mean --timeout\?")
    refused(mpiexec("-host", "else where", "true"), 2, ".*'else where' is no host.*")
    refused(
        mpiexec("--app", tmp_path / "gone"), 2, "cannot read the application file '.*/gone': No such file.*"
    )
    refused(
        mpiexec("-wdir", "/no/such", "true"),
        1,
        "cannot start rank 0 in '/no/such': No such file or directory",
    )
    refused(
        mpiexec("-wdir", "/etc/passwd", "true"), 1, "cannot start rank 0 in '/etc/passwd': Not a directory"
    )


def test_version_and_help(mpiexec):
    told = mpiexec("--version").stdout
    assert re.fullmatch(r"mpiexec \(Tasuki\) \d+\.\d+\.\d+(, commit [0-9a-f]{12})?\n", told), told
    assert "--report-bindings" in mpiexec("--help").stdout


def test_a_foreign_launcher_is_named_instead_of_running_alone(build):
    from harness import run_command

    done = run_command(build("launch.c"), "hello", environment={"PMI_RANK": 1, "PMI_SIZE": 4})
    assert done.returncode != 0 and done.stdout == "", done.text
    assert len(done.stderr.splitlines()) == 1 and "PMI_RANK=1, PMI_SIZE=4" in done.stderr, done.text
    done = run_command(
        build("launch.c"), "hello", environment={"PMI_RANK": 1, "PMI_SIZE": 4, "TASUKI_SINGLETON": 1}
    )
    assert (done.returncode, done.stdout) == (0, "rank 0 of 1\n"), done.text


# ---- processors -----------------------------------------------------------------------------------------

ALLOWED = ("grep", "Cpus_allowed_list", "/proc/self/status")


def processors():
    return len(os.sched_getaffinity(0))


@pytest.mark.skipif(processors() < 2, reason="needs two processors")
def test_ranks_share_the_processors_without_overlap(mpiexec):
    done = mpiexec("-n", 2, "--report-bindings", *ALLOWED)
    assert done.returncode == 0, done.text
    allowed = [line.split()[1] for line in done.stdout.splitlines()]
    told = re.findall(r"mpiexec: rank \d on \S+ is bound to processors? (\S+)", done.stderr)
    assert sorted(allowed) == sorted(told) and len(set(told)) == 2, done.text


def test_nobody_is_bound_with_more_ranks_than_processors(mpiexec):
    ranks = processors() + 1
    done = mpiexec("-n", ranks, "--report-bindings", *ALLOWED)
    assert done.returncode == 0, done.text
    assert len(set(done.stdout.splitlines())) == 1, done.text
    assert re.fullmatch(
        rf"mpiexec: ranks are not bound to processors \({ranks} ranks, \d+ processors .*\)\n", done.stderr
    )
    done = mpiexec("-n", 2, "--bind-to", "none", *ALLOWED)
    assert len(set(done.stdout.splitlines())) == 1, done.text


def test_threads_wait_without_spinning_where_ranks_share_processors(mpiexec):
    """OpenMP's would keep processors from ranks that have something to do. The user has the last word."""
    script = ("sh", "-c", "echo ${OMP_WAIT_POLICY-not set}")
    processors = len(os.sched_getaffinity(0))
    assert mpiexec("-n", processors, *script).stdout.splitlines() == ["not set"] * processors
    assert mpiexec("-n", processors + 1, *script).stdout.splitlines() == ["passive"] * (processors + 1)
    asked = mpiexec("-n", processors + 1, "-x", "OMP_WAIT_POLICY=active", *script)
    assert asked.stdout.splitlines() == ["active"] * (processors + 1)
