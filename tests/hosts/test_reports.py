"""What mpiexec reports of jobs on two hosts, and what its options do there: the same as on one.

The second host of a job runs its agent in a time namespace where clocks matter: its clock shows other times.
"""

import collections
import json
import pathlib
import re
import signal
import sys
import time

import harness
import pytest
from faults import kill_on
from harness import HERE as RANKS_FOLDER
from harness import ROOT, compile_program, place

sys.path.insert(0, str(ROOT / "python"))

from tasuki import io_times  # noqa: E402
from tasuki import trace as traces  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MPIEXEC = harness.PREFIX / "bin/mpiexec"
PLACES = ["--host", "node1:2,node2:2"]
SECONDS_AHEAD = 5000  # of the clocks of other hosts
END_SECONDS_MAX = 120


@pytest.fixture
def two(make_hosts):
    return make_hosts(2)


@pytest.fixture
def mpiexec(two):
    """mpiexec(…) -> Done, from the first of two hosts, on both."""
    return lambda *words, **how: two[0].run([MPIEXEC, *PLACES, *words], **how)


def private_folder(host):
    """A folder that only this host has. Returns its path there, and as the test sees it."""
    done = host.run(["mktemp", "-d", "/tmp/of-this-host-XXXXXX"])
    assert done.returncode == 0, done.text
    path = done.stdout.strip()
    return path, host.root / path[1:]


def other_clock(hosts):
    """A launcher whose programs find other times: mpiexec's options for it."""
    command = hosts.folder / "with-other-clock"
    command.write_text(
        f"#!/bin/sh\\nhost=$1\\nshift\\n"
        f'exec {hosts.ssh_command} $host unshare --time --monotonic {SECONDS_AHEAD} --fork "$@"\\n'.replace(
            "\\n", "\n"
        )
    )
    command.chmod(0o755)
    return ["--launcher-command", command]


def line_of(source, mark):
    lines = (RANKS_FOLDER / source).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.endswith(f"// {mark}"))


# ----- how many ranks, and what they are given --------------------------------------------------------------


def test_without_a_number_each_slot_has_a_rank(two):
    say = [MPIEXEC, "--host", "node1:2,node2:3", "hostname"]
    assert sorted(two[0].run(say).stdout.split()) == ["node1"] * 2 + ["node2"] * 3
    assert sorted(two[0].run([MPIEXEC, "--host", "node1,node2", "hostname"]).stdout.split()) == [
        "node1",
        "node2",
    ]
    assert two[0].run([MPIEXEC, "--host", "node1,node2", "--ppn", 2, "hostname"]).stdout.count("node") == 4
    assert two[0].run([MPIEXEC, "hostname"]).stdout == "node1\n"
    assert "as many as the hosts have slots" in " ".join(two[0].run([MPIEXEC, "--help"]).stdout.split())


