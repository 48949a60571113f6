// The flag-based collectives that move data, and the barrier: see coll/shm/flag_collectives.hpp.
#include "coll/check/arguments.hpp"
#include "coll/schedule/bound_schedule.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

Blocks blocks_of(const Piece& piece) {
  return {.type = shape_of(*piece.type), .count = piece.count};
}

[[gnu::cold, gnu::noinline]] bool begins_a_block(const Piece& one, const Piece& all, int size) {
  return one.bytes() > 0 &&
         block_begins_at(one.address + one.type->true_lb, all.buffer(), blocks_of(all), size);
}

/// Whether a buffer begins where one of the `size` blocks of another does, both with data, which is wrong.
bool is_among(const Piece& one, const Piece& all, int size) {
  const std::intptr_t distance = one.address - all.address;
  const std::intptr_t reach = size * all.count * all.type->extent;
  if (all.type->contiguous && one.type->contiguous && (distance < 0 || distance >= reach)) [[likely]]
    return false;
  return begins_a_block(one, all, size);
}

/// The same for `size` blocks on either side.
bool are_aliased(const Piece& out, const Piece& in, int size) {
  if (out.address != in.address) [[likely]]
    return false;
  return blocks_begin_alike(out.buffer(), blocks_of(out), size, in.buffer(), blocks_of(in), size);
}

/// What this rank has for `blocks` others, where it is small enough for its bytes to be counted.
bool is_sound(const Piece& piece, int blocks) {
  return inline_bytes(piece.count, piece.type->size) <= kInlineBytes && is_countable(piece, blocks);
}

[[gnu::cold]] Code fail_truncated(Process& process, int rank, Count bytes, Count room) {
  return process.fail(kErrTruncate, "rank %d sends %lld bytes, room to receive %lld", rank,
                      static_cast<long long>(bytes), static_cast<long long>(room));
}

/// The block that a rank has for itself.
Code copy_own(Process& process, int rank, const Piece& from, const Piece& to) {
  copy_typed(from.buffer(), from.count, *from.type, to.buffer(), to.count, *to.type);
  return from.bytes() <= to.bytes() ? 0 : fail_truncated(process, rank, from.bytes(), to.bytes());
}

/// The block of `to` that lies behind `before` others of its size in what `member` shows.
Code take(Process& process, const NodeSegment& segment, int member, int before, const Piece& to) {
  const Count bytes = segment.bytes(member);
  // A block that is longer lies anywhere: those before it are as long.
  const bool fits = bytes <= to.bytes() || before == 0;
  if (fits && unpack_inline(to, segment.data(member) + before * bytes, bytes)) [[likely]]
    return 0;
  return fail_truncated(process, member, bytes, to.bytes());
}

void first_error(Code* code, Code next) {
  if (*code == 0) *code = next;
}

/// A block for each member, by the user's counts and displacements.
struct UnevenBlocks {
  const void* buffer;
  CountArray counts, displacements;
  const Datatype& type;

  Piece operator[](int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    Piece piece(buffer, counts[index], type);
    piece.address += displacements[index] * type.extent;
    return piece;
  }
  /// The bytes of the longest of these blocks, and of all together.
  struct Lengths {
    Count longest = 0, sum = 0;
    bool are_right = true;  // of all, the one that is left out too
  };
  Lengths lengths(int size, int left_out) const {
    Lengths found;
    for (int rank = 0; rank < size; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      Count offset;
      if (counts[index] < 0 || __builtin_mul_overflow(displacements[index], type.extent, &offset) ||
          !is_countable((*this)[rank], 1)) {
        found.are_right = false;
        return found;
      }
      if (rank == left_out) continue;
      const Count bytes = inline_bytes(counts[index], type.size);
      found.longest = std::max(found.longest, bytes);
      found.sum += bytes;
    }
    return found;
  }
  /// Whether one of them begins where `piece` does, both with data.
  bool has(const Piece& piece, int size) const {
    if (piece.bytes() == 0) return false;
    const std::intptr_t begin = piece.address + piece.type->true_lb - type.true_lb;
    for (int rank = 0; rank < size; ++rank) {
      const Piece block = (*this)[rank];
      if (block.address == begin && block.bytes() > 0) return true;
    }
    return false;
  }
};

/// Whether a plan takes it for countable.
bool is_right(const Piece& piece) {
  Count bytes;
  constexpr Count kBytesMax = Count{1} << 62;
  return !__builtin_mul_overflow(piece.count, std::max(piece.type->extent, piece.type->size), &bytes) &&
         bytes < kBytesMax && is_countable(piece, 1);
}

