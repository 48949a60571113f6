// The rules in the order in which they decide: the user's wish, what cannot be, what would do harm, what
// would be slow.
#include "heap/choice/rules.hpp"

#include <cstring>

namespace tasuki::heap {
namespace {

constexpr Verdict stays_private(const char* reason) {
  return {.reason = reason};
}

constexpr Verdict is_global(const char* reason) {
  return {.global = true, .reason = reason};
}

/// Why the heap cannot be global whatever the user wishes, or null.
const char* impossible(const Facts& facts) {
  if (facts.privileged) return "the program runs with privileges that its user does not have";
  if (facts.sanitizer != nullptr) return facts.sanitizer;
  if (facts.valgrind) return "valgrind watches the heap";
  if (facts.other_allocator != nullptr) return facts.other_allocator;
  if (!facts.memfd && !facts.huge_file) return "the system gives no memory without a name (memfd_create)";
  if (!facts.heap_addresses) return "addresses do not reach to 2^46 here";
  return nullptr;
}

/// Why a limit of the process or of the system speaks against it, or null.
const char* limited(const Facts& facts) {
  // A symmetric heap takes addresses for all memory that the machine has, and so do the peers' that are
  // mapped.
  if (facts.address_space_bytes_max != kUnlimited) return "the address space is limited (ulimit -v)";
  // Shared memory is not counted: the limit would no longer hold.
  if (facts.data_bytes_max != kUnlimited) return "data is limited (ulimit -d)";
  // A symmetric heap is a file without a name.
  if (facts.file_bytes_max != kUnlimited) return "the size of files is limited (ulimit -f)";
  // Then a page that cannot be had is a signal at its first touch, where malloc should have returned null.
  if (facts.strict_overcommit) return "memory is not overcommitted (vm.overcommit_memory is 2)";
  return nullptr;
}

/// Whether private memory gets huge pages by itself and a memfd cannot have them.
bool needs_huge_file(const Facts& facts) {
  return facts.private_huge_pages == HugePages::kAlways && facts.shared_huge_pages == HugePages::kNever;
}

/// Whether private memory gets huge pages by itself and shared memory cannot have them.
bool shared_is_slower(const Facts& facts) {
  return needs_huge_file(facts) && !facts.huge_file;
}

Verdict decide_malloc(Wish wish, const Facts& facts) {
  if (wish == Wish::kNone && facts.ranks == 0) {
    return stays_private("mpiexec did not start the program, and TASUKI_HEAP is not set");
  }
  if (wish == Wish::kUnknown) return stays_private("TASUKI_HEAP is neither auto, global nor private");
  if (wish == Wish::kPrivate) return stays_private("private was asked for");
  if (const char* why = impossible(facts)) return stays_private(why);

  if (wish == Wish::kGlobal) return is_global("global was asked for");
  if (const char* why = limited(facts)) return stays_private(why);
  if (facts.ranks == 1) return stays_private("the job has one rank: there is no other to share it with");
  if (shared_is_slower(facts)) {
    return stays_private(
        "private memory gets huge pages here and shared memory cannot "
        "(/sys/kernel/mm/transparent_hugepage: enabled is always, shmem_enabled is never)");
  }
  return is_global("nothing speaks against it");
}

}  // namespace

Wish read_wish(const char* text) {
  if (text == nullptr || *text == '\0') return Wish::kNone;
  if (std::strcmp(text, "auto") == 0) return Wish::kAuto;
  if (std::strcmp(text, "global") == 0) return Wish::kGlobal;
  if (std::strcmp(text, "private") == 0) return Wish::kPrivate;
  return Wish::kUnknown;
}

Verdict decide(Wish wish, const Facts& facts) {
  Verdict verdict = decide_malloc(wish, facts);
  verdict.symmetric_heap = facts.sanitizer == nullptr && !facts.valgrind;
  verdict.advise_huge_pages = verdict.global && facts.private_huge_pages == HugePages::kAlways;
  verdict.huge_file = verdict.global && needs_huge_file(facts) && facts.huge_file;
  return verdict;
}

}  // namespace tasuki::heap
