// The contract between MPI's files and what stores them: bytes at offsets, sizes, and the system's errors.
//
// A FileDriver is one open file, a Storage what opens and deletes them. Everything returns 0 or an errno; a
// transfer also says how far it came. posix.cpp implements both over a file system; tests put one that fails
// in between.
//
// Thread safety: none is asked for; different drivers may be used by different threads, also on one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/types.hpp"

namespace tasuki {

/// So many bytes of a file and where they are in memory.
struct FilePiece {
  Offset offset;
  std::byte* memory;  // is only read when the file is written
  Count bytes;        // > 0; may be beyond 2^31
};

/// How far a transfer came: the first `bytes` bytes of its pieces, in their order, were moved.
struct TransferResult {
  Count bytes = 0;
  int error = 0;  // what stopped it, or 0: it is complete, or a read met the end of the file
};

/// How a file is spread over storage targets; or how it should be, where 0 and -1 mean "as the file system
/// has it".
struct Striping {
  int targets = 0;       // 0: none are known
  Count unit_bytes = 0;  // on one target before the next one comes; of a file without: the blocks it likes
  int first_target = -1;
};

/// A wish of the user's.
enum class HintSwitch : std::uint8_t { kAutomatic, kEnable, kDisable };

/// A way to a file on which one transfer at a time goes on, beside what others do with the file.
class FileLane {
 public:
  /// Waits for what was begun and never finished.
  virtual ~FileLane() = default;

  /// Begins what FileDriver::read_at() or write_at() does, and returns without having waited for a device
  /// where that can be had. The memory stays until finish(), the list need not.
  virtual void begin(bool write, std::span<const FilePiece> pieces) = 0;
  /// Whether finish() need not wait. Does not wait itself.
  virtual bool is_over() = 0;
  /// For a caller that would only wait: does a part of it that nobody has begun, some megabytes, and
  /// returns true; false where there is none.
  virtual bool help() { return false; }
  /// How the transfer came out, once it is over. REQUIRES: begin(), and no finish() since.
  virtual TransferResult finish() = 0;
  /// All of a transfer in the call. REQUIRES: nothing has been begun and not finished.
  virtual TransferResult move(bool write, std::span<const FilePiece> pieces) {
    begin(write, pieces);
    return finish();
  }
};

class FileDriver {
 public:
  /// Closes the file, if close() was not called.
  virtual ~FileDriver() = default;

  virtual int close() = 0;
  /// A number that all drivers open on the same file have, and hardly any other; 0: not known.
  virtual std::uint64_t identity() { return 0; }
  /// Whether the file lies in memory: no access to it waits for a device.
  virtual bool is_in_memory() { return false; }
  virtual int size(Offset* bytes) = 0;
  /// Cuts the file or extends it by zeros.
  virtual int resize(Offset bytes) = 0;
  /// Makes sure that the first `bytes` bytes have room in the storage; extends the file when it is shorter.
  virtual int preallocate(Offset bytes) = 0;
  /// Whether writes of long pieces that end before `end` are as fast while other processes write to the file.
  virtual bool writes_beside_others(Offset /*end*/) { return false; }
  /// Returns once what was written through this driver has reached the storage.
  virtual int sync() = 0;
  /// As it is. The unit is above 0.
  virtual Striping striping() = 0;

  /// Both go on until all is moved, the file ends (reading), or the system says no. An interrupted or short
  /// system call is no end. Where pieces of a write overlap any of them may be what stays.
  virtual TransferResult read_at(std::span<const FilePiece> pieces) = 0;
  virtual TransferResult write_at(std::span<const FilePiece> pieces) = 0;

  /// Begins what read_at() or write_at() does, and may go on with it while the caller does something else;
  /// the memory stays until finish(), the list need not. One transfer at a time. A driver that has nothing to
  /// offer that would go on by itself does it at once.
  virtual void begin(bool write, std::span<const FilePiece> pieces) {
    begun_ = write ? write_at(pieces) : read_at(pieces);
  }
  /// How the transfer that was begun came out, once it is over. REQUIRES: begin(), and no finish() since.
  virtual TransferResult finish() { return begun_; }
  /// Whether what was begun may be going on: if not, it was over when begin() returned.
  virtual bool is_under_way() const { return false; }

  /// A lane of its own, which goes before the file is closed. A driver that has nothing to offer that would
  /// go on by itself gives one that does all in begin().
  virtual std::unique_ptr<FileLane> open_lane();

 private:
  TransferResult begun_;
};

inline std::unique_ptr<FileLane> FileDriver::open_lane() {
  class AtOnce final : public FileLane {
   public:
    explicit AtOnce(FileDriver& driver) : driver_(driver) {}
    void begin(bool write, std::span<const FilePiece> pieces) override {
      done_ = write ? driver_.write_at(pieces) : driver_.read_at(pieces);
    }
    bool is_over() override { return true; }
    TransferResult finish() override { return done_; }

   private:
    FileDriver& driver_;
    TransferResult done_;
  };
  return std::make_unique<AtOnce>(*this);
}

struct OpenHow {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;       // with create: the file must not be there yet
  unsigned permissions = 0666;  // of a created file, less the process's umask
  bool several_write = false;   // several processes of this machine may write to it at once
  Striping striping{};          // of a created file
  HintSwitch io_uring{};        // whether transfers go by a ring of the kernel's; kAutomatic: where it pays
  /// Called with one line for what was asked for here and cannot be had, also while the file is open. May be
  /// empty.
  std::function<void(const std::string&)> tell{};
};

class Storage {
 public:
  virtual ~Storage() = default;
  virtual int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) = 0;
  virtual int remove(const std::string& path) = 0;
};

/// Files of the operating system.
std::unique_ptr<Storage> make_posix_storage();

}  // namespace tasuki
