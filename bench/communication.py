"""What a program's communication takes, and what the model says it should (docs/model.md, docs/trace.md):
shared by run_npb.py, predict_programs.py and predict_scaled.py.

`prices` measures what the model needs on this machine: messages and the collectives that programs call
most, among so many ranks. `account` traces a run of ours and replays it with these prices.
"""

import dataclasses
import json
import pathlib
import sys

import peers
import run_kernels
import turns
from tasuki import predicted, pricing, replay, results, trace

# Of the suite: what prices messages, and the collectives of the kernels and of the NAS Parallel Benchmarks.
PRICED = (
    "point_to_point/pingpong",
    "point_to_point/one_way",
    "point_to_point/late_receive",
    "point_to_point/latency",
    "point_to_point/rate",
    *(f"collectives/{name}" for name in ("barrier", "bcast", "reduce", "allreduce", "alltoall", "alltoallv")),
)
BUDGET_SECONDS = 0.02  # a case
SECONDS_MAX = 900


@dataclasses.dataclass(frozen=True)
class Account:
    """Seconds in MPI of all ranks together, and of the program; measured under the trace, and predicted."""

    measured: float
    predicted: float
    measured_run: float
    predicted_run: float
    ranks: int
    notes: tuple[str, ...]
    kind: str  # of prediction: which errors its interval is made of
    error: float  # of what has a price, beyond what other programs took
    held: bool  # by the interval
    others: float  # which part of the processors other programs had, while it ran or was traced

    @property
    def share(self):
        """Of the ranks' time, in MPI."""
        return self.measured / (self.ranks * self.measured_run) if self.measured_run else 0.0

    @property
    def off(self):
        return self.predicted / self.measured - 1 if self.measured else 0.0

    @property
    def run_off(self):
        return self.predicted_run / self.measured_run - 1 if self.measured_run else 0.0


def prices(one, ranks, path, only=PRICED, budget_seconds=BUDGET_SECONDS, anew=False):
    """A pricer of the run in the file; where there is none, or `anew`, it is measured among so many ranks,
    and written."""
    path = pathlib.Path(path)
    if anew:
        path.unlink(missing_ok=True)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [one.prefix / "bin" / "tasuki", "bench", "--quick", "--budget", budget_seconds, "-o", path]
        words += ["-n", ",".join(str(count) for count in sorted(ranks))]
        done = peers.call(one, words + [word for name in only for word in ("--only", name)], SECONDS_MAX)
        if not path.exists():
            sys.exit(f"tasuki bench: {(done.stderr or done.stdout).strip()[-2000:]}")
    return pricing.Pricer.of_run(results.load(path))


def account(one, row, words, pricer, folder, read, limit):
    """Traces one run and replays it. Raises turns.Wrong where either does not work."""
    path = pathlib.Path(folder) / f"{row.program}.{row.ranks}.trace"
    traced = dataclasses.replace(
        one, pinned=[*one.pinned, f"--trace={path}"], crowded=[*one.crowded, f"--trace={path}"]
    )
    turns.run_once(traced, row, words, read, limit)
    try:
        found = replay.replay(trace.load(path), pricer)
    except (trace.TraceError, replay.ReplayError, pricing.PricingError) as error:
        raise turns.Wrong(f"{one.name}: {row.text}: {error}") from None
    return account_of(found, found.trace, found.measured, row.ranks)


def account_of(found, there, measured, ranks):
    """Of a replay, beside the trace of a run among the ranks that it is for, which were so long in MPI."""
    run = replay.recorded_seconds(there)
    processors = int(there.parts[0].head.get("processors", 1))
    return Account(
        measured,
        found.predicted,
        run,
        found.predicted_seconds,
        ranks,
        tuple(found.notes),
        found.kind,
        found.error(measured),
        found.interval[0] <= measured <= found.interval[1],
        max(of.others_seconds / (processors * replay.recorded_seconds(of)) for of in (there, found.trace)),
    )


def add_errors(path, accounts):
    """Adds errors to a file of them. `accounts`: (program, Account)."""
    if path is None:
        return
    known = json.loads(path.read_text())["runs"] if path.exists() else []
    for program, one in accounts:
        run = {"kind": one.kind, "program": program, "ranks": one.ranks}
        known.append(run | {"error": round(one.error, 4), "others": round(one.others, 3)})
    lines = ",\n".join("  " + json.dumps(run) for run in known)
    head = f' "tasuki_prediction_errors": {predicted.ERRORS_VERSION},\n'
    path.write_text("{\n" + head + ' "runs": [\n' + lines + "\n ]\n}\n")


# ---- the programs of predict_programs.py and predict_scaled.py ----

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAPPINGS = ("flat", "balanced", "cyclic(4)", "cyclic(8)")


def words_of(ours, out, only=()):
    """name -> the command of each program, or of those in `only`."""
    built = run_kernels.build(ours, out)
    found = {name.upper(): [built[name], *run_kernels.PROGRAMS[name][1]] for name in built}
    found["heat.py"] = [sys.executable, ROOT / "examples/heat.py", "--steps", "300"]
    paper = [ours.prefix / "bin" / "spam", "run", ROOT / "apps/spam/examples/paper.toml"]
    for mapping in MAPPINGS:
        for halo in ("messages", "shared"):
            words = [*paper, "--threads", 1, "--check-interval", 0, "--mapping", mapping, "--halo", halo]
            found[f"SPAM {mapping} {halo}"] = [*words, "--overwrite", "--output", out / "spam"]
    unknown = [name for name in only if name not in found]
    if unknown:
        sys.exit(f"--only {unknown[0]}: expected one of {', '.join(found)}")
    return {name: words for name, words in found.items() if not only or name in only}


def off_text(off, goal):
    return f"[{'green' if abs(off) <= goal else 'red'}]{100 * off:+.1f} %[/]"


def add_arguments(parser, ranks):
    parser.add_argument("--prefix", required=True, help="our installed tree")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=ranks)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    parser.add_argument("--only", nargs="+", default=[], metavar="PROGRAM")
    parser.add_argument("--errors", type=pathlib.Path, metavar="FILE", help="add each run's error to it")
