// The parts of a status that have calls of their own (MPI 3.2.5, 3.8.4).
#include "p2p/api.hpp"

namespace tasuki::api {

Code status_get_source(Process&, const Status* status, int* source) {
  *source = status->source;
  return kSuccess;
}

Code status_get_tag(Process&, const Status* status, int* tag) {
  *tag = status->tag;
  return kSuccess;
}

Code status_get_error(Process&, const Status* status, int* error) {
  *error = status->error;
  return kSuccess;
}

Code status_set_source(Process&, Status* status, int source) {
  status->source = source;
  return kSuccess;
}

Code status_set_tag(Process&, Status* status, int tag) {
  status->tag = tag;
  return kSuccess;
}

Code status_set_error(Process&, Status* status, int error) {
  status->error = error;
  return kSuccess;
}

Code status_set_cancelled(Process&, Status* status, bool flag) {
  status->cancelled = flag;
  return kSuccess;
}

Code test_cancelled(Process&, const Status* status, bool* flag) {
  *flag = status->cancelled;
  return kSuccess;
}

}  // namespace tasuki::api
