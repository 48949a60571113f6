/* Messages from a sender to a receiver on another host: packets, which the network may hand over in another
 * order than they were sent in, writes straight into the receiver's buffer, and gets by the receiver.
 * README.md says what is modelled, what is left out, and how to run it.
 *
 * Whatever a provider of libfabric does not promise may happen: a packet passes another, a write passes a
 * packet, a packet passes a write (unless FI_ORDER_SAW is promised), the parts of a write pass each other, a
 * write is confirmed to the sender before its bytes are there (unless FI_DELIVERY_COMPLETE was asked for).
 * What a process does between two looks at the network is one step (atomic): nobody else can see into it.
 *
 * All receives fit all messages, so messages and receives are matched in the order of both. Packets name a
 * request of the receiver by its index and its generation. The index is free as soon as the request is over.
 *
 * Claims, each an assertion below:
 *  N1  each message is matched once, the first one with the first open receive (MPI 3.5);
 *  N2  bytes come only into the buffer of the receive that their message was matched with, while that is
 *      neither complete nor cancelled, and once;
 *  N3  a receive that is complete has all its bytes;
 *  N4  the sender's buffer is got from only before its send is complete;
 *  N5  at the end every message has come, and nothing is left that could go on;
 *  N6  the receiver keeps no more messages with their bytes than the sender has credit for.
 */

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef RECEIVES
#define RECEIVES 2
#endif
#ifndef INDICES
#define INDICES 1 /* receives that may be open at once */
#endif
#ifndef PARTS
#define PARTS 2 /* of a large message: libfabric's max_msg_size is shorter than that */
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef WINDOW
#define WINDOW 2 /* with so many packets under way no other message begins */
#endif
#ifndef CREDIT
#define CREDIT 1 /* messages that may go with their bytes beyond those that were taken */
#endif
#define BUNDLED_MAX 2 /* messages that go as one packet */

/* What a receive is to the receiver. */
#define NOT_POSTED 0
#define OPEN 1
#define MATCHED 2
#define COMPLETE 3
#define CANCELLED 4

/* What a message is. */
#define NOT_SENT 0
#define ON_ITS_WAY 1
#define ARRIVED 2 /* kept by the receiver, with no receive yet */
#define TAKEN 3

/* Packets to the receiver. */
#define EAGER 1    /* messages with their bytes, one after the other: the first, and how many */
#define REQUEST 2  /* a message whose bytes the receiver may get, or have written */
#define WRITING 3  /* a request of the receiver: it is taken by the next message, and is being written */
#define RETURNED 4 /* a request that was revoked: it is not taken from now on */
/* Packets to the sender. */
#define ADVERT 1     /* a request: whatever comes next may be written there; how many messages that came by
                      * packets have been processed; and which lines (indices) are advertised now */
#define REVOKE 3     /* a request: the program wants it back */
#define TAKEN_TOO 4  /* one more message with its bytes is no longer kept */
#define WRITE_HERE 5 /* a request: for the first of the messages that wait for such an answer */
#define GOT 6        /* a message that the receiver has got */

/* How the receiver is told that what was written is there. */
#define BY_DATA 1     /* 4 bytes come with the write and are delivered behind it (FI_REMOTE_CQ_DATA) */
#define BY_ORDER 2    /* a packet follows at once, where the provider promises FI_ORDER_SAW */
#define BY_DELIVERY 3 /* a packet follows when the write is confirmed (FI_DELIVERY_COMPLETE) */

typedef Message {
  bool large;
  byte state;
  bool sent;  /* the send is complete: the program may change the buffer */
  byte taker; /* receive + 1, from the moment when either side matches them */
}

typedef Receive {
  byte state;   /* as the receiver knows it */
  byte message; /* message + 1 */
  byte index;   /* of its request */
  bool advertised;
  bool has_line; /* it is advertised still */
  byte processed; /* what its advertisement says */
  byte lines;     /* */
  bool revoked; /* the program has cancelled it, and the sender has been asked */
  bool given_back; /* the sender will not take it: it is cancelled, but for messages that were sent before */
  bool told;    /* its bytes are there */
}

/* A write or a get under way. */
typedef Copy {
  byte receive; /* receive + 1 whose buffer was named */
  byte parts;   /* that the network was asked for */
  byte there;   /* bits: the parts that have come */
  bool telling; /* the word for the receiver is on its way */
  bool told;    /* it was sent */
}

