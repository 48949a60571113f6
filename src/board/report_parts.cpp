// What p2p, coll and rma know of the messages and ranks that are waited for.
#include "board/report_parts.hpp"

#include <dirent.h>

#include <algorithm>
#include <vector>

#include "base/calls/rank_wait.hpp"
#include "coll/run/execution.hpp"
#include "io/file/file.hpp"
#include "io/file/pending.hpp"
#include "p2p/arrived_message.hpp"
#include "p2p/awaiting.hpp"
#include "p2p/message_requests.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/point_to_point.hpp"
#include "rma/message/messenger.hpp"
#include "rma/window.hpp"

namespace tasuki {
namespace {

constexpr Context kPlaneMask = 3;
constexpr std::size_t kAwaitedMax = 4096;  // requests of one wait that are looked at

bool is_users(Context context) {
  return (context & kPlaneMask) == static_cast<Context>(Plane::kPointToPoint);
}

std::int32_t told_tag(int tag) {
  return tag == kAnyTag ? kAnyTagOfReport : tag;
}

OpenKind kind_of_partitioned(const PartitionedRequest& request) {
  if (request.request_type == RequestType::kPartitionedReceive) {
    return static_cast<const PartitionedReceive&>(request).matched ? OpenKind::kPartitionedReceive
                                                                   : OpenKind::kPartitionedUnmatched;
  }
  return static_cast<const PartitionedSend&>(request).ready_count < request.partitions
             ? OpenKind::kPartitionedUnready
             : OpenKind::kPartitionedSend;
}

OpenKind kind_of(const Request& request) {
  switch (request.request_type) {
    case RequestType::kSend:
      return OpenKind::kSend;
    case RequestType::kReceive:
      return static_cast<const ReceiveRequest&>(request).queue != nullptr ? OpenKind::kReceive
                                                                          : OpenKind::kReceiving;
    case RequestType::kSendReceive:
      return OpenKind::kReceive;
    case RequestType::kCollective:
      return OpenKind::kCollective;
    case RequestType::kRma:
      return OpenKind::kRma;
    case RequestType::kFile:
      return OpenKind::kFile;
    case RequestType::kGeneralized:
      return OpenKind::kGeneralized;
    case RequestType::kPartitionedSend:
    case RequestType::kPartitionedReceive:
      return kind_of_partitioned(static_cast<const PartitionedRequest&>(request));
    default:
      return OpenKind::kNone;
  }
}

std::int32_t peer_of_access(const Request& access);

ReportedMessage describe(const Request& request, bool is_awaited) {
  ReportedMessage message{};
  message.kind = kind_of(request);
  message.is_awaited = is_awaited ? 1 : 0;
  message.function = static_cast<std::uint16_t>(request.function);
  message.site = request.site;
  message.peer = kNobody;
  message.tag = kAnyTagOfReport;
  message.bytes = -1;
  if (!request.comm) return message;
  const Comm& comm = *request.comm;
  message.context = comm.context;
  put_text(comm.name, message.comm_name);
  if (request.request_type == RequestType::kSend) {
    const auto& send = static_cast<const SendRequest&>(request);
    message.peer = peer_in(comm, send.dest);
    message.tag = send.envelope.tag;
    message.bytes = send.cursor.total_bytes();
  } else if (request.request_type == RequestType::kReceive) {
    const auto& receive = static_cast<const ReceiveRequest&>(request);
    message.peer = peer_in(comm, receive.source);
    message.tag = told_tag(receive.tag);
    message.bytes = receive.capacity();
  } else if (request.request_type == RequestType::kPartitionedSend ||
             request.request_type == RequestType::kPartitionedReceive) {
    const auto& partitioned = static_cast<const PartitionedRequest&>(request);
    message.peer = peer_in(comm, partitioned.peer);
    message.tag = partitioned.tag;
    message.bytes = partitioned.cursor.total_bytes();
  } else if (request.request_type == RequestType::kFile) {
    message.peer = peer_of_access(request);
  }
  return message;
}

/// Of an access to a file: the rank that the message comes from, or goes to, which it waits for; kAnybody
/// where that is a small collective.
std::int32_t peer_of_access(const Request& access) {
  const Request* const inner = access.comm->process.files->pending->awaited_by(access);
  if (inner == nullptr) return kNobody;
  if (inner->request_type == RequestType::kCollective) return kAnybody;
  return describe(*inner, true).peer;
}

/// The communicators of windows and files: their messages are the library's own.
std::vector<const Comm*> own_comms(const Process& process) {
  std::vector<const Comm*> own;
  for (const ErrorOwner* owner : process.owners) {
    if (owner->kind != Kind::kComm) own.push_back(comm_of(*owner));
  }
  return own;
}

bool holds(const std::vector<const Comm*>& comms, const Comm* comm) {
  return std::find(comms.begin(), comms.end(), comm) != comms.end();
}

/// Fills in the first kReportedMessages; counts all.
class OpenList {
 public:
  explicit OpenList(RankReport* report) : report_(report) {}
  void add(const Request& request, bool is_awaited) {
    const std::uint32_t number = report_->open_total++;
    if (number < kReportedMessages) report_->open[number] = describe(request, is_awaited);
  }

