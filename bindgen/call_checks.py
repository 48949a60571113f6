"""What a call checks of each argument, in words, with the class of the error: read from its entry's text.

So the manual pages say what the entries do. The core's further checks are read from the sources of the core
functions, of which the class alone is told: the message of the error says the rest.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

from bindgen import constants, core_functions, entries, entry_body
from bindgen.mpi_functions import Function

SOURCE = Path(__file__).resolve().parent.parent / "src"

NOUNS = {
    "Comm": ("a communicator", "MPI_COMM_NULL", "MPI_ERR_COMM"),
    "Group": ("a group", "MPI_GROUP_NULL", "MPI_ERR_GROUP"),
    "Datatype": ("a datatype", "MPI_DATATYPE_NULL", "MPI_ERR_TYPE"),
    "Op": ("a reduction operation", "MPI_OP_NULL", "MPI_ERR_OP"),
    "Request": ("a request", "MPI_REQUEST_NULL", "MPI_ERR_REQUEST"),
    "Message": ("a message", "MPI_MESSAGE_NULL", "MPI_ERR_REQUEST"),
    "Info": ("an info object", "MPI_INFO_NULL", "MPI_ERR_INFO"),
    "Errhandler": ("an error handler", "MPI_ERRHANDLER_NULL", "MPI_ERR_ERRHANDLER"),
    "Session": ("a session", "MPI_SESSION_NULL", "MPI_ERR_SESSION"),
    "Win": ("a window", "MPI_WIN_NULL", "MPI_ERR_WIN"),
    "File": ("a file", "MPI_FILE_NULL", "MPI_ERR_FILE"),
}

# The checks of Call (src/binding/call/call.hpp) of one argument: what is expected, and the class of the error
# where the check does not name it.
WORDS = {
    "pointer": ("not NULL", "MPI_ERR_ARG"),
    "handle_place": ("not NULL", "MPI_ERR_ARG"),
    "array": ("not NULL, where it has elements", "MPI_ERR_ARG"),
    "text": ("not NULL, below {} characters", "MPI_ERR_ARG"),
    "count": ("0 or more", "MPI_ERR_COUNT"),
    "counts": ("an array of 0 or more", "MPI_ERR_COUNT"),
    "dest": ("a rank of the communicator, or MPI_PROC_NULL", "MPI_ERR_RANK"),
    "source": ("a rank of the communicator, MPI_ANY_SOURCE or MPI_PROC_NULL", "MPI_ERR_RANK"),
    "tag": ("from 0 to MPI_TAG_UB", "MPI_ERR_TAG"),
    "tag_or_any": ("from 0 to MPI_TAG_UB, or MPI_ANY_TAG", "MPI_ERR_TAG"),
    "constant": ("one of MPI's constants for it", "MPI_ERR_ARG"),
    "committed": ("a datatype that is committed", "MPI_ERR_TYPE"),
    "load_blocks": ("datatypes that are committed, where a block has elements", "MPI_ERR_TYPE"),
    "not_in_place": ("not MPI_IN_PLACE", "MPI_ERR_BUFFER"),
    "buffer": ("an address, where there is anything to send or receive", "MPI_ERR_BUFFER"),
    "root": ("a rank of the communicator; between groups also MPI_ROOT or MPI_PROC_NULL", "MPI_ERR_ROOT"),
    "ready": ("not NULL; there is MPI_STATUS_IGNORE, or MPI_STATUSES_IGNORE", "MPI_ERR_ARG"),
}
# Those of several: a buffer, a count, a datatype.
DATA = {"data": ("buffer", "count", "committed"), "message": ("buffer", "count", "committed")}


@dataclass
class Checks:
    of_argument: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # (expectation, error class)
    classes: list[str] = field(default_factory=list)  # all that the call gives, as far as the sources say

    def add(self, argument: str, expected: str, error_class: str) -> None:
        found = self.of_argument.setdefault(argument, [])
        if (expected, error_class) not in found:
            found.append((expected, error_class))
        self.add_class(error_class)

    def add_class(self, error_class: str) -> None:
        if error_class not in self.classes:
            self.classes.append(error_class)


@functools.cache
def _class_names() -> dict[str, str]:
    """kErrNoMem -> MPI_ERR_NO_MEM, kTErrInvalid -> MPI_T_ERR_INVALID."""
    names = {}
    for constant in constants.load():
        if constant.name.startswith(("MPI_ERR_", "MPI_T_ERR_")):
            plain = constant.name.removeprefix("MPI_").replace("_", "").lower()
            names[f"k{plain}"] = constant.name
    return names


def class_name(core_name: str) -> str | None:
    return _class_names().get(core_name.lower())


def _arguments(text: str, begin: int) -> str:
    """Up to the parenthesis that closes the one before `begin`."""
    depth = 1
    for end in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin:end]
    return text[begin:]


def _read(text: str, checks: Checks) -> None:
    for match in re.finditer(r"\b(?:call|core_\w+)\.(\w+)(?:<(\w+)>)?\(", text):
        how, kind = match.groups()
        arguments = _arguments(text, match.end())
        names = re.findall(r'"(\w+)"', arguments)
        if not names:
            continue
        given = re.search(r"\bkErr\w+", arguments)
        if how in DATA:
            for part, name in zip(DATA[how], names, strict=True):
                checks.add(name, *WORDS[part])
        elif how in ("handle", "handle_or_null"):
            noun, null, error_class = NOUNS[kind]
            checks.add(names[0], noun + (f", or {null}" if how.endswith("null") else ""), error_class)
        elif how == "info":
            checks.add(names[0], *NOUNS["Info"][::2])
        elif how in WORDS:
            expected, error_class = WORDS[how]
            error_class = class_name(given.group(0)) if given else error_class
            if how == "text":
                limit = re.search(r"MPI_MAX_\w+", arguments)
                expected = expected.format(limit.group(0) if limit else 65536)
            if how == "constant" and error_class == "MPI_ERR_RANK":
                expected = "a rank, or a constant that stands for one"
            checks.add(names[0], expected, error_class)
            if how == "handle_place":
                checks.add_class("MPI_ERR_NO_MEM")
        elif how == "load" and "requests" in names[0]:
            checks.add(names[0], "requests, or MPI_REQUEST_NULL", "MPI_ERR_REQUEST")


@functools.cache
def _core_bodies() -> dict[str, str]:
    """The definitions of the core functions, by name."""
    found = {}
    for path in sorted(SOURCE.glob("**/*.cpp")):
        for match in re.finditer(r"^Code (\w+)\(Process& process.*?^}\n", path.read_text(), re.M | re.S):
            found.setdefault(match.group(1), match.group(0))
    return found


@functools.cache
def _by_hand() -> str:
    return "".join(path.read_text() for path in sorted((SOURCE / "binding/by_hand").glob("*.cpp")))


def of(function: Function) -> Checks:
    """Of the form without _c; the other one has the same."""
    checks = Checks()
    core = core_functions.read_once().get(entries.core_name(function))
    if entries.chapter_of(function.name) == "tool":
        checks.add_class("MPI_T_ERR_NOT_INITIALIZED")
        if any("*" in parameter.text for parameter in function.parameters):
            checks.add_class("MPI_T_ERR_INVALID")
    elif function.name in entries.HAND_WRITTEN:
        start = _by_hand().find(f"P{function.name}(")
        end = _by_hand().find("\n}\n", start)
        _read(_by_hand()[start:end] if start >= 0 else "", checks)
    elif core and not entries.CONVERSION.match(function.name):
        _read("\n".join(entry_body.body(function, core, "false")), checks)
    for name in re.findall(r"\bkT?Err\w+", _core_bodies().get(core.name, "") if core else ""):
        if (error_class := class_name(name)) and error_class != "MPI_ERR_IN_STATUS":
            checks.add_class(error_class)
    return checks
