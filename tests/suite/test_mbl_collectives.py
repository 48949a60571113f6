"""mbl's groups collectives and concurrent: every case moves the right data at several numbers of ranks, every
collective is there in every form, and data that a call spoils are found, whichever call it is."""

import functools
import json
import os
import re

import harness
import pytest

MBL = harness.PREFIX / "libexec/tasuki/mbl"
GROUPS = ("collectives", "concurrent")
FORMS = ("blocking", "used", "cold", "nonblocking", "overlap", "persistent")
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
OF_HOW_MANY = {
    1: 3,
    2: 1,
    3: 7,
    4: 9,
    8: 11,
}  # ranks: of so many cases one; they wait for each other, more by more
BYTES_MAX = 4 << 10  # each series at its smallest size, and at its largest up to here
COLLECTIVES = (
    "barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce "
    "allreduce reduce_scatter reduce_scatter_block scan exscan neighbor_allgather neighbor_allgatherv "
    "neighbor_alltoall neighbor_alltoallv neighbor_alltoallw"
).split()


def mbl(ranks, *options, environment=None):
    command = [harness.PREFIX / "bin/mpiexec", "-n", ranks, MBL, *options]
    return harness.run_command(*command, environment=environment, timeout=590)


def lines_of(done):
    assert done.returncode == 0, done.text
    return [json.loads(line) for line in done.stdout.splitlines()]


@functools.cache
def listed(ranks, *options):
    """{id: [sizes]} of both groups."""
    series = {}
    for case in lines_of(mbl(ranks, "--list", *options, "--only", *GROUPS)):
        series.setdefault(case["id"], []).append(case["bytes"])
    return series


@pytest.fixture
def measured(tmp_path):
    """measured(ranks, [(id, bytes), ...]) -> the lines of a run that went to its end, but for its marks."""

    def measure(ranks, cases):
        path = tmp_path / "cases"
        path.write_text("".join(f"{name} {size}\n" for name, size in cases))
        lines = lines_of(mbl(ranks, "--cases", path, "--budget", 1e-4))
        assert lines[-1] == {"end": True}
        return [line for line in lines[:-1] if "begin" not in line]

    return measure


def small_cases(ranks):
    """Each series at two sizes."""
    cases = []
    for name, sizes in listed(ranks).items():
        small = [size for size in sizes if size <= BYTES_MAX]
        cases += [(name, size) for size in sorted({small[0], small[-1]})]
    return cases


# ---- right data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_all_cases_move_the_right_data(measured, ranks):
    # In short all of them with 2 ranks, and others with more: some of each size.
    wanted = small_cases(ranks)[:: 1 if LONG else OF_HOW_MANY[ranks]]
    rows = measured(ranks, wanted)
    assert [(row["id"], row["bytes"]) for row in rows] == wanted
    for row in rows:
        assert row["checked"] is (None if row["benchmark"] == "barrier" else True), row["id"]
        assert min(row["seconds"]) > 0, row["id"]
        # Our neighbourhood collectives take what was sent up as what comes from below, as MPI-4.1 8.6 has it.
        assert "directions_swapped" not in row["notes"], row["id"]


def test_long_vectors_and_blocks_are_right_too(measured):
    ids = [
        "collectives/bcast/form=blocking,touched=yes",
        "collectives/bcast/form=blocking,touched=no",
        "collectives/allreduce/form=blocking,buffers=one,touched=yes",
        "collectives/alltoallv/form=blocking,lengths=rising,touched=yes",
        "collectives/reduce_scatter/form=blocking,lengths=rising,touched=yes",
        "concurrent/exchange/way=put_fence,order=shifted,memory=malloc,touched=yes",
    ]
    wanted = [(name, size) for name in ids for size in (80_008, 1 << 20)]
    assert [row["checked"] for row in measured(3, wanted)] == [True] * len(wanted)


# ---- what is there -------------------------------------------------------------------------------------


def test_every_collective_is_there_in_every_form():
    ids = set(listed(2))
    for name in COLLECTIVES:
        for form in FORMS:
            variants = {
                id.split("form=")[1] for id in ids if id.startswith(f"collectives/{name}/form={form}")
            }
            assert variants, f"{name}, {form}"
            uneven = name.endswith(("v", "w")) or name == "reduce_scatter"
            if uneven and form == "blocking":
                lengths = {variant.removesuffix(",touched=yes") for variant in variants}
                assert lengths == {"blocking,lengths=even", "blocking,lengths=rising"}, name
    assert {id.split("/")[1] for id in ids if id.startswith("collectives/")} == set(COLLECTIVES)


