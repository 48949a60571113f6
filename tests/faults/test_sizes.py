"""Memory that a call needs and that is not to be had: MPI_ERR_NO_MEM from the call, and the rank goes on.

The program (sizes.c) calls each function whose memory follows from its arguments with more than the address
space has room for; on a private heap, since the room of a global one was taken before. With two ranks all of
them are short of it; what one rank alone cannot have is that rank's error, and its peers wait for it, as for
any rank that does not come.
"""

import re

import harness
import pytest
from conftest import HERE

TOO_LONG = [
    *("File_open", "File_delete", "Info_set", "Info_set key", "Info_delete", "Add_error_string"),
    *("Comm_create_from_group", "Publish_name", "Publish_name port", "Lookup_name", "Unpublish_name"),
    *("Comm_connect", "Comm_spawn of a long name", "Comm_spawn with a long argument"),
    *("Register_datarep", "Pack_external"),
]
# What needs no memory however large its arguments are, or refuses them for another reason.
OTHERS = {
    "warm": "right",
    "Group_range_incl": "another error",
    "Dims_create": "right",
    "Reduce": "right",  # in pieces
    "Allreduce": "right",
    "Scan": "right",
    "Comm_spawn": "NO_MEM",
    "File_write_all": "right",
    "File_set_view": "right",
    "File_write_all external32": "right",
    # Strings longer than anything that they could name.
    **dict.fromkeys(TOO_LONG, "another error"),
    "Comm_set_name": "right",  # it is cut
    "Type_set_name": "right",
}
CALLS_MIN = 50


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_takes_too_much_memory_is_an_error_of_the_call(ranks, tmp_path):
    program = harness.compile_program(HERE / "sizes.c", "-Wno-stringop-overread")
    done = harness.run_command(
        harness.PREFIX / "bin/mpiexec", "--heap=private", "-n", ranks, program, tmp_path, timeout=120
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[-1] == "right", done.text
    told = dict(re.fullmatch(r"(.+?) (NO_MEM|right|another error)", line).groups() for line in lines[:-1])
    assert len(told) >= CALLS_MIN
    wrong = {name: how for name, how in told.items() if how != OTHERS.get(name, "NO_MEM")}
    assert not wrong, done.text
