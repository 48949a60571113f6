// MPI_T, as any tool uses it.
#include "trace/library_facts.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "trace/call.hpp"

namespace tasuki::trace::TASUKI_TRACE_ABI {
namespace {

/// As the variables sent_NAME_bytes and received_NAME_bytes have it.
constexpr const char* kWayNames[] = {"eager", "get", "cooperative", "sender_write", "put", "two_copy"};

}  // namespace

LibraryFacts& LibraryFacts::get() {
  static LibraryFacts& facts = *new LibraryFacts;
  return facts;
}

LibraryFacts::Variable LibraryFacts::find(const char* name, int kind) {
  Variable variable;
  int index = 0, count = 0, length = 0, verbosity = 0, found_kind = 0, bind = 0, only_read = 0, goes_on = 0,
      at_once = 0;
  MPI_Datatype type;
  MPI_T_enum items;
  if (real.T_pvar_get_index(name, kind, &index) != MPI_SUCCESS) return variable;
  if (real.T_pvar_get_info(index, nullptr, &length, &verbosity, &found_kind, &type, &items, nullptr, &length,
                           &bind, &only_read, &goes_on, &at_once) != MPI_SUCCESS)
    return variable;
  const bool is_state = kind == MPI_T_PVAR_CLASS_STATE;
  if (type != (is_state ? MPI_INT : MPI_UNSIGNED_LONG) || bind != MPI_T_BIND_NO_OBJECT) return variable;
  if (real.T_pvar_handle_alloc(session_, index, nullptr, &variable.handle, &count) != MPI_SUCCESS)
    return variable;
  if (is_state) algorithms_ = items;
  variable.there =
      count == 1 && (goes_on != 0 || real.T_pvar_start(session_, variable.handle) == MPI_SUCCESS);
  return variable;
}

void LibraryFacts::open() {
  int provided = 0;
  if (real.T_init_thread(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return;
  if (real.T_pvar_session_create(&session_) != MPI_SUCCESS) return;
  queue_ = find("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL);
  for (int way = 0; way < kWays; ++way) {
    char name[64];
    std::snprintf(name, sizeof name, "sent_%s_bytes", kWayNames[way]);
    ways_[way][0] = find(name, MPI_T_PVAR_CLASS_AGGREGATE);
    std::snprintf(name, sizeof name, "received_%s_bytes", kWayNames[way]);
    ways_[way][1] = find(name, MPI_T_PVAR_CLASS_AGGREGATE);
  }
  runner_up_ = find("collective_runner_up", MPI_T_PVAR_CLASS_STATE);
  predicted_ = find("collective_predicted_ns", MPI_T_PVAR_CLASS_LEVEL);
  runner_up_predicted_ = find("collective_runner_up_ns", MPI_T_PVAR_CLASS_LEVEL);
  algorithm_ = find("collective_algorithm", MPI_T_PVAR_CLASS_STATE);
}

std::uint64_t LibraryFacts::read(Variable& variable) {
  std::uint64_t bytes = 0;  // an int or an unsigned long; little endian
  if (variable.there) real.T_pvar_read(session_, variable.handle, &bytes);
  return bytes;
}

void LibraryFacts::tell_queue(Record* record) {
  record->queue = static_cast<std::uint32_t>(read(queue_));
}

void LibraryFacts::tell_way(Record* record) {
  std::uint64_t most = 0;
  for (int way = 0; way < kWays; ++way) {
    const std::uint64_t moved = read(ways_[way][0]) + read(ways_[way][1]);
    const std::uint64_t now = moved - moved_[way];
    moved_[way] = moved;
    if (now <= most) continue;
    most = now;
    record->way = static_cast<std::uint32_t>(way) + 1;
  }
  if (record->way == 0 || named_ways_[record->way - 1]) return;
  named_ways_[record->way - 1] = true;
  Recorder::get().define('W', record->way, kWayNames[record->way - 1]);
}

std::uint32_t LibraryFacts::number_of_algorithm(std::uint64_t item) {
  if (item >= kAlgorithmsMax) return 0;
  const auto number = static_cast<std::uint32_t>(item);
  if (number == 0 || named_algorithms_[number]) return number;
  char name[128] = "";
  int value = 0, length = sizeof name;
  if (real.T_enum_get_item(algorithms_, static_cast<int>(number), &value, name, &length) != MPI_SUCCESS)
    return 0;
  named_algorithms_[number] = true;
  Recorder::get().define('A', number, name);
  return number;
}

void LibraryFacts::tell_algorithm(Record* record) {
  record->algorithm = number_of_algorithm(read(algorithm_));
  const std::uint64_t predicted = record->algorithm != 0 ? read(predicted_) : 0;
  if (predicted == 0) return;  // none was to be chosen
  record->predicted_ns = static_cast<std::int64_t>(predicted);
  record->runner_up = number_of_algorithm(read(runner_up_));
  record->runner_up_ns = static_cast<std::int64_t>(read(runner_up_predicted_));
}

}  // namespace tasuki::trace::TASUKI_TRACE_ABI
