"""The budget of a large broadcast: what runs between api::bcast and the copy of a large message, as a list.

The call is blocking, on an intracommunicator of one node, and its data is dense: the algorithm is
single-copy, one copy from the root's buffer to each other rank's. The buffer has two names on the way: `buffer`,
the user's, which a schedule calls a Place in the receive buffer; and the exposed buffer that it is to the other
ranks. `budget` of short_path.py checks the list against the source.
"""

import short_path

FILES_MAX = 6
LINES_MAX = 420

PATH = {
    "src/coll/call/bcast.cpp": {
        "bcast": ("bcast_plan", "run_collective"),
        "bcast_plan": ("plan_chosen",),
    },
    "src/coll/run/execution.cpp": {
        "run_collective": ("plan_collective", "run"),
        "plan_collective": (),
        "plan_chosen": ("choose",),
        "run": ("begin_single_copy", "advance", "end_single_copy"),
        "advance": ("start_round",),
        "start_round": ("run_single_copy_step",),
    },
    "src/coll/choice/selector.hpp": {"choose": ()},
    "src/coll/shm/single_copy_move.cpp": {
        "single_copy_bcast": ("exposed", "pull_vector"),
        "pull_vector": ("exposed", "input_of", "output_of"),
        "exposed": (),
        "input_of": (),
        "output_of": (),
    },
    "src/coll/run/single_copy_steps.cpp": {
        "begin_single_copy": ("add", "prepare"),
        "run_single_copy_step": ("offer", "run_group"),
        "run_group": ("find", "move_bytes"),
        "find": ("find",),
        "end_single_copy": ("clear",),
    },
    "src/coll/shm/exposed_buffers.cpp": {
        "add": (),
        "prepare": (),
        "offer": (),
        "find": ("own", "entry"),
        "own": ("number_of",),
        "entry": (),
        "number_of": (),
        "move_bytes": (),
        "clear": (),
    },
}

# The plan and the schedule's writer are called through pointers.
UNCALLED = {"bcast", "single_copy_bcast"}

# Where the path is left: small data, other forms of the call, errors, waits; steps of messages; buffers that
# are staged; and one-line accessors whose namesakes are defined in these files.
BESIDE = set()


def budget(tree):
    return short_path.budget(
        tree,
        PATH,
        BESIDE,
        uncalled=UNCALLED,
        files_max=FILES_MAX,
        lines_max=LINES_MAX,
    )
