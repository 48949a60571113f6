// What the hierarchical calls share (coll/hierarchy/communicators.hpp).
#pragma once

#include "base/predefined.hpp"
#include "base/types.hpp"
#include "coll/api.hpp"
#include "coll/hierarchy/calls.hpp"
#include "coll/schedule/bound_schedule.hpp"
#include "datatype/datatype.hpp"
#include "object/objects.hpp"

namespace tasuki::hierarchy {

/// The calls of one collective: which ranks take part in which, and the first error, which is that of the
/// whole. An error does not stop the others, since other ranks wait in them.
class Calls {
 public:
  Calls(BoundSchedule& bound, Hierarchy& hierarchy, int root)
      : bound_(bound), hierarchy_(hierarchy), root_(root) {}

  Process& process() const { return bound_.process(); }
  const NodeMap& map() const { return hierarchy_.map(); }
  Comm* node() const { return &hierarchy_.node(); }
  Comm* lane() const { return &hierarchy_.lane(); }

  /// The number, in its node, of each node's rank on the root's lane; whether this rank is on that lane; and
  /// the root's number there.
  int carrier() const { return map().index_of(root_); }
  bool carries() const { return hierarchy_.node().rank == carrier(); }
  int root_node() const { return map().node_of(root_); }
  bool is_root() const { return carries() && root_node() == map().own_node(); }

  const void* send_buffer() const { return bound_.arguments.send; }
  std::byte* at(Place place) const { return bound_.address(place); }
  Datatype* type(ElementType type) const { return &bound_.datatype(type, -1); }
  Datatype* byte() const { return type(ElementType::kBytes); }
  Op* op() const { return const_cast<Op*>(bound_.arguments.op); }  // calls take it so, and keep none

  /// This rank's own block.
  void copy_own(const void* from, Count from_count, const Datatype& from_type, void* to, Count to_count,
                const Datatype& to_type) {
    const Count bytes = from_count * from_type.size, room = to_count * to_type.size;
    if (bytes > room) {
      (*this)(process().fail(kErrTruncate,
                             "this rank's own block has %lld bytes to send and room to receive %lld",
                             static_cast<long long>(bytes), static_cast<long long>(room)));
    }
    copy_typed(from, from_count, from_type, to, to_count, to_type);
  }

  /// One call more.
  void operator()(Code code) {
    if (first_ == 0) first_ = code;
  }
  /// The same on the node, where that has more than this rank.
  template <class Call>
  void on_node(Call&& call) {
    if (!hierarchy_.is_alone()) (*this)(call());
  }
  Code error() const { return first_; }

 private:
  BoundSchedule& bound_;
  Hierarchy& hierarchy_;
  int root_;
  Code first_ = 0;
};

}  // namespace tasuki::hierarchy