def test_there_are_sizes_enough_to_fit_in_the_quick_cases_too():
    quick = listed(2, "--quick")
    assert len(quick["collectives/bcast/form=blocking,touched=yes"]) >= 18
    assert len(quick["collectives/allreduce/form=blocking,buffers=two,touched=yes"]) >= 18
    for group, most in {"collectives": 260, "concurrent": 50}.items():
        assert sum(len(sizes) for name, sizes in quick.items() if name.startswith(group)) <= most


def test_exchanges_are_there_in_all_their_ways_and_orders():
    prefix = "concurrent/exchange/"
    variants = {id.removeprefix(prefix) for id in listed(3) if id.startswith(prefix)}
    ways = ("isend", "send", "send_barrier", "put_fence")
    assert variants >= {
        f"way={way},order={order},memory=malloc,touched={touched}"
        for way in ways
        for order in ("shifted", "naive")
        for touched in ("yes", "no")
    }
    assert "way=alltoall,order=library,memory=malloc,touched=yes" in variants
    # Two ranks have but one order, and half of three ranks is one.
    assert not any("naive" in id for id in listed(2))
    assert not any("half" in id for id in listed(3)) and any("half" in id for id in listed(4))


def test_what_cannot_be_is_told_and_the_rest_goes_on(measured):
    lines = measured(
        2,
        [
            ("concurrent/halo/way=isend,dimensions=3,touched=yes", 16),
            ("concurrent/halo/way=isend,dimensions=2,touched=yes", 1 << 30),
            ("concurrent/shift/way=sendrecv,distance=1,touched=yes", 8 << 40),
            ("collectives/alltoallw/form=blocking,lengths=even,touched=yes", 1 << 30),
            ("concurrent/halo/way=isend,dimensions=3,touched=yes", 72),
        ],
    )
    told = [line.get("why") for line in lines]
    assert "no square number" in told[0]
    assert "more than 32768 bytes" in told[1]
    assert "counts and places are ints" in told[2] and told[3] == told[2]
    assert lines[4]["checked"] is True


def test_overlap_is_what_its_parts_say(measured):
    cases = [f"collectives/{name}/form=overlap,touched=yes" for name in ("bcast", "reduce", "scan")]
    sides = [("sender", "posted"), ("sender", "late"), ("receiver", "posted"), ("receiver", "late")]
    for number, (side, receive) in enumerate(sides):
        tests = ("none", "some")[number % 2]
        variant = f"form=overlap,side={side},receive={receive},tests={tests},touched=yes"
        cases.append(f"point_to_point/overlap/{variant}")
    cases += [f"rma/overlap/form=overlap,operation={operation},touched=no" for operation in ("rput", "rget")]
    for row in measured(2, [(case, 4096) for case in cases]):
        notes = row["notes"]
        assert min(notes[part] for part in ("pure_seconds", "compute_seconds", "total_seconds")) > 0
        hidden = 1 - (notes["total_seconds"] - notes["compute_seconds"]) / notes["pure_seconds"]
        assert row["checked"] is True
        assert notes["overlap"] == pytest.approx(hidden, rel=1e-3, abs=1e-3)


# ---- wrong data ----------------------------------------------------------------------------------------

SPOILER = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const void *last_buffer;
static MPI_Datatype last_type;

static void remember(const void *buffer, int count, MPI_Datatype type) {
  (void)count;
  last_buffer = buffer;
  last_type = type;
}

static int is_ours(int count, MPI_Datatype type) { /* and not what mbl tells its ranks */
  return type != MPI_CHAR && type != MPI_INT && (type != MPI_DOUBLE || count > 1);
}

