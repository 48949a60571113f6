"""Made up programs, each slow for one known reason, and efficient ones; as ranks of made_traces.py. Times in
microseconds. REASONS says which finding has to be the first."""

from made_traces import Rank


class Clock:
    """A rank's calls one behind another, in microseconds."""

    def __init__(self, rank, size, init=0, **how):
        self.rank = Rank(rank, size, **how).call("MPI_Init", 0, init, group=0)
        self.now = init

    def compute(self, length):
        self.now += length
        return self

    def call(self, name, until, **values):
        self.rank.call(name, self.now, until, **values)
        self.now = until
        return self

    def end(self, at=None):
        self.rank.call("MPI_Finalize", self.now, at or self.now, group=0)
        return self.rank


def send(clock, peer, until=None, size=8, name="MPI_Send", **values):
    return clock.call(name, until or clock.now + 1, peer=peer, sent=size, block=size, **values)


def receive(clock, source, until, size=8, **values):
    return clock.call("MPI_Recv", until, source=source, received=size, **values)


def late_sender():
    """Rank 1 waits 600 of each 1000 µs for what rank 0 could send before it computes."""
    first, second = Clock(0, 2), Clock(1, 2)
    for step in range(10):
        send(first.compute(999), 1, at="solve.c:17")
        receive(second.compute(400), 0, 1000 * (step + 1) + 1, at="halo.c:42")
    return [first.end(10_001), second.end(10_001)]


def late_receiver():
    """Rank 0 computes 200, then waits in a long MPI_Send until rank 1 has computed 1000 µs."""
    first, second = Clock(0, 2), Clock(1, 2)
    for step in range(10):
        send(first.compute(200), 1, until=1100 * (step + 1), size=1 << 20)
        receive(second.compute(1000), 0, 1100 * (step + 1), size=1 << 20)
    return [first.end(11_000), second.end(11_000)]


