// User functions that do not return: an error handler, or another callback, is left by longjmp or an
// exception. Afterwards this thread's and another thread's calls work, and nothing says that the call goes
// on.
//
// Arguments: "throw" or "jump"; "single" or "multiple", the thread level; "handlers", "callbacks" or "die".
#include <mpi.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#define CHECK(condition, ...)                              \
  do {                                                     \
    if (!(condition)) {                                    \
      std::fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
      std::fprintf(stderr, __VA_ARGS__);                   \
      std::fprintf(stderr, "\n");                          \
      MPI_Abort(MPI_COMM_WORLD, 1);                        \
    }                                                      \
  } while (0)

namespace {

struct Left {};

bool by_throw;
bool has_threads;
thread_local std::jmp_buf place;
int rank, size, left;

[[noreturn]] void leave() {
  if (by_throw) throw Left{};
  std::longjmp(place, 1);
}

void comm_handler(MPI_Comm*, int*, ...) {
  leave();
}
void win_handler(MPI_Win*, int*, ...) {
  leave();
}
void file_handler(MPI_File*, int*, ...) {
  leave();
}
void session_handler(MPI_Session*, int*, ...) {
  leave();
}

/// Carries out `action`, which has to leave through a user's function.
template <class Action>
[[gnu::noinline]] void is_left(const char* name, Action&& action) {
  volatile bool came_back = false;
  if (by_throw) {
    try {
      action();
      came_back = true;
    } catch (const Left&) {
    }
  } else if (setjmp(place) == 0) {
    action();
    came_back = true;
  }
  CHECK(!came_back, "%s came back", name);
  ++left;
}

/// Calls of one thread, with a message that has to wait.
void talk(MPI_Comm comm, int tag) {
  int out = tag, in = 0;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, rank, tag, comm, &request);
  MPI_Ssend(&out, 1, MPI_INT, rank, tag, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == tag, "%d came instead of %d", in, tag);
}

void all_can_go_on(MPI_Comm comm) {
  if (has_threads) std::thread([&] { talk(comm, 1); }).join();
  talk(comm, 2);
  if (has_threads) std::thread([&] { talk(comm, 3); }).join();
}

int copy_that_fails_inside(MPI_Comm comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_Send(nullptr, 0, MPI_INT, 4711, 0, comm);  // comm's handler leaves this and MPI_Comm_dup
}
int copy_that_leaves(MPI_Comm, int, void*, void*, void*, int*) {
  leave();
}
int delete_that_leaves(MPI_Comm, int, void*, void*) {
  leave();
}
int query_that_leaves(void*, MPI_Status*) {
  leave();
}
int free_nothing(void*) {
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) {
  return MPI_SUCCESS;
}
void operation_that_leaves(void*, void*, int*, MPI_Datatype*) {
  leave();
}

/// A copy callback whose own call is left within it: it catches that and goes on.
int copy_that_catches(MPI_Comm comm, int, void*, void*, void*, int* flag) {
  is_left("MPI_Send in a callback", [&] { MPI_Send(nullptr, 0, MPI_INT, 4711, 0, comm); });
  talk(comm, 9);
  *flag = 0;
  return MPI_SUCCESS;
}

/// The handlers of windows, files and sessions.
void others_handlers(MPI_Comm comm) {
  const auto check = [&](const char* name, auto&& action) {
    is_left(name, action);
    all_can_go_on(comm);
  };
  int data[2] = {};
  MPI_Errhandler handler;
  MPI_Win win;
  MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_create_errhandler(win_handler, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  check("MPI_Win_complete", [&] { MPI_Win_complete(win); });
  MPI_Win_free(&win);
  MPI_File_create_errhandler(file_handler, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_Errhandler_free(&handler);
  MPI_File file;
  check("MPI_File_open",
        [&] { MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file); });
  MPI_Session_create_errhandler(session_handler, &handler);
  MPI_Session session;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "none such");
  check("MPI_Session_init", [&] { MPI_Session_init(info, handler, &session); });
  MPI_Info_free(&info);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Group group;
  check("MPI_Group_from_session_pset", [&] { MPI_Group_from_session_pset(session, "none", &group); });
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
}

