/* Sleeping and waking: the doorbell (src/node/doorbell.hpp) between SENDERS ranks that publish packets
 * and one that takes them and sleeps when there are none. No time limit wakes the sleeper here, as in the
 * library it does, so that a lost wake-up is a deadlock. README.md says more.
 *
 * Memory: a sender's packet lies in its processor's store buffer until it drains, at any time, and the sender
 * may read the sleeper's flag before that: the one reordering of x86-64, and the one that matters here on
 * aarch64 too. What is seq_cst empties the buffer of who does it; membarrier empties everybody's.
 *
 * Claim W1: whatever happens when, all packets are taken in the end.
 */

#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef PACKETS
#define PACKETS 2 /* of each sender */
#endif

byte published[SENDERS]; /* packets that everybody sees */
byte buffered[SENDERS];  /* packets in the sender's store buffer */
byte taken[SENDERS];
bool sleeping;           /* writer: the owner sets, who rings clears */
byte rings;              /* the futex word; counts rings */
bool in_futex;

#define DRAIN(s) published[s] = published[s] + buffered[s]; buffered[s] = 0

proctype Sender(byte s) {
  byte sent;
  bool asleep;
end:
  do
  :: sent < PACKETS ->
     sent++;
#ifdef CAREFUL /* the owner has no membarrier: published with seq_cst */
     published[s]++;
#else
     buffered[s]++;
#endif
     asleep = sleeping;
     if
     :: asleep -> /* doorbell_ring(): all of it is seq_cst */
        atomic { DRAIN(s);
#ifdef BROKEN_RING_BEFORE_THE_FLAG
        rings++ }
        in_futex = false;
        sleeping = false;
#else
        sleeping = false }
        rings++;
        in_futex = false; /* FUTEX_WAKE */
#endif
        asleep = false
     :: else
     fi
  :: atomic { buffered[s] != 0 -> published[s]++; buffered[s]-- }
  od
}

#define NEWS (taken[0] != published[0] || (SENDERS > 1 && taken[SENDERS - 1] != published[SENDERS - 1]))
#define ALL (taken[0] == PACKETS && taken[SENDERS - 1] == PACKETS)

inline take_all() {
  atomic { taken[0] = published[0]; taken[SENDERS - 1] = published[SENDERS - 1] }
}

proctype Owner() {
  byte ticket;
  do
  :: ALL -> break
  :: else ->
     if /* the usual look: it may leave out rings that are rarely used */
     :: take_all()
     :: true
     fi;
     /* arm() */
     ticket = rings;
#ifndef BROKEN_FLAG_AFTER_THE_SECOND_LOOK
     sleeping = true;
#endif
#if !defined(BROKEN_NO_MEMBARRIER) && !defined(CAREFUL)
     atomic { DRAIN(0); DRAIN(SENDERS - 1) }
#endif
     /* the second look, at everything */
     if
#ifdef BROKEN_NO_SECOND_LOOK
     :: false
#elif defined(BROKEN_SECOND_LOOK_NOT_AT_ALL)
     :: atomic { taken[0] != published[0] -> taken[0] = published[0] }
#else
     :: NEWS -> take_all()
#endif
     :: else ->
#ifdef BROKEN_FLAG_AFTER_THE_SECOND_LOOK
        sleeping = true;
#endif
        if
        :: ALL
        :: else ->
           atomic {
             if
#ifndef BROKEN_FUTEX_WITHOUT_TICKET
             :: rings != ticket
#endif
             :: else -> in_futex = true
             fi
           }
           !in_futex
        fi
     fi;
     sleeping = false /* disarm() */
  od;
  ticket = 0
}

init {
  atomic {
    run Sender(0);
#if SENDERS > 1
    run Sender(1);
#endif
    run Owner()
  }
}
