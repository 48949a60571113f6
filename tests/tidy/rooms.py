"""The rooms of a folder of src/ (its sub-folders) include each other one way: no circle leads back to a room.

Files that lie in the folder itself count as a room of their own: what the others may ask of the folder.
"""

import rules

FOLDERS = ("coll", "launch")


def room_of(name):
    """ "coll/shm" for src/coll/shm/x.hpp, "coll" for src/coll/api.hpp."""
    return "/".join(name.split("/")[1:-1][:2])


def edges(tree, folder):
    """room -> the rooms that it includes, each with one line that does so."""
    found = {}
    for name, text in tree.select(*rules.C_FAMILY):
        if not name.startswith(f"src/{folder}/"):
            continue
        here = found.setdefault(room_of(name), {})
        for number, target in rules.includes(text):
            inner = "src/" + target[1:-1]
            if inner.startswith(f"src/{folder}/") and inner in tree.files and room_of(inner) != room_of(name):
                here.setdefault(room_of(inner), f"{name}:{number}")
    return found


def reached(graph, room):
    """The rooms that `room` includes, themselves or through others."""
    found, new = set(), [room]
    while new:
        more = graph.get(new.pop(), {}).keys() - found
        found |= more
        new += more
    return found


def circles(tree, folders=FOLDERS):
    """The includes that close a circle."""
    wrong = []
    for folder in folders:
        graph = edges(tree, folder)
        wrong += [
            f"{line}: {room} includes {other}, from which a circle leads back"
            for room, others in sorted(graph.items())
            for other, line in sorted(others.items())
            if room in reached(graph, other)
        ]
    return wrong
