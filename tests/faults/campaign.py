"""Jobs in which somebody dies at a random moment, many of them, judged one by one: campaign.py --help.

Each job plays random scenes of work.c. A rank, a spawned one, all ranks or mpiexec itself are ended in a
random way at a random point: by themselves at a call, in the middle of one or in a callback, or from outside.
Judged are the exit status, the words (one line that names who died and of what), and that it does not take
long. At the end what is left is counted: processes (this one adopts all that lose their parent, also those in
sessions of their own), shared memory of the control group, abstract sockets, files and published names.

Everything follows from the seed, but for the moments in which the system does what: job N of seed S is
`campaign.py --seed S --only N`. The last line is a summary in JSON; the exit status is 0 when all was right.
"""

import argparse
import concurrent.futures
import ctypes
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks"), str(HERE)]

import control_group  # noqa: E402
import harness  # noqa: E402

MPIEXEC = harness.PREFIX / "bin/mpiexec"
SECONDS_MAX = 120  # for a job: one that is not over by then hangs
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
MEANS = {  # how a rank ends itself: what its line says, and the job's exit status
    "kill": (r"was killed by signal 9 \(Killed\)", 137),
    "segv": (r"was killed by signal 11 \(Segmentation fault\)", 139),
    "bus": (r"was killed by signal 7 \(Bus error\)", 135),
    "abort": (r"was killed by signal 6 \(Aborted\)", 134),
    "exit": (r"exited with status 7", 7),
    "_exit": (r"exited with status 7", 7),
    "zero": (r"exited with status 0", 1),
}
FROM_OUTSIDE = [signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGTERM]
TO_MPIEXEC = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@dataclasses.dataclass
class Plan:
    number: int
    ranks: int
    seed: int
    rounds: int  # 0: for ever
    victim: str  # of work.c, or "mpiexec"
    means: str
    place: str
    signal: int = 0  # from outside
    delay_s: float = 0  # the same: after the job's start


def draw_healthy_plan(seed, number):
    generator = random.Random(f"healthy {seed} {number}")
    return Plan(
        number, generator.choice([1, 2, 4]), generator.randrange(1 << 30), 1, "none", "none", "nowhere"
    )


# From this call on a spawned rank may be a stranger to its parent, which then goes on and may spawn more.
CALL_APART = 6
SCENES_APART = 12


def draw_plan(seed, number):
    generator = random.Random(f"{seed} {number}")
    ranks = generator.choice([2, 4, 8])
    plan = Plan(
        number, ranks, generator.randrange(1 << 30), 0, str(generator.randrange(ranks)), "kill", "outside"
    )
    kind = generator.choice(
        ["call"] * 4 + ["time"] * 4 + ["init", "finalize", "callback", "child", "all", "outside", "mpiexec"]
    )
    if kind in ("outside", "mpiexec"):
        plan.signal = generator.choice(FROM_OUTSIDE if kind == "outside" else TO_MPIEXEC)
        plan.delay_s = generator.choice([0.02, 0.1, 0.4]) * generator.random()
        plan.rounds = generator.choice([0, 0, 3]) if kind == "mpiexec" else 0
        plan.victim = "mpiexec" if kind == "mpiexec" else plan.victim
        return plan
    plan.means = generator.choice(list(MEANS))
    if kind in ("call", "all"):
        plan.place = f"call:{int(2 ** generator.uniform(0, 10))}"
    if kind == "time":
        plan.place = f"time:{int(10 ** generator.uniform(2, 5.6))}"
    if kind in ("init", "finalize"):
        plan.place = f"{kind}:{generator.randrange(3000)}"
        plan.rounds = generator.randrange(1, 8)
    if kind == "callback":
        plan.place = generator.choice(
            [
                f"op:{generator.randrange(1, 30)}",
                f"delete:{generator.randrange(1, 4)}",
                f"handler:{generator.randrange(1, 4)}",
            ]
        )
    if kind == "child":
        call = generator.randrange(1, 9)
        plan.place = f"call:{call}"
        plan.rounds = SCENES_APART if call >= CALL_APART else 0
    if kind in ("child", "all"):
        plan.victim = kind
    if kind in ("call", "time") and generator.random() < 0.1:
        plan.means = "memory"  # there is no more to be had, which may never matter
        plan.rounds = 50
    return plan


