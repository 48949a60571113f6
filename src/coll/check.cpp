// The checks of a collective's arguments.
#include "coll/check.hpp"

#include "base/process.hpp"

namespace tasuki {
namespace {

Code fail_same_buffer(Process& process, const void* buffer) {
  return process.fail(kErrBuffer,
                      "sendbuf and recvbuf = %p begin with the same byte, expected MPI_IN_PLACE or "
                      "two separate buffers",
                      buffer);
}

/// Whether some block with data begins at `address`, where a block's place is counted from `base`.
bool block_begins_at(std::intptr_t address, const void* base, const Blocks& blocks, int size) {
  const std::intptr_t begin = reinterpret_cast<std::intptr_t>(base) + blocks.type.true_lb;
  if (blocks.uniform()) return blocks.count * blocks.type.size > 0 && begin == address;
  for (int rank = 0; rank < size; ++rank) {
    if (blocks.bytes_of(rank) > 0 && begin + blocks.place_of(rank).offset == address) return true;
  }
  return false;
}

}  // namespace

Code check_intracommunicator(Comm& comm) {
  if (!comm.is_inter()) return 0;
  return comm.process.fail(kErrUnsupportedOperation,
                           "comm is an intercommunicator, expected an intracommunicator: collectives between "
                           "groups are not supported yet");
}

Code check_not_in_place(Process& process, const char* name, const void* buffer, const char* where_legal) {
  if (buffer != kInPlace) return 0;
  return process.fail(kErrBuffer, "%s = MPI_IN_PLACE, which is legal %s", name, where_legal);
}

Code check_counts(Process& process, const char* name, CountArray counts, int size) {
  for (int rank = 0; rank < size; ++rank) {
    const Count count = counts[static_cast<std::size_t>(rank)];
    if (count >= 0) continue;
    return process.fail(kErrCount, "%s[%d] = %lld, expected 0 or more", name, rank,
                        static_cast<long long>(count));
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
  if (out.in_place || sendbuf != recvbuf) return 0;
  if (out.sizes) return 0;  // MPI_Alltoallw's many datatypes may begin anywhere
  const std::intptr_t begin = reinterpret_cast<std::intptr_t>(sendbuf);
  const bool same = block_begins_at(begin + out.type.true_lb, sendbuf, out, size) &&
                    block_begins_at(begin + out.type.true_lb, recvbuf, in, size);
  return same ? fail_same_buffer(process, sendbuf) : 0;
}

Code check_distinct(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                    Count count) {
  if (sendbuf != recvbuf || sendbuf == kInPlace || count * datatype.size == 0) return 0;
  return fail_same_buffer(process, sendbuf);
}

}  // namespace tasuki
