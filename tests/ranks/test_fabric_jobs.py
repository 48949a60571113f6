"""Jobs that meet over libfabric: with `--network fabric` processes of different jobs share no memory.

What the parts of dynamic.c show through mailboxes (test_dynamic.py) they show here over the network.
"""

import os
import subprocess

import pytest
from harness import PREFIX, clean_environment, run_command
from test_fabric import libfabric, over_fabric  # noqa: F401

FABRIC = {"TASUKI_NETWORK": "fabric"}


def right(what):
    return "late child: right" if what == "finalize-early" else f"{what.replace('any-of', 'any of')}: right"


@pytest.mark.parametrize(
    "what", ["spawn", "each", "multiple", "generations", "errors", "time-out", "finalize-early"]
)
@pytest.mark.parametrize(("ranks", "nodes"), [(1, 1), (3, 2)])
def test_spawning(over_fabric, build, ranks, nodes, what):  # noqa: F811
    done = over_fabric(ranks, nodes, build("dynamic.c"), what)
    assert done.returncode == 0 and right(what) in done.stdout and done.stderr == "", done.text


@pytest.mark.parametrize("provider", ["tcp", "tcp;ofi_rxm"])
def test_providers(over_fabric, build, provider):  # noqa: F811
    done = over_fabric(3, 2, build("dynamic.c"), "generations", TASUKI_NET_PROVIDER=provider)
    assert done.returncode == 0 and right("generations") in done.stdout, done.text


@pytest.mark.parametrize("how", ["nothing", "free"])
def test_finalizing_waits_for_connected_processes(over_fabric, build, tmp_path, how):  # noqa: F811
    """Who has disconnected may end first, but waits up to a second for an answer of a peer that computes."""
    told = tmp_path / "order"
    done = over_fabric(2, 2, build("dynamic.c"), "finish", how, told)
    assert done.returncode == 0 and told.read_text().split() == ["parent", "child"], done.text


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["wait-for", "aborting-child"], 42, "MPI_Abort with code 42"),
        (["wait-for", "leaving-child"], 1, "which has called MPI_Finalize"),
        (["probe-for", "leaving-child"], 1, "which has called MPI_Finalize"),
        (["die-with-children"], 137, ""),
    ],
)
def test_the_end_of_one_is_the_end_of_all(over_fabric, build, words, status, says):  # noqa: F811
    done = over_fabric(2, 2, build("dynamic.c"), *words)
    assert done.returncode == status and says in done.stderr, done.text


def start_server(build, *words, ranks=None):
    """A job that has said that it serves."""
    launcher = [PREFIX / "bin" / "mpiexec", "-n", ranks] if ranks else []
    server = subprocess.Popen(
        [str(word) for word in [*launcher, build("dynamic.c"), *words]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(FABRIC),
    )
    assert server.stdout.readline() == "serving\n"
    return server


@pytest.mark.parametrize(("servers", "visitors"), [(1, 1), (2, 3), (None, 2), (3, None)])
def test_two_jobs_meet_twice_by_a_name(build, servers, visitors):
    service = f"tasuki-fabric-{os.getpid()}-{servers}-{visitors}"
    server = start_server(build, "serve", service, 2, ranks=servers)
    launcher = [PREFIX / "bin" / "mpiexec", "-n", visitors] if visitors else []
    try:
        done = run_command(*launcher, build("dynamic.c"), "visit", service, 2, environment=FABRIC)
        assert done.returncode == 0 and "visit: right" in done.stdout, done.text
        output, errors = server.communicate(timeout=300)
        assert server.returncode == 0 and "serve: right" in output and errors == "", output + errors
    finally:
        server.kill()
        server.wait()


def test_one_that_died_is_not_waited_for_in_finalize(build):
    service = f"tasuki-fabric-{os.getpid()}-die"
    server = start_server(build, "stay", service)
    try:
        run_command(build("dynamic.c"), "visit-and-die", service, environment=FABRIC)
        _, errors = server.communicate(timeout=300)
        assert server.returncode == 0, errors
        assert "MPI_Finalize: rank 0 of another job" in errors and "died" in errors, errors
    finally:
        server.kill()
        server.wait()