def test_without_a_number_each_task_of_an_allocation_is_a_rank(cluster):
    allocate = ["salloc", "--quiet", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2"]
    done = cluster[0].run([*allocate, MPIEXEC, "hostname"])
    assert sorted(done.stdout.split()) == ["node1"] * 2 + ["node2"] * 2, done.text


def test_several_programs_each_with_its_own(two, mpiexec):
    (two.shared_folder / "programs").write_text(
        "-n 1 -x WHAT=first sh -c 'echo $WHAT $COMMON on $(hostname)'\n"
        f"-n 3 --wdir {two.shared_folder} -envlist PATH "
        "sh -c 'echo $WHAT second $COMMON on $(hostname) in $PWD'\n"
    )
    done = mpiexec("-genv", "COMMON", "both", "--configfile", "programs", environment={"WHAT": "inherited"})
    second = f"second both on node2 in {two.shared_folder}"
    assert sorted(done.stdout.splitlines()) == [
        "first both on node1", f"second both on node1 in {two.shared_folder}", second, second,
    ], done.text  # fmt: skip
    done = mpiexec(
        "-n", 2, "sh", "-c", "echo a on $(hostname)", ":", "-n", 2, "sh", "-c", "echo b on $(hostname)"
    )
    assert sorted(done.stdout.splitlines()) == ["a on node1"] * 2 + ["b on node2"] * 2, done.text


def test_ranks_are_dealt_to_hosts(two, mpiexec):
    say = ["sh", "-c", "echo $TASUKI_RANK $(hostname)"]
    done = mpiexec("--map-by", "node", *say)
    assert sorted(done.stdout.splitlines()) == ["0 node1", "1 node2", "2 node1", "3 node2"], done.text
    done = mpiexec("--map-by", "slot", "-n", 3, *say)
    assert sorted(done.stdout.splitlines()) == ["0 node1", "1 node1", "2 node2"], done.text


def test_labels_files_and_input(two, mpiexec):
    done = mpiexec("-l", "hostname")
    assert sorted(done.stdout.splitlines()) == ["[0] node1", "[1] node1", "[2] node2", "[3] node2"], done.text
    path, seen = private_folder(two[0])
    say = ["sh", "-c", "echo out of $TASUKI_RANK; echo error of $TASUKI_RANK >&2"]
    done = mpiexec("--output-filename", f"{path}/out", *say)
    assert done.returncode == 0 and done.stdout == done.stderr == "", done.text
    for rank in range(4):
        assert (seen / f"out/rank.{rank}/stdout").read_text() == f"out of {rank}\n"
        assert (seen / f"out/rank.{rank}/stderr").read_text() == f"error of {rank}\n"
    done = mpiexec("--outfile-pattern", f"{path}/%r.txt", "--errfile-pattern", f"{path}/%r.txt", *say)
    assert done.stdout == done.stderr == "", done.text
    assert sorted((seen / "3.txt").read_text().splitlines()) == ["error of 3", "out of 3"]
    done = mpiexec("--outfile-pattern", "/proc/none/%r", "hostname")
    assert done.returncode == 1 and "cannot write '/proc/none/" in done.stderr, done.text
    done = mpiexec("--stdin", 3, "sh", "-c", "cat; hostname", stdin="words\n")
    assert sorted(done.stdout.splitlines()) == ["node1", "node1", "node2", "node2", "words"], done.text
    assert mpiexec("--stdin", "none", "cat", stdin="words\n").stdout == ""


def test_bindings_and_what_is_done(two, mpiexec):
    done = mpiexec("--report-bindings", "--bind-to", "none", "true")
    assert done.stderr.count("ranks are not bound to processors") == 2, done.text
    done = two[0].run([MPIEXEC, "--host", "node1,node2", "--report-bindings", "--bind-to", "core", "true"])
    told = sorted(re.findall(r"rank (\d) on (node\d) is bound to processor", done.stderr))
    assert told == [("0", "node1"), ("1", "node2")], done.text
    done = mpiexec("-v", "true")
    assert sorted(re.findall(r"rank (\d) is pid \d+ on (node\d)", done.stderr)) == [
        ("0", "node1"), ("1", "node1"), ("2", "node2"), ("3", "node2"),
    ], done.text  # fmt: skip
    assert "host node2 is node2, reached by ssh at 10.77.0.2" in done.stderr
    assert "the job is over with exit status 0" in done.stderr
    done = mpiexec("--nodes", 2, "true")
    assert done.returncode == 2 and "virtual nodes of one machine" in done.stderr, done.text


def test_the_library_is_told_what_was_asked_for(two, mpiexec):
    done = mpiexec("--usize", 9, "--initial-errhandler", "mpi_errors_return", "--heap", "private", "env")
    assert done.stdout.count("TASUKI_INITIAL_ERRHANDLER=mpi_errors_return\n") == 4, done.text
    assert done.stdout.count("TASUKI_HEAP=private\n") == 4, done.text


# ----- ends -------------------------------------------------------------------------------------------------


def test_the_time_limit(two, mpiexec):
    done = mpiexec("--timeout", 1, "sleep", 1000)
    assert done.returncode == 124 and "the time limit of 1 s is over; ending 4 ranks" in done.stderr, (
        done.text
    )
    assert [host.leftovers() for host in two] == [[], []]


def test_control_c_twice(two):
    """The second one kills ranks at once that the first one does not end."""
    stubborn = "trap '' TERM INT; echo started; while :; do sleep 0.05; done"
    job = two[0].popen([MPIEXEC, *PLACES, "sh", "-c", stubborn])
    assert [job.stdout.readline() for _ in range(4)] == ["started\n"] * 4
    job.send_signal(signal.SIGINT)
    job.send_signal(signal.SIGINT)
    _, errors = job.communicate(timeout=END_SECONDS_MAX)
    assert job.returncode == 130, errors
    assert errors == "mpiexec: got signal 2 (Interrupt); ending 4 ranks\n"
    assert [host.leftovers() for host in two] == [[], []]


@pytest.mark.parametrize(
    ("rank", "command", "status", "said"),
    [
        (3, "kill -SEGV $$", 139, "was killed by signal 11"),
        (2, "exit 7", 7, "exited with status 7"),
    ],
)
def test_a_rank_elsewhere_fails(two, mpiexec, rank, command, status, said):
    done = mpiexec("sh", "-c", f"[ $TASUKI_RANK = {rank} ] && {command}; sleep 1000")
    assert done.returncode == status and len(done.stderr.splitlines()) == 1, done.text
    said = rf"rank {rank} \(pid \d+ on node2\) {said}"
    assert re.search(said + ".*; ending the other 3 ranks", done.stderr), done.text
    assert [host.leftovers() for host in two] == [[], []]


def test_a_missing_program(two, mpiexec):
    done = mpiexec("no-such-program")
    assert done.returncode == 127 and "cannot run 'no-such-program'" in done.stderr, done.text
    assert len(done.stderr.splitlines()) == 1 and [host.leftovers() for host in two] == [[], []]


# ----- the doctor, the table, the counts, leaks -------------------------------------------------------------


def test_a_deadlock_over_two_hosts(two, mpiexec):
    """Each rank is named with its call and its line, and nobody else's fault is told."""
    program = compile_program("doctor.c")
    done = mpiexec("--stall", 1, "--end-on-deadlock", program, "cycle")
    assert done.returncode == 125, done.text
    line = place("doctor.c", line_of("doctor.c", "cycle"))
    where = rf"in MPI_Recv \(source .*tag 7, .*MPI_COMM_WORLD\) at {line}"
    assert re.search(rf"^  ranks 0-3 +waiting .*{where}$", done.stderr, re.M), done.text
    assert re.search(r"^  \* .*rank.*\[deadlock-cycle, certain\]$", done.stderr, re.M), done.text
    assert [host.leftovers() for host in two] == [[], []]


def wait_for_line(job, pattern):
    """Ends a job once it has said this on standard error; the time limit of the test ends a vain wait."""
    said = []
    for line in job.stderr:
        said.append(line)
        if re.search(pattern, line):
            break
    else:
        pytest.fail(f"{pattern!r} is not in\n{''.join(said)}")
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=END_SECONDS_MAX)


