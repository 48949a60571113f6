// Before main: which rank this is, whether its heap is to be global, and the symmetric heap if so. And what
// libmpi sees.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "heap/allocate.hpp"
#include "heap/aside.hpp"
#include "heap/choice/facts.hpp"
#include "heap/choice/rules.hpp"
#include "heap/core.hpp"
#include "heap/fork.hpp"
#include "heap/state.hpp"
#include "heap/statics.hpp"
#include "heap/symmetric_heap.hpp"

extern "C" void* __libc_malloc(std::size_t bytes);

namespace tasuki::heap {

constinit State state;
thread_local constinit ThreadState thread_state;

}  // namespace tasuki::heap

extern "C" {
[[gnu::visibility("default")]] constinit tasuki::HeapInterface tasuki_heap_interface = {};
}

namespace tasuki::heap {

bool State::has_file() const {
  struct stat file;
  return fd >= 0 && fstat(fd, &file) == 0 && file.st_ino == file_number && file.st_dev == file_device;
}

void State::forget_sharing() {
  shared = false;
  fd = -1;
  HeapInterface& interface = tasuki_heap_interface;
  interface.fd = -1;
  interface.global = 0;
  interface.bytes = 0;
  interface.static_bytes = 0;
  interface.reason = "this process was forked by one that has a global heap";
}

namespace {

/// Forks are to give their children heaps of their own.
void begin_sharing(const HeapFile& file) {
  state.fd = tasuki_heap_interface.fd = file.fd;
  tasuki_heap_interface.id = file.id;
  struct stat status;
  if (fstat(file.fd, &status) == 0) {
    state.file_number = status.st_ino;
    state.file_device = status.st_dev;
  }
  watch_forks();
  const SharedRange range{state.base, state.bytes - state.static_bytes, 0};
  copy_at_fork(range);
  watch_for_cores(range);
  state.shared = true;
}

/// The symmetric heap and mimalloc on it. Once; a failure is not tried again.
int open_symmetric_heap(const char** reason) {
  static const char* failure = nullptr;
  if (state.open) return 0;
  if (!state.may_open) failure = tasuki_heap_interface.reason;
  if (failure == nullptr) {
    HeapFile file;
    if (lay_symmetric_heap({state.base, state.bytes}, state.huge_file, &file, &failure) &&
        load_mimalloc(&failure)) {
      begin_sharing(file);
      state.open = true;
      return 0;
    }
  }
  *reason = failure;
  return -1;
}

void* allocate_symmetric(std::size_t bytes, std::size_t alignment) {
  MimallocHeap* heap = thread_heap();
  return heap != nullptr ? allocate_aligned(heap, bytes, alignment) : nullptr;
}

void deallocate_symmetric(void* block) {
  give_back(block);
}

void describe() {
  HeapInterface& interface = tasuki_heap_interface;
  interface.fd = -1;
  interface.base = state.base;
  interface.bytes = state.bytes;
  interface.open = open_symmetric_heap;
  interface.allocate = allocate_symmetric;
  interface.deallocate = deallocate_symmetric;
  interface.version = kHeapVersion;
}

/// Where libc's own code lies: what it allocates is its own.
int look_for_libc(dl_phdr_info* object, std::size_t, void*) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(&__libc_malloc);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || wanted - begin >= header.p_memsz) continue;
    state.libc_begin = begin;
    state.libc_bytes = header.p_memsz;
    return 1;
  }
  return 0;
}

/// How much of the symmetric heap's end is for static data. mimalloc takes pieces of 32 MiB.
std::size_t room_for(const StaticData& data) {
  constexpr std::size_t kPieceBytes = std::size_t{32} << 20;
  const std::size_t bytes = (data.bytes + kPieceBytes - 1) & ~(kPieceBytes - 1);
  return bytes < state.bytes / 2 ? bytes : 0;
}

/// Static data gets its global address.
void share_static_data(const StaticData& data) {
  if (state.static_bytes == 0) return;
  const std::uint64_t offset = state.bytes - state.static_bytes;
  if (!move_static_data(data, state.fd, offset, reinterpret_cast<std::byte*>(state.base + offset))) return;
  copy_at_fork({data.begin, data.bytes, offset});
  watch_for_cores({data.begin, data.bytes, offset});
  tasuki_heap_interface.static_begin = data.begin;
  tasuki_heap_interface.static_bytes = data.bytes;
  tasuki_heap_interface.static_at = state.base + offset;
}

[[gnu::constructor]] void start(int, char** arguments, char** environment) {
  look_up_signal_functions();
  const JobPlace place = job_place(environment);
  state.rank = place.rank;
  state.ranks = place.ranks > 0 ? place.ranks : 1;
  const Slot slot = heap_slot(state.rank, state.ranks, machine_memory_bytes());
  state.base = slot.base;
  state.bytes = slot.bytes;
  // A library that came by dlopen(), or behind another malloc, is not in front.
  const auto own_malloc = reinterpret_cast<const void*>(&tasuki_heap_own_malloc);
  state.in_front = finds_malloc_at(own_malloc);
  describe();
  dl_iterate_phdr(look_for_libc, nullptr);
  const Facts facts = gather_facts(environment, own_malloc);
  const Verdict verdict = decide(read_wish(find_variable(environment, "TASUKI_HEAP")), facts);
  tasuki_heap_interface.reason = verdict.reason;
  state.may_open = verdict.symmetric_heap;
  state.huge_file = verdict.huge_file;
  if (must_step_aside(facts)) step_aside(verdict.reason, arguments, environment);
  if (!verdict.global) return;
  const char* statics = find_variable(environment, "TASUKI_STATIC_DATA");
  const bool with_statics = statics == nullptr || std::strcmp(statics, "private") != 0;
  const StaticData data = with_statics ? find_static_data() : StaticData{};
  state.static_bytes = room_for(data);
  if (open_symmetric_heap(&tasuki_heap_interface.reason) != 0) return;
  if (verdict.advise_huge_pages) {
    madvise(reinterpret_cast<void*>(state.base), state.bytes, MADV_HUGEPAGE);
  }
  share_static_data(data);
  state.global = true;
  tasuki_heap_interface.global = 1;
}

}  // namespace
}  // namespace tasuki::heap
