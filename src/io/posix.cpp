// Files of the operating system: preadv and pwritev, and what it takes to get all bytes moved by them.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "io/driver.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kVectorsMax = IOV_MAX;
constexpr Count kCallBytesMax = Count{1} << 30;  // one system call moves less than 2 GiB

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

/// Those of the pieces that lie one behind the other in the file, from `first` on and without the first
/// `skipped` bytes, as vectors for one system call.
class Batch {
 public:
  Batch(std::span<const FilePiece> pieces, std::size_t first, Count skipped)
      : offset_(pieces[first].offset + skipped) {
    Offset end = offset_;
    for (std::size_t i = first; i < pieces.size() && count_ < kVectorsMax; ++i, skipped = 0) {
      const FilePiece& piece = pieces[i];
      if (piece.offset + skipped != end || bytes_ == kCallBytesMax) break;
      const Count bytes = std::min(piece.bytes - skipped, kCallBytesMax - bytes_);
      vectors_[count_++] = {piece.memory + skipped, static_cast<std::size_t>(bytes)};
      bytes_ += bytes;
      end += bytes;
      if (bytes < piece.bytes - skipped) break;
    }
  }
  const iovec* vectors() const { return vectors_.data(); }
  int count() const { return static_cast<int>(count_); }
  Offset offset() const { return offset_; }

 private:
  Offset offset_;
  Count bytes_ = 0;
  std::size_t count_ = 0;
  std::array<iovec, kVectorsMax> vectors_;
};

/// Moves all pieces by `call(batch)`, which returns as preadv does.
template <class Call>
Transfer move_all(std::span<const FilePiece> pieces, bool ends, Call call) {
  Transfer done;
  std::size_t index = 0;
  Count skipped = 0;  // of pieces[index]
  while (index < pieces.size()) {
    const Batch batch(pieces, index, skipped);
    const ssize_t moved = uninterrupted([&] { return call(batch); });
    if (moved < 0) {
      done.error = errno;
      return done;
    }
    if (moved == 0) {
      if (!ends) done.error = EIO;  // a file system that takes nothing and gives no reason
      return done;
    }
    done.bytes += moved;
    Count left = moved;
    while (left > 0) {
      const Count bytes = std::min(left, pieces[index].bytes - skipped);
      left -= bytes;
      skipped += bytes;
      if (skipped == pieces[index].bytes) {
        ++index;
        skipped = 0;
      }
    }
  }
  return done;
}

class PosixFile final : public FileDriver {
 public:
  explicit PosixFile(int fd) : fd_(fd) {}
  ~PosixFile() override { close(); }

  int close() override {
    if (fd_ < 0) return 0;
    const int fd = fd_;
    fd_ = -1;
    const int error = error_of(::close(fd));
    return error == EINTR ? 0 : error;  // Linux has closed it all the same
  }

  int size(Offset* bytes) override {
    struct stat status;
    if (fstat(fd_, &status) != 0) return errno;
    *bytes = status.st_size;
    return 0;
  }

  int resize(Offset bytes) override {
    return error_of(uninterrupted([&] { return ftruncate(fd_, bytes); }));
  }

  int preallocate(Offset bytes) override {
    if (bytes == 0) return 0;
    const int error = error_of(uninterrupted([&] { return fallocate(fd_, 0, 0, bytes); }));
    return error == EOPNOTSUPP || error == ENOSYS ? extend_by_zeros(bytes) : error;
  }

  int sync() override {
    return error_of(uninterrupted([&] { return fsync(fd_); }));
  }

  Transfer read_at(std::span<const FilePiece> pieces) override {
    return move_all(pieces, true, [this](const Batch& batch) {
      return preadv(fd_, batch.vectors(), batch.count(), batch.offset());
    });
  }

  Transfer write_at(std::span<const FilePiece> pieces) override {
    return move_all(pieces, false, [this](const Batch& batch) {
      return pwritev(fd_, batch.vectors(), batch.count(), batch.offset());
    });
  }

 private:
  /// For file systems without fallocate: room behind the end comes from writing zeros there.
  int extend_by_zeros(Offset bytes) {
    constexpr Count kBlockBytes = 1 << 20;
    Offset end = 0;
    if (const int error = size(&end)) return error;
    std::vector<std::byte> zeros(
        static_cast<std::size_t>(std::min(kBlockBytes, std::max<Offset>(bytes - end, 0))));
    while (end < bytes) {
      const FilePiece piece{end, zeros.data(), std::min<Offset>(kBlockBytes, bytes - end)};
      const Transfer done = write_at({&piece, 1});
      if (done.error != 0) return done.error;
      end += done.bytes;
    }
    return 0;
  }

  int fd_;
};

class PosixStorage final : public Storage {
 public:
  int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) override {
    int flags = O_CLOEXEC | (how.read && how.write ? O_RDWR : how.write ? O_WRONLY : O_RDONLY);
    if (how.create) flags |= O_CREAT | (how.exclusive ? O_EXCL : 0);
    const int fd = uninterrupted([&] { return ::open(path.c_str(), flags, how.permissions); });
    if (fd < 0) return errno;
    auto file = std::make_unique<PosixFile>(fd);
    struct stat status;
    if (fstat(fd, &status) != 0) return errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    *driver = std::move(file);
    return 0;
  }

  int remove(const std::string& path) override { return error_of(::unlink(path.c_str())); }
};

}  // namespace

std::unique_ptr<Storage> make_posix_storage() {
  return std::make_unique<PosixStorage>();
}

}  // namespace tasuki
