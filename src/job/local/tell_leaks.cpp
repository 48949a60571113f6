// What a rank left behind: from the rank to mpiexec, or to standard error.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "job/local/local.hpp"

namespace tasuki {

std::string module_place(std::uint64_t site) {
  Dl_info module{};
  const auto* address = reinterpret_cast<const void*>(site - 1);  // of the call, not what comes after it
  if (site == 0 || dladdr(address, &module) == 0 || module.dli_fname == nullptr) return {};
  const char* const slash = std::strrchr(module.dli_fname, '/');
  char text[32];
  std::snprintf(text, sizeof text, "+0x%zx",
                static_cast<std::size_t>(site - 1 - reinterpret_cast<std::uintptr_t>(module.dli_fbase)));
  return (slash != nullptr ? slash + 1 : module.dli_fname) + std::string(text);
}

}  // namespace tasuki

namespace tasuki::local {

bool send_leaks(int socket, const LeakReport& report) {
  std::string message;
  SpawnAnswer answer;
  return write_message(socket, encode(report)) && read_message(socket, &message) &&
         decode(message, &answer) && answer.error.empty();
}

void print_leaks(int rank, const std::vector<Leak>& leaks) {
  std::fflush(stdout);
  std::fprintf(stderr, "tasuki: rank %d: %s\n", rank, kLeakHeading);
  for (const Leak& leak : leaks) {
    std::fprintf(stderr, "tasuki:   %s: %u\n", leak_text(leak, module_place(leak.site)).c_str(), leak.count);
  }
}

}  // namespace tasuki::local
