// Where buffers lie, and whether two of them share a byte: exact also where their types have gaps, so that
// two columns of one matrix are apart.
//
// Pure; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/object.hpp"

namespace tasuki {

/// Bytes [begin, end) of this rank's memory.
struct ByteSpan {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool empty() const { return begin >= end; }
  std::uintptr_t bytes() const { return end - begin; }
};

/// `count` elements of a type at an address; a null type: bytes. Holds the type.
struct Area {
  Area() = default;
  Area(const void* at, Count elements, Datatype* element_type)
      : address(reinterpret_cast<std::uintptr_t>(at)), count(elements) {
    if (!element_type->contiguous) {
      type = Ref<Datatype>::share(element_type);
    } else {
      count *= element_type->size;
    }
  }
  Area(std::uintptr_t at, Count bytes) : address(at), count(bytes) {}

  bool is_dense() const { return !type; }
  bool empty() const { return count <= 0 || (type && type->size == 0); }
  /// From its first byte to its last one, with what lies between.
  ByteSpan hull() const;

  std::uintptr_t address = 0;
  Count count = 0;
  Ref<Datatype> type;
};

/// The runs of bytes of an area, sorted and not merged; nothing where there are more than can be looked at.
std::optional<std::vector<ByteSpan>> runs_of(const Area& area);

/// The first bytes that two areas share; empty where they share none, or have more runs than can be looked
/// at.
ByteSpan shared_bytes(const Area& one, const Area& other);

/// The first bytes that an area holds twice, which no receive may write (MPI 3.2.4, 5.1.11); empty where
/// there are none, or it has more runs than can be looked at.
ByteSpan bytes_held_twice(const Area& area);

/// Whether an area wraps around the end of the address space, or begins in the first page, which nothing has.
bool is_out_of_memory(const Area& area);

/// A hash of the bytes of an area, in the order of its type map.
std::uint64_t checksum_of(const Area& area);

}  // namespace tasuki
