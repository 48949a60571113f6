/* Nonblocking and split accesses to files, every form of them: many under way at once on two files, completed
 * in any order by wait, test and their variants; and errors of the storage, which come with the completion.
 * The name of the file comes as the argument, and what is done with it, where it is not all that:
 *   threads   all that with MPI_THREAD_MULTIPLE, while another thread accesses a file of its own
 *   left      what nobody waits for is under way when MPI_Finalize comes
 *   reused    a buffer is used twice, which TASUKI_CHECK=3 refuses */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { kBlock = 6000, kForms = 5, kRounds = 6 };

static int rank, size;

#define GIVES(call, expected)                                                                 \
  do {                                                                                        \
    int given_code = call, given_class = -1, given_length;                                    \
    char given_text[MPI_MAX_ERROR_STRING] = "";                                               \
    MPI_Error_class(given_code, &given_class);                                                \
    if (given_code != MPI_SUCCESS) MPI_Error_string(given_code, given_text, &given_length);   \
    CHECK(given_class == (expected), "%s gave class %d: %s", #call, given_class, given_text); \
  } while (0)
#define DONE(call) GIVES(call, MPI_SUCCESS)

static unsigned char value(long long offset) {
  return (unsigned char)(offset * 131 + offset / 251);
}

static MPI_File open_file(const char* name, int two_phases) {
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  if (two_phases) {
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "cb_buffer_size", "10000");
  }
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  MPI_Info_free(&info);
  return file;
}

/* Where what a rank writes in a round lies: blocks of ranks in turn; of a last round there is nothing at odd
 * ranks. */
static long long place(int round) {
  return ((long long)round * size + rank) * kBlock;
}
static int bytes_of(int round) {
  return round == kRounds - 1 && rank % 2 == 1 ? 0 : kBlock;
}

/* Starts one access of round `round` in one of the forms. */
static MPI_Request start(MPI_File file, int form, int writes, int round, unsigned char* data) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int bytes = bytes_of(round);
  switch (form) {
    case 0:
      DONE(writes ? MPI_File_iwrite_at(file, place(round), data, bytes, MPI_BYTE, &request)
                  : MPI_File_iread_at(file, place(round), data, bytes, MPI_BYTE, &request));
      break;
    case 1:
      DONE(MPI_File_seek(file, place(round), MPI_SEEK_SET));
      DONE(writes ? MPI_File_iwrite(file, data, bytes, MPI_BYTE, &request)
                  : MPI_File_iread(file, data, bytes, MPI_BYTE, &request));
      break;
    case 2:
      DONE(writes ? MPI_File_iwrite_at_all(file, place(round), data, bytes, MPI_BYTE, &request)
                  : MPI_File_iread_at_all(file, place(round), data, bytes, MPI_BYTE, &request));
      break;
    case 3:
      DONE(MPI_File_seek(file, place(round), MPI_SEEK_SET));
      DONE(writes ? MPI_File_iwrite_all(file, data, bytes, MPI_BYTE, &request)
                  : MPI_File_iread_all(file, data, bytes, MPI_BYTE, &request));
      break;
    default: { /* memory of short runs, under way with its datatype freed */
      MPI_Datatype halves;
      MPI_Type_vector(bytes / 2, 1, 2, MPI_BYTE, &halves);
      MPI_Type_commit(&halves);
      DONE(writes ? MPI_File_iwrite_at(file, place(round), data, 1, halves, &request)
                  : MPI_File_iread_at(file, place(round), data, 1, halves, &request));
      MPI_Type_free(&halves);
    }
  }
  return request;
}

