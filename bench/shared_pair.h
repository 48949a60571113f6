/* What two processes can do with bare loads, stores and memcpy: the limit that messages are compared with.
 *
 * Ranks 0 and 1 of a communicator map one file of shared memory, in huge pages where the kernel gives them.
 * In it lie a flag line and two buffers for each, one to send from and one to receive into. The loops below
 * move `bytes` bytes over and back `rounds` times, with nothing but one copy and a flag or two: push: the
 * sender copies; pull: the receiver copies, and says when the buffer is free again; both: each copies a half
 * at the same time; cells: the sender copies into cells of a ring, the receiver out of them, at the same
 * time, as must be where neither can address the other's buffers. For 0 bytes only a cache line goes over and
 * back. pair_stream_seconds() is a stream of lines.
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

enum { kLineBytes = 64, kFlagBytes = 4096, kStreamLines = 128, kStreamBytes = kStreamLines * kLineBytes };
enum { kCellRingBytes = 256 * 1024, kCellBytesMin = 4 * 1024, kCellBytesMax = 16 * 1024 };
enum CopyMode { kPush, kPull, kBoth, kCells };
static const char* const kCopyModes[] = {"push", "pull", "both", "cells"};

typedef struct SharedPair {
  int rank;              /* 0 or 1 */
  size_t bytes_max;      /* of one buffer */
  unsigned char* memory; /* a flag page, the stream's ring, then the four buffers */
  uint64_t turn;         /* how many signals were given and awaited; the same on both sides */
  uint64_t cells[2];     /* how many have been filled by each rank; the same on both sides */
} SharedPair;

static inline double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Line `line` (0 .. 7) of `rank`'s flags. A pair of lines for each, so that neighbours are not fetched along.
 */
static inline uint64_t* pair_line(const SharedPair* pair, int rank, int line) {
  return (uint64_t*)(void*)(pair->memory + 1024 * rank + 128 * line);
}

static inline unsigned char* pair_out(const SharedPair* pair, int rank) {
  return pair->memory + kFlagBytes + kStreamBytes + (size_t)(2 * rank) * pair->bytes_max;
}

static inline unsigned char* pair_in(const SharedPair* pair, int rank) {
  return pair_out(pair, rank) + pair->bytes_max;
}

static inline unsigned char* pair_ring(const SharedPair* pair, int rank) {
  return pair->memory + kFlagBytes + kStreamBytes + 4 * pair->bytes_max + (size_t)rank * kCellRingBytes;
}

static inline size_t pair_bytes(const SharedPair* pair) {
  return kFlagBytes + kStreamBytes + 4 * pair->bytes_max + 2 * kCellRingBytes;
}

/* Maps the memory on ranks 0 and 1 of `comm`, which both call it. Returns 0, or -1 with a line on stderr. */
static inline int pair_open(SharedPair* pair, size_t bytes_max, MPI_Comm comm) {
  char name[64] = "/dev/shm/shared-pair-XXXXXX";
  int file = -1, ready = 0;
  MPI_Comm_rank(comm, &pair->rank);
  pair->bytes_max = bytes_max;
  pair->turn = pair->cells[0] = pair->cells[1] = 0;
  const size_t bytes = pair_bytes(pair);
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
  void* memory = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  ready = memory != MAP_FAILED;
  int peer_ready = 0;
  MPI_Sendrecv(&ready, 1, MPI_INT, 1 - pair->rank, 0, &peer_ready, 1, MPI_INT, 1 - pair->rank, 0, comm,
               MPI_STATUS_IGNORE);
  if (pair->rank == 0 && name[0] != '\0') unlink(name);
  if (!ready || !peer_ready) {
    fprintf(stderr, "shared_pair: no %zu bytes of shared memory in /dev/shm or /tmp\n", bytes);
    return -1;
  }
  pair->memory = (unsigned char*)memory;
  memset(pair_out(pair, pair->rank), 1, 2 * bytes_max);
#ifdef MADV_COLLAPSE
  madvise(memory, bytes, MADV_COLLAPSE); /* an improvement where it works */
#endif
  return 0;
}

static inline void pair_close(SharedPair* pair) {
  munmap(pair->memory, pair_bytes(pair));
}

static inline void pair_set(uint64_t* line, uint64_t value) {
  __atomic_store_n(line, value, __ATOMIC_RELEASE);
}

/* Waits until the line holds `value` or more. After 4096 polls it yields: the two may have to share one
   processor. */
static inline void pair_await(const uint64_t* line, uint64_t value) {
  unsigned polls = 0;
  while (__atomic_load_n(line, __ATOMIC_ACQUIRE) < value) {
    if (++polls % 4096 == 0) sched_yield();
  }
}

/* Both sides come together, without MPI. */
static inline void pair_meet(SharedPair* pair) {
  pair->turn++;
  pair_set(pair_line(pair, 1 - pair->rank, 0), pair->turn);
  pair_await(pair_line(pair, pair->rank, 0), pair->turn);
}

