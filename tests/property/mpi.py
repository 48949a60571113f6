"""MPI for the programs of these tests: every C function of the library, called through ctypes.

What the generator knows of each function (names, C types, directions, lengths) makes the calls short:

    from mpi import MPI as mpi
    size = mpi.Comm_size(mpi.COMM_WORLD)                 # OUT scalars, handles and statuses come back
    mpi.Send(buffer, 3, mpi.INT, 1, 0, mpi.COMM_WORLD)   # IN arrays may be Python sequences
    mpi.Type_free(mpi.inout(t))                          # INOUT scalars are ctypes objects; inout() makes one

A handle is a Python int. An error of MPI raises MpiError, with its class and text: MPI_ERRORS_RETURN is set
on MPI_COMM_WORLD and MPI_COMM_SELF, from which communicators inherit it. Buffers: addresses, ctypes arrays,
or bytearrays. mpi.X.raw is the function as ctypes has it.

The library is $PROPERTY_LIBRARY, of the ABI $PROPERTY_ABI; its description, which mpi_description.py writes,
is $PROPERTY_API.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import pathlib
import random
import re
import sys
import time
import traceback

SCALARS = {
    "int": ctypes.c_int,
    "MPI_Fint": ctypes.c_int,
    "MPI_Aint": ctypes.c_ssize_t,
    "MPI_Count": ctypes.c_int64,
    "MPI_Offset": ctypes.c_int64,
    "double": ctypes.c_double,
    "char": ctypes.c_char,
    "void": None,
}
HANDLES = "Comm Datatype Errhandler File Group Info Message Op Request Session Win".split()
# Statuses and texts are made by hand; the rest of the OUT scalars are what they say.
STRING_BYTES = 8192


class MpiError(Exception):
    def __init__(self, error_class: int, text: str) -> None:
        super().__init__(text)
        self.error_class = error_class
        self.text = text


class Parameter:
    """One parameter of a C function: what bindgen says of it, and its ctypes type."""

    def __init__(self, row: list, handle: type) -> None:
        self.name, self.text, self.kind, self.direction, self.length, self.is_const = row
        words = self.text.replace("const ", "")
        self.is_pointer = "*" in words or "[" in words
        self.base = re.match(r"\w+", words).group(0) if words != "..." else "..."
        self.is_handle = self.base.removeprefix("MPI_") in HANDLES
        self.element = handle if self.is_handle else SCALARS.get(self.base, ctypes.c_void_p)
        self.ctype = ctypes.c_void_p if self.is_pointer else self.element
        self.is_status = self.base == "MPI_Status"
        self.is_text_out = self.kind == "STRING" and self.direction == "out"
        # What comes back as a result instead of being passed: a single value behind a pointer.
        self.is_result = (
            self.direction == "out" and self.is_pointer and self.length is None and "[" not in self.text
            and self.base != "void"
        ) or (self.is_text_out and self.base == "char")  # fmt: skip


class Status:
    """A status as C lays it out in this ABI."""

    def __init__(self, api: Api, fields=None) -> None:
        self._fields = fields or (ctypes.c_int * (8 if api.abi == "standard" else 5))()
        self._offset = 0 if api.abi == "standard" else 2
        self._as_parameter_ = ctypes.c_void_p(ctypes.addressof(self._fields))

    source = property(lambda self: self._fields[self._offset])
    tag = property(lambda self: self._fields[self._offset + 1])
    error = property(lambda self: self._fields[self._offset + 2])


class Function:
    def __init__(self, api: Api, row: dict) -> None:
        self.api, self.name, self.base, self.chapter = api, row["name"], row["base"], row["chapter"]
        self.parameters = [Parameter(parameter, api.handle) for parameter in row["parameters"]]
        self.raw = getattr(api.library, self.name)
        self.raw.restype = ctypes.c_int if row["returns"] == "int" else SCALARS.get(row["returns"])
        if "..." not in [parameter.text for parameter in self.parameters]:
            self.raw.argtypes = [parameter.ctype for parameter in self.parameters]

    def convert(self, parameter: Parameter, value):
        if isinstance(value, Status):
            return value._as_parameter_
        if isinstance(value, bytearray):
            return self.api.address(value)
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, (list, tuple)) and parameter.is_pointer:
            flat = [item for row in value for item in (row if isinstance(row, tuple) else (row,))]
            return (parameter.element * len(flat))(*flat)
        if parameter.is_pointer and isinstance(value, (ctypes._SimpleCData, ctypes.Structure)):
            return ctypes.byref(value)
        return value

    def __call__(self, *arguments):
        given, words, results = iter(arguments), [], []
        for parameter in self.parameters:
            if not parameter.is_result:
                words.append(self.convert(parameter, next(given)))
            elif parameter.is_status:
                results.append(Status(self.api))
                words.append(results[-1]._as_parameter_)
            elif parameter.is_text_out:
                results.append(ctypes.create_string_buffer(STRING_BYTES))
                words.append(results[-1])
            else:
                results.append(parameter.element())
                words.append(ctypes.byref(results[-1]))
        assert next(given, None) is None, f"{self.name}: too many arguments"
        code = self.raw(*words)
        if self.raw.restype is ctypes.c_int and code != 0:
            raise self.api.error(code)
        return self.give(results)

    @staticmethod
    def give(results: list):
        values = [result if isinstance(result, Status) else result.value for result in results]
        values = [value.decode() if isinstance(value, bytes) else value for value in values]
        return values[0] if len(values) == 1 else tuple(values) if values else None


class Api:
    """The library: functions and constants as attributes, without the MPI_ before their names."""

    def __init__(self) -> None:
        self.abi = os.environ.get("PROPERTY_ABI", "standard")
        self.library = ctypes.CDLL(os.environ["PROPERTY_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
        description = json.loads(pathlib.Path(os.environ["PROPERTY_API"]).read_text())
        self.handle = ctypes.c_void_p if self.abi == "standard" else ctypes.c_int
        self.rows = {row["name"]: row for row in description["functions"]}
        self.constants, self.category = {}, {}
        for name, category, standard, mpich in description["constants"]:
            value = standard if self.abi == "standard" else mpich
            if isinstance(value, int):
                self.category[name] = category
                signed = self.abi == "mpich" and value >= 2**31 and category in map(str.lower, HANDLES)
                self.constants[name] = value - 2**32 if signed else value

    def __getattr__(self, short: str):
        name = f"MPI_{short}"
        if name in self.constants:
            value = self.constants[name]
        elif name in self.rows:
            value = Function(self, self.rows[name])
        else:
            raise AttributeError(name)
        setattr(self, short, value)
        return value

    @staticmethod
    def address(buffer: bytearray, offset: int = 0) -> int:
        if not buffer:
            return 0
        return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer)) + offset

    def inout(self, handle: int):
        return self.handle(handle)

    def statuses(self, n: int):
        return ((ctypes.c_int * (8 if self.abi == "standard" else 5)) * max(n, 1))()

    def status_of(self, fields) -> Status:
        """One of statuses(n)."""
        return Status(self, fields)

    def error(self, code: int) -> MpiError:
        return MpiError(self.Error_class(code), self.Error_string(code)[0])

    def start(self, level: int | None = None) -> None:
        """MPI_Init_thread; from then on errors are exceptions. A hanging program tells where."""
        faulthandler.dump_traceback_later(float(os.environ.get("PROPERTY_SECONDS", "300")), exit=True)
        self.Init_thread(None, None, self.THREAD_SINGLE if level is None else level)
        for comm in (self.COMM_WORLD, self.COMM_SELF):
            self.Comm_set_errhandler(comm, self.ERRORS_RETURN)
        self.rank, self.size = self.Comm_rank(self.COMM_WORLD), self.Comm_size(self.COMM_WORLD)


MPI = Api()


@contextlib.contextmanager
def refused(error_class: int, *words: str):
    """What is done inside must be refused by this class of error, with a text that holds all of `words`."""
    try:
        yield
    except MpiError as error:
        assert error.error_class == error_class, f"class {error.error_class}, not {error_class}: {error.text}"
        assert all(word in error.text for word in words), f"{words} not all in: {error.text}"
    else:
        raise AssertionError(f"nothing was refused, expected class {error_class} with {words}")


def run_rounds(one_round, level: int | None = None) -> None:
    """The main of a program: one_round(random, number) again and again, from one seed, on all ranks alike.

    argv: the seed, the number of rounds, and the seconds after which no further round begins. Round r of seed
    s is round 0 of seed s + r: what fails says how it is done again. Rank 0 says whether there is time left.
    """
    seed, rounds, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    MPI.start(level)
    begin = time.monotonic()
    more = ctypes.c_int(1)
    for number in range(rounds):
        try:
            one_round(random.Random(seed + number), number)
        except BaseException:
            sys.stderr.write(
                f"rank {MPI.rank} of {MPI.size}: seed {seed + number} failed; again: "
                f"{pathlib.Path(sys.argv[0]).name} {seed + number} 1 100\n{traceback.format_exc()}"
            )
            sys.stderr.flush()
            MPI.Abort(MPI.COMM_WORLD, 1)
        more.value = time.monotonic() - begin < seconds
        MPI.Bcast(ctypes.byref(more), 1, MPI.INT, 0, MPI.COMM_WORLD)
        if not more.value:
            break
    MPI.Finalize()
    if MPI.rank == 0:
        print(f"right: {number + 1} rounds from seed {seed}", flush=True)