static void complete(MPI_Request* requests, int count, int how) {
  MPI_Status statuses[2 * kRounds];
  int flag = 0, index, done = 0, some, indices[2 * kRounds];
  switch (how % 6) {
    case 0:
      DONE(MPI_Waitall(count, requests, statuses));
      break;
    case 1:
      while (!flag) DONE(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
      break;
    case 2:
      for (; done < count; done++) {
        DONE(MPI_Waitany(count, requests, &index, statuses));
        CHECK(index != MPI_UNDEFINED, "request %d of %d is not there", done, count);
      }
      break;
    case 3: /* to be cancelled changes nothing */
      for (int i = 0; i < count; i++) DONE(MPI_Cancel(&requests[i]));
      for (; done < count; done += some) {
        DONE(MPI_Waitsome(count, requests, &some, indices, statuses));
        CHECK(some > 0, "%d of %d requests: %d more are over", done, count, some);
        for (int i = 0; i < some; i++) {
          DONE(MPI_Test_cancelled(&statuses[i], &flag));
          CHECK(!flag, "request %d was cancelled", indices[i]);
        }
      }
      break;
    case 4:
      while (done < count) {
        DONE(MPI_Testany(count, requests, &index, &flag, statuses));
        done += flag;
        if (done == count) break;
        DONE(MPI_Testsome(count, requests, &some, indices, statuses));
        if (some != MPI_UNDEFINED) done += some;
      }
      break;
    default:
      for (int i = count; i-- > 0;) {
        MPI_Count bytes;
        for (flag = 0; !flag;) DONE(MPI_Request_get_status(requests[i], &flag, statuses));
        MPI_Get_elements_x(statuses, MPI_BYTE, &bytes);
        CHECK(bytes == bytes_of(i / 2) || bytes == bytes_of(i / 2) / 2, "%lld bytes", (long long)bytes);
        DONE(MPI_Wait(&requests[i], statuses));
        MPI_Get_elements_x(statuses, MPI_BYTE, &bytes);
        CHECK(bytes == bytes_of(i / 2) || bytes == bytes_of(i / 2) / 2, "%lld bytes", (long long)bytes);
      }
  }
  for (int i = 0; i < count; i++) CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is still there", i);
}

/* All rounds of a form on two files at once, odd ranks beginning with the other one. */
static void rounds(const char* name, int form, int two_phases) {
  static unsigned char data[2][kRounds][kBlock];
  char other[4096];
  MPI_File files[2];
  MPI_Request requests[2 * kRounds];
  const int step = form == kForms - 1 ? 2 : 1;
  snprintf(other, sizeof other, "%s-other", name);
  files[0] = open_file(name, two_phases);
  files[1] = open_file(other, two_phases);
  for (int pass = 0; pass < 2; pass++) {
    const int writes = pass == 0;
    for (int i = 0; i < 2 * kRounds; i++) {
      const int round = i / 2, which = (i + rank) % 2;
      unsigned char* mine = data[which][round];
      for (int k = 0; k < kBlock; k++)
        mine[k] = writes ? value(place(round) + k / step + 7 * which + form) : 0;
      requests[i] = start(files[which], form, writes, round, mine);
    }
    complete(requests, 2 * kRounds, form + pass + two_phases);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int which = 0; which < 2; which++) {
    for (int round = 0; round < kRounds; round++) {
      for (int k = 0; k < bytes_of(round); k += step)
        CHECK(data[which][round][k] == value(place(round) + k / step + 7 * which + form),
              "form %d, file %d, round %d: byte %d is %d", form, which, round, k, data[which][round][k]);
    }
    DONE(MPI_File_close(&files[which]));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_File_delete(name, MPI_INFO_NULL);
    MPI_File_delete(other, MPI_INFO_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What ranks write by the shared pointer is there once; in order and split it lies by rank. */
static void shared_and_split(const char* name) {
  MPI_Status status;
  MPI_Request requests[10];
  MPI_Offset at;
  int count, block[10], *all = malloc(sizeof(int) * (size_t)size * 10);
  int* seen = calloc((size_t)size, sizeof(int));
  MPI_File file = open_file(name, 1);
  DONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int i = 0; i < 10; i++) DONE(MPI_File_iwrite_shared(file, &rank, 1, MPI_INT, &requests[i]));
  DONE(MPI_Waitall(10, requests, MPI_STATUSES_IGNORE));
  DONE(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  DONE(MPI_File_get_position_shared(file, &at));
  CHECK(at == 10 * size, "the shared file pointer is at %lld", (long long)at);
  DONE(MPI_File_iread_at_all(file, 0, all, 10 * size, MPI_INT, &requests[0]));
  DONE(MPI_Wait(&requests[0], &status));
  for (int i = 0; i < 10 * size; i++) seen[all[i]]++;
  for (int i = 0; i < size; i++) CHECK(seen[i] == 10, "rank %d was seen %d times", i, seen[i]);
  DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (int i = 0; i < 10; i++) block[i] = 100 * rank + i;
  DONE(MPI_File_write_ordered_begin(file, block, 10, MPI_INT));
  GIVES(MPI_File_write_all_begin(file, block, 10, MPI_INT), MPI_ERR_IO);
  DONE(MPI_File_write_ordered_end(file, block, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 10, "wrote %d", count);
  DONE(MPI_File_seek(file, 10 * ((rank + 1) % size), MPI_SEEK_SET));
  DONE(MPI_File_read_all_begin(file, all, 10, MPI_INT));
  DONE(MPI_File_read_all_end(file, all, &status));
  for (int i = 0; i < 10; i++) CHECK(all[i] == 100 * ((rank + 1) % size) + i, "number %d is %d", i, all[i]);
  /* Of one that is given up nothing remains but its data. */
  DONE(MPI_File_iwrite_at(file, 10 * rank, &rank, 1, MPI_INT, &requests[0]));
  MPI_Request_free(&requests[0]);
  DONE(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  file = open_file(name, 0);
  DONE(MPI_File_read_at(file, 10 * (int)sizeof(int) * rank, &count, 1, MPI_INT, &status));
  CHECK(count == rank, "after the close there is %d", count);
  DONE(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  free(all);
  free(seen);
}

static int heard;
static void hear(MPI_File* file, int* code, ...) {
  (void)file;
  MPI_Error_class(*code, &heard);
}

/* The system lets files be so long only. */
static void too_long(const char* name) {
  const struct rlimit limit = {100000, 100000};
  unsigned char* data = calloc(1, 200000);
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Status status;
  MPI_File file;
  int count;
  signal(SIGXFSZ, SIG_IGN);
  MPI_File_create_errhandler(hear, &handler);
  for (int two_phases = 0; two_phases < 2; two_phases++) {
    file = open_file(name, two_phases);
    DONE(MPI_File_set_errhandler(file, handler));
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!two_phases) {
      DONE(MPI_File_iwrite_at(file, 0, data, 200000, MPI_BYTE, &request));
    } else {
      DONE(MPI_File_iwrite_at_all(file, (MPI_Offset)rank * 200000, data, 200000, MPI_BYTE, &request));
    }
    heard = -1;
    GIVES(MPI_Wait(&request, &status), MPI_ERR_IO);
    CHECK(heard == MPI_ERR_IO, "the file's handler heard %d", heard);
    if (!two_phases) {
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(count == 100000, "%d bytes were written", count);
    }
    DONE(MPI_File_iread_at_all(file, 0, data, 100000, MPI_BYTE, &request));
    DONE(MPI_Wait(&request, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == 100000, "%d bytes were read", count);
    DONE(MPI_File_close(&file));
  }
  MPI_Errhandler_free(&handler);
  free(data);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
}

/* Each rank writes a block which has no request any more, to a file that is never closed. */
static void leave(const char* name) {
  const int bytes = 8 << 20;
  unsigned char* data = malloc((size_t)bytes);
  MPI_Request request;
  MPI_File file = open_file(name, 1);
  memset(data, 'a' + rank, (size_t)bytes);
  DONE(MPI_File_iwrite_at(file, (MPI_Offset)2 * rank * bytes, data, bytes, MPI_BYTE, &request));
  DONE(MPI_Request_free(&request));
  DONE(MPI_File_iwrite_at_all(file, (MPI_Offset)(2 * rank + 1) * bytes, data, bytes, MPI_BYTE, &request));
  DONE(MPI_Request_free(&request));
}

static void reuse(const char* name) {
  static int data[1000], other[1000];
  MPI_Request requests[2];
  MPI_File file = open_file(name, 0);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  DONE(MPI_File_iwrite_at_all(file, rank * (int)sizeof data, data, 1000, MPI_INT, &requests[0]));
  DONE(MPI_File_iwrite_at(file, 0, data + 1, 0, MPI_INT, &requests[1]));
  GIVES(MPI_File_iread_at(file, 0, data + 999, 1, MPI_INT, &requests[1]), MPI_ERR_BUFFER);
  GIVES(MPI_Irecv(data, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]), MPI_ERR_BUFFER);
  data[7] = 1; /* before it is over */
  GIVES(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  DONE(MPI_File_read_at_all_begin(file, 0, other, 1000, MPI_INT));
  GIVES(MPI_File_iwrite_at(file, 0, other, 1, MPI_INT, &requests[1]), MPI_ERR_BUFFER);
  DONE(MPI_File_read_at_all_end(file, other, MPI_STATUS_IGNORE));
  DONE(MPI_File_iread_at(file, 0, other, 1000, MPI_INT, &requests[1]));
  DONE(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  DONE(MPI_File_close(&file));
}

/* Writes and reads a file of this thread's, a stage of short runs or two at a time, until `stop`. */
static atomic_int stop;
static void* access_alone(void* name) {
  enum { kInts = 3000 };
  static int out[4][2 * kInts], in[4][2 * kInts];
  char own[4096];
  MPI_Datatype halves;
  MPI_File file;
  MPI_Request requests[4];
  snprintf(own, sizeof own, "%s-of-%d", (const char*)name, rank);
  DONE(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &halves);
  MPI_Type_commit(&halves);
  for (int round = 0; round < 3 || !stop; round++) {
    for (int i = 0; i < 4; i++) {
      for (int k = 0; k < 2 * kInts; k++) out[i][k] = round * 7 + i + k;
      DONE(MPI_File_iwrite_at(file, i * kInts * 4, out[i], 1, halves, &requests[i]));
    }
    DONE(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; i++) DONE(MPI_File_iread_at(file, i * kInts * 4, in[i], 1, halves, &requests[i]));
    DONE(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; i++) {
      for (int k = 0; k < 2 * kInts; k += 2)
        CHECK(in[i][k] == out[i][k], "round %d, access %d: number %d is %d", round, i, k, in[i][k]);
    }
  }
  MPI_Type_free(&halves);
  DONE(MPI_File_close(&file));
  return NULL;
}

int main(int argc, char** argv) {
  const char* what = argc > 2 ? argv[2] : "";
  const int threads = strcmp(what, "threads") == 0;
  int provided;
  pthread_t beside;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc >= 2, "expected the name of a file");
  if (strcmp(what, "left") == 0 || strcmp(what, "reused") == 0) {
    if (*what == 'l') {
      leave(argv[1]);
    } else {
      reuse(argv[1]);
    }
    MPI_Finalize();
    if (rank == 0) printf("file_requests: right\n");
    return 0;
  }
  if (threads) pthread_create(&beside, NULL, access_alone, argv[1]);
  for (int form = 0; form < kForms; form++) rounds(argv[1], form, 0);
  for (int form = 0; form < kForms; form++) rounds(argv[1], form, 1);
  shared_and_split(argv[1]);
  if (threads) {
    stop = 1;
    pthread_join(beside, NULL);
  }
  too_long(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("file_requests: right\n");
  MPI_Finalize();
  return 0;
}
