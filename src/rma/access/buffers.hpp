// The two ends of an access: a user's buffer at the origin, and elements of the target's part of the window.
#pragma once

#include "base/types.hpp"
#include "datatype/datatype.hpp"

namespace tasuki::rma {

/// A buffer of the origin: what is put, or where what is fetched goes.
struct OriginBuffer {
  std::byte* address = nullptr;
  Count count = 0;
  Datatype* type = nullptr;

  Count bytes() const { return type != nullptr ? count * type->size : 0; }
};

/// Elements at the target, checked as far as the origin can.
struct TargetBuffer {
  int rank;
  Count offset;  // bytes from the start of the target's part; of a dynamic window: the address
  Count count;
  Datatype* type;

  Count bytes() const { return count * type->size; }
};

}  // namespace tasuki::rma
