"""Counts, displacements and sizes beyond 2^31 and 2^32, in memory that is mostly not there.

A Sparse buffer is address space without memory behind it but for the pages that are written. A Loop is a
small piece of memory that is mapped again and again, so that a message of more than 4 GiB costs next to
nothing. Every function check_* is one property; all run on all ranks.
"""

import ctypes
import mmap
import os
import sys

from mpi import MPI as mpi
from mpi import MpiError, refused

G = 1 << 30
TWO_31, TWO_32 = 1 << 31, 1 << 32
INT_MAX = TWO_31 - 1
COUNT_MAX = (1 << 63) - 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
MAP_FIXED, MAP_NORESERVE = 0x10, 0x4000


def mapped(address, size, flags, fd=-1):
    got = libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    assert got not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
    return got


class Sparse:
    def __init__(self, size):
        self.size = size
        self.address = mapped(None, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)

    def put(self, at, values):
        (ctypes.c_int * len(values)).from_address(self.address + at)[:] = values

    def get(self, at, n=1):
        return list((ctypes.c_int * n).from_address(self.address + at))

    def free(self):
        libc.munmap(self.address, self.size)


class Loop:
    """`size` bytes, of which each piece of `period` is the same memory."""

    def __init__(self, size, period):
        self.size = -(-size // period) * period
        self.address = mapped(None, self.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        fd = os.memfd_create("loop")
        os.ftruncate(fd, period)
        for at in range(0, self.size, period):
            mapped(self.address + at, period, mmap.MAP_SHARED | MAP_FIXED, fd)
        os.close(fd)

    def free(self):
        libc.munmap(self.address, self.size)


def committed(handle):
    mpi.Type_commit(mpi.inout(handle))
    return handle


def free(*handles):
    for handle in handles:
        mpi.Type_free(mpi.inout(handle))


def far_types():
    """Types of three ints at 0, 2^31 + 8 and 2^32 + 16 bytes, by every constructor that can say so."""
    at = [0, TWO_31 + 8, TWO_32 + 16]
    yield "hindexed", mpi.Type_create_hindexed(3, [1, 1, 1], at, mpi.INT), at
    yield "hindexed_c", mpi.Type_create_hindexed_c(3, [1, 1, 1], at, mpi.INT), at
    yield "hindexed_block_c", mpi.Type_create_hindexed_block_c(3, 1, at, mpi.INT), at
    yield "struct", mpi.Type_create_struct(3, [1, 1, 1], at, [mpi.INT] * 3), at
    yield "struct_c", mpi.Type_create_struct_c(3, [1, 1, 1], at, [mpi.INT] * 3), at
    places = [place // 4 for place in at]
    yield "indexed_c", mpi.Type_indexed_c(3, [1, 1, 1], places, mpi.INT), at
    yield "indexed", mpi.Type_indexed(3, [1, 1, 1], places, mpi.INT), at
    yield "indexed_block_c", mpi.Type_create_indexed_block_c(3, 1, places, mpi.INT), at
    even = [0, TWO_32 + 12, 2 * TWO_32 + 24]
    yield "vector_c", mpi.Type_vector_c(3, 1, even[1] // 4, mpi.INT), even
    yield "hvector", mpi.Type_create_hvector(3, 1, even[1], mpi.INT), even
    yield "hvector_c", mpi.Type_create_hvector_c(3, 1, even[1], mpi.INT), even
    wide = mpi.Type_create_resized_c(mpi.INT, 0, even[1])
    yield "resized_c", mpi.Type_contiguous(3, wide), even
    free(wide)
    column = [12, TWO_32 + 12, 2 * TWO_32 + 12]
    sizes, start = [3, G], [0, 3]
    yield "subarray_c", mpi.Type_create_subarray_c(2, sizes, [3, 1], start, mpi.ORDER_C, mpi.INT), column
    yield "subarray", mpi.Type_create_subarray(2, sizes, [3, 1], start, mpi.ORDER_C, mpi.INT), column
    kinds, args = [mpi.DISTRIBUTE_NONE, mpi.DISTRIBUTE_CYCLIC], [mpi.DISTRIBUTE_DFLT_DARG, 1]
    darray = mpi.Type_create_darray_c(G, 3, 2, sizes, kinds, args, [1, G], mpi.ORDER_C, mpi.INT)
    yield "darray_c", darray, column


def check_far_types():
    """Extents, sizes, packing, sending to itself and to the neighbour, for each constructor."""
    size, rank = mpi.size, mpi.rank
    source, target = Sparse(13 * G), Sparse(13 * G)
    for name, handle, at in far_types():
        committed(handle)
        assert mpi.Type_size(handle) == 12, name
        assert mpi.Type_get_true_extent_c(handle) == (at[0], at[-1] - at[0] + 4), name
        values = [[100 * owner + i for i in range(3)] for owner in range(size)]
        for place, value in zip(at, values[rank], strict=True):
            source.put(place, [value])
        box, position = (ctypes.c_int * 3)(), ctypes.c_int64(0)
        mpi.Pack_c(source.address, 1, handle, box, 12, position, mpi.COMM_SELF)
        assert (list(box), position.value) == (values[rank], 12), name
        left, right = (rank - 1) % size, (rank + 1) % size
        plain = (ctypes.c_int * 3)()
        world = mpi.COMM_WORLD
        mpi.Sendrecv_c(source.address, 1, handle, right, 1, plain, 3, mpi.INT, left, 1, world)
        assert list(plain) == values[left], name
        status = mpi.Sendrecv(plain, 3, mpi.INT, right, 2, target.address, 1, handle, left, 2, world)
        assert [target.get(place)[0] for place in at] == values[left - 1], name
        assert (mpi.Get_count(status, handle), mpi.Get_elements(status, handle)) == (1, 3)
        mpi.Bcast_c(source.address, 1, handle, 0, world)
        assert [source.get(place)[0] for place in at] == values[0], name
        free(handle)
    source.free()
    target.free()


def check_sizes_that_fit_no_int():
    """The int forms give MPI_UNDEFINED, the others the number."""
    for n in (INT_MAX, TWO_31, TWO_32, TWO_32 + 5, 1 << 40):
        handle = committed(mpi.Type_contiguous_c(n, mpi.BYTE))
        fits = n <= INT_MAX
        assert mpi.Type_size(handle) == (n if fits else mpi.UNDEFINED)
        assert mpi.Type_size_c(handle) == mpi.Type_size_x(handle) == n
        assert mpi.Type_get_extent(handle) == mpi.Type_get_extent_c(handle) == (0, n)
        assert mpi.Pack_size(1, handle, mpi.COMM_SELF) == (n if fits else mpi.UNDEFINED)
        assert mpi.Pack_size_c(3, handle, mpi.COMM_SELF) == 3 * n
        assert mpi.Pack_external_size("external32", 1, handle) == n  # an MPI_Aint
        check_status_counts(n, handle)
        free(handle)


def check_status_counts(n, handle):
    fits = n <= INT_MAX
    status = mpi.statuses(1)
    for base, width in ((mpi.BYTE, 1), (mpi.INT, 4)):
        mpi.Status_set_elements_c(status, base, n)
        assert mpi.Get_elements(status, base) == (n if fits else mpi.UNDEFINED)
        assert mpi.Get_elements_c(status, base) == mpi.Get_elements_x(status, base) == n
        assert mpi.Get_count(status, base) == (n if fits else mpi.UNDEFINED)
        assert mpi.Get_count_c(status, base) == n
        mpi.Status_set_elements_x(status, base, n + 1)
        assert mpi.Get_elements_c(status, base) == n + 1, width
    mpi.Status_set_elements_c(status, handle, 2 * n)
    assert (mpi.Get_count(status, handle), mpi.Get_count_c(status, handle)) == (2, 2)
    assert mpi.Get_elements(status, handle) == (2 * n if 2 * n <= INT_MAX else mpi.UNDEFINED)


def check_decoding_of_wide_numbers():
    """What only the _c form can say comes back by the _c form, and is refused by the other one."""
    n, stride = TWO_32 + 7, 1 << 20
    handle = mpi.Type_vector_c(n, 2, stride, mpi.INT)
    assert mpi.Type_get_envelope_c(handle) == (0, 0, 3, 1, mpi.COMBINER_VECTOR)
    counts, types = (ctypes.c_int64 * 3)(), (mpi.handle * 1)()
    mpi.Type_get_contents_c(handle, 0, 0, 3, 1, None, None, counts, types)
    assert (list(counts), types[0]) == ([n, 2, stride], mpi.INT)
    with refused(mpi.ERR_TYPE):
        mpi.Type_get_envelope(handle)
    assert mpi.Type_size_c(handle) == 8 * n
    assert mpi.Type_get_extent_c(handle)[1] == 4 * ((n - 1) * stride + 2)
    free(handle)


def check_overflow_is_refused():
    """Bytes that 63 bits do not count: a clear error, not a small number."""
    for count in (COUNT_MAX, 1 << 61, 1 << 60):
        with refused(mpi.ERR_TYPE):
            mpi.Type_contiguous_c(count, mpi.DOUBLE)
    with refused(mpi.ERR_TYPE):
        mpi.Type_vector_c(1 << 33, 1, 1 << 33, mpi.DOUBLE)
    with refused(mpi.ERR_TYPE):
        mpi.Type_indexed_c(2, [1, 1], [0, 1 << 61], mpi.DOUBLE)
    with refused(mpi.ERR_TYPE):
        mpi.Type_create_subarray_c(2, [1 << 32, 1 << 32], [1, 1], [0, 0], mpi.ORDER_C, mpi.INT)
    box, self_ = (ctypes.c_double * 4)(), mpi.COMM_SELF
    huge = 1 << 61
    for call in (
        lambda: mpi.Send_c(box, huge, mpi.DOUBLE, 0, 0, self_),
        lambda: mpi.Isend_c(box, huge, mpi.DOUBLE, 0, 0, self_),
        lambda: mpi.Irecv_c(box, huge, mpi.DOUBLE, 0, 0, self_),
        lambda: mpi.Send_init_c(box, huge, mpi.DOUBLE, 0, 0, self_),
        lambda: mpi.Bcast_c(box, huge, mpi.DOUBLE, 0, self_),
        lambda: mpi.Allreduce_c(box, ctypes.byref(box, 8), huge, mpi.DOUBLE, mpi.SUM, self_),
        lambda: mpi.Pack_size_c(huge, mpi.DOUBLE, self_),
        lambda: mpi.Status_set_elements_c(mpi.statuses(1), mpi.DOUBLE, huge),
    ):
        try:
            call()
        except MpiError as error:
            assert error.error_class in (mpi.ERR_COUNT, mpi.ERR_ARG), error.text
            assert str(huge) in error.text and "count" in error.text, error.text
        else:
            raise AssertionError("bytes that no number can count were accepted")


def check_huge_counts_of_nothing():
    """Counts beyond 2^32 of a type without data move nothing, and quickly."""
    empty = committed(mpi.Type_contiguous(0, mpi.INT))
    right, left = (mpi.rank + 1) % mpi.size, (mpi.rank - 1) % mpi.size
    count, box = TWO_32 * 9, ctypes.c_int(7)
    words = (ctypes.byref(box), count, empty)
    status = mpi.Sendrecv_c(*words, right, 4, *words, left, 4, mpi.COMM_WORLD)
    assert mpi.Get_elements_c(status, mpi.BYTE) == 0
    mpi.Bcast_c(*words, 0, mpi.COMM_WORLD)
    position = ctypes.c_int64(0)
    mpi.Pack_c(*words, ctypes.byref(box), 4, position, mpi.COMM_SELF)
    assert (position.value, box.value) == (0, 7)
    free(empty)


def check_pack_at_far_positions():
    box = Sparse(6 * G)
    values, back = (ctypes.c_int * 2)(5, 6), (ctypes.c_int * 2)()
    position = ctypes.c_int64(TWO_32 + 12)
    mpi.Pack_c(values, 2, mpi.INT, box.address, box.size, position, mpi.COMM_SELF)
    assert (position.value, box.get(TWO_32 + 12, 2)) == (TWO_32 + 20, [5, 6])
    position.value = TWO_32 + 12
    mpi.Unpack_c(box.address, box.size, position, back, 2, mpi.INT, mpi.COMM_SELF)
    assert (position.value, list(back)) == (TWO_32 + 20, [5, 6])
    mpi.Pack_external_c("external32", values, 2, mpi.INT, box.address, box.size, position)
    assert box.get(TWO_32 + 20, 2) == [5 << 24, 6 << 24]
    box.free()


def finish(name, arguments, comm):
    """The collective in all three forms: blocking, nonblocking, persistent (twice)."""
    yield getattr(mpi, name)(*arguments, comm)
    lower = name[0].lower() + name[1:]
    yield mpi.Wait(mpi.inout(getattr(mpi, f"I{lower}")(*arguments, comm)))
    base, c = (name[:-2], "_c") if name.endswith("_c") else (name, "")
    request = mpi.inout(getattr(mpi, f"{base}_init{c}")(*arguments, comm, mpi.INFO_NULL))
    for _ in range(2):
        mpi.Start(request)
        yield mpi.Wait(request)
    mpi.Request_free(request)


def check_collectives_with_far_displacements():
    """Blocks that lie beyond 2^32 bytes: by displacements that need 64 bits, and by ints times a large
    extent.
    """
    size, rank, world = mpi.size, mpi.rank, mpi.COMM_WORLD
    step = TWO_32 // 4 + 6  # in ints
    wide = committed(mpi.Type_create_resized_c(mpi.INT, 0, 4 * step))
    far = Sparse(size * 4 * step + 4096)
    out = Sparse(size * 4 * step + 4096)
    ones, own = [1] * size, (ctypes.c_int * 1)(rank + 1)
    counted, places = list(range(size)), [i * step for i in range(size)]
    into_c = (far.address, ones, places, mpi.INT)
    into = (far.address, ones, counted, wide)
    expected = [i + 1 for i in range(size)]

    def read_and_clear():
        got = [far.get(i * 4 * step)[0] for i in range(size)]
        for i in range(size):
            far.put(i * 4 * step, [0])
        return got

    for suffix, where in (("_c", into_c), ("", into)):
        for name in ("Allgatherv", "Gatherv"):
            tail = (0,) if name == "Gatherv" else ()
            for _ in finish(name + suffix, (own, 1, mpi.INT, *where, *tail), world):
                assert read_and_clear() == (expected if rank == 0 or not tail else [0] * size), name
        for i in range(size):
            out.put(i * 4 * step, [100 * rank + i])
        from_ = (out.address, *where[1:])
        for _ in finish(f"Alltoallv{suffix}", (*from_, *where), world):
            assert read_and_clear() == [100 * i + rank for i in range(size)]
        for _ in finish(f"Scatterv{suffix}", (*from_, own, 1, mpi.INT, 0), world):
            assert own[0] == rank
            own[0] = rank + 1
        mine = (ctypes.c_int * 1)(rank + 1)
        own[:] = mine[:]
    for i in range(size):
        out.put(i * 4 * step, [100 * rank + i])
    bytes_ = [4 * place for place in places]
    w = (ones, bytes_, [mpi.INT] * size)
    for _ in finish("Alltoallw_c", (out.address, *w, far.address, *w), world):
        assert read_and_clear() == [100 * i + rank for i in range(size)]
    for name in ("Allgather", "Allgather_c"):
        for _ in finish(name, (own, 1, mpi.INT, far.address, 1, wide), world):
            assert read_and_clear() == expected
    free(wide)
    far.free()
    out.free()


def check_neighbours_with_far_displacements():
    size, rank = mpi.size, mpi.rank
    ring = mpi.Cart_create(mpi.COMM_WORLD, 1, [size], [1], 0)
    far, out = Sparse(10 * G), Sparse(10 * G)
    step = TWO_32 + 8
    for i in range(2):
        out.put(i * step, [10 * rank + i])
    left, right = (rank - 1) % size, (rank + 1) % size
    expected = [10 * left + 1, 10 * right]
    w = ([1, 1], [0, step], [mpi.INT, mpi.INT])
    v = ([1, 1], [0, step // 4], mpi.INT)
    for name, shape in (("alltoallw", w), ("alltoallw_c", w), ("alltoallv_c", v)):
        for _ in finish(f"Neighbor_{name}", (out.address, *shape, far.address, *shape), ring):
            assert [far.get(0)[0], far.get(step)[0]] == expected, name
            far.put(0, [0])
            far.put(step, [0])
    mpi.Comm_free(mpi.inout(ring))
    far.free()
    out.free()


def check_reductions_of_the_c_form():
    size, rank, world = mpi.size, mpi.rank, mpi.COMM_WORLD
    mine, total = (ctypes.c_int64 * 3)(rank, TWO_32, 1), (ctypes.c_int64 * 3)()
    expected = [sum(range(size)), size * TWO_32, size]
    for name in ("Allreduce_c", "Reduce_c"):
        tail = (0,) if name == "Reduce_c" else ()
        for _ in finish(name, (mine, total, 3, mpi.INT64_T, mpi.SUM, *tail), world):
            assert list(total) == (expected if rank == 0 or not tail else [0] * 3), name
            total[:] = [0] * 3
    for _ in finish("Scan_c", (mine, total, 3, mpi.INT64_T, mpi.SUM), world):
        assert list(total) == [sum(range(rank + 1)), (rank + 1) * TWO_32, rank + 1]
    parts = (ctypes.c_int64 * size)(*[TWO_32 + i for i in range(size)])
    counts = [1] * size
    for _ in finish("Reduce_scatter_c", (parts, total, counts, mpi.INT64_T, mpi.SUM), world):
        assert total[0] == size * (TWO_32 + rank)


def check_a_message_of_more_than_4_gib():
    """One real message; the same memory again and again on both sides."""
    if mpi.size != 2:
        return
    period, count = 1 << 20, TWO_32 + 12345
    handle = mpi.BYTE
    if mpi.rank == 0:
        loop = Loop(count, period)
        pattern = bytes(i * 7 % 251 for i in range(period))
        ctypes.memmove(loop.address, pattern, period)
        mpi.Send_c(loop.address, count, handle, 1, 3, mpi.COMM_WORLD)
        loop.free()
    elif mpi.rank == 1:
        loop = Loop(count + period, period)
        message, status = mpi.Mprobe(0, 3, mpi.COMM_WORLD)
        for probed in (status, mpi.Mrecv_c(loop.address, count + 99, handle, mpi.inout(message))):
            assert mpi.Get_count_c(probed, handle) == mpi.Get_elements_x(probed, handle) == count
            assert mpi.Get_count(probed, handle) == mpi.Get_elements(probed, handle) == mpi.UNDEFINED
        assert ctypes.string_at(loop.address, period) == bytes(i * 7 % 251 for i in range(period))
        loop.free()


def main():
    mpi.start()
    checks = [value for name, value in sorted(globals().items()) if name.startswith("check_")]
    chosen = [check for check in checks if check.__code__.co_argcount == 0]
    for check in chosen:
        try:
            check()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stderr.write(f"rank {mpi.rank}: {check.__name__} failed\n")
            sys.stderr.flush()
            mpi.Abort(mpi.COMM_WORLD, 1)
        mpi.Barrier(mpi.COMM_WORLD)
    mpi.Finalize()
    if mpi.rank == 0:
        print(f"right: {len(chosen)} checks")


if __name__ == "__main__":
    main()
