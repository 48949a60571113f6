// Attributes: values that users cache on communicators, datatypes and windows, with callbacks (MPI 7.7).
#pragma once

#include <map>

#include "base/types.hpp"
#include "object/object.hpp"

namespace tasuki {

struct Process;

/// A key made by MPI_{Comm,Type,Win}_create_keyval. Freed keys live on until their last attribute is gone.
struct Keyval {
  int number = 0;
  Kind owner = Kind::kComm;
  AnyFunction copy = nullptr;  // nullptr: MPI_X_NULL_COPY_FN
  bool duplicate = false;      // MPI_X_DUP_FN: copy the value
  AnyFunction destroy = nullptr;
  void* extra_state = nullptr;
  int references = 1;
};

/// The attributes of one object, in the order in which they were set.
using Attributes = std::map<int, std::pair<Keyval*, void*>>;

/// Copies `from`'s attributes to `to` by their callbacks; deletes all of `owner`'s (object/attribute.cpp).
Code copy_attributes(Process& process, Object* from_owner, const Attributes& from, Attributes* to);
Code delete_attributes(Process& process, Object* owner, Attributes* attributes);

}  // namespace tasuki
