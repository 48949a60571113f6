// The checks of a collective's arguments.
#include "coll/check.hpp"

#include "base/process.hpp"
#include "coll/collectives.hpp"

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

Code fail_same_buffer(Process& process, const void* buffer) {
  return process.fail(kErrBuffer,
                      "sendbuf and recvbuf = %p begin with the same byte, expected MPI_IN_PLACE or "
                      "two separate buffers",
                      buffer);
}

/// Whether some block with data begins at `address`, where a block's place is counted from `base`.
bool block_begins_at(std::intptr_t address, const void* base, const Blocks& blocks, int size) {
  const std::intptr_t begin = reinterpret_cast<std::intptr_t>(base) + blocks.type.true_lb;
  if (size == 0) return false;
  if (blocks.uniform()) return blocks.count * blocks.type.size > 0 && begin == address;
  for (int rank = 0; rank < size; ++rank) {
    if (blocks.bytes_of(rank) > 0 && begin + blocks.place_of(rank).offset == address) return true;
  }
  return false;
}

}  // namespace

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
  return 0;
}

Code check_distinct(Process& process, const void* sendbuf, const Elements& mine, const void* recvbuf,
                    const Blocks& all, int size) {
  if (mine.in_place || mine.bytes() == 0) return 0;
  const std::intptr_t begin = reinterpret_cast<std::intptr_t>(sendbuf) + mine.type.true_lb;
  return block_begins_at(begin, recvbuf, all, size) ? fail_same_buffer(process, sendbuf) : 0;
}

Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, const void* recvbuf,
                    const Blocks& in, int size) {
  return check_distinct(process, sendbuf, out, size, recvbuf, in, size);
}

Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, int out_blocks,
                    const void* recvbuf, const Blocks& in, int in_blocks) {
  if (out.in_place || sendbuf != recvbuf) return 0;
  if (out.sizes) return 0;  // the many datatypes of the w forms may begin anywhere
  const std::intptr_t begin = reinterpret_cast<std::intptr_t>(sendbuf);
  const bool same = block_begins_at(begin + out.type.true_lb, sendbuf, out, out_blocks) &&
                    block_begins_at(begin + out.type.true_lb, recvbuf, in, in_blocks);
  return same ? fail_same_buffer(process, sendbuf) : 0;
}

Code check_distinct(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                    Count count) {
  if (sendbuf != recvbuf || sendbuf == kInPlace || count * datatype.size == 0) return 0;
  return fail_same_buffer(process, sendbuf);
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
