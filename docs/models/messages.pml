/* The protocol of messages between SENDERS senders and one receiver: eager messages, descriptors that the
 * receiver gets with the sender's help, and advertised receives that the sender claims and
 * writes to. README.md says what is modelled, what is left out, and how to run it.
 *
 * What two processes share is touched in steps of their own; what one process does between two such steps, and
 * nobody else can see, is put together with one of them (atomic, d_step), which loses nothing. Tags, sizes, capacities, sources, the order of
 * all that happens, who copies how much and whether a receive is cancelled are all left open: the verifier
 * takes every combination.
 *
 * Claims, each an assertion below:
 *  C1  a message is matched with one receive, and a receive with one message, that agree in source and tag;
 *  C2  nothing overtakes: no earlier receive, and no earlier message of the same sender, was left out (MPI 3.5);
 *  C3  a buffer is written only by the message that its receive was matched with, and not before that, nor
 *      after the receive was completed or cancelled; each chunk once; and never beyond its capacity;
 *  C4  the sender's buffer is read only before its send is complete;
 *  C5  a receive that is complete has got its data;
 *  C6  at the end nothing is left that could go on: no open receive that matches a message, no half copied
 *      message, no send that is not told of its end.
 */

#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each sender */
#endif
#ifndef RECEIVES
#define RECEIVES 2
#endif
#ifndef SLOTS
#define SLOTS 1 /* of the advertised receives of a pair */
#endif
#ifndef CHUNKS
#define CHUNKS 2 /* of a large message; a small one is one chunk */
#endif
#ifndef CANCELS
#define CANCELS 1 /* receives that may be cancelled */
#endif
#ifndef TAGS
#define TAGS 2
#endif
#ifndef LARGE
#define LARGE SENDERS /* so many senders have large messages too */
#endif
#ifndef TIGHT
#define TIGHT RECEIVES /* so many receives may be too small for a large message */
#endif

#define ANY 7
#define MESSAGES_ALL (SENDERS * MESSAGES)

/* What a receive is to the receiver. */
#define NOT_POSTED 0
#define OPEN 1
#define MATCHED 2
#define COMPLETE 3
#define CANCELLED 4

/* What a message is. */
#define NOT_SENT 0
#define ON_ITS_WAY 1 /* in the FIFO */
#define ARRIVED 2    /* kept by the receiver, with no receive yet */
#define TAKEN 3      /* matched */

/* Packets: in the FIFO from a sender, and answers to it. */
#define EAGER 1
#define DESCRIPTOR 2
#define WRITING 3
#define GET_BEGINS 1
#define GET_DONE 2

typedef Message {
  byte tag;
  bool large;
  byte state;
  bool sent;   /* the send is complete: the program may change the buffer */
  byte taker;  /* receive + 1 */
}

typedef Receive {
  byte source;
  byte tag;
  byte capacity; /* chunks */
  byte state;    /* as the receiver knows it */
  byte message;  /* message + 1 that it is matched with, from the very moment: also of a claim that the receiver
                    has not heard of */
  byte slot;     /* slot + 1 where it is advertised */
}

/* The line that both sides of a large message map. */
typedef Transfer {
  byte chunks; /* that are to be copied; 0: not agreed on */
  byte front;  /* claimed by the sender; front and back are one atomic word */
  byte back;   /* claimed by the receiver, from the far end */
  byte done;
  bool sender_helps;
  bool receiver_helps;
}

/* An advertised receive. Writer of all: the receiver; but the sender writes `word` when it claims. */
typedef Slot {
  byte word;   /* FREE, CLAIMED, or the generation: different for each receive that is advertised */
  byte serial; /* its place in the order of advertisements */
  byte tag;
  byte receive;
}
#define FREE 0
#define CLAIMED 255
#ifdef BROKEN_NO_GENERATION
#define GENERATION(r) 1
#else
#define GENERATION(r) ((r) + 1)
#endif

typedef Pair {
  Slot slots[SLOTS];
  byte advertised;   /* advertisements made; writer: the receiver; one atomic word with the next */
  byte in_use;       /* bit i: slot i is not free */
  byte acknowledged; /* matchable messages that the receiver has processed; writer: the receiver */
  byte sent;         /* matchable messages sent; the sender's own */
}

Message messages[MESSAGES_ALL];
Receive receives[RECEIVES];
Transfer transfers[MESSAGES_ALL];
Pair pairs[SENDERS];
byte data[RECEIVES * CHUNKS]; /* message + 1 whose chunk lies there */

chan fifo[SENDERS] = [MESSAGES] of { byte, byte, byte };
chan answers[SENDERS] = [MESSAGES] of { byte, byte };

