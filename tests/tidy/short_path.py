"""The budget of the short path: what runs between MPI_Send and the copy of a short message, as a list.

The message is short and dense, the communicator and the datatype are predefined, nothing is queued before it,
and there is room. SHORT_PATH names each function that such a send goes through, by file, with those that it
calls; ARCHITECTURE.md ("The life of a send") tells the same files. `budget` checks the list against the
source: the functions are there, each names those that it calls, each is called, and what is called beside
them, of these files, is one of BESIDE. Accessors of one line in other files are no steps of their own.
"""

import re

import rules

FILES_MAX = 6
LINES_MAX = 200

ENTRY = ("generated/binding/entries_p2p.cpp", "PMPI_Send")  # generated: not counted
SHORT_PATH = {
    ENTRY[0]: {
        "PMPI_Send": ("checked_send",),
        "checked_send": ("Call", "handle", "message", "dest", "tag", "note", "send", "end"),
    },
    "src/binding/call/call.hpp": {
        "Call": ("running", "begin"),
        "running": (),
        "begin": (),
        "handle": ("lookup",),
        "lookup": (),
        "message": ("count", "lookup", "buffer"),
        "count": (),
        "buffer": (),
        "dest": ("peer_count",),
        "peer_count": (),
        "tag": (),
        "note": (),
        "end": (),
        "~Call": (),
    },
    "src/p2p/call/send.cpp": {
        "send": ("send_standard",),
        "send_standard": ("try_at_once",),
        "try_at_once": ("choose", "write_short"),
    },
    "src/protocol/choose.hpp": {"choose": ()},
    "src/protocol/write.hpp": {
        "write_short": ("put", "head_words", "short_header"),
        "short_header": (),
        "head_words": (),
    },
    "src/link/shm/shm_link.hpp": {"put": ("put",)},
    "src/link/shm/ring.hpp": {
        "put": ("has_room", "copy_line", "publish"),
        "has_room": (),
        "copy_line": ("copy_ends",),
        "copy_ends": (),
        "publish": (),
    },
}
UNCALLED = {"PMPI_Send", "~Call"}  # the user calls the one, the end of the scope the other

# Where the path is left: errors, threads, calls inside of calls; what is not short; no room, and what is more
# than a line. And a counter, whose namesake here counts the other messages.
BESIDE = {
    *("fail", "bad_handle", "lock", "unlock", "prepare", "restore_outer"),
    *("send_by_request", "send_packed_at_once"),
    *("finds_room", "put_lines", "no_room"),
    "count_sent",
}


def bodies(text):
    """name -> [(first line, last line, text)] of the functions, without comments and literals."""
    code = rules.without_comments_and_literals(text).splitlines()
    found = {}
    for name, begin, end in rules.c_functions(text):
        found.setdefault(name.split("::")[-1], []).append((begin, end, "\n".join(code[begin - 1 : end])))
    return found


def names_call(body, callee):
    return re.search(rf"(?<![\w~]){re.escape(callee)}(?:<\w+>| call)?\(", body)


def budget(tree, path=None, beside=None, uncalled=UNCALLED, files_max=FILES_MAX, lines_max=LINES_MAX):
    """What is wrong with the list, or with the path that it tells."""
    path = SHORT_PATH if path is None else path
    beside = BESIDE if beside is None else beside
    wrong, lines = [], 0
    defined = {file: bodies(tree.files.get(file, "")) for file in path}
    every_name = {name for functions in defined.values() for name in functions}
    listed = {name for functions in path.values() for name in functions}
    called = {callee for functions in path.values() for callees in functions.values() for callee in callees}
    wrong += [f"nothing on the list calls {name}" for name in sorted(listed - called - uncalled)]
    wrong += [f"{name} is called, and not on the list" for name in sorted(called - listed)]
    for file, functions in path.items():
        for name, callees in functions.items():
            here = defined[file].get(name, [])
            if not here:
                wrong.append(f"{file}: there is no {name}()")
            if file != ENTRY[0]:
                lines += sum(end - begin + 1 for begin, end, _ in here)
            text = "\n".join(body.split("{", 1)[1] for _, _, body in here if "{" in body)
            head = "\n".join(body.split("{", 1)[0] for _, _, body in here)
            wrong += [
                f"{file}: {name}() does not call {callee}()"
                for callee in callees
                if not names_call(text, callee) and not names_call(head, callee)
            ]
            wrong += [
                f"{file}: {name}() calls {other}(), which is neither on the list nor beside the path"
                for other in sorted(every_name - set(callees) - listed - beside - {name})
                if names_call(text, other)
            ]
    files = [file for file in path if file != ENTRY[0]]
    if len(files) > files_max:
        wrong.append(f"the path has {len(files)} files, at most {files_max}")
    if lines > lines_max:
        wrong.append(f"the path has {lines} lines, at most {lines_max}")
    return wrong


def told_files(tree):
    """What ARCHITECTURE.md's section does not tell of the path's files."""
    text = tree.files.get("ARCHITECTURE.md", "")
    section = text.partition("## The life of a send")[2].partition("\n## ")[0]
    return [
        f"ARCHITECTURE.md: the life of a send does not name {file}"
        for file in SHORT_PATH
        if f"`{file}`" not in section
    ]
