// madvise() on the symmetric heap, as it is on private memory.
//
// MADV_DONTNEED and MADV_FREE give nothing back of shared memory: the file keeps the pages, and what was in
// them. For the symmetric heap they are MADV_REMOVE, which frees them and reads as zero afterwards, as
// programs expect of what they got from malloc(). mimalloc gives memory back by this way too, and gets here
// since its library looks for madvise() in the program's scope first.
//
// mlockall() would have the kernel make every page of the symmetric heap, which is as large as all memory
// twice: it locks pages when they are touched instead.
//
// Thread safety: any thread.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/state.hpp"

using tasuki::heap::state;

extern "C" {

[[gnu::visibility("default")]] int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if ((advice == MADV_DONTNEED || advice == MADV_FREE) && state.shared && state.holds(address)) {
    advice = MADV_REMOVE;
  }
  return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

[[gnu::visibility("default")]] int mlockall(int flags) noexcept {
  if (state.shared) flags |= MCL_ONFAULT;
  return static_cast<int>(syscall(SYS_mlockall, flags));
}

}  // extern "C"