#define SENDER_OF(m) ((m) / MESSAGES)
#define TAGS_MEET(one, other) ((one) == (other) || (one) == ANY || (other) == ANY)
#define FITS(r, s, t) ((receives[r].source == (s) || receives[r].source == ANY) && TAGS_MEET(receives[r].tag, t))
#define IS_OPEN(r) (receives[r].state == OPEN && receives[r].message == 0)
#define LENGTH(m) (messages[m].large -> CHUNKS : 1)
#define SMALLER(one, other) ((one) < (other) -> (one) : (other))

/* The one moment in which a message and a receive are matched, by the sender or the receiver: C1, C2. */
inline match(r_, m_) {
  assert(IS_OPEN(r_) && messages[m_].taker == 0);
  assert(FITS(r_, SENDER_OF(m_), messages[m_].tag));
  for (check : 0 .. RECEIVES - 1) {
    assert(!(check < r_ && IS_OPEN(check) && FITS(check, SENDER_OF(m_), messages[m_].tag)));
  }
  for (check : 0 .. MESSAGES_ALL - 1) {
    assert(!(check < m_ && SENDER_OF(check) == SENDER_OF(m_) && messages[check].taker == 0 &&
             FITS(r_, SENDER_OF(m_), messages[check].tag)));
  }
  receives[r_].message = m_ + 1;
  messages[m_].taker = r_ + 1;
  messages[m_].state = TAKEN;
  check = 0;
}

/* One chunk from the sender's buffer into the receiver's: C3, C4. The step between the claim of a chunk and
 * the count of those that are done. */
inline copy(m_, c_) {
  assert(!messages[m_].sent);
  assert(receives[messages[m_].taker - 1].message == m_ + 1);
  assert(receives[messages[m_].taker - 1].state == OPEN || receives[messages[m_].taker - 1].state == MATCHED);
  assert((c_) < receives[messages[m_].taker - 1].capacity);
  assert(data[(messages[m_].taker - 1) * CHUNKS + (c_)] == 0);
  data[(messages[m_].taker - 1) * CHUNKS + (c_)] = m_ + 1;
}

#define CLAIMABLE(m) (transfers[m].front + transfers[m].back < transfers[m].chunks)
#define OVER(m) (transfers[m].chunks != 0 && transfers[m].done == transfers[m].chunks)

/* Claims a chunk, at the front or from the back; copies and counts it. The other side may have been faster. */
inline help(m_, at_front) {
#ifdef BROKEN_CLAIM_IN_TWO_WORDS
  if
  :: at_front -> chunk = transfers[m_].front + 1; transfers[m_].front = chunk
  :: else -> chunk = transfers[m_].chunks - transfers[m_].back; transfers[m_].back++
  fi;
#else
  d_step {
    if
    :: !CLAIMABLE(m_)
    :: CLAIMABLE(m_) && at_front -> chunk = transfers[m_].front + 1; transfers[m_].front++
    :: CLAIMABLE(m_) && !at_front -> chunk = transfers[m_].chunks - transfers[m_].back; transfers[m_].back++
    fi
  }
#endif
  if
#ifdef BROKEN_DONE_BEFORE_THE_COPY
  :: chunk != 0 -> transfers[m_].done++; d_step { copy(m_, chunk - 1); chunk = 0 }
#else
  :: d_step { chunk != 0 -> copy(m_, chunk - 1); transfers[m_].done++; chunk = 0 }
#endif
  :: chunk == 0
  fi
}

/* ----- a sender ------------------------------------------------------------------------------------------- */

/* Looks for the advertised receive that the message may take, and claims it. `best`: its slot + 1, or 0. Only
 * requests that were advertised before the look began are considered: of those all are seen, so that none is
 * overlooked that is older than the one that is taken. */
