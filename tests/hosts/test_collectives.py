"""Collectives over hosts are right on every shape, also by algorithms with parts within hosts and between."""

import pathlib

import harness
from harness import compile_program

pytestmark = harness.needs("libfabric")

HERE = pathlib.Path(__file__).resolve().parent
MPIEXEC = harness.PREFIX / "bin/mpiexec"
SHAPES = ["node1:2,node2:2", "node1:1,node2:1,node3:1", "node1:2,node2:2,node3:2", "node1:1,node2:3"]
OPERATIONS = ["allgather", "alltoallv", "bcast", "gatherv", "reduce", "scatterv"]


def hierarchical():
    """The settings that ask for it in all of these."""
    return {f"TASUKI_{operation.upper()}_ALGORITHM": "hierarchical" for operation in OPERATIONS}


def test_all_are_right_on_every_shape(hosts):
    program = compile_program(HERE / "shapes.c")
    for shape in SHAPES:
        for words, settings in ([], {}), (["threads"], hierarchical()):
            done = hosts[0].run([MPIEXEC, "--host", shape, program, *words], environment=settings)
            assert done.returncode == 0 and done.stdout == "well\n", f"{shape}: {done.text}"
