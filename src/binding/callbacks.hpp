// AbiCallbacks: calls a user's functions with the handles and numbers of this library's ABI.
#pragma once

#include "object/callbacks.hpp"

namespace tasuki {

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