def blocking_in_rank_order():
    """Each of eight ranks sends to the next one before it receives, 100 µs a message: the last one receives
    at once, the one before it when its own message is gone, and so on."""
    ranks, clocks = 8, [Clock(rank, 8) for rank in range(8)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            sent = 1000 * step + 100 * (ranks - rank)
            clock.compute(1000 * step + 100 - clock.now)
            if rank + 1 < ranks:
                send(clock, rank + 1, until=sent, size=1 << 20, at="halo.c:14")
            if rank > 0:
                receive(clock, rank - 1, sent + 100, size=1 << 20, at="halo.c:15")
        for clock in clocks:
            clock.call("MPI_Barrier", 1000 * (step + 1))
    return [clock.end(10_001) for clock in clocks]


def imbalance():
    """Rank 3 computes for 1000 µs, the others for 400, before each MPI_Allreduce."""
    clocks = [Clock(rank, 4) for rank in range(4)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            clock.compute(1000 if rank == 3 else 400)
            clock.call("MPI_Allreduce", 1010 * (step + 1), sent=8, block=8, phase="solve", at="cg.f90:7")
    return [clock.end(10_100) for clock in clocks]


def late_root():
    """All wait in MPI_Bcast for rank 0, which computes what they need."""
    clocks = [Clock(rank, 3) for rank in range(3)]
    for step in range(5):
        for rank, clock in enumerate(clocks):
            clock.compute(900 if rank == 0 else 100)
            clock.call("MPI_Bcast", 1000 * step + (901 if rank == 0 else 1000), peer=0, sent=8, block=8)
            clock.now = 1000 * (step + 1)
    return [clock.end(5000) for clock in clocks]


def chain():
    """Each of four ranks computes 1000 µs when the message of the one before has come."""
    ranks = []
    for number in range(4):
        clock = Clock(number, 4)
        if number > 0:
            receive(clock, number - 1, 1001 * number + 1)
        clock.compute(1000)
        if number < 3:
            send(clock, number + 1, until=1001 * (number + 1))
        ranks.append(clock.end())
    return ranks


def small_messages():
    """100 messages of 8 bytes one behind another, 1 µs each, in 150 µs."""
    first, second = Clock(0, 2), Clock(1, 2)
    for step in range(5):
        first.compute(50)
        second.compute(50)
        for number in range(100):
            send(first, 1)
            receive(second, 0, 151 * step + 52 + number)
        first.now = second.now
    return [first.end(first.now + 2), second.end(first.now + 2)]


def small_collectives():
    """20 reductions of a number one behind another, 10 µs each, after 100 µs of computing."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(5):
            clock.compute(100)
            for _ in range(20):
                clock.call("MPI_Allreduce", clock.now + 10, sent=8, block=8)
    return [clock.end() for clock in clocks]


def shared_processors():
    """Two ranks on one processor: each computes for 1000 µs, of which it has a half."""
    clocks = [Clock(rank, 2, processors=1) for rank in range(2)]
    for clock in clocks:
        for _ in range(5):
            clock.compute(1000).call("MPI_Barrier", clock.now + 5)
    return [clock.end() for clock in clocks]


def bound_to_one_processor():
    """The same where the host has 64, but both ranks may run on number 3 alone."""
    ranks = shared_processors()
    for rank in ranks:
        rank.head = rank.head.replace("processors=1\n", "processors=64\nallowed=3\n")
    return ranks


def files():
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(5):
            clock.compute(100).call("MPI_File_write_at", clock.now + 900, sent=4096, group=0, phase="output")
    return [clock.end() for clock in clocks]


def starting():
    clocks = [Clock(rank, 2, init=5000) for rank in range(2)]
    return [clock.compute(1000).call("MPI_Barrier", 6003).end() for clock in clocks]


def efficient():
    """Both compute for 1000 µs and exchange in 5."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for clock in clocks:
        for _ in range(10):
            clock.compute(1000).call("MPI_Allreduce", clock.now + 5, sent=8, block=8)
    return [clock.end() for clock in clocks]


def ping_pong():
    """Nobody is late: what each waits for is the latency of the other's answer."""
    first, second = Clock(0, 2), Clock(1, 2)
    for _ in range(50):
        send(first, 1)
        receive(second, 0, first.now + 3)
        send(second, 0)
        receive(first, 1, second.now + 3)
        second.now = max(second.now, first.now - 3)
    return [first.end(first.now), second.end(first.now)]


def halo():
    """Two ranks exchange by MPI_Isend, MPI_Irecv and MPI_Waitall; rank 1 computes 1000 µs, rank 0 600."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            peer, made = 1 - rank, 2 * step
            clock.compute(1000 if rank == 1 else 600)
            clock.call("MPI_Irecv", clock.now + 1, source=peer, received=64, made=1)
            clock.call("MPI_Isend", clock.now + 1, peer=peer, sent=64, block=64, made=1)
            done = [(made, peer, 64), (made + 1, -1, -1)]
            clock.call("MPI_Waitall", 1004 * (step + 1), done=done, group=0)
    return [clock.end() for clock in clocks]


def private_buffers():
    """Ten messages of 1 MiB in two copies, of 400 µs; the ranks compute for 100."""
    first, second = Clock(0, 2), Clock(1, 2)
    for _ in range(10):
        first.compute(100)
        second.compute(100)
        both = {"size": 1 << 20, "way": "two_copy"}
        send(first, 1, until=first.now + 400, at="out.c:5", **both)
        receive(second, 0, second.now + 400, at="in.c:6", **both)
    return [first.end(), second.end()]


def packed_type():
    """The same with a datatype whose data lie apart."""
    first, second = Clock(0, 2), Clock(1, 2)
    for _ in range(10):
        first.compute(100)
        second.compute(100)
        send(first, 1, until=first.now + 400, size=1 << 20, way="two_copy", flags=32)
        receive(second, 0, second.now + 400, size=1 << 20, way="two_copy")
    return [first.end(), second.end()]


def allreduces(taken_us, chosen, predicted_ns, runner_up, runner_up_ns):
    """Ten MPI_Allreduce of four ranks, and what the model says of their algorithm and of the next one."""
    clocks = [Clock(rank, 4) for rank in range(4)]
    for clock in clocks:
        for _ in range(10):
            clock.compute(300).call(
                "MPI_Allreduce",
                clock.now + taken_us,
                sent=4096,
                block=4096,
                algorithm=f"allreduce_{chosen}",
                runner_up=f"allreduce_{runner_up}",
                predicted=predicted_ns,
                runner_up_predicted=runner_up_ns,
            )
    return [clock.end() for clock in clocks]


def wrong_algorithm():
    """Of each MPI_Allreduce of 500 µs the model says 480, and of another algorithm 48."""
    return allreduces(500, "ring", 480_000, "recursive_doubling", 48_000)


def long_queue():
    """Rank 1 receives what 200 messages brought, the last first: the more are left the longer it takes."""
    first, second = Clock(0, 2), Clock(1, 2)
    for number in range(200):
        send(first.compute(30), 1, tag=number)
    second.compute(6200)
    for number in reversed(range(200)):
        receive(second, 0, second.now + 1 + number, tag=number, queue=number)
    return [first.end(), second.end()]


def master_and_workers():
    """Rank 0 hands out the work, 900 µs of its own computing for each piece; three workers wait for it."""
    master, workers = Clock(0, 4), [Clock(rank, 4) for rank in (1, 2, 3)]
    for _ in range(5):
        for rank, worker in enumerate(workers, 1):
            send(master.compute(900), rank)
            receive(worker, 0, master.now)
            worker.compute(100)
    return [master.end(), *(worker.end(master.now + 100) for worker in workers)]


def late_gather():
    """The root of MPI_Gather waits for rank 2."""
    clocks = [Clock(rank, 3) for rank in range(3)]
    for step in range(10):
        end = 1000 * (step + 1)
        for rank, clock in enumerate(clocks):
            clock.compute(end - 5 - clock.now if rank == 2 else 300)
            until = end if rank == 0 else clock.now + 2
            clock.call("MPI_Gather", until, peer=0, sent=8, block=8, at="io.c:3")
    return [clock.end(10_001) for clock in clocks]


def uneven_alltoall():
    """Half of the ranks have twice the work before MPI_Alltoall."""
    clocks = [Clock(rank, 4) for rank in range(4)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            clock.compute(2000 * step + 20 * step + (2000 if rank >= 2 else 1000) - clock.now)
            clock.call("MPI_Alltoall", 2020 * (step + 1), sent=256, received=256, block=64)
    return [clock.end() for clock in clocks]


def slow_reader():
    """Rank 1 reads a file of its own before each exchange, 700 µs; rank 0 waits for what it sends."""
    first, second = Clock(0, 2), Clock(1, 2)
    for _ in range(10):
        second.call("MPI_File_read_at", second.now + 700, received=4096, group=0, at="read.c:9")
        send(second.compute(100), 0)
        receive(first.compute(100), 1, second.now)
        second.now = first.now
    return [first.end(), second.end()]


def late_for_a_nonblocking_one():
    """Rank 1 comes 700 µs late to MPI_Iallreduce, for which rank 0 waits in MPI_Wait."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            clock.compute(900 if rank == 1 else 200)
            clock.call("MPI_Iallreduce", clock.now + 1, sent=8, block=8, made=1)
        end = clocks[1].now + 4
        for clock in clocks:
            clock.call("MPI_Wait", end, done=[(step, -1, -1)], group=0)
    return [clock.end() for clock in clocks]


def pipeline():
    """A wavefront: each rank sends to the next after all of its work, eight times as much as each needs."""
    clocks = [Clock(rank, 5) for rank in range(5)]
    for _ in range(2):
        for rank, clock in enumerate(clocks):
            if rank > 0:
                receive(clock, rank - 1, max(clock.now, clocks[rank - 1].now) + 1, phase="sweep")
            clock.compute(800)
            if rank < 4:
                send(clock, rank + 1, phase="sweep")
    return [clock.end(9000) for clock in clocks]


def many_puts_of_files():
    """A thousand small writes, each by MPI_File_write."""
    clock = Clock(0, 1)
    for _ in range(100):
        clock.compute(2).call("MPI_File_write", clock.now + 20, sent=8, group=0)
    return [clock.end()]


def overlapped():
    """What is under way while both compute costs nobody a wait."""
    clocks = [Clock(rank, 2) for rank in range(2)]
    for step in range(10):
        for rank, clock in enumerate(clocks):
            peer, made = 1 - rank, 2 * step
            clock.call("MPI_Irecv", clock.now + 1, source=peer, received=1 << 20, made=1)
            clock.call("MPI_Isend", clock.now + 1, peer=peer, sent=1 << 20, block=1 << 20, made=1, way="get")
            clock.compute(1000)
            done = [(made, peer, 1 << 20), (made + 1, -1, -1)]
            clock.call("MPI_Waitall", clock.now + 5, done=done, group=0)
    return [clock.end() for clock in clocks]


def right_algorithm():
    """The model would take the same."""
    return allreduces(50, "recursive_doubling", 48_000, "ring", 480_000)


def stencil(size, steps):
    """Ranks in a ring exchange with their neighbours and reduce; one third of the way round there is more
    work, and rank 0 writes at the end."""
    clocks = [Clock(rank, size, processors=size) for rank in range(size)]
    for step in range(steps):
        ready = []
        for rank, clock in enumerate(clocks):
            more = max(0.0, 1 - abs(rank - size / 3) / (size / 8))
            clock.compute(400 + 400 * more + 7 * ((rank * 31 + step * 17) % 13))
            for neighbour in ((rank - 1) % size, (rank + 1) % size):
                clock.call(
                    "MPI_Irecv", clock.now + 1, source=neighbour, received=8192, made=1, at="halo.c:40"
                )
            for neighbour in ((rank - 1) % size, (rank + 1) % size):
                clock.call(
                    "MPI_Isend", clock.now + 1, peer=neighbour, sent=8192, block=8192, made=1, at="halo.c:42"
                )
            ready.append(clock.now)
        for rank, clock in enumerate(clocks):
            end = max(ready[rank], ready[rank - 1], ready[(rank + 1) % size]) + 4
            made = 4 * step
            done = [(made, (rank - 1) % size, 8192), (made + 1, (rank + 1) % size, 8192)]
            done += [(made + 2, -1, -1), (made + 3, -1, -1)]
            clock.call("MPI_Waitall", end, done=done, group=0, at="halo.c:45")
        last = max(clock.now for clock in clocks) + 10
        for clock in clocks:
            clock.call("MPI_Allreduce", last, sent=8, block=8, at="solve.c:17")
    clocks[0].call("MPI_File_write_at", clocks[0].now + 300, sent=1 << 20, group=0, at="output.c:9")
    return [clock.end() for clock in clocks]


EFFICIENT = [efficient, ping_pong, overlapped, right_algorithm]

REASONS = {
    # program: kind, its ranks, the gain as a part of the program's time, words
    late_sender: (
        "late_sender",
        [0],
        (0.28, 0.32),
        "rank 0 sends late (MPI_Send at solve.c:17), behind computing after solve.c:17: rank 1 waits in "
        "MPI_Recv at halo.c:42 10 times",
    ),
    late_receiver: ("late_receiver", [1], (0.34, 0.38), "rank 1 receives late (MPI_Recv), behind computing"),
    blocking_in_rank_order: (
        "late_receiver",
        [1, 2, 3, 4, 5],
        (0.3, 0.7),
        "receive late (MPI_Recv at halo.c:15), behind waits of their own: ranks 0-4 wait in MPI_Send",
    ),
    imbalance: ("collective", [3], (0.43, 0.46), 'MPI_Allreduce at cg.f90:7 in phase "solve" for rank 3'),
    halo: ("late_sender", [1], (0.18, 0.21), "rank 1 sends late (MPI_Isend), behind computing"),
    late_root: ("collective", [0], (0.4, 0.56), "MPI_Bcast for rank 0"),
    chain: ("chain", [0, 1, 2, 3], (0.7, 0.76), "ranks 0-3 work one after another"),
    small_messages: ("small_messages", [0], (0.6, 0.67), "rank 0 sends rank 1 500 small messages"),
    small_collectives: (
        "small_messages",
        [0, 1],
        (0.6, 0.65),
        "ranks 0, 1 call MPI_Allreduce 100 times, one behind another, 8 B each",
    ),
    shared_processors: ("processors", [0, 1], (0.45, 0.5), "share one processor"),
    bound_to_one_processor: (
        "processors",
        [0, 1],
        (0.45, 0.5),
        "ranks 0, 1 share one processor (3): while",
    ),
    files: ("files", [0, 1], (0.89, 0.91), 'in phase "output": 10 calls, 40 KiB'),
    starting: ("init", [0], (0.83, 0.84), "MPI_Init takes 5.00 ms"),
    private_buffers: (
        "private_buffer",
        [0],
        (0.35, 0.45),
        "10 messages of 1 MiB from rank 0 to rank 1 (MPI_Send at out.c:5, received at in.c:6) take two "
        "copies",
    ),
    packed_type: ("packed_type", [0], (0.35, 0.45), "their datatype lie apart, and are packed"),
    wrong_algorithm: (
        "algorithm",
        [0, 1, 2, 3],
        (0.54, 0.58),
        "MPI_Allreduce takes the algorithm allreduce_ring, for which the model predicts 480 µs a call; for "
        "allreduce_recursive_doubling it predicts 48.0 µs",
    ),
    long_queue: ("unexpected_messages", [1], (0.5, 0.9), "out of a queue of up to 199"),
    master_and_workers: (
        "late_sender",
        [0],
        (0.3, 0.99),
        "rank 0 sends late (MPI_Send), behind computing: ranks 1-3",
    ),
    late_gather: ("collective", [2], (0.2, 0.5), "rank 0 waits in MPI_Gather at io.c:3 for rank 2"),
    uneven_alltoall: ("collective", [2, 3], (0.2, 0.3), "ranks 0, 1 wait in MPI_Alltoall for ranks 2, 3"),
    slow_reader: (
        "files",
        [1],
        (0.6, 0.95),
        "most of it in MPI_File_read_at at read.c:9, by that rank alone",
    ),
    late_for_a_nonblocking_one: ("collective", [1], (0.35, 0.4), "rank 0 waits in MPI_Wait for rank 1"),
    pipeline: (
        "chain",
        [0, 1, 2, 3, 4],
        (0.3, 0.8),
        "ranks 0-4 work one after another: each waits for a message",
    ),
    many_puts_of_files: ("files", [0], (0.9, 0.95), "100 calls, 800 B"),
}
