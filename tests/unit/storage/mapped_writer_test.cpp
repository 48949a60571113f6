// Writing through mapped windows: every piece arrives, whatever it is cut into, and nothing beside it
// changes; what cannot be mapped is left to others.
#include "storage/mapped_writer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "io/support.hpp"
#include "support/sanitized.hpp"

namespace tasuki::test {
namespace {

constexpr Count kMiB = 1 << 20;

/// A file in memory, which is one of tmpfs.
class MemoryFile {
 public:
  explicit MemoryFile(Count bytes)
      : fd_(memfd_create("mapped_writer_test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_GE(fd_, 0);
    expected_.assign(static_cast<std::size_t>(bytes), 0x55);
    EXPECT_EQ(pwrite(fd_, expected_.data(), expected_.size(), 0), static_cast<ssize_t>(bytes));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  /// Notes that a piece is to be in the file.
  void expect(const FilePiece& piece) {
    if (piece.offset + piece.bytes > static_cast<Offset>(expected_.size()))
      expected_.resize(static_cast<std::size_t>(piece.offset + piece.bytes));
    std::copy_n(reinterpret_cast<unsigned char*>(piece.memory), piece.bytes,
                expected_.begin() + piece.offset);
  }
  void check() const {
    std::vector<unsigned char> found(expected_.size() + 1);
    EXPECT_EQ(pread(fd_, found.data(), found.size(), 0), static_cast<ssize_t>(expected_.size()));
    found.pop_back();
    EXPECT_EQ(found, expected_);
  }

 private:
  int fd_;
  std::vector<unsigned char> expected_;
};

std::vector<std::byte> noise(Count bytes, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::byte> made(static_cast<std::size_t>(bytes));
  for (std::byte& byte : made) byte = static_cast<std::byte>(random());
  return made;
}

TEST(MappedWriter, EveryPieceArrives) {
  for (unsigned seed = 1; seed <= (kSanitized ? 3 : 8); ++seed) {
    std::minstd_rand random(seed);
    const Count file_bytes = 6 * kMiB + static_cast<Count>(random() % 5000);
    MemoryFile file(file_bytes);
    std::vector<std::byte> memory = noise(file_bytes, seed);
    std::vector<FilePiece> pieces;
    const Count longest = seed % 3 == 0 ? 3 * kMiB : 20'000;
    for (Offset offset = static_cast<Offset>(random() % 9000); offset < file_bytes;) {
      const Count bytes = std::min<Count>(4000 + static_cast<Count>(random()) % longest, file_bytes - offset);
      pieces.push_back({offset, memory.data() + offset, bytes});
      file.expect(pieces.back());
      offset += bytes + static_cast<Count>(random()) % (seed % 2 == 0 ? 3 * kMiB : 9000);
    }
    MappedWriter writer(file.fd(), true);
    Count all = 0;
    for (const FilePiece& piece : pieces) all += piece.bytes;
    SCOPED_TRACE(seed);
    const bool many = all >= 128 << 10 && all / static_cast<Count>(pieces.size()) >= 2 << 10;
    EXPECT_EQ(writer.write(pieces), many);
    if (many) file.check();
  }
}

TEST(MappedWriter, LeavesOthersWhatItShouldNotMap) {
  MemoryFile file(kMiB);
  std::vector<std::byte> memory = noise(kMiB, 1);
  MappedWriter writer(file.fd(), true);
  const FilePiece behind{1, memory.data(), kMiB};
  EXPECT_FALSE(writer.write({&behind, 1}));
  const FilePiece small{0, memory.data(), 100};
  EXPECT_FALSE(writer.write({&small, 1}));
  const std::vector<FilePiece> back = {{kMiB / 2, memory.data(), kMiB / 2}, {0, memory.data(), kMiB / 2}};
  EXPECT_FALSE(writer.write(back));
  file.check();
  const FilePiece whole{0, memory.data(), kMiB};
  EXPECT_TRUE(writer.write({&whole, 1}));
  file.expect(whole);
  file.check();
}

TEST(MappedWriter, LeavesFilesThatMayNotBeMappedAlone) {
  MemoryFile file(kMiB);
  std::vector<std::byte> memory = noise(kMiB, 1);
  const FilePiece whole{0, memory.data(), kMiB};
  EXPECT_FALSE(MappedWriter(file.fd(), false).write({&whole, 1}));
  ASSERT_EQ(fcntl(file.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_FALSE(MappedWriter(file.fd(), true).write({&whole, 1}));
  file.check();
}

TEST(MappedWriter, MemoryThatIsNotThereIsNoSignal) {
  MemoryFile file(kMiB);
  void* gone = mmap(nullptr, static_cast<std::size_t>(kMiB), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  const FilePiece whole{0, static_cast<std::byte*>(gone), kMiB};
  EXPECT_FALSE(MappedWriter(file.fd(), true).write({&whole, 1}));
  munmap(gone, static_cast<std::size_t>(kMiB));
}

}  // namespace
}  // namespace tasuki::test
