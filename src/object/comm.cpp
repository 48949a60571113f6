// Communicators: what they are made of, questions about them, names, hints, and their end (MPI 7.4, 7.8).
#include "object/comm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "job/directory.hpp"
#include "object/api.hpp"
#include "object/group.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kNameMax = 127;  // MPI_MAX_OBJECT_NAME of the ABIs, without the final NUL

// A context is rank | counter | plane, with the job's number over it.
constexpr int kPlaneBits = 2;
constexpr int kCounterBits = 38;

/// The job's number as it goes into contexts. Within a job it changes nothing about their being different.
/// Two jobs that have made n and m communicators share a context with a probability below n * m / 2^62.
Context job_mask(std::uint64_t job) {
  std::uint64_t mask = job * 0x9e3779b97f4a7c15u;
  mask ^= mask >> 29;
  return mask << kPlaneBits;
}

/// The hints that this library knows: promises of the user (MPI 7.4.4), and what the communicator is to do.
struct Hint {
  std::string_view key;
  std::array<std::string_view, 3> values = {"false", "true", "true"};
};
constexpr Hint kRepeatable = {"tasuki_repeatable_reductions", {"no", "order", "exact"}};  // by Repeatable
constexpr Hint kHints[] = {
    {"mpi_assert_no_any_tag"},
    {"mpi_assert_no_any_source"},
    {"mpi_assert_exact_length"},
    {"mpi_assert_allow_overtaking"},
    kRepeatable,
};

Code refuse_intra(Process& process, const Comm& comm) {
  if (comm.is_inter()) return kSuccess;
  return process.fail(kErrComm, "comm is an intracommunicator, expected an intercommunicator");
}

}  // namespace

Group* group_of(const Comm& comm, Group* group) {
  if (!group->session) group->session = comm.session;
  return retain(group);
}

void enlist(Process& process, ErrorOwner* owner) {
  owner->place = process.owners.size();
  process.owners.push_back(owner);
}

void delist(Process& process, const ErrorOwner& owner) {
  process.owners.back()->place = owner.place;
  process.owners[owner.place] = process.owners.back();
  process.owners.pop_back();
}

Comm::~Comm() {
  if (!hidden) {
    delist(process, *this);
    --process.counters.communicators;
    tell(*this, Event::kCommFreed);
  }
  if (process.forget_communicator != nullptr) process.forget_communicator(*this);
}

std::string Comm::description() const {
  return "communicator " + (name.empty() ? "without a name" : name) + ", rank " + std::to_string(rank);
}

void tell(const Comm& comm, Event event) {
  if (!comm.process.events.is_wanted(event)) return;
  const std::int64_t size = comm.group ? comm.group->size() : 0;
  comm.process.events.raise(event, {static_cast<std::int64_t>(comm.context), size, comm.rank});
}

Context make_context(Process& process) {
  const Context counter = process.objects->context_next++;
  const Context in_job =
      static_cast<Context>(process.rank) << (kCounterBits + kPlaneBits) | counter << kPlaneBits;
  return in_job ^ job_mask(process.directory.job_id());
}

void take_hints(Comm& comm, const Info* info) {
  for (const Hint& hint : kHints) {
    const std::string key(hint.key);
    const std::string* value = find_info(info, key);
    if (value == nullptr) continue;
    const auto place = std::find(hint.values.begin(), hint.values.end(), *value);
    if (place == hint.values.end()) continue;
    if (!comm.info) comm.info = Ref<Info>(new Info);
    set_info(comm.info.get(), key, *value);
    if (hint.key == kRepeatable.key)
      comm.repeatable_hint = static_cast<Repeatable>(place - hint.values.begin());
  }
}

namespace api {

Code comm_size(Process&, Comm* comm, int* size) {
  *size = comm->size();
  return kSuccess;
}

Code comm_rank(Process&, Comm* comm, int* rank) {
  *rank = comm->rank;
  return kSuccess;
}

Code comm_compare(Process&, Comm* comm1, Comm* comm2, int* result) {
  Comparison comparison = Comparison::kIdent;
  if (comm1 != comm2) {
    comparison = compare_groups(*comm1->group, *comm2->group);
    if (comm1->is_inter() != comm2->is_inter()) {
      comparison = Comparison::kUnequal;
    } else if (comm1->is_inter()) {
      comparison = std::max(comparison, compare_groups(*comm1->remote_group, *comm2->remote_group));
    }
    if (comparison == Comparison::kIdent) comparison = Comparison::kCongruent;
  }
  *result = static_cast<int>(comparison);
  return kSuccess;
}

Code comm_group(Process&, Comm* comm, Group** group) {
  *group = group_of(*comm, comm->group.get());
  return kSuccess;
}

Code comm_test_inter(Process&, Comm* comm, bool* flag) {
  *flag = comm->is_inter();
  return kSuccess;
}

Code comm_remote_size(Process& process, Comm* comm, int* size) {
  if (const Code code = refuse_intra(process, *comm)) return code;
  *size = comm->remote_group->size();
  return kSuccess;
}

Code comm_remote_group(Process& process, Comm* comm, Group** group) {
  if (const Code code = refuse_intra(process, *comm)) return code;
  *group = group_of(*comm, comm->remote_group.get());
  return kSuccess;
}

Code comm_get_name(Process&, Comm* comm, std::string* comm_name) {
  *comm_name = comm != nullptr ? comm->name : "MPI_COMM_NULL";
  return kSuccess;
}

Code comm_set_name(Process& process, Comm* comm, const char* comm_name) {
  if (comm_name == nullptr) return process.fail(kErrArg, "comm_name is null, expected a string");
  comm->name.assign(comm_name, strnlen(comm_name, kNameMax));
  return kSuccess;
}

Code comm_get_parent(Process& process, Comm** parent) {
  *parent = process.objects->parent;
  return kSuccess;
}

Code comm_set_info(Process&, Comm* comm, Info* info) {
  take_hints(*comm, info);
  return kSuccess;
}

Code comm_get_info(Process&, Comm* comm, Info** info_used) {
  Info* made = new Info;
  for (const Hint& hint : kHints) {
    std::string key(hint.key);
    const std::string* value = find_info(comm->info.get(), key);
    const auto in_force = hint.key == kRepeatable.key ? static_cast<std::size_t>(comm->repeatable()) : 0;
    set_info(made, std::move(key), value != nullptr ? *value : std::string(hint.values[in_force]));
  }
  *info_used = made;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
