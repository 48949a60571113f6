"""One round: random point-to-point messages on several communicators, against MPI's rules of matching (MPI
3.5).

From the seed all ranks know which messages are sent: by whom, to whom, in which order, mode, tag and size.
The receives are each rank's own: posted early or late, with or without wildcards, persistent, by probe or
matched probe; some are cancelled while messages come. Requests of some sends and receives are freed at once,
and some sends are cancelled. So who gets what is not determined, but much about it is:

1. every message arrives exactly once, whole, with its source, tag and size; one that was cancelled, never;
2. a receive that got a message from some source was not posted after another one that got a later message
of that
   source although both fit the earlier one (no overtaking, on either side);
3. when all have arrived, what is still posted can be cancelled.

Partitioned messages go between all of this (Channel), several times each, in parts of the sender's and of the
receiver's own, in any order.
"""

import ctypes
import dataclasses
import random as random_module
import struct

from mpi import MPI as mpi
from mpi import run_rounds
from places import make_places

SIZES = [0, 1, 7, 8, 32, 39, 40, 41, 64, 100, 500, 1000, 1024, 1025, 4096, 9000, 16384, 16385, 70000, 300000]
TEXT = bytes(range(251)) * 1300
LONG_TEXT = TEXT * 4
SIZE_MAX = 300000
EMPTY = b"\xff" * SIZE_MAX  # no message has such a byte
DECOY_TAG = 700_000  # nobody sends with it
READY_TAG = 900_000
UNIQUE_TAG = 1_000_000  # messages too short to say which they are get a tag of their own


@dataclasses.dataclass
class Sent:
    """A message as planned. number: its place among all from source to target on this communicator."""

    place: int
    source: int
    target: int
    number: int
    tag: int
    size: int
    mode: str

    def payload(self) -> bytes:
        if self.size < 8:
            return TEXT[self.number : self.number + self.size]
        begin = (self.number * 37 + self.source) % 251
        return struct.pack("ii", self.source, self.number) + TEXT[begin : begin + self.size - 8]


@dataclasses.dataclass
class Posted:
    """A receive, from when it counts as posted. source: a rank of the communicator, or MPI_ANY_SOURCE."""

    order: int
    place: int
    source: int
    tag: int
    got: Sent | None = None
    exact: bool = False  # what comes there has no other receive

    def fits(self, message: Sent, rank_of: dict) -> bool:
        return self.source in (mpi.ANY_SOURCE, rank_of[message.source]) and self.tag in (
            mpi.ANY_TAG,
            message.tag,
        )


def make_plan(random, places):
    """All messages of the round, in the order in which each source sends them."""
    messages, numbers = [], {}
    for _ in range(random.randint(5, 25) * mpi.size):
        place = random.randrange(len(places))
        source, draw, size = random.randrange(mpi.size), random.random(), random.choice(SIZES)
        tag, mode = random.choice([0, 1, 2, 77]), random.choice(MODES)
        members = members_of(places, place, source)
        target = members[int(draw * len(members))]
        key = (place, source, target)
        number = numbers[key] = numbers.get(key, -1) + 1
        if size < 8:
            tag = UNIQUE_TAG + len(messages)
        if mode in ("Rsend", "Irsend"):
            tag = READY_TAG + len(messages)
        if mode in ("Send", "Ssend") and target >= source:
            mode = "I" + mode.lower()  # only lower ranks are waited for: no circle
        if mode.lower().endswith("bsend") and size > 5000:
            size = 5000
        messages.append(Sent(place, source, target, number, tag, size, mode))
    return messages


def members_of(places, index, source):
    """Whom `source` may send to on a communicator: the members of its part of it, as all ranks know them."""
    return places[index].members_for(source)


MODES = "Isend Isend Issend Ibsend Bsend Send Ssend Rsend Irsend Send_init Ssend_init Bsend_init".split()


