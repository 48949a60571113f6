// The copy of shared memory that a forked child makes: from the symmetric heap's file to private memory in
// its place.
#pragma once

#include "heap/fork.hpp"

namespace tasuki::heap {

/// Puts private memory with the same contents in the place of `range`. `fd`: the symmetric heap's file, or -1
/// when the program has closed it. Returns null, or why it cannot be; then memory is as before. Allocates
/// nothing.
const char* make_private(const SharedRange& range, int fd);

}  // namespace tasuki::heap
