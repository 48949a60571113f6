// AbiCallbacks: calls a user's functions with the handles and numbers of this library's ABI.
//
// longjmp or an exception may leave a user's function. For an error handler that is as good as a return: the
// call that it belongs to is over (DueHandler). When another callback is left so, the work of its call stays
// half done, but the next call of this thread puts the lock and the line right (callback_frame).
#pragma once

#include <cstdint>

#include "object/callbacks.hpp"
#include "object/object.hpp"

namespace tasuki {

/// A user's error handler that is to be called as soon as the call is over, with what it needs: when it runs
/// the lock is free.
struct DueHandler {
  AnyFunction function = nullptr;  // null: none is due
  Kind kind = Kind::kComm;         // of the owner: determines the type of the function
  Object* owner = nullptr;         // may be gone when the handler runs, where it is not lent
  std::uint64_t handle = 0;        // of the owner, in the bits of the ABI
  Code code = 0;
  bool lent = false;  // the owner had no handle of the user's: it has one, and a reference, until take_back()

  /// Calls it. Returns the code as the handler leaves it, in the ABI's numbers.
  int call() const;
  /// With the lock, if there is one.
  void take_back() const;
};

class AbiCallbacks final : public Callbacks {
 public:
  Code copy_attribute(AnyFunction function, Object* owner, int keyval, void* extra_state, void* value_in,
                      void** value_out, bool* keep) override;
  Code delete_attribute(AnyFunction function, Object* owner, int keyval, void* value,
                        void* extra_state) override;
  void reduce(AnyFunction function, bool wide, const void* in, void* inout, Count count,
              Datatype* datatype) override;
  Code query_request(AnyFunction function, void* extra_state, Status* status) override;
  Code free_request(AnyFunction function, void* extra_state) override;
  Code cancel_request(AnyFunction function, void* extra_state, bool complete) override;
  /// Makes it the handler that is due.
  void error_handler(AnyFunction function, Object* owner, Code code) override;
  Code convert(AnyFunction function, bool wide, void* userbuf, Datatype* datatype, Count count, void* filebuf,
               Offset position, void* extra_state) override;
  Code datarep_extent(AnyFunction function, Datatype* datatype, Aint* extent, void* extra_state) override;
};

/// A user's copy function as the core keeps it: MPI_X_NULL_COPY_FN is null, MPI_X_DUP_FN is `duplicate`.
struct CopyFunction {
  AnyFunction function;
  bool duplicate;
};
CopyFunction copy_function(AnyFunction function);

/// A user's delete function as the core keeps it: MPI_X_NULL_DELETE_FN is null.
AnyFunction delete_function(AnyFunction function);

}  // namespace tasuki
