/* Handles in numbers. Its arguments:
 *   groups   a communicator, window or file gives the same group each time, millions of times
 *   many     two million datatypes, then two million requests, all held at once
 *   full N   TASUKI_HANDLES_MAX is N: the next call is refused, and its own object's error handler called */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void check_group(MPI_Group first, MPI_Group again, const char* name) {
  int result;
  MPI_Group_compare(first, again, &result);
  CHECK(result == MPI_IDENT, "%s: another group", name);
  CHECK(first == again && MPI_Group_c2f(first) == MPI_Group_c2f(again), "%s: another handle", name);
}

static void check_groups(void) {
  enum { kGroups = 3000000 };
  int rank, size, members;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm, inter = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win);
  MPI_File file;
  MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Group of_comm, of_win, of_file, again;
  MPI_Comm_group(comm, &of_comm);
  MPI_Win_get_group(win, &of_win);
  MPI_File_get_group(file, &of_file);
  for (int i = 0; i < kGroups; ++i) {
    CHECK(MPI_Comm_group(comm, &again) == MPI_SUCCESS, "group %d", i);
    if (i % 1000 == 0) check_group(of_comm, again, "communicator");
    MPI_Win_get_group(win, &again);
    if (i % 1000 == 0) check_group(of_win, again, "window");
    MPI_File_get_group(file, &again);
    if (i % 1000 == 0) check_group(of_file, again, "file");
  }
  for (int i = 0; i < kGroups; ++i) {
    again = of_comm;
    CHECK(MPI_Group_free(&again) == MPI_SUCCESS && again == MPI_GROUP_NULL, "free %d", i);
  }
  MPI_Win_free(&win);
  MPI_File_close(&file);
  MPI_Comm_free(&comm);
  MPI_Group* left[] = {&of_comm, &of_win, &of_file}; /* they outlive what they were asked of */
  for (int i = 0; i < 3; ++i) {
    MPI_Group_size(*left[i], &members);
    CHECK(members == size, "group %d has %d members", i, members);
  }
  if (size > 1) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    MPI_Group remote;
    MPI_Comm_remote_group(inter, &remote);
    MPI_Comm_remote_group(inter, &again);
    check_group(remote, again, "remote group");
    MPI_Comm_group(inter, &of_comm);
    MPI_Group_compare(of_comm, remote, &members);
    CHECK(members == MPI_UNEQUAL, "the two groups of an intercommunicator");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
}

static void check_many(void) {
  enum { kMany = 2200000 };
  void* memory = malloc(kMany * sizeof(void*));
  MPI_Datatype* types = memory;
  for (int i = 0; i < kMany; ++i) MPI_Type_contiguous(1 + i % 7, MPI_CHAR, &types[i]);
  for (int i = 0; i < kMany; ++i) {
    int bytes = 0;
    MPI_Type_size(MPI_Type_f2c(MPI_Type_c2f(types[i])), &bytes);
    CHECK(bytes == 1 + i % 7, "datatype %d has %d bytes", i, bytes);
  }
  const MPI_Datatype last = types[kMany - 1];
  for (int i = 0; i < kMany; ++i) MPI_Type_free(&types[i]);
  int bytes;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_size(last, &bytes) != MPI_SUCCESS, "a datatype that was freed is still there");
  MPI_Request* requests = memory;
  char sent = 'a', got = 'b';
  for (int i = 0; i < kMany; ++i) {
    if (i % 2 == 0)
      MPI_Send_init(&sent, 1, MPI_CHAR, 0, i / 2 % 1000, MPI_COMM_SELF, &requests[i]);
    else
      MPI_Recv_init(&got, 1, MPI_CHAR, 0, i / 2 % 1000, MPI_COMM_SELF, &requests[i]);
  }
  MPI_Startall(2, &requests[kMany - 2]); /* handles of both forms */
  MPI_Waitall(2, &requests[kMany - 2], MPI_STATUSES_IGNORE);
  CHECK(got == sent, "the last pair of requests");
  got = 'b';
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(got == sent, "the first pair of requests");
  for (int i = 0; i < kMany; ++i) MPI_Request_free(&requests[i]);
  free(memory);
}

/* What the error handlers were called for. */
static void* owner;
static int owner_class;

