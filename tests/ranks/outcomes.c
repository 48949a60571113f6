/* What calls give back that have nothing to give, or that fail: the OUT arguments, the code that an error
 * handler or a callback leaves, and whose error handler hears of it. The argument names one group of checks;
 * each line of its output is one that holds. Runs on 1 or more ranks. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size;
static MPI_Status status;

/* ---- nothing there ---- */

static void nothing_is_found(void) {
  MPI_Request requests[2];
  int token[2], index = 77, flag = 77, count = 77, indices[2] = {77, 77};
  for (int i = 0; i < 2; ++i) MPI_Irecv(&token[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Testany(2, requests, &index, &flag, &status);
  CHECK(!flag && index == MPI_UNDEFINED, "MPI_Testany that finds nothing: index %d", index);
  index = 77;
  MPI_Request_get_status_any(2, requests, &index, &flag, &status);
  CHECK(!flag && index == MPI_UNDEFINED, "MPI_Request_get_status_any that finds nothing: index %d", index);
  MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == 0 && indices[0] == 77, "MPI_Testsome that finds nothing: %d", count);
  count = 77;
  MPI_Request_get_status_some(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == 0 && indices[0] == 77, "MPI_Request_get_status_some that finds nothing: %d", count);
  for (int i = 0; i < 2; ++i) MPI_Send(&rank, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  index = count = 77;
  MPI_Testany(2, requests, &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED, "MPI_Testany of no active request: %d", index);
  index = 77;
  MPI_Waitany(2, requests, &index, &status);
  CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE, "MPI_Waitany of none: %d", index);
  MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED, "MPI_Waitsome of none: %d", count);

  MPI_Message message = MPI_MESSAGE_NO_PROC;
  MPI_Status before = {0};
  before.MPI_TAG = 12345;
  status = before;
  MPI_Improbe(rank, 9, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(!flag && message == MPI_MESSAGE_NULL, "MPI_Improbe that finds nothing leaves a message");
  CHECK(status.MPI_TAG == 12345, "MPI_Improbe that finds nothing writes a status");
  MPI_Iprobe(rank, 9, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag && status.MPI_TAG == 12345, "MPI_Iprobe that finds nothing writes a status");
  MPI_Improbe(MPI_PROC_NULL, 9, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(flag && message == MPI_MESSAGE_NO_PROC, "MPI_Improbe of MPI_PROC_NULL");
  MPI_Mrecv(NULL, 0, MPI_INT, &message, &status);

  MPI_Info info;
  MPI_Info_create(&info);
  char value[8] = "as is", *attribute = value;
  int length = 6;
  MPI_Info_get_string(info, "none", &length, value, &flag);
  CHECK(!flag && length == 6 && strcmp(value, "as is") == 0, "MPI_Info_get_string: %d %s", length, value);
  MPI_Info_get_valuelen(info, "none", &length, &flag);
  CHECK(!flag && length == 6, "MPI_Info_get_valuelen: %d", length);
  MPI_Info_free(&info);
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &attribute, &flag);
  CHECK(!flag && attribute == value, "MPI_Comm_get_attr writes what is not there");
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm parent = MPI_COMM_WORLD;
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL, "MPI_Comm_get_parent of nobody's child");
}

/* ---- OUT handles after an error ---- */

#define FAILS(CALL, HANDLE, NULL_HANDLE)                               \
  do {                                                                 \
    CHECK((CALL) != MPI_SUCCESS, "%s succeeded", #CALL);               \
    CHECK(HANDLE == NULL_HANDLE, "%s: its handle is not NULL", #CALL); \
  } while (0)

static int refuse_copy(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)in, (void)out;
  *flag = 0;
  return *(int*)state;
}
static int refuse_delete(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)state;
  return *(int*)value;
}

