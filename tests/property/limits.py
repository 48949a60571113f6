"""The constants MPI_MAX_* hold: a string of one character less is taken and given back whole, a longer one is
refused, or cut where MPI says so, and nothing is written behind that many bytes.

argv: a name for a file. Runs on two processes, with either ABI. Prints "right".
"""

import contextlib
import ctypes
import sys

from mpi import MPI as mpi
from mpi import refused

GUARD = b"#" * 16
EXTENT_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)


def given(function, limit, *arguments):
    """The string that `function` puts into a buffer of `limit` bytes; None stands for that in the arguments,
    and ... for the length that comes back."""
    buffer = ctypes.create_string_buffer(limit + len(GUARD))
    ctypes.memset(buffer, GUARD[0], len(buffer))
    length, words = ctypes.c_int(-1), []
    for p, value in zip(function.parameters, arguments, strict=True):
        value = buffer if value is None else ctypes.byref(length) if value is ... else value
        words.append(function.convert(p, value))
    assert function.raw(*words) == 0, function.name
    assert buffer.raw[limit:] == GUARD, f"{function.name} writes behind {limit} bytes"
    text = buffer.value.decode()
    assert length.value in (-1, len(text)), f"{function.name}: {length.value} is not {len(text)}"
    return text


@contextlib.contextmanager
def too_long(error_class, argument, length, limit):
    """What is done inside is refused in the one line that says so."""
    with refused(error_class, f'{argument} = "', f"has {length} characters, expected at most {limit - 1}"):
        yield


def names():
    limit = mpi.MAX_OBJECT_NAME
    window = mpi.Win_create(None, 0, 1, mpi.INFO_NULL, mpi.COMM_WORLD)
    objects = {"Comm": mpi.Comm_dup(mpi.COMM_SELF), "Type": mpi.Type_contiguous(1, mpi.INT), "Win": window}
    for kind, handle in objects.items():
        for length in (0, limit - 1, limit, limit + 1):  # longer ones are cut (MPI 7.8)
            getattr(mpi, f"{kind}_set_name")(handle, "n" * length)
            text = given(getattr(mpi, f"{kind}_get_name"), limit, handle, None, ...)
            assert text == "n" * min(length, limit - 1), (kind, length, len(text))
    mpi.Win_free(mpi.inout(window))


def infos():
    key_limit, limit = mpi.MAX_INFO_KEY, mpi.MAX_INFO_VAL
    info, key, long_key = mpi.Info_create(), "k" * (key_limit - 1), "k" * key_limit
    mpi.Info_set(info, key, "v" * (limit - 1))
    assert given(mpi.Info_get_nthkey, key_limit, info, 0, None) == key
    assert mpi.Info_get_valuelen(info, key) == (limit - 1, 1)
    flag, length = ctypes.c_int(), ctypes.c_int(limit)
    assert given(mpi.Info_get_string, limit, info, key, length, None, flag) == "v" * (limit - 1)
    assert given(mpi.Info_get, limit, info, key, limit - 1, None, flag) == "v" * (limit - 1)
    assert flag.value == 1 and length.value == limit
    with too_long(mpi.ERR_INFO_VALUE, "value", limit, limit):
        mpi.Info_set(info, key, "v" * limit)
    for call, *more in (
        (mpi.Info_set, "v"),
        (mpi.Info_get_valuelen,),
        (mpi.Info_delete,),
        (mpi.Info_get_string, length, ctypes.create_string_buffer(8)),
        (mpi.Info_get, 1, ctypes.create_string_buffer(8)),
    ):
        with too_long(mpi.ERR_INFO_KEY, "key", key_limit, key_limit):
            code = call.raw(*raw_of(call, info, long_key, *more))
            if code:
                raise mpi.error(code)
    mpi.Info_delete(info, key)
    assert mpi.Info_get_nkeys(info) == 0
    mpi.Info_free(mpi.inout(info))


def raw_of(function, *arguments):
    """The arguments, and places for the results behind them."""
    rest = [ctypes.c_int() for _ in function.parameters[len(arguments) :]]
    return [function.convert(p, v) for p, v in zip(function.parameters, [*arguments, *rest], strict=True)]


def error_strings():
    limit = mpi.MAX_ERROR_STRING
    added = mpi.Add_error_class()
    for number in (added, mpi.Add_error_code(added)):
        for length in (limit - 1, limit):  # MPI takes that many; the final NUL takes the place of one
            mpi.Add_error_string(number, "e" * length)
            assert given(mpi.Error_string, limit, number, None, ...) == "e" * (limit - 1)
        with too_long(mpi.ERR_ARG, "string", limit + 1, limit + 1):
            mpi.Add_error_string(number, "e" * (limit + 1))
        mpi.Remove_error_string(number)
    given(mpi.Error_string, limit, mpi.ERR_TRUNCATE, None, ...)


