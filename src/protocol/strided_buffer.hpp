// StridedBuffer: where the bytes of a message lie in a rank's memory, in a form small enough to travel in a
// packet: one dense run, or blocks of one size at one stride. A rank that knows both ends' copies any range
// of the message from one to the other in one pass; both ranks can.
//
// Invariants:
//  1. address == 0: none. The memory is private, or lies in a way that this form cannot say.
//  2. block_bytes == 0: one dense run. Else byte i of the message lies at
//     address + i / block_bytes * stride + i % block_bytes, and stride > block_bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "datatype/datatype.hpp"

namespace tasuki {

struct StridedBuffer {
  std::uint64_t address = 0;
  std::int64_t stride = 0;
  std::uint32_t block_bytes = 0;

  bool exists() const { return address != 0; }
  bool dense() const { return block_bytes == 0; }
  /// Whether it can be what invariant 2 says: one that came in a packet may be anything.
  bool is_sound() const { return dense() || stride > static_cast<std::int64_t>(block_bytes); }
  /// From the first byte to behind the last one, of a message of `bytes`; 0 when there is no such number.
  std::size_t span(Count bytes) const;
};

/// Where `count` elements at `buffer` lie. None exists for an irregular type.
StridedBuffer strided_buffer(const void* buffer, Count count, const Datatype& datatype);

/// Bytes [begin, end) of a message, from where one end has them to where the other end wants them.
void copy_strided(const StridedBuffer& from, const StridedBuffer& to, Count begin, Count end);

}  // namespace tasuki
