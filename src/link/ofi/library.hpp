// Library: libfabric as it is found when the program runs. It is loaded only where ranks are on several
// nodes, so a machine without it runs jobs of one node.
//
// Six functions are looked up, each in the version that the headers of this build mean: a newer library keeps
// those. All others are inline and go through tables that objects of the library bring.
//
// Ownership: the library stays loaded until the process ends. Thread safety: none is needed, it is constant.
#pragma once

#include <rdma/fabric.h>
#include <signal.h>

#include <cstdint>
#include <string>

namespace tasuki::ofi {

/// The version of the interface that is asked for: Debian 12 has no newer headers, and all newer libraries
/// know it.
inline constexpr std::uint32_t kInterfaceVersion = FI_VERSION(1, 17);

struct Library {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
  decltype(&fi_version) version = nullptr;
  std::string file;  // where it lies

  /// "1.17".
  std::string version_text() const;
  /// What the error means; negative numbers too.
  std::string error_text(long error) const;
};

/// Loads `path`, or libfabric.so.1 as the system finds it where that is empty. Returns false and one line in
/// `error` when there is none.
bool load_library(const std::string& path, Library* library, std::string* error);

/// Has the program's signals handled as before when it goes. Providers bring libraries that take them, for
/// backtraces of their own (those of psm, when they are loaded). What comes meanwhile waits: it is the
/// program's, and such a handler would write lines, change the status, or stand still for ever amid malloc.
class SignalKeeper {
 public:
  SignalKeeper();
  ~SignalKeeper();
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  struct sigaction handlers_[31] = {};  // of signals 1 to 31
  sigset_t mask_;                       // of this thread
};

}  // namespace tasuki::ofi
