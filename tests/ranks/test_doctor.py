"""When the doctor looks at a job, what mpiexec does with what it says, and healthy jobs that it leaves alone.

What it finds out is the matter of tests/unit/doctor and tests/wrong. doctor.c hangs, dies or only looks so.
"""

import concurrent.futures
import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest
from harness import HERE, PREFIX, clean_environment, place, start_command

MPIEXEC = str(PREFIX / "bin" / "mpiexec")
SOURCE = (HERE / "doctor.c").read_text().splitlines()
SIZES = [2, 3, 4, 8]
RECEIVING = "in MPI_Recv"
END_SECONDS_MAX = 60  # far less than what the ranks wait for; that they end is looked at, and not how fast


def place_of(mark):
    """The pattern of where the call stands that doctor.c marks with a comment."""
    line = 1 + next(number for number, line in enumerate(SOURCE) if line.endswith(f"// {mark}"))
    return place("doctor.c", line)


@pytest.fixture
def program(build):
    return build("doctor.c")


@contextlib.contextmanager
def job(*words, environment=None, **how):
    """mpiexec in the background; it is gone afterwards, and all that it started."""
    process = start_command(MPIEXEC, *words, environment=environment, **how)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def at_once(run, cases):
    """run(*case) for all cases at the same time: most of them wait for a clock."""
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        for future in [pool.submit(run, *case) for case in cases]:
            future.result()


def visit(process, *words):
    return subprocess.run(
        [MPIEXEC, "--doctor", *words, "--job", str(process.pid)],
        capture_output=True, text=True, env=clean_environment(), check=False,
    )  # fmt: skip


