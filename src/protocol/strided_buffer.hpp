// StridedBuffer: where the bytes of a message lie in a rank's memory, in a form small enough to travel in a
// packet: one dense run, or blocks of one size at one stride, or blocks that a list in the same rank's memory
// names, which is that of the datatype's layout. A rank that knows both ends' copies any range of the message
// from one to the other in one pass; both ranks can.
//
// Invariants:
//  1. address == 0: none. The memory is private, or lies in a way that this form cannot say.
//  2. block_bytes == 0: one dense run. Else, stride > block_bytes: byte i of the message lies at
//     address + i / block_bytes * stride + i % block_bytes.
//  3. stride < 0: as many blocks as block_bytes says, at least two, listed at the address -stride, each at
//     address + its displacement (Layout::Block). The list stays as it is while the message is open. One that
//     came in a packet is read only after LargeMessages::reach() has found it and the list to be in that
//     rank's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"

namespace tasuki {

struct StridedBuffer {
  std::uint64_t address = 0;
  std::int64_t stride = 0;
  std::uint32_t block_bytes = 0;

  bool exists() const { return address != 0; }
  bool dense() const { return block_bytes == 0; }
  bool listed() const { return stride < 0; }
  /// Whether it can be what the invariants say: one that came in a packet may be anything.
  bool is_sound() const {
    if (listed()) return block_bytes >= 2 && stride % static_cast<std::int64_t>(alignof(Layout::Block)) == 0;
    return dense() || stride > static_cast<std::int64_t>(block_bytes);
  }
  const Layout::Block* list() const {
    return reinterpret_cast<const Layout::Block*>(-static_cast<std::uint64_t>(stride));
  }
  std::size_t list_bytes() const { return (std::size_t{block_bytes} + 1) * sizeof(Layout::Block); }

  /// From the first byte to behind the last one, of the first `bytes` of a message; no bytes when there are
  /// no such numbers, or the list is damaged. REQUIRES: the list, if there is one, can be read.
  struct Span {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
  };
  Span span(Count bytes) const;
};

/// Where `count` elements at `buffer` lie. None exists for an irregular type: one of several levels, several
/// elements of an indexed one, or one whose blocks are so short that their list would be as long as the data.
StridedBuffer strided_buffer(const void* buffer, Count count, const Datatype& datatype);

/// To be called before bytes [begin, end) of a message are written to another rank's memory. The first write
/// to each of its pages is a page fault, while a first read has Linux map those pages around it that exist,
/// 16 at a time, for writing too. So this reads one byte of each such group.
void map_pages(const StridedBuffer& there, Count begin, Count end);

/// Bytes [begin, end) of a message, from where one end has them to where the other end wants them;
/// `streamed`: past the caches (base/copy.hpp), but for short blocks.
void copy_strided(const StridedBuffer& from, const StridedBuffer& to, Count begin, Count end,
                  bool streamed = false);

}  // namespace tasuki