/// Shows that this member sends its block, or blocks, by messages.
void show_sent(NodeSegment& segment) {
  segment.enter();
  segment.room(0);
  segment.publish(kBlockSent, 0);
  segment.leave();
}

/// What a scatter's root shows: where each member's block ends in the data that follows, and the data.
struct ShownEnds {
  static Count bytes(int size) { return (Count{size} * 2 + 7) / 8 * 8; }
  static Count end(const std::byte* shown, int rank) {
    std::uint16_t end = 0;
    if (rank >= 0) std::memcpy(&end, shown + 2 * rank, sizeof end);
    return end;
  }
  static void set_end(std::byte* shown, int rank, Count end) {
    const auto number = static_cast<std::uint16_t>(end);
    std::memcpy(shown + 2 * rank, &number, sizeof number);
  }
};

}  // namespace

bool flag_barrier(Comm& comm, NodeSegment& segment) {
  if (!segment.takes_flags(FlagOperation::kBarrier, 0)) return false;
  begin_by_flags(comm, segment, FlagOperation::kBarrier);
  segment.room(0);
  segment.show(0, 0);
  segment.await_all(0);
  segment.leave();
  return true;
}

bool flag_bcast(Comm& comm, NodeSegment& segment, void* buffer, Count count, const Datatype& datatype,
                int root, Code* code) {
  if (!segment.takes_flags(FlagOperation::kBcast, inline_bytes(count, datatype.size))) return false;
  const Piece data(buffer, count, datatype);
  if (buffer == kInPlace || !is_countable(data, 1)) return false;
  begin_by_flags(comm, segment, FlagOperation::kBcast);
  *code = 0;
  if (segment.rank() == root) {
    pack_for_others(segment, data, segment.room(data.bytes()));
    segment.publish(0, data.bytes());
  } else {
    segment.await(root, 0);
    *code = take(comm.process, segment, root, 0, data);
  }
  segment.leave();
  return true;
}

bool flag_gather(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                 const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype* recvtype, int root,
                 Code* code) {
  const bool in_place = sendbuf == kInPlace;
  if (segment.rank() != root) {
    if (in_place) return false;
    const Count bytes = inline_bytes(sendcount, sendtype->size);
    const Piece mine(sendbuf, sendcount, *sendtype);
    if (!segment.takes_flags(FlagOperation::kGather, bytes) || !is_countable(mine, 1)) return false;
    begin_by_flags(comm, segment, FlagOperation::kGather);
    pack_for_others(segment, mine, segment.room(bytes));
    segment.publish(0, bytes);
    segment.leave();
    *code = 0;
    return true;
  }
  if (!segment.takes_flags(FlagOperation::kGather, inline_bytes(recvcount, recvtype->size))) return false;
  const Piece all(recvbuf, recvcount, *recvtype);
  const Piece mine = in_place ? all[root] : Piece(sendbuf, sendcount, *sendtype);
  if (recvbuf == kInPlace || !is_sound(all, segment.size()) || !is_sound(mine, 1)) return false;
  if (!in_place && is_among(mine, all, segment.size())) return false;
  begin_by_flags(comm, segment, FlagOperation::kGather);
  *code = in_place ? 0 : copy_own(comm.process, root, mine, all[root]);
  for (int member = 0; member < segment.size(); ++member) {
    if (member == root) continue;
    segment.await(member, 0);
    first_error(code, take(comm.process, segment, member, 0, all[member]));
  }
  segment.leave();
  return true;
}

// What the root shows holds the blocks in the order of ranks, its own one left out.
bool flag_scatter(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                  const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype* recvtype,
                  int root, Code* code) {
  const bool in_place = recvbuf == kInPlace;
  const Count size = segment.size();
  const int rank = segment.rank();
  if (rank != root) {
    if (in_place) return false;
    const Piece mine(recvbuf, recvcount, *recvtype);
    const Count block = inline_bytes(recvcount, recvtype->size);
    if (!segment.takes_flags(FlagOperation::kScatter, block * size) || !is_countable(mine, 1)) return false;
    begin_by_flags(comm, segment, FlagOperation::kScatter);
    segment.await(root, 0);
    const int place = rank < root ? rank : rank - 1;
    *code = take(comm.process, segment, root, place, mine);
    segment.leave();
    return true;
  }
  const Count block = inline_bytes(sendcount, sendtype->size);
  if (!segment.takes_flags(FlagOperation::kScatter, block * size)) return false;
  const Piece all(sendbuf, sendcount, *sendtype);
  const Piece mine = in_place ? all[root] : Piece(recvbuf, recvcount, *recvtype);
  if (sendbuf == kInPlace || !is_sound(all, segment.size()) || !is_sound(mine, 1)) return false;
  if (!in_place && is_among(mine, all, segment.size())) return false;
  begin_by_flags(comm, segment, FlagOperation::kScatter);
  std::byte* room = segment.room(block * (size - 1));
  for (int member = 0; member < size; ++member) {
    if (member == root) continue;
    pack_inline(all[member], room, block);
    room += block;
  }
  segment.publish(0, block);
  *code = in_place ? 0 : copy_own(comm.process, root, all[root], mine);
  segment.leave();
  return true;
}

