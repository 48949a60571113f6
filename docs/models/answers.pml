/* Sends that are over before their receiver has got them, or without it: messages that are set aside
 * (src/p2p/large/set_aside.cpp) and messages that are withdrawn (kWithdraw in src/protocol/packet.hpp). README.md
 * says what is modelled, what is left out, and how to run it.
 *
 * Claims:
 *  A1  a send buffer is read only before its send is over, and a copy that was set aside is that of its message;
 *  A2  a message is received or withdrawn, never both;
 *  A3  at the end a blocking send has returned, or all lines are in use; a message that met a receive was got, and
 *      its sender knows; one that was withdrawn and met none is dropped, and its sender knows.
 */

#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef LINES
#define LINES 1 /* so many messages may be set aside at once */
#endif

#define NO_LINE LINES

/* Packets and answers. */
#define REQUEST 1
#define WITHDRAW 2
#define GET_DONE 1
#define WITHDRAWN 2

/* A line: even: nobody's. The receiver adds two when it takes the message, the sender one when it sets it aside, and
 * one when that is over. */
byte word[LINES];
byte aside[LINES]; /* message + 1 whose copy it tells of */

bool blocking[MESSAGES];  /* its send may be set aside; else it may be withdrawn */
byte line[MESSAGES];
bool over[MESSAGES];      /* the send, as its program knows: the buffer is the program's */
bool answered[MESSAGES];
bool asked[MESSAGES];     /* to be withdrawn */
bool arrived[MESSAGES];
bool met[MESSAGES];       /* a receive */
bool got[MESSAGES];
bool dropped[MESSAGES];
byte receives;            /* posted, and without a message */

chan fifo = [2 * MESSAGES] of { byte, byte };
chan answers = [MESSAGES] of { byte, byte };

/* ----- the sender ----- */

byte state[LINES];        /* of the word, while nobody has the message */
bool used[LINES];
bool is_aside[MESSAGES];

inline lend(m_) {
  line[m_] = NO_LINE;
  i = 0;
  do
  :: i < LINES ->
     if
     :: line[m_] == NO_LINE && !used[i] -> line[m_] = i; used[i] = true
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0
}

inline free_line(m_) {
  used[line[m_]] = false;
  state[line[m_]] = state[line[m_]] + 2;
  if
  :: is_aside[m_] -> word[line[m_]] = state[line[m_]]
  :: else
  fi
}

active proctype Sender() {
  byte next, i, kind, m;
end:
  do
  :: d_step {
       next < MESSAGES && (next == 0 || over[next - 1] || !blocking[next - 1]) ->
         blocking[next] = true;
         lend(next)
     }
     atomic {
       if
       :: true
       :: blocking[next] = false;
          if :: line[next] != NO_LINE -> used[line[next]] = false; line[next] = NO_LINE :: else fi
       fi;
       fifo!REQUEST, next;
       next++
     }
  :: next > 0 && blocking[next - 1] && line[next - 1] != NO_LINE && !over[next - 1] &&
     word[line[next - 1]] == state[line[next - 1]] -> /* and it copies */
     m = next - 1;
     d_step {
#ifdef BROKEN_SET_ASIDE_WITHOUT_CAS
       if
       :: !over[m] ->
#else
       if
       :: word[line[m]] == state[line[m]] ->
#endif
          word[line[m]] = state[line[m]] + 1;
          aside[line[m]] = m + 1;
          is_aside[m] = true;
          over[m] = true;
#ifdef BROKEN_LINE_FREED_EARLY
          used[line[m]] = false;
#endif
       :: else
       fi;
       m = 0
     }
  :: next > 0 && !blocking[next - 1] && !asked[next - 1] && !over[next - 1] ->
     atomic { asked[next - 1] = true; fifo!WITHDRAW, next - 1 }
  :: d_step { answers?kind, m ->
       assert(!answered[m]);
       answered[m] = true;
       over[m] = true;
       if
       :: line[m] != NO_LINE -> free_line(m)
       :: else
       fi;
       kind = 0; m = 0
     }
  od
}

/* ----- the receiver ----- */

/* The message has met a receive: whose is it? Then the copy, and the answer, one after the other. */
inline take(m_) {
  atomic {
    met[m_] = true;
    assert(!dropped[m_]);
    from_aside = false;
    if
    :: line[m_] != NO_LINE -> seen = word[line[m_]]
    :: else -> seen = 0
    fi
  }
  if
  :: line[m_] == NO_LINE
  :: line[m_] != NO_LINE ->
     d_step {
#ifdef BROKEN_TAKEN_WITHOUT_CAS
       if
       :: seen % 2 == 0 -> word[line[m_]] = seen + 2
#else
       if
       :: word[line[m_]] % 2 == 0 -> word[line[m_]] = word[line[m_]] + 2
#endif
       :: else -> from_aside = true
       fi
     }
  fi;
  d_step {
    assert(from_aside || !over[m_]);                      /* A1 */
    assert(!from_aside || aside[line[m_]] == m_ + 1);     /* A1 */
    got[m_] = true;
    assert(!dropped[m_]);                                 /* A2 */
    seen = 0; from_aside = false
  }
  answers!GET_DONE, m_
}

active proctype Receiver() {
  byte posted, most, kind, m, i, seen;
  bool from_aside;
  select(most : 0 .. MESSAGES);
end:
  do
  :: posted < most ->
     d_step {
       posted++;
       m = MESSAGES;
       i = 0;
       do
       :: i < MESSAGES ->
          if
          :: m == MESSAGES && arrived[i] -> m = i; arrived[i] = false
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0;
       if
       :: m == MESSAGES -> receives++
       :: else
       fi
     }
     if
     :: m < MESSAGES -> take(m)
     :: else
     fi;
     m = 0
  :: fifo?kind, m ->
     if
     :: kind == REQUEST && receives > 0 -> receives--; take(m)
     :: kind == REQUEST && receives == 0 -> arrived[m] = true
     :: kind == WITHDRAW ->
#ifdef BROKEN_DROPPED_ANYWAY
        if
        :: true ->
#else
        if
        :: arrived[m] ->
#endif
           d_step { arrived[m] = false; dropped[m] = true; assert(!got[m]) } /* A2 */
           answers!WITHDRAWN, m
        :: else
        fi
     fi;
     m = 0; kind = 0
  od
}

/* When nothing moves any more: A3. */
active proctype Finally() {
  byte m;
  timeout ->
  d_step {
    for (m : 0 .. MESSAGES - 1) {
      assert(got[m] == met[m] && !(got[m] && dropped[m]));
      assert(answered[m] == (got[m] || dropped[m]));
      assert(!asked[m] || answered[m]);
      assert(!blocking[m] || line[m] == NO_LINE || over[m] || !arrived[m]);
    }
  }
}