Message messages[MESSAGES];
Receive receives[RECEIVES];
Copy writes[MESSAGES];
Copy gets[MESSAGES];
byte of_index[INDICES];      /* receive + 1; 0: free */
byte data[RECEIVES * PARTS]; /* message + 1 whose part lies there */
byte tell;                   /* BY_DATA, BY_ORDER or BY_DELIVERY, as the provider allows */
bool keeps_order;            /* it promises FI_ORDER_SAW */

/* A packet: what it is, its number, and what it says: a message, or a request. A request is named by the
 * receive whose it is; the two sides compare no more of it than its index and its generation. */
chan to_receiver = [12] of { byte, byte, byte };
chan to_sender = [12] of { byte, byte, byte };
byte kept; /* messages with their bytes that wait for their receives */
byte sender_packets;   /* numbers of the next ones */
byte receiver_packets;

#define ALL_OF(m) ((1 << (messages[m].large -> PARTS : 1)) - 1)
#define HAS(copy, part) (copy.there & (1 << (part)))
#ifdef BROKEN_NO_GENERATION
#define GENERATION(r) 1
#else
#define GENERATION(r) ((r) + 1)
#endif

/* A packet that comes early waits for those before it. */
#ifdef BROKEN_NO_NUMBERS
#define TAKE(from, number, kind, what) from?kind, _, what
#else
#define TAKE(from, number, kind, what) from??kind, eval(number), what
#endif

/* There is always room for an answer: it waits in the own memory until the network takes it. */
#ifdef BROKEN_ANSWERS_WAIT_FOR_ROOM
#define ROOM_FOR_AN_ANSWER(to) (len(to) < WINDOW)
#else
#define ROOM_FOR_AN_ANSWER(to) true
#endif
#define ANSWER_SENDER(kind, what) \
  ROOM_FOR_AN_ANSWER(to_sender); to_sender!kind, receiver_packets, what; receiver_packets++

/* The one moment in which a message and a receive are matched: N1. */
inline match(r_, m_) {
  assert(receives[r_].state == OPEN && receives[r_].message == 0 && messages[m_].taker == 0);
  for (check : 0 .. RECEIVES - 1) {
    assert(!(check < r_ && receives[check].state == OPEN && receives[check].message == 0 &&
             !receives[check].given_back))
  }
  for (check : 0 .. MESSAGES - 1) { assert(!(check < m_ && messages[check].taker == 0)) }
  check = 0;
  receives[r_].message = m_ + 1;
  messages[m_].taker = r_ + 1;
  messages[m_].state = TAKEN
}

/* A part of a message comes into a buffer: N2. */
inline put_part(r_, m_, part_) {
  assert(receives[r_].message == m_ + 1 && (receives[r_].state == OPEN || receives[r_].state == MATCHED));
  assert(data[(r_) * PARTS + part_] == 0);
  data[(r_) * PARTS + part_] = m_ + 1
}

/* ----- the sender --------------------------------------------------------------------------------------- */

/* What waits to go as one packet goes before anything else. */
inline send_bundle() {
  if
#ifndef BROKEN_BUNDLE_PASSED
  :: bundled != 0 -> send_bundle_now()
#endif
  :: else
  fi
}
inline send_bundle_now() {
  to_receiver!EAGER, sender_packets, (first * 4 + bundled);
  sender_packets++;
  bundled = 0
}

/* An advertised receive is taken when the receiver has matched all that came by packets before; else this
 * message might overtake one of them. The receiver learns it by a packet, in its order. */
inline take_advert(m_) {
  assert(bundled == 0); /* as all that it has sent is processed */
  adverts[best] = 0;
  match(taken, m_);
  writes[m_].receive = taken + 1;
#ifndef BROKEN_TAKEN_WITHOUT_A_PACKET
  to_receiver!WRITING, sender_packets, taken;
  sender_packets++
#endif
}

/* The oldest one into `best` and `taken`. */
inline look_for_advert() {
  best = INDICES;
  for (check : 0 .. INDICES - 1) {
    if
    :: adverts[check] != 0 && (best == INDICES || adverts[check] < adverts[best]) -> best = check
    :: else
    fi
  }
  check = 0;
  if
  :: best < INDICES -> taken = adverts[best] - 1
  :: else
  fi
}

#define INDEX(r) receives[r].index
#define IS_SAME(r, one) ((one) != 0 && GENERATION((one) - 1) == GENERATION(r))
#ifdef BROKEN_PROCESSED_UNCHECKED
#define MAY_TAKE true
#else
#define MAY_TAKE (by_packet == processed)
#endif

