// NetworkCopies: puts and gets that the network makes, straight between a buffer of this rank and the part of
// a rank on another node (RDMA). The owner takes no part: where the network moves bytes by itself it may
// compute meanwhile. Everything else goes by active messages (messenger.hpp).
//
// Each rank names its part by a key when the window is made (Link::register_memory), in the exchange that
// making a window needs anyway. So an access needs nothing from its target, not even the first one. Memory of
// dynamic windows has no keys: what a rank attaches and detaches the others cannot know without asking.
//
// A copy is complete when its bytes are visible to all who reach the target's memory. Copies are counted for
// each target; a flush waits until all that were begun are complete.
//
// Elements that are not dense go in pieces, one for each run of bytes, unless the runs are so short that a
// message of the whole is cheaper.
//
// Where the network moves bytes by itself all accesses go so, whatever their size. Where it only pretends to
// (TCP), the owner has to poll for them as for messages, and those are faster (docs/design/windows.md): all
// go by messages. TASUKI_NET_COPY_BYTES_MIN says otherwise: accesses of that size and more go so, others by
// messages. Each rank chooses for what it begins, and each part has a key; so ranks need not choose alike.
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/process.hpp"
#include "link/link.hpp"
#include "object/comm.hpp"
#include "rma/access/buffers.hpp"
#include "rma/access/rma_request.hpp"

namespace tasuki::rma {

/// How this rank's part is named for the ranks of other nodes: a key, which is given back at the end.
class NamedPart {
 public:
  /// Nothing is named where no rank of `comm` is on another node, or the network copies no memory.
  NamedPart(Comm& comm, void* base, Count bytes);
  ~NamedPart();
  NamedPart(const NamedPart&) = delete;
  NamedPart& operator=(const NamedPart&) = delete;

  const MemoryKey& key() const { return key_; }

 private:
  Process& process_;
  MemoryKey key_;
  int far_endpoint_ = -1;  // that it is named for, as for all of other nodes; -1: it is not named
};

class NetworkCopies {
 public:
  /// `keys` by rank; of those that are on this node, and of those without a key, not used.
  NetworkCopies(Win& win, const std::vector<MemoryKey>& keys, std::unique_ptr<NamedPart> own);
  ~NetworkCopies();
  NetworkCopies(const NetworkCopies&) = delete;
  NetworkCopies& operator=(const NetworkCopies&) = delete;

  /// Begins a put or a get of at least one byte. Returns false, and nothing has happened, where it is to go
  /// by messages. `request` may be null.
  bool copy(bool puts, const OriginBuffer& origin, const TargetBuffer& remote, RmaRequest* request);

  /// Whether all copies from and to the target are.
  bool is_complete(int target) const {
    return targets_ == nullptr || targets_[static_cast<std::size_t>(target)].count.is_complete();
  }

  /// Ends requests whose copies are complete.
  bool poll();

 private:
  struct CopyCount {
    std::uint64_t begun = 0;
    std::uint64_t complete = 0;  // the link counts

    bool is_complete() const { return begun == complete; }
  };
  struct Target {
    MemoryKey key;    // none: its part is not reached so
    CopyCount count;  // an operation with a request counts as one
  };
  /// An operation with a request.
  struct Asked {
    Ref<RmaRequest> request;
    int target;
    CopyCount count;  // the call that begins it counts, too
  };
  struct Piece {
    std::uintptr_t here;
    std::uint64_t there;  // from the beginning of the target's part
    std::size_t bytes;
  };

  Target& target(int rank) { return targets_[static_cast<std::size_t>(rank)]; }
  void copy_pieces(bool puts, const OriginBuffer& origin, const TargetBuffer& remote, CopyCount* count);
  void begin(bool puts, int rank, const Piece& piece, CopyCount* count);

  Win& win_;
  Process& process_;
  std::unique_ptr<NamedPart> own_;
  const Count bytes_min_;              // of an access that is to go so
  std::unique_ptr<Target[]> targets_;  // by rank; null: the network copies nothing of this window
  std::list<Asked> asked_;
};

}  // namespace tasuki::rma
