// Striping of files: see striping.hpp.
#include "storage/striping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "storage/file_system.hpp"
#include "storage/lustre.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kAttributeBytesMax = 64 << 10;  // of any file system that Linux has
constexpr Count kBlockBytes = 4096;                   // of file systems that do not tell theirs

using Tell = std::function<void(const std::string&)>;

class RealSystem final : public StripingSystem {
 public:
  int open(const char* path, int flags, unsigned permissions) override {
    return ::open(path, flags, permissions);
  }
  int type_of_folder(const char* path, std::uint32_t* type) override {
    struct statfs facts;
    if (statfs(path, &facts) != 0) return -1;
    *type = static_cast<std::uint32_t>(facts.f_type);
    return 0;
  }
  int type_of_file(int fd, std::uint32_t* type) override {
    *type = file_system_of(fd);
    return *type != 0 ? 0 : -1;
  }
  ssize_t attribute(int fd, const char* name, void* value, std::size_t bytes) override {
    return fgetxattr(fd, name, value, bytes);
  }
  int control(int fd, unsigned long request, void* argument) override { return ioctl(fd, request, argument); }
};

int open_again(StripingSystem& system, const std::string& path, int flags, unsigned permissions, int* fd) {
  do {
    *fd = system.open(path.c_str(), flags, permissions);
  } while (*fd < 0 && errno == EINTR);
  return *fd < 0 ? errno : 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// One line for each thing that the file has otherwise than wanted.
void tell_differences(const Striping& wanted, const Striping& is, const std::string& why, const Tell& tell) {
  const auto compare = [&](const char* hint, Count want, Count have, bool asked) {
    if (!asked || want == have) return;
    tell(std::string(hint) + " = " + std::to_string(want) + ": the file has " + std::to_string(have) + why);
  };
  compare("striping_factor", wanted.targets, is.targets, wanted.targets > 0);
  compare("striping_unit", wanted.unit_bytes, is.unit_bytes, wanted.unit_bytes > 0);
  compare("start_iodevice", wanted.first_target, is.first_target, wanted.first_target >= 0);
}

}  // namespace

std::shared_ptr<StripingSystem> make_striping_system() {
  return std::make_shared<RealSystem>();
}

int open_striped(StripingSystem& system, const std::string& path, int flags, unsigned permissions,
                 const Striping& wanted, const Tell& tell, int* fd) {
  const bool asked = wanted.targets > 0 || wanted.unit_bytes > 0 || wanted.first_target >= 0;
  if (!asked || (flags & O_CREAT) == 0) return open_again(system, path, flags, permissions, fd);
  std::uint32_t type = 0;
  std::string why;
  if (system.type_of_folder(folder_of(path).c_str(), &type) != 0 || type != lustre::kFileSystemType) {
    if (const int error = open_again(system, path, flags, permissions, fd)) return error;
    if (tell) tell("the striping hints: the file system does not spread files over targets that are known");
    return 0;
  }
  const int without = flags | lustre::kOpenWithoutLayout;
  if (const int error = open_again(system, path, without, permissions, fd)) return error;
  lustre::LayoutRequest request = lustre::make_request(wanted);
  if (system.control(*fd, lustre::kSetLayout, request.data()) != 0) {
    why = errno == EEXIST || errno == EALREADY ? ", since it was there before"
                                               : std::string(", since Lustre says: ") + std::strerror(errno);
    // A file without a layout cannot be written; opened so it gets the one that Lustre likes.
    ::close(*fd);
    if (const int error = open_again(system, path, flags & ~O_EXCL, permissions, fd)) return error;
  }
  if (tell) tell_differences(wanted, striping_of(system, *fd), why, tell);
  return 0;
}

Striping striping_of(StripingSystem& system, int fd, std::uint32_t type, Count block_bytes) {
  Striping striping;
  if (type == lustre::kFileSystemType) {
    std::vector<std::byte> layout(kAttributeBytesMax);
    const ssize_t bytes = system.attribute(fd, lustre::kLayoutAttribute, layout.data(), layout.size());
    if (bytes > 0) layout.resize(static_cast<std::size_t>(bytes));
    if (bytes > 0 && lustre::parse_layout(layout, &striping)) return striping;
  }
  return {.unit_bytes = block_bytes > 0 ? block_bytes : kBlockBytes};
}

Striping striping_of(StripingSystem& system, int fd) {
  std::uint32_t type = 0;
  if (system.type_of_file(fd, &type) != 0) type = 0;
  struct stat status;
  return striping_of(system, fd, type, fstat(fd, &status) == 0 ? status.st_blksize : 0);
}

}  // namespace tasuki
