"""Runs made of known numbers: t = t_L + M/B with a switch of protocols, noise of a few percent, all groups.

The names of benchmarks and variants are like those of the suite (docs/mbl.md). `speed`: how fast it is.
"""

import random

from tasuki.results import Row, Run

SIZES = [0, *(2**power for power in range(0, 24))]
LINE_SECONDS = 137e-9
COPY_BYTES_PER_SECOND = 16e9


def seconds_of(size, speed=1.0, latency=0.5e-6, bandwidth=14.8e9, switch=8192):
    """Eager with a second copy up to `switch`, then a rendezvous with one."""
    if size <= switch:
        return (latency + size / (0.4 * bandwidth)) / speed
    return (3 * latency + size / bandwidth) / speed


def row(source, seconds, size, name, variant=None, ranks=2, factor=1.0, samples=20, noise=0.02, **fields):
    """`name` is "group/benchmark"."""
    group, benchmark = name.split("/")
    drawn = [seconds * source.lognormvariate(0, noise) for _ in range(samples)]
    ordered = sorted(drawn)
    return Row(
        group,
        benchmark,
        variant or {},
        ranks,
        size,
        drawn,
        ordered[samples // 2],
        ordered[samples // 4],
        ordered[3 * samples // 4],
        factor=factor,
        **fields,
    )


def point_to_point(source, speed):
    base = {"mode": "send", "memory": "malloc", "touched": "yes", "layout": "contiguous", "receive": "posted"}
    rows = [row(source, seconds_of(size, speed), size, "point_to_point/pingpong", base) for size in SIZES]
    changes = [("mode", mode) for mode in ("isend", "ssend", "bsend", "rsend", "sendrecv", "persistent")]
    changes += [("memory", "alloc_mem"), ("touched", "no"), ("layout", "vector"), ("receive", "wildcard")]
    for place, (name, value) in enumerate(changes):
        for size in (8, 65536):
            seconds = seconds_of(size, speed) * (1 + 0.07 * place)
            rows.append(row(source, seconds, size, "point_to_point/pingpong", base | {name: value}))
    for mode in ("send", "isend"):
        rows.append(row(source, 0.2e-6 / speed, 0, "point_to_point/latency", {"mode": mode}))
    for size in (8, 1024, 65536, 1 << 20):
        rows.append(row(source, seconds_of(size, speed) * 1.4, size, "point_to_point/bidirectional"))
    return rows


def collectives(source, speed, ranks):
    rows = []
    for place, name in enumerate(("bcast", "reduce", "allreduce", "allgather", "alltoall", "gather")):
        factor = {"allreduce": 2.0, "allgather": float(ranks)}.get(name, 1.0)
        name = f"collectives/{name}"
        for size in (8, 64, 512, 4096, 32768, 262144, 1 << 20, 4 << 20):
            seconds = seconds_of(size, speed, 0.6e-6 * (1 + place / 3), 8e9 / (1 + place / 4))
            rows.append(row(source, seconds, size, name, {"form": "blocking"}, ranks, factor))
        seconds, notes = 1.3e-6 / speed * (1 + place / 5), {"overlap": 0.9 - 0.2 * place}
        rows.append(row(source, seconds, 8, name, {"form": "nonblocking"}, ranks, factor))
        rows.append(row(source, 2 * seconds, 8, name, {"form": "overlap"}, ranks, factor, notes=notes))
    rows.append(row(source, 0.4e-6 / speed, 0, "collectives/barrier", {"form": "blocking"}, ranks))
    return rows


def patterns(source, speed, ranks):
    rows = []
    for place, way in enumerate(("isend", "send", "put_fence", "send_barrier")):
        for size in (8, 1024, 16384, 262144, 2 << 20):
            seconds = seconds_of(size, speed, (0.5 + place) * 1e-6, (9 + place) * 1e9)
            variant = {"way": way, "order": "shifted"}
            rows.append(row(source, seconds, size, "concurrent/exchange", variant, ranks))
    for place, name in enumerate(("put", "get", "accumulate")):
        for size in (8, 4096, 262144, 4 << 20):
            variant = {"synchronization": "fence", "window": "allocate"}
            seconds = seconds_of(size, speed, (place + 1) * 0.4e-6)
            rows.append(row(source, seconds, size, f"rma/{name}", variant, ranks))
        variant = {"synchronization": "flush", "window": "create"}
        rows.append(row(source, 0.3e-6 / speed, 8, f"rma/{name}", variant, ranks))
    for place, call in enumerate(("write", "write_at_all", "read", "read_at_all")):
        for size in (4096, 65536, 1 << 20, 4 << 20):
            seconds = seconds_of(size, speed, 6e-6 * (place + 1), 2e9)
            rows.append(row(source, seconds, size, "io/contiguous", {"call": call}, ranks, float(ranks)))
    for place, name in enumerate(("init_finalize", "comm_dup", "comm_split")):
        rows.append(row(source, 10.0 ** -(2 * place + 1) / speed, 0, f"start_up/{name}", {}, ranks))
    return rows


def limits(source):
    sizes = [size for size in SIZES if size >= 64]
    copies = []
    for mode, slower in (("push", 1.5), ("pull", 1.2), ("both", 1.0)):
        for touched, more in (("no", 1.0), ("yes", 1.6)):
            variant, seconds = {"mode": mode, "touched": touched}, slower * more / COPY_BYTES_PER_SECOND
            copies += [row(source, 0.1e-6 + size * seconds, size, "limit/copy", variant) for size in sizes]
    return [row(source, LINE_SECONDS, 0, "limit/line"), *copies]


def run_of(name="tasuki", speed=1.0, seed=1, ranks=(2,), groups=None):
    """A whole run; `groups`: only these."""
    source = random.Random(seed)
    rows = point_to_point(source, speed) + limits(source)
    for number in ranks:
        rows += collectives(source, speed, number) + patterns(source, speed, number)
    if groups is not None:
        rows = [row for row in rows if row.group in groups]
    implementation = {"name": name, "version": "1.2.3", "mpiexec": f"/opt/{name}/bin/mpiexec", "tuning": ""}
    environment = {
        "time": "2026-11-22T10:00:00+00:00",
        "host": "synthetic",
        "cpu": "Imagined Processor 3000 at 2.4 GHz",
        "processors": 2,
        "kernel": "Linux 6.1.0",
        "memory_bytes": 24 << 30,
        "load_before": [0.1, 0.1, 0.1],
        "variables": {"EXAMPLE": "1"},
        "warnings": [],
    }
    settings = {"budget_seconds": 0.03, "width": 0.05, "quick": True, "ranks": list(ranks)}
    return Run(implementation, environment, settings, rows)
