"""Every C function with every argument wrong in turn, as far as its kind tells what wrong is.

For each function that the library has: valid arguments by kind (Workbench.good), then one of them replaced by
each of its wrong values (wrong_values). Such a call must return the error class that the kind asks for, with
a text that names function, argument and value, after one call of the error handler of the communicator at
hand (or of MPI_COMM_SELF), and leave everything usable. What bindgen learns is tested here from then on.

argv: the chapter, and a file to which the call under way is written: what a crash leaves. One line for each
wrong answer, then the number of calls. Runs on one process.
"""

import ctypes
import fnmatch
import os
import re
import sys
import tempfile

from mpi import MPI as mpi
from mpi import Status

HANDLER = ctypes.CFUNCTYPE(None, ctypes.POINTER(mpi.handle), ctypes.POINTER(ctypes.c_int))
NOTHING = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)

KINDS = {  # kind: (name of its NULL handle, error class of a bad one)
    "COMMUNICATOR": ("COMM_NULL", "ERR_COMM"),
    "GROUP": ("GROUP_NULL", "ERR_GROUP"),
    "DATATYPE": ("DATATYPE_NULL", "ERR_TYPE"),
    "OPERATION": ("OP_NULL", "ERR_OP"),
    "REQUEST": ("REQUEST_NULL", "ERR_REQUEST"),
    "MESSAGE": ("MESSAGE_NULL", "ERR_REQUEST"),
    "INFO": ("INFO_NULL", "ERR_INFO"),
    "ERRHANDLER": ("ERRHANDLER_NULL", "ERR_ERRHANDLER"),
    "SESSION": ("SESSION_NULL", "ERR_SESSION"),
    "WINDOW": ("WIN_NULL", "ERR_WIN"),
    "FILE": ("FILE_NULL", "ERR_FILE"),
}

# Not called at all: what begins and ends MPI, never fails, or only turns handles into numbers.
NEVER = """MPI_Init* MPI_Finalize* MPI_Abort MPI_Pcontrol MPI_Wti* MPI_Aint_* MPI_*_c2f MPI_*_f2c MPI_*_toint
    MPI_*_fromint MPI_*_f082* MPI_*2f08 MPI_*_c2f08 MPI_T_* MPI_Free_mem""".split()

# NULL handles that MPI allows (MPI 3.7.3, 7.8, 10). MPI_INFO_NULL is allowed everywhere but in MPI_Info_*.
NULL_ALLOWED = [
    ("MPI_Wait* MPI_Test* MPI_Request_get_status*", "request array_of_requests"),
    ("MPI_Comm_get_name", "comm"),
    ("MPI_Type_get_name", "datatype"),
    ("MPI_Win_get_name", "win"),
    ("MPI_Intercomm_create", "peer_comm"),
    ("MPI_Parrived", "request"),
    ("MPI_File_set_errhandler MPI_File_get_errhandler MPI_File_call_errhandler", "file fh"),
]
# Types that need not be committed: nothing is moved by them (MPI 5.1.9).
NOT_MOVED = """MPI_Type_* MPI_File_get_type_extent* MPI_*Pack*_size* MPI_Get_count* MPI_Get_elements*
    MPI_Status_set_elements*""".split()


# Their errors go to the error handler that they are given (MPI 7.4.2, 7.6.2, 11.3.1).
TAKE_HANDLER = ["MPI_Comm_create_from_group", "MPI_Intercomm_create_from_groups", "MPI_Session_init"]


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


