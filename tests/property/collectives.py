"""One round: a random sequence of collectives on several communicators, many of them under way at a time.

All ranks draw the same plan from the seed, and each computes from it what it must receive, serially. An
operation is blocking, nonblocking or persistent (and then started again later on); completion comes in an
order of each rank's own. Intracommunicators, intercommunicators, grids and graphs; MPI_IN_PLACE; layouts
with gaps that differ from rank to rank; predefined and user operations, also such as do not commute.
"""

import ctypes
import random as random_module

from blocks import Layouts, mixed, regular, scattered
from mpi import MPI as mpi
from mpi import run_rounds
from places import make_places

PRIME = 32003
COUNTS = [0, 1, 1, 2, 3, 7, 16, 50, 200, 1000, 3000]
ELEMENTS_MAX = 6000


def values(seed, source, target, count, width):
    """What `source` sends to `target`: elements that name both, and their place."""
    base = seed * 7919 + source * 101 + target * 1009
    return [tuple((base + i * 17 + k * 3) % PRIME for k in range(width)) for i in range(count)]


# ---- reductions ----------------------------------------------------------------------------------------


def affine(first, second):
    """x -> a x + b, one after the other: associative, and does not commute."""
    return (first[0] * second[0] % PRIME, (first[0] * second[1] + first[1]) % PRIME)


OPERATIONS = {  # name: (width, function of two elements, commutes; None: predefined)
    "SUM": (1, lambda x, y: (x[0] + y[0],), None),
    "MAX": (1, max, None),
    "MIN": (1, min, None),
    "BXOR": (1, lambda x, y: (x[0] ^ y[0],), None),
    "BAND": (1, lambda x, y: (x[0] & y[0],), None),
    "LOR": (1, lambda x, y: (int(bool(x[0] or y[0])),), None),
    "MINLOC": (2, min, None),
    "MAXLOC": (2, lambda x, y: x if (x[0], -x[1]) >= (y[0], -y[1]) else y, None),
    "affine": (2, affine, 0),
    "second": (1, lambda x, y: y, 0),
    "product": (1, lambda x, y: (x[0] * y[0] % PRIME,), 1),
}
USER_FUNCTION = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p
)
USER_FUNCTION_C = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
)


class Operations:
    """MPI's operations, and for each layout the user's; freed by free()."""

    def __init__(self):
        self.made, self.keep = {}, []

    def get(self, name, layout):
        _, function, commutes = OPERATIONS[name]
        if commutes is None:
            return getattr(mpi, name)
        key = (name, layout.handle)
        if key not in self.made:
            wide = len(self.made) % 2 == 1
            callback = (USER_FUNCTION_C if wide else USER_FUNCTION)(self.loop(function, layout))
            self.keep.append(callback)
            self.made[key] = (mpi.Op_create_c if wide else mpi.Op_create)(callback, commutes)
        return self.made[key]

    @staticmethod
    def loop(function, layout):
        at = ctypes.c_int.from_address

        def run(first, second, length, _):
            for i in range(length[0]):
                base = i * layout.extent
                x = tuple(at(first + base + offset).value for offset in layout.offsets)
                y = tuple(at(second + base + offset).value for offset in layout.offsets)
                for offset, value in zip(layout.offsets, function(x, y), strict=True):
                    at(second + base + offset).value = value

        return run

    def free(self):
        for handle in self.made.values():
            mpi.Op_free(mpi.inout(handle))
        self.made.clear()


def reduced(name, contributions):
    function = OPERATIONS[name][1]
    result = contributions[0]
    for other in contributions[1:]:
        result = [function(x, y) for x, y in zip(result, other, strict=True)]
    return result


# ---- the operations: what goes out, what must come in ------------------------------------------------------


