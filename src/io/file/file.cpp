// What a process knows about files in general: see file.hpp.
#include "io/file/file.hpp"

#include "io/file/pending.hpp"

namespace tasuki {

std::string File::description() const {
  return "file \"" + name + "\", rank " + std::to_string(comm->rank);
}

Files::Files(Process& process)
    : storage(make_posix_storage()), pending(std::make_unique<PendingAccesses>(process)) {
  for (const char* name : {"native", "internal", "external32"}) {
    auto made = std::make_shared<DataRepresentation>();
    made->name = name;
    if (made->name == "external32") made->form = DataRepresentation::Form::kExternal32;
    representations[name] = made;
  }
}

Files::~Files() = default;

}  // namespace tasuki
