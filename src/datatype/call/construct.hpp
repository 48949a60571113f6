// What the constructors share: the bounds of a type map, and the making of a Datatype from its parts.
// Private to src/datatype.
//
// All sums are made in 128 bits and checked once, so that no constructor can overflow: every byte, marker and
// extent of a made type fits 64 bits, and so do the distances between its bytes.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"
#include "datatype/signature.hpp"

namespace tasuki {

__extension__ typedef __int128 Wide;

inline bool fits(Wide value) {
  return value >= INT64_MIN && value <= INT64_MAX;
}

inline long long printed(Count value) {
  return value;
}

/// Whether an extent is rounded up to the strictest member's alignment. MPI 5.1.6 leaves the amount to the
/// implementation; like the others, only MPI_Type_create_struct rounds, so that an array of C structs is
/// described by its members, and a stride that the user gave in bytes is never changed.
enum class Padding { kNone, kToAlignment };

/// Size and bounds of a type map, gathered from placed copies of old types (MPI 5.1.6, 5.1.7).
class Bounds {
 public:
  /// `copies` of `type`, `stride` apart, the first one at `displacement`; |stride| and copies below 2^63.
  void place(Wide displacement, Count copies, Wide stride, const Datatype& type);
  /// MPI_LB or MPI_UB, which MPI 3.0 removed: of several the lowest lower and the highest upper one counts.
  /// As in MPICH they set the bounds of this type, and mark none of the types that are made of it.
  void place_marker(Wide displacement, bool upper);
  bool overflow() const { return overflow_; }

  /// Sets size, bounds and alignment of `datatype`; returns false on overflow.
  bool describe(Datatype* datatype, Padding padding = Padding::kNone) const;

 private:
  struct Limit {
    bool given = false;
    Wide at = 0;
  };
  void span(Wide low, Wide high, Wide* lb, Wide* ub, bool first);

  bool overflow_ = false;
  bool any_data_ = false;
  bool any_marker_ = false;
  Wide size_ = 0;
  Wide true_lb_ = 0, true_ub_ = 0;
  Wide lb_ = 0, ub_ = 0;  // of the placed types' own bounds
  Wide marked_lb_ = 0, marked_ub_ = 0;
  Limit lower_, upper_;
  Count alignment_ = 1;
};

/// kErrType unless `type` can be used in a new type: given, and not an optional one that does not exist here.
Code check_oldtype(Process& process, const Datatype* type, const char* argument);

Code fail_overflow(Process& process);

/// Derives `contiguous` from the bounds and the layout.
void note_contiguous(Datatype* datatype);

/// Room for the origin of a type: so many numbers, byte displacements and types, and the few that there
/// always are. False: there is no memory for them.
bool reserve_origin(Datatype* datatype, Count numbers, Count addresses, Count types);

/// Notes how a type was made. The arrays of counts come in the order of MPI 5.1.13.
void note_origin(Datatype* datatype, Combiner combiner, Datatype* oldtype, bool wide);

}  // namespace tasuki
