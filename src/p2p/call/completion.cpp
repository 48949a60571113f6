// Completion: wait and test, and what they do with a request that is over (MPI 3.7.3 - 3.7.6).
//
// Waiting for many requests keeps a cursor, so it looks at each of them about once, however long it takes.
#include <string>
#include <unordered_map>
#include <utility>

#include "check/checks.hpp"
#include "p2p/call/api.hpp"
#include "p2p/call/generalized.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/waiting_call.hpp"
#include "progress/progress.hpp"

namespace tasuki {

namespace {

/// Null handles and inactive persistent requests: nothing to wait for, an empty status.
inline bool is_inactive(const Request* request) {
  return request == nullptr || (request->persistent && !request->active);
}

inline bool is_over(const Request* request) {
  return is_inactive(request) || request->done;
}

/// Errors of a completion call belong to the communicator, window or file of the request.
inline Code blame(Process& process, Request& request) {
  const Code code = request.status.error;
  if (code != kSuccess) [[unlikely]]
    return blame_owner(process, request, code);
  return code;
}

/// Errors of a user's function belong to MPI_COMM_SELF, as all of a generalised request do.
Code finish_generalized(Process& process, Request** handle, Status* status) {
  const Ref<GeneralizedRequest> request(static_cast<GeneralizedRequest*>(*handle));
  *handle = nullptr;
  Code code = request->call_query(&request->status);
  const Code freed = request->let_go();
  if (code == kSuccess) code = freed;
  request->status.error = code;
  if (status != nullptr) *status = request->status;
  return blame(process, *request);
}

/// The memory that it used is the program's again.
[[gnu::cold, gnu::noinline]] void give_buffers_back(Process& process, Request& request) {
  request.has_pending_buffers = false;
  const Code code = process.checks->end(&request);
  if (request.status.error == kSuccess) request.status.error = code;
}

/// Gives the status of a request that is over, and ends its life or its activity.
Code finish(Process& process, Request** handle, Status* status) {
  Request* request = *handle;
  if (is_inactive(request)) {
    if (status != nullptr) *status = kEmptyStatus;
    return kSuccess;
  }
  if (request->request_type == RequestType::kGeneralized) [[unlikely]]
    return finish_generalized(process, handle, status);
  if (request->has_pending_buffers) [[unlikely]]
    give_buffers_back(process, *request);
  if (status != nullptr) *status = request->status;
  const Code code = blame(process, *request);
  if (request->persistent) {
    request->active = false;
  } else {
    *handle = nullptr;
    release(request);
  }
  return code;
}

/// The status as finish() gives it, but the request stays.
Code look(Process& process, Request* request, Status* status) {
  if (request != nullptr && request->request_type == RequestType::kGeneralized) {
    const Ref<Request> alive = Ref<Request>::share(request);
    request->status.error = static_cast<GeneralizedRequest*>(request)->call_query(&request->status);
  }
  if (!is_inactive(request) && request->has_pending_buffers) give_buffers_back(process, *request);
  if (status != nullptr) *status = is_inactive(request) ? kEmptyStatus : request->status;
  return is_inactive(request) ? kSuccess : blame(process, *request);
}

/// Collects the errors of several requests into MPI_ERR_IN_STATUS.
class InStatus {
 public:
  void add(Count index, Code code) {
    if (code == kSuccess) return;
    if (failed_++ == 0) {
      first_index_ = index;
      first_ = code;
    }
  }
  Code code(Process& process, Count of) const {
    if (failed_ == 0) return kSuccess;
    return process.fail(kErrInStatus, "%lld of %lld requests failed; requests[%lld]: %s",
                        static_cast<long long>(failed_), static_cast<long long>(of),
                        static_cast<long long>(first_index_), process.errors.cause(first_).c_str());
  }

