// Files of the operating system: opening, sizes and room. How bytes get there is PieceMover's matter.
#include "storage/posix.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "storage/mapped_writer.hpp"
#include "storage/piece_mover.hpp"
#include "storage/shared_lane.hpp"

namespace tasuki {
namespace {

template <class Call>
auto uninterrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

int error_of(long result) {
  return result < 0 ? errno : 0;
}

TransferResult all_of(std::span<const FilePiece> pieces) {
  TransferResult done;
  for (const FilePiece& piece : pieces) done.bytes += piece.bytes;
  return done;
}

/// How pieces get to a file and back: by calls, a ring, or mapped windows. One transfer at a time.
class Mover {
 public:
  Mover(int fd, const OpenHow& how, const RingMaker& make_ring, PieceMover::Tell tell)
      : mapped_(fd, how.read && how.write && how.several_write),
        pieces_(fd, how.io_uring, make_ring, std::move(tell)) {}

  TransferResult move(bool write, std::span<const FilePiece> pieces) {
    if (write && mapped_.write(pieces)) return all_of(pieces);
    return pieces_.move(write, pieces);
  }
  void begin(bool write, std::span<const FilePiece> pieces) {
    written_.reset();
    if (write && mapped_.write(pieces)) {
      written_ = all_of(pieces);
    } else {
      pieces_.begin(write, pieces);
    }
  }
  TransferResult finish() { return written_ ? *written_ : pieces_.finish(); }
  bool is_under_way() const { return pieces_.is_under_way(); }
  void end() { pieces_.end(); }

  bool read_from_cache(std::span<const FilePiece> pieces, TransferResult* result) {
    return pieces_.read_from_cache(pieces, result);
  }
  bool writes_beside_others(Offset end) { return mapped_.reaches(end); }

 private:
  MappedWriter mapped_;
  std::optional<TransferResult> written_;  // what begin() wrote by `mapped_`
  PieceMover pieces_;
};

class PosixFile final : public FileDriver {
 public:
  PosixFile(int fd, const OpenHow& how, const PosixParts& parts)
      : fd_(fd),
        system_(parts.system),
        how_(how),
        make_ring_(parts.make_ring),
        mover_(fd, how, parts.make_ring, how.tell) {}

  /// What stands in the way of a file that the system has opened: an errno, or 0.
  int check() {
    if (const int error = find_facts()) return error;
    if (S_ISDIR(facts_->st_mode)) return EISDIR;
    return S_ISCHR(facts_->st_mode) && lseek(fd_, 0, SEEK_CUR) < 0 ? errno : 0;  // a terminal
  }

  ~PosixFile() override { close(); }

  int close() override {
    if (fd_ < 0) return 0;
    mover_.end();
    const int fd = fd_;
    fd_ = -1;
    const int error = error_of(::close(fd));
    return error == EINTR ? 0 : error;  // Linux has closed it all the same
  }

  std::uint64_t identity() override {
    if (find_facts() != 0) return 0;
    return (facts_->st_dev * 0x9e3779b97f4a7c15u) ^ (facts_->st_ino * 0xc2b2ae3d27d4eb4fu);
  }

  bool is_in_memory() override {
    const std::uint32_t type = file_system_type();
    return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
  }

  int size(Offset* bytes) override {
    struct stat status;
    if (fstat(fd_, &status) != 0) return errno;
    *bytes = status.st_size;
    return 0;
  }

  int resize(Offset bytes) override {
    const int error = error_of(uninterrupted([&] { return ftruncate(fd_, bytes); }));
    return error == EINVAL && !is_regular() ? EOPNOTSUPP : error;
  }

  int preallocate(Offset bytes) override {
    if (bytes == 0) return 0;
    const int error = error_of(uninterrupted([&] { return fallocate(fd_, 0, 0, bytes); }));
    if (error == ENODEV) return EOPNOTSUPP;  // a device
    return error == EOPNOTSUPP || error == ENOSYS || error == EPERM ? extend_by_zeros(bytes) : error;
  }

  int sync() override {
    const int error = error_of(uninterrupted([&] { return fsync(fd_); }));
    return error == EINVAL && !is_regular() ? 0 : error;  // a device that keeps nothing back, as /dev/null
  }

  bool writes_beside_others(Offset end) override { return mover_.writes_beside_others(end); }

