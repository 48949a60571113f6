"""Files as `mpiexec --io-times` writes them, of jobs that are made up: what a rank tells, and whole two-phase
accesses with as many ranks, nodes, aggregators and cycles as one wants."""

import json
import pathlib
import random

JOB = "00000000000000aa"


def rank_line(rank, ranks, node=0, nodes=1, job=JOB, version=1):
    return {"io_times": version, "job": job, "rank": rank, "ranks": ranks, "node": node, "nodes": nodes}


def call_line(rank, spans, call=0, job=JOB, **changes):
    """An access of one rank: spans as (phase, cycle, begin, end, bytes)."""
    times = [time for span in spans for time in span[2:4]] or [0]
    line = {"call": call, "job": job, "rank": rank, "file": "/scratch/a.dat", "opened": 4}
    line |= {
        "function": "MPI_File_write_all",
        "way": "two-phase",
        "aggregator": None,
        "cycles": 1,
        "bytes": 0,
    }
    line |= {"begin_ns": min(times), "end_ns": max(times), "spans": [list(span) for span in spans]}
    return line | changes


def write(path, lines, end="\n"):
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    path = pathlib.Path(path)
    path.write_text("\n".join(texts) + end if texts else "")
    return path


def job(ranks=8, nodes=1, aggregators=2, cycles=4, calls=1, read=False, round_robin=False, seed=1):
    """The lines of a job in which every rank sends in each cycle, and aggregators write while the next cycle
    is under way; or read first, the other way round."""
    draw = random.Random(seed)
    per_node = (ranks + nodes - 1) // nodes
    nodes_of = [rank % nodes if round_robin else rank // per_node for rank in range(ranks)]
    lines = [rank_line(rank, ranks, nodes_of[rank], nodes) for rank in range(ranks)]
    chosen = [number * ranks // aggregators for number in range(aggregators)]
    begin = 5_000_000_000
    for call in range(calls):
        ends = []
        for rank in range(ranks):
            spans, now, free = [], begin + draw.randrange(200_000), 0
            for cycle in range(cycles):
                spent = draw.randrange(400_000, 900_000)
                exchange = ("exchange", cycle, now, now + spent, 1 << 20)
                free = max(free, now + spent if not read else now)
                moving = (
                    "read" if read else "write",
                    cycle,
                    free,
                    free + draw.randrange(500_000, 800_000),
                    4 << 20,
                )
                spans.append(exchange)
                if rank in chosen:
                    spans.append(moving)
                    free = moving[3]
                now += spent + draw.randrange(50_000)
            ends.append(max(span[3] for span in spans))
            number = chosen.index(rank) if rank in chosen else None
            function = "MPI_File_read_all" if read else "MPI_File_write_all"
            lines.append(
                call_line(
                    rank, spans, call, aggregator=number, cycles=cycles, bytes=cycles << 20, function=function
                )
            )
        begin = max(ends) + 3_000_000
    return lines
