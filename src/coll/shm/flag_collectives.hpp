// Flag-based collectives: blocking ones whose data the members show each other on the node segment
// (coll/shm/node_segment.hpp), run straight from the call to the flags, without a schedule.
//
// Each member writes what the others need into its own memory, and reads what it needs from theirs: nothing
// is handed on, so each takes one line (or as many as the data has) from one processor to another and no
// more. A reduction runs over all vectors from the last rank's to the first's, or, where it is to be
// repeatable, by the tree of coll/algorithm/order.hpp or exactly (reduction/exact.hpp), at every rank that
// wants the result: so the order of ranks is kept, and all get the same bits.
//
// Whether a collective is flag-based follows from the bytes that a member shows, which all ranks know alike.
// The entries of api.hpp ask here first, and plan a schedule where the answer is no. What is wrong with a
// call is left to the plan to tell.
//
// In MPI_Gatherv and MPI_Scatterv only the root knows all counts. Where the communicator takes flags for them
// at all, a rank finds in the phases which way the others go:
//  - Gather: a member whose block is short shows it, with phase kBlocksShown. One whose block is long shows
//    that it has one, with phase kBlockSent, and sends it in a message.
//  - Scatter: the root shows all blocks, with phase kBlocksShown; or, where they are too long, with phase
//    kBlockSent that it sends each in a message.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/copy.hpp"
#include "base/process.hpp"
#include "base/types.hpp"
#include "base/variables/algorithm_table.hpp"
#include "coll/schedule/data.hpp"
#include "coll/shm/node_segment.hpp"
#include "datatype/datatype.hpp"