inline claim(s_, m_) {
  d_step { known = pairs[s_].advertised; used = pairs[s_].in_use }
#ifdef BROKEN_SCAN_WITHOUT_LIMIT
  known = 255;
#endif
#ifdef BROKEN_ACKNOWLEDGED_UNCHECKED
  may = (used != 0);
#else
  may = (used != 0 && pairs[s_].sent == pairs[s_].acknowledged);
#endif
  slot = 0;
  do
  :: slot < SLOTS && may ->
     if
     :: (used & (1 << slot)) -> word = pairs[s_].slots[slot].word
     :: else -> word = FREE
     fi;
     if
     :: word != FREE && word != CLAIMED ->
        /* Another receive may have got the slot since: then the claim fails, or it is younger than `known`. */
        d_step {
          if
          :: pairs[s_].slots[slot].serial <= known && TAGS_MEET(pairs[s_].slots[slot].tag, messages[m_].tag) &&
             (best == 0 || pairs[s_].slots[slot].serial < best_serial) ->
             best = slot + 1;
             best_word = word;
             best_serial = pairs[s_].slots[slot].serial
          :: else
          fi
        }
     :: else
     fi;
     slot++
  :: else -> break
  od;
#ifdef BROKEN_CLAIM_WITHOUT_CAS
  if
  :: best != 0 && pairs[s_].slots[best - 1].word != best_word -> best = 0
  :: else
  fi;
#endif
  atomic {
    if
#ifdef BROKEN_CLAIM_WITHOUT_CAS
    :: best != 0 ->
#else
    :: best != 0 && pairs[s_].slots[best - 1].word == best_word ->
#endif
       d_step {
         pairs[s_].slots[best - 1].word = CLAIMED;
         taken = pairs[s_].slots[best - 1].receive;
         match(taken, m_);
         transfers[m_].chunks = SMALLER(CHUNKS, receives[taken].capacity)
       }
    :: else -> best = 0; pairs[s_].sent++; fifo[s_]!DESCRIPTOR, m_, 0
    fi;
    slot = 0; word = 0; known = 0; used = 0; may = false; best_word = 0; best_serial = 0
  }
  if
  :: best != 0 -> atomic { transfers[m_].sender_helps = true; fifo[s_]!WRITING, m_, taken; best = 0; taken = 0 }
  :: else
  fi
}

#define SENDER_MAY_HELP(m) (transfers[m].sender_helps && !messages[m].sent && CLAIMABLE(m))
#define SENDER_MAY_END(m) (transfers[m].sender_helps && !messages[m].sent && OVER(m))

proctype Sender(byte s) {
  byte next, m, kind;
  byte slot, word, known, used, best, best_word, best_serial, taken; /* of claim() */
  bool may;
  byte chunk, check;
end:
  do
  :: atomic {
       next < MESSAGES ->
         m = s * MESSAGES + next;
         next++;
         if :: messages[m].tag = 0 :: TAGS > 1 -> messages[m].tag = 1 fi;
         messages[m].state = ON_ITS_WAY;
         if
         :: pairs[s].sent++;
            messages[m].sent = true;
            fifo[s]!EAGER, m, 0
         :: s < LARGE -> messages[m].large = true
         fi
     }
     if
     :: messages[m].large -> claim(s, m)
     :: else
     fi;
     m = 0
  :: atomic { answers[s]?kind, m ->
       if
       :: kind == GET_BEGINS -> transfers[m].sender_helps = true
       :: else -> messages[m].sent = true
       fi;
       kind = 0; m = 0
     }
  :: SENDER_MAY_HELP(s * MESSAGES) -> help(s * MESSAGES, true)
  :: d_step { SENDER_MAY_END(s * MESSAGES) -> messages[s * MESSAGES].sent = true }
#if MESSAGES > 1
  :: SENDER_MAY_HELP(s * MESSAGES + 1) -> help(s * MESSAGES + 1, true)
  :: d_step { SENDER_MAY_END(s * MESSAGES + 1) -> messages[s * MESSAGES + 1].sent = true }
#endif
#if MESSAGES > 2
  :: SENDER_MAY_HELP(s * MESSAGES + 2) -> help(s * MESSAGES + 2, true)
  :: d_step { SENDER_MAY_END(s * MESSAGES + 2) -> messages[s * MESSAGES + 2].sent = true }
#endif
  od
}

/* ----- the receiver --------------------------------------------------------------------------------------- */

/* Advertises each open receive that may be: its source is known, a slot is free, and every earlier open
 * receive that could take the same message is advertised too. */
inline next_to_advertise() {
  r = RECEIVES;
  found = SLOTS;
  for (check : 0 .. RECEIVES - 1) {
    if
    :: r == RECEIVES && receives[check].state == OPEN && receives[check].slot == 0 &&
       receives[check].source != ANY ->
       for (i : 0 .. SLOTS - 1) {
         if
         :: found == SLOTS && !(pairs[receives[check].source].in_use & (1 << i)) -> found = i
         :: else
         fi
       }
#ifndef BROKEN_NO_HOLD_BACK
       for (i : 0 .. RECEIVES - 1) {
         if
         :: i < check && receives[i].state == OPEN && receives[i].slot == 0 &&
            FITS(i, receives[check].source, receives[check].tag) -> found = SLOTS
         :: else
         fi
       }
#endif
       if :: found < SLOTS -> r = check :: else fi
    :: else
    fi
  }
  i = 0;
  check = 0
}

