"""Hints of files under real processes: each key of docs/io.md, what is refused and why, files of hints."""

import os
import re
import socket

import pytest
from harness import ROOT

PAGE = (ROOT / "docs/io.md").read_text()
OWN = "each rank's own"


def table():
    """The rows of the page's table of hints: hint, value, when not given, counts."""
    begin = PAGE.index("| hint | value | when not given | counts |")
    text = PAGE[begin : PAGE.index("\n\n", begin)]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M)
    assert len(rows) > 20
    return rows


def told(done, rank=0):
    """What MPI_File_get_info told a rank, of which those other than 0 print what is their own."""
    prefix = "" if rank == 0 else f"rank {rank}: "
    return dict(re.findall(rf"^{prefix}(\w+) = (.*)$", done.stdout, re.M))


def ignored(done, rank=0):
    """The hints that took no effect, and why."""
    pattern = rf'^tasuki: rank {rank}: file ".*": hint (\S+) = "(.*)" has no effect: (.*)$'
    return {key: why for key, _, why in re.findall(pattern, done.stderr, re.M)}


@pytest.fixture
def hints(run, tmp_path):
    """hints(ranks, *words of io_hints.c, text=what ROMIO_HINTS names, ...) -> Done, which was right."""

    def run_it(ranks, *words, text=None, **environment):
        environment.setdefault("TASUKI_EXPLAIN", "1")
        if text is not None:
            (tmp_path / "hints").write_bytes(text.encode())
            environment.setdefault("ROMIO_HINTS", tmp_path / "hints")
        done = run("io_hints.c", ranks, tmp_path / "file", *words, environment=environment)
        assert done.returncode == 0, done.text
        return done

    return run_it


def test_the_table_has_what_the_code_has():
    source = (ROOT / "src/io/hints/hint_table.cpp").read_text()
    rules = source[source.index("kRules[]") : source.index("struct Inert")]
    in_code = re.findall(r'\{"(\w+)",\s*(kFile|kRank),\s*(kAlways|kOpening)', rules)
    of_code = [
        (key, ("rank 0's" if scope == "kFile" else OWN) + (", at open" if when == "kOpening" else ""))
        for key, scope, when in in_code
    ]
    assert [(key, counts) for key, _, _, counts in table()] == of_code


def test_what_the_table_expects_is_what_is_expected(hints):
    done = hints(2, *(f"{key}=?:" for key, *_ in table()))
    expected = {key: f"expected {value}" for key, value, *_ in table()}
    assert ignored(done) == expected, done.text
    assert told(done)["cb_buffer_size"] == "16777216"


def test_defaults_are_those_of_the_table(hints):
    done = hints(1, "romio_cb_write=automatic")
    defaults = {key: value for key, _, value, _ in table() if value != "-"}
    found = told(done)
    assert {key: found[key] for key in defaults} == defaults, done.text
    others = set(found) - set(defaults) - {"cb_nodes"}
    assert others <= {"filename", "romio_filesystem_type", "romio_aggregator_list"}, done.text
    assert ignored(done) == {}, done.text


def test_rank_zeros_count_and_who_gave_others_is_told(hints):
    words = ["@0:cb_buffer_size=1000", "@2:cb_buffer_size=7", "@2:romio_ds_read=disable", "@1:cb_nodes=2"]
    done = hints(3, *words, TASUKI_EXPLAIN="all")
    assert told(done)["cb_buffer_size"] == "1000", done.text
    assert told(done)["romio_ds_read"] == "automatic", done.text
    assert told(done, rank=2)["romio_ds_read"] == "disable", done.text
    assert ignored(done, rank=2) == {"cb_buffer_size": 'rank 0\'s hints count, which say "1000"'}, done.text
    assert ignored(done, rank=1) == {"cb_nodes": "rank 0's hints count, which lack it"}, done.text
    assert (
        "2 of 3 ranks gave other hints than rank 0, whose count: rank 1 is the first of them" in done.stderr
    )


def test_the_jobs_rank_zero_tells_of_a_file_whose_rank_zero_is_another(hints):
    done = hints(3, "reversed", "cb_nodes=9", "cb_block_size=none", "@2:cb_buffer_size=7")
    why = ignored(done)
    assert why["cb_buffer_size"] == "rank 0's hints count, which lack it", done.text
    assert why["cb_block_size"].startswith("expected"), done.text
    assert "9 aggregators were asked for, but only 3 ranks opened the file" in done.stderr, done.text
    assert "rank 2 is the first of them" in done.stderr, done.text


def test_set_info_and_set_view_come_too_late_for_some(hints):
    done = hints(2, "cb_buffer_size=1000", "+cb_buffer_size=2000", "+file_perm=600", "%tasuki_io_order=rank")
    assert told(done)["cb_buffer_size"] == "2000", done.text
    assert told(done)["tasuki_io_order"] == "rank", done.text
    assert ignored(done) == {"file_perm": "it counts at MPI_File_open alone"}, done.text


