// SharedState: what the ranks that opened a file together share: the shared file pointer (MPI 14.4.4), and
// whether several of them write.
//
// Two forms, alike at all ranks of a file:
//   MappedState  in memory that all of them map, where they are on one node (mapped_state.hpp)
//   ServedState  kept by rank 0, which the others ask by messages (served_state.hpp)
//
// Thread safety: the process lock. Several ranks may call at once.
#pragma once

#include <cstdint>
#include <memory>

#include "base/types.hpp"

namespace tasuki {

class RangeLocks;

class SharedState {
 public:
  virtual ~SharedState() = default;

  /// The shared file pointer, in etypes of the current view.
  virtual Offset position() = 0;
  virtual void set_position(Offset etypes) = 0;
  /// Moves it on and returns where it was.
  virtual Offset advance(Offset etypes) = 0;
  /// The same without waiting, for one that asks again and again until it is told: false until then. It moves
  /// on in the order of first calls. `*ticket`, 0 at first, says which question it is.
  virtual bool try_advance(Offset etypes, std::uint64_t* ticket, Offset* before) = 0;

  /// A rank that writes much brackets that; so the others may know that several do. A matter of speed alone.
  virtual void begin_writing() {}
  virtual void end_writing() {}
  virtual bool others_write() const = 0;

  /// Makes locks on the file's ranges among these ranks alone (range_locks.hpp). The locks of several of them
  /// are the same where `identity` is.
  virtual std::unique_ptr<RangeLocks> make_locks(std::uint64_t identity) = 0;

  /// All ranks have opened their part.
  virtual void stop_sharing() {}
  /// Returns once nothing that this rank has asked for is under way. REQUIRES: no range is locked.
  virtual void settle() {}
};

}  // namespace tasuki