static void out_handles_are_null(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Comm comm = MPI_COMM_SELF;
  FAILS(MPI_Comm_dup(MPI_COMM_NULL, &comm), comm, MPI_COMM_NULL);
  comm = MPI_COMM_SELF;
  FAILS(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &comm), comm, MPI_COMM_NULL);
  comm = MPI_COMM_SELF;
  FAILS(MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, -9, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE),
        comm, MPI_COMM_NULL);
  int code = MPI_ERR_OTHER, keyval;  // an error of the core, not of a check
  MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &keyval, &code);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  comm = MPI_COMM_SELF;
  FAILS(MPI_Comm_dup(MPI_COMM_SELF, &comm), comm, MPI_COMM_NULL);
  MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Group group = MPI_GROUP_EMPTY, world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  FAILS(MPI_Group_incl(world, 1, (int[]){-7}, &group), group, MPI_GROUP_NULL);
  MPI_Group_free(&world);
  MPI_Datatype type = MPI_INT;
  FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), type, MPI_DATATYPE_NULL);
  MPI_Op op = MPI_SUM;
  FAILS(MPI_Op_create(NULL, 1, &op), op, MPI_OP_NULL);
  MPI_Info info = MPI_INFO_ENV;
  FAILS(MPI_Info_dup(MPI_INFO_NULL, &info), info, MPI_INFO_NULL);
  MPI_Request request = (MPI_Request)(intptr_t)8;
  FAILS(MPI_Isend(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &request), request, MPI_REQUEST_NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  FAILS(MPI_Mprobe(size, 0, MPI_COMM_WORLD, &message, &status), message, MPI_MESSAGE_NULL);
  MPI_Win win = (MPI_Win)(intptr_t)8;
  FAILS(MPI_Win_create(&rank, -1, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), win, MPI_WIN_NULL);
  MPI_File file = (MPI_File)(intptr_t)8;
  FAILS(MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), file,
        MPI_FILE_NULL);
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  FAILS(MPI_Comm_get_errhandler(MPI_COMM_NULL, &handler), handler, MPI_ERRHANDLER_NULL);
  MPI_Session session = (MPI_Session)(intptr_t)8;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "none such");
  FAILS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session), session, MPI_SESSION_NULL);
  MPI_Info_free(&info);
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_cvar_handle cvar = (MPI_T_cvar_handle)&provided;
  FAILS(MPI_T_cvar_handle_alloc(-1, NULL, &cvar, &provided), cvar, MPI_T_CVAR_HANDLE_NULL);
  MPI_T_pvar_handle pvar = (MPI_T_pvar_handle)&provided;
  FAILS(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, NULL, &pvar, &provided), pvar,
        MPI_T_PVAR_HANDLE_NULL);
  MPI_T_finalize();
}

/* ---- whose error handler ---- */

static int of_world, of_self, of_comm, seen, becomes = -1;
static void world_hears(MPI_Comm* comm, int* code, ...) {
  CHECK(*comm == MPI_COMM_WORLD, "the handler of MPI_COMM_WORLD got another communicator");
  ++of_world;
  seen = *code;
  if (becomes >= 0) *code = becomes;
}
static void self_hears(MPI_Comm* comm, int* code, ...) {
  CHECK(*comm == MPI_COMM_SELF, "the handler of MPI_COMM_SELF got another communicator");
  ++of_self;
  seen = *code;
  if (becomes >= 0) *code = becomes;
}
static void comm_hears(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++of_comm;
}

