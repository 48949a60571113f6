// The checks of a collective's arguments.
#include "coll/check/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/process.hpp"
#include "check/checks.hpp"
#include "coll/schedule/bound_schedule.hpp"

namespace tasuki {
namespace {

/// Whether the bytes of `count` elements, and where they lie, can be computed with room to spare.
bool countable(Count count, const TypeShape& type) {
  constexpr Count kBytesMax = Count{1} << 62;
  Count bytes;
  for (Count unit : {type.size, type.extent}) {
    if (__builtin_mul_overflow(count, unit, &bytes) || bytes > kBytesMax || bytes < -kBytesMax) return false;
  }
  return true;
}

Code fail_same_buffer(Process& process, const void* one, const void* other) {
  if (one == other) {
    return process.fail(kErrBuffer,
                        "sendbuf and recvbuf = %p begin with the same byte, expected MPI_IN_PLACE or "
                        "two separate buffers",
                        one);
  }
  return process.fail(kErrBuffer,
                      "sendbuf and recvbuf have a block that begins with the same byte, that at %p, expected "
                      "MPI_IN_PLACE or two separate buffers",
                      one);
}

/// Where the first byte of a block lies, of a buffer that begins at `base`.
std::intptr_t beginning_of(const void* base, const Blocks& blocks, int number) {
  const Count true_lb =
      blocks.lower_bounds ? blocks.lower_bounds[static_cast<std::size_t>(number)] : blocks.type.true_lb;
  return reinterpret_cast<std::intptr_t>(base) + blocks.place_of(number).offset + true_lb;
}

/// The beginnings of the blocks that have bytes, in ascending order.
std::vector<std::intptr_t> beginnings_of(const void* base, const Blocks& blocks, int size) {
  std::vector<std::intptr_t> beginnings;
  for (int number = 0; number < size; ++number) {
    if (blocks.bytes_of(number) > 0) beginnings.push_back(beginning_of(base, blocks, number));
  }
  std::sort(beginnings.begin(), beginnings.end());
  return beginnings;
}

// ----- with TASUKI_CHECK: any overlap ----------------------------------------------------------------------

struct Block {
  ByteSpan bytes;
  int number;
};

bool is_dense(const Blocks& blocks) {
  return blocks.type.contiguous && !blocks.sizes;
}

/// The blocks that have bytes, by where they begin, counted from `base`. REQUIRES: is_dense(blocks).
std::vector<Block> sorted_blocks(std::uintptr_t base, const Blocks& blocks, int size) {
  std::vector<Block> sorted;
  for (int number = 0; number < size; ++number) {
    const auto begin = base + static_cast<std::uintptr_t>(blocks.place_of(number).offset);
    const ByteSpan bytes{begin, begin + static_cast<std::uintptr_t>(blocks.bytes_of(number))};
    if (!bytes.empty()) sorted.push_back({bytes, number});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Block& a, const Block& b) { return a.bytes.begin < b.bytes.begin; });
  return sorted;
}

Code check_blocks_apart(Process& process, const Blocks& blocks, int size) {
  if (!blocks.displacements || !is_dense(blocks)) return 0;
  constexpr std::uintptr_t kMiddle = std::uintptr_t{1} << 63;  // displacements may be negative
  const std::vector<Block> sorted = sorted_blocks(kMiddle, blocks, size);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Block &one = sorted[i - 1], &next = sorted[i];
    if (next.bytes.begin >= one.bytes.end) continue;
    return process.fail(
        kErrBuffer,
        "blocks %d and %d of the receive buffer overlap by %llu bytes, expected each byte to be "
        "received once; hint: compare recvcounts and displacements",
        std::min(one.number, next.number), std::max(one.number, next.number),
        static_cast<unsigned long long>(std::min(one.bytes.end, next.bytes.end) - next.bytes.begin));
  }
  return 0;
}

Code fail_overlap(Process& process, const Block& sent, const Block& received) {
  return process.fail(
      kErrBuffer,
      "sendbuf and recvbuf overlap: bytes from %p on are in block %d of the one and block %d of "
      "the other, expected MPI_IN_PLACE or two separate buffers",
      reinterpret_cast<void*>(std::max(sent.bytes.begin, received.bytes.begin)), sent.number,
      received.number);
}

Code check_buffers_apart(Process& process, const std::vector<Block>& sent,
                         const std::vector<Block>& received) {
  for (std::size_t i = 0, j = 0; i < sent.size() && j < received.size();) {
    const ByteSpan &out = sent[i].bytes, &in = received[j].bytes;
    if (out.begin < in.end && in.begin < out.end) return fail_overlap(process, sent[i], received[j]);
    out.end < in.end ? ++i : ++j;
  }
  return 0;
}

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

bool block_begins_at(std::intptr_t address, const void* base, const Blocks& blocks, int size) {
  if (size == 0) return false;
  if (blocks.uniform()) {
    if (blocks.count * blocks.type.size == 0) return false;
    const std::intptr_t distance = address - beginning_of(base, blocks, 0);
    const Count step = blocks.one_for_all ? 0 : blocks.count * blocks.type.extent;
    if (distance == 0 || step == 0) return distance == 0;
    return distance % step == 0 && distance / step > 0 && distance / step < size;
  }
  for (int number = 0; number < size; ++number) {
    if (blocks.bytes_of(number) > 0 && beginning_of(base, blocks, number) == address) return true;
  }
  return false;
}

