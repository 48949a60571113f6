"""Calls in which nothing is sent or received, and arguments that are not significant where they stand.

What is not significant is not looked at. Each scene below goes through all functions that it fits, from the
standard's description, with such arguments made NULL, negative, null handles or no handles at all: every call
must succeed on all ranks, and give the data that it should. What is significant with a count of 0 is refused
(REFUSED), as MPICH and Open MPI do. Prints what is wrong, then the number of calls.
"""

import ctypes
import re
import sys

import nothing_objects
from mpi import MPI as mpi

NOWHERE = 0x10  # an address at which nothing can be read
WILD = 0x12345678  # no handle
USER_FUNCTION = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)

ROOTED = "gather gatherv scatter scatterv reduce bcast".split()
ONE_GROUP = "scan exscan".split()  # not on an intercommunicator
BLOCKS_IN_PLACE = "allgather allgatherv alltoall alltoallv alltoallw gather gatherv scatter scatterv".split()


def plain(function):
    """MPI_Ialltoallv_init_c -> alltoallv."""
    name = re.sub("(_init)?(_c)?$", "", function.name).removeprefix("MPI_").lower()
    return re.sub("^i(?=neighbor|all|bar|bc|ex|ga|re|sc)", "", name)


def is_scatter(function):
    return plain(function).startswith("scatter")


def is_count(p):
    return "NUM_ELEM" in p.kind


def role(function, p):
    """Whether a parameter says what is sent, what is received, or both."""
    if p.name.startswith("send") or p.name == "sdispls" or (p.name == "displs" and is_scatter(function)):
        return "send"
    if p.name.startswith("recvcount") and plain(function).startswith("reduce_scatter"):
        return "both"
    if p.name.startswith("recv") or p.name in ("rdispls", "displs"):
        return "receive"
    return "both" if p.name in ("buffer", "count", "datatype", "op") else None


def garbage(p, wild):
    """What no call can use in this place."""
    if p.kind == "BUFFER":
        return NOWHERE
    if p.length is not None:
        return None
    if p.kind in ("DATATYPE", "OPERATION"):
        return WILD if wild else getattr(mpi, "DATATYPE_NULL" if p.kind == "DATATYPE" else "OP_NULL")
    return -7


class Place:
    """A communicator: how many blocks go out and come in there, and what this rank is to its root."""

    def __init__(self, comm, out, local=None, root=0, is_root=False, is_member=True):
        self.comm, self.out, self.local = comm, out, out if local is None else local
        self.root, self.is_root, self.is_member = root, is_root, is_member
        mpi.Comm_set_errhandler(comm, mpi.ERRORS_RETURN)


class World:
    def __init__(self):
        self.comm = mpi.Comm_dup(mpi.COMM_WORLD)
        self.size, self.rank = mpi.size, mpi.rank
        self.buffers = {}
        self.empty = mpi.Type_contiguous(0, mpi.INT)
        mpi.Type_commit(mpi.inout(self.empty))
        self.uncommitted = mpi.Type_contiguous(1, mpi.INT)
        self.function = USER_FUNCTION(lambda *_: None)
        self.op = mpi.Op_create(self.function, 1)
        ring = mpi.Cart_create(self.comm, 1, [self.size], [1], 0)
        nobody = (0, None, nothing_objects.unweighted())
        alone = mpi.Dist_graph_create_adjacent(self.comm, *nobody, *nobody, mpi.INFO_NULL, 0)
        self.places = {
            "intra": Place(self.comm, self.size, is_root=self.rank == 0),
            "ring": Place(ring, 2),
            "alone": Place(alone, 0),
        }
        if self.size > 1:
            self.places["inter"] = self.between_groups()

    def between_groups(self):
        """Even ranks and odd ones; rank 0 is the root, the odd ranks talk to it."""
        odd = self.rank % 2
        half = mpi.Comm_split(self.comm, odd, 0)
        comm = mpi.Intercomm_create(half, 0, self.comm, 1 - odd, 7)
        root = 0 if odd else mpi.ROOT if self.rank == 0 else mpi.PROC_NULL
        sizes = mpi.Comm_remote_size(comm), mpi.Comm_size(comm)
        return Place(comm, *sizes, root=root, is_root=self.rank == 0, is_member=odd == 1)

    def buffer(self, name):
        return mpi.address(self.buffers.setdefault(name, bytearray(4096)))

    def ints(self, name):
        return (ctypes.c_int * 1024).from_address(self.buffer(name))