static void spoil(const char *name, const void *buffer, int count, MPI_Datatype type) {
  int rank = 0;
  MPI_Aint begin = 0, extent = 0;
  const char *wanted = getenv("SPOILED");
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 || wanted == NULL || strcmp(wanted, name) != 0) return;
  if (buffer == NULL || buffer == MPI_IN_PLACE || !is_ours(count, type)) return;
  PMPI_Type_get_true_extent(type, &begin, &extent);
  ((unsigned char *)buffer)[begin + 6] ^= 0x40;
}
"""


def wrapper_of(name, declarations):
    """A function that changes a bit of the first word that rank 0 sends, if it is the one that is wanted."""
    parameters = re.search(rf"\bint {name}\((.*?)\);", declarations, flags=re.S).group(1)
    names = [re.search(r"(\w+)(\[\])?$", parameter.strip()).group(1) for parameter in parameters.split(",")]
    if name in ("MPI_Start", "MPI_Startall"):
        first = f'spoil("{name}", last_buffer, 2, last_type);'
    else:
        type_name, many = re.search(r"MPI_Datatype (\w+)(\[\])?", parameters).groups()
        count = re.search(r"int (\w*count)\b(?!\[)", parameters)
        given = (
            f"{names[0]}, {count.group(1) if count and not many else 2}, {type_name}{'[0]' if many else ''}"
        )
        first = f"remember({given});" if name.endswith("_init") else f'spoil("{name}", {given});'
    return f"int {name}({parameters}) {{ {first} return P{name}({', '.join(names)}); }}\n"


def spoiled_cases():
    """(function, id) of every blocking collective, and of each other way in which data are sent."""
    for name in COLLECTIVES[1:]:
        series = f"collectives/{name}/form="
        uneven = name.endswith(("v", "w")) or name == "reduce_scatter"
        rest = ",lengths=even" if uneven else ""
        if name in ("allgather", "alltoall", "allreduce"):
            rest = ",buffers=two"
        rest += ",touched=yes"
        yield f"MPI_{name.capitalize()}", f"{series}blocking{rest}"
        if name in ("bcast", "allreduce", "alltoallw", "neighbor_alltoallv"):
            yield f"MPI_I{name}", f"{series}nonblocking{rest}"
            yield f"MPI_I{name}", f"{series}overlap{rest}"
            yield "MPI_Start", f"{series}persistent{rest}"
    yield "MPI_Alltoallv", "collectives/alltoallv/form=blocking,lengths=rising,touched=yes"
    yield "MPI_Sendrecv", "concurrent/shift/way=sendrecv,distance=1,touched=yes"
    yield "MPI_Isend", "concurrent/shift/way=isend_irecv,distance=1,touched=yes"
    yield "MPI_Put", "concurrent/shift/way=put_fence,distance=1,touched=yes"
    yield "MPI_Isend", "concurrent/exchange/way=isend,order=shifted,memory=malloc,touched=yes"
    yield "MPI_Send", "concurrent/exchange/way=send,order=shifted,memory=malloc,touched=yes"
    yield "MPI_Send", "concurrent/exchange/way=send_barrier,order=shifted,memory=alloc_mem,touched=yes"
    yield "MPI_Put", "concurrent/exchange/way=put_fence,order=shifted,memory=malloc,touched=yes"
    ways = {"isend": "MPI_Isend", "sendrecv": "MPI_Sendrecv", "persistent": "MPI_Startall"}
    ways |= {"neighbor_alltoallw": "MPI_Neighbor_alltoallw", "put_pscw": "MPI_Put", "put_fence": "MPI_Put"}
    for dimensions, (way, function) in enumerate(ways.items()):
        yield function, f"concurrent/halo/way={way},dimensions={dimensions % 3 + 1},touched=yes"


SPOILED = list(spoiled_cases())


@pytest.fixture(scope="module")
def spoiler(tmp_path_factory):
    """A library to preload: in it the function that SPOILED names spoils what it sends."""
    folder = tmp_path_factory.mktemp("spoiler")
    declarations = (harness.PREFIX / "include/mpi.h").read_text()
    functions = {function for function, _ in SPOILED} | {
        f"{function}_init" for function in ("MPI_Send", "MPI_Bcast", "MPI_Allreduce", "MPI_Alltoallw")
    }
    functions.add("MPI_Neighbor_alltoallv_init")
    source = folder / "spoiler.c"
    source.write_text(SPOILER + "".join(wrapper_of(name, declarations) for name in sorted(functions)))
    library = folder / "libspoiler.so"
    done = harness.run_command(
        harness.PREFIX / "bin/mpicc", "-shared", "-fPIC", "-O1", source, "-o", library, timeout=300
    )
    assert done.returncode == 0, done.text
    return library


@pytest.mark.parametrize("function, name", SPOILED, ids=lambda text: text.removeprefix("collectives/"))
def test_a_spoiled_word_is_found(spoiler, tmp_path, function, name):
    case = f"{name} {128 if 'dimensions=3' in name else 64}"
    cases = tmp_path / "cases"
    cases.write_text(case + "\n")
    environment = {"LD_PRELOAD": spoiler, "SPOILED": function}
    done = mbl(2, "--cases", cases, "--budget", 1e-4, environment=environment)
    assert done.returncode != 0, done.text
    assert f"mbl: {case}: wrong data: rank " in done.stderr, done.text


def test_the_spoiler_spoils_nothing_unasked(spoiler, tmp_path):
    cases = tmp_path / "cases"
    cases.write_text("".join(f"{name} 128\n" for _, name in SPOILED))
    done = mbl(2, "--cases", cases, "--budget", 1e-4, environment={"LD_PRELOAD": spoiler})
    assert lines_of(done)[-1] == {"end": True}