bool blocks_begin_alike(const void* sendbuf, const Blocks& out, int out_blocks, const void* recvbuf,
                        const Blocks& in, int in_blocks) {
  const std::vector<std::intptr_t> sent = beginnings_of(sendbuf, out, out_blocks);
  const std::vector<std::intptr_t> received = beginnings_of(recvbuf, in, in_blocks);
  return std::any_of(sent.begin(), sent.end(), [&](std::intptr_t beginning) {
    return std::binary_search(received.begin(), received.end(), beginning);
  });
}

Code check_intracommunicator(Comm& comm) {
  if (!comm.is_inter()) return 0;
  return comm.process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
}

Code check_not_in_place(Process& process, const char* name, const void* buffer, const char* where_legal) {
  if (buffer != kInPlace) return 0;
  return process.fail(kErrBuffer, "%s = MPI_IN_PLACE, which is legal %s", name, where_legal);
}

Code check_count(Process& process, const char* name, Count count, const TypeShape& type) {
  if (countable(count, type)) return 0;
  return process.fail(kErrCount, "%s = %lld elements of %lld bytes, expected less than 2^62 bytes", name,
                      static_cast<long long>(count), static_cast<long long>(type.extent));
}

Code check_blocks(Process& process, const char* name, const Blocks& blocks, int size) {
  if (blocks.uniform()) {
    Count elements;
    if (!__builtin_mul_overflow(blocks.count, size, &elements) && countable(elements, blocks.type)) return 0;
    return process.fail(kErrCount,
                        "%s = %lld elements of %lld bytes for each of %d blocks, expected less than "
                        "2^62 bytes in all",
                        name, static_cast<long long>(blocks.count),
                        static_cast<long long>(blocks.type.extent), size);
  }
  Count total = 0;
  for (int rank = 0; rank < size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const Count count = blocks.counts[index];
    TypeShape type = blocks.type;
    if (blocks.sizes) type.size = type.extent = blocks.sizes[index];
    if (count < 0) {
      return process.fail(kErrCount, "%ss[%d] = %lld, expected 0 or more", name, rank,
                          static_cast<long long>(count));
    }
    if (!countable(count, type) || __builtin_add_overflow(total, count, &total) || !countable(total, type)) {
      return process.fail(kErrCount,
                          "%ss[%d] = %lld elements of %lld bytes, expected less than 2^62 bytes in all", name,
                          rank, static_cast<long long>(count), static_cast<long long>(type.extent));
    }
    Count offset;
    if (blocks.displacements &&
        __builtin_mul_overflow(blocks.displacements[index], blocks.displacement_bytes, &offset)) {
      return process.fail(kErrArg, "the displacement of block %d = %lld, expected less than 2^63 bytes", rank,
                          static_cast<long long>(blocks.displacements[index]));
    }
  }
  const bool received = std::strcmp(name, "recvcount") == 0;
  return received && process.checks != nullptr ? check_blocks_apart(process, blocks, size) : 0;
}

Code check_distinct(Process& process, const void* sendbuf, const Elements& mine, const void* recvbuf,
                    const Blocks& all, int size) {
  if (mine.in_place || mine.bytes() == 0) return 0;
  const std::intptr_t begin = reinterpret_cast<std::intptr_t>(sendbuf) + mine.type.true_lb;
  if (block_begins_at(begin, recvbuf, all, size)) return fail_same_buffer(process, sendbuf, recvbuf);
  if (process.checks == nullptr || !mine.type.contiguous || !is_dense(all)) return 0;
  const std::uintptr_t at = number_of(sendbuf);
  return check_buffers_apart(process, {{{at, at + static_cast<std::uintptr_t>(mine.bytes())}, 0}},
                             sorted_blocks(number_of(recvbuf), all, size));
}

Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, const void* recvbuf,
                    const Blocks& in, int size) {
  return check_distinct(process, sendbuf, out, size, recvbuf, in, size);
}

Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, int out_blocks,
                    const void* recvbuf, const Blocks& in, int in_blocks) {
  if (out.in_place) return 0;
  if (process.checks != nullptr && is_dense(out) && is_dense(in)) {
    return check_buffers_apart(process, sorted_blocks(number_of(sendbuf), out, out_blocks),
                               sorted_blocks(number_of(recvbuf), in, in_blocks));
  }
  if (sendbuf != recvbuf && !out.one_for_all) return 0;
  const bool alike = blocks_begin_alike(sendbuf, out, out_blocks, recvbuf, in, in_blocks);
  return alike ? fail_same_buffer(process, sendbuf, recvbuf) : 0;
}

Code check_distinct(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                    Count count) {
  if (sendbuf == kInPlace || count * datatype.size == 0) return 0;
  if (sendbuf == recvbuf) return fail_same_buffer(process, sendbuf, recvbuf);
  if (process.checks == nullptr) return 0;
  auto* const type = const_cast<Datatype*>(&datatype);
  return process.checks->check_apart({sendbuf, count, type}, "sendbuf", {recvbuf, count, type}, "recvbuf");
}

Code check_reduction(Comm& comm, Count count, const Datatype& datatype, const Op& op) {
  if (const Code code = check_op(comm.process, op, datatype); code != 0) return code;
  return check_count(comm.process, "count", count, shape_of(datatype));
}

Code check_result(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                  Count count) {
  if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, "for sendbuf only"); code != 0)
    return code;
  return check_distinct(process, sendbuf, recvbuf, datatype, count);
}

}  // namespace tasuki
