"""NumPy arrays through mpi4py: arrays.py PLACE. Checks what arrives, and where the arrays lie.

PLACE is `global` when large arrays must lie in this rank's symmetric heap, `private` when they must not.
"""

import sys

import numpy
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
RIGHT, LEFT = (RANK + 1) % SIZE, (RANK - 1) % SIZE
COUNTS = [0, 1, 5, 127, 128, 1000, 4096, 65536, 1 << 20, 3_000_001]


def check(condition, *told):
    if not condition:
        print(f"rank {RANK}:", *told, file=sys.stderr, flush=True)
        COMM.Abort(1)


def array(count, kind, owner, turn):
    """What rank `owner` sends in a turn: another rank can make the same."""
    return (numpy.arange(count, dtype=numpy.float64) * 1.25 + 1000 * owner + turn).astype(kind)


def same(got, expected, what):
    check(numpy.array_equal(got, expected), what, got.shape, got.dtype, "is wrong")


def is_global(data):
    address = data.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if begin <= address < end:
                return "tasuki-heap-" in line
    return False


def send_and_receive(count, kind, turn):
    out, expected = array(count, kind, RANK, turn), array(count, kind, LEFT, turn)
    into = numpy.empty(count, kind)
    if RANK % 2 == 0 and SIZE > 1 and not (SIZE % 2 == 1 and RANK == SIZE - 1):
        COMM.Send(out, RIGHT)
        COMM.Recv(into, LEFT)
    else:
        request = COMM.Irecv(into, LEFT)
        COMM.Send(out, RIGHT) if SIZE > 1 else COMM.Isend(out, RIGHT).Wait()
        request.Wait()
    same(into, expected, "Send and Recv")
    into = numpy.zeros(count, kind)
    COMM.Sendrecv(out, RIGHT, 1, into, LEFT, 1)
    same(into, expected, "Sendrecv")
    same(out, array(count, kind, RANK, turn), "what was sent")
    into = numpy.full(count + 7, 9, kind)
    requests = [COMM.Irecv([into, count, MPI._typedict[kind]], LEFT), COMM.Isend(out, RIGHT)]
    MPI.Request.Waitall(requests)
    same(into[:count], expected, "Isend and Irecv")
    same(into[count:], numpy.full(7, 9, kind), "what lies behind the message")
    COMM.Sendrecv_replace(out, RIGHT, 2, LEFT, 2)
    same(out, expected, "Sendrecv_replace")


def columns(turn):
    """Every second row and part of the columns: a datatype with gaps, out of an array and into one."""
    whole = array(600 * 500, "d", RANK, turn).reshape(600, 500)
    kind = MPI.DOUBLE.Create_vector(300, 200, 1000).Commit()
    into = numpy.zeros((600, 500))
    COMM.Sendrecv([whole.ravel()[100:], 1, kind], RIGHT, 3, [into.ravel()[100:], 1, kind], LEFT, 3)
    kind.Free()
    expected = numpy.zeros((600, 500))
    expected[::2, 100:300] = array(600 * 500, "d", LEFT, turn).reshape(600, 500)[::2, 100:300]
    same(into, expected, "a part of a matrix")


def collectives(count, turn):
    root = turn % SIZE
    data = array(count, "d", root, turn) if RANK == root else numpy.empty(count)
    COMM.Bcast(data, root)
    same(data, array(count, "d", root, turn), "Bcast")
    total = numpy.empty(count)
    COMM.Allreduce(array(count, "d", RANK, turn).round(), total)
    same(total, sum(array(count, "d", rank, turn).round() for rank in range(SIZE)), "Allreduce")
    gathered = numpy.empty((SIZE, count), "i")
    COMM.Allgather(array(count, "i", RANK, turn), gathered)
    for rank in range(SIZE):
        same(gathered[rank], array(count, "i", rank, turn), "Allgather")


def main():
    for turn, count in enumerate(COUNTS):
        for kind in ("d", "f", "i", "b"):
            send_and_receive(count, kind, turn)
        collectives(count, turn)
    for turn in range(3):
        columns(turn)
    wanted = sys.argv[1] == "global"
    for large in (numpy.empty(1 << 20), numpy.zeros(1 << 22), numpy.arange(1 << 16)):
        check(is_global(large) == wanted, f"an array of {large.nbytes} bytes: global is {not wanted}")
    # Freed memory that a peer has just read or written is given out again.
    for turn in range(50):
        same(
            COMM.sendrecv(array(100_000, "d", RANK, turn), RIGHT, 4, None, LEFT, 4),
            array(100_000, "d", LEFT, turn),
            "",
        )
    COMM.Barrier()
    if RANK == 0:
        print("right")


main()
