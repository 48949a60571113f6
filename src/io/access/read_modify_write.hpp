// Writing over holes: a rank that writes a range of a file of which only parts are to change reads all of it
// first, under an exclusive lock (io/shared/range_locks.hpp), and writes back what lies between the parts.
//
// Thread safety: the process lock.
#pragma once

#include "io/file/file.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// Whether this rank may read bytes of the file that no rank wants to write, and write them back.
bool can_fill_holes(const File& file);

/// Reads `piece` of the file, and zeros where that has ended. The bytes returned are the file's. After an
/// error the memory means nothing.
TransferResult read_with_zeros(FileDriver& driver, const FilePiece& piece);

}  // namespace tasuki
