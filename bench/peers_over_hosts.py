"""What comparisons with other MPI libraries over hosts share: which there are, how their programs are built,
and how they are started there. over_hosts.py and regret_peers.py use it.

Hosts are network namespaces of this machine, as in tests/hosts (so this needs root); all start ranks by ssh.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import own_program
import peers as peers_here

TESTS = own_program.HERE.parent / "tests"
sys.path[:0] = [str(TESTS / "hosts"), str(TESTS / "ranks"), str(TESTS.parent / "python")]

from tasuki import implementation  # noqa: E402

SECONDS_MAX = 120
AHEAD_SECONDS_MAX = 60
OURS = "Tasuki"

TCP_BY_OFI = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}
OPEN_MPI_INTERFACE = {"OMPI_MCA_btl_tcp_if_include": "eth0", "OMPI_MCA_oob_tcp_if_include": "eth0"}


@dataclasses.dataclass
class Peer:
    name: str
    folder: str  # below PEERS
    launcher: str  # of tests/hosts/launchers.py
    variables: dict


PEERS = (
    Peer(
        "MPICH, ofi",
        "mpich",
        "hydra",
        {"MPIR_CVAR_CH4_NETMOD": "ofi", **TCP_BY_OFI},
    ),
    Peer(
        "Open MPI, ofi",
        "openmpi",
        "mpirun",
        {
            "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "ofi",
            "OMPI_MCA_opal_common_ofi_provider_include": "tcp",
            **OPEN_MPI_INTERFACE,
            **TCP_BY_OFI,
        },
    ),
    Peer(
        "Open MPI, tcp",
        "openmpi",
        "mpirun",
        {"OMPI_MCA_btl": "tcp,self,sm", "OMPI_MCA_pml": "ob1", **OPEN_MPI_INTERFACE},
    ),
    Peer(
        "Intel MPI, ofi",
        "impi",
        "impi",
        {"I_MPI_FABRICS": "shm:ofi", "I_MPI_OFI_PROVIDER": "tcp", "I_MPI_PIN": "0", **TCP_BY_OFI},
    ),
)


def goes_ahead(program):
    """A script that runs the program before others of this machine, and ends it after AHEAD_SECONDS_MAX: the
    system shares processors among sessions, each of which has a priority."""
    script = program.with_name(f"{program.name}-ahead")
    script.write_text(
        "#!/bin/sh\n"
        "echo -20 > /proc/self/autogroup\n"
        f'exec timeout -s KILL {AHEAD_SECONDS_MAX} {program} "$@"\n'
    )
    script.chmod(0o755)
    return script


def compile_by(prefix, source, folder, variables=None):
    """The program of that file of this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    program, source = folder / pathlib.Path(source).stem, own_program.HERE / source
    compiler = ["mpicc"] if source.suffix == ".c" else ["mpicxx", "-std=c++20"]
    words = [prefix / "bin" / compiler[0], *compiler[1:], "-O2", source, "-o", program]
    subprocess.run(words, check=True, env={**os.environ, **(variables or {})})
    return program


def rooms(peers):
    """tests/hosts' modules that make hosts, and that know other launchers; `peers` is the folder of the
    others' environments."""
    os.environ["TASUKI_PEERS"] = str(peers)
    import hosts
    import launchers

    hydra = f"{peers}/impi/bin/mpiexec.hydra -launcher ssh -launcher-exec {{ssh}} -hosts {{names}}"
    launchers.LAUNCHERS["impi"] = launchers.Launcher("impi", f"{hydra} -ppn {{each}} -n {{ranks}}")
    return hosts, launchers


@dataclasses.dataclass
class Way:
    """How the ranks of a library are started on hosts."""

    name: str
    folder: str  # below PEERS; ours: ""
    run: Callable  # (hosts, (how many, ranks on each), *arguments, options, variables, timeout) -> Done


def ways(prefix, peers, source, out, launchers, only=None, ahead=False):
    """The ways of the libraries that are there, ours first, each with the program of this source. `only`:
    names of folders below `peers`. What is not there is told."""
    before_others = goes_ahead if ahead else lambda program: program
    ours = before_others(compile_by(prefix, source, out))

    def run_ours(hosts, shape, *arguments, options=(), variables=(), timeout=SECONDS_MAX):
        count, each = shape
        places = ",".join(f"{host.name}:{each}" for host in hosts.hosts[:count])
        words = ["--host", places, "-n", count * each, "--bind-to", "none", *options, ours, *arguments]
        command = [prefix / "bin/mpiexec", *words]
        return hosts[0].run(command, timeout=timeout, environment=dict(variables))

    found = [Way(OURS, "", run_ours)]
    for peer in PEERS:
        if only and peer.folder not in only:
            continue
        place = peers / peer.folder
        if not (place / "bin/mpicc").exists():
            print(f"{peer.name}: not there ({place}; make peers)")
            continue
        of_peer = {**peer.variables, **implementation.prefix_variables(place.resolve())}
        program = before_others(compile_by(place, source, out / peer.folder, of_peer))

        def run_theirs(
            hosts,
            shape,
            *arguments,
            options=(),
            variables=(),
            timeout=SECONDS_MAX,
            peer=peer,
            program=program,
            of_peer=of_peer,
        ):
            count, each = shape
            environment = {**of_peer, **peers_here.sharing(peer.folder, count * each), **dict(variables)}
            how = {"number_of_hosts": count, "ranks_per_host": each, "timeout": timeout}
            words = [program, *arguments]
            return launchers.launch(hosts, peer.launcher, words, options, environment=environment, **how)

        found.append(Way(peer.name, peer.folder, run_theirs))
    return found


def rows_of(name, run, seconds_max=SECONDS_MAX):
    """The rows that a run has printed, as far as it came, and, if not to its end, a text that says why."""
    try:
        done = run(timeout=seconds_max)
        trouble = (
            f"{name}: exit status {done.returncode}: {done.text.strip()[-400:]}" if done.returncode else None
        )
        lines = done.stdout.splitlines()
    except BaseException as error:  # pytest's: it did not end in time
        if type(error).__name__ != "Failed":
            raise
        trouble, lines = f"{name}: {str(error)[-400:]}", str(error).splitlines()
    whole = [line for line in lines if line.startswith("{") and line.endswith("}")]
    return [json.loads(line) for line in whole], trouble