inline advertise() {
  do
  :: atomic {
       d_step { next_to_advertise() }
       if
       :: found < SLOTS ->
          /* Before `word` is set nobody looks at the rest, but for those who will lose the claim. */
          d_step {
            pairs[receives[r].source].slots[found].serial = pairs[receives[r].source].advertised + 1;
            pairs[receives[r].source].slots[found].tag = receives[r].tag;
            pairs[receives[r].source].slots[found].receive = r;
            pairs[receives[r].source].slots[found].word = GENERATION(r);
            receives[r].slot = found + 1;
            found = 0
          }
       :: else -> r = 0; found = 0; break
       fi
     }
     d_step {
       pairs[receives[r].source].advertised++;
       pairs[receives[r].source].in_use = pairs[receives[r].source].in_use | (1 << (receives[r].slot - 1));
       r = 0
     }
  od
}

/* The slot that was freed may be used again. */
inline let_go(s_) {
  if
  :: d_step { freed != 0 -> pairs[s_].in_use = pairs[s_].in_use & (255 - (1 << (freed - 1))); freed = 0 }
  :: freed == 0
  fi
}

/* Takes the receive's request back; `won` is whether the sender had not claimed it. */
inline revoke(r_) {
  won = true;
  if
  :: receives[r_].slot != 0 ->
     if
     :: pairs[receives[r_].source].slots[receives[r_].slot - 1].word == GENERATION(r_) ->
        pairs[receives[r_].source].slots[receives[r_].slot - 1].word = FREE;
        freed = receives[r_].slot;
        receives[r_].slot = 0
     :: else -> won = false
     fi
  :: else
  fi
}

/* The receive and the message are matched and the message is here: its data, or the way to them. */
inline take(r_, m_) {
  if
  :: !messages[m_].large ->
     d_step {
       assert(data[(r_) * CHUNKS] == 0);
       data[(r_) * CHUNKS] = m_ + 1;
       receives[r_].state = COMPLETE
     }
  :: else ->
     transfers[m_].chunks = SMALLER(CHUNKS, receives[r_].capacity);
     transfers[m_].receiver_helps = true;
     if /* with or without the sender's help */
     :: answers[SENDER_OF(m_)]!GET_BEGINS, m_
     :: true
     fi
  fi
}

/* A message that can be matched comes out of the FIFO. */
inline arrive(m_) {
#ifdef BROKEN_ACKNOWLEDGED_BEFORE_THE_MATCH
  pairs[SENDER_OF(m_)].acknowledged++;
#endif
  atomic {
    d_step {
      found = RECEIVES;
      for (i : 0 .. RECEIVES - 1) {
        if
        :: found == RECEIVES && receives[i].state == OPEN && FITS(i, SENDER_OF(m_), messages[m_].tag) ->
           found = i
        :: else
        fi
      }
      i = 0
    }
    if
    :: found < RECEIVES ->
       d_step {
         revoke(found);
         assert(won); /* the sender claims nothing while this message is not acknowledged */
         won = false;
         match(found, m_);
         receives[found].state = MATCHED
       }
       take(found, m_)
    :: else -> messages[m_].state = ARRIVED
    fi;
    found = 0
  }
  let_go(SENDER_OF(m_));
#ifndef BROKEN_ACKNOWLEDGED_BEFORE_THE_MATCH
  pairs[SENDER_OF(m_)].acknowledged++;
#endif
  advertise()
}

/* The sender has claimed the receive and writes. */
inline written(r_, m_) {
  d_step {
    assert(receives[r_].state == OPEN && receives[r_].message == m_ + 1);
    receives[r_].state = MATCHED;
    transfers[m_].receiver_helps = true;
    pairs[receives[r_].source].slots[receives[r_].slot - 1].word = FREE;
    freed = receives[r_].slot;
    receives[r_].slot = 0
  }
  let_go(SENDER_OF(m_));
  advertise()
}

/* The first message that has arrived from `s_` and fits the receive, into `found`. */
inline look(r_, s_) {
  for (i : 0 .. MESSAGES - 1) {
    if
    :: found == MESSAGES_ALL && messages[s_ * MESSAGES + i].state == ARRIVED &&
       FITS(r_, s_, messages[s_ * MESSAGES + i].tag) -> found = s_ * MESSAGES + i
    :: else
    fi
  }
  i = 0
}

