// GeneralizedRequest: an operation that the user's own code carries out and reports through the completion
// calls of MPI (MPI 13.2).
//
// Life: two references, one of the user's handle, one of the operation, which MPI_Grequest_complete gives
// back. The user's functions run inside the MPI calls that the standard names, never inside progress:
//   query   when a completion call or MPI_Request_get_status gives the status
//   free    once: after query in a completion call; or, when the user freed the request, by whichever of
//           MPI_Request_free and MPI_Grequest_complete comes last
//   cancel  in MPI_Cancel
//
// Thread safety: the process lock guards it; the user's functions run without it and may call MPI.
#pragma once

#include "base/types.hpp"
#include "p2p/request.hpp"

namespace tasuki {

struct GeneralizedRequest final : Request {
  GeneralizedRequest(Comm& on, AnyFunction on_query, AnyFunction on_free, AnyFunction on_cancel, void* state)
      : Request(RequestType::kGeneralized, on),
        query_function(on_query),
        free_function(on_free),
        cancel_function(on_cancel),
        extra_state(state) {
    active = true;
  }

  Code cancel() override;
  ErrorOwner* error_owner() override { return nullptr; }  // it belongs to no communicator
  Code call_query(Status* into) const;
  /// The user's handle is gone: frees the user's state, at once or when the operation is over.
  Code let_go();

  AnyFunction query_function;
  AnyFunction free_function;
  AnyFunction cancel_function;
  void* extra_state;
  bool let_go_early = false;  // MPI_Request_free came before MPI_Grequest_complete
};

}  // namespace tasuki
