/* MPI_T's events and sources: every function with good and bad arguments, callbacks that see exactly what
 * happened, dropped events, and handles that are freed while their callback runs. */
#include "check.h"

#include <stdint.h>
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

/* What the callbacks saw. */
struct Seen {
  int only_tag; /* not 0: events of other messages, as other ranks send them, do not count */
  int calls;
  int dropped;
  int freed;
  int64_t elements[4];
  MPI_Count timestamp;
  MPI_T_event_instance instance;
};

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void* user_data) {
  struct Seen* seen = user_data;
  int64_t copy[4] = {0};
  int source = -1;
  int64_t tag = 0;
  (void)registration;
  if (seen->only_tag != 0) GOOD(MPI_T_event_read(instance, 1, &tag));
  if (tag != seen->only_tag) return;
  ++seen->calls;
  seen->instance = instance;
  CHECK(safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED, "safety %d", (int)safety);
  GOOD(MPI_T_event_get_timestamp(instance, &seen->timestamp));
  GOOD(MPI_T_event_get_source(instance, &source));
  CHECK(source == 0, "source %d", source);
  GOOD(MPI_T_event_copy(instance, copy));
  memcpy(seen->elements, copy, sizeof copy);
  int64_t first = -1;
  if (MPI_T_event_read(instance, 0, &first) == MPI_SUCCESS) CHECK(first == copy[0], "read and copy differ");
  FAILS(MPI_T_event_read(instance, 4, &first), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_event_read(instance, -1, &first), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_event_copy(instance, NULL), MPI_T_ERR_INVALID);
}

static struct Seen* dropped_for;

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                       MPI_T_cb_safety safety, void* user_data) {
  (void)registration, (void)safety, (void)user_data;
  CHECK(source == 0, "source %d", source);
  dropped_for->dropped += (int)count;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* user_data) {
  (void)registration, (void)safety;
  ++((struct Seen*)user_data)->freed;
}

static void free_inside(MPI_T_event_instance instance, MPI_T_event_registration registration,
                        MPI_T_cb_safety safety, void* user_data) {
  struct Seen* seen = user_data;
  (void)instance, (void)safety;
  ++seen->calls;
  GOOD(MPI_T_event_handle_free(registration, seen, on_free));
  CHECK(seen->freed == 0, "freed while its callback runs");
}

static MPI_T_event_registration listen_to(const char* name, MPI_T_cb_safety safety,
                                          MPI_T_event_cb_function* function, struct Seen* seen) {
  MPI_T_event_registration registration;
  int index;
  GOOD(MPI_T_event_get_index(name, &index));
  GOOD(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
  GOOD(MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, seen, function));
  return registration;
}

static void every_event(void) {
  int number;
  GOOD(MPI_T_event_get_num(&number));
  CHECK(number >= 6, "%d events", number);
  for (int index = 0; index < number; ++index) {
    char name[64], text[512], item[64];
    int name_length = sizeof name, text_length = sizeof text, verbosity, elements = 1, bind, found, items = 0;
    MPI_Datatype types[8] = {MPI_CHAR, MPI_CHAR};
    MPI_Aint places[8];
    MPI_T_enum names;
    MPI_Info info;
    GOOD(MPI_T_event_get_info(index, name, &name_length, &verbosity, types, places, &elements, &names, &info,
                              text, &text_length, &bind));
    CHECK(types[1] == MPI_CHAR, "%s: more types than there is room for", name);
    MPI_Info_free(&info);
    int room = 8;
    GOOD(MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &room, NULL, NULL, NULL, NULL, NULL));
    CHECK(room == elements && bind == MPI_T_BIND_NO_OBJECT && text_length > 1, "%s", name);
    for (int i = 0; i < room; ++i) CHECK(types[i] == MPI_INT64_T && places[i] == 8 * i, "%s: %d", name, i);
    GOOD(MPI_T_event_get_index(name, &found));
    CHECK(found == index, "%s", name);
    if (names != MPI_T_ENUM_NULL) GOOD(MPI_T_enum_get_info(names, &items, NULL, NULL));
    CHECK(items == elements, "%s: %d names for %d elements", name, items, elements);
    for (int i = 0; i < items; ++i) {
      int length = sizeof item;
      GOOD(MPI_T_enum_get_item(names, i, &found, item, &length));
    }
  }
  FAILS(MPI_T_event_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_event_get_index("no such event", &number), MPI_T_ERR_INVALID_NAME);
}

static void sources(void) {
  int number;
  char name[32];
  int length = sizeof name;
  MPI_T_source_order order;
  MPI_Count ticks, most, one, two;
  GOOD(MPI_T_source_get_num(&number));
  CHECK(number == 1, "%d sources", number);
  GOOD(MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL));
  CHECK(order == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > ticks, "source %s", name);
  GOOD(MPI_T_source_get_timestamp(0, &one));
  GOOD(MPI_T_source_get_timestamp(0, &two));
  CHECK(two >= one, "the clock goes back");
  FAILS(MPI_T_source_get_timestamp(1, &two), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_source_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
}

