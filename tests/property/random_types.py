"""Random derived datatypes: handle, the oracle's map and what MPI_Type_get_contents must say, together."""

from __future__ import annotations

import dataclasses

import typemap
from mpi import MPI as mpi

ENTRIES_MAX = 250
SPAN_MAX = 200_000


@dataclasses.dataclass
class Sample:
    handle: int
    map: typemap.Map
    combiner: str
    contents: tuple = ((), (), (), ())  # ints, addresses, counts, samples
    wide: bool = False

    @property
    def is_named(self) -> bool:
        return self.combiner == "NAMED"


def named(name: str) -> Sample:
    return Sample(getattr(mpi, name), typemap.basic_map(name), "NAMED")


class Types:
    """Makes random types, and frees all of them at the end; by every constructor and its _c form."""

    def __init__(self, random, long_double: bool = True):
        self.random = random
        self.made: list[int] = []
        self.names = [basic.name for basic in typemap.BASICS] + list(typemap.PAIRS)
        if not long_double:
            self.names.remove("LONG_DOUBLE")

    def keep(self, name: str, wide: bool, *arguments) -> int:
        handle = getattr(mpi, f"Type_{name}_c" if wide else f"Type_{name}")(*arguments)
        self.made.append(handle)
        return handle

    def free(self) -> None:
        self.random.shuffle(self.made)
        for handle in self.made:
            mpi.Type_free(mpi.inout(handle))
        self.made.clear()

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def leaf(self) -> Sample:
        return named(self.random.choice(self.names))

    def fits(self, map_: typemap.Map) -> bool:
        """Whether a type of this map is wanted."""
        low, high = map_.span(1)
        farthest = max(map(abs, (low, high, map_.extent)))
        return len(map_.entries) <= ENTRIES_MAX and high - low <= SPAN_MAX and farthest <= SPAN_MAX

    def type(self, depth: int) -> Sample:
        if depth == 0 or self.random.random() < 0.05:
            return self.leaf()
        while True:
            old = self.type(depth - 1)
            maker = self.random.choice(MAKERS)
            plan = maker(self, old, depth)
            if plan is None:
                continue
            name, arguments, combiner, contents, map_ = plan
            if not self.fits(map_):
                continue
            wide = self.random.random() < 0.4
            handle = self.keep(name, wide, *arguments)
            return Sample(
                handle, map_, combiner, wide_contents(combiner, contents) if wide else contents, wide
            )

    # Each maker gives the constructor's name and arguments, the combiner, the contents of the plain form, and
    # the map; or None when it does not fit this old type.

    def contiguous(self, old, depth):
        count = self.number(0, 5)
        return (
            "contiguous",
            (count, old.handle),
            "CONTIGUOUS",
            ([count], [], [], [old]),
            typemap.vector(old.map, 1, count, 0),
        )

    def vector(self, old, depth):
        count, length, stride = self.number(0, 4), self.number(0, 3), self.number(-5, 6)
        map_ = typemap.vector(old.map, count, length, stride * old.map.extent)
        contents = ([count, length, stride], [], [], [old])
        return "vector", (count, length, stride, old.handle), "VECTOR", contents, map_

    def hvector(self, old, depth):
        count, length, stride = self.number(0, 4), self.number(0, 3), self.number(-100, 150)
        map_ = typemap.vector(old.map, count, length, stride)
        contents = ([count, length], [stride], [], [old])
        return "create_hvector", (count, length, stride, old.handle), "HVECTOR", contents, map_

    def lengths(self, n):
        return [self.number(0, 3) for _ in range(n)]

    def displacements(self, n, step=12):
        """Sometimes ascending, sometimes in any order, negative ones and overlaps among them."""
        if self.random.random() < 0.5:
            values, at = [], self.number(-step, step)
            for _ in range(n):
                values.append(at)
                at += self.number(1, step)
            return values
        return [self.number(-2 * step, 3 * step) for _ in range(n)]

    def indexed(self, old, depth):
        n = self.number(0, 4)
        lengths, places = self.lengths(n), self.displacements(n)
        map_ = typemap.blocks([old.map] * n, lengths, [place * old.map.extent for place in places])
        contents = ([n, *lengths, *places], [], [], [old])
        return "indexed", (n, lengths, places, old.handle), "INDEXED", contents, map_

    def hindexed(self, old, depth):
        n = self.number(0, 4)
        lengths, places = self.lengths(n), self.displacements(n, 90)
        map_ = typemap.blocks([old.map] * n, lengths, places)
        contents = ([n, *lengths], places, [], [old])
        return "create_hindexed", (n, lengths, places, old.handle), "HINDEXED", contents, map_

    def indexed_block(self, old, depth):
        n, length = self.number(0, 5), self.number(0, 3)
        places = self.displacements(n)
        map_ = typemap.blocks([old.map] * n, [length] * n, [place * old.map.extent for place in places])
        contents = ([n, length, *places], [], [], [old])
        return "create_indexed_block", (n, length, places, old.handle), "INDEXED_BLOCK", contents, map_

    def hindexed_block(self, old, depth):
        n, length = self.number(0, 5), self.number(0, 3)
        places = self.displacements(n, 90)
        map_ = typemap.blocks([old.map] * n, [length] * n, places)
        contents = ([n, length], places, [], [old])
        return "create_hindexed_block", (n, length, places, old.handle), "HINDEXED_BLOCK", contents, map_

    def struct(self, old, depth):
        n = self.number(0, 4)
        olds = [old if i == 0 else self.type(self.number(0, depth - 1)) for i in range(n)]
        if len({sample.handle for sample in olds if not sample.is_named}) > 3:
            return None
        lengths, places = self.lengths(n), self.displacements(n, 90)
        map_ = typemap.blocks([sample.map for sample in olds], lengths, places, padded=True)
        handles = [sample.handle for sample in olds]
        return (
            "create_struct",
            (n, lengths, places, handles),
            "STRUCT",
            ([n, *lengths], places, [], olds),
            map_,
        )

    def subarray(self, old, depth):
        n, fortran = self.number(1, 3), self.random.random() < 0.5
        sizes = [self.number(1, 5) for _ in range(n)]
        subsizes = [self.number(1, size) for size in sizes]
        starts = [self.number(0, size - sub) for size, sub in zip(sizes, subsizes, strict=True)]
        order = mpi.ORDER_FORTRAN if fortran else mpi.ORDER_C
        cells = [list(range(start, start + sub)) for start, sub in zip(starts, subsizes, strict=True)]
        map_ = typemap.chosen_cells(old.map, sizes, cells, fortran)
        contents = ([n, *sizes, *subsizes, *starts, order], [], [], [old])
        arguments = (n, sizes, subsizes, starts, order, old.handle)
        return "create_subarray", arguments, "SUBARRAY", contents, map_

    def darray(self, old, depth):
        n, fortran = self.number(1, 3), self.random.random() < 0.5
        gsizes = [self.number(1, 6) for _ in range(n)]
        kinds = [self.random.choice(["BLOCK", "CYCLIC", "NONE"]) for _ in range(n)]
        psizes = [1 if kind == "NONE" else self.number(1, 3) for kind in kinds]
        args = []
        for gsize, kind, psize in zip(gsizes, kinds, psizes, strict=True):
            least = -(-gsize // psize) if kind == "BLOCK" else 1
            plain = kind == "NONE" or self.random.random() < 0.4
            args.append(None if plain else self.number(least, least + 2))
        size = 1
        for psize in psizes:
            size *= psize
        rank = self.number(0, size - 1)
        coordinates, left = [], rank
        for psize in reversed(psizes):  # the grid is in C order whatever the array's order
            coordinates.insert(0, left % psize)
            left //= psize
        cells = [typemap.owned(*row) for row in zip(gsizes, kinds, args, psizes, coordinates, strict=True)]
        map_ = typemap.chosen_cells(old.map, gsizes, cells, fortran)
        distributions = [getattr(mpi, f"DISTRIBUTE_{kind}") for kind in kinds]
        dargs = [mpi.DISTRIBUTE_DFLT_DARG if arg is None else arg for arg in args]
        order = mpi.ORDER_FORTRAN if fortran else mpi.ORDER_C
        arguments = (size, rank, n, gsizes, distributions, dargs, psizes, order, old.handle)
        contents = ([size, rank, n, *gsizes, *distributions, *dargs, *psizes, order], [], [], [old])
        return "create_darray", arguments, "DARRAY", contents, map_

    def resized(self, old, depth):
        lb, extent = self.number(-50, 50), self.random.choice([self.number(0, 300), self.number(-60, 0)])
        contents = ([], [lb, extent], [], [old])
        map_ = typemap.resized(old.map, lb, extent)
        return "create_resized", (old.handle, lb, extent), "RESIZED", contents, map_


MAKERS = [
    Types.contiguous,
    Types.vector,
    Types.hvector,
    Types.indexed,
    Types.hindexed,
    Types.indexed_block,
    Types.hindexed_block,
    Types.struct,
    Types.subarray,
    Types.darray,
    Types.resized,
]


def wide_contents(combiner: str, contents: tuple) -> tuple:
    """The contents of the _c form, from those of the plain one (MPI 5.1.13)."""
    ints, addresses, _, olds = contents
    if combiner == "SUBARRAY":
        return [ints[0], ints[-1]], [], ints[1:-1], olds
    if combiner == "DARRAY":
        n = ints[2]
        return ints[:3] + ints[3 + n :], [], ints[3 : 3 + n], olds
    return [], [], ints + addresses, olds


def rebuilt(combiner: str, wide: bool, ints: list, addresses: list, counts: list, handles: list) -> int:
    """A new type from decoded contents, by the constructor that the combiner names."""
    c = "_c" if wide else ""
    numbers = counts if wide and counts else ints + addresses
    if combiner == "DUP":
        return mpi.Type_dup(handles[0])
    if combiner == "RESIZED":
        return getattr(mpi, f"Type_create_resized{c}")(handles[0], *numbers)
    if combiner == "SUBARRAY":
        n, order = ints[0], ints[-1]
        flat = counts if wide else ints[1:-1]
        parts = [flat[i * n : i * n + n] for i in range(3)]
        return getattr(mpi, f"Type_create_subarray{c}")(n, *parts, order, handles[0])
    if combiner == "DARRAY":
        size, rank, n, *rest = ints
        gsizes, rest = (counts, rest) if wide else (rest[:n], rest[n:])
        parts = [rest[i * n : i * n + n] for i in range(3)]
        return getattr(mpi, f"Type_create_darray{c}")(size, rank, n, gsizes, *parts, rest[-1], handles[0])
    if combiner in ("CONTIGUOUS", "VECTOR"):
        return getattr(mpi, f"Type_{combiner.lower()}{c}")(*numbers, handles[0])
    if combiner == "HVECTOR":
        return getattr(mpi, f"Type_create_hvector{c}")(*numbers, handles[0])
    n = numbers[0]
    if combiner.endswith("BLOCK"):
        make = getattr(mpi, f"Type_create_{combiner.lower()}{c}")
        return make(n, numbers[1], numbers[2:], handles[0])
    if combiner == "STRUCT":
        return getattr(mpi, f"Type_create_struct{c}")(n, numbers[1 : 1 + n], numbers[1 + n :], handles)
    make = getattr(mpi, {"INDEXED": "Type_indexed", "HINDEXED": "Type_create_hindexed"}[combiner] + c)
    return make(n, numbers[1 : 1 + n], numbers[1 + n :], handles[0])


def with_signature(types: Types, signature: list[typemap.Basic]) -> Sample:
    """Another type of this signature, without overlaps: its entries lie in runs, anywhere, in any order."""
    random = types.random
    runs: list[list] = []
    for basic in signature:
        if runs and runs[-1][0] is basic and random.random() < 0.8:
            runs[-1][1] += 1
        else:
            runs.append([basic, 1])
    places, at = [0] * len(runs), random.randint(-40, 40)
    for i in random.sample(range(len(runs)), len(runs)):
        places[i] = at
        at += runs[i][0].size * runs[i][1] + random.choice([0, 0, random.randint(1, 20)])
    maps = [typemap.basic_map(basic.name) for basic, _ in runs]
    lengths = [length for _, length in runs]
    handles = [getattr(mpi, basic.name) for basic, _ in runs]
    map_ = typemap.blocks(maps, lengths, places, padded=True)
    handle = types.keep("create_struct", random.random() < 0.5, len(runs), lengths, places, handles)
    return Sample(handle, map_, "STRUCT")
