// What a rank reports: its call, which ranks it waits for, what is open and what has not been received.
#include "board/rank_reporter.hpp"

#include <execinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/calls/function.hpp"
#include "base/calls/outside_wait.hpp"
#include "board/report_parts.hpp"
#include "coll/check/call_comparison.hpp"
#include "datatype/datatype.hpp"
#include "job/launcher.hpp"
#include "p2p/point_to_point.hpp"
#include "reduction/op.hpp"

namespace tasuki {
namespace {

constexpr int kFramesMax = 48;

/// Return addresses above the call, as far as the system can tell them.
void add_frames(RankReport* report) {
  void* frames[kFramesMax];
  const int count = backtrace(frames, kFramesMax);
  const auto site = std::find_if(frames, frames + count, [&](void* frame) {
    return reinterpret_cast<std::uint64_t>(frame) == report->site;
  });
  std::size_t told = 0;
  for (void** frame = site + 1; frame < frames + count && told < std::size(report->frames); ++frame) {
    report->frames[told++] = reinterpret_cast<std::uint64_t>(*frame);
  }
}

/// The object at an address that was read from shared memory, which others may have overwritten: it is not
/// followed unless there is such an object. Null where there is none.
template <class T>
const T* object_at(std::uint64_t address, Kind kind) {
  if (address == 0 || address % alignof(T) != 0) return nullptr;
  alignas(T) std::byte copy[sizeof(Object)];
  const iovec here{copy, sizeof copy};
  const iovec there{reinterpret_cast<void*>(address), sizeof copy};
  const int errno_before = errno;
  const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  const int reason = errno;
  errno = errno_before;
  if (got < 0 && reason != EFAULT) return reinterpret_cast<const T*>(address);  // the system does not tell
  if (got != static_cast<ssize_t>(sizeof copy)) return nullptr;
  Kind found;
  std::memcpy(&found, copy + sizeof(void*), sizeof found);  // the first member, behind the virtual table
  return found == kind ? reinterpret_cast<const T*>(address) : nullptr;
}

void add_data(const CallLine& line, const FunctionFacts& facts, RankReport* report) {
  report->count = line.count.load(std::memory_order_relaxed);
  if (*facts.op != '\0') {
    const Op* op = object_at<Op>(line.op.load(std::memory_order_relaxed), Kind::kOp);
    if (op != nullptr) put_text(op_name(*op), report->op_name);
  }
  if (*facts.type == '\0') return;
  const auto* type = object_at<Datatype>(line.type.load(std::memory_order_relaxed), Kind::kDatatype);
  if (type == nullptr) return;
  put_text(type->name.empty() ? "a derived datatype" : type->name, report->type_name);
  if (*facts.count == '\0' || report->count < 0) return;
  const Amount amount = amount_of(*type, report->count);
  report->bytes = amount.bytes;
  report->types = amount.types;
}

/// The call that the line shows. Of an object that it names: the communicator to number ranks in.
void add_call(Process& process, RankReport* report) {
  const CallLine& line = process.board.line;
  report->word = line.word.load(std::memory_order_relaxed);
  report->site = line.site.load(std::memory_order_relaxed);
  report->moves = line.moves.load(std::memory_order_relaxed);
  const FunctionFacts& facts = function_facts(function_of(report->word));
  if ((report->word & kInside) == 0) return;
  add_frames(report);
  if (facts.may_wait) report->awaits = Awaits::kAll;
  add_data(line, facts, report);
  if (*facts.tag != '\0') {
    const int tag = line.tag.load(std::memory_order_relaxed);
    report->tag = tag == kAnyTag ? kAnyTagOfReport : tag;
  }
  const ErrorOwner* object =
      *facts.object != '\0' ? find_owner(process, line.comm.load(std::memory_order_relaxed)) : nullptr;
  if (object == nullptr) return;
  report->comm_index = 0;
  if (facts.is_collective) report->collective = object->collective_calls;
  if (object->kind != Kind::kComm) put_text(object->description(), report->object_name);
  const Comm* comm = comm_of(*object);
  if (comm == nullptr) return;
  for (const Group* group : {comm->group.get(), comm->remote_group.get()}) {
    if (group == nullptr) continue;
    for (const int endpoint : group->endpoints) add(world_rank(process, endpoint), &report->members);
  }
  if (*facts.peer != '\0') {
    const std::int32_t peer = peer_in(*comm, line.peer.load(std::memory_order_relaxed));
    (std::strcmp(facts.peer, "root") == 0 ? report->root : report->peer) = peer;
  }
}

/// The object of the call first, then those on which most collectives were called.
void add_comms(Process& process, RankReport* report) {
  std::vector<const ErrorOwner*> owners;
  const ErrorOwner* first = report->comm_index == 0
                                ? find_owner(process, process.board.line.comm.load(std::memory_order_relaxed))
                                : nullptr;
  for (const ErrorOwner* owner : process.owners) {
    if (owner != first && owner->collective_calls != 0) owners.push_back(owner);
  }
  std::sort(owners.begin(), owners.end(), [](const ErrorOwner* a, const ErrorOwner* b) {
    return a->collective_calls > b->collective_calls;
  });
  if (first != nullptr) owners.insert(owners.begin(), first);
  report->comms_total = static_cast<std::uint32_t>(owners.size());
  owners.resize(std::min<std::size_t>(owners.size(), kReportedComms));
  ReportedComm* to = report->comms;
  for (const ErrorOwner* owner : owners) {
    const Comm* comm = comm_of(*owner);
    to->collectives = owner->collective_calls;
    if (comm != nullptr) {
      to->context = comm->context;
      to->size = comm->size();
      to->rank = comm->rank;
      to->is_inter = comm->is_inter() ? 1 : 0;
    }
    put_text(owner == comm ? comm->name : owner->description(), to->name);
    ++to;
  }
}

}  // namespace

RankReport report_of(Process& process, std::int64_t since_ns) {
  RankReport report{};
  report.since_ns = since_ns;
  report.peer = kNobody;
  report.root = kNobody;
  report.comm_index = -1;
  report.bytes = -1;
  report.is_multithreaded = may_go_on_elsewhere(process) ? 1 : 0;
  add_call(process, &report);
  add_comms(process, &report);
  add_open(process, &report);
  add_unexpected(process, &report);
  add_lacks(process, &report);
  add_pairs(process, &report);
  report.works_meanwhile = has_transfers(process) ? 1 : 0;
  if (process.outside_wait != nullptr) put_text(process.outside_wait->text, report.outside);
  return report;
}

void RankReporter::answer(std::uint64_t asked, std::int64_t since_ns) {
  RankReport report = report_of(process_, since_ns);
  report.answers = asked;
  publish_report(report, &process_.board);
  process_.launcher.publish();  // the counts, too
}

}  // namespace tasuki
