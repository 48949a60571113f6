// Communicators, windows and files as groups of ranks of MPI_COMM_WORLD, and the identity of this process.
#include <cstdlib>
#include <cstring>

#include "trace/call.hpp"
#include "trace/clock_offset.hpp"
#include "trace/library_facts.hpp"

namespace tasuki::trace::TASUKI_TRACE_ABI {
namespace {

MPI_Group world_group = MPI_GROUP_NULL;  // once it was needed; the recorder's lock protects it

bool has_world() {
  int initialized = 0;
  return real.Initialized(&initialized) == MPI_SUCCESS && initialized != 0;
}

/// A number that a launcher gives its processes, or `fallback`.
int number_of_launcher(const char* own, const char* pmi, int fallback) {
  for (const char* name : {own, pmi}) {
    const char* text = std::getenv(name);
    if (text != nullptr && *text != '\0') return std::atoi(text);
  }
  return fallback;
}

/// The world ranks of a group's members. Frees the group. Where a program has sessions alone there is no
/// MPI_COMM_WORLD: a group of as many members as the launcher started counts as all of them.
std::vector<std::int32_t> take_members(MPI_Group* group) {
  int size = 0;
  real.Group_size(*group, &size);
  std::vector<std::int32_t> members(static_cast<std::size_t>(size));
  std::vector<int> ranks(static_cast<std::size_t>(size)), found(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  if (has_world()) {
    if (world_group == MPI_GROUP_NULL) real.Comm_group(MPI_COMM_WORLD, &world_group);
    real.Group_translate_ranks(*group, size, ranks.data(), world_group, found.data());
  } else {
    const int all = number_of_launcher("TASUKI_SIZE", "PMI_SIZE", 1);
    for (int i = 0; i < size; ++i) found[static_cast<std::size_t>(i)] = size == all ? i : MPI_UNDEFINED;
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i] = found[i] == MPI_UNDEFINED ? kOtherWorld : found[i];
  real.Group_free(group);
  return members;
}

std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  real.Get_library_version(text, &length);
  return std::string(text, std::strcspn(text, "\n"));
}

}  // namespace

Group* group_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  Recorder& recorder = Recorder::get();
  Group* known = recorder.find_group(Holder::kCommunicator, key_of(comm));
  if (known != nullptr) return known;
  MPI_Group group = MPI_GROUP_NULL;
  int rank = 0, inter = 0, length = 0;
  char name[MPI_MAX_OBJECT_NAME] = "";
  if (real.Comm_group(comm, &group) != MPI_SUCCESS) return nullptr;
  real.Comm_rank(comm, &rank);
  real.Comm_test_inter(comm, &inter);
  real.Comm_get_name(comm, name, &length);
  const std::vector<std::int32_t> members = take_members(&group);
  std::vector<std::int32_t> remote;
  if (inter != 0 && real.Comm_remote_group(comm, &group) == MPI_SUCCESS) remote = take_members(&group);
  return recorder.add_group(Holder::kCommunicator, key_of(comm), members, inter != 0 ? &remote : nullptr,
                            rank, name);
}

namespace {

Group* add_plain(Holder holder, std::uintptr_t key, MPI_Group* group) {
  int rank = 0;
  real.Group_rank(*group, &rank);
  return Recorder::get().add_group(holder, key, take_members(group), nullptr, rank, "");
}

}  // namespace

Group* group_of_window(MPI_Win win) {
  if (win == MPI_WIN_NULL) return nullptr;
  Group* known = Recorder::get().find_group(Holder::kWindow, key_of(win));
  MPI_Group group = MPI_GROUP_NULL;
  if (known != nullptr || real.Win_get_group(win, &group) != MPI_SUCCESS) return known;
  return add_plain(Holder::kWindow, key_of(win), &group);
}

Group* group_of_file(MPI_File file) {
  if (file == MPI_FILE_NULL) return nullptr;
  Group* known = Recorder::get().find_group(Holder::kFile, key_of(file));
  MPI_Group group = MPI_GROUP_NULL;
  if (known != nullptr || real.File_get_group(file, &group) != MPI_SUCCESS) return known;
  return add_plain(Holder::kFile, key_of(file), &group);
}

void count_neighbours(MPI_Comm comm, int* sources, int* destinations) {
  int topology = MPI_UNDEFINED, number = 0, weighted = 0;
  *sources = *destinations = 0;
  real.Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    real.Cartdim_get(comm, &number);
    *sources = *destinations = 2 * number;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    real.Comm_rank(comm, &rank);
    real.Graph_neighbors_count(comm, rank, &number);
    *sources = *destinations = number;
  } else if (topology == MPI_DIST_GRAPH) {
    real.Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
  }
}

void open_part() {
  Recorder& recorder = Recorder::get();
  Identity identity;
  real.Comm_rank(MPI_COMM_WORLD, &identity.rank);
  real.Comm_size(MPI_COMM_WORLD, &identity.size);
  int level = MPI_THREAD_SINGLE;
  real.Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) recorder.set_threaded();
  identity.abi = TASUKI_TRACE_ABI_NAME;
  identity.library = library_name();
  const ClockOffset offset = clock_offset(identity.rank, identity.size);
  identity.clock_offset_ns = offset.ns;
  identity.clock_error_ns = offset.error_ns;
  recorder.open(identity);
  Recorder::Lock lock(recorder);
  if (!recorder.opened()) return;
  group_of(MPI_COMM_WORLD);
  LibraryFacts::get().open();
}

void open_part_of_session() {
  Recorder& recorder = Recorder::get();
  Identity identity;
  identity.rank = number_of_launcher("TASUKI_RANK", "PMI_RANK", 0);
  identity.size = number_of_launcher("TASUKI_SIZE", "PMI_SIZE", 1);
  recorder.set_threaded();  // the level is a session's own
  identity.abi = TASUKI_TRACE_ABI_NAME;
  identity.library = library_name();
  recorder.open(identity);
  Recorder::Lock lock(recorder);
  if (recorder.opened()) LibraryFacts::get().open();
}

void forget_world() {
  Recorder::Lock lock(Recorder::get());
  if (world_group != MPI_GROUP_NULL) real.Group_free(&world_group);
}

}  // namespace tasuki::trace::TASUKI_TRACE_ABI
