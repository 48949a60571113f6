// The contract between MPI's files and what stores them: bytes at offsets, sizes, and the system's errors.
//
// A FileDriver is one open file, a Storage what opens and deletes them. Everything returns 0 or an errno; a
// transfer also says how far it came. posix.cpp implements both over a file system; tests put one that fails
// in between.
//
// Thread safety: none is asked for; different drivers may be used by different threads, also on one file.
#pragma once

#include <cstddef>
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
struct Transfer {
  Count bytes = 0;
  int error = 0;  // what stopped it, or 0: it is complete, or a read met the end of the file
};

class FileDriver {
 public:
  /// Closes the file, if close() was not called.
  virtual ~FileDriver() = default;

  virtual int close() = 0;
  virtual int size(Offset* bytes) = 0;
  /// Cuts the file or extends it by zeros.
  virtual int resize(Offset bytes) = 0;
  /// Makes sure that the first `bytes` bytes have room in the storage; extends the file when it is shorter.
  virtual int preallocate(Offset bytes) = 0;
  /// Returns once what was written through this driver has reached the storage.
  virtual int sync() = 0;

  /// Both go on until all is moved, the file ends (reading), or the system says no. An interrupted or short
  /// system call is no end.
  virtual Transfer read_at(std::span<const FilePiece> pieces) = 0;
  virtual Transfer write_at(std::span<const FilePiece> pieces) = 0;
};

struct OpenHow {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;       // with create: the file must not be there yet
  unsigned permissions = 0666;  // of a created file, less the process's umask
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
