/* To be preloaded: a program that asks for the time of day gets one that jumps by up to a day at each call;
 * the monotonic clock stays as it is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump_s(void) {
  static unsigned calls;
  const unsigned turn = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  return (long)(turn * 2654435761U % 172800U) - 86400;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump_s();
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec time_now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &time_now);
  now->tv_sec = time_now.tv_sec;
  now->tv_usec = time_now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* place) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place != NULL) *place = now.tv_sec;
  return now.tv_sec;
}