class Workbench:
    """One good object of each kind, and one that was freed."""

    def __init__(self):
        self.heard = []  # (whose handler, the handle it was given, the error)
        self.keep = []
        self.comm = self.watched(mpi.Comm_dup(mpi.COMM_WORLD))
        self.watch(mpi.COMM_SELF, "self")
        self.watch(mpi.FILE_NULL, "no file", "File")
        self.cart = self.watched(mpi.Cart_create(self.comm, 1, [1], [1], 0))
        self.graph = self.watched(mpi.Graph_create(self.comm, 1, [1], [0], 0))
        edge = (1, [0], [1], [0], [1])
        self.dist = self.watched(mpi.Dist_graph_create(self.comm, *edge, mpi.INFO_NULL, 0))
        self.uncommitted = mpi.Type_contiguous(2, mpi.INT)
        self.buffers = {}
        self.path = tempfile.mktemp(prefix="bad-input-")
        self.objects = self.make()
        self.watch(self.objects["FILE"], "file", "File")
        self.watch(self.objects["WINDOW"], "window", "Win")
        self.watch(self.objects["SESSION"], "session", "Session")
        mpi.Win_lock_all(0, self.objects["WINDOW"])  # an epoch, so that operations are legal
        self.freed = self.make()
        self.free(self.freed)
        mpi.Buffer_attach(self.buffer("attached"), 4096)
        self.keyval = mpi.Comm_create_keyval(None, None, None)
        self.user_class = mpi.Add_error_class()
        self.user_code = mpi.Add_error_code(self.user_class)

    def watched(self, comm):
        self.watch(comm, "comm")
        return comm

    def watch(self, handle, whose, kind="Comm"):
        def hear(owner, code):
            self.heard.append((whose, owner[0], code[0]))

        self.keep.append(HANDLER(hear))
        handler = getattr(mpi, f"{kind}_create_errhandler")(self.keep[-1])
        getattr(mpi, f"{kind}_set_errhandler")(handle, handler)
        mpi.Errhandler_free(mpi.inout(handler))

    def make(self):
        """One object of each kind; the message is a matched one from this process to itself."""
        function = ctypes.CFUNCTYPE(None)(lambda: None)
        given = HANDLER(lambda owner, code: self.heard.append(("given", owner[0], code[0])))
        request = mpi.Recv_init(self.buffer("persistent"), 1, mpi.INT, 0, 5, self.comm)
        sent = mpi.Isend(self.buffer("sent"), 1, mpi.INT, 0, 6, self.comm)
        mpi.Request_free(mpi.inout(sent))
        message, _ = mpi.Mprobe(0, 6, self.comm)
        self.keep += [function, given]
        return {
            "COMMUNICATOR": mpi.Comm_dup(self.comm),
            # Not the communicator's own group, whose handle stays good while the communicator lives.
            "GROUP": mpi.Group_incl(mpi.Comm_group(self.comm), 1, [0]),
            "DATATYPE": self.committed(mpi.Type_contiguous(1, mpi.INT)),
            "OPERATION": mpi.Op_create(function, 1),
            "REQUEST": request,
            "MESSAGE": message,
            "INFO": mpi.Info_create(),
            "ERRHANDLER": mpi.Comm_create_errhandler(given),
            "FILE": mpi.File_open(self.comm, self.path, mpi.MODE_CREATE | mpi.MODE_RDWR, mpi.INFO_NULL),
            "WINDOW": mpi.Win_create(self.buffer("window"), 4096, 1, mpi.INFO_NULL, self.comm),
            "SESSION": mpi.Session_init(mpi.INFO_NULL, mpi.ERRORS_RETURN),
        }

    @staticmethod
    def committed(handle):
        mpi.Type_commit(mpi.inout(handle))
        return handle

    def free(self, objects):
        mpi.Comm_free(mpi.inout(objects["COMMUNICATOR"]))
        mpi.Group_free(mpi.inout(objects["GROUP"]))
        mpi.Type_free(mpi.inout(objects["DATATYPE"]))
        mpi.Op_free(mpi.inout(objects["OPERATION"]))
        mpi.Request_free(mpi.inout(objects["REQUEST"]))
        mpi.Mrecv(self.buffer("message"), 1, mpi.INT, mpi.inout(objects["MESSAGE"]))
        mpi.Info_free(mpi.inout(objects["INFO"]))
        mpi.Errhandler_free(mpi.inout(objects["ERRHANDLER"]))
        mpi.File_close(mpi.inout(objects["FILE"]))
        mpi.Win_free(mpi.inout(objects["WINDOW"]))
        mpi.Session_finalize(mpi.inout(objects["SESSION"]))

    def buffer(self, name):
        return mpi.address(self.buffers.setdefault(name, bytearray(4096)))

    def communicator(self, function):
        if re.match("MPI_(Cart_(?!create|map)|Cartdim|I?[Nn]eighbor|Topo)", function.base):
            return self.cart
        if re.match("MPI_Graph(_get|_neighbors|dims)", function.base):
            return self.graph
        return self.dist if function.base.startswith("MPI_Dist_graph_neighbors") else self.comm

    def number(self, function, p):
        """A valid number for what a parameter of this kind and name says."""
        named = {
            "MPI_ERR": self.user_code,
            "stride": 1,
            "order": mpi.ORDER_C,
            "lock_type": mpi.LOCK_SHARED,
            "split_type": mpi.COMM_TYPE_SHARED,
            "typeclass": mpi.TYPECLASS_INTEGER,
            "errorclass": self.user_class,
            "errorcode": self.user_code,
            "outsize": 4096,
            "insize": 4096,
            "size": 1 if p.kind == "COMM_SIZE_PI" else 4,
            "distrib": mpi.DISTRIBUTE_BLOCK,
            "array_of_distribs": mpi.DISTRIBUTE_BLOCK,
            "array_of_dargs": mpi.DISTRIBUTE_DFLT_DARG,
        }
        if (function.name, p.name) == ("MPI_Comm_spawn_multiple", "count"):
            return 2  # of one program an error does not say which
        if p.name in named:
            return named[p.name]
        if p.kind == "KEYVAL":
            return self.keyval
        zero = (
            "RANK",
            "TAG",
            "ASSERT",
            "KEY_INDEX",
            "COLOR",
            "KEY",
            "DISPLACEMENT",
            "POLYDISPLACEMENT",
            "COORDINATE",
        )
        if p.kind.startswith(zero) or p.name in ("position", "array_of_starts", "edges", "direction"):
            return 0
        return 1

    def good(self, function, p):
        if p.kind == "COMMUNICATOR":
            value = self.communicator(function)
        elif p.kind == "DATATYPE":
            value = mpi.INT
        elif p.kind in KINDS:
            value = self.objects.get(p.kind, getattr(mpi, KINDS[p.kind][0]))
        elif p.kind == "STATUS":
            return mpi.statuses(2) if p.length is not None else Status(mpi)
        elif p.kind == "STRING":
            if p.direction == "in":
                return b"external32" if p.name == "datarep" else b"word"
            return ctypes.create_string_buffer(8192)
        elif p.kind == "STRING_ARRAY":
            return (ctypes.c_char_p * 2)(b"true", b"true")
        elif p.base == "void" or p.kind.startswith(("EXTRA_STATE", "ATTRIBUTE")):
            return self.buffer(p.name)
        elif "FUNCTION" in p.kind:
            return NOTHING
        elif p.text.count("*") + p.text.count("[") > 1 and not isinstance(p.length, list):
            return None
        elif p.element is ctypes.c_void_p and not p.is_handle:
            return self.buffer(p.name)
        else:
            value = self.number(function, p)
        if not p.is_pointer:
            return value
        return (p.element * 4)(value, 0, 1) if isinstance(p.length, list) else (p.element * 4)(value, value)