class Case:
    """One call of a collective, before its arguments are made wrong."""

    def __init__(self, world, place, function):
        self.world, self.place, self.function = world, place, function

    def blocks(self, p):
        if role(self.function, p) == "both":
            return self.place.local
        return self.place.out

    def usual(self, p, count=1, datatype=None):
        """A good argument: `count` elements in each block."""
        datatype = mpi.INT if datatype is None else datatype
        n = self.blocks(p)
        if p.kind == "BUFFER":
            return self.world.buffer(p.name)
        if is_count(p):
            return count if p.length is None else [count] * n
        if p.name in ("sdispls", "rdispls", "displs"):
            return [i * (4 if plain(self.function).endswith("w") else 1) for i in range(n)]
        if p.kind == "DATATYPE":
            return datatype if p.length is None else [datatype] * n
        if p.kind == "OPERATION":
            return self.world.op if datatype == self.world.empty else mpi.SUM
        if p.kind == "REQUEST":
            return mpi.inout(mpi.REQUEST_NULL)
        return {"COMMUNICATOR": self.place.comm, "INFO": mpi.INFO_NULL, "RANK": self.place.root}[p.kind]

    def zero(self, p, datatype=None, count=0):
        return None if p.kind == "BUFFER" else self.usual(p, count, datatype)


def call(function, given):
    """Makes the call, and completes it. The error code."""
    arguments = [function.convert(p, value) for p, value in zip(function.parameters, given, strict=True)]
    code = function.raw(*arguments)
    values = zip(function.parameters, given, strict=True)
    request = next((value for p, value in values if p.kind == "REQUEST"), None)
    if code or request is None:
        return code
    is_persistent = function.base.endswith("_init")
    if is_persistent:
        code = mpi.Start.raw(ctypes.byref(request))
    if function.base == "MPI_Psend_init":
        mpi.Pready(0, request)
    code = code or mpi.Wait.raw(ctypes.byref(request), mpi.STATUS_IGNORE)
    if is_persistent:
        mpi.Request_free(request)
    return code


# ---- collectives: how a scene makes each argument ----------------------------------------------------------


def zero(case, p):
    return case.zero(p)


def empty_type(case, p):
    return case.zero(p, case.world.empty, 3)


def with_type(choose):
    return lambda case, p: case.zero(p, choose(case.world))


def far(case, p):
    return [10**8] * case.blocks(p) if "displs" in p.name else case.zero(p)


def not_root(wild):
    def value(case, p):
        side = "send" if is_scatter(case.function) else "receive"
        wrong = role(case.function, p) == side and not case.place.is_root
        return garbage(p, wild) if wrong else case.usual(p)

    return value


def in_place(wild):
    def value(case, p):
        here = case.place.is_root or plain(case.function) not in ROOTED
        if role(case.function, p) != ("receive" if is_scatter(case.function) else "send") or not here:
            return case.usual(p)
        return mpi.IN_PLACE if p.kind == "BUFFER" else garbage(p, wild)

    return value


def between_groups(wild):
    def value(case, p):
        part, place = role(case.function, p), case.place
        to_root = plain(case.function) in ("gather", "gatherv", "reduce")
        counts = {
            "send": place.is_member if to_root else place.is_root,
            "receive": place.is_root if to_root else place.is_member,
            "both": place.is_member or place.is_root,
            None: True,
        }[part]
        return case.usual(p) if counts else garbage(p, wild)

    return value


def next_of(case, sends):
    """The one block of alltoallw with data: to the next rank, from the last; between groups: of 0 and 1."""
    if case.place is case.world.places["ring"]:
        return 1 if sends else 0
    if case.place is case.world.places.get("inter"):
        return 0 if case.world.rank < 2 else None
    return (case.world.rank + (1 if sends else -1)) % case.world.size


