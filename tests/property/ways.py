"""The ways on which random programs run, each drawn from the seed of the first round.

A way is a program, the number of its ranks, the ABI, what lies between the ranks, their heaps, how much is
checked, whose processors' built-in parameters are taken, and settings that force one protocol
(tests/stress/protocols.py).
"""

import dataclasses
import random
import sys

from mpi_description import LIBRARIES, ROOT

sys.path.append(str(ROOT / "tests/stress"))

from protocols import PROTOCOLS  # noqa: E402

PROGRAMS = ["messages.py", "collectives.py", "communicators.py", "datatypes.py", "files.py"]
ROUNDS = 25  # from one seed, on one way
NODES = [(), (), ("--nodes", 2), ("--nodes", 2, "--network", "fabric")]
PROCESSORS = ["amd", "intel", "unknown", None]


@dataclasses.dataclass
class Way:
    program: str
    abi: str
    ranks: int
    options: tuple  # of mpiexec
    environment: dict

    def __str__(self):
        variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
        options = " ".join(map(str, self.options))
        return f"{variables} mpiexec {options} -n {self.ranks} {self.program} ({self.abi} ABI)"


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
    if draw.random() < 0.3:
        environment.pop("TASUKI_HEAP", None)
        options += ("--heap", "private")
    program = PROGRAMS[turn % len(PROGRAMS)]
    return Way(program, [*LIBRARIES][turn // len(PROGRAMS) % 2], ranks, options, environment)
