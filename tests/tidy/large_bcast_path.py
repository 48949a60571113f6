"""The budget of a large broadcast: what runs between api::bcast and the copy of a large message, as a list.

The call is blocking, on an intracommunicator of one node, and its data is dense: the algorithm is
single-copy, one copy from the root's buffer to each other rank's. Small data goes over flags, which
api::bcast asks first (flag_bcast, whose first line says no to what is large). The buffer has two names on the
way: `buffer`, the user's, which a schedule calls a Place in the receive buffer; and the exposed buffer that
it is to the other ranks. `budget` of short_path.py checks the list against the source. Flags and steps are
one-line accessors in headers.
"""

import short_path

FILES_MAX = 6
LINES_MAX = 480

PATH = {
    "src/coll/call/bcast.cpp": {
        "bcast": ("bcast_plan", "run_collective"),
        "bcast_plan": ("plan_chosen",),
    },
    "src/coll/run/execution.cpp": {
        "run_collective": ("open", "plan_collective", "run"),
        "open": (),
        "plan_collective": (),
        "plan_chosen": ("choose",),
        "run": ("admit", "restart", "begin_single_copy", "end_single_copy", "close"),
        "admit": (),
        "restart": ("count_algorithm",),
        "count_algorithm": (),
        "close": (),
        "advance_by_rounds": ("start_round",),
        "start_round": ("run_single_copy_step",),
    },
    "src/coll/choice/selector.hpp": {"choose": ()},
    "src/coll/shm/single_copy_move.cpp": {
        "single_copy_bcast": ("exposed", "get_vector"),
        "get_vector": ("exposed",),
        "exposed": (),
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

# The plan and the schedule's writer are called through pointers, advance_by_rounds() by an accessor.
UNCALLED = {"bcast", "single_copy_bcast", "advance_by_rounds"}

# Where the path is left: calls that are refused, waits, threads, several nodes; steps of messages,
# combinations, buffers that are staged or pushed to; and accessors.
BESIDE = {
    *("refuse", "call_recorded", "check_length", "look_for_cuts", "may_run_group"),
    *("awaits_hold", "ends_awake", "activate"),
    *("run_step", "combine", "accept", "memory_of", "refuse_memory", "is_read", "is_streamed"),
    "sample_lines",
    "stage",
    *("problem", "parameters", "parameters_for", "round_up", "set_choice", "input_of", "output_of"),
}


def budget(tree):
    return short_path.budget(
        tree,
        PATH,
        BESIDE,
        uncalled=UNCALLED,
        files_max=FILES_MAX,
        lines_max=LINES_MAX,
    )
