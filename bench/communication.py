"""What a program's communication takes, and what the model says it should (docs/model.md, docs/trace.md):
shared by run_npb.py and predict_kernels.py.

`prices` measures what the model needs on this machine: messages and the collectives that programs call
most, among so many ranks. `account` traces a run of ours and replays it with these prices.
"""

import dataclasses
import pathlib
import sys

import peers
import turns
from tasuki import pricing, replay, results, trace

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


def prices(one, ranks, path, only=PRICED, budget_seconds=BUDGET_SECONDS):
    """A pricer of the run in the file; where there is none it is measured among so many ranks, and
    written."""
    path = pathlib.Path(path)
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
    return Account(
        found.measured,
        found.predicted,
        found.measured_seconds,
        found.predicted_seconds,
        row.ranks,
        tuple(found.notes),
    )