static void take(void* object, int code) {
  owner = object;
  MPI_Error_class(code, &owner_class);
}
static void on_comm(MPI_Comm* comm, int* code, ...) {
  take(comm, *code);
}
static void on_win(MPI_Win* win, int* code, ...) {
  take(win, *code);
}
static void on_file(MPI_File* file, int* code, ...) {
  take(file, *code);
}

/* Whether the call was refused, by the handler of `kind`. */
#define REFUSED(call)                                                                                   \
  do {                                                                                                  \
    owner = NULL;                                                                                       \
    CHECK((call) != MPI_SUCCESS && owner != NULL && owner_class == MPI_ERR_NO_MEM, "%s: %p, %d", #call, \
          owner, owner_class);                                                                          \
  } while (0)

static void check_full(int limit) {
  MPI_Comm comm, made;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win);
  MPI_File file;
  MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Errhandler handlers[3];
  MPI_Comm_create_errhandler(on_comm, &handlers[0]);
  MPI_Win_create_errhandler(on_win, &handlers[1]);
  MPI_File_create_errhandler(on_file, &handlers[2]);
  MPI_Comm_set_errhandler(comm, handlers[0]);
  MPI_Win_set_errhandler(win, handlers[1]);
  MPI_File_set_errhandler(file, handlers[2]);
  MPI_Datatype type, parts[2], pair;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_contiguous(2, type, &pair);
  MPI_Type_free(&type); /* `pair` alone knows it now */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

  MPI_Info* infos = malloc((size_t)limit * sizeof(MPI_Info));
  int made_infos = 0, code;
  while ((code = MPI_Info_create(&infos[made_infos])) == MPI_SUCCESS) ++made_infos;
  CHECK(infos[made_infos] == MPI_INFO_NULL, "an info object after all");
  CHECK(made_infos < limit && made_infos > limit - 20, "%d info objects", made_infos);
  char text[MPI_MAX_ERROR_STRING], expected[100];
  int length;
  MPI_Error_string(code, text, &length);
  snprintf(expected, sizeof expected, "all %d handles are in use, of which %d are info objects", limit,
           made_infos);
  CHECK(strstr(text, expected) != NULL && strstr(text, "MPI_Info_create") != NULL, "%s", text);

  int value = 1, got = 0, integers[2];
  MPI_Aint addresses[1];
  MPI_Request request;
  MPI_Group group;
  MPI_Message message;
  int flag = 0;
  REFUSED(MPI_Comm_dup(comm, &made));
  CHECK(made == MPI_COMM_NULL, "a communicator after all");
  REFUSED(MPI_Comm_group(comm, &group));
  REFUSED(MPI_Win_get_group(win, &group));
  REFUSED(MPI_File_get_group(file, &group));
  REFUSED(MPI_Isend(&value, 1, MPI_INT, 0, 0, comm, &request));
  CHECK(request == MPI_REQUEST_NULL, "a request after all");
  REFUSED(MPI_Irecv(&got, 1, MPI_INT, 0, 0, comm, &request));
  REFUSED(MPI_Ibarrier(comm, &request));
  REFUSED(MPI_Improbe(MPI_ANY_SOURCE, 0, comm, &flag, &message, MPI_STATUS_IGNORE));
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "the send that was refused has sent");
  CHECK(MPI_Type_get_contents(pair, 1, 0, 1, integers, addresses, parts) != MPI_SUCCESS, "contents");
  CHECK(MPI_Type_contiguous(2, MPI_INT, &type) != MPI_SUCCESS && type == MPI_DATATYPE_NULL, "a datatype");

  MPI_Info_free(&infos[--made_infos]); /* and all goes on */
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(comm, &group);
  MPI_Group_free(&group);
  MPI_Group_free(&group);
  MPI_Info_free(&infos[--made_infos]);
  CHECK(MPI_Type_get_contents(pair, 1, 0, 1, integers, addresses, parts) == MPI_SUCCESS, "contents");
  MPI_Type_free(&parts[0]);
  MPI_Barrier(comm);
  while (made_infos > 0) MPI_Info_free(&infos[--made_infos]);
  free(infos);
  MPI_Type_free(&pair);
  MPI_File_close(&file);
  MPI_Win_free(&win);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "groups") == 0) check_groups();
  if (strcmp(what, "many") == 0) check_many();
  if (strcmp(what, "full") == 0) check_full(atoi(argv[2]));
  MPI_Finalize();
  return 0;
}
