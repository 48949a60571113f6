// What the tests of files share: a file name of their own, opening, and an oracle that knows nothing of
// layouts: a file in memory, and views and buffers as lists of bytes, from type maps written out entry by
// entry.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "coll/api.hpp"
#include "datatype/call/api.hpp"
#include "io/api.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/file/file.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki::test {

using Bytes = std::vector<unsigned char>;

/// A name in the folder for temporary files that no other test uses; removed at the end.
class FileName {
 public:
  FileName() {
    const char* folder = std::getenv("TMPDIR");
    char name[256];
    std::snprintf(name, sizeof name, "%s/io-test-XXXXXX", folder != nullptr ? folder : "/tmp");
    const int fd = mkstemp(name);
    if (fd >= 0) ::close(fd);
    name_ = name;
  }
  ~FileName() { ::unlink(name_.c_str()); }
  const char* get() const { return name_.c_str(); }
  std::string text() const { return name_; }

 private:
  std::string name_;
};

inline Bytes content(const char* name) {
  Bytes bytes;
  FILE* file = std::fopen(name, "rb");
  if (file == nullptr) return bytes;
  unsigned char block[4096];
  for (std::size_t got; (got = std::fread(block, 1, sizeof block, file)) > 0;)
    bytes.insert(bytes.end(), block, block + got);
  std::fclose(file);
  return bytes;
}

inline Datatype* named(Process& process, std::uint16_t number) {
  return static_cast<Datatype*>(process.objects->predefined[number]);
}

/// The class of an error, whose text must not be empty.
inline int failure(Process& process, Code code) {
  EXPECT_FALSE(code != kSuccess && process.errors.text(code).empty());
  return error_class_bits(code);
}

inline void expect_success(Process& process, Code code) {
  EXPECT_EQ(code, kSuccess) << process.errors.text(code);
}

inline File* open_file(Process& process, Comm* comm, const char* name, int amode) {
  File* file = nullptr;
  expect_success(process, api::file_open(process, comm, name, amode, nullptr, &file));
  return file;
}

/// Opens a fresh file on `ranks` ranks, runs `body`, closes it.
inline void with_file(int ranks, const std::function<void(Process&, File&)>& body,
                      int amode = kModeRdwr | kModeCreate, const WorldOptions& options = {}) {
  const FileName name;
  run_ranks(
      ranks,
      [&](Process& process) {
        File* file = open_file(process, process.objects->world, name.get(), amode);
        ASSERT_NE(file, nullptr);
        body(process, *file);
        expect_success(process, api::file_close(process, &file));
      },
      options);
}

/// Runs a task of a file's: in the call, or look by look, as progress does it.
inline Code run_task(File& file, Course::Waits how, const std::function<Task(Course&)>& make) {
  Course course(file.process, how);
  Task task = make(course);
  if (course.waits()) return course.run(std::move(task));
  course.lane = file.driver->open_lane();
  bool moved = false;
  for (bool over = task.begin(); !over; over = course.go_on(&moved)) file.process.progress->poll_once();
  return task.result();
}

/// A collective access at an explicit offset, in the call or by a request that is waited for.
inline Code access_all(Process& process, File* file, bool write, bool later, Offset offset, void* data,
                       Count count, Datatype* type, Status* status) {
  if (!later) {
    return write ? api::file_write_at_all(process, file, offset, data, count, type, status)
                 : api::file_read_at_all(process, file, offset, data, count, type, status);
  }
  Request* request = nullptr;
  const Code code = write ? api::file_iwrite_at_all(process, file, offset, data, count, type, &request)
                          : api::file_iread_at_all(process, file, offset, data, count, type, &request);
  return code != kSuccess ? code : api::wait(process, &request, status);
}

/// A datatype and the places of its bytes, in type-map order.
struct Mapped {
  Ref<Datatype> type;
  std::vector<Count> places;
  Count extent = 0;

  Count size() const { return static_cast<Count>(places.size()); }
  /// The place of byte `k` of endless copies.
  Count place(Count k) const { return k / size() * extent + places[static_cast<std::size_t>(k % size())]; }
};

inline void commit(const Mapped& mapped) {
  mapped.type->committed = true;
}

inline Mapped mapped_byte(Process& process, Count bytes) {
  Datatype* type = nullptr;
  api::type_contiguous(process, bytes, named(process, kMpiByte), &type, false);
  Mapped made{Ref<Datatype>(type), {}, bytes};
  for (Count i = 0; i < bytes; ++i) made.places.push_back(i);
  return made;
}

/// Blocks of `lengths[i]` copies at `displacements[i]` bytes, then a new lower bound 0 and the extent.
inline Mapped mapped_blocks(Process& process, const Mapped& old, const std::vector<std::int64_t>& lengths,
                            const std::vector<std::int64_t>& displacements, Count extent) {
  Datatype* listed = nullptr;
  Datatype* resized = nullptr;
  const auto count = static_cast<Count>(lengths.size());
  api::type_create_hindexed(process, count, CountArray(lengths.data()), CountArray(displacements.data()),
                            old.type.get(), &listed, true);
  api::type_create_resized(process, listed, 0, extent, &resized, true);
  release(listed);
  Mapped made{Ref<Datatype>(resized), {}, extent};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (Count copy = 0; copy < lengths[i]; ++copy) {
      for (const Count place : old.places)
        made.places.push_back(displacements[i] + copy * old.extent + place);
    }
  }
  return made;
}

using Random = std::mt19937_64;

inline Count pick(Random& random, Count low, Count high) {
  return low + static_cast<Count>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A filetype over `unit`: ascending blocks with holes, nested up to twice. Its places do not overlap.
inline Mapped random_filetype(Process& process, Random& random, const Mapped& unit) {
  Mapped made = unit;
  for (Count level = pick(random, 0, 2); level > 0; --level) {
    std::vector<std::int64_t> lengths, displacements;
    Count end = pick(random, 0, 5);
    for (Count blocks = pick(random, 1, 4); blocks > 0; --blocks) {
      lengths.push_back(pick(random, 1, 3));
      displacements.push_back(end);
      end += lengths.back() * made.extent + pick(random, 0, 9);
    }
    made = mapped_blocks(process, made, lengths, displacements, end);
  }
  commit(made);
  return made;
}

/// A memory type over `unit`: blocks in any order, also behind each other backwards, nested up to twice. Its
/// places do not overlap and are not negative.
inline Mapped random_memory_type(Process& process, Random& random, const Mapped& unit) {
  Mapped made = unit;
  for (Count level = pick(random, 0, 2); level > 0; --level) {
    std::vector<std::int64_t> lengths, displacements;
    Count end = pick(random, 0, 3);
    for (Count blocks = pick(random, 1, 4); blocks > 0; --blocks) {
      lengths.push_back(pick(random, 1, 3));
      displacements.push_back(end);
      end += lengths.back() * made.extent + pick(random, 0, 5);
    }
    if (random() % 2 == 0) {
      std::reverse(lengths.begin(), lengths.end());
      std::reverse(displacements.begin(), displacements.end());
    }
    made = mapped_blocks(process, made, lengths, displacements, end);
  }
  commit(made);
  return made;
}

}  // namespace tasuki::test
