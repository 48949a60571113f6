"""One round: random types; their bounds, contents, packed forms and messages against the type map."""

import ctypes

import typemap
from mpi import MPI as mpi
from mpi import refused, run_rounds
from random_types import Types, rebuilt, with_signature


def check_bounds(handle, map_):
    for suffix in ("", "_c", "_x"):
        extent = getattr(mpi, f"Type_get_extent{suffix}")(handle)
        assert extent == (map_.lb, map_.extent), (extent, map_.lb, map_.extent)
        true = getattr(mpi, f"Type_get_true_extent{suffix}")(handle)
        assert true == (map_.true_lb, map_.true_ub - map_.true_lb), (true, map_.true_lb, map_.true_ub)
        assert getattr(mpi, f"Type_size{suffix}")(handle) == map_.size


def check_contents(sample):
    """Decodes a type to the bottom, compares with how it was made, and makes it anew from that."""
    c = "_c" if sample.wide else ""
    envelope = getattr(mpi, f"Type_get_envelope{c}")(sample.handle)
    n_ints, n_addresses, n_counts, n_types, combiner = (
        envelope if sample.wide else (*envelope[:2], 0, *envelope[2:])
    )
    assert combiner == getattr(mpi, f"COMBINER_{sample.combiner}"), (combiner, sample.combiner)
    if sample.is_named:
        assert n_ints == n_addresses == n_counts == n_types == 0
        return sample.handle
    ints, addresses = (ctypes.c_int * n_ints)(), (ctypes.c_ssize_t * n_addresses)()
    counts, handles = (ctypes.c_int64 * n_counts)(), (mpi.handle * n_types)()
    if sample.wide:
        mpi.Type_get_contents_c(
            sample.handle, n_ints, n_addresses, n_counts, n_types, ints, addresses, counts, handles
        )
    else:
        mpi.Type_get_contents(sample.handle, n_ints, n_addresses, n_types, ints, addresses, handles)
    decoded = (list(ints), list(addresses), list(counts))
    assert decoded == tuple(map(list, sample.contents[:3])), (sample.combiner, decoded, sample.contents[:3])
    assert len(handles) == len(sample.contents[3])
    olds = []
    for handle, old in zip(handles, sample.contents[3], strict=True):
        check_bounds(handle, old.map)
        olds.append(handle)
        if old.is_named:
            assert handle == old.handle
    again = rebuilt(sample.combiner, sample.wide, *decoded, olds)
    for handle, old in zip(olds, sample.contents[3], strict=True):
        if not old.is_named:
            mpi.Type_free(mpi.inout(handle))
    for old in {id(old): old for old in sample.contents[3]}.values():
        copy = check_contents(old)
        if copy != old.handle:
            mpi.Type_free(mpi.inout(copy))
    check_bounds(again, sample.map)
    return again


def committed(handle):
    mpi.Type_commit(mpi.inout(handle))
    return handle


def check_pack(random, handle, map_, receive, count):
    """Packs count elements at some position, unpacks them by another type of the same signature."""
    c = random.choice(["", "_c"])
    data = typemap.Memory(map_, count).fill(random)
    wanted = data.packed(map_, count)
    assert getattr(mpi, f"Pack_size{c}")(count, handle, mpi.COMM_SELF) >= len(wanted)
    begin = random.randint(0, 9)
    box = bytearray(b"\xee" * (begin + len(wanted) + 5))
    position = mpi.Pack.parameters[5].element(begin) if not c else mpi.Pack_c.parameters[5].element(begin)
    origin = mpi.address(data.bytes, -data.low)
    getattr(mpi, f"Pack{c}")(origin, count, handle, box, len(box) - 5, position, mpi.COMM_SELF)
    assert position.value == begin + len(wanted)
    assert bytes(box) == b"\xee" * begin + wanted + b"\xee" * 5
    there, expected = typemap.Memory(receive.map, 1), typemap.Memory(receive.map, 1)
    expected.bytes[:] = there.fill(random).bytes
    expected.unpack(receive.map, 1, wanted)
    position.value = begin
    target = mpi.address(there.bytes, -there.low)
    getattr(mpi, f"Unpack{c}")(box, len(box), position, target, 1, receive.handle, mpi.COMM_SELF)
    assert position.value == begin + len(wanted)
    assert there.bytes == expected.bytes


def check_external(random, handle, map_, receive, count):
    c = random.choice(["", "_c"])
    data = typemap.Memory(map_, count).fill(random)
    if random.random() < 0.8:
        data.shorten(map_, count)
    wanted = typemap.external_form(data.packed(map_, count), map_.signature(count))
    size = getattr(mpi, f"Pack_external_size{c}")("external32", count, handle)
    assert size == typemap.external_size(map_.signature(count))
    box = bytearray(b"\xee" * (size + 3))
    position = getattr(mpi, f"Pack_external{c}").parameters[-1].element(0)
    origin = mpi.address(data.bytes, -data.low)
    words = ("external32", origin, count, handle, box, size, position)
    if wanted is None:
        with refused(mpi.ERR_CONVERSION, "4 bytes that it has in external32"):
            getattr(mpi, f"Pack_external{c}")(*words)
        assert position.value == 0 and box[size:] == b"\xee" * 3
        return
    getattr(mpi, f"Pack_external{c}")(*words)
    assert (position.value, bytes(box)) == (len(wanted), wanted + b"\xee" * 3)
    there = typemap.Memory(receive.map, 1).fill(random)
    position.value = 0
    target = mpi.address(there.bytes, -there.low)
    getattr(mpi, f"Unpack_external{c}")("external32", box, len(wanted), position, target, 1, receive.handle)
    assert there.packed(receive.map, 1) == data.packed(map_, count)