@harness.needs("libfabric")
def test_looking_at_a_job_that_runs(two):
    program = compile_program("doctor.c")
    job = two[0].popen([MPIEXEC, *PLACES, "--stall", 0, program, "cycle"])
    end = time.monotonic() + END_SECONDS_MAX
    ranks = 0
    while ranks != 4 and time.monotonic() < end:
        done = two[0].run([MPIEXEC, "--doctor=json"])
        groups = json.loads(done.stdout)["groups"] if done.returncode == 0 else []
        ranks = sum(len(group["ranks"]) for group in groups if "MPI_Recv" in group["text"])
    assert ranks == 4, done.text
    done = two[0].run(["timeout", "-s", "INT", "4", MPIEXEC, "--top"])
    assert re.search(r"4 ranks", done.stdout + done.stderr), done.text
    job.send_signal(signal.SIGQUIT)
    wait_for_line(job, f"MPI_Recv .* at {place('doctor.c', line_of('doctor.c', 'cycle'))}")


@harness.needs("libfabric")
def test_top_below_a_program(two):
    """Without a terminal there is a line each second."""
    program = compile_program("doctor.c")
    job = two[0].popen([MPIEXEC, *PLACES, "--top", "--stall", 0, program, "cycle"])
    wait_for_line(job, r"4 .*MPI_Recv")


def test_counts_of_all_hosts(two, mpiexec):
    program = compile_program("ring.c")
    done = mpiexec("--stats=json", program)
    assert done.returncode == 0, done.text
    text = done.stdout[done.stdout.index("{\n") :] if "{\n" in done.stdout else done.stdout
    found = json.loads(text)
    assert found["ranks"] == 4 and found["finished"], done.text
    assert [one["ways"]["short"]["sent_messages"] for one in found["each_rank"]] == [5, 5, 5, 5]
    alone = two[0].run([MPIEXEC, "--host", "node1", "--stats=json", "-n", 2, program])
    here = json.loads(alone.stdout[alone.stdout.index("{\n") :])["shared_bytes"]
    assert found["shared_bytes"] > 1.5 * here, (found["shared_bytes"], here)
    path, seen = private_folder(two[0])
    done = mpiexec("--stats=ranks", "--stats-file", f"{path}/counts", program)
    assert done.returncode == 0 and "4 ranks" in (seen / "counts").read_text(), done.text


def test_what_ranks_on_all_hosts_leave_behind(two, mpiexec):
    """Told once for all of them, with the line of the source where it was made."""
    program = compile_program("leaks.c")
    done = mpiexec(program, "group", environment={"TASUKI_CHECK": 3})
    assert re.search(
        rf"group, made by MPI_Comm_group.* at {place('leaks.c')}.* on each of ranks 0-3$", done.stderr, re.M
    ), done.text
    assert len(done.stderr.splitlines()) == 2, done.text


# ----- recordings -------------------------------------------------------------------------------------------