namespace tasuki {

/// The numbers of the algorithms "flag_based" (base/variables/algorithm_table.hpp), by FlagOperation.
inline constexpr std::array<int, kFlagOperations> kFlagAlgorithms = {
    algorithm_number(Operation::kBarrier, "flag_based"),
    algorithm_number(Operation::kBcast, "flag_based"),
    algorithm_number(Operation::kReduce, "flag_based"),
    algorithm_number(Operation::kAllreduce, "flag_based"),
    algorithm_number(Operation::kAllgather, "flag_based"),
    algorithm_number(Operation::kAlltoall, "flag_based"),
    algorithm_number(Operation::kGather, "flag_based"),
    algorithm_number(Operation::kScatter, "flag_based"),
    algorithm_number(Operation::kReduceScatter, "flag_based"),
    algorithm_number(Operation::kScan, "flag_based"),
    algorithm_number(Operation::kExscan, "flag_based"),
    algorithm_number(Operation::kGatherv, "flag_based"),
    algorithm_number(Operation::kScatterv, "flag_based"),
};

inline constexpr Count kNotInline = kInlineBytes + 1;

/// The bytes of `count` elements of `size` bytes, or kNotInline where these are more than kInlineBytes.
inline Count inline_bytes(Count count, Count size) {
  if (count <= kInlineBytes && size <= kInlineBytes) [[likely]]
    return std::min(count * size, kNotInline);
  return count == 0 || size == 0 ? 0 : kNotInline;
}

// The phases of MPI_Gatherv and MPI_Scatterv.
inline constexpr unsigned kBlockSent = 1;
inline constexpr unsigned kBlocksShown = 2;

/// A flag-based collective on `comm` takes part.
inline void count_by_flags(Comm& comm, FlagOperation operation) {
  if (!comm.hidden) [[likely]] {
    const int algorithm = kFlagAlgorithms[static_cast<std::size_t>(operation)];
    ++comm.process.counters.algorithms[algorithm];
    comm.process.counters.last_collective = {.algorithm = static_cast<std::uint64_t>(algorithm) + 1};
    ++comm.process.counters.collectives;
  }
  ++comm.collective_sequences[0];
}

/// The next collective on `comm` is a flag-based one.
inline void begin_by_flags(Comm& comm, NodeSegment& segment, FlagOperation operation) {
  count_by_flags(comm, operation);
  segment.enter();
}

inline void copy_inline(void* to, const void* from, Count bytes) {
  if (bytes == 8) {  // one number: the usual case of those where every instruction counts
    std::memcpy(to, from, 8);
  } else if (bytes != 0) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

/// Some elements of a buffer of the call.
struct Piece {
  std::intptr_t address;  // a number, since buffers may begin at MPI_BOTTOM
  Count count;
  const Datatype* type;

  Piece(const void* buffer, Count elements, const Datatype& datatype)
      : address(reinterpret_cast<std::intptr_t>(buffer)), count(elements), type(&datatype) {}

  Count bytes() const { return count * type->size; }
  void* buffer() const { return reinterpret_cast<void*>(address); }
  /// The piece of the same length that is `index` times it further on.
  Piece operator[](int index) const {
    Piece other = *this;
    other.address += index * count * type->extent;
    return other;
  }
};

/// Packs `piece` at `to`, at most `bytes_max`.
inline void pack_inline(const Piece& piece, std::byte* to, Count bytes_max) {
  const Count bytes = std::min(piece.bytes(), bytes_max);
  if (piece.type->contiguous) [[likely]]
    return copy_inline(to, piece.buffer(), bytes);
  PackCursor cursor(*piece.type, piece.count);
  cursor.pack(piece.buffer(), to, static_cast<std::size_t>(bytes));
}

/// The same in the segment's room(), for other ranks alone.
inline void pack_for_others(const NodeSegment& segment, const Piece& piece, std::byte* room) {
  if (piece.type->contiguous && segment.is_streamed(piece.bytes())) [[unlikely]] {
    stream_bytes(room, piece.buffer(), static_cast<std::size_t>(piece.bytes()));
  } else {
    pack_inline(piece, room, kInlineBytes);
  }
}

/// Unpacks `bytes` at `from` into `piece`, as many as it holds. Returns whether that was all.
inline bool unpack_inline(const Piece& piece, const std::byte* from, Count bytes) {
  const Count taken = std::min(piece.bytes(), bytes);
  if (piece.type->contiguous) [[likely]] {
    copy_inline(piece.buffer(), from, taken);
  } else {
    PackCursor cursor(*piece.type, piece.count);
    cursor.unpack(piece.buffer(), from, static_cast<std::size_t>(taken));
  }
  return taken == bytes;
}

/// Whether the elements that a rank has for each of `blocks` ranks are where addresses can be computed.
inline bool is_countable(const Piece& piece, int blocks) {
  if (piece.type->contiguous) [[likely]]
    return true;  // and small
  Count bytes;
  constexpr Count kBytesMax = Count{1} << 62;
  return !__builtin_mul_overflow(piece.count * blocks, piece.type->extent, &bytes) && bytes <= kBytesMax &&
         bytes >= -kBytesMax;
}

// The calls of coll/api.hpp on a communicator that has `segment`. Each returns false, and nothing has
// happened, where the call is not flag-based, or is wrong; else it is over, and `code` is its result. What a
// member shows is in brackets.

bool flag_barrier(Comm& comm, NodeSegment& segment);  // []; nothing can go wrong

/// [the whole buffer, by the root]
bool flag_bcast(Comm& comm, NodeSegment& segment, void* buffer, Count count, const Datatype& datatype,
                int root, Code* code);

/// [a block, by all but the root]
bool flag_gather(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                 const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype* recvtype, int root,
                 Code* code);

/// [a block for each member, by the root]
bool flag_scatter(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                  const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype* recvtype,
                  int root, Code* code);

/// [a block]
bool flag_allgather(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                    const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype& recvtype,
                    Code* code);

/// [a block; its length may differ]
bool flag_allgatherv(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                     const Datatype* sendtype, void* recvbuf, CountArray counts, CountArray displacements,
                     const Datatype& recvtype, Code* code);

/// [a block, by all but the root] False at a member whose block is long, which then sends it; the root is to
/// receive the blocks of `senders`, and is a collective the more if there are any.
bool flag_gatherv(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                  const Datatype* sendtype, void* recvbuf, CountArray counts, CountArray displacements,
                  const Datatype* recvtype, int root, std::vector<int>* senders, Code* code);

/// [where each member's block ends, and all blocks, by the root] False where the root sends them, too.
bool flag_scatterv(Comm& comm, NodeSegment& segment, const void* sendbuf, CountArray counts,
                   CountArray displacements, const Datatype* sendtype, void* recvbuf, Count recvcount,
                   const Datatype* recvtype, int root, Code* code);

/// [a block for each member]
bool flag_alltoall(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                   const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype& recvtype,
                   Code* code);

/// [the whole vector, by all but the root]
bool flag_reduce(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
                 Datatype& datatype, const Op& op, int root, Code* code);

/// [the whole vector]
bool flag_allreduce(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
                    Datatype& datatype, const Op& op, Code* code);

/// [the whole vector]
bool flag_reduce_scatter(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf,
                         const Blocks& parts, Datatype& datatype, const Op& op, Code* code);

/// [the whole vector] `inclusive`: MPI_Scan, else MPI_Exscan.
bool flag_scan(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
               Datatype& datatype, const Op& op, bool inclusive, Code* code);

}  // namespace tasuki