# ---- one job -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    plan: Plan
    wrong: str  # empty: nothing
    seconds: float  # from the death, where it came from outside, else from the start
    text: str
    mpiexec_pid: int


def started_rank(folder, rank):
    """The process number that the rank has written down; None before."""
    try:
        text = (folder / f"pid.{rank}").read_text()
    except FileNotFoundError:
        return None
    return int(text) if text.endswith("\n") else None


def strike(plan, process, folder):
    """Ends whom the plan names from outside."""
    time.sleep(plan.delay_s)
    victim = process.pid
    while plan.victim != "mpiexec":
        victim = started_rank(folder, plan.victim)
        if victim is not None or process.poll() is not None:
            break
        time.sleep(0.001)
    if victim is not None and process.poll() is None:
        os.kill(victim, plan.signal)


def judge(plan, status, out, err):
    """What is wrong with the end of a job; empty: nothing."""
    lines = err.splitlines()
    if out:
        return "it prints something"
    if plan.means == "none":
        return "" if status == 0 and not lines else "a healthy job fails"
    if plan.means == "memory":
        return judge_without_memory(status, lines)
    if plan.victim == "mpiexec":
        return judge_launcher(plan, status, lines)
    if plan.signal:
        told, wanted = rf"was killed by signal {int(plan.signal)} \(.*\)", 128 + plan.signal
    else:
        told, wanted = MEANS[plan.means]
    if (plan.victim, plan.means, plan.place) == ("all", "zero", "call:1"):
        return "" if status == 0 and not lines else "a job without MPI fails"
    if plan.victim == "child" and plan.rounds:
        line_of = rf"mpiexec: rank 0 of spawn \d+ \(pid \d+ on \S+\) {told}"
        right = all(re.match(line_of, line) for line in lines) and status == (wanted if lines else 0)
        return "" if right else "the lines and the status do not fit a child that may be a stranger"
    finalized = plan.place.startswith("finalize") or plan.rounds  # then the end may come after MPI_Finalize
    if finalized and not lines and status == {"exit": 7, "_exit": 7, "zero": 0}.get(plan.means, -1):
        return ""
    if len(lines) != 1:
        return f"{len(lines)} lines, expected one"
    who = r"\d+" if plan.victim == "all" else r"0 of spawn \d+" if plan.victim == "child" else plan.victim
    # A rank that calls MPI_Init after another has ended without it says so before mpiexec can.
    absent = r"mpiexec: rank \d+ .* ended the job: MPI_Init: rank \d+ ended without calling MPI_Init"
    if plan.means in ("zero", "exit", "_exit") and re.match(absent, lines[0]):
        return "" if status == 1 else "wrong status"
    if not re.match(rf"mpiexec: rank {who} \(pid \d+ on \S+\) {told}", lines[0]):
        return "the line does not say who died of what"
    return "" if status == wanted else f"expected status {wanted}"


def judge_launcher(plan, status, lines):
    if plan.signal == signal.SIGKILL:
        right = status == -signal.SIGKILL and not lines or (plan.rounds and status == 0 and not lines)
    else:
        told = (
            re.match(rf"mpiexec: got signal {int(plan.signal)} \(.*\); ending \d+ ranks?$", lines[0])
            if lines
            else None
        )
        right = len(lines) == 1 and told and status == 128 + plan.signal
        right = right or (not lines and status == -plan.signal)  # before it answered signals
        right = right or (plan.rounds and status == 0 and not lines)  # after the job
    return "" if right else "mpiexec's end is not reported right"


def judge_without_memory(status, lines):
    """A rank without memory says so, or the program does, or the system ends it; or none was needed."""
    told = [line for line in lines if line.startswith("mpiexec: rank ")]
    right = len(told) == 1 and status != 0 or not lines and status == 0
    return "" if right else "no memory is not reported in one line"


