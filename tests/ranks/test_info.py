"""mpiexec --info: the same tables for people, for programs, and for the documentation."""

import json
import re

import pytest
from harness import ROOT, has_small_shm


def fits(table):
    """No line is longer than a terminal's, but for a path, which stays in one piece."""
    return all(len(line) <= 80 or re.fullmatch(r" +/\S+", line) for line in table.splitlines())


def test_the_table_fits_a_terminal(mpiexec):
    done = mpiexec("--info")
    assert done.returncode == 0, done.text
    assert fits(done.stdout), done.text
    assert "\033" not in done.stdout
    for word in ("TASUKI_EAGER_BYTES_MAX", "16k (default)", "unexpected_messages", "communicator_freed"):
        assert word in done.stdout


def test_json_says_what_the_environment_says(mpiexec):
    done = mpiexec(
        "--info=json", environment={"TASUKI_EAGER_BYTES_MAX": "64k", "TASUKI_BCAST_ALGORITHM": "binomial"}
    )
    info = json.loads(done.stdout)
    settings = {setting["name"]: setting for setting in info["settings"]}
    assert settings["TASUKI_EAGER_BYTES_MAX"]["value"] == "64k"
    assert settings["TASUKI_EAGER_BYTES_MAX"]["default"] == "16k"
    assert settings["TASUKI_BCAST_ALGORITHM"]["source"] == "environment"
    assert settings["TASUKI_RING_BYTES"]["value"] == "automatic"
    assert len({row["name"] for row in info["performance_variables"]}) == len(info["performance_variables"])
    assert all(row["description"] for table in ("settings", "events") for row in info[table])


def test_it_says_what_the_build_lacks(mpiexec):
    """In the table and in JSON the same; each with what is missing by that."""
    rows = json.loads(mpiexec("--info=json").stdout)["left_out"]
    table = mpiexec("--info").stdout.split("\nWhat this build was made without\n")[1].split("\n\n")[0]
    assert re.findall(r"^  (\S+)", table, re.M) == ([row["name"] for row in rows] or ["nothing"])
    assert all(row["lack"] and row["without"] in " ".join(table.split()) for row in rows)


def networks_of(mpiexec, **environment):
    """What --info=json says of networks: the choice, and provider -> its row."""
    info = json.loads(mpiexec("--info=json", environment=environment).stdout)
    if not info["libfabric"] and not environment:
        pytest.skip(info["network"])
    return info, {row["provider"]: row for row in info["networks"]}


def test_it_tells_each_network_and_the_way_that_messages_take(mpiexec):
    """docs/fabric.md's table, for this machine."""
    info, networks = networks_of(mpiexec)
    assert re.fullmatch(r"\d+\.\d+", info["libfabric"]) and "libfabric" in info["libfabric_file"]
    assert "tcp;ofi_rxm" in networks and len(networks) == len(info["networks"])
    for row in networks.values():
        assert re.fullmatch(r"\d+\.\d+", row["version"]) and row["interfaces"], row
    rxm = networks["tcp;ofi_rxm"]
    assert "what is sent after a write arrives after it" in rxm["promises"]
    assert "has atomics, and keeps that order no more" in rxm["promises"]
    assert "Messages from 262144 bytes on" in rxm["ways"] and "spares the receiver a copy" in rxm["ways"]
    if "shm" in networks or not has_small_shm():
        assert "what is sent after a write may arrive before it" in networks["shm"]["promises"]
        assert "Messages from 65536 bytes on" in networks["shm"]["ways"]
    taken = [row["provider"] for row in networks.values() if row["taken"]]
    if taken:
        assert f"Messages between hosts go by {taken[0]} on " in info["network"]
    else:
        assert "Jobs are of one host" in info["network"]
    table = mpiexec("--info").stdout
    assert "Networks between hosts" in table and "tcp;ofi_rxm" in table
    assert re.search(rf"libfabric +{re.escape(info['libfabric'])}\n", table)


