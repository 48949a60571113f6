"""The runs of a sweep: which options each has, how it is started, and what comes of it."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

import pandas

from spam_tools.refusal import Refusal

MODEL_STEPS = 1  # of a run in the model of caches, where a step takes seconds


@dataclasses.dataclass(frozen=True)
class Variant:
    """The options of a run. Those of the pair list stand at what the paper found best."""

    ranks: int = 1
    threads: int = 1
    engine: str = "list"
    mapping: str = "cyclic(4)"
    schedule: str = "dynamic"
    update: str = "reduction"
    sorting: str = "serial"
    counts_cache: bool = False

    def words(self) -> list[str]:
        named = ("threads", "engine", "mapping", "schedule", "update", "sorting")
        words = [word for name in named for word in (f"--{name}", str(getattr(self, name)))]
        return [*words, "--unsafe"] if self.update == "none" else words

    def name(self) -> str:
        words = [str(getattr(self, field.name)) for field in dataclasses.fields(self)[:-1]]
        return "-".join(words).replace("(", "").replace(")", "") + ("-cache" if self.counts_cache else "")


@dataclasses.dataclass
class Launcher:
    mpiexec: str
    program: pathlib.Path
    model: pathlib.Path | None  # spam-cache-model
    processor_counts: bool = True  # cache misses, as far as known

    @classmethod
    def find(cls, program: str, mpiexec: str) -> Launcher:
        found = shutil.which(program)
        if found is None:
            raise Refusal(f"{program}: there is no such program; expected spam's in the variable SPAM")
        place = pathlib.Path(found).resolve()
        beside = place.with_name("mpiexec")
        launcher = shutil.which(mpiexec or (str(beside) if beside.exists() else "mpiexec"))
        if launcher is None:
            raise Refusal(f"--mpiexec {mpiexec or 'mpiexec'}: there is no such program")
        models = (place.parents[1] / "libexec/tasuki/spam-cache-model", place.with_name("spam-cache-model"))
        return cls(launcher, place, next((path for path in models if path.exists()), None))

    def run(self, program: pathlib.Path, variant: Variant, input_file: pathlib.Path, into: pathlib.Path,
            steps: int) -> dict:  # fmt: skip
        """What run.json says. Refuses to go on after a run that failed, with its words."""
        command = [self.mpiexec, "-n", str(variant.ranks), str(program), "run", str(input_file)]
        command += ["--output", str(into), "--steps", str(steps), "--overwrite", "--quiet"]
        command += variant.words()
        environment = dict(os.environ)
        if variant.ranks * variant.threads > len(os.sched_getaffinity(0)):
            # Threads that spin while others lack a processor would be measured, not the options.
            environment["OMP_WAIT_POLICY"] = "passive"
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Refusal(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr.strip()}")
        return json.loads((into / "run.json").read_text())


def run_all(launcher: Launcher, input_file: pathlib.Path, output: pathlib.Path, parts: list, steps: int,
            rounds: int) -> dict[Variant, dict]:  # fmt: skip
    """All variants that the parts need, each once a round; the fastest run of each. Also writes runs.csv."""
    import rich.progress

    variants = list(dict.fromkeys(variant for part in parts for variant in part.variants))
    best: dict[Variant, dict] = {}
    with rich.progress.Progress(transient=True) as progress:
        task = progress.add_task("runs", total=len(variants) * rounds)
        for turn in range(rounds):
            for variant in variants:
                progress.update(task, description=variant.name())
                if not (variant.counts_cache and turn > 0):  # counts do not get better
                    found = run_one(launcher, variant, input_file, output / "runs" / variant.name(), steps)
                    if variant not in best or found["seconds"] < best[variant]["seconds"]:
                        best[variant] = found
                progress.advance(task)
    shutil.rmtree(output / "runs")
    rows = [dataclasses.asdict(variant) | row_of(run) for variant, run in best.items()]
    pandas.DataFrame(rows).to_csv(output / "runs.csv", index=False)
    return best


def run_one(launcher: Launcher, variant: Variant, input_file: pathlib.Path, into: pathlib.Path,
            steps: int) -> dict:  # fmt: skip
    into.mkdir(parents=True, exist_ok=True)
    if not variant.counts_cache:
        return launcher.run(launcher.program, variant, input_file, into, steps)
    if launcher.processor_counts:
        run = launcher.run(launcher.program, variant, input_file, into, MODEL_STEPS)
        if run["cache"] is not None:
            return run
        launcher.processor_counts = False
    if launcher.model is None:
        raise Refusal(
            "table6: this machine lets nobody count cache misses, and spam-cache-model is not there; "
            "expected it beside spam, or --only without table6"
        )
    return launcher.run(launcher.model, variant, input_file, into, MODEL_STEPS)


def row_of(run: dict) -> dict:
    """What is kept of a run, as plain numbers."""
    steps = max(1, run["steps"])
    row = {"steps": run["steps"], "seconds_per_step": run["seconds"] / steps}
    for phase, seconds in run["phases"].items():
        row[f"{phase}_seconds_per_step"] = max(seconds) / steps
    row |= {"pairs_per_step": sum(run["pairs"]), "candidates_per_step": sum(run["candidates"])}
    for name in ("references", "misses", "lost", "transactions"):
        row[f"cache_{name}"] = sum(run["cache"][name]) if run["cache"] else None
    return row
