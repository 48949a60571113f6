"""One round: random views of one file, and accesses of all kinds through them, against a list of its bytes.

The oracle knows each rank's view as the type map says it, entry by entry, as an array of byte offsets
(numpy). After a write every byte of the file must be as it was, or as some rank that wrote there had it; in
atomic mode the ranks must have come one after the other. After a read the user's memory must hold what the
file held, up to its end. The hints are drawn too: aggregators, buffers of a few bytes, orders, ways.

Views of ranks that write are mostly disjoint: they take turns, or have parts of one array. The file's name
is in $PROPERTY_FILE.
"""

import ctypes
import dataclasses
import itertools
import math
import os
import pathlib
import pickle
import random as random_module

import numpy as np
import typemap
from mpi import MPI as mpi
from mpi import run_rounds
from random_types import Sample, Types, named, with_signature

NAME = pathlib.Path(os.environ["PROPERTY_FILE"])
LARGE_BYTES_MAX = int(os.environ["PROPERTY_LARGE_BYTES"])  # of one rank's access
BASICS = ["BYTE", "CHAR", "SHORT", "INT", "INT64_T", "DOUBLE"]
FILETYPE_ENTRIES_MAX, FILETYPE_SPAN_MAX = 150, 3000
ORDERS = ["rank", "pairwise", "nd_shift", "nd_rank_shift", "weighted"]
SWITCH = ["enable", "disable", "automatic"]
HINTS = {  # one of these values each
    "cb_nodes": ["1", "2", "3", "8"],
    "cb_buffer_size": ["13", "64", "100", "512", "4096", "65536"],
    "cb_block_size": ["17", "64", "1000"],
    "collective_buffering": ["true", "false"],
    "romio_cb_write": SWITCH,
    "romio_cb_read": SWITCH,
    "romio_ds_write": SWITCH,
    "romio_ds_read": SWITCH,
    "ind_wr_buffer_size": ["1", "64", "1000"],
    "ind_rd_buffer_size": ["1", "64", "1000"],
    "romio_no_indep_rw": ["true", "false"],
    "cb_config_list": ["*:1", "*:2", "*:*"],
    "striping_unit": ["64", "4096"],
    "tasuki_io_order": ORDERS,
    "tasuki_io_exchange": ["messages", "automatic"],
    "tasuki_io_aggregators": ["block", "round_robin", "block:2", "round_robin:1"],
    "tasuki_io_uring": SWITCH,
}


def byte_places(map_: typemap.Map) -> np.ndarray:
    """Where the bytes of one element lie, in the order in which they travel."""
    parts = [np.arange(at, at + basic.size) for at, basic in map_.entries]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


class FileTypes(Types):
    """Random types that a view may be made of: copies of `unit` that ascend and do not overlap."""

    def __init__(self, random, unit: Sample, representation: str):
        super().__init__(random)
        self.unit = unit
        self.is_packed = representation == "external32"  # where data is byte aligned: structs are not padded

    def leaf(self) -> Sample:
        return self.unit

    def fits(self, map_) -> bool:
        low, high = map_.span(1)
        if not map_.entries or low < 0 or len(map_.entries) > FILETYPE_ENTRIES_MAX:
            return False
        if self.is_packed and map_.padded and map_.ub != max(map_.ub_markers or map_.ub_placed):
            return False
        pairs = itertools.pairwise(map_.entries)
        ascends = all(at + basic.size <= next_at for (at, basic), (next_at, _) in pairs)
        return ascends and high <= FILETYPE_SPAN_MAX and 0 <= map_.extent <= FILETYPE_SPAN_MAX

    def tile(self, depth: int) -> Sample:
        """Copies of which neither overlap nor mesh."""
        while True:
            made = self.type(depth)
            if made.map.extent >= made.map.true_ub - made.map.true_lb:
                return made

    def committed(self, made: Sample) -> Sample:
        mpi.Type_commit(mpi.inout(made.handle))
        return made


@dataclasses.dataclass
class View:
    displacement: int
    etype: Sample
    filetype: Sample
    representation: str
    word: int  # bytes that external32 turns around
    kind: str

    def offsets(self, first: int, number: int) -> np.ndarray:
        """Where `number` bytes of data from the etype `first` on lie in the file."""
        places = byte_places(self.filetype.map)
        k = first * self.etype.map.size + np.arange(number)
        return self.displacement + k // len(places) * self.filetype.map.extent + places[k % len(places)]

    def in_file(self, data: bytes) -> np.ndarray:
        """The user's packed bytes as the file has them, and the other way round."""
        stream = np.frombuffer(data, np.uint8)
        if self.representation != "external32":
            return stream
        return stream.reshape(-1, self.word)[:, ::-1].reshape(-1)


