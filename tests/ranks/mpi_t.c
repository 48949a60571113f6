/* MPI_T's control and performance variables, categories and enumerations: every function with good and bad
 * arguments, and counters that agree exactly with the messages that were sent. Arguments: NAME:MIN:MAX, the
 * ranges of variables. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define GOOD(call)                                               \
  do {                                                           \
    const int good_code = (call);                                \
    CHECK(good_code == MPI_SUCCESS, "%s: %d", #call, good_code); \
  } while (0)
#define FAILS(call, expected)                                                         \
  do {                                                                                \
    const int bad_code = (call);                                                      \
    CHECK(bad_code == (expected), "%s: %d, expected %s", #call, bad_code, #expected); \
  } while (0)

static int rank, size;

static int cvar(const char* name) {
  int index = -1;
  GOOD(MPI_T_cvar_get_index(name, &index));
  return index;
}

static int pvar(const char* name, int var_class) {
  int index = -1;
  FAILS(MPI_T_pvar_get_index(name, var_class, &index), MPI_SUCCESS);
  return index;
}

/* Before MPI_T_init_thread nothing works, and it is counted. */
static void init_and_finalize(void) {
  int number, provided;
  MPI_T_pvar_session session;
  FAILS(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_event_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_category_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_init_thread(-7, &provided), MPI_T_ERR_INVALID);
  GOOD(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE, "provided %d", provided);
  GOOD(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  GOOD(MPI_T_finalize());
  GOOD(MPI_T_cvar_get_num(&number));
  CHECK(number > 0, "no control variables");
}

static void strings(void) {
  char name[64];
  int length = 0, whole;
  const int index = cvar("TASUKI_EAGER_BYTES_MAX");
  GOOD(MPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  whole = length;
  CHECK(whole == (int)sizeof "TASUKI_EAGER_BYTES_MAX", "length %d", whole);
  length = 7;
  memset(name, 'x', sizeof name);
  GOOD(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(strcmp(name, "TASUKI") == 0 && name[7] == 'x' && length == whole, "cut: '%s', %d", name, length);
  memset(name, 'x', sizeof name);
  GOOD(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(name[0] == 'x', "a name without a length was written");
  CHECK(cvar("TASUKI_PROTOCOL_PULL") == cvar("TASUKI_PROTOCOL_GET"), "the former name of a setting");
  CHECK(pvar("sent_pull_bytes", MPI_T_PVAR_CLASS_AGGREGATE) ==
            pvar("sent_get_bytes", MPI_T_PVAR_CLASS_AGGREGATE),
        "the former name of a counter");
  CHECK(pvar("bcast_flags", MPI_T_PVAR_CLASS_COUNTER) == pvar("bcast_flag_based", MPI_T_PVAR_CLASS_COUNTER),
        "the former name of an algorithm's counter");
  FAILS(MPI_T_cvar_get_index("tasuki_no_such_thing", &length), MPI_T_ERR_INVALID_NAME);
  FAILS(MPI_T_cvar_get_index(NULL, &length), MPI_T_ERR_INVALID);
  FAILS(MPI_T_cvar_get_index("TASUKI_EXPLAIN", NULL), MPI_T_ERR_INVALID);
}

/* Every variable says something about itself, and its enumeration is whole. */
static void every_control_variable(void) {
  int number;
  GOOD(MPI_T_cvar_get_num(&number));
  for (int index = 0; index < number; ++index) {
    char name[64], text[256], item[64];
    int name_length = sizeof name, text_length = sizeof text, verbosity, bind, scope, found, items;
    MPI_Datatype type;
    MPI_T_enum values;
    GOOD(MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, text, &text_length, &bind,
                             &scope));
    GOOD(MPI_T_cvar_get_index(name, &found));
    CHECK(found == index && text_length > 1 && bind == MPI_T_BIND_NO_OBJECT, "%s", name);
    CHECK(scope == MPI_T_SCOPE_LOCAL || scope == MPI_T_SCOPE_ALL_EQ, "%s: scope %d", name, scope);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL, "%s", name);
    CHECK(type == MPI_INT || (type == MPI_UNSIGNED_LONG && values == MPI_T_ENUM_NULL), "%s", name);
    if (values == MPI_T_ENUM_NULL) continue;
    name_length = sizeof name;
    GOOD(MPI_T_enum_get_info(values, &items, name, &name_length));
    CHECK(items >= 2, "%s: %d items", name, items);
    for (int i = 0; i < items; ++i) {
      int value = -1, item_length = sizeof item;
      GOOD(MPI_T_enum_get_item(values, i, &value, item, &item_length));
      CHECK(value == i && item_length > 1, "%s: %d", name, value);
    }
    FAILS(MPI_T_enum_get_item(values, items, &items, item, &name_length), MPI_T_ERR_INVALID_INDEX);
  }
  FAILS(MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

static long read_value(MPI_T_cvar_handle handle, int is_wide) {
  unsigned long wide;
  int narrow;
  GOOD(MPI_T_cvar_read(handle, is_wide ? (void*)&wide : (void*)&narrow));
  return is_wide ? (long)wide : narrow;
}
static int write_value(MPI_T_cvar_handle handle, int is_wide, long value) {
  const unsigned long wide = (unsigned long)value;
  const int narrow = (int)value;
  return MPI_T_cvar_write(handle, is_wide ? (const void*)&wide : (const void*)&narrow);
}

/* Every variable takes what was read of it, at any time, and, where it can be set now, all of its range. */
static void ranges_of_control_variables(int running, int ranges, char** range) {
  int number, handles;
  GOOD(MPI_T_cvar_get_num(&number));
  CHECK(ranges == 0 || ranges == number, "%d ranges of %d variables", ranges, number);
  for (int index = 0; index < number; ++index) {
    char name[64];
    int length = sizeof name;
    MPI_Datatype type;
    MPI_T_cvar_handle handle;
    GOOD(MPI_T_cvar_get_info(index, name, &length, NULL, &type, NULL, NULL, NULL, NULL, NULL));
    GOOD(MPI_T_cvar_handle_alloc(index, NULL, &handle, &handles));
    const int is_wide = type == MPI_UNSIGNED_LONG;
    const long before = read_value(handle, is_wide);
    CHECK(write_value(handle, is_wide, before) == MPI_SUCCESS, "%s: cannot write the %ld that it has", name,
          before);
    for (int i = 0; i < ranges; ++i) {
      const size_t name_bytes = strlen(name);
      if (strncmp(range[i], name, name_bytes) != 0 || range[i][name_bytes] != ':') continue;
      char* end;
      const long limits[2] = {strtol(range[i] + name_bytes + 1, &end, 10), strtol(end + 1, NULL, 10)};
      for (int side = 0; side < 2; ++side) {
        const int code = write_value(handle, is_wide, limits[side]);
        if (running && code == MPI_T_ERR_CVAR_SET_NOT_NOW) continue;
        CHECK(code == MPI_SUCCESS, "%s: cannot write %ld: %d", name, limits[side], code);
        CHECK(read_value(handle, is_wide) == limits[side], "%s: %ld is lost", name, limits[side]);
        const long outside = limits[side] + (side == 0 ? -1 : 1);
        const int refused = write_value(handle, is_wide, outside);
        if (running && refused == MPI_T_ERR_CVAR_SET_NOT_NOW) continue;
        CHECK(refused == MPI_T_ERR_INVALID || (side == 0 && outside <= 0 && refused == MPI_SUCCESS),
              "%s: takes %ld: %d", name, outside, refused);
      }
    }
    CHECK(write_value(handle, is_wide, before) == MPI_SUCCESS, "%s: cannot put %ld back", name, before);
    GOOD(MPI_T_cvar_handle_free(&handle));
  }
}

static void write_control_variables(int running) {
  MPI_T_cvar_handle eager, ring, stale;
  unsigned long value, before, huge = 1UL << 40;
  int count, spin = -5;
  GOOD(MPI_T_cvar_handle_alloc(cvar("TASUKI_EAGER_BYTES_MAX"), NULL, &eager, &count));
  GOOD(MPI_T_cvar_handle_alloc(cvar("TASUKI_RING_BYTES"), NULL, &ring, &count));
  CHECK(count == 1, "count %d", count);
  GOOD(MPI_T_cvar_read(eager, &before));
  value = 12345;
  GOOD(MPI_T_cvar_write(eager, &value));
  value = 0;
  GOOD(MPI_T_cvar_read(eager, &value));
  CHECK(value == 12345, "read %lu", value);
  FAILS(MPI_T_cvar_write(eager, &huge), MPI_T_ERR_INVALID);
  GOOD(MPI_T_cvar_write(eager, &before));
  value = running ? 262144 : 131072;
  FAILS(MPI_T_cvar_write(ring, &value), running ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_SUCCESS);
  GOOD(MPI_T_cvar_read(ring, &value));
  CHECK(value == 131072, "what was written before MPI_Init is lost: %lu", value);
  FAILS(MPI_T_cvar_read(eager, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_cvar_write(eager, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_cvar_handle_alloc(9999, NULL, &stale, &count), MPI_T_ERR_INVALID_INDEX);
  stale = eager;
  GOOD(MPI_T_cvar_handle_free(&eager));
  CHECK(eager == MPI_T_CVAR_HANDLE_NULL, "a freed handle is not null");
  FAILS(MPI_T_cvar_read(stale, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_cvar_write(stale, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_cvar_handle_free(&stale), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_cvar_handle_free(&eager), MPI_T_ERR_INVALID_HANDLE);
  GOOD(MPI_T_cvar_handle_free(&ring));
  GOOD(MPI_T_cvar_handle_alloc(cvar("TASUKI_SPIN_COUNT"), NULL, &eager, &count));
  FAILS(MPI_T_cvar_write(eager, &spin), MPI_T_ERR_INVALID);
  GOOD(MPI_T_cvar_handle_free(&eager));
}

static void categories(void) {
  int number, variables = 0, cvars_in_all, pvars_in_all, events_in_all, stamp, root, child;
  GOOD(MPI_T_category_get_num(&number));
  GOOD(MPI_T_cvar_get_num(&cvars_in_all));
  GOOD(MPI_T_pvar_get_num(&pvars_in_all));
  GOOD(MPI_T_event_get_num(&events_in_all));
  for (int index = 0; index < number; ++index) {
    char name[64];
    int length = sizeof name, cvars, pvars, events, children, found, list[128];
    GOOD(MPI_T_category_get_info(index, name, &length, NULL, NULL, &cvars, &pvars, &children));
    GOOD(MPI_T_category_get_num_events(index, &events));
    GOOD(MPI_T_category_get_index(name, &found));
    CHECK(found == index, "%s", name);
    GOOD(MPI_T_category_get_cvars(index, 128, list));
    for (int i = 0; i < cvars; ++i) CHECK(list[i] >= 0 && list[i] < cvars_in_all, "%s", name);
    GOOD(MPI_T_category_get_pvars(index, 128, list));
    for (int i = 0; i < pvars; ++i) CHECK(list[i] >= 0 && list[i] < pvars_in_all, "%s", name);
    list[1] = -77;
    GOOD(MPI_T_category_get_pvars(index, 1, list));
    CHECK(list[1] == -77, "%s: more written than there is room for", name);
    GOOD(MPI_T_category_get_events(index, 128, list));
    variables += cvars + pvars + events;
  }
  CHECK(variables == cvars_in_all + pvars_in_all + events_in_all, "%d in categories", variables);
  GOOD(MPI_T_category_get_index("tasuki", &root));
  GOOD(MPI_T_category_get_categories(root, 1, &child));
  CHECK(child != root, "the root is its own child");
  GOOD(MPI_T_category_changed(&stamp));
  FAILS(MPI_T_category_get_index("nothing", &number), MPI_T_ERR_INVALID_NAME);
  FAILS(MPI_T_category_get_cvars(999, 1, &child), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_category_get_cvars(root, 1, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
}

static unsigned long read_count(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long value = 999999;
  GOOD(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static MPI_T_pvar_handle started(MPI_T_pvar_session session, const char* name, int var_class) {
  MPI_T_pvar_handle handle;
  int count;
  GOOD(MPI_T_pvar_handle_alloc(session, pvar(name, var_class), NULL, &handle, &count));
  CHECK(count == 1, "%s: %d", name, count);
  GOOD(MPI_T_pvar_start(session, handle));
  return handle;
}

/* The ways that a message of some size may go. */
static const char* const kShort[] = {"short", NULL};
static const char* const kEager[] = {"eager", NULL};
static const char* const kLarge[] = {"get", "cooperative", "sender_write", "put", "two_copy", NULL};

/* Each rank sends `messages` of `bytes` around the ring: what was sent and what came is counted exactly. */
static void count_messages(const char* const* ways, int bytes, int messages) {
  const char* const what[] = {"sent_%s_messages", "received_%s_messages", "sent_%s_bytes",
                              "received_%s_bytes"};
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handles[4][6];
  char* out = calloc(1, (size_t)bytes);
  char* in = calloc(1, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  GOOD(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < 4; ++i) {
    for (int way = 0; ways[way] != NULL; ++way) {
      char name[64];
      snprintf(name, sizeof name, what[i], ways[way]);
      handles[i][way] = started(session, name, i < 2 ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_AGGREGATE);
    }
  }
  /* No rank sends before all have started, nor stops before all has come. The barriers' own messages are
   * short and empty: log2 of the ranks for each of them, and maybe some of the next one; or there are none,
   * where the barriers go over flags. */
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < messages; ++i) {
    MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 0, in, bytes, MPI_BYTE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  GOOD(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  unsigned long rounds = 0, got[4] = {0, 0, 0, 0};
  for (int reach = 1; reach < size; reach *= 2) ++rounds;
  if (ways != kShort) rounds = 0;
  for (int i = 0; i < 4; ++i) {
    for (int way = 0; ways[way] != NULL; ++way) got[i] += read_count(session, handles[i][way]);
  }
  if (got[0] == (unsigned long)messages) rounds = 0;
  const unsigned long sent = (unsigned long)messages + 2 * rounds;
  CHECK(got[0] == sent, "%s: %lu sent", ways[0], got[0]);
  CHECK(got[1] >= sent - rounds && got[1] <= sent + rounds, "%s: %lu received", ways[0], got[1]);
  CHECK(got[2] == (unsigned long)messages * (unsigned long)bytes, "%s: %lu bytes sent", ways[0], got[2]);
  CHECK(got[3] == (unsigned long)messages * (unsigned long)bytes, "%s: %lu bytes received", ways[0], got[3]);
  GOOD(MPI_T_pvar_session_free(&session));
  CHECK(session == MPI_T_PVAR_SESSION_NULL, "a freed session is not null");
  free(out);
  free(in);
}

/* Two sessions do not see each other's starts, stops, writes and resets. */
static void sessions(void) {
  const int me = 0;
  int got;
  unsigned long value = 100;
  MPI_T_pvar_session one, two;
  GOOD(MPI_T_pvar_session_create(&one));
  GOOD(MPI_T_pvar_session_create(&two));
  MPI_T_pvar_handle first = started(one, "collectives", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle second = started(two, "collectives", MPI_T_PVAR_CLASS_COUNTER);
  MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  GOOD(MPI_T_pvar_stop(one, first));
  MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  CHECK(read_count(one, first) == 1 && read_count(two, second) == 2, "stopped and not");
  GOOD(MPI_T_pvar_start(one, first));
  GOOD(MPI_T_pvar_start(one, first)); /* again: nothing happens */
  MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  CHECK(read_count(one, first) == 2 && read_count(two, second) == 3, "started again");
  GOOD(MPI_T_pvar_write(one, first, &value));
  MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  CHECK(read_count(one, first) == 101 && read_count(two, second) == 4, "written");
  GOOD(MPI_T_pvar_readreset(one, first, &value));
  CHECK(value == 101 && read_count(one, first) == 0 && read_count(two, second) == 4, "read and reset");
  FAILS(MPI_T_pvar_read(two, first, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_pvar_start(two, first), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_pvar_handle_free(two, &first), MPI_T_ERR_INVALID_HANDLE);
  GOOD(MPI_T_pvar_handle_free(one, &first));
  CHECK(first == MPI_T_PVAR_HANDLE_NULL, "a freed handle is not null");
  FAILS(MPI_T_pvar_read(one, first, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_pvar_read(two, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
  MPI_T_pvar_session stale = two;
  GOOD(MPI_T_pvar_session_free(&two));
  FAILS(MPI_T_pvar_read(stale, second, &value), MPI_T_ERR_INVALID_SESSION);
  FAILS(MPI_T_pvar_start(stale, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
  FAILS(MPI_T_pvar_session_free(&stale), MPI_T_ERR_INVALID_SESSION);
  GOOD(MPI_T_pvar_session_free(&one));
}

/* Messages that wait for their receive: a level that cannot be written, and its highest value, which can. */
static void levels(void) {
  MPI_T_pvar_session session;
  MPI_T_pvar_handle level, bytes;
  char data[1000] = {0};
  int count;
  GOOD(MPI_T_pvar_session_create(&session));
  GOOD(MPI_T_pvar_handle_alloc(session, pvar("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL), NULL, &level,
                               &count));
  GOOD(MPI_T_pvar_handle_alloc(session, pvar("unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL), NULL, &bytes,
                               &count));
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long level_before = read_count(session, level);
  const unsigned long bytes_before = read_count(session, bytes);
  MPI_T_pvar_handle highest = started(session, "unexpected_messages_highest", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  for (int i = 0; i < 5; ++i) MPI_Send(data, 1000, MPI_BYTE, 0, i, MPI_COMM_SELF);
  MPI_Status status;
  MPI_Probe(0, 4, MPI_COMM_SELF, &status);
  /* Other ranks may be in the barrier below already, whose messages are empty. */
  const unsigned long others = (unsigned long)size;
  const unsigned long in_use = read_count(session, level);
  CHECK(in_use >= level_before + 5 && in_use <= level_before + 5 + others, "level %lu",
        read_count(session, level));
  CHECK(read_count(session, bytes) == bytes_before + 5000, "bytes %lu", read_count(session, bytes));
  for (int i = 0; i < 5; ++i) MPI_Recv(data, 1000, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(read_count(session, level) <= level_before + others, "level %lu", read_count(session, level));
  CHECK(read_count(session, highest) >= 5 + level_before, "highest %lu", read_count(session, highest));
  GOOD(MPI_T_pvar_reset(session, highest));
  CHECK(read_count(session, highest) <= level_before + others, "reset to the level");
  CHECK(read_count(session, bytes) == bytes_before, "bytes %lu at the end", read_count(session, bytes));
  MPI_Barrier(MPI_COMM_WORLD);
  unsigned long value = 3;
  FAILS(MPI_T_pvar_write(session, level, &value), MPI_T_ERR_PVAR_NO_WRITE);
  FAILS(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE);
  FAILS(MPI_T_pvar_start(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
  FAILS(MPI_T_pvar_stop(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
  FAILS(MPI_T_pvar_readreset(session, level, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
  FAILS(MPI_T_pvar_read(session, level, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_pvar_handle_alloc(session, 9999, NULL, &level, &count), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_pvar_get_index("unexpected_messages", MPI_T_PVAR_CLASS_COUNTER, &count),
        MPI_T_ERR_INVALID_NAME);
  GOOD(MPI_T_pvar_session_free(&session));
}

/* A variable of a communicator counts what happens on that one alone. */
static void bound_to_a_communicator(void) {
  const int index = pvar("comm_collectives", MPI_T_PVAR_CLASS_COUNTER);
  int bind, count;
  MPI_Comm copy, null = MPI_COMM_NULL;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  GOOD(MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL, NULL, NULL));
  CHECK(bind == MPI_T_BIND_MPI_COMM, "bind %d", bind);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy); /* the first one may make a node segment, by collectives of its own */
  GOOD(MPI_T_pvar_session_create(&session));
  FAILS(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_pvar_handle_alloc(session, index, &null, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
  GOOD(MPI_T_pvar_handle_alloc(session, index, &copy, &handle, &count));
  GOOD(MPI_T_pvar_start(session, handle));
  MPI_Barrier(copy);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(copy);
  CHECK(read_count(session, handle) == 2, "%lu", read_count(session, handle));
  MPI_Comm_free(&copy); /* the handle lives on */
  CHECK(read_count(session, handle) == 2, "%lu after free", read_count(session, handle));
  GOOD(MPI_T_pvar_session_free(&session));
}

/* A forced algorithm is the one that runs, and is counted. */
static void forced_algorithms(void) {
  const char* const names[] = {"allreduce_recursive_doubling", "allreduce_halving_doubling",
                               "allreduce_ring"};
  MPI_T_cvar_handle choice;
  MPI_T_pvar_session session;
  int count, cheapest = 0;
  GOOD(MPI_T_pvar_session_create(&session));
  GOOD(MPI_T_cvar_handle_alloc(cvar("TASUKI_ALLREDUCE_ALGORITHM"), NULL, &choice, &count));
  for (int algorithm = 1; algorithm <= 3; ++algorithm) {
    MPI_T_pvar_handle handle = started(session, names[algorithm - 1], MPI_T_PVAR_CLASS_COUNTER);
    int values[3] = {rank, 2 * rank, 1}, sums[3] = {0};
    GOOD(MPI_T_cvar_write(choice, &algorithm));
    for (int i = 0; i < 4; ++i) MPI_Allreduce(values, sums, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(read_count(session, handle) == 4, "%s: %lu", names[algorithm - 1], read_count(session, handle));
    CHECK(sums[0] == size * (size - 1) / 2 && sums[1] == size * (size - 1) && sums[2] == size, "sums");
  }
  GOOD(MPI_T_cvar_write(choice, &cheapest));
  GOOD(MPI_T_cvar_handle_free(&choice));
  GOOD(MPI_T_pvar_session_free(&session));
}

int main(int argc, char** argv) {
  init_and_finalize();
  strings();
  ranges_of_control_variables(0, argc - 1, argv + 1);
  write_control_variables(0);
  every_control_variable();
  MPI_T_pvar_session session;
  GOOD(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle collectives = started(session, "collectives", MPI_T_PVAR_CLASS_COUNTER);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  every_control_variable();
  ranges_of_control_variables(1, argc - 1, argv + 1);
  write_control_variables(1);
  categories();
  count_messages(kShort, 8, 25);
  count_messages(kEager, 3000, 25); /* less than what is advertised */
  count_messages(kLarge, 300000, 5);
  sessions();
  levels();
  bound_to_a_communicator();
  forced_algorithms();
  ranges_of_control_variables(1, 0, NULL); /* with what the program has set */
  const unsigned long counted = read_count(session, collectives);
  MPI_Finalize();
  /* The handle of before MPI_Init is still good, and saw the barrier of MPI_Finalize. */
  unsigned long after = 0;
  if (MPI_T_pvar_read(session, collectives, &after) != MPI_SUCCESS || after <= counted) {
    fprintf(stderr, "after MPI_Finalize: %lu collectives, before %lu\n", after, counted);
    return 1;
  }
  if (MPI_T_finalize() != MPI_SUCCESS || MPI_T_finalize() != MPI_T_ERR_NOT_INITIALIZED) return 1;
  if (rank == 0) printf("mpi_t: right\n");
  return 0;
}
