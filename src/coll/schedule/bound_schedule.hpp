// A schedule bound to one call: the buffers, datatypes and operation that its steps refer to, and its scratch
// memory. So a Place becomes an address and an ElementType a datatype.
//
// Ownership: it owns its scratch memory, and uses that again; the arguments are the caller's.
// Thread safety: the caller holds the process lock.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "coll/schedule/schedule.hpp"
#include "datatype/datatype.hpp"
#include "reduction/op.hpp"

namespace tasuki {

/// The buffers, datatypes and operation that the steps of a schedule refer to. Null where the call has none.
struct Arguments {
  const void* send = nullptr;
  void* receive = nullptr;
  Datatype* send_type = nullptr;
  Datatype* receive_type = nullptr;
  Datatype* const* send_types = nullptr;  // of the w forms: one for each block
  Datatype* const* receive_types = nullptr;
  const Op* op = nullptr;
};

TypeShape shape_of(const Datatype& datatype);

class BoundSchedule {
 public:
  explicit BoundSchedule(Process& process) : process_(process) {}
  BoundSchedule(const BoundSchedule&) = delete;
  BoundSchedule& operator=(const BoundSchedule&) = delete;

  Arguments arguments;
  Schedule schedule;
  /// Of the w forms: the datatypes of the blocks to send and then of those to receive, the bytes of each
  /// one's data, and its true lower bound.
  std::vector<Datatype*> types;
  std::vector<Count> type_sizes;
  std::vector<Count> type_lower_bounds;
  /// Copies the arrays of datatypes, and has the arguments refer to the copies. A null `send_types`: none.
  void take_types(Datatype* const* send_types, std::size_t out_blocks, Datatype* const* receive_types,
                  std::size_t in_blocks);

  Process& process() const { return process_; }

  /// Sees to it that there is as much scratch memory as the schedule has asked for. What was there goes.
  Code take_scratch();
  std::byte* address(Place place) const;
  Datatype& datatype(ElementType type, int block) const;

 protected:
  ~BoundSchedule() = default;

  /// Makes it one of no call and without steps. Gives scratch memory back where it is much.
  void unbind();

  Process& process_;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> scratch_;
  Count scratch_capacity_ = 0;  // bytes
};

}  // namespace tasuki