 private:
  Count failed_ = 0;
  Count first_index_ = 0;
  Code first_ = kSuccess;
};

struct Any {
  Count index = -1;  // of a request that is over
  bool active = false;
};

Any find_any(Count count, Request* const* requests) {
  Any any;
  for (Count i = 0; i < count; ++i) {
    if (is_inactive(requests[i])) continue;
    any.active = true;
    if (!requests[i]->done) continue;
    any.index = i;
    break;
  }
  return any;
}

/// Whether all are over, going on from `cursor`.
bool all_over(Count count, Request* const* requests, Count* cursor) {
  while (*cursor < count && is_over(requests[*cursor])) ++*cursor;
  return *cursor == count;
}

Code finish_all(Process& process, Count count, Request** requests, Status* statuses) {
  InStatus errors;
  for (Count i = 0; i < count; ++i) {
    errors.add(i, finish(process, &requests[i], statuses != nullptr ? &statuses[i] : nullptr));
  }
  return errors.code(process, count);
}

/// Finishes all that are over. `*outcount` stays kUndefined when there is none but inactive ones.
Code finish_some(Process& process, Count count, Request** requests, Count* outcount, int* indices,
                 Status* statuses) {
  InStatus errors;
  bool active = false;
  Count found = 0;
  for (Count i = 0; i < count; ++i) {
    if (is_inactive(requests[i])) continue;
    active = true;
    if (!requests[i]->done) continue;
    errors.add(i, finish(process, &requests[i], statuses != nullptr ? &statuses[found] : nullptr));
    indices[found++] = static_cast<int>(i);
  }
  *outcount = active ? found : kUndefined;
  return errors.code(process, count);
}

/// Waits until `over()` holds, and lets a report name what is waited for.
template <class Over>
void wait_for(Process& process, Request* const* requests, Count count, Awaits how, Over&& over) {
  if (over()) return;
  const WaitingCall waiting(*process.p2p, requests, count, how);
  process.progress->wait_until(over);
}

/// All sends that were over at once are one request here, which tells nothing.
[[gnu::cold, gnu::noinline]] Code refuse_same(Process& process, Count count, Request* const* requests) {
  std::unordered_map<const Request*, Count> seen;
  for (Count i = 0; i < count; ++i) {
    if (requests[i] == nullptr || !requests[i]->comm) continue;
    const auto [first, is_new] = seen.emplace(requests[i], i);
    if (is_new) continue;
    return process.fail(kErrRequest,
                        "requests[%lld] is the same request as requests[%lld], expected each once",
                        static_cast<long long>(i), static_cast<long long>(first->second));
  }
  return kSuccess;
}

/// With TASUKI_CHECK: the same request twice would be freed twice.
inline Code check_unique(Process& process, Count count, Request* const* requests) {
  return process.checks == nullptr ? kSuccess : refuse_same(process, count, requests);
}

/// Polls once unless `over()` holds already. Returns whether it holds.
template <class Over>
bool try_once(Process& process, Over&& over) {
  if (over()) return true;
  process.progress->poll_once();
  return over();
}

}  // namespace

namespace {

Code refuse_to_start(Process& process) {
  return process.fail(kErrRequest, "the request is not persistent, expected one made by an _init call");
}

/// A partitioned message that one end gives up would keep the other end waiting for ever (MPI 4.2.1).
Code refuse_under_way(Process& process, Request& request, const char* done_to_it) {
  const bool partitioned = request.request_type == RequestType::kPartitionedSend ||
                           request.request_type == RequestType::kPartitionedReceive;
  if (!partitioned || !request.active || request.done) return kSuccess;
  const Code code = process.fail(
      kErrRequest, "the partitioned request is active and cannot be %s, expected it to be completed first",
      done_to_it);
  return blame_owner(process, request, code);
}

}  // namespace

[[gnu::cold, gnu::noinline]] Code blame_owner(Process& process, Request& request, Code code) {
  process.p2p->error_owner = Ref<ErrorOwner>::share(request.error_owner());
  process.error_owner = request.error_owner();
  return code;
}

Code Request::start() {
  return refuse_to_start(comm->process);
}

Code SentRequest::start() {
  return refuse_to_start(process);
}

Code wait_and_release(Request* request, Status* status) {
  Process& process = request->comm->process;
  wait_for(process, &request, 1, Awaits::kAll, [request] { return request->done; });
  return finish(process, &request, status);
}

Code wait_for_send_buffer(SendRequest* send) {
  Request* request = send;
  Process& process = request->comm->process;
  wait_for(process, &request, 1, Awaits::kAll,
           [&] { return send->done || process.p2p->large->set_aside(*send); });
  if (send->done) return finish(process, &request, nullptr);
  release(request);
  return kSuccess;
}

namespace api {

Code wait(Process& process, Request** request, Status* status) {
  wait_for(process, request, 1, Awaits::kAll, [request] { return is_over(*request); });
  return finish(process, request, status);
}

Code test(Process& process, Request** request, bool* flag, Status* status) {
  *flag = try_once(process, [request] { return is_over(*request); });
  return *flag ? finish(process, request, status) : kSuccess;
}

Code waitany(Process& process, Count count, Request** requests, int* index, Status* status) {
  *index = kUndefined;
  if (Code code = check_unique(process, count, requests)) return code;
  Any any;
  wait_for(process, requests, count, Awaits::kAny, [&] {
    any = find_any(count, requests);
    return any.index >= 0 || !any.active;
  });
  if (any.active) {
    *index = static_cast<int>(any.index);
    return finish(process, &requests[any.index], status);
  }
  if (status != nullptr) *status = kEmptyStatus;
  return kSuccess;
}

Code testany(Process& process, Count count, Request** requests, int* index, bool* flag, Status* status) {
  *index = kUndefined;
  if (Code code = check_unique(process, count, requests)) return code;
  Any any;
  *flag = try_once(process, [&] {
    any = find_any(count, requests);
    return any.index >= 0 || !any.active;
  });
  if (any.index >= 0) {
    *index = static_cast<int>(any.index);
    return finish(process, &requests[any.index], status);
  }
  if (*flag && status != nullptr) *status = kEmptyStatus;
  return kSuccess;
}

Code waitall(Process& process, Count count, Request** requests, Status* statuses) {
  if (Code code = check_unique(process, count, requests)) return code;
  Count cursor = 0;
  wait_for(process, requests, count, Awaits::kAll, [&] { return all_over(count, requests, &cursor); });
  return finish_all(process, count, requests, statuses);
}

Code testall(Process& process, Count count, Request** requests, bool* flag, Status* statuses) {
  if (Code code = check_unique(process, count, requests)) return code;
  Count cursor = 0;
  *flag = try_once(process, [&] { return all_over(count, requests, &cursor); });
  return *flag ? finish_all(process, count, requests, statuses) : kSuccess;
}

Code waitsome(Process& process, Count incount, Request** requests, Count* outcount, int* indices,
              Status* statuses) {
  if (Code code = check_unique(process, incount, requests)) return code;
  process.progress->poll_once();  // what has arrived completes too, beside what is complete already
  wait_for(process, requests, incount, Awaits::kAny, [&] {
    const Any any = find_any(incount, requests);
    return any.index >= 0 || !any.active;
  });
  return finish_some(process, incount, requests, outcount, indices, statuses);
}

Code testsome(Process& process, Count incount, Request** requests, Count* outcount, int* indices,
              Status* statuses) {
  if (Code code = check_unique(process, incount, requests)) return code;
  process.progress->poll_once();
  return finish_some(process, incount, requests, outcount, indices, statuses);
}

Code request_get_status(Process& process, Request* request, bool* flag, Status* status) {
  *flag = try_once(process, [request] { return is_over(request); });
  return *flag ? look(process, request, status) : kSuccess;
}

Code request_get_status_any(Process& process, Count count, Request* const* requests, int* index, bool* flag,
                            Status* status) {
  Any any;
  *flag = try_once(process, [&] {
    any = find_any(count, requests);
    return any.index >= 0 || !any.active;
  });
  *index = any.index >= 0 ? static_cast<int>(any.index) : kUndefined;
  return *flag ? look(process, any.index >= 0 ? requests[any.index] : nullptr, status) : kSuccess;
}

Code request_get_status_all(Process& process, Count count, Request* const* requests, bool* flag,
                            Status* statuses) {
  Count cursor = 0;
  *flag = try_once(process, [&] { return all_over(count, requests, &cursor); });
  if (!*flag) return kSuccess;
  InStatus errors;
  for (Count i = 0; i < count; ++i) {
    errors.add(i, look(process, requests[i], statuses != nullptr ? &statuses[i] : nullptr));
  }
  return errors.code(process, count);
}

Code request_get_status_some(Process& process, Count incount, Request* const* requests, Count* outcount,
                             int* indices, Status* statuses) {
  process.progress->poll_once();
  InStatus errors;
  bool active = false;
  Count found = 0;
  for (Count i = 0; i < incount; ++i) {
    if (is_inactive(requests[i])) continue;
    active = true;
    if (!requests[i]->done) continue;
    errors.add(i, look(process, requests[i], statuses != nullptr ? &statuses[found] : nullptr));
    indices[found++] = static_cast<int>(i);
  }
  *outcount = active ? found : kUndefined;
  return errors.code(process, incount);
}

Code request_free(Process& process, Request** request) {
  if (const Code code = refuse_under_way(process, **request, "freed")) return code;
  const Ref<Request> last(std::exchange(*request, nullptr));
  if (last->has_pending_buffers) give_buffers_back(process, *last);  // no call will wait for it
  if (last->request_type != RequestType::kGeneralized) return kSuccess;
  return static_cast<GeneralizedRequest&>(*last).let_go();
}

Code cancel(Process& process, Request* request) {
  if (const Code code = refuse_under_way(process, *request, "cancelled")) return code;
  const Ref<Request> alive = Ref<Request>::share(request);
  return request->cancel();
}

}  // namespace api
}  // namespace tasuki
