// The facts of this process that the rules of the heap need (heap/choice/rules.hpp).
//
// They are read from the kernel by system calls alone: nothing here allocates, since it runs before there is
// a heap. What cannot be read counts as harmless.
//
// Thread safety: reads only; the environment must not change meanwhile.
#pragma once

#include "heap/choice/rules.hpp"

namespace tasuki::heap {

/// A library that takes part in every malloc() of its program: by what it is known in a process, in the
/// symbols of a program that has it inside, and among the libraries that a program needs.
struct Companion {
  const char* symbol;
  const char* library;       // how the names of its files begin; null: it is only linked in
  const char* llvm_library;  // likewise, of LLVM's own, which carry the processor's name; or null
  const char* reason;        // why it keeps the heap private
};

/// Sanitizers that keep book of memory. That for undefined behaviour does not.
inline constexpr Companion kSanitizers[] = {
    {"__asan_init", "libasan.so", "libclang_rt.asan", "AddressSanitizer watches the heap"},
    {"__tsan_init", "libtsan.so", "libclang_rt.tsan", "ThreadSanitizer watches memory"},
    {"__msan_init", nullptr, nullptr, "MemorySanitizer watches the heap"},
    {"__hwasan_init", "libhwasan.so", "libclang_rt.hwasan", "HWAddressSanitizer watches the heap"},
    {"__lsan_init", "liblsan.so", "libclang_rt.lsan", "LeakSanitizer watches the heap"},
};

/// Allocators: a program that links one of them is to have it.
inline constexpr Companion kAllocators[] = {
    {"mallctl", "libjemalloc.", nullptr, "the program brings a malloc of its own, jemalloc"},
    {"tc_malloc", "libtcmalloc", nullptr, "the program brings a malloc of its own, tcmalloc"},
    {"mi_malloc", "libmimalloc", nullptr, "the program brings a malloc of its own, mimalloc"},
    {"scalable_malloc", "libtbbmalloc", nullptr, "the program brings a malloc of its own, TBB's"},
    {"hoard_malloc", "libhoard.", nullptr, "the program brings a malloc of its own, Hoard"},
};
inline constexpr char kSomeAllocator[] = "the program brings a malloc of its own";

/// Whether `file`, the name or path of a library, is `companion`.
bool is_library_of(const Companion& companion, const char* file);

/// Whether a call of malloc() in this process reaches `own_malloc`.
bool finds_malloc_at(const void* own_malloc);

/// Gathers the facts. `environment` is the array of "NAME=value"; `own_malloc`: where this library's malloc
/// lies (not where the process finds malloc), null for a program that has none (mpiexec --info).
Facts gather_facts(const char* const* environment, const void* own_malloc);

/// Which rank this program is to be, as its launcher's variables say. Another launcher's go before those of
/// our mpiexec, which keeps them from its ranks.
struct JobPlace {
  int rank = 0;
  int ranks = 0;  // 0: unknown
};
JobPlace job_place(const char* const* environment);

/// The value of `name` in `environment`, or null.
const char* find_variable(const char* const* environment, const char* name);

/// The entry in brackets of a line like "always [madvise] never". False when there is none.
bool is_chosen(const char* line, const char* entry);

}  // namespace tasuki::heap
