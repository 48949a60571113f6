// Static data of the main program (arrays of C, COMMON of Fortran) on the symmetric heap.
//
// Before main, while there is one thread, the pages of the program's writable data are copied to the
// symmetric heap's file and mapped from there at the addresses that they have: nothing in the program
// changes, and what lies in them has a second, global address. It is done when all of this holds:
//   1. malloc() is global (so: no sanitizer, no valgrind, no limit that speaks against it);
//   2. the process has one thread, and TASUKI_STATIC_DATA is not "private";
//   3. there are at least kStaticBytesMin of it, without what the linker protects (RELRO).
// What cannot be read or mapped leaves everything as it was. Data of shared libraries, thread-local data and
// the stack stay private.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::heap {

inline constexpr std::size_t kStaticBytesMin = 64 * 1024;

/// A range of whole pages.
struct StaticData {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;       // 0: none worth it
  std::size_t file_bytes = 0;  // of them from the program's file; behind them is what begins as zero
};

/// A segment of a program, as its header tells.
struct Segment {
  std::uintptr_t begin = 0;
  std::size_t memory_bytes = 0;
  std::size_t file_bytes = 0;
};

/// The pages of `writable` without those that lie in `relro`. Pure.
StaticData pages_of(const Segment& writable, const Segment& relro, std::size_t page_bytes);

/// What the main program has; 0 bytes when it is less than kStaticBytesMin.
StaticData find_static_data();

/// Moves it: the bytes of the file from `offset` on, which read as zero and are mapped at `window` too, take
/// its place. Returns false when that cannot be; then nothing has changed.
bool move_static_data(const StaticData& data, int fd, std::uint64_t offset, std::byte* window);

}  // namespace tasuki::heap
