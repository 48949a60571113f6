/* What two processes can do with bare loads, stores and memcpy: the limit that messages are compared with.
 *
 * Ranks 0 and 1 of a communicator map one file of shared memory. In it lie a flag line and an area for each.
 * The loops below move `bytes` bytes over and back `rounds` times, with nothing but a copy and a flag: push:
 * the sender copies from its private buffer into the receiver's area (the receiver's buffer is shared); pull:
 * the receiver copies from the sender's area into its private buffer (the sender's buffer is shared). One
 * copy a message, as the best message passing could do it. For 0 bytes only a cache line goes over and back.
 *
 * Plain C11 and C++20, plain MPI-1 for the set-up only. Each process uses its SharedPair from one thread.
 */
#ifndef SHARED_PAIR_H
#define SHARED_PAIR_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kLineBytes = 64, kFlagBytes = 4096 };
enum CopyMode { kPush, kPull };

typedef struct SharedPair {
  int rank;              /* 0 or 1 */
  size_t bytes_max;      /* of one area */
  unsigned char* memory; /* flag lines at 0 and 1024, then both areas */
  unsigned char* local;  /* a private buffer of bytes_max bytes */
  uint64_t turn;         /* how many signals were given and awaited; the same on both sides */
} SharedPair;

static inline double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline uint64_t* pair_flag(const SharedPair* pair, int rank) {
  return (uint64_t*)(void*)(pair->memory + (rank == 0 ? 0 : 1024));
}

static inline unsigned char* pair_area(const SharedPair* pair, int rank) {
  return pair->memory + kFlagBytes + (size_t)rank * pair->bytes_max;
}

/* Maps the memory on ranks 0 and 1 of `comm`, which both call it. Returns 0, or -1 with a line on stderr. */
static inline int pair_open(SharedPair* pair, size_t bytes_max, MPI_Comm comm) {
  char name[64] = "/dev/shm/shared-pair-XXXXXX";
  const size_t bytes = kFlagBytes + 2 * bytes_max;
  int file = -1, ready = 0;
  MPI_Comm_rank(comm, &pair->rank);
  pair->bytes_max = bytes_max;
  pair->turn = 0;
  if (pair->rank == 0) {
    file = mkstemp(name);
    if (file < 0) file = mkstemp(strcpy(name, "/tmp/shared-pair-XXXXXX"));
    if (file >= 0 && posix_fallocate(file, 0, (off_t)bytes) != 0) {
      unlink(name);
      name[0] = '\0';
    }
    MPI_Send(name, sizeof name, MPI_CHAR, 1, 0, comm);
  } else {
    MPI_Recv(name, sizeof name, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
    file = open(name, O_RDWR);
  }
  pair->local = (unsigned char*)aligned_alloc(4096, bytes_max);
  void* memory = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  ready = memory != MAP_FAILED && pair->local != NULL;
  int peer_ready = 0;
  MPI_Sendrecv(&ready, 1, MPI_INT, 1 - pair->rank, 0, &peer_ready, 1, MPI_INT, 1 - pair->rank, 0, comm,
               MPI_STATUS_IGNORE);
  if (pair->rank == 0 && name[0] != '\0') unlink(name);
  if (!ready || !peer_ready) {
    fprintf(stderr, "shared_pair: no %zu bytes of shared memory in /dev/shm or /tmp\n", bytes);
    return -1;
  }
  pair->memory = (unsigned char*)memory;
  memset(pair_area(pair, pair->rank), 1, bytes_max);
  memset(pair->local, 2, bytes_max);
  return 0;
}

static inline void pair_close(SharedPair* pair) {
  munmap(pair->memory, kFlagBytes + 2 * pair->bytes_max);
  free(pair->local);
}

/* Tells the peer that this side's part of the current turn is done. */
static inline void pair_signal(SharedPair* pair) {
  __atomic_store_n(pair_flag(pair, 1 - pair->rank), pair->turn + 1, __ATOMIC_RELEASE);
}

/* Waits for the peer's signal. After 4096 polls it yields: the two may have to share one processor. */
static inline void pair_await(const SharedPair* pair) {
  const uint64_t* flag = pair_flag(pair, pair->rank);
  unsigned polls = 0;
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < pair->turn + 1) {
    if (++polls % 4096 == 0) sched_yield();
  }
}

/* Both sides come together, without MPI. */
static inline void pair_meet(SharedPair* pair) {
  pair_signal(pair);
  pair_await(pair);
  pair->turn++;
}

static inline void pair_send(SharedPair* pair, size_t bytes, enum CopyMode mode) {
  if (mode == kPush && bytes > 0) memcpy(pair_area(pair, 1 - pair->rank), pair->local, bytes);
  pair_signal(pair);
}

static inline void pair_receive(SharedPair* pair, size_t bytes, enum CopyMode mode) {
  pair_await(pair);
  if (mode == kPull && bytes > 0) memcpy(pair->local, pair_area(pair, 1 - pair->rank), bytes);
}

/* What the owners do to their buffers between transfers when they count as touched: the sender writes all of
   its own, the receiver reads all of its own. Returns a sum, so that the reads are not optimised away. */
static inline uint64_t touch(unsigned char* write, const unsigned char* read, size_t bytes, int value) {
  uint64_t sum = 0;
  memset(write, value, bytes);
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, read + i, 8);
    sum += word;
  }
  return sum;
}

/* Seconds for one message of `bytes` bytes one way, over `rounds` rounds there and back. */
static inline double pair_one_way_seconds(SharedPair* pair, size_t bytes, int rounds, enum CopyMode mode,
                                          int touched) {
  unsigned char* own = pair_area(pair, pair->rank);
  unsigned char* out = mode == kPush ? pair->local : own;
  unsigned char* in = mode == kPush ? own : pair->local;
  volatile uint64_t sink = 0;
  double seconds = 0;
  pair_meet(pair);
  double begin = now_seconds();
  for (int round = 0; round < rounds; round++) {
    if (touched) {
      sink = sink + touch(out, in, bytes, round);
      pair_meet(pair);
      begin = now_seconds();
    }
    if (pair->rank == 0) {
      pair_send(pair, bytes, mode);
      pair_receive(pair, bytes, mode);
    } else {
      pair_receive(pair, bytes, mode);
      pair_send(pair, bytes, mode);
    }
    pair->turn++;
    if (touched) {
      seconds += now_seconds() - begin;
      pair_meet(pair); /* nobody writes what the other still copies */
    }
  }
  if (!touched) seconds = now_seconds() - begin;
  return seconds / rounds / 2;
}

#endif