def look(process):
    """What --doctor=json says of a job that runs."""
    done = visit(process, "--doctor=json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_until_all(process, state, ranks, call="", deadlock=False):
    """Until so many ranks of a job are in this state and call, and for ever where that is asked for: not so
    if one came there between the doctor's two questions. Looks from outside, as any user can."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        done = visit(process, "--doctor=json")
        if done.returncode == 0:
            seen = json.loads(done.stdout)
            groups = [group for group in seen["groups"] if group["state"] == state and call in group["text"]]
            if sum(len(group["ranks"]) for group in groups) == ranks and seen["deadlock"] >= deadlock:
                return seen
        time.sleep(0.05)
    pytest.fail(f"{ranks} ranks never were {state} {call}: {done.stdout}{done.stderr}")


def end_of(process):
    """Ends the job from outside. Returns its standard error."""
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=END_SECONDS_MAX)[1]


def assert_cycle(text, ranks):
    """The table and the verdict on ranks of which each waits for the next."""
    everybody = f"0-{ranks - 1}" if ranks > 2 else "0-1|0, 1"
    where = rf"in MPI_Recv \(source .*tag 7, .*MPI_COMM_WORLD\) at {place_of('cycle')}"
    assert re.search(rf"^  ranks ({everybody}) +waiting .*{where}$", text, re.M), text
    assert re.search(r"^  \* .*\[deadlock-cycle, certain\]$", text, re.M), text


def with_time_enough(run):
    """run(FACTOR) with longer times until the verdict is certain: a busy machine may not have let each rank
    look at what was sent to it before the first ones were over."""
    for factor in (1, 8, 40):
        done = run(factor)
        if "certain]" in done.stderr:
            break
    return done, factor


# ---- what makes the doctor look ---------------------------------------------------------------------------


def test_a_job_that_stands_still(mpiexec, program):
    def stand_still(ranks):
        done, factor = with_time_enough(
            lambda factor: mpiexec(
                "-n", ranks, "--stall", 0.5 * factor, "--timeout", 3 * factor, program, "cycle"
            )
        )
        assert done.returncode == 124, done.text
        told = f"mpiexec: no rank has moved for {0.5 * factor:g} s although all wait:\n"
        assert done.stderr.count(told) == 1, "once, and no more: " + done.text
        told, end = done.stderr.split(told)[1].rsplit("mpiexec: ", 1)
        assert_cycle(told, ranks)
        over = f"the time limit of {3 * factor} s is over, with all ranks where they were; ending"
        assert end.startswith(over), done.text

    at_once(stand_still, [(ranks,) for ranks in SIZES])


def test_stall_0_tells_nothing(mpiexec, program):
    done = mpiexec("-n", 2, "--stall", 0, "--timeout", 2, program, "cycle")
    assert "no rank has moved" not in done.stderr, done.text


def test_the_time_limit(mpiexec, program):
    def reach_it(ranks):
        done, factor = with_time_enough(
            lambda factor: mpiexec("-n", ranks, "--timeout", 1.5 * factor, program, "cycle")
        )
        assert done.returncode == 124 and done.seconds < 1.5 * factor + END_SECONDS_MAX, done.text
        first, *others = done.stderr.splitlines()
        assert first == "mpiexec: what the ranks are in at the time limit:", done.text
        over = f"the time limit of {1.5 * factor:g} s is over"
        assert others[-1] == f"mpiexec: {over}; ending {ranks} ranks that still run"
        assert_cycle(done.stderr, ranks)

    at_once(reach_it, [(ranks,) for ranks in SIZES])


@pytest.mark.parametrize("ranks", SIZES)
def test_sigquit(program, ranks):
    with job("-n", ranks, program, "cycle") as process:
        wait_until_all(process, "waiting", ranks, RECEIVING)
        process.send_signal(signal.SIGQUIT)
        told = "".join(process.stderr.readline() for _ in range(5))
        assert told.startswith("mpiexec: what the ranks are in:\n"), told
        assert_cycle(told, ranks)
        assert process.poll() is None, "the job goes on"
        end_of(process)


def test_sigquit_from_the_terminal(program):
    """Ctrl-\\ reaches mpiexec; the ranks are in process groups of their own."""
    ours, theirs = pty.openpty()
    words = [MPIEXEC, "-n", "2", str(program), "cycle"]
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=clean_environment(),
        preexec_fn=lambda: (os.setsid(), os.close(os.open(os.ttyname(0), os.O_RDWR))),
    )  # fmt: skip
    try:
        os.close(theirs)
        wait_until_all(process, "waiting", 2, RECEIVING)
        os.write(ours, b"\x1c")
        told = b""
        end = time.monotonic() + 120
        while b"certain]" not in told and time.monotonic() < end:
            told += os.read(ours, 4096)
        assert_cycle(told.decode().replace("\r", ""), 2)
        os.write(ours, b"\x03")
        assert process.wait(timeout=END_SECONDS_MAX) == 128 + signal.SIGINT
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize("ranks", SIZES)
def test_a_deadlock_is_told_at_once_in_checking_mode(mpiexec, program, ranks):
    """Also of some ranks while the others have something to do; and it ends the job if that is wanted."""
    words = ("--stall", 0, "--end-on-deadlock", program, "half", 30)
    done = mpiexec("-n", ranks, *words, environment={"TASUKI_CHECK": 1})
    assert done.returncode == 125 and done.seconds < 20, done.text
    assert done.stderr.startswith("mpiexec: ranks wait for one another for ever:\n"), done.text
    assert "[deadlock-cycle, certain]" in done.stderr, done.text
    assert done.stderr.endswith("\nmpiexec: ending the job (--end-on-deadlock)\n"), done.text


def test_a_deadlock_in_checking_mode_is_told_once(mpiexec, program):
    def run(factor):
        words = ("-n", 2, "--stall", 0.5 * factor, "--timeout", 3 * factor, program, "cycle")
        return mpiexec(*words, environment={"TASUKI_CHECK": 1})

    done, _ = with_time_enough(run)
    assert done.returncode == 124, done.text
    assert done.stderr.count("certain]") == 1, done.text
    assert "no rank has moved" not in done.stderr, done.text


def test_end_on_deadlock_without_checking_mode(mpiexec, program):
    done = mpiexec(
        "-n", 3, "--stall", 0.5, "--timeout", 20, program, "cycle", environment={"TASUKI_END_ON_DEADLOCK": 1}
    )
    assert done.returncode == 125, done.text
    assert_cycle(done.stderr, 3)


# ---- a rank's death ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", SIZES)
def test_death_in_a_call(mpiexec, program, ranks):
    done = mpiexec("-n", ranks, program, "inside")
    assert done.returncode == 128 + 11 and done.seconds < END_SECONDS_MAX, done.text
    others = "the other rank" if ranks == 2 else f"the other {ranks - 1} ranks"
    told = (
        r"mpiexec: rank \d \(pid \d+ on \S+\) was killed by signal 11 \(Segmentation fault\) "
        rf"in MPI_Reduce \(.*\) at {place_of('inside')}; ending {others}\n"
    )
    assert re.fullmatch(told, done.stderr), done.text


@pytest.mark.parametrize("ranks", SIZES)
def test_death_outside(mpiexec, program, ranks):
    done = mpiexec("-n", ranks, program, "outside")
    assert done.returncode == 128 + 11, done.text
    where = rf"outside MPI, after MPI_Bcast at {place_of('outside')}; ending the other"
    assert re.search(rf"^mpiexec: rank 1 .*\(Segmentation fault\) {where}", done.stderr), done.text
    assert done.stderr.count("\n") == 1, done.text


def test_leaving_without_finalize(mpiexec, program):
    done = mpiexec("-n", 3, program, "leave")
    assert done.returncode == 3, done.text
    where = rf"after MPI_Bcast at {place_of('left')}; ending the other 2 ranks\n"
    assert re.search(rf"exited with status 3 without calling MPI_Finalize, {where}$", done.stderr), done.text
    assert done.stderr.count("\n") == 1, done.text


@pytest.mark.parametrize("ranks", SIZES)
def test_death_with_the_doctor(mpiexec, program, ranks):
    done = mpiexec("-n", ranks, "--doctor", program, "outside")
    assert done.returncode == 128 + 11 and done.seconds < END_SECONDS_MAX, done.text
    first, *table = done.stderr.splitlines()
    assert first.startswith("mpiexec: rank 1 ") and "Segmentation fault" in first, done.text
    assert table[0] == f"{ranks} ranks:" and "verdict:" in table, done.text
    assert "[rank-died, certain]" in done.stderr, done.text


def test_death_with_the_doctor_as_json(mpiexec, program):
    done = mpiexec("-n", 4, "--doctor=json", program, "outside")
    assert done.returncode == 128 + 11, done.text
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("mpiexec: rank 1 "), done.text
    said = json.loads(done.stdout)
    assert said["tasuki_doctor"] == 1 and len(said["ranks"]) == 4, done.text
    assert said["ranks"][1]["life"] == "ended" and said["ranks"][1]["wait_status"] == 11, done.text
    assert "rank-died" in [finding["id"] for finding in said["findings"]], done.text


def test_a_program_without_mpi_gets_one_line(mpiexec):
    done = mpiexec("-n", 2, "sh", "-c", "test $TASUKI_RANK = 0 || kill -ABRT $$; sleep 100")
    assert re.fullmatch(
        r"mpiexec: rank 1 \(pid \d+ on \S+\) was killed by signal 6 \(Aborted\); ending the other rank\n",
        done.stderr,
    )


def test_a_rank_whose_script_outlives_it(mpiexec, program):
    script = f"{program} outside; sleep 1000"
    done, factor = with_time_enough(
        lambda factor: mpiexec("-n", 3, "--stall", 0.5 * factor, "--timeout", 4 * factor, "sh", "-c", script)
    )
    assert done.returncode == 124, done.text
    assert f"mpiexec: no rank has moved for {0.5 * factor:g} s although all wait:" in done.stderr, done.text
    assert "[peer-ended, certain]" in done.stderr, done.text


def test_an_abort_names_its_line(mpiexec, program):
    done = mpiexec("-n", 2, program, "abort")
    assert done.returncode == 5, done.text
    told = rf"rank 1 .* ended the job: MPI_Abort .*; called at {place_of('abort')}; ending the other"
    assert re.search(told, done.stderr) and done.stderr.count("\n") == 1, done.text


# ---- healthy jobs -----------------------------------------------------------------------------------------


HEALTHY = [
    (4, "late", 2.5, ()),  # a rank computes while the others wait
    (8, "late", 2.5, ()),  # the same with more ranks than processors
    (3, "slow", 0.4, ()),  # a ring whose messages come slowly
    (4, "ring", 0, ("--nodes=2", "--network-latency=600ms")),  # messages that travel for a while
]


@pytest.mark.parametrize("level", [0, 1])
def test_a_healthy_job_is_left_alone(mpiexec, program, level):
    def run(ranks, what, seconds, options):
        words = ("-n", ranks, "--stall", 1, "--end-on-deadlock", *options, program, what, seconds)
        done = mpiexec(*words, environment={"TASUKI_CHECK": level})
        assert done.returncode == 0 and done.stderr == "", done.text

    at_once(run, HEALTHY)


def test_waiting_for_another_job_is_no_deadlock(mpiexec, program):
    def wait(level):
        words = ("-n", 2, "--stall", 0.5, "--timeout", 5, "--end-on-deadlock", program, "accept")
        done = mpiexec(*words, environment={"TASUKI_CHECK": level})
        assert done.returncode == 124, done.text
        assert done.stderr.startswith("mpiexec: what the ranks are in at the time limit:"), done.text
        assert "deadlock" not in done.stderr and "[waits-outside" in done.stderr, done.text
        told = r"it waits for port tasuki:\S+, to which no process has connected"
        assert re.search(told, done.stderr), done.text

    at_once(wait, [(0,), (1,)])


def test_a_stopped_rank_is_no_deadlock(mpiexec, program):
    def run(factor):
        words = ("--stall", 0.5 * factor, "--timeout", 4 * factor, "--end-on-deadlock", program, "stopped")
        return mpiexec("-n", 3, *words, environment={"TASUKI_CHECK": 1})

    done, _ = with_time_enough(run)
    assert done.returncode == 124, done.text
    assert "deadlock" not in done.stderr and "[stopped, certain]" in done.stderr, done.text
    assert re.search(r"^  rank  1 +stopped", done.stderr, re.M), done.text


# ---- a job that runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_visit(program, ranks):
    with job("-n", ranks, "--stall", 0, program, "cycle") as process:
        seen = wait_until_all(process, "waiting", ranks, RECEIVING, deadlock=True)
        assert seen["deadlock"] is True and [f["id"] for f in seen["findings"]] == ["deadlock-cycle"], seen
        assert len({rank["pid"] for rank in seen["ranks"]}) == ranks, seen
        done = visit(process)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert_cycle(done.stdout, ranks)
        assert end_of(process).count("\n") == 1, "the job itself says nothing of it"


def test_a_visit_to_ranks_that_look_in_vain(program):
    with job("-n", 2, "--stall", 0, program, "poll") as process:
        seen = wait_until_all(process, "polling", 2)
        assert seen["deadlock"] is False, seen


def test_a_visit_to_ranks_that_compute(program):
    with job("-n", 3, program, "late", 30) as process:
        wait_until_all(process, "computing", 1, "after MPI_Barrier")
        seen = wait_until_all(process, "waiting", 2, "in MPI_Barrier")
        assert seen["deadlock"] is False, seen
        assert [f["id"] for f in seen["findings"]] == ["computing"], seen


def test_a_visit_to_virtual_nodes(program):
    with job("-n", 4, "--nodes", 2, program, "cycle") as process:
        wait_until_all(process, "waiting", 4, RECEIVING, deadlock=True)


def test_a_visit_to_a_program_that_is_not_mpi():
    with job("-n", 2, "sleep", 100) as process:
        seen = wait_until_all(process, "starting", 2)
        assert seen["findings"] == [], seen


def test_spawned_ranks_are_looked_at_too(program):
    with job("-n", 2, "--stall", 0, program, "spawn") as process:
        wait_until_all(process, "waiting", 3, "in MPI_Recv")
        seen = wait_until_all(process, "waiting", 1, "in MPI_Barrier")
        assert [(rank["world"], rank["rank"]) for rank in seen["ranks"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
        cycle = [finding for finding in seen["findings"] if finding["id"] == "deadlock-cycle"]
        assert len(cycle) == 1 and cycle[0]["ranks"] == [[1, 0], [1, 1]] and cycle[0]["certain"], seen


def test_a_visit_needs_a_job():
    with job("-n", 1, "sleep", 100) as one, job("-n", 1, "sleep", 100) as other:
        wait_until_all(one, "starting", 1)
        wait_until_all(other, "starting", 1)
        done = subprocess.run(
            [MPIEXEC, "--doctor"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=30,
            check=False,
        )
        assert done.returncode == 1 and "jobs run; name one by --job PID:" in done.stderr, done.stderr
        for process in (one, other):
            assert f"\n  {process.pid} ({MPIEXEC} -n 1 sleep 100)"[:60] in done.stderr, done.stderr
    done = visit(one)
    assert (done.returncode, done.stderr) == (1, f"mpiexec: --job {one.pid}: there is no such process\n")


def test_the_doctor_never_cuts_into_a_line_of_a_rank(program):
    script = "printf half; sleep 1.2; echo ' and half'"
    with job("-n", 1, "sh", "-c", script, stderr=subprocess.STDOUT) as process:
        time.sleep(0.7)
        process.send_signal(signal.SIGQUIT)
        said, _ = process.communicate(timeout=END_SECONDS_MAX)
    assert said.startswith("half\nmpiexec: what the ranks are in:\n") and said.endswith("\n and half\n"), said