def beside_zero(choose):
    def value(case, p):
        if p.length is None:
            return case.usual(p)
        peer = next_of(case, role(case.function, p) == "send")
        data, other = (mpi.INT, choose(case.world)) if p.kind == "DATATYPE" else (0, 10**8)
        if is_count(p):
            data, other = 1, 0
        return [data if i == peer else other for i in range(case.blocks(p))]

    return value


def one_way(case, p):
    sends = case.world.rank % 2 == 0
    return case.usual(p, count=int(sends == (role(case.function, p) == "send")))


def all_garbage(wild):
    return lambda case, p: garbage(p, wild) if role(case.function, p) else case.usual(p)


def null_op(case, p):
    return mpi.OP_NULL if p.kind == "OPERATION" else case.zero(p)


def null_type(world):
    return mpi.DATATYPE_NULL


def uncommitted(world):
    return world.uncommitted


def no_type(world):
    return WILD


def got_next(case):
    """Of beside_zero: whether the one block came."""
    rank, peer = case.world.rank, next_of(case, False)
    if peer is None:
        return True
    source = 1 - rank if case.place is case.world.places.get("inter") else (rank - 1) % case.world.size
    return case.world.ints("recvbuf")[0] == source + 1


ANY = ".*"
TOLERANT = "bcast|.*alltoallw|neighbor_(allgather|alltoall)|barrier"  # as MPICH is
W, V = ".*alltoallw", r".*(gatherv|scatterv|alltoall[vw])"
NO_ROOT = "gatherv?|scatterv?|reduce"
SCENES = [  # what, where, of which functions, the arguments
    ("count 0, NULL buffers", "intra inter ring alone", ANY, zero),
    ("zero-size type, NULL buffers", "intra inter ring", ANY, empty_type),
    ("count 0, displacements far away", "intra inter ring", V, far),
    ("count 0, MPI_DATATYPE_NULL", "intra inter ring", TOLERANT, with_type(null_type)),
    ("count 0, not committed", "intra inter ring", TOLERANT, with_type(uncommitted)),
    ("count 0, no handle", "intra inter ring", W, with_type(no_type)),
    ("MPI_DATATYPE_NULL beside 0", "intra ring inter", W, beside_zero(null_type)),
    ("not committed beside 0", "intra ring inter", W, beside_zero(uncommitted)),
    ("no handle beside 0", "intra ring inter", W, beside_zero(no_type)),
    ("one way", "inter", "allgatherv?", one_way),
]
for wild in (False, True):
    SCENES += [
        ("not root", "intra", NO_ROOT, not_root(wild)),
        ("in place", "intra", "|".join(BLOCKS_IN_PLACE), in_place(wild)),
        ("between groups", "inter", "|".join(ROOTED), between_groups(wild)),
        ("no neighbours", "alone", ANY, all_garbage(wild)),
    ]
NOT_TOLERANT = rf"(?!({TOLERANT})$).*"
REFUSED = [
    ("count 0, MPI_DATATYPE_NULL", "intra ring", NOT_TOLERANT, with_type(null_type), "ERR_TYPE"),
    ("count 0, not committed", "intra ring", NOT_TOLERANT, with_type(uncommitted), "ERR_TYPE"),
    ("count 0, MPI_OP_NULL", "intra", "(all)?reduce.*|(ex)?scan", null_op, "ERR_OP"),
]


def functions(pattern):
    for name in mpi.rows:
        if re.fullmatch(pattern, name) and hasattr(mpi.library, name):
            yield getattr(mpi, name.removeprefix("MPI_"))


COLLECTIVE = r"(?i)MPI_I?(neighbor_a|all(gather|red|toall)|barrier|bcast|(ex)?scan|gather|reduce|scatter)\w*"