namespace {

/// Shows this rank's block, and takes the others'. `all[member]` is where a member's block goes.
template <class All>
Code show_and_take_all(Comm& comm, NodeSegment& segment, const Piece& mine, const All& all, bool in_place) {
  const int rank = segment.rank();
  begin_by_flags(comm, segment, FlagOperation::kAllgather);
  pack_inline(mine, segment.room(mine.bytes()), kInlineBytes);
  segment.show(0, mine.bytes());
  Code code = in_place ? 0 : copy_own(comm.process, rank, mine, all[rank]);
  segment.await_all(0);
  for (int member = 0; member < segment.size(); ++member) {
    if (member != rank) first_error(&code, take(comm.process, segment, member, 0, all[member]));
  }
  segment.leave();
  return code;
}

}  // namespace

bool flag_allgather(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                    const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype& recvtype,
                    Code* code) {
  if (!segment.takes_flags(FlagOperation::kAllgather, inline_bytes(recvcount, recvtype.size))) return false;
  const int rank = segment.rank();
  const bool in_place = sendbuf == kInPlace;
  const Piece all(recvbuf, recvcount, recvtype);
  const Piece mine = in_place ? all[rank] : Piece(sendbuf, sendcount, *sendtype);
  if (recvbuf == kInPlace || !is_countable(all, segment.size()) || !is_sound(mine, 1)) return false;
  if (!in_place && is_among(mine, all, segment.size())) return false;
  *code = show_and_take_all(comm, segment, mine, all, in_place);
  return true;
}

bool flag_allgatherv(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                     const Datatype* sendtype, void* recvbuf, CountArray counts, CountArray displacements,
                     const Datatype& recvtype, Code* code) {
  const int rank = segment.rank(), size = segment.size();
  const bool in_place = sendbuf == kInPlace;
  const UnevenBlocks all{recvbuf, counts, displacements, recvtype};
  const UnevenBlocks::Lengths lengths = all.lengths(size, -1);
  if (recvbuf == kInPlace || !lengths.are_right ||
      !segment.takes_flags(FlagOperation::kAllgather, lengths.longest))
    return false;
  const Piece mine = in_place ? all[rank] : Piece(sendbuf, sendcount, *sendtype);
  if (!is_sound(mine, 1) || (!in_place && all.has(mine, size))) return false;
  *code = show_and_take_all(comm, segment, mine, all, in_place);
  return true;
}

bool flag_gatherv(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                  const Datatype* sendtype, void* recvbuf, CountArray counts, CountArray displacements,
                  const Datatype* recvtype, int root, std::vector<int>* senders, Code* code) {
  if (!segment.may_take_flags(FlagOperation::kGatherv)) return false;
  const bool in_place = sendbuf == kInPlace;
  const int size = segment.size();
  if (segment.rank() != root) {
    const Piece mine(sendbuf, sendcount, *sendtype);
    if (in_place || !is_right(mine)) return false;
    const Count bytes = inline_bytes(sendcount, sendtype->size);
    if (!segment.takes_flags(FlagOperation::kGatherv, bytes)) {
      show_sent(segment);
      return false;
    }
    begin_by_flags(comm, segment, FlagOperation::kGatherv);
    pack_for_others(segment, mine, segment.room(bytes));
    segment.publish(kBlocksShown, bytes);
    segment.leave();
    *code = 0;
    return true;
  }
  if (recvbuf == kInPlace) return false;
  const UnevenBlocks all{recvbuf, counts, displacements, *recvtype};
  if (!all.lengths(size, root).are_right) return false;
  const Piece mine = in_place ? all[root] : Piece(sendbuf, sendcount, *sendtype);
  if (!is_right(mine) || (!in_place && all.has(mine, size))) return false;
  segment.enter();
  *code = in_place ? 0 : copy_own(comm.process, root, mine, all[root]);
  for (int member = 0; member < size; ++member) {
    if (member == root) continue;
    segment.await(member, kBlockSent);
    if (segment.has_come(member, kBlocksShown)) {
      first_error(code, take(comm.process, segment, member, 0, all[member]));
    } else {
      senders->push_back(member);
    }
  }
  segment.leave();
  if (senders->empty()) count_by_flags(comm, FlagOperation::kGatherv);
  return true;
}