/* A message to oneself without a receive. */
static void send_unexpected(int tag, int bytes) {
  char data[2048] = {0};
  MPI_Status status;
  MPI_Send(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_SELF);
  MPI_Probe(0, tag, MPI_COMM_SELF, &status);
  MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void unexpected_messages(void) {
  struct Seen seen = {.only_tag = 77};
  MPI_Count before, after;
  int64_t data[4];
  MPI_T_event_registration registration =
      listen_to("unexpected_message", MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_event, &seen);
  GOOD(MPI_T_source_get_timestamp(0, &before));
  send_unexpected(77, 1500);
  GOOD(MPI_T_source_get_timestamp(0, &after));
  CHECK(seen.calls == 1, "%d calls", seen.calls);
  CHECK(seen.elements[0] == 0 && seen.elements[2] == 1500 && seen.elements[3] == 1,
        "eager, tag 77, 1500 bytes");
  CHECK(seen.timestamp >= before && seen.timestamp <= after, "time stamp");
  FAILS(MPI_T_event_copy(seen.instance, data), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_event_read(seen.instance, 0, data), MPI_T_ERR_INVALID_HANDLE);
  GOOD(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL,
                                     NULL));
  send_unexpected(77, 8);
  CHECK(seen.calls == 1, "called without being registered");
  GOOD(MPI_T_event_handle_free(registration, &seen, on_free));
  CHECK(seen.freed == 1, "%d freed", seen.freed);
  FAILS(MPI_T_event_handle_free(registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

/* A callback that could not stand where events are raised gets none: they are dropped, and told. */
static void dropped_events(void) {
  struct Seen low = {0}, high = {0};
  dropped_for = &low;
  MPI_T_event_registration one = listen_to("unexpected_message", MPI_T_CB_REQUIRE_NONE, on_event, &low);
  GOOD(MPI_T_event_set_dropped_handler(one, on_dropped));
  MPI_T_event_registration two =
      listen_to("unexpected_message", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, on_event, &high);
  send_unexpected(5, 8);
  CHECK(low.calls == 0 && low.dropped >= 1, "%d calls, %d dropped", low.calls, low.dropped);
  CHECK(high.calls >= 1 && high.dropped == 0, "%d calls", high.calls);
  GOOD(MPI_T_event_set_dropped_handler(one, NULL));
  GOOD(MPI_T_event_handle_free(one, NULL, NULL));
  GOOD(MPI_T_event_handle_free(two, NULL, NULL));
  FAILS(MPI_T_event_set_dropped_handler(one, on_dropped), MPI_T_ERR_INVALID_HANDLE);
}

static void communicators(int size) {
  struct Seen created = {0}, freed = {0}, inside = {0};
  MPI_Comm copy;
  MPI_T_event_registration one =
      listen_to("communicator_created", MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_event, &created);
  MPI_T_event_registration two =
      listen_to("communicator_freed", MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_event, &freed);
  listen_to("communicator_freed", MPI_T_CB_REQUIRE_MPI_RESTRICTED, free_inside, &inside);
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(created.calls == i + 1 && created.elements[1] == size, "%d created", created.calls);
    MPI_Comm_free(&copy);
    CHECK(freed.calls == i + 1 && freed.elements[0] == created.elements[0], "%d freed", freed.calls);
  }
  CHECK(inside.calls == 1 && inside.freed == 1, "%d calls, %d freed", inside.calls, inside.freed);
  GOOD(MPI_T_event_handle_free(one, NULL, NULL));
  GOOD(MPI_T_event_handle_free(two, NULL, NULL));
}

static void infos_and_bad_arguments(void) {
  MPI_T_event_registration registration;
  MPI_Info info, used;
  int keys;
  MPI_Info_create(&info);
  GOOD(MPI_T_event_handle_alloc(0, NULL, info, &registration));
  GOOD(MPI_T_event_handle_set_info(registration, info));
  GOOD(MPI_T_event_handle_get_info(registration, &used));
  MPI_Info_get_nkeys(used, &keys);
  CHECK(keys == 0, "%d hints", keys);
  MPI_Info_free(&used);
  GOOD(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, info));
  GOOD(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &used));
  MPI_Info_free(&used);
  FAILS(MPI_T_event_handle_get_info(registration, NULL), MPI_T_ERR_INVALID);
  FAILS(MPI_T_event_register_callback(registration, (MPI_T_cb_safety)99, info, NULL, on_event),
        MPI_T_ERR_INVALID);
  FAILS(MPI_T_event_callback_get_info(registration, (MPI_T_cb_safety)99, &used), MPI_T_ERR_INVALID);
  FAILS(MPI_T_event_handle_alloc(999, NULL, info, &registration), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_event_handle_alloc(0, NULL, info, NULL), MPI_T_ERR_INVALID);
  GOOD(MPI_T_event_handle_free(registration, NULL, NULL));
  FAILS(MPI_T_event_handle_set_info(registration, info), MPI_T_ERR_INVALID_HANDLE);
  MPI_Info_free(&info);
}

/* The argument "threads": with MPI_THREAD_MULTIPLE, where events are told when the call is over. */
int main(int argc, char** argv) {
  int provided, rank, size;
  GOOD(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  every_event();
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  every_event();
  sources();
  unexpected_messages();
  dropped_events();
  communicators(size);
  infos_and_bad_arguments();
  MPI_Finalize();
  if (MPI_T_finalize() != MPI_SUCCESS) return 1;
  if (rank == 0) printf("mpi_t_events: right\n");
  return 0;
}
