/* Every rank sends to every rank, itself too, messages from 0 bytes to 4 MiB: below, at and above each size
   at which a protocol may change. All at once, received in the opposite order, each byte checked. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kBytesMax = (4 << 20) + 1 };

static unsigned char pattern(int from, int to, int i) {
  return (unsigned char)(from * 31 + to * 7 + i * 13 + (i >> 8));
}

static void exchange(int rank, int size, int bytes, unsigned char* out, unsigned char* in) {
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * size);
  for (int peer = 0; peer < size; peer++) {
    for (int i = 0; i < bytes; i++) out[(size_t)peer * bytes + i] = pattern(rank, peer, i);
    MPI_Isend(out + (size_t)peer * bytes, bytes, MPI_BYTE, peer, bytes % 1000, MPI_COMM_WORLD,
              &requests[peer]);
  }
  memset(in, 0xee, (size_t)size * bytes);
  for (int peer = size - 1; peer >= 0; peer--) {
    MPI_Irecv(in + (size_t)peer * bytes, bytes, MPI_BYTE, peer, bytes % 1000, MPI_COMM_WORLD,
              &requests[size + peer]);
  }
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; peer++) {
    for (int i = 0; i < bytes; i++) {
      const unsigned char got = in[(size_t)peer * bytes + i], want = pattern(peer, rank, i);
      CHECK(got == want, "%d bytes from %d: byte %d is %d, not %d", bytes, peer, i, got, want);
    }
  }
  free(requests);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char* out = malloc((size_t)size * kBytesMax);
  unsigned char* in = malloc((size_t)size * kBytesMax);
  const int limit = size > 4 ? 256 << 10 : kBytesMax;
  for (int bytes = 1; bytes <= limit; bytes *= 2) {
    exchange(rank, size, bytes - 1, out, in);
    exchange(rank, size, bytes, out, in);
    if (bytes + 1 <= kBytesMax) exchange(rank, size, bytes + 1, out, in);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("exchange: all sizes right\n");
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