def collective_cases(world, scenes):
    for what, places, which, how, *refused in scenes:
        for where in places.split():
            if where not in world.places:
                continue
            for function in functions(COLLECTIVE):
                name = plain(function)
                if name.startswith("neighbor") != (where in ("ring", "alone")):
                    continue
                if not re.fullmatch(which, name) or where == "inter" and name in ONE_GROUP:
                    continue
                if refused and name == "barrier":
                    continue
                yield what, where, Case(world, world.places[where], function), how, refused


def go_through_collectives(world, record):
    world.ints("sendbuf")[:] = [world.rank + 1] * 1024
    for what, where, case, how, refused in collective_cases(world, SCENES + REFUSED):
        world.ints("recvbuf")[0] = 0
        code = call(case.function, [how(case, p) for p in case.function.parameters])
        record(case.function, f"{what}, {where}", code, *refused)
        if "beside 0" in what and not got_next(case):
            print(f"WRONG {case.function.name} ({what}, {where}): data are missing", flush=True)


# ---- messages, windows, files -----------------------------------------------------------------------------

MESSAGE = r"(?i)MPI_(I?[bsr]?send|I?m?recv|[BSR]?send_init|Recv_init|P(send|recv)_init|I?sendrecv\w*)(_c)?"
ONE_SIDED = r"(?i)MPI_R?(put|get|accumulate|get_accumulate)(_c)?|MPI_Fetch_and_op|MPI_Compare_and_swap"
ACCESS = r"MPI_File_i?(read|write)(_at)?(_all|_shared|_ordered)?(_begin)?(_c)?"
COUNTS = "count sendcount recvcount origin_count target_count result_count".split()
ZERO = {**dict.fromkeys(COUNTS, 0), "BUFFER": None}
NULL_TYPE = {"DATATYPE": "DATATYPE_NULL"}


def arguments(world, function, change, **usual):
    """By name or kind: what `change` says, else what `usual` says, else 1 of MPI_INT."""
    values = []
    for p in function.parameters:
        value = next((at[key] for at in (change, usual) for key in (p.name, p.kind) if key in at), 1)
        if isinstance(value, str):
            value = getattr(world, value) if hasattr(world, value) else getattr(mpi, value)
        if p.kind == "BUFFER" and value == 1:
            value = world.buffer(p.name)
        elif p.kind == "REQUEST":
            value = mpi.inout(mpi.REQUEST_NULL)
        elif p.kind == "DATATYPE" and value == 1:
            value = mpi.INT
        values.append(value)
    return values


def message_call(world, function, change, peer):
    name, partner = function.name.lower(), None
    nothing = (None, 0, mpi.INT, 0, 7, mpi.COMM_SELF)
    usual = {
        "RANK": peer,
        "TAG": 7,
        "COMMUNICATOR": mpi.COMM_SELF,
        "STATUS": mpi.STATUS_IGNORE,
        "INFO": mpi.INFO_NULL,
    }
    if peer == 0 and "sendrecv" not in name:
        if name.startswith(("mpi_psend", "mpi_precv")):
            init = mpi.Precv_init if "psend" in name else mpi.Psend_init
            partner = init(None, 1, *nothing[1:], mpi.INFO_NULL)
            mpi.Start(mpi.inout(partner))
            if "precv" in name:
                mpi.Pready(0, partner)
        else:
            partner = (mpi.Irecv if "send" in name else mpi.Isend)(*nothing)
    if "mrecv" in name:
        usual["MESSAGE"] = mpi.handle(mpi.Mprobe(peer, 7, mpi.COMM_SELF)[0])
    code = call(function, arguments(world, function, change, **usual))
    if partner is not None and not code:
        request = mpi.inout(partner)
        mpi.Wait.raw(ctypes.byref(request), mpi.STATUS_IGNORE)
        if request.value not in (mpi.REQUEST_NULL, None):
            mpi.Request_free(request)
    return code


def go_through_messages(world, record):
    mpi.Buffer_attach(world.buffer("attached"), 4096)
    three = {**dict.fromkeys(COUNTS, 3), "BUFFER": None, "DATATYPE": "empty"}
    changes = [ZERO, three, {**ZERO, **NULL_TYPE}, {**ZERO, "DATATYPE": "uncommitted"}]
    for change in changes:
        for peer in (0, mpi.PROC_NULL):
            for function in functions(MESSAGE):
                record(function, f"{change} to {peer}", message_call(world, function, change, peer))


