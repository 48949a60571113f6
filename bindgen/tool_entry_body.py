"""The bodies of the MPI_T entries: src/tool/api.hpp says what the core functions look like.

They differ from all others: legal at any time, no error handler is invoked, handles are numbers
in the core, a string's length goes in and out, and the OUT arguments of MPI_T_*_get_info may be null.
"""

from __future__ import annotations

from bindgen.core_functions import CoreFunction
from bindgen.mpi_functions import Function, Parameter

# Kinds whose values have other numbers in the core: the name of the conversion.
ENUMERATIONS = {
    "TOOL_VAR_VERBOSITY": "verbosity",
    "BIND_TYPE": "bind",
    "VARIABLE_SCOPE": "scope",
    "PVAR_CLASS": "pvar_class",
    "THREAD_LEVEL": "thread_level",
    "SOURCE_ORDERING": "source_order",
    "CALLBACK_SAFETY": "cb_safety",
}
HANDLES = {"TOOLS_ENUM", "CVAR", "PVAR", "PVAR_SESSION", "EVENT_REGISTRATION", "EVENT_INSTANCE"}
HAVE_NULL = {"TOOLS_ENUM", "CVAR", "PVAR", "PVAR_SESSION"}  # of the handles
CALLBACKS = {"EVENT_CB_FUNCTION", "EVENT_DROP_CB_FUNCTION", "EVENT_FREE_CB_FUNCTION"}


