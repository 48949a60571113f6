// Looking for the heap library: by its one symbol, then beside us.
#include "memory/heap_library.hpp"

#include <dlfcn.h>

#include <string>

namespace tasuki {
namespace {

constexpr char kLibraryName[] = "libtasuki_heap.so";

HeapInterface* usable(void* symbol) {
  auto* heap = static_cast<HeapInterface*>(symbol);
  return heap != nullptr && heap->version == kHeapVersion ? heap : nullptr;
}

/// Where the library is that this code is in, with its last '/'.
std::string own_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_or_load_heap), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash != std::string::npos ? path.substr(0, slash + 1) : std::string();
}

}  // namespace

HeapInterface* find_heap() {
  return usable(dlsym(RTLD_DEFAULT, kHeapInterfaceName));
}

HeapInterface* find_or_load_heap() {
  if (HeapInterface* heap = find_heap()) return heap;
  const std::string directory = own_directory();
  if (directory.empty()) return nullptr;
  void* library = dlopen((directory + kLibraryName).c_str(), RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? usable(dlsym(library, kHeapInterfaceName)) : nullptr;
}

}  // namespace tasuki