#ifdef BROKEN_CREDIT_UNCHECKED
#define HAS_CREDIT true
#else
#define HAS_CREDIT (with_bytes - freed < CREDIT)
#endif

proctype Sender() {
  byte next, m, kind, what, expected, by_packet, processed, best, taken, check;
  byte first, bundled;     /* messages that wait to go as one packet */
  byte with_bytes, freed;  /* of the messages with their bytes: sent, and no longer kept */
  byte adverts[INDICES];   /* receive + 1 */
end:
  do
  :: atomic {
       next < MESSAGES && len(to_receiver) < WINDOW ->
         m = next;
         next++;
         messages[m].state = ON_ITS_WAY;
         if
         :: HAS_CREDIT ->
            messages[m].sent = true;
            by_packet++;
            with_bytes++;
            if
            :: bundled < BUNDLED_MAX ->
               first = (bundled == 0 -> m : first);
               bundled++
            :: send_bundle();
               to_receiver!EAGER, sender_packets, (m * 4 + 1);
               sender_packets++
            fi
         :: messages[m].large = true;
            look_for_advert();
            if
            :: best < INDICES && MAY_TAKE -> take_advert(m)
            :: else ->
               send_bundle();
               by_packet++;
               to_receiver!REQUEST, sender_packets, m;
               sender_packets++
            fi
         fi;
         m = 0; best = 0; taken = 0
     }
#ifdef BROKEN_BUNDLE_WAITS_FOR_MORE
  :: atomic { bundled == BUNDLED_MAX -> send_bundle_now(); first = 0 }
#else
  :: atomic { bundled != 0 -> send_bundle_now(); first = 0 }
#endif
  :: atomic {
       TAKE(to_sender, expected, kind, what) ->
       expected++;
       if
       :: kind == ADVERT ->
#ifndef BROKEN_LINES_NOT_TOLD
          for (check : 0 .. INDICES - 1) {
            if
            :: (receives[what].lines & (1 << check)) == 0 -> adverts[check] = 0
            :: else
            fi
          }
          check = 0;
#endif
          adverts[INDEX(what)] = what + 1;
          processed = receives[what].processed
       :: kind == REVOKE ->
          if
          :: IS_SAME(what, adverts[INDEX(what)]) ->
             adverts[INDEX(what)] = 0;
             receives[what].given_back = true;
             ROOM_FOR_AN_ANSWER(to_receiver);
             send_bundle();
             to_receiver!RETURNED, sender_packets, what;
             sender_packets++
          :: else /* it has been taken, by a packet that is there before this would be */
          fi
       :: kind == TAKEN_TOO -> freed++
       :: kind == WRITE_HERE -> writes[receives[what].message - 1].receive = what + 1
       :: kind == GOT -> messages[what].sent = true
       fi;
       kind = 0;
       what = 0
     }
  od
}

/* ----- the receiver ------------------------------------------------------------------------------------- */

inline is_over(r_, state_) {
  receives[r_].state = state_;
  receives[r_].has_line = false;
  of_index[INDEX(r_)] = 0
}

/* N3. */
inline complete(r_) {
  for (check : 0 .. PARTS - 1) {
    assert((ALL_OF(receives[r_].message - 1) & (1 << check)) == 0 ||
           data[(r_) * PARTS + check] == receives[r_].message)
  }
  check = 0;
  is_over(r_, COMPLETE)
}

/* The receive and the message that came by a packet are matched. */
inline take(r_, m_) {
  match(r_, m_);
  receives[r_].state = MATCHED;
  receives[r_].has_line = false;
  if
  :: !messages[m_].large ->
     put_part(r_, m_, 0);
     complete(r_);
#ifndef BROKEN_CREDIT_AT_ARRIVAL
     ANSWER_SENDER(TAKEN_TOO, 0)
#endif
  :: messages[m_].large -> ANSWER_SENDER(WRITE_HERE, r_)
  :: messages[m_].large ->
     gets[m_].receive = r_ + 1;
     gets[m_].parts = PARTS;
#ifdef BROKEN_GOT_BEFORE_THE_BYTES
     ANSWER_SENDER(GOT, m_)
#endif
  fi
}

inline post() {
  r = posted;
  posted++;
  for (check : 0 .. INDICES - 1) {
    if
    :: of_index[check] == 0 && INDEX(r) == INDICES -> INDEX(r) = check; of_index[check] = r + 1
    :: else
    fi
  }
  check = 0;
  receives[r].state = OPEN;
  m = 0;
  do
  :: m < MESSAGES && messages[m].state != ARRIVED -> m++
  :: else -> break
  od;
  if
  :: m < MESSAGES ->
     kept = kept - (messages[m].large -> 0 : 1);
     take(r, m)
  :: else
  fi
}

