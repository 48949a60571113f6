// StridedBuffer: how one is made of a datatype's layout, and the copy from one to another.
#include "protocol/strided_buffer.hpp"

#include <algorithm>
#include <cstring>

#include "datatype/layout.hpp"

namespace tasuki {
namespace {

std::uint64_t moved(std::uint64_t address, Count offset) {
  return address + static_cast<std::uint64_t>(offset);
}

StridedBuffer blocks(std::uint64_t address, Count block_bytes, Count stride) {
  if (stride <= block_bytes || block_bytes > UINT32_MAX) return {};
  return {.address = address, .stride = stride, .block_bytes = static_cast<std::uint32_t>(block_bytes)};
}

/// A walk along one buffer.
struct Walk {
  std::byte* at;
  Count left;  // in this block
  Count block_bytes;
  Count gap;  // from the end of a block to the start of the next

  Walk(const StridedBuffer& buffer, Count begin, Count end) {
    auto* const base = reinterpret_cast<std::byte*>(buffer.address);
    if (buffer.dense()) {
      at = base + begin;
      left = block_bytes = end - begin;
      gap = 0;
      return;
    }
    block_bytes = buffer.block_bytes;
    gap = buffer.stride - block_bytes;
    const Count block = begin / block_bytes;
    const Count skipped = begin - block * block_bytes;
    at = base + block * buffer.stride + skipped;
    left = block_bytes - skipped;
  }
  void advance(Count bytes) {
    at += bytes;
    left -= bytes;
    if (left != 0) return;
    at += gap;
    left = block_bytes;
  }
};

/// `blocks` whole blocks of kBytes on both sides.
template <std::size_t kBytes>
void copy_blocks(std::byte* to, Count to_stride, const std::byte* from, Count from_stride, Count count) {
  for (Count i = 0; i < count; ++i) {
    std::memcpy(to, from, kBytes);
    to += to_stride;
    from += from_stride;
  }
}

/// As many whole blocks as lie in `bytes`, where both ends have them at the same bytes of the message and
/// they are small: a call for each would cost more than the copy. Returns the bytes done.
Count copy_small_blocks(const StridedBuffer& from, const StridedBuffer& to, Walk* source, Walk* target,
                        Count bytes) {
  const Count block = std::min(source->block_bytes, target->block_bytes);
  const auto fits = [block](const StridedBuffer& buffer, const Walk& walk) {
    return buffer.dense() || (walk.block_bytes == block && walk.left == block);
  };
  if (block > 32 || !fits(from, *source) || !fits(to, *target)) return 0;
  const Count from_stride = from.dense() ? block : from.stride;
  const Count to_stride = to.dense() ? block : to.stride;
  const Count count = bytes / block;
  switch (block) {
    case 4:
      copy_blocks<4>(target->at, to_stride, source->at, from_stride, count);
      break;
    case 8:
      copy_blocks<8>(target->at, to_stride, source->at, from_stride, count);
      break;
    case 16:
      copy_blocks<16>(target->at, to_stride, source->at, from_stride, count);
      break;
    case 24:
      copy_blocks<24>(target->at, to_stride, source->at, from_stride, count);
      break;
    case 32:
      copy_blocks<32>(target->at, to_stride, source->at, from_stride, count);
      break;
    default:
      return 0;
  }
  source->at += count * from_stride;
  target->at += count * to_stride;
  if (from.dense()) source->left -= count * block;
  if (to.dense()) target->left -= count * block;
  return count * block;
}

}  // namespace

std::size_t StridedBuffer::span(Count bytes) const {
  if (bytes <= 0) return 0;
  if (dense()) return static_cast<std::size_t>(bytes);
  const Count blocks = (bytes - 1) / block_bytes;
  Count before_last;
  Count all;
  if (__builtin_mul_overflow(blocks, stride, &before_last) ||
      __builtin_add_overflow(before_last, bytes - blocks * block_bytes, &all)) {
    return 0;
  }
  return static_cast<std::size_t>(all);
}

StridedBuffer strided_buffer(const void* buffer, Count count, const Datatype& datatype) {
  const Layout& layout = *datatype.layout;
  const auto base = reinterpret_cast<std::uint64_t>(buffer);
  if (count <= 0 || layout.size == 0) return {};
  if (datatype.contiguous) return {.address = moved(base, layout.offset)};
  if (layout.shape == Layout::Shape::kRun) {
    if (count == 1) return {.address = moved(base, layout.offset)};
    return blocks(moved(base, layout.offset), layout.size, datatype.extent);
  }
  if (layout.shape != Layout::Shape::kStrided || layout.child != nullptr) return {};
  // Blocks at one stride, and the next element goes on as if it were the same.
  if (count > 1 && datatype.extent != layout.count * layout.stride) return {};
  return blocks(moved(base, layout.offset), layout.block_bytes, layout.stride);
}

void copy_strided(const StridedBuffer& from, const StridedBuffer& to, Count begin, Count end) {
  if (begin >= end) return;
  Walk source(from, begin, end);
  Walk target(to, begin, end);
  for (Count left = end - begin; left > 0;) {
    if (const Count done = copy_small_blocks(from, to, &source, &target, left)) {
      left -= done;
      continue;
    }
    const Count bytes = std::min({left, source.left, target.left});
    std::memcpy(target.at, source.at, static_cast<std::size_t>(bytes));
    source.advance(bytes);
    target.advance(bytes);
    left -= bytes;
  }
}

}  // namespace tasuki
