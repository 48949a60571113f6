// What the heap library tells the MPI libraries: they find it by dlsym("tasuki_heap_interface") where it was
// preloaded or linked, and dlopen() it where memory is to be global all the same (MPI_Alloc_mem).
//
// A symmetric heap is memory that all ranks of a node can map at the same address. That of rank r begins at
// kSymmetricHeapBase + r * bytes, where no other library maps anything. The addresses are unique among the
// ranks of one job only: a shell around a rank, or a child of it, has a symmetric heap of its own at the same
// place of its own address space. Nothing is shared before a peer opens /proc/PID/fd/FD.
//
// Writer of all fields: the heap library, before main; of `fd`, `id` and `global` also when a symmetric heap
// is opened later, and in the child of a fork(), whose memory is private.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki {

inline constexpr std::uint32_t kHeapVersion = 1;

/// Between the shadow memory of sanitizers and the place where Linux puts position-independent programs.
inline constexpr std::uint64_t kSymmetricHeapBase = 0x2000'0000'0000;
inline constexpr std::uint64_t kSymmetricHeapLimit = 0x4000'0000'0000;

/// The memory behind a symmetric heap is a memfd of this name, followed by the id as 16 hexadecimal digits.
inline constexpr char kSymmetricHeapName[] = "tasuki-heap-";

struct HeapInterface {
  std::uint32_t version;
  std::uint32_t global;        // 1: malloc() gives memory of the symmetric heap
  std::int32_t fd;             // the symmetric heap's, -1 where there is none
  std::uint64_t id;            // random
  std::uint64_t base;          // where the symmetric heap is, or will be when it is opened
  std::uint64_t bytes;         // 0: there cannot be one
  std::uint64_t static_begin;  // static data that was moved to the symmetric heap: its own address,
  std::uint64_t static_bytes;  // its size (0: none),
  std::uint64_t static_at;     // and where it is in the symmetric heap
  const char* reason;          // why malloc() gives what it gives, in words

  /// Makes the symmetric heap unless there is one. Returns 0, or -1 and one line in `reason`. One thread at a
  /// time.
  int (*open)(const char** reason);
  /// Memory of the symmetric heap; null when there is no symmetric heap or no room. `alignment` is a power of
  /// two. Any thread.
  void* (*allocate)(std::size_t bytes, std::size_t alignment);
  /// Gives back what allocate() gave. Any thread.
  void (*deallocate)(void* address);
};

/// The variable that says why malloc() is private where this library is not in the process: mpiexec did not
/// preload it, or it went out of the way of another malloc.
inline constexpr char kHeapReasonVariable[] = "TASUKI_HEAP_REASON";

/// The name of the one HeapInterface.
inline constexpr char kHeapInterfaceName[] = "tasuki_heap_interface";

}  // namespace tasuki
