"""The models of the protocol (docs/models): spin goes through every state of each of them.

The right protocol must hold in all states of every bound below; each of the broken ones, which differ from it
in one line, must be caught. So a model that has become too weak to see anything fails here too.
TASUKI_TEST_LONG=1 (make test-long) takes larger bounds.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

import pytest

MODELS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "models"
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
MEMORY_MIB = 6000 if LONG else 1500
SECONDS_MAX = 1500 if LONG else 200

ONE_SENDER = ["SENDERS=1", "MESSAGES=2", "RECEIVES=2", "TAGS=1", "TIGHT=0"]

# What each run is for is told in docs/models/README.md.
RIGHT = {
    "messages": [
        ["SENDERS=2", "MESSAGES=1", "RECEIVES=2", "TAGS=1", "LARGE=1", "TIGHT=1"],
        ["SENDERS=1", "MESSAGES=2", "RECEIVES=3", "TAGS=1", "SLOTS=2", "TIGHT=0"],
        ["SENDERS=1", "MESSAGES=1", "RECEIVES=3", "TAGS=2", "SLOTS=2", "TIGHT=0"],
        ["SENDERS=1", "MESSAGES=2", "RECEIVES=2", "TAGS=1", "CHUNKS=3", "TIGHT=1"],
    ],
    "waking": [["SENDERS=2", "PACKETS=2"], ["SENDERS=2", "PACKETS=2", "CAREFUL"]],
    "network": [["MESSAGES=3"], ["INDICES=2", "CANCELS=2", "CREDIT=2"]],
    "connections": [["PACKETS=2", "PACKETS_BACK=2"]],
    "favour": [["TURNS=2"], ["THREADS=2", "TURNS=4"]],
    "answers": [["MESSAGES=3", "LINES=1"], ["MESSAGES=3", "LINES=2"]],
}
RIGHT_LONG = {
    "messages": [
        ["SENDERS=2", "MESSAGES=1", "RECEIVES=2", "TAGS=1"],
        ["SENDERS=2", "MESSAGES=1", "RECEIVES=2", "TAGS=2", "LARGE=1", "TIGHT=0"],
        ["SENDERS=2", "MESSAGES=1", "RECEIVES=3", "TAGS=1", "LARGE=1", "TIGHT=0"],
        ["SENDERS=2", "MESSAGES=2", "RECEIVES=2", "TAGS=1", "LARGE=1", "TIGHT=0"],
        ["SENDERS=1", "MESSAGES=2", "RECEIVES=2", "TAGS=2", "TIGHT=1"],
        ["SENDERS=1", "MESSAGES=3", "RECEIVES=3", "TAGS=1", "SLOTS=2", "TIGHT=0"],
    ],
    "waking": [["SENDERS=2", "PACKETS=4"], ["SENDERS=2", "PACKETS=4", "CAREFUL"]],
    "network": [
        ["MESSAGES=3", "RECEIVES=3", "INDICES=2"],
        ["RECEIVES=3", "INDICES=2", "CANCELS=2"],
        ["RECEIVES=3", "INDICES=3", "WINDOW=1"],
        ["PARTS=3", "INDICES=2", "CANCELS=2"],
        ["MESSAGES=3", "CREDIT=2"],
        ["MESSAGES=3", "RECEIVES=3", "INDICES=2", "CREDIT=2"],
    ],
    "connections": [["PACKETS=3", "PACKETS_BACK=3", "DROPS=4"]],
    "favour": [["TURNS=3"], ["THREADS=2", "TURNS=8"]],
    "answers": [["MESSAGES=4", "LINES=2"]],
}
# Runs that reach every statement: one that no run reached would be one that nothing is known of.
EVERY_STATEMENT = [RIGHT["messages"][1], RIGHT["waking"][0], RIGHT["network"][1], RIGHT["answers"][0]]

BROKEN = {
    "messages": {
        "ACKNOWLEDGED_UNCHECKED": ONE_SENDER,
        "ACKNOWLEDGED_BEFORE_THE_MATCH": ONE_SENDER,
        "CLAIM_WITHOUT_CAS": ONE_SENDER,
        "CANCEL_ANYWAY": ONE_SENDER,
        "CLAIM_IN_TWO_WORDS": ONE_SENDER,
        "DONE_BEFORE_THE_COPY": ONE_SENDER,
        "NO_HOLD_BACK": ["SENDERS=2", "MESSAGES=1", "RECEIVES=2", "TAGS=1", "TIGHT=0", "CANCELS=0"],
        "NO_GENERATION": ["SENDERS=1", "MESSAGES=1", "RECEIVES=2", "TAGS=2", "TIGHT=0"],
        "SCAN_WITHOUT_LIMIT": ["SENDERS=1", "MESSAGES=1", "RECEIVES=3", "TAGS=1", "SLOTS=2", "TIGHT=0"],
    },
    "waking": {
        "NO_MEMBARRIER": [],
        "NO_SECOND_LOOK": [],
        "SECOND_LOOK_NOT_AT_ALL": [],
        "FLAG_AFTER_THE_SECOND_LOOK": [],
        "FUTEX_WITHOUT_TICKET": [],
        "RING_BEFORE_THE_FLAG": [],
    },
    "network": {
        "TOLD_WITHOUT_ORDER": [],
        "PARTS_UNCONFIRMED": [],
        "GOT_BEFORE_THE_BYTES": [],
        "NO_NUMBERS": [],
        "NO_GENERATION": ["CANCELS=2"],
        "TAKEN_WITHOUT_A_PACKET": [],
        "PROCESSED_UNCHECKED": [],
        "PROCESSED_BEFORE_THE_MATCH": ["INDICES=2"],
        "LINES_NOT_TOLD": ["INDICES=2", "MESSAGES=3", "RECEIVES=3"],
        "CANCELLED_WITHOUT_AN_ANSWER": [],
        "BUNDLE_PASSED": ["CREDIT=2"],
        "BUNDLE_WAITS_FOR_MORE": [],
        "CREDIT_UNCHECKED": [],
        "CREDIT_AT_ARRIVAL": [],
        "ANSWERS_WAIT_FOR_ROOM": ["WINDOW=1"],
    },
    "connections": {
        "GREETED_ONCE": [],
        "ANSWER_NOT_AWAITED": [],
        "LEFT_BEFORE_THE_BYTES": [],
        "BYE_WITHOUT_AN_ANSWER": [],
    },
    "favour": {
        "ONE_WORD": ["THREADS=2", "TURNS=4"],
        "NO_BARRIER": [],
        "NO_SECOND_LOOK": [],
        "NO_WAIT": [],
    },
    "answers": {
        "SET_ASIDE_WITHOUT_CAS": [],
        "TAKEN_WITHOUT_CAS": [],
        "LINE_FREED_EARLY": [],
        "DROPPED_ANYWAY": [],
    },
}


@dataclasses.dataclass
class Verdict:
    errors: int
    states: int
    text: str


def verify(model, flags, folder, is_large=False):
    """Makes the verifier of a model under these -D and runs it until its first error or to the end. One that
    is not large (a quarter of a million states) takes less to compile, and less memory to clear."""
    for program in ("spin", "gcc"):
        assert shutil.which(program), f"{program} is not there: make setup installs it"

    def step(*words):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX)
        assert done.returncode == 0, f"$ {' '.join(words)}\n{done.stdout}{done.stderr}"
        return done.stdout

    shutil.copy(MODELS / f"{model}.pml", folder)
    step("spin", "-a", *(f"-D{flag}" for flag in flags), f"{model}.pml")
    optimise, hash_bits = ("-O1", "-w24") if is_large else ("-O0", "-w18")
    step("gcc", optimise, "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c")
    text = step("./pan", "-m100000", hash_bits)
    # Out of memory or depth, or stopped: then it has not seen all, and says so.
    whole = "Search not completed" not in text and "search depth too small" not in text
    errors = int(re.search(r"errors: (\d+)", text)[1])
    assert whole or errors, text
    return Verdict(errors, int(re.search(r"(\d+) states, stored", text)[1]), text)


def runs(table):
    return [
        pytest.param(model, flags, id=",".join([model, *flags])) for model in table for flags in table[model]
    ]


@pytest.mark.parametrize(("model", "flags"), runs(RIGHT) + (runs(RIGHT_LONG) if LONG else []))
def test_holds_in_every_state(model, flags, tmp_path, record_states):
    verdict = verify(model, flags, tmp_path, is_large=LONG or model == "messages")
    assert verdict.errors == 0, verdict.text
    record_states(verdict.states)
    if flags in EVERY_STATEMENT:
        assert not re.findall(r"\.pml:\d+, state \d+, \"(?!-end-)", verdict.text), verdict.text


@pytest.mark.parametrize(
    ("model", "variant"), [(model, variant) for model in BROKEN for variant in BROKEN[model]]
)
def test_a_broken_one_is_caught(model, variant, tmp_path, record_states):
    verdict = verify(model, [*BROKEN[model][variant], f"BROKEN_{variant}"], tmp_path)
    assert verdict.errors == 1, verdict.text
    assert "assertion violated" in verdict.text or "invalid end state" in verdict.text, verdict.text
    record_states(verdict.states)


@pytest.mark.parametrize("model", RIGHT)
def test_every_broken_one_is_listed(model):
    in_model = set(re.findall(r"BROKEN_(\w+)", (MODELS / f"{model}.pml").read_text()))
    assert in_model == set(BROKEN[model])