# ---- views ---------------------------------------------------------------------------------------------


def turns(types: FileTypes, random) -> tuple[int, Sample]:
    """One tile for each rank in turn, with or without space between them; flat, or as one vector."""
    tile = types.tile(random.randint(0, 2))
    slot = tile.map.true_ub + random.choice([0, 0, random.randint(1, 40)])
    step = slot * mpi.size
    place = mpi.rank * slot
    count = random.choice([1, 1, random.randint(2, 20)])
    made = resized(types, tile, step)
    if count > 1:
        map_ = typemap.vector(made.map, count, 1, step)
        made = Sample(types.keep("create_hvector", False, count, 1, step, made.handle), map_, "HVECTOR")
        made = resized(types, made, count * step + random.choice([0, random.randint(0, 50)]))
    return place, made


def resized(types: FileTypes, old: Sample, extent: int) -> Sample:
    handle = types.keep("create_resized", False, old.handle, 0, extent)
    return Sample(handle, typemap.resized(old.map, 0, extent), "RESIZED")


def array_part(types: FileTypes, random) -> tuple[int, Sample]:
    """What a rank has of an array that all ranks share: blocks or cycles of each dimension (MPI 5.1.4)."""
    n, left, psizes = random.randint(1, 3), mpi.size, []
    for _ in range(n - 1):
        psizes.append(random.choice([p for p in range(1, left + 1) if left % p == 0]))
        left //= psizes[-1]
    psizes.append(left)
    unit = types.unit
    while True:
        gsizes = [p * random.randint(1, 5) + random.choice([0, 0, random.randint(0, p - 1)]) for p in psizes]
        kinds = ["NONE" if p == 1 else random.choice(["BLOCK", "CYCLIC"]) for p in psizes]
        if math.prod(gsizes) * len(unit.map.entries) <= 4000:
            break
    args = [None if kind != "CYCLIC" else random.choice([None, 1, 2, 3]) for kind in kinds]
    fortran = random.random() < 0.5
    coordinates = [int(c) for c in np.unravel_index(mpi.rank, psizes)]
    cells = [typemap.owned(*row) for row in zip(gsizes, kinds, args, psizes, coordinates, strict=True)]
    map_ = typemap.chosen_cells(unit.map, gsizes, cells, fortran)
    distributions = [getattr(mpi, f"DISTRIBUTE_{kind}") for kind in kinds]
    dargs = [mpi.DISTRIBUTE_DFLT_DARG if arg is None else arg for arg in args]
    order = mpi.ORDER_FORTRAN if fortran else mpi.ORDER_C
    words = (mpi.size, mpi.rank, n, gsizes, distributions, dargs, psizes, order, unit.handle)
    return 0, Sample(types.keep("create_darray", False, *words), map_, "DARRAY")


def scattered_cells(types: FileTypes, common) -> tuple[int, Sample]:
    """Cells that were dealt out by chance: descriptions too large for all ranks to be told (1 MiB)."""
    unit, cells = types.unit, mpi.size * common.choice([20_000, 150_000])
    owners = np.random.default_rng(common.randrange(2**32)).integers(0, mpi.size, cells)
    mine = np.flatnonzero(owners == mpi.rank)
    map_ = typemap.Map()
    map_.entries = [(int(at) * unit.map.extent, basic) for at in mine for _, basic in unit.map.entries]
    handle = types.keep("create_indexed_block", False, len(mine), 1, mine.tolist(), unit.handle)
    map_.mark(0, cells * unit.map.extent)
    made = Sample(types.keep("create_resized", False, handle, 0, map_.extent), map_, "RESIZED")
    return 0, made


