/* Partitioned messages around a ring of processes: cut differently at either end, made ready by several
 * threads, with partitions that lie gigabytes apart; then wrong calls, after which the request still works.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"

enum { kOut = 12, kIn = 8, kInts = 24 * 1000, kThreads = 3, kLaps = 4 };

static int rank, size, left, right;
static MPI_Request sending;
static int out[kInts], in[kInts];

static void* work(void* argument) {
  const int worker = *(int*)argument;
  const int each = kInts / kOut;
  for (int partition = worker; partition < kOut; partition += kThreads) {
    for (int i = 0; i < each; ++i) out[partition * each + i] += 1;
    MPI_Pready(partition, sending);
  }
  return NULL;
}

static void ring(void) {
  MPI_Request receiving;
  MPI_Psend_init(out, kOut, kInts / kOut, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
  MPI_Precv_init(in, kIn, kInts / kIn, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
  for (int i = 0; i < kInts; ++i) out[i] = i + rank;
  for (int lap = 1; lap <= kLaps; ++lap) {
    MPI_Start(&receiving);
    MPI_Start(&sending);
    pthread_t threads[kThreads];
    int numbers[kThreads];
    for (int i = 0; i < kThreads; ++i) {
      numbers[i] = i;
      pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int partition = kIn; partition-- > 0;) {
      for (int flag = 0; !flag;) MPI_Parrived(receiving, partition, &flag);
      const int each = kInts / kIn;
      for (int i = partition * each; i < (partition + 1) * each; ++i) {
        CHECK(in[i] == i + left + lap, "lap %d: in[%d] = %d", lap, i, in[i]);
      }
    }
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    MPI_Status status;
    int count;
    MPI_Wait(&receiving, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == kInts && status.MPI_SOURCE == left && status.MPI_TAG == 3, "count %d", count);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&sending);
  MPI_Request_free(&receiving);
}

/* Three partitions of one element whose extent is 3 GiB and whose data is one int. */
static void far_apart(void) {
  const MPI_Count extent = 3LL << 30;
  const size_t bytes = 3 * (size_t)extent;
  char* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED, "no address space");
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)extent, &type);
  MPI_Type_commit(&type);
  int plain[3] = {-1, -1, -1};
  MPI_Request requests[2];
  MPI_Psend_init(memory, 3, 1, type, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(plain, 1, 3, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int i = 0; i < 3; ++i) *(int*)(memory + i * extent) = 10 * rank + i;
  MPI_Startall(2, requests);
  const int list[2] = {2, 0};
  MPI_Pready_list(2, list, requests[0]);
  MPI_Pready_range(1, 1, requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) CHECK(plain[i] == 10 * left + i, "plain[%d] = %d", i, plain[i]);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&type);
  munmap(memory, bytes);
}

static int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

static void wrong(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int data[4] = {1, 2, 3, 4}, got[4] = {0}, flag;
  MPI_Request send, receive, none = MPI_REQUEST_NULL;
  CHECK(class_of(MPI_Psend_init(data, 4, 1, MPI_INT, size, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &none)) ==
            MPI_ERR_RANK,
        "dest beyond the group");
  CHECK(class_of(MPI_Psend_init(data, 4, -1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &none)) ==
            MPI_ERR_COUNT,
        "negative count");
  CHECK(class_of(MPI_Precv_init(got, 4, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &none)) == MPI_ERR_RANK,
        "any source");
  CHECK(class_of(MPI_Pready(0, MPI_REQUEST_NULL)) == MPI_ERR_REQUEST, "null request");
  CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag, "null request has arrived");
  MPI_Psend_init(data, 4, 1, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(got, 4, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  CHECK(class_of(MPI_Pready(0, send)) == MPI_ERR_REQUEST, "ready before start");
  MPI_Start(&send);
  MPI_Start(&receive);
  MPI_Pready(2, send);
  CHECK(class_of(MPI_Pready(2, send)) == MPI_ERR_ARG, "ready twice");
  CHECK(class_of(MPI_Pready(4, send)) == MPI_ERR_ARG, "no such partition");
  CHECK(class_of(MPI_Pready_range(1, 3, send)) == MPI_ERR_ARG, "a range with a ready one");
  MPI_Pready_range(0, 1, send);
  MPI_Pready(3, send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4; ++i) CHECK(got[i] == i + 1, "got[%d] = %d", i, got[i]);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  ring();
  far_apart();
  wrong();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("partitioned: right\n");
  MPI_Finalize();
  return 0;
}
