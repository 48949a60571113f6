"""Random communicators as the oracles see them: who is in them, by the numbers in MPI_COMM_WORLD."""

import ctypes

from mpi import MPI as mpi


class Place:
    """A communicator as the oracle sees it: the members' numbers in the world."""

    def __init__(self, handle, local, remote=None, sources=None, targets=None, parts=None):
        self.handle, self.local, self.remote = handle, local, remote
        self.me, self.rank = mpi.rank, local.index(mpi.rank)
        self.session = None  # that it was made in
        self.peers = remote or local
        self.edges = sources is not None
        self.parts = parts or [self.local]  # whose union is everybody: whom each can talk to
        self.sources, self.targets = (
            sources,
            targets,
        )  # (number, which edge between the two) of each neighbour

    def free(self):
        mpi.Comm_free(mpi.inout(self.handle))
        if self.session is not None:
            mpi.Session_detach_buffer(self.session, ctypes.byref(ctypes.c_void_p()))
            mpi.Session_finalize(mpi.inout(self.session))

    def members_for(self, number):
        """Whom process `number` of the world can send to on its communicator of this place."""
        if self.remote:
            return self.remote if number in self.local else self.local
        return next(part for part in self.parts if number in part)


def make_places(random):
    world, rank, size = mpi.COMM_WORLD, mpi.rank, mpi.size
    everybody = list(range(size))
    places = [Place(mpi.Comm_dup(world), everybody)]
    shuffled = random.sample(everybody, size)
    places.append(Place(mpi.Comm_split(world, 0, shuffled.index(rank)), shuffled))
    parts = random.randint(1, min(3, size))
    split = [[other for other in everybody if other % parts == part] for part in range(parts)]
    handle = mpi.Comm_split(world, rank % parts, rank)
    places.append(Place(handle, split[rank % parts], parts=split))
    if size > 1:
        cut = random.randint(1, size - 1)
        low, high = everybody[:cut], everybody[cut:]
        own, other = (low, high) if rank < cut else (high, low)
        local = mpi.Comm_split(world, rank < cut, rank)
        inter = mpi.Intercomm_create(local, 0, world, other[0], 5)
        mpi.Comm_free(mpi.inout(local))
        places.append(Place(inter, own, remote=other))
    places.append(graph_place(random, everybody))
    places.append(grid_place(random, everybody))
    if random.random() < 0.3:
        places.append(session_place(random, everybody))
    return places


def session_place(random, everybody):
    """Without the world: a session's own communicator, sometimes between two groups."""
    session = mpi.Session_init(mpi.INFO_NULL, mpi.ERRORS_RETURN)
    mpi.Session_attach_buffer(session, mpi.BUFFER_AUTOMATIC, 0)
    world = mpi.Group_from_session_pset(session, "mpi://WORLD")
    shuffled = random.sample(everybody, len(everybody))
    cut = int(random.random() * len(shuffled))  # 0: one group
    own, other = shuffled[:cut], shuffled[cut:]
    if mpi.rank in other:
        own, other = other, own
    groups = [mpi.Group_incl(world, len(numbers), numbers) for numbers in (own, other)]
    if cut == 0:
        handle = mpi.Comm_create_from_group(groups[0], "a place", mpi.INFO_NULL, mpi.ERRORS_RETURN)
    else:
        words = (groups[0], 0, groups[1], 0, "a place", mpi.INFO_NULL, mpi.ERRORS_RETURN)
        handle = mpi.Intercomm_create_from_groups(*words)
    for one in (world, *groups):
        mpi.Group_free(mpi.inout(one))
    place = Place(handle, own, remote=other or None)
    place.session = session
    return place


def graph_place(random, everybody):
    """A random graph, with edges that are there twice, edges to oneself, and processes without any."""
    targets = [random.choices(everybody, k=random.randint(0, 4)) for _ in everybody]
    sources = [sorted(s for s in everybody for t in targets[s] if t == me) for me in everybody]
    for row in sources:
        random.shuffle(row)

    def counted(row):
        return [(number, row[:i].count(number)) for i, number in enumerate(row)]

    mine_in, mine_out = sources[mpi.rank], targets[mpi.rank]
    handle = mpi.Dist_graph_create_adjacent(
        mpi.COMM_WORLD, len(mine_in), mine_in, [1] * len(mine_in), len(mine_out), mine_out,
        [1] * len(mine_out), mpi.INFO_NULL, 0,
    )  # fmt: skip
    return Place(handle, everybody, sources=counted(mine_in), targets=counted(mine_out))


def grid_place(random, everybody):
    """A grid, some of whose dimensions close: what goes down arrives from above (MPI 8.6)."""
    size = len(everybody)
    dims = (ctypes.c_int * 2)(0, random.choice([d for d in (1, 2, 3) if size % d == 0]))
    mpi.Dims_create(size, 2, dims)
    periods = [random.randint(0, 1), random.randint(0, 1)]
    handle = mpi.Cart_create(mpi.COMM_WORLD, 2, list(dims), periods, 0)
    here = [mpi.rank // dims[1], mpi.rank % dims[1]]
    sources, targets = [], []
    for dimension in range(2):
        for step in (-1, 1):
            there = list(here)
            there[dimension] += step
            if periods[dimension]:
                there[dimension] %= dims[dimension]
            inside = 0 <= there[dimension] < dims[dimension]
            number = there[0] * dims[1] + there[1] if inside else None
            sources.append((number, (dimension, step)))
            targets.append((number, (dimension, -step)))
    return Place(handle, everybody, sources=sources, targets=targets)
