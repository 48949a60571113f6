/* Sorts integers that are spread over all ranks: an all-to-all of numbers of keys, and one of the keys
   themselves. In each round the keys are the numbers from 0 to n - 1 in another order, so afterwards rank r
   must have those from r n / ranks on, one after the other: the program checks itself.

     mpiexec -n 4 is [keys, as a power of two] [rounds]          (22 and 10, if not given) */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "is: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return memory;
}

/* The first of the numbers from 0 to n - 1 that belongs to a rank. */
static uint32_t first_of(uint64_t n, int owner) {
  return (uint32_t)(n * (uint64_t)owner / (uint64_t)ranks);
}

static int owner_of(uint64_t n, uint32_t key) {
  int owner = (int)((uint64_t)key * (uint64_t)ranks / n);
  while (owner + 1 < ranks && key >= first_of(n, owner + 1)) owner++;
  return owner;
}

/* i -> a i + b modulo n, with an odd a, meets each number below n = 2^k once. */
static void make_keys(uint32_t* keys, uint64_t n, int round) {
  const uint32_t begin = first_of(n, rank), end = first_of(n, rank + 1);
  const uint32_t a = 2654435761u + 2 * (uint32_t)round, b = 40503u * (uint32_t)round;
  for (uint32_t i = begin; i < end; i++) keys[i - begin] = (uint32_t)((a * i + b) & (n - 1));
}

/* Puts the keys for each rank together, in the order of the ranks. Returns how many there are for each. */
static void sort_by_owner(const uint32_t* keys, uint32_t count, uint64_t n, uint32_t* sorted, int* counts,
                          int* places) {
  memset(counts, 0, sizeof(int) * (size_t)ranks);
  for (uint32_t i = 0; i < count; i++) counts[owner_of(n, keys[i])]++;
  for (int owner = 0, sum = 0; owner < ranks; sum += counts[owner++]) places[owner] = sum;
  int* next = allocate(sizeof(int) * (size_t)ranks);
  memcpy(next, places, sizeof(int) * (size_t)ranks);
  for (uint32_t i = 0; i < count; i++) sorted[next[owner_of(n, keys[i])]++] = keys[i];
  free(next);
}

/* Counts how often each key comes, and writes it so often. */
static void sort_own(uint32_t* keys, int count, uint32_t first, uint32_t range, uint32_t* times) {
  memset(times, 0, sizeof(uint32_t) * range);
  for (int i = 0; i < count; i++) times[keys[i] - first]++;
  for (uint32_t key = 0, i = 0; key < range; key++)
    for (uint32_t copy = 0; copy < times[key]; copy++) keys[i++] = first + key;
}

static int is_right(const uint32_t* keys, int count, uint32_t first, uint32_t range) {
  if (count != (int)range) return 0;
  for (uint32_t i = 0; i < range; i++)
    if (keys[i] != first + i) return 0;
  return 1;
}

static long argument(int argc, char** argv, int position, long usual, long largest) {
  if (position >= argc) return usual;
  char* end;
  const long value = strtol(argv[position], &end, 10);
  if (*end == '\0' && value >= 1 && value <= largest) return value;
  if (rank == 0) fprintf(stderr, "is: '%s': expected a number from 1 to %ld\n", argv[position], largest);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t n = UINT64_C(1) << argument(argc, argv, 1, 22, 30);
  const int rounds = (int)argument(argc, argv, 2, 10, 1000000);

  const uint32_t first = first_of(n, rank), range = first_of(n, rank + 1) - first;
  const size_t bytes = sizeof(uint32_t) * range;
  uint32_t *keys = allocate(bytes), *sent = allocate(bytes), *received = allocate(bytes),
           *times = allocate(bytes);
  int* numbers = allocate(4 * sizeof(int) * (size_t)ranks);
  int *to_send = numbers, *send_places = to_send + ranks, *to_receive = send_places + ranks,
      *receive_places = to_receive + ranks;

  int right = 1;
  double seconds = 0;
  for (int round = 0; round < rounds; round++) {
    make_keys(keys, n, round);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    sort_by_owner(keys, range, n, sent, to_send, send_places);
    MPI_Alltoall(to_send, 1, MPI_INT, to_receive, 1, MPI_INT, MPI_COMM_WORLD);
    int count = 0;
    for (int from = 0; from < ranks; count += to_receive[from++]) receive_places[from] = count;
    if (count != (int)range) MPI_Abort(MPI_COMM_WORLD, 1); /* more would not fit, and none may be missing */
    MPI_Alltoallv(sent, to_send, send_places, MPI_UINT32_T, received, to_receive, receive_places,
                  MPI_UINT32_T, MPI_COMM_WORLD);
    sort_own(received, count, first, range, times);
    seconds += MPI_Wtime() - begin;
    right = right && is_right(received, count, first, range);
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("IS: %llu keys on %d ranks\n", (unsigned long long)n, ranks);
    printf("IS: %d rounds in %.4f s\n", rounds, seconds);
    printf("IS: verification %s\n", right ? "right" : "wrong");
  }
  free(numbers);
  free(keys);
  free(sent);
  free(received);
  free(times);
  MPI_Finalize();
  return right ? 0 : 1;
}
