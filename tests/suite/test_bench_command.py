"""`tasuki bench`: what a pretended MPI's deadly and endless cases cost, going on with a file, bad words; and
the whole suite of quick cases, each for a millisecond, on ours, MPICH and Open MPI.

The latter two are looked for in build/peers (make test fetches them) or in the folder TASUKI_PEERS.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import fake_mpi
import harness
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from tasuki import cli, commands, implementation, programs, results
from tasuki.environment import SETTINGS
from tasuki.tuning import placement

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix")).resolve()
PEERS = pathlib.Path(os.environ.get("TASUKI_PEERS", ROOT / "build" / "peers"))
INSTALLED = str(PREFIX / "lib" / "tasuki" / "python")  # the package that has our suite built
WORK = ROOT / "build" / "suite"  # built suites are kept from one run of the tests to the next


def words_of(*words):
    return [sys.executable, "-m", "tasuki", "bench", *map(str, words)]


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    return kept | {"PYTHONPATH": str(ROOT / "python"), "COLUMNS": "200"} | changes


def bench(*words, **changes):
    return subprocess.run(
        words_of(*words), env=environment(**changes), capture_output=True, text=True, timeout=590, check=False
    )


@pytest.fixture
def fake(tmp_path):
    """Words that measure with the pretended MPI, and notes of what it does."""
    prefix = fake_mpi.make(tmp_path / "fake")

    def run(*words, limit=60, **changes):
        common = ("--mpi", prefix, "--work", tmp_path / "work", "--limit", limit)
        return bench(*common, *words, FAKE_NOTES=str(tmp_path), **changes)

    run.prefix, run.folder, run.out = prefix, tmp_path, tmp_path / "run.json"
    return run


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_deadly_and_endless_cases_are_told_and_the_rest_goes_on(fake):
    done = fake("-o", fake.out, limit=5)
    assert done.returncode == 1, done.stderr
    run = results.load(fake.out)
    measured = {(row.benchmark, row.bytes) for row in run.rows if row.group != "start_up"}
    assert measured == {(name, size) for name in ("first", "second", "third") for size in fake_mpi.SIZES}
    assert run.troubles[:2] == [
        "fake/deadly 8 @2: exit status 1: mbl: a rank died of it",
        "fake/deadly 16 @2: exit status 1: mbl: a rank died of it; its other 2 sizes are left out",
    ]
    assert [line.split(":")[0] for line in run.troubles[2:]] == ["fake/endless 8 @2", "fake/endless 16 @2"]
    assert "no sign of life for 5 s" in run.troubles[2]
    assert run.left_out == [f"fake/absent {size} @2: MPI_Absent is not there" for size in fake_mpi.SIZES]
    assert "14 rows, 4 not supported by this MPI, 4 troubles" in done.stdout
    assert done.stdout.count("\n") == 1
    assert not is_alive(int((fake.folder / fake_mpi.LEFT_BEHIND).read_text()))


def test_the_environment_is_recorded(fake):
    fake("-o", fake.out, "--only", "other", UCX_TLS="self", OMPI_MCA_btl="self", PMI_RANK="3")
    run = results.load(fake.out)
    assert run.environment["variables"] == {"OMPI_MCA_btl": "self", "UCX_TLS": "self"}
    assert run.implementation["version"] == "Fake MPI 1.0" and run.implementation["kind"] == "unknown"
    assert run.environment["compiler"] == "fake compiler 1.0"
    assert run.settings["ranks"] == [2] and run.settings["only"] == ["other"]


def test_the_rows_are_a_table_too(fake):
    done = fake("--csv", fake.folder / "run.csv", "--only", "other/third")
    assert done.returncode == 0, done.stderr
    lines = (fake.folder / "run.csv").read_text().splitlines()
    assert len(lines) == 1 + len(fake_mpi.SIZES) and lines[0].startswith("implementation,group,benchmark")


def test_ctrl_c_keeps_what_is_there_and_resume_goes_on(fake):
    words = ("--mpi", fake.prefix, "--work", fake.folder / "work", "-o", fake.out, "--only", "fake/first")
    process = subprocess.Popen(
        words_of(*words, "--only", "other"),
        env=environment(FAKE_SECONDS="0.5", FAKE_NOTES=str(fake.folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begun = fake.folder / fake_mpi.BEGUN
    while not begun.exists() or begun.read_text().count("\n") < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130 and "--resume goes on" in told, told
    before = results.load(fake.out).rows
    assert 0 < len(before) < 8
    done = fake("-o", fake.out, "--only", "fake/first", "--only", "other", "--resume")
    assert done.returncode == 0, done.stderr
    after = results.load(fake.out).rows
    assert len(after) == 8 and after[: len(before)] == before


def test_resume_refuses_another_machine_settings_or_mpi(fake):
    assert fake("-o", fake.out, "--only", "other").returncode == 0
    document = json.loads(fake.out.read_text())
    document["environment"]["cpu"] = "another"
    (fake.folder / "moved.json").write_text(json.dumps(document))
    for words, told in (
        (("-o", fake.folder / "moved.json"), "environment.cpu was 'another'"),
        (("-o", fake.out, "--quick"), "settings.budget_seconds was 0.1 and is 0.08"),
        (("-o", fake.out, "--mpi", f"other={fake.prefix}"), "implementation.name was 'fake' and is 'other'"),
        ((), "expected -o FILE"),
    ):
        done = fake("--only", "other", "--resume", *words)
        assert done.returncode == 2 and told in done.stderr, (words, done.stderr)
        assert done.stderr.count("\n") == 1


def test_several_numbers_of_ranks(fake):
    done = fake("-o", fake.out, "--only", "other", "-n", "2", "-n", "3,4")
    assert done.returncode == 0, done.stderr
    assert sorted({row.ranks for row in results.load(fake.out).rows}) == [2, 3, 4]


def test_a_job_that_cannot_start_is_one_clear_line(fake):
    done = fake("-o", fake.out, FAKE_DEAD="1")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "--list: exit status 7: no ranks today" in done.stderr


@pytest.mark.parametrize(
    "words, told",
    [
        ((), "nothing would be kept: expected -o FILE"),
        (("-o", "/nowhere/run.json"), "-o /nowhere/run.json: cannot be written"),
        (("-o", "/"), "-o /: cannot be written"),
        (("-n", "0"), "-n 0: '0', expected numbers of ranks from 1"),
        (("-n", "2,x"), "-n 2,x: 'x', expected numbers of ranks"),
        (("--budget", "-1"), "--budget -1: expected a number above 0"),
        (("--width", "0"), "--width 0: expected a number above 0"),
        (("--mpi", "/nowhere"), "there is no /nowhere/bin/mpiexec"),
        (
            ("--only", "fake/nonsense"),
            "--only fake/nonsense: there is no such benchmark; expected one of fake/absent",
        ),
        (("--only", "nonsense"), "expected one of fake, other, start_up"),
        (("--folder", "/nowhere"), "--folder /nowhere: expected a folder"),
        (("--table", "table.json"), "fake is unknown: a tuning table is for Tasuki alone"),
        (("--nodes", "2"), "fake is unknown: --nodes and --host are for Tasuki alone"),
        (("--nodes", "0"), "--nodes 0: expected a number from 1 on"),
        (("--nodes", "3"), "-n 2: expected a rank or more on each of the 3 nodes"),
        (("--host", "a,a"), "--host a,a: expected different hosts"),
        (("--network", "wire"), "--network wire: expected fabric or model"),
    ],
    ids=str,
)
def test_bad_words_are_refused_in_a_line(fake, words, told):
    out = () if not words or "-o" in words else ("-o", fake.out)
    common = ("bench", "--mpi", fake.prefix, "--work", fake.folder / "work")
    with pytest.raises(commands.Refusal) as refused:
        cli.app([str(word) for word in (*common, *out, *words)], standalone_mode=False)
    assert told in str(refused.value) and "\n" not in str(refused.value)
    assert not fake.out.exists()


def test_a_compiler_that_fails_or_is_not_there_is_told(fake):
    failed = fake("-o", fake.out, FAKE_BROKEN="1")
    assert failed.returncode == 2 and "exit status 1\nerror: no such thing" in failed.stderr
    (fake.prefix / "bin/mpicxx").unlink()
    done = fake("-o", fake.out)
    assert done.returncode == 2 and "bin/mpicxx; expected a C++ compiler" in done.stderr


def test_a_broken_file_is_refused(fake):
    assert fake("-o", fake.out, "--only", "other").returncode == 0
    fake.out.write_text(fake.out.read_text()[:-30])
    done = fake("-o", fake.out, "--only", "other", "--resume")
    assert done.returncode == 2 and "is no whole JSON document" in done.stderr


def test_a_bad_table_is_not_measured_with(tmp_path):
    table = tmp_path / "table.json"
    table.write_text("{}")
    words = ("--quick", "--only", "limit/line", "--work", WORK)
    done = bench(*words, "-o", tmp_path / "run.json", "--table", table, PYTHONPATH=INSTALLED)
    assert done.returncode == 2 and "tasuki+table does not take the table: " in done.stderr
    assert str(table) in done.stderr


def test_it_lists_and_measures_nothing(fake):
    done = fake("--list")
    assert done.returncode == 0 and "fake/first @2  (8 … 64 B, 4 sizes): a case" in done.stdout
    assert not fake.out.exists()


IMPLEMENTATIONS = {"tasuki": PREFIX, "mpich": PEERS / "mpich", "openmpi": PEERS / "openmpi"}
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
SLOW = pytest.mark.skipif(not LONG, reason="takes as long as the others together: make test-long")


@pytest.mark.parametrize(
    "name", ["tasuki", pytest.param("mpich", marks=SLOW), pytest.param("openmpi", marks=SLOW)]
)
def test_every_quick_case_runs_on(name, tmp_path):
    """Only for a millisecond each: that it runs and gives right data is what is looked at."""
    prefix = IMPLEMENTATIONS[name]
    assert (prefix / "bin/mpiexec").exists(), f"{prefix} is not there (make peers)"
    out = tmp_path / "run.json"
    words = ("--quick", "--mpi", prefix, "--work", WORK, "--limit", 300)
    done = bench(*words, "--budget", "0.001", "-o", out, PYTHONPATH=INSTALLED)
    run = results.load(out)
    assert done.returncode == 0 and not run.troubles, f"{done.stderr}\n{run.troubles}"
    assert run.implementation["kind"] == name
    groups = {row.group for row in run.rows}
    assert groups == {"start_up", "point_to_point", "collectives", "concurrent", "rma", "io", "limit"}
    listed = bench(*words, "--list", PYTHONPATH=INSTALLED).stdout
    assert len(run.rows) + len(run.left_out) == int(listed.splitlines()[-1].split()[0])
    assert len(run.frame()) == len(run.rows)


@harness.needs("libfabric")
def test_the_ranks_may_be_on_several_nodes(tmp_path):
    """Whatever the folder is from which it is started; what needs memory that ranks share is left out."""
    words = ("--quick", "-n", "2", "--nodes", "2", "--only", "point_to_point/latency", "--only", "rma/shared")
    words += ("--only", "point_to_point/threads/pattern=pingpong,apart=tags")
    words += ("--threads", "2", "--thread-multiple")
    done = bench(*words, "--budget", "0.001", "-o", tmp_path / "run.json", PYTHONPATH=INSTALLED)
    run = results.load(tmp_path / "run.json")
    assert done.returncode == 0 and not run.troubles, f"{done.stderr}\n{run.troubles}"
    assert run.implementation["placement"] == "2 virtual nodes, network fabric"
    assert {row.benchmark for row in run.rows} == {"latency", "threads"}
    assert run.settings["threads"] == 2 and run.settings["thread_multiple"]
    assert run.left_out and all("not all on one node" in line for line in run.left_out)
    again = (
        "--quick",
        "-n",
        "2",
        "--resume",
        "-o",
        tmp_path / "run.json",
        "--only",
        "point_to_point/latency",
    )
    told = bench(*again, "--budget", "0.001", PYTHONPATH=INSTALLED)
    assert told.returncode == 2 and "placement was '2 virtual nodes, network fabric'" in told.stderr


def test_a_job_has_the_words_of_its_place(tmp_path):
    prefix = fake_mpi.make(tmp_path / "fake")
    one = implementation.Implementation("ours", prefix, "tasuki")
    over_hosts = one.placed(placement.of(None, "a:4,b:4", "fabric"))
    assert over_hosts.launch(3, "mbl")[1:] == ["--host", "a:4,b:4", "--ppn", "2", "-n", "3", "mbl"]
    over_nodes = one.placed(placement.of(2, "", "model"))
    assert over_nodes.launch(4, "mbl")[1:] == ["--nodes", "2", "--network", "model", "-n", "4", "mbl"]
    assert one.launch(4, "mbl")[1:] == ["-n", "4", "mbl"]


def test_the_suite_is_found_from_any_folder(fake, monkeypatch):
    monkeypatch.chdir(fake.folder)
    built = programs.build(implementation.find(str(fake.prefix)), pathlib.Path("here"))
    assert built.is_absolute() and built.is_relative_to(fake.folder)


def test_two_are_compared_in_turns(fake):
    """Each round gives every row of both more samples, and a file of each is kept."""
    words = ["compare", "--mpi", f"a={fake.prefix}", "--mpi", f"b={fake.prefix}", "--only", "other", "--json"]
    words += ["--rounds", "3", "--work", fake.folder / "work", "-o", fake.folder / "kept", "--budget", "0.05"]
    done = subprocess.run(
        [sys.executable, "-m", "tasuki", *map(str, words)],
        env=environment(FAKE_NOTES=str(fake.folder)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["base"] == "a" and [row["verdict"] for row in document["rows"]] == ["same"] * 4
    for name in ("a", "b"):
        run = results.load(fake.folder / "kept" / f"{name}.json")
        assert {tuple(row.parts) for row in run.rows} == {(3, 3, 3)}
        assert len(run.rows) == len(fake_mpi.SIZES)
    begun = (fake.folder / fake_mpi.BEGUN).read_text().splitlines()
    assert len(begun) == 2 * 3 * len(fake_mpi.SIZES)
