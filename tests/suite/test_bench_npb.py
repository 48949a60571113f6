"""make bench-npb: what it reads of finished programs, and the one line for each thing that is wrong with
them.

The programs are pretended ones, that print what those of the NAS Parallel Benchmarks print, or not quite
that; the MPI is pretended, too. Only the last test runs a program of ranks, to have it traced and
predicted.
"""

import dataclasses
import json
import re
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "bench"))

import run_npb  # noqa: E402

MPIEXEC = """#!/bin/sh
case $1 in --version) echo '(Tasuki) 0'; exit ;; esac
while [ "$1" != -n ]; do shift; done
export FAKE_RANKS=$2
shift 2
exec "$@"
"""
# What a program prints, and its exit status.
TOLD = """
 {kernel} Benchmark Completed.
 Class           =                        {class_}
 Size            =                    14000
 Time in seconds =                     0.87
 Total processes =                        {processes}
 Mop/s total     =                  {rate}
 Mop/s/process   =                   862.30
 Verification    =               {verification}
"""
GOOD = {
    "class_": "A",
    "processes": "$FAKE_RANKS",
    "rate": "1724.60",
    "verification": "SUCCESSFUL",
    "status": 0,
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def put(folder, name, **changes):
    told = GOOD | changes
    text = TOLD.format(kernel=name[:2].upper(), **told)
    write(folder / name, f"#!/bin/sh\ncat <<END\n{text}END\n{told.get('last', '')}\nexit {told['status']}\n")


@dataclasses.dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def npb(tmp_path, monkeypatch, capfd):
    """npb(*words) runs it on npb.bin."""

    def run(*words, model=False):
        command = ["run_npb", "--prefix", tmp_path / "tasuki", "--peers", tmp_path, "--out", run.out]
        command += ["--bin", run.bin, "--rounds", "2", *words, *([] if model else ["--no-model"])]
        monkeypatch.setattr(sys, "argv", [str(word) for word in command])
        try:
            status, told = run_npb.main(), ""
        except SystemExit as refused:
            status, told = 1, f"{refused}\n"
        out, error = capfd.readouterr()
        return Done(status, out, error + told)

    monkeypatch.setenv("COLUMNS", "200")
    for name in ("tasuki", "mpich", "openmpi"):
        write(tmp_path / name / "bin/mpiexec", MPIEXEC)
    run.bin, run.out, run.folder = tmp_path / "bin", tmp_path / "out", tmp_path
    return run


def line_of(done, beginning):
    found = [line for line in done.stdout.splitlines() if beginning in line]
    assert len(found) == 1, done.stdout + done.stderr
    return found[0]


def test_programs_run_in_turns_and_rates_become_ratios(npb):
    put(npb.bin / "tasuki", "cg.A.x", rate="2000.00")
    put(npb.bin / "mpich", "cg.A.x", rate="1500.00")
    put(npb.bin / "openmpi", "cg.A.x", rate="1000.00")
    done = npb("--ranks", 1, 2, 4)
    assert done.returncode == 0, done.stdout + done.stderr
    for ranks in ("1 rank ", "2 ranks", "4 ranks"):
        words = re.findall(r"[\d.]+", line_of(done, f"cg.A.x, {ranks}").split("rank")[1])
        assert words == ["2000.0", "2000.0", "1500.0", "1500.0", "1000.0", "1000.0", "0.75", "0.75"]
    told = json.loads((npb.out / "bench_npb.json").read_text())
    assert told["rows"][1]["mops"] == {"tasuki": [2000.0] * 2, "mpich": [1500.0] * 2, "openmpi": [1000.0] * 2}


def test_each_kernel_runs_with_the_numbers_of_ranks_that_it_takes(npb):
    for kernel in ("bt", "sp", "lu"):
        put(npb.bin / "tasuki", f"{kernel}.S.x", class_="S")
    done = npb("--ranks", 1, 2, 4, 6, 9)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"(\w\w)\.S\.x, (\d)", done.stdout)
    assert rows == [
        *[("bt", ranks) for ranks in "149"],
        *[("lu", ranks) for ranks in "124"],
        *[("sp", ranks) for ranks in "149"],
    ]