/* Which of several senders comes first does not matter to MPI. */
inline post(r_) {
  d_step { found = MESSAGES_ALL; look(r_, 0); m = found; found = MESSAGES_ALL }
#if SENDERS > 1
  d_step { look(r_, 1) }
  if
  :: found != MESSAGES_ALL -> m = found
  :: found == MESSAGES_ALL || m != MESSAGES_ALL
  fi;
#endif
  found = 0;
  if
  :: m != MESSAGES_ALL ->
     d_step { match(r_, m); receives[r_].state = MATCHED }
     take(r_, m);
     m = 0
  :: else -> m = 0; looked_for = true
  fi
}

/* A large message's transfer, as the receiver sees it: C5. */
#define RECEIVER_MAY_HELP(m) (transfers[m].receiver_helps && CLAIMABLE(m))
#define RECEIVER_MAY_END(m) (transfers[m].receiver_helps && OVER(m))
inline complete(m_) {
  atomic {
    RECEIVER_MAY_END(m_) ->
    d_step {
      transfers[m_].receiver_helps = false;
      for (i : 0 .. CHUNKS - 1) {
        assert(i >= transfers[m_].chunks || data[(messages[m_].taker - 1) * CHUNKS + i] == m_ + 1)
      }
      i = 0;
      receives[messages[m_].taker - 1].state = COMPLETE
    }
    if
    :: !transfers[m_].sender_helps -> answers[SENDER_OF(m_)]!GET_DONE, m_
    :: else
    fi
  }
}

proctype Receiver() {
  byte posted, m, r, i, kind, found, cancels, chunk, check, who, freed;
  bool won, looked_for;
end:
  do
  :: atomic {
       posted < RECEIVES ->
         if :: receives[posted].source = 0 :: SENDERS > 1 -> receives[posted].source = 1
            :: SENDERS > 1 -> receives[posted].source = ANY fi;
         if :: receives[posted].tag = 0 :: TAGS > 1 -> receives[posted].tag = 1
            :: TAGS > 1 -> receives[posted].tag = ANY fi;
         if :: posted < TIGHT -> receives[posted].capacity = 1 :: receives[posted].capacity = CHUNKS fi;
         receives[posted].state = OPEN;
         posted++;
         post((posted - 1))
     }
     if :: looked_for -> looked_for = false; advertise() :: else fi
  :: atomic {
       cancels < CANCELS && posted > 0 ->
         cancels++;
         if
         :: who = 0
         :: posted > 1 -> who = 1
         :: posted > 2 -> who = 2
         fi;
         if
         :: receives[who].state == OPEN ->
            d_step {
              revoke(who);
#ifdef BROKEN_CANCEL_ANYWAY
              won = true;
#endif
              if
              :: won -> receives[who].state = CANCELLED
              :: else /* too late: the message is being written */
              fi;
              won = false;
              looked_for = true
            }
         :: else
         fi
     }
     if
     :: looked_for -> looked_for = false; let_go(receives[who].source); advertise()
     :: else
     fi;
     who = 0
  :: fifo[0]?kind, m, who -> goto came
#if SENDERS > 1
  :: fifo[1]?kind, m, who -> goto came
#endif
  :: RECEIVER_MAY_HELP(0) -> help(0, false)
  :: complete(0)
#if MESSAGES_ALL > 1
  :: RECEIVER_MAY_HELP(1) -> help(1, false)
  :: complete(1)
#endif
#if MESSAGES_ALL > 2
  :: RECEIVER_MAY_HELP(2) -> help(2, false)
  :: complete(2)
#endif
#if MESSAGES_ALL > 3
  :: RECEIVER_MAY_HELP(3) -> help(3, false)
  :: complete(3)
#endif
  od;
came:
  if
  :: kind == WRITING -> written(who, m)
  :: else -> arrive(m)
  fi;
  atomic { kind = 0; m = 0; who = 0; goto end }
}

/* When nothing moves any more: C6. */
proctype Finally() {
  byte r, m;
  timeout ->
  d_step {
    for (m : 0 .. MESSAGES_ALL - 1) {
      assert(messages[m].state == ARRIVED || messages[m].state == TAKEN);
      assert(messages[m].state == TAKEN || !messages[m].large || !messages[m].sent);
      if
      :: messages[m].state == TAKEN ->
         assert(messages[m].sent);
         assert(receives[messages[m].taker - 1].state == COMPLETE)
      :: else ->
         for (r : 0 .. RECEIVES - 1) {
           assert(receives[r].state != OPEN || !FITS(r, SENDER_OF(m), messages[m].tag))
         }
      fi
    }
    for (r : 0 .. RECEIVES - 1) { assert(receives[r].state != MATCHED && receives[r].state != NOT_POSTED) }
  }
}

init {
  atomic {
    run Sender(0);
#if SENDERS > 1
    run Sender(1);
#endif
    run Receiver();
    run Finally()
  }
}
