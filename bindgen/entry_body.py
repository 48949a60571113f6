"""How each parameter of an entry is treated: checked, converted for the core, and converted back.

body() writes the statements of an entry: declarations and checks in the order in which they are possible
(the communicator first, because errors in what follows go to its error handler), then the core call, then the
results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bindgen import function_table
from bindgen.core_functions import CoreFunction, CoreParameter
from bindgen.mpi_functions import Function, Parameter

HANDLES = {
    "COMMUNICATOR": "Comm",
    "GROUP": "Group",
    "DATATYPE": "Datatype",
    "OPERATION": "Op",
    "REQUEST": "Request",
    "MESSAGE": "Message",
    "INFO": "Info",
    "ERRHANDLER": "Errhandler",
    "SESSION": "Session",
    "WINDOW": "Win",
    "FILE": "File",
}

# What has an error handler, or a communicator that has: found first, so that the other errors go there.
ERROR_OWNERS = {"COMMUNICATOR", "SESSION", "WINDOW", "FILE", "MESSAGE"}

# Kinds whose values have other numbers in the core: the name of the conversion, and the class of a bad one.
ENUMERATIONS = {
    "COMM_COMPARISON": ("comparison", "kErrArg"),
    "GROUP_COMPARISON": ("comparison", "kErrArg"),
    "COMBINER": ("combiner", "kErrArg"),
    "ORDER": ("order", "kErrArg"),
    "TYPECLASS": ("typeclass", "kErrArg"),
    "TOPOLOGY_TYPE": ("topology", "kErrArg"),
    "THREAD_LEVEL": ("thread_level", "kErrArg"),
    "KEYVAL": ("keyval", "kErrKeyval"),
    "LOCK_TYPE": ("lock_type", "kErrLocktype"),
    "ERROR_CLASS": ("error", "kErrArg"),
    "ERROR_CODE": ("error", "kErrArg"),
    "RANK": ("rank", "kErrRank"),
    "RANK_NNI": ("rank", "kErrRank"),
    "ACCESS_MODE": ("file_mode", "kErrAmode"),
    "ASSERT": ("win_assert", "kErrAssert"),
    "UPDATE_MODE": ("seek", "kErrArg"),
    "DISTRIB_ENUM": ("distribution", "kErrArg"),
    "DTYPE_DISTRIBUTION": ("darg", "kErrArg"),
}

# Arrays of these are copied where the ABI's numbers differ from the core's.
CONVERTED_ARRAYS = {"RANK", "RANK_NNI", "DISTRIB_ENUM", "DTYPE_DISTRIBUTION"}

# A handle that may be NULL, by (function, parameter) as patterns; INOUT ones and infos are ruled below.
NULL_ALLOWED = [
    ("MPI_Request_get_status.*", "request|array_of_requests"),
    ("MPI_(Wait|Test).*", "request|array_of_requests"),
    ("MPI_Parrived", "request"),
    ("MPI_Intercomm_create_from_groups", "remote_group"),
    ("MPI_Comm_get_name", "comm"),
    ("MPI_Type_get_name", "datatype"),
    ("MPI_Win_get_name", "win"),
    ("MPI_Intercomm_create", "peer_comm"),
    ("(?!MPI_Info_).*", "info"),
    ("MPI_File_(set|get|call)_errhandler", "file|fh"),
]

STRING_SIZES = {
    ("MPI_Comm_get_name", "comm_name"): "MPI_MAX_OBJECT_NAME",
    ("MPI_Type_get_name", "type_name"): "MPI_MAX_OBJECT_NAME",
    ("MPI_Win_get_name", "win_name"): "MPI_MAX_OBJECT_NAME",
    ("MPI_Info_get_nthkey", "key"): "MPI_MAX_INFO_KEY",
    ("MPI_File_get_view", "datarep"): "MPI_MAX_DATAREP_STRING",
    ("MPI_Error_string", "string"): "MPI_MAX_ERROR_STRING",
    ("MPI_Open_port", "port_name"): "MPI_MAX_PORT_NAME",
    ("MPI_Lookup_name", "port_name"): "MPI_MAX_PORT_NAME",
}

IN_PLACE_SEND = re.compile(
    r"MPI_I?(allgatherv?|alltoall[vw]?|allreduce|scan|exscan|reduce_scatter(_block)?)(_init)?$", re.IGNORECASE
)
GATHER = re.compile(r"MPI_I?gatherv?(_init)?$", re.IGNORECASE)
SCATTER = re.compile(r"MPI_I?scatterv?(_init)?$", re.IGNORECASE)
BCAST = re.compile(r"MPI_I?bcast(_init)?$", re.IGNORECASE)
REDUCE = re.compile(r"MPI_I?reduce(_init)?$", re.IGNORECASE)
# Parameters that count at the root only.
AT_ROOT = re.compile(r"MPI_Comm_(accept|connect)\.(port_name|info)$")
NEIGHBOR = re.compile(r"MPI_I?neighbor_", re.IGNORECASE)
# Parameters that count at the local leader only: the expression for another rank, by (function.parameter).
BESIDE_LEADER = [
    (r"MPI_Intercomm_create\.(peer_comm|remote_leader)", "core_local_comm->rank != local_leader"),
    (
        r"MPI_Intercomm_create_from_groups\.(remote_group|remote_leader)",
        "core_local_group->rank != local_leader",
    ),
]

# What becomes of each OUT argument beside a `flag` that is false, by (function, parameter) as patterns:
#   "stored"  the core's value is stored, as if the flag were true (MPI_UNDEFINED)
#   "null"    it becomes the NULL handle
#   "left"    it stays as it is: the standard has it unchanged, or undefined
FLAG_IS_FALSE = [
    ("MPI_(Testany|Request_get_status_any)", "indx", "stored"),
    ("MPI_Improbe", "message", "null"),
    ("MPI_(Test(all|any)?|Request_get_status(_all|_any)?|Iprobe|Improbe)", ".*status(es)?", "left"),
    ("MPI_((Comm|Type|Win)_get_attr|Attr_get)", "attribute_val", "left"),
    ("MPI_Info_get(_string)?", "value|buflen", "left"),
    ("MPI_Info_get_valuelen", "valuelen", "left"),
]

# Completion: what these give back counts also when they return an error (MPI 3.7.5).
COMPLETION = re.compile(r"MPI_(Wait|Test|Request_get_status|Recv$|Mrecv$|Sendrecv|Startall?)")

# (buffer, counts, displacements, types) that belong together, each a choice of names.
DATA_GROUPS = [
    ("sendbuf", ("sendcount", "sendcounts"), ("sdispls", "displs"), ("sendtype", "sendtypes")),
    ("recvbuf", ("recvcount", "recvcounts"), ("rdispls", "displs"), ("recvtype", "recvtypes")),
    ("buf", ("count",), (), ("datatype",)),
    ("buffer", ("count",), (), ("datatype",)),
    ("inbuf", ("incount", "count"), (), ("datatype",)),
    ("outbuf", ("outcount",), (), ("datatype",)),
    ("sendbuf", ("count", "recvcount", "recvcounts"), (), ("datatype",)),
]
# One-sided calls: the buffers of the origin.
ORIGIN_GROUPS = [
    ("origin_addr", ("origin_count",), (), ("origin_datatype",)),
    ("result_addr", ("result_count",), (), ("result_datatype",)),
]


class Body:
    """The statements of one entry as they come together."""

    def __init__(self, function: Function, core: CoreFunction) -> None:
        self.function = function
        self.core = core
        self.lines: list[str] = []
        self.pending: list[str] = []  # checks not written yet
        self.arguments: dict[str, str] = {}  # MPI parameter -> what the core gets
        self.always: list[str] = []  # after the call
        self.on_success: list[str] = []
        self.on_flag: list[str] = []
        self.done: set[str] = set()
        # OUT handles are NULL after an error, where there is a place to write to.
        out = [p for p in function.parameters if p.direction == "out" and not p.is_array]
        self.on_error = " ".join(f"null_out<{HANDLES[p.kind]}>({p.name});" for p in out if p.kind in HANDLES)

    def declare(self, line: str, after_checks: bool = False) -> None:
        if after_checks:
            self.flush()
        self.lines.append(line)

    def check(self, expression: str, parameter: Parameter | None = None) -> None:
        """One more check; that of a parameter that counts at the root or leader only is made there alone."""
        if parameter and AT_ROOT.match(f"{self.function.name}.{parameter.name}"):
            if parameter.kind == "STRING":
                return  # the core makes this check, so that all ranks get the error
            expression = f"(!roles.root_here || {expression})"
        for pattern, elsewhere in BESIDE_LEADER:
            if parameter and re.fullmatch(pattern, f"{self.function.name}.{parameter.name}"):
                expression = f"({elsewhere} || {expression})"
        self.pending.append(expression)

    def flush(self) -> None:
        if not self.pending:
            return
        text = " ||\n      ".join(f"!{expression}" for expression in self.pending)
        before = f"{self.on_error}\n    " if self.on_error else ""
        self.lines.append(f"if ({text}) {{\n    {before}return call.fail();\n  }}")
        self.pending = []

    def store(self, parameter: Parameter, statement: str) -> None:
        """What hands an OUT argument to the user after success, as far as a flag allows."""
        is_flagged = self.param("flag") is not None and parameter.name != "flag"
        how = flag_is_false(self, parameter) if is_flagged else "stored"
        (self.on_success if how == "stored" else self.on_flag).append(statement)

    def param(self, *names: str) -> Parameter | None:
        return next((p for name in names if (p := self.function.find(name))), None)

    def fail(self, reason: str) -> None:
        raise SystemExit(
            f"{self.function.name}: {reason} (core function {self.core.name} in {self.core.header})"
        )


def flag_is_false(body: Body, parameter: Parameter) -> str:
    for pattern, names, how in FLAG_IS_FALSE:
        if re.fullmatch(pattern, body.function.base_name) and re.fullmatch(names, parameter.name):
            return how
    body.fail(f"{parameter.name}: FLAG_IS_FALSE does not say what becomes of it")


def null_allowed(function: Function, parameter: Parameter) -> bool:
    return any(
        re.fullmatch(pattern, function.base_name) and re.fullmatch(names, parameter.name)
        for pattern, names in NULL_ALLOWED
    )


def local(parameter: Parameter) -> str:
    return f"core_{parameter.name}"


def is_count(parameter: Parameter) -> bool:
    """A number that must not be negative."""
    kind = parameter.kind
    if parameter.name == "stride" or parameter.direction != "in":
        return False
    return (
        (kind.endswith(("_NNI", "_PI")) and not kind.startswith(("RANK", "RMA_DISP")))
        or "NUM_ELEM" in kind
        or kind.startswith(
            ("ARRAY_LENGTH", "POLYNUM_BYTES", "POLYNUM_PARAM_VALUES", "COMM_SIZE", "DEGREE", "NUM_DIMS")
        )
        or kind.endswith("PACK_SIZE")
    )


def handle_in(body: Body, parameter: Parameter, core: CoreParameter) -> None:
    kind = HANDLES[parameter.kind]
    name = local(parameter)
    if parameter.is_array:
        return handle_array(body, parameter, core)
    is_pointer = "*" in parameter.text  # MPI_Cancel's request is IN, and a pointer all the same
    value = f"*{parameter.name}" if is_pointer else parameter.name
    body.declare(f"{kind}* {name} = nullptr;")
    if is_pointer:
        body.check(f'call.pointer({parameter.name}, "{parameter.name}")')
    how = "handle_or_null" if null_allowed(body.function, parameter) else "handle"
    body.check(f'call.{how}<{kind}>({value}, "{parameter.name}", &{name})', parameter)
    if core.type.endswith("**"):
        # MPI_Grequest_complete takes its handle by value, and yet ends it.
        place = parameter.name if is_pointer else f"&{parameter.name}"
        body.arguments[parameter.name] = f"&{name}"
        body.always.append(f"call.settle<{kind}>({name}, {place});")
    else:
        body.arguments[parameter.name] = name


def handle_array(body: Body, parameter: Parameter, core: CoreParameter) -> None:
    kind = HANDLES[parameter.kind]
    name = local(parameter)
    length = parameter.length
    if length == "*":
        body.fail(f"{parameter.name}: an array of unknown length")
    body.declare(f"HandleArray<{kind}> {name}({length});", after_checks=True)
    if parameter.direction == "out":
        body.check(f'{name}.clear(call, {parameter.name}, "{parameter.name}")')
        body.on_success.append(f"if (!{name}.give(call, {parameter.name})) return call.fail();")
    else:
        allowed = str(null_allowed(body.function, parameter)).lower()
        body.check(f'{name}.load(call, {parameter.name}, "{parameter.name}", {allowed})')
        if parameter.direction == "inout":
            body.always.append(f"{name}.settle(call, {parameter.name});")
    body.arguments[parameter.name] = f"{name}.data()"


def handle_out(body: Body, parameter: Parameter) -> None:
    kind = HANDLES[parameter.kind]
    name = local(parameter)
    body.declare(f"{kind}* {name} = nullptr;")
    body.check(f'call.handle_place({parameter.name}, "{parameter.name}")')
    body.arguments[parameter.name] = f"&{name}"
    if body.param("flag") and flag_is_false(body, parameter) == "null":
        body.on_success.append(f"null_out<{kind}>({parameter.name});")
    body.store(parameter, f"*{parameter.name} = call.give<{kind}>({name});")


def number_in(body: Body, parameter: Parameter, core: CoreParameter) -> None:
    name, kind = parameter.name, parameter.kind
    if is_count(parameter):
        error_class = "" if "NUM_ELEM" in kind else ", kErrArg"
        if kind == "POLYXFER_NUM_ELEM_NNI" or name in ("count", "incount", "outcount"):
            error_class = ""
        body.check(f'call.count({name}, "{name}"{error_class})')
        body.arguments[name] = name
    elif kind == "RANK" and name == "dest":
        body.check(f'call.dest({name}, "{name}", core_comm)')
        body.arguments[name] = f"abi::rank_to_core({name})"
    elif kind == "RANK" and name == "source":
        body.check(f'call.source({name}, "{name}", core_comm)')
        body.arguments[name] = f"abi::rank_to_core({name})"
    elif kind == "TAG":
        receives = name == "recvtag" or (name == "tag" and body.param("source") is not None)
        body.check(f'call.{"tag_or_any" if receives else "tag"}({name}, "{name}")')
        body.arguments[name] = f"abi::tag_to_core({name})" if receives else name
    elif name == "disp" and body.function.base_name == "MPI_File_set_view":
        body.arguments[name] = f"displacement_to_core({name})"
    elif kind == "SPLIT_TYPE":
        body.declare(f"const int {local(parameter)} = split_type_to_core({name});")
        body.check(f'call.constant({name}, {local(parameter)}, "{name}", kErrArg)')
        body.arguments[name] = local(parameter)
    elif kind in ENUMERATIONS:
        conversion, error_class = ENUMERATIONS[kind]
        body.declare(f"const int {local(parameter)} = abi::{conversion}_to_core({name});")
        body.check(f'call.constant({name}, {local(parameter)}, "{name}", {error_class})', parameter)
        body.arguments[name] = local(parameter)
    elif core.type == "bool":
        body.arguments[name] = f"{name} != 0"
    else:
        body.arguments[name] = name


def number_out(body: Body, parameter: Parameter, core: CoreParameter) -> None:
    name = parameter.name
    kind = core.type.removesuffix("*")
    start = {"bool": "false"}.get(kind, "0")
    body.check(f'call.pointer({name}, "{name}")')
    if parameter.direction == "inout":
        body.flush()
        conversion = ENUMERATIONS.get(parameter.kind)
        start = f"abi::{conversion[0]}_to_core(*{name})" if conversion else f"*{name}"
    body.declare(f"{kind} {local(parameter)} = {start};")
    if parameter.direction == "inout" and conversion:
        body.check(f'call.constant(*{name}, {local(parameter)}, "{name}", {conversion[1]})')
    body.arguments[name] = f"&{local(parameter)}"
    if parameter.kind == "TOPOLOGY_TYPE":
        store = f"*{name} = topology_from_core({local(parameter)});"
    elif parameter.kind in ENUMERATIONS:
        store = f"*{name} = abi::{ENUMERATIONS[parameter.kind][0]}_from_core({local(parameter)});"
    elif kind in ("Count", "Aint", "Offset"):
        store = f"store_count({local(parameter)}, {name});"
    else:
        store = f"*{name} = {local(parameter)};"
    body.store(parameter, store)


def number_array(body: Body, parameter: Parameter, core: CoreParameter) -> None:
    name = parameter.name
    length = "3" if isinstance(parameter.length, tuple) else parameter.length
    known = length not in ("*", None) and not isinstance(parameter.length, tuple)
    if known:
        body.check(f'call.array({name}, {length}, "{name}")')
    elif name == "array_of_indices":
        body.check(f'call.array({name}, incount, "{name}")')
    elif isinstance(parameter.length, tuple):
        body.check(f'call.array({name}, {parameter.length[0]}, "{name}")')
    if core.type == "CountArray":
        if known and is_count(parameter):
            body.check(f'call.counts(count_array({name}), static_cast<int>({length}), "{name}")')
        body.arguments[name] = f"count_array({name})"
    elif parameter.direction == "in" and parameter.kind in CONVERTED_ARRAYS and known:
        conversion = ENUMERATIONS[parameter.kind][0]
        body.declare(f"IntArray {local(parameter)}({name}, {length});", after_checks=True)
        load = "load_constants" if parameter.kind == "DISTRIB_ENUM" else "load"
        body.check(f'{local(parameter)}.{load}(call, "{name}", abi::{conversion}_to_core)')
        body.arguments[name] = f"{local(parameter)}.get()"
    elif core.type in ("Count*", "Aint*"):
        body.arguments[name] = f"reinterpret_cast<{core.type}>({name})"
    else:
        body.arguments[name] = name
        # A graph's neighbours are ranks and nothing else; what the core leaves alone stays as it is.
        is_graph = "raph_" in body.function.name
        if parameter.direction == "out" and parameter.kind.startswith("RANK") and not is_graph:
            body.on_success.append(f"ranks_from_core({name}, {length});")


def status(body: Body, parameter: Parameter) -> None:
    name = parameter.name
    if parameter.direction != "out":
        body.check(f'call.pointer({name}, "{name}")')
        body.declare(f"Status {local(parameter)} = abi::read_status(*{name});", after_checks=True)
        body.arguments[name] = f"&{local(parameter)}"
        if parameter.direction == "inout":
            body.on_success.append(f"abi::write_status({local(parameter)}, {name});")
        return
    if parameter.is_array:
        length = body.param("count", "incount").name
        body.declare(f"StatusArray {local(parameter)}({name}, {length});", after_checks=True)
        body.check(f'{local(parameter)}.ready(call, "{name}")')
        stored = "core_outcount" if body.param("outcount") else length
        store = f"{local(parameter)}.store({stored});"
    else:
        body.declare(f"StatusOut {local(parameter)}({name});")
        body.check(f'{local(parameter)}.ready(call, "{name}")')
        store = f"{local(parameter)}.store();"
    body.arguments[name] = f"{local(parameter)}.get()"
    body.store(parameter, store)


CUT_BY_CORE = ("comm_name", "type_name", "win_name")
TEXT_ERRORS = {
    "filename": "kErrBadFile",
    "service_name": "kErrService",
    "port_name": "kErrPort",
    "key": "kErrInfoKey",
    "value": "kErrInfoValue",
}
# What limits a string, with its NUL, by (function.parameter) as patterns. Names are cut, by the core; of an
# error's string MPI_Error_string gives what fits.
TEXT_BYTES = [
    (r"MPI_(Comm|Intercomm)_create_from_groups?\.stringtag", "MPI_MAX_STRINGTAG_LEN"),
    (r"MPI_Info_\w+\.key", "MPI_MAX_INFO_KEY"),
    (r"MPI_Info_\w+\.value", "MPI_MAX_INFO_VAL"),
    (r"MPI_\w+\.port_name", "MPI_MAX_PORT_NAME"),
    (r"MPI_Add_error_string\.string", "MPI_MAX_ERROR_STRING + 1"),
]


def string(body: Body, parameter: Parameter) -> None:
    name = parameter.name
    if parameter.direction == "in":
        error = TEXT_ERRORS.get(name, "kErrArg")
        given = f"{body.function.name}.{name}"
        limit = next((limit for pattern, limit in TEXT_BYTES if re.fullmatch(pattern, given)), None)
        if limit:
            check = f'call.text({name}, "{name}", {error}, {limit})'
        elif name.endswith(CUT_BY_CORE):
            check = f'call.pointer({name}, "{name}")'
        else:
            check = f'call.text({name}, "{name}"{f", {error}" if name in TEXT_ERRORS else ""})'
        body.check(check, parameter)
        body.arguments[name] = name
        return
    body.declare(f"std::string {local(parameter)};")
    body.arguments[name] = f"&{local(parameter)}"
    base = body.function.base_name
    if base == "MPI_Info_get_string":
        body.check('call.pointer(buflen, "buflen")')
        body.check(f'call.array({name}, *buflen, "{name}")')
        body.store(parameter, f"store_info_value({local(parameter)}, {name}, buflen);")
    elif base == "MPI_Info_get":
        body.check('call.count(valuelen, "valuelen", kErrArg)')
        body.check(f'call.pointer({name}, "{name}")')
        body.store(parameter, f"store_string({local(parameter)}, {name}, valuelen + 1);")
    elif base == "MPI_Session_get_nth_pset":
        body.check('call.pointer(pset_len, "pset_len")')
        body.check(f'call.array({name}, *pset_len, "{name}")')
        body.on_success.append(f"store_info_value({local(parameter)}, {name}, pset_len);")
    else:
        body.check(f'call.pointer({name}, "{name}")')
        store = f"store_string({local(parameter)}, {name}, {STRING_SIZES[base, name]});"
        if body.param("resultlen"):
            body.check('call.pointer(resultlen, "resultlen")')
            store = f"*resultlen = {store}"
        body.on_success.append(store)


def function_argument(body: Body, parameter: Parameter, core: CoreParameter, with_duplicate: bool) -> None:
    name = parameter.name
    plain = f"reinterpret_cast<AnyFunction>({name})"
    if "copy" in name:
        body.declare(f"const CopyFunction {local(parameter)} = copy_function({plain});")
        if not with_duplicate:
            body.fail(f"{core.name} must be followed by bool duplicate")
        body.arguments[name] = f"{local(parameter)}.function, {local(parameter)}.duplicate"
    elif "delete" in name:
        body.arguments[name] = f"delete_function({plain})"
    else:
        if "conversion" not in name:  # MPI_CONVERSION_FN_NULL is null
            body.check(f'call.pointer(reinterpret_cast<const void*>({name}), "{name}")')
        body.arguments[name] = plain


def significance(body: Body, side: str) -> str:
    """The condition under which the data of `side` (its buffer) need no check; empty: never."""
    name = body.function.base_name
    if GATHER.match(name):
        return {
            "sendbuf": "!roles.member_here || (roles.root_here && abi::is_in_place(sendbuf))",
            "recvbuf": "!roles.root_here",
        }[side]
    if SCATTER.match(name):
        return {
            "sendbuf": "!roles.root_here",
            "recvbuf": "!roles.member_here || (roles.root_here && abi::is_in_place(recvbuf))",
        }[side]
    if BCAST.match(name):
        return "!roles.member_here && !roles.root_here"
    if side in ("origin_addr", "result_addr"):
        unused = " || core_op->predefined == kMpiNoOp" if side == "origin_addr" and body.param("op") else ""
        return f"abi::rank_to_core(target_rank) == kProcNull{unused}"
    if side == "sendbuf" and IN_PLACE_SEND.match(name):
        return "abi::is_in_place(sendbuf)"
    return ""


def skip_if(condition: str, expressions: Iterable[str]) -> str:
    both = " && ".join(expressions)
    if " && " in condition and " || " not in condition:
        condition = f"({condition})"
    return f"({condition} || ({both}))" if condition else f"({both})" if " && " in both else both


def buffer_argument(body: Body, name: str) -> str:
    return f"abi::buffer_to_core({name})"


def data_group(body: Body, group: tuple) -> None:
    buffer_name, count_names, displacement_names, type_names = group
    buffer = body.param(buffer_name)
    counts = body.param(*count_names)
    types = body.param(*type_names)
    displacements = body.param(*displacement_names) if displacement_names and counts.is_array else None
    condition = significance(body, buffer_name)
    peers = "core_comm->peers().size()"
    is_neighbor = NEIGHBOR.match(body.function.base_name)
    if is_neighbor:
        peers = "degrees.out" if buffer_name == "sendbuf" else "degrees.in"
        if not types.is_array:
            condition = f"call.is_without_blocks({peers}, &{local(types)})"
    body.declare(f"Datatype* {local(types)} = nullptr;") if not types.is_array else None
    if types.is_array:
        body.declare(f"HandleArray<Datatype> {local(types)}({peers});", after_checks=True)
        body.arguments[types.name] = f"{local(types)}.data()"
        type_check = (
            f'{local(types)}.load_blocks(call, {types.name}, "{types.name}", count_array({counts.name}))'
        )
    else:
        body.arguments[types.name] = local(types)
        type_check = f'call.committed({types.name}, "{types.name}", &{local(types)})'
    if counts.is_array:
        checks = [f'call.counts(count_array({counts.name}), {peers}, "{counts.name}")', type_check]
        if displacements:
            checks.insert(1, f'call.array({displacements.name}, {peers}, "{displacements.name}")')
            body.arguments[displacements.name] = f"count_array({displacements.name})"
            body.done.add(displacements.name)
        checks.append(f'call.not_in_place({buffer.name}, "{buffer.name}")')
        body.arguments[counts.name] = f"count_array({counts.name})"
    else:
        # Where nothing goes the type need not be one, as MPICH has it.
        is_message = body.param("dest", "source", "message") or BCAST.match(body.function.base_name)
        check = "message" if is_message or is_neighbor else "data"
        checks = [
            f'call.{check}({buffer.name}, "{buffer.name}", {counts.name}, "{counts.name}", {types.name}, '
            f'"{types.name}", &{local(types)})'
        ]
        body.arguments[counts.name] = counts.name
    body.flush() if types.is_array and counts.is_array and not condition else None
    body.check(skip_if(condition, checks))
    body.arguments[buffer.name] = buffer_argument(body, buffer.name)
    body.done |= {buffer.name, counts.name, types.name}


def reduction(body: Body) -> None:
    """The data of reductions: two buffers share count and type (MPI 6.9)."""
    counts = body.param("count", "recvcount", "recvcounts")
    name = body.function.base_name
    body.declare("Datatype* core_datatype = nullptr;")
    body.declare("Op* core_op = nullptr;")
    rooted = REDUCE.match(name)
    nobody = "!roles.member_here && !roles.root_here" if rooted else ""
    if counts.is_array:
        checks = [f'call.counts(count_array({counts.name}), core_comm->size(), "{counts.name}")']
        body.arguments[counts.name] = f"count_array({counts.name})"
    else:
        checks = [f'call.count({counts.name}, "{counts.name}")']
        body.arguments[counts.name] = counts.name
    checks.append('call.committed(datatype, "datatype", &core_datatype)')
    checks.append('call.handle<Op>(op, "op", &core_op)')
    body.check(skip_if(nobody, checks))
    if name == "MPI_Reduce_local":
        buffers = [("inbuf", ""), ("inoutbuf", "")]
    elif rooted:
        buffers = [
            ("sendbuf", "!roles.member_here || (roles.root_here && abi::is_in_place(sendbuf))"),
            ("recvbuf", "!roles.root_here"),
        ]
    else:
        buffers = [("sendbuf", "abi::is_in_place(sendbuf)"), ("recvbuf", "")]
    for buffer, condition in buffers:
        if counts.is_array:
            check = f'call.not_in_place({buffer}, "{buffer}")'
        else:
            check = f'call.buffer({buffer}, "{buffer}", {counts.name}, *core_datatype)'
        body.check(skip_if(condition, [check]))
        body.arguments[buffer] = buffer_argument(body, buffer)
        body.done.add(buffer)
    body.arguments["datatype"] = "core_datatype"
    body.arguments["op"] = "core_op"
    body.done |= {counts.name, "datatype", "op"}


def one_sided(body: Body) -> None:
    """The data of an operation on a window (MPI 12.3): not looked at where the target is MPI_PROC_NULL."""
    nobody = "abi::rank_to_core(target_rank) == kProcNull"
    if body.param("op"):
        body.declare("Op* core_op = nullptr;")
        body.check('call.handle<Op>(op, "op", &core_op)')
        body.arguments["op"] = "core_op"
        body.done.add("op")
    for group in ORIGIN_GROUPS:
        if body.param(*group[1]):
            data_group(body, group)
    types = body.param("target_datatype", "datatype")
    core_type = local(types)
    body.declare(f"Datatype* {core_type} = nullptr;")
    body.check(skip_if(nobody, [f'call.committed({types.name}, "{types.name}", &{core_type})']))
    body.arguments[types.name] = core_type
    body.done.add(types.name)
    if types.name != "datatype":
        return
    for name in ("origin_addr", "compare_addr", "result_addr"):
        if body.param(name):
            check = f'call.buffer({name}, "{name}", 1, *{core_type})'
            body.check(skip_if(significance(body, name) or nobody, [check]))
            body.arguments[name] = buffer_argument(body, name)
            body.done.add(name)


def groups(body: Body) -> None:
    function = body.function
    if body.param("target_rank"):
        one_sided(body)
        return
    if "root" in [parameter.name for parameter in function.parameters] and body.param("comm"):
        body.declare("Call::Roles roles;")
        body.check('call.root(root, "root", core_comm, &roles)')
        body.arguments["root"] = "roles.root"
        body.done.add("root")
    if NEIGHBOR.match(function.base_name):
        body.declare("Call::Degrees degrees;")
        body.check("call.neighborhood(core_comm, &degrees)")
    if body.param("op") and body.param("comm", "inoutbuf") and function.base_name != "MPI_Op_free":
        reduction(body)
        return
    for group in DATA_GROUPS[:-1]:
        buffer, counts, _, types = group
        if body.param(buffer) and body.param(*counts) and body.param(*types):
            data_group(body, group)


def one(body: Body, parameter: Parameter, core: CoreParameter, duplicate_next: bool) -> None:
    kind = parameter.kind
    if kind in HANDLES:
        if parameter.direction == "out" and not parameter.is_array:
            handle_out(body, parameter)
        else:
            handle_in(body, parameter, core)
    elif kind == "STATUS":
        status(body, parameter)
    elif kind == "STRING":
        string(body, parameter)
    elif "FUNCTION" in kind:
        function_argument(body, parameter, core, duplicate_next)
    elif kind in ("BUFFER", "C_BUFFER", "C_BUFFER2") and core.type.endswith("**"):
        body.check(f'call.pointer({parameter.name}, "{parameter.name}")')
        body.declare(f"void* {local(parameter)} = nullptr;")
        body.arguments[parameter.name] = f"&{local(parameter)}"
        body.on_success.append(
            f"*static_cast<void**>({parameter.name}) = abi::buffer_from_core({local(parameter)});"
        )
    elif kind.startswith("ATTRIBUTE_VAL") and parameter.direction == "out":
        keyval = next(p for p in body.function.parameters if p.kind == "KEYVAL")
        body.check(f'call.pointer({parameter.name}, "{parameter.name}")')
        body.declare(f"void* {local(parameter)} = nullptr;")
        body.arguments[parameter.name] = f"&{local(parameter)}"
        value = f"attribute_from_core({local(keyval)}, {local(parameter)})"
        body.store(parameter, f"*static_cast<void**>({parameter.name}) = {value};")
    elif kind == "BUFFER":
        body.arguments[parameter.name] = buffer_argument(body, parameter.name)
    elif kind.startswith(("EXTRA_STATE", "ATTRIBUTE_VAL", "C_BUFFER", "STRING_ARRAY", "ARGUMENT")):
        body.arguments[parameter.name] = parameter.name
    elif kind == "WEIGHT":
        body.arguments[parameter.name] = f"weights_to_core({parameter.name})"
    elif parameter.is_array:
        number_array(body, parameter, core)
    elif parameter.direction == "in":
        number_in(body, parameter, core)
    else:
        number_out(body, parameter, core)


# Lengths of OUT strings, which the core does not need to know.
def is_string_length(body: Body, parameter: Parameter) -> bool:
    return parameter.kind == "STRING_LENGTH" or (
        parameter.kind == "INFO_VALUE_LENGTH" and body.function.base_name != "MPI_Info_get_valuelen"
    )


def pair(body: Body) -> list[tuple[Parameter | None, CoreParameter]]:
    """Each parameter of the core with the MPI parameter that it stands for; None for a large-only one."""
    wanted = [parameter for parameter in body.function.parameters if not is_string_length(body, parameter)]
    core = list(body.core.parameters)
    if body.core.takes_wide:
        core.pop()
    pairs: list[tuple[Parameter | None, CoreParameter]] = []
    for parameter in core:
        if parameter == CoreParameter("bool", "duplicate"):
            continue
        if "large" in parameter.name and not body.function.is_large:
            pairs.append((None, parameter))
            continue
        if not wanted:
            body.fail(f"the core has one parameter too many: {parameter.name}")
        pairs.append((wanted.pop(0), parameter))
    if wanted:
        body.fail(f"the core has no parameter for {', '.join(p.name for p in wanted)}")
    return pairs


def note(body: Body) -> None:
    """What the call is about goes on the rank's line (base/calls/call_board.hpp)."""
    arguments = function_table.line_arguments(body.function)
    owner = arguments.get("object")
    if owner and function_table.is_collective(body.function):
        body.lines.append(f"++{local(owner)}->collective_calls;")
    for field, parameter in arguments.items():
        value = local(parameter) if parameter.kind in HANDLES else body.arguments[parameter.name]
        place = "comm" if field == "object" else field
        body.lines.append(f"call.note(&CallLine::{place}, {value});")