def other_than(kind):
    return "GROUP" if kind != "GROUP" else "INFO"


def null_allowed(function, p):
    if p.kind == "INFO" and not function.name.startswith("MPI_Info_"):
        return True
    return any(
        matches(function.base, names.split()) and p.name in words.split() for names, words in NULL_ALLOWED
    )


def wrong_handles(bench, function, p):
    null, error_class = KINDS[p.kind]
    values = [] if null_allowed(function, p) else [("NULL handle", getattr(mpi, null), f"= MPI_{null}")]
    if p.kind in bench.freed:
        values.append(("freed handle", bench.freed[p.kind], "= 0x"))
        values.append(("other kind", bench.objects[other_than(p.kind)], "= 0x"))
    values.append(("no handle at all", 0x12345678, "= 0x12345678"))
    if p.kind == "DATATYPE" and p.direction == "in" and not matches(function.name, NOT_MOVED):
        values.append(("uncommitted", bench.uncommitted, "not committed"))
    for how, value, text in values:
        if p.is_pointer:
            value = (p.element * 2)(value, value)
        yield how, value, error_class, text


def wrong_buffers(function, p):
    if p.kind != "BUFFER" or not function.find("DATATYPE"):
        return
    if not function.is_vector:
        yield "NULL", None, "ERR_BUFFER ERR_ARG", "= NULL"
    legal = re.match(
        "MPI_I?(allgather|alltoall|allreduce|reduce|scan|exscan|gather|scatter)", function.base, re.IGNORECASE
    )
    if not (
        legal and p.name == ("recvbuf" if "catter" in function.base.replace("educe_sc", "") else "sendbuf")
    ):
        yield "in place", mpi.IN_PLACE, "ERR_BUFFER ERR_ARG", "MPI_IN_PLACE"


