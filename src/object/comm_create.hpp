// The steps that all calls that make a communicator share.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// A new communicator of these processes, with `parent`'s error handler. The caller owns the reference.
Comm* make_comm(Comm& parent, Context context, Ref<Group> group);

/// Takes over the hints in `info` that this library knows; `info` may be null.
void take_hints(Comm& comm, const Info* info);

/// A process's share in the exchange that splits a communicator.
struct SplitShare {
  std::int64_t color;
  std::int32_t key;
  std::int32_t joins;  // 0: asks for MPI_COMM_NULL
  Context context;     // that the new communicator takes if this process is its first member
};

/// The communicator of those whose color is this process's, in the order of (key, rank in `parent`), or null
/// if it does not join. `shares` are by rank in `parent`.
Comm* make_split(Comm& parent, const std::vector<SplitShare>& shares);

}  // namespace tasuki
