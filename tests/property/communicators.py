"""One round: a random tree of communicators, made and freed in random order, against a serial oracle.

All ranks draw the same plan, also for communicators that they are not in, and so know of each who is in it,
in which order, with which topology and attributes. What MPI says must agree; and messages with the same tag
that are under way on all of them at once must each arrive on their own.
"""

import ctypes
import random as random_module
import zlib

from mpi import MPI as mpi
from mpi import run_rounds

LIVE_MAX = 10
COPY = ctypes.CFUNCTYPE(
    ctypes.c_int,
    mpi.handle,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int),
)
DELETE = ctypes.CFUNCTYPE(ctypes.c_int, mpi.handle, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def hosts_of_ranks():
    """A number of each rank's host, or of the part of it that mpiexec --nodes takes for one."""
    own = zlib.crc32(mpi.Get_processor_name()[0].encode()) & 0x7FFFFFFF
    numbers = (ctypes.c_int * mpi.size)()
    mpi.Allgather((ctypes.c_int * 1)(own), 1, mpi.INT, numbers, 1, mpi.INT, mpi.COMM_WORLD)
    return list(numbers)


class Comm:
    """A communicator as the oracle knows it. members: numbers in the world; remote: the other group, or
    None.
    """

    def __init__(self, members, remote=None, topology=None):
        self.members, self.remote, self.topology = list(members), remote, topology
        self.number = None  # tells communicators apart, the same on all members
        self.attributes = {}  # key: value, the same on all members
        self.handle = None

    def seen_by(self, number):
        """(local group, remote group) of a process."""
        if self.remote is not None and number in self.remote:
            return self.remote, self.members
        return self.members, self.remote

    @property
    def everybody(self):
        return self.members + (self.remote or [])

    @property
    def mine(self):
        return mpi.rank in self.everybody


class Keys:
    """Attribute keys: one is not copied, one grows by one with each copy. Counts what the callbacks do."""

    def __init__(self):
        self.copies = self.deletes = 0
        self.keep = [COPY(self.copy), DELETE(self.delete)]
        self.none = mpi.Comm_create_keyval(None, self.keep[1], None)
        self.grows = mpi.Comm_create_keyval(self.keep[0], self.keep[1], None)

    def copy(self, comm, key, extra, value, copied, flag):
        self.copies += 1
        copied[0] = (value or 0) + 1
        flag[0] = 1
        return 0

    def delete(self, comm, key, value, extra):
        self.deletes += 1
        return 0

    def free(self):
        for key in (self.none, self.grows):
            mpi.Comm_free_keyval(ctypes.byref(ctypes.c_int(key)))


class Tree:
    def __init__(self, random):
        self.random = random
        self.noise = random_module.Random(random.random() + mpi.rank)
        self.world = Comm(range(mpi.size))
        self.world.handle = mpi.COMM_WORLD
        self.hosts = hosts_of_ranks()
        self.live = []
        self.tag = 0  # of this round of messages: a fast sender may be at the next one
        self.keys = Keys()
        self.copies = self.deletes = 0  # what the callbacks should have counted on this rank
        self.world_group = mpi.Comm_group(mpi.COMM_WORLD)

    # ---- makers: each calls MPI where this rank takes part, and gives the new communicators ----

    def dup(self, old):
        new, way = Comm(old.members, old.remote, old.topology), self.random.randrange(3)
        new.attributes = {key: value + 1 for key, value in old.attributes.items() if key == self.keys.grows}
        if old.mine:
            self.copies += len(new.attributes)
            if way == 0:
                new.handle = mpi.Comm_dup(old.handle)
            elif way == 1:
                new.handle = mpi.Comm_dup_with_info(old.handle, mpi.INFO_NULL)
            else:
                made, request = mpi.handle(), mpi.handle()
                code = mpi.Comm_idup.raw(old.handle, ctypes.byref(made), ctypes.byref(request))
                assert code == 0
                mpi.Barrier(old.handle)
                mpi.Wait(request)
                new.handle = made.value
        return [new]

    def split(self, old):
        colors = {number: self.random.choice([0, 1, 1, 5, None]) for number in range(mpi.size)}
        keys = {number: self.random.randint(-2, 2) for number in range(mpi.size)}

        def part(group, color):
            chosen = [number for number in group if colors[number] == color]
            return sorted(chosen, key=lambda number: (keys[number], group.index(number)))

        made = {color: Comm(part(old.members, color)) for color in (0, 1, 5)}
        if old.remote is not None:
            made = {color: Comm(new.members, part(old.remote, color)) for color, new in made.items()}
            made = {color: new for color, new in made.items() if new.members and new.remote}
        made = {color: new for color, new in made.items() if new.members}
        if old.mine:
            color = colors[mpi.rank]
            handle = mpi.Comm_split(old.handle, mpi.UNDEFINED if color is None else color, keys[mpi.rank])
            self.give(made.get(color), handle)
        return list(made.values())

    def give(self, new, handle):
        """The handle of a new communicator; without one for this rank it must be NULL."""
        if new is None or not new.mine:
            assert handle == mpi.COMM_NULL, "a process that is not in a communicator got one"
        else:
            assert handle != mpi.COMM_NULL
            new.handle = handle

    def group_of(self, numbers):
        return mpi.Group_incl(self.world_group, len(numbers), list(numbers))

    def create(self, old):
        chosen = self.random.sample(old.members, self.random.randint(1, len(old.members)))
        rest = [number for number in old.members if number not in chosen]
        if old.remote is not None:
            other = self.random.sample(old.remote, self.random.randint(1, len(old.remote)))
            made = [Comm(chosen, other)]
            groups = [chosen, other]
        else:  # disjoint groups at once; those of no group pass an empty one
            second = self.random.sample(rest, self.random.randint(0, len(rest)))
            made = [Comm(numbers) for numbers in (chosen, second) if numbers]
            groups = [chosen, second]
        if old.mine:
            local, _ = old.seen_by(mpi.rank)
            mine = next((numbers for numbers in groups if mpi.rank in numbers), [])
            if old.remote is not None:
                mine = next(numbers for numbers in groups if set(numbers) <= set(local))
            group = self.group_of(mine)
            handle = mpi.Comm_create(old.handle, group)
            self.give(next((new for new in made if new.mine), None), handle)
            mpi.Group_free(mpi.inout(group))
        return made

    def create_group(self, old):
        if old.remote is not None:
            return []
        chosen = self.random.sample(old.members, self.random.randint(1, len(old.members)))
        new, tag = Comm(chosen), self.random.randint(0, 100)
        if new.mine:
            group = self.group_of(chosen)
            new.handle = mpi.Comm_create_group(old.handle, group, tag)
            mpi.Group_free(mpi.inout(group))
        return [new]

    def split_type(self, old):
        if old.remote is not None:
            return []
        keys = {number: self.random.randint(0, 3) for number in range(mpi.size)}
        ordered = sorted(old.members, key=lambda number: (keys[number], old.members.index(number)))
        on_host = {}
        for number in ordered:
            on_host.setdefault(self.hosts[number], []).append(number)
        made = [Comm(members) for _, members in sorted(on_host.items())]
        if old.mine:
            handle = mpi.Comm_split_type(old.handle, mpi.COMM_TYPE_SHARED, keys[mpi.rank], mpi.INFO_NULL)
            self.give(next(new for new in made if new.mine), handle)
        return made

    def cart(self, old):
        if old.remote is not None:
            return []
        n, dims = len(old.members), []
        for _ in range(self.random.randint(1, 3)):
            dims.append(1 + int(self.random.random() * n))
            n //= dims[-1]
        count = 1
        for dim in dims:
            count *= dim
        periods = [self.random.randint(0, 1) for _ in range(3)][: len(dims)]
        new = Comm(old.members[:count], topology=("cart", dims, periods))
        if old.mine:
            self.give(new, mpi.Cart_create(old.handle, len(dims), dims, periods, 0))
        return [new]

    def cart_sub(self, old):
        if not old.topology or old.topology[0] != "cart":
            return []
        _, dims, periods = old.topology
        remain = [self.random.randint(0, 1) for _ in range(3)][: len(dims)]
        parts = {}
        for rank, number in enumerate(old.members):
            coords = coordinates(rank, dims)
            parts.setdefault(tuple(c for c, keep in zip(coords, remain, strict=True) if not keep), []).append(
                number
            )
        kept = [[d for d, keep in zip(row, remain, strict=True) if keep] for row in (dims, periods)]
        made = [Comm(part, topology=("cart", *kept)) for part in parts.values()]
        if old.mine:
            handle = mpi.Cart_sub(old.handle, remain)
            self.give(next(new for new in made if new.mine), handle)
        return made

    def graph(self, old):
        if old.remote is not None:
            return []
        n = 1 + int(self.random.random() * len(old.members))
        edges = [[int(self.random.random() * n) for _ in range(self.random.randint(0, 3))] for _ in range(n)]
        new = Comm(old.members[:n], topology=("graph", edges))
        if old.mine:
            index = [sum(map(len, edges[: i + 1])) for i in range(n)]
            flat = [edge for row in edges for edge in row]
            self.give(new, mpi.Graph_create(old.handle, n, index, flat, 0))
        return [new]

    def dist_graph(self, old):
        """Every process names the edges that leave some other process; the order of neighbours is then
        open.
        """
        if old.remote is not None:
            return []
        n = len(old.members)
        given = []  # (who gives it, source, target, weight)
        for giver in range(n):
            for _ in range(self.random.randint(0, 3)):
                given.append(
                    (giver, int(self.random.random() * n), int(self.random.random() * n), len(given))
                )
        new = Comm(old.members, topology=("dist", [edge[1:] for edge in given]))
        if old.mine:
            mine = [edge for edge in given if edge[0] == old.members.index(mpi.rank)]
            columns = [[edge[i] for edge in mine] for i in (1, 2, 3)]
            new.handle = mpi.Dist_graph_create(
                old.handle, len(mine), columns[0], [1] * len(mine), columns[1], columns[2], mpi.INFO_NULL, 0
            )
        return [new]

    def intercomm(self, old):
        others = [
            comm for comm in self.live if comm.remote is None and not set(comm.members) & set(old.everybody)
        ]
        if old.remote is not None or not others:
            return []
        other = others[int(self.random.random() * len(others))]
        new = Comm(old.members, other.members)
        leaders = [int(self.random.random() * len(comm.members)) for comm in (old, other)]
        tag = self.random.randint(0, 50)
        for local, remote, mine, theirs in ((old, other, *leaders), (other, old, *leaders[::-1])):
            if local.mine:
                new.handle = mpi.Intercomm_create(
                    local.handle, mine, mpi.COMM_WORLD, remote.members[theirs], tag
                )
        return [new]

    def merge(self, old):
        if old.remote is None:
            return []
        high = self.random.random() < 0.5
        first, second = (old.remote, old.members) if high else (old.members, old.remote)
        new = Comm(first + second)
        if old.mine:
            new.handle = mpi.Intercomm_merge(old.handle, int((mpi.rank in old.members) == high))
        return [new]

    # ---- the rest of what is done to them ----

    def free(self, comm):
        self.live.remove(comm)
        way = self.random.random()
        self.tag += 1
        if not comm.mine:
            return
        self.deletes += len(comm.attributes)
        pending = self.start_messages(comm) if way < 0.3 else None  # they end normally (MPI 7.4.3)
        handle = mpi.inout(comm.handle)
        (mpi.Comm_disconnect if 0.3 <= way < 0.6 else mpi.Comm_free)(handle)
        assert handle.value == mpi.COMM_NULL
        if pending:
            self.finish_messages([pending])

    def attribute(self, comm):
        key, value = self.random.choice([self.keys.none, self.keys.grows]), self.random.randint(1, 999)
        remove = self.random.random() < 0.2
        if remove and key in comm.attributes:
            del comm.attributes[key]
            if comm.mine:
                mpi.Comm_delete_attr(comm.handle, key)
                self.deletes += 1
        elif not remove:
            if comm.mine:
                self.deletes += key in comm.attributes
                mpi.Comm_set_attr(comm.handle, key, value)
            comm.attributes[key] = value

    def start_messages(self, comm):
        """To the next one of the ring (of the remote group, from where the own rank points to)."""
        local, remote = comm.seen_by(mpi.rank)
        rank, peers = local.index(mpi.rank), local if remote is None else remote
        out = (ctypes.c_int * 2)(comm.number, mpi.rank)
        target = (rank + 1) % len(peers)
        sources = [other for i, other in enumerate(peers) if (i + 1) % len(local) == rank]
        requests = [mpi.Isend(out, 2, mpi.INT, target, self.tag, comm.handle)]
        boxes = [(ctypes.c_int * 2)() for _ in sources]
        for box in boxes:
            requests.append(mpi.Irecv(box, 2, mpi.INT, mpi.ANY_SOURCE, self.tag, comm.handle))
        return comm, sources, requests, boxes, out

    def finish_messages(self, started):
        self.noise.shuffle(started)
        for comm, sources, requests, boxes, _ in started:
            mpi.Waitall(len(requests), (mpi.handle * len(requests))(*requests), mpi.statuses(len(requests)))
            assert sorted(box[1] for box in boxes) == sorted(sources), "a message came from another rank"
            assert all(box[0] == comm.number for box in boxes), "a message of another communicator"

    def talk(self):
        """Messages and collectives on all communicators at the same time."""
        self.tag += 1
        mine = [comm for comm in self.live if comm.mine]
        started = [self.start_messages(comm) for comm in self.noise.sample(mine, len(mine))]
        sums = []
        for comm in mine:
            source, target = ctypes.c_int(mpi.rank + 1), ctypes.c_int()
            request = mpi.Iallreduce(
                ctypes.byref(source), ctypes.byref(target), 1, mpi.INT, mpi.SUM, comm.handle
            )
            sums.append((comm, request, source, target))
        self.finish_messages(started)
        for comm, request, _, target in self.noise.sample(sums, len(sums)):
            mpi.Wait(mpi.inout(request))
            local, remote = comm.seen_by(mpi.rank)
            assert target.value == sum(number + 1 for number in remote or local)


def coordinates(rank, dims):
    out = []
    for dim in reversed(dims):
        out.insert(0, rank % dim)
        rank //= dim
    return out


# ---- what MPI must say of a communicator -------------------------------------------------------------------


def numbers_in(group, world_group):
    size = mpi.Group_size(group)
    out = (ctypes.c_int * max(size, 1))()
    mpi.Group_translate_ranks(group, size, list(range(size)), world_group, out)
    mpi.Group_free(mpi.inout(group))
    return list(out)[:size]


def check_comm(tree, comm):
    local, remote = comm.seen_by(mpi.rank)
    handle = comm.handle
    assert mpi.Comm_size(handle) == len(local), f"{comm.maker}: {mpi.Comm_size(handle)} ranks, not {local}"
    assert mpi.Comm_rank(handle) == local.index(mpi.rank)
    assert numbers_in(mpi.Comm_group(handle), tree.world_group) == local
    assert bool(mpi.Comm_test_inter(handle)) == (remote is not None)
    if remote is not None:
        assert mpi.Comm_remote_size(handle) == len(remote)
        assert numbers_in(mpi.Comm_remote_group(handle), tree.world_group) == remote
    for key in (tree.keys.none, tree.keys.grows):
        value = ctypes.c_void_p()
        flag = mpi.Comm_get_attr(handle, key, value)
        assert bool(flag) == (key in comm.attributes)
        assert not flag or value.value == comm.attributes[key]
    check_topology(comm)


def check_topology(comm):
    kinds = {None: mpi.UNDEFINED, "cart": mpi.CART, "graph": mpi.GRAPH, "dist": mpi.DIST_GRAPH}
    kind = comm.topology[0] if comm.topology else None
    assert mpi.Topo_test(comm.handle) == kinds[kind]
    if kind == "cart":
        check_cart(comm)
    elif kind == "graph":
        edges = comm.topology[1]
        assert mpi.Graphdims_get(comm.handle) == (len(edges), sum(map(len, edges)))
        for rank, row in enumerate(edges):
            assert mpi.Graph_neighbors_count(comm.handle, rank) == len(row)
            out = (ctypes.c_int * max(len(row), 1))()
            mpi.Graph_neighbors(comm.handle, rank, len(row), out)
            assert list(out)[: len(row)] == row
    elif kind == "dist":
        rank = comm.members.index(mpi.rank)
        into = sorted((source, weight) for source, target, weight in comm.topology[1] if target == rank)
        out = sorted((target, weight) for source, target, weight in comm.topology[1] if source == rank)
        assert mpi.Dist_graph_neighbors_count(comm.handle) == (len(into), len(out), 1)
        arrays = [(ctypes.c_int * max(n, 1))() for n in (len(into), len(into), len(out), len(out))]
        mpi.Dist_graph_neighbors(comm.handle, len(into), *arrays[:2], len(out), *arrays[2:])
        assert sorted(zip(arrays[0], arrays[1], strict=True))[-len(into) :] == into or not into
        assert sorted(zip(arrays[2], arrays[3], strict=True))[-len(out) :] == out or not out


def check_cart(comm):
    _, dims, periods = comm.topology
    n, rank = len(dims), comm.members.index(mpi.rank)
    assert mpi.Cartdim_get(comm.handle) == n
    rows = [(ctypes.c_int * max(n, 1))() for _ in range(3)]
    mpi.Cart_get(comm.handle, n, *rows)
    assert [list(row)[:n] for row in rows] == [dims, periods, coordinates(rank, dims)]
    for other in range(len(comm.members)):
        coords = (ctypes.c_int * max(n, 1))()
        mpi.Cart_coords(comm.handle, other, n, coords)
        assert list(coords)[:n] == coordinates(other, dims)
        assert mpi.Cart_rank(comm.handle, coords) == other
    for direction in range(n):
        for step in (-2, -1, 1, 3):
            expected = []
            for sign in (-1, 1):
                there = coordinates(rank, dims)
                there[direction] += sign * step
                if periods[direction]:
                    there[direction] %= dims[direction]
                inside = 0 <= there[direction] < dims[direction]
                number = 0
                for coordinate, dim in zip(there, dims, strict=True):
                    number = number * dim + coordinate
                expected.append(number if inside else mpi.PROC_NULL)
            assert mpi.Cart_shift(comm.handle, direction, step) == tuple(expected)


def check_compare(tree):
    """Every pair that this rank is in both of."""
    mine = [comm for comm in tree.live if comm.mine]
    for first in mine:
        for second in mine:
            assert mpi.Comm_compare(first.handle, second.handle) == comparison(first, second)


def comparison(first, second):
    if first is second:
        return mpi.IDENT
    if (first.remote is None) != (second.remote is None):
        return mpi.UNEQUAL
    pairs = [
        (a, b)
        for a, b in zip(first.seen_by(mpi.rank), second.seen_by(mpi.rank), strict=True)
        if a is not None
    ]
    if all(a == b for a, b in pairs):
        return mpi.CONGRUENT
    return mpi.SIMILAR if all(sorted(a) == sorted(b) for a, b in pairs) else mpi.UNEQUAL


# ---- groups: a local affair
# ----------------------------------------------------------------------------------


def check_groups(tree, random):
    everybody = list(range(mpi.size))
    pairs = []
    for _ in range(4):
        numbers = random.sample(everybody, random.randint(0, mpi.size))
        pairs.append((tree.group_of(numbers), numbers))
    for group, numbers in pairs:
        for other, others in pairs:
            both = [
                (mpi.Group_union, numbers + [n for n in others if n not in numbers]),
                (mpi.Group_intersection, [n for n in numbers if n in others]),
                (mpi.Group_difference, [n for n in numbers if n not in others]),
            ]
            for function, expected in both:
                assert numbers_in(function(group, other), tree.world_group) == expected
            same = (
                mpi.IDENT
                if numbers == others
                else mpi.SIMILAR
                if set(numbers) == set(others)
                else mpi.UNEQUAL
            )
            assert mpi.Group_compare(group, other) == same
            out = (ctypes.c_int * max(len(numbers), 1))()
            mpi.Group_translate_ranks(group, len(numbers), list(range(len(numbers))), other, out)
            expected = [others.index(n) if n in others else mpi.UNDEFINED for n in numbers]
            assert list(out)[: len(numbers)] == expected
        ranks = random.sample(range(len(numbers)), random.randint(0, len(numbers)))
        excluded = mpi.Group_excl(group, len(ranks), ranks)
        rest = [n for i, n in enumerate(numbers) if i not in ranks]
        assert numbers_in(excluded, tree.world_group) == rest
        check_ranges(tree, random, group, numbers)
    for group, _ in pairs:
        mpi.Group_free(mpi.inout(group))


def check_ranges(tree, random, group, numbers):
    if not numbers:
        return
    first, stride = random.randrange(len(numbers)), random.choice([-2, -1, 1, 2, 3])
    chosen = list(range(first, len(numbers) if stride > 0 else -1, stride))
    triple = [(first, chosen[-1], stride)]
    included = mpi.Group_range_incl(group, 1, triple)
    assert numbers_in(included, tree.world_group) == [numbers[i] for i in chosen]
    excluded = mpi.Group_range_excl(group, 1, triple)
    rest = [n for i, n in enumerate(numbers) if i not in chosen]
    assert numbers_in(excluded, tree.world_group) == rest


MAKERS = """dup dup split split create create_group split_type cart cart_sub graph dist_graph intercomm
    intercomm merge"""


def one_round(random, number):
    tree = Tree(random)
    count = 0
    for _ in range(random.randint(8, 25)):
        what = random.random()
        if what < 0.15 and tree.live or len(tree.live) > LIVE_MAX:
            tree.free(random.choice(tree.live))
        elif what < 0.3 and tree.live:
            tree.attribute(random.choice(tree.live))
        elif what < 0.4:
            tree.talk()
        else:
            old, maker = random.choice([tree.world, *tree.live, *tree.live]), random.choice(MAKERS.split())
            for new in getattr(tree, maker)(old):
                new.number, new.maker, count = count, maker, count + 1
                tree.live.append(new)
                if new.mine:
                    check_comm(tree, new)
    check_compare(tree)
    check_groups(tree, random)
    tree.talk()
    for comm in tree.live:
        if comm.mine:
            check_comm(tree, comm)
    while tree.live:
        tree.free(random.choice(tree.live))
    assert (tree.keys.copies, tree.keys.deletes) == (tree.copies, tree.deletes)
    tree.keys.free()
    mpi.Group_free(mpi.inout(tree.world_group))


if __name__ == "__main__":
    run_rounds(one_round)