def wrong_numbers(function, p):
    kind, pointer = p.kind, p.is_pointer
    if function.name.startswith("MPI_Status_set_"):
        return  # a status may say anything
    rows = []
    if kind in ("RANK", "RANK_NNI") and p.direction == "in":
        if p.name == "root":
            rows = [(5, "ERR_ROOT"), (-77, "ERR_ROOT")]
        elif not isinstance(p.length, list):
            rows = [(5, "ERR_RANK ERR_ARG ERR_TOPOLOGY"), (-77, "ERR_RANK ERR_ARG ERR_TOPOLOGY")]
    elif kind == "TAG" and p.direction == "in":
        rows = [(-77, "ERR_TAG")]
    elif kind == "KEYVAL" and p.direction != "out":
        rows = [(-77, "ERR_KEYVAL"), (mpi.KEYVAL_INVALID, "ERR_KEYVAL")]
    elif kind in ("ORDER", "TYPECLASS", "SPLIT_TYPE", "DISTRIB_ENUM"):
        rows = [(-7777, "ERR_ARG")]
    elif p.direction == "in" and (
        kind.endswith(("_NNI", "_PI")) or kind.startswith(("ARRAY_LENGTH", "NUM_DIMS", "DEGREE", "COMM_SIZE"))
    ):
        moved = "XFER" in kind or p.name in ("count", "incount", "outcount")
        rows = [(-3, "ERR_COUNT" if moved else "ERR_ARG ERR_COUNT ERR_DIMS")]
        if kind.startswith("RMA_DISP"):
            rows = [(-3, "ERR_DISP ERR_RMA_RANGE ERR_ARG")]
    elif kind == "DIMENSION" and pointer and p.direction != "out":
        rows = [(-3, "ERR_DIMS ERR_ARG")]
    for value, classes in rows:
        text = "MPI_KEYVAL_INVALID" if (kind, value) == ("KEYVAL", mpi.KEYVAL_INVALID) else str(value)
        yield text, (p.element * 2)(value, value) if pointer else value, classes, f"= {text}"


def wrong_pointers(function, p):
    """NULL where the function reads or writes something, and NULL is not a legal value there."""
    free = (
        "STATUS",
        "WEIGHT",
        "ARGUMENT_LIST",
        "STRING_ARRAY",
        "STRING_2DARRAY",
        "EXTRA_STATE",
        "BUFFER",
        "F90_STATUS",
        "F08",
    )
    if p.kind == "STATUS" and p.direction == "out" or p.kind.startswith(free) and p.kind != "STATUS":
        return
    if p.name.startswith("attribute_val") and p.direction == "in" or p.name == "array_of_errcodes":
        return
    if "FUNCTION" in p.kind and ("copy" in p.name or "delete" in p.name or "conversion" in p.name):
        return  # NULL is the predefined function that does nothing
    if p.is_pointer:
        yield (
            "NULL",
            None,
            "ERR_ARG ERR_PORT" if p.name == "port_name" else "ERR_ARG",
            "= NULL",
        )


def wrong_values(bench, function, p):
    if p.kind in KINDS and p.direction != "out":
        yield from wrong_handles(bench, function, p)
    yield from wrong_buffers(function, p)
    yield from wrong_numbers(function, p)
    yield from wrong_pointers(function, p)


def classes_of(words):
    return {getattr(mpi, word) for word in words.split()}