def test_a_trace_of_all_hosts(two, mpiexec):
    """It is on mpiexec's host, without a folder in common, and its times are of one clock, though the hosts'
    clocks show different ones."""
    path, seen = private_folder(two[0])
    done = mpiexec(*other_clock(two), f"--trace={path}/made.trace", compile_program("traced.c", "-pthread"))
    assert done.returncode == 0 and re.search(r"made\.trace: \d+ calls of 4 ranks, ", done.stderr), done.text
    assert [entry.name for entry in seen.iterdir()] == ["made.trace"]
    trace = traces.load(seen / "made.trace")
    heads = {int(part.head["rank"]): part.head for part in trace.parts}
    assert sorted(heads) == [0, 1, 2, 3]
    offsets = [int(heads[rank]["clock_offset_ns"]) for rank in range(4)]
    errors = [int(heads[rank]["clock_error_ns"]) for rank in range(4)]
    for rank in (2, 3):
        assert abs(offsets[rank] + SECONDS_AHEAD * 10**9) <= 10**8 and 0 < errors[rank] < 10**8, heads[rank]
        assert abs(int(heads[rank]["clock_drift_ns"])) <= int(heads[rank]["clock_drift_error_ns"])
        assert heads[rank]["host"] == "node2"
    assert abs(offsets[1]) < 10**8
    frame = trace.frame()
    begin, end = frame["begin"].min(), frame["end"].max()
    assert (end - begin) < 60, "all ranks' times are of one clock"
    assert [host.leftovers() for host in two][1] == []


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_trace_of_spawned_ranks(two, mpiexec, ranks):
    """On a host that has had ranks from the beginning, and on one where the spawned ones are the first."""
    path, seen = private_folder(two[0])
    program = compile_program(HERE / "dynamic_hosts.c")
    done = mpiexec("-n", ranks, f"--trace={path}/made.trace", f"--io-times={path}/made", program, "spawn", 4)
    assert done.returncode == 0 and "spawn: right" in done.stdout, done.text
    heads = [part.head for part in traces.load(seen / "made.trace").parts]
    worlds = collections.Counter(head.get("world", "0") for head in heads)
    assert worlds == {"0": ranks, "1": 4}, heads
    assert {head["host"] for head in heads} == {"node1", "node2"}, heads
    assert two[1].leftovers() == []


def test_times_of_accesses_of_all_hosts(two, mpiexec):
    path, seen = private_folder(two[0])
    program = [compile_program("io_times.c"), two.shared_folder / "data", "well", "enable"]
    done = mpiexec(*other_clock(two), f"--io-times={path}/made", *program)
    assert done.returncode == 0 and "made: 8 collective accesses of 4 ranks" in done.stderr, done.text
    found = io_times.load(seen / "made")
    assert found.troubles == [] and found.nodes == 2 and set(found.clock_error_ns) == {1}
    assert 0 < found.clock_error_ns[1] < 10**8
    calls = found.calls
    assert [call.function for call in calls] == ["MPI_File_write_all", "MPI_File_read_at_all"]
    for call in calls:
        assert [access.rank for access in call.accesses] == [0, 1, 2, 3]
        # A collective access begins at no rank after it has ended at another one.
        latest = max(access.begin_ns for access in call.accesses)
        first = min(access.end_ns for access in call.accesses)
        assert latest <= first + 2 * found.clock_error_ns[1]
    assert two[1].leftovers() == []


def test_a_rank_that_dies_leaves_its_trace(two, mpiexec):
    path, seen = private_folder(two[0])
    program = [compile_program("io_times.c"), two.shared_folder / "data", "kill", "enable"]
    done = mpiexec(f"--trace={path}/made.trace", f"--io-times={path}/made", *program)
    assert done.returncode == 137, done.text
    assert len(traces.load(seen / "made.trace").parts) == 4
    assert len(io_times.load(seen / "made").node_of) == 4
    assert two[1].leftovers() == []


@harness.needs("libfabric")
@pytest.mark.parametrize("way", ["agent", "cable"])
def test_a_lost_host_loses_its_part(two, way):
    """What it has recorded is lost, which is said, and nothing of it is left there."""
    path, seen = private_folder(two[0])
    words = [MPIEXEC, *PLACES, "--host-silence", 2, f"--trace={path}/made.trace", compile_program("doctor.c")]
    job = two[0].popen([*words, "cycle"])
    folders = two[1].root / "tmp"
    two.wait_until(lambda: len(list(folders.glob("tasuki-*/trace.parts-*/*"))) == 2, "there are no parts")
    if way == "agent":
        kill_on(two[1], r"mpiexec.*--agent")
    else:
        two.link_down(1)
    _, errors = job.communicate(timeout=END_SECONDS_MAX)
    assert re.search(r"calls of 2 ranks.*; what was recorded on host 'node2' is lost with it", errors), errors
    assert len(traces.load(seen / "made.trace").parts) == 2
    assert two[1].leftovers() == []