def test_a_program_that_a_peer_lacks_is_told(npb):
    put(npb.bin / "tasuki", "mg.W.x", class_="W")
    put(npb.bin / "tasuki", "is.W.x", class_="W")
    put(npb.bin / "mpich", "mg.W.x", class_="W")
    done = npb("--ranks", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bin/mpich has no is.W.x" in done.stdout


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"verification": "UNSUCCESSFUL"}, "Verification = UNSUCCESSFUL, expected SUCCESSFUL"),
        ({"class_": "W"}, "Class = W, expected A"),
        ({"processes": "1"}, "Total processes = 1, expected 2: is it built for another MPI?"),
        ({"rate": "0.00"}, "Mop/s total = 0.00, expected a number above 0"),
        ({"rate": "*******"}, "Mop/s total = *******, expected a number above 0"),
        ({"status": 3, "last": "echo boom >&2"}, "exit status 3: boom"),
        ({"verification": "", "last": "kill -SEGV $$"}, "ended by signal 11"),
        ({"last": "sleep 30"}, "did not end within 1.0 s"),
    ],
)
def test_a_run_that_does_not_count_is_one_line(npb, changes, told):
    put(npb.bin / "tasuki", "ft.A.x", **changes)
    put(npb.bin / "tasuki", "is.A.x")
    done = npb("--ranks", 2, "--limit", 1)
    assert done.returncode == 1
    assert told in line_of(done, "tasuki: ft.A.x, 2 ranks: "), done.stdout
    assert "1724.6" in line_of(done, "is.A.x, 2 ranks"), "the others go on"


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda bin: None, r"NPB_BIN=\S+/bin: no such folder"),
        (
            lambda bin: put(bin / "mpich", "cg.A.x"),
            r"bin: there is no folder tasuki in it, expected one with files",
        ),
        (
            lambda bin: (bin / "tasuki").mkdir(parents=True),
            r"bin/tasuki: there is no file named KERNEL\.CLASS\.x",
        ),
        (
            lambda bin: put(bin / "tasuki", "cg-A"),
            r"tasuki/cg-A: expected files named KERNEL\.CLASS\.x, such as",
        ),
        (
            lambda bin: put(bin / "tasuki", "dt.S.x"),
            r"tasuki/dt\.S\.x: expected files named KERNEL\.CLASS\.x",
        ),
        (
            lambda bin: (put(bin / "tasuki", "cg.A.x"), put(bin / "other", "cg.A.x")),
            r"no library is called other",
        ),
    ],
)
def test_a_folder_that_is_laid_out_otherwise_is_one_line(npb, make, told):
    make(npb.bin)
    done = npb()
    assert done.returncode == 1 and re.match(rf"bench-npb: .*{told}", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_file_that_may_not_be_run_is_told(npb):
    put(npb.bin / "tasuki", "cg.A.x")
    (npb.bin / "tasuki/cg.A.x").chmod(0o644)
    done = npb()
    assert done.returncode == 1 and done.stderr.endswith("expected a program that may be executed\n")


PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, ranks, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 300; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(" Class = S\n Total processes = %d\n Mop/s total = 7.0\n", ranks);
  if (rank == 0) printf(" Verification = SUCCESSFUL\n");
  MPI_Finalize();
}
"""


def test_the_model_tells_what_the_communication_should_take(npb, tmp_path):
    """Our library, a program of two ranks, and prices of two rows."""
    import communication
    from tasuki import implementation

    (npb.bin / "tasuki").mkdir(parents=True)
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    done = harness.run_command(harness.PREFIX / "bin/mpicc", source, "-o", npb.bin / "tasuki/cg.S.x")
    assert done.returncode == 0, done.text
    ours = implementation.find(f"tasuki={harness.PREFIX}")
    touched = "mode=send,memory=malloc,touched=yes,layout=contiguous,receive=posted,cache=warm"
    only = [f"point_to_point/pingpong/{touched}", "collectives/allreduce"]
    communication.prices(ours, [2], npb.out / "npb_prices.json", only, 1e-3)
    done = npb("--prefix", harness.PREFIX, "--ranks", 2, model=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"cg\.S\.x, 2 ranks.* 7\.0 .*\d+ % .*[+-]\d+ %", done.stdout), done.stdout
    model = json.loads((npb.out / "bench_npb.json").read_text())["rows"][0]["model"]
    assert model["measured"] > 0 and model["predicted"] > 0 and model["ranks"] == 2
