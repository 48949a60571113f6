"""Part of nothing.py: objects of nothing (no ranks, no edges, no blocks), lists without elements, and what is
not significant beside a leader or a root in calls that make communicators."""

import ctypes
import os
import re
import sys

from mpi import MPI as mpi
from mpi import Status

WILD = 0x12345678  # no handle
# Takes arrays or buffers, of which none is without elements here: they have at least one dimension, handle
# statuses or callbacks, or belong to MPI_T.
NOT_OF_NOTHING = r"""MPI_T_\w+ MPI_Status_\w+ MPI_Type_create_(subarray|darray) MPI_Abi_\w+ MPI_Init\w*
    MPI_Buffer_\w+ MPI_Session_\w+ MPI_Comm_(attach|detach)_buffer MPI_Get_address MPI_Comm_join
    MPI_Op_create""".split()


def unweighted():
    """MPI_UNWEIGHTED: in the MPICH ABI the value of a variable."""
    if "MPI_UNWEIGHTED" in mpi.constants:
        return mpi.UNWEIGHTED
    return ctypes.c_void_p.in_dll(mpi.library, "MPI_UNWEIGHTED").value


def takes_nothing():
    """The functions that take a buffer with a count, or an array: all have to be in some scene."""
    found = set()
    for name, row in mpi.rows.items():
        if not hasattr(mpi.library, name) or any(re.fullmatch(one, row["base"]) for one in NOT_OF_NOTHING):
            continue
        for _, text, kind, _, length, _ in row["parameters"]:
            is_array = length is not None and kind not in ("STRING", "STRING_ARRAY")
            if (kind == "BUFFER" or is_array) and not text.startswith("const char"):
                found.add(row["base"])
    return found


def null(kind):
    return mpi.inout(getattr(mpi, f"{kind}_NULL"))


def number():
    return ctypes.c_int64()


class Rows:
    """Calls to be made: add("Group_incl", …) is of both forms, where there are two."""

    def __init__(self, record):
        self.record = record

    def __call__(self, name, *given, made=None):
        """`made`: the name of the handle that the call must give, as its last argument."""
        for form in (name, f"{name}_c"):
            if f"MPI_{form}" in mpi.rows:
                self.form(form, *given, made=made)

    def form(self, form, *given, made=None):
        function = getattr(mpi, form)
        words = [function.convert(p, value) for p, value in zip(function.parameters, given, strict=True)]
        code = function.raw(*words)
        self.record(function, f"{given}", code)
        if made and given[-1].value not in (getattr(mpi, made), getattr(mpi, made) or None):
            print(f"WRONG MPI_{form}: gave {given[-1].value}, expected MPI_{made}", flush=True)


def groups(world, add):
    group, empty = mpi.Comm_group(world.comm), mpi.GROUP_EMPTY
    for kind in ("incl", "excl", "range_incl", "range_excl"):
        add(f"Group_{kind}", group, 0, None, null("GROUP"))
        add(f"Group_{kind}", empty, 0, None, null("GROUP"))
    add("Group_translate_ranks", group, 0, None, empty, None)
    add("Group_translate_ranks", group, 1, [mpi.PROC_NULL], empty, ctypes.c_int())


def communicators(world, add):
    empty, own = mpi.GROUP_EMPTY, mpi.Comm_group(mpi.COMM_SELF)
    rest = (b"nobody", mpi.INFO_NULL, mpi.ERRORS_RETURN, null("COMM"))
    add("Comm_create", world.comm, empty, null("COMM"), made="COMM_NULL")
    add("Comm_create_group", world.comm, empty, 5, null("COMM"), made="COMM_NULL")
    add("Comm_create_from_group", empty, *rest, made="COMM_NULL")
    for local, remote in ((own, empty), (empty, own), (empty, empty), (empty, mpi.GROUP_NULL)):
        leader = 0 if local == own else -3
        add("Intercomm_create_from_groups", local, leader, remote, -3, *rest, made="COMM_NULL")
    add("Comm_split", world.comm, mpi.UNDEFINED, -3, null("COMM"), made="COMM_NULL")


