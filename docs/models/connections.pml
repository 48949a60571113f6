/* Two processes on two hosts that begin to talk, perhaps at once, and leave: greetings, their answers, byes,
 * over connections that the network may drop. README.md says what is modelled, what is left out, and how to
 * run it.
 *
 * A process connects when it has something to send. Where both do, libfabric keeps one of the connections,
 * or, in 1.17, none, as the two happen to look. What was sent by one that is dropped is lost, and nobody is
 * told. A connection by which a word has come is kept. What a process has sent may be lost when it closes
 * its sockets while bytes for it are on the way: TCP resets the connection. A packet may go beside the stream
 * of the others (a long one, which the receiver fetches): others pass it, and it has left when it has come.
 *
 * Claims, each an assertion below:
 *  K1  all that either process sends comes, once and in order;
 *  K2  both come to an end.
 */

#ifndef PACKETS
#define PACKETS 2 /* of process 0 */
#endif
#ifndef PACKETS_BACK
#define PACKETS_BACK 2 /* of process 1, or none */
#endif
#ifndef DROPS
#define DROPS 2 /* how often connections may be dropped, beyond one of two: in the end one holds */
#endif

/* Words; what they say is told in src/link/ofi/frame.hpp. */
#define HELLO 1
#define WELCOME 2
#define PACKET 3
#define BYE 4
#define BYE_HEARD 5

/* A connection, named by the process that asks for it. */
#define NONE 0
#define ASKED 1
#define OPEN 2

typedef Connection {
  byte state;
  bool proved; /* a word has come by it */
}

typedef Process {
  byte by;        /* the connection that it sends by, + 1; 0: none */
  bool connected; /* it has heard the other's greeting or its answer */
  bool greeted;   /* it has said its own */
  byte sent;
  byte received;  /* in order */
  byte early;     /* bits: packets that wait for one before them */
  bool leaving;
  bool heard_bye; /* the answer to its bye */
  bool said_bye;  /* the other one has */
  bool ended;     /* its sockets are closed */
}

Connection connections[2];
Process processes[2];
byte back; /* packets of process 1 */
byte drops;
bool crossed; /* both have asked at once */

/* What is on its way by connection c to process p: wires[2 * c + p]. */
#define WORDS_MAX (PACKETS + PACKETS_BACK + 6)
chan wires[4] = [WORDS_MAX] of { byte, byte };
byte beside[2]; /* bits: packets to process p that go beside the stream */

#define OTHER(p) (1 - (p))
#define WIRE(c, p) wires[2 * (c) + (p)]
#define BYTES_FOR(p) (len(WIRE(0, p)) + len(WIRE(1, p)) + beside[p])

#define TO_SEND(p) ((p) == 0 -> PACKETS : back)
#define TO_RECEIVE(p) ((p) == 0 -> back : PACKETS)

inline clear(wire) {
  do
  :: nempty(wire) -> wire?_, _
  :: empty(wire) -> break
  od
}

/* What was sent by the connection and has not been taken is lost. */
inline drop(c_) {
  clear(WIRE(c_, 0));
  clear(WIRE(c_, 1));
  connections[c_].state = NONE;
  if :: processes[0].by == c_ + 1 -> processes[0].by = 0 :: else fi;
  if :: processes[1].by == c_ + 1 -> processes[1].by = 0 :: else fi
}

/* The process's end of a connection is gone while bytes are on their way to it: what it has sent is lost. */
inline reset(p_) {
  clear(WIRE(0, OTHER(p_)));
  clear(WIRE(1, OTHER(p_)))
}

inline connect(p_) {
  if
  :: processes[p_].by == 0 ->
     assert(connections[p_].state == NONE);
     connections[p_].state = ASKED;
     connections[p_].proved = false;
     processes[p_].by = p_ + 1;
     crossed = crossed || connections[OTHER(p_)].state == ASKED
  :: else
  fi
}

/* Where the other one's sockets are closed already, its system resets the connection. */
inline say(p_, kind_, number_) {
  if
  :: processes[OTHER(p_)].ended -> reset(OTHER(p_))
  :: else -> WIRE(processes[p_].by - 1, OTHER(p_))!kind_, number_
  fi
}

/* The other's connection is accepted, or not. */
inline accept(p_) {
  if
  :: processes[p_].by == 0 -> connections[OTHER(p_)].state = OPEN; processes[p_].by = OTHER(p_) + 1
  :: processes[p_].by != 0 ->
     drop(p_);
     connections[OTHER(p_)].state = OPEN;
     processes[p_].by = OTHER(p_) + 1
  :: processes[p_].by != 0 -> drop(OTHER(p_))
  :: processes[p_].by != 0 && drops < DROPS -> drops++; drop(p_); drop(OTHER(p_))
  fi
}

/* K1. */
inline take_packet(p_, number_) {
  assert(number_ >= processes[p_].received && !(processes[p_].early & (1 << number_)));
  processes[p_].early = processes[p_].early | (1 << number_);
  do
  :: processes[p_].early & (1 << processes[p_].received) ->
     processes[p_].early = processes[p_].early & (255 - (1 << processes[p_].received));
     processes[p_].received++
  :: else -> break
  od
}