  Striping striping() override {
    return striping_of(*system_, fd_, file_system_type(), find_facts() == 0 ? facts_->st_blksize : 0);
  }

  TransferResult read_at(std::span<const FilePiece> pieces) override { return mover_.move(false, pieces); }
  TransferResult write_at(std::span<const FilePiece> pieces) override { return mover_.move(true, pieces); }
  void begin(bool write, std::span<const FilePiece> pieces) override { mover_.begin(write, pieces); }
  TransferResult finish() override { return mover_.finish(); }
  bool is_under_way() const override { return mover_.is_under_way(); }

  std::unique_ptr<FileLane> open_lane() override {
    const auto by_caller = std::make_shared<Mover>(fd_, how_, make_ring_, PieceMover::Tell{});
    const auto by_thread = std::make_shared<Mover>(fd_, how_, make_ring_, PieceMover::Tell{});
    return make_shared_lane(
        {.by_caller = [by_caller](bool write, auto pieces) { return by_caller->move(write, pieces); },
         .by_thread = [by_thread](bool write, auto pieces) { return by_thread->move(write, pieces); },
         .read_from_cache =
             [by_caller](auto pieces, TransferResult* result) {
               return by_caller->read_from_cache(pieces, result);
             }});
  }

 private:
  /// Asks the system for what never changes about the file, once: opening asks several times. Returns 0 or
  /// an errno.
  int find_facts() {
    if (facts_) return 0;
    struct stat status;
    if (fstat(fd_, &status) != 0) return errno;
    facts_ = status;
    return 0;
  }

  bool is_regular() { return find_facts() == 0 && S_ISREG(facts_->st_mode); }

  std::uint32_t file_system_type() {
    if (!file_system_type_) {
      std::uint32_t type = 0;
      file_system_type_ = system_->type_of_file(fd_, &type) == 0 ? type : 0;
    }
    return *file_system_type_;
  }

  /// For file systems without fallocate, and where what confines the process forbids it: room behind the end
  /// comes from writing zeros there.
  int extend_by_zeros(Offset bytes) {
    constexpr Count kBlockBytes = 1 << 20;
    Offset end = 0;
    if (const int error = size(&end)) return error;
    std::vector<std::byte> zeros(
        static_cast<std::size_t>(std::min(kBlockBytes, std::max<Offset>(bytes - end, 0))));
    while (end < bytes) {
      const FilePiece piece{end, zeros.data(), std::min<Offset>(kBlockBytes, bytes - end)};
      const TransferResult done = write_at({&piece, 1});
      if (done.error != 0) return done.error;
      end += done.bytes;
    }
    return 0;
  }

  int fd_;
  std::shared_ptr<StripingSystem> system_;
  std::optional<struct stat> facts_;  // of the size and the times only what was when it was asked
  std::optional<std::uint32_t> file_system_type_;
  const OpenHow how_;
  const RingMaker make_ring_;
  Mover mover_;
};

class PosixStorage final : public Storage {
 public:
  explicit PosixStorage(PosixParts parts) : parts_(std::move(parts)) {}

  int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) override {
    int flags = O_CLOEXEC | (how.read && how.write ? O_RDWR : how.write ? O_WRONLY : O_RDONLY);
    if (how.create) flags |= O_CREAT | (how.exclusive ? O_EXCL : 0);
    if (const int error = check_positions(path, how)) return error;
    int fd = -1;
    if (const int error =
            open_striped(*parts_.system, path, flags, how.permissions, how.striping, how.tell, &fd))
      return error;
    auto file = std::make_unique<PosixFile>(fd, how, parts_);
    if (const int error = file->check()) return error;
    *driver = std::move(file);
    return 0;
  }

  int remove(const std::string& path) override { return error_of(::unlink(path.c_str())); }

 private:
  /// ESPIPE for what has no positions to access. Asked before it is opened: opening one end of a pipe waits
  /// for the other.
  static int check_positions(const std::string& path, const OpenHow& how) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) return 0;
    return how.exclusive ? EEXIST : ESPIPE;
  }

  PosixParts parts_;
};

}  // namespace

std::unique_ptr<Storage> make_posix_storage(PosixParts parts) {
  return std::make_unique<PosixStorage>(std::move(parts));
}

std::unique_ptr<Storage> make_posix_storage() {
  return make_posix_storage(PosixParts{});
}

}  // namespace tasuki
