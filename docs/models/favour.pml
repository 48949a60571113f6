/* The process lock and the thread that it favours (src/base/system/process_lock.hpp): that thread takes the lock
 * by a plain store and a look, all others by a mutex; a thread that comes by the mutex ends the favour by a barrier on
 * all processors. README.md says what is modelled, what is left out, and how to run it.
 *
 * A plain store waits in its processor until it leaves by itself, the next one comes, or the barrier has it
 * leave. That is all that the processors of today may do here: what is read is read in order.
 *
 * Claims:
 *  F1  two threads never have the lock at once (an assertion);
 *  F2  each takes all its turns (no end is reached in which one still waits).
 */

#ifndef THREADS
#define THREADS 3
#endif
#ifndef TURNS
#define TURNS 2 /* of each thread */
#endif

#define NOBODY THREADS

#ifdef BROKEN_ONE_WORD /* broken: one word says of all favoured threads that one is inside */
#define WORD(thread) 0
#else
#define WORD(thread) thread
#endif

bool mutex;               /* taken */
byte favoured = NOBODY;
bool inside[THREADS];     /* as all see it */
bool waits[THREADS];      /* a thread's last store to its word has not left its processor */
bool stored[THREADS];     /* and what it stores */
byte holders;

inline leave(thread) {
  if
  :: waits[thread] -> inside[WORD(thread)] = stored[thread]; waits[thread] = false;
  :: else
  fi
}

inline store(value) {
  d_step { leave(_pid); stored[_pid] = value; waits[_pid] = true; }
}

inline hold() {
  holders++;
  assert(holders == 1); /* F1 */
  holders--;
}

active [THREADS] proctype Thread() {
  byte turn, seen, one;
  do
  :: turn == TURNS -> break;
  :: turn < TURNS ->
    turn++;
    seen = favoured;
    if
    :: seen == _pid ->
      store(true);
#ifdef BROKEN_NO_SECOND_LOOK /* broken: what it saw before it said that it is inside is enough */
      if
      :: true ->
#else
      if
      :: favoured == seen ->
#endif
        hold();
        store(false);
        goto over;
      :: else -> store(false);
      fi;
    :: else
    fi;
    atomic { !mutex -> mutex = true; }
    seen = favoured;
    if
    :: seen != NOBODY ->
      favoured = NOBODY;
#ifndef BROKEN_NO_BARRIER /* broken: stores may still be on their way */
      d_step {
        one = 0;
        do
        :: one < THREADS -> leave(one); one++;
        :: else -> break;
        od;
        one = 0;
      }
#endif
#ifndef BROKEN_NO_WAIT /* broken: the favoured one may be inside */
      !inside[WORD(seen)];
#endif
    :: else ->
      if
      :: favoured = _pid; /* after turns enough, from the next one on */
      :: true;
      fi
    fi;
    hold();
    mutex = false;
over:
    seen = 0;
  od
}

/* Stores leave by themselves, sooner or later. */
active proctype Processors() {
  byte one;
end:
  do
  :: d_step { waits[0] -> leave(0); }
  :: d_step { waits[1] -> leave(1); }
#if THREADS > 2
  :: d_step { waits[2] -> leave(2); }
#endif
  od
}