class Receiver:
    """What this rank has posted and got."""

    def __init__(self, places, incoming, noise):
        self.places, self.noise = places, noise
        self.missing = {(m.place, m.source, m.number): m for m in incoming}
        self.posted, self.order = [], 0
        self.active = []  # (Posted, request, buffer, persistent); those whose Posted is `exact` stay
        self.idle = []  # persistent receives that are not started
        self.freed = []  # (buffer, what it holds at the end) of receives whose requests are freed
        self.by_tag = {(m.place, m.tag): m for m in incoming if m.size < 8}

    def rank_of(self, place):
        return {number: rank for rank, number in enumerate(self.places[place].peers)}

    def note(self, place, source, tag):
        self.order += 1
        self.posted.append(Posted(self.order, place, source, tag))
        return self.posted[-1]

    def pattern(self, message):
        source = self.rank_of(message.place)[message.source]
        source = mpi.ANY_SOURCE if self.noise.random() < 0.4 else source
        return message.place, source, mpi.ANY_TAG if self.noise.random() < 0.3 else message.tag

    def post(self, message, exact=False):
        """A receive that the message would fit; what it really gets is open."""
        place, source, tag = self.pattern(message)
        if exact:
            source, tag = self.rank_of(message.place)[message.source], message.tag
        if self.idle and self.noise.random() < 0.5 and not exact:
            place, source, tag, request, buffer = self.idle.pop()
            mpi.Start(request)
            self.active.append((self.note(place, source, tag), request, buffer, True))
            return
        buffer, comm = bytearray(SIZE_MAX), self.places[place].handle
        persistent = self.noise.random() < 0.2 and not exact
        make = mpi.Recv_init if persistent else self.noise.choice([mpi.Irecv, mpi.Irecv_c])
        request = mpi.inout(make(buffer, SIZE_MAX, mpi.BYTE, source, tag, comm))
        if persistent:
            mpi.Start(request)
        posted = self.note(place, source, tag)
        posted.exact = exact
        if exact and message.size > 0 and self.noise.random() < 0.3:
            self.free(message, posted, request, buffer)
        else:
            self.active.append((posted, request, buffer, persistent))

    def free(self, message, posted, request, buffer):
        """Frees the request of a receive that gets this message: only the buffer tells when it has come."""
        buffer[:] = EMPTY
        mpi.Request_free(request)
        posted.got = self.missing.pop((message.place, message.source, message.number))
        self.freed.append((buffer, message.payload() + EMPTY[message.size :]))

    def decoy(self):
        """A receive that gets nothing is cancelled, and its request freed before that is over."""
        buffer, comm = bytearray(EMPTY[:100]), self.noise.choice(self.places).handle
        make = self.noise.choice([mpi.Irecv, mpi.Recv_init])
        request = mpi.inout(make(buffer, 100, mpi.BYTE, mpi.ANY_SOURCE, DECOY_TAG, comm))
        if make is mpi.Recv_init:
            mpi.Start(request)
        mpi.Cancel(request)
        mpi.Request_free(request)
        self.freed.append((buffer, EMPTY[:100]))

    def all_freed_are_done(self):
        mpi.Iprobe(mpi.ANY_SOURCE, mpi.ANY_TAG, mpi.COMM_SELF)  # makes progress
        return all(buffer == content for buffer, content in self.freed)

    def hear_of_cancelled(self):
        """A message that its sender has cancelled is not waited for."""
        flag, status = mpi.Iprobe(mpi.ANY_SOURCE, mpi.ANY_TAG, mpi.COMM_WORLD)
        if flag:
            number = ctypes.c_int()
            mpi.Recv(number, 1, mpi.INT, status.source, status.tag, mpi.COMM_WORLD)
            message = self.missing.pop((status.tag, status.source, number.value), None)
            assert message is not None, (
                f"message {number.value} from {status.source} arrived, and was cancelled"
            )

    def cancel(self):
        """One of what is posted: it is over then, with a message or without."""
        entries = [entry for entry in self.active if not entry[0].exact]
        if not entries:
            return
        entry = self.noise.choice(entries)
        posted, request, buffer, persistent = entry
        mpi.Cancel(request)
        status = mpi.Wait(request)
        if not mpi.Test_cancelled(status):
            return self.take(entry, request.value, status._fields)
        self.active.remove(entry)
        if persistent:
            self.idle.append((posted.place, posted.source, posted.tag, request, buffer))

    def got(self, posted, status, data):
        """Finds out which message this is, and that it is whole."""
        assert mpi.Get_count(status, mpi.BYTE) == len(data)
        source = self.places[posted.place].peers[status.source]
        if len(data) >= 8:
            claimed, number = struct.unpack_from("ii", data)
            assert claimed == source, f"a message of {claimed} says that it comes from {source}"
        else:
            number = self.by_tag[posted.place, status.tag].number
        message = self.missing.pop((posted.place, source, number), None)
        assert message is not None, f"message {number} from {source} arrived twice, or was never sent"
        assert (message.tag, message.size) == (status.tag, len(data)), (message, status.tag, len(data))
        assert bytes(data) == message.payload(), f"{message} arrived damaged"
        assert posted.fits(message, self.rank_of(posted.place)), (posted, message)
        posted.got = message

    def complete(self):
        """Looks for receives that are done, in one of the many ways."""
        if not self.active:
            return
        entries = self.noise.sample(self.active, len(self.active))
        requests = (mpi.handle * len(entries))(*[entry[1].value for entry in entries])
        way = self.noise.randrange(3)
        statuses = mpi.statuses(len(entries))
        if way == 0:
            indices = (ctypes.c_int * len(entries))()
            count = mpi.Testsome(len(entries), requests, indices, statuses)
            done = [(indices[i], statuses[i]) for i in range(max(count, 0))]
        elif way == 1:
            index, flag, status = mpi.Testany(len(entries), requests)
            done = [(index, status._fields)] if flag and index != mpi.UNDEFINED else []
        else:
            index = self.noise.randrange(len(entries))
            request = mpi.inout(requests[index])
            flag, status = mpi.Test(request)
            requests[index] = request.value
            done = [(index, status._fields)] if flag else []
        for index, fields in done:
            self.take(entries[index], requests[index], fields)

    def take(self, entry, request_after, fields):
        posted, request, buffer, persistent = entry
        request.value = request_after
        self.active.remove(entry)
        status = mpi.status_of(fields)
        self.got(posted, status, memoryview(buffer)[: mpi.Get_count(status, mpi.BYTE)])
        if persistent:
            self.idle.append((posted.place, posted.source, posted.tag, request, buffer))
        else:
            assert request.value == mpi.REQUEST_NULL

    def probe(self):
        """Takes what has arrived and fits no posted receive, by one of the probes."""
        place = self.noise.randrange(len(self.places))
        wanted = [m for m in self.missing.values() if m.place == place]
        if not wanted:
            return
        _, source, tag = self.pattern(self.noise.choice(wanted))
        comm, way = self.places[place].handle, self.noise.randrange(3)
        if way == 0:
            flag, status = mpi.Iprobe(source, tag, comm)
            if flag:
                data, n = bytearray(SIZE_MAX), mpi.Get_count(status, mpi.BYTE)
                posted = self.note(place, status.source, status.tag)
                taken = mpi.Recv(data, n, mpi.BYTE, status.source, status.tag, comm)
                self.got(posted, taken, memoryview(data)[:n])
            return
        flag, message, status = mpi.Improbe(source, tag, comm)
        if flag:
            posted, n = self.note(place, source, tag), mpi.Get_count(status, mpi.BYTE)
            data, handle = bytearray(max(n, 1)), mpi.inout(message)
            if way == 1:
                status = mpi.Mrecv(data, n, mpi.BYTE, handle)
            else:
                status = mpi.Wait(mpi.inout(mpi.Imrecv(data, n, mpi.BYTE, handle)))
            assert handle.value == mpi.MESSAGE_NULL
            self.got(posted, status, memoryview(data)[:n])

    def end(self):
        """All is there: what is still posted must let itself be cancelled."""
        for _, request, _, persistent in self.active:
            mpi.Cancel(request)
            status = mpi.Wait(request)
            assert mpi.Test_cancelled(status), "a receive without a message was not cancelled"
            if persistent:
                mpi.Request_free(request)
        for entry in self.idle:
            mpi.Request_free(entry[3])

    def check_order(self):
        """Rule 2 of the opening."""
        by_source = {}
        for posted in self.posted:
            if posted.got:
                by_source.setdefault((posted.place, posted.got.source), []).append(posted)
        for (place, _), receives in by_source.items():
            rank_of = self.rank_of(place)
            for earlier in receives:  # in the order in which they were posted
                for later in receives:
                    if later.order > earlier.order and later.got.number < earlier.got.number:
                        assert not earlier.fits(later.got, rank_of), f"{later} overtook {earlier}"


