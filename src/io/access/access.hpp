// Access: one data access of one rank, whichever of the fifty calls it came from (MPI 14.4).
#pragma once

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "io/file/file.hpp"

namespace tasuki {

struct Access {
  File& file;
  bool write;
  void* buffer;  // is only read by a write
  Count count;
  Datatype* datatype;
  Offset offset = 0;     // etypes: where it begins in the view
  Count file_bytes = 0;  // of data; set by measure()

  Count etypes() const { return file_bytes / file.view.etype_in_file->size; }
};

/// Checks what does not depend on the place: the mode of the file, and that the data is a whole number of
/// etypes. Sets file_bytes.
Code measure(Access* access);

/// Checks that the access lies within what the view can reach.
Code check_place(const Access& access);

/// Moves the data. `status` (not null) says how many bytes of the user's arrived, also beside an error. A
/// read at the end of the file is short. REQUIRES: measure() and check_place() found nothing wrong.
Code transfer(const Access& access, Status* status);

/// Where the bytes of the access lie one behind the other in memory, in their order; null where they do not.
std::byte* dense_data(const Access& access);

}  // namespace tasuki