void handlers() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(comm_handler, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Errhandler_free(&handler);
  int data[2] = {}, keyval;
  MPI_Request request;
  const auto check = [&](const char* name, auto&& action) {
    is_left(name, action);
    all_can_go_on(MPI_COMM_WORLD);
    all_can_go_on(comm);
  };
  check("MPI_Send", [&] { MPI_Send(data, 1, MPI_INT, size, 0, comm); });
  check("MPI_Isend", [&] { MPI_Isend(data, 1, MPI_INT, size, 0, comm, &request); });
  check("MPI_Recv that cuts", [&] {
    MPI_Isend(data, 2, MPI_INT, rank, 5, comm, &request);
    MPI_Recv(data, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
  });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("MPI_Waitall", [&] {
    MPI_Irecv(data, 1, MPI_INT, rank, 5, comm, &request);
    MPI_Send(data, 2, MPI_INT, rank, 5, comm);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  });
  CHECK(request == MPI_REQUEST_NULL, "the request is still there");
  check("MPI_Comm_call_errhandler", [&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); });
  check("MPI_Comm_split", [&] {
    MPI_Comm part = comm;
    MPI_Comm_split(comm, -5, 0, &part);
  });
  check("MPI_Type_contiguous", [&] {
    MPI_Datatype type;
    MPI_Type_contiguous(-1, MPI_INT, &type);
  });
  others_handlers(comm);

  // A call inside a callback: its handler leaves both calls, or the callback catches it.
  MPI_Comm_create_keyval(copy_that_fails_inside, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(comm, keyval, nullptr);
  MPI_Comm copy;
  is_left("MPI_Comm_dup", [&] { MPI_Comm_dup(comm, &copy); });
  talk(comm, 4);
  all_can_go_on(comm);
  MPI_Comm_delete_attr(comm, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_create_keyval(copy_that_catches, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(comm, keyval, nullptr);
  CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS, "MPI_Comm_dup");
  all_can_go_on(copy);
  MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_free(&comm);
}

/// Other callbacks: this thread's next call gives the lock back.
void callbacks() {
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int keyval, in = 1, out = 1;
  MPI_Comm_create_keyval(copy_that_leaves, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(comm, keyval, nullptr);
  is_left("MPI_Comm_dup", [&] { MPI_Comm_dup(comm, &copy); });
  talk(comm, 4);
  all_can_go_on(comm);
  MPI_Comm_delete_attr(comm, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_that_leaves, &keyval, nullptr);
  MPI_Comm_set_attr(comm, keyval, nullptr);
  is_left("MPI_Comm_delete_attr", [&] { MPI_Comm_delete_attr(comm, keyval); });
  talk(MPI_COMM_WORLD, 4);
  all_can_go_on(MPI_COMM_WORLD);
  MPI_Op op;
  MPI_Op_create(operation_that_leaves, 1, &op);
  is_left("MPI_Reduce_local", [&] { MPI_Reduce_local(&in, &out, 1, MPI_INT, op); });
  talk(MPI_COMM_WORLD, 4);
  all_can_go_on(MPI_COMM_WORLD);
  MPI_Op_free(&op);
  MPI_Request request;
  MPI_Grequest_start(query_that_leaves, free_nothing, cancel_nothing, nullptr, &request);
  MPI_Grequest_complete(request);
  is_left("MPI_Wait", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
  talk(MPI_COMM_WORLD, 4);
  all_can_go_on(MPI_COMM_WORLD);
}

/// What is told of a rank that has left calls, also one inside of another, and dies after one that has ended.
void die() {
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(comm_handler, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  int keyval;
  MPI_Comm_create_keyval(copy_that_fails_inside, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(comm, keyval, nullptr);
  is_left("MPI_Comm_dup", [&] { MPI_Comm_dup(comm, &copy); });
  talk(comm, 4);
  MPI_Comm_create_keyval(copy_that_leaves, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  is_left("MPI_Comm_dup", [&] { MPI_Comm_dup(MPI_COMM_SELF, &copy); });
  talk(comm, 4);
  std::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  by_throw = argc > 1 && std::strcmp(argv[1], "throw") == 0;
  has_threads = argc > 2 && std::strcmp(argv[2], "multiple") == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 3 ? argv[3] : "";
  if (std::strcmp(what, "handlers") == 0) handlers();
  if (std::strcmp(what, "callbacks") == 0) callbacks();
  if (std::strcmp(what, "die") == 0) die();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d calls were left: right\n", left);
  MPI_Finalize();
  return 0;
}
