"""spread.py MPIEXEC PLACES WORDS...: becomes `MPIEXEC --host PLACES WORDS...`.

Where the words have `--nodes N`, the ranks are dealt to the first N hosts of PLACES instead, as they would be
to virtual nodes; what is said of the imitated network is left out. `--nodes 1` is the first host alone.
"""

import os
import sys


def take_nodes(words):
    """Takes `--nodes N` and the network's options out of the words: N, or None."""
    nodes, kept = None, []
    while words:
        word = words.pop(0)
        if word == "--nodes":
            nodes = int(words.pop(0))
        elif not word.startswith("--network"):
            kept.append(word)
    words[:] = kept
    return nodes


def deal(words, places, nodes):
    names = [place.partition(":")[0] for place in places.split(",")]
    if nodes > len(names):
        sys.exit(f"spread.py: --nodes {nodes}, and there are {len(names)} hosts")
    ranks = sum(int(words[at + 1]) for at, word in enumerate(words) if word == "-n")
    on_node = [0] * nodes
    for rank in range(ranks):
        on_node[rank * nodes // ranks] += 1
    return ",".join(f"{name}:{slots}" for name, slots in zip(names, on_node, strict=False))


def main(mpiexec, places, *words):
    words = list(words)
    nodes = take_nodes(words)
    if nodes is not None:
        places = deal(words, places, nodes)
    # The hosts share their processors, which nobody knows: ranks that wait would keep others from them.
    os.environ.setdefault("TASUKI_SPIN_COUNT", "0")
    os.execv(mpiexec, [mpiexec, "--host", places, *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