def check_message(random, handle, map_, receive, count):
    """Around the ring, one type going out and another one coming in; then from a root to all."""
    world, rank, size = mpi.COMM_WORLD, mpi.rank, mpi.size
    way, tag, root = random.randint(0, 3), random.randint(0, 99), random.randrange(size)
    fills = [typemap.Memory(map_, count).fill(random) for _ in range(size)]
    out, wanted = fills[rank], fills[rank - 1].packed(map_, count)
    there, expected = typemap.Memory(receive.map, 1), typemap.Memory(receive.map, 1)
    expected.unpack(receive.map, 1, wanted)
    source, target = mpi.address(out.bytes, -out.low), mpi.address(there.bytes, -there.low)
    left, right = (rank - 1) % size, (rank + 1) % size
    if way == 0:
        status = mpi.Sendrecv(source, count, handle, right, tag, target, 1, receive.handle, left, tag, world)
    elif way == 1:
        request = mpi.Isend_c(source, count, handle, right, tag, world)
        status = mpi.Recv(target, 1, receive.handle, left, tag, world)
        mpi.Wait(mpi.inout(request))
    elif way == 2:
        request = mpi.Irecv(target, 1, receive.handle, mpi.ANY_SOURCE, tag, world)
        mpi.Send(source, count, handle, right, tag, world)
        status = mpi.Wait(mpi.inout(request))
    else:
        request = mpi.Issend(source, count, handle, right, tag, world)
        message, status = mpi.Mprobe(left, mpi.ANY_TAG, world)
        assert mpi.Get_elements(status, receive.handle) == len(receive.map.entries)
        status = mpi.Mrecv(target, 1, receive.handle, mpi.inout(message))
        mpi.Wait(mpi.inout(request))
    assert there.bytes == expected.bytes, f"way {way}"
    assert (status.source, status.tag) == (left, tag)
    n = len(receive.map.entries)
    assert mpi.Get_elements(status, receive.handle) == n
    assert mpi.Get_elements_c(status, receive.handle) == n
    assert mpi.Get_count(status, receive.handle) == (1 if wanted else 0)
    if rank == root:
        mpi.Bcast(source, count, handle, root, world)
    else:
        mpi.Bcast(target, 1, receive.handle, root, world)
        assert there.packed(receive.map, 1) == fills[root].packed(map_, count)


def check_part(random, types, receive):
    """A message that ends within an element: what is there arrives, and is counted in basic elements."""
    whole = receive.map.signature(3)
    if receive.map.overlaps(3) or not whole:
        return
    elements = random.randint(0, len(whole))
    part = with_signature(types, whole[:elements])
    committed(part.handle)
    out = typemap.Memory(part.map, 1).fill(random)
    there, expected = typemap.Memory(receive.map, 3), typemap.Memory(receive.map, 3)
    assert expected.unpack(receive.map, 3, out.packed(part.map, 1)) == elements
    source, target = mpi.address(out.bytes, -out.low), mpi.address(there.bytes, -there.low)
    self_ = mpi.COMM_SELF
    status = mpi.Sendrecv(source, 1, part.handle, 0, 0, target, 3, receive.handle, 0, 0, self_)
    assert there.bytes == expected.bytes
    assert mpi.Get_elements(status, receive.handle) == elements
    assert mpi.Get_elements_x(status, receive.handle) == elements
    n = len(receive.map.entries)
    wanted = mpi.UNDEFINED if elements % n else elements // n
    for suffix in ("", "_c"):
        assert getattr(mpi, f"Get_count{suffix}")(status, receive.handle) == wanted


def one_round(random, number):
    types = Types(random, long_double=random.random() < 0.3)
    sample = types.type(random.randint(1, 4))
    map_, count = sample.map, random.choice([0, 1, 1, 2, 3, 7])
    check_bounds(sample.handle, map_)
    again = check_contents(sample)
    duplicate = mpi.Type_dup(sample.handle)
    check_bounds(duplicate, map_)
    handle = random.choice([sample.handle, duplicate, again])
    committed(handle)
    receive = with_signature(types, map_.signature(count))
    committed(receive.handle)
    check_bounds(receive.handle, receive.map)
    check_pack(random, handle, map_, receive, count)
    if "LONG_DOUBLE" not in types.names:  # random bytes are no number of its many
        check_external(random, handle, map_, receive, count)
    check_message(random, handle, map_, receive, count)
    check_part(random, types, sample if handle == sample.handle else receive)
    types.made += [duplicate] + ([again] if again != sample.handle else [])
    types.free()


if __name__ == "__main__":
    run_rounds(one_round)
