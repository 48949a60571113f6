// Data between memory and a file that represents it differently (MPI 14.5).
#pragma once

#include "base/types.hpp"
#include "io/access/access.hpp"
#include "io/access/file_stream.hpp"

namespace tasuki {

/// Moves the access's data through the file's representation. `bytes`: those of the user's that were moved.
/// An element of which a part only was there at the end of the file was not. Errors: kErrConversion, when a
/// user's function failed, or when an element has no form on the other side (datatype/external32.hpp): what
/// comes before it was moved, and `bytes` says so. Those of the driver are the stream's.
Code move_converted(const Access& access, FileStream& stream, Count* bytes);

}  // namespace tasuki
