// Callbacks: how the core calls a user's functions. Only the binding knows their signatures and the handles
// that they expect, so it implements this interface, once per ABI. The `Process::callbacks` pointer leads
// here.
#pragma once

#include "base/types.hpp"

namespace tasuki {

struct Comm;
struct Datatype;
struct Object;

class Callbacks {
 public:
  /// Attribute copy and delete functions of a communicator, datatype or window (`owner->kind` tells which).
  /// Return the user's return code.
  virtual Code copy_attribute(AnyFunction function, Object* owner, int keyval, void* extra_state,
                              void* value_in, void** value_out, bool* keep) = 0;
  virtual Code delete_attribute(AnyFunction function, Object* owner, int keyval, void* value,
                                void* extra_state) = 0;

  /// A user's reduction: inout[i] = in[i] op inout[i]. `wide`: made by MPI_Op_create_c.
  virtual void reduce(AnyFunction function, bool wide, const void* in, void* inout, Count count,
                      Datatype* datatype) = 0;

  /// The functions of a generalised request (MPI 13.2). Return the user's return code.
  virtual Code query_request(AnyFunction function, void* extra_state, Status* status) = 0;
  virtual Code free_request(AnyFunction function, void* extra_state) = 0;
  virtual Code cancel_request(AnyFunction function, void* extra_state, bool complete) = 0;

  /// A user's error handler of a communicator, window, file or session (`owner->kind`).
  /// May do so when the present call is over; what the handler makes of the code is the call's result then.
  virtual void error_handler(AnyFunction function, Object* owner, Code code) = 0;

  /// A user's conversion functions of a data representation (MPI 14.5.3): `count` basic elements of
  /// `datatype`'s type map, from number `position` on, between the user's buffer and the file's form. `wide`:
  /// registered by MPI_Register_datarep_c. Returns the user's return code.
  virtual Code convert(AnyFunction function, bool wide, void* userbuf, Datatype* datatype, Count count,
                       void* filebuf, Offset position, void* extra_state) = 0;
  virtual Code datarep_extent(AnyFunction function, Datatype* datatype, Aint* extent, void* extra_state) = 0;

 protected:
  ~Callbacks() = default;
};

}  // namespace tasuki