static int query(void* state, MPI_Status* its_status) {
  its_status->MPI_SOURCE = its_status->MPI_TAG = MPI_UNDEFINED;
  MPI_Status_set_elements(its_status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(its_status, 0);
  return *(int*)state;
}
static int no_free(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int no_cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

/* Errors that belong to no object. Returns how many there are. */
static int raise_without_object(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(-1, MPI_INT, &type);
  MPI_Op_free(&(MPI_Op){MPI_SUM});
  MPI_Info_free(&(MPI_Info){MPI_INFO_NULL});
  MPI_Group group;
  MPI_Group_incl(MPI_GROUP_EMPTY, 1, (int[]){3}, &group);
  MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_NULL);
  MPI_Free_mem(NULL);
  int code = MPI_ERR_OTHER;
  MPI_Request request;
  MPI_Grequest_start(query, no_free, no_cancel, &code, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Add_error_string(MPI_ERR_TAG, "mine");
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_cvar_get_index("none", &code);  // reaches no handler
  MPI_T_finalize();
  return 7;
}

static void errors_without_object(void) {
  MPI_Errhandler world, self, other;
  MPI_Comm_create_errhandler(world_hears, &world);
  MPI_Comm_create_errhandler(self_hears, &self);
  MPI_Comm_create_errhandler(comm_hears, &other);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
  const int raised = raise_without_object();
  CHECK(of_world == raised && of_self == 0, "only MPI_COMM_WORLD's is set: %d of %d", of_world, raised);
  of_world = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, self);
  CHECK(raise_without_object() == of_self && of_world == 0, "MPI_COMM_SELF's is set: %d", of_self);

  // What belongs to a communicator by a request or message goes there.
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, other);
  of_self = of_world = 0;
  int data[2];
  MPI_Request request;
  MPI_Recv_init(data, 1, MPI_INT, 0, 5, comm, &request);
  MPI_Start(&request);
  MPI_Start(&request);
  CHECK(of_comm == 1, "MPI_Start of an active request: %d", of_comm);
  MPI_Send(data, 2, MPI_INT, 0, 5, comm);
  MPI_Wait(&request, &status);
  CHECK(of_comm == 2, "MPI_Wait of a message that is cut: %d", of_comm);
  MPI_Request_free(&request);
  MPI_Psend_init(data, 1, 1, MPI_INT, 0, 5, comm, MPI_INFO_NULL, &request);
  MPI_Pready(0, request);
  CHECK(of_comm == 3, "MPI_Pready of an inactive request: %d", of_comm);
  MPI_Request_free(&request);
  MPI_Isend(data, 2, MPI_INT, 0, 6, comm, &request);
  MPI_Message message;
  MPI_Mprobe(0, 6, comm, &message, &status);
  MPI_Mrecv(data, -1, MPI_INT, &message, &status);
  CHECK(of_comm == 4, "MPI_Mrecv with a negative count: %d", of_comm);
  MPI_Mrecv(data, 2, MPI_INT, &message, &status);
  MPI_Wait(&request, &status);
  CHECK(of_self == 0 && of_world == 0, "and nobody else: %d %d", of_self, of_world);
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&world);
  MPI_Errhandler_free(&self);
  MPI_Errhandler_free(&other);
}

/* ---- codes ---- */

static void win_hears(MPI_Win* win, int* code, ...) {
  (void)win;
  *code = becomes;
}
static void file_hears(MPI_File* file, int* code, ...) {
  (void)file;
  *code = becomes;
}
static void session_hears(MPI_Session* session, int* code, ...) {
  (void)session;
  *code = becomes;
}

static void a_handler_changes_the_code(void) {
  MPI_Errhandler handler;
  int user_class, user_code, got;
  MPI_Add_error_class(&user_class);
  MPI_Add_error_code(user_class, &user_code);
  const int wanted[] = {MPI_SUCCESS, MPI_ERR_OTHER, user_class, user_code};
  MPI_Comm_create_errhandler(self_hears, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Errhandler_free(&handler);
  MPI_Win win;
  MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_create_errhandler(win_hears, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  MPI_File_create_errhandler(file_hears, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_Errhandler_free(&handler);
  MPI_Session session;
  MPI_Session_create_errhandler(session_hears, &handler);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Errhandler_free(&handler);
  for (int i = 0; i < 4; ++i) {
    becomes = wanted[i];
    MPI_File file;
    MPI_Group group;
    got = MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_SELF);  // a check
    CHECK(got == becomes && seen != becomes, "communicator: %d, expected %d", got, becomes);
    got = MPI_Comm_split(MPI_COMM_SELF, -5, 0, &(MPI_Comm){MPI_COMM_NULL});  // the core
    CHECK(got == becomes, "communicator: %d, expected %d", got, becomes);
    got = MPI_Win_complete(win);
    CHECK(got == becomes, "window: %d, expected %d", got, becomes);
    got = MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    CHECK(got == becomes, "file: %d, expected %d", got, becomes);
    got = MPI_Group_from_session_pset(session, "none", &group);
    CHECK(got == becomes && group == MPI_GROUP_NULL, "session: %d, expected %d", got, becomes);
    // The call of a handler succeeds, whatever the handler makes of the code (MPI 9.3.4).
    got = MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TAG);
    CHECK(got == MPI_SUCCESS && seen == MPI_ERR_TAG, "MPI_Comm_call_errhandler: %d", got);
    CHECK(MPI_Win_call_errhandler(win, MPI_ERR_TAG) == MPI_SUCCESS, "MPI_Win_call_errhandler");
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_TAG) == MPI_SUCCESS, "MPI_File_call_errhandler");
    CHECK(MPI_Session_call_errhandler(session, MPI_ERR_TAG) == MPI_SUCCESS, "MPI_Session_call_errhandler");
  }
  becomes = -1;
  MPI_Session_finalize(&session);
  MPI_Win_free(&win);
  MPI_Remove_error_code(user_code);
  MPI_Remove_error_class(user_class);
}

