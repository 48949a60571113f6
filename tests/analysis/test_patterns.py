"""tasuki.patterns and tasuki.pricing: Trans7's communication as the paper predicted it; prices measured,
between, beyond and substituted; what nothing tells is refused, and so are bad lists."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import made_traces  # noqa: E402
import synthetic  # noqa: E402
from command import tasuki  # noqa: E402
from made_traces import Rank  # noqa: E402
from tasuki import machines, model, patterns, pricing  # noqa: E402

LINE = [(1e-6, 1e-10)]
TRANS7 = ROOT / "examples" / "trans7.txt"


@pytest.fixture
def pricer():
    """Ping-pongs, allreduces among 2 and 8 ranks, and barriers among 4."""
    sizes = synthetic.POWERS[3:]
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, LINE), mode="send")
    rows += synthetic.rows_of(sizes[:2], 3 * synthetic.times_of(sizes[:2], LINE), mode="ssend")
    for ranks in (2, 8):
        times = ranks * synthetic.times_of(sizes, LINE)
        rows += synthetic.rows_of(sizes, times, "collectives", "allreduce", ranks, 2.0, form="blocking")
    rows += synthetic.rows_of([0], [4e-6], "collectives", "barrier", 4, form="blocking")
    return pricing.Pricer.of_run(synthetic.run_of(rows))


def test_trans7_is_predicted_as_the_paper_did():
    pricer = pricing.Pricer(machines.load("earth-simulator"))
    put, send = patterns.predict(patterns.load(TRANS7), pricer).items
    assert f"{put.seconds:.1f}" == "79.2" and f"{send.seconds:.1f}" == "84.8"
    assert put.item.measured_seconds == 80.24 and send.item.measured_seconds == 86.86
    for one in (put, send):
        assert abs(one.seconds / one.item.measured_seconds - 1) <= 0.024
        assert one.how == "measured at 6 MiB"


def test_what_if_on_another_machine():
    """On the K computer 63 messages of 6,150 KiB take turns: no exchange was measured there."""
    pricer = pricing.Pricer(machines.load("k-computer"))
    prediction = patterns.predict(patterns.load(TRANS7), pricer)
    each = 63 * (10.5e-6 + 6150 * 1024 / 4685e6)
    assert prediction.items[0].each_seconds == pytest.approx(each)
    assert prediction.items[0].how.startswith("substituted")
    assert prediction.low is None
    with pytest.raises(
        patterns.PatternsError, match=r"trans7.txt:\d: tsubame2.5: latency_seconds .* unknown"
    ):
        patterns.predict(patterns.load(TRANS7), pricing.Pricer(machines.load("tsubame2.5")))


@pytest.mark.parametrize(
    "operation, ranks, bytes, seconds, how",
    [
        ("collectives/allreduce/form=blocking", 2, 64, 2 * (1e-6 + 64e-10), "measured"),
        ("allreduce", 2, 64, 2 * (1e-6 + 64e-10), "measured"),
        ("MPI_Allreduce", 8, 3000, 8 * (1e-6 + 3000e-10), "between 2 KiB and 4 KiB"),
        ("MPI_Iallreduce", 8, 3000, 8 * (1e-6 + 3000e-10), "between 2 KiB and 4 KiB"),
        ("MPI_Allreduce", 2, 1 << 26, 2 * (1e-6 + (1 << 26) * 1e-10), "extrapolated from 8 MiB"),
        ("MPI_Allreduce", 4, 64, 5 * (1e-6 + 64e-10), "between 2 and 8 ranks"),
        ("MPI_Barrier", 4, 0, 4e-6, "measured"),
        ("MPI_Barrier", 16, 0, 8e-6, "substituted: 4 ranks, times 2 by messages of a textbook algorithm"),
        ("MPI_Bcast", 4, 8, 2 * (1e-6 + 8e-10), "substituted: bcast by messages of a textbook algorithm"),
        ("MPI_Send", 2, 8, 1e-6 + 8e-10, "measured"),
        ("MPI_Ssend", 2, 8, 3 * (1e-6 + 8e-10), "measured"),
        ("MPI_Recv", 2, 8, 1e-6 + 8e-10, "measured"),
    ],
)
def test_prices_say_how_they_were_found(pricer, operation, ranks, bytes, seconds, how):
    price = pricer.price(operation, ranks, bytes)
    assert price.seconds == pytest.approx(seconds, rel=1e-3)
    assert price.how == how
    assert (price.low is None) == how.startswith("substituted")


def test_beyond_the_largest_size_it_goes_on_from_there():
    """The last size took twice its line: a cache ended. Four times that size takes twice its line as well."""
    sizes = synthetic.POWERS[3:]
    times = synthetic.times_of(sizes, LINE)
    times[-1] *= 2
    pricer = pricing.Pricer.of_run(synthetic.run_of(synthetic.rows_of(sizes, times, mode="send")))
    wanted = 2 * (1e-6 + 4 * sizes[-1] * 1e-10)
    assert pricer.price("MPI_Send", 2, 4 * sizes[-1]).seconds == pytest.approx(wanted, rel=1e-3)


def test_formulas_price_what_was_not_measured():
    pricer = pricing.Pricer(machines.load("k-computer"))
    assert pricer.price("MPI_Bcast", 384, 1 << 20).seconds == pytest.approx(169e-6 + (1 << 20) / 10400e6)
    assert pricer.price("MPI_Allgather", 384, 1 << 20).how == "by the line from 64 KiB to 4 MiB"
    network, measured = pricer.network(), 389e-6 + 2 * (4 << 20) / 5266e6
    here, there = (model.allreduce(network, shape, 16384, 4 << 20, 4e9) for shape in ((4, 4, 4), (6, 8, 8)))
    price = pricer.price("MPI_Allreduce", 64, 4 << 20)
    assert price.seconds == pytest.approx(measured * here / there)
    assert price.how == "substituted: 384 ranks, times 0.879 by a formula for 4x4x4 nodes"
    price = pricer.price("MPI_Bcast", 64, 100 << 10)
    assert price.seconds == pytest.approx(model.bcast(network, (4, 4, 4), 16384, 100 << 10))
    assert price.how == "substituted: bcast by a formula for 4x4x4 nodes"


@pytest.mark.parametrize("bytes", [0, 1, 64, 5000, 1 << 22])
@pytest.mark.parametrize("name", ["k-computer", "earth-simulator", ""])
def test_a_message_in_parts_is_the_whole_message(pricer, name, bytes):
    pricer = pricing.Pricer(machines.load(name)) if name else pricer
    parts = pricer.point_to_point(bytes)
    assert parts.seconds == pytest.approx(pricer.price("MPI_Send", 2, bytes).seconds)
    assert min(parts.sender_seconds, parts.receiver_seconds, parts.wire_seconds, parts.transfer_seconds) >= 0
    if name:
        limit = pricer.machine.value("eager_bytes_max")
        assert parts.rendezvous == (bytes > limit)
        assert "o_s, o_r substituted" in parts.how


def test_after_computing_an_operation_takes_longer_among_other_ranks_too():
    """Measured among 2, back to back and after computing: among 4 that is in proportion to the messages of an
    all-to-all, three for one. Of the "v" form, of which one size was measured, so is the plain form."""
    sizes, rows = synthetic.POWERS[3:], []
    for form, times in (("blocking", 1), ("used", 4)):
        seconds = times * synthetic.times_of(sizes, LINE)
        rows += synthetic.rows_of(sizes, seconds, "collectives", "alltoall", 2, form=form)
        rows += synthetic.rows_of(sizes[-1:], 2 * seconds[-1:], "collectives", "alltoallv", 2, form=form)
    rows += synthetic.rows_of(sizes, synthetic.times_of(sizes, LINE), mode="send")
    pricer = pricing.Pricer.of_run(synthetic.run_of(rows))
    for name, times in (("MPI_Alltoall", 1), ("MPI_Alltoallv", 2)):
        warm, used = (pricer.price(name, 4, 4096, used=used).seconds for used in (0, 1))
        assert warm == pytest.approx(3 * times * (1e-6 + 4096e-10)), name
        assert used == pytest.approx(4 * warm), name


def test_what_nothing_tells_is_refused(pricer):
    with pytest.raises(
        pricing.PricingError, match="nothing tells the time of MPI_Comm_spawn among 4 ranks at 8 B"
    ):
        pricer.price("MPI_Comm_spawn", 4, 8)
    with pytest.raises(pricing.PricingError, match="'a/b/c/d': no pattern, expected group/benchmark"):
        pricer.price("a/b/c/d", 4, 8)


@pytest.mark.parametrize(
    "ranks, shape", [(384, (6, 8, 8)), (64, (4, 4, 4)), (7, (7,)), (6, (2, 3)), (1, (1,))]
)
def test_the_box_of_so_many_nodes(ranks, shape):
    assert pricing.shape_of(ranks, 3) == shape


@pytest.mark.parametrize(
    "text, size",
    [
        ("64", 64),
        ("6150KiB", 6297600),
        ("6150KB", 6150000),
        ("1.5MB", 1.5e6),
        ("1e3", 1000),
        ("2GiB", 2 << 30),
    ],
)
def test_sizes_with_units(tmp_path, text, size):
    (tmp_path / "list.txt").write_text(f"# a comment\n\nMPI_Bcast 4 {text} 10 3ms # another\n")
    (item,) = patterns.load(tmp_path / "list.txt")
    assert item.bytes == pytest.approx(size)
    assert (item.ranks, item.count, item.measured_seconds) == (4, 10, pytest.approx(3e-3))


@pytest.mark.parametrize(
    "line, told",
    [
        ("", "has no line of pattern ranks bytes count"),
        ("# nothing", "has no line of pattern ranks bytes count"),
        ("MPI_Bcast 4 8", r"list.txt:1: 3 words, expected pattern ranks bytes count \[measured seconds\]"),
        ("MPI_Bcast four 8 1", "list.txt:1: ranks = 'four', expected a whole number from 1 on"),
        ("MPI_Bcast 0 8 1", "list.txt:1: ranks = '0', expected a whole number from 1 on"),
        ("MPI_Bcast 4 -8 1", "list.txt:1: bytes = '-8', expected a size such as 64"),
        ("MPI_Bcast 4 8XB 1", "list.txt:1: bytes = '8XB', expected a size such as 64"),
        ("MPI_Bcast 4 8 nan", "list.txt:1: count = 'nan', expected a number from 0 on"),
        ("MPI_Bcast 4 1e999 1", "list.txt:1: bytes = '1e999', expected a size"),
        ("MPI_Bcast 4 8 1 3h", "list.txt:1: measured = '3h', expected a time such as"),
        ("a/b/c/d 4 8 1", "list.txt:1: 'a/b/c/d': no pattern"),
    ],
)
def test_a_bad_list_is_refused(tmp_path, line, told):
    (tmp_path / "list.txt").write_text(line + "\n")
    with pytest.raises(patterns.PatternsError, match=told):
        patterns.load(tmp_path / "list.txt")


# ---- the commands --------------------------------------------------------------------------------------


def test_predict_prints_a_table_and_json():
    shown = tasuki("predict", TRANS7, "--machine", "earth-simulator")
    assert shown.returncode == 0 and "79.20 s" in shown.stdout and "-2.4 %" in shown.stdout, shown
    asked = tasuki("predict", TRANS7, "--machine", "earth-simulator", "--json")
    document = json.loads(asked.stdout)
    assert document["tasuki_prediction"] == 1
    assert document["seconds"] == pytest.approx(164.0, abs=0.05)
    assert [line["measured_seconds"] for line in document["lines"]] == [80.24, 86.86]


def predicted(*words):
    done = tasuki("predict", *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["lines"]


@pytest.fixture
def what_if(tmp_path):
    """A list, and a table as `tasuki tune --host` writes it."""
    (tmp_path / "list.txt").write_text("MPI_Allreduce 4 8 10 5s\nMPI_Send 2 64KiB 1 3s\nMPI_Send 2 1MiB 1\n")
    row = {"software_ns": 2000, "latency_ns": 9000, "bytes_per_ns": 2.5, "eager_bytes_per_ns": 2}
    network = row | {"long_ns": 21000, "long_bytes": 65536}
    table = {"tasuki_tuning": 1, "made_on": {"processors": 4}, "messages": {"network": network}}
    (tmp_path / "hosts.json").write_text(json.dumps(table))
    (tmp_path / "node.json").write_text('{"tasuki_tuning": 1}')
    return tmp_path


def test_what_if_among_other_ranks(what_if):
    """Sizes and counts stay, and a message stays one of two ranks; what was measured does not."""
    reduced, sent, _ = predicted(what_if / "list.txt", "--machine", "k-computer", "--ranks", 64)
    assert (reduced["ranks"], reduced["count"], reduced["measured_seconds"]) == (64, 10, None)
    assert (sent["ranks"], sent["measured_seconds"]) == (2, 3)
    price = pricing.Pricer(machines.load("k-computer")).price("MPI_Allreduce", 64, 8)
    assert reduced["each_seconds"] == pytest.approx(price.seconds)
    placed = predicted(what_if / "list.txt", "--machine", "k-computer", "--ranks", 64, "--map", "64x1")
    assert placed[0] == reduced


def test_a_tuning_table_is_a_machine_with_places(what_if):
    words = what_if / "list.txt", "--machine", what_if / "hosts.json"
    here, short, long = predicted(*words, "--map", "2x4")
    assert "4 ranks" in here["how"] and here["each_seconds"] < 2e-6  # there is room on one node
    assert short["each_seconds"] == pytest.approx(11e-6 + 65536 / 2e9)
    assert long["each_seconds"] == pytest.approx(32e-6 + (1 << 20) / 2.5e9)
    there = predicted(*words, "--map", "2x2")[0]
    assert "hierarchical, 2x2 ranks" in there["how"] and there["each_seconds"] > 11e-6
    many = predicted(*words, "--map", "8x4", "--ranks", 32)[0]
    assert many["ranks"] == 32 and "8x4 ranks" in many["how"] and many["each_seconds"] > 2 * 11e-6
    slow = predicted(*words, "--map", "2x2", "--set", "messages.network.latency_ns=1e6")[0]
    assert slow["each_seconds"] > 1e-3
    for uneven in ("2x3", "3,1"):  # as if both had 3
        one = predicted(*words, "--map", uneven)[0]
        assert (
            one["how"].startswith("substituted: allreduce on 3,1, by the library's formula")
            and "2x3" in one["how"]
        )
        assert one["each_seconds"] >= there["each_seconds"]
    alone = predicted(what_if / "list.txt", "--machine", what_if / "node.json", "--map", "1x4")
    assert alone[2]["how"] == "by messages.cache" and alone[2]["each_seconds"] < 1e-3


@pytest.mark.parametrize(
    "words, told",
    [
        (["hosts.json"], "expected --map NODESxRANKS"),
        (["hosts.json", "--map", "2x"], "--map 2x: expected nodes and the ranks of each"),
        (["hosts.json", "--map", "0x4"], "--map 0x4: expected nodes"),
        (["hosts.json", "--map", "2x4", "--ranks", "6"], "--ranks 6 --map 2x4: expected 8 ranks"),
        (["hosts.json", "--map", "3x1"], "list.txt:1: 4 ranks, --map 3x1 has room for 3"),
        (["hosts.json", "--map", "4,x"], "--map 4,x: expected nodes and the ranks of each, 2x4 or 4,4,2"),
        (["hosts.json", "--map", "2,1"], "list.txt:1: 4 ranks, --map 2,1 has room for 3"),
        (
            ["hosts.json", "--map", "2x4", "--set", "latency=1"],
            "--set latency: no parameter of a tuning table",
        ),
        (
            ["hosts.json", "--map", "2x4", "--set", "messages.network.latency_ns=-1"],
            "latency_ns = -1, expected",
        ),
        (
            ["node.json", "--map", "2x4"],
            "has no row messages.network, expected a table that `tasuki tune --host`",
        ),
        (["k-computer", "--map", "2x4"], "of k-computer are of 1 on a node: expected NODESx1"),
        (["local", "--map", "2x4"], "local tells nothing of where its ranks were"),
    ],
)
def test_what_if_that_nothing_tells_is_refused(what_if, monkeypatch, words, told):
    monkeypatch.chdir(what_if)
    done = tasuki("predict", "list.txt", "--machine", *words)
    assert done.returncode == 2 and told in done.stderr, done
    assert len(done.stderr.splitlines()) == 1, done


def test_messages_of_a_trace_have_the_price_of_their_ranks(what_if):
    """1 MB in each of two pairs: within a node or over the network, as the placement says. And ranks of other
    nodes do not share processors."""
    ranks = []
    for rank in range(4):
        one = Rank(rank, 4, processors=2).call("MPI_Init", 0, 10, group=0)
        values = (
            {"peer": rank + 1, "sent": 1 << 20}
            if rank % 2 == 0
            else {"source": rank - 1, "received": 1 << 20}
        )
        ranks.append(one.call("MPI_Recv" if rank % 2 else "MPI_Send", 20, 400, **values))
    trace = made_traces.write(what_if / "four.trace", *ranks)

    def seconds(*words):
        done = tasuki("predict", trace, "--machine", what_if / "hosts.json", *words, "--json")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        return [
            row["predicted"] for row in sorted(document["ranks_of"], key=lambda row: row["rank"])
        ], document

    (near, _), (far, _) = seconds("--map", "2x2"), seconds("--map", "4x1")
    over = 11e-6 + 21e-6 + (1 << 20) / 2.5e9
    assert far[1] == pytest.approx(over, rel=0.1) and near[1] < far[1] / 2
    (mixed, document) = seconds("--map", "3,1")
    assert mixed[1] == pytest.approx(near[1]) and mixed[3] == pytest.approx(far[3])
    assert not [note for note in document["notes"] if "shared" in note], document
    assert "4 ranks shared 2 processors" in tasuki("predict", trace, "--machine", "k-computer").stdout
    more, document = seconds("--map", "2x4")
    assert document["ranks"] == 8 and more[7] == pytest.approx(near[1])
    explained = tasuki("explain", trace, "--machine", what_if / "hosts.json", "--map", "3,1")
    assert explained.returncode == 0, explained.stderr


def test_a_placement_has_as_many_ranks_as_asked_for(tmp_path):
    trace = tmp_path / "two.trace"
    made_traces.write(trace, *(Rank(rank, 2).call("MPI_Barrier", 10, 11) for rank in range(2)))
    words = "predict", trace, "--machine", "k-computer"
    done = tasuki(*words, "--ranks", 2, "--map", "2x2")
    assert done.returncode == 2 and "--ranks 2 --map 2x2: expected 4 ranks" in done.stderr
    assert tasuki(*words, "--ranks", 2, "--map", "2x1").returncode == 0


def test_fit_prints_segments_and_writes_a_machine(tmp_path, pricer):
    times = synthetic.times_of(synthetic.POWERS, [(0.3e-6, 2e-10), (2e-6, 0.9e-10)], [1024])
    run = synthetic.run_of(synthetic.rows_of(synthetic.POWERS, times, mode="send"))
    run.save(tmp_path / "run.json")
    shown = tasuki("fit", tmp_path / "run.json", "--machine", tmp_path / "local.json")
    assert shown.returncode == 0, shown
    assert "switches: above 1 KiB, up to 2 KiB" in shown.stdout and "300 ns" in shown.stdout
    (tmp_path / "list.txt").write_text("MPI_Send 2 8MiB 10\n")
    priced = tasuki("predict", tmp_path / "list.txt", "--machine", tmp_path / "local.json", "--json")
    assert json.loads(priced.stdout)["seconds"] == pytest.approx(10 * times[-1])
    table = tasuki("fit", tmp_path / "run.json", "--csv").stdout.splitlines()
    assert len(table) == 3 and table[0].startswith("series,")
    assert len(json.loads(tasuki("fit", tmp_path / "run.json", "--json").stdout)["segments"]) == 2


@pytest.mark.parametrize(
    "words, told",
    [
        (["fit", "nowhere.json"], "nowhere.json: No such file"),
        (["predict", TRANS7], "neither --run nor --machine given"),
        (["predict", "--machine", "k-computer"], "no FILE given"),
        (
            ["predict", TRANS7, "--machine", "k-computer", "--set", "dimensions"],
            "expected NAME=VALUE with a number",
        ),
        (["predict", TRANS7, "--machine", "nowhere"], "nowhere: no such machine or file"),
    ],
)
def test_words_that_make_no_sense_are_refused_in_a_line(words, told):
    done = tasuki(*words)
    assert done.returncode == 2 and told in done.stderr and len(done.stderr.splitlines()) == 1, done


def test_runs_that_cannot_be_fitted_are_refused(tmp_path):
    sizes = synthetic.POWERS[:2]
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, LINE))
    synthetic.run_of(rows).save(tmp_path / "two.json")
    done = tasuki("fit", tmp_path / "two.json")
    assert done.returncode == 2 and "2 sizes above 0, expected at least 3" in done.stderr
    synthetic.run_of(rows * 2).save(tmp_path / "mixed.json")
    done = tasuki("fit", tmp_path / "mixed.json")
    assert done.returncode == 2 and "two rows of 1 bytes, expected one: rows of two runs" in done.stderr
    done = tasuki("predict", TRANS7, "--run", tmp_path / "mixed.json")
    assert done.returncode == 2 and "two rows of 1 bytes" in done.stderr


def test_a_v_form_of_few_sizes_takes_the_line_of_the_plain_form():
    """MPI_Alltoallv was measured at two sizes, and took 1.5 of MPI_Alltoall: so it does beyond."""
    sizes = synthetic.POWERS[3:]
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, LINE), mode="send")
    for name, some, times in (("alltoall", sizes, 2), ("alltoallv", [8, 65536], 3)):
        measured = times * synthetic.times_of(some, LINE)
        rows += synthetic.rows_of(some, measured, "collectives", name, 4, 1.0, form="blocking")
    pricer = pricing.Pricer.of_run(synthetic.run_of(rows))
    assert pricer.price("MPI_Alltoallv", 4, 65536).how == "measured"
    beyond = pricer.price("MPI_Alltoallv", 4, 1 << 20)
    assert beyond.seconds == pytest.approx(3 * (1e-6 + (1 << 20) * 1e-10), rel=1e-3)
    assert beyond.how == "substituted: alltoall, times 1.5 as at 64 KiB" and beyond.low is None


def test_messages_of_programs_are_touched():
    """Messages whose data are written before and read after take twice as long at 64 KiB, not at 1 KiB: so
    does what a replay asks for, between these and beyond; what a list asks for is what was measured."""
    sizes = synthetic.POWERS[3:]
    rows = synthetic.rows_of(sizes, synthetic.times_of(sizes, LINE), mode="send", touched="no")
    for size, times in ((1024, 1), (65536, 2)):
        rows += synthetic.rows_of(
            [size], times * synthetic.times_of([size], LINE), mode="send", touched="yes"
        )
    pricer = pricing.Pricer.of_run(synthetic.run_of(rows))
    for size, times in ((8, 1), (1024, 1), (8192, 1.5), (65536, 2), (1 << 20, 2)):
        (wanted,) = times * synthetic.times_of([size], LINE)
        assert pricer.point_to_point(size).seconds == pytest.approx(wanted, rel=1e-3)
    assert pricer.price("MPI_Send", 2, 65536).how == "measured"
    assert pricer.price("MPI_Send", 2, 65536).seconds == pytest.approx(1e-6 + 65536e-10, rel=1e-3)
