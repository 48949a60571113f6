// Generalised requests: when the user's functions run, and the calls (MPI 13.2).
#include "p2p/call/generalized.hpp"

#include "object/callbacks.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

/// What a user's function returned is what the call returns.
Code passed_on(Process& process, const char* which, Code returned) {
  if (returned == kSuccess) return kSuccess;
  return process.returned_by_user(returned, "the %s function of a generalised request returned %d", which,
                                  returned);
}

}  // namespace

Code GeneralizedRequest::cancel() {
  Process& process = comm->process;
  return passed_on(process, "cancel", process.callbacks->cancel_request(cancel_function, extra_state, done));
}

Code GeneralizedRequest::call_query(Status* into) const {
  *into = kEmptyStatus;
  Process& process = comm->process;
  return passed_on(process, "query", process.callbacks->query_request(query_function, extra_state, into));
}

Code GeneralizedRequest::let_go() {
  if (!done) {
    let_go_early = true;
    return kSuccess;
  }
  Process& process = comm->process;
  return passed_on(process, "free", process.callbacks->free_request(free_function, extra_state));
}

namespace api {

Code grequest_start(Process& process, AnyFunction query_fn, AnyFunction free_fn, AnyFunction cancel_fn,
                    void* extra_state, Request** request) {
  auto* made = new GeneralizedRequest(*process.objects->self, query_fn, free_fn, cancel_fn, extra_state);
  *request = retain(made);  // the second reference is the operation's
  return kSuccess;
}

Code grequest_complete(Process& process, Request** handle) {
  Request* const request = *handle;
  if (request->request_type != RequestType::kGeneralized) {
    const Code code =
        process.fail(kErrRequest, "request was not made by MPI_Grequest_start, expected a generalised one");
    return blame_owner(process, *request, code);
  }
  if (request->done) {
    return process.fail(kErrRequest,
                        "the generalised request is complete already, expected to be completed once");
  }
  const Ref<GeneralizedRequest> last(static_cast<GeneralizedRequest*>(request));
  *handle = nullptr;
  last->complete();
  process.progress->wake();
  return last->let_go_early ? last->let_go() : kSuccess;
}

}  // namespace api
}  // namespace tasuki