/* A receive is named to the sender. */
inline advertise(r_) {
  receives[r_].advertised = true;
  receives[r_].has_line = true;
  receives[r_].processed = handled;
  for (check : 0 .. RECEIVES - 1) {
    if
    :: receives[check].has_line -> receives[r_].lines = receives[r_].lines | (1 << INDEX(check))
    :: else
    fi
  }
  check = 0;
  ANSWER_SENDER(ADVERT, r_)
}

/* The first receive that is open, and, `unadvertised`, whose request the sender does not have, into `r`. */
inline first_open(unadvertised) {
  r = 0;
  do
  :: r < RECEIVES && !(receives[r].state == OPEN && !(unadvertised && receives[r].advertised)) -> r++
  :: else -> break
  od
}

/* A message by a packet. It counts as processed when it has its receive, or is kept. */
inline arrive(m_) {
#ifdef BROKEN_PROCESSED_BEFORE_THE_MATCH
  handled++;
  first_open(true);
  if
  :: r < RECEIVES -> advertise(r)
  :: else
  fi;
#endif
  first_open(false);
  if
  :: r < RECEIVES -> take(r, m_)
  :: else ->
     messages[m_].state = ARRIVED;
     kept = kept + (messages[m_].large -> 0 : 1);
     assert(kept <= CREDIT) /* N6 */
  fi;
#ifdef BROKEN_CREDIT_AT_ARRIVAL
  if
  :: !messages[m_].large -> ANSWER_SENDER(TAKEN_TOO, 0)
  :: else
  fi;
#endif
#ifndef BROKEN_PROCESSED_BEFORE_THE_MATCH
  handled++
#endif
}

#define WAITS(r) (receives[r].state == OPEN && !receives[r].advertised)
#define HAS_FREE_INDEX (of_index[0] == 0 || of_index[INDICES / 2] == 0 || of_index[INDICES - 1] == 0)

proctype Receiver() {
  byte posted, cancels, m, r, kind, what, expected, check, handled, bundled;
end:
  do
  :: atomic { posted < RECEIVES && HAS_FREE_INDEX -> post(); r = 0; m = 0 }
  :: atomic {
       WAITS(0) || WAITS(RECEIVES / 2) || WAITS(RECEIVES - 1) ->
       first_open(true);
       advertise(r);
       r = 0
     }
  :: atomic { /* a receive is cancelled */
       cancels < CANCELS && posted > 0 ->
       if
       :: r = 0
       :: posted > 1 -> r = 1
       :: posted > 2 -> r = 2
       fi;
       cancels++;
       if
       :: receives[r].state == OPEN && !receives[r].revoked ->
          if
#ifndef BROKEN_CANCELLED_WITHOUT_AN_ANSWER
          :: receives[r].advertised -> receives[r].revoked = true; ANSWER_SENDER(REVOKE, r)
#endif
          :: else -> is_over(r, CANCELLED)
          fi
       :: else
       fi;
       r = 0
     }
  :: atomic {
       TAKE(to_receiver, expected, kind, what) ->
       expected++;
       if
       :: kind == EAGER || kind == REQUEST ->
          m = (kind == EAGER -> what / 4 : what);
          bundled = (kind == EAGER -> what % 4 : 1);
          do
          :: bundled != 0 -> arrive(m); m++; bundled--
          :: else -> break
          od
       :: kind == WRITING ->
          assert(receives[what].state == OPEN && receives[what].message != 0);
          receives[what].state = MATCHED;
          if
          :: receives[what].told -> complete(what)
          :: else
          fi
       :: kind == RETURNED ->
          r = of_index[INDEX(what)];
          if
          :: IS_SAME(what, r) && receives[r - 1].state == OPEN && receives[r - 1].revoked ->
             is_over((r - 1), CANCELLED)
          :: else /* it was taken before, and is another's now, or nobody's */
          fi
       fi;
       kind = 0; what = 0; r = 0; m = 0
     }
  od
}

/* ----- the bytes of a large message: the sender, the network and the receiver --------------------------- */

/* A write's part is begun when the one before it is confirmed: told by data, the last one alone is sure to
 * be there. */