static int refuse_type_copy(MPI_Datatype type, int keyval, void* state, void* in, void* out, int* flag) {
  (void)type, (void)keyval, (void)in, (void)out;
  *flag = 0;
  return *(int*)state;
}
static int refuse_type_delete(MPI_Datatype type, int keyval, void* value, void* state) {
  (void)type, (void)keyval, (void)state;
  return *(int*)value;
}
static int refuse_win_delete(MPI_Win win, int keyval, void* value, void* state) {
  (void)win, (void)keyval, (void)state;
  return *(int*)value;
}

/* The code that a callback makes of an error of MPI's own, with a text behind it. */
static int code_with_text(void) {
  return MPI_Send(NULL, 0, MPI_INT, 4711, 0, MPI_COMM_SELF);
}

static void callbacks_codes_come_back(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int user_class, user_code, code = 0, got, keyval, type_keyval, win_keyval;
  MPI_Add_error_class(&user_class);
  MPI_Add_error_code(user_class, &user_code);
  const int codes[] = {user_class, user_code, MPI_ERR_OTHER, MPI_ERR_INTERN, code_with_text()};
  MPI_Comm comm, base;
  MPI_Comm_dup(MPI_COMM_WORLD, &base);
  MPI_Comm_create_keyval(refuse_copy, refuse_delete, &keyval, &code);
  MPI_Type_create_keyval(refuse_type_copy, refuse_type_delete, &type_keyval, &code);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, refuse_win_delete, &win_keyval, NULL);
  MPI_Comm_set_attr(base, keyval, &code);
  for (int i = 0; i < 5; ++i) {
    code = codes[i];
    MPI_Request request;
    got = MPI_Comm_dup(base, &comm);
    CHECK(got == code && comm == MPI_COMM_NULL, "MPI_Comm_dup: %d, expected %d", got, code);
    got = MPI_Comm_dup_with_info(base, MPI_INFO_NULL, &comm);
    CHECK(got == code && comm == MPI_COMM_NULL, "MPI_Comm_dup_with_info: %d, expected %d", got, code);
    got = MPI_Comm_idup(base, &comm, &request);
    CHECK(got == code && comm == MPI_COMM_NULL && request == MPI_REQUEST_NULL,
          "MPI_Comm_idup: %d, expected %d", got, code);
    got = MPI_Comm_delete_attr(base, keyval);
    CHECK(got == code, "MPI_Comm_delete_attr: %d, expected %d", got, code);
    got = MPI_Comm_set_attr(base, keyval, &code);
    CHECK(got == code, "MPI_Comm_set_attr over another value: %d, expected %d", got, code);
    comm = base;
    got = MPI_Comm_free(&comm);
    CHECK(got == code && comm == base, "MPI_Comm_free: %d, expected %d", got, code);
    MPI_Datatype type, copy;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, type_keyval, &code);
    got = MPI_Type_dup(type, &copy);
    CHECK(got == code && copy == MPI_DATATYPE_NULL, "MPI_Type_dup: %d, expected %d", got, code);
    got = MPI_Type_free(&type);
    CHECK(got == code && type != MPI_DATATYPE_NULL, "MPI_Type_free: %d, expected %d", got, code);
    MPI_Win win;
    MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_attr(win, win_keyval, &code);
    got = MPI_Win_free(&win);
    CHECK(got == code && win != MPI_WIN_NULL, "MPI_Win_free: %d, expected %d", got, code);
    MPI_Grequest_start(query, no_free, no_cancel, &code, &request);
    MPI_Grequest_complete(request);
    got = MPI_Wait(&request, &status);
    CHECK(got == code, "MPI_Wait for a generalised request: %d, expected %d", got, code);
    MPI_Grequest_start(query, no_free, no_cancel, &code, &request);
    MPI_Grequest_complete(request);
    got = MPI_Waitall(1, &request, &status);
    CHECK(got != MPI_SUCCESS && status.MPI_ERROR == code, "MPI_Waitall: %d, expected %d", status.MPI_ERROR,
          code);
    int error_class;
    MPI_Error_class(got, &error_class);
    CHECK(error_class == MPI_ERR_IN_STATUS, "MPI_Waitall: class %d", error_class);
    const int zero = MPI_SUCCESS;
    code = zero;  // the objects can go now
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS && MPI_Win_free(&win) == MPI_SUCCESS, "freeing");
  }
  code = 12345;  // no error code, so that nobody could ask what it means
  got = MPI_Comm_dup(base, &comm);
  int error_class;
  CHECK(MPI_Error_class(got, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_OTHER, "class of %d",
        got);
  code = MPI_SUCCESS;
  CHECK(MPI_Comm_free(&base) == MPI_SUCCESS, "MPI_Comm_free");
}

