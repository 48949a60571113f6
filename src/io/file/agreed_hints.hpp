// How the ranks of a file take hints: rank 0 tells the others what it was given, each adds its own, and the
// hints that took no effect are explained (TASUKI_EXPLAIN). The table of hints is io/hints/hint_table.hpp.
//
// Thread safety: the process lock.
#pragma once

#include "base/types.hpp"

namespace tasuki {

struct File;
struct Info;

/// Take the hints of `info` (may be null): those that are known for files and whose values make sense; the
/// others are ignored and explained. The first one is for MPI_File_open, before the file itself is opened.
/// Collective on the file's communicator: no rank returns before all have come.
Code take_first_hints(File& file, const Info* info);
Code change_hints(File& file, const Info* info);

/// Once the file is open: explains what of the hints its file system cannot do.
void explain_hints_of_storage(const File& file, const Info* info);

}  // namespace tasuki
