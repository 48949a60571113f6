// Loading libfabric, and the versions of its functions.
#include "link/ofi/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <iterator>

namespace tasuki::ofi {
namespace {

constexpr const char* kName = "libfabric.so.1";
constexpr std::uint32_t kOldest = FI_VERSION(1, 17);

/// The function of that name and version, or else of that name.
template <class Function>
bool find(void* handle, const char* name, const char* version, Function* function) {
  void* found = dlvsym(handle, name, version);
  if (found == nullptr) found = dlsym(handle, name);
  *function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

}  // namespace

std::string Library::version_text() const {
  const std::uint32_t number = version();
  return std::to_string(FI_MAJOR(number)) + "." + std::to_string(FI_MINOR(number));
}

std::string Library::error_text(long error) const {
  return strerror(static_cast<int>(error < 0 ? -error : error));
}

bool load_library(const std::string& path, Library* library, std::string* error) {
  const char* const name = path.empty() ? kName : path.c_str();
  void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    *error = std::string("libfabric cannot be loaded: ") + (reason != nullptr ? reason : name) +
             (path.empty() ? "; install it, or name its file in TASUKI_NET_LIBRARY"
                           : "; TASUKI_NET_LIBRARY names the file");
    return false;
  }
  if (!find(handle, "fi_getinfo", "FABRIC_1.3", &library->getinfo) ||
      !find(handle, "fi_freeinfo", "FABRIC_1.3", &library->freeinfo) ||
      !find(handle, "fi_dupinfo", "FABRIC_1.3", &library->dupinfo) ||
      !find(handle, "fi_fabric", "FABRIC_1.1", &library->fabric) ||
      !find(handle, "fi_strerror", "FABRIC_1.0", &library->strerror) ||
      !find(handle, "fi_version", "FABRIC_1.0", &library->version)) {
    *error = std::string(name) + " is no libfabric: functions like fi_getinfo are missing";
    dlclose(handle);
    return false;
  }
  const link_map* map = nullptr;
  library->file = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : name;
  if (FI_VERSION_LT(library->version(), kOldest)) {
    *error = library->file + " is libfabric " + library->version_text() + ", expected 1.17 or newer";
    return false;
  }
  return true;
}

SignalKeeper::SignalKeeper() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask_);
  for (std::size_t i = 0; i < std::size(handlers_); ++i)
    sigaction(static_cast<int>(i) + 1, nullptr, &handlers_[i]);
}

SignalKeeper::~SignalKeeper() {
  for (std::size_t i = 0; i < std::size(handlers_); ++i) {
    const int number = static_cast<int>(i) + 1;
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != handlers_[i].sa_handler)
      sigaction(number, &handlers_[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace tasuki::ofi
