// By execve() of the program's own file, with a copy of the environment in which one variable is shorter.
#include "heap/aside.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "heap/choice/facts.hpp"
#include "heap/state.hpp"

namespace tasuki::heap {
namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr std::size_t kPreloadLength = sizeof kPreload - 1;
constexpr char kOwnName[] = "libtasuki_heap.so";

bool is_preload(const char* entry) {
  return std::strncmp(entry, kPreload, kPreloadLength) == 0;
}

bool is_own(const char* path, std::size_t length) {
  constexpr std::size_t kLength = sizeof kOwnName - 1;
  if (length < kLength || std::memcmp(path + length - kLength, kOwnName, kLength) != 0) return false;
  return length == kLength || path[length - kLength - 1] == '/';
}

/// Writes "LD_PRELOAD=…" without this library to `to`, which has room for all of `entry`. Returns whether it
/// was there.
bool leave_out_own(const char* entry, char* to) {
  std::strcpy(to, kPreload);
  char* end = to + kPreloadLength;
  bool found = false;
  for (const char* list = entry + kPreloadLength; *list != '\0';) {
    const std::size_t length = std::strcspn(list, ": ");
    if (is_own(list, length)) {
      found = true;
    } else if (length > 0) {
      if (end[-1] != '=') *end++ = ':';
      std::memcpy(end, list, length);
      end += length;
    }
    list += length + (list[length] != '\0' ? 1 : 0);
  }
  *end = '\0';
  return found;
}

/// The file that this process runs, unless that is the dynamic linker with the program as its argument.
bool own_program(char (&path)[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr && std::strncmp(slash, "/ld-", 4) != 0 && std::strncmp(slash, "/ld.so", 6) != 0;
}

}  // namespace

bool must_step_aside(const Facts& facts) {
  // Under valgrind malloc() is valgrind's in any library, and a new program would run without it.
  return state.in_front && !facts.valgrind && !facts.privileged &&
         (facts.sanitizer != nullptr || facts.other_allocator != nullptr);
}

void step_aside(const char* reason, char* const* arguments, char* const* environment) {
  static char path[PATH_MAX];
  const char* before = find_variable(environment, "LD_PRELOAD");
  if (before == nullptr || !own_program(path)) return;
  std::size_t count = 0;
  while (environment[count] != nullptr) ++count;
  const std::size_t table_bytes = (count + 2) * sizeof(char*);
  const std::size_t list_bytes = kPreloadLength + std::strlen(before) + 1;
  const std::size_t bytes =
      table_bytes + list_bytes + sizeof kHeapReasonVariable + 1 + std::strlen(reason) + 1;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto** table = static_cast<char**>(memory);
  char* shorter = static_cast<char*>(memory) + table_bytes;
  char* told = shorter + list_bytes;
  std::strcpy(told, kHeapReasonVariable);
  std::strcat(told, "=");
  std::strcat(told, reason);
  bool found = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!found && is_preload(environment[i])) {
      found = leave_out_own(environment[i], shorter);
      if (shorter[kPreloadLength] != '\0') table[kept++] = shorter;
    } else {
      table[kept++] = environment[i];
    }
  }
  table[kept++] = told;
  table[kept] = nullptr;
  if (found) execve(path, arguments, table);
  munmap(memory, bytes);
}

}  // namespace tasuki::heap