def make_view(common, local, types: FileTypes, base: int, etype: Sample) -> tuple[str, int, Sample]:
    """What kind of view; its displacement and filetype."""
    kind = common.choice(["turns", "turns", "array", "array", "array", "same", "own", "plain"])
    if types.unit.is_named and common.random() < 0.01:
        kind = "cells"
    place = base + common.choice([0, 0, common.randint(1, 5000)])
    if kind == "turns":
        types.random = common
        shift, filetype = turns(types, common)
    elif kind == "array":
        shift, filetype = array_part(types, common)
    elif kind == "cells":
        shift, filetype = scattered_cells(types, common)
    elif kind == "same":
        types.random = common
        shift, filetype = 0, types.tile(common.randint(0, 2))
    elif kind == "own":
        types.random = local
        shift, filetype = local.randint(0, 99), types.tile(local.randint(0, 3))
        if local.random() < 0.15:  # tiles that mesh or overlap
            filetype = resized(types, filetype, local.randint(1, filetype.map.extent))
    else:
        shift, filetype = mpi.rank * common.choice([0, 64, 4096, 10000]), etype
    if not filetype.map.entries:  # an array can have fewer cells than there are ranks
        shift, filetype = 10**6 * (mpi.rank + 1), etype
    return kind, place + shift, types.committed(filetype)


# ---- memory --------------------------------------------------------------------------------------------


class Buffer:
    """The user's memory for `number` basic elements: dense, strided or in any order; its bytes and places."""

    def __init__(self, local, basic: typemap.Basic, number: int):
        self.types = Types(local)
        per_element = local.choice([n for n in range(1, 40) if number % n == 0])
        way = local.choice(["basic", "contiguous", "vector", "scattered"]) if number else "basic"
        unit = named(basic.name)
        if way == "basic":
            sample, self.count = unit, number
        elif way == "contiguous":
            map_ = typemap.vector(unit.map, 1, per_element, 0)
            sample = Sample(self.types.keep("contiguous", False, per_element, unit.handle), map_, "")
            self.count = number // per_element
        elif way == "vector":
            stride = local.randint(1, 9) * basic.size + local.choice([0, 0, 3])
            map_ = typemap.vector(unit.map, per_element, 1, stride)
            words = (per_element, 1, stride, unit.handle)
            sample = Sample(self.types.keep("create_hvector", False, *words), map_, "")
            self.count = number // per_element
        else:
            sample = with_signature(self.types, [basic] * per_element)
            self.count = number // per_element
        self.handle = sample.handle
        mpi.Type_commit(mpi.inout(self.handle))
        places, extent = byte_places(sample.map), sample.map.extent
        self.places = (np.arange(self.count)[:, None] * extent + places).reshape(-1)
        low = int(self.places.min()) if number else 0
        self.places -= low - 16
        self.memory = bytearray(local.randbytes(int(self.places.max(initial=0)) + 33))
        self.bytes = np.frombuffer(self.memory, np.uint8)
        self.address = mpi.address(self.memory, 16 - low)

    def packed(self) -> bytes:
        return self.bytes[self.places].tobytes()


# ---- what the file holds -------------------------------------------------------------------------------


@dataclasses.dataclass
class Content:
    """The bytes of the file from `base` on; those before are a hole."""

    base: int
    bytes: np.ndarray

    @staticmethod
    def now(base: int):
        with NAME.open("rb") as file:
            file.seek(base)
            return Content(base, np.frombuffer(file.read(), np.uint8))

    @property
    def end(self) -> int:
        return self.base + len(self.bytes)


def everybody(mine) -> list:
    """What all ranks have, by rank. No rank returns before all have come."""
    text = bytearray(pickle.dumps(mine))
    sizes = (ctypes.c_int * mpi.size)()
    mpi.Allgather((ctypes.c_int * 1)(len(text)), 1, mpi.INT, sizes, 1, mpi.INT, mpi.COMM_WORLD)
    places = list(itertools.accumulate(sizes, initial=0))
    texts = bytearray(places[-1])
    words = (len(text), mpi.BYTE, texts, list(sizes), places[:-1], mpi.BYTE)
    mpi.Allgatherv(text, *words, mpi.COMM_WORLD)
    return [pickle.loads(texts[begin:end]) for begin, end in itertools.pairwise(places)]


