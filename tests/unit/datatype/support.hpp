// What the datatype tests share: a Process to call with, handles that free themselves, and an oracle that
// knows nothing of layouts: a type map written out entry by entry, made by the definitions of MPI 5.1.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"
#include "datatype/predefined.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki::test {

inline void with_process(const std::function<void(Process&)>& body) {
  run_ranks(1, body, {.network = Network::kInproc});
}

/// A type of the user's: freed at the end of its scope.
using TypeRef = Ref<Datatype>;

inline TypeRef named(Process& process, std::uint16_t number) {
  return TypeRef::share(static_cast<Datatype*>(process.objects->predefined[number]));
}

/// The result of a constructor that must succeed: made([&](Datatype** t) { return api::type_x(…, t); }).
template <class Make>
TypeRef made(Process& process, Make make) {
  Datatype* type = nullptr;
  const Code code = make(&type);
  EXPECT_EQ(code, kSuccess) << process.errors.text(code);
  return TypeRef(type);
}

/// The class of an error, and that it has a text.
inline int failure(Process& process, Code code) {
  EXPECT_FALSE(code != kSuccess && process.errors.text(code).empty());
  return error_class_bits(code);
}

/// CountArray over a list of a test.
inline CountArray counts(const std::vector<std::int64_t>& values) {
  return CountArray(values.data());
}
inline CountArray ints(const std::vector<int>& values) {
  return CountArray(values.data());
}

struct TypeMap {
  struct Entry {
    Count displacement;
    Count bytes;
    Count alignment;
  };
  std::vector<Entry> entries;
  std::vector<Count> lb_markers, ub_markers;
  std::vector<Count> lb_placed, ub_placed;  // the bounds of the types that it was made of
  bool padded = false;                      // a struct: its extent is rounded up to its alignment

  Count size() const {
    Count sum = 0;
    for (const Entry& e : entries) sum += e.bytes;
    return sum;
  }
  Count true_lb() const {
    if (entries.empty()) return 0;
    return std::min_element(entries.begin(), entries.end(),
                            [](const Entry& a, const Entry& b) { return a.displacement < b.displacement; })
        ->displacement;
  }
  Count true_ub() const {
    Count ub = entries.empty() ? 0 : INT64_MIN;
    for (const Entry& e : entries) ub = std::max(ub, e.displacement + e.bytes);
    return ub;
  }
  Count lb() const {
    const std::vector<Count>& bounds = lb_markers.empty() ? lb_placed : lb_markers;
    return bounds.empty() ? true_lb() : *std::min_element(bounds.begin(), bounds.end());
  }
  Count ub() const {
    if (!ub_markers.empty()) return *std::max_element(ub_markers.begin(), ub_markers.end());
    Count ub = ub_placed.empty() ? true_ub() : *std::max_element(ub_placed.begin(), ub_placed.end());
    Count alignment = 1;
    for (const Entry& e : entries) alignment = std::max(alignment, e.alignment);
    while (padded && (ub - lb()) % alignment != 0) ++ub;
    return ub;
  }
  Count extent() const { return ub() - lb(); }

  /// Appends `copies` of `other`, its extent apart, from `displacement` on.
  void place(Count displacement, Count copies, const TypeMap& other) {
    for (Count i = 0; i < copies; ++i) {
      const Count shift = displacement + i * other.extent();
      if (!other.entries.empty()) {
        lb_placed.push_back(shift + other.lb());
        ub_placed.push_back(shift + other.ub());
      }
      for (Entry e : other.entries) {
        e.displacement += shift;
        entries.push_back(e);
      }
      for (const Count lb_marker : other.lb_markers) lb_markers.push_back(lb_marker + shift);
      for (const Count ub_marker : other.ub_markers) ub_markers.push_back(ub_marker + shift);
    }
  }
  void resize(Count lb, Count extent) {
    lb_markers = {lb};
    ub_markers = {lb + extent};
  }
};

/// The type map of a predefined type.
inline TypeMap type_map(const BasicInfo& info) {
  TypeMap map;
  if (info.representation == Representation::kPair) {
    const BasicInfo& value = *basic_info(info.value);
    const BasicInfo& index = *basic_info(info.index);
    map.entries = {{0, value.size, value.alignment}, {info.index_offset, index.size, index.alignment}};
    map.padded = true;
  } else {
    map.entries = {{0, info.size, info.alignment}};
  }
  return map;
}