def go_through_windows(world, record):
    win = mpi.Win_create(world.buffer("window"), 4096, 1, mpi.INFO_NULL, world.comm)
    mpi.Win_set_errhandler(win, mpi.ERRORS_RETURN)
    mpi.Win_lock_all(0, win)
    no_op = {"op": "NO_OP", "origin_addr": NOWHERE, "origin_count": -7, "origin_datatype": "DATATYPE_NULL"}
    nobody = {"BUFFER": None, "DATATYPE": "DATATYPE_NULL", "target_disp": -7}
    scenes = [
        (ZERO, True, ONE_SIDED),
        ({**ZERO, "target_disp": 10**9}, True, ONE_SIDED),
        ({**dict.fromkeys(COUNTS, 3), "BUFFER": None, "DATATYPE": "empty"}, True, ONE_SIDED),
        (nobody, False, ONE_SIDED),
        (no_op, True, "MPI_R?[Gg]et_accumulate(_c)?"),
        ({"op": "NO_OP", "origin_addr": NOWHERE}, True, "MPI_Fetch_and_op"),
        ({**ZERO, **NULL_TYPE}, True, ONE_SIDED, "ERR_TYPE"),
    ]
    for change, here, which, *refused in scenes:
        for target in [world.rank] * here + [mpi.PROC_NULL] * (not refused):
            for function in functions(which):
                if "target_count" not in [p.name for p in function.parameters] and "op" not in change:
                    if target == world.rank:
                        continue  # of one element in any case
                usual = {"target_rank": target, "target_disp": 0, "op": mpi.SUM, "win": win}
                code = call(function, arguments(world, function, change, **usual))
                record(function, f"{change} to {target}", code, *refused)
    mpi.Win_unlock_all(win)
    mpi.Win_free(mpi.inout(win))


def go_through_files(world, record):
    mode = mpi.MODE_CREATE | mpi.MODE_RDWR | mpi.MODE_DELETE_ON_CLOSE
    file = mpi.File_open(world.comm, sys.argv[1], mode, mpi.INFO_NULL)
    mpi.File_set_errhandler(file, mpi.ERRORS_RETURN)
    usual = {"FILE": file, "OFFSET": 0, "STATUS": mpi.STATUS_IGNORE}
    three = {"count": 3, "BUFFER": None, "DATATYPE": "empty"}
    for change, *refused in [
        (ZERO,),
        (three,),
        ({**ZERO, "offset": 10**15},),
        ({**ZERO, **NULL_TYPE}, "ERR_TYPE"),
    ]:
        for function in functions(ACCESS):
            given = arguments(world, function, change, **usual)
            code = call(function, given)
            if "_begin" in function.name and not code:
                end = getattr(mpi, function.base.removeprefix("MPI_").replace("_begin", "_end"))
                record(end, str(change), end.raw(file, None, mpi.STATUS_IGNORE))
            record(function, str(change), code, *refused)
    nothing_objects.views(world, file, record)
    mpi.File_close(mpi.inout(file))


def main():
    mpi.start()
    if not nothing_objects.is_spawned():
        world, seen = World(), []

        def record(function, what, code, refused=None):
            seen.append(function.base)
            error_class = mpi.Error_class(code)
            if error_class != (getattr(mpi, refused) if refused else mpi.SUCCESS):
                text = mpi.Error_string(code)[0] if code else "no error"
                print(f"WRONG {function.name} ({what}), rank {mpi.rank}: {text}", flush=True)

        go_through_collectives(world, record)
        go_through_messages(world, record)
        go_through_windows(world, record)
        go_through_files(world, record)
        nothing_objects.go_through(world, record)
        missing = nothing_objects.takes_nothing() - set(seen)
        assert mpi.size not in (2, 3) or not missing, f"in no scene: {sorted(missing)}"
        if mpi.rank == 0:
            print(f"right: {len(seen)} calls", flush=True)
    mpi.Finalize()


if __name__ == "__main__":
    main()