@pytest.mark.parametrize(
    ("environment", "provider", "ways"),
    [
        (
            {"COPY_BYTES_MIN": "1k"},
            "tcp;ofi_rxm",
            "Messages from 1024 bytes on .*as TASUKI_NET_COPY_BYTES_MIN asks",
        ),
        ({"COPY_BYTES_MIN": "1", "TELL": "delivery"}, "shm", "told of by a packet once it is confirmed"),
        ({"TELL": "order"}, "shm", "TASUKI_NET_TELL=order: libfabric's shm does not promise"),
        ({"TELL": "order", "ATOMICS": "1"}, "tcp;ofi_rxm", "ofi_rxm does not promise"),
        ({"REGISTER": "each"}, "shm", "memory is registered piece by piece"),
    ],
)
def test_settings_change_the_way_of_messages(mpiexec, environment, provider, ways):
    networks_of(mpiexec)
    changed = networks_of(mpiexec, **{f"TASUKI_NET_{name}": value for name, value in environment.items()})[1]
    if provider not in changed and has_small_shm():
        pytest.skip("libfabric offers no shm here: /dev/shm is too small for it")
    assert re.search(ways, changed[provider]["ways"]), changed[provider]


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"TASUKI_NET_LIBRARY": "/no/such/file"}, "libfabric cannot be loaded: /no/such/file"),
        ({"TASUKI_NET_LIBRARY": "libc.so.6"}, "libc.so.6 is no libfabric"),
        ({"TASUKI_NET_PROVIDER": "pigeons"}, "TASUKI_NET_PROVIDER=pigeons; it offers"),
    ],
)
def test_why_there_is_no_network_is_told(mpiexec, environment, reason):
    networks_of(mpiexec)
    info, networks = networks_of(mpiexec, **environment)
    assert info["network"].startswith("Jobs are of one host") and reason in info["network"]
    assert not any(row["taken"] for row in networks.values())
    table = mpiexec("--info", environment=environment).stdout
    assert "Jobs are of one host" in table and fits(table), table


def test_the_documentation_is_what_it_prints(mpiexec):
    page = (ROOT / "docs/variables.md").read_text()
    assert mpiexec("--info=markdown").stdout == page, "mpiexec --info=markdown > docs/variables.md"


def documented_algorithms(operations):
    """operation -> the algorithms that the tables of docs/collectives.md have for it, by their names."""
    found = {operation: set() for operation in operations}
    rows = []
    page = (ROOT / "docs/collectives.md").read_text().split("## Intercommunicators")[0]
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells[:1] == ["operation"]:
            over_flags = cells[1] == "a rank shows"
        elif len(cells) > 1 and not set(cells[0]) & set("-"):
            # "gather(v), scatter" is gather, gatherv and scatter; an empty cell is as the one above it.
            rows = re.findall(r"(\w+)(\(v)?", re.sub(r"\(_block\)|, w\)", "", cells[0])) or rows
            names = ["flag_based"] if over_flags else re.findall(r"`(\w+)`", cells[1])
            for operation, has_v in rows:
                for name in (operation, operation + "v")[: 2 if has_v else 1]:
                    found.get(name, set()).update(names)
    return found


def test_every_algorithm_is_in_the_documentation(mpiexec):
    settings = json.loads(mpiexec("--info=json").stdout)["settings"]
    known = {}
    for setting in settings:
        if named := re.fullmatch(r"TASUKI_(\w+)_ALGORITHM", setting["name"]):
            values = re.split(r", | or ", setting["expected"])
            known[named[1].lower()] = set(values) - {"cheapest"}
    assert known["barrier"] >= {"dissemination", "flag_based"}, known
    assert documented_algorithms(known) == known


@pytest.mark.parametrize(
    ("arguments", "environment", "text"),
    [
        (["--info=xml"], {}, "--info=xml: expected table, json or markdown"),
        (
            ["--info"],
            {"TASUKI_SPIN_COUNT": "many"},
            'TASUKI_SPIN_COUNT = "many", expected a number, 0 to 1000000000',
        ),
    ],
)
def test_bad_use_is_one_line(mpiexec, arguments, environment, text):
    done = mpiexec(*arguments, environment=environment)
    assert done.returncode == 2
    assert done.stderr == f"mpiexec: {text}\n"


@pytest.mark.parametrize("choice", ["recursive_doubling", "halving_doubling", "ring"])
def test_a_forced_algorithm_gives_the_same_results(run, choice):
    done = run("collectives.c", 3, environment={"TASUKI_ALLREDUCE_ALGORITHM": choice})
    assert done.returncode == 0, done.text