 private:
  RankReport* report_;
};

/// A pair is reported as its two halves.
template <class Each>
void for_each_part(const Request& request, Each&& each) {
  if (request.request_type != RequestType::kSendReceive) return each(request);
  const auto& pair = static_cast<const SendReceiveRequest&>(request);
  if (pair.send && !pair.send->done) each(*pair.send);
  if (pair.receive && !pair.receive->done) each(*pair.receive);
}

}  // namespace

const ErrorOwner* find_owner(const Process& process, std::uint64_t address) {
  for (const ErrorOwner* owner : process.owners) {
    if (reinterpret_cast<std::uint64_t>(owner) == address) return owner;
  }
  return nullptr;
}

const Comm* comm_of(const ErrorOwner& owner) {
  if (owner.kind == Kind::kComm) return static_cast<const Comm*>(&owner);
  if (owner.kind == Kind::kWin) return static_cast<const Win&>(owner).comm.get();
  if (owner.kind == Kind::kFile) return static_cast<const File&>(owner).comm.get();
  return nullptr;
}

std::int32_t world_rank(const Process& process, int endpoint) {
  return endpoint < process.size ? endpoint : kForeign;
}

std::int32_t peer_in(const Comm& comm, int rank) {
  if (rank == kAnySource) return kAnybody;
  if (rank < 0 || rank >= comm.peers().size()) return kNobody;
  return world_rank(comm.process, comm.endpoint(rank));
}

void add(std::int32_t rank, RankSet* set) {
  if (rank < 0 || rank >= kReportedRanksMax) return;
  set->words[rank / 64] |= std::uint64_t{1} << rank % 64;
}

namespace {

/// What the present calls wait for.
class AwaitedRequests {
 public:
  /// Lists what stands in arrays; says by report->awaits how the outermost call waits.
  AwaitedRequests(const PointToPoint& p2p, RankReport* report, OpenList* list) : p2p_(p2p) {
    for (const Awaiting* wait = p2p.awaiting; wait != nullptr; wait = wait->next) {
      report->awaits = wait->how;
      for (Count i = 0; i < wait->count && requests_.size() < kAwaitedMax; ++i) {
        const Request* request = wait->requests[i];
        if (request == nullptr || !request->active || request->done) continue;
        if (request->request_type == RequestType::kFlush) {
          flushes_.push_back(static_cast<const FlushRequest*>(request));
          continue;
        }
        for_each_part(*request, [&](const Request& part) {
          requests_.push_back(&part);
          list->add(part, true);
        });
      }
    }
    std::sort(requests_.begin(), requests_.end());
  }

  bool is_listed(const Request& request) const {
    return std::binary_search(requests_.begin(), requests_.end(), &request);
  }
  /// Whether it is waited for without standing in an array.
  bool is_selected(const Request& request) const {
    for (const Awaiting* wait = p2p_.awaiting; wait != nullptr; wait = wait->next) {
      if (wait->selects(request)) return true;
    }
    return std::any_of(flushes_.begin(), flushes_.end(),
                       [&](const FlushRequest* flush) { return flush->waits_for(request); });
  }