class Body:
    """The statements of one entry as they come together."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.first: list[str] = []  # before anything can fail
        self.required: list[str] = []  # addresses that must not be null
        self.before: list[str] = []
        self.arguments: list[str] = ["call.process"]
        self.after: list[str] = []
        self.may_be_null = function.name.endswith("_get_info")

    def out(self, parameter: Parameter, kind: str, value: str) -> None:
        """A scalar OUT argument: a local of type `kind`, whose `value` the user gets."""
        name = f"core_{parameter.name}"
        self.before.append(f"{kind} {name}{{}};")
        self.arguments.append(f"&{name}")
        store = f"*{parameter.name} = {value.format(name)};"
        if self.may_be_null:
            store = f"if ({parameter.name} != nullptr) {store}"
        else:
            self.required.append(parameter.name)
        self.after.append(store)


def string(body: Body, parameter: Parameter) -> None:
    if parameter.direction == "in":
        body.required.append(parameter.name)
        body.arguments.append(parameter.name)
        return
    parameters = body.function.parameters
    length = parameters[parameters.index(parameter) + 1].name
    body.before.append(f"std::string core_{parameter.name};")
    body.arguments.append(f"&core_{parameter.name}")
    body.after.append(f"store_tool_string(core_{parameter.name}, {parameter.name}, {length});")


def handle(body: Body, parameter: Parameter) -> None:
    name = parameter.name
    convert = "performance_handle" if parameter.kind == "PVAR" else "tool_handle_of"
    kind = parameter.text.removesuffix(name).replace("*", "").strip()
    if parameter.direction == "in":
        body.arguments.append(f"{convert}({name})")
    elif parameter.direction == "out":
        if parameter.kind in HAVE_NULL:  # after an error, too
            body.first.append(f"if ({name} != nullptr) *{name} = pointer_of<{kind}>(0);")
        body.out(parameter, "ToolHandle", f"pointer_of<{kind}>({{}})")
    else:
        body.required.append(name)
        body.before.append(f"ToolHandle core_{name} = {name} != nullptr ? {convert}(*{name}) : 0;")
        body.arguments.append(f"&core_{name}")
        body.after.append(f"*{name} = pointer_of<{kind}>(core_{name});")


def info(body: Body, parameter: Parameter) -> None:
    name = parameter.name
    if parameter.direction == "in":
        body.before.append(f"Info* core_{name} = nullptr;")
        body.before.append(f"if (!call.info({name}, &core_{name})) return call.end(kErrInfo);")
        body.arguments.append(f"core_{name}")
        return
    body.before.append(f"Info* core_{name} = nullptr;")
    if body.function.name.endswith(("handle_get_info", "callback_get_info")):
        body.required.append(name)
    body.arguments.append(f"{name} != nullptr ? &core_{name} : nullptr")
    body.after.append(f"if ({name} != nullptr) *{name} = call.give(core_{name});")


def array(body: Body, parameter: Parameter) -> None:
    name = parameter.name
    if parameter.kind == "DATATYPE":
        body.before.append(f"Datatype* core_{name}[kEventElementsMax];")
        body.arguments.append(f"{name} != nullptr ? core_{name} : nullptr")
        count = "std::min(elements_max, core_num_elements)"
        body.after.append(
            f"for (int i = 0; {name} != nullptr && i < {count}; ++i) {name}[i] = call.give(core_{name}[i]);"
        )
    elif parameter.kind == "DISPLACEMENT_NNI":
        body.arguments.append(name)
    else:
        body.before.append(f"if ({name} == nullptr && {parameter.length} > 0) return call.end(kTErrInvalid);")
        body.arguments.append(name)


def one(body: Body, parameter: Parameter) -> None:
    kind, name = parameter.kind, parameter.name
    if kind == "STRING":
        string(body, parameter)
    elif kind in HANDLES:
        handle(body, parameter)
    elif kind == "INFO":
        info(body, parameter)
    elif parameter.is_array:
        array(body, parameter)
    elif kind == "ARRAY_LENGTH_NNI":  # how many elements the arrays have, then how many there are
        body.before.append(f"const int elements_max = {name} != nullptr ? *{name} : 0;")
        body.before.append(f"int core_{name} = elements_max;")
        body.arguments.append(f"&core_{name}")
        body.after.append(f"if ({name} != nullptr) *{name} = core_{name};")
    elif kind == "DATATYPE":
        body.out(parameter, "Datatype*", "call.give({})")
    elif kind in CALLBACKS:
        body.arguments.append(f"reinterpret_cast<AnyFunction>({name})")
    elif kind in ("BUFFER", "C_BUFFER"):
        body.required.append(name)
        body.arguments.append(name)
    elif kind == "EXTRA_STATE":
        body.arguments.append(name)
    elif kind == "TOOL_MPI_OBJ":
        if "pvar" in body.function.name:
            body.arguments.append(f"call.object(performance_bind(pvar_index), {name})")
    elif kind in ENUMERATIONS and parameter.direction == "in":
        body.arguments.append(f"abi::{ENUMERATIONS[kind]}_to_core({name})")
    elif kind in ENUMERATIONS:
        value = f"abi::{ENUMERATIONS[kind]}_from_core({{}})"
        if kind == "SOURCE_ORDERING":
            value = f"static_cast<MPI_T_source_order>({value})"
        body.out(parameter, "int", value)
    elif parameter.direction == "in":
        body.arguments.append(name)
    else:
        body.out(parameter, "Count" if "MPI_Count" in parameter.text else "int", "{}")


def body(function: Function, core: CoreFunction) -> list[str]:
    """The statements of the entry `function` over `core`."""
    result = Body(function)
    for parameter in function.parameters:
        if parameter.kind != "STRING_LENGTH":
            one(result, parameter)
    if len(result.arguments) != len(core.parameters) + 1:
        raise SystemExit(
            f"{function.name}: {core.name} in {core.header} takes {len(core.parameters)} arguments and the "
            f"process, expected {len(result.arguments) - 1}"
        )
    starts = function.name == "MPI_T_init_thread"
    lines = ["ToolCall call;", *result.first]
    if not starts:
        lines.append("if (!call.initialized()) return call.end(kTErrNotInitialized);")
    if result.required:
        nulls = " || ".join(f"{name} == nullptr" for name in result.required)
        lines.append(f"if ({nulls}) return call.end(kTErrInvalid);")
    lines += result.before
    lines.append(f"const Code code = api::{core.name}({', '.join(result.arguments)});")
    lines.append("if (code != 0) return call.end(code);")
    return [*lines, *result.after, "return MPI_SUCCESS;"]