#ifdef BROKEN_PARTS_UNCONFIRMED
#define IS_CONFIRMED(m) true
#else
#define IS_CONFIRMED(m) (writes[m].parts == 0 || HAS(writes[m], writes[m].parts - 1))
#endif
#define MAY_COME(copy, part) (copy.parts > (part) && !HAS(copy, part))

inline part_comes(m_, part_) {
  d_step {
    MAY_COME(writes[m_], part_) ->
    put_part((writes[m_].receive - 1), m_, part_);
    writes[m_].there = writes[m_].there | (1 << part_);
    writes[m_].telling = (tell == BY_DATA && part_ == PARTS - 1) || writes[m_].telling
  }
}

inline part_is_got(m_, part_) {
  d_step {
    MAY_COME(gets[m_], part_) ->
    assert(!messages[m_].sent); /* N4 */
    put_part((gets[m_].receive - 1), m_, part_);
    gets[m_].there = gets[m_].there | (1 << part_)
  }
}

proctype Bytes(byte m) {
  byte r, check;
end:
  do
  :: d_step { /* the sender */
       writes[m].receive != 0 && writes[m].parts < PARTS && IS_CONFIRMED(m) ->
       writes[m].parts++;
       messages[m].sent = (writes[m].parts == PARTS);
       writes[m].telling = (writes[m].parts == PARTS && tell == BY_ORDER)
     }
  :: d_step {
       tell == BY_DELIVERY && writes[m].there == ALL_OF(m) && !writes[m].told ->
       writes[m].told = true;
       writes[m].telling = true
     }
  :: part_comes(m, 0)
  :: part_is_got(m, 0)
#if PARTS > 1
  :: part_comes(m, 1)
  :: part_is_got(m, 1)
#endif
#if PARTS > 2
  :: part_comes(m, 2)
  :: part_is_got(m, 2)
#endif
  :: d_step { /* the receiver */
       writes[m].telling && !(tell == BY_ORDER && keeps_order && writes[m].there != ALL_OF(m)) ->
       writes[m].telling = false;
       r = of_index[INDEX(writes[m].receive - 1)] - 1;
       assert(GENERATION(r) == GENERATION(writes[m].receive - 1));
#ifdef BROKEN_TAKEN_WITHOUT_A_PACKET
       receives[r].state = MATCHED;
#endif
       if
       :: receives[r].state == MATCHED -> complete(r)
       :: else -> receives[r].told = true /* the packet that says so has not come */
       fi;
       r = 0
     }
  :: atomic {
       gets[m].receive != 0 && gets[m].there == ALL_OF(m) ->
       r = gets[m].receive - 1;
       gets[m].receive = 0;
       complete(r);
#ifndef BROKEN_GOT_BEFORE_THE_BYTES
       ANSWER_SENDER(GOT, m);
#endif
       r = 0
     }
  od
}

#ifdef BROKEN_NO_NUMBERS
/* One packet passes another: ofi_rxm completes a small one before a large one that was sent earlier. */
proctype Passing() {
  byte kind, number, what;
end:
  do
  :: d_step { len(to_receiver) > 1 -> to_receiver?kind, number, what; to_receiver!kind, number, what }
  :: d_step { len(to_sender) > 1 -> to_sender?kind, number, what; to_sender!kind, number, what }
  od
}
#endif

/* When nothing moves any more: N5. */
proctype Finally() {
  byte r, m;
  timeout ->
  d_step {
    for (m : 0 .. MESSAGES - 1) {
      assert(messages[m].state == ARRIVED || messages[m].state == TAKEN);
      assert(messages[m].state == ARRIVED || messages[m].sent);
      for (r : 0 .. RECEIVES - 1) { assert(messages[m].state == TAKEN || receives[r].state != OPEN) }
    }
    for (r : 0 .. RECEIVES - 1) {
      assert(receives[r].state != MATCHED);
      assert(receives[r].state != OPEN || (receives[r].message == 0 && !receives[r].revoked))
    }
  }
}

init {
  byte i;
  atomic {
    for (i : 0 .. RECEIVES - 1) { receives[i].index = INDICES }
    /* What the provider says of itself. */
    if
    :: tell = BY_DATA
#ifdef BROKEN_TOLD_WITHOUT_ORDER
    :: tell = BY_ORDER
#else
    :: tell = BY_ORDER; keeps_order = true
#endif
    :: tell = BY_DELIVERY
    fi;
    for (i : 0 .. MESSAGES - 1) { run Bytes(i) }
    i = 0;
    run Sender();
    run Receiver();
#ifdef BROKEN_NO_NUMBERS
    run Passing();
#endif
    run Finally()
  }
}
