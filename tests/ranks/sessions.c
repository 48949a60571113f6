/* Sessions: without MPI_Init, again and again, in some of the ranks only, beside the world model and after
 * it; communicators from groups alone, by several threads at once; wrong arguments. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank = -1, size;

/* There may be no MPI_COMM_WORLD to abort: an unfinished session ends the job. */
#define CHECK(condition, ...)                                        \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "rank %d: %s:%d: ", rank, __FILE__, __LINE__); \
      fprintf(stderr, __VA_ARGS__);                                  \
      fprintf(stderr, "\n");                                         \
      fflush(stderr);                                                \
      _exit(1);                                                      \
    }                                                                \
  } while (0)

static MPI_Session open_session(const char* level) {
  MPI_Info info = MPI_INFO_NULL;
  if (level != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
  }
  MPI_Session session;
  char why[MPI_MAX_ERROR_STRING];
  int length = 0;
  const int code = MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
  MPI_Error_string(code, why, &length);
  CHECK(code == MPI_SUCCESS, "no session: %s", why);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return session;
}

static MPI_Comm everybody(MPI_Session session, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "no group");
  CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS,
        "no comm");
  MPI_Group_rank(group, &rank);
  MPI_Group_size(group, &size);
  MPI_Group_free(&group);
  return comm;
}

static void sum_up(MPI_Comm comm) {
  int sum = 0, one = 1, members;
  MPI_Comm_size(comm, &members);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == members, "sum %d of %d", sum, members);
}

static void check_level(MPI_Session session, const char* expected) {
  char text[MPI_MAX_INFO_VAL + 1];
  int flag, length = sizeof text;
  MPI_Info info;
  MPI_Session_get_info(session, &info);
  MPI_Info_get_string(info, "thread_level", &length, text, &flag);
  CHECK(flag && strcmp(text, expected) == 0, "thread_level %s, expected %s", text, expected);
  MPI_Info_free(&info);
}

/* What a session reports. */
static void ask(void) {
  static const char* const kLevels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                        "MPI_THREAD_MULTIPLE"};
  MPI_Session session;
  MPI_Info info;
  for (int i = 0; i < 4; ++i) {
    session = open_session(kLevels[i]);
    check_level(session, kLevels[i]);
    MPI_Session_finalize(&session);
  }
  MPI_Info_create(&info); /* says nothing of threads: the session has what the process can give */
  MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
  check_level(session, "MPI_THREAD_MULTIPLE");
  MPI_Session_finalize(&session);
  MPI_Info_free(&info);
  session = open_session(NULL);
  check_level(session, "MPI_THREAD_MULTIPLE");
  char text[MPI_MAX_INFO_VAL + 1], name[MPI_MAX_PSET_NAME_LEN];
  int flag, count, length, seen = 0;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
  for (int n = 0; n < count; ++n) {
    length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL);
    CHECK(length > 1 && length <= (int)sizeof name, "length %d", length);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
    CHECK((int)strlen(name) + 1 == length, "%s has not %d characters", name, length);
    MPI_Session_get_pset_info(session, name, &info);
    length = sizeof text;
    MPI_Info_get_string(info, "mpi_size", &length, text, &flag);
    MPI_Group group;
    int members;
    MPI_Group_from_session_pset(session, name, &group);
    MPI_Group_size(group, &members);
    CHECK(flag && atoi(text) == members, "%s: %s, not %d", name, text, members);
    seen |= strcmp(name, "mpi://WORLD") == 0 ? 1 : strcmp(name, "mpi://SELF") == 0 ? 2 : 0;
    MPI_Group_free(&group);
    MPI_Info_free(&info);
  }
  CHECK(seen == 3, "the standard's sets are missing");
  MPI_Session_finalize(&session);
  CHECK(session == MPI_SESSION_NULL, "a finalised session has a handle");
}

