// Attributes: values that users cache on communicators, datatypes and windows, with callbacks (MPI 7.7).
//
// Callbacks may set and delete attributes, of the same object too. An attribute stays in its place until its
// delete callback has succeeded; while the callback runs, the attribute cannot be deleted a second time.
//
// Thread safety: guarded by the process lock.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "object/object.hpp"

namespace tasuki {

struct Process;

/// A key made by MPI_{Comm,Type,Win}_create_keyval. A freed key lives on, under its number, until its last
/// attribute is gone: a program that kept the number may ask for the attribute, change it and delete it
/// (MPI 7.7.2).
struct Keyval {
  int number = 0;
  Kind owner = Kind::kComm;
  AnyFunction copy = nullptr;  // nullptr: MPI_X_NULL_COPY_FN
  bool duplicate = false;      // MPI_X_DUP_FN: copy the value
  AnyFunction destroy = nullptr;
  void* extra_state = nullptr;
  int references = 1;  // the user's, until MPI_X_free_keyval, and one of each attribute
  bool freed = false;
  const char* maker = nullptr;  // the function that made it
};

struct Attribute {
  Keyval* keyval;
  void* value;
  bool being_deleted = false;  // its delete callback runs
};

/// The attributes of one object, in the order in which they were set.
using Attributes = std::vector<Attribute>;

/// Copies `from`'s attributes to `to` by their callbacks. When one fails, what was copied is in `to`.
Code copy_attributes(Process& process, Object* from_owner, const Attributes& from, Attributes* to);

/// Deletes all of `owner`'s, the last one set first (MPI 11.2.4). Stops at the first callback that fails.
Code delete_attributes(Process& process, Object* owner, Attributes* attributes);

// One attribute and one key, for objects of any kind; the calls of the standard are these.
Code create_keyval(Process& process, Kind owner, AnyFunction copy, bool duplicate, AnyFunction destroy,
                   void* extra_state, int* number);
Code free_keyval(Process& process, Kind owner, int* number);
Code set_attribute(Process& process, Object* owner, Attributes* attributes, int number, void* value);
Code get_attribute(Process& process, Object* owner, const Attributes& attributes, int number, void** value,
                   bool* flag);
Code delete_attribute(Process& process, Object* owner, Attributes* attributes, int number);

}  // namespace tasuki
