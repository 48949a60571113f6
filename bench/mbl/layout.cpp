// Layouts of a message in memory (see layout.hpp).
#include "layout.hpp"

#include <cstdio>

#include "buffers.hpp"
#include "suite.hpp"

namespace mbl {

namespace {

// A vector of blocks with as much between them; an index of blocks of two lengths at uneven gaps; a structure
// {int; double; int} as a compiler lays it out.
constexpr int kVectorBlock = 512, kVectorStride = 1024;
constexpr int kIndexedLong = 768, kIndexedShort = 256, kIndexedGap = 64, kIndexedPeriod = 1280;
constexpr int kStructBytes = 16, kStructExtent = 24;

/// What is between the data: that of another seed.
constexpr std::uint64_t between(std::uint64_t seed) {
  return seed + 0x1000;
}

}  // namespace

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::kContiguous:
      return "contiguous";
    case Shape::kVector:
      return "vector";
    case Shape::kIndexed:
      return "indexed";
    case Shape::kStruct:
      return "struct";
  }
  return "";
}

std::int64_t unit_of(Shape shape) {
  switch (shape) {
    case Shape::kContiguous:
      return 1;
    case Shape::kVector:
      return kVectorBlock;
    case Shape::kIndexed:
      return kIndexedLong + kIndexedShort;
    case Shape::kStruct:
      return kStructBytes;
  }
  return 1;
}

MessageLayout::MessageLayout(Shape shape, std::int64_t bytes) {
  if (shape == Shape::kContiguous) {
    count_ = static_cast<int>(bytes);
    blocks_.push_back({0, bytes});
  } else if (shape == Shape::kVector) {
    make_vector(bytes);
  } else if (shape == Shape::kIndexed) {
    make_indexed(bytes);
  } else {
    make_struct(bytes);
  }
  if (shape != Shape::kContiguous) require(MPI_Type_commit(&type_), "MPI_Type_commit");
  if (!blocks_.empty()) span_ = blocks_.back().offset + blocks_.back().bytes;
}

MessageLayout::~MessageLayout() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
}

void MessageLayout::make_vector(std::int64_t bytes) {
  const int blocks = static_cast<int>(bytes / kVectorBlock);
  require(MPI_Type_vector(blocks, kVectorBlock, kVectorStride, MPI_BYTE, &type_), "MPI_Type_vector");
  for (int i = 0; i < blocks; ++i) blocks_.push_back({std::int64_t{i} * kVectorStride, kVectorBlock});
}

void MessageLayout::make_indexed(std::int64_t bytes) {
  std::vector<int> lengths, offsets;
  for (int i = 0; i < bytes / (kIndexedLong + kIndexedShort); ++i) {
    lengths.insert(lengths.end(), {kIndexedLong, kIndexedShort});
    offsets.insert(offsets.end(), {i * kIndexedPeriod, i * kIndexedPeriod + kIndexedLong + kIndexedGap});
  }
  require(
      MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE, &type_),
      "MPI_Type_indexed");
  for (std::size_t i = 0; i < lengths.size(); ++i) blocks_.push_back({offsets[i], lengths[i]});
}

void MessageLayout::make_struct(std::int64_t bytes) {
  const int lengths[3] = {1, 1, 1};
  const MPI_Aint offsets[3] = {0, 8, 16};
  const MPI_Datatype members[3] = {MPI_INT, MPI_DOUBLE, MPI_INT};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_create_struct(3, lengths, offsets, members, &made), "MPI_Type_create_struct");
  require(MPI_Type_create_resized(made, 0, kStructExtent, &type_), "MPI_Type_create_resized");
  require(MPI_Type_free(&made), "MPI_Type_free");
  count_ = static_cast<int>(bytes / kStructBytes);
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::int64_t begin = i * kStructExtent;
    blocks_.insert(blocks_.end(), {{begin, 4}, {begin + 8, 8}, {begin + 16, 4}});
  }
}

void MessageLayout::fill(void* buffer, std::uint64_t seed) const {
  auto* data = static_cast<unsigned char*>(buffer);
  mbl::fill(data, span_, between(seed));
  std::int64_t index = 0;
  for (const Block& block : blocks_) {
    for (std::int64_t i = 0; i < block.bytes; ++i) data[block.offset + i] = known_byte(seed, index++);
  }
}

std::string MessageLayout::compare(const void* buffer, std::uint64_t seed, std::uint64_t before) const {
  const auto* data = static_cast<const unsigned char*>(buffer);
  char text[128];
  std::int64_t index = 0, place = 0;
  for (const Block& block : blocks_) {
    for (; place < block.offset + block.bytes; ++place) {
      const bool gap = place < block.offset;
      const unsigned char expected = gap ? known_byte(between(before), place) : known_byte(seed, index++);
      if (data[place] == expected) continue;
      if (gap) {
        std::snprintf(text, sizeof text, "the memory at %lld, between the data, is 0x%02x, it was 0x%02x",
                      static_cast<long long>(place), data[place], expected);
      } else {
        std::snprintf(text, sizeof text, "byte %lld is 0x%02x, expected 0x%02x",
                      static_cast<long long>(index - 1), data[place], expected);
      }
      return text;
    }
  }
  return {};
}

}  // namespace mbl