def beside_leaders(world, add):
    """Two groups: ranks 0, 2, … and 1, 3, …, whose leaders are 0 and 1."""
    odd, group = world.rank % 2, mpi.Comm_group(world.comm)
    half = mpi.Comm_split(world.comm, odd, 0)
    sides = [
        mpi.Group_incl(group, len(ranks), list(ranks))
        for ranks in (range(0, world.size, 2), range(1, world.size, 2))
    ]
    leads = world.rank < 2
    rest = (mpi.INFO_NULL, mpi.ERRORS_RETURN, null("COMM"))
    for comm, other, rank in ((mpi.COMM_NULL, mpi.GROUP_NULL, -3), (WILD, WILD, 1000)):
        peer, remote_leader = (world.comm, 1 - odd) if leads else (comm, rank)
        add("Intercomm_create", half, 0, peer, remote_leader, 9, null("COMM"))
        remote = sides[1 - odd] if leads else other
        tag = f"beside {rank}".encode()
        add("Intercomm_create_from_groups", sides[odd], 0, remote, 0 if leads else rank, tag, *rest)
        remote = mpi.GROUP_EMPTY if leads else other
        add("Intercomm_create_from_groups", sides[odd], 0, remote, rank, tag, *rest, made="COMM_NULL")


def beside_roots(world, add):
    """MPI_Comm_accept and _connect between even and odd ranks; MPI_Comm_spawn and _spawn_multiple."""
    odd, is_root = world.rank % 2, world.rank < 2
    half = mpi.Comm_split(world.comm, odd, 0)
    port = ctypes.create_string_buffer(1024)
    if world.rank == 0:
        mpi.Open_port.raw(mpi.INFO_NULL, port)
    mpi.Bcast(port, 1024, mpi.BYTE, 0, world.comm)
    made = null("COMM")
    name, info = (port, mpi.INFO_NULL) if is_root else (None, WILD)
    add("Comm_connect" if odd else "Comm_accept", name, info, 0, half, made)
    mpi.Comm_disconnect(made)
    child = [sys.executable, os.path.abspath(sys.argv[0])]
    words = (ctypes.c_char_p * 2)(child[1].encode(), None)
    given = (child[0].encode(), words, 1, mpi.INFO_NULL) if world.rank == 0 else (None, None, -7, WILD)
    add("Comm_spawn", *given, 0, world.comm, made, None)
    mpi.Comm_disconnect(made)
    commands = (ctypes.c_char_p * 1)(child[0].encode())
    lists = (ctypes.c_void_p * 1)(ctypes.addressof(words))
    given = (1, commands, lists, [1], [mpi.INFO_NULL]) if world.rank == 0 else (-7, None, None, None, None)
    add("Comm_spawn_multiple", *given, 0, world.comm, made, None)
    mpi.Comm_disconnect(made)


def is_spawned():
    """Whether beside_roots has started this process, which then has nothing more to do."""
    parent = mpi.Comm_get_parent()
    if parent in (mpi.COMM_NULL, None):
        return False
    mpi.Comm_disconnect(mpi.inout(parent))
    return True


def topologies(world, add):
    comm, info, new = world.comm, mpi.INFO_NULL, null("COMM")
    add("Cart_create", comm, 0, None, None, 0, new)
    add("Cart_map", comm, 0, None, None, ctypes.c_int())
    add("Dims_create", 1, 0, None)
    add("Graph_create", comm, 0, None, None, 0, new, made="COMM_NULL")
    add("Graph_create", comm, 1, [0], None, 0, new)
    add("Graph_map", comm, 1, [0], None, ctypes.c_int())
    for weights in (None, unweighted()):
        add("Dist_graph_create", comm, 0, None, None, None, weights, info, 0, new)
        add("Dist_graph_create", comm, 1, [world.rank], [0], None, weights, info, 0, new)
        add("Dist_graph_create_adjacent", comm, 0, None, weights, 0, None, weights, info, 0, new)
        add("Dist_graph_neighbors", world.places["alone"].comm, 0, None, weights, 0, None, weights)
    point = mpi.Cart_create(mpi.COMM_SELF, 0, None, None, 0)
    add("Cart_get", point, 0, None, None, None)
    add("Cart_coords", point, 0, 0, None)
    add("Cart_rank", point, None, ctypes.c_int())
    add("Cart_sub", point, None, new)
    graph = mpi.Graph_create(mpi.COMM_SELF, 1, [0], None, 0)
    add("Graph_get", graph, 1, 0, ctypes.c_int(), None)
    add("Graph_neighbors", graph, 0, 0, None)