/* One message in cells. The sender waits for a cell that the receiver has emptied. */
static inline void pair_message_in_cells(SharedPair* pair, int from, size_t bytes) {
  const int to = 1 - from;
  const size_t quarter = bytes / 4 / kCellBytesMin * kCellBytesMin;
  const size_t cell = quarter < kCellBytesMin   ? kCellBytesMin
                      : quarter > kCellBytesMax ? kCellBytesMax
                                                : quarter;
  const uint64_t cells = kCellRingBytes / cell;
  for (size_t done = 0; done < bytes; done += cell) {
    const size_t piece = bytes - done < cell ? bytes - done : cell;
    const uint64_t number = pair->cells[from]++;
    unsigned char* const at = pair_ring(pair, from) + number % cells * cell;
    if (pair->rank == from) {
      if (number >= cells) pair_await(pair_line(pair, from, 5), number + 1 - cells);
      memcpy(at, pair_out(pair, from) + done, piece);
      pair_set(pair_line(pair, to, 4), number + 1);
    } else {
      pair_await(pair_line(pair, to, 4), number + 1);
      memcpy(pair_in(pair, to) + done, at, piece);
      pair_set(pair_line(pair, from, 5), number + 1);
    }
  }
}

/* One message of `bytes` bytes from rank `from` to the other; called by both. */
static inline void pair_message(SharedPair* pair, int from, size_t bytes, enum CopyMode mode) {
  if (mode == kCells) {
    pair_message_in_cells(pair, from, bytes);
    return;
  }
  const int to = 1 - from;
  const uint64_t turn = ++pair->turn;
  const unsigned char* out = pair_out(pair, from);
  unsigned char* in = pair_in(pair, to);
  const size_t half = mode == kBoth ? bytes / 2 / kLineBytes * kLineBytes : mode == kPush ? bytes : 0;
  if (pair->rank == from) {
    if (mode != kPush) pair_set(pair_line(pair, to, 1), turn); /* begin */
    if (half > 0) memcpy(in, out, half);
    if (mode != kPull) pair_set(pair_line(pair, to, 2), turn);     /* my part is there */
    if (mode != kPush) pair_await(pair_line(pair, from, 3), turn); /* and so is yours */
  } else {
    if (mode != kPush) pair_await(pair_line(pair, to, 1), turn);
    if (half < bytes) memcpy(in + half, out + half, bytes - half);
    if (mode != kPush) pair_set(pair_line(pair, from, 3), turn);
    if (mode != kPull) pair_await(pair_line(pair, to, 2), turn);
  }
}

/* What the owners of buffers do when these count as touched: write all of the one that is sent, before; read
   a byte of each line of the one that is received, after. Returns a sum, so that the reads stay. */
static inline void touch_out(unsigned char* out, size_t bytes, int value) {
  memset(out, value, bytes);
}
static inline uint64_t touch_in(const unsigned char* in, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; i += kLineBytes) sum += in[i];
  return sum;
}

/* Seconds for one message of `bytes` bytes one way: half of a round there and back, over `rounds` rounds. The
   touching is inside the time. */
static inline double pair_one_way_seconds(SharedPair* pair, size_t bytes, int rounds, enum CopyMode mode,
                                          int touched) {
  volatile uint64_t sink = 0;
  pair_meet(pair);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; round++) {
    if (touched) touch_out(pair_out(pair, pair->rank), bytes, round);
    pair_message(pair, 0, bytes, mode);
    pair_message(pair, 1, bytes, mode);
    if (touched) sink = sink + touch_in(pair_in(pair, pair->rank), bytes);
  }
  const double seconds = now_seconds() - begin;
  pair_meet(pair);
  return seconds / rounds / 2;
}

/* Seconds a message of a stream: rank 0 fills lines of a ring, each with its number behind the payload, rank
   1 takes them in bursts of `burst` and answers each burst with one line. */
static inline double pair_stream_seconds(SharedPair* pair, int burst, int rounds) {
  uint64_t* const ring = (uint64_t*)(void*)(pair->memory + kFlagBytes);
  uint64_t next = 0;
  volatile uint64_t sink = 0;
  if (pair->rank == 0) memset(ring, 0, kStreamBytes);
  pair_meet(pair);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; round++) {
    const uint64_t turn = ++pair->turn;
    for (int i = 0; i < burst; i++) {
      uint64_t* const line = ring + next++ % kStreamLines * (kLineBytes / sizeof(uint64_t));
      if (pair->rank == 0) {
        line[1] = next;
        pair_set(line, next);
      } else {
        pair_await(line, next);
        sink = sink + line[1];
      }
    }
    if (pair->rank == 1) pair_set(pair_line(pair, 0, 3), turn);
    if (pair->rank == 0) pair_await(pair_line(pair, 0, 3), turn);
  }
  const double seconds = now_seconds() - begin;
  pair_meet(pair);
  return seconds / rounds / burst;
}

#endif
