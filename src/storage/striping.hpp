// How files are spread over storage targets: what the file system says, and what is asked of it when a file
// is made. Today that is Lustre's (lustre.hpp); other file systems say nothing.
//
// StripingSystem is what that takes of the operating system, so that tests can play a file system that is not
// there. Thread safety: none is asked for; the real one has no state.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "storage/driver.hpp"

namespace tasuki {

/// As the calls of the system: -1 and errno, or what they return.
class StripingSystem {
 public:
  virtual ~StripingSystem() = default;
  virtual int open(const char* path, int flags, unsigned permissions) = 0;
  /// The f_type of statfs and fstatfs.
  virtual int type_of_folder(const char* path, std::uint32_t* type) = 0;
  virtual int type_of_file(int fd, std::uint32_t* type) = 0;
  virtual ssize_t attribute(int fd, const char* name, void* value, std::size_t bytes) = 0;
  virtual int control(int fd, unsigned long request, void* argument) = 0;
};

std::shared_ptr<StripingSystem> make_striping_system();

/// open(2) of a file, made as `wanted` asks where it is made here and the file system can: what cannot be had
/// so is had as it is, and told (`tell` may be empty). Returns 0 or an errno.
int open_striped(StripingSystem& system, const std::string& path, int flags, unsigned permissions,
                 const Striping& wanted, const std::function<void(const std::string&)>& tell, int* fd);

/// Of an open file; no targets where the file system tells none. `type`: what type_of_file() says, or 0;
/// `block_bytes`: the unit where there are no targets.
Striping striping_of(StripingSystem& system, int fd, std::uint32_t type, Count block_bytes);
/// The same, and the system is asked for both.
Striping striping_of(StripingSystem& system, int fd);

}  // namespace tasuki