def expected_handler(bench, function, p, wrong):
    """Whose handler hears of the error: the first communicator's, or MPI_COMM_SELF's if that is wrong."""
    if matches(function.name, TAKE_HANDLER) and p.kind != "ERRHANDLER":
        return "given", mpi.COMM_SELF
    for parameter in function.parameters:
        if parameter.direction == "out" or parameter.length is not None:
            continue
        if parameter.kind in ("COMMUNICATOR", "FILE", "WINDOW", "SESSION", "MESSAGE") and parameter is p:
            break
        if parameter.kind == "MESSAGE":  # came on that one
            return "comm", bench.comm
        if parameter.kind == "SESSION":
            return "session", bench.objects["SESSION"]
        if parameter.kind == "WINDOW":
            return "window", bench.objects["WINDOW"]
        if parameter.kind == "COMMUNICATOR" and function.chapter != "io":
            return "comm", bench.communicator(function)
        if parameter.kind == "FILE":
            return "file", bench.objects["FILE"]
    if function.chapter == "io":
        return "no file", mpi.FILE_NULL
    return "self", mpi.COMM_SELF


def check(bench, function, p, how, wrong, classes, text):
    """What is not right about the call, or None."""
    given = [wrong if q is p else bench.good(function, q) for q in function.parameters]
    arguments = [function.convert(q, value) for q, value in zip(function.parameters, given, strict=True)]
    bench.heard.clear()
    code = function.raw(*arguments)
    if code == 0:
        return "no error"
    problems = []
    error_class, message = mpi.Error_class(code), mpi.Error_string(code)[0]
    if error_class not in classes_of(classes):
        problems.append(f"class {error_class}, expected {classes} {classes_of(classes)}")
    # The deprecated calls are bound to their successors, whose argument has another name.
    name = "(comm_)?keyval" if p.name == "keyval" else p.name
    named = f"{function.name}: " in message and re.search(rf"\b{name}\b(\[.*?\])? = ", message)
    if not named or text not in message:
        problems.append(f"text lacks function, {p.name} or {text!r}")
    if "expected" not in message.split("; hint: ")[0]:
        problems.append("text does not say what was expected")
    if bench.heard != [(*expected_handler(bench, function, p, wrong), code)]:
        problems.append(f"heard {bench.heard}")
    return f"{'; '.join(problems)}; said: {message}" if problems else None


def usable(bench):
    """After an error everything goes on: a message, a collective, and the objects at hand."""
    there = ctypes.c_int(0)
    for comm in (bench.comm, bench.cart, bench.graph, bench.dist):
        mpi.Sendrecv(
            ctypes.byref(ctypes.c_int(7)), 1, mpi.INT, 0, 9, ctypes.byref(there), 1, mpi.INT, 0, 9, comm
        )
        mpi.Allreduce(mpi.IN_PLACE, ctypes.byref(there), 1, mpi.INT, mpi.SUM, comm)
    mpi.Group_size(bench.objects["GROUP"])
    mpi.Info_get_nkeys(bench.objects["INFO"])
    mpi.Op_commutative(bench.objects["OPERATION"])
    return there.value == 7


def main():
    chapter, log = sys.argv[1], open(sys.argv[2], "w")
    mpi.start()
    bench = Workbench()
    calls = 0
    for name, row in mpi.rows.items():
        if row["chapter"] != chapter or not hasattr(mpi.library, name):
            continue
        if matches(name, NEVER):
            continue
        function = getattr(mpi, name.removeprefix("MPI_"))
        function.find = lambda kind, f=function: any(q.kind == kind for q in f.parameters)
        function.is_vector = any("NUM_ELEM" in q.kind and q.length is not None for q in function.parameters)
        for p in function.parameters:
            for how, wrong, classes, text in wrong_values(bench, function, p):
                log.seek(0)
                log.write(f"{name}({p.name}: {how}){' ' * 40}\n")
                log.flush()
                problem = check(bench, function, p, how, wrong, classes, text)
                calls += 1
                if problem:
                    print(f"WRONG {name}({p.name}: {how}): {problem}", flush=True)
        assert usable(bench), name
    print(f"right: {calls} calls")
    os.unlink(bench.path)
    mpi.Session_finalize(mpi.inout(bench.objects["SESSION"]))
    mpi.Finalize()


if __name__ == "__main__":
    main()