def check_written(before: Content, after: Content, written: list, atomic: bool) -> None:
    """`written`: (offsets, bytes) of each rank."""
    end = max([before.end, *(int(offsets.max()) + 1 for offsets, _ in written if len(offsets))])
    assert after.end == end, f"the file has {after.end} bytes, expected {end}"
    old = np.zeros(end - before.base, np.uint8)
    old[: len(before.bytes)] = before.bytes
    writers = np.zeros(len(old), np.int32)
    matched = np.zeros(len(old), bool)
    for offsets, data in written:
        places = offsets - before.base
        writers[np.unique(places)] += 1
        matched[places] |= after.bytes[places] == data
    wrong = np.flatnonzero(~np.where(writers > 0, matched, after.bytes == old))
    assert not len(wrong), (
        f"{len(wrong)} bytes of the file are wrong, the first at {before.base + wrong[0]}, which "
        f"{writers[wrong[0]]} ranks wrote: {after.bytes[wrong[0]]} there, {old[wrong[0]]} before"
    )
    if atomic and writers.max(initial=0) > 1:
        busy = [(offsets - before.base, data) for offsets, data in written if len(offsets)]
        if len(busy) <= 4:
            assert any(in_turn(old, order, after.bytes) for order in itertools.permutations(busy)), (
                "no order of the ranks gives what the file holds, in atomic mode"
            )


def in_turn(old: np.ndarray, order: tuple, wanted: np.ndarray) -> bool:
    made = old.copy()
    for places, data in order:
        made[places] = data
    return np.array_equal(made, wanted)


# ---- accesses ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Opened:
    handle: int
    base: int
    atomic: bool = False
    individual: int = 0  # this rank's file pointer
    shared: int = 0


def call(opened: Opened, write: bool, way: str, form: str, offset: int, buffer: Buffer):
    """The MPI call, or two; gives the status."""
    verb = ("iwrite" if write else "iread") if form == "later" else "write" if write else "read"
    name = f"File_{verb}_{way}".removesuffix("_")
    arguments = [opened.handle, *([offset] if way.startswith("at") else [])]
    arguments += [buffer.address, buffer.count, buffer.handle]
    if form == "split":
        getattr(mpi, f"{name}_begin")(*arguments)
        return getattr(mpi, f"{name}_end")(opened.handle, buffer.address)
    done = getattr(mpi, name)(*arguments)
    return mpi.Wait(mpi.inout(done)) if form == "later" else done


def choose_way(common, view: View) -> tuple[str, str]:
    if common.random() < 0.2:
        return common.choice(["at", ""]), common.choice(["now", "later"])
    if view.kind == "same" and common.random() < 0.3:
        return "shared", common.choice(["now", "later"])
    ways = ["at_all", "all"] + (["ordered"] if view.kind == "same" else [])
    way = common.choice(ways)
    forms = ["now", "now", "now", "split"] + ([] if way == "ordered" else ["later"])
    return way, common.choice(forms)


