// Layouts of a message in memory: contiguous, and three derived datatypes. Says where its bytes lie without
// asking MPI, so that what MPI did with them can be checked.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mbl {

enum class Shape { kContiguous, kVector, kIndexed, kStruct };

/// "contiguous", "vector", …
const char* name_of(Shape shape);
/// A message in this shape has a multiple of so many bytes.
std::int64_t unit_of(Shape shape);

/// `count` of `type` are a message of so many bytes.
class MessageLayout {
 public:
  MessageLayout(Shape shape, std::int64_t bytes);
  MessageLayout(const MessageLayout&) = delete;
  MessageLayout& operator=(const MessageLayout&) = delete;
  ~MessageLayout();

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }
  /// From the message's first byte to its last.
  std::int64_t span() const { return span_; }

  /// Fills data with those of `seed`, and what lies between with others.
  void fill(void* buffer, std::uint64_t seed) const;
  /// Looks whether a buffer that was filled with `before` has the data of `seed`, and whether what lies
  /// between them is as it was. Returns the first difference in words, or nothing.
  std::string compare(const void* buffer, std::uint64_t seed, std::uint64_t before) const;

 private:
  struct Block {
    std::int64_t offset = 0, bytes = 0;
  };
  void make_vector(std::int64_t bytes);
  void make_indexed(std::int64_t bytes);
  void make_struct(std::int64_t bytes);

  int count_ = 1;
  MPI_Datatype type_ = MPI_BYTE;
  std::int64_t span_ = 0;
  std::vector<Block> blocks_;  // in the order of their offsets, which is that of the message
};

}  // namespace mbl
