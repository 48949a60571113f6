"""Jobs in which a rank gone wild flips bits in the memory that it shares with the others and with mpiexec.

A job ends as if nothing had happened, with wrong data or an error that MPI returned, or with a message of
mpiexec's; it may wait for a message whose flag was destroyed, until mpiexec's time limit ends it. But no rank
ends by a signal, none without a word, and mpiexec itself never.
"""

import concurrent.futures
import os
import re

import harness

LONG = "TASUKI_TEST_LONG" in os.environ
JOBS = 3000 if LONG else 60
SECONDS_MAX = 20  # of a job: one that takes longer, beside other work too, waits for what was destroyed
AT_ONCE = 4
CRASH = re.compile(r"signal \d+|terminate called|\*\*\* |corrupted|double free")


def outcome(seed, program):
    done = harness.run_command(
        harness.PREFIX / "bin" / "mpiexec",
        *("-n", 2 + seed % 3, "--timeout", SECONDS_MAX, program, "wild", seed, 1 << seed % 9),
        timeout=SECONDS_MAX + 20,
    )
    if CRASH.search(done.stderr):
        return seed, "crashed", done.text
    if done.returncode == 0:
        return seed, "ended well", done.text
    if "time limit" in done.stderr or "--timeout" in done.stderr:
        return seed, "hung", done.text
    told = "mpiexec" in done.stderr and done.returncode > 0
    return seed, "told" if told else "crashed", done.text


def test_a_rank_gone_wild_gives_errors(safety):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda seed: outcome(seed, safety), range(1, JOBS + 1)))
    kinds = {kind: [seed for seed, was, _ in results if was == kind] for _, kind, _ in results}
    print({kind: len(seeds) for kind, seeds in kinds.items()})
    crashed = [f"seed {seed}: {text}" for seed, kind, text in results if kind == "crashed"]
    assert not crashed, "\n".join(crashed[:5])
    assert kinds.get("told"), "nothing was damaged"
    assert len(kinds.get("hung", [])) <= max(2, JOBS // 8), f"too many hang: {kinds['hung']}"
