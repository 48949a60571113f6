// NetworkCopies: which accesses the network makes, and their pieces.
#include "rma/message/network_copies.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "datatype/layout.hpp"
#include "job/launcher.hpp"
#include "placement/node_map.hpp"
#include "progress/progress.hpp"
#include "rma/window.hpp"

namespace tasuki::rma {
namespace {

// A rank waits before it has more copies under way to one target.
constexpr std::uint64_t kCopiesMax = 256;
// Pieces of an access that have fewer bytes on an average had better go in a message, unless they are few.
constexpr Count kPieceBytesMin = 512;
constexpr Count kFewPieces = 8;

/// A rank of `comm` on another node whose memory the network can copy. -1: there is none.
int far_rank(Comm& comm) {
  if (comm.size() == 1) return -1;
  const NodeMap& map = node_map(comm);
  if (map.nodes() < 2) return -1;
  const int node = map.own_node() == 0 ? 1 : 0;
  const int rank = map.leader_of(node);
  return comm.process.link->can_put(comm.endpoint(rank)) ? rank : -1;
}

/// Whether the network is to make any.
bool is_wanted(const Process& process, int far_endpoint) {
  return !process.link->copies_long_only(far_endpoint);
}

/// Says which way puts and gets of the window go.
void explain(const Win& win, bool by_copies, std::int64_t bytes_min) {
  const Process& process = win.process;
  if (process.config.explain == kExplainNothing ||
      (process.config.explain != kExplainAll && win.comm->rank != 0))
    return;
  const std::string from = bytes_min > 1 ? " from " + std::to_string(bytes_min) + " bytes on" : "";
  std::fprintf(stderr, "tasuki: rank %d: %s of %d ranks: puts and gets%s to other nodes go by %s\n",
               process.rank, win.description().c_str(), win.size(), by_copies ? from.c_str() : "",
               by_copies ? "copies that the network makes" : "messages that their owner carries out");
}

/// Runs of bytes that elements consist of.
Count runs_of(Count count, const Datatype& type) {
  if (type.contiguous) return 1;
  Count runs = 0;
  return __builtin_mul_overflow(count, type.layout->runs, &runs) ? INT64_MAX / 2
                                                                 : std::min(runs, INT64_MAX / 2);
}

/// Whether the pieces of an access are not too short, or so few that it does not matter.
bool have_size(const OriginBuffer& origin, const TargetBuffer& remote) {
  const Count pieces = runs_of(origin.count, *origin.type) + runs_of(remote.count, *remote.type) - 1;
  return pieces <= kFewPieces || remote.bytes() / pieces >= kPieceBytesMin;
}

Run run_of(std::uintptr_t place, Count count, const Datatype& type, Count position) {
  if (type.contiguous) return {place + static_cast<std::uintptr_t>(position), count * type.size - position};
  return run_at({place, count, type.extent, *type.layout}, position);
}

}  // namespace

NamedPart::NamedPart(Comm& comm, void* base, Count bytes) : process_(comm.process) {
  if (base == nullptr || bytes <= 0) return;
  const int rank = far_rank(comm);
  if (rank < 0) return;
  const int endpoint = comm.endpoint(rank);
  if (!is_wanted(process_, endpoint)) return;
  if (process_.link->register_memory(endpoint, base, static_cast<std::size_t>(bytes), &key_))
    far_endpoint_ = endpoint;
}

NamedPart::~NamedPart() {
  if (far_endpoint_ >= 0) process_.link->unregister_memory(far_endpoint_, key_);
}

NetworkCopies::NetworkCopies(Win& win, const std::vector<MemoryKey>& keys, std::unique_ptr<NamedPart> own)
    : win_(win), process_(win.process), own_(std::move(own)), bytes_min_(process_.config.net_copy_bytes_min) {
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    const int endpoint = win.comm->endpoint(static_cast<int>(rank));
    if (keys[rank].word == 0 || !process_.link->can_put(endpoint) || !is_wanted(process_, endpoint)) continue;
    if (targets_ == nullptr) targets_ = std::make_unique<Target[]>(keys.size());
    targets_[rank].key = keys[rank];
  }
  explain(win, targets_ != nullptr, bytes_min_);
}

/// Of a window that was not freed copies may be under way: what counts them stays.
NetworkCopies::~NetworkCopies() {
  for (int rank = 0; rank < win_.size() && targets_ != nullptr; ++rank) {
    if (!is_complete(rank)) static_cast<void>(targets_.release());
  }
}

void NetworkCopies::begin(bool puts, int rank, const Piece& piece, CopyCount* count) {
  Link& link = *process_.link;
  const int endpoint = win_.comm->endpoint(rank);
  const MemoryKey& key = target(rank).key;
  ++count->begun;
  const bool is_begun =
      puts ? link.put_memory(endpoint, key, piece.there, reinterpret_cast<const void*>(piece.here),
                             piece.bytes, &count->complete)
           : link.get_memory(endpoint, key, piece.there, reinterpret_cast<void*>(piece.here), piece.bytes,
                             &count->complete);
  if (!is_begun) process_.launcher.end_damaged(endpoint, "the key of its part of " + win_.description());
}

void NetworkCopies::copy_pieces(bool puts, const OriginBuffer& origin, const TargetBuffer& remote,
                                CopyCount* count) {
  const auto from = reinterpret_cast<std::uintptr_t>(origin.address);
  const auto to = static_cast<std::uintptr_t>(remote.offset);
  const auto has_room = [count] { return count->begun - count->complete < kCopiesMax; };
  for (Count position = 0; position < remote.bytes();) {
    if (!has_room()) process_.progress->wait_until(has_room);
    const Run here = run_of(from, origin.count, *origin.type, position);
    const Run there = run_of(to, remote.count, *remote.type, position);
    const Count bytes = std::min(here.bytes, there.bytes);
    begin(puts, remote.rank, {here.place, there.place, static_cast<std::size_t>(bytes)}, count);
    position += bytes;
  }
}

bool NetworkCopies::copy(bool puts, const OriginBuffer& origin, const TargetBuffer& remote,
                         RmaRequest* request) {
  if (targets_ == nullptr) return false;
  Target& one = target(remote.rank);
  if (one.key.word == 0 || remote.bytes() < bytes_min_ || !have_size(origin, remote)) return false;
  if (request == nullptr) {
    copy_pieces(puts, origin, remote, &one.count);
    return true;
  }
  ++one.count.begun;
  request->begin_part();
  Asked& asked = asked_.emplace_back(Asked{Ref<RmaRequest>::share(request), remote.rank, {}});
  ++asked.count.begun;
  copy_pieces(puts, origin, remote, &asked.count);
  ++asked.count.complete;
  return true;
}

bool NetworkCopies::poll() {
  return std::erase_if(asked_, [this](Asked& one) {
           if (!one.count.is_complete()) return false;
           ++target(one.target).count.complete;
           one.request->end_part();
           return true;
         }) != 0;
}

}  // namespace tasuki::rma
