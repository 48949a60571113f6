"""mpiexec and its agents: ranks of several hosts, which are all this machine here.

A launcher command that runs the agent where it is stands for ssh: the hosts' names are only names. So all
that goes over the channel is tried (outputs, input, signals, ends) without a network. tests/hosts has real
hosts.
"""

import contextlib
import os
import pathlib
import re
import signal
import stat
import subprocess
import time

import pytest
from harness import PREFIX, clean_environment, start_command

MPIEXEC = str(PREFIX / "bin" / "mpiexec")


@pytest.fixture
def launcher(tmp_path):
    """A command that takes a host's name and a program, and runs the program here."""
    path = tmp_path / "stay-here"
    lines = [
        "#!/bin/sh",
        "echo some words of a shell",
        "[ $1 = -l ] && shift 2",
        "export ON_HOST=$1",
        "shift",
    ]
    path.write_text("\n".join([*lines, 'exec "$@"', ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def on_hosts(mpiexec, launcher):
    def run(hosts, *words, **how):
        return mpiexec("--host", hosts, "--launcher-command", launcher, *words, **how)

    return run


def start(*words, variables=None, **how):
    return start_command(MPIEXEC, *words, environment=variables, **how)


def agents_of(pid):
    """The numbers of the agents below a process."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1] if words else ""
        except OSError:
            continue
        if b"--agent" in words and parent == str(pid):
            found.append(int(entry.name))
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("hosts", ["a:2,b:1", "localhost:1,b:3", "a,b,c"])
def test_each_rank_runs_once_where_it_belongs(on_hosts, hosts, ranks):
    done = on_hosts(
        hosts, "-l", "-n", ranks, "sh", "-c", "echo $TASUKI_RANK of $TASUKI_SIZE on ${ON_HOST:-here}"
    )
    assert done.returncode == 0, done.text
    lines = sorted(done.stdout.splitlines())
    assert [line.split(" on ")[0] for line in lines] == [
        f"[{rank}] {rank} of {ranks}" for rank in range(ranks)
    ]
    names = [word.split(":")[0].replace("localhost", "here") for word in hosts.split(",")]
    places = [names.index(line.split(" on ")[1]) for line in lines]
    assert places == sorted(places), "the ranks of a host are neighbours"
    assert len(set(places)) == min(len(names), ranks) or hosts != "a,b,c"


def test_by_node_and_slots_for_all(on_hosts):
    done = on_hosts("a:9,b:9", "-ppn", 1, "-l", "-n", 4, "sh", "-c", "echo $ON_HOST")
    assert sorted(done.stdout.splitlines()) == ["[0] a", "[1] a", "[2] b", "[3] b"], done.text
    done = on_hosts("a:2,b:2", "--map-by", "node", "-l", "-n", 4, "sh", "-c", "echo $ON_HOST")
    assert sorted(done.stdout.splitlines()) == ["[0] a", "[1] b", "[2] a", "[3] b"], done.text


def test_hosts_of_each_program(on_hosts, launcher, mpiexec):
    """By the second and later ones: hosts before the first program alone are those of all."""
    say = ("sh", "-c", "echo $0 $ON_HOST")
    done = on_hosts("a:2", "-l", "-n", 2, *say, "x", ":", "-n", 1, "-host", "b", *say, "y")
    assert sorted(done.stdout.splitlines()) == ["[0] x a", "[1] x a", "[2] y b"], done.text
    done = on_hosts("a", "-l", "-n", 3, *say, "x", ":", "-host", "b,c", "-n", 3, *say, "y", ":", *say, "z")
    hosts = [line.split()[-1] for line in sorted(done.stdout.splitlines())]
    assert hosts == ["a", "a", "a", "b", "b", "c", "a"], done.text
    done = on_hosts("a:1,b:2", "-l", "-n", 2, *say, "x", ":", "-n", 1, *say, "y")
    assert sorted(done.stdout.splitlines()) == ["[0] x a", "[1] x b", "[2] y b"], done.text


def test_a_host_file(mpiexec, launcher, tmp_path):
    file = tmp_path / "hosts"
    file.write_text("# two of them\na slots=2\nb:1\n")
    done = mpiexec(
        "--hostfile", file, "--launcher-command", launcher, "-l", "-n", 3, "sh", "-c", "echo $ON_HOST"
    )
    assert sorted(done.stdout.splitlines()) == ["[0] a", "[1] a", "[2] b"], done.text
    file.write_text("a slots=none\n")
    done = mpiexec("--hostfile", file, "-n", 1, "true")
    assert done.returncode == 2 and "line 1: 'slots=none'" in done.stderr, done.text


def test_environment_directory_and_arguments(on_hosts, tmp_path):
    script = 'echo "$PWD|$COLOUR|$1|$2"'
    done = on_hosts(
        "a",
        "-wdir",
        tmp_path,
        "-env",
        "COLOUR",
        "deep red",
        "-n",
        1,
        "sh",
        "-c",
        script,
        "x",
        "two words",
        "it's",
    )
    assert done.stdout == f"{tmp_path}|deep red|two words|it's\n", done.text


def test_several_programs(on_hosts):
    done = on_hosts("a:1,b:2", "-l", "-n", 1, "echo", "boss", ":", "-n", 2, "echo", "worker")
    assert sorted(done.stdout.splitlines()) == ["[0] boss", "[1] worker", "[2] worker"], done.text


def test_output_is_whole_lines_and_all_of_it(on_hosts):
    """Megabytes from all ranks at once, on both streams."""
    print_line = 'echo "rank $TASUKI_RANK line $i of many, and a few words more"'
    script = f"i=0; while [ $i -lt 20000 ]; do {print_line}; i=$((i+1)); done"
    done = on_hosts("a:2,b:2", "-n", 4, "sh", "-c", script + "; echo last words >&2")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 80000
    for rank in range(4):
        mine = [line for line in lines if line.startswith(f"rank {rank} ")]
        assert mine == [f"rank {rank} line {i} of many, and a few words more" for i in range(20000)]
    assert done.stderr.count("last words") == 4


def test_a_reader_that_pauses_loses_nothing(launcher):
    """The ranks write 40 MB; nobody reads for a while."""
    job = start(
        "--host",
        "a,b",
        "--launcher-command",
        launcher,
        "-n",
        2,
        "sh",
        "-c",
        "head -c 20000000 /dev/zero | tr '\\0' x; echo",
    )
    time.sleep(1)
    with open(f"/proc/{job.pid}/status") as status:
        held = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
    out, err = job.communicate(timeout=300)
    assert job.returncode == 0, err
    assert out.count("x") == 40000000
    assert held < 20000, f"mpiexec held {held} KiB: it must not buffer what nobody reads"


@pytest.mark.parametrize("reader", [0, 1])
def test_standard_input(launcher, reader):
    text = "".join(f"line {i}\n" for i in range(100000))
    job = start(
        "--host",
        "a,b",
        "--launcher-command",
        launcher,
        "--stdin",
        reader,
        "-n",
        2,
        "sh",
        "-c",
        "sum=$(cksum); echo $TASUKI_RANK $sum",
        stdin=subprocess.PIPE,
    )
    out, err = job.communicate(text, timeout=300)
    expected = subprocess.run(["cksum"], input=text, capture_output=True, text=True).stdout.strip()
    empty = subprocess.run(["cksum"], input="", capture_output=True, text=True).stdout.strip()
    assert sorted(out.splitlines()) == sorted([f"{reader} {expected}", f"{1 - reader} {empty}"]), err


def test_standard_input_from_a_file(launcher, tmp_path):
    file = tmp_path / "input"
    file.write_bytes(os.urandom(3 << 20))
    with open(file, "rb") as stdin:
        job = start(
            "--host",
            "b,a",
            "--launcher-command",
            launcher,
            "-n",
            2,
            "sh",
            "-c",
            "[ $TASUKI_RANK = 1 ] || cksum",
            stdin=stdin,
        )
        out, err = job.communicate(timeout=300)
    expected = subprocess.run(["cksum"], stdin=open(file, "rb"), capture_output=True, text=True).stdout
    assert out == expected, err


def test_input_that_nobody_reads_is_no_harm(launcher):
    job = start("--host", "b,a", "--launcher-command", launcher, "-n", 2, "true", stdin=subprocess.PIPE)
    out, err = job.communicate("x" * 1000000, timeout=300)
    assert job.returncode == 0 and (out, err) == ("", "")


@pytest.mark.parametrize("hosts", ["a:2,b:2", "localhost:2,b:2", "a:2,localhost:2"])
@pytest.mark.parametrize("rank", [0, 3])
def test_a_failed_rank_ends_the_job(on_hosts, hosts, rank):
    script = f"[ $TASUKI_RANK = {rank} ] && exit 7; sleep 100"
    done = on_hosts(hosts, "-n", 4, "sh", "-c", script)
    assert done.returncode == 7, done.text
    name = hosts.split(",")[rank // 2].split(":")[0].replace("localhost", os.uname().nodename)
    assert re.fullmatch(
        rf"mpiexec: rank {rank} \(pid \d+ on {name}\) exited with status 7; ending the other 3 ranks\n",
        done.stderr,
    ), done.text


def test_a_killed_rank_ends_the_job(on_hosts):
    done = on_hosts("a,b", "-n", 2, "sh", "-c", "[ $TASUKI_RANK = 1 ] && kill -SEGV $$; sleep 100")
    assert done.returncode == 128 + signal.SIGSEGV, done.text
    assert re.search(r"rank 1 \(pid \d+ on b\) was killed by signal 11", done.stderr), done.text


def test_a_program_that_is_not_there(on_hosts):
    done = on_hosts("a,b", "-n", 2, "no-such-program")
    assert done.returncode == 127, done.text
    assert re.search(r"host '[ab]': cannot run 'no-such-program' for rank [01]: No such file", done.stderr), (
        done.text
    )


def test_a_time_limit(on_hosts):
    done = on_hosts("a,b", "--timeout", 1, "-n", 2, "sleep", 100)
    assert done.returncode == 124 and "the time limit of 1 s is over; ending 2 ranks" in done.stderr, (
        done.text
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all(launcher, number, tmp_path):
    job = start(
        "--host",
        "a,b",
        "--launcher-command",
        launcher,
        "-n",
        2,
        "sh",
        "-c",
        f"echo $$ > {tmp_path}/$TASUKI_RANK; sleep 100",
    )
    assert wait_for(lambda: len([file for file in tmp_path.glob("[01]") if file.read_text()]) == 2)
    job.send_signal(number)
    job.communicate(timeout=300)
    assert job.returncode == 128 + number
    for rank in range(2):
        pid = int((tmp_path / str(rank)).read_text())
        assert wait_for(lambda pid=pid: is_gone(pid))


def test_usr1_reaches_the_ranks(launcher, tmp_path):
    script = f"trap 'echo got it; exit 0' USR1; touch {tmp_path}/$TASUKI_RANK; while :; do sleep 0.05; done"
    job = start("--host", "a,b", "--launcher-command", launcher, "-n", 2, "sh", "-c", script)
    assert wait_for(lambda: len(list(tmp_path.glob("[01]"))) == 2)
    job.send_signal(signal.SIGUSR1)
    out, err = job.communicate(timeout=300)
    assert out == "got it\ngot it\n", err


def test_what_ranks_leave_behind_is_ended(on_hosts, tmp_path):
    script = (
        f"setsid sh -c 'echo $$ > {tmp_path}/left.$TASUKI_RANK; sleep 1000' & "
        f"while ! [ -s {tmp_path}/left.$TASUKI_RANK ]; do sleep 0.02; done"
    )
    done = on_hosts("a,b", "-n", 2, "sh", "-c", script)
    assert done.returncode == 0, done.text
    for file in tmp_path.glob("left.*"):
        pid = int(file.read_text())
        assert wait_for(lambda pid=pid: is_gone(pid)), file
    assert len(list(tmp_path.glob("left.*"))) == 2


@pytest.mark.parametrize("victim", ["agent", "mpiexec"])
def test_a_killed_agent_or_mpiexec_leaves_nothing(launcher, tmp_path, victim):
    job = start(
        "--host",
        "a,b",
        "--launcher-command",
        launcher,
        "-n",
        2,
        "sh",
        "-c",
        f"echo $$ > {tmp_path}/$TASUKI_RANK; sleep 1000",
    )
    assert wait_for(lambda: len([file for file in tmp_path.glob("[01]") if file.read_text()]) == 2)
    agents = agents_of(job.pid)
    assert len(agents) == 2
    os.kill(agents[0] if victim == "agent" else job.pid, signal.SIGKILL)
    out, err = job.communicate(timeout=300)
    if victim == "agent":
        assert job.returncode == 1
        assert re.search(r"host '[ab]' is lost: .*ended with status 137; ending the job", err), err
    for pid in [*agents, *(int((tmp_path / str(rank)).read_text()) for rank in range(2))]:
        assert wait_for(lambda pid=pid: is_gone(pid)), pid


def test_a_host_that_is_silent_is_lost(launcher, tmp_path):
    job = start(
        "--host",
        "a,b",
        "--launcher-command",
        launcher,
        "--host-silence",
        2,
        "-n",
        2,
        "sh",
        "-c",
        f"echo $$ > {tmp_path}/$TASUKI_RANK; sleep 1000",
    )
    assert wait_for(lambda: len([file for file in tmp_path.glob("[01]") if file.read_text()]) == 2)
    agent = agents_of(job.pid)[0]
    os.kill(agent, signal.SIGSTOP)
    try:
        out, err = job.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):  # mpiexec has killed it
            os.kill(agent, signal.SIGCONT)
    assert job.returncode == 1
    assert re.search(r"host '[ab]' is lost: nothing was heard of it for 2 s; ending the job", err), err
    for rank in range(2):
        pid = int((tmp_path / str(rank)).read_text())
        assert wait_for(lambda pid=pid: is_gone(pid))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/no/such/launcher", r"cannot run '/no/such/launcher': No such file or directory"),
        ("false", r"cannot start ranks on host 'a': false ended with status 1; does \"false\" reach 'a'\?"),
        ("sh -c 'exit 127'", r"is there a \S+/bin/mpiexec on 'a'\? Install Tasuki there"),
        ("echo nonsense", r"cannot start ranks on host 'a': echo ended with status 0"),
    ],
)
def test_a_launcher_that_does_not_reach_the_host(mpiexec, command, told):
    done = mpiexec("--host", "a", "--launcher-command", command, "-n", 1, "true")
    assert done.returncode == 1 and re.search(told, done.stderr), done.text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--host", "a:0"], "'a:0': expected a number of slots"),
        (["--host", "-oX"], "'-oX' is no host"),
        (["--hostfile", "/no/such"], "cannot read the host file '/no/such'"),
        (["--launcher", "pigeon"], "--launcher pigeon: expected ssh, rsh or slurm"),
        (["--launcher-command", ""], "expected a command"),
        (["--prefix", "here"], "--prefix here: expected a directory"),
        (["--host-silence", "never"], "--host-silence never: expected a number"),
        (["--launcher-tree", "-1"], "--launcher-tree -1: expected a number from 0 to 4096"),
        (
            ["--host", "a,b", "--nodes", "2", "-n", "2"],
            "--nodes, which makes virtual nodes of one machine, works with the ranks of one host",
        ),
    ],
)
def test_bad_options_are_told(mpiexec, words, told):
    done = mpiexec(*words, "true")
    assert done.returncode == 2 and told in done.stderr, done.text


@pytest.mark.parametrize(
    ("option", "variable", "ways"),
    [
        ([], None, [None, None]),
        ([], "1", [None, "a"]),
        (["--launcher-tree", "1"], "0", [None, "a"]),
        (["--launcher-tree", "0"], "1", [None, None]),
    ],
)
def test_the_tree_that_is_asked_for(on_hosts, launcher, option, variable, ways):
    """The command line goes before the variable."""
    variables = {"TASUKI_LAUNCHER_TREE": variable} if variable else {}
    done = on_hosts("a,b", *option, "-v", "-n", 2, "true", environment=variables)
    said = re.findall(rf"host [ab] is .*, reached by {launcher}(?: from (\w))?,", done.stderr)
    assert done.returncode == 0 and said == [way or "" for way in ways], done.text


@pytest.mark.parametrize("variable", ["TASUKI_LAUNCHER_TREE", "TASUKI_HOST_SILENCE_SECONDS"])
def test_bad_variables_are_told(mpiexec, variable):
    done = mpiexec("-n", 1, "true", environment={variable: "soon"})
    assert done.returncode == 2 and f'{variable} = "soon", expected a number' in done.stderr, done.text


def test_the_silence_of_the_command_line_goes_before_the_variables(launcher):
    job = start(
        "--host",
        "a",
        "--launcher-command",
        launcher,
        "--host-silence",
        1,
        "-n",
        1,
        "sleep",
        1000,
        variables={"TASUKI_HOST_SILENCE_SECONDS": 1000},
    )
    assert wait_for(lambda: agents_of(job.pid))
    agent = agents_of(job.pid)[0]
    assert wait_for(lambda: pathlib.Path(f"/proc/{agent}/task/{agent}/children").read_text())
    time.sleep(0.5)  # it has told of its ranks
    os.kill(agent, signal.SIGSTOP)
    _, err = job.communicate(timeout=300)
    with contextlib.suppress(ProcessLookupError):
        os.kill(agent, signal.SIGKILL)
    assert "nothing was heard of it for 1 s" in err, err


def test_slots_of_a_batch_system_are_used(launcher):
    variables = {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "1(x2)"}
    words = [MPIEXEC, "--launcher-command", launcher, "-l", "-n", "2", "sh", "-c", "echo $ON_HOST"]
    done = subprocess.run(words, env=clean_environment() | variables, capture_output=True, text=True)
    assert sorted(done.stdout.splitlines()) == ["[0] n1", "[1] n2"], done.stderr
    variables["SLURM_TASKS_PER_NODE"] = "many"
    done = subprocess.run(words, env=clean_environment() | variables, capture_output=True, text=True)
    assert done.returncode == 2 and "--host localhost starts the ranks on this machine" in done.stderr


def can_hide():
    """Whether a process here may have mounts of its own."""
    words = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_hide(), reason="mounts of one's own (unshare -m) are not permitted here")
def test_a_host_without_tasuki_gets_it(mpiexec, tmp_path):
    """The launcher hides the installation under a mount; what is sent there is gone in the end."""
    launcher = tmp_path / "hide"
    script = f'mount -t tmpfs none {PREFIX}; export TMPDIR={tmp_path}; eval "$1"'
    launcher.write_text(f"#!/bin/sh\nshift\nexec unshare -m sh -c '{script}' x \"$*\"\n")
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    done = mpiexec(
        "--host",
        "a:2",
        "--launcher-command",
        launcher,
        "-n",
        2,
        "sh",
        "-c",
        "IFS=:; for at in $LD_LIBRARY_PATH; do find $at -maxdepth 1 -name libmpi.so.12; done",
    )
    assert done.returncode == 0, done.text
    assert re.search(r"host 'a' has no \S+/bin/mpiexec: this one is sent along, [0-9.]+ MB", done.stderr), (
        done.text
    )
    assert done.stdout.count(f"{tmp_path}/tasuki.") == 2, done.text
    assert list(tmp_path.glob("tasuki.*")) == [], "the folder there is removed"
