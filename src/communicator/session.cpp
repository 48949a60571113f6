// Sessions: process sets, groups from them, hints and error handlers (MPI 11.3, 9.3). Their buffers are in
// p2p/call/buffered.cpp, communicators from groups in from_group.cpp.
#include "communicator/sessions.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "communicator/api.hpp"
#include "object/errhandler.hpp"
#include "p2p/buffer_pool.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr const char* kThreadLevelKey = "thread_level";

constexpr std::array<ThreadLevel, 4> kThreadLevels = {ThreadLevel::kSingle, ThreadLevel::kFunneled,
                                                      ThreadLevel::kSerialized, ThreadLevel::kMultiple};

/// A process set: its name, and whether it is the whole job or this process alone. All ranks of a job share
/// one machine's memory.
struct ProcessSet {
  const char* name;
  bool whole_job;
};
constexpr std::array<ProcessSet, 3> kProcessSets = {{
    {"mpi://WORLD", true},
    {"mpi://SELF", false},
    {"mpix://SHARED", true},  // not the standard's: those that can share memory with this process
}};

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

const ProcessSet* find_set(std::string_view name) {
  for (const ProcessSet& set : kProcessSets) {
    if (is_set_name(name, set.name)) return &set;
  }
  return nullptr;
}

Code refuse_set(Process& process, const char* name) {
  return process.fail(kErrArg, "pset_name = \"%.200s\", expected mpi://WORLD, mpi://SELF or mpix://SHARED",
                      name);
}

}  // namespace

bool is_set_name(std::string_view name, std::string_view set) {
  return std::ranges::equal(name, set, [](char one, char other) { return lower(one) == lower(other); });
}

Code requested_thread_level(Process& process, const Info* info, ThreadLevel* level) {
  const std::string* value = find_info(info, kThreadLevelKey);
  if (value == nullptr) return kSuccess;
  for (const ThreadLevel one : kThreadLevels) {
    if (*value != thread_level_name(one)) continue;
    *level = one;
    return kSuccess;
  }
  return process.fail(
      kErrInfoValue,
      "info: thread_level = \"%.200s\", expected MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or _MULTIPLE",
      value->c_str());
}

Code finish_session(Session& session) {
  if (const BufferPool* buffer = session.slots.get(kBufferSlot)) {
    buffer->wait_until_empty(session.process);
    session.slots.clear(kBufferSlot);
  }
  return kSuccess;
}

namespace api {

Code session_get_info(Process&, Session* session, Info** info_used) {
  Info* made = new Info;
  set_info(made, kThreadLevelKey, thread_level_name(session->thread_level));
  set_info(made, "mpi_memory_alloc_kinds", "mpi,system");
  *info_used = made;
  return kSuccess;
}

Code session_get_num_psets(Process&, Session*, Info*, int* npset_names) {
  *npset_names = static_cast<int>(kProcessSets.size());
  return kSuccess;
}

Code session_get_nth_pset(Process& process, Session*, Info*, int n, std::string* pset_name) {
  if (n < 0 || n >= static_cast<int>(kProcessSets.size())) {
    return process.fail(kErrArg, "n = %d, expected 0..%d", n, static_cast<int>(kProcessSets.size()) - 1);
  }
  *pset_name = kProcessSets[static_cast<std::size_t>(n)].name;
  return kSuccess;
}

Code session_get_pset_info(Process& process, Session*, const char* pset_name, Info** info) {
  const ProcessSet* set = find_set(pset_name);
  if (set == nullptr) return refuse_set(process, pset_name);
  Info* made = new Info;
  set_info(made, "mpi_size", std::to_string(set->whole_job ? process.size : 1));
  *info = made;
  return kSuccess;
}

Code group_from_session_pset(Process& process, Session* session, const char* pset_name, Group** newgroup) {
  const ProcessSet* set = find_set(pset_name);
  if (set == nullptr) return refuse_set(process, pset_name);
  std::vector<int> endpoints{process.rank};
  if (set->whole_job) {
    endpoints.resize(static_cast<std::size_t>(process.size));
    std::iota(endpoints.begin(), endpoints.end(), 0);
  }
  Group* made = make_group(process, std::move(endpoints));
  made->session = Ref<ErrorOwner>::share(session);
  *newgroup = made;
  return kSuccess;
}

Code session_set_errhandler(Process& process, Session* session, Errhandler* errhandler) {
  return set_errhandler(process, *session, Kind::kSession, errhandler);
}

Code session_get_errhandler(Process&, Session* session, Errhandler** errhandler) {
  *errhandler = get_errhandler(*session);
  return kSuccess;
}

Code session_call_errhandler(Process& process, Session* session, int errorcode) {
  const Ref<Session> alive = Ref<Session>::share(session);
  call_errhandler(process, *session->errhandler, session, errorcode);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
