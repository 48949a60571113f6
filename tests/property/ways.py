"""The ways on which random programs run, each drawn from the seed of the first round.

A way is a program, the number of its ranks, the ABI, what lies between the ranks (virtual nodes or two
hosts), their heaps, how much is checked, whose processors' built-in parameters are taken, and settings that
force one protocol (tests/stress/protocols.py).
"""

import dataclasses
import random
import sys

from mpi_description import LIBRARIES, ROOT

sys.path.append(str(ROOT / "tests/stress"))

from protocols import PROTOCOLS  # noqa: E402

STRESS = "stress"  # tests/stress/stress.cpp; the others are programs of this folder
PROGRAMS = ["messages.py", "collectives.py", "communicators.py", "datatypes.py", "files.py", STRESS]
ROUNDS = 25  # from one seed, on one way
HOSTS = "--host"
NODES = [(), (), ("--nodes", 2), ("--nodes", 2, "--network", "fabric"), (HOSTS,)]
PROCESSORS = ["amd", "intel", "unknown", None]


@dataclasses.dataclass
class Way:
    program: str
    abi: str
    ranks: int
    options: tuple  # of mpiexec
    environment: dict
    arguments: tuple  # of the program, after the seed, the number of rounds and the seconds

    @property
    def over_hosts(self):
        return HOSTS in self.options

    def __str__(self):
        variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
        options, arguments = (" ".join(map(str, words)) for words in (self.options, self.arguments))
        return f"{variables} mpiexec {options} -n {self.ranks} {self.program} {arguments} ({self.abi} ABI)"


def way_of(seed: int) -> Way:
    """Programs and ABIs take turns, so that few seeds have them all; the rest is drawn."""
    turn, draw = seed // ROUNDS, random.Random(seed // ROUNDS)
    ranks = draw.choice([1, 2, 2, 3, 4, 4, 8])
    environment = dict(draw.choice([{}, draw.choice([*PROTOCOLS.values()])]))
    environment["TASUKI_CHECK"] = draw.randrange(4)
    if processor := draw.choice(PROCESSORS):
        environment["TASUKI_PROCESSOR"] = processor
    options = draw.choice(NODES) if ranks > 1 and "TASUKI_NODES" not in environment else ()
    if ranks == 1:
        environment.pop("TASUKI_NODES", None)
    if options == (HOSTS,):
        options += (f"node1:{ranks - ranks // 2},node2:{ranks // 2}",)
        environment["TASUKI_SPIN_COUNT"] = 0  # the hosts share processors, and know nothing of each other
    if draw.random() < 0.3:
        environment.pop("TASUKI_HEAP", None)
        options += ("--heap", "private")
    program = PROGRAMS[turn % len(PROGRAMS)]
    arguments = ()
    if program == STRESS:
        threads, spawned = draw.choice([(1, 0), (1, 0), (2, 0), (3, 0), (1, 1), (1, 2)])
        arguments = (threads if ranks < 8 else 1, 1 << 20, spawned)
    return Way(program, [*LIBRARIES][turn // len(PROGRAMS) % 2], ranks, options, environment, arguments)
