// Limits, huge pages, and which other libraries are in the process.
#include "heap/choice/facts.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/system/memory_file.hpp"
#include "heap/choice/huge_file.hpp"

// A sanitizer that watches the heap defines these. Weak: null when the sanitizer is not in the process.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] void __msan_init();
[[gnu::weak]] void __hwasan_init();
[[gnu::weak]] void __lsan_init();
}

namespace tasuki::heap {
namespace {

constexpr const char* kHugePages = "/sys/kernel/mm/transparent_hugepage/";
constexpr const char* kHugePages2M = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/";

struct Line {
  char text[256] = "";
};

/// The first bytes of a file of the kernel's; empty when it cannot be read.
Line read_line(const char* folder, const char* name) {
  Line line;
  char path[256];
  if (std::strlen(folder) + std::strlen(name) >= sizeof path) return line;
  std::strcpy(path, folder);
  std::strcat(path, name);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return line;
  const ssize_t got = ::read(fd, line.text, sizeof line.text - 1);
  ::close(fd);
  line.text[got > 0 ? got : 0] = '\0';
  return line;
}

std::uint64_t limit(int resource) {
  rlimit value;
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &value) != 0) return kUnlimited;
  return value.rlim_cur == RLIM_INFINITY ? kUnlimited : value.rlim_cur;
}

/// `line` may hand the question on ("inherit"): then `general` answers.
const Line& answering(const Line& line, const Line& general) {
  return line.text[0] == '\0' || is_chosen(line.text, "inherit") ? general : line;
}

HugePages private_huge_pages() {
  if (::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0) return HugePages::kNever;
  const Line general = read_line(kHugePages, "enabled");
  const Line own_size = read_line(kHugePages2M, "enabled");
  const Line& line = answering(own_size, general);
  if (is_chosen(line.text, "always")) return HugePages::kAlways;
  return is_chosen(line.text, "madvise") ? HugePages::kAdvise : HugePages::kNever;
}

HugePages shared_huge_pages() {
  const Line general = read_line(kHugePages, "shmem_enabled");
  if (is_chosen(general.text, "deny")) return HugePages::kNever;
  if (is_chosen(general.text, "force")) return HugePages::kAlways;
  const Line own_size = read_line(kHugePages2M, "shmem_enabled");
  const Line& line = answering(own_size, general);
  if (is_chosen(line.text, "always") || is_chosen(line.text, "within_size")) return HugePages::kAlways;
  return is_chosen(line.text, "advise") ? HugePages::kAdvise : HugePages::kNever;
}

/// Where the object begins that has the first definition of `name` in this process, or null.
const void* object_of(const char* name) {
  const void* first = ::dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  return first != nullptr && ::dladdr(first, &info) != 0 ? info.dli_fbase : nullptr;
}

/// A sanitizer that is linked into the program need not show its own names, but it stands before libc for
/// far more than memory.
bool has_sanitizer_inside() {
  const void* memory = object_of("malloc");
  return memory != nullptr && memory == object_of("pthread_join") && memory == object_of("strerror") &&
         memory != object_of("gnu_get_libc_version");
}

const char* sanitizer() {
  const bool is_there[] = {__asan_init != nullptr, __tsan_init != nullptr, __msan_init != nullptr,
                           __hwasan_init != nullptr, __lsan_init != nullptr};
  for (std::size_t i = 0; i < std::size(kSanitizers); ++i) {
    if (is_there[i]) return kSanitizers[i].reason;
  }
  return has_sanitizer_inside() ? "a sanitizer watches the heap" : nullptr;
}