static void many_times(void) {
  for (int lap = 0; lap < 20; ++lap) {
    MPI_Session session = open_session(NULL);
    MPI_Comm comm = everybody(session, "again");
    sum_up(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
  }
}

/* Two sessions at once; the other ranks use none meanwhile, and the last message is taken after its sender's
 * session. */
static void some_of_us(void) {
  if (size < 2 || rank >= 2) return;
  MPI_Session session = open_session(NULL), other = open_session(NULL);
  MPI_Group all, both;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  const int ranks[2] = {1, 0};
  MPI_Group_incl(all, 2, ranks, &both);
  MPI_Comm comm;
  MPI_Comm_create_from_group(both, "pair", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&all);
  MPI_Group_free(&both);
  int token = 41;
  if (rank == 0) {
    MPI_Send(&token, 1, MPI_INT, 0, 1, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
  } else {
    usleep(20000);
    token = 0;
    MPI_Recv(&token, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
    CHECK(token == 41, "token %d", token);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
  }
  MPI_Session_finalize(&other);
}

static MPI_Session shared_session;

static void* create_and_sum(void* argument) {
  char tag[32];
  snprintf(tag, sizeof tag, "thread %d", *(int*)argument);
  for (int lap = 0; lap < 10; ++lap) {
    MPI_Comm comm = everybody(shared_session, tag);
    sum_up(comm);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

static void by_threads(void) {
  shared_session = open_session("MPI_THREAD_MULTIPLE");
  pthread_t threads[4];
  int numbers[4];
  for (int i = 0; i < 4; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, create_and_sum, &numbers[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  MPI_Session_finalize(&shared_session);
}

static void two_groups(void) {
  if (size < 2) return;
  MPI_Session session = open_session(NULL);
  MPI_Group all, low, high;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  int first[1][3] = {{0, size / 2 - 1, 1}}, second[1][3] = {{size / 2, size - 1, 1}};
  MPI_Group_range_incl(all, 1, first, &low);
  MPI_Group_range_incl(all, 1, second, &high);
  const int is_low = rank < size / 2;
  const int leader_low = 0, leader_high = size - size / 2 - 1;
  for (int lap = 0; lap < 3; ++lap) {
    MPI_Comm inter, merged;
    MPI_Intercomm_create_from_groups(is_low ? low : high, is_low ? leader_low : leader_high,
                                     is_low ? high : low, is_low ? leader_high : leader_low, "halves",
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
    int remote;
    MPI_Comm_remote_size(inter, &remote);
    CHECK(remote == (is_low ? size - size / 2 : size / 2), "remote size %d", remote);
    MPI_Intercomm_merge(inter, !is_low, &merged);
    sum_up(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&low);
  MPI_Group_free(&high);
  MPI_Session_finalize(&session);
}

static int handled;
static void handle(MPI_Session* session, int* code, ...) {
  (void)code;
  handled += *session == MPI_SESSION_NULL ? 100 : 1;
}

static int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

/* Of three buffers the communicator's is taken, else the session's, else the process's (MPI 3.6). A buffer
 * that is too small shows that it was taken. */
static void which_buffer(MPI_Session session, MPI_Comm comm) {
  char data[1024] = "x", large[4096], small[MPI_BSEND_OVERHEAD];
  void* address;
  int bytes;
  MPI_Buffer_attach(large, sizeof large);
  CHECK(MPI_Bsend(data, sizeof data, MPI_CHAR, rank, 2, comm) == MPI_SUCCESS, "the process's buffer");
  MPI_Session_attach_buffer(session, small, sizeof small);
  CHECK(class_of(MPI_Bsend(data, sizeof data, MPI_CHAR, rank, 2, comm)) == MPI_ERR_BUFFER,
        "the session's buffer");
  MPI_Comm_attach_buffer(comm, large, sizeof large);
  CHECK(MPI_Bsend(data, sizeof data, MPI_CHAR, rank, 2, comm) == MPI_SUCCESS, "the communicator's buffer");
  for (int i = 0; i < 2; ++i) MPI_Recv(data, sizeof data, MPI_CHAR, rank, 2, comm, MPI_STATUS_IGNORE);
  MPI_Comm_detach_buffer(comm, &address, &bytes);
  MPI_Session_detach_buffer(session, &address, &bytes);
  MPI_Buffer_detach(&address, &bytes);
}

static void wrong(void) {
  MPI_Errhandler errhandler, found;
  MPI_Session_create_errhandler(handle, &errhandler);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_SOME");
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(class_of(MPI_Session_init(info, errhandler, &session)) == MPI_ERR_INFO_VALUE && handled == 100,
        "handled %d", handled);
  CHECK(session == MPI_SESSION_NULL, "a session in spite of it");
  MPI_Info_free(&info);
  MPI_Session_init(MPI_INFO_NULL, errhandler, &session);
  MPI_Group group = MPI_GROUP_NULL;
  handled = 0;
  CHECK(class_of(MPI_Group_from_session_pset(session, "mpi://MOON", &group)) == MPI_ERR_ARG && handled == 1,
        "handled %d", handled);
  int length = 0;
  CHECK(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL)) == MPI_ERR_ARG,
        "set 99");
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  CHECK(handled == 3, "handled %d", handled);
  MPI_Session_get_errhandler(session, &found);
  CHECK(found == errhandler, "another error handler");
  MPI_Errhandler_free(&found);
  MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&errhandler);

  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm = MPI_COMM_NULL;
  char* tag = malloc(70000);
  memset(tag, 'x', 69999);
  tag[69999] = '\0';
  CHECK(class_of(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm)) ==
            MPI_ERR_ARG,
        "a long tag");
  free(tag);
  MPI_Group others;
  MPI_Group_excl(group, 1, &rank, &others);
  if (size > 1) {
    CHECK(class_of(MPI_Comm_create_from_group(others, "mine", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm)) ==
              MPI_ERR_GROUP,
          "a group without this process");
    MPI_Group_free(&others);
  }
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
                MPI_SUCCESS &&
            comm == MPI_COMM_NULL,
        "an empty group");
  MPI_Group_free(&group);

  /* Buffered sends on a session's communicators take the session's buffer. */
  comm = everybody(session, "buffers");
  char data[64] = "x", buffer[4096];
  CHECK(class_of(MPI_Bsend(data, 64, MPI_CHAR, rank, 1, comm)) == MPI_ERR_BUFFER, "no buffer yet");
  MPI_Session_attach_buffer(session, buffer, sizeof buffer);
  CHECK(class_of(MPI_Session_attach_buffer(session, buffer, sizeof buffer)) == MPI_ERR_BUFFER,
        "attached twice");
  MPI_Bsend(data, 64, MPI_CHAR, rank, 1, comm);
  MPI_Recv(data, 64, MPI_CHAR, rank, 1, comm, MPI_STATUS_IGNORE);
  MPI_Session_flush_buffer(session);
  void* address;
  int bytes;
  MPI_Session_detach_buffer(session, &address, &bytes);
  CHECK(address == buffer && bytes == sizeof buffer, "another buffer");
  which_buffer(session, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  ask();
  many_times();
  some_of_us();
  by_threads();
  two_groups();
  wrong();
  int flag;
  MPI_Initialized(&flag);
  CHECK(!flag, "sessions are not the world model");

  /* Around the world model: one session that began before and ends after it. */
  MPI_Session session = open_session(NULL);
  MPI_Comm comm = everybody(session, "around");
  MPI_Init(&argc, &argv);
  sum_up(MPI_COMM_WORLD);
  sum_up(comm);
  many_times();
  MPI_Finalize();
  sum_up(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  many_times();
  two_groups();
  if (rank == 0) printf("sessions: right\n");
  return 0;
}