bool flag_scatterv(Comm& comm, NodeSegment& segment, const void* sendbuf, CountArray counts,
                   CountArray displacements, const Datatype* sendtype, void* recvbuf, Count recvcount,
                   const Datatype* recvtype, int root, Code* code) {
  if (!segment.may_take_flags(FlagOperation::kScatterv)) return false;
  const bool in_place = recvbuf == kInPlace;
  const int rank = segment.rank(), size = segment.size();
  const Count header = ShownEnds::bytes(size);
  if (rank != root) {
    const Piece mine(recvbuf, recvcount, *recvtype);
    if (in_place || !is_right(mine)) return false;
    segment.enter();
    segment.await(root, kBlockSent);
    const bool is_shown = segment.has_come(root, kBlocksShown);
    if (is_shown) {
      count_by_flags(comm, FlagOperation::kScatterv);
      const std::byte* shown = segment.data(root);
      const Count begin = ShownEnds::end(shown, rank - 1), end = ShownEnds::end(shown, rank);
      const bool is_possible = begin <= end && header + end <= kInlineBytes;
      const bool fits = is_possible && unpack_inline(mine, shown + header + begin, end - begin);
      *code = fits ? 0 : fail_truncated(comm.process, root, end - begin, mine.bytes());
    }
    segment.leave();
    return is_shown;
  }
  if (sendbuf == kInPlace) return false;
  const UnevenBlocks all{sendbuf, counts, displacements, *sendtype};
  const UnevenBlocks::Lengths lengths = all.lengths(size, root);
  const Piece mine = in_place ? all[root] : Piece(recvbuf, recvcount, *recvtype);
  if (!lengths.are_right || !is_right(mine) || (!in_place && all.has(mine, size))) return false;
  const Count bytes = header + lengths.sum;
  if (!segment.takes_flags(FlagOperation::kScatterv, bytes)) {
    show_sent(segment);
    return false;
  }
  begin_by_flags(comm, segment, FlagOperation::kScatterv);
  std::byte* room = segment.room(bytes);
  Count end = 0;
  for (int member = 0; member < size; ++member) {
    const Piece block = all[member];
    if (member != root) {
      pack_inline(block, room + header + end, block.bytes());
      end += block.bytes();
    }
    ShownEnds::set_end(room, member, end);
  }
  segment.publish(kBlocksShown, bytes);
  *code = in_place ? 0 : copy_own(comm.process, root, all[root], mine);
  segment.leave();
  return true;
}

// A member shows its blocks for the others in turn from the next rank on.
bool flag_alltoall(Comm& comm, NodeSegment& segment, const void* sendbuf, Count sendcount,
                   const Datatype* sendtype, void* recvbuf, Count recvcount, const Datatype& recvtype,
                   Code* code) {
  const int rank = segment.rank();
  const int size = segment.size();
  if (!segment.takes_flags(FlagOperation::kAlltoall, inline_bytes(recvcount, recvtype.size) * size))
    return false;
  const bool in_place = sendbuf == kInPlace;
  const Piece in(recvbuf, recvcount, recvtype);
  const Piece out = in_place ? in : Piece(sendbuf, sendcount, *sendtype);
  if (recvbuf == kInPlace || !is_countable(in, size) || !is_sound(out, size)) return false;
  if (!in_place && are_aliased(out, in, size)) return false;
  begin_by_flags(comm, segment, FlagOperation::kAlltoall);
  const Count block = std::min(out.bytes(), in.bytes());
  std::byte* room = segment.room(block * (size - 1));
  for (int turn = 1; turn < size; ++turn) {
    const int member = rank + turn < size ? rank + turn : rank + turn - size;
    pack_inline(out[member], room, block);
    room += block;
  }
  segment.show(0, block);
  *code = in_place ? 0 : copy_own(comm.process, rank, out[rank], in[rank]);
  segment.await_all(0);
  for (int turn = 1; turn < size; ++turn) {
    const int member = rank >= turn ? rank - turn : rank - turn + size;
    first_error(code, take(comm.process, segment, member, turn - 1, in[member]));
  }
  segment.leave();
  return true;
}

}  // namespace tasuki
