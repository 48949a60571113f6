"""Memory of which a user says how much is had by base/user_memory.hpp, which tells when there is none.

A machine cannot see where a number comes from. So in the folders that take users' arguments every array
whose size is computed is counted, and each file that makes such ones in another way says here how many, and
why their sizes are bounded. A change that adds one to a file has to say which it is. What grows one by one
(push_back) and is no larger than a fixed multiple of something that exists is not looked at.
"""

import re

import rules

FOLDERS = (
    *(
        "binding",
        "check",
        "coll",
        "communicator",
        "datatype",
        "dynamic",
        "environment",
        "io",
        "object",
        "p2p",
    ),
    *("placement", "reduction", "rma"),
)

NEW_ARRAY = (
    r"\bnew\s+(?!\(std::nothrow\))[\w:]+(?:<[^;]*?>)?\s*\[|\bmake_unique(?:_for_overwrite)?\s*<[^;>]*\[\]>"
)
SIZED = r"(?:\.|->)(?:resize|reserve|assign)\s*\("
VECTOR = r"\bstd::vector<[^;{}()]*>\s+\w+\((?!const\b|[\w:<>]+[&*]?\s+\w)[^;{}]*?\)\s*[;,]"
RAW = re.compile(f"{NEW_ARRAY}|{SIZED}|{VECTOR}")

RANKS = "as many as a communicator, group or graph has ranks"
NODES = "as many as there are nodes or aggregators, at most ranks"
NAMES = "a name, or text, of a length that MPI or the library limits"
LIMITED = "a constant limits it"
PARTS = "a fixed multiple of a schedule, type, request or list that exists"
ASKED = "asked for, all of it, when the call begins"
WINDOW = "at most as many as an aggregator's window has bytes"
FILE = "of a file, no memory"

# How many a file has, and why their sizes are bounded.
BOUNDED = {
    "src/binding/handles/handle_origins.hpp": (1, PARTS),
    "src/check/overlap.cpp": (1, LIMITED),
    "src/coll/run/communicator_state.cpp": (1, RANKS),
    "src/coll/run/data_steps.cpp": (2, PARTS),
    "src/coll/run/execution.cpp": (1, ASKED),
    "src/coll/schedule/bound_schedule.cpp": (1, ASKED),
    "src/coll/schedule/data_flow.cpp": (3, PARTS),
    "src/coll/schedule/dependencies.cpp": (5, PARTS),
    "src/coll/run/comparison_steps.cpp": (2, RANKS),
    "src/coll/hierarchy/collectives_of_unequal_blocks.cpp": (2, RANKS),
    "src/coll/hierarchy/communicators.cpp": (2, RANKS),
    "src/coll/hierarchy/recorded_calls.cpp": (2, RANKS),
    "src/coll/pipeline/multi_ring.cpp": (2, RANKS),
    "src/coll/pipeline/pipeline.cpp": (1, PARTS),
    "src/coll/shm/single_copy_move.cpp": (5, RANKS),
    "src/coll/shm/node_segment.cpp": (2, RANKS),
    "src/io/file/unlocked_driver.cpp": (1, FILE),
    "src/datatype/call/commit_dup_free.cpp": (1, NAMES),
    "src/dynamic/names.cpp": (1, NAMES),
    "src/dynamic/spawn.cpp": (1, ASKED),
    "src/io/two_phase/window_mover.cpp": (3, RANKS),
    "src/io/plan/aggregators.cpp": (1, NODES),
    "src/io/two_phase/collective_access.cpp": (2, RANKS),
    "src/io/access/converted_access.cpp": (1, LIMITED),
    "src/io/view/file_map_holes.cpp": (1, RANKS),
    "src/io/file/agreement.cpp": (1, RANKS),
    "src/io/plan/exchange_order.cpp": (8, RANKS),
    "src/io/two_phase/exchange_parts.cpp": (1, RANKS),
    "src/io/file/agreed_hints.cpp": (2, NAMES),
    "src/io/calls/whole_file.cpp": (1, FILE),
    "src/io/view/data_representation.cpp": (1, PARTS),
    "src/io/two_phase/oversized_views.cpp": (1, WINDOW),
    "src/io/file/view_table.cpp": (3, LIMITED),
    "src/object/comm.cpp": (1, NAMES),
    "src/communicator/comm_create.cpp": (3, RANKS),
    "src/object/group.cpp": (4, RANKS),
    "src/placement/hardware.cpp": (1, LIMITED),
    "src/communicator/intercomm.cpp": (3, RANKS),
    "src/communicator/intercomm_create.cpp": (6, RANKS),
    "src/placement/node_map.cpp": (4, RANKS),
    "src/placement/placement.cpp": (4, RANKS),
    "src/communicator/session.cpp": (1, RANKS),
    "src/communicator/split_type.cpp": (1, RANKS),
    "src/communicator/topology.cpp": (3, RANKS),
    "src/communicator/topology_cart.cpp": (5, ASKED),
    "src/communicator/topology_dist_graph.cpp": (8, ASKED),
    "src/communicator/topology_graph.cpp": (6, ASKED),
    "src/communicator/world.cpp": (1, RANKS),
    "src/object/topology.cpp": (1, PARTS),
    "src/p2p/matching.cpp": (1, PARTS),
    "src/p2p/message_checks.cpp": (1, RANKS),
    "src/rma/message/network_copies.cpp": (1, RANKS),
    "src/rma/calls/attributes.cpp": (1, NAMES),
    "src/rma/calls/creation.cpp": (3, RANKS),
    "src/rma/calls/synchronization.cpp": (1, RANKS),
    "src/rma/message/messenger.cpp": (4, LIMITED),
    "src/rma/message/target.cpp": (1, PARTS),
}


def raw_allocations(text):
    """The line numbers of those in the text."""
    code = rules.without_comments_and_literals(text)
    return [code.count("\n", 0, found.start()) + 1 for found in RAW.finditer(code)]


def user_memory_is_asked_for(tree):
    """Arrays of a computed size are had by base/user_memory.hpp, or named in BOUNDED."""
    wrong = []
    for name, text in tree.select(".cpp", ".hpp", generated=False):
        words = name.split("/")
        if words[0] != "src" or words[1] not in FOLDERS:
            continue
        lines = raw_allocations(text)
        known = BOUNDED.get(name, (0, ""))[0]
        if len(lines) != known:
            wrong.append(
                f"{name}:{(lines or [1])[-1]}: {len(lines)} arrays of a computed size, expected {known}: "
                "where a user says how large, allocate_for_user(), try_resize() and the like "
                "(base/user_memory.hpp); else tests/tidy/user_memory.py says why the size is bounded"
            )
    return wrong
