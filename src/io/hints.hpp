// Hints on files (MPI 14.2.8): which ones are kept.
#pragma once

#include "io/file.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// Keeps those hints in `info` (may be null) that the standard knows for files and whose values make sense;
/// ignores the others.
void take_file_hints(File& file, const Info* info);

}  // namespace tasuki
