// Before main: who this rank is, whether its heap is to be global, and the arena if so. And what libmpi sees.
#include <dlfcn.h>

#include <cstdlib>

#include "heap/allocate.hpp"
#include "heap/arena.hpp"
#include "heap/rules.hpp"
#include "heap/state.hpp"

namespace tasuki::heap {

constinit State state;
thread_local constinit ThreadState thread_state;

}  // namespace tasuki::heap

extern "C" {
[[gnu::visibility("default")]] constinit tasuki::HeapInterface tasuki_heap_interface = {};
}

namespace tasuki::heap {
namespace {

int number_of(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return end != text && *end == '\0' && number >= 0 && number < (1 << 24) ? static_cast<int>(number)
                                                                          : otherwise;
}

/// The arena and mimalloc on it. Once; a failure is not tried again.
int open_arena(const char** reason) {
  static const char* failure = nullptr;
  if (state.open) return 0;
  if (failure == nullptr) {
    ArenaFile file;
    if (make_arena({state.base, state.bytes}, &file, &failure) && load_mimalloc(&failure)) {
      state.fd = tasuki_heap_interface.fd = file.fd;
      tasuki_heap_interface.id = file.id;
      state.open = true;
      return 0;
    }
  }
  *reason = failure;
  return -1;
}

void* allocate_global(std::size_t bytes, std::size_t alignment) {
  mi_heap_t* heap = thread_heap();
  return heap != nullptr ? allocate_aligned(heap, bytes, alignment) : nullptr;
}

void deallocate_global(void* block) {
  state.mimalloc.deallocate(block);
}

void describe() {
  HeapInterface& interface = tasuki_heap_interface;
  interface.fd = -1;
  interface.base = state.base;
  interface.bytes = state.bytes;
  interface.open = open_arena;
  interface.allocate = allocate_global;
  interface.deallocate = deallocate_global;
  interface.version = kHeapVersion;
}

[[gnu::constructor]] void start() {
  state.rank = number_of("TASUKI_RANK", 0);
  state.ranks = number_of("TASUKI_SIZE", 1);
  const Slot slot = arena_slot(state.rank, state.ranks, machine_memory_bytes());
  state.base = slot.base;
  state.bytes = slot.bytes;
  // A library that came by dlopen(), or behind another malloc, is not in front.
  state.in_front = dlsym(RTLD_DEFAULT, "malloc") == reinterpret_cast<void*>(&malloc);
  describe();
  const Decision decision = decide(gather_facts(state.ranks, state.in_front));
  tasuki_heap_interface.reason = decision.reason;
  if (!decision.global || open_arena(&tasuki_heap_interface.reason) != 0) return;
  state.global = true;
  tasuki_heap_interface.global = 1;
}

}  // namespace
}  // namespace tasuki::heap
