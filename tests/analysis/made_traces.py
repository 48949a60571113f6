"""Traces with known calls, written by hand: what the readers and the replay are tested on.

Rank(0, 2).call("MPI_Send", 1.0, 2.0, peer=1, sent=8)      times in microseconds from the begin
"""

import struct

from tasuki import trace as traces

ORIGIN = 5_000_000  # ns: where the traces begin on the clock


def varint(value):
    text = b""
    while value >= 0x80:
        text += bytes([value & 0x7F | 0x80])
        value >>= 7
    return text + bytes([value])


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def column(values, plain=False):
    """`plain`: as a stream, even where one number would do."""
    if len(set(values)) <= 1 and not plain:
        return b"\0" + varint(values[0] if values else 0)
    stream = b"".join(map(varint, values))
    return b"\1" + varint(len(stream)) + stream


def block(kind, payload):
    words = payload + bytes(-len(payload) % 8)
    total = len(payload)
    for place in range(0, len(words), 8):
        total += int.from_bytes(words[place : place + 8], "little") * (place // 4 + 1)
    return kind + struct.pack("<IQ", len(payload), total % (1 << 64)) + payload


class Rank:
    """One process's part; the world is its group number 1."""

    def __init__(self, rank, size, world=0, processors=64, offset=0, end="", allowed=""):
        self.end = end  # what the last block says
        self.head = (
            f"world={world}\nrank={rank}\nsize={size}\nprocessors={processors}\nclock_offset_ns={offset}\n"
            "library=Tasuki 0.1.0\n" + f"allowed={allowed}\n" * bool(allowed)
        )
        self.definitions = [b"G" + varint(1) + f"communicator\n{rank}\n0:1:{size}\n\nMPI_COMM_WORLD".encode()]
        self.functions = {}
        self.phases, self.sites, self.ways, self.algorithms = {}, {}, {}, {}
        self.rows = []
        self.side = {name: [] for name in traces.SIDE_COLUMNS}
        self.made = 0
        self.now = 0

    def number(self, kind, table, name):
        if name not in table:
            table[name] = len(table) + 1
            self.definitions.append(kind + varint(table[name]) + name.encode())
        return table[name]

    def call(self, name, begin, end, started=(), done=(), phase="", at="", **values):
        """`done`: (serial, source, bytes) of each request that it completed. `at`: "halo.c:42"."""
        row = (
            dict.fromkeys((*traces.COLUMNS, *traces.FURTHER_COLUMNS), 0)
            | {"peer": -1, "source": -1, "group": 1}
            | values
        )
        begin, end = ORIGIN + round(begin * 1000), ORIGIN + round(end * 1000)
        row |= {"gap": begin - self.now, "length": end - begin, "done": len(done)}
        row["function"] = self.number(b"F", self.functions, name)
        row["phase"] = self.number(b"P", self.phases, phase) if phase else 0
        row["site"] = self.number(b"S", self.sites, f"10 1 {at}") if at else 0
        for name, kind, table in (
            ("way", b"W", self.ways),
            ("algorithm", b"A", self.algorithms),
            ("runner_up", b"A", self.algorithms),
        ):
            row[name] = self.number(kind, table, row[name]) if row[name] else 0
        self.now = end
        self.side["started"] += [self.made - serial for serial in started]
        self.made += row["made"]
        for serial, source, size in done:
            self.side["done_serial"].append(self.made - serial)
            self.side["done_source"].append(source)
            self.side["done_bytes"].append(size + 1)
        self.rows.append(row)
        return self

    def blocks(self, whole=True, plain=False, version=traces.VERSION):
        payload = varint(len(self.rows)) + varint(0)
        payload += varint(len(self.rows)) + varint(sum(row["sent"] for row in self.rows))
        payload += varint(len(self.definitions))
        payload += b"".join(varint(len(one)) + one for one in self.definitions)
        for name in traces.COLUMNS:
            values = [row[name] for row in self.rows]
            payload += column([zigzag(one) for one in values] if name in traces.SIGNED else values, plain)
        for name in traces.SIDE_COLUMNS:
            values = self.side[name]
            payload += varint(len(values))
            payload += column([zigzag(one) for one in values] if name in traces.SIGNED else values, plain)
        if version > 1:
            payload += varint(len(traces.FURTHER_COLUMNS) + 1)
            for name in ("later", *traces.FURTHER_COLUMNS):  # the first is one that no reader knows yet
                values = [row.get(name, 7) for row in self.rows]
                payload += varint(len(name)) + name.encode()
                payload += column([zigzag(one) for one in values] if name in traces.SIGNED else values, plain)
        end = block(b"END ", self.end.encode()) if whole else b""
        return block(b"HEAD", self.head.encode()) + block(b"DATA", payload) + end


def lines(sites):
    """In place of tasuki-source-lines: what stands for the path is the line itself."""
    found = {}
    for site in sites:
        file, _, line = site.split(" ", 2)[2].partition(":")
        found[site] = "", f"/src/{file}", int(line)
    return found


def write(path, *ranks, **how):
    head = traces.FILE_HEAD.pack(traces.MAGIC, how.get("version", traces.VERSION))
    path.write_bytes(head + b"".join(rank.blocks(**how) for rank in ranks))
    return path
