// The dynamic linker knows the files that are mapped, and their segments.
#include "trace/place/call_site.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace tasuki::trace {
namespace {

struct Wanted {
  std::uintptr_t address;
  std::string text;
};

std::string path_of(const char* name) {
  if (name != nullptr && *name != '\0') return name;
  char path[4096];  // of the program itself the linker has no name
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

int look_at(dl_phdr_info* file, std::size_t, void* into) {
  Wanted& wanted = *static_cast<Wanted*>(into);
  for (int index = 0; index < file->dlpi_phnum; ++index) {
    const auto& segment = file->dlpi_phdr[index];
    const std::uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (wanted.address < begin || wanted.address - begin >= segment.p_filesz) continue;
    const std::string path = path_of(file->dlpi_name);
    struct stat info {};
    if (path.empty() || stat(path.c_str(), &info) != 0) return 1;
    char place[64];
    std::snprintf(place, sizeof place, "%llx %llu ",
                  static_cast<unsigned long long>(wanted.address - begin + segment.p_offset),
                  static_cast<unsigned long long>(info.st_ino));
    wanted.text = place + path;
    return 1;
  }
  return 0;
}

/// The variable in which our library for Fortran says where the program called it; null where there is none.
const void* const* fortran_site() {
  static constinit thread_local const void* const* place = nullptr;
  static constinit thread_local bool asked = false;
  if (!asked) place = static_cast<const void* const*>(dlsym(RTLD_DEFAULT, "tasuki_fortran_site"));
  asked = true;
  return place;
}

}  // namespace

constinit thread_local const void* returns_to = nullptr;

const void* call_site() {
  const void* const* const fortran = fortran_site();
  return fortran != nullptr && *fortran != nullptr ? *fortran : returns_to;
}

std::string site_text(const void* address) {
  if (address == nullptr) return {};
  Wanted wanted{reinterpret_cast<std::uintptr_t>(address) - 1, {}};  // in the call, not behind it
  dl_iterate_phdr(look_at, &wanted);
  return wanted.text;
}

}  // namespace tasuki::trace