class Collective:
    """One operation of the plan. `random` draws the same on all ranks, so each choice is made for all."""

    def __init__(self, random, name, place, tools):
        self.random, self.name, self.place = random, name, place
        self.layouts, self.operations = tools
        self.n, self.members = len(place.local), len(place.local) + len(place.remote or [])
        self.width = random.choice([1, 2])
        most = ELEMENTS_MAX // max(self.members, 1)
        fitting = [count for count in COUNTS if count <= most]
        self.count = fitting[int(random.random() * len(fitting))]  # one draw, however many there are
        self.in_place = not place.remote and not place.edges and random.random() < 0.3
        self.everybody = sorted(place.local + (place.remote or []))
        # Drawn for all processes of the world in turn, so that the parts of a split draw alike.
        self.counts = [
            random.choice([0, 1, 2, 5, 40]) if random.random() < 0.7 else 0 for _ in range(mpi.size)
        ]
        self.layout_of = [[random.randrange(4), random.randrange(4)] for _ in range(mpi.size)]
        self.root_draw = random.random()
        self.op = random.choice(list(OPERATIONS))
        self.noise = random_module.Random(random.random() + mpi.rank)  # displacements: each rank's own
        self.send, self.receive = None, None

    def layout(self, side):
        return self.layouts.by_width[self.width][self.layout_of[mpi.rank][side]]

    def choose_root(self):
        """Sets the root, its argument here, and the ranks that talk to it."""
        place = self.place
        if place.remote is None:
            self.root = place.local[int(self.root_draw * self.n)]
            self.at_root, self.talks = self.root == place.me, True
            self.partners = place.local
            return place.local.index(self.root)
        self.root = self.everybody[int(self.root_draw * self.members)]
        self.at_root, self.talks = self.root == place.me, self.root in place.remote
        self.partners = place.remote
        if self.at_root:
            return mpi.ROOT
        return place.remote.index(self.root) if self.talks else mpi.PROC_NULL

    def data(self, seed, source, target=0, count=None):
        return values(seed, source, target, self.count if count is None else count, self.width)

    # Each plan_* gives the arguments up to the communicator and sets self.out(seed), self.into(seed): the
    # blocks that are sent, and those that must arrive, of self.send and self.receive; self.before(seed):
    # what the receive buffer holds at first.

    def plan_barrier(self):
        return []

    def plan_bcast(self):
        root = self.choose_root()
        side = regular(self.layout(0), self.count, 1)
        if self.at_root:
            self.send, self.out = side, lambda seed: [self.data(seed, self.root)]
        elif self.talks:
            self.receive, self.into = side, lambda seed: [self.data(seed, self.root)]
        return [side.address, self.count, self.layout(0).handle, root]

    def plan_gather(self, vector=False):
        root, me = self.choose_root(), self.place.me
        count = self.counts[me] if vector else self.count
        arguments = [None, 0, mpi.INT]
        if self.talks and not (self.at_root and self.in_place):
            self.send = regular(self.layout(0), count, 1)
            self.out = lambda seed: [self.data(seed, me, 0, count)]
            arguments = [self.send.address, count, self.layout(0).handle]
        elif self.at_root and self.in_place:
            arguments[0] = mpi.IN_PLACE
        if not self.at_root:
            return [*arguments, None, *([None, None] if vector else [0]), mpi.INT, root]
        counts = [self.counts[other] if vector else self.count for other in self.partners]
        pieces = list(zip(self.partners, counts, strict=True))
        where = self.receiving(counts, vector)
        self.into = lambda seed: [self.data(seed, other, 0, n) for other, n in pieces]
        if self.in_place:
            self.before = lambda seed: [
                self.data(seed, me, 0, n) if other == me else None for other, n in pieces
            ]
        return [*arguments, *where, root]

    def receiving(self, counts, vector):
        """Makes the receive side; gives its arguments."""
        layout = self.layout(1)
        if not vector:
            self.receive = regular(layout, self.count, len(counts))
            return [self.receive.address, self.count, layout.handle]
        self.receive, displacements = scattered(self.noise, layout, counts)
        return [self.receive.address, counts, displacements, layout.handle]

    def plan_gatherv(self):
        return self.plan_gather(vector=True)

    def plan_scatter(self, vector=False):
        root, me = self.choose_root(), self.place.me
        count = self.counts[me] if vector else self.count
        first = [None, *([None, None] if vector else [0]), mpi.INT]
        if self.at_root:
            counts = [self.counts[other] if vector else self.count for other in self.partners]
            layout = self.layout(0)
            self.out = lambda seed: [
                self.data(seed, me, other, n) for other, n in zip(self.partners, counts, strict=True)
            ]
            if vector:
                self.send, displacements = scattered(self.noise, layout, counts)
                first = [self.send.address, counts, displacements, layout.handle]
            else:
                self.send = regular(layout, count, len(counts))
                first = [self.send.address, count, layout.handle]
        if self.at_root and self.in_place:
            return [*first, mpi.IN_PLACE, 0, mpi.INT, root]
        if not self.talks:
            return [*first, None, 0, mpi.INT, root]
        self.receive = regular(self.layout(1), count, 1)
        self.into = lambda seed: [self.data(seed, self.root, me, count)]
        return [*first, self.receive.address, count, self.layout(1).handle, root]

    def plan_scatterv(self):
        return self.plan_scatter(vector=True)

    def plan_allgather(self, vector=False):
        me, peers = self.place.me, self.place.peers
        counts = [self.counts[other] if vector else self.count for other in peers]
        pieces = list(zip(peers, counts, strict=True))
        count = self.counts[me] if vector else self.count
        arguments = [mpi.IN_PLACE, 0, mpi.INT]
        if not self.in_place:
            self.send = regular(self.layout(0), count, 1)
            self.out = lambda seed: [self.data(seed, me, 0, count)]
            arguments = [self.send.address, count, self.layout(0).handle]
        else:
            self.before = lambda seed: [
                self.data(seed, me, 0, n) if other == me else None for other, n in pieces
            ]
        arguments += self.receiving(counts, vector)
        self.into = lambda seed: [self.data(seed, other, 0, n) for other, n in pieces]
        return arguments

    def plan_allgatherv(self):
        return self.plan_allgather(vector=True)

    def between(self, source, target):
        """How many elements go from one to the other in the v and w forms of alltoall; symmetric in place."""
        if self.in_place:
            source, target = min(source, target), max(source, target)
        return (self.counts[source] + 3 * self.counts[target]) % 23

    def plan_alltoall(self, form=""):
        me, peers = self.place.me, self.place.peers
        plain = form == ""
        outgoing = [self.count if plain else self.between(me, other) for other in peers]
        incoming = [self.count if plain else self.between(other, me) for other in peers]
        first = self.side("send", 0, outgoing, form)
        second = self.side("receive", 1, incoming, form)
        self.out = lambda seed: [
            self.data(seed, me, other, n) for other, n in zip(peers, outgoing, strict=True)
        ]
        self.into = lambda seed: [
            self.data(seed, other, me, n) for other, n in zip(peers, incoming, strict=True)
        ]
        if self.in_place:
            self.send, self.before = None, self.out
            first = [mpi.IN_PLACE, *([None] * (len(first) - 2)), None if form == "w" else mpi.INT]
            first = [mpi.IN_PLACE, 0, mpi.INT] if plain else first
        return [*first, *second]

    def side(self, which, index, counts, form):
        """A side with a block for each peer, plain or in the form v or w; gives its arguments."""
        layout = self.layout(index)
        if form == "":
            made = regular(layout, self.count, len(counts))
            arguments = [made.address, self.count, layout.handle]
        elif form == "v":
            made, displacements = scattered(self.noise, layout, counts)
            arguments = [made.address, counts, displacements, layout.handle]
        else:
            layouts = [self.noise.choice(self.layouts.by_width[self.width]) for _ in counts]
            made = mixed(self.noise, layouts, counts)
            arguments = [made.address, counts, made.places, [each.handle for each in layouts]]
        setattr(self, which, made)
        return arguments

    def plan_alltoallv(self):
        return self.plan_alltoall("v")

    def plan_alltoallw(self):
        return self.plan_alltoall("w")

    def plan_neighbor_allgather(self, vector=False):
        me = self.place.me
        count = self.counts[me] if vector else self.count
        self.send = regular(self.layout(0), count, 1)
        self.out = lambda seed: [self.data(seed, me, 0, count)]
        sources = self.place.sources
        counts = [0 if other is None and vector else self.counts[other] if vector else self.count
                  for other, _ in sources]  # fmt: skip
        where = self.receiving(counts, vector)
        self.into = lambda seed: [
            None if other is None else self.data(seed, other, 0, n)
            for (other, _), n in zip(sources, counts, strict=True)
        ]
        return [self.send.address, count, self.layout(0).handle, *where]

    def plan_neighbor_allgatherv(self):
        return self.plan_neighbor_allgather(vector=True)

    def plan_neighbor_alltoall(self, form=""):
        me, sources, targets = self.place.me, self.place.sources, self.place.targets

        def amount(source, target):
            if source is None or target is None:
                return 0 if form else self.count
            return self.count if form == "" else (self.counts[source] + 3 * self.counts[target]) % 23

        def piece(seed, source, target, edge, n):
            return self.data(seed + hash(edge) % 1000, source, target, n)

        outgoing = [amount(me, other) for other, _ in targets]
        incoming = [amount(other, me) for other, _ in sources]
        first = self.side("send", 0, outgoing, form)
        second = self.side("receive", 1, incoming, form)
        self.out = lambda seed: [
            None if other is None else piece(seed, me, other, edge, n)
            for (other, edge), n in zip(targets, outgoing, strict=True)
        ]
        self.into = lambda seed: [
            None if other is None else piece(seed, other, me, edge, n)
            for (other, edge), n in zip(sources, incoming, strict=True)
        ]
        return [*first, *second]

    def plan_neighbor_alltoallv(self):
        return self.plan_neighbor_alltoall("v")

    def plan_neighbor_alltoallw(self):
        return self.plan_neighbor_alltoall("w")

    # Reductions: the same layout everywhere, because the user's function is told of one type.

    def reduction(self):
        self.width, _, commutes = OPERATIONS[self.op]
        which = 0 if commutes is None else self.layout_of[0][0]
        layout = self.layouts.by_width[self.width][which]
        return layout, self.operations.get(self.op, layout)

    def reduction_sides(self, layout, count, received, gets_result):
        """The two buffers of a reduction and their contents; `received` elements of it arrive here."""
        me = self.place.me
        if self.in_place and gets_result:
            most = max(count, received)
            self.receive = regular(layout, most, 1)
            first = mpi.IN_PLACE
            self.before = lambda seed: [self.data(seed, me, 0, most)]
            rest = lambda seed: self.data(seed, me, 0, most)[received:]  # noqa: E731
        else:
            self.send = regular(layout, count, 1)
            self.out = lambda seed: [self.data(seed, me, 0, count)]
            first, rest = self.send.address, lambda seed: []
            self.receive = regular(layout, received, 1) if gets_result else None
        result = self.result
        if gets_result:
            self.into = lambda seed: [result(seed)[:received] + rest(seed)]
        return [first, self.receive.address if gets_result else None]

    def result(self, seed, givers=None, count=None):
        return reduced(self.op, [self.data(seed, giver, 0, count) for giver in givers or self.givers])

    def plan_reduce(self):
        layout, op = self.reduction()
        root = self.choose_root()
        self.givers = self.partners
        if self.place.remote and not self.talks:
            self.receive = regular(layout, self.count, 1) if self.at_root else None
            self.into = lambda seed: [self.result(seed)]
            address = self.receive.address if self.at_root else None
            return [None, address, self.count, layout.handle, op, root]
        sides = self.reduction_sides(layout, self.count, self.count, self.at_root)
        return [*sides, self.count, layout.handle, op, root]

    def plan_allreduce(self):
        layout, op = self.reduction()
        self.givers = self.place.peers
        return [*self.reduction_sides(layout, self.count, self.count, True), self.count, layout.handle, op]

    def plan_scan(self):
        layout, op = self.reduction()
        self.givers = self.place.local[: self.place.rank + 1]
        return [*self.reduction_sides(layout, self.count, self.count, True), self.count, layout.handle, op]

    def plan_exscan(self):
        layout, op = self.reduction()
        self.givers = self.place.local[: self.place.rank]
        sides = self.reduction_sides(layout, self.count, self.count, True)
        if not self.givers:
            self.into = self.before if self.in_place else lambda seed: [None]  # undefined: left alone here
        return [*sides, self.count, layout.handle, op]

    def plan_reduce_scatter(self):
        layout, op = self.reduction()
        place, remote = self.place, self.place.remote
        if remote:  # both groups give the same number of elements
            total = 60
            counts = [total // self.n] * self.n
            counts[-1] += total - sum(counts)
        else:
            counts = [self.counts[other] for other in place.local]
        return [*self.scatter_result(layout, counts), counts, layout.handle, op]

    def plan_reduce_scatter_block(self):
        layout, op = self.reduction()
        remote = self.place.remote
        count = min(self.count, 300) * (len(remote) if remote else 1)
        return [*self.scatter_result(layout, [count] * self.n), count, layout.handle, op]

    def scatter_result(self, layout, counts):
        total, mine = sum(counts), self.place.rank
        begin = sum(counts[:mine])
        self.givers = self.place.peers
        whole = self.result
        self.result = lambda seed: whole(seed, None, total)[begin : begin + counts[mine]]
        return self.reduction_sides(layout, total, counts[mine], True)

    # ---- running ----

    def prepare(self, seed):
        if self.send:
            self.send.set(self.out(seed))
        if self.receive:
            nothing = [None] * len(self.receive.counts)
            self.receive.set(self.before(seed) if hasattr(self, "before") else nothing)
        self.seed = seed

    def check(self):
        if self.receive and self.receive.memory != self.receive.image(self.into(self.seed)):
            raise AssertionError(f"{self.describe()}: wrong data arrived at rank {self.place.rank}")
        if self.send and self.send.memory != self.send.image(self.out(self.seed)):
            raise AssertionError(f"{self.describe()}: the send buffer was changed")

    def describe(self):
        place = self.place
        where = f"{len(place.local)}+{len(place.remote)}" if place.remote else str(self.n)
        return f"{self.call} on {where} ranks, count {self.count}, in place {self.in_place}, op {self.op}"

    def begin(self, way, seed):
        """way: blocking, nonblocking or persistent. Sets self.request of the latter two; the last one is
        started.
        """
        arguments = getattr(self, f"plan_{self.name}")()
        name = self.name[0].upper() + self.name[1:]
        self.call = {"blocking": name, "nonblocking": f"I{self.name}", "persistent": f"{name}_init"}[way]
        if self.random.random() < 0.3 and name != "Barrier":
            self.call += "_c"
        self.prepare(seed)
        tail = [self.place.handle, mpi.INFO_NULL] if way == "persistent" else [self.place.handle]
        result = getattr(mpi, self.call)(*arguments, *tail)
        self.request = None if way == "blocking" else mpi.inout(result)
        if way == "persistent":
            mpi.Start(self.request)
        self.is_persistent, self.active = way == "persistent", way != "blocking"

    def finish(self, noise):
        """Completes it in some way, and looks at the result."""
        if noise.random() < 0.5:
            mpi.Wait(self.request)
        else:
            while not mpi.Test(self.request)[0]:
                pass
        self.active = False
        self.check()


ALL = (
    "barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw".split()
)
REDUCTIONS = "reduce allreduce reduce_scatter reduce_scatter_block".split()
SCANS = ["scan", "exscan"]
NEIGHBORS = [f"neighbor_{name}" for name in "allgather allgatherv alltoall alltoallv alltoallw".split()]


def finish_some(pending, noise):
    """Completes some of what is under way, one by one or together, in an order of this rank's own."""
    active = [operation for operation in pending if operation.active]
    noise.shuffle(active)
    if active and noise.random() < 0.3:
        requests = (mpi.handle * len(active))(*[operation.request.value for operation in active])
        mpi.Waitall(len(active), requests, mpi.statuses(len(active)))
        for operation, request in zip(active, requests, strict=True):
            operation.request.value, operation.active = request, False
            operation.check()
        return
    for operation in active[: noise.randint(0, len(active))]:
        operation.finish(noise)


def one_round(random, number):
    places = make_places(random)
    tools = (Layouts(), Operations())
    noise = random_module.Random(random.random() + mpi.rank)
    pending = []
    for step in range(random.randint(8, 20)):
        again = [operation for operation in pending if operation.is_persistent]
        if again and random.random() < 0.3:  # a persistent one once more
            operation = random.choice(again)
            if operation.active:
                operation.finish(noise)
            if random.random() < 0.2:
                mpi.Request_free(operation.request)
                pending.remove(operation)
                continue
            operation.prepare(number * 100 + step)
            mpi.Start(operation.request)
            operation.active = True
        else:
            place = random.choice(places)
            names = (
                ALL + REDUCTIONS + (NEIGHBORS * 3 if place.edges else []) + ([] if place.remote else SCANS)
            )
            names = random.choice([names, NEIGHBORS]) if place.edges else names
            operation = Collective(random, random.choice(names), place, tools)
            way = random.choice(["blocking", "nonblocking", "nonblocking", "persistent"])
            operation.begin(way, number * 100 + step)
            if way == "blocking":
                operation.check()
            else:
                pending.append(operation)
        if noise.random() < 0.4:
            finish_some(pending, noise)
    for operation in noise.sample(pending, len(pending)):
        if operation.active:
            operation.finish(noise)
        if operation.is_persistent:
            mpi.Request_free(operation.request)
    for place in places:
        place.free()
    for tool in tools:
        tool.free()


if __name__ == "__main__":
    run_rounds(one_round)