 private:
  const PointToPoint& p2p_;
  std::vector<const Request*> requests_;
  std::vector<const FlushRequest*> flushes_;
};

/// Calls `each` for all requests that are open, but for the messages of collectives, and says whether each is
/// the library's own.
template <class Each>
void for_each_open(Process& process, Each&& each) {
  const std::vector<const Comm*> own = own_comms(process);
  const auto look = [&](const Request& request, Context context) {
    if (request.done || !request.active || !is_users(context)) return;
    each(request, request.comm->hidden || holds(own, request.comm.get()));
  };
  PointToPoint& p2p = *process.p2p;
  p2p.sends.for_each([&](SendRequest& send) { look(send, send.envelope.context); });
  p2p.receives.for_each([&](ReceiveRequest& receive) { look(receive, receive.context); });
  p2p.partitioned->sends.for_each([&](PartitionedSend& send) { look(send, send.comm->context); });
  p2p.partitioned->receives.for_each(
      [&](PartitionedReceive& receive) { look(receive, receive.comm->context); });
  for (const auto& execution : process.collectives->executions()) {
    if (!execution->is_open() || execution->request == nullptr || execution->request->done) continue;
    each(*execution->request, execution->comm().hidden || holds(own, &execution->comm()));
  }
  process.files->pending->for_each([&](const PendingAccess& access) { each(*access.request, false); });
}

}  // namespace

void add_open(Process& process, RankReport* report) {
  OpenList list(report);
  const AwaitedRequests awaited(*process.p2p, report, &list);
  for (const bool selected : {true, false}) {
    for_each_open(process, [&](const Request& request, bool is_own) {
      if (awaited.is_listed(request) || awaited.is_selected(request) != selected) return;
      if (selected || !is_own) list.add(request, selected);
    });
  }
}

void add_unexpected(Process& process, RankReport* report) {
  const std::vector<const Comm*> own = own_comms(process);
  process.p2p->matching.for_each([&](const MatchQueue& queue) {
    if (!is_users(queue.context)) return;
    const Comm* comm = nullptr;
    for (const ErrorOwner* owner : process.owners) {
      const Comm* candidate = owner->kind == Kind::kComm ? static_cast<const Comm*>(owner) : nullptr;
      if (candidate != nullptr && candidate->context == queue.context) comm = candidate;
    }
    if (comm != nullptr && holds(own, comm)) return;
    for (const ArrivedMessage* arrived = queue.arrived.first; arrived != nullptr; arrived = arrived->next) {
      const std::uint32_t number = report->unexpected_total++;
      if (number >= kReportedMessages) continue;
      const auto& message = static_cast<const Message&>(*arrived);
      ReportedMessage& to = report->unexpected[number];
      to.kind = OpenKind::kUnexpected;
      to.context = queue.context;
      to.peer = world_rank(process, message.endpoint);
      to.tag = message.tag;
      to.bytes = message.bytes;
      if (comm != nullptr) put_text(comm->name, to.comm_name);
    }
  });
}

namespace {

/// Whether it is the small collective that an access to a file waits for which a call waits for.
bool is_for_needed_access(const Process& process, const Request& request) {
  bool found = false;
  process.files->pending->for_each([&](const PendingAccess& access) {
    found = found || (access.course.awaited_request() == &request && process.p2p->is_needed(*access.request));
  });
  return found;
}

}  // namespace

void add_lacks(Process& process, RankReport* report) {
  std::vector<int> missing;
  process.collectives->node_segments.add_missing(&missing);
  for (const ErrorOwner* owner : process.owners) {
    if (owner->kind != Kind::kWin) continue;
    const Win& win = *static_cast<const Win*>(owner);
    if (win.control) win.control->add_missing(&missing);
    if (win.messenger) win.messenger->add_missing(&missing);
  }
  for (const auto& execution : process.collectives->executions()) {
    if (!execution->is_open()) continue;
    const Request* const request = execution->request;
    const bool is_needed_now =
        request == nullptr ? execution->form() == CollectiveForm::kBlocking
                           : process.p2p->is_needed(*request) || is_for_needed_access(process, *request);
    if (is_needed_now) execution->add_missing(&missing);
  }
  for (const int endpoint : missing) {
    const std::int32_t rank = world_rank(process, endpoint);
    if (rank != process.rank) add(rank, &report->lacks);
  }
  if (process.rank_wait == nullptr) return;
  for (const int endpoint : process.rank_wait->endpoints) add(world_rank(process, endpoint), &report->either);
  if (report->awaits == Awaits::kNothing) report->awaits = Awaits::kAll;
}

bool has_transfers(const Process& process) {
  bool found = false;
  process.files->pending->for_each(
      [&found](const PendingAccess& access) { found = found || access.course.awaited_request() == nullptr; });
  return found;
}

void add_pairs(Process& process, RankReport* report) {
  std::vector<PairCounts> pairs;
  process.p2p->link->add_pair_counts(&pairs);
  for (const PairCounts& pair : pairs) {
    if (pair.endpoint >= process.size) continue;
    report->packets_sent += pair.sent;
    report->packets_come += pair.come;
    report->packets_waiting += pair.waiting;
    const std::uint32_t number = report->pairs_total++;
    if (number >= kReportedPairs) continue;
    report->pairs[number] = {pair.endpoint, pair.sent, pair.come, pair.waiting, pair.still_ns};
  }
}

bool may_go_on_elsewhere(const Process& process) {
  if (!process.locking) return false;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return true;
  int threads = 0;
  for (const dirent* entry = readdir(tasks); entry != nullptr; entry = readdir(tasks)) {
    threads += entry->d_name[0] != '.' ? 1 : 0;
  }
  closedir(tasks);
  return threads > 1;
}

}  // namespace tasuki