/* ---- names and numbers ---- */

static int last_used(void) {
  int *last, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  return *last;
}

static void numbers_of_errors_come_back(void) {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int first_class, keep, user_class, user_code;
  const int none = last_used();
  MPI_Add_error_class(&first_class);
  CHECK(last_used() == first_class, "MPI_LASTUSEDCODE = %d after class %d", last_used(), first_class);
  MPI_Remove_error_class(first_class);
  CHECK(last_used() == none, "MPI_LASTUSEDCODE = %d, expected %d", last_used(), none);
  for (int i = 0; i < 60000; ++i) {  // there are 49,152 numbers
    CHECK(MPI_Add_error_class(&user_class) == MPI_SUCCESS, "class %d", i);
    CHECK(MPI_Add_error_code(user_class, &user_code) == MPI_SUCCESS, "code %d", i);
    CHECK(MPI_Remove_error_class(user_class) != MPI_SUCCESS, "a class with a code goes");
    MPI_Remove_error_code(user_code);
    CHECK(MPI_Remove_error_class(user_class) == MPI_SUCCESS, "class %d does not go", i);
  }
  // Also below one that stays.
  MPI_Add_error_class(&user_class);
  MPI_Add_error_class(&keep);
  MPI_Remove_error_class(user_class);
  CHECK(last_used() == keep, "MPI_LASTUSEDCODE = %d, expected %d", last_used(), keep);
  MPI_Remove_error_class(keep);
}

static void sets_have_names_of_any_case(void) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  const char* names[] = {"mpi://world", "MPI://WORLD", "mpi://World",
                         "mpi://self",  "MPI://Self",  "MPIX://shared"};
  for (int i = 0; i < 6; ++i) {
    const int members = i == 3 || i == 4 ? 1 : size;
    MPI_Group group;
    MPI_Info info;
    CHECK(MPI_Group_from_session_pset(session, names[i], &group) == MPI_SUCCESS, "group of %s", names[i]);
    int its_size = 0, flag, length = 16;
    MPI_Group_size(group, &its_size);
    CHECK(its_size == members, "%s: %d", names[i], its_size);
    MPI_Group_free(&group);
    char value[16] = "";
    CHECK(MPI_Session_get_pset_info(session, names[i], &info) == MPI_SUCCESS, "info of %s", names[i]);
    MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
    CHECK(flag && atoi(value) == members, "%s: %s", names[i], value);
    MPI_Info_free(&info);
    if (i == 5) continue;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", names[i]);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm);
    MPI_Info_free(&info);
    CHECK(comm != MPI_COMM_NULL, "MPI_Comm_split_type by %s", names[i]);
    MPI_Comm_size(comm, &its_size);
    CHECK(its_size == members, "MPI_Comm_split_type by %s: %d", names[i], its_size);
    MPI_Comm_free(&comm);
  }
  MPI_Session_finalize(&session);
}

