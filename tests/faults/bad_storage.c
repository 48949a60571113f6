/* To be preloaded: storage that is not what one would like. STORAGE says how:
 *
 *   clumsy       a call is interrupted now and then, and else moves a part of what it should
 *   BYTES:ERRNO  nothing can be written from BYTES of a file on: ENOSPC or EIO
 *
 * Only files that have a name are touched: no memory that processes share. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BYTES_MAX 3000 /* of a clumsy call */
#define VECTORS_MAX 1024

static int has_name(int fd) {
  struct stat facts;
  return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink > 0;
}

static ssize_t pass(int number, int fd, const struct iovec* vectors, int count, off_t offset, int flags) {
  return syscall(number, fd, vectors, (long)count, (long)offset, 0L, (long)flags);
}

/* At most `bytes` of what is asked for. */
static ssize_t pass_part(int number, int fd, const struct iovec* vectors, int count, off_t offset, int flags,
                         size_t bytes) {
  struct iovec part[VECTORS_MAX];
  int parts = 0;
  for (; parts < count && bytes > 0; ++parts) {
    part[parts] = vectors[parts];
    if (part[parts].iov_len > bytes) part[parts].iov_len = bytes;
    bytes -= part[parts].iov_len;
  }
  return pass(number, fd, part, parts, offset, flags);
}

static ssize_t move(int write, int fd, const struct iovec* vectors, int count, off_t offset, int flags) {
  static unsigned calls;
  const int number = write ? SYS_pwritev2 : SYS_preadv2;
  const char* how = getenv("STORAGE");
  if (how == NULL || !has_name(fd)) return pass(number, fd, vectors, count, offset, flags);
  if (strcmp(how, "clumsy") == 0) {
    const unsigned turn = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) * 2654435761U >> 16;
    if (turn % 5 == 0) {
      errno = EINTR;
      return -1;
    }
    return pass_part(number, fd, vectors, count, offset, flags, 1 + turn % BYTES_MAX);
  }
  char* name = NULL;
  const long long edge = strtoll(how, &name, 10);
  if (!write) return pass(number, fd, vectors, count, offset, flags);
  if (offset >= edge) {
    errno = strcmp(name, ":ENOSPC") == 0 ? ENOSPC : EIO;
    return -1;
  }
  return pass_part(number, fd, vectors, count, offset, flags, (size_t)(edge - offset));
}

ssize_t pread(int fd, void* memory, size_t bytes, off_t offset) {
  const struct iovec vector = {memory, bytes};
  return move(0, fd, &vector, 1, offset, 0);
}

ssize_t pwrite(int fd, const void* memory, size_t bytes, off_t offset) {
  const struct iovec vector = {(void*)memory, bytes};
  return move(1, fd, &vector, 1, offset, 0);
}

ssize_t preadv(int fd, const struct iovec* vectors, int count, off_t offset) {
  return move(0, fd, vectors, count, offset, 0);
}

ssize_t preadv2(int fd, const struct iovec* vectors, int count, off_t offset, int flags) {
  return move(0, fd, vectors, count, offset, flags);
}

ssize_t pwritev(int fd, const struct iovec* vectors, int count, off_t offset) {
  return move(1, fd, vectors, count, offset, 0);
}
