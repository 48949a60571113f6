// View: which bytes of a file a process sees, in which order (MPI 14.3): from displacement on, copies of the
// filetype one behind the other, whose data is numbered in etypes.
//
// A view is asked for one run of the file at a time, so an access costs no memory, however many pieces it
// has. Positions are in bytes of data in the file's representation.
#pragma once

#include <memory>
#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "io/view/data_representation.hpp"
#include "io/view/ranges.hpp"

namespace tasuki {

struct View {
  Offset displacement = 0;
  Ref<Datatype> etype;     // the user's
  Ref<Datatype> filetype;  //
  std::shared_ptr<DataRepresentation> representation;
  Ref<Datatype> etype_in_file;     // the same as they lie in the file
  Ref<Datatype> filetype_in_file;  //

  /// The run that begins at `position`. It need not be the longest one. REQUIRES: reaches(position + 1).
  FileRun run_at(Count position) const;

  /// Whether the first `position` bytes of data, and what lies between them, have offsets of 63 bits.
  bool reaches(Count position) const;

  /// The offset in the file of the etype number `etypes`. REQUIRES: etypes >= 0, and that it can be reached.
  Offset byte_offset(Offset etypes) const;

  /// The number of the first etype that begins at or behind the end of a file of `file_bytes` (MPI 14.4.3).
  Offset end_in_etypes(Offset file_bytes) const;
};

/// Makes a view of the user's arguments, which it checks (MPI 14.3). `writable`: overlaps are refused.
Code make_view(Process& process, Offset displacement, Datatype* etype, Datatype* filetype,
               std::shared_ptr<DataRepresentation> representation, bool writable, View* view);

}  // namespace tasuki