def run_job(plan, program, top):
    folder = top / f"job.{plan.number}"
    folder.mkdir()
    words = [
        MPIEXEC,
        "-n",
        plan.ranks,
        program,
        folder,
        plan.seed,
        plan.rounds,
        plan.victim,
        plan.means,
        plan.place,
    ]
    process = subprocess.Popen(
        list(map(str, words)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=harness.clean_environment(),
        start_new_session=True,
    )
    begin = time.monotonic()
    if plan.signal:
        strike(plan, process, folder)
        begin = time.monotonic()
    wrong = ""
    try:
        out, err = process.communicate(timeout=SECONDS_MAX)
        wrong = judge(plan, process.returncode, out, err)
    except subprocess.TimeoutExpired:
        wrong = "it hangs"
        process.kill()
        out, err = process.communicate()
    seconds = time.monotonic() - begin
    shutil.rmtree(folder, ignore_errors=True)
    text = f"$ {' '.join(map(str, words))}\n{out}{err}(exit status {process.returncode}, {seconds:.2f} s)"
    return Outcome(plan, wrong, seconds, text, process.pid)


# ---- what is left --------------------------------------------------------------------------------------


def children():
    """The living processes that have this one as their parent, all threads' together."""
    found = {}
    for file in pathlib.Path("/proc/self/task").glob("*/children"):
        for pid in map(int, file.read_text().split()):
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
                name = (
                    pathlib.Path(f"/proc/{pid}/cmdline")
                    .read_bytes()
                    .replace(b"\0", b" ")
                    .decode(errors="replace")
                )
            except OSError:
                continue
            if state not in "ZX":
                found[pid] = name
    return found


def settled(find, seconds=60):
    """What `find` finds, once it finds nothing or the time is over."""
    end = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def sockets_of(pids):
    names = (line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines())
    return [
        name
        for name in names
        if (match := re.match(r"@tasuki-mpiexec-(\d+)-", name)) and int(match[1]) in pids
    ]


def files_of(pids):
    """Published names, and whatever else of mpiexec's the library could have left where others see it."""
    found = []
    for top in ("/tmp", "/dev/shm"):
        for path in pathlib.Path(top).glob("*tasuki*"):
            for file in [path, *path.rglob("*")]:
                numbers = {int(number) for number in re.findall(r"\d+", file.name)}
                mine = "tasuki-work-" in file.name or numbers & pids
                found += [str(file)] if mine and file.is_file() else []
    return found


def shared_bytes(group):
    """Shared memory that the control group is charged for; 0 where there is no group."""
    if isinstance(group, str):
        return 0
    text = (group.path / "memory.stat").read_text()
    match = re.search(r"^shmem (\d+)", text, re.MULTILINE)
    return int(match[1]) if match else 0


def leftovers(pids, group):
    left = {
        "processes": settled(children),
        "sockets": settled(lambda: sockets_of(pids)),
        "files": files_of(pids),
    }
    left["shared_bytes"] = settled(lambda: shared_bytes(group))
    return {kind: what for kind, what in left.items() if what}


# ---- all of them ---------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="work.c, compiled")
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of the one job to play")
    parser.add_argument("--healthy", action="store_true", help="no process dies")
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 1))
    return parser.parse_args()


def play(arguments, group, top):
    if not isinstance(group, str):
        group.enter()
    numbers = [arguments.only] if arguments.only is not None else range(arguments.jobs)
    draw = draw_healthy_plan if arguments.healthy else draw_plan
    plans = [draw(arguments.seed, number) for number in numbers]
    with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        outcomes = list(pool.map(lambda plan: run_job(plan, arguments.program, top), plans))
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    for outcome in wrong:
        print(f"--- job {outcome.plan.number} of seed {arguments.seed}: {outcome.wrong}")
        print(f"{outcome.plan}\n{outcome.text}")
    left = leftovers({outcome.mpiexec_pid for outcome in outcomes}, group)
    if left:
        print("--- left behind:", left)
    longest = max(
        outcome.seconds for outcome in outcomes if not outcome.plan.signal or outcome.plan.rounds == 0
    )
    summary = {"seed": arguments.seed, "jobs": len(plans), "wrong": len(wrong), "left": len(left)}
    summary |= {
        "hangs": sum(outcome.wrong == "it hangs" for outcome in wrong),
        "longest_s": round(longest, 2),
    }
    if isinstance(group, str):
        summary["memory"] = f"not counted: {group}"
    print(json.dumps(summary))
    return 0 if not wrong and not left else 1


def main():
    arguments = parse_arguments()
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)

    with control_group.control_group(16 << 30) as group, tempfile.TemporaryDirectory() as top:
        try:
            return play(arguments, group, pathlib.Path(top))
        finally:
            if not isinstance(group, str):
                (group.path.parent / "cgroup.procs").write_text(str(os.getpid()))


if __name__ == "__main__":
    sys.exit(main())
