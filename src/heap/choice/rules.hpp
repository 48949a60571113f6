// The rules of the heap: is this process's heap symmetric memory, which its peers can reach, or private?
//
// Where a sanitizer or valgrind keeps book of all memory, nothing of ours may go through an allocator that it
// does not know, and what it takes for its own it takes apart: then there is no symmetric heap either.
//
// A pure function of facts, so that a table of facts tests it. What `auto` answers must never make a program
// slower or wrong; what must not be is private even where the user asks for `global`. heap/choice/facts.hpp
// gathers the facts of a process. docs/heap.md describes the rules for users.
//
// Thread safety: no state. Nothing here allocates: it runs before there is a heap.
#pragma once

#include <cstdint>

namespace tasuki::heap {

/// What the user asked for, by TASUKI_HEAP or mpiexec --heap.
enum class Wish : std::uint8_t { kNone, kAuto, kGlobal, kPrivate, kUnknown };

/// Which memory gets pages of the size of a page table's reach (2 MiB on x86-64) by itself.
enum class HugePages : std::uint8_t {
  kNever,   // none
  kAdvise,  // memory that madvise(MADV_HUGEPAGE) named
  kAlways,  // all memory that is large enough
};

/// Symmetric heaps lie below it.
inline constexpr std::uint64_t kHeapAddressEnd = 0x4000'0000'0000;

inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

struct Facts {
  int ranks = 0;                                       // of the job; 0: unknown
  std::uint64_t address_space_bytes_max = kUnlimited;  // RLIMIT_AS
  std::uint64_t data_bytes_max = kUnlimited;           // RLIMIT_DATA
  std::uint64_t file_bytes_max = kUnlimited;           // RLIMIT_FSIZE
  bool strict_overcommit = false;                      // vm.overcommit_memory = 2
  bool heap_addresses = true;                          // there are some up to kHeapAddressEnd
  bool privileged = false;                             // setuid and its like: the environment is not trusted
  const char* sanitizer = nullptr;                     // what is said of one that watches memory, or null
  bool valgrind = false;                               // one of its tools runs the program
  const char* other_allocator = nullptr;               // likewise, of a malloc that comes before ours
  HugePages private_huge_pages = HugePages::kNever;
  HugePages shared_huge_pages = HugePages::kNever;
  bool memfd = true;       // shared memory without a name can be made
  bool huge_file = false;  // if private memory alone has huge pages: a file with such can be made
};

struct Verdict {
  bool global = false;
  bool symmetric_heap = true;      // memory that MPI gives out (MPI_Alloc_mem) may come from one
  bool advise_huge_pages = false;  // madvise(MADV_HUGEPAGE) makes the symmetric heap like private memory
  bool huge_file = false;   // if it lies in a file that can have huge pages (heap/choice/huge_file.hpp)
  const char* reason = "";  // a clause that follows "because"
};

/// What the text of TASUKI_HEAP means. Null or empty: kNone, which is kAuto for a rank of a job.
Wish read_wish(const char* text);

Verdict decide(Wish wish, const Facts& facts);

}  // namespace tasuki::heap
