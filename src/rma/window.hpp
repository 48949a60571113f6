// Win: a window (MPI 12.2), the memory that its ranks offer each other.
//
// A part of a window whose memory this process can address is `mapped`: operations on it are plain memory
// accesses (access/mapped.hpp). Any other part is its owner's alone: operations on it are messages that the
// owner carries out (message/messenger.hpp). Mapped are this rank's own part; what lies in a symmetric heap
// that this rank can reach (memory/symmetric_heap.hpp), be it from MPI_Win_allocate or the user's; and what
// lies in the window's segment: all of MPI_Win_allocate_shared, and of MPI_Win_allocate where a rank cannot
// reach an symmetric heap. Never mapped is the others' memory of a dynamic window.
//
// What the ranks of one node share beside that, SharedControl above all, lies in the symmetric heap of rank 0
// where all can reach it, else in the segment. A window whose ranks are on several nodes has neither: what
// crosses between them are messages alone (ServedControl).
//
// Life: made by a collective call; MPI_Win_free, which is collective and waits for all, ends it.
// Thread safety: guarded by the process lock.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "memory/shared_segment.hpp"
#include "object/attribute.hpp"
#include "object/comm.hpp"
#include "rma/combination.hpp"
#include "rma/control/control.hpp"
#include "rma/epoch.hpp"

namespace tasuki {

namespace rma {

class Conflicts;  // rma/access/conflicts.hpp
class Messenger;  // rma/message/messenger.hpp

enum Flavor : int { kCreate = 311, kAllocate = 312, kDynamic = 313, kShared = 314 };
enum Model : int { kUnified = 321, kSeparate = 322 };

/// What one rank offers.
struct Part {
  Count bytes = 0;
  Count disp_unit = 1;
  std::byte* base = nullptr;  // in this process; null where it is not mapped
  std::int64_t unused = 0;    // found by a shift
};

/// Memory attached to a dynamic window (MPI 12.2.4).
struct Region {
  std::byte* base;
  Count bytes;

  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(base); }
  std::uintptr_t end() const { return begin() + static_cast<std::uintptr_t>(bytes); }
};

/// The hints of MPI 12.2.1 and 12.2.3, as the user gave them.
struct Hints {
  bool no_locks = false;
  std::string accumulate_ordering = "rar,raw,war,waw";
  std::string accumulate_ops = "same_op_no_op";
  std::string accumulate_granularity = "0";
  bool same_size = false;
  bool same_disp_unit = false;
  bool noncontiguous = false;  // alloc_shared_noncontig
};

/// Takes over the hints in `info` that this library knows; `info` may be null.
void take_hints(Hints* hints, const Info* info);

}  // namespace rma

struct Win final : ErrorOwner {
  Win(Ref<Comm> own_comm, rma::Flavor its_flavor);
  ~Win() override;
  std::string description() const override;

  int size() const { return comm->size(); }
  int rank() const { return comm->rank; }
  rma::Part& part(int target) { return parts[static_cast<std::size_t>(target)]; }
  /// Whether the memory of `target` can be accessed by its address here.
  bool is_mapped(int target) const {
    return !messenger || parts[static_cast<std::size_t>(target)].base != nullptr || target == comm->rank;
  }

  /// Whether this rank combines elements of `target` itself. Where the ranks are on several nodes each owner
  /// combines what is its own, so that those of one location take one way and keep their order.
  bool combines_here(int target) const {
    return is_mapped(target) && (control->is_shared() || target == comm->rank);
  }

  /// What keeps accumulates at `target` atomic. REQUIRES: combines_here(target).
  rma::ElementGuard element_guard(int target) {
    return control->element_guard(target, parts[static_cast<std::size_t>(target)].base,
                                  combining_unlocked != 0);
  }

  Process& process;
  Ref<Comm> comm;  // its own: its group, and the space of its messages
  const rma::Flavor flavor;
  unsigned fast_path_ranks = 0;       // targets of access/fast_path.hpp: all; none where calls check more
  std::vector<rma::Part> parts;       // by rank; of a dynamic window: bases are null, units 1
  std::vector<rma::Region> attached;  // by begin and end; no two share a byte
  std::byte* own_memory = nullptr;    // from symmetric_heap, given back with the window; else null
  std::byte* own_control = nullptr;   // at rank 0: control memory from symmetric_heap; else null
  bool is_left = false;               // MPI_Win_free: no other rank looks at own_control any more
  std::unique_ptr<SharedSegment> segment;     // null where the ranks need none
  std::optional<rma::Control> control;        // in rank 0's symmetric heap, the segment, or served
  std::unique_ptr<rma::Messenger> messenger;  // null when all ranks have all parts mapped
  std::unique_ptr<rma::Conflicts>
      conflicts;  // behind SharedControl; null without it and below TASUKI_CHECK=3
  rma::Epoch epoch;
  bool has_stored = false;  // plain stores to mapped memory since order_memory() in calls/synchronization.cpp
  int combining_unlocked = 0;  // threads of this rank that combine much without the process lock
  std::uint32_t looks = 0;     // calls that programs make in loops, see looked() in calls/synchronization.cpp
  Code pending_error = 0;      // of an operation that a target refused: the next synchronization reports it

  /// Of the last accumulate of one predefined type; programs use one again and again. Null type: none yet.
  rma::Combination combination;
  const Datatype* combination_type = nullptr;
  const Datatype* swap_type = nullptr;  // of the last compare-and-swap, if it was a predefined one

  std::string name;
  Attributes attributes;
  rma::Hints hints;
  // The values of the predefined attributes (MPI 12.2.6).
  Aint size_attribute = 0;
  int unit_attribute = 1;
  int flavor_attribute = 0;
  int model_attribute = rma::kUnified;
};

}  // namespace tasuki