inline take(p_, c_) {
  connections[c_].proved = true;
  assert(processes[p_].by == c_ + 1);
  if
  :: kind == HELLO -> processes[p_].connected = true; say(p_, WELCOME, 0)
  :: kind == WELCOME -> processes[p_].connected = true
  :: kind == PACKET -> take_packet(p_, number)
  :: kind == BYE -> processes[p_].said_bye = true; say(p_, BYE_HEARD, 0)
  :: kind == BYE_HEARD -> processes[p_].heard_bye = true
  fi;
  kind = 0;
  number = 0
}

inline beside_comes(p_, number_) {
  atomic {
    (beside[p_] & (1 << number_)) && !processes[p_].ended ->
    beside[p_] = beside[p_] & (255 - (1 << number_));
    take_packet(p_, number_)
  }
}

#define HELLO_UNDER_WAY(p) (WIRE(0, OTHER(p))??[HELLO, 0] || WIRE(1, OTHER(p))??[HELLO, 0])
#define ANSWERS_UNDER_WAY(p) (len(WIRE(0, p)) + len(WIRE(1, p)))
/* Again, when the pause is over: the first may be lost. So it may be said while the answer is on its way. */
#ifdef BROKEN_GREETED_ONCE
#define MAY_GREET(p) (!processes[p].greeted)
#else
#define MAY_GREET(p) (!HELLO_UNDER_WAY(p) && ANSWERS_UNDER_WAY(p) < 2 && !processes[OTHER(p)].ended)
#endif
#ifdef BROKEN_ANSWER_NOT_AWAITED
#define MAY_SEND(p) (processes[p].greeted || processes[p].connected)
#else
#define MAY_SEND(p) processes[p].connected
#endif
#ifdef BROKEN_LEFT_BEFORE_THE_BYTES
#define HAS_LEFT(p) true
#else
#define HAS_LEFT(p) (beside[OTHER(p)] == 0)
#endif
/* A bye of the other, too, says that it needs nothing more. In the library a process waits for a second: that
 * is over here when the other one has ended. */
#ifdef BROKEN_BYE_WITHOUT_AN_ANSWER
#define BYE_IS_HEARD(p) true
#else
#define BYE_IS_HEARD(p) (processes[p].heard_bye || processes[p].said_bye || processes[OTHER(p)].ended)
#endif

#define MAY_TAKE(p, c) (connections[c].state == OPEN && !processes[p].ended && nempty(WIRE(c, p)))

proctype Rank(byte p) {
  byte kind, number;
end:
  do
  :: atomic {
       processes[p].sent < TO_SEND(p) && !processes[p].connected && MAY_GREET(p) ->
       processes[p].greeted = true;
       connect(p);
       say(p, HELLO, 0)
     }
  :: atomic {
       processes[p].sent < TO_SEND(p) && MAY_SEND(p) ->
#ifdef BROKEN_ANSWER_NOT_AWAITED
       connect(p);
#endif
       if
       :: say(p, PACKET, processes[p].sent)
       :: processes[p].connected -> beside[OTHER(p)] = beside[OTHER(p)] | (1 << processes[p].sent)
       fi;
       processes[p].sent++
     }
  :: atomic { connections[OTHER(p)].state == ASKED && !processes[p].ended -> accept(p) }
  :: atomic { MAY_TAKE(p, 0) -> WIRE(0, p)?kind, number; take(p, 0) }
  :: atomic { MAY_TAKE(p, 1) -> WIRE(1, p)?kind, number; take(p, 1) }
  :: beside_comes(p, 0)
  :: beside_comes(p, 1)
#if PACKETS > 2 || PACKETS_BACK > 2
  :: beside_comes(p, 2)
#endif
  :: atomic { /* its program is over */
       !processes[p].leaving && processes[p].sent == TO_SEND(p) && processes[p].received == TO_RECEIVE(p) ->
       processes[p].leaving = true;
       if
       :: processes[p].said_bye && beside[OTHER(p)] == 0
       :: else -> say(p, BYE, 0)
       fi
     }
  :: atomic {
       processes[p].leaving && !processes[p].ended && HAS_LEFT(p) && BYE_IS_HEARD(p) ->
       processes[p].ended = true;
       beside[OTHER(p)] = 0;
       if
       :: BYTES_FOR(p) != 0 -> reset(p); clear(WIRE(0, p)); clear(WIRE(1, p))
       :: else
       fi
     }
  od
}

/* A connection that was made when both asked goes after all, unless a word has come by it. */
#define MAY_GO(c) (crossed && drops < DROPS && connections[c].state == OPEN && !connections[c].proved)

proctype Network() {
end:
  do
  :: atomic { MAY_GO(0) -> drops++; drop(0) }
  :: atomic { MAY_GO(1) -> drops++; drop(1) }
  od
}

/* When nothing moves any more: K2. */
proctype Finally() {
  timeout -> assert(processes[0].ended && processes[1].ended)
}

init {
  atomic {
    if
    :: back = PACKETS_BACK
    :: back = 0
    fi;
    run Rank(0);
    run Rank(1);
    run Network();
    run Finally()
  }
}