def amounts(common, local, view: View) -> int:
    """How many etypes this rank moves: none, a few, some tiles, or more than a slice of what is staged."""
    luck = common.random()
    if luck < 0.1 or local.random() < 0.15:
        return 0
    if luck > (0.5 if view.kind == "cells" else 0.98):
        return local.randint(0, LARGE_BYTES_MAX // view.etype.map.size)
    etypes = view.filetype.map.size // view.etype.map.size
    most = max(1, 1500 // view.etype.map.size)
    return min(most, local.choice([1, local.randint(1, 9), etypes, etypes * local.randint(1, 8)]))


def one_access(common, local, opened: Opened, view: View, basic: typemap.Basic) -> None:
    write = common.random() < 0.55
    way, form = choose_way(common, view)
    etypes = amounts(common, local, view)
    offset = local.choice([0, 0, local.randint(0, 3 * view.filetype.map.size // view.etype.map.size)])
    buffer = Buffer(local, basic, etypes * view.etype.map.size // basic.size)
    if way in ("", "all"):
        if local.random() < 0.5:
            mpi.File_seek(opened.handle, offset, mpi.SEEK_SET)
            opened.individual = offset
        offset = opened.individual
        opened.individual += etypes
    elif way in ("ordered", "shared"):
        parts = everybody(etypes)
        offset = opened.shared + sum(parts[: mpi.rank])
        opened.shared += sum(parts)
    offsets = view.offsets(offset, etypes * view.etype.map.size)
    before = Content.now(opened.base)
    untouched = bytes(buffer.memory)
    everybody(None)
    for rank in range(mpi.size if way == "shared" else 0):  # so that it is known whose part comes when
        if rank == mpi.rank:
            status = call(opened, write, way, form, offset, buffer)
        everybody(None)
    if way != "shared":
        status = call(opened, write, way, form, offset, buffer)
    moved = mpi.Get_elements(status, mpi.BYTE)
    if moved == len(offsets):  # a read may have met the end of the file
        assert mpi.File_get_position(opened.handle) == opened.individual
    if view.kind == "same" and write:
        everybody(None)
        assert mpi.File_get_position_shared(opened.handle) == opened.shared
    if write:
        assert moved == len(offsets), f"{moved} bytes written, expected {len(offsets)}"
        written = everybody((offsets, view.in_file(buffer.packed())))
        if mpi.rank == 0:
            check_written(before, Content.now(opened.base), written, opened.atomic)
        everybody(None)
        return
    check_read(view, buffer, untouched, before, offsets, moved)
    everybody(None)


def check_read(view, buffer, untouched, before, offsets, moved) -> None:
    there = (
        len(offsets)
        if not len(offsets) or offsets.max() < before.end
        else int(np.argmax(offsets >= before.end))
    )
    if view.representation == "external32":
        there -= there % view.word
    assert moved == there, f"{moved} bytes read, expected {there}"
    wanted = np.frombuffer(untouched, np.uint8).copy()
    data = before.bytes[offsets[:there] - before.base]
    wanted[buffer.places[:there]] = view.in_file(data.tobytes())
    got = buffer.bytes.copy()
    got[buffer.places[there:]] = wanted[buffer.places[there:]]  # what was not read may be anything
    wrong = np.flatnonzero(got != wanted)
    assert not len(wrong), f"{len(wrong)} bytes of memory are wrong, the first at {wrong[0]} of {len(got)}"


# ---- rounds --------------------------------------------------------------------------------------------


def make_info(common) -> int:
    """Some hints; mostly such that collective accesses take two phases, although they are small."""
    if common.random() < 0.1:
        return mpi.INFO_NULL
    info = mpi.Info_create()
    if common.random() < 0.7:
        mpi.Info_set(info, "collective_buffering", "true")
    for name in common.sample(sorted(HINTS), common.randint(0, 8)):
        mpi.Info_set(info, name, common.choice(HINTS[name]))
    return info


def free_info(info) -> None:
    if info != mpi.INFO_NULL:
        mpi.Info_free(mpi.inout(info))


def one_episode(common, local, opened: Opened) -> None:
    """A view, and some accesses through it."""
    basic = typemap.BY_NAME[common.choice(BASICS)]
    representation = common.choice(["native", "native", "internal", "external32"])
    units = FileTypes(common, named(basic.name), representation)
    etype = units.committed(units.tile(common.choice([0, 0, 1])))
    if etype.map.size > 200:
        etype = named(basic.name)
    types = FileTypes(local, etype, representation)
    kind, displacement, filetype = make_view(common, local, types, opened.base, etype)
    view = View(displacement, etype, filetype, representation, basic.word, kind)
    info = make_info(common) if common.random() < 0.3 else mpi.INFO_NULL
    mpi.File_set_view(opened.handle, displacement, etype.handle, filetype.handle, representation, info)
    free_info(info)
    opened.individual = opened.shared = 0
    if common.random() < 0.2:
        opened.atomic = not opened.atomic
        mpi.File_set_atomicity(opened.handle, opened.atomic)
    for _ in range(common.randint(1, 5)):
        one_access(common, local, opened, view, basic)
    types.free()
    units.free()


def one_round(common, number) -> None:
    local = random_module.Random(f"{common.random()} {mpi.rank}")
    base = common.choice([0] * 6 + [2**31 - 1000, 2**32 + 12345, 2**40])
    if mpi.rank == 0:
        NAME.unlink(missing_ok=True)
        with NAME.open("wb") as file:
            file.truncate(base)
            file.seek(base)
            file.write(local.randbytes(local.choice([0, 100, 5000, 20000])))
    everybody(None)
    info = make_info(common)
    mode = mpi.MODE_RDWR | mpi.MODE_CREATE
    opened = Opened(mpi.File_open(mpi.COMM_WORLD, str(NAME), mode, info), base)
    free_info(info)
    for _ in range(common.randint(1, 3)):
        one_episode(common, local, opened)
    mpi.File_close(mpi.inout(opened.handle))


if __name__ == "__main__":
    run_rounds(one_round)
