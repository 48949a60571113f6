// The symmetric heap: sparse shared memory at an address that no other rank of the job uses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::heap {

struct Slot {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;  // 0: there is no room for so many ranks
};

/// Where the symmetric heap of `rank` out of `ranks` is, on a machine with `memory_bytes`: each has room for
/// twice what the machine has, a power of two, as long as all of them fit. The same in all ranks of a node.
Slot heap_slot(int rank, int ranks, std::uint64_t memory_bytes);

/// What the machine has, swap included.
std::uint64_t machine_memory_bytes();

struct HeapFile {
  int fd = -1;  // close-on-exec, out of the way of the program's own
  std::uint64_t id = 0;
};

/// Makes the memory of `slot` and maps it there; `huge`: in a file that can have huge pages
/// (heap/choice/huge_file.hpp), if that can be made. Returns false and one line in `reason` when that cannot
/// be.
bool lay_symmetric_heap(const Slot& slot, bool huge, HeapFile* file, const char** reason);

}  // namespace tasuki::heap
