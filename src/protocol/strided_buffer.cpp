// StridedBuffer: how one is made of a datatype's layout, and the copy from one to another.
#include "protocol/strided_buffer.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"

namespace tasuki {
namespace {

constexpr Count kStreamedBlockBytesMin = 1024;

constexpr std::uint64_t kFaultAround = 64 << 10;  // what Linux maps around a page that is read first
constexpr Count kPagesMin = 2 * 4096;

/// Blocks are listed where they have so many bytes on average: four times what the list has.
constexpr Count kListedBytesMin = 64;
static_assert(sizeof(Layout::Block) == 16);

std::uint64_t moved(std::uint64_t address, Count offset) {
  return address + static_cast<std::uint64_t>(offset);
}

StridedBuffer blocks(std::uint64_t address, Count block_bytes, Count stride) {
  if (stride <= block_bytes || block_bytes > UINT32_MAX) return {};
  return {.address = address, .stride = stride, .block_bytes = static_cast<std::uint32_t>(block_bytes)};
}

StridedBuffer listed_blocks(std::uint64_t base, Count count, const Layout& layout) {
  const auto blocks = static_cast<Count>(layout.blocks.size()) - 1;
  if (count != 1 || blocks > UINT32_MAX || layout.size / blocks < kListedBytesMin) return {};
  const auto list = reinterpret_cast<std::uint64_t>(layout.blocks.data());
  return {.address = base,
          .stride = -static_cast<Count>(list),
          .block_bytes = static_cast<std::uint32_t>(blocks)};
}

/// A walk along one buffer.
struct Walk {
  std::byte* at;
  Count left;  // in this block
  Count block_bytes;
  Count gap;                             // from the end of a block to the start of the next
  const Layout::Block* block = nullptr;  // of a list: the present one
  std::byte* base;

  Walk(const StridedBuffer& buffer, Count begin, Count end) {
    base = reinterpret_cast<std::byte*>(buffer.address);
    if (buffer.listed()) {
      const Layout::Block* const first = buffer.list();
      block =
          std::upper_bound(first, first + buffer.block_bytes, begin,
                           [](Count value, const Layout::Block& one) { return value < one.packed_begin; }) -
          1;
      const Count skipped = begin - block->packed_begin;
      block_bytes = block[1].packed_begin - block->packed_begin;
      at = base + block->displacement + skipped;
      left = block_bytes - skipped;
      gap = 0;
      return;
    }
    if (buffer.dense()) {
      at = base + begin;
      left = block_bytes = end - begin;
      gap = 0;
      return;
    }
    block_bytes = buffer.block_bytes;
    gap = buffer.stride - block_bytes;
    const Count index = begin / block_bytes;
    const Count skipped = begin - index * block_bytes;
    at = base + index * buffer.stride + skipped;
    left = block_bytes - skipped;
  }
  /// REQUIRES: bytes <= left, and there are more.
  void advance(Count bytes) {
    at += bytes;
    left -= bytes;
    if (left != 0) return;
    if (block != nullptr) {
      ++block;
      at = base + block->displacement;
      left = block[1].packed_begin - block->packed_begin;
      return;
    }
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
  if (block > 32 || from.listed() || to.listed() || !fits(from, *source) || !fits(to, *target)) return 0;
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

namespace {

StridedBuffer::Span span_of_list(const StridedBuffer& buffer, Count bytes) {
  const Layout::Block* const list = buffer.list();
  Count first = INT64_MAX;
  Count end = INT64_MIN;
  Count done = list[0].packed_begin;
  if (done != 0) return {};
  for (std::uint32_t i = 0; i < buffer.block_bytes && done < bytes; ++i) {
    const Count begin = list[i].displacement;
    const Count next = list[i + 1].packed_begin;
    Count block_end;
    if (next <= done || __builtin_add_overflow(begin, next - done, &block_end)) return {};
    first = std::min(first, begin);
    end = std::max(end, block_end);
    done = next;
  }
  Count all;
  if (done < bytes || __builtin_sub_overflow(end, first, &all)) return {};
  return {moved(buffer.address, first), static_cast<std::size_t>(all)};
}

}  // namespace

StridedBuffer::Span StridedBuffer::span(Count bytes) const {
  if (bytes <= 0) return {};
  if (dense()) return {address, static_cast<std::size_t>(bytes)};
  if (listed()) return span_of_list(*this, bytes);
  const Count blocks = (bytes - 1) / block_bytes;
  Count before_last;
  Count all;
  if (__builtin_mul_overflow(blocks, stride, &before_last) ||
      __builtin_add_overflow(before_last, bytes - blocks * block_bytes, &all)) {
    return {};
  }
  return {address, static_cast<std::size_t>(all)};
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
  if (layout.shape == Layout::Shape::kBlocks) return listed_blocks(base, count, layout);
  if (layout.shape != Layout::Shape::kStrided || layout.child != nullptr) return {};
  // Blocks at one stride, and the next element goes on as if it were the same.
  if (count > 1 && datatype.extent != layout.count * layout.stride) return {};
  return blocks(moved(base, layout.offset), layout.block_bytes, layout.stride);
}

void map_pages(const StridedBuffer& there, Count begin, Count end) {
  if (!there.dense() || end - begin < kPagesMin) return;
  const std::uint64_t behind = moved(there.address, end);
  for (std::uint64_t at = moved(there.address, begin); at < behind;
       at = (at / kFaultAround + 1) * kFaultAround)
    static_cast<void>(*reinterpret_cast<const volatile std::byte*>(at));
}

void copy_strided(const StridedBuffer& from, const StridedBuffer& to, Count begin, Count end, bool streamed) {
  if (begin >= end) return;
  Walk source(from, begin, end);
  Walk target(to, begin, end);
  for (Count left = end - begin; left > 0;) {
    if (const Count done = copy_small_blocks(from, to, &source, &target, left)) {
      left -= done;
      continue;
    }
    const Count bytes = std::min({left, source.left, target.left});
    const auto copy = streamed && bytes >= kStreamedBlockBytesMin ? &stream_bytes : &copy_bytes;
    copy(target.at, source.at, static_cast<std::size_t>(bytes));
    left -= bytes;
    if (left == 0) return;
    source.advance(bytes);
    target.advance(bytes);
  }
}

}  // namespace tasuki