def datatypes(world, add):
    new, old, empty = null("DATATYPE"), mpi.INT, world.empty
    add("Type_contiguous", 0, old, new)
    add("Type_vector", 0, 1, 1, old, new)
    add("Type_create_hvector", 0, 1, 1, old, new)
    add("Type_indexed", 0, None, None, old, new)
    add("Type_create_hindexed", 0, None, None, old, new)
    add("Type_create_indexed_block", 0, 1, None, old, new)
    add("Type_create_hindexed_block", 0, 1, None, old, new)
    add("Type_create_struct", 0, None, None, None, new)
    one = mpi.Type_contiguous(0, old)
    add.form("Type_get_contents", one, 1, 0, 1, [0], None, new)
    add.form("Type_get_contents_c", one, 1, 0, 0, 1, [0], None, None, new)
    for count, kind in ((0, old), (3, empty)):
        add("Pack", None, count, kind, None, 0, number(), world.comm)
        add("Unpack", None, 0, number(), None, count, kind, world.comm)
        add("Pack_external", b"external32", None, count, kind, None, 0, number())
        add("Unpack_external", b"external32", None, 0, number(), None, count, kind)
        add("Pack_size", count, kind, world.comm, number())
    status = Status(mpi)
    mpi.Recv.raw(None, 0, old, mpi.PROC_NULL, 0, world.comm, status._as_parameter_)
    add("Get_count", status, empty, number())
    add("Get_elements", status, empty, number())


def requests(world, add):
    flag, count, ignore = ctypes.c_int(), ctypes.c_int(), mpi.STATUSES_IGNORE
    for statuses in (ignore, None):
        add("Waitall", 0, None, statuses)
        add("Testall", 0, None, flag, statuses)
        add("Request_get_status_all", 0, None, flag, statuses)
        for some in ("Waitsome", "Testsome", "Request_get_status_some"):
            add(some, 0, None, count, None, statuses)
    add("Waitany", 0, None, count, mpi.STATUS_IGNORE)
    add("Testany", 0, None, count, flag, mpi.STATUS_IGNORE)
    add("Request_get_status_any", 0, None, count, flag, mpi.STATUS_IGNORE)
    add("Startall", 0, None)
    request = mpi.inout(
        mpi.Psend_init(world.buffer("x"), 1, 0, mpi.INT, mpi.PROC_NULL, 1, world.comm, mpi.INFO_NULL)
    )
    mpi.Start(request)
    add("Pready_list", 0, None, request.value)
    mpi.Pready(0, request.value)
    mpi.Wait.raw(ctypes.byref(request), mpi.STATUS_IGNORE)
    mpi.Request_free(request)


def memory(world, add):
    comm, info, base = world.comm, mpi.INFO_NULL, ctypes.c_void_p()
    add("Alloc_mem", 0, info, base)
    add("Free_mem", base.value)
    add("Free_mem", None)
    add("Win_create", None, 0, 1, info, comm, null("WIN"))
    add("Win_allocate", 0, 1, info, comm, base, null("WIN"))
    shared, node = null("WIN"), mpi.Comm_split_type(comm, mpi.COMM_TYPE_SHARED, 0, info)
    add("Win_allocate_shared", 0, 1, info, node, base, shared)
    add("Win_shared_query", shared.value, mpi.PROC_NULL, number(), number(), base)
    window = mpi.Win_create_dynamic(info, comm)
    mpi.Win_set_errhandler(window, mpi.ERRORS_RETURN)
    add("Win_attach", window, None, 0)
    add("Win_detach", window, None)
    for call, *more in (("start", 0), ("complete",), ("post", 0), ("wait",)):
        add(f"Win_{call}", *([mpi.GROUP_EMPTY, *more] if more else []), window)
    mpi.Reduce_local(None, None, 0, mpi.INT, mpi.SUM)
    add("Info_get_string", mpi.INFO_ENV, b"command", ctypes.c_int(0), None, ctypes.c_int())
    add("Info_create_env", 0, None, null("INFO"))


def views(world, file, record):
    """A view in which nothing is seen, and the usual one again."""
    add = Rows(record)
    add("File_set_view", file, 0, mpi.INT, world.empty, b"native", mpi.INFO_NULL)
    add("File_set_view", file, 0, mpi.BYTE, mpi.BYTE, b"native", mpi.INFO_NULL)


def go_through(world, record):
    add = Rows(record)
    for part in (groups, communicators, topologies, datatypes, requests, memory):
        part(world, add)
    if world.size > 1:
        beside_leaders(world, add)
    if 1 < world.size < 4:
        beside_roots(world, add)
