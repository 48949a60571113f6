// Objects: the predefined objects of one process, and its keyvals.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "base/predefined.hpp"
#include "object/comm.hpp"

namespace tasuki {

struct Datatype;

struct Objects {
  explicit Objects(Process& process);  // makes every predefined object but the communicators
  ~Objects();

  std::array<Object*, kPredefinedCount> predefined{};  // by number; null where there is none; owned
  std::vector<Ref<Object>> unnamed;  // unnamed predefined datatypes (MPI 19.1.9), made on demand, never freed
  Comm* world = nullptr;
  Comm* self = nullptr;
  std::map<int, Keyval*> keyvals;  // valid user keyvals
  int keyval_next = kKeyvalUserFirst;
  std::uint64_t context_next = 1;
  Ref<Errhandler> initial_errhandler;  // MPI 9.3: ERRORS_ARE_FATAL unless mpiexec or the info says otherwise
};

}  // namespace tasuki
