"""Where the ranks of jobs that are measured are: on one node, on several virtual ones, or on hosts, those of
one node after those of another."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from tasuki.tuning import TuningError

NETWORKS = ("fabric", "model")  # between virtual nodes, as mpiexec --network takes them


@dataclasses.dataclass(frozen=True)
class Placement:
    nodes: int = 1
    hosts: str = ""  # as mpiexec --host takes them; empty: virtual nodes
    network: str = NETWORKS[0]

    def options(self, ranks: int) -> list[str]:
        """mpiexec's, for so many ranks."""
        if self.hosts:
            return ["--host", self.hosts, "--ppn", str(-(-ranks // self.nodes))]
        return ["--nodes", str(self.nodes), "--network", self.network] if self.nodes > 1 else []

    def processors(self, available: int) -> float:
        """Those of a node, where a machine has so many: virtual nodes share them."""
        return available if self.hosts else available / self.nodes

    def slots(self) -> int:
        """Of all hosts together, as many on each: of the host that has the fewest."""
        numbers = (re.search(r":(\d+)$", word.strip()) for word in self.hosts.split(","))
        return self.nodes * min(int(found[1]) if found else 1 for found in numbers)

    def start_seconds(self) -> float:
        """Until a job's ranks run, about."""
        return 1.0 if self.hosts else 0.3

    def table_network(self) -> str:
        """Whose row of the network a job takes by itself (tuning/networks.hpp)."""
        return "tcp" if self.nodes > 1 and (self.hosts or self.network == "fabric") else ""

    def check(self, ranks: Iterable[int], option: str = "--ranks") -> None:
        for count in ranks:
            if count % self.nodes != 0:
                raise TuningError(f"{option} {count}: expected a multiple of the {self.nodes} nodes")

    def __str__(self) -> str:
        if self.hosts:
            return f"hosts {self.hosts}"
        return f"{self.nodes} virtual nodes, network {self.network}" if self.nodes > 1 else "one node"


ONE_NODE = Placement()


def of(nodes: int | None, hosts: str, network: str) -> Placement:
    """That of the options --nodes, --host and --network."""
    if not hosts:
        if nodes is not None and nodes < 1:
            raise TuningError(f"--nodes {nodes}: expected a number from 1 on")
        return Placement(nodes or 1, network=network)
    if nodes is not None:
        raise TuningError(f"--nodes {nodes}: takes no --host {hosts}: hosts have no virtual nodes")
    names = [word.partition(":")[0].strip() for word in hosts.split(",")]
    if "" in names or len(set(names)) < len(names):
        raise TuningError(f"--host {hosts}: expected different hosts, HOST:SLOTS,HOST:SLOTS")
    return Placement(len(names), hosts)
