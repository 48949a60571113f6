"""The rules of GOAL, as LogGOPSim has them, for tests: a rank's operations start when those that they
require are over (`irequires`: have started), its processor does one thing at a time, a message leaves when
its send is through with the processor and its receive has started. No two messages share anything."""

import collections
import heapq
import re
import struct

LINE = re.compile(
    r"(?P<label>\w+): (?:(?P<kind>send|recv) (?P<bytes>\d+)b (?:to|from) (?P<peer>\d+) tag (?P<tag>\d+)"
    r"|calc (?P<ns>\d+))(?: cpu \d+)?(?: nic \d+)?"
)
NEEDS = re.compile(r"(?P<later>\w+) (?P<how>i?requires) (?P<earlier>\w+)")


class Operation:
    def __init__(self, rank, found):
        self.rank, self.kind = rank, found["kind"] or "calc"
        self.bytes, self.peer, self.tag = (int(found[name] or 0) for name in ("bytes", "peer", "tag"))
        self.seconds = int(found["ns"] or 0) * 1e-9
        self.waits = 0
        self.after = {"requires": [], "irequires": []}


def read(text):
    """The operations of each rank, in a list; raises ValueError for what is no GOAL."""
    lines = iter(text.splitlines())
    ranks = [None] * int(next(lines).removeprefix("num_ranks "))
    for line in lines:
        rank = int(re.fullmatch(r"rank (\d+) \{", line)[1])
        labels = {}
        for line in lines:
            if line == "}":
                break
            if found := LINE.fullmatch(line):
                assert found["label"] not in labels, line
                labels[found["label"]] = Operation(rank, found)
            elif found := NEEDS.fullmatch(line):
                labels[found["earlier"]].after[found["how"]].append(labels[found["later"]])
                labels[found["later"]].waits += 1
            else:
                raise ValueError(line)
        ranks[rank] = list(labels.values())
    return ranks


def read_binary(data):
    """The same of the binary form; every byte has to be of something."""
    magic, count, highest_cpu, highest_nic = struct.unpack_from("<QIBB", data)
    assert (magic, highest_cpu, highest_nic) == (4223, 0, 0)
    ranks, end = [], 14 + 16 * count
    for rank in range(count):
        begin, end_of_part = (8 + place for place in struct.unpack_from("<QQ", data, 14 + 16 * rank))
        assert begin == end, "the parts follow one another"
        number, free = struct.unpack_from("<II", data, begin)
        first = begin + 8 + 4 * free
        edges = first + 39 * number
        made, waits, listed = [], [], 0
        for place in range(first, edges, 39):
            fields = struct.unpack_from("<IBIQIBBIIII", data, place)
            wanted, kind, peer, amount, tag, cpu, nic, after, at, early, at_early = fields
            assert (cpu, nic, at, at_early) == (0, 0, listed, listed + after)
            operation = Operation.__new__(Operation)
            operation.rank, operation.kind = rank, {1: "send", 2: "recv", 3: "calc"}[kind]
            is_calc = kind == 3
            operation.bytes, operation.peer, operation.tag = 0 if is_calc else amount, peer, tag
            operation.seconds = amount * 1e-9 if is_calc else 0.0
            operation.waits, operation.numbers, operation.after = 0, (after, early), {}
            made.append(operation)
            waits.append(wanted)
            listed += after + early
        place = edges
        for operation in made:
            for how, length in zip(("requires", "irequires"), operation.numbers, strict=True):
                later = [made[one] for one in struct.unpack_from(f"<{length}I", data, place)]
                operation.after[how] = later
                place += 4 * length
                for one in later:
                    one.waits += 1
        assert place == end_of_part
        assert [one.waits for one in made] == waits
        roots = struct.unpack_from(f"<{free}I", data, begin + 8)
        assert list(roots) == [one for one, wanted in enumerate(waits) if wanted == 0]
        ranks.append(made)
        end = end_of_part
    assert end == len(data)
    return ranks


def told(ranks):
    """All that is said of the operations, to compare two forms."""
    found = []
    for rank in ranks:
        numbers = {id(one): number for number, one in enumerate(rank)}
        for one in rank:
            after = {how: sorted(numbers[id(later)] for later in those) for how, those in one.after.items()}
            found.append((one.rank, one.kind, one.bytes, one.peer, one.tag, one.seconds, one.waits, after))
    return found


def seconds(text, software, latency, rate):
    """When the last operation of all ranks is over."""
    ranks = read(text)
    processor_free = [0.0] * len(ranks)
    waiting = collections.defaultdict(lambda: (collections.deque(), collections.deque()))
    events, number, over, last = [], 0, 0, 0.0

    def at(date, what, operation):
        nonlocal number
        number += 1
        heapq.heappush(events, (date, number, what, operation))

    def release(operations, date):
        for one in operations:
            one.waits -= 1
            if one.waits == 0:
                at(date, "start", one)

    def meet(operation, date):
        pair = (
            (operation.rank, operation.peer) if operation.kind == "send" else (operation.peer, operation.rank)
        )
        sends, receives = queues = waiting[(*pair, operation.tag)]
        queues[operation.kind == "recv"].append(operation)
        if sends and receives:
            send, receive = sends.popleft(), receives.popleft()
            assert send.bytes == receive.bytes, "as many bytes are received as are sent"
            for one in (send, receive):
                at(date + latency + send.bytes / rate, "over", one)

    for operation in (one for rank in ranks for one in rank if one.waits == 0):
        at(0.0, "start", operation)
    while events:
        date, _, what, operation = heapq.heappop(events)
        if what == "start":
            release(operation.after["irequires"], date)
            if operation.kind == "recv":
                meet(operation, date)
                continue
            cost = software if operation.kind == "send" else operation.seconds
            processor_free[operation.rank] = max(processor_free[operation.rank], date) + cost
            at(processor_free[operation.rank], "over" if operation.kind == "calc" else "meet", operation)
        elif what == "meet":
            meet(operation, date)
        else:
            over, last = over + 1, max(last, date)
            release(operation.after["requires"], date)
    assert over == sum(len(rank) for rank in ranks), "all operations come to their end"
    return last