class Channel:
    """A partitioned message from one rank to another, again and again (MPI 4.2)."""

    TAG = 800_000

    def __init__(self, random, number, place):
        self.source, draw = random.randrange(mpi.size), random.random()
        members = place.members_for(self.source)
        self.target = members[int(draw * len(members))]
        unit, parts = (
            random.choice([1, 50, 3000, 40000]),
            random.choice([(1, 1), (4, 1), (1, 4), (6, 4), (8, 8)]),
        )
        self.parts = dict(zip(("out", "in"), parts, strict=True))
        self.bytes, self.turns = unit * 24, random.randint(1, 3)
        self.number, self.ends, self.due = number, {}, []
        for side, me, other in (("out", self.source, self.target), ("in", self.target, self.source)):
            if mpi.rank != me:
                continue
            make = mpi.Psend_init if side == "out" else mpi.Precv_init
            buffer, count = bytearray(self.bytes), self.bytes // self.parts[side]
            words = (place.peers.index(other), self.TAG + number, place.handle, mpi.INFO_NULL)
            request = mpi.inout(make(buffer, self.parts[side], count, mpi.BYTE, *words))
            self.ends[side] = [request, buffer, 0, False]  # turns that are over; whether one is under way

    def payload(self, turn):
        begin = (self.number * 41 + turn * 7) % 251
        return LONG_TEXT[begin : begin + self.bytes]

    def step(self, noise):
        """Goes on a little, at each end that is here. Returns whether all is over here."""
        for side, end in self.ends.items():
            request, buffer, turn, active = end
            if not active and turn < self.turns:
                buffer[:] = self.payload(turn) if side == "out" else b"\xee" * self.bytes
                mpi.Start(request)
                end[3] = True
                if side == "out":
                    self.due = noise.sample(range(self.parts[side]), self.parts[side])
            elif active and side == "out" and self.due:
                self.ready(request, noise)
            elif active:
                self.look(side, end, noise)
            elif request.value != mpi.REQUEST_NULL and noise.random() < 0.3:
                mpi.Request_free(request)  # whatever the other end is at
        return all(turn == self.turns for _, _, turn, _ in self.ends.values())

    def ready(self, request, noise):
        """Gives one part, or a few; as many as may be in a range of their own."""
        part, way = self.due.pop(), noise.randrange(3)
        if way == 0:
            mpi.Pready(part, request)
        elif way == 1:
            parts = [part] + [self.due.pop() for _ in range(noise.randint(0, len(self.due)))]
            mpi.Pready_list(len(parts), parts, request)
        else:
            last = part
            while last + 1 in self.due:
                last += 1
                self.due.remove(last)
            mpi.Pready_range(part, last, request)

    def look(self, side, end, noise):
        request, buffer, turn, _ = end
        if side == "in" and noise.random() < 0.5:
            part, size = noise.randrange(self.parts[side]), self.bytes // self.parts[side]
            if mpi.Parrived(request, part):
                range_of = slice(part * size, (part + 1) * size)
                assert buffer[range_of] == self.payload(turn)[range_of], f"part {part} arrived damaged"
            return
        flag, _ = mpi.Test(request)
        if flag:
            assert buffer == self.payload(turn), f"turn {turn} of channel {self.number} arrived damaged"
            end[2:] = [turn + 1, False]

    def free(self):
        for request, *_ in self.ends.values():
            if request.value != mpi.REQUEST_NULL:
                mpi.Request_free(request)


