// The heap library as the MPI library sees it: in front of the program's malloc, or loaded for its symmetric
// heap alone.
//
// Thread safety: one thread at a time.
#pragma once

#include "heap/interface.hpp"

namespace tasuki {

/// The one that mpiexec preloaded or the program is linked to, or null.
HeapInterface* find_heap();

/// That one; else the one that lies beside this library, loaded so that no other library sees it. Null when
/// there is none, or it is of another version.
HeapInterface* find_or_load_heap();

}  // namespace tasuki
