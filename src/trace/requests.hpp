// The open requests by their handles, for the completion calls. A handle may stand here several
// times: libraries give out one handle for all sends that are done at once. The recorder's lock protects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tasuki::trace {

class RankMap;

struct OpenRequest {
  std::uintptr_t handle = 0;
  std::int64_t serial = 0;         // of the operation that is under way, or was last
  std::int64_t persistent = -1;    // the serial of the request that it is started from; -1: it is none
  const RankMap* ranks = nullptr;  // of the communicator, for the source in a status; null: no receive
  bool much = false;               // it moves so much that its way matters
  bool used = false;
};

class OpenRequests {
 public:
  void add(const OpenRequest& request);
  /// The request that was entered under this handle, or null. Valid until the next change.
  OpenRequest* find(std::uintptr_t handle);
  void remove(OpenRequest* request);

 private:
  std::size_t place_of(std::uintptr_t handle) const;
  std::vector<OpenRequest> places_;  // open addressing; their number is a power of two
  std::size_t used_ = 0;
};

}  // namespace tasuki::trace