def send(place, message, keep, noise):
    """Sends in the message's mode. What is not done yet goes to `keep`: (request, buffer, persistent).

    The request is null where it was freed at once, or cancelled.
    """
    payload = bytearray(message.payload())
    rank = place.peers.index(message.target)
    words = (payload, message.size, mpi.BYTE, rank, message.tag, place.handle)
    name = message.mode + noise.choice(["", "_c"])
    if message.mode in ("Send", "Ssend", "Bsend", "Rsend"):
        getattr(mpi, name)(*words)
        payload[:] = b"\xee" * len(payload)  # the buffer is the program's again
        return
    request = mpi.inout(getattr(mpi, name)(*words))
    if message.mode.endswith("_init"):
        mpi.Start(request)
    persistent, what = message.mode.endswith("_init"), noise.random()
    if what < 0.15:
        mpi.Request_free(request)
        persistent = False
    elif what < 0.3 and message.mode != "Irsend":  # its receive may be freed, and wait for it
        cancel(message, request, keep)
    keep.append((request, payload, persistent))


def cancel(message, request, keep):
    """A cancelled send ends whatever its receiver does; that one is told if the message never arrives."""
    mpi.Cancel(request)
    if mpi.Test_cancelled(mpi.Wait(request)):
        number = bytearray(ctypes.c_int(message.number))
        words = (number, 1, mpi.INT, message.target, message.place, mpi.COMM_WORLD)
        keep.append((mpi.inout(mpi.Isend(*words)), number, False))


