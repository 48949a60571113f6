// What a status says in units of a datatype (MPI 3.2.5, 5.1.12, 13.3). A status knows bytes.
#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"

namespace tasuki::api {

Code get_count(Process&, const Status* status, Datatype* datatype, Count* count) {
  if (datatype->size == 0) {
    *count = status->bytes == 0 ? 0 : kUndefined;
  } else {
    *count = status->bytes % datatype->size == 0 ? status->bytes / datatype->size : kUndefined;
  }
  return kSuccess;
}

Code get_elements(Process&, const Status* status, Datatype* datatype, Count* count) {
  *count = elements_in_bytes(*datatype->signature, status->bytes);
  return kSuccess;
}

Code get_elements_x(Process& process, const Status* status, Datatype* datatype, Count* count) {
  return get_elements(process, status, datatype, count);
}

Code status_set_elements(Process& process, Status* status, Datatype* datatype, Count count) {
  if (const Code code = check_oldtype(process, datatype, "datatype")) return code;
  if (count < 0) return process.fail(kErrCount, "count = %lld, expected 0 or more", printed(count));
  const Signature& signature = *datatype->signature;
  if (signature.elements == 0) {
    if (count > 0) {
      return process.fail(kErrCount, "count = %lld, expected 0: the type has no elements", printed(count));
    }
    status->bytes = 0;
    return kSuccess;
  }
  if (!fits((Wide{count} / signature.elements + 1) * signature.size)) {
    return process.fail(kErrCount, "count = %lld, more than 63 bits of bytes", printed(count));
  }
  status->bytes = bytes_of_elements(signature, count);
  return kSuccess;
}

Code status_set_elements_x(Process& process, Status* status, Datatype* datatype, Count count) {
  return status_set_elements(process, status, datatype, count);
}

}  // namespace tasuki::api