def ports(service):
    limit = mpi.MAX_PORT_NAME
    opened, long_name, nothing = given(mpi.Open_port, limit, mpi.INFO_NULL, None), "p" * limit, mpi.INFO_NULL
    for port in (opened, "p" * (limit - 1)):
        mpi.Publish_name(service, nothing, port)
        assert given(mpi.Lookup_name, limit, service, nothing, None) == port
        mpi.Unpublish_name(service, nothing, port)
    calls = [lambda: mpi.Publish_name(service, nothing, long_name), lambda: mpi.Close_port(long_name)]
    calls.append(lambda: mpi.Unpublish_name(service, nothing, long_name))
    for call in calls:
        with too_long(mpi.ERR_PORT, "port_name", limit, limit):
            call()
    with refused(mpi.ERR_PORT, "port_name = "):
        mpi.Comm_connect(long_name, nothing, 0, mpi.COMM_SELF)
    mpi.Close_port(opened)


def representations(path):
    limit = mpi.MAX_DATAREP_STRING
    function, name = EXTENT_FUNCTION(lambda *_: 0), "r" * (limit - 1)
    mpi.Register_datarep(name, None, None, function, None)
    with refused(mpi.ERR_ARG, 'datarep = "', f"has {limit} characters, expected 1..{limit - 1}"):
        mpi.Register_datarep("r" * limit, None, None, function, None)
    mode = mpi.MODE_CREATE | mpi.MODE_RDWR | mpi.MODE_DELETE_ON_CLOSE
    file = mpi.File_open(mpi.COMM_SELF, path, mode, mpi.INFO_NULL)
    mpi.File_set_errhandler(file, mpi.ERRORS_RETURN)
    mpi.File_set_view(file, 0, mpi.BYTE, mpi.BYTE, name, mpi.INFO_NULL)
    disp, kinds = ctypes.c_int64(), [mpi.inout(mpi.DATATYPE_NULL), mpi.inout(mpi.DATATYPE_NULL)]
    assert given(mpi.File_get_view, limit, file, disp, *kinds, None) == name
    with refused(mpi.ERR_UNSUPPORTED_DATAREP, 'datarep = "'):
        mpi.File_set_view(file, 0, mpi.BYTE, mpi.BYTE, "r" * limit, mpi.INFO_NULL)
    mpi.File_close(mpi.inout(file))


def string_tags():
    limit, group = mpi.MAX_STRINGTAG_LEN, mpi.Comm_group(mpi.COMM_WORLD)
    sides = [mpi.Group_incl(group, 1, [rank]) for rank in range(2)]
    rest = (mpi.INFO_NULL, mpi.ERRORS_RETURN)
    mine, other = sides[mpi.rank], sides[1 - mpi.rank]
    tag = "t" * (limit - 1)
    assert mpi.Comm_size(mpi.Comm_create_from_group(group, tag, *rest)) == 2
    assert mpi.Comm_remote_size(mpi.Intercomm_create_from_groups(mine, 0, other, 0, tag, *rest)) == 1
    with too_long(mpi.ERR_ARG, "stringtag", limit, limit):
        mpi.Comm_create_from_group(group, tag + "t", *rest)
    with too_long(mpi.ERR_ARG, "stringtag", limit, limit):
        mpi.Intercomm_create_from_groups(mine, 0, other, 0, tag + "t", *rest)


def names_of_the_system():
    """What MPI says of itself fits."""
    assert given(mpi.Get_processor_name, mpi.MAX_PROCESSOR_NAME, None, ...)
    assert given(mpi.Get_library_version, mpi.MAX_LIBRARY_VERSION_STRING, None, ...)
    session, limit = mpi.Session_init(mpi.INFO_NULL, mpi.ERRORS_RETURN), mpi.MAX_PSET_NAME_LEN
    for number in range(mpi.Session_get_num_psets(session, mpi.INFO_NULL)):
        length = ctypes.c_int(limit)
        name = given(mpi.Session_get_nth_pset, limit, session, mpi.INFO_NULL, number, length, None)
        assert length.value == len(name) + 1 <= limit
        mpi.Group_from_session_pset(session, name)
    for length in (limit - 1, limit):
        with refused(mpi.ERR_ARG, "pset_name = "):
            mpi.Group_from_session_pset(session, "s" * length)
    mpi.Session_finalize(mpi.inout(session))


def main():
    mpi.start()
    names()
    infos()
    error_strings()
    ports(f"service of {mpi.rank}, {sys.argv[1]}")
    representations(f"{sys.argv[1]}-{mpi.rank}")
    string_tags()
    names_of_the_system()
    mpi.Barrier(mpi.COMM_WORLD)
    mpi.Finalize()
    if mpi.rank == 0:
        print("right")


if __name__ == "__main__":
    main()