/// Compares sizes, bounds and extents of a type with its map.
inline void expect_bounds(const Datatype& type, const TypeMap& map) {
  EXPECT_EQ(type.size, map.size());
  EXPECT_EQ(type.lb, map.lb());
  EXPECT_EQ(type.extent, map.extent());
  EXPECT_EQ(type.true_lb, map.true_lb());
  EXPECT_EQ(type.true_extent, map.true_ub() - map.true_lb());
}

/// Memory that holds `count` elements of a type map and not a byte more.
class Buffer {
 public:
  Buffer(const TypeMap& map, Count count) {
    Count low = INT64_MAX;
    Count high = INT64_MIN;
    const Count last = count > 0 ? (count - 1) * map.extent() : 0;
    for (const Count shift : {Count{0}, last}) {
      low = std::min(low, map.true_lb() + shift);
      high = std::max(high, map.true_ub() + shift);
    }
    bytes_.reset(new unsigned char[static_cast<std::size_t>(high - low)]);
    size_ = static_cast<std::size_t>(high - low);
    origin_ = reinterpret_cast<std::uintptr_t>(bytes_.get()) - static_cast<std::uintptr_t>(low);
  }
  void fill(unsigned seed) {
    for (std::size_t i = 0; i < size_; ++i)
      bytes_[i] = static_cast<unsigned char>((i * 167 + seed) ^ (i >> 8));
  }
  void clear(unsigned char value) { std::memset(bytes_.get(), value, size_); }
  bool operator==(const Buffer& other) const {
    return size_ == other.size_ && std::memcmp(bytes_.get(), other.bytes_.get(), size_) == 0;
  }
  void* origin() const { return reinterpret_cast<void*>(origin_); }
  unsigned char* at(Count displacement) const {
    return reinterpret_cast<unsigned char*>(origin_ + static_cast<std::uintptr_t>(displacement));
  }

 private:
  std::unique_ptr<unsigned char[]> bytes_;
  std::size_t size_ = 0;
  std::uintptr_t origin_ = 0;
};

/// The packed form by the definition: entry after entry.
inline std::vector<unsigned char> packed(const TypeMap& map, Count count, const Buffer& buffer) {
  std::vector<unsigned char> out;
  for (Count i = 0; i < count; ++i) {
    for (const TypeMap::Entry& e : map.entries) {
      const unsigned char* from = buffer.at(i * map.extent() + e.displacement);
      out.insert(out.end(), from, from + e.bytes);
    }
  }
  return out;
}

inline void unpacked(const TypeMap& map, Count count, const std::vector<unsigned char>& in, Buffer* buffer) {
  std::size_t position = 0;
  for (Count i = 0; i < count; ++i) {
    for (const TypeMap::Entry& e : map.entries) {
      std::memcpy(buffer->at(i * map.extent() + e.displacement), &in[position],
                  static_cast<std::size_t>(e.bytes));
      position += static_cast<std::size_t>(e.bytes);
    }
  }
}

/// Packs and unpacks `count` elements whole and compares with the map.
inline void expect_moves(const Datatype& type, const TypeMap& map, Count count) {
  Buffer buffer(map, count);
  buffer.fill(7);
  const std::vector<unsigned char> expected = packed(map, count, buffer);
  PackCursor cursor(type, count);
  ASSERT_EQ(cursor.total_bytes(), static_cast<Count>(expected.size()));
  std::vector<unsigned char> got(expected.size());
  EXPECT_EQ(cursor.pack(buffer.origin(), got.data(), got.size()), expected.size());
  EXPECT_EQ(got, expected);
  Buffer target(map, count), wanted(map, count);
  target.clear(0xee);
  wanted.clear(0xee);
  unpacked(map, count, expected, &wanted);
  PackCursor back(type, count);
  EXPECT_EQ(back.unpack(target.origin(), expected.data(), expected.size()), expected.size());
  EXPECT_TRUE(target == wanted);
}

}  // namespace tasuki::test