def test_what_cannot_be_had_is_told(hints):
    done = hints(
        2, "cb_nodes=9", "striping_factor=4", "romio_lustre_co_ratio=2", "access_style=random", "x=y"
    )
    assert told(done)["cb_nodes"] == "2", done.text
    assert "9 aggregators were asked for, but only 2 ranks opened the file" in done.stderr, done.text
    why = ignored(done)
    assert why["romio_lustre_co_ratio"] == "the file is not on Lustre", done.text
    assert why["x"] == "it is not known", done.text
    assert "access_style" in why, done.text
    assert re.search("striping.*does not", done.stderr), done.text


def test_nothing_is_told_where_nobody_asked(hints):
    done = hints(2, "cb_nodes=9", "x=y", "romio_cb_read=perhaps", TASUKI_EXPLAIN="0")
    assert done.stderr == "", done.text


@pytest.mark.parametrize("placement, ranks", [("block", "0 1 2 3"), ("round_robin", "0 2 1 3")])
def test_aggregators_of_two_nodes(mpiexec, build, tmp_path, placement, ranks):
    words = [f"tasuki_io_aggregators={placement}:2", "romio_cb_write=enable", "romio_cb_read=enable"]
    done = mpiexec("-n", 4, "--nodes", 2, build("io_hints.c"), tmp_path / "file", *words)
    assert done.returncode == 0, done.text
    assert told(done)["romio_aggregator_list"] == ranks, done.text
    assert told(done)["cb_nodes"] == "4", done.text


def test_a_config_list_names_nodes(mpiexec, build, tmp_path):
    host = socket.gethostname()
    words = [f"cb_config_list={host}.node1:1,{host}.node2,*:0", "romio_cb_write=enable"]
    done = mpiexec("-n", 6, "--nodes", 3, build("io_hints.c"), tmp_path / "file", *words)
    assert done.returncode == 0, done.text
    assert told(done)["romio_aggregator_list"] == "2 4", done.text


@pytest.mark.parametrize("options", [[], ["--nodes", 2]])
def test_only_aggregators_open_a_file_without_independent_access(mpiexec, build, tmp_path, options):
    words = ["romio_no_indep_rw=true", "cb_nodes=2", "tasuki_io_aggregators=block"]
    done = mpiexec("-n", 4, *options, build("io_hints.c"), tmp_path / "file", *words)
    assert done.returncode == 0, done.text
    assert told(done)["romio_cb_read"] == "enable", done.text
    opened = {int(rank) for rank in re.findall(r"^rank (\d): descriptors = 1$", done.stdout, re.M)}
    assert opened == {int(rank) for rank in told(done)["romio_aggregator_list"].split()}, done.text
    # A rank that accesses the file by itself all the same opens it then.
    done = mpiexec("-n", 4, *options, build("io_hints.c"), tmp_path / "file", *words, "alone")
    assert done.returncode == 0, done.text


def test_all_open_it_where_collective_buffering_is_off(hints):
    done = hints(3, "romio_no_indep_rw=true", "romio_cb_read=disable")
    assert len(re.findall(r"^rank \d: descriptors = 1$", done.stdout, re.M)) == 3, done.text
    assert "collective buffering is switched off" in ignored(done)["romio_no_indep_rw"], done.text


def test_a_file_of_hints_and_the_program_that_wins(hints):
    text = "# of the site\ncb_buffer_size 1000\nromio_ds_read\tdisable # why\ncb_nodes 1\n"
    done = hints(3, "cb_nodes=2", "@2:romio_ds_read=enable", text=text)
    found = told(done)
    assert (found["cb_buffer_size"], found["cb_nodes"], found["romio_ds_read"]) == ("1000", "2", "disable")
    assert told(done, rank=1)["romio_ds_read"] == "disable", done.text
    assert told(done, rank=2)["romio_ds_read"] == "enable", done.text
    assert "warning" not in done.stderr, done.text


def test_the_faults_of_a_file_of_hints_are_told_once(hints, tmp_path):
    done = hints(2, text="cb_nodes\n\ncb_buffer_size 16M\ncb_nodes 1 2\ncb_nodes 1", TASUKI_EXPLAIN="0")
    name = tmp_path / "hints"
    assert done.stderr.splitlines() == [
        f"tasuki: warning: {name}:1: it has 1 word, expected a hint and its value; the line is ignored",
        f'tasuki: warning: {name}:3: cb_buffer_size = "16M", expected a number from 1 to 2147483647; '
        "the line is ignored",
        f"tasuki: warning: {name}:4: it has 3 words, expected a hint and its value; the line is ignored",
    ]
    assert told(done)["cb_nodes"] == "1", done.text


@pytest.mark.parametrize("name, reason", [("missing", "No such file"), (".", "expected an ordinary file")])
def test_a_file_of_hints_that_cannot_be_read(hints, tmp_path, name, reason):
    done = hints(2, TASUKI_EXPLAIN="0", ROMIO_HINTS=tmp_path / name)
    assert len(done.stderr.splitlines()) == 1, done.text
    assert reason in done.stderr, done.text
    assert told(done)["cb_buffer_size"] == "16777216", done.text


def test_a_pipe_as_file_of_hints_keeps_nobody_waiting(hints, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = hints(1, TASUKI_EXPLAIN="0", ROMIO_HINTS=tmp_path / "pipe")
    assert "expected an ordinary file" in done.stderr, done.text
