"""NumPy arrays through mpi4py: the ping-pong of pingpong.cpp with comm.Send and comm.Recv."""

import json
import time

import numpy
from mpi4py import MPI

SIZES = (8, 4 << 10, 64 << 10, 1 << 20, 8 << 20)
BATCHES, BATCH_SECONDS = 5, 0.02


def round_trips(comm, size, rounds, touched, out, into):
    peer, first, sink = 1 - comm.rank, comm.rank == 0, 0
    comm.Barrier()
    begin = time.perf_counter()
    for turn in range(rounds):
        if touched:
            out.fill(turn % 256)
        if first:
            comm.Send(out, peer)
        comm.Recv(into, peer)
        if not first:
            comm.Send(out, peer)
        if touched:
            sink += int(into[::64].sum())
    return (time.perf_counter() - begin) / rounds / 2


def main():
    comm = MPI.COMM_WORLD
    for touched in (False, True):
        for size in SIZES:
            if touched and size < 4 << 10:
                continue
            out, into = numpy.ones(size, numpy.uint8), numpy.zeros(size, numpy.uint8)
            guess = comm.bcast(round_trips(comm, size, 10, touched, out, into))
            rounds = max(10, int(BATCH_SECONDS / guess))
            seconds = [round_trips(comm, size, rounds, touched, out, into) for _ in range(BATCHES)]
            if comm.rank == 0:
                row = {
                    "row": "numpy",
                    "bytes": size,
                    "touched": touched,
                    "ranks": comm.size,
                    "seconds": seconds,
                }
                print(json.dumps(row), flush=True)


main()
