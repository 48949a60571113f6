// Generalised requests: when the user's functions run, and the calls (MPI 13.2).
#include "p2p/generalized.hpp"

#include "object/callbacks.hpp"
#include "object/objects.hpp"
#include "p2p/api.hpp"
#include "runtime/progress.hpp"

namespace tasuki {

Code GeneralizedRequest::cancel() {
  return comm->process.callbacks->cancel_request(cancel_function, extra_state, done);
}

Code GeneralizedRequest::call_query(Status* into) const {
  *into = kEmptyStatus;
  return comm->process.callbacks->query_request(query_function, extra_state, into);
}

Code GeneralizedRequest::let_go() {
  if (!done) {
    let_go_early = true;
    return kSuccess;
  }
  return comm->process.callbacks->free_request(free_function, extra_state);
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
    return process.fail(kErrRequest,
                        "request was not made by MPI_Grequest_start, expected a generalised one");
  }
  if (request->done) {
    return process.fail(kErrRequest, "the generalised request is complete already, expected to be told once");
  }
  const Ref<GeneralizedRequest> last(static_cast<GeneralizedRequest*>(request));
  *handle = nullptr;
  last->complete();
  process.progress->wake();
  return last->let_go_early ? last->let_go() : kSuccess;
}

}  // namespace api
}  // namespace tasuki