/* ---- messages of nothing ---- */

#define GOES(CALL) CHECK((CALL) == MPI_SUCCESS, "%s", #CALL)
#define BEGINS(CALL) CHECK((CALL) == MPI_SUCCESS && MPI_Request_free(&r) == MPI_SUCCESS, "%s", #CALL)

static void nothing_needs_no_type(void) {
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Datatype n = MPI_DATATYPE_NULL, raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);  // not committed
  MPI_Request r;
  MPI_Message message;
  char b[8];
  const int p = MPI_PROC_NULL;
  GOES(MPI_Send(b, 0, n, p, 0, w));
  GOES(MPI_Send_c(NULL, 0, n, p, 0, w));
  GOES(MPI_Ssend(b, 0, n, p, 0, w));
  GOES(MPI_Bsend(b, 0, n, p, 0, w));
  GOES(MPI_Rsend(b, 0, n, p, 0, w));
  GOES(MPI_Recv(b, 0, n, p, 0, w, &status));
  BEGINS(MPI_Isend(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Issend(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Ibsend(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Irsend(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Irecv(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Send_init(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Ssend_init(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Bsend_init(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Rsend_init(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Recv_init(b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Psend_init(b, 1, 0, n, p, 0, w, MPI_INFO_NULL, &r));
  BEGINS(MPI_Precv_init(b, 1, 0, n, p, 0, w, MPI_INFO_NULL, &r));
  GOES(MPI_Sendrecv(b, 0, n, p, 0, b, 0, n, p, 0, w, &status));
  GOES(MPI_Sendrecv(b, 0, MPI_INT, p, 0, b, 0, n, p, 0, w, &status));
  GOES(MPI_Sendrecv(b, 0, n, p, 0, b, 0, MPI_INT, p, 0, w, &status));
  GOES(MPI_Sendrecv_replace(b, 0, n, p, 0, p, 0, w, &status));
  BEGINS(MPI_Isendrecv(b, 0, n, p, 0, b, 0, n, p, 0, w, &r));
  BEGINS(MPI_Isendrecv_replace(b, 0, n, p, 0, p, 0, w, &r));
  MPI_Mprobe(p, 0, w, &message, &status);
  GOES(MPI_Mrecv(b, 0, n, &message, &status));
  MPI_Mprobe(p, 0, w, &message, &status);
  BEGINS(MPI_Imrecv(b, 0, n, &message, &r));
  GOES(MPI_Send(b, 0, raw, p, 0, w));
  GOES(MPI_Bcast(NULL, 0, n, 0, w));
  // To another rank, too.
  GOES(MPI_Sendrecv(b, 0, n, (rank + 1) % size, 0, b, 0, n, (rank + size - 1) % size, 0, w, &status));
  int count;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 0, "%d elements of nothing", count);
  // Of something there is no message without a type.
  CHECK(MPI_Send(b, 1, n, p, 0, w) != MPI_SUCCESS, "an element without a type");
  CHECK(MPI_Send(b, 1, raw, p, 0, w) != MPI_SUCCESS, "an element of a type that is not committed");
  CHECK(MPI_Send(b, 0, MPI_INT, p, -5, w) != MPI_SUCCESS, "a negative tag");
  MPI_Type_free(&raw);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct {
    const char* name;
    void (*run)(void);
  } groups[] = {{"nothing", nothing_is_found},
                {"handles", out_handles_are_null},
                {"owners", errors_without_object},
                {"handlers", a_handler_changes_the_code},
                {"callbacks", callbacks_codes_come_back},
                {"numbers", numbers_of_errors_come_back},
                {"sets", sets_have_names_of_any_case},
                {"empty", nothing_needs_no_type}};
  for (unsigned i = 0; i < sizeof groups / sizeof *groups; ++i) {
    if (argc > 1 && strcmp(argv[1], groups[i].name) == 0) groups[i].run();
  }
  MPI_Finalize();
  if (rank == 0) printf("%s: right\n", argv[1]);
  return 0;
}
