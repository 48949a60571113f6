// The heap library: malloc() & co. on memory that the other ranks of the node can map (see interface.hpp).
//
// Where what is:
//   interface.hpp       what libmpi sees
//   start.cpp           before main: the decision, then the symmetric heap
//   choice/rules.hpp    global or private?
//   choice/facts.hpp    what the rules go by
//   symmetric_heap.hpp  the file behind the symmetric heap, at its address
//   choice/huge_file.hpp  such a file with huge pages, where a memfd has none
//   allocate.hpp        mimalloc on the symmetric heap
//   kept_blocks.hpp     freed blocks for the next malloc() of their size
//   malloc.cpp          the functions that programs call
//   advice.cpp          madvise() on the symmetric heap
//   statics.hpp         static data of the main program on the symmetric heap
//   fork.hpp            a child has its own heap; copy.hpp: how it gets it
//   gate.hpp            keeps threads out of the allocator while the process forks
//   core.hpp            what core dumps hold
//   aside.hpp           out of the way of another malloc
//
// The library stands between every program and its memory, also those that never call MPI, so it depends on
// libc alone (no libstdc++; mimalloc comes by dlopen, out of everybody's sight) and never fails a program
// that runs without it: what cannot be global is libc's.
//
// This library has globals, as any malloc must: the one State, and a ThreadState for each thread.
//
// Invariants:
//  1. free() is right for every address: what lies in [base, base + bytes) is mimalloc's, all else libc's.
//     Both are fixed before main, whether or not there is a symmetric heap yet.
//  2. What libc allocates for itself is never in the symmetric heap: it writes there in the child of a fork()
//     before the child has a heap of its own (fork.hpp).
//  3. mimalloc is called only inside the gate (gate.hpp).
//  4. No block of mimalloc lies outside the symmetric heap: what does is given back at once (allocate.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/interface.hpp"

namespace tasuki::heap {

struct MimallocHeap;  // mimalloc's mi_heap_t; only it knows what is in it

/// The functions of mimalloc 2 (libmimalloc.so.2) that are called; null before it was loaded. They are
/// declared here, so that this library is the same whether or not the machine that builds it has mimalloc's
/// header.
struct Mimalloc {
  bool (*manage)(void* start, std::size_t bytes, bool is_committed, bool is_large, bool is_zero,
                 int numa_node, bool exclusive, int* arena) = nullptr;
  MimallocHeap* (*new_heap)(int arena) = nullptr;
  void* (*allocate)(MimallocHeap*, std::size_t bytes) = nullptr;
  void* (*allocate_zero)(MimallocHeap*, std::size_t bytes) = nullptr;
  void* (*allocate_aligned)(MimallocHeap*, std::size_t bytes, std::size_t alignment) = nullptr;
  void* (*reallocate)(MimallocHeap*, void* block, std::size_t bytes) = nullptr;
  void (*deallocate)(void* block) = nullptr;
  std::size_t (*usable_bytes)(const void* block) = nullptr;
  void (*set_option)(int option, long value) = nullptr;
  int (*version)() = nullptr;  // 209: 2.0.9
};

struct State {
  // Fixed before main.
  std::uintptr_t base = kSymmetricHeapBase;
  std::size_t bytes = 0;
  int rank = 0;
  int ranks = 1;
  bool in_front = false;   // malloc() of this process is ours
  bool may_open = true;    // a symmetric heap may be made
  bool huge_file = false;  // it is to lie in a file of its own tmpfs (huge_file.hpp)

  bool global = false;  // malloc() gives memory of the symmetric heap. Writer: start.cpp; fork's child
  bool open = false;    // there is a symmetric heap. Writer: open_symmetric_heap()
  int fd = -1;
  bool shared = false;  // others can map the symmetric heap. Writer: open_symmetric_heap(); fork's child
  std::uint64_t file_number = 0;  // the inode behind `fd`
  std::uint64_t file_device = 0;
  std::size_t static_bytes = 0;   // at the symmetric heap's end: not for mimalloc
  std::uintptr_t libc_begin = 0;  // where libc's own code lies
  std::size_t libc_bytes = 0;
  Mimalloc mimalloc;
  int symmetric_heap = 0;  // mimalloc's number of that arena

  bool holds(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - base < bytes; }
  /// Whether our descriptor still is the symmetric heap's: programs close what they did not open, and use it
  /// again.
  bool has_file() const;
  /// In the child of a fork, whose memory is private.
  void forget_sharing();
  bool is_libc(const void* code) const {
    return reinterpret_cast<std::uintptr_t>(code) - libc_begin < libc_bytes;
  }
};

/// What a thread allocates from. Both heaps are mimalloc's, and the same one or null.
struct ThreadState {
  MimallocHeap* malloc_heap = nullptr;  // for malloc(): null while it is to be private
  MimallocHeap* heap = nullptr;
  bool no_heap = false;  // it is being made, or the thread is ending: libc serves
};

/// malloc() of this library, also where the process calls another one by that name.
extern "C" [[gnu::visibility("hidden")]] void* tasuki_heap_own_malloc(std::size_t bytes) noexcept;

extern State state;
extern thread_local constinit ThreadState thread_state;

}  // namespace tasuki::heap