/// Whether `function` is more than the way to another object's, as programs have that take its address.
bool is_defined_at(const void* function) {
  Dl_info info;
  void* entry = nullptr;
  if (::dladdr1(function, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return true;
  return static_cast<const ElfW(Sym)*>(entry)->st_shndx != SHN_UNDEF;
}

const char* other_allocator(const void* own_malloc) {
  if (own_malloc == nullptr) return nullptr;
  for (const Companion& allocator : kAllocators) {
    if (::dlsym(RTLD_DEFAULT, allocator.symbol) != nullptr) return allocator.reason;
  }
  return finds_malloc_at(own_malloc) ? nullptr : kSomeAllocator;
}

bool begins_with(const char* text, const char* beginning) {
  return beginning != nullptr && std::strncmp(text, beginning, std::strlen(beginning)) == 0;
}

/// Tools of valgrind bring libraries of their own into the process by LD_PRELOAD.
bool is_valgrind(const char* const* environment) {
  const char* preload = find_variable(environment, "LD_PRELOAD");
  return preload != nullptr && std::strstr(preload, "/vgpreload_") != nullptr;
}

/// Whether the kernel, and what confines this process, gives memory files.
bool has_memfd() {
  const int fd = make_memfd("tasuki-trial");
  if (fd >= 0) ::close(fd);
  return fd >= 0 || errno == EMFILE || errno == ENFILE;
}

/// Whether there are addresses up to kHeapAddressEnd: tried, since nothing else tells. The stack need not lie
/// at the upper end of what there is, and under qemu-user does not. The kernel is asked itself: the thread
/// sanitizer's mmap ends a program that wants such an address.
bool has_heap_addresses() {
  constexpr long kBytes = 65536;  // a page, or some
  constexpr auto kLast = static_cast<long>(kHeapAddressEnd) - kBytes;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  const long memory = ::syscall(SYS_mmap, kLast, kBytes, PROT_NONE, kFlags, -1, 0);
  if (memory == -1) return errno == EEXIST;
  ::syscall(SYS_munmap, memory, kBytes);
  return memory == kLast;
}

}  // namespace

bool finds_malloc_at(const void* own_malloc) {
  const void* first = ::dlsym(RTLD_DEFAULT, "malloc");
  return first == nullptr || first == own_malloc || !is_defined_at(first);
}

bool is_library_of(const Companion& companion, const char* file) {
  const char* slash = std::strrchr(file, '/');
  const char* name = slash != nullptr ? slash + 1 : file;
  return begins_with(name, companion.library) || begins_with(name, companion.llvm_library);
}

const char* find_variable(const char* const* environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
      return *environment + length + 1;
    }
  }
  return nullptr;
}

JobPlace job_place(const char* const* environment) {
  struct Names {
    const char* rank;
    const char* ranks;
  };
  constexpr Names kNames[] = {{"PMI_RANK", "PMI_SIZE"},
                              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                              {"TASUKI_RANK", "TASUKI_SIZE"}};
  for (const Names& names : kNames) {
    const char* rank = find_variable(environment, names.rank);
    const char* ranks = find_variable(environment, names.ranks);
    if (ranks == nullptr) continue;
    const JobPlace place{rank != nullptr ? std::atoi(rank) : 0, std::atoi(ranks)};
    if (place.rank >= 0 && place.rank < place.ranks && place.ranks < (1 << 24)) return place;
  }
  return {};
}

bool is_chosen(const char* line, const char* entry) {
  const char* open = std::strchr(line, '[');
  const std::size_t length = std::strlen(entry);
  return open != nullptr && std::strncmp(open + 1, entry, length) == 0 && open[1 + length] == ']';
}

Facts gather_facts(const char* const* environment, const void* own_malloc) {
  Facts facts;
  facts.ranks = job_place(environment).ranks;
  facts.address_space_bytes_max = limit(RLIMIT_AS);
  facts.data_bytes_max = limit(RLIMIT_DATA);
  facts.file_bytes_max = limit(RLIMIT_FSIZE);
  facts.strict_overcommit = read_line("/proc/sys/vm/", "overcommit_memory").text[0] == '2';
  facts.heap_addresses = has_heap_addresses();
  facts.privileged = ::getauxval(AT_SECURE) != 0;
  facts.sanitizer = sanitizer();
  facts.valgrind = is_valgrind(environment);
  facts.other_allocator = other_allocator(own_malloc);
  facts.memfd = has_memfd();
  facts.private_huge_pages = private_huge_pages();
  facts.shared_huge_pages = shared_huge_pages();
  if (facts.private_huge_pages == HugePages::kAlways && facts.shared_huge_pages == HugePages::kNever) {
    facts.huge_file = can_have_huge_file();
  }
  return facts;
}

}  // namespace tasuki::heap
