"""The floor plan of src: which folder may include which, no circles, and how many files a folder has.

Each folder directly below src is a floor; each directory below src that holds sources is a room, and so is a
floor's own directory. ARCHITECTURE.md's table says which floors a floor includes: exactly those, no more. All
may include their own floor and `base/` besides, which the table does not repeat. What bindgen writes
into generated/binding/ belongs to src/binding/.
"""

import re

import rules

FOLDER_FILES_MAX = 25
PLACES = ("src/", "generated/")

# Folders with more files, and why.
MORE_FILES = {}

# Rooms that include each other, and why. Between floors there is no exception.
CIRCLES = {}


def room_of(name):
    """ "p2p/large" for src/p2p/large/large.hpp."""
    return "/".join(name.split("/")[1:-1])


def inclusions(tree):
    """(file, line, included file), both below src or generated, of every #include that names one of ours."""
    for name, text in tree.select(*rules.C_FAMILY):
        if not name.startswith(PLACES):
            continue
        for number, target in rules.includes(text):
            included = target[1:-1] if target[1:].startswith("generated/") else f"src/{target[1:-1]}"
            if target[0] == '"' and included in tree.files:
                yield name, number, included


def circles(edges):
    """The sets of nodes, sorted, of which each leads to every other; `edges`: (from, to)."""
    reached = {}
    for node in {node for edge in edges for node in edge}:
        seen, open_nodes = set(), [node]
        while open_nodes:
            one = open_nodes.pop()
            for begin, end in edges:
                if begin == one and end not in seen:
                    seen.add(end)
                    open_nodes.append(end)
        reached[node] = seen
    return sorted(
        {
            tuple(sorted({node} | {other for other in reached[node] if node in reached[other]}))
            for node in reached
            if node in reached[node]
        }
    )


def no_circles(tree, allowed=None):
    """Neither the floors nor the rooms include each other in a circle."""
    allowed = CIRCLES if allowed is None else allowed
    wrong, found = [], set()
    for place_of in (rules.folder_of, room_of):
        edges = {}
        for name, number, included in inclusions(tree):
            edge = (place_of(name), place_of(included))
            if edge[0] != edge[1]:
                edges.setdefault(edge, f"{name}:{number}: includes {included[len('src/') :]}")
        for circle in circles(edges):
            found.add(circle)
            if circle not in allowed:
                wrong.append(f"a circle of {', '.join(circle)}:")
                wrong += [f"  {at}" for edge, at in sorted(edges.items()) if {*edge} <= {*circle}]
    gone = [circle for circle in allowed if circle not in found and any(map(tree.has_folder, circle))]
    return wrong + [f"floor_plan.py: {', '.join(circle)} are no circle any more" for circle in gone]


def table_of(architecture):
    """The table in ARCHITECTURE.md: floor -> those that it includes, beside base."""
    rows = re.findall(r"^\| `src/(\w+)/` \|[^|]*\|([^|]*)\|$", architecture, flags=re.M)
    return {
        floor: [word.strip() for word in words.split(",") if word.strip() != "nothing"]
        for floor, words in rows
    }


def table_is_what_is_included(tree):
    """ARCHITECTURE.md's table says of each floor what it includes: all of it, and nothing else."""
    table = table_of(tree.files["ARCHITECTURE.md"])
    needed = {
        rules.folder_of(name): {} for name, _ in tree.select(*rules.C_FAMILY) if name.startswith(PLACES)
    }
    for name, number, included in inclusions(tree):
        floor, other = rules.folder_of(name), rules.folder_of(included)
        if other not in (floor, "base"):
            needed[floor].setdefault(other, f"{name}:{number}: includes {included[len('src/') :]}")
    wrong = [f"ARCHITECTURE.md: there is no src/{floor}/" for floor in table if floor not in needed]
    for floor in table:
        if tree.files["ARCHITECTURE.md"].count(f"\n| `src/{floor}/` |") != 1:
            wrong.append(f"ARCHITECTURE.md: src/{floor}/ has several rows in the table")
    for floor, others in needed.items():
        if floor not in table:
            wrong.append(f"src/{floor}/ is not in ARCHITECTURE.md's table")
            continue
        wrong += [
            f"{at}, which ARCHITECTURE.md's table does not give src/{floor}/"
            for other, at in sorted(others.items())
            if other not in table[floor]
        ]
        wrong += [
            f"ARCHITECTURE.md: src/{floor}/ includes nothing of {word}"
            for word in table[floor]
            if word not in others
        ]
    return wrong


def small_folders(tree, larger=None):
    """A folder has no more files than one can look through; generated ones are not counted."""
    larger = MORE_FILES if larger is None else larger
    counts = {}
    for name, _ in tree.select(*rules.C_FAMILY, generated=False):
        if name.startswith("src/"):
            counts[room_of(name)] = counts.get(room_of(name), 0) + 1
    wrong = []
    for room, count in sorted(counts.items()):
        most, _ = larger.get(room, (FOLDER_FILES_MAX, ""))
        if count > most:
            wrong.append(f"src/{room}/ has {count} files, at most {most}: divide it into rooms")
        elif room in larger and count <= FOLDER_FILES_MAX:
            wrong.append(f"floor_plan.py: src/{room}/ needs no exception any more")
    return wrong