def body(function: Function, core: CoreFunction, is_large: str) -> list[str]:
    """The statements of the entry `function` over `core`, after the one that declares its `call`.

    `is_large` is the expression in C++ for whether the _c form was called: some core functions ask."""
    result = Body(function, core)
    pairs = pair(result)
    names = [parameter.name for parameter in core.parameters]
    owners = [
        (p, c) for p, c in pairs if p and p.kind in ERROR_OWNERS and p.direction != "out" and not p.is_array
    ]
    for parameter, core_parameter in owners:
        one(result, parameter, core_parameter, False)
        result.done.add(parameter.name)
    if re.search("_create_from_groups?$", function.base_name):
        result.declare("call.blame_if_valid_errhandler(errhandler);")
    groups(result)
    for parameter, core_parameter in pairs:
        if parameter is None or parameter.name in result.done:
            continue
        position = names.index(core_parameter.name)
        duplicate_next = position + 1 < len(names) and names[position + 1] == "duplicate"
        one(result, parameter, core_parameter, duplicate_next)
    result.flush()
    note(result)
    arguments = ["call.process"]
    for parameter, core_parameter in pairs:
        if parameter is None:
            arguments.append("nullptr" if core_parameter.type.endswith("*") else "0")
        else:
            arguments.append(result.arguments[parameter.name])
    if core.takes_wide:
        arguments.append(is_large)
    return finish(result, f"api::{core.name}({', '.join(arguments)})")


def finish(result: Body, call: str) -> list[str]:
    if result.function.base_name.endswith("_call_errhandler"):
        return [*result.lines, f"return call.end_with_handler({call});"]
    if result.function.base_name == "MPI_Type_get_contents":
        result.on_success.append("contents_from_core(*core_datatype, array_of_integers);")
    if result.function.base_name == "MPI_Grequest_start":
        # MPI_Grequest_complete may come after MPI_Request_free: the handle is the operation's, too.
        result.on_success.append("call.give<Request>(core_request);")
    if result.on_flag:
        result.on_success += [f"if (core_flag) {{ {' '.join(result.on_flag)} }}"]
    if COMPLETION.match(result.function.base_name):
        result.always += result.on_success
        result.on_success = []
    if not result.always and not result.on_success:
        return [*result.lines, f"return call.end({call});"]
    lines = [*result.lines, f"const Code code = {call};"]
    if result.on_success:
        lines.append("if (code == 0) {")
        lines += [f"  {line}" for line in result.on_success]
        lines.append(f"}} else {{ {result.on_error} }}" if result.on_error else "}")
    return [*lines, *result.always, "return call.end(code);"]