def finish_sends(keep):
    for request, payload, persistent in keep:
        if request.value == mpi.REQUEST_NULL:
            continue  # its bytes stay until all messages have arrived
        mpi.Wait(request)
        payload[:] = b"\xee" * len(payload)
        if persistent:
            mpi.Request_free(request)


def sends_done(keep):
    requests = (mpi.handle * max(len(keep), 1))(*[request.value for request, _, _ in keep])
    return not keep or mpi.Request_get_status_all(len(keep), requests, mpi.statuses(len(keep)))


def one_round(random, number):
    places = [place for place in make_places(random) if not place.edges]
    plan = make_plan(random, places)
    noise = random_module.Random(random.random() + mpi.rank)
    attached = bytearray(2_000_000)
    if random.random() < 0.5:
        mpi.Buffer_attach(attached, len(attached))
    else:
        mpi.Buffer_attach(mpi.BUFFER_AUTOMATIC, 0)
    mine = [message for message in plan if message.source == mpi.rank]
    incoming = [message for message in plan if message.target == mpi.rank]
    receiver, keep = Receiver(places, incoming, noise), []
    for message in incoming:
        if "rsend" in message.mode.lower():
            receiver.post(message, exact=True)
    channels = [Channel(random, i, random.choice(places)) for i in range(random.randint(0, 3))]
    mpi.Barrier(mpi.COMM_WORLD)
    wanted = noise.sample(incoming, len(incoming)) + noise.choices(incoming, k=2 if incoming else 0)
    while mine or receiver.missing:
        what = noise.random()
        if mine and what < 0.4:
            message = mine.pop(0)
            send(places[message.place], message, keep, noise)
        elif wanted and what < 0.7:
            receiver.post(wanted.pop())
        elif what < 0.78:
            receiver.complete()
        elif what < 0.8:
            receiver.cancel()
        elif what < 0.81:
            receiver.decoy()
        elif what < 0.85:
            for channel in channels:
                channel.step(noise)
        else:
            receiver.probe()
        receiver.hear_of_cancelled()
    while not (all([channel.step(noise) for channel in channels]) and sends_done(keep)):
        pass
    while not receiver.all_freed_are_done():
        pass
    finish_sends(keep)
    mpi.Barrier(mpi.COMM_WORLD)
    receiver.end()
    receiver.check_order()
    detach()
    for channel in channels:
        channel.free()
    for place in places:
        place.free()


def detach():
    address = ctypes.c_void_p()
    mpi.Buffer_detach(ctypes.byref(address))


if __name__ == "__main__":
    run_rounds(one_round)
